"""push-v0: notifications arrive through the day, and an agent decides on the user's behalf."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Discrete, MultiDiscrete

from pushlab.datasets.periods import User
from pushlab.envs.evalumap import UserWorld, for_each_copy
from pushlab.envs.push import rules, story
from pushlab.envs.shell import NUMBERS, reader_of
from pushlab.ground.arguments import demand, in_short, is_number, number, one_of, whole
from pushlab.users.days import DAY, ResponseTimes, days_of, slot_number
from pushlab.users.judges import cutoff

# Reward parts and what each is worth; fixed before any agent was trained.
WEIGHTS = {
    "opened": 1.0,
    "dismissed": -1.0,
    "missed": -1.0,
    "spared": 0.2,
    "look": 0.0,
    "idle": -0.01,
    "wait": -0.005,
    "endless": -0.02,
    "forbidden": -0.5,
}
WEIGHTS_2019 = {
    "opened": 5.0,
    "dismissed": -10.0,
    "missed": 0.0,
    "spared": 0.0,
    "look": 1.0,
    "idle": -1.0,
    "wait": -0.2,
    "endless": -0.2,
    "forbidden": -0.5,
}
# With the number of deferrals that cost nothing.
REWARDS = {"default": (WEIGHTS, 3), "2019": (WEIGHTS_2019, 15)}
SPANS = {"train": (0.0, 2 / 3), "test": (2 / 3, 1.0)}  # shares of the days
# Infos of the columns of core from SHOWN_IN_ALL up to BEFORE.
COUNTS = (
    "shown",
    "dismissed",
    "cached",
    "expired",
    "forbidden",
    "opens",
    "refusals",
    "missed",
    "spared",
)
PARTS = tuple(WEIGHTS)
PART_INFOS = [f"parts.{part}" for part in PARTS]


class Push(UserWorld):
    """Manage a user's arriving notifications: show, dismiss or put off each, and look at what was put off.

    A step is a decision in a moment of the user's life. A moment is an arrival, or a change of the context without one.
    Time goes from one moment to the next only by standing by.

    Action:
        Discrete(5), in the order of `world.actions`:

        0. show: what is in hand goes to the user, who opens or dismisses it after some minutes
        1. dismiss: it never reaches the user
        2. cache: it is put off and waits in the cache, oldest first
        3. check-cache: takes in hand the oldest waiting notification that was not in hand at this moment yet
        4. stand-by: time goes on to the next moment; what then arrives is in hand

        With something in hand 0, 1 and 2 are allowed, otherwise 4, and 3 if there is something to take. The others are
        forbidden: they cost `forbidden`, are counted, and change nothing. But the `max_forbidden`-th in a row lets time
        go on, with what was in hand put off.

    Observation:
        MultiDiscrete, int64, codes in the order of `world.observation_names`. `world.decode_one(observation)` returns
        words. It is one flat vector of codes, because libraries one-hot it as it is and tables can be indexed by it.
        Minutes and counts are in ranges (exact ones are in info). The highest code of a component that can be empty
        means none.

        - the context now, with the components of `evalumap1-v0`
        - `hand.*`: the notification in hand, and how often it was put off (0 to 4, 5 or more)
        - `cache.waiting`: how many wait
        - `head.*`: the oldest of those: its features, deferrals, and age
        - `pending.*`: how many that were shown have no answer yet, and how long ago the oldest was shown
        - `today.*`: how many were shown, dismissed and put off today
        - `hour`: 0 to 23, whole hours of the day
        - `days.left`: whole days of the horizon after this one; together with the hour, the time left

    Reward:
        The sum of these parts, each a count times its weight, an argument by that name:

        =========  =======  =====  =========================================================================
        part       default  2019   for each
        =========  =======  =====  =========================================================================
        opened      1         5    notification shown and then opened by the user
        dismissed  -1       -10    notification shown and then dismissed: an interruption for nothing
        missed     -1         0    unseen notification that the user would have opened as it arrived
        spared      0.2       0    unseen notification that the user would have dismissed as it arrived
        look        0         1    check-cache
        idle       -0.01     -1    stand-by while check-cache is allowed
        wait       -0.005    -0.2  notification waiting at a stand-by
        endless    -0.02     -0.2  deferral so far, at each deferral beyond `patience` (3; 2019: 15)
        forbidden  -0.5      -0.5  forbidden action
        =========  =======  =====  =========================================================================

        The first four come late: for what was shown when the user answers, after a response time drawn from the
        history's of that action and time of day; for what was dismissed when the user would have answered, had it been
        shown as it arrived; for what expired when it does. They are paid when time next passes that point. Unseen
        notifications are judged as they arrived, so that an agent cannot earn `spared` by waiting for a bad moment.
        rewards="2019" are the original's figures; its later releases also paid ±5 for what was dismissed.

    Dynamics:
        The user opens what is shown with the probability that the judge gives for the notification in the context of
        that moment, and not in that of its arrival: the same notification can be swept away at work and opened in the
        evening. Each notification has one uniform number for the episode, whatever the agent does.

    Start:
        The midnight before a day, with nothing in hand or waiting. The day is drawn, or named:
        options={"day": "2019-02-19" or its number, "user": name}, in a batch also a list with one for each copy.

    End:
        Terminated after the last moment of the horizon. What still waits expires then, and all that is outstanding is
        paid in that step, undiscounted. With M moments and A arrivals in the horizon every policy is there within
        max_forbidden × (M + A + 2 A M) steps; mostly it is some M + 2 A. As that is no length to set a clock by,
        `env.spec.max_episode_steps` is None.

    Info:
        "time", minutes since the first midnight; "day", number of the first day; counts so far: "shown", "dismissed"
        (by the agent), "cached" (deferrals), "expired", "forbidden", and of what is paid already "opens", "refusals"
        (dismissed by the user), "missed", "spared"; "load", shown a day; "delay", mean minutes from arrival to showing,
        0 before anything was shown; "parts.<part>", each part of the reward so far; with several users "user", the
        index of the user in the list; "hand" and "fates":

        The notifications of an episode are numbered from 0 in the order of arrival. info["hand"] is the number of the
        one in hand, -1 if there is none. info["fates"], int8 (most arrivals in an episode,), is the status of each, a
        code of `world.fates`: ahead, in hand, waiting, shown (no answer yet), unseen (dismissed by the agent, not paid
        yet), opened, refused, missed, spared (these two: dismissed), "expired, missed", "expired, spared". The last six
        are settled, and `world.worths[fate]` is what they were paid. A comparison of two infos therefore shows which
        decisions were answered between them, and the share of each in the reward. A log of `rollout` leaves "fates"
        out; `events()` returns the same as a table, one row per notification, with its worth.

    Args:
        user: Name of a shipped user, a folder, a User, or a list of them with one schema.
        days: None: all days there are; "train" their first two thirds, "test" the last; or a pair (first, after the
            last) of day numbers.
        horizon: Days in an episode, from 1 to as many as there are.
        source: "records": days of the history, with the context last known at any time; "generator": for shipped users
            also those of the test quarter, with the true context at any minute (`pushlab.users.days`). The test tables
            of 2019 have no dates and no days.
        judge, opening: As in `evalumap1-v0`.
        max_age: Minutes after which a waiting notification expires.
        max_forbidden: See Action.
        patience: Deferrals that cost nothing, see `endless`.
        rewards: "default" or "2019".
        weights: Other weights of the reward's parts, by name, such as missed=-2.0.

    Source:
        gym-push's environment push-v0 of 2019 (Fraser, Yousuf and Conlan)

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/push-v0", user="mira")
    >>> observation, info = env.reset(seed=7, options={"day": "2019-02-18"})
    >>> info["action_mask"]                                 # it is midnight and nothing is in hand
    array([0, 0, 0, 0, 1], dtype=int8)
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> round(info["time"]), info["action_mask"]            # at 05:36 something arrives
    (336, array([1, 1, 1, 0, 0], dtype=int8))
    """

    name = "push-v0"
    drawing = "inbox"
    uniforms = 2
    options = ("day", "user")
    exports = ("events",)
    unlogged = ("fates",)
    advances_ended = True
    actions = rules.ACTIONS
    fates = rules.FATES

    def __init__(
        self,
        user: Any = "mira",
        days: Any = None,
        horizon: int = 1,
        source: str = "records",
        judge: Any = None,
        opening: str = "sampled",
        max_age: float = 720,
        max_forbidden: int = 5,
        patience: float | None = None,
        rewards: str = "default",
        **weights: float,
    ):
        super().__init__(user, judge)
        usual, usual_patience = REWARDS[one_of("rewards", rewards, REWARDS)]
        self.weights = dict(usual)
        for part, worth in weights.items():
            one_of("an argument for a part of the reward", part, PARTS)
            self.weights[part] = float(number(part, worth))
        self.max_age = float(number("max_age", max_age, 0, math.inf, of="minutes"))
        self.max_forbidden = whole("max_forbidden", max_forbidden, 1)
        patience = usual_patience if patience is None else patience
        self.patience = number("patience", patience, 0, math.inf, of="deferrals")

        tables = lay_out(self.users, self.judges, source, opening, self.max_age)
        self.dates = tables.pop("dates")
        self.owner = tables.pop("owner")
        self.first = np.append(tables.pop("first"), len(tables["times"]))
        self.horizon = horizon
        starts = []
        for who, user in enumerate(self.users):
            mine = np.flatnonzero(self.owner == who)
            low, high = span(days, len(mine))
            of = f"days that there are for user {user.name},"
            whole("horizon", horizon, 1, high - low, of=of)
            starts.append(mine[low : high - horizon + 1])
        self._starts = np.concatenate(starts)
        self._came_before = np.searchsorted(tables["came"], self.first)
        arrivals = (
            self._came_before[self._starts + horizon] - self._came_before[self._starts]
        )
        self.width = max(1, int(arrivals.max()))

        top = self._set_spaces()
        # Infinity as a number: at the end, when the time is infinite, what waits has expired whatever its age.
        limits = [self.max_age, self.max_forbidden, self.patience]
        self.life = rules.Life(
            **tables,
            weights=np.array(list(self.weights.values())),
            limits=np.nan_to_num(np.array(limits, float)),
            top=top,
        )
        self.worths = np.append(0.0, self.life.weights)[list(rules.PAID_AS)]

    def _set_spaces(self):
        context = self.schema.context
        notification = self.schema.notification
        counts = len(rules.COUNT_EDGES)
        ages = len(rules.AGE_EDGES) + 1  # one more than the last code means none
        none = [*notification.sizes, rules.MOST_DEFERRALS + 1]
        names = [*notification.components, "deferrals"]
        top = {name: size - 1 for name, size in zip(context.components, context.sizes)}
        top |= {f"hand.{name}": code for name, code in zip(names, none)}
        top["cache.waiting"] = counts
        top |= {f"head.{name}": code for name, code in zip(names, none)}
        top["head.age"] = ages
        top["pending.shown"] = counts
        top["pending.age"] = ages
        for count in ("shown", "dismissed", "cached"):
            top[f"today.{count}"] = counts
        top["hour"] = 23
        top["days.left"] = self.horizon - 1
        self.observation_names = tuple(top)
        codes = np.array(list(top.values()), np.int64)
        self.observation_space = MultiDiscrete(codes + 1)
        self.action_space = Discrete(len(self.actions))
        self.action_choices = [("action", list(self.actions))]
        return codes

    @property
    def start_days(self) -> np.ndarray:
        """Numbers of the days, counted from their user's first, on which an episode can start, int64."""
        return self._day_numbers(self._starts)

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n = len(draws)
        start = self._start_days(draws[:, 0], options)
        core = np.zeros((n, rules.PENDING_NOW + 1), np.int32)
        sums = np.zeros((n, rules.KEY + 1))
        core[:, rules.MOMENT] = self.first[start]
        core[:, rules.STOP] = self.first[start + self.horizon]
        core[:, rules.DAY_NOW] = start
        core[:, rules.FIRST_DAY] = start
        core[:, rules.WHO] = self.owner[start]
        core[:, rules.BASE] = self._came_before[start]
        core[:, [rules.HAND, rules.TAKEN, rules.ACTED_ON]] = rules.NOBODY
        sums[:, rules.KEY] = draws[:, 1]
        phone = (
            core,
            sums,
            np.zeros((n, self.width), np.int8),
            np.zeros((n, self.width), np.int16),
            np.zeros((n, self.width), np.int32),
        )
        return self._live(phone, np.full(n, rules.NO_ACTION))[0]

    def _live(self, phone, action):
        """Take a step in place; return the next state and the reward."""
        n = len(action)
        reward = np.empty(n)
        seen = np.empty((n, len(self.life.top)), np.int64)
        mask = np.empty((n, len(self.actions)), np.int8)
        rules.live_each(action, reward, seen, mask, *phone, *self.life)
        state = dict(zip(rules.Phone._fields, phone))
        return {**state, "seen": seen, "mask": mask}, reward

    def _start_days(self, u, options):
        """The day on which each copy starts, int64 (n,): as the options say, else by chance."""
        n = len(u)
        who = self.requested_users(options, n)
        start = np.empty(n, np.int64)
        days = for_each_copy("day", options.get("day"), n)
        if who is None and days.count(None) == n:
            return self._starts[(u * len(self._starts)).astype(np.int64)]
        for copy, day in enumerate(days):
            choice = self._starts
            if who is not None:
                choice = choice[self.owner[choice] == who[copy]]
            if day is not None:
                choice = self._on_day(choice, day)
            start[copy] = choice[int(u[copy] * len(choice))]
        return start

    def _on_day(self, choice, day):
        """Those of the days with this date or number."""
        numbers = self._day_numbers(choice)
        dates = self.dates[choice]
        try:
            same = (
                numbers == day if is_number(day) else dates == np.datetime64(day, "D")
            )
        except (ValueError, TypeError):
            same = np.zeros(len(choice), bool)
        demand(
            same.any(),
            f"the option day is a date from {dates[0]} to {dates[-1]}, or its number from "
            f"{numbers.min()} to {numbers.max()}; got {in_short(day)}",
        )
        return choice[same]

    def _day_numbers(self, days):
        """Numbers of days among their user's."""
        return days - np.searchsorted(self.owner, self.owner[days])

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        phone = [state[name].copy() for name in rules.Phone._fields]
        state, reward = self._live(phone, action)
        return state, {"reward": reward, "action": action}

    def observe(self, state: dict) -> np.ndarray:
        return state["seen"]

    def mask(self, state: dict) -> np.ndarray:
        return state["mask"]

    def terminated(self, state: dict) -> np.ndarray:
        return state["core"][:, rules.OVER] == 1

    def info(self, state: dict, outcome: dict | None) -> dict:
        core = state["core"]
        day = self._day_numbers(core[:, rules.FIRST_DAY])
        columns = core.T.astype(np.int64)
        sums = state["sums"].T
        time = self.minutes_gone(core)
        return self.infos_of(columns, sums, state["fate"], time, day)

    def infos_of(
        self, core: Any, sums: Any, fates: np.ndarray, time: Any, day: Any
    ) -> dict:
        """Return infos from the columns of core and sums, each a number or an array (n,)."""
        shown = core[rules.SHOWN_IN_ALL]
        info = {"time": time, "day": day}
        info.update(zip(COUNTS, core[rules.SHOWN_IN_ALL : rules.BEFORE]))
        info["load"] = shown / (core[rules.DAY_NOW] - core[rules.FIRST_DAY] + 1)
        info["delay"] = sums[rules.DELAY] / (shown + (shown == 0))
        info.update(zip(PART_INFOS, sums))
        if len(self.users) > 1:
            info["user"] = core[rules.WHO]
        info["hand"] = core[rules.HAND]
        info["fates"] = fates
        return info

    def minutes_gone(self, core: np.ndarray) -> np.ndarray:
        """Return minutes since the first midnight of the horizon, float64 (n,)."""
        begin = self.life.times[self.first[core[:, rules.FIRST_DAY]]]
        last = core[:, rules.STOP] - 1
        now = self.life.times[np.minimum(core[:, rules.MOMENT], last)]
        at_end = core[:, rules.OVER] == 1
        return np.where(at_end, self.horizon * float(DAY), now - begin)

    def solo(self) -> PushAlone:
        return PushAlone(self)

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the plain dict that `pushlab.plots.inbox` draws and documents."""
        return story.frame_of(self, state, outcome, at)

    def decode_one(self, observation: Any) -> dict[str, str]:
        """Return an observation in words: a dict by `observation_names`, with one entry for a set-valued feature."""
        return story.words_of(self, observation)

    def events(self, env: Any) -> pd.DataFrame:
        """Return the notifications that arrived so far, a DataFrame with one row each; see `story.table_of`."""
        return story.table_of(self, env.state)


class PushAlone:
    """One phone, changed in place; see `World.solo`."""

    def __init__(self, world: Push):
        self.world = world
        self.state: Any = None
        self._read = reader_of(world)

    def reset(self, draws: np.ndarray, options: Mapping[str, Any]) -> tuple[Any, dict]:
        """Start an episode; return observation and info."""
        world = self.world
        self.state = world.initial(draws, options)
        self._action = np.array([rules.NO_ACTION])
        self._reward = np.zeros(1)
        *phone, self._seen, self._mask = self.state.values()
        self._core, self._sums, self._fate = phone[:3]
        # Filled at every step. These are whole arrays because a pickle of views would separate them from these.
        outputs = self._reward, self._seen, self._mask
        self._arrays = (self._action, *outputs, *phone, *world.life)
        first = self.state["core"][:, rules.FIRST_DAY]
        self._times = world.life.times
        self._begin = float(self._times[world.first[first[0]]])
        self._end = world.horizon * float(DAY)
        self._day = int(world._day_numbers(first)[0])
        return self._seen[0].copy(), self._info()

    def step(
        self, action: Any, draws: np.ndarray
    ) -> tuple[Any, float, bool, bool, dict]:
        """Return observation, reward, terminated, truncated and info."""
        if type(action) not in NUMBERS or not 0 <= action < len(rules.ACTIONS):
            action = self._read(action, 1)[0]
        self._action[0] = action
        rules.live_each(*self._arrays)
        info = self._info()
        return self._seen[0].copy(), self._reward.item(), self._is_over, False, info

    def _info(self):
        [core] = self._core.tolist()
        [sums] = self._sums.tolist()
        self._is_over = core[rules.OVER] == 1
        time = self._end
        if not self._is_over:
            time = self._times.item(core[rules.MOMENT]) - self._begin
        fates = self._fate[0].copy()
        info = self.world.infos_of(core, sums, fates, time, self._day)
        info["action_mask"] = self._mask[0].copy()
        return info

    def now(self) -> tuple[dict | None, dict | None]:
        """Return state and outcome as the methods for batches do; both are None before the first reset."""
        if self.state is None:
            return None, None
        state = {key: values.copy() for key, values in self.state.items()}
        if self._action[0] == rules.NO_ACTION:
            return state, None
        return state, {"reward": self._reward.copy(), "action": self._action.copy()}


def lay_out(
    users: Sequence[User], judges: Sequence, source: str, opening: str, max_age: float
) -> dict[str, np.ndarray]:
    """Return the days of all users, one after the other.

    Returns:
        The first arrays of `rules.Life` by name, and, for each day, its date ("dates"), the moment with which it begins
        ("first") and the index of its user ("owner").
    """
    parts = []
    before: Counter = Counter()  # lengths of the parts so far
    for owner, (user, judge) in enumerate(zip(users, judges)):
        days = days_of(user, source)
        has_arrival = days.arrival >= 0
        came = np.flatnonzero(has_arrival)
        end = days.times[came] + max_age + 1e-6
        lengths = np.searchsorted(days.times, end, side="right") - came
        begin = np.cumsum(lengths) - lengths
        one = np.repeat(np.arange(len(came)), lengths)
        moment = came[one] + np.arange(len(one)) - begin[one]
        chance = np.empty(len(one))
        sent = np.ascontiguousarray(days.notifications[one])
        judge.chances(days.contexts)(moment, sent, chance)
        threshold = cutoff(judge, user.history, opening)
        if not np.isnan(threshold):
            chance = (chance >= threshold).astype(float)
        answers = ResponseTimes.fit(user.history)
        its_day = np.repeat(np.arange(len(days)), np.diff(days.first))
        plan = [
            np.where(has_arrival, days.arrival + before["came"], rules.NOBODY),
            slot_number(days.times),
            its_day + before["dates"],
            days.times % DAY // 60,
        ]
        part = {
            "plan": np.stack(plan, axis=1).astype(np.int32),
            "times": days.times,
            "contexts": days.contexts.astype(np.int32),
            "came": came + before["times"],
            "first_chance": begin + before["chance"],
            "notifications": days.notifications.astype(np.int32),
            "chance": chance,
            "minutes": answers.minutes,
            "cells": answers.cells[None] + np.array([before["minutes"], 0]),
            "dates": days.dates,
            "first": days.first[:-1] + before["times"],
            "owner": np.full(len(days), owner),
        }
        before.update({name: len(values) for name, values in part.items()})
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def span(days: Any, count: int) -> tuple[int, int]:
    """Return the first day and the one after the last, of `count` days, for the argument `days` of the world."""
    if days is None:
        return 0, count
    if isinstance(days, str) and days in SPANS:
        low, high = SPANS[days]
        return round(low * count), round(high * count)
    right = (
        f"days is None, {', '.join(map(repr, SPANS))} or a pair of day numbers (first, after the last) "
        f"from 0 to {count}; got {in_short(days)}"
    )
    demand(isinstance(days, (tuple, list)) and len(days) == 2, right)
    low, high = days
    demand(is_number(low) and is_number(high) and 0 <= low < high <= count, right)
    return int(low), int(high)
