"""Lifetimes on disk: L2Logger folders and single tables, read and written.

A **lifetime log** is a DataFrame with a row an experience (an episode), in the order lived: `block` (from 0),
`block_type` ("train" or "test"), `task`, `params` (JSON text), `regime` (a stretch of one block, task and params, from
0), `episode` (the experience's number), where they are known `phase`, `block_subtype`, `worker`, `status`, `timestamp`
and the columns of the rollout it came from, and then a numeric column for each measure. A folder looks like this:

    scenario_info.json                      what the lifetime is about
    logger_info.json                        {"metrics_columns": ["reward"], "log_format_version": "1.1"}
    <worker>/<block>-<train or test>/data-log.tsv

as L2Logger 1.8 of the Johns Hopkins Applied Physics Laboratory writes and reads it. Beside a `data-log.tsv` of ours
stands `columns.json`, which says what the log's own columns were, so that nothing is lost on the way through a table;
and `steps.tsv` where the log was one of steps.

>>> import pandas as pd, tempfile
>>> episodes = pd.DataFrame({"block": [0, 0, 1], "block_type": ["train", "train", "test"], "task": "A", "params": "{}",
...                          "episode": [0, 1, 2], "return": [0.5, 1.0, 0.25], "length": 10})
>>> with tempfile.TemporaryDirectory() as folder:
...     log = read_log(write_log(episodes, folder))
>>> log[["phase", "block", "regime", "reward"]].to_string(index=False, header=False).split()
['1.train', '0', '0', '0.50', '1.train', '0', '0', '1.00', '1.test', '1', '1', '0.25']
>>> rollout_log(log.drop(columns="phase")).equals(episodes)
True
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground._old_folders import whole_folder
from pushlab.ground._old_reading import read_json
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_text
from pushlab.logs import tables
from pushlab.logs.columns import spell_out
from pushlab.logs.places import parts_of
from pushlab.logs.rollout import by_episode
from pushlab.logs.tables import COLUMNS, TABLE, THEIRS, Table
from pushlab.logs.typed_csv import read_csv, types_file, write_csv
from pushlab.metrics.lifelong.rows import (
    ABOUT,
    find_measure,
    numeric_columns,
    regime_numbers,
)

SCENARIO, LOGGER = "scenario_info.json", "logger_info.json"
STEPS = "steps.tsv"
TYPES = ("train", "test")
KINDS = ("CL", "ANT_A", "ANT_B")
ATTRS = ("measure", "scenario", "syllabus_type")  # of a log that is kept
NO_TIME = "19700101T000000.000000"  # l2metrics reads a time; one that is always the same keeps files the same


# ---------------------------------------------------------------- reading


def read_log(
    path: Path | str,
    measure: str | None = None,
    strict: bool = True,
    blocks: int | None = None,
) -> pd.DataFrame:
    """Reads one log: a CSV that `write_log` wrote, an L2Logger folder, or a TSV, CSV or Parquet file with the columns of either naming.

    measure  the column to measure by; by default what `logger_info.json` names first, else "reward"
    strict   False goes on with the rows that are sound, if there are any, as an interrupted run leaves them behind;
             what is wrong with the others is in `log.attrs["faults"]`
    blocks   of a folder, only those with lower numbers; None is all

    returns  a lifetime log; `log.attrs["measure"]` is the measure, `log.attrs["scenario"]` the dict of
             `scenario_info.json`, `log.attrs["syllabus_type"]` what that says of CL, ANT_A or ANT_B, if anything
    Raises FileNotFoundError where there is no log, BadData listing every fault of its tables; for a measure that is
    not there the numeric columns that are.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no log at {str(path)!r}: no such file or folder"
        )
    if path.suffix == ".csv" and types_file(path).exists():
        log = read_csv(path)
        if measure is not None:
            log.attrs["measure"] = find_measure(log, measure, path.name)
        return log
    try:
        return _read_log(path, measure, strict, blocks)
    except BadData:
        raise
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        MemoryError,
        RecursionError,
        TypeError,
        ValueError,
    ) as error:
        right = f"a log that can be read ({type(error).__name__}: {error})"  # whatever else others may write
        raise BadData([Fault(path.name, None, None, None, right)]) from error


