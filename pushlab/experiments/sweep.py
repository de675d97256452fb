"""A grid of agents x environments x seeds: on all cores, or on a cluster.

>>> from pushlab.experiments.sweep import sweep
>>> envs = [{"env": "pushlab/evalumap2-v0", "user": "mira"}]
>>> log = sweep(["RandomCandidate", "MostOpened"], envs, seeds=2, steps=50, out=False, workers=1, progress=False)
>>> log[["env", "agent", "seed", "length"]].values.tolist()[0]
['evalumap2-v0 user=mira', 'RandomCandidate', 0, 50]
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent
from pushlab.experiments.cells import Cell, run_cells
from pushlab.ground.arguments import demand, one_of, whole
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.seeds import part_seed

TESTING = 1  # the part of a run that has seeds of its own
RUN_COLUMNS = ["run", "env", "agent", "seed", "lifetime", "response_time"]


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
    strict: bool = False,
    name: str = "sweep",
) -> Any:
    """Run every agent in every environment under every seed and return the rows of all runs.

    Args:
        agents: A list, or {label: agent}. An agent is the name of one in `pushlab.agents`, "module:factory", a class
            or a factory, or a dict {"agent": any of these, "name": label, argument: value, ...}. A factory with a
            parameter `env` gets the environment. Each run makes its own agent.
        envs: A list, or {label: environment}: an id, a factory, or {"env": id, "name": label, argument: value, ...}.
            {"each": {"user": ["mira", "theo"]}} in such a dict gives one environment per value.
        seeds: Number of seeds, which count from 0, or the seeds themselves.
        out: Folder for the results, in which later calls continue. None is a folder in pushlab's cache, False stores
            nothing.
        syllabi: Names, files or dicts of syllabi in place of environments; a run is a lifetime.
        function: A function to run in place of episodes. Its arguments are those of `agent`, `env`, `syllabus` and
            `seed` that the call has, and a value of each axis of `grid`. It returns rows like the function of a `Cell`.
        grid: {axis: values, or {label: value}}.
        episodes: Number of episodes per run.
        tests: Number of episodes that follow without learning or exploring (`block_type` "test").
        steps, record: As in `pushlab.rollout`; record is "episodes" or "steps".
        workers, fresh, progress, name: As in `pushlab.experiments.cells.run_cells`.
        strict: Whether to raise CellsFailed after all runs if one failed, rather than warn.

    Returns:
        A DataFrame with a row per episode (or step): env or syllabus, agent, seed, then the columns of the log except
        times. For a function that returns several tables, {name: DataFrame}.

    Raises BadData before anything runs if an agent, environment or syllabus can't be made; it lists all of them.
    """
    rollouts = function is None and envs is not None
    if function is None:
        demand(
            agents is not None and (envs is None) != (syllabi is None) and not grid,
            "a sweep needs agents and either envs or syllabi; or a function, and a grid of its arguments",
        )
    whole("episodes", episodes, 1)
    whole("tests", tests, 0)
    one_of("record", record, ("episodes", "steps"))
    if steps is not None:
        whole("steps", steps, 1)

    given = {"env": envs, "syllabus": syllabi, "agent": agents}
    faults: list[Fault] = []
    axes = {
        kind: read_specs(kind, value, faults)
        for kind, value in given.items()
        if value is not None
    }
    make_once(axes, faults)
    refuse(faults)
    for axis, values in (grid or {}).items():
        axes[axis] = _labelled(axis, values)
    if seeds is not None:
        numbers = (
            seeds if isinstance(seeds, Iterable) else range(whole("seeds", seeds, 1))
        )
        axes["seed"] = _labelled("seed", [whole("a seed", seed, 0) for seed in numbers])

    settings = {}
    if rollouts:
        settings = {
            "episodes": episodes,
            "tests": tests,
            "steps": steps,
            "record": record,
        }
    work = function or (run_episodes if rollouts else run_lifetime)
    cells = []
    for combination in itertools.product(*axes.values()):
        labels = dict(zip(axes, combination))
        values = {axis: axes[axis][label] for axis, label in labels.items()}
        cells.append(Cell(labels, run_cell, (work, values, settings)))
    tables = run_cells(cells, out, workers, fresh, progress, strict, name)
    if set(tables) - {"results"}:
        return tables
    return tables.get("results", pd.DataFrame(columns=list(axes)))


def run_cell(
    work: Callable, values: Mapping[str, Any], settings: Mapping[str, Any]
) -> Any:
    """Make the agent, environment or syllabus of a cell and return the rows of its run."""
    made = dict(values)
    for kind in ("env", "syllabus", "agent"):
        if isinstance(made.get(kind), Spec):
            made[kind] = made[kind].make(made.get("env"))
    try:
        return work(**made, **settings)
    finally:
        if isinstance(values.get("env"), Spec):
            made["env"].close()


def run_episodes(
    agent: Agent,
    env: Any,
    seed: int = 0,
    episodes: int = 1,
    tests: int = 0,
    steps: int | None = None,
    record: str = "episodes",
) -> pd.DataFrame:
    """Return the log of a rollout, followed by `tests` episodes without learning or exploring."""
    from pushlab.logs.rollout import rollout

    settings: dict[str, Any] = {"steps": steps, "record": record, "progress": False}
    logs = [rollout(env, agent, episodes, seed, **settings)]
    if tests:
        settings |= {"learn": False, "explore": False, "block": 1, "block_type": "test"}
        logs.append(rollout(env, agent, tests, part_seed(seed, TESTING), **settings))
    log = pd.concat(logs, ignore_index=True)
    return log.drop(columns=RUN_COLUMNS, errors="ignore")


def run_lifetime(agent: Agent, syllabus: Any, seed: int = 0) -> pd.DataFrame:
    """Return the log of a lifetime."""
    from pushlab.lifetimes.live import run_syllabus

    log = run_syllabus(syllabus, agent, seed, progress=False)
    return log.drop(columns=["run", "agent", "seed"])


# ---------------------------------------------------------------- agents and environments


class Spec(NamedTuple):
    """An agent, environment or syllabus to make in the process that runs it.

    Attributes:
        kind: "agent", "env" or "syllabus".
        target: A factory, Gymnasium's spec of an environment, or a syllabus as `read_syllabus` takes it.
        arguments: Arguments of the factory.
        code: The class of an environment that has an id, for the fingerprint.
    """

    kind: str
    target: Any
    arguments: dict[str, Any]
    code: Any = None

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
        needed = [
            name
            for name, one in parameters.items()
            if one.default is one.empty
            and one.kind < one.VAR_POSITIONAL
            and name not in ("env", *self.arguments)
        ]
        if needed and not inspect.isclass(self.target):
            return as_agent(self.target)  # a policy: a function of the observation
        arguments = dict(self.arguments)
        if "env" in parameters:
            arguments["env"] = env
        return as_agent(self.target(**arguments))


def read_specs(kind: str, given: Any, faults: list[Fault]) -> dict[str, Spec]:
    """Return {label: Spec} of agents, envs or syllabi as `sweep` takes them, and add a fault for each unknown name.

    Raises ValueError for two equal labels.
    """
    if isinstance(given, Mapping) and kind not in given:
        pairs = [(str(label), one) for label, one in given.items()]
    elif isinstance(given, (list, tuple)):
        pairs = [(None, one) for one in given]
    else:
        pairs = [(None, given)]
    demand(pairs, f"there is no {kind}: the list is empty")
    specs: dict[str, Spec] = {}
    for label, one in pairs:
        for single in _each(kind, one):
            arguments = {
                key: value for key, value in single.items() if key not in (kind, "name")
            }
            own = single.get("name") or label or _label(single[kind], arguments)
            if label and isinstance(one, Mapping) and "each" in one:
                varied = {key: arguments[key] for key in one["each"]}
                own = label + _arguments_text(varied)
            demand(own not in specs, f"{kind} {own!r} is there twice; give them names")
            try:
                specs[own] = _spec(kind, single[kind], arguments)
            except Exception as error:
                faults.append(Fault(f"{kind} {own}", right=str(error)))
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
        return Spec(kind, load_factory(target), arguments)
    if kind == "env" and not callable(target):
        import gymnasium as gym
        from gymnasium.envs.registration import load_env_creator

        import pushlab  # noqa: F401  registers the ids

        spec = gym.spec(target)
        entry = spec.entry_point
        code = load_env_creator(entry) if isinstance(entry, str) else entry
        return Spec(kind, spec, arguments, code)
    return Spec(kind, target, arguments)


def _label(target, arguments):
    name = target if isinstance(target, str) else getattr(target, "__name__", None)
    name = str(name or getattr(target, "name", target))
    name = name.removeprefix("pushlab/").removeprefix("pushlab:pushlab/")
    if name.endswith(".json"):
        name = Path(name).stem
    return name + _arguments_text(arguments)


def _arguments_text(arguments):
    text = ""
    for key, value in arguments.items():
        if not isinstance(value, (str, int, float)):
            value = getattr(value, "name", value)
        text += f" {key}={value}"
    return text


def load_factory(target: Any) -> Callable:
    """Return a factory: `target` itself, an agent of `pushlab.agents` by name, or "module:name".

    A module can also be in the working directory.

    Raises ValueError for anything else.
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
        close = difflib.get_close_matches(name, dir(agents), 1) or ["RandomAgent"]
        raise ValueError(
            f"{target!r} is no agent of pushlab.agents (such as {close[0]}) and no module:name that can be imported "
            f"({error})"
        ) from error


def make_once(axes: Mapping[str, Mapping[str, Spec]], faults: list[Fault]) -> None:
    """Make each environment, syllabus and agent once, and add a fault for each that can't be made."""
    env = None
    for kind in ("env", "syllabus", "agent"):
        for label, spec in axes.get(kind, {}).items():
            try:
                made = spec.make(env)
                if kind == "env":
                    env = made
                    env.close()
            except Exception as error:  # of a user's factory, too
                words = str(error) or type(error).__name__
                faults.append(Fault(f"{kind} {label}", right=words))


def _labelled(axis, values):
    """Return {label: value} of an axis."""
    if isinstance(values, Mapping):
        return dict(values)
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(
            f"the axis {axis} is a list of values, or {{label: value}}; got {values!r:.60}"
        )
    values = list(values)
    demand(values, f"there is no {axis}: the list is empty")
    return {value: value for value in values}
