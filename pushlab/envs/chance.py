"""Uniform numbers for worlds: blocks for a batch, and streams for steps that need varying counts."""

import numpy as np

from pushlab.ground.compiled import compiled

BLOCK = 256  # calls drawn at once: a call of a Generator costs as much as some hundred numbers


class Chance:
    """Draws for copies: each call takes `uniforms` numbers for every copy from the copy's own generator.

    A copy's numbers depend only on its generator and on how many calls it has had. A copy in a batch therefore has the
    same episode as one alone.
    """

    def __init__(self, generators: list, uniforms: int) -> None:
        self.generators = generators
        self.numbers = np.empty((BLOCK, len(generators), uniforms))
        self.at = BLOCK  # row of the block that comes next

    def seed(self, row: int, generator: np.random.Generator) -> None:
        """Give copy `row` a new generator; numbers drawn from the old one are dropped."""
        if generator is not self.generators[row]:
            self.generators[row] = generator
            self._draw(row, self.at)

    def take(self) -> np.ndarray:
        """Return the next draws of all copies, (n, uniforms); the array is overwritten later."""
        if self.at == BLOCK:
            for row in range(len(self.generators)):
                self._draw(row, 0)
            self.at = 0
        self.at += 1
        return self.numbers[self.at - 1]

    def take_some(self, rows: np.ndarray) -> np.ndarray:
        """Return the next draws of some copies only, (len(rows), uniforms)."""
        if len(rows) == len(self.generators):
            return self.take()
        draws = self.take()[rows]
        self.at -= 1
        for row in rows:  # what the other copies have not had yet stays level
            self.numbers[self.at : -1, row] = self.numbers[self.at + 1 :, row]
            self._draw(row, BLOCK - 1)
        return draws

    def _draw(self, row, start):
        block = self.numbers[start:, row]
        block[:] = self.generators[row].random(block.shape)


@compiled
def number(key, at):
    """Return number `at` of the stream with the given key, uniform on [0, 1); key is one of the shell's draws.

    A room needs a different count of numbers at each step, and a phone one for each notification. Counting them from a
    stream, instead of drawing all that might be needed, makes a step depend on key and time only. Place and key are
    mixed as hash functions do it, by shifting and multiplying 32-bit words. No product exceeds 63 bits, so plain Python
    returns the same numbers.
    """
    bits = int(key * 9007199254740992.0)  # 2**53: all that such a number holds
    word = (at * 0x9E3779B1 + (bits & 0x7FFFFFF)) & 0xFFFFFFFF
    word = ((word ^ (word >> 16)) * 0x45D9F3B + (bits >> 27)) & 0xFFFFFFFF
    word = ((word ^ (word >> 15)) * 0x45D9F3B) & 0xFFFFFFFF
    word = ((word ^ (word >> 16)) * 0x2C1B3C6D) & 0xFFFFFFFF
    return (word ^ (word >> 15)) * 2.0**-32
