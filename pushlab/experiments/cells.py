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

import json
import os
import sys
import sysconfig
import traceback
import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.utils.arguments import require, validate_integer
from pushlab.utils.cache import fingerprint, read_result, result_file, result_text
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
            `joblib.parallel_config("dask")` or `"ray"` the cells run on that cluster.
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
        unfinished = [
            cells[index]
            for index in missing
            if not (files[index] and files[index].exists())
        ]
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
    if not (folder / CELLS_FILE).is_file():
        raise FileNotFoundError(
            f"{folder} has no {CELLS_FILE}, so it has no results of a sweep"
        )
    rows = []
    for cell in json.loads((folder / CELLS_FILE).read_text(encoding="utf-8")):
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
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CELLS_FILE).exists():
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
    write_text(folder / CELLS_FILE, result_text(entries))
    return files


def _run_in_parallel(cells, files, missing, workers, name, progress):
    """Yield (index, result, error) of each missing cell."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend
    from tqdm.auto import tqdm

    backend, configured_workers = get_active_backend()
    if workers is None:
        workers = configured_workers if configured_workers != 1 else -1
    _restart_workers_if_edited()
    return_as = "generator_unordered" if backend.supports_return_generator else "list"
    tasks = (delayed(_run_cell)(index, cells[index], files[index]) for index in missing)
    n_finished = len(cells) - len(missing)
    with tqdm(
        total=len(cells),
        initial=n_finished,
        desc=name,
        unit="cell",
        disable=not progress,
    ) as bar:
        for outcome in Parallel(n_jobs=workers, return_as=return_as)(tasks):
            bar.update()
            yield outcome


def _run_cell(index, cell, file):
    """Run a cell on one thread and store its tables, or its traceback; return (index, tables, error)."""
    from threadpoolctl import threadpool_limits

    try:
        with threadpool_limits(1):
            rows = cell.function(*cell.arguments)
        tables = rows if isinstance(rows, Mapping) else {"results": rows}
        tables = {name: _columns(name, table, cell) for name, table in tables.items()}
        text = result_text(tables)
    except Exception as error:
        if file is not None:
            write_text(file.with_suffix(".error"), traceback.format_exc())
            file.unlink(missing_ok=True)
        return index, None, f"{type(error).__name__}: {error}"
    if file is not None:
        write_text(file, text)
        file.with_suffix(".error").unlink(missing_ok=True)
    return index, json.loads(text), None


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
    own = [file for file in files if file and not file.startswith(installed)]
    times = {file: os.path.getmtime(file) for file in own if os.path.exists(file)}
    if times != _module_times:
        get_reusable_executor().shutdown(wait=True)
        _module_times.clear()
        _module_times.update(times)
