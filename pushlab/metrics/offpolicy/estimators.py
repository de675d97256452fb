"""Off-policy estimators on arrays (episodes, steps).

The arguments are the same everywhere:

- `rewards`: after the end of a shorter episode 0
- `ratios`: the target's probability of the action taken, divided by its propensity; after the end 1
- `action_values`: Q̂ of the action taken under the target, from a model that was not fitted on the
  same episodes
- `values`: V̂ of the observation, likewise; 0 after the end
- `discount`: of later rewards, 0 to 1
- `level`: coverage of the interval
"""

from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.ground.arguments import demand, has_columns, number, numbers
from pushlab.metrics.estimate import Interval, half_width, mean_interval


class Estimate(NamedTuple):
    """An estimated value, the ends of its interval, and the effective sample size in episodes (NaN: no weights)."""

    value: float
    low: float
    high: float
    ess: float


def effective_sample_size(weights: ArrayLike) -> float:
    """Number of equally weighted episodes that are worth as much: (Σ w)² / Σ w².

    Source:
        Kong (1992), A note on importance sampling using standardized weights, University of Chicago.

    >>> effective_sample_size([1.0, 1.0, 1.0, 1.0]), effective_sample_size([4.0, 0.0, 0.0, 0.0])
    (4.0, 1.0)
    """
    weights = np.asarray(weights, float)
    squares = (weights**2).sum()
    return float(weights.sum() ** 2 / squares) if squares > 0 else 0.0


def on_policy_value(
    log: pd.DataFrame, discount: float = 1.0, level: float = 0.95
) -> Interval:
    """Compute the mean return of the policy that acted, with Student's t interval.

    Args:
        log: DataFrame with episode, step and reward, such as a rollout of one agent or a log of `pushlab.logs.collect`.
        discount: Of later rewards, 0 to 1.
        level: Coverage of the interval.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": [0, 0, 1, 1], "step": [0, 1, 0, 1], "reward": [1.0, 1.0, 3.0, 1.0]})
    >>> on_policy_value(log).mean, on_policy_value(log, discount=0.5).mean
    (3.0, 2.5)
    """
    has_columns(log, "episode", "step", "reward", what="the log")
    demand(
        not log.duplicated(["episode", "step"]).any(),
        "an episode has a step twice: take the log of one agent, with its episodes numbered apart",
    )
    worth = number("discount", discount, 0, 1) ** log["step"]
    returns = (log["reward"] * worth).groupby(log["episode"]).sum()
    return mean_interval(returns, level)


# ---------------------------------------------------------------- weights


