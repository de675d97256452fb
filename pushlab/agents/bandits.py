"""Learning a user from nothing: contextual bandits that choose among candidates and learn after every answer.

All three believe the same thing about a user. Every value of a notification (news, an e-mail, the chat app) has its
own row of weights, one for each thing a context may hold (always, evening, at the bar, headphones in); what a
notification is worth in a context is the sum over its values of the weights of what the context holds, and one more
row is shared by all notifications. What an answer says about news in the evening so serves every notification of news,
which is why some thousand answers are enough to learn habits out of some thousand pairs.

They differ in how they try things out: by the roll of a die (ε-greedy), by the benefit of the doubt (LinUCB), or by
believing a draw from what may be true (Thompson sampling).

**The cold-start study compares ThompsonSampling with its defaults with the baselines.** It and the prior variances were
chosen on private users (`pushlab.users.synthesis.make_user`, seeds from 100 on), before anyone looked at the shipped
ones.
"""

from collections.abc import Sequence

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, own_chance
from pushlab.agents.push import (
    ContextFeatures,
    candidates_of,
    columns_that_differ,
    context_of,
)
from pushlab.agents.weights import (
    block_sums,
    expected_chance,
    observe,
    prior_covariance,
)
from pushlab.ground.arguments import number


class Bandit(Agent):
    """The common part of the three: the belief, the candidates, and learning.

    Attributes:
        crossed: Names of the context features to use; None uses all of the schema.
        shared: Prior variance, in log-odds, of the weights shared by all notifications.
        single: Of the constant weight of each value of a notification.
        pair: Of each weight of a value in a context.
        noise: Variance of an answer in a linear model; None for a logistic one.
        candidates: The notifications to choose from, int64 (k, notification components), after `begin`.
    """

    crossed: Sequence[str] | None = None
    shared = 1.0
    single = 0.3
    pair = 0.3
    noise: float | None = None
    saved = {"mean": FLOATS, "covariance": FLOATS}

    def __init__(self):
        self.mean = None
        self.covariance = None

    def begin(self, env, seed):
        self.candidates = candidates_of(env)
        schema = env.unwrapped.world.schema
        self.features = ContextFeatures(schema.context, self.crossed)
        # Block 0 is shared by all notifications.
        self._starts = schema.notification.starts + 1
        self._differ = columns_that_differ(self.candidates)
        own = self._blocks_of(self.candidates)
        self._blocks, where = np.unique(own, return_inverse=True)
        self._members = where.reshape(own.shape)
        self._rng = own_chance(seed)
        count = int(schema.notification.sizes.sum())
        shape = (1 + count, self.features.size)
        if self.mean is None:
            variances = np.full(shape, self.pair)
            variances[:, 0] = self.single
            variances[0] = self.shared
            self.mean = np.zeros(shape)
            self.covariance = prior_covariance(variances)
        if self.mean.shape != shape:
            raise ValueError(
                f"{self.name} has learned weights {self.mean.shape} (rows, features), and this environment's schema "
                f"needs {shape}; load users with one shared schema"
            )

    def _blocks_of(self, notifications):
        """Return the blocks that each notification consists of, int64 (rows, 1 + components that differ)."""
        own = notifications[:, self._differ]
        own = own + self._starts[self._differ]
        shared = np.zeros((len(own), 1), np.int64)
        return np.hstack([shared, own])

    def act(self, observation, info, explore=True):
        active = self.features.active(context_of(observation))
        sums = block_sums(self.mean, self.covariance, self._blocks, active)
        if explore:
            self.propensity = None
            row = self._explore(*sums)
        else:
            self.propensity = 1.0
            row = self._best(sums[0])
        return self.candidates[row].copy()

    def _best(self, sums):
        """Return the row of the candidate whose blocks have the largest sum."""
        return sums[self._members].sum(axis=1).argmax()

    def _explore(self, centre, variance):
        """Return the row of the candidate to send while learning, from mean and variance of each block's sum.

        It sets `propensity` if that is known.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method _explore")

    def learn(self, transition):
        active = self.features.active(context_of(transition.observation))
        notification = np.asarray(transition.action, np.int64)
        blocks = self._blocks_of(notification[None])[0]
        opened = float(transition.next_info["opened"])
        observe(
            self.mean,
            self.covariance,
            blocks,
            active,
            opened,
            noise=self.noise,
        )

    def probability(
        self, contexts: np.ndarray, notifications: np.ndarray
    ) -> np.ndarray:
        """Return the probability of opening that the agent expects now (rows,), for codes of both, one row each.

        For what it sends this is close to the truth. For what it never sends again after a bad start it is too low,
        since nothing corrects it.
        """
        expected = np.empty(len(contexts))
        every = self._blocks_of(np.asarray(notifications))
        for row, (context, blocks) in enumerate(zip(contexts, every)):
            active = self.features.active(context)
            sums = block_sums(self.mean, self.covariance, blocks, active)
            centre, variance = map(np.sum, sums)
            if self.noise is None:
                expected[row] = expected_chance(centre, variance)
            else:
                expected[row] = np.clip(centre, 0, 1)
        return expected


class EpsilonGreedy(Bandit):
    """Sends what it believes to be best, and with probability ε any candidate.

    Args:
        epsilon: ε at the first step.

    Attributes:
        half_at: Steps after which ε has fallen to half: epsilon / (1 + step / half_at); infinity keeps it.
    """

    name = "eps-greedy"
    half_at = 500.0
    saved = {**Bandit.saved, "steps": int}

    def __init__(self, epsilon: float = 0.2):
        super().__init__()
        self.epsilon = number("epsilon", epsilon, 0, 1)
        self.steps = 0

    def _explore(self, centre, variance):
        epsilon = self.epsilon / (1 + self.steps / self.half_at)
        count = len(self.candidates)
        row = best = self._best(centre)
        if self._rng.random() < epsilon:
            row = self._rng.integers(count)
        self.propensity = epsilon / count
        if row == best:
            self.propensity += 1 - epsilon
        return row

    def learn(self, transition):
        super().learn(transition)
        self.steps += 1


class LinUCB(Bandit):
    """Sends what could be best: expected value plus `width` standard deviations.

    A linear model of opened (1) or not (0), as in the paper, with prior variances in its units.

    Args:
        width: Number of standard deviations.

    Source:
        Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
        WWW. Ours: independent blocks instead of one matrix, which would make a step too slow.
    """

    name = "LinUCB"
    shared = 0.04
    single = 0.03
    pair = 0.01
    noise = 0.25

    def __init__(self, width: float = 1.5):
        super().__init__()
        self.width = number("width", width, 0)

    def _explore(self, centre, variance):
        self.propensity = 1.0
        own = self._members[:, 1:]  # the shared block makes no candidate better
        expected = centre[own].sum(axis=1)
        deviation = np.sqrt(variance[own].sum(axis=1))
        return (expected + self.width * deviation).argmax()


class ThompsonSampling(Bandit):
    """Draws weights from its belief, and sends what would be best if they were true.

    Uncertain weights have differing draws, so it explores them. In a given context only the sum of each block
    matters, so one normal number is drawn per block.

    Args:
        width: Factor on the standard deviation of the draws. 1 is the belief itself, and explores for too long: some
            fifty rows of weights are uncertain at once, and the one with the highest draw is sent. A quarter of it
            learns best within three months (the table is in data/studies/README.md).

    Source:
        Thompson (1933), Biometrika 25; Chapelle & Li (2011), An empirical evaluation of Thompson sampling, NIPS.
    """

    name = "Thompson"

    def __init__(self, width: float = 0.25):
        super().__init__()
        self.width = number("width", width, 0)

    def _explore(self, centre, variance):
        draws = self._rng.standard_normal(len(centre))
        return self._best(centre + self.width * np.sqrt(variance) * draws)
