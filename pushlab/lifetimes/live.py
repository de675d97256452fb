"""Lifetimes: an agent lives through a syllabus, trained and tested, and leaves a log behind.

A test is taken by a copy of the agent, which neither learns nor explores and is thrown away: the agent goes on, and its
training too, as if it had never been tested. Under one seed the n-th episode of a test of a task is the same at every
visit, so that tests compare; training never meets the same seed twice.

With a folder a lifetime is written block by block (`pushlab.logs.folders`), and what the agent has learned beside it,
as JSON, in `agent.json`. After an interruption the same call goes on at the beginning of the block that was not
finished, and ends with the log that it would have given without one: no column holds times of day or seconds.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent
from pushlab.envs import naming_the_nearest
from pushlab.ground._old_files import alone
from pushlab.ground.arguments import whole
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.seeds import part_seed
from pushlab.lifetimes.book import STATE_FILE, Book
from pushlab.lifetimes.syllabi import TRAIN, Phase, Syllabus, read_syllabus
from pushlab.logs.folders import lifetime_log, with_regimes
from pushlab.logs.rollout import keep_lived, rollout

TRAINING, TESTING = range(2)  # parts of a lifetime with a seed each

Source = Syllabus | dict[str, Any] | Path | str


def run_syllabus(
    syllabus: Source,
    agent: Agent | Callable,
    seed: int = 0,
    folder: Path | str | None = None,
    progress: bool = True,
    resume: bool = True,
    **labels: Any,
) -> pd.DataFrame:
    """Trains and tests an agent as a syllabus says and returns the log, a DataFrame with a row an episode.

    syllabus  a Syllabus, a file, a dict, or the name of a shipped one
    agent     an Agent that has learned nothing yet (it learns here), or a function of the observation. To go on after
              an interruption it has to be made in the same way; what it had learned by then is loaded
    seed      whole number from 0: governs environments and the agent's chance
    folder    where the log is written as an L2Logger folder, block by block; None keeps it in memory only
    resume    go on where a lifetime in this folder stopped; False: a folder that holds one already is an error
    progress  show a progress bar
    labels    other values for the log's columns `run` and `lifetime`

    Columns: run, env, agent, seed, lifetime, phase, block, block_type, task, params, regime, episode, reward (the
    return of an episode, summed over its steps), length (steps). `log.attrs["syllabus_type"]` is the structure.

    Raises BadData for a syllabus with faults, or a folder whose files are not as they were written, ValueError for a
    folder that holds another lifetime or has lost some of this one, or an agent that learns and cannot tell its state,
    FileExistsError for a folder that holds another log, TimeoutError for one in which another process lives just now,
    TypeError for a state that JSON cannot hold. A folder is looked through whole before anything in it changes.

    Interrupted, or stopped by an error, it raises that, with the log of all episodes that were lived as its `log`.
    """
    from tqdm.auto import tqdm

    syllabus, agent = read_syllabus(syllabus), as_agent(agent)
    seed = whole("seed", seed, 0)
    phases, envs = syllabus.phases, make_envs(syllabus.phases)
    labels = {"run": f"{syllabus.name} {agent.name} {seed}", "lifetime": 0, **labels}
    book = None if folder is None else Book(folder, syllabus, agent, seed, labels)

    def told(blocks):
        log = with_regimes(pd.concat(blocks, ignore_index=True))
        log.attrs |= {"measure": "reward", "syllabus_type": syllabus.kind}
        return log

    with nullcontext() if book is None else alone(book.folder / STATE_FILE, wait=1.0):
        blocks = [] if book is None else book.open(agent, resume)
        bar = tqdm(
            total=syllabus.count,
            initial=sum(map(len, blocks)),
            desc=labels["run"],
            unit="episode",
            disable=not progress,
        )
        try:
            for number in range(len(blocks), len(phases)):
                blocks.append(
                    live_phase(phases[number], agent, seed, envs, blocks, labels, bar)
                )
                if book is not None:
                    book.keep(blocks[-1], number, agent)
        except BaseException as error:
            keep_lived(error, partial(told, [*blocks, *_lived_by(error)]))
            raise
        finally:
            bar.close()
            for env in envs.values():
                env.close()
    return told(blocks)


def _lived_by(error):
    """The log of the block that an error ended, in a list, if there is one."""
    return [error.log] if isinstance(getattr(error, "log", None), pd.DataFrame) else []


def make_envs(phases: Iterable[Phase]) -> dict[str, Any]:
    """{spelling of environment and arguments: environment} of all that some phases need, so that none is made twice.

    Raises BadData listing every one that cannot be made, and why.
    """
    import gymnasium as gym

    import pushlab  # noqa: F401  the ids

    envs, faults = {}, []
    for phase in phases:
        for one in phase.experiences:
            key = one.told()
            if key in envs:
                continue
            try:
                with naming_the_nearest(one.env):
                    envs[key] = gym.make(one.env, **one.params)
            except (ValueError, TypeError, OSError) as error:
                envs[key] = None
                faults.append(
                    Fault(
                        f"phase {phase.name}, task {one.task}",
                        None,
                        None,
                        None,
                        str(error),
                    )
                )
    if faults:
        raise BadData(faults)
    return envs


def live_phase(
    phase: Phase,
    agent: Agent,
    seed: int,
    envs: dict[str, Any],
    before: Sequence[pd.DataFrame],
    labels: dict[str, Any],
    bar: Any = None,
) -> pd.DataFrame:
    """Lives one phase after the blocks `before`, a list of DataFrames; returns its rows of the log."""
    learning, rows = phase.kind == TRAIN, []
    agent = agent if learning else copy.deepcopy(agent)  # a test leaves no trace
    lived = sum(len(block) for block in before)
    trained = sum(
        len(block) for block in before if (block["block_type"] == TRAIN).all()
    )

    def told(*logs):
        log = pd.concat([*rows, *logs], ignore_index=True)
        log["seed"], log["episode"] = seed, range(lived, lived + len(log))
        return lifetime_log(log)

    for experience in phase.experiences:
        getattr(agent, "begin_task", Agent().begin_task)(experience.task, learning)
        try:
            log = rollout(
                envs[experience.told()],
                agent,
                episodes=experience.count,
                progress=False,
                seed=part_seed(seed, TRAINING if learning else TESTING),
                first=trained if learning else 0,
                learn=learning,
                explore=learning,
                record="episodes",
                phase=phase.name,
                block=len(before),
                block_type=phase.kind,
                task=experience.task,
                params=json.dumps(experience.params, sort_keys=True),
                **labels,
            )
        except BaseException as error:
            keep_lived(error, partial(told, *_lived_by(error)))
            raise
        trained += experience.count
        rows.append(log)
        if bar is not None:
            bar.update(experience.count)
    return told()


# ---------------------------------------------------------------- experts, and many lifetimes


def run_experts(
    syllabus: Source,
    agent: Agent | Callable,
    seed: int = 0,
    store: Any = None,
    episodes: int | None = None,
    progress: bool = True,
) -> dict[str, list[pd.DataFrame]]:
    """Single-task experts: for each task of a syllabus a fresh copy of the agent that learns nothing else.

    agent     an Agent that has learned nothing yet; it stays so
    store     an `Experts` store to which the runs are added, or None
    episodes  of each run; by default as many as the syllabus trains the task with, under the same parameters in turn
    returns   {task: [lifetime log]}, as the metrics take it; tasks that are never trained have none
    """
    syllabus, agent, runs = read_syllabus(syllabus), as_agent(agent), {}
    for task in syllabus.tasks:
        training = syllabus.training(task)
        if not training:
            continue
        if episodes is not None:
            training = [training[0]._replace(count=episodes)]
        phase = Phase("1.train", TRAIN, tuple(training))
        envs = make_envs([phase])
        labels = {"run": f"expert {task} {agent.name} {seed}", "lifetime": 0}
        runs[task] = [
            live_phase(phase, copy.deepcopy(agent), int(seed), envs, [], labels)
        ]
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
    """Several agents through one syllabus under several seeds; returns {agent's name: [log under each seed]}.

    agents  list of Agents that have learned nothing yet, with different names; each lifetime gets a copy
    seeds   how many, from 0, or the seeds themselves
    folder  each lifetime is written to a folder of its own, `<agent>-<seed>`, and resumes there; None keeps nothing
    jobs    processes to work with

    Interrupted, or stopped by an error, it raises that, with the logs of the lifetimes that were over as its `log`.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    syllabus, fresh = read_syllabus(syllabus), [as_agent(agent) for agent in agents]
    names = [agent.name for agent in fresh]
    if len(set(names)) < len(names):
        raise ValueError(f"agents of different names are meant; got {', '.join(names)}")
    seeds = range(seeds) if isinstance(seeds, int) else list(seeds)
    work = [(agent, seed) for agent in fresh for seed in seeds]
    done = Parallel(n_jobs=jobs, return_as="generator")(
        delayed(_run_copy)(syllabus, agent, seed, folder) for agent, seed in work
    )
    logs: list = []

    def told():
        return {
            name: [log for (agent, _), log in zip(work, logs) if agent.name == name]
            for name in names
        }

    try:
        for log in tqdm(
            done,
            total=len(work),
            desc=syllabus.name,
            unit="lifetime",
            disable=not progress,
        ):
            logs.append(log)
    except BaseException as error:
        keep_lived(error, told)
        raise
    return told()


def _run_copy(syllabus, agent, seed, folder):
    where = (
        None
        if folder is None
        else Path(folder) / f"{agent.name}-{seed}".replace(" ", "-").replace("/", "-")
    )
    return run_syllabus(
        syllabus, copy.deepcopy(agent), seed, where, progress=False, lifetime=int(seed)
    )
