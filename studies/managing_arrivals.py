"""Measure the value of managing arriving notifications: agents × users × seeds on pushlab/push-v0.

    python studies/managing_arrivals.py --out data/studies/managing_arrivals.csv --workers 2

writes managing_arrivals.csv, one row per run, and managing_arrivals_days.csv, one row per run and day.

An agent learns on the first two thirds of a user's days. It is then evaluated on each day of the last third, without
learning or exploring. With the same seed all agents get the same days and the same random number for each notification,
so they can be compared in pairs. All seeds share the 28 days, which differ more than the seeds do. The table therefore
has each day, and intervals are over seeds and days. Rewards have the environment's default weights
(`pushlab.envs.push.world.WEIGHTS`), fixed before any agent was trained.

Each learner is trained with three kinds of feedback: full, observed, and observed with a model of missed opens
(`imputes_missed`). All are evaluated by the full reward.

Linear Q and its settings were chosen on private users (`pushlab.users.synthesis.make_user`), before the shipped users
were examined.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import numpy as np
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
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.push_days import DAY_METRICS, day_means, evaluate_by_day, run_day
from pushlab.utils.seeds import part_seed

AGENTS = {
    "show all": ShowAll,
    "dismiss all": DismissAll,
    "do not disturb": DoNotDisturb,
    "Q-learning": QTable,
    "linear Q": LinearArrivalQ,
}
LEARNERS = ("Q-learning", "linear Q")
# Feedback in training: the environment's argument, and the learner's `imputes_missed`.
FEEDBACK = {
    "full": ("full", False),
    "observed": ("observed", False),
    "imputed": ("observed", True),
}
NO_FEEDBACK = "none"  # of rules, which don't learn
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


def run_one(user: str, agent: str, feedback: str, seed: int) -> dict[str, Any]:
    """Train and evaluate one agent with one user.

    Args:
        feedback: A key of FEEDBACK, or NO_FEEDBACK for an agent that isn't trained.

    Returns:
        `runs`, one row of means over the days, and `days`, one row per day.
    """
    learner: Any = AGENTS[agent]()
    if feedback != NO_FEEDBACK:
        observable, learner.imputes_missed = FEEDBACK[feedback]
        env = gym.make("pushlab/push-v0", user=user, days="train", feedback=observable)
        train(env, learner, seed=seed)
    env = gym.make("pushlab/push-v0", user=user, days="test")
    days = evaluate_by_day(env, learner, seed)
    columns = ["day", "reward", "opens", "interruptions", "delay"]
    return {"runs": [day_means(days)], "days": days[columns]}


def make_cells(seeds: int) -> list[Cell]:
    """Return the cells of all users, agents and kinds of feedback, one seed after another."""
    cells = []
    for seed, user, agent in product(range(seeds), USERS, AGENTS):
        for feedback in FEEDBACK if agent in LEARNERS else [NO_FEEDBACK]:
            labels = {"user": user, "agent": agent, "feedback": feedback, "seed": seed}
            cells.append(Cell(labels, run_one, tuple(labels.values())))
    return cells


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the other tables go beside it.")],
    seeds: Annotated[int, typer.Option(help="Runs of each agent and user.")] = SEEDS,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    tables = run_cells(make_cells(seeds), workers=workers, name="managing_arrivals")
    runs = tables["runs"].round(DIGITS)
    days = tables["days"].round(DIGITS).round({"delay": 1})
    runs.to_csv(out, index=False, lineterminator="\n")
    days_file = out.with_stem(f"{out.stem}_days")
    days.to_csv(days_file, index=False, lineterminator="\n")
    groups = runs.groupby(["user", "agent", "feedback"], sort=False)
    means = groups[list(DAY_METRICS)].mean()
    print("Means per day:")
    print(means.round(2).to_string(na_rep="–"))


if __name__ == "__main__":
    typer.run(main)
