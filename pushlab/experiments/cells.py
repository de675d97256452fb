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

import re
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.experiments.cell import Cell, do_cell, note_failure
from pushlab.experiments.store import (
    BEGUN,
    DONE,
    FAILED,
    PART,
    gather,
    names_in,
    open_folder,
    read_cell,
)
from pushlab.ground._old_files import own_folder, write_together
from pushlab.ground._old_kept import checksum
from pushlab.ground._old_origins import of_value, own_files_changed
from pushlab.ground.arguments import number, whole
from pushlab.ground.files import cache_dir

TABLE = re.compile(
    r".*-[0-9a-f]{16}\.(\w+)\.csv", re.DOTALL
)  # the file of one of a cell's tables
RESTARTS = 2  # how often a sweep goes on after processes were killed, and nobody knows in which cell
MOST_WORKERS = 1024  # processes of one call


class CellsFailed(RuntimeError):
    """Some cells raised; the others are finished and kept."""


def run_cells(
    cells: Sequence[Cell],
    out: Any = None,
    workers: int | None = None,
    fresh: bool = False,
    progress: bool = True,
    time_limit: float | None = None,
    strict: bool = True,
    name: str | None = None,
    about: Mapping[str, Any] | None = None,
) -> dict[str, pd.DataFrame]:
    """Does the cells that are not kept yet; returns their tables by name, rows in the order of the cells.

    out         a folder; None is one in pushlab's cache (if it is the user's own), False keeps nothing
    workers     processes side by side; None is as many as `joblib.parallel_config` says, else all cores. Within
                `joblib.parallel_config("dask")`, or "ray", the cells run on that cluster, whose machines have to see
                the folder under the same name
    fresh       do again what is kept; what was finished before stays until the new is
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
    if workers not in (None, -1):  # which joblib takes for all cores
        whole("workers", workers, 1, MOST_WORKERS)
    name = name or (
        cells[0].function.__module__.rpartition(".")[2] if cells else "nothing"
    )
    folder = None if out is False else Path(out or cache_dir() / "cells" / name)
    if out is None and not own_folder(folder):  # another could have left numbers there
        folder = None
    stems = stems_of(cells) if folder is not None else [""] * len(cells)
    places = [folder / "cells" / stem if folder is not None else None for stem in stems]
    there: set[str] = set()
    if folder is not None:
        listed = pd.DataFrame([cell.labels for cell in cells]).assign(file=stems)
        open_folder(folder, listed, about or {}, new=out is not None)
        there = names_in(folder)
        for place in places if fresh else ():
            Path(f"{place}{PART}").unlink(missing_ok=True)
    found = [
        None
        if fresh or stem + DONE not in there or stem + FAILED in there
        else read_cell(place)
        for stem, place in zip(stems, places)
    ]
    todo = [at for at, one in enumerate(found) if one is None]
    try:
        failed = _run(cells, places, todo, found, workers, time_limit, name, progress)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error}; cells that were finished are kept, so make room in "
            f"{folder}, or name another folder, and call again",
            error.filename,
        ) from error
    for at in (
        failed if folder is not None else ()
    ):  # its rows of before, if it was finished once
        found[at] = read_cell(places[at])
    tables = gather([cell.labels for cell in cells], found)
    if folder is not None and out is not None:
        write_together(
            {
                folder / f"{table}.csv": rows.to_csv(index=False, lineterminator="\n")
                for table, rows in tables.items()
            }
        )
        written = {
            match[1] for name in names_in(folder) if (match := TABLE.fullmatch(name))
        }
        for older in written - {
            *tables
        }:  # of a call before; what else lies here is not ours
            (folder / f"{older}.csv").unlink(missing_ok=True)
    if failed:
        _tell(cells, failed, folder, strict)
    return tables


def _tell(cells, failed, folder, strict):
    """Raises CellsFailed, or warns."""
    first = min(failed)
    label = ", ".join(f"{key} {value}" for key, value in cells[first].labels.items())
    told = (
        f"{len(failed)} of {len(cells)} cells failed, and will be tried again by the next call; the first, "
        f"{label}: {failed[first]}"
    )
    told += (
        f"\n`pushlab sweep --status {folder}` lists them; their tracebacks lie in cells/"
        if folder
        else ""
    )
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
            code[id(thing)] = of_value(
                thing
            )  # the cells hold the thing, so that its id stays its own
        return code[id(thing)]

    stems = []
    for cell in cells:
        words = re.sub(
            r"[^\w.=+-]+", "-", "-".join(map(str, cell.labels.values()))
        ).strip("-.")
        words = words.encode()[:80].decode(
            errors="ignore"
        )  # systems count bytes in names
        key = checksum(
            told(cell.function),
            cell.function.__qualname__,
            told(list(cell.labels.items())),
            told(cell.arguments),
            cell.data,
        )
        stems.append(f"{words}-{key[:16]}")
    if len(set(stems)) < len(stems):
        twice = next(cell for at, cell in enumerate(cells) if stems[at] in stems[:at])
        raise ValueError(
            f"the cell {twice.labels} is there twice; labels tell cells apart"
        )
    return stems


# ---------------------------------------------------------------- running


def _run(cells, places, todo, found, workers, time_limit, name, progress):
    """Runs the cells numbered `todo`, which fills `found`; returns {number: what went wrong} of those that failed.

    A cell whose process is killed, for want of memory perhaps, takes the others in that process along: all are run
    again, those that had begun one at a time, and what is then killed once more has failed.
    """
    from joblib.externals.loky.process_executor import (
        BrokenProcessPool,
        TerminatedWorkerError,
    )
    from tqdm.auto import tqdm

    failed: dict[int, str] = {}
    suspects: list[int] = []
    with tqdm(
        total=len(cells),
        initial=len(cells) - len(todo),
        desc=name,
        unit="cell",
        disable=not progress,
    ) as bar:
        some, restarts = todo, 0
        while some or suspects:
            some = some or [suspects.pop()]
            try:
                for at, told, error in _side_by_side(
                    cells, places, some, workers, time_limit
                ):
                    found[at] = told
                    if error:
                        failed[at] = error
                    bar.update()
                some = []
            except TerminatedWorkerError as error:
                left = _not_read(some, places, found, failed)
                if len(some) == 1 and left and places[some[0]] is not None:
                    failed[some[0]] = (
                        "its process was killed, for want of memory perhaps"
                    )
                    note_failure(
                        places[some[0]],
                        {
                            "labels": cells[some[0]].labels,
                            "error": failed[some[0]],
                            "traceback": "",
                        },
                    )
                    some = []
                    continue
                begun = [
                    at
                    for at in left
                    if places[at] is not None and Path(f"{places[at]}{BEGUN}").exists()
                ]
                restarts += not begun
                if restarts > RESTARTS:
                    raise CellsFailed(
                        "processes were killed again and again, for want of memory perhaps; what was "
                        "finished is kept. Fewer workers need less"
                    ) from error
                suspects += begun
                some = [at for at in left if at not in begun]
            except BrokenProcessPool as error:
                raise CellsFailed(
                    f"a process could not take a cell over: {error.__cause__ or error}; what the cells "
                    "need is best in a file that can be imported"
                ) from error
    tries = 20
    while (lost := _not_read(todo, places, found, failed, begun_too=True)) and tries:
        tries -= 1
        time.sleep(0.1)  # another call of the same sweep may just be writing them
    if lost:
        raise CellsFailed(
            f"{len(lost)} cells were finished elsewhere and are not in {places[lost[0]].parent}: all "
            "machines have to see one folder under this name"
        )
    return failed


_known: dict[str, list[str]] = {}  # where the processes that are there look for modules


def _side_by_side(cells, places, some, workers, time_limit):
    """Does some cells: what `do_cell` gives of each, as they are done."""
    from joblib import Parallel, delayed
    from joblib.externals.loky import get_reusable_executor
    from joblib.parallel import get_active_backend

    backend, asked = get_active_backend()
    workers = workers if workers is not None else asked if asked != 1 else -1
    if workers != 1 and (own_files_changed() or _known.get("path") != sys.path):
        get_reusable_executor().shutdown(
            wait=True
        )  # processes that are there have loaded the old ones
        _known["path"] = list(sys.path)
    # Ray's tells only when all is done: the bar then stands still until the end.
    returned = "generator_unordered" if backend.supports_return_generator else "list"
    return Parallel(n_jobs=workers, return_as=returned)(
        delayed(do_cell)(at, cells[at], places[at], time_limit) for at in some
    )


def _not_read(todo, places, found, failed, begun_too=False):
    """Reads what lies there by now; returns the numbers of what does not.

    begun_too   also what somebody has begun: where ours are done, that is another call
    """
    left = [at for at in todo if found[at] is None and at not in failed]
    for at in (
        at
        for at in left
        if places[at] is not None
        and (begun_too or not Path(f"{places[at]}{BEGUN}").exists())
    ):
        found[at] = read_cell(places[at])
    return [at for at in left if found[at] is None]
