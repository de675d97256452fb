"""The workbook's own agents as entrants: `pushlab bench --agent pushlab.experiments.bench.agents:thompson --out DIR`.

None was tuned for the benchmark: all have their defaults, but for fitted Q iteration, which has fewer trees and
iterations than in its study and learns three times within a budget.

    random          any notification of the candidates; elsewhere any allowed action
    left_alone      action 0 for ever, which is to do nothing; in World3 4, which leaves the world as the book has it
    most_opened     what was opened most often at that time of day
    eps_greedy, thompson    bandits over notifications; offline they learn in the simulation of the history
    linucb          the same; and over items, or other actions, by what is observed
    offline_model   what a logistic model of the history says will be opened
    do_not_disturb  puts off in quiet hours and while the ringer is silent, and shows everything afterwards
    q_table         Q-learning with a table, of arriving notifications
    linear_q        Q-learning with linear functions
    fitted_q        fitted Q iteration
    both_memories   episodes, of which those that are alike become beliefs
    given_memory    knows where things usually are, and keeps episodes in the rest of its memory
    learned_memory  learns what to keep, as an episode or as a belief
    told            in a lifetime, a linear Q-learner for each task, and the task's name
    recognises      in a lifetime, a linear Q-learner for each user it has met, told apart by how much they open
    workbook        on each system what the workbook's chapter on it ends with
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pushlab import agents
from pushlab.agents.lifelong import Wrapped
from pushlab.agents.protocol import Agent
from pushlab.experiments.bench.views import DoesNotFit, Trial

KINDS = {
    "notifications": "chooses among notifications",
    "arrivals": "manages arriving notifications",
    "room": "answers out of a memory",
    "numbers": "reads numbers and takes one of a few actions",
}


class FromHistory(Wrapped):
    """An agent that is made of a history, as soon as it is shown one; until then it is made of None."""

    def __init__(self, make: Callable[[Any], Agent]) -> None:
        self.made_of = make
        super().__init__(lambda: make(None))

    def fit(self, history: Any) -> None:
        self.learner = self.made_of(history)


def kind_of(env: Trial) -> str:
    """Which of KINDS an environment is for."""
    world = env.world
    if isinstance(getattr(world, "candidates", None), np.ndarray):
        return "notifications"
    return (
        "arrivals"
        if hasattr(world, "fates")
        else "room"
        if env.task.capacity is not None
        else "numbers"
    )


def entrant(
    name: str, only: str | None = None, **makers: Callable[[Trial], Agent]
) -> Callable[[Trial], Agent]:
    """A function of an environment that makes the agent for its kind; DoesNotFit for other kinds.

    only  the one kind of task that it is for: "offline" or "lifetime"
    """

    def make(env: Trial) -> Agent:
        if only not in (None, env.task.kind):
            raise DoesNotFit(
                f"is for {only} tasks alone; here is one of the kind {env.task.kind}"
            )
        if kind_of(env) not in makers:
            raise DoesNotFit(
                f"{' or '.join(KINDS[one] for one in makers)}; here one {KINDS[kind_of(env)]}"
            )
        return makers[kind_of(env)](env)

    make.__name__ = name
    return make


def _fitted(env):
    length = getattr(env.world, "steps", None) or getattr(
        env.world, "step_per_episode", 1
    )
    every = (
        100 if env.task.kind == "lifetime" else max(1, env.task.steps // length // 3)
    )
    return agents.FittedQIteration(
        env.world.action_space.n, trees=10, growths=4, sweeps=25, leaf=5, every=every
    )


def _modelled(history):
    return agents.RandomCandidate() if history is None else agents.OfflineModel(history)


def _any(env):
    return agents.RandomAgent()


random = entrant(
    "random",
    notifications=lambda env: agents.RandomCandidate(),
    arrivals=_any,
    room=_any,
    numbers=_any,
)
left_alone = entrant(
    "left_alone",
    numbers=lambda env: agents.Constant(4 if env.task.system == "World3" else 0),
)
most_opened = entrant(
    "most_opened",
    notifications=lambda env: (
        FromHistory(agents.MostOpened)
        if env.task.kind == "offline"
        else agents.MostOpened()
    ),
)
eps_greedy = entrant("eps_greedy", notifications=lambda env: agents.EpsilonGreedy())
thompson = entrant("thompson", notifications=lambda env: agents.ThompsonSampling())
linucb = entrant(
    "linucb",
    notifications=lambda env: agents.LinUCB(),
    numbers=lambda env: agents.LinUCBItem(),
)
offline_model = entrant(
    "offline_model", "offline", notifications=lambda env: FromHistory(_modelled)
)
do_not_disturb = entrant("do_not_disturb", arrivals=lambda env: agents.DoNotDisturb())
q_table = entrant("q_table", arrivals=lambda env: agents.QTable())
linear_q = entrant(
    "linear_q",
    arrivals=lambda env: agents.LinearArrivalQ(),
    numbers=lambda env: agents.LinearQ(),
)
fitted_q = entrant("fitted_q", numbers=_fitted)
both_memories = entrant(
    "both_memories", room=lambda env: agents.BothAgent(env.task.capacity)
)
given_memory = entrant(
    "given_memory", room=lambda env: agents.GivenAgent(env.task.capacity)
)
learned_memory = entrant(
    "learned_memory", room=lambda env: agents.LearnedAgent(env.task.capacity)
)
told = entrant(
    "told",
    "lifetime",
    arrivals=lambda env: agents.Told(agents.LinearArrivalQ),
    numbers=lambda env: agents.Told(agents.LinearQ),
)
recognises = entrant(
    "recognises",
    "lifetime",
    arrivals=lambda env: agents.Recognising(agents.LinearArrivalQ),
)


def workbook(env: Trial) -> Agent:
    """On each system what the workbook's chapter on it ends with."""
    if env.task.kind in ("offline", "lifetime"):
        return (offline_model if env.task.kind == "offline" else told)(env)
    ends = {
        "notifications": thompson,
        "arrivals": linear_q,
        "room": learned_memory,
        "numbers": linear_q if env.task.system == "recommender" else fitted_q,
    }
    return ends[kind_of(env)](env)
