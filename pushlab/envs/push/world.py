"""push-v0: notifications arrive through the day, and an agent decides on the user's behalf."""

import numpy as np
from gymnasium.spaces import Discrete, MultiDiscrete

from pushlab.datasets.reading import load_user
from pushlab.envs.push import rules
from pushlab.envs.push.alone import PushAlone
from pushlab.envs.push.story import frame_of, table_of
from pushlab.envs.world import World
from pushlab.users.days import DAY, ResponseTimes, days_of, slot_number
from pushlab.users.judges import cutoff, judge_for

# Reward parts and what each is worth; fixed before any agent was trained.
WEIGHTS = {"opened": 1.0, "dismissed": -1.0, "missed": -1.0, "spared": 0.2, "look": 0.0, "idle": -0.01, "wait": -0.005,
           "endless": -0.02, "forbidden": -0.5}
WEIGHTS_2019 = {"opened": 5.0, "dismissed": -10.0, "missed": 0.0, "spared": 0.0, "look": 1.0, "idle": -1.0,
                "wait": -0.2, "endless": -0.2, "forbidden": -0.5}
REWARDS = {"default": (WEIGHTS, 3), "2019": (WEIGHTS_2019, 15)}     # with the number of deferrals that cost nothing
SPANS = {"train": (0.0, 2 / 3), "test": (2 / 3, 1.0)}               # shares of the days
TOLD = ("shown", "dismissed", "cached", "expired", "forbidden", "opens", "refusals", "missed", "spared")   # in info


