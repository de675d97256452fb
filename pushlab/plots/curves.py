"""Line charts of how agents do, with 95 % intervals over their runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pushlab.ground.arguments import demand, has_rows
from pushlab.plots.curve_tables import (
    curve_table,
    earnings,
    policy_table,
    run_numbers,
)
from pushlab.plots.style import (
    BOUND_DASH,
    INK,
    SMALL,
    banded_line,
    chart,
    house_style,
    label_line_ends,
    name_axes,
    round_limits,
    series_styles,
    sheet,
    short,
    short_number,
    spoken,
    tick_name,
)

POINTS = 250  # of a line; dashes blur when there are more
STUDY_AGENTS = ("Thompson", "LinUCB", "eps-greedy", "most opened", "random")


def title_of(value: str, by: str) -> str:
    """Return a plain title of a picture: "Reward by agent"."""
    return f"{spoken(value)} by {spoken(by)}".capitalize()


@house_style()
def learning_curve(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    window: int | None = None,
    best: str | None = None,
    over: str | None = None,
    runs: str = "seed",
    title: str = "",
    lead: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot how fast each agent learns: rolling means with 95 % intervals over its runs.

    Args:
        log: A tidy log, a row a step or a row an episode. See `curve_table` for `value`, `window`, `over` and `runs`.
        best: The column of the log that holds the best possible value.
        title: What the reader should see.
        lead: Where the numbers come from.
    """
    over = over or ("step" if "step" in log else "episode")
    statistic = "mean"
    if value is None:
        value, statistic = earnings(log, over)
    table = curve_table(log, value, by, window, over, runs, statistic)
    demand(table[over].nunique() > 1, f"a curve needs more than one {over} a run")
    bound = None
    if best is not None:
        bounds = curve_table(log, best, by, window, over, runs, statistic)
        bound = bounds.groupby(over)["mean"].mean()
    ax = chart(
        title or title_of(value, by),
        lead,
        ylabel or f"{spoken(value)}, rolling mean",
        f"{over}s",
    )
    is_share = log[value].dropna().isin([0, 1]).all()
    draw_curves(ax, table, by, over, bound, is_share)
    return ax.figure


def draw_curves(
    ax: Axes,
    table: pd.DataFrame,
    by: str,
    over: str,
    bound: pd.Series | None = None,
    is_share: bool = False,
) -> None:
    """Draw lines in their bands, with a name and the last value at each end.

    Args:
        table: Columns `by`, `over`, mean, low, high.
        bound: Heights of a dashed line, by `over`.
        is_share: Whether the heights go from 0 to 1.
    """
    heights = table[["mean", "low", "high"]].to_numpy()
    styles = series_styles(table[by])
    labels = []

    def label_end(name, x, y, colour):
        labels.append((x, y, f"{short(name, 18)} {short_number(y)}", colour))

    for name, line in table.groupby(by, sort=False):
        drawn = line.iloc[:: -max(1, len(line) // POINTS)]
        banded_line(ax, drawn[over], drawn, styles[name])
        label_end(name, drawn[over].iloc[0], drawn["mean"].iloc[0], styles[name][0])
    if bound is not None:
        ax.plot(bound, color=INK, lw=1.6, ls=BOUND_DASH)
        label_end("best possible", bound.index[-1], bound.iloc[-1], INK)
        heights = np.append(heights, bound)
    if is_share:
        heights = [0, 1]
    first = table[over].min()
    last = table[over].max()
    ax.set_xlim(0 if first < 0.2 * last else first, last)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=(1, 2, 2.5, 5, 10)))
    round_limits(ax.yaxis, min(0, np.nanmin(heights)), np.nanmax(heights))
    if ax.get_ylim()[0] < 0:
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
    label_line_ends(ax, labels)


