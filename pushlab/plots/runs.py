"""What a few runs tell: statistics with their intervals, profiles of scores, and how many runs a difference takes.

Each picture is drawn from a table of `pushlab.metrics.estimate`.
"""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import has_rows
from pushlab.plots.kit import banded_line, end_labels
from pushlab.plots.palette import (
    BOUND_DASH,
    CHANCE,
    INK,
    LEAD,
    PAPER,
    TICK,
    deep,
    series_styles,
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
from pushlab.plots.ticks import count_along, set_ticks, span, ticks_between
from pushlab.plots.words import alike_numbers, short_number

PITCH, GAP = 32, 62  # height of a row, and of the space between two blocks of rows
EVEN = "improvement"  # statistics of that name have 1/2 where neither agent is better
LESS = "gap"  # of statistics of that name less is better


@house_style()
def score_intervals(
    table: pd.DataFrame,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """Each agent's statistic with its interval, a block of rows a statistic; dots are hollow for chance.

    table    of `estimate.score_table`: statistic, agent, value, low, high, runs, tasks, level
    returns  Axes of the first block, on a sheet of 7.4 inches by as many as the rows need
    """
    has_rows(
        table,
        "statistic",
        "agent",
        "value",
        "low",
        "high",
        "runs",
        "tasks",
        what="the table of statistics",
    )
    blocks, styles = (
        dict(list(table.groupby("statistic", sort=False))),
        series_styles(table["agent"]),
    )
    left = (
        min(220, max(text_width(plain(name), LEAD, "bold") for name in styles))
        + MARGIN
        + 16
    )
    right = max(
        190, 34 + max(text_width(_ends(line), LEAD) for line in table.itertuples())
    )
    stage, charts = (
        Stage(740, 98 + sum(PITCH * len(one) + GAP for one in blocks.values()), figure),
        [],
    )
    top = 110 + stage.heading(
        title or _highest(*next(iter(blocks.items()))),
        lead or _lead(table, "intervals"),
    )
    for name, block in blocks.items():
        stage.label(MARGIN, top - 26, plain(name))
        rows = Rows(stage, len(block), PITCH, top, left, right)
        for row, line in enumerate(block.itertuples()):
            colour, _, marker = styles[line.agent]
            rows.interval(row, line.low, line.high, colour)
            rows.dot(row, line.value, colour, marker, str(line.agent).lower() == CHANCE)
            rows.say(row, line.agent, _ends(line), colour)
        even = [0.5] if EVEN in name else []
        span(
            rows.ax.xaxis, min([*block["low"], *even]), max([*block["high"], *even]), 5
        )
        for value in even:
            rows.upright(value, "neither is better", edge=0.5)
        charts, top = [*charts, rows.ax], top + PITCH * len(block) + GAP
    return charts[0]


@house_style()
def performance_profiles(
    table: pd.DataFrame,
    title: Words = None,
    lead: Words = None,
    unit: str = "score",
    figure: Figure | None = None,
) -> Axes:
    """The share of runs that score more than so much, a falling line an agent in the band of its interval.

    table    of `estimate.profile_table`: agent, threshold, share, low, high, runs, tasks, level
    returns  Axes on a sheet of 7.4 x 4.4 inches. A line above another is better there; where they cross, one agent
             does well more often and the other very well. A band without width is no certainty: there all runs seen are
             on one side of the threshold, task by task
    """
    has_rows(
        table,
        "agent",
        "threshold",
        "share",
        "low",
        "high",
        "runs",
        "tasks",
        what="the table of profiles",
    )
    stage, styles = Stage(740, 440, figure), series_styles(table["agent"])
    stage.heading(
        title or "How many runs reach a score",
        lead or _lead(table, "bands"),
        title_lines=1,
    )
    stage.label(MARGIN, 84, "share of runs above it")
    widest = max(
        text_width(fit(plain(name), 150, TICK, "bold"), TICK, "bold") for name in styles
    )
    ax = stage.axes(MARGIN + 34, 104, 740 - 2 * MARGIN - 34 - widest - 60, 284)
    for place, (name, line) in enumerate(table.groupby("agent", sort=False)):
        colour, dash, _ = styles[name]
        banded_line(
            ax,
            line["threshold"],
            line.rename(columns={"share": "mean"}),
            (colour, dash),
        )
        right, high = 740 - MARGIN - widest, 112 + 20 * place
        stage.line([(right - 46, high), (right - 8, high)], colour, 2.2, dash)
        stage.text(
            right, high, fit(plain(name), 150, TICK, "bold"), TICK, deep(colour), "bold"
        )
    low, high = table["threshold"].min(), table["threshold"].max()
    ax.set(xlim=(low, high), ylim=(0, 1.005))
    set_ticks(ax.xaxis, ticks_between(low, high, 5), unit)
    set_ticks(ax.yaxis, (0, 0.25, 0.5, 0.75, 1))
    return ax


@house_style()
def power_curve(
    table: pd.DataFrame,
    wanted: float = 0.8,
    title: Words = None,
    lead: str = "chance that the interval of the difference excludes 0, for normal values",
    figure: Figure | None = None,
) -> Axes:
    """The chance to find a difference over the number of runs, a line a difference; a dot where it is enough.

    table    of `estimate.power_table`: difference, runs, power
    wanted   the power that is enough, a dashed line
    returns  Axes on a sheet of 6.4 x 4 inches
    """
    has_rows(table, "difference", "runs", "power", what="the table of power")
    stage, styles, labels, first = (
        Stage(640, 400, figure),
        series_styles(table["difference"]),
        [],
        None,
    )
    ax = stage.axes(MARGIN + 34, 100, 640 - 2 * MARGIN - 34 - 120, 252)
    ax.axhline(wanted, color=INK, lw=1.6, ls=BOUND_DASH)
    for difference, line in table.groupby("difference", sort=False):
        colour, dash, marker = styles[difference]
        ax.plot(line["runs"], line["power"], color=colour, ls=dash)
        enough = line[line["power"] >= wanted].sort_values("runs").head(1)
        ax.plot(
            enough["runs"],
            enough["power"],
            marker,
            color=colour,
            ms=8,
            mec=PAPER,
            zorder=6,
        )
        runs = (
            f"{enough['runs'].iloc[0]} runs"
            if len(enough)
            else f"over {line['runs'].max()} runs"
        )
        late = bool(
            2 < enough["runs"].max() == line["runs"].min()
        )  # the table begins too late to tell
        first = (
            first
            or f"A difference of {short_number(difference)} takes {runs}{' or fewer' * late}"
        )
        runs = "≤ " * late + runs
        labels.append(
            (
                line["runs"].iloc[-1],
                line["power"].iloc[-1],
                f"{short_number(difference)}: {runs}",
                colour,
                "bold",
            )
        )
    stage.heading(title or first, lead, title_lines=1)
    stage.label(MARGIN, 82, "power")
    ax.set(ylim=(0, 1.01))
    count_along(ax, table["runs"].min(), table["runs"].max(), 5, "runs")
    set_ticks(ax.yaxis, sorted({0, 0.25, 0.5, wanted, 1}))
    end_labels(ax, labels)
    return ax


def _ends(line):
    value, low, high = alike_numbers(line.value, line.low, line.high)
    return f"{value}, {low} to {high}"


def _lead(table, what):
    runs, tasks = (
        "to".join(
            f" {one} " for one in sorted({table[name].min(), table[name].max()})
        ).strip()
        for name in ("runs", "tasks")
    )
    levels = sorted({*table["level"]}) if "level" in table else []
    sure = "".join(f"{100 * one:g} % " for one in levels[:1] if len(levels) == 1)
    where = "one task" if tasks == "1" else f"each of {tasks} tasks"
    return f"{runs} runs on {where}, {sure}{what} by the stratified bootstrap"


def _highest(statistic, block):
    """Whose interval lies beyond all others, on the good side of 1/2 where that is even; else the statistic's name."""
    down = LESS in statistic
    block = block.sort_values("value", ascending=down, kind="stable")
    first, rest = block.iloc[0], block.iloc[1:]
    ahead = (
        first["high"] < rest["low"].min() if down else first["low"] > rest["high"].max()
    )
    if len(rest) and ahead and (EVEN not in statistic or first["low"] > 0.5):
        return f"{plain(first['agent'])} has the {'lowest' if down else 'highest'} {plain(statistic)}"
    return f"{plain(statistic).capitalize()} of each agent"
