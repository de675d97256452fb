"""Cells of a grid, run side by side on joblib and kept one by one: in a folder that any call can go on with.

A folder holds

    cells.csv               a row a cell of the last call: what it is, and the name of its files
    cells/<name>.json       a finished cell: what it is, its seconds, the form and checksum of its tables
    cells/<name>.<table>.csv
    cells/<name>.failed.json    a cell that raised: what it is, the error, the traceback
    <table>.csv             all cells' rows, once all is done

The name ends in a checksum of all that a cell's numbers come from: its function with the code that it reaches, its
arguments and its data. So an edited line always counts, and whatever is there under that name need not run again. Each
file is written whole under another name and then renamed: whatever is interrupted, and however, what lies there is
sound. A cell does its linear algebra on one thread, and its rows are always read back from what was written, so that
they are the same, digit by digit, on one core, on two and on a cluster.
"""

from __future__ import annotations

import functools
import inspect
import json
import re
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.ground.arguments import number
from pushlab.ground.files import cache_dir, write_text
from pushlab.ground.kept import checksum
from pushlab.ground.origins import of_value
from pushlab.studies.store import (
    DONE,
    FAILED,
    PART,
    encode,
    gather,
    names_in,
    open_folder,
    plain,
    read_cell,
    write_cell,
)

RESTARTS = 2            # how often a sweep goes on after one of its processes was killed


class Cell(NamedTuple):
    """A piece of a grid that can be done by itself, in any process.

    labels      which one it is, {column: value}: the first columns of its rows, and the name of its files
    function    of `arguments`; returns its rows, {table: DataFrame or list of dicts}, or one DataFrame or list, which
                is the table `results`. A generator yields such a dict for each part of the cell that is finished, and
                is told by `done`, a tuple of what it yielded before, which parts it need not do
    arguments   values, functions and classes whose content can be told (`pushlab.ground.origins`)
    data        what else its numbers come from, such as a user's tables: values, bytes or arrays
    """

    labels: dict[str, Any]
    function: Callable
    arguments: Sequence = ()
    data: Any = None


class CellsFailed(RuntimeError):
    """Some cells raised; the others are finished and kept."""


class TimeLimit(Exception):
    """A cell took longer than it may."""


def run_cells(cells: Sequence[Cell], out: Any = None, workers: int | None = None,
              fresh: bool = False, progress: bool = True, time_limit: float | None = None, strict: bool = True,
              name: str | None = None, about: Mapping[str, Any] | None = None) -> dict[str, pd.DataFrame]:
    """Does the cells that are not kept yet; returns their tables by name, rows in the order of the cells.

    out         a folder; None is one in pushlab's cache, False keeps nothing
    workers     processes side by side; None is as many as `joblib.parallel_config` says, else all cores. Within
                `joblib.parallel_config("dask")`, or "ray", the cells run on that cluster, whose machines have to see
                the folder under the same name
    fresh       do again what is kept
    progress    show a bar with the time left
    time_limit  seconds that a cell may take. It is stopped from Python; what hangs in compiled code is left behind
                where that lets go of the interpreter, as reading from a network does, and cannot be stopped elsewhere
    strict      raise CellsFailed, in the end, if a cell failed; otherwise warn. A cell that failed is tried again by
                the next call
    name        of the bar and, with `out=None`, the folder; None is that of the function's module
    about       what holds for all cells, {name: value of JSON}: a folder with other values is refused

    Raises OSError where a cell cannot be written, such as on a full disk; what was finished by then is kept.
    FileExistsError for a folder of something else.
    """
    cells = list(cells)
    if time_limit is not None:
        number("time_limit", time_limit, above=0, of="seconds")
    name = name or (cells[0].function.__module__.rpartition(".")[2] if cells else "nothing")
    folder = None if out is False else Path(out or cache_dir() / "sweeps" / name)
    stems = stems_of(cells) if folder is not None else [""] * len(cells)
    places = [folder / "cells" / stem if folder is not None else None for stem in stems]
    there: set[str] = set()
    if folder is not None:
        listed = pd.DataFrame([cell.labels for cell in cells]).assign(file=stems)
        open_folder(folder, listed, about or {}, new=out is not None)
        there = names_in(folder)
        for place in places if fresh else ():
            for end in (end for end in (DONE, PART) if place.name + end in there):
                Path(f"{place}{end}").unlink(missing_ok=True)
    found = [None if fresh or stem + DONE not in there else read_cell(place) for stem, place in zip(stems, places)]
    todo = [at for at, one in enumerate(found) if one is None]
    try:
        failed = _run(cells, places, todo, found, workers, time_limit, name, progress)
    except OSError as error:
        raise OSError(error.errno, f"{error.strerror or error}; cells that were finished are kept, so make room in "
                      f"{folder}, or name another folder, and call again", error.filename) from error
    tables = gather([cell.labels for cell in cells], found)
    for table, rows in tables.items() if folder is not None and out is not None else ():
        write_text(folder / f"{table}.csv", rows.to_csv(index=False, lineterminator="\n"))
    if failed:
        _tell(cells, failed, folder, strict)
    return tables


