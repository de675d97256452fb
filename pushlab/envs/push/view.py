"""What the agent of push-v0 is shown: codes and their words, and one phone alone, lived in place without copies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pushlab.envs.push import rules
from pushlab.envs.push.rules import act, is_allowed
from pushlab.envs.shell import reader_of
from pushlab.ground.compiled import compiled_in_place, inner_in_place

PLAIN = (
    int,
    np.int64,
)  # what an action mostly is; anything else goes through the checking reader
# Lower ends of all codes but the first, for counts, and for ages in minutes.
COUNT_EDGES = np.array([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50])
COUNT_CODES = np.searchsorted(
    COUNT_EDGES, np.arange(COUNT_EDGES[-1] + 1), side="right"
)  # and more as the last
AGE_EDGES = np.array([15, 60, 120, 240, 480])
MOST_DEFERRALS = 5  # this many and more have one code


# ---------------------------------------------------------------- what the agent sees


@inner_in_place
def count_code(count):
    """The code of a count."""
    return COUNT_CODES[min(count, len(COUNT_CODES) - 1)]


@inner_in_place
def age_code(minutes):
    """The code of an age: how many of the rising edges are not above it."""
    code = 0
    for edge in AGE_EDGES:
        code += int(minutes >= edge)
    return code


@inner_in_place
def describe(copy, one, at, core, deferrals, notifications, top, seen):
    """Writes a notification's codes and deferrals into seen[copy, at:], or the highest codes, which mean none.

    Returns where the next thing goes.
    """
    wide = notifications.shape[1]
    if one < 0:
        for column in range(wide + 1):
            seen[copy, at + column] = top[at + column]
    else:
        for column in range(wide):
            seen[copy, at + column] = notifications[
                core[copy, rules.BASE] + one, column
            ]
        seen[copy, at + wide] = min(deferrals[copy, one], MOST_DEFERRALS)
    return at + wide + 1


@inner_in_place
def look(
    copy,
    core,
    fate,
    deferrals,
    since,
    plan,
    times,
    arrivals,
    contexts,
    notifications,
    top,
    seen,
):
    """Writes what a copy's agent sees; the world's `observation_names` say where."""
    moment = min(core[copy, rules.MOMENT], core[copy, rules.STOP] - 1)
    now, base = times[moment], core[copy, rules.BASE]
    head, oldest, pending = rules.NOBODY, rules.NOBODY, 0
    if core[copy, rules.WAITING_NOW] + core[copy, rules.PENDING_NOW] > 0:
        for one in range(core[copy, rules.LOW], core[copy, rules.ARRIVED]):
            if fate[copy, one] == rules.WAITING and head < 0:
                head = one
            elif fate[copy, one] == rules.SHOWN:
                pending += 1
                oldest = (
                    one
                    if oldest < 0 or since[copy, one] < since[copy, oldest]
                    else oldest
                )
    wide = contexts.shape[1]
    for column in range(wide):
        seen[copy, column] = contexts[moment, column]
    at = describe(
        copy,
        int(core[copy, rules.HAND]),
        wide,
        core,
        deferrals,
        notifications,
        top,
        seen,
    )
    seen[copy, at] = count_code(core[copy, rules.WAITING_NOW])
    at = describe(copy, head, at + 1, core, deferrals, notifications, top, seen)
    seen[copy, at] = top[at]
    if head >= 0:
        seen[copy, at] = age_code(now - times[arrivals[base + head, rules.ITS_MOMENT]])
    seen[copy, at + 1] = count_code(pending)
    seen[copy, at + 2] = (
        age_code(now - times[since[copy, oldest]]) if oldest >= 0 else top[at + 2]
    )
    for column in range(3):
        seen[copy, at + 3 + column] = count_code(core[copy, rules.SHOWN_TODAY + column])
    seen[copy, at + 6] = plan[moment, rules.HOUR]
    seen[copy, at + 7] = (
        core[copy, rules.FIRST_DAY] + top[at + 7] - plan[moment, rules.ITS_DAY]
    )


@inner_in_place
def allow(copy, core, fate, mask):
    """Writes which actions are allowed; after the end stand-by is, for those who must always choose something."""
    for action in range(len(rules.ACTIONS)):
        mask[copy, action] = is_allowed(copy, action, core, fate)
    mask[copy, rules.STAND_BY] = core[copy, rules.HAND] < 0


@compiled_in_place
def look_each(
    core,
    fate,
    deferrals,
    since,
    plan,
    times,
    arrivals,
    contexts,
    notifications,
    top,
    seen,
):
    """What every copy's agent sees: fills seen (n, components)."""
    for copy in range(len(core)):
        look(
            copy,
            core,
            fate,
            deferrals,
            since,
            plan,
            times,
            arrivals,
            contexts,
            notifications,
            top,
            seen,
        )


@compiled_in_place
def allow_each(core, fate, mask):
    """Which actions every copy allows: fills mask (n, 5)."""
    for copy in range(len(core)):
        allow(copy, core, fate, mask)


@compiled_in_place
def act_and_look(
    action,
    core,
    sums,
    fate,
    deferrals,
    since,
    plan,
    times,
    arrivals,
    chance,
    minutes,
    cells,
    weights,
    limits,
    contexts,
    notifications,
    top,
    seen,
    mask,
):
    """One step of a copy alone, and what its agent then sees; returns the reward."""
    reward = act(
        rules.ALONE,
        action,
        core,
        sums,
        fate,
        deferrals,
        since,
        plan,
        times,
        arrivals,
        chance,
        minutes,
        cells,
        weights,
        limits,
    )
    look(
        rules.ALONE,
        core,
        fate,
        deferrals,
        since,
        plan,
        times,
        arrivals,
        contexts,
        notifications,
        top,
        seen,
    )
    allow(rules.ALONE, core, fate, mask)
    return reward


