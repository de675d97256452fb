"""The command `pushlab bench`: run agents on the benchmark and write scores and a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pushlab.utils.commands import Workers, echo


def bench(
    agent: Annotated[
        list[str],
        typer.Option(
            metavar="NAME",
            help="An agent of `pushlab list agents`, or module:make of your own, where make() or make(env) returns "
            "an agent. Repeat the option for several agents.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Folder for scores and reports.")],
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="Run the quick version: a few minutes for the shipped agents. "
            "Its scores aren't comparable with those of the full one.",
        ),
    ] = False,
    tasks: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            help="Names of tasks, separated by commas, by default all; "
            "or a JSON file of tasks of your own.",
        ),
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="Runs per task. By default 5, quick 3.")
    ] = None,
    workers: Workers = None,
    reference: Annotated[
        Path | None,
        typer.Option(
            help="Add the scores to this file of reference scores, unless runs failed."
        ),
    ] = None,
) -> None:
    """Run agents on the benchmark and compare them with shipped ones.

    `pushlab.experiments.bench.protocol` describes agents and rules, data/bench/README.md the tasks.

    Example: `pushlab bench --agent RandomAgent --out results --quick`

    Or: `pushlab bench --agent my_agent:make --out results`

    More: https://pushlab.github.io/pushlab/docs/benchmark.html
    """
    from pushlab.experiments.bench.report import write_report
    from pushlab.experiments.bench.run import add_rows, agent_label, run_bench
    from pushlab.experiments.bench.tasks import QUICK, VERSION

    version = QUICK if quick else VERSION
    task_names = tasks.split(",") if tasks else None
    if tasks and tasks.endswith(".json"):
        version = tasks
        task_names = None
    tables = run_bench(agent, out, version, task_names, seeds, workers)
    failed = tables["failed"]
    scores = tables["scores"]
    means = scores.pivot_table("normalised", "task", "agent", sort=False)
    if len(means):
        echo(f"{version}: normalised scores\n{means.round(3).to_string()}")
    for label in map(agent_label, agent):
        folder = out / label if len(agent) > 1 else out
        echo(write_report(folder, tables, label, version))
    n_unsupported = len(tables["unfit"])
    echo(f"{n_unsupported} tasks not supported, {len(failed)} runs failed")
    if reference is not None and failed.empty:
        add_rows(reference, scores, version)
    if len(failed):
        raise ValueError(
            f"{len(failed)} runs failed\n{out / 'failed.csv'} has their tracebacks; the same command runs them again"
        )
