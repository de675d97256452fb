"""Issues of data files, raised together in one error.

A reader of files collects all issues, each with file, row, column, value and a description of valid values. So a table
can be corrected in one go.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np


class DataIssue(NamedTuple):
    """An issue of a file.

    Attributes:
        file: Name of the file or table.
        row: Line number as editors count (the header is line 1), or None.
        column: Name of the column, or None.
        value: The invalid text, or None.
        valid_values: Description of a valid value. If `value` is None, the whole message.
        unit: Kind of `row`: "row" of a table, "line" of a text, or "item" of a JSON list. Items are numbered from 0,
            and their columns are keys.
        total_rows: Number of rows in the table, or None.
    """

    file: str
    row: int | None = None
    column: str | None = None
    value: str | None = None
    valid_values: str = ""
    unit: str = "row"
    total_rows: int | None = None


class BadData(ValueError):
    """Error for a file with issues, listed in `issues`. The message has one line for each kind of issue in a column.

    >>> print(BadData(DataIssue("a.csv", row, "noise", "loud", "low or high") for row in (2, 5)))
    2 issues:
      a.csv, column noise, rows 2, 5: 'loud' is not low or high
    """

    MAX_LINES = 100

    def __init__(self, issues: DataIssue | Iterable[DataIssue]):
        self.issues = (issues,) if isinstance(issues, DataIssue) else tuple(issues)
        super().__init__(self._message())

    def _message(self):
        faults = defaultdict(list)
        for issue in self.issues:
            faults[issue._replace(row=None, value=None)].append(issue)
        count = len(self.issues)
        lines = [f"{count:,} issue{'s' if count != 1 else ''}:"]
        for fault in list(faults)[: self.MAX_LINES]:
            lines.append(f"  {printable(_line(fault, faults.pop(fault)))}")
        if faults:
            count = sum(map(len, faults.values()))
            lines.append(f"  and {count:,} more")
        return "\n".join(lines)


def _line(fault, issues):
    """Return the line of a message for issues that differ in their rows and values only."""
    line = fault.file
    if fault.column is not None:
        kind = "column" if fault.unit == "row" else "key"
        line += f", {kind} {shorten(fault.column) or '(no name)'}"
    rows = [issue.row for issue in issues if issue.row is not None]
    if len(rows) == fault.total_rows > 1:
        line += f", all {len(rows):,} {fault.unit}s"
    elif rows:
        line += f", {fault.unit}{'s' if len(rows) > 1 else ''} {listed(rows)}"
    values = dict.fromkeys(issue.value for issue in issues)
    if None in values:
        return f"{line}: {fault.valid_values}"
    words = listed([repr(shorten(value, 200)) for value in values])
    return f"{line}: {words} {'is' if len(values) == 1 else 'are'} not {fault.valid_values}"


def listed(items: Sequence[Any], length: int = 12) -> str:
    """Return the first items as text, and the number of the others.

    >>> listed([2, 5, 7], length=2)
    '2, 5 and 1 more'
    """
    text = ", ".join(map(str, items[:length]))
    n_others = len(items) - length
    return f"{text} and {n_others:,} more" if n_others > 0 else text


def raise_issues(issues: Iterable[DataIssue]) -> None:
    """Raise BadData with these issues unless there are none."""
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
            file,
            int(lines[row]),
            column,
            shorten(str(values[row])),
            valid_values,
            total_rows=len(lines),
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
