"""What the worlds of phones have in common: one or several users, a judge for each, and who is met."""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from typing import Any

import numpy as np

from pushlab.datasets.periods import User
from pushlab.datasets.reading import load_user
from pushlab.datasets.schema import Schema
from pushlab.envs.world import World
from pushlab.ground.arguments import demand, in_short, naming, one_of
from pushlab.users.judges import judge_for


class UserWorld(World):
    """A world of one user or several with one schema; `user`, `schema` and `judge` are the first one's."""

    def __init__(self, user: Any, judge: Any):
        """user: a name, folder or User, or a list of them; judge: None or a name, or one judge for all."""
        several = user if isinstance(user, (list, tuple)) else [user]
        for one in several:
            demand(
                isinstance(one, (PathLike, User)) or (isinstance(one, str) and one),
                f"user is the name of a shipped user, a folder, a User, or a list of them; got {in_short(one)}",
            )
        with naming("user", user):
            self.users: list[User] = [load_user(one) for one in several]
        demand(
            self.users and len({one.name for one in self.users}) == len(self.users),
            f"user is one user, or a list of at least one with different names; got {in_short(user)}",
        )
        self.user, self.schema = self.users[0], self.users[0].schema
        for one in self.users:
            half = _different_half(one.schema, self.schema)
            demand(
                half is None,
                f"users {self.user.name} and {one.name} have {half}s of different features or values; "
                "load_users fits them together",
            )
        self.judges = [
            judge_for(one, judge) if judge is None or isinstance(judge, str) else judge
            for one in self.users
        ]
        self.judge = self.judges[0]
        demand(
            hasattr(self.judge, "chances"),
            f"judge is the name of one, or an object with chances(contexts); got {in_short(self.judge)}",
        )
        for one, its_judge in zip(self.users, self.judges):
            demand(
                _different_half(one.schema, getattr(its_judge, "schema", one.schema))
                is None,
                f"the judge {self.judge.name} was fitted to another schema than that of user {one.name}",
            )

    @property
    def task(self) -> str:
        """What the lifelong metrics call this world: each user is a task of its own."""
        return f"{self.name}:{'+'.join(user.name for user in self.users)}"

    @property
    def labels(self) -> dict:
        """What pictures call the features, by name."""
        return {**self.schema.context.labels(), **self.schema.notification.labels()}

    def users_asked(self, wanted: Any, n: int) -> np.ndarray | None:
        """The places of the users that the reset option names, int64 (n,); None without one."""
        wanted, names = one_each("user", wanted, n), [user.name for user in self.users]
        if wanted is None:
            return None
        return np.array(
            [names.index(one_of("the option user", name, names)) for name in wanted],
            np.int64,
        )


def one_each(name: str, wanted: Any, n: int) -> Sequence | None:
    """A reset option as a list of n values: those given, or the one given n times; None stays None."""
    if wanted is None:
        return None
    are_many = isinstance(wanted, (list, tuple)) or (
        isinstance(wanted, np.ndarray) and wanted.ndim
    )
    wanted = list(wanted) if are_many else [wanted] * n
    demand(
        len(wanted) == n,
        f"the option {name} is one value, or a list with one for each of {n} copies; got {in_short(wanted)}",
    )
    return wanted


def _different_half(one: Schema, other: Schema) -> str | None:
    """Which half of two schemas has other features or values, so that arrays would not mean the same; None if none."""
    for half in ("context", "notification"):
        first, second = (
            [(feature.name, feature.words) for feature in getattr(schema, half)]
            for schema in (one, other)
        )
        if first != second:
            return half
    return None
