"""Plots and tables of agents: learning curves and comparisons, with 95 % intervals over runs.

A learning agent carries its experience from one episode to the next, so all its episodes with one seed are one run.
Logs don't record whether an agent learns. `runs="episode"` treats each episode as a run, for agents that don't learn.

With several environments, a run is one seed in all of them and its score is the mean over the environments. All agents
meet the same users with every seed, so users don't count as runs.
"""

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pushlab.metrics.estimate import crossed_interval, half_width
from pushlab.plots.style import (
    BOUND_DASH,
    GREY,
    HALO,
    INK,
    RANDOM_AGENT,
    SMALL_SIZE,
    TEXT,
    TICK_SIZE,
    chart,
    darken,
    draw_mean,
    format_number,
    format_tick,
    house_style,
    label_line_ends,
    label_rows,
    plot_with_band,
    readable_name,
    round_limits,
    series_styles,
    shorten,
)
from pushlab.utils.arguments import require, require_rows, validate_choice

RUN_COLUMNS = ("run", "env", "agent", "seed", "lifetime")  # they identify a run


def _run_index(rows, runs="seed", without=()):
    """Return the index of each row's run.

    Args:
        runs: "seed" treats all episodes with one seed as one run, "episode" treats each episode as a run.
        without: Columns of RUN_COLUMNS to ignore.

    >>> log = pd.DataFrame({"seed": [7, 7, 8], "episode": [0, 1, 0]})
    >>> _run_index(log).tolist(), _run_index(log, "episode").tolist()
    ([0, 0, 1], [0, 1, 2])
    """
    keys = [key for key in RUN_COLUMNS if key in rows and key not in without]
    if validate_choice("runs", runs, ("seed", "episode")) == "episode":
        require_rows(rows, "episode")
        keys.append("episode")
    columns = [rows[key] for key in keys] or np.zeros(len(rows))
    groups = rows.groupby(columns, sort=False, observed=True, dropna=False)
    return groups.ngroup()


def _mean_over_runs(runs):
    """Return the columns mean, low, high and runs: each row's mean over its runs, with a 95 % t-interval.

    Args:
        runs: Shape (rows, runs), NaN for missing values. The interval of a single run is NaN.

    >>> _mean_over_runs([[1.0, 2.0, 3.0, np.nan]]).round(2)
       mean   low  high  runs
    0   2.0 -0.48  4.48     3
    """
    runs = pd.DataFrame(runs).astype(float)
    mean = runs.mean(axis=1)
    count = runs.count(axis=1)
    half = half_width(runs.std(axis=1), count.clip(lower=1))
    return pd.DataFrame(
        {
            "mean": mean,
            "low": mean - half,
            "high": mean + half,
            "runs": count,
        }
    )


def _run_scores(
    log,
    value,
    by="agent",
    columns=(),
    statistic="mean",
    runs="seed",
):
    """Return a table with one column per run: `value`, averaged over episodes, then over environments.

    Args:
        columns: Columns such as "step" whose values get rows of their own, in addition to `by`.
        statistic: "mean" or "sum" over the rows of each episode.

    Raises:
        ValueError: Runs have different environments, so their means aren't comparable.
    """
    require_rows(log, value, by, *columns)
    validate_choice("statistic", statistic, ("mean", "sum"))
    keys = [log[name] for name in (by, *columns)]
    keys.append(_run_index_over_envs(log, value, by, runs))
    keys.append(_run_index(log))
    keys.append(log["episode"] if "episode" in log else np.zeros(len(log)))
    options = {"sort": False, "observed": True, "dropna": False}
    scores = log[value].astype(float).groupby(keys, **options).agg(statistic)
    levels = list(range(len(keys)))
    scores = scores.groupby(level=levels[:-1], **options).mean()
    environments = scores.groupby(level=levels[:-2], **options)
    # Environments can have different lengths: use only steps that all of them reach.
    counts = environments.count()
    max_counts = counts.groupby(level=[0, -1], **options).transform("max")
    is_complete = counts == max_counts
    return environments.mean().where(is_complete).unstack()


