"""What learning curves and comparisons of policies are drawn from: one number a run, its mean and interval over runs.

An agent that learns carries what it learned from one episode into the next, so that all its episodes under one seed are
one run, however many they are. A log cannot know whether its agent learned. Who does may say runs="episode": to a
policy that does not learn, episodes are as independent as the seeds that they begin from.

Where agents were in several environments, a run is one seed in all of them, and its number the mean over them: users
that every agent met under every seed are no more runs than there are seeds.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground.arguments import demand, has_rows, one_of
from pushlab.metrics.estimate import half_width

RUN = (
    "run",
    "env",
    "agent",
    "seed",
    "lifetime",
)  # the columns that tell one run from another


# ---------------------------------------------------------------- runs


def run_numbers(
    rows: pd.DataFrame, runs: str = "seed", without: Sequence[str] = ()
) -> pd.Series:
    """The number of the run that each row belongs to, by the columns that tell runs apart, but for some of them.

    runs   "seed": all episodes under one seed are one run; "episode": each of them is one

    >>> log = pd.DataFrame({"seed": [7, 7, 8], "episode": [0, 1, 0]})
    >>> run_numbers(log).tolist(), run_numbers(log, "episode").tolist()
    ([0, 0, 1], [0, 1, 2])
    """
    if one_of("runs", runs, ("seed", "episode")) == "episode":
        has_rows(rows, "episode", what="the log")
    told = RUN if runs == "seed" else (*RUN, "episode")
    keys = [key for key in told if key in rows.columns and key not in without]
    groups = (
        rows.groupby(keys, sort=False, observed=True, dropna=False)
        if keys
        else rows.groupby(np.zeros(len(rows)))
    )
    return groups.ngroup()


def whole_runs(
    rows: pd.DataFrame,
    value: str,
    by: str,
    runs: str = "seed",
    without: Sequence[str] = (),
) -> pd.Series:
    """The number of the run that each row belongs to, a run being one seed in all environments; see `run_numbers`.

    Raises ValueError where agents, or runs of one, differ in the environments in which they have a value: means over
    some environments do not compare with those over others. Names that have one environment each are let be, other
    than agents: there the name tells the environments apart.

    >>> log = pd.DataFrame({"agent": "a", "env": ["x", "y"] * 2, "seed": [0, 0, 1, 1], "reward": 1.0})
    >>> whole_runs(log, "reward", "agent").tolist()
    [0, 0, 1, 1]
    """
    own = run_numbers(rows, runs, without)
    if "env" not in rows or rows["env"].nunique() < 2:
        return own
    # What rollout calls a run holds the environment's name, and tells nothing that the other columns do not.
    named = own.max() == run_numbers(rows, runs, ("run", *without)).max()
    whole = run_numbers(rows, runs, ("env", *(["run"] if named else []), *without))
    if by != "env":
        pairs = pd.DataFrame(
            {"name": rows[by], "whole": whole, "env": rows["env"].astype(str)}
        ).reset_index(drop=True)
        pairs = pairs[rows[value].notna().to_numpy()].drop_duplicates()
        if (
            by == "agent"
            or pairs.groupby("name", observed=True)["env"].nunique().gt(1).any()
        ):
            _demand_all_environments(pairs, rows, value, by, runs)
    return whole


def _demand_all_environments(pairs, rows, value, by, runs):
    """ValueError for the first run that lacks one of the environments."""
    grid = pd.crosstab([pairs["name"], pairs["whole"]], pairs["env"]).gt(0)
    for (name, whole), met in grid[~grid.all(axis=1)].iterrows():
        first = rows.iloc[pairs.index[pairs["whole"] == whole][0]]
        told = [
            key
            for key in ("seed", "lifetime", *(["episode"] if runs == "episode" else []))
            if key in rows
        ]
        where = ", ".join(f"{key} {first[key]}" for key in told) or "one of its runs"
        raise ValueError(
            f"agents differ in their environments: there is no {value} of {by} {name}, {where}, in "
            f"{met.index[~met][0]!r}. Leave out what not all have, or give each its own line: by='env'"
        )


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
    return pd.DataFrame(
        {"mean": mean, "low": mean - half, "high": mean + half, "runs": count},
        index=runs.index,
    )


def mean_of_scores(scores: Mapping[Any, np.ndarray]) -> pd.DataFrame:
    """Mean and interval of each name's runs, see `mean_over_runs`: a DataFrame with the names as its index."""
    return mean_over_runs(
        pd.DataFrame({name: pd.Series(runs) for name, runs in scores.items()}).T
    )


