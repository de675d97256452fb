"""When notifications arrive, and what they are.

In each minute one arrives with a small probability that follows the hour and the weekday. The app depends on the time
slot and on the weekend, all else on the app; some apps send several in a row.
"""

import numpy as np

from pushlab.datasets.draws import pick, pick_value, uniforms
from pushlab.users.synthesis.catalogue import APPS, UPDATES
from pushlab.users.synthesis.day import DAY, SLOT_STARTS

MINUTE = 60_000_000                     # microseconds
WORKDAY_HOURS = (4, 2, 1, 1, 1, 4, 18, 40, 55, 62, 66, 64, 70, 64, 58, 58, 62, 74, 80, 76, 70, 58, 38, 16)
WEEKEND_HOURS = (14, 8, 4, 2, 1, 1, 4, 10, 26, 46, 60, 64, 66, 62, 58, 56, 58, 66, 76, 78, 72, 64, 50, 30)
BURST_GAP = (20 * 1_000_000, 240 * 1_000_000)   # microseconds between the notifications of a burst


def arrivals(days, per_day, seed, likings, week_volume):
    """Notifications that arrive in some days from a Monday: times, and a dict of object arrays, one a feature.

    per_day       mean number a day
    likings       weight of each app of APPS for this user; 10 is usual, 0 means not installed
    week_volume   seven weights, Monday first: how much arrives on that weekday
    returns       microseconds since the first midnight, int64, rising; and the notification features
    """
    firsts = first_arrivals(days, per_day, seed, likings, week_volume)
    draws = uniforms(seed, "notifications", (7, len(firsts)))
    app = draw_apps(firsts, likings, draws[0])
    features = draw_features(app, draws[1:6])
    return add_bursts(firsts, app, features, draws[6], seed)


def first_arrivals(days, per_day, seed, likings, week_volume):
    """Times of the arrivals that are not the rest of a burst, microseconds since the first midnight."""
    hours = np.array([WORKDAY_HOURS] * 5 + [WEEKEND_HOURS] * 2)
    weights = hours * np.array(week_volume)[:, None]                        # (weekday, hour)
    share = weights / weights.sum() * 7                                     # 1 over the hours of a mean day
    chance = per_day / mean_burst(likings) * share / 60                     # (weekday, hour), of one minute
    minutes = np.arange(days * DAY)
    occurs, within = uniforms(seed, "arrivals", (2, len(minutes)))
    arrived = occurs < chance[minutes // DAY % 7, minutes % DAY // 60]
    return minutes[arrived] * MINUTE + (within[arrived] * MINUTE).astype(np.int64)


def mean_burst(likings):
    """Mean number of notifications an arrival brings, about: apps weighted by what they send on a workday."""
    sizes = weights = 0
    for name, app in APPS.items():
        weight = likings[name] * sum(app.workday[1:])
        sizes += weight * sum((1 + extra) * share for extra, share in enumerate(app.more)) / sum(app.more)
        weights += weight
    return sizes / weights


def draw_apps(times, likings, u):
    """The app of each arrival, object array: by time slot and by workday or weekend."""
    names = np.array(list(APPS), dtype=object)
    minutes = times // MINUTE
    weekend = minutes // DAY % 7 >= 5
    slot = np.searchsorted(SLOT_STARTS, minutes % DAY // 60, side="right") - 1
    drawn = np.empty(len(times), dtype=object)
    for is_weekend in (False, True):
        for number in range(len(SLOT_STARTS)):
            here = (weekend == is_weekend) & (slot == number)
            weights = [likings[name] * (app.weekend if is_weekend else app.workday)[number]
                       for name, app in APPS.items()]
            drawn[here] = names[pick(weights, u[here])]
    return drawn


def draw_features(app, draws):
    """All other features of each arrival, a dict of object arrays, from uniforms (5, arrivals)."""
    features = {name: np.empty(len(app), dtype=object) for name in (
        "category", "numberOfUpdates", "subject", "priority", "ongoing", "visibility")}
    for name, kind in APPS.items():
        here = app == name
        which, updates, priority, ongoing, visibility = draws[:, here]
        row = pick([weight for _, _, weight in kind.rows], which)
        features["category"][here] = np.array([category for category, _, _ in kind.rows], dtype=object)[row]
        features["subject"][here] = np.array([subject for _, subject, _ in kind.rows], dtype=object)[row]
        features["numberOfUpdates"][here] = pick_value(kind.updates, updates)
        features["priority"][here] = pick_value(kind.priority, priority)
        features["ongoing"][here] = np.where(100 * ongoing < kind.ongoing, "True", "False")
        features["visibility"][here] = pick_value(kind.visibility, visibility)
    return features


def add_bursts(times, app, features, u, seed):
    """Repeats some arrivals within minutes, each time with one more step of numberOfUpdates; sorted by time."""
    extra = np.zeros(len(times), dtype=int)
    for name, kind in APPS.items():
        extra[app == name] = pick(kind.more, u[app == name])
    source = np.repeat(np.arange(len(times)), extra + 1)
    place = np.arange(len(source)) - np.repeat(np.cumsum(extra + 1) - extra - 1, extra + 1)    # 0 for the first
    low, high = BURST_GAP
    gaps = np.where(place > 0, low + (uniforms(seed, "bursts", len(source)) * (high - low)).astype(np.int64), 0)
    run = np.cumsum(gaps)
    moments = times[source] + run - run[np.cumsum(extra + 1) - extra - 1][source]
    order = np.argsort(moments, kind="stable")
    columns = {"postingApp": app[source]} | {name: values[source] for name, values in features.items()}
    steps = np.array([UPDATES.index(value) for value in columns["numberOfUpdates"]]) + place
    columns["numberOfUpdates"] = np.array(UPDATES, dtype=object)[np.minimum(steps, len(UPDATES) - 1)]
    return moments[order], {name: values[order] for name, values in columns.items()}
