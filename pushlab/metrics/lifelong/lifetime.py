"""A lifetime prepared for metrics: curves, regimes with their levels and times, and single-task experts."""

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

STATISTICS = [
    "mean",
    "saturation",
    "time_to_saturation",
    "terminal",
    "time_to_terminal",
]
MIN_SATURATION = 0.2  # below this share of the expert's value nothing was learned
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


# Columns that need the expert's curve, not only its saturation value.
CURVE_COLUMNS = ["expert_time", *EXPERT_COLUMNS[-4:]]


class Missing(ValueError):
    """Raised by a metric that can't be computed, with the reason in plain words."""


class ExpertRun(NamedTuple):
    """The training of one expert.

    Attributes:
        curve: Its measure, smoothed like the log; one value if only the saturation value is known.
        name: Name of the expert's task; None if only the saturation value is known.
        episodes: Numbers of the experiences, an array, or None if they have none.
    """

    curve: np.ndarray
    name: str | None = None
    episodes: np.ndarray | None = None


class Lifetime:
    """One lifetime, prepared for metrics.

    A task that is learned with several parameters is one task in several variants. Maintenance and transfer are
    computed for variants, learning for tasks.

    The methods under "rules" are ours. `pushlab.metrics.lifelong.l2metrics` replaces them with those of l2metrics
    3.1.0.

    Attributes:
        log: DataFrame, one row per experience in order, with these columns:

            - raw: as measured
            - smoothed: training smoothed; tests unchanged, unless `settings.smooth_tests`
            - normalized: smoothed, clipped, and scaled to 0 … 100; most metrics use it
            - for_ratios: smoothed and clipped, in the measure's unit, for divisions; relative to 0, to the lower end of
              `data_range`, or to the task's lowest value if that is below 0

        regimes: DataFrame, one row per regime (a stretch of one block, task and parameters): regime, block, block_type,
            block_subtype, task, variant, params, start, count, mean, saturation, time_to_saturation, terminal,
            time_to_terminal, used (False for tests while awake, if there are tests asleep).
        tasks: Names, trained tasks first, in the order of their blocks.
        settings: Settings.
        measure: Name of the measured column.
        expert_runs: {task: list of ExpertRun}.
    """

    def __init__(
        self,
        rows: pd.DataFrame,
        experts: Any = None,
        measure: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings()
        self.is_variant_aware = self.settings.variant_mode == "aware"
        self.gaps: list[str] = []
        rows, self.measure = log.read_rows(rows, measure)
        self.log = self.add_regimes(rows)
        self.regimes = self._regime_rows()
        trained_first = self.regimes.sort_values(
            ["block_type", "block"], ascending=[False, True], kind="stable"
        )
        self.tasks = list(trained_first["task"].unique())
        self.expert_runs = read_experts(experts, self)
        self._prepare()
        statistics = [self.regime_statistics(row) for row in self.regimes.index]
        self.regimes[STATISTICS] = np.array(statistics, float)

    def _regime_rows(self):
        starts = log.regime_starts(self.log["regime"].to_numpy())
        columns = ["regime", *log.REGIME_COLUMNS]
        regimes = self.log.iloc[starts][columns].reset_index(drop=True)
        regimes["task"] = regimes["task"].astype(str)
        regimes["start"] = starts
        regimes["count"] = np.diff(np.append(starts, len(self.log)))
        regimes["variant"] = self.variant_names(regimes)
        subtype = regimes["block_subtype"]
        is_wake_test = (regimes["block_type"] == TEST) & (subtype == "wake")
        has_sleep = (subtype == "sleep").any()
        regimes["used"] = ~(is_wake_test & has_sleep)
        return regimes

    def _prepare(self):
        """Smooth, clip and scale the log."""
        smoothed = self._smoothed_log()
        numbers = self.regimes["task"].map(self.tasks.index)
        tasks = np.repeat(numbers, self.regimes["count"])
        rows = {}
        values = {}
        for number, task in enumerate(self.tasks):
            rows[task] = np.flatnonzero(tasks == number)
            runs = self.expert_runs.get(task, [])
            values[task] = [smoothed[rows[task]], *(run.curve for run in runs)]
        self.scales = curves.find_scales(values, self.settings, self.is_variant)
        normalized = np.empty(len(smoothed))
        for_ratios = np.empty(len(smoothed))
        for task, own in rows.items():
            normalized[own] = self.normalise(smoothed[own], task)
            for_ratios[own] = self.scale_for_ratios(smoothed[own], task)
        self.log = self.log.assign(
            smoothed=smoothed, normalized=normalized, for_ratios=for_ratios
        )

    def _smoothed_log(self):
        """Return the measure, smoothed regime by regime."""
        pieces = np.split(self.log["raw"].to_numpy(), self.regimes["start"][1:])
        is_train = self.regimes["block_type"] == TRAIN
        is_smoothed = is_train | self.settings.smooth_tests
        for number, smooth in enumerate(is_smoothed):
            if smooth:
                pieces[number] = self.smooth(pieces[number])
        return np.concatenate(pieces)

    # ------------------------------------------------------------ rules

    def add_regimes(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows of a log with the number of their regime."""
        return log.add_regimes(rows, self.is_variant_aware)

    def variant_names(self, regimes: pd.DataFrame) -> pd.Series:
        """Return the variant of each regime."""
        return log.variant_names(regimes) if self.is_variant_aware else regimes["task"]

    def is_variant(self, task: str, name: str) -> bool:
        """Return whether a name in `data_range` is a variant of a task."""
        return log.base_name(name) == task

    def expert_names(self, task: str, names: list[str]) -> list[str]:
        """Return the names under which a task has experts, which must match exactly."""
        if self.is_variant_aware:
            return [name for name in names if name == task]
        return [name for name in names if log.base_name(name) == task]

    def expert_rows(self, rows: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return an expert's rows, one per experience, and the columns that divide them into regimes."""
        if "episode" in rows:
            keys = [key for key in ("block", "episode") if key in rows]
            rows = log.mean_per_experience(rows, "raw", keys)
        return rows, ("regime", "block", "params")

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Return a curve smoothed according to the settings."""
        return curves.smooth(values, self.settings.window, self.settings.smoothing)

    def saturation(
        self, values: np.ndarray, episodes: np.ndarray | None = None
    ) -> curves.Saturation:
        """Return the saturation of a curve; `episodes` numbers its experiences."""
        return curves.saturation(values, self.settings.saturation_share)

    def episodes_to_saturation(self, saturation: curves.Saturation) -> float:
        """Return the number of episodes until saturation, counting the one in which it begins."""
        return saturation.time + 1

    def is_falling(
        self,
        task: str,
        own: np.ndarray,
        expert_value: float,
    ) -> bool:
        """Return whether the line fitted to a task's training falls by more than a share of its expert's value."""
        positions = np.flatnonzero(np.isfinite(own))
        if len(positions) < 2:
            return False
        slope, _ = np.polyfit(positions, own[positions], 1)
        change = slope * (len(own) - 1)
        return change < -MIN_SATURATION * abs(expert_value)

    def recovery_time(self, row: int, level: float) -> float:
        """Return the number of experiences a training block takes to reach a level; inf if it doesn't."""
        time = curves.time_to_reach(self.curve(row), level)
        return np.inf if np.isnan(time) else time

    def aggregate_recovery(self, task: str, times: pd.Series) -> float:
        """Return the median of a task's recovery times; inf if half of them were not reached."""
        counts = self.regimes.loc[times.index, "count"]
        median = median_time(times, counts)
        if np.isinf(median.median):
            self.add_gap(
                f"{task} did not recover within its training block: the median is {median.follow_up_time:g} or more"
            )
        return median.median

    def transfer_pairs(self, pairs: Iterable[tuple]) -> Iterable[tuple]:
        """Yield the `pairs_of_tests` without training of the tested task between them."""
        for learned, tested, before, after in pairs:
            own = self.variant_rows(tested, TRAIN)
            if not ((own > before) & (own < after)).any():
                yield learned, tested, before, after

    def transfer_level(self, row: int) -> float:
        """Return the level of a test from which transfer is computed."""
        return curves.finite_mean(self.curve(row, "for_ratios"))

    def episode_curve(self, row: int) -> np.ndarray:
        """Return the curve of a regime with one value per episode."""
        return self.curve(row)

    def regime_statistics(self, row: int) -> tuple:
        """Return the values of STATISTICS for a regime."""
        values = self.episode_curve(row)
        if not np.isfinite(values).any():
            return (np.nan,) * len(STATISTICS)
        share = curves.TERMINAL_SHARE
        if self.regimes["block_type"].iat[row] == TEST:
            share = 1.0
        return (
            curves.finite_mean(self.curve(row)),
            *self.saturation(values),
            curves.terminal_performance(values, share),
            int((1 - share / 2) * len(values)),
        )

    def normalise(
        self,
        values: np.ndarray,
        task: str,
        name: str | None = None,
    ) -> np.ndarray:
        """Return values of a task on 0 … 100; `name` is the name of an expert."""
        scale = self.scales[task]
        values = np.clip(values, *scale.limits)
        return values if self.settings.normalization == "none" else scale.points(values)

    def scale_for_ratios(
        self,
        values: np.ndarray,
        task: str,
        name: str | None = None,
    ) -> np.ndarray:
        """Return values of a task that can be divided by one another.

        Normalising would move the zero and change every ratio, so ratios use measured values, relative to zero if that
        is the natural minimum.
        """
        scale = self.scales[task]
        return np.clip(values, *scale.limits) - scale.zero

    # ------------------------------------------------------------ for metrics

    def curve(self, row: int, column: str = "normalized") -> np.ndarray:
        """Return a column of the log over one regime, by its row in `regimes`."""
        start = self.regimes["start"].iat[row]
        end = start + self.regimes["count"].iat[row]
        return self.log[column].to_numpy()[start:end]

    def training_curve(self, task: str, column: str = "normalized") -> np.ndarray:
        """Return a column of the log over all training blocks of a task, in order."""
        rows = self.training(task).index
        pieces = [self.curve(row, column) for row in rows]
        return np.concatenate([np.zeros(0), *pieces])

    def training(self, task: str | None = None) -> pd.DataFrame:
        """Return the rows of `regimes` that train awake, all or those of a task."""
        regimes = self.regimes
        is_awake = regimes["block_subtype"] == "wake"
        selected = regimes[(regimes["block_type"] == TRAIN) & is_awake]
        return selected if task is None else selected[selected["task"] == task]

    def tests(self) -> pd.DataFrame:
        """Return the used rows of `regimes` that are tests. Raises Missing if there are none."""
        regimes = self.regimes
        tests = regimes[(regimes["block_type"] == TEST) & regimes["used"]]
        if tests.empty:
            raise Missing("the log has no test block")
        return tests

    def variant_rows(self, variant: str, kind: str) -> np.ndarray:
        """Return the numbers of the used rows of `regimes` that train or test a variant, int array."""
        return self._rows.get((variant, kind, True), np.zeros(0, int))

    @cached_property
    def _rows(self):
        return self.regimes.groupby(["variant", "block_type", "used"]).indices

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
            for_ratios: Return values for divisions, averaged over time according to the settings.
        """
        scale = self.scale_for_ratios if for_ratios else self.normalise
        runs = self.expert_runs.get(task, [])
        pairs = [(scale(run.curve, task, run.name), run.episodes) for run in runs]
        if not (pairs and for_ratios and self.settings.expert_averaging == "time"):
            return pairs
        shortest = min(len(curve) for curve, _ in pairs)
        table = pd.DataFrame([curve[:shortest] for curve, _ in pairs])
        return [(table.mean().to_numpy(), None)]

    def mean_by_task(self, column: str, regimes: pd.DataFrame) -> pd.Series:
        """Return the mean of a column of some rows of `regimes` for each task; NaN for tasks without a value."""
        means = regimes.groupby("task", sort=False)[column].mean()
        return means.reindex(self.tasks).astype(float)

    def add_gap(self, reason: str) -> None:
        """Store the reason, in plain words, why a metric has no value for a task."""
        self.gaps.append(reason)

    @cached_property
    def recovery_times(self) -> pd.Series:
        """Time of each repeated training block until the level at the end of the task's previous block.

        A Series by rows of `regimes`; inf if that level wasn't reached within the block.
        """
        times = {}
        for task in self.tasks:
            rows = self.training(task).index
            for previous, row in zip(rows, rows[1:]):
                level = self.regimes.at[previous, "terminal"]
                has_values = np.isfinite(self.curve(row)).any()
                if has_values and not np.isnan(level):
                    times[row] = self.recovery_time(row, level)
        return pd.Series(times, dtype=float)

    @cached_property
    def expert_table(self) -> pd.DataFrame:
        """Comparison of each task with each of its experts, one row per task and run.

        The columns are EXPERT_COLUMNS, NaN if there is no value. Run -1 is an expert with only a saturation value.
        Saturation values are on the scale for divisions.
        """
        rows = []
        for task, runs in self.expert_runs.items():
            own = self.training_curve(task, "for_ratios")
            if not np.isfinite(own).any():
                continue
            has_curve = runs[0].name is not None
            episodes = self.training_curve(task, "episode") if has_curve else None
            saturation = self.saturation(own, episodes)
            for run, expert in enumerate(self.expert_curves(task, True)):
                row = {"task": task, "run": run if has_curve else -1}
                row |= self._compare(task, own, saturation, *expert)
                if not has_curve:
                    row |= dict.fromkeys(CURVE_COLUMNS, np.nan)
                rows.append(row)
        return pd.DataFrame(rows, columns=EXPERT_COLUMNS)

    def _compare(self, task, own, saturation, expert, episodes):
        """Return the comparison of a task's training with one expert, {column: value}."""
        expert_saturation = self.saturation(expert, episodes)
        value = saturation.value
        expert_value = expert_saturation.value
        time = self.episodes_to_saturation(saturation)
        expert_time = self.episodes_to_saturation(expert_saturation)
        relative = divide(value, expert_value)
        efficiency = np.nan
        if time and expert_time and not np.isnan(relative):
            is_poor = value < MIN_SATURATION * expert_value
            efficiency = relative * expert_time / time
            if is_poor or self.is_falling(task, own, expert_value):
                efficiency = 0.0
        n_common = min(len(own), len(expert))
        means = [curves.finite_mean(curve) for curve in (own, expert)]
        start_means = [curves.finite_mean(curve[:n_common]) for curve in (own, expert)]
        return {
            "saturation": value,
            "time": saturation.time,
            "expert_saturation": expert_value,
            "expert_time": expert_saturation.time,
            "relative_saturation": relative,
            "relative_time": divide(time, expert_time),
            "relative_integral": divide(*means),
            "relative_performance": divide(*start_means),
            "sample_efficiency": efficiency,
        }


def divide(dividend: float, divisor: float) -> float:
    """Return dividend / divisor; NaN if the divisor is 0 or not finite."""
    return dividend / divisor if divisor and np.isfinite(divisor) else np.nan


# ---------------------------------------------------------------- experts


def read_experts(experts: Any, life: Lifetime) -> dict[str, list[ExpertRun]]:
    """Return {task: list of ExpertRun} for the tasks of a lifetime that have an expert.

    Args:
        experts: A store such as `pushlab.Experts`, or {task: runs}. Runs are a list of lifetime logs or of arrays, one
            of them alone, or a number, the saturation value, if only that is known. None: no experts.
        life: The lifetime.
    """
    names, entry_of = _expert_source(experts)
    expert_runs = {}
    for task in life.tasks:
        runs = []
        values = []
        for name in life.expert_names(task, names):
            entry = entry_of(name)
            if not isinstance(entry, Real):
                runs += [_read_run(run, name, life) for run in _as_runs(entry)]
            elif np.isfinite(float(entry)):
                values.append(float(entry))
        if values and not runs:
            runs = [ExpertRun(np.array([np.mean(values)]))]
        if runs:
            expert_runs[task] = runs
    return expert_runs


def _expert_source(experts):
    """Return the names of all experts, and a function that returns the runs or the saturation value of a name."""
    if hasattr(experts, "logs"):
        return (
            experts.tasks,
            lambda name: experts.logs(name) or experts.saturation(name),
        )
    if experts is None or isinstance(experts, dict):
        entries = {str(task): entry for task, entry in (experts or {}).items()}
        return list(entries), entries.get
    raise TypeError(
        f"experts must be a store, pushlab.Experts(folder), or a dict of task and runs; got {experts!r:.60}"
    )


def _as_runs(entry):
    """Return a list of runs from a list of runs or a single run."""
    if isinstance(entry, pd.DataFrame):
        return [entry]
    entry = list(entry)
    is_single = bool(entry) and all(isinstance(value, Real) for value in entry)
    return [entry] if is_single else entry


def _read_run(run, name, life):
    """Return the training of an expert, smoothed regime by regime."""
    rows = _expert_log(run, name, life)
    if "block" not in rows:
        rows = rows.assign(block=0)
    if np.isinf(rows["raw"]).any() or rows["raw"].isna().all():
        raise ValueError(
            f"expert of {name}: values must be finite or missing, and at least one finite"
        )
    rows, columns = life.expert_rows(rows)
    numbers = log.regime_numbers(rows, [name for name in columns if name in rows])
    starts = log.regime_starts(numbers)
    pieces = np.split(rows["raw"].to_numpy(), starts[1:])
    curve = np.concatenate([life.smooth(piece) for piece in pieces])
    episodes = rows["episode"].to_numpy() if "episode" in rows else None
    return ExpertRun(curve, name, episodes)


def _expert_log(run, name, life):
    """Return the training rows of an expert's log or array, with their measure as `raw`."""
    if not isinstance(run, pd.DataFrame):
        return pd.DataFrame({"raw": np.asarray(run, float)})
    measure = life.measure
    if measure not in run:
        measure = log.find_measure(run, file=f"expert of {name}")
    rows = run.assign(raw=log.measured_values(run, measure))
    if "block_type" in run:
        rows = rows[rows["block_type"] == TRAIN]
    return rows
