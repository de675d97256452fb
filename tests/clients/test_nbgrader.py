"""nbgrader generates an assignment from a notebook and grades the submissions."""

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


def nbgrader(folder, *arguments):
    # nbgrader calls `alembic` by name.
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        [sys.executable, "-P", "-m", "nbgrader", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "PATH": path},
    )
    assert result.returncode == 0, result.stderr[-3000:]


def submit(folder, student, answers):
    """Submit the released assignment for a student, with answers {number of an exercise: code}."""
    submission = folder / "submitted" / student / NOTEBOOK
    shutil.copytree(folder / "release" / NOTEBOOK, submission)
    path = submission / f"{NOTEBOOK}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    exercises = []
    for cell in notebook.cells:
        if "exercise" in cell.metadata.get("tags", ()):
            exercises.append(cell)
    for number, code in answers.items():
        exercises[number - 1].source = code
    nbformat.write(notebook, path)
    return submission


def test_three_students_are_graded(tmp_path):
    original = ROOT / "notebooks" / f"{NOTEBOOK}.ipynb"
    course.build(tmp_path, [NOTEBOOK])
    nbgrader(tmp_path, "generate_assignment", NOTEBOOK)
    path = tmp_path / "release" / NOTEBOOK / f"{NOTEBOOK}.ipynb"
    for cell in nbformat.read(path, as_version=4).cells:
        assert "<details" not in cell.source or "```python" not in cell.source
    exercises = solutions.exercises(nbformat.read(original, as_version=4).cells)
    answers = {number: item.code for number, item in enumerate(exercises, start=1)}
    submit(tmp_path, "ada", answers)
    submit(tmp_path, "bea", {})
    tampered = submit(tmp_path, "cyd", {1: answers[1]})
    check = next((tampered / "checks").glob("nb*.py"))
    check.write_text("raise SystemExit('no check')", encoding="utf-8")
    nbgrader(tmp_path, "autograde", NOTEBOOK)
    nbgrader(tmp_path, "export")

    grades = pd.read_csv(tmp_path / "grades.csv").set_index("student_id")
    points = list(course.max_points(original).values())
    assert grades.loc["ada", "max_score"] == sum(points)
    scores = grades["raw_score"].to_dict()
    assert scores == {"ada": sum(points), "bea": 0, "cyd": points[0]}
