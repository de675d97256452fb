"""The requirements of each exercise: one file per notebook, and the frame that they share.

The first cell of a notebook has `from checks.nb04 import check`. Then

- `check.exercise(3)` grades exercise 3 by the notebook's current names. It prints ✓, or ✗ with
  a reason and a hint, and returns the points;
- `check.points()` returns a table of the notebook's exercises and their points so far;
- `check.guess(guess, truth)` compares a guess with the result. It gives no points.

A check is a function whose arguments are names of the notebook. It requires one condition after
the other. The text that it returns is printed beside the ✓:

    check = Checks("4 · What a state is worth")

    @check(1, points=2)
    def value_of_waiting(value):
        require(isinstance(value, float), "`value` is not a number", "Add the reward and the next value")
        require(abs(value - 1.9) < 1e-6, f"The value is {value:.2f}, not 1.9", "Discount once per step", earned=1)
        return "1.9: the reward now, and the discounted value of tomorrow"
"""

from checks.frame import Checks, is_close, reject_mistakes, require, returned

__all__ = ["Checks", "is_close", "reject_mistakes", "require", "returned"]
