"""Agents for push notifications that need no theory: random, what was sent before, what was opened most, a model.

Also the candidates and the context as agents for notifications read them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, own_chance
from pushlab.ground.arguments import demand, in_short, number, some_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pushlab.datasets.periods import Period

SURE = 1e-6  # a model's 0 and 1 become this and 1 minus this: log-odds must be finite


# ---------------------------------------------------------------- candidates and contexts


def context_of(observation):
    """Return the context's codes in an observation of either challenge, int64 (context components,)."""
    return observation["context"] if isinstance(observation, dict) else observation


def candidates_of(env):
    """Return the notifications that can be chosen in an environment, int64 (k, notification components), each once."""
    world = getattr(env.unwrapped, "world", None)
    candidates = getattr(world, "candidates", None)
    demand(
        candidates is not None,
        "this environment has no candidates to choose from; pushlab/evalumap1-v0 and pushlab/evalumap2-v0 have",
    )
    demand(
        env.observation_space == world.observation_space,
        "a wrapper changes the observations, and this agent reads the world's own codes; leave it out",
    )
    once = np.unique(candidates, axis=0)
    if len(once) == len(candidates):
        once = candidates
    return np.ascontiguousarray(once, np.int64)


def columns_that_differ(candidates):
    """Return the components that aren't equal in all candidates, int64 (d,): only they can make one better.

    >>> columns_that_differ(np.array([[0, 1, 5], [0, 2, 5]]))
    array([1])
    """
    return np.flatnonzero((candidates != candidates[0]).any(axis=0))


class ContextFeatures:
    """A context's codes as 0/1 features: a constant 1, then one feature per code, of which few are 1 at a time.

    A component with two codes has one feature, which is 1 for the second of them: a place tag, headphones in.

    Args:
        half: The schema's context.
        names: The features to use; None uses all.

    >>> from pushlab.datasets.schema import Schema
    >>> features = ContextFeatures(Schema.load("evalumap2019").context, names=("noise", "place"))
    >>> features.size, features.active(np.zeros(len(features.half.components), int))
    (15, array([ 0, 11]))
    """

    def __init__(self, half, names=None):
        if names is not None:
            some_of("crossed", names, half.names)
        self.half = half
        self._places = []
        self.size = 1
        for at, component in enumerate(half.components):
            feature = component.partition(".")[0]
            if names is not None and feature not in names:
                continue
            codes = int(half.sizes[at])
            skipped = codes == 2  # code 0 then means that the feature is 0
            self._places.append((at, self.size - skipped, skipped))
            self.size += codes - skipped

    def active(self, context):
        """Return the features that are 1 in a context (components,), int64; the constant, 0, is the first."""
        context = context.tolist()
        found = [0]
        for at, start, skipped in self._places:
            if context[at] or not skipped:
                found.append(start + context[at])
        return np.array(found, np.int64)


# ---------------------------------------------------------------- agents


def _demand_period(history, agent):
    if not hasattr(history, "notification_codes"):
        kind = type(history).__name__
        hint = "; its .history is meant" if kind == "User" else ", such as user.history"
        raise TypeError(f"{type(agent).__name__} takes a Period; got a {kind}{hint}")


class ReplayHistory(Deterministic):
    """Sends what the user got in the history, whatever the context: the n-th notification for the n-th context.

    Args:
        history: A Period with the environment's schema. After its end it begins again.
    """

    name = "own history"

    def __init__(self, history: Period):
        _demand_period(history, self)
        self.codes = history.notification_codes

    def begin(self, env, seed):
        self._sent = 0

    def act(self, observation, info, explore=True):
        row = self._sent % len(self.codes)
        self._sent += 1
        return np.array(self.codes[row])


class RandomCandidate(Agent):
    """Any of the environment's candidates with equal probability.

    `RandomAgent` draws every feature by itself, and so mostly notifications that no app would send.
    """

    name = "random"

    def begin(self, env, seed):
        self.candidates = candidates_of(env)
        self.propensity = 1 / len(self.candidates)
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        row = self._rng.integers(len(self.candidates))
        return self.candidates[row].copy()


