"""A simulated phone: the readings of its sensors in each minute, and the notifications that arrive on it.

A day is a plan of stops, such as asleep, home, commute and office. Each stop has a setting: a place, a noise level, a
ringer mode, and the probabilities of headphones and of a charger. These are constant during a stop. Activity and
proximity can change every quarter of an hour, and the battery charges and drains. A notification's contexts at posting
and at removal therefore belong to the same day.

In each minute a notification arrives with a small probability, which depends on the hour and the weekday. Its app
depends on the time slot and the weekend, and its other features depend on the app. Some apps send several in a row.

The tables are in data/people; its README describes them. The package names of the apps are fictional.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from pushlab.utils.files import data_dir, read_json
from pushlab.utils.seeds import choice_from_uniform, draw_uniforms, index_from_uniform

MINUTES_PER_DAY = 24 * 60  # minutes
FIRST_DAY = "2019-02-18"  # a Monday
PERIOD_DAYS = 84  # days in the history, and in the test period
EXTRA_DAYS = 2  # simulated after the last day, whose notifications may be removed then
QUARTER_HOUR = 15  # minutes
MINUTE = 60_000_000  # microseconds
SLOTS = ("early-morning", "morning", "afternoon", "evening", "night")
SLOT_STARTS = (0, 6, 12, 17, 21)  # hours, as in the EvalUMAP data
BATTERY_LEVELS = np.array(("low", "medium", "high"), dtype=object)
BATTERY_EDGES = (
    30,
    70,
)  # percent: low is below the first, high is not below the second
CHARGE_RATE = 600  # thousandths of a percent a minute at the charger
LOW_LEVEL = (
    20_000  # thousandths of a percent; below it the phone is charged if possible
)
INITIAL_LEVEL = 90_000  # thousandths of a percent
LOUDSPEAKER_PERCENT = 8  # stops without headphones at which music plays
UPDATE_LEVELS = np.array(("none", "low", "medium", "high"), dtype=object)
BURST_GAP = (20_000_000, 240_000_000)  # microseconds between notifications of a burst


def _read_table(name):
    """Return a table of data/people, with the values of its entry "default" filled in."""
    table = read_json(data_dir() / "people" / f"{name}.json")
    default = table.pop("default", {})
    return {key: {**default, **entry} for key, entry in table.items()}


PLANS = read_json(data_dir() / "people" / "plans.json")
SETTINGS = _read_table("settings")
APPS = _read_table("apps")
PHONE = _read_table("phone")
CATALOGUE_COLUMNS = ("postingApp", "category", "subject")


def _catalogue_rows():
    rows = []
    for name, app in APPS.items():
        rows += [(name, category, subject) for category, subject, _ in app["sends"]]
    return tuple(sorted(rows))


CATALOGUE = _catalogue_rows()


@dataclass(frozen=True)
class Persona:
    """The habits and the taste of a person.

    Attributes:
        seed: Seed of the person's days, arrivals and actions.
        kind: A short description, such as "a student".
        about: A sentence for students.
        week: Names of seven plans, Monday first.
        week_volume: Weight of each weekday in the number of arrivals, Monday first.
        open_rate: Mean probability of opening.
        per_quarter: Approximate number of notifications in 84 days.
        context, notification: Main effects of the taste, {feature: {value: weight}}.
        pairs: Effects of pairs, (context feature, value, notification feature, value, weight).
        likings: Weight of each app; 10 if not listed, 0 if not installed.
        settings: Differences from SETTINGS, by setting.
        response: Median seconds until removal, {action: seconds in the order of SLOTS}.
        shift: Minutes by which stops begin later than in the plans; midnight is not shifted.
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
PEOPLE = {name: Persona(**entry) for name, entry in _read_table("people").items()}


def slot_number(minutes: Any) -> np.ndarray:
    """Return the index in SLOTS of each minute, counted from a midnight.

    >>> slot_number([0, 359.9, 360, 1439, 1440]).tolist()
    [0, 0, 1, 4, 0]
    """
    hours = np.asarray(minutes) % MINUTES_PER_DAY // 60
    return np.searchsorted(SLOT_STARTS, hours, side="right") - 1


# ---------------------------------------------------------------- days


