"""`pushlab bench`: an agent on the tasks of the benchmark, side by side on all cores, and what came of it in a folder.

runs/          the sweep's cells, each kept as it is finished: the same command goes on where it stopped
scores.csv     a row an agent, task and seed: score, normalised, steps. The same code gives the same file
seconds.csv    the CPU seconds of each
unfit.csv      tasks that do not fit, and why; failed.csv what raised or took too long, with its traceback
report.html, report.json and pictures, beside the agents that ship; of several agents, a folder each
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pushlab.datasets.tables import NO_ROWS, find_columns, read_rows
from pushlab.experiments.bench.protocol import (
    DoesNotFit,
    Trial,
    fit_for,
    load_agent,
    run_cell,
)
from pushlab.experiments.bench.tasks import QUICK, VERSION, Task, read_tasks, task_table
from pushlab.experiments.cells import Cell, run_cells
from pushlab.experiments.specs import content_of_env
from pushlab.experiments.store import LARGEST, status
from pushlab.ground._old_files import alone, write_together
from pushlab.ground._old_reading import opened
from pushlab.ground.arguments import demand, one_of, whole
from pushlab.ground.commands import ended_by, say
from pushlab.ground.faults import refuse
from pushlab.ground.files import data_dir, write_text
from pushlab.lifetimes.syllabi import read_syllabus

SEEDS = {VERSION: 5, QUICK: 3}
RUN = ["agent", "task", "seed"]
COLUMNS = {
    "scores": [*RUN, "score", "steps"],
    "seconds": [*RUN, "seconds"],
    "unfit": [*RUN, "reason"],
}
REFERENCE = ["version", *COLUMNS["scores"]]
DIGITS = "%.9g"
NO_NAMES = ("", "nan", "na", "n/a", "null", "none")  # which pandas reads as nothing


def run_bench(
    names: Sequence[str],
    out: Path | str,
    version: str = VERSION,
    tasks: Sequence[str] | None = None,
    seeds: int | None = None,
    workers: int | None = None,
    fresh: bool = False,
    time_limit: float | None = None,
    progress: bool = True,
) -> dict[str, pd.DataFrame]:
    """Runs agents, each named as module:make, on the tasks (all, or those named); writes and returns the tables.

    seeds, workers, fresh, progress, time_limit   as in the command. An agent is called as its function, or as its
                                                  module where that is `make`
    returns   scores (agent, task, seed, score, normalised, steps), seconds (agent, task, seed, seconds), unfit (agent,
              task, reason), failed (agent, task, seed, reason, traceback)

    Raises ValueError for what is no agent or no task, and FileExistsError for the folder of something else, or of other
    agents. What an agent raises within a cell is kept in `failed`, and the other cells go on.
    """
    known = {task.name: task for task in read_tasks(version)}
    chosen = [known[one_of("task", name, known)] for name in tasks or known]
    makers = {label_of(name): load_agent(name) for name in dict.fromkeys(names)}
    for label in makers:
        demand(
            label.lower() not in NO_NAMES,
            f"an agent called {label!r} would be read from tables as none at all; "
            "give the function, or the module, another name",
        )
    demand(
        len(makers) == len(set(names)) and makers,
        f"agents of different names are meant; got {', '.join(names)}",
    )
    for make in makers.values():
        check_agent(make, chosen)
    check_folder(Path(out), list(makers))
    seeds, out = (
        whole("seeds", SEEDS[version] if seeds is None else seeds, 1),
        Path(out),
    )
    code = {task.name: content_of(task) for task in chosen}
    cells = [
        Cell(
            dict(zip(RUN, (label, task.name, seed))),
            run_cell,
            (make, task, seed),
            code[task.name],
        )
        for label, make in makers.items()
        for task in chosen
        for seed in range(seeds)
    ]
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", message=r"\d+ of \d+ cells failed"
        )  # they are in the table `failed`
        done = run_cells(
            cells,
            out / "runs",
            workers,
            fresh,
            progress,
            time_limit,
            strict=False,
            name="bench",
            about={"version": version},
        )
    tables = {
        name: done.get(name, pd.DataFrame(columns=columns))[columns]
        for name, columns in COLUMNS.items()
    }
    tables["scores"]["score"] = [
        float(DIGITS % score) for score in tables["scores"]["score"]
    ]  # as the reference is
    tables["scores"] = normalised(tables["scores"], version)
    tables["unfit"] = (
        tables["unfit"].drop(columns="seed").drop_duplicates(ignore_index=True)
    )
    failed = (
        status(out / "runs")
        .query("state == 'failed'")
        .rename(columns={"error": "reason"})
    )
    tables["failed"] = failed[[*RUN, "reason", "traceback"]].reset_index(drop=True)
    write_together(
        {
            out / f"{name}.csv": table.to_csv(
                index=False, lineterminator="\n", float_format=DIGITS
            )
            for name, table in tables.items()
        }
    )
    return tables


def label_of(name: str) -> str:
    """What an agent named module:make, or by its name in pushlab.agents, is called.

    >>> label_of("pushlab.experiments.bench.agents:linear_q"), label_of("my_agent:make"), label_of("RandomAgent")
    ('linear-q', 'my-agent', 'RandomAgent')
    """
    module, _, make = name.rpartition(":")
    return (module.rpartition(".")[2] if make == "make" else make).replace("_", "-")


def check_agent(make: Callable, tasks: Sequence[Task]) -> None:
    """Makes the agent for the first task that it fits; raises what making it raises, and TypeError for no agent."""
    for task in (task for task in tasks if task.kind != "lifetime"):
        try:
            fit_for(make, Trial(task.make(task.each[0]), task, 0))
            return
        except DoesNotFit:
            continue


def check_folder(out: Path, labels: Sequence[str]) -> None:
    """FileExistsError where the tables in a folder are somebody else's, or those of an agent that is not run now."""
    for name in ("scores", "failed"):
        if (out / f"{name}.csv").exists():
            table = _read(out / f"{name}.csv")
            if not {*RUN} <= {*table}:
                raise FileExistsError(
                    f"{out / name}.csv is no table of the benchmark, as it lacks {', '.join(RUN)}; "
                    "name another folder"
                )
            if other := sorted({*table["agent"]} - {*labels}):
                raise FileExistsError(
                    f"{out} holds the scores of {other[0]}; name another folder for "
                    f"{' and '.join(labels)}"
                )


