"""Results of few runs: statistics with intervals, profiles of scores, and how many runs a difference takes.

Each picture is drawn from a table of `pushlab.metrics.estimate`.
"""

import pandas as pd
from matplotlib.figure import Figure

from pushlab.ground.arguments import has_rows
from pushlab.plots.style import (
    BOUND_DASH,
    CHANCE,
    INK,
    PAPER,
    TICK,
    banded_line,
    chart,
    deep,
    draw_upright,
    house_style,
    label_line_ends,
    round_limits,
    row_panels,
    series_styles,
    short_number,
)

EVEN = "improvement"  # a statistic with this word is 1/2 if neither agent is better


@house_style()
def score_intervals(table: pd.DataFrame, title: str = "", lead: str = "") -> Figure:
    """Draw a statistic of each agent with its interval, a panel a statistic. Marks of chance are hollow.

    Args:
        table: Of `estimate.score_table`: statistic, agent, value, low, high.
    """
    what = "the table of statistics"
    has_rows(table, "statistic", "agent", "value", "low", "high", what=what)
    table = table.rename(columns={"agent": "name"})
    table["hollow"] = table["name"] == CHANCE
    blocks = dict(list(table.groupby("statistic", sort=False)))
    title = title or "Statistics of each agent"
    figure = row_panels(blocks, series_styles(table["name"]), title, lead)
    for ax, (statistic, block) in zip(figure.axes, blocks.items()):
        limits = [block["low"].min(), block["high"].max()]
        if EVEN in statistic:
            limits.append(0.5)
            draw_upright(ax, 0.5, "neither is better")
        round_limits(ax.xaxis, min(limits), max(limits), 5)
    return figure


@house_style()
def performance_profiles(
    table: pd.DataFrame, title: str = "", lead: str = "", unit: str = "score"
) -> Figure:
    """Draw the share of runs that score more than a threshold, by the threshold, with bands of their intervals.

    An agent whose line is above another is better there. If lines cross, one agent does well more often and the other
    very well. A band without width is no certainty: all runs are on one side of the threshold, task by task.

    Args:
        table: Of `estimate.profile_table`: agent, threshold, share, low, high.
    """
    what = "the table of profiles"
    has_rows(table, "agent", "threshold", "share", "low", "high", what=what)
    title = title or "How many runs reach a score"
    ax = chart(title, lead, "share of runs above it", unit, (7.4, 4.4))
    styles = series_styles(table["agent"])
    for name, line in table.groupby("agent", sort=False):
        means = line.rename(columns={"share": "mean"})
        banded_line(ax, line["threshold"], means, styles[name], label=name)
    colours = [deep(colour) for colour, _, _ in styles.values()]
    font = {"size": TICK, "weight": "bold"}
    ax.legend(bbox_to_anchor=(1, 1), loc="upper left", labelcolor=colours, prop=font)
    ax.set(xlim=(table["threshold"].min(), table["threshold"].max()), ylim=(0, 1.005))
    return ax.figure


@house_style()
def power_curve(
    table: pd.DataFrame, wanted: float = 0.8, title: str = "", lead: str = ""
) -> Figure:
    """Draw the chance to find a difference by the number of runs, with a mark where it is enough.

    Args:
        table: Of `estimate.power_table`: difference, runs, power.
        wanted: The power that is enough.
    """
    has_rows(table, "difference", "runs", "power", what="the table of power")
    title = title or "Power by the number of runs"
    ax = chart(title, lead, "power", "runs", (6.4, 4))
    ax.axhline(wanted, color=INK, lw=1.6, ls=BOUND_DASH)
    styles = series_styles(table["difference"])
    labels = []
    for difference, line in table.groupby("difference", sort=False):
        colour, dash, marker = styles[difference]
        ax.plot(line["runs"], line["power"], color=colour, ls=dash)
        enough = line[line["power"] >= wanted].head(1)
        look = {"color": colour, "ms": 8, "mec": PAPER, "zorder": 6}
        ax.plot(enough["runs"], enough["power"], marker, **look)
        words = f"{short_number(difference)}: over {line['runs'].max()} runs"
        if len(enough):
            words = f"{short_number(difference)}: {enough['runs'].iloc[0]} runs"
        labels.append((line["runs"].iloc[-1], line["power"].iloc[-1], words, colour))
    ax.set(xlim=(table["runs"].min(), table["runs"].max()), ylim=(0, 1.01))
    ax.set_yticks(sorted({0, 0.25, 0.5, wanted, 1}))
    label_line_ends(ax, labels)
    return ax.figure
