"""Tables from files: read as text, then validated and converted column by column.

>>> import pandas as pd
>>> rules = {"step": integer_rule(0), "noise": text_rule(("low", "high"))}
>>> table = pd.DataFrame({"step": ["0", "x"], "noise": ["low", "loud"]})
>>> convert_columns(table, rules, "log.csv")
Traceback (most recent call last):
pushlab.utils.issues.BadData: 2 issues:
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

from pushlab.utils.arguments import range_text, suggestion
from pushlab.utils.files import read_text
from pushlab.utils.issues import (
    BadData,
    DataIssue,
    column_issues,
    raise_issues,
    shorten,
)

MAX_INTEGER = 2**53  # larger integers aren't exact as floats


class ColumnRule(NamedTuple):
    """Valid cells of a column, and their conversion.

    Attributes:
        valid_values: Description of valid cells, for messages.
        parse: Function from a column of text to its values, with NaN or None for invalid cells.
        fill_value: Value of an empty cell. None makes empty cells invalid.
        required: Whether the table must have the column.
        dtype: Type of the converted column.
    """

    valid_values: str
    parse: Callable[[pd.Series], pd.Series]
    fill_value: object = None
    required: bool = True
    dtype: str = "object"


def integer_rule(minimum=None, maximum=None, **options) -> ColumnRule:
    """Return a rule for whole numbers, converted to int64."""
    rule = number_rule(minimum, maximum)

    def parse(column):
        values = rule.parse(column)
        return values.where((values % 1 == 0) & (values.abs() <= MAX_INTEGER))

    valid_values = f"a whole number{range_text(minimum, None, maximum, None)}"
    return ColumnRule(valid_values, parse, dtype="int64", **options)


def number_rule(minimum=None, maximum=None, **options) -> ColumnRule:
    """Return a rule for finite numbers, converted to float64. `fill_value=np.nan` allows empty cells."""

    def parse(column):
        values = pd.to_numeric(column, errors="coerce")
        low = -np.inf if minimum is None else minimum
        high = np.inf if maximum is None else maximum
        return values.where(np.isfinite(values) & values.between(low, high))

    valid_values = f"a number{range_text(minimum, None, maximum, None)}"
    return ColumnRule(valid_values, parse, dtype="float64", **options)


def text_rule(choices: Collection[str] = (), **options) -> ColumnRule:
    """Return a rule for text: one of `choices`, or any text if there are none."""

    def parse(column):
        return column.where(column.isin(list(choices))) if choices else column

    valid_values = f"one of {', '.join(choices)}" if choices else "text"
    return ColumnRule(valid_values, parse, **options)


def read_table(
    path: Path | str,
    rules: Mapping[str, ColumnRule],
    allow_extra: bool = True,
    name: str = "",
) -> pd.DataFrame:
    """Return the table in a file, with converted columns.

    Args:
        rules: A ColumnRule for each column. Other columns stay text.
        allow_extra: Whether columns without a rule are allowed.
        name: Name of the file for messages.

    Raises:
        BadData: The table has issues. The message lists each with its row, column and value.
    """
    name = name or Path(str(path)).name
    table = read_raw_table(path, name=name)
    return convert_columns(table, rules, name, allow_extra)


def read_raw_table(
    path: Path | str, separator: str = ",", name: str = ""
) -> pd.DataFrame:
    """Return the table in a file, with all cells as text. Raises BadData if the file isn't a table.

    Columns can also be separated by semicolons, as spreadsheets do in many languages, or by tabs. If the header has
    blanks after separators, those of all rows are removed.
    """
    name = name or Path(str(path)).name
    text = read_text(path, name).rstrip("\r\n")
    first_line = text.partition("\n")[0]
    if not first_line.strip():
        raise BadData(
            DataIssue(name, valid_values="the file is empty, or its first row is")
        )
    marks = [mark for mark in (separator, ";", "\t") if mark in first_line]
    separator = marks[0] if marks else separator
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=separator,
        skipinitialspace=f"{separator} " in first_line,
        strict=True,
    )
    rows = []
    issues = []
    line = 1  # where the next row begins
    try:
        header = next(reader)
        line = reader.line_num + 1
        for row in reader:
            if len(row) != len(header):
                valid_values = (
                    f"the header has {len(header)} fields and the row {len(row)}; the file may be cut off, "
                    "or a value with a comma may lack quotation marks"
                )
                issues.append(DataIssue(name, line, valid_values=valid_values))
            rows.append(row)
            line = reader.line_num + 1
    except csv.Error as error:
        valid_values = f"a field is too long or has no closing quotation mark ({error})"
        raise BadData(DataIssue(name, line, valid_values=valid_values)) from None
    raise_issues(issues)
    return pd.DataFrame(rows, columns=header, dtype=str)


def convert_columns(
    table: pd.DataFrame,
    rules: Mapping[str, ColumnRule],
    name: str,
    allow_extra: bool = True,
) -> pd.DataFrame:
    """Return a table of text with its columns converted. Raises BadData that lists all issues."""
    converted, issues = try_convert_columns(table, rules, name, allow_extra)
    raise_issues(issues)
    return converted


def try_convert_columns(
    table: pd.DataFrame,
    rules: Mapping[str, ColumnRule],
    name: str,
    allow_extra: bool = True,
) -> tuple[pd.DataFrame, list[DataIssue]]:
    """Return a table of text with its valid columns converted, and all issues."""
    if not set(table) & set(rules):
        valid_values = f"the header has none of the columns {', '.join(rules)}; it is {shorten(', '.join(table), 200)}"
        return table, [DataIssue(name, 1, valid_values=valid_values)]
    is_repeated = table.columns.duplicated()
    issues = [
        DataIssue(name, 1, column, valid_values="the column occurs twice")
        for column in table.columns[is_repeated]
    ]
    table = table.loc[:, ~is_repeated]
    missing_columns = [
        column
        for column, rule in rules.items()
        if rule.required and column not in table
    ]
    if not allow_extra:
        allowed = ", ".join(column for column in rules if column)
        for column in table.columns.difference(list(rules), sort=False):
            valid_values = f"the column is not one of {allowed}{suggestion(column, missing_columns)}"
            issues.append(DataIssue(name, 1, column, valid_values=valid_values))
    issues += [
        DataIssue(name, 1, column, valid_values="the column is missing")
        for column in missing_columns
    ]
    converted = table.copy()
    lines = np.arange(len(table)) + 2
    for column in [column for column in rules if column in table]:
        rule = rules[column]
        text = table[column]
        values = rule.parse(text)
        is_invalid = values.isna()
        if rule.fill_value is not None:
            is_empty = text == ""
            is_invalid &= ~is_empty
            values = values.mask(is_empty, rule.fill_value)
        if is_invalid.any():
            issues += column_issues(
                name, lines, column, text, is_invalid, rule.valid_values
            )
        else:
            converted[column] = values.astype(rule.dtype)
    return converted, issues
