"""A person's phone: what its sensors say at any minute, and which notifications arrive on it.

A day is a plan of stops: asleep, home, commute, office. Each stop has a setting: a place, a loudness, a ringer mode,
the chance of headphones or of a charger. These stay as they are over a stop. Activity and proximity can change every
quarter of an hour. The battery fills and drains. So a notification's contexts at posting and at removal are two
moments of the same day.

In each minute a notification arrives with a small probability that follows the hour and the weekday. Its app depends on
the time slot and on the weekend, everything else on the app. Some apps send several in a row.

The tables are in data/people, and its README describes them. The packages of the apps are fictional.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pushlab.ground.files import data_dir, read_json
from pushlab.ground.seeds import pick, pick_value, uniforms

DAY = 24 * 60  # minutes
FIRST_DAY = "2019-02-18"  # a Monday
QUARTER = 84  # days of history, and days of test
SPARE = 2  # days after the last in which its notifications are removed
QUARTER_HOUR = 15  # minutes
MINUTE = 60_000_000  # microseconds
SLOTS = ("early-morning", "morning", "afternoon", "evening", "night")
SLOT_STARTS = (0, 6, 12, 17, 21)  # hours, as in the EvalUMAP data
BATTERY_LEVELS = np.array(("low", "medium", "high"), dtype=object)
BATTERY_EDGES = (30, 70)  # percent: below is low, below is medium, the rest is high
CHARGE = 600  # thousandths of a percent a minute at the charger
NEARLY_EMPTY = 20_000  # thousandths of a percent
FIRST_LEVEL = 90_000  # thousandths of a percent
LOUDSPEAKER = 8  # percent of the stops without headphones at which music plays
UPDATES = np.array(("none", "low", "medium", "high"), dtype=object)
BURST_GAP = (20_000_000, 240_000_000)  # microseconds between notifications of a burst
SENSED = (
    "place",
    "activity",
    "noise",
    "batteryLevel",
    "charging",
    "headphonesIn",
    "musicActive",
    "proximity",
    "ringerMode",
    "lightIntensity",
)
FEATURES = (
    "postingApp",
    "category",
    "numberOfUpdates",
    "subject",
    "priority",
    "ongoing",
    "visibility",
)


def _read(name):
    """Return a table of data/people, each entry completed by the entry "default"."""
    table = read_json(data_dir() / "people" / f"{name}.json")
    default = table.pop("default", {})
    return {key: {**default, **entry} for key, entry in table.items()}


PLANS = read_json(data_dir() / "people" / "plans.json")
SETTINGS = _read("settings")
APPS = _read("apps")
TABLES = _read("phone")
CATALOGUE_COLUMNS = ("postingApp", "category", "subject")
CATALOGUE = tuple(
    sorted(
        (name, category, subject)
        for name, app in APPS.items()
        for category, subject, _ in app["sends"]
    )
)


@dataclass(frozen=True)
class Persona:
    """A person: habits and taste.

    Attributes:
        seed: Seed of everything that happens to this person.
        kind: Words for the person, such as "a student".
        about: A sentence for students.
        week: Names of seven plans, Monday first.
        week_volume: Weight of each weekday in what arrives, Monday first.
        open_rate: Mean probability of opening.
        per_quarter: Approximate number of notifications in 84 days.
        context, notification: Main effects of the taste, {feature: {value: weight}}.
        pairs: Effects of pairs, (context feature, value, notification feature, value, weight).
        likings: Weight of an app; 10 if not listed, 0 if not installed.
        settings: Differences from SETTINGS, by setting.
        response: Median seconds until removal by action, in the order of SLOTS.
        shift: Minutes by which each stop but midnight is later than in the plans.
    """

    seed: int
    kind: str
    about: str
    week: tuple[str, ...]
    week_volume: tuple[int, ...]
    open_rate: float
    per_quarter: int
    context: Mapping[str, Mapping[str, float]]
    notification: Mapping[str, Mapping[str, float]]
    pairs: tuple[tuple, ...]
    likings: Mapping[str, int]
    settings: Mapping[str, Mapping[str, Any]]
    response: Mapping[str, tuple[int, ...]]
    shift: int = 0


# The people of the shipped users, by name.
PEOPLE = {name: Persona(**entry) for name, entry in _read("people").items()}


def slot_number(minutes: Any) -> np.ndarray:
    """Index in SLOTS of each minute, counted from a midnight.

    >>> slot_number([0, 359.9, 360, 1439, 1440]).tolist()
    [0, 0, 1, 4, 0]
    """
    hours = np.asarray(minutes) % DAY // 60
    return np.searchsorted(SLOT_STARTS, hours, side="right") - 1


# ---------------------------------------------------------------- days


def plan_days(person: Persona, seed: int, days: int) -> list[tuple[str, int, int]]:
    """Return the stops of some days from a Monday: setting, first minute and minute after the last, without gaps.

    A setting that continues over midnight is one stop.
    """
    plans = [PLANS[name] for name in person.week]
    draws = uniforms(seed, "days", (days, max(map(len, plans)), 2))
    begun = []
    for day in range(days):
        earliest = 0
        for (clock, setting, spread, chance), (u, v) in zip(plans[day % 7], draws[day]):
            if 100 * u >= chance:
                continue  # the stop before goes on
            minute = 60 * int(clock[:2]) + int(clock[3:])
            if minute:
                minute += person.shift
            minute = max(minute + int(round((2 * v - 1) * spread)), earliest)
            minute = min(minute, DAY)
            begun.append((setting, day * DAY + minute))
            earliest = minute + QUARTER_HOUR
    stops: list[tuple[str, int, int]] = []
    for (setting, start), (_, end) in pairwise([*begun, ("", days * DAY)]):
        if start == end:
            continue
        if stops and stops[-1][0] == setting:
            start = stops.pop()[1]
        stops.append((setting, start, end))
    return stops


def live(person: Persona, seed: int, days: int) -> dict[str, np.ndarray]:
    """Return the context in each minute of some days from a Monday and SPARE more: `day`, `time` and SENSED."""
    days += SPARE
    settings = dict(SETTINGS)
    for name, changes in person.settings.items():
        settings[name] = {**SETTINGS[name], **changes}
    stops = plan_days(person, seed, days)
    minutes = np.arange(days * DAY)
    gaps = TABLES["gaps"]
    quarters = uniforms(seed, "quarters", (2 + len(gaps), len(minutes) // QUARTER_HOUR))
    activity, proximity, *silence = np.repeat(quarters, QUARTER_HOUR, axis=1)
    phone = {
        "day": np.array(list("0123456"), dtype=object)[minutes // DAY % 7],
        "time": np.array(SLOTS, dtype=object)[slot_number(minutes)],
    }
    for name in SENSED:
        phone[name] = np.empty(len(minutes), dtype=object)
    level = FIRST_LEVEL
    draws_of_stops = uniforms(seed, "stops", (len(stops), 7))
    for (name, start, end), draws in zip(stops, draws_of_stops):
        setting = settings[name]
        here = slice(start, end)
        for feature, u in zip(
            ("place", "noise", "ringerMode", "lightIntensity"), draws
        ):
            phone[feature][here] = pick_value(setting[feature], u)
        for feature, u in (("activity", activity), ("proximity", proximity)):
            phone[feature][here] = pick_value(setting[feature], u[here])
        headphones, music, plugged = 100 * draws[4:]
        is_worn = headphones < setting["headphones"]
        phone["headphonesIn"][here] = str(is_worn)
        chance = setting["music"] if is_worn else LOUDSPEAKER
        phone["musicActive"][here] = str(music < chance)
        # If there is a charger, a nearly empty phone is plugged in for the whole stop.
        is_charging = plugged < setting["plugged"]
        if level < NEARLY_EMPTY and setting["plugged"]:
            is_charging = True
        phone["charging"][here] = str(is_charging)
        rate = CHARGE if is_charging else -setting["drain"]
        levels = np.clip(level + rate * np.arange(1, end - start + 1), 0, 100_000)
        word = np.searchsorted(BATTERY_EDGES, levels // 1000, side="right")
        phone["batteryLevel"][here] = BATTERY_LEVELS[word]
        level = int(levels[-1])
    for (feature, percent), u in zip(gaps.items(), silence):
        phone[feature][100 * u < percent] = "unknown"
    return phone


# ---------------------------------------------------------------- arrivals


def arrivals(
    person: Persona, seed: int, days: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the notifications that arrive in some days from a Monday.

    Returns:
        Rising times in microseconds since the first midnight, int64; and FEATURES, object arrays.
    """
    likings = {name: person.likings.get(name.rpartition(".")[2], 10) for name in APPS}
    times = _first_arrivals(person, seed, days, likings)
    draws = uniforms(seed, "notifications", (7, len(times)))
    features = {name: np.empty(len(times), dtype=object) for name in FEATURES}
    features["postingApp"][:] = _draw_apps(times, likings, draws[0])
    updates = np.zeros(len(times), dtype=int)
    repeats = np.zeros(len(times), dtype=int)
    for name, app in APPS.items():
        here = features["postingApp"] == name
        u = draws[:, here]
        *rows, weights = zip(*app["sends"])
        sent = np.array(rows, dtype=object)[:, pick(weights, u[1])]
        features["category"][here], features["subject"][here] = sent
        updates[here] = pick(app["updates"], u[2])
        features["priority"][here] = pick_value(app["priority"], u[3])
        is_ongoing = 100 * u[4] < app["ongoing"]
        features["ongoing"][here] = np.where(is_ongoing, "True", "False")
        features["visibility"][here] = pick_value(app["visibility"], u[5])
        repeats[here] = pick(app["more"], u[6])
    # A burst: each notification follows within minutes and has one more step of updates.
    source = np.repeat(np.arange(len(times)), repeats + 1)
    first = (np.cumsum(repeats + 1) - repeats - 1)[source]
    place = np.arange(len(source)) - first
    low, high = BURST_GAP
    gaps = low + (uniforms(seed, "bursts", len(source)) * (high - low)).astype(np.int64)
    since = np.cumsum(np.where(place > 0, gaps, 0))
    posted = times[source] + since - since[first]
    order = np.argsort(posted, kind="stable")
    steps = np.minimum(updates[source] + place, len(UPDATES) - 1)
    features = {name: values[source[order]] for name, values in features.items()}
    features["numberOfUpdates"] = UPDATES[steps[order]]
    return posted[order], features


