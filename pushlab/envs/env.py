"""Env: one copy of a world as a Gymnasium environment. `pushlab.envs.vector_env` has the VectorEnv."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from functools import partial
from operator import itemgetter
from pkgutil import resolve_name
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded

from pushlab.envs.random_numbers import UniformSource
from pushlab.envs.world import World
from pushlab.utils.arguments import construct, require, short_repr, validate_choice
from pushlab.utils.compiled import compiled_in_place

RENDER_MODES = ["rgb_array", "human"]

# Maximum number of frames stored for rendering. The longest registered episode has 3,330 steps (evalumap).
MAX_FRAMES = 10_000


def append_frame(frames: list[dict], frame: dict) -> None:
    """Append a frame. Beyond MAX_FRAMES, drop the oldest frame after the first."""
    frames.append(frame)
    del frames[1 : 1 - MAX_FRAMES]


def build_world(world: World | type[World] | str, params: Mapping[str, Any]) -> World:
    """Return a world from an instance, or from a class or "module:Class" and its keyword arguments."""
    if isinstance(world, World):
        if params:
            raise TypeError(
                f"{world.name} is already built; pass {', '.join(params)} to its class"
            )
        return world
    if isinstance(world, str):
        world = resolve_name(world)
    return construct(world, params)


def index_nested(values: Any, index: Any) -> Any:
    """Index every array of a nested structure: an array, or a dict or tuple of such structures."""
    if isinstance(values, np.ndarray):
        return values[index]
    if isinstance(values, dict):
        return {key: index_nested(value, index) for key, value in values.items()}
    return tuple(index_nested(value, index) for value in values)


def validate_options(world: World, options: Mapping[str, Any] | None) -> dict:
    """Return the options of a reset as a dict; raise ValueError for one that the world doesn't have."""
    require(
        options is None or isinstance(options, Mapping),
        f"options must be None or a dict; got {short_repr(options)}",
    )
    options = dict(options or {})
    for name in options:
        require(
            name in world.options,
            f"{world.name} has no reset option {short_repr(name)}; its options: {', '.join(world.options) or 'none'}",
        )
    return options


# ---------------------------------------------------------------- actions

INTEGER_TYPES = (int, np.int64)


def action_validator(world: World) -> Callable[[Any, int], Any]:
    """Return a function (action, n) → array (n, ...) that validates and converts actions.

    The function raises ValueError for an invalid action, and can be pickled. Actions of Discrete and MultiDiscrete
    spaces become int64, those of a Box its dtype. A number outside a Box by a float32 rounding error becomes the bound.
    The world's own `parse_action` replaces all of this. Without one, actions of other spaces are returned unchecked.
    """
    space = world.action_space
    if hasattr(world, "parse_action"):
        return world.parse_action
    if isinstance(space, spaces.Box):
        return partial(_parse_box, world)
    if isinstance(space, spaces.Discrete):
        lows = np.array([space.start], np.int64)
        stops = lows + space.n
        return partial(_parse_integer, int(lows[0]), int(stops[0]), world, lows, stops)
    if isinstance(space, spaces.MultiDiscrete):
        lows = space.start.astype(np.int64)
        return partial(_parse_integers, world, lows, lows + space.nvec)
    return _unchanged


def _unchanged(action, n):
    return action


def _parse_integer(low, stop, world, lows, stops, action, n):
    if n == 1 and type(action) in INTEGER_TYPES and low <= action < stop:
        array = lows.copy()  # a shortcut for the most common case, four times as fast
        array[0] = action
        return array
    return _parse_integers(world, lows, stops, action, n)


def _parse_integers(world, lows, stops, action, n):
    array = _as_array(world, action, n, "iub", "integers")
    array = array.astype(np.int64, copy=False)
    codes = array if array.ndim == 2 else array.reshape(n, len(lows))
    position = _first_outside(codes, lows, stops)
    if position >= 0:
        row, column = divmod(position, len(lows))
        raise ValueError(
            f"{_component(world, row, column, n)} is {codes[row, column]}; "
            f"it must be from {lows[column]} to {stops[column] - 1}"
        )
    return array


@compiled_in_place
def _first_outside(codes, lows, stops):
    """Return the flat index of the first code that isn't in [low, stop), or -1."""
    rows, columns = codes.shape
    for row in range(rows):
        for column in range(columns):
            if not lows[column] <= codes[row, column] < stops[column]:
                return row * columns + column
    return -1