# ---------------------------------------------------------------- policies


def policy_table(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    statistic: str = "mean",
    runs: str = "seed",
) -> pd.DataFrame:
    """One line a policy: mean over its runs of their mean (or sum) of `value`, with a 95 % interval.

    log        tidy log, a row a step or a row an episode
    value      None takes the reward, or the return where there is none
    statistic  "mean" over the steps of an episode, or their "sum"; a run's number is the mean of those of its episodes,
               each counting the same. In several environments it is the mean over them; by="env" tells them apart
    runs       what the interval ranges over. "seed": runs under different seeds; one seed has no interval, however many
               its episodes. "episode": each episode by itself, which is right for a policy that does not learn, and for
               one that has learned before (the interval then says nothing of other trainings). Of an agent that learns
               meanwhile such an interval is far too narrow
    returns    DataFrame: by, mean, low, high, runs; the last says how many runs, or episodes, were counted

    >>> log = pd.DataFrame({"agent": "a", "seed": 7, "episode": [0, 1, 2], "return": [1.0, 2.0, 3.0]})
    >>> policy_table(log).values.tolist()
    [['a', 2.0, nan, nan, 1]]
    >>> policy_table(log, runs="episode").round(2).values.tolist()
    [['a', 2.0, -0.48, 4.48, 3]]
    """
    return (
        mean_of_scores(run_scores(log, value, by, statistic, runs))
        .rename_axis(by)
        .reset_index()
    )


def run_scores(
    log: pd.DataFrame, value: str | None, by: str, statistic: str, runs: str = "seed"
) -> dict[Any, Any]:
    """{name: one number a run}, in order of appearance; see `policy_table`."""
    value = value or reward_of(log)
    has_rows(log, value, by, what="the log")
    demand(
        statistic in ("mean", "sum"),
        f"statistic must be 'mean' or 'sum', got {statistic!r}",
    )
    keys = [
        log[by],
        whole_runs(log, value, by, runs),
        run_numbers(log),
        log["episode"] if "episode" in log else np.zeros(len(log)),
    ]
    means = (
        log[value]
        .astype(float)
        .groupby(keys, sort=False, observed=True, dropna=False)
        .agg(statistic)
    )
    for kept in ([0, 1, 2], [0, 1]):  # over the episodes, then over the environments
        means = means.groupby(level=kept, sort=False, observed=True).mean()
    return {
        name: own.to_numpy()
        for name, own in means.groupby(level=0, sort=False, observed=True)
    }


def reward_of(log: pd.DataFrame) -> str:
    """The column that says what was earned: the reward of a step, or the return of an episode."""
    return "return" if "return" in log and "reward" not in log else "reward"


# ---------------------------------------------------------------- curves


