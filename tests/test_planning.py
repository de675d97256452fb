"""Agents that plan or learn values, against hand calculations and enumeration."""

from itertools import product

import gymnasium as gym
import numpy as np
import pytest

from pushlab.agents import Transition, rec
from pushlab.agents.planning import BangBang, FittedQIteration
from pushlab.envs.rec.models import Satiation
from pushlab.envs.rec.world import RECEnv
from pushlab.logs.rollout import rollout

ITEMS = "pushlab/RECEnv-v0"


def test_bang_bang_treats_until_the_lower_threshold():
    agent = BangBang(component=1, above=10.0, below=2.0, on=3)
    agent.begin(None, 0)
    actions = [agent.act(np.array([0, value]), {}) for value in (5, 10, 5, 2, 5, 11)]
    assert actions == [0, 3, 3, 0, 0, 3]
    agent.begin(None, 0)
    assert agent.act(np.array([0, 5.0]), {}) == 0


# ---------------------------------------------------------------- fitted Q iteration


def corridor():
    """Return all steps left and right along six places; entering the last has reward 1."""
    place, action = np.divmod(np.arange(1200) % 12, 2)
    following = np.where(place == 5, 5, np.clip(place + 2 * action - 1, 0, 5))
    reward = (following == 5) & (place < 5)
    columns = place[:, None].astype(float), following[:, None].astype(float)
    return columns[0], action, reward.astype(float), columns[1]


def learner(**changes):
    return FittedQIteration(
        2,
        **{
            "discount": 0.5,
            "trees": 3,
            "min_samples_leaf": 1,
            "iterations_per_fit": 1,
            **changes,
        },
    )


def test_fitted_q_iteration_finds_the_values_of_a_corridor():
    agent = learner(forest_fits=12).fit(*corridor())
    places = np.arange(6.0)[:, None]
    values = agent.values(places)
    assert values[:, 1] == pytest.approx([0.0625, 0.125, 0.25, 0.5, 1, 0])
    assert values[1:5, 0] == pytest.approx(0.25 * values[1:5, 1])
    assert agent.act_each(places[:5], explore=False).tolist() == [1] * 5
    # The reward is five steps away from the first place.
    assert learner(forest_fits=4).fit(*corridor()).values(places[:1])[0, 1] == 0
    assert learner(forest_fits=5).fit(*corridor()).values(places[:1])[0, 1] == 0.0625


def test_there_is_no_reward_after_termination():
    places, actions, rewards, following = corridor()
    end = following[:, 0] == 5
    agent = learner(forest_fits=9).fit(places, actions, rewards + 1, following, end)
    assert agent.values([[4.0]])[0, 1] == 2
    assert agent.values([[3.0]])[0, 1] == 1 + 0.5 * 2


def test_fitted_q_explores_with_epsilon_and_learns_between_episodes():
    agent = learner(forest_fits=9).fit(*corridor())
    agent.epsilon = 0.3
    agent.begin(None, 3)
    first = agent.act_each(np.full((4000, 1), 3.0))
    assert np.mean(first == 0) == pytest.approx(0.15, abs=0.03)
    assert agent.propensity == (0.15 if first[-1] == 0 else 0.85)
    agent.begin(None, 3)
    assert np.array_equal(first, agent.act_each(np.full((4000, 1), 3.0)))
    online = learner(forest_fits=9, fit_every=2)
    with pytest.raises(ValueError, match="call fit"):
        online.values([[0.0]])
    steps = list(zip(*corridor()))[:12]
    for _episode in range(2):
        assert online.forests is None
        for number, (seen, action, reward, after) in enumerate(steps):
            last = number == 11
            online.learn(Transition(seen, {}, action, reward, after, {}, False, last))
    assert online.values([[4.0]])[0, 1] == 1
    with pytest.raises(ValueError, match="each of the 2 actions must occur"):
        learner().fit(np.zeros((3, 1)), np.zeros(3, int), np.zeros(3), np.zeros((3, 1)))


# ---------------------------------------------------------------- recommenders


