"""Off-policy estimators on arrays (episodes, steps).

The estimators share these arguments:

- `rewards`: 0 after the end of a shorter episode
- `ratios`: probability of the logged action under the target, divided by its propensity; 1 after the end
- `action_values`: Q̂ of the logged action under the target, from a model that was fitted on other episodes
- `values`: V̂ of the observation, from the same model; 0 after the end
- `discount`: discount factor, 0 to 1

The coverage of all intervals is 95 %.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pushlab.metrics.estimate import half_width
from pushlab.utils.arguments import (
    require,
    validate_array,
    validate_number,
)


class Estimate(NamedTuple):
    """An estimated value, the ends of its interval, and the effective sample size in episodes (NaN: no weights)."""

    value: float
    low: float
    high: float
    ess: float


def effective_sample_size(weights: ArrayLike) -> float:
    """Number of equally weighted episodes with the same variance: (Σ w)² / Σ w².

    Source:
        Kong (1992), A note on importance sampling using standardized weights, University of Chicago.

    >>> effective_sample_size([1.0, 1.0, 1.0, 1.0]), effective_sample_size([4.0, 0.0, 0.0, 0.0])
    (4.0, 1.0)
    """
    weights = np.asarray(weights, float)
    squares = (weights**2).sum()
    return float(weights.sum() ** 2 / squares) if squares > 0 else 0.0


# ---------------------------------------------------------------- weights


def naive(
    rewards: ArrayLike,
    discount: float = 1.0,
) -> Estimate:
    """Mean return of the log, which is the value of the logging policy instead of the target."""
    return _estimate(_returns(rewards, discount), np.nan)


def importance_sampling(
    rewards: ArrayLike,
    ratios: ArrayLike,
    discount: float = 1.0,
) -> Estimate:
    """Mean of the returns, weighted by the ratio of the whole episode: unbiased, with a high variance.

    Source:
        Precup, Sutton & Singh (2000), Eligibility traces for off-policy policy evaluation, ICML.

    >>> importance_sampling([[1.0], [0.0]], [[2.0], [0.0]]).value
    1.0
    """
    rewards, ratios = _validate_pair(rewards, ratios)
    weights = ratios.prod(axis=1)
    returns = _returns(rewards, discount)
    return _estimate(weights * returns, effective_sample_size(weights))


def self_normalised(
    rewards: ArrayLike,
    ratios: ArrayLike,
    discount: float = 1.0,
) -> Estimate:
    """Weighted mean of the returns, whose weights are divided by their sum: a small bias, a lower variance.

    The interval is the delta method's for a ratio of two means.

    Source:
        Precup, Sutton & Singh (2000), weighted importance sampling; Swaminathan & Joachims (2015), NIPS.
    """
    rewards, ratios = _validate_pair(rewards, ratios)
    weights = ratios.prod(axis=1)
    returns = _returns(rewards, discount)
    ess = effective_sample_size(weights)
    if ess == 0:
        return Estimate(np.nan, np.nan, np.nan, 0.0)
    value = (weights * returns).sum() / weights.sum()
    terms = weights * (returns - value) / weights.mean()
    return _estimate(terms, ess, value)


def per_decision(
    rewards: ArrayLike,
    ratios: ArrayLike,
    discount: float = 1.0,
) -> Estimate:
    """Mean return in which each reward is weighted by the ratios up to its step only.

    Later actions cannot change an earlier reward, so their ratios would only add variance.

    Source:
        Precup, Sutton & Singh (2000), per-decision importance sampling.
    """
    rewards, ratios = _validate_pair(rewards, ratios)
    weights = np.cumprod(ratios, axis=1)
    returns = _returns(weights * rewards, discount)
    ess = effective_sample_size(weights[:, -1])
    return _estimate(returns, ess)


# ---------------------------------------------------------------- models and weights


def direct_method(values: ArrayLike) -> Estimate:
    """Mean of a model's values of the first observations: no weights, but the whole bias of the model.

    The interval covers the choice of first observations, not the error of the model.
    """
    values = np.asarray(values, float)
    require(
        values.ndim == 2,
        f"values must have the axes (episodes, steps); got shape {values.shape}",
    )
    return _estimate(values[:, 0], np.nan)


def doubly_robust(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    discount: float = 1.0,
) -> Estimate:
    """Value of the model, corrected by its weighted errors: unbiased if the model or the propensities are right.

    Source:
        Jiang & Li (2016), Doubly robust off-policy value evaluation for reinforcement learning, ICML; with
        cross-fitting, Kallus & Uehara (2020), Double reinforcement learning, JMLR 21.
    """
    arrays = (rewards, ratios, action_values, values)
    rewards, weights, action_values, values = _with_weights(*arrays)
    errors = weights * (rewards - action_values)
    corrected = errors + _previous_weights(weights) * values
    ess = effective_sample_size(weights[:, -1])
    return _estimate(_returns(corrected, discount), ess)


def switch_doubly_robust(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    threshold: float | None = None,
    discount: float = 1.0,
) -> Estimate:
    """Doubly robust up to a threshold of the weight, the model alone above it: w becomes w 1(w <= threshold).

    A threshold of 0 is the direct method, infinity is doubly robust. None selects one of 30 thresholds: the one with
    the lowest estimated squared error (variance plus squared bias, see `doubly_robust_with_shrinkage`).

    Two choices are ours. In an episode of several steps w is the product of the ratios up to a step. It weights the
    error of the model in that step: reward plus next value minus action value. If the data select the threshold, the
    interval has doubly robust's half width, since the selection only tries to lower doubly robust's error. Its coverage
    is about doubly robust's, and lower if a wrong model has too few weights to show its error; `ess` is NaN. The
    interval of a fixed threshold ignores the bias.

    Source:
        Wang, Agarwal & Dudík (2017), Optimal and adaptive off-policy evaluation in contextual bandits, ICML, section 3,
        with the doubly robust estimator below the threshold; the selection as in `doubly_robust_with_shrinkage`.

    >>> estimate = switch_doubly_robust([[4.0], [0.0]], [[9.0], [0.5]], [[1.0], [1.0]], [[1.0], [1.0]], threshold=2.0)
    >>> estimate.value                                                    # the mean of 1 and 1 - 0.5
    0.75
    """

    def cut(weights, threshold):
        return np.where(weights <= threshold, weights, 0)

    arrays = (rewards, ratios, action_values, values)
    return _adapted_doubly_robust(arrays, discount, cut, 1, threshold)


def doubly_robust_with_shrinkage(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    limit: float | None = None,
    discount: float = 1.0,
) -> Estimate:
    """Doubly robust with optimistic shrinkage (DRos): w becomes limit w / (w² + limit), at most sqrt(limit) / 2.

    A limit near 0 gives the direct method, infinity gives doubly robust. None selects one of 30 limits: the one with
    the lowest estimated squared error. The bias is estimated by the distance from doubly robust. For episodes of
    several steps and for the interval see `switch_doubly_robust`.

    Source:
        Su, Dimakopoulou, Krishnamurthy & Dudík (2020), Doubly robust off-policy evaluation with shrinkage, ICML,
        sections 3 and 5 (direct estimate of the bias).
    """

    def shrink(weights, limit):
        return weights / (1 + weights**2 / limit)

    arrays = (rewards, ratios, action_values, values)
    return _adapted_doubly_robust(arrays, discount, shrink, 2, limit)


def _adapted_doubly_robust(arrays, discount, adapt, power, setting):
    """Return the doubly robust estimate with adapted weights.

    Args:
        arrays: Rewards, ratios, action values and values.
        discount: See the module.
        adapt: Function of weights and a setting; returns smaller weights.
        power: Power of the weights that has the unit of the setting.
        setting: None selects the setting with the smallest variance plus squared bias.
    """
    rewards, weights, action_values, values = _with_weights(*arrays)
    next_values = np.hstack([values[:, 1:], np.zeros((len(values), 1))])
    errors = rewards + discount * next_values - action_values

    def terms(setting):
        correction = _returns(adapt(weights, setting) * errors, discount)
        return values[:, 0] + correction

    fixed = np.inf if setting is None else setting
    ess = effective_sample_size(adapt(weights, fixed)[:, -1])
    estimate = _estimate(terms(fixed), ess)
    if setting is not None:
        return estimate
    settings = _setting_grid(weights, power)
    squared_errors = []
    for candidate in settings:
        candidate_terms = terms(candidate)
        bias = candidate_terms.mean() - estimate.value
        variance = candidate_terms.var() / len(weights)
        squared_errors.append(variance + bias**2)
    best = settings[np.argmin(squared_errors)]
    return _with_width_of(estimate, terms(best).mean())


def _setting_grid(weights, power):
    """Return 30 candidate settings, from the smallest to the largest weights."""
    low = 1.0
    high = 1.0
    if weights.any():
        low, high = np.quantile(weights[weights > 0], (0.05, 1))
    # Products of many ratios vanish, and a geometric grid needs values above 0.
    high = max(high, 1e-100)
    low = max(low, 1e-8 * high)
    last = 100 ** (power - 1) * high**power
    return np.geomspace(low**power / 2, last, 30)


def _with_width_of(robust, value, min_half_width=0.0):
    """Return a value that the data selected, with doubly robust's half width, or `min_half_width` if that is larger."""
    robust_half_width = (robust.high - robust.low) / 2
    half = np.maximum(robust_half_width, min_half_width)
    return Estimate(float(value), value - half, value + half, np.nan)


