"""Schemas: the features of notifications and contexts, and the tables that hold them.

A schema is a JSON file in `data/schemas`, or `schema.json` beside a data set. Another data set needs another file and
no new code. Tables have values as text; arrays have integer codes.

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
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import MultiDiscrete

from pushlab.utils.arguments import suggestion
from pushlab.utils.files import data_dir, read_json
from pushlab.utils.issues import BadData, DataIssue, raise_issues

if TYPE_CHECKING:
    import pandas as pd

OTHER = (
    "other"  # reserved for values of an open feature to which the schema was not fitted
)
KINDS = ("closed", "open", "set", "integer")


def as_text(value: Any) -> str:
    """Return a value as text in the form that files have.

    >>> as_text(True), as_text(3), as_text(3.0), as_text("still")
    ('True', '3', '3', 'still')
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


@dataclass(frozen=True)
class Feature:
    """One feature of a notification or of a context.

    Attributes:
        kind: One of KINDS.

            - closed: one of `values`
            - open: `values` come from the data; a value to which the schema was not fitted is coded as `other`
            - set: any subset of the tags in `values`, separated by blanks; `empty` is the text of the empty set
            - integer: an integer, coded by its bin; `edges` are the lower ends of all bins except the first
        labels: Labels for `values` in pictures, in their order.
        aliases: Other spellings of values, {spelling: value}; not for a set.
        neutral: The default value; None is the first value, or the empty set.

    Raises:
        ValueError: The kind is unknown, or values or edges don't fit the kind.
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
            self._fail(f"kind must be one of {', '.join(KINDS)}; got {self.kind!r}")
        if self.kind in ("closed", "set") and not values:
            self._fail(f"a {self.kind} feature needs values")
        if any(not isinstance(value, str) for value in values):
            self._fail(f"values must be texts in quotation marks; got {values}")
        if len(set(values)) < len(values):
            self._fail(f"values must be unique; got {values}")
        if self.kind == "open" and OTHER in values:
            self._fail(f"{OTHER!r} is reserved for new values; got {values}")
        ascending = tuple(sorted(set(self.edges)))
        if self.kind == "integer" and (not ascending or self.edges != ascending):
            self._fail(f"an integer feature needs ascending edges; got {self.edges}")

    def _fail(self, message):
        raise ValueError(f"feature {self.name}: {message}")

    @property
    def is_fitted(self) -> bool:
        """Whether the feature has values; an open one may have to be fitted to data."""
        return self.kind != "open" or self.values is not None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The values in the order of their codes; for a set, the tags."""
        if self.kind == "integer":
            bins = [f"below {self.edges[0]}"]
            for low, high in zip(self.edges, self.edges[1:]):
                bins.append(str(low) if high - low == 1 else f"{low} to {high - 1}")
            return (*bins, f"{self.edges[-1]} or more")
        if self.values is None:
            raise ValueError(
                f"feature {self.name} is open, so the schema must be fitted to data first"
            )
        return (*self.values, OTHER) if self.kind == "open" else tuple(self.values)

    @property
    def neutral_value(self) -> str:
        """The default value."""
        if self.neutral is not None:
            return self.neutral
        return self.empty if self.kind == "set" else self.words[0]

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the components: the feature's name, or one name for each tag of a set."""
        if self.kind == "set":
            return tuple(f"{self.name}.{tag}" for tag in self.words)
        return (self.name,)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each component."""
        if self.kind == "set":
            return (2,) * len(self.words)
        return (len(self.words),)

    @property
    def valid_values(self) -> str:
        """Description of valid values, for messages."""
        if self.kind == "integer":
            return "a whole number"
        if self.kind == "open":
            return "a word"
        choices = ", ".join(self.words)
        if self.kind == "set":
            return f"one or several of {choices}, or {self.empty}"
        return f"one of {choices}"

    @cached_property
    def _codes(self):
        return {word: code for code, word in enumerate(self.words)}

    def code(self, text: str) -> tuple[int, ...] | None:
        """Return the code of a value in each component, or None if the value is invalid."""
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
            code = np.searchsorted(self.edges, int(text), side="right")
            return (int(code),)
        return None

    def canonical(self, text: str) -> str | None:
        """Return the value with this spelling, or None if it is invalid. An unfitted feature allows any word."""
        is_valid = self.code(text) is not None if self.is_fitted else _is_word(text)
        return self.aliases.get(text, text) if is_valid else None

    def word(self, codes: Sequence[int] | np.ndarray) -> str:
        """Return the value with these codes, one for each component."""
        if self.kind == "set":
            tags = [tag for tag, is_in_set in zip(self.words, codes) if is_in_set]
            return " ".join(tags) or self.empty
        return self.words[codes[0]]


def _is_word(text):
    return text.lower() not in ("", "nan") and not re.search(r"[\x00-\x1f]", text)


class Features:
    """The features of a notification or of a context, in order, and their encoding as arrays.

    `components`, `sizes` and `space` describe an encoded array. A feature has one integer component. A set has one 0/1
    component for each tag.
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
        return tuple(chain.from_iterable(feature.components for feature in self))

    @cached_property
    def sizes(self) -> np.ndarray:
        """Number of codes of each component, int64."""
        sizes = chain.from_iterable(feature.sizes for feature in self)
        return np.array(list(sizes), np.int64)

    @cached_property
    def starts(self) -> np.ndarray:
        """Index of each component's first code in a one-hot encoding of all components, int64."""
        ends = np.cumsum(self.sizes)
        return np.concatenate([[0], ends[:-1]]).astype(np.int64)

    @property
    def space(self) -> MultiDiscrete:
        """MultiDiscrete over the components, int64."""
        return MultiDiscrete(self.sizes)

    def labels(self) -> dict[str, dict[str, str]]:
        """Return the labels of values, by feature: {"day": {"0": "Monday", …}, …}."""
        return {
            feature.name: dict(zip(feature.words, feature.labels))
            for feature in self
            if feature.labels
        }

    def encode(self, table: pd.DataFrame | Mapping[str, Any]) -> np.ndarray:
        """Return the codes of a DataFrame or a dict of columns that has every feature, int64 (rows, components).

        Raises:
            BadData: Columns are missing or values are invalid; the message lists all of them.
        """
        raise_issues(
            DataIssue("table", column=name, valid_values="the column is missing")
            for name in self.names
            if name not in table
        )
        codes = []
        issues = []
        for feature in self:
            column_codes, invalid = encode_column(feature, table[feature.name])
            codes.append(column_codes)
            for row, value in invalid:
                issues.append(
                    DataIssue("table", row, feature.name, value, feature.valid_values)
                )
        raise_issues(issues)
        return np.concatenate(codes, axis=1)

    @cached_property
    def blocks(self) -> tuple[tuple[Feature, slice], ...]:
        """Each feature with the slice of its components in an encoded array."""
        ends = np.cumsum([len(feature.components) for feature in self]).tolist()
        return tuple(
            (feature, slice(end - len(feature.components), end))
            for feature, end in zip(self, ends)
        )

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """Return the DataFrame of values with these codes (rows, components)."""
        import pandas as pd

        codes = np.asarray(codes)
        columns = {}
        for feature, block in self.blocks:
            distinct, index = np.unique(codes[:, block], axis=0, return_inverse=True)
            values = np.array([feature.word(row) for row in distinct], object)
            columns[feature.name] = values[index.ravel()]
        return pd.DataFrame(columns)

    def encode_one(self, values: Mapping[str, str]) -> np.ndarray:
        """Return the codes of a dict with a value for each feature, int64 (components,).

        New values of open features are coded as "other", with a warning.

        Raises:
            ValueError: A key is not a feature, or values are missing or invalid.
        """
        for name in values.keys() - set(self.names):
            raise ValueError(
                f"{name!r} is not a feature; the features are {', '.join(self.names)}{suggestion(name, self.names)}"
            )
        codes: list[int] = []
        issues = []
        for feature in self:
            text = as_text(values.get(feature.name, ""))
            code = feature.code(text)
            if code is None:
                valid_values = feature.valid_values
                issues.append(
                    DataIssue("values", None, feature.name, text, valid_values)
                )
                continue
            codes += code
            if feature.kind == "open" and feature.word(code) == OTHER != text:
                warnings.warn(
                    f"the data have no {feature.name} {text!r}, so it is coded as 'other'"
                    + suggestion(text, feature.words),
                    stacklevel=2,
                )
        raise_issues(issues)
        return np.array(codes, np.int64)

    def decode_one(self, codes: np.ndarray) -> dict[str, str]:
        """Return the values with these codes (components,), by feature."""
        return {
            feature.name: feature.word(codes[block]) for feature, block in self.blocks
        }

    def count_other(self, codes: np.ndarray) -> dict[str, int]:
        """Return the number of rows coded as "other", for each open feature that has such rows."""
        counts = {}
        for feature, block in self.blocks:
            if feature.kind == "open":
                is_other = codes[:, block] == feature.words.index(OTHER)
                count = int(is_other.sum())
                if count:
                    counts[feature.name] = count
        return counts


