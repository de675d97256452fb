"""All metrics of a lifetime at once: by lifetime, by task, by pair of tasks, by regime, with what could not be told."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground.arguments import one_of
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.maintenance import maintenance_table
from pushlab.metrics.lifelong.registry import (
    METRICS,
    SYLLABUS_TYPES,
    Metric,
    metrics_for,
)
from pushlab.metrics.lifelong.rows import TEST, TRAIN
from pushlab.metrics.settings import Settings

PAIR_COLUMNS = ["metric", "learned", "tested", "block", "regime", "value"]


@dataclass(repr=False)
class Report:
    """What `lifelong_report` found.

    lifetime         Series, metric to value
    tasks            DataFrame task x metric, of the metrics that have a value for each task
    pairs            DataFrame metric, learned, tested, block, regime, value, of the metrics that compare tasks
    regimes          DataFrame, a row a regime: regime, block, block_type, block_subtype, task, variant, params, count,
                     mean, saturation, time_to_saturation, terminal, time_to_terminal, recovery_time (inf: not
                     within its `count`), recovered (bool, NaN where it is no return), maintenance_mrlep,
                     maintenance_mrtlp
    against_experts  DataFrame, a row a task and expert
    curves           DataFrame, the log with raw, smoothed and normalized
    experts          {task: list of arrays}, the experts' curves, smoothed and normalized as the log is
    missing          list of (metric, reason); a metric that lacks only some tasks is there with "in part: …", and so
                     is one that is inf, since what it counts was never reached
    settings, syllabus_type, measure   what it was computed with
    scales           {task: (low, high)} that were normalised to 0 … 100
    """

    lifetime: pd.Series
    tasks: pd.DataFrame
    pairs: pd.DataFrame
    regimes: pd.DataFrame
    against_experts: pd.DataFrame
    curves: pd.DataFrame
    experts: dict
    missing: list
    settings: Settings
    syllabus_type: str
    measure: str
    scales: dict = field(default_factory=dict)

    def table(self) -> pd.DataFrame:
        """The lifetime's metrics, a DataFrame indexed by metric: value, unit, better, about; missing ones with why."""
        rows = {
            name: (
                value,
                self.unit(name),
                METRICS[name].better or "",
                METRICS[name].about,
            )
            for name, value in self.lifetime.items()
        }
        rows |= {
            name: (
                np.nan,
                self.unit(name),
                METRICS[name].better or "",
                f"missing: {reason}",
            )
            for name, reason in self.missing
            if name not in rows
        }
        table = pd.DataFrame.from_dict(
            rows, orient="index", columns=["value", "unit", "better", "about"]
        )
        return table.rename_axis("metric")

    def unit(self, name: str) -> str:
        """The unit of a metric's values; "points" are those of 0 … 100, unless nothing was normalised."""
        unit = METRICS[name].unit
        return (
            self.measure
            if unit == "points" and self.settings.normalization == "none"
            else unit
        )

    def counts(self) -> pd.DataFrame:
        """How many experiences each task was trained and tested, and the range of its values, a DataFrame by task."""
        curves = self.curves
        by_task = curves.groupby("task", sort=False)["normalized"]
        counts = (
            curves.groupby(["task", "block_type"], sort=False)
            .size()
            .unstack(fill_value=0)
        )
        table = counts.reindex(columns=[TRAIN, TEST], fill_value=0).rename(
            columns={TRAIN: "trained", TEST: "tested"}
        )
        return table.assign(min=by_task.min(), max=by_task.max()).rename_axis(
            None, axis=1
        )

    def to_dict(self) -> dict[str, Any]:
        """Everything but the curves as plain values that JSON holds; NaN and inf become None, `missing` says why."""
        return _plain(
            {
                "measure": self.measure,
                "syllabus_type": self.syllabus_type,
                "settings": self.settings.to_dict(),
                "lifetime": self.lifetime.to_dict(),
                "tasks": self.tasks.T.to_dict(),
                "counts": self.counts().T.to_dict(),
                "scales": {
                    task: {"low": low, "high": high}
                    for task, (low, high) in self.scales.items()
                },
                "pairs": self.pairs.to_dict("records"),
                "against_experts": self.against_experts.to_dict("records"),
                "regimes": self.regimes.to_dict("records"),
                "missing": [
                    {"metric": name, "reason": reason} for name, reason in self.missing
                ],
            }
        )

    def __repr__(self) -> str:
        lines = [
            f"Report of {len(self.curves):,} experiences, {len(self.tasks)} tasks, {self.syllabus_type}"
        ]
        lines += [
            f"  {name:32} {value:10.4g} {self.unit(name)}"
            for name, value in self.lifetime.items()
        ]
        lines += [f"  {name:32} {reason}" for name, reason in self.missing]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def lifelong_report(
    log: pd.DataFrame,
    experts: Any = None,
    measure: str | None = None,
    syllabus_type: str | None = None,
    metrics: str | Iterable[str | Callable] | None = None,
    settings: Settings | Mapping[str, Any] | None = None,
) -> Report:
    """The metrics of one lifetime, a Report.

    log            lifetime log, a DataFrame with a row an experience in the order lived; at least block, block_type,
                   task, and the measure
    experts        single-task experts: a store, or {task: [lifetime log or array, ...]}; None for none
    measure        column to measure by; None takes what the log names, else reward
    syllabus_type  CL, ANT_A or ANT_B, which chooses the metrics; None takes what the log says, else what it looks like
    metrics        names of metrics, to compute these and no others; a name and a function alike may stand here
    settings       Settings

    What a metric lacks is said in `.missing`, and the others are computed. Raises BadData for a log that none of them
    could be computed from, ValueError for names that do not exist.

    >>> from pushlab.metrics.lifelong import log_of
    >>> log = log_of(("train", "a", [0, 8]), ("test", "a", [8]), ("train", "b", [0, 8]), ("test", "a", [2]))
    >>> report = lifelong_report(log)
    >>> float(report.lifetime["performance_maintenance_mrlep"])         # from 8 to 2, of the 8 between worst and best
    -75.0
    >>> dict(report.missing)["recovery_time"]
    'no task is trained a second time'
    """
    settings = (
        Settings.from_dict(settings)
        if isinstance(settings, dict)
        else settings or Settings()
    )
    if not isinstance(settings, Settings):
        raise TypeError(
            f"settings are Settings or a dict of them; got {type(settings).__name__}"
        )
    life = Lifetime.references.get(settings.reference or "", Lifetime)(
        log, experts, measure, settings
    )
    kind = one_of(
        "a syllabus type",
        syllabus_type or find_syllabus_type(log, life.regimes),
        SYLLABUS_TYPES,
    )
    by_lifetime, by_task, missing = {}, {}, []
    pairs = [pd.DataFrame(columns=PAIR_COLUMNS)]
    for name, chosen in _chosen(metrics, kind, settings).items():
        value, reasons = _compute(chosen, life)
        if isinstance(value, pd.Series):
            by_task[name] = value.astype(float)
        elif isinstance(value, pd.DataFrame):
            pairs.append(value.assign(metric=name))
        total = aggregate(value, settings)
        if np.isnan(total):
            missing.append((name, "; ".join(reasons) or "no task has a value"))
        else:
            by_lifetime[name] = total
            missing += [(name, f"in part: {'; '.join(reasons)}")] if reasons else []
    pairs = [table for table in pairs if len(table)] or pairs[:1]
    return Report(
        lifetime=pd.Series(by_lifetime, dtype=float, name="value"),
        tasks=pd.DataFrame(by_task, index=pd.Index(life.tasks, name="task")),
        pairs=pd.concat(pairs, ignore_index=True).reindex(columns=PAIR_COLUMNS),
        regimes=_regime_table(life),
        against_experts=life.expert_table,
        curves=life.log.drop(columns="for_ratios"),
        experts={
            task: [curve for curve, _ in life.expert_curves(task)] for task in life.runs
        },
        missing=missing,
        settings=settings,
        syllabus_type=kind,
        measure=life.measure,
        scales={task: scale.own for task, scale in life.scales.items()},
    )