def _run_index_over_envs(rows, value, by, runs):
    """Return the index of each row's run, with one seed in all environments as one run."""
    separate = _run_index(rows, runs)
    if "env" not in rows or rows["env"].nunique() < 2:
        return separate
    # The column "run" usually contains the environment. Drop it if the other columns identify runs as well.
    without_run = _run_index(rows, runs, ["run"])
    is_redundant = separate.max() == without_run.max()
    ignored = ["env", "run"] if is_redundant else ["env"]
    joint = _run_index(rows, runs, ignored)
    if by != "env":
        _require_same_envs(rows, value, by, joint)
    return joint


def _require_same_envs(rows, value, by, run):
    """Raise a ValueError unless all runs have values in the same environments.

    Args:
        run: Index of each row's run.
    """
    present = rows.assign(_run=run)[rows[value].notna()]
    counts = present.groupby([by, "_run", "env"], observed=True).size().unstack()
    # Names other than those of agents, such as users, can belong to one environment.
    envs_per_name = counts.groupby(level=0).any().sum(axis=1)
    incomplete = counts[counts.isna().any(axis=1)]
    if incomplete.empty or (by != "agent" and envs_per_name.max() <= 1):
        return
    name, number = incomplete.index[0]
    first = rows[run == number].iloc[0]
    keys = [f"{key} {first[key]}" for key in ("seed", "lifetime") if key in rows]
    env = incomplete.columns[incomplete.iloc[0].isna()][0]
    raise ValueError(
        f"runs have different environments: {by} {name}, {', '.join(keys)}, "
        f"has no {value} in {env!r}. Keep only environments that all runs have, or use by='env'"
    )


def _reward_column(log, over="step"):
    """Return the column with the reward, and how to combine an episode's rows: "mean" or "sum"."""
    if "return" in log and (over == "episode" or "reward" not in log):
        return "return", "mean"
    return "reward", "sum" if over == "episode" else "mean"


def policy_table(
    log: pd.DataFrame,
    value: str = "",
    by: str = "agent",
    statistic: str = "mean",
    runs: str = "seed",
) -> pd.DataFrame:
    """Return each policy's mean over its runs, with a 95 % interval.

    Args:
        log: A tidy log with one row per step or per episode.
        value: Column to average; by default the reward, or else the return.
        by: Column that separates the policies.
        statistic: "mean" or "sum" over the steps of an episode. The score of a run is the mean over its episodes.
        runs: Unit of the interval. "seed": runs with different seeds. "episode": single episodes, for policies that
            don't learn. The interval of a learning policy would be too narrow with "episode".

    Returns:
        A table with the columns `by`, mean, low, high, runs.

    >>> log = pd.DataFrame({"agent": "a", "seed": 7, "episode": [0, 1, 2], "return": [1.0, 2.0, 3.0]})
    >>> policy_table(log).values.tolist()
    [['a', 2.0, nan, nan, 1]]
    >>> policy_table(log, runs="episode").round(2).values.tolist()
    [['a', 2.0, -0.48, 4.48, 3]]
    """
    value = value or _reward_column(log)[0]
    scores = _run_scores(log, value, by, (), statistic, runs)
    return _mean_over_runs(scores).reset_index()


