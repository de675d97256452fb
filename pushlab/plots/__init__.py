"""Pictures: one function a picture. Each takes a log, a table or frames, and returns a Matplotlib Figure or Axes.

They are drawn without pyplot, so they need no screen and leave nothing behind; in a notebook they show themselves as
the last expression of a cell. Beside each chart stands the table it is drawn from, for whoever cannot see it.

>>> from pushlab import plots
>>> sorted(plots.__all__)[:3]
['Stage', 'arrival_table', 'arrivals']
"""

from importlib import import_module

from pushlab.plots.palette import series_styles
from pushlab.plots.phone import phone
from pushlab.plots.sheet import Stage, house_style, png, use_style

# Pictures of tables need pandas, which is loaded with the first of them.
_ROOMS = {
    "learning_curve": "curves",
    "curve_table": "curves",
    "compare_policies": "curves",
    "policy_table": "curves",
    "arrivals": "days",
    "arrival_table": "days",
    "day_lanes": "days",
    "day_table": "days",
    "open_rates": "rates",
    "open_rate_table": "rates",
    "open_heatmap": "rates",
    "open_heatmap_table": "rates",
}

__all__ = ["Stage", "house_style", "phone", "png", "series_styles", "use_style", *_ROOMS]


def __getattr__(name):
    if name in _ROOMS:
        return getattr(import_module(f"pushlab.plots.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'pushlab.plots' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_ROOMS])
