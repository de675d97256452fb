"""Tables of lifetimes from other programs: L2Logger's `data-log.tsv`, or one TSV or CSV with its columns or ours."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.tables import Rule, convert, read_as_text, whole_number, word
from pushlab.logs.typed_csv import demand_end, rule_of_type, valid_json

TABLE = "data-log.tsv"  # a table in an L2Logger folder
OURS = {
    "block_num": "block",
    "exp_num": "episode",
    "worker_id": "worker",
    "block_type": "block_type",
    "block_subtype": "block_subtype",
    "task_name": "task",
    "task_params": "params",
    "exp_status": "status",
    "timestamp": "timestamp",
}  # L2Logger's names and ours, in L2Logger's order
THEIRS = {ours: theirs for theirs, ours in OURS.items()}
MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "None"]  # missing numbers


def read_table(
    path: Path, name: str, block: int | None = None, block_type: str | None = None
) -> pd.DataFrame:
    """Return one table with our names of columns; its index is the row in the file.

    Args:
        path: A CSV file if its name ends in .csv, else a TSV file.
        name: Name of the file for messages.
        block, block_type: Those of the table's folder, if it is in an L2Logger folder.

    Raises BadData that lists every fault with its row, column and value.
    """
    demand_end(path, name)
    text = read_as_text(path, "," if path.suffix == ".csv" else "\t", name)
    columns = {column: OURS.get(column, column) for column in text}
    refuse(_header_faults(columns, name, block is not None))
    if text.empty:
        raise BadData(Fault(name, right="at least one experience below the header"))
    rules = {}
    for column, ours in columns.items():
        rules[column] = RULES.get(ours) or _rule_of_values(text[column])
        if rules[column].dtype == "float64":
            text[column] = text[column].replace(MISSING, "")
    table = convert(text, rules, name).rename(columns=columns)
    table.index = np.arange(len(table)) + 2
    for column, right in (("block", block), ("block_type", block_type)):
        if right is not None:
            wrong = table[column] != right
            words = f"{right}, as its folder says"
            refuse(
                blame(name, table.index, THEIRS[column], table[column], wrong, words)
            )
    if "episode" not in table:
        table["episode"] = np.arange(len(table))
    return table if "reward" in table else table.rename(columns={"return": "reward"})


def _header_faults(columns, name, in_folder):
    named = list(columns.values())
    needed = ["block", "episode", "block_type", "task"]
    for column in needed if in_folder else needed[2:]:
        if column not in named:
            yield Fault(name, 1, THEIRS[column], right="the column is missing")
    for column in sorted(set(named)):
        if named.count(column) > 1:
            yield Fault(name, 1, column, right="one column of this name; there are two")


def _rule_of_values(column):
    """Return the rule of a column of unknown type: if one value is a number, all must be."""
    if column.isin(["True", "False"]).all():
        return rule_of_type("bool")
    numbers = pd.to_numeric(column, errors="coerce")
    if numbers.dtype.kind == "i":
        return rule_of_type("int64")
    if numbers.notna().any() or column.isin(MISSING).all():
        return rule_of_type("float64")
    return rule_of_type("str")


def _not_empty(column):
    return column.where(column != "")


def _json_objects(column):
    return valid_json(column, dict)


TEXT = rule_of_type("str")
RULES = {
    "block": whole_number(0),
    "episode": whole_number(0),
    "block_type": word(("train", "test"), dtype="str"),
    "block_subtype": word(("wake", "sleep"), missing="", dtype="str"),
    "task": Rule("the name of a task", _not_empty, dtype="str"),
    "params": Rule("a JSON object, {…}", _json_objects, missing="", dtype="str"),
    "status": word(("complete", "incomplete"), missing="", dtype="str"),
    **dict.fromkeys(["worker", "timestamp", "phase", "run", "env", "agent"], TEXT),
}
