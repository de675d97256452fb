"""One episode of a class: the library's own world, without what no phone would show, and what it is worth.

The secret, the team's name, the game and the episode's number decide everything, so the same actions give the same
answers again, to the digit.
"""

import json
from functools import cache

import numpy as np

from pushlab.envs.shell import Env, reader_of
from pushlab.metrics.push import POINTS
from pushlab.users.synthesis import shared_texts
from pushlab_classroom.private_users import (
    PrivateUser,
    derive,
    make_world,
    points_of,
    private_user,
)

PUT_OFF = 2  # actions of push
STAND_BY = 4
# Attributes of a world that a client has too, if the world has them.
ATTRIBUTES = (
    "candidates observation_names action_names action_choices actions fates worths "
    "weights horizon"
).split()


def as_plain(value):
    """Return an observation or info as numbers, lists and dicts."""
    if isinstance(value, dict):
        return {key: as_plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_plain(part) for part in value]
    return value.tolist() if hasattr(value, "tolist") else value


def as_json(value):
    """Return the JSON in which answers are stored: equal answers are equal texts."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class ReplayedEpisode:
    """An episode up to some step.

    Args:
        settings: The row of the table `class`.
        row: A row of the query `database.EPISODES`.
        actions: JSON of the actions so far.

    Attributes:
        world, env: The world, and the Env around it.
        check: Function (action, 1) that validates an action, the world's own.
        team: The team's id.
        scored: Whether the episode counts.
        first, now: {"observation", "info"} at the start, and now.
        answer: The answer to the last step.
        step: Number of steps so far.
        length: Number of steps of the whole episode; None in push.
        best: Expected points of the best notification in each context; None in push.
        over: Whether the episode has ended.
    """

    def __init__(
        self,
        settings,
        row,
        actions=(),
    ):
        secret = bytes.fromhex(settings["secret"])
        words = [row[key] for key in ("name", "game", "scored", "number")]
        user = private_user(
            settings, row["name"], row["game"], row["scored"], row["user"]
        )
        seed = derive(secret, "life", *words)
        self.world = make_world(row["game"], user, seed, settings["days"])
        self.env = Env(self.world)
        self.check = reader_of(self.world)
        self.team = row["team"]
        self.scored = bool(row["scored"])
        self.length = self.best = None
        if row["game"] == "evalumap2":
            self.length = len(self.world)
            first = np.repeat(self.world.candidates[:1], self.length, axis=0)
            self.best = points_of(self.world, first)[1].tolist()
        self.step = 0
        self.over = False
        self.answer = {}
        observation, info = self.env.reset(seed=derive(secret, "chance", *words))
        self.first = self.now = as_plain({"observation": observation, "info": info})
        for action in actions:
            self.advance(json.loads(action))

    def advance(self, action):
        """Take a step; return the answer, its reward, its expected points, and those of the best notification."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        expected = best = None
        if self.best:
            low, high = POINTS[int(self.env.outcome["actual"][0])].tolist()
            probability = float(self.env.outcome["probability"][0])
            expected = low + probability * (high - low)
            best = self.best[self.step]
        self.now = as_plain({"observation": observation, "info": info})
        self.step += 1
        self.over = terminated or truncated
        self.answer = {
            **self.now,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }
        return self.answer, reward, expected, best

    def return_if_left(self):
        """Return what the rest of an episode of push earns if every arrival is put off until it expires."""
        total = 0.0
        while not self.over:
            can_put_off = self.now["info"]["action_mask"][PUT_OFF]
            total += self.advance(PUT_OFF if can_put_off else STAND_BY)[1]
        return total

    def frame(self):
        """Return the data of a picture of this moment, without what no phone would show."""
        frame = as_plain(self.env.frame()) | {"user": "not told"}
        for hidden in ("probability", "best"):
            (frame.get("push") or {}).pop(hidden, None)
        return frame


@cache
def describe(game, per_quarter, days):
    """Return what an environment says about itself before it is played, as JSON; the same for all users.

    Returns:
        The keys in ATTRIBUTES (null if a game has none); "schema"; "observation" and "action", {"nvec": […]}, {"n": 5}
        or a dict of these.
    """
    world = make_world(game, PrivateUser(0, None, per_quarter), 0, days)
    content = {key: as_plain(getattr(world, key, None)) for key in ATTRIBUTES}
    content["schema"] = json.loads(shared_texts()["schema.json"])
    content["observation"] = _describe_space(world.observation_space)
    content["action"] = _describe_space(world.action_space)
    return content


def _describe_space(space):
    if hasattr(space, "spaces"):
        return {name: _describe_space(part) for name, part in space.spaces.items()}
    if hasattr(space, "nvec"):
        return {"nvec": space.nvec.tolist()}
    return {"n": int(space.n)}
