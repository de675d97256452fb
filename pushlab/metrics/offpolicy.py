"""Off-policy estimators: what a policy would have earned, from the log of another one.

A log is a DataFrame with a row a step and the columns episode, step, action (a number from 0), reward, propensity (the
probability with which the behaviour policy chose that action, known because it was written down) and `obs.<name>`;
`pushlab.logs.collect.collect` makes one. The target policy is a function of observations (rows, features) that returns
probabilities (rows, actions).

Every estimator is a plain function of arrays with a row an episode and a column a step, and returns an Estimate;
`off_policy` fits the value models and runs them all.
"""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.ground.arguments import has_columns, number
from pushlab.metrics.estimate import Interval, half_width, mean_interval
from pushlab.metrics.value_models import by_width, cross_fitted_values

ENOUGH = 50     # effective episodes below which an importance-weighted interval is not to be trusted; a rule of thumb


class Estimate(NamedTuple):
    """An estimated value, the ends of its interval, and how many episodes the weights leave (NaN: no weights)."""

    value: float
    low: float
    high: float
    ess: float

    def __str__(self) -> str:
        return f"{self.value:.3g} [{self.low:.3g}, {self.high:.3g}]"


def effective_sample_size(weights: ArrayLike) -> float:
    """How many equally weighted episodes are worth as much: (Σ w)² / Σ w².

    Source  Kong (1992), A note on importance sampling using standardized weights, University of Chicago.

    >>> effective_sample_size([1.0, 1.0, 1.0, 1.0]), effective_sample_size([4.0, 0.0, 0.0, 0.0])
    (4.0, 1.0)
    """
    weights = np.asarray(weights, float)
    squares = (weights**2).sum()
    return float(weights.sum() ** 2 / squares) if squares > 0 else 0.0


# ---------------------------------------------------------------- estimators, on arrays

