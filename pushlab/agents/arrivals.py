"""Agents that manage arriving notifications (pushlab/push-v0): three fixed rules, and two that learn.

What makes this world hard to learn is that the reward of showing something comes steps later, among the rewards of
other notifications. Both learners take each notification for a small episode of its own: it begins with an arrival,
goes on as long as it is put off, and ends with what came of it. To credit a reward to its notification they remember
what they did with which, and see in info how each stands.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, own_chance
from pushlab.ground.arguments import demand, flag, number, numbers

SHOW, DISMISS, CACHE, CHECK, STAND_BY = range(5)
ACTIONS = ("show", "dismiss", "cache", "check-cache", "stand-by")
NOBODY = -1  # in place of a notification's number


def arrivals_of(env: gym.Env) -> Any:
    """The world of an environment in which notifications arrive; ValueError for another one."""
    world = getattr(env.unwrapped, "world", None)
    demand(
        getattr(world, "fates", None),
        "nothing arrives in this environment that could be shown, dismissed or put "
        'off; in pushlab/push-v0 (pushlab/Remote-v0: game="push") notifications do',
    )
    return world


class ShowAll(Deterministic):
    """Shows whatever arrives as it arrives, which is what phones do."""

    name = "show all"

    def begin(self, env, seed):
        arrivals_of(env)

    def act(self, observation, info, explore=True):
        return SHOW if info["action_mask"][SHOW] else STAND_BY


class DismissAll(Deterministic):
    """Keeps everything from the user."""

    name = "dismiss all"

    def begin(self, env, seed):
        arrivals_of(env)

    def act(self, observation, info, explore=True):
        return DISMISS if info["action_mask"][DISMISS] else STAND_BY


class DoNotDisturb(Deterministic):
    """What phones offer: in quiet hours, and while the ringer is silent, all is put off; afterwards all of it is shown.

    quiet   first and last hour of the quiet time, which may pass midnight; by default from midnight to seven
    silent  whether a silent ringer is quiet time too (where the context has a `ringerMode`)
    """

    name = "do not disturb"

    def __init__(self, quiet: tuple[int, int] = (0, 7), silent: bool = True) -> None:
        numbers("quiet", quiet, (2,), of="the hours when it begins and ends")
        self.quiet, self.silent = quiet, flag("silent", silent)

    def begin(self, env, seed):
        world = arrivals_of(env)
        self._hour = world.observation_names.index("hour")
        self._ringer = None
        if (
            self.silent
            and "ringerMode" in world.observation_names
            and "silent" in world.schema.context["ringerMode"].words
        ):
            self._ringer = world.observation_names.index("ringerMode")
            self._silence = world.schema.context["ringerMode"].words.index("silent")

    def is_quiet(self, observation: np.ndarray) -> bool:
        """Whether nothing should be shown now."""
        start, stop = self.quiet
        hours = (observation[self._hour] - start) % 24 < (stop - start) % 24
        return bool(
            hours
            or self._ringer is not None
            and observation[self._ringer] == self._silence
        )

    def act(self, observation, info, explore=True):
        mask = info["action_mask"]
        if mask[SHOW]:
            return CACHE if self.is_quiet(observation) else SHOW
        return CHECK if mask[CHECK] and not self.is_quiet(observation) else STAND_BY


# ---------------------------------------------------------------- learners


@dataclass(slots=True)
class Waiting:
    """What a learner remembers of a notification that waits: its codes, in what description it was last put off, and
    what putting it off has cost since."""

    codes: np.ndarray
    described: Any
    cost: float


class NotificationLearner(Agent):
    """What both learners have in common: Q-learning in which every notification is an episode of its own.

    In each context a notification has three values: shown now, dismissed now, put off. The first two are learned from
    what comes of it. The third is what the best of the three is worth at the next moment, less what waiting cost until
    then; it is learned at every moment from all that wait. The cache is looked at when something in it is believed to
    be better done than put off.

    Each notification has a number in the episode (`info["hand"]`), and `info["fates"]` says how each stands: so an
    answer goes to the one decision that it belongs to, however many come in at once. What belongs to nobody alone,
    that nothing was looked at while it could have been (`idle`), is shared by those that wait.

    epsilon  share of decisions tried at random at first; it falls to a tenth over `settle` episodes

    A subclass says how a notification in a context is described, and keeps the values of descriptions.
    """

    def __init__(self, epsilon: float = 0.2, settle: int = 200) -> None:
        self.epsilon, self.settle = (
            number("epsilon", epsilon, 0, 1),
            number("settle", settle, above=0, most=math.inf),
        )
        self.episodes = 0

    def begin(self, env, seed):
        world = arrivals_of(env)
        names, half = world.observation_names, world.schema.notification
        self._schema, self._names = world.schema, names
        at = names.index(f"hand.{half.components[0]}")
        self._hand = slice(at, at + len(half.components))
        self._rng = own_chance(seed)
        self._waits, self._open_ended = (
            world.fates.index("waiting"),
            world.fates.index("unseen"),
        )
        self._worths = world.worths.tolist()
        self._decided, self._cache = (
            {},
            {},
        )  # by number: (description, action) to be answered; what waits
        self._taken = self._fresh = (
            NOBODY  # the last taken out at this moment, and what has just arrived
        )
        self._last = (
            None  # the step that was not followed yet: observation, info, action
        )

    def describe(self, codes: np.ndarray, observation: np.ndarray) -> Any:
        """A notification (its codes) in the context of an observation."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it describes")

    def values_of(self, described: Any) -> Sequence[float]:
        """The values of show, dismiss and cache."""
        raise NotImplementedError(f"{type(self).__name__} has to keep values")

    def move(self, described: Any, action: int, target: float) -> None:
        """Moves the value of an action towards a target."""
        raise NotImplementedError(f"{type(self).__name__} has to keep values")

    def _chance_to_try(self):
        return self.epsilon * max(0.1, 1 - self.episodes / self.settle)

    def act(self, observation, info, explore=True):
        if (
            self._last is not None
        ):  # nobody called learn(), but what is in the cache has to be known
            self._follow(*self._last, observation, info, False)
        action = self._choose(observation, info["action_mask"], explore)
        self._last = observation, info, action
        return action

    def _choose(self, observation, mask, explore):
        epsilon = self._chance_to_try() if explore else 0.0
        trying = explore and self._rng.random() < epsilon
        if mask[SHOW]:
            values = self.values_of(self.describe(observation[self._hand], observation))
            choice, best = (
                (SHOW, DISMISS, CACHE),
                max((DISMISS, SHOW, CACHE), key=values.__getitem__),
            )
        else:
            choice = (CHECK, STAND_BY) if mask[CHECK] else (STAND_BY,)
            waits = (
                one
                for number, one in self._cache.items()
                if number > self._taken and number != self._fresh
            )
            best = (
                CHECK
                if mask[CHECK] and any(self._is_due(one, observation) for one in waits)
                else STAND_BY
            )
        action = choice[self._rng.integers(len(choice))] if trying else best
        self.propensity = epsilon / len(choice) + (1 - epsilon) * (action == best)
        return action

    def _is_due(self, one, observation):
        values = self.values_of(self.describe(one.codes, observation))
        return max(values[SHOW], values[DISMISS]) > values[CACHE]

    def learn(self, transition):
        observation, info, action, _, after, told, over, _ = transition
        self._last = None
        self._follow(observation, info, int(action), after, told, over, learning=True)
        self.episodes += over

    def _follow(
        self, observation, info, action, after, told, over=False, learning=False
    ):
        """Takes note of what one step did, and learns from it if asked to."""
        held, passed = info["hand"], over or told["time"] > info["time"]
        if held != NOBODY and told["hand"] != held:
            self._let_go(held, observation, info, action, told)
        elif action == CHECK and info["action_mask"][CHECK]:
            self._taken = told["hand"]
            self._cache.pop(self._taken)
        if passed:
            self._settle(info, told, after, over, learning)

    def _let_go(self, number, observation, info, action, told):
        codes = observation[self._hand].copy()
        described = self.describe(codes, observation)
        if action == SHOW or action == DISMISS:
            self._decided[number] = described, action
        else:  # put off, or forbidden so often that it was
            self._cache[number] = Waiting(
                codes, described, gained(info, told, "endless")
            )

    def _settle(self, info, told, after, over, learning):
        """Time has passed: who was answered, who expired, and what the rest of those waiting are worth now."""
        self._taken, self._fresh = NOBODY, told["hand"]
        fates = told["fates"].tolist()
        cost = gained(info, told, "wait", "idle") / max(len(self._cache), 1)
        for which in [one for one in self._decided if fates[one] > self._open_ended]:
            described, action = self._decided.pop(which)
            if learning:
                self.move(described, action, self._worths[fates[which]])
        for which, one in list(self._cache.items()):
            if fates[which] != self._waits:  # it has expired
                del self._cache[which]
                if learning:
                    self.move(
                        one.described,
                        CACHE,
                        one.cost + cost + self._worths[fates[which]],
                    )
            elif learning:
                described = self.describe(one.codes, after)
                self.move(
                    one.described,
                    CACHE,
                    one.cost + cost + max(self.values_of(described)),
                )
                one.described, one.cost = described, 0.0


def gained(info: Mapping[str, Any], told: Mapping[str, Any], *parts: str) -> float:
    """What these parts of the reward have brought from one info to a later one."""
    return sum(told[f"parts.{part}"] - info[f"parts.{part}"] for part in parts)
