"""What managing arriving notifications is worth: agents × users × seeds on pushlab/push-v0.

    python -m pushlab.studies.managing_arrivals --out data/studies/managing_arrivals.csv

An agent learns on the first two thirds of a user's days and is then judged, no longer learning or trying, on each day
of the last third. Under one seed all agents meet the same days, and each notification the same uniform number, so that
they are compared pair by pair. All seeds share the 28 days, which differ more than the seeds do: each day is kept, and
intervals range over seeds and days. Rewards have the environment's default weights
(`pushlab.envs.push.world.WEIGHTS`), fixed before any agent was trained; `--weights` repeats the comparison with each
weight halved and doubled, in training too.

`CHOSEN` is the agent that is held against `BASELINES`; it and its settings were chosen on private users
(`pushlab.users.synthesis.make_user`), before the shipped ones were looked at.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from pushlab.agents import (
    Agent,
    DismissAll,
    DoNotDisturb,
    LinearArrivalQ,
    QTable,
    ShowAll,
)
from pushlab.agents.protocol import Transition
from pushlab.experiments.cells import Cell, run_cells
from pushlab.experiments.specs import user_content
from pushlab.ground.commands import run, say
from pushlab.ground.seeds import part_seed
from pushlab.metrics.estimate import crossed_interval, simultaneous
from pushlab.studies import tables

AGENTS = {
    "show all": ShowAll,
    "dismiss all": DismissAll,
    "do not disturb": DoNotDisturb,
    "Q-learning": QTable,
    "linear Q": LinearArrivalQ,
}
CHOSEN, BASELINES = "linear Q", ("show all", "do not disturb")
LEARNERS = ("Q-learning", "linear Q")
USERS = ("mira", "noor", "theo", "ines", "omar")
SEEDS, ROUNDS = 20, 5  # runs of each agent; how often a learner goes through its days
QUANTITIES = ("reward", "opens", "interruptions", "delay", "missed")
DIGITS = 4
TRAINING, JUDGING, ORDER = range(3)  # the parts of a study that have seeds of their own


# ---------------------------------------------------------------- one run


def live_day(env: Any, agent: Agent, day: int, seed: int, learn: bool) -> dict:
    """Lives one day; returns its info at the end."""
    observation, info = env.reset(seed=seed, options={"day": day})
    agent.begin(env, seed)
    over = False
    while not over:
        action = agent.act(observation, info, explore=learn)
        following, reward, over, truncated, told = env.step(action)
        if learn:
            agent.learn(
                Transition(
                    observation, info, action, reward, following, told, over, truncated
                )
            )
        observation, info = following, told
    return info


def train(env: Any, agent: Agent, rounds: int = ROUNDS, seed: int = 0) -> Agent:
    """Lets an agent learn from all days of the environment's span so many times, each time in another order."""
    days = [int(start) for start in env.unwrapped.world.start_days]
    order = np.random.default_rng(part_seed(seed, ORDER))
    for one_round in range(rounds):
        for number, day in enumerate(order.permutation(days).tolist()):
            live_day(
                env,
                agent,
                day,
                part_seed(seed, TRAINING, one_round, number),
                learn=True,
            )
    return agent


def judge_days(env: Any, agent: Agent, seed: int = 0) -> dict[int, dict]:
    """Lives each day of the environment's span once without learning or trying: {day: its info at the end}.

    Under one seed all agents meet a day with the same chance.
    """
    return {
        int(day): live_day(
            env, agent, int(day), part_seed(seed, JUDGING, int(day)), learn=False
        )
        for day in env.unwrapped.world.start_days
    }


def judge(env: Any, agent: Agent, seed: int = 0) -> dict[str, float]:
    """Means a day over all days of the environment's span; see `means_of`."""
    return means_of(judge_days(env, agent, seed))


