"""Tables from files: read as text, checked column by column, and converted.

>>> import pandas as pd
>>> rules = {"step": whole_number(0), "noise": word(("low", "high"))}
>>> table = pd.DataFrame({"step": ["0", "x"], "noise": ["low", "loud"]})
>>> convert(table, rules, "log.csv")
Traceback (most recent call last):
pushlab.ground.faults.BadData: 2 faults:
  log.csv, column step, row 3: 'x' is not a whole number from 0 up
  log.csv, column noise, row 3: 'loud' is not one of low, high
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pushlab.ground.arguments import _range, meant
from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.files import read_text

LARGEST_WHOLE = 2**53  # beyond it two integers can be one float


class Rule(NamedTuple):
    """Valid cells of a column, and their conversion.

    Attributes:
        right: A description for messages.
        convert: A function of a column of text that returns its values, and NaN or None for a text that is wrong.
        missing: The value of an empty cell, or None if a cell must not be empty.
        required: Whether the table needs the column.
        dtype: Type of the converted column.
    """

    right: str
    convert: Callable[[pd.Series], pd.Series]
    missing: object = None
    required: bool = True
    dtype: str = "object"


def whole_number(minimum=None, maximum=None, **options) -> Rule:
    """A rule for whole numbers, as int64."""
    rule = number(minimum, maximum)

    def convert(column):
        values = rule.convert(column)
        return values.where((values % 1 == 0) & (values.abs() <= LARGEST_WHOLE))

    right = f"a whole number{_range(minimum, None, maximum, None)}"
    return Rule(right, convert, dtype="int64", **options)


def number(minimum=None, maximum=None, **options) -> Rule:
    """A rule for finite numbers, as float64; use `missing=np.nan` to allow empty cells."""

    def convert(column):
        values = pd.to_numeric(column, errors="coerce")
        low = -np.inf if minimum is None else minimum
        high = np.inf if maximum is None else maximum
        return values.where(np.isfinite(values) & values.between(low, high))

    right = f"a number{_range(minimum, None, maximum, None)}"
    return Rule(right, convert, dtype="float64", **options)


def word(choices: Collection[str] = (), **options) -> Rule:
    """A rule for text: one of `choices`, or any if there are none."""

    def convert(column):
        return column.where(column.isin(list(choices))) if choices else column

    right = f"one of {', '.join(choices)}" if choices else "a text"
    return Rule(right, convert, **options)


def read_table(
    path: Path | str,
    rules: Mapping[str, Rule],
    separator: str = ",",
    others: bool = True,
    name: str | None = None,
) -> pd.DataFrame:
    """Return the table in a file, with converted columns.

    Args:
        rules: A Rule for each column. Other columns stay text.
        others: Whether there may be columns without a rule.
        name: Name of the file for messages.

    Raises:
        BadData: The table has faults; the message lists each with its row, column and value.
    """
    name = name or Path(str(path)).name
    return convert(read_as_text(path, separator, name), rules, name, others)


def read_as_text(
    path: Path | str, separator: str = ",", name: str | None = None
) -> pd.DataFrame:
    """Return the table in a file, each cell as it is written. Raises BadData for a file that isn't a table."""
    name = name or Path(str(path)).name
    text = read_text(path, name).rstrip("\r\n")
    lines = csv.reader(io.StringIO(text), delimiter=separator)
    rows = []
    faults = []
    try:
        header = next(lines)
        for row in lines:
            rows.append(row)
            if len(row) != len(header):
                right = f"the row has {len(row)} fields and the header {len(header)}; it may be torn off"
                faults.append(Fault(name, lines.line_num, right=right))
    except (StopIteration, csv.Error) as error:
        right = f"a table in UTF-8 ({str(error) or 'the file is empty'})"
        raise BadData(Fault(name, right=right)) from None
    refuse(faults)
    return pd.DataFrame(rows, columns=header, dtype=str)


def convert(
    table: pd.DataFrame, rules: Mapping[str, Rule], name: str, others: bool = True
) -> pd.DataFrame:
    """Return a table of text with its columns converted. Raises BadData that lists every fault."""
    converted, faults = check(table, rules, name, others)
    refuse(faults)
    return converted


def check(
    table: pd.DataFrame, rules: Mapping[str, Rule], name: str, others: bool = True
) -> tuple[pd.DataFrame, list[Fault]]:
    """Return a table of text with its columns converted, except faulty ones, and all faults."""
    twice = table.columns.duplicated()
    faults = [
        Fault(name, 1, column, right="the column is there twice")
        for column in table.columns[twice]
    ]
    table = table.loc[:, ~twice]
    missing = [
        column
        for column, rule in rules.items()
        if rule.required and column not in table
    ]
    if not others:
        known = ", ".join(column for column in rules if column)
        for column in table.columns.difference(list(rules), sort=False):
            right = f"the column is not one of {known}{meant(column, missing)}"
            faults.append(Fault(name, 1, column, right=right))
    faults += [
        Fault(name, 1, column, right="the column is missing") for column in missing
    ]
    converted = table.copy()
    lines = np.arange(len(table)) + 2
    for column in [column for column in rules if column in table]:
        rule = rules[column]
        text = table[column]
        values = rule.convert(text)
        wrong = values.isna()
        if rule.missing is not None:
            is_empty = text == ""
            wrong &= ~is_empty
            values = values.mask(is_empty, rule.missing)
        if wrong.any():
            faults += blame(name, lines, column, text, wrong, rule.right)
        else:
            converted[column] = values.astype(rule.dtype)
    return converted, faults
