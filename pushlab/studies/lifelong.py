"""A lifelong notification agent: user A, user B, user A again, and four ways to deal with what was learned before.

    python -m pushlab.studies.lifelong --out data/studies/lifelong.csv

Each agent manages one user's arriving notifications for 60 days, another's for 60 days, and the first one's for 60
days again (`pushlab/push-v0`; the days are drawn from the first two thirds of a history). Before, between and after, it
is tested on 14 days of the last third of each user's history, always the same, without learning or trying. All four use
the same learner, `LinearArrivalQ` with its defaults; they differ in what they do with it when the user changes:

    one model    goes on learning
    restarts     begins with nothing at each change (it is told of a change, not of whose life it is)
    recognises   keeps a learner for each user it has met and tells users apart by how much they open
    told         keeps a learner for each user and is told who it is: what recognising could be worth at best

Seven more learn by small steps: as they are, with replay of 1, 3 or 9 answers after each new one, and with elastic
weights of strength 30, 60 or 100 (`pushlab.agents.continual`). They live with two of the four pairs.

Window and surprise of the one that recognises were set beforehand and tried on a single lifetime, Mira and Theo under
seed 0, as were replay and elastic weights, with Ines too; the study's seeds begin at 1. Under one seed all agents meet
the same days, so that they are compared in pairs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pushlab import agents
from pushlab.experiments.cells import Cell, run_cells
from pushlab.experiments.specs import user_content
from pushlab.ground.commands import run, say
from pushlab.lifetimes.syllabi import Syllabus, ant_a
from pushlab.metrics.estimate import mean_interval, paired_interval
from pushlab.studies import tables

AGENTS: dict[str, Callable[[], agents.Agent]] = {
    "one model": agents.LinearArrivalQ,
    "restarts": lambda: agents.Restarting(agents.LinearArrivalQ),
    "recognises": lambda: agents.Recognising(agents.LinearArrivalQ),
    "told": lambda: agents.Told(agents.LinearArrivalQ),
}
REMEDIES: dict[str, Callable[[], agents.Agent]] = {
    "small steps": agents.SmallSteps,
    **{
        f"replay {times}": partial(agents.Replaying, times=times) for times in (1, 3, 9)
    },
    **{
        f"elastic {strength}": partial(agents.Elastic, strength)
        for strength in (30, 60, 100)
    },
}
PAIRS = (("mira", "theo"), ("mira", "noor"), ("mira", "ines"), ("omar", "mira"))
UNLIKE_AND_ALIKE = PAIRS[0], PAIRS[2]  # whom the remedies are tried on
TRAIN_DAYS, TEST_DAYS, SEEDS, FIRST_SEED = 60, 14, 20, 1
WINDOW = 10  # training days that a row of the curves is the mean of
DIGITS = 3


def users_syllabus(
    first: str, second: str, train: int = TRAIN_DAYS, test: int = TEST_DAYS
) -> Syllabus:
    """The ANT_A syllabus of two users, the first one twice; the shipped `users-aba` is that of Mira and Theo."""
    tasks = {
        user: {"$episode": "pushlab/push-v0", "user": user, "days": "train"}
        for user in (first, second)
    }
    return ant_a(
        tasks,
        train,
        test,
        order=[first, second, first],
        name="user A, user B, user A",
        held_out={"days": "test"},
    )


def make_agent(name: str) -> agents.Agent:
    """A fresh agent of the study, called as the study calls it."""
    agent = (AGENTS | REMEDIES)[name]()
    agent.name = name
    return agent


# ---------------------------------------------------------------- one lifetime


def run_one(
    first: str,
    second: str,
    agent: str,
    seed: int,
    train: int = TRAIN_DAYS,
    test: int = TEST_DAYS,
) -> dict[str, list[dict]]:
    """What one lifetime comes to: three tables.

    tests      a row a test phase and task: phase, task, reward (mean a day), users (how many users the agent told
               apart in the whole lifetime, or None)
    training   a row a phase and ten days of training: phase, day (the last), reward (mean a day)
    recovery   one row: after how many days of the first user's second training it was as good as at the end of the
               first (`recovery_time` of the lifelong metrics), inf where never; watched, the days of that training
    """
    from pushlab.lifetimes.live import run_syllabus
    from pushlab.metrics.lifelong import lifelong_report

    one = make_agent(agent)
    log = run_syllabus(
        users_syllabus(first, second, train, test), one, seed, progress=False
    )
    users = len(one.users) if isinstance(one, agents.Recognising) else None
    tests, training = (
        log[log["block_type"] == "test"],
        log[log["block_type"] == "train"],
    )
    means = tests.groupby(["phase", "task"])["reward"].mean()
    back = (
        lifelong_report(log, metrics=["recovery_time"])
        .regimes.dropna(subset="recovery_time")
        .iloc[0]
    )
    return {
        "tests": [
            {"phase": phase, "task": user, "reward": means[phase, user], "users": users}
            for phase in tests["phase"].unique()
            for user in (first, second)
        ],
        "recovery": [{"recovery": back["recovery_time"], "watched": back["count"]}],
        "training": [
            {"phase": phase, "day": number * WINDOW, "reward": mean}
            for phase, rewards in training.groupby("phase")["reward"]
            for number, mean in enumerate(
                tables.window_means(rewards.to_numpy(), WINDOW), start=1
            )
        ],
    }


# ---------------------------------------------------------------- tables


def run_study(
    pairs: Sequence[Sequence[str]] = PAIRS,
    names: Sequence[str] = (*AGENTS, *REMEDIES),
    seeds: int = SEEDS,
    jobs: int = 1,
    keep: Any = None,
    fresh: bool = False,
    progress: bool = True,
    train: int = TRAIN_DAYS,
    test: int = TEST_DAYS,
) -> tuple[pd.DataFrame, ...]:
    """Runs what is not kept yet; returns three DataFrames.

    jobs, keep, fresh   as in `pushlab.experiments.cells.run_cells`
    returns      tests, a row a lifetime, test phase and task: first, second (the pair), agent, seed, and the rest as in
                 `run_one`; training, a row a pair, agent, phase and ten days of training: day (the last), reward a day,
                 low and high over the seeds; recovery, a row a lifetime
    """
    content = {user: user_content(user) for pair in pairs for user in pair}
    cells = [
        Cell(
            {"first": first, "second": second, "agent": name, "seed": seed},
            run_one,
            (first, second, name, seed, train, test),
            [content[first], content[second]],
        )
        for first, second in map(tuple, pairs)
        for name in names
        if name in AGENTS or (first, second) in UNLIKE_AND_ALIKE
        for seed in range(FIRST_SEED, FIRST_SEED + seeds)
    ]
    found = run_cells(cells, keep, jobs, fresh, progress, name="lifelong")
    return (
        found["tests"].astype({"users": "Int64"}).round(DIGITS),
        training_table(found["training"]),
        found["recovery"],
    )


def training_table(training: pd.DataFrame) -> pd.DataFrame:
    """The rows of training of many lifetimes as one over the seeds: reward a day, low and high."""
    keys = ["first", "second", "agent", "phase", "day"]
    return pd.DataFrame(
        [
            dict(zip(keys, key))
            | dict(zip(("reward", "low", "high"), mean_interval(rewards)))
            for key, rewards in training.groupby(keys, sort=False)["reward"]
        ]
    ).round(DIGITS)


def board_table(
    tests: pd.DataFrame, first: str = PAIRS[0][0], second: str = PAIRS[0][1]
) -> pd.DataFrame:
    """The agents' rows of the capstone's leaderboard (`pushlab.challenges.board`), for its pair of users.

    Reward and forgotten as `pushlab.challenges.board.kept_and_forgotten` tells them of a log: of the tests of users
    that were met by then, and of the first user's before and after the second.
    """

    from pushlab.challenges.board import COLUMNS, board_row

    some, rows = tests[(tests["first"] == first) & (tests["second"] == second)], []
    met = some[
        (some["phase"] > "1.test")
        | (some["phase"] == "1.test") & (some["task"] == first)
    ]
    measured = pd.DataFrame(
        {
            "reward": met.groupby(["agent", "seed"], sort=False)["reward"].mean(),
            "forgotten": forgetting(some).loc[first, second],
        }
    )
    for name, mine in measured.groupby(level="agent", sort=False):
        rows.append(
            board_row(
                "pushlab", name, sorted(mine.index.get_level_values("seed")), mine
            )
        )
    return pd.DataFrame(rows, columns=list(COLUMNS))


def forgetting(tests: pd.DataFrame) -> pd.Series:
    """How much of what it could do for the first user each agent lost while it lived with the second.

    tests    the first table of the study
    returns  a Series by first, second, agent, seed: the first user's reward a day after their own training less that
             after the second user's

    >>> import pandas as pd
    >>> told = {"first": "ann", "second": "bob", "agent": "x", "seed": 1, "task": "ann"}
    >>> forgetting(pd.DataFrame([{**told, "phase": "1.test", "reward": 5.0},
    ...                          {**told, "phase": "2.test", "reward": 2.0}])).item()
    3.0
    """
    own = tests[tests["task"] == tests["first"]]
    own = own.pivot_table(
        index=["first", "second", "agent", "seed"],
        columns="phase",
        values="reward",
        sort=False,
    )
    return (own["1.test"] - own["2.test"]).rename("forgotten")


def comparison_table(
    tests: pd.DataFrame,
    chosen: str = "recognises",
    baselines: Sequence[str] = ("one model", "restarts", "told"),
) -> pd.DataFrame:
    """Forgetting of the agents, a row a pair of users and an agent: mean over seeds with its 95 % interval.

    returns  first, second, agent, forgotten, low, high; difference of the chosen agent to this one, paired over seeds,
             with its 95 % interval (difference_low, difference_high)
    """

    rows = []
    for (first, second), some in forgetting(tests).groupby(
        level=["first", "second"], sort=False
    ):
        scores = some.reset_index().pivot(
            index="seed", columns="agent", values="forgotten"
        )
        for name in (*baselines, chosen):
            row = {
                "first": first,
                "second": second,
                "agent": name,
                **dict(zip(("forgotten", "low", "high"), mean_interval(scores[name]))),
            }
            if name != chosen:
                row |= tables.interval_columns(
                    "difference", paired_interval(scores[chosen], scores[name])
                )
            rows.append(row)
    return pd.DataFrame(rows)


def read_study(folder: Path | str | None = None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The study that comes with pushlab: (tests, training), the two DataFrames that the command wrote."""
    tests, training = tables.read_tables(folder, "lifelong", "lifelong_training")
    return tests.astype({"users": "Int64"}), training


