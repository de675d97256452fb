"""Agent protocol: the base class, states as JSON, functions as agents, and a random agent."""

import copy
import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np
from gymnasium import spaces

from pushlab.utils.arguments import short_repr, validate_callable

FLOATS = partial(np.array, dtype=float)


class Transition(NamedTuple):
    """One step of an episode."""

    observation: Any
    info: dict
    action: Any
    reward: float
    next_observation: Any
    next_info: dict
    terminated: bool
    truncated: bool


class Agent:
    """Base class of agents. A subclass defines `act`, and other methods as required.

    Learned values persist from episode to episode. A new instance starts without any.

    Attributes:
        name: Label in logs and pictures.
        propensity: Probability of the last action that `act` returned, given the observation, the info and the agent's
            learned values and memory. For a continuous action it is a density; None if unknown. `rollout` logs it, so
            that other policies can be evaluated from the log. The intervals of `pushlab.metrics.offpolicy` assume
            independent episodes, which an agent that keeps learning doesn't produce.
        state_attributes: The attributes that make up the agent's state, each with a function that restores it from
            JSON.
    """

    name = "agent"
    propensity: Any = None
    state_attributes: Mapping[str, Callable] = {}

    def begin_task(self, task: str, learning: bool) -> None:
        """Start a block of episodes of one task in a lifetime (`pushlab.lifetimes.runner`).

        An agent that infers the task itself doesn't override this.

        Args:
            task: Name of the task.
            learning: Whether the agent learns; False in tests.
        """

    def begin(self, env: gym.Env, seed: int) -> None:
        """Start an episode of `env`; `seed` determines the agent's random numbers in this episode."""

    def act(
        self,
        observation: Any,
        info: Mapping[str, Any],
        explore: bool = True,
    ) -> Any:
        """Return the action for an observation; if `explore` is False, the one with the highest estimated value."""
        raise NotImplementedError(f"{type(self).__name__} has no method act")

    def learn(self, transition: Transition) -> None:
        """Update the agent after a step."""

    def state(self) -> dict:
        """Return the state that persists between episodes: a dict of numbers, texts, lists, dicts and arrays.

        An agent that loads it continues from the next `begin` as this agent would. The state excludes all that `begin`
        creates, such as an episode's memory or generator. A model that can't be written as JSON is replaced by its
        training data, and `load` fits it again. `state_to_json` converts a state to JSON.
        """
        return {
            name: copy.deepcopy(getattr(self, name)) for name in self.state_attributes
        }

    def load(self, state: dict) -> None:
        """Restore a state returned by `state()`, directly or from JSON."""
        unknown = sorted(set(state) - set(self.state_attributes))
        if unknown:
            raise ValueError(
                f"{type(self).__name__} has no state named {', '.join(unknown)}"
            )
        for name, value in state.items():
            restored = None if value is None else self.state_attributes[name](value)
            setattr(self, name, restored)


class Deterministic(Agent):
    """An agent whose action is determined by the observation, the info and its memory."""

    propensity = 1.0


def agent_rng(seed: int) -> np.random.Generator:
    """Return an agent's generator, independent of an environment that is reset with the same seed.

    Without the spawn key both would draw the same stream, and a random action would predict the user's answer.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(1,))
    return np.random.Generator(np.random.PCG64(sequence))


class FunctionAgent(Agent):
    """An agent that doesn't learn, made from a function of the observation, or of observation and info.

    A callable object can have the attribute `propensity`, as an Agent has.
    """

    propensity = property(lambda self: getattr(self.policy, "propensity", None))

    def __init__(
        self,
        policy: Callable,
        name: str = "",
    ):
        self.policy = validate_callable("policy", policy)
        own_name = getattr(policy, "__name__", "policy")
        self.name = name or own_name.replace("_", " ")
        try:
            inspect.signature(policy).bind(None)
            self._with_info = False
        except TypeError:  # a required second argument
            self._with_info = True

    def act(self, observation, info, explore=True):
        if self._with_info:
            return self.policy(observation, info)
        return self.policy(observation)


def as_agent(agent: Any) -> Agent:
    """Return an agent unchanged, or wrap a function in a `FunctionAgent`.

    >>> as_agent(lambda observation: 0).act([1, 2], {})
    0
    """
    if isinstance(agent, type):
        raise TypeError(
            f"{agent.__name__} is a class; pass an instance: {agent.__name__}()"
        )
    if hasattr(agent, "act"):
        return agent
    if callable(agent):
        return FunctionAgent(agent)
    raise TypeError(
        f"an agent is an object with act(observation, info), or a function of the observation; got {short_repr(agent)}"
    )


class RandomAgent(Agent):
    """Draws any allowed action with equal probability, in every world."""

    name = "random"

    def begin(self, env, seed):
        self._space = copy.deepcopy(env.action_space)
        space_seed = agent_rng(seed).integers(2**31)
        self._space.seed(int(space_seed))
        self._unmasked_propensity = uniform_action_probability(self._space)

    def act(self, observation, info, explore=True):
        mask = info.get("action_mask")
        self.propensity = self._unmasked_propensity
        if mask is not None:
            self.propensity = uniform_action_probability(self._space, mask)
        return self._space.sample(mask)


def uniform_action_probability(space: spaces.Space, mask: Any = None) -> float | None:
    """Return the probability (for floats, the density) of each element of `space.sample(mask)`; None if it varies.

    >>> uniform_action_probability(spaces.Discrete(5), np.array([1, 1, 0, 0, 1], np.int8))
    0.3333333333333333
    >>> uniform_action_probability(spaces.Box(0, 4, (2,)))
    0.0625
    """
    if isinstance(space, spaces.Discrete):
        return float(1 / (space.n if mask is None else max(np.sum(mask), 1)))
    if isinstance(space, spaces.MultiDiscrete) and mask is None:
        sizes = space.nvec.astype(float)
    elif isinstance(space, spaces.Box) and space.is_bounded():
        sizes = space.high.astype(float) - space.low
    else:
        return None
    return float(1 / np.prod(sizes))


def state_to_json(state: Any) -> Any:
    """Return a state as JSON values: arrays become lists.

    Raises:
        TypeError: If a value has any other type.

    >>> state_to_json({"weights": np.array([[0.5, 1.0]]), "episodes": np.int64(3)})
    {'weights': [[0.5, 1.0]], 'episodes': 3}
    """
    if isinstance(state, dict) and all(isinstance(key, str) for key in state):
        return {key: state_to_json(value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return [state_to_json(value) for value in state]
    if isinstance(state, (np.ndarray, np.generic)):
        return state.tolist()
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    raise TypeError(
        f"a state consists of numbers, texts, lists, arrays and dicts with text keys; got {short_repr(state)}"
    )
