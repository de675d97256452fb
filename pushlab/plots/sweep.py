"""What becomes of each agent when one number is turned: means and intervals over a sweep."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import has_rows
from pushlab.plots.curve_tables import policy_table, run_scores
from pushlab.plots.curves import log_lead
from pushlab.plots.kit import banded_line, end_labels
from pushlab.plots.palette import (
    BOUND_DASH,
    CHANCE,
    INK,
    LEAD,
    MUTED,
    PAPER,
    TICK,
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
from pushlab.plots.ticks import set_ticks, span
from pushlab.plots.words import order_title, short_number, spoken


def sweep_table(
    log: pd.DataFrame,
    over: str,
    value: str = "return",
    by: str = "agent",
    runs: str = "seed",
) -> pd.DataFrame:
    """Mean and 95 % t-interval over the runs at each setting, a DataFrame: by, over, mean, low, high, runs.

    log    an episode log with a column `over`, the number that was turned
    runs   "seed", or "episode" for policies that do not learn, see `pushlab.plots.policy_table`
    """
    has_rows(log, over, value, by, what="the log")
    tables = {
        at: policy_table(rows, value, by, runs=runs)
        for at, rows in log.groupby(over, sort=False)
    }
    return pd.concat(tables, names=[over]).reset_index(level=over)[
        [by, over, "mean", "low", "high", "runs"]
    ]


@house_style()
def sweep_curve(
    log: pd.DataFrame,
    over: str,
    value: str = "return",
    by: str = "agent",
    best: float | None = None,
    title: Words = None,
    lead: Words = None,
    unit: Words = None,
    runs: str = "seed",
    figure: Figure | None = None,
) -> Axes:
    """How well each agent does at each setting of a number, with 95 % intervals; settings that double lie evenly.

    This is for logs in which a number was turned, such as the capacity of a memory. Rows of `pushlab.sweep` have a
    column of their own only for agents and environments, and `params` for what was turned in an environment: make the
    number a column first, such as `log.assign(alpha=log["params"].map(json.loads).str["alpha"])`.

    log      an episode log; see `sweep_table`, which holds the numbers that are drawn, and says what `runs` is
    best     a bound as a number; None draws none
    returns  Axes on a sheet of 6.4 x 4.4 inches
    """
    table = sweep_table(log, over, value, by, runs)
    lines = {
        name: line.sort_values(over) for name, line in table.groupby(by, sort=False)
    }
    ends, styles = (
        {name: line.iloc[-1] for name, line in lines.items()},
        series_styles(lines),
    )
    stage = Stage(640, 440, figure)
    top = stage.heading(
        title or _title(log, over, value, by, runs),
        lead or log_lead(log, table, runs, over=over),
    )
    stage.label(MARGIN, 82 + top, unit or spoken(value))
    labels = [
        (
            end[over],
            end["mean"],
            f"{fit(plain(name), 150, TICK, 'bold')} {short_number(end['mean'])}",
            styles[name][0],
            "bold",
        )
        for name, end in ends.items()
    ]
    widest = max(text_width(words, TICK, "bold") for _, _, words, _, _ in labels)
    ax = stage.axes(
        MARGIN + 34,
        100 + top,
        640 - 2 * MARGIN - 34 - widest - 14,
        440 - 100 - top - 44,
    )
    settings = np.sort(table[over].unique())
    if settings[0] > 0 and len(settings) > 2 and settings[-1] / settings[0] >= 8:
        ax.set_xscale("log", base=2)
    for name, line in lines.items():
        inside = PAPER if str(name).lower() == CHANCE else styles[name][0]
        banded_line(
            ax,
            line[over],
            line,
            styles[name],
            marker=styles[name][2],
            ms=5.5,
            clip_on=False,
            zorder=4,
            markerfacecolor=inside,
        )
    span(
        ax.yaxis,
        min(0, table["mean"].min()),
        np.nanmax([*table["mean"], *table["high"], best or -np.inf]),
        4,
    )
    ax.set_xlim(settings[0], settings[-1])
    if best is not None:
        ax.axhline(best, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.annotate(
            f"best possible {short_number(best)}",
            (settings[0], best),
            (2, 4),
            size=LEAD - 1,
            color=MUTED,
            textcoords="offset points",
        )
    set_ticks(ax.xaxis, settings, spoken(over))
    ax.minorticks_off()
    end_labels(ax, labels)
    return ax


def _title(log, over, value, by, runs):
    last = {
        name: run_scores(own[own[over] == own[over].max()], value, by, "mean", runs)[
            name
        ]
        for name, own in log.groupby(by, sort=False)
    }
    return (
        order_title(last, "ends highest")
        if len(last) > 1
        else f"{plain(next(iter(last)))}, by {spoken(over)}"
    )
