"""Pictures: one function a picture. Each takes a log, a table or frames, and returns a Matplotlib Figure or Axes.

They are drawn without pyplot, so they need no screen and leave nothing behind; in a notebook they show themselves as
the last expression of a cell. Beside each chart stands the table it is drawn from, for whoever cannot see it.
`__init__.pyi` lists them, each loaded when it is first asked for.

>>> from pushlab import plots
>>> sorted(plots.__all__)[:3]
['Stage', 'ability_radar', 'ability_table']
"""

import lazy_loader

# Where a picture has its file's name the file, imported by another one, would stand in its place.
from pushlab.plots.inbox import inbox as inbox
from pushlab.plots.phone import phone as phone
from pushlab.plots.room import room as room
from pushlab.plots.shelf import shelf as shelf

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
