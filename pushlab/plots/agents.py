"""How agents do: learning curves and comparisons with 95 % intervals over their runs, and the tables behind them.

An agent that learns carries what it learned from one episode into the next. All its episodes under one seed are
therefore one run. A log cannot say whether its agent learns: `runs="episode"` says that it does not, so that its
episodes are as independent as seeds.

In several environments a run is one seed in all of them, and its number is the mean over them: users that every agent
meets under every seed are no more runs than there are seeds.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pushlab.ground.arguments import demand, has_rows, one_of
from pushlab.metrics.estimate import crossed_interval, half_width
from pushlab.plots.style import (
    BOUND_DASH,
    CHANCE,
    GREY,
    HALO,
    INK,
    SMALL,
    TEXT,
    TICK,
    banded_line,
    chart,
    deep,
    draw_mean,
    house_style,
    label_line_ends,
    name_axes,
    name_rows,
    round_limits,
    series_styles,
    sheet,
    short,
    short_number,
    spoken,
    tick_name,
    write_beside,
)

# The columns that tell one run from another.
RUN = ("run", "env", "agent", "seed", "lifetime")


def _run_numbers(rows, runs="seed", without=()):
    """Return the number of the run that each row belongs to.

    Args:
        runs: "seed" counts all episodes under one seed as one run, "episode" each of them.
        without: Columns of RUN to ignore.

    >>> log = pd.DataFrame({"seed": [7, 7, 8], "episode": [0, 1, 0]})
    >>> _run_numbers(log).tolist(), _run_numbers(log, "episode").tolist()
    ([0, 0, 1], [0, 1, 2])
    """
    keys = [key for key in RUN if key in rows and key not in without]
    if one_of("runs", runs, ("seed", "episode")) == "episode":
        has_rows(rows, "episode")
        keys.append("episode")
    groups = [rows[key] for key in keys] or np.zeros(len(rows))
    return rows.groupby(groups, sort=False, observed=True, dropna=False).ngroup()


def _mean_over_runs(runs):
    """Return mean, low, high and runs of each row: the mean over its columns and the 95 % t-interval.

    Args:
        runs: Shape (rows, runs), NaN where a run has no value. The ends of a single run's interval are NaN.

    >>> _mean_over_runs([[1.0, 2.0, 3.0, np.nan]]).round(2)
       mean   low  high  runs
    0   2.0 -0.48  4.48     3
    """
    runs = pd.DataFrame(runs).astype(float)
    mean = runs.mean(axis=1)
    count = runs.count(axis=1)
    half = half_width(runs.std(axis=1), count.clip(lower=1))
    return pd.DataFrame(
        {"mean": mean, "low": mean - half, "high": mean + half, "runs": count}
    )


def _run_scores(log, value, by="agent", along=(), statistic="mean", runs="seed"):
    """Return a column a run: `value` averaged over its episodes, then over its environments.

    Args:
        along: Columns such as "step" that, besides `by`, get a row for each of their values.
        statistic: "mean" or "sum" over the rows of each episode.

    Raises:
        ValueError: Runs differ in their environments, so that their means do not compare.
    """
    has_rows(log, value, by, *along)
    one_of("statistic", statistic, ("mean", "sum"))
    keys = [log[name] for name in (by, *along)]
    keys.append(_whole_runs(log, value, by, runs))
    keys.append(_run_numbers(log))
    keys.append(log["episode"] if "episode" in log else np.zeros(len(log)))
    options = {"sort": False, "observed": True, "dropna": False}
    scores = log[value].astype(float).groupby(keys, **options).agg(statistic)
    levels = list(range(len(keys)))
    scores = scores.groupby(level=levels[:-1], **options).mean()
    environments = scores.groupby(level=levels[:-2], **options)
    # Environments can end apart: a mean counts as far as all of them go.
    counts = environments.count()
    most = counts.groupby(level=[0, -1], **options).transform("max")
    wide = environments.mean().where(counts == most).unstack()
    return wide


def _whole_runs(rows, value, by, runs):
    """Return the number of each row's run, which is one seed in all environments."""
    own = _run_numbers(rows, runs)
    if "env" not in rows or rows["env"].nunique() < 2:
        return own
    # A run's name usually holds its environment, and adds nothing to the other columns.
    adds_nothing = own.max() == _run_numbers(rows, runs, ["run"]).max()
    whole = _run_numbers(rows, runs, ["env", "run"] if adds_nothing else ["env"])
    if by == "env":
        return whole
    found = rows.assign(_whole=whole)[rows[value].notna()]
    met = found.groupby([by, "_whole", "env"], observed=True).size().unstack()
    # A name that is not an agent's, such as a user's, can belong to one environment.
    envs_of_name = met.groupby(level=0).any().sum(axis=1)
    lacking = met[met.isna().any(axis=1)]
    if len(lacking) and (by == "agent" or envs_of_name.max() > 1):
        name, number = lacking.index[0]
        first = rows[whole == number].iloc[0]
        where = [f"{key} {first[key]}" for key in ("seed", "lifetime") if key in rows]
        env = lacking.columns[lacking.iloc[0].isna()][0]
        raise ValueError(
            f"runs differ in their environments: there is no {value} of {by} {name}, "
            f"{', '.join(where)}, in {env!r}. Leave out what not all have, or use by='env'"
        )
    return whole


