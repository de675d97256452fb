"""Plots: each function takes a log, a table or frames, and returns a Matplotlib Figure.

Figures don't use pyplot, so they need no display and leave no global state. A notebook displays the figure that ends a
cell. `__init__.pyi` lists the functions; each is imported on first use.

>>> from pushlab import plots
>>> sorted(plots.__all__)[:3]
['Stage', 'ability_scores', 'ability_table']
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
