"""Effect estimates with bootstrap intervals, their errors over many data sets, overlap, and hidden confounders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.causal.datasets import CausalData
from pushlab.causal.estimators import (
    CLIP,
    fit_propensities,
    standard_estimators,
    standardised,
)
from pushlab.metrics.estimate import proportion_interval
from pushlab.metrics.offpolicy import effective_sample_size
from pushlab.utils.arguments import (
    require,
    validate_integer,
    validate_number,
)

TAILS = (0.025, 0.975)  # quantiles at the ends of all intervals
MAX_DRAWS = 2_000_000  # numbers drawn at once by the bootstrap


class EffectEstimate(NamedTuple):
    """An estimated average effect; see `estimate`.

    Attributes:
        estimator: Name of the estimator.
        estimate, standard_error: The effect and its standard error.
        low, high: Ends of the 95 % interval.
        ess: Effective sample size: number of equally weighted units with the same information.
        clipped: Number of units with a clipped propensity.
    """

    estimator: str
    estimate: float
    standard_error: float
    low: float
    high: float
    ess: float
    clipped: int

    def __str__(self) -> str:
        return f"{self.estimate:.3g} [{self.low:.3g}, {self.high:.3g}]"


def estimate(
    data: CausalData, estimator: Any, resamples: int = 1000, seed: int = 0
) -> EffectEstimate:
    """Estimate an average effect with a 95 % bootstrap interval.

    The units' scores are resampled, and the deviation of each resample is divided by its own standard error. Models
    aren't fitted again. The error of the fit is included only to first order, by each unit's influence in its score.
    The interval doesn't cover a bias from clipping, from a hidden confounder, or from a non-linear relation.

    Args:
        data: CausalData. The estimate adjusts for all covariates, including a mediator.
        estimator: One of `pushlab.causal.estimators`, or another object with `name` and `scores`.
        resamples: Number of resamples of the bootstrap.
        seed: Seed of the folds and resamples.

    Returns:
        An EffectEstimate.

    Source:
        Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapters 12 and 13.

    >>> from pushlab.causal import DifferenceInMeans, randomised
    >>> effect = estimate(randomised("lotka_volterra", 300, seed=7), DifferenceInMeans())
    >>> effect.low < effect.estimate < effect.high, effect.ess
    (True, 300.0)
    """
    validate_integer("resamples", resamples, 50)
    n = len(data)
    treated = int(data.treated.sum())
    require(
        2 <= treated <= n - 2,
        f"an estimate needs at least 2 treated and 2 untreated units; got {treated} and {n - treated}",
    )
    rng = np.random.default_rng(seed)
    covariates = data.covariates.to_numpy(np.float64)
    scores = estimator.scores(covariates, data.treated, data.outcome, rng)
    value = float(scores.values.mean())
    root = np.sqrt(n)
    error = float(scores.values.std(ddof=1) / root)
    deviations = []
    rows = max(1, MAX_DRAWS // n)
    for start in range(0, resamples, rows):
        shape = (min(rows, resamples - start), n)
        resampled = scores.values[rng.integers(n, size=shape)]
        errors = np.maximum(resampled.std(axis=1, ddof=1) / root, 1e-300)
        deviations.append((resampled.mean(axis=1) - value) / errors)
    quantiles = np.quantile(np.concatenate(deviations), TAILS)
    high, low = (value - error * quantiles).tolist()
    ess = float(n)
    e = scores.propensity
    if e is not None:
        weights = np.where(data.treated, 1 / e, 1 / (1 - e))
        ess = effective_sample_size(weights)
    return EffectEstimate(
        estimator=estimator.name,
        estimate=value,
        standard_error=error,
        low=low,
        high=high,
        ess=ess,
        clipped=scores.clipped,
    )


def compare(
    data: CausalData,
    estimators: Sequence = (),
    truth: float | None = None,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate the effect with several estimators on the same data.

    Args:
        data: CausalData.
        estimators: Estimators to compare, by default the four of `standard_estimators()`.
        truth: The true effect. None takes the mean effect on these units.
        resamples, seed: As in `estimate`.

    Returns:
        DataFrame with a row for each estimator: the fields of EffectEstimate, then truth, bias (estimate less truth)
        and covers (whether the interval contains the truth; None if it is unknown).

    >>> from pushlab.causal import confounded
    >>> table = compare(confounded("lotka_volterra", 500, seed=7)).set_index("estimator")
    >>> table["covers"].to_dict()["difference in means"], table["covers"].to_dict()["doubly robust"]
    (False, True)
    """
    truth = data.average_effect if truth is None else float(truth)
    estimators = estimators or standard_estimators()
    rows = [estimate(data, estimator, resamples, seed) for estimator in estimators]
    table = pd.DataFrame(rows).assign(truth=truth)
    table["bias"] = table["estimate"] - truth
    table["covers"] = None
    if not np.isnan(truth):
        table["covers"] = (table["low"] <= truth) & (truth <= table["high"])
    return table


