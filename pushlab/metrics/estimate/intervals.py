"""Intervals of means, shares, grids and times; many comparisons at once; and the number of runs a difference takes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground import arguments

MOST_RUNS = 10_000_000


class Interval(NamedTuple):
    """A mean and the ends of its interval: floats, or arrays for arrays."""

    mean: Any
    low: Any
    high: Any

    def __str__(self) -> str:
        if np.ndim(self.mean):
            return "; ".join(str(Interval(*one)) for one in zip(*map(np.ravel, self)))
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


# ---------------------------------------------------------------- means and shares


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Compute the mean and Student's t interval of independent values.

    Exact for normal values. Of 1,000 simulated studies with 5, 10 or 20 runs it held the truth in 92 to 98 % if values
    have two humps or heavy tails, but in 83, 85 and 87 % if they are lognormal: few runs rarely show the long tail. An
    interval of the logarithm, or of `interquartile_mean`, is sounder there. For runs that are 0 or 1 it holds a true
    share of 0.8 in 67, 89 and 92 %, of 0.9 in 41, 65 and 88 %, of 0.95 in 23, 40 and 64 %: use `share_interval`.

    Args:
        values: Array (runs,), at least two runs; one run says nothing about its own spread.
        level: Coverage, between 0 and 1.

    Source:
        Student (1908), The probable error of a mean, Biometrika 6(1), 1-25.

    >>> mean_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484, high=4.484)
    """
    values = _sample(values)
    mean = float(values.mean())
    half = float(half_width(values.std(ddof=1), len(values), level))
    return Interval(mean, mean - half, mean + half)


def half_width(deviation: ArrayLike, count: ArrayLike, level: float = 0.95) -> Any:
    """Return half the width of Student's t interval, for standard deviations (ddof 1) and numbers of values."""
    from scipy.stats import t

    arguments.share("level", level)
    freedom = np.maximum(np.asarray(count) - 1, 1)
    return t.ppf((1 + level) / 2, freedom) * deviation / np.sqrt(count)


def paired_interval(
    ours: ArrayLike, theirs: ArrayLike, level: float = 0.95
) -> Interval:
    """Compute the interval of the mean difference of runs paired by seed: same users, same contexts, another agent.

    Of 1,000 simulated studies with 5, 10 or 20 pairs it held the truth in 94 to 98 %, of two lognormal agents too:
    differences of agents that are alike are spread evenly about their mean.

    >>> paired_interval([2.0, 3.0, 4.0], [1.0, 2.5, 3.0]).mean.__round__(3)
    0.833
    """
    return mean_interval(_difference(ours, theirs), level)


def share_interval(
    successes: ArrayLike, trials: ArrayLike, level: float = 0.95
) -> Interval:
    """Compute a share and its Wilson interval, floats, or arrays for arrays, which NumPy broadcasts.

    The share is in its interval, and that between 0 and 1, to the last digit, even if none or all succeed.

    With 5, 10 and 20 trials it holds a true share of 0.2 in 94, 97 and 96 % of all cases; the average over all shares
    is 95 %, the least, near 0 and 1, is 83 to 84 %.

    Source:
        Wilson (1927), Probable inference, the law of succession, J. Am. Stat. Assoc. 22, 209-212.

    >>> share = share_interval(5, 10)
    >>> round(share.mean, 3), round(share.low, 3), round(share.high, 3)
    (0.5, 0.237, 0.763)
    """
    from scipy.special import ndtri

    arguments.share("level", level)
    successes = np.asarray(successes, float)
    trials = np.asarray(trials, float)
    if not ((trials >= 1) & (successes >= 0) & (successes <= trials)).all():
        raise ValueError(
            "a share needs at least one trial, and from 0 to as many successes"
        )
    z = ndtri((1 + level) / 2)
    share = successes / trials
    scale = 1 + z**2 / trials
    centre = (share + z**2 / (2 * trials)) / scale
    variance = share * (1 - share) / trials + z**2 / (4 * trials**2)
    half = z / scale * np.sqrt(variance)
    # Rounding alone puts an end beyond the share, at 0 and n, or beyond 0 and 1.
    low = np.clip(centre - half, 0, share)
    high = np.clip(centre + half, share, 1)
    return Interval(*map(plain, (share, low, high)))


# ---------------------------------------------------------------- grids


