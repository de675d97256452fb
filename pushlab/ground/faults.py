"""What is wrong with a file, said all at once.

A reader collects every fault it meets and raises one error that names file, row, column and value, and what would
have been right, so that a table is mended in one go and not in twenty.
"""

from collections import defaultdict
from typing import NamedTuple


class Fault(NamedTuple):
    """One thing that is wrong.

    file    name of the file or table
    row     number of the line, as an editor counts it (the header is line 1); None where no line is meant
    column  name of the column, or None
    value   what stands there, or None
    right   what would have been right
    unit    "row" of a table, or "item" of a list in JSON, counted from 0; a column is then a key
    """

    file: str
    row: int | None
    column: str | None
    value: str | None
    right: str
    unit: str = "row"


class BadData(ValueError):
    """A table or file that cannot be used; `faults` lists every reason, the message groups what belongs together.

    >>> print(BadData(Fault("a.csv", row, "noise", "loud", "low or high") for row in (2, 5)))
    2 faults:
      a.csv, column noise, rows 2, 5: 'loud' is not low or high
    """

    ROWS_SHOWN = 12

    def __init__(self, faults):
        self.faults = tuple(faults)
        super().__init__(self._message())

    def _message(self):
        groups = defaultdict(list)
        for fault in self.faults:
            groups[fault._replace(row=None)].append(fault.row)
        lines = [f"{len(self.faults)} fault{'s' if len(self.faults) != 1 else ''}:"]
        for fault, rows in groups.items():
            where = fault.file
            if fault.column is not None:
                where += f", {'column' if fault.unit == 'row' else 'key'} {fault.column or '(no name)'}"
            rows = [row for row in rows if row is not None]
            if rows:
                more = f" and {len(rows) - self.ROWS_SHOWN:,} more" if len(rows) > self.ROWS_SHOWN else ""
                shown = ", ".join(map(str, rows[:self.ROWS_SHOWN]))
                where += f", {fault.unit}{'s' if len(rows) > 1 else ''} {shown}{more}"
            what = fault.right if fault.value is None else f"{fault.value!r} is not {fault.right}"
            lines.append(f"  {where}: {what}")
        return "\n".join(lines)
