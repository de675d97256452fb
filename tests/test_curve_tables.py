"""What is counted as a run: curves and comparisons range over seeds, and all episodes of one agent are one run."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab import RandomAgent, plots, rollout
from pushlab.metrics.estimate import mean_interval


def make_runs(seeds=8, episodes=60, steps=1, agents=("learner",), between=1.0, within=0.3, rng=0):
    """A step log whose runs differ by `between`, and whose episodes rise and differ by `within`."""
    rng = np.random.default_rng(rng)
    level = rng.normal(0, between, (len(agents), seeds, 1, 1))
    noise = rng.normal(0, within, (len(agents), seeds, episodes, 1)) + np.zeros(steps)
    reward = level + noise + np.linspace(-1, 1, episodes)[:, None] if episodes > 1 else level + noise
    index = pd.MultiIndex.from_product([agents, range(seeds), range(episodes), range(steps)],
                                       names=["agent", "seed", "episode", "step"])
    return pd.DataFrame({"env": "pushlab/RECEnv-v0", "reward": reward.ravel()}, index=index).reset_index()


def test_a_run_counts_once_however_many_episodes_it_has():
    log = pd.DataFrame({"agent": "a", "seed": [0, 0, 0, 1], "episode": [0, 0, 1, 0], "step": [0, 1, 0, 0],
                        "reward": [1.0, 3.0, 6.0, 8.0]})
    mean = plots.policy_table(log).loc[0]
    assert mean[["mean", "runs"]].tolist() == [6.0, 2]                      # of (2 + 6) / 2 and 8
    assert (mean["low"], mean["high"]) == pytest.approx(mean_interval([4.0, 8.0])[1:])
    assert plots.policy_table(log, statistic="sum").loc[0, "mean"] == 6.5   # of (4 + 6) / 2 and 8
    assert plots.policy_table(log, runs="episode").loc[0, ["mean", "runs"]].tolist() == [16 / 3, 3]
    assert plots.policy_table(log.rename(columns={"agent": "run"}), by="run").loc[0, "runs"] == 2


def test_one_seed_has_no_interval_unless_episodes_are_said_to_be_runs():
    log = make_runs(seeds=1, episodes=20)
    for table in (plots.policy_table(log), plots.curve_table(log, window=1),
                  plots.curve_table(log, over="episode"), plots.sweep_table(log.assign(size=2), "size", "reward"),
                  plots.trade_off_table(log.assign(cost=1.0), "reward", "cost")):
        assert (table["runs"] == 1).all() and table.filter(regex="low|high").isna().all(axis=None)
    for table in (plots.policy_table(log, runs="episode"), plots.curve_table(log, window=1, runs="episode"),
                  plots.sweep_table(log.assign(size=2), "size", "reward", runs="episode"),
                  plots.trade_off_table(log.assign(cost=1.0), "reward", "cost", runs="episode")):
        assert (table["runs"] == 20).all() and table.filter(regex="low|high").notna().all(axis=None)


ROWS = st.lists(st.lists(st.floats(-10, 10), min_size=1, max_size=4), min_size=2, max_size=4)


@given(ROWS, st.integers(2, 5))
def test_more_of_the_same_episodes_do_not_narrow_an_interval(runs, times):
    rows = [(seed, value) for seed, episodes in enumerate(runs) for value in episodes]
    once = pd.DataFrame(rows, columns=["seed", "return"]).assign(agent="a")
    tables = []
    for log in (once, pd.concat([once] * times)):
        log = log.assign(episode=log.groupby("seed").cumcount())
        tables.append(plots.policy_table(log)[["mean", "low", "high", "runs"]].to_numpy(float))
    assert tables[0] == pytest.approx(tables[1], abs=1e-9)


# 1,000 experiments of 8 runs that differ, with 20 episodes each; the truth is 0. An interval that is right holds it in
# 95 of 100, with a standard error of 0.7. One that takes the 160 episodes for runs holds it in 38.
def test_intervals_hold_the_truth_as_often_as_they_say_and_those_over_episodes_do_not():
    log = make_runs(seeds=8, episodes=20, agents=tuple(range(1000)))
    right, wrong = (plots.policy_table(log, runs=runs) for runs in ("seed", "episode"))
    assert 0.925 < ((right["low"] <= 0) & (right["high"] >= 0)).mean() < 0.975
    assert ((wrong["low"] <= 0) & (wrong["high"] >= 0)).mean() < 0.5


def test_the_band_over_episodes_holds_the_truth_as_often_as_it_says():
    log = make_runs(seeds=8, episodes=6, agents=tuple(range(300)))
    table = plots.curve_table(log, over="episode", window=2)
    truth = pd.Series(np.linspace(-1, 1, 6)).rolling(2, min_periods=1).mean()
    covered = (table["low"] <= table["episode"].map(truth)) & (table["high"] >= table["episode"].map(truth))
    assert 0.925 < covered.mean() < 0.975                       # six points of a band stand and fall together


def test_learning_over_episodes_is_the_same_from_a_log_of_steps_and_of_episodes():
    logs = {record: pd.concat([rollout("pushlab/RECEnv-v0", RandomAgent(), episodes=4, seed=seed, record=record,
                                       progress=False) for seed in (1, 2)]) for record in ("steps", "episodes")}
    of_steps, of_episodes = plots.curve_table(logs["steps"], over="episode"), plots.curve_table(logs["episodes"])
    pd.testing.assert_frame_equal(of_steps, of_episodes)
    first = logs["episodes"].query("episode == 0")["return"]
    assert of_episodes[["episode", "mean", "runs"]].loc[0].tolist() == [0, pytest.approx(first.mean()), 2]
    parts = plots.curve_table(logs["steps"], "reward", over="episode")      # means over the steps of an episode
    assert (parts["mean"] * logs["episodes"]["length"].iloc[0]).tolist() == pytest.approx(of_episodes["mean"].tolist())


@pytest.mark.parametrize("window", [1, 10])
def test_a_curve_over_episodes_is_good_and_says_so(window, good_picture):
    log = make_runs(agents=("learner", "random"), steps=2).assign(best=1.5)
    words = good_picture(plots.learning_curve(log, over="episode", window=window, best="best"))
    assert {"RECEnv-v0, 8 runs of 60 episodes each, 95 % intervals over runs", "best possible 3"} <= set(words)
    assert ("return of each episode" if window == 1 else "return, mean of the last 10 episodes") in words
    assert any("episodes" in word for word in words[-12:]) and not any("steps" in word for word in words)
    rows = log.groupby(["env", "agent", "seed", "episode"])["reward"].sum().rename("return").reset_index()
    good_picture(plots.learning_curve(rows))


def test_a_comparison_says_what_was_counted(good_picture):
    log = make_runs(agents=("learner", "other"))
    words = good_picture(plots.compare_policies(log))
    assert {"RECEnv-v0, 8 runs of 60 episodes each, 95 % intervals over runs",
            "reward, mean of each episode, mean over each run"} <= set(words)
    words = good_picture(plots.compare_policies(log, runs="episode"))
    assert {"RECEnv-v0, 480 episodes each, 95 % intervals over episodes", "reward, mean of each episode"} <= set(words)
    words = set(good_picture(plots.compare_policies(log[log["seed"] == 0])))
    assert {"One run each does not tell who is ahead", "RECEnv-v0, 1 run of 60 episodes each, no interval"} <= words
    uneven = log[(log["seed"] > 0) | (log["episode"] < 50)]
    assert "RECEnv-v0, 8 runs of 50 to 60 episodes each, 95 % intervals over runs" in good_picture(
        plots.compare_policies(uneven))


@pytest.mark.parametrize("call, message", [
    (lambda log: plots.policy_table(log, runs="step"), "runs is one of seed, episode; got 'step'"),
    (lambda log: plots.policy_table(log.drop(columns="episode"), runs="episode"), "the log has no column 'episode'"),
    (lambda log: plots.curve_table(log, over="day"), "over is one of step, episode; got 'day'"),
    (lambda log: plots.curve_table(log, over="episode", runs="episode"), "runs must be 'seed', got 'episode'"),
    (lambda log: plots.curve_table(log, over="episode", window=0), "at least 1 episode, got 0"),
    (lambda log: plots.curve_table(log.drop(columns=["episode", "step"])), "the log has no column 'episode'"),
    (lambda log: plots.curve_table(log.drop(columns=["seed", "step"])), "episode 0 stands more than once in one run"),
    (lambda log: plots.policy_table(log.drop(columns="reward")), "the log has no column 'reward'; it has agent, seed"),
])
def test_what_cannot_be_counted_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call(make_runs(seeds=2, episodes=3))


# ---------------------------------------------------------------- several environments

def make_grid(agents=("learner", "other"), envs=5, seeds=4, episodes=1):
    """An episode log as a sweep makes it; environments differ far more than seeds do."""
    index = pd.MultiIndex.from_product([agents, range(envs), range(seeds), range(episodes)],
                                       names=["agent", "env", "seed", "episode"])
    log = pd.DataFrame(index=index).reset_index()
    luck = np.random.default_rng(0).normal(size=(seeds, episodes))[log["seed"], log["episode"]]
    return log.assign(**{"env": [f"world user={env}" for env in log["env"]], "return": 10.0 * log["env"] + luck})


def test_environments_are_averaged_before_runs_are_counted(good_picture):
    log = make_grid(episodes=3)
    means = log[log["agent"] == "learner"].groupby("seed")["return"].mean()
    rows = [plots.policy_table(log).loc[0], plots.curve_table(log, window=3).groupby("agent").last().loc["learner"],
            plots.policy_table(log.assign(run=log["env"] + " " + log["seed"].astype(str))).loc[0]]     # as of rollout
    for row in rows:
        assert row[["mean", "low", "high", "runs"]].tolist() == pytest.approx([*mean_interval(means), 4])
    assert (plots.policy_table(log[log["agent"] == "other"], by="env")["runs"] == 4).all()
    assert (plots.sweep_table(log.assign(size=1), "size")["runs"] == 4).all()
    for draw in (plots.compare_policies, plots.learning_curve):
        lead = "4 runs over 5 environments of 3 episodes each, 95 % intervals over runs"
        assert lead in good_picture(draw(log))
    assert "4 runs over 5 environments each, 95 % intervals over runs" in good_picture(
        plots.compare_policies(make_grid()))


def test_a_curve_goes_as_far_as_all_environments_do():
    log = make_grid(envs=2, episodes=4)
    short = log[(log["episode"] < 2) | (log["env"] == "world user=1")]
    assert plots.curve_table(short, window=1)["episode"].unique().tolist() == [0, 1]


@pytest.mark.parametrize("draw", [plots.policy_table, plots.curve_table, plots.compare_policies, plots.learning_curve])
@pytest.mark.parametrize("lost", [{"agent": "other", "env": "world user=3"},
                                  {"agent": "other", "env": "world user=3", "seed": 2}])
def test_agents_that_differ_in_their_environments_are_refused(draw, lost):
    log = make_grid(episodes=2)
    rest = log[~(log[list(lost)] == pd.Series(lost)).all(axis=1)]
    with pytest.raises(ValueError, match=f"agent other, seed {lost.get('seed', 0)}, in 'world user=3'"):
        draw(rest)
    assert len(plots.policy_table(rest, by="env")) == 5


def test_one_episode_a_run_is_no_curve():
    with pytest.raises(ValueError, match="one episode a run is no curve"):
        plots.learning_curve(make_grid())


@pytest.mark.parametrize("size", [1.0, 3e6, -2.6e9, 4e13])
def test_large_returns_keep_their_numbers(size, good_picture):
    log = make_grid(envs=1, episodes=3)
    log["return"] = (log["return"] + 20) * size / 20
    for draw in (plots.learning_curve, plots.compare_policies):
        assert not any("…" in words for words in good_picture(draw(log)))


def test_twelve_names_look_different():
    styles = plots.series_styles([*range(12), "random"])
    assert len({(colour, marker) for colour, _, marker in styles.values()}) == 13
    assert [styles[name] for name in range(4)] == [*plots.series_styles(range(4)).values()]
