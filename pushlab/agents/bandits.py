"""Learning a user from nothing: contextual bandits that choose among candidates and learn after every answer.

All three believe the same thing about a user. Every value of a notification (news, an e-mail, the chat app) has its
own row of weights, one for each thing a context may hold (always, evening, at the bar, headphones in); what a
notification is worth in a context is the sum over its values of the weights of what the context holds, and one more
row is shared by all notifications. What an answer says about news in the evening so serves every notification of news,
which is why some thousand answers are enough to learn habits out of some thousand pairs.

They differ in how they try things out: by the roll of a die (ε-greedy), by the benefit of the doubt (LinUCB), or by
believing a draw from what may be true (Thompson sampling).

**The agent held against the baselines in the cold-start study is ThompsonSampling with its defaults.** The choice, and
the prior variances, were made before the shipped users were looked at, on private ones
(`pushlab.users.synthesis.make_user`, seeds from 100 on).
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pushlab.agents.features import (
    ContextFeatures,
    candidates_of,
    columns_that_differ,
    context_of,
)
from pushlab.agents.protocol import Agent, own_chance
from pushlab.agents.weights import WeightBlocks, expected_chance
from pushlab.ground.arguments import number


class Bandit(Agent):
    """What the three have in common: the belief, the candidates, and learning.

    crossed   names of the context features to look at, by default all of the schema
    shared    prior variance, in log-odds, of the weights shared by all notifications
    single    of the constant weight of each value of a notification
    pair      of each weight of a value in a context

    After `begin`, `candidates` are the notifications it chooses from, int64 (k, notification components).
    """

    link, noise = "logistic", 0.25

    def __init__(
        self,
        crossed: Sequence[str] | None = None,
        shared: float = 1.0,
        single: float = 0.3,
        pair: float = 0.3,
    ) -> None:
        self.crossed = crossed
        self.shared, self.single = (
            number("shared", shared, above=0),
            number("single", single, above=0),
        )
        self.pair = number("pair", pair, above=0)
        self.belief: Any = None  # WeightBlocks, once it is known how many
        self._loaded: Any = None

    def begin(self, env, seed):
        self.candidates, schema = candidates_of(env), env.unwrapped.world.schema
        self.features = ContextFeatures(schema.context, self.crossed)
        self._starts = (
            schema.notification.starts + 1
        )  # block 0 is shared by all notifications
        self._differ = columns_that_differ(self.candidates)
        self._blocks, where = np.unique(
            self._rows_of(self.candidates), return_inverse=True
        )
        self._members = where.reshape(len(self.candidates), -1)
        self._rng = own_chance(seed)
        self._believe(1 + int(schema.notification.sizes.sum()))

    def _believe(self, count):
        """The prior, or what was learned or loaded if it fits this schema."""
        belief = WeightBlocks(
            count, self.features.size, self._variances(count), self.link, self.noise
        )
        if self._loaded is not None:
            belief.mean, belief.covariance = self._loaded
        elif self.belief is not None:
            belief.mean, belief.covariance = self.belief.mean, self.belief.covariance
        if belief.mean.shape != (count, self.features.size):
            raise ValueError(
                f"what {self.name} learned is {belief.mean.shape[0]} rows of {belief.mean.shape[1]} "
                f"weights, and this environment's schema needs {count} of {self.features.size}; load "
                "users with one shared schema"
            )
        self.belief, self._loaded = belief, None

    def _variances(self, count):
        variances = np.full((count, self.features.size), float(self.pair))
        variances[:, 0] = self.single
        variances[0] = self.shared
        return variances

    def _rows_of(self, notifications):
        """The blocks that make up each notification, int64 (rows, 1 + components that differ)."""
        own = notifications[:, self._differ] + self._starts[self._differ]
        return np.hstack([np.zeros((len(own), 1), np.int64), own])

    def _sums(self, observation):
        """Mean and variance of what each block adds in this context, (blocks,) each."""
        active = self.features.active(context_of(observation))
        return self.belief.sums(self._blocks, active, np.ones(len(active)))

    def act(self, observation, info, explore=True):
        centre, variance = self._sums(observation)
        self.propensity = None if explore else 1.0
        row = (
            self._try(centre, variance)
            if explore
            else centre[self._members].sum(axis=1).argmax()
        )
        return self.candidates[row].copy()

    def _try(self, centre, variance):
        """Which candidate to send while learning, from mean and variance of what each block adds.

        One who can tell how likely that was sets `propensity`.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has to say how it tries things out"
        )

    def learn(self, transition):
        active = self.features.active(context_of(transition.observation))
        blocks = self._rows_of(np.asarray(transition.action, np.int64)[None])[0]
        self.belief.observe(
            blocks, active, np.ones(len(active)), float(transition.next_info["opened"])
        )

    def probability(
        self, contexts: np.ndarray, notifications: np.ndarray
    ) -> np.ndarray:
        """The probability of opening that the agent expects by now (rows,), for codes of both, a row each.

        For what it sends this is close to the truth; of what it never sends again after a bad start it thinks too
        little, since nothing corrects it.
        """
        expected = np.empty(len(contexts))
        for row, (context, blocks) in enumerate(
            zip(contexts, self._rows_of(np.asarray(notifications)))
        ):
            active = self.features.active(context)
            centre, variance = self.belief.sums(blocks, active, np.ones(len(active)))
            expected[row] = self._chance_of(centre.sum(), variance.sum())
        return expected

    def _chance_of(self, centre, variance):
        return expected_chance(centre, variance)

    def state(self):
        """`mean` (rows, weights) and `covariance` (rows, weights, weights) of the belief."""
        if self._loaded is not None:
            return {
                key: array.copy()
                for key, array in zip(("mean", "covariance"), self._loaded)
            }
        if self.belief is None:
            return {}
        return self.belief.state()

    def load(self, state):
        self._loaded = (
            tuple(np.array(state[key], float) for key in ("mean", "covariance"))
            if "mean" in state
            else None
        )
        if self._loaded is not None and self.belief is not None:
            self._believe(len(self.belief.mean))


