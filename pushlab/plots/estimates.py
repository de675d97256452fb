"""Estimates beside the truth: off-policy values, treatment effects, and causal graphs.

The tables come from `pushlab.metrics.offpolicy` and `pushlab.causal`.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator

from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    GREY,
    INK,
    LINE,
    ORANGE,
    PAPER,
    RANDOM_STYLE,
    SOFT,
    TEXT,
    chart,
    darken,
    draw_vertical_line,
    format_number,
    house_style,
    label_axes,
    label_line_ends,
    round_limits,
    row_panels,
    series_styles,
    sheet,
)
from pushlab.utils.arguments import require_rows

UNIT = "estimated reward per episode"
# Grey: ignores the target policy; orange: uses only a model; blue: uses importance weights.
VALUE_STYLES = {
    "naive": (GREY, "-", "o"),
    "direct method": (ORANGE, "-", "o"),
    "other": (BLUE, "-", "o"),
}
# The same in all pictures of effects.
EFFECT_STYLES = series_styles(
    ["doubly robust", "regression", "inverse weighting", "other"]
)
EFFECT_STYLES["difference in means"] = RANDOM_STYLE


# ---------------------------------------------------------------- values of policies


@house_style()
def estimator_spread(
    estimates: pd.DataFrame,
    truth: float,
    title: str = "Estimates",
    subtitle: str = "",
) -> Figure:
    """Draw the spread of each estimator's estimates over many logs.

    A thin line shows the middle 95 % of the estimates, a thick line the middle half, and a ring their mean.

    Args:
        estimates: One row per estimate: estimator, value, low, high.
        truth: The true value.
    """
    require_rows(estimates, "estimator", "value", "low", "high")
    rows = []
    for name, group in estimates.groupby("estimator", sort=False):
        values = group["value"]
        low, quarter, three_quarters, high = values.quantile([0.025, 0.25, 0.75, 0.975])
        rmse = np.sqrt(((values - truth) ** 2).mean())
        coverage = ((group["low"] <= truth) & (truth <= group["high"])).mean()
        text = f"off by {format_number(rmse)}, covers {100 * coverage:.0f} %"
        rows.append(
            {
                "name": name,
                "value": values.mean(),
                "low": low,
                "high": high,
                "quarter": quarter,
                "three_quarters": three_quarters,
                "words": text,
                "hollow": True,
            }
        )
    table = pd.DataFrame(rows)
    figure = _rows_with_truth(table, truth, title, subtitle, UNIT)
    ax = figure.axes[0]
    for row, ends in enumerate(table[["quarter", "three_quarters"]].to_numpy()):
        colour = ax.lines[2 * row].get_color()
        ax.plot(ends, (row, row), color=colour, lw=7, zorder=5.5)
    return figure


@house_style()
def estimator_intervals(
    estimates: pd.DataFrame,
    truth: float,
    title: str = "Estimates",
    subtitle: str = "",
    unit: str = UNIT,
) -> Figure:
    """Draw the estimates from one log with their intervals and the true value.

    Args:
        estimates: One row per estimator: estimator, value, low, high.
    """
    require_rows(estimates, "estimator", "value", "low", "high")
    table = estimates.rename(columns={"estimator": "name"})
    return _rows_with_truth(table, truth, title, subtitle, unit)


def _rows_with_truth(table, truth, title, subtitle, unit):
    """Draw estimates and the true value, with round limits."""
    figure = row_panels({"": table}, VALUE_STYLES, title, subtitle)
    ax = figure.axes[0]
    draw_vertical_line(ax, truth, f"truth {format_number(truth)}")
    ax.set_xlabel(unit, loc="right")
    low = min(truth, table["low"].min())
    high = max(truth, table["high"].max())
    round_limits(ax.xaxis, low, high)
    return figure


# ---------------------------------------------------------------- effects


@house_style()
def effect_estimates(
    tables: pd.DataFrame | Mapping[str, pd.DataFrame],
    title: str = "Effects",
    subtitle: str = "",
    unit: str = "estimated average effect",
) -> Figure:
    """Draw estimates with their intervals and the true effect, one panel per data set.

    Intervals that miss the truth have hollow marks. An unknown truth is not drawn.

    Args:
        tables: {name of a data set: table of `pushlab.causal.compare`}, or one such table.
    """
    tables = {"": tables} if isinstance(tables, pd.DataFrame) else dict(tables)
    new_names = {"estimator": "name", "estimate": "value"}
    for heading, table in tables.items():
        is_missed = table["covers"].isin([False])
        tables[heading] = table.rename(columns=new_names).assign(hollow=is_missed)
    figure = row_panels(tables, EFFECT_STYLES, title, subtitle, True)
    for ax, table in zip(figure.axes, tables.values()):
        ax.axvline(0, color=TEXT, lw=0.8, zorder=1)
        truth = table["truth"].iloc[0]
        if np.isfinite(truth):
            draw_vertical_line(ax, truth, f"true effect {format_number(truth)}")
    ax.set_xlabel(unit, loc="right")
    values = pd.concat(tables.values())[["low", "high", "truth"]]
    low = min(values.min().min(), 0)
    high = max(values.max().max(), 0)
    round_limits(ax.xaxis, low, high)
    return figure


@house_style()
def error_and_coverage(
    table: pd.DataFrame,
    title: str = "Error and coverage by size",
    subtitle: str = "",
    unit: str = "units",
) -> Figure:
    """Draw the error and the coverage of each estimator by the number of units.

    Args:
        table: A table of `pushlab.causal.summary`: n, estimator, rmse, covers, covers_low, covers_high.
        unit: Name of the units, such as "towns".
    """
    require_rows(table, "n", "estimator", "rmse", "covers")
    figure = sheet(9, 4.2, title, subtitle)
    error_ax, coverage_ax = figure.subplots(1, 2)
    coverage_ax.axhline(0.95, color=INK, lw=1.6, ls=BOUND_DASH)
    labels = []
    shift = 0.91  # so that the estimators don't hide each other
    for name, line in table.groupby("estimator", sort=False):
        colour, dash, marker = EFFECT_STYLES.get(name) or EFFECT_STYLES["other"]
        style = {
            "color": colour,
            "ls": dash,
            "marker": marker,
            "ms": 5,
        }
        sizes = line["n"]
        errors = line["rmse"]
        error_ax.plot(sizes, errors, **style)
        coverage_ax.plot(shift * sizes, line["covers"], **style)
        ends = line["covers_low"], line["covers_high"]
        coverage_ax.vlines(shift * sizes, *ends, color=colour, alpha=0.45, lw=3)
        shift += 0.06
        labels.append((sizes.iloc[-1], errors.iloc[-1], name, colour))
    error_ax.set_yscale("log")
    error_ax.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    coverage_ax.set(ylim=(0, 1.02), yticks=(0, 0.25, 0.5, 0.75, 0.95))
    sizes = sorted(set(table["n"]))
    for ax, ylabel in (
        (error_ax, "root mean squared error"),
        (coverage_ax, "share of 95 % intervals that include the truth"),
    ):
        ax.set(xscale="log", xlim=(sizes[0] / 1.2, sizes[-1] * 1.2))
        ax.set_xticks(sizes[1::2])
        label_axes(ax, ylabel, unit)
        ax.minorticks_off()
    label_line_ends(error_ax, labels)
    return figure


@house_style()
def overlap(
    data: Any,
    title: str = "Probability of treatment",
    subtitle: str = "",
    unit: str = "units",
) -> Figure:
    """Draw the units' probabilities of treatment: treated units above the line, the others below it.

    If one side of a bar is empty, the log has no units to compare with those on the other side.

    Args:
        data: A `pushlab.causal.CausalData`. If its true propensity is unknown, an estimate by logistic regression is
            drawn.
        unit: Name of the units, such as "towns".
    """
    xlabel = "probability of being treated"
    if data.propensity is None:
        xlabel += ", estimated"
    ax = chart(title, subtitle, unit, xlabel)
    probabilities = data.treatment_probabilities()
    for label, mask, sign, colour in (
        ("treated", data.treated, 1, BLUE),
        ("others", ~data.treated, -1, GREY),
    ):
        count = mask.sum()
        ax.hist(
            probabilities[mask],
            20,
            range=(0, 1),
            weights=np.full(count, sign),
            color=colour,
            ec=PAPER,
            lw=1,
        )
        ax.text(
            1.02,
            0.5 + sign / 4,
            f"{label}\n{count:,}",
            transform=ax.transAxes,
            color=darken(colour),
            weight="bold",
            va="center",
        )
    ax.axhline(0, color=INK, lw=1)
    ax.set_xlim(0, 1)
    ax.yaxis.set_major_formatter(lambda value, _: f"{abs(value):,.0f}")
    ax.spines.bottom.set_visible(False)
    return ax.figure


@house_style()
def causal_graph(
    arrows: Iterable[tuple[str, str]],
    positions: Mapping[str, tuple[float, float]],
    treatment: str = "",
    outcome: str = "",
    hidden: Collection[str] = (),
    title: str = "Causes and effects",
    subtitle: str = "",
) -> Figure:
    """Draw a causal graph, with the treatment in blue, the outcome in orange and hidden variables dashed.

    Args:
        arrows: Pairs (cause, effect).
        positions: {variable: centre (x, y) of its box}, from 0 to 1, to the right and downwards.
        hidden: Variables that are not recorded.
    """
    ax = chart(title, subtitle, size=(7.4, 4))
    ax.set(xlim=(-0.04, 1.04), ylim=(1.1, -0.1))
    ax.set_axis_off()
    boxes = {}
    for name, (x, y) in positions.items():
        box = {
            "boxstyle": "round,pad=0.8",
            "fc": SOFT,
            "ec": LINE,
            "lw": 1.4,
        }
        text_colour = INK
        if name in hidden:
            box |= {"fc": PAPER, "ec": TEXT, "ls": (0, (3, 2))}
        if name in (treatment, outcome):
            colour = BLUE if name == treatment else ORANGE
            box |= {"ec": colour, "lw": 2.4}
            text_colour = darken(colour)
        text = ax.text(
            x,
            y,
            name,
            bbox=box,
            ha="center",
            va="center",
            weight="bold",
            color=text_colour,
        )
        boxes[name] = text.get_bbox_patch()
    for cause, effect in arrows:
        arrow = {
            "arrowstyle": "-|>",
            "patchA": boxes[cause],
            "patchB": boxes[effect],
            "shrinkA": 3,
            "shrinkB": 3,
            "color": TEXT,
            "lw": 1.8,
            "mutation_scale": 15,
        }
        ax.annotate("", positions[effect], positions[cause], arrowprops=arrow)
    return ax.figure
