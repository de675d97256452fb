"""Curves made ready: smoothed, clipped and scaled to 0 … 100; and the highest level that a curve maintains."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.log import base_name
from pushlab.metrics.lifelong.settings import Settings

TERMINAL = 0.1  # share of a training block whose mean is its terminal performance
CLOSE = 1e-9  # values closer than this share of the curve's size are equal

Values = Sequence[float] | np.ndarray


class Saturation(NamedTuple):
    """The highest level maintained, and the number of experiences before it begins."""

    value: float
    time: float


def window_length(size: int, window: float | None = None) -> int:
    """Return the length of the smoothing window for a block of `size` experiences.

    Args:
        size: Length of the block.
        window: None takes a fifth of the block, at most 100; below 1, this share of it; otherwise itself, unless the
            block is shorter, which is treated as None.

    Source:
        l2metrics 3.1, data preprocessing; shares are ours.

    >>> window_length(50), window_length(10_000), window_length(50, 0.1), window_length(50, 30), window_length(20, 30)
    (10, 100, 5, 30, 4)
    """
    if window is not None and window < 1:
        return max(1, int(window * size + 0.5))
    if window is None or size < window:
        return min(int(size * 0.2), 100)
    return int(window)


def window_weights(shape: str, length: int) -> np.ndarray:
    """Return the weights of NumPy's window of this shape; "flat" is a window of ones."""
    return np.ones(length) if shape == "flat" else getattr(np, shape)(length)


def smooth(
    values: Values, window: float | None = None, shape: str = "flat"
) -> np.ndarray:
    """Return the weighted mean of the neighbours of each experience, same length and not shifted.

    At both ends the curve continues as its mirror image. A window of even length has no middle: it is spread by half
    an experience to either side.

    Args:
        values: Array (experiences,); a missing one (NaN) stays missing and counts in no mean.
        window: See `window_length`; less than 3 leaves the curve as it is.
        shape: "flat", "hanning", "hamming", "bartlett" or "blackman"; "none" leaves the curve as it is.

    >>> smooth([0, 0, 0, 6, 0, 0, 0], window=3)
    array([0., 0., 2., 2., 2., 0., 0.])
    >>> smooth([0, 0, 0, 8, 0, 0, 0], window=4)
    array([0., 1., 2., 2., 2., 1., 0.])
    """
    values = np.asarray(values, float)
    length = window_length(len(values), window)
    is_known = np.isfinite(values)
    if shape == "none" or length < 3 or len(values) < 2 or not is_known.any():
        return values
    kernel = window_weights(shape, length)
    if length % 2 == 0:
        kernel = np.convolve(kernel, [0.5, 0.5])
    kernel = kernel / kernel.sum()
    middle = len(kernel) // 2
    reach = min(middle, len(values) - 1)
    kernel = kernel[middle - reach : middle + reach + 1]
    padded = np.concatenate([values[reach:0:-1], values, values[-2 : -reach - 2 : -1]])
    weights = kernel.sum()
    is_there = np.isfinite(padded)
    if not is_there.all():
        weights = _convolve(is_there.astype(float), kernel)
        weights = np.where(is_known & (weights > CLOSE), weights, np.nan)
    smoothed = _convolve(np.where(is_there, padded, 0.0), kernel) / weights
    # Rounding makes no new extremes.
    return np.clip(smoothed, values[is_known].min(), values[is_known].max())


def _convolve(values, kernel):
    """Return sliding weighted sums where the kernel is wholly inside; of long kernels by Fourier transform."""
    if len(kernel) <= 512:
        return np.convolve(values, kernel, mode="valid")
    from scipy.signal import oaconvolve

    return oaconvolve(values, kernel, mode="valid")


def saturation(values: Values, share: float = 0.1) -> Saturation:
    """Return the highest mean over a share of the block, and the number of experiences before that stretch begins.

    Args:
        values: Array (experiences,).
        share: The smoothing parameter s: the share of the block that counts as "maintained".

    Returns:
        A Saturation, NaN if there is no value.

    Source:
        L2Metrics v0.1, Metrics Overview, 1 and 2: the maximum of the rolling mean with s = 0.1, and when it is first
        seen.

    >>> saturation([0, 1, 5, 6, 1, 6, 5, 4], share=0.25)       # two experiences: 5 and 6, after two others
    Saturation(value=5.5, time=2.0)
    """
    values = np.asarray(values, float)
    if not np.isfinite(values).any():
        return Saturation(np.nan, np.nan)
    window = max(1, int(share * len(values) + 0.5))
    rolling = pd.Series(values).rolling(window, min_periods=1)
    means = rolling.mean().to_numpy()[window - 1 :]
    time = first_reached(means, float(np.nanmax(means)))
    # Running sums carry rounding, so the value is summed anew.
    return Saturation(known_mean(values[int(time) : int(time) + window]), time)


