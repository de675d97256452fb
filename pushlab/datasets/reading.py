"""Loading of users: the shipped ones, your own, and the public originals.

A data set is a folder or a wheel of users, with a schema that describes the tables of a user. The shipped users, the
EvalUMAP 2019 folders and the EvalUMAP 2020 wheel differ only in their schema files.

>>> mira = load_user("mira")
>>> mira.history.engagements.columns[:3].tolist(), mira.test.opened.dtype.name
(['day', 'time', 'place'], 'bool')

Reading is strict. `BadData` lists every issue with its file, row, column and value, and a description of valid values.
Only CSV and JSON files are read; nothing is unpickled.
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
from pushlab.utils.arguments import require, short_repr, suggestion
from pushlab.utils.files import data_dir, read_json
from pushlab.utils.issues import BadData, DataIssue, column_issues, raise_issues
from pushlab.utils.tables import ColumnRule, number_rule, read_table, text_rule

SHIPPED_SCHEMAS = ("evalumap2019", "evalumap2020")
CONTEXTS = "contexts.csv"  # the test period in a private user's hand-out


# ---------------------------------------------------------------- finding users


def list_users(source: Path | str | None = None) -> list[str]:
    """Return the names of the users in a folder or wheel, sorted; None lists the shipped users.

    >>> "mira" in list_users()
    True
    """
    folder = _open(source or data_dir() / "push")
    names = set()
    for schema in _candidate_schemas(folder):
        for layout in schema.layouts:
            root = folder / layout["root"]
            files = [tables[0]["file"] for tables in layout["periods"].values()]
            for user_folder in root.iterdir() if root.is_dir() else ():
                if any((user_folder / file).exists() for file in files):
                    names.add(user_folder.name)
    return sorted(names)


def load_user(
    source: Path | str | User,
    user: str | None = None,
    schema: Schema | Path | str | None = None,
) -> User:
    """Load one user.

    Args:
        source: Name of a shipped user; a user's own folder; a folder or wheel of users; or a User, which is returned
            as it is. The name of a shipped user comes before a folder of that name ("./mira" is the folder).
        user: Name of the user in a folder or wheel of users.
        schema: A Schema, its name or its file. By default `schema.json` in the user's folder or the one above it,
            otherwise the shipped schema whose tables the folder has.

    Returns:
        A User, with the periods and the schema.

    Raises:
        FileNotFoundError: `source` doesn't exist.
        BadData: The tables have issues; the message lists all of them.
        ValueError: `user` or `schema` is given although `source` is a User, or a wheel is given without `user`.
    """
    if isinstance(source, User):
        require(
            user is schema is None,
            "user and schema are for folders; the source is a User already",
        )
        return source
    require(
        isinstance(source, (str, os.PathLike)),
        f"a user must be a shipped name, a folder or a User; got {short_repr(source)}",
    )
    if source in list_users() and user in (None, source):
        if schema is None:
            return _load_shipped(source)
        return load_user(data_dir() / "push", source, schema)
    folder = _open(source)
    if user is None:
        if not isinstance(folder, Path):
            users = ", ".join(list_users(source))
            raise ValueError(
                f"{folder.name} holds several users; name one with user=: {users}"
            )
        user_folder = folder.resolve()
        folder = user_folder.parent
        user = user_folder.name
    return _read_user(folder, user, *_find_layout(folder, user, schema))


def load_users(source: Path | str | None = None) -> dict[str, User]:
    """Load every user of a folder or wheel; None loads the shipped users.

    All users get the same schema. Its open features are fitted to all histories together, so that arrays of one user
    fit the spaces of another.

    Returns:
        {name: User}.

    Raises:
        FileNotFoundError: `source` doesn't exist or has no users.
        BadData: The tables have issues; the message lists the first faulty user's.
    """
    names = list_users(source)
    folder = _open(source or data_dir() / "push")
    if not names:
        raise FileNotFoundError(f"no user's tables were found in {folder.name}")
    schema, _ = _find_layout(folder, names[0])
    users = {}
    for name in names:
        users[name] = _read_user(folder, name, *_find_layout(folder, name, schema))
    histories = [user.history.table for user in users.values()]
    fitted = schema.fit(pd.concat(histories))
    return {name: user.with_schema(fitted) for name, user in users.items()}


@lru_cache(maxsize=16)
def _load_shipped(name):
    return load_user(data_dir() / "push", user=name)


def _open(source):
    """Return the path of a folder, or the root of a wheel's content."""
    path = Path(source)
    if path.is_dir():
        return path
    if not path.exists():
        shipped = list_users()
        hint = suggestion(source, shipped)
        if source in shipped:
            hint = ", and are loaded by name alone"
        raise FileNotFoundError(
            f"there is no folder or file {str(source)!r}; the shipped users are {', '.join(shipped)}{hint}"
        )
    try:
        return zipfile.Path(path)
    except zipfile.BadZipFile:
        valid_values = "neither a folder of users nor a wheel (a zip file)"
        raise BadData(DataIssue(path.name, valid_values=valid_values)) from None


