"""push-v0: notifications arrive through the day, and an agent decides on the user's behalf."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from gymnasium.spaces import Discrete, MultiDiscrete

from pushlab.envs.push import rules, view
from pushlab.envs.push.days import lay_out, span
from pushlab.envs.push.story import frame_of, table_of
from pushlab.envs.user_world import UserWorld, one_each
from pushlab.ground.arguments import demand, in_short, is_number, number, one_of, whole
from pushlab.users.days import DAY

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
REWARDS = {
    "default": (WEIGHTS, 3),
    "2019": (WEIGHTS_2019, 15),
}  # with the number of deferrals that cost nothing
MOST_WORTH = 1e9  # of a part of the reward, so that no sum of them is infinite
# What info tells of the counts, the columns of core from SHOWN_IN_ALL up to BEFORE.
TOLD = (
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


class Push(UserWorld):
    """Manage a user's arriving notifications: show, dismiss or put off each, and look at what was put off.

    A step is a decision in a moment of the user's life. A moment is an arrival, or a change of the context where
    nothing arrives; time goes from one to the next only by standing by.

    Action       Discrete(5), in the order of `world.actions`
                 0 show         what is in hand goes to the user, who opens or dismisses it after some minutes
                 1 dismiss      it never reaches the user
                 2 cache        it is put off: it waits in the cache, oldest first
                 3 check-cache  takes the oldest waiting notification in hand that was not in hand at this moment yet
                 4 stand-by     time goes on to the next moment; what then arrives is in hand
                 With something in hand 0, 1 and 2 are allowed, otherwise 4, and 3 if there is something to take. The
                 others are forbidden: they cost `forbidden`, are counted, and change nothing, but the
                 `max_forbidden`-th in a row lets time go on, with what was in hand put off.
    Observation  MultiDiscrete, int64, codes in the order of `world.observation_names`; `world.decode_one(observation)`
                 gives words. One flat vector of codes, since libraries one-hot it as it is and tables can be indexed by
                 it; minutes and counts are in ranges (exact ones are in info). In a component that can be empty the
                 highest code means none.
                 context         the context now, components as in evalumap1-v0
                 hand.*          the notification in hand, and how often it was put off (0 to 4, 5 or more)
                 cache.waiting   how many wait
                 head.*          the oldest of those: its features, deferrals, and age
                 pending.*       how many that were shown have no answer yet, and how long the oldest was shown ago
                 today.*         how many were shown, dismissed and put off today
                 hour            0 to 23, whole hours of the day
                 days.left       whole days of the horizon after this one; together with the hour, the time left
    Reward       the sum of these parts, each a count times its weight, an argument by that name:

                 part       default    2019    for each
                 opened         1        5     notification shown and then opened by the user
                 dismissed     -1      -10     notification shown and then dismissed: an interruption for nothing
                 missed        -1        0     unseen notification that the user would have opened as it arrived
                 spared         0.2      0     unseen notification that the user would have dismissed as it arrived
                 look           0        1     check-cache
                 idle          -0.01    -1     stand-by while check-cache is allowed
                 wait          -0.005   -0.2   notification waiting at a stand-by
                 endless       -0.02    -0.2   deferral so far, at each deferral beyond `patience` (3; 2019: 15)
                 forbidden     -0.5     -0.5   forbidden action

                 The first four come late: for what was shown when the user answers, after a response time drawn from
                 the history's of that action and time of day; for what was dismissed when the user would have answered,
                 had it been shown as it arrived; for what expired when it does. They are paid when time next passes
                 that point. Unseen notifications are judged as they arrived, lest an agent earn `spared` by waiting
                 for a bad moment. rewards="2019" are the original's figures; its later releases also paid ±5 for what
                 was dismissed.
    The user     opens what is shown with the probability that the judge gives for the notification in the context of
                 that moment, and not in that of its arrival: the same notification may be swept away at work and opened
                 in the evening. Each notification has one uniform number for the episode, whatever the agent does.
    Start        the midnight before a day, nothing in hand or waiting. The day is drawn, or named:
                 options={"day": "2019-02-19" or its number, "user": name} (in a batch also a list, one for each copy)
    End          terminated after the last moment of the horizon; what still waits expires then, and all that is
                 outstanding is paid in that step, undiscounted. With M moments and A arrivals in the horizon every
                 policy is there within max_forbidden × (M + A + 2 A M) steps; mostly it is some M + 2 A. As that is no
                 length to set a clock by, `env.spec.max_episode_steps` is None.
    Info         "time", minutes since the first midnight; "day", number of the first day; counts so far: "shown",
                 "dismissed" (by the agent), "cached" (deferrals), "expired", "forbidden", and of what is paid already
                 "opens", "refusals" (dismissed by the user), "missed", "spared"; "load", shown a day; "delay", mean
                 minutes from arrival to showing of what was shown, and 0 while nothing was, when there is no mean (a
                 NaN would be unequal to itself, and check_env compares infos); "parts.<part>", each part of the reward
                 so far; in a list of users "user", its place; since 0.2 also "hand" and "fates":
    Answers      The notifications of an episode are numbered from 0 in the order of arrival. info["hand"] is the number
                 of the one in hand, -1 if there is none; info["fates"], int8 (most arrivals in an episode,), says how
                 each stands, a code of `world.fates`:

                 ahead, in hand, waiting, shown (no answer yet), unseen (dismissed by the agent, not paid yet),
                 opened, refused, missed, spared (these two: dismissed), "expired, missed", "expired, spared"

                 The last six are settled, and `world.worths[fate]` is what that was worth. So who compares two infos
                 knows which of its decisions were answered between them, and each one's share of the reward.
                 One vector of one size, and not a list of the answers of the step: it is the same in reset and step,
                 alone and in a batch, can be stored by any recorder, and who looks only now and then misses nothing.
                 It is left out of rollout's log (`unlogged`), as it would be a column a notification: `events()` has
                 the same as a table, a row a notification, with its worth.
    Arguments    user           name of a shipped user, a folder, a User, or a list of them with one schema
                 days           None: all days there are; "train" their first two thirds, "test" the last; or a pair
                                (first, after the last) of day numbers
                 horizon        days in an episode, from 1 to as many as there are
                 source         "records": days of the history, with the context last known at any time; "generator":
                                for shipped users also those of the test quarter, with the true context at any minute
                                (`pushlab.users.days`). The test tables of 2019 have no dates and no days.
                 judge, opening  as in evalumap1-v0
                 max_age        minutes after which a waiting notification expires
                 max_forbidden  see Action; patience: see `endless`
                 rewards        "default" or "2019"; and the weights above by name
    Source       gym-push's environment push-v0 of 2019 (Fraser, Yousuf and Conlan)

    >>> import gymnasium as gym, pushlab
    >>> env = gym.make("pushlab/push-v0", user="mira")
    >>> observation, info = env.reset(seed=7, options={"day": "2019-02-18"})
    >>> info["action_mask"]                                 # it is midnight and nothing is in hand
    array([0, 0, 0, 0, 1], dtype=int8)
    >>> observation, reward, terminated, truncated, info = env.step(4)
    >>> round(info["time"]), info["action_mask"]            # at 05:36 something arrives
    (336, array([1, 1, 1, 0, 0], dtype=int8))
    """

    name, drawing = "push-v0", "inbox"
    uniforms = 2
    options = ("day", "user")
    exports = ("events",)
    unlogged = ("fates",)
    rests = True
    actions, fates = rules.ACTIONS, rules.FATES

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
        opened: float | None = None,
        dismissed: float | None = None,
        missed: float | None = None,
        spared: float | None = None,
        look: float | None = None,
        idle: float | None = None,
        wait: float | None = None,
        endless: float | None = None,
        forbidden: float | None = None,
    ):
        super().__init__(user, judge)
        usual, usual_patience = REWARDS[one_of("rewards", rewards, REWARDS)]
        given = dict(
            zip(
                rules.PARTS,
                (
                    opened,
                    dismissed,
                    missed,
                    spared,
                    look,
                    idle,
                    wait,
                    endless,
                    forbidden,
                ),
            )
        )
        self.weights = {
            part: float(
                usual[part]
                if worth is None
                else number(part, worth, -MOST_WORTH, MOST_WORTH)
            )
            for part, worth in given.items()
        }
        self.max_age = float(number("max_age", max_age, 0, math.inf, of="minutes"))
        self.max_forbidden = whole("max_forbidden", max_forbidden, 1)
        patience = usual_patience if patience is None else patience
        self.patience = number("patience", patience, 0, math.inf, of="deferrals")
        self.days = lay_out(self.users, source, self.judges, opening, self.max_age)
        self.came_before = np.searchsorted(
            self.days.arrivals[:, rules.ITS_MOMENT], self.days.first
        )
        self._choose_days(days, horizon)
        self._set_spaces()

    def _choose_days(self, days, horizon):
        """The days on which an episode may start."""
        self.horizon = horizon
        starts = []
        for who, user in enumerate(self.users):
            mine = np.flatnonzero(self.days.owner == who)
            low, high = span(days, len(mine))
            whole(
                "horizon",
                horizon,
                1,
                high - low,
                of=f"days that there are for user {user.name},",
            )
            starts.append(mine[low : high - horizon + 1])
        self._starts = np.concatenate(starts)
        self.width = max(
            1,
            int(
                (
                    self.came_before[self._starts + horizon]
                    - self.came_before[self._starts]
                ).max()
            ),
        )

    def _set_spaces(self):
        context, notification = self.schema.context, self.schema.notification
        counts, ages = len(view.COUNT_EDGES), len(view.AGE_EDGES) + 1
        one = [*notification.sizes, view.MOST_DEFERRALS + 1]  # the highest code: none
        names = [*notification.components, "deferrals"]
        self.observation_names = (
            *context.components,
            *(f"hand.{name}" for name in names),
            "cache.waiting",
            *(f"head.{name}" for name in names),
            "head.age",
            "pending.shown",
            "pending.age",
            "today.shown",
            "today.dismissed",
            "today.cached",
            "hour",
            "days.left",
        )
        self._top = np.array(
            [
                *(context.sizes - 1),
                *one,
                counts,
                *one,
                ages,
                counts,
                ages,
                counts,
                counts,
                counts,
                23,
                self.horizon - 1,
            ],
            np.int64,
        )
        self.observation_space, self.action_space = (
            MultiDiscrete(self._top + 1),
            Discrete(len(self.actions)),
        )
        self.action_choices = [("action", list(self.actions))]
        # Infinity as a number: at the end, when the time is infinite, what waits has expired whatever its age.
        self._limits = np.nan_to_num(
            np.array([self.max_age, self.max_forbidden, self.patience], float)
        )
        self._weights = np.array([self.weights[part] for part in rules.PARTS])
        self.worths = np.zeros(
            len(self.fates)
        )  # what a notification of each fate was paid
        self.worths[list(rules.PAID_AS)] = self._weights[list(rules.PAID_AS.values())]
        days = self.days
        self.life = (
            days.plan,
            days.times,
            days.arrivals,
            days.chance,
            days.minutes,
            days.cells,
            self._weights,
            self._limits,
        )
        self.sight = (days.contexts, days.notifications, self._top)

    @property
    def start_days(self) -> np.ndarray:
        """Numbers of the days, counted from their user's first, on which an episode may start, int64."""
        return self._starts - self._first_day_of(self.days.owner[self._starts])

    # ------------------------------------------------------------ the questions of the shell

    def initial(self, draws: np.ndarray, options: Mapping[str, Any]) -> dict:
        n, start = len(draws), self._start_days(draws[:, 0], options)
        core, sums = (
            np.zeros((n, rules.PENDING_NOW + 1), np.int32),
            np.zeros((n, len(rules.PARTS) + 2)),
        )
        core[:, rules.MOMENT], core[:, rules.STOP] = (
            self.days.first[start],
            self.days.first[start + self.horizon],
        )
        core[:, rules.DAY_NOW] = core[:, rules.FIRST_DAY] = start
        core[:, rules.WHO], core[:, rules.BASE] = (
            self.days.owner[start],
            self.came_before[start],
        )
        core[:, [rules.HAND, rules.TAKEN, rules.ACTED_ON]] = rules.NOBODY
        sums[:, rules.KEY] = draws[:, 1]
        return {
            "core": core,
            "sums": sums,
            "fate": np.zeros((n, self.width), np.int8),
            "deferrals": np.zeros((n, self.width), np.int16),
            "since": np.zeros((n, self.width), np.int32),
        }

    def _start_days(self, u, options):
        """The day on which each copy starts, int64 (n,): as asked for, else by chance."""
        n = len(u)
        who, day = (
            self.users_asked(options.get("user"), n),
            one_each("day", options.get("day"), n),
        )
        if who is None and day is None:
            return self._starts[(u * len(self._starts)).astype(np.int64)]
        start = np.empty(n, np.int64)
        for copy in range(n):
            choice = self._starts
            if who is not None:
                choice = choice[self.days.owner[choice] == who[copy]]
            if day is not None:
                choice = self._that_day(choice, day[copy])
            start[copy] = choice[int(u[copy] * len(choice))]
        return start

    def _that_day(self, choice, day):
        """Of the days that may start an episode those with a date or number."""
        numbers, dates = (
            choice - self._first_day_of(self.days.owner[choice]),
            self.days.dates[choice],
        )
        try:
            found = choice[
                numbers == day if is_number(day) else dates == np.datetime64(day, "D")
            ]
        except (ValueError, TypeError, OverflowError):
            found = choice[:0]
        demand(
            len(found),
            f"the option day is a date from {dates[0]} to {dates[-1]}, or its number from "
            f"{numbers.min()} to {numbers.max()}; got {in_short(day)}",
        )
        return found

    def _first_day_of(self, owner):
        """The number of the first day of users, by their places."""
        return np.searchsorted(self.days.owner, owner)

    def advance(self, state: dict, action: Any, draws: np.ndarray) -> tuple[dict, dict]:
        state = {key: values.copy() for key, values in state.items()}
        reward = np.empty(len(action))
        rules.act_each(action, reward, *state.values(), *self.life)
        return state, {"reward": reward, "action": action}

    def observe(self, state: dict) -> np.ndarray:
        seen = np.empty((len(state["core"]), len(self._top)), np.int64)
        view.look_each(
            state["core"],
            state["fate"],
            state["deferrals"],
            state["since"],
            *self.life[:3],
            *self.sight,
            seen,
        )
        return seen

    def mask(self, state: dict) -> np.ndarray:
        mask = np.empty((len(state["core"]), len(self.actions)), np.int8)
        view.allow_each(state["core"], state["fate"], mask)
        return mask

    def terminated(self, state: dict) -> np.ndarray:
        return state["core"][:, rules.OVER] == 1

    def info(self, state: dict, outcome: dict | None) -> dict:
        core, sums = state["core"], state["sums"]
        told = {"time": self.minutes_gone(core), "day": self.first_day(core)}
        told |= dict(
            zip(TOLD, core[:, rules.SHOWN_IN_ALL : rules.BEFORE].T.astype(np.int64))
        )
        told["load"] = told["shown"] / (
            core[:, rules.DAY_NOW] - core[:, rules.FIRST_DAY] + 1
        )
        told["delay"] = sums[:, rules.DELAY] / np.maximum(told["shown"], 1)
        told |= dict(
            zip(
                (f"parts.{part}" for part in rules.PARTS),
                sums[:, : rules.DELAY].T.copy(),
            )
        )
        if len(self.users) > 1:
            told["user"] = core[:, rules.WHO].astype(np.int64)
        return told | {
            "hand": core[:, rules.HAND].astype(np.int64),
            "fates": state["fate"],
        }

    def minutes_gone(self, core: np.ndarray) -> np.ndarray:
        """Minutes since the first midnight of the horizon, float64 (n,)."""
        begin = self.days.times[self.days.first[core[:, rules.FIRST_DAY]]]
        now = self.days.times[
            np.minimum(core[:, rules.MOMENT], core[:, rules.STOP] - 1)
        ]
        return np.where(
            core[:, rules.OVER] == 1, self.horizon * float(DAY), now - begin
        )

    def first_day(self, core: np.ndarray) -> np.ndarray:
        """Number of the horizon's first day among its user's, int64 (n,)."""
        return core[:, rules.FIRST_DAY] - self._first_day_of(core[:, rules.WHO])

    def solo(self) -> view.PushAlone:
        return view.PushAlone(self)

    # ------------------------------------------------------------ words and pictures

    def decode_one(self, observation: Any) -> dict[str, str]:
        """What an agent sees in words: a dict by `observation_names`, with a set-valued feature in one."""
        return view.words_of(self, observation)

    def events(self, env: Any) -> pd.DataFrame:
        """The notifications that arrived so far, a DataFrame with a row each; see `push_story.table_of`."""
        return table_of(self, env.state)

    def frame(self, state: dict, outcome: dict | None, at: int = 0) -> dict:
        """Return the plain dict that `pushlab.plots.inbox` draws and documents."""
        return frame_of(self, state, outcome, at)
