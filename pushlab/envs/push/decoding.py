"""Readable forms of push-v0: observations in words, frames for pictures, and a table of the notifications."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
import pandas as pd

from pushlab.envs.push import rules

# Lower ends of the ranges, all but the first, by the last part of a component's name.
EDGES = {
    "waiting": rules.COUNT_EDGES,
    "shown": rules.COUNT_EDGES,
    "dismissed": rules.COUNT_EDGES,
    "cached": rules.COUNT_EDGES,
    "age": rules.AGE_EDGES,
    "deferrals": range(1, rules.MAX_DEFERRALS + 1),
}
# Outcome of an event, by status. Missed and spared notifications have been dismissed unseen.
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


def decode_observation(world: Any, observation: Any) -> dict[str, str]:
    """Return an observation in words; see `Push.decode_one`."""
    context = world.schema.context
    notification = world.schema.notification
    observation = np.asarray(observation)
    width = len(context.components)
    values = context.decode_one(observation[:width])
    words = {f"context.{name}": value for name, value in values.items()}
    names = world.observation_names[width:]
    for name, code in zip(names, observation[width:].tolist()):
        group, _, part = name.partition(".")
        if group in ("hand", "head") and part in notification.names:
            words[name] = [*notification[part].words, "none"][code]
        else:
            words[name] = range_label(code, EDGES.get(part))
    return words


def range_label(code: int, edges: Any) -> str:
    """Return the label of the range of numbers with this code.

    >>> [range_label(code, [1, 2, 5]) for code in range(5)]
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
    """A notification at some moment. Frames share unchanged events, so never modify one."""

    __slots__ = ("__weakref__",)


# Events of each world, by all values that determine them.
_events: WeakKeyDictionary = WeakKeyDictionary()


def list_events(world: Any, state: dict, at: int = 0) -> list[Event]:
    """Return the notifications that have arrived, a list of dicts in order of arrival.

    - `arrived`, `shown`, `closed`: Minutes since the first midnight; None if this hasn't happened.
    - `outcome`: "opened", "dismissed" (by the user), "unseen" (dismissed by the agent), "expired",
      "pending" (shown, no answer yet), "waiting" or "in hand".
    - `deferrals`: How often it was deferred.
    - `notification`: {feature: value}.

    The frames of an episode share these dicts. Otherwise their memory would grow with the square of
    the episode's length.
    """
    cache = _events.setdefault(world, WeakValueDictionary())
    phone = rules.Phone(*(state[name][at] for name in rules.Phone._fields))
    episode = phone.core[rules.FIRST_DAY], phone.sums[rules.KEY]
    events = []
    for index in range(phone.core[rules.N_ARRIVED]):
        key = (
            *episode,
            index,
            phone.status[index],
            phone.since[index],
            phone.deferrals[index],
        )
        event = cache.get(key)
        if event is None:
            event = _make_event(world, phone, index)
            cache[key] = event
        events.append(event)
    return events


def _make_event(world, phone, index):
    tables = world.tables
    begin = tables.times[world.first[phone.core[rules.FIRST_DAY]]]
    arrival = phone.core[rules.FIRST_ARRIVAL] + index
    arrived = float(tables.times[tables.arrival_moments[arrival]] - begin)
    outcome = OUTCOMES[phone.status[index]]
    moment = phone.since[index]
    shown = None
    closed = None
    if outcome in ("pending", "opened", "dismissed"):
        shown = float(tables.times[moment] - begin)
    if outcome == "unseen":
        closed = float(tables.times[moment] - begin)
    elif outcome == "expired":
        closed = min(arrived + world.max_age, world.horizon_minutes)
    elif outcome in ("opened", "dismissed"):
        minutes = rules.response_time(index, outcome == "opened", moment, phone, tables)
        closed = min(shown + float(minutes), world.horizon_minutes)
    return Event(
        arrived=arrived,
        shown=shown,
        closed=closed,
        outcome=outcome,
        deferrals=int(phone.deferrals[index]),
        notification=world.schema.notification.decode_one(
            tables.notifications[arrival]
        ),
    )


