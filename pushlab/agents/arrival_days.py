"""Run and judge agents on the days of `pushlab/push-v0`, one day at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from pushlab.agents.protocol import Agent, Transition
from pushlab.ground.seeds import part_seed

QUANTITIES = ("reward", "opens", "interruptions", "delay", "missed")
JUDGING = 1  # the part of a seed that is for judged days; a study's training has others


def run_day(env: Any, agent: Agent, day: int, seed: int, learn: bool) -> dict:
    """Run one day and return its last info. Without `learn` the agent neither learns nor explores."""
    observation, info = env.reset(seed=seed, options={"day": day})
    agent.begin(env, seed)
    terminated = False
    while not terminated:
        action = agent.act(observation, info, explore=learn)
        following, reward, terminated, truncated, next_info = env.step(action)
        if learn:
            agent.learn(
                Transition(
                    observation,
                    info,
                    action,
                    reward,
                    following,
                    next_info,
                    terminated,
                    truncated,
                )
            )
        observation = following
        info = next_info
    return info


def judge_days(env: Any, agent: Agent, seed: int = 0) -> pd.DataFrame:
    """Run each day of the environment once, without learning or exploring; return a row a day.

    Under one seed all agents meet the same days and the same chance.

    returns  day; reward and its parts; opens; interruptions, the notifications shown; delay, the mean minutes from
             arrival to showing, NaN if nothing was shown; missed, the notifications that the user would have opened
             and never saw; forbidden, the actions chosen against the mask
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
