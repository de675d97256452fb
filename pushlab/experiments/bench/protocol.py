"""The benchmark: any agent on a fixed, versioned set of tasks, within fixed budgets, beside the
agents that ship.

- pushlab bench --agent my_agent:make --out DIR --quick: # two minutes
- pushlab bench --agent my_agent:make --out DIR: # the benchmark

**An agent** is named as `module:make`: a function `make()` or `make(env)`, or a class, that returns
a fresh agent for each task and seed. It acts (`act(observation, info, explore)`) and may learn
(`learn(transition)`), see `pushlab.agents.Agent`. It may also have

- train(env, steps, seed): a training loop of its own, for learners of other libraries: `env` is a
  plain Gymnasium environment whose step raises `BudgetSpent` beyond `steps` (let it pass, or stop
  before)
- fit(history): for the offline challenge: learns from a `pushlab.datasets.periods.Period`. An agent
  without it trains in a simulation, where a judge fitted to that history answers
- standard = True: asks for environments in the standard form: a Discrete action, a flat Box float32
  observation, and `action_masks()` (see `standard`). Otherwise, like pushlab's own agents, it gets
  environments as they are

`env.task` is the Task (`pushlab.experiments.bench.tasks`); agents with a memory respect its
`capacity`. **A task that does not fit** an agent is reported and doesn't count against it: if
`make(env)` raises `DoesNotFit("why")`, and lifetimes if the agent has `train` or `standard`: they
use `act` and `learn`, in environments as they are.

**Protocol.** Each agent, task and seed is a run of its own. The agent learns for `steps` steps
(learn=True, explore=True), in episodes that follow from the seed; an agent without `learn` skips
this. Then it is scored in `episodes` episodes (learn=False, explore=False). Their seeds are the
same for every agent and run, and no training episode has one of them. In worlds without chance
(`hiv-*`, `opioid-2002`, `zika-outbreak`, `world3`, `credit*`) every episode is the same, in
training too, and the recommender's users may also occur in training. The tests of lifetimes follow
from the seed. An online task scores the learning itself, over exactly `steps` steps; steps that
`train` leaves are played without learning. The score of a lifetime is the mean over the tests of
tasks that were trained before.

**Rules.** An agent may use its observations, rewards, info, and the environment's spaces and
candidates. It must not step copies of an environment, `unwrapped` or one that it made; read the
world's state or its user's probabilities; reset or step while it is scored; keep anything from run
to run; or use JUDGED. A run fails if a scored episode is broken off, or if there are steps or
resets beyond the scored episodes. All steps count, also those that an agent takes inside `act`.
Info lacks the entries in ORACLE (except in lifetimes). Everything else rests on trust.

**Scores.** Higher is better. `normalised` is (score - random) / (best - random), see `task_table`
and data/bench/README.md. The quick version has smaller budgets and fewer episodes: never compare
its scores with those of the full one.
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
from pushlab.experiments.bench.tasks import Task
from pushlab.ground.seeds import episode_seed, part_seed

TRAINING = 0  # parts of a run with seeds of their own
JUDGING = 1
JUDGED = part_seed(1, JUDGING)  # seed of the episodes in which every agent is scored
LONG = 1_000_000_000  # more episodes than any budget allows
LONG_AGO = 25  # steps after which an episode looks as old as it can
ORACLE = ("probability", "best", "actual", "state")  # entries hidden from agents


class BudgetSpent(Exception):
    """Raised for a step beyond the budget of training steps."""


class DoesNotFit(Exception):
    """Raised by a maker of agents, with the reason why its agent can't do this task."""


# ---------------------------------------------------------------- environments


