"""Contextual bandits for a cold start: they choose among candidates and learn after every answer.

ε-greedy, LinUCB and Thompson sampling use the same model of a user, Bayesian linear regression. Each value of a
notification (news, an e-mail, the chat app) has a row of weights, one per feature of the context (always, evening, on
foot). One more row is shared by all notifications. The expected answer to a notification with the features x is x · θ,
the sum of its active weights. An answer about news in the evening therefore informs every news notification.

Before the first answer, each weight is N(0, `prior_variance`), independently of the others. An answer (1 opened, 0 not)
has the variance `noise`. After the answers r to notifications x, the weights have the mean A⁻¹b and the covariance
C = noise · A⁻¹, where

    A = noise / prior_variance · I + Σ x xᵀ,    b = Σ r x.

The mean is the solution of ridge regression. C is one matrix of all weights.

The three differ in exploration only: random choices (ε-greedy), upper confidence bounds (LinUCB), or draws from the
posterior (Thompson sampling). `LogisticThompson` draws from the approximate posterior of a logistic model.

**The cold-start study compares ThompsonSampling with the baselines, all with their defaults.** The prior and the
defaults were chosen on private users (`pushlab.users.synthesis.make_user`, seeds from 100 on), before the shipped users
were used; see data/studies/README.md.
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
from pushlab.agents.weight_posterior import expected_probability, update_weights
from pushlab.utils.arguments import validate_number


class Bandit(Agent):
    """Base class of the bandits: the weights, the candidates, and learning.

    The weight of a row for a context feature has the index row · features + feature.

    Attributes:
        context_features: Names of the context's features to use; None uses those of
            `pushlab.agents.push.CONTEXT_FEATURES`.
        prior_variance: Prior variance of each weight.
        noise: Variance of an answer in a linear model; None for a logistic model. No outcome between 0 and 1 has a
            larger variance than a quarter.
        candidates: The notifications to choose from, int64 (k, notification components), set by `begin`.
        mean: Expected weights (d,).
        covariance: Covariance of the weights (d, d).
    """

    context_features: Sequence[str] | None = None
    prior_variance = 0.03
    noise: float | None = 0.25
    state_attributes = {"mean": FLOATS, "covariance": FLOATS}

    def __init__(self):
        self.mean = None
        self.covariance = None

    def begin(self, env, seed):
        self.candidates = unique_candidates(env)
        schema = env.unwrapped.world.schema
        self.features = ContextFeatures(schema.context, self.context_features)
        self._varying = varying_columns(self.candidates)
        sizes = schema.notification.sizes[self._varying]
        # Row 0 is shared by all notifications.
        self._starts = 1 + np.cumsum(sizes) - sizes
        rows = 1 + int(sizes.sum())
        # has_row[i, r] is 1 if candidate i has the value of row r.
        self._has_row = np.zeros((len(self.candidates), rows))
        rows_of_candidates = self._rows(self.candidates)
        np.put_along_axis(self._has_row, rows_of_candidates, 1.0, axis=1)
        self._rng = agent_rng(seed)
        count = rows * self.features.size
        if self.mean is None:
            self.mean = np.zeros(count)
            self.covariance = self.prior_variance * np.eye(count)
        if len(self.mean) != count:
            raise ValueError(
                f"{self.name} has learned {len(self.mean)} weights, but this environment's candidates and schema need "
                f"{count}; load users with one shared schema"
            )

    def _rows(self, notifications):
        """Return the rows of each notification, int64 (n, 1 + varying components). The first is the shared one."""
        rows = notifications[:, self._varying] + self._starts
        return np.insert(rows, 0, 0, axis=1)

    def _weights(self, rows, active):
        """Return the indices of the weights of some rows for the active features, int64 (rows × active,)."""
        return (rows[:, None] * self.features.size + active).ravel()

    def act(self, observation, info, explore=True):
        active = self.features.active(context_codes(observation))
        weights = self.mean.reshape(-1, self.features.size)
        expected = self._has_row @ weights[:, active].sum(axis=1)
        if explore:
            self.propensity = None
            choice = self._explore(expected, active)
        else:
            self.propensity = 1.0
            choice = expected.argmax()
        return self.candidates[choice].copy()

    def _explore(self, expected, active):
        """Return the index of an exploring choice, from the candidates' expected scores and the active features.

        It sets `propensity` if the probability is known.
        """
        raise NotImplementedError

    def _row_covariance(self, active):
        """Return the covariance (rows, rows) of the rows' sums over the active features.

        A candidate's score adds the sums of its rows, so this matrix has the joint covariance of all scores.
        """
        size = self.features.size
        rows = self._has_row.shape[1]
        sums = self.covariance.reshape(rows, size, -1)[:, active].sum(axis=1)
        return sums.reshape(rows, rows, size)[:, :, active].sum(axis=2)

    def learn(self, transition):
        active = self.features.active(context_codes(transition.observation))
        notification = np.asarray(transition.action, np.int64)
        rows = self._rows(notification[None])[0]
        opened = float(transition.next_info["opened"])
        update_weights(
            self.mean,
            self.covariance,
            self._weights(rows, active),
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
        estimates = np.empty(len(contexts))
        all_rows = self._rows(np.asarray(notifications))
        for number, (context, rows) in enumerate(zip(contexts, all_rows)):
            weights = self._weights(rows, self.features.active(context))
            score = self.mean[weights].sum()
            if self.noise is None:
                variance = self.covariance[np.ix_(weights, weights)].sum()
                estimates[number] = expected_probability(score, variance)
            else:
                estimates[number] = np.clip(score, 0, 1)
        return estimates


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

    def _explore(self, expected, active):
        epsilon = self.epsilon / (1 + self.steps / self.half_at)
        count = len(self.candidates)
        choice = best = expected.argmax()
        if self._rng.random() < epsilon:
            choice = self._rng.integers(count)
        self.propensity = epsilon / count
        if choice == best:
            self.propensity += 1 - epsilon
        return choice

    def learn(self, transition):
        super().learn(transition)
        self.steps += 1


class LinUCB(Bandit):
    """Sends the candidate with the highest upper bound x · θ + width √(xᵀCx).

    Args:
        width: Number of standard deviations. The paper's α multiplies √(xᵀA⁻¹x), so it is width · √noise.

    Source:
        Li, Chu, Langford & Schapire (2010), A contextual-bandit approach to personalized news article recommendation,
        WWW. Instead of a matrix for each article it has one of all weights.
    """

    name = "LinUCB"

    def __init__(self, width: float = 1.0):
        super().__init__()
        self.width = validate_number("width", width, 0)

    def _explore(self, expected, active):
        self.propensity = 1.0
        products = self._has_row @ self._row_covariance(active)
        variance = (products * self._has_row).sum(axis=1)
        bounds = expected + self.width * np.sqrt(variance)
        # Bounds of equal candidates differ by rounding errors, which depend on the processor.
        return bounds.round(9).argmax()


class ThompsonSampling(Bandit):
    """Draws all weights together from the posterior and sends the best candidate under the drawn weights.

    Draws of uncertain weights vary, so it explores them. In a given context only the sums of the rows matter. It draws
    these sums from their joint Gaussian, which is equivalent.

    Args:
        width: Factor on the standard deviation of the draws. 1 is the posterior itself, which explores for too long:
            some sixty candidates are uncertain at once, and the one with the highest draw is sent. A quarter has less
            regret within three months (the table is in data/studies/README.md).

    Source:
        Thompson (1933), Biometrika 25; Agrawal & Goyal (2013), Thompson sampling for contextual bandits with linear
        payoffs, ICML; Chapelle & Li (2011), An empirical evaluation of Thompson sampling, NIPS, who also try narrower
        posteriors.
    """

    name = "Thompson"

    def __init__(self, width: float = 0.25):
        super().__init__()
        self.width = validate_number("width", width, 0)

    def _explore(self, expected, active):
        factor = np.linalg.cholesky(self._row_covariance(active))
        draws = factor @ self._rng.standard_normal(len(factor))
        return (expected + self.width * self._has_row @ draws).argmax()


class LogisticThompson(ThompsonSampling):
    """Thompson sampling with a logistic model: x · θ is the log-odds of an open.

    The posterior has no closed form. After each answer a Gaussian takes its place, by one Newton step from the previous
    one (`update_weights`). Earlier answers aren't revisited, so the result depends on their order. A Laplace
    approximation would iterate to the mode of the posterior of all answers, and Pólya-Gamma sampling would draw from
    the posterior itself.

    Source:
        Chapelle & Li (2011), An empirical evaluation of Thompson sampling, NIPS, section 3. They update in batches and
        keep only variances.
    """

    name = "logistic Thompson"
    prior_variance = 0.3
    noise = None
