"""How sure one can be after few runs: intervals, statistics of many tasks, tests, and how many
runs it takes.

- `intervals`: means, pairs, shares, grids in which two sources of chance cross, times that are not
  always reached; many comparisons at once; how many runs a difference takes
- `scores`: statistics of scores (runs, tasks) with bootstrap intervals, a permutation test, and the
  tables that `pushlab.plots` draws

How often each interval holds the truth was simulated: `data/studies/coverage.csv`. `__init__.pyi`
lists the names.

>>> from pushlab.metrics import estimate
>>> estimate.interquartile_mean([[0.0, 1.0], [2.0, 9.0]])
1.5
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
