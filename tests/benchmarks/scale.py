"""Measure the throughput of sweeps on this machine and on a dask scheduler, and the overhead per cell.

`make benchmarks ARGS=scale` writes data/scale/scale.csv, in about six minutes on an idle machine. Each row is one
measurement: what, processes, cells, seconds, cells per second. Empty cells show the cost of the sweep itself, cells
that compute for 50 ms show the remaining overhead beside work. The cells of the cold start are those of
studies/cold_start.py.
"""

import sys
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from pushlab.experiments.cells import Cell, run_cells
from pushlab.experiments.command import cluster
from pushlab.utils.files import data_dir

sys.path.append(str(Path(__file__).parents[2] / "studies"))  # for workers too
from cold_start import run_one

WORK = 0.05  # CPU seconds of a computing cell
COUNT = 1000
USERS = ("mira", "theo")
AGENTS = ("random", "most opened", "eps-greedy", "LinUCB", "Thompson")
SEEDS = 20  # per user and agent of the cold start: 200 cells


def compute(number, seconds):
    """Compute for so many CPU seconds and return one row."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return [{"value": number / 7}]


def make_cells(count, seconds=0.0):
    """Return `count` cells that compute for so many CPU seconds each."""
    return [
        Cell({"number": number}, compute, (number, seconds)) for number in range(count)
    ]


def measure(label, processes, cells, run, *arguments, **options):
    """Time `run(*arguments, **options)` and return its row."""
    start = time.perf_counter()
    run(*arguments, **options)
    elapsed = time.perf_counter() - start
    return {
        "what": label,
        "processes": processes,
        "cells": cells,
        "seconds": elapsed,
        "cells_per_second": cells / elapsed,
    }


def measure_sweep(label, processes, cells, folder):
    """Time a sweep of cells on this machine."""
    options = {"workers": processes, "progress": False}
    return measure(label, processes, len(cells), run_cells, cells, folder, **options)


def measure_cores(folder, count=COUNT, cores=(1, 2)):
    """Measure empty cells, 50 ms cells and the cold start on one and two cores, and finished cells read again."""
    rows = []
    empty = make_cells(count)
    busy = make_cells(count, WORK)
    learners = []
    for key in product(USERS, AGENTS, range(SEEDS)):
        names = dict(zip(("user", "agent", "seed"), key))
        learners.append(Cell(names, run_one, key))
    for number in cores:
        # Start the processes before measuring.
        measure_sweep("", number, make_cells(4 * number), folder / f"first {number}")
        rows.append(measure_sweep("no work", number, empty, folder / f"empty {number}"))
        rows.append(measure_sweep("50 ms", number, busy, folder / f"busy {number}"))
        rows[-1]["over_own_work"] = rows[-1]["seconds"] * number / (WORK * count) - 1
        # Compile the loops before measuring.
        measure_sweep("", number, learners[::SEEDS], False)
        cold_folder = folder / f"cold {number}"
        rows.append(measure_sweep("cold start", number, learners, cold_folder))
    rows.append(measure_sweep("found again", 1, empty, folder / "empty 1"))
    files = (folder / "empty 1" / "cells").iterdir()
    sizes = [file.stat().st_size for file in files]
    rows[-1]["files_per_cell"] = len(sizes) / count
    rows[-1]["bytes_per_cell"] = sum(sizes) / count
    return rows


def measure_dask(folder, seconds, processes=2, alone=20_000):
    """Measure empty cells on a real scheduler, as many as it handles in `seconds`, and its messages without cells."""
    from joblib import Parallel, delayed

    def compute_nothing(count):
        Parallel(n_jobs=-1)(delayed(compute)(number, 0.0) for number in range(count))

    with cluster("local"):
        compute_nothing(500)
        rows = [measure("scheduler alone", processes, alone, compute_nothing, alone)]
        run_cells(make_cells(500), folder / "dask 0", progress=False)
        count = 2_000
        while len(rows) == 1 or rows[-1]["seconds"] < seconds / 2:
            row = measure(
                "no work, dask",
                processes,
                count,
                run_cells,
                make_cells(count),
                folder / f"dask {count}",
                progress=False,
            )
            rows.append(row)
            count = int(row["cells_per_second"] * seconds)
    return rows


def main(seconds=60.0):
    """Measure this machine, with the dask scheduler busy for so many seconds."""
    with TemporaryDirectory() as folder:
        rows = measure_cores(Path(folder)) + measure_dask(Path(folder), seconds)
    table = pd.DataFrame(rows)
    table.to_csv(data_dir() / "scale" / "scale.csv", index=False, float_format="%.5g")
    print(table.to_string(index=False, float_format="%.4g", na_rep=""))
