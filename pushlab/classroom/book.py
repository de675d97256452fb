"""The book of a class: one SQLite file with the secret, users, teams, episodes and every step that was answered.

One process writes (`pushlab.classroom.room.Room`, and commands such as a new token for a moment), any number read. In
WAL mode readers never wait for the writer. What an episode is worth can be computed from the book alone.
"""

import json
import os
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

FILE, VERSION = "class.db", 1
GAMES = ("evalumap2", "push")           # played step by step; evalumap1 is answered by uploads

TABLES = """
CREATE TABLE settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);      -- values are JSON
CREATE TABLE users (id INTEGER PRIMARY KEY, role TEXT NOT NULL, number INTEGER NOT NULL, seed TEXT NOT NULL,
                    intercept REAL NOT NULL, UNIQUE (role, number));
CREATE TABLE teams (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, token TEXT NOT NULL UNIQUE);  -- SHA-256 of it
-- steps, total and expected are of what was answered so far; "of" and best of the whole episode; began is what reset
-- told; settled is what the rewards add up to once the class is closed and nobody plays on.
CREATE TABLE episodes (id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES teams, game TEXT NOT NULL,
                       scored INTEGER NOT NULL, number INTEGER NOT NULL, user INTEGER NOT NULL REFERENCES users,
                       begun REAL NOT NULL, finished REAL, steps INTEGER NOT NULL DEFAULT 0,
                       total REAL NOT NULL DEFAULT 0, expected REAL NOT NULL DEFAULT 0,
                       "of" INTEGER, best REAL, began TEXT, settled REAL, UNIQUE (team, game, scored, number));
CREATE TABLE steps (episode INTEGER NOT NULL REFERENCES episodes, step INTEGER NOT NULL, action TEXT NOT NULL,
                    reward REAL NOT NULL, expected REAL, best REAL, at REAL NOT NULL, answer TEXT NOT NULL,
                    PRIMARY KEY (episode, step)) WITHOUT ROWID;
-- points: a row a context, [half, expected, best]; file and points are compressed
CREATE TABLE uploads (id INTEGER PRIMARY KEY, team INTEGER NOT NULL REFERENCES teams, number INTEGER NOT NULL,
                      at REAL NOT NULL, sha256 TEXT NOT NULL, file BLOB NOT NULL, points BLOB NOT NULL,
                      public TEXT NOT NULL, private TEXT NOT NULL, UNIQUE (team, number));
"""


def connect(folder: Path | str, write: bool = False) -> sqlite3.Connection:
    """The class.db of a class folder, opened; transactions are begun by hand.

    Raises FileNotFoundError where there is none, ValueError for a file that is none of ours or of another version.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} is no class: there is no {FILE} in it; `pushlab class new` makes one")
    link = sqlite3.connect(f"{path.resolve().as_uri()}?mode={'rw' if write else 'ro'}", uri=True, timeout=30,
                           isolation_level=None, check_same_thread=False)
    try:
        link.execute("PRAGMA foreign_keys = ON")
        link.execute("PRAGMA synchronous = NORMAL")
        version, = link.execute("PRAGMA user_version").fetchone()
    except sqlite3.DatabaseError as error:
        link.close()
        raise ValueError(f"{path} cannot be read as a class: {error}") from None
    if version != VERSION:
        link.close()
        raise ValueError(f"{path} has version {version} of the tables, and this pushlab reads {VERSION}")
    link.row_factory = sqlite3.Row
    return link


def create(folder: Path) -> sqlite3.Connection:
    """A new class.db that only its owner may read, with its tables, opened for writing."""
    os.close(os.open(folder / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(folder / FILE)) as link:
        link.execute("PRAGMA journal_mode = WAL")
        link.executescript(f"{TABLES}; PRAGMA user_version = {VERSION}")
    return connect(folder, write=True)


@contextmanager
def transaction(link: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of what is written inside, or nothing; OSError where the database cannot keep it, such as on a full disk."""
    try:
        link.execute("BEGIN IMMEDIATE")
        yield link
        link.execute("COMMIT")
    except BaseException as error:
        if link.in_transaction:
            link.execute("ROLLBACK")
        if isinstance(error, sqlite3.Error):
            raise OSError(f"the class could not be written: {error}") from error
        raise