def _earnings(log, over="step"):
    """Return the column of what was earned, and how the rows of an episode are combined: "mean" or "sum"."""
    if "return" in log and (over == "episode" or "reward" not in log):
        return "return", "mean"
    return "reward", "sum" if over == "episode" else "mean"


def policy_table(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    statistic: str = "mean",
    runs: str = "seed",
) -> pd.DataFrame:
    """Return each policy's mean over its runs, with a 95 % interval.

    Args:
        log: A tidy log, a row a step or a row an episode.
        value: The column to average; None takes the reward, or the return.
        statistic: "mean" or "sum" over the steps of an episode. A run's number is the mean of its episodes.
        runs: What the interval ranges over. "seed": runs under different seeds. "episode": single episodes, which is
            right for a policy that does not learn. For one that learns meanwhile such an interval is too narrow.

    Returns:
        A table with the columns `by`, mean, low, high, runs.

    >>> log = pd.DataFrame({"agent": "a", "seed": 7, "episode": [0, 1, 2], "return": [1.0, 2.0, 3.0]})
    >>> policy_table(log).values.tolist()
    [['a', 2.0, nan, nan, 1]]
    >>> policy_table(log, runs="episode").round(2).values.tolist()
    [['a', 2.0, -0.48, 4.48, 3]]
    """
    scores = _run_scores(log, value or _earnings(log)[0], by, (), statistic, runs)
    return _mean_over_runs(scores).reset_index()


