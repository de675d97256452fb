"""Faults of data files, raised together in one error.

A reader of files collects all faults, each with file, row, column, value and a description of valid values. So a table
can be corrected in one go.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class DataIssue(NamedTuple):
    """A fault of a file.

    Attributes:
        file: Name of the file or table.
        row: Line number as editors count (the header is line 1), or None.
        column: Name of the column, or None.
        value: The invalid text, or None.
        valid_values: Description of a valid value. If `value` is None, the whole message.
        unit: Kind of `row`: "row" of a table, "line" of a text, or "item" of a JSON list. Items are numbered from 0,
            and their columns are keys.
    """

    file: str
    row: int | None = None
    column: str | None = None
    value: str | None = None
    valid_values: str = ""
    unit: str = "row"


class BadData(ValueError):
    """Error for a file with faults, listed in `issues`. The message groups rows with the same column and value.

    >>> print(BadData(DataIssue("a.csv", row, "noise", "loud", "low or high") for row in (2, 5)))
    2 faults:
      a.csv, column noise, rows 2, 5: 'loud' is not low or high
    """

    MAX_LINES = 100
    MAX_ROWS = 12

    def __init__(self, issues: DataIssue | Iterable[DataIssue]):
        self.issues = (issues,) if isinstance(issues, DataIssue) else tuple(issues)
        super().__init__(self._message())

    def _message(self):
        groups = defaultdict(list)
        for issue in self.issues:
            groups[issue._replace(row=None)].append(issue.row)
        count = len(self.issues)
        lines = [f"{count:,} fault{'s' if count != 1 else ''}:"]
        for issue, rows in list(groups.items())[: self.MAX_LINES]:
            location = _location(issue, [row for row in rows if row is not None])
            text = issue.valid_values
            if issue.value is not None:
                text = f"{shorten(issue.value, 200)!r} is not {text}"
            lines.append(f"  {printable(location)}: {printable(text)}")
        if len(groups) > self.MAX_LINES:
            lines.append(f"  and {len(groups) - self.MAX_LINES:,} more")
        return "\n".join(lines)


def _location(issue, rows):
    location = issue.file
    if issue.column is not None:
        kind = "column" if issue.unit == "row" else "key"
        location += f", {kind} {issue.column or '(no name)'}"
    if rows:
        unit = issue.unit + ("s" if len(rows) > 1 else "")
        location += f", {unit} {', '.join(map(str, rows[: BadData.MAX_ROWS]))}"
    if len(rows) > BadData.MAX_ROWS:
        location += f" and {len(rows) - BadData.MAX_ROWS:,} more"
    return location


def raise_issues(issues: Iterable[DataIssue]) -> None:
    """Raise BadData with these faults unless there are none."""
    if issues := list(issues):
        raise BadData(issues)


def column_issues(
    file: str, lines: Any, column: str, values: Any, is_invalid: Any, valid_values: str
) -> list[DataIssue]:
    """Return a DataIssue for each invalid value of a column.

    Args:
        lines: Line number of each row, shape (rows,).
        values: Values of the column, shape (rows,).
        is_invalid: Whether each value is invalid, bool, shape (rows,).
        valid_values: Description of valid values.

    >>> column_issues("a.csv", [2, 3, 4], "noise", ["low", "loud", "high"], [False, True, False], "low or high")[0][1:4]
    (3, 'noise', 'loud')
    """
    lines = np.asarray(lines)
    values = np.asarray(values, dtype=object)
    return [
        DataIssue(
            file, int(lines[row]), column, shorten(str(values[row])), valid_values
        )
        for row in np.flatnonzero(is_invalid)
    ]


def shorten(text: str, length: int = 60) -> str:
    """Return a text cut to at most `length` characters, for a message.

    >>> shorten("a" * 100, length=5)
    'aaaa…'
    """
    return text if len(text) <= length else text[: length - 1] + "…"


def printable(text: str) -> str:
    r"""Return a text for a terminal, with a square for each control character.

    >>> printable("a\x1b[31m.csv")
    'a□[31m.csv'
    """
    return "".join(character if character.isprintable() else "□" for character in text)