def events_table(world: Any, state: dict, at: int = 0) -> pd.DataFrame:
    """Return the events as a DataFrame, indexed by the notifications' numbers in info.

    Columns: the notification's features; arrived, shown, closed (minutes); posted (date and time of arrival); delay
    (minutes from arrival to showing); deferrals; outcome; `reward` (its reward, NaN until it is settled, and with
    observed feedback for an unseen one); and `context.<feature>` at arrival.
    """
    core = state["core"][at]
    tables = world.tables
    columns = ["arrived", "shown", "closed", "outcome", "deferrals"]
    events = pd.DataFrame(list_events(world, state, at), columns=columns)
    first = core[rules.FIRST_ARRIVAL]
    rows = slice(first, first + len(events))
    times = events[columns[:3]].astype(float)
    date = np.datetime64(world.dates[core[rules.FIRST_DAY]], "us")
    arrived = (times["arrived"].to_numpy() * 60e6).astype("timedelta64[us]")
    status = world.reported_status[state["status"][at, : len(events)]]
    table = times.assign(
        posted=date + arrived,
        delay=times["shown"] - times["arrived"],
        deferrals=events["deferrals"],
        outcome=events["outcome"],
        reward=np.where(status > rules.UNSEEN, world.status_rewards[status], np.nan),
    )
    notifications = world.schema.notification.decode(tables.notifications[rows])
    moments = tables.arrival_moments[rows]
    contexts = world.schema.context.decode(tables.contexts[moments])
    return pd.concat([notifications, table, contexts.add_prefix("context.")], axis=1)


def visited_places(
    world: Any, moment: int, begin: float
) -> list[tuple[float, float, str]]:
    """Return the user's places on the day up to a moment: [(start, stop, words), ...] in minutes from `begin`.

    An unknown place counts as the previous one.
    """
    context = world.schema.context
    if "place" not in context.names:
        return []
    feature = context["place"]
    columns = [
        at for at, name in enumerate(context.components) if name.startswith("place")
    ]
    tables = world.tables
    first = world.first[tables.plan[moment, rules.DAY_INDEX]]
    starts: list[float] = []
    places: list[str] = []
    for row in range(first, moment + 1):
        words = feature.word(tuple(tables.contexts[row, columns]))
        if not places or words not in (feature.empty, places[-1]):
            starts.append(float(tables.times[row] - begin))
            places.append(words)
    stops = [*starts[1:], float(tables.times[moment] - begin)]
    return list(zip(starts, stops, places))


def make_frame(world: Any, state: dict, outcome: dict | None, at: int = 0) -> dict:
    """Return the data that `pushlab.plots.inbox` draws. `events` includes those in `hand` and `cache`."""
    core = state["core"][at]
    tables = world.tables
    parts = dict(zip(world.weights, state["sums"][at].tolist()))
    moment = min(core[rules.MOMENT], core[rules.END_MOMENT] - 1)
    begin = tables.times[world.first[core[rules.FIRST_DAY]]]
    events = list_events(world, state, at)
    hand = core[rules.HAND]
    handled = core[rules.LAST_HANDLED]
    allowed = np.flatnonzero(state["mask"][at] & (core[rules.IS_OVER] == 0))
    last = None
    if outcome is not None:
        last = {
            "action": rules.ACTIONS[outcome["action"][at]],
            "forbidden": bool(core[rules.WAS_FORBIDDEN]),
            "notification": events[handled]["notification"] if handled >= 0 else None,
        }
    return {
        "env": world.name,
        "user": world.users[core[rules.USER]].name,
        "date": str(world.dates[tables.plan[moment, rules.DAY_INDEX]]),
        "now": float(state["sums"][at, rules.TIME]),
        "episode_length": world.horizon_minutes,
        "context": world.schema.context.decode_one(tables.contexts[moment]),
        "hand": events[hand] if hand >= 0 else None,
        "cache": [event for event in events if event["outcome"] == "waiting"],
        "events": events,
        "places": visited_places(world, moment, begin),
        "allowed": [rules.ACTIONS[action] for action in allowed],
        "last": last,
        "reward": sum(parts.values()),
        "parts": parts,
        "labels": world.labels,
    }
