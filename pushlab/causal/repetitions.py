"""Estimators on many data sets: their errors and the coverage of their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.compare import compare
from pushlab.causal.datasets import KINDS
from pushlab.causal.experiments import experiment
from pushlab.metrics.estimate import proportion_interval
from pushlab.utils.arguments import validate_choice, validate_integer
from pushlab.utils.seeds import episode_seed


def repeat_estimates(
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
        n: Number of units in a data set.
        draws: Number of data sets. Data set i has the seed `episode_seed(seed, i)`, which is `seed` for the first.
        estimators, resamples: As in `compare`.

    Returns:
        DataFrame with a row for each draw and estimator: the columns of `compare`, where truth is the mean effect in
        the population; kind, n, draw, and sample_effect (mean effect on the units of the draw).

    >>> from pushlab.causal import DifferenceInMeans
    >>> table = repeat_estimates("lotka_volterra", "randomised", n=100, draws=3, estimators=[DifferenceInMeans()])
    >>> len(table), table["truth"].nunique()
    (3, 1)
    """
    from threadpoolctl import threadpool_limits

    validate_choice("kind", kind, KINDS)
    trial = experiment(model)
    tables = []
    with threadpool_limits(1, user_api="blas"):  # matrices are too small for threads
        for draw in range(validate_integer("draws", draws, 1)):
            draw_seed = episode_seed(seed, draw)
            data = KINDS[kind](trial, n, draw_seed)
            table = compare(
                data, estimators, trial.population_effect, resamples, draw_seed
            )
            tables.append(table.assign(draw=draw, sample_effect=data.average_effect))
    return pd.concat(tables, ignore_index=True).assign(kind=kind, n=n)


def summary(
    table: pd.DataFrame, by: Sequence[str] = ("kind", "n", "estimator")
) -> pd.DataFrame:
    """Summarise the errors of each estimator over many draws.

    Args:
        table: A table of `repeat_estimates`. If it has more columns, `by` can include them.
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