def _tell(cells, failed, folder, strict):
    """Raises CellsFailed, or warns."""
    first = min(failed)
    label = ", ".join(f"{key} {value}" for key, value in cells[first].labels.items())
    told = (f"{len(failed)} of {len(cells)} cells failed, and will be tried again by the next call; the first, "
            f"{label}: {failed[first]}")
    told += f"\n`pushlab sweep --status {folder}` lists them; their tracebacks lie in cells/" if folder else ""
    if strict:
        raise CellsFailed(told)
    warnings.warn(told, stacklevel=4)


def stems_of(cells: Sequence[Cell]) -> list[str]:
    """The names of the cells' files: words to read, and a checksum of all that their numbers come from."""
    code: dict[int, str] = {}

    def told(thing):
        if isinstance(thing, list | tuple):
            return [told(part) for part in thing]
        if isinstance(thing, type(None) | bool | int | float | str):
            return thing
        if id(thing) not in code:
            code[id(thing)] = of_value(thing)           # the cells hold the thing, so that its id stays its own
        return code[id(thing)]

    stems = []
    for cell in cells:
        words = re.sub(r"[^\w.=+-]+", "-", "-".join(map(str, cell.labels.values())))[:80].strip("-.")
        key = checksum(told(cell.function), cell.function.__qualname__, told(list(cell.labels.items())),
                       told(cell.arguments), cell.data)
        stems.append(f"{words}-{key[:16]}")
    if len(set(stems)) < len(stems):
        twice = next(cell for at, cell in enumerate(cells) if stems[at] in stems[:at])
        raise ValueError(f"the cell {twice.labels} is there twice; labels tell cells apart")
    return stems


# ---------------------------------------------------------------- running

def _run(cells, places, todo, found, workers, time_limit, name, progress):
    """Runs the cells numbered `todo`, which fills `found`; returns {number: what went wrong} of those that failed."""
    from joblib import Parallel, delayed
    from joblib.externals.loky.process_executor import TerminatedWorkerError
    from joblib.parallel import get_active_backend
    from tqdm.auto import tqdm

    failed: dict[int, str] = {}
    backend, asked = get_active_backend()
    workers = workers if workers is not None else asked if asked != 1 else -1
    # Ray's tells only when all is done: the bar then stands still until the end.
    returned = "generator_unordered" if backend.supports_return_generator else "list"
    with tqdm(total=len(cells), initial=len(cells) - len(todo), desc=name, unit="cell", disable=not progress) as bar:
        for attempt in range(RESTARTS + 1):
            try:
                work = Parallel(n_jobs=workers, return_as=returned)(
                    delayed(do_cell)(at, cells[at], places[at], time_limit) for at in todo)
                for at, told, error in work:
                    found[at] = told
                    if error:
                        failed[at] = error
                    bar.update()
            except TerminatedWorkerError as error:          # killed from outside, or for want of memory
                if attempt == RESTARTS:
                    raise CellsFailed(f"processes were killed {attempt + 1} times, for want of memory perhaps; what "
                                      "was finished is kept. Fewer workers need less") from error
                todo = _not_read(todo, places, found, failed)
            else:
                todo = _not_read(todo, places, found, failed)
                break
    if todo:
        raise CellsFailed(f"{len(todo)} cells were finished elsewhere and are not in {places[todo[0]].parent}: all "
                          "machines have to see one folder under this name")
    return failed


