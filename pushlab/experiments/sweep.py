"""A grid of agents x environments x seeds: on all cores, or on a cluster.

>>> from pushlab.experiments.sweep import sweep
>>> envs = [{"env": "pushlab/evalumap2-v0", "user": "mira"}]
>>> log = sweep(["RandomCandidate", "MostOpened"], envs, seeds=2, steps=50, out=False, workers=1, progress=False)
>>> log[["env", "agent", "seed", "length"]].values.tolist()[0]
['evalumap2-v0 user=mira', 'RandomCandidate', 0, 50]
"""

from __future__ import annotations

import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent
from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.arguments import demand, meant, one_of, whole
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.seeds import part_seed

TESTING = 1  # the part of a run that has seeds of its own
RUN_COLUMNS = ["run", "env", "agent", "seed", "lifetime", "response_time"]


def sweep(
    agents: Any,
    envs: Any = None,
    seeds: int | Iterable[int] = 1,
    out: Path | str | bool | None = None,
    *,
    syllabi: Any = None,
    episodes: int = 1,
    tests: int = 0,
    steps: int | None = None,
    record: str = "episodes",
    workers: int | None = None,
    fresh: bool = False,
    progress: bool = True,
    strict: bool = False,
) -> pd.DataFrame:
    """Run every agent in every environment under every seed and return the rows of all runs.

    Args:
        agents: A list, or {label: agent}. An agent is the name of one in `pushlab.agents`, "module:factory", a class
            or a factory, or a dict {"agent": any of these, "name": label, argument: value, ...}. A factory with a
            parameter `env` gets the environment. Each run makes its own agent.
        envs: A list, or {label: environment}: an id, a factory, or {"env": id, "name": label, argument: value, ...}.
            {"each": {"user": ["mira", "theo"]}} in such a dict gives one environment per value, named by its
            arguments.
        seeds: Number of seeds, which count from 0, or the seeds themselves.
        out: Folder for the results, in which later calls continue. None is a folder in pushlab's cache, False stores
            nothing.
        syllabi: Names, files or dicts of syllabi instead of environments, a list or {label: syllabus}; each run is a
            lifetime.
        episodes: Number of episodes per run.
        tests: Number of episodes that follow without learning or exploring (`block_type` "test").
        steps, record: As in `pushlab.rollout`; record is "episodes" or "steps".
        workers, fresh, progress: As in `pushlab.experiments.cells.run_cells`, which runs anything else than agents.
        strict: Whether to raise CellsFailed after all runs if one failed, rather than warn.

    Returns:
        A row per episode (or step): env or syllabus, agent, seed, then the columns of the log except times.

    Raises:
        BadData: An agent, environment or syllabus can't be made. Nothing has run then; the message lists all of them.
        CellsFailed: With `strict`, a run failed.
    """
    demand(
        (envs is None) != (syllabi is None),
        "a sweep needs agents and either envs or syllabi",
    )
    settings = {}
    if syllabi is None:
        settings["episodes"] = whole("episodes", episodes, 1)
        settings["tests"] = whole("tests", tests, 0)
        settings["steps"] = None if steps is None else whole("steps", steps, 1)
        settings["record"] = one_of("record", record, ("episodes", "steps"))
    if not isinstance(seeds, Iterable):
        seeds = range(whole("seeds", seeds, 1))
    seeds = [whole("a seed", seed, 0) for seed in seeds]
    demand(seeds, "there is no seed: the list is empty")
    kind = "env" if syllabi is None else "syllabus"
    faults: list[Fault] = []
    worlds = read_specs(kind, envs if syllabi is None else syllabi, faults)
    makers = read_specs("agent", agents, faults)
    _make_once(worlds, makers, faults)
    refuse(faults)
    cells = []
    for world, agent, seed in itertools.product(worlds, makers, seeds):
        labels = {kind: world, "agent": agent, "seed": seed}
        arguments = (worlds[world], makers[agent], seed, settings)
        cells.append(Cell(labels, run_cell, arguments))
    tables = run_cells(cells, out, workers, fresh, progress, strict, "sweep")
    return tables.get("results", pd.DataFrame(columns=[kind, "agent", "seed"]))


