"""Agents for recommenders: greedy, softmax, LinUCB, linear Q-learning, and a planning oracle."""

import math
from typing import Any

import numpy as np
from gymnasium import spaces
from scipy.special import softmax

from pushlab.agents.protocol import FLOATS, Agent, Deterministic, agent_rng
from pushlab.agents.weight_posterior import update_weights
from pushlab.metrics.offpolicy import quadratic
from pushlab.utils.arguments import (
    require,
    short_repr,
    validate_array,
    validate_integer,
    validate_number,
)


def item_world(env, agent):
    """Return the world of an environment with items; raise ValueError for any other."""
    world = getattr(env.unwrapped, "world", None)
    require(
        hasattr(world, "items"),
        f"{agent.name} recommends items, but this environment has none; use pushlab/RECEnv-v0",
    )
    return world


def count_actions(env, agent):
    """Return the number of an environment's actions; raise ValueError unless a linear agent can act in it."""
    actions = env.action_space
    observations = env.observation_space
    require(
        isinstance(actions, spaces.Discrete) and isinstance(observations, spaces.Box),
        f"{agent.name} needs Discrete actions and Box observations; this environment has {short_repr(actions)} "
        f"and {short_repr(observations)}",
    )
    return actions.n


class GreedyItem(Deterministic):
    """Shows the item with the largest observed preference · item. It reads the items from the world."""

    name = "greedy"

    def begin(self, env, seed):
        self._items = item_world(env, self).items

    def act(self, observation, info, explore=True):
        return int((self._items @ observation).argmax())


class SoftmaxItem(Agent):
    """Shows items with probabilities proportional to exp(sharpness × preference · item), mixed with uniform ones.

    The probabilities are known, so other policies can be evaluated from its log: see `pushlab.logs.collect`.

    Args:
        items: Array (n_items, features).
        sharpness: Inverse temperature: 0 is uniform, infinity would be greedy.
        floor: Fraction of steps with a uniformly drawn item, 0 to 1, so that no item is impossible.

    >>> policy = SoftmaxItem([[1.0, 0.0], [0.0, 1.0]], sharpness=2.0, floor=0.1)
    >>> policy.probabilities(np.array([[1.0, 0.0]])).round(3)
    array([[0.843, 0.157]])
    """

    name = "softmax"

    def __init__(
        self,
        items: Any,
        sharpness: float = 1.0,
        floor: float = 0.0,
    ):
        self.sharpness = validate_number("sharpness", sharpness)
        self.floor = validate_number("floor", floor, 0, 1)
        self.items = validate_array("items", items)
        require(
            self.items.ndim == 2,
            f"items must be an array (n_items, features); got {short_repr(items)}",
        )

    def probabilities(self, observations: np.ndarray) -> np.ndarray:
        """Return the probability of each item (rows, n_items) for observations (rows, features)."""
        scores = self.sharpness * (np.asarray(observations) @ self.items.T)
        uniform = self.floor / len(self.items)
        return (1 - self.floor) * softmax(scores, axis=1) + uniform

    def begin(self, env, seed):
        self._rng = agent_rng(seed)

    def act(self, observation, info, explore=True):
        observations = np.asarray(observation)[None]
        probabilities = self.probabilities(observations)[0]
        if not explore:
            self.propensity = 1.0
            return int(probabilities.argmax())
        item = self._rng.choice(len(probabilities), p=probabilities)
        self.propensity = float(probabilities[item])
        return int(item)


class LinUCBItem(Deterministic):
    """Learns engagement as a linear function of the preference, and shows the item with the highest upper bound.

    It neither reads the items nor plans ahead: it assumes that the user doesn't change.

    Attributes:
        width: Number of standard deviations added to the expected value.
        variance: Prior variance of a weight.
        noise: Variance of a reward about its expectation.

    Source:
        Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
        WWW, algorithm 1 (disjoint models).
    """

    name = "LinUCB"
    width = 1.0
    variance = 1.0
    noise = 0.05
    state_attributes = {"mean": FLOATS, "covariance": FLOATS}

    def __init__(self):
        self.mean = None
        self.covariance = None

    def begin(self, env, seed):
        shape = (count_actions(env, self), env.observation_space.shape[0] + 1)
        if self.mean is None:
            self.mean = np.zeros(shape)
            prior = self.variance * np.eye(shape[1])
            self.covariance = np.stack([prior] * shape[0])
        if self.mean.shape != shape:
            raise ValueError(
                f"{self.name} has learned weights {self.mean.shape} (items, features), but this "
                f"environment needs {shape}"
            )

    def act(self, observation, info, explore=True):
        features = np.append(1.0, observation)
        expected = self.mean @ features
        if explore:
            gains = self.covariance @ features
            expected += self.width * np.sqrt(gains @ features)
        return int(expected.argmax())

    def learn(self, transition):
        item = transition.action
        features = np.append(1.0, transition.observation)
        update_weights(
            self.mean[item],
            self.covariance[item],
            np.arange(len(features)),
            transition.reward,
            values=features,
            noise=self.noise,
        )


