"""What is wrong with a file, said all at once.

A reader collects every fault it meets and raises one error that names file, row, column and value, and what would
have been right, so that a table is mended in one go and not in twenty.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class Fault(NamedTuple):
    """One thing that is wrong.

    file    name of the file or table
    row     number of the line, as an editor counts it (the header is line 1); None where no line is meant
    column  name of the column, or None
    value   what stands there, or None
    right   what would have been right
    unit    "row" of a table, "line" of a text, or "item" of a list in JSON, counted from 0; a column is then a key
    more    so many more of the column are wrong, which are not told of one by one
    """

    file: str
    row: int | None = None
    column: str | None = None
    value: str | None = None
    right: str = ""
    unit: str = "row"
    more: int = 0


class Ended(SystemExit):
    """This process was told to end, by SIGTERM: no fault of what was at work, and no exit of its own."""


class BadData(ValueError):
    """A table or file that cannot be used; `faults` lists the reasons, the message groups what belongs together.

    Of more than MOST faults that many are kept, the first ones of each file and column; `count` is of all.

    >>> print(BadData(Fault("a.csv", row, "noise", "loud", "low or high") for row in (2, 5)))
    2 faults:
      a.csv, column noise, rows 2, 5: 'loud' is not low or high
    """

    ROWS_SHOWN = 12
    MOST = 100
    LONGEST = 2000  # characters of what a line says, which may hold words of the file

    def __init__(self, faults: Fault | Iterable[Fault]):
        faults = (faults,) if isinstance(faults, Fault) else tuple(faults)
        self.count, self.faults = (
            len(faults) + sum(fault.more for fault in faults),
            self._first(faults),
        )
        super().__init__(self._message())

    def _first(self, faults):
        if len(faults) <= self.MOST:
            return faults
        met, places = Counter(), []  # how many faults of its column come before each
        for fault in faults:
            places.append(met[fault.file, fault.column])
            met[fault.file, fault.column] += 1
        kept = sorted(range(len(faults)), key=places.__getitem__)[: self.MOST]
        return tuple(faults[place] for place in sorted(kept))

    def _message(self):
        groups = defaultdict(list)
        for fault in self.faults:
            groups[fault._replace(row=None, more=0)].append(fault.row)
        first = (
            f", the first {len(self.faults)}" if self.count > len(self.faults) else ""
        )
        lines = [f"{self.count:,} fault{'s' if self.count != 1 else ''}{first}:"]
        for fault, rows in groups.items():
            where = fault.file
            if fault.column is not None:
                where += f", {'column' if fault.unit == 'row' else 'key'} {fault.column or '(no name)'}"
            rows = [row for row in rows if row is not None]
            if rows:
                more = (
                    f" and {len(rows) - self.ROWS_SHOWN:,} more"
                    if len(rows) > self.ROWS_SHOWN
                    else ""
                )
                shown = ", ".join(map(str, rows[: self.ROWS_SHOWN]))
                where += f", {fault.unit}{'s' if len(rows) > 1 else ''} {shown}{more}"
            what = (
                fault.right
                if fault.value is None
                else f"{short(fault.value, 200)!r} is not {fault.right}"
            )
            lines.append(
                f"  {printable(short(where, self.LONGEST))}: {printable(short(what, self.LONGEST))}"
            )
        return "\n".join(lines)


def refuse(faults: Iterable[Fault]) -> None:
    """Raises BadData with these faults, if there are any."""
    if faults := list(faults):
        raise BadData(faults)


def blame(
    file: str, lines: Any, column: str, values: Any, wrong: Any, right: str
) -> list[Fault]:
    """A Fault for each value of a column that is wrong; of more than BadData.MOST the last one tells how many more.

    lines, values, wrong   (rows,) numbers of the rows, what stands in them, and whether that is wrong (bool)

    >>> blame("a.csv", [2, 3, 4], "noise", ["low", "loud", "high"], [False, True, False], "low or high")[0][1:4]
    (3, 'noise', 'loud')
    """
    lines, values = np.asarray(lines), np.asarray(values, dtype=object)
    rows = np.flatnonzero(wrong)
    shown = rows[: BadData.MOST]
    return [
        Fault(
            file,
            int(lines[row]),
            column,
            short(str(values[row])),
            right,
            more=len(rows) - len(shown) if row == shown[-1] else 0,
        )
        for row in shown
    ]


def short(text: str, most: int = 60) -> str:
    """A text as a message may show it.

    >>> short("a" * 100, most=5)
    'aaaa…'
    """
    return text if len(text) <= most else text[: most - 1] + "…"


def printable(text: str) -> str:
    """A text as a terminal may show it: a square in the place of each control character.

    >>> printable("a\x1b[31m.csv")
    'a□[31m.csv'
    """
    return "".join(character if character.isprintable() else "□" for character in text)
