"""The frame of the checks: it looks up the answers, prints the verdict, and keeps the points."""

import inspect
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np


class Rejected(Exception):
    """A requirement that an answer does not meet."""

    def __init__(self, reason, hint, earned):
        super().__init__(reason)
        self.reason = reason
        self.hint = hint
        self.earned = earned


def require(condition: Any, reason: str, hint: str, earned: int = 0) -> None:
    """Reject the answer unless `condition` is true.

    Args:
        condition: The requirement.
        reason: The mistake, for the student.
        hint: The next thing to think about.
        earned: Points of an answer that fails here.

    Raises:
        Rejected: If `condition` is false.
    """
    if not condition:
        raise Rejected(reason, hint, earned)


def returned(answer: Any) -> Any:
    """Return the result of a student's function; reject None."""
    require(
        answer is not None,
        "Your function returns nothing",
        "End every branch of it with `return` and the result",
    )
    return answer


def is_close(answer: Any, expected: Any, tolerance: float = 1e-6) -> bool:
    """Return whether numbers agree; False if their shapes differ.

    Args:
        answer: A number or an array of numbers.
        expected: The numbers to compare with.
        tolerance: Largest difference.
    """
    answer = np.asarray(answer, float)
    return answer.shape == np.shape(expected) and np.allclose(
        answer, expected, rtol=0, atol=tolerance
    )


def reject_mistakes(
    answer: Any,
    mistakes: Iterable[tuple[Any, str, str]],
    earned: int = 0,
    tolerance: float = 1e-6,
) -> None:
    """Reject an answer that equals the result of a known mistake.

    Args:
        answer: A number or an array of numbers.
        mistakes: Rows of (result of the mistake, reason, hint).
        earned: Points of an answer that fails here.
        tolerance: Largest difference of equal numbers.

    Raises:
        Rejected: If the answer is one of the results.
    """
    for result, reason, hint in mistakes:
        require(not is_close(answer, result, tolerance), reason, hint, earned)


def is_placeholder(answer: Any) -> bool:
    """Return whether an answer is still a placeholder: None, ... or "?"."""
    return answer is None or answer is ... or isinstance(answer, str) and answer == "?"


@dataclass(frozen=True)
class Exercise:
    """An exercise of a notebook.

    Attributes:
        number: Its number in the notebook.
        title: Its title.
        points: Points of a right answer.
        grade: Function of the answers; it returns a comment or raises Rejected.
    """

    number: int
    title: str
    points: int
    grade: Callable[..., str]


class Checks:
    """The checks of one notebook.

    Args:
        notebook: Its title, such as "4 · What a state is worth".
    """

    def __init__(self, notebook: str) -> None:
        self.notebook = notebook
        self.exercises = dict[int, Exercise]()
        self.earned = dict[int, int]()

    def __call__(self, number: int, points: int = 1) -> Callable:
        """Register the decorated function as the check of exercise `number`.

        The function's name is the exercise's title.
        """

        def add(grade):
            if number in self.exercises:
                raise ValueError(f"exercise {number} has two checks")
            title = grade.__name__.replace("_", " ")
            self.exercises[number] = Exercise(number, title, points, grade)
            return grade

        return add

    def exercise(self, number: int) -> int:
        """Grade exercise `number` by the caller's global names; print the verdict, return the points.

        An error in an answer is printed, not raised.

        Raises:
            KeyError: If there is no such exercise.
        """
        if number not in self.exercises:
            raise KeyError(
                f"{self.notebook} has no exercise {number}; it has {sorted(self.exercises)}"
            )
        exercise = self.exercises[number]
        names = inspect.currentframe().f_back.f_globals
        try:
            comment = exercise.grade(**_answers(exercise.grade, names))
        except Rejected as rejection:
            points = rejection.earned
            verdict = _rejection(exercise, points, rejection.reason, rejection.hint)
        except Exception as error:
            points = 0
            verdict = _rejection(exercise, points, *_describe(error))
        else:
            points = exercise.points
            verdict = f"✓ Exercise {number}: {_points(points, points)}. {comment}"
        self.earned[number] = points
        print(verdict)
        return points

    def points(self) -> Any:
        """Return a table with a row per exercise: number, title, points so far, and most points.

        An exercise that was not graded yet has 0 points.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "exercise": number,
                    "title": exercise.title,
                    "points": self.earned.get(number, 0),
                    "max_points": exercise.points,
                }
                for number, exercise in sorted(self.exercises.items())
            ]
        )

    @staticmethod
    def guess(guess: Any, truth: Any, within: float = 0.0) -> None:
        """Print how a guess compares with the result.

        Args:
            guess: The guess, or a placeholder.
            truth: The result.
            within: Largest difference of numbers that counts as right.
        """
        result = truth
        if _is_number(truth) and not isinstance(truth, Integral):
            result = f"{truth:.3g}"
        if is_placeholder(guess):
            print(f"No guess was written down. The answer is {result}.")
        elif not _is_number(truth):
            is_right = str(guess).strip().lower() == str(truth).strip().lower()
            word = "right" if is_right else "wrong"
            print(f"You guessed {guess}; the answer is {result}: {word}.")
        elif not _is_number(guess):
            print(
                f"You guessed {guess!r}, which is not a number; write it without quotes. The answer is {result}."
            )
        else:
            difference = float(guess) - float(truth)
            if abs(difference) <= within:
                word = "close enough"
            else:
                word = "too high" if difference > 0 else "too low"
            print(f"You guessed {float(guess):g}; the answer is {result}: {word}.")


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _points(earned, maximum):
    return f"{earned} of {maximum} point{'' if maximum == 1 else 's'}"


def _rejection(exercise, earned, reason, hint):
    """Return the verdict on a wrong answer."""
    points = _points(earned, exercise.points)
    return f"✗ Exercise {exercise.number}: {points}. {_sentence(reason)}\n  Hint: {_sentence(hint)}"


def _sentence(text):
    text = text.strip()
    return text if text.endswith((".", "?", "!", ":")) else text + "."


def _answers(grade, names):
    """Return the arguments of `grade` from the notebook's names.

    Raises Rejected if one is missing or still a placeholder.
    """
    answers = {}
    for name in inspect.signature(grade).parameters:
        require(
            name in names,
            f"There is no `{name}` yet",
            "Run the cells above, from the top of the notebook.",
        )
        answers[name] = names[name]
        require(
            not is_placeholder(answers[name]),
            f"`{name}` is still empty",
            f"Write your answer in the line `{name} =`.",
        )
    return answers


def _describe(error):
    """Return reason and hint for an answer that raised an error."""
    cells = [
        step
        for step in traceback.extract_tb(error.__traceback__)
        if "ipykernel" in step.filename or step.filename.startswith("<")
    ]
    line = f", in `{cells[-1].line}`" if cells and cells[-1].line else ""
    reason = f"Your answer raised {type(error).__name__}: {error}{line}"
    hint = "Call it in a separate cell with one simple input, and print the result."
    return reason, hint
