"""Pictures: one function a picture. Each takes a log, a table or frames, and returns a Matplotlib Figure or Axes.

They are drawn without pyplot, so they need no screen and leave nothing behind; in a notebook they show themselves as
the last expression of a cell. Beside each chart stands the table it is drawn from, for whoever cannot see it.

>>> from pushlab import plots
>>> sorted(plots.__all__)[:3]
['Stage', 'against_expert', 'arrival_table']
"""

from importlib import import_module
from typing import Any

from pushlab.plots.inbox import inbox
from pushlab.plots.palette import series_styles
from pushlab.plots.patient import patient
from pushlab.plots.phone import phone
from pushlab.plots.room import room
from pushlab.plots.sheet import Stage, house_style, png, use_style
from pushlab.plots.shelf import preference_map, shelf

# Pictures of tables need pandas, which is loaded with the first of them: {file: what it has}.
_ROOMS = {
    "causal": ("data_needed", "effect_estimates", "overlap", "policy_gains"),
    "credit": ("credit_scores", "promise", "retraining", "retraining_table"),
    "curves": ("compare_policies", "curve_table", "learning_curve", "policy_table"),
    "days": ("arrival_table", "arrivals", "day_lanes", "day_table"),
    "epidemics": ("epidemic",),
    "learned": ("learned_heatmap", "learned_heatmap_table"),
    "lifelong": ("evaluation_blocks", "lifetime_curve", "metric_on_curve", "report_sheet"),
    "lifelong_curves": ("against_expert", "smoothed_curves"),
    "lifelong_tables": ("evaluation_table",),
    "numbers": ("numbers",),
    "offpolicy": ("estimator_intervals", "estimator_spread"),
    "policies": ("policy_map", "policy_map_table", "trade_off", "trade_off_table"),
    "rates": ("open_heatmap", "open_heatmap_table", "open_rate_table", "open_rates"),
    "rewards": ("reward_parts", "reward_parts_table"),
    "scorecards": ("scorecard", "scorecard_table"),
    "studies": ("study_curves", "study_differences"),
    "sweep": ("sweep_curve", "sweep_table"),
    "world3": ("limits_to_growth", "limits_to_growth_table"),
}
_ROOM_OF = {name: room for room, names in _ROOMS.items() for name in names}

__all__ = ["Stage", "house_style", "inbox", "patient", "phone", "png", "preference_map", "room", "series_styles",
           "shelf", "use_style", *_ROOM_OF]


def __getattr__(name: str) -> Any:
    if name in _ROOM_OF:
        return getattr(import_module(f"pushlab.plots.{_ROOM_OF[name]}"), name)
    raise AttributeError(f"module 'pushlab.plots' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_ROOM_OF])
