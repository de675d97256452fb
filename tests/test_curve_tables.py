"""Tables of curves and comparisons have means and intervals over runs, one per seed."""

import numpy as np
import pandas as pd
import pytest
from tables import parse_table

from pushlab import plots, rollout
from pushlab.agents import RandomAgent
from pushlab.metrics.estimate import crossed_interval

# 97.5 % quantiles of Student's t with 1, 2 and 3 degrees of freedom.
T1 = 12.7062
T2 = 4.30265
T3 = 3.18245

LOG = parse_table(
    """agent,seed,episode,step,reward,cost,size
       a,0,0,0,1,2,4
       a,0,0,1,3,2,4
       a,0,1,0,6,2,4
       a,1,0,0,8,2,4"""
)


def test_policies_are_compared_over_seeds_and_not_over_episodes():
    mean = plots.policy_table(LOG).loc[0, ["mean", "low", "high", "runs"]]
    # Seed 0 earns the mean of 2 and 6, seed 1 earns 8.
    assert mean.tolist() == pytest.approx([6, 6 - 2 * T1, 6 + 2 * T1, 2], rel=1e-5)
    assert plots.policy_table(LOG, statistic="sum").loc[0, "mean"] == 6.5
    row = plots.policy_table(LOG, runs="episode").loc[0]
    assert row["mean"] == pytest.approx(16 / 3)
    assert row["runs"] == 3
    half = T2 * np.std([2, 6, 8], ddof=1) / 3**0.5
    assert row["high"] - row["mean"] == pytest.approx(half, rel=1e-5)


TABLES = {
    "policies": lambda log, runs: plots.policy_table(log, runs=runs),
    "curve": lambda log, runs: plots.curve_table(log, window=1, runs=runs),
}


@pytest.mark.parametrize("table", TABLES)
def test_one_seed_has_no_interval_unless_its_episodes_are_runs(table):
    log = LOG[(LOG["seed"] == 0) & (LOG["step"] == 0)]
    for runs, count in (("seed", 1), ("episode", 2)):
        result = TABLES[table](log, runs)
        assert (result["runs"] == count).all()
        has_interval = result.filter(regex="low|high").notna().all(axis=None)
        assert has_interval == (count == 2)


def test_curves_are_means_over_runs_of_rolling_means():
    steps = pd.DataFrame(
        {
            "agent": "a",
            "seed": [0] * 4 + [1] * 4,
            "step": [1, 2, 3, 4] * 2,
        }
    )
    steps["reward"] = 2 * (steps["step"] + steps["seed"] - 1)
    table = plots.curve_table(steps, window=2).set_index("step")
    assert table["mean"].tolist() == [1, 2, 4, 6]
    assert table["high"][4] == pytest.approx(6 + T1, rel=1e-5)
    episodes = pd.DataFrame({"agent": "a", "episode": range(12), "return": range(12)})
    table = plots.curve_table(episodes)
    assert table["mean"].iloc[-1] == np.mean(range(2, 12))
    table = plots.curve_table(steps.iloc[:6], window=1)
    assert table["mean"].tolist() == [1, 3, 4, 6]
    assert table["runs"].tolist() == [2, 2, 1, 1]
    assert np.isnan(table["low"].iloc[-1])


def test_steps_and_episodes_give_the_same_learning_curve():
    logs = {}
    for record in ("steps", "episodes"):
        runs = []
        for seed in (1, 2):
            run = rollout(
                "pushlab/RECEnv-v0",
                RandomAgent(),
                seed=seed,
                episodes=3,
                record=record,
                progress=False,
            )
            runs.append(run)
        logs[record] = pd.concat(runs)
    table = plots.curve_table(logs["steps"], over="episode", window=2)
    expected = plots.curve_table(logs["episodes"], window=2)
    pd.testing.assert_frame_equal(table, expected)
    returns = logs["steps"].groupby(["seed", "episode"])["reward"].sum().unstack()
    rolling = returns.mean().rolling(2, min_periods=1).mean()
    assert table["mean"].tolist() == pytest.approx(rolling.tolist())


def make_grid():
    """Return a log of two agents in three environments, which differ far more than the four seeds."""
    names = ["agent", "env", "seed", "episode"]
    levels = [("a", "b"), ("x", "y", "z"), range(4), range(2)]
    grid = pd.MultiIndex.from_product(levels, names=names).to_frame(index=False)
    level = grid["env"].map({"x": 0, "y": 10, "z": 20})
    return grid.assign(**{"return": level + grid["seed"] ** 2})


def test_environments_are_averaged_before_runs_are_counted():
    log = make_grid()
    # The seeds earn 10 more than 0, 1, 4 and 9.
    half = T3 * np.std([0, 1, 4, 9], ddof=1) / 2
    expected = [13.5, 13.5 - half, 13.5 + half, 4]
    for table in (
        plots.policy_table(log),
        plots.curve_table(log, window=1),
    ):
        row = table.loc[0, ["mean", "low", "high", "runs"]]
        assert row.tolist() == pytest.approx(expected, rel=1e-5)
    by_env = plots.policy_table(log[log["agent"] == "a"], by="env")
    assert by_env["mean"][2] == 23.5
    # Additional episodes of an environment do not change its weight.
    more = log[log["env"] == "x"].assign(episode=2)
    table = plots.policy_table(pd.concat([log, more]))
    assert table["mean"][0] == 13.5


def test_agents_that_differ_in_their_environments_are_not_compared():
    log = make_grid()
    is_other_env = log["env"] != "y"
    is_other_seed = log["seed"] != 2
    incomplete = log[(log["agent"] == "a") | is_other_env | is_other_seed]
    for table in (plots.policy_table, plots.curve_table):
        with pytest.raises(ValueError, match="agent b, seed 2, has no return in 'y'"):
            table(incomplete)


def test_the_intervals_of_a_trade_off_can_cross_runs_with_days():
    noise = np.random.default_rng(3).normal(size=(5, 6))
    grid = noise + 4 * np.arange(6)
    days = pd.DataFrame(grid).stack().rename_axis(["seed", "day"]).rename("reward")
    days = days.reset_index().assign(agent="a", cost=1.0)
    figure = plots.trade_off(days, "reward", "cost", cross="day")
    x = figure.axes[0].lines[0].get_xdata()
    mean, low, high = crossed_interval(grid)
    assert x.tolist() == pytest.approx([low, high])
    assert x.mean() == pytest.approx(mean)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda log: plots.policy_table(log, "rewrad"), "no column 'rewrad'; it has"),
        (lambda log: plots.curve_table(log, window=0), "at least 1 step, got 0"),
        (lambda log: plots.curve_table(log.drop(columns="seed")), "more than once"),
    ],
)
def test_errors_name_the_argument_or_column(call, message):
    with pytest.raises(ValueError, match=message):
        call(LOG)
