"""The tables of a lifetime on disk: TSV and CSV, checked row by row as they are read."""

import csv
import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pushlab.ground.faults import BadData, Fault
from pushlab.logs.columns import AMID, exactly, parse, read_description
from pushlab.logs.rows import whole_rows

TABLE, COLUMNS = "data-log.tsv", "columns.json"
OURS = {"block_num": "block", "exp_num": "episode", "worker_id": "worker", "block_type": "block_type",
        "block_subtype": "block_subtype", "task_name": "task", "task_params": "params", "exp_status": "status",
        "timestamp": "timestamp"}                              # L2Logger's names and ours, in L2Logger's order
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
WHOLE = ("block", "episode")                                    # counts
WORDS = ("worker", "block_type", "block_subtype", "task", "params", "status", "timestamp", "phase", "run", "env",
         "agent")
ALLOWED = {"block_type": ("train", "test"), "block_subtype": ("wake", "sleep"), "status": ("complete", "incomplete")}
MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "None"]      # spellings of no number
MOST_FAULTS = 1000              # of a table; more say nothing new


class Table(NamedTuple):
    """A table on disk: its path, the name that errors call it by, and block and type that its folder says."""

    path: Path
    name: str
    block: int | None = None
    block_type: str | None = None


def block_folder(folder, worker, block, block_type):
    """Where a block's table lies; ValueError for a worker whose name is no folder's."""
    if not worker or worker in (".", "..") or set(worker) & set('/\\:*?"<>|\n\r\t\0'):
        raise ValueError(f"a worker's name is a folder's, without / and the like; got {worker!r}")
    return Path(folder) / worker / f"{block}-{block_type}"


def are_numbered(part):
    """Whether a table numbers its experiences through the whole lifetime, as L2Logger does and others may not."""
    if part.block is not None:
        return not part.path.with_name(COLUMNS).exists()
    with open(part.path, encoding="utf-8-sig", errors="replace") as file:
        return THEIRS["episode"] in file.readline()


# ---------------------------------------------------------------- reading

def read_part(part):
    """A DataFrame of one table under our names, indexed by the lines of the file, and the faults met.

    Rows with faults are left out; None where the whole table is of no use.
    """
    beside = part.path.with_name(COLUMNS)
    if beside.exists() and part.block is not None:
        table, faults = read_columns(part, "log")
        if table is None:
            return None, faults
        own, table = read_description(beside)["own"], table.rename(columns=OURS)
        unknown = [name for name in own if name not in table]
        if unknown:
            return None, [*faults, Fault(f"{Path(part.name).parent.as_posix()}/{COLUMNS}", None, "own", unknown[0],
                                         "a column of the table", "item")]
        return _without_faulty(table[own], part, faults, _check)
    return _read_foreign(part)


def _without_faulty(table, part, faults, *checks):
    """The rows of a table in which no check finds a fault, and the faults of all."""
    found = [fault for check in checks for fault in check(table, part)]
    wrong = {fault.row for fault in found}
    if None in wrong or len(found) >= MOST_FAULTS:
        return None, [*faults, *found]
    return (table.drop(index=list(wrong)) if wrong else table), [*faults, *found]


def read_columns(part, key):
    """A DataFrame of a table that `spell` wrote, each column as it was, and the faults met; `key` is its name there.

    Rows that are torn, or hold what their column cannot, are left out.
    """
    data, lines, faults = _read_whole(part)
    if data is None:
        return None, faults
    try:
        kinds = read_description(part.path.with_name(COLUMNS))[key]
    except BadData as error:
        return None, [*faults, *error.faults]
    header = next(csv.reader([data.partition(b"\n")[0].decode("utf-8")], delimiter="\t"))
    if header != list(kinds):
        right = f"columns {', '.join(kinds)}, as {COLUMNS} beside it says"
        return None, [*faults, Fault(part.name, 1, None, None, right)]
    try:
        table, wrong = parse(data, kinds, len(lines))
    except ValueError as error:
        return None, [*faults, Fault(part.name, None, None, None, f"a table as {COLUMNS} beside it says ({error})")]
    table.index = lines[table.index]
    return table, [*faults, *(Fault(part.name, int(lines[at]), name, word, right) for at, name, word, right in wrong)]


def _read_whole(part):
    """The bytes of a table without its torn rows, the numbers of the lines that are left, and the faults.

    None in place of the bytes of a table that is empty or no text.
    """
    data = part.path.read_bytes().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        return None, None, [Fault(part.name, None, None, None, "a table with a header; this file is empty")]
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return None, None, [Fault(part.name, line, None, None, "text in UTF-8")]
    head, _, body = data.partition(b"\n")
    if head.endswith(b"\r"):
        head, body = head[:-1], body.replace(b"\r\n", b"\n")
    separator = separator_of(part)
    columns = len(next(csv.reader([head.decode("utf-8")], delimiter=separator)))
    body, lines, faults = whole_rows(body, columns, part.name, separator)
    return head + b"\n" + body, lines, faults


def separator_of(part):
    """What stands between two cells of a table on disk."""
    return "," if part.path.suffix == ".csv" else "\t"


