"""Synthetic users: whose phone it is, what they open, and the files of the EvalUMAP 2019 challenge.

`pushlab.users.phone` has the days and the arrivals. Here a notification gets the probability of being opened,

    log-odds = intercept + weights of the context + weights of the notification + weights of pairs of the two

and the actions are drawn. A taste is the dict of a `truth.json`: `intercept`; `context` and `notification`, both
{feature: {value: weight}}; and `pairs`, a list of [context feature, value, notification feature, value, weight]. A
weight of the feature `place` belongs to one tag and counts if the tag is in the set. Unlisted values weigh 0.

>>> user = make_user(seed=7, name="kim", open_rate=0.4, per_quarter=300)
>>> sorted(user.tables)
['test/notifications.csv', 'train/context_on_posting.csv', 'train/context_on_removal.csv', 'train/notifications.csv']
>>> user.truth["pairs"][0]      # arts on a Sunday are welcome: 1.9 is added to the log-odds
['day', '6', 'subject', 'arts & entertainment', 1.9]
"""

import hashlib
import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.reading import CONTEXTS
from pushlab.ground.arguments import demand, number, whole
from pushlab.ground.files import data_dir, json_text, new_folder, read_json, write_text
from pushlab.ground.seeds import quantile, uniforms
from pushlab.users.phone import (
    APPS,
    CATALOGUE,
    CATALOGUE_COLUMNS,
    DAY,
    FIRST_DAY,
    MINUTE,
    PEOPLE,
    PLANS,
    QUARTER,
    SETTINGS,
    SLOTS,
    TABLES,
    Persona,
    arrivals,
    live,
    slot_number,
)

__all__ = ["headroom", "make_user", "write_all", "write_catalogue", "write_user"]

SECOND = 1_000_000  # microseconds
SCHEMA = "evalumap2019"
HANDOUT = "handout"  # in a folder of private users, the folder for students


@dataclass(frozen=True)
class SyntheticUser:
    """A user made from a seed.

    Attributes:
        name: A word, the name of the folder.
        tables: {"train/notifications.csv": DataFrame of strings, …}, the layout of the EvalUMAP 2019 challenge. The
            index of a table is its first, nameless column.
        truth: The person, and everything that decides whether a notification is opened; see data/push/README.md.
    """

    name: str
    tables: dict[str, Any]
    truth: dict[str, Any]


def make_user(
    seed: int, name: str, open_rate: float | None = None, per_quarter: int | None = None
) -> SyntheticUser:
    """Make a user whose week, apps and taste are drawn from a seed. For a fair evaluation keep the seed secret.

    Args:
        seed: A whole number from 0.
        name: Lower-case letters, digits, - and _.
        open_rate: Mean probability of opening, 0.02 to 0.98; None draws it.
        per_quarter: Approximate number of notifications in 84 days, 50 to 20,000; None draws it.

    Raises:
        ValueError: For anything else.
    """
    seed = whole("seed", seed, 0)
    demand(
        re.fullmatch(r"[a-z0-9_-]+", str(name)),
        f"name is lower-case letters, digits, - and _; got {name!r}",
    )
    if open_rate is not None:
        number("open_rate", open_rate, 0.02, 0.98)
    if per_quarter is not None:
        number("per_quarter", per_quarter, 50, 20_000)
    return _build_user(str(name), draw_persona(seed, open_rate, per_quarter))


# ---------------------------------------------------------------- a person from a seed

LIKINGS = (0, 4, 7, 10, 10, 14, 18, 22)  # weights of an app; 0 is not installed
PACES = (60, 100, 180)  # percent of the usual response times
SUBJECTS = sorted({subject for _, _, subject in CATALOGUE} - {"unknown"})
CATEGORIES = sorted({category for _, category, _ in CATALOGUE} - {"call", "unknown"})
TWO_SIDED = 11  # subjects or categories welcome in one context, unwelcome in another
MOMENTS = (
    *(("time", slot) for slot in SLOTS[1:]),
    ("activity", "foot walking"),
    ("activity", "vehicle"),
    ("headphonesIn", "True"),
    ("day", "5"),
    ("day", "6"),
)


class Dice:
    """Uniform numbers of one stream, used one after the other."""

    def __init__(self, seed: int):
        self.numbers = iter(uniforms(seed, "persona", 1000))

    def one_of(self, options: Sequence[Any]) -> Any:
        """Return one of the options, all equally likely."""
        return options[int(next(self.numbers) * len(options))]

    def some_of(self, options: Sequence[Any], count: int) -> list:
        """Return that many different options."""
        order = np.argsort([next(self.numbers) for _ in options], kind="stable")
        return [options[index] for index in order[:count]]

    def weight(self, low: float, high: float) -> float:
        """Return a weight with one decimal, from low to high."""
        return self.one_of(range(round(10 * low), round(10 * high) + 1)) / 10

    def signed(self, low: float, high: float) -> float:
        """Return a weight whose sign is drawn too."""
        return self.one_of((-1, 1)) * self.weight(low, high)


