"""Effects: estimates against the truth, how much data they need, whom a log treated, and what learning from it gains.

Each picture is drawn from a table that `pushlab.causal` makes.
"""

import numpy as np

from pushlab.plots.kit import end_labels, set_ticks, ticks_around
from pushlab.plots.palette import (
    BAND,
    BLUE,
    BOUND_DASH,
    DASHES,
    GREY,
    INK,
    LEAD,
    MARKERS,
    ORANGE,
    PAPER,
    PURPLE,
    SKY,
    SMALL,
    TEXT,
    TICK,
    deep,
)
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import short_number

LOOKS = {                               # estimators keep their place; one that is not known takes the last
    "difference in means": (GREY, DASHES[4], "D"), "regression": (ORANGE, DASHES[1], "s"),
    "inverse weighting": (PURPLE, DASHES[2], "^"), "doubly robust": (BLUE, DASHES[0], "o"),
}
OTHER = (SKY, DASHES[3], MARKERS[3])
AGENTS = {"regression": ORANGE, "curved regression": PURPLE, "doubly robust": BLUE}
PITCH, LEFT, RIGHT = 30, 190, 188       # height of a row; where the chart begins; room for words on its right


# ---------------------------------------------------------------- estimates against the truth

@house_style()
def effect_estimates(tables, title=None, lead="", unit="estimated average effect", figure=None):
    """Estimates with their intervals against the true effect, one block of rows for each data set.

    tables   {name of a data set: table of `pushlab.causal.compare`}, or one such table
    returns  Axes on a sheet of 7.4 inches by as many as the rows need; intervals that miss the truth are hollow. Where
             nobody knows the truth none is drawn
    """
    tables = tables if isinstance(tables, dict) else {"": tables}
    head = 26 if any(tables) else 0
    high = sum(head + PITCH * len(table) + 10 for table in tables.values())
    held = [covers for table in tables.values() for covers in table["covers"] if covers is not None]
    said = f"{sum(held)} of {len(held)} intervals hold the true effect" if held else "What the estimators say"
    stage = Stage(740, 118 + high + 34, figure)
    stage.heading(title or said, lead, title_lines=1)
    stage.text(MARGIN, 82, unit, SMALL, TEXT)
    ax = _rows_axes(stage, 108, high)
    values = np.concatenate([table[["low", "high", "truth"]].to_numpy(float).ravel() for table in tables.values()])
    y, truths, number = 0, [], _writer(values)
    for name, table in tables.items():
        if name:                        # on the chart, so that its lines stay behind the words
            ax.annotate(fit(plain(name), 740 - 2 * MARGIN, LEAD), (0, y + 17), (0.72 * (MARGIN - LEFT), 0), size=LEAD,
                        color=TEXT, xycoords=("axes fraction", "data"), textcoords="offset points",
                        bbox={"fc": PAPER, "ec": "none", "pad": 1.5}, annotation_clip=False, zorder=8)
        y += head
        for line in table.itertuples():
            _draw_estimate(stage, ax, line, y + PITCH / 2, 108, number)
            y += PITCH
        if np.isfinite(table["truth"].iloc[0]):
            truths.append((table["truth"].iloc[0], y - PITCH * len(table), y))
        y += 10
    _limits(ax, np.append(values, 0.0), high)
    ax.axvline(0, color=TEXT, lw=0.8, zorder=1)
    for truth, top, bottom in truths:
        ax.plot((truth, truth), (top, bottom), color=INK, lw=1.6, ls=BOUND_DASH, zorder=3)
    if truths:
        _name_line(ax, truths[0][0], f"true effect {number(truths[0][0])}")
    return ax


def _writer(values):
    """A function that writes numbers with the decimals that tell `values` apart: about three figures of the largest."""
    most = float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
    digits = int(np.clip(2 - np.floor(np.log10(most)), 0, 8)) if most > 0 else 0
    if most >= 1e6:
        return short_number
    return lambda value: f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _draw_estimate(stage, ax, line, y, top, number):
    colour, _, marker = LOOKS.get(line.estimator, OTHER)
    ax.plot((line.low, line.high), (y, y), color=colour, lw=2.4, ls="-", zorder=4, solid_capstyle="butt")
    filled = line.covers is None or line.covers
    ax.plot(line.estimate, y, marker, ms=7, mfc=colour if filled else PAPER, mec=colour, mew=1.6, zorder=6)
    stage.text(MARGIN, top + y, fit(plain(line.estimator), LEFT - MARGIN - 12, LEAD, "bold"), LEAD, deep(colour),
               "bold")
    words = f"{number(line.estimate)}, {number(line.low)} to {number(line.high)}"
    stage.text(740 - MARGIN, top + y, fit(words, RIGHT - 8, LEAD), LEAD, deep(colour), align="right")


