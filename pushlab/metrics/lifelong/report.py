"""All metrics of a lifetime at once: by lifetime, by task, by pair of tasks, by regime, with what could not be told."""

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong.lifetime import Lifetime, Missing
from pushlab.metrics.lifelong.maintenance import maintenance_table
from pushlab.metrics.lifelong.registry import METRICS, SYLLABUS_TYPES, metrics_for
from pushlab.metrics.lifelong.rows import TEST, TRAIN
from pushlab.metrics.lifelong.settings import Settings

CURVE_COLUMNS = ("raw", "smoothed", "normalized")


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

    def table(self):
        """The lifetime's metrics, a DataFrame indexed by metric: value, unit, better, about; missing ones with why."""
        rows = {name: (value, self.unit(name), METRICS[name].better or "", METRICS[name].about)
                for name, value in self.lifetime.items()}
        rows |= {name: (np.nan, self.unit(name), METRICS[name].better or "", f"missing: {reason}")
                 for name, reason in self.missing if name not in rows}
        table = pd.DataFrame.from_dict(rows, orient="index", columns=["value", "unit", "better", "about"])
        return table.rename_axis("metric")

    def unit(self, name):
        """The unit of a metric's values; "points" are those of 0 … 100, unless nothing was normalised."""
        unit = METRICS[name].unit
        return self.measure if unit == "points" and self.settings.normalization == "none" else unit

    def counts(self):
        """How many experiences each task was trained and tested, and the range of its values, a DataFrame by task."""
        curves = self.curves
        by_task = curves.groupby("task", sort=False)["normalized"]
        counts = curves.groupby(["task", "block_type"], sort=False).size().unstack(fill_value=0)
        table = counts.reindex(columns=[TRAIN, TEST], fill_value=0).rename(columns={TRAIN: "trained", TEST: "tested"})
        return table.assign(min=by_task.min(), max=by_task.max()).rename_axis(None, axis=1)

    def to_dict(self):
        """Everything but the curves as plain values that JSON holds; NaN and inf become None, `missing` says why."""
        return {
            "measure": self.measure, "syllabus_type": self.syllabus_type, "settings": self.settings.to_dict(),
            "lifetime": _plain(self.lifetime.to_dict()),
            "tasks": _plain(self.tasks.T.to_dict()),
            "counts": _plain(self.counts().T.to_dict()),
            "scales": _plain({task: {"low": ends[0], "high": ends[1]} for task, ends in self.scales.items()}),
            "pairs": _plain(self.pairs.to_dict("records")),
            "against_experts": _plain(self.against_experts.to_dict("records")),
            "regimes": _plain(self.regimes.to_dict("records")),
            "missing": [{"metric": name, "reason": reason} for name, reason in self.missing],
        }

    def __repr__(self):
        lines = [f"Report of {len(self.curves):,} experiences, {len(self.tasks)} tasks, {self.syllabus_type}"]
        lines += [f"  {name:32} {value:10.4g} {self.unit(name)}" for name, value in self.lifetime.items()]
        lines += [f"  {name:32} {reason}" for name, reason in self.missing]
        return "\n".join(lines)

    def _repr_html_(self):
        return self.table()._repr_html_()


def lifelong_report(log, experts=None, measure=None, syllabus_type=None, metrics=None, settings=None):
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
    settings = _as_settings(settings)
    life = Lifetime(log, experts, measure, settings)
    kind = syllabus_type or find_syllabus_type(log, life.regimes)
    if kind not in SYLLABUS_TYPES:
        raise ValueError(f"a syllabus type is one of {', '.join(SYLLABUS_TYPES)}; got {kind!r}")
    by_lifetime, by_task, pairs, missing = {}, {}, [], []
    for name, chosen in _chosen(metrics, kind, settings).items():
        value, reasons = _compute(chosen, life)
        if isinstance(value, pd.Series):
            by_task[name] = value.astype(float)
        elif isinstance(value, pd.DataFrame):
            pairs.append(_demand_pairs(value, name).assign(metric=name))
        total = aggregate(value, settings)
        if np.isnan(total):
            missing.append((name, "; ".join(reasons) or "no task has a value"))
        else:
            by_lifetime[name] = total
            missing += [(name, f"in part: {'; '.join(reasons)}")] if reasons else []
    tasks = pd.DataFrame(by_task, index=pd.Index(life.tasks, name="task"))
    return Report(pd.Series(by_lifetime, dtype=float, name="value"), tasks, _put_together(pairs), _regime_table(life),
                  life.expert_table, _curve_table(life), _expert_curves(life), missing, settings, kind, life.measure,
                  {task: scale.own for task, scale in life.scales.items()})


