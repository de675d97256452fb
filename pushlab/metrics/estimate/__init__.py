"""How sure one may be after few runs: intervals, statistics of many tasks, tests, and how many runs it takes.

    intervals     means, differences of pairs, shares
    crossed       means of a grid in which two sources of chance cross, such as seeds and days
    times         medians of times that are not always reached
    scores        statistics of scores (runs, tasks): interquartile mean, optimality gap, profile, improvement
    bootstrap     intervals of any statistic, by drawing anew from what was seen
    comparisons   many comparisons at once, who is ahead, and a test that permutes
    planning      how many runs a difference takes
    tables        these by agent, as the pictures of `pushlab.plots` draw them

How often each interval holds the truth was simulated: `data/studies/coverage.csv`. `__init__.pyi` lists what there is.

>>> from pushlab.metrics import estimate
>>> estimate.interquartile_mean([[0.0, 1.0], [2.0, 9.0]])
1.5
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
