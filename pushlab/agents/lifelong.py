"""Agents for a lifetime of several tasks, made from any learner: three ways to treat earlier knowledge.

A plain learner keeps one model and goes on learning. `Restarting` begins anew at each task, `Told` has a learner for
each task's name, and `Recognising` has several too, but finds out by itself which user it serves.
"""

from collections.abc import Callable, Sequence
from math import lgamma
from typing import Any

from pushlab.agents.protocol import Agent
from pushlab.ground.arguments import function


class Wrapped(Agent):
    """The common part of the three: one learner at a time, `learner`, acts and learns.

    Args:
        make: Function without arguments that makes a fresh learner.
        name: Label in logs and pictures.
    """

    propensity = property(lambda self: getattr(self.learner, "propensity", None))

    def __init__(
        self,
        make: Callable[[], Agent],
        name: str | None = None,
    ):
        self.make = function("make", make)
        self.name = name or self.name
        self.learner = make()

    def begin(self, env, seed):
        self.learner.begin(env, seed)

    def act(self, observation, info, explore=True):
        return self.learner.act(observation, info, explore)

    def learn(self, transition):
        self.learner.learn(transition)

    def state(self):
        return {"learner": self.learner.state()}

    def load(self, state):
        self.learner = self._restored(state["learner"])

    def _restored(self, state):
        learner = self.make()
        learner.load(state)
        return learner


class Restarting(Wrapped):
    """Begins anew whenever the training of a task begins; in tests it uses what it learned last.

    It forgets everything, so what it earns in training is what the task is worth to a beginner.
    """

    name = "restarts"

    def begin_task(self, task, learning):
        if learning:
            self.learner = self.make()


class Told(Wrapped):
    """Has a learner for each task and gets the task's name: nothing interferes, and nothing carries over."""

    name = "one a task"

    def __init__(self, make, name=None):
        super().__init__(make, name)
        self.task = ""  # before any task
        self.learners = {"": self.learner}

    def begin_task(self, task, learning):
        self.task = task
        self.learner = self.learners.get(task) or self.make()
        if learning:
            self.learners[task] = self.learner

    def state(self):
        learners = self.learners.items()
        return {
            "task": self.task,
            "learners": {task: one.state() for task, one in learners},
        }

    def load(self, state):
        learners = state["learners"].items()
        self.learners = {task: self._restored(one) for task, one in learners}
        self.task = state["task"]
        self.learner = self.learners.get(self.task) or self.make()


class Recognising(Wrapped):
    """Has a learner for each user so far, and recognises users by how much they open.

    It remembers the last answers, and of each user how many notifications were opened and how many weren't. Before
    each episode it takes the learner of the user under whom those answers are likeliest. If they are likelier still
    from a new user, by `surprise`, it begins with a new learner (in training only). So a change costs it about a day.
    Users who open equally much are one user to it. It counts the answers of pushlab/push-v0, also those to unseen
    notifications, which the user would or would not have opened.

    Attributes:
        window: Number of answers that it remembers, about a day's.
        surprise: How much likelier a new user must make the answers, as a natural logarithm.
        users: A list of [opened, not opened, learner].
        met: The index of the user of each episode so far.
    """

    name = "recognises"
    window = 30
    surprise = 5.0
    saved = {"now": int, "recent": list, "met": list}

    def __init__(self, make, name=None):
        super().__init__(make, name)
        self.users: list[Any] = [[0, 0, self.learner]]
        self.now = 0
        self.recent = []  # 1 for an open, 0 for another answer
        self.met = []
        self._is_learning = True

    def begin_task(self, task, learning):
        self._is_learning = learning  # the task's name isn't used

    def begin(self, env, seed):
        self.now = self.recognise()
        self.learner = self.users[self.now][2]
        self.met.append(self.now)
        self._opened = 0
        self._others = 0
        super().begin(env, seed)

    def recognise(self) -> int:
        """Return the index of the user whose answers the last ones most likely are, of a new one if necessary."""
        opened = sum(self.recent)
        recent = opened, len(self.recent) - opened
        if not self.recent:
            return self.now
        likely = [log_likelihood(recent, user) for user in self.users]
        best = likely.index(max(likely))
        is_full = len(self.recent) == self.window
        of_new = log_likelihood(recent, (0, 0))
        is_new = of_new > likely[best] + self.surprise
        if self._is_learning and is_full and is_new:
            self.users.append([0, 0, self.make()])
            return len(self.users) - 1
        return best

    def act(self, observation, info, explore=True):
        self._count(info)
        return super().act(observation, info, explore)

    def learn(self, transition):
        self._count(transition.next_info)  # also the last step of an episode
        super().learn(transition)

    def _count(self, info):
        """Remember new answers; those that leave the window are counted for the present user."""
        opened = info["opens"] + info["missed"]
        others = info["refusals"] + info["spared"]
        self.recent.extend([1] * int(opened - self._opened))
        self.recent.extend([0] * int(others - self._others))
        self._opened = opened
        self._others = others
        while len(self.recent) > self.window:
            answer = self.recent.pop(0)
            if self._is_learning:
                self.users[self.now][1 - answer] += 1

    def state(self):
        users = [[*counts, one.state()] for *counts, one in self.users]
        return {**Agent.state(self), "users": users}

    def load(self, state):
        others = dict(state)
        self.users = [
            [*counts, self._restored(learner)]
            for *counts, learner in others.pop("users")
        ]
        Agent.load(self, others)
        self.learner = self.users[self.now][2]


def log_likelihood(
    answers: Sequence[float],
    known: Sequence[float],
) -> float:
    """Return the natural log of the probability of answers (opened, not) in a row, after known ones (opened, not).

    The share that a user opens is unknown and at first any share is as likely: Laplace's rule of succession.

    >>> import math
    >>> round(math.exp(log_likelihood((1, 0), (0, 0))), 3), round(math.exp(log_likelihood((2, 0), (8, 0))), 3)
    (0.5, 0.818)
    """
    a = known[0] + 1
    b = known[1] + 1
    opened, not_opened = answers
    before = lgamma(a + b) - lgamma(a) - lgamma(b)
    after = before + lgamma(a + opened) + lgamma(b + not_opened)
    total = a + b + opened + not_opened
    return after - lgamma(total)
