"""Measure the errors and the coverage of the estimators of `pushlab.causal` over many simulated data sets.

    python studies/causal.py --out data/causal

writes five tables, in about half an hour on one core:

- `kinds.csv`: errors of the four standard estimators of the average effect, and the coverage of their 95 % intervals,
  for each simulator's own experiment and each kind of data set: 200 data sets of 500 units, each with its own seed
- `sizes.csv`: the same for confounded data sets of other sizes, 100 of each
- `nuisances.csv`: the same for doubly robust estimators with a curved and with a linear outcome model, with and without
  cross-fitting, on one simulator, 200 data sets of each size
- `clips.csv`: the same for inverse weighting on one simulator, 200 data sets of 400 units, for several strengths of the
  confounder's effect on the decision and several limits of propensities
- `policies.csv`: the value of policies learned from 100 logs that include the confounder, and from the same logs
  without it
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures
from sklearn.tree import DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from pushlab.causal import (
    KINDS,
    CausalData,
    DifferenceInMeans,
    DoublyRobust,
    Experiment,
    InverseWeighting,
    RegressionAdjustment,
    compare,
    experiment,
    summary,
)
from pushlab.experiments.cells import Cell, run_cells
from pushlab.utils.seeds import episode_seed

MODELS = ("hiv", "lotka_volterra", "opioid", "zika", "world3", "credit")
SIMULATOR = "zika"  # of nuisances, clips and policies
UNITS = 500
POPULATION_SIZE = 50_000  # units for the true effect
POPULATION_SEED = 2021
DRAWS = 200
FEWER_DRAWS = 100
SIZES = (50, 100, 200, 400, 800, 1600)
NUISANCE_SIZES = (50, 400, 1600)
STRENGTHS = (1.0, 3.0)
CLIPS = (0.0, 0.005, 0.02, 0.05, 0.1)
CLIPPED_UNITS = 400
TRAINING_UNITS = 1000  # in a log
EVALUATION_UNITS = 2000
LEARNERS = ("regression", "curved regression", "doubly robust")
TREE_DEPTH = 3  # of a policy


def population_effect(trial: Experiment) -> float:
    """Return the mean effect over 50,000 units, an approximation to that of the population.

    Its standard error is the standard deviation of the effects, divided by the square root of 50,000.
    """
    rng = np.random.default_rng(POPULATION_SEED)
    return float(trial.units(POPULATION_SIZE, rng).effects.mean())


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
    """
    trial = experiment(model)
    truth = population_effect(trial)
    tables = []
    with threadpool_limits(1, user_api="blas"):  # matrices are too small for threads
        for draw in range(draws):
            draw_seed = episode_seed(seed, draw)
            data = KINDS[kind](trial, n, draw_seed)
            table = compare(data, estimators, truth, resamples, draw_seed)
            tables.append(table.assign(draw=draw, sample_effect=data.average_effect))
    return pd.concat(tables, ignore_index=True).assign(kind=kind, n=n)


def kinds(model: str) -> pd.DataFrame:
    """Summarise the estimators on each kind of data set from a simulator."""
    tables = [repeat_estimates(model, kind, UNITS, DRAWS) for kind in KINDS]
    return summary(pd.concat(tables, ignore_index=True))


def sizes(model: str) -> pd.DataFrame:
    """Summarise the estimators on confounded data sets of several sizes."""
    trial = experiment(model)
    tables = [repeat_estimates(trial, n=n, draws=FEWER_DRAWS) for n in SIZES]
    return summary(pd.concat(tables, ignore_index=True))


def nuisances(model: str) -> pd.DataFrame:
    """Summarise doubly robust estimators by outcome model, folds and size, beside two simpler estimators.

    `rmse_se` is the standard error of the rmse over the data sets, by the delta method.
    """
    variants = {
        "curved, cross-fitted": DoublyRobust(),
        "linear, cross-fitted": DoublyRobust(LinearRegression()),
        "curved, not cross-fitted": DoublyRobust(folds=1),
        "linear, not cross-fitted": DoublyRobust(LinearRegression(), folds=1),
    }
    estimators = [DifferenceInMeans(), RegressionAdjustment()]
    for name, estimator in variants.items():
        estimator.name = name
        estimators.append(estimator)
    draws = pd.concat(
        [
            repeat_estimates(model, "confounded", size, DRAWS, estimators)
            for size in NUISANCE_SIZES
        ],
        ignore_index=True,
    )
    draws["squared_error"] = (draws["estimate"] - draws["truth"]) ** 2
    groups = draws.groupby(["kind", "n", "estimator"], sort=False)
    error = groups["squared_error"].sem().to_numpy()
    table = summary(draws)
    position = table.columns.get_loc("rmse") + 1
    table.insert(position, "rmse_se", error / (2 * table["rmse"]))
    return table


