"""The environments of the benchmark as agents get them: counted, checked, and in a standard form for outside learners.

`Trial` is around every one of them; `standard` is what an agent with `standard = True` sees of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pushlab.agents.memory import Episodic, Semantic
from pushlab.agents.memory_agents import MemoryAgent
from pushlab.agents.memory_policy import BELIEF, DECISIONS, EPISODE
from pushlab.experiments.bench.tasks import Task
from pushlab.ground.seeds import episode_seed

LONG_AGO = 25  # steps after which an episode is as old as it can look
ORACLE = (
    "probability",
    "best",
    "actual",
    "state",
)  # entries of info that tell what an agent is to find out


class BudgetSpent(Exception):
    """The steps that a task allows for training are used up; an agent's own loop may let it pass."""


class DoesNotFit(Exception):
    """Raised by who makes an agent, with the reason why it cannot do this task."""


class Trial(gym.Wrapper):
    """An environment of a task: it counts steps and scores, keeps to a budget, and names actions outside the space.

    Each reset begins the next episode out of the trial's own seed, whatever seed is asked for: so training never begins
    with the seeds of the episodes in which agents are judged, and these are the same for every agent. An agent is not
    told what ORACLE names of info; the score counts it all the same.

    task      which Task
    budget    steps after which the next one raises BudgetSpent; None is no limit
    counted   episodes that count for the score, or None where none does: of these none is broken off or begun twice,
              no other follows, and who steps or resets while `asked` raises RuntimeError
    spent     steps so far; `total` is their score so far, `episodes` how many were begun. Nobody sets them
    """

    def __init__(
        self,
        env: gym.Env,
        task: Task,
        seed: int,
        budget: int | None = None,
        counted: int | None = None,
    ) -> None:
        super().__init__(env)
        self.task = task
        self.world: Any = getattr(env.unwrapped, "world", None)
        self.__seed, self.__budget, self.__counted = seed, budget, counted
        self.__spent, self.__total, self.__episodes, self.__over, self.__asked = (
            0,
            0.0,
            0,
            True,
            False,
        )
        self._mask: Any = None

    budget = property(lambda self: self.__budget)
    spent = property(lambda self: self.__spent)
    total = property(lambda self: self.__total)
    episodes = property(lambda self: self.__episodes)

    def seen_as(self, view: Callable[[gym.Env, Task], gym.Env]) -> Trial:
        """This trial, of which nothing happened yet, with another view of its environment."""
        return Trial(
            view(self.env, self.task),
            self.task,
            self.__seed,
            self.__budget,
            self.__counted,
        )

    def asked(self, question: Callable, *arguments: Any) -> Any:
        """What the agent answers; in an episode that counts it cannot step or reset meanwhile."""
        self.__asked = self.__counted is not None
        try:
            return question(*arguments)
        finally:
            self.__asked = False

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[Any, dict]:
        """Begins the trial's next episode."""
        if self.__counted is not None:
            self.__refuse(
                self.__asked or not self.__over or self.__episodes >= self.__counted,
                "reset",
            )
        observation, info = self.env.reset(
            seed=episode_seed(self.__seed, self.__episodes), options=options
        )
        self.__episodes, self.__over = self.__episodes + 1, False
        self._mask = info.get("action_mask")
        return observation, _untold(info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict]:
        """One step; ValueError for an action outside the space, BudgetSpent beyond the budget."""
        if self.__counted is not None:
            self.__refuse(self.__asked or self.__over, "step")
        if self.__spent == self.__budget:
            raise BudgetSpent(
                f"the {self.__budget:,} steps of {self.task.name} are used up"
            )
        if not self.action_space.contains(action):
            raise ValueError(
                f"task {self.task.name}, step {self.__spent}: the action {action!r:.60} lies outside "
                f"{self.action_space!s:.90}"
            )
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.__spent, self.__over = self.__spent + 1, terminated or truncated
        self.__total += float(
            reward if self.task.value == "reward" else info[self.task.value]
        )
        self._mask = info.get("action_mask")
        return observation, reward, terminated, truncated, _untold(info)

    def __refuse(self, wrong: bool, what: str) -> None:
        if wrong:
            raise RuntimeError(
                f"{self.task.name}: while it is scored, an agent acts in the episodes that it is given; "
                f"a {what} of its own, or one beyond them, is against the rules"
            )

    def rest(self) -> bool:
        """Whether steps of the budget are left; if so, the next episode may begin, though this one is not over."""
        self.__over = True
        return self.__spent != self.__budget

    def action_masks(self) -> np.ndarray:
        """Which actions are allowed now, bool (actions,), by the name that sb3-contrib asks for."""
        space: Any = self.action_space
        return (
            np.ones(space.n, bool) if self._mask is None else np.array(self._mask, bool)
        )

    @property
    def score(self) -> float:
        """What the task counts, a mean a step or an episode, or its logarithm."""
        mean = self.__total / max(
            1, self.__spent if self.task.per == "step" else self.__episodes
        )
        return float(np.log10(max(mean, 1.0))) if self.task.scale == "log10" else mean