def _parse_box(world, action, n):
    space = world.action_space
    array = _as_array(world, action, n, "iubf", "numbers").astype(space.dtype)
    clipped = np.clip(array, space.low, space.high)
    excess = abs(array - clipped)
    rounding = 2 * np.finfo(np.float32).eps
    bounds = np.abs([space.low, space.high])
    bounds[np.isinf(bounds)] = 0  # an infinite bound allows no excess over the other
    tolerance = rounding * bounds.max(axis=0)
    is_invalid = ~(excess <= tolerance)  # also for NaN
    if is_invalid.any():
        position = tuple(np.argwhere(is_invalid)[0])
        low = space.low[position[1:]].item()
        high = space.high[position[1:]].item()
        raise ValueError(
            f"{_component(world, *position, n)} is {array[position].item()!r}; "
            f"it must be a number from {low!r} to {high!r} ({excess[position]:.3g} beyond)"
        )
    return clipped


def _as_array(world, action, n, kinds, content):
    """Return an action as a new array (n, ...); raise ValueError if its shape or kind of dtype is wrong."""
    try:
        array = np.array(action)
    except (TypeError, ValueError):  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in kinds:
        hint = ""
        if action is None:
            hint = ": does the policy return its action?"
        elif array.dtype.kind == "f":
            hint = "; convert it with action.astype(int) or int(action)"
        elif isinstance(action, dict) and hasattr(world, "schema"):
            hint = "; convert it with schema.notification.encode_one(action)"
        raise ValueError(
            f"an action consists of {content}; got {short_repr(action)}{hint}"
        )
    shape = world.action_space.shape
    if n == 1 and array.shape == shape:
        return array[None]
    if array.shape != (n, *shape):
        expected = (n, *shape) if n > 1 else shape
        raise ValueError(f"an action has shape {expected}; got shape {array.shape}")
    return array


def _component(world, row, column, n):
    text = "action"
    if world.action_space.shape:
        names = world.action_names
        text += f" component {column}" + (f" ({names[column]})" if names else "")
    return f"{text} of copy {row}" if n > 1 else text


# ---------------------------------------------------------------- one copy


