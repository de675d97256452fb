"""The people of a class: drawn from its secret, and met in stretches of their lives that nobody has seen.

A person keeps week, apps, taste and how much is opened; each stretch has days, arrivals and chance of its own. It
becomes a User of the library, so that the worlds of the challenges play it as they play any other.

A user with whom a team is scored is met once and by nobody else: what others learn, or the team in another game, is of
somebody else. How much somebody opens decides most of what share can be earned. So it follows from the user's number,
evenly from little to much: what teams meet is alike in difficulty, and so is what classes meet.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from pushlab.classroom.chance import derived, shuffled
from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import Schema
from pushlab.envs.evalumap import EvalUMAP1, EvalUMAP2
from pushlab.envs.push.world import Push
from pushlab.metrics.push import expected_points
from pushlab.users.phone import CATALOGUE, CATALOGUE_COLUMNS, FIRST_DAY, QUARTER
from pushlab.users.synthesis import SECOND, draw_persona, engage, shared_texts

PRACTICE = 3  # users to practise with
LEAST_OPENED, MOST_OPENED = 0.1, 0.9  # as `draw_persona` draws it
SPARE = 14  # days lived beyond those of an episode of push, whose first is the first on which anything arrives


@dataclass(frozen=True)
class Person:
    """Somebody of a class: the persona's seed, the share of arrivals that is opened (None: drawn, too), volume."""

    seed: int
    rate: float | None
    per_quarter: int

    def live(self, seed: int, days: int, history: int = 0) -> User:
        """Some days of this life as a User: the first `history` of them and the rest; 0 makes both of all of them."""
        persona = draw_persona(self.seed, self.rate, self.per_quarter)
        rows, taste = engage(persona, seed, days)
        start = np.datetime64(FIRST_DAY, "us")
        dates = {
            name: start + rows[name].astype("timedelta64[us]")
            for name in ("posted", "removed")
        }
        table = pd.DataFrame(
            {
                **rows,
                **dates,
                "action": np.where(rows["opened"], "opened", "dismissed"),
                "response_time": rows["response"] / SECOND,
            }
        )
        past = table["posted"] < start + np.timedelta64(history, "D")
        schema, catalogue = shared()
        periods = {
            name: Period(schema, table[mine].reset_index(drop=True))
            for name, mine in (("history", past | (history == 0)), ("test", ~past))
        }
        return User("somebody", schema, periods, taste, catalogue)


@cache
def shared() -> tuple[Schema, pd.DataFrame]:
    """Schema and catalogue of every person of a class; the schema's open features have the catalogue's values."""
    schema = Schema.from_dict(json.loads(shared_texts()["schema.json"]))
    return schema, pd.DataFrame(CATALOGUE, columns=CATALOGUE_COLUMNS)


def whom(
    settings: Mapping[str, Any], team: str, game: str, scored: bool, number: int
) -> int:
    """Number of the user whom an episode is lived with: each team meets them in an order of its own."""
    role, count = ("scored", settings["episodes"]) if scored else ("practice", PRACTICE)
    return shuffled(
        bytes.fromhex(settings["secret"]), count, "order", team, game, role
    )[number % count]


def person_of(
    settings: Mapping[str, Any], team: str, game: str, scored: bool, user: int
) -> Person:
    """The user of that number: a team's own in each game if it is scored; all practise with the same."""
    words, count = (
        (("scored", user, team, game), settings["episodes"])
        if scored
        else (("practice", user), PRACTICE)
    )
    return Person(
        derived(bytes.fromhex(settings["secret"]), "person", *words),
        LEAST_OPENED + (MOST_OPENED - LEAST_OPENED) * (user + 0.5) / count,
        settings["per_quarter"],
    )


def world_of(game: str, person: Person, seed: int, days: int) -> Any:
    """The world of an episode: a fresh stretch of a person's life; for evalumap1 the one that the hand-out is from."""
    if game == "evalumap1":
        return EvalUMAP1(person.live(person.seed, 2 * QUARTER, QUARTER))
    if game == "evalumap2":
        return EvalUMAP2(person.live(seed, QUARTER))
    return Push(person.live(seed, days + SPARE), days=(0, days), horizon=days)


def worth_of(world: Any, codes: np.ndarray) -> list[np.ndarray]:
    """Expected points of answers to all contexts, codes (contexts, components), and of the best ones; (contexts,)."""
    where = {"row": np.arange(len(codes)), "user": np.zeros(len(codes), np.int64)}
    _, outcome = world.advance(where, codes, np.zeros((len(codes), world.uniforms)))
    return [
        expected_points(outcome["actual"], outcome[chance])
        for chance in ("probability", "best")
    ]
