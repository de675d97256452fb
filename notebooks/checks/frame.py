"""The frame of the checks: it finds the names, says the verdict, keeps the points."""

import inspect
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any


class NotYet(Exception):
    """A demand that was not met."""

    def __init__(self, reason, hint, earned):
        super().__init__(reason)
        self.reason, self.hint, self.earned = reason, hint, earned


def demand(met: Any, reason: str, hint: str, earned: int = 0) -> None:
    """Goes on when `met` is true. If not, the answer gets `earned` points, and the reader the reason and the hint."""
    if not met:
        raise NotYet(reason, hint, earned)


def unwritten(answer: Any) -> bool:
    """Whether this is what stands in an exercise before anything was written: None, ... or "?"."""
    return answer is None or answer is ... or isinstance(answer, str) and answer == "?"


@dataclass(frozen=True)
class Exercise:
    """One exercise: its number, what it is called, the most points it gives, and the function that judges it."""

    number: int
    title: str
    points: int
    judge: Callable[..., str]


class Checks:
    """The checks of one notebook. `notebook` is its title, such as "4 · What a state is worth"."""

    def __init__(self, notebook: str) -> None:
        self.notebook, self.exercises, self.earned = (
            notebook,
            dict[int, Exercise](),
            dict[int, int](),
        )

    def __call__(self, number: int, points: int = 1) -> Callable:
        """Decorator: the function judges exercise `number`, and its name is the exercise's title."""

        def add(judge):
            if number in self.exercises:
                raise ValueError(f"exercise {number} is there twice")
            self.exercises[number] = Exercise(
                number, judge.__name__.replace("_", " "), points, judge
            )
            return judge

        return add

    def exercise(self, number: int) -> int:
        """Judges exercise `number` by the names of whoever calls; prints the verdict, returns the points.

        Raises KeyError when there is no such exercise. What goes wrong in an answer raises nothing: it is said.
        """
        if number not in self.exercises:
            raise KeyError(
                f"{self.notebook} has no exercise {number}; it has {sorted(self.exercises)}"
            )
        one = self.exercises[number]
        try:
            said = one.judge(
                **_given(one.judge, inspect.currentframe().f_back.f_globals)
            )
            points, verdict = (
                one.points,
                f"✓ Exercise {number}: {_points(one.points, one.points)}. {said}",
            )
        except NotYet as no:
            points, verdict = no.earned, _refused(one, no.earned, no.reason, no.hint)
        except Exception as error:
            points, verdict = 0, _refused(one, 0, *_accident(error))
        self.earned[number] = points
        print(verdict)
        return points

    def points(self) -> Any:
        """A row an exercise: number, title, points so far (0 where it was not judged yet), and the most there are."""
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "exercise": one.number,
                    "title": one.title,
                    "points": self.earned.get(one.number, 0),
                    "of": one.points,
                }
                for _, one in sorted(self.exercises.items())
            ]
        )

    @staticmethod
    def guess(mine: Any, truth: Any, within: float = 0.0) -> None:
        """Says how a guess compares with what came out; numbers that are `within` of the truth count as right."""
        shown = (
            f"{truth:.3g}"
            if _is_number(truth) and not isinstance(truth, Integral)
            else truth
        )
        if unwritten(mine):
            print(f"No guess was written down. It is {shown}.")
        elif not _is_number(truth):
            alike = str(mine).strip().lower() == str(truth).strip().lower()
            print(
                f"You guessed {mine}; it is {shown}: {'right' if alike else 'not so'}."
            )
        elif not _is_number(mine):
            print(
                f"You guessed {mine!r}, which is no number: write one without quotes. It is {shown}."
            )
        else:
            off = float(mine) - float(truth)
            how = (
                "close enough"
                if abs(off) <= within
                else "too high"
                if off > 0
                else "too low"
            )
            print(f"You guessed {float(mine):g}; it is {shown}: {how}.")


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)


def _points(earned, most):
    return f"{earned} of {most} point{'' if most == 1 else 's'}"


def _refused(one, earned, reason, hint):
    return f"✗ Exercise {one.number}: {_points(earned, one.points)}. {_sentence(reason)}\n  Hint: {_sentence(hint)}"


def _sentence(words):
    words = words.strip()
    return words if words.endswith((".", "?", "!", ":")) else words + "."


def _given(judge, names):
    """The arguments of `judge`, taken from the notebook's names. Raises NotYet where one is missing or not written."""
    given = {}
    for name in inspect.signature(judge).parameters:
        demand(
            name in names,
            f"There is no `{name}` yet",
            "Run the cells above, from the top of the notebook.",
        )
        given[name] = names[name]
        demand(
            not unwritten(given[name]),
            f"`{name}` is still empty",
            f"Write your answer where it says `{name} =`.",
        )
    return given


def _accident(error):
    """Reason and hint for an answer that raised."""
    own = [
        step
        for step in traceback.extract_tb(error.__traceback__)
        if "ipykernel" in step.filename or step.filename.startswith("<")
    ]
    at = f", in `{own[-1].line}`" if own and own[-1].line else ""
    reason = f"Your answer stopped with {type(error).__name__}: {error}{at}"
    hint = (
        "Call it in a cell of its own with one simple input, and print what it returns."
    )
    return reason, hint