class Push(World):
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
                 hour            0 to 23, whole hours of the day; days.left, whole days of the horizon after this one:
                                 together, the time left
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
                 policy is there within max_forbidden × (M + A + 2 A M) steps; mostly it is some M + 2 A.
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
                 judge, opening as in evalumap1-v0
                 max_age        minutes after which a waiting notification expires
                 max_forbidden  see Action; patience: see `endless`
                 rewards        "default" or "2019"; and the weights above by name

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

    def __init__(self, user="mira", days=None, horizon=1, source="records", judge=None, opening="sampled", max_age=720,
                 max_forbidden=5, patience=None, rewards="default", opened=None, dismissed=None, missed=None,
                 spared=None, look=None, idle=None, wait=None, endless=None, forbidden=None):
        if rewards not in REWARDS:
            raise ValueError(f"rewards is one of {', '.join(REWARDS)}; got {rewards!r}")
        for name, value, least in (("max_age", max_age, 0), ("max_forbidden", max_forbidden, 1)):
            if not value >= least:
                raise ValueError(f"{name} is {least} or more; got {value!r}")
        given = {"opened": opened, "dismissed": dismissed, "missed": missed, "spared": spared, "look": look,
                 "idle": idle, "wait": wait, "endless": endless, "forbidden": forbidden}
        weights, usual_patience = REWARDS[rewards]
        self.weights = {part: float(weights[part] if given[part] is None else given[part]) for part in rules.PARTS}
        self.max_age, self.max_forbidden = float(max_age), int(max_forbidden)
        self.patience = usual_patience if patience is None else patience
        self.users = [load_user(one) for one in (user if isinstance(user, (list, tuple)) else [user])]
        self.user, self.schema = self.users[0], self.users[0].schema
        _check_schemas(self.users)
        self.judges = [judge_for(one, judge) if judge is None or isinstance(judge, str) else judge
                       for one in self.users]
        self.judge = self.judges[0]
        self._lay_out([days_of(one, source) for one in self.users], opening)
        self._choose_days(days, horizon)
        self._set_spaces()

    def _lay_out(self, days, opening):
        """All users' days one after the other, as the arrays that the rules work on."""
        parts = [_lay_out_user(one, of_user, judge, opening, self.max_age)
                 for one, of_user, judge in zip(days, self.users, self.judges)]
        counts = {key: np.cumsum([0, *(len(part[key]) for part in parts)])
                  for key in ("times", "arrivals", "chance", "dates", "minutes")}
        for number, part in enumerate(parts):
            plan, arrivals = part["plan"], part["arrivals"]
            plan[:, rules.ARRIVAL] += np.where(plan[:, rules.ARRIVAL] >= 0, counts["arrivals"][number], 0)
            plan[:, rules.ITS_DAY] += counts["dates"][number]
            arrivals += counts["times"][number], counts["chance"][number]
            part["cells"][..., 0] += counts["minutes"][number]
            part["first"] += counts["times"][number]
        joined = {key: np.concatenate([part[key] for part in parts]) for key in parts[0] if key != "cells"}
        joined |= {key: joined[key].astype(np.int32) for key in ("plan", "arrivals", "contexts", "notifications")}
        self.dates, self.first = joined["dates"], np.append(joined["first"], len(joined["times"]))
        self.plan, self.times, self.arrivals, self.chance = (joined[key] for key in (
            "plan", "times", "arrivals", "chance"))
        self.contexts, self.notifications, self.minutes = (joined[key] for key in (
            "contexts", "notifications", "minutes"))
        self.cells = np.stack([part["cells"] for part in parts])
        self.owner = np.repeat(np.arange(len(parts)), np.diff(counts["dates"]))     # whose each day is
        self.came_before = np.searchsorted(self.arrivals[:, rules.ITS_MOMENT], self.first)

    def _choose_days(self, days, horizon):
        """The days on which an episode may start."""
        self.horizon = horizon
        starts = []
        for number, user in enumerate(self.users):
            mine = np.flatnonzero(self.owner == number)
            low, high = _span(days, len(mine))
            if not (isinstance(horizon, (int, np.integer)) and 1 <= horizon <= high - low):
                raise ValueError(f"horizon is a whole number of days from 1 to the {high - low} there are for user "
                                 f"{user.name}; got {horizon!r}")
            starts.append(mine[low:high - horizon + 1])
        self._starts = np.concatenate(starts)
        self.width = max(1, int((self.came_before[self._starts + horizon] - self.came_before[self._starts]).max()))

    def _set_spaces(self):
        context, notification = self.schema.context, self.schema.notification
        counts, ages = len(rules.COUNT_EDGES), len(rules.AGE_EDGES) + 1
        one = [*notification.sizes, rules.MOST_DEFERRALS + 1]                   # the highest code: none
        names = [*notification.components, "deferrals"]
        self.observation_names = (
            *context.components, *(f"hand.{name}" for name in names), "cache.waiting",
            *(f"head.{name}" for name in names), "head.age", "pending.shown", "pending.age",
            "today.shown", "today.dismissed", "today.cached", "hour", "days.left")
        self._top = np.array([*(context.sizes - 1), *one, counts, *one, ages, counts, ages, counts, counts, counts, 23,
                              self.horizon - 1], np.int64)
        self.observation_space, self.action_space = MultiDiscrete(self._top + 1), Discrete(len(self.actions))
        self.action_choices = [("action", list(self.actions))]
        # Infinity as a number: at the end, when the time is infinite, what waits has expired whatever its age.
        self._limits = np.nan_to_num(np.array([self.max_age, self.max_forbidden, self.patience], float))
        self._weights = np.array([self.weights[part] for part in rules.PARTS])
        self.worths = np.zeros(len(self.fates))                     # what a notification of each fate was paid
        self.worths[list(rules.PAID_AS)] = self._weights[list(rules.PAID_AS.values())]
        self.life = (self.plan, self.times, self.arrivals, self.chance, self.minutes, self.cells, self._weights,
                     self._limits)
        self.sight = (self.contexts, self.notifications, self._top)

    @property
    def task(self):
        """What the lifelong metrics call this world: each user is a task of its own."""
        return f"{self.name}:{'+'.join(user.name for user in self.users)}"

    @property
    def start_days(self):
        """Numbers of the days, counted from their user's first, on which an episode may start, int64."""
        return self._starts - np.searchsorted(self.owner, self.owner[self._starts])

    # ------------------------------------------------------------ the questions of the shell

    def initial(self, draws, options):
        n, start = len(draws), self._start_days(draws[:, 0], options)
        core, sums = np.zeros((n, rules.PENDING_NOW + 1), np.int32), np.zeros((n, len(rules.PARTS) + 2))
        core[:, rules.MOMENT], core[:, rules.STOP] = self.first[start], self.first[start + self.horizon]
        core[:, rules.DAY_NOW] = core[:, rules.FIRST_DAY] = start
        core[:, rules.WHO], core[:, rules.BASE] = self.owner[start], self.came_before[start]
        core[:, [rules.HAND, rules.TAKEN, rules.ACTED_ON]] = rules.NOBODY
        sums[:, rules.KEY] = draws[:, 1]
        return {"core": core, "sums": sums, "fate": np.zeros((n, self.width), np.int8),
                "deferrals": np.zeros((n, self.width), np.int16), "since": np.zeros((n, self.width), np.int32)}

    def _start_days(self, u, options):
        """The day on which each copy starts, int64 (n,): as asked for, else by chance."""
        if options.get("user") is None and options.get("day") is None:
            return self._starts[(u * len(self._starts)).astype(np.int64)]
        n, names = len(u), [user.name for user in self.users]
        who = _one_each(options.get("user"), n, "user", f"one of {', '.join(names)}")
        day = _one_each(options.get("day"), n, "day", "a date or a number of a day")
        start = np.empty(n, np.int64)
        for copy in range(n):
            choice = self._starts
            if who is not None:
                if who[copy] not in names:
                    raise ValueError(f"the option user is one of {', '.join(names)}; got {who[copy]!r}")
                choice = choice[self.owner[choice] == names.index(who[copy])]
            if day is not None:
                choice = self._that_day(choice, day[copy])
            start[copy] = choice[int(u[copy] * len(choice))]
        return start

    def _that_day(self, choice, day):
        """Of the days that may start an episode those with a date or number."""
        begin = np.searchsorted(self.owner, self.owner[choice])             # each one's user's first day
        number = isinstance(day, (int, np.integer)) and not isinstance(day, bool)
        try:
            found = choice[choice - begin == day] if number else choice[self.dates[choice] == np.datetime64(day, "D")]
        except (ValueError, TypeError):
            found = choice[:0]
        if not len(found):
            raise ValueError(f"the option day is a date from {self.dates[choice[0]]} to {self.dates[choice[-1]]}, or "
                             f"its number from {(choice - begin).min()} to {(choice - begin).max()}; got {day!r}")
        return found

    def advance(self, state, action, draws):
        state = {key: values.copy() for key, values in state.items()}
        reward = np.empty(len(action))
        rules.act_each(action, reward, *state.values(), *self.life)
        return state, {"reward": reward, "action": action}

    def observe(self, state):
        seen = np.empty((len(state["core"]), len(self._top)), np.int64)
        rules.look_each(state["core"], state["fate"], state["deferrals"], state["since"], *self.life[:3], *self.sight,
                        seen)
        return seen

    def mask(self, state):
        mask = np.empty((len(state["core"]), len(self.actions)), np.int8)
        rules.allow_each(state["core"], state["fate"], mask)
        return mask

    def terminated(self, state):
        return state["core"][:, rules.OVER] == 1

    def info(self, state, outcome):
        core, sums = state["core"], state["sums"]
        told = {"time": self.minutes_gone(core), "day": self._number_of(core)}
        told |= dict(zip(TOLD, core[:, rules.SHOWN_IN_ALL:rules.BEFORE].T.astype(np.int64)))
        told["load"] = told["shown"] / (core[:, rules.DAY_NOW] - core[:, rules.FIRST_DAY] + 1)
        told["delay"] = sums[:, rules.DELAY] / np.maximum(told["shown"], 1)
        told |= dict(zip((f"parts.{part}" for part in rules.PARTS), sums[:, :rules.DELAY].T.copy()))
        if len(self.users) > 1:
            told["user"] = core[:, rules.WHO].astype(np.int64)
        return told | {"hand": core[:, rules.HAND].astype(np.int64), "fates": state["fate"]}

    def minutes_gone(self, core):
        """Minutes since the first midnight of the horizon, float64 (n,)."""
        begin = self.times[self.first[core[:, rules.FIRST_DAY]]]
        now = self.times[np.minimum(core[:, rules.MOMENT], core[:, rules.STOP] - 1)]
        return np.where(core[:, rules.OVER] == 1, self.horizon * float(DAY), now - begin)

    def _number_of(self, core):
        """Number of the first day among its user's, int64 (n,)."""
        return core[:, rules.FIRST_DAY] - np.searchsorted(self.owner, core[:, rules.WHO])

    def solo(self):
        return PushAlone(self)

    # ------------------------------------------------------------ words and pictures

    def decode_one(self, observation):
        """What an agent sees in words: a dict by `observation_names`, with a set-valued feature in one."""
        from pushlab.envs.push.story import words_of

        return words_of(self, observation)

    def events(self, env):
        """The notifications that arrived so far, a DataFrame with a row each; see `push_story.table_of`."""
        return table_of(self, env.state)

    def frame(self, state, outcome, at=0):
        return frame_of(self, state, outcome, at)


