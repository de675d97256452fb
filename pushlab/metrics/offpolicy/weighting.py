"""Estimators that weigh what was logged, with the model-based ones that they are held against, on arrays."""

import warnings
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.ground.arguments import demand, floats, has_columns, number, share
from pushlab.metrics.estimate import Interval, half_width, mean_interval


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


def naive(rewards: ArrayLike, discount: float = 1.0, level: float = 0.95) -> Estimate:
    """Mean return of the log: the value of the policy that wrote it, mistaken for that of the target."""
    return estimate_of(returns_of(rewards, discount), np.nan, level)


def importance_sampling(
    rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95
) -> Estimate:
    """Each return weighted by how much likelier the target makes the whole episode. No bias, much variance.

    rewards  array (episodes, steps); after the end of a shorter episode 0
    ratios   array (episodes, steps): target's probability of the action taken, divided by its propensity; after the
             end 1
    Source   Precup, Sutton & Singh (2000), Eligibility traces for off-policy policy evaluation, ICML.

    >>> importance_sampling([[1.0], [0.0]], [[2.0], [0.0]]).value
    1.0
    """
    rewards, ratios = pair_of(rewards, ratios)
    weights = ratios.prod(axis=1)
    return estimate_of(
        weights * returns_of(rewards, discount), effective_sample_size(weights), level
    )


def self_normalised(
    rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95
) -> Estimate:
    """The weighted mean of the returns: the weights are divided by their sum. Little bias, less variance.

    rewards, ratios as in `importance_sampling`; the interval is that of a ratio of two means (delta method).

    Source  Precup, Sutton & Singh (2000), weighted importance sampling; Swaminathan & Joachims (2015), NIPS.
    """
    rewards, ratios = pair_of(rewards, ratios)
    weights, returns = ratios.prod(axis=1), returns_of(rewards, discount)
    ess = effective_sample_size(weights)
    if ess == 0:
        return Estimate(np.nan, np.nan, np.nan, 0.0)
    value = float((weights * returns).sum() / weights.sum())
    return estimate_of(weights * (returns - value) / weights.mean(), ess, level, value)


def per_decision(
    rewards: ArrayLike, ratios: ArrayLike, discount: float = 1.0, level: float = 0.95
) -> Estimate:
    """Each reward weighted by the actions up to it only, since those after it cannot have changed it.

    rewards, ratios as in `importance_sampling`.

    Source  Precup, Sutton & Singh (2000), per-decision importance sampling.
    """
    rewards, ratios = pair_of(rewards, ratios)
    up_to = np.cumprod(ratios, axis=1)
    return estimate_of(
        returns_of(up_to * rewards, discount),
        effective_sample_size(up_to[:, -1]),
        level,
    )


def direct_method(values: ArrayLike, level: float = 0.95) -> Estimate:
    """What a model of the values says of the first states. No weights, and all of the model's bias.

    values   array (episodes, steps): V̂ of each observation under the target
    returns  the interval covers who came, and knows nothing of the model's error
    """
    return estimate_of(np.asarray(values, float)[:, 0], np.nan, level)