def overlap_table(data: CausalData) -> pd.DataFrame:
    """Compare the covariates of treated and untreated units, a DataFrame with a row for each covariate.

    - `treated`, `others`: means of the covariate in both groups
    - `apart`: standardised difference of the means; the groups are imbalanced if it is beyond 0.1
    - `weighted`: standardised difference after weighting by a logistic propensity

    >>> from pushlab.causal import confounded
    >>> table = overlap_table(confounded("lotka_volterra", 2000, seed=7))
    >>> bool(table["apart"]["log10 rabbits"] > 0.5), bool(table["weighted"].abs().max() < 0.1)
    (True, True)
    """
    t = data.treated
    covariates = data.covariates.to_numpy(np.float64)
    x = standardised(covariates)
    e = fit_propensities(x, t, CLIP)
    difference = x[t].mean(axis=0) - x[~t].mean(axis=0)
    weights = np.where(t, 1 / e, 1 / (1 - e))
    treated = np.average(x[t], axis=0, weights=weights[t])
    others = np.average(x[~t], axis=0, weights=weights[~t])
    return pd.DataFrame(
        {
            "treated": covariates[t].mean(axis=0),
            "others": covariates[~t].mean(axis=0),
            "apart": difference,
            "weighted": treated - others,
        },
        index=data.covariates.columns.rename("covariate"),
    )


def summary(
    table: pd.DataFrame, by: Sequence[str] = ("kind", "n", "estimator")
) -> pd.DataFrame:
    """Summarise the errors of each estimator over many draws.

    Args:
        table: Tables of `compare` for many data sets, with the columns that define the groups.
        by: Columns that define the groups.

    Returns:
        DataFrame with a row for each group: by, truth, mean, bias (mean less truth), spread (standard deviation of the
        estimates), rmse (root of the mean squared error), covers (fraction of intervals that contain the truth), its
        Wilson interval covers_low and covers_high, width (median width of an interval), draws, and clipped (mean number
        of units) if the table has it.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"estimator": "a", "estimate": [1.0, 3.0], "truth": 1.0, "low": [0.0, 2.0],
    ...                       "high": [2.0, 4.0]})
    >>> summary(table, by=["estimator"])[["bias", "covers", "width"]].values.tolist()
    [[1.0, 0.5, 2.0]]
    """
    truth = table["truth"]
    rows = table.assign(
        error=table["estimate"] - truth,
        width=table["high"] - table["low"],
        covers=(table["low"] <= truth) & (truth <= table["high"]),
    )
    groups = rows.groupby(list(by), sort=False, observed=True)
    result = groups.agg(
        truth=("truth", "mean"),
        mean=("estimate", "mean"),
        bias=("error", "mean"),
        spread=("estimate", "std"),
        rmse=("error", lambda errors: np.sqrt((errors**2).mean())),
        covers=("covers", "mean"),
        width=("width", "median"),
        draws=("covers", "size"),
    ).reset_index()
    interval = proportion_interval(
        (result["covers"] * result["draws"]).round(), result["draws"]
    )
    position = result.columns.get_loc("covers")
    result.insert(position + 1, "covers_low", interval.low)
    result.insert(position + 2, "covers_high", interval.high)
    if "clipped" in rows:
        result["clipped"] = groups["clipped"].mean().to_numpy()
    return result


# ---------------------------------------------------------------- hidden confounders


