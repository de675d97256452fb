"""Tables from files: read as text, then validated and converted column by column.

>>> import pandas as pd
>>> rules = {"step": whole_number(0), "noise": word(("low", "high"))}
>>> table = pd.DataFrame({"step": ["0", "x"], "noise": ["low", "loud"]})
>>> convert(table, rules, "log.csv")
Traceback (most recent call last):
pushlab.ground.faults.BadData: 2 faults:
  log.csv, column step, row 3: 'x' is not a whole number, 0 or more
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

from pushlab.ground.arguments import meant, range_text
from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.files import read_text

MAX_INTEGER = 2**53  # larger integers aren't exact as floats


class Rule(NamedTuple):
    """Valid cells of a column, and their conversion.

    Attributes:
        right: Description of valid cells, for messages.
        parse: Function from a column of text to its values, with NaN or None for invalid cells.
        missing: Value of an empty cell. None makes empty cells invalid.
        required: Whether the table must have the column.
        dtype: Type of the converted column.
    """

    right: str
    parse: Callable[[pd.Series], pd.Series]
    missing: object = None
    required: bool = True
    dtype: str = "object"


def whole_number(minimum=None, maximum=None, **options) -> Rule:
    """Return a rule for whole numbers, converted to int64."""
    rule = number(minimum, maximum)

    def parse(column):
        values = rule.parse(column)
        return values.where((values % 1 == 0) & (values.abs() <= MAX_INTEGER))

    right = f"a whole number{range_text(minimum, None, maximum, None)}"
    return Rule(right, parse, dtype="int64", **options)


def number(minimum=None, maximum=None, **options) -> Rule:
    """Return a rule for finite numbers, converted to float64. `missing=np.nan` allows empty cells."""

    def parse(column):
        values = pd.to_numeric(column, errors="coerce")
        low = -np.inf if minimum is None else minimum
        high = np.inf if maximum is None else maximum
        return values.where(np.isfinite(values) & values.between(low, high))

    right = f"a number{range_text(minimum, None, maximum, None)}"
    return Rule(right, parse, dtype="float64", **options)


def word(choices: Collection[str] = (), **options) -> Rule:
    """Return a rule for text: one of `choices`, or any text if there are none."""

    def parse(column):
        return column.where(column.isin(list(choices))) if choices else column

    right = f"one of {', '.join(choices)}" if choices else "text"
    return Rule(right, parse, **options)


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
        others: Whether columns without a rule are allowed.
        name: Name of the file for messages.

    Raises:
        BadData: The table has faults. The message lists each with its row, column and value.
    """
    name = name or Path(str(path)).name
    return convert(read_as_text(path, separator, name), rules, name, others)


def read_as_text(
    path: Path | str, separator: str = ",", name: str | None = None
) -> pd.DataFrame:
    """Return the table in a file, with all cells as text. Raises BadData if the file isn't a table."""
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
                right = f"the row has {len(row)} fields and the header {len(header)}; the file may be cut off"
                faults.append(Fault(name, lines.line_num, right=right))
    except (StopIteration, csv.Error) as error:
        right = (
            f"the file is not a table in UTF-8 ({str(error) or 'the file is empty'})"
        )
        raise BadData(Fault(name, right=right)) from None
    refuse(faults)
    return pd.DataFrame(rows, columns=header, dtype=str)


def convert(
    table: pd.DataFrame, rules: Mapping[str, Rule], name: str, others: bool = True
) -> pd.DataFrame:
    """Return a table of text with its columns converted. Raises BadData that lists all faults."""
    converted, faults = check(table, rules, name, others)
    refuse(faults)
    return converted


def check(
    table: pd.DataFrame, rules: Mapping[str, Rule], name: str, others: bool = True
) -> tuple[pd.DataFrame, list[Fault]]:
    """Return a table of text with its valid columns converted, and all faults."""
    is_repeated = table.columns.duplicated()
    faults = [
        Fault(name, 1, column, right="the column occurs twice")
        for column in table.columns[is_repeated]
    ]
    table = table.loc[:, ~is_repeated]
    missing_columns = [
        column
        for column, rule in rules.items()
        if rule.required and column not in table
    ]
    if not others:
        allowed = ", ".join(column for column in rules if column)
        for column in table.columns.difference(list(rules), sort=False):
            right = (
                f"the column is not one of {allowed}{meant(column, missing_columns)}"
            )
            faults.append(Fault(name, 1, column, right=right))
    faults += [
        Fault(name, 1, column, right="the column is missing")
        for column in missing_columns
    ]
    converted = table.copy()
    lines = np.arange(len(table)) + 2
    for column in [column for column in rules if column in table]:
        rule = rules[column]
        text = table[column]
        values = rule.parse(text)
        is_invalid = values.isna()
        if rule.missing is not None:
            is_empty = text == ""
            is_invalid &= ~is_empty
            values = values.mask(is_empty, rule.missing)
        if is_invalid.any():
            faults += blame(name, lines, column, text, is_invalid, rule.right)
        else:
            converted[column] = values.astype(rule.dtype)
    return converted, faults
