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

Window and surprise of the one that recognises were set beforehand and tried on a single lifetime, Mira and Theo under
seed 0; the study's seeds begin at 1. Under one seed all agents meet the same days, so that they are compared in pairs.
"""

import hashlib
import json
from pathlib import Path
from typing import Annotated

import typer

from pushlab import agents
from pushlab.ground.content import of_modules
from pushlab.ground.files import write_text
from pushlab.lifetimes.syllabi import ant_a
from pushlab.metrics.estimate import mean_interval, paired_interval
from pushlab.studies.cold_start import read_job

AGENTS = {
    "one model": agents.LinearArrivalQ,
    "restarts": lambda: agents.Restarting(agents.LinearArrivalQ),
    "recognises": lambda: agents.Recognising(agents.LinearArrivalQ),
    "told": lambda: agents.Told(agents.LinearArrivalQ),
}
PAIRS = (("mira", "theo"), ("mira", "noor"), ("mira", "ines"), ("omar", "mira"))
TRAIN_DAYS, TEST_DAYS, SEEDS, FIRST_SEED = 60, 14, 20, 1
WINDOW = 10             # training days that a row of the curves is the mean of
DIGITS = 3


def users_syllabus(first, second, train=TRAIN_DAYS, test=TEST_DAYS):
    """The ANT_A syllabus of two users, the first one twice; the shipped `users-aba` is that of Mira and Theo."""
    tasks = {user: {"$episode": "pushlab/push-v0", "user": user, "days": "train"} for user in (first, second)}
    return ant_a(tasks, train, test, order=[first, second, first], name="user A, user B, user A",
                 held_out={"days": "test"})


def make_agent(name):
    """A fresh agent of the study, called as the study calls it."""
    agent = AGENTS[name]()
    agent.name = name
    return agent


# ---------------------------------------------------------------- one lifetime

def run_one(pair, agent, seed, train=TRAIN_DAYS, test=TEST_DAYS):
    """What one lifetime comes to, a dict as JSON holds it.

    tests, training    {phase: mean reward a day with A and with B}, {phase: means of ten days each}
    users              how many users the agent tells apart, or None
    """
    from pushlab.lifetimes.live import run_syllabus

    one = make_agent(agent)
    log = run_syllabus(users_syllabus(*pair, train, test), one, seed, progress=False)
    tests, training = log[log["block_type"] == "test"], log[log["block_type"] == "train"]
    means = tests.groupby(["phase", "task"])["reward"].mean()
    return {"tests": {phase: [float(means[phase, user]) for user in pair] for phase in tests["phase"].unique()},
            "training": {phase: window_means(some["reward"].to_numpy()) for phase, some in training.groupby("phase")},
            "users": len(one.users) if hasattr(one, "users") else None}


def window_means(rewards, window=WINDOW):
    """Mean of each full window, a list.

    >>> import numpy as np
    >>> window_means(np.array([1.0, 3.0, 5.0]), window=2)
    [2.0]
    """
    full = len(rewards) // window * window
    return rewards[:full].reshape(-1, window).mean(axis=1).tolist()


# ---------------------------------------------------------------- many, each kept

def run_study(pairs=PAIRS, names=tuple(AGENTS), seeds=SEEDS, jobs=1, keep=None, progress=True, train=TRAIN_DAYS,
              test=TEST_DAYS):
    """Runs what is not kept yet; returns {(pair, agent, seed): what `run_one` gave}.

    keep  folder in which each finished lifetime is kept as JSON and found again, unless code or data have changed
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    mark = fingerprint()
    work = [(tuple(pair), name, FIRST_SEED + seed) for pair in pairs for name in names for seed in range(seeds)]
    paths = {one: None if keep is None else Path(keep) / f"{'-'.join(one[0])}-{one[1]}-{one[2]}-{train}-{test}-"
             f"{mark}.json".replace(" ", "-") for one in work}
    results = {one: read_job(path) for one, path in paths.items()}
    missing = [one for one in work if results[one] is None]
    done = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_run_and_keep)(one, paths[one], train, test) for one in missing)
    results.update(tqdm(done, total=len(work), initial=len(work) - len(missing), desc="lifelong", unit="lifetime",
                        disable=not progress))
    return results


