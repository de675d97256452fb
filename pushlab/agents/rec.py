"""Agents for recommenders: greedy, LinUCB, linear Q-learning that looks ahead, an oracle that plans, and a softmax."""

import math
from typing import Any

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, Deterministic, own_chance
from pushlab.agents.weights import block_sums, observe, prior_covariance
from pushlab.ground.arguments import demand, in_short, number, numbers, whole
from pushlab.metrics.offpolicy import quadratic


def world_of(env, agent):
    """Return the world of an environment with items; raise ValueError for another."""
    world = getattr(env.unwrapped, "world", None)
    demand(
        hasattr(world, "items"),
        f"{agent.name} recommends items; this environment has none, pushlab/RECEnv-v0 has",
    )
    return world


class GreedyItem(Deterministic):
    """Shows what the observed preference likes best now: the largest preference · item. It knows the items."""

    name = "greedy"

    def begin(self, env, seed):
        self._items = world_of(env, self).items

    def act(self, observation, info, explore=True):
        return int((self._items @ observation).argmax())


class SoftmaxItem(Agent):
    """Shows items with probabilities in proportion to exp(sharpness × preference · item), and all now and then.

    The probabilities are known, so it can write a log from which other policies are evaluated: see
    `pushlab.logs.collect`.

    Args:
        items: Array (n_items, features).
        sharpness: 0 shows all equally often, infinity would be greedy.
        floor: Share of the steps in which any item is shown, so that none is impossible, 0 to 1.

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
        self.sharpness = number("sharpness", sharpness)
        self.floor = number("floor", floor, 0, 1)
        self.items = numbers("items", items)
        demand(
            self.items.ndim == 2,
            f"items is an array (n_items, features); got {in_short(items)}",
        )

    def probabilities(self, observations: np.ndarray) -> np.ndarray:
        """Return the probability of each item (rows, n_items) for observations (rows, features)."""
        scores = np.asarray(observations) @ self.items.T
        scores *= self.sharpness
        scores -= scores.max(axis=1, keepdims=True)
        likely = np.exp(scores)
        likely /= likely.sum(axis=1, keepdims=True)
        any_item = self.floor / len(self.items)
        return (1 - self.floor) * likely + any_item

    def begin(self, env, seed):
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        observations = np.asarray(observation)[None]
        likely = self.probabilities(observations)[0]
        if not explore:
            self.propensity = 1.0
            return int(likely.argmax())
        item = self._rng.choice(len(likely), p=likely)
        self.propensity = float(likely[item])
        return int(item)


class LinUCBItem(Deterministic):
    """Learns each item's engagement as a linear function of the observed preference; shows what could be best.

    It doesn't know the items and doesn't look ahead: it assumes that the user stays the same.

    Attributes:
        width: Number of standard deviations that are added to the expected value.
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
    saved = {"mean": FLOATS, "covariance": FLOATS}

    def __init__(self):
        self.mean = None
        self.covariance = None

    def begin(self, env, seed):
        shape = (env.action_space.n, env.observation_space.shape[0] + 1)
        if self.mean is None:
            self.mean = np.zeros(shape)
            self.covariance = prior_covariance(np.full(shape, self.variance))
        if self.mean.shape != shape:
            raise ValueError(
                f"{self.name} has learned weights {self.mean.shape} (items, features); this "
                f"environment needs {shape}"
            )
        self._all = np.arange(shape[1])

    def act(self, observation, info, explore=True):
        items = np.arange(len(self.mean))
        features = np.append(1.0, observation)
        centre, variance = block_sums(
            self.mean, self.covariance, items, self._all, features
        )
        if explore:
            centre = centre + self.width * np.sqrt(variance)
        return int(centre.argmax())

    def learn(self, transition):
        item = np.array([transition.action])
        features = np.append(1.0, transition.observation)
        about = self.mean, self.covariance, item, self._all
        observe(*about, transition.reward, features, self.noise)


