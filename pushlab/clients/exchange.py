"""Logs as the data sets of other libraries, and back.

A log has a column a number; `observations_of` puts the columns together again as an environment has them. Logs are
those of `rollout` or `collect`, several below each other too: whole episodes, steps counted from 0.
"""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
from gymnasium import spaces

from pushlab.envs.shell import at_row
from pushlab.ground.arguments import bring, demand, has_columns, has_rows
from pushlab.logs.rollout import CONSTANT, episode_table, put_together

OF_EPISODES = (*CONSTANT, "episode")
OF_STEPS = {
    "rewards": "reward",
    "terminations": "terminated",
    "truncations": "truncated",
}  # Minari's names: ours
KEPT = "pushlab"  # entry of a data set's metadata: what Minari has no place for


def observations_of(log: pd.DataFrame, env: gym.Env | str) -> Any:
    """What was seen in each row, in the form and the types of an environment's observations.

    env      the environment of the log, or its id
    returns  array (rows, …), or dicts and tuples of them as in the space; of words a list

    Raises ValueError where the columns are not those of such a space.

    >>> import gymnasium as gym, pushlab
    >>> log = pushlab.rollout("pushlab/evalumap2-v0", pushlab.RandomAgent(), steps=3, progress=False)
    >>> {key: codes.shape for key, codes in observations_of(log, "pushlab/evalumap2-v0").items()}
    {'context': (3, 20), 'last': (3, 28)}
    """
    return _in_form(
        log, (gym.make(env) if isinstance(env, str) else env).observation_space, "obs"
    )


def _in_form(log, space, name):
    """The columns `name` and `name.…` as a batch of a space's elements."""
    if isinstance(space, spaces.Dict):
        return {
            key: _in_form(log, part, f"{name}.{key}") for key, part in space.items()
        }
    if isinstance(space, spaces.Tuple):
        return tuple(
            _in_form(log, part, f"{name}.{at}") for at, part in enumerate(space)
        )
    columns, size = _named(log, name), int(np.prod(space.shape or ()))
    demand(
        len(columns) == size,
        f"{space!r:.80} takes {size} columns {name}.…; the log has {len(columns)}",
    )
    words = isinstance(space, spaces.Text)
    return (
        log[columns[0]].tolist()
        if words
        else log[columns].to_numpy(space.dtype).reshape(len(log), *space.shape)
    )


def _named(columns, name):
    return [
        column for column in columns if column == name or column.startswith(f"{name}.")
    ]


def _episodes(log):
    """The rows of each episode, a list of DataFrames; ValueError for rows that are no whole episodes in order."""
    has_rows(log, "step", "reward", what="the log")
    episodes = [rows for _, rows in log.groupby((log["step"] == 0).cumsum().to_numpy())]
    for rows in episodes:
        demand(
            (rows["step"] == np.arange(len(rows))).all(),
            "a log has whole episodes, one after the other, whose "
            f"steps count from 0; from row {rows.index[0]} on they are {rows['step'].tolist()!s:.60}",
        )
    return episodes


# ---------------------------------------------------------------- Minari


