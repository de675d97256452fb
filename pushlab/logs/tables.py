"""The tables of a lifetime on disk, ours and L2Logger's, checked row by row as they are read; and their order.

While a log is read its index says of each row which file and which line it comes from, so that faults name them.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from pushlab.ground._old_reading import WORDS as KINDS
from pushlab.ground._old_reading import opened, read_json
from pushlab.ground.faults import BadData, Fault
from pushlab.logs.columns import (
    AMID,
    EXACTLY,
    LARGEST,
    MOST_FAULTS,
    is_kind,
    loads,
    parse,
    read_whole,
    separator_of,
)

TABLE, COLUMNS = "data-log.tsv", "columns.json"
OURS = {
    "block_num": "block",
    "exp_num": "episode",
    "worker_id": "worker",
    "block_type": "block_type",
    "block_subtype": "block_subtype",
    "task_name": "task",
    "task_params": "params",
    "exp_status": "status",
    "timestamp": "timestamp",
}  # L2Logger's names and ours, in L2Logger's order
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
WHOLE = ("block", "episode")  # counts
NEEDED = ("block", "episode", "block_type", "task")  # columns of a table in a folder
NO_ROWS = "at least one experience below the header"
WORDS = (
    "worker",
    "block_type",
    "block_subtype",
    "task",
    "params",
    "status",
    "timestamp",
    "phase",
    "run",
    "env",
    "agent",
)
ALLOWED = {
    "block_type": ("train", "test"),
    "block_subtype": ("wake", "sleep", ""),
    "status": ("complete", "incomplete", ""),
}
MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "None"]  # spellings of no number
LATEST = (
    2**53
)  # a block or an experience with a higher number could not be told from the next


class Table(NamedTuple):
    """A table on disk: its path, the name that errors call it by, and block and type that its folder says."""

    path: Path
    name: str
    block: int | None = None
    block_type: str | None = None

    @property
    def is_numbered(self) -> bool:
        """Whether it numbers its experiences through the whole lifetime, as L2Logger does and others may not."""
        if self.block is not None:
            return not self.path.with_name(COLUMNS).exists()
        with opened(self.path, LARGEST, links=True) as file:
            return THEIRS["episode"] in file.readline().decode("utf-8", "replace")


# ---------------------------------------------------------------- reading


def read_part(part: Table) -> tuple[pd.DataFrame | None, list[Fault]]:
    """A DataFrame of one table under our names, indexed by the lines of the file, and the faults met.

    Rows with faults are left out; None where the whole table is of no use.
    """
    ours = part.block is not None and part.path.with_name(COLUMNS).exists()
    table, faults = read_columns(part, "log") if ours else _read_foreign(part)
    if table is None:
        return None, faults
    lacking = [name for name in NEEDED if ours and name not in table]
    if lacking or not len(table):
        faults += [
            Fault(part.name, None, THEIRS[name], None, "the column is missing")
            for name in lacking
        ]
        return None, faults or [Fault(part.name, None, None, None, NO_ROWS)]
    found = [*(() if ours else _check_foreign(table, part)), *_check(table, part)]
    wrong = {fault.row for fault in found}
    if None in wrong or len(found) >= MOST_FAULTS:
        return None, [*faults, *found]
    table = table.drop(index=list(wrong)) if wrong else table
    return table if ours else _as_ours(table), [*faults, *found]


def read_columns(part: Table, key: str) -> tuple[pd.DataFrame | None, list[Fault]]:
    """A DataFrame of a table that `write_log` wrote, each column as it was, and the faults met.

    key   "log", which then has its own columns under our names; or "steps"
    Rows that are torn, or hold what their column cannot, are left out.
    """
    data, header, lines, faults = read_whole(part.path, part.name)
    if header is None:
        return None, faults
    try:
        told = read_description(part.path.with_name(COLUMNS), part.name)
        if header != list(told[key]):
            right = f"columns {', '.join(told[key])}, as {COLUMNS} beside it says"
            raise BadData([Fault(part.name, 1, None, None, right)])
        table, wrong = parse(data, told[key], lines, part.name)
    except BadData as error:
        return None, [*faults, *error.faults]
    except ValueError as error:
        return None, [
            *faults,
            Fault(
                part.name,
                None,
                None,
                None,
                f"a table as {COLUMNS} beside it says ({error})",
            ),
        ]
    return table.rename(columns=OURS)[told["own"]] if key == "log" else table, [
        *faults,
        *wrong,
    ]


def read_description(path: Path, table: str) -> dict:
    """What stands beside a table: {"log": {column: kind}, "steps": the same, "own": names of the log's own columns}.

    table   what faults call the table
    Raises BadData for a file that says something else.
    """
    file = f"{table.rpartition('/')[0]}/{path.name}"
    told = {"steps": {}, **read_json(path, name=file)}
    faults = [
        Fault(
            file,
            None,
            key,
            json.dumps(told.get(key)),
            f"{KINDS[kind]}, of the columns of the table beside it",
            "item",
        )
        for key, kind in (("log", dict), ("own", list), ("steps", dict))
        if not isinstance(told.get(key), kind)
    ]
    if faults:
        raise BadData(faults)
    faults = [
        Fault(file, None, name, str(kind), "a kind of column", "item")
        for key in ("log", "steps")
        for name, kind in told[key].items()
        if not is_kind(kind)
    ]
    there = [OURS.get(name, name) for name in told["log"]]
    faults += [
        Fault(file, None, "own", str(name), "a column of the table, named once", "item")
        for at, name in enumerate(told["own"])
        if name not in there or name in told["own"][:at]
    ]
    if faults:
        raise BadData(faults)
    return {key: told[key] for key in ("log", "own", "steps")}


def _read_foreign(part):
    """A table of L2Logger, or of somebody who wrote one with its columns or ours."""
    data, header, lines, torn = read_whole(
        part.path, part.name, links=part.block is None
    )
    if header is None:
        return None, torn
    named = [OURS.get(name, name) for name in header]
    faults = [
        Fault(part.name, 1, name, None, "a column of its own; it is there twice")
        for name in sorted({name for name in named if named.count(name) > 1})
    ]
    if part.block is None and not {"block", "phase", "block_type"} & {*named}:
        faults.append(
            Fault(part.name, None, "block", None, "a lifetime has this column")
        )
    wanted = NEEDED if part.block is not None else ("task",)
    faults += [
        Fault(part.name, None, THEIRS[name], None, "the column is missing")
        for name in wanted
        if name not in named
    ]
    if faults:
        return None, [*torn, *faults]
    words = {theirs: "str" for theirs, ours in zip(header, named) if ours in WORDS}
    # A task may be called NA; only a number may be missing.
    try:
        table = pd.read_csv(
            io.BytesIO(data),
            sep=separator_of(part.path),
            dtype=words,
            keep_default_na=False,
            na_values={name: MISSING for name in header if name not in words},
            low_memory=False,
            lineterminator="\n",
            **EXACTLY,
        )
    except (ValueError, OverflowError) as error:
        return None, [*torn, Fault(part.name, None, None, None, f"a table ({error})")]
    if len(table) != len(lines):
        return None, [*torn, Fault(part.name, None, None, None, f"a table; {AMID}")]
    for name in [
        name for name in table if str(table[name].dtype) == "object"
    ]:  # whole numbers that no float holds
        table[name] = [str(one) if type(one) is int else one for one in table[name]]
    table.columns, table.index = named, lines
    return table, torn


def _check_foreign(table, part):
    """What is wrong with the cells of a table that others wrote."""
    faults = []
    for name, column in table.items():
        numbers = None if name in WORDS else pd.to_numeric(column, errors="coerce")
        if name in WHOLE:
            sound = (numbers >= 0) & (numbers < LATEST) & (numbers % 1 == 0)
            faults += _blame(
                part, column, ~sound, f"a whole number from 0, below {LATEST:,}"
            )
        elif name == "task":
            faults += _blame(part, column, column == "", "the name of a task")
        elif name == "params":
            known = {text: _is_object(text) for text in column.unique()}
            faults += _blame(
                part, column, ~column.map(known).astype(bool), "a JSON object, {…}"
            )
        elif (
            numbers is not None and numbers.notna().any()
        ):  # a column of numbers, but for some words
            faults += _blame(part, column, numbers.isna() & column.notna(), "a number")
    return faults


def _is_object(text):
    """Whether a text is a JSON object; parameters may also be left out."""
    try:
        return not text or isinstance(loads(text), dict)
    except ValueError:
        return False


def _as_ours(table):
    """The sound rows of a table that others wrote: numbers as numbers, and what was left out filled in."""
    for name in table:
        if name in WHOLE:
            table[name] = table[name].astype("int64")
        elif name not in WORDS and table[name].dtype.kind not in "iufb":
            numbers = pd.to_numeric(table[name], errors="coerce")
            table[name] = numbers if numbers.notna().any() else table[name]
    if "block_type" not in table and "phase" in table:
        table["block_type"] = table["phase"].str.rpartition(".")[2]
    if "episode" not in table:
        table["episode"] = np.arange(len(table))
    return table if "reward" in table else table.rename(columns={"return": "reward"})


def _check(table, part):
    """What is wrong with the words, and where a table is not of the block whose folder it lies in."""
    faults = []
    for name, allowed in ALLOWED.items():
        if name in table:
            faults += _blame(
                part,
                table[name],
                ~table[name].isin(allowed),
                f"one of {', '.join(filter(None, allowed))}",
            )
    if part.block is not None and "block" in table:
        for name in ("block", "block_type"):
            right = getattr(part, name)
            faults += _blame(
                part, table[name], table[name] != right, f"{right}, as its folder says"
            )
    return faults


def _blame(part, column, wrong, right):
    return [
        Fault(
            part.name,
            int(line),
            THEIRS.get(column.name, column.name),
            str(value),
            right,
        )
        for line, value in column[np.asarray(wrong, bool)][:MOST_FAULTS].items()
    ]


# ---------------------------------------------------------------- order


def in_order(log: pd.DataFrame, shared: bool) -> pd.DataFrame:
    """Blocks in their order; in a block with training and tests in two folders comes first what has the lower numbers.

    shared   a block comes from several files: what workers lived side by side is put in order by its numbers
    """
    if (np.diff(log["block"]) >= 0).all() and not shared:
        return log
    begins = log.groupby(["block", "block_type"])["episode"].transform("min")
    return log.iloc[
        np.lexsort(
            (log["episode"] if shared else np.arange(len(log)), begins, log["block"])
        )
    ]


def find_disorder(log: pd.DataFrame, numbered: bool) -> list[Fault]:
    """Faults where blocks, their experiences or their phases do not count up.

    numbered  the numbers of experiences count through the whole lifetime, as L2Logger's do
    """
    faults = find_blocks_back(log)
    rows = log.assign(place=np.arange(len(log)))
    blocks = rows.groupby("block")[["episode", "place"]].agg(
        {"episode": ["min", "max"], "place": "min"}
    )
    lowest, highest, place = blocks.to_numpy().T
    for at in (
        np.flatnonzero(lowest[1:] < np.maximum.accumulate(highest)[:-1]) + 1
        if numbered
        else ()
    ):
        right = (
            f"{highest[:at].max()} or more: block {blocks.index[at]} was lived before one that counts as earlier; "
            "blocks are out of order"
        )
        faults.append(
            _fault(log, place[at], "episode", right)._replace(value=str(lowest[at]))
        )
    turns = log[~log.duplicated(["block", "phase"])]
    parts = turns["phase"].astype(str).str.extract(r"^(\d+)\.(train|test)$")
    if (
        parts.isna().any(axis=None)
        or turns["phase"].duplicated().any()
        or turns["block"].duplicated().any()
    ):
        return faults  # other names, or labels that several blocks share: they say nothing of order
    order = 2 * parts[0].astype(int).to_numpy() + (parts[1] == "test").to_numpy()
    return faults + [
        _fault(
            turns,
            at,
            "phase",
            f"a phase after {turns['phase'].iat[at - 1]}: phases are out of order",
        )
        for at in np.flatnonzero(order[1:] < order[:-1]) + 1
    ]


def find_blocks_back(log: pd.DataFrame) -> list[Fault]:
    """Faults where blocks do not count up."""
    return _steps_back(log, "block", True)


def find_steps_back(log: pd.DataFrame) -> list[Fault]:
    """Faults where the numbers of experiences go back within a regime."""
    return _steps_back(log, "episode", np.diff(log["regime"]) == 0)


def _steps_back(log, column, goes_on):
    values = log[column].to_numpy()
    return [
        _fault(
            log, row, column, f"{values[row - 1]} or more: {column}s are out of order"
        )
        for row in np.flatnonzero((values[1:] < values[:-1]) & goes_on)[:MOST_FAULTS]
        + 1
    ]


def find_infinite(log: pd.DataFrame, measure: str) -> list[Fault]:
    """Faults where a measure is neither a finite number nor missing."""
    return [
        _fault(log, row, measure, "a finite number, or empty")
        for row in np.flatnonzero(
            np.isinf(log[measure].to_numpy(float, na_value=np.nan))
        )[:MOST_FAULTS]
    ]


def _fault(log, row, column, right):
    """A fault in a row, counted from 0: by file and line of a log that is being read, else by row."""
    value = str(log[column].iat[row])
    if log.index.nlevels == 1:
        return Fault("log", int(row), column, value, right, "item")
    file, line = log.index[row]
    return Fault(file, int(line) or None, THEIRS.get(column, column), value, right)