def _candidate_schemas(folder, user="", schema=None):
    """Return the given schema, or the one in or above the user's folder, or all shipped ones."""
    if isinstance(schema, Schema):
        return [schema]
    if schema is not None:
        return [Schema.load(schema)]
    for path in (folder / user / "schema.json", folder / "schema.json"):
        if path.exists():
            return [Schema.read(path)]
    return [Schema.load(name) for name in SHIPPED_SCHEMAS]


def _find_layout(folder, user, schema=None):
    """Return the first schema and layout for which the user's folder has a table."""
    files = set()
    for candidate in _candidate_schemas(folder, user, schema):
        for layout in candidate.layouts:
            base = Path(layout["root"]) / user
            for tables in layout["periods"].values():
                names = [(base / table["file"]).as_posix() for table in tables]
                if any((folder / name).exists() for name in names):
                    return candidate, layout
                files.update(names)
    valid_values = f"no table of user {user!r} was found; it needs one of {', '.join(sorted(files))}"
    raise BadData(DataIssue(folder.name, valid_values=valid_values))


# ---------------------------------------------------------------- reading a user


def _read_user(folder, user, schema, layout):
    base = Path(layout["root"]) / user
    rules = _rules(schema)
    issues: list[DataIssue] = []
    tables = {}
    for period, entries in layout["periods"].items():
        files = {}
        for entry in entries:
            files[(base / entry["file"]).as_posix()] = entry["columns"]
        if not any((folder / file).exists() for file in files):
            continue
        parts = {}
        for file, columns in files.items():
            with _collecting(issues):
                parts[file] = _read_part(folder, file, columns, rules)
        if len(parts) == len(files):
            with _collecting(issues):
                table = _join(parts)
                sort_columns = layout.get("sort", [])
                tables[period] = table.sort_values(
                    sort_columns, kind="stable", ignore_index=True
                )
    raise_issues(issues)
    contexts = (base / CONTEXTS).as_posix()
    if "test" not in tables and (folder / contexts).exists():
        tables["test"] = _read_contexts(folder, contexts, schema, rules)
    tables, notes = _split_single_period(tables, user)
    truth = None
    file = (base / "truth.json").as_posix()
    if (folder / file).exists():
        truth = read_json(folder / file, file)
    catalogue = _read_catalogue(folder, base, schema, rules)
    schema = schema.fit(tables["history"])
    periods = {name: Period(schema, table) for name, table in tables.items()}
    return User(user, schema, periods, truth, catalogue, notes)


@contextmanager
def _collecting(issues: list[DataIssue]) -> Iterator[None]:
    """Context manager that appends the issues of a BadData to a list."""
    try:
        yield
    except BadData as error:
        issues += error.issues


