"""One synthetic user: days lived, notifications arrived, actions taken, laid out as the tables of the challenge.

And the files they are written to: users, the catalogue, the schema and the checksums.
"""

import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pushlab.datasets.draws import quantile, uniforms
from pushlab.datasets.reading import CONTEXTS
from pushlab.ground.arguments import demand, one_of
from pushlab.ground.files import data_dir, json_text, new_folder, write_text
from pushlab.users.synthesis.arrivals import (
    APPS,
    CATALOGUE,
    CATALOGUE_COLUMNS,
    MINUTE,
    arrivals,
)
from pushlab.users.synthesis.day import (
    DAY,
    SETTINGS,
    SLOTS,
    Timeline,
    live,
    slot_number,
)
from pushlab.users.synthesis.personas import Persona
from pushlab.users.synthesis.taste import fit_intercept, log_odds, open_probability

FIRST_DAY = "2019-02-18"  # a Monday
QUARTER = 84  # days of history, and days of test
SPARE = 2  # days after the test in which its last notifications are removed
SECOND = 1_000_000  # microseconds
SCHEMA = "evalumap2019"
HANDOUT = "handout"  # the folder, in one of private users, of what students get

# Response times as multiples of their median: quantiles of a log-normal distribution, sigma 1.1, with its tail cut.
LEVELS = (0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.98, 1)
MULTIPLES = (
    0.06,
    0.104,
    0.164,
    0.244,
    0.396,
    0.562,
    0.757,
    1,
    1.321,
    1.78,
    2.524,
    4.095,
    6.107,
    9.58,
    17,
)
SEEN_SHARE = (
    0.05,
    0.5,
)  # the part of the response time that passes before the notification is seen, uniform

LAST_USED = (  # seconds since an app was last opened, below which the words apply
    (60, "immediate"),
    (600, "few mins"),
    (1800, "within half hour"),
    (3600, "within hour"),
    (6 * 3600, "few hours"),
    (24 * 3600, "within 24 hours"),
    (7 * 24 * 3600, "within last week"),
    (np.inf, "over a week ago"),
)


@dataclass(frozen=True)
class SyntheticUser:
    """A user made up from a seed.

    name    a word, the name of the folder
    tables  {"train/notifications.csv": DataFrame of strings, …}, the layout of the EvalUMAP 2019 challenge; the index
            of a table is its first, nameless column
    truth   dict: who this is and what decides whether a notification is opened; see data/push/README.md
    """

    name: str
    tables: dict[str, Any]
    truth: dict[str, Any]

    def engagements(self, period: str) -> Any:
        """DataFrame of one period, "history" or "test": the features by the schema's names, and `action`."""
        import pandas as pd

        one_of("period", period, ("history", "test"))
        tables = [
            self.tables[file].rename(columns=names)
            for file, names in columns_of_tables()[period].items()
        ]
        joined, schema = pd.concat(tables, axis=1), challenge_schema()
        names = [
            feature["name"]
            for half in ("notification", "context")
            for feature in schema[half]
        ]
        return joined.loc[:, ~joined.columns.duplicated()][[*names, "action"]]


def challenge_schema() -> dict[str, Any]:
    """The schema file of the challenge, out of JSON."""
    return json.loads(
        (data_dir() / "schemas" / f"{SCHEMA}.json").read_text(encoding="utf-8")
    )


@cache
def columns_of_tables() -> dict[str, dict[str, dict[str, str]]]:
    """{period: {file: {column: our name}}} of the challenge's tables, in their order.

    A column that the schema leaves out keeps its own name, at removal with `removal.` before it.
    """

    def ours(file, column, name):
        return name or f"{'removal.' if 'removal' in file else ''}{column}"

    return {
        period: {
            table["file"]: {
                column: ours(table["file"], column, name)
                for column, name in table["columns"].items()
                if column
            }
            for table in tables
        }
        for period, tables in challenge_schema()["layouts"][0]["periods"].items()
    }


# ---------------------------------------------------------------- a user out of a seed


def live_and_receive(
    seed: int, persona: Persona, days: int = 2 * QUARTER
) -> tuple[Timeline, np.ndarray, dict[str, np.ndarray]]:
    """Both quarters of a Persona, or so many days: the days lived, and what arrives on them, as `arrivals` gives it."""
    timeline = live(persona.week, days + SPARE, seed, {**SETTINGS, **persona.settings})
    likings = {name: persona.likings.get(name.rpartition(".")[2], 10) for name in APPS}
    return timeline, *arrivals(
        days, persona.per_quarter / QUARTER, seed, likings, persona.week_volume
    )