def find_syllabus_type(log: pd.DataFrame, regimes: pd.DataFrame) -> str:
    """What the log says of itself, else CL for one task, ANT_B if every test is of all tasks and one comes first."""
    told = log.attrs.get("syllabus_type") or (log.attrs.get("scenario") or {}).get(
        "syllabus_type"
    )
    if isinstance(told, str) and told.upper().replace("-", "_") in SYLLABUS_TYPES:
        return told.upper().replace("-", "_")
    tasks = set(regimes["task"])
    if len(tasks) == 1:
        return "CL"
    tests = (
        regimes[regimes["block_type"] == TEST]
        .groupby("block", sort=False)["task"]
        .agg(set)
    )
    first = regimes["block_type"].iloc[0] == TEST
    return "ANT_B" if first and all(tested == tasks for tested in tests) else "ANT_A"


def aggregate(value: float | pd.Series | pd.DataFrame, settings: Settings) -> float:
    """From what a metric returns to the lifetime's value: over tasks, or over the first of each pair of tasks."""
    if isinstance(value, pd.DataFrame):
        value = value.drop_duplicates(["learned", "tested"])["value"]
    if not isinstance(value, pd.Series):
        return float(value)
    values = value.to_numpy(float)
    values = values[~np.isnan(values)]  # inf stays: never, which counts
    if not len(values):
        return math.nan
    return float(
        np.median(values) if settings.aggregation == "median" else np.mean(values)
    )


