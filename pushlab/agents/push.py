"""Agents for push notifications."""

import numpy as np

from pushlab.agents.protocol import Agent, own_chance


class ReplayHistory(Agent):
    """Sends what the user got in the history, whatever the context: the n-th notification for the n-th context.

    history  a Period, whose schema must be the environment's; after its end it begins again
    shuffle  draw notifications from the history at random, with replacement, instead of in their order
    """

    name = "own history"

    def __init__(self, history, shuffle=False):
        self.codes = history.notification_codes
        self.shuffle = shuffle

    def begin(self, env, seed):
        if self.codes.shape[1:] != env.action_space.shape or (self.codes >= env.action_space.nvec).any():
            raise ValueError("the history is coded by another schema than the environment's; load both as one user")
        self._sent = 0
        self._rng = own_chance(seed)

    def act(self, observation, info, explore=True):
        row = self._rng.integers(len(self.codes)) if self.shuffle else self._sent % len(self.codes)
        self._sent += 1
        return np.array(self.codes[row])
