"""What happened in push-v0, in words: frames for pictures, and a table of the notifications."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import pandas as pd

from pushlab.envs.push import rules
from pushlab.envs.push.view import allow_each
from pushlab.users.days import DAY

WORDS = {
    rules.IN_HAND: "in hand",
    rules.WAITING: "waiting",
    rules.SHOWN: "pending",
    rules.UNSEEN: "unseen",
    rules.MISSED: "unseen",
    rules.SPARED: "unseen",
    rules.OPENED: "opened",
    rules.REFUSED: "dismissed",
    rules.LATE_MISSED: "expired",
    rules.LATE_SPARED: "expired",
}
WERE_SHOWN = (rules.SHOWN, rules.OPENED, rules.REFUSED)
WERE_DISMISSED = (rules.UNSEEN, rules.MISSED, rules.SPARED)


class Event(dict):
    """A notification up to a moment; every frame in which it stands the same has this one, so it is never changed."""

    __slots__ = ("__weakref__",)


# The events of each world that somebody still has, by all that they follow from.
_told: WeakKeyDictionary = WeakKeyDictionary()


def events_of(world: Any, state: dict, at: int = 0) -> list[Event]:
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
    for one, standing in enumerate(
        zip(
            *(
                state[key][at, :arrived].tolist()
                for key in ("fate", "since", "deferrals")
            )
        )
    ):
        known_by = (begun, key_of_chance, one, *standing)
        event = told.get(known_by)
        if event is None:
            event = told[known_by] = _event_of(world, state, at, one)
        events.append(event)
    return events


def _event_of(world, state, at, one):
    """Notification `one` of copy `at`, as `events_of` tells it."""
    core, fate, since = (
        state["core"][at],
        state["fate"][at, one],
        state["since"][at, one],
    )
    begin, end = (
        world.days.times[world.days.first[core[rules.FIRST_DAY]]],
        world.horizon * float(DAY),
    )
    arrival = core[rules.BASE] + one
    arrived = float(
        world.days.times[world.days.arrivals[arrival, rules.ITS_MOMENT]] - begin
    )
    left = (
        float(world.days.times[since] - begin)
        if fate in (*WERE_SHOWN, *WERE_DISMISSED)
        else None
    )
    closed = None
    if fate in (rules.OPENED, rules.REFUSED):
        answer = rules.answer_after(
            at,
            one,
            fate == rules.OPENED,
            since,
            state["core"],
            state["sums"],
            world.days.plan,
            world.days.minutes,
            world.days.cells,
        )
        closed = min(left + float(answer), end)
    elif fate in WERE_DISMISSED:
        closed = left
    elif fate in (rules.LATE_MISSED, rules.LATE_SPARED):
        closed = min(arrived + world.max_age, end)
    return Event(
        {
            "arrived": arrived,
            "shown": left if fate in WERE_SHOWN else None,
            "closed": closed,
            "outcome": WORDS[int(fate)],
            "deferrals": int(state["deferrals"][at, one]),
            "notification": world.schema.notification.decode_one(
                world.days.notifications[arrival]
            ),
        }
    )


def table_of(world: Any, state: dict, at: int = 0) -> pd.DataFrame:
    """The events as a DataFrame: the notification's features, `posted` (its date), then arrived, shown, closed, delay
    (minutes from arrival to showing), deferrals, outcome, worth (what it was paid, NaN until it is settled) and
    `context.<feature>` at arrival. A row's place is the notification's number in info."""
    core, events = state["core"][at], events_of(world, state, at)
    came = world.days.arrivals[
        core[rules.BASE] : core[rules.BASE] + len(events), rules.ITS_MOMENT
    ]
    notifications = world.schema.notification.decode(
        world.days.notifications[core[rules.BASE] : core[rules.BASE] + len(events)]
    )
    rest = pd.DataFrame(
        [
            {key: value for key, value in event.items() if key != "notification"}
            for event in events
        ],
        columns=["arrived", "shown", "closed", "outcome", "deferrals"],
    )
    times = rest[["arrived", "shown", "closed"]].astype(float)
    date = np.datetime64(world.days.dates[core[rules.FIRST_DAY]], "us")
    posted = date + (times["arrived"].to_numpy() * 60e6).astype("timedelta64[us]")
    contexts = world.schema.context.decode(world.days.contexts[came]).add_prefix(
        "context."
    )
    fate = state["fate"][at, : len(events)]
    worth = np.where(fate > rules.OPEN_ENDED, world.worths[fate], np.nan)
    return pd.concat(
        [
            notifications,
            times.assign(
                posted=posted,
                delay=times["shown"] - times["arrived"],
                deferrals=rest["deferrals"],
                outcome=rest["outcome"],
                worth=worth,
            ),
            contexts,
        ],
        axis=1,
    )


def places_of(world: Any, moment: int, begin: float) -> list[tuple[float, float, str]]:
    """Where the user was from the midnight before a moment until it: [(start, stop, words), …] in minutes from `begin`.

    Where the place is not known, the last one known goes on.
    """
    half = world.schema.context
    names = [feature.name for feature in half]
    if "place" not in names:
        return []
    feature = half["place"]
    columns = [
        at
        for at, name in enumerate(half.components)
        if name.partition(".")[0] == "place"
    ]
    first = world.days.first[world.days.plan[moment, rules.ITS_DAY]]
    stretches: list = []
    for row in range(first, moment + 1):
        words = feature.word(tuple(world.days.contexts[row, columns]))
        if not stretches or words not in (feature.empty, stretches[-1][1]):
            stretches.append((float(world.days.times[row] - begin), words))
    ends = [start for start, _ in stretches[1:]] + [
        float(world.days.times[moment] - begin)
    ]
    return [(start, end, words) for (start, words), end in zip(stretches, ends)]


def frame_of(world: Any, state: dict, outcome: dict | None, at: int = 0) -> dict:
    """All that a picture of copy `at` needs, a plain dict; what is in hand or waits is among the events as well."""
    core, sums = state["core"][at], state["sums"][at]
    moment = min(core[rules.MOMENT], core[rules.STOP] - 1)
    begin = world.days.times[world.days.first[core[rules.FIRST_DAY]]]
    events = events_of(world, state, at)
    acted = core[rules.ACTED_ON]
    mask = np.empty((1, len(rules.ACTIONS)), np.int8)
    allow_each(state["core"][at : at + 1], state["fate"][at : at + 1], mask)
    allowed = (
        []
        if core[rules.OVER]
        else [name for name, may in zip(rules.ACTIONS, mask[0]) if may]
    )
    return {
        "env": world.name,
        "user": world.users[core[rules.WHO]].name,
        "date": str(world.days.dates[world.days.plan[moment, rules.ITS_DAY]]),
        "now": float(world.minutes_gone(state["core"])[at]),
        "of": world.horizon * DAY,
        "context": world.schema.context.decode_one(world.days.contexts[moment]),
        "hand": events[core[rules.HAND]] if core[rules.HAND] >= 0 else None,
        "cache": [event for event in events if event["outcome"] == "waiting"],
        "events": events,
        "places": places_of(world, moment, begin),
        "allowed": allowed,
        "last": None
        if outcome is None
        else {
            "action": rules.ACTIONS[outcome["action"][at]],
            "forbidden": bool(core[rules.WAS_FORBIDDEN]),
            "notification": events[acted]["notification"] if acted >= 0 else None,
        },
        "reward": float(sums[: len(rules.PARTS)].sum()),
        "parts": {part: float(worth) for part, worth in zip(rules.PARTS, sums)},
        "labels": world.labels,
    }
