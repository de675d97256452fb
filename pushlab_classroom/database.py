"""The database of a class: an SQLite file with the secret, teams, episodes, steps and uploads; see `class.sql`.

One process plays and writes (`pushlab_classroom.session.ClassSession`). Commands such as a new token write briefly, and
any number of processes read. In WAL mode readers never wait. All scores can be computed from the database alone.
"""

import json
import os
import sqlite3
import zlib
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.utils.arguments import require

FILE = "class.db"
VERSION = 2
TABLES = Path(__file__).with_name("class.sql").read_text(encoding="utf-8")
GAMES = ("evalumap2", "push")  # played step by step; evalumap1 takes uploads
MAX_UPLOADS = 20  # per team
PRACTICE_EPISODES = 128  # stored per team, the last used ones
# With the secret, these columns determine an episode. A WHERE clause can follow.
EPISODES = "SELECT episodes.*, teams.name FROM episodes JOIN teams ON teams.id = team "
NEW_EPISODE = (
    "INSERT INTO episodes (team, game, scored, number, begun, user) "
    "VALUES (?, ?, ?, ?, ?, ?)"
)
# Names of all tables and columns, and those that a class needs.
COLUMNS = (
    "SELECT m.name, c.name FROM sqlite_master AS m, pragma_table_info(m.name) AS c"
)
_memory = sqlite3.connect(":memory:")
_memory.executescript(TABLES)
REQUIRED = set(_memory.execute(COLUMNS))
# Open episodes of push without a return, while a class is being closed.
UNSETTLED = "game = 'push' AND scored AND finished IS NULL AND settled IS NULL"


def connect(folder, write=False):
    """Return a connection to the database in the folder of a class.

    Raises:
        FileNotFoundError: The folder has no file class.db.
        OSError: The file is damaged, or this user can't read it (or write it, if `write`).
        ValueError: The file isn't the database of a class, or has another version.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} is not the folder of a class: it has no file {FILE}. `pushlab class new` creates a class"
        )
    with usable(path), ExitStack() as stack:
        connection = sqlite3.connect(
            f"{path.resolve().as_uri()}?mode={'rw' if write else 'ro'}",
            uri=True,
            timeout=30,
            check_same_thread=False,
        )
        stack.callback(connection.close)
        connection.executescript("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")
        [version] = connection.execute("PRAGMA user_version").fetchone()
        require(
            version == VERSION,
            f"{path} can't be used with this version of pushlab: its version must be {VERSION}; got {version}",
        )
        require(
            REQUIRED <= set(connection.execute(COLUMNS))
            and connection.execute("SELECT 1 FROM class").fetchone(),
            f"{path} is not the database of a class: tables, columns or settings are missing",
        )
        if write:  # SQLite opens a file without write permission for reading
            update = f"PRAGMA user_version = {VERSION}"
            connection.executescript(f"BEGIN IMMEDIATE; {update}; ROLLBACK")
        connection.row_factory = sqlite3.Row
        stack.pop_all()
    return connection


def create(folder):
    """Create an empty database that only its owner can read; return a connection."""
    os.close(os.open(folder / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    connection = sqlite3.connect(folder / FILE)
    connection.executescript(
        f"PRAGMA journal_mode = WAL; {TABLES}; PRAGMA user_version = {VERSION}"
    )
    return connection


@contextmanager
def opened(folder, write=False):
    """Context manager that yields a connection and closes it. Raises OSError for a damaged file."""
    with closing(connect(folder, write)) as connection, usable(Path(folder) / FILE):
        yield connection


@contextmanager
def transaction(connection):
    """Context manager of an exclusive transaction. Raises OSError if it can't be stored."""
    with usable("the class"), connection:
        connection.execute("BEGIN IMMEDIATE")
        yield connection


@contextmanager
def usable(path):
    """Context manager that raises an OSError with the path if a database can't be used."""
    try:
        yield
    except sqlite3.Error as error:
        raise OSError(
            f"{path} can't be used: {error}; check the permissions of the file and its folder, and the space on the "
            "disk. A damaged file has to be restored from a copy"
        ) from error


def read_episode(folder, clause, *values):
    """Return the row of table `class`, the first row of EPISODES with an SQL clause (or None), and its steps."""
    with opened(folder) as connection:
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
        with opened(self.folder) as connection:
            rows = connection.execute(query, values)
            names = [name for name, *_ in rows.description]
            return pd.DataFrame([tuple(row) for row in rows], columns=names)

    @property
    def settings(self) -> dict[str, Any]:
        """Settings: name, episodes (scored, per team and game), per_quarter, days, seeded, made, closed, state.

        `state` is "open", "closing" or "closed". `closed` is a time, or None unless the class is closed.
        """
        state = (
            "CASE WHEN closed IS NULL THEN 'open' "
            f"WHEN EXISTS (SELECT 1 FROM episodes WHERE {UNSETTLED}) THEN 'closing' ELSE 'closed' END AS state"
        )
        table = self.query(
            "SELECT name, episodes, per_quarter, days, seeded, made, iif(state = 'closed', closed, NULL) AS closed, "
            f"state FROM (SELECT *, {state} FROM class)"
        )
        return table.to_dict("records")[0]

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
            "SELECT step, action, reward, expected, best, at, answer FROM steps WHERE episode = ? ORDER BY step",
            int(episode),
        )

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
        if self.settings["state"] != "closed":
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