def _check_schemas(users):
    """Users live in one environment only if their arrays mean the same."""
    first = users[0]
    for other in users[1:]:
        for half in ("context", "notification"):
            ours, theirs = ([(feature.name, feature.words) for feature in getattr(one.schema, half)]
                            for one in (first, other))
            if ours != theirs:
                raise ValueError(f"users {first.name} and {other.name} have {half}s of different features or values; "
                                 "load_users(..., shared=True) fits them together")


def _span(days, count):
    """First day and the one after the last, of `count` days."""
    if days is None:
        return 0, count
    if isinstance(days, str) and days in SPANS:
        low, high = SPANS[days]
        return round(low * count), round(high * count)
    if isinstance(days, (tuple, list)) and len(days) == 2 and 0 <= days[0] < days[1] <= count:
        return tuple(days)
    raise ValueError(f"days is None, {', '.join(map(repr, SPANS))} or a pair of day numbers (first, after the last) "
                     f"from 0 to {count}; got {days!r}")


def _one_each(wanted, n, name, right):
    """An option as a list of n values, or None."""
    if wanted is None:
        return None
    wanted = list(wanted) if isinstance(wanted, (list, tuple, np.ndarray)) else [wanted] * n
    if len(wanted) != n:
        raise ValueError(f"the option {name} is {right}, or a list with one for each of {n} copies; got {len(wanted)}")
    return wanted


