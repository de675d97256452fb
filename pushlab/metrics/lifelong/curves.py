"""Curves made ready: smoothed, clamped, brought to 0 … 100; and the highest level that a curve holds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.lifelong.rows import base_name
from pushlab.metrics.settings import Settings

QUANTILES = (
    0.1,
    0.9,
)  # of a task, between which its values are drawn where they are clamped
POINTS, MIDDLE = 100.0, 50.0
TERMINAL = 0.1  # share of a training block that its terminal performance is the mean of
LONG = 512  # windows longer than this are convolved by Fourier transform
CLOSE = 1e-9  # values closer than this, as a share of the curve's size, are the same: rounding aside

Values = Sequence[float] | np.ndarray


class Saturation(NamedTuple):
    """The highest level held, and how many experiences were lived before it began."""

    value: float
    time: float


def window_length(size: int, window: float | None = None) -> int:
    """Length of the smoothing window for a block of `size` experiences.

    window  None: a fifth of the block, at most 100; below 1: this share of it; else itself, unless the block is
            shorter, for which the rule of None holds again
    Source  l2metrics 3.1, data preprocessing; shares are ours.

    >>> window_length(50), window_length(10_000), window_length(50, 0.1), window_length(50, 30), window_length(20, 30)
    (10, 100, 5, 30, 4)
    """
    if window is not None and window < 1:
        return max(1, int(window * size + 0.5))
    if window is None or size < window:
        return min(int(size * 0.2), 100)
    return int(window)


def smooth(
    values: Values, window: float | None = None, shape: str = "flat"
) -> np.ndarray:
    """Weighted mean of the neighbours of each experience, array of the same length and not shifted.

    values  array (experiences,); a missing one (NaN) stays missing and counts in no mean
    window  see `window_length`; less than 3 leaves the curve as it is
    shape   "flat", "hanning", "hamming", "bartlett" or "blackman"; "none" leaves the curve as it is

    At both ends the curve is continued as its mirror image. A window of even length, which has no middle, is spread
    by half an experience to either side, so that it lies evenly about the experience that it speaks for.

    >>> smooth([0, 0, 0, 6, 0, 0, 0], window=3)
    array([0., 0., 2., 2., 2., 0., 0.])
    >>> smooth([0, 0, 0, 8, 0, 0, 0], window=4)
    array([0., 1., 2., 2., 2., 1., 0.])
    """
    values = np.asarray(values, float)
    length = window_length(len(values), window)
    if shape == "none" or length < 3 or len(values) < 2:
        return values
    kernel = centred_kernel(shape, length)
    reach = min(len(kernel) // 2, len(values) - 1)
    kernel = kernel[len(kernel) // 2 - reach : len(kernel) // 2 + reach + 1]
    padded = np.concatenate([values[reach:0:-1], values, values[-2 : -reach - 2 : -1]])
    known, there = np.isfinite(padded), np.isfinite(values)
    if not there.any():
        return values
    if known.all():
        smoothed = convolve(padded, kernel / kernel.sum())
    else:
        weights = convolve(known.astype(float), kernel)
        sums = convolve(np.where(known, padded, 0.0), kernel)
        smoothed = np.divide(
            sums,
            weights,
            out=np.full(len(values), np.nan),
            where=there & (weights > CLOSE),
        )
    return np.clip(
        smoothed, values[there].min(), values[there].max()
    )  # rounding makes no new extremes


def centred_kernel(shape: str, length: int) -> np.ndarray:
    """Weights of odd number, symmetric: those of numpy's window, an even one spread by half to either side."""
    weights = np.ones(length) if shape == "flat" else getattr(np, shape)(length)
    weights = weights if length % 2 else np.convolve(weights, [0.5, 0.5])
    return weights / weights.sum()


def convolve(values: np.ndarray, kernel: np.ndarray) -> np.ndarray:
    """Sliding weighted sums where the kernel lies wholly inside; by Fourier transform for long kernels."""
    if len(kernel) <= LONG:
        return np.convolve(values, kernel, mode="valid")
    from scipy.signal import oaconvolve

    return oaconvolve(values, kernel, mode="valid")


def rolling_mean(values: Values, window: int) -> np.ndarray:
    """Means of all stretches of `window` experiences, array (experiences - window + 1,), beginning to beginning.

    A missing value counts in no mean; a stretch without a value has none.

    >>> rolling_mean([1, 3, 5, 9], 2)
    array([2., 4., 7.])
    """
    values = np.asarray(values, float)
    known = np.isfinite(values)
    level = (
        values[known].mean() if known.any() else 0.0
    )  # sums of small differences lose no digits
    sums = np.concatenate([[0.0], np.cumsum(np.where(known, values - level, 0.0))])
    counts = np.concatenate([[0], np.cumsum(known)])
    sums, counts = sums[window:] - sums[:-window], counts[window:] - counts[:-window]
    return level + np.divide(
        sums, counts, out=np.full(len(sums), np.nan), where=counts > 0
    )


def saturation(values: Values, share: float = 0.1) -> Saturation:
    """The highest mean over `share` of the block, and how many experiences were lived before that stretch began.

    values   array (experiences,)
    share    the smoothing parameter s: what part of the block counts as "maintained"
    returns  Saturation; NaN where there is no value, or sums are beyond what a float holds
    Source   L2Metrics v0.1, Metrics Overview, 1 and 2: the maximum of the rolling mean with s = 0.1, and when it is
             first seen.

    >>> saturation([0, 1, 5, 6, 1, 6, 5, 4], share=0.25)       # two experiences: 5 and 6, after two others
    Saturation(value=5.5, time=2.0)
    """
    values = np.asarray(values, float)
    if not np.isfinite(values).any():
        return Saturation(np.nan, np.nan)
    window = max(1, int(share * len(values) + 0.5))
    means = rolling_mean(values, window)
    time = first_reached(means, float(np.nanmax(means)))
    if np.isnan(time):  # sums beyond what a float holds
        return Saturation(np.nan, np.nan)
    held = values[int(time) : int(time) + window]
    return Saturation(
        float(held[np.isfinite(held)].mean()), time
    )  # summed anew: running sums carry rounding


