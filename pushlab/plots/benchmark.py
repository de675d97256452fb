"""Pictures of a benchmark: the runs of one agent beside those of others, by task and by ability.

They take scores as `pushlab bench` writes them, a row a run: agent, task, seed, score, and normalised, which is 0 for
random play and 1 for the best known score. The optional column `failed` marks runs that failed.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pushlab.ground.arguments import has_columns, has_rows, one_of
from pushlab.metrics.estimate import (
    interquartile_mean,
    mean_interval,
    score_matrices,
    stratified_interval,
)
from pushlab.plots.style import (
    BLUE,
    BOUND_DASH,
    CHANCE,
    INK,
    LINE,
    MUTED,
    SMALL,
    TEXT,
    chart,
    draw_interval,
    draw_upright,
    house_style,
    name_rows,
    round_limits,
    sheet,
)

LOWEST, HIGHEST = -0.5, 1.25  # normalised scores beyond are drawn there
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
    has_rows(scores, "agent", "task", "seed", value, what="the table of scores")
    rows = []
    for (agent, task), runs in scores.groupby(["agent", "task"], sort=False):
        found = (runs[value].iloc[0], np.nan, np.nan)
        if len(runs) > 1:
            found = mean_interval(runs[value])
        rows.append((agent, task, *found, len(runs), int(_failed(runs).sum())))
    columns = ["agent", "task", "mean", "low", "high", "runs", "failed"]
    return pd.DataFrame(rows, columns=columns)


def _failed(runs):
    if "failed" in runs:
        return runs["failed"].to_numpy(bool)
    return np.zeros(len(runs), bool)


def ability_table(
    scores: pd.DataFrame, tasks: pd.DataFrame, agent: str
) -> pd.DataFrame:
    """Compute the interquartile mean of each agent's normalised scores by ability, over the tasks that `agent` did.

    Another agent that did not do all of these tasks has no value at that ability. If `agent` did no task of an ability,
    no agent has a value there.

    Args:
        scores: A row a run: agent, task, seed, normalised; an agent has the same seeds in all its tasks.
        tasks: A row a task: name, and abilities, a list or words with blanks between them.

    Returns:
        A table: ability, agent, value, low, high (of the stratified bootstrap; NaN for one run), tasks (done), of
        (number of tasks of the ability).

    >>> scores = pd.DataFrame({"agent": "a", "task": list("ttuu"), "seed": [0, 1] * 2, "normalised": [0, 1, 1, 3]})
    >>> tasks = pd.DataFrame({"name": ["t", "u", "v"], "abilities": ["memory", "delay memory", ["planning"]]})
    >>> ability_table(scores, tasks, "a")[["ability", "value", "tasks", "of"]].values.tolist()
    [['memory', 1.0, 2, 2], ['delay', 2.0, 1, 1], ['planning', nan, 0, 1]]
    """
    has_columns(tasks, "name", "abilities", what="the table of tasks")
    names: dict[str, list] = {}  # the tasks of each ability
    for name, abilities in zip(tasks["name"], tasks["abilities"]):
        if isinstance(abilities, str):
            abilities = abilities.split()
        for ability in abilities:
            names.setdefault(ability, []).append(name)
    grids = {}
    for _, own in scores.groupby("agent", sort=False):
        grids |= score_matrices(own, "normalised")
    one_of("agent", agent, grids)
    rows = []
    for ability, needed in names.items():
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

    A dot is a run, a cross a failed run, a grey tick another agent's mean. An arrow stands for a mean beyond the axis.

    Args:
        scores: A row a run: agent, task, seed, normalised.
        tasks: A row a task: name.
    """
    has_rows(tasks, "name", what="the table of tasks")
    table = task_means(scores)
    title = title or f"{agent}: scores by task"
    size = (6.4, 1.7 + 0.3 * len(tasks))
    ax = chart(title, lead, xlabel="normalised score", size=size)
    words = []
    for row, task in enumerate(tasks["name"]):
        is_own = table["agent"] == agent
        others = table.loc[~is_own & (table["task"] == task), "mean"]
        others = others.clip(LOWEST, HIGHEST)
        ax.plot(others, [row] * len(others), "|", ms=13, mew=1.4, color=MUTED)
        own = table[is_own & (table["task"] == task)]
        if own.empty:
            words.append("not done")
            continue
        runs = scores[(scores["agent"] == agent) & (scores["task"] == task)]
        words.append(_draw_task(ax, row, own.iloc[0], runs))
    name_rows(ax, list(tasks["name"]), words)
    draw_upright(ax, 0, "random", ":")
    draw_upright(ax, 1, "best known")
    values = pd.concat([scores["normalised"], table["low"], table["high"]])
    values = values.clip(LOWEST, HIGHEST)
    round_limits(ax.xaxis, min(0, values.min()), max(1, values.max()), 5)
    return ax.figure


