"""The book of a class: one SQLite file with the secret, teams, episodes and every step that was answered.

One process plays and writes (`pushlab.classroom.room.Room`), commands such as a new token write for a moment, and any
number read; in WAL mode readers never wait. What an episode is worth can be computed from the book alone. Its tables
are in `class.sql`.
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

FILE, VERSION = "class.db", 2
GAMES = ("evalumap2", "push")  # played step by step; evalumap1 is answered by uploads
BEGIN = "INSERT INTO episodes (team, game, scored, number, begun, user) VALUES (?, ?, ?, ?, ?, ?)"


def connect(folder: Path | str, write: bool = False) -> sqlite3.Connection:
    """The class.db of a class folder, opened; what writes begins a transaction.

    A commit is on the disk; those of a `Room` are not waited for and outlive its process alone (synchronous NORMAL): a
    machine that loses power may come back without the last ones, in order, and with a file that is sound.

    Raises FileNotFoundError where there is none, ValueError for a file that is none of ours or of another version.
    """
    path = Path(folder) / FILE
    if not path.is_file():
        raise FileNotFoundError(
            f"{folder} is no class: there is no {FILE} in it; `pushlab class new` makes one"
        )
    link = sqlite3.connect(
        f"{path.resolve().as_uri()}?mode={'rw' if write else 'ro'}",
        uri=True,
        timeout=30,
        check_same_thread=False,
    )
    link.row_factory = sqlite3.Row
    try:
        link.executescript("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL")
        version = link.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.DatabaseError as error:
        version = error
    if version != VERSION:
        link.close()
        raise ValueError(
            f"{path} is no class of this pushlab: its tables have version {VERSION}; here it is {version}"
        )
    return link


def create(folder: Path) -> sqlite3.Connection:
    """A new class.db that only its owner may read, with its tables, opened for writing."""
    os.close(os.open(folder / FILE, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    with closing(sqlite3.connect(folder / FILE)) as link:
        tables = Path(__file__).with_name("class.sql").read_text(encoding="utf-8")
        link.executescript(
            f"PRAGMA journal_mode = WAL; {tables}; PRAGMA user_version = {VERSION}"
        )
    return connect(folder, write=True)


@contextmanager
def transaction(link: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of what is written inside, or nothing, while nobody else writes; OSError where it cannot be kept."""
    try:
        with link:
            link.execute("BEGIN IMMEDIATE")
            yield link
    except sqlite3.Error as error:
        raise OSError(f"the class could not be written: {error}") from error


class Book:
    """A class read from its folder, while it is played or not; each question sees what is committed by then.

    Raises FileNotFoundError or ValueError for what is no class.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        connect(folder).close()

    def rows(self, question: str, *values: Any) -> pd.DataFrame:
        """The answer to an SQL question, a DataFrame."""
        with closing(connect(self.folder)) as link:
            found = link.execute(question, values)
            return pd.DataFrame(
                [tuple(row) for row in found],
                columns=[name for name, *_ in found.description],
            )

    @property
    def settings(self) -> dict[str, Any]:
        """name, episodes (scored, a team and game), per_quarter, days, closed (when, or None), made; not the secret."""
        with closing(connect(self.folder)) as link:
            return {
                key: value
                for key, value in dict(
                    link.execute("SELECT * FROM class").fetchone()
                ).items()
                if key != "secret"
            }

    def teams(self) -> pd.DataFrame:
        """id and name of each team, in the order in which they were given."""
        return self.rows("SELECT id, name FROM teams ORDER BY id")

    def episodes(self, game: str | None = None) -> pd.DataFrame:
        """A row an episode: id, team (name), game, scored, number, user (number), begun, finished (seconds since 1970,
        NaN while it is played), steps, of (NaN in push), points (realised) and expected of the steps answered, best
        (expected points of the best notifications in the whole episode; these three NaN in push), and return.

        When the class is closed, the episodes that a team never began are there too, with no steps (`best` is NaN), of
        each game of which it began any; and the return of push is settled where an episode was left open: as if
        everything that arrived from then on had been put off until it expired.
        """
        table = self.rows("SELECT * FROM told WHERE ? IN (game, '')", game or "")
        numbers = ["begun", "finished", "of", "points", "expected", "best", "return"]
        return table.astype({**dict.fromkeys(numbers, float), "scored": bool})

    def steps(self, episode: int) -> pd.DataFrame:
        """A row a step of an episode: step, action (JSON), reward, expected and best (None in push), at, answer."""
        return self.rows(
            "SELECT * FROM steps WHERE episode = ? ORDER BY step", int(episode)
        ).drop(columns="episode")

    def uploads(self) -> pd.DataFrame:
        """A row an upload: team (name), number, at, public, public_low, public_high, and the same of private.

        Private shares are NaN until the class is closed.
        """
        table = self.rows("SELECT * FROM handed")
        return table.astype(dict.fromkeys(table.columns[3:], float))

    def answers(self, team: str) -> pd.DataFrame | None:
        """A row a context of a team's last upload: half ("public" or "private"), expected, best; None without one."""
        found = self.rows(
            "SELECT points FROM uploads JOIN teams ON teams.id = team WHERE name = ? "
            "ORDER BY number DESC LIMIT 1",
            team,
        )
        points = [json.loads(zlib.decompress(data)) for data in found["points"]]
        return (
            pd.DataFrame(points[0], columns=["half", "expected", "best"])
            if points
            else None
        )

    def phone(self, most: int = 60) -> list[dict[str, Any]]:
        """The last steps of the practice episode of evalumap2 that was begun last, as `pushlab.plots.phone` takes them.

        Frames without what no phone would tell, oldest first; [] before anybody practises.
        """
        from pushlab.classroom.lived import Lived

        with closing(connect(self.folder)) as link:
            row = link.execute(
                "SELECT * FROM lived WHERE game = 'evalumap2' AND NOT scored AND steps "
                "ORDER BY id DESC LIMIT 1"
            ).fetchone()
            settings = link.execute("SELECT * FROM class").fetchone()
        life, frames = row and Lived(settings, row), []
        for action in self.steps(row["id"])["action"] if row else ():
            life.advance(json.loads(action))
            frames.append(life.frame())
        return frames[-most:]
