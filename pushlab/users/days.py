"""A user's days in real time: when what arrived, the context at any moment, and how long the user takes to answer.

Days come out of the dated tables of a history, whoever the user is, or, for the users that come with pushlab, out of
the generator that wrote those tables; it also lives the quarter after the history, of which the tables keep no dates.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pushlab.datasets.features import Features
from pushlab.datasets.periods import Period, User
from pushlab.ground.arguments import one_of
from pushlab.users.phone import (
    DAY,
    FIRST_DAY,
    MINUTE,
    PEOPLE,
    QUARTER,
    SLOT_STARTS,
    SLOTS,
    arrivals,
    live,
    slot_number,
)

SOURCES = ("records", "generator")
NOTHING = -1  # in place of an arrival: only the context changes


@dataclass(frozen=True)
class Days:
    """The days of one user as moments, in the order of time.

    A moment is an arrival, or a change of the context without one; each day begins with a moment at midnight.

    dates          datetime64[D] (days,)
    first          int64 (days + 1,) the moment each day begins with; the last is the number of moments
    times          float64 (moments,) minutes since the first midnight, never falling
    contexts       int64 (moments, context components) codes
    arrival        int64 (moments,) the row of `notifications` that arrives, or -1
    notifications  int64 (arrivals, notification components) codes
    """

    dates: np.ndarray
    first: np.ndarray
    times: np.ndarray
    contexts: np.ndarray
    arrival: np.ndarray
    notifications: np.ndarray

    def __len__(self) -> int:
        return len(self.dates)


def days_of(user: User, source: str = "records") -> Days:
    """The Days of a User.

    source  "records": its history. A context is known when something was posted or removed; in between the last one
            known goes on, but for the day and the time of day, which follow the clock.
            "generator": the days of a user that comes with pushlab as they were lived, at any minute, history and
            test; arrivals of the history are those of the records

    Raises ValueError for a history without dates, or for the generator of somebody whom it did not make.
    """
    return (
        recorded_days(user, user.history)
        if one_of("source", source, SOURCES) == "records"
        else lived_days(user)
    )


# ---------------------------------------------------------------- days out of records


def recorded_days(user: User, period: Period) -> Days:
    """The Days of a Period whose notifications carry dates; see `days_of`.

    Raises ValueError for a period without dates, such as the test tables of the EvalUMAP 2019 layout: without them
    nobody knows which notifications came on the same day, or how long any of them might have waited.
    """
    table = period.table
    if "posted" not in table:
        name = next(
            (name for name, one in user.periods.items() if one is period), "given"
        )
        raise ValueError(
            f"the {name} period of user {user.name} has no column `posted`: without dates nothing can be "
            "put off. In the EvalUMAP 2019 layout only the train tables carry dates; take the history"
        )
    posted, removed = (
        table[name].to_numpy("datetime64[us]") for name in ("posted", "removed")
    )
    start = posted.min().astype("datetime64[D]")
    days = int((posted.max().astype("datetime64[D]") - start).astype(int)) + 1
    since = [
        (times - start).astype("timedelta64[us]").astype(np.int64) / 60e6
        for times in (posted, removed)
    ]
    clock, postings = (
        clock_codes(user.schema.context, table, since[0]),
        period.context_codes,
    )
    told = {
        name: f"removal.{name}" for name in user.schema.context.names
    }  # what it does not tell stays as it was
    removals = user.schema.context.encode(
        {name: table[at if at in table else name] for name, at in told.items()}
    )
    removals = stamp(removals, since[1], clock)
    ticks = 60.0 * np.add.outer(24 * np.arange(days), SLOT_STARTS).ravel()
    rows = len(table)
    # What happens, as (time, kind, row): at one and the same time the clock comes first, then removals, then arrivals.
    times = np.concatenate([ticks, since[1], since[0]])
    kind = np.repeat([0, 1, 2], [len(ticks), rows, rows])
    row = np.concatenate(
        [np.zeros(len(ticks), np.int64), np.arange(rows), np.arange(rows)]
    )
    order = np.lexsort((row, kind, times))
    order = order[times[order] < days * DAY]
    times, kind, row = times[order], kind[order], row[order]
    # The context of each event is its own, that of a mere tick of the clock the last one known, before any the first.
    known = np.flatnonzero(kind > 0)
    last = known[
        np.maximum(np.searchsorted(known, np.arange(len(kind)), side="right") - 1, 0)
    ]
    contexts = np.where(
        (kind[last] == 1)[:, None], removals[row[last]], postings[row[last]]
    )
    contexts[kind == 0] = stamp(contexts[kind == 0], times[kind == 0], clock)
    midnight = (kind == 0) & (times % DAY == 0)
    kept = midnight | (kind == 2) | _changes(contexts)
    came = row[kind == 2]  # rows of the table in the order of their arrival
    arrival = np.full(len(times), NOTHING)
    arrival[kind == 2] = np.arange(rows)
    return Days(
        start + np.arange(days),
        np.append(np.flatnonzero(midnight[kept]), kept.sum()),
        times[kept],
        contexts[kept],
        arrival[kept],
        period.notification_codes[came],
    )


def _changes(contexts):
    """Whether each context differs from the one before, bool (rows,)."""
    return np.append(True, (contexts[1:] != contexts[:-1]).any(axis=1))


def clock_codes(
    half: Features, table: Any, minutes: np.ndarray
) -> dict[int, np.ndarray]:
    """What `day` and `time` of a context say in each hour of a week, {component: codes (168,)}, if they are there.

    The week begins with the first day of the dated records, a DataFrame posted at these minutes. Which hours belong to
    which word of `time` is read off them as well: of each hour the commonest word.
    """
    import pandas as pd

    codes = {}
    if "day" in half.components and set(half["day"].words) <= set("0123456"):
        days = (table["posted"].min().weekday() + np.arange(7)) % 7
        codes[half.components.index("day")] = np.repeat(
            [half["day"].words.index(str(day)) for day in days], 24
        )
    if "time" in half.components:
        words = half["time"].words
        common = pd.crosstab((minutes % DAY // 60).astype(int), table["time"]).idxmax(
            axis=1
        )
        slots = [SLOTS[number] for number in slot_number(60 * np.arange(24))]
        said = [
            common.get(hour, slot if slot in words else common.iloc[0])
            for hour, slot in enumerate(slots)
        ]
        codes[half.components.index("time")] = np.tile(
            [words.index(word) for word in said], 7
        )
    return codes


def stamp(
    codes: np.ndarray, minutes: np.ndarray, clock: dict[int, np.ndarray]
) -> np.ndarray:
    """The codes (rows, components) with the clock's features put right for these minutes (rows,)."""
    codes = codes.copy()
    for column, by_hour in clock.items():
        codes[:, column] = by_hour[(minutes // 60 % 168).astype(int)]
    return codes


# ---------------------------------------------------------------- days out of the generator


def lived_days(user: User) -> Days:
    """The Days of a user that comes with pushlab, history and test, as the generator lives them; see `days_of`."""
    person = PEOPLE.get(user.name)
    if person is None or user.truth is None or user.truth.get("seed") != person.seed:
        raise ValueError(
            f"the generator can live the days of {', '.join(PEOPLE)} only, and not of {user.name}: "
            'take source="records"'
        )
    days = 2 * QUARTER
    posted, notifications = arrivals(person, person.seed, days)
    phone = live(person, person.seed, days)
    minutes = slice(0, days * DAY)
    every = user.schema.context.encode(
        {name: values[minutes] for name, values in phone.items()}
    )
    changes = _changes(every)
    changes[::DAY] = True  # each day has its midnight
    changed = np.flatnonzero(changes)
    times = np.concatenate([changed.astype(float), posted / MINUTE])
    arrival = np.concatenate([np.full(len(changed), NOTHING), np.arange(len(posted))])
    order = np.lexsort((arrival, times))
    times, arrival = times[order], arrival[order]
    midnights = np.searchsorted(times, np.arange(days) * float(DAY))
    return Days(
        np.datetime64(FIRST_DAY, "D") + np.arange(days),
        np.append(midnights, len(times)),
        times,
        every[times.astype(int)],
        arrival,
        user.schema.notification.encode(notifications),
    )


# ---------------------------------------------------------------- response times


@dataclass(frozen=True)
class ResponseTimes:
    """How long the user takes to answer: the times of a history by action and time of day, drawn from again.

    minutes  float64 (rows,) the recorded times, sorted within each cell
    cells    int64 (2, 5, 2): for dismissed and opened, and each of SLOTS, where its times begin and how many there are;
             a cell that the history left empty stands for all times of that action, or for all times
    """

    minutes: np.ndarray
    cells: np.ndarray

    @classmethod
    def fit(cls, period: Period) -> "ResponseTimes":
        """The response times of a Period that has dates and a column `response_time` (seconds)."""
        slot = slot_number(period.table["posted"].dt.hour.to_numpy() * 60.0)
        return cls.of(
            period.table["response_time"].to_numpy(float) / 60, period.opened, slot
        )

    @classmethod
    def of(cls, minutes: np.ndarray, opened: Any, slot: np.ndarray) -> "ResponseTimes":
        """From arrays (rows,): minutes, whether opened, number of the slot."""
        opened, kept, cells, at = (
            np.asarray(opened, bool),
            [],
            np.empty((2, len(SLOTS), 2), np.int64),
            0,
        )
        for action in (0, 1):
            for number in range(len(SLOTS)):
                choices = (
                    (opened == action) & (slot == number),
                    opened == action,
                    np.ones(len(opened), bool),
                )
                mine = np.sort(
                    minutes[next(choice for choice in choices if choice.any())]
                )
                cells[action, number] = at, len(mine)
                at += len(mine)
                kept.append(mine)
        return cls(np.concatenate(kept), cells)

    def draw(self, opened: Any, slot: Any, u: Any) -> np.ndarray:
        """Minutes (n,) for actions (n,), slots (n,) and uniform numbers (n,)."""
        start, count = np.moveaxis(self.cells[np.asarray(opened, int), slot], -1, 0)
        return self.minutes[start + (np.asarray(u) * count).astype(np.int64)]
