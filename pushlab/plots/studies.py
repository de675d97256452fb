"""Pictures of the cold-start study, drawn from the tables that studies/cold_start.py wrote."""

from collections.abc import Sequence

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import one_of
from pushlab.plots.curves import draw_curves
from pushlab.plots.palette import INK, LEAD, TEXT, deep, series_styles
from pushlab.plots.rows import Rows
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.ticks import span
from pushlab.plots.words import order_title, spoken

DRAWN = ("Thompson", "LinUCB", "eps-greedy", "most opened", "random")
MEANINGS = {"opened": "share opened", "regret": "regret, in probability of opening"}


@house_style()
def study_curves(
    curves: pd.DataFrame,
    user: str,
    value: str = "opened",
    agents: Sequence[str] = DRAWN,
    title: str | None = None,
    figure: Figure | None = None,
    runs: pd.DataFrame | None = None,
) -> Axes:
    """How fast each agent learned one user: a point for every 100 steps, with the 95 % interval over the seeds.

    curves   the table data/studies/cold_start_curves.csv
    value    "opened", under the dashed line of the best candidate in each context, or "regret"
    agents   names of those to draw, in the order of their looks
    runs     the table data/studies/cold_start.csv: the title names the best agent of the last quarter, if one surely is
    returns  Axes on a sheet of 6 x 4 inches
    """
    one_of("value", value, MEANINGS)
    means = {value: "mean", f"{value}_low": "low", f"{value}_high": "high"}
    lines = {
        name: _line_of(curves, user, name).rename(columns=means) for name in agents
    }
    first = lines[agents[0]]
    bound = first.set_index("step")["reachable"] if value == "opened" else None
    return draw_curves(
        lines,
        pd.concat(lines.values()),
        bound,
        value == "opened",
        title or _title(runs, user, value, agents),
        f"evalumap2-v0, user {plain(user)}, 95 % intervals over the seeds",
        f"{MEANINGS[value]}, mean of {first['step'].iloc[0]} steps",
        figure,
    )


def _title(runs, user, value, agents):
    if runs is None or len(agents) < 2:
        return f"{MEANINGS[value].partition(',')[0].capitalize()}, while agents get to know {plain(user)}"
    late = {
        name: runs.loc[
            (runs["user"] == user) & (runs["agent"] == name), f"{value}_last"
        ].to_numpy()
        for name in agents
    }
    return order_title(late, "is best in the last quarter", higher=value == "opened")


def _line_of(curves, user, agent):
    rows = curves[(curves["user"] == user) & (curves["agent"] == agent)]
    if not len(rows):
        raise ValueError(
            f"the study has no agent {agent!r} with user {user!r}; it has the agents "
            f"{', '.join(dict.fromkeys(curves['agent']))} and the users "
            f"{', '.join(dict.fromkeys(curves['user']))}"
        )
    return rows


@house_style()
def study_differences(
    comparison: pd.DataFrame,
    title: str | None = None,
    lead: str | None = None,
    figure: Figure | None = None,
) -> Axes:
    """The chosen agent against each baseline, a row a user: mean paired difference of regret and its 95 % interval.

    comparison   a row a user and baseline: user, against, difference, low, high, sure (the interval excludes 0)
    returns      Axes on a sheet 6 inches wide; left of the line at 0 the chosen agent has less regret
    """
    users, baselines = (
        list(dict.fromkeys(comparison["user"])),
        list(dict.fromkeys(comparison["against"])),
    )
    styles, pitch, top = series_styles(baselines), 40, 112
    sure = int((comparison["high"] < 0).groupby(comparison["user"]).all().sum())
    stage = Stage(600, top + pitch * len(users) + 62, figure)
    stage.heading(
        title or f"Less regret than both baselines with {sure} of {len(users)} users",
        lead
        or "evalumap2-v0, last quarter of the episode; paired by seed, 95 % intervals",
        title_lines=1,
    )
    stage.label(
        MARGIN,
        84,
        "difference in regret to " + " and ".join(plain(name) for name in baselines),
    )
    left = (
        MARGIN
        + max(
            text_width(fit(plain(user), 120, LEAD, "bold"), LEAD, "bold")
            for user in users
        )
        + 16
    )
    rows = Rows(stage, len(users), pitch, top, left, MARGIN + 20)
    for line in comparison.itertuples(index=False):
        row = (
            users.index(line.user)
            + (baselines.index(line.against) - (len(baselines) - 1) / 2) * 0.34
        )
        colour, _, marker = styles[line.against]
        rows.interval(row, line.low, line.high, colour)
        rows.dot(row, line.difference, colour, marker, hollow=not line.sure, ms=8)
    for row, user in enumerate(users):
        rows.say(row, user)
    span(
        rows.ax.xaxis,
        min(comparison["low"].min(), 0),
        max(comparison["high"].max(), 0.02),
        4,
    )
    rows.ax.axvline(0, color=INK, lw=1.6, zorder=1)
    x, y = left, top + pitch * len(users) + 44
    for name, (colour, _, marker) in styles.items():  # the key, in one line
        stage.ax.plot(
            [x + 6], [y], marker, ms=8, mfc=colour, mec=colour, ls="none", zorder=10
        )
        stage.text(x + 18, y, f"to {spoken(name)}", LEAD, deep(colour), "bold")
        x += 18 + text_width(f"to {spoken(name)}", LEAD, "bold") + 22
    stage.text(x, y, "hollow: interval includes zero", LEAD, TEXT)
    return rows.ax