def _read_foreign(part):
    """A table of L2Logger, or of somebody who wrote one with its columns or ours."""
    import pandas as pd

    data, lines, torn = _read_whole(part)
    if data is None:
        return None, torn
    separator = separator_of(part)
    header = next(csv.reader([data.partition(b"\n")[0].decode("utf-8")], delimiter=separator))
    named = [OURS.get(name, name) for name in header]
    faults = [Fault(part.name, 1, name, None, "a column of its own; it is there twice")
              for name in sorted({name for name in named if named.count(name) > 1})]
    if part.block is None and "block" not in named and "phase" not in named and "block_type" not in named:
        faults.append(Fault(part.name, None, "block", None, "a lifetime has this column"))
    wanted = ("block", "episode", "block_type", "task") if part.block is not None else ("task",)
    faults += [Fault(part.name, None, THEIRS[name], None, "the column is missing") for name in wanted
               if name not in named]
    if faults:
        return None, [*torn, *faults]
    words = {theirs: "str" for theirs, ours in zip(header, named) if ours in WORDS}
    # A task may be called NA; only a number may be missing.
    try:
        table = pd.read_csv(io.BytesIO(data), sep=separator, dtype=words, keep_default_na=False, low_memory=False,
                            na_values={name: MISSING for name in header if name not in words}, lineterminator="\n",
                            **exactly())
    except pd.errors.ParserError as error:
        return None, [*torn, Fault(part.name, None, None, None, f"a table ({error})")]
    if len(table) != len(lines):
        return None, [*torn, Fault(part.name, None, None, None, f"a table; {AMID}")]
    table.columns, table.index = named, lines
    table, faults = _without_faulty(table, part, torn, _check_foreign, _check)
    if table is None:
        return None, faults
    for name in [name for name in WHOLE if name in table]:
        table[name] = table[name].astype("int64")
    for name in [name for name in table if name not in WORDS and table[name].dtype.kind not in "iufb"]:
        if pd.to_numeric(table[name], errors="coerce").notna().any():
            table[name] = pd.to_numeric(table[name])            # what was no number stood in the rows left out
    if "block_type" not in table and "phase" in table:
        table["block_type"] = table["phase"].str.rpartition(".")[2]
    if "episode" not in table:
        table["episode"] = np.arange(len(table))
    if "return" in table and "reward" not in table:
        table = table.rename(columns={"return": "reward"})
    return table, faults


def _check_foreign(table, part):
    """What is wrong with the cells of a table that others wrote."""
    import pandas as pd

    faults = [] if len(table) else [Fault(part.name, None, None, None, "at least one experience below the header")]
    for name in table:
        column = table[name]
        if name in WHOLE:
            numbers = pd.to_numeric(column, errors="coerce")
            faults += _blame(part, name, column, ~((numbers >= 0) & (numbers % 1 == 0)), "a whole number from 0")
        elif name == "task":
            faults += _blame(part, name, column, column == "", "the name of a task")
        elif name not in WORDS and column.dtype.kind not in "iufb":
            numbers = pd.to_numeric(column, errors="coerce")
            wrong = numbers.isna() & column.notna()
            if 0 < wrong.sum() < column.notna().sum():           # a column of numbers, but for these
                faults += _blame(part, name, column, wrong, "a number")
        elif name == "params":
            known = {text: _is_object(text) for text in column.unique()}
            faults += _blame(part, name, column, ~column.map(known).astype(bool), "a JSON object, {…}")
    return faults


def _is_object(text):
    """Whether a text is a JSON object; parameters may also be left out."""
    try:
        return not text or isinstance(json.loads(text), dict)
    except ValueError:
        return False


def _check(table, part):
    """What is wrong with the words, and where a table is not of the block whose folder it lies in."""
    faults = []
    for name, allowed in ALLOWED.items():
        if name in table:
            wrong = ~table[name].isin((*allowed, "") if name != "block_type" else allowed)
            faults += _blame(part, name, table[name], wrong, f"one of {', '.join(allowed)}")
    if part.block is not None and "block" in table:
        for name in ("block", "block_type"):
            right = getattr(part, name)
            faults += _blame(part, name, table[name], table[name] != right, f"{right}, as its folder says")
    return faults


def _blame(part, name, column, wrong, right):
    rows = np.flatnonzero(np.asarray(wrong, bool))[:MOST_FAULTS]
    shown = THEIRS.get(name, name)
    return [Fault(part.name, int(column.index[row]), shown, str(column.iloc[row]), right) for row in rows]


# ---------------------------------------------------------------- writing

def to_table(rows, worker):
    """A DataFrame with L2Logger's columns first, in its order, filled in where a log has none, then all others."""
    filled = {"worker": worker, "block_subtype": "wake", "params": "{}", "status": "complete", "timestamp": ""}
    first = {theirs: rows[ours].to_numpy() if ours in rows else filled.get(ours) for theirs, ours in OURS.items()}
    if "episode" not in rows:
        first["exp_num"] = np.arange(len(rows))
    others = [name for name in rows if name not in THEIRS]
    table = rows[others].copy()
    for at, (name, values) in enumerate(first.items()):
        table.insert(at, name, values)
    return table
