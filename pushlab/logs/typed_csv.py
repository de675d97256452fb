"""A log as one CSV file, and a second file with the types of its columns.

The types of `run.csv` are in `run.types.json`: {"columns": {name: type}, "attrs": the log's attributes}. A type is
NumPy's ("int64", "float64", "bool", …), "str" or "object" for plain words, or "json str" or "json object" for cells of
JSON: lists, None, and words among them. A log that is read equals the log that was written.

>>> import tempfile
>>> log = pd.DataFrame({"task": ["NA", ""], "reward": [0.1 + 0.2, 1.0], "last": [None, [1, "a"]]})
>>> with tempfile.TemporaryDirectory() as folder:
...     read_csv(write_csv(log, Path(folder) / "run.csv")).equals(log)
True
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import json_text, write_text
from pushlab.ground.reading import read_json
from pushlab.ground.tables import Rule, read_table, word


def types_file(path: Path | str) -> Path:
    """Return the path of the types file of a CSV file."""
    return Path(path).with_suffix(".types.json")


def write_csv(log: pd.DataFrame, path: Path | str) -> Path:
    """Write a log, and its attributes, as a CSV file and its types file; return the path of the CSV file.

    Raises TypeError for a cell that JSON can't hold; nothing is written then.
    """
    types = {name: _type(column) for name, column in log.items()}
    as_json = {
        name: [_to_json(value, name) for value in log[name]]
        for name, kind in types.items()
        if kind.startswith("json")
    }
    text = log.assign(**as_json).to_csv(index=False, lineterminator="\n")
    write_text(types_file(path), json_text({"columns": types, "attrs": log.attrs}))
    return write_text(path, text)


def read_csv(path: Path | str) -> pd.DataFrame:
    """Return the log in a CSV file that `write_csv` wrote.

    Raises BadData that names every cell that isn't of its column's type, or for a file that is torn.
    """
    about = {"columns": {}, "attrs": {}, **read_json(types_file(path))}
    types = about["columns"]
    try:
        rules = {name: rule_of_type(kind) for name, kind in types.items()}
    except (AttributeError, TypeError) as error:
        name = types_file(path).name
        raise BadData(Fault(name, right=f"types of columns ({error})")) from None
    demand_end(path)
    log = read_table(path, rules, others=False)
    for name, kind in types.items():
        if kind.startswith("json"):
            values = [json.loads(text) for text in log[name]]
            log[name] = pd.Series(values, log.index, kind.removeprefix("json "))
    log.attrs = about["attrs"]
    return log


def demand_end(path: Path | str, name: str | None = None) -> None:
    """Raise BadData for a file without a line break at its end: its last value may be torn."""
    if not Path(path).read_bytes().endswith(b"\n"):
        right = "a line break at its end; the last row may be torn"
        raise BadData(Fault(name or Path(path).name, right=right))


def _type(column):
    kind = str(column.dtype)
    if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
        return kind
    if all(isinstance(value, str) and value.isprintable() for value in column):
        return kind if kind == "str" else "object"
    return "json str" if kind == "str" else "json object"


def _to_json(value: Any, name: str) -> str:
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    try:
        return json.dumps(value)
    except TypeError:
        raise TypeError(
            f"column {name!r} holds {value!r:.60}, which a log on disk can't; it can hold "
            f"numbers, words, lists of them and None"
        ) from None


def rule_of_type(kind: str) -> Rule:
    """Return the rule of a column of a type. Numbers stay text until they are converted: none is rounded."""
    if kind == "bool":
        return Rule("True or False", _flags, dtype=kind)
    if kind in ("str", "object"):
        return word(dtype=kind)
    if kind in ("json str", "json object"):
        return Rule("JSON", valid_json)
    if np.dtype(kind).kind == "f":
        return Rule("a number", _numbers, missing=np.nan, dtype=kind)
    return Rule("a whole number", _whole_numbers, dtype=kind)


def _flags(column):
    return column.map({"True": True, "False": False})


def _numbers(column):
    return column.where(pd.to_numeric(column, errors="coerce").notna())


def _whole_numbers(column):
    return column.where(column.str.fullmatch(r"[+-]?\d{1,20}"))


def valid_json(column: pd.Series, kind: type = object) -> pd.Series:
    """Return a column of text with NaN for each cell that isn't JSON of a type `kind`."""
    found = {text: _is_json(text, kind) for text in column.unique()}
    return column.where(column.map(found).astype(bool))


def _is_json(text, kind):
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False
