"""The benchmark's tasks (`data/bench/tasks.json`), their scales, and the scores of the shipped agents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import gymnasium as gym
import pandas as pd

from pushlab.utils.arguments import validate_choice
from pushlab.utils.files import data_dir, read_json

VERSION = "pushlab-bench-1"
QUICK = "pushlab-bench-1-quick"
VERSIONS = (VERSION, QUICK)
SCORES = ["agent", "task", "seed", "score", "normalised", "steps"]


class Task(NamedTuple):
    """A task in one version of the benchmark.

    Attributes:
        name: Name of the task.
        env: Id of the environment, or name of the syllabus.
        steps: Budget of training steps for each user. In lifetimes both versions have the budget of the syllabus.
        episodes: Number of scored episodes. In lifetimes, the number per task and test.
        unit: Unit of the score. Higher is better.
        system: System of pushlab that the task belongs to.
        abilities: Abilities that the task requires, such as "exploration".
        arguments: Arguments of the environment, including `max_episode_steps`. If `user` is a list, the score is the
            mean over these users, with a fresh agent for each.
        kind: "train": the agent learns within the budget and is then scored. "online": it is scored while it learns.
            "offline": it learns from the history and is scored on the test quarter. "lifetime": it runs a syllabus.
        judged_on: Arguments that differ in the scored episodes.
        value: Scored quantity: "reward" or an entry of info.
        per: The score is a mean per "step" or per "episode".
        scale: "log10" if the score is the logarithm of that mean (of 1 if the mean is less), since rewards span powers
            of ten.
        capacity: Capacity of the agent's memory in tasks about memory, otherwise None.
        random, best: Scores that normalise to 0 and 1, in a file of your own. Those of the shipped tasks are in
            `data/bench/anchors.csv`.
    """

    name: str
    env: str
    steps: int
    episodes: int
    unit: str
    system: str = ""
    abilities: Sequence[str] = ()
    arguments: Mapping[str, Any] = {}
    kind: str = "train"
    judged_on: Mapping[str, Any] = {}
    value: str = "reward"
    per: str = "step"
    scale: str | None = None
    capacity: int | None = None
    random: float | None = None
    best: float | None = None

    @property
    def user_arguments(self) -> list[dict]:
        """Arguments of the environment, one dict per user."""
        users = self.arguments.get("user")
        if isinstance(users, list):
            return [{**self.arguments, "user": user} for user in users]
        return [dict(self.arguments)]

    def make(self, arguments: Mapping[str, Any], scored: bool = False) -> gym.Env:
        """Return an environment for training, or for scored episodes.

        Args:
            arguments: One of the dicts in `user_arguments`.
            scored: Whether the environment is for scored episodes.
        """
        arguments = {**arguments, **(self.judged_on if scored else {})}
        if self.value in ("probability", "best"):
            # The score needs these entries of info. `Trial` hides them from agents.
            arguments["reveal"] = True
        return gym.make(self.env, disable_env_checker=True, **arguments)


@cache
def read_tasks(version: str = VERSION) -> tuple[Task, ...]:
    """Return the tasks of a version in order. The quick version has smaller budgets and fewer episodes.

    Args:
        version: A name in VERSIONS, or a JSON file {"tasks": [{"name": ..., "env": ..., ...}, ...]} of tasks of your
            own with the attributes of a Task.

    >>> len(read_tasks()) >= 14, read_tasks("pushlab-bench-1-quick")[0].steps < read_tasks()[0].steps
    (True, True)
    """
    if version not in VERSIONS:
        return tuple(Task(**entry) for entry in read_json(version)["tasks"])
    column = VERSIONS.index(version)
    tasks = []
    for entry in read_json(data_dir() / "bench" / "tasks.json")["tasks"]:
        entry["steps"] = entry["steps"][column]
        entry["episodes"] = entry["episodes"][column]
        tasks.append(Task(**entry))
    return tuple(tasks)


def find_task(name: str, version: str = VERSION) -> Task:
    """Return the task with this name. Raises ValueError if there is none; the message lists all names."""
    tasks = {task.name: task for task in read_tasks(version)}
    return tasks[validate_choice("task", name, tasks)]


def task_table(version: str = VERSION) -> pd.DataFrame:
    """Return the tasks as a table: name, system, abilities, kind, steps, episodes, unit, random, best, best_from.

    `random` and `best` are the scores that normalise to 0 and 1. `best_from` is the source of the best score, and
    whether it is the true optimum.
    """
    columns = ["name", "system", "abilities", "kind", "steps", "episodes", "unit"]
    tasks = pd.DataFrame(read_tasks(version))[columns]
    return tasks.merge(_read_anchors(version), on="name", how="left")


def normalise(scores: pd.DataFrame, version: str) -> pd.DataFrame:
    """Return a table of scores with a column `normalised`: 0 for random play, 1 for the best known score."""
    anchors = _read_anchors(version).set_index("name")
    random = scores["task"].map(anchors["random"])
    best = scores["task"].map(anchors["best"])
    normalised = (scores["score"] - random) / (best - random)
    return scores.assign(normalised=normalised)[SCORES]


def read_reference(version: str = VERSION) -> pd.DataFrame:
    """Return the scores of the shipped agents: agent, task, seed, score, normalised, steps.

    >>> list(read_reference())
    ['agent', 'task', 'seed', 'score', 'normalised', 'steps']
    """
    return normalise(_read_table("reference", version), version)


def _read_anchors(version):
    if version not in VERSIONS:
        return pd.DataFrame(read_tasks(version))[["name", "random", "best"]]
    return _read_table("anchors", version).rename(columns={"task": "name"})


def _read_table(name, version):
    table = pd.read_csv(data_dir() / "bench" / f"{name}.csv")
    rows = table[table["version"] == version]
    return rows.drop(columns="version").reset_index(drop=True)
