"""Estimators between a model and weights, on arrays: SWITCH, shrinkage, MAGIC.

All take rewards, ratios, action_values, values as `doubly_robust` does.
"""


import numpy as np
from numpy.typing import ArrayLike

from pushlab.metrics.offpolicy.weighting import Estimate, effective_sample_size, estimate_of, pair_of, returns_of


def switch(rewards: ArrayLike, ratios: ArrayLike, action_values: ArrayLike, values: ArrayLike,
           threshold: float | None = None, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Doubly robust, but where a weight is above the threshold the model speaks alone: w becomes w 1(w <= threshold).

    threshold   0 is the direct method, infinity doubly robust; None takes the one of 30 with the least estimated
                squared error, variance plus squared bias, as `shrunk` does

    For an episode of several steps (ours) w is the product up to a step and weighs the surprise of that step, reward
    plus next value less action value. The interval knows nothing of the bias, nor that the threshold was chosen.

    Source  Wang, Agarwal & Dudík (2017), Optimal and adaptive off-policy evaluation in contextual bandits, ICML,
            section 3, with the doubly robust estimator below the threshold; the choice as in `shrunk`.

    >>> switch([[4.0], [0.0]], [[9.0], [0.5]], [[1.0], [1.0]], [[1.0], [1.0]], threshold=2.0).value   # 1 and 1 - 0.5
    0.75
    """
    return _softened(rewards, ratios, action_values, values, lambda weights, at: np.where(weights <= at, weights, 0),
                     1, threshold, discount, level)


def shrunk(rewards: ArrayLike, ratios: ArrayLike, action_values: ArrayLike, values: ArrayLike,
           limit: float | None = None, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Doubly robust with optimistic shrinkage (DRos): w becomes limit w / (w² + limit), never above sqrt(limit) / 2.

    limit   above 0; near 0 it is the direct method, at infinity doubly robust; None takes the one of 30 with the least
            estimated squared error: variance plus the square of the bias, estimated by the distance from doubly robust

    Episodes of several steps and the interval as in `switch`.

    Source  Su, Dimakopoulou, Krishnamurthy & Dudík (2020), Doubly robust off-policy evaluation with shrinkage, ICML,
            sections 3 and 5 (direct estimate of the bias).
    """
    return _softened(rewards, ratios, action_values, values, lambda weights, at: weights / (1 + weights**2 / at),
                     2, limit, discount, level)


def magic(rewards: ArrayLike, ratios: ArrayLike, action_values: ArrayLike, values: ArrayLike,
          discount: float = 1.0, level: float = 0.95, trust: float = 0.5) -> Estimate:
    """The best mixture of weighting the first j steps and leaving the rest to the model, over all j (MAGIC).

    From j = 0, the direct method, to all steps, weighted doubly robust (WDR: the weights of each step are divided by
    their mean). The shares x, not below 0 and of sum 1, make x'(covariance + bias bias')x smallest; a partial
    estimate's bias is its distance from the interval of level `trust` around the one of all steps. Ours: that interval
    is Student's, where the paper draws bootstraps. The interval given is by the delta method, as if x were fixed.

    Source  Thomas & Brunskill (2016), Data-efficient off-policy policy evaluation for reinforcement learning, ICML.
    """
    from scipy.optimize import nnls

    blends, ess = _partial(rewards, ratios, action_values, values, discount)
    around, means = estimate_of(blends[:, -1], ess, trust), blends.mean(axis=0)
    bias = means - np.clip(means, around.low, around.high)
    sizes, axes = np.linalg.eigh(np.cov(blends.T) / len(blends) + np.outer(bias, bias))
    root = np.sqrt(np.maximum(sizes, 0))[:, None] * axes.T
    # the least of |root x|² + (1'x - 1)² lies on the same ray as the least of |root x|² among shares
    shares, _ = nnls(np.vstack([root / (np.abs(root).max() or 1), np.ones(len(root))]), np.eye(len(root) + 1)[-1])
    return estimate_of(blends @ (shares / shares.sum()), ess, level)


def _softened(rewards, ratios, action_values, values, soften, power, given, discount, level):
    """Doubly robust with softened weights; None given: with what makes variance plus squared bias smallest."""
    rewards, ratios = pair_of(rewards, ratios)
    weights, values = np.cumprod(ratios, axis=1), np.asarray(values, float)
    following = np.hstack([values[:, 1:], np.zeros((len(values), 1))])
    surprises = rewards + discount * following - np.asarray(action_values, float)

    def pulls(at):
        return values[:, 0] + returns_of(soften(weights, at) * surprises, discount)

    if given is None:
        ends = np.quantile(weights[weights > 0], (0.05, 1)) ** power if weights.any() else (1, 1)
        whole = pulls(np.inf).mean()
        given = min(np.geomspace(ends[0] / 2, 100 ** (power - 1) * ends[1], 30),
                    key=lambda at: pulls(at).var() / len(weights) + (pulls(at).mean() - whole) ** 2)
    return estimate_of(pulls(given), effective_sample_size(soften(weights, given)[:, -1]), level)


def _partial(rewards, ratios, action_values, values, discount):
    """What each episode adds if its first 0, 1, … all steps are weighted, (episodes, steps + 1); and the ESS."""
    rewards, ratios = pair_of(rewards, ratios)
    up_to = np.cumprod(ratios, axis=1)
    before = np.hstack([np.ones((len(up_to), 1)), up_to[:, :-1]])

    def weighted(weights, amounts):
        weights = weights / np.maximum(weights.mean(axis=0), 1e-300)
        middle = (weights * amounts).mean(axis=0)
        return discount ** np.arange(rewards.shape[1]) * (weights * (amounts - middle) + middle)

    none = np.zeros((len(rewards), 1))
    known = np.hstack([none, np.cumsum(weighted(up_to, rewards - np.asarray(action_values, float)), axis=1)])
    told = np.cumsum(np.hstack([weighted(before, np.asarray(values, float)), none]), axis=1)
    return known + told, effective_sample_size(up_to[:, -1])
