"""Runs of a grid of agents x environments x seeds, on all cores or on a cluster.

>>> from pushlab.experiments.sweep import sweep
>>> envs = [{"env": "pushlab/evalumap2-v0", "user": "mira"}]
>>> log = sweep(["RandomCandidate", "MostOpened"], envs, seeds=2, steps=50, out=False, workers=1, progress=False)
>>> log[["env", "agent", "seed", "length"]].values.tolist()[0]
['evalumap2-v0 user=mira', 'random', 0, 50]
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
from pushlab.utils.arguments import (
    require,
    short_repr,
    suggestion,
    validate_choice,
    validate_integer,
)
from pushlab.utils.issues import DataIssue, raise_issues
from pushlab.utils.seeds import part_seed

TESTING = 1  # the part of a run that has its own seeds
RUN_COLUMNS = ["run", "env", "agent", "seed", "lifetime", "response_time"]


def sweep(
    agents: Any,
    envs: Any,
    seeds: int | Iterable[int] = 1,
    out: Path | str | bool | None = None,
    *,
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
            or a factory, or a dict {"agent": any of these, "name": label, argument: value, ...}. By default the label
            is the class's own `name`. A factory with a parameter `env` gets the environment. Each run creates its own
            agent.
        envs: A list, or {label: environment}. An environment is an id ("module:id" imports the module, which can be in
            the working directory), a factory, or a dict {"env": id, "name": label, argument: value, ...}. With
            {"each": {"user": ["mira", "theo"]}} in the dict, there is one environment for each value, labelled with
            its arguments.
        seeds: Number of seeds, counted from 0, or a list of seeds.
        out: Folder for the results, in which later calls continue. None uses a folder in pushlab's cache; False stores
            nothing.
        episodes: Number of episodes per run.
        tests: Number of further episodes without learning or exploring (`block_type` "test").
        steps, record: As in `pushlab.rollout`. `record` must be "episodes" or "steps".
        workers, fresh, progress: As in `pushlab.experiments.cells.run_cells`, which can also run other functions.
        strict: Whether to raise CellsFailed after all runs if some failed. If False, warn, unless all failed.

    Returns:
        A table with one row per episode (or step). The columns are env, agent, seed and those of the
        log, without response times.

    Raises:
        BadData: Agents or environments can't be created. The message lists all of them. Nothing is run.
        CellsFailed: All runs failed, or some failed and `strict` is true. Finished runs are stored.
    """
    settings = {
        "episodes": validate_integer("episodes", episodes, 1),
        "tests": validate_integer("tests", tests, 0),
        "steps": None if steps is None else validate_integer("steps", steps, 1),
        "record": validate_choice("record", record, ("episodes", "steps")),
    }
    if isinstance(seeds, str) or not isinstance(seeds, Iterable):
        seeds = range(validate_integer("seeds", seeds, 1))
    seeds = [validate_integer("each seed", seed, 0) for seed in seeds]
    require(seeds, "seeds is empty; give at least one")
    issues: list[DataIssue] = []
    worlds = read_specs("env", envs, issues)
    makers = read_specs("agent", agents, issues)
    _try_specs(worlds, makers, issues)
    raise_issues(issues)
    cells = []
    for world, agent, seed in itertools.product(worlds, makers, seeds):
        labels = {"env": world, "agent": agent, "seed": seed}
        arguments = (worlds[world], makers[agent], seed, settings)
        cells.append(Cell(labels, run_cell, arguments))
    tables = run_cells(cells, out, workers, fresh, progress, strict, "sweep")
    return tables["results"]


def run_cell(
    world: Spec, maker: Spec, seed: int, settings: Mapping[str, Any]
) -> pd.DataFrame:
    """Return the log of one run, without response times and without the labels that the results have already."""
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
    test_seed = part_seed(seed, TESTING)
    test_log = rollout(env, agent, tests, test_seed, progress=False, **settings)
    return pd.concat([log, test_log], ignore_index=True)


# ---------------------------------------------------------------- agents and environments


class Spec(NamedTuple):
    """Specification of an agent or environment, which is created in the process that runs it.

    Attributes:
        kind: "agent" or "env".
        target: A factory, or Gymnasium's spec of an environment.
        arguments: Arguments of the factory.
    """

    kind: str
    target: Any
    arguments: dict[str, Any]

    def make(self, env: Any = None) -> Any:
        """Return the agent or environment. Only agents' factories with a parameter `env` get `env`."""
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


