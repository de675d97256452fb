"""Agents for a life of several tasks, made out of any learner: three ways to deal with what was learned before.

A learner as it is keeps one model and goes on learning. `Restarting` begins with nothing at each new task, `Told` keeps
a learner for each task by its name, and `Recognising` keeps several too, but has to find out for itself whose life it
is in.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pushlab.agents.protocol import Agent
from pushlab.ground.arguments import function, number, whole


class Wrapped(Agent):
    """What the three have in common: one learner at a time, `learner`, that acts and learns.

    make  a function without arguments that makes a fresh learner
    name  for logs and pictures
    """

    propensity = property(lambda self: getattr(self.learner, "propensity", None))

    def __init__(self, make: Callable[[], Agent], name: str | None = None) -> None:
        self.make, self.name = function("make", make), name or self.name
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
        self.learner = self._made(state["learner"])

    def _made(self, state):
        learner = self.make()
        learner.load(state)
        return learner


class Restarting(Wrapped):
    """Begins with nothing whenever the training of a task begins; in tests it uses what it learned last.

    It forgets by construction, and what it earns in training is what the task is worth to a beginner.
    """

    name = "restarts"

    def begin_task(self, task, learning):
        if learning:
            self.learner = self.make()


class Told(Wrapped):
    """Keeps a learner for each task and is told the task's name: nothing interferes, and nothing carries over."""

    name = "one a task"

    def __init__(self, make: Callable[[], Agent], name: str | None = None) -> None:
        super().__init__(make, name)
        self.task, self.learners = (
            "",
            {"": self.learner},
        )  # "" before any task was named

    def begin_task(self, task, learning):
        self.task = task
        self.learner = self.learners[task] if task in self.learners else self.make()
        if learning:
            self.learners[task] = self.learner

    def state(self):
        return {
            "task": self.task,
            "learners": {task: one.state() for task, one in self.learners.items()},
        }

    def load(self, state):
        self.task, self.learners = (
            state["task"],
            {task: self._made(one) for task, one in state["learners"].items()},
        )
        self.learner = self.learners.get(self.task) or self.make()


class Recognising(Wrapped):
    """Keeps a learner for each user it has met, and tells users apart by how much they open.

    Nobody tells it whose phone it manages. It remembers the last answers, and of each user how many notifications were
    opened and how many were not; before each episode it takes up the learner of the user under whom those answers are
    likeliest. If they are likelier still of somebody new, by `surprise`, it begins with a new learner (in training
    only). So a change costs it about a day. Users who open equally much are one user to it.

    window    how many answers it remembers, about a day's
    surprise  how much likelier a new user must make the answers, as a natural logarithm
    answers   function of info that gives two counts since the episode began: answers that were opens, and others; by
              default those of pushlab/push-v0, the unseen included, which the user would or would not have opened

    `users` lists [opened, not opened, learner]; `met` is the user of each episode so far, a number.
    """

    name = "recognises"

    def __init__(
        self,
        make: Callable[[], Agent],
        name: str | None = None,
        window: int = 30,
        surprise: float = 5.0,
        answers: Callable | None = None,
    ) -> None:
        super().__init__(make, name)
        self.window, self.surprise = (
            whole("window", window, 1),
            number("surprise", surprise, 0, math.inf),
        )
        self.answers = answers_told if answers is None else function("answers", answers)
        self.users: list[Any] = [[0, 0, self.learner]]
        self.now = 0
        self.recent, self.met = deque(), []
        self._learning = True

    def begin_task(self, task, learning):
        self._learning = learning  # not which task it is

    def begin(self, env, seed):
        self.now = self.recognise()
        self.learner = self.users[self.now][2]
        self.met.append(self.now)
        self._counted = (0, 0)
        super().begin(env, seed)

    def recognise(self) -> int:
        """The number of the user whose answers the last ones are likeliest to be; a new one where need be."""
        recent = sum(self.recent), len(self.recent) - sum(self.recent)
        likely = [log_likelihood(recent, known) for known in self.users]
        best = max(range(len(likely)), key=likely.__getitem__)
        if (
            self._learning
            and len(self.recent) == self.window
            and (log_likelihood(recent, (0, 0)) > likely[best] + self.surprise)
        ):
            self.users.append([0, 0, self.make()])
            return len(self.users) - 1
        return best if len(self.recent) else self.now

    def act(self, observation, info, explore=True):
        self._note(self.answers(info))
        return super().act(observation, info, explore)

    def learn(self, transition):
        self._note(
            self.answers(transition.next_info)
        )  # those of the last step of an episode, too
        super().learn(transition)

    def _note(self, counts):
        """Remembers new answers; those that are no longer among the last are put down to the user of now."""
        for answer, (before, after) in zip((1, 0), zip(self._counted, counts)):
            self.recent.extend([answer] * int(after - before))
        self._counted = counts
        while len(self.recent) > self.window:
            answer = self.recent.popleft()
            if self._learning:
                self.users[self.now][1 - answer] += 1

    def state(self):
        return {
            "users": [
                [opened, not_opened, learner.state()]
                for opened, not_opened, learner in self.users
            ],
            "now": self.now,
            "recent": list(self.recent),
            "met": list(self.met),
        }

    def load(self, state):
        self.users = [
            [opened, not_opened, self._made(one)]
            for opened, not_opened, one in state["users"]
        ]
        self.now, self.recent, self.met = (
            state["now"],
            deque(state["recent"]),
            list(state["met"]),
        )
        self.learner = self.users[self.now][2]


def answers_told(info: Mapping[str, Any]) -> tuple[int, int]:
    """Answers of pushlab/push-v0 so far today: opens, and the others; what was not shown counts as it would have been.

    >>> answers_told({"opens": 3, "missed": 1, "refusals": 2, "spared": 5})
    (4, 7)
    """
    return info["opens"] + info["missed"], info["refusals"] + info["spared"]


def log_likelihood(answers: Sequence[float], known: Sequence[float]) -> float:
    """Natural log of the probability of answers (opened, not) in a row, after known ones (opened, not).

    The share that a user opens is unknown and at first any share is as likely: Laplace's rule of succession.

    >>> import math
    >>> round(math.exp(log_likelihood((1, 0), (0, 0))), 3), round(math.exp(log_likelihood((2, 0), (8, 0))), 3)
    (0.5, 0.818)
    """
    from math import lgamma

    a, b, opened, not_opened = known[0] + 1, known[1] + 1, *answers
    return (
        lgamma(a + b)
        - lgamma(a)
        - lgamma(b)
        + lgamma(a + opened)
        + lgamma(b + not_opened)
        - lgamma(a + b + opened + not_opened)
    )
