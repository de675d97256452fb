"""What a policy is worth from each observation on, learned from the log of another policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pushlab.ground.arguments import whole


def quadratic(observations: np.ndarray) -> np.ndarray:
    """Features of observations (rows, features): a 1, the observations, and all their products.

    >>> quadratic(np.array([[2.0, 3.0]])).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    one, other = np.triu_indices(observations.shape[1])
    return np.hstack([np.ones((len(observations), 1)), observations, observations[:, one] * observations[:, other]])


def linear(observations: np.ndarray) -> np.ndarray:
    """Features of observations (rows, features): a 1 and the observations themselves."""
    return np.hstack([np.ones((len(observations), 1)), observations])


def cross_fitted_values(episodes: Any, discount: float = 1.0, folds: int = 5, features: Callable = quadratic,
                        penalty: float = 1.0, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Q̂ (episodes, steps, actions) and V̂ (episodes, steps) under the target, each from the other folds' episodes.

    Fitted Q evaluation from the last step backwards: for each step and action a ridge regression of reward plus the
    next step's V̂ on features of the observation.

    Source  Le, Voloshin & Yue (2019), Batch policy learning under constraints, ICML (fitted Q evaluation).
    """
    count = len(episodes.rewards)
    whole("folds, at most one an episode,", folds, 2, count)
    fold = np.random.default_rng(seed).permutation(count) % folds
    flat = features(episodes.observations.reshape(-1, episodes.observations.shape[2]))
    described = flat.reshape(*episodes.rewards.shape, -1)
    action_values = np.zeros(episodes.target.shape)
    for held_out in range(folds):
        train, test = fold != held_out, fold == held_out
        weights, means = _fit_backwards(episodes, described, train, discount, penalty)
        for step in range(episodes.rewards.shape[1]):
            action_values[test, step] = described[test, step] @ weights[step] + means[step]
    action_values *= episodes.alive[:, :, None]
    return action_values, (episodes.target * action_values).sum(axis=2)


def _fit_backwards(episodes, described, train, discount, penalty):
    """Weights (features, actions) and mean for each step, from the episodes `train`."""
    steps, actions = episodes.target.shape[1:]
    weights, means = np.zeros((steps, described.shape[2], actions)), np.zeros(steps)
    following = np.zeros(train.sum())
    for step in reversed(range(steps)):
        alive = episodes.alive[train, step]
        aims = episodes.rewards[train, step] + discount * following
        seen, taken = described[train, step], episodes.actions[train, step]
        means[step] = aims[alive].mean() if alive.any() else 0.0
        for action in range(actions):
            rows = alive & (taken == action)
            weights[step, :, action] = _ridge(seen[rows], aims[rows] - means[step], penalty)
        values = episodes.target[train, step] * (seen @ weights[step] + means[step])
        following = values.sum(axis=1) * alive
    return weights, means


def _ridge(features, aims, penalty):
    """Weights that minimise squared error plus penalty × squared length."""
    return np.linalg.solve(features.T @ features + penalty * np.eye(features.shape[1]), features.T @ aims)
