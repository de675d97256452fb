"""Measure how fast agents learn a new user: agents × users × seeds on pushlab/evalumap2-v0.

    python studies/cold_start.py --out data/studies/cold_start.csv --workers 2

writes cold_start.csv, one row per run, and cold_start_curves.csv, one row per user, agent and window of 100 steps.

An agent sends one notification for each context of a user's test quarter and learns from every answer. All agents get
the same contexts and, with the same seed, the same random numbers for the answers, so they can be compared in pairs.
Regret is the loss in the probability of an open compared with the best notification: a row of the catalogue with the
best priority, visibility and so on. With reveal=True its probability is in `info["best"]`, which no agent here reads.
The candidates have neutral values of priority, visibility and so on, so an agent that chooses among them can't avoid a
part of the regret, the `floor`.

Thompson sampling is compared with random notifications and with the most opened one. It was chosen before the shipped
users were examined, see `pushlab.agents.bandits`.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import pandas as pd
import typer

import pushlab  # noqa: F401  registers the environments
from pushlab import agents
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.rollout import rollout
from pushlab.metrics.estimate import mean_interval

AGENTS = {
    "random": agents.RandomCandidate,  # any row of the catalogue
    "random features": agents.RandomAgent,  # any value of every feature
    "most opened": agents.MostOpened,
    "eps-greedy": agents.EpsilonGreedy,
    "LinUCB": agents.LinUCB,
    "Thompson": agents.ThompsonSampling,
    "logistic Thompson": agents.LogisticThompson,
}
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS = 20
WINDOW = 100  # steps per point of a learning curve
DIGITS = 5


def run_one(user: str, agent: str, seed: int) -> dict[str, Any]:
    """Run one agent with one user.

    Returns:
        `runs`, one row: steps, and means over the last quarter and over the full episode

        - `opened_last`, `regret_last`, `opened`, `regret`: share opened, and regret
        - `best_last`, `floor_last`: the best possible share, and the regret of the best candidate

        `windows`, one row per 100 steps: step (the last one), and the means of opened, regret, best (the probability of
        the best notification) and reachable (the probability of the best candidate).
    """
    env = gym.make("pushlab/evalumap2-v0", user=user, reveal=True)
    world = env.unwrapped.world
    log = rollout(env, AGENTS[agent](), seed=seed, progress=False)
    steps = pd.DataFrame(
        {
            "opened": log["info.opened"].astype(float),
            "regret": log["info.best"] - log["info.probability"],
            "best": log["info.best"],
            "reachable": world.judge.best_probability(
                world.period.context_codes, world.candidates
            ),
        }
    )
    last = steps.tail(len(steps) // 4).mean()
    means = steps.mean()
    run = {
        "steps": len(steps),
        "opened_last": last["opened"],
        "regret_last": last["regret"],
        "best_last": last["best"],
        "floor_last": last["best"] - last["reachable"],
        "opened": means["opened"],
        "regret": means["regret"],
    }
    complete = steps.head(len(steps) // WINDOW * WINDOW)
    windows = complete.groupby(complete.index // WINDOW).mean()
    windows.insert(0, "step", (windows.index + 1) * WINDOW)
    return {"runs": [run], "windows": windows}


def curve_table(windows: pd.DataFrame) -> pd.DataFrame:
    """Return means and 95 % intervals over the seeds, one row per user, agent and window."""
    rows = []
    keys = ["user", "agent", "step"]
    for key, group in windows.groupby(keys, sort=False):
        row = dict(zip(keys, key))
        for quantity in ("opened", "regret"):
            interval = mean_interval(group[quantity])
            row[quantity] = interval.mean
            row[f"{quantity}_low"] = interval.low
            row[f"{quantity}_high"] = interval.high
        row["best"] = group["best"].iloc[0]
        row["reachable"] = group["reachable"].iloc[0]
        rows.append(row)
    return pd.DataFrame(rows).round(DIGITS)


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the curves go beside it.")],
    seeds: Annotated[int, typer.Option(help="Runs of each agent and user.")] = SEEDS,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    grid = [
        Cell({"user": user, "agent": agent, "seed": seed}, run_one, (user, agent, seed))
        for user, agent, seed in product(USERS, AGENTS, range(seeds))
    ]
    tables = run_cells(grid, workers=workers, name="cold_start")
    runs = tables["runs"].round(DIGITS)
    runs.to_csv(out, index=False, lineterminator="\n")
    curves = curve_table(tables["windows"])
    curves_file = out.with_stem(f"{out.stem}_curves")
    curves.to_csv(curves_file, index=False, lineterminator="\n")
    regret = runs.pivot_table("regret_last", "user", "agent", sort=False)
    print("Mean regret over the last quarter of the episode:")
    print(regret.round(3).to_string())


if __name__ == "__main__":
    typer.run(main)