def _read_log(path, measure, strict, blocks):
    parts, faults = parts_of(path) if path.is_dir() else ([Table(path, path.name)], [])
    parts = [
        part
        for part in parts
        if blocks is None or part.block is None or part.block < blocks
    ]
    read = [(part, *tables.read_part(part)) for part in parts]
    scenario, told = (
        _read_json(path, SCENARIO, faults),
        _read_json(path, LOGGER, faults),
    )
    faults += [fault for _, _, found in read for fault in found]
    kept = {part: table for part, table, _ in read if table is not None and len(table)}
    if not kept:
        raise BadData(faults)
    log = pd.concat(kept.values(), keys=[part.name for part in kept])
    columns = told.get("metrics_columns") or ["reward"]
    wanted = [columns] if isinstance(columns, str) else columns
    if not isinstance(wanted, list) or not all(
        isinstance(column, str) for column in wanted
    ):
        faults.append(
            Fault(
                LOGGER,
                None,
                "metrics_columns",
                json.dumps(columns)[:80],
                "a list of columns",
                "item",
            )
        )
        wanted = ["reward"]
    name = str(measure or ("reward" if "reward" in wanted else wanted[0]))
    try:
        find_measure(
            log.select_dtypes("number"), name, path.name
        )  # True and False are none
        faults += _lacking(kept, name)
        infinite = tables.find_infinite(log, name)
        faults += infinite
        log = (
            log[np.isfinite(log[name].to_numpy(float, na_value=0.0))]
            if infinite
            else log
        )
        sound = True
    except BadData as error:
        faults += error.faults
        sound = False
    if not len(log):
        raise BadData(faults)
    if "step" in log and path.is_file():
        log = by_episode(log).rename(columns={"return": "reward"})
        log.index = pd.MultiIndex.from_product([[path.name], np.zeros(len(log), int)])
    if "block" not in log:
        log = log.assign(
            block=regime_numbers(log, ["phase" if "phase" in log else "block_type"])
        )
    log = _with_phases(log)
    faults += tables.find_disorder(log, parts[0].is_numbered)
    log = with_regimes(
        tables.in_order(log, shared=len({part.block for part in kept}) < len(kept))
    )
    faults += tables.find_steps_back(log)
    kind = (
        str(scenario.get("syllabus_type", scenario.get("scenario_type")))
        .upper()
        .replace("-", "_")
    )
    if kind not in KINDS and len(kept) < len(parts):
        right = f"CL, ANT_A or ANT_B; without {len(parts) - len(kept)} of {len(parts)} tables nobody can tell which"
        faults.append(Fault(SCENARIO, None, "syllabus_type", None, right, "item"))
    if faults and (strict or not sound):
        raise BadData(faults)
    log = log.reset_index(drop=True)
    log.attrs = {
        "measure": name,
        "scenario": scenario,
        **({"faults": tuple(faults)} if faults else {}),
        **({"syllabus_type": kind} if kind in KINDS else {}),
    }
    return log


def read_steps(folder: Path | str) -> pd.DataFrame:
    """The step log that a folder was written from: a DataFrame as `rollout` returned it.

    Raises FileNotFoundError if no steps were written, BadData for a file that is torn.
    """
    parts = [
        part._replace(
            path=part.path.with_name(STEPS), name=part.name.removesuffix(TABLE) + STEPS
        )
        for part in parts_of(Path(folder))[0]
    ]
    missing = [part.name for part in parts if not part.path.exists()]
    if missing:
        raise FileNotFoundError(
            f"{Path(folder).name} holds episodes and no steps: there is no {missing[0]}"
        )
    read, found = zip(*(tables.read_columns(part, "steps") for part in parts))
    if any(found):
        raise BadData(fault for faults in found for fault in faults)
    return pd.concat(read, ignore_index=True)


def _read_json(path, name, faults):
    """A JSON object beside the blocks, {} where there is none; what is wrong with it is added to the faults."""
    if not path.is_dir() or not os.path.lexists(path / name):
        return {}
    try:
        return read_json(path / name)
    except BadData as error:
        faults += error.faults
        return {}


def _lacking(kept, measure):
    """A fault for each table that has no column of the measure, where others have."""
    return [
        Fault(
            part.name,
            1,
            measure,
            None,
            "the measure is missing; numeric columns here are "
            + (", ".join(numeric_columns(table)) or "none"),
        )
        for part, table in kept.items()
        if measure not in table and not {"step", "return"} & {*table}
    ]


# ---------------------------------------------------------------- regimes and phases, logs of rollout


def with_regimes(log: pd.DataFrame) -> pd.DataFrame:
    """The log with a column `regime`: consecutive rows of one block, type, task and params, counted from 0."""
    regime = regime_numbers(log, [name for name in ABOUT if name in log])
    if "regime" in log:
        return log.assign(regime=regime)
    log = log.copy()
    log.insert(
        log.columns.get_loc("params" if "params" in log else "task") + 1,
        "regime",
        regime,
    )
    return log


def _with_phases(log):
    """The log with phases, as syllabi name them: 1.train, 1.test, 2.train, …; tests before any training are 0.test."""
    if "phase" in log:
        return log
    turn = regime_numbers(log, ["block", "block_type"])
    kinds = log["block_type"].to_numpy()[np.flatnonzero(np.diff(turn, prepend=-1))]
    phases = [
        f"{number}.{kind}" for number, kind in zip(np.cumsum(kinds == "train"), kinds)
    ]
    log = log.copy()
    log.insert(0, "phase", list(np.array(phases, object)[turn]))
    return log


def lifetime_log(log: pd.DataFrame) -> pd.DataFrame:
    """The lifetime log of a log of `rollout`, episodes or steps: `reward` is the return of an episode.

    Nothing but regimes is added; `rollout_log` gives an episode log back as it was.
    """
    log = by_episode(log) if "step" in log else log
    missing = [name for name in ("block", "block_type", "task") if name not in log]
    if missing:
        raise BadData(
            [
                Fault(
                    "log",
                    None,
                    name,
                    None,
                    "a lifetime has this column; give it to rollout",
                )
                for name in missing
            ]
        )
    return with_regimes(log.rename(columns={"return": "reward"}))


