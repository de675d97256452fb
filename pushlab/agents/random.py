"""Chance itself: the line every other agent is held against; and chance around a mean, for logs with densities."""

import copy
from typing import Any

import numpy as np
from gymnasium import spaces

from pushlab.agents.protocol import Agent, own_chance
from pushlab.ground.arguments import demand, function, in_short, numbers


class RandomAgent(Agent):
    """Any allowed action with equal probability, in every world."""

    name = "random"

    def begin(self, env, seed):
        self._space = copy.deepcopy(env.action_space)
        self._space.seed(int(own_chance(seed).integers(2**31)))
        self._any = sampling_chance(self._space)

    def act(self, observation, info, explore=True):
        mask = info.get("action_mask")
        self.propensity = (
            self._any if mask is None else sampling_chance(self._space, mask)
        )
        return self._space.sample(mask) if mask is not None else self._space.sample()


def sampling_chance(space: spaces.Space, mask: Any = None) -> float | None:
    """The probability of each element that `space.sample(mask)` may give, of floats the density; None: not the same.

    >>> sampling_chance(spaces.Discrete(5), np.array([1, 1, 0, 0, 1], np.int8)), sampling_chance(spaces.Box(0, 4, (2,)))
    (0.3333333333333333, 0.0625)
    """
    if isinstance(space, spaces.Discrete):
        return float(1 / (space.n if mask is None else max(np.sum(mask), 1)))
    if isinstance(space, spaces.MultiBinary):
        return float(
            0.5 ** (np.prod(space.shape) if mask is None else np.sum(mask == 2))
        )  # 2: either
    if isinstance(space, spaces.MultiDiscrete) and (
        mask is None or space.nvec.ndim == 1
    ):
        return float(
            1
            / np.prod(
                [
                    max(np.sum(part), 1)
                    for part in (mask or [*map(np.ones, space.nvec.ravel())])
                ]
            )
        )
    if isinstance(space, spaces.Box) and space.is_bounded():
        return float(
            1
            / np.prod(space.high.astype(float) - space.low + (space.dtype.kind in "iu"))
        )
    return None


class GaussianActions(Agent):
    """Draws vector actions around a mean, cut off at the bounds of the action space, and knows their density.

    `rollout` writes the density of each action down as `propensity`. Components are independent, each from a normal
    distribution truncated at its bounds.

    mean     function of the observation to an action; beyond the bounds it counts as the bound
    spread   standard deviation before the cut, above 0; or one for each component

    Raises ValueError for another spread and, when an episode begins, for actions that are no Box.

    >>> import gymnasium as gym
    >>> agent = GaussianActions(lambda seen: 0.3, spread=0.2)
    >>> agent.begin(gym.make("pushlab/ODE-HIV-v0", actions="box"), seed=7)
    >>> agent.act(None, {}).shape, agent.propensity > 0
    ((2,), True)
    """

    name = "gaussian"

    def __init__(self, mean: Any, spread: Any) -> None:
        demand(
            (numbers("spread", spread) > 0).all(),
            f"spread is above 0; got {in_short(spread)}",
        )
        self.mean, self.spread = function("mean", mean), spread

    def begin(self, env, seed):
        space = env.action_space
        demand(
            isinstance(space, spaces.Box),
            f"GaussianActions draws actions in a Box, and these are {space}",
        )
        self._ends, self._rng = (space.low, space.high), own_chance(seed)

    def act(self, observation, info, explore=True):
        from scipy.stats import truncnorm

        middle = np.clip(
            np.broadcast_to(self.mean(observation), self._ends[0].shape), *self._ends
        ).astype(float)
        law = truncnorm(
            *[(end - middle) / self.spread for end in self._ends], middle, self.spread
        )
        action = law.rvs(middle.shape, self._rng) if explore else middle
        self.propensity = float(law.pdf(action).prod()) if explore else None
        return action
