"""The instructions of a syllabus: what they mean, and how they can be wrong. See `syllabi` for their form."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from pushlab.ground.arguments import meant
from pushlab.ground.faults import Fault

STRUCTURES = ("CL", "ANT_A", "ANT_B")
TRAIN, TEST = "train", "test"
PHASE = re.compile(r"(0|[1-9][0-9]{0,8})\.(train|test)")
OWN_KEYS = ("$episode", "$task")
TOP_KEYS = (
    "name",
    "author",
    "structure",
    "contains",
    "default_params",
    "instructions",
    "version",
    "comment",
)
MAKE_KEYS = ("max_episode_steps", "disable_env_checker")
FORM = '{"name": …, "instructions": [{"$phase": "1.train"}, …]}'
INSTRUCTION = '{"$phase": …}, {"$repeat": …, "count": …} or {"$episode": …}'

HEAD = {
    "name": (str, "a text"),
    "default_params": (dict, "an object of arguments"),
    "instructions": (list, f"a list: {FORM}"),
}

# The instruction (counted from 0), the key, the value there, and what would be right.
Wrong = tuple[int | None, str | None, Any, str]


class Experience(NamedTuple):
    """Consecutive episodes of one task.

    Attributes:
        task: Name of the task.
        env: Id of the environment.
        params: Arguments of the environment.
        count: Number of episodes.
        item: Number of the instruction, from 0.
    """

    task: str
    env: str
    params: dict
    count: int  # type: ignore[assignment]
    item: int = 0

    @property
    def key(self) -> str:
        """The environment and its arguments as text."""
        content = {"$episode": self.env, **self.params}
        return json.dumps(content, ensure_ascii=False, sort_keys=True)


class Phase(NamedTuple):
    """A block of a lifetime: its `name` ("1.train"), its Experiences, the number of the instruction that begins it."""

    name: str
    experiences: list
    item: int = 0

    @property
    def kind(self) -> str:
        """The kind of block, "train" or "test"."""
        return self.name.partition(".")[2]

    @property
    def episodes(self) -> int:
        """Number of episodes."""
        return sum(one.count for one in self.experiences)


def read_phases(
    instructions: Iterable[Mapping[str, Any]], defaults: Mapping[str, Any]
) -> list[Phase]:
    """Return the phases of valid instructions; `defaults` are arguments of all environments.

    >>> [phase] = read_phases([{"$phase": "1.train"}, {"$repeat": {"$episode": "pushlab/RECEnv-v0"}, "count": 50}], {})
    >>> phase.kind, phase.experiences[0].task, phase.experiences[0].count
    ('train', 'RECEnv-v0', 50)
    """
    phases = []
    for at, item in enumerate(instructions):
        if "$phase" in item:
            phases.append(Phase(item["$phase"], [], at))
            continue
        params = {**defaults, **item.get("$repeat", item)}
        env = params.pop("$episode")
        task = params.pop("$task", env.rpartition("/")[2])
        experience = Experience(task, env, params, item.get("count", 1), at)
        phases[-1].experiences.append(experience)
    return phases


def tasks_of(phases: Iterable[Phase]) -> tuple[str, ...]:
    """Return the names of all tasks in the order in which they first occur."""
    names = [one.task for phase in phases for one in phase.experiences]
    return tuple(dict.fromkeys(names))


def structure_of(phases: Iterable[Phase], stated: str | None) -> str:
    """Return the structure that a syllabus states, else CL for one task and ANT_A for several."""
    return stated or ("CL" if len(tasks_of(phases)) == 1 else "ANT_A")


def find_faults(content: Any, file: str = "syllabus") -> list[Fault]:
    """Return the Faults of a syllabus, the content of its JSON file.

    The order of phases is checked once each instruction is valid, the structure once the order is.
    """
    found = list(_faults_of_form(content))
    if not found:
        defaults = content.get("default_params", {})
        phases = read_phases(content["instructions"], defaults)
        found = list(_faults_of_order(phases))
        structure = structure_of(phases, content.get("structure"))
        if not found and structure == "CL":
            found = list(_faults_of_cl(phases))
        elif not found:
            found = list(_faults_of_ant(phases, structure))
    faults = []
    for item, key, value, right in found:
        if not isinstance(value, str | None):
            value = json.dumps(value, default=repr)[:80]
        faults.append(Fault(file, item, key, value, right, "item"))
    return faults


# ---------------------------------------------------------------- instructions


def _faults_of_form(content) -> Iterator[Wrong]:
    if not isinstance(content, dict):
        yield None, None, content, FORM
        return
    yield from _unknown_keys(content, None, TOP_KEYS)
    content = {"name": "", "default_params": {}, **content}
    for key, (kind, right) in HEAD.items():
        if not isinstance(content.get(key), kind):
            yield None, key, content.get(key), right
            return
    if content.get("structure") not in (None, *STRUCTURES):
        right = f"one of {', '.join(STRUCTURES)}"
        yield None, "structure", content["structure"], right
    for at, item in enumerate(content["instructions"]):
        if not isinstance(item, dict):
            yield at, None, item, f"an object: {INSTRUCTION}"
            continue
        if "$phase" in item:
            yield from _faults_of_annotation(item, at)
            continue
        if at == 0:
            yield at, None, None, 'an episode before the first {"$phase": …}'
        if "$repeat" in item:
            yield from _unknown_keys(item, at, ("$repeat", "count"))
            count = item.get("count")
            if type(count) is not int or count < 1:
                yield at, "count", count, "a whole number from 1"
        episode = item.get("$repeat", item)
        yield from _faults_of_episode(episode, at, content["default_params"])


def _unknown_keys(item, at, known) -> Iterator[Wrong]:
    for key in item:
        if key not in known:
            right = f"no such key here; there are {', '.join(known)}{meant(key, known)}"
            yield at, key, None, right


def _faults_of_annotation(item, at) -> Iterator[Wrong]:
    yield from _unknown_keys(item, at, ("$phase", "enable_updates"))
    name = item["$phase"]
    if not isinstance(name, str) or not PHASE.fullmatch(name):
        right = '"<number>.train" or "<number>.test", such as "1.train"'
        yield at, "$phase", name, right
    elif item.get("enable_updates") not in (None, name.endswith(TRAIN)):
        right = "true in training and false in tests"
        yield at, "enable_updates", item["enable_updates"], right


def _faults_of_episode(episode, at, defaults) -> Iterator[Wrong]:
    if not isinstance(episode, dict) or not isinstance(episode.get("$episode"), str):
        right = f'an object with "$episode", the id of an environment: {INSTRUCTION}'
        yield at, "$episode", episode, right
        return
    env = episode["$episode"]
    task = episode.get("$task", env)
    if not isinstance(task, str) or not task.strip():
        yield at, "$task", task, "a name"
    known = arguments_of(env)
    if known is None:
        from gymnasium.envs.registration import registry

        right = f"the id of an environment that is registered{meant(env, registry)}"
        yield at, "$episode", env, right
        return
    for key in {**defaults, **episode}:
        if key not in OWN_KEYS + known and (known or key.startswith("$")):
            names = ", ".join(OWN_KEYS + known)
            right = f"no argument of {env}; it has {names}{meant(key, known)}"
            yield at, key, None, right


def arguments_of(name: str) -> tuple[str, ...] | None:
    """Return the arguments of an environment, none if it takes any; None if it isn't registered."""
    import gymnasium as gym
    from gymnasium.envs.registration import load_env_creator

    import pushlab  # noqa: F401  registers the ids

    try:
        spec = gym.spec(name)
    except (gym.error.Error, ImportError):
        return None
    maker = spec.kwargs.get("world", spec.entry_point)
    if isinstance(maker, str):
        maker = load_env_creator(maker)
    parameters = inspect.signature(maker).parameters
    if any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        return ()
    return tuple(sorted({*parameters, *MAKE_KEYS} - {"render_mode"}))


