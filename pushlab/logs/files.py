"""Logs on disk: CSV files with the types of their columns, and import and export of L2Logger folders.

`write_log(log, "run.csv")` stores any log, and `read_log` returns an equal log (see `pushlab.logs.tables`).

A **lifetime log** is a DataFrame with one row per experience (an episode), in order of time: `block` (from 0),
`block_type` ("train" or "test"), `task`, `params` (JSON text), `regime` (a stretch of one block, task and params, from
0), `episode` (the experience's number), optionally `phase`, `block_subtype`, `worker`, `status`, `timestamp` and the
columns of its rollout, and then a numeric column for each measure. L2Logger 1.8 of the Johns Hopkins Applied Physics
Laboratory writes a lifetime as a folder that l2metrics reads:

- `scenario_info.json`: a description of the lifetime
- `logger_info.json`: {"metrics_columns": ["reward"], "log_format_version": "1.1"}
- `<worker>/<block>-<train or test>/data-log.tsv`: a table of experiences

>>> import pandas as pd, tempfile
>>> episodes = pd.DataFrame({"block": [0, 0, 1], "block_type": ["train", "train", "test"], "task": "A", "params": "{}",
...                          "episode": [0, 1, 2], "return": [0.5, 1.0, 0.25], "length": 10})
>>> with tempfile.TemporaryDirectory() as folder:
...     log = read_log(write_log(episodes, folder))
>>> log[["phase", "block", "regime", "reward"]].to_string(index=False, header=False).split()
['1.train', '0', '0', '0.50', '1.train', '0', '0', '1.00', '1.test', '1', '1', '0.25']
"""

from __future__ import annotations

import json
import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd

from pushlab.logs.rollout import aggregate_episodes
from pushlab.logs.tables import (
    DATA_LOG,
    L2LOGGER_NAMES,
    read_csv,
    read_lifetime_table,
    types_file,
    write_csv,
)
from pushlab.metrics.lifelong import SYLLABUS_TYPES
from pushlab.metrics.lifelong.log import (
    REGIME_COLUMNS,
    find_measure,
    numeric_columns,
    regime_numbers,
)
from pushlab.utils.files import json_text, new_folder, read_json, write_text
from pushlab.utils.issues import BadData, DataIssue, raise_issues

SCENARIO_FILE = "scenario_info.json"
LOGGER_FILE = "logger_info.json"
BLOCK_FOLDER = re.compile(r"(0|[1-9][0-9]{0,8})-(train|test)")
WORKER_FOLDER = re.compile(r"(?!\.\.?$)[^/\\:\s]+")
NO_TIME = "19700101T000000.000000"  # l2metrics needs a time
STORED_ATTRS = ("measure", "scenario", "syllabus_type")


# ---------------------------------------------------------------- reading


def read_log(path: Path | str, measure: str | None = None) -> pd.DataFrame:
    """Read a log.

    Args:
        path: A CSV file of `write_log`, or a lifetime from another program: an L2Logger folder, or one TSV or CSV file
            with L2Logger's column names or ours.
        measure: The column to measure by. By default "reward", else the first measure in `logger_info.json`.

    Returns:
        A log equal to the one that `write_log` stored, or a lifetime log. `log.attrs["measure"]` is the measure,
        `log.attrs["scenario"]` the content of `scenario_info.json`, and `log.attrs["syllabus_type"]` its CL, ANT_A or
        ANT_B, if it has one.

    Raises:
        FileNotFoundError: There is no log.
        BadData: The tables have issues; the message lists them.
        ValueError: The measure is not one of the numeric columns, which the message lists.
    """
    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(
            f"there is no log at {str(path)!r}: no such file or folder"
        )
    if path.is_dir():
        return _read_folder(path, measure)
    if path.suffix == ".csv" and types_file(path).exists():
        log = read_csv(path)
        if measure is not None:
            log.attrs["measure"] = find_measure(log, measure, path.name)
        return log
    return _read_file(path, measure)


def _read_file(path, measure):
    """Return the lifetime in one table of another program; a step log becomes an episode log."""
    table = read_lifetime_table(path, path.name)
    log = pd.concat({path.name: table})
    if "step" in log:
        log = aggregate_episodes(log).rename(columns={"return": "reward"})
        log.index = pd.MultiIndex.from_product([[path.name], [None] * len(log)])
    if "block" not in log:
        log["block"] = regime_numbers(log, ["block_type"])
    return _to_lifetime_log(log, measure or "reward", {}, path.name, global_count=False)