def _first_arrivals(person, seed, days, likings):
    """Return the times of all arrivals except the rest of each burst."""
    sizes = 0
    weights = 0
    for name, app in APPS.items():
        weight = likings[name] * sum(app["workday"][1:])
        size = sum((1 + extra) * share for extra, share in enumerate(app["more"]))
        sizes += weight * size / sum(app["more"])
        weights += weight
    mean_burst = sizes / weights
    hours = TABLES["hours"]
    volume = np.array([hours["workday"]] * 5 + [hours["weekend"]] * 2)
    volume = volume * np.array(person.week_volume)[:, None]
    per_day = person.per_quarter / QUARTER
    share = volume / volume.sum() * 7  # 1 over the hours of a mean day
    chance = per_day / mean_burst * share / 60  # of a minute, (weekday, hour)
    minutes = np.arange(days * DAY)
    occurs, within = uniforms(seed, "arrivals", (2, len(minutes)))
    is_arrival = occurs < chance[minutes // DAY % 7, minutes % DAY // 60]
    offsets = (within[is_arrival] * MINUTE).astype(np.int64)
    return minutes[is_arrival] * MINUTE + offsets


def _draw_apps(times, likings, u):
    """Return the app of each arrival: by time slot, and by workday or weekend."""
    names = np.array(list(APPS), dtype=object)
    apps = np.empty(len(times), dtype=object)
    minutes = times // MINUTE
    is_weekend = minutes // DAY % 7 >= 5
    slots = slot_number(minutes)
    for part, days in (("workday", ~is_weekend), ("weekend", is_weekend)):
        for slot in range(len(SLOTS)):
            here = days & (slots == slot)
            weights = [likings[name] * app[part][slot] for name, app in APPS.items()]
            apps[here] = names[pick(weights, u[here])]
    return apps
