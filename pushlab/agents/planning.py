"""Agents for dynamical models: always the same action, a rule with two thresholds, and fitted Q iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, own_chance
from pushlab.ground.arguments import demand, function, number, whole


class Constant(Deterministic):
    """The same action in every state.

    >>> Constant(3, "both drugs").act(observation=None, info={})
    3
    """

    def __init__(
        self,
        action: Any,
        name: str | None = None,
    ):
        self.action = action
        self.name = name or f"always {action}"

    def act(self, observation, info, explore=True):
        return self.action


class BangBang(Deterministic):
    """Full treatment while one observed variable is high, none while it is low, and between the two as before.

    Args:
        component: Component of the observation.
        above: Treatment starts when it has reached this value.
        below: Treatment stops when it has fallen to this value, at most `above`.
        on, off: The two actions.
        name: Label in logs and pictures.
    """

    def __init__(
        self,
        component: int,
        above: float,
        below: float,
        on: Any,
        off: Any = 0,
        name: str = "bang-bang",
    ):
        self.component = whole("component", component)
        self.above = number("above", above)
        self.below = number("below", below, most=above)
        self.on = on
        self.off = off
        self.name = name

    def begin(self, env, seed):
        self._is_treating = False

    def act(self, observation, info, explore=True):
        value = observation[self.component]
        threshold_reached = value >= self.above
        self._is_treating = threshold_reached or (
            self._is_treating and value > self.below
        )
        return self.on if self._is_treating else self.off


class FittedQIteration(Agent):
    """Learns the value of each action from stored steps, with extremely randomised trees.

    One forest per action maps an observation to the return from there on. Its targets are r + discount * max Q of the
    following state, again and again, until rewards far ahead have propagated: at a discount of 0.98 that takes some
    hundreds of iterations. Growing trees is the slow part, and the shape of a tree changes little from one iteration
    to the next. So a forest is grown `growths` times, and between two growths only the values in its leaves are
    computed again, `sweeps` times: `growths * sweeps` iterations in all. (If many rewards are equal, grow more often:
    the first forest sees only rewards and can't separate equal ones.)

    Args:
        actions: Number of actions.
        discount: Weight of a reward one step later.
        trees: Number of trees in each forest.
        leaf: Minimal number of steps in a leaf.
        growths, sweeps: See above.
        see: Function of observations (n, …) that returns inputs of the forests (n, inputs), or None.
        seed: Seed of the forests.
        every: Number of episodes after which it learns again from all steps that `learn` got; None: only in `fit`.

    Attributes:
        explore: Share of actions drawn at random while exploring.

    Source:
        Ernst, Geurts & Wehenkel (2005), JMLR 6, 503-556; trees that stay over iterations as in their section 4.4; for
        HIV Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672.
    """

    name = "fitted Q iteration"
    explore = 0.15
    saved = {"steps": list, "fitted": int, "episodes": int}

    def __init__(
        self,
        actions: int,
        discount: float = 0.98,
        trees: int = 50,
        leaf: int = 2,
        growths: int = 10,
        sweeps: int = 40,
        see: Callable | None = None,
        seed: int = 0,
        every: int | None = None,
    ):
        self.actions = whole("actions", actions, 1)
        self.discount = number("discount", discount, 0, 1)
        self.trees = whole("trees", trees, 1)
        self.leaf = whole("leaf", leaf, 1)
        self.growths = whole("growths", growths, 1)
        self.sweeps = whole("sweeps", sweeps, 1)
        self.see = see and function("see", see)
        self.seed = whole("seed", seed, 0)
        self.every = None if every is None else whole("every", every, 1)
        self.episodes = 0
        self.steps = []
        self.fitted = 0  # number of steps in the forests
        self.forests = None
        self.begin(None, seed)

    def begin(self, env, seed):
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        observations = np.asarray(observation)[None]
        return int(self.act_each(observations, explore)[0])

    def act_each(
        self,
        observations: np.ndarray,
        explore: bool = True,
    ) -> np.ndarray:
        """Return an action for each observation (n, …), int64 (n,); `propensity` is then that of the last."""
        n = len(observations)
        share = self.explore if explore else 0.0
        is_random = np.zeros(n, bool)
        if explore:
            is_random = self._rng.random(n) < share
        if self.forests is None:
            self.propensity = 1 / self.actions
            return self._rng.integers(self.actions, size=n)
        best = self.values(observations).argmax(axis=1)
        chosen = best
        if explore:
            drawn = self._rng.integers(self.actions, size=n)
            chosen = np.where(is_random, drawn, best)
        is_best = float(chosen[-1] == best[-1])
        self.propensity = share / self.actions + (1 - share) * is_best
        return chosen

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return the value of each action, float64 (n, actions)."""
        demand(self.forests is not None, "nothing has been learned: call fit() first")
        leaves = self._leaves_of_all(self._inputs(observations))
        worth = map(_mean_over_trees, leaves, self._worth)
        return np.stack([*worth], axis=1)

    def _inputs(self, observations):
        inputs = np.asarray(observations)
        if self.see is not None:
            inputs = self.see(inputs)
        return np.ascontiguousarray(inputs, np.float32)

    def fit(
        self,
        observations: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        following: np.ndarray,
        terminated: np.ndarray | None = None,
    ) -> FittedQIteration:
        """Learn from n steps: observations and following (n, …); actions, rewards and, if given, terminated (n,)."""
        if terminated is None:
            terminated = np.zeros(len(rewards), bool)
        columns = observations, actions, rewards, following, terminated
        self.steps = [*zip(*columns)]
        return self._fit()

    def learn(self, transition):
        """Store a step; after each `every` episodes learn again from all of them, once each action occurs."""
        if self.every is None:
            return
        before, _, action, reward, after, _, terminated, truncated = transition
        self.steps.append((before, action, reward, after, terminated))
        if not (terminated or truncated):
            return
        self.episodes += 1
        if self.episodes % self.every == 0:
            taken = [int(action) for _, action, *_ in self.steps]
            counts = np.bincount(taken, minlength=self.actions)
            if counts.min() >= self.leaf:
                self._fit()

    def load(self, state):
        """Restore a state; the forests grow again, the same, from the same steps and seed."""
        super().load(state)
        self.forests = None
        steps = self.steps
        self.steps = steps[: self.fitted]
        if self.steps:
            self._fit()
        self.steps = steps

    def _fit(self):
        columns = map(np.array, zip(*self.steps))
        observations, actions, rewards, following, terminated = columns
        inputs = self._inputs(observations)
        after = self._inputs(following)
        rewards = rewards.astype(np.float64)
        rows = [np.flatnonzero(actions == action) for action in range(self.actions)]
        counts = [*map(len, rows)]
        demand(
            min(counts) >= self.leaf,
            f"each of the {self.actions} actions has to occur at least {self.leaf} times; they occur "
            f"{', '.join(map(str, counts))} times",
        )
        going_on = 1.0 - terminated
        target = rewards.copy()
        for growth in range(self.growths):
            self._grow(inputs, rows, target, growth)
            here = [
                _leaves_of(forest, inputs[taken])
                for forest, taken in zip(self.forests, rows)
            ]
            there = self._leaves_of_all(after)
            for _ in range(self.sweeps):
                self._worth = [
                    _mean_by_leaf(leaves, target[taken], len(worth))
                    for leaves, taken, worth in zip(here, rows, self._worth)
                ]
                worth = map(_mean_over_trees, there, self._worth)
                best = np.max([*worth], axis=0)
                target = rewards + self.discount * going_on * best
        self.fitted = len(self.steps)
        return self

    def _grow(self, inputs, rows, target, growth):
        from sklearn.ensemble import ExtraTreesRegressor

        self.forests = []
        self._worth = []
        for action, taken in enumerate(rows):
            forest = ExtraTreesRegressor(
                self.trees,
                min_samples_leaf=self.leaf,
                n_jobs=1,
                random_state=100_000 * self.seed + 100 * growth + action,
            )
            forest.fit(inputs[taken], target[taken])
            self.forests.append(forest)
            size = sum(tree.tree_.node_count for tree in forest.estimators_)
            self._worth.append(np.zeros(size))

    def _leaves_of_all(self, inputs):
        return [_leaves_of(forest, inputs) for forest in self.forests]


def _leaves_of(forest, inputs):
    """Return the leaf of each input (n, …) in each tree, int64 (trees, n); leaves are numbered over all trees."""
    counts = [tree.tree_.node_count for tree in forest.estimators_]
    starts = np.cumsum([0, *counts[:-1]])
    leaves = [tree.tree_.apply(inputs) for tree in forest.estimators_]
    return np.stack(leaves) + starts[:, None]


def _mean_by_leaf(leaves, target, size):
    """Return the mean target in each leaf, float64 (size,)."""
    targets = np.tile(target, len(leaves))
    total = np.bincount(leaves.ravel(), targets, size)
    count = np.bincount(leaves.ravel(), minlength=size)
    return total / np.maximum(count, 1)


def _mean_over_trees(leaves, worth):
    """Return the mean over trees of the value of a leaf, float64 (n,)."""
    return worth[leaves].sum(axis=0) / len(leaves)
