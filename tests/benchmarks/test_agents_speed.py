"""How long the learning agents take to act and to learn."""

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
    """One decision and one lesson, among 64 candidates of the catalogue or some hundred of the history."""
    env, agent = gym.make("pushlab/evalumap2-v0", candidates=candidates), kind()
    observation, info = env.reset(seed=1)
    agent.begin(env, 1)

    def decide_and_learn():
        action = agent.act(observation, info)
        agent.learn(
            Transition(
                observation,
                info,
                action,
                1.0,
                observation,
                {"opened": True},
                False,
                False,
            )
        )

    benchmark(decide_and_learn)
