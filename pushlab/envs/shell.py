"""The one Env around every world: actions, seeding, info and rendering; `batch.py` has the one VectorEnv."""

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

from pushlab.envs.chance import Chance
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, in_short, one_of
from pushlab.ground.compiled import compiled_in_place

RENDER_MODES = ["rgb_array", "human"]

# Frames stored for the pictures of an episode. Registered episodes have up to 3,330 (evalumap).
MOST_FRAMES = 10_000


def keep_frame(frames: list[dict], frame: dict) -> None:
    """Append a frame; before the list exceeds MOST_FRAMES, remove the older half, all but the first frame."""
    if len(frames) >= MOST_FRAMES:
        del frames[1 : MOST_FRAMES // 2]
    frames.append(frame)


def build_world(world: World | type[World] | str, params: Mapping[str, Any]) -> World:
    """Return a world from an instance, or from a class or "module:Class" and its keyword arguments."""
    if isinstance(world, World):
        if params:
            raise TypeError(
                f"{world.name} is an instance; give {', '.join(params)} to its class"
            )
        return world
    if isinstance(world, str):
        world = resolve_name(world)
    return world(**params)  # type: ignore[operator]


def at_row(values: Any, row: Any) -> Any:
    """Return copy `row` of observations, or several copies: an array, or a dict or tuple of them."""
    if isinstance(values, np.ndarray):
        return values[row]
    if isinstance(values, dict):
        return {key: at_row(value, row) for key, value in values.items()}
    return tuple(at_row(value, row) for value in values)


def check_options(world: World, options: Mapping[str, Any] | None) -> dict:
    """Return the options of a reset; ValueError names one that the world doesn't accept."""
    demand(
        options is None or isinstance(options, Mapping),
        f"options is None or a dict; got {in_short(options)}",
    )
    options = dict(options or {})
    for name in options:
        if name not in world.options:
            raise ValueError(
                f"{world.name} does not understand the reset option {in_short(name)}; "
                f"it understands: {', '.join(world.options) or 'none'}"
            )
    return options


# ---------------------------------------------------------------- actions

NUMBERS = (int, np.int64)
WHOLE = np.dtype(np.int64)


def reader_of(world: World) -> Callable[[Any, int], Any]:
    """Return a function (action, n) → array (n, ...) of a world; it raises ValueError for an invalid action.

    Discrete and MultiDiscrete become int64, Box its own dtype. A world with a `read_action` reads actions itself, and
    actions of other spaces are returned unchecked. A number beyond the bounds of a Box by a rounding error of float32
    becomes the bound. The function can be pickled.
    """
    space = world.action_space
    if hasattr(world, "read_action"):
        return world.read_action
    if isinstance(space, spaces.Box):
        return partial(_read_box, world)
    if isinstance(space, spaces.Discrete):
        low = np.array([space.start], np.int64)
        beyond = low + space.n
        return partial(_read_number, int(low[0]), int(beyond[0]), world, low, beyond)
    if isinstance(space, spaces.MultiDiscrete):
        low = space.start.astype(np.int64)
        return partial(_read_codes, world, low, low + space.nvec)
    return _unread


def _unread(action, n):
    return action


def _read_number(least, most, world, low, beyond, action, n):
    if n == 1 and type(action) in NUMBERS and least <= action < most:
        array = low.copy()  # the commonest case, in a quarter of the time
        array[0] = action
        return array
    return _read_codes(world, low, beyond, action, n)


def _read_codes(world, low, beyond, action, n):
    array = _as_array(world, action, n, "iub", "whole numbers")
    array = array.astype(WHOLE, copy=False)
    codes = array if array.ndim == 2 else array.reshape(n, len(low))
    wrong = _first_outside(codes, low, beyond)
    if wrong >= 0:
        row, column = divmod(wrong, len(low))
        raise ValueError(
            f"{_component(world, row, column, n)} is {codes[row, column]}; "
            f"it must be from {low[column]} to {beyond[column] - 1}"
        )
    return array


@compiled_in_place
def _first_outside(codes, low, beyond):
    """Return the flat index of the first code that isn't in [low, beyond), or -1."""
    rows, columns = codes.shape
    for row in range(rows):
        for column in range(columns):
            if not low[column] <= codes[row, column] < beyond[column]:
                return row * columns + column
    return -1


def _read_box(world, action, n):
    space = world.action_space
    array = _as_array(world, action, n, "iubf", "numbers").astype(space.dtype)
    inside = np.clip(array, space.low, space.high)
    rounding = 2 * np.finfo(np.float32).eps
    largest = rounding * np.maximum(abs(space.low), abs(space.high))
    wrong = ~(abs(array - inside) <= largest)  # NaN is wrong, too
    if wrong.any():
        at = np.argwhere(wrong)[0]
        value = array[tuple(at)].item()
        low, high = (bound[tuple(at[1:])].item() for bound in (space.low, space.high))
        raise ValueError(
            f"{_component(world, *at, n)} is {value!r}; it must be a number from {low!r} to {high!r}, "
            f"and is {abs(array - inside)[tuple(at)]:.3g} beyond"
        )
    return inside


def _as_array(world, action, n, kinds, content):
    """Return the action as an array (n, ...) of its own; ValueError says what would make one of it."""
    try:
        array = np.array(action)
    except (TypeError, ValueError):  # rows of different lengths
        array = np.empty(0, object)
    if array.dtype.kind not in kinds:
        advice = ""
        if action is None:
            advice = ": does the policy return its action?"
        elif array.dtype.kind == "f":
            advice = "; action.astype(int) or int(action) makes one of it"
        elif isinstance(action, dict) and hasattr(world, "schema"):
            advice = "; schema.notification.encode_one makes one of it"
        kind = "a dict, " if isinstance(action, dict) else ""
        raise ValueError(
            f"an action is made of {content}; got {kind}{in_short(action)}{advice}"
        )
    shape = world.action_space.shape
    if n == 1 and array.shape == shape:
        return array[None]
    if array.shape != (n, *shape):
        expected = (n, *shape) if n > 1 else shape
        raise ValueError(f"an action has shape {expected}; got {array.shape}")
    return array


def _component(world, row, column, n):
    name = "action"
    if world.action_space.shape:
        names = world.action_names
        name += f" component {column}" + (f" ({names[column]})" if names else "")
    return f"{name} of copy {row}" if n > 1 else name


# ---------------------------------------------------------------- one copy


class Alone:
    """One copy of a world as a batch of one. `World.solo` can return an object with the same methods."""

    def __init__(self, world: World):
        self.world = world
        self.state: Any = None
        self.outcome: dict | None = None
        self._read = reader_of(world)
        # A world's default answer to one of these costs time and is always the same.
        self._can_terminate, self._can_truncate, self._has_mask = (
            getattr(type(world), question) is not getattr(World, question)
            for question in ("terminated", "truncated", "mask")
        )

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Start an episode; return observation and info."""
        self.state = self.world.initial(draws, options)
        self.outcome = None
        return at_row(self.world.observe(self.state), 0), self._info()

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """Return observation, reward, terminated, truncated and info."""
        world = self.world
        action = self._read(action, 1)
        state, self.outcome = world.advance(self.state, action, draws)
        self.state = state
        return (
            at_row(world.observe(state), 0),
            float(world.reward(self.outcome)[0]),
            self._can_terminate and world.terminated(state).item(),
            self._can_truncate and world.truncated(state).item(),
            self._info(),
        )

    def now(self) -> tuple[dict | None, dict | None]:
        """Return state and outcome; both are None before the first reset."""
        return self.state, self.outcome

    def _info(self):
        info = {}
        for key, values in self.world.info(self.state, self.outcome).items():
            info[key] = values.item() if values.ndim == 1 else values[0].copy()
        if self._has_mask and (mask := self.world.mask(self.state)) is not None:
            info["action_mask"] = mask[0].copy()
        return info


class Spec:
    """The attribute `spec` of an Env or VectorEnv: gym.make's, with the most steps of an episode if they are fixed.

    Gymnasium's TimeAwareObservation needs them. gym.make(env.spec) therefore limits the steps by a TimeLimit, too.
    """

    def __get__(self, env: Any, kind: Any = None) -> EnvSpec | None:
        return None if env is None else vars(env).get("_spec")

    def __set__(self, env: Any, spec: EnvSpec | None) -> None:
        env._spec = copy(spec)
        if spec is not None and spec.max_episode_steps is None:
            env._spec.max_episode_steps = env.world.most_steps


class Env(gym.Env):
    """One copy of a world as a Gymnasium environment.

    Args:
        world: A World, its class or "module:Class".
        render_mode: None, "rgb_array" (render() returns a uint8 array (height, width, 3)) or "human" (shown at each
            step).
        params: Keyword arguments of the world's class.

    Attributes:
        world: The world, whose docstring is the environment's page.
        state, outcome: The world's state, and the outcome of the last step: dicts of arrays with a leading axis of 1.
        trail: For each step of the episode the entries of its outcome that the world names in `trail_of`.

    Raises:
        ValueError: For an action outside the space or an unknown reset option.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 4}
    spec = Spec()

    def __init__(
        self,
        world: World | type[World] | str,
        render_mode: str | None = None,
        **params: Any,
    ):
        self.render_mode = one_of("render_mode", render_mode, (None, *RENDER_MODES))
        self.world = build_world(world, params)
        self.observation_space = self.world.observation_space
        self.action_space = self.world.action_space
        self.trail: list = []
        self._copy = life_of(self.world)
        self._trail_of = self.world.trail_of and itemgetter(*self.world.trail_of)
        self._is_over = True
        self._frames: list[dict] = []
        self._chance = Chance([None], self.world.uniforms)

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[Any, dict]:
        """Start an episode. A seed repeats it exactly; without one the generator goes on."""
        super().reset(seed=seed)
        options = check_options(self.world, options)
        if self._chance.generators != [self.np_random]:
            self._chance = Chance([self.np_random], self.world.uniforms)
        first = self._copy.reset(self._chance.take(), options)
        self._is_over = False
        self._frames = []
        self.trail = []
        self._show()
        return first

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """Return observation, reward, terminated, truncated and info. Time limits of gym.make come on top."""
        if self._is_over:
            raise ResetNeeded("the episode is over, or never began: call reset() first")
        result = self._copy.step(action, self._chance.take())
        self._is_over = result[2] or result[3]
        if self._trail_of:
            self.trail.append(self._trail_of(self.outcome))
        if self.render_mode is not None:
            self._show()
        return result

    @property
    def state(self) -> dict | None:
        return self._copy.now()[0]

    @property
    def outcome(self) -> Any:
        return self._copy.now()[1]

    def action_masks(self) -> np.ndarray:
        """Return which actions are allowed now, bool, as sb3-contrib expects; of MultiDiscrete (sum of nvec,)."""
        return masks(self.world, self.state, 1)[0]

    def __getattr__(self, name: str) -> Any:
        """Return an attribute that the world exports; a method gets this environment as its first argument."""
        world = vars(self).get("world")
        if world is None or name not in world.exports:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = getattr(world, name)
        if getattr(value, "is_reading", False):
            return value(self)
        return partial(value, self) if callable(value) else value

    def frame(self) -> dict:
        """Return all that a picture of this moment needs, as a plain dict."""
        state, outcome = self._copy.now()
        if state is None:
            raise ResetNeeded("there is no moment to show before reset()")
        return self.world.frame(state, outcome)

    def _show(self):
        if self.render_mode is not None:
            keep_frame(self._frames, self.frame())
        if self.render_mode == "human":
            from pushlab.plots.style import show

            show(self.world.picture(self._frames), self)

    def render(self) -> np.ndarray | None:
        """Return this moment as a uint8 array (height, width, 3) in the mode "rgb_array", else None.

        After more than MOST_FRAMES steps the picture shows the first frame and the latest ones; see `keep_frame`.
        """
        if self.render_mode != "rgb_array":
            return None
        if not self._frames:
            raise ResetNeeded("nothing to render before reset()")
        from pushlab.plots.style import pixels

        return pixels(self.world.picture(self._frames))

    def close(self) -> None:
        """Close the window of the mode "human"."""
        if self.render_mode == "human":
            from pushlab.plots.style import hide

            hide(self)


def life_of(world: World) -> Any:
    """Return what runs one copy. A subclass that doesn't define `solo` itself can have changed any method."""
    solo = vars(type(world)).get("solo", Alone)
    return solo(world)


def masks(world: World, state: dict | None, n: int) -> np.ndarray:
    """Return which actions each of n copies can take, bool (n, actions): the world's mask, or all of them."""
    if state is None:
        raise ResetNeeded("there are no masks of actions before reset()")
    mask = world.mask(state)
    if mask is None:
        return np.ones((n, spaces.flatdim(world.action_space)), bool)
    return mask.astype(bool)
