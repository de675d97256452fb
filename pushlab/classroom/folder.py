"""A class on disk: how it is made, what its students get, its tokens, and how it is closed."""

import hashlib
import secrets
import time
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

from pushlab.classroom.book import BEGIN, GAMES, connect, create, transaction
from pushlab.classroom.chance import derived, new_secret
from pushlab.classroom.lived import Lived
from pushlab.classroom.lives import whom
from pushlab.classroom.network import clean
from pushlab.classroom.room import KEPT
from pushlab.classroom.uploads import MOST
from pushlab.ground.arguments import demand, whole
from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import new_folder, write_text
from pushlab.users.synthesis import HANDOUT, make_user, write_handout

HISTORY = "robin"  # what the user of Challenge 1 is called
MOST_TEAMS = 500


def new_class(
    folder: Path | str,
    teams: Iterable[str],
    seed: str | None = None,
    episodes: int = 10,
    per_quarter: int = 1000,
    days: int = 7,
    name: str = "A class challenge",
) -> dict[str, str]:
    """Makes a class; returns {team: token}, which cannot be had again: only the tokens' SHA-256 are kept.

    folder       new or empty; nobody else may read it. Its handout/ is what students get
    teams        names, all different, small and capital letters being the same
    seed         None: 32 bytes of the operating system; a text makes the same users and episodes again, with other
                 tokens, and whoever guesses it can do so too
    episodes     scored episodes that a team has in each game, each with a user of its own, 2 to 50. The more, the
                 smaller the differences that show: 10 tell learners from chance in a class of ten, 20 in one of forty
    per_quarter  notifications in 84 days, about, 100 to 5,000: as many steps has an episode of evalumap2
    days         days of an episode of push, 1 to 28

    Raises ValueError for wrong arguments, FileExistsError for a folder that holds anything.
    """
    folder, teams, name = Path(folder), named(teams), clean(name)
    demand(
        seed is None or str(seed).strip(),
        "seed is a text that is hard to guess, or None; got a blank one",
    )
    for what, value, least, most in (
        ("episodes", episodes, 2, 50),
        ("per_quarter", per_quarter, 100, 5000),
        ("days", days, 1, 28),
    ):
        whole(what, value, least, most)
    secret = new_secret(seed)
    tokens = {team: secrets.token_hex(32) for team in teams}
    about = Path(__file__).with_name("handout.md").read_text(encoding="utf-8")
    with new_folder(folder) as new:
        new.chmod(0o700)
        robin = make_user(
            derived(secret, "person", "history", 0), HISTORY, per_quarter=per_quarter
        )
        write_handout(robin, new / HANDOUT)
        write_text(
            new / HANDOUT / "README.md",
            about.format(
                name=name, user=HISTORY, uploads=MOST, episodes=episodes, kept=KEPT
            ),
        )
        with closing(create(new)) as link, transaction(link):
            link.execute(
                "INSERT INTO class VALUES (?, ?, ?, ?, ?, ?, NULL, ?)",
                (
                    name,
                    episodes,
                    per_quarter,
                    days,
                    seed is not None,
                    time.time(),
                    secret.hex(),
                ),
            )
            link.executemany(
                "INSERT INTO teams (name, token) VALUES (?, ?)",
                [(team, _hashed(token)) for team, token in tokens.items()],
            )
    return tokens


def alike(team: str) -> str:
    """What two names have in common that differ in small and capital letters alone, or in how an accent is written.

    >>> alike("ZOE\u0301") == alike("Zo\u00e9")
    True
    """
    return normalize("NFC", team.casefold())


def named(
    teams: Iterable[str], file: str = "teams", rows: Sequence[int] | None = None
) -> list[str]:
    """Names of teams as they are kept; BadData with every row whose name is empty or there twice.

    file, rows   where they are from, for the faults

    Raises ValueError for none and for too many.
    """
    names = [
        clean(str(team)) for team in ([teams] if isinstance(teams, str) else teams)
    ]
    demand(
        1 <= len(names) <= MOST_TEAMS,
        f"a class has 1 to {MOST_TEAMS} teams; got {len(names)}",
    )
    faults, seen = [], {}
    for row, name in zip(rows or range(1, len(names) + 1), names):
        first, other = seen.setdefault(alike(name), (row, name))
        if not name:
            faults.append(Fault(file, row, "team", name, "a name that can be shown"))
        elif first != row:
            faults.append(
                Fault(
                    file,
                    row,
                    "team",
                    name,
                    f"a name of its own; row {first} has {other!r}",
                )
            )
    refuse(faults)
    return names


def _hashed(token):
    return hashlib.sha256(token.encode("ascii")).hexdigest()


def new_token(folder: Path | str, team: str) -> str:
    """A new token for a team; the old one is void from now on. Raises ValueError where there is no such team."""
    token = secrets.token_hex(32)
    with closing(connect(folder, write=True)) as link, transaction(link):
        changed = link.execute(
            "UPDATE teams SET token = ? WHERE name = ?", (_hashed(token), team)
        ).rowcount
        names = ", ".join(
            name for (name,) in link.execute("SELECT name FROM teams ORDER BY id")
        )
        demand(changed, f"no team is called {team!r}; there are {names}")
    return token


def close_class(folder: Path | str) -> None:
    """Closes a class: no scored step and no upload from now on, and the private half of Challenge 1 is told.

    Who began any scored episode of a game is scored on all of them: those never begun are entered, so that stopping
    after a lucky one wins nothing. Episodes of push that are open are settled: what arrives from there on is put off
    until it expires.
    """
    with closing(connect(folder, write=True)) as link:
        with transaction(link):
            link.execute(
                "UPDATE class SET closed = ? WHERE closed IS NULL", (time.time(),)
            )
            settings = link.execute("SELECT * FROM class").fetchone()
            for game in GAMES:
                begun = link.execute(
                    "SELECT team, name, count(*) FROM lived WHERE game = ? AND scored GROUP BY team",
                    (game,),
                ).fetchall()
                link.executemany(
                    BEGIN,
                    [
                        (
                            team,
                            game,
                            1,
                            number,
                            settings["closed"],
                            whom(settings, name, game, True, number),
                        )
                        for team, name, count in begun
                        for number in range(count, settings["episodes"])
                    ],
                )
        for row in link.execute(
            "SELECT * FROM lived WHERE game = 'push' AND scored AND finished IS NULL"
        ).fetchall():
            made = link.execute(
                "SELECT action FROM steps WHERE episode = ? ORDER BY step", (row["id"],)
            ).fetchall()
            settled = (
                row["total"]
                + Lived(settings, row, [action for (action,) in made]).leave()
            )
            with transaction(link):
                link.execute(
                    "UPDATE episodes SET settled = ? WHERE id = ?", (settled, row["id"])
                )
