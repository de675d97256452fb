"""The frame of the checks, and the course folder for nbgrader."""

import re

import course
import nbformat
import numpy as np
import pytest
import refresh
import solutions
from checks import Checks, require, returned

check = Checks("99 · Half")


@check(1, points=2)
def a_half(half):
    require(callable(half), "`half` is not a function", "Begin with def half(x):")
    require(returned(half(4)) == 2, f"half(4) is {half(4)}", "Divide by two")
    require(half(5) == 2.5, "half(5) is rounded", "Use / and not //", earned=1)
    return "It halves."


@pytest.mark.parametrize(
    ("names", "points", "words"),
    [
        ({"half": lambda x: x / 2}, 2, "✓ Exercise 1: 2 of 2 points. It halves."),
        (
            {"half": lambda x: x // 2},
            1,
            "✗ Exercise 1: 1 of 2 points. half(5) is rounded.\n  Hint: Use / and not //.",
        ),
        (
            {"half": lambda x: x.half},
            0,
            "AttributeError: 'int' object has no attribute",
        ),
        (
            {"half": lambda x: None},
            0,
            "Your function returns nothing.\n  Hint: End every",
        ),
        ({"half": None}, 0, "`half` is still empty"),
        ({}, 0, "There is no `half` yet"),
    ],
)
def test_verdict_reason_hint_and_points(capsys, names, points, words):
    assert eval("check.exercise(1)", {"check": check, **names}) == points
    assert words in capsys.readouterr().out
    [row] = check.points().to_dict("records")
    assert row == {"exercise": 1, "title": "a half", "points": points, "max_points": 2}


@pytest.mark.parametrize(
    ("guess", "truth", "within", "words"),
    [
        ("?", 0.5, 0, "No guess was written down. The answer is 0.5."),
        (0.4, 0.5, 0.2, "close enough"),
        (0.4, np.float32(0.5), 0.05, "too low"),
        (9, 3, 1, "You guessed 9; the answer is 3: too high."),
        ("Evening", "evening", 0, "right"),
        ("mira", "noor", 0, "wrong"),
        ("about 5", 7, 0, "which is not a number"),
    ],
)
def test_a_guess_is_compared_with_the_truth(capsys, guess, truth, within, words):
    check.guess(guess, truth, within)
    assert words in capsys.readouterr().out


def test_assignments_for_nbgrader_have_points_and_stubs_but_no_solutions(tmp_path):
    paths = refresh.find_notebooks()
    assignments = course.build(tmp_path, [path.stem for path in paths])
    assert (tmp_path / "nbgrader_config.py").is_file()
    for path, assignment in zip(paths, assignments, strict=True):
        original = nbformat.read(path, as_version=4).cells
        exercises = solutions.exercises(original)
        cells = nbformat.read(assignment, as_version=4).cells
        marks = [
            cell.metadata.nbgrader for cell in cells if "nbgrader" in cell.metadata
        ]
        graded = [mark.points for mark in marks if mark.grade]
        assert graded == list(course.max_points(path).values()), path.stem
        stubs = [
            cell.source
            for cell in cells
            if cell.metadata.get("nbgrader", {}).get("solution")
        ]
        expected = [original[exercise.position].source for exercise in exercises]
        assert stubs == expected, path.stem
        text = "\n".join(cell.source for cell in cells)
        for exercise in exercises:
            assert exercise.code.strip() not in text, path.stem
        assert (assignment.parent / "checks" / "frame.py").is_file()
        for file in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
            assert (assignment.parent / file).is_file(), (path.stem, file)
    with pytest.raises(FileExistsError, match="remove its folder"):
        course.build(tmp_path, ["04"])
    with pytest.raises(FileNotFoundError, match="exactly one"):
        course.build(tmp_path, ["0"])