def encode_column(feature: Feature, values: Any) -> tuple[np.ndarray, list]:
    """Return the codes of a column (rows, components), and [(row, value), …] of its invalid values.

    Each distinct value is encoded once, since a table has thousands of rows and a few dozen values.
    """
    import pandas as pd

    column = pd.Series(values, dtype=object)
    index, distinct = pd.factorize(column, use_na_sentinel=False)
    texts = [as_text(value) for value in distinct]
    codes = [feature.code(text) for text in texts]
    zeros = (0,) * len(feature.components)
    filled = np.array([code or zeros for code in codes], np.int64)
    is_invalid = np.array([code is None for code in codes], bool)[index]
    rows = np.flatnonzero(is_invalid).tolist()
    invalid = [(row, texts[index[row]]) for row in rows]
    return filled.reshape(-1, len(zeros))[index], invalid


DATES = ("posted", "removed")
SECONDS = ("response_time", "seen_time", "decision_time")
COLUMNS = ("id", "action", *DATES, *SECONDS)  # reserved names
JSON_TYPES = {str: "a text", list: "a list, […]", dict: "an object, {…}"}


@dataclass(frozen=True)
class Schema:
    """The features of a data set, and the tables that hold them.

    Attributes:
        notification, context: Features.
        opened, dismissed: Spellings of the two actions.
        layouts: The tables of a user, and the feature in each column, as in a schema file: [{"root": folder, "sort":
            column (optional), "periods": {period: [{"file": name, "columns": {column: name, or None}}, …]}}, …]. The
            periods are history, validation and test, in this order. The name of a column is a feature's or one of
            COLUMNS.
    """

    name: str
    notification: Features
    context: Features
    opened: tuple[str, ...]
    dismissed: tuple[str, ...]
    layouts: tuple[dict, ...]

    @classmethod
    def load(cls, source: Path | str) -> Schema:
        """Load a schema from a .json file, or a shipped one by its name (evalumap2019, evalumap2020)."""
        path = Path(source)
        if path.suffix != ".json":
            names = sorted(file.stem for file in (data_dir() / "schemas").iterdir())
            if str(source) not in names:
                raise ValueError(
                    f"there is no schema {str(source)!r}; take one of {', '.join(names)}, or a .json file"
                )
            path = data_dir() / "schemas" / f"{source}.json"
        return cls.read(path)

    @classmethod
    def read(cls, path: Path) -> Schema:
        """Read a schema file, which can be in an archive (`zipfile.Path`).

        Raises:
            BadData: The file is not a schema; the message describes the first issue.
        """
        content = read_json(path)
        try:
            return cls.from_dict(content)
        except ValueError as error:
            valid_values = f"not a schema file ({error})"
            raise BadData(DataIssue(path.name, valid_values=valid_values)) from error

    @classmethod
    def from_dict(cls, data: Any) -> Schema:
        """Return the schema with the content of a schema file.

        Raises:
            ValueError: The content is not valid; the message describes the first issue.
        """
        name = _get(data, "name", str, "schema")
        notification = _read_features(data, "notification")
        context = _read_features(data, "context")
        names = [*notification.names, *context.names]
        for feature in names:
            if feature in COLUMNS:
                raise ValueError(f"feature {feature}: this name is reserved")
            if names.count(feature) > 1:
                raise ValueError(f"feature {feature}: names must be unique")
        action = _get(data, "action", dict, "schema")
        opened = _get(action, "opened", list, "action")
        dismissed = _get(action, "dismissed", list, "action")
        layouts = _get(data, "layouts", list, "schema")
        _validate_layouts(layouts, names)
        return cls(
            name,
            notification,
            context,
            tuple(opened),
            tuple(dismissed),
            tuple(layouts),
        )

    def fit(self, table: Any) -> Schema:
        """Return this schema with the sorted values of `table` for each open feature without values."""
        notification = Features(_fit_feature(f, table) for f in self.notification)
        context = Features(_fit_feature(f, table) for f in self.context)
        return replace(self, notification=notification, context=context)


