"""Agents report the probability of actions, by which other policies are judged."""

from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces

from pushlab import agents, load_user, rollout
from pushlab.agents.protocol import uniform_action_probability
from pushlab.logs.collect import true_value
from pushlab.metrics.offpolicy import off_policy

PUSH = "pushlab/push-v0"
ITEMS = "pushlab/RECEnv-v0"
COLD = "pushlab/evalumap2-v0"
HISTORY = load_user("mira").history
# The first of seven notifications three times.
NINE = HISTORY.notification_codes[[0, 1, 2, 3, 4, 5, 6, 0, 0]]


def changed(agent, **attributes):
    for name, value in attributes.items():
        setattr(agent, name, value)
    return agent


def fitted():
    seen = np.random.default_rng(0).random((40, 6)) * 1e5
    agent = agents.FittedQIteration(4, trees=2, forest_fits=1, iterations_per_fit=1)
    agent.epsilon = 0.4
    return agent.fit(seen, np.arange(40) % 4, seen[:, 0], seen)


# The agent, the environment, its arguments, and the steps before counting begins.
STOCHASTIC = {
    "random": (agents.RandomAgent, ITEMS, {}, 3),
    "random, action mask": (agents.RandomAgent, PUSH, {}, 12),
    "eps-greedy": (
        lambda: changed(agents.EpsilonGreedy(0.6), half_at=40),
        COLD,
        {"candidates": NINE[:7]},
        40,
    ),
    "nothing opened yet": (agents.MostOpened, COLD, {"candidates": NINE[:7]}, 0),
    "softmax": (lambda: agents.SoftmaxItem(np.eye(5), 2.0, 0.1), ITEMS, {}, 3),
    "linear Q": (lambda: agents.LinearQ(epsilon=0.5), ITEMS, {}, 3),
    "table": (lambda: changed(agents.QTable(), epsilon=0.5), PUSH, {}, 4),
    "arrivals": (lambda: changed(agents.LinearArrivalQ(), epsilon=0.5), PUSH, {}, 2),
    "unfitted": (lambda: agents.FittedQIteration(4), "pushlab/ODE-HIV-v0", {}, 0),
    "fitted": (fitted, "pushlab/ODE-HIV-v0", {}, 0),
    "empty memory": (
        lambda: agents.EpisodicAgent(1),
        "pushlab/RoomEnv-v0",
        {"encoding": "index"},
        0,
    ),
}


@pytest.mark.parametrize("name", STOCHASTIC)
def test_actions_are_as_frequent_as_their_reported_propensities(name):
    make, env_id, arguments, steps = STOCHASTIC[name]
    agent = make()
    env = gym.make(env_id, **arguments)
    observation, info = env.reset(seed=5)
    agent.begin(env, 5)
    for _ in range(steps):
        action = agent.act(observation, info)
        following, reward, terminated, truncated, next_info = env.step(action)
        ends = (terminated, truncated)
        step = (observation, info, action, reward, following, next_info, *ends)
        agent.learn(agents.Transition(*step))
        observation = following
        info = next_info
    draws = 600
    taken = Counter()
    propensities = {}
    for _ in range(draws):
        action = tuple(np.ravel(agent.act(observation, info)).tolist())
        taken[action] += 1
        assert propensities.setdefault(action, agent.propensity) == agent.propensity
    assert len(taken) > 1
    assert sum(propensities.values()) == pytest.approx(1)
    for action, count in taken.items():
        chance = propensities[action]
        error = np.sqrt(chance * (1 - chance) / draws)
        assert count / draws == pytest.approx(chance, abs=4 * error), action


@pytest.mark.parametrize(
    ("make", "env_id", "propensity"),
    [
        (agents.GreedyItem, ITEMS, 1.0),
        (lambda: agents.MostOpened(HISTORY), COLD, 1.0),
        (lambda: agents.ReplayHistory(HISTORY), COLD, 1.0),
        (agents.ThompsonSampling, COLD, None),
        (lambda: lambda observation: 0, ITEMS, None),
    ],
)
def test_rollouts_log_the_propensity_if_the_agent_reports_one(make, env_id, propensity):
    log = rollout(env_id, make(), steps=3, progress=False)
    found = log["propensity"].tolist() if "propensity" in log else None
    assert found == (None if propensity is None else [propensity] * 3)


@pytest.mark.parametrize(
    ("space", "mask", "chance"),
    [
        (spaces.Discrete(4, start=2), None, 1 / 4),
        (spaces.Discrete(4), np.array([0, 1, 1, 0], np.int8), 1 / 2),
        (spaces.MultiDiscrete([2, 3]), None, 1 / 6),
        (spaces.MultiBinary(3), None, None),
        (spaces.Box(-1, 2, (2,)), None, 1 / 9),
        (spaces.Box(-np.inf, 2), None, None),
    ],
)
def test_all_elements_of_a_space_are_equally_likely(space, mask, chance):
    assert uniform_action_probability(space, mask) == chance


def test_a_rollout_with_propensities_gives_the_value_of_another_policy():
    env = gym.make(ITEMS, n_users=4, n_items=3, step_per_episode=2)
    world = env.unwrapped.world
    target = agents.SoftmaxItem(world.items, 2.0, 0.1)
    log = rollout(env, agents.RandomAgent(), episodes=300, seed=2, progress=False)
    truth = true_value(world, target)
    found = off_policy(log, target).set_index("estimator")
    covers = (found["low"] < truth) & (truth < found["high"])
    assert covers["importance sampling"] and covers["doubly robust"]
    assert not covers["naive"]