def means_of(days: dict[int, dict]) -> dict[str, float]:
    """Means a day of what `judge_days` gave, a dict: QUANTITIES, and the parts of the reward.

    interruptions  notifications shown a day
    delay          minutes from arrival to showing, mean over all that were shown; NaN where nothing was
    missed         notifications a day that never reached a user who would have opened them
    """
    ends = list(days.values())
    parts = [key for key in ends[0] if key.startswith("parts.")]
    mean = {
        key: float(np.mean([end[key] for end in ends]))
        for key in ("opens", "shown", "missed", *parts)
    }
    shown = np.array([end["shown"] for end in ends])
    delay = (
        float(shown @ [end["delay"] for end in ends] / shown.sum())
        if shown.any()
        else np.nan
    )
    return {
        "reward": sum(mean[part] for part in parts),
        "opens": mean["opens"],
        "interruptions": mean["shown"],
        "delay": delay,
        "missed": mean["missed"],
        **{part: mean[part] for part in parts},
    }


def of_day(end: dict) -> dict[str, float | None]:
    """A day from its info at the end: the first of QUANTITIES, a dict; the delay is None where nothing was shown."""
    reward = float(sum(worth for key, worth in end.items() if key.startswith("parts.")))
    return {
        "reward": reward,
        "opens": end["opens"],
        "interruptions": end["shown"],
        "delay": end["delay"] if end["shown"] else None,
    }


def run_one(
    user: str, agent: str, seed: int, weights: dict[str, float] | None = None
) -> dict[str, list[dict]]:
    """Trains and judges one agent with one user under one seed: two tables, `runs` (a row, `means_of` the days) and
    `days` (a row a day: day, and what `of_day` gives).

    weights  the environment's, where not default
    """
    import gymnasium as gym

    import pushlab  # noqa: F401
    from pushlab.datasets.reading import load_user

    more: dict[str, Any] = {"user": load_user(user), **(weights or {})}
    learner = AGENTS[agent]()
    if agent in LEARNERS:
        train(gym.make("pushlab/push-v0", days="train", **more), learner, seed=seed)
    days = judge_days(gym.make("pushlab/push-v0", days="test", **more), learner, seed)
    return {
        "runs": [means_of(days)],
        "days": [{"day": day, **of_day(end)} for day, end in days.items()],
    }


# ---------------------------------------------------------------- many runs, each kept


