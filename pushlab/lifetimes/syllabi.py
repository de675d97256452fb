"""Syllabi: the tasks that a lifetime trains and tests, in order, as JSON.

The form is that of the original lifelong-learning programme (its `learnkit` package, as kept in the
examples of l2metrics): a list of instructions, in which an annotation begins a phase and the
phase's episodes follow.

::

    {"name": "two users", "structure": "ANT_A", "contains": "episodes", "default_params": {},
     "instructions": [
      {"$phase": "0.test", "enable_updates": false},
      {"$repeat": {"$episode": "pushlab/push-v0", "$task": "mira", "user": "mira"}, "count": 20},
      {"$phase": "1.train", "enable_updates": true},
      {"$repeat": {"$episode": "pushlab/push-v0", "$task": "mira", "user": "mira"}, "count": 100},
      …]}

- `$phase`: "<number>.train" or "<number>.test": numbers count on from 1, and a phase's test follows
  its training. "0.test" may come first, to measure an agent that has learned nothing yet
- `$repeat`: an episode and the number of its repetitions, `count`. An episode without $repeat
  happens once
- `$episode`: the id of an environment, as `gymnasium.make` takes it (the original named a class of
  a package). All other keys are the environment's arguments, and `max_episode_steps`, which is
  `gymnasium.make`'s
- `$task`: name of the task (ours); else the id without its namespace
- `enable_updates`: whether the phase learns; may be left out
- `default_params`: arguments of all episodes that don't set them
- `structure`: CL, ANT_A or ANT_B (ours; the original has it in the title); else one task is CL and
  several are ANT_A

Three structures, after the README of l2metrics and its chapter "Creating custom syllabi":

- CL: continual learning: one task whose parameters vary; tests are optional
- `ANT_A`: adapting to new tasks: is the old one forgotten? Several tasks, no variation within one,
  a test after every training
- `ANT_B`: the same: does learning transfer to other tasks? Every test is of all tasks, and one
  precedes the first training, to show the effect of training on other tasks

In ANT a phase trains one task. A test may use other parameters than the training, such as held-out
days, if all tests of the task use the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.ground.arguments import meant
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import data_dir, json_text, read_json, write_text

Episode = Mapping[str, Any]
STRUCTURES = ("CL", "ANT_A", "ANT_B")
TRAIN = "train"
OWN_KEYS = ("$episode", "$task")
FIELDS = ("name", "instructions", "structure", "default_params")
TOP_KEYS = (*FIELDS, "contains", "author", "version", "comment")
FORM = '{"name": …, "instructions": [{"$phase": "1.train"}, …]}'
INSTRUCTION = '{"$phase": …}, {"$repeat": …, "count": …} or {"$episode": …}'


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


def tasks_of(phases: Iterable[Phase]) -> tuple[str, ...]:
    """Return the names of all tasks in the order in which they first occur."""
    names = [one.task for phase in phases for one in phase.experiences]
    return tuple(dict.fromkeys(names))


@dataclass(frozen=True)
class Syllabus:
    """The content of a syllabus file. `phases` and `tasks` interpret the instructions.

    Attributes:
        name: Title.
        instructions: List of dicts; see above.
        structure: "CL", "ANT_A", "ANT_B", or None to infer it.
        default_params: Arguments of all episodes.

    >>> syllabus = ant_a({"mira": {"$episode": "pushlab/push-v0", "user": "mira"},
    ...                   "theo": {"$episode": "pushlab/push-v0", "user": "theo"}}, train=30, test=5)
    >>> [(phase.name, [one.task for one in phase.experiences]) for phase in syllabus.phases][:3]
    [('0.test', ['mira', 'theo']), ('1.train', ['mira']), ('1.test', ['mira', 'theo'])]
    """

    name: str
    instructions: list
    structure: str | None = None
    default_params: dict = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Syllabus({self.name!r}, {self.kind}, {len(self.phases)} phases, tasks {', '.join(self.tasks)})"

    @property
    def phases(self) -> list[Phase]:
        """The Phases in order."""
        phases = []
        for at, item in enumerate(self.instructions):
            if "$phase" in item:
                phases.append(Phase(item["$phase"], [], at))
                continue
            params = {**self.default_params, **item.get("$repeat", item)}
            env = params.pop("$episode")
            task = params.pop("$task", env.rpartition("/")[2])
            experience = Experience(task, env, params, item.get("count", 1), at)
            phases[-1].experiences.append(experience)
        return phases

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks in the order in which they first occur."""
        return tasks_of(self.phases)

    @property
    def kind(self) -> str:
        """The structure, inferred if it isn't stated."""
        return self.structure or ("CL" if len(self.tasks) == 1 else "ANT_A")

    @property
    def count(self) -> int:
        """Number of episodes."""
        return sum(phase.episodes for phase in self.phases)

    def training(self, task: str) -> list[Experience]:
        """Return the Experiences that train a task, in order."""
        trained = [phase.experiences for phase in self.phases if phase.kind == TRAIN]
        return [one for one in sum(trained, []) if one.task == task]

    def validate(self) -> Syllabus:
        """Return the syllabus. Raises BadData that lists every fault."""
        refuse(find_faults(self.to_dict()))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the syllabus's file."""
        return {**asdict(self), "contains": "episodes"}