def clips(model: str) -> pd.DataFrame:
    """Summarise inverse weighting by strength of the confounder and limit of the propensities."""
    tables = []
    for strength, clip in product(STRENGTHS, CLIPS):
        confounded = experiment(model, strength=strength)
        weighting = [InverseWeighting(clip=clip)]
        table = repeat_estimates(
            confounded, "confounded", CLIPPED_UNITS, DRAWS, weighting
        )
        tables.append(table.assign(strength=strength, clip=clip))
    by = ("strength", "clip", "n", "estimator")
    return summary(pd.concat(tables, ignore_index=True), by=by)


def scores(data: CausalData, learner: str) -> np.ndarray:
    """Return the learner's estimate of the treatment effect for each unit.

    Source: with regressions the T-learner of Künzel, Sekhon, Bickel & Yu (2019), PNAS 116(10), 4156-4165; with doubly
    robust scores the DR-learner of Kennedy (2023), Electronic Journal of Statistics 17(2), 3008-3049.
    """
    x = data.covariates.to_numpy(np.float64)
    t = data.treated
    y = data.outcome
    if learner == "doubly robust":
        return DoublyRobust().scores(x, t, y, np.random.default_rng(0)).values
    predictions = []
    for mask in (t, ~t):
        model = LinearRegression()
        if learner == "curved regression":
            model = make_pipeline(PolynomialFeatures(2), model)
        model.fit(x[mask], y[mask])
        predictions.append(model.predict(x))
    return predictions[0] - predictions[1]


def policies(model: str) -> pd.DataFrame:
    """Return the value of the policy that each learner learns from each log.

    A policy is a small tree that predicts the scores. It treats a unit if the predicted effect is better than the cost.
    Its value is the mean outcome of new units minus the cost, with the opposite sign if lower is better. `gain` is the
    increase over no treatment. `reached` is the gain over random treatment, divided by that gain of the best policy.
    """
    trial = experiment(model)
    sign = 1.0 if trial.better == "higher" else -1.0
    fresh = trial.units(EVALUATION_UNITS, np.random.default_rng(1_000_003))
    gains = sign * fresh.effects - trial.cost
    base = sign * fresh.outcomes[:, 0].mean()
    random_gain = (0.5 * gains).mean()
    best_gain = np.maximum(gains, 0).mean()
    rows = []
    with threadpool_limits(1, user_api="blas"):
        for kind, log in product(("confounded", "unobserved"), range(FEWER_DRAWS)):
            data = KINDS[kind](model, TRAINING_UNITS, episode_seed(0, log))
            names = list(data.covariates)
            for learner in LEARNERS:
                tree = DecisionTreeRegressor(
                    max_depth=TREE_DEPTH, min_samples_leaf=max(5, len(data) // 20)
                )
                tree.fit(data.covariates.to_numpy(), scores(data, learner))
                effects = tree.predict(fresh.covariates[names].to_numpy())
                is_treated = sign * effects > trial.cost
                gain = (is_treated * gains).mean()
                reached = (gain - random_gain) / (best_gain - random_gain)
                rows.append(
                    {
                        "policy": learner,
                        "treats": is_treated.mean(),
                        "value": base + gain,
                        "gain": gain,
                        "reached": reached,
                        "kind": kind,
                        "log": log,
                    }
                )
    return pd.DataFrame(rows)


def run_one(table: str, model: str) -> dict[str, pd.DataFrame]:
    """Compute one of the tables for one simulator."""
    functions = {
        "kinds": kinds,
        "sizes": sizes,
        "nuisances": nuisances,
        "clips": clips,
        "policies": policies,
    }
    return {table: functions[table](model)}


def main(
    out: Annotated[Path, typer.Option(help="Folder of the tables.")],
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    parts = [
        *product(("kinds", "sizes"), MODELS),
        *product(("nuisances", "clips", "policies"), [SIMULATOR]),
    ]
    grid = [
        Cell({"table": table, "model": model}, run_one, (table, model))
        for table, model in parts
    ]
    for name, rows in run_cells(grid, workers=workers, name="causal").items():
        table = rows.drop(columns="table")
        file = out / f"{name}.csv"
        table.to_csv(file, index=False, float_format="%.5g", lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
