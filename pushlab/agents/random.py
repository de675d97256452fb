"""Chance itself: the line every other agent is held against."""



import copy

from pushlab.agents.protocol import Agent, own_chance


class RandomAgent(Agent):
    """Any allowed action with equal probability, in every world."""

    name = "random"

    def begin(self, env, seed):
        self._space = copy.deepcopy(env.action_space)
        self._space.seed(int(own_chance(seed).integers(2**31)))

    def act(self, observation, info, explore=True):
        mask = info.get("action_mask")
        return self._space.sample(mask) if mask is not None else self._space.sample()
