"""One RECEnv alone: what the world does to a batch, without the cost of a batch."""

import numpy as np

from pushlab.envs.actions import action_reader


class RECEnvAlone:
    """One copy of a RECEnv world, step by step, as `World.solo` describes it.

    It asks the same user model with a batch of one, and spares what the shell does to any world's batch.
    """

    def __init__(self, world):
        self.world = world
        self.truncated = False
        self._read = action_reader(world.action_space)
        self._user, self._step, self._state, self._seen, self._last = None, 0, None, None, None

    def reset(self, draws, options):
        state = self.world.initial(draws, options)
        self._user, self._step, self._state = state["user"].item(), 0, state["state"]
        self._seen, self._last, self.truncated = state.get("seen"), None, False
        return self._observation(), {"user_id": self._user, "state": self._state[0].copy()}

    def step(self, action, draws):
        world, action = self.world, self._read(action, 1)
        reward, self._state = world.respond(self._state, action, draws)
        self._last = action, reward
        self._step += 1
        self.truncated = self._step >= world.step_per_episode
        if world.obs_std:
            self._seen = world.seen(self._state, draws)
        return self._observation(), reward.item(), False, {"user_id": self._user, "state": self._state[0].copy()}

    def _observation(self):
        return self.world.look(self._state if self._seen is None else self._seen)[0]

    def now(self):
        """State and outcome as the batch has them; None before the first reset, and no outcome right after one."""
        if self._state is None:
            return None, None
        state = {"user": np.array([self._user]), "step": np.array([self._step]), "state": self._state}
        if self._seen is not None:
            state["seen"] = self._seen
        return state, None if self._last is None else {"action": self._last[0], "reward": self._last[1]}
