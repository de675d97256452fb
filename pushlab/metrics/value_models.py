"""What a policy is worth from each observation on, learned from the log of another policy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pushlab.ground.arguments import whole

WIDE, LEVELS = (
    20,
    20,
)  # most components that are multiplied pairwise; most values that are told apart


def quadratic(observations: np.ndarray) -> np.ndarray:
    """Features of observations (rows, features): a 1, the observations, and all their products.

    >>> quadratic(np.array([[2.0, 3.0]])).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    one, other = np.triu_indices(observations.shape[1])
    return np.hstack(
        [
            np.ones((len(observations), 1)),
            observations,
            observations[:, one] * observations[:, other],
        ]
    )


def linear(observations: np.ndarray) -> np.ndarray:
    """Features of observations (rows, features): a 1 and the observations themselves."""
    return np.hstack([np.ones((len(observations), 1)), observations])


def indicators(observations: np.ndarray) -> np.ndarray:
    """Features of codes (rows, features): a 1, then for each column one 0/1 for each of its values but the lowest.

    A column of more than 20 different values stays as it is.

    >>> indicators(np.array([[2, 0], [4, 0], [9, 1]])).tolist()
    [[1.0, 0.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0], [1.0, 0.0, 1.0, 1.0]]
    """
    values = [np.unique(column) for column in observations.T]
    return np.hstack(
        [np.ones((len(observations), 1))]
        + [
            column[:, None] == found[1:] if len(found) <= LEVELS else column[:, None]
            for column, found in zip(observations.T, values)
        ]
    )


def by_width(observations: np.ndarray) -> np.ndarray:
    """Features of observations (rows, features): `quadratic` up to 20 columns, `indicators` beyond."""
    return (quadratic if observations.shape[1] <= WIDE else indicators)(observations)


def cross_fitted_values(
    episodes: Any,
    discount: float = 1.0,
    folds: int = 5,
    features: Callable = by_width,
    penalty: float = 1.0,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Q̂ (episodes, steps, actions) and V̂ (episodes, steps) under the target, each from the other folds' episodes.

    Fitted Q evaluation from the last step backwards: for each step and action a ridge regression of reward plus the
    next step's V̂ on a 1 and features of the observation. Features are standardised first (mean 0 and deviation 1 over a
    step's training episodes), so that units do not matter; constant ones vanish.

    features  function of the observations of all rows (rows, features) to features (rows, any number)

    Source  Le, Voloshin & Yue (2019), Batch policy learning under constraints, ICML (fitted Q evaluation).
    """
    count, steps = episodes.rewards.shape
    whole("folds, at most one an episode,", folds, 2, count)
    fold = np.random.default_rng(seed).permutation(count) % folds
    # actions that are vectors stand beside the observation: once the one taken, once the target's
    pair = [episodes.observations] + (
        [] if episodes.aimed is None else [episodes.aimed]
    )
    described = features(np.concatenate(pair).reshape(-1, pair[0].shape[2])).reshape(
        len(pair), count, steps, -1
    )
    taken, aimed = described[0], described[-1]
    action_values, aimed_values = np.zeros((2, *episodes.target.shape))
    for held_out in range(folds):
        test = fold == held_out
        models = _fit_backwards(episodes, taken, aimed, ~test, discount, penalty)
        for step, (weights, mean, units) in enumerate(models):
            action_values[test, step] = (
                _standardised(taken[test, step], *units) @ weights + mean
            )
            aimed_values[test, step] = (
                _standardised(aimed[test, step], *units) @ weights + mean
            )
    return action_values * episodes.alive[:, :, None], (
        episodes.target * aimed_values
    ).sum(axis=2)


def _fit_backwards(episodes, taken, aimed, train, discount, penalty):
    """A tuple for each step: weights (1 + features, actions), mean, and what features are centred and scaled by."""
    steps, actions = episodes.target.shape[1:]
    models, following = [], np.zeros(train.sum())
    for step in reversed(range(steps)):
        alive = episodes.alive[train, step]
        aims = episodes.rewards[train, step] + discount * following
        mean, did = (
            aims[alive].mean() if alive.any() else 0.0,
            episodes.actions[train, step],
        )
        units = _units(taken[train, step][alive] if alive.any() else taken[train, step])
        seen, weights = (
            _standardised(taken[train, step], *units),
            np.zeros((1 + taken.shape[2], actions)),
        )
        for action in range(actions):
            rows = alive & (did == action)
            weights[:, action] = _ridge(seen[rows], aims[rows] - mean, penalty)
        # after the end the target's probabilities are 0
        values = _standardised(aimed[train, step], *units) @ weights + mean
        following = (episodes.target[train, step] * values).sum(axis=1)
        models.append((weights, mean, units))
    return models[::-1]


def _units(features):
    """Centre and scale of each feature, its mean and deviation; a constant's scale is infinite."""
    size, deviation = np.sqrt((features**2).mean(axis=0)), features.std(axis=0)
    return features.mean(axis=0), np.where(deviation > 1e-9 * size, deviation, np.inf)


def _standardised(features, centre, scale):
    """A 1 and the features in their units."""
    return np.hstack([np.ones((len(features), 1)), (features - centre) / scale])


def _ridge(features, aims, penalty):
    """Weights that minimise squared error plus penalty × squared length, from the smaller of the two systems."""
    rows, columns = features.shape
    if rows < columns:
        return features.T @ np.linalg.solve(
            features @ features.T + penalty * np.eye(rows), aims
        )
    return np.linalg.solve(
        features.T @ features + penalty * np.eye(columns), features.T @ aims
    )
