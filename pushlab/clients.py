"""Environments and logs in the forms of other libraries: batches for stable-baselines3, data sets of Minari.

Most tools take environments and logs as they are; data/clients/README.md and docs/tools_of_others.md have examples.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
from gymnasium import spaces

from pushlab.envs.shell import Env, at_row
from pushlab.ground.arguments import bring, demand, has_columns
from pushlab.logs.folders import read_log, write_log
from pushlab.logs.rollout import episode_table, put_together

__all__ = ["from_minari", "to_minari", "to_sb3_vec"]

LOG = "log.csv"  # the log itself, in the folder of a data set that `to_minari` wrote

# ---------------------------------------------------------------- stable-baselines3


def to_sb3_vec(
    name: str,
    num_envs: int = 1,
    scale: bool = False,
    **arguments: Any,
) -> Any:
    """Return a native batch as a VecEnv of stable-baselines3, for models, VecNormalize and evaluate_policy.

    All copies are one array and step at once. Copy i under seed s is `gym.make(name)` reset with s + i; when an episode
    ends, the copy continues with its own random numbers, as in a DummyVecEnv. Rewards are float32. There is one info
    per copy, with `terminal_observation` if an episode ended and `TimeLimit.truncated`. A reset option is the same for
    all copies. Copies can't be reset or stepped alone: `env_method` calls `action_masks` and `compute_reward` only.

    Args:
        name: Id of an environment.
        num_envs: Number of copies.
        scale: Whether actions are in [-1, 1] instead of the world's own units, for a Box of actions.
        arguments: Arguments of the world, max_episode_steps and render_mode.

    Raises:
        ImportError: If stable-baselines3 isn't installed.
        ValueError: If observations are tuples. The room needs `encoding="index"`.
    """
    base = bring("stable_baselines3.common.vec_env:VecEnv", "to_sb3_vec")
    batch = gym.make_vec(name, num_envs, autoreset_mode="SameStep", **arguments)
    demand(
        not isinstance(batch.single_observation_space, spaces.Tuple),
        "stable-baselines3 takes no observations that are tuples; those of the room are arrays with encoding='index'",
    )
    world: Any = batch.unwrapped
    one = Env(world.world, batch.render_mode)  # answers for a copy; never stepped
    if scale:
        batch = gym.wrappers.vector.RescaleAction(batch, -1.0, 1.0)

    class NativeVecEnv(base):  # type: ignore[misc, valid-type]
        """A native batch with the methods of a VecEnv."""

        def reset(self):
            options = self._options[0]
            demand(
                self._options.count(options) == self.num_envs,
                "the copies of a batch begin with the same options",
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
            last = infos.pop("final_obs", None)
            final = infos.pop("final_info", {})
            done = terminated | truncated
            over = np.flatnonzero(done)
            each = _info_per_copy(infos, np.arange(self.num_envs))
            finals = _info_per_copy(final, over)
            for row, info in zip(over, finals):
                self.reset_infos[row] = each[row]
                each[row] = info | {"terminal_observation": last[row]}
            is_cut = (truncated & ~terminated).tolist()
            for info, cut in zip(each, is_cut):
                info["TimeLimit.truncated"] = cut
            return observation, reward.astype(np.float32), done, each

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
            demand(
                method_name == "compute_reward",
                f"copies of a batch have action_masks and compute_reward; got {method_name}: take a DummyVecEnv",
            )
            return [one.compute_reward(*args, **kwargs) for _ in rows]

        def get_attr(self, attr_name, indices=None):
            return [getattr(one, attr_name) for _ in self._get_indices(indices)]

        def set_attr(self, attr_name, value, indices=None):
            raise AttributeError("copies of a batch share one world; make another one")

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
    """Return a dict for each of the rows from infos in Gymnasium's vector form.

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
    """Write a log as a data set of Minari in its folder ($MINARI_DATASETS_PATH) and return the MinariDataset.

    Numbers in `info.…` become infos. They have an entry for the reset too, as Minari's DataCollector writes them; a log
    doesn't know it, so it is 0. The log itself is a file in the data set's folder, from which `from_minari` reads it.

    Args:
        log: A log of `rollout` or `collect`: whole episodes, with the column `last`.
        env: The environment of the log, or its id. Its spec goes with the data, for `recover_environment()`.
        dataset_id: Such as "pushlab/recenv/softmax-v0".
        about: Other arguments of `minari.create_dataset_from_buffers`: author, description, algorithm_name, …

    Raises:
        ImportError: If Minari isn't installed.
        ValueError: If the columns aren't those of this environment, or episodes aren't whole.
    """
    minari = bring("minari", "to_minari")
    has_columns(log, "last", "terminated", "truncated", what="the log")
    if isinstance(env, str):
        env = gym.make(env)
    observed = _columns_of(log, "obs")
    others = log.filter(regex=r"^(info\.|propensity$)")
    numeric = others.select_dtypes(["number", bool])
    number = (log["step"] == 0).cumsum()
    buffers = []
    for _, rows in log.groupby(number.to_numpy()):
        demand(
            (rows["step"] == np.arange(len(rows))).all(),
            f"a log has whole episodes whose steps count from 0; from row {rows.index[0]} on they don't",
        )
        last = rows["last"].iloc[-1]
        seen = rows[[*observed]]
        seen = pd.concat([seen, pd.DataFrame([last], columns=observed)])
        seen = seen.astype(log[observed].dtypes)
        infos = {}
        for name in numeric:
            values = np.insert(rows[name].to_numpy(), 0, 0)
            infos[name.removeprefix("info.")] = values.tolist()
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                observations=_elements(seen, env.observation_space, "obs"),
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


def _columns_of(log, name):
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
    columns = _columns_of(log, name)
    size = int(np.prod(space.shape or ()))
    demand(
        len(columns) == size,
        f"{space!r:.80} takes {size} columns {name}.…; the log has {len(columns)}",
    )
    if isinstance(space, spaces.Text):
        return log[columns[0]].tolist()
    values = log[columns].to_numpy(space.dtype)
    return values.reshape(len(log), *space.shape)


def from_minari(dataset: Any) -> pd.DataFrame:
    """Return the log of a data set of Minari: one row per step.

    A data set of `to_minari` gives the log again, equal in every cell and type. Other data sets give the columns of
    `rollout`: run is the data set's id, env its environment, agent the name of the algorithm; episodes are numbered in
    their order, and response_time is NaN. The same holds if episodes were filtered or combined.
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
        for at in range(count):
            step = (
                at_row(episode.observations, at),
                at_row(episode.actions, at),
                episode.rewards[at],
                episode.terminations[at],
                episode.truncations[at],
                # Counted from the end, since infos may begin with that of the reset.
                at_row(infos, at - count),
                np.nan,
                None,
            )
            steps.append(step)
        last = at_row(episode.observations, count)
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
    log = put_together(tables, constant)
    return log.rename(columns={"info.propensity": "propensity"})
