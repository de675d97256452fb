"""A store of single-task experts: logs of agents that learned one task only, for comparison with lifetimes.

A store is a folder, by default `$L2DATA/taskinfo` as in the original document:

- `info.json`: {"task_name_1": 0.8746, "task_name_2": 0.9315}: the saturation value of each task
- `<task>/<number>.csv`: the log of each run, with its types file

A task can have only one of the two. A value alone allows a comparison of saturation; logs allow all metrics.

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

from pushlab.logs.files import lifetime_log, read_log, write_log
from pushlab.logs.tables import types_file
from pushlab.utils.arguments import require, validate_number
from pushlab.utils.files import json_text, locked, read_json, write_text

VALUES_FILE = "info.json"
PICKLE_REFUSED = (
    "a pickle is never read, since reading one can run any code. "
    "Add the log of the expert's run with pushlab experts add LOGDIR"
)


class Experts:
    """A store of single-task experts, in plain files. Several processes can change it at once.

    Args:
        folder: The store's folder. None is `$L2DATA/taskinfo`.

    Raises:
        ValueError: The folder is None, and the variable L2DATA is not set.
    """

    def __init__(self, folder: Path | str | None = None) -> None:
        if folder is None:
            data = os.environ.get("L2DATA")
            require(data, "pass the folder of experts, or set the variable L2DATA")
            folder = Path(str(data)) / "taskinfo"
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
            experiences = sum(map(len, runs))
            saturation = self._values().get(task, np.nan)
            rows.append((task, len(runs), experiences, saturation))
        return pd.DataFrame(rows, columns=["task", "runs", "experiences", "saturation"])

    def logs(self, task: str) -> builtins.list[pd.DataFrame]:
        """Return the runs of a task, lifetime logs in the order in which they were added.

        Raises:
            BadData: A run can't be read.
            ValueError: The run is a pickle.
        """
        runs = [read_log(path) for path in self._paths(task)]
        is_pickled = (self.folder / f"{task}.pkl").exists()
        require(runs or not is_pickled, f"{task}.pkl: {PICKLE_REFUSED}")
        return runs

    def saturation(self, task: str) -> float | None:
        """Return the saturation value of a task, or None. Raises ValueError for a faulty `info.json`."""
        return self._values().get(task)

    def add(self, task: str, log: pd.DataFrame, replace: bool = False) -> None:
        """Add a run of a task. Its saturation value becomes the mean over its runs.

        Args:
            task: The task.
            log: A lifetime log or a log of `rollout`, all of this task; only its training counts.
            replace: Whether the run replaces all others of the task.
        """
        log = _expert_log(task, log)
        with locked(self.folder / VALUES_FILE):
            paths = self._paths(task)
            runs = [log] if replace else [*map(read_log, paths), log]
            saturation = float(np.mean([_saturation_value(run) for run in runs]))
            values = {**self._values(), task: validate_number("saturation", saturation)}
            next_number = int(paths[-1].stem) + 1 if paths else 0
            write_log(log, self._task_folder(task) / f"{next_number}.csv")
            self._write_values(values)
            for path in paths if replace else ():
                path.unlink()
                types_file(path).unlink(missing_ok=True)

    def clear(self, task: str | None = None) -> None:
        """Remove the runs and the value of a task, or of all tasks. Raises KeyError for a task without an expert."""
        if task not in (None, *self.tasks):
            raise KeyError(f"there is no expert of {task!r}")
        with locked(self.folder / VALUES_FILE):
            values = self._values()
            for name in self.tasks if task is None else [task]:
                shutil.rmtree(self._task_folder(name), ignore_errors=True)
                values.pop(name, None)
            self._write_values(values)

    # ------------------------------------------------------------ the files

    def _task_folder(self, task):
        name = quote(task, safe=" ").replace(".", "%2E")
        return self.folder / name

    def _paths(self, task):
        paths = self._task_folder(task).glob("*.csv")
        return sorted(paths, key=lambda path: int(path.stem))

    def _values(self):
        path = self.folder / VALUES_FILE
        values = read_json(path) if path.exists() else {}
        for task, value in values.items():
            validate_number(f"{VALUES_FILE}: {task}", value)
        return values

    def _write_values(self, values):
        text = json_text(dict(sorted(values.items())))
        write_text(self.folder / VALUES_FILE, text)


def _expert_log(task, log):
    """Return the lifetime log of a run. Raises ValueError unless it trains this task only."""
    log = lifetime_log(log)
    tasks = ", ".join(sorted(log["task"].unique()))
    require(
        tasks == task,
        f"an expert of {task} must learn this task only; the log has {tasks}",
    )
    has_training = "train" in set(log["block_type"])
    require(has_training, f"an expert of {task} needs at least one training experience")
    return log


def _saturation_value(log):
    """Return the saturation value of a run, in the unit of its measure."""
    from pushlab.metrics.lifelong import Settings, lifelong_report

    plain = Settings(normalization="none", smoothing="none")
    report = lifelong_report(log, metrics=["saturation"], settings=plain)
    return float(report.lifetime.get("saturation", np.nan))
