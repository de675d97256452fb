"""Syllabi: the training and tests of a lifetime, in order, as JSON.

The format is from the original lifelong-learning programme (its `learnkit` package, see the examples of l2metrics): a
list of instructions, in which an annotation begins a phase and the phase's episodes follow.

::

    {"name": "two users", "structure": "ANT_A", "contains": "episodes", "default_params": {},
     "instructions": [
      {"$phase": "0.test", "enable_updates": false},
      {"$repeat": {"$episode": "pushlab/push-v0", "$task": "mira", "user": "mira"}, "count": 20},
      {"$phase": "1.train", "enable_updates": true},
      {"$repeat": {"$episode": "pushlab/push-v0", "$task": "mira", "user": "mira"}, "count": 100},
      …]}

- `$phase`: "<number>.train" or "<number>.test". Numbers count from 1, and a test follows the training with its number.
  An optional "0.test" at the start measures the untrained agent
- `$repeat`: an episode that is repeated `count` times; an episode without $repeat happens once
- `$episode`: the id of an environment for `gymnasium.make` (in the original, a class of a package). All other keys are
  the environment's arguments, and `max_episode_steps`, an argument of `gymnasium.make`
- `$task`: name of the task (ours); by default the id without its namespace
- `enable_updates`: whether the phase learns; optional
- `default_params`: arguments of all episodes that don't set them
- `structure`: CL, ANT_A or ANT_B (ours; the original has it in the title); by default CL for one task, ANT_A for
  several

Three structures, after the README of l2metrics and its chapter "Creating custom syllabi":

- CL, continual learning: one task whose parameters vary; tests are optional
- ANT_A, adapting to new tasks, for forgetting: several tasks, each with fixed parameters, and a test after every
  training
- ANT_B, adapting to new tasks, for transfer: the same, but every test has all tasks, and one precedes the first
  training

In ANT a phase trains one task. A test can use other parameters than the training, such as held-out days, if all tests
of the task use the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.utils.arguments import suggestion
from pushlab.utils.files import data_dir, json_text, read_json, write_text
from pushlab.utils.issues import DataIssue, raise_issues

Episode = Mapping[str, Any]
STRUCTURES = ("CL", "ANT_A", "ANT_B")
TRAIN = "train"
EPISODE_KEYS = ("$episode", "$task")
FIELDS = ("name", "instructions", "structure", "default_params")
SYLLABUS_KEYS = (*FIELDS, "contains", "author", "version", "comment")
FORM = '{"name": …, "instructions": [{"$phase": "1.train"}, …]}'
INSTRUCTION = '{"$phase": …}, {"$repeat": …, "count": …} or {"$episode": …}'


class Experience(NamedTuple):
    """Consecutive episodes of one task.

    Attributes:
        task: Name of the task.
        env: Id of the environment.
        params: Arguments of the environment.
        count: Number of episodes.
        instruction: Number of the instruction, from 0.
    """

    task: str
    env: str
    params: dict
    count: int  # type: ignore[assignment]
    instruction: int = 0

    @property
    def key(self) -> str:
        """The environment and its arguments as JSON."""
        content = {"$episode": self.env, **self.params}
        return json.dumps(content, ensure_ascii=False, sort_keys=True)


class Phase(NamedTuple):
    """A block of a lifetime: its name ("1.train"), its Experiences, the number of the instruction that begins it."""

    name: str
    experiences: list
    instruction: int = 0

    @property
    def block_type(self) -> str:
        """Type of the block, "train" or "test"."""
        return self.name.partition(".")[2]

    @property
    def n_episodes(self) -> int:
        """Number of episodes."""
        return sum(experience.count for experience in self.experiences)


def task_names(phases: Iterable[Phase]) -> tuple[str, ...]:
    """Return the names of all tasks in the order in which they first occur."""
    names: dict[str, None] = {}
    for phase in phases:
        names |= dict.fromkeys(experience.task for experience in phase.experiences)
    return tuple(names)


@dataclass(frozen=True)
class Syllabus:
    """Content of a syllabus file. `phases` and `tasks` interpret the instructions.

    Attributes:
        name: Title.
        instructions: List of dicts; see the module.
        structure: "CL", "ANT_A", "ANT_B", or None to infer it.
        default_params: Arguments of all episodes.

    >>> syllabus = ant_a({"mira": {"$episode": "pushlab/push-v0", "user": "mira"},
    ...                   "theo": {"$episode": "pushlab/push-v0", "user": "theo"}}, train=30, test=5)
    >>> [(phase.name, [item.task for item in phase.experiences]) for phase in syllabus.phases][:3]
    [('0.test', ['mira', 'theo']), ('1.train', ['mira']), ('1.test', ['mira', 'theo'])]
    """

    name: str
    instructions: list
    structure: str | None = None
    default_params: dict = field(default_factory=dict)

    def __repr__(self) -> str:
        tasks = ", ".join(self.tasks)
        return f"Syllabus({self.name!r}, {self.kind}, {len(self.phases)} phases, tasks {tasks})"

    @property
    def phases(self) -> list[Phase]:
        """The Phases in order."""
        phases = []
        for number, instruction in enumerate(self.instructions):
            if "$phase" in instruction:
                phases.append(Phase(instruction["$phase"], [], number))
                continue
            params = {**self.default_params, **instruction.get("$repeat", instruction)}
            env = params.pop("$episode")
            task = params.pop("$task", env.rpartition("/")[2])
            count = instruction.get("count", 1)
            experience = Experience(task, env, params, count, number)
            phases[-1].experiences.append(experience)
        return phases

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks in the order in which they first occur."""
        return task_names(self.phases)

    @property
    def kind(self) -> str:
        """The structure, inferred if it is None."""
        return self.structure or ("CL" if len(self.tasks) == 1 else "ANT_A")

    def training(self, task: str) -> list[Experience]:
        """Return the Experiences that train a task, in order."""
        trained = _training_experiences(self.phases)
        return [experience for experience in trained if experience.task == task]

    def validate(self) -> Syllabus:
        """Return the syllabus. Raises BadData that lists all issues."""
        raise_issues(find_issues(self.to_dict()))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the syllabus's file."""
        return {**asdict(self), "contains": "episodes"}


