"""The newer off-policy estimators: against other libraries' numbers, enumeration, and truths worked out by hand."""

import json
from pathlib import Path

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushlab.agents import GaussianActions, SoftmaxItem, policy_from_log
from pushlab.envs.rec.world import RECEnv
from pushlab.logs.collect import collect, true_value
from pushlab.logs.rollout import rollout
from pushlab.metrics import offpolicy
from pushlab.metrics.offpolicy import blends, episodes_of, kernel_episodes, kernel_ratios, off_policy
from pushlab.metrics.value_models import linear, quadratic
from tests.test_offpolicy import TARGET, exact_values, target, whole_log

# ---------------------------------------------------------------- what obp and scope-rl say of a small log

KEPT = json.loads((Path(__file__).parent / "offpolicy_log.json").read_text(encoding="utf-8"))
ONE, LONG, DOSE = ({key: np.array(values) for key, values in KEPT[part].items()} for part in ("one", "long", "dose"))
STEPS, DISCOUNT = KEPT["steps"], KEPT["discount"]


def arrays(log, steps):
    """Rewards, ratios, Q̂ of the action taken and V̂, (episodes, steps)."""
    rows = np.arange(len(log["action"]))
    ratios = (log["target"] / log["behaviour"])[rows, log["action"]]
    every = log["reward"], ratios, log["model"][rows, log["action"]], (log["model"] * log["target"]).sum(axis=1)
    return [values.reshape(-1, steps) for values in every]


def ours(name, setting):
    one, long = arrays(ONE, 1), arrays(LONG, STEPS)
    dose = {key: values[:, None] for key, values in DOSE.items()}
    if name.startswith("kernel"):
        ratios = kernel_ratios(dose["taken"], dose["aim"], dose["density"], setting)
        if name == "kernel doubly robust":      # obp takes the model's value at the target's dose in both places
            return offpolicy.doubly_robust(dose["reward"], ratios, dose["model"], dose["model"]).value
        estimator = offpolicy.importance_sampling if name == "kernel" else offpolicy.self_normalised
        return estimator(dose["reward"], ratios).value
    if name == "empirical Bernstein":
        rewards = ONE["reward"] - ONE["reward"].min()
        return offpolicy.bernstein(rewards, rewards.max(), setting)
    if name == "weighted doubly robust":        # what MAGIC mixes in the end
        return blends._partial(blends._weighed(*long, DISCOUNT))[:, -1].mean()
    if name == "per-decision":
        return offpolicy.per_decision(*long[:2], DISCOUNT).value
    if name == "doubly robust":
        return offpolicy.doubly_robust(*long, DISCOUNT).value
    return (offpolicy.switch if name == "SWITCH" else offpolicy.shrunk)(*one, setting).value


@pytest.mark.parametrize(("name", "setting", "value"), KEPT["published"])
def test_estimates_agree_with_obp_and_scope_rl(name, setting, value):
    """Written down from obp 0.5.7 and scope-rl 0.2.1; tests/clients/test_obp.py asks the libraries again."""
    assert ours(name, setting) == pytest.approx(value, abs=1e-8)


# ---------------------------------------------------------------- between model and weights

@pytest.mark.parametrize("estimator, least, most", [(offpolicy.switch, 0.0, np.inf), (offpolicy.shrunk, 1e-12, 1e15)])
@pytest.mark.parametrize("log, steps", [(ONE, 1), (LONG, STEPS)])
def test_switch_and_shrinkage_end_in_the_model_and_in_doubly_robust(estimator, least, most, log, steps):
    known = arrays(log, steps)
    model, robust = offpolicy.direct_method(known[3]), offpolicy.doubly_robust(*known, DISCOUNT)
    assert estimator(*known, least, DISCOUNT).value == pytest.approx(model.value)
    assert estimator(*known, most, DISCOUNT) == pytest.approx(robust)
    chosen = estimator(*known, None, DISCOUNT).value
    some = [estimator(*known, at, DISCOUNT).value for at in np.geomspace(1e-4, 1e4, 200)]
    assert min(some) - 1e-9 <= chosen <= max(some) + 1e-9


