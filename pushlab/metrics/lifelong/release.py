"""What l2metrics 3.1.0 computes otherwise, all of it here; and our definitions beside those of the release.

It shifts smoothed curves by half an experience or a whole one to the right of where they belong and, asked for a
saturation value, smooths what has been smoothed already. Its normalised values lie in 1 … 101, and it divides them by
one another. See `REASONS` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from pushlab.ground.arguments import one_of
from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.lifelong.curves import (
    POINTS,
    Saturation,
    Values,
    first_reached,
    terminal_performance,
    window_length,
)
from pushlab.metrics.lifelong.learning import recovery_times
from pushlab.metrics.lifelong.lifetime import Lifetime
from pushlab.metrics.lifelong.registry import METRICS
from pushlab.metrics.lifelong.report import lifelong_report
from pushlab.metrics.lifelong.rows import ABOUT, NO_NUMBERS, regime_numbers
from pushlab.metrics.lifelong.transfer import changes, contrast, pairs_of_tests, ratio
from pushlab.metrics.settings import RELEASE, Settings

# What l2metrics 3.1.0 calls the metrics that it has.
RELEASE_NAMES = {
    "performance_recovery": "perf_recovery",
    "mean_training_performance": "avg_train_perf",
    "mean_evaluation_performance": "avg_eval_perf",
    "performance_maintenance_mrlep": "perf_maintenance_mrlep",
    "performance_maintenance_mrtlp": "perf_maintenance_mrtlp",
    "forward_transfer_ratio": "forward_transfer_ratio",
    "forward_transfer_contrast": "forward_transfer_contrast",
    "backward_transfer_ratio": "backward_transfer_ratio",
    "backward_transfer_contrast": "backward_transfer_contrast",
    "relative_performance": "ste_rel_perf",
    "sample_efficiency": "sample_efficiency",
}
SAME = 1e-9  # differences up to here are rounding
OFFSET = 1.0  # is added to what is normalised
# Why the two differ, where they do: what the release does.
TRANSFER = "divides values whose zero was moved; later pairs overwrite earlier ones"
REASONS = {
    "performance_recovery": "curves shifted by up to an episode",
    "mean_training_performance": "1 … 101 instead of 0 … 100",
    "mean_evaluation_performance": "1 … 101 instead of 0 … 100",
    "performance_maintenance_mrlep": "range of the shifted curves",
    "performance_maintenance_mrtlp": "curves shifted by up to an episode",
    "relative_performance": "divides values whose zero was moved",
    "sample_efficiency": "saturation by another window; its first episode is not counted",
}


def release_smooth(
    values: Values, window: float | None = None, shape: str = "flat"
) -> np.ndarray:
    """The smoothed curve of l2metrics 3.1.0: half an experience (even window) or a whole one (odd) off to one side.

    >>> release_smooth(np.array([0, 0, 0, 6, 0, 0, 0.]), window=3)
    array([0., 0., 0., 2., 2., 2., 0.])
    """
    values = np.asarray(values, float)
    length = window_length(len(values), window)
    if shape == "none" or length < 3:
        return values
    padded = np.concatenate(
        [values[length - 1 : 0 : -1], values, values[-2 : -length - 1 : -1]]
    )
    weights = np.ones(length) if shape == "flat" else getattr(np, shape)(length)
    smoothed = np.convolve(weights / weights.sum(), padded, mode="valid")
    return smoothed[int(np.floor(length / 2 - 1)) : -int(np.ceil(length / 2))]


def release_saturation(values: Values) -> Saturation:
    """Saturation of l2metrics 3.1.0: the maximum of the curve, smoothed (again) with a flat window.

    >>> release_saturation([0, 1, 5, 6, 1, 6, 5, 4])           # too short to be smoothed
    Saturation(value=6.0, time=3.0)
    """
    smoothed = release_smooth(values)
    smoothed = smoothed[~np.isnan(smoothed)]
    if not len(smoothed):
        return Saturation(np.nan, np.nan)
    return Saturation(float(smoothed.max()), float(smoothed.argmax()))


def release_recovery(life: Lifetime) -> pd.Series:
    """`recovery_time` of l2metrics 3.1.0: the mean of a task's returns, those that were never back among them."""
    times = recovery_times(life)
    by_task = times.groupby(life.regimes.loc[times.index, "task"])
    return pd.Series({task: own.mean() for task, own in by_task}, dtype=float).reindex(
        life.tasks
    )


