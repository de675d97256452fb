"""Train and test an agent through a syllabus, and log every episode.

Each test uses a copy of the agent that neither learns nor explores and is then discarded, so tests don't affect the
training. With the same seed, the n-th episode of a task is the same in every test, so that tests can be compared. No
two training episodes share a seed.

With a folder, each finished block is stored as a JSON file: its episodes and the agent's state after it. After an
interruption the same call continues after the last finished block, and returns the log of an uninterrupted call.
"""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent, state_to_json
from pushlab.lifetimes.syllabi import TRAIN, Phase, Syllabus, read_syllabus
from pushlab.logs.files import lifetime_log, write_log
from pushlab.logs.rollout import attach_log, rollout
from pushlab.utils.arguments import error_context, require, validate_integer
from pushlab.utils.cache import (
    fingerprint,
    read_result,
    result_file,
    result_json,
    write_checked,
)
from pushlab.utils.files import locked
from pushlab.utils.seeds import part_seed

TRAINING, TESTING = range(2)  # parts of a lifetime, each with its own seed
LOG_FILE = "log.csv"

# Agents that learned in earlier calls, and so can't begin a stored lifetime.
_used_agents: WeakValueDictionary[int, Agent] = WeakValueDictionary()

SyllabusSource = Syllabus | dict[str, Any] | Path | str


def run_syllabus(
    syllabus: SyllabusSource,
    agent: Agent | Callable,
    seed: int = 0,
    folder: Path | str | None = None,
    progress: bool = True,
    **labels: Any,
) -> pd.DataFrame:
    """Train and test an agent according to a syllabus; return the log, one row per episode.

    Args:
        syllabus: A Syllabus, a file, a dict, or the name of a shipped syllabus.
        agent: An untrained Agent, or a function that returns an action for an observation. The agent learns in this
            call.
        seed: Integer from 0 that determines the environments and the agent's random numbers.
        folder: Folder for the lifetime: finished blocks in `blocks`, and the log of the last finished lifetime as
            `log.csv`. A changed agent, syllabus, seed or label starts over. None stores nothing.
        progress: Whether to show a progress bar.
        labels: Values for the log's columns `run` and `lifetime`.

    Columns: run, env, agent, seed, lifetime, phase, block, block_type, task, params, regime, episode, reward (the
    return of an episode, summed over its steps), length (steps). `log.attrs["syllabus_type"]` is the structure.

    An error or an interruption during an episode has the log of all finished episodes as its attribute `log`.

    Raises:
        BadData: The syllabus has issues.
        ValueError: With a folder, the agent learned in an earlier call, or it learns and has no `state()`.
        TimeoutError: Another process uses the folder.
        TypeError: The agent's state can't be stored as JSON.
    """
    syllabus = read_syllabus(syllabus)
    phases = syllabus.phases
    agent = as_agent(agent)
    seed = validate_integer("seed", seed, 0)
    labels = {"run": f"{syllabus.name} {agent.name} {seed}", "lifetime": 0, **labels}
    attrs = {"measure": "reward", "syllabus_type": syllabus.kind}
    is_used = id(agent) in _used_agents
    _used_agents[id(agent)] = agent
    if folder is None:
        log = _run_phases(phases, agent, seed, labels, progress)
        log.attrs = attrs
        return log
    _validate_storable(agent, is_used)
    path = Path(folder) / LOG_FILE
    key = fingerprint(agent, syllabus.to_dict(), seed, labels)
    block_files = [
        result_file(path.parent / "blocks", f"{number} {phase.name}", key)
        for number, phase in enumerate(phases)
    ]
    with locked(path):
        log = _run_phases(phases, agent, seed, labels, progress, block_files)
        log.attrs = attrs
        write_log(log, path)
    return log


def _validate_storable(agent, is_used):
    """Raise ValueError if the agent learns, but has no state, or has learned before."""
    if getattr(type(agent), "learn", Agent.learn) is Agent.learn:
        return
    has_method = getattr(type(agent), "state", Agent.state) is not Agent.state
    require(
        has_method or getattr(agent, "state_attributes", {}),
        f"{type(agent).__name__} learns and has no state(), so it couldn't continue after an "
        "interruption. Define state() and load(), or run it without a folder",
    )
    require(
        not is_used,
        f"{agent.name!r} has learned in this session. Create a new agent; the lifetime continues "
        "after its last finished block",
    )


