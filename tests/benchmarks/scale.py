"""How far a sweep goes: cells a second here and through a dask scheduler, and what a cell costs beside its work.

`make benchmarks ARGS=scale` writes data/scale/scale.csv, about six minutes on an idle machine. Each row is a
measurement: what, how many processes, how many cells, seconds, cells a second. Cells of no work show what the sweep
itself costs; cells that compute for 50 ms show what is left of that beside work; the cells of the cold start are those
of studies/cold_start.py.
"""

import sys
import time
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from pushlab.experiments.cells import Cell, run_cells
from pushlab.experiments.command import cluster
from pushlab.ground.files import data_dir

sys.path.append(str(Path(__file__).parents[2] / "studies"))  # for workers too
from cold_start import run_one

WORK = 0.05  # CPU seconds of a cell that computes
COUNT = 1000
USERS, AGENTS = (
    ("mira", "theo"),
    ("random", "most opened", "eps-greedy", "LinUCB", "Thompson"),
)
SEEDS = 20  # of each user and agent of the cold start: 200 cells


def compute(number, seconds):
    """A cell that computes for so many CPU seconds, and has one row."""
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return [{"value": number / 7}]


def cells_of(count, seconds=0.0):
    """So many cells that each compute for so long."""
    return [
        Cell({"number": number}, compute, (number, seconds)) for number in range(count)
    ]


def measure(what, processes, cells, run, *arguments, **named):
    """A row: `run(…)` was timed."""
    begun = time.perf_counter()
    run(*arguments, **named)
    took = time.perf_counter() - begun
    return {
        "what": what,
        "processes": processes,
        "cells": cells,
        "seconds": took,
        "cells_per_second": cells / took,
    }


def on_cores(folder, count=COUNT, cores=(1, 2)):
    """Cells of no work, cells of 50 ms and the cold start on one and two cores; finished cells found again."""
    rows, empty, busy = [], cells_of(count), cells_of(count, WORK)
    learners = [
        Cell({"user": user, "agent": agent, "seed": seed}, run_one, (user, agent, seed))
        for user, agent, seed in product(USERS, AGENTS, range(SEEDS))
    ]
    for number in cores:
        how = {"workers": number, "progress": False}
        run_cells(
            cells_of(4 * number), folder / f"first {number}", **how
        )  # processes are there
        rows.append(
            measure(
                "no work",
                number,
                count,
                run_cells,
                empty,
                folder / f"empty {number}",
                **how,
            )
        )
        rows.append(
            measure(
                "50 ms",
                number,
                count,
                run_cells,
                busy,
                folder / f"busy {number}",
                **how,
            )
        )
        rows[-1]["over_own_work"] = rows[-1]["seconds"] * number / (WORK * count) - 1
        run_cells(learners[::SEEDS], False, **how)  # loops are compiled
        rows.append(
            measure(
                "cold start",
                number,
                len(learners),
                run_cells,
                learners,
                folder / f"cold {number}",
                **how,
            )
        )
    rows.append(
        measure(
            "found again",
            1,
            count,
            run_cells,
            empty,
            folder / "empty 1",
            1,
            progress=False,
        )
    )
    sizes = [file.stat().st_size for file in (folder / "empty 1" / "cells").iterdir()]
    rows[-1] |= {
        "files_per_cell": len(sizes) / count,
        "bytes_per_cell": sum(sizes) / count,
    }
    return rows


def on_dask(folder, seconds, processes=2, alone=20_000):
    """As many cells of no work as go through a real scheduler in so many seconds; and its messages without cells."""
    from joblib import Parallel, delayed

    def nothing(count):
        Parallel(n_jobs=-1)(delayed(compute)(number, 0.0) for number in range(count))

    with cluster("local"):
        nothing(500)
        rows = [measure("scheduler alone", processes, alone, nothing, alone)]
        run_cells(cells_of(500), folder / "dask 0", progress=False)
        count = 2_000
        while (
            rows[-1]["what"] == "scheduler alone" or rows[-1]["seconds"] < seconds / 2
        ):
            rows.append(
                measure(
                    "no work, dask",
                    processes,
                    count,
                    run_cells,
                    cells_of(count),
                    folder / f"dask {count}",
                    progress=False,
                )
            )
            count = int(rows[-1]["cells_per_second"] * seconds)
    return rows


def main(seconds=60.0):
    """Measures this machine; the dask scheduler is kept busy for so many seconds."""
    with TemporaryDirectory() as folder:
        table = pd.DataFrame([*on_cores(Path(folder)), *on_dask(Path(folder), seconds)])
    table.to_csv(data_dir() / "scale" / "scale.csv", index=False, float_format="%.5g")
    print(table.to_string(index=False, float_format="%.4g", na_rep=""))
