"""Agents for recommenders: greedy, LinUCB, linear Q-learning that looks ahead, an oracle that plans, and a softmax.

`policy_from_log` learns from the log of any task of one step with numbered actions.
"""

import math
from typing import Any

import gymnasium as gym
import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, own_chance
from pushlab.agents.weights import WeightBlocks
from pushlab.ground.arguments import demand, function, in_short, number, numbers, whole
from pushlab.metrics.offpolicy import (
    cross_fitted_values,
    episodes_of,
    linear,
    quadratic,
)


def world_of(env: gym.Env, agent: Agent) -> Any:
    """The world of an environment with items; ValueError for another."""
    world = getattr(env.unwrapped, "world", None)
    if not hasattr(world, "items"):
        raise ValueError(
            f"{agent.name} recommends items; this environment has none, pushlab/RECEnv-v0 has"
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

    The probabilities are known, so it can write a log that other policies are judged by: see `pushlab.logs.collect`.

    items      array (n_items, features)
    sharpness  0 shows all equally often, infinity would be greedy
    floor      share of the steps in which any item is shown, so that none is ever impossible, 0 to 1
    features   function of observations (rows, …) to what items are multiplied with; None takes them as they are

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
        features: Any = None,
    ) -> None:
        number("floor", floor, 0, 1)
        number("sharpness", sharpness)
        self.items, self.sharpness, self.floor = (
            numbers("items", items),
            sharpness,
            floor,
        )
        demand(
            self.items.ndim == 2 and len(items),
            f"items is an array (n_items, features); got {in_short(items)}",
        )
        self.features = None if features is None else function("features", features)

    def probabilities(self, observations: np.ndarray) -> np.ndarray:
        """Probability of each item (rows, n_items) for observations (rows, features)."""
        observations = (
            np.asarray(observations)
            if self.features is None
            else self.features(np.asarray(observations))
        )
        scores = self.sharpness * (observations @ self.items.T)
        likely = np.exp(scores - scores.max(axis=1, keepdims=True))
        likely /= likely.sum(axis=1, keepdims=True)
        return (1 - self.floor) * likely + self.floor / len(self.items)

    def begin(self, env, seed):
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        likely = self.probabilities(np.asarray(observation)[None])[0]
        item = int(
            self._rng.choice(len(likely), p=likely) if explore else likely.argmax()
        )
        self.propensity = float(likely[item]) if explore else 1.0
        return item


