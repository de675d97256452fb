"""The tasks of the benchmark: what `data/bench/tasks.json` says, with the numbers that scores are normalised by."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pushlab.ground.arguments import one_of
from pushlab.ground.files import data_dir

if TYPE_CHECKING:
    import gymnasium as gym
    import pandas as pd


VERSION, QUICK = "pushlab-bench-1", "pushlab-bench-1-quick"
VERSIONS = (VERSION, QUICK)
ABILITIES = (
    "personalisation",
    "exploration",
    "delay",
    "memory",
    "planning",
    "retention",
)
KINDS = ("train", "online", "offline", "lifetime")


class Task(NamedTuple):
    """One task in one version.

    name, system   what it is called, and which system of pushlab it is of
    abilities      which of ABILITIES it asks for
    kind           "train": learn within a budget of steps, then be judged; "online": judged while learning; "offline":
                   learn from the history, be judged on the test quarter; "lifetime": live through a syllabus
    env            id of the environment, or the name of the syllabus
    arguments      of the environment, also `max_episode_steps`; `user` may be a list: each is met by a fresh agent, and
                   the score is the mean over them
    judged_on      arguments that are others when the agent is judged
    steps          budget of training (for each user); that of a lifetime, in both versions, is the syllabus' own
    episodes       in which it is judged; of a lifetime, of a task in each test
    value, per     what the score counts: "reward", or an entry of info; and its mean a "step" or an "episode"
    scale          "log10": the score is the base-10 logarithm of that mean (of 1, where it is less), since rewards span
                   powers of ten
    unit           of the score, in words; more is better
    capacity       of the memory that the task allows, where it is about memory
    """

    name: str
    system: str
    abilities: Sequence[str]
    kind: str
    env: str
    arguments: Mapping[str, Any]
    judged_on: Mapping[str, Any]
    steps: int
    episodes: int
    value: str
    per: str
    scale: str | None
    unit: str
    capacity: int | None = None

    @property
    def each(self) -> list[dict]:
        """The environments' arguments, one dict for each user who is met by a fresh agent."""
        user = self.arguments.get("user")
        return (
            [{**self.arguments, "user": one} for one in user]
            if isinstance(user, list)
            else [dict(self.arguments)]
        )

    def make(self, arguments: Mapping[str, Any], judged: bool = False) -> gym.Env:
        """The environment to learn in, or the one to be judged in, under one of `each`."""
        import gymnasium as gym

        import pushlab  # noqa: F401  the ids

        # A score may count what only reveal=True tells; `Trial` hides it from agents.
        told = {"reveal": True} if self.value in ("probability", "best") else {}
        arguments = {**arguments, **(self.judged_on if judged else {}), **told}
        return gym.make(self.env, disable_env_checker=True, **arguments)


@cache
def read_tasks(version: str = VERSION) -> tuple[Task, ...]:
    """The tasks of a version, in their order; "quick" has smaller budgets and fewer episodes, so other scores.

    >>> len(read_tasks()) >= 14, read_tasks("pushlab-bench-1-quick")[0].steps < read_tasks()[0].steps
    (True, True)
    """
    which = VERSIONS.index(one_of("version", version, VERSIONS))
    told = json.loads(
        (data_dir() / "bench" / "tasks.json").read_text(encoding="utf-8")
    )["tasks"]
    return tuple(
        Task(
            **{
                "judged_on": {},
                "kind": "train",
                "value": "reward",
                "per": "step",
                "scale": None,
                **one,
                "steps": one["steps"][which],
                "episodes": one["episodes"][which],
            }
        )
        for one in told
    )


def find_task(name: str, version: str = VERSION) -> Task:
    """The task of that name; ValueError says which there are."""
    tasks = {task.name: task for task in read_tasks(version)}
    return tasks[one_of("task", name, tasks)]


def task_table(version: str = VERSION) -> pd.DataFrame:
    """The tasks as a DataFrame: name, system, abilities (list), kind, steps, episodes, unit, random, best, best_from.

    random, best   the scores that normalise to 0 and to 1; best_from says whose the best is, and whether it is the
                   true optimum
    """
    import pandas as pd

    rows = [
        {
            key: getattr(task, key)
            for key in (
                "name",
                "system",
                "abilities",
                "kind",
                "steps",
                "episodes",
                "unit",
            )
        }
        for task in read_tasks(version)
    ]
    anchors = pd.read_csv(data_dir() / "bench" / "anchors.csv")
    anchors = (
        anchors[anchors["version"] == version]
        .rename(columns={"task": "name"})
        .drop(columns="version")
    )
    return pd.DataFrame(rows).merge(anchors, on="name", how="left")
