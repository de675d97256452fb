"""How sure one may be: intervals of means, shares, grids and times, and what is left of them where there are many."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground import arguments


class Interval(NamedTuple):
    """A mean and the ends of its interval."""

    mean: Any               # float, or an array for arrays
    low: Any
    high: Any

    def __str__(self) -> str:
        return f"{self.mean:.3g} [{self.low:.3g}, {self.high:.3g}]"


def mean_interval(values: ArrayLike, level: float = 0.95) -> Interval:
    """Mean and Student's t interval of independent values, an Interval of floats.

    values  array (runs,), at least two runs; one run says nothing about its own spread
    level   coverage, between 0 and 1

    Source  Student (1908), The probable error of a mean, Biometrika 6(1), 1-25.

    >>> mean_interval([1.0, 2.0, 3.0])
    Interval(mean=2.0, low=-0.484, high=4.484)
    """
    values = np.asarray(values, float)
    if values.ndim != 1 or len(values) < 2 or not np.isfinite(values).all():
        raise ValueError(f"an interval needs at least 2 finite values in one dimension; got {values!r:.60}")
    mean, half = float(values.mean()), float(half_width(values.std(ddof=1), len(values), level))
    return Interval(mean, mean - half, mean + half)


def half_width(deviation: ArrayLike, count: ArrayLike, level: float = 0.95) -> Any:
    """Half the width of Student's t interval, for arrays of standard deviations (ddof 1) and numbers of values."""
    from scipy.stats import t

    arguments.share("level", level)
    return t.ppf((1 + level) / 2, np.maximum(np.asarray(count) - 1, 1)) * deviation / np.sqrt(count)


