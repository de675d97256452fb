"""One episode of a class as it is lived: the library's own world, what a phone would tell of it, and what it is worth.

Everything follows from the secret, the team's name, the game and the episode's number, so that the same actions give
the same answers again, to the digit: after a restart, and when a lecturer plays an episode again.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from pushlab.classroom.chance import derived
from pushlab.classroom.lives import Person, world_of
from pushlab.envs.actions import reader_of
from pushlab.envs.shell import Env
from pushlab.metrics.push import POINTS, expected_points

TOLD = ("opened", "actual")     # of the info of evalumap2; that of push holds nothing that a phone would not tell
WORTH = POINTS.tolist()
# All that is known of an episode, and whose life it is.
QUESTION = """SELECT episodes.*, teams.name, users.seed, users.intercept FROM episodes JOIN teams ON teams.id = team
              JOIN users ON users.id = user WHERE episodes.id = ?"""


def plain(value: Any) -> Any:
    """An observation or info as JSON has it: numbers, and lists and dicts of them."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(value: Any) -> str:
    """The one way in which answers are written, so that equal ones are equal byte by byte."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class Lived:
    """An episode up to some step.

    world  the world that is played; env, the Env around it
    now    {"observation", "info"} of the moment
    step   how many steps were made; of, how many there are (None where nobody knows)
    best   expected points of the best notification in each context of the episode, or None
    over   whether it has ended
    """

    def __init__(self, secret: bytes, settings: Mapping[str, Any], row: Mapping[str, Any]):
        """row: an answer to QUESTION."""
        words = (row["name"], row["game"], row["scored"], row["number"])
        person = Person(int(row["seed"], 16), row["intercept"], settings["per_quarter"])
        self.world = world_of(row["game"], person, derived(secret, "life", *words), settings["days"])
        self.env, self._read, self.scored = Env(self.world), reader_of(self.world), bool(row["scored"])
        self.of = len(self.world) if row["game"] == "evalumap2" else None
        self.best = self._best_points() if self.of else None
        self.step, self.over = 0, False
        self._keep(*self.env.reset(seed=derived(secret, "chance", *words)))

    def _best_points(self):
        """Expected points of the best notification in each context, a list."""
        rows = np.arange(self.of)
        codes = np.repeat(self.world.candidates[:1], self.of, axis=0)
        _, outcome = self.world.advance({"row": rows, "user": np.zeros_like(rows)}, codes, np.zeros((self.of, 2)))
        return expected_points(outcome["actual"], outcome["best"]).tolist()

    def _keep(self, observation, info):
        if self.best is not None:
            info = {key: info[key] for key in TOLD}
        self.now = {"observation": plain(observation), "info": plain(info)}

    def check(self, action: Any) -> Any:
        """The action in plain numbers; ValueError that says what would be right."""
        try:
            return self._read(action, 1)[0].tolist()
        except (TypeError, OverflowError, RecursionError) as error:
            raise ValueError(f"an action of {self.world.action_space}; {error}") from None

    def advance(self, action: Any) -> tuple[dict[str, Any], float, float | None, float | None]:
        """A step with a checked action: the answer, its reward, its expected points, and those of the best."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        expected = best = None
        if self.best is not None:
            low, high = WORTH[int(self.env.outcome["actual"][0])]
            expected, best = low + float(self.env.outcome["probability"][0]) * (high - low), self.best[self.step]
        self._keep(observation, info)
        self.step, self.over = self.step + 1, terminated or truncated
        answer = {"observation": self.now["observation"], "reward": reward, "terminated": terminated,
                  "truncated": truncated, "info": self.now["info"]}
        return answer, reward, expected, best
