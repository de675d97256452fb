"""Agents for the benchmark: the workbook's own agents, and learners of other libraries.

    pushlab bench --agent pushlab.experiments.bench.agents:thompson --out DIR

None was tuned for the benchmark. The workbook's agents have their defaults. Only fitted Q iteration has fewer trees and
iterations than in its study, and learns three times within a budget.

- `random`: a random candidate notification, or a random allowed action
- `left_alone`: always action 0, which does nothing; in World3 action 4, which keeps the book's scenario
- `most_opened`: the notification that was opened most often at that time of day
- `eps_greedy`, `thompson`: bandits over notifications; offline they learn in the simulation of the history
- `linucb`: a bandit over notifications, or over items or actions given the observation
- `offline_model`: the notification that a logistic model of the history predicts to be opened
- `do_not_disturb`: delays notifications in quiet hours and while the ringer is silent, then shows all of them
- `q_table`: Q-learning with a table, for arriving notifications
- `linear_q`: Q-learning with linear functions
- `fitted_q`: fitted Q iteration
- `both_memories`: episodes, of which similar ones become beliefs
- `given_memory`: beliefs about usual places; the rest of the memory holds episodes
- `learned_memory`: learns whether to store an episode or a belief
- `task_aware`: in a lifetime, a linear Q-learner for each task, given the task's name
- `recognises`: in a lifetime, a linear Q-learner for each user, recognised by how much the user opens
- `workbook`: on each system the last agent of the workbook's chapter

`dqn` and `ppo` are stable-baselines3's, `maskable_ppo` and `recurrent_ppo` sb3-contrib's (`pip install 'pushlab[rl]'`),
with their libraries' defaults. PPO and its relatives gather fewer steps per update if the budget is below their
default. They run on the CPU, in one thread of PyTorch, so that the same seed gives the same scores.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import gymnasium as gym
import numpy as np

from pushlab import agents
from pushlab.agents.lifelong import LifelongAgent
from pushlab.agents.protocol import Agent
from pushlab.experiments.bench.protocol import Trial, UnsupportedTask, call_maker
from pushlab.utils.arguments import import_optional

BATCH_SIZE = 64  # of PPO; a shortened rollout is a multiple of it


class FromHistory(LifelongAgent):
    """Agent created by `make(history)` when it is fitted to a history, and by `make(None)` before."""

    def __init__(self, make):
        self.make_from_history = make
        super().__init__(lambda: make(None))

    def fit(self, history):
        self.learner = self.make_from_history(history)


def _action_kind(trial):
    """Return the subject of a task's decisions: "notifications", "arrivals", "memory" or "numbers"."""
    if isinstance(getattr(trial.world, "candidates", None), np.ndarray):
        return "notifications"
    if hasattr(trial.world, "status_names"):
        return "arrivals"
    return "numbers" if trial.task.capacity is None else "memory"


def agent_maker(
    task_kind: str | None = None, **makers: Callable[..., Agent]
) -> Callable[[Trial], Agent]:
    """Return a function that creates the agent for a trial, or raises UnsupportedTask.

    Args:
        task_kind: The only kind of task that the agent supports: "offline" or "lifetime". None supports all kinds.
        makers: For each supported result of `_action_kind`, a class or a function that creates the agent.
    """

    def make(trial):
        if task_kind not in (None, trial.task.kind):
            raise UnsupportedTask(f"is for {task_kind} tasks only")
        kind = _action_kind(trial)
        if kind not in makers:
            raise UnsupportedTask(f"is not for tasks with {kind}")
        return call_maker(makers[kind], trial)

    return make


def _offline_model(history):
    return agents.RandomCandidate() if history is None else agents.OfflineModel(history)


