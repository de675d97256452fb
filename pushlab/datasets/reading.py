"""What lies under data/, and readers for the public originals.

A data set is a folder (or a wheel) of users and a schema that says which tables a user has. The shipped users, the
EvalUMAP 2019 folders and the EvalUMAP 2020 wheel differ only in their schema files:

>>> mira = load_user("mira")
>>> mira.history.engagements.columns[:3].tolist(), mira.test.opened.dtype.name
(['day', 'time', 'place'], 'bool')

Reading is strict and says everything at once: `BadData` lists each fault with file, row, column, value and what
would have been right. Only CSV and JSON are read; nothing is ever unpickled.
"""

import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import Schema
from pushlab.datasets.tables import DATES, PERIODS, SECONDS, Folder, Wheel, join_tables, read_header, read_table
from pushlab.datasets.truth import read_truth
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import data_dir

SHIPPED_SCHEMAS = ("evalumap2019", "evalumap2020")


# ---------------------------------------------------------------- finding and reading users

def list_users(where=None):
    """Names of the users in a folder or wheel (by default the shipped ones), sorted; of a shipped user just that one.

    >>> "mira" in list_users()
    True
    """
    if where is not None and _is_shipped(where):
        return [str(where)]
    source = _open(where if where is not None else data_dir() / "push")
    schemas = [_schema_beside(source)] if _schema_beside(source) else [Schema.load(name) for name in SHIPPED_SCHEMAS]
    return sorted({name for schema in schemas for layout in schema.layouts for name in _users_of(source, layout)})


def load_user(where, user=None, schema=None):
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
        return _load_shipped(name) if schema is None else load_user(data_dir() / "push", name, schema)
    if not Path(where).exists():
        shipped = list_users()
        if str(where) in shipped:
            raise ValueError(f"{where} is one shipped user and no folder of users, so user={user!r} is not in it")
        raise FileNotFoundError(f"there is no folder or file {str(where)!r}, and no shipped user of that name; "
                                f"the shipped users are {', '.join(shipped)}")
    source = _open(where)
    if user is None and isinstance(source, Folder):       # a user's own folder: its parent is the data set
        folder = source.path.resolve()
        if schema is None and (folder / "schema.json").exists():
            schema = folder / "schema.json"
        source, user = Folder(folder.parent), folder.name
    if user is None:
        raise ValueError(f"{source.name} holds several users; name one with user=: {', '.join(list_users(where))}")
    schema = _choose_schema(source, user, schema)
    return _read_user(source, user, schema)


def load_users(where=None, shared=True):
    """Every user of a folder or wheel (by default the shipped ones), a dict by name.

    shared  fit the open features on all histories together, so that arrays of one user fit the spaces of another
    """
    names = list_users(where)
    where = data_dir() / "push" if where is None or _is_shipped(where) else where
    users = {name: load_user(where, user=name) for name in names}
    if not users:
        raise FileNotFoundError(f"no user's tables were found in {Path(where).name}")
    if shared:
        import pandas as pd

        schemas = {user.schema.name: _choose_schema(_open(where), name, None) for name, user in users.items()}
        for name, schema in schemas.items():
            own = [key for key, user in users.items() if user.schema.name == name]
            fitted = schema.fit(pd.concat([users[key].history.table for key in own]))
            users.update({key: _refit(users[key], fitted) for key in own})
    return users


def _is_shipped(where):
    """Whether this means a shipped user: a plain word always, a Path of that name only where nothing else is there."""
    return str(where) in list_users() and (isinstance(where, str) or not Path(where).exists())


@lru_cache(maxsize=16)
def _load_shipped(name):
    return load_user(data_dir() / "push", user=name)


def _unchanged(person, user, schema):
    """The User given; ValueError if another name or a schema was asked for, since what was read stays as it is."""
    if user not in (None, person.name):
        raise ValueError(f"this is user {person.name}, not {user}; give the folder or wheel to read another one")
    if schema is not None:
        raise ValueError(f"user {person.name} was read with the schema {person.schema.name}; "
                         "to read it with another, give its folder")
    return person


