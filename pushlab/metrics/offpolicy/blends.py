"""Estimators between a model and weights, on arrays: SWITCH, shrinkage, MAGIC.

All take rewards, ratios, action_values, values as `doubly_robust` does. Where the data choose how much the weights may
say, the interval is the chosen value plus and minus doubly robust's half width, since the choice only tries to lower
doubly robust's error (ours: the papers give no interval), and `ess` is NaN. That holds the truth about as
often as doubly robust's; less often where a wrong model meets so few weights that nothing can tell.
"""

import numpy as np
from numpy.typing import ArrayLike

from pushlab.metrics.offpolicy.weighting import (
    Estimate,
    doubly_robust,
    effective_sample_size,
    estimate_of,
    pair_of,
    returns_of,
)


def switch(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    threshold: float | None = None,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Doubly robust, but where a weight is above the threshold the model speaks alone: w becomes w 1(w <= threshold).

    threshold   0 is the direct method, infinity doubly robust; None takes the one of 30 with the least estimated
                squared error, variance plus squared bias, as `shrunk` does

    For an episode of several steps (ours) w is the product up to a step and weighs the surprise of that step, reward
    plus next value less action value. A threshold given has an interval of its own, which knows nothing of the bias.

    Source  Wang, Agarwal & Dudík (2017), Optimal and adaptive off-policy evaluation in contextual bandits, ICML,
            section 3, with the doubly robust estimator below the threshold; the choice as in `shrunk`.

    >>> switch([[4.0], [0.0]], [[9.0], [0.5]], [[1.0], [1.0]], [[1.0], [1.0]], threshold=2.0).value   # 1 and 1 - 0.5
    0.75
    """
    return _softened(
        rewards,
        ratios,
        action_values,
        values,
        lambda weights, at: np.where(weights <= at, weights, 0),
        1,
        threshold,
        discount,
        level,
    )


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

    limit   above 0; near 0 it is the direct method, at infinity doubly robust; None takes the one of 30 with the least
            estimated squared error: variance plus the square of the bias, estimated by the distance from doubly robust

    Episodes of several steps and the interval as in `switch`.

    Source  Su, Dimakopoulou, Krishnamurthy & Dudík (2020), Doubly robust off-policy evaluation with shrinkage, ICML,
            sections 3 and 5 (direct estimate of the bias).
    """
    return _softened(
        rewards,
        ratios,
        action_values,
        values,
        lambda weights, at: weights / (1 + weights**2 / at),
        2,
        limit,
        discount,
        level,
    )


def magic(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    discount: float = 1.0,
    level: float = 0.95,
    trust: float = 0.5,
) -> Estimate:
    """The best mixture of weighting the first j steps and leaving the rest to the model, over all j (MAGIC).

    From j = 0, the direct method, to all steps, weighted doubly robust (WDR: the weights of each step are divided by
    their sum). The shares x, not below 0 and of sum 1, make x'(covariance + bias bias')x smallest: the sample
    covariance of what each episode adds, and a partial estimate's distance from the middle `trust` of 200 bootstraps of
    the one of all steps. Ours: steps that no weight reaches are left out, and the bootstraps' dice are always the same.

    Source  Thomas & Brunskill (2016), Data-efficient off-policy policy evaluation for reinforcement learning, ICML.
    """
    from scipy.optimize import nnls

    robust = doubly_robust(rewards, ratios, action_values, values, discount, level)
    weighed = _weighed(rewards, ratios, action_values, values, discount)
    blends, count = _partial(weighed), len(weighed[0][0])
    draws, means = (
        np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), 200),
        blends.mean(axis=0),
    )
    with np.errstate(
        invalid="ignore"
    ):  # a draw of episodes without any weight says nothing
        again = sum(
            (draws @ (weights * amounts) / (draws @ weights)).sum(axis=1)
            for weights, amounts in weighed
        )
    low, high = np.nanquantile(again, ((1 - trust) / 2, (1 + trust) / 2))
    bias = means - np.clip(means, min(low, means[-1]), max(high, means[-1]))
    sizes, axes = np.linalg.eigh(np.cov(blends.T) / count + np.outer(bias, bias))
    root = np.sqrt(np.maximum(sizes, 0))[:, None] * axes.T
    # the least of |root x|² + (1'x - 1)² lies on the same ray as the least of |root x|² among shares
    shares, _ = nnls(
        np.vstack([root / (np.abs(root).max() or 1), np.ones(len(root))]),
        np.eye(len(root) + 1)[-1],
    )
    mixed = estimate_of(blends @ (shares / shares.sum()), np.nan, level)
    return _as_sure_as(robust, mixed.value, mixed.high - mixed.value)


def _as_sure_as(robust, value, least=0.0):
    """A value that the data chose, with doubly robust's half width, or `least` where that is more."""
    half = np.maximum((robust.high - robust.low) / 2, least)
    return Estimate(value, value - half, value + half, np.nan)


def _softened(
    rewards, ratios, action_values, values, soften, power, given, discount, level
):
    """Doubly robust with softened weights; None given: with what makes variance plus squared bias smallest."""
    rewards, ratios = pair_of(rewards, ratios)
    weights, values = np.cumprod(ratios, axis=1), np.asarray(values, float)
    following = np.hstack([values[:, 1:], np.zeros((len(values), 1))])
    surprises = rewards + discount * following - np.asarray(action_values, float)

    def pulls(at):
        return values[:, 0] + returns_of(soften(weights, at) * surprises, discount)

    def told(at):
        return estimate_of(
            pulls(at), effective_sample_size(soften(weights, at)[:, -1]), level
        )

    if given is not None:
        return told(given)
    robust = told(np.inf)
    least, most = (
        np.quantile(weights[weights > 0], (0.05, 1)) if weights.any() else (1, 1)
    )
    most = max(most, 1e-100)  # products of many ratios vanish, and a grid takes no 0
    grid = np.geomspace(
        max(least, 1e-8 * most) ** power / 2, 100 ** (power - 1) * most**power, 30
    )
    error = [
        pulls(at).var() / len(weights) + (pulls(at).mean() - robust.value) ** 2
        for at in grid
    ]
    return _as_sure_as(robust, float(pulls(grid[np.argmin(error)]).mean()))


def _weighed(rewards, ratios, action_values, values, discount):
    """Weights of the surprises and the surprises, weights of V̂ and V̂: (episodes, steps that a weight reaches)."""
    rewards, ratios = pair_of(rewards, ratios)
    weights, later = np.cumprod(ratios, axis=1), discount ** np.arange(rewards.shape[1])
    reached = weights.any(axis=0).sum()
    before = np.hstack([np.ones((len(weights), 1)), weights])[
        :, : min(reached + 1, rewards.shape[1])
    ]
    surprises, told = (
        later * (rewards - np.asarray(action_values, float)),
        later * np.asarray(values, float),
    )
    return (weights[:, :reached], surprises[:, :reached]), (
        before,
        told[:, : before.shape[1]],
    )


def _partial(weighed):
    """What each episode adds if its first 0, 1, … all steps are weighted, (episodes, steps + 1)."""
    known, told = (
        np.cumsum(len(weights) * (weights / weights.sum(axis=0)) * amounts, axis=1)
        for weights, amounts in weighed
    )
    known = np.hstack([np.zeros((len(known), 1)), known])
    return known + told[:, np.minimum(np.arange(known.shape[1]), told.shape[1] - 1)]
