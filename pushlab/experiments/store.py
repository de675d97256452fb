"""Cells on disk: the folder of a sweep, a finished cell's tables as CSV and back, and what is still missing."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground._old_files import clear_unfinished, write_together
from pushlab.ground._old_kept import checksum
from pushlab.ground._old_reading import read_bytes, read_json
from pushlab.ground.faults import BadData
from pushlab.ground.files import json_text, write_text

DONE, FAILED, PART, BEGUN = ".json", ".failed.json", ".part.json", ".begun"
LISTED, ABOUT = "cells.csv", "sweep.json"
LARGEST = 2**30  # bytes of a file of a cell
MOST_AXES = 1000  # columns of the list of cells


def open_folder(
    folder: Path, cells: pd.DataFrame, about: Mapping[str, Any], new: bool = True
) -> None:
    """Makes the folder of a sweep, or opens it again, and writes down which cells there are.

    cells   a row a cell: its labels, and `file`, the name of its files
    about   what is the same for all cells, {name: value of JSON}
    new     whether somebody named the folder: FileExistsError then, if it is something else's
    """
    listed = folder / LISTED
    if new and folder.is_dir() and not listed.exists():
        others = [
            name
            for name in os.listdir(folder)
            if name[0] != "." and name not in (LISTED, ABOUT, "cells")
        ]
        if others:
            raise FileExistsError(
                f"{folder} is no folder of a sweep: it has no {LISTED}, but {others[0]}; name a new "
                "one"
            )
    if new and listed.exists():
        now = json.loads(json.dumps(about))
        try:
            held = list(pd.read_csv(_listed(folder), nrows=0).columns)
            before = read_json(folder / ABOUT)
        except (
            OSError,
            ValueError,
        ):  # damaged or not there: written anew, cells are sound anyway
            held, before = list(cells.columns), now
        other = next(
            (key for key in {**before, **now} if before.get(key) != now.get(key)), None
        )
        if held != list(cells.columns):
            raise FileExistsError(
                f"{folder} holds another sweep, whose cells are told apart by {', '.join(held[:-1])} "
                f"and not by {', '.join(cells.columns[:-1])}; name another folder"
            )
        if other is not None:
            raise FileExistsError(
                f"{folder} holds another sweep, with {other} {before.get(other)!r} and not "
                f"{now.get(other)!r}; name another folder"
            )
    write_together(
        {
            listed: cells.to_csv(index=False, lineterminator="\n"),
            folder / ABOUT: json_text(dict(about)),
        }
    )
    clear_unfinished(folder / "cells")


def _listed(folder):
    """The list of a sweep's cells, open; ValueError if it is wider than any, which pandas would read for minutes."""
    data = read_bytes(folder / LISTED, LARGEST)
    if data.partition(b"\n")[0].count(b",") > MOST_AXES:
        raise ValueError(f"{LISTED} has more than {MOST_AXES} columns")
    return io.BytesIO(data)


def names_in(folder: Path) -> set[str]:
    """The names of all files of a sweep's cells."""
    return set(os.listdir(folder / "cells")) if (folder / "cells").is_dir() else set()


def status(folder: Path | str) -> pd.DataFrame:
    """What is done of a sweep's cells, a DataFrame: labels, `state` (finished, failed, missing), `error`, `traceback`.

    folder   the `out` of a sweep; cells count as of its last call

    Raises FileNotFoundError where there is no such folder.
    """
    folder = Path(folder)
    if not (folder / LISTED).is_file():
        raise FileNotFoundError(f"{folder} is no folder of a sweep: it has no {LISTED}")
    try:
        table, there = (
            pd.read_csv(_listed(folder), dtype=str, keep_default_na=False),
            names_in(folder),
        )
        files = table["file"]
        if wrong := [name for name in files if Path(name).name != name]:
            raise ValueError(wrong[0])
    except (ValueError, KeyError) as error:
        raise ValueError(
            f"{folder / LISTED} is damaged; the same sweep, called again, writes it anew"
        ) from error
    for name in table:  # words stay what they were, "NA" and "007" too
        if table[name].str.fullmatch(r"0|-?[1-9]\d{0,17}").all():
            table[name] = table[name].astype("int64")
    state = [
        "failed"
        if name + FAILED in there
        else "finished"
        if name + DONE in there and read_cell(folder / "cells" / name) is not None
        else "missing"
        for name in files
    ]
    told = [
        _failure(folder / "cells" / (name + FAILED)) if one == "failed" else {}
        for name, one in zip(files, state)
    ]
    return table.drop(columns="file").assign(
        state=state,
        **{key: [one.get(key) for one in told] for key in ("error", "traceback")},
    )


def _failure(path):
    """What `note_failure` wrote."""
    try:
        told = read_json(path, LARGEST)
        return {key: str(told[key]) for key in ("error", "traceback")}
    except (BadData, KeyError) as error:
        return {"error": f"{path.name} is damaged ({error})", "traceback": ""}


def write_parts(path: Path, parts: Sequence[Mapping[str, list]]) -> None:
    """Writes the parts of a cell that are finished. TypeError for what JSON does not hold."""
    parts = json.loads(json.dumps(parts, default=plain))
    write_text(
        path, json.dumps({"checksum": checksum(path.name, parts), "parts": parts})
    )


def read_parts(path: Path) -> list[dict[str, list]]:
    """The parts of a cell that were finished before; none where the file is damaged: they are done again."""
    try:
        told = json.loads(read_bytes(path, LARGEST))
        return (
            told["parts"]
            if told["checksum"] == checksum(path.name, told["parts"])
            else []
        )
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return []