def _fit_feature(feature, table):
    if feature.is_fitted:
        return feature
    texts = {as_text(value) for value in table[feature.name]}
    values = {feature.canonical(text) for text in texts} - {None, OTHER}
    return replace(feature, values=tuple(sorted(values)))


# ---------------------------------------------------------------- validation of a schema file


def _get(data, key, expected, location):
    """Return `data[key]` of JSON; raise ValueError if it is missing or not of the expected type."""
    if not isinstance(data, dict):
        raise ValueError(f"{location} must be {JSON_TYPES[dict]}; got {data!r:.60}")
    if key not in data:
        raise ValueError(f"{location}: {key!r} is missing")
    if not isinstance(data[key], expected):
        raise ValueError(
            f"{location}: {key!r} must be {JSON_TYPES[expected]}; got {data[key]!r:.60}"
        )
    return data[key]


def _read_features(data, key):
    """Return the Features in the list `data[key]`."""
    features = []
    for position, entry in enumerate(_get(data, key, list, "schema"), 1):
        try:
            arguments = {}
            for name, value in entry.items():
                arguments[name] = tuple(value) if isinstance(value, list) else value
            features.append(Feature(**arguments))
        except (AttributeError, TypeError) as error:
            example = '{"name": "app", "kind": "open"}'
            raise ValueError(
                f"{key}, feature {position}: must be an object such as {example} ({error})"
            ) from None
    return Features(features)


