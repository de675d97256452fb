"""Speed of learning agents: acting and learning."""

import gymnasium as gym
import pytest

import pushlab  # noqa: F401
from pushlab.agents import (
    EpsilonGreedy,
    LinUCB,
    MostOpened,
    ThompsonSampling,
    Transition,
)


@pytest.mark.parametrize("candidates", ["catalogue", "history"])
@pytest.mark.parametrize("kind", [EpsilonGreedy, LinUCB, ThompsonSampling, MostOpened])
def test_act_and_learn(benchmark, kind, candidates):
    """Measure one action and one update, with 64 candidates of the catalogue or a few hundred of the history."""
    env = gym.make("pushlab/evalumap2-v0", candidates=candidates)
    agent = kind()
    observation, info = env.reset(seed=1)
    agent.begin(env, 1)

    def act_and_learn():
        action = agent.act(observation, info)
        transition = Transition(
            observation,
            info,
            action,
            1.0,
            observation,
            {"opened": True},
            False,
            False,
        )
        agent.learn(transition)

    benchmark(act_and_learn)
