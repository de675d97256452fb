"""The folder of a class: how it is made, its hand-out, its tokens, and how the class is closed."""

import hashlib
import secrets
import time
import unicodedata
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from pushlab.ground.arguments import demand, whole
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import new_folder, write_text
from pushlab.users.synthesis import HANDOUT, make_user, write_handout
from pushlab_classroom.database import (
    EPISODES,
    GAMES,
    NEW_EPISODE,
    UNSETTLED,
    connect,
    create,
    transaction,
)
from pushlab_classroom.episode import ReplayedEpisode
from pushlab_classroom.private_users import challenge_user, new_secret, user_number

MAX_TEAMS = 500
MAX_LETTERS = 80  # of a name


def new_class(
    folder: Path | str,
    teams: Iterable[str],
    seed: str | None = None,
    episodes: int = 10,
    per_quarter: int = 1000,
    days: int = 7,
    name: str = "A class challenge",
) -> dict[str, str]:
    """Make a class; return {team: token}. Only the tokens' SHA-256 are stored.

    Args:
        folder: New or empty; only its owner can read it. Its handout/ is for the students.
        teams: Names that differ in more than small and capital letters.
        seed: Text that makes the same users and episodes again, with other tokens, for anyone who guesses it. None
            takes 32 bytes from the operating system.
        episodes: Scored episodes per team and game, each with its own user, 2 to 50. More of them show smaller
            differences: 10 separate learners from chance in a class of ten, 20 in a class of forty.
        per_quarter: Approximate notifications in 84 days, 100 to 5,000; the length of an episode of evalumap2.
        days: Days of an episode of push, 1 to 28.

    Raises:
        ValueError: An argument is wrong.
        FileExistsError: The folder is not empty.
    """
    names = clean_names(teams)
    [name] = clean_names([name], "name")
    demand(
        seed is None or str(seed).strip(),
        "seed is a text that is hard to guess, or None; got a blank one",
    )
    whole("episodes", episodes, 2, 50)
    whole("per_quarter", per_quarter, 100, 5000)
    whole("days", days, 1, 28)
    secret = new_secret(seed).hex()
    tokens = {team: secrets.token_hex(32) for team in names}
    readme = Path(__file__).with_name("handout.md").read_text(encoding="utf-8")
    readme = readme.format(name=name, episodes=episodes)
    user_seed = challenge_user({"secret": secret, "per_quarter": per_quarter}).seed
    with new_folder(Path(folder)) as new:
        new.chmod(0o700)
        user = make_user(user_seed, "robin", per_quarter=per_quarter)
        write_handout(user, new / HANDOUT)
        write_text(new / HANDOUT / "README.md", readme)
        with closing(create(new)) as connection, transaction(connection):
            row = (name, episodes, per_quarter, days, seed is not None, time.time())
            connection.execute(
                "INSERT INTO class VALUES (?, ?, ?, ?, ?, ?, NULL, ?)", (*row, secret)
            )
            connection.executemany(
                "INSERT INTO teams (name, token) VALUES (?, ?)",
                [(team, _hash(token)) for team, token in tokens.items()],
            )
    return tokens


def clean_names(teams, file="teams", first_row=1):
    """Return the names of teams as they are stored: with single spaces and one spelling of each letter.

    Args:
        file, first_row: Origin of the names, for messages.

    Raises:
        BadData: Names are empty, too long or repeated, or have characters that do not show; all rows are listed.
        ValueError: There are none, or too many.

    >>> clean_names(["  Ada   Lovelace"])
    ['Ada Lovelace']
    """
    names = [
        " ".join(unicodedata.normalize("NFC", str(team)).split()) for team in teams
    ]
    demand(
        1 <= len(names) <= MAX_TEAMS,
        f"a class has 1 to {MAX_TEAMS} teams; got {len(names)}",
    )
    faults = []
    seen = {}
    for row, name in enumerate(names, first_row):
        first, other = seen.setdefault(name.casefold(), (row, name))
        right = ""
        if not name.isprintable() or not 1 <= len(name) <= MAX_LETTERS:
            right = f"a name of 1 to {MAX_LETTERS} letters that can be shown"
        elif first != row:
            right = f"a name of its own; row {first} has {other!r}"
        if right:
            faults.append(Fault(file, row, "team", name, right))
    refuse(faults)
    return names


def _hash(token):
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def new_token(folder: Path | str, team: str) -> str:
    """Return a new token for a team; the old one is void from now on. Raise ValueError if there is no such team."""
    token = secrets.token_hex(32)
    with closing(connect(folder, write=True)) as connection, transaction(connection):
        update = "UPDATE teams SET token = ? WHERE name = ?"
        n_changed = connection.execute(update, (_hash(token), team)).rowcount
        rows = connection.execute("SELECT name FROM teams ORDER BY id")
        names = ", ".join(name for (name,) in rows)
        demand(n_changed, f"no team is called {team!r}; there are {names}")
    return token


def close_class(folder: Path | str) -> None:
    """Close a class: there are no scored steps and no uploads from now on, and the private half of Challenge 1 counts.

    A team that began any scored episode of a game is scored on all of them: those never begun are added, so stopping
    after a lucky one wins nothing. Open episodes of push earn what a phone earns that is left alone.

    If this is interrupted, the class stays unplayable and its standings stay those of an open class, until it is closed
    again.
    """
    with closing(connect(folder, write=True)) as connection:
        with transaction(connection):
            connection.execute(
                "UPDATE class SET closed = ? WHERE closed IS NULL", (time.time(),)
            )
            settings = connection.execute("SELECT * FROM class").fetchone()
            for game in GAMES:
                teams = connection.execute(
                    f"SELECT team, name, count(*) FROM ({EPISODES}) WHERE game = ? AND scored GROUP BY team",
                    (game,),
                ).fetchall()
                for team, name, begun in teams:
                    for number in range(begun, settings["episodes"]):
                        user = user_number(settings, name, game, True, number)
                        row = (team, game, True, number, settings["closed"], user)
                        connection.execute(NEW_EPISODE, row)
        returns = []
        for row in connection.execute(f"{EPISODES} WHERE {UNSETTLED}").fetchall():
            steps = connection.execute(
                "SELECT action FROM steps WHERE episode = ? ORDER BY step", (row["id"],)
            )
            episode = ReplayedEpisode(settings, row, [action for (action,) in steps])
            returns.append((row["total"] + episode.return_if_left(), row["id"]))
        with transaction(connection):
            connection.executemany(
                "UPDATE episodes SET settled = ? WHERE id = ?", returns
            )
