"""The days of push-v0: of all its users one after the other, as the arrays that the rules work on."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np

from pushlab.datasets.periods import User
from pushlab.envs.push import rules
from pushlab.ground.arguments import in_short
from pushlab.users.days import DAY, ResponseTimes, days_of, slot_number
from pushlab.users.judges import cutoff

SPANS = {"train": (0.0, 2 / 3), "test": (2 / 3, 1.0)}  # shares of the days


class AllDays(NamedTuple):
    """Days, moments and arrivals are counted over all users; `rules` names the columns.

    plan           int32 (moments, 4) what arrives, slot of the day, number of the day, hour
    times          float64 (moments,) minutes since the first midnight of the user
    contexts       int32 (moments, context components) codes
    arrivals       int32 (arrivals, 2) its moment, and where its chances begin
    notifications  int32 (arrivals, notification components) codes
    chance         float64 (chances,) of being opened, for each arrival at its moment and those until it expires
    minutes, cells   response times and where those of a user, action and slot begin, (users, 2, 5, 2)
    dates          datetime64[D] (days,)
    first          int64 (days + 1,) the moment each day begins with; the last is the number of moments
    owner          int64 (days,) the place of the user whose it is
    """

    plan: np.ndarray
    times: np.ndarray
    contexts: np.ndarray
    arrivals: np.ndarray
    notifications: np.ndarray
    chance: np.ndarray
    minutes: np.ndarray
    cells: np.ndarray
    dates: np.ndarray
    first: np.ndarray
    owner: np.ndarray


def lay_out(
    users: Sequence[User], source: str, judges: Sequence, opening: str, max_age: float
) -> AllDays:
    """The days of all users, with the probability of opening each notification at each moment it may be shown."""
    parts: list[AllDays] = []
    for number, (user, judge) in enumerate(zip(users, judges)):
        mine = days_of(user, source)
        moments, arrivals, chances, minutes, before = (
            sum(len(getattr(part, name)) for part in parts)
            for name in ("times", "arrivals", "chance", "minutes", "dates")
        )
        came, begin, chance = _chances(mine, user, judge, opening, max_age)
        answers, its_day = (
            ResponseTimes.fit(user.history),
            np.repeat(np.arange(len(mine)), np.diff(mine.first)),
        )
        plan = [
            np.where(mine.arrival >= 0, mine.arrival + arrivals, rules.NOBODY),
            slot_number(mine.times),
            its_day + before,
            mine.times % DAY // 60,
        ]
        parts.append(
            AllDays(
                plan=np.stack(plan, axis=1).astype(np.int32),
                times=mine.times,
                contexts=mine.contexts.astype(np.int32),
                arrivals=np.stack([came + moments, begin + chances], axis=1).astype(
                    np.int32
                ),
                notifications=mine.notifications.astype(np.int32),
                chance=chance,
                minutes=answers.minutes,
                cells=answers.cells[None] + np.array([minutes, 0]),
                dates=mine.dates,
                first=mine.first[:-1] + moments,
                owner=np.full(len(mine), number),
            )
        )
    whole = AllDays(*map(np.concatenate, zip(*parts)))
    return whole._replace(first=np.append(whole.first, len(whole.times)))


def _chances(days, user, judge, opening, max_age):
    """For each arrival its moment, and where its chances of being opened begin; and all these chances."""
    came = np.flatnonzero(days.arrival >= 0)
    until = np.searchsorted(days.times, days.times[came] + max_age + 1e-6, side="right")
    count = until - came
    begin = np.concatenate([[0], np.cumsum(count)[:-1]])
    one = np.repeat(np.arange(len(came)), count)
    moment = came[one] + np.arange(len(one)) - begin[one]
    chance = np.empty(len(one))
    judge.chances(days.contexts)(
        moment, np.ascontiguousarray(days.notifications[one]), chance
    )
    threshold = cutoff(judge, user.history, opening)
    return (
        came,
        begin,
        chance if np.isnan(threshold) else (chance >= threshold).astype(float),
    )


def span(days: Any, count: int) -> tuple[int, int]:
    """First day and the one after the last, of `count` days, for the argument `days` of the world."""
    if days is None:
        return 0, count
    if isinstance(days, str) and days in SPANS:
        low, high = SPANS[days]
        return round(low * count), round(high * count)
    if (
        isinstance(days, (tuple, list))
        and len(days) == 2
        and all(isinstance(day, Integral) for day in days)
        and 0 <= days[0] < days[1] <= count
    ):
        return int(days[0]), int(days[1])
    raise ValueError(
        f"days is None, {', '.join(map(repr, SPANS))} or a pair of day numbers (first, after the last) "
        f"from 0 to {count}; got {in_short(days)}"
    )
