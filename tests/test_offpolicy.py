"""Off-policy estimators against enumeration, hand calculations and other libraries."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import Ridge

from pushlab.agents import SoftmaxItem
from pushlab.envs.rec.models import NoDrift
from pushlab.envs.rec.world import RECEnv
from pushlab.logs.collect import true_value
from pushlab.metrics import offpolicy

PUBLISHED = json.loads(Path(__file__).with_name("offpolicy_log.json").read_text())
STEPS = PUBLISHED["steps"]
DISCOUNT = PUBLISHED["discount"]

# A world of two states and two steps. The next state is the action.
FIRST = np.array([0.3, 0.7])
REWARD = np.array([[1.0, -2.0], [0.5, 3.0]])
LOGGED = np.array([[0.5, 0.5], [0.2, 0.8]])
TARGET = np.array([[0.1, 0.9], [0.6, 0.4]])


def whole_log():
    """A log of 1,000 episodes, each as frequent as it is likely."""
    rows = []
    for state, first, second in np.ndindex(2, 2, 2):
        chance = FIRST[state] * LOGGED[state, first] * LOGGED[first, second]
        for _ in range(round(1000 * chance)):
            rows.append((len(rows) // 2, 0, first, state))
            rows.append((len(rows) // 2, 1, second, first))
    log = pd.DataFrame(rows, columns=["episode", "step", "action", "obs.state"])
    taken = log["obs.state"], log["action"]
    return log.assign(reward=REWARD[taken], propensity=LOGGED[taken])


def target(observations):
    return TARGET[observations[:, 0].astype(int)]


def exact_values(policy, discount=1.0):
    """Q of the first and second step (states, actions), and the policy's value."""
    first = REWARD + discount * (policy * REWARD).sum(axis=1)
    return first, REWARD, FIRST @ (policy * first).sum(axis=1)


def modelled(model):
    """Rewards, ratios, Q of the action taken and V of the whole log under a model."""
    episodes = offpolicy.episodes_from_log(whole_log(), target)
    q = np.asarray(model)[[0, 1], episodes.observations[:, :, 0].astype(int)]
    taken = np.take_along_axis(q, episodes.actions[:, :, None], axis=2)[:, :, 0]
    return episodes.rewards, episodes.ratios, taken, (episodes.target * q).sum(axis=2)


def published(part, steps):
    """Rewards, ratios, Q of the action taken and V, each (episodes, steps)."""
    log = {key: np.array(values) for key, values in PUBLISHED[part].items()}
    rows = np.arange(len(log["action"]))
    arrays = [
        log["reward"],
        (log["target"] / log["behaviour"])[rows, log["action"]],
        log["model"][rows, log["action"]],
        (log["model"] * log["target"]).sum(axis=1),
    ]
    return [values.reshape(-1, steps) for values in arrays]


# ---------------------------------------------------------------- values


@pytest.mark.parametrize("discount", [1.0, 0.5])
def test_estimators_are_exact_over_all_episodes(discount):
    _, _, truth = exact_values(TARGET, discount)
    rewards, ratios, *wrong = modelled(np.arange(8).reshape(2, 2, 2) - 3.0)
    how = {"discount": discount}
    robust = offpolicy.doubly_robust(rewards, ratios, *wrong, **how)
    assert robust.value == pytest.approx(truth)
    right = modelled(exact_values(TARGET, discount)[:2])
    assert offpolicy.magic(*right, **how).value == pytest.approx(truth)
    table = offpolicy.off_policy(
        whole_log().sample(frac=1, random_state=1),
        target,
        discount,
        features=offpolicy.linear,
        penalty=1e-9,
    )
    table = table.set_index("estimator")
    naive = table.loc["naive", "value"]
    assert naive == pytest.approx(exact_values(LOGGED, discount)[2])
    assert table["value"].drop("naive").to_numpy() == pytest.approx(truth, abs=1e-6)
    width = table["high"] - table["low"]
    assert width["doubly robust"] < width["per-decision"] < width["importance sampling"]


def partial_estimates(rewards, ratios, taken, values, discount):
    """What each episode adds if 0, 1, ... all of its steps are weighted."""
    weights = np.cumprod(ratios, axis=1)
    weights = weights / weights.mean(axis=0)
    before = np.column_stack([np.ones(len(weights)), weights[:, :-1]])
    later = discount ** np.arange(rewards.shape[1])
    surprises = np.cumsum(later * weights * (rewards - taken), axis=1)
    models = np.cumsum(later * before * values, axis=1)
    partly = surprises[:, :-1] + models[:, 1:]
    return np.column_stack([models[:, 0], partly, surprises[:, -1] + models[:, -1]])


