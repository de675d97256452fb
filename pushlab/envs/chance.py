"""Uniform numbers for a batch, every copy's from its own generator."""

import numpy as np

BLOCK = 256     # calls drawn at once: a call of a Generator costs as much as some hundred numbers


class Chance:
    """Draws for n copies: each call takes `uniforms` numbers for every copy from that copy's own stream.

    A copy's numbers depend on its generator and on how many calls it has had, and not on the other copies; this is
    why a copy in a batch lives the same life as one alone.
    """

    def __init__(self, n, uniforms):
        self.uniforms = uniforms
        self.generators = [None] * n
        self.numbers = np.empty((BLOCK, n, uniforms))
        self.at = np.full(n, BLOCK)     # how many calls each copy has had of its block
        self.level = BLOCK              # the same, while it is the same for all; None when it is not
        self._rows = np.arange(n)

    def seed(self, row, generator):
        """Gives copy `row` a new generator; what was drawn from the old one is dropped."""
        if generator is not self.generators[row]:
            self.generators[row] = generator
            self.at[row] = BLOCK
            self.level = BLOCK if (self.at == BLOCK).all() else None

    def take(self, rows=None):
        """The next draws (copies, uniforms) of the given copies, of all by default; to be read only."""
        if not self.uniforms:
            return np.empty((len(self.generators if rows is None else rows), 0))
        if rows is None and self.level is not None:
            if self.level == BLOCK:
                self._refill(self._rows)
            level, self.level = self.level, self.level + 1
            if self.level == BLOCK:
                self.at[:] = BLOCK
            return self.numbers[level]
        return self._take_apart(self._rows if rows is None else rows)

    def _take_apart(self, rows):
        """Draws of copies that have had different numbers of calls."""
        if self.level is not None:
            self.at[:] = self.level
            self.level = None
        self._refill(rows[self.at[rows] == BLOCK])
        draws = self.numbers[self.at[rows], rows]
        self.at[rows] += 1
        return draws

    def _refill(self, rows):
        for row in rows:
            self.numbers[:, row] = self.generators[row].random((BLOCK, self.uniforms))
        self.at[rows] = 0
        if len(rows) == len(self.at):
            self.level = 0
