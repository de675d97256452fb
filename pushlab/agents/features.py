"""What the agents for notifications look at: the candidates, and a context as a handful of weights to be added up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import gymnasium as gym
import numpy as np

from pushlab.ground.arguments import demand, in_short, one_of

if TYPE_CHECKING:
    from pushlab.datasets.schema import Features


def context_of(observation: np.ndarray) -> np.ndarray:
    """The context's codes in an observation of either challenge, int64 (context components,)."""
    return observation["context"] if isinstance(observation, dict) else observation


def candidates_of(env: gym.Env) -> np.ndarray:
    """The notifications that may be chosen in an environment, int64 (k, notification components), each once."""
    world = getattr(env.unwrapped, "world", None)
    candidates = getattr(world, "candidates", None)
    if candidates is not None and env.observation_space != world.observation_space:
        raise ValueError(
            "a wrapper changes the observations, and this agent reads the world's own codes; leave it out"
        )
    if candidates is None:
        raise ValueError(
            "this environment has no candidates to choose from; pushlab/evalumap1-v0 and "
            "pushlab/evalumap2-v0 have"
        )
    once = np.unique(candidates, axis=0)
    return np.ascontiguousarray(
        candidates if len(once) == len(candidates) else once, np.int64
    )


def columns_that_differ(candidates: np.ndarray) -> np.ndarray:
    """Which components are not the same in all candidates, int64 (d,): only they can make one better than another.

    >>> columns_that_differ(np.array([[0, 1, 5], [0, 2, 5]]))
    array([1])
    """
    return np.flatnonzero((candidates != candidates[0]).any(axis=0))


def demand_features(half: Features, names: Any, called: str) -> None:
    """ValueError unless the argument `called` is a list of features of a schema's context."""
    demand(
        isinstance(names, (list, tuple)),
        f"{called} is a list of features of the context; got {in_short(names)}",
    )
    for name in names:
        one_of(f"{called}: a feature of the context", name, half.names)


class ContextFeatures:
    """A context's codes as 0/1 features: a constant 1, then one feature a code, of which few are 1 at a time.

    A component with two codes takes one feature, which is 1 for the second of them: a place tag that is there,
    headphones that are in.

    half   the schema's context, Features
    names  the features to look at, by default all

    >>> from pushlab.datasets.schema import Schema
    >>> features = ContextFeatures(Schema.load("evalumap2019").context, names=("noise", "place"))
    >>> features.words[:3], features.size
    (('always', 'place TYPE_ACCOUNTING', 'place TYPE_AIRPORT'), 15)
    """

    def __init__(self, half: Features, names: Sequence[str] | None = None) -> None:
        demand_features(half, () if names is None else names, "crossed")
        self._places, words = [], ["always"]
        for at, (component, size) in enumerate(
            zip(half.components, half.sizes.tolist())
        ):
            feature = component.partition(".")[0]
            if names is not None and feature not in names:
                continue
            skipped = size == 2  # then code 0 is said by the feature's being 0
            self._places.append((at, len(words) - skipped, skipped))
            tag = component.partition(".")[2]
            codes = ("", tag) if tag else half[feature].words
            words += [f"{feature} {word}" for word in codes[skipped:]]
        self.words = tuple(words)
        self.size = len(words)

    def active(self, context: np.ndarray) -> np.ndarray:
        """The numbers of the features that are 1 in a context (components,), int64; the constant, 0, is the first."""
        context = context.tolist()
        return np.array(
            [
                0,
                *(
                    start + context[at]
                    for at, start, skipped in self._places
                    if context[at] or not skipped
                ),
            ],
            np.int64,
        )
