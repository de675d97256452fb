"""How soon an agent that knows nothing learns a user: agents × users × seeds on pushlab/evalumap2-v0.

    python -m pushlab.studies.cold_start --out data/studies/cold_start.csv

An agent sends one notification for each context of a user's test quarter and learns from every answer. All agents meet
the same contexts, and under one seed the same uniform numbers decide what is opened, so that they are compared pair by
pair. Regret is the probability of an open given away by not sending the best notification, as the environment tells it
in `info["best"]`: a row of the catalogue with the best priority, visibility and so on. The candidates leave those at
their neutral values, so that a part of the regret, the `floor`, is out of reach of every agent that chooses among them.

`CHOSEN` is the agent that is held against `BASELINES`. It was chosen before the shipped users were looked at: see
`pushlab.agents.bandits`.
"""

import hashlib
import json
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from pushlab import agents
from pushlab.ground.content import of_modules
from pushlab.ground.files import write_text
from pushlab.metrics.estimate import mean_interval, paired_interval

AGENTS = {
    "random": agents.RandomCandidate,               # any row of the catalogue
    "random features": agents.RandomAgent,          # any value of every feature
    "most opened": agents.MostOpened,
    "eps-greedy": agents.EpsilonGreedy,
    "LinUCB": agents.LinUCB,
    "Thompson": agents.ThompsonSampling,
}
CHOSEN, BASELINES = "Thompson", ("random", "most opened")
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS = 20
WINDOW = 100            # steps that a point of a learning curve is the mean of
DIGITS = 5


# ---------------------------------------------------------------- one job: one user, one agent, all seeds

