"""A grid of agents × environments × seeds, each cell a run of its own: on all cores, or on a cluster.

>>> from pushlab.studies.sweep import sweep
>>> log = sweep(["RandomCandidate", "MostOpened"], [{"env": "pushlab/evalumap2-v0", "user": "mira"}], seeds=2,
...             steps=50, out=False, workers=1, progress=False)
>>> log[["env", "agent", "seed", "length"]].values.tolist()[0]
['evalumap2-v0 user=mira', 'RandomCandidate', 0, 50]

The same from a file, by `pushlab sweep FILE`, and on a cluster within `joblib.parallel_config("dask")`: the rows are
the same, digit by digit. What is finished is kept: see `pushlab.studies.cells`.
"""

from __future__ import annotations

import difflib
import inspect
import itertools
import os
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.agents.protocol import Agent, as_agent
from pushlab.datasets.reading import list_users
from pushlab.ground.arguments import demand, one_of, whole
from pushlab.ground.content import Unknown
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import data_dir
from pushlab.ground.kept import checksum
from pushlab.ground.origins import of_env, of_value
from pushlab.ground.seeds import part_seed
from pushlab.studies.cells import Cell, run_cells

TESTING = 1                 # the part of a run that has seeds of its own
SHARED = 16                 # environments that a process keeps for cells to come
# Put together, since who names them reaches all of them; a Spec says which one a cell does reach.
AGENTS = f"{__name__.partition('.')[0]}.agents"
TAKEN = ("file", "state", "error", "traceback")     # columns of `status`
KEYS = {"agents": "agent", "envs": "env", "syllabi": "syllabus"}


class Spec(NamedTuple):
    """What is to be made in the process that needs it: a name or a factory, and its arguments."""

    kind: str               # agent, env or syllabus
    target: Any
    arguments: dict[str, Any]
    content: str = ""       # a checksum of all that it is made of

    def make(self, env: Any = None) -> Any:
        """The agent, environment or syllabus. A factory of agents that has a parameter `env` gets it."""
        if self.kind == "syllabus":
            from pushlab.lifetimes.syllabi import read_syllabus

            return read_syllabus(self.target)
        if self.kind == "env" and isinstance(self.target, str):
            import gymnasium as gym

            import pushlab  # noqa: F401  the ids

            return gym.make(self.target, **self.arguments)
        factory = found(self.target)
        if self.kind == "env":
            return factory(**self.arguments)
        asked = inspect.signature(factory).parameters
        needed = [name for name, one in asked.items() if one.default is one.empty and one.kind < one.VAR_POSITIONAL
                  and name not in ("env", *self.arguments)]
        if needed and not inspect.isclass(factory):
            return as_agent(factory)                                    # a policy: a function of the observation
        return as_agent(factory(**({"env": env} if "env" in asked else {}), **self.arguments))


