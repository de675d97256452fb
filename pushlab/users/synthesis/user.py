"""One synthetic user: days lived, notifications arrived, actions taken, laid out as the tables of the challenge."""

from dataclasses import dataclass

import numpy as np

from pushlab.datasets.draws import quantile, uniforms
from pushlab.users.synthesis.arrivals import MINUTE, arrivals
from pushlab.users.synthesis.day import day_of, live, slot_of
from pushlab.users.synthesis.taste import fit_intercept, log_odds, open_probability

FIRST_DAY = "2019-02-18"        # a Monday
QUARTER = 84                    # days of history, and days of test
SPARE = 2                       # days after the test in which its last notifications are removed
SECOND = 1_000_000              # microseconds
SCHEMA = "evalumap2019"

# Response times as multiples of their median: quantiles of a log-normal distribution, sigma 1.1, with its tail cut.
LEVELS = (0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1)
MULTIPLES = (0.06, 0.104, 0.164, 0.244, 0.396, 0.562, 0.757, 1, 1.321, 1.78, 2.524, 4.095, 6.107, 9.58, 17)
SEEN_SHARE = (0.05, 0.5)        # the part of the response time that passes before the notification is seen, uniform

LAST_USED = (                   # seconds since an app was last opened, below which the words apply
    (60, "immediate"), (600, "few mins"), (1800, "within half hour"), (3600, "within hour"), (6 * 3600, "few hours"),
    (24 * 3600, "within 24 hours"), (7 * 24 * 3600, "within last week"))
LONG_AGO = "over a week ago"

NOTIFICATIONS = {       # column of train/notifications.csv: name here
    "id": "id", "appPackage": "postingApp", "category": "category", "numberUpdates": "numberOfUpdates",
    "subject": "subject", "priority": "priority", "ongoing": "ongoing", "visibility": "visibility"}
POSTING = {             # of train/context_on_posting.csv
    "id": "id", "day": "day", "time": "time", "place": "place", "activity": "activity", "noise": "noise",
    "batteryLevel": "batteryLevel", "charging": "charging", "headphonesIn": "headphonesIn",
    "musicActive": "musicActive", "proximity": "proximity", "ringerMode": "ringerMode",
    "lightIntensity": "lightIntensity"}
REMOVAL = {             # of train/context_on_removal.csv
    "id": "id", "activity": "removal.activity", "noise": "removal.noise", "batteryLevel": "removal.batteryLevel",
    "charging": "removal.charging", "contactSignificantContext": "contactSignificantContext",
    "contactSignificantOverall": "contactSignificantOverall", "decisionTime": "decisionTime",
    "headphonesIn": "removal.headphonesIn", "lightIntensity": "removal.lightIntensity",
    "musicActive": "removal.musicActive", "place": "removal.place", "proximity": "removal.proximity",
    "responseTime": "responseTime", "ringerMode": "removal.ringerMode", "seenTime": "seenTime", "action": "action",
    "timeAppLastUsed": "timeAppLastUsed", "postDate": "postDate", "removedDate": "removedDate"}
TEST = {                # of test/notifications.csv
    "activityContextPosted": "activity", "activityContextRemoved": "removal.activity", "appPackage": "postingApp",
    "averageNoisePosted": "noise", "averageNoiseRemoved": "removal.noise", "batteryLevelPosted": "batteryLevel",
    "batteryLevelRemoved": "removal.batteryLevel", "category": "category", "chargingPosted": "charging",
    "chargingRemoved": "removal.charging", "headphonesInPosted": "headphonesIn",
    "headphonesInRemoved": "removal.headphonesIn", "lightIntensityPosted": "lightIntensity",
    "lightIntensityRemoved": "removal.lightIntensity", "musicActivePosted": "musicActive",
    "musicActiveRemoved": "removal.musicActive", "numberUpdates": "numberOfUpdates", "ongoing": "ongoing",
    "placeCategoryPosted": "place", "placeCategoryRemoved": "removal.place", "priority": "priority",
    "proximityPosted": "proximity", "proximityRemoved": "removal.proximity", "ringerModePosted": "ringerMode",
    "ringerModeRemoved": "removal.ringerMode", "subject": "subject", "visibility": "visibility", "action": "action",
    "timeOfDayPosted": "time", "timeOfDayRemoved": "removal.time", "dayOfWeekPosted": "day",
    "dayOfWeekRemoved": "removal.day"}


@dataclass(frozen=True)
class SyntheticUser:
    """A user made up from a seed.

    name    a word, the name of the folder
    tables  {"train/notifications.csv": DataFrame of strings, …}, the layout of the EvalUMAP 2019 challenge; the index
            of a table is its first, nameless column
    truth   dict: who this is and what decides whether a notification is opened; see data/push/README.md
    """

    name: str
    tables: dict
    truth: dict

    def engagements(self, period):
        """DataFrame of one period, "history" or "test": the features by the schema's names, and `action`."""
        if period not in ("history", "test"):
            raise ValueError(f"period is {period!r}; it should be history or test")
        if period == "test":
            return self.tables["test/notifications.csv"].rename(columns=TEST)
        removal = self.tables["train/context_on_removal.csv"]
        notifications = self.tables["train/notifications.csv"].rename(columns=NOTIFICATIONS)
        return notifications.join(self.tables["train/context_on_posting.csv"].drop(columns="id")).assign(
            action=removal["action"])


