"""Measure the value of managing arriving notifications: agents × users × seeds on pushlab/push-v0.

    python studies/managing_arrivals.py --out data/studies/managing_arrivals.csv --weights 5 --workers 2

writes managing_arrivals.csv, one row per run, managing_arrivals_days.csv, one row per run and day, and, with --weights,
managing_arrivals_weights.csv, one row per changed weight, user and baseline.

An agent learns on the first two thirds of a user's days. It is then evaluated on each day of the last third, without
learning or exploring. With the same seed all agents get the same days and the same random number for each notification,
so they can be compared in pairs. All seeds share the 28 days, which differ more than the seeds do. The table therefore
has each day, and intervals are over seeds and days. Rewards have the environment's default weights
(`pushlab.envs.push.world.WEIGHTS`), fixed before any agent was trained. `--weights` repeats the comparison with each
weight halved and doubled, also in training.

`CHOSEN` is the agent that is compared with `BASELINES`. It and its settings were chosen on private users
(`pushlab.users.synthesis.make_user`), before the shipped users were examined.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
import pandas as pd
import typer

import pushlab  # noqa: F401  registers the environments
from pushlab.agents import (
    Agent,
    DismissAll,
    DoNotDisturb,
    LinearArrivalQ,
    QTable,
    ShowAll,
)
from pushlab.envs.push.world import WEIGHTS
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.push_days import DAY_METRICS, day_means, evaluate_by_day, run_day
from pushlab.metrics.estimate import crossed_interval, simultaneous_intervals
from pushlab.utils.seeds import part_seed

AGENTS = {
    "show all": ShowAll,
    "dismiss all": DismissAll,
    "do not disturb": DoNotDisturb,
    "Q-learning": QTable,
    "linear Q": LinearArrivalQ,
}
LEARNERS = ("Q-learning", "linear Q")
CHOSEN = "linear Q"
BASELINES = ("show all", "do not disturb")
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS = 20
ROUNDS = 5  # passes of a learner through its days
DIGITS = 4
# Parts of a seed; pushlab.logs.push_days.JUDGING is 1.
TRAINING = 0
ORDER = 2


def train(env: Any, agent: Agent, rounds: int = ROUNDS, seed: int = 0) -> Agent:
    """Train an agent on all days of the environment, in a different order each round."""
    days = env.unwrapped.world.start_days
    rng = np.random.default_rng(part_seed(seed, ORDER))
    for round_number in range(rounds):
        for number, day in enumerate(rng.permutation(days).tolist()):
            day_seed = part_seed(seed, TRAINING, round_number, number)
            run_day(env, agent, day, day_seed, learn=True)
    return agent


def run_one(
    user: str, agent: str, seed: int, weights: Mapping[str, float]
) -> dict[str, Any]:
    """Train and evaluate one agent with one user.

    Args:
        weights: Weights of the environment that differ from the default.

    Returns:
        `runs`, one row of means over the days, and `days`, one row per day.
    """
    learner = AGENTS[agent]()
    if agent in LEARNERS:
        env = gym.make("pushlab/push-v0", user=user, days="train", **weights)
        train(env, learner, seed=seed)
    env = gym.make("pushlab/push-v0", user=user, days="test", **weights)
    days = evaluate_by_day(env, learner, seed)
    columns = ["day", "reward", "opens", "interruptions", "delay"]
    return {"runs": [day_means(days)], "days": days[columns]}


def cells_of(
    agents: Sequence[str],
    seeds: int,
    changed: str = "nothing",
    weights: Mapping[str, float] | None = None,
) -> list[Cell]:
    """Return the cells of all users under one set of weights."""
    cells = []
    for user, agent, seed in product(USERS, agents, range(seeds)):
        labels = {
            "user": user,
            "agent": agent,
            "seed": seed,
            "changed": changed,
        }
        cells.append(Cell(labels, run_one, (user, agent, seed, weights or {})))
    return cells


def changed_cells(seeds: int) -> list[Cell]:
    """Return cells with each nonzero weight halved and doubled."""
    cells = []
    for name, weight in WEIGHTS.items():
        for factor in (0.5, 2.0):
            if weight:
                changed = f"{name} x {factor:g}"
                weights = {name: weight * factor}
                cells += cells_of((*BASELINES, CHOSEN), seeds, changed, weights)
    return cells


def comparison_table(days: pd.DataFrame) -> pd.DataFrame:
    """Compare the chosen agent with each baseline: one row per user, change and baseline.

    Returns:
        A table with the columns user, changed, against, chosen and baseline (mean rewards per day), difference, and two
        of its intervals over seeds and days. Low to high is the 95 % interval of the row. All low to all high is wider,
        for simultaneous coverage of all rows (`simultaneous_intervals`). Better is whether all low is above 0. Days are
        treated as independent, although they are consecutive.
    """
    rows = []
    gains = []
    for (changed, user), group in days.groupby(["changed", "user"], sort=False):
        scores = {
            agent: agent_days.pivot(index="seed", columns="day", values="reward")
            for agent, agent_days in group.groupby("agent")
        }
        chosen = scores[CHOSEN].to_numpy()
        for against in BASELINES:
            baseline = scores[against].to_numpy()
            gain = chosen - baseline
            interval = crossed_interval(gain)
            gains.append(gain)
            rows.append(
                {
                    "user": user,
                    "changed": changed,
                    "against": against,
                    "chosen": chosen.mean(),
                    "baseline": baseline.mean(),
                    "difference": gain.mean(),
                    "low": interval.low,
                    "high": interval.high,
                }
            )
    intervals = simultaneous_intervals(gains, interval=crossed_interval)
    table = pd.DataFrame(rows)
    table["all low"] = [interval.low for interval in intervals]
    table["all high"] = [interval.high for interval in intervals]
    table["better"] = table["all low"] > 0
    return table


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the other tables go beside it.")],
    seeds: Annotated[int, typer.Option(help="Runs of each agent and user.")] = SEEDS,
    weights: Annotated[
        int, typer.Option(help="Runs with each weight halved and doubled.")
    ] = 0,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    grid = cells_of(tuple(AGENTS), seeds) + changed_cells(weights)
    tables = run_cells(grid, workers=workers, name="managing_arrivals")
    runs = tables["runs"].round(DIGITS)
    days = tables["days"].round(DIGITS).round({"delay": 1})
    if weights:
        table = comparison_table(days[days["changed"] != "nothing"]).round(DIGITS)
        weights_file = out.with_stem(f"{out.stem}_weights")
        table.to_csv(weights_file, index=False, lineterminator="\n")
    runs = runs[runs["changed"] == "nothing"].drop(columns="changed")
    runs.to_csv(out, index=False, lineterminator="\n")
    days = days[days["changed"] == "nothing"].drop(columns="changed")
    days_file = out.with_stem(f"{out.stem}_days")
    days.to_csv(days_file, index=False, lineterminator="\n")
    means = runs.groupby(["user", "agent"], sort=False)[list(DAY_METRICS)].mean()
    print("Means per day:")
    print(means.round(2).to_string(na_rep="–"))


if __name__ == "__main__":
    typer.run(main)