def release_transfer(life: Lifetime, forward: bool, change: Callable) -> pd.DataFrame:
    """`transfer` of l2metrics 3.1.0: it files a value under the later test alone, so that of several tasks learned
    before it the last one stays, and takes a task's own training between the tests for transfer of the other."""
    last = {
        after: (learned, tested, before, after)
        for learned, tested, before, after in pairs_of_tests(life, forward)
    }
    return changes(
        life, last.values(), life.regimes["terminal"].to_numpy(float), forward, change
    )


class ReleasedLifetime(Lifetime, reference=RELEASE):
    """A lifetime as l2metrics 3.1.0 reads and prepares it, faults included.

    Rows are those that are complete and have a number, by experience, and several of one experience stay; names are in
    small letters. Parameters make no variants.
    """

    instead: ClassVar[Mapping[str, Callable]] = {
        "recovery_time": release_recovery,
        **{
            f"{way}_transfer_{change.__name__}": partial(
                release_transfer, forward=way == "forward", change=change
            )
            for way in ("forward", "backward")
            for change in (ratio, contrast)
        },
    }

    def in_regimes(self, log: pd.DataFrame) -> pd.DataFrame:
        rows = log[log["raw"].notna()].sort_values(
            ["episode", "block"], kind="stable", ignore_index=True
        )
        if not len(rows):
            raise BadData([Fault("log", None, None, None, NO_NUMBERS)])
        agnostic = self.settings.variant_mode == "agnostic"
        codes, names = pd.factorize(rows["task"])
        names = [
            str(name).lower().split("_")[0] if agnostic else str(name).lower()
            for name in names
        ]
        rows["task"] = np.array(names, object)[codes]
        return rows.assign(
            regime=regime_numbers(rows, [*ABOUT[:4]])
        )  # parameters may change within one

    def smooth(self, values: np.ndarray) -> np.ndarray:
        return release_smooth(values, self.settings.window, self.settings.smoothing)

    def saturation(
        self, values: np.ndarray, episodes: np.ndarray | None = None
    ) -> Saturation:
        return release_saturation(_one_each(values, episodes))

    def episodes_until(self, found: Saturation) -> float:
        """The first one is not counted."""
        return found.time

    def falls(self, task: str, own: np.ndarray, known: float) -> bool:
        """Every falling line counts, so that noise about a steady level may be one."""
        return (
            len(own) > 1 and np.polyfit(self.learning(task, "episode"), own, 1)[0] < 0
        )

    def recovery_time(self, row: int, level: float) -> float:
        """Where it did not, one more than the block has experiences."""
        time = first_reached(self._by_episode(row), level, exactly=True)
        return float(self.regimes.at[row, "count"] + 1) if np.isnan(time) else time

    def describe(self, row: int) -> tuple:
        """Several values of one experience are averaged first, but not for the mean; tests not used have none."""
        values, (mean, *_) = self._by_episode(row), super().describe(row)
        found, share = self.saturation(values), self._share(row)
        if np.isnan(mean):
            return np.nan, *found, np.nan, np.nan
        return (
            mean if self.regimes["used"].iat[row] else np.nan,
            *found,
            terminal_performance(values, share),
            int((1 - share / 2) * len(values)),
        )

    def _by_episode(self, row):
        return _one_each(self.curve(row), self.curve(row, "episode"))

    def name_variants(self) -> pd.Series:
        return self.regimes["task"].astype(object)

    def is_variant(self, task: str, name: str) -> bool:
        """Every name that contains the task's, task10 for task1."""
        return task in name

    def names_of_experts(self, task: str, names: list[str]) -> list[str]:
        """Where there is no `task` it looks for `task*`, so that task1 takes task10 too."""
        if task in [name.lower() for name in names]:
            return [name for name in names if name.lower() == task]
        if task in {name.lower().split("_")[0] for name in names}:
            return sorted(name for name in names if name.lower().startswith(task))
        return []

    def rows_of_expert(self, log: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        return log[log["measured"].notna()], ("block",)

    def normalise(
        self, values: np.ndarray, task: str, name: str | None = None
    ) -> np.ndarray:
        """1 is added, a run without any spread becomes NaN, and an expert may be read on the scale of another task."""
        own = (name or task).lower()
        own = (
            own.split("_", 1)[0] or own
            if self.settings.variant_mode == "agnostic"
            else own
        )
        scale = self.scales.get(own, self.scales[task])
        values = np.clip(values, *scale.limits)
        if self.settings.normalization == "none":
            return values
        if scale.high > scale.low:
            return (values - scale.low) / (scale.high - scale.low) * POINTS + OFFSET
        return values * 0 + (
            OFFSET if self.settings.normalization == "task" else np.nan
        )

    scale_for_ratios = normalise  # it divides the normalised ones


def _one_each(values, episodes):
    """One value an experience: the mean of several."""
    if episodes is None or (np.diff(episodes) > 0).all():
        return values
    return pd.Series(values).groupby(episodes).mean().to_numpy()


# ---------------------------------------------------------------- side by side


def compare_references(
    log: pd.DataFrame,
    experts: Any = None,
    measure: str | None = None,
    settings: Settings | None = None,
    by: str = "lifetime",
) -> pd.DataFrame:
    """The metrics of l2metrics 3.1.0 as we define them and as the release does, a DataFrame indexed by metric.

    log, experts, measure, settings   see `lifelong_report`; the reference of the settings is set aside
    by       "lifetime", or "task" for an index (metric, task)
    returns  corrected, l2metrics-3.1, difference (corrected - release), name (the release's), why they differ

    >>> from pushlab.metrics.lifelong import log_of
    >>> table = compare_references(log_of(("test", {"a": [1], "b": [1]}), ("train", "a", [2, 9]), ("test", {"b": [3]})))
    >>> table.loc["forward_transfer_ratio", ["corrected", "l2metrics-3.1"]].tolist()       # 3/1, and 101/1
    [3.0, 101.0]
    """
    one_of("by", by, ("lifetime", "task"))
    settings = replace(settings or Settings(), reference=None)
    window = (
        settings.window if settings.window is None or settings.window >= 1 else None
    )
    names = [
        name
        for name in RELEASE_NAMES
        if name in METRICS and METRICS[name].suits(None, settings)
    ]
    ours, theirs = (
        _values(lifelong_report(log, experts, measure, None, names, chosen), by)
        for chosen in (settings, replace(settings, reference=RELEASE, window=window))
    )
    table = pd.DataFrame({"corrected": ours, RELEASE: theirs})
    level = table.index if by == "lifetime" else table.index.get_level_values("metric")
    difference = table["corrected"] - table[RELEASE]
    differs = (difference.abs() > SAME) | (
        table["corrected"].isna() != table[RELEASE].isna()
    )
    table = table.assign(
        difference=difference,
        name=level.map(RELEASE_NAMES),
        why=np.where(differs, [REASONS.get(name, TRANSFER) for name in level], ""),
    )
    return table.iloc[np.argsort([names.index(name) for name in level], kind="stable")]


def _values(report, by):
    """Values by metric, or by metric and task; those of pairs belong to the task that was learned."""
    if by == "lifetime":
        return report.lifetime.rename_axis("metric")
    first = report.pairs.drop_duplicates(["metric", "learned", "tested"])
    parts = [
        report.tasks.rename_axis("metric", axis=1).T.stack(),
        first.groupby(["metric", "learned"], sort=False)["value"]
        .mean()
        .rename_axis(["metric", "task"]),
    ]
    return pd.concat([part.astype(float) for part in parts if len(part)] or parts[1:])
