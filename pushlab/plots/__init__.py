"""Pictures: one function a picture. Each takes a log, a table or frames, and returns a Matplotlib Figure or Axes.

They are drawn without pyplot, so they need no screen and leave nothing behind; in a notebook they show themselves as
the last expression of a cell. Beside each chart stands the table it is drawn from, for whoever cannot see it.

>>> from pushlab import plots
>>> sorted(plots.__all__)[:3]
['Stage', 'against_expert', 'arrival_table']
"""

from importlib import import_module

from pushlab.plots.inbox import inbox
from pushlab.plots.palette import series_styles
from pushlab.plots.patient import patient
from pushlab.plots.phone import phone
from pushlab.plots.room import room
from pushlab.plots.sheet import Stage, house_style, png, use_style
from pushlab.plots.shelf import preference_map, shelf

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
    "credit_scores": "credit",
    "retraining": "credit_training",
    "retraining_table": "credit_training",
    "promise": "credit_training",
    "estimator_spread": "offpolicy",
    "estimator_intervals": "offpolicy",
    "effect_estimates": "causal",
    "data_needed": "causal",
    "overlap": "causal",
    "policy_gains": "causal",
    "sweep_curve": "sweep",
    "sweep_table": "sweep",
    "learned_heatmap": "learned",
    "learned_heatmap_table": "learned",
    "study_curves": "studies",
    "study_differences": "studies",
    "policy_map": "policies",
    "policy_map_table": "policies",
    "trade_off": "policies",
    "trade_off_table": "policies",
    "reward_parts": "rewards",
    "reward_parts_table": "rewards",
    "lifetime_curve": "lifelong",
    "evaluation_blocks": "lifelong",
    "evaluation_table": "lifelong_tables",
    "against_expert": "lifelong_curves",
    "metric_on_curve": "lifelong",
    "report_sheet": "lifelong",
    "smoothed_curves": "lifelong_curves",
    "epidemic": "epidemics",
    "limits_to_growth": "world3",
    "limits_to_growth_table": "world3",
    "scorecard": "scorecards",
    "scorecard_table": "scorecards",
}

__all__ = ["Stage", "house_style", "inbox", "patient", "phone", "png", "preference_map", "room", "series_styles",
           "shelf", "use_style", *_ROOMS]


def __getattr__(name):
    if name in _ROOMS:
        return getattr(import_module(f"pushlab.plots.{_ROOMS[name]}"), name)
    raise AttributeError(f"module 'pushlab.plots' has no attribute {name!r}")


def __dir__():
    return sorted([*globals(), *_ROOMS])
