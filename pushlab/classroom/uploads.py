"""Challenge 1 of a class: a CSV file that answers the contexts of the hand-out, scored in two halves.

The secret draws which half a context belongs to. The public half is told at once, in three decimals: uploads that
differ in some contexts tell something of these, but few uploads and few digits tell little. The private half is told
when the class is closed.
"""

import hashlib
import io
import json
import time
import zlib
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from pushlab.challenges.answers import read_notifications
from pushlab.classroom.book import transaction
from pushlab.classroom.chance import derived, shuffled
from pushlab.classroom.lives import Person, world_of
from pushlab.classroom.refusal import Refusal, Team
from pushlab.datasets.tables import read_rows
from pushlab.ground.faults import refuse
from pushlab.metrics.estimate import mean_interval
from pushlab.metrics.push import expected_points

MOST = 20               # uploads a team
FILE = "the answers"    # what faults call an upload
DIGITS = 3


class Answers:
    """The uploads of a class."""

    def __init__(self, link: Any, settings: Mapping[str, Any]):
        self._link, self._settings = link, settings

    @cached_property
    def world(self) -> Any:
        """The world of evalumap1 whose contexts are answered."""
        seed = derived(bytes.fromhex(self._settings["secret"]), "person", "history", 0)
        return world_of("evalumap1", Person(seed, None, self._settings["per_quarter"]), 0, 0)

    @cached_property
    def public(self) -> np.ndarray:
        """Whether each context is of the public half, bool (contexts,)."""
        count, secret = len(self.world), bytes.fromhex(self._settings["secret"])
        return np.isin(np.arange(count), shuffled(secret, count, "halves")[:count // 2])

    def left(self, team: int) -> int:
        """How many uploads a team has left."""
        return MOST - self._link.execute("SELECT count(*) FROM uploads WHERE team = ?", (team,)).fetchone()[0]

    def upload(self, team: Team, data: bytes, lock: Any) -> dict[str, Any]:
        """Scores and keeps an upload; see `Room.upload`."""
        digest = hashlib.sha256(data).hexdigest()
        def told(share, left):
            return {**dict(zip(("public", "low", "high"), share)), "left": left, "notes": notes}

        with lock:
            last = self._link.execute("SELECT sha256, public FROM uploads WHERE team = ? ORDER BY number DESC LIMIT 1",
                                      (team.id,)).fetchone()
            left = self.left(team.id)
        same = last and last["sha256"] == digest
        if not same and not left:
            raise Refusal(409, "your team has no uploads left", f"{MOST} are there; the last one counts", left=0)
        expected, best, notes = self.score(data)
        if same:
            return told(json.loads(last["public"]), left)
        halves = {"public": self.public, "private": ~self.public}
        shares = {half: share_of(expected[rows], best[rows]) for half, rows in halves.items()}
        points = [*zip(np.where(self.public, "public", "private").tolist(), expected.tolist(), best.tolist())]
        with lock, transaction(self._link):
            self._link.execute("INSERT INTO uploads (team, number, at, sha256, file, points, public, private) "
                               "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                               (team.id, MOST - left, time.time(), digest, zlib.compress(data),
                                zlib.compress(json.dumps(points).encode()), *map(json.dumps, shares.values())))
        return told(shares["public"], left - 1)

    def score(self, data: bytes) -> tuple[np.ndarray, np.ndarray, list[str]]:
        """Expected points of the answers of a CSV file, and of the best ones, float64 (contexts,), and notes on values
        that the history does not know; BadData if wrong."""
        count, world = len(self.world), self.world
        header, rows, lines, faults = read_rows(io.BytesIO(data), FILE, count)
        refuse(faults)
        table = pd.DataFrame(rows, columns=header, dtype=object)
        codes, _, notes = read_notifications(table, world.schema, count, FILE, lines)
        where = {"row": np.arange(count), "user": np.zeros(count, np.int64)}
        _, outcome = world.advance(where, codes, np.zeros((count, world.uniforms)))
        actual = outcome["actual"]
        return expected_points(actual, outcome["probability"]), expected_points(actual, outcome["best"]), notes


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
    share, expected, best = np.sum(expected) / np.sum(best), np.asarray(expected), np.asarray(best)
    return share + (expected - share * best) / best.mean()
