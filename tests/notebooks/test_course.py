"""The course folder: what nbgrader finds in it. nbgrader itself is tried in tests/clients/test_nbgrader.py."""

import sys
from pathlib import Path

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


@pytest.mark.parametrize(("name", "words"), [("99", "0 notebooks"), ("0", "exactly one")])
def test_a_name_that_fits_no_notebook_or_several(name, words, tmp_path):
    with pytest.raises(FileNotFoundError, match=words):
        course.build(tmp_path, [name])
    assert not list(tmp_path.iterdir())
