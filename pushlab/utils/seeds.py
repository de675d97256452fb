"""Independent seeds for the episodes of a run and the parts of a study.

Consecutive seeds aren't independent enough. If episode e of a run with seed s were reset with s + e, runs with seeds 0
and 1 would share all episodes but one, and intervals over seeds would be far too narrow. With seeds 0 to 9 and a
hundred episodes each, one interval in ten would contain the true value. So the first episode is reset with the seed
itself, as in `env.reset(seed=seed)`. Later episodes are reset with a number that NumPy's SeedSequence derives from the
seed and the episode's number. It has 53 bits, so floats in tables and JSON hold it exactly. Among ten million such
seeds, two are equal with a probability of one in two hundred.

A batch, `gym.make_vec(…).reset(seed=s)`, resets copy i with s + i, as Gymnasium defines it: one episode each.

The draws here are the same on every machine and with every NumPy release. NumPy guarantees the stream of uniforms of
PCG64, but not the results of `normal`, `choice` or `poisson`. So a table of weights or quantiles turns uniforms into
values.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

# First spawn key of each kind of seed. `pushlab.agents.protocol.agent_rng` uses 1.
EPISODE = 2
PART = 3


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed that resets an episode (numbered from 0) of a run with this seed.

    Source:
        Spawning as in numpy.random.SeedSequence, after O'Neill (2015), "Developing a seed_seq alternative".

    >>> episode_seed(7, 0), episode_seed(7, 1) == episode_seed(8, 0)
    (7, False)
    """
    return _spawn_seed(seed, EPISODE, episode) if episode else seed


def part_seed(seed: int, *numbers: int) -> int:
    """Return a seed of 53 bits for a part of a study. One or more numbers, 0 or more, identify the part.

    >>> part_seed(0, 1) != part_seed(1, 0)
    True
    """
    return _spawn_seed(seed, PART, *numbers)


def _spawn_seed(seed, *key):
    spawn_key = tuple(int(number) for number in key)
    sequence = np.random.SeedSequence(int(seed), spawn_key=spawn_key)
    return int(sequence.generate_state(1, np.uint64)[0] >> np.uint64(11))


# ---------------------------------------------------------------- draws

# Each purpose has its own stream. So a change in the draws of arrivals doesn't change the days or the actions.
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


def draw_uniforms(seed: int, stream: str, shape: int | tuple[int, ...]) -> np.ndarray:
    """Draw uniform numbers in [0, 1), float64 of this shape, from a stream (one of STREAMS) of a seed.

    >>> draw_uniforms(1, "days", 2).round(3)
    array([0.332, 0.612])
    """
    bits = np.random.PCG64((seed, STREAMS.index(stream)))
    return np.random.Generator(bits).random(shape)


def index_from_uniform(weights: Sequence[int], u: Any) -> np.ndarray:
    """Return an index for each uniform in `u`, with probabilities proportional to the weights (integers).

    >>> index_from_uniform((3, 1), [0.0, 0.74, 0.75])
    array([0, 0, 1])
    """
    ends = np.cumsum(weights)
    return np.searchsorted(ends, np.asarray(u) * ends[-1], side="right")


def choice_from_uniform(options: Mapping[str, int], u: Any) -> Any:
    """Return a value for each uniform in `u`, as an object array, drawn from {value: weight}.

    >>> choice_from_uniform({"low": 3, "high": 1}, [0.1, 0.9]).tolist()
    ['low', 'high']
    """
    return np.array(list(options), dtype=object)[
        index_from_uniform(list(options.values()), u)
    ]


def quantile(levels: Sequence[float], values: Sequence[float], u: Any) -> np.ndarray:
    """Return the quantile for each uniform in `u`, interpolated linearly between the given levels.

    `numpy.interp` isn't used, since its last digit can differ between machines.

    >>> quantile((0, 0.5, 1), (0, 10, 100), [0.25, 0.75])
    array([ 5., 55.])
    """
    x = np.asarray(levels, dtype=float)
    y = np.asarray(values, dtype=float)
    u = np.asarray(u, dtype=float)
    left = np.searchsorted(x, u, side="right") - 1
    fraction = (u - x[left]) / (x[left + 1] - x[left])
    return y[left] + (y[left + 1] - y[left]) * fraction
