"""The one Env around every world: seeding, time limit, info and rendering; `batch.py` has the one VectorEnv."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy, deepcopy
from functools import partial
from importlib import import_module
from operator import itemgetter
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium.envs.registration import EnvSpec
from gymnasium.error import ResetNeeded

from pushlab.envs.actions import choices, masks, reader_of
from pushlab.envs.chance import Chance
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, in_short, one_of

RENDER_MODES = ["rgb_array", "human"]

# How many frames of an episode are kept for its pictures. Registered episodes have up to 3,330 (evalumap) and are drawn
# whole; of one that is longer, or never ends, pictures show the first frame and the last MOST_FRAMES / 2 or more.
MOST_FRAMES = 10_000


def keep_frame(frames: list[dict], frame: dict) -> None:
    """Adds a frame to those of an episode; of MOST_FRAMES the older half goes first, all but the first one.

    Half of them at once, and not one a step, costs next to nothing, and pictures go on getting a list.
    """
    if len(frames) >= MOST_FRAMES:
        del frames[1 : MOST_FRAMES // 2]
    frames.append(frame)


def build_world(world: World | type[World] | str, params: Mapping[str, Any]) -> World:
    """A world from an instance, a class or "module:Class" and its keyword arguments."""
    if isinstance(world, str):
        module, name = world.split(":")
        return getattr(import_module(module), name)(**params)
    if isinstance(world, type):
        return world(**params)
    if params:
        raise TypeError(
            f"{world.name} is made already; give the arguments {', '.join(params)} to its class"
        )
    return world


def at_row(values: Any, row: Any) -> Any:
    """Copy `row` of observations: an array, or a dict or tuple of them."""
    if isinstance(values, np.ndarray):
        return values[row]
    if isinstance(values, dict):
        return {
            key: value[row]
            if value.__class__ is np.ndarray
            else at_row(value, row)  # the commonest is quick
            for key, value in values.items()
        }
    if isinstance(values, tuple):
        return tuple(at_row(value, row) for value in values)
    return values[row]


def check_options(world: World, options: Mapping[str, Any] | None) -> dict:
    """The reset options a world understands; ValueError names one that it does not."""
    demand(
        options is None or isinstance(options, Mapping),
        f"options is None or a dict; got {in_short(options)}",
    )
    options = dict(options or {})
    unknown = sorted(set(options) - set(world.options), key=str)
    if unknown:
        known = ", ".join(world.options) or "none"
        raise ValueError(
            f"{world.name} does not understand the reset option {in_short(unknown[0])}; it understands: "
            f"{known}"
        )
    return options


class Alone:
    """One copy of a world as a batch of one; `World.solo` may have a faster way, with the same three methods."""

    def __init__(self, world: World):
        self.world = world
        self.state: Any = None
        self.outcome: dict | None = None
        self._read = reader_of(world)
        # Where a world has no answer of its own to one of these, nobody asks it.
        self._has_end, self._has_clock, self._has_mask = (
            getattr(type(world), question, None) is not getattr(World, question)
            for question in ("terminated", "truncated", "mask")
        )

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Begins an episode: observation and info."""
        self.state, self.outcome = self.world.initial(draws, options), None
        return at_row(self.world.observe(self.state), 0), self._info()

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """One step: observation, reward, terminated, truncated, info."""
        world = self.world
        state, outcome = self.state, self.outcome = world.advance(
            self.state, self._read(action, 1), draws
        )
        return (
            at_row(world.observe(state), 0),
            float(world.reward(outcome)[0]),
            self._has_end and world.terminated(state).item(),
            self._has_clock and world.truncated(state).item(),
            self._info(),
        )

    def now(self) -> tuple[dict | None, dict | None]:
        """State and outcome; None and None before the first reset."""
        return self.state, self.outcome

    def _info(self):
        """What is told, as plain numbers, or arrays of one's own."""
        info = {}
        for key, values in self.world.info(self.state, self.outcome).items():
            info[key] = values.item() if values.ndim == 1 else values[0].copy()
        if self._has_mask and (mask := self.world.mask(self.state)) is not None:
            info["action_mask"] = mask[0].copy()
        return info


def life_of(world: World) -> Any:
    """How one copy of a world lives: in its own faster way, unless a subclass has changed one of its methods."""
    kinds = type(world).__mro__
    home = next(place for place, kind in enumerate(kinds) if "solo" in vars(kind))
    changed = {
        name
        for kind in kinds[:home]
        for name, value in vars(kind).items()
        if callable(value) and not name.startswith("__") and hasattr(kinds[home], name)
    }
    return (None if changed else world.solo()) or Alone(world)


class ToldSpec(EnvSpec):
    """A spec that tells how long its environment's episodes are. On disk it does not: that world ends by itself."""

    own: int | None = (
        None  # the length that the world has; a TimeLimit tells another one
    )

    def to_json(self) -> str:
        """As that of EnvSpec, from which gym.make makes the same environment, without a TimeLimit that nobody gave."""
        told = copy(self)
        if told.max_episode_steps == self.own:
            told.max_episode_steps = None
        return super(ToldSpec, told).to_json()


