"""What each exercise asks for, and how an answer is judged: a file a notebook, and this frame for all of them.

A notebook's first cell has `from checks.nb04 import check`. Then

- `check.exercise(3)` judges exercise 3 by the names that the notebook has now. It prints ✓, or ✗ with the reason and a
  hint, and returns the points;
- `check.points()` is the table of all exercises of the notebook, with the points so far;
- `check.guess(mine, truth)` holds a guess against what came out. No points.

A check is a function whose arguments are names of the notebook. It demands one thing after the other, and what it
returns is said beside the ✓:

    check = Checks("4 · What a state is worth")

    @check(1, points=2)
    def value_of_waiting(value):
        demand(isinstance(value, float), "`value` is no number", "add the reward and what follows")
        demand(abs(value - 1.9) < 1e-6, f"{value:.2f} is not what waiting is worth", "discount once a step", earned=1)
        return "1.9: the reward of now, and what is left of tomorrow's"
"""

from checks.frame import Checks, demand

__all__ = ["Checks", "demand"]