def test_a_choice_leaves_out_what_costs_more_than_it_mends():
    """Weights of 0 and 100: with a right model nothing is gained by them, with a wrong one in one direction much."""
    rng = np.random.default_rng(1)
    ratios = np.where(rng.random((2000, 1)) < 0.01, 100.0, 0.0) + 0.001
    rewards, right = rng.normal(0, 1, (2000, 1)), np.zeros((2000, 1))
    for estimator in (offpolicy.switch, offpolicy.shrunk):
        assert abs(estimator(rewards, ratios, right, right).value) < abs(
            offpolicy.importance_sampling(rewards, ratios).value)
        assert estimator(rewards + 50, ratios, right, right).value == pytest.approx(
            offpolicy.doubly_robust(rewards + 50, ratios, right, right).value, rel=0.1)


def test_magic_mixes_so_that_no_other_shares_have_less_error():
    """Against all mixtures of three partial estimates on a fine grid; the error is what the method minimises."""
    known = [values[:, :2] for values in arrays(LONG, STEPS)]
    partial = blends._partial(blends._weighed(*known, 1.0))
    rng, means = np.random.default_rng(1), partial.mean(axis=0)
    drawn = [rng.integers(len(partial), size=len(partial)) for _ in range(2000)]
    again = [blends._partial(blends._weighed(*(values[some] for values in known), 1.0))[:, -1].mean() for some in drawn]
    bias = means - np.clip(means, *np.quantile(again, [0.25, 0.75]))
    error = np.cov(partial.T) / len(partial) + np.outer(bias, bias)
    grid = np.array([(a, b, 1 - a - b) for a in np.linspace(0, 1, 101) for b in np.linspace(0, 1, 101) if a + b <= 1])
    best = grid[np.einsum("gi,ij,gj->g", grid, error, grid).argmin()]
    assert offpolicy.magic(*known).value == pytest.approx(means @ best, abs=0.02)
    assert means[0] == pytest.approx(known[3][:, 0].mean())
    one_step = known[3][:, 0] * 0 + (known[1] * (known[0] - known[2]))[:, 0] / known[1][:, 0].mean()
    then = known[3][:, 0].mean() + one_step.mean() + (known[1][:, 0] * known[3][:, 1]).mean() / known[1][:, 0].mean()
    assert means[1] == pytest.approx(then)


def test_magic_takes_the_model_where_it_is_right_and_the_weights_where_it_is_wrong():
    episodes, truth = episodes_of(whole_log(), target), exact_values(TARGET)[2]
    states = episodes.observations[:, :, 0].astype(int)
    for fault, within in ((0.0, 1e-9), (5.0, 0.2)):
        model = np.stack(exact_values(TARGET)[:2]) + fault * np.array([[[1.0, -1.0]], [[-1.0, 1.0]]])
        q = model[[0, 1], states]
        taken = np.take_along_axis(q, episodes.actions[:, :, None], axis=2)[:, :, 0]
        told = offpolicy.magic(episodes.rewards, episodes.ratios, taken, (episodes.target * q).sum(axis=2))
        assert told.value == pytest.approx(truth, abs=within)


def dominated(seed, episodes, steps, high=1.9):
    """Rewards around 0 that a model of 0 knows exactly, and ratios of which few hold all the weight in the end."""
    rng = np.random.default_rng(seed)
    ratios = np.where(rng.random((episodes, steps)) < 0.5, high, 2 - high)
    return rng.normal(size=ratios.shape), ratios, np.zeros(ratios.shape), np.zeros(ratios.shape)


def test_magic_does_not_believe_one_episode_that_dominates():
    told = [offpolicy.magic(*dominated(seed, 60, 50)) for seed in range(40)]
    assert np.sqrt(np.mean([one.value**2 for one in told])) < 2.5        # by the delta method: over 5
    assert sum(one.low <= 0 <= one.high for one in told) >= 36


