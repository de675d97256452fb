"""Syllabi: which tasks a lifetime trains and tests, in which order, as JSON.

The form is that of the original lifelong-learning programme (its `learnkit` package, as kept in the examples of
l2metrics): a list of instructions, in which an annotation begins a phase and what follows are its episodes.

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
    $task      the task's name (ours); else the id without its namespace
    enable_updates   may say once more whether the phase learns
    default_params   arguments of all episodes that do not say otherwise
    structure  CL, ANT_A or ANT_B (ours; the original had it in the title); else one task is CL and several are ANT_A

Three structures, after the README of l2metrics and its chapter "Creating custom syllabi":

    CL     continual learning: one task whose parameters vary; tests are optional
    ANT_A  adapting to new tasks, is the old one forgotten? Several tasks, no variation within one, a test after every
           training
    ANT_B  the same, does what was learned carry over? Every test is of all tasks, and there is one before the first
           training, without which nobody could tell what the training of another task has changed

In ANT a phase trains one task. A test may be on other parameters than the training (days that were held out, say) if
it always is on the same; that, too, is no variation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pushlab.ground._old_reading import read_json
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import data_dir, write_text
from pushlab.lifetimes.rules import TRAIN, Experience, experience_of, find_faults

Episode = Mapping[str, Any]


class Phase(NamedTuple):
    """A block of a lifetime: `name` as annotated ("1.train"), `kind` ("train" or "test"), and its Experiences."""

    name: str
    kind: str
    experiences: tuple


@dataclass(frozen=True)
class Syllabus:
    """A syllabus as its file has it; `phases` and `tasks` say what it means.

    name            its title
    instructions    list of dicts, see above
    structure       "CL", "ANT_A", "ANT_B", or None to have it inferred
    default_params  arguments of all episodes
    file            what faults call it

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
    def phases(self) -> tuple[Phase, ...]:
        """Its Phases in order, a tuple."""
        phases, experiences = [], []
        for item in self.instructions:
            if "$phase" in item:
                experiences = []
                phases.append((item["$phase"], experiences))
            else:
                experiences.append(experience_of(item, self.default_params))
        return tuple(
            Phase(name, name.partition(".")[2], tuple(some)) for name, some in phases
        )

    @property
    def tasks(self) -> tuple[str, ...]:
        """Names of its tasks, a tuple, in the order in which they are first met."""
        return tuple(
            dict.fromkeys(
                one.task for phase in self.phases for one in phase.experiences
            )
        )

    @property
    def kind(self) -> str:
        """Its structure, inferred where the file does not say."""
        return self.structure or ("CL" if len(self.tasks) == 1 else "ANT_A")

    @property
    def count(self) -> int:
        """Episodes in all."""
        return sum(one.count for phase in self.phases for one in phase.experiences)

    def training(self, task: str) -> list[Experience]:
        """The Experiences that train a task, in order."""
        return [
            one
            for phase in self.phases
            if phase.kind == TRAIN
            for one in phase.experiences
            if one.task == task
        ]

    def faults(self) -> list[Fault]:
        """What is wrong with it, a list of Faults."""
        return find_faults(self.to_dict(), self.file)

    def validate(self) -> Syllabus:
        """The syllabus itself; BadData with every fault if there are any."""
        faults = self.faults()
        if faults:
            raise BadData(faults)
        return self

    def to_dict(self) -> dict[str, Any]:
        """What `write_syllabus` writes and `read_syllabus` reads."""
        told = {
            "name": self.name,
            "author": self.author,
            "structure": self.structure,
            "contains": "episodes",
            "default_params": self.default_params,
            "instructions": self.instructions,
        }
        return {key: value for key, value in told.items() if value not in (None, "")}


# ---------------------------------------------------------------- files


def read_syllabus(source: Syllabus | Mapping[str, Any] | Path | str) -> Syllabus:
    """A valid Syllabus from a JSON file, from the dict that such a file holds, or by the name of a shipped one.

    Raises FileNotFoundError, or BadData with every fault: where, what stands there, what would be right.
    """
    if isinstance(source, Syllabus):
        return source.validate()
    if isinstance(source, str | Path):
        path = _find(source)
        if not path.exists():
            raise FileNotFoundError(f"there is no file {str(path)!r}")
        told, file = read_json(path, kind=object, links=True), path.name
    else:
        told, file = source, "syllabus"
    faults = find_faults(told, file)
    if faults:
        raise BadData(faults)
    told = {
        key: value
        for key, value in told.items()
        if key not in ("contains", "version", "comment")
    }
    return Syllabus(**{"name": Path(file).stem, **told}, file=file)


