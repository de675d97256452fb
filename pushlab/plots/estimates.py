"""Estimates beside the truth: values of policies from the logs of others, effects of treatments, and causal graphs.

Each picture is drawn from a table that `pushlab.metrics.offpolicy` or `pushlab.causal` makes.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from pushlab.ground.arguments import has_rows
from pushlab.plots.style import (
    BAND,
    BLUE,
    BOUND_DASH,
    CHANCE_LOOK,
    GREY,
    INK,
    LINE,
    ORANGE,
    PAPER,
    SOFT,
    TEXT,
    chart,
    deep,
    draw_upright,
    house_style,
    label_line_ends,
    name_axes,
    round_limits,
    row_panels,
    series_styles,
    sheet,
    short_number,
)

UNIT = "estimated reward per episode"
# An estimator of values is grey if it ignores the question, orange if it is a model alone, blue if it weighs.
VALUE_LOOKS = {
    "naive": (GREY, "-", "o"),
    "direct method": (ORANGE, "-", "o"),
    "other": (BLUE, "-", "o"),
}
# An estimator of effects has the same look in all pictures.
EFFECT_LOOKS = series_styles(
    ["doubly robust", "regression", "inverse weighting", "other"]
)
EFFECT_LOOKS["difference in means"] = CHANCE_LOOK


# ---------------------------------------------------------------- values of policies


@house_style()
def estimator_spread(
    estimates: pd.DataFrame,
    truth: float,
    title: str = "Estimates",
    lead: str = "",
) -> Figure:
    """Draw each estimator's estimates from many logs.

    The thin line holds the middle 95 % of the estimates, the thick one the middle half; the ring is their mean.

    Args:
        estimates: A row an estimate: estimator, value, low, high.
        truth: The true value.
    """
    has_rows(estimates, "estimator", "value", "low", "high")
    rows = []
    for name, found in estimates.groupby("estimator", sort=False):
        values = found["value"]
        lowest, low, high, highest = values.quantile([0.025, 0.25, 0.75, 0.975])
        error = np.sqrt(((values - truth) ** 2).mean())
        covers = ((found["low"] <= truth) & (truth <= found["high"])).mean()
        words = f"off by {short_number(error)}, covers {100 * covers:.0f} %"
        rows.append((name, values.mean(), lowest, highest, low, high, words, True))
    columns = ["name", "value", "low", "high", "from", "to", "words", "hollow"]
    table = pd.DataFrame(rows, columns=columns)
    figure = row_panels({"": table}, VALUE_LOOKS, title, lead)
    for row, ends in enumerate(table[["from", "to"]].to_numpy()):
        colour = figure.axes[0].lines[2 * row].get_color()
        figure.axes[0].plot(ends, (row, row), color=colour, lw=7, zorder=5.5)
    _draw_truth(figure.axes[0], table, truth, UNIT)
    return figure


@house_style()
def estimator_intervals(
    estimates: pd.DataFrame,
    truth: float,
    title: str = "Estimates",
    lead: str = "",
    unit: str = UNIT,
) -> Figure:
    """Draw the estimates from one log with their intervals, beside the true value.

    Args:
        estimates: A row an estimator: estimator, value, low, high.
    """
    has_rows(estimates, "estimator", "value", "low", "high")
    table = estimates.rename(columns={"estimator": "name"})
    figure = row_panels({"": table}, VALUE_LOOKS, title, lead)
    _draw_truth(figure.axes[0], table, truth, unit)
    return figure


def _draw_truth(ax, table, truth, unit):
    """Draw the true value, and set round limits."""
    draw_upright(ax, truth, f"truth {short_number(truth)}")
    ax.set_xlabel(unit, loc="right")
    round_limits(
        ax.xaxis, min(truth, table["low"].min()), max(truth, table["high"].max())
    )


# ---------------------------------------------------------------- effects


@house_style()
def effect_estimates(
    tables: pd.DataFrame | Mapping[str, pd.DataFrame],
    title: str = "Effects",
    lead: str = "",
    unit: str = "estimated average effect",
) -> Figure:
    """Draw estimates with their intervals beside the true effect, a panel a data set.

    Intervals that miss the truth have hollow marks. An unknown truth is left out.

    Args:
        tables: Tables of `pushlab.causal.compare` by the name of the data set, or one such table.
    """
    tables = {"": tables} if isinstance(tables, pd.DataFrame) else dict(tables)
    names = {"estimator": "name", "estimate": "value"}
    for heading, table in tables.items():
        is_missed = table["covers"].isin([False])
        tables[heading] = table.rename(columns=names).assign(hollow=is_missed)
    figure = row_panels(tables, EFFECT_LOOKS, title, lead, True)
    for ax, table in zip(figure.axes, tables.values()):
        ax.axvline(0, color=TEXT, lw=0.8, zorder=1)
        truth = table["truth"].iloc[0]
        if np.isfinite(truth):
            draw_upright(ax, truth, f"true effect {truth:,.3g}".replace("-", "−"))
    ax.set_xlabel(unit, loc="right")
    values = pd.concat(tables.values())[["low", "high", "truth"]]
    round_limits(ax.xaxis, min(values.min().min(), 0), max(values.max().max(), 0))
    return figure


@house_style()
def data_needed(
    table: pd.DataFrame,
    title: str = "Error and coverage by size",
    lead: str = "",
    unit: str = "units",
) -> Figure:
    """Draw the error and the coverage of each estimator by the number of units.

    Args:
        table: Of `pushlab.causal.by_size`: n, estimator, rmse, covers, covers_low, covers_high.
        unit: Name of the units, such as "towns".
    """
    has_rows(table, "n", "estimator", "rmse", "covers")
    figure = sheet(9, 4.2, title, lead)
    error, cover = figure.subplots(1, 2)
    cover.axhspan(0.90, 0.99, color=BLUE, alpha=BAND / 2, lw=0)
    cover.axhline(0.95, color=INK, lw=1.6, ls=BOUND_DASH)
    labels = []
    for name, line in table.groupby("estimator", sort=False):
        colour, dash, marker = EFFECT_LOOKS.get(name) or EFFECT_LOOKS["other"]
        look = {"color": colour, "ls": dash, "marker": marker, "ms": 5}
        sizes = line["n"]
        error.plot(sizes, line["rmse"], **look)
        cover.plot(sizes, line["covers"], **look)
        ends = line["covers_low"], line["covers_high"]
        cover.vlines(sizes, *ends, color=colour, alpha=0.45, lw=3)
        labels.append((sizes.iloc[-1], line["rmse"].iloc[-1], name, colour))
    sizes = sorted(set(table["n"]))
    error.set_yscale("log")
    error.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    cover.set(ylim=(0, 1.02), yticks=(0, 0.25, 0.5, 0.75, 0.95))
    words = "share of 95 % intervals that include the truth"
    for ax, ylabel in ((error, "root mean squared error"), (cover, words)):
        ax.set(xscale="log", xlim=(sizes[0] / 1.12, sizes[-1] * 1.12))
        ax.set_xticks(sizes[1::2])
        name_axes(ax, ylabel, unit)
        ax.minorticks_off()
    label_line_ends(error, labels)
    return figure


@house_style()
def overlap(
    data: Any,
    title: str = "Probability of treatment",
    lead: str = "",
    unit: str = "units",
) -> Figure:
    """Draw how likely each unit was to be treated: the treated above the line, the others below it.

    If one side of a bar is empty, the log has nothing to compare these units with.

    Args:
        data: A `pushlab.causal.CausalData`. Its true propensity is drawn. If that is unknown, an estimate by logistic
            regression is drawn.
        unit: Name of the units, such as "towns".
    """
    xlabel = "probability of being treated"
    if data.propensity is None:
        xlabel += ", estimated"
    ax = chart(title, lead, unit, xlabel)
    chances = data.treatment_chances()
    for words, arm, sign, colour in (
        ("treated", data.treated, 1, BLUE),
        ("others", ~data.treated, -1, GREY),
    ):
        look = {"color": colour, "ec": PAPER, "lw": 1}
        ax.hist(
            chances[arm], 20, range=(0, 1), weights=np.full(arm.sum(), sign), **look
        )
        look = {"color": deep(colour), "weight": "bold", "va": "center"}
        words += f"\n{arm.sum():,}"
        ax.text(1.02, 0.5 + sign / 4, words, transform=ax.transAxes, **look)
    ax.axhline(0, color=INK, lw=1)
    ax.set_xlim(0, 1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    ax.spines.bottom.set_visible(False)
    return ax.figure


@house_style()
def causal_graph(
    arrows: Iterable[tuple[str, str]],
    places: Mapping[str, tuple[float, float]],
    treatment: str = "",
    outcome: str = "",
    hidden: Collection[str] = (),
    title: str = "Causes and effects",
    lead: str = "",
) -> Figure:
    """Draw a box a variable: the treatment blue, the outcome orange, unrecorded ones dashed.

    Args:
        arrows: Pairs (cause, effect).
        places: Middle (x, y) of each box, from 0 to 1, to the right and downwards.
        hidden: Variables that are not recorded.
    """
    ax = chart(title, lead, size=(7.4, 4))
    ax.set(xlim=(-0.04, 1.04), ylim=(1.1, -0.1))
    ax.set_axis_off()
    boxes = {}
    for name, (x, y) in places.items():
        box = {"boxstyle": "round,pad=0.8", "fc": SOFT, "ec": LINE, "lw": 1.4}
        words = INK
        if name in hidden:
            box |= {"fc": PAPER, "ec": TEXT, "ls": (0, (3, 2))}
        if name in (treatment, outcome):
            colour = BLUE if name == treatment else ORANGE
            box |= {"ec": colour, "lw": 2.4}
            words = deep(colour)
        look = {"ha": "center", "va": "center", "weight": "bold", "color": words}
        boxes[name] = ax.text(x, y, name, bbox=box, **look)
    for cause, effect in arrows:
        arrow = {
            "arrowstyle": "-|>",
            "patchA": boxes[cause].get_bbox_patch(),
            "patchB": boxes[effect].get_bbox_patch(),
            "shrinkA": 3,
            "shrinkB": 3,
            "color": TEXT,
            "lw": 1.8,
            "mutation_scale": 15,
        }
        ax.annotate("", places[effect], places[cause], arrowprops=arrow)
    return ax.figure
