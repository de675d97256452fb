"""What happens when arriving notifications are managed: loops on plain arrays, for one copy and for many.

The state of a copy, all in place:

core       int32 (n, 29)       the columns named below
sums       float64 (n, 11)     each part of the reward so far, minutes of delay so far, and the key of its chance
fate       int8 (n, width)     of each notification of the horizon, in the order of arrival
deferrals  int16 (n, width)    how often it was put off
since      int32 (n, width)    the moment at which it was shown, dismissed, or found expired
"""

import numpy as np

from pushlab.envs.chance import number
from pushlab.ground.compiled import compiled_in_place, inner_in_place

ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)

# Columns of core. Moments, days and arrivals are counted over the whole of a world's days, notifications from the first
# of the horizon. LOW is the first notification that is not closed yet; TAKEN the last one taken out of the cache at
# this moment, BEFORE how many had arrived before it; WAITING_NOW and PENDING_NOW count those in the cache, and those
# whose delayed reward is outstanding.
(
    MOMENT,
    STOP,
    DAY_NOW,
    FIRST_DAY,
    WHO,
    BASE,
    HAND,
    ARRIVED,
    TAKEN,
    LOW,
    IN_A_ROW,
    OVER,
    WAS_FORBIDDEN,
    ACTED_ON,
    SHOWN_TODAY,
    DISMISSED_TODAY,
    CACHED_TODAY,
    SHOWN_IN_ALL,
    DISMISSED_IN_ALL,
    CACHED_IN_ALL,
    EXPIRED_IN_ALL,
    FORBIDDEN_IN_ALL,
    OPENS_IN_ALL,
    REFUSALS_IN_ALL,
    MISSED_IN_ALL,
    SPARED_IN_ALL,
    BEFORE,
    WAITING_NOW,
    PENDING_NOW,
) = range(29)
NOBODY = -1

# Fates. Up to OPEN_ENDED something is still to come; the others are settled, and paid with one part of the reward.
(
    AHEAD,
    IN_HAND,
    WAITING,
    SHOWN,
    UNSEEN,
    OPENED,
    REFUSED,
    MISSED,
    SPARED,
    LATE_MISSED,
    LATE_SPARED,
) = range(11)
OPEN_ENDED = UNSEEN
FATES = (
    "ahead",
    "in hand",
    "waiting",
    "shown",
    "unseen",
    "opened",
    "refused",
    "missed",
    "spared",
    "expired, missed",
    "expired, spared",
)

PARTS = (
    "opened",
    "dismissed",
    "missed",
    "spared",
    "look",
    "idle",
    "wait",
    "endless",
    "forbidden",
)
# A plain number makes its caller's copy of an inner function, one of numpy's type does not.
(
    P_OPENED,
    P_DISMISSED,
    P_MISSED,
    P_SPARED,
    P_LOOK,
    P_IDLE,
    P_WAIT,
    P_ENDLESS,
    P_FORBIDDEN,
) = np.arange(9)
DELAY, KEY = len(PARTS), len(PARTS) + 1  # further columns of sums
PAID_AS = {
    OPENED: P_OPENED,
    REFUSED: P_DISMISSED,
    MISSED: P_MISSED,
    SPARED: P_SPARED,
    LATE_MISSED: P_MISSED,
    LATE_SPARED: P_SPARED,
}  # the part of the reward that a settled notification was paid with

LATE, IN_TIME, ALONE = np.True_, np.False_, np.int64(0)

MAX_AGE, MAX_FORBIDDEN, PATIENCE = range(3)  # of the limits
ARRIVAL, SLOT, ITS_DAY, HOUR = range(4)  # columns of the plan, a row a moment
ITS_MOMENT, ITS_CHANCES = range(2)  # columns of the arrivals


# ---------------------------------------------------------------- the user


@inner_in_place
def would_open(copy, one, moment, core, sums, arrivals, chance):
    """Whether the user opens notification `one` if it is shown at this moment.

    A notification has one uniform number for its whole life, so that what it meets depends on when it is shown and on
    nothing else the agent does.
    """
    arrival = core[copy, BASE] + one
    ahead = moment - arrivals[arrival, ITS_MOMENT]
    return (
        number(sums[copy, KEY], 2 * one)
        < chance[arrivals[arrival, ITS_CHANCES] + ahead]
    )


