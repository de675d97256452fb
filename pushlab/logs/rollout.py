"""Run an agent in any environment and return a tidy log."""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypedDict, Unpack, overload

import numpy as np
import pandas as pd
from gymnasium.spaces import Text

from pushlab.agents.protocol import Agent, Transition, as_agent
from pushlab.utils.arguments import (
    require,
    require_columns,
    validate_choice,
    validate_integer,
)
from pushlab.utils.seeds import episode_seed

RUN_COLUMNS = (
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

AgentLike = Agent | Callable[..., Any]


class Options(TypedDict, total=False):
    """Further keywords of `rollout`, for type checkers. The last seven are labels."""

    progress: bool
    learn: bool
    explore: bool
    steps: int | None
    first_episode: int
    run: str
    lifetime: int
    phase: str
    block: int
    block_type: str
    task: str
    params: str


@overload
def rollout(
    env: Any,
    agent: AgentLike,
    episodes: int = 1,
    seed: int = 0,
    *,
    record: Literal["steps", "episodes"] = "steps",
    **options: Unpack[Options],
) -> pd.DataFrame: ...


@overload
def rollout(
    env: Any,
    agent: AgentLike,
    episodes: int = 1,
    seed: int = 0,
    *,
    record: Literal["frames"],
    **options: Unpack[Options],
) -> tuple[pd.DataFrame, list[list[Any]]]: ...


def rollout(
    env: Any,
    agent: AgentLike,
    episodes: int = 1,
    seed: int = 0,
    progress: bool = True,
    record: str = "steps",
    learn: bool = True,
    explore: bool = True,
    steps: int | None = None,
    first_episode: int = 0,
    **labels: Any,
) -> Any:
    """Run an agent through episodes of an environment and return a tidy log, a pandas DataFrame.

    Args:
        env: A Gymnasium environment, or the id of one.
        agent: An Agent, or a function that returns an action for an observation.
        episodes: Number of episodes.
        seed: Seed of the run. Episode e is reset with `pushlab.utils.seeds.episode_seed(seed, e)`: the first with
            the seed itself, the others with seeds that differ between runs.
        progress: Whether to show a progress bar.
        record: "steps" (one row per step), "episodes" (one row per episode, with return and length), or "frames": the
            step log, and for each episode a list of its frames, for the player.
        learn: Whether the agent learns after each step.
        explore: Passed to the agent's `act`.
        steps: Maximum number of steps in an episode. With None, only the environment limits it.
        first_episode: Number of the first episode, to continue a run with this seed.
        labels: Values for columns that are constant over a run: run, lifetime, phase, block, block_type, task, params.

    Columns: run, env, agent, seed, lifetime, phase, block, block_type, task, params, then episode, step, time, action,
    reward, terminated, truncated, response_time (seconds the agent took to act), propensity (the probability of its
    action, if the agent has this attribute), `obs.<name>` (the observation before the action), `last` and `info.<name>`
    (the info returned by the step). A vector has one column per component. `last` is None except in the last row of an
    episode: there it is the final observation, a list of numbers or words in the order of `obs.…`.

    If the run is interrupted, or the agent or the environment raises an error, that error has the log so far as its
    attribute `log`. A step log includes the unfinished episode. In a notebook: `import sys; log = sys.last_value.log`.

    >>> import gymnasium as gym, pushlab
    >>> log = rollout("pushlab/evalumap1-v0", pushlab.agents.RandomAgent(), seed=7, steps=3, progress=False)
    >>> log[["agent", "episode", "step", "info.opened"]].shape
    (3, 4)
    """
    import gymnasium as gym
    from tqdm.auto import tqdm

    validate_choice("record", record, ("steps", "episodes", "frames"))
    validate_integer("episodes", episodes, 1)
    validate_integer("steps", 0 if steps is None else steps, 0)
    needs_close = isinstance(env, str)
    env = gym.make(env) if needs_close else env
    agent = as_agent(agent)
    run_values = _run_values(env, agent, seed, labels)
    world = getattr(env.unwrapped, "world", None)
    finished: list = []  # step tables, or lists of rewards for an episode log
    frames = []

    def finish(episode):
        frames.append(episode.frames)
        if record == "episodes":
            finished.append(episode.steps)
        else:
            number = first_episode + len(finished)
            finished.append(episode_table(world, number, episode.steps, episode.last))

    def log_so_far():
        if record == "episodes":
            tables = [_reward_table(finished, first_episode)] if finished else []
            return aggregate_episodes(build_log(tables, run_values))
        log = build_log(finished, run_values)
        return (log, frames) if record == "frames" else log

    def log_with_unfinished():
        if record != "episodes" and episode.steps:
            finish(episode)
        return log_so_far()

    episode = Episode()
    try:
        numbers = range(first_episode, first_episode + episodes)
        bar = tqdm(numbers, desc=agent.name, disable=not progress, unit="episode")
        for number in bar:
            episode = Episode()
            own_seed = episode_seed(seed, number)
            run_episode(env, agent, own_seed, learn, explore, steps, record, episode)
            finish(episode)
            episode = Episode()
    except BaseException as error:
        attach_log(error, log_with_unfinished)
        raise
    finally:
        if needs_close:
            env.close()
    return log_so_far()


class Step(NamedTuple):
    """One step of an episode. `seconds` is the time that the agent took to act."""

    observation: Any
    action: Any
    reward: float
    terminated: bool
    truncated: bool
    info: dict
    seconds: float
    propensity: float | None


@dataclass(slots=True)
class Episode:
    """An episode while it runs.

    Attributes:
        steps: A Step for each step, or only its reward for an episode log.
        frames: One frame more than steps, or none.
        last: The last observation.
    """

    steps: list = field(default_factory=list)
    frames: list = field(default_factory=list)
    last: Any = None


def attach_log(error: BaseException, log: Callable[[], Any]) -> None:
    """Set `error.log` to the log so far and add a note; do nothing if `log` fails or returns no rows."""
    with suppress(Exception):
        result = log()
        rows = result[0] if isinstance(result, tuple) else result
        if len(rows):
            if not hasattr(error, "log"):
                error.add_note(
                    "The log so far is the attribute `log` of this error (in a notebook: sys.last_value.log)."
                )
            error.log = result  # type: ignore[attr-defined]


def _run_values(env, agent, seed, labels):
    """Return {column: value} of the columns that are constant over a run."""
    for name in labels:
        validate_choice("a keyword", name, Options.__annotations__)
    world = getattr(env.unwrapped, "world", None)
    name = type(env.unwrapped).__name__
    arguments = {}
    if env.spec is not None:
        name = env.spec.id.split("/")[-1]
        arguments = env.spec.kwargs
    name = getattr(world, "stands_for", None) or name
    params = {
        key: _json_value(value)
        for key, value in sorted(arguments.items())
        if key not in ("world", "render_mode")
    }
    is_training = labels.get("block_type", "train") == "train"
    values = {
        "run": f"{name} {agent.name} {seed}",
        "env": name,
        "agent": agent.name,
        "seed": seed,
        "lifetime": 0,
        "phase": "1.train" if is_training else "1.test",
        "block": 0,
        "block_type": "train",
        "task": getattr(world, "task", name),
        "params": json.dumps(params),
    }
    return values | labels


def _json_value(value):
    """Return an argument of an environment as a value for JSON; an object becomes its name."""
    if isinstance(value, (list, tuple)):
        return [_json_value(part) for part in value]
    if isinstance(value, (str, int, float, type(None))):
        return value
    return getattr(value, "name", repr(value))


def run_episode(
    env, agent, seed, learn, explore, max_steps, record, episode, options=None
):
    """Run one episode and store each step in `episode`, so that an interruption loses no steps."""
    observation, info = env.reset(seed=seed, options=options)
    episode.last = observation
    agent.begin(env, seed)
    frame = getattr(env.unwrapped, "frame", None) if record == "frames" else None
    if frame:
        episode.frames.append(frame())
    is_over = False
    while not is_over and (max_steps is None or len(episode.steps) < max_steps):
        start = time.perf_counter()
        action = agent.act(observation, info, explore)
        seconds = time.perf_counter() - start
        if action is None and not isinstance(env.action_space, Text):
            raise ValueError(
                f"the policy {agent.name!r} returned nothing: does its function end with `return action`?"
            )
        # An agent can reuse the same array.
        logged = copy.copy(action) if isinstance(action, np.ndarray) else action
        next_observation, reward, terminated, truncated, next_info = env.step(action)
        episode.last = next_observation
        if record == "episodes":
            episode.steps.append(reward)
        else:
            step = Step(
                observation,
                logged,
                reward,
                terminated,
                truncated,
                next_info,
                seconds,
                getattr(agent, "propensity", None),
            )
            episode.steps.append(step)
        if learn:
            transition = Transition(
                observation,
                info,
                action,
                reward,
                next_observation,
                next_info,
                terminated,
                truncated,
            )
            agent.learn(transition)
        if frame:
            episode.frames.append(frame())
        observation = next_observation
        info = next_info
        is_over = terminated or truncated


def _reward_table(rewards, first_episode):
    """Return one row per step with `episode` and `reward`, which is enough for an episode log."""
    lengths = [len(values) for values in rewards]
    numbers = first_episode + np.arange(len(rewards))
    return pd.DataFrame(
        {
            "episode": np.repeat(numbers, lengths),
            "reward": np.concatenate([np.array(values, float) for values in rewards]),
        }
    )


def episode_table(
    world: Any, episode: int, steps: Sequence[tuple], last: Any
) -> pd.DataFrame:
    """Return the table of one episode, one row per step, with the columns of a `rollout` log that vary.

    Args:
        world: A world that names the columns; None numbers them.
        episode: The episode's number.
        steps: Steps, or tuples with the values of a Step. The column of propensities is left out if all are None.
        last: The last observation.
    """
    fields = zip(*steps) if steps else [()] * len(Step._fields)
    (
        observations,
        actions,
        rewards,
        terminated,
        truncated,
        infos,
        seconds,
        propensities,
    ) = fields
    number = np.arange(len(steps))
    info_values = _info_values(infos, getattr(world, "unlogged_info", ()))
    columns = {
        "episode": episode,
        "step": number,
        "time": info_values.pop("time", number),
    }
    columns |= _columns("action", actions, getattr(world, "action_names", None))
    columns |= {
        "reward": np.array(rewards, float),
        "terminated": np.array(terminated, bool),
        "truncated": np.array(truncated, bool),
        "response_time": np.array(seconds, float),
    }
    if any(propensity is not None for propensity in propensities):
        columns["propensity"] = np.array(propensities, float)
    names = getattr(world, "observation_names", None)
    observed = _columns("obs", [*observations, last], names, scalar="obs.value")
    columns |= {key: values[:-1] for key, values in observed.items()}
    columns["last"] = [None] * len(steps)
    if steps:
        final = [values[-1] for values in observed.values()]
        columns["last"][-1] = [x.tolist() if hasattr(x, "tolist") else x for x in final]
    for key, values in info_values.items():
        columns |= _columns(f"info.{key}", values)
    return pd.DataFrame(columns)


def _info_values(infos, unlogged_info):
    """Return {key: values} of a list of infos, without the keys in `unlogged_info`. Missing values are None."""
    keys: dict = {}
    for info in infos:
        keys |= dict.fromkeys(info)
    return {
        key: [info.get(key) for info in infos]
        for key in keys
        if key not in unlogged_info
    }


def _columns(name, values, parts=None, scalar=None):
    """Return the columns of a list of scalars, vectors, dicts or tuples, one for each number or word.

    Args:
        name: Name of the column, or its prefix.
        values: The list, in which None is a missing value.
        parts: Names of the components; by default numbers, or the keys of a dict.
        scalar: Name of the column of a scalar, if it differs from `name`.
    """
    first = next((value for value in values if value is not None), None)
    if isinstance(first, tuple):
        values = [value and dict(enumerate(value)) for value in values]
        first = dict(enumerate(first))
    if isinstance(first, dict):
        names = parts if isinstance(parts, dict) else {}
        columns = {}
        for part in first:
            own = [value and value.get(part) for value in values]
            columns |= _columns(f"{name}.{part}", own, names.get(part))
        return columns
    if np.ndim(first) == 0:
        if isinstance(first, np.ndarray):
            values = [value if value is None else value.item() for value in values]
        return {scalar or name: values}
    missing = np.full(np.size(first), np.nan)
    rows = [missing if value is None else np.ravel(value) for value in values]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        return {name: values}
    table = np.stack(rows)
    if parts is None or len(parts) != table.shape[1]:
        parts = range(table.shape[1])
    return {f"{name}.{part}": column for part, column in zip(parts, table.T)}


def build_log(
    tables: Sequence[pd.DataFrame], constant: Mapping[str, Any]
) -> pd.DataFrame:
    """Concatenate the tables of episodes, with a column in front for each of the constant values {name: value}."""
    log = pd.DataFrame({"episode": [], "step": [], "reward": []})
    if tables:
        log = pd.concat(tables, ignore_index=True)
    front = pd.DataFrame({key: [value] * len(log) for key, value in constant.items()})
    return pd.concat([front, log], axis=1)


def aggregate_episodes(log: pd.DataFrame) -> pd.DataFrame:
    """Return the episode log of a step log: one row per episode, with `return` and `length` instead of step columns.

    >>> import pandas as pd
    >>> steps = pd.DataFrame({"agent": "a", "episode": [0, 0, 1], "reward": [1.0, 2.0, 5.0]})
    >>> aggregate_episodes(steps)["return"].tolist()
    [3.0, 5.0]
    """
    keys = [column for column in (*RUN_COLUMNS, "episode") if column in log]
    groups = log.groupby(keys, sort=False, dropna=False)["reward"]
    return groups.agg(**{"return": "sum", "length": "size"}).reset_index()


def decode_log(log: pd.DataFrame, env: Any) -> pd.DataFrame:
    """Return the log with the schema's words instead of codes, in columns `obs.<feature>` and `action.<feature>`.

    The column `last` is left out, since its codes are in the order of the replaced columns.
    """
    world = getattr(env.unwrapped, "world", None)
    require(
        hasattr(world, "schema"),
        f"{getattr(world, 'name', env)} has no schema, so its log has no codes to decode",
    )
    has_context = isinstance(world.observation_names, dict)
    halves = {"obs.context" if has_context else "obs": world.schema.context}
    if world.action_names is not None:  # in push-v0 actions are integers
        halves["action"] = world.schema.notification
    log = log.drop(columns="last", errors="ignore")
    for prefix, half in halves.items():
        names = [f"{prefix}.{component}" for component in half.components]
        require_columns(log, *names, table_name="the log")
        words = half.decode(log[names].to_numpy())
        position = log.columns.get_loc(names[0])
        log = log.drop(columns=names)
        for offset, feature in enumerate(half.names):
            values = words[feature].to_numpy()
            log.insert(position + offset, f"{prefix}.{feature}", values)
    return log
