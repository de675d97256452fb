"""Contextual bandits for a cold start: they choose among candidates and learn after every answer.

All three use the same model of a user. Each value of a notification (news, an e-mail, the chat app) has a row of
weights, one per feature of the context (always, evening, at the bar, headphones in). The score of a notification in a
context is the sum of the weights of its values for the active features. One more row is shared by all notifications.
An answer about news in the evening therefore informs every news notification. Some thousand answers are enough to
learn habits of some thousand pairs.

They differ in exploration: random choices (ε-greedy), upper confidence bounds (LinUCB), or draws from the posterior
(Thompson sampling).

**The cold-start study compares ThompsonSampling with the baselines, all with their defaults.** Its default and the
prior variances were chosen on private users (`pushlab.users.synthesis.make_user`, seeds from 100 on), before the
shipped users were used.
"""

from collections.abc import Sequence

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, agent_rng
from pushlab.agents.push import (
    ContextFeatures,
    context_codes,
    unique_candidates,
    varying_columns,
)
from pushlab.agents.weight_posterior import (
    block_sums,
    expected_probability,
    prior_covariance,
    update_weights,
)
from pushlab.utils.arguments import validate_number


class Bandit(Agent):
    """Base class of the three bandits: the weights, the candidates, and learning.

    Attributes:
        context_features: Names of the context features to use; None uses all of the schema.
        shared_variance: Prior variance, in log-odds, of the weights shared by all notifications.
        value_variance: Prior variance of the constant weight of each value of a notification.
        context_variance: Prior variance of each weight of a value for a context feature.
        noise: Variance of an answer in a linear model; None for a logistic model.
        candidates: The notifications to choose from, int64 (k, notification components), set by `begin`.
    """

    context_features: Sequence[str] | None = None
    shared_variance = 1.0
    value_variance = 0.3
    context_variance = 0.3
    noise: float | None = None
    state_attributes = {"mean": FLOATS, "covariance": FLOATS}

    def __init__(self):
        self.mean = None
        self.covariance = None

    def begin(self, env, seed):
        self.candidates = unique_candidates(env)
        schema = env.unwrapped.world.schema
        self.features = ContextFeatures(schema.context, self.context_features)
        # Block 0 is shared by all notifications.
        self._starts = schema.notification.starts + 1
        self._varying = varying_columns(self.candidates)
        blocks = self._notification_blocks(self.candidates)
        self._blocks, positions = np.unique(blocks, return_inverse=True)
        self._block_positions = positions.reshape(blocks.shape)
        self._rng = agent_rng(seed)
        count = int(schema.notification.sizes.sum())
        shape = (1 + count, self.features.size)
        if self.mean is None:
            variances = np.full(shape, self.context_variance)
            variances[:, 0] = self.value_variance
            variances[0] = self.shared_variance
            self.mean = np.zeros(shape)
            self.covariance = prior_covariance(variances)
        if self.mean.shape != shape:
            raise ValueError(
                f"{self.name} has learned weights {self.mean.shape} (rows, features), but this environment's schema "
                f"needs {shape}; load users with one shared schema"
            )

    def _notification_blocks(self, notifications):
        """Return the blocks of each notification, int64 (rows, 1 + varying components). The first is the shared one."""
        codes = notifications[:, self._varying]
        blocks = codes + self._starts[self._varying]
        shared = np.zeros((len(blocks), 1), np.int64)
        return np.hstack([shared, blocks])

    def act(self, observation, info, explore=True):
        active = self.features.active(context_codes(observation))
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
        return sums[self._block_positions].sum(axis=1).argmax()

    def _explore(self, centre, variance):
        """Return the row of an exploring choice, from mean and variance of each block's sum.

        It sets `propensity` if the probability is known.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method _explore")

    def learn(self, transition):
        active = self.features.active(context_codes(transition.observation))
        notification = np.asarray(transition.action, np.int64)
        blocks = self._notification_blocks(notification[None])[0]
        opened = float(transition.next_info["opened"])
        update_weights(
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
        """Return the agent's current estimate of the probability of an open (rows,), for codes of both, one row each.

        It is accurate for notifications that the agent still sends. It is too low for those that it no longer sends
        after early failures, since no answer corrects it.
        """
        expected = np.empty(len(contexts))
        all_blocks = self._notification_blocks(np.asarray(notifications))
        for row, (context, blocks) in enumerate(zip(contexts, all_blocks)):
            active = self.features.active(context)
            sums = block_sums(self.mean, self.covariance, blocks, active)
            centre, variance = map(np.sum, sums)
            if self.noise is None:
                expected[row] = expected_probability(centre, variance)
            else:
                expected[row] = np.clip(centre, 0, 1)
        return expected


class EpsilonGreedy(Bandit):
    """Sends the candidate with the highest expected value, and with probability ε a random one.

    Args:
        epsilon: ε at the first step.

    Attributes:
        half_at: Number of steps after which ε has halved: ε is epsilon / (1 + step / half_at). Infinity keeps it
            constant.
    """

    name = "eps-greedy"
    half_at = 500.0
    state_attributes = {**Bandit.state_attributes, "steps": int}

    def __init__(self, epsilon: float = 0.2):
        super().__init__()
        self.epsilon = validate_number("epsilon", epsilon, 0, 1)
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
    """Sends the candidate with the highest upper bound: expected value plus `width` standard deviations.

    As in the paper, the model is linear, with outcomes 1 (opened) and 0. The prior variances are in its units.

    Args:
        width: Number of standard deviations.

    Source:
        Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
        WWW. It differs in having independent blocks instead of one matrix, which would make a step too slow.
    """

    name = "LinUCB"
    shared_variance = 0.04
    value_variance = 0.03
    context_variance = 0.01
    noise = 0.25

    def __init__(self, width: float = 1.5):
        super().__init__()
        self.width = validate_number("width", width, 0)

    def _explore(self, centre, variance):
        self.propensity = 1.0
        # The shared block is the same for all candidates.
        positions = self._block_positions[:, 1:]
        expected = centre[positions].sum(axis=1)
        deviation = np.sqrt(variance[positions].sum(axis=1))
        return (expected + self.width * deviation).argmax()


class ThompsonSampling(Bandit):
    """Draws weights from the posterior and sends the best candidate under the drawn weights.

    Draws of uncertain weights vary, so it explores them. In a given context only the sum of each block matters, so it
    draws one normal number per block.

    Args:
        width: Factor on the standard deviation of the draws. 1 is the posterior itself, which explores for too long:
            some fifty rows of weights are uncertain at once, and the one with the highest draw is sent. A quarter
            learns best within three months (the table is in data/studies/README.md).

    Source:
        Thompson (1933), Biometrika 25; Chapelle & Li (2011), An empirical evaluation of Thompson sampling, NIPS.
    """

    name = "Thompson"

    def __init__(self, width: float = 0.25):
        super().__init__()
        self.width = validate_number("width", width, 0)

    def _explore(self, centre, variance):
        draws = self._rng.standard_normal(len(centre))
        return self._best(centre + self.width * np.sqrt(variance) * draws)
