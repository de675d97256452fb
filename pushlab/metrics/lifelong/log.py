"""The rows of a lifetime log: its measure, its regimes, and the names of variants."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from pushlab.ground.arguments import demand, has_rows, one_of

TRAIN = "train"
TEST = "test"
NO_MEASURES = (
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
ABOUT = ("block", "block_type", "block_subtype", "task", "params")


def read_rows(
    log: pd.DataFrame, measure: str | None = None
) -> tuple[pd.DataFrame, str]:
    """Return a lifetime log with all columns of `ABOUT`, episode and raw, and the name of its measure.

    `raw` is the measure as floats, NaN if it is missing or the experience wasn't completed.

    Raises:
        ValueError: For a missing column or an invalid value; for an unknown measure it lists the numeric columns.
    """
    _validate(log)
    rows = log.reset_index(drop=True)
    measure = find_measure(rows, measure)
    rows["raw"] = measured(rows, measure)
    infinite = np.flatnonzero(np.isinf(rows["raw"]))
    if len(infinite):
        row = infinite[0]
        raise ValueError(
            f"log, column {measure}, item {row}: expected a finite number, or nothing; got {rows['raw'][row]}"
        )
    demand(
        rows["raw"].notna().any(),
        f"log, column {measure}: at least one complete experience with a number is needed",
    )
    usual = {"block_subtype": "wake", "params": "", "episode": np.arange(len(rows))}
    missing = {name: value for name, value in usual.items() if name not in rows}
    return rows.assign(**missing), measure


def measured(rows: pd.DataFrame, measure: str) -> np.ndarray:
    """Return the measure of each experience, float (rows,); NaN if it is missing or not completed."""
    values = rows[measure].to_numpy(float, na_value=np.nan)
    if "status" in rows:
        values = np.where(rows["status"] == "complete", values, np.nan)
    return values


def find_measure(
    rows: pd.DataFrame, measure: str | None = None, file: str = "log"
) -> str:
    """Return the measure's column: the given one, else the one that the log names, else reward or return.

    Raises:
        ValueError: Of this `file`; lists the numeric columns.
    """
    own = rows.attrs.get("measure")
    for name in [own, "reward", "return"] if measure is None else [measure]:
        if name in rows.columns and pd.api.types.is_numeric_dtype(rows[name]):
            return name
    numeric = numeric_columns(rows)
    there = "there is no numeric column"
    if numeric:
        there = f"numeric columns are {', '.join(numeric)}"
    name = measure or own or "reward"
    raise ValueError(
        f"{file}: there is no numeric column {name} to measure by; {there}"
    )


def numeric_columns(rows: pd.DataFrame) -> list[str]:
    """Return the columns that can be a measure; length is one only if it is asked for."""
    return [
        str(name)
        for name in rows.select_dtypes("number")
        if name not in (*NO_MEASURES, "length")
    ]


def base_name(task: str) -> str:
    """Return the part of a task's name before the first "_", if there is one.

    >>> base_name("maze_dark"), base_name("_x")
    ('maze', '_x')
    """
    return str(task).split("_", 1)[0] or str(task)


def regime_numbers(rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    """Number the regimes of the rows, int (rows,): one begins where any of these columns changes.

    >>> regime_numbers(pd.DataFrame({"block": [0, 0, 1, 1], "task": ["a", "b", "b", "b"]}), ["block", "task"])
    array([0, 1, 2, 2])
    """
    codes = {name: pd.factorize(rows[name], use_na_sentinel=False)[0] for name in names}
    changes = pd.DataFrame(codes).diff().ne(0).any(axis=1)
    return changes.cumsum().to_numpy() - 1


def run_starts(numbers: np.ndarray) -> np.ndarray:
    """Return the positions at which an array of integers takes a new value, the first included."""
    return np.flatnonzero(np.diff(numbers, prepend=numbers[0] - 1))


def in_regimes(rows: pd.DataFrame, is_aware: bool) -> pd.DataFrame:
    """Return rows with the number of their `regime`; rows of one experience become one, their mean.

    Args:
        is_aware: Use the log's own numbers if they are unambiguous. Otherwise ignore variants and parameters.
    """
    if not is_aware:
        rows = rows.assign(task=rows["task"].map(base_name), params="")
    numbers = regime_numbers(rows, [*ABOUT])
    if is_aware and "regime" in rows and pd.api.types.is_integer_dtype(rows["regime"]):
        own = rows["regime"].to_numpy()
        starts = run_starts(regime_numbers(rows, ["regime", "block"]))
        if len(np.unique(own[starts])) == len(starts):
            numbers = own
    return mean_per_experience(
        rows.assign(regime=numbers), "raw", ["regime", "episode"]
    )


def mean_per_experience(
    rows: pd.DataFrame, column: str, keys: list[str]
) -> pd.DataFrame:
    """Merge rows that agree in some keys into the first of them, with the mean of a column."""
    repeats = rows.duplicated(keys)
    if not repeats.any():
        return rows
    means = rows.groupby(keys, sort=False, dropna=False)[column].mean()
    return rows[~repeats].reset_index(drop=True).assign(**{column: means.to_numpy()})


def name_variants(regimes: pd.DataFrame) -> pd.Series:
    """Return the variant of each regime: the task or, if it has variants, the task with its parameters.

    A task has variants if it is trained under several parameters and its tests tell them apart.

    >>> regimes = pd.DataFrame({"task": "shelf", "block_type": ["train", "train", "test", "test"],
    ...                         "params": ['{"n": 4, "drift": 0}', '{"n": 4, "drift": 1}'] * 2})
    >>> list(name_variants(regimes))
    ['shelf drift=0', 'shelf drift=1', 'shelf drift=0', 'shelf drift=1']
    """
    names = regimes["task"].astype(object).copy()
    params = regimes["params"].fillna("").astype(str)
    for task in names.unique():
        own = regimes["task"] == task
        trained = set(params[own & (regimes["block_type"] == TRAIN)])
        tested = set(params[own & (regimes["block_type"] == TEST)])
        if len(trained) > 1 and (not tested or tested & trained):
            words = _differing_words(trained | tested)
            names[own] = [f"{task} {words[text]}".strip() for text in params[own]]
    return names


def _differing_words(texts):
    """Return {JSON text of parameters: those that differ between the texts, as "key=value"}."""
    rows = []
    for text in sorted(texts):
        params = read_params(text).items()
        rows.append({k: json.dumps(v, ensure_ascii=False) for k, v in params})
    table = pd.DataFrame(rows, index=sorted(texts))
    table = table.loc[:, table.nunique(dropna=False) > 1]
    words = {
        text: ", ".join(f"{key}={value}" for key, value in row.dropna().items())
        for text, row in table.iterrows()
    }
    is_unique = len(set(words.values())) == len(words)
    return words if is_unique else {text: text for text in words}


def read_params(text: str) -> dict:
    """Return the parameters that a log holds as JSON; {} if the text is something else."""
    try:
        values = json.loads(text)
    except ValueError:
        return {}
    return values if isinstance(values, dict) else {}


def _validate(rows):
    """Raise ValueError for missing columns and invalid entries."""
    has_rows(rows, "block", "block_type", "task", what="the lifetime log")
    for kind in rows["block_type"].unique():
        one_of("block_type", kind, (TRAIN, TEST))
    for name in ("block", "task"):
        empty = np.flatnonzero(rows[name].isna())
        if len(empty):
            raise ValueError(f"log, column {name}, item {empty[0]} is empty")