def magic(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    discount: float = 1.0,
) -> Estimate:
    """Best mixture, over all j, of weights for the first j steps and the model for the rest (MAGIC).

    j ranges from 0, the direct method, to all steps, weighted doubly robust (WDR: the weights of each step are divided
    by their sum). The fractions x of the mixture, not below 0 and of sum 1, minimise x'(covariance + bias bias')x. The
    covariance is that of the terms of each episode. The bias of an estimate is its distance from the middle half of 200
    bootstrap values of the estimate with all steps.

    Ours: steps that no weight reaches are left out, and the bootstrap has a fixed seed. The interval has doubly
    robust's half width, or the half width of the mixture if that is larger.

    Source:
        Thomas & Brunskill (2016), Data-efficient off-policy policy evaluation for reinforcement learning, ICML.
    """
    arrays = (rewards, ratios, action_values, values)
    robust = doubly_robust(*arrays, discount)
    rewards, weights, action_values, values = _with_weights(*arrays)
    discounts = discount ** np.arange(rewards.shape[1])
    errors = discounts * (rewards - action_values)
    previous = _previous_weights(weights)
    weighted_errors = _reached_steps(weights, errors)
    weighted_values = _reached_steps(previous, discounts * values)
    terms = _partial_terms(weighted_errors, weighted_values)
    means = terms.mean(axis=0)
    bootstrap = _bootstrap_values([weighted_errors, weighted_values])
    low, high = np.nanquantile(bootstrap, (0.25, 0.75))
    low = min(low, means[-1])
    high = max(high, means[-1])
    bias = means - np.clip(means, low, high)
    covariance = np.cov(terms.T) / len(weights)
    fractions = _best_fractions(covariance + np.outer(bias, bias))
    mixture = _estimate(terms @ fractions, np.nan)
    return _with_width_of(robust, mixture.value, mixture.high - mixture.value)


