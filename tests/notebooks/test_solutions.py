"""Every exercise can be solved, and not by a wrong answer: its check says ✓, or ✗ with a reason and a hint.

One run a notebook, as far as its last check; the same run is held against the numbers that the solution's text quotes.
"""

import functools
from pathlib import Path

import nbformat
import prose
import pytest
import solutions

FEWEST, TEMPTING = 4, 3     # exercises a notebook, wrong answers an exercise
NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))


@functools.cache
def solved(path):
    """The notebook as it is saved, and its exercises as they ran with their solutions."""
    notebook = nbformat.read(path, as_version=4)
    return notebook, solutions.run(notebook, path.parent, solutions.wrong_answers(path))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_check_tells_a_solution_from_the_exercise_as_it_stands_and_from_wrong_answers(path):
    _, ran = solved(path)
    assert len(ran) >= FEWEST, f"{len(ran)} exercises"
    for number, exercise in enumerate(ran, start=1):
        said = solutions.text_of(exercise.cells[1:])
        assert solutions.PASSED in said and solutions.REFUSED not in said, f"exercise {number}, solved:\n{said}"
        assert len(exercise.wrong) > TEMPTING, f"exercise {number}: {len(exercise.wrong) - 1} wrong answers"
        assert f"✗ Exercise {number}: 0 of" in exercise.wrong["as it stands"], "nothing written, nothing earned"
        for what, said in exercise.wrong.items():
            refused = f"✓ Exercise {number}" not in said and f"✗ Exercise {number}" in said
            assert refused, f"exercise {number}, {what}:\n{said}"
            assert "Hint: " in said, f"exercise {number}, {what}: no hint\n{said}"
        stopped = [what for what, said in exercise.wrong.items() if "stopped with" in said and "stops" not in what]
        assert not stopped, f"exercise {number}: {stopped} ended in an error; a wrong answer is one that runs"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_each_check_is_graded(path):
    notebook, _ = solved(path)
    for number, exercise in enumerate(solutions.exercises(notebook.cells), start=1):
        verdict = notebook.cells[exercise.checks[0]].source
        assert verdict == f"check.exercise({number})", "the verdict comes first, and alone: what follows may stop"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_text_quotes_what_the_solutions_print(path):
    notebook, ran = solved(path)
    lines = {one.position: prose.output_lines(one.cells) for one in ran}
    complaints = prose.complaints(notebook, path.stem, lines)
    assert not complaints, "\n".join(["", *complaints])