def draw_persona(
    seed: int, open_rate: float | None = None, per_quarter: int | None = None
) -> Persona:
    """Draw a Persona from a seed, with the week of one of PEOPLE. An argument that is not None is not drawn."""
    dice = Dice(seed)
    model = dice.one_of(list(PEOPLE.values()))
    drawn_rate = dice.one_of(range(10, 91)) / 100
    drawn_number = dice.one_of(range(1600, 3300))
    shift = dice.one_of(range(-40, 41))
    pace = dice.one_of(PACES)
    likings = {name.rpartition(".")[2]: dice.one_of(LIKINGS) for name in APPS}
    stops = {setting for plan in model.week for _, setting, _, _ in PLANS[plan]}
    tags = sorted({tag for name in stops for tag in _tags(SETTINGS[name]["place"])})
    context = {
        "time": {slot: dice.signed(0.2, 0.8) for slot in dice.some_of(SLOTS[1:], 3)}
        | {"early-morning": -dice.weight(0.3, 1.2)},
        "place": {tag: dice.signed(0.3, 1.0) for tag in dice.some_of(tags, 3)},
        "activity": {
            "vehicle": dice.signed(0.3, 0.8),
            "foot running": -dice.weight(0.5, 1.2),
        },
        "ringerMode": {"silent": -dice.weight(0.2, 0.6)},
        "headphonesIn": {"True": dice.signed(0.2, 0.5)},
    }
    subjects = dice.some_of(SUBJECTS, 6)
    subject_weights = {subject: dice.signed(0.3, 0.7) for subject in subjects}
    categories = dice.some_of(CATEGORIES, 2)
    notification = {
        "subject": subject_weights,
        "category": {category: dice.signed(0.2, 0.6) for category in categories},
        "priority": {"max": dice.weight(0, 0.3), "min": -dice.weight(0, 0.3)},
        "numberOfUpdates": {"high": dice.signed(0, 0.3)},
        "ongoing": {"True": dice.signed(0, 0.3)},
        "visibility": {"public": dice.signed(0, 0.2)},
    }
    moments = [*MOMENTS, *(("place", tag) for tag in tags)]
    topics = [("subject", subject) for subject in SUBJECTS]
    topics += [("category", category) for category in CATEGORIES]
    pairs = []
    for topic in dice.some_of(topics, TWO_SIDED):
        welcome, unwelcome = dice.some_of(moments, 2)
        pairs.append((*welcome, *topic, dice.weight(1.3, 2.5)))
        pairs.append((*unwelcome, *topic, -dice.weight(1.0, 2.2)))
    usual = PEOPLE["mira"]
    response = {}
    for action, medians in usual.response.items():
        response[action] = tuple(seconds * pace // 100 for seconds in medians)
    return Persona(
        seed=seed,
        kind=model.kind,
        about=f"Somebody drawn from a seed, with the week of {model.kind}.",
        week=model.week,
        week_volume=usual.week_volume,
        open_rate=drawn_rate if open_rate is None else open_rate,
        per_quarter=drawn_number if per_quarter is None else per_quarter,
        context=context,
        notification=notification,
        pairs=tuple(pairs),
        likings=likings,
        settings={},
        response=response,
        shift=shift,
    )


def _tags(places):
    """Return the tags of sets of tags."""
    return " ".join(places).split()


# ---------------------------------------------------------------- taste


def _holds(table, feature, value):
    """Return 1.0 for each row in which the feature has this value, or a place this tag, and 0.0 otherwise."""
    if feature == "place":
        return np.array([value in text.split() for text in table[feature]], float)
    return np.array([value == text for text in table[feature]], float)


def _main_effects(weights, table):
    """Return the sum of the weights that count in each row of a table."""
    total = np.zeros(len(table[next(iter(table))]))
    for feature, by_value in weights.items():
        for value, weight in by_value.items():
            total = total + weight * _holds(table, feature, value)
    return total


def log_odds(
    taste: Mapping[str, Any], contexts: Any, notifications: Any, grid: bool = False
) -> np.ndarray:
    """Compute the log-odds of opening each row of `notifications` in the same row of `contexts`.

    Args:
        contexts, notifications: DataFrames or dicts of columns.
        grid: Whether to combine every notification with every context, (contexts, notifications).

    >>> taste = {"intercept": -1.0, "context": {"place": {"TYPE_BAR": -0.5}},
    ...          "notification": {"category": {"msg": 1.0}},
    ...          "pairs": [["place", "TYPE_BAR", "category", "msg", 2.0]]}
    >>> bar = {"place": ["TYPE_BAR TYPE_ATM", "unknown"]}
    >>> log_odds(taste, bar, {"category": ["msg", "msg"]})
    array([1.5, 0. ])
    >>> open_probability(_)
    array([0.817574, 0.5     ])
    """
    # In a grid contexts go down and notifications across.
    each = (slice(None), None) if grid else slice(None)
    total = taste["intercept"] + _main_effects(taste["context"], contexts)[each]
    total = total + _main_effects(taste["notification"], notifications)
    for feature, value, other, word, weight in taste["pairs"]:
        in_context = weight * _holds(contexts, feature, value)[each]
        total = total + in_context * _holds(notifications, other, word)
    return np.round(total, 3)  # weights have three decimals, and so has their sum


def open_probability(log_odds: Any) -> np.ndarray:
    """1 / (1 + exp(-log-odds)) with six decimals, so that draws do not depend on a machine's `exp`."""
    return np.round(1 / (1 + np.exp(-np.asarray(log_odds, dtype=float))), 6)


def _fit_intercept(taste, rows, open_rate):
    """Return the intercept, three decimals, at which the mean probability of these rows is `open_rate`."""
    others = log_odds({**taste, "intercept": 0.0}, rows, rows)

    def millionths(intercept):
        probability = open_probability(others + intercept / 1000)
        return np.rint(1e6 * probability).astype(np.int64).sum()

    thousandths = range(-15_000, 15_000)
    wanted = open_rate * 1e6 * len(others)
    return (bisect_left(thousandths, wanted, key=millionths) - 15_000) / 1000


def headroom(truth: Mapping[str, Any], engagements: Any) -> dict[str, float]:
    """Mean probabilities of opening over the contexts of a table of engagements.

    Returns:
        A dict:

        - arrived: of the notifications that arrived
        - any_row: of a random row of the catalogue, every other feature at its most common value
        - best_row: of the best row of the catalogue for all contexts
        - best_each: of the best row for each context; no agent can do better
    """
    rows = dict(zip(CATALOGUE_COLUMNS, zip(*CATALOGUE)))
    usual = ("none", "default", "False", "private")
    features = ("numberOfUpdates", "priority", "ongoing", "visibility")
    for feature, value in zip(features, usual):
        rows[feature] = (value,) * len(CATALOGUE)
    grid = open_probability(log_odds(truth, engagements, rows, grid=True))
    arrived = open_probability(log_odds(truth, engagements, engagements))
    means = {
        "arrived": arrived.mean(),
        "any_row": grid.mean(),
        "best_row": grid.mean(axis=0).max(),
        "best_each": grid.max(axis=1).mean(),
    }
    return {name: round(float(mean), 3) for name, mean in means.items()}


# ---------------------------------------------------------------- a user


def engage(
    person: Persona, seed: int, days: int = 2 * QUARTER
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Return what a person's phone receives, and what the person does, in some days from a Monday.

    Args:
        seed: Seed of days, arrivals and actions.

    Returns:
        Columns (rows,): context, notification and `removal.<feature>` as texts, `opened` (bool), and `posted`,
        `removed`, `response`, `seen` in whole microseconds, dates since the first midnight. And the taste, with the
        intercept that gives these rows the person's open rate.
    """
    phone = live(person, seed, days)
    posted, notifications = arrivals(person, seed, days)
    minutes = posted // MINUTE
    rows = {name: values[minutes] for name, values in phone.items()} | notifications
    taste = {
        "intercept": 0.0,
        "context": person.context,
        "notification": person.notification,
        "pairs": [list(pair) for pair in person.pairs],
    }
    taste["intercept"] = _fit_intercept(taste, rows, person.open_rate)
    chance = open_probability(log_odds(taste, rows, rows))
    opened = uniforms(seed, "actions", len(posted)) < chance
    slot = slot_number(minutes)
    medians = [
        np.array(person.response[action])[slot] for action in ("opened", "dismissed")
    ]
    median = np.where(opened, *medians)
    times = TABLES["response"]
    draws = uniforms(seed, "responses", (2, len(posted)))
    response = SECOND * median * quantile(times["levels"], times["multiples"], draws[0])
    response = np.rint(response).astype(np.int64)
    low, high = times["seen_share"]
    removed = posted + response
    for name, values in phone.items():
        rows[f"removal.{name}"] = values[removed // MINUTE]
    rows["opened"] = opened
    rows["posted"] = posted
    rows["removed"] = removed
    rows["response"] = response
    seen = np.rint(response * (low + (high - low) * draws[1]))
    rows["seen"] = seen.astype(np.int64)
    return rows, taste


def _build_user(name, person):
    """Return the SyntheticUser of a Persona."""
    rows, taste = engage(person, person.seed)
    opened = rows["opened"]
    posted = rows["posted"]
    in_test = posted >= QUARTER * DAY * MINUTE
    rates = {"history": opened[~in_test].mean(), "test": opened[in_test].mean()}
    truth = {
        "name": name,
        "seed": person.seed,
        "schema": SCHEMA,
        "about": person.about,
        **taste,
        "open_rate": {period: round(float(rate), 4) for period, rate in rates.items()},
        "response": {
            "unit": "seconds",
            "median": {
                action: dict(zip(SLOTS, seconds))
                for action, seconds in person.response.items()
            },
            **TABLES["response"],
        },
    }
    draws = uniforms(person.seed, "contacts", (2, len(posted)))
    is_contact = (rows["postingApp"] == "org.pushlab.chat") & (draws[0] < 0.3)
    columns = {
        **rows,
        "lightIntensityPosted": rows["lightIntensity"],
        "lightIntensityRemoved": rows["removal.lightIntensity"],
        "posted": _dates(posted),
        "removed": _dates(rows["removed"]),
        "action": _texts(opened),
        "response_time": _seconds(rows["response"]),
        "seen_time": _seconds(rows["seen"]),
        "decision_time": _seconds(rows["response"] - rows["seen"]),
        "removal.contactSignificantOverall": _texts(is_contact),
        "removal.contactSignificantContext": _texts(is_contact & (draws[1] < 0.5)),
        "removal.timeAppLastUsed": _last_used(rows),
    }
    return SyntheticUser(name, _lay_tables(columns, in_test), truth)


def _last_used(rows):
    """Return how long before each posting the user opened a notification of the same app, in the data's words."""

    arrived = pd.DataFrame({"app": rows["postingApp"], "posted": rows["posted"]})
    uses = pd.DataFrame({"app": rows["postingApp"], "used": rows["removed"]})
    uses = uses[rows["opened"]].sort_values("used")
    last = pd.merge_asof(arrived, uses, left_on="posted", right_on="used", by="app")
    bounds = np.array(TABLES["last_used"]["seconds"]) * SECOND
    # Never (NaN) comes after all bounds: long ago.
    word = np.searchsorted(bounds, rows["posted"] - last["used"], side="right")
    return np.array(TABLES["last_used"]["words"], dtype=object)[word]


def _texts(values):
    """Return values as an object array of texts."""
    return values.astype(str).astype(object)


def _seconds(microseconds):
    """Return seconds with six decimals, such as "1.500000"."""
    return np.char.mod("%.6f", microseconds / SECOND).astype(object)


def _dates(microseconds):
    """Return dates such as "2019-02-18 00:00:00.000000" from microseconds since the first midnight."""
    dates = np.datetime64(FIRST_DAY, "us") + microseconds.astype("timedelta64[us]")
    return np.char.replace(dates.astype(str), "T", " ").astype(object)


def _lay_tables(columns, in_test):
    """Return the challenge's tables, DataFrames of strings; ids count from 0 in each period.

    A column that the schema leaves out keeps its own name, at removal with `removal.` before it.
    """

    tables = {}
    for period, files in challenge_schema()["layouts"][0]["periods"].items():
        here = in_test == (period == "test")
        part = {name: values[here] for name, values in columns.items()}
        part["id"] = _texts(np.arange(here.sum()))
        for table in files:
            prefix = "removal." if "removal" in table["file"] else ""
            content = {}
            for column, name in table["columns"].items():
                if column:
                    content[column] = part[name or prefix + column]
            tables[table["file"]] = pd.DataFrame(content, dtype=object)
    return tables


# ---------------------------------------------------------------- files


def write_all(folder: Path | str) -> list[Path]:
    """Write shipped users, catalogue, schema and checksums, always the same bytes; return the paths."""
    folder = Path(folder)
    paths = write_catalogue(folder)
    for name, person in PEOPLE.items():
        paths += write_user(_build_user(name, person), folder / name, overwrite=True)
    sums = {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        sums[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    lines = "".join(f"{sums[name]}  {name}\n" for name in sorted(sums))
    return [*paths, write_text(folder / "SHA256SUMS", lines)]


def write_user(
    user: SyntheticUser, folder: Path | str, overwrite: bool = False
) -> list[Path]:
    """Write a SyntheticUser into a folder: train/, test/ and truth.json; return the paths.

    Raises:
        FileExistsError: The folder has files, unless `overwrite` is true. They are then replaced one by one.
    """
    folder = Path(folder)
    texts = _texts_of(user)
    if overwrite:
        return [write_text(folder / name, text) for name, text in texts.items()]
    return _write_new(folder, texts)


def _texts_of(user):
    """Return {file name: text} of a user: the tables and the truth."""
    texts = {
        name: table.to_csv(lineterminator="\n") for name, table in user.tables.items()
    }
    return {**texts, "truth.json": json_text(user.truth)}


def _write_new(folder, texts, is_private=False):
    """Write {file name: text} into a new folder, all of them or none; return the paths."""
    with new_folder(folder) as unfinished:
        if is_private:
            unfinished.chmod(0o700)
        for name, text in texts.items():
            write_text(unfinished / name, text)
    return [folder / name for name in texts]


def write_private_user(user: SyntheticUser, folder: Path | str) -> list[Path]:
    """Write a SyntheticUser into a folder of users, and return the paths.

    The user's own folder can't be read by others. Catalogue and schema are beside it, and the files for students below
    handout/ (`write_handout`). The own folder is written last, so that there is no truth without a hand-out.

    Raises:
        FileExistsError: The user is there already, or another catalogue or schema. Nothing is written then.
    """
    folder = Path(folder)
    demand(
        user.name != HANDOUT,
        f"a user called {user.name} would lie where the hand-outs do; take another name",
    )
    _demand_room(folder, user.name)
    beside = [*write_handout(user, folder / HANDOUT), *write_catalogue(folder)]
    return [*_write_new(folder / user.name, _texts_of(user), is_private=True), *beside]


def write_handout(user: SyntheticUser, folder: Path | str) -> list[Path]:
    """Write the files of a SyntheticUser for students into a folder; return the paths.

    <name>/train/, <name>/contexts.csv (the test period's contexts: no notifications, no actions, no dates), and
    catalogue.csv and schema.json, which several users can share. `load_user` and `Challenge.load` read it.

    Raises:
        FileExistsError: As in `write_private_user`; nothing is written then.
    """
    folder = Path(folder)
    _demand_room(folder, user.name)
    schema = challenge_schema()
    [table] = schema["layouts"][0]["periods"]["test"]
    contexts = user.tables[table["file"]].rename(columns=table["columns"])
    contexts = contexts[[feature["name"] for feature in schema["context"]]]
    texts = _texts_of(user)
    texts = {name: text for name, text in texts.items() if name.startswith("train/")}
    texts[CONTEXTS] = contexts.to_csv(index_label="id", lineterminator="\n")
    return [*_write_new(folder / user.name, texts), *write_catalogue(folder)]


def _demand_room(folder, name):
    """Raise FileExistsError if a user of that name, or another catalogue or schema, is in a folder."""
    own = folder / name
    if own.is_file() or (own.is_dir() and any(own.iterdir())):
        raise FileExistsError(f"{own} is already there and not empty; name another")
    for shared, text in shared_texts().items():
        path = folder / shared
        if path.exists() and path.read_bytes() != text.encode("utf-8"):
            raise FileExistsError(
                f"{path} is there already and is not what would be written; give another folder"
            )


def write_catalogue(folder: Path | str) -> list[Path]:
    """Write catalogue.csv and schema.json (the challenge's, with the catalogue's values); return the paths."""
    return [
        write_text(Path(folder) / name, text) for name, text in shared_texts().items()
    ]


def shared_texts() -> dict[str, str]:
    """Return {file name: text} of the files that all synthetic users share; the schema has the catalogue's values."""
    schema = challenge_schema()
    schema["name"] = "pushlab-users"
    schema["about"] = (
        "The synthetic users of pushlab in the layout of EvalUMAP 2019, with the values of their catalogue."
    )
    values = dict(zip(CATALOGUE_COLUMNS, zip(*CATALOGUE)))
    for feature in schema["notification"]:
        if feature["name"] in values:
            feature["values"] = sorted(set(values[feature["name"]]))
    rows = "".join(",".join(row) + "\n" for row in (CATALOGUE_COLUMNS, *CATALOGUE))
    return {"catalogue.csv": rows, "schema.json": json_text(schema)}


def challenge_schema() -> dict[str, Any]:
    """Return the schema file of the challenge."""
    return read_json(data_dir() / "schemas" / f"{SCHEMA}.json")