def curve_table(
    log: pd.DataFrame,
    value: str = "",
    by: str = "agent",
    window: int | None = None,
    over: str = "",
    runs: str = "seed",
    statistic: str = "mean",
) -> pd.DataFrame:
    """Return learning curves: the mean of rolling means of `value` over runs, with 95 % intervals.

    Args:
        log: A tidy log with one row per step or per episode. The columns in RUN_COLUMNS identify runs.
        value: Column to average; by default the reward for steps, the return for episodes.
        by: Column that separates the curves.
        window: Steps (default 100) or episodes (default 10) in the rolling mean. Curves begin after a fifth of them.
        over: "step" within an episode, or "episode"; by default "step" if the log has steps.
        runs: Unit of the interval, see `policy_table`. "episode" requires over="step".
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
    validate_choice("over", over, ("step", "episode"))
    require(over == "step" or runs == "seed", "runs='episode' needs over='step'")
    if window is None:
        window = 100 if over == "step" else 10
    require(window >= 1, f"window must be at least 1 {over}, got {window}")
    if not value:
        value, statistic = _reward_column(log, over)

    positions = [name for name in ("episode", "step") if name in log]
    rows = log.assign(_run=_run_index(log))
    if rows.duplicated(["_run", *positions]).any():
        raise ValueError(
            f"a run has the same {positions[-1]} more than once; "
            f"the columns {', '.join(RUN_COLUMNS)} and episode must identify runs"
        )

    def smooth(values):
        min_periods = max(1, min(window // 5, len(values) // 5))
        means = values.rolling(window, min_periods=min_periods).mean()
        return means.where(values.notna())

    scores = _run_scores(log, value, by, [over], statistic, runs)
    groups = scores.groupby(level=0, sort=False, group_keys=False)
    curves = groups.apply(smooth).dropna(how="all")
    return _mean_over_runs(curves).reset_index()


MAX_POINTS = 250  # per line; dashes blur with more
STUDY_AGENTS = ("Thompson", "LinUCB", "eps-greedy", "most opened", "random")


def _default_title(value, by):
    """Return a default title such as "Reward by agent"."""
    return f"{readable_name(value)} by {readable_name(by)}".capitalize()


@house_style()
def learning_curve(
    log: pd.DataFrame,
    value: str = "",
    by: str = "agent",
    window: int | None = None,
    best: str = "",
    over: str = "",
    runs: str = "seed",
    title: str = "",
    subtitle: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot learning curves: rolling means with 95 % intervals over runs.

    Args:
        log: A tidy log, with one row per step or per episode.
        value, window, over, runs: As in `curve_table`.
        by: Column that separates the curves.
        best: Column with the best possible value, drawn as a dashed line.
        title: The main finding, as a sentence.
        subtitle: Source of the numbers.
        ylabel: Label of the y axis; by default `value`.

    Returns:
        A figure.
    """
    over = over or ("step" if "step" in log else "episode")
    statistic = "mean"
    if not value:
        value, statistic = _reward_column(log, over)
    table = curve_table(log, value, by, window, over, runs, statistic)
    require(table[over].nunique() > 1, f"a curve needs at least two {over}s per run")
    bound = None
    if best:
        bounds = curve_table(log, best, by, window, over, runs, statistic)
        bound = bounds.groupby(over)["mean"].mean()
    ax = chart(
        title or _default_title(value, by),
        subtitle,
        ylabel or f"{readable_name(value)}, rolling mean",
        f"{over}s",
    )
    is_share = log[value].dropna().isin([0, 1]).all()
    _draw_curves(ax, table, by, over, bound, is_share)
    return ax.figure