def naive(rewards: ArrayLike, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Mean return of the log: the value of the policy that wrote it, mistaken for that of the target."""
    return _estimate(_returns(rewards, discount), np.nan, level)


def importance_sampling(rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Each return weighted by how much likelier the target makes the whole episode. No bias, much variance.

    rewards  array (episodes, steps); after the end of a shorter episode 0
    ratios   array (episodes, steps): target's probability of the action taken, divided by its propensity; after the
             end 1
    Source   Precup, Sutton & Singh (2000), Eligibility traces for off-policy policy evaluation, ICML.

    >>> importance_sampling([[1.0], [0.0]], [[2.0], [0.0]]).value
    1.0
    """
    rewards, ratios = _pair(rewards, ratios)
    weights = ratios.prod(axis=1)
    return _estimate(weights * _returns(rewards, discount), effective_sample_size(weights), level)


def self_normalised(rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """The weighted mean of the returns: the weights are divided by their sum. Little bias, less variance.

    rewards, ratios as in `importance_sampling`; the interval is that of a ratio of two means (delta method).

    Source  Precup, Sutton & Singh (2000), weighted importance sampling; Swaminathan & Joachims (2015), NIPS.
    """
    rewards, ratios = _pair(rewards, ratios)
    weights, returns = ratios.prod(axis=1), _returns(rewards, discount)
    ess = effective_sample_size(weights)
    if ess == 0:
        return Estimate(np.nan, np.nan, np.nan, 0.0)
    value = float((weights * returns).sum() / weights.sum())
    return _estimate(weights * (returns - value) / weights.mean(), ess, level, value)


def per_decision(rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Each reward weighted by the actions up to it only, since those after it cannot have changed it.

    rewards, ratios as in `importance_sampling`.

    Source  Precup, Sutton & Singh (2000), per-decision importance sampling.
    """
    rewards, ratios = _pair(rewards, ratios)
    up_to = np.cumprod(ratios, axis=1)
    return _estimate(_returns(up_to * rewards, discount), effective_sample_size(up_to[:, -1]), level)


def direct_method(values: ArrayLike, level: float = 0.95) -> Estimate:
    """What a model of the values says of the first states. No weights, and all of the model's bias.

    values   array (episodes, steps): V̂ of each observation under the target
    returns  the interval covers who came, and knows nothing of the model's error
    """
    return _estimate(np.asarray(values, float)[:, 0], np.nan, level)


def doubly_robust(rewards: ArrayLike, ratios: ArrayLike, action_values: ArrayLike, values: ArrayLike,
                  discount: float = 1.0, level: float = 0.95) -> Estimate:
    """The model's value, corrected by importance-weighted surprises: right if the model or the propensities are.

    rewards, ratios as in `importance_sampling`; action_values and values (episodes, steps): Q̂ of the action taken and
    V̂ of the observation, 0 after the end, from models that were not fitted on the same episodes

    Source  Jiang & Li (2016), Doubly robust off-policy value evaluation for reinforcement learning, ICML; with
            cross-fitting, Kallus & Uehara (2020), Double reinforcement learning, JMLR 21.
    """
    rewards, ratios = _pair(rewards, ratios)
    up_to = np.cumprod(ratios, axis=1)
    before = np.hstack([np.ones((len(up_to), 1)), up_to[:, :-1]])
    corrected = up_to * (rewards - np.asarray(action_values, float)) + before * np.asarray(values, float)
    return _estimate(_returns(corrected, discount), effective_sample_size(up_to[:, -1]), level)


def on_policy_value(log: pd.DataFrame, discount: float = 1.0, level: float = 0.95) -> Interval:
    """What the policy that acted earns in an episode, with Student's t interval: an Interval.

    log  DataFrame with episode, step and reward, such as a rollout of one agent or a log of `pushlab.logs.collect`

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": [0, 0, 1, 1], "step": [0, 1, 0, 1], "reward": [1.0, 1.0, 3.0, 1.0]})
    >>> on_policy_value(log).mean, on_policy_value(log, discount=0.5).mean
    (3.0, 2.5)
    """
    has_columns(log, "episode", "step", "reward", what="the log")
    if log.duplicated(["episode", "step"]).any():
        raise ValueError("an episode has a step twice: take the log of one agent, with its episodes numbered apart")
    return mean_interval((log["reward"] * discount ** log["step"]).groupby(log["episode"]).sum(), level)


def _pair(rewards: ArrayLike, ratios: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    rewards, ratios = np.asarray(rewards, float), np.asarray(ratios, float)
    if rewards.ndim != 2 or rewards.shape != ratios.shape or len(rewards) < 2:
        raise ValueError(f"rewards and ratios are two arrays (episodes, steps) of at least 2 episodes; got "
                         f"{rewards.shape} and {ratios.shape}")
    if not np.isfinite(ratios).all() or (ratios < 0).any():
        raise ValueError("a ratio of probabilities is finite and not below 0; is there a propensity of 0?")
    return rewards, ratios


def _returns(rewards, discount):
    rewards = np.asarray(rewards, float)
    return rewards @ discount ** np.arange(rewards.shape[1])


def _estimate(pulls, ess, level, value=None):
    """The mean of what pulls at a value, or the value that is given, with the interval that their spread gives."""
    value = float(pulls.mean() if value is None else value)
    half = float(half_width(pulls.std(ddof=1), len(pulls), level))
    return Estimate(value, value - half, value + half, ess)


# ---------------------------------------------------------------- a log as arrays

class Episodes(NamedTuple):
    """A log as arrays, a row an episode and a column a step; `alive` tells which steps were taken."""

    observations: np.ndarray    # (episodes, steps, features)
    actions: np.ndarray         # (episodes, steps) int
    rewards: np.ndarray         # (episodes, steps), 0 after the end
    ratios: np.ndarray          # (episodes, steps), 1 after the end
    target: np.ndarray          # (episodes, steps, actions), the target's probabilities, 0 after the end
    alive: np.ndarray           # (episodes, steps) bool
    aimed: np.ndarray | None = None     # of actions that are vectors: observations with the target's action beside them

    @property
    def ess(self) -> float:
        """Effective sample size of the log for the target, in episodes."""
        return effective_sample_size(self.ratios.prod(axis=1))


def episodes_of(log: pd.DataFrame, target: Any) -> Episodes:
    """The Episodes of a log under a target policy; ValueError names a column or value that will not do."""
    has_columns(log, "episode", "step", "action", "reward", "propensity", what="the log")
    observations = [column for column in log.columns if column.startswith("obs.")]
    log = log.sort_values(["episode", "step"], kind="stable")
    propensity, seen = log["propensity"].to_numpy(float), log[observations].to_numpy(float)
    possible = (propensity > 0) & (propensity <= 1)
    if not possible.all():
        at = int(np.argmin(possible))
        raise ValueError(f"column propensity, row {at}: {propensity[at]} is no probability above 0")
    row = np.unique(log["episode"].to_numpy(), return_inverse=True)[1]
    column = log.groupby("episode", sort=False).cumcount().to_numpy()
    if log.duplicated(["episode", "step"]).any():
        raise ValueError("an episode has a step twice: number the episodes of several runs apart")
    probabilities = _probabilities(target, seen)
    actions = log["action"].to_numpy()
    if actions.dtype.kind not in "iu" or (actions < 0).any() or (actions >= probabilities.shape[1]).any():
        raise ValueError(f"column action: numbers from 0 to {probabilities.shape[1] - 1}, of which the target says how "
                         "likely they are")
    ratios = probabilities[np.arange(len(log)), actions] / propensity
    alive = np.zeros((row.max() + 1, column.max() + 1), bool)
    alive[row, column] = True

    def laid_out(values, after_end=0):
        full = np.full((*alive.shape, *values.shape[1:]), after_end, values.dtype)
        full[row, column] = values
        return full

    return Episodes(laid_out(seen), laid_out(actions), laid_out(log["reward"].to_numpy(float)), laid_out(ratios, 1),
                    laid_out(probabilities), alive)


def _probabilities(target, observations):
    """The target's probabilities (rows, actions), checked."""
    probabilities = np.asarray(getattr(target, "probabilities", target)(observations), float)
    if probabilities.ndim != 2 or len(probabilities) != len(observations):
        raise ValueError(f"the target returns probabilities (rows, actions) for {len(observations)} rows; got "
                         f"{probabilities.shape}")
    if (probabilities < 0).any() or not np.allclose(probabilities.sum(axis=1), 1):
        raise ValueError("the target's probabilities are not below 0 and sum to 1 in each row")
    return probabilities


# ---------------------------------------------------------------- all at once

def off_policy(log: pd.DataFrame, target: Any, discount: float = 1.0, level: float = 0.95, folds: int = 5,
               features: Callable = by_width, penalty: float = 1.0, seed: int = 0) -> pd.DataFrame:
    """All estimates of the target's value per episode from a log of another policy, a DataFrame, a row an estimator.

    log       DataFrame: episode, step, action, reward, propensity, obs.…
    target    function of observations (rows, features) to probabilities (rows, actions), or has such a method
              `probabilities`
    discount  of later rewards, 0 to 1
    folds, features, penalty, seed   of the value models, see `pushlab.metrics.value_models.cross_fitted_values`
    returns   columns estimator, value, low, high, ess (effective sample size in episodes), episodes

    Warns if the effective sample size is below 50: then weighted intervals promise more than they keep.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": range(200), "step": 0, "action": [0, 1] * 100, "reward": [0.0, 1.0] * 100,
    ...                     "propensity": 0.5, "obs.0": 1.0})
    >>> table = off_policy(log, lambda observations: np.tile([0.2, 0.8], (len(observations), 1)))
    >>> table.set_index("estimator")["value"].round(2).to_dict()     # truth: 0.8
    {'naive': 0.5, 'direct method': 0.8, 'importance sampling': 0.8, 'self-normalised': 0.8, 'per-decision': 0.8,
     'doubly robust': 0.8}
    """
    number("discount", discount, 0, 1)
    episodes = episodes_of(log, target)
    action_values, values = cross_fitted_values(episodes, discount, folds, features, penalty, seed)
    taken = np.take_along_axis(action_values, episodes.actions[:, :, None], axis=2)[:, :, 0]
    known = episodes.rewards, episodes.ratios
    rows = {"naive": naive(episodes.rewards, discount, level), "direct method": direct_method(values, level),
            "importance sampling": importance_sampling(*known, discount, level),
            "self-normalised": self_normalised(*known, discount, level),
            "per-decision": per_decision(*known, discount, level),
            "doubly robust": doubly_robust(*known, taken, values, discount, level)}
    if episodes.ess < ENOUGH:
        warnings.warn(f"effective sample size {episodes.ess:.1f} of {len(episodes.rewards):,} episodes: the target "
                      "does what the log hardly ever shows, and its intervals are not to be trusted", stacklevel=2)
    table = pd.DataFrame([{"estimator": name, **row._asdict()} for name, row in rows.items()])
    return table.assign(episodes=len(episodes.rewards))
