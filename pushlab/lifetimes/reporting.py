"""Reports of many lifetimes: each by itself, so that whatever is wrong in one stops no other; saved, then printed."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pushlab.ground._old_reading import clean
from pushlab.ground.faults import BadData
from pushlab.ground.files import safe_cell, write_bytes, write_text
from pushlab.logs.folders import read_log
from pushlab.metrics.lifelong import METRICS, Report, lifelong_report

MOST_COLUMNS = 5  # lifetimes side by side on a terminal
LONGEST = (
    200,
    60,
)  # letters of a name that becomes a file's: of ASCII, and of others, which take more bytes
WRITTEN = "lifelong.txt"  # by which a folder of reports is known


class Told(NamedTuple):
    """What came of one lifetime: its metrics, None if it could not be reported; words for standard output, and for
    standard error; how many faults it has; whether all of it could be written.
    """

    lifetime: pd.Series | None
    words: str = ""
    faulty: str = ""
    faults: int = 0
    written: bool = True


def names_of(logs: list[Path], root: Path) -> dict[str, Path]:
    """{name: path} of lifetimes: where they lie below the root, or what the root is called, as a file may be named."""
    names: dict[str, Path] = {}
    for path in logs:
        real = Path(os.path.realpath(path))  # of a link to itself there is one, too
        own = real.stem if path.is_file() else real.name
        parts = (own,) if path == root else path.relative_to(root).parts
        name = first = "/".join(
            clean(part, LONGEST[not part.isascii()]).lstrip(".") or "_"
            for part in parts
        )
        twice = 1
        while name.casefold() in map(str.casefold, names):
            name, twice = f"{first} ({twice + 1})", twice + 1
        names[name] = path
    return names


def report_one(
    name: str,
    path: Path,
    how: tuple,
    complete: bool = False,
    folder: Path | None = None,
    plot: bool = True,
    wrong: BadData | None = None,
) -> Told:
    """Reports one lifetime and saves that; whatever happens inside is a fault of it and ends nothing else.

    how       arguments of `lifelong_report` after the log: store, measure, and so on
    complete  a task that was learned and has no expert is a fault, as it is where a store was asked for
    folder    where its files go; None saves nothing
    wrong     what is wrong with it to begin with

    A log is reported without the rows that are at fault, if others are left.
    """
    report, words, notes = None, "", []
    found: Exception | None = wrong
    try:
        if wrong is None:
            log = read_log(path, how[1], strict=False)
            report = lifelong_report(log, *how)
            words = in_words(report, name)
            regimes = report.regimes
            learned = set(regimes.loc[regimes["block_type"] == "train", "task"]) - set(
                report.experts
            )
            alone = [task for task in report.tasks.index if task in learned]
            faults = [
                *log.attrs.get("faults", ()),
                *(how[0].lacking(alone) if complete else ()),
            ]
            found = BadData(faults) if faults else None
    except Exception as error:  # of a file, a metric of one's own, a library that was given something strange
        report, found, notes = None, error, getattr(error, "__notes__", [])
    faulty = _error_in_words(name, found, notes) if found is not None else ""
    written = True
    try:
        if folder is not None and report is not None:
            faulty = "\n".join(
                [*filter(None, [faulty]), *save_report(report, folder / name, plot)]
            )
        if folder is not None and found is not None:
            write_text(f"{folder / name}_faults.txt", faulty + "\n")
    except Exception as error:
        faulty, written = (
            "\n".join(filter(None, [faulty, f"{name} could not be written: {error}"])),
            False,
        )
    return Told(
        None if report is None else report.lifetime,
        words,
        faulty,
        getattr(found, "count", int(bool(found))),
        written,
    )


def _error_in_words(name, error, notes):
    known = isinstance(error, ValueError | OSError | ImportError)
    return "; ".join(
        [
            f"{name}: {error}" if known else f"{name}: {type(error).__name__}: {error}",
            *notes,
        ]
    )


# ---------------------------------------------------------------- words, tables and pictures


def in_words(report: Report, name: str) -> str:
    """A report as the terminal shows it: the lifetime's metrics, those of the tasks, and what is missing."""
    table = report.table()
    known = table[table["value"].notna()][["value", "unit", "better"]]
    lines = [
        f"{name}: {len(report.curves):,} experiences of {len(report.tasks)} "
        f"task{'s' if len(report.tasks) > 1 else ''}, {report.syllabus_type}, measured by {report.measure}",
        known.to_string(float_format="%.4g", header=False, index_names=False),
    ]
    if len(report.tasks) > 1 and len(report.tasks.columns):
        lines += [
            "",
            report.tasks.T.rename_axis(None)
            .rename_axis(None, axis=1)
            .to_string(float_format="%.4g", na_rep=""),
        ]
    if report.missing:
        lines += [
            "",
            "not computed, or not for all tasks:",
            *(f"  {one}: {why}" for one, why in report.missing),
        ]
    return "\n".join(lines)


