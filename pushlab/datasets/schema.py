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

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import MultiDiscrete

from pushlab.ground.arguments import meant
from pushlab.ground.faults import BadData, Fault, refuse
from pushlab.ground.files import data_dir, read_json

if TYPE_CHECKING:
    import pandas as pd

OTHER = "other"  # reserved: a value of an open feature that was not seen when the schema was fitted
KINDS = ("closed", "open", "set", "integer")


def as_text(value: Any) -> str:
    """Return a value as text, as files have it: True, 3, 3.0 and "still" become "True", "3", "3" and "still"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


@dataclass(frozen=True)
class Feature:
    """One feature of a notification or of a context.

    Attributes:
        kind: One of KINDS.

            - closed: one of `values`; anything else is an error
            - open: `values` come from the data; one unseen when the schema was fitted becomes `other`
            - set: any subset of the tags in `values`, written with blanks between; `empty` is the word for none
            - integer: a whole number, coded by its bin; `edges` are the lower ends of all bins but the first
        labels: Friendlier words for `values`, in their order, for pictures.
        aliases: Other spellings of values, {spelling: value}; a set has none.
        neutral: The value if none is chosen. By default the first; of a set, no tag at all.

    Raises:
        ValueError: The kind is unknown, or values or edges don't fit it.
    """

    name: str
    kind: str
    values: tuple[str, ...] | None = None
    labels: tuple[str, ...] | None = None
    aliases: dict = field(default_factory=dict, hash=False)
    edges: tuple[int, ...] = ()
    empty: str = "unknown"
    neutral: str | None = None

    def __post_init__(self):
        values = self.values or ()
        if self.kind not in KINDS:
            self._refuse(f"kind {self.kind!r} is not one of {', '.join(KINDS)}")
        if self.kind in ("closed", "set") and not values:
            self._refuse(f"a {self.kind} feature needs values")
        if any(not isinstance(value, str) for value in values):
            self._refuse(f"'values' lists texts in quotation marks; got {values}")
        if len(set(values)) < len(values) or (self.kind == "open" and OTHER in values):
            self._refuse(f"values are unique, and {OTHER!r} is reserved; got {values}")
        rising = tuple(sorted(set(self.edges)))
        if self.kind == "integer" and (not rising or self.edges != rising):
            self._refuse(f"an integer feature needs rising edges, not {self.edges}")

    def _refuse(self, wrong):
        raise ValueError(f"feature {self.name}: {wrong}")

    @property
    def fitted(self) -> bool:
        """Whether the values are known; an open feature may have to be fitted to data."""
        return self.kind != "open" or self.values is not None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The values in the order of their codes; of a set feature, the tags."""
        if self.kind == "integer":
            words = [f"below {self.edges[0]}"]
            for low, high in zip(self.edges, self.edges[1:]):
                words.append(str(low) if high - low == 1 else f"{low} to {high - 1}")
            return (*words, f"{self.edges[-1]} or more")
        if self.values is None:
            raise ValueError(
                f"feature {self.name} is open: fit the schema on data first"
            )
        return (*self.values, OTHER) if self.kind == "open" else tuple(self.values)

    @property
    def neutral_value(self) -> str:
        """The value if none is chosen."""
        if self.neutral is not None:
            return self.neutral
        return self.empty if self.kind == "set" else self.words[0]

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the array components: the feature's name, or for a set one 0/1 component per tag."""
        if self.kind == "set":
            return tuple(f"{self.name}.{tag}" for tag in self.words)
        return (self.name,)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each component."""
        return (2,) * len(self.words) if self.kind == "set" else (len(self.words),)

    @property
    def right(self) -> str:
        """Description of a correct value, for messages."""
        if self.kind == "integer":
            return "a whole number"
        if self.kind == "open":
            return "a word"
        choice = ", ".join(self.words)
        if self.kind == "set":
            return f"one or several of {choice}, or {self.empty}"
        return f"one of {choice}"

    @cached_property
    def _codes(self):
        return {word: code for code, word in enumerate(self.words)}

    def code(self, text: str) -> tuple[int, ...] | None:
        """Return the codes of one value, one for each component, or None if the value is not allowed."""
        text = self.aliases.get(text, text)
        if self.kind == "set":
            tags = text.split()
            if tags == [self.empty]:
                tags = []
            elif not tags or not set(tags) <= set(self.words):
                return None
            return tuple(int(tag in tags) for tag in self.words)
        if text in self._codes:
            return (self._codes[text],)
        if self.kind == "open" and _is_word(text):
            return (self._codes[OTHER],)
        if self.kind == "integer" and re.fullmatch(r"[+-]?[0-9]{1,15}", text):
            return (int(np.searchsorted(self.edges, int(text), side="right")),)
        return None

    def canonical(self, text: str) -> str | None:
        """Return the value that a text spells, or None if it is not allowed. An unfitted feature allows any word."""
        is_right = self.code(text) is not None if self.fitted else _is_word(text)
        return self.aliases.get(text, text) if is_right else None

    def word(self, codes: Sequence[int] | np.ndarray) -> str:
        """Return the value of these codes."""
        if self.kind == "set":
            tags = [tag for tag, is_on in zip(self.words, codes) if is_on]
            return " ".join(tags) or self.empty
        return self.words[codes[0]]


def _is_word(text):
    return bool(text) and text.lower() != "nan"


class Features:
    """One half of an engagement, the notification or the context: its features in order, and their arrays.

    `components`, `sizes` and `space` describe an encoded array: one integer per feature, and for a set-valued feature a
    block of 0/1 integers, one per tag (a MultiBinary inside the MultiDiscrete).
    """

    def __init__(self, features: Iterable[Feature]):
        self.features = tuple(features)
        self.names = tuple(feature.name for feature in self.features)

    def __iter__(self) -> Iterator[Feature]:
        return iter(self.features)

    def __getitem__(self, name: str) -> Feature:
        return self.features[self.names.index(name)]

    @cached_property
    def components(self) -> tuple[str, ...]:
        """Names of the components of an encoded array."""
        return tuple(name for feature in self for name in feature.components)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of codes of each component, int64."""
        return np.array([size for feature in self for size in feature.sizes], np.int64)

    @cached_property
    def starts(self) -> np.ndarray:
        """Index of each component's first code in a one-hot encoding of all components, int64."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @property
    def space(self) -> MultiDiscrete:
        """MultiDiscrete over the components, int64."""
        return MultiDiscrete(self.sizes)

    def labels(self) -> dict[str, dict[str, str]]:
        """Return the schema's friendlier words by feature and value: {"day": {"0": "Monday", …}, …}."""
        return {
            feature.name: dict(zip(feature.words, feature.labels))
            for feature in self
            if feature.labels
        }

    def encode(self, table: pd.DataFrame | Mapping[str, Any]) -> np.ndarray:
        """Return codes, int64 (rows, components), of a DataFrame or a dict of columns that has every feature.

        Raises:
            BadData: The table has values that are not allowed; the message lists all of them.
        """
        refuse(
            Fault("table", column=name, right="the column is missing")
            for name in self.names
            if name not in table
        )
        codes = []
        faults = []
        for feature in self:
            found, wrong = encode_column(feature, table[feature.name])
            codes.append(found)
            for row, value in wrong:
                faults.append(Fault("table", row, feature.name, value, feature.right))
        refuse(faults)
        return np.concatenate(codes, axis=1)

    @cached_property
    def blocks(self) -> tuple[tuple[Feature, slice], ...]:
        """Each feature and the slice of its components in an encoded array."""
        ends = np.cumsum([len(feature.components) for feature in self]).tolist()
        return tuple(
            (feature, slice(end - len(feature.components), end))
            for feature, end in zip(self, ends)
        )

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return a DataFrame of values, a row for each row of `codes` (rows, components)."""
        import pandas as pd

        codes = np.asarray(codes)
        columns = {}
        for feature, place in self.blocks:
            own = codes[:, place]
            distinct, which = np.unique(own, axis=0, return_inverse=True)
            words = np.array([feature.word(row) for row in distinct], object)
            columns[feature.name] = words[which.ravel()]
        return pd.DataFrame(columns)

    def encode_one(self, values: Mapping[str, str]) -> np.ndarray:
        """Return codes, int64 (components,), of a dict with a value for each feature.

        A value of an open feature that the data don't have is coded as "other", with a warning.

        Raises:
            ValueError: A key is no feature, or values are missing or not allowed.
        """
        for name in values.keys() - set(self.names):
            raise ValueError(
                f"{name!r} is no feature; there are {', '.join(self.names)}{meant(name, self.names)}"
            )
        codes: list[int] = []
        faults = []
        for feature in self:
            text = as_text(values.get(feature.name, ""))
            found = feature.code(text)
            if found is None:
                right = feature.right
                faults.append(Fault("values", None, feature.name, text, right))
                continue
            codes += found
            if feature.kind == "open" and feature.word(found) == OTHER != text:
                warnings.warn(
                    f"the data have no {feature.name} {text!r}, so it is coded as 'other'"
                    + meant(text, feature.words),
                    stacklevel=2,
                )
        refuse(faults)
        return np.array(codes, np.int64)

    def decode_one(self, codes: np.ndarray) -> dict[str, str]:
        """Return the values, by feature, of one array of codes (components,)."""
        return {
            feature.name: feature.word(codes[place]) for feature, place in self.blocks
        }

    def count_other(self, codes: np.ndarray) -> dict[str, int]:
        """Return the number of rows with a value coded as "other", by open feature, if there are any."""
        counts = {}
        for feature, place in self.blocks:
            if feature.kind == "open":
                count = int((codes[:, place] == feature.words.index(OTHER)).sum())
                if count:
                    counts[feature.name] = count
        return counts


def encode_column(feature: Feature, values: Any) -> tuple[np.ndarray, list]:
    """Return the codes (rows, components) of a column, and (row, value) of each value that is not allowed.

    Each distinct value is looked up once, as a table has thousands of rows and a few dozen values.
    """
    import pandas as pd

    which, distinct = pd.factorize(
        pd.Series(values, dtype=object), use_na_sentinel=False
    )
    texts = [as_text(value) for value in distinct]
    codes = [feature.code(text) for text in texts]
    blank = (0,) * len(feature.components)
    filled = np.array([code or blank for code in codes], np.int64)
    is_wrong = np.array([code is None for code in codes], bool)[which]
    wrong = [(int(row), texts[which[row]]) for row in np.flatnonzero(is_wrong)]
    return filled.reshape(-1, len(blank))[which], wrong


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
