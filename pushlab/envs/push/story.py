"""What happened in push-v0, in words: frames for pictures, and a table of the notifications."""

from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from pushlab.envs.push import rules
from pushlab.users.days import DAY

WORDS = {rules.IN_HAND: "in hand", rules.WAITING: "waiting", rules.SHOWN: "pending", rules.UNSEEN: "unseen",
         rules.MISSED: "unseen", rules.SPARED: "unseen", rules.OPENED: "opened", rules.REFUSED: "dismissed",
         rules.LATE_MISSED: "expired", rules.LATE_SPARED: "expired"}
WERE_SHOWN = (rules.SHOWN, rules.OPENED, rules.REFUSED)
WERE_DISMISSED = (rules.UNSEEN, rules.MISSED, rules.SPARED)


class Event(dict):
    """A notification up to a moment; every frame in which it stands the same has this one, so it is never changed."""

    __slots__ = ("__weakref__",)


_told = WeakKeyDictionary()         # the events of each world that somebody still has, by all that they follow from


def events_of(world, state, at=0):
    """What arrived so far, a list of dicts in the order of arrival.

    arrived, shown, closed  minutes since the first midnight; None where it has not come to that
    outcome                 "opened", "dismissed" (by the user), "unseen" (dismissed by the agent), "expired",
                            "pending" (shown, no answer yet), "waiting" or "in hand"
    deferrals, notification

    The dict of a notification to which nothing has happened is the same as before: the frames of an episode, each with
    all that arrived up to then, would otherwise take memory that grows with the square of its length.
    """
    told = _told.setdefault(world, WeakValueDictionary())
    core, key_of_chance = state["core"][at], float(state["sums"][at, rules.KEY])
    begun, arrived = int(core[rules.FIRST_DAY]), int(core[rules.ARRIVED])
    events = []
    for one, standing in enumerate(zip(*(state[key][at, :arrived].tolist() for key in ("fate", "since", "deferrals")))):
        known_by = (begun, key_of_chance, one, *standing)
        event = told.get(known_by)
        if event is None:
            event = told[known_by] = _event_of(world, state, at, one)
        events.append(event)
    return events


def _event_of(world, state, at, one):
    """Notification `one` of copy `at`, as `events_of` tells it."""
    core, fate, since = state["core"][at], state["fate"][at, one], state["since"][at, one]
    begin, end = world.times[world.first[core[rules.FIRST_DAY]]], world.horizon * float(DAY)
    arrival = core[rules.BASE] + one
    arrived = float(world.times[world.arrivals[arrival, rules.ITS_MOMENT]] - begin)
    left = float(world.times[since] - begin) if fate in (*WERE_SHOWN, *WERE_DISMISSED) else None
    closed = None
    if fate in (rules.OPENED, rules.REFUSED):
        answer = rules.answer_after(at, one, fate == rules.OPENED, since, state["core"], state["sums"], world.plan,
                                    world.minutes, world.cells)
        closed = min(left + float(answer), end)
    elif fate in WERE_DISMISSED:
        closed = left
    elif fate in (rules.LATE_MISSED, rules.LATE_SPARED):
        closed = min(arrived + world.max_age, end)
    return Event({"arrived": arrived, "shown": left if fate in WERE_SHOWN else None, "closed": closed,
                  "outcome": WORDS[int(fate)], "deferrals": int(state["deferrals"][at, one]),
                  "notification": world.schema.notification.decode_one(world.notifications[arrival])})


def table_of(world, state, at=0):
    """The events as a DataFrame: the notification's features, `posted` (its date), then arrived, shown, closed, delay
    (minutes from arrival to showing), deferrals, outcome, worth (what it was paid, NaN until it is settled) and
    `context.<feature>` at arrival. A row's place is the notification's number in info."""
    import pandas as pd

    core, events = state["core"][at], events_of(world, state, at)
    came = world.arrivals[core[rules.BASE]:core[rules.BASE] + len(events), rules.ITS_MOMENT]
    notifications = world.schema.notification.decode(
        world.notifications[core[rules.BASE]:core[rules.BASE] + len(events)])
    rest = pd.DataFrame([{key: value for key, value in event.items() if key != "notification"} for event in events],
                        columns=["arrived", "shown", "closed", "outcome", "deferrals"])
    times = rest[["arrived", "shown", "closed"]].astype(float)
    date = np.datetime64(world.dates[core[rules.FIRST_DAY]], "us")
    posted = date + (times["arrived"].to_numpy() * 60e6).astype("timedelta64[us]")
    contexts = world.schema.context.decode(world.contexts[came]).add_prefix("context.")
    fate = state["fate"][at, :len(events)]
    worth = np.where(fate > rules.OPEN_ENDED, world.worths[fate], np.nan)
    return pd.concat([notifications, times.assign(posted=posted, delay=times["shown"] - times["arrived"],
                                                  deferrals=rest["deferrals"], outcome=rest["outcome"], worth=worth),
                      contexts], axis=1)


