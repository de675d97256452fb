"""The rows of a lifetime log as the metrics read them: one an experience, in regimes, with a number or without one."""

import numpy as np
import pandas as pd

from pushlab.ground.faults import BadData, Fault

TRAIN, TEST = "train", "test"
NO_MEASURES = ("block", "regime", "episode", "seed", "lifetime", "worker", "raw", "smoothed", "normalized")
ABOUT = ("block", "block_type", "block_subtype", "task", "params")


def read_rows(log, measure, settings):
    """A lifetime log made ready: a DataFrame in the order lived, with all columns of `ABOUT`, regime, episode and raw.

    raw    float, the measure; NaN where it is missing, or the experience was not completed
    Rows of one experience (the same number in the same regime) become one, their mean.

    Raises BadData that lists what is missing, and for a measure that is not there the numeric columns that are.
    """
    if not isinstance(log, pd.DataFrame):
        raise TypeError(f"a lifetime log is a DataFrame with a row an experience; got {type(log).__name__}")
    rows = log.reset_index(drop=True)
    measure = find_measure(rows, measure)
    _demand_columns(rows)
    rows = rows.assign(raw=_numbers(rows[measure], measure))
    for column, value in (("block_subtype", "wake"), ("params", "")):
        if column not in rows:
            rows[column] = value
    if "episode" not in rows:
        rows["episode"] = np.arange(len(rows))
    if "status" in rows:
        rows.loc[(rows["status"] != "complete").to_numpy(), "raw"] = np.nan
    if settings.is_release:
        return _as_the_release_reads(rows, settings), measure
    if settings.variant_mode == "agnostic":
        rows = rows.assign(task=rows["task"].map(base_name), params="")
    if not rows["raw"].notna().any():
        raise BadData([Fault("log", None, measure, None, "at least one complete experience with a number")])
    rows["regime"] = _regimes(rows, trust=settings.variant_mode == "aware")
    return mean_per_experience(rows, "raw", ["regime", "episode"]), measure


def find_measure(rows, measure=None):
    """The measure's column: the one asked for, else what the log names, else reward or return.

    Raises BadData naming the numeric columns there are.
    """
    wanted = [measure] if measure is not None else [rows.attrs.get("measure"), "reward", "return"]
    for name in wanted:
        if name in rows.columns and pd.api.types.is_numeric_dtype(rows[name]):
            return name
    numeric = [str(name) for name in rows.columns if pd.api.types.is_numeric_dtype(rows[name])
               and name not in NO_MEASURES]
    there = f"numeric columns are {', '.join(numeric)}" if numeric else "there is no numeric column"
    name = str(measure or rows.attrs.get("measure") or "reward")
    raise BadData([Fault("log", None, name, None, f"no such numeric column to measure by; {there}")])


def base_name(task):
    """What comes before the first "_" of a task's name, if anything does.

    >>> base_name("maze_dark"), base_name("_x")
    ('maze', '_x')
    """
    return str(task).split("_", 1)[0] or str(task)


def run_starts(*columns):
    """Positions at which any of some columns takes a new value, the first row included."""
    if not len(columns[0]):
        return np.zeros(0, int)
    changed = np.zeros(len(columns[0]) - 1, bool)
    for column in columns:
        codes = column if column.dtype.kind in "iu" else pd.factorize(column, use_na_sentinel=False)[0]
        changed |= codes[1:] != codes[:-1]
    return np.concatenate([[0], np.flatnonzero(changed) + 1])


def regime_numbers(starts, size):
    """The number of the regime of each row, array (size,), from the positions at which regimes start."""
    return np.repeat(np.arange(len(starts)), np.diff(np.append(starts, size)))


def _demand_columns(rows):
    faults = [Fault("log", None, name, None, "a lifetime log has this column")
              for name in ("block", "block_type", "task") if name not in rows]
    if not len(rows):
        faults.append(Fault("log", None, None, None, "at least one row"))
    if "block_type" in rows:
        kinds = pd.unique(rows["block_type"])
        faults += [Fault("log", None, "block_type", str(kind), "train or test") for kind in kinds
                   if kind not in (TRAIN, TEST)]
    for name in ("block", "task"):
        if name in rows and rows[name].isna().any():
            faults += [Fault("log", int(row), name, None, "is empty", "item") for row in
                       np.flatnonzero(rows[name].isna())]
    if faults:
        raise BadData(faults)


def _numbers(column, measure):
    values = column.to_numpy(float, na_value=np.nan).copy()
    if np.isinf(values).any():
        raise BadData([Fault("log", int(row), measure, str(values[row]), "a finite number, or empty", "item")
                       for row in np.flatnonzero(np.isinf(values))])
    return values


def _regimes(rows, trust):
    """Regimes as the log numbers them, where it does so plainly; else counted from what changes."""
    blocks = [rows["block"].to_numpy(), rows["block_type"].to_numpy()]
    if trust and "regime" in rows and pd.api.types.is_integer_dtype(rows["regime"]):
        given = rows["regime"].to_numpy()
        starts = run_starts(given, blocks[0])
        if len(np.unique(given[starts])) == len(starts):
            return given
    others = [rows[name].to_numpy() for name in ("block_subtype", "task", "params")]
    return regime_numbers(run_starts(*blocks, *others), len(rows))


def mean_per_experience(rows, column, keys):
    """Rows that agree in some keys become the first of them, with the mean of a column."""
    twice = rows.duplicated(keys)
    if not twice.any():
        return rows
    means = rows.groupby(keys, sort=False, dropna=False)[column].mean()
    return rows[~twice].reset_index(drop=True).assign(**{column: means.to_numpy()})


def _as_the_release_reads(rows, settings):
    """Rows as l2metrics 3.1.0 keeps them: complete and with a number, by experience, names in small letters."""
    rows = rows[rows["raw"].notna()].sort_values(["episode", "block"], kind="stable", ignore_index=True)
    if not len(rows):
        raise BadData([Fault("log", None, None, None, "at least one complete experience with a number")])
    agnostic = settings.variant_mode == "agnostic"
    codes, names = pd.factorize(rows["task"])
    names = np.array([str(name).lower().split("_")[0] if agnostic else str(name).lower() for name in names], object)
    rows["task"] = names[codes]
    starts = run_starts(*(rows[name].to_numpy() for name in ("block", "block_type", "block_subtype", "task")))
    rows["regime"] = regime_numbers(starts, len(rows))
    return rows
