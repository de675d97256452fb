"""VectorEnv: n copies of a world as a Gymnasium vector environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as GymVectorEnv
from gymnasium.vector.utils import batch_space

from pushlab.envs.env import (
    SpecDescriptor,
    action_validator,
    append_frame,
    batch_masks,
    build_world,
    index_nested,
    validate_options,
)
from pushlab.envs.random_numbers import UniformSource
from pushlab.envs.world import World
from pushlab.utils.arguments import (
    require,
    short_repr,
    validate_choice,
    validate_integer,
)

AUTORESET_MODES = (*AutoresetMode, *(mode.value for mode in AutoresetMode))
ALL_ROWS = slice(None)


class VectorEnv(GymVectorEnv):
    """n copies of a world, advanced together. After `reset(seed=s)` copy i has the episode of an Env reset with s + i.

    Args:
        world: A World, its class or "module:Class".
        num_envs: Number of copies n.
        max_episode_steps: Steps after which an episode is truncated; None for no limit beyond the world's.
        autoreset_mode: NEXT_STEP (default), SAME_STEP or DISABLED, as in Gymnasium.
        render_mode: None, or "rgb_array": render() returns a tuple of n uint8 arrays.
        params: Keyword arguments of the world's class.
    """

    metadata: dict[str, Any] = {
        "render_modes": ["rgb_array"],
        "render_fps": 4,
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }
    spec = SpecDescriptor()

    def __init__(
        self,
        world: World | type[World] | str,
        num_envs: int = 1,
        max_episode_steps: int | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
        render_mode: str | None = None,
        **params: Any,
    ):
        self.num_envs = num_envs = validate_integer("num_envs", num_envs, 1)
        self.render_mode = validate_choice(
            "render_mode of a vector environment", render_mode, (None, "rgb_array")
        )
        self.max_episode_steps = max_episode_steps
        if max_episode_steps is not None:
            validate_integer("max_episode_steps", max_episode_steps, 1)
        self.autoreset_mode = AutoresetMode(
            validate_choice("autoreset_mode", autoreset_mode, AUTORESET_MODES)
        )
        self.metadata = {**self.metadata, "autoreset_mode": self.autoreset_mode}
        self.world = build_world(world, params)
        self.single_observation_space = self.world.observation_space
        self.single_action_space = self.world.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.state: Any = None
        self.outcome: dict | None = None
        self._elapsed = np.zeros(num_envs, np.int64)
        self._is_over = np.zeros(num_envs, bool)
        self._frames: list = [None] * num_envs
        self._uniforms = UniformSource([None] * num_envs, self.world.uniforms)
        self._parse = action_validator(self.world)
        self._seeds: list[int | None] = [None] * num_envs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict | None = None,
    ) -> tuple[Any, dict]:
        """Start an episode in every copy, or in those selected by options["reset_mask"], a bool array (num_envs,)."""
        rows = np.arange(self.num_envs)
        if isinstance(options, Mapping) and "reset_mask" in options:
            options = dict(options)
            rows = np.flatnonzero(self._validate_mask(options.pop("reset_mask")))
        options = validate_options(self.world, options)
        self._seed(seed, rows)
        state = self.world.initial(self._uniforms.take_some(rows), options)
        if len(rows) == self.num_envs:
            self.state = state
        else:
            self.state = replace_rows(self.state, rows, state)
        self.outcome = None
        self._begin_episodes(rows)
        infos = self._vector_infos([(rows, self._info_arrays(state, None))])
        return self.world.observe(self.state), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        """Advance every copy. In the mode NEXT_STEP a copy that has ended is reset instead, with reward 0."""
        if self.state is None:
            raise ResetNeeded("no episode is running; call reset() first")
        ended = np.flatnonzero(self._is_over)
        if len(ended) and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"copies {ended.tolist()} have ended; reset them with reset_mask"
            )
        actions = self._parse(actions, self.num_envs)
        draws = self._uniforms.take()
        running: Any = ALL_ROWS
        if len(ended):
            initial = self.world.initial(draws[ended], {})
            if not self.world.can_advance_ended:
                running = np.flatnonzero(~self._is_over)

        reward = np.zeros(self.num_envs)
        parts = []
        if running is ALL_ROWS:
            self.state, self.outcome = self.world.advance(self.state, actions, draws)
            reward[:] = self.world.reward(self.outcome)
            parts.append((ALL_ROWS, self._info_arrays(self.state, self.outcome)))
        elif len(running):
            state, outcome = self.world.advance(
                index_nested(self.state, running),
                index_nested(actions, running),
                draws[running],
            )
            reward[running] = self.world.reward(outcome)
            parts.append((running, self._info_arrays(state, outcome)))
            self.state = replace_rows(self.state, running, state)
            self.outcome = {
                key: self._expand(values, running) for key, values in outcome.items()
            }
        self._elapsed += 1
        if len(ended):
            reward[ended] = 0
            parts.append((ended, self._info_arrays(initial, None)))
            if len(ended) == self.num_envs:
                self.state = initial
                self.outcome = None
            else:  # the arrays of self.state are new, so they can be changed in place
                for key, values in initial.items():
                    self.state[key][ended] = values
            self._begin_episodes(ended)

        terminated = np.array(self.world.terminated(self.state), bool)
        truncated = np.array(self.world.truncated(self.state), bool)
        if self.max_episode_steps is not None:
            truncated |= self._elapsed >= self.max_episode_steps
        self._is_over = terminated | truncated
        if self.render_mode is not None:
            for row in np.flatnonzero(self._elapsed).tolist():
                frame = self.world.frame(self.state, self.outcome, row)
                append_frame(self._frames[row], frame)
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._is_over.any():
            observation, infos = self._reset_ended()
        else:
            observation = self.world.observe(self.state)
            infos = self._vector_infos(parts)
        return observation, reward, terminated, truncated, infos

    def action_masks(self) -> np.ndarray:
        """Return a bool mask (n, actions) of the actions allowed now; see `Env.action_masks`."""
        return batch_masks(self.world, self.state, self.num_envs)

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return a tuple of n uint8 arrays (height, width, 3) in the mode "rgb_array", otherwise None."""
        if self.render_mode is None:
            return None
        if self.state is None:
            raise ResetNeeded("call reset() before render()")
        from pushlab.plots.style import SHARP, pixels

        picture = self.world.picture
        return tuple(pixels(picture(frames), SHARP) for frames in self._frames)

    def _validate_mask(self, mask):
        mask = np.asarray(mask)
        require(
            mask.dtype == bool and mask.shape == (self.num_envs,) and mask.any(),
            f"reset_mask must be a bool array of shape ({self.num_envs},) with at least one True",
        )
        if self.state is None and not mask.all():
            raise ResetNeeded(
                "the first reset must be of all copies, without reset_mask"
            )
        return mask

    def _seed(self, seed, rows):
        """Seed the generators of the given copies. A copy without a seed continues with its generator."""
        if isinstance(seed, (int, np.integer)):
            seed = range(int(seed), int(seed) + self.num_envs)
        if seed is None:
            seed = [None] * self.num_envs
        require(
            hasattr(seed, "__len__") and len(seed) == self.num_envs,
            f"seed must be an integer or a list of {self.num_envs} integers, one per copy; got {short_repr(seed)}",
        )
        for row in rows:
            copy_seed = seed[row]
            if copy_seed is not None or self._uniforms.generators[row] is None:
                copy_seed = None if copy_seed is None else int(copy_seed)
                generator, self._seeds[row] = np_random(copy_seed)
                self._uniforms.seed(row, generator)
        self._np_random = tuple(self._uniforms.generators)
        self._np_random_seed = tuple(self._seeds)

    def _begin_episodes(self, rows):
        """Reset step counts and frames."""
        self._elapsed[rows] = 0
        self._is_over[rows] = False
        if self.render_mode is not None:
            for row in rows:
                self._frames[row] = [self.world.frame(self.state, None, row)]

    def _reset_ended(self):
        """Reset ended copies in the mode SAME_STEP; the infos include their final observations and infos."""
        ended = np.flatnonzero(self._is_over)
        mask = self._is_over.copy()
        last = self.world.observe(self.state)
        final = np.full(self.num_envs, None, dtype=object)
        for row in ended:
            final[row] = index_nested(last, row)
        initial = self.world.initial(self._uniforms.take_some(ended), {})
        last_info = self._info_arrays(self.state, self.outcome)
        parts = [(ALL_ROWS, last_info), (ended, self._info_arrays(initial, None))]
        self.state = replace_rows(self.state, ended, initial)
        self._begin_episodes(ended)
        infos = self._vector_infos(parts)
        infos["final_obs"] = final
        infos["final_info"] = self._vector_infos(
            [(ended, index_nested(last_info, ended))]
        )
        infos["_final_obs"] = mask
        infos["_final_info"] = mask.copy()
        return self.world.observe(self.state), infos

    def _info_arrays(self, state, outcome):
        infos = self.world.info(state, outcome)
        mask = self.world.mask(state)
        return infos if mask is None else {**infos, "action_mask": mask}

    def _vector_infos(self, parts):
        """Return Gymnasium's vector infos, with a bool mask `_name` for each name, from pairs (rows, info arrays)."""
        infos: dict = {}
        all_true = np.ones(self.num_envs, bool)
        for rows, arrays in parts:
            for name, values in arrays.items():
                if rows is ALL_ROWS:
                    infos[name] = values.copy()
                    infos[f"_{name}"] = all_true.copy()
                    continue
                if name not in infos:
                    infos[name] = self._expand(values[:0], rows[:0])
                    infos[f"_{name}"] = np.zeros(self.num_envs, bool)
                infos[name][rows] = values
                infos[f"_{name}"][rows] = True
        return infos

    def _expand(self, values, rows):
        """Return an array for all copies, with `values` in the given rows and zeros elsewhere."""
        expanded = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
        expanded[rows] = values
        return expanded


def replace_rows(state: dict, rows: np.ndarray, new: dict) -> dict:
    """Return a copy of the state with the given rows replaced."""
    state = {key: values.copy() for key, values in state.items()}
    for key, values in new.items():
        state[key][rows] = values
    return state
