"""What happens when arriving notifications are managed, and what the agent sees of it: loops on
plain arrays.

The state of one copy is a Phone, whose arrays are changed in place:

=========  ==============  =======================================================================
core       int32 (29,)     the columns named below
sums       float64 (11,)   each part of the reward so far, minutes of delay so far, and the key of
                           its stream
fate       int8 (width,)   of each notification of the horizon, in the order of arrival
deferrals  int16 (width,)  how often it was put off
since      int32 (width,)  the moment at which it was shown, dismissed, or found expired
=========  ==============  =======================================================================
"""

from collections import namedtuple

import numpy as np

from pushlab.envs.chance import number
from pushlab.ground.compiled import compiled_in_place, inner_in_place

Phone = namedtuple("Phone", "core sums fate deferrals since")

# What is the same in every episode; `pushlab.envs.push.world.lay_out` makes it.
#
# plan           int32 (moments, 4), columns below
# times          float64 (moments,) minutes since the first midnight of the user
# contexts       int32 (moments, context components) codes
# came           int64 (arrivals,) the moment of each arrival
# first_chance   int64 (arrivals,) where its chances begin
# notifications  int32 (arrivals, notification components) codes
# chance         float64 (chances,) of being opened, for each arrival at its moment and those until it expires
# minutes, cells   response times, and where those of a user, action and slot begin, (users, 2, 5, 2)
# weights        float64 (9,) of the parts of the reward
# limits         float64 (3,) maximum age, forbidden actions in a row, patience
# top            int64 (components,) highest code of each component of the observation
Life = namedtuple(
    "Life",
    "plan times contexts came first_chance notifications chance minutes cells "
    "weights limits top",
)
ARRIVAL, SLOT, ITS_DAY, HOUR = range(4)  # columns of the plan
MAX_AGE, MAX_FORBIDDEN, PATIENCE = range(3)  # of the limits

ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
NO_ACTION = -1  # only look

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

# Up to UNSEEN something is still to come; the others are settled, and paid with one part of the reward.
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
AHEAD, IN_HAND, WAITING, SHOWN, UNSEEN, OPENED, REFUSED, MISSED, SPARED = range(9)
LATE = 2  # added to MISSED and SPARED

# Parts of the reward, in the order of `pushlab.envs.push.world.WEIGHTS`.
# A plain number makes its caller's copy of an inner function, one of NumPy's type does not.
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
DELAY, KEY = 9, 10  # further columns of sums
PAID_AS = (0, 0, 0, 0, 0, 1, 2, 3, 4, 3, 4)  # 1 + part that each fate is paid with

# Lower ends of all codes but the first, for counts, and for ages in minutes.
COUNT_EDGES = np.array([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50])
COUNT_CODES = np.searchsorted(COUNT_EDGES, np.arange(51), side="right")
AGE_EDGES = np.array([15, 60, 120, 240, 480])
MOST_DEFERRALS = 5  # this many and more have one code


# ---------------------------------------------------------------- the user


@inner_in_place
def would_open(one, moment, phone, life):
    """Return whether the user opens notification `one` if it is shown at this moment.

    A notification has one uniform number for its whole life, so the answer depends on when it is shown and on nothing
    else that the agent does.
    """
    arrival = phone.core[BASE] + one
    at = life.first_chance[arrival] + moment - life.came[arrival]
    return number(phone.sums[KEY], 2 * one) < life.chance[at]


@inner_in_place
def answer_after(one, opened, moment, phone, life):
    """Return minutes until notification `one` is answered, drawn from the history's of that action and time of day."""
    cell = life.cells[phone.core[WHO], int(opened), life.plan[moment, SLOT]]
    drawn = number(phone.sums[KEY], 2 * one + 1)
    return life.minutes[cell[0] + int(drawn * cell[1])]


# ---------------------------------------------------------------- what is possible


@inner_in_place
def next_in_cache(phone):
    """Return the oldest waiting notification that was not yet in hand at this moment, or -1."""
    core = phone.core
    if core[WAITING_NOW] > 0:
        for one in range(max(core[LOW], core[TAKEN] + 1), core[BEFORE]):
            if phone.fate[one] == WAITING:
                return one
    return NOBODY


@inner_in_place
def is_allowed(action, phone):
    """Return whether the action has an effect now."""
    if phone.core[OVER]:
        return False
    if phone.core[HAND] >= 0:
        return action <= CACHE
    return action == STAND_BY or (action == CHECK and next_in_cache(phone) >= 0)


# ---------------------------------------------------------------- time passes


@inner_in_place
def earn(part, times, phone, life):
    """Add a part of the reward `times` times; return its worth."""
    worth = times * life.weights[part]
    phone.sums[part] += worth
    return worth


