"""Preparation of curves: smoothing, clipping and scaling to 0 … 100; and levels of a curve."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.log import base_name
from pushlab.metrics.lifelong.settings import Settings

TERMINAL_SHARE = 0.1  # share of a training block whose mean is the terminal performance
TOLERANCE = 1e-9  # values closer than this share of the curve's size are equal
MAX_DIRECT_KERNEL = 512  # longer kernels are convolved by Fourier transform

Values = Sequence[float] | np.ndarray


class Saturation(NamedTuple):
    """The highest maintained level, and the number of experiences before it begins."""

    value: float
    time: float


def window_length(size: int, window: float | None = None) -> int:
    """Return the length of the smoothing window for a block of `size` experiences.

    Args:
        size: Length of the block.
        window: Length of the window, or a share of the block if it is below 1. None takes a fifth of the block, at most
            100; so does a window longer than the block.

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
    if shape == "flat":
        return np.ones(length)
    return getattr(np, shape)(length)


def smooth(
    values: Values,
    window: float | None = None,
    shape: str = "flat",
) -> np.ndarray:
    """Return the weighted mean of the neighbours of each experience, with the same length and without a shift.

    Both ends of the curve are continued by their mirror image. A window of even length has no middle: it is spread by
    half an experience to either side.

    Args:
        values: Array (experiences,). A missing value (NaN) stays missing and is left out of all means.
        window: See `window_length`; less than 3 returns the curve as it is.
        shape: "flat", "hanning", "hamming", "bartlett" or "blackman"; "none" returns the curve as it is.

    >>> smooth([0, 0, 0, 6, 0, 0, 0], window=3)
    array([0., 0., 2., 2., 2., 0., 0.])
    >>> smooth([0, 0, 0, 8, 0, 0, 0], window=4)
    array([0., 1., 2., 2., 2., 1., 0.])
    """
    values = np.asarray(values, float)
    length = window_length(len(values), window)
    is_finite = np.isfinite(values)
    is_short = length < 3 or len(values) < 2
    if shape == "none" or is_short or not is_finite.any():
        return values
    kernel = _kernel(shape, length, len(values) - 1)
    reach = len(kernel) // 2
    before = values[reach:0:-1]
    after = values[-2 : -reach - 2 : -1]
    padded = np.concatenate([before, values, after])
    is_present = np.isfinite(padded)
    weights = kernel.sum()
    if not is_present.all():
        weights = _convolve(is_present.astype(float), kernel)
        has_weight = is_finite & (weights > TOLERANCE)
        weights = np.where(has_weight, weights, np.nan)
    sums = _convolve(np.where(is_present, padded, 0.0), kernel)
    # Rounding must not exceed the extremes.
    low = values[is_finite].min()
    high = values[is_finite].max()
    return np.clip(sums / weights, low, high)


def _kernel(shape, length, max_reach):
    """Return the weights of a window of odd length, which reaches at most `max_reach` to either side."""
    kernel = window_weights(shape, length)
    if length % 2 == 0:
        kernel = np.convolve(kernel, [0.5, 0.5])
    kernel = kernel / kernel.sum()
    middle = len(kernel) // 2
    reach = min(middle, max_reach)
    return kernel[middle - reach : middle + reach + 1]


def _convolve(values, kernel):
    """Return sliding weighted sums at all positions at which the kernel is completely inside."""
    if len(kernel) <= MAX_DIRECT_KERNEL:
        return np.convolve(values, kernel, mode="valid")
    from scipy.signal import oaconvolve

    return oaconvolve(values, kernel, mode="valid")


def saturation(values: Values, share: float = 0.1) -> Saturation:
    """Return the highest mean over a share of the block, and the number of experiences before that stretch begins.

    Args:
        values: Array (experiences,).
        share: The smoothing parameter s: the share of the block over which a level counts as maintained.

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
    highest = float(np.nanmax(means))
    time = time_to_reach(means, highest)
    start = int(time)
    # Running sums accumulate rounding errors, so the mean is computed again.
    value = finite_mean(values[start : start + window])
    return Saturation(value, time)


def time_to_reach(values: Values, level: float) -> float:
    """Return the number of experiences before `level` is reached, up to rounding; NaN if it never is.

    >>> time_to_reach([1, 2, 4, 8], 3), time_to_reach([1, 2, 4, 8], 9)
    (2.0, nan)
    """
    values = np.asarray(values, float)
    largest = np.nanmax(np.abs(values), initial=0.0)
    slack = TOLERANCE * max(abs(level), largest)
    reached = np.flatnonzero(values >= level - slack)
    return float(reached[0]) if len(reached) else np.nan


def terminal_performance(values: Values, share: float) -> float:
    """Return the mean of the last `share` of a curve, without missing values; NaN if all are missing.

    Source:
        l2metrics 3.1; New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.

    >>> terminal_performance([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], share=0.2)
    9.0
    """
    values = np.asarray(values, float)
    start = int((1 - share) * len(values))
    return finite_mean(values[start:])


def finite_mean(values: np.ndarray) -> float:
    """Return the mean of an array without missing values; NaN if all are missing.

    >>> finite_mean(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


# ---------------------------------------------------------------- scales


class Scale(NamedTuple):
    """Range of the values of a task.

    Attributes:
        low, high: The values that become 0 and 100: the extremes of the task or of the whole run, or those of the
            settings.
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
        """Return values on 0 … 100; all are 50 if the task's values don't vary."""
        spread = self.high - self.low
        size = max(abs(self.low), abs(self.high))
        if spread > TOLERANCE * size:
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
        ValueError: `data_range` has no range for a task.
    """
    ranges = _task_ranges(values, settings, is_variant)
    scales = {
        task: _task_scale(arrays, ranges.get(task), settings.clamp)
        for task, arrays in values.items()
    }
    if settings.normalization == "run":
        pairs = [*ranges.values()] or [scale.own for scale in scales.values()]
        lows, highs = np.transpose(pairs)
        low = float(np.nanmin(lows))
        high = float(np.nanmax(highs))
        for task, scale in scales.items():
            scales[task] = scale._replace(low=low, high=high)
    return scales


def _task_scale(arrays, data_range, clamp):
    """Return the Scale of one task from its arrays, and from its range if the settings have one."""
    values = np.concatenate([np.zeros(0), *arrays])
    values = values[np.isfinite(values)]
    limits = (-np.inf, np.inf)
    if clamp and len(values):
        limits = data_range or tuple(np.quantile(values, (0.1, 0.9)))
        values = np.clip(values, *limits)
    low = values.min() if len(values) else np.nan
    high = values.max() if len(values) else np.nan
    zero = min(0.0, low)
    if data_range:
        low, high = data_range
        zero = low
    own = (float(low), float(high))
    return Scale(*own, float(zero), own, limits)


def _task_ranges(tasks, settings, is_variant):
    """Return {task: (low, high)} of the settings; {} if they have none."""
    ranges = settings.data_range
    if ranges is None:
        return {}
    if not isinstance(ranges, dict):
        return dict.fromkeys(tasks, ranges)
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
                f"data_range has no range for the task {task!r}, only for {names}"
            )
    return ranges
