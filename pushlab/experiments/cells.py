"""Cells of a grid: independent runs, computed in parallel with joblib and stored one by one.

The folder of the results contains

- `cells.json`: labels and file of each cell of the last call
- cells/<labels>-<fingerprint>.json: the tables of a finished cell
- cells/<labels>-<fingerprint>.error: the traceback of a failed cell
- <table>.csv: the rows of all cells

The fingerprint covers everything that a cell's numbers depend on. After an edit of an agent, its cells have new file
names, so they and no others run again. Rows are always read back from JSON, so they are the same on one core, on
several and on a cluster.
"""

from __future__ import annotations

import functools
import json
import os
import signal
import sys
import sysconfig
import threading
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import parent_process, resource_tracker
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.utils.arguments import require, validate_integer
from pushlab.utils.cache import (
    fingerprint,
    read_result,
    result_file,
    result_json,
    write_checked,
)
from pushlab.utils.files import cache_dir, write_text

CELLS_FILE = "cells.json"


class Cell(NamedTuple):
    """An independent run.

    Attributes:
        labels: {column: value} that identifies the cell. These are the first columns of its rows.
        function: Function that returns the cell's rows (a DataFrame or a list of dicts) or several tables
            {name: rows}.
        arguments: Arguments of the function.
    """

    labels: Mapping[str, Any]
    function: Callable
    arguments: Sequence = ()


class CellsFailed(ValueError):
    """Error raised after all cells have run if some failed. The results of the others are stored."""


def run_cells(
    cells: Sequence[Cell],
    out: Any = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: bool = True,
    strict: bool = True,
    name: str = "cells",
) -> dict[str, pd.DataFrame]:
    """Run all unfinished cells; return the tables of all cells, with rows in the order of the cells.

    The next call runs failed cells again.

    Args:
        out: Folder of the results. None uses a folder in pushlab's cache; False stores nothing.
        workers: Number of processes. None uses the number in `joblib.parallel_config`, or all cores. Inside
            `joblib.parallel_config("dask")` the cells run on that cluster.
        fresh: Run finished cells again.
        progress: Show a progress bar.
        strict: If cells failed, raise CellsFailed after all cells have run. If False, warn, unless all failed.
        name: Name on the progress bar and, if `out` is None, of the folder.

    Raises:
        CellsFailed: All cells failed, or some failed and `strict` is true, or a worker process ended unexpectedly.
        FileExistsError: The folder has other files.
        OSError: Results can't be written.
    """
    cells = list(cells)
    if workers not in (None, -1):
        validate_integer("workers", workers, 1)
    folder = None if out is False else Path(out or cache_dir() / "cells" / name)
    from joblib.externals.loky.process_executor import BrokenProcessPool

    files = _cell_files(cells, folder)
    results = [None if fresh or not file else read_result(file) for file in files]
    missing = [index for index, result in enumerate(results) if result is None]
    errors = {}
    outcomes = _run_in_parallel(cells, files, missing, workers, name, progress)
    try:
        for index, result, error in outcomes:
            results[index] = result
            if error:
                errors[index] = error
    except BrokenProcessPool as error:
        unfinished = [cells[index] for index in missing if results[index] is None]
        raise CellsFailed(
            f"a worker process ended unexpectedly, perhaps for lack of memory; finished cells are stored. Unfinished: "
            f"{_first_labels(unfinished)}"
        ) from error
    tables = _combine(cells, results)
    if folder is not None:
        for table, rows in tables.items():
            text = rows.to_csv(index=False, lineterminator="\n")
            write_text(folder / f"{table}.csv", text)
    if errors:
        failed = [cells[index] for index in sorted(errors)]
        message = (
            f"{len(errors)} of {len(cells)} cells failed; the next call runs them again: {_first_labels(failed)}\n"
            f"The first error is {errors[min(errors)]}"
        )
        if folder is not None:
            message += f"\n`pushlab sweep --status {folder}` shows the tracebacks"
        if strict or len(errors) == len(cells):
            raise CellsFailed(message)
        warnings.warn(message, stacklevel=3)
    return tables


def status(folder: Path | str) -> pd.DataFrame:
    """Return the state of each cell of a folder's last call.

    Returns:
        A table with the columns of the labels and state ("finished", "failed" or "missing"), error, traceback.

    Raises:
        FileNotFoundError: The folder has no cells.
    """
    folder = Path(folder)
    entries = read_result(folder / CELLS_FILE)
    if entries is None:
        raise FileNotFoundError(
            f"{folder} has no undamaged {CELLS_FILE}\nrun the sweep into this folder to write it"
        )
    rows = []
    for cell in entries:
        file = folder / "cells" / cell["file"]
        row = {**cell["labels"], "state": "missing", "error": None, "traceback": None}
        if read_result(file) is not None:
            row["state"] = "finished"
        elif file.with_suffix(".error").exists():
            text = file.with_suffix(".error").read_text(encoding="utf-8")
            error = text.strip().splitlines()[-1]
            row |= {"state": "failed", "error": error, "traceback": text}
        rows.append(row)
    return pd.DataFrame(rows)