def content_of(task: Task) -> list:
    """Checksums of what a task's numbers come from beside its own fields: its worlds, and its users' tables."""
    if task.kind != "lifetime":
        return [content_of_env(task.env, arguments) for arguments in task.each]
    phases = read_syllabus(task.env).phases
    return [
        content_of_env(one.env, one.params)
        for phase in phases
        for one in phase.experiences
    ]


def normalised(scores: pd.DataFrame, version: str) -> pd.DataFrame:
    """Scores with the column `normalised` behind them: 0 is chance, 1 the best there is or that is known."""
    anchors = task_table(version).set_index("name")
    low, best = (scores["task"].map(anchors[name]) for name in ("random", "best"))
    scores = scores.copy()
    scores.insert(
        list(scores).index("score") + 1,
        "normalised",
        (scores["score"] - low) / (best - low),
    )
    return scores


def read_reference(version: str = VERSION) -> pd.DataFrame:
    """Scores of the agents that ship, a DataFrame: agent, task, seed, score, normalised, steps.

    >>> list(read_reference())
    ['agent', 'task', 'seed', 'score', 'normalised', 'steps']
    """
    table = pd.read_csv(data_dir() / "bench" / "reference.csv")
    return normalised(
        table[table["version"] == version]
        .drop(columns="version")
        .reset_index(drop=True),
        version,
    )


def add_rows(file: Path, scores: pd.DataFrame, version: str) -> None:
    """Adds scores to a file of reference rows, in place of those of the same version and agents."""
    new = scores.assign(version=version)[REFERENCE]
    with alone(file):
        old = _read(file) if os.path.lexists(file) else new[:0]
        if list(old) != REFERENCE:
            raise FileExistsError(
                f"{file} is no file of reference rows, with the columns {', '.join(REFERENCE)}"
            )
        kept = old[~((old["version"] == version) & old["agent"].isin(new["agent"]))]
        table = pd.concat([kept, new]).sort_values(["version", "agent"], kind="stable")
        write_text(
            file, table.to_csv(index=False, lineterminator="\n", float_format=DIGITS)
        )


def _read(file):
    """A table of the benchmark, or of somebody else, as text; BadData with its faults."""
    with opened(file, LARGEST, links=True) as data:
        header, rows, _, faults = read_rows(data, file.name)
    faults = find_columns(header, {}, header, file.name)[1] + [
        fault for fault in faults if fault.right != NO_ROWS
    ]
    refuse(faults)
    return pd.DataFrame(rows, columns=header, dtype=object)


# ---------------------------------------------------------------- the command


def bench(
    agent: Annotated[
        list[str],
        typer.Option(
            help="module:make, where make() or make(env) gives an agent; may "
            "be repeated."
        ),
    ],
    out: Annotated[
        Path, typer.Option(help="Folder for scores and report.", file_okay=False)
    ],
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Smaller budgets: a minute, and other scores."),
    ] = False,
    tasks: Annotated[
        str | None, typer.Option(help="Names with commas between; by default all.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs of each task: 5, quick 3.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes; by default all cores.")
    ] = None,
    time_limit: Annotated[
        float, typer.Option(help="Seconds that one run may take.")
    ] = 3600,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run again what is kept.")
    ] = False,
    reference: Annotated[
        Path | None,
        typer.Option(help="Also add the scores to this file, if no run failed."),
    ] = None,
) -> None:
    """Run an agent on the benchmark: scores, and a report beside the agents that ship.

    What an agent is, and which tasks there are, is in `pushlab.experiments.bench.protocol` and data/bench/README.md.
    """
    from pushlab.experiments.bench.report import write_report

    version, names = QUICK if quick else VERSION, list(dict.fromkeys(agent))
    wanted = [name.strip() for name in tasks.split(",")] if tasks else None
    with ended_by(2):
        try:
            found = run_bench(
                names, out, version, wanted, seeds, workers, fresh, time_limit
            )
        except (TypeError, ImportError) as error:
            raise ValueError(str(error)) from error
        for label in map(label_of, names):
            mine = {
                name: table[table["agent"] == label] for name, table in found.items()
            }
            scores, unfit, failed = mine["scores"], mine["unfit"], mine["failed"]
            page = write_report(
                out / label if len(names) > 1 else out,
                scores,
                task_table(version),
                read_reference(version),
                version,
                unfit,
                failed,
                label,
            )
            means = (
                scores.groupby("task", sort=False)["normalised"]
                .agg(["mean", "min", "max"])
                .round(3)
            )
            say(
                f"{label}, {version}: normalised scores, 0 is chance and 1 the best known\n{means.to_string()}\n"
                f"{len(unfit)} tasks do not fit, {len(failed)} runs failed\n{page}"
            )
        if reference is not None and found["failed"].empty:
            add_rows(reference, found["scores"], version)
    for row in found["failed"].itertuples():
        say(f"failed: {row.agent}, {row.task}, seed {row.seed}: {row.reason}", err=True)
    if len(found["failed"]):
        if reference is not None:
            say(f"{reference} is as it was: rows are added when no run fails", err=True)
        raise typer.Exit(1)
