"""What studies share beside their grid: options of their commands, and how tables are made, written and read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from pushlab.ground._old_files import write_together
from pushlab.ground.files import data_dir
from pushlab.metrics.estimate import Interval

# Options of every study's command.
Out = Annotated[
    Path,
    typer.Option(
        help="CSV file to write; where a study has several tables the others go beside it."
    ),
]
OutFolder = Annotated[Path, typer.Option(help="Folder for the CSV files.")]
Jobs = Annotated[int, typer.Option(help="Processes to work with.")]
Keep = Annotated[
    Path | None, typer.Option(help="Folder for finished cells; else pushlab's cache.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Run again what is kept.")]


def window_means(values: np.ndarray, window: int) -> np.ndarray:
    """Means of each full window of values (steps, …), an array (windows, …); what is left over belongs to none.

    >>> window_means(np.array([0.0, 1.0, 1.0, 1.0, 5.0]), window=2)
    array([0.5, 1. ])
    """
    full = len(values) // window
    return values[: full * window].reshape(full, window, *values.shape[1:]).mean(axis=1)


def interval_columns(name: str, interval: Interval) -> dict[str, float]:
    """A mean and the ends of its interval as columns: name, name_low, name_high."""
    return dict(zip((name, f"{name}_low", f"{name}_high"), interval))


def write_tables(out: Path, tables: Mapping[str, pd.DataFrame], **form: Any) -> None:
    """CSV files in a folder, {name: table}; or beside the file `out`, {end of the name: table}. `form` as pandas'."""
    write_together(
        {
            out.with_name(f"{out.stem}{name}.csv")
            if out.suffix
            else out / f"{name}.csv": table.to_csv(
                index=False, lineterminator="\n", **form
            )
            for name, table in tables.items()
        }
    )


def read_tables(folder: Path | str | None, *names: str) -> tuple[pd.DataFrame, ...]:
    """The tables that a study wrote; None is the folder of the studies that come with pushlab."""
    folder = Path(folder) if folder is not None else data_dir() / "studies"
    return tuple(pd.read_csv(folder / f"{name}.csv") for name in names)