def _validate_layouts(layouts: Sequence[Any], features: Sequence[str]) -> None:
    """Raise ValueError unless each period of each layout has one column for each feature and the action."""
    for position, layout in enumerate(layouts, 1):
        location = f"layout {position}"
        _get(layout, "root", str, location)
        for period, tables in _get(layout, "periods", dict, location).items():
            _validate_tables(tables, features, f"{location}, {period}")


def _validate_tables(tables, features, location):
    """Raise ValueError unless the tables of a period have one column for each feature and the action."""
    valid_names = {*COLUMNS, *features, *(f"removal.{name}" for name in features)}
    names: list[str] = []
    for table in tables:
        _get(table, "file", str, location)
        columns = _get(table, "columns", dict, location).values()
        names += [name for name in columns if name is not None]
    for name in names:
        if name not in valid_names:
            raise ValueError(
                f"{location}: {name!r} is not a feature or a reserved column"
            )
        if name != "id" and names.count(name) > 1:
            raise ValueError(f"{location}: {name!r} is the name of several columns")
    for name in (*features, "action"):
        if name not in names:
            raise ValueError(f"{location}: no column has the name {name!r}")
    if names.count("id") < len(tables) > 1:
        raise ValueError(
            f"{location}: each table needs a column 'id', on which they are joined"
        )
