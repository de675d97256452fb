"""A lifelong notification agent: user A, user B, user A again, with four ways to treat earlier
knowledge.

    python studies/lifelong.py --out data/studies/lifelong.csv --workers 2

writes lifelong.csv (tests of the four agents), and beside it lifelong_training.csv,
lifelong_board.csv (their rows of the capstone's leaderboard), lifelong_remedies.csv (tests of the
seven learners by small steps) and lifelong_recovery.csv (of all eleven).

Each agent manages one user's arriving notifications for 60 days, another's for 60 days, and the
first one's for 60 days again (`pushlab/push-v0`; the days are drawn from the first two thirds of a
history). Before, between and after, it is tested on 14 days of the last third of each user's
history, always the same, without learning or exploring. All four use the same learner,
`LinearArrivalQ` with its defaults; they differ in what they do when the user changes:

- one model: goes on learning
- `restarts`: forgets everything at each change (it gets the signal of a change, but not the user's
  name)
- `recognises`: has a learner for each user so far, and recognises users by how much they open
- `told`: has a learner for each user and gets the user's name: the upper limit for recognising

Seven more learn by small steps: one unchanged, three with replay of 1, 3 or 9 answers after each
new one, and three with elastic weights of strength 30, 60 or 100 (`pushlab.agents.continual`). They
run with two of the four pairs.

Window and surprise of the agent that recognises users were set beforehand and tried on a single
lifetime, Mira and Theo under seed 0; replay and elastic weights too, also with Ines. The study's
seeds begin at 1. Under one seed all agents get the same days, so they can be compared in pairs.
"""

from collections.abc import Callable
from functools import partial
from itertools import product
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pushlab import agents
from pushlab.challenges.board import board_row
from pushlab.experiments.cells import Cell, run_cells
from pushlab.lifetimes.live import run_syllabus
from pushlab.lifetimes.syllabi import Syllabus, ant_a
from pushlab.metrics.estimate import mean_interval
from pushlab.metrics.lifelong import lifelong_report

AGENTS: dict[str, Callable[[], agents.Agent]] = {
    "one model": agents.LinearArrivalQ,
    "restarts": partial(agents.Restarting, agents.LinearArrivalQ),
    "recognises": partial(agents.Recognising, agents.LinearArrivalQ),
    "told": partial(agents.Told, agents.LinearArrivalQ),
}
REMEDIES: dict[str, Callable[[], agents.Agent]] = {
    "small steps": agents.SmallSteps,
    "replay 1": partial(agents.Replaying, times=1),
    "replay 3": partial(agents.Replaying, times=3),
    "replay 9": partial(agents.Replaying, times=9),
    "elastic 30": partial(agents.Elastic, 30),
    "elastic 60": partial(agents.Elastic, 60),
    "elastic 100": partial(agents.Elastic, 100),
}
PAIRS = (("mira", "theo"), ("mira", "noor"), ("mira", "ines"), ("omar", "mira"))
PAIRS_OF_REMEDIES = (PAIRS[0], PAIRS[2])  # two users who differ, and two alike
TRAIN_DAYS = 60
TEST_DAYS = 14
SEEDS = 20
FIRST_SEED = 1
WINDOW = 10  # training days per row of the curves
DIGITS = 3


def users_syllabus(first: str, second: str) -> Syllabus:
    """Return the ANT_A syllabus of two users; the shipped `users-aba` is that of Mira and Theo."""
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

    - `tests`: one row per test phase and task: phase, task, reward (mean per day), users (number of
      users that the agent distinguished in the whole lifetime, or None)
    - `training`: one row per phase and ten days of training: phase, day (the last), reward (mean
      per day)
    - `recovery`: one row: after how many days of the first user's second training it was as good as
      at the end of the first (`recovery_time` of the lifelong metrics), inf if never; watched, the
      days of that training
    """
    learner = (AGENTS | REMEDIES)[agent]()
    learner.name = agent
    log = run_syllabus(users_syllabus(first, second), learner, seed, progress=False)

    tests = log[log["block_type"] == "test"]
    means = tests.groupby(["phase", "task"])["reward"].mean()
    users = len(learner.users) if isinstance(learner, agents.Recognising) else None
    test_rows = []
    for phase, user in product(tests["phase"].unique(), (first, second)):
        reward = means[phase, user]
        test_rows.append(
            {"phase": phase, "task": user, "reward": reward, "users": users}
        )

    training = log[log["block_type"] == "train"]
    training_rows = []
    for phase, rewards in training.groupby("phase")["reward"]:
        for number, mean in enumerate(rewards.to_numpy().reshape(-1, WINDOW).mean(1)):
            day = (number + 1) * WINDOW
            training_rows.append({"phase": phase, "day": day, "reward": mean})

    regimes = lifelong_report(log, metrics=["recovery_time"]).regimes
    back = regimes.dropna(subset="recovery_time").iloc[0]
    recovery = {"recovery": back["recovery_time"], "watched": back["count"]}
    return {"tests": test_rows, "training": training_rows, "recovery": [recovery]}


def training_table(training: pd.DataFrame) -> pd.DataFrame:
    """Return means over the seeds: reward per day, low and high."""
    keys = ["first", "second", "agent", "phase", "day"]
    rows = []
    for key, rewards in training.groupby(keys, sort=False)["reward"]:
        interval = mean_interval(rewards)
        row = dict(zip(keys, key))
        row |= {"reward": interval.mean, "low": interval.low, "high": interval.high}
        rows.append(row)
    return pd.DataFrame(rows).round(DIGITS)


def board_table(tests: pd.DataFrame) -> pd.DataFrame:
    """Return the agents' rows of the capstone's leaderboard, from the tests of its pair of users.

    Reward and forgotten as in `pushlab.challenges.board.kept_and_forgotten`: the mean over the tests of users trained
    by then, and the first user's reward after their own training minus that after the second user's.
    """
    first, second = PAIRS[0]
    tests = tests[(tests["first"] == first) & (tests["second"] == second)]
    met = (tests["phase"] > "1.test") | (
        (tests["phase"] == "1.test") & (tests["task"] == first)
    )
    reward = tests[met].groupby(["agent", "seed"], sort=False)["reward"].mean()
    own = tests[tests["task"] == first].pivot(
        index=["agent", "seed"], columns="phase", values="reward"
    )
    forgotten = own["1.test"] - own["2.test"]
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
        names = [*AGENTS, *REMEDIES] if pair in PAIRS_OF_REMEDIES else [*AGENTS]
        for name, seed in product(names, range(FIRST_SEED, FIRST_SEED + seeds)):
            labels = {"first": pair[0], "second": pair[1], "agent": name, "seed": seed}
            grid.append(Cell(labels, run_one, (*pair, name, seed)))
    tables = run_cells(grid, workers=workers, name="lifelong")

    tests = tables["tests"].astype({"users": "Int64"}).round(DIGITS)
    training = training_table(tables["training"])
    remedies = tests["agent"].isin([*REMEDIES])
    written = {
        "": tests[~remedies],
        "_training": training[training["agent"].isin([*AGENTS])],
        "_remedies": tests[remedies].drop(columns="users"),
        "_recovery": tables["recovery"],
        "_board": board_table(tests[~remedies]),
    }
    for end, table in written.items():
        file = out.with_stem(out.stem + end)
        table.to_csv(file, index=False, lineterminator="\n")
    means = tests.groupby(["first", "second", "agent", "task", "phase"], sort=False)
    print("Mean reward a day in tests:")
    print(means["reward"].mean().unstack("phase").round(1).to_string())


if __name__ == "__main__":
    typer.run(main)
