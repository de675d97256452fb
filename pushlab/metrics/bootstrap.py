"""Intervals of any statistic, by drawing anew from what was seen."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pushlab.ground.arguments import share
from pushlab.metrics.estimate import Interval, crossed_grid


def crossed_bootstrap(values: ArrayLike, statistic: Callable = np.mean, theirs: ArrayLike | None = None,
                      level: float = 0.95, resamples: int = 1000, seed: int = 0) -> Interval:
    """Interval of any statistic of a crossed grid by the pigeonhole bootstrap: an Interval around its value.

    Rows and columns are drawn anew, each with replacement and one fewer than there are (as many would make the spread
    too small), and the statistic is taken of the grid where they meet; the interval are percentiles. For a mean
    `estimate.crossed_interval` is to be preferred. Of a mean under strong days this one holds the truth in 94 of 100
    cases, with 20 x 28, 10 x 28 and 5 x 20 alike; where most of the spread is between five rows in 87, since
    percentiles know nothing of how badly five values tell their spread, and where rows and columns are all alike in
    nearly all.

    values, theirs, level   as in `crossed_interval`; the statistic is of the differences
    statistic               function of a grid (rows, columns) → float, such as np.median

    Source  Owen (2007), The pigeonhole bootstrap, Annals of Applied Statistics 1(2), 386-411

    >>> grid = np.arange(12.0).reshape(3, 4)
    >>> crossed_bootstrap(grid, np.median).mean, crossed_bootstrap(grid, theirs=grid)
    (5.5, Interval(mean=0.0, low=0.0, high=0.0))
    """
    share("level", level)
    grid = crossed_grid(values, theirs)
    rng, (rows, columns) = np.random.default_rng(seed), grid.shape
    drawn = [statistic(grid[np.ix_(rng.integers(rows, size=rows - 1), rng.integers(columns, size=columns - 1))])
             for _ in range(resamples)]
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(statistic(grid)), float(low), float(high))
