"""Single-task experts on disk: what agents reach that learn one task and nothing else, to measure lifetimes against.

A store is a folder, by default `$L2DATA/taskinfo` as in the original document:

    info.json               {"task_name_1": 0.8746, "task_name_2": 0.9315}: the saturation value of each task
    <task>/<number>/        the whole log of a run, an L2Logger folder, as many as there are

Either may be there without the other: with a value alone, a lifetime is compared by saturation; with logs, by all.

>>> import pandas as pd, tempfile
>>> run = pd.DataFrame({"block": 0, "block_type": "train", "task": "shelf", "params": "{}", "episode": range(20),
...                     "reward": [*range(10), *[9.0] * 10]})
>>> with tempfile.TemporaryDirectory() as folder:
...     store = Experts(folder)
...     store.add("shelf", run)
...     store.saturation("shelf"), len(store.logs("shelf")), store.tasks
(9.0, 1, ['shelf'])
"""

from __future__ import annotations

import builtins
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd

from pushlab.ground._old_files import alone
from pushlab.ground._old_folders import whole_folder
from pushlab.ground._old_reading import read_json
from pushlab.ground.arguments import demand, is_number
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_text
from pushlab.logs.folders import lifetime_log, read_log, write_log

INFO = "info.json"
VARIABLE = "L2DATA"
NUMBER = re.compile("[0-9]{1,9}")  # the folder of a run
LONGEST = 255  # characters of a folder's name
PICKLED = (".pkl", ".pickle")
ADD = "pushlab experts add LOGDIR makes one of the log of its run"
PICKLE = f"a pickle, and reading one runs whatever is in it, so that it is never read nor converted; {ADD}"


