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

import json
from pathlib import Path

import numpy as np

from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_text
from pushlab.logs.columns import spell_out
from pushlab.logs.order import (
    FILE,
    LINE,
    demand_finite,
    demand_order,
    find_disorder,
    find_steps_back,
    in_order,
    without_infinite,
)
from pushlab.logs.rollout import by_episode
from pushlab.logs.tables import (
    COLUMNS,
    TABLE,
    Table,
    are_numbered,
    block_folder,
    read_columns,
    read_part,
    to_table,
)

SCENARIO, LOGGER = "scenario_info.json", "logger_info.json"
STEPS = "steps.tsv"
TYPES = ("train", "test")
NOT_MEASURED = ("block", "episode", "regime", "seed", "lifetime", "length", "worker")


# ---------------------------------------------------------------- reading

def read_log(path, measure=None, strict=True):
    """Reads one lifetime: an L2Logger folder, or a single TSV or CSV file with the columns of either naming.

    measure  the column to measure by; by default what `logger_info.json` names first, else "reward"
    strict   False goes on with the rows that are sound, if there are any, as an interrupted run leaves them behind;
             what is wrong with the others is in `log.attrs["faults"]`

    returns  a lifetime log; `log.attrs["measure"]` is the measure, `log.attrs["scenario"]` the dict of
             `scenario_info.json`, `log.attrs["syllabus_type"]` what that says of CL, ANT_A or ANT_B, if anything
    Raises FileNotFoundError where there is no log, BadData listing every fault of its tables; for a measure that is
    not there the numeric columns that are.
    """
    import pandas as pd

    path = Path(path)
    if not path.exists():
        raise FileNotFoundError(f"there is no log at {str(path)!r}: no such file or folder")
    parts, faults = ([Table(path, path.name)], []) if path.is_file() else _parts(path)
    tables, found = zip(*(read_part(part) for part in parts)) if parts else ((), ())
    scenario, told = _read_json(path, SCENARIO, faults), _read_json(path, LOGGER, faults)
    faults += [fault for some in found for fault in some]
    kept = [(part, table) for part, table in zip(parts, tables) if table is not None and len(table)]
    if not kept:
        raise BadData(faults)
    log = pd.concat([table.assign(**{FILE: part.name, LINE: table.index}) for part, table in kept], ignore_index=True)
    try:
        name = _measure(log, measure, told, path.name)
        faults += _lacking(kept, name)
        log, infinite = without_infinite(log, name)
        faults += infinite
    except BadData as error:
        name = None
        faults += error.faults
    if not len(log):
        raise BadData(faults)
    if "step" in log and path.is_file():
        log = by_episode(log).rename(columns={"return": "reward"}).assign(**{FILE: path.name, LINE: None})
    if "block" not in log:
        log = _with_blocks(log)
    log = _with_phases(log)
    faults += find_disorder(log, are_numbered(parts[0]))
    log = with_regimes(in_order(log))
    faults += find_steps_back(log)
    if faults and (strict or name is None):
        raise BadData(faults)
    log = log.drop(columns=[FILE, LINE])
    log.attrs = {"measure": name, "scenario": scenario}
    if faults:
        log.attrs["faults"] = tuple(faults)
    kind = scenario.get("syllabus_type", scenario.get("scenario_type"))
    if str(kind).upper().replace("-", "_") in ("CL", "ANT_A", "ANT_B"):
        log.attrs["syllabus_type"] = str(kind).upper().replace("-", "_")
    return log


def read_steps(folder):
    """The step log that a folder was written from: a DataFrame as `rollout` returned it.

    Raises FileNotFoundError if no steps were written, BadData for a file that is torn.
    """
    import pandas as pd

    parts = [Table(part.path.with_name(STEPS), f"{Path(part.name).parent.as_posix()}/{STEPS}", part.block,
                   part.block_type) for part in _parts(Path(folder))[0]]
    missing = [part.name for part in parts if not part.path.exists()]
    if missing:
        raise FileNotFoundError(f"{Path(folder).name} holds episodes and no steps: there is no {missing[0]}")
    tables, faults = zip(*(read_columns(part, "steps") for part in parts))
    faults = [fault for found in faults for fault in found]
    if faults:
        raise BadData(faults)
    return pd.concat(tables, ignore_index=True)