def find_syllabus_type(log, regimes):
    """What the log says of itself, else CL for one task, ANT_B if every test is of all tasks and one comes first."""
    told = getattr(log, "attrs", {}).get("syllabus_type")
    told = told or (getattr(log, "attrs", {}).get("scenario") or {}).get("syllabus_type")
    if isinstance(told, str) and told.upper().replace("-", "_") in SYLLABUS_TYPES:
        return told.upper().replace("-", "_")
    tasks = set(regimes["task"])
    if len(tasks) == 1:
        return "CL"
    tests = regimes[regimes["block_type"] == TEST].groupby("block", sort=False)["task"].agg(set)
    first = regimes["block_type"].iloc[0] == TEST
    return "ANT_B" if first and all(tested == tasks for tested in tests) else "ANT_A"


def aggregate(value, settings):
    """From what a metric returns to the lifetime's value: over tasks, or over the first of each pair of tasks."""
    if isinstance(value, pd.DataFrame):
        value = value.drop_duplicates(["learned", "tested"])["value"]
    if not isinstance(value, pd.Series):
        return float(value)
    values = value.to_numpy(float)
    values = values[np.isfinite(values) if settings.is_release else ~np.isnan(values)]      # inf: never, which counts
    if not len(values):
        return math.nan
    return float(np.median(values) if settings.aggregation == "median" else np.mean(values))


def _as_settings(settings):
    if settings is None:
        return Settings()
    if isinstance(settings, dict):
        return Settings.from_dict(settings)
    if not isinstance(settings, Settings):
        raise TypeError(f"settings are Settings or a dict of them; got {type(settings).__name__}")
    return settings


def _chosen(metrics, kind, settings):
    """{name: Metric} to compute."""
    if metrics is None:
        return metrics_for(kind, settings)
    by_function = {found.function: name for name, found in METRICS.items()}
    names = [metrics] if isinstance(metrics, str) else [by_function.get(name, name) for name in metrics]
    unknown = [name for name in names if not isinstance(name, str) or name not in METRICS]
    if unknown:
        raise ValueError(f"no metric is called {unknown[0]!r}; there are {', '.join(METRICS)}")
    return {name: METRICS[name] for name in names}


def _compute(chosen, life):
    """A metric's value, NaN if it is missing, and the reasons it gave."""
    life.gaps = []
    try:
        value = chosen.function(life)
    except Missing as reason:
        return math.nan, [str(reason)]
    except Exception as error:
        error.add_note(f"while computing the metric {chosen.name!r}")
        raise
    if value is None or not isinstance(value, pd.Series | pd.DataFrame | int | float | np.number):
        raise TypeError(f"metric {chosen.name!r} is to return a number, a Series by task or a DataFrame of pairs; "
                        f"got {type(value).__name__}")
    return value, list(dict.fromkeys(life.gaps))


def _demand_pairs(value, name):
    lacking = [column for column in ("learned", "tested", "value") if column not in value]
    if lacking:
        raise ValueError(f"metric {name!r} returns a DataFrame without the column {lacking[0]!r}; pairs have learned, "
                         "tested and value")
    return value


def _put_together(pairs):
    columns = ["metric", "learned", "tested", "block", "regime", "value"]
    pairs = [table for table in pairs if len(table)]
    return pd.concat(pairs, ignore_index=True).reindex(columns=columns) if pairs else pd.DataFrame(columns=columns)


def _regime_table(life):
    table = life.regimes.drop(columns=["start", "used"])
    times = life.recovery_times
    table["recovery_time"] = times.reindex(table.index)
    table["recovered"] = (times <= life.regimes.loc[times.index, "count"]).astype(object).reindex(table.index)
    return table.join(maintenance_table(life))


def _curve_table(life):
    return life.log.drop(columns="for_ratios")


def _expert_curves(life):
    return {task: [curve for curve, _ in life.expert_curves(task)] for task in life.runs}


def _plain(value):
    """Values that JSON holds: numbers of numpy become Python's, NaN becomes None."""
    if isinstance(value, dict):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) or value is pd.NA else value
