"""The benchmark: agents on a fixed, versioned set of tasks within fixed budgets, compared with the shipped agents.

- pushlab bench --agent my_agent:make --out DIR --quick: the quick version, a few minutes for the shipped agents
- pushlab bench --agent my_agent:make --out DIR: the benchmark

**An agent** is named as `module:make`: a function `make()` or `make(env)`, or a class, that returns a fresh agent for
each task and seed. It acts (`act(observation, info, explore)`) and may learn (`learn(transition)`), see
`pushlab.agents.Agent`. It can also have

- train(env, steps, seed): its own training loop, for learners of other libraries. `env` is a plain Gymnasium
  environment. Its step raises `BudgetExceeded` after `steps` steps; don't catch this error, or stop earlier
- fit(history): learning from a `pushlab.datasets.periods.Period`, for the offline challenge. An agent without it trains
  in a simulation, with a judge fitted to that history
- standard = True: environments in the standard form, with a Discrete action, a flat Box float32 observation and
  `action_masks()` (see `standard_env`). Without it, an agent gets environments unchanged, as pushlab's own agents do

`env.task` is the Task (`pushlab.experiments.bench.tasks`). Agents with a memory must respect its `capacity`. **A task
that an agent doesn't support** is reported and doesn't count against the agent: `make(env)` raises
`UnsupportedTask("reason")`. Lifetimes don't support agents with `train` or `standard`, since they call `act` and
`learn` in unchanged environments.

**Protocol.** Each combination of agent, task and seed is a separate run. The agent learns for `steps` steps
(learn=True, explore=True), in episodes whose seeds follow from the run's seed. An agent without `learn` skips this
step. Then it is scored in `episodes` episodes (learn=False, explore=False). Their seeds are the same for all agents and
runs, and no training episode has one of them. In worlds without chance (`hiv-*`, `opioid-2002`, `zika-outbreak`,
`world3`, `credit*`) all episodes are the same, in training too. The recommender's users can also occur in training. The
tests of lifetimes follow from the seed. An online task scores the learning itself, over exactly `steps` steps; steps
that `train` doesn't use are played without learning. The score of a lifetime is the mean over the tests of tasks that
were trained before.

**Rules.** An agent may use its observations, rewards, info, and the environment's spaces and candidates. It must not
step copies of an environment, `unwrapped` or its own environments. It must not read the world's state or the
probabilities of its user, reset or step while it is scored, keep anything from run to run, or use EVALUATION_SEED. A
run fails if the agent breaks off a scored episode, or steps or resets after the last one. All steps count, including
those inside `act`. Entries of info in ORACLE are hidden (except in lifetimes). The other rules aren't enforced.

**Scores.** Higher is better. `normalised` is (score - random) / (best - random), see `task_table` and
data/bench/README.md. `random` is the score of `agents.random`, not of `RandomAgent`: a random candidate in tasks with
notifications, otherwise a random allowed action. The quick version has smaller budgets and fewer episodes, so its
scores must not be compared with those of the full version.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import closing, suppress
from time import process_time
from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces, wrappers

from pushlab.agents.memory import BELIEF, DECISIONS, EPISODE, MemoryAgent
from pushlab.agents.protocol import Agent, as_agent
from pushlab.clients import to_flat
from pushlab.experiments.bench.tasks import Task
from pushlab.utils.seeds import episode_seed, part_seed

TRAINING = 0  # parts of a run with seeds of their own
EVALUATION = 1
EVALUATION_SEED = part_seed(1, EVALUATION)  # of the scored episodes of all agents
UNLIMITED = 1_000_000_000  # more episodes than any budget allows
MAX_AGE = 25  # steps; older memories look the same in the observation
ORACLE = (
    "probability",
    "best",
    "actual",
    "state",
)  # entries of info hidden from agents


class BudgetExceeded(Exception):
    """Error raised by a step beyond the budget of training steps."""


class UnsupportedTask(Exception):
    """Error raised by an agent's maker if the agent doesn't support the task, with the reason."""


# ---------------------------------------------------------------- environments


class Trial(gym.Wrapper):
    """Wrapper of a task's environment that counts steps, computes the score, and enforces budget and rules.

    Each reset begins the next episode of the trial's seed; the argument `seed` of `reset` is ignored. So training never
    uses the seeds of the scored episodes, and these are the same for all agents. Entries of info in ORACLE are hidden.

    Args:
        task: The task.
        seed: Seed of the trial.
        budget: Number of steps after which a step raises BudgetExceeded. None means no limit.
        scored_episodes: Number of scored episodes, which can't be broken off or repeated. None means that none is
            scored.

    Attributes:
        step_count: Number of steps so far.
    """

    def __init__(self, env, task: Task, seed, budget=None, scored_episodes=None):
        super().__init__(env)
        self.task = task
        self.world = getattr(env.unwrapped, "world", None)
        self._seed = seed
        self._budget = budget
        self._scored_episodes = scored_episodes
        self.step_count = 0
        self._total = 0.0
        self._episodes = 0
        self._is_over = True
        self._info = {}

    @property
    def score(self) -> float:
        """Score so far: the mean per step or per episode, or its logarithm."""
        count = self.step_count if self.task.per == "step" else self._episodes
        mean = self._total / max(1, count)
        return float(np.log10(max(mean, 1.0))) if self.task.scale == "log10" else mean

    def adapt_to(self, agent: Agent) -> Trial:
        """Return the trial, before its first reset, in the standard form if the agent has `standard`."""
        if not getattr(agent, "standard", False):
            return self
        env = standard_env(self.env, self.task)
        return Trial(env, self.task, self._seed, self._budget, self._scored_episodes)

    def reset(self, *, seed=None, options=None):
        """Begin the trial's next episode.

        Raises:
            RuntimeError: A scored episode is unfinished, or all of them are finished.
        """
        is_complete = self._episodes == self._scored_episodes
        self._forbid_if(is_complete or not self._is_over)
        seed = episode_seed(self._seed, self._episodes)
        observation, info = self.env.reset(seed=seed, options=options)
        self._episodes += 1
        self._is_over = False
        return observation, self._without_oracle(info)

    def step(self, action):
        """Take a step. Raises BudgetExceeded beyond the budget."""
        self._forbid_if(self._is_over)
        if self.step_count == self._budget:
            raise BudgetExceeded("the task's budget of training steps is used up")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.step_count += 1
        value = self.task.value
        self._total += float(reward if value == "reward" else info[value])
        self._is_over = terminated or truncated
        info = self._without_oracle(info)
        return observation, reward, terminated, truncated, info

    def _forbid_if(self, condition):
        if condition and self._scored_episodes is not None:
            raise RuntimeError(
                "the agent broke off a scored episode, or continued after the last one"
            )

    def _without_oracle(self, info):
        self._info = info
        return {key: value for key, value in info.items() if key not in ORACLE}

    def abandon_episode(self) -> None:
        """End the current episode, so that the next one can begin."""
        self._is_over = True

    def action_masks(self) -> np.ndarray:
        """Return a mask of the allowed actions, bool, shape (actions,). sb3-contrib calls this method."""
        actions: Any = self.action_space
        return np.array(self._info.get("action_mask", [True] * actions.n), bool)


def standard_env(env: gym.Env, task: Task) -> gym.Env:
    """Return the environment with a Discrete action and a flat Box float32 observation, for learners that need these.

    Codes are one-hot encoded (`pushlab.clients.to_flat`). The action is the index of a notification in
    `world.candidates`. In the room it decides about the placement in view, see `MemoryActions`.
    """
    world = getattr(env.unwrapped, "world", None)
    candidates = getattr(world, "candidates", None)
    if task.capacity is not None:
        env = MemoryActions(env, task.capacity)
    elif isinstance(candidates, np.ndarray):
        indices = spaces.Discrete(len(candidates))
        env = wrappers.TransformAction(env, lambda index: candidates[index], indices)
    return to_flat(env)


class MemoryActions(gym.Wrapper):
    """Wrapper of the room for learners without a memory. Their actions manage a memory of the task's capacity.

    One half of the capacity is for episodes, the other for beliefs. Both are empty at first. When a half is full, the
    oldest episode or the weakest belief is removed. Questions are answered from the latest episode, or if there is none
    from the strongest belief.

    Action:
        Discrete(3): store the placement in view as an episode, turn it into a belief, or forget it.

    Observation:
        Box(10,) in [0, 1]:

        - 3 values, one-hot: the strongest belief about the object is missing, has the same place, or another place
        - 3 values, one-hot: the same for the latest episode of this person's object
        - the age of the oldest episode divided by MAX_AGE, at most 1
        - the filled fractions of episodes and of beliefs
        - s / (1 + s) for the belief's strength s

    Source:
        Kim et al. (2023), A machine with short-term, episodic, and semantic memory systems, AAAI. Their agent makes
        these three decisions. The observation is pushlab's own.
    """

    def __init__(self, env, capacity):
        super().__init__(env)
        self.action_space = spaces.Discrete(len(DECISIONS))
        self.observation_space = spaces.Box(0.0, 1.0, (10,))
        self._memory_agent = MemoryManager(capacity)
        self._observation = None

    def reset(self, *, seed=None, options=None):
        """Begin an episode with an empty memory."""
        self._observation, info = self.env.reset(seed=seed, options=options)
        self._memory_agent.begin(self.env, seed or 0)
        return self._memory_agent.features(self._observation), info

    def step(self, action):
        """Store or forget the placement, and answer the question."""
        self._memory_agent.decision = int(action)
        answer = self._memory_agent.act(self._observation, {})
        observation, reward, terminated, truncated, info = self.env.step(answer)
        self._observation = observation
        features = self._memory_agent.features(observation)
        return features, reward, terminated, truncated, info


class MemoryManager(MemoryAgent):
    """A memory agent that stores each placement as `decision` says."""

    split = (0.5, 0.5)
    decision = EPISODE

    def store_placement(self, placement, episodic, semantic):
        if self.decision == EPISODE:
            return episodic.store(placement)
        if self.decision == BELIEF:
            return semantic.strengthen(placement.thing, placement.place)
        return None

    def features(self, observation):
        """Return the observation of `MemoryActions`, float32, shape (10,)."""
        (current, *_), _, _ = self._read(observation)
        episodic, semantic = self.memories[0]
        belief = semantic.recall(current.thing)
        episode = episodic.recall(current.person, current.thing)
        age = 0.0
        if episodic.items:
            age = min(current.time - episodic.items[0].time, MAX_AGE) / MAX_AGE
        fill = [len(memory) / memory.capacity for memory in self.memories[0]]
        strength = 0.0 if belief is None else belief.strength
        matches = _match(belief, current) + _match(episode, current)
        return np.array([*matches, age, *fill, strength / (1 + strength)], np.float32)


def _match(memory, current):
    """Return a one-hot list: no memory, a memory of the current place, a memory of another place."""
    if memory is None:
        return [1, 0, 0]
    is_same = memory.place == current.place
    return [0, is_same, not is_same]


# ---------------------------------------------------------------- agents


def call_maker(make: Callable, trial: Trial) -> Any:
    """Return `make()`, or `make(trial)` if `make` needs an argument."""
    try:
        inspect.signature(make).bind()
    except TypeError:
        return make(trial)
    return make()


def make_agent(make: Callable, trial: Trial) -> Agent:
    """Return a fresh agent for a trial.

    Raises:
        UnsupportedTask: The agent doesn't support the task.
        TypeError: `make` didn't return an agent.
    """
    agent = as_agent(call_maker(make, trial))
    is_external = hasattr(agent, "train") or getattr(agent, "standard", False)
    if trial.task.kind == "lifetime" and is_external:
        raise UnsupportedTask(
            "a lifetime needs act and learn, in unchanged environments"
        )
    return agent


# ---------------------------------------------------------------- runs


def run_task(make: Callable, task: Task, seed: int) -> dict[str, list[dict]]:
    """Train and score an agent on a task with a seed.

    Returns:
        The rows of up to three tables, by name:

        - `scores`: score and number of steps (of training, or of the online task)
        - `seconds`: CPU seconds of the run
        - `unfit`: the reason why the agent doesn't support the task, instead of the other two
    """
    start = process_time()
    run = _run_lifetime if task.kind == "lifetime" else _run_users
    try:
        score, steps = run(make, task, seed)
    except UnsupportedTask as reason:
        return {"unfit": [{"reason": str(reason)}]}
    return {
        "scores": [{"score": score, "steps": steps}],
        "seconds": [{"seconds": process_time() - start}],
    }


def _run_users(make, task, seed):
    """Return the mean score over the task's users and the total number of training steps."""
    users = range(len(task.user_arguments))
    scores, steps = zip(*(_run_user(make, task, seed, user) for user in users))
    return sum(scores) / len(scores), sum(steps)