def plan_days(person: Persona, seed: int, days: int) -> list[tuple[str, int, int]]:
    """Return the stops of a number of days, from a Monday on: (setting, first minute, minute after the last).

    Stops follow each other without gaps. A setting that continues over midnight is one stop.
    """
    plans = [PLANS[name] for name in person.week]
    longest = max(map(len, plans))
    draws = draw_uniforms(seed, "days", (days, longest, 2))
    beginnings = []
    for day in range(days):
        earliest = 0
        for (clock, setting, spread, percent), (u, v) in zip(
            plans[day % 7], draws[day]
        ):
            if 100 * u >= percent:
                continue  # the previous stop continues
            minute = 60 * int(clock[:2]) + int(clock[3:])
            if minute:
                minute += person.shift
            offset = int(round((2 * v - 1) * spread))
            minute = min(max(minute + offset, earliest), MINUTES_PER_DAY)
            beginnings.append((setting, day * MINUTES_PER_DAY + minute))
            earliest = minute + QUARTER_HOUR
    stops: list[tuple[str, int, int]] = []
    for (setting, start), (_, end) in pairwise(
        [*beginnings, ("", days * MINUTES_PER_DAY)]
    ):
        if start == end:
            continue
        if stops and stops[-1][0] == setting:
            start = stops.pop()[1]
        stops.append((setting, start, end))
    return stops


