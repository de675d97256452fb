"""Agents for dynamical models: a constant action, a rule with two thresholds, and fitted Q iteration."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, agent_rng
from pushlab.utils.arguments import (
    require,
    validate_callable,
    validate_integer,
    validate_number,
)


class Constant(Deterministic):
    """Takes the same action in every state.

    >>> Constant(3, "both drugs").act(observation=None, info={})
    3
    """

    def __init__(
        self,
        action: Any,
        name: str = "",
    ):
        self.action = action
        self.name = name or f"always {action}"

    def act(self, observation, info, explore=True):
        return self.action


class BangBang(Deterministic):
    """Treats fully above one threshold of an observed variable, not at all below another; in between it continues.

    Args:
        component: Index of the variable in the observation.
        above: Treatment starts when the variable has reached this value.
        below: Treatment stops when the variable has fallen to this value, at most `above`.
        on, off: Actions during and without treatment.
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
        self.component = validate_integer("component", component)
        self.above = validate_number("above", above)
        self.below = validate_number("below", below, maximum=above)
        self.on = on
        self.off = off
        self.name = name

    def begin(self, env, seed):
        self._is_treating = False

    def act(self, observation, info, explore=True):
        value = observation[self.component]
        continues = self._is_treating and value > self.below
        self._is_treating = value >= self.above or continues
        return self.on if self._is_treating else self.off