@inner_in_place
def settle_unseen(one, late, phone, life):
    """Close an unseen notification; it is paid by whether the user would have opened it as it arrived."""
    at_arrival = life.came[phone.core[BASE] + one]
    if would_open(one, at_arrival, phone, life):
        phone.fate[one] = MISSED + late
        phone.core[MISSED_IN_ALL] += 1
        return earn(P_MISSED, 1.0, phone, life)
    phone.fate[one] = SPARED + late
    phone.core[SPARED_IN_ALL] += 1
    return earn(P_SPARED, 1.0, phone, life)


@inner_in_place
def has_answered(one, opened, moment, now, phone, life):
    """Return whether notification `one`, shown at this moment, is answered by now."""
    minutes = answer_after(one, opened, moment, phone, life)
    return life.times[moment] + minutes <= now


@inner_in_place
def settle(now, phone, life):
    """Add what has become known up to now, which at the end of the horizon is infinite; return its worth."""
    core = phone.core
    fate = phone.fate
    reward = 0.0
    for one in range(core[LOW], core[ARRIVED]):
        came = life.came[core[BASE] + one]
        if fate[one] == WAITING and now - life.times[came] > life.limits[MAX_AGE]:
            phone.since[one] = core[MOMENT]
            core[EXPIRED_IN_ALL] += 1
            core[WAITING_NOW] -= 1
            reward += settle_unseen(one, LATE, phone, life)
        elif fate[one] == SHOWN:
            shown = phone.since[one]
            opened = would_open(one, shown, phone, life)
            if has_answered(one, opened, shown, now, phone, life):
                fate[one] = OPENED if opened else REFUSED
                core[OPENS_IN_ALL if opened else REFUSALS_IN_ALL] += 1
                core[PENDING_NOW] -= 1
                part = P_OPENED if opened else P_DISMISSED
                reward += earn(part, 1.0, phone, life)
        elif fate[one] == UNSEEN:
            opened = would_open(one, came, phone, life)
            if has_answered(one, opened, came, now, phone, life):
                core[PENDING_NOW] -= 1
                reward += settle_unseen(one, 0, phone, life)
    while core[LOW] < core[ARRIVED] and fate[core[LOW]] > UNSEEN:
        core[LOW] += 1
    return reward


@inner_in_place
def pass_time(phone, life):
    """Go on to the next moment: the waiting wait, answers come in, old ones expire, and one can arrive."""
    core = phone.core
    reward = earn(P_WAIT, float(core[WAITING_NOW]), phone, life)
    if next_in_cache(phone) >= 0:
        reward += earn(P_IDLE, 1.0, phone, life)
    core[MOMENT] += 1
    moment = core[MOMENT]
    core[TAKEN] = NOBODY
    core[BEFORE] = core[ARRIVED]
    at_end = moment == core[STOP]
    core[OVER] = int(at_end)
    if core[WAITING_NOW] + core[PENDING_NOW] > 0:
        now = np.inf if at_end else life.times[moment]
        reward += settle(now, phone, life)
    if not at_end:
        plan = life.plan[moment]
        if plan[ITS_DAY] != core[DAY_NOW]:
            core[DAY_NOW] = plan[ITS_DAY]
            core[SHOWN_TODAY : CACHED_TODAY + 1] = 0
        if plan[ARRIVAL] >= 0:
            one = plan[ARRIVAL] - core[BASE]
            core[HAND] = one
            phone.fate[one] = IN_HAND
            core[ARRIVED] = one + 1
    return reward


# ---------------------------------------------------------------- what the agent does


@inner_in_place
def put_off(phone, life):
    """Lay what is in hand into the cache; return what too many deferrals cost."""
    core = phone.core
    one = core[HAND]
    core[HAND] = NOBODY
    phone.fate[one] = WAITING
    phone.deferrals[one] += 1
    core[WAITING_NOW] += 1
    core[CACHED_TODAY] += 1
    core[CACHED_IN_ALL] += 1
    deferrals = phone.deferrals[one]
    too_many = deferrals if deferrals > life.limits[PATIENCE] else 0
    return earn(P_ENDLESS, float(too_many), phone, life)


