"""Administration of a class: creating its folder and hand-out, new tokens, and closing it."""

import hashlib
import secrets
import time
import unicodedata
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from pushlab.users.synthesis import HANDOUT, make_user, write_handout
from pushlab.utils.arguments import require, validate_integer
from pushlab.utils.files import new_folder, write_text
from pushlab.utils.issues import DataIssue, raise_issues
from pushlab_classroom.database import (
    EPISODES,
    GAMES,
    NEW_EPISODE,
    UNSETTLED,
    create,
    opened,
    transaction,
)
from pushlab_classroom.episode import ReplayedEpisode
from pushlab_classroom.private_users import challenge_user, new_secret, user_number

MAX_TEAMS = 500
MAX_NAME_LENGTH = 80


def new_class(
    folder: Path | str,
    teams: Iterable[str],
    seed: str | None = None,
    episodes: int = 10,
    per_quarter: int = 1000,
    days: int = 7,
    name: str = "A class challenge",
) -> dict[str, str]:
    """Create a class; return {team: token}. Only the SHA-256 of each token is stored.

    Args:
        folder: A new or empty folder. Only its owner can read it. Its handout/ is for the students.
        teams: Names of the teams. They must differ by more than upper and lower case.
        seed: Text from which the users and episodes can be generated again (with other tokens). Anyone who guesses it
            knows them. None uses 32 random bytes from the operating system.
        episodes: Number of scored episodes per team and game, each with its own user, 2 to 50. More episodes show
            smaller differences: 10 separate learners from chance in a class of ten teams, 20 in a class of forty.
        per_quarter: Approximate number of notifications in 84 days, 100 to 5,000. It is the length of an episode of
            evalumap2.
        days: Number of days of an episode of push, 1 to 28.
        name: Name of the class.

    Raises:
        ValueError: An argument is invalid.
        FileExistsError: The folder isn't empty.
    """
    names = clean_names(teams)
    [name] = clean_names([name], "name")
    require(
        seed is None or str(seed).strip(),
        f"seed must be a text that is hard to guess, or None; got {seed!r}",
    )
    validate_integer("episodes", episodes, 2, 50)
    validate_integer("per_quarter", per_quarter, 100, 5000)
    validate_integer("days", days, 1, 28)
    secret = new_secret(seed).hex()
    tokens = {team: secrets.token_hex(32) for team in names}
    readme = Path(__file__).with_name("handout.md").read_text(encoding="utf-8")
    user_seed = challenge_user({"secret": secret, "per_quarter": per_quarter}).seed
    with new_folder(Path(folder)) as new:
        new.chmod(0o700)
        write_handout(
            make_user(user_seed, "robin", per_quarter=per_quarter), new / HANDOUT
        )
        write_text(
            new / HANDOUT / "README.md", readme.format(name=name, episodes=episodes)
        )
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
    """Return the names of teams with single spaces and Unicode normalised (NFC).

    Args:
        teams: Names of the teams.
        file, first_row: Origin of the names, for messages.

    Raises:
        BadData: Names are empty, too long or repeated, or have unprintable characters. The message lists all of them.
        ValueError: There are no teams, or too many.

    >>> clean_names(["  Ada   Lovelace"])
    ['Ada Lovelace']
    """
    names = [
        " ".join(unicodedata.normalize("NFC", str(team)).split()) for team in teams
    ]
    require(
        1 <= len(names) <= MAX_TEAMS,
        f"a class has 1 to {MAX_TEAMS} teams; got {len(names)}",
    )
    issues = []
    seen = {}
    for row, name in enumerate(names, first_row):
        first, other = seen.setdefault(name.casefold(), (row, name))
        valid_values = ""
        if not name.isprintable() or not 1 <= len(name) <= MAX_NAME_LENGTH:
            valid_values = f"a name of 1 to {MAX_NAME_LENGTH} printable characters"
        elif first != row:
            valid_values = f"a unique name; row {first} has {other!r}"
        if valid_values:
            issues.append(DataIssue(file, row, "team", name, valid_values))
    raise_issues(issues)
    return names


def _hash(token):
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def new_token(folder: Path | str, team: str) -> str:
    """Create and return a new token for a team; the old one becomes invalid.

    Raises:
        ValueError: There is no such team.
    """
    token = secrets.token_hex(32)
    with opened(folder, write=True) as connection, transaction(connection):
        n_changed = connection.execute(
            "UPDATE teams SET token = ? WHERE name = ?", (_hash(token), team)
        ).rowcount
        rows = connection.execute("SELECT name FROM teams ORDER BY id")
        names = ", ".join(name for (name,) in rows)
        require(n_changed, f"there is no team {team!r}; the teams are {names}")
    return token


def close_class(folder: Path | str) -> None:
    """Close a class: it accepts no more scored steps and uploads, and the private half of Challenge 1 counts.

    A team that began any scored episode of a game is scored on all of them. Episodes that it didn't begin are added, so
    a team can't gain by stopping after a lucky episode. Unfinished episodes of push get the return of a phone without
    an agent.

    If closing is interrupted, the class can't be played, its state is "closing", and its standings stay those of an
    open class until `close_class` is called again. It continues with the episodes that aren't settled yet.
    """
    with opened(folder, write=True) as connection:
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
                for team, name, n_begun in teams:
                    for number in range(n_begun, settings["episodes"]):
                        user = user_number(settings, name, game, True, number)
                        row = (team, game, True, number, settings["closed"], user)
                        connection.execute(NEW_EPISODE, row)
        for row in connection.execute(f"{EPISODES} WHERE {UNSETTLED}").fetchall():
            steps = connection.execute(
                "SELECT action FROM steps WHERE episode = ? ORDER BY step", (row["id"],)
            )
            episode = ReplayedEpisode(settings, row, [action for (action,) in steps])
            total = row["total"] + episode.return_without_agent()
            with transaction(connection):
                connection.execute(
                    "UPDATE episodes SET settled = ? WHERE id = ?", (total, row["id"])
                )
