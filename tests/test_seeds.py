"""Seeds of episodes and parts, streams of the copies of a batch, and exact repeats."""

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab.envs.chance import BLOCK, Chance
from pushlab.ground.seeds import episode_seed, part_seed

STEPS = 30


def test_seeds_of_episodes_and_parts_stay_the_same_in_every_release():
    later = [2688909353179744, 6175868026863796]
    assert [episode_seed(7, episode) for episode in range(3)] == [7, *later]
    assert part_seed(7, 1) == 7156218260726007


def test_no_two_episodes_or_parts_share_a_seed():
    pairs = [(seed, episode) for seed in range(101) for episode in range(101)]
    seeds = {episode_seed(*pair) for pair in pairs}
    assert len(seeds) == len(pairs)
    assert min(seeds) >= 0
    assert max(seeds) < 2**53
    parts = {
        part_seed(*path) for path in ((0, 1), (1, 0), (0, 1, 0), (0, 0), (0, 0, 1))
    }
    assert len(parts) == 5


def test_each_copy_of_a_batch_draws_from_its_own_stream():
    chance = Chance(3, 2)
    generators = [np.random.default_rng(copy) for copy in range(3)]
    streams = [np.random.default_rng(copy) for copy in range(3)]
    for copy, generator in enumerate(generators):
        chance.seed(copy, generator)
    for copies in [None] * (BLOCK + 2) + [[0, 2]] + [None] * (BLOCK + 2) + [[1]]:
        draws = chance.take(None if copies is None else np.array(copies))
        for draw, copy in zip(draws, range(3) if copies is None else copies):
            assert np.array_equal(draw, streams[copy].random(2))
    chance.seed(0, generators[0])  # the same generator goes on
    chance.seed(1, np.random.default_rng(9))
    streams[1] = np.random.default_rng(9)
    for draw, stream in zip(chance.take(), streams, strict=True):
        assert np.array_equal(draw, stream.random(2))
    assert Chance(4, 0).take(np.array([1, 2])).shape == (2, 0)


def fingerprint(space, observation):
    """One number for an observation; swapped components change it."""
    values = np.hstack(gym.spaces.flatten(space, observation)).astype(float)
    return np.log1p(np.abs(values)) @ np.arange(1, len(values) + 1)


# Recorded with version 0.8: a change here is a new version of the environment's id.
EPISODES = {
    "pushlab/evalumap1-v0": (14, 438.695087),
    "pushlab/evalumap2-v0": (14, 3010.91955),
    "pushlab/RoomEnv-v0": (0, 66838.3571),
    "pushlab/RECEnv-v0": (3.08095009, 4.90731136),
    "pushlab/ODE-HIV-v0": (-268417.353, 112.203024),
    "pushlab/ODE-HIV-Goal-v0": (-30, 112.913649),
    "pushlab/ODE-LotkaVolterra-v1": (259.743167, 7.46907906),
    "pushlab/ODE-Opioid-v0": (-830.704731, 155.83862),
    "pushlab/ODE-Zika-v0": (-2532.6294, 103.940655),
    "pushlab/ODE-World3-v1": (799.850148, 1516.12993),
    "pushlab/Credit-v0": (-16.1246106, 8.09725329),
    "pushlab/push-v0": (-7.335, 4028.88445),
}


@pytest.mark.parametrize("name", EPISODES)
def test_an_environment_repeats_the_episodes_of_earlier_releases(name):
    env = gym.make(name)
    env.action_space.seed(7)
    observations = [env.reset(seed=7)[0]]
    rewards = []
    for _ in range(STEPS):
        action = env.action_space.sample()
        observation, reward, terminated, truncated, _ = env.step(action)
        observations.append(observation)
        rewards.append(reward)
        if terminated or truncated:
            observations.append(env.reset()[0])
    prints = [fingerprint(env.observation_space, one) for one in observations]
    expected = pytest.approx(EPISODES[name], rel=1e-5)
    assert (sum(rewards), np.mean(prints)) == expected
