"""What the pictures of lifetimes say: titles, lead lines, units."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from pushlab.metrics.lifelong import Report, Settings
from pushlab.plots.lifelong_marks import largest_forgetting
from pushlab.plots.lifelong_tables import drawn_curves
from pushlab.plots.palette import TITLE
from pushlab.plots.sheet import fit, plain
from pushlab.plots.words import short_number, spoken

SCALES = {
    "task": "each task from 0 to 100",
    "run": "the whole lifetime from 0 to 100",
    "none": "in the unit of the reward",
}


def lifetime_title(reports: Sequence[Report], tests: pd.DataFrame) -> str:
    """What was forgotten, or kept, in a sentence."""
    loss = largest_forgetting(tests, reports[0])
    if loss is not None and loss.sure:
        name = fit(plain(loss.name), 170, TITLE, "bold")
        words = f"Learning {loss.cause} the agent {short_number(loss.drop)} on {name}"
        return f"{words}, which learning it again repairs" if loss.repaired else words
    if loss is not None:
        return "No test shows for certain that anything was forgotten"
    curves = drawn_curves(reports[0])
    learned = curves[curves["block_type"] != "test"]
    blocks, kind = (
        (learned["block"].nunique(), "learning")
        if len(learned)
        else (curves["block"].nunique(), "tests")
    )
    words = f"{blocks:,} block{'' if blocks == 1 else 's'} of {kind}"
    ends = learned["thick"].dropna()
    return (
        f"{words}, the last ends at {short_number(ends.iloc[-1])}"
        if len(ends)
        else words
    )


def lifetime_lead(reports: Sequence[Report], tests: pd.DataFrame) -> str:
    """Which syllabus, what the intervals are over, which curves."""
    report, words = reports[0], [reports[0].syllabus_type.replace("_", "-")]
    if len(tests):
        words.append(f"grey columns: tests, {interval_words(tests)}")
    if set(report.curves["block_type"]) - {"test"}:
        smooth = (
            "as lived" if report.settings.smoothing == "none" else "raw and smoothed"
        )
        words.append(
            f"curves: {'the first lifetime, ' if len(reports) > 1 else ''}{smooth}"
        )
    return "   ·   ".join(words)


def interval_words(tests: pd.DataFrame) -> str:
    """What the intervals of an `evaluation_table` are over."""
    fewest, most, over = (
        tests["count"].min(),
        tests["count"].max(),
        tests["over"].iloc[0],
    )
    number = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    if (
        most > 1 and not (tests["high"] > tests["low"]).any()
    ):  # all alike: there is nothing to see
        return f"{number} {over}"
    return (
        f"{number} {over}, 95 % intervals"
        if most > 1
        else f"{number} {over.removesuffix('s')}, no interval"
    )


def scale_words(report: Report, ratios: bool = False) -> str:
    """What the height means: the measure and how it was normalised, or with `ratios` the scale they are taken on."""
    kind = report.settings.normalization
    scales = {
        "task": "0 to 100 is the range of each task",
        "run": "0 to 100 is the range of the lifetime",
    }
    told = kind in scales and (not ratios or report.settings.reference)
    return f"{spoken(report.measure)}{', ' + scales[kind] if told else ''}"


def smoothing_words(settings: Settings) -> str:
    """Settings of smoothing in a few words: “flat, window 20”, “not smoothed”."""
    if settings.smoothing == "none":
        return "not smoothed"
    window = "of a fifth" if settings.window is None else f"{settings.window:g}"
    release = f", {settings.reference}" if settings.reference else ""
    return f"{settings.smoothing}, window {window}{release}"


def metric_title(reports: Sequence[Report], metric: str) -> str:
    """The metric's name and its value over the lifetime; over several lifetimes, their mean."""
    values = pd.Series(
        [report.lifetime.get(metric, np.nan) for report in reports], dtype=float
    ).dropna()
    name = capital(spoken(metric))
    if not len(values):
        return (
            f"{name}: not to be had from this log"
            if metric in dict(reports[0].missing)
            else name
        )
    over = "" if len(values) == 1 else f", the mean of {len(values)} lifetimes"
    return f"{name} {short_number(values.mean())}{over}"


def capital(words: str) -> str:
    """Words as the beginning of a sentence; what follows the first letter stays as it is."""
    return words[0].upper() + words[1:]
