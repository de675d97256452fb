"""What an agent is asked for, a function as an agent, and what an agent has learned as JSON."""

import inspect
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import gymnasium as gym
import numpy as np

from pushlab.ground.arguments import function, in_short, naming


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

    `propensity` is the probability, before any dice, of the action that `act` has just returned, given the observation,
    info and all that the agent has learned and remembers; of a continuous action its density; None where it cannot
    tell. `rollout` writes it down, so that other policies can be judged by the log (`pushlab.metrics.offpolicy`, whose
    intervals take episodes for independent: those of an agent that learns on are not).
    """

    name = "agent"
    propensity: Any = None

    def begin_task(self, task: str, learning: bool) -> None:
        """In a lifetime (`pushlab.lifetimes.live`) the episodes of a task begin; `learning` is False in tests.

        An agent that is to find out for itself what it is doing leaves this as it is.
        """

    def begin(self, env: gym.Env, seed: int) -> None:
        """An episode of `env` begins; `seed` governs the agent's own chance in it."""

    def act(
        self, observation: Any, info: Mapping[str, Any], explore: bool = True
    ) -> Any:
        """The action for an observation; `explore=False` asks for the best known one."""
        raise NotImplementedError(f"{type(self).__name__} has to say how it acts")

    def learn(self, transition: Transition) -> None:
        """Takes in one Transition, right after it happened."""

    def state(self) -> dict:
        """All that is to outlast an episode, as a dict of numbers, texts, lists, dicts, arrays and Generators.

        Whoever takes it over with `load` goes on from the next `begin` as this agent would. What `begin` makes anew
        (memory of an episode, a generator out of its seed) does not belong in it; a generator that it does not make
        anew does, and a model that cannot be written down leaves the data that it was fitted to: `load` fits it again.
        `plain_state` makes JSON of it.
        """
        return {}

    def load(self, state: dict) -> None:
        """Takes over what `state()` gave."""
        if state:
            raise ValueError(
                f"{type(self).__name__} learns nothing, so it has no place for {', '.join(state)}"
            )


class Deterministic(Agent):
    """An agent without dice: observation, info and what it remembers leave it one action."""

    propensity = 1.0


def own_chance(seed: int) -> np.random.Generator:
    """A generator for an agent's chance that shares no numbers with an environment reset with the same seed.

    Without the spawn key both would draw the same stream, and a random action would foretell the user's answer.
    """
    return np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(1,)))
    )


class FunctionAgent(Agent):
    """A function of the observation, or of observation and info, as an agent that learns nothing.

    A function, or an object that can be called, may tell its `propensity` as an attribute, as an Agent does.
    """

    propensity = property(lambda self: getattr(self.policy, "propensity", None))

    def __init__(self, policy: Callable, name: str | None = None) -> None:
        self.policy = function("policy", policy)
        self.name = name or getattr(policy, "__name__", "policy").replace("_", " ")
        with naming("policy", policy):
            self._with_info = _positional(policy) > 1

    def act(self, observation, info, explore=True):
        return (
            self.policy(observation, info)
            if self._with_info
            else self.policy(observation)
        )


def _positional(policy):
    """How many arguments a function must be given by position."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(
        parameter.kind in kinds and parameter.default is parameter.empty
        for parameter in inspect.signature(policy).parameters.values()
    )


def as_agent(agent: Any) -> Agent:
    """The agent itself, or a function as one.

    >>> as_agent(lambda observation: 0).act([1, 2], {})
    0
    """
    if isinstance(agent, type):
        raise TypeError(
            f"{agent.__name__} is a class; make an agent of it: {agent.__name__}()"
        )
    if hasattr(agent, "act"):
        return agent
    if callable(agent):
        return FunctionAgent(agent)
    raise TypeError(
        f"an agent has act(observation, info), or is a function of the observation; got {in_short(agent)}"
    )


# ---------------------------------------------------------------- states as JSON


def plain_state(state: Any, name: str = "state") -> Any:
    """What `Agent.state()` gave, as JSON can hold it: arrays as lists, a Generator as what its bit generator tells.

    Raises TypeError naming what is neither.

    >>> plain_state({"weights": np.array([[0.5, 1.0]]), "episodes": np.int64(3)})
    {'weights': [[0.5, 1.0]], 'episodes': 3}
    """
    if isinstance(state, dict):
        wrong = [key for key in state if not isinstance(key, str)]
        if wrong:
            raise TypeError(
                f"{name} has the key {wrong[0]!r}, and keys of JSON are texts; make it a list of pairs"
            )
        return {
            key: plain_state(value, f"{name}[{key!r}]") for key, value in state.items()
        }
    if isinstance(state, np.ndarray) and state.dtype != object:
        return state.tolist()
    if isinstance(state, (list, tuple, np.ndarray)):
        return [plain_state(value, f"{name}[{at}]") for at, value in enumerate(state)]
    if isinstance(state, np.generic):
        return state.item()
    if isinstance(state, np.random.Generator):
        return plain_state(state.bit_generator.state, name)
    if state is None or isinstance(state, (bool, int, float, str)):
        return state
    raise TypeError(
        f"{name} is a {type(state).__name__}; a state holds numbers, texts, lists, dicts, arrays and "
        "Generators, and of a model that cannot be written down the data that it was fitted to"
    )


def as_generator(state: Any) -> np.random.Generator:
    """The Generator that goes on where the one stood of which `plain_state` told.

    >>> here = np.random.default_rng(5)
    >>> there = as_generator(plain_state(here))
    >>> bool(here.random() == there.random())
    True
    """
    if isinstance(state, np.random.Generator):
        state = plain_state(state)
    kind = getattr(np.random, str(state.get("bit_generator")), None)
    if not (isinstance(kind, type) and issubclass(kind, np.random.BitGenerator)):
        raise ValueError(f"{state.get('bit_generator')!r} is no bit generator of NumPy")
    bits = kind(0)
    bits.state = state
    return np.random.Generator(bits)