class EpsilonGreedy(Bandit):
    """Sends what it believes to be best, and now and then, with probability ε, any candidate.

    epsilon  at the first step
    half_at  steps after which ε has fallen to half: epsilon / (1 + step / half_at); None keeps it
    others   see Bandit
    """

    name = "eps-greedy"

    def __init__(
        self, epsilon: float = 0.2, half_at: float | None = 500, **belief: Any
    ) -> None:
        super().__init__(**belief)
        number("epsilon", epsilon, 0, 1)
        self.half_at = (
            None if half_at is None else number("half_at", half_at, 0, math.inf)
        )
        self.epsilon, self._steps = epsilon, 0

    def _try(self, centre, variance):
        epsilon = (
            self.epsilon / (1 + self._steps / self.half_at)
            if self.half_at
            else self.epsilon
        )
        best, count = centre[self._members].sum(axis=1).argmax(), len(self.candidates)
        row = self._rng.integers(count) if self._rng.random() < epsilon else best
        self.propensity = epsilon / count + (1 - epsilon) * bool(row == best)
        return row

    def learn(self, transition):
        super().learn(transition)
        self._steps += 1

    def state(self):
        return super().state() | {"steps": self._steps}

    def load(self, state):
        super().load(state)
        self._steps = int(state.get("steps", 0))


class LinUCB(Bandit):
    """Sends what could be best: expected value plus `width` standard deviations.

    A linear model of opened (1) or not (0), as in the paper, with prior variances in its units.

    width    how far the benefit of the doubt goes
    others   see Bandit
    Source   Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article
             recommendation, WWW. Ours: independent blocks in place of one matrix, which a step could not afford.
    """

    name = "LinUCB"
    link = "linear"

    def __init__(
        self,
        width: float = 1.5,
        crossed: Sequence[str] | None = None,
        shared: float = 0.04,
        single: float = 0.03,
        pair: float = 0.01,
    ) -> None:
        super().__init__(crossed, shared, single, pair)
        self.width = number("width", width, 0)

    def _try(self, centre, variance):
        self.propensity = 1.0
        own = self._members[
            :, 1:
        ]  # what all notifications share makes none of them better
        return (
            centre[own].sum(axis=1) + self.width * np.sqrt(variance[own].sum(axis=1))
        ).argmax()

    def _chance_of(self, centre, variance):
        return min(max(centre, 0.0), 1.0)


class ThompsonSampling(Bandit):
    """Draws weights from what it believes possible, and sends what would be best if they were true.

    Where it is unsure its draws differ, so it tries; where it is sure they do not. In a given context only the sum
    that each block adds matters, so that one normal number a block is drawn.

    width    factor on the standard deviation of what is drawn. 1 is the belief itself, and tries for too long: some
             fifty rows of weights are unsure at once, and the one that happens to claim most is sent. A quarter of it
             learns best within three months (the table is in data/studies/README.md)
    others   see Bandit
    Source   Thompson (1933), Biometrika 25; Chapelle & Li (2011), An empirical evaluation of Thompson sampling, NIPS
    """

    name = "Thompson"

    def __init__(self, width: float = 0.25, **belief: Any) -> None:
        super().__init__(**belief)
        self.width = number("width", width, 0)

    def _try(self, centre, variance):
        drawn = centre + self.width * np.sqrt(variance) * self._rng.standard_normal(
            len(centre)
        )
        return drawn[self._members].sum(axis=1).argmax()