def _cell_files(cells, folder):
    """Write the list of cells; return the file of each cell, None without a folder."""
    if folder is None:
        return [None] * len(cells)
    # Another call can be writing the list, under a temporary name that starts with a dot.
    if any(folder.glob("[!.]*")) and not (folder / CELLS_FILE).exists():
        raise FileExistsError(
            f"{folder} has other files and no {CELLS_FILE}; choose a new folder, or that of a sweep"
        )
    files = []
    entries = []
    for cell in cells:
        key = fingerprint(cell.labels, cell.function, cell.arguments)
        label = "-".join(map(str, cell.labels.values()))
        file = result_file(folder / "cells", label, key)
        files.append(file)
        entries.append({"labels": cell.labels, "file": file.name})
    is_unique = len(set(files)) == len(files)
    require(is_unique, "two cells have the same labels and arguments")
    write_checked(folder / CELLS_FILE, result_json(entries))
    return files


def _run_in_parallel(cells, files, missing, workers, name, progress):
    """Yield (index, result, error) of each missing cell."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend
    from tqdm.auto import tqdm

    _, configured_workers = get_active_backend()
    if workers is None:
        workers = configured_workers if configured_workers != 1 else -1
    parallel = Parallel(n_jobs=workers, return_as="generator_unordered")
    tasks = (delayed(_run_cell)(index, cells[index], files[index]) for index in missing)
    with tqdm(
        total=len(cells),
        initial=len(cells) - len(missing),
        desc=name,
        unit="cell",
        disable=not progress,
    ) as bar:
        with interrupts_held():
            _restart_workers_if_edited()
            outcomes = parallel(tasks)  # this starts the workers
        for outcome in outcomes:
            bar.update()
            yield outcome


@contextmanager
def interrupts_held() -> Iterator[None]:
    """Context manager that delays Ctrl-C to its end. Processes started inside ignore it.

    A terminal sends Ctrl-C to all processes of a command, but only the main one handles it.
    """
    # Otherwise Python prints each semaphore of workers that are terminated.
    os.environ.setdefault("PYTHONWARNINGS", "ignore:resource_tracker")
    if os.name == "nt":
        yield
        return
    # Its start would end the block of the signal.
    resource_tracker.ensure_running()
    mask = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)


@functools.cache  # once in each process
def _end_with_parent():
    """In a worker process, start a thread that ends it soon after the main process, such as after `kill -9`."""
    parent = parent_process()

    def watch():
        while os.getppid() == parent.pid:
            time.sleep(0.5)
        os._exit(1)

    if parent:
        threading.Thread(target=watch, daemon=True).start()


def _run_cell(index, cell, file):
    """Run a cell on one thread and store its tables, or its traceback; return (index, tables, error)."""
    from threadpoolctl import threadpool_limits

    _end_with_parent()
    try:
        with threadpool_limits(1):
            rows = cell.function(*cell.arguments)
        tables = rows if isinstance(rows, Mapping) else {"results": rows}
        tables = {name: _columns(name, table, cell) for name, table in tables.items()}
        data = result_json(tables)
    except Exception as error:
        if file is not None:
            write_text(file.with_suffix(".error"), traceback.format_exc())
            file.unlink(missing_ok=True)
        return index, None, f"{type(error).__name__}: {error}"
    if file is not None:
        write_checked(file, data)
        file.with_suffix(".error").unlink(missing_ok=True)
    return index, json.loads(data), None


def _columns(name, rows, cell):
    """Return {column: values} of a cell's table, without the columns of its labels."""
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    if table.index.nlevels > 1 or table.index.name is not None:
        table = table.reset_index()
    for label, value in cell.labels.items():
        require(
            label not in table or (table[label] == value).all(),
            f"the table {name} has a column {label!r} that differs from the label of that name",
        )
    others = table.columns.difference(list(cell.labels), sort=False)
    return {str(column): table[column].tolist() for column in others}


def _combine(cells, results):
    """Return the tables of all finished cells, with the labels of its cell in each row."""
    columns: dict[str, dict] = defaultdict(dict)
    rows: dict[str, list] = defaultdict(list)
    for cell, result in zip(cells, results):
        for name, table in (result or {}).items():
            columns[name] |= dict.fromkeys([*cell.labels, *table])
            for row in zip(*table.values()):
                rows[name].append({**cell.labels, **dict(zip(table, row))})
    return {
        name: pd.DataFrame(rows[name], columns=list(columns[name])) for name in rows
    }


def labels_text(labels):
    """Return the labels of a cell as text, for messages."""
    return ", ".join(f"{name} {value}" for name, value in labels.items())


def _first_labels(cells):
    """Return the labels of the first five cells as text."""
    return "; ".join(labels_text(cell.labels) for cell in cells[:5])


_module_times: dict[str, float] = {}  # of the modules that joblib's processes loaded


def _restart_workers_if_edited():
    """End joblib's processes if a module outside installed libraries is new or has been edited."""
    from joblib.externals.loky import get_reusable_executor

    installed = tuple(sysconfig.get_paths().values())
    files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    times = {
        file: os.path.getmtime(file)
        for file in files
        if file and not file.startswith(installed) and os.path.exists(file)
    }
    if times != _module_times:
        get_reusable_executor().shutdown(wait=True)
        _module_times.clear()
        _module_times.update(times)
