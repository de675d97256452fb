"""Lifetimes: an agent is trained and tested through a syllabus and leaves a log.

A test is taken by a copy of the agent, which neither learns nor explores and is thrown away, so training goes on as if
there had been no test. Under one seed the n-th episode of a test of a task is the same in every test, so that tests
compare; no two episodes of training share a seed.

With a folder, each finished block is one JSON file: its episodes and the agent's state after it. After an interruption
the same call continues after the last finished block, and returns the log that an uninterrupted call returns.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent, plain_state
from pushlab.envs import naming_the_nearest
from pushlab.ground.arguments import demand, whole
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import locked
from pushlab.ground.fingerprint import fingerprint
from pushlab.ground.seeds import part_seed
from pushlab.ground.store import Store
from pushlab.lifetimes.syllabi import TRAIN, Phase, Syllabus, read_syllabus
from pushlab.logs.folders import lifetime_log, write_log
from pushlab.logs.rollout import keep_lived, rollout

TRAINING, TESTING = range(2)  # parts of a lifetime, each with its own seed
LOG = "log.csv"

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
        agent: An Agent that has learned nothing yet, or a function of the observation. The agent learns.
        seed: Whole number from 0; it determines environments and the agent's random numbers.
        folder: Where the lifetime is stored: finished blocks in `blocks`, and the finished log as `log.csv`.
            A changed agent, syllabus, seed or label begins anew. None stores nothing.
        progress: Whether to show a progress bar.
        labels: Other values for the log's columns `run` and `lifetime`.

    Columns: run, env, agent, seed, lifetime, phase, block, block_type, task, params, regime, episode, reward (the
    return of an episode, summed over its steps), length (steps). `log.attrs["syllabus_type"]` is the structure.

    Raises BadData for a syllabus with faults, ValueError for a folder and an agent that learns and has no `state()`,
    TimeoutError if another process uses the folder, TypeError for a state that JSON can't hold. An error or an
    interruption during an episode carries the log of all finished episodes as its attribute `log`.
    """
    from tqdm.auto import tqdm

    syllabus = read_syllabus(syllabus)
    phases = syllabus.phases
    agent = as_agent(agent)
    seed = whole("seed", seed, 0)
    labels = {"run": f"{syllabus.name} {agent.name} {seed}", "lifetime": 0, **labels}
    checkpoints = None
    lock = nullcontext()
    if folder is not None:
        checkpoints = _Checkpoints(folder, phases, agent, syllabus, seed, labels)
        lock = locked(Path(folder) / LOG)
    envs = make_envs(phases)
    bar = tqdm(total=syllabus.count, desc=labels["run"], disable=not progress)
    with lock:
        tables = checkpoints.load(agent) if checkpoints else []
        bar.update(sum(map(len, tables)))
        try:
            for number in range(len(tables), len(phases)):
                start = len(tables)
                for table in _run_phase(phases, number, agent, seed, envs, labels):
                    tables.append(table)
                    bar.update(len(table))
                if checkpoints:
                    checkpoints.save(number, pd.concat(tables[start:]), agent)
        except BaseException as error:
            unfinished = [error.log] if hasattr(error, "log") else []
            keep_lived(error, lambda: _lifetime_log([*tables, *unfinished], seed))
            raise
        finally:
            bar.close()
            _close(envs)
        log = _lifetime_log(tables, seed)
        log.attrs = {"measure": "reward", "syllabus_type": syllabus.kind}
        if folder is not None:
            write_log(log, Path(folder) / LOG)
    return log


class _Checkpoints:
    """The finished blocks of a lifetime, each stored with the agent's state after it."""

    def __init__(self, folder, phases, agent, *others):
        learns = getattr(type(agent), "learn", Agent.learn) is not Agent.learn
        has_state = getattr(type(agent), "state", Agent.state) is not Agent.state
        demand(
            has_state or not learns,
            f"{type(agent).__name__} learns and has no state(), so that it could not continue after "
            "an interruption: write state() and load(), or run it without a folder",
        )
        self.store = Store(Path(folder) / "blocks")
        self.key = fingerprint(agent, *others)
        self.labels = [f"{number} {phase.name}" for number, phase in enumerate(phases)]

    def load(self, agent):
        """Return the finished blocks as tables, and restore the agent's state after the last."""
        tables = []
        state = {}
        for label in self.labels:
            block = self.store.read(label, self.key)
            if block is None:
                break
            tables.append(pd.DataFrame(block["rows"]))
            state = block["state"]
        if state:
            agent.load(state)
        return tables

    def save(self, number, table, agent):
        """Store a finished block."""
        state = plain_state(getattr(agent, "state", dict)())
        block = {"rows": table.to_dict("list"), "state": state}
        self.store.write(self.labels[number], self.key, block)


