"""How far estimates lie from the truth: off-policy estimators side by side."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.plots.kit import span
from pushlab.plots.palette import BLUE, GREY, ORANGE, PAPER, SMALL, TEXT
from pushlab.plots.rows import Rows
from pushlab.plots.sheet import MARGIN, Stage, Words, house_style
from pushlab.plots.words import short_number

PITCH, LEFT, RIGHT = 42, 206, 202       # height of a row; where the chart begins and ends, from the sides


@house_style()
def estimator_spread(estimates: pd.DataFrame, truth: float, title: Words = None, lead: str = "",
                     unit: str = "estimated reward per episode", figure: Figure | None = None) -> Axes:
    """Each estimator over many logs: thin line the middle 95 % of its estimates, thick the middle half, dot the mean.

    estimates  DataFrame with a row an estimate: estimator, value, low, high
    truth      the true value, drawn as a dashed line
    returns    Axes on a sheet of 7.4 inches by as many as the rows need
    """
    groups = dict(list(estimates.groupby("estimator", sort=False)))
    rows = _rows(len(groups), title or "Where the estimates of many logs lie", lead, unit, figure)
    for row, (name, found) in enumerate(groups.items()):
        values, colour = found["value"].to_numpy(float), _colour(name)
        lowest, low, high, highest = np.quantile(values, [0.025, 0.25, 0.75, 0.975])
        rows.interval(row, lowest, highest, colour, lw=1.6, solid_capstyle="round")
        rows.interval(row, low, high, colour, lw=6, zorder=5)
        rows.dot(row, values.mean(), colour, hollow=True, mew=1.8)
        covers = ((found["low"] <= truth) & (truth <= found["high"])).mean()
        error = np.sqrt(((values - truth) ** 2).mean())
        rows.say(row, name, f"off by {short_number(error)}, covers {100 * covers:.0f} %", colour)
    return _finish(rows, estimates["value"], truth)


@house_style()
def estimator_intervals(estimates: pd.DataFrame, truth: float | None, title: Words = None, lead: str = "",
                        unit: str = "estimated reward per episode", figure: Figure | None = None) -> Axes:
    """The estimates of one log with their intervals, beside the true value where it is known (else None).

    estimates  DataFrame with a row an estimator: estimator, value, low, high
    returns    Axes on a sheet of 7.4 inches by as many as the rows need
    """
    rows = _rows(len(estimates), title or "What one log says", lead, unit, figure)
    for row, line in enumerate(estimates.itertuples()):
        colour = _colour(line.estimator)
        rows.interval(row, line.low, line.high, colour, solid_capstyle="round")
        rows.dot(row, line.value, colour, mec=PAPER, mew=1.2)
        words = f"{short_number(line.value)}, {short_number(line.low)} to {short_number(line.high)}"
        rows.say(row, line.estimator, words, colour)
    return _finish(rows, estimates[["low", "high"]], truth)


def _colour(name):
    """Grey for what ignores the question, orange for a model alone, blue for what weighs."""
    return {"naive": GREY, "direct method": ORANGE}.get(name, BLUE)


def _rows(count, title, lead, unit, figure):
    stage = Stage(740, 168 + PITCH * count, figure)
    stage.heading(title, lead, title_lines=1)
    stage.text(MARGIN, 82, unit, SMALL, TEXT)
    return Rows(stage, count, PITCH, 112, LEFT, RIGHT)


def _finish(rows, values, truth):
    """Limits that hold nearly all of what is drawn, and the truth."""
    values = np.append(values, [] if truth is None else truth)
    span(rows.ax.xaxis, *np.quantile(values[np.isfinite(values)], [0.002, 0.998]), 5)
    if truth is not None:
        rows.upright(truth, f"truth {short_number(truth)}", edge=0.5)
    return rows.ax
