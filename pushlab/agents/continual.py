"""Arrival learners that forget, and two remedies: blockwise regression, gradient descent, replay, elastic weights.

`LinearArrivalQ`, their base class, weights all answers equally, in whatever order they came: its regression is exact.
Here later answers overwrite earlier ones, since less is stored than the full covariance.
"""

import numpy as np

from pushlab.agents.arrivals import CACHE, LinearArrivalQ
from pushlab.agents.protocol import FLOATS
from pushlab.utils.arguments import validate_integer, validate_number


class BlockwiseArrivalQ(LinearArrivalQ):
    """Bayesian regression without covariance between rows of weights, an approximation that depends on the order.

    The shared weights and those of each subject keep a covariance of their own. After each answer the
    covariance between different rows is dropped (assumed density filtering), so later answers count more.

    Source:
        Minka (2001), Expectation propagation for approximate Bayesian inference, UAI.
    """

    name = "blockwise"

    def begin(self, env, seed):
        super().begin(env, seed)
        rows = np.arange(self.weights.shape[1]) // self._features.size
        self._is_same_row = rows[:, None] == rows

    def update_value(self, description, action, target):
        super().update_value(description, action, target)
        if action != CACHE:
            self.covariances[action] *= self._is_same_row


class SGDArrivalQ(LinearArrivalQ):
    """Linear Q-learning by stochastic gradient descent: each answer moves the active weights by a small step.

    Attributes:
        rate: Fraction of the error that one answer removes, divided evenly among the active weights.
    """

    name = "small steps"
    state_attributes = {"weights": FLOATS, "episodes": int}

    def _prior_covariances(self, count):
        return None

    def update_value(self, description, action, target):
        self._gradient_step(description, action, target)


def _restore_answers(rows):
    """Restore answers from JSON."""
    return [(np.array(active), *rest) for active, *rest in rows]


class ReplayArrivalQ(SGDArrivalQ):
    """Stores answers in a reservoir and replays some of them after each new answer.

    Every answer so far is in the reservoir with the same probability, regardless of its age. Outcomes of caching
    aren't stored: they are estimates, which become outdated.

    Args:
        times: Number of stored answers to replay after each new answer.

    Attributes:
        size: Capacity of the reservoir.
        memory: The stored answers.
        seen: Number of answers so far.

    Source:
        Vitter (1985), Random sampling with a reservoir, ACM Trans. Math. Softw. 11(1), algorithm R; Chaudhry et al.
        (2019), On tiny episodic memories in continual learning, arXiv 1902.10486.
    """

    name = "replays"
    size = 1000
    state_attributes = {
        **SGDArrivalQ.state_attributes,
        "memory": _restore_answers,
        "seen": int,
    }

    def __init__(self, times: int = 1):
        super().__init__()
        self.times = validate_integer("times", times, 0)
        self.memory = []
        self.seen = 0

    def begin(self, env, seed):
        super().begin(env, seed)
        # A separate generator, so that replay doesn't change exploration.
        (self._replay_rng,) = self._rng.spawn(1)

    def update_value(self, description, action, target):
        super().update_value(description, action, target)
        if action == CACHE:
            return
        self.seen += 1
        slot = len(self.memory)
        if self.seen > self.size:
            slot = int(self._replay_rng.integers(self.seen))
        if slot < self.size:
            self.memory[slot : slot + 1] = [(description, action, target)]
        indices = self._replay_rng.integers(len(self.memory), size=self.times)
        for index in indices:
            super().update_value(*self.memory[index])


class ElasticArrivalQ(SGDArrivalQ):
    """Pulls weights back to their earlier values, in proportion to their importance: elastic weights.

    It is notified of a change of task, but ignores the task's name. At each change its weights become the anchor w*,
    and every later step also descends the penalty strength / 2 · Σ F (w - w*)². F is the diagonal of the Fisher
    information of all answers so far, per answer. For a sum of weights with Gaussian noise of variance 1, this is the
    fraction of the answers in which a weight was active. With the full matrix, and a sum over answers instead of a
    mean, the penalty would preserve all information of a linear model's old answers, as `LinearArrivalQ` does.

    Args:
        strength: Strength of the penalty; 0 disables it.

    Attributes:
        anchor: Weights of show and dismiss at the last change of task, (2, d).
        fisher: Fisher information F of these weights.
        active_counts: Number of answers in which each weight was active.
        answers: Number of answers to show and dismiss, (2,).

    Source:
        Kirkpatrick et al. (2017), Overcoming catastrophic forgetting in neural networks, PNAS 114(13), equation 3; one
        anchor for all tasks before, as in Huszár (2018), PNAS 115(11).
    """

    name = "elastic"
    state_attributes = {
        **SGDArrivalQ.state_attributes,
        "answers": FLOATS,
        "active_counts": FLOATS,
        "anchor": FLOATS,
        "fisher": FLOATS,
    }

    def __init__(self, strength: float = 10.0):
        super().__init__()
        self.strength = validate_number("strength", strength, 0)
        self.anchor = None
        self.active_counts = None
        self.fisher = None
        self.answers = np.zeros(2)

    def begin_task(self, task, learning):
        if learning and self.active_counts is not None:
            self.anchor = self.weights[:CACHE].copy()
            answers = np.maximum(self.answers, 1)
            self.fisher = self.active_counts / answers[:, None]

    def update_value(self, description, action, target):
        super().update_value(description, action, target)
        if action == CACHE:
            return
        if self.active_counts is None:
            self.active_counts = np.zeros_like(self.weights[:CACHE])
        self.active_counts[action, description] += 1
        self.answers[action] += 1
        if self.anchor is not None:
            rate = self.strength * self.rate / len(description)
            pull = np.minimum(rate * self.fisher[action], 1)
            difference = self.anchor[action] - self.weights[action]
            self.weights[action] += pull * difference
