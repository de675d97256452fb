"""The people of a class: drawn from its secret, and met in stretches of their lives that nobody has seen.

A person keeps week, apps, taste and the intercept of the log-odds; each stretch has days, arrivals and chance of its
own. It becomes a User of the library, so that the worlds of the challenges play it as they play any other.
"""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import Schema
from pushlab.envs.evalumap import EvalUMAP1, EvalUMAP2
from pushlab.envs.push.world import Push
from pushlab.users.synthesis.arrivals import CATALOGUE, CATALOGUE_COLUMNS
from pushlab.users.synthesis.strangers import draw_persona
from pushlab.users.synthesis.user import FIRST_DAY, QUARTER, SECOND, engage, shared_texts

ROOM_FOR_DAYS = 14      # days lived beyond those of a push episode, whose first is the first on which anything arrives


@dataclass(frozen=True)
class Person:
    """Somebody of a class: the seed of persona and first stretch, the intercept found there (None: not yet), volume."""

    seed: int
    intercept: float | None
    per_quarter: int

    def stretch(self, seed: int, days: int) -> tuple[pd.DataFrame, dict[str, Any]]:
        """Some days of this life, a table as a Period has it, and the taste."""
        persona = draw_persona(self.seed, per_quarter=self.per_quarter)
        rows, taste = engage(seed, persona, days, self.intercept)
        rows["action"] = np.where(rows.pop("opened"), "opened", "dismissed")
        for name in ("posted", "removed"):
            rows[name] = np.datetime64(FIRST_DAY, "us") + rows[name].astype("timedelta64[us]")
        rows["response_time"] = rows.pop("response") / SECOND
        return pd.DataFrame(rows), taste

    def meet(self, seed: int, days: int) -> User:
        """A fresh stretch of this life as a User whose history and test are both that stretch."""
        table, taste = self.stretch(seed, days)
        period = Period(class_schema(), table)
        return User("somebody", period.schema, {"history": period, "test": period}, taste, _catalogue())

    def first_half_year(self) -> User:
        """The stretch that the person's seed gives: a quarter of history, and a quarter of test."""
        table, taste = self.stretch(self.seed, 2 * QUARTER)
        past = table["posted"] < np.datetime64(FIRST_DAY, "D") + QUARTER
        periods = {name: Period(class_schema(), table[rows].reset_index(drop=True))
                   for name, rows in (("history", past), ("test", ~past))}
        return User("somebody", class_schema(), periods, taste, _catalogue())


def first_intercept(seed: int, per_quarter: int) -> float:
    """The intercept at which a person of this seed opens as much as the persona does."""
    return Person(seed, None, per_quarter).stretch(seed, 2 * QUARTER)[1]["intercept"]


def world_of(game: str, person: Person, seed: int, days: int) -> Any:
    """The world of one episode: a fresh stretch of a person's life; for evalumap1 the one that the hand-out is from."""
    if game == "evalumap1":
        return EvalUMAP1(person.first_half_year())
    if game == "evalumap2":
        return EvalUMAP2(person.meet(seed, QUARTER))
    return Push(person.meet(seed, days + ROOM_FOR_DAYS), days=(0, days), horizon=days)


@cache
def class_schema() -> Schema:
    """The schema of every person of a class; its open features have the values of the catalogue."""
    return Schema.from_dict(json.loads(shared_texts()["schema.json"]))


@cache
def _catalogue():
    return pd.DataFrame(CATALOGUE, columns=CATALOGUE_COLUMNS)
