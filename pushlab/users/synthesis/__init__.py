"""Synthetic users: a phone's days, what arrives on it, what its owner opens, and the truth behind that.

A user is made in five steps, one file each: `day` lives a quarter or two minute by minute, `arrivals` sends
notifications, `taste` gives each the probability of being opened, `user` draws the actions and lays out the tables of
the EvalUMAP 2019 challenge, `write` makes files of them. `catalogue` and `personas` are the tables behind it.

>>> user = make_user(seed=7, name="kim", open_rate=0.4, per_quarter=300)
>>> sorted(user.tables)
['test/notifications.csv', 'train/context_on_posting.csv', 'train/context_on_removal.csv', 'train/notifications.csv']
>>> user.truth["pairs"][0]      # arts on a Sunday are welcome: 1.9 is added to the log-odds
['day', '6', 'subject', 'arts & entertainment', 1.9]
"""

import re
from numbers import Real
from pathlib import Path

from pushlab.users.synthesis.catalogue import CATALOGUE
from pushlab.users.synthesis.day import Timeline, live, plan_day
from pushlab.users.synthesis.headroom import headroom
from pushlab.users.synthesis.personas import INES, MIRA, NOOR, OMAR, THEO, Persona
from pushlab.users.synthesis.strangers import draw_persona
from pushlab.users.synthesis.taste import log_odds, log_odds_grid, open_probability
from pushlab.users.synthesis.user import SyntheticUser, build_user
from pushlab.users.synthesis.write import write_catalogue, write_checksums, write_user

__all__ = [
    "CATALOGUE", "SHIPPED", "Persona", "SyntheticUser", "Timeline", "build_user", "headroom", "live", "log_odds",
    "log_odds_grid", "make_user", "open_probability", "plan_day", "write_all", "write_user",
]

SHIPPED = (         # name, seed, persona of the users below data/push
    ("mira", 11, MIRA),
    ("noor", 12, NOOR),
    ("theo", 13, THEO),
    ("ines", 14, INES),
    ("omar", 15, OMAR),
)


def make_user(seed, name, open_rate=None, per_quarter=None):
    """A SyntheticUser whose week, apps and taste are drawn from a seed; keep the seed secret for a fair evaluation.

    seed         whole number, 0 or more
    name         lower-case letters, digits, - and _
    open_rate    mean probability of opening, 0.02 to 0.98; drawn where not given
    per_quarter  notifications in 84 days, about, 50 to 20,000; drawn where not given
    Raises       ValueError for anything else
    """
    if isinstance(seed, bool) or not hasattr(seed, "__index__") or seed < 0:
        raise ValueError(f"seed is {seed!r}; it should be a whole number, 0 or more")
    if not re.fullmatch(r"[a-z0-9_-]+", str(name)):
        raise ValueError(f"name is {name!r}; it should be lower-case letters, digits, - and _")
    for what, value, low, high in (("open_rate", open_rate, 0.02, 0.98), ("per_quarter", per_quarter, 50, 20_000)):
        if value is not None and not (isinstance(value, Real) and low <= value <= high):
            raise ValueError(f"{what} is {value!r}; it should be a number between {low} and {high:,}")
    return build_user(str(name), int(seed), draw_persona(int(seed), open_rate, per_quarter))


def write_all(folder):
    """Writes shipped users, catalogue, schema and checksums below a folder, always the same bytes; returns paths."""
    paths = write_catalogue(folder)
    for name, seed, persona in SHIPPED:
        paths += write_user(build_user(name, seed, persona), Path(folder) / name, overwrite=True)
    return [*paths, write_checksums(folder, paths)]