def _refit(user, schema):
    periods = {name: Period(schema, period.table) for name, period in user.periods.items()}
    return replace(user, schema=schema, periods=periods)


def _open(where):
    path = Path(where)
    if not path.exists():
        raise FileNotFoundError(f"there is no folder or file {str(where)!r}")
    return Folder(path) if path.is_dir() else Wheel(path)


def _join(*parts):
    return "/".join(part for part in parts if part)


def _schema_beside(source, user=""):
    for name in (_join(user, "schema.json"), "schema.json"):
        if source.has(name):
            return _schema_from(source, name)
    return None


def _schema_from(source, name):
    try:
        return Schema.from_dict(json.loads(source.read(name)))
    except ValueError as error:
        raise BadData([Fault(name, None, None, None, f"not a schema file ({error})")]) from error


def _tables(layout, period):
    return layout["periods"].get(period, ())


def _users_of(source, layout):
    """Folders below the layout's root that hold the first table of any period."""
    firsts = {tables[0]["file"] for tables in layout["periods"].values()}
    return {name for name in source.folders(layout["root"])
            if any(source.has(_join(layout["root"], name, first)) for first in firsts)}


def _layout_of(source, user, schema):
    """The layout that this user's tables follow, or None."""
    for layout in schema.layouts:
        files = [table["file"] for tables in layout["periods"].values() for table in tables]
        if any(source.has(_join(layout["root"], user, file)) for file in files):
            return layout
    return None


def _choose_schema(source, user, schema):
    if isinstance(schema, Schema):
        return schema
    if schema is not None:
        return Schema.load(schema)
    beside = _schema_beside(source, user)
    if beside is not None:
        return beside
    shipped = [Schema.load(name) for name in SHIPPED_SCHEMAS]
    for candidate in shipped:
        if _layout_of(source, user, candidate):
            return candidate
    wanted = sorted({_join(layout["root"], user, table["file"]) for candidate in shipped
                     for layout in candidate.layouts for tables in layout["periods"].values() for table in tables})
    raise BadData([Fault(source.name, None, None, None, f"no table of user {user!r} was found; one of these was "
                         f"looked for: {', '.join(wanted)}")])


def _read_user(source, user, schema):
    layout = _layout_of(source, user, schema)
    if layout is None:
        raise BadData([Fault(source.name, None, None, None, f"no table of user {user!r} in the layout of schema "
                             f"{schema.name} was found")])
    tables, faults = {}, []
    for period in PERIODS:
        entries = [{**entry, "file": _join(layout["root"], user, entry["file"])} for entry in _tables(layout, period)]
        if entries and any(source.has(entry["file"]) for entry in entries):
            table, bad = _read_period(source, entries, schema)
            tables[period] = table
            faults += bad
    if faults:
        raise BadData(faults)
    if "sort" in layout:
        tables = {period: table.sort_values(layout["sort"], kind="stable", ignore_index=True)
                  for period, table in tables.items()}
    tables, notes = _complete(tables, user)
    schema = schema.fit(tables["history"])
    return User(user, schema, {period: Period(schema, table) for period, table in tables.items()},
                read_truth(source, _join(layout["root"], user, "truth.json")),
                _read_catalogue(source, layout["root"], user, schema), notes)


def _complete(tables, user):
    """A user with one period only gets two: its earlier half as history, its later half as test."""
    notes = ()
    if "history" not in tables or "test" not in tables:
        if len(tables) != 1:
            raise BadData([Fault(user, None, None, None, "there is no "
                                 + " and no ".join({"history", "test"} - set(tables)) + " period")])
        (period, table), = tables.items()
        half = len(table) // 2
        if half < 1:
            raise BadData([Fault(user, None, None, None, f"the only period, {period}, is too short to be halved")])
        tables = {"history": table.iloc[:half].reset_index(drop=True), "test": table.iloc[half:].reset_index(drop=True)}
        notes = (f"only the period {period!r} is there: its first half is the history, its second half the test",)
    return {period: tables[period] for period in PERIODS if period in tables}, notes