def read_specs(kind: str, entries: Any, issues: list[DataIssue]) -> dict[str, Spec]:
    """Return {label: Spec} for the entries of an argument of `sweep`: agents or envs.

    Args:
        kind: "agent" or "env".
        entries: The value of the argument.
        issues: List to which an issue is added for each unknown name.

    Raises:
        ValueError: There is no entry, or a label occurs twice.
    """
    search_working_directory()
    if isinstance(entries, Mapping) and kind not in entries:
        pairs = [(str(label), entry) for label, entry in entries.items()]
    else:
        items = entries if isinstance(entries, (list, tuple)) else [entries]
        pairs = [(None, entry) for entry in items]
    require(pairs, f"a sweep needs at least one {kind}; got none")
    specs: dict[str, Spec] = {}
    for name, entry in pairs:
        for arguments in _expand_each(kind, entry):
            target = arguments.pop(kind)
            label = arguments.pop("name", name) or _label(kind, target, arguments)
            require(
                label not in specs,
                f"the {kind} label {label!r} occurs twice; give each entry a name",
            )
            try:
                specs[label] = _spec(kind, target, arguments)
            except Exception as error:
                issues.append(DataIssue(f"{kind} {label}", valid_values=str(error)))
    return specs


def _expand_each(kind, entry):
    """Return one dict for each combination of the values of "each" in an entry."""
    if not (isinstance(entry, Mapping) and kind in entry):
        return [{kind: entry}]
    axes = entry.get("each", {})
    is_valid = isinstance(axes, Mapping) and all(
        isinstance(values, (list, tuple)) for values in axes.values()
    )
    require(is_valid, f'"each" must be {{argument: list}}; got {short_repr(axes)}')
    constant = {key: value for key, value in entry.items() if key != "each"}
    combinations = itertools.product(*axes.values())
    return [constant | dict(zip(axes, values)) for values in combinations]


def _spec(kind, target, arguments):
    if kind == "agent":
        target = load_factory(target)
    elif kind == "env" and not callable(target):
        import gymnasium as gym

        import pushlab  # noqa: F401  (registers the ids)

        module, _, target = target.rpartition(":")
        if module:
            import_module(module)
        target = gym.spec(target)
    return Spec(kind, target, arguments)


def _label(kind, target, arguments):
    name = agent_name(target) if kind == "agent" else None
    if isinstance(target, str):
        name = name or target.rpartition("/")[2]
    else:
        name = name or str(getattr(target, "__name__", getattr(target, "name", target)))
    for key, value in arguments.items():
        if not isinstance(value, (str, int, float)):
            value = getattr(value, "name", value)
        name += f" {key}={value}"
    return name


def agent_name(target: Any) -> str | None:
    """Return the `name` of an agent's class; None if it inherits its name, or can't be loaded."""
    try:
        return vars(load_factory(target)).get("name")
    except (TypeError, ValueError):
        return None


def load_factory(target: Any) -> Callable:
    """Return the factory of an agent.

    Args:
        target: A factory, the name of an agent in `pushlab.agents`, or "module:name". The module can be in the working
            directory.

    Raises:
        ValueError: There is no such factory.
    """
    if not isinstance(target, str):
        require(
            callable(target),
            f"an agent must be a name, a class or a factory; got {target!r:.60}",
        )
        return target
    search_working_directory()
    module, _, name = target.rpartition(":")
    agents = import_module("pushlab.agents")
    try:
        return getattr(import_module(module) if module else agents, name)
    except (ImportError, AttributeError) as error:
        raise ValueError(
            f"{target!r} is neither an agent of pushlab.agents nor a module:name that can be imported ({error})"
            + suggestion(name, set(dir(agents)) - {"Agent"})
        ) from error


def search_working_directory() -> None:
    """Let modules be imported from the working directory, too."""
    if str(Path.cwd()) not in sys.path:
        sys.path.append(str(Path.cwd()))


def _try_specs(worlds, makers, issues):
    """Create each environment and each agent once, and add an issue for each failure."""
    env = None
    for label, spec in [*worlds.items(), *makers.items()]:
        try:
            created = spec.make(env)
            if spec.kind == "env":
                env = created
                env.close()
        except Exception as error:  # a user's factory can raise any error
            message = str(error) or type(error).__name__
            issues.append(DataIssue(f"{spec.kind} {label}", valid_values=message))
