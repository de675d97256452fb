"""World: the base class of all environments' worlds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def exported_property(method: Callable) -> Callable:
    """Make an exported method a property of the Env: `env.time`, not `env.time()`."""
    method.is_env_property = True  # type: ignore[attr-defined]
    return method


class World:
    """Dynamics of an environment as pure functions on a batch of n independent copies.

    States, outcomes and infos are dicts of arrays; observations are arrays, or dicts and tuples of arrays. Every array
    has a leading axis of length n. Methods never change a state; they return the next one.

    All random numbers come from `draws`, uniform on [0, 1). The same draws give the same episode, alone or in a batch.
    `Env` and `VectorEnv` add seeding, time limits, autoreset and rendering.

    A subclass sets `observation_space` and `action_space` in its constructor and has the methods below. The
    constructor's keyword arguments are the environment's.

    Two methods are optional. `parse_action(action, n)` validates and converts actions; without it `Env` does so for
    the spaces Discrete, MultiDiscrete and Box. `make_single_copy()` returns an object that runs a single copy faster
    than a batch of one. Its class is a subclass of `pushlab.envs.env.SingleCopy`.

    Attributes:
        observation_space, action_space: Gymnasium spaces of one copy.
        name: Environment id without namespace, for logs and pictures.
        drawing: Name of the function of `pushlab.plots` that draws the frames.
        uniforms: Number of uniform numbers that a copy needs at each reset and each step.
        options: Valid names for reset(options=...).
        observation_names, action_names: Names of a vector's components, for logs; None numbers the components.
        action_choices: Choices for a human player, [(feature, [value, ...]), ...], one per component.
        exports: Names of attributes and methods that Env has as its own. Methods get the Env as argument.
        trail_keys: Keys of the outcome entries that Env appends to `trail` at each step.
        max_steps: Length of the longest episode, if the arguments determine it.
        unlogged_info: Keys of `info` that logs omit.
        can_advance_ended: Whether `advance` accepts copies whose episode has ended. VectorEnv discards their results,
            but needn't split the batch.
    """

    observation_space: gym.Space
    action_space: gym.Space
    name = "world"
    drawing = "frame_panels"
    uniforms = 0
    options: tuple[str, ...] = ()
    observation_names: Any = None
    action_names: Sequence[str] | None = None
    action_choices: list | None = None
    exports: tuple[str, ...] = ()
    trail_keys: tuple[str, ...] = ()
    max_steps: int | None = None
    unlogged_info: tuple[str, ...] = ()
    can_advance_ended = False

    @property
    def task(self) -> str:
        """Name of the task for lifelong metrics."""
        return self.name

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        """Return the initial state of len(draws) copies.

        Args:
            draws: Array (n, uniforms). It is reused, so copy any values that the state stores.
            options: Options of reset().
        """
        raise NotImplementedError

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        """Return the next state, and the outcome: a dict of arrays (n, ...) for `reward`, `info` and `frame`.

        Args:
            action: Valid actions, array (n, ...).
            draws: Array (n, uniforms). It is reused, so copy any values that the state stores.
        """
        raise NotImplementedError

    def observe(self, state: dict) -> Any:
        """Return the observations of a state, as new arrays: an agent can change its observation, but not the state."""
        raise NotImplementedError

    def reward(self, outcome: dict) -> np.ndarray:
        """Return the rewards, float64 (n,)."""
        return outcome["reward"]

    def terminated(self, state: dict) -> np.ndarray:
        """Return a bool array (n,): True if the episode has reached a terminal state."""
        return np.zeros(len(next(iter(state.values()))), bool)

    def truncated(self, state: dict) -> np.ndarray:
        """Return a bool array (n,): True if the world's own time limit has been reached."""
        return World.terminated(self, state)  # all False

    def mask(self, state: dict) -> np.ndarray | None:
        """Return the `info["action_mask"]` of allowed actions, int8 (n, actions); None if all are always allowed."""
        return None

    def info(self, state: dict, outcome: dict | None) -> dict:
        """Return infos, a dict of arrays (n, ...).

        `outcome` is None after a reset. The keys, dtypes and shapes must not change during an episode, because
        recorders allocate their tables from the first info. Use False or 0 for missing values.
        """
        return {}

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the data needed to draw copy `at`, a plain dict; `outcome` is None after a reset.

        The default has all scalar entries of state and outcome.
        """
        frame = {"env": self.name}
        for name, values in {**state, **(outcome or {})}.items():
            if values.ndim == 1:
                frame[name] = values[at].item()
        return frame

    @property
    def picture(self) -> Callable[..., Figure]:
        """Function of `pushlab.plots` that draws the last of a list of frames."""
        from pushlab import plots

        return getattr(plots, self.drawing)
