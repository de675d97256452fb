"""An episode of a class: a world of pushlab, without the entries that a real phone would hide, and its scores.

The secret, the team's name, the game and the episode's number determine an episode. So the same actions give exactly
the same answers again.
"""

import json
import time
from dataclasses import replace
from functools import cache

import numpy as np

from pushlab.envs.env import Env, action_validator
from pushlab.metrics.push import POINTS
from pushlab.users.synthesis import shared_files
from pushlab_classroom.private_users import (
    PrivateUser,
    derive,
    expected_points_and_best,
    make_world,
    private_user,
)

PUT_OFF = 2  # actions of push
STAND_BY = 4
# Attributes of a world that the client gets, if the world has them.
ATTRIBUTES = (
    "candidates observation_names action_names action_choices actions status_names status_rewards "
    "weights horizon"
).split()


def to_json_types(value):
    """Return an observation or info as numbers, lists and dicts."""
    if isinstance(value, dict):
        return {key: to_json_types(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json_types(item) for item in value]
    return value.tolist() if hasattr(value, "tolist") else value


def to_json(value):
    """Return the JSON in which answers are stored. Equal answers have equal JSON."""
    return json.dumps(value, separators=(",", ":"), allow_nan=False)


class ReplayedEpisode:
    """An episode, replayed up to its last stored step.

    Args:
        settings: The row of the table `class`.
        row: A row of the query `database.EPISODES`.
        actions: JSON of the actions so far.

    Attributes:
        env: The Env of the world.
        read_action: Function (action, 1) of the world that validates an action.
        scored: Whether the episode counts.
        used: Time of its last request, by time.monotonic().
        first, current: {"observation", "info"} at the start, and now.
        answer: The answer to the last step.
        step: Number of steps so far.
        length: Number of steps of the whole episode. None in push.
        best: Expected points of the best notification in each context. None in push.
        is_over: Whether the episode has ended.
    """

    def __init__(self, settings, row, actions=()):
        secret = bytes.fromhex(settings["secret"])
        labels = [row[key] for key in ("name", "game", "scored", "number")]
        user = private_user(
            settings, row["name"], row["game"], row["scored"], row["user"]
        )
        seed = derive(secret, "life", *labels)
        world = make_world(row["game"], user, seed, settings["days"])
        self.length = None
        self.best = None
        if row["game"] == "evalumap2":
            self.length = len(world)
            codes = np.repeat(world.candidates[:1], self.length, axis=0)
            self.best = expected_points_and_best(world, codes)[1].tolist()
        # To save memory, drop the tables from which the world was made, and don't record engagements.
        world.users = [replace(world.user, periods={"history": ()})]
        world.user = world.period = None
        world._fill_probability = ()  # repeats another table of the world
        world.trail_keys = ()
        self.env = Env(world)
        self.read_action = action_validator(world)
        self.scored = bool(row["scored"])
        self.used = time.monotonic()
        self.step = 0
        self.is_over = False
        self.answer = {}
        observation, info = self.env.reset(seed=derive(secret, "chance", *labels))
        self.first = to_json_types({"observation": observation, "info": info})
        self.current = self.first
        for action in actions:
            self.advance(json.loads(action))

    def advance(self, action):
        """Take a step; return the answer, its reward, its expected points, and the best expected points."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        expected = None
        best = None
        if self.best:
            low, high = POINTS[int(self.env.outcome["actual"][0])].tolist()
            probability = float(self.env.outcome["probability"][0])
            expected = low + probability * (high - low)
            best = self.best[self.step]
        self.current = to_json_types({"observation": observation, "info": info})
        self.step += 1
        self.is_over = terminated or truncated
        self.answer = {
            **self.current,
            "reward": reward,
            "terminated": terminated,
            "truncated": truncated,
        }
        return self.answer, reward, expected, best

    def return_without_agent(self):
        """Return the return of the rest of an episode of push if all arrivals are put off until they expire."""
        total = 0.0
        while not self.is_over:
            can_put_off = self.current["info"]["action_mask"][PUT_OFF]
            total += self.advance(PUT_OFF if can_put_off else STAND_BY)[1]
        return total

    def frame(self):
        """Return the data of a picture of the current state, without hidden entries."""
        frame = to_json_types(self.env.frame()) | {"user": "unknown"}
        for key in ("probability", "best"):
            (frame.get("push") or {}).pop(key, None)
        return frame


@cache
def describe(game, per_quarter, days):
    """Return the description of an environment that clients need, as JSON types. It is the same for all users.

    Returns:
        A dict with the keys in ATTRIBUTES (None if a game hasn't the attribute), "schema", and the spaces
        "observation" and "action". A space is {"nvec": […]}, {"n": 5} or a dict of these.
    """
    world = make_world(game, PrivateUser(0, None, per_quarter), 0, days)
    content = {key: to_json_types(getattr(world, key, None)) for key in ATTRIBUTES}
    content["schema"] = json.loads(shared_files()["schema.json"])
    content["observation"] = _describe_space(world.observation_space)
    content["action"] = _describe_space(world.action_space)
    return content


def _describe_space(space):
    if hasattr(space, "spaces"):
        return {name: _describe_space(part) for name, part in space.spaces.items()}
    if hasattr(space, "nvec"):
        return {"nvec": space.nvec.tolist()}
    return {"n": int(space.n)}