def crossed_interval(
    values: ArrayLike, theirs: ArrayLike | None = None, level: float = 0.95
) -> Interval:
    """Compute the interval of the mean of a grid in which two sources of chance cross, such as seeds and days.

    Every seed meets the same days, so the mean over days of one seed says nothing about other days: the t interval over
    the rows alone, with strong days, holds the truth in half of all cases or fewer. This one ranges over new rows and
    new columns.

    Two-way random effects: value = mean + row + column + rest, of which the variance of the grand mean is
    (A + B - E) / (rows x columns), with the mean squares A between rows, B between columns and E of the rest; never
    less than A or B alone would say; degrees of freedom after Satterthwaite (1946), at least the smaller source's.
    The pigeonhole bootstrap, which resamples rows and columns (Owen 2007), estimates the same variance, but counts the
    rest about three times.

    Of 1,000 simulated studies with 5, 10 or 20 rows of 20 columns, rows, columns and rest varying alike, it held the
    truth in 94 to 96 % (normal values, heavy tails), with two humps in 93, 94 and 95 %, if all are lognormal in 88 to
    90 %. If rows have ten times the spread of the others it is 94 to 97 %, 93 to 95 %, and of lognormal values 82, 85
    and 88 %. Four rows hold it in 94 % (two humps 88), two in 89 % (two humps 78).

    Args:
        values: Array (first source, second source), such as (seeds, days) or (trainings, test runs); at least two of
            each.
        theirs: The same of another agent, with the same rows and columns: the interval is that of the mean difference.
        level: Coverage, between 0 and 1.

    Source:
        Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411, for the problem;
        Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics Bulletin 2(6),
        110-114.

    >>> crossed_interval([[1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])             # two days, whatever the seed: t over days
    Interval(mean=2.0, low=-10.706, high=14.706)
    """
    from scipy.stats import t

    arguments.share("level", level)
    if theirs is not None:
        values = _difference(values, theirs)
    grid = finite_matrix("values", values, ("row", "column"), 2, 2)
    rows, columns = grid.shape
    freedom = np.array([rows - 1, columns - 1, (rows - 1) * (columns - 1)])
    mean = grid.mean()
    by_row = grid.mean(axis=1, keepdims=True) - mean
    by_column = grid.mean(axis=0, keepdims=True) - mean
    rest = grid - by_row - by_column - mean
    sums = [columns * (by_row**2).sum(), rows * (by_column**2).sum(), (rest**2).sum()]
    squares = np.array(sums) / freedom
    total = max(squares[0] + squares[1] - squares[2], squares[0], squares[1])
    spread = (squares**2 / freedom).sum()
    ours = min(rows, columns) - 1
    if spread > 0:
        ours = max(total**2 / spread, ours)
    half = float(t.ppf((1 + level) / 2, ours) * (total / grid.size) ** 0.5)
    return Interval(float(mean), float(mean) - half, float(mean) + half)


# ---------------------------------------------------------------- many comparisons


def simultaneous(
    samples: Mapping[str, Any] | Sequence,
    level: float = 0.95,
    interval: Callable = mean_interval,
) -> Any:
    """Widen intervals so that all of them hold together in `level` of all cases: {name: Interval}, or a list.

    Of k intervals at 95 % each, about k / 20 miss, and the more are shown the likelier it is that one of them does.
    After Bonferroni each is drawn at 1 - (1 - level) / k, which is right whatever the samples share. It asks more of
    each interval: of five means of normal values all held in 95 to 96 % of 1,000 simulated studies with 5, 10 or 20
    runs, with two humps in 82, 92 and 95 %, and of lognormal values in 62 to 70 %.

    Args:
        samples: {name: values}, or a list of values; for pairs the differences. Values are what `interval` takes: an
            array (runs,), or a grid for `crossed_interval`.
        level: Coverage of all together, between 0 and 1.
        interval: Function of values and level.

    Source:
        Dunn (1961), Multiple comparisons among means, J. Am. Stat. Assoc. 56, 52-64.

    >>> simultaneous({"a": [1.0, 2.0, 3.0]})["a"] == mean_interval([1.0, 2.0, 3.0])
    True
    >>> simultaneous([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])[1] == mean_interval([5.0, 6.0, 7.0], level=0.975)
    True
    """
    arguments.share("level", level)
    arguments.demand(len(samples), "samples has no values to compare: it is empty")
    each = 1 - (1 - level) / len(samples)
    if hasattr(samples, "items"):
        return {name: interval(values, level=each) for name, values in samples.items()}
    return [interval(values, level=each) for values in samples]


