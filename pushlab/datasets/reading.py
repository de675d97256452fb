"""What lies under data/, and readers for the public originals.

A data set is a folder (or a wheel) of users and a schema that says which tables a user has. The shipped users, the
EvalUMAP 2019 folders and the EvalUMAP 2020 wheel differ only in their schema files:

>>> mira = load_user("mira")
>>> mira.history.engagements.columns[:3].tolist(), mira.test.opened.dtype.name
(['day', 'time', 'place'], 'bool')

Reading is strict and says everything at once: `BadData` lists each fault with file, row, column, value and what
would have been right. Only CSV and JSON are read; nothing is ever unpickled.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import DATES, PERIODS, SECONDS, Schema
from pushlab.datasets.schema import LARGEST as LARGEST_SCHEMA
from pushlab.datasets.tables import (
    A_DURATION,
    Source,
    join_tables,
    read_numbers,
    read_table,
)
from pushlab.datasets.truth import read_truth
from pushlab.ground._old_reading import read_json
from pushlab.ground.arguments import meant
from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.files import data_dir

SHIPPED_SCHEMAS = ("evalumap2019", "evalumap2020")
CONTEXTS = "contexts.csv"  # of a user as handed out: the test period's contexts, and nothing else of it


# ---------------------------------------------------------------- finding and reading users


def list_users(where: Path | str | None = None) -> list[str]:
    """Names of the users in a folder or wheel (by default the shipped ones), sorted; of a shipped user just that one.

    >>> "mira" in list_users()
    True
    """
    if where is not None and _is_shipped(where):
        return [str(where)]
    source = _open(where if where is not None else data_dir() / "push")
    layouts = [layout for schema in _schemas(source) for layout in schema.layouts]
    return sorted(
        {
            name
            for layout in layouts
            for name in source.folders(layout["root"])
            if any(
                source.has(_join(layout["root"], name, tables[0]["file"]))
                for tables in layout["periods"].values()
            )
        }
    )


def load_user(
    where: Path | str | User,
    user: str | None = None,
    schema: Schema | Path | str | None = None,
) -> User:
    """Reads one user.

    where   the name of a shipped user, which means that user whatever lies in the working directory ("./mira" is a
            folder); a user's own folder; or a folder or wheel of users, with `user` naming one; a User is given back
    schema  a Schema, its name or its file; by default `schema.json` in the folder or above it, else the shipped
            schema whose tables are there

    Raises FileNotFoundError if there is nothing at `where`, BadData with every fault of the tables, ValueError if a
    User is to be another one or to have another schema.
    """
    if isinstance(where, User):
        return _unchanged(where, user, schema)
    if _is_shipped(where) and user in (None, str(where)):
        name = str(where)
        return (
            _load_shipped(name)
            if schema is None
            else load_user(data_dir() / "push", name, schema)
        )
    if not Path(where).exists():
        shipped = list_users()
        if str(where) in shipped:
            raise ValueError(
                f"{where} is one shipped user and no folder of users, so user={user!r} is not in it"
            )
        raise FileNotFoundError(
            f"there is no folder or file {str(where)!r}, and no shipped user of that name; "
            f"the shipped users are {', '.join(shipped)}{meant(where, shipped)}"
        )
    source = _open(where)
    if (
        user is None and source.is_folder
    ):  # a user's own folder: its parent is the data set
        folder = source.path.resolve()
        if schema is None and (folder / "schema.json").exists():
            schema = folder / "schema.json"
        source, user = Source(folder.parent), folder.name
    if user is None:
        raise ValueError(
            f"{source.name} holds several users; name one with user=: {', '.join(list_users(where))}"
        )
    return _read_user(
        source, user, *_find_layout(source, user, _schemas(source, user, schema))
    )


def load_users(where: Path | str | None = None, shared: bool = True) -> dict[str, User]:
    """Every user of a folder or wheel (by default the shipped ones), a dict by name.

    shared  fit the open features on all histories together, so that arrays of one user fit the spaces of another
    """
    names = list_users(where)
    where = data_dir() / "push" if where is None or _is_shipped(where) else where
    users = {name: load_user(where, user=name) for name in names}
    if not users:
        raise FileNotFoundError(f"no user's tables were found in {Path(where).name}")
    if shared:
        source = _open(where)
        found = [
            _find_layout(source, name, _schemas(source, name))[0] for name in names
        ]
        for name, schema in {schema.name: schema for schema in found}.items():
            own = [key for key, user in users.items() if user.schema.name == name]
            fitted = schema.fit(pd.concat([users[key].history.table for key in own]))
            users.update({key: _refit(users[key], fitted) for key in own})
    return users


def _is_shipped(where):
    """Whether this means a shipped user: a plain word always, a Path of that name only where nothing else is there."""
    return str(where) in list_users() and (
        isinstance(where, str) or not Path(where).exists()
    )


@lru_cache(maxsize=16)
def _load_shipped(name):
    return load_user(data_dir() / "push", user=name)


def _unchanged(person, user, schema):
    """The User given; ValueError if another name or a schema was asked for, since what was read stays as it is."""
    if user not in (None, person.name):
        raise ValueError(
            f"this is user {person.name}, not {user}; give the folder or wheel to read another one"
        )
    if schema is not None:
        raise ValueError(
            f"user {person.name} was read with the schema {person.schema.name}; "
            "to read it with another, give its folder"
        )
    return person


def _refit(user, schema):
    periods = {
        name: Period(schema, period.table) for name, period in user.periods.items()
    }
    return replace(user, schema=schema, periods=periods)


def _open(where):
    if not Path(where).exists():
        raise FileNotFoundError(f"there is no folder or file {str(where)!r}")
    return Source(where)


def _join(*parts):
    return "/".join(part for part in parts if part)


def _schemas(source, user="", schema=None):
    """The schemas that may fit: the one that is given, the one in the user's folder or beside it, or the shipped."""
    if schema is not None:
        return [schema if isinstance(schema, Schema) else Schema.load(schema)]
    for name in (_join(user, "schema.json"), "schema.json"):
        if source.has(name):
            try:
                return [
                    Schema.from_dict(
                        read_json(source.read(name), LARGEST_SCHEMA, name=name)
                    )
                ]
            except ValueError as error:
                raise BadData(
                    Fault(name, right=f"not a schema file ({error})")
                ) from error
    return [Schema.load(name) for name in SHIPPED_SCHEMAS]


