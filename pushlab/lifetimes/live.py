"""Lifetimes: train and test an agent through a syllabus, and log every episode.

Each test uses a copy of the agent that neither learns nor explores and is then discarded, so tests don't affect the
training. Under one seed the n-th episode of a task is the same in every test, so that tests can be compared; no two
training episodes share a seed.

With a folder, each finished block is one JSON file: its episodes and the agent's state after it. After an interruption
the same call continues after the last finished block, and returns the log that an uninterrupted call returns.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote
from weakref import WeakValueDictionary

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent, plain_state
from pushlab.envs import naming_the_nearest
from pushlab.ground.arguments import demand, naming, whole
from pushlab.ground.files import locked, write_text
from pushlab.ground.seeds import part_seed
from pushlab.ground.store import fingerprint, read_result, result_file, result_text
from pushlab.lifetimes.syllabi import TRAIN, Phase, Syllabus, read_syllabus
from pushlab.logs.folders import lifetime_log, write_log
from pushlab.logs.rollout import attach_log, rollout

TRAINING, TESTING = range(2)  # parts of a lifetime, each with its own seed
LOG = "log.csv"

# Agents that have learned in earlier calls, and so can't begin a stored lifetime.
_used: WeakValueDictionary[int, Agent] = WeakValueDictionary()

Source = Syllabus | dict[str, Any] | Path | str


def run_syllabus(
    syllabus: Source,
    agent: Agent | Callable,
    seed: int = 0,
    folder: Path | str | None = None,
    progress: bool = True,
    **labels: Any,
) -> pd.DataFrame:
    """Train and test an agent as a syllabus says; return the log, one row an episode.

    Args:
        syllabus: A Syllabus, a file, a dict, or the name of a shipped syllabus.
        agent: An Agent that has learned nothing yet, or a function that returns an action for an observation. The
            agent learns in this call.
        seed: Whole number from 0; it determines the environments and the agent's random numbers.
        folder: Folder for the lifetime: finished blocks in `blocks`, and the log of the last finished lifetime as
            `log.csv`. A changed agent, syllabus, seed or label starts over. None stores nothing.
        progress: Whether to show a progress bar.
        labels: Values for the log's columns `run` and `lifetime`.

    Columns: run, env, agent, seed, lifetime, phase, block, block_type, task, params, regime, episode, reward (the
    return of an episode, summed over its steps), length (steps). `log.attrs["syllabus_type"]` is the structure.

    An error or an interruption during an episode has the log of all finished episodes as its attribute `log`.

    Raises:
        BadData: The syllabus has faults.
        ValueError: With a folder, the agent has learned in an earlier call, or it learns and has no `state()`.
        TimeoutError: Another process uses the folder.
        TypeError: JSON can't hold the agent's state.
    """
    syllabus = read_syllabus(syllabus)
    phases = syllabus.phases
    agent = as_agent(agent)
    seed = whole("seed", seed, 0)
    labels = {"run": f"{syllabus.name} {agent.name} {seed}", "lifetime": 0, **labels}
    attrs = {"measure": "reward", "syllabus_type": syllabus.kind}
    is_used = id(agent) in _used
    _used[id(agent)] = agent
    if folder is None:
        log = _run_phases(phases, agent, seed, labels, progress)
        log.attrs = attrs
        return log
    learns = getattr(type(agent), "learn", Agent.learn) is not Agent.learn
    own_state = getattr(type(agent), "state", Agent.state) is not Agent.state
    has_state = own_state or getattr(agent, "saved", {})
    demand(
        has_state or not learns,
        f"{type(agent).__name__} learns and has no state(), so it couldn't continue after an "
        "interruption: write state() and load(), or run it without a folder",
    )
    demand(
        not (is_used and learns),
        f"{agent.name!r} has learned in this session; create it again, and a lifetime continues "
        "after its last finished block",
    )
    path = Path(folder) / LOG
    key = fingerprint(agent, syllabus.to_dict(), seed, labels)
    blocks = [
        result_file(path.parent / "blocks", f"{number} {phase.name}", key)
        for number, phase in enumerate(phases)
    ]
    with locked(path):
        log = _run_phases(phases, agent, seed, labels, progress, blocks)
        log.attrs = attrs
        write_log(log, path)
    return log


def _run_phases(phases, agent, seed, labels, progress, blocks=()):
    """Run the phases, except those with a finished file in `blocks`; return the log of all phases."""
    from tqdm.auto import tqdm

    envs = make_envs(phases)
    total = sum(phase.episodes for phase in phases)
    bar = tqdm(total=total, desc=labels["run"], disable=not progress)
    tables = []
    try:
        for number, phase in enumerate(phases):
            block = read_result(blocks[number]) if blocks else None
            if block:
                tables.append(pd.DataFrame(block["rows"]))
                bar.update(phase.episodes)
                if block["state"]:
                    agent.load(block["state"])
                continue
            start = len(tables)
            is_training = phase.kind == TRAIN
            player = agent if is_training else copy.deepcopy(agent)
            for one in phase.experiences:
                first = 0
                if is_training:
                    trained = [x for x in tables if x["block_type"].iat[0] == TRAIN]
                    first = sum(map(len, trained))
                getattr(player, "begin_task", Agent().begin_task)(one.task, is_training)
                table = rollout(
                    envs[one.key],
                    player,
                    episodes=one.count,
                    progress=False,
                    seed=part_seed(seed, TRAINING if is_training else TESTING),
                    first_episode=first,
                    learn=is_training,
                    explore=is_training,
                    record="episodes",
                    phase=phase.name,
                    block=number,
                    block_type=phase.kind,
                    task=one.task,
                    params=json.dumps(one.params, sort_keys=True),
                    **labels,
                )
                tables.append(table)
                bar.update(one.count)
            if blocks:
                rows = pd.concat(tables[start:]).to_dict("list")
                state = plain_state(getattr(agent, "state", dict)())
                text = result_text({"rows": rows, "state": state})
                write_text(blocks[number], text)
    except BaseException as error:
        unfinished = [error.log] if hasattr(error, "log") else []
        attach_log(error, lambda: _lifetime_log([*tables, *unfinished], seed))
        raise
    finally:
        bar.close()
        for env in envs.values():
            env.close()
    return _lifetime_log(tables, seed)


def make_envs(phases: Iterable[Phase]) -> dict[str, Any]:
    """Return the environments of some phases by their Experiences' keys, each made once."""
    import gymnasium as gym

    envs: dict[str, Any] = {}
    for phase in phases:
        for one in phase.experiences:
            if one.key not in envs:
                with naming_the_nearest(one.env), naming(f"task {one.task}", one.key):
                    envs[one.key] = gym.make(one.env, **one.params)
    return envs