class SingleCopy:
    """One copy of a world, as a batch of one. `World.make_single_copy` can return a faster subclass."""

    def __init__(self, world: World):
        self.world = world
        self.state: Any = None
        self.outcome: dict | None = None
        self._parse = action_validator(world)
        # For speed, methods inherited from World aren't called: they return a constant.
        kind = type(world)
        self._can_terminate = kind.terminated is not World.terminated
        self._can_truncate = kind.truncated is not World.truncated
        self._has_mask = kind.mask is not World.mask

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Start an episode; return observation and info."""
        self.state = self.world.initial(draws, options)
        self.outcome = None
        return index_nested(self.world.observe(self.state), 0), self._info()

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """Return observation, reward, terminated, truncated and info."""
        world = self.world
        action = self._parse(action, 1)
        state, self.outcome = world.advance(self.state, action, draws)
        self.state = state
        return (
            index_nested(world.observe(state), 0),
            float(world.reward(self.outcome)[0]),
            self._can_terminate and world.terminated(state).item(),
            self._can_truncate and world.truncated(state).item(),
            self._info(),
        )

    def snapshot(self) -> tuple[dict | None, dict | None]:
        """Return state and last outcome; both are None before the first reset."""
        return self.state, self.outcome

    def _info(self):
        info = {}
        for key, values in self.world.info(self.state, self.outcome).items():
            info[key] = values.item() if values.ndim == 1 else values[0].copy()
        if self._has_mask and (mask := self.world.mask(self.state)) is not None:
            info["action_mask"] = mask[0].copy()
        return info


class SpecDescriptor:
    """Descriptor for `spec`: the spec of gym.make, with the world's longest episode as max_episode_steps.

    Gymnasium's TimeAwareObservation needs this limit. Therefore gym.make(env.spec) adds a TimeLimit.
    """

    def __get__(self, env: Any, owner: Any = None) -> EnvSpec | None:
        return None if env is None else vars(env).get("_spec")

    def __set__(self, env: Any, spec: EnvSpec | None) -> None:
        env._spec = copy(spec)
        if spec is not None and spec.max_episode_steps is None:
            env._spec.max_episode_steps = env.world.max_steps


class Env(gym.Env):
    """One copy of a world as a Gymnasium environment.

    Args:
        world: A World, its class or "module:Class".
        render_mode: None, "rgb_array" (render() returns a uint8 array (height, width, 3)) or "human" (shown at each
            step).
        params: Keyword arguments of the world's class.

    Attributes:
        world: The world. Its docstring documents the environment.
        state, outcome: State of the world and outcome of the last step: dicts of arrays with a leading axis of 1.
        trail: Outcome entries of each step of the episode, selected by the world's `trail_keys`: arrays with a leading
            axis of 1, or numbers if the world's faster single copy computes these.

    Raises:
        ValueError: For an action outside the space or an unknown reset option.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 4}
    spec = SpecDescriptor()

    def __init__(
        self,
        world: World | type[World] | str,
        render_mode: str | None = None,
        **params: Any,
    ):
        self.render_mode = validate_choice(
            "render_mode", render_mode, (None, *RENDER_MODES)
        )
        self.world = build_world(world, params)
        self.observation_space = self.world.observation_space
        self.action_space = self.world.action_space
        self.trail = []
        # Not an inherited `make_single_copy`: the subclass could have overridden any other method.
        make_single_copy = vars(type(self.world)).get("make_single_copy", SingleCopy)
        self._copy: Any = make_single_copy(self.world)
        self._get_entry = self.world.trail_keys and itemgetter(*self.world.trail_keys)
        self._is_over = True
        self._frames = []
        self._uniforms = UniformSource([None], self.world.uniforms)

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[Any, dict]:
        """Start an episode. The same seed gives the same episode; without one the generator continues."""
        options = validate_options(self.world, options)
        super().reset(seed=seed)
        if self._uniforms.generators != [self.np_random]:
            self._uniforms = UniformSource([self.np_random], self.world.uniforms)
        result = self._copy.reset(self._uniforms.take(), options)
        self._is_over = False
        self._frames = []
        self.trail = []
        self._update_frames()
        return result

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """Return observation, reward, terminated, truncated and info."""
        if self._is_over:
            raise ResetNeeded("no episode is running; call reset() first")
        try:
            result = self._copy.step(action, self._uniforms.take())
        except (TypeError, ValueError):  # an invalid action uses no random numbers
            self._uniforms.put_back()
            raise
        self._is_over = result[2] or result[3]
        if self._get_entry:
            self.trail.append(self._get_entry(self._copy.outcome))
        if self.render_mode is not None:
            self._update_frames()
        return result

    @property
    def state(self) -> dict | None:
        return self._copy.snapshot()[0]

    @property
    def outcome(self) -> Any:
        return self._copy.snapshot()[1]

    def action_masks(self) -> np.ndarray:
        """Return a bool mask of the actions allowed now, as sb3-contrib expects; for MultiDiscrete (sum of nvec,)."""
        return batch_masks(self.world, self.state, 1)[0]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that the world exports; a method gets this environment as its first argument."""
        world = vars(self).get("world")
        if world is None or name not in world.exports:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = getattr(world, name)
        if getattr(value, "is_env_property", False):
            return value(self)
        return partial(value, self) if callable(value) else value

    def frame(self) -> dict:
        """Return the data needed to draw the current state, as a plain dict."""
        state, outcome = self._copy.snapshot()
        if state is None:
            raise ResetNeeded("call reset() before frame()")
        return self.world.frame(state, outcome)

    def _update_frames(self):
        if self.render_mode is not None:
            append_frame(self._frames, self.frame())
        if self.render_mode == "human":
            from pushlab.plots.style import show

            show(self.world.picture(self._frames), self)

    def render(self) -> np.ndarray | None:
        """Return a uint8 array (height, width, 3) in the mode "rgb_array", otherwise None.

        After more than MAX_FRAMES steps the picture shows the first frame and the latest ones.
        """
        if self.render_mode != "rgb_array":
            return None
        if not self._frames:
            raise ResetNeeded("call reset() before render()")
        from pushlab.plots.style import SHARP, pixels

        return pixels(self.world.picture(self._frames), SHARP)

    def close(self) -> None:
        """Close the window of the mode "human"."""
        if self.render_mode == "human":
            from pushlab.plots.style import hide

            hide(self)


def batch_masks(world: World, state: dict | None, n: int) -> np.ndarray:
    """Return a bool mask (n, actions) of the actions allowed to each of n copies."""
    if state is None:
        raise ResetNeeded("call reset() before action_masks()")
    mask = world.mask(state)
    if mask is None:
        return np.ones((n, spaces.flatdim(world.action_space)), bool)
    return mask.astype(bool)
