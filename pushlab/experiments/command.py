"""`pushlab sweep`: a grid out of a file, on the cores of this machine or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from pushlab.experiments.cells import CellsFailed
from pushlab.experiments.specs import found
from pushlab.experiments.store import status
from pushlab.experiments.sweep import sweep
from pushlab.ground._old_reading import read_json, read_text
from pushlab.ground.commands import ended_by, say
from pushlab.ground.faults import BadData, Fault, short

KEYS = (
    "agents",
    "envs",
    "syllabi",
    "function",
    "grid",
    "seeds",
    "episodes",
    "tests",
    "steps",
    "record",
    "time_limit",
    "out",
)
LARGEST = 2**20  # bytes of a grid


def read_grid(path: Path | str) -> dict[str, Any]:
    """The arguments of `pushlab.experiments.sweep.sweep` out of a JSON or YAML file, a dict.

    A function is named "module:name"; modules are looked for in the working directory too. A file whose name ends in
    .json is JSON; elsewhere numbers such as 1e-3 are numbers, which YAML 1.1 takes for words.

    Raises BadData for what is no JSON or YAML, no mapping, or has keys that a grid has not.
    """
    import re

    import yaml

    class Loader(yaml.SafeLoader):
        """With numbers as JSON writes them."""

    number = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+$")
    Loader.add_implicit_resolver(
        "tag:yaml.org,2002:float", number, list("-+0123456789")
    )
    path = Path(path)
    try:
        if path.suffix == ".json":
            told = read_json(path, kind=object, links=True)
        else:
            text = read_text(path, LARGEST, links=True)
            if any(
                isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader)
            ):
                raise BadData(
                    Fault(
                        path.name,
                        right="a grid has no aliases (*name): of a few they make millions",
                    )
                )
            told = yaml.load(text, Loader)
    except (RecursionError, OverflowError) as error:
        raise BadData(
            Fault(path.name, right=f"more than a grid holds ({error})")
        ) from error
    except BadData:
        raise
    except (yaml.YAMLError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        raise BadData(
            Fault(
                path.name,
                mark and mark.line + 1,
                None,
                None,
                f"a grid is JSON or YAML; {getattr(error, 'problem', None) or error}",
            )
        ) from error
    if not isinstance(told, dict):
        raise BadData(
            Fault(
                path.name,
                None,
                None,
                short(str(told)),
                f"a mapping with some of {', '.join(KEYS)}",
            )
        )
    wrong = [
        Fault(
            path.name,
            None,
            str(key),
            None,
            f"a grid has no such key, but {', '.join(KEYS)}",
            "item",
        )
        for key in told
        if key not in KEYS
    ]
    if wrong:
        raise BadData(wrong)
    if "function" in told:
        told["function"] = found(told["function"])
    return told


@contextmanager
def cluster(where: str | None) -> Iterator[None]:
    """Cells within this block run on a cluster: "local" (dask, here), the address of a dask scheduler, or "ray"."""
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

        # Any free port for its page: two clusters on one machine would otherwise quarrel about 8787.
        place: Any = (
            LocalCluster(threads_per_worker=1, dashboard_address=":0")
            if where == "local"
            else where
        )
        try:
            with Client(place, timeout="10s"), parallel_config("dask"):
                yield
        finally:
            if where == "local":
                place.close()


Grid = Annotated[
    Path | None,
    typer.Argument(
        exists=True,
        dir_okay=False,
        help="The grid, JSON or YAML: arguments of "
        "pushlab.sweep such as agents, envs, seeds, out.",
    ),
]
Folder = Annotated[
    Path | None,
    typer.Option(help="Folder for cells and tables; else the file's `out`."),
]
Workers = Annotated[
    int | None, typer.Option(help="Processes side by side; by default all cores.")
]
Cluster = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        help="`local`, the address of a dask scheduler such as "
        "tcp://host:8786, or `ray`.",
    ),
]
Limit = Annotated[float | None, typer.Option(help="Seconds that a cell may take.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run again what is finished.")]
Status = Annotated[
    Path | None,
    typer.Option("--status", help="Say what is done in this folder, and stop."),
]


def sweep_command(
    file: Grid = None,
    out: Folder = None,
    workers: Workers = None,
    on: Cluster = None,
    time_limit: Limit = None,
    fresh: Fresh = False,
    look: Status = None,
) -> None:
    """Run a grid of agents, environments and seeds. Finished cells are kept, and the next call goes on from there."""
    if look is not None:
        with ended_by(1):
            sound = tell_status(look)
        raise typer.Exit(0 if sound else 1)
    if file is None:
        raise typer.BadParameter("name a FILE with a grid, or a folder with --status")
    with ended_by(1):
        grid = read_grid(file)
        folder = out or (Path(grid.pop("out")) if "out" in grid else None)
        if folder is None:
            raise typer.BadParameter(
                "name a folder for the cells: --out FOLDER, or `out` in the file"
            )
        more = {"time_limit": time_limit} if time_limit is not None else {}
        try:
            with cluster(on):
                sweep(
                    **{**grid, "out": folder, **more},
                    workers=workers,
                    fresh=fresh,
                    strict=True,
                )
        except CellsFailed as error:
            say(error, err=True)
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            say(
                "interrupted; finished cells are kept, and the same command goes on from there",
                err=True,
            )
            raise typer.Exit(130) from None
        except ImportError as error:
            raise ValueError(
                f"{error}; `pip install {error.name or 'it'}` for --cluster {on}"
            ) from error
        tell_status(folder)


def tell_status(folder: Path) -> bool:
    """Prints how many cells are finished, failed and missing, and each error once; returns whether none failed."""
    table = status(folder)
    counts = table["state"].value_counts()
    say(
        f"{folder}: {len(table):,} cells of the last call, "
        + ", ".join(
            f"{counts.get(state, 0):,} {state}"
            for state in ("finished", "failed", "missing")
        )
    )
    for error, some in table[table["state"] == "failed"].groupby("error", sort=False):
        first = some.iloc[0]
        labels = ", ".join(
            f"{name} {value}"
            for name, value in first.drop(["state", "error", "traceback"]).items()
        )
        others = f" and {len(some) - 1:,} more cells" if len(some) > 1 else ""
        say(f"failed: {labels}{others}: {error}\n{first['traceback']}")
    return "failed" not in counts
