"""Pictures of a benchmark: the runs of one agent beside those of others, by task and by ability.

They take scores as `pushlab bench` writes them, a row a run: agent, task, seed, score, and normalised, which is 0 for
random play and 1 for the best that is known. A column `failed`, where there is one, marks runs that failed.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import has_rows, one_of
from pushlab.metrics.estimate import (
    interquartile_mean,
    mean_interval,
    score_matrices,
    stratified_interval,
)
from pushlab.plots.palette import (
    BLUE,
    BOUND_DASH,
    CHANCE,
    INK,
    LEAD,
    LINE,
    MUTED,
    PAPER,
    SMALL,
    TEXT,
    TITLE,
    deep,
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
from pushlab.plots.ticks import span

LOWEST, HIGHEST = (
    -0.5,
    1.25,
)  # normalised; what lies beyond is drawn there, a mean as an arrow
CENTRE, RIM, RADIUS = (
    -0.25,
    1.1,
    150,
)  # of the radar: scores in its middle and at its rim; its ring of 1
PITCH = 30


# ---------------------------------------------------------------- tables


def task_means(scores: pd.DataFrame, value: str = "normalised") -> pd.DataFrame:
    """Mean and 95 % t-interval over the runs of each agent and task.

    scores   a row a run: agent, task, seed, score, normalised
    value    "normalised", or "score" in the task's own unit
    returns  DataFrame: agent, task, mean, low, high (NaN for one run), runs, failed (how many of them)

    >>> scores = pd.DataFrame({"agent": "a", "task": "t", "seed": [0, 1], "score": [2.0, 4.0], "normalised": [0, 1]})
    >>> task_means(scores)[["mean", "runs", "failed"]].values.tolist()
    [[0.5, 2.0, 0.0]]
    """
    one_of("value", value, ("normalised", "score"))
    has_rows(scores, "agent", "task", "seed", value, what="the table of scores")
    rows = []
    for names, runs in scores.groupby(["agent", "task"], sort=False):
        found = (
            mean_interval(runs[value])
            if len(runs) > 1
            else (runs[value].iloc[0], np.nan, np.nan)
        )
        rows.append((*names, *found, len(runs), int(_failed(runs).sum())))
    return pd.DataFrame(
        rows, columns=["agent", "task", "mean", "low", "high", "runs", "failed"]
    )


def ability_table(
    scores: pd.DataFrame, tasks: pd.DataFrame, agent: str
) -> pd.DataFrame:
    """Interquartile mean of each agent's normalised scores by ability, always over the very tasks that `agent` did.

    scores   a row a run: agent, task, seed, normalised; an agent's seeds are those of all its tasks
    tasks    a row a task: name, and abilities, a list or words with blanks between them
    agent    whose tasks count. Another one that did not do all of them has no number at that ability, and an ability
             of which `agent` did no task has none for anybody: a gap, not a zero
    returns  DataFrame: ability, agent, value, low, high (of the stratified bootstrap; NaN for one run), tasks (done),
             of (so many there are)

    >>> scores = pd.DataFrame({"agent": "a", "task": list("ttuu"), "seed": [0, 1] * 2, "normalised": [0, 1, 1, 3]})
    >>> tasks = pd.DataFrame({"name": ["t", "u", "v"], "abilities": ["memory", "delay memory", ["planning"]]})
    >>> ability_table(scores, tasks, "a")[["ability", "value", "tasks", "of"]].values.tolist()
    [['memory', 1.0, 2, 2], ['delay', 2.0, 1, 1], ['planning', nan, 0, 1]]
    """
    has_rows(tasks, "name", "abilities", what="the table of tasks")
    needs = {
        name: some.split() if isinstance(some, str) else list(some)
        for name, some in zip(tasks["name"], tasks["abilities"])
    }
    grids = {
        name: score_matrices(own, "normalised")[name]
        for name, own in scores.groupby("agent", sort=False)
    }
    one_of("agent", agent, grids)
    rows = []
    for ability in dict.fromkeys(
        ability for some in needs.values() for ability in some
    ):
        asked = [name for name, some in needs.items() if ability in some]
        done = [name for name in asked if name in grids[agent]]
        for name, grid in grids.items():
            count, found = len(done) if {*done} <= {*grid} else 0, (np.nan,) * 3
            if count:
                found = (
                    stratified_interval(grid[done], interquartile_mean)
                    if len(grid) > 1
                    else (interquartile_mean(grid[done]), np.nan, np.nan)
                )
            rows.append((ability, name, *found, count, len(asked)))
    return pd.DataFrame(
        rows, columns=["ability", "agent", "value", "low", "high", "tasks", "of"]
    )


def score_words(value: float, low: float = 0.0, high: float = 1.0) -> str:
    """A score with as many decimals as tell a hundredth of the way between two others, or less.

    >>> score_words(0.12345), score_words(1.0), score_words(-0.53412, -0.557, -0.492), score_words(1234.5, -300, 2000)
    ('0.12', '1', '−0.5341', '1,234')
    """
    digits = max(0, 2 - int(np.floor(np.log10(high - low))))
    text = f"{value:,.0f}" if value == np.round(value) else f"{value:,.{digits}f}"
    return (
        "0"
        if float(text.replace(",", "")) == 0
        else text.replace("-", "\N{MINUS SIGN}")
    )


def _who(agent):
    return fit(plain(agent), 130, TITLE, "bold")


def _failed(runs):
    return (
        runs["failed"].to_numpy(bool) if "failed" in runs else np.zeros(len(runs), bool)
    )


# ---------------------------------------------------------------- rows: one task, and all of them


@house_style()
def task_runs(
    scores: pd.DataFrame,
    task: Mapping[str, Any],
    agent: str,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """One task in its own unit: a dot a run, a cross for one that failed, means and 95 % intervals; a row an agent.

    scores   a row a run: agent, task, seed, score
    task     name, unit, random, best, such as a row of the table of tasks
    agent    whose picture it is: the first row; the others follow, the highest first
    returns  Axes on a sheet of 6.4 inches by as many as the rows need; `task_means(…, "score")` holds its numbers
    """
    scores, random, best = (
        scores[scores["task"] == task["name"]],
        task["random"],
        task["best"],
    )
    table = (
        task_means(scores, "score")
        .sort_values("mean", ascending=False, kind="stable")
        .set_index("agent")
    )
    table = table.loc[
        [one_of("agent", agent, tuple(table.index)), *table.index.drop(agent)]
    ]
    share = score_words((table.loc[agent, "mean"] - random) / (best - random))
    stage = Stage(640, 158 + PITCH * len(table), figure)
    stage.heading(
        title or f"{_who(agent)} goes {share} of the way to the best known",
        lead or f"{plain(task['name'])}; a dot a run, bars: 95 % intervals",
        title_lines=1,
    )
    rows = _rows(stage, table.index, task["unit"])
    for row, (name, line) in enumerate(table.iterrows()):
        colour, ends = (
            BLUE if name == agent else MUTED,
            [random + end * (best - random) for end in (LOWEST, HIGHEST)],
        )
        _draw_runs(
            rows, row, line, scores[scores["agent"] == name], "score", colour, ends
        )
    _frame(rows, [*scores["score"], *table["low"], *table["high"]], ends, random, best)
    return rows.ax


@house_style()
def task_scores(
    scores: pd.DataFrame,
    tasks: pd.DataFrame,
    agent: str,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Axes:
    """One agent in all tasks, on the scale from random to the best known: a row a task, with runs and intervals.

    scores   a row a run: agent, task, seed, normalised; the means of other agents are grey ticks
    tasks    a row a task: name; a task that the agent has no run of is an empty row that says so
    agent    whose runs are drawn
    returns  Axes on a sheet of 6.4 inches by as many as the rows need; `task_means` holds its numbers
    """
    has_rows(tasks, "name", what="the table of tasks")
    table = task_means(scores)
    own, others = (
        table[table["agent"] == agent].set_index("task"),
        table[table["agent"] != agent],
    )
    stage = Stage(640, 158 + PITCH * len(tasks), figure)
    stage.heading(
        title
        or f"{_who(agent)}: surely above random in {(own['low'] > 0).sum()} of {len(own)} tasks",
        lead
        or "a dot a run, bars: 95 % intervals, each task by itself; grey ticks: means of other agents",
        title_lines=1,
    )
    rows = _rows(stage, tasks["name"], "normalised score")
    for row, task in enumerate(tasks["name"]):
        means = others.loc[others["task"] == task, "mean"].clip(LOWEST, HIGHEST)
        rows.ax.plot(
            means, [row] * len(means), "|", ms=13, mew=1.4, color=MUTED, zorder=2
        )
        if task in own.index:
            runs = scores[(scores["agent"] == agent) & (scores["task"] == task)]
            _draw_runs(
                rows,
                row,
                own.loc[task].rename(task),
                runs,
                "normalised",
                BLUE,
                (LOWEST, HIGHEST),
            )
        else:
            rows.say(row, task, "not done")
    _frame(
        rows,
        [*scores["normalised"], *own["low"], *own["high"]],
        (LOWEST, HIGHEST),
        0.0,
        1.0,
    )
    return rows.ax


def _rows(stage, names, unit):
    stage.label(MARGIN, 82, fit(plain(unit), stage.width - 2 * MARGIN, SMALL))
    widest = max(
        text_width(fit(plain(name), 190, LEAD, "bold"), LEAD, "bold") for name in names
    )
    return Rows(
        stage, len(names), PITCH, 112, max(MARGIN + widest + 16, 110), MARGIN + 122
    )


def _draw_runs(rows, row, line, runs, value, colour, ends):
    """One row: dots and crosses, the interval, the mean, words; what lies beyond the ends is drawn there."""
    failed, values = _failed(runs), runs[value].clip(*ends).to_numpy()
    mean, low, high = np.clip(line[["mean", "low", "high"]].to_numpy(float), *ends)
    place = np.argsort(
        np.argsort(values, kind="stable")
    )  # equal scores must not hide each other
    offset = row + ((place * 0.618034) % 1 - 0.5) * (0.7 if len(runs) > 1 else 0)
    rows.ax.plot(
        values[~failed],
        offset[~failed],
        "o",
        ms=4.5,
        color=colour,
        alpha=0.4,
        mew=0,
        clip_on=False,
    )
    rows.ax.plot(
        values[failed],
        offset[failed],
        "x",
        ms=5.5,
        color=INK,
        mew=1.4,
        zorder=7,
        clip_on=False,
    )
    if np.isfinite(low):
        rows.interval(row, low, high, colour)
    marker = "<" if line["mean"] < ends[0] else ">" if line["mean"] > ends[1] else "o"
    rows.dot(
        row,
        mean,
        colour,
        marker,
        hollow=str(line.name).lower() == CHANCE,
        clip_on=False,
    )
    number, more = (
        score_words(line["mean"], *ends),
        f", {line['failed']} failed" if line["failed"] else "",
    )
    rows.say(row, line.name, number + more, INK if colour == BLUE else TEXT)


def _frame(rows, values, ends, random, best):
    """Limits that hold what is drawn, and the two scores that the scale is made of, across all rows."""
    values = np.clip([*values, random, best], *ends)
    span(rows.ax.xaxis, np.nanmin(values), np.nanmax(values), 5)
    for name, at, align, dash in (
        ("random", random, "right", ":"),
        ("best known", best, "left", BOUND_DASH),
    ):
        rows.ax.axvline(
            at, color=INK, lw=1.6, ls=dash, zorder=3
        )  # names grow apart, so that they never touch
        rows.ax.annotate(
            f" {name} {score_words(at, *ends)} ",
            (at, 1),
            (0, 4),
            xycoords=("data", "axes fraction"),
            textcoords="offset points",
            size=SMALL,
            color=INK,
            ha=align,
        )


# ---------------------------------------------------------------- abilities


@house_style()
def ability_radar(
    table: pd.DataFrame,
    agent: str,
    title: Words = None,
    lead: Words = None,
    figure: Figure | None = None,
) -> Figure:
    """One agent's normalised score by ability: a spoke each, from random (inner ring) to the best known (outer).

    A spoke is an axis to be read by itself: the area within the line depends on the order of the spokes and means
    nothing, and a line between two of them is there for the eye alone. Other agents are thin and grey, the one called
    "random" is the inner ring. An ability without a task that the agent did is a gap.

    table    of `ability_table`, for the same agent
    returns  a Figure of 7.2 x 5.7 inches; scores are drawn between -0.25 and 1.1
    """
    one_of("agent", agent, tuple(table["agent"]))
    own, others = (
        table[table["agent"] == agent],
        table[~table["agent"].str.lower().isin([agent.lower(), CHANCE])],
    )
    angles = np.pi / 2 - 2 * np.pi * np.arange(len(own)) / len(own)
    stage = Stage(720, 570, figure)
    stage.heading(
        title or _radar_title(agent, own.dropna(subset="value").sort_values("value")),
        lead
        or "0 random, 1 best known, bars: 95 % intervals; read each spoke by itself: areas mean nothing",
        title_lines=1,
    )

    def at(values, angle):
        """Places on the sheet of scores along spokes, an array (values, 2)."""
        reach = RADIUS * (np.clip(values, CENTRE, RIM) - CENTRE) / (1 - CENTRE)
        return np.column_stack(
            (360 + reach * np.cos(angle), 332 - reach * np.sin(angle))
        )

    for ring, dash in ((0, ":"), (0.5, "-"), (1, BOUND_DASH)):
        stage.line(
            at(np.full(181, ring), np.linspace(0, 2 * np.pi, 181)),
            LINE if ring == 0.5 else INK,
            1.2,
            dash,
            z=2,
        )
        x, y = at([ring], np.pi / 2 - np.pi / len(own))[0]
        stage.text(x, y, f"{ring}", SMALL, TEXT, align="center", halo=PAPER)
    for name, line in (*others.groupby("agent", sort=False), (agent, own)):
        points = at([*line["value"], line["value"].iloc[0]], [*angles, angles[0]])
        colour, width, size, z = (
            (BLUE, 2.0, 8, 7) if name == agent else (MUTED, 0.8, 3.5, 4)
        )
        stage.ax.plot(
            points[:, 0], points[:, 1], "-o", color=colour, lw=width, ms=size, zorder=z
        )
    for angle, row in zip(angles, own.itertuples()):
        stage.line(at([CENTRE, 1.0], angle), LINE, 0.9, z=1)
        stage.line(
            at([row.low, row.high], angle), BLUE, 4.5, alpha=0.45, solid_capstyle="butt"
        )
        _name_spoke(
            stage,
            angle,
            row,
            others[others["ability"] == row.ability].dropna(subset="value"),
        )
    return stage.figure


def _name_spoke(stage, angle, row, others):
    """The ability's name, the agent's number, and who of the others is highest over the same tasks."""
    x, y = 360 + (RADIUS + 30) * np.cos(angle), 332 - (RADIUS + 52) * np.sin(angle)
    align = (
        "center"
        if abs(np.cos(angle)) < 0.1
        else "left"
        if np.cos(angle) > 0
        else "right"
    )
    ends = (
        f" [{score_words(row.low)}, {score_words(row.high)}]"
        if np.isfinite(row.low)
        else ""
    )
    lines = [
        plain(row.ability),
        *([score_words(row.value) + ends] if row.tasks else []),
        f"{row.tasks or 'none'} of {row.of} tasks",
    ]
    lines += [
        f"best other: {fit(plain(one.agent), 80, SMALL)} {score_words(one.value)}"
        for one in others.nlargest(1, "value").itertuples()
    ]
    for place, words in enumerate(lines):
        colour = INK if place == 0 else deep(BLUE) if place == 1 and row.tasks else TEXT
        look = (LEAD, colour, "bold") if place == 0 else (SMALL, colour, "normal")
        stage.text(
            x, y + 15 * (place - 1.5), fit(words, 178, look[0], look[2]), *look, align
        )


def _radar_title(agent, done):
    """From which ability to which; nothing is said of whether they surely differ."""
    words = [
        f"{score_words(row.value)} in {plain(row.ability)}"
        for row in done.iloc[[0, -1][: len(done)]].itertuples()
    ]
    return f"{_who(agent)}: {' to '.join(words) or 'no ability was tried'}"