def places_of(world, moment, begin):
    """Where the user was from the midnight before a moment until it: [(start, stop, words), …] in minutes from `begin`.

    Where the place is not known, the last one known goes on.
    """
    half = world.schema.context
    names = [feature.name for feature in half]
    if "place" not in names:
        return []
    feature = half["place"]
    columns = [at for at, name in enumerate(half.components) if name.partition(".")[0] == "place"]
    first = world.first[world.plan[moment, rules.ITS_DAY]]
    stretches = []
    for row in range(first, moment + 1):
        start = float(world.times[row] - begin)
        words = feature.word(tuple(world.contexts[row, columns]))
        if stretches and words in (feature.empty, stretches[-1][2]):
            continue
        if stretches:
            stretches[-1] = (stretches[-1][0], start, stretches[-1][2])
        stretches.append((start, start, words))
    stretches[-1] = (stretches[-1][0], float(world.times[moment] - begin), stretches[-1][2])
    return stretches


def frame_of(world, state, outcome, at=0):
    """All that a picture of copy `at` needs, a plain dict; what is in hand or waits is among the events as well."""
    core, sums = state["core"][at], state["sums"][at]
    moment = min(core[rules.MOMENT], core[rules.STOP] - 1)
    begin = world.times[world.first[core[rules.FIRST_DAY]]]
    events = events_of(world, state, at)
    acted = core[rules.ACTED_ON]
    mask = np.empty((1, len(rules.ACTIONS)), np.int8)
    rules.allow_each(state["core"][at:at + 1], state["fate"][at:at + 1], mask)
    allowed = [] if core[rules.OVER] else [name for name, may in zip(rules.ACTIONS, mask[0]) if may]
    return {
        "env": world.name, "user": world.users[core[rules.WHO]].name,
        "date": str(world.dates[world.plan[moment, rules.ITS_DAY]]),
        "now": float(world.minutes_gone(state["core"])[at]), "of": world.horizon * DAY,
        "context": world.schema.context.decode_one(world.contexts[moment]),
        "hand": events[core[rules.HAND]] if core[rules.HAND] >= 0 else None,
        "cache": [event for event in events if event["outcome"] == "waiting"], "events": events,
        "places": places_of(world, moment, begin), "allowed": allowed,
        "last": None if outcome is None else {
            "action": rules.ACTIONS[outcome["action"][at]], "forbidden": bool(core[rules.WAS_FORBIDDEN]),
            "notification": events[acted]["notification"] if acted >= 0 else None},
        "reward": float(sums[:len(rules.PARTS)].sum()),
        "parts": {part: float(worth) for part, worth in zip(rules.PARTS, sums)},
        "labels": {**world.schema.context.labels(), **world.schema.notification.labels()}}


def words_of(world, observation):
    """An observation in words; see `Push.decode_one`."""
    names, observation = world.observation_names, np.asarray(observation)
    context, notification = world.schema.context, world.schema.notification
    wide = len(context.components)
    words = {f"context.{name}": word for name, word in context.decode_one(observation[:wide]).items()}
    for place in ("hand", "head"):
        at, many = names.index(f"{place}.{notification.components[0]}"), len(notification.components)
        codes = observation[at:at + many]
        empty = (codes >= notification.sizes).all()
        told = dict.fromkeys(notification.names, "none") if empty else notification.decode_one(codes)
        words |= {f"{place}.{name}": word for name, word in told.items()}
    edges = {"cache.waiting": rules.COUNT_EDGES, "head.age": rules.AGE_EDGES, "pending.shown": rules.COUNT_EDGES,
             "pending.age": rules.AGE_EDGES, **dict.fromkeys(("today.shown", "today.dismissed", "today.cached"),
                                                             rules.COUNT_EDGES)}
    for name in names[wide:]:
        if name not in words:
            words[name] = range_of(int(observation[names.index(name)]), edges.get(name), name)
    return {name: words[name] for name in (*(f"context.{name}" for name in context.names),
                                           *(name for name in names if name in words))}


def range_of(code, edges, name="count"):
    """The range of numbers that a code stands for, as text.

    >>> [range_of(code, [1, 2, 5]) for code in range(5)]
    ['0', '1', '2 to 4', '5 or more', 'none']
    """
    if edges is None:
        if name.endswith("deferrals"):
            most = rules.MOST_DEFERRALS
            return str(code) if code < most else f"{most} or more" if code == most else "none"
        return str(code)
    if code > len(edges):
        return "none"
    if code == len(edges):
        return f"{edges[-1]} or more"
    low, high = 0 if code == 0 else edges[code - 1], edges[code] - 1
    return str(low) if low == high else f"{low} to {high}"