@inner_in_place
def act(action, phone, life):
    """Take one step; return the reward. A phone that has come to its end stays as it is."""
    core = phone.core
    one = core[HAND]
    reward = 0.0
    core[ACTED_ON] = one
    core[WAS_FORBIDDEN] = int(not is_allowed(action, phone))
    if core[OVER]:
        return reward
    passes = action == STAND_BY
    puts_off = action == CACHE
    if core[WAS_FORBIDDEN]:
        reward = earn(P_FORBIDDEN, 1.0, phone, life)
        core[FORBIDDEN_IN_ALL] += 1
        core[IN_A_ROW] += 1
        passes = core[IN_A_ROW] >= life.limits[MAX_FORBIDDEN]
        puts_off = passes and one >= 0
    elif action == CHECK:
        one = next_in_cache(phone)
        phone.fate[one] = IN_HAND
        core[HAND] = one
        core[TAKEN] = one
        core[ACTED_ON] = one
        core[WAITING_NOW] -= 1
        reward = earn(P_LOOK, 1.0, phone, life)
    elif action == SHOW or action == DISMISS:
        phone.fate[one] = SHOWN if action == SHOW else UNSEEN
        core[SHOWN_TODAY + action] += 1
        core[SHOWN_IN_ALL + action] += 1
        phone.since[one] = core[MOMENT]
        core[HAND] = NOBODY
        core[PENDING_NOW] += 1
        if action == SHOW:
            came = life.came[core[BASE] + one]
            phone.sums[DELAY] += life.times[core[MOMENT]] - life.times[came]
    if passes or not core[WAS_FORBIDDEN]:
        core[IN_A_ROW] = 0
    if puts_off:
        reward += put_off(phone, life)
    if passes:
        reward += pass_time(phone, life)
    return reward


# ---------------------------------------------------------------- what the agent sees


@inner_in_place
def count_code(count):
    return COUNT_CODES[min(count, len(COUNT_CODES) - 1)]


@inner_in_place
def age_code(minutes):
    code = 0
    for edge in AGE_EDGES:
        code += int(minutes >= edge)
    return code


@inner_in_place
def describe(one, at, phone, life, seen):
    """Write a notification's codes and deferrals into seen[at:]; return where the next component goes.

    Without a notification they are the highest codes, which mean none.
    """
    wide = life.notifications.shape[1]
    for column in range(wide + 1):
        seen[at + column] = life.top[at + column]
    if one >= 0:
        for column in range(wide):
            seen[at + column] = life.notifications[phone.core[BASE] + one, column]
        seen[at + wide] = min(phone.deferrals[one], MOST_DEFERRALS)
    return at + wide + 1


@inner_in_place
def look(phone, life, seen):
    """Write the observation; the world's `observation_names` name its components."""
    core = phone.core
    moment = min(core[MOMENT], core[STOP] - 1)
    now = life.times[moment]
    head = NOBODY
    oldest = now + 1.0  # when the first notification without an answer was shown
    pending = 0
    if core[WAITING_NOW] + core[PENDING_NOW] > 0:
        for one in range(core[LOW], core[ARRIVED]):
            if phone.fate[one] == WAITING and head < 0:
                head = one
            elif phone.fate[one] == SHOWN:
                pending += 1
                oldest = min(oldest, life.times[phone.since[one]])
    wide = life.contexts.shape[1]
    for column in range(wide):
        seen[column] = life.contexts[moment, column]
    at = describe(int(core[HAND]), wide, phone, life, seen)
    seen[at] = count_code(core[WAITING_NOW])
    at = describe(head, at + 1, phone, life, seen)
    seen[at] = life.top[at]
    if head >= 0:
        seen[at] = age_code(now - life.times[life.came[core[BASE] + head]])
    seen[at + 1] = count_code(pending)
    seen[at + 2] = age_code(now - oldest) if pending else life.top[at + 2]
    for column in range(3):
        seen[at + 3 + column] = count_code(core[SHOWN_TODAY + column])
    plan = life.plan[moment]
    seen[at + 6] = plan[HOUR]
    seen[at + 7] = core[FIRST_DAY] + life.top[at + 7] - plan[ITS_DAY]


# ---------------------------------------------------------------- all copies


@compiled_in_place
def live_each(
    action,
    reward,
    seen,
    mask,
    core,
    sums,
    fate,
    deferrals,
    since,
    plan,
    times,
    contexts,
    came,
    first_chance,
    notifications,
    chance,
    minutes,
    cells,
    weights,
    limits,
    top,
):
    """Take one step of every copy, or only look if the action is NO_ACTION.

    Fills reward (n,), seen (n, components) and mask (n, 5), which says what is allowed next. After the end that is
    stand-by, for agents that must always choose something.
    """
    life = Life(
        plan,
        times,
        contexts,
        came,
        first_chance,
        notifications,
        chance,
        minutes,
        cells,
        weights,
        limits,
        top,
    )
    for i in range(len(action)):
        phone = Phone(core[i], sums[i], fate[i], deferrals[i], since[i])
        if action[i] != NO_ACTION:
            reward[i] = act(action[i], phone, life)
        look(phone, life, seen[i])
        for each in range(STAND_BY):
            mask[i, each] = is_allowed(each, phone)
        mask[i, STAND_BY] = core[i, HAND] < 0