def test_what_the_data_choose_is_as_unsure_as_doubly_robust():
    """The target is the log's own policy and the model is off: what leaves the weights out is right by luck only."""
    rng, held = np.random.default_rng(0), {"SWITCH": 0, "DRos": 0, "MAGIC": 0}
    for _ in range(100):
        rewards, ratios = rng.normal(size=(200, 1)), np.ones((200, 1))
        model = np.full((200, 1), rng.normal(0, 0.07))
        robust = offpolicy.doubly_robust(rewards, ratios, model, model)
        for name, estimator in zip(held, (offpolicy.switch, offpolicy.shrunk, offpolicy.magic)):
            told = estimator(rewards, ratios, model, model)
            held[name] += told.low <= 0 <= told.high
            assert np.isnan(told.ess) and told.high - told.low >= robust.high - robust.low - 1e-9
    assert all(90 <= count <= 99 for count in held.values())


@pytest.mark.parametrize("steps, high", [(200, 1.6), (400, 1.99)])
def test_long_and_sharp_logs_are_no_reason_to_give_up(steps, high):
    """Products of ratios vanish, in one of these logs beyond what can be squared: then no end is told."""
    known = dominated(0, 60, steps, high)
    for estimator in (offpolicy.switch, offpolicy.shrunk, offpolicy.magic):
        told = estimator(*known)
        assert np.isfinite(told.value)
        assert np.isnan(told.low) == (steps > 200)


# ---------------------------------------------------------------- states

def test_marginalised_weights_are_exact_where_states_are_all_that_counts():
    episodes, truth = episodes_of(whole_log(), target), exact_values(TARGET)[2]
    told = offpolicy.marginalised(episodes.rewards, episodes.ratios, episodes.observations[:, :, 0])
    assert told.value == pytest.approx(truth, abs=1e-9)
    table = off_policy(whole_log(), target, states=lambda seen: seen[:, 0]).set_index("estimator")
    assert table.loc["marginalised", "value"] == pytest.approx(truth, abs=1e-9)
    width = table["high"] - table["low"]
    assert width["marginalised"] < width["importance sampling"]


@given(st.integers(0, 10_000), st.floats(0, 1))
@settings(max_examples=30)
def test_marginalised_weights_are_those_of_the_papers_recursion(seed, discount):
    """Transitions and rewards of the target estimated state by state, and its shares of states pushed forward."""
    rng = np.random.default_rng(seed)
    states, ratios = rng.integers(3, size=(30, 4)), rng.exponential(1, (30, 4))
    rewards, value = rng.normal(0, 1, (30, 4)), 0.0
    given, ratios = ratios, ratios.copy()
    for step in range(4):
        for state in range(3):              # ours: of mean 1 within a state
            here = states[:, step] == state
            ratios[here, step] /= ratios[here, step].mean() if here.any() else 1
    share = np.array([(states[:, 0] == state).mean() for state in range(3)])
    for step in range(4):
        here = states[:, step]
        for state in set(here):
            value += discount**step * share[state] * (ratios * rewards)[here == state, step].mean()
        if step < 3:
            share = np.array([sum(share[state] * (ratios[:, step] * (states[:, step + 1] == new))[here == state].mean()
                                  for state in set(here)) for new in range(3)])
    told = offpolicy.marginalised(rewards, given, states.astype(str), discount)
    assert told.value == pytest.approx(value, abs=1e-9)
    assert told.low < told.value < told.high


def test_marginalised_intervals_hold_the_truth_and_do_not_explode_with_length():
    """Two states in turn with 30 steps: products of ratios are hopeless, marginal ones are not."""
    rng, held, widths = np.random.default_rng(3), 0, []
    for _ in range(100):
        actions = rng.integers(2, size=(300, 30))
        states = np.hstack([np.zeros((300, 1), int), actions[:, :-1]])
        rewards = states + rng.normal(0, 1, states.shape)           # what was done last shows now
        told = offpolicy.marginalised(rewards, np.where(actions == 1, 1.6, 0.4), states)
        held += told.low <= 29 * 0.8 <= told.high
        widths.append(told.high - told.low)
    assert 90 <= held <= 99
    plain = offpolicy.per_decision(rewards, np.where(actions == 1, 1.6, 0.4))
    assert max(widths) < 0.3 * (plain.high - plain.low)


