"""How far the estimators of `pushlab.causal` can be trusted: many data sets from each simulator, each estimated.

    python -m pushlab.studies.causal --out data/causal

For each simulator's own experiment and each kind of data set 200 are drawn, of 500 units, each with a seed of its own,
and the four standard estimators are asked for the average effect: `kinds.csv` tells how far off they are and how often
their 95 % intervals hold the truth. `sizes.csv` tells the same of confounded data sets of other sizes, 100 of each.
`clips.csv` tells it of inverse weighting on one simulator, 200 of 400 units, where the decision goes by the confounder
more and less strictly and propensities are clipped more and less. `policies.csv` tells what policies reach that are
learned from 100 logs which show the confounder, and from the same logs without it. About twenty minutes on one core.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer
from threadpoolctl import threadpool_limits

from pushlab.causal import (
    KINDS,
    InverseWeighting,
    by_size,
    experiment,
    learn_policy,
    policy_values,
    repeat,
    summary,
)
from pushlab.causal.policies import LEARNERS
from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.commands import run
from pushlab.ground.seeds import episode_seed
from pushlab.studies import tables

MODELS = ("hiv", "lotka_volterra", "opioid", "zika", "world3", "credit")
RIGHT = "doubly robust"  # the estimator that ought to be right in both of
KEPT = ("randomised", "confounded")
SIZES = (50, 100, 200, 400, 800, 1600)
UNITS, DRAWS, FEWER = 500, 200, 100
LOGGED, JUDGED = (
    1000,
    2000,
)  # units of a log to learn from; fresh units on which policies are judged
ONE, STRENGTHS, CLIPS, CLIPPED_UNITS = (
    "zika",
    (1.0, 3.0),
    (0.0, 0.005, 0.02, 0.05, 0.1),
    400,
)
DIGITS = "%.5g"


def kinds_of(
    model: str, n: int = UNITS, draws: int = DRAWS, **more: Any
) -> pd.DataFrame:
    """`pushlab.causal.summary` for each kind of data set from a simulator, a DataFrame."""
    table = pd.concat(
        [repeat(model, kind, n, draws, **more) for kind in KINDS], ignore_index=True
    )
    return summary(table).assign(model=model)


def sizes_of(
    model: str, sizes: Sequence[int] = SIZES, draws: int = FEWER
) -> pd.DataFrame:
    """`pushlab.causal.by_size` for confounded data sets from a simulator, a DataFrame."""
    return by_size(model, sizes, draws=draws).assign(model=model)


def clips_of(
    model: str = ONE,
    strengths: Sequence[float] = STRENGTHS,
    clips: Sequence[float] = CLIPS,
    n: int = CLIPPED_UNITS,
    draws: int = DRAWS,
    **more: Any,
) -> pd.DataFrame:
    """`pushlab.causal.summary` of inverse weighting for strengths of the confounder and clips, a DataFrame."""
    tables = [
        repeat(
            experiment(model, strength=strength),
            "confounded",
            n,
            draws,
            [InverseWeighting(clip=clip)],
            **more,
        ).assign(strength=strength, clip=clip)
        for strength in strengths
        for clip in clips
    ]
    return summary(
        pd.concat(tables, ignore_index=True), by=("strength", "clip", "n", "estimator")
    ).assign(model=model)


def policies_of(model: str = ONE, n: int = LOGGED, draws: int = FEWER) -> pd.DataFrame:
    """What learned policies reach, `pushlab.causal.policy_values` for each log and learner, a DataFrame."""
    tables = []
    with threadpool_limits(1, user_api="blas"):
        for kind, log in (
            (kind, log) for kind in ("confounded", "unobserved") for log in range(draws)
        ):
            data = KINDS[kind](model, n, episode_seed(0, log))
            values = policy_values(
                model, [learn_policy(data, scores) for scores in LEARNERS], n=JUDGED
            )
            tables.append(
                values[values["policy"].isin(LEARNERS)].assign(
                    kind=kind, log=log, model=model
                )
            )
    return pd.concat(tables, ignore_index=True)


TABLES: dict[str, Callable] = {
    "kinds": kinds_of,
    "sizes": sizes_of,
    "clips": clips_of,
    "policies": policies_of,
}


def run_table(name: str, model: str) -> dict[str, pd.DataFrame]:
    """One of the study's tables for one simulator, as a job."""
    return {name: TABLES[name](model)}


def main(
    out: tables.OutFolder = Path("data/causal"),
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
    models: Annotated[
        str, typer.Option(help="simulators, with commas between them")
    ] = ",".join(MODELS),
) -> None:
    """Runs the study, writes its tables and prints how often the right estimator's intervals hold the truth."""
    cells = [
        Cell({"table": name, "model": model}, run_table, (name, model))
        for name in TABLES
        for model in models.split(",")
        if model == ONE or name in ("kinds", "sizes")
    ]
    found = run_cells(cells, keep, jobs, fresh, name="causal")
    found = {name: rows.drop(columns="table") for name, rows in found.items()}
    tables.write_tables(out, found, float_format=DIGITS)
    kinds = found["kinds"]
    for model, found in kinds[
        (kinds["estimator"] == RIGHT) & kinds["kind"].isin(KEPT)
    ].groupby("model", sort=False):
        print(model, dict(zip(found["kind"], found["covers"])))


if __name__ == "__main__":
    run(typer.run, main)
