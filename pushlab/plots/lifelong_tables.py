"""The numbers behind the pictures of lifetimes: tests with intervals, and raw curves on the scale of the metrics."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong import Report
from pushlab.plots.curve_tables import mean_over_runs
from pushlab.plots.sheet import plain
from pushlab.plots.words import spoken

Reports = Report | Sequence[Report]  # one, or several: one a lifetime of one syllabus


def as_list(reports: Reports) -> list[Report]:
    """One report, or several (one a lifetime), as a list."""
    reports = list(reports) if isinstance(reports, Sequence) else [reports]
    if not reports:
        raise ValueError(
            "there is no report to draw: lifelong_report(log) makes one of a log"
        )
    for report in reports:
        if not hasattr(report, "curves") or not hasattr(report, "regimes"):
            raise TypeError(
                f"expected what lifelong_report() returns, or a list of them; got {type(report).__name__}"
            )
        if not len(report.curves):
            raise ValueError("the log of the report is empty: there is nothing to draw")
    return reports


def drawn_curves(report: Report) -> pd.DataFrame:
    """The log with `name` (see regime_names) and two columns on the scale of the metrics: `thin`, `thick` (smoothed).

    The metrics read the last stage of preprocessing. What was lived is brought to the same scale by the straight line
    that took each task's smoothed values there.
    """
    curves = report.curves.reset_index(drop=True)
    thin = curves["raw"].to_numpy(float).copy()
    smoothed, thick = (
        curves["smoothed"].to_numpy(float),
        curves["normalized"].to_numpy(float),
    )
    for rows in curves.groupby("task", sort=False).indices.values():
        slope, shift = _line_through(smoothed[rows], thick[rows])
        thin[rows] = slope * thin[rows] + shift
    return curves.assign(
        thin=thin, thick=thick, name=curves["regime"].map(regime_names(report))
    )


def _line_through(before, after):
    """Slope and shift that took values `before` to values `after`, outliers that were drawn in left aside."""
    order = np.argsort(before)
    order = order[np.isfinite(before[order]) & np.isfinite(after[order])]
    for share in (0.3, 0.0):
        if len(order):
            low, high = (
                order[int(share * (len(order) - 1))],
                order[int((1 - share) * (len(order) - 1))],
            )
            if before[high] > before[low] and after[high] != after[low]:
                slope = (after[high] - after[low]) / (before[high] - before[low])
                return float(slope), float(after[low] - slope * before[low])
    return 1.0, float(after[order[0]] - before[order[0]]) if len(order) else 0.0


def evaluation_table(reports: Reports) -> pd.DataFrame:
    """What the tests say: a DataFrame block, name, mean, low, high, count, over.

    name      the task, or of one task in several variants the parameters that differ
    reports   one report: the interval is over the episodes of each test; several, of one syllabus: over the lifetimes
    over      "episodes" or "lifetimes", what is counted; low and high are NaN where there is only one
    """
    reports, rows = as_list(reports), []
    tests = pd.concat(
        [
            drawn_curves(report)
            .query("block_type == 'test'")[["block", "name", "thick"]]
            .assign(lifetime=number)
            for number, report in enumerate(reports)
        ],
        ignore_index=True,
    )
    over = "lifetimes" if len(reports) > 1 else "episodes"
    if over == "lifetimes":
        tests = (
            tests.groupby(["block", "name", "lifetime"], sort=False)["thick"]
            .mean()
            .reset_index()
        )
    for (block, name), group in tests.groupby(["block", "name"], sort=False):
        (means,) = mean_over_runs(group["thick"].to_numpy()[None]).itertuples(
            index=False
        )
        rows.append((block, name, *means, over))
    table = pd.DataFrame(
        rows, columns=["block", "name", "mean", "low", "high", "count", "over"]
    )
    order = {name: place for place, name in enumerate(name_order(reports[0]))}
    return table.sort_values(
        "name", key=lambda names: names.map(order), kind="stable"
    ).sort_values("block", kind="stable", ignore_index=True)


def learned_regimes(report: Report, task: str | None = None) -> pd.DataFrame:
    """The rows of `report.regimes` in which something, or this task, was learned, with `name` (see regime_names)."""
    rows = report.regimes[report.regimes["block_type"] != "test"]
    rows = rows.assign(name=rows["regime"].map(regime_names(report)))
    return rows if task is None else rows[rows["task"] == task]


def name_order(report: Report) -> list[str]:
    """Names of the tasks (or variants) in the order in which they are learned; those only tested come last."""
    return list(
        dict.fromkeys(
            [*learned_regimes(report)["name"], *regime_names(report).values()]
        )
    )


def regime_names(report: Report) -> dict[Any, str]:
    """{regime: what to call it}: its task; of a task that is learned in several variants, the parameters that differ.

    >>> from types import SimpleNamespace
    >>> regimes = pd.DataFrame({"regime": [0, 1], "block_type": "train", "task": "shelf", "variant": ["s 0", "s 1"],
    ...                         "params": ['{"noise": 0, "n": 4}', '{"noise": 1, "n": 4}']})
    >>> regime_names(SimpleNamespace(regimes=regimes))
    {0: 'noise 0', 1: 'noise 1'}
    """
    regimes = report.regimes
    names = dict(zip(regimes["regime"], map(plain, regimes["task"])))
    for task, rows in regimes.groupby("task", sort=False):
        if (rows["variant"] == task).all():
            continue
        words = _variant_words(rows)
        if len(set(words.values())) < rows["variant"].nunique():
            words = dict(zip(rows["regime"], map(plain, rows["variant"])))
        alone = regimes["task"].nunique() == 1
        names.update(
            {
                regime: told if alone else f"{plain(task)}, {told}"
                for regime, told in words.items()
            }
        )
    return names


def _variant_words(rows):
    """{regime: the parameters by which its variant is known}; those that most variants share need not be said.

    Of several only the first, "noise 1 +2", where that tells the variants apart.
    """
    variants = {row.regime: _parameters(row.params) for row in rows.itertuples()}
    usual = _usual(
        [
            variants[regime]
            for regime in rows.loc[rows["block_type"] != "test", "regime"]
        ]
    )
    words = {}
    for regime, variant in variants.items():
        told = {key: variant[key] for key in usual if key in variant}
        told = {
            key: value for key, value in told.items() if value != usual[key]
        } or told
        words[regime] = [
            f"{spoken(key)} {_short(value)}" for key, value in told.items()
        ]
    whole = {regime: ", ".join(parts) for regime, parts in words.items()}
    first = {
        regime: "".join(parts[:1]) + f" +{len(parts) - 1}" * (len(parts) > 1)
        for regime, parts in words.items()
    }
    return first if len(set(first.values())) == len(set(whole.values())) else whole


def _usual(variants):
    """{parameter: the value that most variants have, or None} of those parameters that are not the same in all."""
    variants = [
        dict(pairs)
        for pairs in dict.fromkeys(tuple(sorted(v.items(), key=repr)) for v in variants)
    ]
    usual = {}
    for key in dict.fromkeys(key for variant in variants for key in variant):
        values = [variant.get(key) for variant in variants]
        if len(set(values)) > 1:
            most = max(values, key=values.count)
            usual[key] = most if values.count(most) > 1 else None
    return usual


def _parameters(text):
    """The parameters of a regime out of JSON, flat: {"model": {"name": …, "speed": 1}} has model and speed."""
    try:
        return dict(_flat(json.loads(text)))
    except (
        AttributeError,
        RecursionError,
        TypeError,
        ValueError,
    ):  # of a log that holds something else there
        return {}


def _flat(values):
    for key, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(
                {
                    key if inner == "name" else inner: deep
                    for inner, deep in value.items()
                }
            )
        else:
            yield (
                key,
                value
                if isinstance(value, str | int | float | None)
                else json.dumps(value),
            )


def _short(value):
    return (
        f"{value:g}"
        if isinstance(value, int | float) and not isinstance(value, bool)
        else plain(value)
    )


def learned_and_experts(
    report: Report, task: str
) -> tuple[pd.DataFrame, list[np.ndarray], float]:
    """All that was learned of a task, one block after the other, and its experts, on the scale of ratios.

    returns  DataFrame regime, thin, thick; list of arrays; the floor from which ratios are counted. All are in the
             unit of the measure, unless the reference is a release that divides normalised values
    """
    curves = drawn_curves(report)
    own = curves[(curves["task"] == task) & (curves["block_type"] != "test")]
    own = own[["regime", "thin", "thick"]].reset_index(drop=True)
    runs = [np.asarray(run, float) for run in report.experts.get(task, [])]
    if report.settings.reference:
        return own, runs, 0.0
    rows = report.curves[report.curves["task"] == task]
    slope, shift = _line_through(
        rows["smoothed"].to_numpy(float), rows["normalized"].to_numpy(float)
    )
    own[["thin", "thick"]] = (own[["thin", "thick"]] - shift) / slope
    low = report.scales[task][0]
    floor = low if report.settings.data_range is not None else min(0.0, low)
    return own, [(run - shift) / slope for run in runs], floor