def _find_layout(source, user, schemas):
    """The schema, and the layout of its tables, that this user's folder follows."""
    wanted = []
    for schema in schemas:
        for layout in schema.layouts:
            files = [
                entry["file"]
                for entries in _tables(layout, user).values()
                for entry in entries
            ]
            if any(map(source.has, files)):
                return schema, layout
            wanted += files
    names = ", ".join(schema.name for schema in schemas)
    raise BadData(
        Fault(
            source.name,
            right=f"no table of user {user!r} in the layout of schema {names} was found; one "
            f"of these was looked for: {', '.join(sorted(set(wanted)))}",
        )
    )


def _tables(layout, user):
    """{period: the entries of its tables} of a layout, with the paths of this user's files."""
    return {
        period: [
            {**entry, "file": _join(layout["root"], user, entry["file"])}
            for entry in entries
        ]
        for period, entries in layout["periods"].items()
    }


def _read_user(source, user, schema, layout):
    read = {
        period: _read_period(source, entries, schema)
        for period, entries in _tables(layout, user).items()
        if any(source.has(entry["file"]) for entry in entries)
    }
    refuse(fault for _, faults in read.values() for fault in faults)
    tables = {period: table for period, (table, _) in read.items()}
    if "sort" in layout:
        tables = {
            period: table.sort_values(layout["sort"], kind="stable", ignore_index=True)
            for period, table in tables.items()
        }
    handed_out = _join(layout["root"], user, CONTEXTS)
    if "test" not in tables and source.has(handed_out):
        tables["test"] = _read_contexts(source, handed_out, schema)
    tables, notes = _complete(tables, user)
    schema = schema.fit(tables["history"])
    return User(
        user,
        schema,
        {period: Period(schema, table) for period, table in tables.items()},
        read_truth(source, _join(layout["root"], user, "truth.json")),
        _read_catalogue(source, layout["root"], user, schema),
        notes,
    )


def _complete(tables, user):
    """A user with one period only gets two: its earlier half as history, its later half as test."""
    notes = ()
    if "history" not in tables or "test" not in tables:
        if len(tables) != 1:
            missing = " and no ".join(
                period for period in ("history", "test") if period not in tables
            )
            raise BadData(Fault(user, right=f"there is no {missing} period"))
        ((period, table),) = tables.items()
        half = len(table) // 2
        if half < 1:
            raise BadData(
                Fault(
                    user, right=f"the only period, {period}, is too short to be halved"
                )
            )
        tables = {
            "history": table.iloc[:half].reset_index(drop=True),
            "test": table.iloc[half:].reset_index(drop=True),
        }
        notes = (
            f"only the period {period!r} is there: its first half is the history, its second half the test",
        )
    return {period: tables[period] for period in PERIODS if period in tables}, notes