def _rules(schema):
    """Return {name: ColumnRule} for the columns of a schema's tables, by their names in the schema."""
    rules = {"id": text_rule()}
    for feature in (*schema.notification, *schema.context):
        rule = _mapping_rule(feature.valid_values, feature.canonical)
        rules[feature.name] = rule
        rules[f"removal.{feature.name}"] = rule
    actions = dict.fromkeys(schema.opened, "opened")
    actions |= dict.fromkeys(schema.dismissed, "dismissed")
    rules["action"] = _mapping_rule(f"one of {', '.join(actions)}", actions.get, "str")
    valid_values = "a date such as 2019-02-18 06:02:26.307535, by the user's own clock and without a time zone"
    rules |= dict.fromkeys(
        DATES, ColumnRule(valid_values, _parse_dates, dtype="datetime64[us]")
    )
    return rules | dict.fromkeys(SECONDS, number_rule(0))


def _mapping_rule(
    valid_values: str, canonical: Callable[[str], str | None], dtype="object"
) -> ColumnRule:
    """Return a rule for texts; `canonical` returns the value of a text, or None if it is invalid."""

    def convert(column):
        return column.map({text: canonical(text) for text in column.unique()})

    return ColumnRule(valid_values, convert, dtype=dtype)


def _parse_dates(texts):
    """Return dates; NaT for a text that isn't a date or has a time zone."""
    local = texts.where(~texts.str.contains("[T ].*[Zz+-]"))
    return pd.to_datetime(local, format="ISO8601", errors="coerce")


def _read_part(folder, file, columns, rules):
    """Return the table in a file, without unused columns.

    Args:
        columns: {column in the file: name in the schema, or None if it is unused}.
    """
    column_rules = {}
    for column, name in columns.items():
        column_rules[column] = rules[name] if name else text_rule()
    table = read_table(folder / file, column_rules, allow_extra=False, name=file)
    if table.empty:
        raise BadData(
            DataIssue(file, valid_values="the table has a header and no rows")
        )
    used = [column for column in table if columns[column]]
    return table[used].rename(columns=columns)


def _join(parts):
    """Return the tables of {file: table} joined on `id`, in the order of the first."""
    joined, *others = parts.values()
    if not others:
        return joined.drop(columns="id", errors="ignore")
    issues = []
    valid_values = f"an id that occurs once in each of {', '.join(parts)}"
    for file, table in parts.items():
        is_wrong = table["id"].duplicated()
        for other in parts.values():
            is_wrong |= ~table["id"].isin(other["id"])
        issues += column_issues(
            file, table.index + 2, "id", table["id"], is_wrong, valid_values
        )
    raise_issues(issues)
    for table in others:
        joined = joined.merge(table, on="id")
    return joined.drop(columns="id")


def _split_single_period(tables, user):
    """Return tables with a history and a test period, and notes. A single period is split into halves."""
    if "history" in tables and "test" in tables:
        return tables, ()
    period, table = next(iter(tables.items()))
    middle = len(table) // 2
    if len(tables) > 1 or middle == 0:
        valid_values = "a user needs a history and a test period, or one period of two rows or more"
        raise BadData(DataIssue(user, valid_values=valid_values))
    test = table[middle:].reset_index(drop=True)
    note = f"there is only the period {period!r}: its first half is the history, its second half the test"
    return {"history": table[:middle], "test": test}, (note,)


def _read_contexts(folder, file, schema, rules):
    """Return the contexts of a private user's hand-out, whose ids count from 0."""
    columns = {name: name for name in ("id", *schema.context.names)}
    table = _read_part(folder, file, columns, rules)
    ids = table.pop("id")
    is_wrong = ids != np.arange(len(table)).astype(str)
    valid_values = "the number of the row, from 0"
    raise_issues(
        column_issues(file, table.index + 2, "id", ids, is_wrong, valid_values)
    )
    return table


def _read_catalogue(folder, base, schema, rules):
    """Return the table of the catalogue in the user's folder or in the one above it, or None."""
    for parent in (base, base.parent):
        file = (parent / "catalogue.csv").as_posix()
        if (folder / file).exists():
            names = schema.notification.names
            columns = {name: rules[name]._replace(required=False) for name in names}
            return read_table(folder / file, columns, allow_extra=False, name=file)
    return None