def sweep(agents: Any = None, envs: Any = None, seeds: int | Iterable[int] | None = 1,
          out: Path | str | bool | None = None, *, syllabi: Any = None, function: Callable | None = None,
          grid: Mapping[str, Any] | None = None, episodes: int = 1, tests: int = 0, steps: int | None = None,
          record: str = "episodes", workers: int | None = None, fresh: bool = False, progress: bool = True,
          time_limit: float | None = None, strict: bool = False, name: str | None = None) -> Any:
    """Runs every agent in every environment under every seed; returns the rows of all, a DataFrame.

    agents    a list, or {name: one}. One is the name of an agent of `pushlab.agents`, "module:factory", a class or
              factory, or a dict {"agent": any of these, "name": "eps 0.2", and arguments}. A factory that has a
              parameter `env` is given the environment. Each cell makes its own agent
    envs      the same: an id, a factory, or {"env": id, "name": …, and arguments}. {"each": {"user": ["mira", "theo"]}}
              among them stands for one environment each. Cells in one process share an environment: it has to begin
              anew at each `reset(seed=…)`
    seeds     how many, from 0, or which
    out       a folder, in which any later call goes on; None is one in pushlab's cache, False keeps nothing
    syllabi   in place of environments: names, files or dicts of syllabi; a cell is a lifetime
    function  in place of all that: a cell is `function(**cell)`, which gets `agent` and `env` (made) and `seed`, as far
              as these are given, and a value of each axis of `grid`; returns what a `Cell`'s function does
    grid      {axis: values, or {label: value}}
    episodes  of each cell; `tests` more are run afterwards, neither learning nor exploring (`block_type` "test")
    steps, record   as in `pushlab.logs.rollout.rollout`; record is "episodes" or "steps"
    strict    raise CellsFailed, once all others are done, if a cell failed; otherwise warn
    workers, fresh, progress, time_limit, name   as in `pushlab.studies.cells.run_cells`

    returns   a row an episode (or step): env or syllabus, agent, seed, then the columns of the log, but for seconds. Of
              a function that returns several tables {name: DataFrame}

    Raises BadData for names and arguments that nothing can be made of, all at once and before anything runs.
    """
    given = {"envs": envs, "syllabi": syllabi, "agents": agents}
    axes: dict[str, dict] = {KEYS[name]: read_specs(name, value) for name, value in given.items() if value is not None}
    if function is None:
        demand(agents is not None and (envs is None) != (syllabi is None) and not grid,
               "a sweep needs agents and either envs or syllabi; or a function, and a grid of its arguments")
    whole("episodes", episodes, 1), whole("tests", tests, 0), one_of("record", record, ("episodes", "steps"))
    rollouts = function is None and envs is not None
    how = {"episodes": episodes, "tests": tests, "steps": steps, "record": record} if rollouts else {}
    _make_sure(axes)
    for axis, values in (grid or {}).items():
        if not isinstance(values, Mapping) and not all(isinstance(one, str | Real | None) for one in values):
            raise ValueError(f"values of the axis {axis} are numbers or words, or have labels, {{label: value}}; got "
                             f"{values!r:.60}")
        axes[axis] = dict(values) if isinstance(values, Mapping) else {one: one for one in values}
    if seeds is not None:
        seeds = range(whole("seeds", seeds, 1)) if not isinstance(seeds, Iterable) else seeds
        axes["seed"] = {whole("a seed", seed, 0): int(seed) for seed in seeds}
    for axis, values in axes.items():
        demand(len(values), f"there is no {axis}: the list is empty")
        demand(axis not in TAKEN, f"an axis of a sweep has another name than {axis}")
    work = function or (live if syllabi is not None else run)
    data = {axis: {label: content_of(axis, one) for label, one in values.items()} for axis, values in axes.items()}
    cells = []
    for labels in itertools.product(*axes.values()):
        here = dict(zip(axes, labels))
        cells.append(Cell(here, _do, (work, how, {axis: axes[axis][label] for axis, label in here.items()}),
                          [data[axis][label] for axis, label in here.items()]))
    about = {"what": getattr(work, "__qualname__", "function"), **how}
    tables = run_cells(cells, out, workers, fresh, progress, time_limit, strict, name or "sweep", about)
    return tables if set(tables) - {"results"} else tables.get("results", pd.DataFrame(columns=list(axes)))


# ---------------------------------------------------------------- one cell

_shared: dict[str, Any] = {}                # environments of this process, by their content


def _do(work, how, values):
    """A cell: makes what it is of, and does it."""
    values = dict(values)
    if isinstance(values.get("env"), Spec):
        values["env"] = _env(values["env"])
    for name in ("agent", "syllabus"):
        if isinstance(values.get(name), Spec):
            values[name] = values[name].make(values.get("env"))
    try:
        return work(**values, **how)
    except BaseException:
        _shared.clear()                     # one that was broken off may be left in any state
        raise


def _env(spec):
    """An environment that cells of this process share."""
    if spec.content not in _shared:
        while len(_shared) >= SHARED:
            _shared.pop(next(iter(_shared))).close()
        _shared[spec.content] = spec.make()
    return _shared[spec.content]


def run(agent: Agent, env: Any, seed: int = 0, episodes: int = 1, tests: int = 0, steps: int | None = None,
        record: str = "episodes") -> pd.DataFrame:
    """A rollout as a cell: its log, and that of `tests` episodes without learning and exploring; no seconds in it."""
    from pushlab.logs.rollout import rollout

    how: dict[str, Any] = {"steps": steps, "record": record, "progress": False}
    logs = [rollout(env, agent, episodes, seed, **how)]
    if tests:
        logs.append(rollout(env, agent, tests, part_seed(seed, TESTING), learn=False, explore=False, block=1,
                            block_type="test", **how))
    return pd.concat(logs, ignore_index=True).drop(columns=["run", "env", "agent", "seed", "lifetime", "response_time"],
                                                   errors="ignore")


def live(agent: Agent, syllabus: Any, seed: int = 0) -> pd.DataFrame:
    """A lifetime as a cell: its log."""
    from pushlab.lifetimes.live import run_syllabus

    log = run_syllabus(syllabus, agent, seed, progress=False)
    return pd.DataFrame(log.drop(columns=["run", "agent", "seed"]))


# ---------------------------------------------------------------- what is asked for

