"""The people behind the shipped users: their week, their apps, what they like when. Tables only.

A taste has main effects of the context (when the user looks at the phone at all), main effects of the notification,
and pairs: what is welcome here and unwelcome there. Mira and Ines share their main effects and half of their pairs,
so that what is learned from one helps with the other, and misleads now and then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pushlab.users.synthesis.day import SETTINGS, Setting, Stop

Effects = Mapping[str, Mapping[str, float]]  # {feature: {value: weight}}
Pair = tuple[
    str, str, str, str, float
]  # context feature and value, notification feature and value, weight
# Median seconds from posting to removal, early-morning to night.
RESPONSE = {
    "opened": (900, 150, 210, 120, 100),
    "dismissed": (2400, 200, 330, 180, 210),
}


@dataclass(frozen=True)
class Persona:
    """One person.

    about         a sentence for students
    week          seven plans, tuples of Stop, Monday first
    open_rate     mean probability of opening
    per_quarter   notifications in 84 days, about
    context, notification, pairs    the taste, as in `pushlab.users.synthesis.taste`
    likings       weight of an app; 10 where not named, 0 not installed
    settings      settings that differ from SETTINGS
    response      median seconds by action, in the order of SLOTS
    week_volume   how much arrives on each weekday, Monday first
    """

    about: str
    week: tuple[tuple[Stop, ...], ...]
    open_rate: float
    per_quarter: int
    context: Effects
    notification: Effects
    pairs: tuple[Pair, ...]
    likings: Mapping[str, int] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    response: Mapping[str, tuple[int, ...]] = field(default_factory=lambda: RESPONSE)
    week_volume: tuple[int, ...] = (10, 10, 10, 10, 10, 8, 7)


def when(feature: str, value: str, **liked: Mapping[str, float]) -> tuple[Pair, ...]:
    """The pairs of one context: what is liked there so much more, or less, {value: weight} by notification feature."""
    return tuple(
        (feature, value, name, word, weight)
        for name, by_word in liked.items()
        for word, weight in by_word.items()
    )


ASLEEP = (Stop("00:00", "asleep"),)


def _plan(*stops, after=ASLEEP):
    """A day that goes on with these stops, (clock, setting, spread, chance)."""
    return (*after, *(Stop(*stop) for stop in stops))


OFFICE_DAY = _plan(
    ("06:40", "home", 25),
    ("08:00", "commute", 20),
    ("08:45", "office", 15),
    ("12:20", "lunch", 20),
    ("13:10", "office", 10),
    ("17:20", "commute", 35),
    ("18:10", "errands", 15, 35),
    ("18:45", "home", 20),
    ("19:20", "gym", 15, 35),
    ("20:50", "home", 20),
    ("23:00", "asleep", 40),
)
OFFICE_FRIDAY = _plan(
    ("18:45", "home", 20),
    ("19:50", "out", 25, 75),
    ("22:50", "home", 25),
    ("23:35", "asleep", 20),
    after=OFFICE_DAY[:8],
)
CITY_SATURDAY = _plan(
    ("08:30", "home", 50),
    ("10:40", "errands", 30, 90),
    ("12:40", "home", 30),
    ("14:20", "outing", 40, 60),
    ("17:40", "home", 30),
    ("19:40", "out", 30, 60),
    ("22:50", "home", 30),
    ("23:35", "asleep", 20),
)
QUIET_SUNDAY = _plan(
    ("08:50", "home", 50),
    ("11:20", "gym", 30, 35),
    ("13:00", "home", 20),
    ("14:30", "outing", 40, 55),
    ("17:30", "home", 30),
    ("22:30", "asleep", 30),
)
CAMPUS_DAY = _plan(
    ("08:00", "home", 40),
    ("09:20", "commute", 20),
    ("10:00", "campus", 10),
    ("12:45", "lunch", 20),
    ("13:45", "campus", 10),
    ("16:40", "commute", 30),
    ("17:20", "home", 20),
    ("18:40", "gym", 20, 40),
    ("20:10", "home", 15),
    ("21:00", "out", 15, 30),
    ("23:20", "home", 15),
    ("23:45", "asleep", 10),
)
CAMPUS_FREE_DAY = _plan(
    ("09:20", "home", 40),
    ("11:30", "errands", 30, 50),
    ("13:00", "lunch", 20),
    ("14:00", "campus", 20, 50),
    ("17:00", "home", 30),
    ("20:00", "out", 20, 70),
    ("23:00", "home", 20),
    ("23:45", "asleep", 10),
)
EARLY_SHIFT = _plan(
    ("04:50", "home", 10),
    ("05:25", "commute", 8),
    ("06:00", "ward", 5),
    ("10:00", "lunch", 15),
    ("10:30", "ward", 5),
    ("14:10", "commute", 15),
    ("14:50", "home", 15),
    ("16:00", "errands", 30, 45),
    ("17:15", "home", 20),
    ("18:15", "gym", 15, 30),
    ("19:45", "home", 15),
    ("21:20", "asleep", 25),
)
LATE_SHIFT = _plan(
    ("08:30", "home", 40),
    ("10:30", "errands", 30, 40),
    ("11:40", "home", 15),
    ("12:45", "commute", 10),
    ("13:25", "ward", 5),
    ("17:40", "lunch", 15),
    ("18:15", "ward", 5),
    ("21:40", "commute", 12),
    ("22:20", "home", 10),
    ("23:40", "asleep", 15),
)
TEACHER_DAY = _plan(
    ("05:50", "home", 15),
    ("07:05", "commute", 10),
    ("07:35", "campus", 5),
    ("11:30", "lunch", 15),
    ("12:15", "campus", 5),
    ("15:40", "commute", 30),
    ("16:15", "errands", 15, 30),
    ("16:50", "home", 15),
    ("20:00", "out", 20, 12),
    ("21:45", "home", 10),
    ("22:30", "asleep", 25),
)
PENSION_DAY = _plan(
    ("07:00", "home", 30),
    ("09:45", "errands", 30, 60),
    ("11:40", "home", 20),
    ("12:30", "lunch", 20, 40),
    ("13:45", "home", 15),
    ("15:00", "outing", 30, 45),
    ("17:30", "home", 25),
    ("19:30", "out", 20, 20),
    ("22:00", "home", 15),
    ("22:50", "asleep", 30),
)
CLUB_DAY = _plan(
    ("13:45", "home", 15),
    ("14:40", "gym", 15, 80),
    ("16:40", "home", 20),
    ("19:00", "out", 20, 85),
    ("22:20", "home", 20),
    ("23:10", "asleep", 20),
    after=PENSION_DAY[:4],
)

CITY_CONTEXT = {  # when Mira and Ines look at their phones
    "time": {"early-morning": -1.2, "evening": 0.5, "night": 0.2},
    "place": {"TYPE_ACCOUNTING": -0.8, "TYPE_BAR": -0.9},
    "activity": {"vehicle": 0.5, "foot walking": -0.3, "foot running": -1.2},
    "ringerMode": {"silent": -0.4},
    "headphonesIn": {"True": 0.3},
    "batteryLevel": {"low": -0.4},
}
CITY_NOTIFICATION = {
    "subject": {"family": 0.4, "politics": -0.6, "celebrities": -0.5, "unknown": -0.3},
    "category": {"service": -0.9, "err": -0.6},
    "numberOfUpdates": {"medium": -0.1, "high": -0.3},
    "priority": {"max": 0.2, "high": 0.1, "min": -0.2},
    "ongoing": {"True": -0.2},
}
CITY_PAIRS = (
    *when("time", "morning", subject={"news": 1.6}),
    *when("time", "evening", subject={"news": -1.5}),
    *when("activity", "vehicle", category={"recommendation": 1.5}),
    *when("headphonesIn", "True", postingApp={"org.pushlab.music": 1.9}),
    *when("place", "TYPE_OTHER", category={"email": -1.6}),
    *when("place", "TYPE_BAKERY", subject={"food & drink": 2.2}),
    *when("place", "TYPE_OTHER", subject={"friends": 0.9}),
    *when("place", "TYPE_ACCOUNTING", postingApp={"org.pushlab.social": -1.6}),
    *when("activity", "foot walking", category={"transport": 2.0}),
    *when("day", "5", postingApp={"org.pushlab.shop": 1.6}),
)

MIRA = Persona(
    about="Mira works in an office and rides a train to it: mail at the desk, music and something to read "
    "on the way, friends and videos on the sofa in the evening.",
    week=(OFFICE_DAY,) * 4 + (OFFICE_FRIDAY, CITY_SATURDAY, QUIET_SUNDAY),
    open_rate=0.66,
    per_quarter=3000,
    likings={"games": 4, "learn": 6, "mail": 12, "news": 12},
    context=CITY_CONTEXT,
    notification=CITY_NOTIFICATION,
    pairs=(
        *CITY_PAIRS,
        *when(
            "place",
            "TYPE_ACCOUNTING",
            category={"email": 2.4},
            subject={"business services": 1.4, "games": -2.0},
        ),
        *when("time", "evening", subject={"online video": 2.0, "friends": 1.2}),
        *when("time", "morning", subject={"online video": -2.0}),
        *when("time", "afternoon", subject={"sports": -1.2}),
        *when("time", "evening", subject={"finance": -1.5}),
        *when("headphonesIn", "True", postingApp={"org.pushlab.chat": -1.0}),
    ),
)

INES = Persona(
    about="Ines studies: much like Mira on the way and among friends, but at the university she wants no mail, "
    "plays games between lectures and reads the news at night.",
    week=(
        CAMPUS_DAY,
        CAMPUS_DAY,
        CAMPUS_DAY,
        CAMPUS_DAY,
        CAMPUS_FREE_DAY,
        CITY_SATURDAY,
        QUIET_SUNDAY,
    ),
    open_rate=0.45,
    per_quarter=3200,
    week_volume=(10, 10, 10, 10, 10, 10, 8),
    likings={
        "games": 12,
        "learn": 16,
        "mail": 7,
        "bank": 4,
        "social": 14,
        "calendar": 7,
    },
    context=CITY_CONTEXT,
    notification=CITY_NOTIFICATION,
    pairs=(
        *CITY_PAIRS,
        *when(
            "place",
            "TYPE_ACCOUNTING",
            category={"email": -1.6},
            subject={"games": 2.4, "education": 1.8},
        ),
        *when(
            "time",
            "evening",
            subject={
                "education": -2.0,
                "online video": -1.4,
                "arts & entertainment": 1.9,
            },
        ),
        *when(
            "time",
            "night",
            postingApp={"org.pushlab.news": 2.0},
            subject={"games": -1.2},
        ),
        *when("place", "TYPE_BAR", subject={"friends": 1.8}),
        *when("activity", "foot walking", postingApp={"org.pushlab.fitness": 1.8}),
    ),
    response={
        "opened": (700, 90, 130, 70, 60),
        "dismissed": (3000, 240, 300, 200, 150),
    },
)

NOOR = Persona(
    about="Noor is a nurse who works late and early shifts: transport matters on foot, the calendar at "
    "work; the evening is hers, and what others open then she sweeps away.",
    week=(
        EARLY_SHIFT,
        EARLY_SHIFT,
        LATE_SHIFT,
        LATE_SHIFT,
        EARLY_SHIFT,
        CITY_SATURDAY,
        LATE_SHIFT,
    ),
    open_rate=0.27,
    per_quarter=2500,
    week_volume=(10, 10, 10, 10, 10, 10, 10),
    likings={
        "transit": 22,
        "calendar": 18,
        "games": 6,
        "mail": 6,
        "learn": 12,
        "shop": 12,
    },
    context={
        "time": {"early-morning": 0.4, "morning": 0.5, "evening": -0.6, "night": -0.9},
        "place": {"TYPE_ACCOUNTING": -1.0, "TYPE_OTHER": 0.3},
        "activity": {"vehicle": 0.6, "foot walking": -0.4},
        "noise": {"high": -0.4},
        "charging": {"True": 0.4},
        "proximity": {"near": -0.3},
    },
    notification={
        "subject": {"shopping": -0.5, "online communities": -0.7, "family": 0.5},
        "category": {"msg": -0.3, "service": -0.8},
        "priority": {"max": 0.3, "high": 0.2, "low": -0.1},
        "visibility": {"secret": 0.1},
    },
    pairs=(
        *when("activity", "foot walking", category={"transport": 2.2}),
        *when("charging", "True", postingApp={"org.pushlab.learn": 2.2}),
        *when("activity", "still", category={"transport": -1.2}),
        *when(
            "place", "TYPE_ACCOUNTING", category={"event": 2.2}, subject={"family": 1.4}
        ),
        *when("place", "TYPE_OTHER", category={"event": -1.2}),
        *when("time", "evening", subject={"friends": -1.8, "online video": -1.8}),
        *when(
            "time",
            "morning",
            subject={"friends": 2.0, "shopping": 1.8},
            category={"email": 1.2},
        ),
        *when(
            "time", "afternoon", subject={"food & drink": 2.2}, category={"status": 1.3}
        ),
        *when("time", "night", subject={"humor": 2.3, "arts & entertainment": 1.8}),
        *when("noise", "high", postingApp={"org.pushlab.chat": -1.2}),
        *when("day", "5", category={"recommendation": 1.2}),
    ),
    response={
        "opened": (300, 120, 400, 260, 180),
        "dismissed": (900, 260, 900, 500, 300),
    },
)

THEO = Persona(
    about="Theo teaches and drives to school: he opens one notification in ten, his calendar at work, sports on the "
    "sofa, and almost nothing while he drives or teaches.",
    week=(TEACHER_DAY,) * 5 + (CITY_SATURDAY, QUIET_SUNDAY),
    open_rate=0.10,
    per_quarter=3200,
    likings={
        "chat": 7,
        "shop": 16,
        "social": 14,
        "games": 14,
        "news": 14,
        "system": 14,
        "music": 6,
    },
    settings={
        "commute": SETTINGS["commute"]._replace(
            activity={"vehicle": 96, "still": 4},
            headphones=0,
            music=40,
            plugged=70,
            proximity={"far": 90, "near": 10},
        )
    },
    context={
        "time": {"early-morning": -0.5, "morning": -0.3, "evening": 0.6},
        "place": {"TYPE_ACCOUNTING": -0.7, "TYPE_OTHER": 0.4},
        "activity": {"vehicle": -1.2, "foot walking": -0.2},
        "ringerMode": {"silent": -0.5, "normal": 0.2},
        "day": {"5": 0.3, "6": 0.4},
    },
    notification={
        "subject": {
            "shopping": -0.9,
            "games": -0.6,
            "celebrities": -1.0,
            "family": 0.6,
        },
        "category": {"recommendation": -0.6, "service": -0.8, "err": -0.4},
        "priority": {"max": 0.3, "high": 0.2, "min": -0.3},
        "numberOfUpdates": {"low": 0.1, "high": 0.2},
    },
    pairs=(
        *when(
            "place",
            "TYPE_ACCOUNTING",
            category={"event": 2.5},
            subject={"education": 2.3},
        ),
        *when("place", "TYPE_OTHER", subject={"education": -1.2, "sports": 2.2}),
        *when("day", "5", postingApp={"org.pushlab.games": 1.8}),
        *when("time", "evening", subject={"sports": 1.6}),
        *when("time", "morning", category={"status": 2.0}, subject={"news": 1.8}),
        *when("time", "afternoon", subject={"finance": 1.8}),
        *when("time", "night", subject={"games": 2.0}),
        *when("time", "evening", category={"email": -1.5}, subject={"family": 1.4}),
        *when("time", "morning", category={"transport": 2.2}),
        *when("time", "afternoon", subject={"food & drink": 2.0}),
        *when("day", "6", subject={"arts & entertainment": 2.2}),
    ),
    response={
        "opened": (1500, 400, 600, 300, 250),
        "dismissed": (5000, 900, 1200, 600, 700),
    },
)

OMAR = Persona(
    about="Omar is retired and opens nearly everything; only company makes him put the phone away, and work, "
    "fitness and late alarms bore him.",
    week=(
        PENSION_DAY,
        CLUB_DAY,
        PENSION_DAY,
        CLUB_DAY,
        PENSION_DAY,
        CITY_SATURDAY,
        QUIET_SUNDAY,
    ),
    open_rate=0.88,
    per_quarter=2300,
    week_volume=(10, 10, 10, 10, 10, 10, 9),
    likings={
        "learn": 8,
        "games": 10,
        "news": 18,
        "calendar": 6,
        "fitness": 14,
        "transit": 6,
        "chat": 12,
        "mail": 7,
    },
    settings={
        "errands": SETTINGS["errands"]._replace(
            activity={"bicycle": 60, "foot walking": 25, "still": 15}, headphones=0
        )
    },
    context={
        "time": {"early-morning": -0.8, "morning": 0.5, "night": -0.4},
        "place": {"TYPE_BAR": -1.2, "TYPE_ART_GALLERY": -0.6, "TYPE_OTHER": 0.4},
        "activity": {"bicycle": -1.0, "foot running": -1.0},
        "batteryLevel": {"low": -0.5},
        "noise": {"high": -0.5},
    },
    notification={
        "subject": {
            "business services": -0.8,
            "fitness": -0.9,
            "news": 0.5,
            "family": 0.5,
        },
        "category": {"alarm": -0.5, "err": -0.6},
        "priority": {"high": 0.1, "min": -0.3},
        "ongoing": {"True": -0.3},
    },
    pairs=(
        *when("time", "evening", subject={"news": -2.0}, category={"email": -1.8}),
        *when("time", "evening", subject={"friends": 1.5}),
        *when("time", "morning", subject={"friends": -1.6, "games": -2.2}),
        *when("time", "night", subject={"games": 2.0}, category={"status": -2.2}),
        *when("time", "afternoon", subject={"online video": -1.8}),
        *when("place", "TYPE_BAR", category={"msg": -1.5}),
        *when("time", "afternoon", subject={"fitness": 2.2}),
        *when("time", "morning", subject={"finance": 1.8}),
        *when("place", "TYPE_OTHER", subject={"travel": -1.5}),
        *when("day", "6", subject={"family": 1.5}, category={"reminder": -2.0}),
        *when("activity", "foot walking", category={"reminder": 1.5}),
    ),
    response={
        "opened": (1200, 60, 80, 60, 90),
        "dismissed": (4000, 150, 200, 150, 300),
    },
)
