"""Loading users: the shipped ones, your own, and the public originals.

A data set is a folder (or a wheel) of users, and a schema that describes the tables of a user. The shipped users, the
EvalUMAP 2019 folders and the EvalUMAP 2020 wheel differ only in their schema files.

>>> mira = load_user("mira")
>>> mira.history.engagements.columns[:3].tolist(), mira.test.opened.dtype.name
(['day', 'time', 'place'], 'bool')

Reading is strict: `BadData` lists every fault with file, row, column, value and a description of valid values. Only
CSV and JSON are read; nothing is ever unpickled.
"""

from __future__ import annotations

import os
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd

from pushlab.datasets.periods import Period, User
from pushlab.datasets.schema import DATES, SECONDS, Schema
from pushlab.ground.arguments import demand, in_short, meant
from pushlab.ground.faults import BadData, Fault, blame, refuse
from pushlab.ground.files import data_dir, read_json
from pushlab.ground.tables import Rule, number, read_table, word

SHIPPED_SCHEMAS = ("evalumap2019", "evalumap2020")
CONTEXTS = "contexts.csv"  # contexts of the test period in a private user's hand-out


# ---------------------------------------------------------------- finding users


def list_users(where: Path | str | None = None) -> list[str]:
    """Return the names of the users in a folder or wheel (by default the shipped ones), sorted.

    >>> "mira" in list_users()
    True
    """
    folder = _open(where or data_dir() / "push")
    names = set()
    for schema in _schemas(folder):
        for layout in schema.layouts:
            root = folder / layout["root"]
            firsts = [tables[0]["file"] for tables in layout["periods"].values()]
            for own in root.iterdir() if root.is_dir() else ():
                if any((own / file).exists() for file in firsts):
                    names.add(own.name)
    return sorted(names)


def load_user(
    where: Path | str | User,
    user: str | None = None,
    schema: Schema | Path | str | None = None,
) -> User:
    """Load one user.

    Args:
        where: Name of a shipped user, even if the working directory has a folder of that name (write "./mira" for
            the folder); a user's own folder; a folder or wheel of users, with `user` naming one; or a User, which is
            returned as it is.
        schema: A Schema, its name or its file. By default `schema.json` in the folder or above it, else the shipped
            schema whose tables the folder has.

    Returns:
        A User, with the periods and the schema.

    Raises:
        FileNotFoundError: There is nothing at `where`.
        BadData: The tables have faults; the message lists all of them.
        ValueError: Another user or schema is requested of a User.
    """
    if isinstance(where, User):
        demand(
            user is schema is None,
            "for another user or schema give a folder, not a User",
        )
        return where
    demand(
        isinstance(where, (str, os.PathLike)),
        f"a user is a shipped name, a folder or a User; got {in_short(where)}",
    )
    if where in list_users() and user in (None, where):
        if schema is None:
            return _load_shipped(where)
        return load_user(data_dir() / "push", where, schema)
    folder = _open(where)
    if user is None:
        if not isinstance(folder, Path):
            users = ", ".join(list_users(where))
            raise ValueError(
                f"{folder.name} holds several users; name one with user=: {users}"
            )
        own = folder.resolve()
        folder = own.parent
        user = own.name
    return _read_user(folder, user, *_find_layout(folder, user, schema))


def load_users(where: Path | str | None = None) -> dict[str, User]:
    """Load every user of a folder or wheel (by default the shipped ones); return them by name.

    The users have one schema. Its open features are fitted on all histories together, so that arrays of one user fit
    the spaces of another.
    """
    names = list_users(where)
    folder = _open(where or data_dir() / "push")
    if not names:
        raise FileNotFoundError(f"no user's tables were found in {folder.name}")
    schema, _ = _find_layout(folder, names[0])
    users = {}
    for name in names:
        users[name] = _read_user(folder, name, *_find_layout(folder, name, schema))
    fitted = schema.fit(pd.concat(user.history.table for user in users.values()))
    return {name: user.with_schema(fitted) for name, user in users.items()}


@lru_cache(maxsize=16)
def _load_shipped(name):
    return load_user(data_dir() / "push", user=name)


def _open(where):
    """Return the path of a folder, or of the content of a wheel."""
    path = Path(where)
    if path.is_dir():
        return path
    if not path.exists():
        shipped = list_users()
        raise FileNotFoundError(
            f"there is no folder or file {str(where)!r}; the shipped users are {', '.join(shipped)}"
            + meant(where, shipped)
        )
    try:
        return zipfile.Path(path)
    except zipfile.BadZipFile:
        right = "neither a folder of users nor a wheel (a zip file)"
        raise BadData(Fault(path.name, right=right)) from None


def _schemas(folder, user="", schema=None):
    """Return the schemas to try: the given one, one in or above the user's folder, or the shipped ones."""
    if isinstance(schema, Schema):
        return [schema]
    if schema is not None:
        return [Schema.load(schema)]
    for path in (folder / user / "schema.json", folder / "schema.json"):
        if path.exists():
            return [Schema.read(path)]
    return [Schema.load(name) for name in SHIPPED_SCHEMAS]


def _find_layout(folder, user, schema=None):
    """Return the first schema and layout with tables that a user's folder has."""
    files = set()
    for candidate in _schemas(folder, user, schema):
        for layout in candidate.layouts:
            base = Path(layout["root"]) / user
            for tables in layout["periods"].values():
                names = [(base / table["file"]).as_posix() for table in tables]
                if any((folder / name).exists() for name in names):
                    return candidate, layout
                files.update(names)
    right = (
        f"no table of user {user!r} was found; looked for {', '.join(sorted(files))}"
    )
    raise BadData(Fault(folder.name, right=right))


