"""Synthetic users: their personas and actions, and their files in the layout of the EvalUMAP 2019 challenge.

`pushlab.users.phone` simulates days and arrivals. This module computes the log-odds of opening each notification,

    log-odds = intercept + weights of the context + weights of the notification + weights of pairs of the two

and draws the actions. A taste is the content of a `truth.json`: `intercept`; `context` and `notification`, both
{feature: {value: weight}}; and `pairs`, a list of [context feature, value, notification feature, value, weight]. A
weight of the feature `place` belongs to a tag. It counts if the context has this tag. Other values have weight 0.

>>> user = make_user(seed=7, name="kim", open_rate=0.4, per_quarter=300)
>>> sorted(user.tables)
['test/notifications.csv', 'train/context_on_posting.csv', 'train/context_on_removal.csv', 'train/notifications.csv']
>>> user.truth["pairs"][0]      # on Sundays 1.9 is added to the log-odds of arts
['day', '6', 'subject', 'arts & entertainment', 1.9]
"""

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.reading import CONTEXTS
from pushlab.users.phone import (
    APPS,
    CATALOGUE,
    CATALOGUE_COLUMNS,
    FIRST_DAY,
    MINUTE,
    MINUTES_PER_DAY,
    PEOPLE,
    PERIOD_DAYS,
    PHONE,
    PLANS,
    SETTINGS,
    SLOTS,
    Persona,
    simulate_arrivals,
    simulate_contexts,
    slot_number,
)
from pushlab.utils.arguments import require, validate_integer, validate_number
from pushlab.utils.files import data_dir, json_text, new_folder, read_json, write_text
from pushlab.utils.seeds import draw_uniforms, quantile

MICROSECONDS_PER_SECOND = 1_000_000
SCHEMA = "evalumap2019"
HANDOUT = "handout"  # the folder for students in a folder of private users


@dataclass(frozen=True)
class SyntheticUser:
    """A user made from a seed.

    Attributes:
        name: Name of the user and of the folder.
        tables: {"train/notifications.csv": DataFrame of strings, …}, in the layout of the EvalUMAP 2019 challenge. The
            index of a table is its first, unnamed column.
        truth: The persona and the weights that determine the actions; see data/push/README.md.
    """

    name: str
    tables: dict[str, Any]
    truth: dict[str, Any]


def make_user(
    seed: int, name: str, open_rate: float | None = None, per_quarter: int | None = None
) -> SyntheticUser:
    """Make a user whose week, apps and taste are drawn from a seed.

    For a fair evaluation, keep the seed secret.

    Args:
        seed: An integer, 0 or more.
        name: Lower-case letters, digits, - and _.
        open_rate: Mean probability of an open, 0.02 to 0.98. If None, it is drawn from the seed.
        per_quarter: Approximate number of notifications in 84 days, 50 to 20,000. If None, it is drawn from the seed.

    Raises:
        ValueError: An argument is invalid.
    """
    seed = validate_integer("seed", seed, 0)
    require(
        re.fullmatch(r"[a-z0-9_-]+", str(name)),
        f"name must be lower-case letters, digits, - and _; got {name!r}",
    )
    if open_rate is not None:
        validate_number("open_rate", open_rate, 0.02, 0.98)
    if per_quarter is not None:
        validate_number("per_quarter", per_quarter, 50, 20_000)
    return build_user(str(name), draw_persona(seed, open_rate, per_quarter))


# ---------------------------------------------------------------- a person from a seed

LIKINGS = (0, 4, 7, 10, 10, 14, 18, 22)  # weights of an app; 0: not installed
PACES = (60, 100, 180)  # percent of mira's response times
SUBJECTS = sorted({subject for _, _, subject in CATALOGUE} - {"unknown"})
CATEGORIES = sorted({category for _, category, _ in CATALOGUE} - {"call", "unknown"})
N_PAIRED_TOPICS = 11  # topics that are welcome in one context and unwelcome in another
SITUATIONS = (
    *(("time", slot) for slot in SLOTS[1:]),
    ("activity", "foot walking"),
    ("activity", "vehicle"),
    ("headphonesIn", "True"),
    ("day", "5"),
    ("day", "6"),
)


