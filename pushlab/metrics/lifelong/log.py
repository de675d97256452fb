"""The rows of a lifetime log: its measure, its regimes, and the names of variants."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from pushlab.utils.arguments import require, require_rows, validate_choice

TRAIN = "train"
TEST = "test"
# Numeric columns that are no measures.
EXCLUDED = (
    "block",
    "regime",
    "episode",
    "seed",
    "lifetime",
    "worker",
    "raw",
    "smoothed",
    "normalized",
)
REGIME_COLUMNS = ("block", "block_type", "block_subtype", "task", "params")


def read_rows(
    log: pd.DataFrame,
    measure: str | None = None,
) -> tuple[pd.DataFrame, str]:
    """Return a lifetime log with all REGIME_COLUMNS, episode and raw, and the name of its measure.

    `raw` is the measure as floats, NaN if it is missing or the experience wasn't completed.

    Raises:
        ValueError: A column is missing or a value is invalid. For an unknown measure the message lists the numeric
            columns.
    """
    _validate(log)
    rows = log.reset_index(drop=True)
    measure = find_measure(rows, measure)
    rows["raw"] = measured_values(rows, measure)
    infinite = np.flatnonzero(np.isinf(rows["raw"]))
    if len(infinite):
        row = infinite[0]
        raise ValueError(
            f"log, column {measure}, item {row}: a finite number or an empty cell is needed; got {rows['raw'][row]}"
        )
    require(
        rows["raw"].notna().any(),
        f"log, column {measure}: at least one complete experience with a number is needed",
    )
    defaults = {
        "block_subtype": "wake",
        "params": "",
        "episode": np.arange(len(rows)),
    }
    missing = {name: value for name, value in defaults.items() if name not in rows}
    return rows.assign(**missing), measure


def measured_values(rows: pd.DataFrame, measure: str) -> np.ndarray:
    """Return the measure of each experience, float (rows,); NaN if it is missing or not completed."""
    values = rows[measure].to_numpy(float, na_value=np.nan)
    if "status" in rows:
        is_complete = rows["status"] == "complete"
        values = np.where(is_complete, values, np.nan)
    return values


def find_measure(
    rows: pd.DataFrame,
    measure: str | None = None,
    file: str = "log",
) -> str:
    """Return the measure's column: by default the log's own, else reward or return.

    Raises:
        ValueError: The column is not numeric or does not exist. The message names the `file` and lists the numeric
            columns.
    """
    own = rows.attrs.get("measure")
    candidates = [own, "reward", "return"] if measure is None else [measure]
    for name in candidates:
        if name in rows.columns and pd.api.types.is_numeric_dtype(rows[name]):
            return name
    names = ", ".join(numeric_columns(rows))
    alternatives = "none is numeric"
    if names:
        alternatives = f"numeric columns are {names}; choose one with `measure` (--measure in a terminal)"
    name = measure or own or "reward"
    raise ValueError(
        f"{file}: there is no numeric column {name!r} to measure by; {alternatives}"
    )


def numeric_columns(rows: pd.DataFrame) -> list[str]:
    """Return the columns that can be a measure; `length` can be one, but is not listed."""
    names = rows.select_dtypes("number").columns
    return [str(name) for name in names if name not in (*EXCLUDED, "length")]


def base_name(task: str) -> str:
    """Return the part of a task's name before the first "_", if there is one.

    >>> base_name("maze_dark"), base_name("_x")
    ('maze', '_x')
    """
    return str(task).split("_", 1)[0] or str(task)


def regime_numbers(rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Number the regimes of the rows, int (rows,): a new one begins when any of these columns changes.

    >>> regime_numbers(pd.DataFrame({"block": [0, 0, 1, 1], "task": ["a", "b", "b", "b"]}), ["block", "task"])
    array([0, 1, 2, 2])
    """
    codes = {name: pd.factorize(rows[name], use_na_sentinel=False)[0] for name in names}
    is_start = pd.DataFrame(codes).diff().ne(0).any(axis=1)
    return is_start.cumsum().to_numpy() - 1