class LinearQ(Agent):
    """Q-learning with one linear function per item, of the preference and its squares. It learns long-term effects.

    Args:
        discount: Weight of the next step's value, from 0 (only the next reward counts) to below 1.
        rate: Step size, divided by the squared length of the features.
        epsilon: Fraction of random items in the first episode.
        half_at: Number of episodes after which epsilon has halved: it is epsilon / (1 + episode / half_at). Infinity
            keeps it constant.

    Source:
        Watkins & Dayan (1992), Q-learning, Machine Learning 8; with linear functions Sutton & Barto (2018),
        Reinforcement Learning, section 10.1 (semi-gradient).
    """

    name = "linear Q"
    state_attributes = {"weights": FLOATS, "episodes": int}

    def __init__(
        self,
        discount: float = 0.8,
        rate: float = 0.2,
        epsilon: float = 0.3,
        half_at: float = 100,
    ):
        self.discount = validate_number("discount", discount, 0, below=1)
        self.rate = validate_number("rate", rate, 0)
        self.epsilon = validate_number("epsilon", epsilon, 0, 1)
        self.half_at = validate_number("half_at", half_at, above=0, maximum=math.inf)
        self.weights = None
        self.episodes = 0

    def begin(self, env, seed):
        if self.weights is None:
            n_actions = count_actions(env, self)
            zeros = np.zeros((1, *env.observation_space.shape))
            size = quadratic(zeros).shape[1]
            self.weights = np.zeros((n_actions, size))
        self._rng = agent_rng(seed)

    def values(self, observation: np.ndarray) -> np.ndarray:
        """Return the value of each item (n_items,)."""
        observations = np.asarray(observation)[None]
        return self.weights @ quadratic(observations)[0]

    def act(self, observation, info, explore=True):
        n = len(self.weights)
        epsilon = 0.0
        item = best = int(self.values(observation).argmax())
        if explore:
            epsilon = self.epsilon / (1 + self.episodes / self.half_at)
            if self._rng.random() < epsilon:
                item = int(self._rng.integers(n))
        self.propensity = epsilon / n + (1 - epsilon) * (item == best)
        return item

    def learn(self, transition):
        observations = np.asarray(transition.observation)[None]
        features = quadratic(observations)[0]
        target = transition.reward
        if not transition.terminated:  # at a time limit, later rewards still count
            following = self.values(transition.next_observation)
            target += self.discount * following.max()
        error = target - self.weights[transition.action] @ features
        step = self.rate * error * features / (features @ features)
        self.weights[transition.action] += step
        self.episodes += transition.terminated or transition.truncated


class Planner(Deterministic):
    """An oracle that reads the true state and the user model, and searches for the best items of the whole episode.

    It is a beam search. At each step the `beam` best plans remain, ranked by their reward so far plus the reward of
    repeating the best next item in the remaining steps. If `beam` is at least n_items ** (steps - 1), the plan is
    optimal. It plans again if the user's state differs from the expected one.

    Args:
        beam: Maximal number of plans in the search.
    """

    name = "oracle"

    def __init__(self, beam: int = 300):
        self.beam = validate_integer("beam", beam, 1)

    def begin(self, env, seed):
        self._world = item_world(env, self)
        self._remaining_steps = self._world.step_per_episode
        self._plan = []
        self._expected_state = None

    def act(self, observation, info, explore=True):
        state = info["state"]
        if not self._plan or not np.allclose(state, self._expected_state, atol=1e-9):
            plan, _ = self.plan(self._world, state, self._remaining_steps)
            self._plan = plan.tolist()
        action = self._plan.pop(0)
        items = np.array([action])
        _, following = self._world.expected_step(state[None], items)
        self._expected_state = following[0]
        self._remaining_steps -= 1
        return action

    def plan(
        self, world: Any, state: np.ndarray, steps: int
    ) -> tuple[np.ndarray, float]:
        """Return the best items found, int64 (steps,), and their expected reward, from a state (features,)."""
        states = np.asarray(state, float)[None]
        returns = np.zeros(1)
        plans = np.zeros((1, 0), np.int64)
        for remaining in reversed(range(steps)):
            parents, actions, rewards, following = _expand(world, states)
            totals = returns[parents] + rewards
            scores = totals
            if len(totals) > self.beam and remaining:
                _, _, next_rewards, _ = _expand(world, following)
                by_state = next_rewards.reshape(len(following), -1)
                best_reward = by_state.max(axis=1)
                scores = totals + remaining * best_reward
            top = np.argsort(-scores, kind="stable")[: self.beam]
            states = following[top]
            returns = totals[top]
            plans = plans[parents[top]]
            plans = np.column_stack([plans, actions[top]])
        best = int(returns.argmax())
        return plans[best], float(returns[best])


def _expand(world, states):
    """Return the outcome of each item in each state: rows of the states, items, rewards, and following states."""
    rows = np.repeat(np.arange(len(states)), world.n_items)
    items = np.tile(np.arange(world.n_items), len(states))
    return rows, items, *world.expected_step(states[rows], items)