def _lifetime_log(tables, seed):
    """Return the lifetime log of consecutive rollouts."""
    log = pd.concat(tables, ignore_index=True)
    log["seed"] = seed
    log["episode"] = range(len(log))
    return lifetime_log(log)


# ---------------------------------------------------------------- experts, and many lifetimes


def run_experts(
    syllabus: Source,
    agent: Agent | Callable,
    seed: int = 0,
    progress: bool = True,
) -> dict[str, list[pd.DataFrame]]:
    """Train single-task experts, one copy of the agent per task of a syllabus, and return their logs.

    An expert lives as long as the task is trained, with the same parameters in turn.

    Args:
        agent: An Agent that has learned nothing yet; it isn't changed.

    Returns {task: [lifetime log]}, the argument `experts` of the metrics. A task without training has no expert.
    """
    syllabus = read_syllabus(syllabus)
    agent = as_agent(agent)
    seed = whole("seed", seed, 0)
    runs = {}
    for task in syllabus.tasks:
        training = syllabus.training(task)
        if not training:
            continue
        phases = [Phase("1.train", training)]
        labels = {"run": f"expert {task} {agent.name} {seed}", "lifetime": 0}
        expert = copy.deepcopy(agent)
        runs[task] = [_run_phases(phases, expert, seed, labels, progress)]
    return runs


def run_syllabi(
    syllabus: Source,
    agents: Iterable[Agent | Callable],
    seeds: int | Iterable[int] = 5,
    folder: Path | str | None = None,
    progress: bool = True,
) -> dict[str, list]:
    """Run several agents through one syllabus under several seeds; return {agent's name: [log under each seed]}.

    Args:
        agents: Agents that have learned nothing yet, with different names; each lifetime gets a copy.
        seeds: Number of seeds, which count from 0, or the seeds themselves.
        folder: Each lifetime is stored in a folder `<agent>-<seed>` below it, see `run_syllabus`. Characters that a
            folder's name can't have are written as in a URL: "a/b" as `a%2Fb`. None stores nothing.
    """
    from tqdm.auto import tqdm

    syllabus = read_syllabus(syllabus)
    fresh = {}
    for agent in map(as_agent, agents):
        demand(agent.name not in fresh, f"two agents are called {agent.name}")
        fresh[agent.name] = agent
    seeds = range(seeds) if isinstance(seeds, int) else list(seeds)
    logs: dict[str, list] = {name: [] for name in fresh}
    work = [(agent, seed) for agent in fresh.values() for seed in seeds]
    for agent, seed in tqdm(work, syllabus.name, disable=not progress):
        name = quote(f"{agent.name}-{seed}", safe=" ")
        place = None if folder is None else Path(folder) / name
        one = copy.deepcopy(agent)
        log = run_syllabus(syllabus, one, seed, place, False, lifetime=int(seed))
        logs[agent.name].append(log)
    return logs