class FittedQIteration(Agent):
    """Learns the value of each action from stored steps, with extremely randomised trees.

    One forest per action maps an observation to the return. Its targets, reward + discount * max Q(next observation),
    are computed iteratively until distant rewards have propagated. At a discount of 0.98 this takes some hundreds of
    iterations. Growing trees is slow, and their shape changes little between iterations. So the forests are grown only
    `forest_fits` times. After each growth the values of their leaves are updated `iterations_per_fit` times, which
    gives `forest_fits * iterations_per_fit` iterations in total. If many rewards are equal, grow more often: the first
    forests fit only the rewards, and can't separate equal ones.

    Args:
        actions: Number of actions.
        discount: Weight of a reward one step later.
        trees: Number of trees in each forest.
        min_samples_leaf: Minimal number of steps in a leaf.
        forest_fits: Number of times that the forests are grown.
        iterations_per_fit: Number of updates of the leaf values after each growth.
        transform: Function of observations (n, …) that returns inputs of the forests (n, inputs), or None.
        seed: Seed of the forests.
        fit_every: Number of episodes after which `learn` fits again to all stored steps. If it is None, only `fit`
            learns.

    Attributes:
        epsilon: Fraction of random actions while exploring.

    Source:
        Ernst, Geurts & Wehenkel (2005), JMLR 6, 503-556; trees that stay over iterations as in their section 4.4; for
        HIV Ernst, Stan, Gonçalves & Wehenkel (2006), Proc. 45th IEEE CDC, 667-672.
    """

    name = "fitted Q iteration"
    epsilon = 0.15
    state_attributes = {"steps": list, "n_fitted": int, "episodes": int}

    def __init__(
        self,
        actions: int,
        discount: float = 0.98,
        trees: int = 50,
        min_samples_leaf: int = 2,
        forest_fits: int = 10,
        iterations_per_fit: int = 40,
        transform: Callable | None = None,
        seed: int = 0,
        fit_every: int | None = None,
    ):
        self.actions = validate_integer("actions", actions, 1)
        self.discount = validate_number("discount", discount, 0, 1)
        self.trees = validate_integer("trees", trees, 1)
        self.min_samples_leaf = validate_integer(
            "min_samples_leaf", min_samples_leaf, 1
        )
        self.forest_fits = validate_integer("forest_fits", forest_fits, 1)
        self.iterations_per_fit = validate_integer(
            "iterations_per_fit", iterations_per_fit, 1
        )
        self.transform = transform and validate_callable("transform", transform)
        self.seed = validate_integer("seed", seed, 0)
        self.fit_every = (
            None if fit_every is None else validate_integer("fit_every", fit_every, 1)
        )
        self.episodes = 0
        self.steps = []
        self.n_fitted = 0  # number of steps that the forests were fitted to
        self.forests = None
        self.begin(None, seed)

    def begin(self, env, seed):
        self._rng = agent_rng(seed)

    def act(self, observation, info, explore=True):
        observations = np.asarray(observation)[None]
        return int(self.act_each(observations, explore)[0])

    def act_each(
        self,
        observations: np.ndarray,
        explore: bool = True,
    ) -> np.ndarray:
        """Return an action for each observation (n, …), int64 (n,), and set `propensity` to that of the last."""
        n = len(observations)
        epsilon = self.epsilon if explore else 0.0
        is_random = np.zeros(n, bool)
        if explore:
            is_random = self._rng.random(n) < epsilon
        if self.forests is None:
            self.propensity = 1 / self.actions
            return self._rng.integers(self.actions, size=n)
        best = self.values(observations).argmax(axis=1)
        actions = best
        if explore:
            random_actions = self._rng.integers(self.actions, size=n)
            actions = np.where(is_random, random_actions, best)
        is_best = float(actions[-1] == best[-1])
        self.propensity = epsilon / self.actions + (1 - epsilon) * is_best
        return actions

    def values(self, observations: np.ndarray) -> np.ndarray:
        """Return the value of each action, float64 (n, actions)."""
        require(self.forests is not None, "no values yet: call fit() first")
        leaves = self._all_leaves(self._inputs(observations))
        values = map(_mean_over_trees, leaves, self._leaf_values)
        return np.stack([*values], axis=1)

    def _inputs(self, observations):
        inputs = np.asarray(observations)
        if self.transform is not None:
            inputs = self.transform(inputs)
        return np.ascontiguousarray(inputs, np.float32)

    def fit(
        self,
        observations: np.ndarray,
        actions: np.ndarray,
        rewards: np.ndarray,
        following: np.ndarray,
        terminated: np.ndarray | None = None,
    ) -> FittedQIteration:
        """Fit to n steps: observations and following ones (n, …); actions, rewards and terminated (n,)."""
        if terminated is None:
            terminated = np.zeros(len(rewards), bool)
        columns = observations, actions, rewards, following, terminated
        self.steps = [*zip(*columns)]
        return self._fit()

    def learn(self, transition):
        """Store a step, and fit to all steps after each `fit_every` episodes.

        It waits until each action occurs at least `min_samples_leaf` times.
        """
        if self.fit_every is None:
            return
        observation, _, action, reward, following, _, terminated, truncated = transition
        self.steps.append((observation, action, reward, following, terminated))
        if not (terminated or truncated):
            return
        self.episodes += 1
        if self.episodes % self.fit_every == 0:
            actions = [int(action) for _, action, *_ in self.steps]
            counts = np.bincount(actions, minlength=self.actions)
            if counts.min() >= self.min_samples_leaf:
                self._fit()

    def load(self, state):
        """Restore a state. The same forests grow again from the same steps and seed."""
        super().load(state)
        self.forests = None
        steps = self.steps
        self.steps = steps[: self.n_fitted]
        if self.steps:
            self._fit()
        self.steps = steps

    def _fit(self):
        columns = map(np.array, zip(*self.steps))
        observations, actions, rewards, following, terminated = columns
        inputs = self._inputs(observations)
        next_inputs = self._inputs(following)
        rewards = rewards.astype(np.float64)
        rows = [np.flatnonzero(actions == action) for action in range(self.actions)]
        counts = [*map(len, rows)]
        require(
            min(counts) >= self.min_samples_leaf,
            f"each of the {self.actions} actions must occur at least {self.min_samples_leaf} times; they occur "
            f"{', '.join(map(str, counts))} times",
        )
        continuation = 1.0 - terminated
        target = rewards.copy()
        for growth in range(self.forest_fits):
            self._grow(inputs, rows, target, growth)
            leaves = [
                _leaf_indices(forest, inputs[action_rows])
                for forest, action_rows in zip(self.forests, rows)
            ]
            next_leaves = self._all_leaves(next_inputs)
            for _ in range(self.iterations_per_fit):
                self._leaf_values = [
                    _mean_by_leaf(action_leaves, target[action_rows], len(values))
                    for action_leaves, action_rows, values in zip(
                        leaves, rows, self._leaf_values
                    )
                ]
                values = map(_mean_over_trees, next_leaves, self._leaf_values)
                best = np.max([*values], axis=0)
                target = rewards + self.discount * continuation * best
        self.n_fitted = len(self.steps)
        return self

    def _grow(self, inputs, rows, target, growth):
        """Fit a new forest for each action."""
        from sklearn.ensemble import ExtraTreesRegressor

        self.forests = []
        self._leaf_values = []
        for action, action_rows in enumerate(rows):
            forest = ExtraTreesRegressor(
                self.trees,
                min_samples_leaf=self.min_samples_leaf,
                n_jobs=1,
                random_state=100_000 * self.seed + 100 * growth + action,
            )
            forest.fit(inputs[action_rows], target[action_rows])
            self.forests.append(forest)
            n_nodes = sum(tree.tree_.node_count for tree in forest.estimators_)
            self._leaf_values.append(np.zeros(n_nodes))

    def _all_leaves(self, inputs):
        return [_leaf_indices(forest, inputs) for forest in self.forests]


def _leaf_indices(forest, inputs):
    """Return the leaf of each input (n, …) in each tree, int64 (trees, n), numbered consecutively over all trees."""
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


def _mean_over_trees(leaves, leaf_values):
    """Return the mean over trees of the leaf values, float64 (n,)."""
    return leaf_values[leaves].mean(axis=0)
