"""`pushlab bench`: run agents on the benchmark's tasks, on all cores, and write scores and a
report to a folder.

- runs/: finished runs: the same command continues where it stopped
- `scores.csv`: a row per agent, task and seed: score, normalised, steps. The same code gives the
  same file
- `seconds.csv`: CPU seconds of each run
- `unfit.csv`: tasks that don't fit, with the reason
- `failed.csv`: runs that raised an error, with its traceback
- `report.md`: a report with pictures beside the agents that ship; each of several agents has a
  folder of its own
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pushlab.experiments.bench.protocol import run_task
from pushlab.experiments.bench.tasks import (
    QUICK,
    VERSION,
    find_task,
    normalise,
    read_tasks,
)
from pushlab.experiments.cells import Cell, run_cells, status
from pushlab.experiments.sweep import load_factory
from pushlab.ground.arguments import demand
from pushlab.ground.commands import ended_by, say
from pushlab.ground.files import write_text
from pushlab.ground.tables import read_table, word

SEEDS = {VERSION: 5, QUICK: 3}
COLUMNS = {
    "scores": ["agent", "task", "seed", "score", "steps"],
    "seconds": ["agent", "task", "seed", "seconds"],
    "unfit": ["agent", "task", "reason"],
    "failed": ["agent", "task", "seed", "reason", "traceback"],
}
REFERENCE = ["version", *COLUMNS["scores"]]
DIGITS = "%.9g"


def run_bench(
    names: Sequence[str],
    out: Path | str,
    version: str = VERSION,
    tasks: Sequence[str] | None = None,
    seeds: int | None = None,
    workers: int | None = None,
) -> dict[str, pd.DataFrame]:
    """Run agents on the tasks; write the tables to the folder `out` and return them.

    Args:
        names: Agents, each named as `module:make`; see `label_of` for their labels in the tables.
        tasks: Names of tasks; None takes all.
        seeds: Number of runs of each task; None is 5, in the quick version 3.
        workers: Number of processes; None is all cores.

    Returns:
        Tables by name:

        - scores: columns agent, task, seed, score, normalised, steps
        - seconds: columns agent, task, seed, seconds
        - unfit: columns agent, task, reason
        - failed: columns agent, task, seed, reason, traceback; the next call tries failed runs again

    Raises:
        ValueError: An agent or a task is unknown.

    Warns:
        UserWarning: Runs failed.
    """
    chosen = [find_task(name, version) for name in tasks or ()] or read_tasks(version)
    makers = {label_of(name): load_factory(name) for name in names}
    demand(len(makers) == len(names), f"two of {', '.join(names)} have the same label")
    runs = range(seeds or SEEDS[version])
    cells = []
    for label, task, seed in itertools.product(makers, chosen, runs):
        labels = {"agent": label, "task": task.name, "seed": seed}
        cells.append(Cell(labels, run_task, (makers[label], task, seed)))
    out = Path(out)
    found = run_cells(cells, out / "runs", workers, strict=False)
    failed = status(out / "runs").query("state == 'failed'")
    found["failed"] = failed.rename(columns={"error": "reason"})
    tables = {}
    for name, columns in COLUMNS.items():
        table = found.get(name, pd.DataFrame(columns=columns))[columns]
        tables[name] = table.drop_duplicates(ignore_index=True)
    scores = tables["scores"]
    scores["score"] = [float(DIGITS % score) for score in scores["score"]]
    tables["scores"] = normalise(scores, version)
    for name, table in tables.items():
        write_text(out / f"{name}.csv", _csv(table))
    return tables


def _csv(table):
    return table.to_csv(index=False, lineterminator="\n", float_format=DIGITS)


def label_of(name: str) -> str:
    """Return the label of an agent named `module:make`: its function, or its module if the function is `make`.

    >>> label_of("pushlab.experiments.bench.agents:linear_q"), label_of("my_agent:make"), label_of("RandomAgent")
    ('linear-q', 'my-agent', 'RandomAgent')
    """
    module, _, make = name.rpartition(":")
    label = module.rpartition(".")[2] if make == "make" else make
    return label.replace("_", "-")


def add_rows(file: Path, scores: pd.DataFrame, version: str) -> None:
    """Add scores to a file of reference rows; they replace those of the same version and agents."""
    new = scores.assign(version=version)[REFERENCE]
    old = new[:0]
    if file.exists():
        old = read_table(file, dict.fromkeys(REFERENCE, word()), others=False)
    is_replaced = (old["version"] == version) & old["agent"].isin(new["agent"])
    table = pd.concat([old[~is_replaced], new])
    write_text(file, _csv(table.sort_values(["version", "agent"], kind="stable")))


# ---------------------------------------------------------------- the command


def bench(
    agent: Annotated[
        list[str],
        typer.Option(
            help="module:make, where make() or make(env) returns an agent; "
            "repeat it for several."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for scores and report.")],
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
    reference: Annotated[
        Path | None,
        typer.Option(help="Also add the scores to this file, if no run failed."),
    ] = None,
) -> None:
    """Run an agent on the benchmark: scores, and a report beside the agents that ship.

    `pushlab.experiments.bench.protocol` describes agents and rules, data/bench/README.md the tasks.
    """
    from pushlab.experiments.bench.report import write_report

    version = QUICK if quick else VERSION
    chosen = tasks.split(",") if tasks else None
    with ended_by(2):
        found = run_bench(agent, out, version, chosen, seeds, workers)
        failed = found["failed"]
        scores = found["scores"]
        means = scores.pivot_table("normalised", "task", "agent", sort=False)
        say(f"{version}: normalised scores\n{means.round(3).to_string()}")
        for label in map(label_of, agent):
            folder = out / label if len(agent) > 1 else out
            say(write_report(folder, found, label, version))
        say(f"{len(found['unfit'])} tasks do not fit, {len(failed)} runs failed")
        if reference is not None and failed.empty:
            add_rows(reference, scores, version)
    if len(failed):
        raise typer.Exit(1)