def test_what_the_log_never_shows_in_a_state_is_said():
    states = np.repeat([0, 1], 50)[:, None]
    with pytest.warns(UserWarning, match=r"50\.00% of the target's episodes"):
        told = offpolicy.marginalised(np.ones((100, 1)), np.where(states == 0, 1.0, 0.0), states)
    assert told.value == 0.5


def test_few_who_hold_the_weight_at_any_step_are_the_effective_sample():
    ratios = np.ones((100, 2))
    ratios[:, 0] = [50.0] * 2 + [0.0] * 98              # all in one state, then all apart again
    told = offpolicy.marginalised(np.ones((100, 2)), ratios, np.zeros((100, 2)))
    assert told.ess == pytest.approx(2)


# ---------------------------------------------------------------- actions that are vectors

def doses(count, seed=0, aim=0.7):
    """A log of single doses, even on 0 to 1; the reward is 1 - (dose - seen)²."""
    rng = np.random.default_rng(seed)
    seen, dose = rng.random(count), rng.random(count)
    return pd.DataFrame({"episode": np.arange(count), "step": 0, "action.0": dose, "propensity": 1.0, "obs.0": seen,
                         "reward": 1 - (dose - seen)**2 + 0.1 * rng.normal(size=count)})


def test_kernels_say_what_a_blurred_target_earns():
    """Aim at what is seen: truth 1; blurred with a normal kernel of width h within 0 and 1, 1 - E(cut normal)²."""
    log, width = doses(40_000), 0.1
    ratios = kernel_ratios(log[["action.0"]], log[["obs.0"]], log[["propensity"]], width, 0.0, 1.0)
    told = offpolicy.importance_sampling(log[["reward"]], ratios)
    z = np.linspace(0, 1, 401)
    part = np.exp(-((z[:, None] - z) / width)**2 / 2)
    blurred = 1 - ((part * (z[:, None] - z)**2).sum(axis=0) / part.sum(axis=0)).mean()
    assert told.low <= blurred <= told.high and told.high - told.low < 0.05
    beyond = kernel_ratios([[0.0]], [[0.0]], [[1.0]], width) / kernel_ratios([[0.0]], [[0.0]], [[1.0]], width, 0.0, 1.0)
    assert beyond == pytest.approx(0.5)         # at the edge half of the kernel lies outside


def test_doubly_robust_kernels_are_not_blurred_by_a_right_model():
    table = off_policy(kernel_episodes(doses(2000), lambda seen: seen[:, 0], low=0.0, high=1.0)).set_index("estimator")
    assert table.loc["doubly robust", "low"] <= 1 <= table.loc["doubly robust", "high"]
    width = table["high"] - table["low"]
    assert width["doubly robust"] < width["importance sampling"] / 3
    assert table.loc["naive", "value"] == pytest.approx(1 - 1 / 6, abs=0.02)


@pytest.mark.filterwarnings("ignore:effective sample size")
def test_a_rollout_with_densities_can_be_asked_for_another_dose():
    """The log's own mean action, hardly blurred: near what was earned; and the density is that of the action."""
    env = gym.make("pushlab/ODE-LotkaVolterra-v1", actions="box", max_episode_steps=2)
    agent = GaussianActions(lambda seen: 0.1, spread=0.02)
    log = rollout(env, agent, episodes=60, seed=2, progress=False)
    ratios = kernel_episodes(log, lambda seen: np.full((len(seen), 1), 0.1), low=0.0, high=1.0).ratios
    assert ratios.shape == (60, 2) and ratios.mean() == pytest.approx(1, abs=0.15)
    table = off_policy(kernel_episodes(log, lambda seen: np.full((len(seen), 1), 0.1))).set_index("estimator")
    assert table.loc["doubly robust", "value"] == pytest.approx(table.loc["naive", "value"], rel=0.05)


