"""Single-task experts on disk: agents that learned one task and nothing else, to measure lifetimes
against.

A store is a folder, by default `$L2DATA/taskinfo` as in the original document:

- `info.json`: {"task_name_1": 0.8746, "task_name_2": 0.9315}: the saturation value of each task
- <task>/<number>.csv: the log of each run, with its types beside it

A task may have only one of the two. With only a value, a lifetime is compared by saturation; with
logs, by all metrics.

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
import os
import shutil
from pathlib import Path
from urllib.parse import quote, unquote

import numpy as np
import pandas as pd

from pushlab.ground.arguments import demand, number
from pushlab.ground.files import json_text, locked, read_json, write_text
from pushlab.logs.folders import lifetime_log, read_log, write_log
from pushlab.logs.tables import types_file

INFO = "info.json"
PICKLE = (
    "a pickle is never read, since that runs whatever is in it; "
    "pushlab experts add LOGDIR makes an expert from the log of its run"
)


class Experts:
    """A store of single-task experts, in plain files. Several processes may change it at once.

    Args:
        folder: The store's folder. None is `$L2DATA/taskinfo`.

    Raises:
        ValueError: Neither names a folder.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        if folder is None:
            named = os.environ.get("L2DATA")
            demand(named, "name the folder of experts, or set the variable L2DATA")
            folder = Path(str(named)) / "taskinfo"
        self.folder = Path(folder)

    @property
    def tasks(self) -> builtins.list[str]:
        """Sorted names of the tasks that have a run or a saturation value."""
        paths = self.folder.glob("*/*.csv")
        return sorted({unquote(path.parent.name) for path in paths} | {*self._values()})

    def list(self) -> pd.DataFrame:
        """Return a DataFrame with one row per task: task, runs, experiences, saturation (NaN if it is unknown)."""
        rows = []
        for task in self.tasks:
            runs = self.logs(task)
            saturation = self._values().get(task, np.nan)
            rows.append((task, len(runs), sum(map(len, runs)), saturation))
        return pd.DataFrame(rows, columns=["task", "runs", "experiences", "saturation"])

    def logs(self, task: str) -> builtins.list[pd.DataFrame]:
        """Return the runs of a task, lifetime logs in the order they were added.

        Raises:
            BadData: A run can't be read.
            ValueError: The run is a pickle.
        """
        runs = [read_log(path) for path in self._runs(task)]
        is_pickled = (self.folder / f"{task}.pkl").exists()
        demand(runs or not is_pickled, f"{task}.pkl: {PICKLE}")
        return runs

    def saturation(self, task: str) -> float | None:
        """Return the saturation value of a task, or None. Raises ValueError for a faulty `info.json`."""
        return self._values().get(task)

    def add(
        self,
        task: str,
        log: pd.DataFrame,
        saturation: float | None = None,
        replace: bool = False,
    ) -> None:
        """Add a run of a task.

        Args:
            log: A lifetime log or a log of `rollout`, all of this task; only its training counts.
            saturation: The saturation value of the task; by default the mean over its runs.
            replace: Whether the run replaces all others of the task.
        """
        log = _checked(task, log)
        with locked(self.folder / INFO):
            paths = self._runs(task)
            runs = [log] if replace else [*map(read_log, paths), log]
            if saturation is None:
                saturation = float(np.mean([_saturation_of(run) for run in runs]))
            values = {**self._values(), task: number("saturation", saturation)}
            following = int(paths[-1].stem) + 1 if paths else 0
            write_log(log, self._folder_of(task) / f"{following}.csv")
            self._write_values(values)
            for path in paths if replace else ():
                path.unlink()
                types_file(path).unlink(missing_ok=True)

    def clear(self, task: str | None = None) -> None:
        """Remove the runs and the value of a task, or of all tasks. Raises KeyError for a task that has none."""
        if task not in (None, *self.tasks):
            raise KeyError(f"there is no expert of {task!r}")
        with locked(self.folder / INFO):
            values = self._values()
            for one in self.tasks if task is None else [task]:
                shutil.rmtree(self._folder_of(one), ignore_errors=True)
                values.pop(one, None)
            self._write_values(values)

    # ------------------------------------------------------------ the files

    def _folder_of(self, task):
        return self.folder / quote(task, safe=" ").replace(".", "%2E")

    def _runs(self, task):
        paths = self._folder_of(task).glob("*.csv")
        return sorted(paths, key=lambda path: int(path.stem))

    def _values(self):
        path = self.folder / INFO
        values = read_json(path) if path.exists() else {}
        for task, value in values.items():
            number(f"{INFO}: {task}", value)
        return values

    def _write_values(self, values):
        write_text(self.folder / INFO, json_text(dict(sorted(values.items()))))


def _checked(task, log):
    """Return the lifetime log of a run. Raises ValueError unless it trains this task only."""
    log = lifetime_log(log)
    found = ", ".join(sorted(log["task"].unique()))
    demand(
        found == task, f"an expert of {task} learns this task only; here are {found}"
    )
    is_trained = "train" in set(log["block_type"])
    demand(is_trained, f"an expert of {task} needs at least one experience of training")
    return log


def _saturation_of(log):
    """Return the saturation value of a run, in the units of its measure."""
    from pushlab.metrics.lifelong import Settings, lifelong_report

    plain = Settings(normalization="none", smoothing="none")
    report = lifelong_report(log, metrics=["saturation"], settings=plain)
    return float(report.lifetime.get("saturation", np.nan))
