"""Notifications that answer a challenge's contexts: a table that is checked whole before anything is scored.

Whatever stands in a cell is text: it is looked up among the values of its feature and nothing else is done with it.
"""

import difflib
import re

import numpy as np

from pushlab.datasets.features import as_text, encode_column
from pushlab.ground.faults import BadData, Fault

OPTIONAL = ("id", "response_time")      # columns that notifications may have besides their features
WHOLE = re.compile(r"([+-]?[0-9]{1,18})(\.0+)?")       # pandas writes 3 as 3.0 where a merge left a hole


def read_notifications(table, schema, wanted, file="notifications", lines=None):
    """Codes int64 (contexts, components), response times (contexts,) or None, and notes; in the order of the contexts.

    table   DataFrame of notifications, of text or typed
    wanted  how many contexts there are
    file    what a fault calls the table; `lines`, its rows (by default their places, from 0)

    Raises BadData with every fault of the table.
    """
    demand_table(table)
    half, head = schema.notification, None if lines is None else 1
    lines = list(range(len(table))) if lines is None else list(lines)
    columns, faults = find_columns(table.columns, _spellings(schema), OPTIONAL, file, head)
    table = table.loc[:, ~table.columns.duplicated()]
    order, bad = _match_ids(table, columns, wanted, file, lines)
    faults += bad
    blocks, notes = [], []
    for feature in half:
        if feature.name in columns:
            codes, bad = _read_column(feature, table[columns[feature.name]], columns[feature.name], file, lines)
            blocks.append(codes)
            faults += bad
            notes += [] if bad else _unknown_values(feature, codes, table[columns[feature.name]])
    seconds, bad = read_seconds(table, columns.get("response_time"), file, lines)
    faults += bad
    if faults:
        raise BadData(faults)
    return np.concatenate(blocks, axis=1)[order], None if seconds is None else seconds[order], notes


def demand_table(table):
    """TypeError for what is no DataFrame."""
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise TypeError(f"expected a pandas DataFrame with a row a notification; got {type(table).__name__}")


def _spellings(schema):
    """{feature of a notification: its names}: ours first, then those in the data files."""
    names = {feature.name: [feature.name] for feature in schema.notification}
    for layout in schema.layouts:
        for entries in layout["periods"].values():
            for entry in entries:
                for theirs, ours in entry["columns"].items():
                    if ours in names and theirs not in names[ours]:
                        names[ours].append(theirs)
    return names


def find_columns(header, spellings, optional, file, line=None):
    """{our name: the column's name} of a table, and the faults of its header.

    spellings  {our name: names it may have}, all of which must be there under one of them
    optional   names that may be there
    line       of the file, in which the header stands; None for a DataFrame

    A first column without a name is the row numbers that pandas writes, and passed over.
    """
    header = [str(name) for name in header]
    header = header[1:] if header[:1] in ([""], ["Unnamed: 0"]) else header
    known = {name: ours for ours, names in spellings.items() for name in names} | {name: name for name in optional}
    found, faults, extra = {}, [], []
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            faults.append(Fault(file, line, _printable(name), None, "the column is there twice"))
        if name not in known:
            extra.append(name)
        elif known[name] in found:
            faults.append(Fault(file, line, name, None, f"the column says the same as {found[known[name]]}; keep one"))
        else:
            found[known[name]] = name
    missing = [ours for ours in spellings if ours not in found]
    for name in map(_printable, extra):
        near = difflib.get_close_matches(name.lower(), [one.lower() for one in missing], 1, 0.7)
        hint = next((f"; is {one!r} meant?" for one in missing if one.lower() in near), "")
        right = f"the column is not one of {', '.join([*spellings, *optional])}{hint}"
        faults.append(Fault(file, line, name, None, right))
    return found, faults + [Fault(file, line, ours, None, "the column is missing") for ours in missing]


def _match_ids(table, columns, wanted, file, lines):
    """Which row answers each context, int64 (contexts,), and the faults met."""
    if "id" not in columns:
        if len(table) == wanted:
            return np.arange(wanted), []
        right = f"there are {len(table):,} rows for {wanted:,} contexts; each context needs one"
        return None, [Fault(file, None, None, None, right)]
    answer, faults = np.full(wanted, -1), []
    for row, text in enumerate(map(as_text, table[columns["id"]])):
        number = whole_number(text)
        if number is None or not 0 <= number < wanted:
            faults.append(Fault(file, lines[row], "id", _short(text), f"the id of a context, 0 to {wanted - 1}"))
        elif answer[number] >= 0:
            faults.append(Fault(file, lines[row], "id", _short(text), "an id of its own (it stands there twice)"))
        else:
            answer[number] = row
    left = np.flatnonzero(answer < 0)
    if len(left):
        some = ", ".join(map(str, left[:BadData.ROWS_SHOWN])) + (", …" if len(left) > BadData.ROWS_SHOWN else "")
        what = "context has" if len(left) == 1 else "contexts have"
        faults.append(Fault(file, None, "id", None, f"{len(left):,} {what} no row: {some}"))
    return answer, faults


def _read_column(feature, column, name, file, lines):
    """Codes (rows, components) of a feature's column, and the faults met."""
    values = np.where(column.isna(), np.nan, column.to_numpy(dtype=object))
    codes, bad = encode_column(feature, values)
    return codes, [Fault(file, lines[row], name, _short(text), feature.right) for row, text in bad]


def _unknown_values(feature, codes, column):
    """A note on values of an open feature that the history does not have."""
    if feature.kind != "open":
        return []
    other = np.flatnonzero(codes[:, 0] == len(feature.words) - 1)
    if not len(other):
        return []
    some = list(dict.fromkeys(_short(as_text(value)) for value in column.iloc[other]))
    named = ", ".join(map(repr, some[:3])) + (", …" if len(some) > 3 else "")
    rows = f"{len(other):,} row{'s have' if len(other) > 1 else ' has'}"
    return [f"{rows} a value of {feature.name} that the history does not know ({named}), coded as 'other'"]


def _short(text, most=60):
    return text if len(text) <= most else text[:most - 1] + "…"


def _printable(text):
    """A column's name as it may be shown on a terminal: no control characters, and not too long."""
    return _short("".join(character if character.isprintable() else "□" for character in text))


def whole_number(text):
    """The int that a cell says, or None where it says none; of at most 18 digits, so that it fits an int64.

    >>> whole_number("3"), whole_number("3.0"), whole_number("3.5"), whole_number("=3")
    (3, 3, None, None)
    """
    match = WHOLE.fullmatch(text)
    return int(match[1]) if match else None


def read_seconds(table, column, file, lines):
    """Response times float64 (rows,) of a column of numbers, or None without one, and the faults met."""
    import pandas as pd

    if column is None:
        return None, []
    numbers = pd.to_numeric(table[column], errors="coerce").to_numpy(dtype=float)
    wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
    return numbers, [Fault(file, lines[row], column, _short(as_text(table[column].iat[row])),
                           "a number of seconds, 0 or more") for row in wrong]