def run_study(
    users: Sequence[str] = USERS,
    names: Sequence[str] = tuple(AGENTS),
    seeds: int = SEEDS,
    variants: Sequence[tuple | None] = (None,),
    jobs: int = 1,
    keep: Any = None,
    fresh: bool = False,
    progress: bool = True,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Runs what is not kept yet; returns two DataFrames.

    variants  what is changed: None, or a pair (weight, factor)
    jobs      processes to work with
    keep, fresh   as in `pushlab.experiments.cells.run_cells`
    returns   runs, a row a run: user, agent, seed, changed, and its means; days, a row a run and day: user, agent,
              seed, changed, day, and what `of_day` gives
    """
    from pushlab.envs.push.world import WEIGHTS

    cells, content = [], {user: user_content(user) for user in users}
    for name, factor in (variant or ("nothing", None) for variant in variants):
        changed, weights = (
            (f"{name} x {factor:g}", {name: WEIGHTS[name] * factor})
            if factor
            else (name, {})
        )
        cells += [
            Cell(
                {
                    "user": Path(user).name,
                    "agent": agent,
                    "seed": seed,
                    "changed": changed,
                },
                run_one,
                (user, agent, seed, weights),
                content[user],
            )
            for user in users
            for agent in names
            for seed in range(seeds)
        ]
    found = run_cells(cells, keep, jobs, fresh, progress, name="managing_arrivals")
    runs, days = (
        found[name].astype({"delay": float}).round(DIGITS) for name in ("runs", "days")
    )
    return runs, days.round({"delay": 1})


def all_variants() -> tuple[tuple[str, float], ...]:
    """Each weight that is not 0, halved and doubled."""
    from pushlab.envs.push.world import WEIGHTS

    return tuple(
        (name, factor)
        for name, weight in WEIGHTS.items()
        if weight
        for factor in (0.5, 2.0)
    )


# ---------------------------------------------------------------- tables


def comparison_table(
    days: pd.DataFrame, chosen: str = CHOSEN, baselines: Sequence[str] = BASELINES
) -> pd.DataFrame:
    """The chosen agent against each baseline: a row a user, a change and a baseline.

    days     the second table of `run_study`
    returns  user, changed, against, chosen and baseline (mean rewards a day), difference, and two intervals of it, both
             over seeds and days: low to high is the 95 % interval of this row, all low to all high is widened so that
             those of all rows of the table hold together (`simultaneous`); better: even that one lies above 0. Days
             count as drawn independently, though those of a quarter are neighbours

    >>> import pandas as pd
    >>> days = pd.DataFrame([("ann", agent, seed, day, 2 * (agent == "a") + seed + day)
    ...                      for agent in "ab" for seed in (0, 1) for day in (7, 8)],
    ...                     columns=["user", "agent", "seed", "day", "reward"])
    >>> comparison_table(days, "a", ["b"])[["against", "difference", "low", "better"]].values.tolist()
    [['b', 2.0, 2.0, True]]
    """

    lines, gains = [], []
    days = days if "changed" in days else days.assign(changed="nothing")
    for (changed, user), some in days.groupby(["changed", "user"], sort=False):
        scores = {name: reward_grid(some, name) for name in (chosen, *baselines)}
        for baseline in baselines:
            gains.append(scores[chosen] - scores[baseline])
            lines.append(
                {
                    "user": user,
                    "changed": changed,
                    "against": baseline,
                    "chosen": scores[chosen].mean(),
                    "baseline": scores[baseline].mean(),
                    "difference": gains[-1].mean(),
                }
            )
    each, together = (
        [crossed_interval(gain) for gain in gains],
        simultaneous(gains, interval=crossed_interval),
    )
    return pd.DataFrame(
        [
            {
                **line,
                "low": one.low,
                "high": one.high,
                "all low": wide.low,
                "all high": wide.high,
                "better": wide.low > 0,
            }
            for line, one, wide in zip(lines, each, together)
        ]
    )


def reward_grid(days: pd.DataFrame, agent: str) -> np.ndarray:
    """The rewards of an agent with one user, array (seeds, days)."""
    return (
        days[days["agent"] == agent]
        .pivot(index="seed", columns="day", values="reward")
        .to_numpy()
    )


def means_table(runs: pd.DataFrame) -> pd.DataFrame:
    """Means a day over the seeds, a row a user and agent, a column a quantity; NaN where there is none."""
    return runs.groupby(["user", "agent"], sort=False)[list(QUANTITIES)].mean()


def read_study(folder: Path | str | None = None) -> tuple[pd.DataFrame, ...]:
    """The study that comes with pushlab: the three DataFrames that the command wrote, runs, days, and the weights."""
    return tables.read_tables(
        folder,
        "managing_arrivals",
        "managing_arrivals_days",
        "managing_arrivals_weights",
    )


# ---------------------------------------------------------------- the command


def main(
    out: tables.Out,
    seeds: Annotated[
        int, typer.Option(min=2, help="Runs of each agent with each user.")
    ] = SEEDS,
    weights: Annotated[
        int,
        typer.Option(
            help="Also with each weight halved and doubled, so many runs each."
        ),
    ] = 0,
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
    user: Annotated[
        list[str] | None,
        typer.Option(
            help="A user's name or folder; several; by default all five shipped ones."
        ),
    ] = None,
) -> None:
    """What managing arriving notifications is worth. Can be interrupted: finished runs are kept and not run again."""
    from pushlab.datasets.reading import load_user

    users = tuple(user or USERS)
    try:
        for one in users:
            load_user(one)
    except (OSError, ValueError) as error:  # nobody of that name, or tables at fault
        raise typer.BadParameter(str(error), param_hint="--user") from error
    how: dict[str, Any] = {"jobs": jobs, "keep": keep, "fresh": fresh}
    runs, days = (
        table.drop(columns="changed") for table in run_study(users, seeds=seeds, **how)
    )
    written = {"": runs, "_days": days}
    say("Means a day:\n" + means_table(runs).round(2).to_string(na_rep="–"))
    say(
        f"\n{CHOSEN}, reward a day against the baselines, intervals over {seeds} seeds and the days:\n"
        + comparison_table(days).round(3).to_string(index=False)
    )
    if weights:
        changed = run_study(
            users, (*BASELINES, CHOSEN), weights, all_variants(), **how
        )[1]
        written["_weights"] = comparison_table(changed).round(DIGITS)
        say(
            "\nWith each weight halved and doubled:\n"
            + written["_weights"].round(2).to_string(index=False)
        )
    tables.write_tables(out, written)


if __name__ == "__main__":
    run(typer.run, main)