def make_envs(phases: Iterable[Phase]) -> dict[str, Any]:
    """Return the environments of some phases by their Experiences' keys, each made once.

    Raises BadData that lists every environment that can't be made, and why.
    """
    import gymnasium as gym

    import pushlab  # noqa: F401  registers the ids

    envs: dict[str, Any] = {}
    faults = []
    for phase in phases:
        for one in phase.experiences:
            if one.key in envs:
                continue
            envs[one.key] = None
            try:
                with naming_the_nearest(one.env):
                    envs[one.key] = gym.make(one.env, **one.params)
            except (ValueError, TypeError, OSError) as error:
                where = f"phase {phase.name}, task {one.task}"
                faults.append(Fault(where, right=str(error)))
    refuse(faults)
    return envs


def _close(envs):
    for env in envs.values():
        env.close()


def _run_phase(phases, number, agent, seed, envs, labels) -> Iterator[pd.DataFrame]:
    """Run one phase; yield the log of each of its experiences."""
    phase = phases[number]
    is_training = phase.kind == TRAIN
    first = 0
    if is_training:
        first = sum(
            earlier.episodes for earlier in phases[:number] if earlier.kind == TRAIN
        )
    else:
        agent = copy.deepcopy(agent)
    for one in phase.experiences:
        getattr(agent, "begin_task", Agent().begin_task)(one.task, is_training)
        yield rollout(
            envs[one.key],
            agent,
            episodes=one.count,
            progress=False,
            seed=part_seed(seed, TRAINING if is_training else TESTING),
            first=first,
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
        if is_training:
            first += one.count


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
    store: Any = None,
    episodes: int | None = None,
    progress: bool = True,
) -> dict[str, list[pd.DataFrame]]:
    """Return single-task experts: for each task of a syllabus the log of a copy of the agent that learns nothing else.

    Args:
        agent: An Agent that has learned nothing yet; it isn't changed.
        store: An `Experts` store to which the runs are added, or None.
        episodes: Length of each run. By default it is that of the task's training, with the same parameters in turn.

    Returns {task: [lifetime log]}, as the metrics take it. A task without training has no expert.
    """
    from tqdm.auto import tqdm

    syllabus = read_syllabus(syllabus)
    agent = as_agent(agent)
    seed = whole("seed", seed, 0)
    runs = {}
    for task in tqdm(syllabus.tasks, agent.name, disable=not progress):
        training = syllabus.training(task)
        if not training:
            continue
        if episodes is not None:
            training = [training[0]._replace(count=episodes)]
        phases = [Phase("1.train", training)]
        envs = make_envs(phases)
        labels = {"run": f"expert {task} {agent.name} {seed}", "lifetime": 0}
        expert = copy.deepcopy(agent)
        tables = list(_run_phase(phases, 0, expert, seed, envs, labels))
        _close(envs)
        runs[task] = [_lifetime_log(tables, seed)]
        if store is not None:
            store.add(task, runs[task][0])
    return runs


def run_syllabi(
    syllabus: Source,
    agents: Iterable[Agent | Callable],
    seeds: int | Iterable[int] = 5,
    folder: Path | str | None = None,
    jobs: int = 1,
    progress: bool = True,
) -> dict[str, list]:
    """Run several agents through one syllabus under several seeds; return {agent's name: [log under each seed]}.

    Args:
        agents: Agents that have learned nothing yet, with different names; each lifetime gets a copy.
        seeds: How many seeds, from 0, or the seeds themselves.
        folder: Each lifetime is stored in a folder `<agent>-<seed>` below it, see `run_syllabus`; None stores nothing.
        jobs: Number of processes.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    syllabus = read_syllabus(syllabus)
    logs: dict[str, list] = {}
    work = []
    seeds = range(seeds) if isinstance(seeds, int) else list(seeds)
    for agent in map(as_agent, agents):
        demand(agent.name not in logs, f"two agents have the name {agent.name!r}")
        logs[agent.name] = []
        work += [(agent, seed) for seed in seeds]
    run = Parallel(n_jobs=jobs, return_as="generator")
    done = run(delayed(_run_copy)(syllabus, *one, folder) for one in work)
    bar = tqdm(done, total=len(work), desc=syllabus.name, disable=not progress)
    for (agent, _), log in zip(work, bar):
        logs[agent.name].append(log)
    return logs


def _run_copy(syllabus, agent, seed, folder):
    if folder is not None:
        folder = Path(folder) / re.sub("[ /]", "-", f"{agent.name}-{seed}")
    agent = copy.deepcopy(agent)
    return run_syllabus(syllabus, agent, seed, folder, False, lifetime=int(seed))
