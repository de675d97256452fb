"""Simple agents for push notifications: random, replayed history, most opened, and a fitted model.

It also has the functions by which notification agents read candidates and contexts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.protocol import Agent, Deterministic, agent_rng
from pushlab.utils.arguments import (
    require,
    short_repr,
    validate_choices,
    validate_number,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pushlab.datasets.periods import Period

# Default features of a context, by their names in the shipped schemas. A model with a weight for each pair of a
# notification's and a context's values would have thousands of weights with all features, most of them never active.
CONTEXT_FEATURES = (
    "time",
    "activity",
    "headphonesIn",
    "timeOfDay",
    "timeAppLastUsed",
)
PROBABILITY_MARGIN = 1e-6  # keeps log-odds finite if a model returns 0 or 1


# ---------------------------------------------------------------- candidates and contexts


def context_codes(observation):
    """Return the context's codes in an observation of either challenge, int64 (context components,)."""
    return observation["context"] if isinstance(observation, dict) else observation


def unique_candidates(env):
    """Return the distinct notifications that can be chosen in an environment, int64 (k, notification components)."""
    world = getattr(env.unwrapped, "world", None)
    candidates = getattr(world, "candidates", None)
    require(
        candidates is not None,
        "this environment has no candidates to choose from; use pushlab/evalumap1-v0 or pushlab/evalumap2-v0",
    )
    require(
        env.observation_space == world.observation_space,
        "a wrapper changes the observations, but this agent reads the world's own codes; remove the wrapper",
    )
    distinct = np.unique(candidates, axis=0)
    if len(distinct) == len(candidates):
        distinct = candidates
    return np.ascontiguousarray(distinct, np.int64)


def varying_columns(candidates):
    """Return the components in which candidates differ, int64 (d,). The others don't affect the choice.

    >>> varying_columns(np.array([[0, 1, 5], [0, 2, 5]]))
    array([1])
    """
    return np.flatnonzero((candidates != candidates[0]).any(axis=0))


class ContextFeatures:
    """One-hot features of a context: a constant 1, then one feature per code.

    A component with two codes, such as a place tag or headphones, has one feature. It is 1 for the second code.

    Args:
        half: The context half of a schema.
        names: The features to use; None uses those of `CONTEXT_FEATURES` that the schema has, or all if it has none.

    >>> from pushlab.datasets.schema import Schema
    >>> features = ContextFeatures(Schema.load("evalumap2019").context, names=("noise", "place"))
    >>> features.size, features.active(np.zeros(len(features.half.components), int))
    (15, array([ 0, 11]))
    """

    def __init__(self, half, names=None):
        if names is None:
            names = [name for name in CONTEXT_FEATURES if name in half.names]
            names = names or half.names
        validate_choices("context_features", names, half.names)
        self.half = half
        self._blocks = []
        self.size = 1
        for index, component in enumerate(half.components):
            feature = component.partition(".")[0]
            if feature not in names:
                continue
            n_codes = int(half.sizes[index])
            is_binary = n_codes == 2  # code 0 has no feature of its own
            self._blocks.append((index, self.size - is_binary, is_binary))
            self.size += n_codes - is_binary

    def active(self, context):
        """Return the indices of the features that are 1 in a context (components,), int64, with the constant first."""
        context = context.tolist()
        indices = [0]
        for index, start, is_binary in self._blocks:
            if context[index] or not is_binary:
                indices.append(start + context[index])
        return np.array(indices, np.int64)


# ---------------------------------------------------------------- agents


def _validate_period(history, agent):
    if not hasattr(history, "notification_codes"):
        kind = type(history).__name__
        hint = "; pass its .history" if kind == "User" else ", such as user.history"
        raise TypeError(f"{type(agent).__name__} takes a Period; got a {kind}{hint}")


class ReplayHistory(Deterministic):
    """Sends the n-th notification of the history in the n-th context, regardless of the context.

    Args:
        history: A Period with the environment's schema. It is repeated if it is too short.
    """

    name = "own history"

    def __init__(self, history: Period):
        _validate_period(history, self)
        self.codes = history.notification_codes

    def begin(self, env, seed):
        self._n_sent = 0

    def act(self, observation, info, explore=True):
        row = self._n_sent % len(self.codes)
        self._n_sent += 1
        return np.array(self.codes[row])


class RandomCandidate(Agent):
    """Sends any of the environment's candidates with equal probability.

    `RandomAgent` draws each feature independently, which mostly gives notifications that no app would send.
    """

    name = "random"

    def begin(self, env, seed):
        self.candidates = unique_candidates(env)
        self.propensity = 1 / len(self.candidates)
        self._rng = agent_rng(seed)

    def act(self, observation, info, explore=True):
        row = self._rng.integers(len(self.candidates))
        return self.candidates[row].copy()