def _run_and_keep(one, path, train, test):
    result = run_one(*one, train, test)
    if path is not None:
        write_text(path, json.dumps(result))
    return one, result


def fingerprint():
    """A short name of the code and the data that the study's numbers come from."""
    from pushlab.ground.files import data_dir

    digest = hashlib.sha256(of_modules("pushlab.studies.lifelong").encode())
    digest.update((data_dir() / "push" / "SHA256SUMS").read_bytes())
    return digest.hexdigest()[:12]


# ---------------------------------------------------------------- tables

def evaluation_table(results):
    """A row a lifetime, test phase and task: first, second (the pair), agent, seed, phase, task, reward (a day), users.

    users  how many users the agent told apart in the whole lifetime, empty for agents that do not
    """
    import pandas as pd

    rows = [{"first": pair[0], "second": pair[1], "agent": name, "seed": seed, "phase": phase, "task": user,
             "reward": reward, "users": result["users"]}
            for (pair, name, seed), result in results.items() for phase, rewards in result["tests"].items()
            for user, reward in zip(pair, rewards)]
    return pd.DataFrame(rows).astype({"users": "Int64"}).round(DIGITS)


def training_table(results):
    """A row a pair, agent, phase and ten days of training: day (the last), reward a day, low and high over seeds."""
    import pandas as pd

    groups = {}
    for (pair, name, _), result in results.items():
        for phase, means in result["training"].items():
            for number, mean in enumerate(means, start=1):
                groups.setdefault((*pair, name, phase, number * WINDOW), []).append(mean)
    rows = []
    for (first, second, name, phase, day), rewards in groups.items():
        interval = mean_interval(rewards)
        rows.append({"first": first, "second": second, "agent": name, "phase": phase, "day": day,
                     "reward": interval.mean, "low": interval.low, "high": interval.high})
    return pd.DataFrame(rows).round(DIGITS)


def board_table(tests, first=PAIRS[0][0], second=PAIRS[0][1]):
    """The agents' rows of the capstone's leaderboard (`pushlab.challenges.board`), for its pair of users."""
    import pandas as pd

    from pushlab.challenges.board import COLUMNS, MEASURES, kept_and_forgotten

    some, rows = tests[(tests["first"] == first) & (tests["second"] == second)], []
    for name, mine in some.groupby("agent", sort=False):
        lives = [kept_and_forgotten(_as_log(life, first, second)) for _, life in mine.groupby("seed")]
        row = {"name": "pushlab", "agent": name, "syllabus": "users-aba", "note": "",
               "seeds": " ".join(map(str, sorted(mine["seed"].unique())))}
        for measure, values in zip(MEASURES, zip(*lives)):
            interval = mean_interval(values)
            row |= {measure: interval.mean, f"{measure}_low": interval.low, f"{measure}_high": interval.high}
        rows.append(row)
    return pd.DataFrame(rows, columns=list(COLUMNS)).round(DIGITS)


def _as_log(life, first, second):
    """A lifetime log with a row a test and a training, out of one lifetime's rows of the `evaluation_table`."""
    import pandas as pd

    tests = life.assign(block=2 * life["phase"].str.partition(".")[0].astype(int), block_type="test")
    training = pd.DataFrame({"block": [1, 3, 5], "block_type": "train", "task": [first, second, first]})
    return pd.concat([tests, training], ignore_index=True)


def forgetting(tests):
    """How much of what it could do for the first user each agent lost while it lived with the second.

    tests    a `evaluation_table`
    returns  a Series by first, second, agent, seed: the first user's reward a day after their own training less that
             after the second user's

    >>> import pandas as pd
    >>> told = {"first": "ann", "second": "bob", "agent": "x", "seed": 1, "task": "ann"}
    >>> forgetting(pd.DataFrame([{**told, "phase": "1.test", "reward": 5.0},
    ...                          {**told, "phase": "2.test", "reward": 2.0}])).item()
    3.0
    """
    own = tests[tests["task"] == tests["first"]]
    own = own.pivot_table(index=["first", "second", "agent", "seed"], columns="phase", values="reward", sort=False)
    return (own["1.test"] - own["2.test"]).rename("forgotten")


