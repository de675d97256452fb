"""Rows of a table counted out as bytes, so that torn ones are found before a parser fills them up without a word."""

import csv

import numpy as np

from pushlab.ground.faults import Fault

QUOTE, NEW_LINE = ord('"'), ord("\n")
NO_END = "a whole line: the file is torn off, and the last value may be; end it with a new line if it is whole"


def whole_rows(body, columns, file, separator="\t"):
    r"""The rows of a table, below its header, that have all their columns: bytes, their lines' numbers, and the faults.

    >>> whole_rows(b"1\tcalm\n2\n3\tloud\n4\tca", 2, "log.tsv")[:2]
    (b'1\tcalm\n3\tloud\n', array([2, 4]))
    """
    faults = []
    if body and not body.endswith(b"\n"):
        whole, _, rest = body.rpartition(b"\n")
        body = whole + b"\n" if whole else b""
        faults.append(Fault(file, body.count(b"\n") + 2, None, rest[:30].decode("utf-8", "ignore"), NO_END))
    starts, fields = _count_fields(body, separator)
    if (fields != columns).any() or body.count(b'"') % 2:
        body, lines, torn = _rows_one_by_one(body, columns, file, separator)
        return body, lines, [*torn, *faults]
    breaks = np.flatnonzero(np.frombuffer(body, np.uint8) == NEW_LINE)
    return body, 2 + np.searchsorted(breaks, starts), faults


def _count_fields(body, separator):
    """Where rows start, and how many fields each has: two arrays. What stands in quotes divides nothing."""
    letters = np.frombuffer(body, np.uint8)
    ends, splits = np.flatnonzero(letters == NEW_LINE), np.flatnonzero(letters == ord(separator))
    quotes = np.flatnonzero(letters == QUOTE)
    if len(quotes):
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        splits = splits[np.searchsorted(quotes, splits) % 2 == 0]
    return np.append(0, ends[:-1] + 1)[:len(ends)], np.diff(np.searchsorted(splits, ends), prepend=0) + 1


def _rows_one_by_one(body, columns, file, separator):
    """As `whole_rows` for a table with faults in it: a quote left open must not swallow the rows that follow."""
    kept, lines, faults = [], [], []
    for line, row in enumerate(body[:-1].split(b"\n"), 2):
        count = len(next(csv.reader([row.decode("utf-8")], delimiter=separator), [])) if row.strip() else 0
        if count == columns and row.count(b'"') % 2 == 0:
            kept.append(row + b"\n")
            lines.append(line)
        elif row.strip():
            right = (f"a row of {columns} cells; it has {count}" if count != columns
                     else "a quote is opened and not closed: the row is torn")
            faults.append(Fault(file, line, None, None, right))
    return b"".join(kept), np.array(lines, int), faults
