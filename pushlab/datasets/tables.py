"""The former reader of CSV, for callers that do not use `pushlab.ground.tables` yet."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pushlab.ground.arguments import meant
from pushlab.ground.faults import BadData, Fault, blame, printable, short

if TYPE_CHECKING:
    import pandas as pd

WIDEST, LONGEST = 1000, 2**20  # columns, and characters of a line
MOST_CELLS, A_ROW = (
    2**25,
    12,
)  # of a table, 8 bytes each; a row costs as much as so many cells
MOST_FAULTS = 10_000  # of one table: more torn rows are not told of one by one
LARGEST_NUMBER = 1e15  # sums of squares of such numbers are still numbers
NO_ROWS = "the table has a header and no rows"
A_DURATION = "a number of seconds, 0 or more"


# ---------------------------------------------------------------- reading a table


def read_rows(
    file: BinaryIO, name: str, most: int | None = None
) -> tuple[list, list, list, list]:
    """The header, the rows, the line of each row, and the faults of single rows of a CSV file that is open as bytes.

    most   so many rows are kept at most, and never more than fit into 256 MB; more are counted and are a fault

    Raises BadData where there is no table to go on with.
    """
    rows: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []
    count = 0
    words: dict[
        str, str
    ] = {}  # each distinct word is kept once: a log repeats a few of them
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    reader = csv.reader(_lines(text, name), strict=True)
    try:
        header = next(reader, [])
        most = min(most or MOST_CELLS, MOST_CELLS // (len(header) + A_ROW))
        if len(header) > WIDEST:
            raise BadData(
                Fault(name, 1, right=f"the header has {len(header):,} columns")
            )
        if len(header) == 1 and (
            mark := next((mark for mark in ";\t|" if mark in header[0]), None)
        ):
            right = f"there is {mark!r} between the columns; save the file as CSV with commas"
            raise BadData(Fault(name, 1, right=right))
        for row in reader:
            if len(row) == len(header):
                count += 1
                if count <= most:
                    rows.append(list(map(words.setdefault, row, row)))
                    lines.append(reader.line_num)
            elif row and len(faults) < MOST_FAULTS:
                right = f"the row has {len(row)} fields and the header {len(header)}; it may be torn off"
                faults.append(Fault(name, reader.line_num, right=right))
    except UnicodeDecodeError:
        raise BadData(_foreign_byte(file, name)) from None
    except csv.Error as error:
        raise BadData(
            [*faults, Fault(name, reader.line_num, right=f"not a CSV row ({error})")]
        ) from None
    finally:
        text.detach()  # whoever opened the file closes it
    if not "".join(header).strip():
        if any("".join(row).strip() for row in rows) or any(
            "torn" in fault.right for fault in faults
        ):
            raise BadData(
                Fault(name, 1, right="the first line is blank; it should be the header")
            )
        raise BadData(
            Fault(name, right="the file is empty; a CSV table with a header is meant")
        )
    if len(rows) < count:
        faults.append(
            Fault(
                name,
                right=f"there are {count:,} rows; {most:,} are the most that there can be",
            )
        )
    if not count and not faults:
        faults.append(Fault(name, right=NO_ROWS))
    return header, rows, lines, faults


def _lines(text, name):
    """The lines of a text; BadData for one that is too long to be a row."""
    for number, line in enumerate(iter(partial(text.readline, LONGEST + 1), ""), 1):
        if len(line) > LONGEST:
            raise BadData(
                Fault(
                    name, number, right=f"the line has more than {LONGEST:,} characters"
                )
            )
        yield line


def _foreign_byte(file, name):
    file.seek(0)
    for number, line in enumerate(file, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            right = f"the text is not UTF-8 (byte {line[error.start]:#04x}); save the file as CSV in UTF-8"
            return Fault(name, number, right=right)


def find_columns(
    header: Iterable[Any],
    spellings: Mapping[str, Iterable[str]],
    optional: Iterable[str],
    file: str,
    line: int | None = 1,
) -> tuple[dict, list]:
    """{our name: the column's name} of a table, and the faults of its header.

    spellings  {our name: names it may have}, all of which must be there under one of them
    optional   names that may be there
    line       of the file, in which the header stands; None for a DataFrame
    """
    header = [str(name) for name in header]
    known = {name: ours for ours, names in spellings.items() for name in names} | {
        name: name for name in optional
    }
    found: dict[str, str] = {}
    faults, extra = [], []
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            faults.append(
                Fault(file, line, _printable(name), right="the column is there twice")
            )
        if name not in known:
            extra.append(_printable(name))
        elif known[name] in found:
            faults.append(
                Fault(
                    file,
                    line,
                    name,
                    right=f"the column says the same as {found[known[name]]}; keep one",
                )
            )
        else:
            found[known[name]] = name
    missing = [ours for ours in spellings if ours not in found]
    if extra and line and not found:
        right = f"none of these is a column; the first line should name them: {', '.join(spellings)}"
        return {}, [Fault(file, line, right=right)]
    for name in extra:
        right = f"the column is not one of {', '.join(filter(None, [*spellings, *optional]))}{meant(name, missing)}"
        faults.append(Fault(file, line, name, right=right))
    return found, faults + [
        Fault(file, line, ours, right="the column is missing") for ours in missing
    ]


def _printable(name):
    """A column's name as it may be shown on a terminal: no control characters, and not too long."""
    return short(printable(name))


def read_numbers(
    column: pd.Series,
    name: str,
    file: str,
    lines: Any,
    right: str,
    *,
    unknown: Sequence[str] = (),
) -> tuple[np.ndarray, list]:
    """A column's numbers, float64 (rows,), and a fault for each that is not finite, below 0 or above 1e15.

    right     what a number of this column is, for the faults
    unknown   texts that may stand for no number, NaN
    """
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(
        dtype=float, na_value=np.nan
    )
    wrong = (
        ~((numbers >= 0) & (numbers <= LARGEST_NUMBER))
        & ~column.isin(unknown).to_numpy()
    )
    if (numbers > LARGEST_NUMBER).any():
        right += f", {LARGEST_NUMBER:g} at most"
    return numbers, blame(file, lines, name, column, wrong, right)
