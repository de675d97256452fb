"""A study is a list of jobs. Each is kept as it is finished, and their rows come back as tables.

A study's own file says which jobs there are and how their tables are summed up. The rest is here: processes side by
side, a bar, going on after an interruption, options of the command line, CSV files.

A finished job is found again by the content of all that its numbers come from: the code that the study reaches, the
versions of packages, the job's arguments and its data. So an edited line always counts.
"""

import inspect
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
import pandas as pd
import typer

from pushlab.datasets.reading import list_users
from pushlab.ground.content import of_modules
from pushlab.ground.files import cache_dir, data_dir, write_text
from pushlab.ground.kept import checksum, kept, read_kept
from pushlab.metrics.estimate import Interval

# Options of every study's command.
Out = Annotated[Path, typer.Option(help="CSV file to write; where a study has several tables the others go beside it.")]
OutFolder = Annotated[Path, typer.Option(help="Folder for the CSV files.")]
Jobs = Annotated[int, typer.Option(help="Processes to work with.")]
Keep = Annotated[Path | None, typer.Option(help="Folder for finished jobs; else pushlab's cache.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run again what is kept.")]


class Job(NamedTuple):
    """A piece of a study that can be done by itself, in any process.

    labels      which one it is, {column: value}: the first columns of its rows, and the name of its file
    function    of `arguments`; returns its rows, {table: DataFrame or list of dicts}. A generator yields such a dict
                for each part of the job that is finished, and is told by `done`, a tuple, which parts it need not do
    arguments   values that JSON holds
    data        what else its numbers come from, such as `user_content`: values, bytes or arrays
    """

    labels: dict[str, Any]
    function: Callable
    arguments: Sequence
    data: Any = None

    def path(self, keep: Path, code: str) -> Path:
        """Where it is kept, under this checksum of the code."""
        name = re.sub(r"[^\w.]+", "-", "-".join(map(str, self.labels.values())))
        key = checksum(code, self.function.__name__, self.labels, list(self.arguments), self.data)
        return keep / f"{name}-{key[:16]}.json"

    def do(self, path: Path | None) -> list[dict]:
        """Does it, or what is left of it; returns its parts as they are kept: one, unless it is a generator's."""
        if not inspect.isgeneratorfunction(self.function):
            return kept(path, lambda: [as_rows(self.function(*self.arguments))])
        begun = path.with_suffix(".part") if path is not None else None
        parts = read_kept(begun) or []
        for part in self.function(*self.arguments, done=tuple(parts)):
            parts.append(as_rows(part))
            if begun is not None:
                write_text(begun, json.dumps(parts, allow_nan=False))
        whole = kept(path, lambda: parts)
        if begun is not None:
            begun.unlink(missing_ok=True)
        return whole


def run(study: str, jobs: Sequence[Job], workers: int = 1, keep: Any = None, fresh: bool = False,
        progress: bool = True) -> dict[str, pd.DataFrame]:
    """Does the jobs that are not kept yet; returns their tables by name, rows in the order of the jobs.

    study    the study's module, such as "pushlab.studies.lifelong"
    workers  processes side by side
    keep     folder for finished jobs; None is pushlab's cache, False keeps nothing
    fresh    do again what is kept
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    name, code = study.rpartition(".")[2], of_modules(study)
    folder = keep or cache_dir() / "studies" / name
    paths = [job.path(folder, code) for job in jobs] if keep is not False else [None] * len(jobs)
    for path in paths if fresh else ():
        for file in (path, path.with_suffix(".part")) if path is not None else ():
            file.unlink(missing_ok=True)
    results = [read_kept(path) for path in paths]
    missing = [at for at, parts in enumerate(results) if parts is None]
    work = Parallel(n_jobs=workers, return_as="generator")(delayed(jobs[at].do)(paths[at]) for at in missing)
    bar = tqdm(work, total=len(jobs), initial=len(jobs) - len(missing), desc=name, unit="job", disable=not progress)
    for parts, at in zip(bar, missing):         # the bar first, so that it gets to its end
        results[at] = parts
    rows: dict[str, list[dict]] = {}
    for job, parts in zip(jobs, results):
        for table, some in ((table, some) for part in parts for table, some in part.items()):
            rows.setdefault(table, []).extend(job.labels | row for row in some)
    return {table: pd.DataFrame(some) for table, some in rows.items()}


def as_rows(tables: Mapping[str, Any]) -> dict[str, list[dict]]:
    """Tables as JSON holds them: rows that are dicts, None where something is missing.

    >>> as_rows({"runs": [{"reward": np.float64(0.5), "delay": np.nan}]})
    {'runs': [{'reward': 0.5, 'delay': None}]}
    """

    frames = {name: pd.DataFrame(rows).astype(object) for name, rows in tables.items()}
    return {name: frame.where(frame.notna(), None).to_dict("records") for name, frame in frames.items()}


def window_means(values: np.ndarray, window: int) -> np.ndarray:
    """Means of each full window of values (steps, …), an array (windows, …); what is left over belongs to none.

    >>> window_means(np.array([0.0, 1.0, 1.0, 1.0, 5.0]), window=2)
    array([0.5, 1. ])
    """
    full = len(values) // window
    return values[:full * window].reshape(full, window, *values.shape[1:]).mean(axis=1)


def user_content(user: str) -> str:
    """A checksum of a user's tables: every file of the user's folder and beside it. OSError where there is none."""
    folder = data_dir() / "push" / user if user in list_users() else Path(user)
    return checksum(*(file.read_bytes() for place in (folder, folder.parent)
                      for file in sorted(place.iterdir()) if file.is_file()))


def interval_columns(name: str, interval: Interval) -> dict[str, float]:
    """A mean and the ends of its interval as columns: name, name_low, name_high."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), interval))


def write_tables(out: Path, tables: Mapping[str, pd.DataFrame], **form: Any) -> None:
    """CSV files in a folder, {name: table}; or beside the file `out`, {end of the name: table}. `form` as pandas'."""
    for name, table in tables.items():
        path = out.with_name(f"{out.stem}{name}.csv") if out.suffix else out / f"{name}.csv"
        write_text(path, table.to_csv(index=False, lineterminator="\n", **form))


def read_tables(folder: Path | str | None, *names: str) -> tuple[pd.DataFrame, ...]:
    """The tables that a study wrote; None is the folder of the studies that come with pushlab."""
    folder = Path(folder) if folder is not None else data_dir() / "studies"
    return tuple(pd.read_csv(folder / f"{name}.csv") for name in names)
