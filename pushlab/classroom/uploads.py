"""Challenge 1 of a class: a CSV file that answers the contexts of the hand-out, scored in two halves.

The secret draws which half a context belongs to. The public half is told at once, in three decimals: uploads that
differ in some contexts tell something of these, but few uploads and few digits tell little. The private half is told
when the class is closed.
"""

import hashlib
import json
import time
import zlib
from collections.abc import Mapping
from contextlib import closing
from functools import cached_property
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

from pushlab.challenges.answers import read_notifications
from pushlab.classroom.book import connect, transaction
from pushlab.classroom.chance import derived, shuffled
from pushlab.classroom.lives import Person, world_of, worth_of
from pushlab.classroom.network import read_csv
from pushlab.classroom.refusal import CLOSED, Refusal, Team
from pushlab.metrics.estimate import mean_interval

MOST = 20  # uploads a team
FILE = "the answers"  # what faults call an upload
DIGITS = 3


class Answers:
    """The uploads of the class in `folder`; settings, its table `class`."""

    def __init__(self, folder: Path, settings: Mapping[str, Any]):
        self._folder, self._settings = folder, settings

    @cached_property
    def _asked(self):
        """The world whose contexts are answered, and whether each context is of the public half, bool (contexts,)."""
        secret = bytes.fromhex(self._settings["secret"])
        person = Person(
            derived(secret, "person", "history", 0), None, self._settings["per_quarter"]
        )
        world = world_of("evalumap1", person, 0, 0)
        order = shuffled(secret, len(world), "halves")
        return world, np.isin(np.arange(len(world)), order[: len(world) // 2])

    def upload(self, team: Team, data: bytes) -> dict[str, Any]:
        """Scores and keeps an upload, by any thread; see `Room.upload`."""
        world, public = self._asked
        table = read_csv(data, FILE, len(world))
        codes, _, notes = read_notifications(table, world.schema, len(world), FILE)
        expected, best = worth_of(world, codes)
        shares = [share_of(expected[half], best[half]) for half in (public, ~public)]
        points = [
            *zip(
                np.where(public, "public", "private").tolist(),
                expected.tolist(),
                best.tolist(),
            )
        ]
        digest, file, worth = (
            hashlib.sha256(data).hexdigest(),
            *map(zlib.compress, (data, json.dumps(points).encode())),
        )
        with closing(connect(self._folder, write=True)) as link, transaction(link):
            there = link.execute(
                "SELECT sha256 FROM uploads WHERE team = ? ORDER BY number", (team.id,)
            ).fetchall()
            new = digest not in map(itemgetter("sha256"), there[-1:])
            if new and link.execute("SELECT closed FROM class").fetchone()["closed"]:
                raise Refusal(*CLOSED)
            if new and len(there) == MOST:
                raise Refusal(
                    409,
                    "your team has no uploads left",
                    f"{MOST} are there; the last one counts",
                    left=0,
                )
            if new:
                link.execute(
                    "INSERT INTO uploads VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (
                        team.id,
                        len(there),
                        time.time(),
                        digest,
                        file,
                        worth,
                        *shares[0],
                        *shares[1],
                    ),
                )
        left = MOST - len(there) - new
        return {
            **dict(zip(("public", "low", "high"), shares[0])),
            "left": left,
            "notes": notes,
        }


def share_of(expected: np.ndarray, best: np.ndarray) -> list[float]:
    """The share of what the catalogue's best earns, and the ends of its 95 % interval, in three decimals.

    Over contexts drawn anew both sums would change together, so the interval is that of their ratio (delta method).

    >>> import numpy as np
    >>> share_of(np.array([0.5, 1.5, 1.0]), np.array([1.0, 3.0, 2.0]))      # half of it everywhere
    [0.5, 0.5, 0.5]
    """
    return [round(value, DIGITS) for value in mean_interval(shares_of(expected, best))]


def shares_of(expected: np.ndarray, best: np.ndarray) -> np.ndarray:
    """Values a context, float64 (contexts,), whose mean is the ratio of the sums and which spread as that ratio does.

    Source  Cochran (1977), Sampling techniques, 3rd ed., section 6.3: the residuals of a ratio, over the mean

    >>> import numpy as np
    >>> shares_of(np.array([0.0, 2.0]), np.array([1.0, 1.0])), shares_of(np.array([1.0, 3.0]), np.array([1.0, 3.0]))
    (array([0., 2.]), array([1., 1.]))
    """
    share, expected, best = (
        np.sum(expected) / np.sum(best),
        np.asarray(expected),
        np.asarray(best),
    )
    return share + (expected - share * best) / best.mean()
