"""A user's days in real time: when notifications arrive, the context at any moment, and response times.

Days come from the dated tables of a history or, for the shipped users, from the generator that wrote those tables. The
generator also has the quarter after the history, of which the tables have no dates.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import Features
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

    A moment is an arrival, or a change of the context without one. Each day begins with a moment at midnight.

    Attributes:
        dates: datetime64[D] (days,).
        first: Index of each day's first moment, and the number of moments, int64 (days + 1,).
        times: Minutes since the first midnight, never falling, float64 (moments,).
        contexts: Codes, int64 (moments, context components).
        arrival: The row of `notifications` that arrives, or -1, int64 (moments,).
        notifications: Codes, int64 (arrivals, notification components).
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
    """Return the Days of a User.

    Args:
        source: "records" takes the history. A context is known when something was posted or removed. In between the
            last one lasts, except the day and the time of day, which follow the clock.
            "generator" has the days of a shipped user at any minute, history and test. Arrivals of the history are
            those of the records.

    Raises:
        ValueError: For a history without dates, and for the generator if the user isn't a shipped one.
    """
    if one_of("source", source, SOURCES) == "generator":
        return _generated_days(user)
    return _recorded_days(user)


def _changes(contexts):
    """Return whether each context differs from the one before, bool (rows,)."""
    return np.append(True, (contexts[1:] != contexts[:-1]).any(axis=1))


# ---------------------------------------------------------------- days from records


def _recorded_days(user):
    history = user.history
    table = history.table
    if "posted" not in table:
        raise ValueError(
            f"the history of user {user.name} has no column `posted`: without dates nothing can be put off"
        )
    start = table["posted"].min().to_datetime64().astype("datetime64[D]")
    posted = _minutes_since(start, table["posted"])
    removed = _minutes_since(start, table["removed"])
    days = int(posted.max() // DAY) + 1
    half = user.schema.context
    clock = _clock_codes(half, table, posted)
    at_removal = {}
    for name in half.names:  # an unknown feature stays as it was at posting
        column = f"removal.{name}"
        at_removal[name] = table[column if column in table else name]
    removals = _set_clock(half.encode(at_removal), removed, clock)
    ticks = 60.0 * np.add.outer(24 * np.arange(days), SLOT_STARTS).ravel()
    rows = np.arange(len(table))
    # Events in time, kind and row: at the same time the clock comes first, then removals, then arrivals.
    times = np.concatenate([ticks, removed, posted])
    kind = np.repeat([0, 1, 2], [len(ticks), len(rows), len(rows)])
    row = np.concatenate([np.zeros(len(ticks), np.int64), rows, rows])
    order = np.lexsort((row, kind, times))
    order = order[times[order] < days * DAY]
    times = times[order]
    kind = kind[order]
    row = row[order]
    # A tick of the clock has the last known context, or the first one if there is none before.
    known = np.flatnonzero(kind > 0)
    last = np.searchsorted(known, np.arange(len(kind)), side="right") - 1
    last = known[np.maximum(last, 0)]
    is_removal = kind[last] == 1
    contexts = np.where(
        is_removal[:, None], removals[row[last]], history.context_codes[row[last]]
    )
    is_tick = kind == 0
    is_arrival = kind == 2
    contexts[is_tick] = _set_clock(contexts[is_tick], times[is_tick], clock)
    is_midnight = is_tick & (times % DAY == 0)
    is_moment = is_midnight | is_arrival | _changes(contexts)
    arrival = np.full(len(times), NOTHING)
    arrival[is_arrival] = rows
    return Days(
        dates=start + np.arange(days),
        first=np.append(np.flatnonzero(is_midnight[is_moment]), is_moment.sum()),
        times=times[is_moment],
        contexts=contexts[is_moment],
        arrival=arrival[is_moment],
        notifications=history.notification_codes[row[is_arrival]],
    )


def _minutes_since(start, dates):
    """Return minutes since a date, float64."""
    since = dates.to_numpy("datetime64[us]") - start
    return since.astype("timedelta64[us]").astype(np.int64) / MINUTE


def _clock_codes(half: Features, table, minutes):
    """Return the codes of `day` and `time` in each hour of a week, {component: codes (168,)}, if a context has them.

    The week begins with the first day of the records, posted at these minutes. The word of `time` in an hour is the
    most common one in the records.
    """
    codes = {}
    if "day" in half.components and set(half["day"].words) <= set("0123456"):
        days = (table["posted"].min().weekday() + np.arange(7)) % 7
        by_day = [half["day"].words.index(str(day)) for day in days]
        codes[half.components.index("day")] = np.repeat(by_day, 24)
    if "time" in half.components:
        words = half["time"].words
        hours = (minutes % DAY // 60).astype(int)
        common = pd.crosstab(hours, table["time"]).idxmax(axis=1)
        by_hour = []
        for hour in range(24):
            slot = SLOTS[slot_number(60 * hour)]
            usual = slot if slot in words else common.iloc[0]
            by_hour.append(words.index(common.get(hour, usual)))
        codes[half.components.index("time")] = np.tile(by_hour, 7)
    return codes


def _set_clock(codes, minutes, clock):
    """Return codes (rows, components) in which the features of the clock are those of these minutes (rows,)."""
    codes = codes.copy()
    hours = (minutes // 60 % 168).astype(int)
    for column, by_hour in clock.items():
        codes[:, column] = by_hour[hours]
    return codes


# ---------------------------------------------------------------- days from the generator


def _generated_days(user):
    person = PEOPLE.get(user.name)
    if person is None or user.truth is None or user.truth.get("seed") != person.seed:
        raise ValueError(
            f"the generator has the days of {', '.join(PEOPLE)} only, and not of {user.name}: "
            'take source="records"'
        )
    days = 2 * QUARTER
    posted, notifications = arrivals(person, person.seed, days)
    phone = live(person, person.seed, days)
    minutes = slice(0, days * DAY)
    contexts = user.schema.context.encode(
        {name: values[minutes] for name, values in phone.items()}
    )
    changes = _changes(contexts)
    changes[::DAY] = True  # each day has its midnight
    changed = np.flatnonzero(changes)
    times = np.concatenate([changed.astype(float), posted / MINUTE])
    arrival = np.concatenate([np.full(len(changed), NOTHING), np.arange(len(posted))])
    order = np.lexsort((arrival, times))
    times = times[order]
    midnights = np.searchsorted(times, np.arange(days) * float(DAY))
    return Days(
        dates=np.datetime64(FIRST_DAY, "D") + np.arange(days),
        first=np.append(midnights, len(times)),
        times=times,
        contexts=contexts[times.astype(int)],
        arrival=arrival[order],
        notifications=user.schema.notification.encode(notifications),
    )


# ---------------------------------------------------------------- response times


@dataclass(frozen=True)
class ResponseTimes:
    """Response times of a history by action and time of day, to draw from.

    Attributes:
        minutes: The recorded times, sorted within each cell, float64.
        cells: For dismissed and opened, and each of SLOTS: the index of its first time and the number of its times,
            int64 (2, 5, 2). An empty cell has all times of that action, or all times.
    """

    minutes: np.ndarray
    cells: np.ndarray

    @classmethod
    def fit(cls, period: Period) -> "ResponseTimes":
        """Return the response times of a Period that has dates and a column `response_time` (seconds)."""
        slots = slot_number(period.table["posted"].dt.hour.to_numpy() * 60.0)
        minutes = period.table["response_time"].to_numpy(float) / 60
        cells = np.empty((2, len(SLOTS), 2), np.int64)
        parts = []
        start = 0
        for action in (0, 1):
            of_action = period.opened == action
            for slot in range(len(SLOTS)):
                rows = of_action & (slots == slot)
                if not rows.any():
                    rows = of_action if of_action.any() else ~of_action
                parts.append(np.sort(minutes[rows]))
                cells[action, slot] = start, len(parts[-1])
                start += len(parts[-1])
        return cls(np.concatenate(parts), cells)
