"""A log and a target policy as arrays, and all estimates of what the target would have earned."""

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.ground.arguments import demand, has_columns, number
from pushlab.metrics.offpolicy import weighting
from pushlab.metrics.offpolicy.blends import magic, shrunk, switch
from pushlab.metrics.value_models import by_width, cross_fitted_values

ENOUGH = 50  # effective episodes below which an importance-weighted interval is not to be trusted; a rule of thumb


class Episodes(NamedTuple):
    """A log as arrays, a row an episode and a column a step; `alive` tells which steps were taken."""

    observations: np.ndarray  # (episodes, steps, features)
    actions: np.ndarray  # (episodes, steps) int
    rewards: np.ndarray  # (episodes, steps), 0 after the end
    ratios: np.ndarray  # (episodes, steps), 1 after the end
    target: (
        np.ndarray
    )  # (episodes, steps, actions), the target's probabilities, 0 after the end
    alive: np.ndarray  # (episodes, steps) bool
    aimed: np.ndarray | None = None  # see `kernel_episodes`

    @property
    def ess(self) -> float:
        """Effective sample size of the log for the target, in episodes."""
        return weighting.effective_sample_size(self.ratios.prod(axis=1))


def episodes_of(log: pd.DataFrame, target: Any) -> Episodes:
    """The Episodes of a log under a target policy; ValueError names a column or value that will not do."""
    has_columns(log, "action", what="the log")
    log, seen, propensity, laid_out = _in_order(log, most=1)
    probabilities = probabilities_of(target, seen, "the target")
    actions = log["action"].to_numpy()
    if (
        actions.dtype.kind not in "iu"
        or (actions < 0).any()
        or (actions >= probabilities.shape[1]).any()
    ):
        raise ValueError(
            f"column action: numbers from 0 to {probabilities.shape[1] - 1}, of which the target says how "
            "likely they are"
        )
    ratios = probabilities[np.arange(len(log)), actions] / propensity
    return Episodes(
        laid_out(seen),
        laid_out(actions),
        laid_out(log["reward"].to_numpy(float)),
        laid_out(ratios, 1),
        laid_out(probabilities),
        laid_out(np.ones(len(log), bool)),
    )


def kernel_episodes(
    log: pd.DataFrame,
    target: Callable,
    bandwidth: ArrayLike | None = None,
    low: ArrayLike = -np.inf,
    high: ArrayLike = np.inf,
) -> Episodes:
    """The Episodes of a log of vector actions under a sure target; `off_policy` judges them with all its estimators.

    log        DataFrame: episode, step, `action` or `action.…`, reward, propensity (here a density), obs.…; a rollout
               of `pushlab.agents.RandomAgent` is one
    target     function of observations (rows, features) to actions (rows,) or (rows, components)
    bandwidth  None takes each component's deviation in the log times n ** (-1 / (4 + d)), with n episodes and d
               components × steps, the rate at which the best one falls (Scott 1992, Multivariate density estimation,
               6.42); try others beside it
    low, high  as in `pushlab.metrics.offpolicy.kernel_ratios`: give them where the log's actions are bounded, and mind
               the bias at the bounds where they are not known

    The value model takes the action as a feature beside the observation: once the one taken, once the target's.
    "doubly robust" subtracts the value of the action taken, as for numbered actions; Kallus & Zhou that of the aim.
    """
    columns = [
        name for name in log.columns if name == "action" or name.startswith("action.")
    ]
    demand(
        columns,
        f"the log has no column 'action' or 'action.…'; it has {', '.join(log.columns)}",
    )
    log, seen, densities, laid_out = _in_order(log, most=np.inf)
    done, rewards = (
        log[columns].to_numpy(float),
        laid_out(log["reward"].to_numpy(float)),
    )
    aims = np.asarray(target(seen), float).reshape(len(log), -1)
    demand(
        aims.shape == done.shape,
        f"the target returns actions {done.shape} (rows, components); got {aims.shape}",
    )
    spread, dimensions = done.std(axis=0), done.shape[1] * rewards.shape[1]
    still = [
        name
        for name, deviation in zip(columns, spread)
        if deviation == 0 and bandwidth is None
    ]
    demand(
        not still,
        f"column {', '.join(still)}: always the same action, which asks for a bandwidth of your own",
    )
    width = (
        spread * len(rewards) ** (-1 / (4 + dimensions))
        if bandwidth is None
        else bandwidth
    )
    ratios = weighting.kernel_ratios(
        done[:, None], aims[:, None], densities[:, None], width, low, high
    )[:, 0]
    alive = laid_out(np.ones(len(log), bool))
    return Episodes(
        laid_out(np.hstack([seen, done])),
        np.zeros(alive.shape, int),
        rewards,
        laid_out(ratios, 1),
        alive[:, :, None].astype(float),
        alive,
        laid_out(np.hstack([seen, aims])),
    )


def _in_order(log, most):
    """A log's rows in order, observations (rows, features), propensities, and what lays values out by episode."""
    has_columns(log, "episode", "step", "reward", "propensity", what="the log")
    log = log.sort_values(["episode", "step"], kind="stable")
    observed = [name for name in log.columns if name.startswith("obs.")]
    for name in ("step", "reward", "propensity", *observed):
        values = log[name].to_numpy(float)
        fine, wrong = np.isfinite(values), "finite number"
        if name == "propensity":
            fine &= (values > 0) & (values <= most)
            wrong = "probability above 0" if most == 1 else "density above 0"
        if not fine.all():
            at = int(np.argmin(fine))
            raise ValueError(
                f"column {name}, row {log.index[at]}: {values[at]} is no {wrong}"
            )
    demand(
        not log.duplicated(["episode", "step"]).any(),
        "an episode has a step twice: number the episodes of several runs apart",
    )
    row = np.unique(log["episode"].to_numpy(), return_inverse=True)[1]
    column = log.groupby("episode", sort=False).cumcount().to_numpy()
    apart = log["step"].to_numpy() != column
    demand(
        not apart.any(),
        f"column step, row {log.index[apart.argmax()]}: the steps of an episode are 0, 1, 2, … "
        "without a gap",
    )
    demand(
        row.max() > 0,
        "an estimate takes 2 episodes at least, and its interval many; the log has one",
    )

    def laid_out(values, after_end=0):
        full = np.full(
            (row.max() + 1, column.max() + 1, *values.shape[1:]),
            after_end,
            values.dtype,
        )
        full[row, column] = values
        return full

    return (
        log,
        log[observed].to_numpy(float),
        log["propensity"].to_numpy(float),
        laid_out,
    )