class Trial(gym.Wrapper):
    """An environment of a task that counts steps and scores, and enforces budget and rules.

    Each reset begins the next episode of the trial's seed, whatever seed is requested. So training never begins with
    the seeds of the scored episodes, and these are the same for every agent. The entries of info in ORACLE are hidden
    from the agent.

    Args:
        task: The task.
        seed: Seed of the trial.
        budget: Steps after which the next one raises BudgetSpent; None is no limit.
        counted: Number of scored episodes; None if none is scored. Scored episodes can't be broken off or repeated.

    Attributes:
        spent: Number of steps so far.
    """

    def __init__(self, env, task: Task, seed, budget=None, counted=None):
        super().__init__(env)
        self.task = task
        self.world = env.get_wrapper_attr("world")
        self._limits = (seed, budget, counted)
        self.spent = 0
        self._total = 0.0
        self._episodes = 0
        self._is_over = True
        self._info = {}

    @property
    def score(self) -> float:
        """The task's score so far: a mean per step or per episode, or its logarithm."""
        count = self.spent if self.task.per == "step" else self._episodes
        mean = self._total / max(1, count)
        return float(np.log10(max(mean, 1.0))) if self.task.scale == "log10" else mean

    def seen_by(self, agent: Agent) -> Trial:
        """Return the trial, not yet begun, as the agent gets it: in the standard form if it asks for that."""
        if not getattr(agent, "standard", False):
            return self
        return Trial(standard(self.env, self.task), self.task, *self._limits)

    def reset(self, *, seed=None, options=None):
        """Begin the trial's next episode. Raises RuntimeError if a scored one is unfinished, or all are finished."""
        seed, _, counted = self._limits
        is_complete = self._episodes == counted
        self._forbid(is_complete or not self._is_over)
        seed = episode_seed(seed, self._episodes)
        observation, info = self.env.reset(seed=seed, options=options)
        self._episodes += 1
        self._is_over = False
        return observation, self._without_oracle(info)

    def step(self, action):
        """Take a step. Raises BudgetSpent beyond the budget."""
        self._forbid(self._is_over)
        if self.spent == self._limits[1]:
            raise BudgetSpent("the steps of the task are used up")
        observation, reward, terminated, truncated, info = self.env.step(action)
        self.spent += 1
        value = self.task.value
        self._total += float(reward if value == "reward" else info[value])
        self._is_over = terminated or truncated
        info = self._without_oracle(info)
        return observation, reward, terminated, truncated, info

    def _forbid(self, is_forbidden):
        if is_forbidden and self._limits[2] is not None:
            raise RuntimeError(
                "the agent broke off a scored episode, or went on after the last one"
            )

    def _without_oracle(self, info):
        self._info = info
        return {key: value for key, value in info.items() if key not in ORACLE}

    def break_off(self) -> None:
        """Allow the next episode to begin now."""
        self._is_over = True

    def action_masks(self) -> np.ndarray:
        """Return which actions are allowed now, bool (actions,). sb3-contrib calls this method."""
        actions: Any = self.action_space
        return np.array(self._info.get("action_mask", [True] * actions.n), bool)


def standard(env: gym.Env, task: Task) -> gym.Env:
    """Return the environment for learners of plain Gymnasium: a Discrete action, a flat Box float32 observation.

    Each value of a code becomes a number, 0 or 1 (`gymnasium.spaces.flatten`). A notification becomes its number in
    `world.candidates`. In the room the action decides about the placement in view, see `Shelf`.
    """
    candidates = getattr(env.get_wrapper_attr("world"), "candidates", None)
    if task.capacity is not None:
        env = Shelf(env, task.capacity)
    elif isinstance(candidates, np.ndarray):
        numbers = spaces.Discrete(len(candidates))
        env = wrappers.TransformAction(env, lambda number: candidates[number], numbers)
    env = wrappers.FlattenObservation(env)
    box: Any = env.observation_space
    low = box.low.astype(np.float32)
    high = box.high.astype(np.float32)
    return wrappers.TransformObservation(
        env, lambda seen: seen.astype(np.float32).clip(low, high), spaces.Box(low, high)
    )


class Shelf(gym.Wrapper):
    """The room for learners without a memory of their own: they decide what a memory of the task's capacity stores.

    Half the capacity is for episodes, half for beliefs. Both are empty at first; the oldest episode and the weakest
    belief make room. Questions are answered from the latest episode, else from the strongest belief.

    Action:
        Discrete(3), for the placement in view: store it as an episode, turn it into a belief, or forget it.

    Observation:
        Box(10,) in [0, 1]: whether the strongest belief about the object is none, the same place or another; the same
        for the latest episode of this person's object; the age of the oldest episode as a share of LONG_AGO; how full
        episodes and beliefs are; and s / (1 + s) for the belief's strength s.

    Source:
        Kim et al. (2023), A machine with short-term, episodic, and semantic memory systems, AAAI, whose agent makes
        these three decisions. The observation is ours.
    """

    def __init__(self, env, capacity):
        super().__init__(env)
        self.action_space = spaces.Discrete(len(DECISIONS))
        self.observation_space = spaces.Box(0.0, 1.0, (10,))
        self._keeper = Keeper(capacity)
        self._seen = None

    def reset(self, *, seed=None, options=None):
        """Begin an episode with an empty memory."""
        self._seen, info = self.env.reset(seed=seed, options=options)
        self._keeper.begin(self.env, seed or 0)
        return self._keeper.features(self._seen), info

    def step(self, action):
        """Store or forget the placement, and answer the question."""
        self._keeper.choice = int(action)
        answer = self._keeper.act(self._seen, {})
        self._seen, reward, terminated, truncated, info = self.env.step(answer)
        features = self._keeper.features(self._seen)
        return features, reward, terminated, truncated, info