def policy_from_log(
    log: Any,
    actions: int,
    features: Any = linear,
    floor: float = 0.0,
    folds: int = 5,
    seed: int = 0,
) -> SoftmaxItem:
    """Learns from a log of single steps: in each the action whose doubly robust score, as regressed, is highest.

    Each row says of each action what it would have earned: Q̂, and for the one taken Q̂ + (reward - Q̂) / propensity,
    with Q̂ from the other folds. These scores are regressed on features (least squares), and the policy takes the best.
    It has `probabilities` and acts: `off_policy` judges it (on another log), `rollout` runs it. For logs of several
    steps there is `FittedQIteration`.

    log        DataFrame as `pushlab.metrics.offpolicy.off_policy` takes it, of episodes of one step
    actions    how many there are
    features   function of observations (rows, features) to features (rows, any number), row by row
    floor      share of the steps in which the policy takes any action, 0 to 1
    folds, seed   of the value model

    Source     Dudík, Langford & Li (2011), Doubly robust policy evaluation and learning, ICML (the scores); with
               cross-fitting, Athey & Wager (2021), Policy learning with observational data, Econometrica 89(1)

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": range(200), "step": 0, "action": [0, 1] * 100, "propensity": 0.5,
    ...                     "obs.0": [-1.0, -1.0, 1.0, 1.0] * 50, "reward": [1.0, 0.0, 0.0, 1.0] * 50})
    >>> policy_from_log(log, actions=2).probabilities([[-1.0], [1.0]]).round(1).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    episodes = episodes_of(log, lambda seen: np.full((len(seen), actions), 1 / actions))
    demand(
        episodes.rewards.shape[1] == 1,
        "this learner takes episodes of one step, FittedQIteration longer ones",
    )
    scores = cross_fitted_values(episodes, folds=folds, seed=seed)[0][:, 0]
    inverse = (
        (episodes.actions == np.arange(actions)) * actions * episodes.ratios
    )  # 1 / propensity, or 0
    described = features(episodes.observations[:, 0])
    size = np.sqrt((described**2).mean(axis=0)) + 1e-12
    scores = scores + inverse * (episodes.rewards - scores)
    scores = (scores - scores.mean()) / (scores.std() or 1)
    weights = np.linalg.lstsq(described / size, scores, rcond=None)[0]
    return SoftmaxItem(weights.T / size, 1e9, floor, features)  # as good as certain


class LinUCBItem(Deterministic):
    """Learns each item's engagement as a linear function of the observed preference, with the benefit of the doubt.

    It is not told the items, and does not look ahead: it takes the user for one who stays as they are.

    width     how many standard deviations the benefit of the doubt is
    variance  prior variance of a weight
    noise     variance of a reward around its expectation
    Source    Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article
              recommendation, WWW, algorithm 1 (disjoint models)
    """

    name = "LinUCB"

    def __init__(
        self, width: float = 1.0, variance: float = 1.0, noise: float = 0.05
    ) -> None:
        self.width, self.variance = (
            number("width", width, 0),
            number("variance", variance, above=0),
        )
        self.noise = number("noise", noise, above=0)
        self.belief = None

    def begin(self, env, seed):
        shape = env.action_space.n, env.observation_space.shape[0] + 1
        if self.belief is None:
            self.belief = WeightBlocks(*shape, self.variance, "linear", self.noise)
        if self.belief.mean.shape != shape:
            raise ValueError(
                f"{self.name} has learned weights {self.belief.mean.shape} (items, features); this "
                f"environment needs {shape}"
            )
        self._blocks, self._active = np.arange(shape[0]), np.arange(shape[1])

    def act(self, observation, info, explore=True):
        centre, variance = self.belief.sums(
            self._blocks, self._active, np.append(1.0, observation)
        )
        return int(
            (centre + (self.width * np.sqrt(variance) if explore else 0)).argmax()
        )

    def learn(self, transition):
        self.belief.observe(
            np.array([transition.action]),
            self._active,
            np.append(1.0, transition.observation),
            transition.reward,
        )

    def state(self):
        return {} if self.belief is None else self.belief.state()

    def load(self, state):
        self.belief = (
            WeightBlocks(
                *np.shape(state["mean"]), self.variance, "linear", self.noise
            ).load(state)
            if state
            else None
        )


class LinearQ(Agent):
    """Q-learning with a linear function a item of the preference and its squares: it learns what an item leads to.

    discount  weight of the next step's value, 0 to below 1; 0 looks at the next reward only
    rate      step size, divided by the squared length of the features
    epsilon   share of random items in the first episode; it falls as 1 / (1 + episode / half_at), or stays: None
    Source    Watkins & Dayan (1992), Q-learning, Machine Learning 8; with linear functions Sutton & Barto (2018),
              Reinforcement Learning, section 10.1 (semi-gradient)
    """

    name = "linear Q"

    def __init__(
        self,
        discount: float = 0.8,
        rate: float = 0.2,
        epsilon: float = 0.3,
        half_at: float | None = 100,
    ) -> None:
        number("discount", discount, 0, below=1)
        number("epsilon", epsilon, 0, 1)
        self.discount, self.rate, self.epsilon = (
            discount,
            number("rate", rate, 0),
            epsilon,
        )
        self.half_at = (
            math.inf
            if half_at is None
            else number("half_at", half_at, above=0, most=math.inf)
        )
        self.weights, self.episodes = None, 0

    def begin(self, env, seed):
        shape = (
            env.action_space.n,
            quadratic(np.zeros((1, *env.observation_space.shape))).shape[1],
        )
        if self.weights is None:
            self.weights = np.zeros(shape)
        if self.weights.shape != shape:
            raise ValueError(
                f"{self.name} has learned weights {self.weights.shape}; this environment needs {shape}"
            )
        self._rng = own_chance(seed)

    def values(self, observation: np.ndarray) -> np.ndarray:
        """Q of each item (n_items,)."""
        return self.weights @ quadratic(np.asarray(observation)[None])[0]

    def act(self, observation, info, explore=True):
        epsilon = self.epsilon / (1 + self.episodes / self.half_at) if explore else 0.0
        best = int(self.values(observation).argmax())
        item = (
            int(self._rng.integers(len(self.weights)))
            if explore and self._rng.random() < epsilon
            else best
        )
        self.propensity = epsilon / len(self.weights) + (1 - epsilon) * (item == best)
        return item

    def learn(self, transition):
        features = quadratic(np.asarray(transition.observation)[None])[0]
        aim = transition.reward
        if (
            not transition.terminated
        ):  # a time limit is not an end: what would have come still counts
            aim += self.discount * self.values(transition.next_observation).max()
        surprise = aim - self.weights[transition.action] @ features
        self.weights[transition.action] += (
            self.rate * surprise * features / (features @ features)
        )
        self.episodes += transition.terminated or transition.truncated

    def state(self):
        return (
            {}
            if self.weights is None
            else {"weights": self.weights.copy(), "episodes": self.episodes}
        )

    def load(self, state):
        self.weights = np.array(state["weights"], float) if state else None
        self.episodes = int(state.get("episodes", 0))


class Planner(Deterministic):
    """An oracle: sees the true state, knows the user model, and searches for the best items up to the end.

    A beam search: of all ways to go on, the `beam` best are kept at each step, by reward so far plus what repeating the
    best item would earn in the steps that are left. Where beam is at least n_items ** (steps - 1) nothing is left out,
    and the plan is the best there is. It plans anew wherever the user does something else than expected.
    """

    name = "oracle"

    def __init__(self, beam: int = 300) -> None:
        self.beam = whole("beam", beam, 1)

    def begin(self, env, seed):
        self._world = world_of(env, self)
        self._left = self._world.step_per_episode
        self._plan, self._expected = [], None

    def act(self, observation, info, explore=True):
        if not self._plan or not np.allclose(info["state"], self._expected, atol=1e-9):
            self._plan = self.plan(self._world, info["state"], self._left)[0].tolist()
        action = self._plan.pop(0)
        self._expected = self._world.expect(info["state"][None], np.array([action]))[1][
            0
        ]
        self._left -= 1
        return action

    def plan(
        self, world: Any, state: np.ndarray, steps: int
    ) -> tuple[np.ndarray, float]:
        """The best items found, int64 (steps,), and the reward expected of them, from a state (features,)."""
        states, earned, plans = (
            np.asarray(state, float)[None],
            np.zeros(1),
            np.zeros((1, 0), np.int64),
        )
        everything = np.arange(world.n_items)
        for step in range(steps):
            parents, actions = (
                np.repeat(np.arange(len(states)), world.n_items),
                np.tile(everything, len(states)),
            )
            rewards, following = world.expect(states[parents], actions)
            so_far = earned[parents] + rewards
            promise = so_far
            if len(so_far) > self.beam and step < steps - 1:
                ahead, _ = world.expect(
                    np.repeat(following, world.n_items, axis=0),
                    np.tile(everything, len(following)),
                )
                promise = so_far + (steps - step - 1) * ahead.reshape(
                    len(following), -1
                ).max(axis=1)
            kept = np.argsort(-promise, kind="stable")[: self.beam]
            states, earned = following[kept], so_far[kept]
            plans = np.column_stack([plans[parents[kept]], actions[kept]])
        best = int(earned.argmax())
        return plans[best], float(earned[best])
