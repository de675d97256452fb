"""Measure the accuracy of the off-policy estimators on many logs of one policy.

    python studies/offpolicy.py --out data/rec/offpolicy.csv

writes offpolicy.csv, one row per log and estimator.

The logs come from a nearly random recommender. The estimators compute the value of a far more decisive one, whose true
value is computed by enumeration. Each repetition records a new log of 1,000 episodes, with its own seeds, and estimates
the value from it with cross-fitted value models. Notebook 6 compares the estimates with the truth.
"""

from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import pandas as pd
import typer

from pushlab.agents import SoftmaxItem
from pushlab.envs.rec.world import RECEnv
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.collect import collect, true_value
from pushlab.metrics.offpolicy import off_policy
from pushlab.utils.seeds import part_seed

ENV = "pushlab/RECEnv-v0"
TASK: dict[str, Any] = {"step_per_episode": 5, "reward_std": 0.3, "random_state": 0}
WORLD = RECEnv(**TASK)
BEHAVIOUR = SoftmaxItem(WORLD.items, sharpness=1.0)
TARGET = SoftmaxItem(WORLD.items, sharpness=4.0, floor=0.1)
EPISODES = 1_000
REPETITIONS = 500


def run_one(repetition: int) -> pd.DataFrame:
    """Estimate the target policy's value from one log, one row per estimator."""
    seed = part_seed(0, repetition)
    log = collect(gym.make(ENV, **TASK), BEHAVIOUR, EPISODES, seed)
    table = off_policy(log, TARGET, seed=seed)
    return table[["estimator", "value", "low", "high", "ess"]]


def main(
    out: Annotated[Path, typer.Option(help="CSV file.")],
    repetitions: Annotated[int, typer.Option(help="Logs.")] = REPETITIONS,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write the estimates."""
    grid = [
        Cell({"repetition": repetition}, run_one, (repetition,))
        for repetition in range(repetitions)
    ]
    table = run_cells(grid, workers=workers, name="offpolicy")["results"]
    table.to_csv(out, index=False, float_format="%.5f", lineterminator="\n")
    print(f"true value {true_value(WORLD, TARGET):.5f}; means of the estimates:")
    print(table.groupby("estimator", sort=False)["value"].mean().round(5).to_string())


if __name__ == "__main__":
    typer.run(main)