def naive(rewards: ArrayLike, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Mean return of the log: the value of the policy that wrote it, mistaken for that of the target."""
    return _estimate(_returns(rewards, discount), np.nan, level)


def importance_sampling(
    rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95
) -> Estimate:
    """Each return weighted by how much likelier the target makes the whole episode. No bias, much variance.

    Source:
        Precup, Sutton & Singh (2000), Eligibility traces for off-policy policy evaluation, ICML.

    >>> importance_sampling([[1.0], [0.0]], [[2.0], [0.0]]).value
    1.0
    """
    rewards, ratios = _pair(rewards, ratios)
    weights = ratios.prod(axis=1)
    returns = _returns(rewards, discount)
    return _estimate(weights * returns, effective_sample_size(weights), level)


def self_normalised(
    rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95
) -> Estimate:
    """The weighted mean of the returns: the weights are divided by their sum. Little bias, less variance.

    The interval is that of a ratio of two means (delta method).

    Source:
        Precup, Sutton & Singh (2000), weighted importance sampling; Swaminathan & Joachims (2015), NIPS.
    """
    rewards, ratios = _pair(rewards, ratios)
    weights = ratios.prod(axis=1)
    returns = _returns(rewards, discount)
    ess = effective_sample_size(weights)
    if ess == 0:
        return Estimate(np.nan, np.nan, np.nan, 0.0)
    value = (weights * returns).sum() / weights.sum()
    parts = weights * (returns - value) / weights.mean()
    return _estimate(parts, ess, level, value)


def per_decision(
    rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95
) -> Estimate:
    """Each reward weighted by the actions up to it only, since those after it cannot have changed it.

    Source:
        Precup, Sutton & Singh (2000), per-decision importance sampling.
    """
    rewards, ratios = _pair(rewards, ratios)
    weights = np.cumprod(ratios, axis=1)
    ess = effective_sample_size(weights[:, -1])
    return _estimate(_returns(weights * rewards, discount), ess, level)


# ---------------------------------------------------------------- models and weights


def direct_method(values: ArrayLike, level: float = 0.95) -> Estimate:
    """A model's values of the first observations. No weights, and all of the model's bias.

    The interval ranges over first observations, and ignores the model's error.
    """
    values = np.asarray(values, float)
    demand(values.ndim == 2, "values have the axes (episodes, steps)")
    return _estimate(values[:, 0], np.nan, level)


def doubly_robust(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """The model's value, corrected by importance-weighted surprises: right if the model or the propensities are.

    Source:
        Jiang & Li (2016), Doubly robust off-policy value evaluation for reinforcement learning, ICML; with
        cross-fitting, Kallus & Uehara (2020), Double reinforcement learning, JMLR 21.
    """
    rewards, ratios = _pair(rewards, ratios)
    weights = np.cumprod(ratios, axis=1)
    surprises = weights * (rewards - np.asarray(action_values, float))
    corrected = surprises + _before(weights) * np.asarray(values, float)
    ess = effective_sample_size(weights[:, -1])
    return _estimate(_returns(corrected, discount), ess, level)


def switch(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    threshold: float | None = None,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Doubly robust, but the model alone if a weight is above the threshold: w becomes w 1(w <= threshold).

    A threshold of 0 is the direct method, infinity doubly robust; None takes the one of 30 with the least estimated
    squared error, variance plus squared bias, as `shrunk` does.

    For an episode of several steps (ours) w is the product up to a step and weighs the surprise of that step, reward
    plus next value less action value. The interval of a given threshold ignores the bias. If the data choose it, the
    interval is the value plus and minus doubly robust's half width, since the choice only tries to lower doubly
    robust's error (ours: the papers give no interval), and `ess` is NaN. That holds the truth about as often as doubly
    robust's; less often if a wrong model meets too few weights to be found out.

    Source:
        Wang, Agarwal & Dudík (2017), Optimal and adaptive off-policy evaluation in contextual bandits, ICML, section 3,
        with the doubly robust estimator below the threshold; the choice as in `shrunk`.

    >>> switch([[4.0], [0.0]], [[9.0], [0.5]], [[1.0], [1.0]], [[1.0], [1.0]], threshold=2.0).value   # 1 and 1 - 0.5
    0.75
    """

    def soften(weights, at):
        return np.where(weights <= at, weights, 0)

    known = (rewards, ratios, action_values, values, discount, level)
    return _softened(*known, soften, 1, threshold)


def shrunk(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    limit: float | None = None,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Doubly robust with optimistic shrinkage (DRos): w becomes limit w / (w² + limit), never above sqrt(limit) / 2.

    Near 0 the limit gives the direct method, at infinity doubly robust. None takes the one of 30 with the least
    estimated squared error: variance plus the square of the bias, estimated by the distance from doubly robust.
    Episodes of several steps and the interval are as in `switch`.

    Source:
        Su, Dimakopoulou, Krishnamurthy & Dudík (2020), Doubly robust off-policy evaluation with shrinkage, ICML,
        sections 3 and 5 (direct estimate of the bias).
    """

    def soften(weights, at):
        return weights / (1 + weights**2 / at)

    known = (rewards, ratios, action_values, values, discount, level)
    return _softened(*known, soften, 2, limit)


def _softened(
    rewards, ratios, action_values, values, discount, level, soften, power, setting
):
    """Doubly robust with softened weights; None takes the setting with the least variance plus squared bias."""
    rewards, ratios = _pair(rewards, ratios)
    values = np.asarray(values, float)
    weights = np.cumprod(ratios, axis=1)
    following = np.hstack([values[:, 1:], np.zeros((len(values), 1))])
    surprises = rewards + discount * following - np.asarray(action_values, float)

    def parts(at):
        return values[:, 0] + _returns(soften(weights, at) * surprises, discount)

    at = np.inf if setting is None else setting
    ess = effective_sample_size(soften(weights, at)[:, -1])
    estimate = _estimate(parts(at), ess, level)
    if setting is not None:
        return estimate
    least = most = 1.0
    if weights.any():
        least, most = np.quantile(weights[weights > 0], (0.05, 1))
    most = max(
        most, 1e-100
    )  # products of many ratios vanish, and a grid needs values above 0
    least = max(least, 1e-8 * most)
    grid = np.geomspace(least**power / 2, 100 ** (power - 1) * most**power, 30)
    errors = []
    for at in grid:
        found = parts(at)
        bias = found.mean() - estimate.value
        errors.append(found.var() / len(weights) + bias**2)
    return _like_robust(estimate, parts(grid[np.argmin(errors)]).mean())


def _like_robust(robust, value, least=0.0):
    """Return a value that the data chose, with doubly robust's half width, or `least` if that is more."""
    half = np.maximum((robust.high - robust.low) / 2, least)
    return Estimate(float(value), value - half, value + half, np.nan)


def magic(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """The best mixture of weighting the first j steps and leaving the rest to the model, over all j (MAGIC).

    From j = 0, the direct method, to all steps, weighted doubly robust (WDR: the weights of each step are divided by
    their sum). The shares x, not below 0 and of sum 1, make x'(covariance + bias bias')x smallest: the sample
    covariance of the parts of each episode, and a partial estimate's distance from the middle half of 200 bootstraps of
    the one of all steps. Ours: steps that no weight reaches are left out, and the bootstraps always draw the same. The
    interval is as in `switch`, or that of the mixture if it is wider.

    Source:
        Thomas & Brunskill (2016), Data-efficient off-policy policy evaluation for reinforcement learning, ICML.
    """
    from scipy.optimize import nnls

    robust = doubly_robust(rewards, ratios, action_values, values, discount, level)
    rewards, ratios = _pair(rewards, ratios)
    weights = np.cumprod(ratios, axis=1)
    later = discount ** np.arange(rewards.shape[1])
    surprises = later * (rewards - np.asarray(action_values, float))
    weighted = [
        _reached(weights, surprises),
        _reached(_before(weights), later * np.asarray(values, float)),
    ]
    blends = _partial(weighted)
    means = blends.mean(axis=0)
    count = len(weights)
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), 200)
    with np.errstate(invalid="ignore"):  # a draw of episodes without any weight is NaN
        drawn = sum(
            (draws @ (weights * amounts) / (draws @ weights)).sum(axis=1)
            for weights, amounts in weighted
        )
    low, high = np.nanquantile(drawn, (0.25, 0.75))
    bias = means - np.clip(means, min(low, means[-1]), max(high, means[-1]))
    sizes, axes = np.linalg.eigh(np.cov(blends.T) / count + np.outer(bias, bias))
    root = np.sqrt(np.maximum(sizes, 0))[:, None] * axes.T
    # The least of |root x|² + (1'x - 1)² lies on the same ray as the least of |root x|² among shares.
    system = np.vstack([root / (np.abs(root).max() or 1), np.ones(len(root))])
    shares, _ = nnls(system, np.eye(len(root) + 1)[-1])
    mixed = _estimate(blends @ (shares / shares.sum()), np.nan, level)
    return _like_robust(robust, mixed.value, mixed.high - mixed.value)


def _before(weights):
    """Return the weights before each step: 1, then those of the step before."""
    return np.hstack([np.ones((len(weights), 1)), weights[:, :-1]])


def _reached(weights, amounts):
    """Return weights and amounts of the steps that any weight reaches."""
    steps = weights.any(axis=0)
    return weights[:, steps], amounts[:, steps]


def _partial(weighted):
    """Return the parts of each episode if its first 0, 1, … all steps are weighted, (episodes, steps + 1)."""
    surprises, models = (
        np.cumsum(len(weights) * (weights / weights.sum(axis=0)) * amounts, axis=1)
        for weights, amounts in weighted
    )
    surprises = np.hstack([np.zeros((len(surprises), 1)), surprises])
    steps = np.minimum(np.arange(surprises.shape[1]), models.shape[1] - 1)
    return surprises + models[:, steps]


# ---------------------------------------------------------------- parts of all estimators


def _pair(rewards, ratios) -> tuple[np.ndarray, np.ndarray]:
    """Return rewards and ratios as valid arrays (episodes, steps)."""
    rewards = numbers("rewards", rewards)
    ratios = numbers("ratios", ratios)
    demand(
        rewards.ndim == 2 and rewards.shape == ratios.shape and len(rewards) > 1,
        "rewards and ratios are two arrays (episodes, steps) of at least 2 episodes; "
        f"got {rewards.shape} and {ratios.shape}",
    )
    demand((ratios >= 0).all(), "a ratio of probabilities is not below 0")
    return rewards, ratios


def _returns(rewards, discount):
    """Return the discounted sums (episodes,) of rewards (episodes, steps)."""
    rewards = np.asarray(rewards, float)
    demand(rewards.ndim == 2, "rewards have the axes (episodes, steps)")
    return rewards @ number("discount", discount, 0, 1) ** np.arange(rewards.shape[1])


def _estimate(parts, ess, level, value=None):
    """Return the mean of the parts of each episode, or another value, with the interval of their spread.

    If no weight is left (ess 0) the ends are NaN.
    """
    value = float(parts.mean() if value is None else value)
    half = float(half_width(parts.std(ddof=1), len(parts), level)) if ess else np.nan
    return Estimate(value, value - half, value + half, ess)
