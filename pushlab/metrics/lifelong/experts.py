"""Single-task experts as the metrics read them: the learning curves of an agent that met only one task."""

from numbers import Real
from typing import NamedTuple

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.lifelong.rows import TRAIN, base_name, find_measure, mean_per_experience, run_starts


class ExpertRun(NamedTuple):
    """One expert: its training, regime by regime.

    pieces    list of arrays, what was measured
    name      of its task as the log reads it; only release 3.1.0 lets it be another than the task it is expert of
    episodes  numbers of the experiences, an array, or None if nobody numbered them
    """

    pieces: list
    name: str
    episodes: np.ndarray | None = None

    def map(self, change):
        return self._replace(pieces=[change(piece) for piece in self.pieces])

    def curve(self):
        return np.concatenate([np.zeros(0), *self.pieces])


def read_experts(experts, tasks, measure, settings):
    """{task: list of ExpertRun} and {task: saturation value} of those tasks that have an expert.

    experts  a store with `logs(task)` and `saturation(task)`, or {task: runs}: a list of lifetime logs or of arrays,
             one of them alone, or a single number, the saturation value, if no more is known; None for no experts

    Names are matched whole. Release 3.1.0 looks for `task*` where it finds no `task`, so that task1 takes task10 too.
    """
    if experts is None:
        return {}, {}
    if not isinstance(experts, dict) and not hasattr(experts, "logs"):
        raise TypeError("experts are a store, pushlab.lifetimes.experts.Experts(folder), or a dict of task and runs; "
                        f"got {experts!r:.60}")
    names = _names(experts)
    runs, values = {}, {}
    for task in tasks:
        matching = _matching(task, names, settings)
        found = [(name, _entry(experts, name)) for name in matching]
        runs[task] = [_read_run(run, name, measure, settings) for name, entry in found for run in _as_runs(entry)]
        numbers = [entry for _, entry in found if isinstance(entry, Real)] + _stored_saturations(experts, matching)
        if numbers and not runs[task]:
            values[task] = float(np.mean(numbers))
    return {task: kept for task, kept in runs.items() if kept}, values


def mean_curve(curves):
    """The mean of several curves over the experiences that all of them have; missing values aside.

    >>> mean_curve([np.array([1.0, 2.0, 3.0]), np.array([3.0, np.nan])])
    array([2., 2.])
    """
    shortest = min(map(len, curves))
    stacked = np.array([curve[:shortest] for curve in curves])
    known = np.isfinite(stacked)
    counts = known.sum(axis=0)
    return np.divide(np.where(known, stacked, 0.0).sum(axis=0), counts, out=np.full(shortest, np.nan), where=counts > 0)


def _names(experts):
    """The names of the tasks that have an expert; None where a store does not say."""
    if isinstance(experts, dict):
        return [str(name) for name in experts]
    for name in ("tasks", "list"):
        listed = getattr(experts, name, None)
        listed = listed() if callable(listed) else listed
        if listed is not None:
            return list(map(str, listed["task"] if isinstance(listed, pd.DataFrame) else listed))
    return None


def _matching(task, names, settings):
    if names is None:
        return [task]
    if settings.is_release:
        if task in [name.lower() for name in names]:
            return [name for name in names if name.lower() == task]
        if task in {name.lower().split("_")[0] for name in names}:
            return sorted(name for name in names if name.lower().startswith(task))
        return []
    if settings.variant_mode == "agnostic":
        return [name for name in names if base_name(name) == task]
    return [name for name in names if name == task]


def _entry(experts, name):
    if not isinstance(experts, dict):
        return experts.logs(name)
    return next(entry for key, entry in experts.items() if str(key) == name)


def _stored_saturations(experts, names):
    """The saturation values that a store holds of some tasks, a list."""
    if isinstance(experts, dict) or not hasattr(experts, "saturation"):
        return []
    values = [experts.saturation(name) for name in names]
    return [float(value) for value in values if value is not None and np.isfinite(value)]


def _as_runs(entry):
    """A list of runs of what may be one, several, or only a number."""
    if entry is None or isinstance(entry, Real):
        return []
    if isinstance(entry, pd.DataFrame | np.ndarray | pd.Series):
        return list(entry) if isinstance(entry, np.ndarray) and entry.ndim == 2 else [entry]
    entry = list(entry)
    return [entry] if entry and all(isinstance(value, Real) for value in entry) else entry


def _read_run(run, name, measure, settings):
    """What an expert measured while it was trained; missing values stay, but for release 3.1.0."""
    if isinstance(run, pd.DataFrame):
        return _read_log(run, name, measure, settings)
    values = np.array(run, float)
    if values.ndim != 1:
        raise BadData([Fault(f"expert of {name}", None, None, None, f"a curve has one dimension; got {values.ndim}")])
    _demand_numbers(values, name)
    return ExpertRun([values[np.isfinite(values)] if settings.is_release else values], _task_of(name, settings))


def _read_log(log, name, measure, settings):
    rows = log[log["block_type"] == TRAIN] if "block_type" in log else log
    try:
        measure = measure if measure in rows else find_measure(log)
    except BadData as error:
        raise BadData(fault._replace(file=f"expert of {name}") for fault in error.faults) from None
    rows = rows.assign(measured=rows[measure].to_numpy(float, na_value=np.nan))
    if "status" in rows:
        rows.loc[(rows["status"] != "complete").to_numpy(), "measured"] = np.nan
    _demand_numbers(rows["measured"].to_numpy(), name)
    if settings.is_release:
        rows = rows[rows["measured"].notna()]
    elif "episode" in rows:
        rows = mean_per_experience(rows, "measured", [key for key in ("block", "episode") if key in rows])
    changing = ("block",) if settings.is_release else ("regime", "block", "params")
    changing = [rows[column].to_numpy() for column in changing if column in rows]
    starts = run_starts(*changing) if changing else np.zeros(1, int)
    episodes = rows["episode"].to_numpy() if "episode" in rows else None
    return ExpertRun(np.split(rows["measured"].to_numpy(), starts[1:]), _task_of(name, settings), episodes)


def _task_of(name, settings):
    name = name.lower() if settings.is_release else name
    return base_name(name) if settings.variant_mode == "agnostic" else name


def _demand_numbers(values, name):
    if np.isinf(values).any() or not np.isfinite(values).any():
        raise BadData([Fault(f"expert of {name}", None, None, None, "finite numbers, at least one of them")])
