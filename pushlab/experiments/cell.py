"""One cell: what it is, how it is done within its time, and how it is written down."""

from __future__ import annotations

import functools
import inspect
import json
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd

from pushlab.experiments.store import (
    BEGUN,
    FAILED,
    PART,
    encode,
    read_parts,
    write_cell,
    write_parts,
)
from pushlab.ground.faults import Ended
from pushlab.ground.files import write_text


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


class TimeLimit(BaseException):
    """A cell took longer than it may. No Exception, so that an agent that catches those does not catch it."""


def do_cell(
    at: int, cell: Cell, place: Path | None, time_limit: float | None
) -> tuple[int, Any, str | None]:
    """Does a cell and writes it down: its number, its tables if they are kept nowhere, and what went wrong."""
    begun = time.perf_counter()
    what = {
        "labels": cell.labels,
        "function": f"{cell.function.__module__}.{cell.function.__qualname__}",
    }
    if place is not None:
        write_text(
            f"{place}{BEGUN}", ""
        )  # says who it was, should the process be killed
    try:
        with _libraries(len(sys.modules)).limit(limits=1):
            tables = in_time(lambda: _tables(cell, place), time_limit)
        told = {
            table: encode(table, _without(cell.labels, table, rows))
            for table, rows in tables.items()
        }
    except _Unwritten as error:
        raise error.__cause__ from None
    except (KeyboardInterrupt, Ended):
        raise
    except (
        BaseException
    ) as error:  # whatever an agent raises: sys.exit, a failed assertion
        wrong, lines = _in_words(error)
        note_failure(
            place,
            {
                **what,
                "seconds": time.perf_counter() - begun,
                "error": wrong,
                "traceback": lines,
            },
        )
        return at, None, wrong
    if place is None:
        return at, told, None
    write_cell(place, told, {**what, "seconds": time.perf_counter() - begun})
    return at, None, None


def note_failure(place: Path | None, told: Mapping[str, Any]) -> None:
    """Writes down that a cell failed: `error` and `traceback`."""
    if place is not None:
        text = json.dumps(told, indent=1, default=str)
        write_text(f"{place}{FAILED}", text)
        Path(f"{place}{BEGUN}").unlink(missing_ok=True)


def _in_words(error):
    """What an error says, and its traceback; both without what cannot be written down."""
    try:
        words = (
            f"{type(error).__name__}: {error}",
            "".join(traceback.format_exception(error)),
        )
    except Exception:  # an error of the user's own that cannot say what it is
        words = type(error).__name__, "".join(traceback.format_tb(error.__traceback__))
    return [text.encode("utf-8", "replace").decode("utf-8") for text in words]


def _without(labels, table, rows):
    """The rows without columns that only say again which cell it is. ValueError for one that says otherwise."""
    for name in (name for name in rows.columns if name in labels):
        if not all(one == labels[name] for one in rows[name]):
            raise ValueError(
                f"the table {table} has a column {name!r}, and so have the labels of its cell; give it "
                "another name"
            )
    return rows.drop(columns=[name for name in rows.columns if name in labels])


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
        return {
            name: rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(rows)
            for name, rows in tables.items()
        }
    begun = Path(f"{place}{PART}") if place is not None else None
    parts = read_parts(begun) if begun is not None else []
    for part in cell.function(*cell.arguments, done=tuple(parts)):
        parts.append(
            {
                name: pd.DataFrame(rows).astype(object).to_dict("records")
                for name, rows in part.items()
            }
        )
        if begun is not None:
            try:
                write_parts(begun, parts)
            except OSError as error:
                raise _Unwritten from error
    return {
        name: pd.DataFrame([row for part in parts for row in part.get(name, [])])
        for name in dict.fromkeys(name for part in parts for name in part)
    }


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
    begun = time.perf_counter()
    thread.start()
    thread.join(seconds)
    if not thread.is_alive() and time.perf_counter() - begun <= seconds + 1:
        value, error = ends[0]
        if error is not None:
            raise error
        return value
    if thread.is_alive():
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(TimeLimit)
        )
        thread.join(1.0)  # time to fall; what does not is left behind
    raise TimeLimit(f"took longer than the {seconds:g} seconds that a cell may take")
