"""How far the off-policy estimators can be trusted: many logs of one policy, each asked about another.

    python -m pushlab.studies.offpolicy --out data/rec/offpolicy.csv

A recommender was run almost by chance and left its log; what would a recommender that picks far more sharply have
earned? The truth is found by enumeration. Each repetition writes a new log of 1,000 episodes, with its own seeds, and
estimates the value from it with cross-fitted value models.
"""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pushlab import causal
from pushlab.agents import SoftmaxItem
from pushlab.envs.rec.world import RECEnv
from pushlab.experiments.sweep import sweep
from pushlab.ground.commands import run
from pushlab.ground.seeds import part_seed
from pushlab.logs.collect import collect, true_value
from pushlab.metrics.offpolicy import off_policy
from pushlab.studies import tables

ENV = "pushlab/RECEnv-v0"
TASK: dict[str, Any] = {"step_per_episode": 5, "reward_std": 0.3, "random_state": 0}
BEHAVIOUR, TARGET = {"sharpness": 1.0}, {"sharpness": 4.0, "floor": 0.1}
EPISODES, REPETITIONS = 1_000, 500
DIGITS = 5
COLUMNS = ("repetition", "estimator", "value", "low", "high", "ess")


def policies() -> tuple[RECEnv, SoftmaxItem, SoftmaxItem]:
    """The world of the task, the policy that writes the logs, and the one to be judged."""
    world = RECEnv(**TASK)
    return (
        world,
        SoftmaxItem(world.items, **BEHAVIOUR),
        SoftmaxItem(world.items, **TARGET),
    )


def truth() -> float:
    """The target's true value, reward per episode."""
    world, _, target = policies()
    return true_value(world, target)


def estimates_of(repetition: int, episodes: int = EPISODES) -> pd.DataFrame:
    """What one repetition's log says, a DataFrame with the columns of COLUMNS, a row an estimator."""
    _, behaviour, target = policies()
    seed = part_seed(0, repetition)
    table = off_policy(
        collect(ENV, behaviour, episodes, seed, **TASK), target, seed=seed
    )
    return table.assign(repetition=repetition)[list(COLUMNS)]


def summary(table: pd.DataFrame, true: float) -> pd.DataFrame:
    """Bias, RMSE and coverage of each estimator over the repetitions, a DataFrame with a row an estimator.

    table   columns of COLUMNS; true: the true value, float
    bias    mean estimate - truth; rmse: root of the mean squared error; spread: deviation of the estimates
    covers  share of the intervals that hold the truth
    """
    found = causal.summary(
        table.rename(columns={"value": "estimate"}).assign(truth=true), by=["estimator"]
    )
    ess = table.groupby("estimator", sort=False)["ess"].mean()
    return found[["estimator", "mean", "bias", "spread", "rmse", "covers"]].assign(
        ess=ess.to_numpy()
    )


def main(
    out: tables.Out = Path("data/rec/offpolicy.csv"),
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
    repetitions: Annotated[
        int, typer.Option(help="Logs to write and judge.")
    ] = REPETITIONS,
) -> None:
    """Runs the study, writes the estimates and prints bias, RMSE and coverage."""
    table, true = (
        sweep(
            function=estimates_of,
            grid={"repetition": range(repetitions)},
            seeds=None,
            out=keep,
            workers=jobs,
            fresh=fresh,
            strict=True,
            name="offpolicy",
        ),
        truth(),
    )
    tables.write_tables(out, {"": table}, float_format=f"%.{DIGITS}f")
    print(f"true value {true:.5f}")
    print(summary(table, true).round(4).to_string(index=False))


if __name__ == "__main__":
    run(typer.run, main)
