"""Wrappers that adapt any learner to a lifetime of several tasks, in three ways.

A plain learner has one model for all tasks. `RestartingAgent` creates a new learner for each task. `TaskAwareAgent` has
a learner for each task name. `TaskInferringAgent` also has several learners, but infers the current user from the
answers.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.special import betaln

from pushlab.agents.protocol import Agent
from pushlab.utils.arguments import validate_callable


class LifelongAgent(Agent):
    """Base class of the wrappers: it delegates to the current `learner`.

    Args:
        make: Function without arguments that returns a new learner.
    """

    propensity = property(lambda self: getattr(self.learner, "propensity", None))

    def __init__(self, make: Callable[[], Agent]):
        self.make = validate_callable("make", make)
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
        self.learner = self._restore(state["learner"])

    def _restore(self, state):
        learner = self.make()
        learner.load(state)
        return learner


class RestartingAgent(LifelongAgent):
    """Creates a new learner whenever the training of a task starts. Tests use the last one.

    It forgets everything, so its rewards in training are those of a beginner at the task.

    Args:
        make: Function without arguments that returns a new learner.
    """

    name = "restarts"

    def begin_task(self, task, learning):
        if learning:
            self.learner = self.make()


class TaskAwareAgent(LifelongAgent):
    """Has a learner for each task, selected by the task's name. Tasks neither interfere nor share experience.

    Args:
        make: Function without arguments that returns a new learner.
    """

    name = "one a task"

    def __init__(self, make):
        super().__init__(make)
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
            "learners": {task: learner.state() for task, learner in learners},
        }

    def load(self, state):
        states = state["learners"].items()
        self.learners = {task: self._restore(value) for task, value in states}
        self.task = state["task"]
        self.learner = self.learners.get(self.task) or self.make()


class TaskInferringAgent(LifelongAgent):
    """Has a learner for each user so far, and infers the current user from the fraction of opens.

    It stores the last answers, and for each user the numbers of notifications opened and not opened. Before each
    episode it selects the learner of the user with the highest likelihood of those answers. If a new user has a higher
    log-likelihood by `surprise`, it creates a new learner (in training only). A change of user is therefore detected
    about a day late. Users with similar fractions of opens aren't distinguished. It counts the answers of
    pushlab/push-v0; with full feedback also those to notifications that were never shown.

    Args:
        make: Function without arguments that returns a new learner.

    Attributes:
        window: Number of stored answers, about a day's.
        surprise: Minimal difference of log-likelihoods for a new user.
        users: A list of [opened, not opened, learner].
        current_user: Index of the current user.
        recent: The stored answers, 1 for an open and 0 for any other answer.
        inferred_users: Index of the user of each episode so far.
    """

    name = "recognises"
    window = 30
    surprise = 5.0
    state_attributes = {"current_user": int, "recent": list, "inferred_users": list}

    def __init__(self, make):
        super().__init__(make)
        self.users: list[Any] = [[0, 0, self.learner]]
        self.current_user = 0
        self.recent = []
        self.inferred_users = []
        self._is_learning = True

    def begin_task(self, task, learning):
        self._is_learning = learning  # the task's name isn't used

    def begin(self, env, seed):
        self.current_user = self.recognise()
        self.learner = self.users[self.current_user][2]
        self.inferred_users.append(self.current_user)
        self._n_opened = 0
        self._n_others = 0
        super().begin(env, seed)

    def recognise(self) -> int:
        """Return the index of the most likely user; in training, add a new user if the answers require it."""
        opened = sum(self.recent)
        recent = opened, len(self.recent) - opened
        if not self.recent:
            return self.current_user
        likelihoods = [log_likelihood(recent, user) for user in self.users]
        best = likelihoods.index(max(likelihoods))
        is_full = len(self.recent) == self.window
        new_likelihood = log_likelihood(recent, (0, 0))
        is_new = new_likelihood > likelihoods[best] + self.surprise
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
        """Store new answers; those that leave the window are counted for the current user."""
        n_opened = info["opens"] + info.get("missed", 0)
        n_others = info["refusals"] + info.get("spared", 0)
        self.recent.extend([1] * int(n_opened - self._n_opened))
        self.recent.extend([0] * int(n_others - self._n_others))
        self._n_opened = n_opened
        self._n_others = n_others
        while len(self.recent) > self.window:
            answer = self.recent.pop(0)
            if self._is_learning:
                self.users[self.current_user][1 - answer] += 1

    def state(self):
        users = [[*counts, learner.state()] for *counts, learner in self.users]
        return {**Agent.state(self), "users": users}

    def load(self, state):
        attributes = dict(state)
        self.users = [
            [*counts, self._restore(learner)]
            for *counts, learner in attributes.pop("users")
        ]
        Agent.load(self, attributes)
        self.learner = self.users[self.current_user][2]


def log_likelihood(
    answers: Sequence[float],
    previous: Sequence[float],
) -> float:
    """Return the log-probability of a sequence of answers (opened, not opened), given earlier ones.

    The prior of the user's fraction of opens is uniform (Laplace's rule of succession).

    Args:
        answers: Numbers of opened and of other notifications in the sequence.
        previous: The same numbers for the earlier answers.

    >>> import math
    >>> round(math.exp(log_likelihood((1, 0), (0, 0))), 3), round(math.exp(log_likelihood((2, 0), (8, 0))), 3)
    (0.5, 0.818)
    """
    before = np.add(previous[:2], 1)
    after = before + answers
    return float(betaln(*after) - betaln(*before))