class MostOpened(Agent):
    """Sends what was opened most often in such a context; if nothing was yet, what was opened most often at all.

    Until the first open it sends candidates at random (the first of them if explore=False). A notification counts for
    the candidate that agrees with it in every feature in which candidates differ. Ties are broken by the opens in all
    contexts, then by order. An open makes the next one of the same kind likelier, so it soon sends one thing only.

    Args:
        history: A Period whose opens are counted beforehand, or None: then only its own engagements count.

    Attributes:
        by: The context features that make a context "such a context", if the schema has them: the time of day.
    """

    name = "most opened"
    by: Sequence[str] = ("time", "timeOfDay")

    def __init__(self, history: Period | None = None):
        if history is not None:
            _demand_period(history, self)
        self.history = history
        # (the context's codes, the notification's codes): number of opens
        self.opens = Counter()

    def begin(self, env, seed):
        self.candidates = candidates_of(env)
        components = env.unwrapped.world.schema.context.components
        self._by = [
            at
            for at, name in enumerate(components)
            if name.partition(".")[0] in self.by
        ]
        self._differ = columns_that_differ(self.candidates)
        kinds = self.candidates[:, self._differ].tolist()
        self._row_of = {tuple(kind): row for row, kind in enumerate(kinds)}
        self._rng = own_chance(seed)
        if self.history is not None:
            opened = self.history.opened
            contexts = self.history.context_codes[opened]
            sent = self.history.notification_codes[opened]
            self.history = None
            notifications = map(tuple, sent.tolist())
            self.opens.update(zip(map(self._such, contexts), notifications))
        # Opens by candidate, in each such context and (under None) in all.
        nothing = partial(np.zeros, len(self.candidates), np.int64)
        self._tallies = defaultdict(nothing)
        for (such, notification), count in self.opens.items():
            self._add(such, np.array(notification), count)

    def _such(self, context):
        return tuple(context[self._by].tolist())

    def _add(self, such, notification, count=1):
        kind = notification[self._differ].tolist()
        row = self._row_of.get(tuple(kind))
        if row is not None:
            self._tallies[None][row] += count
            self._tallies[such][row] += count

    def act(self, observation, info, explore=True):
        ever = self._tallies[None]
        if explore and not ever.any():
            self.propensity = 1 / len(self.candidates)
            row = self._rng.integers(len(self.candidates))
        else:
            self.propensity = 1.0
            such = self._such(context_of(observation))
            here = self._tallies.get(such, ever)
            row = (here * (ever.sum() + 1) + ever).argmax()
        return self.candidates[row].copy()

    def learn(self, transition):
        if transition.next_info["opened"]:
            such = self._such(context_of(transition.observation))
            notification = np.asarray(transition.action)
            self.opens[such, tuple(notification.tolist())] += 1
            self._add(such, notification)

    def state(self):
        """Return `opens`, a list of [context's codes, notification's codes, count], and whether a history is in it."""
        rows = []
        for (such, notification), count in self.opens.items():
            rows.append([list(such), list(notification), count])
        return {"opens": rows, "counted": self.history is None}

    def load(self, state):
        self.opens = Counter()
        for such, notification, count in state["opens"]:
            self.opens[tuple(such), tuple(notification)] = count
        if state["counted"]:
            self.history = None


class OfflineModel(Deterministic):
    """Sends the candidate that a model of the user, fitted to a history, predicts to be opened.

    Args:
        judge: A fitted judge (`pushlab.users.judges.fit_judge`), or a Period to which the default one is fitted.
        diversity: 0 sends always the likeliest. Above 0, a candidate that was sent n times in this episode loses
            diversity × log(1 + n) of its log-odds, so that in the long run the shares of candidates approach
            exp(log-odds / diversity): a softmax of that temperature without randomness. About 0.1 varies among nearly
            equal candidates, 1 sends nearly everything now and then.
    """

    name = "offline model"

    def __init__(self, judge: Any, diversity: float = 0.0):
        if hasattr(judge, "notification_codes"):
            from pushlab.users.judges import fit_judge

            judge = fit_judge(judge)
        demand(
            hasattr(judge, "schema"),
            f"judge is a judge, or a Period to fit one to; got {in_short(judge)}",
        )
        self.judge = judge
        self.diversity = number("diversity", diversity, 0)

    def begin(self, env, seed):
        self.candidates = candidates_of(env)
        ours = self.judge.schema
        theirs = env.unwrapped.world.schema
        for half in ("context", "notification"):
            sizes = getattr(ours, half).sizes
            demand(
                np.array_equal(sizes, getattr(theirs, half).sizes),
                "the model is coded by another schema than the environment's; load both as one user",
            )
        self._sent = np.zeros(len(self.candidates), np.int64)

    def act(self, observation, info, explore=True):
        context = context_of(observation)[None]
        probability = np.empty(len(self.candidates))
        rows = np.zeros(len(self.candidates), np.int64)
        self.judge.chances(context)(rows, self.candidates, probability)
        probability = np.clip(probability, SURE, 1 - SURE)
        worth = np.log(probability / (1 - probability))
        worth -= self.diversity * np.log1p(self._sent)
        best = worth.argmax()
        self._sent[best] += 1
        return self.candidates[best].copy()
