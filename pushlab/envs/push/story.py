"""push-v0 in words: observations, frames for pictures, and a table of the notifications."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import pandas as pd

from pushlab.envs.push import rules
from pushlab.users.days import DAY

# Lower ends of all codes but the first, by the last word of a component's name.
EDGES = {
    "waiting": rules.COUNT_EDGES,
    "shown": rules.COUNT_EDGES,
    "dismissed": rules.COUNT_EDGES,
    "cached": rules.COUNT_EDGES,
    "age": rules.AGE_EDGES,
    "deferrals": range(1, rules.MOST_DEFERRALS + 1),
}
# Outcomes of the fates from "in hand" on.
OUTCOMES = (
    "ahead",
    "in hand",
    "waiting",
    "pending",
    "unseen",
    "opened",
    "dismissed",
    "unseen",
    "unseen",
    "expired",
    "expired",
)


def words_of(world: Any, observation: Any) -> dict[str, str]:
    """Return an observation in words; see `Push.decode_one`."""
    context = world.schema.context
    notification = world.schema.notification
    observation = np.asarray(observation)
    wide = len(context.components)
    now = context.decode_one(observation[:wide])
    words = {f"context.{name}": word for name, word in now.items()}
    names = world.observation_names[wide:]
    for name, code in zip(names, observation[wide:].tolist()):
        place, _, part = name.partition(".")
        if place in ("hand", "head") and part in notification.names:
            known = notification[part].words
            words[name] = known[code] if code < len(known) else "none"
        else:
            words[name] = range_of(code, EDGES.get(part))
    return words


def range_of(code: int, edges: Any) -> str:
    """Return the range of numbers that a code stands for, as text.

    >>> [range_of(code, [1, 2, 5]) for code in range(5)]
    ['0', '1', '2 to 4', '5 or more', 'none']
    """
    if edges is None:
        return str(code)
    if code > len(edges):
        return "none"
    if code == len(edges):
        return f"{edges[-1]} or more"
    low = edges[code - 1] if code else 0
    high = edges[code] - 1
    return str(low) if low == high else f"{low} to {high}"


class Event(dict):
    """A notification up to a moment. All frames in which nothing has happened to it share it, so never change it."""

    __slots__ = ("__weakref__",)


_events: WeakKeyDictionary = (
    WeakKeyDictionary()
)  # of each world, by all that they follow from


def events_of(world: Any, state: dict, at: int = 0) -> list[Event]:
    """Return the notifications that arrived so far, a list of dicts in the order of arrival.

    - `arrived`, `shown`, `closed`: Minutes since the first midnight; None if it has not come to
      that.
    - `outcome`: "opened", "dismissed" (by the user), "unseen" (dismissed by the agent), "expired",
      "pending" (shown, no answer yet), "waiting" or "in hand".

    deferrals, notification

    The frames of an episode share these dicts. Otherwise their memory would grow with the square of
    its length.
    """
    known = _events.setdefault(world, WeakValueDictionary())
    phone = rules.Phone(*(state[name][at] for name in rules.Phone._fields))
    episode = phone.core[rules.FIRST_DAY], phone.sums[rules.KEY]
    events = []
    for one in range(phone.core[rules.ARRIVED]):
        standing = phone.fate[one], phone.since[one], phone.deferrals[one]
        key = (*episode, one, *standing)
        event = known.get(key)
        if event is None:
            event = known[key] = _event(world, phone, one, *standing)
        events.append(event)
    return events


def _event(world, phone, one, fate, since, deferrals):
    times = world.life.times
    begin = times[world.first[phone.core[rules.FIRST_DAY]]]
    arrival = phone.core[rules.BASE] + one
    arrived = float(times[world.life.came[arrival]] - begin)
    outcome = OUTCOMES[fate]
    shown = closed = None
    if outcome in ("pending", "opened", "dismissed"):
        shown = float(times[since] - begin)
    if outcome == "unseen":
        closed = float(times[since] - begin)
    end = world.horizon * float(DAY)
    if outcome in ("opened", "dismissed"):
        minutes = rules.answer_after(one, outcome == "opened", since, phone, world.life)
        closed = min(shown + float(minutes), end)
    if outcome == "expired":
        closed = min(arrived + world.max_age, end)
    codes = world.life.notifications[arrival]
    return Event(
        arrived=arrived,
        shown=shown,
        closed=closed,
        outcome=outcome,
        deferrals=int(deferrals),
        notification=world.schema.notification.decode_one(codes),
    )


def table_of(world: Any, state: dict, at: int = 0) -> pd.DataFrame:
    """Return the events as a DataFrame, with the notification's number in info as the index.

    Columns: the notification's features, arrived, shown, closed, `posted` (the date), delay (minutes from arrival to
    showing), deferrals, outcome, worth (what it was paid, NaN until it is settled) and `context.<feature>` at arrival.
    """
    core = state["core"][at]
    columns = ["arrived", "shown", "closed", "outcome", "deferrals"]
    events = pd.DataFrame(events_of(world, state, at), columns=columns)
    rows = slice(core[rules.BASE], core[rules.BASE] + len(events))
    came = world.life.came[rows]
    times = events[["arrived", "shown", "closed"]].astype(float)
    date = np.datetime64(world.dates[core[rules.FIRST_DAY]], "us")
    posted = date + (times["arrived"].to_numpy() * 60e6).astype("timedelta64[us]")
    fate = state["fate"][at, : len(events)]
    worth = np.where(fate > rules.UNSEEN, world.worths[fate], np.nan)
    parts = [
        world.schema.notification.decode(world.life.notifications[rows]),
        times.assign(
            posted=posted,
            delay=times["shown"] - times["arrived"],
            deferrals=events["deferrals"],
            outcome=events["outcome"],
            worth=worth,
        ),
        world.schema.context.decode(world.life.contexts[came]).add_prefix("context."),
    ]
    return pd.concat(parts, axis=1)


def places_of(world: Any, moment: int, begin: float) -> list[tuple[float, float, str]]:
    """Return where the user was on the day up to a moment: [(start, stop, words), ...] in minutes from `begin`.

    If the place is not known, the last one known continues.
    """
    context = world.schema.context
    if "place" not in context.names:
        return []
    place = context["place"]
    columns = [
        at for at, name in enumerate(context.components) if name.startswith("place")
    ]
    first = world.first[world.life.plan[moment, rules.ITS_DAY]]
    starts: list[float] = []
    places: list[str] = []
    for row in range(first, moment + 1):
        words = place.word(tuple(world.life.contexts[row, columns]))
        if not places or words not in (place.empty, places[-1]):
            starts.append(float(world.life.times[row] - begin))
            places.append(words)
    stops = [*starts[1:], float(world.life.times[moment] - begin)]
    return list(zip(starts, stops, places))


def frame_of(world: Any, state: dict, outcome: dict | None, at: int = 0) -> dict:
    """Return the data that `pushlab.plots.inbox` draws; what is in hand or waits is among the events as well."""
    core = state["core"][at]
    parts = dict(zip(world.weights, state["sums"][at].tolist()))
    moment = min(core[rules.MOMENT], core[rules.STOP] - 1)
    begin = world.life.times[world.first[core[rules.FIRST_DAY]]]
    events = events_of(world, state, at)
    acted = core[rules.ACTED_ON]
    allowed = np.flatnonzero(state["mask"][at] & (core[rules.OVER] == 0))
    last = None
    if outcome is not None:
        last = {
            "action": rules.ACTIONS[outcome["action"][at]],
            "forbidden": bool(core[rules.WAS_FORBIDDEN]),
            "notification": events[acted]["notification"] if acted >= 0 else None,
        }
    return {
        "env": world.name,
        "user": world.users[core[rules.WHO]].name,
        "date": str(world.dates[world.life.plan[moment, rules.ITS_DAY]]),
        "now": float(world.minutes_gone(state["core"])[at]),
        "of": world.horizon * DAY,
        "context": world.schema.context.decode_one(world.life.contexts[moment]),
        "hand": events[core[rules.HAND]] if core[rules.HAND] >= 0 else None,
        "cache": [event for event in events if event["outcome"] == "waiting"],
        "events": events,
        "places": places_of(world, moment, begin),
        "allowed": [rules.ACTIONS[action] for action in allowed],
        "last": last,
        "reward": sum(parts.values()),
        "parts": parts,
        "labels": world.labels,
    }