def _training_experiences(phases):
    """Return the Experiences of all training phases, in order."""
    experiences: list[Experience] = []
    for phase in phases:
        if phase.block_type == TRAIN:
            experiences += phase.experiences
    return experiences


# ---------------------------------------------------------------- files


def read_syllabus(source: Syllabus | Mapping[str, Any] | Path | str) -> Syllabus:
    """Return a valid Syllabus from a JSON file, the content of such a file, or the name of a shipped syllabus.

    Raises:
        FileNotFoundError: There is no such file.
        BadData: The syllabus has issues; the message lists all of them.
    """
    if isinstance(source, Syllabus):
        return source.validate()
    if not isinstance(source, str | Path):
        raise_issues(find_issues(source))
        return _to_syllabus(source)
    path = Path(source)
    if not path.is_file():
        path = data_dir() / "syllabi" / f"{source}.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no syllabus {str(source)!r}; pass a JSON file or one of "
            f"{', '.join(shipped_syllabi())}"
        )
    content = read_json(path)
    raise_issues(find_issues(content, path.name))
    return _to_syllabus(content, path.stem)


def _to_syllabus(content, name="syllabus"):
    values = {key: content[key] for key in FIELDS if key in content}
    return Syllabus(**{"name": name, **values})


def shipped_syllabi() -> list[str]:
    """Return the names of the syllabi that are part of pushlab."""
    return sorted(path.stem for path in (data_dir() / "syllabi").glob("*.json"))


def write_syllabus(syllabus: Syllabus, path: Path | str) -> Path:
    """Write a syllabus as JSON; return the path. Raises BadData for a syllabus with issues."""
    return write_text(path, json_text(syllabus.validate().to_dict()))


# ---------------------------------------------------------------- builders