def _untold(info):
    """What an agent is told of info."""
    return {key: value for key, value in info.items() if key not in ORACLE}


def standard(env: gym.Env, task: Task) -> gym.Env:
    """The environment for learners that know plain Gymnasium: a Discrete action, a flat Box float32 observation.

    Codes become one number a value, 0 or 1 (`gymnasium.spaces.flatten`). A whole notification becomes its number in
    `world.candidates`. In the room the action is what to do with the placement in view, see `Shelf`.
    """
    from gymnasium.wrappers import (
        FlattenObservation,
        TransformAction,
        TransformObservation,
    )

    world: Any = getattr(env.unwrapped, "world", None)
    candidates = getattr(world, "candidates", None)
    if task.capacity is not None:
        env = Shelf(env, task.capacity)
    elif isinstance(candidates, np.ndarray):
        env = TransformAction(
            env, lambda number: candidates[number], spaces.Discrete(len(candidates))
        )
    env = FlattenObservation(env)
    box: Any = env.observation_space
    low, high = box.low.astype(np.float32), box.high.astype(np.float32)
    return TransformObservation(
        env, lambda seen: seen.astype(np.float32).clip(low, high), spaces.Box(low, high)
    )


class Shelf(gym.Wrapper):
    """The room for learners without a memory of their own: they decide what a memory of the task's capacity keeps.

    Half the capacity is for episodes, half for beliefs, both empty at first; the oldest episode and the weakest belief
    make room. Questions are answered out of it, by the latest episode, else the strongest belief.

    Action       Discrete(3), what to do with the placement in view: keep it as an episode, make it a belief, forget it
    Observation  Box (10,) in [0, 1]: whether the strongest belief about the thing is none, the same place, another;
                 the same of the latest episode of this person's thing; the age of the oldest episode, as a share of
                 LONG_AGO; how full episodes and beliefs are; and s / (1 + s) for the belief's strength s
    Source       Kim et al. (2023), A machine with short-term, episodic, and semantic memory systems, AAAI, whose agent
                 makes these three decisions; the observation is ours
    """

    def __init__(self, env: gym.Env, capacity: int) -> None:
        super().__init__(env)
        self.action_space, self.observation_space = (
            spaces.Discrete(len(DECISIONS)),
            spaces.Box(0.0, 1.0, (10,)),
        )
        self._keeper, self._seen = Keeper(capacity), None

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[Any, dict]:
        """Begins an episode with an empty memory."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._keeper.begin(self.env, seed or 0)
        return self._keeper.told(self._seen), info

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict]:
        """Does that with the placement, answers the question, and goes on."""
        self._keeper.choice = int(action)
        self._seen, reward, terminated, truncated, info = self.env.step(
            self._keeper.act(self._seen, {})
        )
        return self._keeper.told(self._seen), reward, terminated, truncated, info


class Keeper(MemoryAgent):
    """Does with each placement what it was told by `choice`."""

    split, choice = (0.5, 0.5), EPISODE

    def keep(self, placement: Any, episodic: Episodic, semantic: Semantic) -> Any:
        if self.choice == EPISODE:
            return episodic.store(placement)
        return (
            semantic.strengthen(placement.thing, placement.place)
            if self.choice == BELIEF
            else None
        )

    def told(self, observation: Any) -> np.ndarray:
        """What memory says about the placement in view, float32 (10,); see `Shelf`."""
        (seen, *_), _, _ = self._read(observation)
        episodic, semantic = self.memories[0]
        belief, episode = (
            semantic.recall(seen.thing),
            episodic.recall(seen.person, seen.thing),
        )
        numbers = np.zeros(10, np.float32)
        for start, known in ((0, belief), (3, episode)):
            numbers[
                start + (0 if known is None else 1 if known.place == seen.place else 2)
            ] = 1
        if episodic.items:
            numbers[6] = min(seen.time - episodic.items[0].time, LONG_AGO) / LONG_AGO
        numbers[7:9] = [len(part) / part.capacity for part in (episodic, semantic)]
        numbers[9] = (
            belief.strength / (1 + belief.strength) if belief is not None else 0
        )
        return numbers
