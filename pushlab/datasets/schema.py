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

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from pushlab.datasets.features import OTHER, Feature, Features, as_text
from pushlab.ground._old_reading import read_json
from pushlab.ground.files import data_dir

PERIODS = ("history", "validation", "test")
DATES = ("posted", "removed")
SECONDS = ("response_time", "seen_time", "decision_time")
LARGEST = (
    2**20
)  # bytes of a schema file; those that come with pushlab have less than 10 KB
JSON_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "an object, {…}"}


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
    def load(cls, where: Path | str) -> Schema:
        """Reads a schema file: a path, or the name of one that comes with pushlab (evalumap2019, evalumap2020)."""
        path = Path(where)
        if path.suffix != ".json":
            known = sorted(
                file.stem for file in (data_dir() / "schemas").glob("*.json")
            )
            if str(where) not in known:
                raise ValueError(
                    f"no schema is called {str(where)!r}; there are {', '.join(known)}; "
                    "or give a .json file"
                )
            path = data_dir() / "schemas" / f"{where}.json"
        if not path.exists():
            raise FileNotFoundError(f"there is no schema file {str(path)!r}")
        try:
            return cls.from_dict(read_json(path, LARGEST, links=True))
        except ValueError as error:
            raise ValueError(f"{path.name} is not a schema file: {error}") from error

    @classmethod
    def from_dict(cls, data: Any) -> Schema:
        """The schema that a schema file's JSON stands for; raises ValueError with the first thing that is wrong."""
        name = take(data, "name", str, "a schema")
        notification, context = (
            Features(
                _feature_from(entry, f"{half}, feature {number}")
                for number, entry in enumerate(take(data, half, list, "a schema"), 1)
            )
            for half in ("notification", "context")
        )
        names = [feature.name for feature in (*notification, *context)]
        taken = [
            name
            for name, times in Counter(
                [*names, "id", "action", *DATES, *SECONDS]
            ).items()
            if times > 1
        ]
        if taken:
            raise ValueError(
                f"feature {taken[0]}: a feature has a name of its own, and no other column's"
            )
        action = take(data, "action", dict, "a schema")
        opened, dismissed = (_spellings(action, key) for key in ("opened", "dismissed"))
        both = sorted(set(opened) & set(dismissed))
        if both:
            raise ValueError(f"action: opened and dismissed are both spelt {both[0]!r}")
        check_layouts(take(data, "layouts", list, "a schema"), names)
        return cls(
            name, notification, context, opened, dismissed, tuple(data["layouts"])
        )

    @property
    def fitted(self) -> bool:
        """Whether every open feature has its values."""
        return all(feature.fitted for feature in (*self.notification, *self.context))

    def fit(self, table: Any) -> Schema:
        """The same schema with the values of its open features taken from `table`, sorted; known ones stay."""

        def fit_half(half):
            return Features(
                feature
                if feature.fitted
                else replace(feature, values=_distinct(feature, table))
                for feature in half
            )

        return replace(
            self,
            notification=fit_half(self.notification),
            context=fit_half(self.context),
        )


def _feature_from(entry, where):
    """The Feature of one entry of a schema file."""
    for key in ("name", "kind"):
        take(entry, key, str, where)
    known = [field.name for field in fields(Feature)]
    unknown = [key for key in entry if key not in known]
    if unknown:
        raise ValueError(
            f"feature {entry['name']}: {unknown[0]!r} is not one of {', '.join(known)}"
        )
    return Feature(
        **{
            key: tuple(value) if isinstance(value, list) else value
            for key, value in entry.items()
        }
    )


def _spellings(action, key):
    """How the files spell an action, a tuple of texts."""
    spelt = take(action, key, list, "action")
    if not spelt or not all(isinstance(text, str) for text in spelt):
        raise ValueError(
            f"action: {key!r} lists texts, at least one; got {spelt!r:.60}"
        )
    return tuple(spelt)


def _distinct(feature, table):
    texts = {as_text(value) for value in table[feature.name]}
    texts = {feature.aliases.get(text, text) for text in texts}
    return tuple(
        sorted(
            text for text in texts if text and text.lower() != "nan" and text != OTHER
        )
    )


# ---------------------------------------------------------------- what a schema says of its tables


def take(data: Any, key: str, kind: type, where: str) -> Any:
    """`data[key]` out of JSON; ValueError, named by `where`, if it is missing or not of this kind (str, list, dict).

    >>> take({"root": 3}, "root", str, "layout 1")
    Traceback (most recent call last):
    ValueError: layout 1: 'root' is a text; got 3
    """
    if not isinstance(data, dict):
        raise ValueError(f"{where} is {JSON_KINDS[dict]}; got {data!r:.60}")
    if key not in data:
        raise ValueError(f"{where}: {key!r} is missing")
    if not isinstance(data[key], kind):
        raise ValueError(
            f"{where}: {key!r} is {JSON_KINDS[kind]}; got {data[key]!r:.60}"
        )
    return data[key]


def check_layouts(layouts: Sequence[Any], features: Sequence[str]) -> None:
    """Raises ValueError unless every layout has tables, and every period a column for each feature and `action`.

    layouts   a schema's, out of JSON: [{"root": folder, "sort": column (if any), "periods": {period: [table, …]}}, …],
              a table being {"file": name, "columns": {name in the file: our name, or None}}
    features  names of the features
    """
    for number, layout in enumerate(layouts, 1):
        where = f"layout {number}"
        take(layout, "root", str, where)
        periods = take(layout, "periods", dict, where)
        if not periods or not set(periods) <= set(PERIODS):
            raise ValueError(
                f"{where}: 'periods' are some of {', '.join(PERIODS)}; got {', '.join(periods) or 'none'}"
            )
        for period in periods:
            ours = _check_period(
                take(periods, period, list, where), features, f"{where}, {period}"
            )
            if "sort" in layout and take(layout, "sort", str, where) not in ours:
                raise ValueError(
                    f"{where}, {period}: 'sort' is a column; got {layout['sort']!r}"
                )


def _check_period(tables, features, where):
    """The names that the columns of a period's tables get; ValueError if one is unknown, missing or given twice."""
    known = {
        "id",
        "action",
        *DATES,
        *SECONDS,
        *features,
        *(f"removal.{name}" for name in features),
    }
    ours = []
    for table in tables:
        take(table, "file", str, where)
        names = [
            name
            for name in take(table, "columns", dict, where).values()
            if name is not None
        ]
        unknown = [
            name for name in names if not isinstance(name, str) or name not in known
        ]
        if unknown:
            raise ValueError(
                f"{where}, {table['file']}: {unknown[0]!r} is no feature and no other column "
                f"({', '.join(['id', 'action', *DATES, *SECONDS])}, or removal. and a feature)"
            )
        if len(tables) > 1 and "id" not in names:
            raise ValueError(
                f"{where}, {table['file']}: no column is the 'id' on which the tables are joined"
            )
        ours += [
            name for at, name in enumerate(names) if name != "id" or "id" in names[:at]
        ]
    missing = [name for name in (*features, "action") if name not in ours]
    twice = [name for name in ours if ours.count(name) > 1 or name == "id"]
    if missing or twice:
        raise ValueError(
            f"{where}: no column is {missing[0]!r}"
            if missing
            else f"{where}: more than one column is {twice[0]!r}"
        )
    return ours
