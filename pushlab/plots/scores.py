"""Scores of runs: statistics, profiles and power, one agent beside others by task and by ability, and scorecards.

Statistics, profiles and power are drawn from tables of `pushlab.metrics.estimate`. The pictures of a benchmark take
scores as `pushlab bench` writes them, a row a run: agent, task, seed, score, and normalised, which is 0 for random play
and 1 for the best known score. The optional column `failed` marks runs that failed.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand, has_columns, has_rows, one_of
from pushlab.metrics.estimate import (
    interquartile_mean,
    score_matrices,
    stratified_interval,
)
from pushlab.metrics.estimate.intervals import half_width
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    CHANCE,
    HALO,
    INK,
    LINE,
    MUTED,
    PAPER,
    SMALL,
    TEXT,
    TICK,
    TRACK,
    banded_line,
    chart,
    deep,
    draw_mean,
    draw_upright,
    fit,
    house_style,
    interval_words,
    label_line_ends,
    name_axes,
    name_rows,
    plain,
    round_limits,
    row_panels,
    series_styles,
    sheet,
    short,
    short_number,
    write_beside,
)

ENDS = (-0.5, 1.25)  # normalised scores beyond are drawn there
CENTRE, RIM = -0.25, 1.1  # scores in the middle of the radar and at its rim


# ---------------------------------------------------------------- tables


def task_means(scores: pd.DataFrame, value: str = "normalised") -> pd.DataFrame:
    """Compute the mean and the 95 % t-interval over the runs of each agent and task.

    Args:
        scores: A row a run: agent, task, seed, score, normalised.
        value: "normalised", or "score" in the task's own unit.

    Returns:
        A table: agent, task, mean, low, high (NaN for one run), runs, failed (number of failed runs).

    >>> scores = pd.DataFrame({"agent": "a", "task": "t", "seed": [0, 1], "score": [2.0, 4.0], "normalised": [0, 1]})
    >>> task_means(scores)[["mean", "runs", "failed"]].values.tolist()
    [[0.5, 2.0, 0.0]]
    """
    has_rows(scores, "agent", "task", "seed", value)
    scores = scores.assign(failed=scores.get("failed", False))
    table = scores.groupby(["agent", "task"], sort=False).agg(
        mean=(value, "mean"),
        spread=(value, "std"),
        runs=(value, "size"),
        failed=("failed", "sum"),
    )
    half = half_width(table.pop("spread"), table["runs"])
    low, high = table["mean"] - half, table["mean"] + half
    return table.assign(low=low, high=high).reset_index()


def ability_table(
    scores: pd.DataFrame, tasks: pd.DataFrame, agent: str
) -> pd.DataFrame:
    """Compute the interquartile mean of each agent's normalised scores by ability, over the tasks that `agent` did.

    Another agent that did not do all of these tasks has no value at that ability. If `agent` did no task of an ability,
    no agent has a value there.

    Args:
        scores: A row a run: agent, task, seed, normalised; an agent has the same seeds in all its tasks.
        tasks: A row a task: name, and abilities, a list.

    Returns:
        A table: ability, agent, value, low, high (of the stratified bootstrap; NaN for one run), tasks (done), of
        (number of tasks of the ability).

    >>> scores = pd.DataFrame({"agent": "a", "task": list("ttuu"), "seed": [0, 1] * 2, "normalised": [0, 1, 1, 3]})
    >>> tasks = pd.DataFrame({"name": ["t", "u", "v"], "abilities": [["memory"], ["delay", "memory"], ["planning"]]})
    >>> ability_table(scores, tasks, "a")[["ability", "value", "tasks", "of"]].values.tolist()
    [['memory', 1.0, 2, 2], ['delay', 2.0, 1, 1], ['planning', nan, 0, 1]]
    """
    has_columns(tasks, "name", "abilities")
    grids = {}
    for _, own in scores.groupby("agent", sort=False):
        grids |= score_matrices(own, "normalised")
    one_of("agent", agent, grids)
    needs = tasks.explode("abilities").groupby("abilities", sort=False)["name"]
    rows = []
    for ability, needed in needs:
        done = [task for task in needed if task in grids[agent]]
        for name, grid in grids.items():
            count = len(done) if set(done) <= set(grid) else 0
            found = (np.nan, np.nan, np.nan)
            if count and len(grid) > 1:
                found = stratified_interval(grid[done], interquartile_mean)
            elif count:
                found = (interquartile_mean(grid[done]), np.nan, np.nan)
            rows.append((ability, name, *found, count, len(needed)))
    columns = ["ability", "agent", "value", "low", "high", "tasks", "of"]
    return pd.DataFrame(rows, columns=columns)


# ---------------------------------------------------------------- pictures


@house_style()
def task_scores(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    agent: str,
    title: str = "",
    lead: str = "",
) -> Figure:
    """Draw an agent's runs, means and intervals in all tasks, from random play to the best known score.

    A dot is a run, a cross a failed run, a grey tick another agent's mean. Scores beyond the axis are drawn at its end.

    Args:
        scores: A row a run: agent, task, seed, normalised.
        tasks: A row a task: name.
    """
    places = pd.Series(range(len(tasks)), tasks["name"])
    runs = scores[scores["agent"] == agent]
    means = task_means(scores)
    is_own = means["agent"] == agent
    own = means[is_own].set_index("task").reindex(tasks["name"])
    title = title or f"{agent}: scores by task"
    size = (6.4, 1.7 + 0.3 * len(tasks))
    ax = chart(title, lead, xlabel="normalised score", size=size)
    others = means[~is_own]
    at = others["mean"].clip(*ENDS)
    ax.plot(at, others["task"].map(places), "|", ms=13, mew=1.4, color=MUTED)
    at = runs["normalised"].clip(*ENDS)
    order = runs.groupby("task")["seed"].rank(pct=True)
    heights = runs["task"].map(places) + 0.7 * (order - 0.5)  # beside each other
    ax.plot(at, heights, "o", ms=4.5, color=BLUE, alpha=0.4, mew=0)
    if "failed" in runs:
        ax.plot(at[runs["failed"]], heights[runs["failed"]], "x", color=INK, zorder=7)
    name_rows(ax, list(own.index))
    for row, line in enumerate(own.itertuples()):
        said = short_number(line.mean) if line.runs > 0 else "not done"
        said += f", {line.failed:.0f} failed" if line.failed > 0 else ""
        write_beside(ax, row, said, INK)
        value, *ends = np.clip((line.mean, line.low, line.high), *ENDS)
        draw_mean(ax, (BLUE, "-", "o"), value, row, ends)
    draw_upright(ax, 0, "random", ":")
    draw_upright(ax, 1, "best known")
    ax.set(xlim=np.add(ENDS, (-0.05, 0.05)), xticks=(-0.5, 0, 0.5, 1))
    return ax.figure


@house_style()
def ability_radar(
    table: pd.DataFrame, agent: str, title: str = "", lead: str = ""
) -> Figure:
    """Draw an agent's normalised score by ability: a spoke each, from random play (dotted) to the best known (dashed).

    Read each spoke by itself: the area within the line depends on the order of the spokes and means nothing. Other
    agents are thin and grey. An ability without a task that the agent did is a gap. Scores are drawn from -0.25 to 1.1.

    Args:
        table: Of `ability_table`, for the same agent.
    """
    one_of("agent", agent, tuple(table["agent"]))
    figure = sheet(7.2, 5.7, title or f"{agent}: scores by ability", lead)
    ax = figure.add_subplot(projection="polar")
    ax.set_theta_zero_location("N")
    ax.set_theta_direction(-1)
    own = table[table["agent"] == agent]
    angles = np.linspace(0, 2 * np.pi, len(own) + 1)
    for name, line in table[table["agent"] != CHANCE].groupby("agent", sort=False):
        look = {"color": MUTED, "lw": 0.8, "ms": 3.5, "zorder": 4}
        if name == agent:
            look = {"color": BLUE, "lw": 2, "ms": 8, "zorder": 7}
        values = line["value"].clip(CENTRE, RIM).tolist()
        ax.plot(angles, [*values, values[0]], "-o", **look)
    ax.set_ylim(CENTRE, RIM)
    ax.set_yticks((0, 0.5, 1), ("0", "0.5", "1"), size=SMALL)
    ax.set_xticks(angles[:-1], [""] * len(own))
    ax.set_rlabel_position(180 / len(own))
    rings = ((INK, ":"), (LINE, "-"), (INK, BOUND_DASH))
    for ring, (colour, dash) in zip(ax.yaxis.get_gridlines(), rings):
        ring.set(color=colour, lw=1.2, ls=dash)
    ax.grid(True, axis="x")
    ax.spines.polar.set_visible(False)
    numbers = own[["value", "low", "high"]].to_numpy()
    for angle, row, words in zip(angles, own.itertuples(), interval_words(numbers)):
        ends = np.clip((row.low, row.high), CENTRE, RIM)
        ax.plot((angle, angle), ends, color=BLUE, lw=4.5, alpha=0.45)
        words = f"{words if row.tasks else ''}\n{row.tasks} of {row.of} tasks"
        side = np.sin(angle)
        align = ("center", "left", "right")[int(np.sign(side.round(3)))]
        look = {"ha": align, "textcoords": "offset points"}
        place = (angle, RIM)
        offset = (14 * side, 4 + 30 * np.cos(angle))
        ax.annotate(row.ability, place, offset, weight="bold", va="bottom", **look)
        ax.annotate(words, place, offset, va="top", color=TEXT, size=SMALL, **look)
    return figure


def score_words(value: float, low: float = 0.0, high: float = 1.0) -> str:
    """Return a score as text, with decimals down to a hundredth of the way from `low` to `high`, or less.

    >>> score_words(0.12345), score_words(1.0), score_words(-0.53412, -0.557, -0.492), score_words(1234.5, -300, 2000)
    ('0.12', '1', '−0.5341', '1,234')
    """
    digits = max(0, 2 - int(np.floor(np.log10(high - low))))
    rounded = round(float(value), digits) + 0.0  # no minus before a zero
    if rounded == 0 or value == np.round(value):
        digits = 0
    return f"{rounded:,.{digits}f}".replace("-", "−")


POWER = 0.8  # enough
EVEN = "improvement"  # a statistic with this word is 1/2 if neither agent is better


@house_style()
def score_intervals(
    table: pd.DataFrame, title: str = "Statistics of each agent", lead: str = ""
) -> Figure:
    """Draw a statistic of each agent with its interval, a panel a statistic. Marks of chance are hollow.

    Args:
        table: Of `estimate.score_table`: statistic, agent, value, low, high.
    """
    has_rows(table, "statistic", "agent", "value", "low", "high")
    table = table.rename(columns={"agent": "name"})
    table["hollow"] = table["name"] == CHANCE
    blocks = dict(list(table.groupby("statistic", sort=False)))
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
    table: pd.DataFrame,
    title: str = "How many runs reach a score",
    lead: str = "",
    unit: str = "score",
) -> Figure:
    """Draw the share of runs that score more than a threshold, by the threshold, with bands of their intervals.

    An agent whose line is above another is better there. If lines cross, one agent does well more often and the other
    very well. A band without width is no certainty: all runs are on one side of the threshold, task by task.

    Args:
        table: Of `estimate.profile_table`: agent, threshold, share, low, high.
    """
    has_rows(table, "agent", "threshold", "share", "low", "high")
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
    table: pd.DataFrame, title: str = "Power by the number of runs", lead: str = ""
) -> Figure:
    """Draw the chance to find a difference by the number of runs, with a mark where it reaches 0.8.

    Args:
        table: Of `estimate.power_table`: difference, runs, power.
    """
    has_rows(table, "difference", "runs", "power")
    ax = chart(title, lead, "power", "runs", (6.4, 4))
    ax.axhline(POWER, color=INK, lw=1.6, ls=BOUND_DASH)
    styles = series_styles(table["difference"])
    labels = []
    for difference, line in table.groupby("difference", sort=False):
        colour, dash, marker = styles[difference]
        ax.plot(line["runs"], line["power"], color=colour, ls=dash)
        enough = line[line["power"] >= POWER].head(1)
        look = {"color": colour, "ms": 8, "mec": PAPER, "zorder": 6}
        ax.plot(enough["runs"], enough["power"], marker, **look)
        words = f"{short_number(difference)}: over {line['runs'].max()} runs"
        if len(enough):
            words = f"{short_number(difference)}: {enough['runs'].iloc[0]} runs"
        labels.append((line["runs"].iloc[-1], line["power"].iloc[-1], words, colour))
    ax.set(xlim=(table["runs"].min(), table["runs"].max()), ylim=(0, 1.01))
    ax.set_yticks(sorted({0, 0.25, 0.5, POWER, 1}))
    label_line_ends(ax, labels)
    return ax.figure


BARS = {  # metric: its name, and the meaning of a full bar or of the number
    "performance_share": ("performance", "share of the best possible"),
    "coverage": ("coverage", "history's values, among the opened"),
    "evenness": ("evenness", "normalised entropy of the opened"),
    "panel_click_through_rate": (
        "click-through rate",
        "expected, mean over the judges",
    ),
    "plausibility": ("plausibility", "combinations that are known"),
    "enticement": ("enticement", "0 all low, 1 all high"),
}
JUDGES = {"truth": "true user", "adaboost": "AdaBoost", "bayes": "naive Bayes"}


@house_style()
def scorecard(cards: Sequence[Any], title: str = "", lead: str = "") -> Figure:
    """Draw the first scorecard as bars, chance as ticks on them, and what each judge thinks of all.

    Args:
        cards: Scorecards of one challenge (`pushlab.challenges.scorecard.Scorecard`), of which the first five are
            drawn. The agent called "random" is chance.

    Returns:
        A figure of 9 x 4.2 inches.
    """
    cards = list(cards)[:5]
    demand(cards, "there is no scorecard to draw")
    first = cards[0]
    count = first.count // len(first.seeds)
    said = f"challenge {first.challenge} · user {short(first.user, 20)}"
    said += f" · {first.period} period of {count:,} notifications"
    title = title or f"Scorecard of {short(first.agent, 40)}"
    figure = sheet(9, 4.2, title, lead or said)
    left, right = figure.subplots(1, 2, width_ratios=(1.1, 1))
    _draw_bars(left, cards)
    _draw_judges(right, cards)
    return figure


def _is_chance(card):
    return card.agent.lower() == CHANCE


def _draw_bars(ax, cards):
    """Draw a bar for each metric of the first card, with ticks for chance."""
    metrics = cards[0].metrics
    bars = [metric for metric in BARS if metrics.get(metric) is not None]
    rows = np.arange(len(bars))
    values = np.array([metrics[metric] for metric in bars])
    name_rows(ax, [BARS[metric][0] for metric in bars])
    ax.barh(rows, 1, height=0.28, color=TRACK)
    ax.barh(rows, values.clip(0, 1), height=0.28, color=BLUE)
    for row, metric in enumerate(bars):
        ax.text(0, row + 0.37, BARS[metric][1], size=SMALL, color=TEXT, va="center")
        number = f"{values[row]:.2f}".replace("-", "−")
        ax.text(1.04, row, number, size=13, weight="bold", va="center")
    for card in filter(_is_chance, cards[1:]):
        chance = [card.metrics.get(metric, np.nan) for metric in bars]
        ends = np.clip(np.array(chance, float), 0, 1)
        look = {"color": INK, "lw": 1.8, "path_effects": HALO, "clip_on": False}
        ax.vlines(ends, rows - 0.2, rows + 0.2, **look)
        ax.text(ends[0], -0.25, CHANCE, size=SMALL, color=TEXT, ha="center")
    ax.set(xlim=(0, 1), xticks=[], ylim=(max(len(bars), 5) - 0.5, -0.5))
    ax.spines.bottom.set_visible(False)


def _draw_judges(ax, cards):
    """Draw the share opened by each judge, with an interval, the agents below each other."""
    judges = list(cards[0].judges)
    name_axes(ax, "share opened by each judge, 95 % intervals")
    name_rows(ax, [short(JUDGES.get(judge, judge), 14) for judge in judges])
    styles = series_styles([card.agent for card in cards])
    for place, card in enumerate(cards):
        colour, _, marker = look = styles[card.agent]
        hollow = _is_chance(card)
        for row, judge in enumerate(judges):
            rate = card.judges[judge]
            y = row + 0.16 * (place - (len(cards) - 1) / 2)
            ends = (rate["low"], rate["high"])
            draw_mean(ax, look, rate["sampled"], y, ends, hollow=hollow)
        name = fit(plain(card.agent), 110, TICK)
        face = PAPER if hollow else colour
        ax.plot([], [], marker, ms=7.5, color=colour, mfc=face, label=name)
    ax.set(xlim=(0, 1), xticks=(0, 0.5, 1))
    where: Any = {"loc": "upper center", "bbox_to_anchor": (0.4, -0.08)}
    ax.legend(**where, ncols=2, labelcolor="linecolor")
