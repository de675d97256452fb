"""All metrics of a lifetime: by lifetime, task, pair of tasks and regime; and logs from blocks of values."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.l2metrics import (
    L2METRICS_NAMES,
    REASONS,
    TRANSFER_REASON,
    L2MetricsLifetime,
)
from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.log import TEST, TRAIN
from pushlab.metrics.lifelong.metrics import (
    METRICS,
    maintenance_table,
    metrics_for,
)
from pushlab.metrics.lifelong.settings import (
    L2METRICS_REFERENCE,
    SYLLABUS_TYPES,
    Settings,
)
from pushlab.utils.arguments import validate_choice

PAIR_COLUMNS = ["metric", "learned", "tested", "block", "regime", "value"]


@dataclass(repr=False)
class Report:
    """Result of `lifelong_report`.

    Attributes:
        lifetime: Series, metric to value.
        tasks: DataFrame task x metric, of the metrics with one value per task.
        pairs: DataFrame of metric, learned, tested, block, regime, value, of the metrics that compare tasks.
        regimes: DataFrame, one row per regime: regime, block, block_type, block_subtype, task, variant, params, count,
            mean, saturation, time_to_saturation, terminal, time_to_terminal, recovery_time (inf: not within its
            `count`), recovered (bool, NaN in the first training of a task), maintenance_mrlep, maintenance_mrtlp.
        against_experts: DataFrame, one row per task and expert.
        curves: DataFrame, the log with raw, smoothed and normalized.
        experts: {task: list of arrays}, the experts' curves, smoothed and normalized like the log.
        missing: List of (metric, reason). The reason begins with "in part: …" if only some tasks lack a value, or if
            the value is inf because a level was never reached.
        settings, syllabus_type, measure: The values that were used.
        scales: {task: (low, high)} of the values that became 0 and 100.
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
    scales: dict

    def table(self) -> pd.DataFrame:
        """Return the lifetime's metrics by name: value, unit, better, about; missing metrics with the reason."""
        description = {name: f"missing: {reason}" for name, reason in self.missing}
        description |= {name: METRICS[name].description for name in self.lifetime.index}
        names = dict.fromkeys([*self.lifetime.index, *description])
        table = pd.DataFrame(index=pd.Index(names, name="metric"))
        table["value"] = self.lifetime
        table["unit"] = [self.unit(name) for name in names]
        table["better"] = [METRICS[name].better or "" for name in names]
        return table.assign(description=[description[name] for name in names])

    def unit(self, name: str) -> str:
        """Return the unit of a metric's values: "points" on 0 … 100 are the measure's unit without normalisation."""
        unit = METRICS[name].unit
        if self.settings.normalization == "none" and unit == "points":
            return self.measure
        return unit

    def counts(self) -> pd.DataFrame:
        """Return the numbers of training and test experiences of each task, and the range of normalised values."""
        kind = self.curves["block_type"]
        curves = self.curves.assign(trained=kind == TRAIN, tested=kind == TEST)
        return curves.groupby("task", sort=False).agg(
            trained=("trained", "sum"),
            tested=("tested", "sum"),
            min=("normalized", "min"),
            max=("normalized", "max"),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything but the curves as values for JSON; NaN and inf become None, see `missing`."""
        scales = {
            task: {"low": low, "high": high}
            for task, (low, high) in self.scales.items()
        }
        missing = [{"metric": name, "reason": reason} for name, reason in self.missing]
        return _json_value(
            {
                "measure": self.measure,
                "syllabus_type": self.syllabus_type,
                "settings": self.settings.to_dict(),
                "lifetime": self.lifetime.to_dict(),
                "tasks": self.tasks.T.to_dict(),
                "counts": self.counts().T.to_dict(),
                "scales": scales,
                "pairs": self.pairs.to_dict("records"),
                "against_experts": self.against_experts.to_dict("records"),
                "regimes": self.regimes.to_dict("records"),
                "missing": missing,
            }
        )

    def __repr__(self) -> str:
        return f"Report of {len(self.curves):,} experiences\n{self.table()}"

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


def lifelong_report(
    log: pd.DataFrame,
    experts: Any = None,
    measure: str | None = None,
    syllabus_type: str | None = None,
    metrics: Iterable[str | Callable] | None = None,
    settings: Settings | None = None,
) -> Report:
    """Compute the metrics of one lifetime.

    Args:
        log: Lifetime log, a DataFrame with one row per experience in order; at least block, block_type, task, and the
            measure.
        experts: Single-task experts: a store, or {task: [lifetime log or array, ...]}; None if there are none.
        measure: Column to measure by; None uses the log's own measure, else reward.
        syllabus_type: CL, ANT_A or ANT_B, which selects the metrics; None uses the log's own type, else infers it.
        metrics: Names or functions of the metrics to compute; None computes all.
        settings: Settings; None uses the defaults.

    Returns:
        A Report; `.missing` has the reasons for missing values.

    Raises:
        ValueError: No metric can be computed from the log, or a metric is unknown.

    >>> from pushlab.metrics.lifelong import log_from_blocks
    >>> log = log_from_blocks(("train", "a", [0, 8]), ("test", "a", [8]), ("train", "b", [0, 8]), ("test", "a", [2]))
    >>> report = lifelong_report(log)
    >>> float(report.lifetime["performance_maintenance_mrlep"])         # from 8 to 2, of the 8 between worst and best
    -75.0
    >>> dict(report.missing)["recovery_time"]
    'no task is trained a second time'
    """
    settings = settings or Settings()
    if not isinstance(settings, Settings):
        raise TypeError(f"settings must be a Settings object; got {settings!r:.60}")
    lifetime_class = L2MetricsLifetime if settings.reference else Lifetime
    life = lifetime_class(log, experts, measure, settings)
    syllabus_type = syllabus_type or find_syllabus_type(log, life.regimes)
    validate_choice("syllabus_type", syllabus_type, SYLLABUS_TYPES)
    by_lifetime = {}
    by_task = {}
    missing = []
    pairs = []
    for name in _selected_names(metrics, syllabus_type, settings):
        value, reasons = _compute(name, life)
        if isinstance(value, pd.Series):
            by_task[name] = value.astype(float)
        elif isinstance(value, pd.DataFrame):
            pairs.append(value.assign(metric=name))
        total = aggregate(value, settings)
        reason = "; ".join(reasons)
        if np.isnan(total):
            missing.append((name, reason or "no task has a value"))
        else:
            by_lifetime[name] = total
            if reasons:
                missing.append((name, f"in part: {reason}"))
    pair_table = pd.DataFrame(columns=PAIR_COLUMNS)
    if pairs:
        pair_table = pd.concat(pairs, ignore_index=True)
    return Report(
        lifetime=pd.Series(by_lifetime, dtype=float, name="value"),
        tasks=pd.DataFrame(by_task, index=pd.Index(life.tasks, name="task")),
        pairs=pair_table.reindex(columns=PAIR_COLUMNS),
        regimes=_regime_table(life),
        against_experts=life.expert_table,
        curves=life.log.drop(columns="for_ratios"),
        experts={
            task: [curve for curve, _ in life.expert_curves(task)]
            for task, runs in life.expert_runs.items()
            if runs[0].name is not None
        },
        missing=missing,
        settings=settings,
        syllabus_type=syllabus_type,
        measure=life.measure,
        scales={task: scale.own for task, scale in life.scales.items()},
    )


def find_syllabus_type(log: pd.DataFrame, regimes: pd.DataFrame) -> str:
    """Return the log's syllabus type, or infer it.

    A log of one task is CL. A log that begins with a test, and whose tests all have all tasks, is ANT_B.
    """
    scenario = log.attrs.get("scenario") or {}
    own = log.attrs.get("syllabus_type") or scenario.get("syllabus_type")
    own = str(own).upper().replace("-", "_")
    if own in SYLLABUS_TYPES:
        return own
    tasks = set(regimes["task"])
    if len(tasks) == 1:
        return "CL"
    is_test = regimes["block_type"] == TEST
    tested = regimes[is_test].groupby("block")["task"].agg(set)
    is_complete = all(names == tasks for names in tested)
    return "ANT_B" if is_test.iloc[0] and is_complete else "ANT_A"


def aggregate(value: float | pd.Series | pd.DataFrame, settings: Settings) -> float:
    """Return the lifetime's value of a metric: aggregated over tasks, or over the first value of each pair of tasks."""
    if isinstance(value, pd.DataFrame):
        value = value.drop_duplicates(["learned", "tested"])["value"]
    if not isinstance(value, pd.Series):
        return float(value)
    # NaN is left out. Inf counts: it means that a level was never reached.
    return float(value.astype(float).agg(settings.aggregation))


def _selected_names(metrics, syllabus_type, settings):
    """Return the names of the metrics to compute."""
    if metrics is None:
        return metrics_for(syllabus_type, settings)
    by_function = {metric.function: name for name, metric in METRICS.items()}
    names = [by_function.get(name, name) for name in metrics]
    for name in names:
        if name not in METRICS:
            raise ValueError(
                f"there is no metric {name!r}; metrics are {', '.join(METRICS)}"
            )
    return names


def _compute(name, life):
    """Return a metric's value, NaN if it is missing, and the reasons for missing values."""
    life.gaps = []
    try:
        value = METRICS[name].function(life)
    except Missing as reason:
        return math.nan, [str(reason)]
    except Exception as error:
        error.add_note(f"while computing the metric {name!r}")
        raise
    if not isinstance(value, pd.Series | pd.DataFrame | int | float | np.number):
        raise TypeError(
            f"metric {name!r} must return a number, a Series by task or a DataFrame of pairs; "
            f"got {type(value).__name__}"
        )
    return value, list(dict.fromkeys(life.gaps))


def _regime_table(life):
    table = life.regimes.drop(columns=["start", "used"])
    times = life.recovery_times
    has_recovered = times <= life.regimes.loc[times.index, "count"]
    table["recovery_time"] = times.reindex(table.index)
    table["recovered"] = has_recovered.astype(object).reindex(table.index)
    return table.join(maintenance_table(life))


def _json_value(value):
    """Return a value for JSON: Python numbers instead of NumPy's, None for NaN and inf."""
    if isinstance(value, dict):
        return {str(key): _json_value(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def compare_references(
    log: pd.DataFrame,
    experts: Any = None,
    measure: str | None = None,
    settings: Settings | None = None,
) -> pd.DataFrame:
    """Compute the metrics of l2metrics 3.1.0 by our definitions and by those of l2metrics.

    Args:
        log, experts, measure, settings: See `lifelong_report`; the reference of the settings is ignored.

    Returns:
        A DataFrame by metric: corrected, l2metrics-3.1, difference (corrected - l2metrics-3.1), name (in l2metrics),
        difference_reason.

    >>> from pushlab.metrics.lifelong import log_from_blocks
    >>> log = log_from_blocks(("test", {"a": [1], "b": [1]}), ("train", "a", [2, 9]), ("test", {"b": [3]}))
    >>> table = compare_references(log)
    >>> table.loc["forward_transfer_ratio", ["corrected", "l2metrics-3.1"]].tolist()       # 3/1, and 101/1
    [3.0, 101.0]
    """
    ours = replace(settings or Settings(), reference=None)
    window = ours.window
    if window is not None and window < 1:
        window = None  # l2metrics has no window as a share of the block
    original = replace(ours, reference=L2METRICS_REFERENCE, window=window)
    names = [name for name in L2METRICS_NAMES if name in metrics_for(None, ours)]
    columns = {}
    for column, settings in (("corrected", ours), (L2METRICS_REFERENCE, original)):
        report = lifelong_report(log, experts, measure, None, names, settings)
        columns[column] = report.lifetime.reindex(names)
    table = pd.DataFrame(columns).dropna(how="all").rename_axis("metric")
    table["difference"] = table["corrected"] - table[L2METRICS_REFERENCE]
    table["name"] = table.index.map(L2METRICS_NAMES)
    is_equal = table["difference"].abs() <= 1e-9  # up to rounding
    reasons = [REASONS.get(name, TRANSFER_REASON) for name in table.index]
    table["difference_reason"] = np.where(is_equal, "", reasons)
    return table


# ---------------------------------------------------------------- logs from blocks of values


def log_from_blocks(*blocks: tuple) -> pd.DataFrame:
    """Return a lifetime log of blocks of values.

    Args:
        blocks: Each is ("train" or "test", task, values of its episodes), with an optional dict of parameters. A block
            of several tasks is ("test", {task: values}).

    >>> log = log_from_blocks(("train", "a", [1, 2]), ("test", {"a": [2], "b": [0]}))
    >>> log[["block", "block_type", "task", "reward"]]
       block block_type task  reward
    0      0      train    a     1.0
    1      0      train    a     2.0
    2      1       test    a     2.0
    3      1       test    b     0.0
    """
    tables: list[pd.DataFrame] = []
    for block, (kind, tasks, *rest) in enumerate(blocks):
        params = rest[-1] if rest and isinstance(rest[-1], dict) else {}
        if not isinstance(tasks, dict):
            tasks = {tasks: rest[0]}
        for task, values in tasks.items():
            columns = {
                "block": block,
                "block_type": kind,
                "task": task,
                "params": json.dumps(params, sort_keys=True),
                "regime": len(tables),
                "reward": pd.Series(values, dtype=float),
            }
            tables.append(pd.DataFrame(columns))
    log = pd.concat(tables, ignore_index=True)
    log.insert(5, "episode", range(len(log)))
    return log


def metric_value(
    name: str, *blocks: tuple, experts: Any = None, **settings: Any
) -> float:
    """Compute one metric of blocks of values, without smoothing and normalisation, rounded to three digits.

    Args:
        name: Name of a metric.
        blocks: See `log_from_blocks`.
        experts: {task: [values, ...]}.
        settings: Arguments of Settings.

    Raises:
        LookupError: The metric has no value; the message has the reason.

    >>> metric_value("saturation", ("train", "a", [1, 2, 3]))
    3.0
    """
    plain = Settings(**{"smoothing": "none", "normalization": "none", **settings})
    report = lifelong_report(
        log_from_blocks(*blocks), experts, metrics=[name], settings=plain
    )
    if name not in report.lifetime:
        raise LookupError(f"{name}: {dict(report.missing)[name]}")
    return round(float(report.lifetime[name]), 3)
