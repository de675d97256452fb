"""Learning curves and comparisons of policies, drawn from a tidy log: a row a step, or a row an episode."""

import numpy as np
import pandas as pd

from pushlab.metrics.estimate import half_width
from pushlab.plots.kit import end_labels, set_ticks, ticks_around, ticks_between
from pushlab.plots.palette import BAND, BOUND_DASH, CHANCE, INK, LEAD, PAPER, TICK, deep, series_styles
from pushlab.plots.sheet import MARGIN, Stage, fit, house_style, plain, text_width
from pushlab.plots.words import order_title, short_number, spoken

RUN = ("run", "env", "agent", "seed", "lifetime", "episode")      # the columns that tell one run from another
POINTS = 250                                    # about as many are drawn of a line
STATISTICS = {"mean": "mean", "sum": "total"}


# ---------------------------------------------------------------- tables

def mean_over_runs(values):
    """Mean of each row over the runs in its columns, with its 95 % t-interval: (mean, low, high, count), arrays.

    values   array (rows, runs), NaN where a run has no value; the interval of a single run is NaN, since not known

    >>> [round(column.item(), 2) for column in mean_over_runs(np.array([[1.0, 2.0, 3.0, np.nan]]))]
    [2.0, -0.48, 4.48, 3]
    """
    values = np.asarray(values, dtype=float)
    count = np.isfinite(values).sum(axis=1)
    several = np.maximum(count, 2)
    mean = np.nansum(values, axis=1) / np.maximum(count, 1)
    deviation = np.sqrt(np.nansum((values - mean[:, None]) ** 2, axis=1) / (several - 1))
    half = np.where(count > 1, half_width(deviation, several), np.nan)
    return mean, mean - half, mean + half, count