class MostOpened(Agent):
    """Sends the candidate that was opened most often in contexts of the same kind, or else in all contexts.

    Until the first open it sends candidates at random (the first candidate if explore=False). A notification counts
    for the candidate that agrees with it in every feature in which candidates differ. Ties are broken by the opens in
    all contexts, then by order. An open makes further opens of the same candidate likelier, so it soon sends only one.

    Args:
        history: A Period whose opens are counted at the start. If it is None, only the agent's own engagements count.

    Attributes:
        context_features: Names of the features that define the kind of a context: the time of day. Names that the
            schema doesn't have are ignored.
    """

    name = "most opened"
    context_features: Sequence[str] = ("time", "timeOfDay")

    def __init__(self, history: Period | None = None):
        if history is not None:
            _validate_period(history, self)
        self.history = history
        # Number of opens by (codes of the context's kind, the notification's codes).
        self.opens = Counter()

    def begin(self, env, seed):
        self.candidates = unique_candidates(env)
        components = env.unwrapped.world.schema.context.components
        self._kind_columns = [
            column
            for column, name in enumerate(components)
            if name.partition(".")[0] in self.context_features
        ]
        self._varying = varying_columns(self.candidates)
        keys = self.candidates[:, self._varying].tolist()
        self._candidate_rows = {tuple(key): row for row, key in enumerate(keys)}
        self._rng = agent_rng(seed)
        if self.history is not None:
            opened = self.history.opened
            contexts = self.history.context_codes[opened]
            sent = self.history.notification_codes[opened]
            self.history = None
            notifications = map(tuple, sent.tolist())
            self.opens.update(zip(map(self._kind, contexts), notifications))
        # Opens by candidate, for each kind of context and (under None) for all contexts.
        zeros = partial(np.zeros, len(self.candidates), np.int64)
        self._counts = defaultdict(zeros)
        for (kind, notification), count in self.opens.items():
            self._add(kind, np.array(notification), count)

    def _kind(self, context):
        return tuple(context[self._kind_columns].tolist())

    def _add(self, kind, notification, count=1):
        key = notification[self._varying].tolist()
        row = self._candidate_rows.get(tuple(key))
        if row is not None:
            self._counts[None][row] += count
            self._counts[kind][row] += count

    def act(self, observation, info, explore=True):
        total = self._counts[None]
        if explore and not total.any():
            self.propensity = 1 / len(self.candidates)
            row = self._rng.integers(len(self.candidates))
        else:
            self.propensity = 1.0
            kind = self._kind(context_codes(observation))
            counts = self._counts.get(kind, total)
            row = (counts * (total.sum() + 1) + total).argmax()
        return self.candidates[row].copy()

    def learn(self, transition):
        if transition.next_info["opened"]:
            kind = self._kind(context_codes(transition.observation))
            notification = np.asarray(transition.action)
            self.opens[kind, tuple(notification.tolist())] += 1
            self._add(kind, notification)

    def state(self):
        """Return `opens`, rows of [context's codes, notification's codes, count], and whether a history is counted."""
        rows = [
            [list(kind), list(notification), count]
            for (kind, notification), count in self.opens.items()
        ]
        return {"opens": rows, "counted": self.history is None}

    def load(self, state):
        self.opens = Counter()
        for kind, notification, count in state["opens"]:
            self.opens[tuple(kind), tuple(notification)] = count
        if state["counted"]:
            self.history = None


class OfflineModel(Deterministic):
    """Sends the candidate with the highest predicted probability of an open, by a user model fitted to a history.

    Args:
        judge: A fitted judge (`pushlab.users.judges.fit_judge`), or a Period to which the default judge is fitted.
        diversity: Penalty on repetition. At 0 the likeliest candidate is always sent. Above 0, a candidate sent n
            times in this episode loses diversity × log(1 + n) of its log-odds. In the long run the fractions of
            candidates approach exp(log-odds / diversity), a softmax without randomness. About 0.1 varies among nearly
            equal candidates; 1 sends nearly every candidate now and then.
    """

    name = "offline model"

    def __init__(self, judge: Any, diversity: float = 0.0):
        if hasattr(judge, "notification_codes"):
            from pushlab.users.judges import fit_judge

            judge = fit_judge(judge)
        require(
            hasattr(judge, "schema"),
            f"judge must be a fitted judge, or a Period to fit one to; got {short_repr(judge)}",
        )
        self.judge = judge
        self.diversity = validate_number("diversity", diversity, 0)

    def begin(self, env, seed):
        self.candidates = unique_candidates(env)
        judge_schema = self.judge.schema
        env_schema = env.unwrapped.world.schema
        for half in ("context", "notification"):
            sizes = getattr(judge_schema, half).sizes
            require(
                np.array_equal(sizes, getattr(env_schema, half).sizes),
                "the judge's schema differs from the environment's; load both from the same user",
            )
        self._n_sent = np.zeros(len(self.candidates), np.int64)

    def act(self, observation, info, explore=True):
        context = context_codes(observation)[None]
        probability = np.empty(len(self.candidates))
        rows = np.zeros(len(self.candidates), np.int64)
        self.judge.probability_function(context)(rows, self.candidates, probability)
        probability = np.clip(probability, PROBABILITY_MARGIN, 1 - PROBABILITY_MARGIN)
        score = np.log(probability / (1 - probability))
        score -= self.diversity * np.log1p(self._n_sent)
        best = score.argmax()
        self._n_sent[best] += 1
        return self.candidates[best].copy()
