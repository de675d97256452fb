"""The course folder: what nbgrader finds in it. nbgrader itself is tried in tests/clients/test_nbgrader.py."""

import sys
from pathlib import Path

import minutes
import nbformat
import pytest
import solutions

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
sys.path.insert(0, str(NOTEBOOKS / "checks"))
import course  # noqa: E402

STEMS = [path.stem for path in sorted(NOTEBOOKS.glob("[0-9]*.ipynb"))]


@pytest.mark.parametrize("stem", STEMS)
def test_an_assignment_has_points_stubs_and_no_solutions(stem, tmp_path):
    [path] = course.build(tmp_path, [stem])
    notebook, original = nbformat.read(path, as_version=4), nbformat.read(NOTEBOOKS / path.name, as_version=4)
    marks = [cell.metadata.nbgrader for cell in notebook.cells if "nbgrader" in cell.metadata]
    assert [mark.points for mark in marks if mark.grade] == list(course.points_of(NOTEBOOKS / path.name).values())
    stubs = [cell.source for cell in notebook.cells if cell.metadata.get("nbgrader", {}).get("solution")]
    found = solutions.exercises(original.cells)
    assert stubs == [original.cells[one.position].source for one in found]
    text = "\n".join(cell.source for cell in notebook.cells)
    assert not any(one.code.strip() in text for one in found)
    assert (path.parent / "checks" / "frame.py").is_file() and (tmp_path / "nbgrader_config.py").is_file()
    with pytest.raises(FileExistsError, match="remove its folder"):
        course.build(tmp_path, [stem])


def test_an_exercise_without_tags_is_not_dropped_in_silence():
    notebook = nbformat.read(NOTEBOOKS / f"{STEMS[0]}.ipynb", as_version=4)
    points = course.points_of(NOTEBOOKS / f"{STEMS[0]}.ipynb")
    for cell in notebook.cells:
        if cell.source == f"check.exercise({max(points)})" or "exercise" in cell.metadata.get("tags", ()):
            last = cell
    last.metadata["tags"] = []
    with pytest.raises(ValueError, match="but points for"):
        course.assignment(notebook, points)


@pytest.mark.parametrize("stem", STEMS)
def test_points_under_the_headings_are_those_of_the_checks(stem):
    notebook = nbformat.read(NOTEBOOKS / f"{stem}.ipynb", as_version=4)
    assert [points for points, _ in minutes.length(notebook).exercises] == list(
        course.points_of(NOTEBOOKS / f"{stem}.ipynb").values())


@pytest.mark.parametrize(("name", "words"), [("99", "0 notebooks"), ("0", "exactly one")])
def test_a_name_that_fits_no_notebook_or_several(name, words, tmp_path):
    with pytest.raises(FileNotFoundError, match=words):
        course.build(tmp_path, [name])
    assert not list(tmp_path.iterdir())
