"""A native batch as a VecEnv of stable-baselines3 equals a DummyVecEnv of single environments."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import sb3_contrib
import stable_baselines3
from stable_baselines3.common import vec_env

import pushlab  # noqa: F401  registers the ids
from pushlab.clients import to_sb3_vec
from pushlab.envs import LIMITS, TABLE

BOX = {"actions": "box"}
WORLDS = [
    *((name, {"encoding": "index"} if "Room" in name else {}) for name, *_ in TABLE),
    ("pushlab/ODE-HIV-v0", BOX),
    ("pushlab/push-v0", {"max_episode_steps": 30}),
    ("pushlab/RECEnv-v0", {"max_episode_steps": 7}),
]


def same(one, other):
    """Whether two observations or infos are equal in keys, values and types."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[k], other[k]) for k in one)
    return (
        np.array_equal(one, other) and np.asarray(one).dtype == np.asarray(other).dtype
    )


@pytest.mark.parametrize("name, arguments", WORLDS)
def test_batch_equals_dummy_vec_env(name, arguments):
    n = 3
    arguments = {"max_episode_steps": LIMITS.get(name) and 20, **arguments}
    ours = to_sb3_vec(name, n, **arguments)
    theirs = vec_env.DummyVecEnv(
        [lambda: gym.make(name, **arguments) for _ in range(n)]
    )
    ours.seed(7)
    theirs.seed(7)
    assert same(ours.reset(), theirs.reset())
    ours.action_space.seed(3)
    observations = []
    for _ in range(60):
        actions = np.array([ours.action_space.sample() for _ in range(n)])
        one = ours.step(actions)
        other = theirs.step(actions)
        observations.append((one[0], other[0]))
        assert same(one[1], other[1]) and same(one[2], other[2])
        assert all(map(same, one[3], other[3]))
        assert all(map(same, ours.reset_infos, theirs.reset_infos))
        if hasattr(ours.get_attr("action_space")[0], "n"):
            masks = ours.env_method("action_masks")
            assert same(masks, theirs.env_method("action_masks"))
    # Compared again at the end: no array was written into after it was returned.
    assert all(same(*pair) for pair in observations)


MODELS = [
    (stable_baselines3.PPO, "MlpPolicy", "pushlab/RECEnv-v0", {"n_steps": 32}),
    (stable_baselines3.A2C, "MultiInputPolicy", "pushlab/evalumap2-v0", {}),
    (sb3_contrib.MaskablePPO, "MlpPolicy", "pushlab/push-v0", {"n_steps": 32}),
]


@pytest.mark.parametrize("algorithm, policy, name, settings", MODELS)
def test_models_learn_the_same_parameters(algorithm, policy, name, settings):
    parameters = []
    dummy = vec_env.DummyVecEnv([lambda: gym.make(name)] * 2)
    for env in (to_sb3_vec(name, 2), dummy):
        model = algorithm(policy, env, seed=5, device="cpu", **settings).learn(128)
        parameters.append(model.policy.state_dict())
    assert all((parameters[0][k] == parameters[1][k]).all() for k in parameters[0])


def test_hindsight_replay_gets_rewards_from_the_batch():
    env = to_sb3_vec("pushlab/ODE-HIV-Goal-v0", 2, config={"end_time": 50.0})
    model = stable_baselines3.DQN(
        "MultiInputPolicy",
        env,
        replay_buffer_class=stable_baselines3.HerReplayBuffer,
        learning_starts=30,
        device="cpu",
    )
    assert model.learn(64).num_timesteps == 64
    goals = np.array([[5.99, 2.62, 5.55], [1.0, 1.0, 1.0]])
    rewards = env.env_method(
        "compute_reward", goals, goals[[0, 0]], [{}, {}], indices=[0]
    )
    assert rewards[0].tolist() == [0.0, -1.0]
