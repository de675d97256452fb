"""Cells of a grid: independent runs, computed in parallel by joblib and stored one by one.

A folder holds

- `cells.json`: labels and file of each cell of the last call
- cells/<labels>-<fingerprint>.json: the tables of a finished cell
- cells/<labels>-<fingerprint>.error: the traceback of a failed one
- <table>.csv: the rows of all cells

The fingerprint covers everything that a cell's numbers depend on. After an edit of an agent its
cells have other file names, so they run again and no others do. Rows are always read back from
JSON, so they are the same on one core, on two and on a cluster.
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

from pushlab.ground.arguments import demand, whole
from pushlab.ground.files import cache_dir, write_text
from pushlab.ground.store import fingerprint, read_result, result_file, result_text

CELLS = "cells.json"


class Cell(NamedTuple):
    """An independent run.

    Attributes:
        labels: Column names and values that identify the cell, the first columns of its rows.
        function: Returns the cell's rows: a DataFrame or a list of dicts, or several tables {name: rows}.
        arguments: Arguments of the function.
    """

    labels: Mapping[str, Any]
    function: Callable
    arguments: Sequence = ()


class CellsFailed(RuntimeError):
    """Raised if some cells raised an error; all others are finished and stored."""


def run_cells(
    cells: Sequence[Cell],
    out: Any = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: bool = True,
    strict: bool = True,
    name: str = "cells",
) -> dict[str, pd.DataFrame]:
    """Run the cells that aren't finished; return the tables of all cells, with rows in the order of the cells.

    Args:
        out: Folder of the results. None is a folder in pushlab's cache, False stores nothing.
        workers: Number of processes; None takes that of `joblib.parallel_config`, or all cores. Inside
            `joblib.parallel_config("dask")` or `"ray"` the cells run on that cluster.
        fresh: Run finished cells again.
        progress: Show a progress bar.
        strict: Whether to raise CellsFailed after all cells if one failed, rather than warn. The next call tries failed
            cells again.
        name: Name on the progress bar and, if `out` is None, of the folder.

    Raises:
        FileExistsError: The folder has other files.
        OSError: Results can't be written.
    """
    cells = list(cells)
    if workers not in (None, -1):
        whole("workers", workers, 1)
    folder = None if out is False else Path(out or cache_dir() / "cells" / name)
    from joblib.externals.loky.process_executor import BrokenProcessPool

    files = _cell_files(cells, folder)
    results = [None if fresh or not file else read_result(file) for file in files]
    missing = [at for at, result in enumerate(results) if result is None]
    errors = {}
    done = _side_by_side(cells, files, missing, workers, name, progress)
    try:
        for at, result, error in done:
            results[at] = result
            if error:
                errors[at] = error
    except BrokenProcessPool as error:
        unfinished = [
            labels_text(cells[at].labels)
            for at in missing
            if not (files[at] and files[at].exists())
        ]
        raise CellsFailed(
            f"a worker process ended unexpectedly, for want of memory perhaps; finished cells are stored. Unfinished: "
            f"{'; '.join(unfinished[:5])}"
        ) from error
    tables = _combine(cells, results)
    if folder is not None:
        for table, rows in tables.items():
            text = rows.to_csv(index=False, lineterminator="\n")
            write_text(folder / f"{table}.csv", text)
    if errors:
        first = min(errors)
        message = (
            f"{len(errors)} of {len(cells)} cells failed, and will be tried again by the next call; the first, "
            f"{labels_text(cells[first].labels)}: {errors[first]}"
        )
        if folder is not None:
            message += f"\n`pushlab sweep --status {folder}` has their tracebacks"
        if strict:
            raise CellsFailed(message)
        warnings.warn(message, stacklevel=3)
    return tables


def status(folder: Path | str) -> pd.DataFrame:
    """Return a table of the cells of a folder's last call: labels, state (finished, failed, missing), error, traceback.

    Raises:
        FileNotFoundError: The folder has no cells.
    """
    folder = Path(folder)
    if not (folder / CELLS).is_file():
        raise FileNotFoundError(f"{folder} is no folder of a sweep: it has no {CELLS}")
    rows = []
    for cell in json.loads((folder / CELLS).read_text(encoding="utf-8")):
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
    """Return the file of each cell, or None if nothing is stored, and write the list of cells."""
    if folder is None:
        return [None] * len(cells)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CELLS).exists():
        raise FileExistsError(
            f"{folder} is no folder of a sweep: it has no {CELLS}; name a new one"
        )
    files = []
    listed = []
    for cell in cells:
        key = fingerprint(cell.labels, cell.function, cell.arguments)
        label = "-".join(map(str, cell.labels.values()))
        files.append(result_file(folder / "cells", label, key))
        listed.append({"labels": cell.labels, "file": files[-1].name})
    demand(
        len(set(files)) == len(files), "two cells have the same labels and arguments"
    )
    write_text(folder / CELLS, result_text(listed))
    return files


def _side_by_side(cells, files, missing, workers, name, progress):
    """Yield the number, the result and the error of each missing cell."""
    from joblib import Parallel, delayed
    from joblib.parallel import get_active_backend
    from tqdm.auto import tqdm

    backend, configured = get_active_backend()
    if workers is None:
        workers = configured if configured != 1 else -1
    _restart_workers()
    returned = "generator_unordered" if backend.supports_return_generator else "list"
    work = (delayed(_run_cell)(at, cells[at], files[at]) for at in missing)
    finished = len(cells) - len(missing)
    with tqdm(
        total=len(cells), initial=finished, desc=name, unit="cell", disable=not progress
    ) as bar:
        for done in Parallel(n_jobs=workers, return_as=returned)(work):
            bar.update()
            yield done


def _run_cell(at, cell, file):
    """Run a cell on one thread and store its tables, or the traceback of its error."""
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
        return at, None, f"{type(error).__name__}: {error}"
    if file is not None:
        write_text(file, text)
        file.with_suffix(".error").unlink(missing_ok=True)
    return at, json.loads(text), None


def _columns(name, rows, cell):
    """Return {column: values} of a cell's table, without its labels."""
    table = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
    if table.index.nlevels > 1 or table.index.name is not None:
        table = table.reset_index()
    for label, value in cell.labels.items():
        demand(
            label not in table or (table[label] == value).all(),
            f"the table {name} has a column {label!r}, and so have the cell's labels",
        )
    others = table.columns.difference(list(cell.labels), sort=False)
    return {str(column): table[column].tolist() for column in others}


def _combine(cells, results):
    """Return the tables of all finished cells, each row with the labels of its cell."""
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
    """Return the labels of a cell for a message."""
    return ", ".join(f"{name} {value}" for name, value in labels.items())


_modules_of_workers: dict[str, float] = {}


def _restart_workers():
    """End joblib's processes if a module outside of installed libraries is new or was edited."""
    from joblib.externals.loky import get_reusable_executor

    installed = tuple(sysconfig.get_paths().values())
    files = {getattr(module, "__file__", None) for module in [*sys.modules.values()]}
    own = [file for file in files if file and not file.startswith(installed)]
    modules = {file: os.path.getmtime(file) for file in own if os.path.exists(file)}
    if modules != _modules_of_workers:
        get_reusable_executor().shutdown(wait=True)
        _modules_of_workers.clear()
        _modules_of_workers.update(modules)