def first_reached(values: Values, level: float, exactly: bool = False) -> float:
    """How many experiences were lived before `level` was reached; NaN if it never was.

    exactly  as floating-point numbers compare; otherwise rounding is forgiven

    >>> first_reached([1, 2, 4, 8], 3), first_reached([1, 2, 4, 8], 9)
    (2.0, nan)
    """
    values = np.asarray(values, float)
    slack = (
        0.0
        if exactly
        else CLOSE * max(abs(level), np.nanmax(np.abs(values), initial=0.0))
    )
    reached = np.flatnonzero(values >= level - slack)
    return float(reached[0]) if len(reached) else np.nan


def terminal_performance(values: Values, share: float = TERMINAL) -> float:
    """The mean of the last `share` of a curve, missing values aside; NaN if there are none.

    Source  l2metrics 3.1; New et al. (2022), Lifelong Learning Metrics, arXiv 2201.08278.

    >>> terminal_performance([0, 1, 2, 3, 4, 5, 6, 7, 8, 10], share=0.2)
    9.0
    """
    values = np.asarray(values, float)
    return known_mean(values[int((1 - share) * len(values)) :])


def known_mean(values: np.ndarray) -> float:
    """The mean of an array, missing values aside; NaN if there are no others.

    >>> known_mean(np.array([1.0, np.nan, 3.0]))
    2.0
    """
    values = values[np.isfinite(values)]
    return float(values.mean()) if len(values) else np.nan


def mean_curve(curves: Sequence[np.ndarray]) -> np.ndarray:
    """The mean of several curves over the experiences that all of them have; missing values aside.

    >>> mean_curve([np.array([1.0, 2.0, 3.0]), np.array([3.0, np.nan])])
    array([2., 2.])
    """
    shortest = min(map(len, curves))
    stacked = np.array([curve[:shortest] for curve in curves])
    known = np.isfinite(stacked)
    counts = known.sum(axis=0)
    return np.divide(
        np.where(known, stacked, 0.0).sum(axis=0),
        counts,
        out=np.full(shortest, np.nan),
        where=counts > 0,
    )


# ---------------------------------------------------------------- scales


class Scale(NamedTuple):
    """How the values of a task are read.

    low, high   0 and 100: what was seen of the task, or of the whole run, or what the settings say is possible
    zero        from where ratios are counted
    own         (low, high) of the task itself
    limits      (low, high): what lies outside is drawn in
    """

    low: float
    high: float
    zero: float
    own: tuple
    limits: tuple

    def points(self, values: np.ndarray) -> np.ndarray:
        """Values on 0 … 100.

        A task without any spread lies at 50: what is both the best and the worst that was seen is neither.
        """
        spread = self.high - self.low
        if spread > CLOSE * max(abs(self.low), abs(self.high)):
            return (values - self.low) / spread * POINTS
        return np.where(np.isfinite(values), MIDDLE, np.nan)


def find_scales(
    values: Mapping[str, Iterable[np.ndarray]],
    settings: Settings,
    is_variant: Callable | None = None,
) -> dict[str, Scale]:
    """{task: Scale} for {task: smoothed arrays, of the lifetime and of experts}.

    is_variant  function (task, name): is a range of that name one of the task's? By default a base name says so

    Raises BadData for tasks that a given range leaves out.
    """
    ranges = _given_ranges(
        values, settings, is_variant or (lambda task, name: base_name(name) == task)
    )
    scales = {}
    for task, arrays in values.items():
        known = np.concatenate([np.zeros(0), *arrays])
        known, given, limits = (
            known[np.isfinite(known)],
            ranges.get(task),
            (-np.inf, np.inf),
        )
        if settings.clamp and len(known):
            limits = given or tuple(np.quantile(known, QUANTILES))
            known = np.clip(known, *limits)
        low, high = given or (
            (known.min(), known.max()) if len(known) else (np.nan, np.nan)
        )
        low, high, zero = (
            float(low),
            float(high),
            float(given[0] if given else min(0.0, low)),
        )
        scales[task] = Scale(low, high, zero, (low, high), limits)
    if settings.normalization != "run":
        return scales
    ends = [*ranges.values()] or [scale.own for scale in scales.values()]
    low, high = np.nanmin([end[0] for end in ends]), np.nanmax([end[1] for end in ends])
    return {
        task: scale._replace(low=float(low), high=float(high))
        for task, scale in scales.items()
    }


def _given_ranges(tasks, settings, is_variant):
    """{task: (low, high)} of the settings, {} if they leave it to what is seen."""
    given = settings.data_range
    if not isinstance(given, dict):
        return {} if given is None else dict.fromkeys(tasks, given)
    if (
        settings.variant_mode == "agnostic"
    ):  # the widest range of all variants of a task
        variants = {
            task: [ends for name, ends in given.items() if is_variant(task, name)]
            for task in dict.fromkeys([*map(base_name, given), *tasks])
        }
        given = {
            task: (min(low for low, _ in some), max(high for _, high in some))
            for task, some in variants.items()
            if some
        }
    missing = [task for task in tasks if task not in given]
    if missing:
        raise BadData(
            [
                Fault(
                    "settings",
                    None,
                    "data_range",
                    None,
                    f"no range for task {task}; there are those of {', '.join(given)}",
                    "item",
                )
                for task in missing
            ]
        )
    return given
