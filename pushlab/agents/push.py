"""Agents for push notifications that need no theory: chance, what was sent before, what was opened most, a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.agents.features import (
    candidates_of,
    columns_that_differ,
    context_of,
    demand_features,
)
from pushlab.agents.protocol import Agent, Deterministic, own_chance
from pushlab.ground.arguments import demand, flag, in_short, number

if TYPE_CHECKING:
    from pushlab.datasets.periods import Period

SURE = 1e-6  # a model's 0 and 1 are taken for this and 1 minus this: log-odds must be finite


def _demand_period(history, agent):
    if not hasattr(history, "notification_codes"):
        kind = type(history).__name__
        meant = (
            "; its .history is meant" if kind == "User" else ", such as user.history"
        )
        raise TypeError(f"{type(agent).__name__} takes a Period; got a {kind}{meant}")


class ReplayHistory(Agent):
    """Sends what the user got in the history, whatever the context: the n-th notification for the n-th context.

    history  a Period, whose schema must be the environment's; after its end it begins again
    shuffle  draw notifications from the history at random, with replacement, instead of in their order
    """

    name = "own history"

    def __init__(self, history: Period, shuffle: bool = False) -> None:
        _demand_period(history, self)
        self.codes = history.notification_codes
        self.shuffle = flag("shuffle", shuffle)

    def begin(self, env, seed):
        if (
            self.codes.shape[1:] != env.action_space.shape
            or (self.codes >= env.action_space.nvec).any()
        ):
            raise ValueError(
                "the history is coded by another schema than the environment's; load both as one user"
            )
        self._sent = 0
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        row = (
            self._rng.integers(len(self.codes))
            if self.shuffle
            else self._sent % len(self.codes)
        )
        self._sent += 1
        self.propensity = (
            float((self.codes == self.codes[row]).all(axis=1).mean())
            if self.shuffle
            else 1.0
        )
        return np.array(self.codes[row])


class RandomCandidate(Agent):
    """Any of the environment's candidates with equal probability: blind, but never senseless.

    `RandomAgent` draws every feature by itself, and so mostly notifications that no app would send.
    """

    name = "random"

    def begin(self, env, seed):
        self.candidates = candidates_of(env)
        self._rng, self.propensity = own_chance(seed), 1 / len(self.candidates)

    def act(self, observation, info, explore=True):
        return self.candidates[self._rng.integers(len(self.candidates))].copy()


class MostOpened(Agent):
    """Sends what was opened most often in such a context; where nothing was yet, what was opened most often at all.

    history  a Period whose opens are counted beforehand, or None: a cold start, in which only its own engagements count
    by       names of the context features that make a context "such a context"; by default the time of day if the
             schema has one (`time` or `timeOfDay`), else no difference is made

    Until the first open it sends candidates at random (the first of them if explore=False). A notification counts for
    the candidate that agrees with it in every feature in which candidates differ; equals are told apart by their
    opens in all contexts, then by order. An open makes the next one of the same kind likelier, so that it soon sends
    one thing only: popular is not best.
    """

    name = "most opened"

    def __init__(
        self, history: Period | None = None, by: Sequence[str] | None = None
    ) -> None:
        if history is not None:
            _demand_period(history, self)
        self.history, self.by = history, by
        self.opens = (
            Counter()
        )  # (context's codes, notification's codes): how many were opened
        self._counted = history is None

    def begin(self, env, seed):
        self.candidates, schema = candidates_of(env), env.unwrapped.world.schema
        by = (
            [name for name in ("time", "timeOfDay") if name in schema.context.names]
            if self.by is None
            else self.by
        )
        demand_features(schema.context, by, "by")
        self._by = [
            at
            for at, name in enumerate(schema.context.components)
            if name.partition(".")[0] in by
        ]
        self._differ = columns_that_differ(self.candidates)
        self._place = {
            self._kind(codes): row for row, codes in enumerate(self.candidates)
        }
        self._rng = own_chance(seed)
        if not self._counted:
            self._count_history()
        self._tally()

    def _count_history(self):
        period, self._counted = self.history, True
        for context, notification in zip(
            period.context_codes[period.opened],
            period.notification_codes[period.opened],
        ):
            self.opens[self._such(context), tuple(notification.tolist())] += 1

    def _such(self, context):
        return tuple(context[self._by].tolist())

    def _kind(self, notification):
        return tuple(notification[self._differ].tolist())

    def _tally(self):
        """Opens by candidate, in each such context and (under None) in all."""
        self._tallies = {None: np.zeros(len(self.candidates), np.int64)}
        for (such, notification), count in self.opens.items():
            self._add(such, np.array(notification), count)

    def _add(self, such, notification, count=1):
        row = self._place.get(self._kind(notification))
        if row is not None:
            self._tallies[None][row] += count
            self._tallies.setdefault(such, np.zeros(len(self.candidates), np.int64))[
                row
            ] += count

    def act(self, observation, info, explore=True):
        ever, count = self._tallies[None], len(self.candidates)
        blind = explore and not ever.any()
        self.propensity = 1 / count if blind else 1.0
        here = self._tallies.get(self._such(context_of(observation)), ever)
        row = (
            self._rng.integers(count)
            if blind
            else (here * (ever.sum() + 1) + ever).argmax()
        )
        return self.candidates[row].copy()

    def learn(self, transition):
        if transition.next_info["opened"]:
            such, notification = (
                self._such(context_of(transition.observation)),
                np.asarray(transition.action),
            )
            self.opens[such, tuple(notification.tolist())] += 1
            self._add(such, notification)

    def state(self):
        """`opens`: a list of [context's codes, notification's codes, count]; `counted`: is the history among them?"""
        return {
            "opens": [
                [list(such), list(notification), count]
                for (such, notification), count in self.opens.items()
            ],
            "counted": self._counted,
        }

    def load(self, state):
        self.opens = Counter(
            {
                (tuple(such), tuple(notification)): count
                for such, notification, count in state.get("opens", [])
            }
        )
        self._counted = state.get("counted", True)
        if hasattr(self, "candidates"):
            self._tally()


class OfflineModel(Deterministic):
    """Sends the candidate that a model of the user, fitted to a history, says will be opened.

    judge      a fitted judge (`pushlab.users.judges.fit_judge`), or a Period to fit the default one to
    diversity  0: always the likeliest. Above 0, a candidate that this episode has sent n times loses
               diversity × log(1 + n) of its log-odds, so that in the long run shares of what is sent come near to
               exp(log-odds / diversity): a softmax of that temperature, dealt out evenly and without dice. About 0.1
               varies what is nearly as good, 1 sends nearly everything now and then.
    """

    name = "offline model"

    def __init__(self, judge: Any, diversity: float = 0.0) -> None:
        number("diversity", diversity, 0)
        if hasattr(judge, "notification_codes"):
            from pushlab.users.judges import fit_judge

            judge = fit_judge(judge)
        demand(
            hasattr(judge, "schema"),
            f"judge is a judge, or a Period to fit one to; got {in_short(judge)}",
        )
        self.judge, self.diversity = judge, diversity
        self.sent = None

    def begin(self, env, seed):
        self.candidates = candidates_of(env)
        sizes = [
            half.sizes.tolist()
            for schema in (self.judge.schema, env.unwrapped.world.schema)
            for half in (schema.context, schema.notification)
        ]
        if sizes[:2] != sizes[2:]:
            raise ValueError(
                "the model is coded by another schema than the environment's; load both as one user"
            )
        self.sent = np.zeros(len(self.candidates), np.int64)

    def log_odds(self, context: np.ndarray) -> np.ndarray:
        """What the model says of each candidate in a context (components,): float64 (candidates,)."""
        probability = np.empty(len(self.candidates))
        self.judge.chances(context[None])(
            np.zeros(len(self.candidates), np.int64), self.candidates, probability
        )
        probability = np.clip(probability, SURE, 1 - SURE)
        return np.log(probability / (1 - probability))

    def act(self, observation, info, explore=True):
        worth = self.log_odds(context_of(observation))
        best = (
            worth - self.diversity * np.log1p(self.sent) if self.diversity else worth
        ).argmax()
        self.sent[best] += 1
        return self.candidates[best].copy()

    def state(self):
        """`sent`: how often this episode has sent each candidate."""
        return {} if self.sent is None else {"sent": self.sent.copy()}

    def load(self, state):
        if state:
            self.sent = np.array(state["sent"], np.int64)
