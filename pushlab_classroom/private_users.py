"""Users of a class, generated from its secret, and new days of these users.

A user has a week, apps, a taste and a rate of opened notifications. Each episode has its own days, arrivals and random
numbers. The result is a User of pushlab, so the worlds of the challenges play it like any other.

Each scored user belongs to one team in one game, so teams can't learn about each other's users. The open rate decides
most of the possible return. It follows from the user's number, evenly from low to high, so all teams and classes have
users of the same difficulty.

All random numbers of a class are HMAC-SHA256 values of a few words with the secret as key. Without the secret, known
values don't reveal others.

Source:
    HMAC: Krawczyk, Bellare & Canetti (1997), RFC 2104; as a generator of keys: NIST SP 800-108.
"""

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import Schema
from pushlab.envs.evalumap import EvalUMAP1, EvalUMAP2
from pushlab.envs.push.world import Push
from pushlab.metrics.push import expected_points
from pushlab.users.phone import CATALOGUE, CATALOGUE_COLUMNS, FIRST_DAY, PERIOD_DAYS
from pushlab.users.synthesis import (
    MICROSECONDS_PER_SECOND,
    draw_persona,
    shared_files,
    simulate_engagements,
)

PRACTICE_USERS = 3
MIN_OPEN_RATE = 0.1  # the range of `draw_persona`
MAX_OPEN_RATE = 0.9
# Further days of an episode of push, since it begins on the first day with arrivals.
SPARE_DAYS = 14


def new_secret(seed=None):
    """Return 32 random bytes from the operating system, or the SHA-256 of a seed.

    >>> new_secret("rehearsal") == new_secret("rehearsal"), new_secret() == new_secret()
    (True, False)
    """
    if seed is None:
        return secrets.token_bytes(32)
    return hashlib.sha256(str(seed).encode("utf-8")).digest()


def derive(secret, *words):
    """Return the number of 128 bits that the secret gives for these words.

    >>> derive(bytes(32), "life", 1, 23) == derive(bytes(32), "life", 12, 3)
    False
    """
    digest = hmac.digest(secret, json.dumps(words).encode("utf-8"), "sha256")
    return int.from_bytes(digest[:16], "big")


def shuffle(secret, count, *words):
    """Return the numbers from 0 to count - 1 in the order that the secret gives for these words.

    >>> sorted(shuffle(bytes(32), 5, "users of", "reds"))
    [0, 1, 2, 3, 4]
    """
    return sorted(range(count), key=lambda number: derive(secret, *words, number))


@dataclass(frozen=True)
class PrivateUser:
    """A user of a class.

    Attributes:
        seed: Seed of the persona.
        open_rate: Fraction of opened arrivals. None draws it from the seed.
        per_quarter: Approximate number of arrivals per quarter.
    """

    seed: int
    open_rate: float | None
    per_quarter: int

    def simulate(self, seed, days, history=0):
        """Return a User with simulated days of this user.

        Args:
            seed: Seed of the days.
            days: Number of days.
            history: Number of days at the start that belong to the history; the others are the test period. With 0,
                both periods have all days.
        """
        persona = draw_persona(self.seed, self.open_rate, self.per_quarter)
        rows, taste = simulate_engagements(persona, seed, days)
        start = np.datetime64(FIRST_DAY, "us")
        table = pd.DataFrame(rows)
        for name in ("posted", "removed"):
            table[name] = start + rows[name].astype("timedelta64[us]")
        table["action"] = np.where(rows["opened"], "opened", "dismissed")
        table["response_time"] = rows["response"] / MICROSECONDS_PER_SECOND
        schema, catalogue = schema_and_catalogue()
        periods = dict.fromkeys(("history", "test"), Period(schema, table))
        if history:
            is_past = table["posted"] < start + np.timedelta64(history, "D")
            for name, mask in (("history", is_past), ("test", ~is_past)):
                periods[name] = Period(schema, table[mask].reset_index(drop=True))
        return User("somebody", schema, periods, taste, catalogue)


@cache
def schema_and_catalogue():
    """Return the schema and the catalogue of all users of all classes."""
    schema = Schema.from_dict(json.loads(shared_files()["schema.json"]))
    return schema, pd.DataFrame(CATALOGUE, columns=CATALOGUE_COLUMNS)


def user_number(settings, team, game, scored, episode):
    """Return the number of the user in a team's episode. Each team has its own order of users."""
    role = "scored" if scored else "practice"
    count = settings["episodes"] if scored else PRACTICE_USERS
    secret = bytes.fromhex(settings["secret"])
    return shuffle(secret, count, "order", team, game, role)[episode % count]


def private_user(settings, team, game, scored, number):
    """Return the user with this number. Scored users belong to a team and game; all teams share practice users."""
    words = ("practice", number)
    count = PRACTICE_USERS
    if scored:
        words = ("scored", number, team, game)
        count = settings["episodes"]
    open_rate = MIN_OPEN_RATE + (MAX_OPEN_RATE - MIN_OPEN_RATE) * (number + 0.5) / count
    seed = derive(bytes.fromhex(settings["secret"]), "person", *words)
    return PrivateUser(seed, open_rate, settings["per_quarter"])


def challenge_user(settings):
    """Return the user of Challenge 1. The hand-out has the history of this user."""
    seed = derive(bytes.fromhex(settings["secret"]), "person", "history", 0)
    return PrivateUser(seed, None, settings["per_quarter"])


def make_world(game, user, seed, days):
    """Return the world of an episode with new days of a user. In evalumap1 the days are those of the hand-out."""
    if game == "evalumap1":
        return EvalUMAP1(user.simulate(user.seed, 2 * PERIOD_DAYS, PERIOD_DAYS))
    if game == "evalumap2":
        return EvalUMAP2(user.simulate(seed, PERIOD_DAYS))
    return Push(user.simulate(seed, days + SPARE_DAYS), days=(0, days), horizon=days)


def expected_points_and_best(world, codes):
    """Return the expected points of answers to all contexts, and of the best answers, shape (contexts,) each.

    Args:
        codes: Codes of the notifications, shape (contexts, components).
    """
    n = len(codes)
    state = {"row": np.arange(n), "user": np.zeros(n, np.int64)}
    _, outcome = world.advance(state, codes, np.zeros((n, world.uniforms)))
    return [
        expected_points(outcome["actual"], outcome[probability])
        for probability in ("probability", "best")
    ]
