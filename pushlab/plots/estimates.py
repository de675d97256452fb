"""Estimates beside the truth: values of policies from the logs of others, and effects of treatments.

Each picture is drawn from a table that `pushlab.metrics.offpolicy` or `pushlab.causal` makes.
"""

from collections.abc import Mapping
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
    DASHES,
    GREY,
    INK,
    LEAD,
    MARKERS,
    ORANGE,
    PAPER,
    SERIES,
    TEXT,
    chart,
    deep,
    draw_interval,
    draw_upright,
    house_style,
    interval_words,
    label_line_ends,
    name_axes,
    name_rows,
    round_limits,
    sheet,
    short_number,
)

# An estimator of values is grey if it ignores the question, orange if it is a model alone, blue if it weighs.
VALUE_COLOURS = {"naive": GREY, "direct method": ORANGE}
# An estimator of effects keeps its look in all pictures; an unknown one has the last.
LOOKS = {
    "doubly robust": (SERIES[0], DASHES[0], MARKERS[0]),
    "regression": (SERIES[1], DASHES[1], MARKERS[1]),
    "inverse weighting": (SERIES[2], DASHES[2], MARKERS[2]),
    "difference in means": (GREY, (0, (1.2, 1.6)), "D"),
}
OTHER = (SERIES[3], DASHES[3], MARKERS[3])
TABLE = "the table of estimates"


# ---------------------------------------------------------------- values of policies


@house_style()
def estimator_spread(
    estimates: pd.DataFrame,
    truth: float,
    title: str = "",
    lead: str = "",
    unit: str = "estimated reward per episode",
) -> Figure:
    """Draw each estimator's estimates from many logs.

    The thin line holds the middle 95 % of the estimates, the thick one the middle half; the ring is their mean.

    Args:
        estimates: A row an estimate: estimator, value, low, high.
        truth: The true value.
    """
    has_rows(estimates, "estimator", "value", "low", "high", what=TABLE)
    groups = estimates.groupby("estimator", sort=False)
    title = title or "Estimates from many logs"
    ax = chart(title, lead, xlabel=unit, size=(7.4, 1.7 + 0.4 * len(groups)))
    words = []
    for row, (name, found) in enumerate(groups):
        values, colour = found["value"], VALUE_COLOURS.get(name, BLUE)
        lowest, low, high, highest = values.quantile([0.025, 0.25, 0.75, 0.975])
        ax.plot((low, high), (row, row), color=colour, lw=7, solid_capstyle="butt")
        draw_interval(ax, row, values.mean(), lowest, highest, colour, hollow=True)
        error = np.sqrt(((values - truth) ** 2).mean())
        covers = ((found["low"] <= truth) & (truth <= found["high"])).mean()
        words.append(f"off by {short_number(error)}, covers {100 * covers:.0f} %")
    colours = [VALUE_COLOURS.get(name, BLUE) for name in groups.groups]
    name_rows(ax, list(groups.groups), words, colours)
    draw_upright(ax, truth, f"truth {short_number(truth)}")
    round_limits(ax.xaxis, *_nearly_all([*estimates["value"], truth]))
    return ax.figure


@house_style()
def estimator_intervals(
    estimates: pd.DataFrame,
    truth: float,
    title: str = "",
    lead: str = "",
    unit: str = "estimated reward per episode",
) -> Figure:
    """Draw the estimates from one log with their intervals, beside the true value.

    Args:
        estimates: A row an estimator: estimator, value, low, high.
    """
    has_rows(estimates, "estimator", "value", "low", "high", what=TABLE)
    title = title or "Estimates from one log"
    ax = chart(title, lead, xlabel=unit, size=(7.4, 1.7 + 0.4 * len(estimates)))
    numbers = estimates[["value", "low", "high"]].to_numpy(float)
    colours = [VALUE_COLOURS.get(name, BLUE) for name in estimates["estimator"]]
    for row, (line, colour) in enumerate(zip(numbers, colours)):
        draw_interval(ax, row, *line, colour)
    name_rows(ax, list(estimates["estimator"]), interval_words(numbers), colours)
    draw_upright(ax, truth, f"truth {short_number(truth)}")
    round_limits(ax.xaxis, *_nearly_all([*numbers.ravel(), truth]))
    return ax.figure


def _nearly_all(values):
    """Return limits that hold all values but for a few far outside."""
    return np.nanquantile(values, [0.002, 0.998])


# ---------------------------------------------------------------- effects