def regime_starts(numbers: np.ndarray) -> np.ndarray:
    """Return the positions at which an array of integers takes a new value, with the first position."""
    changes = np.diff(numbers, prepend=numbers[0] - 1)
    return np.flatnonzero(changes)


def add_regimes(rows: pd.DataFrame, is_variant_aware: bool) -> pd.DataFrame:
    """Return rows with the number of their `regime`; rows of one experience are merged into their mean.

    Args:
        rows: A log of `read_rows`.
        is_variant_aware: Use the log's own numbers if they are unambiguous. Otherwise ignore variants and parameters.
    """
    if not is_variant_aware:
        rows = rows.assign(task=rows["task"].map(base_name), params="")
    numbers = regime_numbers(rows, [*REGIME_COLUMNS])
    has_regimes = "regime" in rows and pd.api.types.is_integer_dtype(rows["regime"])
    if is_variant_aware and has_regimes:
        own = rows["regime"].to_numpy()
        starts = regime_starts(regime_numbers(rows, ["regime", "block"]))
        is_unambiguous = len(np.unique(own[starts])) == len(starts)
        if is_unambiguous:
            numbers = own
    rows = rows.assign(regime=numbers)
    return mean_per_experience(rows, "raw", ["regime", "episode"])


def mean_per_experience(
    rows: pd.DataFrame,
    column: str,
    keys: list[str],
) -> pd.DataFrame:
    """Merge rows with the same keys into the first of them, with the mean of a column."""
    is_repeated = rows.duplicated(keys)
    if not is_repeated.any():
        return rows
    groups = rows.groupby(keys, sort=False, dropna=False)
    means = groups[column].mean().to_numpy()
    rows = rows[~is_repeated].reset_index(drop=True)
    return rows.assign(**{column: means})


def variant_names(regimes: pd.DataFrame) -> pd.Series:
    """Return the variant of each regime: the task or, if it has variants, the task with its parameters.

    A task has variants if it is trained with different parameters, and its tests distinguish them.

    >>> regimes = pd.DataFrame({"task": "shelf", "block_type": ["train", "train", "test", "test"],
    ...                         "params": ['{"n": 4, "drift": 0}', '{"n": 4, "drift": 1}'] * 2})
    >>> list(variant_names(regimes))
    ['shelf drift=0', 'shelf drift=1', 'shelf drift=0', 'shelf drift=1']
    """
    names = regimes["task"].astype(object).copy()
    params = regimes["params"].fillna("").astype(str)
    is_train = regimes["block_type"] == TRAIN
    is_test = regimes["block_type"] == TEST
    for task in names.unique():
        is_task = regimes["task"] == task
        trained = set(params[is_task & is_train])
        tested = set(params[is_task & is_test])
        if len(trained) > 1 and (not tested or tested & trained):
            labels = _differing_params(trained | tested)
            names[is_task] = [
                f"{task} {labels[text]}".strip() for text in params[is_task]
            ]
    return names


def _differing_params(texts):
    """Return {JSON text of parameters: the parameters that differ between the texts, as "key=value"}."""
    texts = sorted(texts)
    rows = []
    for text in texts:
        params = read_params(text).items()
        rows.append({k: json.dumps(v, ensure_ascii=False) for k, v in params})
    table = pd.DataFrame(rows, index=texts)
    table = table.loc[:, table.nunique(dropna=False) > 1]
    labels = {}
    for text, row in table.iterrows():
        pairs = row.dropna().items()
        labels[text] = ", ".join(f"{key}={value}" for key, value in pairs)
    is_unique = len(set(labels.values())) == len(labels)
    return labels if is_unique else dict(zip(texts, texts))


def read_params(text: str) -> dict:
    """Return the parameters that a log stores as JSON; {} if the text is not a JSON object."""
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _validate(rows):
    """Raise ValueError for missing columns and invalid entries."""
    require_rows(rows, "block", "block_type", "task", table_name="the lifetime log")
    for kind in rows["block_type"].unique():
        validate_choice("block_type", kind, (TRAIN, TEST))
    for name in ("block", "task"):
        empty = np.flatnonzero(rows[name].isna())
        if len(empty):
            raise ValueError(f"log, column {name}, item {empty[0]} is empty")