def build_user(name, seed, persona):
    """The SyntheticUser of a Persona; all chance comes from the seed."""
    timeline = live(persona.week, 2 * QUARTER + SPARE, seed, persona.all_settings())
    posted, notifications = arrivals(
        2 * QUARTER, persona.per_quarter / QUARTER, seed, persona.all_likings(), persona.week_volume)
    rows = timeline.at(posted // MINUTE) | notifications
    taste = persona.taste | {"intercept": 0.0}
    taste["intercept"] = fit_intercept(taste, rows, rows, persona.open_rate)
    probability = open_probability(log_odds(taste, rows, rows))
    opened = uniforms(seed, "actions", len(posted)) < probability
    medians = persona.median_responses()
    response, seen = response_times(opened, rows["time"], medians, uniforms(seed, "responses", (2, len(posted))))
    rows |= removal_columns(posted, posted + response, timeline, opened)
    rows |= {"responseTime": seconds_text(response), "seenTime": seconds_text(seen),
             "decisionTime": seconds_text(response - seen)}
    rows |= contact_columns(rows["postingApp"], uniforms(seed, "contacts", (2, len(posted))))
    rows["timeAppLastUsed"] = last_used(rows["postingApp"], posted, posted + response, opened)
    in_test = posted >= QUARTER * 24 * 60 * MINUTE
    return SyntheticUser(name, lay_tables(rows, in_test), tell_truth(name, seed, persona, taste, opened, in_test))


def response_times(opened, slots, medians, draws):
    """Microseconds from posting to removal and from posting to seeing, int64 each, from uniforms (2, rows)."""
    actions = np.where(opened, "opened", "dismissed")
    median = np.array([medians[action][slot] for action, slot in zip(actions, slots, strict=True)], dtype=float)
    response = np.rint(SECOND * median * quantile(LEVELS, MULTIPLES, draws[0])).astype(np.int64)
    low, high = SEEN_SHARE
    seen = np.rint(response * (low + (high - low) * draws[1])).astype(np.int64)
    return response, seen


def removal_columns(posted, removed, timeline, opened):
    """The two dates, the action, and the context at removal."""
    minutes = removed // MINUTE
    context = {f"removal.{name}": values for name, values in timeline.at(minutes).items()}
    context |= {"removal.time": slot_of(minutes), "removal.day": day_of(minutes)}
    return context | {"postDate": date_text(posted), "removedDate": date_text(removed),
                      "action": np.where(opened, "True", "False").astype(object)}


def contact_columns(apps, draws):
    """Whether a message comes from somebody who matters, here and at all: columns the challenge does not use."""
    chat = apps == "org.pushlab.chat"
    overall = chat & (draws[0] < 0.3)
    here = overall & (draws[1] < 0.5)
    return {"contactSignificantOverall": overall.astype(str).astype(object),
            "contactSignificantContext": here.astype(str).astype(object)}


def last_used(apps, posted, removed, opened):
    """How long before each posting the user last opened a notification of the same app, in the data's words."""
    bounds = np.array([seconds for seconds, _ in LAST_USED]) * SECOND
    words = np.array([word for _, word in LAST_USED] + [LONG_AGO], dtype=object)
    told = np.full(len(apps), LONG_AGO, dtype=object)
    for app in np.unique(apps):
        here = apps == app
        uses = np.sort(removed[here & opened])
        before = np.searchsorted(uses, posted[here], side="right") - 1
        since = posted[here] - uses[np.maximum(before, 0)] if len(uses) else np.zeros(here.sum(), np.int64)
        told[here] = np.where(before < 0, LONG_AGO, words[np.searchsorted(bounds, since, side="right")])
    return told


def seconds_text(microseconds):
    """Seconds with six decimals.

    >>> seconds_text([1_500_000]).tolist()
    ['1.500000']
    """
    return np.array([f"{value // SECOND}.{value % SECOND:06d}" for value in microseconds], dtype=object)


def date_text(microseconds):
    """Dates "2019-02-18 00:00:00.000000", from microseconds since the first midnight."""
    dates = np.datetime64(FIRST_DAY, "us") + np.asarray(microseconds).astype("timedelta64[us]")
    return np.char.replace(np.datetime_as_string(dates, unit="us"), "T", " ").astype(object)


def lay_tables(rows, in_test):
    """The four tables, DataFrames of strings; ids count from 0 in each period."""
    import pandas as pd

    def table(columns, here):
        numbers = np.arange(here.sum()).astype(str).astype(object)
        return pd.DataFrame(
            {column: numbers if name == "id" else rows[name][here] for column, name in columns.items()}, dtype=object)

    return {"train/notifications.csv": table(NOTIFICATIONS, ~in_test),
            "train/context_on_posting.csv": table(POSTING, ~in_test),
            "train/context_on_removal.csv": table(REMOVAL, ~in_test),
            "test/notifications.csv": table(TEST, in_test)}


def tell_truth(name, seed, persona, taste, opened, in_test):
    """What truth.json holds."""
    return {
        "name": name, "seed": seed, "schema": SCHEMA, "about": persona.about,
        "intercept": taste["intercept"], "context": taste["context"], "notification": taste["notification"],
        "pairs": [list(pair) for pair in taste["pairs"]],
        "open_rate": {"history": round(float(opened[~in_test].mean()), 4),
                      "test": round(float(opened[in_test].mean()), 4)},
        "response": {"unit": "seconds", "median": persona.median_responses(), "levels": list(LEVELS),
                     "multiples": list(MULTIPLES), "seen_share": list(SEEN_SHARE)},
    }