def curve_table(
    log: pd.DataFrame,
    value: str | None = None,
    by: str = "agent",
    window: int | None = None,
    over: str | None = None,
    runs: str = "seed",
) -> pd.DataFrame:
    """The learning curves as a table: rolling mean of `value`, then mean and 95 % interval over the runs.

    log      tidy log, a row a step or a row an episode, with `by` and the columns that tell runs apart (run, env,
             agent, seed, lifetime, as far as it has them). In several environments a run is the mean over them, as far
             as it got in all; by="env" tells them apart
    value    None takes the reward over steps, the return over episodes
    window   steps or episodes in the rolling mean, None for 100 or 10; at the beginning, where there are fewer, from a
             fifth of them on
    over     "step", within an episode (where a run has several, their mean at each step), or "episode", from one to the
             next, the mean over the steps of each; None takes steps where the log has them
    runs     what the interval ranges over, see `policy_table`; "episode" goes with steps only
    returns  DataFrame: by, step or episode, mean, low, high, runs; low and high are NaN where there is one run

    >>> log = pd.DataFrame({"agent": "a", "seed": [0, 0, 1, 1], "step": [1, 2, 1, 2], "reward": [0, 1, 1, 1]})
    >>> curve_table(log, window=1)[["agent", "step", "mean", "runs"]].values.tolist()
    [['a', 1, 0.5, 2], ['a', 2, 1.0, 2]]
    >>> curve_table(log.rename(columns={"step": "episode"}), window=1)["mean"].tolist()
    [0.5, 1.0]
    """
    return smooth_runs(*curve_settings(log, value, by, window, over, runs))[1]


def curve_settings(
    log: pd.DataFrame,
    value: str | None,
    by: str,
    window: int | None,
    over: str | None,
    runs: str,
    best: Any = None,
) -> tuple[pd.DataFrame, str, str, int, str, str]:
    """The same as they came, with what was left open; a log of steps gets returns, and their best, if those count."""
    over = one_of(
        "over", over or ("step" if "step" in log else "episode"), ("step", "episode")
    )
    demand(
        over == "step" or runs == "seed",
        f"runs go on over episodes: there runs must be 'seed', got {runs!r}",
    )
    window = (100 if over == "step" else 10) if window is None else window
    demand(window >= 1, f"window must be at least 1 {over}, got {window}")
    value = value or (
        "return"
        if over == "episode" and {"return", "reward"} & {*log}
        else reward_of(log)
    )
    if value == "return" and value not in log and "reward" in log:
        sums, of = (
            {value: log["reward"], **({best: log[best]} if best in log else {})},
            run_numbers(log, "episode"),
        )
        log = log.assign(
            **{
                name: column.groupby(of).transform("sum")
                for name, column in sums.items()
            }
        )
    return log, value, by, window, over, runs


def smooth_runs(
    log: pd.DataFrame,
    value: str,
    by: str,
    window: int,
    over: str,
    runs: str,
) -> tuple[dict[Any, pd.DataFrame], pd.DataFrame]:
    """{name: its rolling means, a column a run, a row a step or an episode}, and the table of their means."""
    has_rows(log, over, value, by, what="the log")
    log = log.assign(_whole=whole_runs(log, value, by, runs))
    smooth = {
        name: _rolling(_side_by_side(rows, value, over), window).dropna(how="all")
        for name, rows in log.groupby(by, sort=False, observed=True)
    }
    means = {name: mean_over_runs(lines) for name, lines in smooth.items()}
    return smooth, pd.concat(means, names=[by]).reset_index()


def _rolling(values, window):
    """Rolling means, at the beginning over fewer values."""
    least = max(1, min(window // 5, len(values) // 5))
    return values.rolling(window, min_periods=least).mean().where(values.notna())


def _side_by_side(rows, value, over):
    """A column a run, a row a step or an episode; means where a run has several, and over its environments."""
    told = {key: rows[key] for key in ("episode", "step") if key in rows}
    table = pd.DataFrame(
        {
            "run": run_numbers(rows),
            "whole": rows["_whole"],
            **told,
            "value": rows[value].astype(float),
        }
    )
    twice, last = table[table.duplicated(["run", *told])], [*told][-1]
    if len(twice):
        raise ValueError(
            f"{last} {twice[last].iloc[0]} stands more than once in one run: columns such as run, seed "
            "and episode must tell runs apart, and training is drawn apart from tests; the log has "
            f"{', '.join(key for key in (*RUN, 'episode') if key in rows) or 'none of them'}"
        )
    each = (
        table.groupby([over, "whole", "run"])["value"]
        .mean()
        .groupby(level=[over, "whole"])
    )
    means, counts = each.mean().unstack("whole"), each.count().unstack("whole")
    return means.where(
        counts == counts.max()
    )  # where environments end apart, only as far as all go
