"""Uncertainty of few runs: intervals, statistics of many tasks, tests, and the number of runs needed.

- `intervals`: means, pairs, proportions, grids with two sources of chance, times that are not always reached; many
  comparisons together; the number of runs that detects a difference
- `scores`: statistics of scores (runs, tasks) with bootstrap intervals, a permutation test, and the tables that
  `pushlab.plots` draws

The coverage of each interval was simulated: `data/studies/coverage.csv`.

>>> from pushlab.metrics import estimate
>>> estimate.interquartile_mean([[0.0, 1.0], [2.0, 9.0]])
1.5
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
