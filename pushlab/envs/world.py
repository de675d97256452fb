"""World: the questions that every world answers, whatever it is about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def reading(method: Callable) -> Callable:
    """Mark an exported method of a world as read without brackets: `env.time`, not `env.time()`."""
    method.is_reading = True  # type: ignore[attr-defined]
    return method


class World:
    """A world of pure functions on a batch: every array has a leading axis of n independent copies.

    A state is a dict of arrays. A world never changes one; it returns the next. Random numbers come only as `draws`,
    uniform on [0, 1), which the shell takes from its generators. The same draws give the same episode, alone or in a
    batch. The shell (`pushlab.envs.shell`) adds seeding, time limits, autoreset and rendering.

    A subclass sets `observation_space` and `action_space` (of one copy) in its constructor, whose keyword arguments
    are the environment's, and has the methods below. Observations, outcomes and infos are arrays, or dicts and
    tuples of arrays, always with the leading axis. The shell checks and converts actions of the spaces Discrete,
    MultiDiscrete and Box. A world with other actions can have a method read_action(action, n) that does this. A method
    solo() can return an object that runs one copy faster than a batch of one; `Alone` in `pushlab.envs.shell` has its
    methods.

    Attributes:
        observation_space, action_space: Gymnasium spaces of one copy.
        name: The id without its namespace, for logs and pictures.
        drawing: Name of the function of `pushlab.plots` that draws its frames.
        uniforms: Uniform numbers that a copy needs at each reset and each step.
        options: Names that reset(options=...) accepts.
        observation_names, action_names: Names of the components of a vector, for logs; None numbers them.
        action_choices: What a person can choose, [(feature, [value, ...]), ...] in the order of the components.
        exports: Names of attributes and methods that the Env offers as its own; a method gets the Env.
        trail_of: Names of outcome entries that the Env stores in `trail` for each step of the episode.
        most_steps: Steps after which an episode has ended, if the arguments fix it.
        advances_ended: Whether `advance` accepts copies whose episode has ended. The shell discards the result. A
            batch is faster if it doesn't have to be divided.
    """

    observation_space: gym.Space
    action_space: gym.Space
    name = "world"
    drawing = "numbers"
    uniforms = 0
    options: tuple[str, ...] = ()
    observation_names: Any = None
    action_names: Sequence[str] | None = None
    action_choices: list | None = None
    exports: tuple[str, ...] = ()
    trail_of: tuple[str, ...] = ()
    most_steps: int | None = None
    advances_ended = False

    @property
    def task(self) -> str:
        """Name of the task for lifelong metrics."""
        return self.name

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        """Return the state of len(draws) copies at the start of an episode.

        Args:
            draws: Array (n, uniforms), which the shell overwrites after the call.
            options: Those of reset().
        """
        raise NotImplementedError

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        """Return the next state, and the outcome: a dict of arrays (n, ...) for `reward`, `info` and `frame`.

        Args:
            action: Array (n, ...), checked.
            draws: Array (n, uniforms), which the shell overwrites after the call.
        """
        raise NotImplementedError

    def observe(self, state: dict) -> Any:
        """Return the observations of a state."""
        raise NotImplementedError

    def reward(self, outcome: dict) -> np.ndarray:
        """Return the reward of each copy, float64 (n,)."""
        return outcome["reward"]

    def terminated(self, state: dict) -> np.ndarray:
        """Return whether the world itself has come to its end, bool (n,)."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def truncated(self, state: dict) -> np.ndarray:
        """Return whether the world's own clock has run out, bool (n,); limits of gym.make are the shell's."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def mask(self, state: dict) -> np.ndarray | None:
        """Return which actions are allowed, int8 (n, actions), for `info["action_mask"]`; None if all always are."""
        return None

    def info(self, state: dict, outcome: dict | None) -> dict:
        """Return further infos, a dict of arrays (n, ...).

        `outcome` is None after a reset. Keys, types and shapes must be the same then, because recorders lay out their
        tables by the first info. An entry without a value before the first step is False or 0.
        """
        return {}

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return all that a picture of copy `at` needs, a plain dict; `outcome` is None after a reset.

        By default these are the entries of state and outcome with one number for each copy.
        """
        frame = {"env": self.name}
        for name, values in {**state, **(outcome or {})}.items():
            if values.ndim == 1:
                frame[name] = values[at].item()
        return frame

    @property
    def picture(self) -> Callable[..., Figure]:
        """The function of `pushlab.plots` that draws the last of the frames so far."""
        from pushlab import plots

        return getattr(plots, self.drawing)
