"""Read and validate the notifications that answer a challenge's contexts.

Cells are only matched with the values of their feature or converted to numbers. They are never evaluated.
"""

import numpy as np
import pandas as pd

from pushlab.datasets.schema import OTHER, Feature, Schema, as_text
from pushlab.utils.arguments import require, short_repr
from pushlab.utils.issues import DataIssue, listed, raise_issues, shorten
from pushlab.utils.tables import (
    ColumnRule,
    integer_rule,
    number_rule,
    try_convert_columns,
)

SECONDS = number_rule(0)._replace(
    valid_values="a number of seconds, at least 0, such as 0.5"
)


def read_notifications(
    table: pd.DataFrame,
    schema: Schema,
    n_contexts: int,
    file: str = "notifications",
) -> tuple[np.ndarray, np.ndarray | None, list[str]]:
    """Return codes int64 (contexts, components), response times (contexts,) or None, and notes.

    Args:
        table: DataFrame with one row per notification; cells are text or typed values.
        n_contexts: Number of contexts. Rows are matched to them by the column `id`, or else by their order.
        file: Name of the table in messages. They count rows as in a CSV file, where the header is row 1.

    Raises:
        BadData: If the table has issues; the message lists all of them.
    """
    features = {feature.name: feature for feature in schema.notification}
    last_id = n_contexts - 1
    rules = {name: feature_rule(feature) for name, feature in features.items()}
    rules["id"] = integer_rule(0, last_id, required=False)._replace(
        valid_values=f"the id of a context, 0 to {last_id}"
    )
    rules["response_time"] = SECONDS._replace(required=False)
    text = text_table(table)
    values, issues = try_convert_columns(text, rules, file, allow_extra=False)
    order = np.arange(len(values))
    if "id" not in values:
        if len(values) != n_contexts:
            valid_values = f"each of the {n_contexts:,} contexts needs a row; the rows are {len(values):,}"
            issues.append(DataIssue(file, valid_values=valid_values))
    elif values["id"].dtype == np.int64:
        order = np.argsort(values["id"].to_numpy(), kind="stable")
        issues += _check_ids(values["id"], n_contexts, file)
    raise_issues(issues)
    codes = [np.array(values[name].tolist(), np.int64) for name in features]
    notes = []
    for name, feature in features.items():
        notes += _note_unknown_values(feature, text[name])
    seconds = values.get("response_time")
    return (
        np.hstack(codes)[order],
        None if seconds is None else seconds.to_numpy()[order],
        notes,
    )


def text_table(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with each cell as text, without the unnamed index column that pandas writes."""
    is_table = isinstance(table, pd.DataFrame)
    require(is_table, f"the table must be a pandas DataFrame; got {short_repr(table)}")
    has_index = table.columns[:1].isin(["", "Unnamed: 0"])
    if has_index.any():
        table = table.iloc[:, 1:]
    return table.map(as_text).rename(columns=as_text).reset_index(drop=True)


def feature_rule(feature: Feature) -> ColumnRule:
    """Return a rule that converts the values of a feature to tuples of codes."""
    return ColumnRule(feature.valid_values, lambda column: column.map(feature.code))


def _check_ids(ids, n_contexts, file):
    """Yield the issues of repeated and missing ids."""
    repeated = ids[ids.duplicated(keep=False)]
    groups = repeated.groupby(repeated).groups.items()
    if groups:
        words = listed([f"{name} (rows {listed(rows + 2)})" for name, rows in groups])
        valid_values = f"each id must occur once; repeated: {words}"
        yield DataIssue(file, column="id", valid_values=valid_values)
    missing = np.setdiff1d(np.arange(n_contexts), ids)
    if len(missing):
        valid_values = f"each context needs a row; missing: {listed(missing)}"
        yield DataIssue(file, column="id", valid_values=valid_values)


def _note_unknown_values(feature, column):
    """Return a note on values of an open feature that aren't in the history, or an empty list."""
    if feature.kind != "open":
        return []
    is_unknown = column.map(feature.code) == feature.code(OTHER)
    unknown = column[is_unknown & (column != OTHER)]
    if unknown.empty:
        return []
    words = listed([shorten(word) for word in unknown.unique()])
    count = len(unknown)
    words += f" ({count:,} row{'s' if count > 1 else ''}, coded as 'other')"
    return [f"{feature.name}: not in the history: {words}"]
