"""A log and a target policy as arrays, value models of the target, and a table of all estimates."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.metrics.offpolicy import estimators
from pushlab.utils.arguments import (
    require,
    require_columns,
    require_rows,
    validate_callable,
)

MIN_ESS = 50  # a rule of thumb: below it, weighted intervals are unreliable
MAX_QUADRATIC_COLUMNS = 20
FOLDS = 5


class Episodes(NamedTuple):
    """A log as arrays: one row per episode, one column per step.

    Attributes:
        observations: (episodes, steps, features).
        actions: (episodes, steps), int.
        rewards: (episodes, steps), 0 after the end.
        ratios: (episodes, steps), 1 after the end.
        target: Probabilities of the target policy, (episodes, steps, actions), 0 after the end.
        mask: False after the end, (episodes, steps), bool.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ratios: np.ndarray
    target: np.ndarray
    mask: np.ndarray

    @property
    def ess(self) -> float:
        """Effective sample size of the log for the target, in episodes."""
        weights = self.ratios.prod(axis=1)
        return estimators.effective_sample_size(weights)


def episodes_from_log(log: pd.DataFrame, target: Any) -> Episodes:
    """Return the Episodes of a log under a target policy.

    Raises:
        ValueError: A column or value is invalid; the message names it.
    """
    require_rows(log, "action", table_name="the log")
    log, observations, to_episodes = _in_order(log)
    probabilities = action_probabilities(target, observations, "the target")
    actions = log["action"].to_numpy()
    n_actions = probabilities.shape[1]
    is_integer = actions.dtype.kind in "iu"
    require(
        is_integer and (actions >= 0).all() and (actions < n_actions).all(),
        f"column action must hold integers from 0 to {n_actions - 1}, as the target has {n_actions} actions",
    )
    rows = np.arange(len(log))
    ratios = probabilities[rows, actions] / log["propensity"]
    rewards = log["reward"].to_numpy(float)
    return Episodes(
        observations=to_episodes(observations),
        actions=to_episodes(actions),
        rewards=to_episodes(rewards),
        ratios=to_episodes(ratios.to_numpy(), 1),
        target=to_episodes(probabilities),
        mask=to_episodes(np.ones(len(log), bool)),
    )


def _in_order(log):
    """Return the sorted log, its observations (rows, features), and a function that arranges values by episode."""
    require_columns(
        log, "episode", "step", "reward", "propensity", table_name="the log"
    )
    log = log.sort_values(["episode", "step"], kind="stable")
    obs_names = [name for name in log.columns if name.startswith("obs.")]
    _validate_numbers(log, ["propensity", "step", "reward", *obs_names])
    row = np.unique(log["episode"].to_numpy(), return_inverse=True)[1]
    column = log.groupby("episode", sort=False).cumcount().to_numpy()
    is_wrong = log["step"].to_numpy() != column
    require(
        not is_wrong.any(),
        f"column step, row {log.index[is_wrong.argmax()]}: steps of an episode must be 0, 1, 2, … "
        "without a gap or a repetition; give each run its own episode numbers",
    )
    require(row.max() > 0, "an estimate needs at least 2 episodes; the log has one")
    n_episodes = row.max() + 1
    n_steps = column.max() + 1

    def to_episodes(values, after_end=0):
        shape = (n_episodes, n_steps, *values.shape[1:])
        arranged = np.full(shape, after_end, values.dtype)
        arranged[row, column] = values
        return arranged

    observations = log[obs_names].to_numpy(float)
    return log, observations, to_episodes


def _validate_numbers(log, names):
    """Raise ValueError unless these columns are finite, and the first of them, propensities, above 0 and at most 1."""
    values = log[names].to_numpy(float)
    propensities = values[:, 0]
    is_valid = np.isfinite(values)
    is_valid[:, 0] &= (propensities > 0) & (propensities <= 1)
    if is_valid.all():
        return
    row, column = np.argwhere(~is_valid)[0]
    raise ValueError(
        f"column {names[column]}, row {log.index[row]}: {values[row, column]} is not valid; numbers must be "
        "finite, and propensities above 0 and at most 1"
    )