def settings_of(link: sqlite3.Connection) -> dict[str, Any]:
    """The settings of a class: name, episodes, per_quarter, days, closed, and the secret in hexadecimal."""
    return {key: json.loads(value) for key, value in link.execute("SELECT key, value FROM settings")}


class Book:
    """A class read from its folder, while it is played or not; each question sees what is committed by then.

    >>> Book("no class here").teams()
    Traceback (most recent call last):
    FileNotFoundError: no class here is no class: there is no class.db in it; `pushlab class new` makes one
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)

    def rows(self, question: str, *values: Any) -> pd.DataFrame:
        """The answer to an SQL question, a DataFrame."""
        with closing(connect(self.folder)) as link:
            found = link.execute(question, values)
            return pd.DataFrame([tuple(row) for row in found], columns=[name for name, *_ in found.description])

    @property
    def settings(self) -> dict[str, Any]:
        """name, episodes (scored, a team and game), per_quarter, days, closed (when, or None); not the secret."""
        with closing(connect(self.folder)) as link:
            return {key: value for key, value in settings_of(link).items() if key != "secret"}

    def teams(self) -> pd.DataFrame:
        """id and name of each team, in the order in which they were given."""
        return self.rows("SELECT id, name FROM teams ORDER BY id")

    def episodes(self, game: str | None = None) -> pd.DataFrame:
        """A row an episode: id, team (name), game, scored, number, user (number), begun, finished (seconds since 1970,
        NaN while it is played), steps, of (NaN in push), points (realised) and expected of the steps answered, best
        (expected points of the best notifications in the whole episode; these three NaN in push), and return.

        The return of a push episode that was left open is settled when the class is closed: as if everything that
        arrived from then on had been put off until it expired.
        """
        table = self.rows("""
            SELECT episodes.id, teams.name AS team, game, scored, episodes.number, users.number AS user, begun,
                   finished, steps, "of", CASE game WHEN 'push' THEN NULL ELSE total END AS points,
                   CASE game WHEN 'push' THEN NULL ELSE expected END AS expected, best,
                   coalesce(settled, total) AS "return"
            FROM episodes JOIN teams ON teams.id = team JOIN users ON users.id = user
            WHERE ? IS NULL OR game = ? ORDER BY episodes.id""", game, game)
        numbers = ["begun", "finished", "of", "points", "expected", "best", "return"]
        return table.astype({**dict.fromkeys(numbers, float), "scored": bool})

    def steps(self, episode: int) -> pd.DataFrame:
        """A row a step of an episode: step, action (JSON), reward, expected and best (None in push), at, answer."""
        return self.rows("SELECT step, action, reward, expected, best, at, answer FROM steps WHERE episode = ? "
                         "ORDER BY step", int(episode))

    def uploads(self) -> pd.DataFrame:
        """A row an upload: team (name), number, at, public, public_low, public_high, and the same of private.

        Private shares are NaN until the class is closed.
        """
        table = self.rows("SELECT teams.name AS team, number, at, public, private FROM uploads "
                          "JOIN teams ON teams.id = team ORDER BY uploads.id")
        closed = self.settings["closed"]
        for half in ("public", "private"):
            told = [json.loads(text) if closed or half == "public" else [float("nan")] * 3 for text in table.pop(half)]
            names = [half, f"{half}_low", f"{half}_high"]
            table[names] = pd.DataFrame(told, columns=names, index=table.index, dtype=float)
        return table

    def answers(self, team: str) -> pd.DataFrame | None:
        """A row a context of a team's last upload: half ("public" or "private"), expected, best; None without one."""
        found = self.rows("SELECT points FROM uploads JOIN teams ON teams.id = team WHERE name = ? "
                          "ORDER BY number DESC LIMIT 1", team)
        points = [json.loads(zlib.decompress(data)) for data in found["points"]]
        return pd.DataFrame(points[0], columns=["half", "expected", "best"]) if points else None
