"""push-v0: notifications arrive during the day, and an agent decides about each on the user's behalf."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Discrete, MultiDiscrete

from pushlab.datasets.periods import User
from pushlab.envs.env import INTEGER_TYPES, SingleCopy
from pushlab.envs.evalumap import UserWorld, broadcast_option
from pushlab.envs.push import decoding, rules
from pushlab.users.days import MINUTES_PER_DAY, ResponseTimes, days_of, slot_number
from pushlab.users.judges import opening_threshold
from pushlab.utils.arguments import (
    is_number,
    require,
    short_repr,
    validate_choice,
    validate_integer,
    validate_number,
)

# Weights of the reward parts, fixed before any agent was trained.
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
# Weights, and the number of deferrals that cost nothing.
REWARDS = {"default": (WEIGHTS, 3), "2019": (WEIGHTS_2019, 15)}
SPANS = {"train": (0.0, 2 / 3), "test": (2 / 3, 1.0)}  # fractions of the days
# Info keys of the first columns of core and of sums, in the order of rules.py.
COUNTS = (
    "day",
    "shown",
    "dismissed",
    "cached",
    "expired",
    "forbidden",
    "opens",
    "refusals",
    "missed",
    "spared",
    "hand",
    "user",
)
AMOUNTS = (*(f"parts.{part}" for part in WEIGHTS), "time", "load", "delay")
# All keys, in the order of info.
EMPTY_INFO = dict.fromkeys(
    ["time", *COUNTS[:-2], "load", "delay", *AMOUNTS[:-3], "user", "hand", "statuses"]
)
# Info keys that depend on answers that the user never gave.
COUNTERFACTUAL_INFOS = ("missed", "spared", "parts.missed", "parts.spared")


class Push(UserWorld):
    """Manage a user's arriving notifications: show, dismiss or defer each.

    A step is a decision at a moment of the user's life. At each moment a notification arrives or the context changes.
    Only the action stand-by advances time to the next moment.

    Two parts of the default reward are counterfactual: `missed` and `spared` depend on the user's answer to
    notifications that she never saw. A simulation knows it, a phone doesn't. With feedback="observed" the agent gets
    only what a phone observes. To judge policies, use the default, feedback="full".

    Action:
        Discrete(5), in the order of `world.actions`:

        0. show: show the notification in hand; the user opens or dismisses it after some minutes
        1. dismiss: drop the notification in hand; the user never sees it
        2. cache: defer the notification in hand; it waits in the cache, oldest first
        3. check-cache: take in hand the oldest waiting notification that hasn't been in hand at this moment
        4. stand-by: advance to the next moment; a notification that arrives then is in hand

        With a notification in hand, 0, 1 and 2 are allowed. Otherwise 4 is allowed, and 3 if there is a notification
        to take. Any other action is forbidden: it costs `forbidden`, is counted, and changes nothing. The
        `max_forbidden`-th in a row also defers the notification in hand and advances time.

    Observation:
        MultiDiscrete, int64, codes in the order of `world.observation_names`. `world.decode_one(observation)` returns
        words. The vector is flat, so that libraries can one-hot it and tables can be indexed by it. Minutes and counts
        are in ranges; info has exact numbers. The highest code of a component that can be empty means none.

        - the current context, with the components of `evalumap1-v0`
        - `hand.*`: the notification in hand, and how often it was deferred (0 to 4, 5 or more)
        - `cache.waiting`: number of waiting notifications
        - `head.*`: the oldest of them: its features, deferrals and age
        - `pending.*`: number of shown notifications without an answer, and time since the oldest was shown
        - `today.*`: numbers of notifications shown, dismissed and deferred today
        - `hour`: hour of the day, 0 to 23
        - `days.left`: whole days of the horizon after this one

    Reward:
        The sum of these parts, each a count times its weight. Each weight is an argument:

        =========  =======  =====  =========================================================================
        part       default  2019   for each
        =========  =======  =====  =========================================================================
        opened      1         5    notification shown and then opened by the user
        dismissed  -1       -10    notification shown and then dismissed: an interruption for nothing
        missed     -1         0    unseen notification that the user would have opened as it arrived (counterfactual)
        spared      0.2       0    unseen notification that the user would have dismissed as it arrived (counterfactual)
        look        0         1    check-cache
        idle       -0.01     -1    stand-by while check-cache is allowed
        wait       -0.005    -0.2  notification waiting at a stand-by
        endless    -0.02     -0.2  deferral so far, at each deferral beyond `patience` (3; 2019: 15)
        forbidden  -0.5      -0.5  forbidden action
        =========  =======  =====  =========================================================================

        The first four are delayed until time next passes one of these points:

        - shown: the user's answer, after a response time drawn from the history (same answer and time of day)
        - dismissed unseen: the answer that the user would have given to it on arrival
        - expired: the expiry

        Unseen notifications are judged as they arrived, so that an agent cannot earn `spared` by waiting for a bad
        moment. rewards="2019" has the original's weights; its later releases also paid ±5 for dismissed notifications.

        With feedback="observed" the reward has no `missed` and no `spared`. `world.weights` and `world.status_rewards`
        still have their weights: the designer chooses them, and a learner can use them with its own estimate of the
        probability of an open.

    Dynamics:
        The user opens a shown notification with the judge's probability in the context of that moment, not of the
        arrival: the same notification can be dismissed at work and opened in the evening. Each notification has one
        uniform number for the episode, whatever the agent does.

        With `habituation` h > 0, notifications shown earlier in the episode lower the probability p of an open to
        p / (p + (1 - p) exp(h D)): at the dose D the log-odds are lower by h D. The dose is the sum of
        2^(-age / 240 minutes) over the other notifications shown up to that moment. Those of the same moment count in
        full, so showing many at once doesn't avoid it. The form and the half-life are ours. In the trial HeartSteps the
        effect of suggestions fell over the weeks (Klasnja et al. 2019). `missed` and `spared` then depend on earlier
        pushes, too: they are the answers at the dose on arrival.

    Start:
        The midnight before a day, with no notification in hand or waiting. The day is drawn, or set by
        options={"day": "2019-02-19" or its number, "user": name}; a batch also accepts lists with one value for each
        copy.

    End:
        Terminated after the last moment of the horizon. Waiting notifications expire then, and all outstanding rewards
        are paid in that step, undiscounted. With M moments and A arrivals in the horizon, every episode ends within
        max_forbidden × (M + A + 2 A M) steps; usually after about M + 2 A. Therefore `env.spec.max_episode_steps` is
        None.

    Info:
        "time", minutes since the first midnight; "day", number of the first day. Counts so far: "shown", "dismissed"
        (by the agent), "cached" (deferrals), "expired", "forbidden"; of settled notifications "opens", "refusals"
        (dismissed by the user), "missed", "spared". "load", notifications shown per day; "delay", mean minutes from
        arrival to showing, 0 if none was shown; "parts.<part>", each part of the reward so far. With several users
        "user", the index of the user in the list. Also "hand" and "statuses":

        The notifications of an episode are numbered from 0 in order of arrival. info["hand"] is the number of the one
        in hand, or -1. info["statuses"], int8 (maximum arrivals in an episode,), has the status of each, a code of
        `world.status_names`: ahead, in hand, waiting, shown (no answer yet), unseen (dismissed by the agent, not
        settled), opened, refused, missed, spared (these two: dismissed by the agent), "expired, missed", "expired,
        spared". The last six are final, with the reward `world.status_rewards[code]`. Comparing two infos shows which
        notifications were settled between them, and the reward of each. Logs of `rollout` omit "statuses"; `events()`
        returns a table with one row per notification and its reward.

        With feedback="observed" the entries "missed", "spared", "parts.missed" and "parts.spared" are absent. The
        status of each notification that was dismissed by the agent or has expired is unseen, which is final then; its
        reward in `events()` is NaN.

        With habituation "dose", the dose now of all notifications shown so far. A phone can compute it.

    Args:
        user: Name of a shipped user, a folder, a User, or a list of them with one schema.
        days: None: all days; "train" the first two thirds, "test" the last; or a pair of day numbers (first, after the
            last).
        horizon: Days per episode.
        judge, opening: As in `evalumap1-v0`.
        max_age: Minutes after which a waiting notification expires.
        max_forbidden: Number of forbidden actions in a row after which time advances.
        patience: Number of deferrals that cost nothing, see `endless`.
        rewards: "default" or "2019".
        feedback: "full", or "observed": without the answers that the user never gave.
        habituation: Loss in the log-odds of an open per unit of dose, 0 to 10; see Dynamics.
        weights: Other weights of reward parts, such as missed=-2.0.

    Source:
        gym-push's environment push-v0 of 2019 (Fraser, Yousuf and Conlan); Klasnja et al. (2019), Annals of Behavioral
        Medicine 53(6), 573-582.

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/push-v0", user="mira")
    >>> observation, info = env.reset(seed=7, options={"day": "2019-02-18"})
    >>> info["action_mask"]                                 # midnight, with nothing in hand
    array([0, 0, 0, 0, 1], dtype=int8)
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> round(info["time"]), info["action_mask"]            # a notification arrives at 05:36
    (336, array([1, 1, 1, 0, 0], dtype=int8))
    """

    name = "push-v0"
    drawing = "inbox"
    uniforms = 2
    options = ("day", "user")
    exports = ("events",)
    unlogged_info = ("statuses",)
    can_advance_ended = True
    actions = rules.ACTIONS
    status_names = rules.STATUSES

    def __init__(
        self,
        user: Any = "mira",
        days: Any = None,
        horizon: int = 1,
        judge: Any = None,
        opening: str = "sampled",
        max_age: float = 720,
        max_forbidden: int = 5,
        patience: float | None = None,
        rewards: str = "default",
        feedback: str = "full",
        habituation: float = 0.0,
        **weights: float,
    ):
        super().__init__(user, judge)
        self.feedback = validate_choice("feedback", feedback, ("full", "observed"))
        default_weights, default_patience = REWARDS[
            validate_choice("rewards", rewards, REWARDS)
        ]
        self.weights = dict(default_weights)
        for part, weight in weights.items():
            require(
                part in WEIGHTS,
                f"there is no argument {part!r}; the parts of the reward are {', '.join(WEIGHTS)}",
            )
            self.weights[part] = float(validate_number(part, weight))
        self.max_age = float(
            validate_number("max_age", max_age, 0, math.inf, unit="minutes")
        )
        self.max_forbidden = validate_integer("max_forbidden", max_forbidden, 1)
        if patience is None:
            patience = default_patience
        self.patience = validate_number(
            "patience", patience, 0, math.inf, unit="deferrals"
        )
        self.habituation = validate_number("habituation", habituation, 0, 10)

        tables = build_tables(self.users, self.judges, opening, self.max_age)
        none = self.schema.notification.sizes[None]
        tables["notifications"] = np.append(tables["notifications"], none, axis=0)
        self.dates = tables.pop("dates")
        self.owner = tables.pop("owner")
        self.first = np.append(tables.pop("first"), len(tables["times"]))
        self.horizon = horizon
        starts = []
        for index, user in enumerate(self.users):
            own_days = np.flatnonzero(self.owner == index)
            low, high = day_range(days, len(own_days))
            unit = f"days of user {user.name},"
            validate_integer("horizon", horizon, 1, high - low, unit=unit)
            starts.append(own_days[low : high - horizon + 1])
        self._starts = np.concatenate(starts)
        self.horizon_minutes = horizon * float(MINUTES_PER_DAY)
        # Number of arrivals before each day.
        self._arrivals_before = np.searchsorted(tables["arrival_moments"], self.first)
        first_arrival = self._arrivals_before[self._starts]
        arrivals = self._arrivals_before[self._starts + horizon] - first_arrival
        self.width = max(1, int(arrivals.max()))

        part_weights = np.array(list(self.weights.values()))
        self.status_rewards = np.append(0.0, part_weights)[list(rules.STATUS_PARTS)]
        # Code in info of each status of the state.
        self.reported_status = np.arange(len(rules.STATUSES), dtype=np.int8)
        if self.feedback == "observed":
            part_weights[[rules.P_MISSED, rules.P_SPARED]] = 0.0
            self.reported_status[rules.MISSED :] = rules.UNSEEN
        # The last moment is at infinite time. A finite maximum age makes all waiting notifications expire then.
        limits = [
            self.max_age,
            self.max_forbidden,
            self.patience,
            self.habituation,
            self.horizon_minutes,
        ]
        self.tables = rules.Tables(
            **tables,
            weights=part_weights,
            limits=np.nan_to_num(limits),
            highest_codes=self._set_spaces(),
        )

    def _set_spaces(self):
        """Set the spaces and the names of their components; return the highest codes of the observation."""
        context = self.schema.context
        notification = self.schema.notification
        count = len(rules.COUNT_EDGES)
        age = len(rules.AGE_EDGES) + 1  # none
        names = [*notification.components, "deferrals"]
        none = [*notification.sizes, rules.MAX_DEFERRALS + 1]
        highest = {
            **dict(zip(context.components, context.sizes - 1)),
            **{f"hand.{name}": code for name, code in zip(names, none)},
            "cache.waiting": count,
            **{f"head.{name}": code for name, code in zip(names, none)},
            "head.age": age,
            "pending.shown": count,
            "pending.age": age,
            "today.shown": count,
            "today.dismissed": count,
            "today.cached": count,
            "hour": 23,
            "days.left": self.horizon - 1,
        }
        codes = np.array(list(highest.values()), np.int64)
        self.observation_names = tuple(highest)
        self.observation_space = MultiDiscrete(codes + 1)
        self.action_space = Discrete(len(self.actions))
        self.action_choices = [("action", list(self.actions))]
        return codes

    @property
    def start_days(self) -> np.ndarray:
        """Days on which an episode can start, numbered from their user's first day, int64."""
        return self._day_numbers(self._starts)

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n = len(draws)
        start = self._draw_start_days(draws[:, 0], options)
        core = np.zeros((n, rules.FIRST_MOMENT + 1), np.int32)
        sums = np.zeros((n, rules.KEY + 1))
        core[:, [rules.MOMENT, rules.FIRST_MOMENT]] = self.first[start, None]
        core[:, rules.END_MOMENT] = self.first[start + self.horizon]
        core[:, rules.CURRENT_DAY] = start
        core[:, rules.FIRST_DAY] = start
        core[:, rules.DAY] = self._day_numbers(start)
        core[:, rules.USER] = self.owner[start]
        core[:, rules.FIRST_ARRIVAL] = self._arrivals_before[start]
        empty = [rules.HAND, rules.LAST_TAKEN, rules.LAST_HANDLED]
        core[:, empty] = rules.NO_NOTIFICATION
        sums[:, rules.KEY] = draws[:, 1]
        phone = (
            core,
            sums,
            np.zeros((n, self.width), np.int8),
            np.zeros((n, self.width), np.int16),
            np.zeros((n, self.width), np.int32),
        )
        return self._step(phone, np.full(n, rules.NO_ACTION))[0]

    def _step(self, phone, action):
        """Step copies in place; return the next state and the reward."""
        n = len(action)
        reward = np.empty(n)
        observation = np.empty((n, len(self.tables.highest_codes)), np.int64)
        mask = np.empty((n, len(self.actions)), np.int8)
        rules.step_phones(action, reward, observation, mask, *phone, *self.tables)
        state = dict(zip(rules.Phone._fields, phone))
        return {**state, "observation": observation, "mask": mask}, reward

    def _draw_start_days(self, u, options):
        """Return the start day of each copy, int64 (n,), drawn from the days that the options allow."""
        if not options:
            return self._starts[(u * len(self._starts)).astype(np.int64)]
        n = len(u)
        users = self.requested_users(options, n)
        days = broadcast_option("day", options.get("day"), n)
        start = np.empty(n, np.int64)
        for copy, day in enumerate(days):
            choices = self._starts
            if users is not None:
                choices = choices[self.owner[choices] == users[copy]]
            if day is not None:
                choices = self._select_day(choices, day)
            start[copy] = choices[int(u[copy] * len(choices))]
        return start

    def _select_day(self, days, requested):
        """Return the days with the requested date or number."""
        numbers = self._day_numbers(days)
        dates = self.dates[days]
        try:
            if is_number(requested):
                matches = numbers == requested
            else:
                matches = dates == np.datetime64(requested, "D")
        except (ValueError, TypeError):
            matches = np.False_
        require(
            matches.any(),
            f"the option day must be a date from {dates[0]} to {dates[-1]}, or its number from "
            f"{numbers.min()} to {numbers.max()}; got {short_repr(requested)}",
        )
        return days[matches]

    def _day_numbers(self, days):
        """Return days as numbers from their user's first day."""
        return days - np.searchsorted(self.owner, self.owner[days])

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        phone = [state[name].copy() for name in rules.Phone._fields]
        next_state, reward = self._step(phone, action)
        return next_state, {"reward": reward, "action": action}

    def observe(self, state: dict) -> np.ndarray:
        return state["observation"]

    def mask(self, state: dict) -> np.ndarray:
        return state["mask"]

    def terminated(self, state: dict) -> np.ndarray:
        return state["core"][:, rules.IS_OVER] == 1

    def info(self, state: dict, outcome: dict | None) -> dict:
        core = state["core"][:, : len(COUNTS)].T.astype(np.int64)
        info = self.make_info(core, state["sums"].T, state["status"])
        if self.habituation:
            info["dose"] = self.doses(state)
        return info

    def doses(self, state: dict) -> np.ndarray:
        """Return the dose now of the notifications shown so far, float64 (n,); see Dynamics."""
        core = state["core"]
        moment = np.minimum(core[:, rules.MOMENT], core[:, rules.END_MOMENT] - 1)
        times = self.tables.times
        ages = times[moment, None] - times[state["since"]]
        was_shown = np.isin(state["status"], rules.WAS_SHOWN)
        parts = np.exp2(-ages / rules.HALF_LIFE)
        return parts.sum(axis=1, where=was_shown)

    def make_info(self, core: Any, sums: Any, status: np.ndarray) -> dict:
        """Return infos from the columns of core and sums, each a number or an array (n,)."""
        info = EMPTY_INFO.copy()
        info.update(zip(COUNTS, core))
        info.update(zip(AMOUNTS, sums))
        info["statuses"] = status
        if len(self.users) == 1:
            del info["user"]
        if self.feedback == "observed":
            for key in COUNTERFACTUAL_INFOS:
                del info[key]
            info["statuses"] = self.reported_status[status]
        return info

    def make_single_copy(self) -> SinglePhone:
        return SinglePhone(self)

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the data that `pushlab.plots.inbox` draws; its docstring lists the keys."""
        return decoding.make_frame(self, state, outcome, at)

    def decode_one(self, observation: Any) -> dict[str, str]:
        """Return an observation in words, a dict by `observation_names`; a set-valued feature has one entry."""
        return decoding.decode_observation(self, observation)

    def events(self, env: Any) -> pd.DataFrame:
        """Return the notifications that have arrived, a DataFrame with one row each; see `decoding.events_table`."""
        return decoding.events_table(self, env.state)


class SinglePhone(SingleCopy):
    """A single phone, changed in place."""

    def reset(self, draws, options):
        world = self.world
        self.state = world.initial(draws, options)
        self._action = np.array([rules.NO_ACTION])
        self._reward = np.zeros(1)
        *phone, self._observation, self._mask = self.state.values()
        self._core, self._sums, self._status = phone[:3]
        # Arguments of step_phones. Batches of one, not views of their rows: pickle would separate views.
        self._arguments = (
            self._action,
            self._reward,
            self._observation,
            self._mask,
            *phone,
            *world.tables,
        )
        return self._observation[0].copy(), self._info()

    def step(self, action, draws):
        code = int(action) if type(action) in INTEGER_TYPES else -1
        if not rules.SHOW <= code <= rules.STAND_BY:
            code = self._parse(action, 1)[0]
        self._action[0] = code
        rules.step_phones(*self._arguments)
        info = self._info()
        observation = self._observation[0].copy()
        return observation, self._reward.item(), self._is_over, False, info

    def _info(self):
        [core] = self._core.tolist()
        [sums] = self._sums.tolist()
        self._is_over = core[rules.IS_OVER] == 1
        info = self.world.make_info(core, sums, self._status[0].copy())
        if self.world.habituation:
            info["dose"] = self.world.doses(self.state).item()
        info["action_mask"] = self._mask[0].copy()
        return info

    def snapshot(self):
        if self.state is None:
            return None, None
        state = {key: values.copy() for key, values in self.state.items()}
        if self._action[0] == rules.NO_ACTION:
            return state, None
        return state, {"reward": self._reward.copy(), "action": self._action.copy()}


def build_tables(
    users: Sequence[User],
    judges: Sequence,
    opening: str,
    max_age: float,
) -> dict[str, np.ndarray]:
    """Return the tables of the days of all users, concatenated.

    Returns:
        The first arrays of `rules.Tables` by name, and for each day its date ("dates"), its first moment ("first") and
        the index of its user ("owner").
    """
    parts = []
    offsets: Counter = Counter()  # total lengths of the previous parts
    for owner, (user, judge) in enumerate(zip(users, judges)):
        days = days_of(user)
        has_arrival = days.arrival >= 0
        arrived = np.flatnonzero(has_arrival)
        # Each arrival needs a probability for every moment until it expires.
        expiry = days.times[arrived] + max_age + 1e-6
        counts = np.searchsorted(days.times, expiry, side="right") - arrived
        begin = np.cumsum(counts) - counts
        row = np.repeat(np.arange(len(arrived)), counts)
        delay = np.arange(len(row)) - begin[row]
        moment = arrived[row] + delay
        notifications = np.ascontiguousarray(days.notifications[row])
        probabilities = np.empty(len(row))
        judge.probability_function(days.contexts)(moment, notifications, probabilities)
        threshold = opening_threshold(judge, user.history, opening)
        if not np.isnan(threshold):
            probabilities = (probabilities >= threshold).astype(float)
        responses = ResponseTimes.fit(user.history)
        day_index = np.repeat(np.arange(len(days)), np.diff(days.first))
        arrival = days.arrival + offsets["arrival_moments"]
        plan = [
            np.where(has_arrival, arrival, rules.NO_NOTIFICATION),
            slot_number(days.times),
            day_index + offsets["dates"],
            days.times % MINUTES_PER_DAY // 60,
        ]
        cell_offset = np.array([offsets["response_minutes"], 0])
        part = {
            "plan": np.stack(plan, axis=1).astype(np.int32),
            "times": days.times,
            "contexts": days.contexts.astype(np.int64),
            "arrival_moments": arrived + offsets["times"],
            "first_probability": begin + offsets["probabilities"],
            "notifications": days.notifications.astype(np.int64),
            "probabilities": probabilities,
            "response_minutes": responses.minutes,
            "response_cells": responses.cells[None] + cell_offset,
            "dates": days.dates,
            "first": days.first[:-1] + offsets["times"],
            "owner": np.full(len(days), owner),
        }
        offsets.update({name: len(values) for name, values in part.items()})
        parts.append(part)
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def day_range(days: Any, count: int) -> tuple[int, int]:
    """Return the first day, and the day after the last, from the argument `days` and the number of days that exist."""
    if days is None:
        return 0, count
    if isinstance(days, str) and days in SPANS:
        low, high = SPANS[days]
        return round(low * count), round(high * count)
    message = (
        f"days must be None, {', '.join(map(repr, SPANS))} or a pair of day numbers (first, after the last) "
        f"from 0 to {count}; got {short_repr(days)}"
    )
    require(isinstance(days, (tuple, list)) and len(days) == 2, message)
    low, high = days
    is_valid = is_number(low) and is_number(high) and 0 <= low < high <= count
    require(is_valid, message)
    return int(low), int(high)
