"""A lifetime as metrics see it: prepared curves, regimes with their levels and times, and single-task experts."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.metrics.estimate import median_time
from pushlab.metrics.lifelong import curves, log
from pushlab.metrics.lifelong.log import TEST, TRAIN
from pushlab.metrics.lifelong.settings import Settings

DESCRIBED = ["mean", "saturation", "time_to_saturation", "terminal", "time_to_terminal"]
POOR = 0.2  # a saturation value below this share of the expert's is no learning to speak of
EXPERT_COLUMNS = [
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


# Columns without a value if only an expert's saturation value is known.
UNKNOWN = ["expert_time", *EXPERT_COLUMNS[-4:]]


class Missing(ValueError):
    """Raised by a metric that can't be computed, with the reason in plain words."""


class ExpertRun(NamedTuple):
    """The training of one expert.

    Attributes:
        curve: Its measure, smoothed as the log is; one value if only its saturation value is known.
        name: Name of the expert's task; None if only its saturation value is known.
        episodes: Numbers of the experiences, an array, or None if they have none.
    """

    curve: np.ndarray
    name: str | None = None
    episodes: np.ndarray | None = None


class Lifetime:
    """One lifetime, ready for metrics.

    A task learned under several parameters is one task in several variants. Maintenance and transfer are properties of
    variants, learning is one of tasks.

    The methods under "rules" are ours. `pushlab.metrics.lifelong.release` replaces them by those of l2metrics 3.1.0.

    Attributes:
        log: DataFrame, one row per experience in order, with these columns:

            - raw: as measured
            - smoothed: training smoothed; tests as they are, unless `settings.smooth_tests`
            - normalized: smoothed, clipped, and scaled to 0 … 100, which most metrics read
            - for_ratios: smoothed and clipped, in the measure's unit, counted from its natural zero, for divisions

        regimes: DataFrame, one row per regime (a stretch of one block, task and parameters): regime, block, block_type,
            block_subtype, task, variant, params, start, count, mean, saturation, time_to_saturation, terminal,
            time_to_terminal, used (False for tests while awake, if there are tests asleep).
        tasks: Names, those learned first, in the order of their blocks.
        settings: Settings.
        measure: Name of the measured column.
        runs: {task: list of ExpertRun}.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        experts: Any = None,
        measure: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.is_aware = self.settings.variant_mode == "aware"
        self.gaps: list[str] = []
        rows, self.measure = log.read_rows(rows, measure)
        self.log = self.in_regimes(rows)
        self.regimes = self._regime_rows()
        # First the tasks that are trained.
        by_kind = self.regimes.sort_values(
            ["block_type", "block"], ascending=[False, True], kind="stable"
        )
        self.tasks = list(by_kind["task"].unique())
        self.runs = read_experts(experts, self)
        self._prepare()
        described = [self.describe(row) for row in self.regimes.index]
        self.regimes[DESCRIBED] = np.array(described, float)

    def _regime_rows(self):
        starts = log.run_starts(self.log["regime"].to_numpy())
        regimes = self.log.iloc[starts][["regime", *log.ABOUT]].reset_index(drop=True)
        regimes["task"] = regimes["task"].astype(str)
        regimes["start"] = starts
        regimes["count"] = np.diff(np.append(starts, len(self.log)))
        regimes["variant"] = self.name_variants(regimes)
        subtype = regimes["block_subtype"]
        is_wake_test = (regimes["block_type"] == TEST) & (subtype == "wake")
        regimes["used"] = ~(is_wake_test & (subtype == "sleep").any())
        return regimes

    def _prepare(self):
        """Smooth, clip and scale the log."""
        regimes = self.regimes
        pieces = np.split(self.log["raw"].to_numpy(), regimes["start"][1:])
        is_curve = (regimes["block_type"] == TRAIN) | self.settings.smooth_tests
        smoothed = np.concatenate(
            [self.smooth(piece) if do else piece for piece, do in zip(pieces, is_curve)]
        )
        tasks = np.repeat(regimes["task"].map(self.tasks.index), regimes["count"])
        rows = {task: np.flatnonzero(tasks == at) for at, task in enumerate(self.tasks)}
        values = {
            task: [smoothed[own], *(run.curve for run in self.runs.get(task, []))]
            for task, own in rows.items()
        }
        self.scales = curves.find_scales(values, self.settings, self.is_variant)
        normalized = np.empty(len(smoothed))
        for_ratios = np.empty(len(smoothed))
        for task, own in rows.items():
            normalized[own] = self.normalise(smoothed[own], task)
            for_ratios[own] = self.scale_for_ratios(smoothed[own], task)
        self.log = self.log.assign(
            smoothed=smoothed, normalized=normalized, for_ratios=for_ratios
        )

    # ------------------------------------------------------------ rules

    def in_regimes(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a log with the number of their regime."""
        return log.in_regimes(rows, self.is_aware)

    def name_variants(self, regimes: pd.DataFrame) -> pd.Series:
        """Return the variant of each regime."""
        return log.name_variants(regimes) if self.is_aware else regimes["task"]

    def is_variant(self, task: str, name: str) -> bool:
        """Return whether a name in `data_range` is a variant of a task."""
        return log.base_name(name) == task

    def names_of_experts(self, task: str, names: list[str]) -> list[str]:
        """Return the names under which a task has experts. Names are matched whole."""
        matched = str if self.is_aware else log.base_name
        return [name for name in names if matched(name) == task]

    def rows_of_expert(
        self, rows: pd.DataFrame
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return an expert's rows, one per experience, and the columns that divide them into regimes."""
        if "episode" in rows:
            keys = [key for key in ("block", "episode") if key in rows]
            rows = log.mean_per_experience(rows, "raw", keys)
        return rows, ("regime", "block", "params")

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Return a curve smoothed as the settings say."""
        return curves.smooth(values, self.settings.window, self.settings.smoothing)

    def saturation(
        self, values: np.ndarray, episodes: np.ndarray | None = None
    ) -> curves.Saturation:
        """Return the saturation of a curve; `episodes` numbers its experiences."""
        return curves.saturation(values, self.settings.saturation_share)

    def episodes_until(self, found: curves.Saturation) -> float:
        """Return the episodes until saturation. The one in which it begins counts, so that "at once" is 1."""
        return found.time + 1

    def falls(self, task: str, own: np.ndarray, known: float) -> bool:
        """Return whether the line fitted to a task's training falls by more than a share of its expert's value."""
        at = np.flatnonzero(np.isfinite(own))
        if len(at) < 2:
            return False
        slope = np.polyfit(at, own[at], 1)[0]
        return slope * (len(own) - 1) < -POOR * abs(known)

    def recovery_time(self, row: int, level: float) -> float:
        """Return how long a block of training takes to reach a level; inf if it doesn't."""
        time = curves.first_reached(self.curve(row), level)
        return np.inf if np.isnan(time) else time

    def typical_recovery(self, task: str, times: pd.Series) -> float:
        """Return the median of a task's recovery times; inf if half of them were not reached."""
        median = median_time(times, self.regimes.loc[times.index, "count"])
        if np.isinf(median.median):
            self.gap(
                f"{task} was not back within its block of training: the median is {median.watched:g} or more"
            )
        return median.median

    def transfer_pairs(self, pairs: Iterable[tuple]) -> Iterable[tuple]:
        """Return those `pairs_of_tests` without training of the tested task between them."""
        for learned, tested, before, after in pairs:
            own = self.of_variant(tested, TRAIN)
            if not ((own > before) & (own < after)).any():
                yield learned, tested, before, after

    def transfer_level(self, row: int) -> float:
        """Return the level of a test that transfer is computed from."""
        return curves.known_mean(self.curve(row, "for_ratios"))

    def one_per_episode(self, row: int) -> np.ndarray:
        """Return the curve of a regime with one value per episode."""
        return self.curve(row)

    def describe(self, row: int) -> tuple:
        """Return the values of DESCRIBED for a regime."""
        values = self.one_per_episode(row)
        if not np.isfinite(values).any():
            return (np.nan,) * len(DESCRIBED)
        is_test = self.regimes["block_type"].iat[row] == TEST
        share = 1.0 if is_test else curves.TERMINAL
        return (
            curves.known_mean(self.curve(row)),
            *self.saturation(values),
            curves.terminal_performance(values, share),
            int((1 - share / 2) * len(values)),
        )

    def normalise(
        self, values: np.ndarray, task: str, name: str | None = None
    ) -> np.ndarray:
        """Return values of a task on 0 … 100; `name` is that of the expert they belong to."""
        scale = self.scales[task]
        values = np.clip(values, *scale.limits)
        return values if self.settings.normalization == "none" else scale.points(values)

    def scale_for_ratios(
        self, values: np.ndarray, task: str, name: str | None = None
    ) -> np.ndarray:
        """Return values of a task that can be divided by one another.

        Normalising moves the zero, and with it every ratio. So ratios are those of measured values if zero is their
        natural floor.
        """
        return np.clip(values, *self.scales[task].limits) - self.scales[task].zero

    # ------------------------------------------------------------ for metrics

    def curve(self, row: int, column: str = "normalized") -> np.ndarray:
        """Return a column of the log over one regime, by its row in `regimes`."""
        start = self.regimes["start"].iat[row]
        return self.log[column].to_numpy()[
            start : start + self.regimes["count"].iat[row]
        ]

    def learning(self, task: str, column: str = "normalized") -> np.ndarray:
        """Return a column of the log over all training of a task, one block after the other."""
        rows = self.training(task).index
        return np.concatenate([np.zeros(0), *(self.curve(row, column) for row in rows)])

    def training(self, task: str | None = None) -> pd.DataFrame:
        """Return the rows of `regimes` that train (a task), awake."""
        regimes = self.regimes
        chosen = (regimes["block_type"] == TRAIN) & (regimes["block_subtype"] == "wake")
        if task is not None:
            chosen &= regimes["task"] == task
        return regimes[chosen]

    def tests(self) -> pd.DataFrame:
        """Return the used rows of `regimes` that are tests. Raises Missing if there are none."""
        regimes = self.regimes
        found = regimes[(regimes["block_type"] == TEST) & regimes["used"]]
        if not len(found):
            raise Missing("the log has no test block")
        return found

    def of_variant(self, variant: str, kind: str) -> np.ndarray:
        """Return the rows of `regimes` that train or test a variant, int array."""
        regimes = self.regimes
        chosen = (regimes["variant"] == variant) & (regimes["block_type"] == kind)
        return np.flatnonzero(chosen & regimes["used"])

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, in order of appearance."""
        return list(self.regimes.loc[self.regimes["used"], "variant"].unique())

    def expert_curves(
        self, task: str, for_ratios: bool = False
    ) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Return the prepared curves of a task's experts: a list of (array, numbers of its experiences or None).

        Args:
            task: A task.
            for_ratios: On the scale for divisions, and averaged over time if the settings say so.
        """
        scaled = self.scale_for_ratios if for_ratios else self.normalise
        runs = self.runs.get(task, [])
        found = [(scaled(run.curve, task, run.name), run.episodes) for run in runs]
        if found and for_ratios and self.settings.expert_averaging == "time":
            shortest = min(len(curve) for curve, _ in found)
            table = pd.DataFrame([curve[:shortest] for curve, _ in found])
            return [(table.mean().to_numpy(), None)]
        return found

    def mean_by_task(self, column: str, regimes: pd.DataFrame) -> pd.Series:
        """Return the mean of a column of some rows of `regimes` for each task; NaN for tasks without a value."""
        means = regimes.groupby("task", sort=False)[column].mean()
        return means.reindex(self.tasks).astype(float)

    def gap(self, reason: str) -> None:
        """Note why a metric has no value for some task, in plain words."""
        self.gaps.append(reason)

    @cached_property
    def recovery_times(self) -> pd.Series:
        """For each training block of a task learned before: the time to be as good as at the end of the last block.

        A Series by rows of `regimes`; inf if that level wasn't reached within the block.
        """
        times = {}
        for task in self.tasks:
            rows = self.training(task).index
            for before, row in zip(rows, rows[1:]):
                level = self.regimes.at[before, "terminal"]
                if not np.isnan(level) and np.isfinite(self.curve(row)).any():
                    times[row] = self.recovery_time(row, level)
        return pd.Series(times, dtype=float)

    @cached_property
    def expert_table(self) -> pd.DataFrame:
        """Each task compared with each of its experts, one row per task and run.

        Columns EXPERT_COLUMNS; NaN if there is no value. Run -1 is an expert of which only the saturation value is
        known. Saturation values are on the scale for divisions.
        """
        rows = []
        for task, runs in self.runs.items():
            own = self.learning(task, "for_ratios")
            if not np.isfinite(own).any():
                continue
            is_value = runs[0].name is None
            own_episodes = None if is_value else self.learning(task, "episode")
            reached = self.saturation(own, own_episodes)
            for run, expert in enumerate(self.expert_curves(task, True)):
                row = {"task": task, "run": -1 if is_value else run}
                row |= self._compare(task, own, reached, *expert)
                if is_value:
                    row |= dict.fromkeys(UNKNOWN, np.nan)
                rows.append(row)
        return pd.DataFrame(rows, columns=EXPERT_COLUMNS)

    def _compare(self, task, own, reached, expert, episodes):
        """Return the comparison of a task's training with one expert, {column: value}."""
        known = self.saturation(expert, episodes)
        time = self.episodes_until(reached)
        expert_time = self.episodes_until(known)
        relative = divide(reached.value, known.value)
        efficiency = np.nan
        if time and expert_time and not np.isnan(relative):
            is_poor = reached.value < POOR * known.value
            fails = is_poor or self.falls(task, own, known.value)
            efficiency = 0.0 if fails else relative * expert_time / time
        common = min(len(own), len(expert))
        means = [curves.known_mean(curve) for curve in (own, expert)]
        starts = [curves.known_mean(curve[:common]) for curve in (own, expert)]
        return {
            "saturation": reached.value,
            "time": reached.time,
            "expert_saturation": known.value,
            "expert_time": known.time,
            "relative_saturation": relative,
            "relative_time": divide(time, expert_time),
            "relative_integral": divide(*means),
            "relative_performance": divide(*starts),
            "sample_efficiency": efficiency,
        }


def divide(part: float, whole: float) -> float:
    """Return part / whole; NaN if that has no value."""
    return part / whole if whole and np.isfinite(whole) else np.nan


# ---------------------------------------------------------------- experts


def read_experts(experts: Any, life: Lifetime) -> dict[str, list[ExpertRun]]:
    """Return {task: list of ExpertRun} for the tasks of a lifetime that have an expert.

    Args:
        experts: A store such as `pushlab.Experts`, or {task: runs}: a list of lifetime logs or of arrays, one of them
            alone, or a number, the saturation value, if only that is known. None: no experts.
        life: The lifetime.
    """
    if hasattr(experts, "logs"):
        names = experts.tasks

        def entry_of(name):
            return experts.logs(name) or experts.saturation(name)
    elif experts is None or isinstance(experts, dict):
        entries = {str(task): entry for task, entry in (experts or {}).items()}
        names = list(entries)
        entry_of = entries.get
    else:
        raise TypeError(
            f"experts are a store, pushlab.Experts(folder), or a dict of task and runs; got {experts!r:.60}"
        )
    found = {}
    for task in life.tasks:
        runs = []
        values = []
        for name in life.names_of_experts(task, names):
            entry = entry_of(name)
            if not isinstance(entry, Real):
                runs += [_read_run(run, name, life) for run in _as_runs(entry)]
            elif np.isfinite(float(entry)):
                values.append(float(entry))
        if values and not runs:
            runs = [ExpertRun(np.array([np.mean(values)]))]
        if runs:
            found[task] = runs
    return found


def _as_runs(entry):
    """Return a list of runs: several, or one alone."""
    if isinstance(entry, pd.DataFrame):
        return [entry]
    entry = list(entry)
    is_one = bool(entry) and all(isinstance(value, Real) for value in entry)
    return [entry] if is_one else entry


def _read_run(run, name, life):
    """Return the training of an expert, smoothed regime by regime."""
    file = f"expert of {name}"
    if isinstance(run, pd.DataFrame):
        measure = (
            life.measure if life.measure in run else log.find_measure(run, file=file)
        )
        rows = run.assign(raw=log.measured(run, measure))
        if "block_type" in run:
            rows = rows[rows["block_type"] == TRAIN]
    else:
        rows = pd.DataFrame({"raw": np.asarray(run, float)})
    if "block" not in rows:
        rows = rows.assign(block=0)
    if np.isinf(rows["raw"]).any() or rows["raw"].isna().all():
        raise ValueError(f"{file}: finite numbers are needed, at least one of them")
    rows, columns = life.rows_of_expert(rows)
    numbers = log.regime_numbers(rows, [name for name in columns if name in rows])
    pieces = np.split(rows["raw"].to_numpy(), log.run_starts(numbers)[1:])
    curve = np.concatenate([life.smooth(piece) for piece in pieces])
    episodes = rows["episode"].to_numpy() if "episode" in rows else None
    return ExpertRun(curve, name, episodes)
