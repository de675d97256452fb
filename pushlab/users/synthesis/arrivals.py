"""The apps of the shipped phones: which notifications exist, when they arrive, and what they look like.

The packages are fictional. The catalogue, every combination of app, category and subject that can arrive, is what an
agent may choose from; nothing in it tells what anyone opens.

In each minute a notification arrives with a small probability that follows the hour and the weekday. The app depends on
the time slot and on the weekend, all else on the app; some apps send several in a row.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pushlab.datasets.draws import pick, pick_value, uniforms
from pushlab.users.synthesis.day import DAY, SLOTS, Options, slot_number

UPDATES = ("none", "low", "medium", "high")  # numberOfUpdates, in rising order


class App(NamedTuple):
    """One app. All weights are whole numbers and count against each other.

    workday     how much it sends in each time slot, early-morning to night
    weekend     the same on Saturday and Sunday
    sends       what: (category, {subject: weight}), …
    priority, visibility, updates   {value: weight}
    ongoing     percent of its notifications that stay while something runs
    more        weights of 0, 1, 2, … further notifications within minutes: a burst
    """

    workday: tuple[int, ...]
    weekend: tuple[int, ...]
    sends: tuple[tuple[str, Options], ...]
    priority: Options = {"default": 8, "high": 1, "low": 1}
    visibility: Options = {"private": 9, "public": 1}
    updates: Options = {"none": 7, "low": 2, "medium": 1}
    ongoing: int = 0
    more: tuple[int, ...] = (1,)

    @property
    def rows(self) -> dict[tuple[str, str], int]:
        """The weight of each category and subject."""
        return {
            (category, subject): weight
            for category, subjects in self.sends
            for subject, weight in subjects.items()
        }


APPS = {  # time slots: early-morning, morning, afternoon, evening, night
    "org.pushlab.chat": App(
        (10, 12, 14, 26, 28),
        (20, 16, 20, 26, 26),
        (
            ("msg", {"family": 4, "friends": 5, "online communities": 2, "unknown": 3}),
            ("call", {"family": 1, "unknown": 1}),
        ),
        more=(60, 22, 11, 5, 2),
        priority={"high": 6, "default": 3, "max": 1},
        updates={"none": 4, "low": 4, "medium": 1, "high": 1},
    ),
    "org.pushlab.mail": App(
        (8, 24, 22, 8, 4),
        (6, 8, 6, 6, 4),
        (
            (
                "email",
                {
                    "business services": 4,
                    "email & messaging": 3,
                    "shopping": 2,
                    "finance": 2,
                    "education": 2,
                    "travel": 1,
                    "unknown": 3,
                },
            ),
        ),
        more=(85, 12, 3),
        updates={"none": 5, "low": 4, "medium": 1},
    ),
    "org.pushlab.calendar": App(
        (2, 12, 9, 4, 1),
        (1, 4, 3, 3, 1),
        (
            ("event", {"business services": 4, "family": 2, "health": 1}),
            ("reminder", {"business services": 2, "education": 2}),
        ),
        priority={"high": 7, "default": 3},
        updates={"none": 9, "low": 1},
    ),
    "org.pushlab.news": App(
        (18, 20, 8, 9, 6),
        (16, 16, 9, 12, 6),
        (
            (
                "recommendation",
                {"news": 5, "sports": 3, "finance": 2, "science": 2, "politics": 2},
            ),
            ("status", {"weather": 2}),
        ),
        priority={"default": 7, "low": 3},
        visibility={"public": 8, "private": 2},
    ),
    "org.pushlab.social": App(
        (8, 7, 9, 18, 18),
        (12, 12, 14, 18, 18),
        (
            ("msg", {"online communities": 3}),
            (
                "recommendation",
                {"arts & entertainment": 2, "celebrities": 2, "humor": 2},
            ),
            ("event", {"friends": 2}),
            ("unknown", {"online communities": 1}),
        ),
        more=(80, 15, 5),
    ),
    "org.pushlab.shop": App(
        (2, 4, 5, 7, 4),
        (3, 13, 14, 10, 4),
        (
            (
                "recommendation",
                {"shopping": 3, "footwear": 2, "computers & electronics": 2},
            ),
            ("status", {"shopping": 2}),
        ),
        priority={"default": 6, "low": 3, "min": 1},
    ),
    "org.pushlab.fitness": App(
        (3, 5, 4, 10, 2),
        (2, 9, 6, 5, 2),
        (
            ("reminder", {"fitness": 3}),
            ("status", {"fitness": 2}),
            ("reminder", {"health": 2}),
            ("recommendation", {"health": 1}),
        ),
        ongoing=15,
    ),
    "org.pushlab.bank": App(
        (2, 5, 5, 3, 1),
        (1, 3, 4, 3, 1),
        (
            ("status", {"finance": 3}),
            ("alarm", {"finance": 1}),
            ("reminder", {"finance": 1}),
        ),
        priority={"high": 5, "default": 4, "max": 1},
        visibility={"secret": 4, "private": 6},
        updates={"none": 9, "low": 1},
    ),
    "org.pushlab.transit": App(
        (5, 10, 6, 10, 2),
        (1, 4, 6, 5, 2),
        (("transport", {"travel": 3, "unknown": 2}), ("alarm", {"travel": 1})),
        priority={"high": 4, "default": 6},
        visibility={"public": 7, "private": 3},
        ongoing=30,
    ),
    "org.pushlab.music": App(
        (3, 6, 5, 8, 5),
        (3, 7, 8, 9, 6),
        (
            ("recommendation", {"music & audio": 3}),
            ("service", {"music & audio": 2}),
            ("event", {"arts & entertainment": 1}),
        ),
        priority={"low": 5, "default": 5},
        visibility={"public": 6, "private": 4},
        ongoing=25,
    ),
    "org.pushlab.video": App(
        (4, 4, 6, 13, 13),
        (5, 8, 10, 14, 13),
        (
            (
                "recommendation",
                {"online video": 4, "arts & entertainment": 2, "humor": 2, "sports": 1},
            ),
        ),
    ),
    "org.pushlab.games": App(
        (4, 3, 4, 9, 11),
        (5, 7, 8, 10, 11),
        (
            ("event", {"games": 3}),
            ("recommendation", {"games": 2}),
            ("reminder", {"games": 1}),
        ),
        priority={"low": 5, "default": 3, "min": 2},
    ),
    "org.pushlab.food": App(
        (1, 6, 8, 9, 2),
        (1, 6, 8, 10, 3),
        (("recommendation", {"food & drink": 3}), ("status", {"food & drink": 2})),
        updates={"none": 6, "low": 3, "medium": 1},
        ongoing=10,
    ),
    "org.pushlab.learn": App(
        (3, 7, 6, 7, 4),
        (2, 6, 5, 5, 3),
        (
            ("reminder", {"education": 3, "languages": 2}),
            ("recommendation", {"science": 2}),
        ),
    ),
    "org.pushlab.system": App(
        (6, 4, 4, 4, 4),
        (6, 4, 4, 4, 4),
        (
            ("service", {"unknown": 2}),
            ("unknown", {"unknown": 2}),
            ("err", {"unknown": 1}),
            ("status", {"computers & electronics": 2}),
            ("service", {"internet & telecom": 2}),
        ),
        priority={"default": 4, "low": 3, "min": 2, "unknown": 1},
        ongoing=20,
    ),
}

CATALOGUE_COLUMNS = ("postingApp", "category", "subject")
CATALOGUE = tuple(
    sorted((name, *row) for name, app in APPS.items() for row in app.rows)
)

MINUTE = 60_000_000  # microseconds
WORKDAY_HOURS = (
    4,
    2,
    1,
    1,
    1,
    4,
    18,
    40,
    55,
    62,
    66,
    64,
    70,
    64,
    58,
    58,
    62,
    74,
    80,
    76,
    70,
    58,
    38,
    16,
)
WEEKEND_HOURS = (
    14,
    8,
    4,
    2,
    1,
    1,
    4,
    10,
    26,
    46,
    60,
    64,
    66,
    62,
    58,
    56,
    58,
    66,
    76,
    78,
    72,
    64,
    50,
    30,
)
BURST_GAP = (
    20 * 1_000_000,
    240 * 1_000_000,
)  # microseconds between the notifications of a burst


def arrivals(
    days: int,
    per_day: float,
    seed: int,
    likings: Mapping[str, int],
    week_volume: Sequence[int],
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Notifications that arrive in some days from a Monday: times, and a dict of object arrays, one a feature.

    per_day       mean number a day
    likings       weight of each app of APPS for this user; 10 is usual, 0 means not installed
    week_volume   seven weights, Monday first: how much arrives on that weekday
    returns       microseconds since the first midnight, int64, rising; and the notification features
    """
    firsts = _first_arrivals(days, per_day, seed, likings, week_volume)
    draws = uniforms(seed, "notifications", (7, len(firsts)))
    app = _draw_apps(firsts, likings, draws[0])
    features = _draw_features(app, draws[1:6])
    return _add_bursts(firsts, app, features, draws[6], seed)