class LinearQ(Agent):
    """Q-learning with a linear function per item of the preference and its squares: it learns what an item leads to.

    Args:
        discount: Weight of the next step's value, 0 to below 1; 0 considers the next reward only.
        rate: Step size, divided by the squared length of the features.
        epsilon: Share of random items in the first episode.
        half_at: Episodes after which it has fallen to half: epsilon / (1 + episode / half_at); infinity keeps it.

    Source:
        Watkins & Dayan (1992), Q-learning, Machine Learning 8; with linear functions Sutton & Barto (2018),
        Reinforcement Learning, section 10.1 (semi-gradient).
    """

    name = "linear Q"
    saved = {"weights": FLOATS, "episodes": int}

    def __init__(
        self,
        discount: float = 0.8,
        rate: float = 0.2,
        epsilon: float = 0.3,
        half_at: float = 100,
    ):
        self.discount = number("discount", discount, 0, below=1)
        self.rate = number("rate", rate, 0)
        self.epsilon = number("epsilon", epsilon, 0, 1)
        self.half_at = number("half_at", half_at, above=0, most=math.inf)
        self.weights = None
        self.episodes = 0

    def begin(self, env, seed):
        if self.weights is None:
            nothing = np.zeros((1, *env.observation_space.shape))
            size = quadratic(nothing).shape[1]
            self.weights = np.zeros((env.action_space.n, size))
        self._rng = own_chance(seed)

    def values(self, observation: np.ndarray) -> np.ndarray:
        """Return Q of each item (n_items,)."""
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
    """An oracle: sees the true state, knows the user model, and searches for the best items up to the end.

    A beam search: of all ways to continue, the `beam` best are kept at each step, by reward so far plus what repeating
    the best item would earn in the remaining steps. If beam is at least n_items ** (steps - 1), the plan is the best
    there is. It plans again if the user changes in another way than expected.
    """

    name = "oracle"

    def __init__(self, beam: int = 300):
        self.beam = whole("beam", beam, 1)

    def begin(self, env, seed):
        self._world = world_of(env, self)
        self._left = self._world.step_per_episode
        self._plan = []
        self._expected = None

    def act(self, observation, info, explore=True):
        state = info["state"]
        if not self._plan or not np.allclose(state, self._expected, atol=1e-9):
            plan, _ = self.plan(self._world, state, self._left)
            self._plan = plan.tolist()
        action = self._plan.pop(0)
        items = np.array([action])
        _, following = self._world.expect(state[None], items)
        self._expected = following[0]
        self._left -= 1
        return action

    def plan(
        self, world: Any, state: np.ndarray, steps: int
    ) -> tuple[np.ndarray, float]:
        """Return the best items found, int64 (steps,), and their expected reward, from a state (features,)."""
        states = np.asarray(state, float)[None]
        earned = np.zeros(1)
        plans = np.zeros((1, 0), np.int64)
        for left in reversed(range(steps)):
            parents, actions, rewards, following = _every_item(world, states)
            so_far = earned[parents] + rewards
            promise = so_far
            if len(so_far) > self.beam and left:
                _, _, ahead, _ = _every_item(world, following)
                by_state = ahead.reshape(len(following), -1)
                best_ahead = by_state.max(axis=1)
                promise = so_far + left * best_ahead
            top = np.argsort(-promise, kind="stable")[: self.beam]
            states = following[top]
            earned = so_far[top]
            plans = plans[parents[top]]
            plans = np.column_stack([plans, actions[top]])
        best = int(earned.argmax())
        return plans[best], float(earned[best])


def _every_item(world, states):
    """Return the results of every item in every state: rows of the states, items, rewards, and following states."""
    rows = np.repeat(np.arange(len(states)), world.n_items)
    items = np.tile(np.arange(world.n_items), len(states))
    return rows, items, *world.expect(states[rows], items)
