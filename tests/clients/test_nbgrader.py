"""nbgrader itself makes an assignment of a notebook, hands it out, and grades what comes back."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

pytest.importorskip("nbgrader")
import nbformat

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "notebooks"), str(ROOT / "notebooks" / "checks")]
import course  # noqa: E402
import solutions  # noqa: E402

NOTEBOOK = "04_value"


def nbgrader(folder, *words):
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # nbgrader calls `alembic` by name
    done = subprocess.run(
        [sys.executable, "-P", "-m", "nbgrader", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert done.returncode == 0, done.stderr[-3000:]


def hand_in(folder, student, answers):
    """The released assignment with `answers`, {number of an exercise: code}, as the student's submission."""
    there = folder / "submitted" / student / NOTEBOOK
    shutil.copytree(folder / "release" / NOTEBOOK, there)
    path = there / f"{NOTEBOOK}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    stubs = [
        cell for cell in notebook.cells if "exercise" in cell.metadata.get("tags", ())
    ]
    for number, code in answers.items():
        stubs[number - 1].source = code
    nbformat.write(notebook, path)
    return there


def test_three_students_are_graded(tmp_path):
    original = ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"
    course.build(tmp_path, [NOTEBOOK])
    nbgrader(tmp_path, "generate_assignment", NOTEBOOK)
    released = nbformat.read(
        tmp_path / "release" / NOTEBOOK / f"{NOTEBOOK}.ipynb", as_version=4
    )
    found = solutions.exercises(nbformat.read(original, as_version=4).cells)
    assert not any(
        "<details" in cell.source and "```python" in cell.source
        for cell in released.cells
    )
    everything = {number: one.code for number, one in enumerate(found, start=1)}
    hand_in(tmp_path, "ada", everything)
    hand_in(tmp_path, "bea", {})
    tampered = hand_in(tmp_path, "cyd", {1: everything[1]})
    next((tampered / "checks").glob("nb*.py")).write_text(
        "raise SystemExit('no check')", encoding="utf-8"
    )
    nbgrader(tmp_path, "autograde", NOTEBOOK)
    nbgrader(tmp_path, "export")

    grades = pd.read_csv(tmp_path / "grades.csv").set_index("student_id")
    most, first = (
        grades.loc["ada", "max_score"],
        list(course.points_of(original).values()),
    )
    assert most == sum(first) and grades["raw_score"].to_dict() == {
        "ada": most,
        "bea": 0,
        "cyd": first[0],
    }
