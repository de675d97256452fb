"""Independent seeds for the episodes of a run and the parts of a study.

Counting up isn't enough. If episode e of a run under seed s were reset with s + e, runs under the seeds 0 and 1 would
share all episodes but one, and intervals over seeds would be far too narrow: with the seeds 0 to 9 and a hundred
episodes each, one in ten would contain the true value. So the first episode is reset with the seed itself, as
by `env.reset(seed=seed)`, and each later one with a number that NumPy's SeedSequence makes of the seed and the
episode's number. It has 53 bits, which the floats of tables and JSON hold exactly: among ten million of them two are
equal with a probability of one in two hundred.

A batch, `gym.make_vec(…).reset(seed=s)`, resets its copy i with s + i, as Gymnasium defines it: one episode each.

The draws here are the same on every machine and with every NumPy release. NumPy guarantees the stream of uniforms of
PCG64, but not the results of `normal`, `choice` or `poisson`. So a table of weights or quantiles turns a uniform into a
value.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

EPISODE = 2  # first of the spawn keys; an agent's own chance has 1 (`pushlab.agents.protocol.own_chance`)
PART = 3


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed of the reset of episode number `episode`, from 0, of a run under `seed`.

    Source:
        Spawning as in numpy.random.SeedSequence, after O'Neill (2015), "Developing a seed_seq alternative".

    >>> episode_seed(7, 0), episode_seed(7, 1) == episode_seed(8, 0)
    (7, False)
    """
    return _spawned(seed, EPISODE, episode) if episode else seed


def part_seed(seed: int, *numbers: int) -> int:
    """Return a seed of 53 bits for a part of a study, named by whole numbers from 0.

    >>> part_seed(0, 1) != part_seed(1, 0)
    True
    """
    return _spawned(seed, PART, *numbers)


def _spawned(seed, *key):
    numbers = tuple(int(number) for number in key)
    sequence = np.random.SeedSequence(int(seed), spawn_key=numbers)
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(11))


# ---------------------------------------------------------------- draws

# One stream for each purpose: a change in how arrivals are drawn leaves the days and the actions unchanged.
STREAMS = (
    "persona",
    "days",
    "stops",
    "quarters",
    "arrivals",
    "notifications",
    "bursts",
    "actions",
    "responses",
    "contacts",
)


def uniforms(seed: int, stream: str, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draw uniform numbers in [0, 1), float64 of this shape, from a seed and a stream (one of STREAMS).

    >>> uniforms(1, "days", 2).round(3)
    array([0.332, 0.612])
    """
    bits = np.random.PCG64((seed, STREAMS.index(stream)))
    return np.random.Generator(bits).random(shape)


def pick(weights: Sequence[int], u: Any) -> np.ndarray:
    """Return an index for each uniform in `u`, drawn in proportion to the weights (whole numbers).

    >>> pick((3, 1), [0.0, 0.74, 0.75])
    array([0, 0, 1])
    """
    ends = np.cumsum(weights)
    return np.searchsorted(ends, np.asarray(u) * ends[-1], side="right")


def pick_value(options: Mapping[str, int], u: Any) -> Any:
    """Return a value of `options`, {value: weight}, for each uniform, as an object array.

    >>> pick_value({"low": 3, "high": 1}, [0.1, 0.9]).tolist()
    ['low', 'high']
    """
    return np.array(list(options), dtype=object)[pick(list(options.values()), u)]


def quantile(levels: Sequence[float], values: Sequence[float], u: Any) -> np.ndarray:
    """Return the quantile for each uniform, by linear interpolation in a table of a distribution.

    It doesn't use `numpy.interp`, whose last digit can differ between machines.

    >>> quantile((0, 0.5, 1), (0, 10, 100), [0.25, 0.75])
    array([ 5., 55.])
    """
    x, y, at = (np.asarray(array, dtype=float) for array in (levels, values, u))
    left = np.searchsorted(x, at, side="right") - 1
    share = (at - x[left]) / (x[left + 1] - x[left])
    return y[left] + (y[left + 1] - y[left]) * share
