"""The one Env and the one VectorEnv around every world: seeding, time limit, autoreset, info and rendering."""

from functools import partial
from importlib import import_module
from operator import itemgetter

import gymnasium as gym
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from pushlab.envs.actions import action_reader
from pushlab.envs.chance import Chance
from pushlab.envs.world import World

RENDER_MODES = ["rgb_array", "human"]

# How many frames of an episode are kept for its pictures. Registered episodes have up to 3,330 (evalumap) and are drawn
# whole; of one that is longer, or never ends, pictures show the first frame and the last MOST_FRAMES / 2 or more.
MOST_FRAMES = 10_000


def keep_frame(frames, frame):
    """Adds a frame to those of an episode; of MOST_FRAMES the older half goes first, all but the first one.

    Half of them at once, and not one a step, costs next to nothing, and pictures go on getting a list.
    """
    if len(frames) >= MOST_FRAMES:
        del frames[1:MOST_FRAMES // 2]
    frames.append(frame)


def build_world(world, params):
    """A world from an instance, a class or "module:Class" and its keyword arguments."""
    if isinstance(world, str):
        module, name = world.split(":")
        world = getattr(import_module(module), name)
    if isinstance(world, type):
        return world(**params)
    if params:
        raise TypeError(f"{world.name} is made already; give the arguments {', '.join(params)} to its class")
    return world


def answers_itself(world, question):
    """Whether a world has its own answer to a question, or the one that every World has."""
    return getattr(type(world), question, None) is not getattr(World, question)


def at_row(values, row):
    """Copy `row` of observations: an array, or a dict or tuple of them."""
    if isinstance(values, np.ndarray):
        return values[row]
    if isinstance(values, dict):
        return {key: value[row] if value.__class__ is np.ndarray else at_row(value, row)     # the commonest is quick
                for key, value in values.items()}
    if isinstance(values, tuple):
        return tuple(at_row(value, row) for value in values)
    return values[row]


def with_rows(state, rows, new):
    """The state with the given copies replaced; the one given stays as it is."""
    state = {key: values.copy() for key, values in state.items()}
    for key, values in new.items():
        state[key][rows] = values
    return state


def check_options(world, options):
    """The reset options a world understands; ValueError names one that it does not."""
    options = dict(options or {})
    unknown = sorted(set(options) - set(world.options))
    if unknown:
        known = ", ".join(world.options) or "none"
        raise ValueError(f"{world.name} does not understand the reset option {unknown[0]!r}; it understands: {known}")
    return options


class Env(gym.Env):
    """One copy of a world as a Gymnasium environment; `env.unwrapped.world` is the world, whose docstring is the page.

    world        a World, its class or "module:Class"; the other keyword arguments are the world's
    render_mode  None, "rgb_array" (render() returns a uint8 array (height, width, 3)) or "human" (shown at each step)

    Attributes: `state` (dict of arrays with a leading axis of 1), `frame()` (a plain dict for pictures).
    Raises ValueError for an action outside the space or an unknown reset option.
    """

    metadata = {"render_modes": RENDER_MODES, "render_fps": 4}

    def __init__(self, world, render_mode=None, **params):
        if render_mode is not None and render_mode not in RENDER_MODES:
            raise ValueError(f"render_mode is None, {' or '.join(RENDER_MODES)}; got {render_mode!r}")
        self.world = build_world(world, params)
        self.render_mode = render_mode
        self.observation_space = self.world.observation_space
        self.action_space = self.world.action_space
        self._solo = self.world.solo()
        if self._solo is None:
            self.state = self.outcome = None
        self._has_end, self._has_clock, self._has_mask = (
            answers_itself(self.world, question) for question in ("terminated", "truncated", "mask"))
        self.begun = None               # the state in which the episode began; None of a world that lives alone
        self.trail = []                 # what the world wants kept of each step: tuples in the order of `trail_of`
        self._trail_of = itemgetter(*self.world.trail_of) if self.world.trail_of else None
        self._over = True
        self._frames = []
        self._chance = Chance(1, self.world.uniforms)
        self._read = self.world.read_action or action_reader(self.action_space, self.world.action_names)

    def reset(self, *, seed=None, options=None):
        """Starts an episode. A seed repeats it exactly; without one the generator goes on where it stands."""
        super().reset(seed=seed)
        options = check_options(self.world, options)
        self._chance.seed(0, self.np_random)
        self._over = False
        self._frames, self.trail = [], []
        if self._solo is not None:
            begun = self._solo.reset(self._chance.take(), options)
            self._show()
            return begun
        self.state, self.outcome = self.world.initial(self._chance.take(), options), None
        self.begun = self.state
        self._show()
        return at_row(self.world.observe(self.state), 0), self._info(self.state, None)

    def step(self, action):
        """One step: observation, reward, terminated, truncated, info. Time limits of gym.make come on top of it."""
        if self._over:
            raise ResetNeeded("the episode is over, or never began: call reset() first")
        world, solo = self.world, self._solo        # in names: __getattr__ below makes looking at attributes slow
        if solo is not None:
            observation, reward, terminated, info = solo.step(action, self._chance.take())
            self._over = terminated
            if self.render_mode is not None:
                self._show()
            return observation, reward, terminated, False, info
        state, outcome = world.advance(self.state, self._read(action, 1), self._chance.take())
        self.state, self.outcome = state, outcome
        terminated = self._has_end and world.terminated(state).item()
        truncated = self._has_clock and world.truncated(state).item()
        self._over = terminated or truncated
        if self._trail_of is not None:
            self.trail.append(self._trail_of(outcome))
        if self.render_mode is not None:
            self._show()
        return (at_row(world.observe(state), 0), float(world.reward(outcome)[0]), terminated, truncated,
                self._info(state, outcome))

    def __getattr__(self, name):
        """What the world exports: a plain attribute as it is, a method with this environment as its first argument.

        Of a world that lives one copy by itself also `state` and `outcome`, which are made when they are asked for.
        """
        world = self.__dict__.get("world")
        if name in ("state", "outcome") and world is not None:
            return self._solo.now()[name == "outcome"]
        if world is None or name not in world.exports:
            raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")
        value = getattr(world, name)
        if getattr(value, "is_reading", False):
            return value(self)
        return partial(value, self) if callable(value) else value

    def _info(self, state, outcome):
        """What is told, as plain numbers, or arrays of one's own."""
        world, info = self.world, {}
        for key, values in world.info(state, outcome).items():
            info[key] = values.item() if values.ndim == 1 else values[0].copy()
        if self._has_mask:
            info["action_mask"] = world.mask(state)[0].copy()
        return info

    def frame(self):
        """What a picture of this moment needs, as a plain dict."""
        state, outcome = (self.state, self.outcome) if self._solo is None else self._solo.now()
        if state is None:
            raise ResetNeeded("there is no moment to show before reset()")
        return self.world.frame(state, outcome)

    def _show(self):
        if self.render_mode is not None:
            keep_frame(self._frames, self.frame())
        if self.render_mode == "human":
            from pushlab.plots.screen import show

            show(self.world.picture(self._frames), self)

    def render(self):
        """The moment as a uint8 array (height, width, 3) in the mode "rgb_array"; None otherwise.

        Of an episode of more than MOST_FRAMES steps it shows the latest and the first; see `keep_frame`.
        """
        if self.render_mode != "rgb_array":
            return None
        if self.state is None:
            raise ResetNeeded("nothing to render before reset()")
        from pushlab.plots.screen import pixels

        return pixels(self.world.picture(self._frames))

    def close(self):
        """Closes the window of the mode "human"; more than once does no harm."""
        if self.render_mode == "human":
            from pushlab.plots.screen import hide

            hide(self)


class VectorEnv(gym.vector.VectorEnv):
    """n copies of a world advanced together; `reset(seed=s)` makes copy i the Env that was reset with s + i.

    num_envs           number of copies n
    max_episode_steps  steps after which an episode is truncated; None leaves the end to the world
    autoreset_mode     NEXT_STEP (default), SAME_STEP or DISABLED, as in Gymnasium
    render_mode        None or "rgb_array": render() returns a tuple of n uint8 arrays
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4, "autoreset_mode": AutoresetMode.NEXT_STEP}

    def __init__(self, world, num_envs=1, max_episode_steps=None, autoreset_mode=AutoresetMode.NEXT_STEP,
                 render_mode=None, **params):
        if num_envs < 1:
            raise ValueError(f"num_envs must be 1 or more; got {num_envs}")
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode of a vector environment is None or 'rgb_array'; got {render_mode!r}")
        self.world = build_world(world, params)
        self.num_envs = num_envs
        self.max_episode_steps = max_episode_steps
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.render_mode = render_mode
        self.single_observation_space = self.world.observation_space
        self.single_action_space = self.world.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state = self.outcome = None
        self._all = np.arange(num_envs)
        self._elapsed = np.zeros(num_envs, np.int64)
        self._done = np.zeros(num_envs, bool)
        self._frames = [[] for _ in range(num_envs)]
        self._chance = Chance(num_envs, self.world.uniforms)
        self._read = self.world.read_action or action_reader(self.single_action_space, self.world.action_names)
        self._seeds = [None] * num_envs

    # ------------------------------------------------------------ seeding

    @property
    def np_random(self):
        """The generators of the copies, a tuple."""
        return tuple(self._chance.generators)

    @property
    def np_random_seed(self):
        """The seeds of the copies, a tuple; None where a copy was never seeded."""
        return tuple(self._seeds)

    def _seed(self, seed, rows):
        if seed is None or isinstance(seed, (int, np.integer)):
            seeds = [None if seed is None else int(seed) + i for i in range(self.num_envs)]
        else:
            seeds = list(seed)
            if len(seeds) != self.num_envs:
                raise ValueError(f"a list of seeds has one for each of the {self.num_envs} copies; got {len(seeds)}")
        for row in rows:
            if seeds[row] is not None or self._chance.generators[row] is None:
                generator, self._seeds[row] = np_random(seeds[row])
                self._chance.seed(row, generator)

    # ------------------------------------------------------------ reset and step

    def reset(self, *, seed=None, options=None):
        """Starts an episode in every copy, or in those of options["reset_mask"], a bool array (num_envs,)."""
        options = dict(options or {})
        mask = options.pop("reset_mask", None)
        if mask is None:
            rows = self._all
        else:
            mask = np.asarray(mask)
            if mask.dtype != bool or mask.shape != (self.num_envs,) or not mask.any():
                raise ValueError(f"reset_mask is a bool array of shape ({self.num_envs},) with at least one True")
            rows = np.flatnonzero(mask)
        if self.state is None and len(rows) < self.num_envs:
            raise ResetNeeded("the first reset is of all copies, without reset_mask")
        self._seed(seed, rows)
        options = check_options(self.world, options)
        fresh = self.world.initial(self._chance.take(None if mask is None else rows), options)
        self.state = fresh if mask is None else with_rows(self.state, rows, fresh)
        self.outcome = None
        self._start(rows)
        return self.world.observe(self.state), self._gather([(rows, self._told(fresh, None))])

    def _start(self, rows):
        """Clocks and frames of copies whose episode begins."""
        self._elapsed[rows] = 0
        self._done[rows] = False
        if self.render_mode is not None:
            for row in rows:
                self._frames[row] = [self.world.frame(self.state, None, row)]

    def step(self, actions):
        """One step of every copy; a copy that ended the step before is reset instead (NEXT_STEP), with reward 0."""
        if self.state is None:
            raise ResetNeeded("call reset() first")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise ResetNeeded(f"copies {np.flatnonzero(self._done).tolist()} have ended; reset them with reset_mask")
        actions = self._read(actions, self.num_envs)
        draws = self._chance.take()
        again = np.flatnonzero(self._done)
        on = np.flatnonzero(~self._done) if len(again) else self._all
        if len(again):
            reward, terminated, told = self._step_some(on, again, actions, draws)
        else:
            self.state, self.outcome = self.world.advance(self.state, actions, draws)
            reward = np.array(self.world.reward(self.outcome), np.float64)
            terminated = np.array(self.world.terminated(self.state), bool)
            told = [(on, self._told(self.state, self.outcome))]
            self._elapsed += 1
        truncated = np.array(self.world.truncated(self.state), bool)
        if self.max_episode_steps is not None:
            truncated |= self._elapsed >= self.max_episode_steps
        self._done = terminated | truncated
        self._keep_frames(on)
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._done.any():
            observation, infos = self._restart(told[0][1])
        else:
            observation, infos = self.world.observe(self.state), self._gather(told)
        return observation, reward, terminated, truncated, infos

    def _step_some(self, on, again, actions, draws):
        """A step in which the copies `again` begin anew and the copies `on` go on: reward, terminated, what is told."""
        reward, terminated = np.zeros(self.num_envs), np.zeros(self.num_envs, bool)
        fresh = self.world.initial(draws[again], {})
        if self.world.rests:
            self.state, self.outcome = self.world.advance(self.state, actions, draws)
            reward = np.array(self.world.reward(self.outcome), np.float64)
            for key, values in fresh.items():
                self.state[key][again] = values
            reward[again] = 0
            self._elapsed[on] += 1
            self._start(again)
            terminated = np.array(self.world.terminated(self.state), bool)
            return reward, terminated, [(self._all, self._told(self.state, self.outcome))]
        told = [(again, self._told(fresh, None))]
        if len(on):
            state, self.outcome = self.world.advance(at_row(self.state, on), at_row(actions, on), draws[on])
            reward[on], terminated[on] = self.world.reward(self.outcome), self.world.terminated(state)
            told.append((on, self._told(state, self.outcome)))
            self.outcome = {key: self._spread(values, on) for key, values in self.outcome.items()}
            self.state = with_rows(self.state, on, state)
            self._elapsed[on] += 1
        self.state = with_rows(self.state, again, fresh)
        self._start(again)
        return reward, terminated, told

    def _restart(self, told):
        """SAME_STEP: the last observations and infos go into the infos; the observations are those of new episodes."""
        over, on = np.flatnonzero(self._done), np.flatnonzero(~self._done)
        last, final = self.world.observe(self.state), np.full(self.num_envs, None, dtype=object)
        for row in over:
            final[row] = at_row(last, row)
        ended = self._done.copy()
        fresh = self.world.initial(self._chance.take(over), {})
        self.state = with_rows(self.state, over, fresh)
        self._start(over)
        infos = self._gather([(on, at_row(told, on)), (over, self._told(fresh, None))])
        infos |= {"final_obs": final, "_final_obs": ended,
                  "final_info": self._gather([(over, at_row(told, over))]), "_final_info": ended.copy()}
        return self.world.observe(self.state), infos

    # ------------------------------------------------------------ infos

    def _told(self, state, outcome):
        """What the infos say of a state, arrays by key."""
        told = self.world.info(state, outcome)
        mask = self.world.mask(state)
        return told if mask is None else {**told, "action_mask": mask}

    def _gather(self, parts):
        """Infos in Gymnasium's vector form out of (copies, arrays by key): beside each key, `_key` says whose it is."""
        if len(parts) == 1 and len(parts[0][0]) == self.num_envs:
            return {name: value for key, values in parts[0][1].items()
                    for name, value in ((key, values.copy()), (f"_{key}", np.ones(self.num_envs, bool)))}
        infos = {}
        for rows, told in parts:
            for key, values in told.items() if len(rows) else ():
                if key not in infos:
                    infos[key] = self._spread(values[:0], rows[:0])
                    infos[f"_{key}"] = np.zeros(self.num_envs, bool)
                infos[key][rows] = values
                infos[f"_{key}"][rows] = True
        return infos

    def _spread(self, values, rows):
        """An array over all copies with `values` in the given ones and zeros elsewhere."""
        full = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
        full[rows] = values
        return full

    # ------------------------------------------------------------ pictures

    def _keep_frames(self, rows):
        if self.render_mode is not None:
            for row in rows:
                keep_frame(self._frames[row], self.world.frame(self.state, self.outcome, row))

    def render(self):
        """A tuple of n uint8 arrays (height, width, 3) in the mode "rgb_array"; None otherwise."""
        if self.render_mode is None:
            return None
        if self.state is None:
            raise ResetNeeded("nothing to render before reset()")
        from pushlab.plots.screen import pixels

        return tuple(pixels(self.world.picture(frames)) for frames in self._frames)
