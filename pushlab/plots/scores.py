"""Pictures of scores: statistics, profiles, power, scores by task and by ability, and scorecards.

Statistics, profiles and power come from tables of `pushlab.metrics.estimate`. The pictures of a benchmark take scores
as `pushlab bench` writes them, one row per run: agent, task, seed, score, and normalised, which is 0 for random play
and 1 for the best known score. The optional column `failed` marks failed runs.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pushlab.metrics.estimate import (
    half_width,
    interquartile_mean,
    score_matrices,
    stratified_interval,
)
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    HALO,
    INK,
    MUTED,
    PAPER,
    RANDOM_AGENT,
    SMALL_SIZE,
    TEXT,
    TICK_SIZE,
    TRACK,
    chart,
    darken,
    draw_mean,
    draw_vertical_line,
    format_intervals,
    format_number,
    house_style,
    label_axes,
    label_line_ends,
    label_rows,
    one_line,
    plot_with_band,
    round_limits,
    row_panels,
    series_styles,
    sheet,
    shorten,
    truncate_to_width,
)
from pushlab.utils.arguments import (
    require,
    require_columns,
    require_rows,
    validate_choice,
)

SCORE_LIMITS = (-0.5, 1.25)  # normalised scores are clipped to these


# ---------------------------------------------------------------- tables


def task_means(
    scores: pd.DataFrame, value: str = "normalised", level: float = 0.95
) -> pd.DataFrame:
    """Compute the mean and the t-interval over the runs of each agent and task.

    Args:
        scores: One row per run: agent, task, seed, score, normalised.
        value: "normalised", or "score" in the task's own unit.
        level: Coverage of each interval.

    Returns:
        A table with the columns agent, task, mean, low, high (NaN for one run), runs, failed (number of failed runs).

    >>> scores = pd.DataFrame({"agent": "a", "task": "t", "seed": [0, 1], "score": [2.0, 4.0], "normalised": [0, 1]})
    >>> task_means(scores)[["mean", "runs", "failed"]].values.tolist()
    [[0.5, 2.0, 0.0]]
    """
    require_rows(scores, "agent", "task", "seed", value)
    scores = scores.assign(failed=scores.get("failed", False))
    table = scores.groupby(["agent", "task"], sort=False).agg(
        mean=(value, "mean"),
        spread=(value, "std"),
        runs=(value, "size"),
        failed=("failed", "sum"),
    )
    half = half_width(table.pop("spread"), table["runs"], level)
    table["low"] = table["mean"] - half
    table["high"] = table["mean"] + half
    return table.reset_index()


def ability_table(
    scores: pd.DataFrame, tasks: pd.DataFrame, agent: str
) -> pd.DataFrame:
    """Compute the interquartile mean of each agent's normalised scores by ability, over the tasks that `agent` ran.

    Other agents have a value only for abilities in which they ran all these tasks. If `agent` ran no task of an
    ability, all values of this ability are NaN.

    Args:
        scores: One row per run: agent, task, seed, normalised. An agent has the same seeds in all its tasks.
        tasks: One row per task: name, and abilities, a list.

    Returns:
        A table with the columns ability, agent, value, low, high (stratified bootstrap; NaN for one run), tasks (number
        of its tasks that `agent` ran) and total_tasks (number of all its tasks).

    >>> scores = pd.DataFrame({"agent": "a", "task": list("ttuu"), "seed": [0, 1] * 2, "normalised": [0, 1, 1, 3]})
    >>> tasks = pd.DataFrame({"name": ["t", "u", "v"], "abilities": [["memory"], ["delay", "memory"], ["planning"]]})
    >>> ability_table(scores, tasks, "a")[["ability", "value", "tasks", "total_tasks"]].values.tolist()
    [['memory', 1.0, 2, 2], ['delay', 2.0, 1, 1], ['planning', nan, 0, 1]]
    """
    require_columns(tasks, "name", "abilities")
    require_rows(scores, "agent", "task", "seed", "normalised")
    grids = {}
    for _, agent_scores in scores.groupby("agent", sort=False):
        grids |= score_matrices(agent_scores, "normalised")
    validate_choice("agent", agent, grids)
    by_ability = tasks.explode("abilities").groupby("abilities", sort=False)
    rows = []
    for ability, names in by_ability["name"]:
        agent_tasks = [name for name in names if name in grids[agent]]
        for other, grid in grids.items():
            count = len(agent_tasks) if set(agent_tasks) <= set(grid) else 0
            interval = (np.nan, np.nan, np.nan)
            if count and len(grid) > 1:
                interval = stratified_interval(grid[agent_tasks], interquartile_mean)
            elif count:
                interval = (interquartile_mean(grid[agent_tasks]), np.nan, np.nan)
            rows.append((ability, other, *interval, count, len(names)))
    columns = ["ability", "agent", "value", "low", "high", "tasks", "total_tasks"]
    return pd.DataFrame(rows, columns=columns)


# ---------------------------------------------------------------- pictures


@house_style()
def task_scores(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    agent: str,
    level: float = 0.95,
) -> Figure:
    """Draw an agent's runs, means and intervals in all tasks, from random play to the best known score.

    A dot is a run, a cross is a failed run, and a grey tick is the mean of another agent. Scores outside the axis are
    clipped.

    Args:
        scores: One row per run: agent, task, seed, normalised.
        tasks: One row per task: name.
        level: Coverage of each interval.
    """
    means = task_means(scores, level=level)
    validate_choice("agent", agent, means["agent"].unique())
    is_own = means["agent"] == agent
    own = means[is_own].set_index("task").reindex(tasks["name"])
    texts = []
    for line in own.itertuples():
        text = format_number(line.mean) if line.runs > 0 else "not done"
        if line.failed > 0:
            text += f", {line.failed:.0f} failed"
        texts.append(text)
    others = means[~is_own].set_index("task")
    ax = _draw_score_rows(own, others, texts, f"{agent}: scores by task")
    rows = pd.Series(range(len(own)), own.index)
    _draw_runs(ax, scores[scores["agent"] == agent], rows)
    return ax.figure


def _draw_score_rows(own, others, texts, title):
    """Draw a row for each mean of an agent, with ticks for other agents; return the axes."""
    size = (6.4, 1.7 + 0.3 * len(own))
    ax = chart(title, xlabel="normalised score", size=size)
    x = others["mean"].clip(*SCORE_LIMITS)
    rows = own.index.get_indexer(others.index)
    ax.plot(x, rows, "|", ms=13, mew=1.4, color=MUTED)
    label_rows(ax, list(own.index), texts)
    for row, interval in enumerate(own[["mean", "low", "high"]].to_numpy()):
        value, *ends = interval.clip(*SCORE_LIMITS)
        draw_mean(ax, (BLUE, "-", "o"), value, row, ends)
    draw_vertical_line(ax, 0, "random", ":")
    draw_vertical_line(ax, 1, "best known")
    xlim = np.add(SCORE_LIMITS, (-0.05, 0.05))
    ax.set(xlim=xlim, xticks=(-0.5, 0, 0.5, 1))
    return ax


def _draw_runs(ax, runs, rows):
    """Draw the runs of each task side by side, with a cross on failed runs."""
    x = runs["normalised"].clip(*SCORE_LIMITS)
    order = runs.groupby("task")["seed"].rank(pct=True)
    y = runs["task"].map(rows) + 0.7 * (order - 0.5)
    ax.plot(
        x,
        y,
        "o",
        ms=4.5,
        color=BLUE,
        alpha=0.4,
        mew=0,
    )
    if "failed" in runs:
        is_failed = runs["failed"]
        ax.plot(x[is_failed], y[is_failed], "x", color=INK, zorder=7)


@house_style()
def ability_scores(table: pd.DataFrame, agent: str) -> Figure:
    """Draw an agent's normalised score by ability, with ticks for other agents.

    An ability in which the agent ran no task has an empty row. Scores outside the axis are clipped.

    Args:
        table: A table from `ability_table` for the same agent.
    """
    require_rows(table, "ability", "agent", "value")
    validate_choice("agent", agent, table["agent"].unique())
    table = table.set_index("ability").rename(columns={"value": "mean"})
    is_own = table["agent"] == agent
    own = table[is_own]
    intervals = format_intervals(own[["mean", "low", "high"]].to_numpy())
    texts = []
    for row, interval in zip(own.itertuples(), intervals):
        mean = interval if row.tasks else "not done"
        texts.append(f"{mean}, {row.tasks} of {row.total_tasks} tasks")
    title = f"{agent}: scores by ability"
    return _draw_score_rows(own, table[~is_own], texts, title).figure


def format_score(value: float, low: float = 0.0, high: float = 1.0) -> str:
    """Return a score as text; the last decimal is at most a hundredth of the range from `low` to `high`.

    >>> format_score(0.12345), format_score(1.0)
    ('0.12', '1')
    >>> format_score(-0.53412, -0.557, -0.492), format_score(1234.5, -300, 2000)
    ('−0.5341', '1,234')
    """
    digits = max(0, 2 - int(np.floor(np.log10(high - low))))
    rounded = round(float(value), digits) + 0.0  # -0.0 becomes 0.0
    if rounded == 0 or value == np.round(value):
        digits = 0
    return f"{rounded:,.{digits}f}".replace("-", "−")


SUFFICIENT_POWER = 0.8


@house_style()
def score_intervals(
    table: pd.DataFrame, title: str = "Statistics of each agent", subtitle: str = ""
) -> Figure:
    """Draw each statistic in a panel, with an interval for each agent. The marks of the random agent are hollow.

    Args:
        table: A table from `estimate.score_table`: statistic, agent, value, low, high. A difference, "a minus b", has
            the colour of a.
    """
    require_rows(table, "statistic", "agent", "value", "low", "high")
    table = table.rename(columns={"agent": "name"})
    table["hollow"] = table["name"] == RANDOM_AGENT
    blocks = dict(list(table.groupby("statistic", sort=False)))
    agents = table["name"].str.split(" minus ").str[0]
    styles = series_styles(agents)
    styles = {name: styles[agent] for name, agent in zip(table["name"], agents)}
    figure = row_panels(blocks, styles, title, subtitle, sharex=True)
    limits = [table["low"].min(), table["high"].max()]
    for ax, statistic in zip(figure.axes, blocks):
        if "improvement" in statistic:  # 1/2 if neither agent is better
            limits.append(0.5)
            draw_vertical_line(ax, 0.5, "neither is better")
    round_limits(figure.axes[0].xaxis, min(limits), max(limits), 5)
    return figure


@house_style()
def performance_profiles(
    table: pd.DataFrame,
    title: str = "How many runs reach a score",
    subtitle: str = "",
    unit: str = "score",
) -> Figure:
    """Draw the share of runs that score more than a threshold, for all thresholds, with bands for the intervals.

    A higher line is better. If two lines cross, one agent does well more often, and the other does very well more
    often. A band of zero width doesn't mean certainty: in each task, all runs are on the same side of the threshold.

    Args:
        table: A table from `estimate.profile_table`: agent, threshold, share, low, high.
    """
    require_rows(table, "agent", "threshold", "share", "low", "high")
    ax = chart(title, subtitle, "share of runs above it", unit, (7.4, 4.4))
    styles = series_styles(table["agent"])
    for name, line in table.groupby("agent", sort=False):
        means = line.rename(columns={"share": "mean"})
        plot_with_band(ax, line["threshold"], means, styles[name], label=name)
    colours = [darken(colour) for colour, _, _ in styles.values()]
    font = {"size": TICK_SIZE, "weight": "bold"}
    ax.legend(
        bbox_to_anchor=(1, 1),
        loc="upper left",
        labelcolor=colours,
        prop=font,
    )
    thresholds = table["threshold"]
    ax.set(xlim=(thresholds.min(), thresholds.max()), ylim=(0, 1.005))
    return ax.figure


@house_style()
def power_curve(
    table: pd.DataFrame, title: str = "Power by the number of runs", subtitle: str = ""
) -> Figure:
    """Draw the power to detect a difference by the number of runs, with a mark at the first power of at least 0.8.

    Args:
        table: A table from `estimate.power_table`: difference, runs, power.
    """
    require_rows(table, "difference", "runs", "power")
    ax = chart(title, subtitle, "power", "runs", (6.4, 4))
    ax.axhline(
        SUFFICIENT_POWER,
        color=INK,
        lw=1.6,
        ls=BOUND_DASH,
    )
    styles = series_styles(table["difference"])
    labels = []
    for difference, line in table.groupby("difference", sort=False):
        colour, dash, marker = styles[difference]
        runs = line["runs"]
        power = line["power"]
        ax.plot(runs, power, color=colour, ls=dash)
        enough = line[power >= SUFFICIENT_POWER].head(1)
        ax.plot(
            enough["runs"],
            enough["power"],
            marker,
            color=colour,
            ms=8,
            mec=PAPER,
            zorder=6,
        )
        needed = f"over {runs.max()}"
        if len(enough):
            needed = enough["runs"].iloc[0]
        label = f"{format_number(difference)}: {needed} runs"
        labels.append((runs.iloc[-1], power.iloc[-1], label, colour))
    runs = table["runs"]
    ax.set(xlim=(runs.min(), runs.max()), ylim=(0, 1.01))
    ax.set_yticks(sorted({0, 0.25, 0.5, SUFFICIENT_POWER, 1}))
    label_line_ends(ax, labels)
    return ax.figure


BARS = {  # metric: (name, meaning of a full bar or of the number)
    "performance_share": ("performance", "share of the best possible"),
    "coverage": ("coverage", "history's values that were opened"),
    "evenness": ("evenness", "normalised entropy of opened values"),
    "panel_click_through_rate": (
        "click-through rate",
        "expected, mean over the judges",
    ),
    "plausibility": ("plausibility", "share of known combinations"),
    "enticement": ("enticement", "0 all low, 1 all high"),
}
JUDGE_NAMES = {"truth": "true user", "adaboost": "AdaBoost", "bayes": "naive Bayes"}


@house_style()
def scorecard(cards: Sequence[Any], title: str = "", subtitle: str = "") -> Figure:
    """Draw the metrics of the first scorecard as bars, and the share opened of all agents by each judge.

    Ticks on the bars show the random agent.

    Args:
        cards: Scorecards of one challenge (`pushlab.challenges.scorecard.Scorecard`). The first five are drawn.

    Returns:
        A figure of 9 x 4.2 inches.
    """
    cards = list(cards)[:5]
    require(cards, "there is no scorecard to draw")
    first = cards[0]
    if not subtitle:
        count = first.count // len(first.seeds)
        subtitle = f"challenge {first.challenge} · user {shorten(first.user, 20)}"
        subtitle += f" · {first.period} period of {count:,} notifications"
    title = title or f"Scorecard of {shorten(first.agent, 40)}"
    figure = sheet(9, 4.2, title, subtitle)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    _draw_bars(left, cards)
    _draw_judges(right, cards)
    return figure


def _is_random(card):
    return card.agent.lower() == RANDOM_AGENT


def _draw_bars(ax, cards):
    """Draw a bar for each metric of the first card, with ticks for the random agent."""
    metrics = cards[0].metrics
    names = [name for name in BARS if metrics.get(name) is not None]
    rows = np.arange(len(names))
    values = np.array([metrics[name] for name in names])
    label_rows(ax, [BARS[name][0] for name in names])
    ax.barh(rows, 1, height=0.28, color=TRACK)
    ax.barh(rows, values.clip(0, 1), height=0.28, color=BLUE)
    for row, name in enumerate(names):
        _, meaning = BARS[name]
        ax.text(
            0,
            row + 0.37,
            meaning,
            size=SMALL_SIZE,
            color=TEXT,
            va="center",
        )
        number = f"{values[row]:.2f}".replace("-", "−")
        ax.text(
            1.04,
            row,
            number,
            size=13,
            weight="bold",
            va="center",
        )
    for card in filter(_is_random, cards[1:]):
        random_values = [card.metrics.get(name, np.nan) for name in names]
        x = np.clip(np.array(random_values, float), 0, 1)
        ax.vlines(
            x,
            rows - 0.2,
            rows + 0.2,
            color=INK,
            lw=1.8,
            path_effects=HALO,
            clip_on=False,
        )
        ax.text(
            x[0],
            -0.25,
            RANDOM_AGENT,
            size=SMALL_SIZE,
            color=TEXT,
            ha="center",
        )
    ax.set(
        xlim=(0, 1),
        xticks=[],
        ylim=(max(len(names), 5) - 0.5, -0.5),
    )
    ax.spines.bottom.set_visible(False)


def _draw_judges(ax, cards):
    """Draw the share opened by each judge with its interval, the agents below each other."""
    judges = list(cards[0].judges)
    label_axes(ax, "share opened by each judge, 95 % intervals")
    names = [JUDGE_NAMES.get(judge, judge) for judge in judges]
    label_rows(ax, [shorten(name, 14) for name in names])
    styles = series_styles([card.agent for card in cards])
    middle = (len(cards) - 1) / 2
    for place, card in enumerate(cards):
        style = styles[card.agent]
        is_random = _is_random(card)
        for row, judge in enumerate(judges):
            rate = card.judges[judge]
            y = row + 0.16 * (place - middle)
            ends = (rate["low"], rate["high"])
            draw_mean(ax, style, rate["sampled"], y, ends, hollow=is_random)
        colour, _, marker = style
        ax.plot(
            [],
            [],
            marker,
            ms=7.5,
            color=colour,
            mfc=PAPER if is_random else colour,
            label=truncate_to_width(one_line(card.agent), 110, TICK_SIZE),
        )
    ax.set(xlim=(0, 1), xticks=(0, 0.5, 1))
    ax.legend(
        loc="upper center",
        bbox_to_anchor=(0.4, -0.08),
        ncols=2,
        labelcolor=[darken(colour) for colour, _, _ in styles.values()],
    )