def _lay_out_user(days, user, judge, opening, max_age):
    """One user's days as arrays, with the probability of opening each notification at each moment it may be shown."""
    came = np.flatnonzero(days.arrival >= 0)
    until = np.searchsorted(days.times, days.times[came] + max_age + 1e-6, side="right")
    count = until - came
    begin = np.concatenate([[0], np.cumsum(count)[:-1]])
    one = np.repeat(np.arange(len(came)), count)
    moment = came[one] + np.arange(len(one)) - begin[one]
    chance = np.empty(len(one))
    judge.chances(days.contexts)(moment, np.ascontiguousarray(days.notifications[one]), chance)
    threshold = cutoff(judge, user.history, opening)
    if not np.isnan(threshold):
        chance = (chance >= threshold).astype(float)
    its_day = np.repeat(np.arange(len(days)), np.diff(days.first))
    answers = ResponseTimes.fit(user.history)
    plan = [days.arrival, slot_number(days.times), its_day, (days.times % DAY // 60).astype(np.int64)]
    return {"dates": days.dates, "first": days.first[:-1].copy(), "times": days.times, "contexts": days.contexts,
            "notifications": days.notifications, "plan": np.stack(plan, axis=1),
            "arrivals": np.stack([came, begin], 1).astype(np.int64), "chance": chance, "minutes": answers.minutes,
            "cells": answers.cells.copy()}
