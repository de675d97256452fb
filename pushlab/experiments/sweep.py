"""A grid of agents × environments × seeds, each cell a run of its own: on all cores, or on a cluster.

>>> from pushlab.experiments.sweep import sweep
>>> log = sweep(["RandomCandidate", "MostOpened"], [{"env": "pushlab/evalumap2-v0", "user": "mira"}], seeds=2,
...             steps=50, out=False, workers=1, progress=False)
>>> log[["env", "agent", "seed", "length"]].values.tolist()[0]
['evalumap2-v0 user=mira', 'RandomCandidate', 0, 50]

The same from a file, by `pushlab sweep FILE`, and on a cluster within `joblib.parallel_config("dask")`: the rows are
the same, digit by digit. What is finished is kept: see `pushlab.experiments.cells`.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.agents.protocol import Agent
from pushlab.experiments.cells import Cell, run_cells
from pushlab.experiments.specs import (
    KINDS,
    Spec,
    content_of,
    forget_envs,
    make_sure,
    read_specs,
    shared_env,
)
from pushlab.ground.arguments import demand, one_of, whole
from pushlab.ground.seeds import part_seed

TESTING = 1  # the part of a run that has seeds of its own
TAKEN = ("file", "state", "error", "traceback")  # columns of `status`


def sweep(
    agents: Any = None,
    envs: Any = None,
    seeds: int | Iterable[int] | None = 1,
    out: Path | str | bool | None = None,
    *,
    syllabi: Any = None,
    function: Callable | None = None,
    grid: Mapping[str, Any] | None = None,
    episodes: int = 1,
    tests: int = 0,
    steps: int | None = None,
    record: str = "episodes",
    workers: int | None = None,
    fresh: bool = False,
    progress: bool = True,
    time_limit: float | None = None,
    strict: bool = False,
    name: str | None = None,
) -> Any:
    """Runs every agent in every environment under every seed; returns the rows of all, a DataFrame.

    agents    a list, or {name: one}. One is the name of an agent of `pushlab.agents`, "module:factory", a class or
              factory, or a dict {"agent": any of these, "name": "eps 0.2", and arguments}. A factory that has a
              parameter `env` is given the environment. Each cell makes its own agent
    envs      the same: an id, a factory, or {"env": id, "name": …, and arguments}. {"each": {"user": ["mira", "theo"]}}
              among them stands for one environment each. Cells of one process share an environment that has an id: it
              has to begin anew at each `reset(seed=…)`; a factory is called for each cell
    seeds     how many, from 0, or which
    out       a folder, in which any later call goes on; None is one in pushlab's cache, False keeps nothing
    syllabi   in place of environments: names, files or dicts of syllabi; a cell is a lifetime
    function  in place of all that: a cell is `function(**cell)`, which gets `agent` and `env` (made) and `seed`, as far
              as these are given, and a value of each axis of `grid`; returns what a `Cell`'s function does
    grid      {axis: values, or {label: value}}
    episodes  of each cell; `tests` more are run afterwards, neither learning nor exploring (`block_type` "test")
    steps, record   as in `pushlab.logs.rollout.rollout`; record is "episodes" or "steps"
    strict    raise CellsFailed, once all others are done, if a cell failed; otherwise warn
    workers, fresh, progress, time_limit, name   as in `pushlab.experiments.cells.run_cells`

    returns   a row an episode (or step): env or syllabus, agent, seed, then the columns of the log, but for seconds. Of
              a function that returns several tables {name: DataFrame}

    Raises BadData for names and arguments that nothing can be made of, all at once and before anything runs.
    """
    given = {"envs": envs, "syllabi": syllabi, "agents": agents}
    axes: dict[str, dict] = {
        KINDS[name]: read_specs(name, value)
        for name, value in given.items()
        if value is not None
    }
    if function is None:
        demand(
            agents is not None and (envs is None) != (syllabi is None) and not grid,
            "a sweep needs agents and either envs or syllabi; or a function, and a grid of its arguments",
        )
    (
        whole("episodes", episodes, 1),
        whole("tests", tests, 0),
        one_of("record", record, ("episodes", "steps")),
    )
    if steps is not None:
        whole("steps", steps, 1)
    rollouts = function is None and envs is not None
    how = (
        {"episodes": episodes, "tests": tests, "steps": steps, "record": record}
        if rollouts
        else {}
    )
    make_sure(axes)
    demand(
        isinstance(grid, Mapping | None),
        f"a grid is {{axis: values}}; got {grid!r:.60}",
    )
    for axis, values in (grid or {}).items():
        axes[axis] = _axis(axis, values)
    if seeds is not None:
        seeds = [seeds] if isinstance(seeds, str) else seeds
        seeds = (
            list(seeds)
            if isinstance(seeds, Iterable)
            else range(whole("seeds", seeds, 1))
        )
        axes["seed"] = _axis("seed", [whole("a seed", seed, 0) for seed in seeds])
    for axis, values in axes.items():
        demand(len(values), f"there is no {axis}: the list is empty")
        demand(axis not in TAKEN, f"an axis of a sweep has another name than {axis}")
    work = function or (live if syllabi is not None else run)
    data = {
        axis: {label: content_of(axis, one) for label, one in values.items()}
        for axis, values in axes.items()
    }
    cells, do = [], _do_in_parts if inspect.isgeneratorfunction(work) else _do
    for labels in itertools.product(*axes.values()):
        here = dict(zip(axes, labels))
        cells.append(
            Cell(
                here,
                do,
                (work, how, {axis: axes[axis][label] for axis, label in here.items()}),
                [data[axis][label] for axis, label in here.items()],
            )
        )
    about = {"what": getattr(work, "__qualname__", "function"), **how}
    tables = run_cells(
        cells, out, workers, fresh, progress, time_limit, strict, name or "sweep", about
    )
    return (
        tables
        if set(tables) - {"results"}
        else tables.get("results", pd.DataFrame(columns=list(axes)))
    )


def _axis(name, values):
    """{label: value} of an axis. ValueError for what has no labels, or one twice."""
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(
            f"the axis {name} is a list of values, or {{label: value}}; got {values!r:.60}"
        )
    values = list(values)
    demand(
        all(isinstance(one, str | Real | None) for one in values),
        f"values of the axis {name} are numbers or words, or have labels, {{label: value}}; got {values!r:.60}",
    )
    found = {one: one for one in values}
    demand(
        len(found) == len(values), f"the axis {name} has a value twice: {values!r:.60}"
    )
    return found


# ---------------------------------------------------------------- one cell


def _do(work, how, values):
    """A cell: makes what it is of, and does it."""
    try:
        return work(**_made(values), **how)
    except BaseException:
        forget_envs()
        raise


def _do_in_parts(work, how, values, done: tuple = ()) -> Iterator[Any]:
    """The same of a function that is a generator."""
    try:
        yield from work(**_made(values), **how, done=done)
    except BaseException:
        forget_envs()
        raise


def _made(values):
    """The values of a cell, with agent, environment and syllabus made."""
    values = dict(values)
    if isinstance(values.get("env"), Spec):
        values["env"] = shared_env(values["env"])
    for name in ("agent", "syllabus"):
        if isinstance(values.get(name), Spec):
            values[name] = values[name].make(values.get("env"))
    return values


def run(
    agent: Agent,
    env: Any,
    seed: int = 0,
    episodes: int = 1,
    tests: int = 0,
    steps: int | None = None,
    record: str = "episodes",
) -> pd.DataFrame:
    """A rollout as a cell: its log, and that of `tests` episodes without learning and exploring; no seconds in it."""
    from pushlab.logs.rollout import rollout

    how: dict[str, Any] = {"steps": steps, "record": record, "progress": False}
    logs = [rollout(env, agent, episodes, seed, **how)]
    if tests:
        logs.append(
            rollout(
                env,
                agent,
                tests,
                part_seed(seed, TESTING),
                learn=False,
                explore=False,
                block=1,
                block_type="test",
                **how,
            )
        )
    return pd.concat(logs, ignore_index=True).drop(
        columns=["run", "env", "agent", "seed", "lifetime", "response_time"],
        errors="ignore",
    )


def live(agent: Agent, syllabus: Any, seed: int = 0) -> pd.DataFrame:
    """A lifetime as a cell: its log."""
    from pushlab.lifetimes.live import run_syllabus

    log = run_syllabus(syllabus, agent, seed, progress=False)
    return pd.DataFrame(log.drop(columns=["run", "agent", "seed"]))
