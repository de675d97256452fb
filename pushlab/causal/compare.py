"""One data set, one or several estimators: estimates, intervals by bootstrap, and whom the data can tell about."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pushlab.causal.draws import CausalData
from pushlab.causal.estimators import CLIP, logistic, standard_estimators, standardised
from pushlab.ground.arguments import demand, one_of, share, whole
from pushlab.metrics.offpolicy import effective_sample_size

TOGETHER = 2_000_000  # numbers drawn at once by the bootstrap


class EffectEstimate(NamedTuple):
    """An estimated average effect; see `estimate`."""

    estimator: str
    estimate: float
    standard_error: float
    low: float
    high: float
    ess: float  # effective sample size: units that, weighted alike, would tell as much
    lowest: float  # estimated propensity, before which NaN if the estimator has none
    highest: float
    clipped: int  # units whose propensity was clipped
    adjusts: str  # the covariates it adjusts for

    def __str__(self) -> str:
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


def estimate(
    data: CausalData,
    estimator: Any,
    adjust: Any = None,
    level: float = 0.95,
    resamples: int = 1000,
    interval: str = "studentised",
    resample: str = "scores",
    jobs: int = 1,
    seed: int = 0,
) -> EffectEstimate:
    """An average effect with a bootstrap interval: an EffectEstimate.

    data       CausalData
    estimator  one of `pushlab.causal.estimators`, or an object of one's own with `name` and `scores`
    adjust     names of the covariates to adjust for; None is all there are, a mediator among them
    resamples  of the bootstrap
    interval   "studentised": each resample's distance in its own standard errors (better with few units), or
               "percentile", which it always is with an estimator whose scores are not `exact`
    resample   what is drawn again. "scores": the units' scores, whose means then spread as the estimate does; all that
               was fitted, folds and clipping among it, stays as it is, which takes milliseconds. "units": each arm
               anew, with as many units as it has, and everything is fitted anew, folds and all; so it always is where
               scores are not `exact`. A unit drawn twice may then be in the fold that is predicted and in one fitted to
    jobs       processes for "units"
    seed       of folds and resamples

    With scores, what fitting adds to the error is known to first order alone, from the influence of a unit that is part
    of its score. Neither way knows of a bias: of clipping, of a hidden confounder, of a curve taken for a line.

    Source  Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapters 12 and 13.

    >>> from pushlab.causal import DifferenceInMeans, randomised
    >>> found = estimate(randomised("lotka_volterra", 300, seed=7), DifferenceInMeans())
    >>> found.low < found.estimate < found.high, found.ess
    (True, 300.0)
    """
    one_of("interval", interval, ("studentised", "percentile"))
    one_of("resample", resample, ("scores", "units"))
    whole("resamples", resamples, 50)
    share("level", level)
    covariates, names = _adjusted(data, adjust)
    rng = np.random.default_rng(seed)
    scores = estimator.scores(covariates, data.treated, data.outcome, rng)
    value, error = _mean_and_error(scores.values)
    if resample == "units" or not scores.exact:
        again = _refitted(data, covariates, estimator, resamples, jobs, rng)
        error = float(again[:, 0].std(ddof=1)) if not scores.exact else error
    else:
        again = _resampled(scores.values, resamples, rng)
    if interval == "percentile" or not scores.exact:
        low, high = np.quantile(again[:, 0], [(1 - level) / 2, (1 + level) / 2])
    else:
        distances = (again[:, 0] - value) / np.maximum(again[:, 1], 1e-300)
        high, low = value - error * np.quantile(
            distances, [(1 - level) / 2, (1 + level) / 2]
        )
    ess, ends = float(len(data)), (np.nan, np.nan)
    if scores.propensity is not None:
        weights = np.where(
            data.treated, 1 / scores.propensity, 1 / (1 - scores.propensity)
        )
        ess = effective_sample_size(weights)
        ends = float(scores.propensity.min()), float(scores.propensity.max())
    return EffectEstimate(
        estimator.name,
        value,
        error,
        float(low),
        float(high),
        ess,
        *ends,
        scores.clipped,
        "nothing" if estimator.name == "difference in means" else ", ".join(names),
    )


def compare(
    data: CausalData,
    estimators: Sequence | None = None,
    truth: float | None = None,
    adjust: Any = None,
    seed: int = 0,
    **more: Any,
) -> pd.DataFrame:
    """Several estimators on the same data, a DataFrame with a row each.

    estimators  None takes the four of `standard_estimators()`
    truth       the effect to compare with; None is the mean effect on these very units
    adjust, seed, more   as in `estimate`
    returns     the fields of EffectEstimate, then truth, bias (estimate less truth) and covers, which is None where
                nobody knows the truth

    >>> from pushlab.causal import confounded
    >>> table = compare(confounded("lotka_volterra", 500, seed=7)).set_index("estimator")
    >>> table["covers"].to_dict()["difference in means"], table["covers"].to_dict()["doubly robust"]
    (False, True)
    """
    found = [
        estimate(data, one, adjust, seed=seed, **more)
        for one in estimators or standard_estimators()
    ]
    truth = data.average_effect if truth is None else float(truth)
    table = pd.DataFrame(found).assign(truth=truth)
    table["bias"] = table["estimate"] - truth
    table["covers"] = (
        None if np.isnan(truth) else (table["low"] <= truth) & (truth <= table["high"])
    )
    return table


def overlap_table(
    data: CausalData, adjust: Any = None, clip: float = CLIP
) -> pd.DataFrame:
    """How unlike the treated and the others are, a DataFrame with a row a covariate.

    clip              propensities are taken as no nearer to 0 and 1 than this
    treated, others   means of the covariate
    apart             their distance in standard deviations; beyond 0.1 the groups are not alike
    weighted          the same distance when units are weighted by a logistic propensity

    >>> from pushlab.causal import confounded
    >>> table = overlap_table(confounded("lotka_volterra", 2000, seed=7))
    >>> bool(table["apart"]["log10 rabbits"] > 0.5), bool(table["weighted"].abs().max() < 0.1)
    (True, True)
    """
    covariates, names = _adjusted(data, adjust)
    x, t = standardised(covariates), data.treated
    e = np.clip(logistic().fit(x, t).predict_proba(x)[:, 1], clip, 1 - clip)
    weighted = np.average(x[t], axis=0, weights=1 / e[t]) - np.average(
        x[~t], axis=0, weights=1 / (1 - e[~t])
    )
    return pd.DataFrame(
        {
            "treated": covariates[t].mean(axis=0),
            "others": covariates[~t].mean(axis=0),
            "apart": x[t].mean(axis=0) - x[~t].mean(axis=0),
            "weighted": weighted,
        },
        index=pd.Index(names, name="covariate"),
    )


def without_mediator(data: CausalData) -> list[str]:
    """Names of the covariates that were known at the decision, for `adjust`.

    >>> from pushlab.causal import mediated
    >>> without_mediator(mediated("lotka_volterra", 100))
    ['log10 rabbits', 'log10 foxes']
    """
    return [name for name in data.covariates.columns if name != data.mediator]


# ---------------------------------------------------------------- the bootstrap


def _adjusted(data, adjust):
    """Covariates (units, features) to adjust for, and their names."""
    demand(
        isinstance(data, CausalData), f"data is a CausalData; got {type(data).__name__}"
    )
    names = list(
        data.covariates.columns
        if adjust is None
        else [adjust]
        if isinstance(adjust, str)
        else adjust
    )
    for name in names:
        one_of("a covariate", name, data.covariates.columns)
    demand(names, "adjust names at least one covariate")
    treated = int(data.treated.sum())
    demand(
        2 <= treated <= len(data) - 2,
        f"an effect needs at least 2 treated units and 2 others; got {treated} and "
        f"{len(data) - treated}",
    )
    return data.covariates[names].to_numpy(np.float64), names


def _mean_and_error(scores):
    return float(scores.mean()), float(scores.std(ddof=1) / np.sqrt(len(scores)))


def _resampled(scores, resamples, rng):
    """Estimate and standard error (resamples, 2) of units drawn again with their scores."""
    n, found = len(scores), np.empty((resamples, 2))
    rows = max(1, TOGETHER // n)
    for begin in range(0, resamples, rows):
        drawn = scores[rng.integers(n, size=(min(rows, resamples - begin), n))]
        found[begin : begin + rows] = np.stack(
            [drawn.mean(axis=1), drawn.std(axis=1, ddof=1) / np.sqrt(n)], axis=1
        )
    return found


def _refitted(data, covariates, estimator, resamples, jobs, rng):
    """The same, with everything fitted anew; both arms keep their sizes, so that none is ever empty."""
    from joblib import Parallel, delayed

    seeds = rng.integers(2**63, size=resamples)
    return np.array(
        Parallel(jobs)(
            delayed(_once_more)(covariates, data.treated, data.outcome, estimator, seed)
            for seed in seeds
        )
    )


def _once_more(covariates, treated, outcome, estimator, seed):
    rng = np.random.default_rng(seed)
    rows = np.concatenate(
        [rng.choice(np.flatnonzero(arm), arm.sum()) for arm in (treated, ~treated)]
    )
    return _mean_and_error(
        estimator.scores(covariates[rows], treated[rows], outcome[rows], rng).values
    )