# ---------------------------------------------------------------- files


def read_syllabus(source: Syllabus | Mapping[str, Any] | Path | str) -> Syllabus:
    """Return a valid Syllabus from a JSON file, the content of such a file, or the name of a shipped syllabus.

    Raises:
        FileNotFoundError: There is no such file.
        BadData: The syllabus has faults; the message lists all of them.
    """
    if isinstance(source, Syllabus):
        return source.validate()
    content, file = source, "syllabus"
    if isinstance(source, str | Path):
        path = Path(source)
        if not path.is_file():
            path = data_dir() / "syllabi" / f"{source}.json"
        if not path.is_file():
            raise FileNotFoundError(
                f"there is no syllabus {str(source)!r}; pushlab comes with "
                f"{', '.join(shipped_syllabi())}, and any JSON file will do"
            )
        content, file = read_json(path), path.name
    refuse(find_faults(content, file))
    return _syllabus(content, Path(file).stem)


def _syllabus(content, name="syllabus"):
    known = {key: content[key] for key in FIELDS if key in content}
    return Syllabus(**{"name": name, **known})


def shipped_syllabi() -> list[str]:
    """Return the names of the syllabi that come with pushlab."""
    return sorted(path.stem for path in (data_dir() / "syllabi").glob("*.json"))


def write_syllabus(syllabus: Syllabus, path: Path | str) -> Path:
    """Write a syllabus as JSON; return the path. Raises BadData for a syllabus with faults."""
    return write_text(path, json_text(syllabus.validate().to_dict()))


# ---------------------------------------------------------------- making one


def cl(
    episode: Episode,
    variations: Sequence[Episode],
    train: int,
    test: int = 0,
    name: str = "continual learning",
    held_out: Episode | None = None,
) -> Syllabus:
    """Return a CL syllabus: one task, trained with one variation of its parameters after the other.

    Args:
        episode: "$episode", "$task" if wanted, and the arguments that don't vary.
        variations: Arguments of each training, in order; a variation may come again.
        train: Episodes of each training.
        test: Episodes of each test of each variation, after every training; 0 for no tests.
        held_out: Arguments of all tests, in place of the training's.
    """
    trained = [{**episode, **one} for one in variations]
    tested = [one for at, one in enumerate(trained) if one not in trained[:at]]
    return _compose(name, "CL", trained, tested, train, test, bool(test), held_out)


def ant_a(
    tasks: Mapping[str, Episode],
    train: int,
    test: int,
    order: Sequence[str] | None = None,
    name: str = "adapting to new tasks, A",
    pretest: bool = True,
    held_out: Episode | None = None,
    structure: str = "ANT_A",
) -> Syllabus:
    """Return an ANT_A syllabus: is a task forgotten while others are learned? All are tested after every training.

    Args:
        tasks: "$episode" and arguments of each task, by its name.
        train: Episodes of each training.
        test: Episodes of each test of each task.
        order: Names in the order of training, which may repeat; by default each once.
        pretest: Whether a test precedes the first training.
        held_out: Arguments of all tests, in place of the training's.
        structure: "ANT_A" or "ANT_B".
    """
    named = {task: {**episode, "$task": task} for task, episode in tasks.items()}
    order = list(tasks if order is None else order)
    for task in order:
        if task not in tasks:
            known = ", ".join(tasks)
            raise ValueError(f"order names the task {task!r}; the tasks are {known}")
    trained = [named[task] for task in order]
    tested = list(named.values())
    return _compose(name, structure, trained, tested, train, test, pretest, held_out)


def ant_b(
    tasks: Mapping[str, Episode],
    train: int,
    test: int,
    order: Sequence[str] | None = None,
    name: str = "adapting to new tasks, B",
    held_out: Episode | None = None,
) -> Syllabus:
    """Return an ANT_B syllabus: does learning one task help with others? As `ant_a`, always with a pretest."""
    return ant_a(tasks, train, test, order, name, True, held_out, "ANT_B")


def _compose(name, structure, trained, tested, train, test, pretest, held_out):
    """Return a syllabus that trains each of `trained` in turn, and tests all of `tested` after each."""
    tests = [{"$repeat": {**one, **(held_out or {})}, "count": test} for one in tested]
    instructions = []
    if pretest:
        instructions += [{"$phase": "0.test", "enable_updates": False}, *tests]
    for number, one in enumerate(trained, start=1):
        instructions.append({"$phase": f"{number}.train", "enable_updates": True})
        instructions.append({"$repeat": one, "count": train})
        if test:
            phase = {"$phase": f"{number}.test", "enable_updates": False}
            instructions += [phase, *tests]
    return Syllabus(name, instructions, structure).validate()


# ---------------------------------------------------------------- faults


