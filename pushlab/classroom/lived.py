"""One episode of a class as it is lived: the library's own world, what a phone would tell of it, and what it is worth.

Everything follows from the secret, the team's name, the game and the episode's number, so that the same actions give
the same answers again, to the digit: after a restart, and when a lecturer plays an episode again.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any

import numpy as np

from pushlab.classroom.chance import derived
from pushlab.classroom.lives import Person, person_of, world_of, worth_of
from pushlab.envs.shell import Env, reader_of
from pushlab.metrics.push import POINTS
from pushlab.users.synthesis.user import shared_texts

WORTH = POINTS.tolist()
CACHE, STAND_BY = 2, 4
SAID = (
    "name",
    "candidates",
    "labels",
    "observation_names",
    "action_names",
    "action_choices",
    "actions",
    "fates",
    "worths",
    "weights",
    "horizon",
)  # what a world says of itself, where it has it


def plain(value: Any) -> Any:
    """An observation or info as JSON has it: numbers, and lists and dicts of them."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(value: Any) -> str:
    """The one way in which answers are kept, so that equal ones are equal byte by byte."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class Lived:
    """An episode up to some step.

    world  the world that is played; env, the Env around it; check(action, 1), its own check of an action
    now    {"observation", "info"} of the moment
    team   whose it is; scored, whether it counts
    step   how many steps were made; of, how many there are (None where nobody knows)
    best   expected points of the best notification in each context of the episode, or None
    over   whether it has ended
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        row: Mapping[str, Any],
        actions: Iterable[str] = (),
    ):
        """settings: the table `class`; row: one of the view `lived`; actions: JSON of those that were made."""
        secret, words = (
            bytes.fromhex(settings["secret"]),
            [row[key] for key in ("name", "game", "scored", "number")],
        )
        person = person_of(
            settings, *(row[key] for key in ("name", "game", "scored", "user"))
        )
        self.world = world_of(
            row["game"], person, derived(secret, "life", *words), settings["days"]
        )
        self.env, self.check = Env(self.world), reader_of(self.world)
        self.team, self.scored = row["team"], bool(row["scored"])
        self.of = len(self.world) if row["game"] == "evalumap2" else None
        self.best = (
            self.of
            and worth_of(
                self.world, np.repeat(self.world.candidates[:1], self.of, axis=0)
            )[1].tolist()
        )
        self.step, self.over, self.answer = 0, False, {}
        observation, info = self.env.reset(seed=derived(secret, "chance", *words))
        self.began = self.now = plain({"observation": observation, "info": info})
        for action in actions:
            self.advance(json.loads(action))

    def advance(
        self, action: Any
    ) -> tuple[dict[str, Any], float, float | None, float | None]:
        """A step with a checked action: the answer, its reward, its expected points, and those of the best."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        expected = best = None
        if self.best:
            low, high = WORTH[int(self.env.outcome["actual"][0])]
            expected, best = (
                low + float(self.env.outcome["probability"][0]) * (high - low),
                self.best[self.step],
            )
        self.now = plain({"observation": observation, "info": info})
        self.step, self.over = self.step + 1, terminated or truncated
        self.answer = {
            **self.now,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }
        return self.answer, reward, expected, best

    def leave(self) -> float:
        """What the rest of an episode of push earns if all that arrives is put off until it expires."""
        total = 0.0
        while not self.over:
            total += self.advance(
                CACHE if self.now["info"]["action_mask"][CACHE] else STAND_BY
            )[1]
        return total

    def frame(self) -> dict[str, Any]:
        """What a picture of the moment needs, as JSON has it, without what no phone would tell."""
        frame = {**plain(self.env.frame()), "user": "not told"}
        for hidden in ("probability", "best"):
            (frame.get("push") or {}).pop(hidden, None)
        return frame


@cache
def describe(game: str, per_quarter: int, days: int) -> dict[str, Any]:
    """What the environment of a game says of itself before anything is played, as JSON; it depends on no user.

    schema (a schema file), what SAID lists (null where a game has none), observation and action: {"nvec": […]},
    {"n": 5} or, of a dict, one for each key; episode: {"steps": null, "about": steps, "days"}.
    """
    world, push = world_of(game, Person(0, None, per_quarter), 0, days), game == "push"
    return {key: plain(getattr(world, key, None)) for key in SAID} | {
        "game": game,
        "schema": json.loads(shared_texts()["schema.json"]),
        "observation": _space(world.observation_space),
        "action": _space(world.action_space),
        "episode": {
            "steps": None,
            "about": None if push else per_quarter,
            "days": days if push else None,
        },
    }


def _space(space):
    """A space as JSON has it."""
    if hasattr(space, "spaces"):
        return {name: _space(part) for name, part in space.spaces.items()}
    return (
        {"nvec": plain(space.nvec)} if hasattr(space, "nvec") else {"n": int(space.n)}
    )