def to_minari(
    log: pd.DataFrame, env: gym.Env | str, dataset_id: str, **about: Any
) -> Any:
    """A log as a data set of Minari, on disk in the folder where Minari keeps them ($MINARI_DATASETS_PATH).

    log         with the column `last`
    env         the environment of the log, or its id; its spec goes with the data, for `recover_environment()`
    dataset_id  for instance "pushlab/recenv/softmax-v0"
    about       what else `minari.create_dataset_from_buffers` takes: author, description, algorithm_name, …
    returns     a MinariDataset; `from_minari` gives the same log, equal in each cell and type

    Infos have an entry for the reset too, as Minari's DataCollector writes them. A log does not know it: there it is 0,
    False or NaN, also in masks of actions. Besides `info.…` they hold time, response_time, propensity and whatever
    other columns there are. A vector is one array. What is constant over an episode is in the metadata.

    Raises ImportError without Minari; ValueError for a log that is not whole or not of this environment, for infos that
    are no numbers, and for a name without a version.
    """
    minari = bring("minari", "to_minari")
    demand(
        re.search(r"-v\d+$", dataset_id),
        f"dataset_id ends in a version, as in 'rec/random-v0'; got {dataset_id!r}",
    )
    has_columns(log, "last", "terminated", "truncated", what="the log")
    log, made, buffers = (
        log.reset_index(drop=True),
        gym.make(env) if isinstance(env, str) else env,
        [],
    )
    infos, observed, episodes = _infos(log), _named(log, "obs"), _episodes(log)
    taken, space = _in_form(log, made.action_space, "action"), made.action_space
    rows = range(
        0 if isinstance(space, spaces.Box) else len(log)
    )  # a Box takes float32 bounds, a bit further out
    wrong = [
        f"row {at}: {at_row(taken, at)}"
        for at in rows
        if at_row(taken, at) not in space
    ]
    demand(not wrong, f"column action, {'; '.join(wrong):.60}: not in {space!r:.60}")
    others = {*log.get("env", ())} - {made.spec and made.spec.id.split("/")[-1]}
    demand(
        made.spec is None or not others,
        f"the log is of {others}, as its column env says, and not of {made}",
    )
    for rows in episodes:
        last = rows["last"].iloc[-1]
        demand(
            last is not None,
            f"column last, row {rows.index[-1]}: an episode has no last observation",
        )
        seen = pd.concat(
            [rows[observed], pd.DataFrame([last], columns=observed)]
        ).astype(log[observed].dtypes)
        buffers.append(
            minari.data_collector.EpisodeBuffer(
                observations=observations_of(seen, made),
                actions=at_row(taken, slice(rows.index[0], rows.index[-1] + 1)),
                **{theirs: rows[name].to_numpy() for theirs, name in OF_STEPS.items()},
                infos={
                    key: _after_reset(rows[names].to_numpy())
                    for key, names in infos.items()
                },
            )
        )
    dataset = minari.create_dataset_from_buffers(dataset_id, buffers, env=made, **about)
    own = {
        name: [rows[name].tolist()[0] for rows in episodes]
        for name in OF_EPISODES
        if name in log
    }
    dataset.storage.update_metadata(
        {KEPT: {"columns": log.dtypes.astype(str).to_dict(), "episodes": own}}
    )
    return dataset


def _after_reset(values):
    """Infos with an entry for the reset in front; numbers as a list, since Minari's Arrow cannot read 1-d arrays."""
    values = np.insert(values, 0, np.nan if values.dtype.kind == "f" else 0, axis=0)
    return values if values.ndim > 1 else values.tolist()


def _infos(log):
    """{key of infos: a column, or a list of them for a vector} of what Minari has no other place for."""
    taken = {
        *_named(log, "obs"),
        *_named(log, "action"),
        *OF_EPISODES,
        "step",
        "last",
        *OF_STEPS.values(),
    }
    infos = {}
    for name in [column for column in log if column not in taken]:
        demand(
            log[name].dtype.kind in "iufb",
            f"column {name}: Minari holds numbers; drop it, or number its values",
        )
        key = name.removeprefix("info.")
        stem, _, part = key.rpartition(".")
        infos |= (
            {stem: [*infos.get(stem, ()), name]} if part.isdecimal() else {key: name}
        )
    return infos