def _read_period(source, entries, schema):
    """One DataFrame with our column names out of one or several tables, and the faults met."""
    parts, faults = [], []
    for entry in entries:
        part, bad = read_table(source, entry["file"], entry["columns"])
        faults += bad
        if part is not None:
            parts.append((entry["file"], part))
    if faults:
        return None, faults
    table, faults = join_tables(parts)
    if faults:
        return None, faults
    return check_values(table, schema, entries)


def check_values(table, schema, entries):
    """The table with its values checked and typed, and the faults met; rows are counted as in the files."""
    import pandas as pd

    places = {ours: (entry["file"], theirs) for entry in entries for theirs, ours in entry["columns"].items() if ours}
    faults = []

    def blame(column, rows, values, right):
        file, theirs = places[column]
        line = table[f"line of {file}"]
        faults.extend(Fault(file, int(line.iat[row]), theirs, value, right) for row, value in zip(rows, values))

    for half in (schema.notification, schema.context):
        for feature in half:
            for column in (feature.name, f"removal.{feature.name}"):
                if column not in table:
                    continue
                allowed = {text for text in table[column].unique() if feature.allows(text)}
                wrong = [row for row, text in enumerate(table[column]) if text not in allowed]
                blame(column, wrong, table[column].iloc[wrong], feature.right)
                if feature.aliases:
                    table[column] = table[column].replace(feature.aliases)
    actions = {**dict.fromkeys(schema.opened, "opened"), **dict.fromkeys(schema.dismissed, "dismissed")}
    wrong = [row for row, text in enumerate(table["action"]) if text not in actions]
    blame("action", wrong, table["action"].iloc[wrong], f"one of {', '.join(actions)}")
    table["action"] = table["action"].map(actions)
    for column in DATES:
        if column in table:
            dates = _dates(table[column])
            wrong = np.flatnonzero(dates.isna())
            right = "a date such as 2019-02-18 06:02:26.307535, by the user's own clock and without a time zone"
            blame(column, wrong, table[column].iloc[wrong], right)
            table[column] = dates
    for column in SECONDS:
        if column in table:
            numbers = pd.to_numeric(table[column], errors="coerce")
            wrong = np.flatnonzero(~(np.isfinite(numbers) & (numbers >= 0)))
            blame(column, wrong, table[column].iloc[wrong], "a number of seconds, 0 or more")
            table[column] = numbers
    return table[[column for column in table if not column.startswith("line of ")]], faults


def _dates(texts):
    """The dates, a Series of datetime64; NaT where a text is none, or has a time zone."""
    import pandas as pd

    try:
        dates = pd.to_datetime(texts, format="ISO8601", errors="coerce")
        if dates.dtype.kind == "M" and dates.dt.tz is None:
            return dates
    except ValueError:      # some have a time zone and some have none
        pass
    dates = [pd.to_datetime(text, format="ISO8601", errors="coerce") for text in texts]
    return pd.Series([pd.NaT if date.tzinfo else date for date in dates], texts.index, dtype="datetime64[us]")


def _read_catalogue(source, root, user, schema):
    """The DataFrame of the catalogue in the user's folder or beside it, its values checked; None without one."""
    found = [name for name in (_join(root, user, "catalogue.csv"), _join(root, "catalogue.csv")) if source.has(name)]
    if not found:
        return None
    name = found[0]
    columns = {column: column for column in read_header(source, name) if column in schema.notification.names}
    table, faults = read_table(source, name, columns)
    if not faults:
        table = table.rename(columns={f"line of {name}": "line"})
        faults = [Fault(name, int(line), column, text, schema.notification[column].right)
                  for column in columns for text, line in zip(table[column], table["line"])
                  if not schema.notification[column].allows(text)]
    if faults:
        raise BadData(faults)
    return table[list(columns)]