def comparison_table(tests, chosen="recognises", baselines=("one model", "restarts", "told")):
    """Forgetting of the agents, a row a pair of users and an agent: mean over seeds with its 95 % interval.

    returns  first, second, agent, forgotten, low, high; difference of the chosen agent to this one, paired over seeds,
             with its 95 % interval (difference_low, difference_high)
    """
    import pandas as pd

    rows = []
    for (first, second), some in forgetting(tests).groupby(level=["first", "second"], sort=False):
        scores = some.reset_index().pivot(index="seed", columns="agent", values="forgotten")
        for name in (*baselines, chosen):
            interval = mean_interval(scores[name])
            row = {"first": first, "second": second, "agent": name, "forgotten": interval.mean, "low": interval.low,
                   "high": interval.high}
            if name != chosen:
                paired = paired_interval(scores[chosen], scores[name])
                row |= {"difference": paired.mean, "difference_low": paired.low, "difference_high": paired.high}
            rows.append(row)
    return pd.DataFrame(rows)


def read_study(folder=None):
    """The study that comes with pushlab: (tests, training), the two DataFrames that the command wrote."""
    import pandas as pd

    from pushlab.ground.files import data_dir

    folder = Path(folder) if folder is not None else data_dir() / "studies"
    tests = pd.read_csv(folder / "lifelong.csv", dtype={"users": "Int64"})
    return tests, pd.read_csv(folder / "lifelong_training.csv")


# ---------------------------------------------------------------- the command

def main(out: Annotated[Path, typer.Option(help="The CSV of tests; that of the training is written beside it.")],
         seeds: Annotated[int, typer.Option(min=2, help="Lifetimes of each agent with each pair of users.")] = SEEDS,
         jobs: Annotated[int, typer.Option(help="Processes to work with.")] = 1,
         keep: Annotated[Path | None, typer.Option(help="Folder for finished lifetimes; else pushlab's cache.")] = None,
         pair: Annotated[list[str] | None, typer.Option(help="Two users as mira:theo; may be repeated. By default four "
                                                             "pairs.")] = None):
    """User A, user B, user A again. Can be interrupted: finished lifetimes are kept and not run again."""
    from pushlab.ground.files import cache_dir

    pairs = tuple(tuple(one.split(":")) for one in pair) if pair else PAIRS
    if any(len(one) != 2 for one in pairs):
        raise typer.BadParameter("a pair is two users with a colon between, such as mira:theo", param_hint="--pair")
    results = run_study(pairs, seeds=seeds, jobs=jobs, keep=keep or cache_dir() / "studies" / "lifelong")
    tests = evaluation_table(results)
    write_text(out, tests.to_csv(index=False, lineterminator="\n"))
    write_text(out.with_name(f"{out.stem}_training.csv"),
               training_table(results).to_csv(index=False, lineterminator="\n"))
    if PAIRS[0] in pairs:
        board = board_table(tests)
        write_text(out.with_name(f"{out.stem}_board.csv"), board.to_csv(index=False, lineterminator="\n"))
    for (first, second), some in tests.groupby(["first", "second"], sort=False):
        means = some.groupby(["agent", "phase", "task"], sort=False)["reward"].mean().unstack(["phase", "task"])
        typer.echo(f"Mean reward a day in tests, {first} and {second}:\n{means.round(1).to_string()}\n")
    typer.echo(f"Forgotten of the first user, and the difference of recognising, over {seeds} seeds:\n"
               + comparison_table(tests).round(2).to_string(index=False))
    told = {key: result["users"] for key, result in results.items() if result["users"] is not None}
    for one in pairs:
        found = [count for (who, _, _), count in told.items() if who == tuple(one)]
        typer.echo(f"users told apart with {one[0]} and {one[1]}: {sorted(found)}")


if __name__ == "__main__":
    typer.run(main)