def share_interval(successes: ArrayLike, trials: ArrayLike, level: float = 0.95) -> Interval:
    """A share and its Wilson interval, an Interval of floats (or of arrays for arrays, which NumPy broadcasts).

    Source  Wilson (1927), Probable inference, the law of succession, J. Am. Stat. Assoc. 22, 209-212.

    >>> share = share_interval(5, 10)
    >>> round(share.mean, 3), round(share.low, 3), round(share.high, 3)
    (0.5, 0.237, 0.763)
    """
    from scipy.stats import norm

    arguments.share("level", level)
    successes, trials = np.broadcast_arrays(np.asarray(successes, float), np.asarray(trials, float))
    if not ((trials >= 1) & (successes >= 0) & (successes <= trials)).all():
        raise ValueError("a share needs at least one trial, and from 0 to as many successes")
    z, share = norm.ppf((1 + level) / 2), successes / trials
    centre = (share + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half = z / (1 + z**2 / trials) * np.sqrt(share * (1 - share) / trials + z**2 / (4 * trials**2))
    ends = (share, centre - half, centre + half)
    return Interval(*(float(end) for end in ends) if np.ndim(successes) == 0 else ends)


def paired_interval(ours: ArrayLike, theirs: ArrayLike, level: float = 0.95) -> Interval:
    """Interval of the mean difference of runs paired by seed: the same users, the same contexts, another agent.

    >>> paired_interval([2.0, 3.0, 4.0], [1.0, 2.5, 3.0]).mean.__round__(3)
    0.833
    """
    ours, theirs = np.asarray(ours, float), np.asarray(theirs, float)
    if ours.shape != theirs.shape:
        raise ValueError(f"paired runs are as many on both sides; got {ours.shape} and {theirs.shape}")
    return mean_interval(ours - theirs, level)


def crossed_interval(values: ArrayLike, theirs: ArrayLike | None = None, level: float = 0.95) -> Interval:
    """Interval of the mean of a grid in which two sources of chance cross, such as seeds and days: an Interval.

    Every seed meets the same days, so that the mean over days of one seed says nothing about other days: the t
    interval over the rows alone, with strong days, holds the truth in half of all cases or fewer. This one ranges over
    both: over new rows and new columns.

    values  array (first source, second source), one number a pair, such as (seeds, days) or (trainings, test runs);
            at least two of each
    theirs  the same of another agent, with the same rows and columns: the interval is that of the mean difference

    Two-way random effects: value = mean + row + column + rest, of which the variance of the grand mean is
    (A + B - E) / (rows x columns), with the mean squares A between rows, B between columns and E of the rest; never
    less than A or B alone would say; degrees of freedom after Satterthwaite (1946), at least the smaller source's.
    The pigeonhole bootstrap, which resamples rows and columns (Owen 2007), estimates the same variance, but counts the
    rest about three times and, with few rows, the rows too little: its percentiles at 5 x 20 hold the truth in 83 of
    100 cases where rows differ most, and in 99 where nothing but the rest does. Of this one it is 94 to 99; with only
    four rows it may be 93.

    Source  Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411, for the problem;
            Satterthwaite (1946), An approximate distribution of estimates of variance components, Biometrics
            Bulletin 2(6), 110-114

    >>> crossed_interval([[1.0, 3.0], [1.0, 3.0], [1.0, 3.0]])             # two days, whatever the seed: t over days
    Interval(mean=2.0, low=-10.706, high=14.706)
    """
    from scipy.stats import t

    arguments.share("level", level)
    grid = crossed_grid(values, theirs)
    mean, variance, freedom = (float(one) for one in _crossed(grid))
    half = float(t.ppf((1 + level) / 2, freedom)) * variance ** 0.5
    return Interval(mean, mean - half, mean + half)


def crossed_grid(values: ArrayLike, theirs: ArrayLike | None = None) -> np.ndarray:
    """The grid of `values`, less that of `theirs` where there is one, float64 (rows, columns)."""
    grid = np.asarray(values, float)
    if theirs is not None:
        theirs = np.asarray(theirs, float)
        if theirs.shape != grid.shape:
            raise ValueError(f"paired grids have the same rows and columns; got {grid.shape} and {theirs.shape}")
        grid = grid - theirs
    if grid.ndim != 2 or min(grid.shape) < 2:
        raise ValueError(f"a crossed interval needs a grid of at least 2 rows and 2 columns; got shape {grid.shape}")
    if not np.isfinite(grid).all():
        row, column = np.argwhere(~np.isfinite(grid))[0].tolist()
        raise ValueError(f"a crossed interval needs finite values; row {row}, column {column} is {grid[row, column]}")
    return grid


def _crossed(grid):
    """Mean, its variance and the degrees of freedom of grids (…, rows, columns), three arrays (…)."""
    rows, columns = grid.shape[-2:]
    freedom = np.array([rows - 1, columns - 1, (rows - 1) * (columns - 1)])
    by_row, by_column = grid.mean(axis=-1, keepdims=True), grid.mean(axis=-2, keepdims=True)
    mean = grid.mean(axis=(-2, -1), keepdims=True)
    parts = (by_row - mean, by_column - mean, grid - by_row - by_column + mean)
    sums = [size * (part ** 2).sum(axis=(-2, -1)) for size, part in zip((columns, rows, 1), parts)]
    squares = np.stack(sums, axis=-1) / freedom
    between_rows, between_columns, rest = np.moveaxis(squares, -1, 0)
    total = np.maximum(between_rows + between_columns - rest, np.maximum(between_rows, between_columns))
    spread = (squares ** 2 / freedom).sum(axis=-1)
    ours = np.maximum(total ** 2 / np.where(spread > 0, spread, 1), min(rows, columns) - 1)
    return mean[..., 0, 0], total / (rows * columns), ours


# ---------------------------------------------------------------- times that are not always reached

class MedianTime(NamedTuple):
    """A median time and the ends of its interval, inf where half was never reached; `watched` is the longest look."""

    median: float
    low: float
    high: float
    watched: float

    def __str__(self) -> str:
        median, low, high = (f"{end:.3g}" if end < self.watched else f"{self.watched:g} or more" for end in self[:3])
        return median if low == high else f"{median} [{low}, {high}]"


def median_time(times: ArrayLike, watched: ArrayLike, level: float = 0.95) -> MedianTime:
    """Median of times of which some were not reached while one watched, a MedianTime.

    A mean of such times means nothing: what was not reached counts with the length of the look. The median is where
    the Kaplan-Meier curve, the share not yet there, falls to one half; where it stays at one half for a while, the
    middle of that, as for the median of an even number of values; inf where it never gets below.

    times    array, when each was reached, inf where it was not
    watched  how long each was watched, an array as long, or one number; what was not reached takes at least so long
    level    coverage of the interval from order statistics, exact without censoring: what was not reached is taken for
             reached at once after for the lower end, and for never for the upper. With fewer than 6 times at 95 % it
             is from 0 to inf

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
    if times.ndim != 1 or not len(times) or np.isnan(times).any() or not (np.isfinite(watched) & (watched >= 0)).all():
        raise ValueError("a median time needs times, inf where not reached, and for how long each was watched; got "
                         f"{times!r:.60} and {watched!r:.60}")
    reached = np.isfinite(times)
    if (times[reached] > watched[reached]).any() or (times < 0).any():
        raise ValueError("times lie between 0 and how long each was watched; what is reached later is inf")
    least = np.where(reached, times, watched)
    curve = ecdf(CensoredData.right_censored(least, ~reached)).sf
    at, share = np.append(curve.quantiles, np.inf), np.append(curve.probabilities, 0.0)
    half, below = at[np.argmax(share < 0.5 + 1e-9)], at[np.argmax(share < 0.5 - 1e-9)]
    rank = int(binom.ppf((1 - level) / 2, len(times), 0.5))              # the rank-th smallest and largest, from 1
    low, high = (float(np.sort(least)[rank - 1]), float(np.sort(times)[-rank])) if rank else (0.0, np.inf)
    return MedianTime(float((half + below) / 2), low, high, float(watched.max()))


# ---------------------------------------------------------------- many comparisons

def simultaneous(samples: Mapping[str, Any] | Sequence, level: float = 0.95, interval: Callable = mean_interval) -> Any:
    """Intervals widened so that all of them hold together in `level` of all cases: {name: Interval}, or a list.

    Of k intervals at 95 % each, about k / 20 miss, and the more are shown the likelier it is that one of them does.
    After Bonferroni each is drawn at 1 - (1 - level) / k, which is right whatever the samples share.

    samples   {name: values}, or a list of values; for pairs the differences. Values are what `interval` takes: an
              array (runs,), or a grid for `crossed_interval`
    interval  a function of values and level

    Source  Dunn (1961), Multiple comparisons among means, J. Am. Stat. Assoc. 56, 52-64

    >>> simultaneous({"a": [1.0, 2.0, 3.0]})["a"] == mean_interval([1.0, 2.0, 3.0])
    True
    >>> simultaneous([[1.0, 2.0, 3.0], [5.0, 6.0, 7.0]])[1] == mean_interval([5.0, 6.0, 7.0], level=0.975)
    True
    """
    arguments.share("level", level)
    if not len(samples):
        raise ValueError("there is nothing to compare: samples is {name: values} or a list of values")
    each = 1 - (1 - level) / len(samples)
    if hasattr(samples, "items"):
        return {name: interval(values, level=each) for name, values in samples.items()}
    return [interval(values, level=each) for values in samples]


def holm(p_values: ArrayLike) -> np.ndarray:
    """p values adjusted for being many, an array in the same order: below 0.05, with at most 5 % risk of one wrong.

    The smallest of k is multiplied by k, the next by k - 1, and so on; none falls below one before it, nor above 1.

    Source  Holm (1979), A simple sequentially rejective multiple test procedure, Scand. J. Statistics 6(2), 65-70

    >>> holm([0.01, 0.04, 0.03]).round(2).tolist()
    [0.03, 0.06, 0.06]
    """
    p_values = np.asarray(p_values, float)
    if p_values.ndim != 1 or not ((p_values >= 0) & (p_values <= 1)).all():
        raise ValueError(f"p values lie between 0 and 1, in one dimension; got {p_values!r:.60}")
    order = np.argsort(p_values, kind="stable")
    adjusted = np.maximum.accumulate(p_values[order] * np.arange(len(p_values), 0, -1))
    return np.minimum(adjusted, 1)[np.argsort(order, kind="stable")]


def leader(samples: Mapping[str, Any], higher: bool = True, level: float = 0.95) -> str | None:
    """The name of the one that is ahead of all others, as far as the intervals of the differences say so; else None.

    Titles and captions made from data ask this before they say who is highest. The mean that is furthest ahead is held
    against each other one, at the level that `simultaneous` would give so many comparisons.

    samples  {name: array (runs,)}, or grids (rows, columns) of one shape for `crossed_interval`; as many runs on both
             sides are paired in their order, where numbers differ the interval is Welch's. One run, or a value that is
             not finite, gives no interval and no leader
    higher   False where less is better

    Source  Welch (1947), The generalization of "Student's" problem, Biometrika 34, 28-35, for unequal numbers

    >>> leader({"a": [1.0, 2.0, 3.0], "b": [0.0, 1.1, 1.9]}), leader({"a": [1.0, 2.0, 3.0], "b": [0.0, 3.0, 2.0]})
    ('a', None)
    """
    arguments.share("level", level)
    samples = {name: np.asarray(values, float) * (1 if higher else -1) for name, values in samples.items()}
    if len(samples) < 2 or not all(values.size and np.isfinite(values).all() for values in samples.values()):
        return None
    first = max(samples, key=lambda name: samples[name].mean())
    each = 1 - (1 - level) / (len(samples) - 1)
    ahead = (_gain(samples[first], values, each) > 0 for name, values in samples.items() if name != first)
    return first if all(ahead) else None


def _gain(ours, theirs, level):
    """The lower end of the interval of the difference; NaN where there is no interval."""
    if min(*ours.shape, *theirs.shape) < 2:
        return np.nan
    if ours.shape == theirs.shape:
        return (mean_interval if ours.ndim == 1 else crossed_interval)(ours - theirs, level=level).low
    if ours.ndim > 1 or theirs.ndim > 1:
        return np.nan
    from scipy.stats import ttest_ind

    return ttest_ind(ours, theirs, equal_var=False).confidence_interval(level).low
