"""What an agent tells of the probability of its action is how often it takes it; and logs with it can be judged."""

import copy
from collections import Counter

import gymnasium as gym
import numpy as np
import pytest
from gymnasium import spaces
from hypothesis import given, settings
from hypothesis import strategies as st

from pushlab import agents, load_user, rollout
from pushlab.agents.protocol import Deterministic
from pushlab.agents.random import sampling_chance
from pushlab.logs.collect import true_value
from pushlab.metrics.offpolicy import off_policy

PUSH, ITEMS, ROOM, COLD = "pushlab/push-v0", "pushlab/RECEnv-v0", "pushlab/RoomEnv-v0", "pushlab/evalumap2-v0"
HISTORY = load_user("mira").history
NINE = HISTORY.notification_codes[[0, 1, 2, 3, 4, 5, 6, 0, 0]]         # one of them three times


def fitted():
    seen = np.random.default_rng(0).random((40, 6)) * 1e5
    small = agents.FittedQIteration(4, trees=2, growths=1, sweeps=1, explore=0.4)
    return small.fit(seen, np.arange(40) % 4, seen[:, 0], seen)


# agent, environment, its arguments, steps before it is asked
ASKED = {
    "random": (agents.RandomAgent, ITEMS, {}, 3),
    "random, masks": (agents.RandomAgent, PUSH, {}, 12),
    "random candidate": (agents.RandomCandidate, COLD, {"candidates": NINE}, 3),
    "eps-greedy": (lambda: agents.EpsilonGreedy(0.6), COLD, {"candidates": NINE}, 40),
    "eps-greedy, equals": (lambda: agents.EpsilonGreedy(0.6), COLD, {"candidates": NINE}, 0),
    "LinUCB": (agents.LinUCB, COLD, {"candidates": NINE}, 20),
    "most opened, nothing yet": (agents.MostOpened, COLD, {"candidates": NINE}, 0),
    "most opened": (lambda: agents.MostOpened(HISTORY), COLD, {"candidates": NINE}, 3),
    "replay": (lambda: agents.ReplayHistory(HISTORY), COLD, {}, 3),
    "softmax": (lambda: agents.SoftmaxItem(np.eye(5), 2.0, 0.1), ITEMS, {}, 3),
    "greedy item": (agents.GreedyItem, ITEMS, {}, 3),
    "LinUCB item": (agents.LinUCBItem, ITEMS, {}, 3),
    "planner": (lambda: agents.Planner(5), ITEMS, {}, 1),
    "linear Q": (lambda: agents.LinearQ(epsilon=0.5), ITEMS, {}, 3),
    "table": (lambda: agents.QTable(epsilon=0.5), PUSH, {}, 4),
    "arrivals": (lambda: agents.LinearArrivalQ(epsilon=0.5), PUSH, {}, 1),
    "show all": (agents.ShowAll, PUSH, {}, 5),
    "do not disturb": (agents.DoNotDisturb, PUSH, {}, 5),
    "fitted Q, nothing yet": (lambda: agents.FittedQIteration(4), "pushlab/ODE-HIV-v0", {}, 2),
    "fitted Q": (fitted, "pushlab/ODE-HIV-v0", {}, 2),
    "bang-bang": (lambda: agents.BangBang(4, 5e4, 1e3, 3), "pushlab/ODE-HIV-v0", {}, 2),
    "no memory": (lambda: agents.EpisodicAgent(1), ROOM, {"encoding": "index"}, 0),
    "a wrapped one": (lambda: agents.Restarting(lambda: agents.LinearQ(epsilon=0.5)), ITEMS, {}, 3),
}