def _run_user(make, task, seed, user_index):
    """Return the score and the number of training steps of a fresh agent with one of the task's users."""
    arguments = task.user_arguments[user_index]
    training_seed = part_seed(seed, TRAINING, user_index)
    is_online = task.kind == "online"
    simulation = {}
    if task.kind == "offline":
        simulation = {"period": "history", "judge": "logistic"}
    with closing(task.make({**arguments, **simulation})) as env:
        scored_episodes = UNLIMITED if is_online else None
        training = Trial(env, task, training_seed, task.steps, scored_episodes)
        agent = make_agent(make, training)
        training = training.adapt_to(agent)
        _train(agent, training, training_seed)
        if is_online:
            training.abandon_episode()
            _play(agent, training, training_seed, learning=False)
            return training.score, training.step_count
    with closing(task.make(arguments, scored=True)) as env:
        trial = Trial(env, task, EVALUATION_SEED, scored_episodes=task.episodes)
        trial = trial.adapt_to(agent)
        agent_seed = part_seed(seed, EVALUATION, user_index)
        _play(agent, trial, agent_seed, learning=False, episodes=task.episodes)
        return trial.score, training.step_count


def _train(agent, trial, seed):
    """Use up the training budget, in the agent's own loop if it has one."""
    can_learn = getattr(type(agent), "learn", Agent.learn) is not Agent.learn
    if trial.task.kind == "offline" and hasattr(agent, "fit"):
        agent.fit(trial.world.user.history)
    elif hasattr(agent, "train"):
        with suppress(BudgetExceeded):
            # Many libraries accept only seeds of 32 bits.
            agent.train(trial, trial.task.steps, seed % 2**32)
    elif can_learn or trial.task.kind == "online":
        _play(agent, trial, seed, learning=True)


def _play(agent, trial, seed, learning, episodes=UNLIMITED):
    """Play this number of episodes, or as many as the budget allows."""
    from pushlab.logs.rollout import rollout

    with suppress(BudgetExceeded):
        rollout(
            trial,
            agent,
            episodes,
            seed,
            progress=False,
            record="episodes",
            learn=learning,
            explore=learning,
        )


def _run_lifetime(make, task, seed):
    """Return the mean reward per episode in tests of tasks that were trained before, and the training steps."""
    from pushlab.lifetimes.runner import make_envs, run_syllabus
    from pushlab.lifetimes.syllabi import read_syllabus

    syllabus = read_syllabus(task.env)
    env, *_ = make_envs(syllabus.phases[:1]).values()
    agent = make_agent(make, Trial(env, task, seed))
    log = run_syllabus(syllabus, agent, part_seed(seed, TRAINING), progress=False)
    trained = set()
    rewards = []
    for _, block in log.groupby("block", sort=True):
        if block["block_type"].eq("test").all():
            rewards += block.loc[block["task"].isin(trained), "reward"].tolist()
        else:
            trained.update(block["task"])
    steps = log.loc[log["block_type"] == "train", "length"].sum()
    return sum(rewards) / len(rewards), int(steps)