def _draw_task(ax, row, line, runs):
    """Draw the runs and the mean of an agent in a task; return the words beside them."""
    values = runs["normalised"].clip(LOWEST, HIGHEST).to_numpy()
    places = values.argsort(kind="stable").argsort()
    heights = row + 0.7 * ((places * 0.618034) % 1 - 0.5)  # equal scores lie apart
    failed = _failed(runs)
    look = {"clip_on": False, "color": BLUE, "alpha": 0.4, "mew": 0}
    ax.plot(values[~failed], heights[~failed], "o", ms=4.5, **look)
    look = {"clip_on": False, "color": INK, "mew": 1.4, "zorder": 7}
    ax.plot(values[failed], heights[failed], "x", ms=5.5, **look)
    mean = line["mean"]
    marker = "o"
    if mean < LOWEST:
        marker = "<"
    if mean > HIGHEST:
        marker = ">"
    ends = line[["mean", "low", "high"]].astype(float).clip(LOWEST, HIGHEST)
    draw_interval(ax, row, *ends, BLUE, marker)
    words = score_words(mean)
    return f"{words}, {line['failed']} failed" if line["failed"] else words


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
    others = table[~table["agent"].isin([agent, CHANCE])]
    look = {"color": MUTED, "lw": 0.8, "ms": 3.5}
    for _, line in others.groupby("agent", sort=False):
        _draw_around(ax, angles, line, **look)
    _draw_around(ax, angles, own, color=BLUE, lw=2, ms=8)
    circle = np.linspace(0, 2 * np.pi, 181)
    for ring, colour, dash in ((0, INK, ":"), (0.5, LINE, "-"), (1, INK, BOUND_DASH)):
        ax.plot(circle, np.full(181, ring), color=colour, lw=1.2, ls=dash, zorder=2)
    for angle, row in zip(angles, own.itertuples()):
        interval = np.clip((row.low, row.high), CENTRE, RIM)
        ax.plot((angle, angle), interval, color=BLUE, lw=4.5, alpha=0.45)
        words = [f"{row.tasks or 'none'} of {row.of} tasks"]
        if row.tasks:
            words.insert(0, score_words(row.value))
        if np.isfinite(row.low):
            words[0] += f" [{score_words(row.low)}, {score_words(row.high)}]"
        rivals = others[others["ability"] == row.ability].dropna(subset="value")
        for best in rivals.nlargest(1, "value").itertuples():
            words.append(f"best other: {best.agent} {score_words(best.value)}")
        _name_spoke(ax, angle, row.ability, "\n".join(words))
    ax.set(ylim=(CENTRE, RIM), yticks=(0, 0.5, 1))
    ax.set_yticklabels(["0", "0.5", "1"], size=SMALL)
    ax.set_rlabel_position(180 / len(own))
    ax.set_xticks(angles[:-1], [""] * len(own))
    ax.grid(False, axis="y")
    ax.grid(True, axis="x")
    ax.spines.polar.set_visible(False)
    return figure


def _draw_around(ax, angles, line, **look):
    """Draw a closed line through an agent's values."""
    values = line["value"].clip(CENTRE, RIM).tolist()
    ax.plot(angles, [*values, values[0]], "-o", zorder=4, **look)


def _name_spoke(ax, angle, name, words):
    """Write an ability's name and the words below it beside the end of its spoke."""
    side = np.sin(angle)
    align = "center"
    if abs(side) > 0.1:
        align = "left" if side > 0 else "right"
    offset = (14 * side, 4 + 30 * np.cos(angle))
    for said, place, look in (
        (name, "bottom", {"color": INK, "weight": "bold"}),
        (words, "top", {"color": TEXT, "size": SMALL}),
    ):
        ax.annotate(
            said,
            (angle, RIM),
            offset,
            textcoords="offset points",
            ha=align,
            va=place,
            annotation_clip=False,
            **look,
        )
