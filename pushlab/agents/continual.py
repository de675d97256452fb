"""Learners of arrivals that try to keep what they learned of an earlier user: by replay, or by elastic weights.

All three learn by small steps, so later answers displace what earlier ones taught. `LinearArrivalQ`, their base, does
not forget like this: its Bayesian regression weighs all answers alike, as replaying everything would (exactly within
each of its blocks of weights).
"""

import numpy as np

from pushlab.agents.arrivals import CACHE, LinearArrivalQ, nudge
from pushlab.agents.protocol import FLOATS
from pushlab.ground.arguments import number, whole


class SmallSteps(LinearArrivalQ):
    """Linear Q-learning in which each answer moves the weights that apply a little: stochastic gradient descent.

    Attributes:
        rate: Share of the error that one answer removes, divided evenly among the weights that apply.
    """

    name = "small steps"
    saved = {"weights": FLOATS, "episodes": int}

    def _prior_covariances(self, shape):
        return None

    def move(self, described, action, target):
        self._step_towards(described, action, target)


def _answers(rows):
    """Restore answers from JSON."""
    return [
        ((np.array(blocks), np.array(active)), action, outcome)
        for (blocks, active), action, outcome in rows
    ]


class Replaying(SmallSteps):
    """Keeps a reservoir of answers and learns again from some of them after each new one.

    Every answer so far has the same chance to be in the reservoir, however old it is. Outcomes of putting off aren't
    stored: they are estimates, which get old.

    Args:
        times: Number of stored answers to learn from after each new one.

    Attributes:
        size: Number of answers in the reservoir.

    Source:
        Vitter (1985), Random sampling with a reservoir, ACM Trans. Math. Softw. 11(1), algorithm R; Chaudhry et al.
        (2019), On tiny episodic memories in continual learning, arXiv 1902.10486.
    """

    name = "replays"
    size = 1000
    saved = {**SmallSteps.saved, "memory": _answers, "seen": int}

    def __init__(self, times: int = 1):
        super().__init__()
        self.times = whole("times", times, 0)
        self.memory = []
        self.seen = 0

    def begin(self, env, seed):
        super().begin(env, seed)
        # Exploration is the same, whatever is replayed.
        (self._draws,) = self._rng.spawn(1)

    def move(self, described, action, target):
        super().move(described, action, target)
        if action == CACHE:
            return
        self.seen += 1
        place = len(self.memory)
        if self.seen > self.size:
            place = int(self._draws.integers(self.seen))
        if place < self.size:
            self.memory[place : place + 1] = [(described, action, target)]
        again = self._draws.integers(len(self.memory), size=self.times)
        for at in again:
            super().move(*self.memory[at])


class Elastic(SmallSteps):
    """Pulls weights back to their earlier values, the more, the more answers they took part in: elastic weights.

    It gets the signal of a change of task, but not the task. Then its weights become the anchor w*, and every later
    step also descends the penalty strength / 2 · Σ F (w - w*)². F is the diagonal of the Fisher information of all
    answers so far, per answer; for a sum of weights with Gaussian noise of variance 1 that is the share of the answers
    in which a weight applied. With the whole matrix instead of its diagonal, and the sum over the answers instead of
    their mean, the penalty would lose nothing of a linear model's old answers: that is Bayesian regression.
    `LinearArrivalQ` keeps the matrix of each block of weights.

    Args:
        strength: Strength of the penalty; 0 is none.

    Source:
        Kirkpatrick et al. (2017), Overcoming catastrophic forgetting in neural networks, PNAS 114(13), equation 3; one
        anchor for all tasks before, as in Huszár (2018), PNAS 115(11).
    """

    name = "elastic"
    saved = {
        **SmallSteps.saved,
        "answers": FLOATS,
        "applied": FLOATS,
        "anchor": FLOATS,
        "fisher": FLOATS,
    }

    def __init__(self, strength: float = 100.0):
        super().__init__()
        self.strength = number("strength", strength, 0)
        self.anchor = None
        self.applied = None
        self.fisher = None
        self.answers = np.zeros(2)

    def begin_task(self, task, learning):
        if learning and self.applied is not None:
            self.anchor = self.weights[:CACHE].copy()
            answers = np.maximum(self.answers, 1)
            self.fisher = self.applied / answers[:, None, None]

    def move(self, described, action, target):
        super().move(described, action, target)
        if action == CACHE:
            return
        blocks, active = described
        if self.applied is None:
            self.applied = np.zeros_like(self.weights[:CACHE])
        nudge(self.applied[action], blocks, active, 1.0)
        self.answers[action] += 1
        if self.anchor is not None:
            count = len(blocks) * len(active)
            rate = self.strength * self.rate / count
            pull = np.minimum(rate * self.fisher[action], 1)
            back = self.anchor[action] - self.weights[action]
            self.weights[action] += pull * back
