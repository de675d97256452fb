"""The numbers behind the pictures of lifetimes: tests with intervals, and curves on the scale of the metrics."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.metrics.estimate import half_width
from pushlab.metrics.lifelong import Report
from pushlab.metrics.lifelong.log import read_params
from pushlab.plots.style import plain, spoken, tick_name

Reports = Report | Sequence[Report]  # several: lifetimes of one syllabus


def as_list(reports: Reports) -> list[Report]:
    """Return one report, or several, as a list; raise TypeError for anything else."""
    reports = [reports] if isinstance(reports, Report) else list(reports)
    if not reports or not all(isinstance(report, Report) for report in reports):
        raise TypeError("expected a report of lifelong_report(log), or a list of them")
    return reports


def drawn_curves(report: Report) -> pd.DataFrame:
    """Return the log with three more columns: name, and on the scale of the metrics raw and smoothed values.

    Returns:
        The log with `name` (see `regime_names`), `thin` (raw) and `thick` (smoothed, clamped, normalised).
    """
    curves = report.curves.reset_index(drop=True)
    names = curves["regime"].map(regime_names(report))
    scales = {task: scale_of(report, task) for task in curves["task"].unique()}
    slope = curves["task"].map(lambda task: scales[task][0])
    shift = curves["task"].map(lambda task: scales[task][1])
    thin = slope * curves["raw"] + shift
    return curves.assign(name=names, thin=thin, thick=curves["normalized"])


def scale_of(report: Report, task: str) -> tuple[float, float]:
    """Return the slope and shift that bring values of a task to the scale of the metrics."""
    kind = report.settings.normalization
    if kind == "none":
        return 1.0, 0.0
    scales = report.scales.values() if kind == "run" else [report.scales[task]]
    low = min(ends[0] for ends in scales)
    high = max(ends[1] for ends in scales)
    slope = 100 / (high - low) if high > low else 1.0
    offset = 1 if report.settings.reference else 0  # the release adds 1
    return slope, offset - low * slope


def evaluation_table(reports: Reports) -> pd.DataFrame:
    """Return the mean and 95 % interval of each task in each test block.

    Args:
        reports: One report, for intervals over the episodes of each test, or several of one syllabus, for intervals
            over the lifetimes.

    Returns:
        A table block, name, mean, low, high, count, over. `name` is the task or, for variants of one task, the
        parameters that differ. `over` is "episodes" or "lifetimes", which `count` counts. `low` and `high` are NaN if
        the count is 1.
    """
    reports = as_list(reports)
    parts = []
    for report in reports:
        curves = drawn_curves(report)
        tests = curves.loc[curves["block_type"] == "test", ["block", "name", "thick"]]
        if len(reports) > 1:
            by_test = tests.groupby(["block", "name"], sort=False, as_index=False)
            tests = by_test.mean()
        parts.append(tests)
    by_test = pd.concat(parts).groupby(["block", "name"], sort=False)["thick"]
    table = by_test.agg(["mean", "std", "count"]).reset_index()
    half = half_width(table.pop("std"), table["count"])
    table.insert(3, "low", table["mean"] - half)
    table.insert(4, "high", table["mean"] + half)
    table["over"] = "lifetimes" if len(reports) > 1 else "episodes"
    places = table["name"].map(name_order(reports[0]).index)
    return table.iloc[np.lexsort((places, table["block"]))].reset_index(drop=True)


def named_regimes(report: Report) -> pd.DataFrame:
    """Return `report.regimes` with the column `name`, see `regime_names`."""
    return report.regimes.assign(
        name=report.regimes["regime"].map(regime_names(report))
    )


def name_order(report: Report) -> list[str]:
    """Return the names of the tasks in the order in which they are learned; those only tested come last."""
    regimes = named_regimes(report)
    return list(
        regimes.sort_values("block_type", ascending=False, kind="stable")[
            "name"
        ].unique()
    )


def regime_names(report: Report) -> dict[Any, str]:
    """Return {regime: name}: its task or, if a task is learned in variants, the parameters that differ.

    >>> from types import SimpleNamespace
    >>> regimes = pd.DataFrame({"regime": [0, 1], "block_type": "train", "task": "shelf", "variant": ["s 0", "s 1"],
    ...                         "params": ['{"noise": 0, "n": 4}', '{"noise": 1, "n": 4}']})
    >>> regime_names(SimpleNamespace(regimes=regimes))
    {0: 'noise 0', 1: 'noise 1'}
    """
    regimes = report.regimes
    names = regimes["task"].map(plain)
    is_alone = names.nunique() == 1
    for task, rows in regimes.groupby("task", sort=False):
        if (rows["variant"] == task).all():
            continue
        words = _variant_words(rows["params"])
        if len(set(words)) < rows["variant"].nunique():
            words = [plain(variant) for variant in rows["variant"]]
        names[rows.index] = (
            words if is_alone else [f"{plain(task)}, {word}" for word in words]
        )
    return dict(zip(regimes["regime"], names))


def _variant_words(params):
    """The first parameter in which each variant is unusual, and how many more there are: "noise 1 +2"."""
    known = pd.json_normalize([read_params(text) for text in params])
    known = known.map(_value_words, na_action="ignore")
    known = known.loc[:, known.nunique(dropna=False) > 1]
    usual = {key: known[key].mode(dropna=False)[0] for key in known}
    words = []
    for row in known.to_dict("records"):
        given = {key: value for key, value in row.items() if isinstance(value, str)}
        unusual = {key: value for key, value in given.items() if value != usual[key]}
        parts = [
            f"{spoken(key.split('.')[-1])} {value}"
            for key, value in (unusual or given).items()
        ]
        more = f" +{len(parts) - 1}" if len(parts) > 1 else ""
        words.append("".join(parts[:1]) + more)
    return words


def _value_words(value):
    return tick_name(value) if isinstance(value, int | float) else plain(value)