def curve_table(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    window: int | None = None,
    over: str | None = None,
    runs: str = "seed",
    statistic: str = "mean",
) -> pd.DataFrame:
    """Return learning curves: a rolling mean of `value`, then its mean and 95 % interval over the runs.

    Args:
        log: A tidy log, a row a step or a row an episode, with the columns that tell runs apart: RUN.
        value: None takes the reward of steps, the return of episodes.
        window: Steps or episodes averaged, None for 100 or 10. A curve begins where there are a fifth of them.
        over: "step" within an episode, or "episode". None takes steps if the log has them.
        runs: What the interval ranges over, see `policy_table`. "episode" goes with steps only.
        statistic: "mean" or "sum" over the steps of an episode, for curves over episodes.

    Returns:
        A table with the columns `by`, step or episode, mean, low, high, runs.

    >>> log = pd.DataFrame({"agent": "a", "seed": [0, 0, 1, 1], "step": [1, 2, 1, 2], "reward": [0, 1, 1, 1]})
    >>> curve_table(log, window=1)[["agent", "step", "mean", "runs"]].values.tolist()
    [['a', 1, 0.5, 2], ['a', 2, 1.0, 2]]
    >>> curve_table(log.rename(columns={"step": "episode"}), window=1)["mean"].tolist()
    [0.5, 1.0]
    """
    over = over or ("step" if "step" in log else "episode")
    one_of("over", over, ("step", "episode"))
    demand(over == "step" or runs == "seed", "runs='episode' needs over='step'")
    if window is None:
        window = 100 if over == "step" else 10
    demand(window >= 1, f"window must be at least 1 {over}, got {window}")
    if value is None:
        value, statistic = _earnings(log, over)

    places = [name for name in ("episode", "step") if name in log]
    if log.assign(_run=_run_numbers(log)).duplicated(["_run", *places]).any():
        raise ValueError(
            f"a {places[-1]} stands more than once in one run: the columns "
            f"{', '.join(RUN)} and episode must tell runs apart"
        )

    def smooth(values):
        least = max(1, min(window // 5, len(values) // 5))
        means = values.rolling(window, min_periods=least).mean()
        return means.where(values.notna())

    scores = _run_scores(log, value, by, [over], statistic, runs)
    curves = scores.groupby(level=0, sort=False, group_keys=False).apply(smooth)
    return _mean_over_runs(curves.dropna(how="all")).reset_index()


PARTS = "info.parts."  # how names of columns with parts of the reward begin
POINTS = 250  # of a line; dashes blur when there are more
STUDY_AGENTS = ("Thompson", "LinUCB", "eps-greedy", "most opened", "random")


def _title_of(value, by):
    """Return a plain title of a picture: "Reward by agent"."""
    return f"{spoken(value)} by {spoken(by)}".capitalize()


@house_style()
def learning_curve(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    window: int | None = None,
    best: str | None = None,
    over: str | None = None,
    runs: str = "seed",
    title: str = "",
    lead: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot how fast each agent learns: rolling means with 95 % intervals over its runs.

    Args:
        log: A tidy log, with one row per step or per episode.
        value, window, over, runs: As in `curve_table`.
        by: Column that separates the curves.
        best: Column with the best possible value, drawn as a dashed line.
        title: The finding, in a sentence.
        lead: Where the numbers come from.
        ylabel: Label of the vertical axis; by default `value`.

    Returns:
        A figure.
    """
    over = over or ("step" if "step" in log else "episode")
    statistic = "mean"
    if value is None:
        value, statistic = _earnings(log, over)
    table = curve_table(log, value, by, window, over, runs, statistic)
    demand(table[over].nunique() > 1, f"a curve needs more than one {over} a run")
    bound = None
    if best is not None:
        bounds = curve_table(log, best, by, window, over, runs, statistic)
        bound = bounds.groupby(over)["mean"].mean()
    ax = chart(
        title or _title_of(value, by),
        lead,
        ylabel or f"{spoken(value)}, rolling mean",
        f"{over}s",
    )
    is_share = log[value].dropna().isin([0, 1]).all()
    _draw_curves(ax, table, by, over, bound, is_share)
    return ax.figure


def _draw_curves(ax, table, by, over, bound=None, is_share=False):
    """Draw lines in their bands, with a name and the last value at each end.

    Args:
        table: Columns `by`, `over`, mean, low, high.
        bound: Heights of a dashed line, by `over`.
        is_share: Whether the heights go from 0 to 1.
    """
    heights = table[["mean", "low", "high"]].to_numpy()
    styles = series_styles(table[by])
    labels = []

    def label_end(name, x, y, colour):
        labels.append((x, y, f"{short(name, 18)} {short_number(y)}", colour))

    for name, line in table.groupby(by, sort=False):
        drawn = line.iloc[:: -max(1, len(line) // POINTS)]
        banded_line(ax, drawn[over], drawn, styles[name])
        label_end(name, drawn[over].iloc[0], drawn["mean"].iloc[0], styles[name][0])
    if bound is not None:
        ax.plot(bound, color=INK, lw=1.6, ls=BOUND_DASH)
        label_end("best possible", bound.index[-1], bound.iloc[-1], INK)
        heights = np.append(heights, bound)
    if is_share:
        heights = [0, 1]
    first = table[over].min()
    last = table[over].max()
    ax.set_xlim(0 if first < 0.2 * last else first, last)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=(1, 2, 2.5, 5, 10)))
    round_limits(ax.yaxis, min(0, np.nanmin(heights)), np.nanmax(heights))
    if ax.get_ylim()[0] < 0:
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
    label_line_ends(ax, labels)


@house_style()
def sweep_curve(
    log: pd.DataFrame,
    over: str,
    value: str = "return",
    runs: str = "seed",
    title: str = "",
    lead: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot how well each agent does at each setting of a number, with 95 % intervals over its runs.

    Rows of `pushlab.sweep` hold the settings of an environment in `params`. Make a column of the number first:
    `log.assign(alpha=log["params"].map(json.loads).str["alpha"])`.

    Args:
        log: A tidy log with a column `over`, the number that was varied.
        runs: What the intervals range over, see `policy_table`.
    """
    has_rows(log, over)
    tables = {}
    for setting, rows in log.groupby(over):
        tables[setting] = policy_table(rows, value, runs=runs)
    table = pd.concat(tables, names=[over]).reset_index(level=over)
    ax = chart(
        title or _title_of(value, "agent"),
        lead,
        ylabel or spoken(value),
        spoken(over),
        (6.4, 4.4),
    )
    _draw_curves(ax, table, "agent", over)
    for line, look in zip(ax.lines, series_styles(table["agent"]).values()):
        line.set(marker=look[2], markersize=5.5, clip_on=False)
    settings = list(tables)
    if 0 < 8 * settings[0] <= settings[-1]:
        ax.set_xscale("log", base=2)
        ax.minorticks_off()
    ax.set_xlim(settings[0], settings[-1])
    ax.set_xticks(settings, [tick_name(setting) for setting in settings])
    return ax.figure


@house_style()
def study_curves(curves: pd.DataFrame, user: str, title: str = "") -> Figure:
    """Plot how fast each agent learned one user in the cold-start study.

    Args:
        curves: The table data/studies/cold_start_curves.csv.
    """
    rows = curves[curves["user"] == user]
    demand(len(rows), f"the study has no user {user!r}")
    rows = rows.rename(
        columns={"opened": "mean", "opened_low": "low", "opened_high": "high"}
    )
    lines = [rows[rows["agent"] == name] for name in STUDY_AGENTS]
    ax = chart(
        title or f"Share opened by agent, user {user}",
        "evalumap2-v0, 95 % intervals over the seeds",
        "share opened, mean of 100 steps",
        "steps",
    )
    bound = rows.drop_duplicates("step").set_index("step")["reachable"]
    _draw_curves(ax, pd.concat(lines), "agent", "step", bound, is_share=True)
    return ax.figure


@house_style()
def reward_parts(
    log: pd.DataFrame,
    window: int = 10,
    title: str = "Parts of the reward by agent",
    lead: str = "",
) -> Figure:
    """Plot learning curves of the parts of the reward: a panel for their sum and for each that is not always 0.

    Args:
        log: A tidy log with columns that begin with "info.parts.": a row an episode, or a row a step with sums since
            the beginning of its episode.
        window: Episodes in the rolling mean.
    """
    columns = [name for name in log if str(name).startswith(PARTS)]
    demand(columns, f"no column of the log begins with {PARTS!r}")
    last = log.groupby(_run_numbers(log, "episode"), sort=False).tail(1)
    last = last.assign(**{PARTS + "all parts": last[columns].sum(axis=1)})
    columns = [PARTS + "all parts", *(name for name in columns if last[name].any())]
    styles = series_styles(log["agent"])
    rows = -(-len(columns) // 4)
    figure = sheet(9, 0.9 + 1.7 * rows, title, lead)
    layout: Any = figure.get_layout_engine()
    layout.set(w_pad=0.05, h_pad=0.08)
    panels = figure.subplots(rows, 4, sharey=True).ravel()
    heights = [0.0]
    labels = []
    for ax, column in zip(panels, columns):
        name_axes(ax)
        ax.set_title(spoken(column.removeprefix(PARTS)), size=SMALL)
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
        table = curve_table(last, column, window=window, over="episode")
        heights += table[["mean", "low", "high"]].to_numpy().ravel().tolist()
        labels.append([])
        for name, line in table.groupby("agent", sort=False):
            banded_line(ax, line["episode"], line, styles[name], lw=1.8)
            x, y = line[["episode", "mean"]].iloc[-1]
            words = short_number(y)
            if ax is panels[0] and len(styles) > 1:
                words = f"{short(name, 12)} {words}"
            labels[-1].append((x, y, words, styles[name][0]))
        ax.set_xlim(0)
        ax.xaxis.set_major_locator(MaxNLocator(3, integer=True))
    round_limits(panels[0].yaxis, np.nanmin(heights), np.nanmax(heights))
    for ax, ends in zip(panels, labels):
        label_line_ends(ax, ends)
    for ax in panels[len(columns) :]:
        ax.remove()
    return figure


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
    value = value or _earnings(log)[0]
    scores = _run_scores(log, value, by, (), statistic, runs)
    table = _mean_over_runs(scores)
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
        grid = _run_scores(rows, value, along=[cross]).to_numpy()
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
    limits = [0, *comparison["low"], *comparison["high"]]
    round_limits(ax.xaxis, min(limits), max(limits))
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