def _not_read(todo, places, found, failed):
    """Reads what lies there by now; returns the numbers of what does not."""
    left = [at for at in todo if found[at] is None and at not in failed]
    for at in (at for at in left if places[at] is not None):
        found[at] = read_cell(places[at])
    return [at for at in left if found[at] is None]


def do_cell(at: int, cell: Cell, place: Path | None, time_limit: float | None) -> tuple[int, Any, str | None]:
    """Does a cell and writes it down: its number, its tables if they are kept nowhere, and what went wrong, if it did.
    """
    begun = time.perf_counter()
    what = {"labels": cell.labels, "function": f"{cell.function.__module__}.{cell.function.__qualname__}"}
    try:
        with _libraries(len(sys.modules)).limit(limits=1):
            tables = in_time(lambda: _tables(cell, place), time_limit)
        told = {table: encode(table, rows) for table, rows in tables.items()}
    except _Unwritten as error:
        raise error.__cause__ from None
    except (Exception, SystemExit) as error:
        lines = "".join(traceback.format_exception(error))
        wrong = f"{type(error).__name__}: {error}"
        if place is not None:
            failure = {**what, "seconds": time.perf_counter() - begun, "error": wrong, "traceback": lines}
            write_text(f"{place}{FAILED}", json.dumps(failure, indent=1, default=str))
        return at, None, wrong
    if place is None:
        return at, told, None
    write_cell(place, told, {**what, "seconds": time.perf_counter() - begun})
    return at, None, None


@functools.lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """The libraries of linear algebra of this process. Finding them takes milliseconds: again only after imports."""
    import scipy.linalg  # noqa: F401  it has a library of its own, which would otherwise be loaded within a cell
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Unwritten(Exception):
    """A part of a cell could not be written: no fault of the cell."""


def _tables(cell, place):
    """The cell's tables by name, as DataFrames; of a generator those of all parts, each kept as it is finished."""
    if not inspect.isgeneratorfunction(cell.function):
        tables = cell.function(*cell.arguments)
        tables = tables if isinstance(tables, Mapping) else {"results": tables}
        return {name: rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows) for name, rows in tables.items()}
    begun = Path(f"{place}{PART}") if place is not None else None
    parts = json.loads(begun.read_text(encoding="utf-8")) if begun is not None and begun.exists() else []
    for part in cell.function(*cell.arguments, done=tuple(parts)):
        parts.append({name: pd.DataFrame(rows).astype(object).to_dict("records") for name, rows in part.items()})
        if begun is not None:
            try:
                write_text(begun, json.dumps(parts, default=plain))
            except OSError as error:
                raise _Unwritten from error
    return {name: pd.DataFrame([row for part in parts for row in part.get(name, [])])
            for name in dict.fromkeys(name for part in parts for name in part)}


def in_time(work: Callable[[], Any], seconds: float | None) -> Any:
    """What `work()` gives, or raises; TimeLimit if that takes longer than so many seconds. None is no limit.

    >>> in_time(lambda: 2 + 2, seconds=5)
    4
    """
    if seconds is None:
        return work()
    import ctypes

    ends: list = []

    def live():
        try:
            ends.append((work(), None))
        except BaseException as error:
            ends.append((None, error))

    thread = threading.Thread(target=live, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(TimeLimit))
        thread.join(1.0)                                    # time to fall; what does not is left behind
        raise TimeLimit(f"took longer than the {seconds:g} seconds that a cell may take")
    value, error = ends[0]
    if error is not None:
        raise error
    return value
