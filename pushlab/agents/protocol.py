"""What an agent is asked for, and a function as an agent."""

import inspect
from typing import Any, NamedTuple

import numpy as np


class Transition(NamedTuple):
    """One step as an agent learns from it: what it saw, what it did, what came of it."""

    observation: Any
    info: dict
    action: Any
    reward: float
    next_observation: Any
    next_info: dict
    terminated: bool
    truncated: bool


class Agent:
    """An agent that acts and may learn. A subclass writes `act`, and what else it needs.

    `name` labels it in logs and pictures. What an agent has learned stays from episode to episode; a new instance
    starts afresh.
    """

    name = "agent"

    def begin_task(self, task, learning):
        """In a lifetime (`pushlab.lifetimes.live`) the episodes of a task begin; `learning` is False in tests.

        An agent that is to find out for itself what it is doing leaves this as it is.
        """

    def begin(self, env, seed):
        """An episode of `env` begins; `seed` governs the agent's own chance in it."""

    def act(self, observation, info, explore=True):
        """The action for an observation; `explore=False` asks for the best known one."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it acts")

    def learn(self, transition):
        """Takes in one Transition, right after it happened."""

    def state(self):
        """All that is to outlast an episode, as a dict of numbers, texts, lists, dicts, arrays and Generators.

        Whoever takes it over with `load` goes on from the next `begin` as this agent would. What `begin` makes anew
        (memory of an episode, a generator out of its seed) does not belong in it; a generator that it does not make
        anew does, and a model that cannot be written down leaves the data that it was fitted to: `load` fits it again.
        `pushlab.agents.states` makes JSON of it.
        """
        return {}

    def load(self, state):
        """Takes over what `state()` gave."""
        if state:
            raise ValueError(f"{type(self).__name__} learns nothing, so it has no place for {', '.join(state)}")


def own_chance(seed):
    """A generator for an agent's chance that shares no numbers with an environment reset with the same seed.

    Without the spawn key both would draw the same stream, and a random action would foretell the user's answer.
    """
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,))))


class FunctionAgent(Agent):
    """A function of the observation, or of observation and info, as an agent that learns nothing."""

    def __init__(self, policy, name=None):
        self.policy = policy
        self.name = name or getattr(policy, "__name__", "policy").replace("_", " ")
        self._with_info = _positional(policy) > 1

    def act(self, observation, info, explore=True):
        return self.policy(observation, info) if self._with_info else self.policy(observation)


def _positional(policy):
    """How many arguments a function must be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in kinds and parameter.default is parameter.empty
               for parameter in inspect.signature(policy).parameters.values())


def as_agent(agent):
    """The agent itself, or a function as one.

    >>> as_agent(lambda observation: 0).act([1, 2], {})
    0
    """
    if isinstance(agent, type):
        raise TypeError(f"{agent.__name__} is a class; make an agent of it: {agent.__name__}()")
    if hasattr(agent, "act"):
        return agent
    if callable(agent):
        return FunctionAgent(agent)
    raise TypeError(f"an agent has act(observation, info), or is a function of the observation; got {agent!r}")
