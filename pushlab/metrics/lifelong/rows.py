"""The rows of a lifetime log as the metrics read them: one an experience, in regimes, with a number or without one."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault
from pushlab.metrics.settings import Settings

TRAIN, TEST = "train", "test"
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
NO_NUMBERS = "at least one complete experience with a number"


def read_rows(
    log: pd.DataFrame, measure: str | None = None
) -> tuple[pd.DataFrame, str]:
    """A lifetime log with all columns of `ABOUT`, episode and raw, and the name of its measure.

    raw    float, the measure; NaN where it is missing, or the experience was not completed

    Raises BadData that lists what is missing, and for a measure that is not there the numeric columns that are.
    """
    if not isinstance(log, pd.DataFrame):
        raise TypeError(
            f"a lifetime log is a DataFrame with a row an experience; got {type(log).__name__}"
        )
    rows = log.reset_index(drop=True)
    measure = find_measure(rows, measure)
    _demand_columns(rows)
    values = rows[measure].to_numpy(float, na_value=np.nan)
    if np.isinf(values).any():
        raise BadData(
            [
                Fault(
                    "log",
                    int(row),
                    measure,
                    str(values[row]),
                    "a finite number, or empty",
                    "item",
                )
                for row in np.flatnonzero(np.isinf(values))
            ]
        )
    filled = {"block_subtype": "wake", "params": "", "episode": np.arange(len(rows))}
    rows = rows.assign(
        raw=values,
        **{name: value for name, value in filled.items() if name not in rows},
    )
    if "status" in rows:
        rows.loc[(rows["status"] != "complete").to_numpy(), "raw"] = np.nan
    return rows, measure


def in_regimes(rows: pd.DataFrame, measure: str, settings: Settings) -> pd.DataFrame:
    """Rows with the number of their `regime`, those of one experience being one, their mean."""
    if settings.variant_mode == "agnostic":
        rows = rows.assign(task=rows["task"].map(base_name), params="")
    if not rows["raw"].notna().any():
        raise BadData([Fault("log", None, measure, None, NO_NUMBERS)])
    rows["regime"] = _regimes(rows, trust=settings.variant_mode == "aware")
    return mean_per_experience(rows, "raw", ["regime", "episode"])


def find_measure(
    rows: pd.DataFrame, measure: str | None = None, file: str = "log"
) -> str:
    """The measure's column: the one asked for, else what the log names, else reward or return.

    Raises BadData, of this `file`, naming the numeric columns there are.
    """
    wanted = (
        [measure]
        if measure is not None
        else [rows.attrs.get("measure"), "reward", "return"]
    )
    for name in wanted:
        if name in rows.columns and pd.api.types.is_numeric_dtype(rows[name]):
            return name
    numeric = [
        str(name)
        for name in rows
        if pd.api.types.is_numeric_dtype(rows[name]) and name not in NO_MEASURES
    ]
    there = (
        f"numeric columns are {', '.join(numeric)}"
        if numeric
        else "there is no numeric column"
    )
    name = str(measure or rows.attrs.get("measure") or "reward")
    raise BadData(
        [
            Fault(
                file, None, name, None, f"no such numeric column to measure by; {there}"
            )
        ]
    )


def numeric_columns(rows: pd.DataFrame) -> list[str]:
    """Columns that say how well it went; a length does not by itself, though one may ask to measure by it."""
    return [
        str(name)
        for name in rows.select_dtypes("number")
        if name not in (*NO_MEASURES, "length")
    ]


def base_name(task: str) -> str:
    """What comes before the first "_" of a task's name, if anything does.

    >>> base_name("maze_dark"), base_name("_x")
    ('maze', '_x')
    """
    return str(task).split("_", 1)[0] or str(task)


def run_starts(*columns: np.ndarray) -> np.ndarray:
    """Positions at which any of some columns takes a new value, the first row included."""
    if not len(columns[0]):
        return np.zeros(0, int)
    changed = np.zeros(len(columns[0]) - 1, bool)
    for column in columns:
        codes = (
            column
            if column.dtype.kind in "iu"
            else pd.factorize(column, use_na_sentinel=False)[0]
        )
        changed |= codes[1:] != codes[:-1]
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def regime_numbers(rows: pd.DataFrame, names: list[str]) -> np.ndarray:
    """The number of the regime of each row, array (rows,): one begins where any of some columns takes a new value."""
    starts = run_starts(*(rows[name].to_numpy() for name in names))
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(rows))))


def mean_per_experience(
    rows: pd.DataFrame, column: str, keys: list[str]
) -> pd.DataFrame:
    """Rows that agree in some keys become the first of them, with the mean of a column."""
    twice = rows.duplicated(keys)
    if not twice.any():
        return rows
    means = rows.groupby(keys, sort=False, dropna=False)[column].mean()
    return rows[~twice].reset_index(drop=True).assign(**{column: means.to_numpy()})


def name_variants(regimes: pd.DataFrame) -> pd.Series:
    """What is learned, and asked for in tests, by one name: the task, or of several parameters the task with them.

    A task falls into variants if it is trained under several parameters and its tests tell them apart.

    >>> regimes = pd.DataFrame({"task": "shelf", "block_type": ["train", "train", "test", "test"],
    ...                         "params": ['{"n": 4, "drift": 0}', '{"n": 4, "drift": 1}'] * 2})
    >>> list(name_variants(regimes))
    ['shelf drift=0', 'shelf drift=1', 'shelf drift=0', 'shelf drift=1']
    """
    names = regimes["task"].astype(object).copy()
    params = regimes["params"].fillna("").astype(str)
    for task in dict.fromkeys(names):
        own = regimes["task"] == task
        trained = set(params[own & (regimes["block_type"] == TRAIN)])
        tested = set(params[own & (regimes["block_type"] == TEST)])
        if len(trained) > 1 and (not tested or tested & trained):
            words = _words_that_differ(trained | tested)
            names[own] = [f"{task} {words[text]}".strip() for text in params[own]]
    return names


def _regimes(rows, trust):
    """Regimes as the log numbers them, where it does so plainly; else counted from what changes."""
    if trust and "regime" in rows and pd.api.types.is_integer_dtype(rows["regime"]):
        given = rows["regime"].to_numpy()
        starts = run_starts(given, rows["block"].to_numpy())
        if len(np.unique(given[starts])) == len(starts):
            return given
    return regime_numbers(rows, [*ABOUT])


def _demand_columns(rows):
    faults = [
        Fault("log", None, name, None, "a lifetime log has this column")
        for name in ("block", "block_type", "task")
        if name not in rows
    ]
    if not len(rows):
        faults.append(Fault("log", None, None, None, "at least one row"))
    if "block_type" in rows:
        faults += [
            Fault("log", None, "block_type", str(kind), "train or test")
            for kind in pd.unique(rows["block_type"])
            if kind not in (TRAIN, TEST)
        ]
    for name in ("block", "task"):
        if name in rows:
            faults += [
                Fault("log", int(row), name, None, "is empty", "item")
                for row in np.flatnonzero(rows[name].isna())
            ]
    if faults:
        raise BadData(faults)


def _words_that_differ(texts):
    """{JSON text of parameters: those that are not the same in all of them, as "key=value"}."""
    read = {text: read_params(text) for text in sorted(texts)}
    keys = list(dict.fromkeys(key for values in read.values() for key in values))
    differing = [
        key
        for key in keys
        if len({json.dumps(v.get(key), sort_keys=True) for v in read.values()}) > 1
    ]
    words = {
        text: ", ".join(
            f"{key}={json.dumps(values[key], ensure_ascii=False)}"
            for key in differing
            if key in values
        )
        for text, values in read.items()
    }
    return (
        words
        if len(set(words.values())) == len(words)
        else {text: text for text in words}
    )


def read_params(text: str) -> dict:
    """Return the parameters that a log holds as JSON, {} if it holds something else there."""
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}