class Experts:
    """A store of single-task experts: written, appended to, listed and cleared; plain files and never a pickle.

    A change is there whole or not at all, whoever is killed and however full the disk is; several processes may make
    theirs at once.

    folder  of the store; None is the folder `taskinfo` in the one that the environment variable L2DATA names

    Raises ValueError where neither says a folder, BadData where it is a file.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        if folder is None:
            if not os.environ.get(VARIABLE):
                raise ValueError(
                    f"no store of experts: name its folder, or set the environment variable {VARIABLE}"
                )
            folder = Path(os.environ[VARIABLE]) / "taskinfo"
        self.folder = Path(folder)
        if self.folder.is_file():
            raise BadData(
                [
                    Fault(
                        self.folder.name,
                        None,
                        None,
                        None,
                        PICKLE
                        if self.folder.suffix in PICKLED
                        else f"a store of experts is a folder, with {INFO} in it; this is a file",
                    )
                ]
            )

    def __repr__(self) -> str:
        return f"Experts({str(self.folder)!r})"

    @property
    def tasks(self) -> builtins.list[str]:
        """Names of the tasks that have an expert, a sorted list; a value or a run."""
        if not self.folder.is_dir():
            return []
        runs = {
            unquote(path.name)
            for path in self.folder.iterdir()
            if path.is_dir() and self._runs_in(path)
        }
        return sorted(runs | set(self._values()))

    def list(self) -> pd.DataFrame:
        """A DataFrame, a row a task: task, runs, experiences, saturation (NaN where none is written)."""
        rows = [
            {
                "task": task,
                "runs": len(runs),
                "experiences": sum(map(len, runs)),
                "saturation": self._values().get(task, np.nan),
            }
            for task in self.tasks
            for runs in [self.logs(task)]
        ]
        return pd.DataFrame(rows, columns=["task", "runs", "experiences", "saturation"])

    def logs(self, task: str) -> builtins.list[pd.DataFrame]:
        """The runs of a task, a list of lifetime logs in the order they were added; empty if there are none.

        Raises BadData for a run that cannot be read, and for a pickled one.
        """
        runs = [read_log(path) for path in self._runs_in(self._folder_of(task))]
        if not runs:
            self._refuse_pickles(task)
        return runs

    def saturation(self, task: str) -> float | None:
        """The saturation value that `info.json` gives a task, a float, or None.

        Raises BadData for an `info.json` that is none.
        """
        return self._values().get(task)

    def add(
        self, task: str, log: pd.DataFrame, saturation: float | None = None
    ) -> None:
        """Adds a run to a task's.

        log         a lifetime log or a log of `rollout`, all of this one task; only its training counts
        saturation  its saturation value; by default read from the log, and then the mean over all runs is kept
        """
        self._put(task, log, saturation, replace=False)

    def write(
        self, task: str, log: pd.DataFrame, saturation: float | None = None
    ) -> None:
        """Puts one run in the place of all that a task has."""
        self._put(task, log, saturation, replace=True)

    append = add

    def _put(self, task, log, saturation, replace):
        """Adds a run, beside those that are there or in their place."""
        log = self._demand_task(task, log)
        with self._changed() as new:
            if replace:
                shutil.rmtree(new._folder_of(task), ignore_errors=True)
            where = new._folder_of(task)
            numbers = [int(path.name) for path in self._runs_in(where)]
            runs = (
                [] if replace else self.logs(task)
            )  # faults name what is there, and not the copy
            written = write_log(log, where / str(max(numbers, default=-1) + 1))
            runs.append(read_log(written))  # what was written is read
            if saturation is None:
                saturation = float(np.mean([_saturation_of(run) for run in runs]))
            new._write_values({**new._values(), task: saturation})

    @contextmanager
    def _changed(self) -> Iterator[Experts]:
        """A copy of the store to change, which takes its place when all is well; one change at a time."""
        self._values()
        with alone(self.folder), whole_folder(self.folder, keep=True) as folder:
            yield Experts(folder)

    def set_saturation(self, task: str, value: float) -> None:
        """Writes a task's saturation value where no log of it is at hand."""
        with self._changed() as new:
            new._write_values({**new._values(), task: value})

    def clear(self, task: str | None = None) -> None:
        """Removes the runs and the value of a task; without a task those of all. KeyError for a task without any."""
        if task is not None and task not in self.tasks:
            raise KeyError(
                f"there is no expert of {task!r}; there are {', '.join(self.tasks) or 'none'}"
            )
        with self._changed() as new:
            for one in new.tasks if task is None else [task]:
                shutil.rmtree(new._folder_of(one), ignore_errors=True)
            new._write_values(
                {}
                if task is None
                else {one: value for one, value in new._values().items() if one != task}
            )

    # ------------------------------------------------------------ the files

    def _folder_of(self, task):
        # A task's name may hold what a folder's may not, and names are matched whole.
        return self.folder / quote(task, safe=" ()[]{}+,;=@!~&").replace(".", "%2E")

    @staticmethod
    def _runs_in(folder):
        runs = (
            [path for path in folder.iterdir() if NUMBER.fullmatch(path.name)]
            if folder.is_dir()
            else []
        )
        return sorted(runs, key=lambda path: int(path.name))

    def _values(self):
        file = self.folder / INFO
        if not os.path.lexists(file):
            return {}
        values = read_json(file)
        faults = [
            Fault(
                INFO,
                None,
                task,
                str(value),
                "a finite number, the saturation value of this task",
                "item",
            )
            for task, value in values.items()
            if not is_number(value)
        ]
        if faults:
            raise BadData(faults)
        return {task: float(value) for task, value in values.items()}

    def _write_values(self, values):
        for task, value in values.items():
            demand(
                is_number(value),
                f"a saturation value is a finite number; got {value!r} for {task}",
            )
        values = {task: float(values[task]) for task in sorted(values)}
        write_text(self.folder / INFO, json.dumps(values, indent=2) + "\n")

    def _demand_task(self, task, log):
        demand(
            len(self._folder_of(task).name) <= LONGEST,
            f"a task's name is a folder's: {task!r:.60} is too long",
        )
        log = lifetime_log(log)
        other = sorted(set(map(str, log["task"])) - {task})
        faults = [
            Fault(
                f"expert of {task}",
                None,
                "task",
                name,
                f"{task}, the only task of its expert",
            )
            for name in other
        ]
        if not (log["block_type"] == "train").any():
            faults.append(
                Fault(
                    f"expert of {task}",
                    None,
                    "block_type",
                    None,
                    "at least one experience of training",
                )
            )
        if faults:
            raise BadData(faults)
        return log

    def lacking(self, tasks: Iterable[str]) -> builtins.list[Fault]:
        """A list of faults, one for each of some tasks that has neither a run nor a value here."""
        pickled = {
            path.stem for path in self.folder.glob("*") if path.suffix in PICKLED
        }
        return [
            Fault(
                f"{task}.pkl" if task in pickled else self.folder.name,
                None,
                None,
                None,
                PICKLE
                if task in pickled
                else f"there is no single-task expert of {task!r}; {ADD}",
            )
            for task in tasks
            if task not in self.tasks
        ]

    def _refuse_pickles(self, task):
        if any((self.folder / f"{task}{suffix}").exists() for suffix in PICKLED):
            raise BadData(self.lacking([task]))


def _saturation_of(log):
    """The saturation value of a run, in the units of its measure."""
    from pushlab.metrics.lifelong import Settings, lifelong_report

    plain = Settings(normalization="none", smoothing="none")
    return float(
        lifelong_report(log, metrics=["saturation"], settings=plain).lifetime.get(
            "saturation", np.nan
        )
    )