def action_probabilities(
    policy: Any,
    observations: np.ndarray,
    name: str = "the policy",
) -> np.ndarray:
    """Return a policy's probabilities (rows, actions) for observations (rows, features).

    Raises:
        ValueError: The probabilities are invalid; the message has the `name`.
    """
    function = getattr(policy, "probabilities", policy)
    validate_callable(name, function)
    probabilities = np.asarray(function(observations), float)
    require(
        probabilities.ndim == 2
        and len(probabilities) == len(observations)
        and (probabilities >= 0).all()
        and np.allclose(probabilities.sum(axis=1), 1),
        f"{name} must return probabilities ({len(observations)} rows, actions), none below 0, with sum 1 in "
        f"each row; got shape {probabilities.shape}",
    )
    return probabilities


# ---------------------------------------------------------------- value models


def linear(observations: np.ndarray) -> np.ndarray:
    """Return features of observations (rows, features): a 1 and the observations themselves."""
    ones = np.ones((len(observations), 1))
    return np.hstack([ones, observations])


def quadratic(observations: np.ndarray) -> np.ndarray:
    """Return features of observations (rows, features): a 1, the observations, and all their products.

    >>> quadratic(np.array([[2.0, 3.0]])).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    first, second = np.triu_indices(observations.shape[1])
    products = observations[:, first] * observations[:, second]
    return np.hstack([linear(observations), products])


def quadratic_or_linear(observations: np.ndarray) -> np.ndarray:
    """Return features of observations (rows, features): `quadratic` up to 20 columns, `linear` for more."""
    n_columns = observations.shape[1]
    features = quadratic if n_columns <= MAX_QUADRATIC_COLUMNS else linear
    return features(observations)


def cross_fitted_values(
    episodes: Episodes,
    discount: float = 1.0,
    features: Callable = quadratic_or_linear,
    penalty: float = 1.0,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return Q̂ (episodes, steps, actions) and V̂ (episodes, steps) under the target, fitted on the other of five folds.

    Fitted Q evaluation from the last step backwards. For each step and action a ridge regression predicts the reward
    plus the next step's V̂ from a 1 and the features of the observation. Features are standardised first (mean 0 and
    deviation 1 over a step's training episodes), so that units do not matter; constant features become 0.

    Args:
        episodes: The log.
        discount: Discount factor, 0 to 1.
        features: Function of the observations of all rows (rows, features) that returns features (rows, any number).
        penalty: Penalty of the ridge regression.
        seed: Seed of the folds.

    Source:
        Le, Voloshin & Yue (2019), Batch policy learning under constraints, ICML (fitted Q evaluation).
    """
    n_episodes, n_steps = episodes.rewards.shape
    fold = np.random.default_rng(seed).permutation(n_episodes) % FOLDS
    rows = episodes.observations.reshape(n_episodes * n_steps, -1)
    inputs = features(rows).reshape(n_episodes, n_steps, -1)
    action_values = np.zeros(episodes.target.shape)
    for number_of_fold in range(FOLDS):
        is_train = fold != number_of_fold
        next_values = np.zeros(n_episodes)
        for step in reversed(range(n_steps)):
            targets = episodes.rewards[:, step] + discount * next_values
            predicted = _predict_step(
                episodes, step, inputs[:, step], targets, is_train, penalty
            )
            # After the end the target's probabilities are 0.
            next_values = (episodes.target[:, step] * predicted).sum(axis=1)
            action_values[~is_train, step] = predicted[~is_train]
    values = (episodes.target * action_values).sum(axis=2)
    return action_values * episodes.mask[:, :, None], values


def _predict_step(episodes, step, inputs, targets, is_train, penalty):
    """Return the values (episodes, actions) that ridge regressions on the training episodes of a step predict."""
    is_sample = episodes.mask[:, step] & is_train
    has_sample = is_sample.any()
    inputs = _standardised(inputs, is_sample if has_sample else is_train)
    mean = targets[is_sample].mean() if has_sample else 0.0
    predicted = np.empty((len(targets), episodes.target.shape[2]))
    for action in range(predicted.shape[1]):
        is_action = is_sample & (episodes.actions[:, step] == action)
        deviations = targets[is_action] - mean
        weights = _ridge(inputs[is_action], deviations, penalty)
        predicted[:, action] = inputs @ weights + mean
    return predicted


