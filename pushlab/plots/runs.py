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
    SMALL,
    TEXT,
    TICK,
    banded_line,
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
    series_styles,
    sheet,
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
    styles = series_styles(table["agent"])
    blocks = dict(list(table.groupby("statistic", sort=False)))
    heights = [len(block) + 1.9 for block in blocks.values()]
    title = title or "Statistics of each agent"
    figure = sheet(7.4, 1 + 0.32 * sum(heights), title, lead)
    figure.get_layout_engine().set(hspace=0.15)
    panels = figure.subplots(len(blocks), squeeze=False, height_ratios=heights)
    for ax, (name, block) in zip(panels[:, 0], blocks.items()):
        name_axes(ax)
        numbers = block[["value", "low", "high"]].to_numpy(float)
        for row, (agent, line) in enumerate(zip(block["agent"], numbers)):
            colour, _, marker = styles[agent]
            draw_interval(ax, row, *line, colour, marker, agent.lower() == CHANCE)
        colours = [styles[agent][0] for agent in block["agent"]]
        name_rows(ax, list(block["agent"]), interval_words(numbers), colours)
        pad, even = 8, []
        if EVEN in name:
            pad, even = 20, [0.5]
            draw_upright(ax, 0.5, "neither is better")
        ax.set_title(name, size=SMALL, weight="normal", color=TEXT, pad=pad)
        lowest, highest = min([*block["low"], *even]), max([*block["high"], *even])
        round_limits(ax.xaxis, lowest, highest, 5)
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
    ax.legend(
        loc="upper left",
        bbox_to_anchor=(1, 1),
        labelcolor=colours,
        prop={"size": TICK, "weight": "bold"},
    )
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
        last = line.iloc[-1]
        runs = f"over {last['runs']:.0f} runs"
        if len(enough):
            runs = f"{enough['runs'].iloc[0]} runs"
        words = f"{short_number(difference)}: {runs}"
        labels.append((last["runs"], last["power"], words, colour))
    ax.set(xlim=(table["runs"].min(), table["runs"].max()), ylim=(0, 1.01))
    ax.set_yticks(sorted({0, 0.25, 0.5, wanted, 1}))
    label_line_ends(ax, labels)
    return ax.figure