def _rows_axes(stage, top, high):
    ax = stage.axes(LEFT, top, stage.width - LEFT - RIGHT - 22, high)
    ax.grid(False)
    ax.grid(True, axis="x")
    ax.patch.set_visible(False)         # words of the stage run beneath
    return ax


def _limits(ax, values, high):
    values = values[np.isfinite(values)]
    ticks = ticks_around(values.min(), values.max(), 5)
    ax.set(xlim=(ticks[0], ticks[-1]), ylim=(high, 0))
    ax.yaxis.set_ticks([])
    set_ticks(ax.xaxis, ticks)


def _name_line(ax, x, words, colour=INK):
    """The name of an upright line above its top, kept within the chart."""
    low, high = ax.get_xlim()
    share = (x - low) / (high - low)
    align = "left" if share < 0.2 else "right" if share > 0.8 else "center"
    ax.annotate(words, (x, 1), (0, 4), xycoords=("data", "axes fraction"), textcoords="offset points", size=TICK,
                color=colour, ha=align)


# ---------------------------------------------------------------- how much data

@house_style()
def data_needed(table, title=None, lead="", figure=None):
    """Error and coverage of each estimator over the number of units.

    table    of `pushlab.causal.by_size`: n, estimator, rmse, truth, covers, covers_low, covers_high
    returns  Axes (that of the error) on a sheet of 9 x 4.2 inches
    """
    if not len(table):
        raise ValueError("there are no sizes: the table is empty")
    names = list(dict.fromkeys(table["estimator"]))
    sizes = sorted(set(table["n"]))
    best = table[table["n"] == sizes[-1]].sort_values("rmse").iloc[0]
    stage = Stage(900, 396, figure)
    error_of = _writer(np.array([best["rmse"]]))(best["rmse"])
    said = f"With {sizes[-1]:,} units {plain(best['estimator'])} is off by {error_of}"
    stage.heading(title or said, lead or f"{_draws(table)} data sets of each size", title_lines=1)
    stage.label(MARGIN, 84, "root mean squared error")
    stage.label(528, 84, "share of 95 % intervals that hold the truth")
    room = max(text_width(name, TICK, "bold") for name in names) + 16
    error = stage.axes(84, 108, 900 - 84 - room - 400, 240, xscale="log", yscale="log")
    cover = stage.axes(560, 108, 900 - 560 - MARGIN - 10, 240, xscale="log")
    cover.axhspan(0.90, 0.99, color=BLUE, alpha=BAND / 2, lw=0)
    cover.axhline(0.95, color=INK, lw=1.6, ls=BOUND_DASH)
    labels = []
    for name in names:
        line, (colour, dash, marker) = table[table["estimator"] == name].sort_values("n"), LOOKS.get(name, OTHER)
        error.plot(line["n"], line["rmse"], color=colour, ls=dash, marker=marker, ms=5)
        cover.vlines(line["n"], line["covers_low"], line["covers_high"], color=colour, alpha=.45, lw=3)
        cover.plot(line["n"], line["covers"], color=colour, ls=dash, marker=marker, ms=5)
        labels.append((line["n"].iloc[-1], line["rmse"].iloc[-1], name, colour, "bold"))
    for ax in (error, cover):
        ax.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        ax.minorticks_off()
        set_ticks(ax.xaxis, sizes[::-1][::1 + len(sizes) // 6][::-1], "units")
    _log_ticks(error, table["rmse"])
    cover.set_ylim(0, 1.02)
    set_ticks(cover.yaxis, (0, .25, .5, .75, .95))
    _end_labels_on_log(error, labels)
    return error


def _draws(table):
    return f"{int(table['draws'].iloc[0]):,}" if "draws" in table else "several"


def _log_ticks(ax, values):
    """Ticks 1, 2, 5 of each power of ten around the values."""
    low, high = np.log10(np.min(values)), np.log10(np.max(values))
    steps = np.array([m * 10.0**p for p in range(int(np.floor(low)) - 1, int(np.ceil(high)) + 1) for m in (1, 2, 5)])
    inside = steps[(steps >= 10**low / 1.6) & (steps <= 10**high * 1.6)]
    ax.set_ylim(min(inside[0], 10**low / 1.15), max(inside[-1], 10**high * 1.15))
    set_ticks(ax.yaxis, inside if len(inside) <= 7 else inside[::2])


def _end_labels_on_log(ax, labels):
    """`end_labels` spreads heights on a straight axis; here the axis is logarithmic, so it gets a straight twin."""
    twin = ax.twinx()
    low, high = np.log10(ax.get_ylim())
    twin.set(ylim=(low, high))
    twin.set_axis_off()
    end_labels(twin, [(x, np.log10(y), *rest) for x, y, *rest in labels])


# ---------------------------------------------------------------- whom the log treated

@house_style()
def overlap(data, bins=20, title=None, lead=None, figure=None):
    """How likely each unit was to be treated: the treated above the line, the others below it.

    data     CausalData with its true propensity; or without, and then an estimate by logistic regression is drawn
    returns  Axes on a sheet of 6 x 4 inches. Where one side is empty, the log cannot tell what treatment changes.
    """
    known = data.propensity is not None
    chance = data.propensity if known else _estimated(data)
    edges = np.linspace(0, 1, bins + 1)
    up, down = (np.histogram(chance[arm], edges)[0] for arm in (data.treated, ~data.treated))
    stage = Stage(600, 400, figure)
    apart = chance[data.treated].mean() - chance[~data.treated].mean()
    said = "Everyone was as likely to be treated" if apart < 0.02 else "The treated are not like the others"
    shift = stage.heading(title or said, lead or f"{plain(data.description)}; {len(data):,} units", title_lines=1)
    stage.label(MARGIN, 84 + shift, "units")
    ax = stage.axes(68, 100 + shift, 600 - 68 - MARGIN - 92, 226 - shift)
    ax.bar(edges[:-1], up, width=1 / bins, align="edge", color=BLUE, ec=PAPER, lw=1)
    ax.bar(edges[:-1], -down, width=1 / bins, align="edge", color=GREY, ec=PAPER, lw=1)
    ax.axhline(0, color=INK, lw=1)
    most = max(up.max(), down.max(), 1)
    ticks = ticks_around(0, most, 3)[1:]
    ticks = ticks[ticks <= most]
    ax.set(xlim=(0, 1), ylim=(-1.05 * most, 1.05 * most))
    values = [*-ticks[::-1], 0, *ticks]
    ax.yaxis.set_ticks(values, [f"{abs(value):,.0f}" for value in values])
    set_ticks(ax.xaxis, (0, .25, .5, .75, 1))
    ax.spines["bottom"].set_visible(False)
    stage.label(68 + (600 - 68 - MARGIN - 92) / 2, 372, "how likely to be treated" + ("" if known else ", estimated"),
                "center")
    for y, words, count, colour in ((.75, "treated", up.sum(), BLUE), (.25, "others", down.sum(), GREY)):
        ax.annotate(f"{words}\n{count:,}", (1, y), (10, 0), xycoords="axes fraction", textcoords="offset points",
                    size=LEAD, weight="bold", color=deep(colour), va="center", annotation_clip=False)
    return ax


def _estimated(data):
    from pushlab.causal.estimators import logistic, standardised

    x = standardised(data.covariates)
    return logistic().fit(x, data.treated).predict_proba(x)[:, 1]


# ---------------------------------------------------------------- what learning gains

@house_style()
def policy_gains(table, title=None, lead="", unit="mean gain over treating nobody, each unit simulated both ways",
                 figure=None):
    """What policies truly gain, against chance (dotted line) and the best possible (dashed line).

    table    of `pushlab.causal.policy_values`
    returns  Axes on a sheet 7.4 inches wide, a row a policy
    """
    gains = table.set_index("policy")
    rows = [name for name in gains.index if name not in ("chance", "best", "nobody")]
    learned = [name for name in rows if name not in ("everybody", "as logged")]
    below = [name for name in learned if gains["gain"][name] < gains["gain"]["chance"]]
    said = f"{plain(below[0]).capitalize()} is worse than a coin" if below else "What each policy gains"
    top, high, number = 124, 38 * len(rows), _writer(gains["gain"].to_numpy(float))
    stage = Stage(740, top + high + 38, figure)
    stage.heading(title or said, lead, title_lines=1)
    stage.text(MARGIN, 84, unit, SMALL, TEXT)
    ax = _rows_axes(stage, top, high)
    for place, name in enumerate(rows):
        y, line = 38 * (place + .5), gains.loc[name]
        colour = AGENTS.get(name.split(",")[0], SKY if name in learned else GREY)
        ax.barh(y, line["gain"], height=17, color=colour, zorder=3)
        stage.text(MARGIN, top + y, fit(plain(name), LEFT - MARGIN - 12, LEAD, "bold"), LEAD, deep(colour), "bold")
        words = f"{number(line['gain'])}, treats {line['treats']:.0%}".replace("%", " %")
        stage.text(740 - MARGIN, top + y, fit(words, RIGHT - 8, LEAD), LEAD, deep(colour), align="right")
    _limits(ax, np.append(gains["gain"].to_numpy(float), 0.0), high)
    ax.axvline(0, color=INK, lw=1.0, zorder=4)
    chance, best = gains["gain"]["chance"], gains["gain"]["best"]
    ax.axvline(chance, color=GREY, lw=2, ls=DASHES[4], zorder=5)
    ax.axvline(best, color=INK, lw=1.6, ls=BOUND_DASH, zorder=5)
    _name_line(ax, chance, f"chance {number(chance)}", deep(GREY))
    _name_line(ax, best, f"best {number(best)}")
    return ax
