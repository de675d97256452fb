"""Schemas: the features of notifications and contexts, and the tables that hold them.

A schema is a JSON file in `data/schemas`, or `schema.json` beside a data set: another data set needs another file and
no new code. People read names, arrays hold codes.

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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pushlab.datasets.features import OTHER, Feature, Features, as_text
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import data_dir
from pushlab.ground.reading import read_json

DATES = ("posted", "removed")
SECONDS = ("response_time", "seen_time", "decision_time")
COLUMNS = ("id", "action", *DATES, *SECONDS)  # reserved names of columns
JSON_KINDS = {str: "a text", list: "a list, […]", dict: "an object, {…}"}


@dataclass(frozen=True)
class Schema:
    """The features of a data set, and the tables that hold them.

    Attributes:
        notification, context: Features.
        opened, dismissed: Spellings of the two actions.
        layouts: Tables of a user, and the feature in each column: [{"root": folder, "sort": column (optional),
            "periods": {period: [{"file": name, "columns": {column: our name, or None}}, …]}}, …]. The periods are
            history, validation and test, in this order.
    """

    name: str
    notification: Features
    context: Features
    opened: tuple[str, ...]
    dismissed: tuple[str, ...]
    layouts: tuple[dict, ...]

    @classmethod
    def load(cls, where: Path | str) -> Schema:
        """Load a schema from a .json file, or a shipped one by name (evalumap2019, evalumap2020)."""
        path = Path(where)
        if path.suffix != ".json":
            known = sorted(file.stem for file in (data_dir() / "schemas").iterdir())
            if str(where) not in known:
                raise ValueError(
                    f"no schema is called {str(where)!r}; there are {', '.join(known)}; or give a .json file"
                )
            path = data_dir() / "schemas" / f"{where}.json"
        return cls.read(path)

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a schema file, also in an archive (`zipfile.Path`). Raises BadData for the first fault."""
        content = read_json(path)
        try:
            return cls.from_dict(content)
        except ValueError as error:
            right = f"not a schema file ({error})"
            raise BadData(Fault(path.name, right=right)) from error

    @classmethod
    def from_dict(cls, data: Any) -> Schema:
        """Return the schema of a schema file's JSON. Raises ValueError for the first fault."""
        name = _take(data, "name", str, "a schema")
        notification = _half(data, "notification")
        context = _half(data, "context")
        names = [*notification.names, *context.names]
        for feature in names:
            if feature in COLUMNS or names.count(feature) > 1:
                raise ValueError(
                    f"feature {feature}: a feature has a name of its own, and no other column's"
                )
        action = _take(data, "action", dict, "a schema")
        opened = _take(action, "opened", list, "action")
        dismissed = _take(action, "dismissed", list, "action")
        layouts = _take(data, "layouts", list, "a schema")
        _check_layouts(layouts, names)
        return cls(
            name,
            notification,
            context,
            tuple(opened),
            tuple(dismissed),
            tuple(layouts),
        )

    def fit(self, table: Any) -> Schema:
        """Return this schema with the sorted values of `table` for each open feature that has no values yet."""
        notification = Features(_fitted(f, table) for f in self.notification)
        context = Features(_fitted(f, table) for f in self.context)
        return replace(self, notification=notification, context=context)


def _fitted(feature, table):
    if feature.fitted:
        return feature
    texts = {as_text(value) for value in table[feature.name]}
    values = {feature.canonical(text) for text in texts} - {None, OTHER}
    return replace(feature, values=tuple(sorted(values)))


# ---------------------------------------------------------------- checks of a schema file


def _take(data, key, kind, where):
    """Return `data[key]` of JSON; raise ValueError if it is missing or not of this kind."""
    if not isinstance(data, dict):
        raise ValueError(f"{where} is {JSON_KINDS[dict]}; got {data!r:.60}")
    if key not in data:
        raise ValueError(f"{where}: {key!r} is missing")
    if not isinstance(data[key], kind):
        raise ValueError(
            f"{where}: {key!r} is {JSON_KINDS[kind]}; got {data[key]!r:.60}"
        )
    return data[key]


def _half(data, key):
    """Return the Features of the notification or the context."""
    features = []
    for number, entry in enumerate(_take(data, key, list, "a schema"), 1):
        try:
            values = {}
            for name, value in entry.items():
                values[name] = tuple(value) if isinstance(value, list) else value
            features.append(Feature(**values))
        except (AttributeError, TypeError) as error:
            right = 'it is an object such as {"name": "app", "kind": "open"}'
            raise ValueError(f"{key}, feature {number}: {right} ({error})") from None
    return Features(features)


def _check_layouts(layouts: Sequence[Any], features: Sequence[str]) -> None:
    """Raise ValueError unless each period of each layout has one column for each feature and the action."""
    known = {*COLUMNS, *features, *(f"removal.{name}" for name in features)}
    for number, layout in enumerate(layouts, 1):
        where = f"layout {number}"
        _take(layout, "root", str, where)
        for period, tables in _take(layout, "periods", dict, where).items():
            here = f"{where}, {period}"
            names: list[str] = []
            for table in tables:
                _take(table, "file", str, here)
                columns = _take(table, "columns", dict, here).values()
                names += [name for name in columns if name is not None]
            for name in names:
                if name not in known:
                    raise ValueError(
                        f"{here}: {name!r} is no feature and no other column"
                    )
                if name != "id" and names.count(name) > 1:
                    raise ValueError(f"{here}: more than one column is {name!r}")
            for name in (*features, "action"):
                if name not in names:
                    raise ValueError(f"{here}: no column is {name!r}")
            if names.count("id") < len(tables) > 1:
                raise ValueError(
                    f"{here}: each table has an 'id' on which they are joined"
                )
