"""What notifications and contexts are made of: features, their kinds and their values.

A schema is data (a JSON file below `data/schemas`, or `schema.json` beside a data set), so that another data set is
another file and no new code. People see names, arrays hold codes:

>>> schema = Schema.load("evalumap2019").fit(
...     {"postingApp": ["chat", "mail"], "category": ["msg", "email"], "subject": ["unknown", "finance"]})
>>> code = schema.notification.encode_one(
...     {"postingApp": "mail", "category": "email", "numberOfUpdates": "none", "subject": "finance",
...      "priority": "high", "ongoing": "False", "visibility": "private"})
>>> code
array([1, 0, 0, 0, 4, 0, 0])
>>> schema.notification.decode_one(code)["priority"]
'high'
"""

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path

from pushlab.datasets.features import OTHER, Feature, Features, as_text
from pushlab.datasets.tables import DATES, SECONDS, check_layouts, take


@dataclass(frozen=True)
class Schema:
    """The features of a data set and the tables they stand in.

    notification, context  Features
    opened, dismissed      how the files spell the two actions
    layouts                where the tables lie and which column is which feature; see `pushlab.datasets.reading`
    """

    name: str
    notification: Features
    context: Features
    opened: tuple[str, ...]
    dismissed: tuple[str, ...]
    layouts: tuple[dict, ...]

    @classmethod
    def load(cls, where):
        """Reads a schema file: a path, or the name of one that comes with pushlab (evalumap2019, evalumap2020)."""
        path = Path(where)
        if path.suffix != ".json":
            from pushlab.ground.files import data_dir

            known = sorted(file.stem for file in (data_dir() / "schemas").glob("*.json"))
            if str(where) not in known:
                raise ValueError(f"no schema is called {str(where)!r}; there are {', '.join(known)}; "
                                 "or give a .json file")
            path = data_dir() / "schemas" / f"{where}.json"
        try:
            return cls.from_dict(json.loads(path.read_text(encoding="utf-8")))
        except ValueError as error:
            raise ValueError(f"{path.name} is not a schema file: {error}") from error

    @classmethod
    def from_dict(cls, data):
        """The schema that a schema file's JSON stands for; raises ValueError with the first thing that is wrong."""
        name = take(data, "name", str, "a schema")
        halves = [Features(_feature_from(entry, f"{half}, feature {number}")
                           for number, entry in enumerate(take(data, half, list, "a schema"), 1))
                  for half in ("notification", "context")]
        names = [feature.name for half in halves for feature in half]
        taken = [name for name in names if names.count(name) > 1 or name in ("id", "action", *DATES, *SECONDS)]
        if taken:
            raise ValueError(f"feature {taken[0]}: a feature has a name of its own, and no other column's")
        actions = [_spellings(take(data, "action", dict, "a schema"), key) for key in ("opened", "dismissed")]
        both = sorted(set(actions[0]) & set(actions[1]))
        if both:
            raise ValueError(f"action: opened and dismissed are both spelt {both[0]!r}")
        check_layouts(take(data, "layouts", list, "a schema"), names)
        return cls(name, *halves, *actions, tuple(data["layouts"]))

    @property
    def fitted(self):
        """Whether every open feature has its values."""
        return all(feature.fitted for half in (self.notification, self.context) for feature in half)

    def fit(self, table):
        """The same schema with the values of its open features taken from `table`, sorted; known ones stay."""
        def fit_half(half):
            return Features(feature if feature.fitted else replace(feature, values=_distinct(feature, table))
                            for feature in half)

        return replace(self, notification=fit_half(self.notification), context=fit_half(self.context))


def _feature_from(entry, where):
    """The Feature of one entry of a schema file."""
    for key in ("name", "kind"):
        take(entry, key, str, where)
    known = [field.name for field in fields(Feature)]
    unknown = [key for key in entry if key not in known]
    if unknown:
        raise ValueError(f"feature {entry['name']}: {unknown[0]!r} is not one of {', '.join(known)}")
    return Feature(**{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()})


def _spellings(action, key):
    """How the files spell an action, a tuple of texts."""
    spelt = take(action, key, list, "action")
    if not spelt or not all(isinstance(text, str) for text in spelt):
        raise ValueError(f"action: {key!r} lists texts, at least one; got {spelt!r:.60}")
    return tuple(spelt)


def _distinct(feature, table):
    texts = {as_text(value) for value in table[feature.name]}
    texts = {feature.aliases.get(text, text) for text in texts}
    return tuple(sorted(text for text in texts if text and text.lower() != "nan" and text != OTHER))