class Spec:
    """The attribute `spec` of an Env or VectorEnv, which says how many steps an episode lasts at most if it is fixed.

    gym.make sets it, with None there: its own limits are those of wrappers. `env.spec.max_episode_steps` is what
    clocks look at, such as Gymnasium's TimeAwareObservation. gym.make(env.spec) cannot tell it from a limit that was
    given, and puts a TimeLimit of as many steps around the environment: the last step of a world that ends by itself is
    then truncated as well, and longer episodes are cut. gym.make(env.spec, max_episode_steps=-1) puts none.
    """

    def __get__(self, env: Any, kind: Any = None) -> EnvSpec | None:
        return None if env is None else vars(env).get("_spec")

    def __set__(self, env: Any, spec: EnvSpec | None) -> None:
        limits = [
            limit
            for limit in (env.world.most_steps, vars(env).get("max_episode_steps"))
            if limit is not None
        ]
        env._spec = copy(spec)
        if spec is not None and limits:
            env._spec.__class__ = ToldSpec
            env._spec.max_episode_steps = env._spec.own = min(limits)


class Env(gym.Env):
    """One copy of a world as a Gymnasium environment; `env.unwrapped.world` is the world, whose docstring is the page.

    world        a World, its class or "module:Class"; the other keyword arguments are the world's
    render_mode  None, "rgb_array" (render() returns a uint8 array (height, width, 3)) or "human" (shown at each step)

    Attributes: `state` (dict of arrays with a leading axis of 1), `frame()` (a plain dict for pictures).
    Raises ValueError for an action outside the space or an unknown reset option.
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
        self.observation_space, self.action_space = (
            self.world.observation_space,
            self.world.action_space,
        )
        self._copy = life_of(self.world)
        self.trail: list = []  # what the world wants kept of each step, in the order of its `trail_of`
        self._trail_of = (
            itemgetter(*self.world.trail_of) if self.world.trail_of else None
        )
        self._over = True
        self._frames: list[dict] = []
        self._chance = Chance(1, self.world.uniforms)

    def __copy__(self) -> Env:
        return deepcopy(
            self, {id(self.world): self.world}
        )  # a world never changes, and copies may share it

    def reset(
        self, *, seed: int | None = None, options: dict | None = None
    ) -> tuple[Any, dict]:
        """Starts an episode. A seed repeats it exactly; without one the generator goes on where it stands."""
        super().reset(seed=seed)
        options = check_options(self.world, options)
        self._chance.seed(0, self.np_random)
        self._over = False
        self._frames, self.trail = [], []
        begun = self._copy.reset(self._chance.take(), options)
        self._show()
        return begun

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict]:
        """One step: observation, reward, terminated, truncated, info. Time limits of gym.make come on top of it."""
        if self._over:
            raise ResetNeeded("the episode is over, or never began: call reset() first")
        told = self._copy.step(action, self._chance.take())
        self._over = told[2] or told[3]
        if self._trail_of is not None:
            self.trail.append(self._trail_of(self.outcome))
        if self.render_mode is not None:
            self._show()
        return told

    @property
    def state(self) -> dict | None:
        """The world's state, arrays with a leading axis of 1; None before the first reset."""
        return self._copy.now()[0]

    @property
    def outcome(self) -> Any:
        """What came of the last step, arrays with a leading axis of 1; None after a reset."""
        return self._copy.now()[1]

    @property
    def action_masks(self) -> Callable[[], np.ndarray]:
        """action_masks() tells which actions are allowed now, bool (n,), as sb3-contrib asks it.

        Of MultiDiscrete, where no world restricts anything, (sum of nvec,). A Box, and words, have no such attribute.
        """
        choices(self.action_space)
        return lambda: masks(self.world, self.state, 1)[0]

    def __getattr__(self, name: str) -> Any:
        """What the world exports: a plain attribute as it is, a method with this environment as its first argument."""
        world = self.__dict__.get("world")
        if world is None or name not in world.exports:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = getattr(world, name)
        if getattr(value, "is_reading", False):
            return value(self)
        return partial(value, self) if callable(value) else value

    def frame(self) -> dict:
        """What a picture of this moment needs, as a plain dict."""
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
        """The moment as a uint8 array (height, width, 3) in the mode "rgb_array"; None otherwise.

        Of an episode of more than MOST_FRAMES steps it shows the latest and the first; see `keep_frame`.
        """
        if self.render_mode != "rgb_array":
            return None
        if not self._frames:
            raise ResetNeeded("nothing to render before reset()")
        from pushlab.plots.style import pixels

        return pixels(self.world.picture(self._frames))

    def close(self) -> None:
        """Closes the window of the mode "human"; more than once does no harm."""
        if self.render_mode == "human":
            from pushlab.plots.style import hide

            hide(self)
