"""A log and a target policy as arrays, value models of the target, and all its estimates in a table."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.ground.arguments import demand, has_columns, number, whole
from pushlab.metrics.offpolicy import estimators


class Episodes(NamedTuple):
    """A log as arrays, a row an episode and a column a step.

    Attributes:
        observations: (episodes, steps, features).
        actions: (episodes, steps), int.
        rewards: (episodes, steps), 0 after the end.
        ratios: (episodes, steps), 1 after the end.
        target: The target's probabilities, (episodes, steps, actions), 0 after the end.
        alive: Whether each step was taken, (episodes, steps), bool.
    """

    observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    ratios: np.ndarray
    target: np.ndarray
    alive: np.ndarray

    @property
    def ess(self) -> float:
        """Effective sample size of the log for the target, in episodes."""
        return estimators.effective_sample_size(self.ratios.prod(axis=1))


def episodes_of(log: pd.DataFrame, target: Any) -> Episodes:
    """Return the Episodes of a log under a target policy; ValueError names an invalid column or value."""
    has_columns(log, "action", what="the log")
    log, seen, by_episode = _in_order(log)
    probabilities = probabilities_of(target, seen, "the target")
    actions = log["action"].to_numpy()
    count = probabilities.shape[1]
    is_number = actions.dtype.kind in "iu"
    demand(
        is_number and (actions >= 0).all() and (actions < count).all(),
        f"column action: numbers from 0 to {count - 1}, of which the target gives the probabilities",
    )
    ratios = probabilities[np.arange(len(log)), actions] / log["propensity"]
    return Episodes(
        observations=by_episode(seen),
        actions=by_episode(actions),
        rewards=by_episode(log["reward"].to_numpy(float)),
        ratios=by_episode(ratios.to_numpy(), 1),
        target=by_episode(probabilities),
        alive=by_episode(np.ones(len(log), bool)),
    )


def _in_order(log):
    """Return a log's rows in order, observations (rows, features), and a function that arranges values by episode."""
    has_columns(log, "episode", "step", "reward", "propensity", what="the log")
    log = log.sort_values(["episode", "step"], kind="stable")
    observed = [name for name in log.columns if name.startswith("obs.")]
    names = ["propensity", "step", "reward", *observed]
    values = log[names].to_numpy(float)
    is_valid = np.isfinite(values)
    is_valid[:, 0] &= (values[:, 0] > 0) & (values[:, 0] <= 1)
    if not is_valid.all():
        row, column = np.argwhere(~is_valid)[0]
        raise ValueError(
            f"column {names[column]}, row {log.index[row]}: {values[row, column]} is not valid; numbers are "
            "finite, propensities above 0 and at most 1"
        )
    row = np.unique(log["episode"].to_numpy(), return_inverse=True)[1]
    column = log.groupby("episode", sort=False).cumcount().to_numpy()
    is_wrong = log["step"].to_numpy() != column
    demand(
        not is_wrong.any(),
        f"column step, row {log.index[is_wrong.argmax()]}: the steps of an episode are 0, 1, 2, … "
        "without a gap, each once; number the episodes of several runs apart",
    )
    demand(row.max() > 0, "an estimate needs at least 2 episodes; the log has one")

    def by_episode(values, after_end=0):
        shape = (row.max() + 1, column.max() + 1, *values.shape[1:])
        full = np.full(shape, after_end, values.dtype)
        full[row, column] = values
        return full

    return log, log[observed].to_numpy(float), by_episode


def probabilities_of(
    policy: Any, observations: np.ndarray, who: str = "the policy"
) -> np.ndarray:
    """Return a policy's probabilities (rows, actions) for observations (rows, features); ValueError names `who`."""
    function = getattr(policy, "probabilities", policy)
    probabilities = np.asarray(function(observations), float)
    demand(
        probabilities.ndim == 2
        and len(probabilities) == len(observations)
        and (probabilities >= 0).all()
        and np.allclose(probabilities.sum(axis=1), 1),
        f"{who} returns probabilities ({len(observations)} rows, actions), not below 0 and of sum 1 in "
        f"each row; got {probabilities.shape}",
    )
    return probabilities


# ---------------------------------------------------------------- value models


def linear(observations: np.ndarray) -> np.ndarray:
    """Return features of observations (rows, features): a 1 and the observations themselves."""
    return np.hstack([np.ones((len(observations), 1)), observations])


def quadratic(observations: np.ndarray) -> np.ndarray:
    """Return features of observations (rows, features): a 1, the observations, and all their products.

    >>> quadratic(np.array([[2.0, 3.0]])).tolist()
    [[1.0, 2.0, 3.0, 4.0, 6.0, 9.0]]
    """
    one, other = np.triu_indices(observations.shape[1])
    products = observations[:, one] * observations[:, other]
    return np.hstack([linear(observations), products])


def quadratic_or_linear(observations: np.ndarray) -> np.ndarray:
    """Return features of observations (rows, features): `quadratic` up to 20 columns, `linear` beyond."""
    return (quadratic if observations.shape[1] <= 20 else linear)(observations)


