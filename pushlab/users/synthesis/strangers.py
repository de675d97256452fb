"""People nobody has seen: a week, apps and a taste drawn from a seed, for evaluations nobody can read in advance."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pushlab.datasets.draws import uniforms
from pushlab.users.synthesis.arrivals import APPS, CATALOGUE
from pushlab.users.synthesis.day import SETTINGS, SLOTS
from pushlab.users.synthesis.personas import (
    INES,
    MIRA,
    NOOR,
    OMAR,
    RESPONSE,
    THEO,
    Persona,
)

WHO = (
    ("an office worker", MIRA),
    ("a student", INES),
    ("a nurse on shifts", NOOR),
    ("a teacher", THEO),
    ("a pensioner", OMAR),
)  # whose week it may be
LIKINGS = (
    0,
    4,
    7,
    10,
    10,
    14,
    18,
    22,
)  # what an app's weight may be; 0 is not installed
PACES = (60, 100, 180)  # percent of the usual response times
SUBJECTS = sorted({subject for _, _, subject in CATALOGUE} - {"unknown"})
CATEGORIES = sorted({category for _, category, _ in CATALOGUE} - {"call", "unknown"})
TWO_SIDED = 11  # subjects or categories welcome in one context, unwelcome in another
MOMENTS = tuple(("time", slot) for slot in SLOTS[1:]) + (
    ("activity", "foot walking"),
    ("activity", "vehicle"),
    ("headphonesIn", "True"),
    ("day", "5"),
    ("day", "6"),
)


class Dice:
    """Uniforms of one stream taken one after the other."""

    def __init__(self, seed: int):
        self.numbers = iter(uniforms(seed, "persona", 1000))

    def one_of(self, options: Sequence[Any]) -> Any:
        """One of the options, all alike likely."""
        return options[int(next(self.numbers) * len(options))]

    def some_of(self, options: Sequence[Any], count: int) -> list:
        """That many different options."""
        order = np.argsort([next(self.numbers) for _ in options], kind="stable")
        return [options[index] for index in order[:count]]

    def weight(self, low: float, high: float) -> float:
        """A weight with one decimal, from low to high."""
        return self.one_of(range(round(10 * low), round(10 * high) + 1)) / 10

    def signed(self, low: float, high: float) -> float:
        """A weight whose sign is drawn too."""
        return self.one_of((-1, 1)) * self.weight(low, high)


def draw_persona(
    seed: int, open_rate: float | None = None, per_quarter: int | None = None
) -> Persona:
    """A Persona drawn from a seed; what is given is not drawn."""
    dice = Dice(seed)
    who, like = dice.one_of(WHO)
    drawn_rate, drawn_number = (
        dice.one_of(range(10, 91)) / 100,
        dice.one_of(range(1600, 3300)),
    )
    shift, pace = dice.one_of(range(-40, 41)), dice.one_of(PACES)
    likings = {name.rpartition(".")[2]: dice.one_of(LIKINGS) for name in APPS}
    tags = sorted(
        {
            tag
            for plan in like.week
            for stop in plan
            for place in SETTINGS[stop.setting].place
            for tag in place.split()
        }
    )
    context, notification, pairs = _draw_taste(dice, tags)
    return Persona(
        f"Somebody drawn from a seed, with the week of {who}.",
        tuple(tuple(_later(stop, shift) for stop in plan) for plan in like.week),
        drawn_rate if open_rate is None else open_rate,
        drawn_number if per_quarter is None else per_quarter,
        context,
        notification,
        pairs,
        likings,
        response={
            action: tuple(seconds * pace // 100 for seconds in medians)
            for action, medians in RESPONSE.items()
        },
    )


def _later(stop, minutes):
    """The same stop that many minutes later, or earlier; midnight stays."""
    minute = stop.minute + minutes
    return (
        replace(stop, clock=f"{minute // 60:02d}:{minute % 60:02d}")
        if stop.minute
        else stop
    )


def _draw_taste(dice, tags):
    """Main effects, and pairs in which one subject or category is welcome in one context and unwelcome in another."""
    context = {
        "time": {slot: dice.signed(0.2, 0.8) for slot in dice.some_of(SLOTS[1:], 3)}
        | {"early-morning": -dice.weight(0.3, 1.2)},
        "place": {tag: dice.signed(0.3, 1.0) for tag in dice.some_of(tags, 3)},
        "activity": {
            "vehicle": dice.signed(0.3, 0.8),
            "foot running": -dice.weight(0.5, 1.2),
        },
        "ringerMode": {"silent": -dice.weight(0.2, 0.6)},
        "headphonesIn": {"True": dice.signed(0.2, 0.5)},
    }
    notification = {
        "subject": {
            subject: dice.signed(0.3, 0.7) for subject in dice.some_of(SUBJECTS, 6)
        },
        "category": {
            category: dice.signed(0.2, 0.6) for category in dice.some_of(CATEGORIES, 2)
        },
        "priority": {"max": dice.weight(0, 0.3), "min": -dice.weight(0, 0.3)},
        "numberOfUpdates": {"high": dice.signed(0, 0.3)},
        "ongoing": {"True": dice.signed(0, 0.3)},
        "visibility": {"public": dice.signed(0, 0.2)},
    }
    moments = [*MOMENTS, *(("place", tag) for tag in tags)]
    topics = [("subject", subject) for subject in SUBJECTS] + [
        ("category", category) for category in CATEGORIES
    ]
    pairs = []
    for topic in dice.some_of(topics, TWO_SIDED):
        welcome, unwelcome = dice.some_of(moments, 2)
        pairs.append((*welcome, *topic, dice.weight(1.3, 2.5)))
        pairs.append((*unwelcome, *topic, -dice.weight(1.0, 2.2)))
    return context, notification, tuple(pairs)