def find_logs(folder):
    """Every lifetime in a folder and below it: paths of L2Logger folders, sorted; the folder itself if it is one.

    Raises FileNotFoundError if there is none.
    """
    folder = Path(folder)
    if folder.is_file():
        return [folder]
    found = sorted({table.parents[2] for table in folder.rglob(TABLE)
                    if len(table.relative_to(folder).parts) >= 3})
    if not found:
        raise FileNotFoundError(f"there is no log in {str(folder)!r}: no <worker>/<block>-<train or test>/{TABLE} in "
                                f"it or below it")
    return found


def _parts(folder):
    """The tables of a folder, by block, and what is wrong with the names of their folders."""
    parts, faults = [], []
    for path in sorted(folder.glob(f"*/*/{TABLE}")):
        name = path.relative_to(folder).as_posix()
        number, _, kind = path.parent.name.partition("-")
        if number.isdecimal() and kind in TYPES:
            parts.append(Table(path, name, int(number), kind))
        else:
            faults.append(Fault(name, None, None, path.parent.name,
                                "a folder <block>-<train or test>, such as 3-train"))
    if not parts and not faults:
        below = next(folder.rglob(TABLE), None)
        hint = "; there are lifetimes below it, one of which is meant, or --recursive for all" if below else ""
        raise FileNotFoundError(f"there is no log in {str(folder)!r}: no <worker>/<block>-<train or test>/{TABLE}"
                                + hint)
    numbers = {part.block for part in parts}
    gone = sorted(set(range(min(numbers), max(numbers))) - numbers) if numbers else []
    if gone:
        faults.append(Fault(folder.name, None, None, None,
                            f"block{'s' if len(gone) > 1 else ''} {', '.join(map(str, gone[:5]))} "
                            f"{'are' if len(gone) > 1 else 'is'} missing between {min(numbers)} and {max(numbers)}"))
    return sorted(parts, key=lambda part: (part.block, part.name)), faults


def _read_json(path, name, faults):
    """A JSON object beside the blocks, {} where there is none; what is wrong with it is added to the faults."""
    file = path / name
    if not path.is_dir() or not file.exists():
        return {}
    try:
        told = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        faults.append(Fault(name, None, None, None, f"not JSON ({error})"))
        return {}
    if not isinstance(told, dict):
        faults.append(Fault(name, None, None, None, f"a JSON object, {{…}}; got {told!r:.40}"))
        return {}
    return told


def _lacking(kept, measure):
    """A fault for each table that has no column of the measure, where others have."""
    return [Fault(part.name, 1, measure, None, "the measure is missing; numeric columns here are "
                  + (", ".join(_numeric(table)) or "none")) for part, table in kept
            if measure not in table and not {"step", "return"} & {*table}]


def _measure(log, measure, told, file):
    columns = told.get("metrics_columns") or ["reward"]
    columns = [columns] if isinstance(columns, str) else list(columns)
    name = measure or ("reward" if "reward" in columns else columns[0])
    if name in log and np.issubdtype(log[name].dtype, np.number):
        return name
    numeric = _numeric(log)
    raise BadData([Fault(file, None, str(name), None, "no such numeric column to measure by; "
                         + (f"numeric columns are {', '.join(numeric)}" if numeric else "there is no numeric one"))])


def _numeric(log):
    return [column for column in log.select_dtypes("number") if column not in (*NOT_MEASURED, LINE)]


# ---------------------------------------------------------------- regimes, blocks, phases

def with_regimes(log):
    """The log with a column `regime`: consecutive rows of one block, type, task and params, counted from 0."""
    keys = [log[name] for name in ("block", "block_type", "block_subtype", "task", "params") if name in log]
    changed = np.zeros(len(log), bool)
    for key in keys:
        codes = key.to_numpy()
        changed[1:] |= codes[1:] != codes[:-1]
    regime = np.cumsum(changed)
    if "regime" in log:
        return log.assign(regime=regime)
    log = log.copy()
    log.insert(log.columns.get_loc("params" if "params" in log else "task") + 1, "regime", regime)
    return log