def rollout_log(log: pd.DataFrame) -> pd.DataFrame:
    """The episode log that a lifetime log came from: `return` again, and no regimes."""
    log = log.drop(columns="regime", errors="ignore")
    return log.rename(columns={"reward": "return"}) if "return" not in log else log


# ---------------------------------------------------------------- writing


def write_log(
    log: pd.DataFrame,
    folder: Path | str,
    measure: str | None = None,
    scenario: dict[str, Any] | None = None,
) -> Path:
    """Writes a lifetime, or some blocks of it, into an L2Logger folder; returns the folder.

    A path that ends in .csv instead gets any log, of steps too, as it is: one CSV with its columns' types beside it.

    log       a lifetime log, or a log of `rollout`: of a step log the episodes become the lifetime, and the steps are
              written beside them
    measure   numeric column; by default log.attrs["measure"], else "reward"
    scenario  dict for `scenario_info.json`; by default log.attrs["scenario"], else what is there already

    A block's files are replaced whole, all at once; other blocks in the folder stay untouched, so that a run writes as
    it goes. A new folder is there when all of it is written, and not before.
    Raises BadData for a log that is no lifetime, ValueError for a worker whose name is no folder's, TypeError for a
    cell that no table holds; nothing has changed then.
    """
    if Path(folder).suffix == ".csv":
        attrs = {name: log.attrs[name] for name in ATTRS if name in log.attrs}
        if measure is not None:
            attrs["measure"] = measure
        if scenario is not None:
            attrs["scenario"] = scenario
        log = log.copy(deep=False)
        log.attrs = attrs
        return write_csv(log, folder)
    folder, steps = Path(folder), log if "step" in log else None
    told = {
        **(
            {"syllabus_type": log.attrs["syllabus_type"]}
            if "syllabus_type" in log.attrs
            else {}
        ),
        **(log.attrs.get("scenario") or {}),
        **(scenario or {}),
    }
    wanted = measure or log.attrs.get("measure") or "reward"
    log = lifetime_log(log).reset_index(drop=True)
    name = find_measure(log.select_dtypes("number"), wanted)
    for faults in (
        tables.find_blocks_back(log) + tables.find_steps_back(log),
        tables.find_infinite(log, name),
        [
            Fault("log", None, "block_type", kind, "train or test")
            for kind in sorted({str(kind) for kind in log["block_type"]} - set(TYPES))
        ],
    ):
        if faults:
            raise BadData(faults)
    workers = log["worker"].astype(str) if "worker" in log else ["0"] * len(log)
    blocks = {}
    for (worker, block, kind), rows in log.drop(columns="regime").groupby(
        [workers, "block", "block_type"], sort=False
    ):
        if (
            not worker
            or worker in (".", "..")
            or set(worker) & set('/\\:*?"<>|\n\r\t\0')
        ):
            raise ValueError(
                f"a worker's name is a folder's, without / and the like; got {worker!r}"
            )
        text, described = spell_out(_to_table(rows, worker))
        kinds, texts = {"log": described}, {TABLE: text}
        if steps is not None:
            own = steps[(steps["block"] == block) & (steps["block_type"] == kind)]
            texts[STEPS], kinds["steps"] = spell_out(own)
        texts[COLUMNS] = json.dumps({**kinds, "own": list(rows.columns)}, indent=1)
        blocks[f"{worker}/{block}-{kind}"] = texts
    try:
        about = json.dumps(told, indent=2, allow_nan=False)
    except ValueError as error:
        raise BadData(
            [Fault(SCENARIO, None, None, None, f"what JSON holds ({error})")]
        ) from error
    measures = dict.fromkeys([name, *numeric_columns(log)])

    def write(place):
        for block, texts in blocks.items():
            with whole_folder(place / block, keep=True) as own:
                (own / STEPS).unlink(missing_ok=True)
                for file, text in texts.items():
                    write_text(own / file, text)
        if told or not (place / SCENARIO).exists():
            write_text(place / SCENARIO, about)
        write_text(
            place / LOGGER,
            json.dumps(
                {"metrics_columns": [*measures], "log_format_version": "1.1"}, indent=2
            ),
        )

    if not folder.exists():
        try:
            with whole_folder(folder, new=True) as place:
                write(place)
            return folder
        except FileExistsError:
            if not folder.is_dir():
                raise
    write(folder)  # which was there, or is there now: somebody else's blocks came first
    return folder


def _to_table(rows, worker):
    """A DataFrame with L2Logger's columns first, in its order, filled in where a log has none, then all others."""
    filled = {
        "worker": worker,
        "block_subtype": "wake",
        "params": "{}",
        "status": "complete",
        "timestamp": NO_TIME,
        "episode": np.arange(len(rows)),
    }
    table = rows[[name for name in rows if name not in THEIRS]].copy()
    for at, (ours, theirs) in enumerate(THEIRS.items()):
        table.insert(
            at, theirs, rows[ours].to_numpy() if ours in rows else filled[ours]
        )
    return table