def test_gaussian_actions_keep_to_the_bounds_and_tell_their_density():
    density = []
    env = gym.make("pushlab/ODE-HIV-v0", actions="box")
    agent = GaussianActions(lambda seen: [0.0, 0.2], spread=0.5)
    agent.begin(env, seed=1)
    drawn = np.array([(*agent.act(None, {}), density.append(agent.propensity))[:2] for _ in range(4000)])
    assert ((env.action_space.low <= drawn) & (drawn <= env.action_space.high)).all()
    area = np.prod(env.action_space.high - env.action_space.low)
    assert (1 / np.array(density)).mean() == pytest.approx(area, rel=0.1)       # ∫ f (1 / f) = area
    twin = GaussianActions(lambda seen: [0.0, 0.2], spread=0.5)
    twin.begin(env, seed=1)
    assert (twin.act(None, {}) == drawn[0]).all() and twin.propensity == density[0]
    assert (twin.act(None, {}, explore=False) == [0.0, 0.2]).all() and twin.propensity is None
    far = GaussianActions(lambda seen: 1e9, spread=0.01)
    far.begin(env, seed=1)
    assert (far.act(None, {}) <= env.action_space.high).all() and np.isfinite(far.propensity)


@pytest.mark.parametrize("spoil, message", [
    (lambda log: log.drop(columns="action.0"), "no column 'action'"),
    (lambda log: log.assign(propensity=-1.0), "column propensity, row 0"),
])
def test_a_log_of_doses_that_will_not_do_is_refused(spoil, message):
    with pytest.raises(ValueError, match=message):
        kernel_episodes(spoil(doses(10)), lambda seen: seen[:, 0])
    with pytest.raises(ValueError, match=r"actions \(10, 1\)"):
        kernel_episodes(doses(10), lambda seen: np.zeros((10, 2)))
    with pytest.raises(ValueError, match="bandwidth"):
        kernel_episodes(doses(10), lambda seen: seen[:, 0], bandwidth=0.0)