def over_lifetimes(
    lifetimes: Mapping[str, pd.Series], faults: Mapping[str, int]
) -> pd.DataFrame:
    """A DataFrame, a row a lifetime and a column a metric, with how many faults its log has; the means come last."""
    table = pd.DataFrame(dict(lifetimes)).T
    table = table[[name for name in METRICS if name in table]]
    table.loc["mean"] = table.mean()
    table.insert(
        0,
        "faults",
        [faults.get(name, 0) for name in lifetimes] + [sum(faults.values())],
    )
    return table.rename_axis("lifetime")


def lifetimes_in_words(table: pd.DataFrame) -> str:
    """What `over_lifetimes` gave as a terminal shows it, a row a metric; of many lifetimes mean, lowest, highest."""
    lifetimes = table.drop(index="mean")
    many = len(lifetimes) > MOST_COLUMNS
    shown = (lifetimes.agg(["mean", "min", "max"]) if many else table).T.drop(
        index="faults"
    )
    shown = shown.rename_axis(f"{len(lifetimes)} lifetimes" if many else None, axis=1)
    return shown.to_string(float_format="%.4g", na_rep="")


def tsv_text(table: pd.DataFrame) -> str:
    """A table as TSV in which no spreadsheet finds a formula."""
    safe = table.map(lambda cell: safe_cell(cell) if isinstance(cell, str) else cell)
    return safe.to_csv(sep="\t", index=False, lineterminator="\n")


def save_report(report: Report, stem: Path, plot: bool = True) -> list[str]:
    """Writes a report: `<stem>.json`, tables `<stem>_<what>.tsv` and pictures `<stem>.png`, `<stem>_<what>.png`.

    Tables: metrics of the lifetime, tasks, pairs, regimes, and experts if there are any. Pictures: the lifetime with
    its metrics, its tests, a curve raw and smoothed, and each task against its expert.

    returns   a sentence for each picture that could not be drawn
    """
    write_text(f"{stem}.json", json.dumps(report.to_dict(), indent=2) + "\n")
    tables = {
        "metrics": report.table().reset_index(),
        "tasks": report.tasks.reset_index(),
        "pairs": report.pairs,
        "regimes": report.regimes,
        "experts": report.against_experts,
    }
    for name, table in tables.items():
        if len(table) or name in ("metrics", "regimes"):
            write_text(f"{stem}_{name}.tsv", tsv_text(table))
    complaints = []
    for ending, draw in _pictures(report) if plot else ():
        try:
            picture = draw()
        except Exception as error:  # of the picture: the numbers are what counts
            complaints.append(
                f"{stem.name}{ending}.png could not be drawn ({type(error).__name__}: {error})"
            )
        else:
            write_bytes(f"{stem}{ending}.png", picture)
    return complaints


def _pictures(report) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The ending of a file's name of each picture that a report allows, and what draws its PNG."""
    from pushlab import plots

    plots.use_style()
    yield "", lambda: plots.png(plots.report_sheet(report))
    if (report.curves["block_type"] == "test").any():
        yield "_tests", lambda: plots.png(plots.evaluation_blocks(report))
    learned = dict.fromkeys(
        report.curves.loc[report.curves["block_type"] == "train", "task"]
    )
    if learned:
        yield "_smoothed", lambda: plots.png(plots.smoothed_curves(report))
    for number, task in enumerate(learned):
        if len(report.experts.get(task, ())):
            yield f"_expert_{number}", partial(_expert_picture, report, task)


def _expert_picture(report, task):
    from pushlab import plots

    return plots.png(plots.against_expert(report, task))