def cl(
    episode: Episode,
    variations: Sequence[Episode],
    train: int,
    test: int = 0,
    name: str = "continual learning",
    held_out: Episode | None = None,
) -> Syllabus:
    """Return a CL syllabus: one task, trained with several variations of its parameters in turn.

    Args:
        episode: "$episode", optionally "$task", and the arguments that don't vary.
        variations: Arguments of each training, in order; variations can be repeated.
        train: Episodes of each training.
        test: Episodes of each test of each variation, after every training; 0 for no tests.
        name: Title.
        held_out: Arguments of all tests, instead of the training's.
    """
    trained = [{**episode, **variation} for variation in variations]
    tested = []
    for variant in trained:
        if variant not in tested:
            tested.append(variant)
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
    """Return an ANT_A syllabus, which measures forgetting: all tasks are tested after the training of each.

    Args:
        tasks: "$episode" and arguments of each task, by its name.
        train: Episodes of each training.
        test: Episodes of each test of each task.
        order: Names in the order of training, which can repeat; by default each task is trained once.
        name: Title.
        pretest: Whether a test precedes the first training.
        held_out: Arguments of all tests, instead of the training's.
        structure: "ANT_A" or "ANT_B".
    """
    episodes = {task: {**episode, "$task": task} for task, episode in tasks.items()}
    order = list(tasks if order is None else order)
    for task in order:
        if task not in tasks:
            names = ", ".join(tasks)
            raise ValueError(f"order has the task {task!r}, but tasks are {names}")
    trained = [episodes[task] for task in order]
    tested = list(episodes.values())
    return _compose(name, structure, trained, tested, train, test, pretest, held_out)


def ant_b(
    tasks: Mapping[str, Episode],
    train: int,
    test: int,
    order: Sequence[str] | None = None,
    name: str = "adapting to new tasks, B",
    held_out: Episode | None = None,
) -> Syllabus:
    """Return an ANT_B syllabus, which measures transfer between tasks: `ant_a` with a pretest."""
    return ant_a(tasks, train, test, order, name, True, held_out, "ANT_B")


def _compose(name, structure, trained, tested, train, test, pretest, held_out):
    """Return a syllabus that trains the episodes `trained` in turn, and tests all of `tested` after each."""
    tests = []
    for episode in tested:
        params = {**episode, **(held_out or {})}
        tests.append({"$repeat": params, "count": test})
    instructions = []
    if pretest:
        instructions += [{"$phase": "0.test", "enable_updates": False}, *tests]
    for number, episode in enumerate(trained, start=1):
        instructions.append({"$phase": f"{number}.train", "enable_updates": True})
        instructions.append({"$repeat": episode, "count": train})
        if test:
            phase = {"$phase": f"{number}.test", "enable_updates": False}
            instructions += [phase, *tests]
    return Syllabus(name, instructions, structure).validate()


# ---------------------------------------------------------------- issues


def find_issues(content: Any, file: str = "syllabus") -> list[DataIssue]:
    """Return the issues of a syllabus, the content of its JSON file.

    The order of phases and the structure are checked only if all instructions are valid.
    """
    # Each is (number of the instruction, key, value, description of a valid value).
    entries = list(_format_issues(content))
    if not entries:
        syllabus = _to_syllabus(content)
        phases = syllabus.phases
        structure = syllabus.kind
        entries += _order_issues(phases, structure)
        if structure == "CL":
            entries += _cl_issues(phases)
        else:
            entries += _ant_issues(phases, structure)
    issues = []
    for number, key, value, valid_values in entries:
        if not isinstance(value, str | None):
            value = json.dumps(value, default=repr)[:80]
        issues.append(DataIssue(file, number, key, value, valid_values, "item"))
    return issues


def _format_issues(content):
    if not isinstance(content, dict):
        yield None, None, content, FORM
        return
    yield from _unknown_keys(content, None, SYLLABUS_KEYS)
    structure = content.get("structure")
    defaults = content.get("default_params", {})
    instructions = content.get("instructions")
    if structure not in (None, *STRUCTURES):
        yield None, "structure", structure, f"one of {', '.join(STRUCTURES)}"
    if not isinstance(defaults, dict):
        yield None, "default_params", defaults, "an object of arguments"
    elif not isinstance(instructions, list) or not instructions:
        yield None, "instructions", None, f"it must be a list, as in {FORM}"
    else:
        for number, instruction in enumerate(instructions):
            yield from _instruction_issues(instruction, number)


def _instruction_issues(instruction, number):
    if not isinstance(instruction, dict):
        yield number, None, instruction, f"an object: {INSTRUCTION}"
        return
    if "$phase" in instruction:
        yield from _annotation_issues(instruction, number)
        return
    if number == 0:
        yield number, None, None, 'the first instruction must be {"$phase": …}'
    if "$repeat" in instruction:
        yield from _unknown_keys(instruction, number, ("$repeat", "count"))
        count = instruction.get("count")
        if type(count) is not int or count < 1:
            yield number, "count", count, "a whole number from 1"
    episode = instruction.get("$repeat", instruction)
    yield from _episode_issues(episode, number)


