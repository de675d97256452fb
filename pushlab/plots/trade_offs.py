"""Policies by two measures at once: what they reach and what it costs."""

from itertools import product

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.transforms import Bbox

from pushlab.ground.arguments import demand, has_rows
from pushlab.metrics.estimate import crossed_interval
from pushlab.plots.curve_tables import mean_of_scores, run_scores, whole_runs
from pushlab.plots.curves import log_lead
from pushlab.plots.palette import (
    CHANCE,
    GREY,
    LEAD,
    PAPER,
    SMALL,
    TEXT,
    TICK,
    deep,
    series_styles,
)
from pushlab.plots.sheet import (
    MARGIN,
    Stage,
    Words,
    fit,
    house_style,
    plain,
    text_width,
)
from pushlab.plots.ticks import span
from pushlab.plots.words import spoken

CORNERS = {
    "upper left": (0, 1),
    "upper right": (1, 1),
    "lower left": (0, 0),
    "lower right": (1, 0),
}


def trade_off_table(
    log: pd.DataFrame,
    x: str,
    y: str,
    by: str = "agent",
    statistic: str = "mean",
    cross: str | None = None,
    runs: str = "seed",
) -> pd.DataFrame:
    """One line a policy: mean and 95 % interval over its runs of two measures.

    log        tidy log or study, a row an episode or a step
    x, y       two columns
    statistic  "mean" over the rows of an episode, or their "sum"; a run's number is the mean over its episodes
    runs       "seed", or "episode" for policies that do not learn, see `pushlab.plots.policy_table`
    cross      a column whose values all runs share, such as "day" in a table with a row a seed and day: the intervals
               then range over runs and over its values (`pushlab.metrics.estimate.crossed_interval`)
    returns    DataFrame: by, x, x low, x high, y, y low, y high, runs; the ends are NaN for a single run, and where a
               value is missing; a mean is NaN where all are

    >>> log = pd.DataFrame({"agent": "a", "seed": [0, 1], "shown": [2, 4], "opened": [1, 1]})
    >>> trade_off_table(log, "shown", "opened")[["agent", "shown", "opened", "runs"]].values.tolist()
    [['a', 3.0, 1.0, 2]]
    """
    demand(x != y, f"x and y must be two columns, got {x!r} twice")
    if cross is not None:
        has_rows(log, by, cross, what="the log")
        demand(
            statistic == "mean" and runs == "seed",
            f"intervals over runs and {cross} are those of the means of "
            f"runs, got statistic {statistic!r}, runs {runs!r}",
        )
    tables = []
    for value in (x, y):
        table = mean_of_scores(run_scores(log, value, by, statistic, runs))
        if cross is not None:
            table[["low", "high"]] = [
                _crossed_ends(log[log[by] == name], value, by, cross)
                for name in table.index
            ]
        tables.append(
            table.rename(
                columns={"mean": value, "low": f"{value} low", "high": f"{value} high"}
            )
        )
    counts = pd.concat([table.pop("runs") for table in tables], axis=1).max(axis=1)
    return pd.concat(tables, axis=1).assign(runs=counts).rename_axis(by).reset_index()


def _crossed_ends(rows, value, by, cross):
    """The ends of the interval of the mean over runs and over the values of another column; NaN where there is none.

    An episode is a value of that column (a day, say), and no run of its own; of several rows of both the mean counts.
    """
    rows = rows.assign(_run=whole_runs(rows, value, by, without=(cross,)))
    grid = rows.pivot_table(
        index="_run", columns=cross, values=value, observed=True
    ).to_numpy(float)
    if min(grid.shape) < 2 or not np.isfinite(grid).all():
        return np.nan, np.nan
    return crossed_interval(grid)[1:]


@house_style()
def trade_off(
    log: pd.DataFrame,
    x: str,
    y: str,
    by: str = "agent",
    statistic: str = "mean",
    x_unit: Words = None,
    y_unit: Words = None,
    better: str | None = None,
    title: Words = None,
    lead: Words = None,
    cross: str | None = None,
    runs: str = "seed",
    figure: Figure | None = None,
) -> Axes:
    """Policies by two measures at once, such as interruptions and opens: a mark each, with 95 % intervals both ways.

    log       see `trade_off_table`, which holds what is drawn, and says what `cross` and `runs` are
    better    "upper left", "upper right", "lower left" or "lower right": the corner to aim at, where an arrow points
    x_unit, y_unit   what the axes mean; None makes it from the names of the columns
    returns   Axes on a sheet of 6 x 4.4 inches. A policy that lacks one of the two has no mark; the lead line names it
    """
    whole = trade_off_table(log, x, y, by, statistic, cross, runs)
    demand(
        better in (None, *CORNERS),
        f"better must be one of {', '.join(CORNERS)} or None, got {better!r}",
    )
    table = whole.dropna(subset=[x, y])
    demand(len(table), f"no {by} has both {x} and {y}: there is nothing to draw")
    lead = lead or log_lead(log, whole, runs, cross)
    for value in (x, y):
        none = [fit(plain(name), 150, LEAD) for name in whole[by][whole[value].isna()]]
        lead += f"; no {spoken(value)}: {', '.join(none)}" if none else ""
    stage, said = Stage(600, 440, figure), f"{spoken(y)} against {spoken(x)}"
    shift = stage.heading(title or said[0].upper() + said[1:], lead)
    stage.label(MARGIN, 82 + shift, fit(y_unit or spoken(y), 600 - 2 * MARGIN, SMALL))
    stage.label(
        600 - MARGIN,
        440 - 16,
        fit(x_unit or spoken(x), 600 - 2 * MARGIN, SMALL),
        "right",
    )
    ax = stage.axes(70, 102 + shift, 600 - 70 - MARGIN - 16, 440 - 102 - shift - 56)
    ax.grid(True, axis="both")
    _set_limits(ax, table, x, y)
    styles, bars = series_styles(whole[by]), []
    for line in table.to_dict("records"):
        colour, _, marker = styles[line[by]]
        inside, edge = (
            (PAPER, colour) if str(line[by]).lower() == CHANCE else (colour, PAPER)
        )
        for ends in (
            ((line[f"{x} low"], line[f"{x} high"]), (line[y],) * 2),
            ((line[x],) * 2, (line[f"{y} low"], line[f"{y} high"])),
        ):
            ax.plot(
                *ends, color=colour, lw=2.0, ls="-", solid_capstyle="butt", zorder=4
            )
            bars += [ends] if np.isfinite(ends).all() else []
        ax.plot(
            line[x],
            line[y],
            marker,
            ms=9,
            mfc=inside,
            mec=edge,
            mew=1.2,
            zorder=6,
            clip_on=False,
        )
    if better:
        _draw_aim(ax, better)
    _name_points(
        ax,
        [
            (
                line[x],
                line[y],
                fit(plain(line[by]), 150, TICK, "bold"),
                styles[line[by]][0],
            )
            for line in table.to_dict("records")
        ],
        bars,
        better,
    )
    return ax


