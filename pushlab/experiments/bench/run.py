"""A benchmark run: agents on all tasks, their scores and reports.

The folder of the results contains these files; `pushlab bench` adds the reports.

- runs/: finished runs; the same command continues an interrupted benchmark
- `scores.csv`: one row per agent, task and seed: score, normalised, steps. The same code gives the same file
- `seconds.csv`: CPU seconds of each run
- `unfit.csv`: tasks that an agent doesn't support, with the reason
- `failed.csv`: failed runs, with their tracebacks
- `report.html`: a report that compares the agent with the shipped ones. With several agents, each has a folder of its
  own
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from pushlab.experiments.bench.protocol import run_task
from pushlab.experiments.bench.tasks import (
    QUICK,
    VERSION,
    find_task,
    normalise,
    read_tasks,
)
from pushlab.experiments.cells import Cell, run_cells, status
from pushlab.experiments.sweep import agent_name, load_factory
from pushlab.utils.arguments import require
from pushlab.utils.files import write_text
from pushlab.utils.tables import read_table, text_rule

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
        names: Agents, each as `module:make`. The tables have their labels, see `agent_label`.
        out: Folder of the results.
        version: Version of the benchmark, or a JSON file of tasks of your own (`tasks.read_tasks`).
        tasks: Names of tasks. None takes all.
        seeds: Number of runs of each task. None means 5, or 3 in the quick version.
        workers: Number of processes. None uses all cores.

    Returns:
        Tables by name:

        - scores: columns agent, task, seed, score, normalised, steps
        - seconds: columns agent, task, seed, seconds
        - unfit: columns agent, task, reason
        - failed: columns agent, task, seed, reason, traceback. The next call runs failed runs again

    Raises:
        ValueError: An agent or a task is unknown.

    Warns:
        UserWarning: Runs failed.
    """
    selected = [find_task(name, version) for name in tasks or ()]
    selected = selected or [*read_tasks(version)]
    makers = {agent_label(name): load_factory(name) for name in names}
    is_unique = len(makers) == len(names)
    require(is_unique, f"two of the agents {', '.join(names)} have the same label")
    runs = range(seeds or SEEDS.get(version, 5))
    cells = []
    for label, task, seed in itertools.product(makers, selected, runs):
        labels = {"agent": label, "task": task.name, "seed": seed}
        cells.append(Cell(labels, run_task, (makers[label], task, seed)))
    out = Path(out)
    results = run_cells(cells, out / "runs", workers, strict=False)
    failed = status(out / "runs").query("state == 'failed'")
    results["failed"] = failed.rename(columns={"error": "reason"})
    tables = {}
    for name, columns in COLUMNS.items():
        table = results.get(name, pd.DataFrame(columns=columns))[columns]
        tables[name] = table.drop_duplicates(ignore_index=True)
    scores = tables["scores"]
    scores["score"] = [float(DIGITS % score) for score in scores["score"]]
    tables["scores"] = normalise(scores, version)
    for name, table in tables.items():
        write_text(out / f"{name}.csv", _to_csv(table))
    return tables


def _to_csv(table):
    return table.to_csv(index=False, lineterminator="\n", float_format=DIGITS)


def agent_label(name: str) -> str:
    """Return the label of an agent: its `name`, or else that of its function, or of its module if that is `make`.

    >>> agent_label("pushlab.experiments.bench.agents:linear_q")
    'linear-q'
    >>> agent_label("RandomAgent")
    'random'
    """
    if own := agent_name(name):
        return own
    module, _, make = name.rpartition(":")
    label = module.rpartition(".")[2] if make == "make" else make
    return label.replace("_", "-")


def add_rows(file: Path, scores: pd.DataFrame, version: str) -> None:
    """Add scores to a file of reference scores, in place of those of the same version and agents."""
    new = scores.assign(version=version)[REFERENCE]
    old = new[:0]
    if file.exists():
        old = read_table(file, dict.fromkeys(REFERENCE, text_rule()), allow_extra=False)
    is_replaced = (old["version"] == version) & old["agent"].isin(new["agent"])
    table = pd.concat([old[~is_replaced], new])
    table = table.sort_values(["version", "agent"], kind="stable")
    write_text(file, _to_csv(table))