def _unknown_keys(keys, number, valid_keys):
    for key in keys:
        if key not in valid_keys:
            names = ", ".join(valid_keys)
            valid_values = (
                f"there is no such key; keys are {names}{suggestion(key, valid_keys)}"
            )
            yield number, key, None, valid_values


def _annotation_issues(annotation, number):
    yield from _unknown_keys(annotation, number, ("$phase", "enable_updates"))
    name = annotation["$phase"]
    if not isinstance(name, str):
        yield number, "$phase", name, 'a text such as "1.train"'
    elif annotation.get("enable_updates") not in (None, name.endswith(TRAIN)):
        valid_values = "true in training and false in tests"
        yield number, "enable_updates", annotation["enable_updates"], valid_values


def _episode_issues(episode, number):
    if not isinstance(episode, dict) or not isinstance(episode.get("$episode"), str):
        valid_values = (
            f'an object with "$episode", the id of an environment: {INSTRUCTION}'
        )
        yield number, "$episode", episode, valid_values
        return
    if ":" in episode["$episode"]:  # gymnasium.make would import a module
        valid_values = "the id of a registered environment, without a module"
        yield number, "$episode", episode["$episode"], valid_values
    task = episode.get("$task", "a name")
    if not isinstance(task, str) or not task.strip():
        yield number, "$task", task, "a name"
    keys = [key for key in episode if key.startswith("$")]
    yield from _unknown_keys(keys, number, EPISODE_KEYS)


def _order_issues(phases, structure):
    """Yield issues of phases that are empty or out of order.

    The order is 0.test, 1.train, 1.test, 2.train, … In ANT only the first test is optional; in ANT_B none is.
    """
    allowed = ["0.test"] if structure == "ANT_B" else ["0.test", "1.train"]
    previous = "the start"
    for name, experiences, instruction in phases:
        if name not in allowed:
            valid_values = (
                f"next; after {previous} comes {' or '.join(allowed)} in {structure}"
            )
            yield instruction, "$phase", name, valid_values
            return
        if not experiences:
            valid_values = "followed by episodes; this phase has none"
            yield instruction, "$phase", name, valid_values
        number, _, block_type = name.partition(".")
        allowed = []
        if block_type == TRAIN:
            allowed.append(f"{number}.test")
        if block_type == "test" or structure == "CL":
            allowed.append(f"{int(number) + 1}.train")
        previous = name
    last = phases[-1]
    if structure != "CL" and last.block_type == TRAIN:
        valid_values = f"last; {previous[:-5]}test is missing"
        yield last.instruction, "$phase", previous, valid_values


def _cl_issues(phases):
    tasks = task_names(phases)
    if len(tasks) > 1:
        valid_values = f"a CL syllabus must have one task, not {', '.join(tasks)}"
        yield None, "instructions", None, valid_values
    keys = {experience.key for experience in _training_experiences(phases)}
    if len(keys) == 1:
        valid_values = "a CL syllabus must vary its task's parameters, but all training is the same"
        yield None, "instructions", None, valid_values


def _ant_issues(phases, structure):
    tasks = task_names(phases)
    if len(tasks) == 1:
        valid_values = (
            f"{structure} needs several tasks, named by $task, not only {tasks[0]}"
        )
        yield None, "instructions", None, valid_values
    variants = {}
    required = set(tasks) if structure == "ANT_B" else set()
    for phase in phases:
        for experience in phase.experiences:
            task = experience.task
            key = experience.key
            expected = variants.setdefault((task, phase.block_type), key)
            if key != expected:
                valid_values = (
                    f"{expected}, as before: parameters of {task} must not vary"
                )
                yield experience.instruction, None, key, valid_values
        names = task_names([phase])
        if phase.block_type == TRAIN:
            required.update(names)
            if len(names) > 1:
                valid_values = f"training of one task, but of {', '.join(names)}"
                yield phase.instruction, "$phase", phase.name, valid_values
        elif missing := required.difference(names):
            valid_values = f"a test of all tasks so far, in ANT_B of all: {', '.join(sorted(missing))} is missing"
            yield phase.instruction, "$phase", phase.name, valid_values
