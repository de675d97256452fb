"""Single-task experts as the metrics read them: the learning curves of an agent that met only one task."""

from __future__ import annotations

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.lifelong.curves import known_mean
from pushlab.metrics.lifelong.rows import TRAIN, find_measure, run_starts

POOR = 0.2  # a saturation value below this share of the expert's is no learning to speak of
COLUMNS = [
    "task",
    "run",
    "saturation",
    "time",
    "expert_saturation",
    "expert_time",
    "relative_saturation",
    "relative_time",
    "relative_integral",
    "relative_performance",
    "sample_efficiency",
]


class ExpertRun(NamedTuple):
    """One expert: its training, regime by regime.

    pieces    list of arrays, what was measured
    name      under which it was found
    episodes  numbers of the experiences, an array, or None if nobody numbered them
    """

    pieces: list
    name: str
    episodes: np.ndarray | None = None

    def curve(self) -> np.ndarray:
        """All of its training, one piece after the other."""
        return np.concatenate([np.zeros(0), *self.pieces])


def read_experts(
    experts: Any, life: Any
) -> tuple[dict[str, list[ExpertRun]], dict[str, float]]:
    """{task: list of ExpertRun} and {task: saturation value} of those tasks of a lifetime that have an expert.

    experts  a store with `logs(task)` and, if it knows them, `saturation(task)` and the names of its `tasks`; or
             {task: runs}: a list of lifetime logs or of arrays, one of them alone, or a single number, the saturation
             value, if no more is known; None for no experts
    """
    if experts is None:
        return {}, {}
    if not isinstance(experts, dict) and not hasattr(experts, "logs"):
        raise TypeError(
            "experts are a store, pushlab.lifetimes.experts.Experts(folder), or a dict of task and runs; "
            f"got {experts!r:.60}"
        )
    names = experts if isinstance(experts, dict) else getattr(experts, "tasks", None)
    runs, values = {}, {}
    for task in life.tasks:
        found = (
            [task]
            if names is None
            else life.names_of_experts(task, [str(name) for name in names])
        )
        entries = {name: _entry(experts, name) for name in found}
        read = [
            _read_run(run, name, life)
            for name, (some, _) in entries.items()
            for run in some
        ]
        known = [
            value
            for _, value in entries.values()
            if value is not None and np.isfinite(value)
        ]
        if read:
            runs[task] = read
        elif known:
            values[task] = float(np.mean(known))
    return runs, values


def _entry(experts, name):
    """What is known of an expert: a list of runs, and its saturation value or None."""
    if not isinstance(experts, dict):
        return _as_runs(experts.logs(name)), experts.saturation(name) if hasattr(
            experts, "saturation"
        ) else None
    entry = next(entry for key, entry in experts.items() if str(key) == name)
    return ([], entry) if isinstance(entry, Real) else (_as_runs(entry), None)


def _as_runs(entry):
    """A list of runs of what may be one or several."""
    if isinstance(entry, pd.DataFrame | np.ndarray | pd.Series):
        return (
            list(entry)
            if isinstance(entry, np.ndarray) and entry.ndim == 2
            else [entry]
        )
    entry = list(() if entry is None else entry)
    return (
        [entry] if entry and all(isinstance(value, Real) for value in entry) else entry
    )


def _read_run(run, name, life):
    """What an expert measured while it was trained."""
    file = f"expert of {name}"
    if isinstance(run, pd.DataFrame):
        rows = run[run["block_type"] == TRAIN] if "block_type" in run else run
        measure = life.measure if life.measure in rows else find_measure(run, file=file)
        rows = rows.assign(measured=rows[measure].to_numpy(float, na_value=np.nan))
        if "status" in rows:
            rows.loc[(rows["status"] != "complete").to_numpy(), "measured"] = np.nan
    else:
        values = np.array(run, float)
        if values.ndim != 1:
            raise BadData(
                [
                    Fault(
                        file,
                        None,
                        None,
                        None,
                        f"a curve has one dimension; got {values.ndim}",
                    )
                ]
            )
        rows = pd.DataFrame({"measured": values})
    if np.isinf(rows["measured"]).any() or not np.isfinite(rows["measured"]).any():
        raise BadData(
            [Fault(file, None, None, None, "finite numbers, at least one of them")]
        )
    rows, changing = life.rows_of_expert(rows)
    changing = [rows[column].to_numpy() for column in changing if column in rows]
    starts = run_starts(*changing) if changing else np.zeros(1, int)
    episodes = rows["episode"].to_numpy() if "episode" in rows else None
    return ExpertRun(np.split(rows["measured"].to_numpy(), starts[1:]), name, episodes)


# ---------------------------------------------------------------- a lifetime against them


def expert_table(life: Any) -> pd.DataFrame:
    """Each task against each of its experts, a DataFrame with a row a task and run (-1: only a value is known).

    Columns task, run, saturation, time, expert_saturation, expert_time, relative_saturation, relative_time,
    relative_integral, relative_performance, sample_efficiency; NaN where there is no value. Saturation values are those
    of the scale for ratios.
    """
    rows = []
    for task in life.tasks:
        own = life.learning(task, "for_ratios")
        if not np.isfinite(own).any():
            continue
        rows += [
            {"task": task, "run": number, **_against(life, task, own, *expert)}
            for number, expert in enumerate(life.expert_curves(task, for_ratios=True))
        ]
        if task in life.expert_saturations:
            reached, known = (
                life.saturation(own),
                life.expert_saturations_for_ratios[task],
            )
            rows.append(
                {
                    "task": task,
                    "run": -1,
                    "saturation": reached.value,
                    "time": reached.time,
                    "expert_saturation": known,
                    "relative_saturation": divide(reached.value, known),
                }
            )
    return pd.DataFrame(rows, columns=COLUMNS)


def _against(life, task, own, expert, episodes):
    reached, known = (
        life.saturation(own, life.learning(task, "episode")),
        life.saturation(expert, episodes),
    )
    common, times = (
        min(len(own), len(expert)),
        (life.episodes_until(reached), life.episodes_until(known)),
    )
    relative = divide(reached.value, known.value)
    if not all(times) or np.isnan(relative):
        efficiency = np.nan
    elif reached.value < POOR * known.value or life.falls(task, own, known.value):
        efficiency = 0.0
    else:
        efficiency = relative * times[1] / times[0]
    return {
        "saturation": reached.value,
        "time": reached.time,
        "expert_saturation": known.value,
        "expert_time": known.time,
        "relative_saturation": relative,
        "relative_time": divide(*times),
        "relative_integral": divide(known_mean(own), known_mean(expert)),
        "relative_performance": divide(
            known_mean(own[:common]), known_mean(expert[:common])
        ),
        "sample_efficiency": efficiency,
    }


def line_falls(values: np.ndarray, by: float) -> bool:
    """Whether the line fitted to a curve falls by more than so much from its beginning to its end."""
    at = np.flatnonzero(np.isfinite(values))
    if len(at) < 2:
        return False
    centred = at - at.mean()
    slope = (centred * values[at]).sum() / (centred**2).sum()
    return slope * (len(values) - 1) < -by


def divide(part: float, whole: float) -> float:
    """part / whole, NaN where that has no value."""
    return part / whole if whole and np.isfinite(whole) else np.nan
