"""The rules of l2metrics 3.1.0 that differ from ours.

l2metrics shifts smoothed curves to the right, by half an experience or a whole one, and smooths a second time for the
saturation value. Its normalised values are in 1 … 101, and it divides them by one another. See `REASONS` for the rest.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.curves import (
    Saturation,
    Values,
    window_length,
    window_weights,
)
from pushlab.metrics.lifelong.lifetime import Lifetime
from pushlab.metrics.lifelong.log import regime_numbers

# {our name: the name in l2metrics} of the metrics that both have.
L2METRICS_NAMES = {
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
# {our name: the reason} if the values differ. Without an entry: TRANSFER_REASON.
REASONS = {
    "performance_recovery": "curves shifted by up to an episode",
    "mean_training_performance": "1 … 101 instead of 0 … 100",
    "mean_evaluation_performance": "1 … 101 instead of 0 … 100",
    "performance_maintenance_mrlep": "range of the shifted curves",
    "performance_maintenance_mrtlp": "curves shifted by up to an episode",
    "relative_performance": "divides values whose zero was moved",
    "sample_efficiency": "saturation by another window; its first episode is not counted",
}
TRANSFER_REASON = (
    "divides values whose zero was moved; later pairs overwrite earlier ones"
)


def l2metrics_smooth(
    values: Values,
    window: float | None = None,
    shape: str = "flat",
) -> np.ndarray:
    """Return the smoothed curve of l2metrics 3.1.0, shifted by half an experience (even window) or a whole one (odd).

    >>> l2metrics_smooth(np.array([0, 0, 0, 6, 0, 0, 0.]), window=3)
    array([0., 0., 0., 2., 2., 2., 0.])
    """
    values = np.asarray(values, float)
    length = window_length(len(values), window)
    if shape == "none" or length < 3:
        return values
    before = values[length - 1 : 0 : -1]
    after = values[-2 : -length - 1 : -1]
    weights = window_weights(shape, length)
    padded = np.concatenate([before, values, after])
    smoothed = np.convolve(weights / weights.sum(), padded, mode="valid")
    start = int(np.floor(length / 2 - 1))
    end = int(np.ceil(length / 2))
    return smoothed[start:-end]


def l2metrics_saturation(values: Values) -> Saturation:
    """Return the saturation of l2metrics 3.1.0: the maximum of the curve, smoothed (again) with a flat window.

    >>> l2metrics_saturation([0, 1, 5, 6, 1, 6, 5, 4])         # too short to be smoothed
    Saturation(value=6.0, time=3.0)
    """
    smoothed = l2metrics_smooth(values)
    smoothed = smoothed[~np.isnan(smoothed)]
    if not len(smoothed):
        return Saturation(np.nan, np.nan)
    return Saturation(float(smoothed.max()), float(smoothed.argmax()))


class L2MetricsLifetime(Lifetime):
    """A lifetime as l2metrics 3.1.0 reads and prepares it, with its errors.

    It reads rows that are complete and have a number, sorted by experience, and does not merge rows of one experience.
    Task names are in lower case. Parameters do not make variants.
    """

    def add_regimes(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Return the rows with their regime, in which parameters can change."""
        rows = rows[rows["raw"].notna()].sort_values(
            ["episode", "block"],
            kind="stable",
            ignore_index=True,
        )
        tasks = [self._task_name(str(task)) for task in rows["task"]]
        rows = rows.assign(task=tasks)
        columns = ["block", "block_type", "block_subtype", "task"]
        return rows.assign(regime=regime_numbers(rows, columns))

    def _task_name(self, task):
        name = task.lower()
        return name if self.is_variant_aware else name.split("_")[0]

    def variant_names(self, regimes: pd.DataFrame) -> pd.Series:
        """Return the tasks, since there are no variants."""
        return regimes["task"]

    def is_variant(self, task: str, name: str) -> bool:
        """Return whether a name contains the task's, such as task10 for task1."""
        return task in name

    def expert_names(self, task: str, names: list[str]) -> list[str]:
        """Return the task's name or, if there is none, all names `task*`, so that task1 also has task10."""
        lower = {name: name.lower() for name in names}
        if task in lower.values():
            return [name for name in names if lower[name] == task]
        prefixes = {name.split("_")[0] for name in lower.values()}
        if task in prefixes:
            return sorted(name for name in names if lower[name].startswith(task))
        return []

    def expert_rows(self, rows: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the rows with a number, which only blocks divide."""
        return rows[rows["raw"].notna()], ("block",)

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """Return a curve smoothed by `l2metrics_smooth`."""
        return l2metrics_smooth(values, self.settings.window, self.settings.smoothing)

    def saturation(
        self,
        values: np.ndarray,
        episodes: np.ndarray | None = None,
    ) -> Saturation:
        """Return the `l2metrics_saturation` of a curve with one value per experience."""
        return l2metrics_saturation(_episode_means(values, episodes))

    def episodes_to_saturation(self, saturation: Saturation) -> float:
        """Return the number of episodes before saturation, without the one in which it begins."""
        return saturation.time

    def is_falling(
        self,
        task: str,
        own: np.ndarray,
        expert_value: float,
    ) -> bool:
        """Return whether the fitted line falls at all, so that noise about a constant level can count."""
        if len(own) < 2:
            return False
        episodes = self.training_curve(task, "episode")
        slope, _ = np.polyfit(episodes, own, 1)
        return slope < 0

    def recovery_time(self, row: int, level: float) -> float:
        """Return the number of experiences until a level, without a tolerance; the block's number plus 1 if never."""
        reached = np.flatnonzero(self.episode_curve(row) >= level)
        if len(reached):
            return float(reached[0])
        return float(self.regimes.at[row, "count"] + 1)

    def aggregate_recovery(self, task: str, times: pd.Series) -> float:
        """Return the mean, which includes levels that were never reached."""
        return times.mean()

    def transfer_pairs(self, pairs: Iterable[tuple]) -> Iterable[tuple]:
        """Return the last pair for each later test: of several tasks learned before it, only the last one counts.

        A task's own training between the tests counts as transfer of the other task.
        """
        return {pair[-1]: pair for pair in pairs}.values()

    def transfer_level(self, row: int) -> float:
        """Return the terminal level of a test in normalised values, one per experience."""
        return self.regimes["terminal"].iat[row]

    def episode_curve(self, row: int) -> np.ndarray:
        """Return the curve of a regime with the mean of each experience."""
        return _episode_means(self.curve(row), self.curve(row, "episode"))

    def regime_statistics(self, row: int) -> tuple:
        """Return the statistics of a regime, without a mean for unused tests."""
        mean, *others = super().regime_statistics(row)
        is_used = self.regimes["used"].iat[row]
        return (mean if is_used else np.nan, *others)

    def normalise(
        self,
        values: np.ndarray,
        task: str,
        name: str | None = None,
    ) -> np.ndarray:
        """Return values on 1 … 101, NaN for a run without any spread; an expert can have another task's scale."""
        own_scale = self.scales[task]
        scale = self.scales.get(self._task_name(name or task), own_scale)
        values = np.clip(values, *scale.limits)
        if self.settings.normalization == "none":
            return values
        spread = scale.high - scale.low
        if spread > 0:
            return (values - scale.low) / spread * 100.0 + 1.0
        constant = 1.0 if self.settings.normalization == "task" else np.nan
        return values * 0 + constant

    scale_for_ratios = normalise  # l2metrics divides normalised values


def _episode_means(values, episodes):
    """Return one value per experience: the mean of its values."""
    if episodes is None or (np.diff(episodes) > 0).all():
        return values
    return pd.Series(values).groupby(episodes).mean().to_numpy()
