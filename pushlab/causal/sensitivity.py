"""How far a confounder that nobody recorded could move an estimate: bounds under the marginal sensitivity model."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from pushlab.causal.draws import CausalData
from pushlab.causal.estimators import CLIP, logistic, standardised
from pushlab.ground.arguments import demand, number, share, whole


def highest_mean(outcome: ArrayLike, odds_against: ArrayLike, factor: float) -> float:
    """The highest weighted mean when each weight is 1 + odds_against · z, with any z from 1 / factor to factor.

    outcome       array (units,) of one arm
    odds_against  array (units,): odds of the *other* treatment by what is seen, (1 - e) / e for the treated
    factor        1 or more: by how much a hidden confounder may change those odds

    The highest mean gives the large weights to the highest outcomes; where to change over is tried out.

    >>> highest_mean([100, 150, 200], [1, 1, 1], 1), highest_mean([100, 150, 200], [1, 1, 1], 2)
    (150.0, 162.5)
    """
    number("factor", factor, 1)
    order = np.argsort(outcome)[::-1]
    y, odds = (
        np.asarray(outcome, np.float64)[order],
        np.asarray(odds_against, np.float64)[order],
    )
    large, small = 1 + factor * odds, 1 + odds / factor

    def sums(values):
        """Of the first k with large weights and of the rest with small ones, for each k."""
        return np.append(0, np.cumsum(large * values)) + np.append(
            np.cumsum((small * values)[::-1])[::-1], 0
        )

    return float((sums(y) / sums(np.ones(len(y)))).max())


def sensitivity_table(
    data: CausalData,
    factors: Sequence = (1, 1.5, 2, 3, 5),
    adjust: Any = None,
    clip: float = CLIP,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
) -> pd.DataFrame:
    """What inverse weighting could have found, had it seen a confounder that changes the odds of treatment.

    In the marginal sensitivity model the odds of treatment given all confounders, seen and hidden, are at most `factor`
    times those given the seen ones, and at least 1 / `factor` times. The model says nothing of outcomes.

    data       CausalData
    factors    each 1 or more; 1 is no hidden confounder
    adjust     names of the covariates that are seen; None is all there are
    returns    DataFrame: factor; low, high, the bounds of the estimate; low_end, high_end, an interval that holds the
               mean effect with `level`, by percentile bootstrap, propensities fitted anew
    Source     Tan (2006), JASA 101, 1619-1637; Zhao, Small & Bhattacharya (2019), J. R. Stat. Soc. B 81, 735-761.

    >>> from pushlab.causal import unobserved
    >>> table = sensitivity_table(unobserved("lotka_volterra", 200, seed=7), (1, 2), resamples=50)
    >>> bool(table["high"][0] - table["low"][0] < 1e-9), bool(table["low"][1] < table["low"][0] < table["high"][1])
    (True, True)
    """
    share("level", level)
    demand(len(factors), "factors names at least one factor")
    x = standardised(
        data.covariates if adjust is None else data.covariates[list(adjust)]
    )
    treated, outcome, rng = data.treated, data.outcome, np.random.default_rng(seed)
    found = _bounds(x, treated, outcome, factors, clip)
    again = []
    for _ in range(whole("resamples", resamples, 50)):
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(arm), arm.sum()) for arm in (treated, ~treated)]
        )
        again.append(_bounds(x[rows], treated[rows], outcome[rows], factors, clip))
    ends = np.quantile(again, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return pd.DataFrame(
        {
            "factor": np.asarray(factors, float),
            "low": found[:, 0],
            "high": found[:, 1],
            "low_end": ends[0][:, 0],
            "high_end": ends[1][:, 1],
        }
    )


def _bounds(x, treated, outcome, factors, clip):
    """(factors, 2): lowest and highest difference of the two weighted means."""
    e = np.clip(logistic().fit(x, treated).predict_proba(x)[:, 1], clip, 1 - clip)
    arms = (
        (outcome[treated], ((1 - e) / e)[treated]),
        (outcome[~treated], (e / (1 - e))[~treated]),
    )
    highest = np.array(
        [[highest_mean(y, odds, factor) for y, odds in arms] for factor in factors]
    )
    lowest = np.array(
        [[-highest_mean(-y, odds, factor) for y, odds in arms] for factor in factors]
    )
    return np.column_stack([lowest[:, 0] - highest[:, 1], highest[:, 0] - lowest[:, 1]])
