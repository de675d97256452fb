"""The rules of l2metrics 3.1.0 where they differ from ours.

It shifts smoothed curves by half an experience or a whole one to the right of where they belong and, for a saturation
value, smooths what has been smoothed already. Its normalised values are in 1 … 101, and it divides them by one another.
See `REASONS` for the rest.
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

# {our name: the release's} of the metrics that both have.
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
# {our name: what the release does} if the two differ. Without an entry: TRANSFER.
REASONS = {
    "performance_recovery": "curves shifted by up to an episode",
    "mean_training_performance": "1 … 101 instead of 0 … 100",
    "mean_evaluation_performance": "1 … 101 instead of 0 … 100",
    "performance_maintenance_mrlep": "range of the shifted curves",
    "performance_maintenance_mrtlp": "curves shifted by up to an episode",
    "relative_performance": "divides values whose zero was moved",
    "sample_efficiency": "saturation by another window; its first episode is not counted",
}
TRANSFER = "divides values whose zero was moved; later pairs overwrite earlier ones"


def release_smooth(
    values: Values, window: float | None = None, shape: str = "flat"
) -> np.ndarray:
    """Return the smoothed curve of l2metrics 3.1.0: off by half an experience (even window) or a whole one (odd).

    >>> release_smooth(np.array([0, 0, 0, 6, 0, 0, 0.]), window=3)
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
    return smoothed[int(np.floor(length / 2 - 1)) : -int(np.ceil(length / 2))]


def release_saturation(values: Values) -> Saturation:
    """Return the saturation of l2metrics 3.1.0: the maximum of the curve, smoothed (again) with a flat window.

    >>> release_saturation([0, 1, 5, 6, 1, 6, 5, 4])           # too short to be smoothed
    Saturation(value=6.0, time=3.0)
    """
    smoothed = release_smooth(values)
    smoothed = smoothed[~np.isnan(smoothed)]
    if not len(smoothed):
        return Saturation(np.nan, np.nan)
    return Saturation(float(smoothed.max()), float(smoothed.argmax()))


class ReleaseLifetime(Lifetime):
    """A lifetime as l2metrics 3.1.0 reads and prepares it, faults included.

    It reads rows that are complete and have a number, by experience; several of one experience stay. Names are in small
    letters. Parameters make no variants.
    """

    def in_regimes(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Parameters can change within a regime."""
        rows = rows[rows["raw"].notna()].sort_values(
            ["episode", "block"], kind="stable", ignore_index=True
        )
        tasks = rows["task"].map(lambda task: self._name(str(task)))
        rows = rows.assign(task=tasks)
        columns = ["block", "block_type", "block_subtype", "task"]
        return rows.assign(regime=regime_numbers(rows, columns))

    def _name(self, task):
        return task.lower() if self.is_aware else task.lower().split("_")[0]

    def name_variants(self, regimes: pd.DataFrame) -> pd.Series:
        """There are none."""
        return regimes["task"]

    def is_variant(self, task: str, name: str) -> bool:
        """Every name that contains the task's, task10 for task1."""
        return task in name

    def names_of_experts(self, task: str, names: list[str]) -> list[str]:
        """Without a `task` it looks for `task*`, so that task1 takes task10 too."""
        lower = {name: name.lower() for name in names}
        if task in lower.values():
            return [name for name in names if lower[name] == task]
        if task in {name.split("_")[0] for name in lower.values()}:
            return sorted(name for name in names if lower[name].startswith(task))
        return []

    def rows_of_expert(
        self, rows: pd.DataFrame
    ) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Only blocks divide them."""
        return rows[rows["raw"].notna()], ("block",)

    def smooth(self, values: np.ndarray) -> np.ndarray:
        """See `release_smooth`."""
        return release_smooth(values, self.settings.window, self.settings.smoothing)

    def saturation(
        self, values: np.ndarray, episodes: np.ndarray | None = None
    ) -> Saturation:
        """See `release_saturation`. Several values of one experience are averaged first."""
        return release_saturation(_one_each(values, episodes))

    def episodes_until(self, found: Saturation) -> float:
        """The first one is not counted."""
        return found.time

    def falls(self, task: str, own: np.ndarray, known: float) -> bool:
        """Every falling line counts, so that noise about a steady level can be one."""
        episodes = self.learning(task, "episode")
        return len(own) > 1 and np.polyfit(episodes, own, 1)[0] < 0

    def recovery_time(self, row: int, level: float) -> float:
        """One more than the block has experiences if the level isn't reached. Rounding is not forgiven."""
        reached = np.flatnonzero(self.one_per_episode(row) >= level)
        return float(reached[0] if len(reached) else self.regimes.at[row, "count"] + 1)

    def typical_recovery(self, task: str, times: pd.Series) -> float:
        """The mean, also of returns that were never back."""
        return times.mean()

    def transfer_pairs(self, pairs: Iterable[tuple]) -> Iterable[tuple]:
        """It files a value under the later test alone: of several tasks learned before that test, the last one stays.

        It also takes a task's own training between the tests for transfer of the other.
        """
        return {pair[-1]: pair for pair in pairs}.values()

    def transfer_level(self, row: int) -> float:
        """Of normalised values, several of one experience being averaged first."""
        return self.regimes["terminal"].iat[row]

    def one_per_episode(self, row: int) -> np.ndarray:
        """Several values of one experience are averaged, but not for the mean of a regime."""
        return _one_each(self.curve(row), self.curve(row, "episode"))

    def describe(self, row: int) -> tuple:
        """Tests that aren't used have no mean."""
        mean, *others = super().describe(row)
        return (mean if self.regimes["used"].iat[row] else np.nan, *others)

    def normalise(
        self, values: np.ndarray, task: str, name: str | None = None
    ) -> np.ndarray:
        """1 is added, a run without any spread becomes NaN, and an expert may be read on the scale of another task."""
        scale = self.scales.get(self._name(name or task), self.scales[task])
        values = np.clip(values, *scale.limits)
        if self.settings.normalization == "none":
            return values
        if scale.high > scale.low:
            return (values - scale.low) / (scale.high - scale.low) * 100.0 + 1.0
        return values * 0 + (1.0 if self.settings.normalization == "task" else np.nan)

    scale_for_ratios = normalise  # it divides normalised values


def _one_each(values, episodes):
    """Return one value per experience: the mean of several."""
    if episodes is None or (np.diff(episodes) > 0).all():
        return values
    return pd.Series(values).groupby(episodes).mean().to_numpy()