@pytest.mark.parametrize("name", ASKED)
def test_frequencies_are_the_propensities_that_were_told(name):
    make, id, more, steps = ASKED[name]
    agent, env = make(), gym.make(id, **more)
    observation, info = env.reset(seed=5)
    agent.begin(env, 5)
    for _ in range(steps):
        action = agent.act(observation, info)
        following, reward, terminated, truncated, told = env.step(action)
        agent.learn(agents.Transition(observation, info, action, reward, following, told, terminated, truncated))
        observation, info = following, told
    taken, likely = Counter(), {}
    asks = 2 if isinstance(agent, Deterministic) else 1500
    for _ in range(asks):
        again = as_it_stands(agent)
        action = tuple(np.ravel(again.act(observation, info)).tolist())
        taken[action] += 1
        assert likely.setdefault(action, again.propensity) == pytest.approx(again.propensity, rel=1e-9)
    assert sum(likely.values()) <= 1 + 1e-9
    for action, count in taken.items():
        chance = likely[action]
        assert abs(count / asks - chance) <= 4 * np.sqrt(chance * (1 - chance) / asks) + 1e-9, (action, count, chance)
    agent.act(observation, info, explore=False)
    assert agent.propensity == 1.0 or "random" in name or "nothing" in name or name == "no memory"


def as_it_stands(agent):
    """A copy that has the same memory, and the same dice, which are thrown on."""
    again = copy.copy(agent)
    for name in ("_plan", "memories"):
        if hasattr(again, name):
            setattr(again, name, copy.deepcopy(getattr(again, name)))
    return again


@pytest.mark.parametrize("agent, id", [(agents.ThompsonSampling(), COLD), (agents.LearnedAgent(4), ROOM),
                                       (lambda observation: 0, ITEMS)])
def test_who_cannot_tell_says_nothing_and_the_log_has_no_such_column(agent, id):
    assert "propensity" not in rollout(id, agent, steps=4, progress=False)


def test_a_function_may_tell():
    class Coin:
        propensity = 0.25

        def __call__(self, observation):
            return 1

    assert rollout(ITEMS, Coin(), steps=3, progress=False)["propensity"].tolist() == [0.25] * 3


@given(seed=st.integers(0, 99), data=st.data())
@settings(max_examples=40, deadline=None)
def test_any_element_of_a_space_is_as_likely_as_told(seed, data):
    space, mask = data.draw(st.sampled_from([
        (spaces.Discrete(4, start=2), None), (spaces.Discrete(4, start=2), np.array([0, 1, 1, 0], np.int8)),
        (spaces.MultiDiscrete([2, 3]), None),
        (spaces.MultiDiscrete([2, 3]), (np.array([0, 1], np.int8), np.array([1, 0, 1], np.int8))),
        (spaces.MultiBinary(2), None), (spaces.MultiBinary(2), np.array([2, 0], np.int8)),
        (spaces.Box(-1, 2, (2,), np.int8), None)]))
    space.seed(seed)
    drawn = Counter(tuple(np.ravel(space.sample(mask)).tolist()) for _ in range(300))
    chance = sampling_chance(space, mask)
    assert len(drawn) == pytest.approx(1 / chance)
    assert all(abs(count - 300 * chance) < 5.5 * np.sqrt(300 * chance) for count in drawn.values())


def test_a_log_of_rollout_is_judged_off_policy():
    """The value that the log gives to another policy is the true one, found by going through all that may happen."""
    arguments = {"n_users": 4, "n_items": 3, "item_feature_dim": 2, "user_feature_dim": 2, "step_per_episode": 3,
                 "obs_std": 0.0, "reward_std": 0.0}
    env = gym.make(ITEMS, **arguments)
    world = env.unwrapped.world
    target = agents.SoftmaxItem(world.items, 2.0, 0.1)
    log = rollout(env, agents.RandomAgent(), episodes=1500, seed=2, progress=False)
    truth = true_value(world, target)
    table = off_policy(log, target).set_index("estimator")
    naive, others = table.loc["naive"], table.loc[["importance sampling", "self-normalised", "doubly robust"]]
    assert (others["low"] < truth).all() and (truth < others["high"]).all()
    assert not naive["low"] < truth < naive["high"]