def simulate_contexts(person: Persona, seed: int, days: int) -> dict[str, np.ndarray]:
    """Return the context in each minute of a number of days, from a Monday on, and of EXTRA_DAYS more.

    Returns:
        {feature: object array (minutes,)} for `day`, `time` and the readings of the sensors.
    """
    days += EXTRA_DAYS
    settings = dict(SETTINGS)
    for name, changes in person.settings.items():
        settings[name] = {**SETTINGS[name], **changes}
    stops = plan_days(person, seed, days)
    minutes = np.arange(days * MINUTES_PER_DAY)
    gaps = PHONE["gaps"]
    n_quarters = len(minutes) // QUARTER_HOUR
    quarters = draw_uniforms(seed, "quarters", (2 + len(gaps), n_quarters))
    activity, proximity, *gap_draws = np.repeat(quarters, QUARTER_HOUR, axis=1)
    context = defaultdict(lambda: np.empty(len(minutes), dtype=object))
    days_of_week = np.array(list("0123456"), dtype=object)
    context["day"] = days_of_week[minutes // MINUTES_PER_DAY % 7]
    context["time"] = np.array(SLOTS, dtype=object)[slot_number(minutes)]
    level = INITIAL_LEVEL
    stop_draws = draw_uniforms(seed, "stops", (len(stops), 7))
    for (name, start, end), draws in zip(stops, stop_draws):
        setting = settings[name]
        stop = slice(start, end)
        for feature, u in zip(
            ("place", "noise", "ringerMode", "lightIntensity"), draws
        ):
            context[feature][stop] = choice_from_uniform(setting[feature], u)
        for feature, u in (("activity", activity), ("proximity", proximity)):
            context[feature][stop] = choice_from_uniform(setting[feature], u[stop])
        headphones, music, plugged = 100 * draws[4:]
        is_worn = headphones < setting["headphones"]
        context["headphonesIn"][stop] = str(is_worn)
        music_percent = setting["music"] if is_worn else LOUDSPEAKER_PERCENT
        context["musicActive"][stop] = str(music < music_percent)
        # If there is a charger, a nearly empty phone is charged for the entire stop.
        is_charging = plugged < setting["plugged"]
        if level < LOW_LEVEL and setting["plugged"]:
            is_charging = True
        context["charging"][stop] = str(is_charging)
        rate = CHARGE_RATE if is_charging else -setting["drain"]
        elapsed = np.arange(1, end - start + 1)
        levels = np.clip(level + rate * elapsed, 0, 100_000)
        codes = np.searchsorted(BATTERY_EDGES, levels // 1000, side="right")
        context["batteryLevel"][stop] = BATTERY_LEVELS[codes]
        level = int(levels[-1])
    for (feature, percent), u in zip(gaps.items(), gap_draws):
        context[feature][100 * u < percent] = "unknown"
    return context


# ---------------------------------------------------------------- arrivals


def simulate_arrivals(
    person: Persona, seed: int, days: int
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Return the notifications that arrive in a number of days, from a Monday on.

    Returns:
        Times in microseconds since the first midnight, in ascending order, int64 (rows,); and
        {feature of a notification: object array (rows,)}.
    """
    likings = {name: person.likings.get(name.rpartition(".")[2], 10) for name in APPS}
    times = _burst_times(person, seed, days, likings)
    draws = draw_uniforms(seed, "notifications", (7, len(times)))
    features = defaultdict(lambda: np.empty(len(times), dtype=object))
    features["postingApp"] = _draw_apps(times, likings, draws[0])
    updates = np.zeros(len(times), dtype=int)
    repeats = np.zeros(len(times), dtype=int)
    for name, app in APPS.items():
        rows = features["postingApp"] == name
        u = draws[:, rows]
        *values, weights = zip(*app["sends"])
        selected = index_from_uniform(weights, u[1])
        category, subject = np.array(values, dtype=object)[:, selected]
        features["category"][rows] = category
        features["subject"][rows] = subject
        updates[rows] = index_from_uniform(app["updates"], u[2])
        features["priority"][rows] = choice_from_uniform(app["priority"], u[3])
        is_ongoing = 100 * u[4] < app["ongoing"]
        features["ongoing"][rows] = np.where(is_ongoing, "True", "False")
        features["visibility"][rows] = choice_from_uniform(app["visibility"], u[5])
        repeats[rows] = index_from_uniform(app["more"], u[6])
    # In a burst, each notification follows the previous one within minutes and has a higher level of updates.
    burst = np.repeat(np.arange(len(times)), repeats + 1)
    first = (np.cumsum(repeats + 1) - repeats - 1)[burst]
    position = np.arange(len(burst)) - first
    low, high = BURST_GAP
    draws = draw_uniforms(seed, "bursts", len(burst))
    gaps = low + (draws * (high - low)).astype(np.int64)
    delay = np.cumsum(np.where(position > 0, gaps, 0))
    posted = times[burst] + delay - delay[first]
    order = np.argsort(posted, kind="stable")
    levels = np.minimum(updates[burst] + position, len(UPDATE_LEVELS) - 1)
    columns = {name: values[burst[order]] for name, values in features.items()}
    columns["numberOfUpdates"] = UPDATE_LEVELS[levels[order]]
    return posted[order], columns


def _burst_times(person, seed, days, likings):
    """Return the arrival time of the first notification of each burst, in microseconds, int64."""
    total_size = 0
    total_weight = 0
    for name, app in APPS.items():
        weight = likings[name] * sum(app["workday"][1:])
        size = sum((1 + extra) * count for extra, count in enumerate(app["more"]))
        total_size += weight * size / sum(app["more"])
        total_weight += weight
    mean_size = total_size / total_weight
    hours = PHONE["hours"]
    week = [hours["workday"]] * 5 + [hours["weekend"]] * 2
    volume = np.array(week)
    volume = volume * np.array(person.week_volume)[:, None]
    per_day = person.per_quarter / PERIOD_DAYS
    fraction = volume / volume.sum() * 7  # sums to 1 over the hours of a mean day
    # Probability of a burst in a minute, (weekday, hour).
    probability = per_day / mean_size * fraction / 60
    minutes = np.arange(days * MINUTES_PER_DAY)
    u, second = draw_uniforms(seed, "arrivals", (2, len(minutes)))
    weekday = minutes // MINUTES_PER_DAY % 7
    hour = minutes % MINUTES_PER_DAY // 60
    is_arrival = u < probability[weekday, hour]
    offsets = (second[is_arrival] * MINUTE).astype(np.int64)
    return minutes[is_arrival] * MINUTE + offsets


def _draw_apps(times, likings, u):
    """Return an app for each arrival; its probability depends on the time slot and on workday or weekend."""
    names = np.array(list(APPS), dtype=object)
    apps = np.empty(len(times), dtype=object)
    minutes = times // MINUTE
    is_weekend = minutes // MINUTES_PER_DAY % 7 >= 5
    slots = slot_number(minutes)
    for part, days in (("workday", ~is_weekend), ("weekend", is_weekend)):
        for slot in range(len(SLOTS)):
            rows = days & (slots == slot)
            weights = [likings[name] * app[part][slot] for name, app in APPS.items()]
            apps[rows] = names[index_from_uniform(weights, u[rows])]
    return apps