def _set_limits(ax, table, x, y):
    """Axes from round number to round number; they begin at 0 where that leaves a good part of the room in use."""
    for axis, name in ((ax.xaxis, x), (ax.yaxis, y)):
        values = table[[name, f"{name} low", f"{name} high"]].to_numpy().ravel()
        low, high = np.nanmin(values), np.nanmax(values)
        low, high = (
            (0, high)
            if 0 <= low < 0.6 * high
            else (low, 0)
            if 0.6 * low < high <= 0
            else (low, high)
        )
        slack = 0.08 * (high - low)
        if high - low < 1e-12:  # all policies are the same in this
            low, high, slack = low - 0.5, high + 0.5, 0
        span(axis, low - slack * (low != 0), high + slack * (high != 0), 4)


def _draw_aim(ax, corner):
    """An arrow in the corner to aim at."""
    right, top = CORNERS[corner]
    tip, tail = (
        ((0.97, 0.90) if right else (0.03, 0.10)),
        ((0.965, 0.855) if top else (0.035, 0.145)),
    )
    ax.annotate(
        "",
        (tip[0], tail[0]),
        (tip[1], tail[1]),
        xycoords="axes fraction",
        arrowprops={
            "arrowstyle": "-|>",
            "color": GREY,
            "lw": 1.6,
            "shrinkA": 0,
            "shrinkB": 0,
        },
        zorder=3,
    )
    ax.annotate(
        "better",
        (tip[1], tail[1]),
        (-4 if right else 4, -6 if top else 6),
        xycoords="axes fraction",
        textcoords="offset points",
        size=SMALL,
        color=TEXT,
        ha="right" if right else "left",
        va="top" if top else "bottom",
    )


def _name_points(ax, points, bars, better):
    """Names beside the marks: for each the first place at which it touches no mark, no bar, no other name, no edge."""
    width, height = np.array(ax.get_position().size) * ax.figure.get_size_inches() * 100
    (x0, x1), (y0, y1) = ax.get_xlim(), ax.get_ylim()
    spots = [
        (width * (x - x0) / (x1 - x0), height * (y - y0) / (y1 - y0))
        for x, y, *_ in points
    ]
    taken = [Bbox.from_bounds(x - 8, y - 8, 16, 16) for x, y in spots]
    for (left, right), (low, high) in bars:
        ends = [
            (width * (x - x0) / (x1 - x0), height * (y - y0) / (y1 - y0))
            for x, y in ((left, low), (right, high))
        ]
        taken.append(Bbox(ends).padded(1))
    if better:
        right, top = CORNERS[better]
        taken.append(
            Bbox.from_bounds(
                0.86 * width * right, 0.78 * height * top, 0.14 * width, 0.22 * height
            )
        )
    for (x, y), (_, _, words, colour) in zip(spots, points):
        wide, high = text_width(words, TICK, "bold"), 14
        shifts = list(product((0, 14, 40), (14, -14, 28, -28, 0, 44, -44)))
        starts = [(x + 12 + far, y + up) for far, up in shifts] + [
            (x - 12 - far - wide, y + up) for far, up in shifts
        ]
        boxes = [
            Bbox.from_bounds(left, middle - high / 2, wide, high)
            for left, middle in starts
        ]
        free = [
            box
            for box in boxes
            if not box.count_overlaps(taken)
            and box.x0 > 2
            and box.x1 < width + 14
            and box.y0 > 0
            and box.y1 < height
        ]
        box = (free or boxes)[0]
        taken.append(box)
        ax.annotate(
            words,
            (box.x0 / width, (box.y0 + box.y1) / 2 / height),
            xycoords="axes fraction",
            va="center",
            color=deep(colour),
            size=TICK,
            weight="bold",
            parse_math=False,
            zorder=9,
            annotation_clip=False,
            path_effects=[withStroke(linewidth=3, foreground=PAPER)],
        )