def test_estimates_agree_with_obp_and_scope_rl():
    """The expected values are those of obp 0.5.7 and scope-rl 0.2.1."""
    one = published("one", 1)
    long = published("long", STEPS)
    mixed = partial_estimates(*long, DISCOUNT)
    estimates = {
        "SWITCH": lambda at: offpolicy.switch_doubly_robust(*one, at).value,
        "DRos": lambda at: offpolicy.doubly_robust_with_shrinkage(*one, at).value,
        "per-decision": lambda _: offpolicy.per_decision(*long[:2], DISCOUNT).value,
        "doubly robust": lambda _: offpolicy.doubly_robust(*long, DISCOUNT).value,
        "weighted doubly robust": lambda _: mixed[:, -1].mean(),
    }
    for name, setting, value in PUBLISHED["published"]:
        assert estimates[name](setting) == pytest.approx(value, abs=1e-8), name


def test_values_and_intervals_worked_out_by_hand():
    rewards = [[1, 2], [0, 4], [3, 0]]
    ratios = [[2, 0.5], [0.5, 1], [1, 3]]
    known = (rewards, ratios)
    models = ([[1, 1], [1, 2], [2, 1]], [[1, 2], [2, 2], [3, 1]])
    how = {"discount": 0.5}
    # Returns 2, 2 and 3; weights of the first step 2, 0.5 and 1, of both 1, 0.5 and 3.
    weighted = 12 / 4.5
    added = {
        offpolicy.naive(rewards, **how): [2, 2, 3],
        offpolicy.importance_sampling(*known, **how): [2, 1, 9],
        offpolicy.per_decision(*known, **how): [3, 1, 3],
        offpolicy.doubly_robust(*known, *models, **how): [3.5, 2.5, 3],
        offpolicy.direct_method(models[1]): [1, 2, 3],
        offpolicy.self_normalised(*known, **how): [
            weighted + (2 - weighted) / 1.5,
            weighted + (2 - weighted) / 3,
            weighted + (3 - weighted) * 2,
        ],
        # Above 0.6 the model speaks alone: surprises of episode 2, -1 and +2, count.
        offpolicy.switch_doubly_robust(*known, *models, 0.6, **how): [
            1,
            2 + 0.5 * (0 + 1 - 1) + 0.5,
            3,
        ],
    }
    for found, parts in added.items():
        half = stats.t.ppf(0.975, 2) * stats.sem(parts)
        mean = np.mean(parts)
        assert found[:3] == pytest.approx((mean, mean - half, mean + half))
    ess = offpolicy.importance_sampling(*known).ess
    assert ess == pytest.approx(4.5**2 / 10.25)
    assert offpolicy.effective_sample_size([0.0, 0.0]) == 0


def test_a_switch_or_shrinkage_left_open_has_the_least_estimated_error():
    rng = np.random.default_rng(0)
    ratios = rng.exponential(size=(400, 1)) ** 2 / 2
    model = np.full((400, 1), 0.8)
    known = rng.normal(1 + ratios / 20, 1), ratios, model, model
    robust = offpolicy.doubly_robust(*known)
    half = stats.t.ppf(0.975, 399)
    for estimator in (
        offpolicy.switch_doubly_robust,
        offpolicy.doubly_robust_with_shrinkage,
    ):
        errors = {}
        for at in np.geomspace(1e-3, 1e4, 300):
            found = estimator(*known, at)
            variance = ((found.high - found.low) / 2 / half) ** 2 * 399 / 400
            errors[found.value] = variance + (found.value - robust.value) ** 2
        chosen = estimator(*known)
        nearest = min(errors, key=lambda value: abs(value - chosen.value))
        assert errors[nearest] <= 1.02 * min(errors.values())
        assert nearest == pytest.approx(chosen.value, abs=0.01)
        assert chosen.high - chosen.low == pytest.approx(robust.high - robust.low)
        assert np.isnan(chosen.ess)
        assert estimator(*known, 1e-9).value == pytest.approx(known[3].mean())
        assert estimator(*known, 1e15) == pytest.approx(robust)


def test_magic_mixes_partial_estimates_with_the_least_error():
    known = [values[:, :2] for values in published("long", STEPS)]
    partial = partial_estimates(*known, 1.0)
    means = partial.mean(axis=0)
    rng = np.random.default_rng(1)
    again = []
    for _ in range(4000):
        rows = rng.integers(len(partial), size=len(partial))
        drawn = [values[rows] for values in known]
        again.append(partial_estimates(*drawn, 1.0)[:, -1].mean())
    bias = means - np.clip(means, *np.quantile(again, [0.25, 0.75]))
    error = np.cov(partial.T) / len(partial) + np.outer(bias, bias)
    shares = [(*at, 100 - sum(at)) for at in np.ndindex(101, 101) if sum(at) <= 100]
    shares = np.array(shares) / 100
    best = shares[np.einsum("gi,ij,gj->g", shares, error, shares).argmin()]
    found = offpolicy.magic(*known)
    assert found.value == pytest.approx(means @ best, abs=0.02)
    robust = offpolicy.doubly_robust(*known)
    assert found.high - found.low >= robust.high - robust.low - 1e-9