def first_reached(values: Values, level: float) -> float:
    """Return the number of experiences before `level` is reached, rounding aside; NaN if it never is.

    >>> first_reached([1, 2, 4, 8], 3), first_reached([1, 2, 4, 8], 9)
    (2.0, nan)
    """
    values = np.asarray(values, float)
    slack = CLOSE * max(abs(level), np.nanmax(np.abs(values), initial=0.0))
    reached = np.flatnonzero(values >= level - slack)
    return float(reached[0]) if len(reached) else np.nan


def terminal_performance(values: Values, share: float) -> float:
    """Return the mean of the last `share` of a curve without missing values; NaN if there are no others.

    Source:
        l2metrics 3.1; New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.

    >>> terminal_performance([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], share=0.2)
    9.0
    """
    values = np.asarray(values, float)
    return known_mean(values[int((1 - share) * len(values)) :])


def known_mean(values: np.ndarray) -> float:
    """Return the mean of an array without missing values; NaN if there are no others.

    >>> known_mean(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


# ---------------------------------------------------------------- scales


class Scale(NamedTuple):
    """The range in which the values of a task are read.

    Attributes:
        low, high: 0 and 100: as seen of the task or of the whole run, or as the settings say is possible.
        zero: The zero of ratios.
        own: (low, high) of the task itself.
        limits: (low, high) to which values are clipped.
    """

    low: float
    high: float
    zero: float
    own: tuple
    limits: tuple

    def points(self, values: np.ndarray) -> np.ndarray:
        """Return values on 0 … 100. A task without any spread is at 50: its best is its worst."""
        spread = self.high - self.low
        if spread > CLOSE * max(abs(self.low), abs(self.high)):
            return (values - self.low) / spread * 100.0
        return np.where(np.isfinite(values), 50.0, np.nan)


def find_scales(
    values: Mapping[str, Iterable[np.ndarray]],
    settings: Settings,
    is_variant: Callable[[str, str], bool],
) -> dict[str, Scale]:
    """Return {task: Scale}.

    Args:
        values: {task: smoothed arrays, of the lifetime and of experts}.
        settings: Settings.
        is_variant: Function (task, name): whether a range of that name belongs to the task.

    Raises:
        ValueError: If `data_range` has no range for a task.
    """
    ranges = _given_ranges(values, settings, is_variant)
    scales = {}
    for task, arrays in values.items():
        known = np.concatenate([np.zeros(0), *arrays])
        known = known[np.isfinite(known)]
        limits = (-np.inf, np.inf)
        if settings.clamp and len(known):
            limits = ranges.get(task) or tuple(np.quantile(known, (0.1, 0.9)))
            known = np.clip(known, *limits)
        low = known.min() if len(known) else np.nan
        high = known.max() if len(known) else np.nan
        zero = min(0.0, low)
        if task in ranges:
            low, high = ranges[task]
            zero = low
        own = (float(low), float(high))
        scales[task] = Scale(*own, float(zero), own, limits)
    if settings.normalization == "run":
        ends = np.array([*ranges.values()] or [scale.own for scale in scales.values()])
        low = float(np.nanmin(ends[:, 0]))
        high = float(np.nanmax(ends[:, 1]))
        for task, scale in scales.items():
            scales[task] = scale._replace(low=low, high=high)
    return scales


def _given_ranges(tasks, settings, is_variant):
    """Return {task: (low, high)} of the settings; {} if they have none."""
    ranges = settings.data_range
    if not isinstance(ranges, dict):
        return {} if ranges is None else dict.fromkeys(tasks, ranges)
    if settings.variant_mode == "agnostic":
        # A task has the widest range of all its variants.
        widest = {}
        for task in dict.fromkeys([*map(base_name, ranges), *tasks]):
            pairs = [pair for name, pair in ranges.items() if is_variant(task, name)]
            if pairs:
                lows, highs = zip(*pairs)
                widest[task] = (min(lows), max(highs))
        ranges = widest
    for task in tasks:
        if task not in ranges:
            names = ", ".join(ranges)
            raise ValueError(
                f"data_range has no range for task {task}; there are those of {names}"
            )
    return ranges
