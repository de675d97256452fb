"""Seeds that are independent: of the episodes of a run, and of the parts of a study.

Counting up is not enough. If episode e of a run under seed s were reset with s + e, runs under the seeds 0 and 1 would
share all episodes but one, and an interval over seeds would say how little they differ instead of how sure one may be:
of intervals over the seeds 0 to 9, a hundred episodes each, one in ten would hold the truth. So the first episode is
reset with the seed itself, as `env.reset(seed=seed)` alone would do it, and each later one with a number that NumPy's
SeedSequence makes of the seed and the episode's number. (Of 53 bits, which a table's and JSON's floats still hold
exactly: among ten million of them two are alike with a chance of one in two hundred.)

A batch, `gym.make_vec(…).reset(seed=s)`, still resets its copy i with s + i, as Gymnasium defines it: one episode each.
"""

import numpy as np

from pushlab.ground.arguments import one_of

SEEDINGS = ("independent", "counted")
EPISODE = 2  # first of the spawn keys; an agent's own chance has 1 (`pushlab.agents.protocol.own_chance`)
PART = 3


def episode_seed(seed: int, episode: int, seeding: str = "independent") -> int:
    """What episode number `episode`, from 0, of a run under `seed` is reset with, an int.

    seeding  "independent"; or "counted", seed + episode, which was the rule before 0.2: to play old logs again

    Source   spawning: numpy.random.SeedSequence, after O'Neill (2015), "Developing a seed_seq alternative"

    >>> episode_seed(7, 0), episode_seed(7, 1) == episode_seed(8, 0), episode_seed(7, 1, "counted")
    (7, False, 8)
    """
    if one_of("seeding", seeding, SEEDINGS) == "counted":
        return seed + episode
    return _spawned(seed, EPISODE, episode) if episode else seed


def part_seed(seed: int, *numbers: int) -> int:
    """A seed of its own for a part of a study, named by whole numbers from 0, an int of 53 bits.

    >>> part_seed(0, 1) != part_seed(1, 0)
    True
    """
    return _spawned(seed, PART, *numbers)


def _spawned(seed, *key):
    state = np.random.SeedSequence(
        int(seed), spawn_key=tuple(int(one) for one in key)
    ).generate_state(1, np.uint64)
    return int(state[0] >> np.uint64(11))
