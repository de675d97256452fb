"""Syllabi: which tasks a lifetime trains and tests, in which order, as JSON.

The form is that of the original lifelong-learning programme (its `learnkit` package, as kept in the examples of
l2metrics): a list of instructions, in which an annotation begins a phase and the phase's episodes follow.

    {"name": "two users", "structure": "ANT_A", "contains": "episodes", "default_params": {},
     "instructions": [
      {"$phase": "0.test", "enable_updates": false},
      {"$repeat": {"$episode": "pushlab/push-v0", "$task": "mira", "user": "mira"}, "count": 20},
      {"$phase": "1.train", "enable_updates": true},
      {"$repeat": {"$episode": "pushlab/push-v0", "$task": "mira", "user": "mira"}, "count": 100},
      …]}

    $phase     "<number>.train" or "<number>.test": numbers count on from 1, and a phase's test follows its training.
               "0.test" may come first, to see what an agent can do before it has learned anything
    $repeat    an episode and how often: its `count`. An episode may also stand alone, for once
    $episode   the id of an environment, as `gymnasium.make` takes it (the original named a class of a package). All
               other keys are the environment's arguments, and `max_episode_steps`, which is `gymnasium.make`'s
    $task      name of the task (ours); else the id without its namespace
    enable_updates   whether the phase learns; may be left out
    default_params   arguments of all episodes that don't set them
    structure  CL, ANT_A or ANT_B (ours; the original has it in the title); else one task is CL and several are ANT_A

Three structures, after the README of l2metrics and its chapter "Creating custom syllabi":

    CL     continual learning: one task whose parameters vary; tests are optional
    ANT_A  adapting to new tasks, is the old one forgotten? Several tasks, no variation within one, a test after every
           training
    ANT_B  the same, does what was learned carry over? Every test is of all tasks, and one precedes the first training,
           to show what the training of another task changes

In ANT a phase trains one task. A test may use other parameters than the training, such as held-out days, if all tests
of the task use the same.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from pushlab.ground.faults import refuse
from pushlab.ground.files import data_dir, write_text
from pushlab.ground.reading import read_json
from pushlab.lifetimes.rules import (
    TRAIN,
    Experience,
    Phase,
    find_faults,
    read_phases,
    structure_of,
    tasks_of,
)

Episode = Mapping[str, Any]
FIELDS = ("name", "instructions", "structure", "default_params", "author")


@dataclass(frozen=True)
class Syllabus:
    """A syllabus as its file has it. `phases` and `tasks` interpret the instructions.

    Attributes:
        name: Title.
        instructions: List of dicts; see above.
        structure: "CL", "ANT_A", "ANT_B", or None to infer it.
        default_params: Arguments of all episodes.
        author: Author.
        file: Name for messages.

    >>> syllabus = ant_a({"mira": {"$episode": "pushlab/push-v0", "user": "mira"},
    ...                   "theo": {"$episode": "pushlab/push-v0", "user": "theo"}}, train=30, test=5)
    >>> [(phase.name, [one.task for one in phase.experiences]) for phase in syllabus.phases][:3]
    [('0.test', ['mira', 'theo']), ('1.train', ['mira']), ('1.test', ['mira', 'theo'])]
    """

    name: str
    instructions: list
    structure: str | None = None
    default_params: dict = field(default_factory=dict)
    author: str = ""
    file: str = "syllabus"

    def __repr__(self) -> str:
        return f"Syllabus({self.name!r}, {self.kind}, {len(self.phases)} phases, tasks {', '.join(self.tasks)})"

    @property
    def phases(self) -> list[Phase]:
        """The Phases in order."""
        return read_phases(self.instructions, self.default_params)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of the tasks in the order in which they first occur."""
        return tasks_of(self.phases)

    @property
    def kind(self) -> str:
        """The structure, inferred if it isn't stated."""
        return structure_of(self.phases, self.structure)

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
        refuse(find_faults(self.to_dict(), self.file))
        return self

    def to_dict(self) -> dict[str, Any]:
        """Return the content of the syllabus's file."""
        content = {**asdict(self), "contains": "episodes"}
        del content["file"]
        return {key: value for key, value in content.items() if value not in (None, "")}


# ---------------------------------------------------------------- files


def read_syllabus(source: Syllabus | Mapping[str, Any] | Path | str) -> Syllabus:
    """Return a valid Syllabus from a JSON file, the content of such a file, or the name of a shipped syllabus.

    Raises FileNotFoundError, or BadData that lists every fault.
    """
    if isinstance(source, Syllabus):
        return source.validate()
    content, file = source, "syllabus"
    if isinstance(source, str | Path):
        path = _find(source)
        content, file = read_json(path), path.name
    refuse(find_faults(content, file))
    known = {key: content[key] for key in FIELDS if key in content}
    return Syllabus(**{"name": Path(file).stem, **known}, file=file)


def shipped_syllabi() -> list[str]:
    """Return the names of the syllabi that come with pushlab."""
    return sorted(path.stem for path in (data_dir() / "syllabi").glob("*.json"))


def _find(source):
    path = Path(source)
    if path.exists():
        return path
    if str(source) not in shipped_syllabi():
        raise FileNotFoundError(
            f"there is no syllabus {str(source)!r}; pushlab comes with "
            f"{', '.join(shipped_syllabi())}, and any JSON file will do"
        )
    return data_dir() / "syllabi" / f"{source}.json"


def write_syllabus(syllabus: Syllabus, path: Path | str) -> Path:
    """Write a syllabus as JSON, one instruction a line; return the path. Raises BadData for a syllabus with faults."""
    content = syllabus.validate().to_dict()
    instructions = content.pop("instructions")
    lines = [json.dumps(item, ensure_ascii=False) for item in instructions]
    head = json.dumps(content, ensure_ascii=False)[:-1]
    lines_text = ",\n  ".join(lines)
    return write_text(path, f'{head},\n "instructions": [\n  {lines_text}\n ]}}\n')


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
    instructions: list[dict] = []
    if pretest:
        instructions += [{"$phase": "0.test", "enable_updates": False}, *tests]
    for number, one in enumerate(trained, start=1):
        instructions.append({"$phase": f"{number}.train", "enable_updates": True})
        instructions.append({"$repeat": one, "count": train})
        if test:
            phase = {"$phase": f"{number}.test", "enable_updates": False}
            instructions += [phase, *tests]
    return Syllabus(name, instructions, structure).validate()
