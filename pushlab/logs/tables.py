"""Logs as CSV files, and tables of lifetimes from other programs.

A log is one CSV file, and a second file with the types of its columns. The types of `run.csv` are in `run.types.json`:
{"columns": {name: type}, "attrs": the log's attributes}. A type is NumPy's ("int64", "float64", "bool", …), "str" or
"object" for plain words, or "json str" or "json object" for JSON cells: lists, None, and words in the same column. A
log that is read equals the log that was written.

>>> import tempfile
>>> log = pd.DataFrame({"task": ["NA", ""], "reward": [0.1 + 0.2, 1.0], "last": [None, [1, "a"]]})
>>> with tempfile.TemporaryDirectory() as folder:
...     read_csv(write_csv(log, Path(folder) / "run.csv")).equals(log)
True

Tables of other programs are L2Logger's `data-log.tsv`, or one TSV or CSV file with its column names or ours.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.utils.files import json_text, read_json, write_text
from pushlab.utils.issues import BadData, DataIssue, column_issues, raise_issues
from pushlab.utils.tables import (
    ColumnRule,
    convert_columns,
    integer_rule,
    read_raw_table,
    read_table,
    text_rule,
)


def types_file(path: Path | str) -> Path:
    """Return the path of the types file of a CSV file."""
    return Path(path).with_suffix(".types.json")


def write_csv(log: pd.DataFrame, path: Path | str) -> Path:
    """Write a log, and its attributes, as a CSV file and its types file; return the path of the CSV file.

    Raises:
        TypeError: A cell can't be stored as JSON. Nothing is written.
    """
    types = {name: _type(column) for name, column in log.items()}
    json_columns = {
        name: [_to_json(value, name) for value in log[name]]
        for name, kind in types.items()
        if kind.startswith("json")
    }
    text = log.assign(**json_columns).to_csv(index=False, lineterminator="\n")
    write_text(types_file(path), json_text({"columns": types, "attrs": log.attrs}))
    return write_text(path, text)


def read_csv(path: Path | str) -> pd.DataFrame:
    """Read a log from a CSV file of `write_csv`.

    Raises:
        BadData: A cell doesn't have its column's type, or the file is incomplete. The message lists all issues.
    """
    content = {"columns": {}, "attrs": {}, **read_json(types_file(path))}
    types = content["columns"]
    try:
        rules = {name: type_rule(kind) for name, kind in types.items()}
    except (AttributeError, TypeError) as error:
        name = types_file(path).name
        raise BadData(
            DataIssue(name, valid_values=f"types of columns ({error})")
        ) from None
    validate_end(path)
    log = read_table(path, rules, allow_extra=False)
    for name, kind in types.items():
        if kind.startswith("json"):
            values = [json.loads(text) for text in log[name]]
            log[name] = pd.Series(values, log.index, kind.removeprefix("json "))
    log.attrs = content["attrs"]
    return log


def validate_end(path: Path | str, name: str | None = None) -> None:
    """Raise BadData for a file without a line break at its end, whose last value can be incomplete."""
    if not Path(path).read_bytes().endswith(b"\n"):
        valid_values = (
            "a line break is missing at the end; the last row may be incomplete"
        )
        raise BadData(DataIssue(name or Path(path).name, valid_values=valid_values))


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
            f"column {name!r} has the value {value!r:.60}, which can't be stored as JSON; "
            f"use numbers, words, lists of them and None"
        ) from None


def type_rule(kind: str) -> ColumnRule:
    """Return the rule of a column of a type. Numbers stay text until they are converted, so none is rounded."""
    if kind == "bool":
        return ColumnRule("True or False", _flags, dtype=kind)
    if kind in ("str", "object"):
        return text_rule(dtype=kind)
    if kind in ("json str", "json object"):
        return ColumnRule("JSON", valid_json)
    if np.dtype(kind).kind == "f":
        return ColumnRule("a number", _numbers, fill_value=np.nan, dtype=kind)
    return ColumnRule("a whole number", _whole_numbers, dtype=kind)


def _flags(column):
    return column.map({"True": True, "False": False})


def _numbers(column):
    return column.where(pd.to_numeric(column, errors="coerce").notna())


def _whole_numbers(column):
    return column.where(column.str.fullmatch(r"[+-]?\d{1,20}"))


def valid_json(column: pd.Series, kind: type = object) -> pd.Series:
    """Return a column of text with NaN for each cell that isn't JSON of a type `kind`."""
    is_valid = {text: _is_json(text, kind) for text in column.unique()}
    return column.where(column.map(is_valid).astype(bool))


