"""The same estimators on many data sets: how far off they are, and how often their intervals hold the truth."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.causal.compare import compare, without_mediator
from pushlab.causal.draws import KINDS
from pushlab.causal.experiments import experiment
from pushlab.ground.arguments import one_of, whole
from pushlab.ground.seeds import episode_seed
from pushlab.metrics.estimate import share_interval

COLUMNS = (
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
)


def repeat(
    model: Any = "hiv",
    kind: str = "confounded",
    n: int = 500,
    draws: int = 200,
    estimators: Any = None,
    adjust: Any = None,
    seed: int = 0,
    jobs: int = 1,
    progress: bool = False,
    **more: Any,
) -> pd.DataFrame:
    """Estimates from many data sets of one kind, a DataFrame with a row for each draw and estimator.

    model     a simulator's name or an Experiment
    kind      "randomised", "confounded", "unobserved" or "mediated"
    n, draws  units in a data set; data sets, of which number i has `episode_seed(seed, i)`: the first has `seed`
    adjust    names of covariates, "known at the decision" (all but the mediator), or None for all
    jobs      processes
    more      for `estimate`: level, resamples, interval …
    returns   kind, n, draw, estimator, estimate, standard_error, low, high, clipped (units), truth (the mean effect in
              the population), sample_effect (that on the units of the draw)

    >>> from pushlab.causal import DifferenceInMeans
    >>> table = repeat("lotka_volterra", "randomised", n=100, draws=3, estimators=[DifferenceInMeans()])
    >>> len(table), table["truth"].nunique()
    (3, 1)
    """
    from joblib import Parallel, delayed
    from threadpoolctl import threadpool_limits
    from tqdm.auto import tqdm

    one_of("kind", kind, KINDS)
    trial, numbers = (
        experiment(model),
        tqdm(range(whole("draws", draws, 1)), disable=not progress),
    )
    truth = trial.population_effect
    with threadpool_limits(
        1, user_api="blas"
    ):  # matrices are small: more threads than one wait for each other
        tables = Parallel(jobs)(
            delayed(_one_draw)(
                trial, kind, n, number, seed, estimators, adjust, truth, more
            )
            for number in numbers
        )
    return pd.concat(tables, ignore_index=True).assign(kind=kind, n=n)[list(COLUMNS)]


def _one_draw(trial, kind, n, number, seed, estimators, adjust, truth, more):
    own = episode_seed(seed, number)
    data = KINDS[kind](trial, n, own)
    if isinstance(adjust, str) and adjust == "known at the decision":
        adjust = without_mediator(data)
    table = compare(data, estimators, truth, adjust, seed=own, **more)
    return table.assign(draw=number, sample_effect=data.average_effect)


def summary(
    table: pd.DataFrame, by: Sequence[str] = ("kind", "n", "estimator")
) -> pd.DataFrame:
    """What many draws say of each estimator, a DataFrame with a row each.

    table     as of `repeat`; with further columns, which `by` then names too
    returns   by, truth, mean, bias (mean less truth), spread (deviation of the estimates), rmse (root of the mean
              squared error), covers (share of the intervals that hold the truth) with its Wilson interval covers_low
              and covers_high, width (of the interval, median), draws, and clipped (units, mean) where the table has it

    >>> import pandas as pd
    >>> found = pd.DataFrame({"estimator": "a", "estimate": [1.0, 3.0], "truth": 1.0, "low": [0.0, 2.0],
    ...                       "high": [2.0, 4.0]})
    >>> summary(found, by=["estimator"])[["bias", "covers", "width"]].values.tolist()
    [[1.0, 0.5, 2.0]]
    """
    rows = table.assign(
        error=table["estimate"] - table["truth"],
        width=table["high"] - table["low"],
        covers=(table["low"] <= table["truth"]) & (table["truth"] <= table["high"]),
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
    kind: str = "confounded",
    draws: int = 100,
    **more: Any,
) -> pd.DataFrame:
    """How much data an estimator needs: `summary` for data sets of several sizes. `more` as in `repeat`.

    An estimator that is right comes nearer to the truth with the root of the number of units; the error of one that is
    wrong stays, and more data only make it surer.
    """
    trial = experiment(model)
    tables = [repeat(trial, kind, int(n), draws, **more) for n in sizes]
    return summary(pd.concat(tables, ignore_index=True))