def _previous_weights(weights):
    """Return the weights before each step: 1, then the weights of the previous step."""
    ones = np.ones((len(weights), 1))
    return np.hstack([ones, weights[:, :-1]])


def _reached_steps(weights, amounts):
    """Return weights and amounts of the steps that any weight reaches."""
    is_reached = weights.any(axis=0)
    return weights[:, is_reached], amounts[:, is_reached]


def _partial_terms(weighted_errors, weighted_values):
    """Return the terms of each episode if its first 0, 1, … all steps are weighted, (episodes, steps + 1)."""
    errors = _normalised_sums(*weighted_errors)
    values = _normalised_sums(*weighted_values)
    errors = np.hstack([np.zeros((len(errors), 1)), errors])
    steps = np.arange(errors.shape[1])
    last = values.shape[1] - 1
    return errors + values[:, np.minimum(steps, last)]


def _normalised_sums(weights, amounts):
    """Return running sums over steps of amounts by normalised weights, (episodes, steps)."""
    normalised = len(weights) * (weights / weights.sum(axis=0))
    return np.cumsum(normalised * amounts, axis=1)


def _bootstrap_values(weighted):
    """Return 200 bootstrap values of the sum over steps of weighted means; NaN for a draw without any weight."""
    n_episodes = len(weighted[0][0])
    rng = np.random.default_rng(0)
    uniform = np.full(n_episodes, 1 / n_episodes)
    draws = rng.multinomial(n_episodes, uniform, 200)
    total = 0
    with np.errstate(invalid="ignore"):
        for weights, amounts in weighted:
            means = draws @ (weights * amounts) / (draws @ weights)
            total = total + means.sum(axis=1)
    return total


