"""Learning curves and comparisons of policies, drawn from a tidy log: a row a step, or a row an episode."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.plots.curve_tables import (
    curve_settings,
    mean_of_scores,
    reward_of,
    run_numbers,
    run_scores,
    smooth_runs,
)
from pushlab.plots.kit import banded_line, end_labels
from pushlab.plots.palette import (
    BOUND_DASH,
    CHANCE,
    INK,
    LEAD,
    PAPER,
    TICK,
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
from pushlab.plots.ticks import count_along, span, tick_names, ticks_around
from pushlab.plots.words import order_title, short_number, spoken

POINTS = 250  # about as many are drawn of a line


# ---------------------------------------------------------------- pictures


@house_style()
def learning_curve(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    window: int | None = None,
    best: float | str | None = None,
    title: Words = None,
    lead: Words = None,
    unit: Words = None,
    over: str | None = None,
    runs: str = "seed",
    figure: Figure | None = None,
) -> Axes:
    """How fast each agent learns: rolling mean over the steps, or the episodes, with 95 % intervals over its runs.

    log       tidy log, a row a step or a row an episode; see `curve_table`, which holds the numbers that are drawn, and
              says what `value`, `window`, `over` and `runs` are
    best      a bound as a number, or the column of the log that holds it, over episodes averaged, or summed up to a
              return, as the value is; None draws none
    title     the sentence on top; None says which line ends highest, if one surely does
    lead      where the numbers come from; None says env, user, runs and interval
    unit      what the height means; None makes it from `value` and `window`
    returns   Axes on a sheet of 6 x 4 inches
    """
    log, value, by, window, over, runs = curve_settings(
        log, value, by, window, over, runs, best
    )
    (smooth, table), share = (
        smooth_runs(log, value, by, window, over, runs),
        _is_share(log[value]),
    )
    # From the last step backwards, so that the end is drawn; dashes blur when every step is.
    lines = {
        name: line.iloc[:: -max(1, len(line) // POINTS)]
        for name, line in table.groupby(by, sort=False)
    }
    bound = None if best is None else pd.Series(best, table[over].agg(["min", "max"]))
    if isinstance(best, str):
        bound = (
            smooth_runs(log, best, by, window, over, runs)[1]
            .groupby(over)["mean"]
            .mean()
            .dropna()
        )
    if table[over].nunique() == 1:
        raise ValueError(
            f"one {over} a run is no curve: the log needs more of them (episodes=N), or a row a step "
            "(record='steps'). plots.compare_policies shows single numbers"
        )
    return draw_curves(
        lines,
        table,
        bound,
        share,
        title or _curve_title(smooth, value),
        lead or log_lead(log, table, runs),
        unit or _curve_unit(log, value, share, window, over),
        figure,
        over,
    )


def draw_curves(
    lines: dict,
    table: pd.DataFrame,
    bound: pd.Series | None,
    share: bool,
    title: str,
    lead: str,
    unit: str,
    figure: Figure | None = None,
    over: str = "step",
) -> Axes:
    """Curves with their bands and, at their ends, names and last values: Axes on a sheet of 6 x 4 inches.

    lines   {name: the rows of the table that are drawn of it}
    table   what the axes must hold: step or episode, mean, low, high
    bound   a dashed line, a Series over steps or episodes; None draws none
    share   whether the heights go from 0 to 1
    over    "step" or "episode", what goes from left to right
    """
    stage = Stage(600, 400, figure)
    shift = stage.heading(title, lead)
    stage.label(MARGIN, 82 + shift, unit)
    styles, labels = series_styles(lines), []
    for name, line in lines.items():
        end = line.loc[line[over].idxmax()]
        number = f" {short_number(end['mean'])}"
        said = (
            fit(plain(name), 132 - text_width(number, TICK, "bold"), TICK, "bold")
            + number
        )
        labels.append((end[over], end["mean"], said, styles[name][0], "bold"))
    if bound is not None:
        labels.append(
            (
                bound.index[-1],
                bound.iloc[-1],
                f"best possible {short_number(bound.iloc[-1])}",
                INK,
                "normal",
            )
        )
    widest = max(text_width(words, TICK, weight) for _, _, words, _, weight in labels)
    heights = np.append(table[["mean", "low", "high"]], [] if bound is None else bound)
    low, high = (
        (0.0, 1.0) if share else (min(0.0, np.nanmin(heights)), np.nanmax(heights))
    )
    ticks = tick_names(ticks_around(low, high if high > low else low + 1, 4))
    left = max(64, MARGIN + 8 + max(text_width(words, TICK) for words in ticks))
    ax = stage.axes(
        left, 100 + shift, 600 - left - MARGIN - widest - 10, 400 - 100 - shift - 48
    )
    for name, line in lines.items():
        banded_line(ax, line[over], line, styles[name])
    if bound is not None:
        ax.plot(bound.index, bound, color=INK, lw=1.6, ls=BOUND_DASH)
    span(ax.yaxis, low, high, 4)
    first, last = table[over].min(), table[over].max()
    begin = 0 if first < 0.2 * last else first
    count_along(ax, begin, max(last, begin + 1), 4, f"{over}s")
    if ax.get_ylim()[0] < 0:
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
    end_labels(ax, labels)
    return ax


@house_style()
def compare_policies(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    statistic: str = "mean",
    best: float | str | None = None,
    title: Words = None,
    lead: Words = None,
    unit: Words = None,
    runs: str = "seed",
    figure: Figure | None = None,
) -> Axes:
    """Policies side by side: a dot a run, a mark and a bar for the mean and its 95 % interval; a row a policy.

    log        tidy log, a row a step or a row an episode; see `policy_table`, which holds the numbers that are drawn
    statistic  "mean" over the steps of each episode, or their "sum"
    runs       "seed", or "episode" for policies that do not learn: what a dot is, and what intervals range over
    best       a bound as a number, or the column of the log that holds it; None draws none
    returns    Axes on a sheet of 6 inches by as many as the rows need
    """
    value = value or reward_of(log)
    scores = run_scores(log, value, by, statistic, runs)
    table = mean_of_scores(scores).rename_axis(by).reset_index()
    if isinstance(best, str):
        best = float(
            np.concatenate(
                [*run_scores(log, best, by, statistic, runs).values()]
            ).mean()
        )
    pitch, styles = 46, series_styles(scores)
    stage = Stage(600, 168 + pitch * len(table), figure)
    shift = stage.heading(
        title or _policy_title(scores),
        lead or log_lead(log, table, runs),
        title_lines=1,
    )
    stage.label(MARGIN, 82 + shift, unit or _policy_unit(log, value, statistic, runs))
    widest = max(
        text_width(fit(plain(name), 150, LEAD, "bold"), LEAD, "bold") for name in scores
    )
    numbers = max(
        text_width(short_number(mean), LEAD, "bold") for mean in table["mean"]
    )
    rows = Rows(
        stage,
        len(table),
        pitch,
        112,
        MARGIN + widest + 16,
        max(MARGIN + 62, numbers + 31),
    )
    for row, line, (name, dots) in zip(
        range(len(table)), table.itertuples(), scores.items()
    ):
        (colour, _, marker), hollow = styles[name], str(name).lower() == CHANCE
        place = np.argsort(
            np.argsort(dots, kind="stable")
        )  # equal scores must not hide each other
        offset = ((place * 0.618034) % 1 - 0.5) * (0.5 if len(dots) > 1 else 0)
        rows.ax.plot(
            dots, row + offset, "o", ms=4.5, color=colour, alpha=0.4, mew=0, ls="none"
        )
        if np.isfinite(line.low):
            rows.interval(row, line.low, line.high, PAPER, lw=5.5)
            rows.interval(
                row, line.low, line.high, colour, solid_capstyle="round", zorder=5
            )
        rows.dot(
            row,
            line.mean,
            colour,
            marker,
            hollow,
            ms=9,
            mec=colour if hollow else PAPER,
        )
        rows.say(row, name, short_number(line.mean), colour, "bold")
    values = np.concatenate(
        [
            *scores.values(),
            table["low"],
            table["high"],
            [np.nan if best is None else best],
        ]
    )
    span(rows.ax.xaxis, min(0.0, np.nanmin(values)), max(0.0, np.nanmax(values)), 5)
    if best is not None:
        rows.upright(best, f"best possible {short_number(best)}", edge=0.5, zorder=2)
    return rows.ax


# ---------------------------------------------------------------- words


def _plural(counts, noun):
    """How many there are, at the fewest and at the most."""
    few, many = int(np.min(counts)), int(np.max(counts))
    return (
        f"{few:,} {noun}{'' if many == 1 else 's'}"
        if few == many
        else f"{few:,} to {many:,} {noun}s"
    )


def _episodes_of_runs(log, runs):
    """How many episodes each run has, an array; of a log that does not count them, and where an episode is a run, 1."""
    if runs == "episode" or "episode" not in log:
        return np.ones(1)
    return log["episode"].groupby(run_numbers(log)).nunique().to_numpy()


def log_lead(
    log: pd.DataFrame,
    table: pd.DataFrame,
    runs: str = "seed",
    cross: str | None = None,
    over: str | None = None,
) -> str:
    """Where the numbers come from: environment, user, runs and their episodes, interval; `cross` as in `trade_off`.

    over   the column of the log that holds a number that was turned, as in `sweep_curve`
    """
    groups = [table.columns[0], *([over] if over else [])]
    met = (
        1
        if "env" not in log
        else int(log.groupby(groups, observed=True)["env"].nunique().max())
    )
    words = []
    for column, kind in (
        ("env", "environments"),
        ("user", "users"),
        ("info.user", "users"),
    ):
        if column in log.columns and (column, met > 1) != ("env", True):
            names = log[column].dropna().unique()
            name = (
                plain(names[0]).removeprefix("pushlab/")
                if len(names) == 1
                else f"{len(names)} {kind}"
            )
            words.append(
                f"user {name}" if kind == "users" and len(names) == 1 else name
            )
    episodes, counted = (
        _episodes_of_runs(log, runs),
        "run" if runs == "seed" else "episode",
    )
    said = _plural(table["runs"], counted) + (
        f" over {met} environments" if met > 1 else ""
    )
    said += f" of {_plural(episodes, 'episode')}" if episodes.max() > 1 else ""
    words.append(said if table.iloc[:, 0].nunique() == 1 else f"{said} each")
    about = (
        f" over {counted}s"
        if cross or runs == "episode" or episodes.max() > 1 or met > 1
        else ""
    )
    about += f" and {spoken(cross)}s" if cross else ""
    words.append(
        "no interval" if table["runs"].max() == 1 else f"95 % intervals{about}"
    )
    return ", ".join(words)


def _curve_title(runs, value):
    ends = {name: smooth.iloc[-1].dropna().to_numpy() for name, smooth in runs.items()}
    if len(ends) > 1:
        return order_title(ends, "ends highest")
    ((name, last),) = ends.items()
    return f"{plain(name)}: {spoken(value)} ends at {short_number(last.mean())}"


def _policy_title(scores):
    if len(scores) > 1:
        return order_title(scores, "comes out highest")
    ((name, values),) = scores.items()
    return f"{plain(name)} earns {short_number(values.mean())}"


def _is_share(values):
    return bool(values.dropna().astype(float).isin((0, 1)).all())


def _curve_unit(log, value, share, window, over):
    what = f"share {spoken(value)}" if share and value != "reward" else spoken(value)
    if (
        over == "episode"
        and "step" in log
        and value != "return"
        and not what.startswith("share")
    ):
        what = f"mean {what}"
    each = f"{what} a step" if over == "step" else f"{what} of each episode"
    return f"{what}, mean of the last {_plural(window, over)}" if window > 1 else each


def _policy_unit(log, value, statistic, runs):
    """What a dot is: of a run with several episodes the mean of what each of them has."""
    what = "run" if runs == "seed" else "episode"
    each = (
        "episode, mean over each run"
        if _episodes_of_runs(log, runs).max() > 1
        else what
    )
    return (
        f"{spoken(value)}, {'total' if statistic == 'sum' else 'mean'} of each {each}"
    )
