"""The one VectorEnv around every world: copies advanced together, autoreset, and infos in Gymnasium's vector form."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random
from gymnasium.vector import AutoresetMode
from gymnasium.vector import VectorEnv as GymVectorEnv
from gymnasium.vector.utils import batch_space

from pushlab.envs.chance import Chance
from pushlab.envs.shell import (
    Spec,
    at_row,
    build_world,
    check_options,
    keep_frame,
    masks,
    reader_of,
)
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, in_short, one_of, whole

MODES = (*AutoresetMode, *(mode.value for mode in AutoresetMode))
ALL = slice(None)


class VectorEnv(GymVectorEnv):
    """n copies of a world advanced together; `reset(seed=s)` makes copy i the Env that was reset with s + i.

    Args:
        world: A World, its class or "module:Class".
        num_envs: Number of copies n.
        max_episode_steps: Steps after which an episode is truncated; None leaves the end to the world.
        autoreset_mode: NEXT_STEP (default), SAME_STEP or DISABLED, as in Gymnasium.
        render_mode: None or "rgb_array": render() returns a tuple of n uint8 arrays.
        params: Keyword arguments of the world's class.
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
        self.num_envs = num_envs = whole("num_envs", num_envs, 1)
        self.render_mode = one_of(
            "render_mode of a vector environment", render_mode, (None, "rgb_array")
        )
        self.max_episode_steps = max_episode_steps
        if max_episode_steps is not None:
            whole("max_episode_steps", max_episode_steps, 1)
        self.autoreset_mode = AutoresetMode(
            one_of("autoreset_mode", autoreset_mode, MODES)
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
        self._frames: list[list[dict]] = [[] for _ in range(num_envs)]
        self._chance = Chance([None] * num_envs, self.world.uniforms)
        self._read = reader_of(self.world)
        self._seeds: list[int | None] = [None] * num_envs

    def reset(
        self,
        *,
        seed: int | Sequence[int | None] | None = None,
        options: dict | None = None,
    ) -> tuple[Any, dict]:
        """Start an episode in every copy, or in those of options["reset_mask"], a bool array (num_envs,)."""
        rows = np.arange(self.num_envs)
        if isinstance(options, Mapping) and "reset_mask" in options:
            options = dict(options)
            rows = np.flatnonzero(self._checked_mask(options.pop("reset_mask")))
        options = check_options(self.world, options)
        self._seed(seed, rows)
        state = self.world.initial(self._chance.take_some(rows), options)
        if len(rows) == self.num_envs:
            self.state = state
        else:
            self.state = with_rows(self.state, rows, state)
        self.outcome = None
        self._start(rows)
        infos = self._gather([(rows, self._infos_of(state, None))])
        return self.world.observe(self.state), infos

    def step(
        self, actions: Any
    ) -> tuple[Any, np.ndarray, np.ndarray, np.ndarray, dict]:
        """Advance every copy; a copy that ended in the step before is reset instead (NEXT_STEP), with reward 0."""
        if self.state is None:
            raise ResetNeeded("call reset() first")
        over = np.flatnonzero(self._is_over)
        if len(over) and self.autoreset_mode == AutoresetMode.DISABLED:
            raise ResetNeeded(
                f"copies {over.tolist()} have ended; reset them with reset_mask"
            )
        actions = self._read(actions, self.num_envs)
        draws = self._chance.take()
        on: Any = ALL
        if len(over):
            first = self.world.initial(draws[over], {})
            if not self.world.advances_ended:
                on = np.flatnonzero(~self._is_over)

        reward = np.zeros(self.num_envs)
        parts = []
        if on is ALL:
            self.state, self.outcome = self.world.advance(self.state, actions, draws)
            reward[:] = self.world.reward(self.outcome)
            parts.append((ALL, self._infos_of(self.state, self.outcome)))
        elif len(on):
            state, outcome = self.world.advance(
                at_row(self.state, on), at_row(actions, on), draws[on]
            )
            reward[on] = self.world.reward(outcome)
            parts.append((on, self._infos_of(state, outcome)))
            self.state = with_rows(self.state, on, state)
            self.outcome = {key: self._spread(x, on) for key, x in outcome.items()}
        self._elapsed += 1
        if len(over):
            reward[over] = 0
            parts.append((over, self._infos_of(first, None)))
            if len(over) == self.num_envs:
                self.state = first
            else:  # its arrays are new
                for key, values in first.items():
                    self.state[key][over] = values
            self._start(over)

        terminated = np.array(self.world.terminated(self.state), bool)
        truncated = np.array(self.world.truncated(self.state), bool)
        if self.max_episode_steps is not None:
            truncated |= self._elapsed >= self.max_episode_steps
        self._is_over = terminated | truncated
        if self.render_mode is not None:
            for row in np.flatnonzero(self._elapsed).tolist():
                frame = self.world.frame(self.state, self.outcome, row)
                keep_frame(self._frames[row], frame)
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._is_over.any():
            observation, infos = self._reset_ended()
        else:
            observation = self.world.observe(self.state)
            infos = self._gather(parts)
        return observation, reward, terminated, truncated, infos

    def action_masks(self) -> np.ndarray:
        """Return which actions each copy can take now, bool (n, actions); see `Env.action_masks`."""
        return masks(self.world, self.state, self.num_envs)

    def render(self) -> tuple[np.ndarray, ...] | None:
        """Return a tuple of n uint8 arrays (height, width, 3) in the mode "rgb_array", else None."""
        if self.render_mode is None:
            return None
        if self.state is None:
            raise ResetNeeded("nothing to render before reset()")
        from pushlab.plots.style import pixels

        return tuple(pixels(self.world.picture(frames)) for frames in self._frames)

    def _checked_mask(self, mask):
        mask = np.asarray(mask)
        demand(
            mask.dtype == bool and mask.shape == (self.num_envs,) and mask.any(),
            f"reset_mask is a bool array of shape ({self.num_envs},) with at least one True",
        )
        if self.state is None and not mask.all():
            raise ResetNeeded("the first reset is of all copies, without reset_mask")
        return mask

    def _seed(self, seed, rows):
        """Give the rows their generators; a copy without a seed goes on with its generator."""
        if isinstance(seed, (int, np.integer)):
            seed = range(int(seed), int(seed) + self.num_envs)
        if seed is None:
            seed = [None] * self.num_envs
        demand(
            hasattr(seed, "__len__") and len(seed) == self.num_envs,
            f"seed is a whole number, or a list with one for each of the {self.num_envs} copies; got {in_short(seed)}",
        )
        for row in rows:
            if seed[row] is not None or self._chance.generators[row] is None:
                one = None if seed[row] is None else int(seed[row])
                generator, self._seeds[row] = np_random(one)
                self._chance.seed(row, generator)
        self._np_random = tuple(self._chance.generators)
        self._np_random_seed = tuple(self._seeds)

    def _start(self, rows):
        """Restart clocks and frames of copies whose episode begins."""
        self._elapsed[rows] = 0
        self._is_over[rows] = False
        if self.render_mode is not None:
            for row in rows:
                self._frames[row] = [self.world.frame(self.state, None, row)]

    def _reset_ended(self):
        """SAME_STEP: put the last observations and infos into the infos, and return first observations."""
        over = np.flatnonzero(self._is_over)
        last = self.world.observe(self.state)
        final = np.full(self.num_envs, None, dtype=object)
        for row in over:
            final[row] = at_row(last, row)
        first = self.world.initial(self._chance.take_some(over), {})
        ended = self._is_over.copy()
        parts = [
            (ALL, self._infos_of(self.state, self.outcome)),
            (over, self._infos_of(first, None)),
        ]
        self.state = with_rows(self.state, over, first)
        self._start(over)
        infos = self._gather(parts)
        infos["final_obs"] = final
        infos["final_info"] = self._gather([(over, at_row(parts[0][1], over))])
        infos["_final_obs"] = ended
        infos["_final_info"] = ended.copy()
        return self.world.observe(self.state), infos

    def _infos_of(self, state, outcome):
        infos = self.world.info(state, outcome)
        mask = self.world.mask(state)
        return infos if mask is None else {**infos, "action_mask": mask}

    def _gather(self, parts):
        """Infos in Gymnasium's vector form of (rows, arrays by name): beside each name, `_name` says whose it is."""
        infos: dict = {}
        for rows, some in parts:
            for name, values in some.items():
                if rows is ALL:
                    infos[name] = values.copy()
                    infos[f"_{name}"] = np.ones(self.num_envs, bool)
                    continue
                if name not in infos:
                    infos[name] = self._spread(values[:0], rows[:0])
                    infos[f"_{name}"] = np.zeros(self.num_envs, bool)
                infos[name][rows] = values
                infos[f"_{name}"][rows] = True
        return infos

    def _spread(self, values, rows):
        """Return an array of all copies with `values` in the rows and zeros elsewhere."""
        full = np.zeros((self.num_envs, *values.shape[1:]), values.dtype)
        full[rows] = values
        return full


def with_rows(state: dict, rows: np.ndarray, new: dict) -> dict:
    """Return the state with the given copies replaced; the given state isn't changed."""
    state = {key: values.copy() for key, values in state.items()}
    for key, values in new.items():
        state[key][rows] = values
    return state