def cross_fitted_values(
    episodes: Episodes,
    discount: float = 1.0,
    folds: int = 5,
    features: Callable = quadratic_or_linear,
    penalty: float = 1.0,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """Return Q̂ (episodes, steps, actions) and V̂ (episodes, steps) under the target, from the other folds' episodes.

    Fitted Q evaluation from the last step backwards: for each step and action a ridge regression of reward plus the
    next step's V̂ on a 1 and features of the observation. Features are standardised first (mean 0 and deviation 1 over a
    step's training episodes), so that units do not matter; constant ones vanish.

    Args:
        episodes: The log.
        discount: Of later rewards, 0 to 1.
        folds: Number of folds, at most one per episode.
        features: Function of the observations of all rows (rows, features) to features (rows, any number).
        penalty: Of the ridge regression.
        seed: Of the folds.

    Source:
        Le, Voloshin & Yue (2019), Batch policy learning under constraints, ICML (fitted Q evaluation).
    """
    count, steps = episodes.rewards.shape
    whole("folds", folds, 2, count)
    fold = np.random.default_rng(seed).permutation(count) % folds
    rows = episodes.observations.reshape(count * steps, -1)
    described = features(rows).reshape(count, steps, -1)
    action_values = np.zeros(episodes.target.shape)
    for held_out in range(folds):
        train = fold != held_out
        following = np.zeros(count)
        for step in reversed(range(steps)):
            alive = episodes.alive[:, step] & train
            known = _standardised(described[:, step], alive if alive.any() else train)
            aims = episodes.rewards[:, step] + discount * following
            mean = aims[alive].mean() if alive.any() else 0.0
            found = np.empty((count, episodes.target.shape[2]))
            for action in range(found.shape[1]):
                chosen = alive & (episodes.actions[:, step] == action)
                weights = _ridge(known[chosen], aims[chosen] - mean, penalty)
                found[:, action] = known @ weights + mean
            # After the end the target's probabilities are 0.
            following = (episodes.target[:, step] * found).sum(axis=1)
            action_values[~train, step] = found[~train]
    values = (episodes.target * action_values).sum(axis=2)
    return action_values * episodes.alive[:, :, None], values


def _standardised(features, rows):
    """Return a 1 and the features in units of some rows: their mean and deviation; a constant becomes 0."""
    sample = features[rows]
    spread = sample.std(axis=0)
    size = np.sqrt((sample**2).mean(axis=0))
    scale = np.where(spread > 1e-9 * size, spread, np.inf)
    return linear((features - sample.mean(axis=0)) / scale)


def _ridge(features, aims, penalty):
    """Return the weights that minimise squared error plus penalty × squared length."""
    square = features.T @ features + penalty * np.eye(features.shape[1])
    return np.linalg.solve(square, features.T @ aims)


# ---------------------------------------------------------------- all at once


def off_policy(
    log: pd.DataFrame,
    target: Any,
    discount: float = 1.0,
    level: float = 0.95,
    features: Callable = quadratic_or_linear,
    penalty: float = 1.0,
    seed: int = 0,
) -> pd.DataFrame:
    """Compute all estimates of the target's value per episode from a log of another policy, one row per estimator.

    All intervals assume independent episodes: a policy that learned while it wrote the log, or users who come again,
    make them too narrow. Those of SWITCH, DRos and MAGIC are as wide as doubly robust's, around the chosen value. Warns
    if the effective sample size is below 50: then weighted intervals promise more than they keep.

    Args:
        log: DataFrame: episode, step, action, reward, propensity, obs.….
        target: Function of observations (rows, features) to probabilities (rows, actions), or an object with such a
            method `probabilities`.
        discount: Of later rewards, 0 to 1.
        level: Coverage of the intervals.
        features, penalty, seed: Of the value models, see `cross_fitted_values`.

    Returns:
        A DataFrame estimator, value, low, high, ess (effective sample size in episodes; NaN if an estimator has no
        weights, or the data choose them), episodes.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": range(200), "step": 0, "action": [0, 1] * 100, "reward": [0.0, 1.0] * 100,
    ...                     "propensity": 0.5, "obs.0": 1.0})
    >>> table = off_policy(log, lambda observations: np.tile([0.2, 0.8], (len(observations), 1)))
    >>> table.set_index("estimator")["value"].round(2).to_dict()     # truth: 0.8
    {'naive': 0.5, 'direct method': 0.8, 'importance sampling': 0.8, 'self-normalised': 0.8, 'per-decision': 0.8,
     'doubly robust': 0.8, 'SWITCH': 0.8, 'DRos': 0.8, 'MAGIC': 0.8}
    """
    how = {"discount": number("discount", discount, 0, 1), "level": level}
    episodes = episodes_of(log, target)
    action_values, values = cross_fitted_values(
        episodes, discount, features=features, penalty=penalty, seed=seed
    )
    actions = episodes.actions[:, :, None]
    taken = np.take_along_axis(action_values, actions, axis=2)[:, :, 0]
    known = (episodes.rewards, episodes.ratios)
    modelled = (*known, taken, values)
    rows = {
        "naive": estimators.naive(episodes.rewards, **how),
        "direct method": estimators.direct_method(values, level),
    }
    for name, function, arrays in (
        ("importance sampling", estimators.importance_sampling, known),
        ("self-normalised", estimators.self_normalised, known),
        ("per-decision", estimators.per_decision, known),
        ("doubly robust", estimators.doubly_robust, modelled),
        ("SWITCH", estimators.switch, modelled),
        ("DRos", estimators.shrunk, modelled),
        ("MAGIC", estimators.magic, modelled),
    ):
        rows[name] = function(*arrays, **how)
    if episodes.ess < 50:  # a rule of thumb
        warnings.warn(
            f"effective sample size {episodes.ess:.1f} of {len(values):,} episodes: the target "
            "does what the log hardly ever shows, and its intervals are not to be trusted",
            stacklevel=2,
        )
    table = pd.DataFrame(rows.values(), index=pd.Index(rows, name="estimator"))
    return table.reset_index().assign(episodes=len(values))