def highest_mean(outcome: ArrayLike, odds_against: ArrayLike, factor: float) -> float:
    """Return the highest weighted mean over all weights 1 + odds_against · z with z from 1 / factor to factor.

    The maximum has large weights for the highest outcomes, so each number of large weights is tried.

    Args:
        outcome: Outcomes of one arm, (units,).
        odds_against: Odds of the *other* treatment given the covariates, (units,): (1 - e) / e for the treated.
        factor: Maximal factor by which a hidden confounder changes these odds, 1 or more.

    >>> highest_mean([100, 150, 200], [1, 1, 1], 1), highest_mean([100, 150, 200], [1, 1, 1], 2)
    (150.0, 162.5)
    """
    validate_number("factor", factor, 1)
    order = np.argsort(outcome)[::-1]
    y = np.asarray(outcome, np.float64)[order]
    odds = np.asarray(odds_against, np.float64)[order]
    large = 1 + factor * odds
    small = 1 + odds / factor

    def sums(values):
        """Return the sum with k large weights and then small ones, for each k."""
        first = np.cumsum(large * values)
        rest = np.cumsum((small * values)[::-1])[::-1]
        return np.append(0, first) + np.append(rest, 0)

    total_weights = sums(np.ones(len(y)))
    means = sums(y) / total_weights
    return float(means.max())


def sensitivity_table(
    data: CausalData,
    factors: Sequence = (1, 1.5, 2, 3, 5),
    resamples: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """Bound the estimate of inverse weighting under a hidden confounder that changes the odds of treatment.

    In the marginal sensitivity model, a hidden confounder multiplies the odds of treatment given the observed
    confounders by at most `factor` and at least 1 / `factor`. The model makes no assumption about outcomes.

    Args:
        data: CausalData.
        factors: Factors of the odds, each 1 or more. 1 means no hidden confounder.
        resamples: Number of resamples of the bootstrap.
        seed: Seed of the bootstrap.

    Returns:
        DataFrame: factor; low, high, the bounds of the estimate; low_end, high_end, a 95 % interval for the mean
        effect, by a percentile bootstrap that fits propensities again.

    Source:
        Tan (2006), JASA 101, 1619-1637; Zhao, Small & Bhattacharya (2019), J. R. Stat. Soc. B 81, 735-761.

    >>> from pushlab.causal import unobserved
    >>> table = sensitivity_table(unobserved("lotka_volterra", 200, seed=7), (1, 2), resamples=50)
    >>> bool(table["high"][0] - table["low"][0] < 1e-9), bool(table["low"][1] < table["low"][0] < table["high"][1])
    (True, True)
    """
    require(len(factors), "factors must have at least one factor")
    x = standardised(data.covariates)
    treated = data.treated
    rng = np.random.default_rng(seed)
    bounds = _bounds(x, treated, data.outcome, factors)
    resampled = []
    for _ in range(validate_integer("resamples", resamples, 50)):
        arms = [np.flatnonzero(arm) for arm in (treated, ~treated)]
        rows = np.concatenate([rng.choice(arm, len(arm)) for arm in arms])
        outcome = data.outcome[rows]
        resampled.append(_bounds(x[rows], treated[rows], outcome, factors))
    ends = np.quantile(resampled, TAILS, axis=0)
    return pd.DataFrame(
        {
            "factor": np.asarray(factors, float),
            "low": bounds[:, 0],
            "high": bounds[:, 1],
            "low_end": ends[0][:, 0],
            "high_end": ends[1][:, 1],
        }
    )


def _bounds(x, treated, outcome, factors):
    """Return the lowest and highest difference of the two weighted means, (factors, 2)."""
    e = fit_propensities(x, treated, CLIP)
    arms = [
        (outcome[treated], ((1 - e) / e)[treated]),
        (outcome[~treated], (e / (1 - e))[~treated]),
    ]
    rows = []
    for factor in factors:
        highest = [highest_mean(y, odds, factor) for y, odds in arms]
        lowest = [-highest_mean(-y, odds, factor) for y, odds in arms]
        low = lowest[0] - highest[1]
        high = highest[0] - lowest[1]
        rows.append((low, high))
    return np.array(rows)