# ---------------------------------------------------------------- reading a user


def _read_user(folder, user, schema, layout):
    base = Path(layout["root"]) / user
    rules = _rules(schema)
    faults: list[Fault] = []
    tables = {}
    for period, entries in layout["periods"].items():
        files = {}
        for entry in entries:
            files[(base / entry["file"]).as_posix()] = entry["columns"]
        if not any((folder / file).exists() for file in files):
            continue
        parts = {}
        for file, columns in files.items():
            with _collected(faults):
                parts[file] = _read_part(folder, file, columns, rules)
        if len(parts) == len(files):
            with _collected(faults):
                table = _joined(parts)
                by = layout.get("sort", [])
                tables[period] = table.sort_values(by, kind="stable", ignore_index=True)
    refuse(faults)
    contexts = (base / CONTEXTS).as_posix()
    if "test" not in tables and (folder / contexts).exists():
        tables["test"] = _read_contexts(folder, contexts, schema, rules)
    tables, notes = _complete(tables, user)
    truth = None
    file = (base / "truth.json").as_posix()
    if (folder / file).exists():
        truth = read_json(folder / file, file)
    catalogue = _read_catalogue(folder, base, schema, rules)
    schema = schema.fit(tables["history"])
    periods = {name: Period(schema, table) for name, table in tables.items()}
    return User(user, schema, periods, truth, catalogue, notes)


@contextmanager
def _collected(faults: list[Fault]) -> Iterator[None]:
    """Context manager that appends the faults of a BadData to a list."""
    try:
        yield
    except BadData as error:
        faults += error.faults


def _rules(schema):
    """Return the rule of each column, by our names."""
    rules = {"id": word()}
    for feature in (*schema.notification, *schema.context):
        rule = _words(feature.right, feature.canonical)
        rules[feature.name] = rule
        rules[f"removal.{feature.name}"] = rule
    actions = dict.fromkeys(schema.opened, "opened")
    actions |= dict.fromkeys(schema.dismissed, "dismissed")
    rules["action"] = _words(f"one of {', '.join(actions)}", actions.get, "str")
    right = "a date such as 2019-02-18 06:02:26.307535, by the user's own clock and without a time zone"
    rules |= dict.fromkeys(DATES, Rule(right, _dates, dtype="datetime64[us]"))
    seconds = number(0)._replace(right="a number of seconds, 0 or more")
    return rules | dict.fromkeys(SECONDS, seconds)


def _words(right: str, meaning: Callable[[str], str | None], dtype="object") -> Rule:
    """Return a rule for words; `meaning` returns the value that a word stands for, or None if it isn't allowed."""

    def convert(column):
        return column.map({text: meaning(text) for text in column.unique()})

    return Rule(right, convert, dtype=dtype)


def _dates(texts):
    """Return the dates, and NaT for a text that isn't one or has a time zone."""
    local = texts.where(~texts.str.contains("[T ].*[Zz+-]"))
    return pd.to_datetime(local, format="ISO8601", errors="coerce")


def _read_part(folder, file, columns, rules):
    """Return the table in a file, with our names for the columns that are used."""
    theirs = {}
    for column, ours in columns.items():
        theirs[column] = rules[ours] if ours else word()
    table = read_table(folder / file, theirs, others=False, name=file)
    if table.empty:
        raise BadData(Fault(file, right="the table has a header and no rows"))
    used = [column for column in table if columns[column]]
    return table[used].rename(columns=columns)


def _joined(parts):
    """Return one table of {file: table}, joined on `id` in the order of the first."""
    joined, *others = parts.values()
    if not others:
        return joined.drop(columns="id", errors="ignore")
    faults = []
    right = f"an id that is there once in each of {', '.join(parts)}"
    for file, table in parts.items():
        wrong = table["id"].duplicated()
        for other in parts.values():
            wrong |= ~table["id"].isin(other["id"])
        faults += blame(file, table.index + 2, "id", table["id"], wrong, right)
    refuse(faults)
    for table in others:
        joined = joined.merge(table, on="id")
    return joined.drop(columns="id")


def _complete(tables, user):
    """Return tables with a history and a test period, and notes; a single period is halved."""
    if "history" in tables and "test" in tables:
        return tables, ()
    period, table = next(iter(tables.items()))
    half = len(table) // 2
    if len(tables) > 1 or half == 0:
        right = "neither a history and a test period, nor one period that can be halved"
        raise BadData(Fault(user, right=right))
    test = table[half:].reset_index(drop=True)
    note = f"only the period {period!r} is there: its first half is the history, its second half the test"
    return {"history": table[:half], "test": test}, (note,)


def _read_contexts(folder, file, schema, rules):
    """Return the contexts of a private user's hand-out, whose ids count from 0."""
    columns = {name: name for name in ("id", *schema.context.names)}
    table = _read_part(folder, file, columns, rules)
    ids = table.pop("id")
    wrong = ids != np.arange(len(table)).astype(str)
    right = "the number of the row, from 0"
    refuse(blame(file, table.index + 2, "id", ids, wrong, right))
    return table


def _read_catalogue(folder, base, schema, rules):
    """Return the table of the catalogue in the user's folder or beside it, or None."""
    for place in (base, base.parent):
        file = (place / "catalogue.csv").as_posix()
        if (folder / file).exists():
            names = schema.notification.names
            columns = {name: rules[name]._replace(required=False) for name in names}
            return read_table(folder / file, columns, others=False, name=file)
    return None
