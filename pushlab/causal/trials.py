"""The same estimators on many data sets: their errors, and how often their intervals contain the truth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.compare import compare
from pushlab.causal.draws import KINDS
from pushlab.causal.experiments import experiment
from pushlab.ground.arguments import one_of, whole
from pushlab.ground.seeds import episode_seed
from pushlab.metrics.estimate import share_interval

COLUMNS = [
    "kind",
    "n",
    "draw",
    "estimator",
    "estimate",
    "standard_error",
    "low",
    "high",
    "clipped",
    "truth",
    "sample_effect",
]


def repeat(
    model: Any = "hiv",
    kind: str = "confounded",
    n: int = 500,
    draws: int = 200,
    estimators: Any = None,
    resamples: int = 1000,
    seed: int = 0,
) -> pd.DataFrame:
    """Estimate the effect on many data sets of one kind.

    Args:
        model: A simulator's name or an Experiment.
        kind: "randomised", "confounded", "unobserved" or "mediated".
        n: Units in a data set.
        draws: Number of data sets. Number i has the seed `episode_seed(seed, i)`: the first has `seed`.
        estimators, resamples: As in `compare`.

    Returns:
        DataFrame with a row for each draw and estimator: kind, n, draw, estimator, estimate, standard_error, low, high,
        clipped (units), truth (the mean effect in the population), sample_effect (that on the units of the draw).

    >>> from pushlab.causal import DifferenceInMeans
    >>> table = repeat("lotka_volterra", "randomised", n=100, draws=3, estimators=[DifferenceInMeans()])
    >>> len(table), table["truth"].nunique()
    (3, 1)
    """
    from threadpoolctl import threadpool_limits

    one_of("kind", kind, KINDS)
    trial = experiment(model)
    tables = []
    with threadpool_limits(1, user_api="blas"):  # matrices are too small for threads
        for draw in range(whole("draws", draws, 1)):
            own = episode_seed(seed, draw)
            data = KINDS[kind](trial, n, own)
            table = compare(data, estimators, trial.population_effect, resamples, own)
            effect = data.average_effect
            tables.append(table.assign(draw=draw, sample_effect=effect))
    return pd.concat(tables, ignore_index=True).assign(kind=kind, n=n)[COLUMNS]


def summary(
    table: pd.DataFrame, by: Sequence[str] = ("kind", "n", "estimator")
) -> pd.DataFrame:
    """Summarise the errors of each estimator over many draws.

    Args:
        table: As of `repeat`; with further columns, which `by` then names too.

    Returns:
        DataFrame with a row for each: by, truth, mean, bias (mean less truth), spread (deviation of the estimates),
        rmse (root of the mean squared error), covers (share of the intervals that contain the truth) with its Wilson
        interval covers_low and covers_high, width (of the interval, median), draws, and clipped (units, mean) if the
        table has it.

    >>> import pandas as pd
    >>> found = pd.DataFrame({"estimator": "a", "estimate": [1.0, 3.0], "truth": 1.0, "low": [0.0, 2.0],
    ...                       "high": [2.0, 4.0]})
    >>> summary(found, by=["estimator"])[["bias", "covers", "width"]].values.tolist()
    [[1.0, 0.5, 2.0]]
    """
    truth = table["truth"]
    rows = table.assign(
        error=table["estimate"] - truth,
        width=table["high"] - table["low"],
        covers=(table["low"] <= truth) & (truth <= table["high"]),
    )
    groups = rows.groupby(list(by), sort=False, observed=True)
    found = groups.agg(
        truth=("truth", "mean"),
        mean=("estimate", "mean"),
        bias=("error", "mean"),
        spread=("estimate", "std"),
        rmse=("error", lambda error: float(np.sqrt((error**2).mean()))),
        covers=("covers", "mean"),
        width=("width", "median"),
        draws=("covers", "size"),
    ).reset_index()
    share = share_interval((found["covers"] * found["draws"]).round(), found["draws"])
    found.insert(found.columns.get_loc("covers") + 1, "covers_low", share.low)
    found.insert(found.columns.get_loc("covers") + 2, "covers_high", share.high)
    if "clipped" in rows:
        found["clipped"] = groups["clipped"].mean().to_numpy()
    return found


def by_size(
    model: Any = "hiv",
    sizes: Sequence[int] = (50, 100, 200, 400, 800, 1600),
    draws: int = 100,
    **more: Any,
) -> pd.DataFrame:
    """Return the `summary` for data sets of several sizes. `more` as in `repeat`.

    The error of an estimator that is right decreases with the root of the number of units. The error of one that is
    wrong stays, and more data only make it surer.
    """
    trial = experiment(model)
    tables = [repeat(trial, n=n, draws=draws, **more) for n in sizes]
    return summary(pd.concat(tables, ignore_index=True))
