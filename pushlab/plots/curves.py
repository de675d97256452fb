"""Learning curves and comparisons of policies, drawn from a tidy log: a row a step, or a row an episode."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from pushlab.ground.arguments import demand, has_columns, has_rows
from pushlab.metrics.estimate import half_width
from pushlab.plots.kit import banded_line, end_labels, set_ticks, span, ticks_between
from pushlab.plots.palette import BOUND_DASH, CHANCE, INK, LEAD, PAPER, TICK, series_styles
from pushlab.plots.rows import Rows
from pushlab.plots.sheet import MARGIN, Stage, Words, fit, house_style, plain, text_width
from pushlab.plots.words import order_title, short_number, spoken

RUN = ("run", "env", "agent", "seed", "lifetime", "episode")      # the columns that tell one run from another
POINTS = 250                                    # about as many are drawn of a line
STATISTICS = {"mean": "mean", "sum": "total"}


# ---------------------------------------------------------------- tables

def mean_over_runs(runs: Any) -> pd.DataFrame:
    """Mean of each row over the runs in its columns, with its 95 % t-interval: mean, low, high, runs.

    runs   array or DataFrame (rows, runs), NaN where a run has no value; a single run has no interval, and its ends
           are NaN; a row without a run has a NaN for its mean

    >>> mean_over_runs([[1.0, 2.0, 3.0, np.nan]]).round(2)
       mean   low  high  runs
    0   2.0 -0.48  4.48     3
    """
    runs = pd.DataFrame(runs)
    values = np.ascontiguousarray(runs, dtype=float)
    count = np.isfinite(values).sum(axis=1)
    mean = np.nansum(values, axis=1) / np.where(count, count, np.nan)
    squares = np.nansum((values - mean[:, None]) ** 2, axis=1)
    half = half_width(np.sqrt(squares / np.where(count > 1, count - 1, np.nan)), count)
    return pd.DataFrame({"mean": mean, "low": mean - half, "high": mean + half, "runs": count}, index=runs.index)


def mean_of_scores(scores: Mapping[Any, np.ndarray]) -> pd.DataFrame:
    """Mean and interval of each name's runs, see `mean_over_runs`: a DataFrame with the names as its index."""
    return mean_over_runs(pd.DataFrame({name: pd.Series(runs) for name, runs in scores.items()}).T)


def run_numbers(rows: pd.DataFrame, without: Sequence[str] = ()) -> pd.Series:
    """The number of the run that each row belongs to, by the columns that tell runs apart, but for some of them."""
    keys = [key for key in RUN if key in rows.columns and key not in without]
    runs = rows.groupby(keys, sort=False, observed=True, dropna=False) if keys else rows.groupby(np.zeros(len(rows)))
    return runs.ngroup()


def curve_table(log: pd.DataFrame, value: str = "reward", by: str = "agent", window: int = 100) -> pd.DataFrame:
    """The learning curves as a table: rolling mean of `value`, then mean and 95 % interval over the runs.

    log      tidy log, a row a step, with the columns `step`, `value`, `by` and those that tell runs apart
             (run, env, agent, seed, lifetime, episode, as far as it has them)
    window   steps in the rolling mean; at the beginning, where there are fewer, from a fifth of them on
    returns  DataFrame: by, step, mean, low, high, runs; low and high are NaN where there is one run

    >>> log = pd.DataFrame({"agent": "a", "seed": [0, 0, 1, 1], "step": [1, 2, 1, 2], "reward": [0, 1, 1, 1]})
    >>> curve_table(log, window=1)[["agent", "step", "mean", "runs"]].values.tolist()
    [['a', 1, 0.5, 2], ['a', 2, 1.0, 2]]
    """
    return _table_of(_smooth_runs(log, value, by, window), by)


def _smooth_runs(log, value, by, window):
    """{name: DataFrame of its rolling means, a column a run, a row a step}"""
    has_rows(log, "step", value, by, what="the log")
    demand(window >= 1, f"window must be at least 1 step, got {window}")
    return {name: _rolling(_runs_side_by_side(rows, value), window).dropna(how="all")
            for name, rows in log.groupby(by, sort=False, observed=True)}


