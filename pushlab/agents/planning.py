"""Agents for dynamical models: always the same dose, a rule of two thresholds, and fitted Q iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, as_generator, own_chance
from pushlab.ground.arguments import function, number, whole
from pushlab.ground.compiled import compiled


class Constant(Deterministic):
    """The same action in every state.

    >>> Constant(3, "both drugs").act(observation=None, info={})
    3
    """

    def __init__(self, action: Any, name: str | None = None) -> None:
        self.action = action
        self.name = name or f"always {action}"

    def act(self, observation, info, explore=True):
        return np.array(self.action) if np.ndim(self.action) else self.action


class BangBang(Deterministic):
    """Full treatment while one observed variable is high, none while it is low, and between the two as before.

    component    which component of the observation is watched
    above        treat once it has reached this value
    below        stop once it has fallen to this one
    on, off      the two actions
    """

    def __init__(
        self,
        component: int,
        above: float,
        below: float,
        on: Any,
        off: Any = 0,
        name: str = "bang-bang",
    ) -> None:
        if not number("below", below) <= number("above", above):
            raise ValueError(
                f"treatment stops at or below the value where it starts, above={above}; got below={below}"
            )
        self.component, self.above, self.below = (
            whole("component", component),
            above,
            below,
        )
        self.on, self.off, self.name = on, off, name

    def begin(self, env, seed):
        self._treating = False

    def act(self, observation, info, explore=True):
        value = observation[self.component]
        self._treating = value >= self.above or (self._treating and value > self.below)
        return self.on if self._treating else self.off


class FittedQIteration(Agent):
    """Learns from stored steps alone what each action is worth, with extremely randomised trees.

    A forest an action maps an observation to the return from there on. Its targets are r + discount * max Q of the
    state that followed, again and again, until rewards far ahead have come through: at a discount of 0.98 that takes
    some hundreds of iterations. Growing trees is the slow part, and the shape of a tree changes little from one
    iteration to the next; so a forest is grown `growths` times, and between two growths only the values in its leaves
    are worked out anew, `sweeps` times: `growths * sweeps` iterations in all. (Where many rewards are equal, grow more
    often: the first forest sees nothing but rewards and cannot part what they do not.)

    actions    number of actions
    discount   worth of a reward one step later
    trees      of each forest
    leaf       fewest steps in a leaf
    explore    share of actions drawn at random while exploring
    see        function of observations (n, …) → inputs of the forests (n, inputs); None takes them as they are
    every      episodes after which it learns anew from all the steps it was shown by learn(); None: only by fit()
    Source     Ernst, Geurts & Wehenkel (2005), JMLR 6, 503-556; the trees kept over iterations as in their section 4.4;
               for HIV Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672
    """

    name = "fitted Q iteration"

    def __init__(
        self,
        actions: int,
        discount: float = 0.98,
        trees: int = 50,
        leaf: int = 2,
        growths: int = 10,
        sweeps: int = 40,
        explore: float = 0.15,
        see: Callable | None = None,
        seed: int = 0,
        every: int | None = None,
    ) -> None:
        self.actions, self.discount = (
            whole("actions", actions, 1),
            number("discount", discount, 0, 1),
        )
        self.trees, self.leaf = whole("trees", trees, 1), whole("leaf", leaf, 1)
        self.growths, self.sweeps = (
            whole("growths", growths, 1),
            whole("sweeps", sweeps, 1),
        )
        self.explore, self.seed = (
            number("explore", explore, 0, 1),
            whole("seed", seed, 0),
        )
        self.see = None if see is None else function("see", see)
        self.every = None if every is None else whole("every", every, 1)
        self.episodes, self.steps, self._fitted = 0, [], 0
        self.forests = None
        self.begin(None, seed)

    def begin(self, env, seed):
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        return int(self.act_each(np.asarray(observation)[None], explore)[0])

    def act_each(self, observations: np.ndarray, explore: bool = True) -> np.ndarray:
        """An action for each of many observations (n, …), int64 (n,); `propensity` is then that of the last."""
        n, share = len(observations), self.explore if explore else 0.0
        chance = self._rng.random(n) < share if explore else np.zeros(n, bool)
        if self.forests is None:
            self.propensity = 1 / self.actions
            return self._rng.integers(self.actions, size=n)
        best = self.values(observations).argmax(axis=1)
        chosen = (
            np.where(chance, self._rng.integers(self.actions, size=n), best)
            if explore
            else best
        )
        self.propensity = share / self.actions + (1 - share) * float(
            chosen[-1] == best[-1]
        )
        return chosen

    def values(self, observations: np.ndarray) -> np.ndarray:
        """What each action is worth, float64 (n, actions)."""
        if self.forests is None:
            raise ValueError("nothing has been learned yet: call fit() first")
        inputs = self._inputs(observations)
        return np.stack(
            [
                _mean_of_leaves(_leaves_of(forest, inputs), worth)
                for forest, worth in zip(self.forests, self._worth)
            ],
            axis=1,
        )

    def _inputs(self, observations):
        inputs = (
            np.asarray(observations, np.float64)
            if self.see is None
            else self.see(np.asarray(observations))
        )
        return np.ascontiguousarray(inputs, np.float32)

    def fit(
        self,
        observations: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        following: np.ndarray,
        terminated: np.ndarray | None = None,
        progress: bool = False,
    ) -> FittedQIteration:
        """Learns from n steps: observations and following (n, …); actions, rewards and, if given, terminated (n,)."""
        self.steps = list(
            zip(
                observations,
                actions,
                rewards,
                following,
                np.zeros(len(rewards), bool) if terminated is None else terminated,
            )
        )
        return self._fit(progress)

    def learn(self, transition):
        """Keeps a step, and after each `every` episodes learns anew from all of them, once each action occurs."""
        if self.every is None:
            return
        self.steps.append(
            (
                transition.observation,
                transition.action,
                transition.reward,
                transition.next_observation,
                transition.terminated,
            )
        )
        self.episodes += transition.terminated or transition.truncated
        if (
            transition.terminated or transition.truncated
        ) and self.episodes % self.every == 0:
            taken = np.bincount(
                [int(action) for _, action, *_ in self.steps], minlength=self.actions
            )
            if taken.min() >= self.leaf:
                self._fit()

    def state(self):
        """`steps`: [observation, action, reward, following, terminated]; `fitted`: to how many of them; `chance`.

        Forests are not written down. They grow again, the same, from the same steps and seed.
        """
        return {
            "steps": [
                [
                    np.asarray(before),
                    int(action),
                    float(reward),
                    np.asarray(after),
                    bool(over),
                ]
                for before, action, reward, after, over in self.steps
            ],
            "fitted": self._fitted,
            "episodes": self.episodes,
            "chance": self._rng,
        }

    def load(self, state):
        steps = [
            (np.array(before), action, reward, np.array(after), over)
            for before, action, reward, after, over in state.get("steps", [])
        ]
        self.forests, self.episodes = None, int(state.get("episodes", 0))
        self.steps, self._fitted = steps[: state.get("fitted", 0)], 0
        if self.steps:
            self._fit()
        self.steps = steps
        if "chance" in state:
            self._rng = as_generator(state["chance"])

    def _fit(self, progress=False):
        from tqdm.auto import tqdm

        observations, actions, rewards, following, terminated = (
            np.array(part) for part in zip(*self.steps)
        )
        inputs, after = self._inputs(observations), self._inputs(following)
        rewards = rewards.astype(np.float64)
        rows = [np.flatnonzero(actions == action) for action in range(self.actions)]
        if min(map(len, rows)) < self.leaf:
            raise ValueError(
                f"each of the {self.actions} actions has to occur at least {self.leaf} times; they occur "
                f"{', '.join(str(len(taken)) for taken in rows)} times"
            )
        going_on = 1.0 - terminated
        target = rewards.copy()
        for growth in tqdm(
            range(self.growths), disable=not progress, desc="growing forests"
        ):
            self._grow(inputs, rows, target, growth)
            here = [
                _leaves_of(forest, inputs[taken])
                for forest, taken in zip(self.forests, rows)
            ]
            there = [_leaves_of(forest, after) for forest in self.forests]
            for _ in range(self.sweeps):
                self._worth = [
                    _fill_leaves(leaves, target[taken], len(worth))
                    for leaves, taken, worth in zip(here, rows, self._worth)
                ]
                best = np.max(
                    [
                        _mean_of_leaves(leaves, worth)
                        for leaves, worth in zip(there, self._worth)
                    ],
                    axis=0,
                )
                target = rewards + self.discount * going_on * best
        self._fitted = len(self.steps)
        return self

    def _grow(self, inputs, rows, target, growth):
        from sklearn.ensemble import ExtraTreesRegressor

        self.forests, self._worth = [], []
        for action, taken in enumerate(rows):
            forest = ExtraTreesRegressor(
                self.trees,
                min_samples_leaf=self.leaf,
                n_jobs=1,
                random_state=100_000 * self.seed + 100 * growth + action,
            )
            forest.fit(inputs[taken], target[taken])
            self.forests.append(forest)
            self._worth.append(
                np.zeros(sum(tree.tree_.node_count for tree in forest.estimators_))
            )


def _leaves_of(forest, inputs):
    """The leaf that each input (n, …) falls into, int64 (n, trees); leaves of all trees are numbered on."""
    counts = [tree.tree_.node_count for tree in forest.estimators_]
    starts = np.cumsum([0, *counts[:-1]])
    leaves = np.empty((len(inputs), len(counts)), np.int64)
    for column, (tree, start) in enumerate(zip(forest.estimators_, starts)):
        leaves[:, column] = tree.tree_.apply(inputs) + start
    return leaves


@compiled
def _fill_leaves(leaves, target, count):
    """The mean target in each leaf, float64 (count,)."""
    total, number = np.zeros(count), np.zeros(count)
    for row in range(leaves.shape[0]):
        for column in range(leaves.shape[1]):
            total[leaves[row, column]] += target[row]
            number[leaves[row, column]] += 1
    return total / np.maximum(number, 1)


@compiled
def _mean_of_leaves(leaves, worth):
    """The mean over trees of what a leaf is worth, float64 (n,)."""
    mean = np.zeros(leaves.shape[0])
    for row in range(leaves.shape[0]):
        for column in range(leaves.shape[1]):
            mean[row] += worth[leaves[row, column]]
    return mean / leaves.shape[1]
