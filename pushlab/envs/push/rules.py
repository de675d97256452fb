"""Dynamics of push-v0 as loops over plain arrays: actions, passing time, rewards and observations.

The state of one copy is a Phone, whose arrays are changed in place:

=========  ==============  =======================================================================
core       int32 (31,)     columns named below
sums       float64 (14,)   each part of the reward so far, then columns named below
status     int8 (width,)   of each notification of the horizon, in order of arrival
deferrals  int16 (width,)  how often each was deferred
since      int32 (width,)  moment at which each was shown, dismissed, or found expired
=========  ==============  =======================================================================
"""

from collections import namedtuple

import numpy as np

from pushlab.envs.random_numbers import uniform_at
from pushlab.utils.compiled import compiled_helper_in_place, compiled_in_place

Phone = namedtuple("Phone", "core sums status deferrals since")

# Constants of all episodes, made by `pushlab.envs.push.world.build_tables`. Moments, days and arrivals are numbered
# over all days of a world.
#
# plan               int32 (moments, 4), columns below
# times              float64 (moments,) minutes since the first midnight of the user
# contexts           int64 (moments, context components) codes
# arrival_moments    int64 (arrivals,)
# first_probability  int64 (arrivals,) index of each arrival's first entry in `probabilities`
# notifications      int64 (arrivals + 1, notification components) codes; the last row has the codes for none
# probabilities      float64 of being opened, for each arrival at each moment until it expires
# response_minutes   float64 response times, grouped by user, answer and time of day
# response_cells     int (users, 2, 5, 2) start and size of each group
# weights            float64 (9,) of the parts of the reward
# limits             float64 (5,) maximum age, forbidden actions in a row, patience, habituation, minutes of the horizon
# highest_codes      int64 (components,) of the observation
Tables = namedtuple(
    "Tables",
    "plan times contexts arrival_moments first_probability notifications probabilities "
    "response_minutes response_cells weights limits highest_codes",
)
ARRIVAL, SLOT, DAY_INDEX, HOUR = range(4)  # columns of the plan
MAX_AGE, MAX_FORBIDDEN, PATIENCE, HABITUATION, MINUTES = range(5)  # entries of limits

ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
NO_ACTION = -1  # only write the observation

# Columns of core. Notifications are numbered from the first of the horizon, which is the world's arrival FIRST_ARRIVAL.
# FIRST_UNSETTLED is the first notification without a final status. LAST_TAKEN is the last one taken out of the cache
# at this moment, and ARRIVED_BEFORE the number of notifications that arrived before it. N_PENDING counts shown and
# dismissed notifications whose reward is outstanding. DAY is FIRST_DAY, counted from
# the user's first day. The columns up to USER are entries of info, in the order of COUNTS in world.py.
(
    DAY,
    SHOWN_TOTAL,
    DISMISSED_TOTAL,
    CACHED_TOTAL,
    EXPIRED_TOTAL,
    FORBIDDEN_TOTAL,
    OPENS_TOTAL,
    REFUSALS_TOTAL,
    MISSED_TOTAL,
    SPARED_TOTAL,
    HAND,
    USER,
    MOMENT,
    END_MOMENT,
    CURRENT_DAY,
    FIRST_DAY,
    FIRST_ARRIVAL,
    N_ARRIVED,
    LAST_TAKEN,
    FIRST_UNSETTLED,
    FORBIDDEN_IN_A_ROW,
    IS_OVER,
    WAS_FORBIDDEN,
    LAST_HANDLED,
    SHOWN_TODAY,
    DISMISSED_TODAY,
    CACHED_TODAY,
    ARRIVED_BEFORE,
    N_WAITING,
    N_PENDING,
    FIRST_MOMENT,
) = range(31)
NO_NOTIFICATION = -1

