"""Synthetic users: a phone's days, what arrives on it, what its owner opens, and the truth behind that.

`day` lives a quarter or two minute by minute, `arrivals` sends notifications, `taste` gives each the probability of
being opened, `user` draws the actions, lays out the tables of the EvalUMAP 2019 challenge and writes them as files.
`personas` are the people of the shipped users, `strangers` draws others.

>>> user = make_user(seed=7, name="kim", open_rate=0.4, per_quarter=300)
>>> sorted(user.tables)
['test/notifications.csv', 'train/context_on_posting.csv', 'train/context_on_removal.csv', 'train/notifications.csv']
>>> user.truth["pairs"][0]      # arts on a Sunday are welcome: 1.9 is added to the log-odds
['day', '6', 'subject', 'arts & entertainment', 1.9]
"""

import re
from pathlib import Path

from pushlab.ground.arguments import demand, number, whole
from pushlab.users.synthesis.personas import INES, MIRA, NOOR, OMAR, THEO
from pushlab.users.synthesis.strangers import draw_persona
from pushlab.users.synthesis.taste import headroom
from pushlab.users.synthesis.user import (
    SyntheticUser,
    build_user,
    write_catalogue,
    write_checksums,
    write_user,
)

__all__ = [
    "SHIPPED",
    "build_user",
    "headroom",
    "make_user",
    "write_all",
    "write_catalogue",
    "write_user",
]

# Name, seed and persona of the users below data/push.
SHIPPED = (
    ("mira", 11, MIRA),
    ("noor", 12, NOOR),
    ("theo", 13, THEO),
    ("ines", 14, INES),
    ("omar", 15, OMAR),
)


def make_user(
    seed: int, name: str, open_rate: float | None = None, per_quarter: int | None = None
) -> SyntheticUser:
    """A SyntheticUser whose week, apps and taste are drawn from a seed; keep the seed secret for a fair evaluation.

    seed         whole number, 0 or more
    name         lower-case letters, digits, - and _
    open_rate    mean probability of opening, 0.02 to 0.98; drawn where not given
    per_quarter  notifications in 84 days, about, 50 to 20,000; drawn where not given
    Raises       ValueError for anything else
    """
    whole("seed", seed, 0)
    demand(
        re.fullmatch(r"[a-z0-9_-]+", str(name)),
        f"name is lower-case letters, digits, - and _; got {name!r}",
    )
    for what, value, low, high in (
        ("open_rate", open_rate, 0.02, 0.98),
        ("per_quarter", per_quarter, 50, 20_000),
    ):
        if value is not None:
            number(what, value, low, high)
    return build_user(
        str(name), int(seed), draw_persona(int(seed), open_rate, per_quarter)
    )


def write_all(folder: Path | str) -> list[Path]:
    """Writes shipped users, catalogue, schema and checksums below a folder, always the same bytes; returns paths."""
    paths = write_catalogue(folder)
    for name, seed, persona in SHIPPED:
        paths += write_user(
            build_user(name, seed, persona), Path(folder) / name, overwrite=True
        )
    return [*paths, write_checksums(folder, paths)]