def _run_phases(phases, agent, seed, labels, progress, block_files=()):
    """Run the phases, except those with a finished file in `block_files`; return the log of all phases."""
    from tqdm.auto import tqdm

    envs = make_envs(phases)
    total = sum(phase.n_episodes for phase in phases)
    bar = tqdm(total=total, desc=labels["run"], disable=not progress)
    tables = []
    try:
        for number, phase in enumerate(phases):
            block = read_result(block_files[number]) if block_files else None
            if block:
                tables.append(pd.DataFrame(block["rows"]))
                bar.update(phase.n_episodes)
                if block["state"]:
                    agent.load(block["state"])
                continue
            start = len(tables)
            is_training = phase.block_type == TRAIN
            phase_agent = agent if is_training else copy.deepcopy(agent)
            begin_task = getattr(phase_agent, "begin_task", Agent().begin_task)
            for experience in phase.experiences:
                begin_task(experience.task, is_training)
                table = rollout(
                    envs[experience.key],
                    phase_agent,
                    episodes=experience.count,
                    progress=False,
                    seed=part_seed(seed, TRAINING if is_training else TESTING),
                    first_episode=_count_trained(tables) if is_training else 0,
                    learn=is_training,
                    explore=is_training,
                    record="episodes",
                    phase=phase.name,
                    block=number,
                    block_type=phase.block_type,
                    task=experience.task,
                    params=json.dumps(experience.params, sort_keys=True),
                    **labels,
                )
                tables.append(table)
                bar.update(experience.count)
            if block_files:
                rows = pd.concat(tables[start:]).to_dict("list")
                state = state_to_json(getattr(agent, "state", dict)())
                data = result_json({"rows": rows, "state": state})
                write_checked(block_files[number], data)
    except BaseException as error:
        unfinished = [error.log] if hasattr(error, "log") else []
        attach_log(error, lambda: _lifetime_log([*tables, *unfinished], seed))
        raise
    finally:
        bar.close()
        for env in envs.values():
            env.close()
    return _lifetime_log(tables, seed)


def _count_trained(tables):
    """Return the number of training episodes in some tables."""
    return sum(len(table) for table in tables if table["block_type"].iat[0] == TRAIN)


def make_envs(phases: Iterable[Phase]) -> dict[str, Any]:
    """Return the environments of some phases by their Experiences' keys, one for each key."""
    import gymnasium as gym

    envs: dict[str, Any] = {}
    for phase in phases:
        for experience in phase.experiences:
            env = experience.env
            key = experience.key
            if key not in envs:
                with error_context(f"task {experience.task}", key):
                    envs[key] = gym.make(env, **experience.params)
    return envs


def _lifetime_log(tables, seed):
    """Return the lifetime log of consecutive rollouts."""
    log = pd.concat(tables, ignore_index=True)
    log["seed"] = seed
    log["episode"] = range(len(log))
    return lifetime_log(log)


# ---------------------------------------------------------------- experts, and several lifetimes


def run_experts(
    syllabus: SyllabusSource,
    agent: Agent | Callable,
    seed: int = 0,
    progress: bool = True,
) -> dict[str, list[pd.DataFrame]]:
    """Train single-task experts, one copy of the agent per task of a syllabus, and return their logs.

    An expert has as many episodes as its task has training episodes in the syllabus, with the same parameters in turn.

    Args:
        syllabus: See `run_syllabus`.
        agent: An untrained Agent, which isn't changed.
        seed: See `run_syllabus`.
        progress: Whether to show a progress bar.

    Returns:
        {task: [lifetime log]}, the argument `experts` of the metrics. A task without training has no expert.
    """
    syllabus = read_syllabus(syllabus)
    agent = as_agent(agent)
    seed = validate_integer("seed", seed, 0)
    logs = {}
    for task in syllabus.tasks:
        training = syllabus.training(task)
        if not training:
            continue
        phases = [Phase("1.train", training)]
        labels = {"run": f"expert {task} {agent.name} {seed}", "lifetime": 0}
        expert = copy.deepcopy(agent)
        logs[task] = [_run_phases(phases, expert, seed, labels, progress)]
    return logs


def run_syllabi(
    syllabus: SyllabusSource,
    agents: Iterable[Agent | Callable],
    seeds: int | Iterable[int] = 5,
    folder: Path | str | None = None,
    progress: bool = True,
) -> dict[str, list]:
    """Run several agents through one syllabus with several seeds; return {agent's name: [log of each seed]}.

    Args:
        syllabus: See `run_syllabus`.
        agents: Untrained agents with different names; each lifetime uses a copy.
        seeds: Number of seeds, which count from 0, or the seeds themselves.
        folder: Each lifetime is stored in a subfolder `<agent>-<seed>`, see `run_syllabus`. Characters that are invalid
            in a folder's name are encoded as in a URL: "a/b" as `a%2Fb`. None stores nothing.
        progress: Whether to show a progress bar.
    """
    from tqdm.auto import tqdm

    syllabus = read_syllabus(syllabus)
    untrained = {}
    for agent in map(as_agent, agents):
        require(agent.name not in untrained, f"two agents have the name {agent.name!r}")
        untrained[agent.name] = agent
    seeds = range(seeds) if isinstance(seeds, int) else list(seeds)
    logs: dict[str, list] = {name: [] for name in untrained}
    runs = list(itertools.product(untrained.values(), seeds))
    for agent, seed in tqdm(runs, syllabus.name, disable=not progress):
        name = quote(f"{agent.name}-{seed}", safe=" ")
        own_folder = None if folder is None else Path(folder) / name
        own_agent = copy.deepcopy(agent)
        log = run_syllabus(
            syllabus, own_agent, seed, own_folder, False, lifetime=int(seed)
        )
        logs[agent.name].append(log)
    return logs
