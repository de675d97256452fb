"""Learners of other libraries as agents of the benchmark: unmodified, with their libraries' default settings.

    pip install 'pushlab[rl]'
    pushlab bench --agent pushlab.experiments.bench.outside:dqn --out DIR

`dqn` and `ppo` are of stable-baselines3, `maskable_ppo` and `recurrent_ppo` of sb3-contrib. Nothing was tuned:
networks, learning rates and all else are what the libraries begin with; only PPO and its kin gather fewer steps for an
update where the budget is less than what they gather by default. They run on the CPU, in one thread of PyTorch, so that
the same seed gives the same scores.
"""

from __future__ import annotations

import gymnasium as gym
from gymnasium.spaces import Discrete

from pushlab.clients.sb3 import SB3Agent
from pushlab.ground.libraries import bring

BATCH = 64  # of PPO; a shorter rollout is a multiple of it


class Outside(SB3Agent):
    """An algorithm with the interface of stable-baselines3 as an agent that trains in its own loop.

    name       what it is called
    algorithm  "module:Class"
    policy     the name of the policy's network in that library
    rollout    steps that it gathers before each update, by default

    It meets environments in the benchmark's standard form (`standard`). `model` is the library's own object once it has
    trained.

    Raises ImportError where the library is not installed.
    Source     Raffin et al. (2021), Stable-Baselines3: Reliable Reinforcement Learning Implementations, JMLR 22(268)
    """

    standard, action_spaces = True, (Discrete,)

    def __init__(
        self, name: str, algorithm: str, rollout: int, policy: str = "MlpPolicy"
    ) -> None:
        super().__init__(bring(algorithm, name), policy, name=name)
        self._rollout = rollout

    def train(self, env: gym.Env, steps: int, seed: int) -> None:
        """Learns from at most `steps` steps: from as many as make whole rollouts."""
        bring("torch", self.name).set_num_threads(1)
        rollout = min(self._rollout, max(steps // BATCH * BATCH, 4))
        settings = {"n_steps": rollout} if rollout < self._rollout else {}
        self.model = self._new(env, seed=seed, **settings).learn(
            steps // rollout * rollout
        )


def dqn() -> Outside:
    """Deep Q-learning: Mnih et al. (2015), Human-level control through deep reinforcement learning, Nature 518."""
    return Outside("dqn", "stable_baselines3:DQN", 4)


def ppo() -> Outside:
    """Proximal policy optimisation: Schulman et al. (2017), arXiv:1707.06347."""
    return Outside("ppo", "stable_baselines3:PPO", 2048)


def maskable_ppo() -> Outside:
    """PPO that never takes a forbidden action: Huang & Ontañón (2022), FLAIRS 35; where all are allowed it is `ppo`."""
    return Outside("maskable_ppo", "sb3_contrib:MaskablePPO", 2048)


def recurrent_ppo() -> Outside:
    """PPO whose network remembers the episode so far (LSTM), at six times the time of `ppo` or more."""
    return Outside("recurrent_ppo", "sb3_contrib:RecurrentPPO", 128, "MlpLstmPolicy")