def from_minari(dataset: Any) -> pd.DataFrame:
    """The log of a data set of Minari: as it was if `to_minari` wrote it, with the columns of `rollout` if others did.

    dataset   a MinariDataset, as `minari.load_dataset` gives it
    returns   a DataFrame with a row a step. Of others' data run is the data set's id, env the environment's, agent the
              name of the algorithm; episodes are numbered as they come, response_time is NaN. What
              `minari.combine_datasets` made is such data too: it keeps no word of whose rows they were
    """
    about, spec, tables, world = (
        dataset.storage.metadata,
        dataset.spec.env_spec,
        [],
        None,
    )
    kept = about.get(KEPT)
    if kept is not None:
        world = SimpleNamespace(
            observation_names=_names(dataset.observation_space, kept["columns"], "obs"),
            action_names=_names(dataset.action_space, kept["columns"], "action"),
        )
    elif spec is not None and spec.id.startswith("pushlab/"):
        world = dataset.recover_environment().unwrapped.world
    for number, one in enumerate(dataset):
        count, infos = (
            len(one.rewards),
            one.infos or {},
        )  # infos from their end: a reset's comes before
        lived = [
            (
                at_row(one.observations, at),
                at_row(one.actions, at),
                *ends,
                at_row(infos, at - count),
                np.nan,
                None,
            )
            for at, ends in enumerate(
                zip(one.rewards, one.terminations, one.truncations)
            )
        ]
        tables.append(
            episode_table(world, number, lived, at_row(one.observations, count))
        )
    if kept is None:
        run, agent = dataset.spec.dataset_id, about.get("algorithm_name", "unknown")
        name = run if spec is None else spec.id.split("/")[-1]
        whose = dict(
            zip(CONSTANT, (run, name, agent, 0, 0, "1.train", 0, "train", name, "{}"))
        )
        return put_together(tables, whose).rename(
            columns={"info.propensity": "propensity"}
        )
    log = put_together(tables, {})
    order = [
        _named(log, "obs").index(name) for name in _named(kept["columns"], "obs")
    ]  # that of Minari differs
    log["last"] = [value and [value[at] for at in order] for value in log["last"]]
    own = {
        name: np.repeat(
            np.array(values, object)[dataset.episode_indices], [*map(len, tables)]
        )
        for name, values in kept["episodes"].items()
    }
    told = {
        name: log[f"info.{name}"] for name in kept["columns"] if f"info.{name}" in log
    }
    return log.assign(**own, **told)[[*kept["columns"]]].astype(kept["columns"])


def _names(space, columns, name):
    """What the columns call the parts of a space, in the form of a world's `observation_names`."""
    if isinstance(space, spaces.Dict):
        return {
            key: _names(part, columns, f"{name}.{key}") for key, part in space.items()
        }
    return [column.removeprefix(f"{name}.") for column in _named(columns, name)]


# ---------------------------------------------------------------- d3rlpy, obp, scope-rl


def to_d3rlpy(log: pd.DataFrame, actions: int | None = None) -> Any:
    """A log as the MDPDataset of d3rlpy, from which its algorithms learn.

    actions  how many there are, where they are numbers; by default the largest in the log and one

    Observations are the columns `obs.…` in their order, float32. Actions are one whole number (for DiscreteCQL and its
    kin) or columns of floats (for CQL, whose policies act between -1 and 1: give it a MinMaxActionScaler). Rows in
    which an episode ended otherwise than by termination, or was broken off, are timeouts. d3rlpy has no place for what
    was seen after them without an action that was taken there, so it learns no transition from these rows.

    Raises ImportError without d3rlpy, ValueError for whole numbers in several columns, for a log that is not whole, and
    where d3rlpy would have no transition at all.
    """
    d3rlpy = bring("d3rlpy", "to_d3rlpy")
    ended, (taken, actions) = np.zeros(len(log), bool), _actions(log, actions)
    ended[np.cumsum([*map(len, _episodes(log))]) - 1] = True
    over = log["terminated"].to_numpy(bool)
    demand(
        (over | ~ended).any(),
        f"d3rlpy learns nothing from {len(log)} episodes of one step and a timeout; "
        "log.assign(terminated=True) takes their ends for real ones, as those of a bandit are",
    )
    return d3rlpy.dataset.MDPDataset(
        log[_named(log, "obs")].to_numpy(np.float32),
        taken,
        log["reward"].to_numpy(np.float32),
        over,
        ended & ~over,
        action_space=d3rlpy.ActionSpace.DISCRETE
        if actions
        else d3rlpy.ActionSpace.CONTINUOUS,
        action_size=actions or taken.shape[1],
    )


def _actions(log, count):
    """Actions as int64 (rows,) and how many there are, or as float32 (rows, components) and None."""
    taken = log[_named(log, "action")].to_numpy()
    if taken.dtype.kind == "f":
        return taken.astype(np.float32), None
    demand(
        taken.shape[1] == 1 and taken.dtype.kind in "iu",
        f"actions are one whole number or floats, and here "
        f"{taken.shape[1]} columns {taken.dtype}; number those that occur: parts = [*log.filter(regex='^action')]; "
        "log.drop(columns=parts).assign(action=log.groupby(parts).ngroup())",
    )
    demand(
        taken.min() >= 0 and taken.max() < (count or np.inf),
        f"column action: {taken.min()} to {taken.max()} are "
        f"not all of {count or 'the'} actions from 0 on",
    )
    return taken[:, 0].astype(np.int64), count or int(taken.max()) + 1