def test_the_planner_finds_the_best_of_all_item_sequences():
    world = RECEnv(n_items=3, step_per_episode=5, UserModel=Satiation)
    start = world.initial_states[4]
    best = -np.inf
    for items in product(range(3), repeat=5):
        state = start[None]
        total = 0.0
        for item in items:
            reward, state = world.expected_step(state, np.array([item]))
            total += reward[0]
        best = max(best, total)
    plan, earned = rec.Planner(beam=3**4).plan(world, start, 5)
    assert earned == pytest.approx(best, abs=1e-12)
    assert len(plan) == 5
    assert rec.Planner(beam=8).plan(world, start, 5)[1] == pytest.approx(best, rel=0.02)
    env = gym.make(ITEMS, step_per_episode=4)
    log = rollout(env, rec.Planner(), progress=False)
    seen = log.filter(like="obs.").to_numpy()
    _, earned = rec.Planner().plan(env.unwrapped.world, seen[0], 4)
    assert log["reward"].sum() == pytest.approx(earned)
    log = rollout(env, rec.GreedyItem(), progress=False)
    best = log.filter(like="obs.").to_numpy() @ RECEnv().items.T
    assert log["action"].tolist() == best.argmax(axis=1).tolist()


@pytest.fixture
def small_env():
    return gym.make(ITEMS, n_items=3, item_feature_dim=2, user_feature_dim=2)


def test_linear_q_updates_its_weights_by_the_temporal_difference(small_env):
    agent = rec.LinearQ(discount=0.5, rate=0.5, epsilon=0.6, half_at=1)
    agent.begin(small_env, 0)
    seen = np.array([1.0, 2.0])
    # 1, the observation and its products 1, 2 and 4: a squared length of 27.
    agent.learn(Transition(seen, {}, 1, 2.0, seen, {}, True, False))
    assert agent.values(seen) == pytest.approx([0, 1, 0])
    agent.learn(Transition(seen, {}, 0, 1.0, seen, {}, False, False))
    assert agent.values(seen) == pytest.approx([0.5 * (1 + 0.5 * 1), 1, 0])
    assert agent.weights[0] == pytest.approx(np.array([1, 1, 2, 1, 2, 4]) * 0.75 / 27)
    assert agent.act(seen, {}, explore=False) == 1
    assert agent.propensity == 1
    # After one episode a random item has probability 0.6 / 2.
    propensities = {agent.act(seen, {}): agent.propensity for _ in range(50)}
    assert propensities == pytest.approx({0: 0.1, 1: 0.8, 2: 0.1})


def test_linucb_adds_the_posterior_deviation_to_the_posterior_mean(small_env):
    agent = rec.LinUCBItem()
    agent.variance = 2.0
    agent.noise = 0.5
    agent.begin(small_env, 0)
    history = [([1.0, 0.0], 0, 1.0), ([0.5, -1.0], 0, 0.2), ([0.0, 1.0], 2, 0.4)]
    for seen, item, reward in history:
        seen = np.array(seen)
        agent.learn(Transition(seen, {}, item, reward, seen, {}, False, False))
    seen = np.array([0.8, 0.1])
    described = np.append(1.0, seen)
    bounds = []
    for item in range(3):
        rows = [np.append(1.0, before) for before, which, _ in history if which == item]
        rewards = [reward for _, which, reward in history if which == item]
        design = np.reshape(rows, (-1, 3))
        covariance = np.linalg.inv(np.eye(3) / 2.0 + design.T @ design / 0.5)
        mean = covariance @ design.T @ np.array(rewards) / 0.5
        assert agent.mean[item] == pytest.approx(mean)
        assert agent.covariance[item] == pytest.approx(covariance)
        bounds.append(mean @ described + (described @ covariance @ described) ** 0.5)
    assert agent.act(seen, {}) == np.argmax(bounds) == 1
    assert agent.act(seen, {}, explore=False) == 0
    with pytest.raises(ValueError, match="weights"):
        agent.begin(gym.make(ITEMS), 0)
