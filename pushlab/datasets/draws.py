"""Random draws that are the same on every machine and with every NumPy release.

NumPy guarantees the stream of uniforms of PCG64, but not the results of `normal`, `choice` or `poisson`. Every draw
here is a uniform that a table of weights or quantiles turns into a value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# One stream for each purpose: a change in how arrivals are drawn leaves the days and the actions unchanged.
STREAMS = (
    "persona",
    "days",
    "stops",
    "quarters",
    "arrivals",
    "notifications",
    "bursts",
    "actions",
    "responses",
    "contacts",
)


def uniforms(seed: int, stream: str, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draw uniform numbers in [0, 1), float64 of this shape, from a seed and a stream (one of STREAMS).

    >>> uniforms(1, "days", 2).round(3)
    array([0.332, 0.612])
    """
    return np.random.Generator(np.random.PCG64((seed, STREAMS.index(stream)))).random(
        shape
    )


def pick(weights: Sequence[int], u: Any) -> np.ndarray:
    """Return an index for each uniform in `u`, drawn in proportion to the weights (whole numbers).

    >>> pick((3, 1), [0.0, 0.74, 0.75])
    array([0, 0, 1])
    """
    ends = np.cumsum(weights)
    return np.searchsorted(ends, np.asarray(u) * ends[-1], side="right")


def pick_value(options: Mapping[str, int], u: Any) -> Any:
    """Return a value of `options`, {value: weight}, for each uniform, as an object array.

    >>> pick_value({"low": 3, "high": 1}, [0.1, 0.9]).tolist()
    ['low', 'high']
    """
    return np.array(list(options), dtype=object)[pick(list(options.values()), u)]


def quantile(levels: Sequence[float], values: Sequence[float], u: Any) -> np.ndarray:
    """Return the quantile for each uniform, by linear interpolation in a table of a distribution.

    It doesn't use `numpy.interp`, whose last digit can differ between machines.

    >>> quantile((0, 0.5, 1), (0, 10, 100), [0.25, 0.75])
    array([ 5., 55.])
    """
    x, y, at = (np.asarray(array, dtype=float) for array in (levels, values, u))
    left = np.searchsorted(x, at, side="right") - 1
    share = (at - x[left]) / (x[left + 1] - x[left])
    return y[left] + (y[left + 1] - y[left]) * share
