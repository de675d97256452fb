"""Micro-randomised trials: the log, replayed decisions, and the estimator of excursion effects."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pushlab.causal import PushTrial, excursion_effect
from pushlab.envs.vector_env import VectorEnv

HABITUATION = 0.4
USERS = ["mira", "noor"]
WORLD = gym.make("pushlab/push-v0", user=USERS, habituation=HABITUATION).unwrapped.world
SHOW, DISMISS, _, _, STAND_BY = range(5)
TRIAL = PushTrial(WORLD, people=[0, 1, 0], first_day=[0, 3, 10], days=2, seed=7)
LOG = TRIAL.run()
REPLAYED = TRIAL.replay(LOG)


# ---------------------------------------------------------------- the trial


def test_a_log_follows_the_protocol():
    protocol = TRIAL.protocol
    assert LOG.groupby("person")["day"].unique().map(list).tolist() == [
        [0, 1],
        [3, 4],
        [10, 11],
    ]
    on_time = LOG["time"].between(480, 1320, inclusive="left")
    driving = LOG["context.activity"] == "vehicle"
    available = on_time & ~driving & (LOG["shown"] < protocol.budget)
    assert (LOG["available"] == available).all()
    assert not LOG.loc[~available, ["probability", "action"]].to_numpy().any()
    rows = LOG[available]
    expected = 1.4 * (1320 - rows["time"]) / 60
    share = ((6 - rows["shown"]) / expected).clip(0.2, 0.8)
    assert rows["probability"].to_numpy() == pytest.approx(share)
    days = LOG.groupby("copy")
    assert (
        (days["shown"].shift(-1) - LOG["shown"])
        .dropna()
        .equals(LOG["action"][LOG["copy"] == LOG["copy"].shift(-1)])
    )
    assert days["action"].sum().max() <= 6


def play(day, key, pushes):
    """Play a day with one copy; return its events, and the doses at the arrivals."""
    env = VectorEnv(WORLD, 1)
    options = {"user": USERS[day.user], "day": int(day.day)}
    _, info = env.reset(seed=0, options=options)
    env.state["sums"][0, -1] = key
    doses = []
    over = False
    while not over:
        action = STAND_BY
        if info["hand"] >= 0:
            doses.append(info["dose"].item())
            action = SHOW if info["hand"] in pushes else DISMISS
        *_, over, _, info = env.step([action])
    return WORLD.events(env), np.array(doses)


def outcomes(events, time):
    """Return opened less dismissed events closed within an hour after a time, and until the end."""
    value = (events["outcome"] == "opened") - 1.0 * (events["outcome"] == "dismissed")
    age = events["closed"] - time
    return value[(age > 0) & (age <= 60)].sum(), value[age > 0].sum()


def test_doses_and_outcomes_equal_those_of_one_environment():
    for copy, rows in LOG.groupby("copy"):
        pushes = rows["number"][rows["action"] == 1].tolist()
        key = TRIAL.start["sums"][copy, -1]
        events, doses = play(rows.iloc[0], key, pushes)
        assert rows["dose"].to_numpy() == pytest.approx(doses)
        for row in rows.itertuples():
            assert (row.outcome, row.rest) == outcomes(events, row.time)


def test_a_replay_changes_one_decision_and_keeps_the_later_coins():
    protocol = TRIAL.protocol
    for row in REPLAYED.iloc[::5].itertuples():
        rows = LOG[LOG["copy"] == row.copy]
        pushes = []
        for arrival in rows.itertuples():
            shown = len(pushes)
            state = {"time": np.array([arrival.time]), "shown": np.array([shown])}
            [p] = protocol.probability(state)
            coin = TRIAL.coins[row.copy, arrival.number]
            pushed = arrival.reachable and shown < protocol.budget and coin < p
            if arrival.number == row.number:
                pushed = not row.action
            if pushed:
                pushes.append(arrival.number)
        key = TRIAL.start["sums"][row.copy, -1]
        other = outcomes(play(row, key, pushes)[0], row.time)
        sign = 1 if row.action else -1
        assert row.effect == sign * (row.outcome - other[0])
        assert row.effect_rest == sign * (row.rest - other[1])


def test_a_person_has_the_same_days_in_a_larger_trial():
    larger = PushTrial(WORLD, [0, 1, 0, 1], [0, 3, 10, 20], days=2, seed=7).run()
    pd.testing.assert_frame_equal(larger[larger["person"] < 3], LOG)


def test_a_policy_is_bound_by_budget_and_hours_and_paired_with_the_trial():
    always = TRIAL.run(lambda rows: np.ones(len(rows["time"])))
    assert always["action"].equals(always["available"].astype(float))
    assert always.groupby("copy")["action"].sum().max() == 6
    same = TRIAL.run(TRIAL.protocol.probability)
    pd.testing.assert_frame_equal(same, LOG)


# ---------------------------------------------------------------- the estimator


def alternating_trial(people, decisions, seed):
    """Return a trial in which the last action lowers the next probability, raises the outcome, and lowers the effect.

    The probability is 0.8 - 0.5 L after the last action L, so pushes have the stationary probability 8 / 15. The
    outcome is 2 L + A (0.5 - 0.4 L) + noise, so the mean effect is 0.5 - 0.4 * 8 / 15.
    """
    rng = np.random.default_rng(seed)
    rows = []
    last = (rng.random(people) < 8 / 15).astype(float)
    taste = rng.normal(0, 0.3, people)
    for _ in range(decisions):
        probability = 0.8 - 0.5 * last
        action = (rng.random(people) < probability).astype(float)
        noise = rng.normal(0, 0.5, people)
        outcome = 2 * last + action * (0.5 - 0.4 * last + taste) + noise
        columns = {
            "person": np.arange(people),
            "available": True,
            "probability": probability,
            "action": action,
            "last": last,
            "outcome": outcome,
        }
        rows.append(pd.DataFrame(columns))
        last = action
    return pd.concat(rows, ignore_index=True)


def test_estimates_equal_the_known_effects_of_a_world_on_paper():
    log = alternating_trial(people=2000, decisions=30, seed=1)
    effect = excursion_effect(log).loc["intercept"]
    truth = 0.5 - 0.4 * 8 / 15
    assert abs(effect["estimate"] - truth) < 4 * effect["standard_error"] < 0.1
    moderated = excursion_effect(log, ["last"])
    errors = (moderated["estimate"] - [0.5, -0.4]).abs()
    assert (errors < 4 * moderated["standard_error"]).all()
    assert moderated["standard_error"].max() < 0.03
    means = log.groupby("action")["outcome"].mean()
    # By hand: 2 (0.3 - 0.8) + 0.5 - 0.4 * 0.3.
    assert means[1] - means[0] == pytest.approx(-0.62, abs=0.05)


def test_intervals_contain_the_known_effects_in_95_percent_of_small_trials():
    covered = []
    for seed in range(400):
        table = excursion_effect(alternating_trial(12, 30, seed), ["last"])
        truth = np.array([0.5, -0.4])
        covered.append((table["low"] < truth) & (truth < table["high"]))
    count = np.sum(covered, axis=0)
    low, high = stats.binom.interval(0.999, 400, 0.95)
    assert ((low <= count) & (count <= high)).all()


def reference_estimate(log, moderators, controls):
    """Return estimates and standard errors by loops over rows, and fits without each person."""

    def fit(rows):
        k = 1 + len(controls)
        size = k + 1 + len(moderators)
        left = np.zeros((size, size))
        right = np.zeros(size)
        for row in rows.to_dict("records"):
            p = row["probability"]
            weight = q / p if row["action"] else (1 - q) / (1 - p)
            effect = [1.0, *(row[name] for name in moderators)]
            x = np.array([1.0, *(row[name] for name in controls)])
            x = np.append(x, (row["action"] - q) * np.array(effect))
            left += weight * np.outer(x, x)
            right += weight * x * row["outcome"]
        return np.linalg.inv(left) @ right

    rows = log[log["available"]]
    q = rows["action"].mean()
    full = fit(rows)
    squares = np.zeros(len(full))
    for person in rows["person"].unique():
        squares += (full - fit(rows[rows["person"] != person])) ** 2
    k = 1 + len(controls)
    freedom = rows["person"].nunique() - len(full)
    error = np.sqrt(squares)[k:]
    margin = stats.t.ppf(0.975, freedom) * error
    return np.column_stack([full[k:], error, full[k:] - margin, full[k:] + margin])


@pytest.mark.parametrize(
    ("moderators", "controls"),
    [([], []), (["last"], ["last"]), (["last"], ["last", "early"])],
)
def test_estimates_equal_weighted_fits_without_each_person(moderators, controls):
    log = alternating_trial(people=9, decisions=20, seed=3)
    log["available"] = np.arange(len(log)) % 5 > 0
    log["early"] = (np.arange(len(log)) < 30).astype(float)
    log.loc[~log["available"], "action"] = 0
    actual = excursion_effect(log, moderators, controls)
    expected = reference_estimate(log, moderators, controls)
    assert actual.index.tolist() == ["intercept", *moderators]
    assert actual.to_numpy() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "arguments", "message"),
    [
        ({}, {"moderators": ["mood"]}, "log has no column 'mood'"),
        ({"probability": 1.0}, {}, "a probability above 0 and below 1"),
        ({"available": False}, {}, "an action 1 in an unavailable row"),
        ({"person": 1}, {}, "2 coefficients need more people than that; got 1"),
        ({"last": 1.0}, {"moderators": ["last"]}, "constant, or a combination"),
        (
            {"last": lambda log: (log["person"] == 3) * log["last"]},
            {"controls": ["last"]},
            "without person 3 a moderator or control is constant",
        ),
        ({"outcome": np.nan}, {}, "isn't a finite number"),
        (
            {"action": 0.0},
            {},
            "the share of pushes must be a number above 0 and below 1",
        ),
        ({"action": 0.5}, {}, "needs an action 0 or 1"),
    ],
)
def test_error_says_which_part_of_a_log_is_invalid(change, arguments, message):
    log = alternating_trial(people=9, decisions=8, seed=3).assign(**change)
    with pytest.raises(ValueError, match=message):
        excursion_effect(log, **arguments)


def test_a_trial_needs_days_of_their_own():
    world = gym.make("pushlab/push-v0", horizon=2).unwrapped.world
    with pytest.raises(ValueError, match="must have horizon 1"):
        PushTrial(world)
    with pytest.raises(ValueError, match="days must be a whole number"):
        PushTrial(WORLD, days=0)
