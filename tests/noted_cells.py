"""Cells that note in a file each time that they are called: appending a letter is one write.

tests/test_sweep.py counts these calls. A module of their own, as every process that does a cell imports it.
"""

import os
import time
from pathlib import Path

import numpy as np

from pushlab.studies.cell import Cell


def draw(number, calls, breaks=(), nap=0.0):
    """Two rows of numbers that are hard to write down."""
    note(calls, number)
    time.sleep(nap)
    while number >= 10 and Path(calls).with_name("hold").exists():      # for who ends the process in the middle
        time.sleep(0.01)
    if number in breaks:
        raise ValueError(f"{number} is not to be had")
    rng = np.random.default_rng(number)
    return {"rows": [{"value": rng.random() * 10.0 ** rng.integers(-300, 300), "word": "a,\n\"b\""},
                     {"value": np.nan, "word": "NA"}]}


def draw_in_parts(number, calls, done=()):
    for part in range(len(done), 4):
        if part == 2 and Path(calls).with_name("broken").exists():
            raise KeyboardInterrupt
        note(calls, part)
        yield {"rows": [{"part": part, "half": part / 2 if part else np.nan, "list": [part]}]}


def leave(number, calls):
    note(calls, number)
    if number == 3:
        os._exit(1)                                         # as the system does with who takes all memory
    return [{"value": number}]


def stop(number, calls):
    if number == 2 and Path(calls).with_name("broken").exists():
        raise KeyboardInterrupt
    return [{"value": number}]


def grow():
    """More than the 100,000 bytes that are given to it."""
    return [{"value": number} for number in range(30_000)]


def note(calls, what):
    with open(calls, "a") as file:
        file.write(f"{what} ")


def called(calls):
    return sorted(map(int, Path(calls).read_text().split())) if Path(calls).exists() else []


def cells_of(calls, count=6, **more):
    return [Cell({"number": number}, draw, (number, str(calls), *more.values())) for number in range(count)]
