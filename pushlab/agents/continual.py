"""Learners of arrivals that are to keep what they learned of a user before: by rehearsing it, or by holding on to it.

All three learn by small steps, so that what comes later pushes aside what came before. `LinearArrivalQ`, which they are
made of, does not: its Bayesian regression weighs all that it has ever seen alike, as rehearsing everything would
(exactly within each of its blocks of weights).
"""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from pushlab.agents.arrival_values import LinearArrivalQ, nudge
from pushlab.agents.arrivals import CACHE
from pushlab.ground.arguments import number, whole


class SmallSteps(LinearArrivalQ):
    """Linear Q-learning in which each answer moves the weights that apply a little: stochastic gradient descent.

    rate   share of the error that one answer takes away, divided evenly among the weights that apply
    """

    name = "small steps"

    def __init__(
        self, epsilon: float = 0.2, settle: int = 200, rate: float = 0.1
    ) -> None:
        super().__init__(epsilon, settle, rate=rate)

    def _believe(self, weights):
        self.weights, self.beliefs = weights, []

    def move(self, described: Any, action: int, target: float) -> None:
        blocks, active = described
        step = (
            self.rate
            * (target - self.values_of(described)[action])
            / (len(blocks) * len(active))
        )
        nudge(self.weights[action], blocks, active, step)

    def state(self):
        """`weights` (3, blocks, size), and `episodes` learned from."""
        return (
            {}
            if self.weights is None
            else {"weights": self.weights.copy(), "episodes": self.episodes}
        )

    def load(self, state):
        self.weights, self.episodes = None, int(state.get("episodes", 0))
        if "weights" in state:
            self._believe(np.array(state["weights"], float))


class Replaying(SmallSteps):
    """Keeps a reservoir of answers and rehearses some of them after each new one.

    Every answer met so far has the same chance to be in the reservoir, however long ago it was. What became of putting
    off is not kept: it is an estimate, which gets old.

    size   how many answers it keeps
    times  how many of them it rehearses after each new one

    Source  Vitter (1985), Random sampling with a reservoir, ACM Trans. Math. Softw. 11(1), algorithm R; Chaudhry et
            al. (2019), On tiny episodic memories in continual learning, arXiv 1902.10486
    """

    name = "replays"

    def __init__(self, size: int = 1000, times: int = 1, rate: float = 0.1) -> None:
        super().__init__(rate=rate)
        self.size, self.times, self.memory, self.met = (
            whole("size", size, 1),
            whole("times", times, 0),
            [],
            0,
        )

    def begin(self, env, seed):
        super().begin(env, seed)
        self._draws = self._rng.spawn(1)[
            0
        ]  # what is tried stays the same, whatever is rehearsed

    def move(self, described: Any, action: int, target: float) -> None:
        super().move(described, action, target)
        if action == CACHE:
            return
        self.met += 1
        place = (
            len(self.memory)
            if self.met <= self.size
            else int(self._draws.integers(self.met))
        )
        if place < self.size:
            self.memory[place : place + 1] = [(described, action, target)]
        for at in self._draws.integers(len(self.memory), size=self.times):
            super().move(*self.memory[at])

    def state(self):
        """As its parent's, with `memory`, a list of [blocks, active, action, outcome], and `met`, how many answers."""
        memory = [
            [blocks.tolist(), active.tolist(), action, target]
            for (blocks, active), action, target in self.memory
        ]
        return {**super().state(), "memory": memory, "met": self.met}

    def load(self, state):
        super().load(state)
        self.met = state.get("met", 0)
        self.memory = [
            ((np.array(blocks), np.array(active)), action, target)
            for blocks, active, action, target in state.get("memory", [])
        ]


class Elastic(SmallSteps):
    """Holds on to the weights of before, each the more, the more often it had a say: elastic weights.

    Is told of a change of task, not of the task. Then what it knows becomes the anchor w*, and every later step also
    goes down the penalty strength / 2 · Σ F (w - w*)². F is the diagonal of the Fisher information of all answers so
    far, per answer; for a sum of weights with Gaussian noise of variance 1 that is the share of the answers in which a
    weight applied. With the whole matrix for its diagonal, and the sum over the answers for their mean, the penalty
    would lose nothing of a linear model's old answers: that is Bayesian regression. `LinearArrivalQ` keeps the matrix
    of each block of weights.

    strength  0 holds on to nothing

    Source  Kirkpatrick et al. (2017), Overcoming catastrophic forgetting in neural networks, PNAS 114(13), equation 3;
            one anchor for all tasks before, as in Huszár (2018), PNAS 115(11)
    """

    name = "elastic"

    def __init__(self, strength: float = 100.0, rate: float = 0.1) -> None:
        super().__init__(rate=rate)
        self.strength = number("strength", strength, 0)
        self.anchor: np.ndarray | None = None
        self.applied: np.ndarray | None = None
        self.fisher: np.ndarray | None = None
        self.answers = np.zeros(2)

    def begin_task(self, task, learning):
        if learning and self.applied is not None:
            self.anchor = self.weights[:CACHE].copy()
            self.fisher = self.applied / np.maximum(self.answers, 1)[:, None, None]

    def move(self, described: Any, action: int, target: float) -> None:
        super().move(described, action, target)
        if action == CACHE:
            return
        blocks, active = described
        if self.applied is None:
            self.applied = np.zeros_like(self.weights[:CACHE])
        nudge(self.applied[action], blocks, active, 1.0)
        self.answers[action] += 1
        if self.fisher is not None and self.anchor is not None:
            pull = (
                self.strength
                * self.rate
                / (len(blocks) * len(active))
                * self.fisher[action]
            )
            self.weights[action] += np.minimum(pull, 1) * (
                self.anchor[action] - self.weights[action]
            )

    def state(self):
        """As its parent's, with `answers` (2,), `applied`, `anchor` and `fisher` (2, blocks, size), or None."""
        more = ("answers", "applied", "anchor", "fisher")
        return {**super().state(), **{name: copy(getattr(self, name)) for name in more}}

    def load(self, state):
        super().load(state)
        for name in ("applied", "anchor", "fisher"):
            setattr(
                self,
                name,
                None if state.get(name) is None else np.array(state[name], float),
            )
        self.answers = np.array(state.get("answers", (0, 0)), float)