def _first_arrivals(days, per_day, seed, likings, week_volume):
    """Times of the arrivals that are not the rest of a burst, microseconds since the first midnight."""
    hours = np.array([WORKDAY_HOURS] * 5 + [WEEKEND_HOURS] * 2)
    weights = hours * np.array(week_volume)[:, None]  # (weekday, hour)
    share = weights / weights.sum() * 7  # 1 over the hours of a mean day
    chance = (
        per_day / _mean_burst(likings) * share / 60
    )  # (weekday, hour), of one minute
    minutes = np.arange(days * DAY)
    occurs, within = uniforms(seed, "arrivals", (2, len(minutes)))
    arrived = occurs < chance[minutes // DAY % 7, minutes % DAY // 60]
    return minutes[arrived] * MINUTE + (within[arrived] * MINUTE).astype(np.int64)


def _mean_burst(likings):
    """Mean number of notifications an arrival brings, about: apps weighted by what they send on a workday."""
    sizes = weights = 0
    for name, app in APPS.items():
        weight = likings[name] * sum(app.workday[1:])
        sizes += (
            weight
            * sum((1 + extra) * share for extra, share in enumerate(app.more))
            / sum(app.more)
        )
        weights += weight
    return sizes / weights


def _draw_apps(times, likings, u):
    """The app of each arrival, object array: by time slot and by workday or weekend."""
    names, drawn = (
        np.array(list(APPS), dtype=object),
        np.empty(len(times), dtype=object),
    )
    minutes = times // MINUTE
    weekend, slot = minutes // DAY % 7 >= 5, slot_number(minutes)
    for is_weekend in (False, True):
        for number in range(len(SLOTS)):
            here = (weekend == is_weekend) & (slot == number)
            weights = [
                likings[name] * (app.weekend if is_weekend else app.workday)[number]
                for name, app in APPS.items()
            ]
            drawn[here] = names[pick(weights, u[here])]
    return drawn


def _draw_features(app, draws):
    """All other features of each arrival, a dict of object arrays, from uniforms (5, arrivals)."""
    features = {
        name: np.empty(len(app), dtype=object)
        for name in (
            "category",
            "numberOfUpdates",
            "subject",
            "priority",
            "ongoing",
            "visibility",
        )
    }
    for name, kind in APPS.items():
        here = app == name
        which, updates, priority, ongoing, visibility = draws[:, here]
        rows = np.array(list(kind.rows), dtype=object)
        features["category"][here], features["subject"][here] = rows[
            pick(list(kind.rows.values()), which)
        ].T
        features["numberOfUpdates"][here] = pick_value(kind.updates, updates)
        features["priority"][here] = pick_value(kind.priority, priority)
        features["ongoing"][here] = np.where(
            100 * ongoing < kind.ongoing, "True", "False"
        )
        features["visibility"][here] = pick_value(kind.visibility, visibility)
    return features


def _add_bursts(times, app, features, u, seed):
    """Repeats some arrivals within minutes, each time with one more step of numberOfUpdates; sorted by time."""
    extra = np.zeros(len(times), dtype=int)
    for name, kind in APPS.items():
        extra[app == name] = pick(kind.more, u[app == name])
    source = np.repeat(np.arange(len(times)), extra + 1)
    first = (np.cumsum(extra + 1) - extra - 1)[source]
    place = np.arange(len(source)) - first  # 0 for the first of a burst
    low, high = BURST_GAP
    gaps = np.where(
        place > 0,
        low + (uniforms(seed, "bursts", len(source)) * (high - low)).astype(np.int64),
        0,
    )
    run = np.cumsum(gaps)
    moments = times[source] + run - run[first]
    order = np.argsort(moments, kind="stable")
    columns = {"postingApp": app[source]} | {
        name: values[source] for name, values in features.items()
    }
    steps = (
        np.array([UPDATES.index(value) for value in columns["numberOfUpdates"]]) + place
    )
    columns["numberOfUpdates"] = np.array(UPDATES, dtype=object)[
        np.minimum(steps, len(UPDATES) - 1)
    ]
    return moments[order], {name: values[order] for name, values in columns.items()}
