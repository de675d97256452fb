"""stable-baselines3 and sb3-contrib: a native batch as their VecEnv, and their algorithms as agents."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

from pushlab.envs.batch import VectorEnv
from pushlab.envs.shell import Alone, Env, at_row
from pushlab.ground.arguments import demand, whole
from pushlab.ground.libraries import bring

TAKEN = (spaces.Box, spaces.Discrete, spaces.MultiDiscrete, spaces.MultiBinary)     # spaces that their networks take


def to_sb3_vec(envs: Any, num_envs: int = 1, scale: bool = False, **arguments: Any) -> Any:
    """A native batch as a VecEnv of stable-baselines3, for whatever takes one: models, VecNormalize, evaluate_policy.

    envs       the id of an environment, or a batch: `gym.make_vec(id, num_envs=n, autoreset_mode="SameStep")`, in
               Gymnasium's vector wrappers too
    num_envs   how many copies of an id
    scale      actions in [-1, 1] in place of the world's own units, by Gymnasium's RescaleAction; for a Box of actions
    arguments  of `gym.make_vec`, with an id: the world's own and render_mode

    Copy i under seed s is `gym.make(id)` reset with s + i, and goes on with its own chance when an episode ends, as in
    a DummyVecEnv; n copies are one array and step at once. Spaces are those of one copy, but for a Box of actions,
    which is float32. Rewards are float32; infos are a dict for each copy, with `terminal_observation` where an episode
    ended and `TimeLimit.truncated`. What is asked of a copy by `get_attr` and `env_method` (action_masks,
    compute_reward, world, state, whatever the Env exports) is answered for the present state of that copy; `set_attr`
    leaves a note there, and changes no world. A reset option is the same for all copies.

    Raises ImportError without stable-baselines3, ValueError for a batch in another mode of autoreset, for spaces that
    its networks do not take, and for `scale` where actions are no Box.
    """
    if isinstance(envs, str):
        envs = gym.make_vec(envs, num_envs=whole("num_envs", num_envs, 1), autoreset_mode=AutoresetMode.SAME_STEP,
                            **arguments)
    elif arguments:
        raise TypeError(f"{', '.join(arguments)}: such arguments go with an id; this batch is made already")
    demand(isinstance(envs, gym.vector.VectorEnv) and isinstance(envs.unwrapped, VectorEnv),
           f"to_sb3_vec takes an id or a native batch made by gym.make_vec; got {envs!r:.60} (an environment alone "
           "goes to stable-baselines3 as it is)")
    mode = envs.unwrapped.autoreset_mode
    demand(mode == AutoresetMode.SAME_STEP, "stable-baselines3 begins an episode anew in the step in which one ended: "
           f"make the batch with autoreset_mode=\"SameStep\"; this one has {mode.value!r}")
    if scale:
        demand(isinstance(envs.single_action_space, spaces.Box),
               f"scale is for a Box of actions; these are {envs.single_action_space}")
        envs = gym.wrappers.vector.RescaleAction(envs, -1.0, 1.0)
    seen = envs.single_observation_space
    parts = seen.spaces if isinstance(seen, spaces.Dict) else {"": seen}
    for name, space in {**parts, "actions": envs.single_action_space}.items():
        demand(isinstance(space, TAKEN), f"stable-baselines3 takes no {type(space).__name__} ({name or 'observation'}: "
               f"{space!r:.60}); the room has encoding=\"index\", for others see gymnasium.wrappers.vector")
    return _native_kind()(envs)


@cache
def _native_kind():
    """The class, made when stable-baselines3 is there; found again by `__getattr__` of this module."""
    above = bring("stable_baselines3.common.vec_env:VecEnv", "to_sb3_vec")
    return type("NativeVecEnv", (Copies, above), {"__module__": __name__, "__doc__": Copies.__doc__})


def __getattr__(name: str) -> Any:
    """NativeVecEnv, by which a pickle of one finds its class in another process."""
    if name == "NativeVecEnv":
        return _native_kind()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


class Copies:
    """What a VecEnv of stable-baselines3 is asked, answered by a native batch; `envs` is the batch."""

    num_envs: int
    reset_infos: list[dict]
    _batch: Any
    _seeds: list
    _options: list

    def __init__(self, envs: gym.vector.VectorEnv) -> None:
        self.envs, self.spec = envs, envs.spec
        self._batch = envs.unwrapped
        self._asked = [Env(self._batch.world, envs.render_mode) for _ in range(envs.num_envs)]
        for env in self._asked:
            env.spec, env._copy = envs.spec, Alone(self._batch.world)
            del env.trail               # a batch keeps none: who needs it is told so
        action = envs.single_action_space
        if isinstance(action, spaces.Box):
            action = spaces.Box(action.low.astype(np.float32), action.high.astype(np.float32), dtype=np.float32)
        super().__init__(envs.num_envs, envs.single_observation_space, action)      # type: ignore[call-arg]

    def reset(self) -> Any:
        """Begins an episode in every copy, with the seeds and options given since the last time; observations."""
        demand(all(options == self._options[0] for options in self._options),
               "the copies of a native batch begin with the same options; these differ")
        seed: Any = None if self._seeds[0] is None else self._seeds
        observation, infos = self.envs.reset(seed=seed, options=self._options[0])
        self.reset_infos = _apart(infos)
        self._reset_seeds()             # type: ignore[attr-defined]
        self._reset_options()           # type: ignore[attr-defined]
        return observation

    def step_async(self, actions: np.ndarray) -> None:
        """Takes the actions of all copies, which `step_wait` then carries out."""
        self._actions = actions

    def step_wait(self) -> tuple[Any, np.ndarray, np.ndarray, list[dict]]:
        """Observations, rewards float32 (n,), dones bool (n,), and an info for each copy."""
        observation, reward, terminated, truncated, told = self.envs.step(self._actions)
        done = terminated | truncated
        last, final = told.pop("final_obs", None), told.pop("final_info", {})
        infos = _apart(told)
        over = np.flatnonzero(done)
        for row, info in zip(over.tolist(), _apart(final, over)):
            self.reset_infos[row], infos[row] = infos[row], info | {"terminal_observation": last[row]}
        for info, cut in zip(infos, (truncated & ~terminated).tolist()):
            info["TimeLimit.truncated"] = cut
        return observation, reward.astype(np.float32), done, infos

    def get_attr(self, attr_name: str, indices: Any = None) -> list:
        """The attribute of each copy, as it is now."""
        return [getattr(env, attr_name) for env in self._now(indices)]

    def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
        """Notes something on copies, for `get_attr`."""
        for env in self._now(indices):
            setattr(env, attr_name, value)

    def env_method(self, method_name: str, *method_args: Any, indices: Any = None, **method_kwargs: Any) -> list:
        """What a method of each copy gives."""
        if method_name == "action_masks" and indices is None:
            return list(self._batch.action_masks())         # of all at once: models ask at every step
        return [getattr(env, method_name)(*method_args, **method_kwargs) for env in self._now(indices)]

    def env_is_wrapped(self, wrapper_class: type, indices: Any = None) -> list[bool]:
        """False for each copy: no copy is wrapped by itself."""
        return [False for _ in self._get_indices(indices)]      # type: ignore[attr-defined]

    def get_images(self) -> Any:
        """The picture of each copy, uint8 (height, width, 3); None without render_mode="rgb_array"."""
        return self.envs.render() or [None] * self.num_envs

    def close(self) -> None:
        """Closes the batch."""
        self.envs.close()

    def _now(self, indices: Any) -> Iterable[Any]:
        """The copies with their present state, each as an Env that is only asked and never stepped."""
        for row in self._get_indices(indices):      # type: ignore[attr-defined]
            here, env = slice(row, row + 1), self._asked[row]
            if self._batch.state is not None:
                env._copy.state = at_row(self._batch.state, here)
                env._copy.outcome = self._batch.outcome and at_row(self._batch.outcome, here)
            yield env


def _apart(infos: dict, rows: Any = slice(None)) -> list[dict]:
    """Infos in Gymnasium's vector form as a dict for each copy, or each of some rows: plain numbers, or arrays.

    >>> _apart({"time": np.array([1.0, 2.0]), "_time": np.array([True, True])}, [1])
    [{'time': 2.0}]
    """
    has = {key: infos[f"_{key}"][rows] for key in infos if not key.startswith("_")}
    whole = [key for key in has if has[key].all()]          # mostly all of them: then much faster
    columns = [values.tolist() if values.ndim == 1 else list(values) for values in (infos[key][rows] for key in whole)]
    found = [dict(zip(whole, told)) for told in zip(*columns)] if whole else [{} for _ in next(iter(has.values()), ())]
    for key in has.keys() - set(whole):
        for at in np.flatnonzero(has[key]).tolist():
            value = infos[key][rows][at]
            found[at][key] = value.item() if value.ndim == 0 else value.copy()
    return found