class Keeper(MemoryAgent):
    """A memory that follows `choice` for each placement."""

    split = (0.5, 0.5)
    choice = EPISODE

    def keep(self, placement, episodic, semantic):
        if self.choice == EPISODE:
            return episodic.store(placement)
        if self.choice == BELIEF:
            return semantic.strengthen(placement.thing, placement.place)
        return None

    def features(self, observation):
        """Return the memory's content about the placement in view, float32 (10,); see `Shelf`."""
        (seen, *_), _, _ = self._read(observation)
        episodic, semantic = self.memories[0]
        belief = semantic.recall(seen.thing)
        episode = episodic.recall(seen.person, seen.thing)
        age = 0.0
        if episodic.items:
            age = min(seen.time - episodic.items[0].time, LONG_AGO) / LONG_AGO
        full = [len(part) / part.capacity for part in self.memories[0]]
        strength = 0.0 if belief is None else belief.strength
        places = _compared(belief, seen) + _compared(episode, seen)
        return np.array([*places, age, *full, strength / (1 + strength)], np.float32)


def _compared(memory, seen):
    """Return whether there is no memory, one of the same place, or one of another place."""
    if memory is None:
        return [1, 0, 0]
    is_same = memory.place == seen.place
    return [0, is_same, not is_same]


# ---------------------------------------------------------------- agents


def call_maker(make: Callable, trial: Trial) -> Any:
    """Return `make(trial)`, or `make()` if it needs no argument."""
    try:
        inspect.signature(make).bind()
    except TypeError:
        return make(trial)
    return make()


def make_agent(make: Callable, trial: Trial) -> Agent:
    """Return a fresh agent for a trial. Raises DoesNotFit with the reason, TypeError if `make` returns no agent."""
    agent = as_agent(call_maker(make, trial))
    has_own_form = hasattr(agent, "train") or getattr(agent, "standard", False)
    if trial.task.kind == "lifetime" and has_own_form:
        raise DoesNotFit("a lifetime needs act and learn, in environments as they are")
    return agent


# ---------------------------------------------------------------- runs


def run_task(make: Callable, task: Task, seed: int) -> dict[str, list[dict]]:
    """Train and score an agent on a task under a seed; return the rows of three tables.

    - `scores`: score and steps (of training, or of the online task), if the task fits
    - `unfit`: the reason, if it doesn't
    - `seconds`: CPU seconds of the run
    """
    start = process_time()
    run = _go_through_lifetime if task.kind == "lifetime" else _compete
    try:
        score, steps = run(make, task, seed)
    except DoesNotFit as reason:
        return {"unfit": [{"reason": str(reason)}]}
    return {
        "scores": [{"score": score, "steps": steps}],
        "seconds": [{"seconds": process_time() - start}],
    }


def _compete(make, task, seed):
    """Return the score, a mean over the task's users, and the training steps, their sum."""
    users = range(len(task.each))
    scores, steps = zip(*(_compete_once(make, task, seed, user) for user in users))
    return sum(scores) / len(scores), sum(steps)


def _compete_once(make, task, seed, number):
    arguments = task.each[number]
    own = part_seed(seed, TRAINING, number)
    is_online = task.kind == "online"
    simulation = {}
    if task.kind == "offline":
        simulation = {"period": "history", "judge": "logistic"}
    with closing(task.make({**arguments, **simulation})) as env:
        trial = Trial(env, task, own, task.steps, LONG if is_online else None)
        agent = make_agent(make, trial)
        trial = trial.seen_by(agent)
        _train(agent, trial, own)
        if is_online:
            trial.break_off()
            _play(agent, trial, own, learning=False)
            return trial.score, trial.spent
    with closing(task.make(arguments, judged=True)) as env:
        judged = Trial(env, task, JUDGED, counted=task.episodes).seen_by(agent)
        own = part_seed(seed, JUDGING, number)
        _play(agent, judged, own, learning=False, episodes=task.episodes)
        return judged.score, trial.spent


def _train(agent, trial, seed):
    """Spend the budget, in the agent's own loop if it has one."""
    can_learn = getattr(type(agent), "learn", Agent.learn) is not Agent.learn
    if trial.task.kind == "offline" and hasattr(agent, "fit"):
        agent.fit(trial.world.user.history)
    elif hasattr(agent, "train"):
        with suppress(BudgetSpent):
            # Many libraries accept seeds of 32 bits only.
            agent.train(trial, trial.task.steps, seed % 2**32)
    elif can_learn or trial.task.kind == "online":
        _play(agent, trial, seed, learning=True)


def _play(agent, trial, seed, learning, episodes=LONG):
    """Play a number of episodes, or as many as the budget allows."""
    from pushlab.logs.rollout import rollout

    with suppress(BudgetSpent):
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


def _go_through_lifetime(make, task, seed):
    """Return the mean reward per episode in tests of tasks that were trained before, and the training steps."""
    from pushlab.lifetimes.live import make_envs, run_syllabus
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