def _is_json(text, kind):
    try:
        return isinstance(json.loads(text), kind)
    except (ValueError, RecursionError):
        return False


DATA_LOG = "data-log.tsv"  # name of each table in an L2Logger folder
# {L2Logger's name of a column: our name}, in L2Logger's order.
COLUMN_NAMES = {
    "block_num": "block",
    "exp_num": "episode",
    "worker_id": "worker",
    "block_type": "block_type",
    "block_subtype": "block_subtype",
    "task_name": "task",
    "task_params": "params",
    "exp_status": "status",
    "timestamp": "timestamp",
}
L2LOGGER_NAMES = {name: original for original, name in COLUMN_NAMES.items()}
MISSING_NUMBERS = ["", "NA", "N/A", "nan", "NaN", "null", "None"]


def read_lifetime_table(
    path: Path, name: str, block: int | None = None, block_type: str | None = None
) -> pd.DataFrame:
    """Return one table with our column names; its index is the row in the file.

    Args:
        path: A CSV file if its name ends in .csv, else a TSV file.
        name: Name of the file for messages.
        block, block_type: Values of the table's folder, if it is in an L2Logger folder.

    Raises:
        BadData: The table has issues; the message lists each with its row, column and value.
    """
    validate_end(path, name)
    separator = "," if path.suffix == ".csv" else "\t"
    text = read_raw_table(path, separator, name)
    columns = {column: COLUMN_NAMES.get(column, column) for column in text}
    raise_issues(_header_issues(columns, name, block is not None))
    if text.empty:
        raise BadData(
            DataIssue(name, valid_values="the table has no experience below the header")
        )
    rules = {}
    for column, our_name in columns.items():
        rule = RULES.get(our_name) or _inferred_rule(text[column])
        if rule.dtype == "float64":
            text[column] = text[column].replace(MISSING_NUMBERS, "")
        rules[column] = rule
    table = convert_columns(text, rules, name).rename(columns=columns)
    table.index = np.arange(len(table)) + 2
    if block is not None:
        _validate_column(table, "block", block, name)
        _validate_column(table, "block_type", block_type, name)
    if "episode" not in table:
        table["episode"] = np.arange(len(table))
    return table if "reward" in table else table.rename(columns={"return": "reward"})


def _validate_column(table, column, expected, name):
    """Raise BadData unless all values of a column equal the value in the folder's name."""
    values = table[column]
    original = L2LOGGER_NAMES[column]
    valid_values = f"{expected}, as in the folder's name"
    raise_issues(
        column_issues(
            name, table.index, original, values, values != expected, valid_values
        )
    )


def _header_issues(columns, name, is_in_folder):
    names = list(columns.values())
    required = ["block_type", "task"]
    if is_in_folder:
        required = ["block", "episode", *required]
    for column in required:
        if column not in names:
            names_of_column = " or ".join({column: 1, L2LOGGER_NAMES[column]: 1})
            valid_values = f"the column {names_of_column} is missing; the file has {', '.join(columns)}"
            yield DataIssue(name, 1, valid_values=valid_values)
    for column in sorted(set(names)):
        if names.count(column) > 1:
            yield DataIssue(name, 1, column, valid_values="the column is there twice")


def _inferred_rule(column):
    """Return the rule of a column of unknown type: if one value is a number, all must be."""
    if column.isin(["True", "False"]).all():
        return type_rule("bool")
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.dtype.kind == "i":
        return type_rule("int64")
    if numbers.notna().any() or column.isin(MISSING_NUMBERS).all():
        return type_rule("float64")
    return type_rule("str")


def _not_empty(column):
    return column.where(column != "")


def _json_objects(column):
    return valid_json(column, dict)


TEXT = type_rule("str")
RULES = {
    "block": integer_rule(0),
    "episode": integer_rule(0),
    "block_type": text_rule(("train", "test"), dtype="str"),
    "block_subtype": text_rule(("wake", "sleep"), fill_value="", dtype="str"),
    "task": ColumnRule("the name of a task", _not_empty, dtype="str"),
    "params": ColumnRule(
        "a JSON object, {…}", _json_objects, fill_value="", dtype="str"
    ),
    "status": text_rule(("complete", "incomplete"), fill_value="", dtype="str"),
    **dict.fromkeys(["worker", "timestamp", "phase", "run", "env", "agent"], TEXT),
}