# Statuses after UNSEEN are final. Each of them gives one part of the reward.
STATUSES = (
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
WAS_SHOWN = (SHOWN, OPENED, REFUSED)
EXPIRED_OFFSET = 2  # added to MISSED and SPARED

# Parts of the reward, in the order of `pushlab.envs.push.world.WEIGHTS`.
# They are NumPy integers, because numba compiles a helper again for each plain int that a caller passes.
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
# Further columns of sums: three entries of info, minutes of delay so far, and the key of the stream of uniform numbers.
TIME, LOAD, MEAN_DELAY, DELAY, KEY = range(9, 14)
# 1 + index of the reward part of each status; 0 for none.
STATUS_PARTS = (0, 0, 0, 0, 0, 1, 2, 3, 4, 3, 4)

# Lower ends of the ranges, all but the first, for counts and for ages in minutes.
COUNT_EDGES = np.array([1, 2, 3, 4, 5, 7, 10, 15, 20, 30, 50])
COUNT_CODES = np.searchsorted(COUNT_EDGES, np.arange(51), side="right")
AGE_EDGES = np.array([15, 60, 120, 240, 480])
MAX_DEFERRALS = 5  # highest code, for 5 or more
HALF_LIFE = 240.0  # minutes in which the dose of a shown notification falls to half


# ---------------------------------------------------------------- the user


@compiled_helper_in_place
def dose_at(moment, index, phone, tables):
    """Return the dose of the other notifications shown up to a moment: the sum of 2^(-age / HALF_LIFE)."""
    dose = 0.0
    for other in range(phone.core[N_ARRIVED]):
        was_shown = phone.status[other] in WAS_SHOWN
        if was_shown and other != index and phone.since[other] <= moment:
            age = tables.times[moment] - tables.times[phone.since[other]]
            dose += 2 ** (-age / HALF_LIFE)
    return dose


@compiled_helper_in_place
def would_open(index, moment, phone, tables):
    """Return whether the user would open a notification that is shown at the given moment.

    A notification has one uniform number per episode. So of the agent's actions only the moment of showing and, with
    habituation, the notifications shown before matter.
    """
    arrival = phone.core[FIRST_ARRIVAL] + index
    delay = moment - tables.arrival_moments[arrival]
    probability = tables.probabilities[tables.first_probability[arrival] + delay]
    if tables.limits[HABITUATION] > 0:
        dose = dose_at(moment, index, phone, tables)
        odds_against = (1 - probability) * np.exp(tables.limits[HABITUATION] * dose)
        probability /= probability + odds_against
    return uniform_at(phone.sums[KEY], 2 * index) < probability


@compiled_helper_in_place
def response_time(index, opened, moment, phone, tables):
    """Return minutes until an answer, drawn from the history's times for this answer and time of day."""
    slot = tables.plan[moment, SLOT]
    cell = tables.response_cells[phone.core[USER], int(opened), slot]
    u = uniform_at(phone.sums[KEY], 2 * index + 1)
    return tables.response_minutes[cell[0] + int(u * cell[1])]


# ---------------------------------------------------------------- allowed actions


@compiled_helper_in_place
def next_in_cache(phone):
    """Return the oldest waiting notification that hasn't been in hand at this moment, or -1."""
    core = phone.core
    if core[N_WAITING] > 0:
        start = max(core[FIRST_UNSETTLED], core[LAST_TAKEN] + 1)
        for index in range(start, core[ARRIVED_BEFORE]):
            if phone.status[index] == WAITING:
                return index
    return NO_NOTIFICATION


@compiled_helper_in_place
def is_allowed(action, phone):
    """Return whether the action has an effect now."""
    if phone.core[IS_OVER]:
        return False
    if phone.core[HAND] >= 0:
        return action <= CACHE
    return action == STAND_BY or (action == CHECK and next_in_cache(phone) >= 0)


# ---------------------------------------------------------------- rewards and time


@compiled_helper_in_place
def add_reward(part, count, phone, tables):
    """Add a part of the reward, `count` times its weight; return the sum added."""
    reward = count * tables.weights[part]
    phone.sums[part] += reward
    return reward


@compiled_helper_in_place
def settle_unseen(index, offset, phone, tables):
    """Settle a notification that was never shown, and return its reward.

    The reward depends on the user's answer if it had been shown on arrival.
    """
    arrived = tables.arrival_moments[phone.core[FIRST_ARRIVAL] + index]
    opened = would_open(index, arrived, phone, tables)
    phone.status[index] = offset + (MISSED if opened else SPARED)
    phone.core[MISSED_TOTAL if opened else SPARED_TOTAL] += 1
    return add_reward(P_MISSED if opened else P_SPARED, 1.0, phone, tables)


@compiled_helper_in_place
def has_answered(index, opened, moment, now, phone, tables):
    """Return whether a notification shown at the given moment has been answered by now."""
    minutes = response_time(index, opened, moment, phone, tables)
    return tables.times[moment] + minutes <= now


@compiled_helper_in_place
def settle_due(now, phone, tables):
    """Settle all notifications that have been answered or have expired by now (inf at the end); return their reward."""
    core = phone.core
    status = phone.status
    reward = 0.0
    for index in range(core[FIRST_UNSETTLED], core[N_ARRIVED]):
        arrived = tables.arrival_moments[core[FIRST_ARRIVAL] + index]
        age = now - tables.times[arrived]
        if status[index] == WAITING and age > tables.limits[MAX_AGE]:
            phone.since[index] = core[MOMENT]
            core[EXPIRED_TOTAL] += 1
            core[N_WAITING] -= 1
            reward += settle_unseen(index, EXPIRED_OFFSET, phone, tables)
        elif status[index] == SHOWN or status[index] == UNSEEN:
            is_shown = status[index] == SHOWN
            moment = phone.since[index] if is_shown else arrived
            opened = would_open(index, moment, phone, tables)
            if has_answered(index, opened, moment, now, phone, tables):
                core[N_PENDING] -= 1
                if is_shown:
                    status[index] = OPENED if opened else REFUSED
                    core[OPENS_TOTAL if opened else REFUSALS_TOTAL] += 1
                    part = P_OPENED if opened else P_DISMISSED
                    reward += add_reward(part, 1.0, phone, tables)
                else:
                    reward += settle_unseen(index, 0, phone, tables)
    while (
        core[FIRST_UNSETTLED] < core[N_ARRIVED]
        and status[core[FIRST_UNSETTLED]] > UNSEEN
    ):
        core[FIRST_UNSETTLED] += 1
    return reward


@compiled_helper_in_place
def advance_time(phone, tables):
    """Advance to the next moment: pay for waiting, settle, and receive a notification; return the reward."""
    core = phone.core
    reward = add_reward(P_WAIT, float(core[N_WAITING]), phone, tables)
    if next_in_cache(phone) >= 0:
        reward += add_reward(P_IDLE, 1.0, phone, tables)
    core[MOMENT] += 1
    moment = core[MOMENT]
    core[LAST_TAKEN] = NO_NOTIFICATION
    core[ARRIVED_BEFORE] = core[N_ARRIVED]
    at_end = moment == core[END_MOMENT]
    core[IS_OVER] = int(at_end)
    if core[N_WAITING] + core[N_PENDING] > 0:
        now = np.inf if at_end else tables.times[moment]
        reward += settle_due(now, phone, tables)
    if not at_end:
        plan = tables.plan[moment]
        if plan[DAY_INDEX] != core[CURRENT_DAY]:
            core[CURRENT_DAY] = plan[DAY_INDEX]
            core[SHOWN_TODAY : CACHED_TODAY + 1] = 0
        if plan[ARRIVAL] >= 0:
            index = plan[ARRIVAL] - core[FIRST_ARRIVAL]
            core[HAND] = index
            phone.status[index] = IN_HAND
            core[N_ARRIVED] = index + 1
    return reward


# ---------------------------------------------------------------- actions


@compiled_helper_in_place
def defer(phone, tables):
    """Move the notification in hand to the cache; return the reward, which is negative beyond `patience`."""
    core = phone.core
    index = core[HAND]
    core[HAND] = NO_NOTIFICATION
    phone.status[index] = WAITING
    phone.deferrals[index] += 1
    core[N_WAITING] += 1
    core[CACHED_TODAY] += 1
    core[CACHED_TOTAL] += 1
    deferrals = phone.deferrals[index]
    count = deferrals if deferrals > tables.limits[PATIENCE] else 0
    return add_reward(P_ENDLESS, float(count), phone, tables)


@compiled_helper_in_place
def take_action(action, phone, tables):
    """Take one step; return the reward. A phone at its end doesn't change."""
    core = phone.core
    index = core[HAND]
    reward = 0.0
    core[LAST_HANDLED] = index
    core[WAS_FORBIDDEN] = int(not is_allowed(action, phone))
    if core[IS_OVER]:
        return reward
    time_passes = action == STAND_BY
    defers = action == CACHE
    if core[WAS_FORBIDDEN]:
        reward = add_reward(P_FORBIDDEN, 1.0, phone, tables)
        core[FORBIDDEN_TOTAL] += 1
        core[FORBIDDEN_IN_A_ROW] += 1
        time_passes = core[FORBIDDEN_IN_A_ROW] >= tables.limits[MAX_FORBIDDEN]
        defers = time_passes and index >= 0
    elif action == CHECK:
        index = next_in_cache(phone)
        phone.status[index] = IN_HAND
        core[HAND] = index
        core[LAST_TAKEN] = index
        core[LAST_HANDLED] = index
        core[N_WAITING] -= 1
        reward = add_reward(P_LOOK, 1.0, phone, tables)
    elif action == SHOW or action == DISMISS:
        phone.status[index] = SHOWN if action == SHOW else UNSEEN
        core[SHOWN_TODAY + action] += 1
        core[SHOWN_TOTAL + action] += 1
        phone.since[index] = core[MOMENT]
        core[HAND] = NO_NOTIFICATION
        core[N_PENDING] += 1
        if action == SHOW:
            arrived = tables.arrival_moments[core[FIRST_ARRIVAL] + index]
            phone.sums[DELAY] += tables.times[core[MOMENT]] - tables.times[arrived]
    if time_passes or not core[WAS_FORBIDDEN]:
        core[FORBIDDEN_IN_A_ROW] = 0
    if defers:
        reward += defer(phone, tables)
    if time_passes:
        reward += advance_time(phone, tables)
    return reward


# ---------------------------------------------------------------- observations


@compiled_helper_in_place
def count_code(count):
    """Return the code of a count's range."""
    return COUNT_CODES[min(count, len(COUNT_CODES) - 1)]


@compiled_helper_in_place
def age_code(minutes):
    """Return the code of an age's range."""
    code = 0
    for edge in AGE_EDGES:
        code += int(minutes >= edge)
    return code


@compiled_helper_in_place
def write_notification(index, start, phone, tables, observation):
    """Write a notification's codes and deferrals to observation[start:]; return the position after them.

    Without a notification (-1) they are the highest codes, which mean none. The table has them in its last row.
    """
    stop = start + tables.notifications.shape[1]
    row = index
    observation[stop] = MAX_DEFERRALS + 1
    if index >= 0:
        row += phone.core[FIRST_ARRIVAL]
        observation[stop] = min(phone.deferrals[index], MAX_DEFERRALS)
    codes = tables.notifications[row]
    for column in range(len(codes)):
        observation[start + column] = codes[column]
    return stop + 1


@compiled_helper_in_place
def write_observation(phone, tables, observation):
    """Write the codes that the world's `observation_names` names, and the entries of info in sums."""
    core = phone.core
    moment = min(core[MOMENT], core[END_MOMENT] - 1)
    now = tables.times[moment]
    head = NO_NOTIFICATION
    oldest = now + 1.0  # time at which the first unanswered notification was shown
    pending = 0
    if core[N_WAITING] + core[N_PENDING] > 0:
        for index in range(core[FIRST_UNSETTLED], core[N_ARRIVED]):
            if phone.status[index] == WAITING and head < 0:
                head = index
            elif phone.status[index] == SHOWN:
                pending += 1
                oldest = min(oldest, tables.times[phone.since[index]])
    context = tables.contexts[moment]
    for column in range(len(context)):
        observation[column] = context[column]
    at = write_notification(int(core[HAND]), len(context), phone, tables, observation)
    observation[at] = count_code(core[N_WAITING])
    at = write_notification(head, at + 1, phone, tables, observation)
    observation[at] = tables.highest_codes[at]
    if head >= 0:
        arrived = tables.arrival_moments[core[FIRST_ARRIVAL] + head]
        observation[at] = age_code(now - tables.times[arrived])
    observation[at + 1] = count_code(pending)
    observation[at + 2] = tables.highest_codes[at + 2]
    if pending:
        observation[at + 2] = age_code(now - oldest)
    for column in range(3):
        observation[at + 3 + column] = count_code(core[SHOWN_TODAY + column])
    plan = tables.plan[moment]
    last_day = core[FIRST_DAY] + tables.highest_codes[at + 7]
    observation[at + 6] = plan[HOUR]
    observation[at + 7] = last_day - plan[DAY_INDEX]
    sums = phone.sums
    sums[TIME] = now - tables.times[core[FIRST_MOMENT]]
    if core[IS_OVER]:
        sums[TIME] = tables.limits[MINUTES]
    shown = core[SHOWN_TOTAL]
    sums[LOAD] = shown / (core[CURRENT_DAY] - core[FIRST_DAY] + 1)
    sums[MEAN_DELAY] = sums[DELAY] / max(shown, 1)


# ---------------------------------------------------------------- all copies


@compiled_in_place
def step_phones(
    action,
    reward,
    observation,
    mask,
    core,
    sums,
    status,
    deferrals,
    since,
    *tables,
):
    """Step every copy; fill reward (n,), observation (n, components) and the mask of the next actions (n, 5).

    NO_ACTION leaves a copy and its reward as they are. After the end only stand-by is allowed, for agents that must
    always choose an action.
    """
    tables = Tables(*tables)
    for i in range(len(action)):
        phone = Phone(core[i], sums[i], status[i], deferrals[i], since[i])
        if action[i] != NO_ACTION:
            reward[i] = take_action(action[i], phone, tables)
        write_observation(phone, tables, observation[i])
        for option in range(STAND_BY):
            mask[i, option] = is_allowed(option, phone)
        mask[i, STAND_BY] = core[i, HAND] < 0
