"""Uniform numbers for a batch, every copy's from its own generator."""

import numpy as np

BLOCK = 256  # calls drawn at once: a call of a Generator costs as much as some hundred numbers


class Chance:
    """Draws for n copies: each call takes `uniforms` numbers for every copy from that copy's own stream.

    A copy's numbers depend on its generator and on how many calls it has had, and not on the other copies; this is
    why a copy in a batch lives the same life as one alone.
    """

    def __init__(self, n: int, uniforms: int) -> None:
        self.uniforms = uniforms
        self.generators: list = [None] * n
        self.numbers = np.empty((BLOCK, n, uniforms))
        self.level = BLOCK  # how many calls all copies have had of their block; None where they differ
        self.at = np.full(
            n, BLOCK
        )  # the same for each copy; not kept up while there is a level
        self._rows = np.arange(n)
        self._none = np.empty((n, 0))

    def seed(self, row: int, generator: np.random.Generator) -> None:
        """Gives copy `row` a new generator; what was drawn from the old one is dropped."""
        if generator is not self.generators[row]:
            self._leave_level()
            self.generators[row] = generator
            self.at[row] = BLOCK
            self._find_level()

    def take(self, rows: np.ndarray | None = None) -> np.ndarray:
        """The next draws (copies, uniforms) of the given copies, of all by default; to be read only."""
        if not self.uniforms:
            return self._none if rows is None else self._none[rows]
        if rows is not None or self.level is None:
            return self._take_apart(self._rows if rows is None else rows)
        if self.level == BLOCK:
            self._refill(self._rows)
            self.level = 0
        self.level += 1
        return self.numbers[self.level - 1]

    def _take_apart(self, rows):
        """Draws of some copies, or of copies that have had different numbers of calls."""
        self._leave_level()
        empty = rows[self.at[rows] == BLOCK]
        self._refill(empty)
        self.at[empty] = 0
        draws = self.numbers[self.at[rows], rows]
        self.at[rows] += 1
        self._find_level()
        return draws

    def _refill(self, rows):
        for row in rows:
            self.numbers[:, row] = self.generators[row].random((BLOCK, self.uniforms))

    def _leave_level(self):
        if self.level is not None:
            self.at[:] = self.level

    def _find_level(self):
        first = self.at[0]
        self.level = int(first) if (self.at == first).all() else None