def _standardised(features, rows):
    """Return a 1 and the features, standardised by the mean and deviation of some rows; a constant becomes 0."""
    sample = features[rows]
    mean = sample.mean(axis=0)
    deviation = sample.std(axis=0)
    size = np.sqrt((sample**2).mean(axis=0))
    scale = np.where(deviation > 1e-9 * size, deviation, np.inf)
    return linear((features - mean) / scale)


def _ridge(features, targets, penalty):
    """Return the weights that minimise squared error plus penalty × squared length."""
    square = features.T @ features + penalty * np.eye(features.shape[1])
    return np.linalg.solve(square, features.T @ targets)


# ---------------------------------------------------------------- all estimators


def off_policy(
    log: pd.DataFrame,
    target: Any,
    discount: float = 1.0,
    features: Callable = quadratic_or_linear,
    penalty: float = 1.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate the target's value per episode from a log of another policy, one row per estimator, with 95 % intervals.

    All intervals assume independent episodes. They are too narrow for a policy that learned while it wrote the log, and
    for users who come again. The intervals of SWITCH, DRos and MAGIC have doubly robust's width around the selected
    value. Warns if the effective sample size is below 50, since weighted intervals are unreliable then.

    Args:
        log: DataFrame with episode, step, action, reward, propensity, obs.….
        target: Function of observations (rows, features) that returns probabilities (rows, actions), or an object with
            such a method `probabilities`.
        discount: Discount factor, 0 to 1.
        features, penalty, seed: Settings of the value models, see `cross_fitted_values`.

    Returns:
        A DataFrame of estimator, value, low, high, ess (effective sample size in episodes; NaN for an estimator without
        weights, or whose weights the data select), episodes.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": range(200), "step": 0, "action": [0, 1] * 100, "reward": [0.0, 1.0] * 100,
    ...                     "propensity": 0.5, "obs.0": 1.0})
    >>> table = off_policy(log, lambda observations: np.tile([0.2, 0.8], (len(observations), 1)))
    >>> table.set_index("estimator")["value"].round(2).to_dict()     # truth: 0.8
    {'naive': 0.5, 'direct method': 0.8, 'importance sampling': 0.8, 'self-normalised': 0.8, 'per-decision': 0.8,
     'doubly robust': 0.8, 'SWITCH': 0.8, 'DRos': 0.8, 'MAGIC': 0.8}
    """
    episodes = episodes_from_log(log, target)
    count = len(episodes.rewards)
    require(
        count >= FOLDS,
        f"the value models need at least {FOLDS} episodes; the log has {count}",
    )
    action_values, values = cross_fitted_values(
        episodes, discount, features=features, penalty=penalty, seed=seed
    )
    actions = episodes.actions[:, :, None]
    logged_values = np.take_along_axis(action_values, actions, axis=2)[:, :, 0]
    arrays = (episodes.rewards, episodes.ratios)
    model_arrays = (*arrays, logged_values, values)
    rows = {
        "naive": estimators.naive(episodes.rewards, discount),
        "direct method": estimators.direct_method(values),
        "importance sampling": estimators.importance_sampling(*arrays, discount),
        "self-normalised": estimators.self_normalised(*arrays, discount),
        "per-decision": estimators.per_decision(*arrays, discount),
        "doubly robust": estimators.doubly_robust(*model_arrays, discount),
        "SWITCH": estimators.switch_doubly_robust(*model_arrays, discount=discount),
        "DRos": estimators.doubly_robust_with_shrinkage(
            *model_arrays, discount=discount
        ),
        "MAGIC": estimators.magic(*model_arrays, discount),
    }
    if episodes.ess < MIN_ESS:
        warnings.warn(
            f"effective sample size {episodes.ess:.1f} of {len(values):,} episodes: the log rarely has the "
            "target's actions, so the intervals of weighted estimates are unreliable",
            stacklevel=2,
        )
    index = pd.Index(rows, name="estimator")
    table = pd.DataFrame(rows.values(), index=index)
    return table.reset_index().assign(episodes=len(values))