def _with_blocks(log):
    """The log with blocks counted from its phases, or from where training and tests take turns."""
    turns = log["phase"] if "phase" in log else log["block_type"]
    return log.assign(block=np.cumsum(np.r_[False, turns.to_numpy()[1:] != turns.to_numpy()[:-1]]))


def _with_phases(log):
    """The log with phases, as syllabi name them: 1.train, 1.test, 2.train, …; tests before any training are 0.test."""
    if "phase" in log:
        return log
    kinds = log["block_type"].to_numpy()
    starts = np.r_[True, (log["block"].to_numpy()[1:] != log["block"].to_numpy()[:-1]) | (kinds[1:] != kinds[:-1])]
    number = np.cumsum(starts & (kinds == "train"))
    log = log.copy()
    log.insert(0, "phase", [f"{one}.{kind}" for one, kind in zip(number, kinds)])
    return log


# ---------------------------------------------------------------- rollout logs

def lifetime_log(log):
    """The lifetime log of a log of `rollout`, episodes or steps: `reward` is the return of an episode.

    Nothing but regimes is added; `rollout_log` gives an episode log back as it was.
    """
    if "step" in log:
        log = by_episode(log)
    missing = [name for name in ("block", "block_type", "task") if name not in log]
    if missing:
        raise BadData([Fault("log", None, name, None, "a lifetime has this column; give it to rollout") for name in
                       missing])
    return with_regimes(log.rename(columns={"return": "reward"}) if "return" in log else log)


def rollout_log(log):
    """The episode log that a lifetime log came from: `return` again, and no regimes."""
    log = log.drop(columns="regime", errors="ignore")
    return log.rename(columns={"reward": "return"}) if "return" not in log else log


# ---------------------------------------------------------------- writing

def write_log(log, folder, measure=None, scenario=None):
    """Writes a lifetime, or some blocks of it, into an L2Logger folder; returns the folder.

    log       a lifetime log, or a log of `rollout`: of a step log the episodes become the lifetime, and the steps are
              written beside them
    measure   numeric column; by default log.attrs["measure"], else "reward"
    scenario  dict for `scenario_info.json`; by default log.attrs["scenario"], else what is there already

    A block's files are replaced whole; other blocks in the folder stay untouched, so that a run writes as it goes.
    Raises BadData for a log that is no lifetime, ValueError for a worker whose name is no folder's.
    """
    folder, steps = Path(folder), log if "step" in log else None
    told = {**({"syllabus_type": log.attrs["syllabus_type"]} if "syllabus_type" in log.attrs else {}),
            **(log.attrs.get("scenario") or {}), **(scenario or {})}
    name = measure or log.attrs.get("measure") or "reward"
    log = lifetime_log(log)
    name = _measure(log, name, {}, "log")
    demand_order(log)
    demand_finite(log, name)
    wrong = sorted({str(kind) for kind in log["block_type"]} - set(TYPES))
    if wrong:
        raise BadData([Fault("log", None, "block_type", kind, "train or test") for kind in wrong])
    workers = log["worker"].astype(str) if "worker" in log else ["0"] * len(log)
    for (worker, block, kind), rows in log.drop(columns="regime").groupby([workers, "block", "block_type"], sort=False):
        where = block_folder(folder, worker, block, kind)
        texts, kinds = {}, {}
        texts[TABLE], kinds["log"] = spell_out(to_table(rows, worker))
        if steps is not None:
            own = steps[(steps["block"] == block) & (steps["block_type"] == kind)]
            texts[STEPS], kinds["steps"] = spell_out(own)
        texts[COLUMNS] = json.dumps({**kinds, "own": list(rows.columns)}, indent=1)
        for name_of_file in (COLUMNS, STEPS, TABLE):            # with its table the block is there: it comes last
            if name_of_file in texts:
                write_text(where / name_of_file, texts[name_of_file])
    if told or not (folder / SCENARIO).exists():
        write_text(folder / SCENARIO, json.dumps(told, indent=2))
    others = [column for column in log.select_dtypes("number") if column not in (*NOT_MEASURED, name)]
    write_text(folder / LOGGER, json.dumps({"metrics_columns": [name, *others], "log_format_version": "1.1"}, indent=2))
    return folder