def engage(
    seed: int, persona: Persona, days: int = 2 * QUARTER, intercept: float | None = None
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """What a Persona meets and does in some days from a Monday; all chance comes from the seed.

    intercept  of the person's taste, as an earlier stretch of the same life found it; None fits it to this stretch, so
               that the persona's open rate is met
    returns    columns (rows,): context, notification and `removal.<feature>` as texts, `opened` (bool), and `posted`,
               `removed`, `response`, `seen` in whole microseconds, dates since the first midnight; and the taste
    """
    timeline, posted, notifications = live_and_receive(seed, persona, days)
    rows = timeline.at(posted // MINUTE) | notifications
    taste = {
        "intercept": intercept or 0.0,
        "context": persona.context,
        "notification": persona.notification,
        "pairs": [list(pair) for pair in persona.pairs],
    }
    if intercept is None:
        taste["intercept"] = fit_intercept(taste, rows, rows, persona.open_rate)
    opened = uniforms(seed, "actions", len(posted)) < open_probability(
        log_odds(taste, rows, rows)
    )
    slot, draws = (
        slot_number(posted // MINUTE),
        uniforms(seed, "responses", (2, len(posted))),
    )
    median = np.where(
        opened,
        *(
            np.array(persona.response[action])[slot]
            for action in ("opened", "dismissed")
        ),
    )
    response = np.rint(SECOND * median * quantile(LEVELS, MULTIPLES, draws[0])).astype(
        np.int64
    )
    seen = np.rint(
        response * (SEEN_SHARE[0] + (SEEN_SHARE[1] - SEEN_SHARE[0]) * draws[1])
    ).astype(np.int64)
    removed = posted + response
    rows |= {
        f"removal.{name}": values
        for name, values in timeline.at(removed // MINUTE).items()
    }
    return rows | {
        "opened": opened,
        "posted": posted,
        "removed": removed,
        "response": response,
        "seen": seen,
    }, taste


def build_user(name: str, seed: int, persona: Persona) -> SyntheticUser:
    """The SyntheticUser of a Persona; all chance comes from the seed."""
    rows, taste = engage(seed, persona)
    opened, posted, removed, response, seen = (
        rows.pop(key) for key in ("opened", "posted", "removed", "response", "seen")
    )
    rows |= {
        "lightIntensityPosted": rows["lightIntensity"],
        "lightIntensityRemoved": rows["removal.lightIntensity"],
    }
    rows |= {
        "posted": _dates(posted),
        "removed": _dates(removed),
        "action": _texts(opened),
        "response_time": _seconds(response),
        "seen_time": _seconds(seen),
        "decision_time": _seconds(response - seen),
    }
    rows |= _unread_columns(
        rows["postingApp"],
        posted,
        removed,
        opened,
        uniforms(seed, "contacts", (2, len(posted))),
    )
    in_test = posted >= QUARTER * DAY * MINUTE
    medians = {
        action: dict(zip(SLOTS, seconds))
        for action, seconds in persona.response.items()
    }
    return SyntheticUser(
        name,
        _lay_tables(rows, in_test),
        {
            "name": name,
            "seed": seed,
            "schema": SCHEMA,
            "about": persona.about,
            **taste,
            "open_rate": {
                "history": round(float(opened[~in_test].mean()), 4),
                "test": round(float(opened[in_test].mean()), 4),
            },
            "response": {
                "unit": "seconds",
                "median": medians,
                "levels": list(LEVELS),
                "multiples": list(MULTIPLES),
                "seen_share": list(SEEN_SHARE),
            },
        },
    )


def _unread_columns(apps, posted, removed, opened, draws):
    """Columns of the challenge's tables that it does not use, from uniforms (2, rows).

    Whether a message comes from somebody who matters, here and at all; and how long before each posting the user last
    opened a notification of the same app, in the data's words.
    """
    import pandas as pd

    overall = (apps == "org.pushlab.chat") & (draws[0] < 0.3)
    uses = pd.DataFrame({"app": apps, "used": removed})[opened].sort_values("used")
    arrived = pd.DataFrame({"app": apps, "posted": posted})
    last = pd.merge_asof(arrived, uses, left_on="posted", right_on="used", by="app")[
        "used"
    ]
    bounds, words = zip(*LAST_USED)
    since = np.searchsorted(
        np.array(bounds[:-1]) * SECOND, posted - last, side="right"
    )  # never (NaN): long ago
    return {
        "removal.contactSignificantOverall": _texts(overall),
        "removal.contactSignificantContext": _texts(overall & (draws[1] < 0.5)),
        "removal.timeAppLastUsed": np.array(words, dtype=object)[since],
    }


def _texts(values):
    """Values as an object array of texts."""
    return values.astype(str).astype(object)


def _seconds(microseconds):
    """Seconds with six decimals: "1.500000"."""
    return np.array(
        [f"{value // SECOND}.{value % SECOND:06d}" for value in microseconds],
        dtype=object,
    )


def _dates(microseconds):
    """Dates "2019-02-18 00:00:00.000000", from microseconds since the first midnight."""
    dates = np.datetime64(FIRST_DAY, "us") + microseconds.astype("timedelta64[us]")
    return np.char.replace(np.datetime_as_string(dates, unit="us"), "T", " ").astype(
        object
    )


def _lay_tables(rows, in_test):
    """The four tables, DataFrames of strings; ids count from 0 in each period."""
    import pandas as pd

    tables = {}
    for period, files in columns_of_tables().items():
        here = in_test == (period == "test")
        part = {name: values[here] for name, values in rows.items()} | {
            "id": _texts(np.arange(here.sum()))
        }
        for file, names in files.items():
            tables[file] = pd.DataFrame(
                {column: part[name] for column, name in names.items()}, dtype=object
            )
    return tables


# ---------------------------------------------------------------- files


def write_user(
    user: SyntheticUser, folder: Path | str, overwrite: bool = False
) -> list[Path]:
    """Write a SyntheticUser into a folder: train/, test/ and truth.json; return the paths.

    Raises FileExistsError if the folder has files, unless `overwrite` is true; they are then replaced one by one.
    """
    folder = Path(folder)
    texts = _texts_of_tables(user)
    texts["truth.json"] = json_text(user.truth)
    if overwrite:
        return [write_text(folder / name, text) for name, text in texts.items()]
    return _write_new(folder, texts)


def _texts_of_tables(user, folder=""):
    """Return {file name: CSV} of the tables in a folder of the user, by default of all."""
    return {
        name: table.to_csv(lineterminator="\n")
        for name, table in user.tables.items()
        if name.startswith(folder)
    }


def _write_new(folder, texts, is_private=False):
    """Write {file name: text} into a new folder, all of them or none; return the paths."""
    with new_folder(folder) as unfinished:
        if is_private:
            unfinished.chmod(0o700)
        for name, text in texts.items():
            write_text(unfinished / name, text)
    return [folder / name for name in texts]


def write_private_user(user: SyntheticUser, folder: Path | str) -> list[Path]:
    """Write a SyntheticUser into a folder of users: its own folder, which others cannot read, with catalogue and schema
    beside it, and below handout/ the files for students (`write_handout`); return the paths.

    Raises FileExistsError, and writes nothing, if the user is there already, or another catalogue or schema. The user's
    own folder comes last, so that there is no truth without a hand-out.
    """
    folder = Path(folder)
    demand(
        user.name != HANDOUT,
        f"a user called {user.name} would lie where the hand-outs do; take another name",
    )
    for place in (folder, folder / HANDOUT):
        _demand_room(place, user.name)
    beside = [*write_handout(user, folder / HANDOUT), *write_catalogue(folder)]
    texts = {**_texts_of_tables(user), "truth.json": json_text(user.truth)}
    return [*_write_new(folder / user.name, texts, is_private=True), *beside]


def write_handout(user: SyntheticUser, folder: Path | str) -> list[Path]:
    """Write the files of a SyntheticUser for students into a folder; return the paths.

    <name>/train/, <name>/contexts.csv (the test period's contexts: no notifications, no actions, no dates), and
    catalogue.csv and schema.json, which several users can share. `load_user` and `Challenge.load` read it.

    Raises FileExistsError, and writes nothing, under the conditions of `write_private_user`.
    """
    folder = Path(folder)
    _demand_room(folder, user.name)
    names = [feature["name"] for feature in challenge_schema()["context"]]
    contexts = user.engagements("test")[names]
    contexts.insert(0, "id", _texts(np.arange(len(contexts))))
    texts = _texts_of_tables(user, "train/")
    texts[CONTEXTS] = contexts.to_csv(index=False, lineterminator="\n")
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
    schema, values = challenge_schema(), dict(zip(CATALOGUE_COLUMNS, zip(*CATALOGUE)))
    about = "The synthetic users of pushlab in the layout of EvalUMAP 2019, with the values of their catalogue."
    schema |= {"name": "pushlab-users", "about": about}
    for feature in schema["notification"]:
        if feature["name"] in values:
            feature["values"] = sorted(set(values[feature["name"]]))
    rows = "".join(",".join(row) + "\n" for row in (CATALOGUE_COLUMNS, *CATALOGUE))
    return {"catalogue.csv": rows, "schema.json": json_text(schema)}


def write_checksums(folder: Path | str, paths: Iterable[Path]) -> Path:
    """Write SHA256SUMS of these files, in the form that `sha256sum -c` reads, sorted by name; return its path."""
    names = sorted(Path(path).relative_to(folder).as_posix() for path in paths)
    lines = (
        f"{hashlib.sha256((Path(folder) / name).read_bytes()).hexdigest()}  {name}\n"
        for name in names
    )
    return write_text(Path(folder) / "SHA256SUMS", "".join(lines))
