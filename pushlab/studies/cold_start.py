"""How soon an agent that knows nothing learns a user: agents × users × seeds on pushlab/evalumap2-v0.

    python -m pushlab.studies.cold_start --out data/studies/cold_start.csv

An agent sends one notification for each context of a user's test quarter and learns from every answer. All agents meet
the same contexts, and under one seed the same uniform numbers decide what is opened, so that they are compared pair by
pair. Regret is the probability of an open given away by not sending the best notification. The environment tells it in
`info["best"]` only with reveal=True, as agents are to find it out; none of those here reads it. It is a row of the
catalogue with the best priority, visibility and so on. The candidates leave those at their neutral values, so that a
part of the regret, the `floor`, is out of reach of every agent that chooses among them.

`CHOSEN` is the agent that is held against `BASELINES`. It was chosen before the shipped users were looked at: see
`pushlab.agents.bandits`.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

from pushlab import agents
from pushlab.experiments.sweep import sweep
from pushlab.ground.commands import run, say
from pushlab.metrics.estimate import mean_interval, paired_interval
from pushlab.studies import tables

AGENTS = {
    "random": agents.RandomCandidate,  # any row of the catalogue
    "random features": agents.RandomAgent,  # any value of every feature
    "most opened": agents.MostOpened,
    "eps-greedy": agents.EpsilonGreedy,
    "LinUCB": agents.LinUCB,
    "Thompson": agents.ThompsonSampling,
}
CHOSEN, BASELINES = "Thompson", ("random", "most opened")
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS = 20
WINDOW = 100  # steps that a point of a learning curve is the mean of
DIGITS = 5


# ---------------------------------------------------------------- one cell: one user, one agent, one seed


def run_agent(env: Any, agent: agents.Agent, seed: int) -> dict[str, list[dict]]:
    """What an agent achieves with a user under a seed: two tables, `runs` and `windows`.

    env       evalumap2-v0 with reveal=True
    runs      a row: steps, and means over the last quarter and over the whole of the episode
              opened_last, regret_last, opened, regret    share opened, probability given away
              best_last, floor_last                       the best possible, and the regret of the best candidate
    windows   a row a window of 100 steps: step (its last), and the means of opened, regret, best (the probability of
              the best notification) and reachable (of the best candidate)
    """
    import numpy as np

    from pushlab.logs.rollout import rollout

    world, told = env.unwrapped.world, ("opened", "regret", "best", "reachable")
    reachable = world.judge.best_probability(
        world.period.context_codes, world.candidates
    )
    log = rollout(env, agent, seed=seed, progress=False)
    opened, best, probability = (
        log[f"info.{name}"].to_numpy(float)
        for name in ("opened", "best", "probability")
    )
    values = np.column_stack([opened, best - probability, best, reachable])
    last, whole = values[-(len(log) // 4) :].mean(axis=0), values.mean(axis=0)
    return {
        "runs": [
            {
                "steps": len(log),
                "opened_last": last[0],
                "regret_last": last[1],
                "best_last": last[2],
                "floor_last": last[2] - last[3],
                "opened": whole[0],
                "regret": whole[1],
            }
        ],
        "windows": [
            {"step": number * WINDOW, **dict(zip(told, means))}
            for number, means in enumerate(tables.window_means(values, WINDOW), start=1)
        ],
    }


def run_study(
    users: Sequence[str] = USERS,
    names: Sequence[str] = tuple(AGENTS),
    seeds: int = SEEDS,
    jobs: int = 1,
    keep: Any = None,
    fresh: bool = False,
    progress: bool = True,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs what is not kept yet; returns `runs` and `windows`, after user, agent and seed as `run_agent` tells them.

    jobs, keep, fresh   as in `pushlab.experiments.cells.run_cells`

    Raises ValueError for a user of whom nobody knows what would have been opened.
    """
    from pushlab.datasets.reading import load_user

    for user in users:
        if load_user(user).truth is None:
            raise ValueError(
                f"nobody knows the true probabilities of user {Path(user).name}, so regret cannot be "
                "told; take a shipped user or one of pushlab make-user"
            )
    envs = {
        Path(user).name: {"env": "pushlab/evalumap2-v0", "user": user, "reveal": True}
        for user in users
    }
    found = sweep(
        {name: AGENTS[name] for name in names},
        envs,
        seeds,
        keep,
        function=run_agent,
        workers=jobs,
        fresh=fresh,
        progress=progress,
        strict=True,
        name="cold_start",
    )
    return tuple(
        found[name].rename(columns={"env": "user"}) for name in ("runs", "windows")
    )