def read_remedies(
    folder: Path | str | None = None,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Of the study that comes with pushlab: tests of the learners by small steps, and recovery of all eleven agents."""
    return tables.read_tables(folder, "lifelong_remedies", "lifelong_recovery")


# ---------------------------------------------------------------- the command


def main(
    out: tables.Out,
    seeds: Annotated[
        int,
        typer.Option(min=2, help="Lifetimes of each agent with each pair of users."),
    ] = SEEDS,
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
    pair: Annotated[
        list[str] | None,
        typer.Option(
            help="Two users as mira:theo; may be repeated. By default four pairs."
        ),
    ] = None,
) -> None:
    """User A, user B, user A again. Can be interrupted: finished lifetimes are kept and not run again."""
    pairs = tuple(tuple(one.split(":")) for one in pair) if pair else PAIRS
    if any(len(one) != 2 for one in pairs):
        raise typer.BadParameter(
            "a pair is two users with a colon between, such as mira:theo",
            param_hint="--pair",
        )
    tests, training, recovery = run_study(
        pairs, seeds=seeds, jobs=jobs, keep=keep, fresh=fresh
    )
    remedies = tests[tests["agent"].isin(REMEDIES)].drop(columns="users")
    tests, training = (
        table[table["agent"].isin(AGENTS)] for table in (tests, training)
    )
    board = {"_board": board_table(tests)} if PAIRS[0] in pairs else {}
    tables.write_tables(
        out,
        {
            "": tests,
            "_training": training,
            "_remedies": remedies,
            "_recovery": recovery,
            **board,
        },
    )
    for (first, second), some in tests.groupby(["first", "second"], sort=False):
        means = (
            some.groupby(["agent", "phase", "task"], sort=False)["reward"]
            .mean()
            .unstack(["phase", "task"])
        )
        say(
            f"Mean reward a day in tests, {first} and {second}:\n{means.round(1).to_string()}\n"
        )
    say(
        f"Forgotten of the first user, and the difference of recognising, over {seeds} seeds:\n"
        + comparison_table(tests).round(2).to_string(index=False)
    )
    told = (
        tests.dropna(subset="users")
        .groupby(["first", "second", "agent", "seed"], sort=False)["users"]
        .first()
    )
    for (first, second), found in told.groupby(level=["first", "second"], sort=False):
        say(f"users told apart with {first} and {second}: {sorted(found.tolist())}")


if __name__ == "__main__":
    run(typer.run, main)