def to_bandit_feedback(
    log: pd.DataFrame, actions: int | None = None, every_step: bool = False
) -> dict[str, Any]:
    """A log of one-step episodes as the dict that obp takes (Open Bandit Pipeline 0.5, BanditFeedback).

    log         with the column propensity; actions are whole numbers
    actions     as in `to_d3rlpy`
    every_step  each step of longer episodes as a round of its own

    >>> log = pd.DataFrame({"step": 0, "action": [1, 0], "reward": [1.0, 0.0], "propensity": 0.5, "obs.x": [3.0, 4.0]})
    >>> feedback = to_bandit_feedback(log)
    >>> feedback["n_actions"], feedback["context"].tolist(), feedback["pscore"].tolist()
    (2, [[3.0], [4.0]], [0.5, 0.5])
    """
    has_columns(log, "propensity", what="the log")
    (taken, count), alone = _actions(log, actions), len(_episodes(log)) == len(log)
    demand(
        count is not None,
        "obp and scope-rl get actions that are numbers from 0, and here they are floats",
    )
    demand(
        every_step or alone,
        "a bandit's episodes have one step; every_step=True makes a round of each step",
    )
    numbers = {
        "reward": log["reward"].to_numpy(float),
        "pscore": log["propensity"].to_numpy(float),
    }
    demand(
        (numbers["pscore"] > 0).all(),
        "column propensity: each is a probability above 0; here the lowest is "
        f"{log['propensity'].min()}, and {log['propensity'].isna().sum()} are NaN",
    )
    return {
        "n_rounds": len(log),
        "n_actions": count,
        "context": log[_named(log, "obs")].to_numpy(float),
        "action": taken,
        "position": None,
        "expected_reward": None,
        **numbers,
    }


def to_scope_rl(log: pd.DataFrame, actions: int | None = None) -> dict[str, Any]:
    """A log of episodes of one length as the dict that scope-rl takes (0.2, LoggedDataset).

    log      with the column propensity; actions are whole numbers (of floats scope-rl wants a density for each part)
    actions  as in `to_d3rlpy`

    Give its OffPolicyEvaluation `disable_reward_after_done=False`: by default it leaves out the reward of each
    episode's last step. Raises ValueError for episodes of different lengths, of which scope-rl has no form.

    >>> log = pd.DataFrame({"step": [0, 1] * 2, "action": 1, "reward": 0.5, "propensity": 0.5, "obs.x": 3.0})
    >>> told = to_scope_rl(log)
    >>> told["n_trajectories"], told["step_per_trajectory"], told["done"].tolist()
    (2, 2, [0.0, 1.0, 0.0, 1.0])
    """
    told, lengths = (
        to_bandit_feedback(log, actions, every_step=True),
        sorted({*map(len, _episodes(log))}),
    )
    demand(
        len(lengths) == 1,
        f"scope-rl takes episodes of one length; here are {lengths[0]} to {lengths[-1]} steps",
    )
    done = (np.arange(len(log)) % lengths[0] == lengths[0] - 1).astype(float)
    return {
        "size": len(log),
        "n_trajectories": len(log) // lengths[0],
        "step_per_trajectory": lengths[0],
        "action_type": "discrete",
        "n_actions": told["n_actions"],
        "action_dim": None,
        "action_keys": None,
        "action_meaning": {number: number for number in range(told["n_actions"])},
        "state_dim": told["context"].shape[1],
        "state_keys": _named(log, "obs"),
        "state": told["context"],
        **{key: told[key] for key in ("action", "reward", "pscore")},
        "done": done,
        "terminal": done,
        "info": {
            name.removeprefix("info."): log[name].to_numpy()
            for name in _named(log, "info")
        },
        "behavior_policy": str(log["agent"].iloc[0] if "agent" in log else "logged"),
        "dataset_id": 0,
    }