def _draw_curves(
    ax,
    table,
    by,
    over,
    bound=None,
    is_share=False,
):
    """Draw lines with their bands, and label their ends with name and last value.

    Args:
        table: Columns `by`, `over`, mean, low, high.
        bound: Upper bound, indexed by `over`, drawn as a dashed line.
        is_share: Whether the y axis goes from 0 to 1.
    """
    values = table[["mean", "low", "high"]].to_numpy()
    styles = series_styles(table[by])
    labels = []

    def label_end(name, x, y, colour):
        labels.append((x, y, f"{shorten(name, 18)} {format_number(y)}", colour))

    for name, line in table.groupby(by, sort=False):
        points = line.iloc[:: -max(1, len(line) // MAX_POINTS)]
        plot_with_band(ax, points[over], points, styles[name])
        end = points.iloc[0]
        label_end(name, end[over], end["mean"], styles[name][0])
    if bound is not None:
        ax.plot(bound, color=INK, lw=1.6, ls=BOUND_DASH)
        label_end("best possible", bound.index[-1], bound.iloc[-1], INK)
        values = np.append(values, bound)
    if is_share:
        values = [0, 1]
    first = table[over].min()
    last = table[over].max()
    ax.set_xlim(0 if first < 0.2 * last else first, last)
    locator = MaxNLocator(4, integer=True, steps=(1, 2, 2.5, 5, 10))
    ax.xaxis.set_major_locator(locator)
    low = min(0, np.nanmin(values))
    round_limits(ax.yaxis, low, np.nanmax(values))
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
    subtitle: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot each agent's score against a numeric setting, with 95 % intervals over runs.

    Logs of `pushlab.sweep` store the settings of an environment in the column `params`. Extract a setting first:
    `log.assign(alpha=log["params"].map(json.loads).str["alpha"])`.

    Args:
        log: A tidy log.
        over: Column with the numeric setting.
        runs: Unit of the intervals, see `policy_table`.
    """
    require_rows(log, over)
    tables = {}
    for setting, rows in log.groupby(over):
        tables[setting] = policy_table(rows, value, runs=runs)
    table = pd.concat(tables, names=[over]).reset_index(level=over)
    ax = chart(
        title or _default_title(value, "agent"),
        subtitle,
        ylabel or readable_name(value),
        readable_name(over),
        (6.4, 4.4),
    )
    _draw_curves(ax, table, "agent", over)
    styles = series_styles(table["agent"]).values()
    for line, style in zip(ax.lines, styles):
        line.set(marker=style[2], markersize=5.5, clip_on=False)
    settings = list(tables)
    if 0 < 8 * settings[0] <= settings[-1]:
        ax.set_xscale("log", base=2)
        ax.minorticks_off()
    ax.set_xlim(settings[0], settings[-1])
    ax.set_xticks(settings, [format_tick(setting) for setting in settings])
    return ax.figure


@house_style()
def study_curves(curves: pd.DataFrame, user: str, title: str = "") -> Figure:
    """Plot the learning curves of the cold-start study for one user.

    Args:
        curves: The table data/studies/cold_start_curves.csv.
    """
    rows = curves[curves["user"] == user]
    require(len(rows), f"curves has no user {user!r}")
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
def compare_policies(
    log: pd.DataFrame,
    value: str = "",
    by: str = "agent",
    statistic: str = "mean",
    runs: str = "seed",
    title: str = "",
    subtitle: str = "",
    xlabel: str = "",
) -> Figure:
    """Plot policies side by side: a dot per run, and the mean with its 95 % interval.

    Args:
        log: A tidy log with one row per step or per episode.
        value: Column to compare; by default the reward, or else the return.
        by: Column that separates the policies.
        statistic: "mean" or "sum" over the steps of each episode.
        runs: Unit of the dots and the intervals: "seed", or "episode" for policies that don't learn.
    """
    value = value or _reward_column(log)[0]
    scores = _run_scores(log, value, by, (), statistic, runs)
    table = _mean_over_runs(scores)
    styles = series_styles(table.index)
    ax = chart(
        title or _default_title(value, by),
        subtitle,
        xlabel=xlabel or f"{readable_name(value)}, {statistic}",
        size=(6, 1.5 + 0.46 * len(table)),
    )
    values = [*scores.to_numpy().ravel(), *table["low"], *table["high"], 0]
    round_limits(ax.xaxis, np.nanmin(values), np.nanmax(values), 5)
    for row, (name, line) in enumerate(table.iterrows()):
        dots = np.sort(scores.loc[name].dropna())
        colour = styles[name][0]
        # So that dots with equal scores don't hide each other.
        jitter = 0.5 * (np.arange(len(dots)) * 0.618 % 1 - 0.5)
        y = row + jitter * (len(dots) > 1)
        ax.scatter(dots, y, s=20, color=colour, alpha=0.4)
        interval = line[["low", "high"]]
        hollow = str(name).lower() == RANDOM_AGENT
        draw_mean(ax, styles[name], line["mean"], row, interval, hollow=hollow)
    means = [format_number(mean) for mean in table["mean"]]
    colours = [style[0] for style in styles.values()]
    label_rows(ax, table.index, means, colours)
    ax.tick_params(axis="y", pad=12)
    return ax.figure


@house_style()
def trade_off(
    log: pd.DataFrame,
    x: str,
    y: str,
    better: str = "",
    cross: str = "",
    title: str = "",
    subtitle: str = "",
    xlabel: str = "",
    ylabel: str = "",
) -> Figure:
    """Plot policies by two measures, such as interruptions and opens, with 95 % intervals of both.

    Args:
        log: A tidy log or study with one row per episode or per step. Policies without one of the measures are
            skipped.
        x, y: Columns of the measures.
        better: The best corner: "upper left", "upper right", "lower left" or "lower right".
        cross: A column whose values all runs share, such as "day". Intervals then cover runs and these values, see
            `pushlab.metrics.estimate.crossed_interval`.
    """
    ax = chart(
        title or f"{readable_name(y)} against {readable_name(x)}".capitalize(),
        subtitle,
        ylabel or readable_name(y),
        xlabel or readable_name(x),
        (6, 4.4),
    )
    ax.grid(True, axis="both")
    x_table = _intervals(log, x, cross)
    y_table = _intervals(log, y, cross)
    for axis, table in ((ax.xaxis, x_table), (ax.yaxis, y_table)):
        values = table[["mean", "low", "high"]]
        round_limits(axis, values.min(axis=None), values.max(axis=None))
    for name, style in series_styles(log["agent"]).items():
        x_mean, *x_interval = x_table.loc[name, ["mean", "low", "high"]]
        y_mean, *y_interval = y_table.loc[name, ["mean", "low", "high"]]
        if np.isnan(x_mean + y_mean):
            continue
        hollow = str(name).lower() == RANDOM_AGENT
        draw_mean(ax, style, x_mean, y_mean, x_interval, y_interval, hollow)
        right = np.nanmax([x_mean, *x_interval])
        ax.annotate(
            shorten(name, 28),
            (right, y_mean),
            (9, 0),
            textcoords="offset points",
            va="center",
            size=TICK_SIZE,
            weight="bold",
            color=darken(style[0]),
            path_effects=HALO,
            zorder=7,
        )
    if better:
        _draw_better_arrow(ax, better)
    return ax.figure


def _draw_better_arrow(ax, corner):
    """Draw an arrow with the label "better" towards a corner."""
    right = corner.endswith("right")
    top = corner.startswith("upper")
    ax.annotate(
        "better",
        (0.02 + 0.96 * right, 0.03 + 0.94 * top),
        (0.12 + 0.76 * right, 0.14 + 0.72 * top),
        xycoords="axes fraction",
        arrowprops={"arrowstyle": "-|>", "color": GREY, "lw": 1.6},
        ha="center",
        va="center",
        size=SMALL_SIZE,
        color=TEXT,
    )


def _intervals(log, value, cross):
    """Return mean, low and high of each agent, with intervals over runs, or over runs and the values of `cross`."""
    table = policy_table(log, value).set_index("agent")
    if not cross:
        return table
    for name in table.index:
        rows = log[log["agent"] == name]
        grid = _run_scores(rows, value, columns=[cross]).to_numpy()
        interval = (np.nan, np.nan)
        if min(grid.shape) > 1 and np.isfinite(grid).all():
            interval = crossed_interval(grid.T)[1:]
        table.loc[name, ["low", "high"]] = interval
    return table