# ---------------------------------------------------------------- tables


def curve_table(windows: pd.DataFrame) -> pd.DataFrame:
    """A row a window of 100 steps: user, agent, step (its last), mean and 95 % interval over the seeds.

    windows   as `run_agent` gives them, of several users and agents

    opened, opened_low, opened_high    share opened
    regret, regret_low, regret_high    probability given away
    best, reachable                    probability of the best notification, and of the best candidate
    """

    rows = []
    for key, some in windows.groupby(["user", "agent", "step"], sort=False):
        row = dict(zip(("user", "agent", "step"), key))
        for quantity in ("opened", "regret"):
            row |= tables.interval_columns(quantity, mean_interval(some[quantity]))
        rows.append(row | some.iloc[0][["best", "reachable"]].to_dict())
    return pd.DataFrame(rows).round(DIGITS)


def comparison_table(
    runs: pd.DataFrame,
    chosen: str = CHOSEN,
    baselines: Sequence[str] = BASELINES,
    value: str = "regret_last",
) -> pd.DataFrame:
    """The chosen agent against each baseline, a row a user and baseline: mean paired difference, 95 % interval.

    runs     the first table of the study
    returns  user, against, chosen and baseline (means of `value`), difference, low, high, sure (0 is outside);
             a difference below 0 means less regret

    >>> import pandas as pd
    >>> runs = pd.DataFrame({"user": "ann", "agent": ["a", "a", "b", "b"], "seed": [0, 1, 0, 1],
    ...                      "regret_last": [0.1, 0.2, 0.3, 0.5]})
    >>> comparison_table(runs, "a", ["b"])[["against", "difference"]].round(2).values.tolist()
    [['b', -0.25]]
    """

    rows = []
    for user, of_user in runs.groupby("user", sort=False):
        scores = of_user.pivot(index="seed", columns="agent", values=value)
        for baseline in baselines:
            interval = paired_interval(scores[chosen], scores[baseline])
            rows.append(
                {
                    "user": user,
                    "against": baseline,
                    "chosen": scores[chosen].mean(),
                    "baseline": scores[baseline].mean(),
                    "difference": interval.mean,
                    "low": interval.low,
                    "high": interval.high,
                    "sure": bool(interval.low > 0 or interval.high < 0),
                }
            )
    return pd.DataFrame(rows)


def agent_table(runs: pd.DataFrame, value: str = "regret_last") -> pd.DataFrame:
    """Mean of `value` over the seeds, a row a user and a column an agent."""
    return runs.pivot_table(index="user", columns="agent", values=value, sort=False)


def read_study(folder: Path | str | None = None) -> tuple[pd.DataFrame, ...]:
    """The study that comes with pushlab: (runs, curves), the two DataFrames that the command wrote.

    >>> runs, curves = read_study()
    >>> sorted(set(runs["user"]))
    ['ines', 'mira', 'noor', 'omar', 'theo']
    """
    return tables.read_tables(folder, "cold_start", "cold_start_curves")


# ---------------------------------------------------------------- the command


def main(
    out: tables.Out,
    seeds: Annotated[
        int, typer.Option(min=2, help="Runs of each agent with each user.")
    ] = SEEDS,
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
    user: Annotated[
        list[str] | None,
        typer.Option(
            help="A user's name, or the folder of one with a truth.json; "
            "may be repeated. Else the five."
        ),
    ] = None,
) -> None:
    """How soon agents that know nothing learn a user. Can be interrupted: finished cells are kept and not run again."""
    try:
        runs, windows = run_study(
            user or USERS, seeds=seeds, jobs=jobs, keep=keep, fresh=fresh
        )
    except (
        OSError,
        ValueError,
    ) as error:  # nobody of that name, tables at fault, or no truth
        raise typer.BadParameter(str(error), param_hint="--user") from error
    runs = runs.round(DIGITS)
    tables.write_tables(out, {"": runs, "_curves": curve_table(windows)})
    say(
        "Mean regret over the last quarter of the episode:\n"
        + agent_table(runs).round(3).to_string()
    )
    say(
        f"\n{CHOSEN} against the baselines, paired over {seeds} seeds:\n"
        + comparison_table(runs).round(3).to_string(index=False)
    )


if __name__ == "__main__":
    run(typer.run, main)