# ---------------------------------------------------------------- phases


def _faults_of_order(phases) -> Iterator[Wrong]:
    """Yield phases that are empty, or that don't follow the phase before: 0.test, 1.train, 1.test, 2.train, …"""
    following = [f"0.{TEST}", f"1.{TRAIN}"]
    before = "the start"
    for name, experiences, item in phases:
        if name not in following:
            right = f"next; after {before} comes {' or '.join(following)}"
            yield item, "$phase", name, right
        if not experiences:
            yield item, "$phase", name, "followed by episodes; this phase has none"
        number, _, kind = name.partition(".")
        following = [f"{int(number) + 1}.{TRAIN}"]
        if kind == TRAIN:
            following.insert(0, f"{number}.{TEST}")
        before = name
    if not any(phase.kind == TRAIN for phase in phases):
        yield None, "instructions", None, "there is no phase of training"


def _faults_of_cl(phases) -> Iterator[Wrong]:
    task, *others = tasks_of(phases)
    trained = set()
    for phase in phases:
        for one in phase.experiences:
            if phase.kind == TRAIN:
                trained.add(one.key)
            if one.task in others:
                right = (
                    f"{task}; a CL syllabus has one task (several are ANT_A or ANT_B)"
                )
                yield one.item, "$task", one.task, right
    if len(trained) < 2 and not others:
        right = (
            "a CL syllabus varies its task's parameters; here all training is the same"
        )
        yield None, "instructions", None, right


def _faults_of_ant(phases, structure) -> Iterator[Wrong]:
    tasks = tasks_of(phases)
    if len(tasks) < 2:
        right = f"several tasks, named by $task; here is only {tasks[0]}, as in CL"
        yield None, "instructions", None, right
    first: dict[tuple, str] = {}
    trained: list[str] = []
    for number, phase in enumerate(phases):
        here = tasks_of([phase])
        for one in phase.experiences:
            expected = first.setdefault((one.task, phase.kind), one.key)
            if one.key != expected:
                right = f"{expected}, as before: parameters of {one.task} do not vary in {phase.kind}"
                yield one.item, None, one.key, right
        if phase.kind == TRAIN:
            trained += here
            if len(here) > 1:
                right = f"training of one task; this one has {', '.join(here)}"
                yield phase.item, "$phase", phase.name, right
            if {later.kind for later in phases[number + 1 : number + 2]} != {TEST}:
                right = "followed by its test, which is mandatory in ANT"
                yield phase.item, "$phase", phase.name, right
            continue
        missing = [
            task
            for task in tasks
            if task not in here and (structure == "ANT_B" or task in trained)
        ]
        if missing:
            which = "all tasks" if structure == "ANT_B" else "all tasks trained so far"
            right = f"a test of {which}; {', '.join(missing)} is lacking"
            yield phase.item, "$phase", phase.name, right
    if structure == "ANT_B" and phases[0].kind == TRAIN:
        right = (
            "0.test: ANT_B compares with what the agent could do before any training"
        )
        yield phases[0].item, "$phase", phases[0].name, right
