"""What a sweep is asked for: agents, environments and syllabi by name or factory, made where they are needed."""

from __future__ import annotations

import difflib
import inspect
import itertools
import sys
import threading
from collections.abc import Callable, Mapping
from importlib import import_module
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.agents.protocol import as_agent
from pushlab.datasets.reading import list_users
from pushlab.ground._old_content import Unknown
from pushlab.ground._old_kept import checksum
from pushlab.ground._old_origins import of_env, of_value
from pushlab.ground.arguments import demand
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import data_dir

SHARED = 16  # environments that a process keeps for cells to come
# Put together, since who names them reaches all of them; a Spec says which one a cell does reach.
AGENTS = f"{__name__.partition('.')[0]}.agents"
KINDS = {"agents": "agent", "envs": "env", "syllabi": "syllabus"}


class Spec(NamedTuple):
    """What is to be made in the process that needs it: a name or a factory, and its arguments."""

    kind: str  # agent, env or syllabus
    target: Any
    arguments: dict[str, Any]
    content: str = ""  # a checksum of all that it is made of

    @property
    def by_name(self) -> bool:
        """Whether it is an environment with an id (or what Gymnasium knows about one)."""
        return self.kind == "env" and not callable(self.target)

    def make(self, env: Any = None) -> Any:
        """The agent, environment or syllabus. A factory of agents that has a parameter `env` gets it."""
        if isinstance(self.target, Real | None | list):
            raise ValueError(
                f"an {self.kind} is a name, a factory, or a dict of one and its arguments; got "
                f"{self.target!r:.60}"
            )
        if self.kind == "syllabus":
            from pushlab.lifetimes.syllabi import read_syllabus

            return read_syllabus(self.target)
        if self.by_name:
            import gymnasium as gym

            import pushlab  # noqa: F401  the ids

            return gym.make(self.target, **self.arguments)
        factory = found(self.target)
        if self.kind == "env":
            return factory(**self.arguments)
        asked = inspect.signature(factory).parameters
        needed = [
            name
            for name, one in asked.items()
            if one.default is one.empty
            and one.kind < one.VAR_POSITIONAL
            and name not in ("env", *self.arguments)
        ]
        if needed and not inspect.isclass(factory):
            return as_agent(factory)  # a policy: a function of the observation
        return as_agent(
            factory(**({"env": env} if "env" in asked else {}), **self.arguments)
        )


_here = (
    threading.local()
)  # environments of this thread, by their content: no two threads share one


def shared_env(spec: Spec) -> Any:
    """An environment that cells of this thread share, if it is one by name; a factory's is made anew each time, since a
    wrapper may remember what was before.
    """
    if not spec.by_name:
        return spec.make()
    made = vars(_here).setdefault("envs", {})
    if spec.content not in made:
        while len(made) >= SHARED:
            made.pop(next(iter(made))).close()
        made[spec.content] = spec.make()
    return made[spec.content]


def forget_envs() -> None:
    """One that was broken off may be left in any state."""
    vars(_here).pop("envs", None)


def read_specs(name: str, asked: Any) -> dict[str, Spec]:
    """Agents, envs or syllabi as `sweep` takes them: {label: Spec}. ValueError where two have one label."""
    kind = KINDS[name]
    if isinstance(asked, Mapping) and kind not in asked:
        pairs = [(str(label), one) for label, one in asked.items()]
    else:
        pairs = [
            (None, one)
            for one in (asked if isinstance(asked, list | tuple) else [asked])
        ]
    specs: dict[str, Spec] = {}
    for label, one in pairs:
        for given in (
            _each(one) if isinstance(one, Mapping) and kind in one else [{kind: one}]
        ):
            target, arguments = (
                given[kind],
                {
                    key: value
                    for key, value in given.items()
                    if key not in (kind, "name")
                },
            )
            own = given.get("name") or label or _label(target, arguments)
            if label and isinstance(one, Mapping) and "each" in one:
                own = f"{label}{_words({key: arguments[key] for key in one['each']})}"
            demand(isinstance(own, str), f"a name is words; {name} has {own!r:.60}")
            demand(
                own not in specs,
                f"{name} has {own!r} twice; give them names of their own",
            )
            specs[own] = Spec(kind, target, arguments)
    return specs


def _each(one):
    """A dict with "each": {argument: values} is one for each of them."""
    rest = {key: value for key, value in one.items() if key != "each"}
    axes = one.get("each", {})
    if not isinstance(axes, Mapping) or not all(
        isinstance(values, list | tuple) for values in axes.values()
    ):
        raise ValueError(f"each is {{argument: [values]}}; got {axes!r:.60}")
    return [
        rest | dict(zip(axes, values)) for values in itertools.product(*axes.values())
    ]


def _label(target, arguments):
    name = (
        target
        if isinstance(target, str)
        else getattr(target, "__name__", None) or getattr(target, "name", None)
    )
    name = (
        str(name if name is not None else target)
        .removeprefix("pushlab/")
        .removeprefix("pushlab:pushlab/")
    )
    return (Path(name).stem if name.endswith(".json") else name) + _words(arguments)


