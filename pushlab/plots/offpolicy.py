"""How far estimates lie from the truth: off-policy estimators side by side."""

import numpy as np

from pushlab.plots.kit import set_ticks, ticks_around
from pushlab.plots.palette import BLUE, GREY, INK, LEAD, ORANGE, PAPER, SMALL, TEXT, TICK, deep
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import short_number

PITCH, LEFT, RIGHT = 42, 206, 180       # height of a row; where the chart begins; room for words on its right


@house_style()
def estimator_spread(estimates, truth, title=None, lead="", unit="estimated reward per episode", figure=None):
    """Each estimator over many logs: thin line the middle 95 % of its estimates, thick the middle half, dot the mean.

    estimates  DataFrame with a row an estimate: estimator, value, low, high
    truth      the true value, drawn as a dashed line
    returns    Axes on a sheet of 7.4 inches by as many as the rows need
    """
    groups = {name: rows for name, rows in estimates.groupby("estimator", sort=False)}
    stage, ax = _sheet(list(groups), title or "Where the estimates of many logs lie", lead, unit, figure)
    for row, (name, rows) in enumerate(groups.items()):
        values, colour = rows["value"].to_numpy(float), _colour(name)
        ends = np.quantile(values, [0.025, 0.25, 0.75, 0.975])
        ax.plot(ends[[0, 3]], (row, row), color=colour, lw=1.6, ls="-", zorder=4)
        ax.plot(ends[[1, 2]], (row, row), color=colour, lw=6, ls="-", solid_capstyle="butt", zorder=5)
        ax.plot(values.mean(), row, "o", ms=7, mfc=PAPER, mec=colour, mew=1.8, zorder=6)
        covers = ((rows["low"] <= truth) & (truth <= rows["high"])).mean()
        error = np.sqrt(((values - truth) ** 2).mean())
        _say(stage, row, f"off by {short_number(error)}, covers {100 * covers:.0f} %", colour)
    _finish(ax, estimates["value"], truth, len(groups))
    return ax


@house_style()
def estimator_intervals(estimates, truth, title=None, lead="", unit="estimated reward per episode", figure=None):
    """The estimates of one log with their intervals, beside the true value where it is known (else None).

    estimates  DataFrame with a row an estimator: estimator, value, low, high
    returns    Axes on a sheet of 7.4 inches by as many as the rows need
    """
    stage, ax = _sheet(list(estimates["estimator"]), title or "What one log says", lead, unit, figure)
    for row, line in enumerate(estimates.itertuples()):
        colour = _colour(line.estimator)
        ax.plot((line.low, line.high), (row, row), color=colour, lw=2.4, ls="-", zorder=4)
        ax.plot(line.value, row, "o", ms=7, mfc=colour, mec=PAPER, mew=1.2, zorder=6)
        _say(stage, row, f"{short_number(line.value)}, {short_number(line.low)} to {short_number(line.high)}", colour)
    _finish(ax, estimates[["low", "high"]].to_numpy(), truth, len(estimates))
    return ax


def _colour(name):
    """Grey for what ignores the question, orange for a model alone, blue for what weighs."""
    return {"naive": GREY, "direct method": ORANGE}.get(name, BLUE)


def _sheet(names, title, lead, unit, figure):
    stage = Stage(740, 134 + PITCH * len(names) + 34, figure)
    stage.heading(title, lead, title_lines=1)
    stage.text(MARGIN, 82, unit, SMALL, TEXT)
    ax = stage.axes(LEFT, 112, 740 - LEFT - RIGHT - 22, PITCH * len(names))
    ax.grid(False)
    ax.grid(True, axis="x")
    for row, name in enumerate(names):
        stage.text(MARGIN, 112 + PITCH * (row + .5), fit(plain(name), LEFT - MARGIN - 12, LEAD, "bold"), LEAD,
                   deep(_colour(name)), "bold")
    return stage, ax


def _say(stage, row, words, colour):
    stage.text(740 - MARGIN, 112 + PITCH * (row + .5), fit(words, RIGHT - 8, LEAD), LEAD, deep(colour), align="right")


def _finish(ax, values, truth, rows):
    """Limits that hold nearly all of what is drawn, ticks, and the truth."""
    values = np.append(np.ravel(values), [] if truth is None else truth)
    ticks = ticks_around(*np.quantile(values[np.isfinite(values)], [0.002, 0.998]), 5)
    ax.set(xlim=(ticks[0], ticks[-1]), ylim=(rows - 0.5, -0.5))
    ax.yaxis.set_ticks([])
    set_ticks(ax.xaxis, ticks)
    if truth is not None:
        ax.axvline(truth, color=INK, lw=1.6, ls=(0, (4, 2.2)), zorder=3)
        words = f"truth {short_number(truth)}"
        near_end = truth > np.mean(ax.get_xlim()) and text_width(words, TICK) > 30
        ax.annotate(words, (truth, 1), (0, 4), xycoords=("data", "axes fraction"), textcoords="offset points",
                    size=TICK, color=INK, ha="right" if near_end else "left")