def run_cell(
    world: Spec, maker: Spec, seed: int, settings: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the log of an agent's run in an environment, or of its lifetime, without the columns of times."""
    if world.kind == "syllabus":
        from pushlab.lifetimes.live import run_syllabus

        log = run_syllabus(world.make(), maker.make(), seed, progress=False)
        return log.drop(columns=["run", "agent", "seed"])
    with closing(world.make()) as env:
        log = run_episodes(maker.make(env), env, seed, **settings)
    return log.drop(columns=RUN_COLUMNS, errors="ignore")


def run_episodes(
    agent: Agent, env: Any, seed: int, episodes: int, tests: int, **settings: Any
) -> pd.DataFrame:
    """Return the log of a rollout, followed by `tests` episodes without learning or exploring."""
    from pushlab.logs.rollout import rollout

    log = rollout(env, agent, episodes, seed, progress=False, **settings)
    if not tests:
        return log
    settings |= {"learn": False, "explore": False, "block": 1, "block_type": "test"}
    own_seed = part_seed(seed, TESTING)
    test = rollout(env, agent, tests, own_seed, progress=False, **settings)
    return pd.concat([log, test], ignore_index=True)


# ---------------------------------------------------------------- agents and environments


class Spec(NamedTuple):
    """An agent, environment or syllabus to make in the process that runs it.

    Attributes:
        kind: "agent", "env" or "syllabus".
        target: A factory, Gymnasium's spec of an environment, or a syllabus as `read_syllabus` takes it.
        arguments: Arguments of the factory.
    """

    kind: str
    target: Any
    arguments: dict[str, Any]

    def make(self, env: Any = None) -> Any:
        """Return the agent, environment or syllabus. A factory of agents with a parameter `env` gets it."""
        if self.kind == "syllabus":
            from pushlab.lifetimes.syllabi import read_syllabus

            return read_syllabus(self.target)
        if self.kind == "env" and not callable(self.target):
            import gymnasium as gym

            return gym.make(self.target, **self.arguments)
        if self.kind == "env":
            return self.target(**self.arguments)
        parameters = inspect.signature(self.target).parameters
        arguments = dict(self.arguments)
        if "env" in parameters:
            arguments["env"] = env
        return as_agent(self.target(**arguments))


def read_specs(kind: str, given: Any, faults: list[Fault]) -> dict[str, Spec]:
    """Return {label: Spec} of agents, envs or syllabi as `sweep` takes them, and add a fault for each unknown name.

    Raises:
        ValueError: Two labels are equal.
    """
    if isinstance(given, Mapping) and kind not in given:
        pairs = [(str(label), one) for label, one in given.items()]
    else:
        several = given if isinstance(given, (list, tuple)) else [given]
        pairs = [(None, one) for one in several]
    demand(pairs, f"there is no {kind}: the list is empty")
    specs: dict[str, Spec] = {}
    for name, one in pairs:
        for arguments in _each(kind, one):
            target = arguments.pop(kind)
            label = arguments.pop("name", name) or _label(target, arguments)
            demand(label not in specs, f"two {kind}s are {label!r}; give them names")
            try:
                specs[label] = _spec(kind, target, arguments)
            except Exception as error:
                faults.append(Fault(f"{kind} {label}", right=str(error)))
    return specs


def _each(kind, one):
    """Return a dict for each combination of the values of "each"."""
    if not (isinstance(one, Mapping) and kind in one):
        return [{kind: one}]
    axes = one.get("each", {})
    rest = {key: value for key, value in one.items() if key != "each"}
    combinations = itertools.product(*axes.values())
    return [rest | dict(zip(axes, values)) for values in combinations]


def _spec(kind, target, arguments):
    if kind == "agent":
        target = load_factory(target)
    elif kind == "env" and not callable(target):
        import gymnasium as gym

        import pushlab  # noqa: F401  registers the ids

        target = gym.spec(target)
    return Spec(kind, target, arguments)


def _label(target, arguments):
    name = target if isinstance(target, str) else getattr(target, "__name__", None)
    name = str(name or getattr(target, "name", target))
    name = name.removeprefix("pushlab/").removeprefix("pushlab:pushlab/")
    if name.endswith(".json"):
        name = Path(name).stem
    for key, value in arguments.items():
        if not isinstance(value, (str, int, float)):
            value = getattr(value, "name", value)
        name += f" {key}={value}"
    return name


def load_factory(target: Any) -> Callable:
    """Return a factory: `target` itself, an agent of `pushlab.agents` by name, or "module:name".

    A module can also be in the working directory.

    Raises:
        ValueError: The target is anything else.
    """
    if not isinstance(target, str):
        demand(
            callable(target),
            f"an agent is a name, a class or a function that makes one; got {target!r:.60}",
        )
        return target
    module, _, name = target.rpartition(":")
    if module and str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))
    agents = import_module("pushlab.agents")
    try:
        return getattr(import_module(module) if module else agents, name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{target!r} is no agent of pushlab.agents and no module:name that can be imported ({error})"
            + meant(name, dir(agents))
        ) from error


def _make_once(worlds, makers, faults):
    """Make each environment or syllabus and each agent once, and add a fault for each that can't be made."""
    env = None
    for label, spec in [*worlds.items(), *makers.items()]:
        try:
            made = spec.make(env)
            if spec.kind == "env":
                env = made
                env.close()
        except Exception as error:  # of a user's factory, too
            words = str(error) or type(error).__name__
            faults.append(Fault(f"{spec.kind} {label}", right=words))
