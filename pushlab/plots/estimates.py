"""Estimates against the truth: of a policy's value from logs of another, and of the effect of a treatment.

For effects also how much data they need, whom a log treated, and what learning from it gains. Each picture is drawn
from a table that `pushlab.metrics.offpolicy` or `pushlab.causal` makes.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand
from pushlab.plots.kit import end_labels
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
    SERIES,
    SKY,
    TEXT,
    TICK,
    deep,
)
from pushlab.plots.rows import Rows
from pushlab.plots.sheet import (
    MARGIN,
    Stage,
    Words,
    fit,
    house_style,
    plain,
    text_width,
)
from pushlab.plots.ticks import set_ticks, span, ticks_around
from pushlab.plots.words import short_number

# Estimators keep their looks, in the order of series; one that is not known takes the fourth.
LOOKS = dict(
    zip(
        (
            "doubly robust",
            "regression",
            "inverse weighting",
            "other",
            "difference in means",
        ),
        zip(SERIES, DASHES, MARKERS),
    )
)
AGENTS = {"regression": ORANGE, "curved regression": PURPLE, "doubly robust": BLUE}
PITCH, LEFT, RIGHT = (
    30,
    190,
    210,
)  # height of a row; how far the chart is from the sides of the sheet


# ---------------------------------------------------------------- values of policies


@house_style()
def estimator_spread(
    estimates: pd.DataFrame,
    truth: float,
    title: Words = None,
    lead: str = "",
    unit: str = "estimated reward per episode",
    figure: Figure | None = None,
) -> Axes:
    """Each estimator over many logs: thin line the middle 95 % of its estimates, thick the middle half, dot the mean.

    estimates  DataFrame with a row an estimate: estimator, value, low, high
    truth      the true value, drawn as a dashed line
    returns    Axes on a sheet of 7.4 inches by as many as the rows need
    """
    groups = dict(list(estimates.groupby("estimator", sort=False)))
    rows = _value_rows(
        len(groups), title or "Where the estimates of many logs lie", lead, unit, figure
    )
    for row, (name, found) in enumerate(groups.items()):
        values, colour = found["value"].to_numpy(float), _colour(name)
        lowest, low, high, highest = np.quantile(values, [0.025, 0.25, 0.75, 0.975])
        rows.interval(row, lowest, highest, colour, lw=1.6, solid_capstyle="round")
        rows.interval(row, low, high, colour, lw=6, zorder=5)
        rows.dot(row, values.mean(), colour, hollow=True, mew=1.8)
        covers = ((found["low"] <= truth) & (truth <= found["high"])).mean()
        error = np.sqrt(((values - truth) ** 2).mean())
        rows.say(
            row,
            name,
            f"off by {short_number(error)}, covers {100 * covers:.0f} %",
            colour,
        )
    return _finish(rows, estimates["value"], truth)


@house_style()
def estimator_intervals(
    estimates: pd.DataFrame,
    truth: float | None,
    title: Words = None,
    lead: str = "",
    unit: str = "estimated reward per episode",
    figure: Figure | None = None,
) -> Axes:
    """The estimates of one log with their intervals, beside the true value where it is known (else None).

    estimates  DataFrame with a row an estimator: estimator, value, low, high
    returns    Axes on a sheet of 7.4 inches by as many as the rows need
    """
    rows = _value_rows(len(estimates), title or "What one log says", lead, unit, figure)
    for row, line in enumerate(estimates.itertuples()):
        colour = _colour(line.estimator)
        rows.interval(row, line.low, line.high, colour, solid_capstyle="round")
        rows.dot(row, line.value, colour, mec=PAPER, mew=1.2)
        words = f"{short_number(line.value)}, {short_number(line.low)} to {short_number(line.high)}"
        rows.say(row, line.estimator, words, colour)
    return _finish(rows, estimates[["value", "low", "high"]], truth)


def _colour(name):
    """Grey for what ignores the question, orange for a model alone, blue for what weighs."""
    return {"naive": GREY, "direct method": ORANGE}.get(name, BLUE)


def _value_rows(count, title, lead, unit, figure):
    stage = Stage(740, 168 + 42 * count, figure)
    stage.heading(title, lead, title_lines=1)
    stage.label(MARGIN, 82, unit)
    return Rows(stage, count, 42, 112, 206, 202)


def _finish(rows, values, truth):
    """Limits that hold nearly all of what is drawn, and the truth."""
    values = np.append(values, [] if truth is None else truth)
    span(rows.ax.xaxis, *np.quantile(values[np.isfinite(values)], [0.002, 0.998]), 5)
    if truth is not None:
        rows.upright(truth, f"truth {short_number(truth)}", edge=0.5)
    return rows.ax


# ---------------------------------------------------------------- effects


@house_style()
def effect_estimates(
    tables: pd.DataFrame | Mapping[str, pd.DataFrame],
    title: Words = None,
    lead: str = "",
    unit: str = "estimated average effect",
    figure: Figure | None = None,
) -> Axes:
    """Estimates with their intervals against the true effect, one block of rows for each data set.

    tables   {name of a data set: table of `pushlab.causal.compare`}, or one such table
    returns  Axes on a sheet of 7.4 inches by as many as the rows need; intervals that miss the truth are hollow. Where
             nobody knows the truth none is drawn
    """
    tables = tables if isinstance(tables, Mapping) else {"": tables}
    head, gap = 26 if any(tables) else 0, 10
    high = sum(head + PITCH * len(table) + gap for table in tables.values())
    held = [
        covers
        for table in tables.values()
        for covers in table["covers"]
        if covers is not None
    ]
    said = (
        f"{sum(held)} of {len(held)} intervals include the true effect"
        if held
        else "What the estimators say"
    )
    stage = Stage(740, 118 + high + 34, figure)
    stage.heading(title or said, lead, title_lines=1)
    stage.label(MARGIN, 82, unit)
    rows, row, truths = Rows(stage, high / PITCH, PITCH, 108, LEFT, RIGHT), 0.0, []
    values = np.concatenate(
        [
            table[["low", "high", "truth"]].to_numpy(float).ravel()
            for table in tables.values()
        ]
    )
    number = _writer(values)
    for name, table in tables.items():
        if name:  # on the chart, so that its lines stay behind the words
            rows.ax.annotate(
                fit(plain(name), 740 - 2 * MARGIN, LEAD),
                (0, row - 0.5 + 17 / PITCH),
                (0.72 * (MARGIN - LEFT), 0),
                size=LEAD,
                color=TEXT,
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                bbox={"fc": PAPER, "ec": "none", "pad": 1.5},
                annotation_clip=False,
                zorder=8,
            )
        row += head / PITCH
        if np.isfinite(table["truth"].iloc[0]):
            truths.append((table["truth"].iloc[0], row - 0.5, row - 0.5 + len(table)))
        for line in table.itertuples():
            colour, _, marker = LOOKS.get(line.estimator, LOOKS["other"])
            rows.interval(row, line.low, line.high, colour)
            rows.dot(
                row,
                line.estimate,
                colour,
                marker,
                hollow=line.covers is not None and not line.covers,
            )
            words = (
                f"{number(line.estimate)}, {number(line.low)} to {number(line.high)}"
            )
            rows.say(row, line.estimator, words, colour)
            row += 1
        row += gap / PITCH
    _span(rows, values)
    rows.ax.axvline(0, color=TEXT, lw=0.8, zorder=1)
    for truth, top, bottom in truths:
        rows.ax.plot(
            (truth, truth), (top, bottom), color=INK, lw=1.6, ls=BOUND_DASH, zorder=3
        )
    if truths:
        rows.name_above(truths[0][0], f"true effect {number(truths[0][0])}")
    return rows.ax


def _writer(values):
    """A function that writes numbers with the decimals that tell `values` apart: about three figures of the largest."""
    most = float(np.max(np.abs(values[np.isfinite(values)]), initial=0.0))
    digits = int(np.clip(2 - np.floor(np.log10(most)), 0, 8)) if most > 0 else 0
    if most >= 1e6:
        return short_number
    return lambda value: f"{value:,.{digits}f}".replace("-", "\N{MINUS SIGN}")


def _span(rows, values):
    """The values and 0 on the axis."""
    values = np.append(values[np.isfinite(values)], 0.0)
    span(rows.ax.xaxis, values.min(), values.max(), 5)


# ---------------------------------------------------------------- how much data


@house_style()
def data_needed(
    table: pd.DataFrame,
    title: Words = None,
    lead: str = "",
    unit: str = "units",
    figure: Figure | None = None,
) -> Axes:
    """Error and coverage of each estimator over the number of units.

    table    of `pushlab.causal.by_size`: n, estimator, rmse, truth, covers, covers_low, covers_high
    unit     what the units are called, such as "towns"
    returns  Axes (that of the error) on a sheet of 9 x 4.2 inches
    """
    demand(len(table), "there are no sizes: the table is empty")
    names = list(dict.fromkeys(table["estimator"]))
    draws = f"{int(table['draws'].iloc[0]):,}" if "draws" in table else "several"
    sizes = sorted(set(table["n"]))
    best = table[table["n"] == sizes[-1]].sort_values("rmse").iloc[0]
    stage = Stage(900, 396, figure)
    error_of = _writer(np.array([best["rmse"]]))(best["rmse"])
    said = f"With {sizes[-1]:,} {unit} {plain(best['estimator'])} is off by {error_of}"
    stage.heading(
        title or said, lead or f"{draws} data sets of each size", title_lines=1
    )
    stage.label(MARGIN, 84, "root mean squared error")
    stage.label(528, 84, "share of 95 % intervals that include the truth")
    room = max(text_width(name, TICK, "bold") for name in names) + 16
    error = stage.axes(84, 108, 900 - 84 - room - 400, 240, xscale="log", yscale="log")
    cover = stage.axes(560, 108, 900 - 560 - MARGIN - 10, 240, xscale="log")
    cover.axhspan(0.90, 0.99, color=BLUE, alpha=BAND / 2, lw=0)
    cover.axhline(0.95, color=INK, lw=1.6, ls=BOUND_DASH)
    labels = []
    for name in names:
        line = table[table["estimator"] == name].sort_values("n")
        colour, dash, marker = LOOKS.get(name, LOOKS["other"])
        error.plot(line["n"], line["rmse"], color=colour, ls=dash, marker=marker, ms=5)
        cover.vlines(
            line["n"],
            line["covers_low"],
            line["covers_high"],
            color=colour,
            alpha=0.45,
            lw=3,
        )
        cover.plot(
            line["n"], line["covers"], color=colour, ls=dash, marker=marker, ms=5
        )
        labels.append((line["n"].iloc[-1], line["rmse"].iloc[-1], name, colour, "bold"))
    for ax in (error, cover):
        ax.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        ax.minorticks_off()
        set_ticks(ax.xaxis, sizes[::-1][:: 1 + len(sizes) // 6][::-1], unit)
    _log_ticks(error, table["rmse"])
    cover.set_ylim(0, 1.02)
    set_ticks(cover.yaxis, (0, 0.25, 0.5, 0.75, 0.95))
    end_labels(error, labels)
    return error


def _log_ticks(ax, values):
    """Ticks 1, 2, 5 of each power of ten around the values."""
    low, high = np.log10(np.min(values)), np.log10(np.max(values))
    steps = np.array(
        [
            m * 10.0**p
            for p in range(int(np.floor(low)) - 1, int(np.ceil(high)) + 1)
            for m in (1, 2, 5)
        ]
    )
    inside = steps[(steps >= 10**low / 1.6) & (steps <= 10**high * 1.6)]
    ax.set_ylim(min(inside[0], 10**low / 1.15), max(inside[-1], 10**high * 1.15))
    set_ticks(ax.yaxis, inside if len(inside) <= 7 else inside[::2])


# ---------------------------------------------------------------- whom the log treated


@house_style()
def overlap(
    data: Any,
    bins: int = 20,
    title: Words = None,
    lead: Words = None,
    unit: str = "units",
    figure: Figure | None = None,
) -> Axes:
    """How likely each unit was to be treated: the treated above the line, the others below it.

    data     a `pushlab.causal.CausalData`: its true propensity, or where that is unknown an estimate by logistic
             regression, is drawn
    unit     what the units are called, such as "towns"
    returns  Axes on a sheet of 6 x 4 inches. Where one side is empty, the log cannot tell what treatment changes.
    """
    known, chance = data.propensity is not None, data.treatment_chances()
    edges = np.linspace(0, 1, bins + 1)
    up, down = (
        np.histogram(chance[arm], edges)[0] for arm in (data.treated, ~data.treated)
    )
    stage = Stage(600, 400, figure)
    apart = chance[data.treated].mean() - chance[~data.treated].mean()
    said = (
        "Everyone was as likely to be treated"
        if apart < 0.02
        else "The treated are not like the others"
    )
    shift = stage.heading(
        title or said,
        lead or f"{plain(data.description)}; {len(data):,} {unit}",
        title_lines=1,
    )
    stage.label(MARGIN, 84 + shift, unit)
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
    set_ticks(ax.xaxis, (0, 0.25, 0.5, 0.75, 1))
    ax.spines["bottom"].set_visible(False)
    stage.label(
        68 + (600 - 68 - MARGIN - 92) / 2,
        372,
        "how likely to be treated" + ("" if known else ", estimated"),
        "center",
    )
    for y, words, count, colour in (
        (0.75, "treated", up.sum(), BLUE),
        (0.25, "others", down.sum(), GREY),
    ):
        ax.annotate(
            f"{words}\n{count:,}",
            (1, y),
            (10, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            size=LEAD,
            weight="bold",
            color=deep(colour),
            va="center",
            annotation_clip=False,
        )
    return ax


# ---------------------------------------------------------------- what learning gains


@house_style()
def policy_gains(
    table: pd.DataFrame,
    title: Words = None,
    lead: str = "",
    unit: str = "mean gain over treating nobody, each unit simulated both ways",
    figure: Figure | None = None,
) -> Axes:
    """What policies truly gain, against chance (dotted line) and the best possible (dashed line).

    table    of `pushlab.causal.policy_values`
    returns  Axes on a sheet 7.4 inches wide, a row a policy
    """
    gains = table.set_index("policy")
    names = [name for name in gains.index if name not in ("chance", "best", "nobody")]
    learned = [name for name in names if name not in ("everybody", "as logged")]
    below = [name for name in learned if gains["gain"][name] < gains["gain"]["chance"]]
    said = (
        f"{plain(below[0]).capitalize()} is worse than a coin"
        if below
        else "What each policy gains"
    )
    pitch, number = 38, _writer(gains["gain"].to_numpy(float))
    stage = Stage(740, 162 + pitch * len(names), figure)
    stage.heading(title or said, lead, title_lines=1)
    stage.label(MARGIN, 84, unit)
    rows = Rows(stage, len(names), pitch, 124, LEFT, RIGHT)
    for row, name in enumerate(names):
        gain, treats = gains.loc[name, ["gain", "treats"]]
        colour = AGENTS.get(name.split(",")[0], SKY if name in learned else GREY)
        rows.ax.barh(row, gain, height=17 / pitch, color=colour, zorder=3)
        rows.say(row, name, f"{number(gain)}, treats {100 * treats:.0f} %", colour)
    _span(rows, gains["gain"].to_numpy(float))
    rows.ax.axvline(0, color=INK, lw=1.0, zorder=4)
    chance, best = gains["gain"]["chance"], gains["gain"]["best"]
    rows.upright(chance, f"chance {number(chance)}", GREY, lw=2, ls=DASHES[4], zorder=5)
    rows.upright(best, f"best {number(best)}", zorder=5)
    return rows.ax