def test_the_default_bandwidth_knows_how_many_doses_an_episode_has():
    log = doses(400)
    longer = log.assign(episode=np.arange(400) // 4, step=np.arange(400) % 4)
    for one, episodes, dimensions in ((log, 400, 1), (longer, 100, 4)):
        width = one["action.0"].std(ddof=0) * episodes ** (-1 / (4 + dimensions))
        given = kernel_episodes(one, lambda seen: seen[:, 0], bandwidth=width)
        assert kernel_episodes(one, lambda seen: seen[:, 0]).ratios == pytest.approx(given.ratios)
    with pytest.raises(ValueError, match=r"aims lie within .* 0.0 to 1.0; got 30 to 30"):
        kernel_episodes(log, lambda seen: np.full(len(seen), 30.0), low=0.0, high=1.0)
    with pytest.raises(ValueError, match="column action.0: always the same action"):
        kernel_episodes(log.assign(**{"action.0": 0.5}), lambda seen: seen[:, 0])
    with pytest.raises(ValueError, match="blurred target"):
        off_policy(kernel_episodes(log, lambda seen: seen[:, 0]), limits=(0, 1))


# ---------------------------------------------------------------- bounds

def test_bounds_hold_where_intervals_do_not():
    """A target that does in one of a hundred episodes what the log never misses: Student's interval is far too sure."""
    rng, held, believed = np.random.default_rng(0), 0, 0
    for _ in range(300):
        rare = rng.random((400, 1)) < 0.004
        ratios, rewards = np.where(rare, 0.8 / 0.004, 0.2 / 0.996), rare.astype(float)      # truth 0.8
        told, usual = offpolicy.high_confidence(rewards, ratios, 0, 1), offpolicy.importance_sampling(rewards, ratios)
        held += told.low <= 0.8 <= told.high
        believed += usual.low <= 0.8 <= usual.high
        assert 0 <= told.low <= told.high <= 1 and told.value == pytest.approx(usual.value)
    assert held >= 0.95 * 300 > believed


def test_bounds_close_in_on_the_truth_as_episodes_grow():
    rng, widths = np.random.default_rng(0), []
    for count in (300, 3000, 30_000):
        done = rng.random((count, 1)) < 0.5
        told = offpolicy.high_confidence(5 + done, np.where(done, 1.6, 0.4), 5, 6)      # truth 5.8
        assert told.low <= 5.8 <= told.high
        widths.append(told.high - told.low)
    assert widths[0] > widths[1] > widths[2] and widths[2] < 0.1
    fixed = offpolicy.high_confidence(5 + done, np.where(done, 1.6, 0.4), 5, 6, cut=1.6)
    assert fixed.low <= 5.8 <= fixed.high and fixed.high - fixed.low < 0.1
    with pytest.raises(ValueError, match="returns from 0 to 1; got 30000, 5 to 6"):
        offpolicy.high_confidence(5 + done, np.where(done, 1.6, 0.4), 0, 1)


def test_bounds_forgive_rounding_in_sums_of_rewards():
    told = offpolicy.high_confidence(np.full((10, 3), 0.1), np.ones((10, 3)), 0, 0.3)       # 0.1 + 0.1 + 0.1 > 0.3
    assert told.low <= 0.3 == pytest.approx(told.high)


# ---------------------------------------------------------------- learning from a log

def test_what_is_learned_from_a_log_earns_more_than_who_wrote_it():
    """RECEnv with one step: true values by enumeration. The log's policy is nearly chance."""
    kwargs = {"step_per_episode": 1, "reward_std": 0.3, "random_state": 0}
    world = RECEnv(**kwargs)
    wrote, sharpest = SoftmaxItem(world.items, 0.5), SoftmaxItem(world.items, 1e6)
    log = collect("pushlab/RECEnv-v0", wrote, 3000, seed=1, **kwargs)
    learned = policy_from_log(log, actions=5, features=linear)
    values = [true_value(world, policy) for policy in (wrote, learned, sharpest)]
    assert values[1] > values[0] + 0.8 * (values[2] - values[0])
    judged = off_policy(collect("pushlab/RECEnv-v0", wrote, 3000, seed=2, **kwargs), learned).set_index("estimator")
    assert judged.loc["doubly robust", "low"] <= values[1] <= judged.loc["doubly robust", "high"]
    assert learned.act(log.filter(like="obs.").iloc[0].to_numpy(), {}, explore=False) in range(5)


def test_a_curved_task_takes_curved_features_and_units_do_not_matter():
    rng = np.random.default_rng(0)
    seen, action = rng.uniform(-1, 1, 3000), rng.integers(2, size=3000)
    log = pd.DataFrame({"episode": np.arange(3000), "step": 0, "action": action, "propensity": 0.5,
                        "obs.0": 1e6 * seen, "reward": np.where(action == (seen**2 > 0.3), 1.0, 0.0)})
    learned = policy_from_log(log, actions=2, features=quadratic)
    right = np.take_along_axis(learned.probabilities(log[["obs.0"]]), (seen**2 > 0.3).astype(int)[:, None], axis=1)
    assert right.mean() > 0.9


@pytest.mark.parametrize("scale, shift", [(1e-12, 0), (1e12, 0), (1, 1e8)])
def test_units_of_rewards_do_not_matter_to_what_is_learned(scale, shift):
    rng = np.random.default_rng(0)
    seen, action = rng.uniform(-1, 1, 500), rng.integers(2, size=500)
    log = pd.DataFrame({"episode": np.arange(500), "step": 0, "action": action, "propensity": 0.5, "obs.0": seen,
                        "reward": shift + scale * (action == (seen > 0))})
    right = policy_from_log(log, actions=2).probabilities(seen[:, None])[np.arange(500), (seen > 0).astype(int)]
    assert right.mean() > 0.95


def test_a_log_of_several_steps_is_no_log_of_single_ones():
    with pytest.raises(ValueError, match="FittedQIteration"):
        policy_from_log(whole_log(), actions=2)


def test_gaussian_actions_say_what_they_need():
    with pytest.raises(ValueError, match="spread is above 0; got 0"):
        GaussianActions(lambda seen: 0.0, spread=0.0)
    with pytest.raises(ValueError, match="in a Box, and these are Discrete"):
        GaussianActions(lambda seen: 0.0, spread=1.0).begin(gym.make("pushlab/RECEnv-v0"), 0)