@house_style()
def effect_estimates(
    tables: pd.DataFrame | Mapping[str, pd.DataFrame],
    title: str = "",
    lead: str = "",
    unit: str = "estimated average effect",
) -> Figure:
    """Draw estimates with their intervals beside the true effect, a panel a data set.

    Intervals that miss the truth have hollow marks. An unknown truth is left out.

    Args:
        tables: Tables of `pushlab.causal.compare` by the name of the data set, or one such table.
    """
    tables = {"": tables} if isinstance(tables, pd.DataFrame) else tables
    heights = [len(table) + 0.8 for table in tables.values()]
    figure = sheet(7.4, 1.4 + 0.34 * sum(heights), title or "Estimated effects", lead)
    figure.get_layout_engine().set(hspace=0.1)
    panels = figure.subplots(
        len(tables), squeeze=False, sharex=True, height_ratios=heights
    )
    numbers = pd.concat(list(tables.values()))[["estimate", "low", "high"]]
    words = iter(interval_words(numbers.to_numpy(float)))
    values = [0.0]
    for ax, (name, table) in zip(panels[:, 0], tables.items()):
        name_axes(ax)
        looks = [LOOKS.get(estimator, OTHER) for estimator in table["estimator"]]
        numbers = table[["estimate", "low", "high"]].to_numpy(float)
        truth = table["truth"].iloc[0]
        for row, (line, look) in enumerate(zip(numbers, looks)):
            misses = table["covers"].iloc[row] == False  # noqa: E712 (None is unknown)
            draw_interval(ax, row, *line, look[0], look[2], misses)
        said = [next(words) for _ in looks]
        name_rows(ax, list(table["estimator"]), said, [look[0] for look in looks])
        ax.axvline(0, color=TEXT, lw=0.8, zorder=1)
        is_first = ax is panels[0, 0]
        ax.set_title(
            name, size=LEAD, weight="normal", color=TEXT, pad=18 if is_first else 6
        )
        if np.isfinite(truth):
            said = f"true effect {truth:,.3g}".replace("-", "−") if is_first else ""
            draw_upright(ax, truth, said)
        values += [*numbers[np.isfinite(numbers)], truth]
        if ax is not panels[-1, 0]:
            ax.tick_params(axis="x", bottom=False, labelbottom=False)
            ax.spines.bottom.set_visible(False)
    ax.set_xlabel(unit, loc="right")
    round_limits(ax.xaxis, np.nanmin(values), np.nanmax(values))
    return figure


@house_style()
def data_needed(
    table: pd.DataFrame, title: str = "", lead: str = "", unit: str = "units"
) -> Figure:
    """Draw the error and the coverage of each estimator by the number of units.

    Args:
        table: Of `pushlab.causal.by_size`: n, estimator, rmse, covers, covers_low, covers_high.
        unit: Name of the units, such as "towns".
    """
    has_rows(table, "n", "estimator", "rmse", "covers", what="the table of sizes")
    figure = sheet(9, 4.2, title or "Error and coverage by size", lead)
    error, cover = figure.subplots(1, 2)
    cover.axhspan(0.90, 0.99, color=BLUE, alpha=BAND / 2, lw=0)
    cover.axhline(0.95, color=INK, lw=1.6, ls=BOUND_DASH)
    labels = []
    for name, line in table.groupby("estimator", sort=False):
        colour, dash, marker = LOOKS.get(name, OTHER)
        look = {"color": colour, "ls": dash, "marker": marker, "ms": 5}
        error.plot(line["n"], line["rmse"], **look)
        cover.plot(line["n"], line["covers"], **look)
        ends = line["covers_low"], line["covers_high"]
        cover.vlines(line["n"], *ends, color=colour, alpha=0.45, lw=3)
        labels.append((line["n"].iloc[-1], line["rmse"].iloc[-1], name, colour))
    sizes = sorted(set(table["n"]))
    for ax in (error, cover):
        ax.set_xscale("log")
        ax.set_xlim(sizes[0] / 1.12, sizes[-1] * 1.12)
        ax.set_xticks(sizes[1::2], minor=False)
    error.set_yscale("log")
    error.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    cover.set(ylim=(0, 1.02), yticks=(0, 0.25, 0.5, 0.75, 0.95))
    name_axes(error, "root mean squared error", unit)
    name_axes(cover, "share of 95 % intervals that include the truth", unit)
    error.minorticks_off()
    cover.minorticks_off()
    label_line_ends(error, labels)
    return figure


@house_style()
def overlap(data: Any, title: str = "", lead: str = "", unit: str = "units") -> Figure:
    """Draw how likely each unit was to be treated: the treated above the line, the others below it.

    If one side of a bar is empty, the log has nothing to compare these units with.

    Args:
        data: A `pushlab.causal.CausalData`. Its true propensity is drawn. If that is unknown, an estimate by logistic
            regression is drawn.
        unit: Name of the units, such as "towns".
    """
    known = "" if data.propensity is not None else ", estimated"
    title = title or "Probability of treatment"
    ax = chart(title, lead, unit, "probability of being treated" + known)
    chances = data.treatment_chances()
    edges = np.linspace(0, 1, 21)
    most = 0
    for words, arm, sign, colour in (
        ("treated", data.treated, 1, BLUE),
        ("others", ~data.treated, -1, GREY),
    ):
        counts, _ = np.histogram(chances[arm], edges)
        look = {"color": colour, "ec": PAPER, "lw": 1}
        ax.bar(edges[:-1], sign * counts, width=0.05, align="edge", **look)
        ax.annotate(
            f"{words}\n{arm.sum():,}",
            (1, 0.5 + sign / 4),
            (10, 0),
            xycoords="axes fraction",
            textcoords="offset points",
            size=LEAD,
            weight="bold",
            color=deep(colour),
            va="center",
        )
        most = max(most, counts.max())
    ax.axhline(0, color=INK, lw=1)
    ax.set(xlim=(0, 1), ylim=(-1.05 * most, 1.05 * most))
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    ax.spines.bottom.set_visible(False)
    return ax.figure