def _chosen(metrics, kind, settings) -> dict[str, Metric]:
    if metrics is None:
        return metrics_for(kind, settings)
    by_function = {found.function: name for name, found in METRICS.items()}
    names = (
        [metrics]
        if isinstance(metrics, str)
        else [by_function.get(name, name) for name in metrics]
    )
    unknown = [
        name for name in names if not isinstance(name, str) or name not in METRICS
    ]
    if unknown:
        raise ValueError(
            f"no metric is called {unknown[0]!r}; there are {', '.join(METRICS)}"
        )
    return {name: METRICS[name] for name in names}


def _compute(chosen, life):
    """A metric's value, NaN if it is missing, and the reasons it gave."""
    life.gaps = []
    try:
        value = life.instead.get(chosen.name, chosen.function)(life)
    except Missing as reason:
        return math.nan, [str(reason)]
    except Exception as error:
        error.add_note(f"while computing the metric {chosen.name!r}")
        raise
    if value is None or not isinstance(
        value, pd.Series | pd.DataFrame | int | float | np.number
    ):
        raise TypeError(
            f"metric {chosen.name!r} is to return a number, a Series by task or a DataFrame of pairs; "
            f"got {type(value).__name__}"
        )
    lacking = (
        [column for column in ("learned", "tested", "value") if column not in value]
        if isinstance(value, pd.DataFrame)
        else []
    )
    if lacking:
        raise ValueError(
            f"metric {chosen.name!r} returns a DataFrame without the column {lacking[0]!r}; pairs have "
            "learned, tested and value"
        )
    return value, list(dict.fromkeys(life.gaps))


def _regime_table(life):
    table = life.regimes.drop(columns=["start", "used"])
    times = life.recovery_times
    table["recovery_time"] = times.reindex(table.index)
    table["recovered"] = (
        (times <= life.regimes.loc[times.index, "count"])
        .astype(object)
        .reindex(table.index)
    )
    return table.join(maintenance_table(life))


def _plain(value):
    """Values that JSON holds: numbers of numpy become Python's, NaN becomes None."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return (
        None
        if isinstance(value, float) and not math.isfinite(value) or value is pd.NA
        else value
    )


# ---------------------------------------------------------------- lifetimes written by hand


def log_of(*blocks: tuple) -> pd.DataFrame:
    """A lifetime log of blocks written by hand, a DataFrame.

    blocks  ("train" or "test", task, values of its episodes), a dict of parameters may follow; a block of several
            tasks is ("test", {task: values})

    >>> log_of(("train", "a", [1, 2]), ("test", {"a": [2], "b": [0]}))[["block", "block_type", "task", "reward"]]
       block block_type task  reward
    0      0      train    a     1.0
    1      0      train    a     2.0
    2      1       test    a     2.0
    3      1       test    b     0.0
    """
    tables: list[pd.DataFrame] = []
    for block, (kind, tasks, *rest) in enumerate(blocks):
        params = rest[-1] if rest and isinstance(rest[-1], dict) else {}
        for task, values in (
            tasks.items() if isinstance(tasks, dict) else [(tasks, rest[0])]
        ):
            tables.append(
                pd.DataFrame(
                    {
                        "block": block,
                        "block_type": kind,
                        "task": task,
                        "params": json.dumps(params, sort_keys=True),
                        "regime": len(tables),
                        "reward": pd.Series(values, dtype=float),
                    }
                )
            )
    log = pd.concat(tables, ignore_index=True)
    log.insert(5, "episode", range(len(log)))
    return log


def by_hand(name: str, *blocks: tuple, experts: Any = None, **settings: Any) -> float:
    """One metric of a lifetime written by hand, neither smoothed nor normalised, to three digits.

    name     of a metric
    blocks   see `log_of`
    experts  {task: [values, ...]}
    settings of Settings
    Raises LookupError with the reason if the metric has no value.

    >>> by_hand("saturation", ("train", "a", [1, 2, 3]))
    3.0
    """
    plain = Settings(**{"smoothing": "none", "normalization": "none", **settings})
    report = lifelong_report(log_of(*blocks), experts, metrics=[name], settings=plain)
    if name not in report.lifetime:
        raise LookupError(f"{name}: {dict(report.missing)[name]}")
    return round(float(report.lifetime[name]), 3)