# ---------------------------------------------------------------- in words


def words_of(world: Any, observation: Any) -> dict[str, str]:
    """An observation in words; see `Push.decode_one`."""
    names, observation = world.observation_names, np.asarray(observation)
    context, notification = world.schema.context, world.schema.notification
    wide = len(context.components)
    words = {
        f"context.{name}": word
        for name, word in context.decode_one(observation[:wide]).items()
    }
    for place in ("hand", "head"):
        at, many = (
            names.index(f"{place}.{notification.components[0]}"),
            len(notification.components),
        )
        codes = observation[at : at + many]
        empty = (codes >= notification.sizes).all()
        told = (
            dict.fromkeys(notification.names, "none")
            if empty
            else notification.decode_one(codes)
        )
        words |= {f"{place}.{name}": word for name, word in told.items()}
    edges = {
        "cache.waiting": COUNT_EDGES,
        "head.age": AGE_EDGES,
        "pending.shown": COUNT_EDGES,
        "pending.age": AGE_EDGES,
        "today.shown": COUNT_EDGES,
        "today.dismissed": COUNT_EDGES,
        "today.cached": COUNT_EDGES,
    }
    for name in names[wide:]:
        if name not in words:
            words[name] = range_of(
                int(observation[names.index(name)]), edges.get(name), name
            )
    return {
        name: words[name]
        for name in (
            *(f"context.{name}" for name in context.names),
            *(name for name in names if name in words),
        )
    }


def range_of(code: int, edges: Any, name: str = "count") -> str:
    """The range of numbers that a code stands for, as text.

    >>> [range_of(code, [1, 2, 5]) for code in range(5)]
    ['0', '1', '2 to 4', '5 or more', 'none']
    """
    if edges is None:
        if name.endswith("deferrals"):
            most = MOST_DEFERRALS
            return (
                str(code)
                if code < most
                else f"{most} or more"
                if code == most
                else "none"
            )
        return str(code)
    if code > len(edges):
        return "none"
    if code == len(edges):
        return f"{edges[-1]} or more"
    low, high = 0 if code == 0 else edges[code - 1], edges[code] - 1
    return str(low) if low == high else f"{low} to {high}"


# ---------------------------------------------------------------- one phone alone


class PushAlone:
    """One copy of push-v0 for the Env; see `World.solo`."""

    def __init__(self, world: Any):
        self.world = world
        self._read = reader_of(world)
        self.state: dict | None = None
        self._parts = tuple(f"parts.{part}" for part in rules.PARTS)

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Begins an episode: observation and info."""
        world = self.world
        self.state, self.action, self.reward = world.initial(draws, options), None, 0.0
        self.core, self.sums = self.state["core"], self.state["sums"]
        self._life = (*self.state.values(), *world.life, *world.sight)
        self._times = world.days.times
        self._begin = float(
            self._times[world.days.first[self.core[0, rules.FIRST_DAY]]]
        )
        self._day = int(world.first_day(self.core)[0])
        return world.observe(self.state)[0], self._info(world.mask(self.state)[0])

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """Observation, reward, terminated, truncated, info."""
        if type(action) not in PLAIN or not 0 <= action < len(rules.ACTIONS):
            action = self._read(action, 1)[0]
        seen, mask = (
            np.empty((1, len(self.world._top)), np.int64),
            np.empty((1, len(rules.ACTIONS)), np.int8),
        )
        self.action, self.reward = (
            action,
            act_and_look(int(action), *self._life, seen, mask),
        )
        info = self._info(mask[0])
        return seen[0], self.reward, self._over, False, info

    def _info(self, mask):
        world, core, sums = self.world, self.core[0].tolist(), self.sums[0].tolist()
        self._over = core[rules.OVER] == 1
        time = (
            world.horizon * 1440.0
            if self._over
            else float(self._times[core[rules.MOMENT]]) - self._begin
        )
        shown, days = (
            core[rules.SHOWN_IN_ALL],
            core[rules.DAY_NOW] - core[rules.FIRST_DAY] + 1,
        )
        info = {
            "time": time,
            "day": self._day,
            "shown": shown,
            "dismissed": core[rules.DISMISSED_IN_ALL],
            "cached": core[rules.CACHED_IN_ALL],
            "expired": core[rules.EXPIRED_IN_ALL],
            "forbidden": core[rules.FORBIDDEN_IN_ALL],
            "opens": core[rules.OPENS_IN_ALL],
            "refusals": core[rules.REFUSALS_IN_ALL],
            "missed": core[rules.MISSED_IN_ALL],
            "spared": core[rules.SPARED_IN_ALL],
            "load": shown / days,
            "delay": sums[rules.DELAY] / max(shown, 1),
        }
        info.update(zip(self._parts, sums))
        if len(world.users) > 1:
            info["user"] = core[rules.WHO]
        info["hand"], info["fates"] = core[rules.HAND], self.state["fate"][0].copy()
        info["action_mask"] = mask
        return info

    def now(self) -> tuple[dict | None, dict | None]:
        """State and outcome as the batch functions give them; None and None before the first reset."""
        if self.state is None:
            return None, None
        state = {key: values.copy() for key, values in self.state.items()}
        if self.action is None:
            return state, None
        return state, {
            "reward": np.array([self.reward]),
            "action": np.array([self.action]),
        }
