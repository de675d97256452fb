"""`pushlab sweep`, a grid from a file on the cores of this machine or on a cluster; and `pushlab warm`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.experiments.cells import CellsFailed, labels_text, status
from pushlab.experiments.sweep import sweep
from pushlab.ground.commands import ended_by, say
from pushlab.ground.faults import BadData, Fault, refuse
from pushlab.ground.files import read_text

OF_COMMAND = ("workers", "fresh", "progress", "strict")
KEYS = [name for name in inspect.signature(sweep).parameters if name not in OF_COMMAND]


def read_grid(path: Path | str) -> dict[str, Any]:
    """Return the arguments of `pushlab.sweep` in a YAML or JSON file.

    Raises:
        BadData: The file isn't YAML, or has keys that a grid doesn't have.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        """Reads 1e-3 as a number, as YAML 1.2 and JSON do."""

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
        right = f"a grid is YAML or JSON; {getattr(error, 'problem', error)}"
        raise BadData(Fault(name, line, right=right, unit="line")) from error
    if not isinstance(grid, dict):
        right = f"a grid is a mapping with some of {', '.join(KEYS)}"
        raise BadData(Fault(name, right=right))
    right = f"a grid has the keys {', '.join(KEYS)}"
    unknown = [str(key) for key in grid if key not in KEYS]
    refuse(Fault(name, None, key, None, right, "item") for key in unknown)
    return grid


@contextmanager
def cluster(where: str | None) -> Iterator[None]:
    """Run cells within this block on a cluster: "local" (dask, here), a dask scheduler's address, or "ray"."""
    from joblib import parallel_config

    if where is None:
        yield
    elif where == "ray":
        from ray.util.joblib import register_ray

        register_ray()
        with parallel_config("ray"):
            yield
    else:
        from dask.distributed import Client, LocalCluster

        place: Any = where
        if where == "local":  # on any free port, since 8787 may be taken
            place = LocalCluster(threads_per_worker=1, dashboard_address=":0")
        try:
            with Client(place, timeout="10s"), parallel_config("dask"):
                yield
        finally:
            if where == "local":
                place.close()


def sweep_command(
    file: Annotated[
        Path | None,
        typer.Argument(
            exists=True,
            dir_okay=False,
            help="The grid, YAML or JSON: arguments of pushlab.sweep such as agents, envs, seeds, out.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results; else the file's `out`.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of processes; by default all cores.")
    ] = None,
    on: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            help="`local`, the address of a dask scheduler such as tcp://host:8786, or `ray`.",
        ),
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Run finished cells again.")
    ] = False,
    look: Annotated[
        Path | None,
        typer.Option(
            "--status", help="Show the state of this folder's cells, and stop."
        ),
    ] = None,
) -> None:
    """Run a grid of agents, environments and seeds. Finished cells are stored, and the next call continues there."""
    if look is not None:
        with ended_by(1):
            is_sound = print_status(look)
        raise typer.Exit(0 if is_sound else 1)
    if file is None:
        raise typer.BadParameter("name a FILE with a grid, or a folder with --status")
    with ended_by(1):
        grid = read_grid(file)
        folder = out or grid.pop("out", None)
        if folder is None:
            raise typer.BadParameter(
                "name a folder for the results: --out FOLDER, or `out` in the file"
            )
        grid["out"] = folder
        try:
            with cluster(on):
                sweep(**grid, workers=workers, fresh=fresh, strict=True)
        except CellsFailed as error:
            say(error, err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            say("interrupted; the same command continues with the next cell", err=True)
            raise typer.Exit(130) from None
        print_status(folder)


def print_status(folder: Path | str) -> bool:
    """Print how many cells are finished, failed and missing, and each error once; return whether none failed."""
    table = status(folder)
    numbers = [
        f"{(table['state'] == state).sum():,} {state}"
        for state in ("finished", "failed", "missing")
    ]
    say(f"{folder}: {len(table):,} cells of the last call, {', '.join(numbers)}")
    failed = table[table["state"] == "failed"]
    for error, cells in failed.groupby("error", sort=False):
        first = cells.iloc[0]
        text = labels_text(first.drop(["state", "error", "traceback"]))
        count = f"{len(cells):,} cells, such as " if len(cells) > 1 else ""
        say(f"failed: {count}{text}: {error}\n{first['traceback']}")
    return failed.empty


# ---------------------------------------------------------------- pushlab warm

WHYNOT = {"reference": "whynot-0.12"}


def warm(workers: int | None = None) -> int:
    """Compile all loops that aren't cached; return the number of environments and agents that were run.

    Loops for rare arguments, such as another user model, are compiled when they are first used.

    Args:
        workers: Number of processes; None uses one per core.
    """
    from joblib import Parallel, delayed
    from tqdm.auto import tqdm

    from pushlab import agents
    from pushlab.envs import TABLE
    from pushlab.logs.rollout import rollout

    work = [
        delayed(_play)("pushlab/ODE-World3-v1", **WHYNOT),
        delayed(_play)("pushlab/ODE-Opioid-v0", **WHYNOT),
    ]
    for name, agent in (
        ("pushlab/evalumap2-v0", agents.LinUCB()),
        ("pushlab/push-v0", agents.LinearArrivalQ()),
    ):
        work.append(delayed(rollout)(name, agent, steps=40, progress=False))
    work += [delayed(_play)(name) for name, *_ in TABLE]
    run = Parallel(workers or -1, batch_size=1, return_as="generator_unordered")
    return len([*tqdm(run(work), "compiling", len(work), unit="part")])


def _play(name, **arguments):
    """Run three steps of an environment, alone and in a batch."""
    import gymnasium as gym

    import pushlab  # noqa: F401  registers the ids

    batch = gym.make_vec(name, num_envs=16, **arguments)
    for env in (gym.make(name, **arguments), batch):
        env.reset(seed=0)
        env.action_space.seed(0)
        for _ in range(3):
            env.step(env.action_space.sample())
        env.close()