# ---------------------------------------------------------------- models and logs


@pytest.mark.parametrize("features", [offpolicy.linear, offpolicy.quadratic])
def test_cross_fitted_values_are_ridge_regressions_of_the_other_folds(features):
    rng = np.random.default_rng(0)
    log = pd.DataFrame(rng.normal(size=(60, 7)), columns=[f"obs.{k}" for k in range(7)])
    log = log.assign(episode=np.arange(60), step=0, propensity=0.5)
    log["action"] = rng.integers(2, size=60)
    log["reward"] = log["obs.0"] * log["action"] + rng.normal(3, 1, 60)
    episodes = offpolicy.episodes_from_log(
        log, lambda seen: np.full((60, 2), [0.3, 0.7])
    )
    found = offpolicy.cross_fitted_values(
        episodes, features=features, penalty=2.0, seed=5
    )
    described = features(episodes.observations[:, 0])[:, 1:]
    fold = np.random.default_rng(5).permutation(60) % 5
    for held_out in range(5):
        train = fold != held_out
        scaled = described - described[train].mean(axis=0)
        scaled = np.column_stack([np.ones(60), scaled / described[train].std(axis=0)])
        mean = log["reward"][train].mean()
        for action in range(2):
            rows = train & (log["action"] == action)
            ridge = Ridge(alpha=2.0, fit_intercept=False)
            ridge.fit(scaled[rows], log["reward"][rows] - mean)
            expected = mean + ridge.predict(scaled[~train])
            assert found[0][~train, 0, action] == pytest.approx(expected)
    assert found[1][:, 0] == pytest.approx(found[0][:, 0] @ [0.3, 0.7])


def test_value_models_are_0_after_the_end_of_an_episode():
    log = whole_log()
    log = log[(log["episode"] % 2 == 0) | (log["step"] == 0)]
    short = offpolicy.episodes_from_log(log, target)
    assert short.mask[:2].tolist() == [[True, True], [True, False]]
    assert short.ratios[1, 1] == 1
    assert short.rewards[1, 1] == 0
    found, values = offpolicy.cross_fitted_values(short)
    assert found[short.mask].any()
    assert not found[~short.mask].any()
    assert not values[~short.mask].any()


def test_few_effective_episodes_warn_and_none_give_no_interval():
    few = whole_log().query("episode % 50 == 0")
    with pytest.warns(UserWarning, match="sample size [0-9.]+ of 20 episodes"):
        offpolicy.off_policy(few, target)
    log = whole_log().assign(action=0)
    with pytest.warns(UserWarning, match="effective sample size 0.0"):
        table = offpolicy.off_policy(log, lambda seen: np.eye(2)[[1] * len(seen)])
    weighted = table.set_index("estimator").drop(index=["naive", "direct method"])
    assert weighted[["low", "high"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda log: log.drop(columns="propensity"), "no column 'propensity'"),
        (lambda log: log.assign(propensity=0.0), "row 0: 0.0 is not valid"),
        (
            lambda log: log.assign(action=2),
            "column action must hold integers from 0 to 1",
        ),
        (lambda log: log[log["step"] == 1], "row 1: .* without a gap"),
        (lambda log: log.head(0), "the log has no rows"),
        (lambda log: log[log["episode"] < 2], "at least 5 episodes; the log has 2"),
    ],
)
def test_invalid_logs_raise_value_errors(spoil, message):
    with pytest.raises(ValueError, match=message):
        offpolicy.off_policy(spoil(whole_log()), target)


def test_estimates_need_episodes_and_steps():
    for estimator in (offpolicy.naive, offpolicy.direct_method):
        with pytest.raises(ValueError, match="the axes .episodes, steps."):
            estimator([1.0, 2.0])


# ---------------------------------------------------------------- true values


def test_true_values_by_hand():
    world = RECEnv(3, n_items=2, UserModel=NoDrift, reward_std=0.5)
    policy = SoftmaxItem(world.items, sharpness=1.0)
    once = (
        policy.probabilities(world.initial_states)
        * (world.initial_states @ world.items.T)
    ).sum(1)
    assert true_value(world, policy) == pytest.approx(3 * once.mean())
    with pytest.raises(ValueError, match="obs_std is 0.1"):
        true_value(RECEnv(obs_std=0.1), policy)
