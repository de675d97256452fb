"""All faults of a file in one error.

A reader collects every fault and raises one error with file, row, column, value and a description of valid values, so
that a table can be corrected in one go.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class Fault(NamedTuple):
    """A fault of a file.

    Attributes:
        file: Name of the file or table.
        row: Number of the line, as an editor counts it (the header is line 1), or None.
        column: Name of the column, or None.
        value: The wrong text, or None.
        right: Description of a valid value; without a value, the whole message.
        unit: "row" of a table, "line" of a text, or "item" of a JSON list, counted from 0, whose column is a key.
    """

    file: str
    row: int | None = None
    column: str | None = None
    value: str | None = None
    right: str = ""
    unit: str = "row"


class BadData(ValueError):
    """A file that can't be used; `faults` lists the reasons, the message groups those of one column and value.

    >>> print(BadData(Fault("a.csv", row, "noise", "loud", "low or high") for row in (2, 5)))
    2 faults:
      a.csv, column noise, rows 2, 5: 'loud' is not low or high
    """

    LINES_SHOWN = 100
    ROWS_SHOWN = 12

    def __init__(self, faults: Fault | Iterable[Fault]):
        self.faults = (faults,) if isinstance(faults, Fault) else tuple(faults)
        super().__init__(self._message())

    def _message(self):
        rows_of = defaultdict(list)
        for fault in self.faults:
            rows_of[fault._replace(row=None)].append(fault.row)
        count = len(self.faults)
        lines = [f"{count:,} fault{'s' if count != 1 else ''}:"]
        for fault, rows in list(rows_of.items())[: self.LINES_SHOWN]:
            where = _place(fault, [row for row in rows if row is not None])
            what = fault.right
            if fault.value is not None:
                what = f"{short(fault.value, 200)!r} is not {what}"
            lines.append(f"  {printable(where)}: {printable(what)}")
        if len(rows_of) > self.LINES_SHOWN:
            lines.append(f"  and {len(rows_of) - self.LINES_SHOWN:,} more")
        return "\n".join(lines)


def _place(fault, rows):
    where = fault.file
    if fault.column is not None:
        kind = "column" if fault.unit == "row" else "key"
        where += f", {kind} {fault.column or '(no name)'}"
    if rows:
        unit = fault.unit + ("s" if len(rows) > 1 else "")
        where += f", {unit} {', '.join(map(str, rows[: BadData.ROWS_SHOWN]))}"
    if len(rows) > BadData.ROWS_SHOWN:
        where += f" and {len(rows) - BadData.ROWS_SHOWN:,} more"
    return where


def refuse(faults: Iterable[Fault]) -> None:
    """Raise BadData with these faults, if there are any."""
    if faults := list(faults):
        raise BadData(faults)


def blame(
    file: str, lines: Any, column: str, values: Any, wrong: Any, right: str
) -> list[Fault]:
    """Return a Fault for each wrong value of a column.

    Args:
        lines: Numbers of the rows, shape (rows,).
        values: The values, shape (rows,).
        wrong: Whether each value is wrong, shape (rows,), bool.

    >>> blame("a.csv", [2, 3, 4], "noise", ["low", "loud", "high"], [False, True, False], "low or high")[0][1:4]
    (3, 'noise', 'loud')
    """
    lines = np.asarray(lines)
    values = np.asarray(values, dtype=object)
    return [
        Fault(file, int(lines[row]), column, short(str(values[row])), right)
        for row in np.flatnonzero(wrong)
    ]


def short(text: str, most: int = 60) -> str:
    """Return a text for a message, at most `most` characters long.

    >>> short("a" * 100, most=5)
    'aaaa…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def printable(text: str) -> str:
    """Return a text for a terminal, with a square for each control character.

    >>> printable("a\\x1b[31m.csv")
    'a□[31m.csv'
    """
    return "".join(character if character.isprintable() else "□" for character in text)