def _fitted_q(trial):
    world = trial.world
    length = getattr(world, "steps", None) or getattr(world, "step_per_episode", 1)
    fit_every = max(1, trial.task.steps // length // 3)
    if trial.task.kind == "lifetime":
        fit_every = 100
    n_actions = trial.action_space.n
    return agents.FittedQIteration(
        n_actions,
        trees=10,
        forest_fits=4,
        iterations_per_fit=25,
        min_samples_leaf=5,
        fit_every=fit_every,
    )


def _memory_entrant(agent_class):
    return agent_maker(memory=lambda trial: agent_class(trial.task.capacity))


random = agent_maker(
    notifications=agents.RandomCandidate,
    arrivals=agents.RandomAgent,
    memory=agents.RandomAgent,
    numbers=agents.RandomAgent,
)
left_alone = agent_maker(
    numbers=lambda trial: agents.Constant(4 if trial.task.system == "World3" else 0)
)
most_opened = agent_maker(notifications=partial(FromHistory, agents.MostOpened))
eps_greedy = agent_maker(notifications=agents.EpsilonGreedy)
thompson = agent_maker(notifications=agents.ThompsonSampling)
linucb = agent_maker(notifications=agents.LinUCB, numbers=agents.LinUCBItem)
offline_model = agent_maker(
    "offline", notifications=partial(FromHistory, _offline_model)
)
do_not_disturb = agent_maker(arrivals=agents.DoNotDisturb)
q_table = agent_maker(arrivals=agents.QTable)
linear_q = agent_maker(arrivals=agents.LinearArrivalQ, numbers=agents.LinearQ)
fitted_q = agent_maker(numbers=_fitted_q)
both_memories = _memory_entrant(agents.EpisodicSemanticAgent)
given_memory = _memory_entrant(agents.PrefilledMemoryAgent)
learned_memory = _memory_entrant(agents.LearnedMemoryAgent)
task_aware = agent_maker(
    "lifetime",
    arrivals=partial(agents.TaskAwareAgent, agents.LinearArrivalQ),
    numbers=partial(agents.TaskAwareAgent, agents.LinearQ),
)
recognises = agent_maker(
    "lifetime", arrivals=partial(agents.TaskInferringAgent, agents.LinearArrivalQ)
)


def workbook(trial: Trial) -> Agent:
    """Return the last agent of the workbook's chapter on this system."""
    if trial.task.kind == "offline":
        return offline_model(trial)
    if trial.task.kind == "lifetime":
        return task_aware(trial)
    makers = {
        "notifications": thompson,
        "arrivals": linear_q,
        "memory": learned_memory,
        "numbers": linear_q if trial.task.system == "recommender" else fitted_q,
    }
    return makers[_action_kind(trial)](trial)


# ---------------------------------------------------------------- learners of other libraries


class ExternalLearner(Agent):
    """Agent for algorithms with the interface of stable-baselines3, which have their own training loop.

    It gets environments in the benchmark's standard form (`standard_env`). After training, `model` is the library's
    object.

    Args:
        name: Name of the agent.
        algorithm: "module:Class" of the algorithm.
        rollout: Default number of steps before each update.
        policy: Name of the policy's network in that library.

    Raises:
        ImportError: The library isn't installed.

    Source:
        Raffin et al. (2021), Stable-Baselines3: Reliable Reinforcement Learning Implementations, JMLR 22(268).
    """

    standard = True

    def __init__(
        self, name: str, algorithm: str, rollout: int, policy: str = "MlpPolicy"
    ) -> None:
        self.name = name
        self._make = partial(import_optional(algorithm, name), policy, device="cpu")
        self._has_masks = algorithm.endswith(":MaskablePPO")
        self._rollout = rollout

    def train(self, env: gym.Env, steps: int, seed: int) -> None:
        """Learn from at most `steps` steps, a multiple of the rollout's length."""
        import_optional("torch", self.name).set_num_threads(1)
        rollout = min(self._rollout, max(steps // BATCH_SIZE * BATCH_SIZE, 4))
        settings = {"n_steps": rollout} if rollout < self._rollout else {}
        self.model = self._make(env, seed=seed, **settings)
        self.model.learn(steps // rollout * rollout)

    def begin(self, env, seed):
        self._memory = None

    def act(self, observation, info, explore=True):
        masks = {}
        if self._has_masks and "action_mask" in info:
            masks = {"action_masks": info["action_mask"]}
        action, self._memory = self.model.predict(
            observation, self._memory, deterministic=not explore, **masks
        )
        return int(action)


# Mnih et al. (2015), Human-level control through deep reinforcement learning, Nature 518.
dqn = partial(ExternalLearner, "dqn", "stable_baselines3:DQN", 4)
# Schulman et al. (2017), Proximal policy optimization algorithms, arXiv:1707.06347.
ppo = partial(ExternalLearner, "ppo", "stable_baselines3:PPO", 2048)
# PPO with masked actions: Huang & Ontañón (2022), FLAIRS 35. It equals `ppo` if all actions are allowed.
maskable_ppo = partial(ExternalLearner, "maskable_ppo", "sb3_contrib:MaskablePPO", 2048)
# PPO with a recurrent network (LSTM). It takes at least six times as long as `ppo`.
recurrent_ppo = partial(
    ExternalLearner, "recurrent_ppo", "sb3_contrib:RecurrentPPO", 128, "MlpLstmPolicy"
)
