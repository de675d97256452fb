"""The apps of the shipped phones: which notifications exist, when an app sends, what its notifications look like.

The packages are fictional. The catalogue, every combination of app, category and subject that can arrive, is what an
agent may choose from; nothing in it tells what anyone opens.
"""

from dataclasses import dataclass

UPDATES = ("none", "low", "medium", "high")     # numberOfUpdates, in rising order


@dataclass(frozen=True)
class App:
    """One app. All weights are whole numbers and count against each other.

    rows        (category, subject, weight): what it sends
    workday     how much it sends in each time slot, early-morning to night
    weekend     the same on Saturday and Sunday
    priority, visibility, updates   (value, weight)
    ongoing     percent of its notifications that stay while something runs
    more        weights of 0, 1, 2, … further notifications within minutes: a burst
    """

    rows: tuple[tuple[str, str, int], ...]
    workday: tuple[int, ...]
    weekend: tuple[int, ...]
    priority: tuple[tuple[str, int], ...] = (("default", 8), ("high", 1), ("low", 1))
    visibility: tuple[tuple[str, int], ...] = (("private", 9), ("public", 1))
    updates: tuple[tuple[str, int], ...] = (("none", 7), ("low", 2), ("medium", 1))
    ongoing: int = 0
    more: tuple[int, ...] = (1,)


#                     slots:  early-morning, morning, afternoon, evening, night
APPS = {
    "org.pushlab.chat": App(
        (("msg", "family", 4), ("msg", "friends", 5), ("msg", "online communities", 2), ("msg", "unknown", 3),
         ("call", "family", 1), ("call", "unknown", 1)),
        workday=(10, 12, 14, 26, 28), weekend=(20, 16, 20, 26, 26),
        priority=(("high", 6), ("default", 3), ("max", 1)),
        updates=(("none", 4), ("low", 4), ("medium", 1), ("high", 1)),
        more=(60, 22, 11, 5, 2)),
    "org.pushlab.mail": App(
        (("email", "business services", 4), ("email", "email & messaging", 3), ("email", "shopping", 2),
         ("email", "finance", 2), ("email", "education", 2), ("email", "travel", 1), ("email", "unknown", 3)),
        workday=(8, 24, 22, 8, 4), weekend=(6, 8, 6, 6, 4),
        updates=(("none", 5), ("low", 4), ("medium", 1)), more=(85, 12, 3)),
    "org.pushlab.calendar": App(
        (("event", "business services", 4), ("event", "family", 2), ("event", "health", 1),
         ("reminder", "business services", 2), ("reminder", "education", 2)),
        workday=(2, 12, 9, 4, 1), weekend=(1, 4, 3, 3, 1),
        priority=(("high", 7), ("default", 3)), updates=(("none", 9), ("low", 1))),
    "org.pushlab.news": App(
        (("recommendation", "news", 5), ("recommendation", "sports", 3), ("recommendation", "finance", 2),
         ("recommendation", "science", 2), ("recommendation", "politics", 2), ("status", "weather", 2)),
        workday=(18, 20, 8, 9, 6), weekend=(16, 16, 9, 12, 6),
        priority=(("default", 7), ("low", 3)), visibility=(("public", 8), ("private", 2))),
    "org.pushlab.social": App(
        (("msg", "online communities", 3), ("recommendation", "arts & entertainment", 2),
         ("recommendation", "celebrities", 2), ("recommendation", "humor", 2), ("event", "friends", 2),
         ("unknown", "online communities", 1)),
        workday=(8, 7, 9, 18, 18), weekend=(12, 12, 14, 18, 18), more=(80, 15, 5)),
    "org.pushlab.shop": App(
        (("recommendation", "shopping", 3), ("recommendation", "footwear", 2),
         ("recommendation", "computers & electronics", 2), ("status", "shopping", 2)),
        workday=(2, 4, 5, 7, 4), weekend=(3, 13, 14, 10, 4),
        priority=(("default", 6), ("low", 3), ("min", 1))),
    "org.pushlab.fitness": App(
        (("reminder", "fitness", 3), ("status", "fitness", 2), ("reminder", "health", 2),
         ("recommendation", "health", 1)),
        workday=(3, 5, 4, 10, 2), weekend=(2, 9, 6, 5, 2), ongoing=15),
    "org.pushlab.bank": App(
        (("status", "finance", 3), ("alarm", "finance", 1), ("reminder", "finance", 1)),
        workday=(2, 5, 5, 3, 1), weekend=(1, 3, 4, 3, 1),
        priority=(("high", 5), ("default", 4), ("max", 1)), visibility=(("secret", 4), ("private", 6)),
        updates=(("none", 9), ("low", 1))),
    "org.pushlab.transit": App(
        (("transport", "travel", 3), ("transport", "unknown", 2), ("alarm", "travel", 1)),
        workday=(5, 10, 6, 10, 2), weekend=(1, 4, 6, 5, 2),
        priority=(("high", 4), ("default", 6)), visibility=(("public", 7), ("private", 3)), ongoing=30),
    "org.pushlab.music": App(
        (("recommendation", "music & audio", 3), ("service", "music & audio", 2),
         ("event", "arts & entertainment", 1)),
        workday=(3, 6, 5, 8, 5), weekend=(3, 7, 8, 9, 6),
        priority=(("low", 5), ("default", 5)), visibility=(("public", 6), ("private", 4)), ongoing=25),
    "org.pushlab.video": App(
        (("recommendation", "online video", 4), ("recommendation", "arts & entertainment", 2),
         ("recommendation", "humor", 2), ("recommendation", "sports", 1)),
        workday=(4, 4, 6, 13, 13), weekend=(5, 8, 10, 14, 13)),
    "org.pushlab.games": App(
        (("event", "games", 3), ("recommendation", "games", 2), ("reminder", "games", 1)),
        workday=(4, 3, 4, 9, 11), weekend=(5, 7, 8, 10, 11),
        priority=(("low", 5), ("default", 3), ("min", 2))),
    "org.pushlab.food": App(
        (("recommendation", "food & drink", 3), ("status", "food & drink", 2)),
        workday=(1, 6, 8, 9, 2), weekend=(1, 6, 8, 10, 3),
        updates=(("none", 6), ("low", 3), ("medium", 1)), ongoing=10),
    "org.pushlab.learn": App(
        (("reminder", "education", 3), ("reminder", "languages", 2), ("recommendation", "science", 2)),
        workday=(3, 7, 6, 7, 4), weekend=(2, 6, 5, 5, 3)),
    "org.pushlab.system": App(
        (("service", "unknown", 2), ("unknown", "unknown", 2), ("err", "unknown", 1),
         ("status", "computers & electronics", 2), ("service", "internet & telecom", 2)),
        workday=(6, 4, 4, 4, 4), weekend=(6, 4, 4, 4, 4),
        priority=(("default", 4), ("low", 3), ("min", 2), ("unknown", 1)), ongoing=20),
}

CATALOGUE = tuple(sorted((name, category, subject) for name, app in APPS.items() for category, subject, _ in app.rows))
