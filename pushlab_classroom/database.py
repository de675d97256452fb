"""The database of a class: an SQLite file with the secret, teams, episodes, steps and uploads; see `class.sql`.

One process plays and writes (`pushlab_classroom.session.ClassSession`). Commands such as a new token write briefly, and
any number of processes read. In WAL mode readers never wait. All scores can be computed from the database alone.
"""

import json
import os
import sqlite3
import zlib
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

FILE = "class.db"
VERSION = 2
GAMES = ("evalumap2", "push")  # played step by step; evalumap1 takes uploads
MAX_UPLOADS = 20  # per team
PRACTICE_EPISODES = 128  # stored per team, the last used ones
# With the secret, these columns determine an episode. A WHERE clause can follow.
EPISODES = "SELECT episodes.*, teams.name FROM episodes JOIN teams ON teams.id = team "
NEW_EPISODE = (
    "INSERT INTO episodes (team, game, scored, number, begun, user) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
# Open episodes of push without a return, while a class is being closed.
UNSETTLED = "game = 'push' AND scored AND finished IS NULL AND settled IS NULL"


def connect(folder, write=False):
    """Return a connection to the database in the folder of a class.

    Raises:
        FileNotFoundError: The folder has no class.db.
        ValueError: The file isn't the database of a class, or has another version.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} is not the folder of a class: it has no {FILE}. `pushlab class new` creates a class"
        )
    connection = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={'rw' if write else 'ro'}",
        uri=True,
        timeout=30,
        check_same_thread=False,
    )
    connection.row_factory = sqlite3.Row
    try:
        connection.executescript("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")
        version = connection.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        version = error
    if version != VERSION:
        connection.close()
        raise ValueError(
            f"{path} can't be used with this version of pushlab: its version must be {VERSION}; got {version}"
        )
    return connection


def create(folder):
    """Create an empty database that only its owner can read; return a connection."""
    os.close(os.open(folder / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    tables = Path(__file__).with_name("class.sql").read_text(encoding="utf-8")
    with closing(sqlite3.connect(folder / FILE)) as connection:
        connection.executescript(
            f"PRAGMA journal_mode = WAL; {tables}; PRAGMA user_version = {VERSION}"
        )
    return connect(folder, write=True)


@contextmanager
def transaction(connection):
    """Context manager of an exclusive transaction. Raises OSError if it can't be stored."""
    try:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
    except sqlite3.Error as error:
        raise OSError(f"the class can't be written: {error}") from error


def read_episode(folder, clause, *values):
    """Return the row of table `class`, the first row of EPISODES with an SQL clause (or None), and its steps."""
    with closing(connect(folder)) as connection:
        settings = connection.execute("SELECT * FROM class").fetchone()
        row = connection.execute(f"{EPISODES} {clause}", values).fetchone()
        query = "SELECT * FROM steps WHERE episode = ? ORDER BY step"
        steps = connection.execute(query, (row and row["id"],)).fetchall()
    return settings, row, steps


class ClassDatabase:
    """The database of a class, for reading. It can be used while the class is played.

    Args:
        folder: Folder of the class.

    Raises:
        FileNotFoundError, ValueError: The folder isn't that of a class; see `connect`.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        connect(folder).close()

    def query(self, query: str, *values: Any) -> pd.DataFrame:
        """Return the result of an SQL query."""
        with closing(connect(self.folder)) as connection:
            rows = connection.execute(query, values)
            names = [name for name, *_ in rows.description]
            return pd.DataFrame([tuple(row) for row in rows], columns=names)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings of the class: name, episodes (scored, per team and game), per_quarter, days, seeded, made, closed.

        `closed` is a time, or None while the class is open or being closed.
        """
        with closing(connect(self.folder)) as connection:
            settings = dict(connection.execute("SELECT * FROM class").fetchone())
            unsettled = connection.execute(f"SELECT 1 FROM episodes WHERE {UNSETTLED}")
            if unsettled.fetchone():
                settings["closed"] = None
        del settings["secret"]
        return settings

    def teams(self) -> pd.DataFrame:
        """Return id and name of each team, in the order in which they were created."""
        return self.query("SELECT id, name FROM teams ORDER BY id")

    def episodes(self, game: str | None = None) -> pd.DataFrame:
        """Return one row per episode.

        The columns are

        - id, team (name), game, scored, number, user (number)
        - begun, finished: seconds since 1970, finished is NaN until then
        - steps: number of steps so far
        - of: length of the episode; NaN in push
        - points, expected: realised and expected points of the steps so far; NaN in push
        - best: expected points of the best notifications in the whole episode; NaN in push
        - return: return so far

        If a team began a scored episode of a game, a closed class has all its scored episodes of this game; those that
        it didn't begin have no steps. In a closed class, the return of an unfinished episode of push includes the
        rewards of a phone without an agent from there on.
        """
        table = self.query(
            f"""SELECT id, name AS team, game, scored, number, user, begun, finished, steps, "of",
            iif(game = 'push', NULL, total) AS points, iif(game = 'push', NULL, expected) AS expected, best,
            coalesce(settled, total) AS "return" FROM ({EPISODES}) WHERE ? IN (game, '') ORDER BY id""",
            game or "",
        )
        float_columns = "begun finished of points expected best return".split()
        return table.astype({**dict.fromkeys(float_columns, float), "scored": bool})

    def steps(self, episode: int) -> pd.DataFrame:
        """Return one row per step: step, action (JSON), reward, expected and best (None in push), at, answer."""
        return self.query(
            "SELECT * FROM steps WHERE episode = ? ORDER BY step", int(episode)
        ).drop(columns="episode")

    def uploads(self) -> pd.DataFrame:
        """Return one row per upload: team, number, at, public, public_low, public_high, and the same for private.

        The private scores are NaN until the class is closed.
        """
        shares = (
            "public public_low public_high private private_low private_high".split()
        )
        table = self.query(
            f"SELECT name AS team, number, at, {', '.join(shares)} FROM uploads "
            "JOIN teams ON teams.id = team ORDER BY uploads.id"
        ).astype(dict.fromkeys(shares, float))
        if self.settings["closed"] is None:
            table[shares[3:]] = float("nan")
        return table

    def answers(self, team: str) -> pd.DataFrame | None:
        """Return half, expected and best for each context of a team's last upload, or None if it has no upload."""
        points = self.query(
            "SELECT points FROM uploads JOIN teams ON teams.id = team WHERE name = ? "
            "ORDER BY number DESC LIMIT 1",
            team,
        )["points"]
        if points.empty:
            return None
        rows = json.loads(zlib.decompress(points[0]))
        return pd.DataFrame(rows, columns=["half", "expected", "best"])
