"""Features of notifications and contexts, their kinds and values; people see names, arrays hold codes.

>>> day_part = Feature("time", "closed", ("morning", "evening"))
>>> day_part.code("evening"), day_part.word((0,))
((1,), 'morning')
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.spaces import MultiDiscrete

from pushlab.ground.arguments import meant
from pushlab.ground.faults import Fault, refuse

if TYPE_CHECKING:
    import pandas as pd

OTHER = "other"  # reserved: a value of an open feature that was not seen when the schema was fitted
KINDS = ("closed", "open", "set", "integer")


def _all_are(kind, entries):
    return isinstance(entries, (tuple, list)) and all(
        type(entry) is kind for entry in entries
    )


def as_text(value: Any) -> str:
    """A value as the files spell it: True, 3, 3.0 and "still" become "True", "3", "3" and "still"."""
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value).strip()


@dataclass(frozen=True)
class Feature:
    """One feature of a notification or of a context.

    kind     closed    exactly `values`; anything else is an error
             open      `values` come from the data; one unseen when the schema was fitted becomes `other`
             set       any subset of the tags in `values`, written with blanks between; `empty` is the word for none
             integer   a whole number, coded by the bin it falls in; `edges` are the lower ends of all but the first
    labels   friendlier words for `values`, in their order, for pictures
    aliases  other spellings of values, {spelling: value}; a set has none
    neutral  the value to take where nobody cares; by default the first, and of a set no tag at all

    Raises ValueError for what no value could be read by: two values alike, an alias or a neutral value of none.
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
        wrong = next(self._wrong(), None)
        if wrong:
            raise ValueError(f"feature {self.name}: {wrong}")

    def _wrong(self):
        """What is wrong, one thing after the other; each holds only if what comes before it does not."""
        texts = {
            "name": (self.name,),
            "kind": (self.kind,),
            "empty": (self.empty,),
            "neutral": () if self.neutral is None else (self.neutral,),
            "values": () if self.values is None else self.values,
            "labels": () if self.labels is None else self.labels,
            "aliases": (*self.aliases, *self.aliases.values())
            if isinstance(self.aliases, dict)
            else None,
        }
        for key, entries in texts.items():
            if not _all_are(str, entries):
                yield f"{key!r} takes text in quotation marks; got {getattr(self, key)!r:.60}"
        if not _all_are(int, self.edges):
            yield f"'edges' are whole numbers; got {self.edges!r:.60}"
        if self.kind not in KINDS:
            yield f"kind {self.kind!r} is not one of {', '.join(KINDS)}"
        values = self.values or ()
        if self.kind in ("closed", "set") and not values:
            yield f"a {self.kind} feature needs values"
        if self.kind == "integer" and (
            not self.edges or list(self.edges) != sorted(set(self.edges))
        ):
            yield f"an integer feature needs rising edges, not {self.edges}"
        if len(set(values)) < len(values):
            yield f"the value {max(values, key=values.count)!r} is there twice"
        if self.kind == "open" and OTHER in values:
            yield f"{OTHER!r} is kept for values that are not in the list"
        if self.kind == "set":
            yield from (
                f"{tag!r} is not one word"
                for tag in (*values, self.empty)
                if tag.split() != [tag]
            )
            if self.empty in values:
                yield f"{self.empty!r} means no tag, and is one"
            if self.aliases:
                yield "a set feature has no aliases"
        wanted = len(self.edges) + 1 if self.kind == "integer" else len(values)
        if self.labels is not None and len(self.labels) != wanted:
            yield f"there are {len(self.labels)} labels and {wanted} values"
        known = (
            self.words if self.fitted else ()
        )  # the value that an alias means may be yet to come
        for alias, value in self.aliases.items():
            if alias in known:
                yield f"the alias {alias!r} is a value itself"
            if value in self.aliases or (self.kind != "open" and value not in known):
                yield f"the alias {alias!r} means {value!r}, which is no value"
        if self.neutral is not None and not self.allows(self.neutral):
            yield f"the neutral value {self.neutral!r} is not {self.right}"

    @property
    def fitted(self) -> bool:
        """Whether the values are known; only an open feature may have to wait for data."""
        return self.kind != "open" or self.values is not None

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The values that a code stands for, in the order of codes; a set feature's tags."""
        if self.kind == "integer":
            between = (
                str(low) if high - low == 1 else f"{low} to {high - 1}"
                for low, high in zip(self.edges, self.edges[1:])
            )
            return (f"below {self.edges[0]}", *between, f"{self.edges[-1]} or more")
        if self.values is None:
            raise ValueError(
                f"feature {self.name} is open: fit the schema on data first"
            )
        return (*self.values, OTHER) if self.kind == "open" else tuple(self.values)

    @property
    def neutral_word(self) -> str:
        """The value to take where nobody cares."""
        if self.neutral is not None:
            return self.neutral
        return self.empty if self.kind == "set" else self.words[0]

    @property
    def components(self) -> tuple[str, ...]:
        """Names of the array components this feature takes: itself, or one 0/1 component a tag."""
        return (
            tuple(f"{self.name}.{tag}" for tag in self.values or ())
            if self.kind == "set"
            else (self.name,)
        )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of codes of each component."""
        return (
            (2,) * len(self.values or ()) if self.kind == "set" else (len(self.words),)
        )

    @property
    def right(self) -> str:
        """What a value should be, for an error message."""
        if self.kind == "integer":
            return "a whole number"
        if self.kind == "open":
            return "a word"
        choice = ", ".join(self.values or ())
        return (
            f"one or several of {choice}, or {self.empty}"
            if self.kind == "set"
            else f"one of {choice}"
        )

    @cached_property
    def _codes(self):
        codes = {word: code for code, word in enumerate(self.words)}
        # An alias may stand for a value of an open feature that the data it was fitted to never had.
        return codes | {
            alias: codes[value if value in codes else OTHER]
            for alias, value in self.aliases.items()
        }

    def code(self, text: str) -> tuple[int, ...] | None:
        """The codes of one value, a tuple with one for each component; None if the value is not allowed."""
        if self.kind == "set":
            tags = text.split()
            if tags == [self.empty]:
                tags = []
            elif not tags or not set(tags) <= set(self.values or ()):
                return None
            return tuple(int(tag in tags) for tag in self.values or ())
        if text in self._codes:
            return (self._codes[text],)
        if self.kind == "open" and text and text.lower() != "nan":
            return (self._codes[OTHER],)
        if self.kind == "integer" and re.fullmatch(r"[+-]?[0-9]{1,15}", text):
            return (int(np.searchsorted(self.edges, int(text), side="right")),)
        return None

    def allows(self, text: str) -> bool:
        """Whether this is a value of the feature; while an open one is not fitted, whether it is a value at all."""
        return (
            self.code(text) is not None
            if self.fitted
            else bool(text) and text.lower() != "nan"
        )

    def word(self, codes: Sequence[int] | np.ndarray) -> str:
        """The value that these codes stand for."""
        if self.kind == "set":
            return (
                " ".join(tag for tag, on in zip(self.values or (), codes) if on)
                or self.empty
            )
        return self.words[codes[0]]


class Features:
    """One half of an engagement, the notification or the context: its features in order, and their arrays.

    `components`, `sizes` and `space` say what an encoded array holds: one integer a feature, and for a set-valued
    feature a block of 0/1 integers, one a tag (a MultiBinary inside the MultiDiscrete).
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
        """Where the codes of each component begin when all codes stand side by side (one-hot), int64."""
        return np.concatenate([[0], np.cumsum(self.sizes)[:-1]]).astype(np.int64)

    @property
    def space(self) -> MultiDiscrete:
        """A MultiDiscrete over the components, int64."""
        return MultiDiscrete(self.sizes)

    def labels(self) -> dict[str, dict[str, str]]:
        """Friendlier words by feature and value, where the schema has them: {"day": {"0": "Monday", …}, …}."""
        return {
            feature.name: dict(zip(feature.words, feature.labels))
            for feature in self
            if feature.labels
        }

    def encode(
        self,
        table: pd.DataFrame | Mapping[str, Any],
        file: str = "table",
        rows: Any = None,
    ) -> np.ndarray:
        """Codes, int64 array (rows, components), of a DataFrame or a dict of columns that has every feature.

        Raises BadData with every value that is not allowed; `file` and `rows` (a number for each row) name the place.
        """
        refuse(
            Fault(file, column=name, right="the column is missing")
            for name in self.names
            if name not in table
        )
        found = [encode_column(feature, table[feature.name]) for feature in self]
        refuse(
            Fault(
                file,
                rows[row] if rows is not None else row,
                feature.name,
                value,
                feature.right,
            )
            for feature, (_, bad) in zip(self, found)
            for row, value in bad
        )
        return np.concatenate([codes for codes, _ in found], axis=1)

    @cached_property
    def blocks(self) -> tuple[tuple[Feature, slice], ...]:
        """Each feature, and its components' place in an encoded array."""
        ends = np.cumsum([len(feature.components) for feature in self]).tolist()
        return tuple(
            (feature, slice(end - len(feature.components), end))
            for feature, end in zip(self, ends)
        )

    def decode(self, codes: np.ndarray) -> pd.DataFrame:
        """A DataFrame of values, a row for each row of `codes` (rows, components)."""
        import pandas as pd

        codes, columns = np.asarray(codes), {}
        for feature, place in self.blocks:
            if feature.kind == "set":
                distinct, which = np.unique(
                    codes[:, place], axis=0, return_inverse=True
                )
                columns[feature.name] = np.array(
                    [feature.word(row) for row in distinct], object
                )[which.ravel()]
            else:
                columns[feature.name] = np.array(feature.words, object)[
                    codes[:, place.start]
                ]
        return pd.DataFrame(columns)

    def encode_one(self, values: Mapping[str, str]) -> np.ndarray:
        """The codes, int64 array (components,), of one dict of values, one for each feature.

        Raises ValueError for a key that is no feature, and for a value that is missing or not allowed. Warns of a value
        of an open feature that the data do not have: it is coded as "other".
        """
        for name in values.keys() - set(self.names):
            raise ValueError(
                f"{name!r} is no feature; there are {', '.join(self.names)}{meant(name, self.names)}"
            )
        codes, given = (
            list[int](),
            {name: value for name, value in values.items() if value is not None},
        )
        for feature in self:
            text = as_text(given.get(feature.name, ""))
            found = (
                feature.code(text)
                or self.encode(
                    {name: [value] for name, value in given.items()}, "values"
                )[0]
            )
            codes += found
            if feature.kind == "open" and feature.words[found[0]] == OTHER not in (
                text,
                feature.aliases.get(text),
            ):
                told = f"the data know no {feature.name} {text!r}, so it is coded as 'other'"
                warnings.warn(told + meant(text, feature.words), stacklevel=2)
        return np.array(codes, np.int64)

    def decode_one(self, codes: np.ndarray) -> dict[str, str]:
        """The values, a dict, of one array of codes (components,)."""
        return {
            feature.name: feature.word(codes[place]) for feature, place in self.blocks
        }

    def count_other(self, codes: np.ndarray) -> dict[str, int]:
        """How many rows of `codes` hold the reserved code, by open feature; only features where any does."""
        counts = {
            feature.name: int(
                (np.asarray(codes)[:, place] == len(feature.words) - 1).sum()
            )
            for feature, place in self.blocks
            if feature.kind == "open"
        }
        return {name: count for name, count in counts.items() if count}


def encode_column(feature: Feature, values: Any) -> tuple[np.ndarray, list]:
    """Codes (rows, components) of a column, and (row, value) of each value that is not allowed.

    Each distinct value is looked up once: a quarter holds thousands of rows and a few dozen values.
    """
    import pandas as pd

    which, distinct = pd.factorize(
        pd.Series(values, dtype=object), use_na_sentinel=False
    )
    texts = [as_text(value) for value in distinct]
    found = [feature.code(text) for text in texts]
    blank = (0,) * len(feature.components)
    codes = np.array(
        [blank if code is None else code for code in found], np.int64
    ).reshape(-1, len(blank))[which]
    wrong = np.array([code is None for code in found], bool)[which]
    return codes, [(int(row), texts[which[row]]) for row in np.flatnonzero(wrong)]
