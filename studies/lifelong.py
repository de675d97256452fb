"""Compare lifelong notification agents: user A, user B, then user A again.

    python studies/lifelong.py --out data/studies/lifelong.csv --workers 2

writes lifelong.csv (tests of four agents), and beside it lifelong_training.csv, lifelong_board.csv (their rows of the
capstone's leaderboard), lifelong_remedies.csv (tests of eight other learners) and lifelong_recovery.csv (of all 12).

Each agent manages the arriving notifications of one user for 60 days, of another user for 60 days, and of the first
user for 60 days again (`pushlab/push-v0`; the days are drawn from the first two thirds of a history). Before, between
and after, it is tested without learning or exploring, always on the same 14 days of the last third of each user's
history. All four use the same learner, `LinearArrivalQ` with its defaults, but treat a change of the user differently:

- one model: continues to learn
- `restarts`: forgets everything at each change; it gets a signal of the change, but not the user's name
- `recognises`: has a learner for each user so far, and recognises users by how much they open
- one a task: has a learner for each user and gets the user's name: the upper limit for recognising

Eight more learners run with two of the four pairs (`pushlab.agents.continual`). `blockwise` approximates the regression
of `LinearArrivalQ`. Seven learn by small steps: one unchanged, three with replay of 1, 3 or 9 answers after each new
one, and three with elastic weights of strength 5, 10 or 30.

The window and the surprise threshold of the agent that recognises users, replay and elastic weights were set
beforehand and tried on single lifetimes with seed 0: Mira and Theo, and for replay and elastic weights also Ines. The
study's seeds begin at 1. With the same seed all agents get the same days, so they can be compared in pairs.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pushlab import agents
from pushlab.challenges.leaderboard import board_row
from pushlab.experiments.cells import Cell, run_cells
from pushlab.lifetimes.runner import run_syllabus
from pushlab.lifetimes.syllabi import Syllabus, ant_a
from pushlab.metrics.estimate import mean_interval
from pushlab.metrics.lifelong import lifelong_report

AGENTS: dict[str, Callable[[], agents.Agent]] = {
    "one model": agents.LinearArrivalQ,
    "restarts": partial(agents.RestartingAgent, agents.LinearArrivalQ),
    "recognises": partial(agents.TaskInferringAgent, agents.LinearArrivalQ),
    "one a task": partial(agents.TaskAwareAgent, agents.LinearArrivalQ),
}
REMEDIES: dict[str, Callable[[], agents.Agent]] = {
    "blockwise": agents.BlockwiseArrivalQ,
    "small steps": agents.SGDArrivalQ,
    "replay 1": partial(agents.ReplayArrivalQ, times=1),
    "replay 3": partial(agents.ReplayArrivalQ, times=3),
    "replay 9": partial(agents.ReplayArrivalQ, times=9),
    "elastic 5": partial(agents.ElasticArrivalQ, 5),
    "elastic 10": partial(agents.ElasticArrivalQ, 10),
    "elastic 30": partial(agents.ElasticArrivalQ, 30),
}
PAIRS = (("mira", "theo"), ("mira", "noor"), ("mira", "ines"), ("omar", "mira"))
REMEDY_PAIRS = (PAIRS[0], PAIRS[2])  # two different users, and two similar users
TRAIN_DAYS = 60
TEST_DAYS = 14
SEEDS = 20
FIRST_SEED = 1
WINDOW = 10  # training days per row of the curves
DIGITS = 3


def users_syllabus(first: str, second: str) -> Syllabus:
    """Return the ANT_A syllabus of two users, like the shipped `users-aba` of Mira and Theo."""
    tasks = {
        user: {"$episode": "pushlab/push-v0", "user": user, "days": "train"}
        for user in (first, second)
    }
    return ant_a(
        tasks,
        TRAIN_DAYS,
        TEST_DAYS,
        order=[first, second, first],
        name="user A, user B, user A",
        held_out={"days": "test"},
    )


def run_one(first: str, second: str, agent: str, seed: int) -> dict[str, list[dict]]:
    """Run one lifetime and return three tables.

    - `tests`: one row per test phase and task: phase, task, reward (mean per day), users (number of users that the
      agent distinguished in the lifetime, or None)
    - `training`: one row per phase and ten days of training: phase, day (the last), reward (mean per day)
    - `recovery`: one row: the days of the first user's second training until the agent was as good as at the end of the
      first (`recovery_time` of the lifelong metrics), inf if never; watched, the number of days of this training
    """
    learner = (AGENTS | REMEDIES)[agent]()
    learner.name = agent
    log = run_syllabus(users_syllabus(first, second), learner, seed, progress=False)

    tests = log[log["block_type"] == "test"]
    means = tests.groupby(["phase", "task"])["reward"].mean()
    users = None
    if isinstance(learner, agents.TaskInferringAgent):
        users = len(learner.users)
    test_rows = []
    for phase, user in product(tests["phase"].unique(), (first, second)):
        reward = means[phase, user]
        test_rows.append(
            {
                "phase": phase,
                "task": user,
                "reward": reward,
                "users": users,
            }
        )

    training = log[log["block_type"] == "train"]
    training_rows = []
    for phase, rewards in training.groupby("phase")["reward"]:
        means = rewards.to_numpy().reshape(-1, WINDOW).mean(1)
        for number, mean in enumerate(means, start=1):
            day = number * WINDOW
            training_rows.append({"phase": phase, "day": day, "reward": mean})

    regimes = lifelong_report(log, metrics=["recovery_time"]).regimes
    second = regimes.dropna(subset="recovery_time").iloc[0]
    recovery = {"recovery": second["recovery_time"], "watched": second["count"]}
    return {"tests": test_rows, "training": training_rows, "recovery": [recovery]}


def training_table(training: pd.DataFrame) -> pd.DataFrame:
    """Return the mean reward per day over the seeds, with its interval."""
    keys = ["first", "second", "agent", "phase", "day"]
    rows = []
    for key, rewards in training.groupby(keys, sort=False)["reward"]:
        interval = mean_interval(rewards)
        row = dict(zip(keys, key))
        row["reward"] = interval.mean
        row["low"] = interval.low
        row["high"] = interval.high
        rows.append(row)
    return pd.DataFrame(rows).round(DIGITS)


def board_table(tests: pd.DataFrame) -> pd.DataFrame:
    """Return the agents' rows of the capstone's leaderboard, from the tests of its pair of users.

    The definitions are those of `pushlab.challenges.leaderboard.reward_and_forgetting`. Reward is the mean over the
    tests of users already trained. Forgotten is the drop of the first user's reward by the training of the second user.
    """
    first, second = PAIRS[0]
    tests = tests[(tests["first"] == first) & (tests["second"] == second)]
    phase = tests["phase"]
    is_first = tests["task"] == first
    is_trained = (phase > "1.test") | ((phase == "1.test") & is_first)
    reward = tests[is_trained].groupby(["agent", "seed"], sort=False)["reward"].mean()
    by_phase = tests[is_first].pivot(
        index=["agent", "seed"], columns="phase", values="reward"
    )
    forgotten = by_phase["1.test"] - by_phase["2.test"]
    rows = []
    for agent in tests["agent"].unique():
        measured = {"reward": reward[agent], "forgotten": forgotten[agent]}
        seeds = sorted(reward[agent].index)
        rows.append(board_row("pushlab", agent, seeds, measured))
    return pd.DataFrame(rows)


def main(
    out: Annotated[Path, typer.Option(help="CSV file; the other tables go beside it.")],
    seeds: Annotated[int, typer.Option(help="Lifetimes of each agent.")] = SEEDS,
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write its tables."""
    grid = []
    for pair in PAIRS:
        names = [*AGENTS, *REMEDIES] if pair in REMEDY_PAIRS else [*AGENTS]
        for name, seed in product(names, range(FIRST_SEED, FIRST_SEED + seeds)):
            labels = {
                "first": pair[0],
                "second": pair[1],
                "agent": name,
                "seed": seed,
            }
            grid.append(Cell(labels, run_one, (*pair, name, seed)))
    tables = run_cells(grid, workers=workers, name="lifelong")

    tests = tables["tests"].astype({"users": "Int64"}).round(DIGITS)
    training = training_table(tables["training"])
    is_remedy = tests["agent"].isin([*REMEDIES])
    results = {
        "": tests[~is_remedy],
        "_training": training[training["agent"].isin([*AGENTS])],
        "_remedies": tests[is_remedy].drop(columns="users"),
        "_recovery": tables["recovery"],
        "_board": board_table(tests[~is_remedy]),
    }
    for suffix, table in results.items():
        file = out.with_stem(out.stem + suffix)
        table.to_csv(file, index=False, lineterminator="\n")
    means = tests.groupby(["first", "second", "agent", "task", "phase"], sort=False)
    print("Mean reward per day in tests:")
    print(means["reward"].mean().unstack("phase").round(1).to_string())


if __name__ == "__main__":
    typer.run(main)