def read_specs(name: str, asked: Any) -> dict[str, Spec]:
    """Agents, envs or syllabi as `sweep` takes them: {label: Spec}. ValueError where two have one label."""
    kind = KEYS[name]
    if isinstance(asked, Mapping) and kind not in asked:
        pairs = [(str(label), one) for label, one in asked.items()]
    else:
        pairs = [(None, one) for one in (asked if isinstance(asked, list | tuple) else [asked])]
    specs: dict[str, Spec] = {}
    for label, one in pairs:
        for given in _each(one) if isinstance(one, Mapping) and kind in one else [{kind: one}]:
            target, arguments = given[kind], {key: value for key, value in given.items() if key not in (kind, "name")}
            own = given.get("name") or label or _label(target, arguments)
            if label and isinstance(one, Mapping) and "each" in one:
                own = f"{label}{_words({key: arguments[key] for key in one['each']})}"
            demand(own not in specs, f"{name} has {own!r} twice; give them names of their own")
            specs[own] = Spec(kind, target, arguments)
    return specs


def _each(one):
    """A dict with "each": {argument: values} is one for each of them."""
    rest = {key: value for key, value in one.items() if key != "each"}
    axes = one.get("each", {})
    return [rest | dict(zip(axes, values)) for values in itertools.product(*axes.values())]


def _label(target, arguments):
    name = target if isinstance(target, str) else getattr(target, "__name__", None) or getattr(target, "name", None)
    name = str(name if name is not None else target).removeprefix("pushlab/").removeprefix("pushlab:pushlab/")
    return (Path(name).stem if name.endswith(".json") else name) + _words(arguments)


def _words(arguments):
    return "".join(f" {key}={value if isinstance(value, str | int | float) else getattr(value, 'name', value)}"
                   for key, value in arguments.items())


def found(target: Any) -> Callable:
    """A factory or function: itself, an agent by its name in pushlab.agents, or "module:name". ValueError for neither.
    """
    if not isinstance(target, str):
        demand(callable(target), f"an agent is made by a name, a class or a function; got {target!r:.60}, which each "
                                 "cell would share")
        return target
    module, _, name = target.rpartition(":")
    names = [] if module else dir(import_module(AGENTS))
    try:
        return getattr(import_module(module or AGENTS), name)
    except (ImportError, AttributeError):
        close = difflib.get_close_matches(name, names, 1) or ["RandomAgent"]
        raise ValueError(f"{target!r} is no agent of pushlab.agents (such as {close[0]}) and no module:name that can "
                         "be imported") from None


def _make_sure(axes):
    """Makes each environment, syllabus and agent once, and writes into its Spec what it is made of.

    BadData listing all of which nothing can be made.
    """
    faults, env = [], None
    for kind in ("env", "syllabus", "agent"):
        for label, spec in axes.get(kind, {}).items():
            try:
                axes[kind][label] = spec = _with_content(spec)
                if kind == "env":
                    env = _env(spec)
                else:
                    spec.make(env)
            except Unknown as error:
                faults.append(Fault(f"{kind} {label}", right=f"{error}; give a name or a factory, and as arguments "
                                                             "numbers and words"))
            except Exception as error:                                  # whatever a factory of the user's raises
                faults.append(Fault(f"{kind} {label}", right=str(error) or type(error).__name__))
    refuse(faults)


def _with_content(spec):
    """The Spec with a checksum of all that it is made of."""
    parts = [spec.kind, content_of("", spec.arguments)]
    if spec.kind == "syllabus":
        met = {one.told(): one for phase in spec.make().phases for one in phase.experiences}
        parts += [of_value(spec.make().phases), *([of_env(one.env), content_of("", one.params)]
                                                  for one in met.values())]
    elif spec.kind == "env" and isinstance(spec.target, str):
        parts += [spec.target, of_env(spec.target), of_value(spec.arguments)]
    else:
        parts += [of_value(found(spec.target)), of_value(spec.arguments)]
    return spec._replace(content=checksum(*parts))


def content_of(name: str, value: Any) -> Any:
    """Checksums of the files that an argument names: a user's tables, or a path; None where it names none."""
    if isinstance(value, Mapping):
        return [content_of(key, one) for key, one in value.items()]
    if name == "user" and isinstance(value, str):
        return user_content(value)
    if isinstance(value, Path) or isinstance(value, str) and os.sep in value:
        files = sorted(Path(value).rglob("*")) if Path(value).is_dir() else [Path(value)]
        return [checksum(file.read_bytes()) for file in files if file.is_file()]
    return None


def user_content(user: str) -> str:
    """A checksum of a user's tables: every file of the user's folder and beside it. OSError where there is none."""
    folder = data_dir() / "push" / user if user in list_users() else Path(user)
    return checksum(*(file.read_bytes() for place in (folder, folder.parent)
                      for file in sorted(place.iterdir()) if file.is_file()))
