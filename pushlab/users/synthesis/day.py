"""A model of a day: where the phone is and what its sensors say, at any minute.

A day is a plan of stops (asleep, home, commute, office, …). Each stop is a setting: a place, a loudness, a ringer mode,
the chance of headphones or of a charger. What belongs to a stretch of time stays as it is over that stretch; activity
and proximity may change every quarter of an hour; the battery fills and drains. So the context of a notification and
that of its removal come from one and the same day.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from pushlab.datasets.draws import pick_value, uniforms

Options = Mapping[str, int]  # weight of each value, whole numbers
Stretches = list[tuple[str, int, int]]  # setting, first minute, minute after the last

DAY = 24 * 60  # minutes
QUARTER_HOUR = 15  # minutes
SLOTS = ("early-morning", "morning", "afternoon", "evening", "night")
SLOT_STARTS = (0, 6, 12, 17, 21)  # hours, as in the EvalUMAP data
BATTERY_EDGES = (30, 70)  # percent: below is low, below is medium, the rest is high
CHARGE = 600  # thousandths of a percent a minute at the charger
NEARLY_EMPTY = 20_000  # thousandths of a percent
LOUDSPEAKER = 8  # percent of the stops without headphones at which music plays
# Percent of the quarter hours in which a sensor says nothing. The real data have 60 to 95 % of unknown places.
GAPS = {
    "place": 12,
    "activity": 8,
    "noise": 5,
    "batteryLevel": 3,
    "proximity": 6,
    "ringerMode": 3,
    "lightIntensity": 5,
}
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


class Setting(NamedTuple):
    """What a phone senses at one kind of stop. Options are {value: weight}; chances are percent.

    place          sets of tags, one set drawn a stop
    activity, proximity       drawn every quarter of an hour
    noise, ringerMode, lightIntensity     drawn once a stop
    headphones     chance that they are in for the whole stop; music: chance that it plays then
    plugged        chance that the phone is at a charger for the whole stop
    drain          thousandths of a percent of battery a minute
    """

    place: Options
    activity: Options = {"still": 85, "foot walking": 10, "tilting": 5}
    noise: Options = {"low": 60, "medium": 35, "high": 5}
    ringerMode: Options = {"normal": 60, "vibrate": 30, "silent": 10}
    lightIntensity: Options = {"low": 60, "medium": 30, "high": 10}
    proximity: Options = {"far": 60, "med": 25, "near": 15}
    headphones: int = 5
    music: int = 70
    plugged: int = 0
    drain: int = 75


SETTINGS = {
    "asleep": Setting(
        {"TYPE_OTHER": 1},
        {"still": 99, "tilting": 1},
        {"low": 97, "medium": 3},
        {"silent": 75, "vibrate": 20, "normal": 5},
        {"low": 1},
        {"far": 70, "near": 30},
        headphones=1,
        plugged=80,
        drain=15,
    ),
    "home": Setting({"TYPE_OTHER": 1}, headphones=12, plugged=15, drain=75),
    "commute": Setting(
        {"TYPE_ATM": 3, "TYPE_ATM TYPE_BAKERY": 2},
        {"vehicle": 70, "foot walking": 25, "still": 5},
        {"medium": 50, "high": 50},
        {"vibrate": 60, "normal": 30, "silent": 10},
        {"medium": 50, "high": 50},
        {"near": 50, "med": 20, "far": 30},
        headphones=50,
        music=85,
        drain=130,
    ),
    "office": Setting(
        {"TYPE_ACCOUNTING TYPE_BANK": 4, "TYPE_ACCOUNTING": 6},
        {"still": 88, "foot walking": 8, "tilting": 4},
        {"low": 50, "medium": 45, "high": 5},
        {"vibrate": 55, "silent": 40, "normal": 5},
        {"medium": 80, "low": 20},
        headphones=20,
        music=80,
        plugged=15,
        drain=60,
    ),
    "campus": Setting(
        {"TYPE_ACCOUNTING TYPE_ART_GALLERY": 5, "TYPE_ACCOUNTING": 5},
        {"still": 80, "foot walking": 16, "tilting": 4},
        {"low": 55, "medium": 40, "high": 5},
        {"silent": 65, "vibrate": 35},
        {"medium": 80, "low": 20},
        headphones=15,
        music=80,
        drain=85,
    ),
    "ward": Setting(
        {"TYPE_ACCOUNTING": 5, "TYPE_ACCOUNTING TYPE_ATM": 5},
        {"foot walking": 55, "still": 40, "tilting": 5},
        {"medium": 70, "low": 20, "high": 10},
        {"silent": 60, "vibrate": 40},
        {"high": 60, "medium": 40},
        {"near": 80, "med": 10, "far": 10},
        headphones=0,
        plugged=10,
        drain=45,
    ),
    "lunch": Setting(
        {"TYPE_BAKERY": 6, "TYPE_ACCOUNTING TYPE_BAKERY": 4},
        {"still": 60, "foot walking": 40},
        {"medium": 60, "high": 30, "low": 10},
        headphones=8,
        drain=90,
    ),
    "errands": Setting(
        {"TYPE_ATM TYPE_BANK": 5, "TYPE_BAKERY TYPE_BANK": 5},
        {"foot walking": 70, "still": 20, "vehicle": 10},
        {"medium": 60, "high": 40},
        proximity={"near": 60, "far": 40},
        headphones=20,
        music=85,
        drain=110,
    ),
    "gym": Setting(
        {"TYPE_AMUSEMENT_PARK": 1},
        {"foot running": 55, "foot walking": 25, "still": 20},
        {"high": 70, "medium": 30},
        {"vibrate": 50, "silent": 40, "normal": 10},
        {"high": 1},
        {"near": 60, "far": 40},
        headphones=65,
        music=95,
        drain=130,
    ),
    "out": Setting(
        {"TYPE_BAR": 6, "TYPE_ART_GALLERY TYPE_BAR": 4},
        {"still": 70, "foot walking": 25, "vehicle": 5},
        {"high": 65, "medium": 35},
        {"vibrate": 60, "normal": 30, "silent": 10},
        proximity={"near": 55, "far": 45},
        headphones=2,
        drain=90,
    ),
    "outing": Setting(
        {
            "TYPE_AMUSEMENT_PARK TYPE_AQUARIUM": 4,
            "TYPE_ART_GALLERY": 4,
            "TYPE_AIRPORT": 2,
        },
        {"foot walking": 60, "still": 25, "vehicle": 15},
        {"medium": 65, "high": 25, "low": 10},
        {"normal": 60, "vibrate": 40},
        {"high": 1},
        {"near": 55, "far": 45},
        headphones=8,
        drain=120,
    ),
}


@dataclass(frozen=True)
class Stop:
    """One line of a plan: a setting that begins at a time of day, more or less, on most days.

    clock   "HH:MM"; spread: at most so many minutes before or after
    chance  percent of days on which the stop takes place; on the others the stop before goes on
    """

    clock: str
    setting: str
    spread: int = 0
    chance: int = 100

    @property
    def minute(self) -> int:
        """Minutes after midnight."""
        hours, minutes = self.clock.split(":")
        return 60 * int(hours) + int(minutes)


def plan_day(stops: Sequence[Stop], draws: Any) -> Stretches:
    """One day's stretches, tuples (setting, first minute, minute after the last), that cover the 1,440 minutes.

    stops   tuple of Stop in the order of the day; the first begins at 00:00 and always takes place
    draws   uniforms (len(stops), 2): whether a stop takes place, and how early or late it begins

    >>> plan_day((Stop("00:00", "asleep"), Stop("07:00", "home", spread=30)), [(0.0, 0.0), (0.0, 0.5)])
    [('asleep', 0, 420), ('home', 420, 1440)]
    """
    begun = []
    for stop, (whether, when) in zip(stops, draws, strict=True):
        if 100 * whether < stop.chance:
            start = stop.minute + int(round((2 * when - 1) * stop.spread))
            start = max(start, begun[-1][1] + QUARTER_HOUR) if begun else 0
            begun.append((stop.setting, min(start, DAY)))
    return [
        (setting, start, end)
        for (setting, start), (_, end) in pairwise([*begun, ("", DAY)])
        if start < end
    ]


def slot_number(minutes: Any) -> np.ndarray:
    """Which of SLOTS each minute falls in, counted from a midnight.

    >>> slot_number([0, 359.9, 360, 1439, 1440]).tolist()
    [0, 0, 1, 4, 0]
    """
    return (
        np.searchsorted(SLOT_STARTS, np.asarray(minutes) % DAY // 60, side="right") - 1
    )


@dataclass(frozen=True)
class Timeline:
    """Every minute of some days of one phone.

    stops    the stretches lived, (setting, first minute, minute after the last), minutes from the first midnight
    sensed   for each name in SENSED an object array (minutes,) of values
    """

    stops: Stretches
    sensed: dict[str, np.ndarray]

    def at(self, minutes: Any) -> dict[str, np.ndarray]:
        """The context at each of these minutes: a dict of object arrays, `day`, `time` and SENSED."""
        minutes = np.asarray(minutes)
        clock = {
            "day": (minutes // DAY % 7).astype(str).astype(object),  # "0" is Monday
            "time": np.array(SLOTS, dtype=object)[slot_number(minutes)],
        }
        return clock | {name: self.sensed[name][minutes] for name in SENSED}


def live(
    week: Sequence[Sequence[Stop]],
    days: int,
    seed: int,
    settings: Mapping[str, Setting] = SETTINGS,
) -> Timeline:
    """Lives some days, from a Monday, by seven plans (Monday first)."""
    stops = lay_out(
        week, days, uniforms(seed, "days", (days, 2 * max(len(plan) for plan in week)))
    )
    sensed = {name: np.empty(days * DAY, dtype=object) for name in SENSED}
    for (setting, start, end), draws in zip(
        stops, uniforms(seed, "stops", (len(stops), 7)), strict=True
    ):
        fill_stop(sensed, settings[setting], start, end, draws)
    quarters = uniforms(seed, "quarters", (2 + len(GAPS), days * DAY // QUARTER_HOUR))
    draws = iter(
        np.repeat(quarters, QUARTER_HOUR, axis=1)
    )  # each of a row's uniforms counts 15 minutes
    for name, u in zip(("activity", "proximity"), draws):
        for setting, start, end in stops:
            sensed[name][start:end] = pick_value(
                getattr(settings[setting], name), u[start:end]
            )
    fill_battery(sensed, stops, settings)
    for (name, percent), u in zip(GAPS.items(), draws):
        sensed[name][100 * u < percent] = "unknown"  # the sensor is silent
    return Timeline(stops, sensed)


def lay_out(week: Sequence[Sequence[Stop]], days: int, draws: np.ndarray) -> Stretches:
    """The stretches of all days one after the other; the same setting before and after midnight is one stretch."""
    stops: Stretches = []
    for day in range(days):
        plan = week[day % 7]
        for setting, start, end in plan_day(
            plan, draws[day, : 2 * len(plan)].reshape(-1, 2)
        ):
            start, end = day * DAY + start, day * DAY + end
            if stops and stops[-1][0] == setting:
                start = stops.pop()[1]
            stops.append((setting, start, end))
    return stops


def fill_stop(
    sensed: dict, setting: Setting, start: int, end: int, draws: np.ndarray
) -> None:
    """Writes what stays the same over one stop; seven uniforms decide it."""
    for name, u in zip(("place", "noise", "ringerMode", "lightIntensity"), draws):
        sensed[name][start:end] = pick_value(getattr(setting, name), u)
    headphones, music, plugged = 100 * draws[4:]
    wearing = headphones < setting.headphones
    sensed["headphonesIn"][start:end] = str(wearing)
    sensed["musicActive"][start:end] = str(
        music < (setting.music if wearing else LOUDSPEAKER)
    )
    sensed["charging"][start:end] = str(plugged < setting.plugged)


def fill_battery(
    sensed: dict, stops: Stretches, settings: Mapping[str, Setting], level: int = 90_000
) -> None:
    """Writes low, medium or high, from a level in thousandths of a percent that fills and drains, whole numbers only.

    Where there is a charger, a nearly empty phone is plugged in for the whole stop.
    """
    words = np.array(("low", "medium", "high"), dtype=object)
    for name, start, end in stops:
        if level < NEARLY_EMPTY and settings[name].plugged:
            sensed["charging"][start:end] = "True"
        rate = CHARGE if sensed["charging"][start] == "True" else -settings[name].drain
        levels = np.clip(level + rate * np.arange(1, end - start + 1), 0, 100_000)
        sensed["batteryLevel"][start:end] = words[
            np.searchsorted(BATTERY_EDGES, levels // 1000, side="right")
        ]
        level = int(levels[-1])
