"""Reading the notifications that answer a challenge's contexts: a table is validated whole before it is scored.

A cell is only looked up among the values of its feature, or read as a number.
"""

import numpy as np
import pandas as pd

from pushlab.datasets.schema import OTHER, Feature, Schema, as_text
from pushlab.ground.arguments import demand, in_short
from pushlab.ground.faults import BadData, Fault, blame, refuse, short
from pushlab.ground.tables import Rule, check, number, whole_number

SECONDS = number(0)._replace(right="a number of seconds, 0 or more")


def read_notifications(
    table: pd.DataFrame, schema: Schema, wanted: int, file: str = "notifications"
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Return codes int64 (contexts, components), response times (contexts,) or None, and notes.

    Args:
        table: DataFrame with one row per notification; cells are text or typed values.
        wanted: Number of contexts. Rows belong to them by the column `id`, or else by their order.
        file: Name of the table in messages, which count rows as those of a CSV file: the header is row 1.

    Raises:
        BadData: The table has faults; the message lists all of them.
    """
    features = {feature.name: feature for feature in schema.notification}
    right = f"the id of a context, 0 to {wanted - 1}"
    rules = {name: feature_rule(feature) for name, feature in features.items()}
    rules["id"] = whole_number(0, wanted - 1, required=False)._replace(right=right)
    rules["response_time"] = SECONDS._replace(required=False)
    text = text_table(table)
    values, faults = check(text, rules, file, others=False)
    order = np.arange(len(values))
    if "id" not in values:
        if len(values) != wanted:
            right = f"there are {len(values):,} rows for {wanted:,} contexts; each context needs one"
            faults.append(Fault(file, right=right))
    elif values["id"].dtype == np.int64:
        order = np.argsort(values["id"].to_numpy(), kind="stable")
        faults += _check_ids(values["id"], wanted, file)
    refuse(sorted(faults, key=lambda fault: (fault.row != 1, fault.column != "id")))
    codes = encoded(values[list(features)])[order]
    notes = []
    for name, feature in features.items():
        notes += _unknown_words(feature, text[name])
    seconds = values.get("response_time")
    return codes, None if seconds is None else seconds.to_numpy()[order], notes


def text_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with each cell as text, without the unnamed column of row numbers that pandas writes."""
    is_table = isinstance(table, pd.DataFrame)
    demand(is_table, f"a table is a pandas DataFrame; got {in_short(table)}")
    if table.columns[:1].isin(["", "Unnamed: 0"]).any():
        table = table.iloc[:, 1:]
    return table.map(as_text).reset_index(drop=True)


def feature_rule(feature: Feature) -> Rule:
    """A rule for the values of a feature, as tuples of codes."""
    return Rule(feature.right, lambda column: column.map(feature.code))


def encoded(values: pd.DataFrame) -> np.ndarray:
    """Return columns of tuples of codes as one array, int64 (rows, components)."""
    return np.hstack([np.array(values[name].tolist(), np.int64) for name in values])


def _check_ids(ids, wanted, file):
    """Return the faults of ids that occur twice or not at all."""
    right = "an id of its own (it stands there twice)"
    lines = np.arange(len(ids)) + 2
    faults = blame(file, lines, "id", ids, ids.duplicated(), right)
    missing = np.setdiff1d(np.arange(wanted), ids)
    if len(missing):
        some = ", ".join(map(str, missing[: BadData.MAX_ROWS]))
        more = ", …" if len(missing) > BadData.MAX_ROWS else ""
        right = f"{len(missing):,} contexts have no row: {some}{more}"
        faults.append(Fault(file, column="id", right=right))
    return faults


def _unknown_words(feature, column):
    """Return a note on values of an open feature that the history doesn't have, other than "other" itself."""
    if feature.kind != "open":
        return []
    unknown = column[
        (column != OTHER) & (column.map(feature.code) == feature.code(OTHER))
    ]
    words = short(", ".join(unknown.unique()), 200)
    return (
        [f"{feature.name}: the history does not know {words} (coded as 'other')"]
        if words
        else []
    )
