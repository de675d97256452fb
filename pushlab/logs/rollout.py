"""From an environment and an agent to one tidy log, whatever the environment."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Text

from pushlab.agents.protocol import Agent, Transition, as_agent
from pushlab.envs import naming_the_nearest
from pushlab.ground.arguments import demand, has_columns, one_of, whole
from pushlab.ground.seeds import episode_seed

CONSTANT = (
    "run",
    "env",
    "agent",
    "seed",
    "lifetime",
    "phase",
    "block",
    "block_type",
    "task",
    "params",
)
RECORDS = ("steps", "episodes", "frames")


def rollout(
    env: Any,
    agent: Agent | Callable,
    episodes: int = 1,
    seed: int = 0,
    progress: bool = True,
    record: str = "steps",
    learn: bool = True,
    explore: bool = True,
    steps: int | None = None,
    first: int = 0,
    seeding: str = "independent",
    **labels: Any,
) -> Any:
    """Runs an agent through episodes of an environment and returns a tidy log, a pandas DataFrame.

    env       a Gymnasium environment, or the id of one
    agent     an Agent, or a function of the observation
    episodes  how many; episode e is reset with `episode_seed(seed, e)` of `pushlab.ground.seeds`: the first with the
              seed itself, the others so that runs under different seeds share no episode
    record    "steps" (a row a step), "episodes" (a row an episode, with return and length), or "frames":
              the step log and a list for each episode of its frames, for the player
    learn     whether the agent learns after each step; explore is handed on to it
    steps     break an episode off after so many steps; None leaves it to the environment
    first     number of the first episode, to go on where a run under this seed stopped
    seeding   "independent"; "counted" resets episode e with seed + e, as before 0.2
    progress  show a progress bar
    labels    other values for the columns that are constant over a run: run, lifetime, phase, block, block_type, task

    Columns: run, env, agent, seed, lifetime, phase, block, block_type, task, params, then episode, step, time, action,
    reward, terminated, truncated, response_time (seconds the agent took to act), propensity (how likely its action was,
    where it can tell), `obs.<name>` (what the agent saw when it acted), `last` and `info.<name>` (what the environment
    told afterwards). A vector is one column a component. `last` is None but in the last row of an episode, ended or
    broken off: there it is what was seen after that step, a list of plain numbers or words in the order of `obs.…`.

    Interrupted, or stopped by an error of the agent or the environment, it raises that, and what was lived by then is
    its attribute `log`: what would have been returned, with the episode that was broken off (of episode logs without).
    In a notebook: `import sys; log = sys.last_value.log`.

    >>> import gymnasium as gym, pushlab
    >>> log = rollout("pushlab/evalumap1-v0", pushlab.agents.RandomAgent(), seed=7, steps=3, progress=False)
    >>> log[["agent", "episode", "step", "info.opened"]].shape
    (3, 4)
    """
    import gymnasium as gym
    from tqdm.auto import tqdm

    one_of("record", record, RECORDS)
    whole("episodes", episodes, 1)
    whole("steps", 0 if steps is None else steps, 0)
    made = isinstance(env, str)
    with naming_the_nearest(env):
        env = gym.make(env) if made else env
    agent = as_agent(agent)
    constant = _constants(env, agent, seed, labels)
    tables, films, world = [], [], getattr(env.unwrapped, "world", None)

    def told():
        if record == "episodes":
            return by_episode(
                put_together([_reward_table(tables, first)] if tables else [], constant)
            )
        log = put_together(tables, constant)
        return (log, films) if record == "frames" else log

    def told_with_the_last():
        if record != "episodes" and lived:
            tables.append(episode_table(world, episode, lived, last[0]))
            films.append(film)
        return told()

    lived: list = []
    try:
        numbers = range(first, first + episodes)
        for episode in tqdm(
            numbers, desc=agent.name, disable=not progress, unit="episode"
        ):
            lived, film, last = [], [], []
            _run_episode(
                env,
                agent,
                episode_seed(seed, episode, seeding),
                learn,
                explore,
                steps,
                record,
                lived,
                film,
                last,
            )
            tables.append(
                lived
                if record == "episodes"
                else episode_table(world, episode, lived, last[0])
            )
            films.append(film)
            lived = []
    except BaseException as error:
        keep_lived(error, told_with_the_last)
        raise
    finally:
        if made:
            env.close()
    return told()


def keep_lived(error: BaseException, told: Callable[[], Any]) -> None:
    """Hands what was lived on with the error that ended it, as its `log`, and says so; nothing if it cannot be told."""
    with suppress(Exception):
        log = told()
        if len(log[0] if isinstance(log, tuple) else log):
            before = hasattr(error, "log")
            error.log = log  # type: ignore[attr-defined]
            if not before:
                error.add_note(
                    "What was lived by then is the error's .log (in a notebook: sys.last_value.log)."
                )


def _constants(env, agent, seed, labels):
    unknown = sorted(set(labels) - set(CONSTANT))
    if unknown:
        raise ValueError(
            f"{unknown[0]!r} is no column that is constant over a run; those are {', '.join(CONSTANT)}"
        )
    spec = env.spec
    name = spec.id.split("/")[-1] if spec is not None else type(env.unwrapped).__name__
    name = getattr(getattr(env.unwrapped, "world", None), "stands_for", None) or name
    given = {
        key: value
        for key, value in (spec.kwargs if spec is not None else {}).items()
        if key not in ("world", "render_mode")
    }
    params = json.dumps({key: _plain(value) for key, value in sorted(given.items())})
    task = getattr(getattr(env.unwrapped, "world", None), "task", name)
    values = {
        "run": f"{name} {agent.name} {seed}",
        "env": name,
        "agent": agent.name,
        "seed": seed,
        "lifetime": 0,
        "phase": "1.train"
        if labels.get("block_type", "train") == "train"
        else "1.test",
        "block": 0,
        "block_type": "train",
        "task": task,
        "params": params,
    }
    return values | labels


def _plain(value):
    """An argument of an environment as JSON can hold it: objects by their name."""
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return getattr(value, "name", repr(value))


def _run_episode(env, agent, seed, learn, explore, steps, record, lived, film, last):
    """Lives one episode into three lists, which are there if it is broken off: an entry a step, the frames, and the
    last observation.

    Only what the record is made of is kept: entries are as `episode_table` takes them, or rewards; of the frames there
    is one more than of steps, or none.
    """
    observation, info = env.reset(seed=seed)
    last[:] = [observation]
    agent.begin(env, seed)
    frame = getattr(env.unwrapped, "frame", None) if record == "frames" else None
    over = False
    if frame:
        film.append(frame())
    while not over and (steps is None or len(lived) < steps):
        before = time.perf_counter()
        action = agent.act(observation, info, explore)
        took = time.perf_counter() - before
        if action is None and not isinstance(
            env.action_space, Text
        ):  # in words, None is no answer
            raise ValueError(
                f"the policy {agent.name!r} returned nothing: does its function end with `return action`?"
            )
        sent = (
            copy.copy(action) if isinstance(action, np.ndarray) else action
        )  # an agent may fill one array again
        following, reward, terminated, truncated, next_info = env.step(action)
        last[:] = [following]
        lived.append(
            reward
            if record == "episodes"
            else (
                observation,
                sent,
                reward,
                terminated,
                truncated,
                next_info,
                took,
                getattr(agent, "propensity", None),
            )
        )
        if learn:
            agent.learn(
                Transition(
                    observation,
                    info,
                    action,
                    reward,
                    following,
                    next_info,
                    terminated,
                    truncated,
                )
            )
        if frame:
            film.append(frame())
        observation, info, over = following, next_info, terminated or truncated


def _reward_table(rewards, first):
    """A row a step with `episode` and `reward`: all that an episode log needs, in one piece for speed."""
    return pd.DataFrame(
        {
            "episode": np.repeat(
                first + np.arange(len(rewards)), [len(some) for some in rewards]
            ),
            "reward": np.concatenate([np.array(some, float) for some in rewards]),
        }
    )


def episode_table(
    world: Any, episode: int, lived: Sequence[tuple], last: Any
) -> pd.DataFrame:
    """A DataFrame of one episode, a row a step, as `rollout` tells of it.

    world     whose names the columns get; None numbers them
    episode   its number
    lived     of each step observation, action, reward, terminated, truncated, the info that followed, seconds, and
              propensity; that column is left out where nobody can tell
    last      the last observation
    """
    seen, done, rewards, terminated, truncated, infos, seconds, chances = (
        zip(*lived) if lived else [()] * 8
    )
    number = np.arange(len(lived))
    unlogged = getattr(world, "unlogged", ())
    keys = dict.fromkeys(key for info in infos for key in info if key not in unlogged)
    told = {key: [info.get(key) for info in infos] for key in keys}
    columns = {"episode": episode, "step": number, "time": told.pop("time", number)}
    columns |= _columns("action", done, getattr(world, "action_names", None))
    columns |= {
        "reward": np.array(rewards, float),
        "terminated": np.array(terminated, bool),
        "truncated": np.array(truncated, bool),
        "response_time": np.array(seconds, float),
    }
    if any(chance is not None for chance in chances):
        columns["propensity"] = np.array(chances, float)
    observed = _columns(
        "obs",
        [*seen, last],
        getattr(world, "observation_names", None),
        scalar="obs.value",
    )
    columns |= {key: values[:-1] for key, values in observed.items()}
    plain = [
        value.tolist() if hasattr(value, "tolist") else value
        for *_, value in observed.values()
    ]
    columns["last"] = [*[None] * (len(lived) - 1), plain][: len(lived)]
    for key, values in told.items():
        columns |= _columns(f"info.{key}", values)
    return pd.DataFrame(columns)


def _columns(name, values, parts=None, scalar=None):
    """Columns of a list of scalars, vectors, dicts or tuples: one for each number or word."""
    first = next((value for value in values if value is not None), None)
    if isinstance(first, dict):
        parts = parts if isinstance(parts, dict) else {}
        return {
            key: column
            for part in first
            for key, column in _columns(
                f"{name}.{part}",
                [value and value.get(part) for value in values],
                parts.get(part),
            ).items()
        }
    if isinstance(first, tuple):
        return {
            key: column
            for at in range(len(first))
            for key, column in _columns(
                f"{name}.{at}", [value and value[at] for value in values]
            ).items()
        }
    if np.ndim(first) == 0:
        plain = not isinstance(first, np.ndarray)
        return {
            scalar or name: values
            if plain
            else [value if value is None else value.item() for value in values]
        }
    rows = [
        np.full(np.size(first), np.nan) if value is None else np.ravel(value)
        for value in values
    ]
    if len({len(row) for row in rows}) > 1:
        return {name: values}  # of different lengths: kept as they are
    table = np.stack(rows)
    parts = (
        parts
        if parts is not None and len(parts) == table.shape[1]
        else range(table.shape[1])
    )
    return {f"{name}.{part}": column for part, column in zip(parts, table.T)}


def put_together(
    tables: Sequence[pd.DataFrame], constant: Mapping[str, Any]
) -> pd.DataFrame:
    """One log of those of episodes, with columns in front that are the same in all rows, {name: value}."""
    log = (
        pd.concat(tables, ignore_index=True)
        if tables
        else pd.DataFrame({"episode": [], "step": [], "reward": []})
    )
    front = pd.DataFrame({key: [value] * len(log) for key, value in constant.items()})
    return pd.concat([front, log], axis=1)


def by_episode(log: pd.DataFrame) -> pd.DataFrame:
    """The episode log of a step log: a row an episode, with `return` and `length` instead of the step columns.

    >>> import pandas as pd
    >>> by_episode(pd.DataFrame({"agent": "a", "episode": [0, 0, 1], "reward": [1.0, 2.0, 5.0]}))["return"].tolist()
    [3.0, 5.0]
    """
    keys = [column for column in (*CONSTANT, "episode") if column in log]
    groups = log.groupby(keys, sort=False, dropna=False)["reward"]
    return groups.agg(**{"return": "sum", "length": "size"}).reset_index()


def readable(log: pd.DataFrame, env: Any) -> pd.DataFrame:
    """The log with words in place of codes: `obs.<feature>` and `action.<feature>` as the schema spells them.

    The column `last` is left out, as it has the codes of observations in the order of columns that are no more.
    """
    world = env.unwrapped.world
    demand(
        hasattr(world, "schema"),
        f"{world.name} has no schema that would spell its codes",
    )
    log = log.drop(columns="last", errors="ignore")
    seen = "obs.context" if isinstance(world.observation_names, dict) else "obs"
    for prefix, half in (
        (seen, world.schema.context),
        ("action", world.schema.notification),
    ):
        if (
            prefix == "action" and world.action_names is None
        ):  # in push-v0, where actions are plain numbers
            continue
        names = [f"{prefix}.{component}" for component in half.components]
        has_columns(log, *names, what="the log")
        words = half.decode(log[names].to_numpy())
        at = log.columns.get_loc(names[0])
        log = log.drop(columns=names)
        for offset, feature in enumerate(half.names):
            log.insert(at + offset, f"{prefix}.{feature}", words[feature].to_numpy())
    return log
