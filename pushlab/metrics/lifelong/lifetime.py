"""A lifetime as metrics see it: prepared curves, regimes with what was measured in each, and experts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.lifelong import curves, rows
from pushlab.metrics.lifelong.experts import (
    POOR,
    expert_table,
    line_falls,
    read_experts,
)
from pushlab.metrics.lifelong.rows import TEST, TRAIN
from pushlab.metrics.settings import Settings

MOST_TASKS = 1000  # they are compared in pairs
DESCRIBED = ["mean", "saturation", "time_to_saturation", "terminal", "time_to_terminal"]


class Missing(ValueError):
    """A metric has not what it needs: raise it in a metric with the reason, in plain words."""


class Lifetime:
    """One lifetime, ready for metrics.

    log         DataFrame, a row an experience in the order lived, with columns
                  raw         as measured
                  smoothed    training smoothed; tests as they are, unless settings.smooth_tests
                  normalized  smoothed, clamped, and brought to 0 … 100: what metrics are read from
                  for_ratios  smoothed and clamped, in the measure's unit, counted from its natural floor: what may be
                              divided by one another
    regimes     DataFrame, a row a regime (a stretch of one block, task and parameters): regime, block, block_type,
                block_subtype, task, variant, params, start, count, mean, saturation, time_to_saturation, terminal,
                time_to_terminal, used (tests while awake are not, where there are tests asleep)
    tasks       list of names, those learned first, in the order learned
    settings    Settings
    measure     name of the column that was measured
    runs        {task: list of ExpertRun}, prepared as the log; `expert_saturations` {task: value} where that is all
                there is

    A task learned under several parameters is one task in several variants, `variant` names them: what was kept or
    carried over is asked of variants, what was learned of tasks.

    These are our rules. A reference has a class of its own in `references`, such as the release's in
    `pushlab.metrics.lifelong.release`, which reports take where the settings ask for it.
    """

    references: ClassVar[dict[str, type[Lifetime]]] = {}
    instead: ClassVar[
        Mapping[str, Callable]
    ] = {}  # {metric: function} that a reference computes otherwise

    def __init_subclass__(cls, reference: str) -> None:
        Lifetime.references[reference] = cls

    def __init__(
        self,
        log: pd.DataFrame,
        experts: Any = None,
        measure: str | None = None,
        settings: Settings | None = None,
    ) -> None:
        self.settings = settings or Settings()
        read, self.measure = rows.read_rows(log, measure)
        self.log = self.in_regimes(read)
        self._starts = rows.run_starts(self.log["regime"].to_numpy())
        self._ends = np.append(self._starts[1:], len(self.log))
        self.regimes = self.log.iloc[self._starts][["regime", *rows.ABOUT]].reset_index(
            drop=True
        )
        self.regimes["task"] = self.regimes["task"].astype(str)
        self.regimes["start"], self.regimes["count"] = (
            self._starts,
            self._ends - self._starts,
        )
        # Names of the tasks, those trained first, in the order of their blocks; then those only tested.
        by_kind = self.regimes.sort_values(
            ["block_type", "block"], ascending=[False, True], kind="stable"
        )
        self.tasks = list(dict.fromkeys(by_kind["task"]))
        if len(self.tasks) > MOST_TASKS:
            right = f"a lifetime of at most {MOST_TASKS:,} tasks; there are {len(self.tasks):,}"
            raise BadData([Fault("log", None, "task", None, right)])
        self.runs, self.expert_saturations = read_experts(experts, self)
        self._prepare()
        self._columns: dict[str, np.ndarray] = {}
        self.regimes["variant"] = self.name_variants()
        asleep = (self.regimes["block_subtype"] == "sleep").any()
        self.regimes["used"] = ~(
            asleep
            & (self.regimes["block_type"] == TEST)
            & (self.regimes["block_subtype"] == "wake")
        )
        told = [self.describe(row) for row in range(len(self.regimes))]
        self.regimes[DESCRIBED] = np.array(told, float).reshape(-1, len(DESCRIBED))
        self.gaps: list[str] = []

    # ------------------------------------------------------------ our rules, which a reference may replace

    def in_regimes(self, log: pd.DataFrame) -> pd.DataFrame:
        """The rows of a log with the number of their regime."""
        return rows.in_regimes(log, self.measure, self.settings)

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """A curve smoothed by the rule of the settings."""
        return curves.smooth(values, self.settings.window, self.settings.smoothing)

    def saturation(
        self, values: np.ndarray, episodes: np.ndarray | None = None
    ) -> curves.Saturation:
        """Saturation of a curve, by the rule of the settings; `episodes` numbers its experiences."""
        return curves.saturation(values, self.settings.saturation_share)

    def episodes_until(self, found: curves.Saturation) -> float:
        """How many episodes saturation takes. The one in which it begins counts, so that at once is 1."""
        return found.time + 1

    def falls(self, task: str, own: np.ndarray, known: float) -> bool:
        """Whether the line fitted to all training of a task falls: by more than a share of its expert's value."""
        return line_falls(own, POOR * abs(known))

    def recovery_time(self, row: int, level: float) -> float:
        """How long a block of training took to reach a level; inf where it did not, and nobody knows when it would."""
        time = curves.first_reached(self.curve(row), level)
        return np.inf if np.isnan(time) else time

    def describe(self, row: int) -> tuple:
        """The values of DESCRIBED of a regime."""
        values, share = self.curve(row), self._share(row)
        if not np.isfinite(values).any():
            return np.nan, *self.saturation(values), np.nan, np.nan
        return (
            curves.known_mean(values),
            *self.saturation(values),
            curves.terminal_performance(values, share),
            int((1 - share / 2) * len(values)),
        )

    def name_variants(self) -> pd.Series:
        """The variant of each regime."""
        agnostic = self.settings.variant_mode == "agnostic"
        return (
            self.regimes["task"].astype(object)
            if agnostic
            else rows.name_variants(self.regimes)
        )

    def is_variant(self, task: str, name: str) -> bool:
        """Whether a name that the settings give a range for is a variant of a task."""
        return rows.base_name(name) == task

    def names_of_experts(self, task: str, names: list[str]) -> list[str]:
        """Which of some names experts of a task go by. Names are matched whole."""
        agnostic = self.settings.variant_mode == "agnostic"
        return [
            name
            for name in names
            if (rows.base_name(name) if agnostic else name) == task
        ]

    def rows_of_expert(self, log: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """An expert's rows, one an experience, and the columns by which they fall into regimes."""
        if "episode" in log:
            log = rows.mean_per_experience(
                log, "measured", [key for key in ("block", "episode") if key in log]
            )
        return log, ("regime", "block", "params")

    def normalise(
        self, values: np.ndarray, task: str, name: str | None = None
    ) -> np.ndarray:
        """Values of a task on 0 … 100; `name` is the one that its expert was found under."""
        scale = self.scales[task]
        values = np.clip(values, *scale.limits)
        return values if self.settings.normalization == "none" else scale.points(values)

    def scale_for_ratios(
        self, values: np.ndarray, task: str, name: str | None = None
    ) -> np.ndarray:
        """Values of a task that may be divided by one another.

        Normalising moves the zero, and with it every ratio; so ratios are taken of what was measured, if zero is its
        natural floor.
        """
        return np.clip(values, *self.scales[task].limits) - self.scales[task].zero

    # ------------------------------------------------------------ preparing

    def _prepare(self):
        """Smooths, clamps and normalises log and experts; the columns of the log and `runs`, `scales` follow."""
        smoothed = self.log["raw"].to_numpy().copy()
        for start, end, kind in zip(
            self._starts, self._ends, self.regimes["block_type"]
        ):
            if kind == TRAIN or self.settings.smooth_tests:
                smoothed[start:end] = self.smooth(smoothed[start:end])
        self.runs = {
            task: [
                run._replace(pieces=[self.smooth(piece) for piece in run.pieces])
                for run in runs
            ]
            for task, runs in self.runs.items()
        }
        values = {task: [] for task in self.tasks}
        spans = list(zip(self._starts, self._ends, self.regimes["task"]))
        for start, end, task in spans:
            values[task].append(smoothed[start:end])
        for task, runs in self.runs.items():
            values[task] += [run.curve() for run in runs]
        for task, value in self.expert_saturations.items():
            values[task].append(np.array([value]))
        self.scales = curves.find_scales(values, self.settings, self.is_variant)
        normalized, for_ratios = np.empty(len(smoothed)), np.empty(len(smoothed))
        for start, end, task in spans:
            normalized[start:end] = self.normalise(smoothed[start:end], task)
            for_ratios[start:end] = self.scale_for_ratios(smoothed[start:end], task)
        self.log = self.log.assign(
            smoothed=smoothed, normalized=normalized, for_ratios=for_ratios
        )

    def _share(self, row):
        """Of how much of a regime its terminal performance is the mean: of a test, of all of it."""
        return 1.0 if self.regimes["block_type"].iat[row] == TEST else curves.TERMINAL

    # ------------------------------------------------------------ for metrics

    def curve(self, row: int, column: str = "normalized") -> np.ndarray:
        """A column of the log over one regime, by its row in `regimes`, an array."""
        if column not in self._columns:
            self._columns[column] = self.log[column].to_numpy()
        return self._columns[column][self._starts[row] : self._ends[row]]

    def learning(self, task: str, column: str = "normalized") -> np.ndarray:
        """All that was learned of a task, one block after the other, an array."""
        return np.concatenate(
            [
                np.zeros(0),
                *(self.curve(row, column) for row in self.training(task).index),
            ]
        )

    def training(self, task: str | None = None) -> pd.DataFrame:
        """Rows of `regimes` that train (a task), awake."""
        chosen = (self.regimes["block_type"] == TRAIN) & (
            self.regimes["block_subtype"] == "wake"
        )
        return self.regimes[
            chosen if task is None else chosen & (self.regimes["task"] == task)
        ]

    def of_variant(self, variant: str, kind: str) -> np.ndarray:
        """Row numbers, an array, of the regimes of one variant that train or test it."""
        chosen = (
            (self.regimes["variant"] == variant)
            & (self.regimes["block_type"] == kind)
            & self.regimes["used"]
        )
        return np.flatnonzero(chosen)

    @cached_property
    def variants(self) -> list[str]:
        """Names of the variants, in the order met."""
        return list(dict.fromkeys(self.regimes.loc[self.regimes["used"], "variant"]))

    def expert_curves(
        self, task: str, for_ratios: bool = False
    ) -> list[tuple[np.ndarray, np.ndarray | None]]:
        """Curves of a task's experts, prepared as the log: a list of (array, numbers of its experiences or None).

        for_ratios  on the scale on which values may be divided, and averaged over time if the settings say so
        """
        scaled = self.scale_for_ratios if for_ratios else self.normalise
        found = [
            (scaled(run.curve(), task, run.name), run.episodes)
            for run in self.runs.get(task, [])
        ]
        if found and for_ratios and self.settings.expert_averaging == "time":
            return [(curves.mean_curve([curve for curve, _ in found]), None)]
        return found

    def mean_by_task(self, column: str, regimes: pd.DataFrame) -> pd.Series:
        """The mean of a column of some rows of `regimes` for each task, a Series; NaN for tasks without a value."""
        means = regimes.groupby("task", sort=False)[column].mean()
        return means.reindex(self.tasks).astype(float)

    @cached_property
    def expert_saturations_for_ratios(self) -> dict[str, float]:
        """{task: its experts' saturation value, their mean} on the scale on which values may be divided."""
        found = {
            task: float(self.scale_for_ratios(np.array([value]), task)[0])
            for task, value in self.expert_saturations.items()
        }
        for task in self.runs:
            found[task] = float(
                np.mean(
                    [
                        self.saturation(*known).value
                        for known in self.expert_curves(task, True)
                    ]
                )
            )
        return found

    def tests_before_learning(self, task: str) -> np.ndarray:
        """Row numbers of the tests of a task that come after the training of others and before its own."""
        trained = (self.regimes["block_type"] == TRAIN).to_numpy()
        of_task, number = (
            (self.regimes["task"] == task).to_numpy(),
            np.arange(len(self.regimes)),
        )
        others, own = number[trained & ~of_task], number[trained & of_task]
        if not len(others):
            return others
        tested = of_task & ~trained & self.regimes["used"].to_numpy()
        return number[
            tested
            & (number > others[0])
            & (number < (own[0] if len(own) else len(number)))
        ]

    def gap(self, reason: str) -> None:
        """To be called by a metric that has no value for some task: why, in plain words."""
        self.gaps.append(reason)

    @cached_property
    def expert_table(self) -> pd.DataFrame:
        """Each task against each of its experts, see `pushlab.metrics.lifelong.experts.expert_table`."""
        return expert_table(self)

    @cached_property
    def recovery_times(self) -> pd.Series:
        """For each training block of a task learned before, how long it took to be as good as at the end of the last.

        returns  Series of `regimes`' rows; where it was not reached within the block inf: at least `count`
        """
        times = {}
        for task in self.tasks:
            trained = self.training(task).index
            for before, row in zip(trained, trained[1:]):
                level = self.regimes.at[before, "terminal"]
                if not np.isnan(level) and np.isfinite(self.curve(row)).any():
                    times[row] = self.recovery_time(row, level)
        return pd.Series(times, dtype=float)
