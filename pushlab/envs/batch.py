"""The one VectorEnv around every world: copies advanced together, autoreset, and infos in Gymnasium's vector form."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as GymVectorEnv
from gymnasium.vector.utils import batch_space

from pushlab.envs.actions import choices, masks, reader_of
from pushlab.envs.chance import Chance
from pushlab.envs.shell import Spec, at_row, build_world, check_options, keep_frame
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, in_short, naming, one_of, whole

MOST_COPIES = 2**24
MODES = (*AutoresetMode, *(mode.value for mode in AutoresetMode))


def with_rows(state: dict, rows: np.ndarray, new: dict) -> dict:
    """The state with the given copies replaced; the one given stays as it is."""
    state = {key: values.copy() for key, values in state.items()}
    for key, values in new.items():
        state[key][rows] = values
    return state


class VectorEnv(GymVectorEnv):
    """n copies of a world advanced together; `reset(seed=s)` makes copy i the Env that was reset with s + i.

    num_envs           number of copies n
    max_episode_steps  steps after which an episode is truncated; None leaves the end to the world
    autoreset_mode     NEXT_STEP (default), SAME_STEP or DISABLED, as in Gymnasium
    render_mode        None or "rgb_array": render() returns a tuple of n uint8 arrays
    """

    metadata: dict[str, Any] = {
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    spec = Spec()

    def __init__(
        self,
        world: World | type[World] | str,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **params: Any,
    ):
        self.num_envs = num_envs = whole("num_envs", num_envs, 1, MOST_COPIES)
        self.render_mode = one_of(
            "render_mode of a vector environment", render_mode, (None, "rgb_array")
        )
        self.max_episode_steps = (
            None
            if max_episode_steps is None
            else whole("max_episode_steps", max_episode_steps, 1)
        )
        self.autoreset_mode = AutoresetMode(
            one_of("autoreset_mode", autoreset_mode, MODES)
        )
        self.world = build_world(world, params)
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.single_observation_space = self.world.observation_space
        self.single_action_space = self.world.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state: Any = None
        self.outcome: dict | None = None
        self._all = np.arange(num_envs)
        self._elapsed, self._done = (
            np.zeros(num_envs, np.int64),
            np.zeros(num_envs, bool),
        )
        self._frames: list[list[dict]] = [[] for _ in range(num_envs)]
        self._chance, self._read = (
            Chance(num_envs, self.world.uniforms),
            reader_of(self.world),
        )
        self._seeds: list[int | None] = [None] * num_envs

    def __copy__(self) -> VectorEnv:
        return deepcopy(self, {id(self.world): self.world})  # as that of an Env

    # ------------------------------------------------------------ seeding

    @property  # type: ignore[misc]
    def np_random(self) -> tuple:  # type: ignore[override]
        """The generators of the copies, a tuple."""
        self._seed(None, self._all)
        return tuple(self._chance.generators)

    @property
    def np_random_seed(self) -> tuple:  # type: ignore[override]
        """The seeds of the copies, a tuple; whoever asks before a reset seeds those that have none, by chance."""
        self._seed(None, self._all)
        return tuple(self._seeds)

    def _seed(self, seed, rows):
        if seed is None or isinstance(seed, (int, np.integer)):
            seed = [
                None if seed is None else int(seed) + i for i in range(self.num_envs)
            ]
        seed = seed.tolist() if isinstance(seed, np.ndarray) else seed
        demand(
            isinstance(seed, (list, tuple)) and len(seed) == self.num_envs,
            f"seed is a whole number, or a list with one for each of the {self.num_envs} copies; got "
            f"{in_short(seed)}",
        )
        for row in rows:
            if seed[row] is not None or self._chance.generators[row] is None:
                generator, self._seeds[row] = np_random(seed[row])
                self._chance.seed(row, generator)

    # ------------------------------------------------------------ reset and step

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict | None = None,
    ) -> tuple[Any, dict]:
        """Starts an episode in every copy, or in those of options["reset_mask"], a bool array (num_envs,)."""
        demand(
            options is None or isinstance(options, Mapping),
            f"options is None or a dict; got {in_short(options)}",
        )
        options = dict(options or {})
        mask, rows = options.pop("reset_mask", None), self._all
        if mask is not None:
            with naming("reset_mask", mask):
                mask = np.asarray(mask)
            demand(
                mask.dtype == bool and mask.shape == (self.num_envs,) and mask.any(),
                f"reset_mask is a bool array of shape ({self.num_envs},) with at least one True",
            )
            rows = np.flatnonzero(mask)
        if self.state is None and len(rows) < self.num_envs:
            raise ResetNeeded("the first reset is of all copies, without reset_mask")
        self._seed(seed, rows)
        options = check_options(self.world, options)
        fresh = self.world.initial(
            self._chance.take(None if mask is None else rows), options
        )
        self.state = fresh if mask is None else with_rows(self.state, rows, fresh)
        self.outcome = None
        self._start(rows)
        return self.world.observe(self.state), self._gather(
            [(rows, self._told(fresh, None))]
        )

    def _start(self, rows):
        """Clocks and frames of copies whose episode begins."""
        self._elapsed[rows] = 0
        self._done[rows] = False
        if self.render_mode is not None:
            for row in rows:
                self._frames[row] = [self.world.frame(self.state, None, row)]

    def step(
        self, actions: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        """One step of every copy; a copy that ended the step before is reset instead (NEXT_STEP), with reward 0."""
        if self.state is None:
            raise ResetNeeded("call reset() first")
        if self.autoreset_mode == AutoresetMode.DISABLED and self._done.any():
            raise ResetNeeded(
                f"copies {np.flatnonzero(self._done).tolist()} have ended; reset them with reset_mask"
            )
        actions = self._read(actions, self.num_envs)
        draws, again = self._chance.take(), np.flatnonzero(self._done)
        on = np.flatnonzero(~self._done) if len(again) else self._all
        self._elapsed += 1
        if len(again):
            reward, told = self._step_some(on, again, actions, draws)
        else:
            self.state, self.outcome = self.world.advance(self.state, actions, draws)
            reward = np.array(self.world.reward(self.outcome), np.float64)
            told = [(self._all, self._told(self.state, self.outcome))]
        terminated = np.array(self.world.terminated(self.state), bool)
        truncated = np.array(self.world.truncated(self.state), bool)
        if self.max_episode_steps is not None:
            truncated |= self._elapsed >= self.max_episode_steps
        self._done = terminated | truncated
        if self.render_mode is not None:
            for row in on.tolist():
                keep_frame(
                    self._frames[row], self.world.frame(self.state, self.outcome, row)
                )
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._done.any():
            observation, infos = self._restart()
        else:
            observation, infos = self.world.observe(self.state), self._gather(told)
        return observation, reward, terminated, truncated, infos

    def _step_some(self, on, again, actions, draws):
        """A step in which the copies `again` begin anew and the copies `on` go on: the rewards, and what is told."""
        fresh = self.world.initial(draws[again], {})
        if self.world.rests:
            self.state, self.outcome = self.world.advance(self.state, actions, draws)
            reward = np.array(self.world.reward(self.outcome), np.float64)
            reward[again] = 0
            for key, values in fresh.items():
                self.state[key][again] = values
            told = [(self._all, self._told(self.state, self.outcome))]
        else:
            reward, told = np.zeros(self.num_envs), [(again, self._told(fresh, None))]
            if len(on):
                state, outcome = self.world.advance(
                    at_row(self.state, on), at_row(actions, on), draws[on]
                )
                reward[on] = self.world.reward(outcome)
                told.append((on, self._told(state, outcome)))
                self.outcome = {
                    key: self._spread(values, on) for key, values in outcome.items()
                }
                self.state = with_rows(self.state, on, state)
            self.state = with_rows(self.state, again, fresh)
        self._start(again)
        return reward, told

    def _restart(self):
        """SAME_STEP: the last observations and infos go into the infos; the observations are those of new episodes."""
        over, on = np.flatnonzero(self._done), np.flatnonzero(~self._done)
        last, final = (
            self.world.observe(self.state),
            np.full(self.num_envs, None, dtype=object),
        )
        for row in over:
            final[row] = at_row(last, row)
        ended = self._done.copy()
        fresh = self.world.initial(self._chance.take(over), {})
        told = self._told(
            self.state, self.outcome
        )  # after initial, which may make vectors of info longer
        self.state = with_rows(self.state, over, fresh)
        self._start(over)
        infos = self._gather([(on, at_row(told, on)), (over, self._told(fresh, None))])
        infos |= {
            "final_obs": final,
            "_final_obs": ended,
            "final_info": self._gather([(over, at_row(told, over))]),
            "_final_info": ended.copy(),
        }
        return self.world.observe(self.state), infos

    # ------------------------------------------------------------ infos

    @property
    def action_masks(self) -> Callable[[], np.ndarray]:
        """action_masks() tells which actions each copy may take now, bool (n, actions); see `Env.action_masks`."""
        choices(self.single_action_space)
        return lambda: masks(self.world, self.state, self.num_envs)

    def _told(self, state, outcome):
        """What the infos say of a state, arrays by key."""
        told = self.world.info(state, outcome)
        mask = self.world.mask(state)
        return told if mask is None else {**told, "action_mask": mask}

    def _gather(self, parts):
        """Infos in Gymnasium's vector form out of (copies, arrays by key): beside each key, `_key` says whose it is."""
        if len(parts) == 1 and len(parts[0][0]) == self.num_envs:
            return {
                name: value
                for key, values in parts[0][1].items()
                for name, value in (
                    (key, values.copy()),
                    (f"_{key}", np.ones(self.num_envs, bool)),
                )
            }
        infos: dict = {}
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

    def render(self) -> tuple[np.ndarray, ...] | None:
        """A tuple of n uint8 arrays (height, width, 3) in the mode "rgb_array"; None otherwise."""
        if self.render_mode is None:
            return None
        if self.state is None:
            raise ResetNeeded("nothing to render before reset()")
        from pushlab.plots.style import pixels

        return tuple(pixels(self.world.picture(frames)) for frames in self._frames)