def _rolling(steps, window):
    """Rolling means, at the beginning over fewer steps."""
    least = max(1, min(window // 5, len(steps) // 5))
    return steps.rolling(window, min_periods=least).mean().where(steps.notna())


def _table_of(runs, by):
    return pd.concat({name: mean_over_runs(smooth) for name, smooth in runs.items()}, names=[by]).reset_index()


def policy_table(log: pd.DataFrame, value: str = "reward", by: str = "agent", statistic: str = "mean") -> pd.DataFrame:
    """One line a policy: mean over its runs of their mean (or sum) of `value`, with a 95 % interval.

    log        tidy log, a row a step or a row an episode
    statistic  "mean" over the steps of a run, or their "sum"
    returns    DataFrame: by, mean, low, high, runs
    """
    return mean_of_scores(run_scores(log, value, by, statistic)).rename_axis(by).reset_index()


def _runs_side_by_side(rows, value):
    """A column a run, a row a step."""
    table = pd.DataFrame({"run": run_numbers(rows), "step": rows["step"], "value": rows[value].astype(float)})
    twice = table[table.duplicated(["run", "step"])]
    if len(twice):
        raise ValueError(f"step {twice['step'].iloc[0]} stands {len(twice) + 1} times in one run: columns such as run, "
                         "seed and episode must tell runs apart; the log has "
                         f"{', '.join(key for key in RUN if key in rows) or 'none of them'}")
    return table.pivot(index="step", columns="run", values="value").sort_index()


def run_scores(log: pd.DataFrame, value: str, by: str, statistic: str) -> dict[Any, np.ndarray]:
    """{name: one number a run}, in order of appearance."""
    has_rows(log, value, by, what="the log")
    demand(statistic in STATISTICS, f"statistic must be 'mean' or 'sum', got {statistic!r}")
    return {name: rows[value].astype(float).groupby(run_numbers(rows)).agg(statistic).to_numpy()
            for name, rows in log.groupby(by, sort=False, observed=True)}


# ---------------------------------------------------------------- pictures

@house_style()
def learning_curve(log: pd.DataFrame, value: str = "reward", by: str = "agent", window: int = 100,
                   best: float | str | None = None, title: Words = None, lead: Words = None, unit: Words = None,
                   figure: Figure | None = None) -> Axes:
    """How fast each agent learns: rolling mean over the steps, with 95 % intervals over its runs.

    log       tidy log, a row a step; see `curve_table`, which holds the numbers that are drawn
    best      a bound as a number, or the column of the log that holds it step by step; None draws none
    title     the sentence on top; None says which line ends highest, if one surely does
    lead      where the numbers come from; None says env, user, runs and interval
    unit      what the height means; None makes it from `value` and `window`
    returns   Axes on a sheet of 6 x 4 inches
    """
    runs = _smooth_runs(log, value, by, window)
    table, share = _table_of(runs, by), _is_share(log[value])
    # From the last step backwards, so that the end is drawn; dashes blur when every step is.
    lines = {name: line.iloc[::-max(1, len(line) // POINTS)] for name, line in table.groupby(by, sort=False)}
    return draw_curves(lines, table, _bound(log, best, window), share, title or _curve_title(runs, value),
                       lead or log_lead(log, table), unit or _curve_unit(value, share, window), figure)


def draw_curves(lines: dict, table: pd.DataFrame, bound: pd.Series | None, share: bool, title: str, lead: str,
                unit: str, figure: Figure | None = None) -> Axes:
    """Curves with their bands and, at their ends, names and last values: Axes on a sheet of 6 x 4 inches.

    lines   {name: the rows of the table that are drawn of it}
    table   what the axes must hold: step, mean, low, high
    bound   a dashed line, a Series over steps; None draws none
    share   whether the heights go from 0 to 1
    """
    stage = Stage(600, 400, figure)
    shift = stage.heading(title, lead)
    stage.label(MARGIN, 82 + shift, unit)
    styles, labels = series_styles(lines), []
    for name, line in lines.items():
        end = line.loc[line["step"].idxmax()]
        number = f" {short_number(end['mean'])}"
        said = fit(plain(name), 132 - text_width(number, TICK, "bold"), TICK, "bold") + number
        labels.append((end["step"], end["mean"], said, styles[name][0], "bold"))
    if bound is not None:
        labels.append((bound.index[-1], bound.iloc[-1], f"best possible {short_number(bound.iloc[-1])}", INK, "normal"))
    widest = max(text_width(words, TICK, weight) for _, _, words, _, weight in labels)
    ax = stage.axes(64, 100 + shift, 600 - 64 - MARGIN - widest - 10, 400 - 100 - shift - 48)
    for name, line in lines.items():
        banded_line(ax, line["step"], line, styles[name])
    if bound is not None:
        ax.plot(bound.index, bound, color=INK, lw=1.6, ls=BOUND_DASH)
    heights = np.append(table[["mean", "low", "high"]], [] if bound is None else bound)
    low, high = (0.0, 1.0) if share else (min(0.0, np.nanmin(heights)), np.nanmax(heights))
    span(ax.yaxis, low, high, 4)
    first, last = table["step"].min(), table["step"].max()
    begin = 0 if first < 0.2 * last else first
    ax.set_xlim(begin, max(last, begin + 1))
    set_ticks(ax.xaxis, ticks_between(begin, max(last, begin + 1), 4), "steps", whole=True)
    if ax.get_ylim()[0] < 0:
        ax.axhline(0, color=INK, lw=0.8, zorder=1)
    end_labels(ax, labels)
    return ax


@house_style()
def compare_policies(log: pd.DataFrame, value: str = "reward", by: str = "agent", statistic: str = "mean",
                     best: float | str | None = None, title: Words = None, lead: Words = None, unit: Words = None,
                     figure: Figure | None = None) -> Axes:
    """Policies side by side: a dot a run, a mark and a bar for the mean and its 95 % interval; a row a policy.

    log        tidy log, a row a step or a row an episode; see `policy_table`, which holds the numbers that are drawn
    statistic  "mean" over the steps of each run, or their "sum"
    best       a bound as a number, or the column of the log that holds it; None draws none
    returns    Axes on a sheet of 6 inches by as many as the rows need
    """
    scores = run_scores(log, value, by, statistic)
    table = mean_of_scores(scores).rename_axis(by).reset_index()
    bound = np.concatenate([*run_scores(log, best, by, statistic).values()]).mean() if isinstance(best, str) else best
    pitch, styles = 46, series_styles(scores)
    stage = Stage(600, 168 + pitch * len(table), figure)
    shift = stage.heading(title or _policy_title(scores), lead or log_lead(log, table), title_lines=1)
    stage.label(MARGIN, 82 + shift, unit or f"{spoken(value)}, {STATISTICS[statistic]} of each run")
    widest = max(text_width(fit(plain(name), 150, LEAD, "bold"), LEAD, "bold") for name in scores)
    rows = Rows(stage, len(table), pitch, 112, MARGIN + widest + 16, MARGIN + 62)
    for row, line, (name, runs) in zip(range(len(table)), table.itertuples(), scores.items()):
        (colour, _, marker), hollow = styles[name], str(name).lower() == CHANCE
        place = np.argsort(np.argsort(runs, kind="stable"))                # equal scores must not hide each other
        offset = ((place * 0.618034) % 1 - 0.5) * (0.5 if len(runs) > 1 else 0)
        rows.ax.plot(runs, row + offset, "o", ms=4.5, color=colour, alpha=0.4, mew=0, ls="none")
        if np.isfinite(line.low):
            rows.interval(row, line.low, line.high, PAPER, lw=5.5)
            rows.interval(row, line.low, line.high, colour, solid_capstyle="round", zorder=5)
        rows.dot(row, line.mean, colour, marker, hollow, ms=9, mec=colour if hollow else PAPER)
        rows.say(row, name, short_number(line.mean), colour, "bold")
    values = np.concatenate([*scores.values(), table["low"], table["high"], [np.nan if bound is None else bound]])
    span(rows.ax.xaxis, min(0.0, np.nanmin(values)), max(0.0, np.nanmax(values)), 5)
    if bound is not None:
        rows.upright(bound, f"best possible {short_number(bound)}", edge=0.5, zorder=2)
    return rows.ax


# ---------------------------------------------------------------- words

def _plural(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def log_lead(log: pd.DataFrame, table: pd.DataFrame) -> str:
    """Where the numbers come from: environment, user, runs, interval."""
    words = []
    for column, kind in (("env", "environments"), ("user", "users"), ("info.user", "users")):
        if column in log.columns:
            names = log[column].dropna().unique()
            name = plain(names[0]).removeprefix("pushlab/") if len(names) == 1 else f"{len(names)} {kind}"
            words.append(f"user {name}" if kind == "users" and len(names) == 1 else name)
    fewest, most = int(table["runs"].min()), int(table["runs"].max())
    runs = _plural(most, "run") if fewest == most else f"{fewest:,} to {most:,} runs"
    words += [runs if table.shape[0] and len(table.iloc[:, 0].unique()) == 1 else f"{runs} each"]
    words.append("95 % intervals" if most > 1 else "no interval")
    return ", ".join(words)


def _curve_title(runs, value):
    ends = {name: smooth.iloc[-1].dropna().to_numpy() for name, smooth in runs.items()}
    if len(ends) > 1:
        return order_title(ends, "ends highest")
    (name, last), = ends.items()
    return f"{plain(name)}: {spoken(value)} ends at {short_number(last.mean())}"


def _policy_title(scores):
    if len(scores) > 1:
        return order_title(scores, "comes out highest")
    (name, values), = scores.items()
    return f"{plain(name)} earns {short_number(values.mean())}"


def _is_share(values):
    return bool(values.dropna().astype(float).isin((0, 1)).all())


def _curve_unit(value, share, window):
    what = f"share {spoken(value)}" if share and value != "reward" else spoken(value)
    return f"{what}, mean of the last {_plural(window, 'step')}" if window > 1 else f"{what} a step"


def _bound(log, best, window):
    """The bound as a Series over steps, or None."""
    if best is None:
        return None
    if isinstance(best, str):
        has_columns(log, best, what="the log")
        return _rolling(log.groupby("step")[best].mean(), window).dropna()
    return pd.Series(float(best), index=[log["step"].min(), log["step"].max()])
