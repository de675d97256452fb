"""What becomes of bad inputs in two checkouts, each input in a process of its own: the tables of data/robustness.

A test file with such cases ends with `run(__file__, …)`: `python tests/test_bad_….py BEFORE AFTER` writes its table.
"""

import csv
import json
import os
import subprocess
import sys
import tempfile
from multiprocessing import get_context
from pathlib import Path

TABLES = Path(__file__).resolve().parents[1] / "data" / "robustness"


def run(file, cases, outcome, seconds=lambda case: 10):
    """Writes the table of a test file, or, asked by itself with --all, prints what becomes of each case here.

    outcome   of a case and an empty folder, in a few words
    seconds   that a case may take
    """
    if sys.argv[1:] == ["--all"]:
        print(json.dumps(all_of_them(cases, outcome, seconds)))
        return
    told = []
    for checkout in sys.argv[1:3]:
        done = subprocess.run([sys.executable, file, "--all"], stdout=subprocess.PIPE, text=True, check=True,
                              env={**os.environ, "PYTHONPATH": checkout, "PYTHONWARNINGS": "ignore", "L2DATA": ""})
        told.append(json.loads(done.stdout.splitlines()[-1]))
    rows = [(*case, *both) for case, *both in zip(cases, *told, strict=True)]
    table = TABLES / (Path(file).stem.removeprefix("test_bad_") + ".csv")
    with open(table, "w", newline="", encoding="utf-8") as text:
        csv.writer(text, lineterminator="\n").writerows([("class", "input", "before", "after"), *rows])


def all_of_them(cases, outcome, seconds):
    """What becomes of each case with the pushlab that is on the path."""
    told, fork = [], get_context("fork")
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            mine, theirs = fork.Pipe(False)
            process = fork.Process(target=alone, args=(outcome, case, Path(folder), theirs))
            process.start()
            theirs.close()
            word = "hung"
            if mine.poll(seconds(case)):
                try:
                    word = mine.recv()
                except EOFError:
                    word = "killed"
            process.kill()
            process.join()
        told.append(word)
        print(*case, word, sep=" | ", file=sys.stderr, flush=True)
    return told


def alone(outcome, case, folder, pipe):
    import resource  # which Windows has not

    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    told = outcome(case, folder)
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    pipe.send(told + (f", {most:.1f} GB" if most > 1.5 else ""))


def in_words(error):
    """What a user is told: a sentence, or an error of Python's."""
    pythons = type(error) is ValueError and "Exceeds the limit" in str(error)
    ours = isinstance(error, ValueError | OSError) or type(error).__name__ == "CellsFailed"
    return "refused" if ours and not pythons and not isinstance(error, UnicodeError) else (
        f"traceback {type(error).__name__}")