class PersonaRandom:
    """Random choices from one stream of uniform numbers."""

    def __init__(self, seed: int):
        self._uniforms = iter(draw_uniforms(seed, "persona", 1000))

    def choose(self, options: Sequence[Any]) -> Any:
        """Return one of the options; all are equally likely."""
        return options[int(next(self._uniforms) * len(options))]

    def sample(self, options: Sequence[Any], count: int) -> list:
        """Return `count` different options."""
        order = np.argsort([next(self._uniforms) for _ in options], kind="stable")
        return [options[index] for index in order[:count]]

    def weight(self, low: float, high: float) -> float:
        """Return a weight from low to high, with one decimal."""
        tenths = range(round(10 * low), round(10 * high) + 1)
        return self.choose(tenths) / 10

    def signed_weight(self, low: float, high: float) -> float:
        """Return a weight from low to high, with a random sign."""
        return self.choose((-1, 1)) * self.weight(low, high)


def draw_persona(
    seed: int, open_rate: float | None = None, per_quarter: int | None = None
) -> Persona:
    """Draw a Persona from a seed, with the week of one of PEOPLE.

    Args:
        open_rate, per_quarter: As in `make_user`.
    """
    rng = PersonaRandom(seed)
    model = rng.choose(list(PEOPLE.values()))
    random_rate = rng.choose(range(10, 91)) / 100
    random_count = rng.choose(range(1600, 3300))
    shift = rng.choose(range(-40, 41))
    pace = rng.choose(PACES)
    likings = {name.rpartition(".")[2]: rng.choose(LIKINGS) for name in APPS}
    tags = _place_tags(model)
    slots = rng.sample(SLOTS[1:], 3)
    slot_weights = {slot: rng.signed_weight(0.2, 0.8) for slot in slots}
    slot_weights["early-morning"] = -rng.weight(0.3, 1.2)
    places = rng.sample(tags, 3)
    context = {
        "time": slot_weights,
        "place": {tag: rng.signed_weight(0.3, 1.0) for tag in places},
        "activity": {
            "vehicle": rng.signed_weight(0.3, 0.8),
            "foot running": -rng.weight(0.5, 1.2),
        },
        "ringerMode": {"silent": -rng.weight(0.2, 0.6)},
        "headphonesIn": {"True": rng.signed_weight(0.2, 0.5)},
    }
    subjects = rng.sample(SUBJECTS, 6)
    subject_weights = {subject: rng.signed_weight(0.3, 0.7) for subject in subjects}
    categories = rng.sample(CATEGORIES, 2)
    notification = {
        "subject": subject_weights,
        "category": {category: rng.signed_weight(0.2, 0.6) for category in categories},
        "priority": {
            "max": rng.weight(0, 0.3),
            "min": -rng.weight(0, 0.3),
        },
        "numberOfUpdates": {"high": rng.signed_weight(0, 0.3)},
        "ongoing": {"True": rng.signed_weight(0, 0.3)},
        "visibility": {"public": rng.signed_weight(0, 0.2)},
    }
    situations = [*SITUATIONS, *(("place", tag) for tag in tags)]
    topics = [("subject", subject) for subject in SUBJECTS]
    topics += [("category", category) for category in CATEGORIES]
    pairs = []
    for topic in rng.sample(topics, N_PAIRED_TOPICS):
        welcome, unwelcome = rng.sample(situations, 2)
        pairs.append((*welcome, *topic, rng.weight(1.3, 2.5)))
        pairs.append((*unwelcome, *topic, -rng.weight(1.0, 2.2)))
    mira = PEOPLE["mira"]
    response = {
        action: tuple(seconds * pace // 100 for seconds in medians)
        for action, medians in mira.response.items()
    }
    return Persona(
        seed=seed,
        kind=model.kind,
        about=f"Somebody drawn from a seed, with the week of {model.kind}.",
        week=model.week,
        week_volume=mira.week_volume,
        open_rate=random_rate if open_rate is None else open_rate,
        per_quarter=random_count if per_quarter is None else per_quarter,
        context=context,
        notification=notification,
        pairs=tuple(pairs),
        likings=likings,
        settings={},
        response=response,
        shift=shift,
    )


def _place_tags(person):
    """Return the tags of all places in a person's week, sorted."""
    tags = set()
    for plan in person.week:
        for _, setting, _, _ in PLANS[plan]:
            tags.update(" ".join(SETTINGS[setting]["place"]).split())
    return sorted(tags)


# ---------------------------------------------------------------- taste


def _has_value(table, feature, value):
    """Return 1.0 for each row in which the feature has this value, or the place this tag; otherwise 0.0."""
    if feature == "place":
        return np.array([value in text.split() for text in table[feature]], float)
    return np.array([value == text for text in table[feature]], float)


def _main_effects(weights, table):
    """Return the sum of the weights of each row's values, for weights {feature: {value: weight}}."""
    total = np.zeros(len(table[next(iter(table))]))
    for feature, by_value in weights.items():
        for value, weight in by_value.items():
            total = total + weight * _has_value(table, feature, value)
    return total


def log_odds(
    taste: Mapping[str, Any], contexts: Any, notifications: Any, grid: bool = False
) -> np.ndarray:
    """Compute the log-odds of opening each row of `notifications` in the same row of `contexts`.

    Args:
        contexts, notifications: DataFrames or dicts of columns.
        grid: Whether to combine every context with every notification. The shape is then (contexts, notifications).

    >>> taste = {"intercept": -1.0, "context": {"place": {"TYPE_BAR": -0.5}},
    ...          "notification": {"category": {"msg": 1.0}},
    ...          "pairs": [["place", "TYPE_BAR", "category", "msg", 2.0]]}
    >>> bar = {"place": ["TYPE_BAR TYPE_ATM", "unknown"]}
    >>> log_odds(taste, bar, {"category": ["msg", "msg"]})
    array([1.5, 0. ])
    >>> open_probability(_)
    array([0.817574, 0.5     ])
    """
    contexts_axis = (slice(None), None) if grid else slice(None)
    effects = _main_effects(taste["context"], contexts)
    total = taste["intercept"] + effects[contexts_axis]
    total = total + _main_effects(taste["notification"], notifications)
    for feature, value, other_feature, other_value, weight in taste["pairs"]:
        effects = weight * _has_value(contexts, feature, value)
        is_paired = _has_value(notifications, other_feature, other_value)
        total = total + effects[contexts_axis] * is_paired
    return np.round(total, 3)  # weights have three decimals, and so does their sum


def open_probability(log_odds: Any) -> np.ndarray:
    """Return 1 / (1 + exp(-log-odds)), rounded to six decimals.

    The rounding hides differences of `exp` between machines, which would change draws.
    """
    log_odds = np.asarray(log_odds, dtype=float)
    probability = 1 / (1 + np.exp(-log_odds))
    return np.round(probability, 6)


def _fit_intercept(taste, rows, open_rate):
    """Return the intercept, with three decimals, at which the mean probability of these rows is `open_rate`."""
    effects = log_odds({**taste, "intercept": 0.0}, rows, rows)

    def expected_opens(thousandths):
        """Sum of the probabilities, in millionths."""
        probability = open_probability(effects + thousandths / 1000)
        return np.rint(1e6 * probability).astype(np.int64).sum()

    intercepts = range(-15_000, 15_000)  # in thousandths
    target = open_rate * 1e6 * len(effects)
    return (bisect_left(intercepts, target, key=expected_opens) - 15_000) / 1000


def headroom(truth: Mapping[str, Any], engagements: Any) -> dict[str, float]:
    """Return mean probabilities of opening over the contexts of a table of engagements.

    Returns:
        A dict:

        - arrived: for the notifications that arrived
        - any_row: for a random row of the catalogue, with the other features at their most common values
        - best_row: for the row of the catalogue that is best on average
        - best_each: for the best row in each context, the upper bound for agents
    """
    rows = dict(zip(CATALOGUE_COLUMNS, zip(*CATALOGUE)))
    most_common = {
        "numberOfUpdates": "none",
        "priority": "default",
        "ongoing": "False",
        "visibility": "private",
    }
    for feature, value in most_common.items():
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


def simulate_engagements(
    person: Persona, seed: int, days: int = 2 * PERIOD_DAYS
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Simulate the notifications and actions of a person over a number of days, starting on a Monday.

    Args:
        seed: Seed of days, arrivals and actions.

    Returns:
        A tuple:

        - Columns (rows,): context, notification and `removal.<feature>` as texts; `opened` (bool); and `posted`,
          `removed`, `response` and `seen`, int64 microseconds. `posted` and `removed` count from the first midnight.
        - The taste, with the intercept at which these rows have the person's open rate.
    """
    context = simulate_contexts(person, seed, days)
    posted, notifications = simulate_arrivals(person, seed, days)
    minutes = posted // MINUTE
    rows = {name: values[minutes] for name, values in context.items()} | notifications
    taste = {
        "intercept": 0.0,
        "context": person.context,
        "notification": person.notification,
        "pairs": [list(pair) for pair in person.pairs],
    }
    taste["intercept"] = _fit_intercept(taste, rows, person.open_rate)
    probability = open_probability(log_odds(taste, rows, rows))
    opened = draw_uniforms(seed, "actions", len(posted)) < probability
    slot = slot_number(minutes)
    medians = [
        np.array(person.response[action])[slot] for action in ("opened", "dismissed")
    ]
    median = np.where(opened, *medians)
    table = PHONE["response"]
    draws = draw_uniforms(seed, "responses", (2, len(posted)))
    multiple = quantile(table["levels"], table["multiples"], draws[0])
    response = np.rint(MICROSECONDS_PER_SECOND * median * multiple).astype(np.int64)
    low, high = table["seen_share"]
    removed = posted + response
    for name, values in context.items():
        rows[f"removal.{name}"] = values[removed // MINUTE]
    rows["opened"] = opened
    rows["posted"] = posted
    rows["removed"] = removed
    rows["response"] = response
    seen = np.rint(response * (low + (high - low) * draws[1]))
    rows["seen"] = seen.astype(np.int64)
    return rows, taste


def build_user(name: str, person: Persona) -> SyntheticUser:
    """Return the SyntheticUser of a Persona."""
    rows, taste = simulate_engagements(person, person.seed)
    opened = rows["opened"]
    posted = rows["posted"]
    in_test = posted >= PERIOD_DAYS * MINUTES_PER_DAY * MINUTE
    open_rate = {
        "history": round(float(opened[~in_test].mean()), 4),
        "test": round(float(opened[in_test].mean()), 4),
    }
    medians = {
        action: dict(zip(SLOTS, seconds)) for action, seconds in person.response.items()
    }
    truth = {
        "name": name,
        "seed": person.seed,
        "schema": SCHEMA,
        "about": person.about,
        **taste,
        "open_rate": open_rate,
        "response": {"unit": "seconds", "median": medians, **PHONE["response"]},
    }
    draws = draw_uniforms(person.seed, "contacts", (2, len(posted)))
    is_contact = (rows["postingApp"] == "org.pushlab.chat") & (draws[0] < 0.3)
    columns = {
        **rows,
        "lightIntensityPosted": rows["lightIntensity"],
        "lightIntensityRemoved": rows["removal.lightIntensity"],
        "posted": _format_dates(posted),
        "removed": _format_dates(rows["removed"]),
        "action": _to_text(opened),
        "response_time": _format_seconds(rows["response"]),
        "seen_time": _format_seconds(rows["seen"]),
        "decision_time": _format_seconds(rows["response"] - rows["seen"]),
        "removal.contactSignificantOverall": _to_text(is_contact),
        "removal.contactSignificantContext": _to_text(is_contact & (draws[1] < 0.5)),
        "removal.timeAppLastUsed": _time_since_last_use(rows),
    }
    return SyntheticUser(name, _challenge_tables(columns, in_test), truth)


def _time_since_last_use(rows):
    """Return labels of the time since the user last opened a notification of the same app, (rows,)."""
    arrivals = pd.DataFrame({"app": rows["postingApp"], "posted": rows["posted"]})
    uses = pd.DataFrame({"app": rows["postingApp"], "used": rows["removed"]})
    uses = uses[rows["opened"]].sort_values("used")
    last = pd.merge_asof(arrivals, uses, left_on="posted", right_on="used", by="app")
    bounds = np.array(PHONE["last_used"]["seconds"]) * MICROSECONDS_PER_SECOND
    # NaN, for an app that was never used, is sorted after all bounds.
    label = np.searchsorted(bounds, rows["posted"] - last["used"], side="right")
    return np.array(PHONE["last_used"]["words"], dtype=object)[label]


def _to_text(values):
    """Return values as an object array of strings."""
    return values.astype(str).astype(object)


def _format_seconds(microseconds):
    """Return seconds with six decimals, such as "1.500000"."""
    return np.char.mod("%.6f", microseconds / MICROSECONDS_PER_SECOND).astype(object)


def _format_dates(microseconds):
    """Return dates such as "2019-02-18 00:00:00.000000" from microseconds since the first midnight."""
    dates = np.datetime64(FIRST_DAY, "us") + microseconds.astype("timedelta64[us]")
    return np.char.replace(dates.astype(str), "T", " ").astype(object)


def _challenge_tables(columns, in_test):
    """Return the tables of the challenge, {file name: DataFrame of strings}.

    Ids count from 0 in each period. Columns that the schema doesn't use have the same name in `columns`, with the
    prefix `removal.` for the context at removal.
    """
    tables = {}
    for period, files in challenge_schema()["layouts"][0]["periods"].items():
        rows = in_test == (period == "test")
        selected = {name: values[rows] for name, values in columns.items()}
        selected["id"] = _to_text(np.arange(rows.sum()))
        for table in files:
            prefix = "removal." if "removal" in table["file"] else ""
            content = {}
            for column, name in table["columns"].items():
                if column:
                    content[column] = selected[name or prefix + column]
            tables[table["file"]] = pd.DataFrame(content, dtype=object)
    return tables


# ---------------------------------------------------------------- files


def write_user(
    user: SyntheticUser, folder: Path | str, overwrite: bool = False
) -> list[Path]:
    """Write a SyntheticUser into a folder: train/, test/ and truth.json; return the paths.

    Args:
        overwrite: Replace files of the folder, one by one.

    Raises:
        FileExistsError: The folder has files and `overwrite` is false.
    """
    folder = Path(folder)
    files = _user_files(user)
    if overwrite:
        return [write_text(folder / name, text) for name, text in files.items()]
    return _write_new_folder(folder, files)


def _user_files(user):
    """Return {file name: text} of a user's tables and truth."""
    files = {
        name: table.to_csv(lineterminator="\n") for name, table in user.tables.items()
    }
    return {**files, "truth.json": json_text(user.truth)}


def _write_new_folder(folder, files, is_private=False):
    """Write all of {file name: text} into a new folder, or nothing if one fails; return the paths."""
    with new_folder(folder) as unfinished:
        if is_private:
            unfinished.chmod(0o700)
        for name, text in files.items():
            write_text(unfinished / name, text)
    return [folder / name for name in files]


def write_private_user(user: SyntheticUser, folder: Path | str) -> list[Path]:
    """Write a SyntheticUser into a folder of users; return the paths.

    Only the owner can read the user's own folder. The catalogue and the schema are beside it, and the files for
    students in handout/ (`write_handout`). The user's folder is written last, so a truth never exists without its
    hand-out.

    Raises:
        FileExistsError: The folder has a user of this name, or another catalogue or schema. Nothing is written then.
    """
    folder = Path(folder)
    require(
        user.name != HANDOUT,
        f"name must not be {user.name!r}, the name of the folder of hand-outs",
    )
    _require_no_conflict(folder, user.name)
    shared = [*write_handout(user, folder / HANDOUT), *write_catalogue(folder)]
    own = _write_new_folder(folder / user.name, _user_files(user), is_private=True)
    return [*own, *shared]


def write_handout(user: SyntheticUser, folder: Path | str) -> list[Path]:
    """Write the files of a SyntheticUser for students into a folder; return the paths.

    These are <name>/train/, <name>/contexts.csv, catalogue.csv and schema.json. The contexts are from the test
    period, without notifications, actions and dates. Several users can share the last two files. `load_user` and
    `Challenge.load` read the folder.

    Raises:
        FileExistsError: As in `write_private_user`; nothing is written then.
    """
    folder = Path(folder)
    _require_no_conflict(folder, user.name)
    schema = challenge_schema()
    [table] = schema["layouts"][0]["periods"]["test"]
    contexts = user.tables[table["file"]].rename(columns=table["columns"])
    contexts = contexts[[feature["name"] for feature in schema["context"]]]
    files = _user_files(user)
    files = {name: text for name, text in files.items() if name.startswith("train/")}
    files[CONTEXTS] = contexts.to_csv(index_label="id", lineterminator="\n")
    return [*_write_new_folder(folder / user.name, files), *write_catalogue(folder)]


def _require_no_conflict(folder, name):
    """Raise FileExistsError if a folder has a user of this name, or another catalogue or schema."""
    own = folder / name
    has_files = own.is_dir() and any(own.iterdir())
    if own.is_file() or has_files:
        raise FileExistsError(f"{own} exists already; choose another name")
    for shared, text in shared_files().items():
        path = folder / shared
        if path.exists() and path.read_bytes() != text.encode("utf-8"):
            raise FileExistsError(
                f"{path} exists with other content; choose another folder"
            )


def write_catalogue(folder: Path | str) -> list[Path]:
    """Write catalogue.csv and schema.json into a folder; return the paths."""
    return [
        write_text(Path(folder) / name, text) for name, text in shared_files().items()
    ]


def shared_files() -> dict[str, str]:
    """Return {file name: text} of catalogue.csv and schema.json, which all synthetic users share.

    The schema is the challenge's, with the values of the catalogue.
    """
    schema = challenge_schema()
    schema["name"] = "pushlab-users"
    schema["about"] = (
        "The synthetic users of pushlab in the layout of EvalUMAP 2019, with the values of their catalogue."
    )
    values = dict(zip(CATALOGUE_COLUMNS, zip(*CATALOGUE)))
    for feature in schema["notification"]:
        if feature["name"] in values:
            feature["values"] = sorted(set(values[feature["name"]]))
    table = (CATALOGUE_COLUMNS, *CATALOGUE)
    rows = "".join(",".join(row) + "\n" for row in table)
    return {"catalogue.csv": rows, "schema.json": json_text(schema)}


def challenge_schema() -> dict[str, Any]:
    """Return the content of the challenge's schema file."""
    return read_json(data_dir() / "schemas" / f"{SCHEMA}.json")