def holm(p_values: ArrayLike) -> np.ndarray:
    """Adjust p values for being many: below 0.05 after it, with at most 5 % risk of one wrong; same order.

    The smallest of k is multiplied by k, the next by k - 1, and so on; none falls below one before it, nor above 1.

    Source:
        Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6(2), 65-70.

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, float)
    if p_values.ndim != 1 or not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(
            f"p values are between 0 and 1, in one dimension; got {p_values!r:.60}"
        )
    order = np.argsort(p_values, kind="stable")
    adjusted = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(adjusted, 1)[np.argsort(order, kind="stable")]


# ---------------------------------------------------------------- times


class MedianTime(NamedTuple):
    """A median time and the ends of its interval, inf if half never reached it.

    Attributes:
        median, low, high: Times.
        watched: The longest time watched.
    """

    median: float
    low: float
    high: float
    watched: float

    def __str__(self) -> str:
        median, low, high = (
            f"{end:.3g}" if np.isfinite(end) else f"{self.watched:g} or more"
            for end in self[:3]
        )
        is_never = np.isinf(self.median) and self.low >= self.watched
        return median if low == high or is_never else f"{median} [{low}, {high}]"


def median_time(
    times: ArrayLike, watched: ArrayLike, level: float = 0.95
) -> MedianTime:
    """Compute the median of times of which some were not reached while one watched.

    A mean of such times means nothing: one that wasn't reached counts with the time watched. The median is where the
    Kaplan-Meier curve, the share not yet there, falls to one half. If it stays at one half for a while, it is the
    middle of that, as for the median of an even number of values; inf if it never gets below.

    Args:
        times: Array, when each was reached, inf if it wasn't.
        watched: How long each was watched, an array as long, or one number.
        level: Coverage of the interval from order statistics, exact without censoring: a time that wasn't reached
            counts as reached at once after for the lower end, and as never for the upper. With fewer than 6 times at
            95 % it is from 0 to inf. With 10 and 20 times it held the median in 96 to 98 % of 1,000 simulated studies.

    Source:
        Kaplan & Meier (1958), Nonparametric estimation from incomplete observations, J. Am. Stat. Assoc. 53, 457-481,
        by scipy.stats.ecdf; David & Nagaraja (2003), Order statistics, 7.1, for the interval.

    >>> median_time([3, 5, np.inf], watched=[10, 10, 4]).median            # one half of those that were watched at 5
    5.0
    >>> print(median_time([25, 26, 38, 49, 50, 82], watched=100), "and", median_time([7, np.inf, np.inf], 100))
    43.5 [25, 82] and 100 or more [0, 100 or more]
    """
    from scipy.stats import CensoredData, binom, ecdf

    arguments.share("level", level)
    times = arguments.floats("times", times)
    watched = np.broadcast_to(arguments.numbers("watched", watched), times.shape)
    is_reached = np.isfinite(times)
    is_late = is_reached & (times > watched)
    is_time = times >= 0
    if times.ndim != 1 or not len(times) or is_late.any() or not is_time.all():
        raise ValueError(
            "times are between 0 and how long each was watched, inf if not reached, and at least one; "
            f"got {times!r:.60}"
        )
    least = np.where(is_reached, times, watched)
    curve = ecdf(CensoredData.right_censored(least, ~is_reached)).sf
    at = np.append(curve.quantiles, np.inf)
    share = np.append(curve.probabilities, 0.0)
    half = at[np.argmax(share < 0.5 + 1e-9)]
    below = at[np.argmax(share < 0.5 - 1e-9)]
    low = 0.0
    high = np.inf
    # The interval is from the rank-th smallest to the rank-th largest, counted from 1.
    rank = int(binom.ppf((1 - level) / 2, len(times), 0.5))
    if rank:
        low = float(np.sort(least)[rank - 1])
        high = float(np.sort(times)[-rank])
    return MedianTime(float((half + below) / 2), low, high, float(watched.max()))


# ---------------------------------------------------------------- the number of runs


def power(
    difference: ArrayLike,
    spread: ArrayLike,
    runs: ArrayLike,
    level: float = 0.95,
    paired: bool = True,
) -> Any:
    """Return the chance that the interval of a difference of means excludes 0; arrays broadcast.

    Exact for normal values: noncentral t with n - 1 degrees of freedom, unpaired 2 (n - 1). If it promises 0.80 with 5,
    10 or 20 runs, 1,000 simulated studies found the difference in 79 to 82 % of cases with two humps too, and more
    often with heavy tails (86 to 87 %).

    Args:
        difference: The true difference of interest, in the unit of the scores.
        spread: Standard deviation: of the differences of pairs, or, unpaired, of the runs of one agent.
        runs: Of each agent, at least two.
        level: Coverage of the interval, between 0 and 1.
        paired: True for runs paired by seed, as in `paired_interval`; False for two groups of runs.

    Source:
        Cohen (1988), Statistical power analysis for the behavioral sciences, 2nd ed., chapter 2.

    >>> round(power(0.5, 1.0, 64, paired=False), 2), round(power(0.5, 1.0, 34), 2)      # Cohen's table 2.4.1: 64
    (0.8, 0.81)
    """
    from scipy.stats import nct, t

    arguments.share("level", level)
    difference = arguments.numbers("difference", difference)
    spread = arguments.numbers("spread", spread)
    runs = arguments.numbers("runs", runs)
    if (spread <= 0).any() or (runs < 2).any() or (runs != np.round(runs)).any():
        raise ValueError(
            "power needs a spread above 0 and whole numbers of at least 2 runs; "
            f"got {spread!r:.60}, {runs!r:.60}"
        )
    groups = 1 if paired else 2
    freedom = (runs - 1) * groups
    shift = abs(difference) / spread * np.sqrt(runs / groups)
    least = t.ppf((1 + level) / 2, freedom)
    # Far from 0 the lower tail is NaN instead of 0.
    lower = np.nan_to_num(nct.cdf(-least, freedom, shift))
    return plain(nct.sf(least, freedom, shift) + lower)


def runs_needed(
    difference: float,
    spread: float,
    wanted: float = 0.8,
    level: float = 0.95,
    paired: bool = True,
) -> int:
    """Return the least number of runs of each agent whose `power` is at least `wanted`.

    Args:
        difference, spread, level, paired: See `power`; the spread of a pilot by `pilot_spread`.
        wanted: The power, between 0 and 1.

    >>> runs_needed(0.5, 1.0, paired=False), runs_needed(0.5, 1.0)
    (64, 34)
    """
    from bisect import bisect_left

    arguments.share("wanted", wanted)
    runs = 2 + bisect_left(
        range(2, MOST_RUNS),
        wanted,
        key=lambda count: power(difference, spread, count, level, paired),
    )
    arguments.demand(
        runs < MOST_RUNS,
        f"a difference of {difference} under a spread of {spread} takes {MOST_RUNS:,} runs and more",
    )
    return runs


def pilot_spread(values: ArrayLike, sure: float = 0.8) -> float:
    """Return the spread of pilot runs with a margin: the true one is below it in `sure` of all cases (normal values).

    The standard deviation of few runs is often much too small, and a number of runs computed from it then promises too
    much: half of all times, and more. Its upper limit keeps the promise in `sure` of all cases.

    Args:
        values: Array (runs,) of a pilot: differences of pairs, or the runs of one agent.
        sure: Between 0 and 1.

    Source:
        Browne (1995), On the use of a pilot sample for sample size determination, Statistics in Medicine 14, 1933-1940.

    >>> pilot = [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> round(float(np.std(pilot, ddof=1)), 2), round(pilot_spread(pilot), 2)
    (1.58, 2.46)
    """
    from scipy.stats import chi2

    values = _sample(values)
    arguments.share("sure", sure)
    freedom = len(values) - 1
    return float(values.std(ddof=1) * np.sqrt(freedom / chi2.ppf(1 - sure, freedom)))


# ---------------------------------------------------------------- arguments and results


def finite_matrix(
    name: str,
    values: ArrayLike,
    axes: tuple[str, str],
    rows: int = 1,
    columns: int = 1,
) -> np.ndarray:
    """Return values as a finite float64 array with these two axes last; ValueError if they aren't.

    Args:
        name: Name of the argument for the message.
        values: The values.
        axes: Names of the axes.
        rows, columns: The least number of each.
    """
    matrix = arguments.floats(name, values)
    if matrix.ndim < 2 or matrix.shape[-2] < rows or matrix.shape[-1] < columns:
        raise ValueError(
            f"{name} need the axes ({axes[0]}, {axes[1]}), at least {rows} by {columns}; "
            f"got shape {matrix.shape}"
        )
    if not np.isfinite(matrix).all():
        at = np.argwhere(~np.isfinite(matrix))[0]
        value = matrix[tuple(at)]
        raise ValueError(
            f"{name} are finite; {axes[0]} {at[-2]}, {axes[1]} {at[-1]} is {value}"
        )
    return matrix


def plain(value: Any) -> Any:
    """Return an array, or a float instead of an array without axes."""
    return float(value) if np.ndim(value) == 0 else value


def _sample(values) -> np.ndarray:
    values = arguments.floats("values", values)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(
            f"values are at least 2 finite values in one dimension; got {values!r:.60}"
        )
    return values


def _difference(ours, theirs) -> np.ndarray:
    ours = np.asarray(ours, float)
    theirs = np.asarray(theirs, float)
    arguments.demand(
        ours.shape == theirs.shape,
        f"paired runs are as many on both sides; got {ours.shape} and {theirs.shape}",
    )
    return ours - theirs