@inner_in_place
def answer_after(copy, one, opened, moment, core, sums, plan, minutes, cells):
    """Minutes that the user takes to answer notification `one`, out of the history's of that action and time of day."""
    who, slot = core[copy, WHO], plan[moment, SLOT]
    start, count = cells[who, int(opened), slot, 0], cells[who, int(opened), slot, 1]
    return minutes[start + int(number(sums[copy, KEY], 2 * one + 1) * count)]


# ---------------------------------------------------------------- what is possible


@inner_in_place
def next_in_cache(copy, core, fate):
    """The oldest waiting notification that was not yet in hand at this moment, or -1."""
    found = NOBODY
    if core[copy, WAITING_NOW] > 0:
        one = max(core[copy, LOW], core[copy, TAKEN] + 1)
        while one < core[copy, BEFORE] and fate[copy, one] != WAITING:
            one += 1
        if one < core[copy, BEFORE]:
            found = one
    return found


@inner_in_place
def is_allowed(copy, action, core, fate):
    """Whether the action does anything now."""
    if core[copy, HAND] >= 0:
        allowed = action == SHOW or action == DISMISS or action == CACHE
    else:
        allowed = action == STAND_BY or (
            action == CHECK and next_in_cache(copy, core, fate) >= 0
        )
    return allowed and not core[copy, OVER]


# ---------------------------------------------------------------- time passes


@inner_in_place
def earn(copy, part, times, sums, weights):
    """Books a part of the reward `times` times; returns what it is worth."""
    worth = times * weights[part]
    sums[copy, part] += worth
    return worth


@inner_in_place
def settle_unseen(copy, one, late, core, sums, fate, arrivals, chance, weights):
    """Closes an unseen notification, `late` if it expired; its worth: would the user have opened it as it arrived?"""
    at_arrival = arrivals[core[copy, BASE] + one, ITS_MOMENT]
    would = would_open(copy, one, at_arrival, core, sums, arrivals, chance)
    if late:
        fate[copy, one] = LATE_MISSED if would else LATE_SPARED
    else:
        fate[copy, one] = MISSED if would else SPARED
    core[copy, MISSED_IN_ALL if would else SPARED_IN_ALL] += 1
    return earn(copy, P_MISSED if would else P_SPARED, 1.0, sums, weights)


@inner_in_place
def settle(
    copy,
    now,
    core,
    sums,
    fate,
    since,
    plan,
    times,
    arrivals,
    chance,
    minutes,
    cells,
    weights,
    limits,
):
    """Books what has become known up to now, which at the end of the horizon is infinite; returns its worth."""
    reward, base = 0.0, core[copy, BASE]
    for one in range(core[copy, LOW], core[copy, ARRIVED]):
        came = arrivals[base + one, ITS_MOMENT]
        if fate[copy, one] == WAITING and now - times[came] > limits[MAX_AGE]:
            since[copy, one] = core[copy, MOMENT]
            core[copy, EXPIRED_IN_ALL] += 1
            core[copy, WAITING_NOW] -= 1
            reward += settle_unseen(
                copy, one, LATE, core, sums, fate, arrivals, chance, weights
            )
        elif fate[copy, one] == SHOWN:
            shown = since[copy, one]
            opened = would_open(copy, one, shown, core, sums, arrivals, chance)
            if (
                times[shown]
                + answer_after(
                    copy, one, opened, shown, core, sums, plan, minutes, cells
                )
                <= now
            ):
                fate[copy, one] = OPENED if opened else REFUSED
                core[copy, OPENS_IN_ALL if opened else REFUSALS_IN_ALL] += 1
                core[copy, PENDING_NOW] -= 1
                reward += earn(
                    copy, P_OPENED if opened else P_DISMISSED, 1.0, sums, weights
                )
        elif fate[copy, one] == UNSEEN:
            would = would_open(copy, one, came, core, sums, arrivals, chance)
            if (
                times[came]
                + answer_after(copy, one, would, came, core, sums, plan, minutes, cells)
                <= now
            ):
                core[copy, PENDING_NOW] -= 1
                reward += settle_unseen(
                    copy, one, IN_TIME, core, sums, fate, arrivals, chance, weights
                )
    while (
        core[copy, LOW] < core[copy, ARRIVED]
        and fate[copy, core[copy, LOW]] > OPEN_ENDED
    ):
        core[copy, LOW] += 1
    return reward


