"""Convert environments and logs for other libraries: flat observations, VecEnvs, and data sets of Minari.

Most tools accept environments and logs directly; data/clients/README.md and docs/tools_of_others.md have examples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
from gymnasium import spaces

from pushlab.envs.env import Env, index_nested
from pushlab.logs.files import read_log, write_log
from pushlab.logs.rollout import build_log, episode_table
from pushlab.utils.arguments import import_optional, require, require_columns

__all__ = ["from_minari", "to_flat", "to_minari", "to_sb3_vec"]

LOG = "log.csv"  # the original log, in the folder of a data set written by `to_minari`

# ---------------------------------------------------------------- flat observations


def to_flat(env: Any) -> Any:
    """Return an environment or a batch whose observations are one flat float32 Box, with codes one-hot encoded.

    Gymnasium's FlattenObservation encodes the codes. The result also has `names`, the names of
    the components: "hour=3" is 1 if the code of "hour" is 3, and otherwise 0.

    Args:
        env: A Gymnasium environment, or a batch whose autoreset mode isn't SAME_STEP.

    Raises:
        ValueError: If observations are in words.

    >>> env = to_flat(gym.make("pushlab/RoomEnv-v0", encoding="index", max_step=9))
    >>> env.observation_space, env.names[0], env.names[-1]
    (Box(0.0, 1.0, (60,), float32), 'person=0', 'asked.object=9')
    """
    wrappers: Any = gym.wrappers
    kind = "observation_space"
    if isinstance(env, gym.vector.VectorEnv):
        wrappers = gym.wrappers.vector
        kind = "single_observation_space"
    space = getattr(env, kind)
    _require_codes(space, "to_flat")
    # Not DtypeObservation, which warns that float32 is less precise.
    bounds: Any = spaces.flatten_space(space)
    box = spaces.Box(np.float32(bounds.low), np.float32(bounds.high))
    flat = wrappers.FlattenObservation(env)
    flat = wrappers.TransformObservation(flat, np.float32, **{kind: box})
    world = getattr(env.unwrapped, "world", None)
    flat.names = _flat_names(space, getattr(world, "observation_names", None))
    return flat


def _require_codes(space, needed_by):
    require(
        not isinstance(space, spaces.Tuple),
        f"{needed_by} doesn't support observations in words; use encoding='index' for the room",
    )


def _flat_names(space, names, prefix=""):
    """Return the names of the components of a flattened space; numbers if the world's names don't fit."""
    if isinstance(space, spaces.Dict):
        flat = []
        for key, part in space.items():
            own = names.get(key) if isinstance(names, dict) else None
            flat += _flat_names(part, own, f"{prefix}{key}.")
        return flat
    if names and isinstance(space, spaces.MultiDiscrete):
        counts = zip(names, space.nvec)
        names = [f"{name}={code}" for name, n in counts for code in range(n)]
    size = spaces.flatdim(space)
    if not names or len(names) != size:
        names = range(size)
    return [f"{prefix}{name}" for name in names]


# ---------------------------------------------------------------- stable-baselines3


def to_sb3_vec(
    name: str,
    num_envs: int = 1,
    scale: bool = False,
    **arguments: Any,
) -> Any:
    """Return a native batch as a VecEnv of stable-baselines3, for models, VecNormalize and evaluate_policy.

    All copies are rows of one array and step together. Copy i under seed s is `gym.make(name)` reset with s + i. After
    the end of an episode, the copy continues with its own random numbers, as in a DummyVecEnv. Rewards are float32.
    Each copy has an info, with `TimeLimit.truncated`, and with `terminal_observation` after the end of an episode. All
    copies have the same reset options. Single copies can't be reset or stepped: `env_method` can only call
    `action_masks` and `compute_reward`.

    Args:
        name: Id of an environment.
        num_envs: Number of copies.
        scale: Whether a Box of actions is scaled to [-1, 1] instead of the world's own units.
        arguments: Arguments of the world, max_episode_steps and render_mode.

    Raises:
        ImportError: If stable-baselines3 isn't installed.
        ValueError: If observations are tuples. The room needs `encoding="index"`.
    """
    base = import_optional("stable_baselines3.common.vec_env:VecEnv", "to_sb3_vec")
    batch = gym.make_vec(name, num_envs, autoreset_mode="SameStep", **arguments)
    _require_codes(batch.single_observation_space, "stable-baselines3")
    world: Any = batch.unwrapped
    template = Env(world.world, batch.render_mode)  # stands for any copy; never stepped
    if scale:
        batch = gym.wrappers.vector.RescaleAction(batch, -1.0, 1.0)

    class NativeVecEnv(base):  # type: ignore[misc, valid-type]
        """A native batch with the methods of a VecEnv."""

        def reset(self):
            options = self._options[0]
            require(
                self._options.count(options) == self.num_envs,
                "all copies of a batch must have the same reset options",
            )
            seeds = None if self._seeds[0] is None else self._seeds
            observation, infos = batch.reset(seed=seeds, options=options)
            self.reset_infos = _info_per_copy(infos, np.arange(self.num_envs))
            self._reset_seeds()
            self._reset_options()
            return observation

        def step_async(self, actions):
            self.actions = actions

        def step_wait(self):
            observation, reward, terminated, truncated, infos = batch.step(self.actions)
            final_observation = infos.pop("final_obs", None)
            final_infos = infos.pop("final_info", {})
            done = terminated | truncated
            done_rows = np.flatnonzero(done)
            info_list = _info_per_copy(infos, np.arange(self.num_envs))
            for row, info in zip(done_rows, _info_per_copy(final_infos, done_rows)):
                self.reset_infos[row] = info_list[row]
                info_list[row] = info | {"terminal_observation": final_observation[row]}
            time_limits = (truncated & ~terminated).tolist()
            for info, is_time_limit in zip(info_list, time_limits):
                info["TimeLimit.truncated"] = is_time_limit
            return observation, reward.astype(np.float32), done, info_list

        def env_method(
            self,
            method_name,
            *args,
            indices=None,
            **kwargs,
        ):
            rows = list(self._get_indices(indices))
            if method_name == "action_masks":
                return list(world.action_masks()[rows])
            require(
                method_name == "compute_reward",
                "copies of a batch only have the methods action_masks and compute_reward; got "
                f"{method_name!r}: use a DummyVecEnv",
            )
            return [template.compute_reward(*args, **kwargs) for _ in rows]

        def get_attr(self, attr_name, indices=None):
            return [getattr(template, attr_name) for _ in self._get_indices(indices)]

        def set_attr(self, attr_name, value, indices=None):
            raise AttributeError(
                "copies of a batch share one world; make a new batch instead"
            )

        def env_is_wrapped(self, wrapper_class, indices=None):
            return [False for _ in self._get_indices(indices)]

        def get_images(self):
            return batch.render()

        def close(self):
            batch.close()

    return NativeVecEnv(
        num_envs,
        batch.single_observation_space,
        batch.single_action_space,
    )


def _info_per_copy(infos, rows):
    """Convert infos in Gymnasium's vector form to one dict for each of the rows.

    >>> _info_per_copy({"time": np.array([1.0, 2.0]), "_time": np.array([True, True])}, np.array([1]))
    [{'time': 2.0}]
    """
    names = [name for name in infos if not name.startswith("_")]
    if not names:
        return [{} for _ in rows]
    columns = []
    for name in names:
        column = infos[name][rows]
        if column.ndim == 1:
            column = column.tolist()
        columns.append(column)
    return [dict(zip(names, row)) for row in zip(*columns)]


# ---------------------------------------------------------------- Minari


def to_minari(
    log: pd.DataFrame,
    env: gym.Env | str,
    dataset_id: str,
    **about: Any,
) -> Any:
    """Write a log as a data set to Minari's folder ($MINARI_DATASETS_PATH) and return the MinariDataset.

    Numbers in `info.…` become infos. As with Minari's DataCollector, they have an entry for the reset. A log doesn't
    have its value, so it is 0. The log itself is stored in the data set's folder, where `from_minari` reads it.

    Args:
        log: A log of `rollout` or `collect`: complete episodes, with the column `last`.
        env: The environment of the log, or its id. Its spec is stored with the data, for `recover_environment()`.
        dataset_id: Name of the data set, such as "pushlab/recenv/softmax-v0".
        about: Other arguments of `minari.create_dataset_from_buffers`: author, description, algorithm_name, …

    Raises:
        ImportError: If Minari isn't installed.
        ValueError: If the columns don't match the environment, or episodes are incomplete.
    """
    minari = import_optional("minari", "to_minari")
    require_columns(log, "last", "terminated", "truncated", table_name="the log")
    if isinstance(env, str):
        env = gym.make(env)
    columns = _matching_columns(log, "obs")
    info_columns = log.filter(regex=r"^(info\.|propensity$)")
    numeric = info_columns.select_dtypes(["number", bool])
    episode = (log["step"] == 0).cumsum()
    buffers = []
    for _, rows in log.groupby(episode.to_numpy()):
        require(
            (rows["step"] == np.arange(len(rows))).all(),
            f"the episode from row {rows.index[0]} is incomplete; its steps must count from 0",
        )
        last = rows["last"].iloc[-1]
        observations = rows[[*columns]]
        observations = pd.concat([observations, pd.DataFrame([last], columns=columns)])
        observations = observations.astype(log[columns].dtypes)
        infos = {}
        for name in numeric:
            values = np.insert(rows[name].to_numpy(), 0, 0)
            infos[name.removeprefix("info.")] = values.tolist()
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                observations=_elements(observations, env.observation_space, "obs"),
                actions=_elements(rows, env.action_space, "action"),
                rewards=rows["reward"].to_numpy(),
                terminations=rows["terminated"].to_numpy(),
                truncations=rows["truncated"].to_numpy(),
                infos=infos,
            )
        )
    dataset = minari.create_dataset_from_buffers(dataset_id, buffers, env=env, **about)
    write_log(log, Path(dataset.storage.data_path) / LOG)
    return dataset


def _matching_columns(log, name):
    return [column for column in log if f"{column}.".startswith(f"{name}.")]


def _elements(log, space, name):
    """Return the columns `name` and `name.…` as a batch of a space's elements."""
    if isinstance(space, spaces.Tuple):
        parts = dict(enumerate(space))
        return tuple(_elements(log, spaces.Dict(parts), name).values())
    if isinstance(space, spaces.Dict):
        elements = {}
        for key, part in space.items():
            elements[key] = _elements(log, part, f"{name}.{key}")
        return elements
    columns = _matching_columns(log, name)
    size = int(np.prod(space.shape or ()))
    require(
        len(columns) == size,
        f"{space!r:.80} needs {size} columns {name}.…; the log has {len(columns)}",
    )
    if isinstance(space, spaces.Text):
        return log[columns[0]].tolist()
    values = log[columns].to_numpy(space.dtype)
    return values.reshape(len(log), *space.shape)


