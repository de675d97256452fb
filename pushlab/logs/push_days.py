"""Run and evaluate agents on the days of `pushlab/push-v0`, one day at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pushlab.agents.protocol import Agent
from pushlab.logs.rollout import Episode, run_episode
from pushlab.utils.seeds import part_seed

DAY_METRICS = ("reward", "opens", "interruptions", "delay", "missed")
EVALUATION_SEED_PART = (
    1  # part of a seed for evaluation days; a study's training uses other parts
)


def run_day(
    env: Any, agent: Agent, day: int, seed: int, learn: bool, **options: Any
) -> dict:
    """Run one day and return its last info. Without `learn` the agent neither learns nor explores.

    Args:
        options: Other options of `reset`, such as user="mira".
    """
    episode = Episode()
    options["day"] = day
    run_episode(env, agent, seed, learn, learn, None, "steps", episode, options)
    return episode.steps[-1].info


def evaluate_by_day(env: Any, agent: Agent, seed: int = 0) -> pd.DataFrame:
    """Run each day of the environment once, without learning or exploring; return one row per day.

    With the same seed all agents have the same days and the same random numbers.

    Columns: day; reward and its parts; opens; interruptions, the notifications shown; delay, the mean minutes from
    arrival to showing, NaN if nothing was shown; missed, the notifications that the user would have opened but never
    saw; forbidden, the number of masked actions.
    """
    rows = []
    for day in env.unwrapped.world.start_days.tolist():
        own_seed = part_seed(seed, EVALUATION_SEED_PART, day)
        info = run_day(env, agent, day, own_seed, learn=False)
        parts = {name: info[name] for name in info if name.startswith("parts.")}
        row = {
            "day": day,
            "reward": sum(parts.values()),
            "opens": info["opens"],
            "interruptions": info["shown"],
            "delay": info["delay"] if info["shown"] else np.nan,
            "missed": info["missed"],
            "forbidden": info["forbidden"],
        }
        rows.append(row | parts)
    return pd.DataFrame(rows)


def evaluate_agent(env: Any, agent: Agent, seed: int = 0) -> dict[str, float]:
    """Return the means per day of `evaluate_by_day`; the delay is the mean over all notifications shown."""
    return day_means(evaluate_by_day(env, agent, seed))


def day_means(days: pd.DataFrame) -> dict[str, float]:
    """Return the means of the rows of `evaluate_by_day`; the delay is the mean over all notifications shown."""
    means = days.drop(columns=["day", "forbidden"]).mean()
    shown = days["interruptions"]
    if shown.any():
        delays = days["delay"] * shown
        means["delay"] = delays.sum() / shown.sum()
    return means.to_dict()
