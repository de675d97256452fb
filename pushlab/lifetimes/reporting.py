"""Reports of lifetimes as text, tables and plots."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

import pandas as pd

from pushlab.metrics.lifelong import METRICS, Report
from pushlab.utils.files import escape_formula, json_text, write_bytes, write_text

MAX_COLUMNS = 5  # lifetimes in one table on a terminal


def report_text(report: Report, name: str) -> str:
    """Return a report as text: metrics of the lifetime and of its tasks, and missing metrics with the reasons."""
    table = report.table().dropna(subset="value")
    values = table[["value", "unit", "better"]]
    n_tasks = len(report.tasks)
    lines = [
        f"{name}: {len(report.curves):,} experiences of {n_tasks} "
        f"task{'s' if n_tasks > 1 else ''}, {report.syllabus_type}, measured by {report.measure}",
        values.to_string(float_format="%.4g", header=False, index_names=False),
    ]
    if n_tasks > 1 and len(report.tasks.columns):
        tasks = report.tasks.T.rename_axis(None).rename_axis(None, axis=1)
        lines += ["", tasks.to_string(float_format="%.4g", na_rep="")]
    if report.missing:
        lines += ["", "not computed, or not for all tasks:"]
        lines += [f"  {metric}: {reason}" for metric, reason in report.missing]
    return "\n".join(lines)


def lifetimes_table(lifetimes: Mapping[str, pd.Series]) -> pd.DataFrame:
    """Return a DataFrame with one row per lifetime, a last row of means, and one column per metric."""
    table = pd.DataFrame(dict(lifetimes)).T
    table = table[[name for name in METRICS if name in table]]
    table.loc["mean"] = table.mean()
    return table.rename_axis("lifetime")


def lifetimes_text(table: pd.DataFrame) -> str:
    """Return a `lifetimes_table` as text, one row per metric; for many lifetimes only mean, minimum and maximum."""
    lifetimes = table.drop(index="mean")
    if len(lifetimes) > MAX_COLUMNS:
        table = lifetimes.agg(["mean", "min", "max"])
    shown = table.T.rename_axis(f"{len(lifetimes)} lifetimes", axis=1)
    return shown.to_string(float_format="%.4g", na_rep="")


def write_tsv(table: pd.DataFrame, path: Path | str) -> Path:
    """Write a table as TSV without cells that a spreadsheet would read as formulas; return the path."""
    safe = table.map(
        lambda cell: escape_formula(cell) if isinstance(cell, str) else cell
    )
    return write_text(path, safe.to_csv(sep="\t", index=False, lineterminator="\n"))


def save_report(report: Report, stem: Path | str, plot: bool = True) -> list[str]:
    """Write a report: `<stem>.json`, tables `<stem>_<name>.tsv` and plots `<stem>.png`, `<stem>_<name>.png`.

    Tables: metrics of the lifetime, tasks, pairs, regimes, and experts if there are any. Plots: the lifetime with its
    metrics, its tests, its raw and smoothed curves, and each task with its expert.

    Returns:
        A message for each plot that couldn't be drawn.
    """
    write_text(f"{stem}.json", json_text(report.to_dict()))
    tables = {
        "metrics": report.table().reset_index(),
        "tasks": report.tasks.reset_index(),
        "pairs": report.pairs,
        "regimes": report.regimes,
        "experts": report.against_experts,
    }
    for name, table in tables.items():
        if len(table) or name in ("metrics", "regimes"):
            write_tsv(table, f"{stem}_{name}.tsv")
    from pushlab import plots

    failures = []
    for ending, draw in _plots(report) if plot else ():
        try:
            png = plots.png(draw())
        except Exception as error:  # the numbers matter more than a plot
            reason = f"{type(error).__name__}: {error}"
            failures.append(f"{stem}{ending}.png could not be drawn ({reason})")
        else:
            write_bytes(f"{stem}{ending}.png", png)
    return failures


def _plots(report) -> Iterator[tuple[str, Callable]]:
    """Yield the ending of the file's name and the drawing function of each plot."""
    from pushlab import plots

    plots.use_style()
    tasks = report.curves["task"]
    block_types = report.curves["block_type"]
    trained_tasks = tasks[block_types == "train"].unique()
    yield "", partial(plots.report_sheet, report)
    if (block_types == "test").any():
        yield "_tests", partial(plots.evaluation_blocks, report)
    if len(trained_tasks):
        yield "_smoothed", partial(plots.smoothed_curves, report)
    for number, task in enumerate(trained_tasks):
        if len(report.experts.get(task, ())):
            yield f"_expert_{number}", partial(plots.against_expert, report, task)