def from_minari(dataset: Any) -> pd.DataFrame:
    """Return the log of a Minari data set, one row per step.

    For a data set of `to_minari`, the log is equal to the original in every cell and type. Other data sets have the
    columns of `rollout`: run is the data set's id, env its environment, agent the name of the algorithm. Episodes are
    numbered in order, and response_time is NaN. This includes data sets with filtered or combined episodes.
    """
    file = Path(dataset.storage.data_path) / LOG
    if file.exists():
        log = read_log(file)
        if len(log) == dataset.total_steps:
            return log
    spec = dataset.spec.env_spec
    world = None
    if spec is not None and spec.id.startswith("pushlab/"):
        world = dataset.recover_environment().unwrapped.world
    tables = []
    for number, episode in enumerate(dataset):
        count = len(episode.rewards)
        infos = episode.infos or {}
        steps = []
        for row in range(count):
            step = (
                index_nested(episode.observations, row),
                index_nested(episode.actions, row),
                episode.rewards[row],
                episode.terminations[row],
                episode.truncations[row],
                # Counted from the end, since infos can begin with the reset's.
                index_nested(infos, row - count),
                np.nan,
                None,
            )
            steps.append(step)
        last = index_nested(episode.observations, count)
        tables.append(episode_table(world, number, steps, last))
    run = dataset.spec.dataset_id
    name = run if spec is None else spec.id.split("/")[-1]
    constant = {
        "run": run,
        "env": name,
        "agent": dataset.storage.metadata.get("algorithm_name", "unknown"),
        "seed": 0,
        "lifetime": 0,
        "phase": "1.train",
        "block": 0,
        "block_type": "train",
        "task": name,
        "params": "{}",
    }
    log = build_log(tables, constant)
    return log.rename(columns={"info.propensity": "propensity"})
