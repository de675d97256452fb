"""Pictures: each function takes a log, a table or frames, and returns a Matplotlib Figure.

Figures are drawn without pyplot, so they need no screen and leave nothing behind; in a notebook a figure shows itself
as the last expression of a cell. `__init__.pyi` lists the pictures, each loaded when it is first used.

>>> from pushlab import plots
>>> sorted(plots.__all__)[:3]
['Stage', 'ability_radar', 'ability_table']
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
