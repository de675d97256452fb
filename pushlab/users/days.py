"""A user's days in real time: arrivals of notifications, the context at any moment, and response times.

Days come from the dated tables of a history.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import Features
from pushlab.users.phone import (
    MINUTE,
    MINUTES_PER_DAY,
    SLOT_STARTS,
    SLOTS,
    slot_number,
)

NO_ARRIVAL = -1  # a moment at which only the context changes


@dataclass(frozen=True)
class Days:
    """The days of one user as a sequence of moments.

    A moment is an arrival, or a change of the context without one. Each day begins with a moment at midnight.

    Attributes:
        dates: Date of each day, datetime64[D] (days,).
        first: Index of each day's first moment, then the number of moments, int64 (days + 1,).
        times: Minutes since the first midnight, in ascending order, float64 (moments,).
        contexts: Context codes, int64 (moments, context components).
        arrival: Row of `notifications` that arrives, or -1, int64 (moments,).
        notifications: Notification codes, int64 (arrivals, notification components).
    """

    dates: np.ndarray
    first: np.ndarray
    times: np.ndarray
    contexts: np.ndarray
    arrival: np.ndarray
    notifications: np.ndarray

    def __len__(self) -> int:
        return len(self.dates)


# ---------------------------------------------------------------- days from records


def days_of(user: User) -> Days:
    """Return the days in a user's history.

    A context is recorded when a notification was posted or removed. It lasts until the next one, except the day and the
    time of day, which follow the clock.

    Raises:
        ValueError: The history has no dates.
    """
    history = user.history
    table = history.table
    if "posted" not in table:
        raise ValueError(
            f"the history of user {user.name} has no column 'posted'; days need the dates of notifications"
        )
    start = table["posted"].min().to_datetime64().astype("datetime64[D]")
    posted = _minutes_since(start, table["posted"])
    removed = _minutes_since(start, table["removed"])
    n_days = int(posted.max() // MINUTES_PER_DAY) + 1
    features = user.schema.context
    clock = _clock_codes(features, table, posted)
    values_at_removal = {}
    for name in features.names:  # without a record the value at posting is used
        column = f"removal.{name}"
        values_at_removal[name] = table[column if column in table else name]
    codes_at_removal = _set_clock(features.encode(values_at_removal), removed, clock)
    hours = np.add.outer(24 * np.arange(n_days), SLOT_STARTS)
    ticks = 60.0 * hours.ravel()
    rows = np.arange(len(table))
    # Events are sorted by time, kind and row. At the same time the clock comes first, then removals, then arrivals.
    times = np.concatenate([ticks, removed, posted])
    kind = np.repeat([0, 1, 2], [len(ticks), len(rows), len(rows)])
    row = np.concatenate([np.zeros(len(ticks), np.int64), rows, rows])
    order = np.lexsort((row, kind, times))
    order = order[times[order] < n_days * MINUTES_PER_DAY]
    times = times[order]
    kind = kind[order]
    row = row[order]
    # A tick of the clock has the last recorded context. Ticks before all records have the first one.
    recorded = np.flatnonzero(kind > 0)
    last = np.searchsorted(recorded, np.arange(len(kind)), side="right") - 1
    last = recorded[np.maximum(last, 0)]
    is_removal = kind[last] == 1
    codes_at_posting = history.context_codes[row[last]]
    contexts = np.where(
        is_removal[:, None], codes_at_removal[row[last]], codes_at_posting
    )
    is_tick = kind == 0
    is_arrival = kind == 2
    contexts[is_tick] = _set_clock(contexts[is_tick], times[is_tick], clock)
    is_midnight = is_tick & (times % MINUTES_PER_DAY == 0)
    is_change = (contexts[1:] != contexts[:-1]).any(axis=1)
    is_moment = is_midnight | is_arrival | np.append(True, is_change)
    arrival = np.full(len(times), NO_ARRIVAL)
    arrival[is_arrival] = rows
    return Days(
        dates=start + np.arange(n_days),
        first=np.append(np.flatnonzero(is_midnight[is_moment]), is_moment.sum()),
        times=times[is_moment],
        contexts=contexts[is_moment],
        arrival=arrival[is_moment],
        notifications=history.notification_codes[row[is_arrival]],
    )


def _minutes_since(start, dates):
    """Return the minutes from `start` to each date, float64."""
    elapsed = dates.to_numpy("datetime64[us]") - start
    return elapsed.astype("timedelta64[us]").astype(np.int64) / MINUTE


def _clock_codes(features: Features, table, minutes):
    """Return the codes of `day` and `time` in each hour of a week, {component: codes (168,)}.

    Features that the context lacks are left out. The week begins with the first day of the records. The value of
    `time` in an hour is the most common one in the records.

    Args:
        minutes: Minutes at which the rows of `table` were posted.
    """
    codes = {}
    if "day" in features.components and set(features["day"].words) <= set("0123456"):
        first = table["posted"].min().weekday()
        weekdays = (first + np.arange(7)) % 7
        by_day = [features["day"].words.index(str(day)) for day in weekdays]
        codes[features.components.index("day")] = np.repeat(by_day, 24)
    if "time" in features.components:
        values = features["time"].words
        hours = (minutes % MINUTES_PER_DAY // 60).astype(int)
        most_common = pd.crosstab(hours, table["time"]).idxmax(axis=1)
        by_hour = []
        for hour in range(24):
            slot = SLOTS[slot_number(60 * hour)]
            default = slot if slot in values else most_common.iloc[0]
            by_hour.append(values.index(most_common.get(hour, default)))
        codes[features.components.index("time")] = np.tile(by_hour, 7)
    return codes


def _set_clock(codes, minutes, clock):
    """Return a copy of codes (rows, components) with the clock's features set for these minutes (rows,)."""
    codes = codes.copy()
    hours = (minutes // 60 % 168).astype(int)
    for column, by_hour in clock.items():
        codes[:, column] = by_hour[hours]
    return codes


# ---------------------------------------------------------------- response times


@dataclass(frozen=True)
class ResponseTimes:
    """The response times in a history by action and time slot, for sampling.

    Attributes:
        minutes: The recorded times, sorted within each cell, float64.
        cells: Index of a cell's first time and its number of times, int64 (2, 5, 2). The axes are the action
            (dismissed, opened), the slot (SLOTS), and these two numbers. A cell without records has all times of its
            action, or all times if the action has none.
    """

    minutes: np.ndarray
    cells: np.ndarray

    @classmethod
    def fit(cls, period: Period) -> "ResponseTimes":
        """Return the response times of a Period with dates and a column `response_time` (seconds)."""
        slots = slot_number(period.table["posted"].dt.hour.to_numpy() * 60.0)
        minutes = period.table["response_time"].to_numpy(float) / 60
        cells = np.empty((2, len(SLOTS), 2), np.int64)
        parts = []
        start = 0
        for action in (0, 1):
            has_action = period.opened == action
            for slot in range(len(SLOTS)):
                rows = has_action & (slots == slot)
                if not rows.any():
                    rows = has_action if has_action.any() else ~has_action
                part = np.sort(minutes[rows])
                cells[action, slot] = (start, len(part))
                parts.append(part)
                start += len(part)
        return cls(np.concatenate(parts), cells)
