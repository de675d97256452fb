"""Uniform random numbers for worlds: blocks for batches, and streams for steps that need varying counts."""

import numpy as np

from pushlab.utils.compiled import compiled

BLOCK = 256  # rows drawn together: a call of a Generator costs as much as hundreds of numbers
COPIES = 32  # copies drawn together, so that their numbers stay in the processor's cache until they are in the block


class UniformSource:
    """Uniform numbers for n copies: a row of `uniforms` per copy and call, from the copy's own generator.

    A copy's numbers depend only on its generator and on its number of calls. Therefore a copy has the same episode
    alone and in a batch.
    """

    def __init__(self, generators: list, uniforms: int) -> None:
        self.generators = generators
        self.block = np.empty((BLOCK, len(generators), uniforms))
        self.position = BLOCK  # next row of the block

    def seed(self, row: int, generator: np.random.Generator) -> None:
        """Set the generator of copy `row`; unused numbers of its previous one are dropped."""
        if generator is not self.generators[row]:
            self.generators[row] = generator
            self._fill(row, self.position)

    def take(self) -> np.ndarray:
        """Return the next numbers of all copies, (n, uniforms), a view that later calls overwrite."""
        if self.position == BLOCK:
            for first in range(0, len(self.generators), COPIES):
                rows = self.block[:, first : first + COPIES].swapaxes(0, 1)
                numbers = np.empty(rows.shape)
                for row, generator in enumerate(
                    self.generators[first : first + COPIES]
                ):
                    generator.random(out=numbers[row])
                rows[:] = numbers
            self.position = 0
        draws = self.block[self.position]
        self.position += 1
        return draws

    def put_back(self) -> None:
        """Make the next `take` return the same numbers again."""
        self.position -= 1

    def take_some(self, rows: np.ndarray) -> np.ndarray:
        """Return the next numbers of the given copies, (len(rows), uniforms)."""
        if len(rows) == len(self.generators):
            return self.take()
        draws = self.take()[rows]
        self.put_back()
        # The other copies keep their place in the block, so the numbers of these move up one row.
        for row in rows:
            self.block[self.position : -1, row] = self.block[self.position + 1 :, row]
            self._fill(row, BLOCK - 1)
        return draws

    def _fill(self, row, start):
        numbers = self.block[start:, row]
        numbers[:] = self.generators[row].random(numbers.shape)


@compiled
def uniform_at(key, index):
    """Return number `index` of a stream, uniform on [0, 1); the key is a uniform number, too.

    A room needs a different count of numbers at each step, and a phone for each notification. Streams avoid drawing
    the largest possible count, and make a step depend on key and time only. Key and index are mixed as in hash
    functions, by shifts and products of 32-bit words. No product exceeds 63 bits, so plain Python gives the same
    numbers.
    """
    bits = int(key * 9007199254740992.0)  # 2**53, the precision of a uniform float64
    word = (index * 0x9E3779B1 + (bits & 0x7FFFFFF)) & 0xFFFFFFFF
    word = ((word ^ (word >> 16)) * 0x45D9F3B + (bits >> 27)) & 0xFFFFFFFF
    word = ((word ^ (word >> 15)) * 0x45D9F3B) & 0xFFFFFFFF
    word = ((word ^ (word >> 16)) * 0x2C1B3C6D) & 0xFFFFFFFF
    return (word ^ (word >> 15)) * 2.0**-32