def write_cell(
    place: Path, tables: Mapping[str, tuple[dict, str]], what: Mapping[str, Any]
) -> None:
    """Writes a finished cell: its tables first, and last what says that it is finished."""
    for table, (_, text) in tables.items():
        write_text(f"{place}.{table}.csv", text)
    forms = {
        table: {**form, "checksum": checksum(text.encode())}
        for table, (form, text) in tables.items()
    }
    write_text(
        f"{place}{DONE}",
        json.dumps(
            {**what, "tables": forms, "check": checksum(Path(place).name, forms)},
            default=str,
        ),
    )
    for end in (FAILED, PART, BEGUN):
        Path(f"{place}{end}").unlink(missing_ok=True)


# ---------------------------------------------------------------- tables as text


def encode(table: str, rows: pd.DataFrame) -> tuple[dict, str]:
    """A table's form (rows, and the kind of each column) and its CSV. ValueError for what no CSV holds."""
    if not re.fullmatch(r"\w+", str(table)) or table == "cells":
        raise ValueError(
            f"a table's name is of letters, digits and _, and not cells; got {table!r}"
        )
    if rows.index.nlevels > 1 or rows.index.name is not None:
        rows = rows.reset_index()  # the groups of a groupby, say
    rows = rows.set_axis([str(name) for name in rows.columns], axis=1)
    if not rows.columns.is_unique:
        raise ValueError(
            f"the table {table} has two columns named {rows.columns[rows.columns.duplicated()][0]!r}"
        )
    kinds: dict[str, str] = {}
    columns: dict[str, Any] = {}
    for name in rows.columns:
        values = rows[name]
        if values.dtype == bool:
            kinds[name], columns[name] = "bool", values
        elif (
            isinstance(values.dtype, np.dtype)
            and values.dtype.kind in "iuf"
            and values.dtype != np.uint64
        ):
            kinds[name] = "float64" if values.dtype.kind == "f" else "int64"
            columns[name] = values.astype(kinds[name])
        elif all(
            isinstance(one, str) and one and "\r" not in one and "\0" not in one
            for one in values
        ):
            kinds[name], columns[name] = "text", values.astype(object)
        else:
            kinds[name] = "json"
            columns[name] = [
                json.dumps(None if one is pd.NA else one, default=plain)
                for one in values
            ]
    text = pd.DataFrame(columns, columns=list(kinds)).to_csv(
        index=False, lineterminator="\n"
    )
    text.encode("utf-8")  # UnicodeEncodeError now, and not while it is written
    return {"rows": len(rows), "kinds": kinds}, text


def plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(
        f"a table of a cell holds numbers, words, lists and dicts; got {value!r:.60}, a "
        f"{type(value).__name__}"
    )


def read_cell(place: Path) -> dict[str, tuple[dict, str]] | None:
    """The tables of a finished cell, {name: (form, CSV)}; None where it is not finished, or not sound."""
    try:
        told, tables = json.loads(read_bytes(Path(f"{place}{DONE}"), LARGEST)), {}
        if told.get("check") not in (
            None,
            checksum(Path(place).name, told["tables"]),
        ):  # None: by 0.7
            return None
        for table, form in told["tables"].items():
            text = read_bytes(Path(f"{place}.{table}.csv"), LARGEST)
            if checksum(text) != form["checksum"]:
                return None
            tables[table] = (
                {"rows": form["rows"], "kinds": dict(form["kinds"])},
                text.decode(),
            )
        return tables
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def gather(
    labels: Sequence[Mapping], found: Sequence[dict | None]
) -> dict[str, pd.DataFrame]:
    """The rows of all finished cells, {table: DataFrame}, each row with the labels of its cell.

    labels, found   of each cell: what it is, and its tables as `read_cell` gives them

    Cells of one form are read in one piece, for speed.
    """
    alike: dict[tuple, list] = {}
    for at, tables in enumerate(found):
        for table, (form, text) in (tables or {}).items():
            head, _, body = text.partition("\n")
            alike.setdefault((table, head, tuple(form["kinds"].items())), []).append(
                (at, form["rows"], body)
            )
    pieces: dict[str, list] = {}
    for (table, head, kinds), some in alike.items():
        rows = _decode(f"{head}\n" + "".join(body for *_, body in some), dict(kinds))
        counts = [count for _, count, _ in some]
        front = pd.DataFrame([labels[at] for at, *_ in some])
        front = front.loc[np.repeat(np.arange(len(some)), counts)].reset_index(
            drop=True
        )
        order = np.repeat([at for at, *_ in some], counts)
        pieces.setdefault(table, []).append(
            pd.concat([front, rows], axis=1).set_index(order)
        )
    return {
        table: pd.concat(some).sort_index(kind="stable").reset_index(drop=True)
        for table, some in pieces.items()
    }


def _decode(text, kinds):
    if not kinds:
        return pd.DataFrame()
    read = {"text": str, "json": str, "float64": str}
    rows = pd.read_csv(
        io.StringIO(text),
        dtype={name: read.get(kind, kind) for name, kind in kinds.items()},
        keep_default_na=False,
    )
    for name, kind in kinds.items():
        if kind == "json":
            rows[name] = pd.Series(
                [json.loads(one) for one in rows[name]], dtype=object
            )
        elif (
            kind == "float64"
        ):  # Python's own reading is exact in every release of pandas
            rows[name] = np.array([float(one or "nan") for one in rows[name]], float)
    return rows
