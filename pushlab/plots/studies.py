"""Pictures of the cold-start study, drawn from the tables that its command wrote."""

import pandas as pd

from pushlab.plots.curves import _chart_with_room_for, _curve_labels, _set_curve_limits
from pushlab.plots.kit import end_labels, set_ticks, ticks_around
from pushlab.plots.palette import BAND, BOUND_DASH, INK, LEAD, PAPER, TEXT, deep, series_styles
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import order_title, spoken

DRAWN = ("Thompson", "LinUCB", "eps-greedy", "most opened", "random")
MEANINGS = {"opened": "share opened", "regret": "regret, in probability of opening"}


@house_style()
def study_curves(curves, user, value="opened", agents=DRAWN, title=None, figure=None, runs=None):
    """How fast each agent learned one user: a point for every 100 steps, with the 95 % interval over the seeds.

    curves   the second table of `pushlab.studies.cold_start.read_study()`
    value    "opened", under the dashed line of the best candidate in each context, or "regret"
    agents   names of those to draw, in the order of their looks
    runs     the first table, of which the title says who is best in the last quarter, if one surely is
    returns  Axes on a sheet of 6 x 4 inches
    """
    if value not in MEANINGS:
        raise ValueError(f"value is one of {', '.join(MEANINGS)}; got {value!r}")
    lines = {name: _line_of(curves, user, name) for name in agents}
    table = pd.concat(line[["agent", "step", value, f"{value}_low", f"{value}_high"]]
                      for line in lines.values()).rename(
        columns={value: "mean", f"{value}_low": "low", f"{value}_high": "high"})
    ends = table.groupby("agent", sort=False).last()
    first = next(iter(lines.values()))
    bound = first.set_index("step")["reachable"] if value == "opened" else None
    stage = Stage(600, 400, figure)
    shift = stage.heading(title or _title(runs, user, value, agents),
                          f"evalumap2-v0, user {plain(user)}, 95 % intervals over the seeds")
    stage.label(MARGIN, 82 + shift, f"{MEANINGS[value]}, mean of {first['step'].iloc[0]} steps")
    labels = _curve_labels(ends.reset_index().set_index("agent"), bound)
    ax = _chart_with_room_for(stage, labels, 100 + shift)
    for name, line in table.groupby("agent", sort=False):
        colour, dash, _ = series_styles(agents)[name]
        ax.fill_between(line["step"], line["low"], line["high"], color=colour, alpha=BAND, lw=0)
        ax.plot(line["step"], line["mean"], color=colour, ls=dash, solid_capstyle="butt")
    if bound is not None:
        ax.plot(bound.index, bound, color=INK, lw=1.6, ls=BOUND_DASH)
    _set_curve_limits(ax, table, bound, share=value == "opened")
    end_labels(ax, labels)
    return ax


def _title(runs, user, value, agents):
    if runs is None or len(agents) < 2:
        return f"{MEANINGS[value].partition(',')[0].capitalize()}, while agents get to know {plain(user)}"
    late = {name: runs.loc[(runs["user"] == user) & (runs["agent"] == name), f"{value}_last"].to_numpy()
            for name in agents}
    return order_title(late, "is best in the last quarter", higher=value == "opened")


def _line_of(curves, user, agent):
    rows = curves[(curves["user"] == user) & (curves["agent"] == agent)]
    if not len(rows):
        raise ValueError(f"the study has no agent {agent!r} with user {user!r}; it has the agents "
                         f"{', '.join(dict.fromkeys(curves['agent']))} and the users "
                         f"{', '.join(dict.fromkeys(curves['user']))}")
    return rows


@house_style()
def study_differences(comparison, title=None, lead=None, figure=None):
    """The chosen agent against each baseline, a row a user: mean paired difference of regret and its 95 % interval.

    comparison   a `pushlab.studies.cold_start.comparison_table`
    returns      Axes on a sheet 6 inches wide; left of the line at 0 the chosen agent has less regret
    """
    users, baselines = list(dict.fromkeys(comparison["user"])), list(dict.fromkeys(comparison["against"]))
    styles, pitch, top = series_styles(baselines), 40, 112
    sure = int((comparison["high"] < 0).groupby(comparison["user"]).all().sum())
    stage = Stage(600, top + pitch * len(users) + 62, figure)
    stage.heading(title or f"Less regret than both baselines with {sure} of {len(users)} users",
                  lead or "evalumap2-v0, last quarter of the episode; paired by seed, 95 % intervals", title_lines=1)
    stage.label(MARGIN, 84, "difference in regret to " + " and ".join(plain(name) for name in baselines))
    left = MARGIN + max(text_width(fit(plain(user), 120, LEAD, "bold"), LEAD, "bold") for user in users) + 16
    ax = stage.axes(left, top, 600 - MARGIN - left - 20, pitch * len(users))
    ax.grid(False)
    ax.grid(True, axis="x")
    for line in comparison.itertuples(index=False):
        place = users.index(line.user) + (baselines.index(line.against) - (len(baselines) - 1) / 2) * .34
        colour, _, marker = styles[line.against]
        ax.plot((line.low, line.high), (place, place), color=colour, lw=2.4, ls="-", solid_capstyle="butt")
        ax.plot(line.difference, place, marker, ms=8, mfc=colour if line.sure else PAPER, mec=colour, mew=1.6)
    for place, user in enumerate(users):
        stage.text(MARGIN, top + pitch * (place + .5), fit(plain(user), 120, LEAD, "bold"), LEAD, weight="bold")
    ticks = ticks_around(min(comparison["low"].min(), 0), max(comparison["high"].max(), 0.02), 4)
    ax.set(xlim=(ticks[0], ticks[-1]), ylim=(len(users) - .5, -.5))
    ax.axvline(0, color=INK, lw=1.6, zorder=1)
    ax.yaxis.set_ticks([])
    set_ticks(ax.xaxis, ticks)
    _key(stage, left, top + pitch * len(users) + 44, styles)
    return ax


def _key(stage, x, y, styles):
    """Mark and name of each baseline, in one line; a hollow mark is an interval that holds 0."""
    for name, (colour, _, marker) in styles.items():
        stage.ax.plot([x + 6], [y], marker, ms=8, mfc=colour, mec=colour, ls="none", zorder=10)
        stage.text(x + 18, y, f"to {spoken(name)}", LEAD, deep(colour), "bold")
        x += 18 + text_width(f"to {spoken(name)}", LEAD, "bold") + 22
    stage.text(x, y, "hollow: may be none", LEAD, TEXT)