def _read_period(source, entries, schema):
    """One DataFrame with our column names out of one or several tables, and the faults met."""
    parts = {
        entry["file"]: read_table(source, entry["file"], entry["columns"])
        for entry in entries
    }
    faults = [fault for _, found in parts.values() for fault in found]
    if not faults:
        table, faults = join_tables([(file, part) for file, (part, _) in parts.items()])
    return (None, faults) if faults else check_values(table, schema, entries)


def _read_contexts(source, name, schema):
    """The table of a hand-out's contexts, in order of their id, which counts from 0."""
    columns = {column: column for column in ("id", *schema.context.names)}
    table, faults = read_table(source, name, columns)
    refuse(faults)
    lines, number = table[f"line of {name}"], pd.Series(range(len(table))).astype(str)
    refuse(
        blame(
            name,
            lines,
            "id",
            table["id"],
            table["id"] != number,
            "the number of the row, from 0",
        )
    )
    table, faults = check_values(
        table.drop(columns="id"), schema, [{"file": name, "columns": columns}]
    )
    refuse(faults)
    return table


def check_values(
    table: pd.DataFrame, schema: Schema, entries: Iterable[dict]
) -> tuple[pd.DataFrame, list]:
    """The table with its values checked and typed, and the faults met; rows are counted as in the files."""
    places = {
        ours: (entry["file"], theirs)
        for entry in entries
        for theirs, ours in entry["columns"].items()
        if ours
    }
    faults: list[Fault] = []

    def complain(column, wrong, right):
        file, theirs = places[column]
        faults.extend(
            blame(file, table[f"line of {file}"], theirs, table[column], wrong, right)
        )

    def allow(column, allows, right):
        fine = (
            table[column]
            .map({text: allows(text) for text in table[column].unique()})
            .astype(bool)
        )
        complain(column, ~fine, right)

    for feature in (*schema.notification, *schema.context):
        for column in _there(table, feature.name, f"removal.{feature.name}"):
            allow(column, feature.allows, feature.right)
            if feature.aliases:
                table[column] = table[column].replace(feature.aliases)
    actions = {
        **dict.fromkeys(schema.opened, "opened"),
        **dict.fromkeys(schema.dismissed, "dismissed"),
    }
    for column in _there(table, "action"):
        allow(column, actions.__contains__, f"one of {', '.join(actions)}")
        table[column] = table[column].map(actions)
    for column in _there(table, *DATES):
        dates = _dates(table[column])
        right = "a date such as 2019-02-18 06:02:26.307535, by the user's own clock and without a time zone"
        complain(column, dates.isna(), right)
        table[column] = dates
    for column in _there(table, *SECONDS):
        file, theirs = places[column]
        table[column], bad = read_numbers(
            table[column], theirs, file, table[f"line of {file}"], A_DURATION
        )
        faults += bad
    return table[
        [column for column in table if not column.startswith("line of ")]
    ], faults


def _there(table, *columns):
    return [column for column in columns if column in table]


def _dates(texts):
    """The dates, a Series of datetime64; NaT where a text is none, or has a time zone."""
    try:
        dates = pd.to_datetime(texts, format="ISO8601", errors="coerce")
        if dates.dtype.kind == "M" and dates.dt.tz is None:
            return dates
    except ValueError:  # some have a time zone and some have none
        pass
    dates = [pd.to_datetime(text, format="ISO8601", errors="coerce") for text in texts]
    return pd.Series(
        [pd.NaT if date.tzinfo else date for date in dates],
        texts.index,
        dtype="datetime64[us]",
    )


def _read_catalogue(source, root, user, schema):
    """The DataFrame of the catalogue in the user's folder or beside it, its values checked; None without one."""
    found = [
        name
        for name in (_join(root, user, "catalogue.csv"), _join(root, "catalogue.csv"))
        if source.has(name)
    ]
    if not found:
        return None
    name, half = found[0], schema.notification
    table, faults = read_table(
        source, name, {}, optional={column: column for column in half.names}
    )
    refuse(faults)
    lines = table.pop(f"line of {name}")
    refuse(
        fault
        for column in table
        for fault in blame(
            name,
            lines,
            column,
            table[column],
            ~table[column].map(half[column].allows),
            half[column].right,
        )
    )
    return table
