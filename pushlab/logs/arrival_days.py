"""Run and judge agents on the days of `pushlab/push-v0`, one day at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pushlab.agents.protocol import Agent
from pushlab.ground.seeds import part_seed
from pushlab.logs.rollout import Episode, run_episode

QUANTITIES = ("reward", "opens", "interruptions", "delay", "missed")
JUDGING = 1  # the part of a seed that is for judged days; a study's training has others


def run_day(env: Any, agent: Agent, day: int, seed: int, learn: bool) -> dict:
    """Run one day and return its last info. Without `learn` the agent neither learns nor explores."""
    episode = Episode()
    options = {"day": day}
    run_episode(env, agent, seed, learn, learn, None, "steps", episode, options)
    *_, info, _, _ = episode.steps[-1]
    return info


def judge_days(env: Any, agent: Agent, seed: int = 0) -> pd.DataFrame:
    """Run each day of the environment once, without learning or exploring; return one row per day.

    Under one seed all agents get the same days and the same random numbers.

    Columns: day; reward and its parts; opens; interruptions, the notifications shown; delay, the mean minutes from
    arrival to showing, NaN if nothing was shown; missed, the notifications that the user would have opened and never
    saw; forbidden, the actions chosen against the mask.
    """
    rows = []
    for day in env.unwrapped.world.start_days.tolist():
        end = run_day(env, agent, day, part_seed(seed, JUDGING, day), learn=False)
        parts = {name: end[name] for name in end if name.startswith("parts.")}
        row = {
            "day": day,
            "reward": sum(parts.values()),
            "opens": end["opens"],
            "interruptions": end["shown"],
            "delay": end["delay"] if end["shown"] else np.nan,
            "missed": end["missed"],
            "forbidden": end["forbidden"],
        }
        rows.append(row | parts)
    return pd.DataFrame(rows)


def judge(env: Any, agent: Agent, seed: int = 0) -> dict[str, float]:
    """Return means a day of `judge_days`; the delay is the mean over all notifications shown."""
    return day_means(judge_days(env, agent, seed))


def day_means(days: pd.DataFrame) -> dict[str, float]:
    """Return the means of the rows of `judge_days`; the delay is the mean over all notifications shown."""
    means = days.drop(columns=["day", "forbidden"]).mean()
    shown = days["interruptions"]
    if shown.any():
        means["delay"] = (days["delay"] * shown).sum() / shown.sum()
    return means.to_dict()