def _read_folder(folder, measure):
    blocks = _find_blocks(folder)
    scenario = _read_info(folder / SCENARIO_FILE)
    default = _default_measure(folder)
    if measure is None:
        measure = default
    tables = {}
    issues = []
    for block, block_type, name in blocks:
        try:
            tables[name] = read_lifetime_table(folder / name, name, block, block_type)
        except BadData as error:
            issues += error.issues
    raise_issues(issues)
    log = pd.concat(tables)
    raise_issues(
        DataIssue(name, 1, measure, valid_values="the column of the measure is missing")
        for name, table in tables.items()
        if measure in log and measure not in table
    )
    numbers = {block for block, *_ in blocks}
    if len(numbers) < len(blocks):
        log = log.sort_values(["block", "episode"], kind="stable")
    return _to_lifetime_log(log, measure, scenario, folder.name, global_count=True)


def _default_measure(folder):
    """Return "reward", or the first measure in `logger_info.json` if reward is not among them."""
    measures = _read_info(folder / LOGGER_FILE).get("metrics_columns") or ["reward"]
    if not isinstance(measures, list) or not all(isinstance(x, str) for x in measures):
        value = json.dumps(measures)
        valid_values = "a list of columns"
        raise BadData(
            DataIssue(LOGGER_FILE, None, "metrics_columns", value, valid_values, "item")
        )
    return "reward" if "reward" in measures else measures[0]


def _read_info(path):
    return read_json(path) if path.exists() else {}


def _find_blocks(folder):
    """Return (block, type, name) of each table in an L2Logger folder, sorted. Raises BadData if a block is missing."""
    blocks = []
    for path in folder.glob(f"*/*/{DATA_LOG}"):
        name = path.relative_to(folder).as_posix()
        match = BLOCK_FOLDER.fullmatch(path.parent.name)
        if not match:
            valid_values = "a folder <block>-<train or test>, such as 3-train"
            raise BadData(
                DataIssue(name, value=path.parent.name, valid_values=valid_values)
            )
        blocks.append((int(match[1]), match[2], name))
    if not blocks:
        raise FileNotFoundError(
            f"there is no log in {str(folder)!r}: no <worker>/<block>-<train or test>/{DATA_LOG}"
        )
    blocks.sort()
    numbers = [block for block, *_ in blocks]
    for previous, number in pairwise(numbers):
        if number > previous + 1:
            valid_values = (
                f"block {previous + 1} is missing between {previous} and {number}"
            )
            raise BadData(DataIssue(folder.name, valid_values=valid_values))
    return blocks


def _to_lifetime_log(log, measure, scenario, name, global_count):
    """Return the lifetime log of tables indexed by (file, row). Raises BadData if no metric could be computed."""
    find_measure(log.select_dtypes("number"), measure, name)
    if "phase" not in log:
        log.insert(0, "phase", _phases(log))
    log = with_regimes(log)
    raise_issues(_order_issues(log, measure, global_count))
    log = log.reset_index(drop=True)
    log.attrs = {"measure": measure, "scenario": scenario}
    kind = scenario.get("syllabus_type", scenario.get("scenario_type"))
    kind = str(kind).upper().replace("-", "_")
    if kind in SYLLABUS_TYPES:
        log.attrs["syllabus_type"] = kind
    return log


def _order_issues(log, measure, global_count):
    """Yield issues of blocks or experiences out of order, and of infinite values of the measure.

    Args:
        global_count: Whether experiences are numbered across the lifetime, as in L2Logger, instead of in a regime.
    """
    is_same_regime = np.diff(log["regime"]) == 0
    compared = {"block": True, "episode": global_count | is_same_regime}
    for column, is_compared in compared.items():
        values = log[column].to_numpy()
        is_lower = values[1:] < values[:-1]
        for row in np.flatnonzero(is_lower & is_compared) + 1:
            valid_values = f"{values[row - 1]} or more: {column}s are out of order"
            yield _issue(log, row, column, valid_values)
    values = log[measure].to_numpy(float, na_value=np.nan)
    for row in np.flatnonzero(np.isinf(values)):
        yield _issue(log, row, measure, "a finite number, or empty")


def _issue(log, row, column, valid_values):
    file, line = log.index[row]
    value = str(log[column].iat[row])
    return DataIssue(
        file, line, L2LOGGER_NAMES.get(column, column), value, valid_values
    )


# ---------------------------------------------------------------- regimes and phases, logs of rollout


def with_regimes(log: pd.DataFrame) -> pd.DataFrame:
    """Return the log with `regime`: the number, from 0, of consecutive rows of one block, type, task and params."""
    regime = regime_numbers(log, [name for name in REGIME_COLUMNS if name in log])
    log = log.drop(columns="regime", errors="ignore")
    previous = "params" if "params" in log else "task"
    log.insert(log.columns.get_loc(previous) + 1, "regime", regime)
    return log


def _phases(log):
    """Return the phase of each row as in syllabi: 1.train, 1.test, 2.train, …; tests before training are 0.test."""
    phase_numbers = regime_numbers(log, ["block", "block_type"])
    starts = np.flatnonzero(np.diff(phase_numbers, prepend=-1))
    types = log["block_type"].to_numpy()[starts]
    numbers = np.cumsum(types == "train")
    phases = [f"{number}.{kind}" for number, kind in zip(numbers, types)]
    return [phases[number] for number in phase_numbers]