def _words(arguments):
    return "".join(
        f" {key}={value if isinstance(value, str | int | float) else getattr(value, 'name', value)}"
        for key, value in arguments.items()
    )


def found(target: Any) -> Callable:
    """A factory or function: itself, an agent by its name in pushlab.agents, or "module:name"."""
    if not isinstance(target, str):
        demand(
            callable(target),
            f"an agent is made by a name, a class or a function; got {target!r:.60}, which each "
            "cell would share",
        )
        return target
    module, _, name = target.rpartition(":")
    if module and (here := str(Path.cwd())) not in sys.path:
        sys.path.append(here)  # a module in the working directory, and no library there
    names = [] if module else dir(import_module(AGENTS))
    try:
        return getattr(import_module(module or AGENTS), name)
    except (ImportError, AttributeError) as error:
        close = difflib.get_close_matches(name, names, 1) or ["RandomAgent"]
        why = f": {error}" if module else ""
        raise ValueError(
            f"{target!r} is no agent of pushlab.agents (such as {close[0]}) and no module:name that can "
            f"be imported{why}"
        ) from error


def make_sure(axes: dict[str, dict]) -> None:
    """Makes each environment, syllabus and agent once, and writes into its Spec what it is made of.

    BadData listing all of which nothing can be made.
    """
    faults, env = [], None
    for kind in ("env", "syllabus", "agent"):
        for label, spec in axes.get(kind, {}).items():
            try:
                axes[kind][label] = spec = _with_content(spec)
                if kind == "env":
                    env = shared_env(spec)
                else:
                    spec.make(env)
            except Unknown as error:
                faults.append(
                    Fault(
                        f"{kind} {label}",
                        right=f"{error}; give a name or a factory, and as arguments "
                        "numbers and words",
                    )
                )
            except Exception as error:  # whatever a factory of the user's raises
                faults.append(
                    Fault(f"{kind} {label}", right=str(error) or type(error).__name__)
                )
    refuse(faults)


def _with_content(spec):
    """The Spec with a checksum of all that it is made of."""
    if spec.kind == "syllabus":
        phases = spec.make().phases
        parts = [
            of_value(phases),
            *(
                content_of_env(one.env, one.params)
                for phase in phases
                for one in phase.experiences
            ),
        ]
    elif spec.by_name:
        import gymnasium as gym

        parts, told = content_of_env(spec.target, spec.arguments), gym.spec(spec.target)
        if not str(told.entry_point).startswith(("pushlab", "gymnasium.")):
            spec = spec._replace(
                target=told
            )  # a process elsewhere may not have registered it
    else:
        parts = [
            of_value(found(spec.target)),
            of_value(spec.arguments),
            content_of("", spec.arguments),
        ]
    return spec._replace(content=checksum(spec.kind, *parts))


def content_of_env(name: str, arguments: Mapping[str, Any]) -> list:
    """Checksums of what an environment by name is made of: its world, its arguments, and the files that they name.

    A user that the world takes by itself counts like one that is given.
    """
    import gymnasium as gym

    world, by_itself = gym.spec(name).kwargs.get("world", ""), {}
    if isinstance(world, str) and world.startswith("pushlab."):
        module, _, cls = world.partition(":")
        asked = inspect.signature(getattr(import_module(module), cls)).parameters
        by_itself = {
            one: asked[one].default for one in ("user", "data") if one in asked
        }
    return [
        name,
        of_env(name),
        of_value(dict(arguments)),
        content_of("", {**by_itself, **arguments}),
    ]


def content_of(name: str, value: Any) -> Any:
    """Checksums of the files that an argument names: a user's tables, or a file; None where it names none.

    A folder counts as `user` or `data`; others may be where an agent writes.
    """
    if isinstance(value, Mapping):
        return [content_of(key, one) for key, one in value.items()]
    if isinstance(value, list | tuple):
        return [content_of(name, one) for one in value]
    if not isinstance(value, str | Path) or not str(value) or len(str(value)) > 1000:
        return None
    if name == "user" and isinstance(value, str):
        return user_content(value)
    if name == "data" and Path(value).is_dir():
        return [
            checksum(file.read_bytes())
            for file in sorted(Path(value).rglob("*"))
            if file.is_file()
        ]
    return checksum(Path(value).read_bytes()) if Path(value).is_file() else None


def user_content(user: str) -> str:
    """A checksum of a user's tables: every file of the user's folder and beside it. OSError where there is none."""
    folder = data_dir() / "push" / user if user in list_users() else Path(user)
    if folder.is_file():  # a wheel of users
        return checksum(folder.read_bytes())
    if not folder.is_dir():
        raise FileNotFoundError(
            f"there is no folder {user!r}, and no shipped user of that name; the shipped users are "
            + ", ".join(list_users())
        )
    return checksum(
        *(
            file.read_bytes()
            for place in (folder, folder.parent)
            for file in sorted(place.iterdir())
            if file.is_file()
        )
    )
