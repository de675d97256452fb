"""Independent seeds for the episodes of a run and the parts of a study.

Counting up isn't enough. If episode e of a run under seed s were reset with s + e, runs under the seeds 0 and 1 would
share all episodes but one, and intervals over seeds would be far too narrow: with the seeds 0 to 9 and a hundred
episodes each, one in ten would contain the true value. So the first episode is reset with the seed itself, as
by `env.reset(seed=seed)`, and each later one with a number that NumPy's SeedSequence makes of the seed and the
episode's number. It has 53 bits, which the floats of tables and JSON hold exactly: among ten million of them two are
equal with a probability of one in two hundred.

A batch, `gym.make_vec(…).reset(seed=s)`, resets its copy i with s + i, as Gymnasium defines it: one episode each.
"""

import numpy as np

EPISODE = 2  # first of the spawn keys; an agent's own chance has 1 (`pushlab.agents.protocol.own_chance`)
PART = 3


def episode_seed(seed: int, episode: int) -> int:
    """Return the seed of the reset of episode number `episode`, from 0, of a run under `seed`.

    Source: spawning as in numpy.random.SeedSequence, after O'Neill (2015), "Developing a seed_seq alternative".

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