@inner_in_place
def pass_time(
    copy,
    core,
    sums,
    fate,
    since,
    plan,
    times,
    arrivals,
    chance,
    minutes,
    cells,
    weights,
    limits,
):
    """Goes on to the next moment: the waiting wait, answers come in, old ones expire, and one may arrive."""
    reward = earn(copy, P_WAIT, float(core[copy, WAITING_NOW]), sums, weights)
    if next_in_cache(copy, core, fate) >= 0:
        reward += earn(copy, P_IDLE, 1.0, sums, weights)
    core[copy, MOMENT] += 1
    moment = core[copy, MOMENT]
    core[copy, TAKEN], core[copy, BEFORE] = NOBODY, core[copy, ARRIVED]
    core[copy, OVER] = int(moment == core[copy, STOP])
    at_end = moment == core[copy, STOP]
    if core[copy, WAITING_NOW] + core[copy, PENDING_NOW] > 0:
        now = np.inf if at_end else times[moment]
        reward += settle(
            copy,
            now,
            core,
            sums,
            fate,
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
    if not at_end:
        if plan[moment, ITS_DAY] != core[copy, DAY_NOW]:
            core[copy, DAY_NOW] = plan[moment, ITS_DAY]
            core[copy, SHOWN_TODAY] = core[copy, DISMISSED_TODAY] = core[
                copy, CACHED_TODAY
            ] = 0
        if plan[moment, ARRIVAL] >= 0:
            core[copy, HAND] = plan[moment, ARRIVAL] - core[copy, BASE]
            fate[copy, core[copy, HAND]] = IN_HAND
            core[copy, ARRIVED] = core[copy, HAND] + 1
    return reward


# ---------------------------------------------------------------- what the agent does


@inner_in_place
def put_off(copy, core, sums, fate, deferrals, weights, limits):
    """Lays what is in hand into the cache; returns what too many deferrals cost."""
    one = core[copy, HAND]
    fate[copy, one], core[copy, HAND] = WAITING, NOBODY
    deferrals[copy, one] += 1
    core[copy, WAITING_NOW] += 1
    core[copy, CACHED_TODAY] += 1
    core[copy, CACHED_IN_ALL] += 1
    too_many = deferrals[copy, one] > limits[PATIENCE]
    return earn(
        copy, P_ENDLESS, float(deferrals[copy, one] if too_many else 0), sums, weights
    )


@inner_in_place
def act(
    copy,
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
):
    """Takes one step of a copy; returns the reward. One that has come to its end stays as it is."""
    one, reward, passes = core[copy, HAND], 0.0, False
    core[copy, ACTED_ON] = one
    core[copy, WAS_FORBIDDEN] = int(not is_allowed(copy, action, core, fate))
    if core[copy, OVER]:
        passes = False
    elif core[copy, WAS_FORBIDDEN]:
        reward = earn(copy, P_FORBIDDEN, 1.0, sums, weights)
        core[copy, FORBIDDEN_IN_ALL] += 1
        core[copy, IN_A_ROW] += 1
        passes = core[copy, IN_A_ROW] >= limits[MAX_FORBIDDEN]
    else:
        core[copy, IN_A_ROW] = 0
        passes = action == STAND_BY
        if action == SHOW:
            fate[copy, one] = SHOWN
            core[copy, SHOWN_TODAY] += 1
            core[copy, SHOWN_IN_ALL] += 1
            came = arrivals[core[copy, BASE] + one, ITS_MOMENT]
            sums[copy, DELAY] += times[core[copy, MOMENT]] - times[came]
        elif action == DISMISS:
            fate[copy, one] = UNSEEN
            core[copy, DISMISSED_TODAY] += 1
            core[copy, DISMISSED_IN_ALL] += 1
        elif action == CHECK:
            one = next_in_cache(copy, core, fate)
            fate[copy, one] = IN_HAND
            core[copy, HAND] = core[copy, TAKEN] = core[copy, ACTED_ON] = one
            core[copy, WAITING_NOW] -= 1
            reward = earn(copy, P_LOOK, 1.0, sums, weights)
        if action == SHOW or action == DISMISS:
            since[copy, one], core[copy, HAND] = core[copy, MOMENT], NOBODY
            core[copy, PENDING_NOW] += 1
    put_back = action == CACHE and not core[copy, WAS_FORBIDDEN]
    if passes:
        core[copy, IN_A_ROW] = 0
        put_back = core[copy, HAND] >= 0
    if put_back:
        reward += put_off(copy, core, sums, fate, deferrals, weights, limits)
    if passes:
        reward += pass_time(
            copy,
            core,
            sums,
            fate,
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
    return reward


@compiled_in_place
def act_each(
    action,
    reward,
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
):
    """One step of every copy, in place; fills reward (n,)."""
    for copy in range(len(action)):
        reward[copy] = act(
            copy,
            action[copy],
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
