"""The commands `pushlab sweep`, which runs a grid from a file, and `pushlab warm`, which compiles all loops."""

from __future__ import annotations

import inspect
import logging
import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.utils.arguments import import_optional, require, validate_choices
from pushlab.utils.commands import Workers, echo
from pushlab.utils.files import read_text
from pushlab.utils.issues import BadData, DataIssue, raise_issues

NOT_IN_GRID = ("workers", "fresh", "progress", "strict")


def read_grid(path: Path | str) -> dict[str, Any]:
    """Return the arguments of `pushlab.sweep` in a YAML or JSON file.

    Raises:
        BadData: The file isn't YAML, or has unknown keys.
    """
    import yaml

    from pushlab.experiments.sweep import sweep

    parameters = inspect.signature(sweep).parameters
    grid_keys = [name for name in parameters if name not in NOT_IN_GRID]

    class Loader(yaml.SafeLoader):
        """Loader that reads 1e-3 as a number, as YAML 1.2 and JSON do."""

    scientific = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", scientific, list("-+0123456789")
    )
    name = Path(path).name
    try:
        grid = yaml.load(read_text(path), Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else None
        valid_values = (
            f"the file is not YAML or JSON: {getattr(error, 'problem', error)}"
        )
        raise BadData(
            DataIssue(name, line, valid_values=valid_values, unit="line")
        ) from error
    if not isinstance(grid, dict):
        valid_values = (
            f"a grid must be a mapping; its keys can be {', '.join(grid_keys)}"
        )
        raise BadData(DataIssue(name, valid_values=valid_values))
    valid_values = f"unknown key; a grid can have {', '.join(grid_keys)}"
    unknown = [str(key) for key in grid if key not in grid_keys]
    raise_issues(
        DataIssue(name, None, key, None, valid_values, "item") for key in unknown
    )
    return grid


@contextmanager
def cluster(address: str | None) -> Iterator[None]:
    """Context manager that runs cells on a cluster.

    Args:
        address: "local" starts dask on this machine; or the address of a dask scheduler. None uses no cluster.
    """
    from joblib import parallel_config

    from pushlab.experiments.cells import interrupts_held
    from pushlab.experiments.sweep import search_working_directory

    if address is None:
        yield
    else:
        require(
            address == "local" or "://" in address,
            f"a cluster is local or an address such as tcp://host:8786; got {address}",
        )
        # Otherwise dask logs each task that ends with its worker, in both processes.
        os.environ["DASK_LOGGING__DISTRIBUTED"] = "critical"
        logging.disable()
        dask = import_optional("dask.distributed", "--cluster", "cluster")
        scheduler: Any = address
        search_working_directory()  # before workers start, since they get this path
        if address == "local":  # on any free port, since 8787 may be in use
            with interrupts_held():
                scheduler = dask.LocalCluster(
                    threads_per_worker=1, dashboard_address=":0"
                )
        try:
            with dask.Client(scheduler, timeout="10s"), parallel_config("dask"):
                yield
        finally:
            if address == "local":
                for nanny in scheduler.workers.values():
                    nanny.auto_restart = False
                    os.kill(nanny.pid, signal.SIGTERM)  # results are stored
                scheduler.close()


def sweep_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="Grid in YAML or JSON.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for the results. By default `out` in the file."),
    ] = None,
    workers: Workers = None,
    cluster_address: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="local|ADDRESS",
            help="Run on a cluster: `local`, or the address of a dask scheduler (tcp://host:8786).",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run finished cells again.")
    ] = False,
    status_folder: Annotated[
        Path | None,
        typer.Option(
            "--status",
            help="Only show which cells of this folder are finished, failed or missing.",
        ),
    ] = None,
) -> None:
    """Run a grid of agents, environments and seeds.

    The file has the arguments of `pushlab.sweep`, such as {agents: [LinUCB, my_agents:Mine], envs:
    [pushlab/evalumap2-v0], seeds: 5}. Finished cells are stored, so the same command continues an interrupted run.

    Example: `pushlab sweep grid.yaml --out results`

    Or: `pushlab sweep --status results`

    More: https://pushlab.github.io/pushlab/docs/sweeps.html
    """
    from pushlab.experiments.sweep import sweep

    if status_folder is not None:
        raise typer.Exit(0 if print_status(status_folder) else 1)
    if file is None:
        raise typer.BadParameter("give a FILE with a grid, or a folder with --status")
    grid = read_grid(file)
    folder = out or grid.get("out")
    if not isinstance(folder, (str, Path)):
        raise typer.BadParameter(
            "give a folder for the results: --out FOLDER, or `out` in the file"
        )
    grid["out"] = folder
    try:
        with cluster(cluster_address):
            sweep(**grid, workers=workers, fresh=fresh, strict=True)
    except BadData:
        raise
    except ValueError as error:
        raise ValueError(f"{file.name}: {error}") from error
    print_status(folder)


def print_status(folder: Path | str) -> bool:
    """Print the number of finished, failed and missing cells, and each error once; return whether none failed."""
    from pushlab.experiments.cells import labels_text, status

    table = status(folder)
    counts = [
        f"{(table['state'] == state).sum():,} {state}"
        for state in ("finished", "failed", "missing")
    ]
    echo(f"{folder}: {len(table):,} cells of the last call, {', '.join(counts)}")
    failed = table[table["state"] == "failed"]
    for error, cells in failed.groupby("error", sort=False):
        first = cells.iloc[0]
        label = labels_text(first.drop(["state", "error", "traceback"]))
        count = f"{len(cells):,} cells, such as " if len(cells) > 1 else ""
        echo(f"failed: {count}{label}: {error}\n{first['traceback']}")
    return failed.empty


# ---------------------------------------------------------------- pushlab warm


def warm(
    envs: Annotated[
        list[str] | None,
        typer.Argument(metavar="ENV", help="Environments' ids. By default all."),
    ] = None,
    workers: Workers = None,
) -> None:
    """Compile environments in advance.

    The loops of environments and agents are compiled when they are first used, which takes seconds each. This command
    compiles all of them and stores the machine code on disk, except loops for rare arguments, such as another user
    model. It doesn't fit judges: `pushlab score` fits them each time.

    Example: `pushlab warm`

    Or: `pushlab warm pushlab/push-v0`

    More: https://pushlab.github.io/pushlab/docs/speed.html
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    from pushlab import agents
    from pushlab.envs import ENVIRONMENTS
    from pushlab.logs.rollout import rollout

    registered = [name for name, *_ in ENVIRONMENTS]
    names = validate_choices("ENV", envs or registered, registered)
    tasks = [delayed(_run_steps)(name) for name in names]
    learners = {
        "pushlab/evalumap2-v0": agents.LinUCB,
        "pushlab/push-v0": agents.LinearArrivalQ,
    }
    for name in names:
        if name in learners:
            tasks.append(
                delayed(rollout)(name, learners[name](), steps=40, progress=False)
            )
    parallel = Parallel(workers or -1, return_as="generator_unordered")
    list(tqdm(parallel(tasks), "compiling", len(tasks), unit="part"))


def _run_steps(name):
    """Run three steps of an environment, alone and in a batch."""
    import gymnasium as gym

    batch = gym.make_vec(name, num_envs=16)
    for env in (gym.make(name), batch):
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(3):
            env.step(env.action_space.sample())
        env.close()