def lifetime_log(log: pd.DataFrame) -> pd.DataFrame:
    """Return the lifetime log of an episode or step log of `rollout`; `reward` is the return of an episode."""
    if "step" in log:
        log = aggregate_episodes(log)
    valid_values = "the column is missing; pass it to rollout as a label"
    raise_issues(
        DataIssue("log", None, name, valid_values=valid_values)
        for name in ("block", "block_type", "task")
        if name not in log
    )
    return with_regimes(log.rename(columns={"return": "reward"}))


# ---------------------------------------------------------------- writing


def write_log(log: pd.DataFrame, path: Path | str) -> Path:
    """Write a log; return the path.

    Args:
        log: Any log, if the path ends in .csv; else a lifetime log, or a log of `rollout`, which is converted to one.
            `log.attrs["measure"]` is the numeric column to measure by, by default "reward"; `log.attrs["scenario"]` is
            a description of the lifetime for `scenario_info.json`.
        path: A CSV file, which is replaced; or a new L2Logger folder, which appears when it is complete.

    Raises:
        TypeError: A cell can't be stored as JSON.
        BadData: The log isn't a lifetime, but the path is a folder.
        FileExistsError: The folder exists and isn't empty.

    Nothing is written if an error is raised.
    """
    attrs = {name: log.attrs[name] for name in STORED_ATTRS if name in log.attrs}
    path = Path(path)
    if path.suffix == ".csv":
        log = log.copy(deep=False)
        log.attrs = attrs
        return write_csv(log, path)
    log = lifetime_log(log).reset_index(drop=True)
    if "episode" not in log:
        log["episode"] = range(len(log))
    _write_folder(log, attrs, path)
    return path


def _write_folder(log, attrs, folder):
    measure = attrs.get("measure") or "reward"
    find_measure(log.select_dtypes("number"), measure)
    raise_issues(_order_issues(pd.concat({"log": log}), measure, global_count=True))
    raise_issues(
        DataIssue("log", None, "block_type", str(kind), "train or test")
        for kind in log["block_type"].unique()
        if kind not in ("train", "test")
    )
    workers = log["worker"].astype(str) if "worker" in log else ["0"] * len(log)
    raise_issues(
        DataIssue("log", None, "worker", worker, "the name of a folder")
        for worker in set(workers)
        if not WORKER_FOLDER.fullmatch(worker)
    )
    scenario = dict(attrs.get("scenario") or {})
    if "syllabus_type" in attrs:
        scenario.setdefault("syllabus_type", attrs["syllabus_type"])
    measures = list(dict.fromkeys([measure, *numeric_columns(log)]))
    logger = {"metrics_columns": measures, "log_format_version": "1.1"}
    blocks = log.drop(columns="regime").groupby([workers, "block", "block_type"])
    with new_folder(folder) as root:
        write_text(root / SCENARIO_FILE, json_text(scenario))
        write_text(root / LOGGER_FILE, json_text(logger))
        for (worker, block, block_type), rows in blocks:
            table = _l2logger_table(rows, worker)
            text = table.to_csv(sep="\t", index=False, lineterminator="\n")
            write_text(root / worker / f"{block}-{block_type}" / DATA_LOG, text)


def _l2logger_table(rows, worker):
    """Return rows with L2Logger's columns first, in its order, filled in if the log lacks them; then all others."""
    defaults = {
        "worker": worker,
        "block_subtype": "wake",
        "params": "{}",
        "status": "complete",
        "timestamp": NO_TIME,
    }
    missing = {name: value for name, value in defaults.items() if name not in rows}
    table = rows.assign(**missing)
    others = [name for name in table if name not in L2LOGGER_NAMES]
    return table[[*L2LOGGER_NAMES, *others]].rename(columns=L2LOGGER_NAMES)


def find_logs(folder: Path | str) -> list[Path]:
    """Return the paths of all logs in a folder and its subfolders, sorted: CSV files of `write_log`, L2Logger folders.

    Hidden files and folders are left out.

    Raises:
        FileNotFoundError: There is no log.
    """
    folder = Path(folder)
    paths = {path.parents[2] for path in folder.rglob(f"*/*/{DATA_LOG}")}
    paths |= {path for path in folder.rglob("*.csv") if types_file(path).exists()}
    logs = []
    for path in sorted(paths):
        parts = path.relative_to(folder).parts
        if not any(part.startswith(".") for part in parts):
            logs.append(path)
    if not logs:
        raise FileNotFoundError(
            f"there is no log in {str(folder)!r} or below it: no CSV file of write_log, and no "
            f"<worker>/<block>-<train or test>/{DATA_LOG}"
        )
    return logs
