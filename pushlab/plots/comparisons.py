"""Agents and policies side by side, with 95 % intervals over their runs."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from pushlab.ground.arguments import has_rows
from pushlab.metrics.estimate import crossed_interval
from pushlab.plots.curves import (
    earnings,
    mean_over_runs,
    policy_table,
    run_scores,
)
from pushlab.plots.style import (
    CHANCE,
    GREY,
    HALO,
    INK,
    SMALL,
    TEXT,
    TICK,
    chart,
    deep,
    draw_mean,
    house_style,
    name_rows,
    round_limits,
    series_styles,
    short,
    short_number,
    spoken,
    write_beside,
)


@house_style()
def compare_policies(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    statistic: str = "mean",
    runs: str = "seed",
    title: str = "",
    lead: str = "",
    xlabel: str = "",
) -> Figure:
    """Plot policies side by side: a dot a run, and the mean with its 95 % interval.

    Args:
        log: A tidy log, a row a step or a row an episode.
        statistic: "mean" over the steps of each episode, or their "sum".
        runs: What a dot is and what intervals range over: "seed", or "episode" for policies that do not learn.
    """
    value = value or earnings(log)[0]
    scores = run_scores(log, value, by, (), statistic, runs)
    table = mean_over_runs(scores)
    styles = series_styles(table.index)
    ax = chart(
        title or f"{spoken(value)} by {spoken(by)}".capitalize(),
        lead,
        xlabel=xlabel or f"{spoken(value)}, {statistic}",
        size=(6, 1.5 + 0.46 * len(table)),
    )
    ends = [*scores.to_numpy().ravel(), *table["low"], *table["high"], 0]
    round_limits(ax.xaxis, np.nanmin(ends), np.nanmax(ends), 5)
    for row, (name, line) in enumerate(table.iterrows()):
        dots = np.sort(scores.loc[name].dropna())
        # Equal scores must not hide each other.
        offsets = 0.5 * ((np.arange(len(dots)) * 0.618) % 1 - 0.5) * (len(dots) > 1)
        ax.scatter(dots, row + offsets, s=20, color=styles[name][0], alpha=0.4)
        ends = line[["low", "high"]]
        hollow = str(name).lower() == CHANCE
        draw_mean(ax, styles[name], line["mean"], row, ends, hollow=hollow)
    means = [short_number(mean) for mean in table["mean"]]
    name_rows(ax, table.index, means, [look[0] for look in styles.values()])
    ax.tick_params(axis="y", pad=12)
    return ax.figure


@house_style()
def trade_off(
    log: pd.DataFrame,
    x: str,
    y: str,
    better: str | None = None,
    cross: str | None = None,
    title: str = "",
    lead: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot policies by two measures at once, such as interruptions and opens, with 95 % intervals both ways.

    Args:
        log: A tidy log or study, a row an episode or a step. A policy without one of the measures gets no mark.
        better: The corner to aim at: "upper left", "upper right", "lower left" or "lower right".
        cross: A column whose values all runs share, such as "day". Intervals then range over runs and over its values,
            see `pushlab.metrics.estimate.crossed_interval`.
    """
    ax = chart(
        title or f"{spoken(y)} against {spoken(x)}".capitalize(),
        lead,
        ylabel or spoken(y),
        xlabel or spoken(x),
        (6, 4.4),
    )
    ax.grid(True, axis="both")
    across = _intervals(log, x, cross)
    upward = _intervals(log, y, cross)
    for axis, table in ((ax.xaxis, across), (ax.yaxis, upward)):
        ends = table[["mean", "low", "high"]]
        round_limits(axis, ends.min(axis=None), ends.max(axis=None))
    for name, look in series_styles(log["agent"]).items():
        x_mean, *x_ends = across.loc[name, ["mean", "low", "high"]]
        y_mean, *y_ends = upward.loc[name, ["mean", "low", "high"]]
        if np.isnan(x_mean + y_mean):
            continue
        hollow = str(name).lower() == CHANCE
        draw_mean(ax, look, x_mean, y_mean, x_ends, y_ends, hollow)
        ax.annotate(
            short(name, 28),
            (np.nanmax([x_mean, *x_ends]), y_mean),
            (9, 0),
            textcoords="offset points",
            va="center",
            size=TICK,
            weight="bold",
            color=deep(look[0]),
            path_effects=HALO,
        )
    if better is not None:
        right = better.endswith("right")
        top = better.startswith("upper")
        ax.annotate(
            "better",
            (0.02 + 0.96 * right, 0.03 + 0.94 * top),
            (0.12 + 0.76 * right, 0.14 + 0.72 * top),
            xycoords="axes fraction",
            arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.6},
            ha="center",
            va="center",
            size=SMALL,
            color=TEXT,
        )
    return ax.figure


def _intervals(log, value, cross):
    """Return mean, low and high of each agent's interval, over runs or over runs and the values of `cross`."""
    table = policy_table(log, value).set_index("agent")
    if cross is None:
        return table
    for name in table.index:
        rows = log[log["agent"] == name]
        grid = run_scores(rows, value, along=[cross]).to_numpy()
        ends = (np.nan, np.nan)
        if min(grid.shape) > 1 and np.isfinite(grid).all():
            ends = crossed_interval(grid.T)[1:]
        table.loc[name, ["low", "high"]] = ends
    return table


@house_style()
def study_differences(
    comparison: pd.DataFrame,
    title: str = "Difference in regret by user",
    lead: str = "",
) -> Figure:
    """Plot the regret of a chosen agent less that of each baseline, a row a user, with 95 % intervals.

    Args:
        comparison: A row a user and baseline: user, against, difference, low, high, sure.
    """
    has_rows(comparison, "user", "against", "difference", "low", "high", "sure")
    users = list(comparison["user"].unique())
    ax = chart(
        title,
        lead,
        xlabel="difference in regret; hollow: the interval includes 0",
        size=(6, 1.5 + 0.45 * len(users)),
    )
    styles = series_styles(comparison["against"])
    baselines = list(styles)
    ends = [0, *comparison["low"], *comparison["high"]]
    round_limits(ax.xaxis, min(ends), max(ends))
    for line in comparison.itertuples():
        place = baselines.index(line.against) - (len(baselines) - 1) / 2
        row = users.index(line.user) + 0.4 * place
        look = styles[line.against]
        ends = (line.low, line.high)
        draw_mean(ax, look, line.difference, row, ends, hollow=not line.sure)
        if line.user == users[0]:
            write_beside(ax, row, f"to {line.against}", deep(look[0]), "bold")
    ax.axvline(0, color=INK, lw=1.6, clip_on=False)
    name_rows(ax, users)
    return ax.figure