def curve_table(log, value="reward", by="agent", window=100):
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
    demand_log(log, "step", value, by)
    if window < 1:
        raise ValueError(f"window must be at least 1 step, got {window}")
    smooth = {}
    for name, rows in log.groupby(by, sort=False, observed=True):
        runs = _runs_side_by_side(rows, value)
        least = max(1, min(window // 5, len(runs) // 5))
        smooth[name] = runs.rolling(window, min_periods=least).mean().where(runs.notna()).dropna(how="all")
    return smooth


def _table_of(runs, by):
    tables = []
    for name, smooth in runs.items():
        mean, low, high, count = mean_over_runs(smooth.to_numpy())
        tables.append(pd.DataFrame({by: name, "step": smooth.index, "mean": mean, "low": low, "high": high,
                                    "runs": count}))
    return pd.concat(tables, ignore_index=True)


def policy_table(log, value="reward", by="agent", statistic="mean"):
    """One line a policy: mean over its runs of their mean (or sum) of `value`, with a 95 % interval.

    log        tidy log, a row a step or a row an episode
    statistic  "mean" over the steps of a run, or their "sum"
    returns    DataFrame: by, mean, low, high, runs
    """
    tables = []
    for name, values in run_scores(log, value, by, statistic).items():
        mean, low, high, count = (column.item() for column in mean_over_runs(values[None]))
        tables.append({by: name, "mean": mean, "low": low, "high": high, "runs": count})
    return pd.DataFrame(tables)


def demand_log(log, *columns):
    missing = [column for column in columns if column not in log.columns]
    if missing:
        raise ValueError(f"the log has no column {missing[0]!r}; it has {', '.join(map(str, log.columns))}")
    if not len(log):
        raise ValueError("the log is empty: there is nothing to draw")


def _run_columns(log):
    return [column for column in RUN if column in log.columns]


def _runs_side_by_side(rows, value):
    """A column a run, a row a step."""
    keys = _run_columns(rows)
    number = rows.groupby(keys, sort=False, observed=True, dropna=False).ngroup() if keys else 0
    table = pd.DataFrame({"run": number, "step": rows["step"], "value": rows[value].astype(float)})
    twice = table[table.duplicated(["run", "step"])]
    if len(twice):
        raise ValueError(f"step {twice['step'].iloc[0]} stands {len(twice) + 1} times in one run: columns such as run, "
                         f"seed and episode must tell runs apart; the log has {', '.join(keys) or 'none of them'}")
    return table.pivot(index="step", columns="run", values="value").sort_index()


def run_scores(log, value, by, statistic):
    """{name: one number a run}, in order of appearance."""
    demand_log(log, value, by)
    if statistic not in STATISTICS:
        raise ValueError(f"statistic must be 'mean' or 'sum', got {statistic!r}")
    scores = {}
    for name, rows in log.groupby(by, sort=False, observed=True):
        keys = _run_columns(rows)
        values = rows[value].astype(float)
        runs = values.groupby([rows[key] for key in keys], sort=False, observed=True, dropna=False) if keys else None
        scores[name] = np.atleast_1d(getattr(values if runs is None else runs, statistic)())
    return scores


# ---------------------------------------------------------------- pictures

@house_style()
def learning_curve(log, value="reward", by="agent", window=100, best=None, title=None, lead=None, unit=None,
                   figure=None):
    """How fast each agent learns: rolling mean over the steps, with 95 % intervals over its runs.

    log       tidy log, a row a step; see `curve_table`, which holds the numbers that are drawn
    best      a bound as a number, or the column of the log that holds it step by step; None draws none
    title     the sentence on top; None says which line ends highest, if one surely does
    lead      where the numbers come from; None says env, user, runs and interval
    unit      what the height means; None makes it from `value` and `window`
    returns   Axes on a sheet of 6 x 4 inches
    """
    runs = _smooth_runs(log, value, by, window)
    table = _table_of(runs, by)
    ends = table.groupby(by, sort=False).last()
    bound = _bound(log, best, window)
    stage = Stage(600, 400, figure)
    shift = stage.heading(title or _curve_title(runs, value), lead or log_lead(log, table))
    share = _is_share(log[value])
    stage.label(MARGIN, 82 + shift, unit or _curve_unit(value, share, window))

    labels = _curve_labels(ends, bound)
    ax = _chart_with_room_for(stage, labels, 100 + shift)
    for name, line in table.groupby(by, sort=False):
        line = line.iloc[::-max(1, len(line) // POINTS)]          # dashes blur when every step is drawn
        colour, dash, _ = series_styles(ends.index)[name]
        ax.fill_between(line["step"], line["low"], line["high"], color=colour, alpha=BAND, lw=0)
        ax.plot(line["step"], line["mean"], color=colour, ls=dash, solid_capstyle="butt")
    if bound is not None:
        ax.plot(bound.index, bound, color=INK, lw=1.6, ls=BOUND_DASH)
    _set_curve_limits(ax, table, bound, share)
    end_labels(ax, labels)
    return ax


@house_style()
def compare_policies(log, value="reward", by="agent", statistic="mean", best=None, title=None, lead=None, unit=None,
                     figure=None):
    """Policies side by side: a dot a run, a mark and a bar for the mean and its 95 % interval; a row a policy.

    log        tidy log, a row a step or a row an episode; see `policy_table`, which holds the numbers that are drawn
    statistic  "mean" over the steps of each run, or their "sum"
    best       a bound as a number, or the column of the log that holds it; None draws none
    returns    Axes on a sheet of 6 inches by as many as the rows need
    """
    scores, table = run_scores(log, value, by, statistic), policy_table(log, value, by, statistic).set_index(by)
    bound = np.concatenate([*run_scores(log, best, by, statistic).values()]).mean() if isinstance(best, str) else best
    pitch = 46
    stage = Stage(600, 134 + pitch * len(table) + 34, figure)
    shift = stage.heading(title or _policy_title(scores), lead or log_lead(log, table.reset_index()), title_lines=1)
    stage.label(MARGIN, 82 + shift, unit or _policy_unit(value, statistic))

    names = [fit(plain(name), 150, LEAD, "bold") for name in table.index]
    left = MARGIN + max(text_width(name, LEAD, "bold") for name in names) + 16
    ax = stage.axes(left, 112, 600 - MARGIN - 62 - left, pitch * len(table))
    ax.grid(False)
    ax.grid(True, axis="x")
    for row, (name, runs) in enumerate(scores.items()):
        colour, _, marker = series_styles(table.index)[name]
        words = _draw_policy(ax, row, runs, table.loc[name], colour, marker, hollow=str(name).lower() == CHANCE)
        middle = 112 + pitch * (row + .5)
        stage.text(MARGIN, middle, names[row], LEAD, deep(colour), "bold")
        stage.text(600 - MARGIN, middle, words, LEAD, deep(colour), "bold", "right")
    _set_policy_limits(ax, scores, table, bound)
    if bound is not None:
        ax.axvline(bound, color=INK, lw=1.6, ls=BOUND_DASH)
        ax.annotate(f"best possible {short_number(bound)}", (bound, 1), (0, 4), xycoords=("data", "axes fraction"),
                    textcoords="offset points", size=TICK, color=INK,
                    ha="right" if bound > np.mean(ax.get_xlim()) else "left")
    return ax


# ---------------------------------------------------------------- words

def _plural(number, noun):
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def log_lead(log, table):
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


def _policy_unit(value, statistic):
    return f"{spoken(value)}, {STATISTICS[statistic]} of each run"


# ---------------------------------------------------------------- parts of the pictures

def _bound(log, best, window):
    """The bound as a Series over steps, or None."""
    if best is None:
        return None
    if isinstance(best, str):
        demand_log(log, best)
        mean = log.groupby("step")[best].mean()
        return mean.rolling(window, min_periods=max(1, min(window // 5, len(mean) // 5))).mean().dropna()
    steps = [log["step"].min(), log["step"].max()]
    return pd.Series(float(best), index=steps)


def _curve_labels(ends, bound):
    styles = series_styles(ends.index)
    labels = []
    for name, end in ends.iterrows():
        number = short_number(end["mean"])
        room = 132 - text_width(f" {number}", TICK, "bold")
        labels.append((end["step"], end["mean"], f"{fit(plain(name), room, TICK, 'bold')} {number}", styles[name][0],
                       "bold"))
    if bound is not None:
        labels.append((bound.index[-1], bound.iloc[-1], f"best possible {short_number(bound.iloc[-1])}", INK, "normal"))
    return labels


def _chart_with_room_for(stage, labels, top):
    """Axes that leave the margin free to the right of the widest label."""
    widest = max(text_width(words, TICK, weight) for _, _, words, _, weight in labels)
    return stage.axes(64, top, stage.width - 64 - MARGIN - widest - 10, stage.height - top - 48)


def _set_curve_limits(ax, table, bound, share):
    heights = [table["mean"], table["low"].dropna(), table["high"].dropna(), [] if bound is None else bound]
    heights = np.concatenate([np.asarray(h, float) for h in heights])
    low, high = (0.0, 1.0) if share else (min(0.0, heights.min()), heights.max())
    ticks = ticks_around(low, high if high > low else low + 1, 4)
    steps = (table["step"].min(), table["step"].max())
    begin = 0 if steps[0] < 0.2 * steps[1] else steps[0]
    ax.set(ylim=(ticks[0], ticks[-1]), xlim=(begin, max(steps[1], begin + 1)))
    set_ticks(ax.yaxis, ticks)
    set_ticks(ax.xaxis, ticks_between(*ax.get_xlim(), 4), "steps", whole=True)
    if ticks[0] < 0:
        ax.axhline(0, color=INK, lw=0.8, zorder=1)


def _draw_policy(ax, row, runs, line, colour, marker, hollow):
    """One row of the comparison; returns the mean as words."""
    place = np.argsort(np.argsort(runs, kind="stable"))                    # equal scores must not hide each other
    offset = ((place * 0.618034) % 1 - 0.5) * (0.5 if len(runs) > 1 else 0)
    ax.plot(runs, row + offset, "o", ms=4.5, color=colour, alpha=0.4, mew=0, ls="none")
    if np.isfinite(line["low"]):
        ax.plot((line["low"], line["high"]), (row, row), color=PAPER, lw=5.5, ls="-", solid_capstyle="butt", zorder=4)
        ax.plot((line["low"], line["high"]), (row, row), color=colour, lw=2.4, ls="-", zorder=5)
    inside, edge = (PAPER, colour) if hollow else (colour, PAPER)
    ax.plot(line["mean"], row, marker, ms=9, mfc=inside, mec=edge, mew=1.6, zorder=6)
    return short_number(line["mean"])


def _set_policy_limits(ax, scores, table, bound):
    values = np.concatenate([*scores.values(), table["low"].dropna(), table["high"].dropna(),
                             [] if bound is None else [bound]])
    low, high = min(0.0, values.min()), max(0.0, values.max())
    ticks = ticks_around(low, high if high > low else low + 1, 5)
    ax.set(xlim=(ticks[0], ticks[-1]), ylim=(len(table) - 0.5, -0.5))
    ax.yaxis.set_ticks([])
    set_ticks(ax.xaxis, ticks)