def run_job(user, agent, seeds):
    """What one agent achieves with one user under each seed, a dict of lists as JSON holds them.

    steps    of the episode
    opened   share opened in each window of 100 steps, a list a seed; likewise, in probability, `regret`, `best` and
             `reachable`, the best of the candidates
    last     {quantity: its mean over the last quarter of the episode, a number a seed}; `whole` over all of it
    """
    import gymnasium as gym

    from pushlab.logs.rollout import rollout

    env = gym.make("pushlab/evalumap2-v0", user=user)
    world = env.unwrapped.world
    reachable = world.judge.best_probability(world.period.context_codes, world.candidates)
    result = {"steps": 0, "opened": [], "regret": [], "best": [], "reachable": [], "last": {}, "whole": {}}
    for seed in seeds:
        log = rollout(env, AGENTS[agent](), seed=seed, progress=False)
        best = log["info.best"].to_numpy(float)
        told = {"opened": log["info.opened"].to_numpy(float), "regret": best - log["info.probability"].to_numpy(float),
                "best": best, "reachable": reachable}
        result["steps"] = len(log)
        for name, values in told.items():
            result[name].append(window_means(values))
            result["last"].setdefault(name, []).append(float(values[-(len(values) // 4):].mean()))
            result["whole"].setdefault(name, []).append(float(values.mean()))
    return result


def window_means(values, window=WINDOW):
    """Mean of each full window of values, a list; what is left over at the end belongs to none.

    >>> import numpy as np
    >>> window_means(np.array([0.0, 1.0, 1.0, 1.0, 5.0]), window=2)
    [0.5, 1.0]
    """
    full = len(values) // window
    return values[:full * window].reshape(full, window).mean(axis=1).tolist()


# ---------------------------------------------------------------- many jobs, each kept

def run_study(users=USERS, names=tuple(AGENTS), seeds=SEEDS, jobs=1, keep=None, progress=True):
    """Runs every pair of user and agent that is not kept yet; returns {(user, agent): what `run_job` gave}.

    keep  folder in which each finished job is kept as JSON, and found again unless the code or the data of the study
          have changed since; None keeps nothing
    jobs  processes to work with
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    paths = {(user, name): job_path(keep, user, name, seeds) if keep is not None else None
             for user in users for name in names}
    results = {pair: read_job(path) for pair, path in paths.items()}
    missing = [pair for pair, result in results.items() if result is None]
    work = Parallel(n_jobs=jobs, return_as="generator_unordered")(
        delayed(_run_and_keep)(pair, seeds, paths[pair]) for pair in missing)
    bar = tqdm(work, total=len(results), initial=len(results) - len(missing), desc="cold start", unit="job",
               disable=not progress)
    results.update(bar)
    return results


def _run_and_keep(pair, seeds, path):
    result = run_job(*pair, range(seeds))
    if path is not None:
        write_text(path, json.dumps(result))
    return pair, result


def read_job(path):
    """A kept job, or None where there is none that can be read."""
    try:
        return json.loads(path.read_text(encoding="utf-8")) if path is not None else None
    except (OSError, ValueError):
        return None


def job_path(keep, user, name, seeds):
    """Where a finished job is kept: the name changes with the code and the data that its numbers come from."""
    from pushlab.datasets.reading import load_user

    person = load_user(user)
    if person.truth is None:
        raise ValueError(f"nobody knows the true probabilities of user {person.name}, so regret cannot be told; "
                         "take a shipped user or one of pushlab make-user")
    digest = hashlib.sha256(of_modules("pushlab.studies.cold_start").encode())
    digest.update(person.test.context_codes.tobytes() + person.catalogue_codes.tobytes())
    digest.update(json.dumps([person.truth, name, seeds]).encode())
    return Path(keep) / f"{person.name}-{name.replace(' ', '-')}-{digest.hexdigest()[:16]}.json"


# ---------------------------------------------------------------- tables

def run_table(results):
    """A row a run: user, agent, seed, steps, and means over the last quarter and over the whole of the episode.

    opened_last, regret_last, opened, regret    share opened, probability given away
    best_last, floor_last                       the best possible, and the regret of the best candidate
    """
    import pandas as pd

    rows = []
    for (user, name), result in results.items():
        last, whole = result["last"], result["whole"]
        rows += [{"user": Path(user).name, "agent": name, "seed": seed, "steps": result["steps"],
                  "opened_last": last["opened"][seed], "regret_last": last["regret"][seed],
                  "best_last": last["best"][seed], "floor_last": last["best"][seed] - last["reachable"][seed],
                  "opened": whole["opened"][seed], "regret": whole["regret"][seed]}
                 for seed in range(len(last["opened"]))]
    return pd.DataFrame(rows).round(DIGITS)


def curve_table(results):
    """A row a window of 100 steps: user, agent, step (its last), mean and 95 % interval over the seeds.

    opened, opened_low, opened_high    share opened
    regret, regret_low, regret_high    probability given away
    best, reachable                    probability of the best notification, and of the best candidate
    """
    import pandas as pd

    rows = []
    for (user, name), result in results.items():
        for window in range(len(result["opened"][0])):
            row = {"user": Path(user).name, "agent": name, "step": (window + 1) * WINDOW}
            for quantity in ("opened", "regret"):
                interval = mean_interval([run[window] for run in result[quantity]])
                row |= {quantity: interval.mean, f"{quantity}_low": interval.low, f"{quantity}_high": interval.high}
            rows.append(row | {name: result[name][0][window] for name in ("best", "reachable")})
    return pd.DataFrame(rows).round(DIGITS)


def comparison_table(runs, chosen=CHOSEN, baselines=BASELINES, value="regret_last"):
    """The chosen agent against each baseline, a row a user and baseline: mean paired difference, 95 % interval.

    runs     a `run_table`
    returns  user, against, chosen and baseline (means of `value`), difference, low, high, sure (0 is outside);
             a difference below 0 means less regret

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"user": "ann", "agent": ["a", "a", "b", "b"], "seed": [0, 1, 0, 1],
    ...                      "regret_last": [0.1, 0.2, 0.3, 0.5]})
    >>> comparison_table(runs, "a", ["b"])[["against", "difference"]].round(2).values.tolist()
    [['b', -0.25]]
    """
    import pandas as pd

    rows = []
    for user, of_user in runs.groupby("user", sort=False):
        scores = of_user.pivot(index="seed", columns="agent", values=value)
        for baseline in baselines:
            interval = paired_interval(scores[chosen], scores[baseline])
            rows.append({"user": user, "against": baseline, "chosen": scores[chosen].mean(),
                         "baseline": scores[baseline].mean(), "difference": interval.mean, "low": interval.low,
                         "high": interval.high, "sure": bool(interval.low > 0 or interval.high < 0)})
    return pd.DataFrame(rows)


def agent_table(runs, value="regret_last"):
    """Mean of `value` over the seeds, a row a user and a column an agent."""
    return runs.pivot_table(index="user", columns="agent", values=value, sort=False)


def read_study(folder=None):
    """The study that comes with pushlab: (runs, curves), the two DataFrames that the command wrote.

    >>> runs, curves = read_study()
    >>> sorted(set(runs["user"]))
    ['ines', 'mira', 'noor', 'omar', 'theo']
    """
    import pandas as pd

    from pushlab.ground.files import data_dir

    folder = Path(folder) if folder is not None else data_dir() / "studies"
    return pd.read_csv(folder / "cold_start.csv"), pd.read_csv(folder / "cold_start_curves.csv")


# ---------------------------------------------------------------- the command

def main(out: Annotated[Path, typer.Option(help="The CSV of runs; the curves are written beside it.")],
         seeds: Annotated[int, typer.Option(min=2, help="Runs of each agent with each user.")] = SEEDS,
         jobs: Annotated[int, typer.Option(help="Processes to work with.")] = 1,
         keep: Annotated[Path | None, typer.Option(help="Folder for finished jobs; else pushlab's cache.")] = None,
         fresh: Annotated[bool, typer.Option("--fresh", help="Run again what is kept.")] = False,
         user: Annotated[list[str] | None, typer.Option(help="A user's name, or the folder of one whose truth.json is "
                                                             "there; may be repeated. Else the five shipped.")] = None):
    """How soon agents that know nothing learn a user. Can be interrupted: finished jobs are kept and not run again."""
    from pushlab.ground.files import cache_dir

    keep, users = keep or cache_dir() / "studies" / "cold_start", tuple(user or USERS)
    try:
        for one in users:
            job_path(keep, one, CHOSEN, seeds)
    except (OSError, ValueError) as error:      # nobody of that name, tables at fault, or no truth
        raise typer.BadParameter(str(error), param_hint="--user") from error
    if fresh:
        for one, name in product(users, AGENTS):
            job_path(keep, one, name, seeds).unlink(missing_ok=True)
    results = run_study(users, seeds=seeds, jobs=jobs, keep=keep)
    runs = run_table(results)
    write_text(out, runs.to_csv(index=False, lineterminator="\n"))
    write_text(out.with_name(f"{out.stem}_curves.csv"), curve_table(results).to_csv(index=False, lineterminator="\n"))
    typer.echo("Mean regret over the last quarter of the episode:\n" + agent_table(runs).round(3).to_string())
    typer.echo(f"\n{CHOSEN} against the baselines, paired over {seeds} seeds:\n"
               + comparison_table(runs).round(3).to_string(index=False))


if __name__ == "__main__":
    typer.run(main)