def find_faults(content: Any, file: str = "syllabus") -> list[Fault]:
    """Return the Faults of a syllabus, the content of its JSON file.

    The order of phases and the structure are checked once each instruction is valid.
    """
    # (number of the instruction, key, its value, what would be right)
    found = list(_faults_of_form(content))
    if not found:
        syllabus = _syllabus(content)
        phases, structure = syllabus.phases, syllabus.kind
        found += _faults_of_order(phases, structure)
        if structure == "CL":
            found += _faults_of_cl(phases)
        else:
            found += _faults_of_ant(phases, structure)
    faults = []
    for item, key, value, right in found:
        if not isinstance(value, str | None):
            value = json.dumps(value, default=repr)[:80]
        faults.append(Fault(file, item, key, value, right, "item"))
    return faults


def _faults_of_form(content):
    if not isinstance(content, dict):
        yield None, None, content, FORM
        return
    yield from _unknown_keys(content, None, TOP_KEYS)
    structure = content.get("structure")
    defaults = content.get("default_params", {})
    instructions = content.get("instructions")
    if structure not in (None, *STRUCTURES):
        yield None, "structure", structure, f"one of {', '.join(STRUCTURES)}"
    if not isinstance(defaults, dict):
        yield None, "default_params", defaults, "an object of arguments"
    elif not isinstance(instructions, list) or not instructions:
        yield None, "instructions", instructions, f"a list: {FORM}"
    else:
        yield from _faults_of_instructions(instructions)


def _faults_of_instructions(instructions):
    for at, item in enumerate(instructions):
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
        yield from _faults_of_episode(episode, at)


def _unknown_keys(keys, at, known):
    for key in keys:
        if key not in known:
            right = f"no such key here; there are {', '.join(known)}{meant(key, known)}"
            yield at, key, None, right


def _faults_of_annotation(item, at):
    yield from _unknown_keys(item, at, ("$phase", "enable_updates"))
    name = item["$phase"]
    if not isinstance(name, str):
        yield at, "$phase", name, 'a text such as "1.train"'
    elif item.get("enable_updates") not in (None, name.endswith(TRAIN)):
        right = "true in training and false in tests"
        yield at, "enable_updates", item["enable_updates"], right


def _faults_of_episode(episode, at):
    if not isinstance(episode, dict) or not isinstance(episode.get("$episode"), str):
        right = f'an object with "$episode", the id of an environment: {INSTRUCTION}'
        yield at, "$episode", episode, right
        return
    if ":" in episode["$episode"]:  # gymnasium.make would import a module
        right = "the id of a registered environment, without a module"
        yield at, "$episode", episode["$episode"], right
    task = episode.get("$task", "a name")
    if not isinstance(task, str) or not task.strip():
        yield at, "$task", task, "a name"
    own = [key for key in episode if key.startswith("$")]
    yield from _unknown_keys(own, at, OWN_KEYS)


def _faults_of_order(phases, structure):
    """Yield phases that are empty or out of order: 0.test, 1.train, 1.test, 2.train, …

    In ANT no test may be missing but the first, and in ANT_B not that one either.
    """
    following = ["0.test"] if structure == "ANT_B" else ["0.test", "1.train"]
    before = "the start"
    for name, experiences, item in phases:
        if name not in following:
            right = (
                f"next; after {before} comes {' or '.join(following)} in {structure}"
            )
            yield item, "$phase", name, right
            return
        if not experiences:
            yield item, "$phase", name, "followed by episodes; this phase has none"
        number, _, kind = name.partition(".")
        following = []
        if kind == TRAIN:
            following.append(f"{number}.test")
        if kind == "test" or structure == "CL":
            following.append(f"{int(number) + 1}.train")
        before = name
    if structure != "CL" and phases[-1].kind == TRAIN:
        yield phases[-1].item, "$phase", before, f"last; {before[:-5]}test is missing"


def _faults_of_cl(phases):
    tasks = tasks_of(phases)
    if len(tasks) > 1:
        right = f"one task, as in CL; here are {', '.join(tasks)}"
        yield None, "instructions", None, right
    trained = [phase.experiences for phase in phases if phase.kind == TRAIN]
    if len({one.key for one in sum(trained, [])}) == 1:
        right = (
            "a CL syllabus varies its task's parameters; here all training is the same"
        )
        yield None, "instructions", None, right


def _faults_of_ant(phases, structure):
    tasks = tasks_of(phases)
    if len(tasks) == 1:
        right = (
            f"several tasks, named by $task, as in {structure}; here is only {tasks[0]}"
        )
        yield None, "instructions", None, right
    variants = {}
    required = set(tasks) if structure == "ANT_B" else set()
    for phase in phases:
        here = tasks_of([phase])
        for one in phase.experiences:
            expected = variants.setdefault((one.task, phase.kind), one.key)
            if one.key != expected:
                right = f"{expected}, as before: parameters of {one.task} don't vary"
                yield one.item, None, one.key, right
        if phase.kind == TRAIN:
            required.update(here)
            if len(here) > 1:
                right = f"training of one task; here are {', '.join(here)}"
                yield phase.item, "$phase", phase.name, right
        elif missing := required.difference(here):
            right = f"a test of all tasks so far, in ANT_B of all: {', '.join(sorted(missing))} is missing"
            yield phase.item, "$phase", phase.name, right