@house_style()
def sweep_curve(
    log: pd.DataFrame,
    over: str,
    value: str = "return",
    by: str = "agent",
    runs: str = "seed",
    title: str = "",
    lead: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot how well each agent does at each setting of a number, with 95 % intervals over its runs.

    Rows of `pushlab.sweep` hold the settings of an environment in `params`. Make a column of the number first:
    `log.assign(alpha=log["params"].map(json.loads).str["alpha"])`.

    Args:
        log: A tidy log with a column `over`, the number that was varied.
        runs: What the intervals range over, see `policy_table`.
    """
    has_rows(log, over, what="the log")
    tables = {}
    for setting, rows in log.groupby(over):
        tables[setting] = policy_table(rows, value, by, runs=runs)
    table = pd.concat(tables, names=[over]).reset_index(level=over)
    ax = chart(
        title or title_of(value, by),
        lead,
        ylabel or spoken(value),
        spoken(over),
        (6.4, 4.4),
    )
    for name, (colour, _, marker) in series_styles(table[by]).items():
        line = table[table[by] == name]
        ax.plot(
            line[over],
            line["mean"],
            marker,
            ms=5.5,
            color=colour,
            clip_on=False,
            zorder=4,
        )
    draw_curves(ax, table, by, over)
    settings = list(tables)
    if 0 < 8 * settings[0] <= settings[-1]:
        ax.set_xscale("log", base=2)
        ax.minorticks_off()
    ax.set_xlim(settings[0], settings[-1])
    ax.set_xticks(settings, [tick_name(setting) for setting in settings])
    return ax.figure


@house_style()
def study_curves(curves: pd.DataFrame, user: str, title: str = "") -> Figure:
    """Plot how fast each agent learned one user in the cold-start study.

    Args:
        curves: The table data/studies/cold_start_curves.csv.
    """
    rows = curves[curves["user"] == user]
    demand(len(rows), f"the study has no user {user!r}")
    rows = rows.rename(
        columns={"opened": "mean", "opened_low": "low", "opened_high": "high"}
    )
    lines = [rows[rows["agent"] == name] for name in STUDY_AGENTS]
    ax = chart(
        title or f"Share opened by agent, user {user}",
        "evalumap2-v0, 95 % intervals over the seeds",
        "share opened, mean of 100 steps",
        "steps",
    )
    bound = rows.drop_duplicates("step").set_index("step")["reachable"]
    draw_curves(ax, pd.concat(lines), "agent", "step", bound, is_share=True)
    return ax.figure


@house_style()
def reward_parts(
    log: pd.DataFrame,
    parts: str = "info.parts.",
    by: str = "agent",
    window: int = 10,
    title: str = "",
    lead: str = "",
) -> Figure:
    """Plot learning curves of the parts of the reward: a panel for their sum and for each that is not always 0.

    Args:
        log: A tidy log, a row an episode; or a row a step with sums since the beginning of its episode.
        parts: How the names of the columns begin that hold the parts.
        window: Episodes in the rolling mean.
    """
    columns = [name for name in log if str(name).startswith(parts)]
    demand(columns, f"no column of the log begins with {parts!r}")
    has_rows(log, by, "episode", what="the log")
    last = log.groupby(run_numbers(log, "episode"), sort=False).tail(1)
    last = last.assign(**{parts + "all parts": last[columns].sum(axis=1)})
    columns = [parts + "all parts", *(name for name in columns if last[name].any())]
    tables = {}
    for column in columns:
        tables[column] = curve_table(last, column, by, window, "episode")
    heights = pd.concat(tables)[["mean", "low", "high"]].to_numpy()
    styles = series_styles(log[by])
    rows = -(-len(columns) // 4)
    figure = sheet(
        9,
        0.9 + 1.7 * rows,
        title or title_of("parts of the reward", by),
        lead or f"reward of an episode, mean of the last {window:,}",
    )
    layout: Any = figure.get_layout_engine()
    layout.set(w_pad=0.05, h_pad=0.08)
    for place, (column, table) in enumerate(tables.items(), 1):
        ax = figure.add_subplot(rows, 4, place)
        ax.tick_params(labelleft=place % 4 == 1)
        name_axes(ax)
        ax.set_title(spoken(column.removeprefix(parts)), size=SMALL)
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
        labels = []
        for name, line in table.groupby(by, sort=False):
            banded_line(ax, line["episode"], line, styles[name], lw=1.8)
            x, y = line[["episode", "mean"]].iloc[-1]
            words = short_number(y)
            if place == 1 and len(styles) > 1:
                words = f"{short(name, 12)} {words}"
            labels.append((x, y, words, styles[name][0]))
        ax.set_xlim(0)
        ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
        round_limits(ax.yaxis, min(0, np.nanmin(heights)), max(0, np.nanmax(heights)))
        label_line_ends(ax, labels)
    return figure