def _best_fractions(matrix):
    """Return the fractions x, not below 0 and of sum 1, that minimise x' matrix x."""
    from scipy.optimize import nnls

    sizes, axes = np.linalg.eigh(matrix)
    root = np.sqrt(np.maximum(sizes, 0))[:, None] * axes.T
    # The minimum of |root x|² + (1'x - 1)² is on the same ray as the minimum of |root x|² among fractions.
    scale = np.abs(root).max() or 1
    system = np.vstack([root / scale, np.ones(len(root))])
    target = np.eye(len(system))[-1]
    solution, _ = nnls(system, target)
    return solution / solution.sum()


# ---------------------------------------------------------------- parts of all estimators


def _validate_pair(rewards, ratios) -> tuple[np.ndarray, np.ndarray]:
    """Return rewards and ratios as valid arrays (episodes, steps)."""
    rewards = validate_array("rewards", rewards)
    ratios = validate_array("ratios", ratios)
    require(
        rewards.ndim == 2 and rewards.shape == ratios.shape and len(rewards) > 1,
        "rewards and ratios must be two arrays (episodes, steps) of at least 2 episodes; "
        f"got {rewards.shape} and {ratios.shape}",
    )
    require((ratios >= 0).all(), "a ratio of probabilities must not be below 0")
    return rewards, ratios


def _with_weights(rewards, ratios, action_values, values) -> tuple[np.ndarray, ...]:
    """Return rewards, weights up to each step, action values and values as valid arrays (episodes, steps)."""
    rewards, ratios = _validate_pair(rewards, ratios)
    weights = np.cumprod(ratios, axis=1)
    return rewards, weights, np.asarray(action_values, float), np.asarray(values, float)


def _returns(rewards, discount):
    """Return the discounted sums (episodes,) of rewards (episodes, steps)."""
    rewards = np.asarray(rewards, float)
    require(
        rewards.ndim == 2,
        f"rewards must have the axes (episodes, steps); got shape {rewards.shape}",
    )
    steps = np.arange(rewards.shape[1])
    discounts = validate_number("discount", discount, 0, 1) ** steps
    return rewards @ discounts


def _estimate(terms, ess, value=None):
    """Return the mean of the terms of each episode, or another value, with the interval of their spread.

    The ends are NaN if all weights are 0 (ess 0).
    """
    value = float(terms.mean() if value is None else value)
    half = np.nan
    if ess:
        deviation = terms.std(ddof=1)
        half = float(half_width(deviation, len(terms)))
    return Estimate(value, value - half, value + half, ess)