def doubly_robust(
    rewards: ArrayLike,
    ratios: ArrayLike,
    action_values: ArrayLike,
    values: ArrayLike,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """The model's value, corrected by importance-weighted surprises: right if the model or the propensities are.

    rewards, ratios as in `importance_sampling`; action_values and values (episodes, steps): Q̂ of the action taken and
    V̂ of the observation, 0 after the end, from models that were not fitted on the same episodes

    Source  Jiang & Li (2016), Doubly robust off-policy value evaluation for reinforcement learning, ICML; with
            cross-fitting, Kallus & Uehara (2020), Double reinforcement learning, JMLR 21.
    """
    rewards, ratios = pair_of(rewards, ratios)
    up_to = np.cumprod(ratios, axis=1)
    before = np.hstack([np.ones((len(up_to), 1)), up_to[:, :-1]])
    corrected = up_to * (
        rewards - np.asarray(action_values, float)
    ) + before * np.asarray(values, float)
    return estimate_of(
        returns_of(corrected, discount), effective_sample_size(up_to[:, -1]), level
    )


def on_policy_value(
    log: pd.DataFrame, discount: float = 1.0, level: float = 0.95
) -> Interval:
    """What the policy that acted earns in an episode, with Student's t interval: an Interval.

    log  DataFrame with episode, step and reward, such as a rollout of one agent or a log of `pushlab.logs.collect`

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": [0, 0, 1, 1], "step": [0, 1, 0, 1], "reward": [1.0, 1.0, 3.0, 1.0]})
    >>> on_policy_value(log).mean, on_policy_value(log, discount=0.5).mean
    (3.0, 2.5)
    """
    has_columns(log, "episode", "step", "reward", what="the log")
    if log.duplicated(["episode", "step"]).any():
        raise ValueError(
            "an episode has a step twice: take the log of one agent, with its episodes numbered apart"
        )
    worth = number("discount", discount, 0, 1) ** log["step"]
    return mean_interval((log["reward"] * worth).groupby(log["episode"]).sum(), level)


def marginalised(
    rewards: Any,
    ratios: Any,
    states: ArrayLike,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Each reward weighted by how much oftener the target comes to its state, times the ratio of that one action.

    Sum over t of discount^t w_t(s_t) ratio_t r_t, where w_t(s), the target's share of episodes that are in s at step t
    divided by the log's, goes from step to step: w_{t+1}(s') is the mean of w_t(s_t) ratio_t over the episodes that
    come to s'. Weights of a long episode are not multiplied, so that variance does not explode with its length; right
    where the label is all that the future depends on. Ours: ratios are divided by their mean within a state and step,
    for a little bias and much less variance. The interval is that of the estimator's influence function; `ess` is the
    smallest over steps. Warns where the target comes to a state in which the log never did what the target would do:
    what it earns from there on counts as 0.

    rewards, ratios as in `importance_sampling`
    states          array (episodes, steps) of labels, numbers or words; after the end a label of its own

    Source  Xie, Ma & Wang (2019), Towards optimal off-policy evaluation for reinforcement learning with marginalized
            importance sampling, NeurIPS, section 3, tabular.

    >>> marginalised([[1.0, 0.0], [0.0, 2.0]], [[2.0, 1.0], [0.0, 1.0]], [["a", "b"], ["a", "b"]]).value   # 1 + 2 / 2
    2.0
    """
    rewards, ratios = pair_of(rewards, ratios)
    places = [
        np.unique(labels, return_inverse=True)[1] for labels in np.asarray(states).T
    ]
    demand(
        np.shape(states) == rewards.shape,
        f"states are labels {rewards.shape}, as rewards; got {np.shape(states)}",
    )

    def mean_within(place, amounts):
        return (np.bincount(place, amounts) / np.bincount(place))[place]

    within = np.transpose(
        [mean_within(place, ratios[:, step]) for step, place in enumerate(places)]
    )
    ratios = ratios / np.maximum(within, 1e-300)
    values, oftener = (
        np.zeros((len(rewards), rewards.shape[1] + 1)),
        np.ones(rewards.shape),
    )
    for step, place in reversed(list(enumerate(places))):
        gained = ratios[:, step] * (rewards[:, step] + discount * values[:, step + 1])
        values[:, step] = mean_within(place, gained)
    for step, place in enumerate(places[1:]):
        oftener[:, step + 1] = mean_within(place, oftener[:, step] * ratios[:, step])
    surprises = oftener * ratios * (rewards + discount * values[:, 1:] - values[:, :-1])
    reached = (oftener * ratios).T
    if reached[-1].mean() < 1 - 1e-6:
        warnings.warn(
            f"{1 - reached[-1].mean():.2%} of the target's episodes come to a state and step in which "
            "the log shows none of its actions; what they earn from there on counts as 0",
            stacklevel=2,
        )
    ess = min(map(effective_sample_size, reached))
    return estimate_of(values[:, 0] + returns_of(surprises, discount), ess, level)


def kernel_ratios(
    actions: Any,
    aims: Any,
    densities: ArrayLike,
    bandwidth: Any,
    low: Any = -np.inf,
    high: Any = np.inf,
) -> np.ndarray:
    """What stands for the ratio where the target is sure: K((aim - action) / h) / (h density), (episodes, steps).

    With these as ratios `importance_sampling`, `self_normalised` and `doubly_robust` are the kernel estimators. They
    say what the target earns if its actions are blurred with h: the smaller h, the less bias and the more variance. K
    is the normal density.

    actions    array (episodes, steps), or (episodes, steps, components) with the product of a kernel each
    aims       array like actions: what the target would have done
    densities  array (episodes, steps): the behaviour policy's density at the actions
    bandwidth  h, in units of the action; or one for each component
    low, high  limits of actions: the kernel's part beyond them is made up for by the part within. Without them, an aim
               at the limit of what was logged loses half of its weight for each component and step

    Source  Kallus & Zhou (2018), Policy evaluation and optimization with continuous treatments, AISTATS; for sequences
            the product over steps.

    >>> kernel_ratios([[1.0], [3.0]], [[1.0], [1.0]], [[0.5], [0.5]], bandwidth=2.0).round(3).ravel()
    array([0.399, 0.242])
    """
    from scipy.special import ndtr

    demand(
        (np.asarray(bandwidth) > 0).all(), f"a bandwidth is above 0; got {bandwidth}"
    )
    actions, aims = (
        np.asarray(array, float).reshape(*np.shape(densities), -1)
        for array in (actions, aims)
    )
    demand(
        (low <= aims).all() and (aims <= high).all(),
        f"aims lie within the limits of actions, {low} to {high}; got "
        f"{aims.min():.6g} to {aims.max():.6g}",
    )
    within = ndtr((high - aims) / bandwidth) - ndtr((low - aims) / bandwidth)
    near = np.exp(-(((aims - actions) / bandwidth) ** 2) / 2) / (
        np.sqrt(2 * np.pi) * bandwidth * within
    )
    return near.prod(axis=2) / np.asarray(densities, float)


# ---------------------------------------------------------------- bounds that hold for any number of episodes


def bernstein(values: Any, largest: float, chance: float = 0.05) -> float:
    """How far below the mean of values from 0 to `largest` the true mean may lie, but for a chance: the allowance.

    sqrt(2 s² ln(2 / chance) / n) + 7 largest ln(2 / chance) / (3 (n - 1)), with s² the variance of the sample (n - 1)

    Source  Maurer & Pontil (2009), Empirical Bernstein bounds and sample variance penalization, COLT, theorem 4.

    >>> round(bernstein([0.0, 1.0] * 500, 1.0), 3)
    0.052
    """
    count, logarithm = len(values), np.log(2 / chance)
    return float(
        np.sqrt(2 * np.var(values, ddof=1) * logarithm / count)
        + 7 * largest * logarithm / (3 * (count - 1))
    )


def high_confidence(
    rewards: ArrayLike,
    ratios: ArrayLike,
    lowest: float,
    highest: float,
    cut: float | None = None,
    discount: float = 1.0,
    level: float = 0.95,
) -> Estimate:
    """Importance sampling with bounds that hold for any number of episodes, however skew the weights are.

    The mean of weight × (return - lowest) cannot be below the mean of the same cut off at some height, which lies in
    known limits; an empirical Bernstein bound of that is a lower bound. The upper one is the same from above, with
    highest - return: no limit of the weights is needed. Each end errs with a chance of (1 - level) / 2 at most.

    rewards, ratios as in `importance_sampling`; propensities have to be the true ones. Of kernels: bounds of the
                    blurred target
    lowest, highest limits of an episode's (discounted) return, known beforehand, not read off the log
    cut             weight × gain is cut off at cut × (highest - lowest), chosen beforehand; None takes the cube root of
                    the number of episodes, which grows with what can be borne
    returns         Estimate: value by importance sampling, low and high the bounds

    Source  Thomas, Theocharous & Ghavamzadeh (2015), High-confidence off-policy evaluation, AAAI: theorem 1 with one
            threshold; Maurer & Pontil (2009). Ours: the upper end mirrored, and the default threshold.
    """
    rewards, ratios = pair_of(rewards, ratios)
    weights, returns, span = (
        ratios.prod(axis=1),
        returns_of(rewards, discount),
        highest - lowest,
    )
    rounding = 1e-9 * max(abs(lowest), abs(highest))
    demand(
        lowest - rounding <= returns.min()
        and returns.max() <= highest + rounding
        and len(returns) > 3,
        f"bounds take 4 episodes at least and returns from {lowest} to {highest}; got {len(returns)}, "
        f"{returns.min():.6g} to {returns.max():.6g}",
    )
    chance, top = (
        (1 - share("level", level)) / 2,
        span * (len(weights) ** (1 / 3) if cut is None else cut),
    )
    kept = np.minimum(weights * np.array([returns - lowest, highest - returns]), top)
    below, above = (one.mean() - bernstein(one, top, chance) for one in kept)
    return Estimate(
        float(np.mean(weights * returns)),
        max(lowest, lowest + below),
        min(highest, highest - above),
        effective_sample_size(weights),
    )


# ---------------------------------------------------------------- what all estimators share


def pair_of(rewards: ArrayLike, ratios: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Rewards and ratios as arrays (episodes, steps), checked."""
    rewards, ratios = floats("rewards", rewards), floats("ratios", ratios)
    demand(
        rewards.ndim == 2 and rewards.shape == ratios.shape and len(rewards) > 1,
        "rewards and ratios are two "
        f"arrays (episodes, steps) of at least 2 episodes; got {rewards.shape} and {ratios.shape}",
    )
    demand(np.isfinite(rewards).all(), "rewards are finite numbers")
    demand(
        np.isfinite(ratios).all() and (ratios >= 0).all(),
        "a ratio of probabilities is finite and not below 0; is there a propensity of 0?",
    )
    return rewards, ratios


def returns_of(rewards: ArrayLike, discount: float) -> np.ndarray:
    """Discounted sums (episodes,) of rewards (episodes, steps)."""
    rewards = floats("rewards", rewards)
    return rewards @ number("discount", discount, 0, 1) ** np.arange(rewards.shape[1])


def estimate_of(
    pulls: np.ndarray, ess: float, level: float, value: float | None = None
) -> Estimate:
    """The mean of what pulls at a value, or the value that is given, with the interval that their spread gives.

    Where no weight is left (ess 0) the ends are NaN.
    """
    value = float(pulls.mean() if value is None else value)
    half = float(half_width(pulls.std(ddof=1), len(pulls), level)) if ess else np.nan
    return Estimate(value, value - half, value + half, ess)
