"""Every exercise can be solved: with its solution in its place the notebook runs, and the check says so.

One run a notebook, as far as its last check; the same run is held against the numbers that the solution's text quotes.
"""

import functools
from pathlib import Path

import nbformat
import prose
import pytest
import solutions

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


@functools.cache
def solved(path):
    """The notebook as it is saved, and its exercises as they ran with their solutions."""
    notebook = nbformat.read(path, as_version=4)
    return notebook, solutions.run(notebook, path.parent)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_check_tells_a_solution_from_the_exercise_as_it_stands(path):
    notebook, ran = solved(path)
    assert ran, "no exercise has a solution"
    for exercise, with_solution in zip(solutions.exercises(notebook.cells), ran, strict=True):
        as_it_stands = solutions.text_of(notebook.cells[at] for at in exercise.checks)
        when_solved = solutions.text_of(with_solution.cells[1:])
        assert solutions.PASSED in when_solved, f"cell {exercise.position}, solved:\n{when_solved}"
        assert solutions.PASSED not in as_it_stands, f"cell {exercise.position}, as it stands:\n{as_it_stands}"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_text_quotes_what_the_solutions_print(path):
    notebook, ran = solved(path)
    lines = {one.position: prose.output_lines(one.cells) for one in ran}
    complaints = prose.complaints(notebook, path.stem, lines)
    assert not complaints, "\n".join(["", *complaints])
