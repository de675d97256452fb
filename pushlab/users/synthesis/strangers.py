"""People nobody has seen: a week, apps and a taste drawn from a seed, for evaluations nobody can read in advance."""

from dataclasses import replace

import numpy as np

from pushlab.datasets.draws import pick, uniforms
from pushlab.users.synthesis import personas
from pushlab.users.synthesis.catalogue import APPS
from pushlab.users.synthesis.day import SETTINGS, SLOTS
from pushlab.users.synthesis.personas import RESPONSE, Persona

WEEKS = (       # of whom, and the week
    ("an office worker", personas.MIRA.week),
    ("a student", personas.INES.week),
    ("a nurse on shifts", personas.NOOR.week),
    ("a teacher", personas.THEO.week),
    ("a pensioner", personas.OMAR.week),
)
LIKINGS = (0, 4, 7, 10, 10, 14, 18, 22)         # what an app's weight may be; 0 is not installed
PACES = (60, 100, 180)                          # percent of the usual response times
SUBJECTS = tuple(sorted({subject for app in APPS.values() for _, subject, _ in app.rows} - {"unknown"}))
CATEGORIES = ("alarm", "email", "err", "event", "msg", "recommendation", "reminder", "service", "status", "transport")
TWO_SIDED = 11                                  # subjects or categories welcome in one context, unwelcome in another
MOMENTS = tuple(("time", slot) for slot in SLOTS[1:]) + (
    ("activity", "foot walking"), ("activity", "vehicle"), ("headphonesIn", "True"), ("day", "5"), ("day", "6"))


class Dice:
    """Uniforms of one stream taken one after the other."""

    def __init__(self, seed):
        self.numbers = iter(uniforms(seed, "persona", 1000))

    def one_of(self, options):
        """One of the options, all alike likely."""
        return options[int(pick([1] * len(options), next(self.numbers)))]

    def some_of(self, options, count):
        """That many different options."""
        order = np.argsort([next(self.numbers) for _ in options], kind="stable")
        return [options[index] for index in order[:count]]

    def weight(self, low, high):
        """A weight with one decimal, from low to high."""
        return self.one_of(range(round(10 * low), round(10 * high) + 1)) / 10

    def signed(self, low, high):
        """A weight whose sign is drawn too."""
        return self.one_of((-1, 1)) * self.weight(low, high)


def draw_persona(seed, open_rate=None, per_quarter=None):
    """A Persona drawn from a seed; what is given is not drawn."""
    dice = Dice(seed)
    who, week = dice.one_of(WEEKS)
    drawn_rate, drawn_number = dice.one_of(range(10, 91)) / 100, dice.one_of(range(1600, 3300))
    shift = dice.one_of(range(-40, 41))
    pace = dice.one_of(PACES)
    return Persona(
        about=f"Somebody drawn from a seed, with the week of {who}.",
        week=tuple(tuple(later(stop, shift) for stop in plan) for plan in week),
        open_rate=drawn_rate if open_rate is None else open_rate,
        per_quarter=drawn_number if per_quarter is None else per_quarter,
        likings={name.rpartition(".")[2]: dice.one_of(LIKINGS) for name in APPS},
        taste=draw_taste(dice, places_of(week)),
        response={action: tuple(seconds * pace // 100 for seconds in medians) for action, medians in RESPONSE.items()},
    )


def later(stop, minutes):
    """The same stop that many minutes later, or earlier; midnight stays."""
    if stop.minute == 0:
        return stop
    minute = stop.minute + minutes
    return replace(stop, clock=f"{minute // 60:02d}:{minute % 60:02d}")


def places_of(week):
    """The tags of all places of a week, sorted."""
    return sorted({tag for plan in week for stop in plan for place, _ in SETTINGS[stop.setting].place
                   for tag in place.split()})


def draw_taste(dice, tags):
    """Main effects, and pairs in which one subject or category is welcome in one context and unwelcome in another."""
    context = {
        "time": {slot: dice.signed(0.2, 0.8) for slot in dice.some_of(SLOTS[1:], 3)} | {
            "early-morning": -dice.weight(0.3, 1.2)},
        "place": {tag: dice.signed(0.3, 1.0) for tag in dice.some_of(tags, 3)},
        "activity": {"vehicle": dice.signed(0.3, 0.8), "foot running": -dice.weight(0.5, 1.2)},
        "ringerMode": {"silent": -dice.weight(0.2, 0.6)},
        "headphonesIn": {"True": dice.signed(0.2, 0.5)},
    }
    notification = {
        "subject": {subject: dice.signed(0.3, 0.7) for subject in dice.some_of(SUBJECTS, 6)},
        "category": {category: dice.signed(0.2, 0.6) for category in dice.some_of(CATEGORIES, 2)},
        "priority": {"max": dice.weight(0, 0.3), "min": -dice.weight(0, 0.3)},
        "numberOfUpdates": {"high": dice.signed(0, 0.3)},
        "ongoing": {"True": dice.signed(0, 0.3)},
        "visibility": {"public": dice.signed(0, 0.2)},
    }
    moments = [*MOMENTS, *(("place", tag) for tag in tags)]
    topics = [("subject", subject) for subject in SUBJECTS] + [("category", category) for category in CATEGORIES]
    pairs = []
    for topic in dice.some_of(topics, TWO_SIDED):
        welcome, unwelcome = dice.some_of(moments, 2)
        pairs.append((*welcome, *topic, dice.weight(1.3, 2.5)))
        pairs.append((*unwelcome, *topic, -dice.weight(1.0, 2.2)))
    return {"context": context, "notification": notification, "pairs": tuple(pairs)}
