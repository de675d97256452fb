"""From what was measured to the scales of the metrics: clamped, and normalised to 0 … 100."""

from typing import NamedTuple

import numpy as np

from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.lifelong.smoothing import CLOSE

QUANTILES = (0.1, 0.9)
SCALE, RELEASE_OFFSET = 100.0, 1.0
MIDDLE = 50.0


class Scale(NamedTuple):
    """How the values of a task are read.

    low, high      0 and 100: what was seen of the task, or of the whole run, or what the settings say is possible
    zero           from where ratios are counted
    own            (low, high) of the task itself
    clamp_low, clamp_high   what lies outside is drawn in
    """

    low: float
    high: float
    zero: float
    own: tuple
    clamp_low: float = -np.inf
    clamp_high: float = np.inf

    def clamp(self, values):
        return np.clip(values, self.clamp_low, self.clamp_high)

    def normalise(self, values, settings):
        """Values on 0 … 100; 3.1.0 adds 1, and makes a run without any spread NaN.

        A task without any spread lies at 50: what is both the best and the worst that was seen is neither.
        """
        if settings.normalization == "none":
            return values
        spread, offset = self.high - self.low, RELEASE_OFFSET if settings.is_release else 0.0
        rounding = 0.0 if settings.is_release else CLOSE * max(abs(self.low), abs(self.high))
        if spread > rounding:
            return (values - self.low) / spread * SCALE + offset
        if settings.is_release:
            return values * 0 + (offset if settings.normalization == "task" else np.nan)
        return np.where(np.isfinite(values), MIDDLE, np.nan)

    def for_ratios(self, values, settings):
        """Values that may be divided by one another. 3.1.0 divides the normalised ones.

        Normalising moves the zero, and with it every ratio; so ratios are taken of what was measured, if zero is its
        natural floor.
        """
        return self.normalise(values, settings) if settings.is_release else values - self.zero


def find_scales(values, settings):
    """{task: Scale} for {task: list of smoothed arrays, of the lifetime and of experts}.

    Raises BadData for tasks that a given range leaves out.
    """
    ranges = _given_ranges(values, settings)
    pooled = {task: _known(arrays) for task, arrays in values.items()}
    scales = {}
    for task, known in pooled.items():
        given = ranges.get(task)
        limits = (-np.inf, np.inf)
        if settings.clamp and len(known):
            limits = given or tuple(np.quantile(known, QUANTILES))
            known = np.clip(known, *limits)
        low, high = given or ((known.min(), known.max()) if len(known) else (np.nan, np.nan))
        zero = given[0] if given else min(0.0, low)
        scales[task] = Scale(float(low), float(high), float(zero), (float(low), float(high)), *map(float, limits))
    if settings.normalization != "run":
        return scales
    ends = [*ranges.values()] or [(scale.low, scale.high) for scale in scales.values()]
    low, high = np.nanmin([end[0] for end in ends]), np.nanmax([end[1] for end in ends])
    return {task: scale._replace(low=float(low), high=float(high)) for task, scale in scales.items()}


def _known(arrays):
    values = np.concatenate([np.zeros(0), *arrays])
    return values[np.isfinite(values)]


def _given_ranges(tasks, settings):
    """{task: (low, high)} of the settings, {} if they leave it to what is seen."""
    given = settings.data_range
    if given is None:
        return {}
    if not isinstance(given, dict):
        return dict.fromkeys(tasks, given)
    if settings.variant_mode == "agnostic":
        given = _merge_variants(given, tasks, settings)
    missing = [task for task in tasks if task not in given]
    if missing:
        raise BadData([Fault("settings", None, "data_range", None,
                             f"no range for task {task}; there are those of {', '.join(given)}", "item")
                       for task in missing])
    return given


def _merge_variants(given, tasks, settings):
    """The widest range of all variants of each task. 3.1.0 takes every name that contains the task's, task10 for 1."""
    from pushlab.metrics.lifelong.rows import base_name

    merged = {}
    for task in dict.fromkeys([*map(base_name, given), *tasks]):
        ends = [pair for name, pair in given.items()
                if (task in name if settings.is_release else base_name(name) == task)]
        if ends:
            merged[task] = (min(low for low, _ in ends), max(high for _, high in ends))
    return merged