def shipped_syllabi() -> list[str]:
    """Names of the syllabi that come with pushlab; `read_syllabus` takes them."""
    return sorted(path.stem for path in (data_dir() / "syllabi").glob("*.json"))


def _find(source):
    path = Path(source)
    if path.suffix or path.exists():
        return path
    names = shipped_syllabi()
    if str(source) not in names:
        raise FileNotFoundError(
            f"there is no syllabus {str(source)!r}; pushlab comes with {', '.join(names)}, and any "
            "JSON file will do"
        )
    return data_dir() / "syllabi" / f"{source}.json"


def write_syllabus(syllabus: Syllabus, path: Path | str) -> Path:
    """Writes a syllabus as JSON, an instruction a line; returns the path. Raises BadData for one that is not valid."""
    told = syllabus.validate().to_dict()
    lines = [
        f'"{key}": {json.dumps(value, ensure_ascii=False)}'
        for key, value in told.items()
        if key != "instructions"
    ]
    instructions = ",\n".join(
        f"  {json.dumps(item, ensure_ascii=False)}" for item in told["instructions"]
    )
    return write_text(
        path,
        "{" + ",\n ".join([*lines, f'"instructions": [\n{instructions}\n ]']) + "}\n",
    )


# ---------------------------------------------------------------- making one


def cl(
    episode: Episode,
    variations: Sequence[Episode],
    train: int,
    test: int = 0,
    name: str = "continual learning",
    held_out: Episode | None = None,
) -> Syllabus:
    """A CL syllabus: one task, trained with one variation of its parameters after the other.

    episode     dict of "$episode", if wanted "$task", and the arguments that do not vary
    variations  list of dicts of arguments, in the order in which they are trained; one may come again
    train       episodes of each training
    test        episodes of each test of each variation, after every training; 0: no tests
    held_out    dict of arguments that all tests have in place of the training's
    """
    return _compose(
        name,
        "CL",
        [{**episode, **one} for one in variations],
        train,
        test,
        bool(test),
        held_out,
    )


def ant_a(
    tasks: Mapping[str, Episode],
    train: int,
    test: int,
    order: Sequence[str] | None = None,
    name: str = "adapting to new tasks, A",
    pretest: bool = True,
    held_out: Episode | None = None,
) -> Syllabus:
    """An ANT_A syllabus: is a task forgotten while others are learned? All tasks are tested after every training.

    tasks     {name: episode}, an episode being a dict of "$episode" and arguments
    train     episodes of each training, test: of each test of each task
    order     names in the order of training, any of them again; by default each once
    pretest   test before the first training too
    held_out  dict of arguments that all tests have in place of the training's
    """
    return _compose(
        name,
        "ANT_A",
        _in_order(tasks, order),
        train,
        test,
        pretest,
        held_out,
        _named(tasks),
    )


def ant_b(
    tasks: Mapping[str, Episode],
    train: int,
    test: int,
    order: Sequence[str] | None = None,
    name: str = "adapting to new tasks, B",
    held_out: Episode | None = None,
) -> Syllabus:
    """An ANT_B syllabus: does what was learned in one task carry over to others? As `ant_a`, always with a pretest."""
    return _compose(
        name,
        "ANT_B",
        _in_order(tasks, order),
        train,
        test,
        True,
        held_out,
        _named(tasks),
    )


def _named(tasks):
    """The episodes of tasks, with the tasks' names in them."""
    return {
        name: {"$episode": None, "$task": name} | episode | {"$task": name}
        for name, episode in tasks.items()
    }


def _in_order(tasks, order):
    order = list(tasks if order is None else order)
    unknown = [name for name in order if name not in tasks]
    if unknown:
        raise ValueError(
            f"order names the task {unknown[0]!r}, and the tasks are {', '.join(tasks)}"
        )
    return [_named(tasks)[name] for name in order]


def _compose(name, structure, trained, train, test, pretest, held_out, tasks=None):
    """Alternating phases: training of each of `trained`, and tests of all that there are, in that order."""
    everything = (
        list(tasks.values())
        if tasks
        else [one for at, one in enumerate(trained) if one not in trained[:at]]
    )
    tests = [
        {"$repeat": {**one, **(held_out or {})}, "count": test} for one in everything
    ]
    instructions = (
        [{"$phase": "0.test", "enable_updates": False}, *tests] if pretest else []
    )
    for number, one in enumerate(trained, start=1):
        instructions += [
            {"$phase": f"{number}.train", "enable_updates": True},
            {"$repeat": one, "count": train},
        ]
        if test:
            instructions += [
                {"$phase": f"{number}.test", "enable_updates": False},
                *tests,
            ]
    return Syllabus(name, instructions, structure).validate()
