"""Notifications that answer a challenge's contexts: a table that is checked whole before anything is scored.

Whatever stands in a cell is text: it is looked up among the values of its feature and nothing else is done with it.
"""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.features import OTHER, Feature, as_text, encode_column
from pushlab.datasets.schema import Schema
from pushlab.datasets.tables import A_DURATION, find_columns, read_numbers
from pushlab.ground.arguments import meant
from pushlab.ground.faults import BadData, Fault, blame, refuse, short

OPTIONAL = (
    "id",
    "response_time",
)  # columns that notifications may have besides their features
WHOLE = re.compile(
    r"([+-]?[0-9]{1,18})(\.0+)?"
)  # pandas writes 3 as 3.0 where a merge left a hole


def read_notifications(
    table: pd.DataFrame,
    schema: Schema,
    wanted: int,
    file: str = "notifications",
    lines: Sequence[int] | None = None,
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Codes int64 (contexts, components), response times (contexts,) or None, and notes; in the order of the contexts.

    table   DataFrame of notifications, of text or typed
    wanted  how many contexts there are
    file    what a fault calls the table; `lines`, its rows (by default their places, from 0)

    Raises BadData with every fault of the table.
    """
    demand_table(table)
    head, rows = (None, range(len(table))) if lines is None else (1, lines)
    columns, faults = find_columns(
        named_columns(table), _spellings(schema), OPTIONAL, file, head
    )
    table = table.loc[:, ~table.columns.duplicated()]
    order, bad = _match_ids(table, columns, wanted, file, rows)
    faults += bad
    blocks: list[np.ndarray] = []
    notes: list[str] = []
    for feature in schema.notification:
        if feature.name in columns:
            column = table[columns[feature.name]]
            codes, bad = read_values(feature, column, columns[feature.name], file, rows)
            blocks.append(codes)
            faults += bad
            notes += [] if bad else _unknown_values(feature, codes, column)
    seconds = None
    if "response_time" in columns:
        seconds, bad = read_numbers(
            table["response_time"], "response_time", file, rows, A_DURATION
        )
        faults += bad
    refuse(faults)
    return (
        np.concatenate(blocks, axis=1)[order],
        None if seconds is None else seconds[order],
        notes,
    )


def demand_table(table: Any) -> None:
    """TypeError for what is no DataFrame."""
    if not isinstance(table, pd.DataFrame):
        raise TypeError(
            f"expected a pandas DataFrame with a row a notification; got {type(table).__name__}"
        )


def named_columns(table: pd.DataFrame) -> list[str]:
    """The names of a table's columns, but for a first one of row numbers, which pandas writes without a name."""
    names = [str(name) for name in table.columns]
    return names[1:] if names[:1] in ([""], ["Unnamed: 0"]) else names


def _spellings(schema):
    """{feature of a notification: its names}: ours first, then those in the data files."""
    names = {feature.name: [feature.name] for feature in schema.notification}
    entries = [
        entry
        for layout in schema.layouts
        for entries in layout["periods"].values()
        for entry in entries
    ]
    for theirs, ours in (
        pair for entry in entries for pair in entry["columns"].items()
    ):
        if ours in names and theirs not in names[ours]:
            names[ours].append(theirs)
    return names


def _match_ids(table, columns, wanted, file, lines):
    """Which row answers each context, int64 (contexts,), and the faults met."""
    if "id" not in columns:
        right = f"there are {len(table):,} rows for {wanted:,} contexts; each context needs one"
        return np.arange(wanted), [] if len(table) == wanted else [
            Fault(file, right=right)
        ]
    right = f"the id of a context, 0 to {wanted - 1}"
    ids, faults = read_whole_numbers(table["id"], "id", file, lines, wanted - 1, right)
    _, first = np.unique(ids, return_index=True)
    again = (ids >= 0) & ~np.isin(np.arange(len(ids)), first)
    faults += blame(
        file,
        lines,
        "id",
        table["id"].map(as_text),
        again,
        "an id of its own (it stands there twice)",
    )
    answer = np.full(wanted, -1)
    answer[ids[first][ids[first] >= 0]] = first[ids[first] >= 0]
    left = np.flatnonzero(answer < 0)
    if len(left):
        some = ", ".join(map(str, left[: BadData.ROWS_SHOWN])) + (
            ", …" if len(left) > BadData.ROWS_SHOWN else ""
        )
        what = "context has" if len(left) == 1 else "contexts have"
        faults.append(
            Fault(file, column="id", right=f"{len(left):,} {what} no row: {some}")
        )
    return answer, faults


def read_values(
    feature: Feature, column: pd.Series, name: str, file: str, lines: Any
) -> tuple[np.ndarray, list]:
    """Codes (rows, components) of a feature's column, and the faults met."""
    codes, bad = encode_column(
        feature, np.where(column.isna(), np.nan, column.to_numpy(dtype=object))
    )
    right = {
        text: feature.right + meant(text, feature.words or ())
        for text in dict(bad).values()
    }
    return codes, [
        Fault(file, int(lines[row]), name, short(text), right[text])
        for row, text in bad
    ]


def _unknown_values(feature, codes, column):
    """A note on values of an open feature that the history does not have; "other" is said on purpose."""
    if feature.kind != "open":
        return []
    other = np.flatnonzero(
        (codes[:, 0] == len(feature.words) - 1)
        & (column.to_numpy(dtype=object) != OTHER)
    )
    if not len(other):
        return []
    some = list(dict.fromkeys(short(as_text(value)) for value in column.iloc[other]))
    named = ", ".join(map(repr, some[:3])) + (", …" if len(some) > 3 else "")
    rows = f"{len(other):,} row{'s have' if len(other) > 1 else ' has'}"
    near = meant(some[0], feature.words) if len(some) == 1 else ""
    return [
        f"{rows} a value of {feature.name} that the history does not know ({named}), coded as 'other'{near}"
    ]


def whole_number(text: str) -> int | None:
    """The int that a cell says, or None where it says none; of at most 18 digits, so that it fits an int64.

    >>> whole_number("3"), whole_number("3.0"), whole_number("3.5"), whole_number("=3")
    (3, 3, None, None)
    """
    match = WHOLE.fullmatch(text)
    return int(match[1]) if match else None


def read_whole_numbers(
    column: pd.Series,
    name: str,
    file: str,
    lines: Any,
    most: int | None = None,
    right: str = "a whole number, 0 or more",
) -> tuple[np.ndarray, list[Fault]]:
    """A column's whole numbers from 0, int64 (rows,), -1 in place of anything else or more than `most`, and the faults.

    Each distinct cell is read once.
    """
    cells = np.array(
        [value if isinstance(value, str) else as_text(value) for value in column],
        dtype=object,
    )
    which, texts = pd.factorize(cells)
    numbers = [whole_number(text) for text in texts]
    good = [
        number is not None and 0 <= number and (most is None or number <= most)
        for number in numbers
    ]
    values = np.array(
        [number if fine else -1 for number, fine in zip(numbers, good)], np.int64
    )[which]
    return values, blame(file, lines, name, texts[which], values < 0, right)
