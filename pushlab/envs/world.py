"""The questions that every world answers, whatever it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reading(method: Callable) -> Callable:
    """Marks an exported method of a world as read without brackets: `env.time`, and not `env.time()`."""
    method.is_reading = True  # type: ignore[attr-defined]
    return method


class World:
    """A small world of pure functions on a batch: every array has a leading axis of n independent copies.

    A state is a dict of arrays; a world never changes one, it returns the next. Chance comes only as `draws`, numbers
    uniform on [0, 1) that the shell takes from its generators, so that the same draws give the same life, alone or in
    a batch. The shell (`pushlab.envs.shell`) does the rest: seeding, time limits, autoreset, rendering.

    A subclass sets `observation_space` and `action_space` (of one copy) in its constructor, whose keyword arguments
    are the environment's, and writes the methods below. Observations, outcomes and infos are arrays, or dicts and
    tuples of arrays, always with the leading axis.
    """

    observation_space: gym.Space
    action_space: gym.Space
    name = "world"  # the id without its namespace, for logs and pictures
    stands_for: str | None = (
        None  # the name that logs give a world which is another one, played elsewhere
    )
    drawing = (
        "numbers"  # the function of `pushlab.plots` that draws its frames, by name
    )
    uniforms = 0  # numbers drawn for one copy at each reset and again at each step
    options: tuple[str, ...] = ()  # names that reset(options=…) understands
    observation_names: Any = (
        None  # a name for each component of a vector observation, for the log
    )
    action_names: Sequence[str] | None = (
        None  # a name for each component of a vector action
    )
    exports: tuple[
        str, ...
    ] = ()  # names of what the Env offers as its own; a method is given the Env
    most_steps: int | None = (
        None  # how long an episode lasts at most, if the arguments fix it: `spec` tells it
    )
    rests = False  # whether advance() leaves a copy that has ended as it is, gives new arrays only, and
    # info() tells the same with and without an outcome: a batch then need not be parted
    trail_of: tuple[
        str, ...
    ] = ()  # names of outcome entries that the Env keeps of each step of the episode, in
    # `trail`: for worlds whose episodes end by themselves
    unlogged: tuple[
        str, ...
    ] = ()  # names of info entries that a log leaves out, as they have a table of their own
    read_action: Callable | None = (
        None  # (action, n) → array (n, …) for actions that are no numbers, such as words
    )
    action_choices: list | None = (
        None  # [(feature, [value, …]), …]: what a person may choose, in component order
    )

    @property
    def task(self) -> str:
        """The task that the lifelong metrics see in this world."""
        return self.name

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        """The state of len(draws) copies at the start of an episode; draws (n, uniforms), lent for this call alone."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it starts")

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        """The next state, and the outcome: a dict of arrays (n, …) that reward, info and frame are made of.

        draws  (n, uniforms), lent for this call alone: they are drawn into again, so what is kept is a copy
        """
        raise NotImplementedError(f"{type(self).__name__} has to say how it moves on")

    def observe(self, state: dict) -> Any:
        """What an agent sees of the state."""
        raise NotImplementedError(f"{type(self).__name__} has to say what is seen")

    def reward(self, outcome: dict) -> np.ndarray:
        """The reward of each copy, float64 (n,)."""
        return outcome["reward"]

    def terminated(self, state: dict) -> np.ndarray:
        """Whether the world itself has come to its end, bool (n,)."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def truncated(self, state: dict) -> np.ndarray:
        """Whether the world's own clock has run out, bool (n,); time limits of gym.make are the shell's."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def mask(self, state: dict) -> np.ndarray | None:
        """Which actions are allowed, int8 (n, actions), for `info["action_mask"]`; None where all always are."""
        return None

    def info(self, state: dict, outcome: dict | None) -> dict:
        """What else is told, a dict of arrays (n, …); `outcome` is None right after a reset.

        The keys, types and shapes are the same then, for recorders that lay out their tables by the first info: what
        has no value before the first step is False or 0.
        """
        return {}

    def solo(self) -> Any:
        """One copy alone where a world can live it faster than a batch of one, else None.

        It has reset(draws, options) → observation, info; step(action, draws) → observation, reward, terminated,
        truncated, info; and now() → the state and outcome that the methods above would have given for the same draws.
        `Alone` in `pushlab.envs.shell` is the one of a world that has no faster way.
        """
        return None

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """All that a picture of copy `at` needs, as a plain dict; `outcome` is None right after a reset.

        Where a world does not say, its numbers by name: what state and outcome have one of for each copy.
        """
        told = {**state, **(outcome or {})}
        return {
            "env": self.name,
            **{
                name: values[at].item()
                for name, values in told.items()
                if values.ndim == 1
            },
        }

    @property
    def picture(self) -> Callable[..., Figure]:
        """The function of `pushlab.plots` that draws the last of the frames so far."""
        from pushlab import plots

        return getattr(plots, self.drawing)