def probabilities_of(
    policy: Any, observations: np.ndarray, who: str = "the policy"
) -> np.ndarray:
    """A policy's probabilities (rows, actions) for observations (rows, features), checked; ValueError names who."""
    probabilities = np.asarray(
        getattr(policy, "probabilities", policy)(observations), float
    )
    demand(
        probabilities.ndim == 2
        and len(probabilities) == len(observations)
        and (probabilities >= 0).all()
        and np.allclose(probabilities.sum(axis=1), 1),
        f"{who} returns probabilities ({len(observations)} "
        f"rows, actions), not below 0 and of sum 1 in each row; got {probabilities.shape}",
    )
    return probabilities


# ---------------------------------------------------------------- all at once


def off_policy(
    log: pd.DataFrame | Episodes,
    target: Any = None,
    discount: float = 1.0,
    level: float = 0.95,
    folds: int = 5,
    features: Callable = by_width,
    penalty: float = 1.0,
    seed: int = 0,
    states: Callable | None = None,
    limits: tuple[float, float] | None = None,
) -> pd.DataFrame:
    """All estimates of the target's value per episode from a log of another policy, a DataFrame, a row an estimator.

    log       DataFrame: episode, step, action, reward, propensity, obs.…; or the Episodes of a log and a target, such
              as `kernel_episodes` gives for actions that are no numbers from 0
    target    function of observations (rows, features) to probabilities (rows, actions), or has such a method
              `probabilities`
    discount  of later rewards, 0 to 1
    folds, features, penalty, seed   of the value models, see `pushlab.metrics.value_models.cross_fitted_values`
    states    function of observations (rows, features) to labels (rows,): adds a row "marginalised"
    limits    lowest and highest possible return of an episode: adds a row "empirical Bernstein", whose interval holds
              whatever the weights are; for numbered actions (with kernels it would be one of the blurred target)
    returns   columns estimator, value, low, high, ess (effective sample size in episodes; NaN where an estimator has
              no weights, or the data choose them), episodes

    All intervals take episodes for independent: a policy that learned while it wrote the log, or users who come again,
    make them too narrow. Those of SWITCH, DRos and MAGIC are as wide as doubly robust's, around what the data chose.
    Warns if the effective sample size is below 50: then weighted intervals promise more than they keep.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"episode": range(200), "step": 0, "action": [0, 1] * 100, "reward": [0.0, 1.0] * 100,
    ...                     "propensity": 0.5, "obs.0": 1.0})
    >>> table = off_policy(log, lambda observations: np.tile([0.2, 0.8], (len(observations), 1)))
    >>> table.set_index("estimator")["value"].round(2).to_dict()     # truth: 0.8
    {'naive': 0.5, 'direct method': 0.8, 'importance sampling': 0.8, 'self-normalised': 0.8, 'per-decision': 0.8,
     'doubly robust': 0.8, 'SWITCH': 0.8, 'DRos': 0.8, 'MAGIC': 0.8}
    """
    demand(
        limits is None or getattr(log, "aimed", None) is None,
        "limits are for numbered actions: with kernels the "
        "bounds would be those of the blurred target; `high_confidence` gives them",
    )
    how = {"discount": number("discount", discount, 0, 1), "level": level}
    episodes = log if isinstance(log, Episodes) else episodes_of(log, target)
    action_values, values = cross_fitted_values(
        episodes, discount, folds, features, penalty, seed
    )
    taken = np.take_along_axis(action_values, episodes.actions[:, :, None], axis=2)[
        :, :, 0
    ]
    known = episodes.rewards, episodes.ratios
    modelled = *known, taken, values
    rows = {
        "naive": weighting.naive(episodes.rewards, **how),
        "direct method": weighting.direct_method(values, level),
        "importance sampling": weighting.importance_sampling(*known, **how),
        "self-normalised": weighting.self_normalised(*known, **how),
        "per-decision": weighting.per_decision(*known, **how),
        "doubly robust": weighting.doubly_robust(*modelled, **how),
        "SWITCH": switch(*modelled, **how),
        "DRos": shrunk(*modelled, **how),
        "MAGIC": magic(*modelled, **how),
    }
    if states is not None:
        places = np.full(values.shape, -1)
        places[episodes.alive] = np.unique(
            states(episodes.observations[episodes.alive]), return_inverse=True
        )[1]
        rows["marginalised"] = weighting.marginalised(*known, places, **how)
    if limits is not None:
        rows["empirical Bernstein"] = weighting.high_confidence(*known, *limits, **how)
    if episodes.ess < ENOUGH:
        warnings.warn(
            f"effective sample size {episodes.ess:.1f} of {len(episodes.rewards):,} episodes: the target "
            "does what the log hardly ever shows, and its intervals are not to be trusted",
            stacklevel=2,
        )
    table = pd.DataFrame(
        [{"estimator": name, **row._asdict()} for name, row in rows.items()]
    )
    return table.assign(episodes=len(episodes.rewards))
