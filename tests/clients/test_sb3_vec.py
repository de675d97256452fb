"""A native batch, as VecEnv of stable-baselines3, equals a DummyVecEnv of single environments."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import sb3_contrib
import stable_baselines3
from stable_baselines3.common import vec_env

import pushlab  # noqa: F401  registers the ids
from pushlab.clients import to_sb3_vec
from pushlab.envs import ENVIRONMENTS, MAX_EPISODE_STEPS

BOX = {"actions": "box"}
WORLDS = [
    *(
        (name, {"encoding": "index"} if "Room" in name else {})
        for name, *_ in ENVIRONMENTS
    ),
    ("pushlab/ODE-HIV-v0", BOX),
    ("pushlab/push-v0", {"max_episode_steps": 30}),
    ("pushlab/RECEnv-v0", {"max_episode_steps": 7}),
]


def same(a, b):
    """Return whether two observations or infos have equal keys, values and types."""
    if isinstance(a, dict):
        return set(a) == set(b) and all(same(a[key], b[key]) for key in a)
    return np.array_equal(a, b) and np.asarray(a).dtype == np.asarray(b).dtype


@pytest.mark.parametrize("name, arguments", WORLDS)
def test_batch_equals_dummy_vec_env(name, arguments):
    n = 3
    arguments = {"max_episode_steps": MAX_EPISODE_STEPS.get(name) and 20, **arguments}
    batch = to_sb3_vec(name, n, **arguments)
    dummy = vec_env.DummyVecEnv([lambda: gym.make(name, **arguments)] * n)
    batch.seed(7)
    dummy.seed(7)
    assert same(batch.reset(), dummy.reset())
    batch.action_space.seed(3)
    pairs = []
    for _ in range(60):
        actions = np.array([batch.action_space.sample() for _ in range(n)])
        observations, rewards, dones, infos = batch.step(actions)
        expected = dummy.step(actions)
        pairs.append((observations, expected[0]))
        assert same(rewards, expected[1]) and same(dones, expected[2])
        assert all(map(same, infos, expected[3]))
        assert all(map(same, batch.reset_infos, dummy.reset_infos))
        if hasattr(batch.get_attr("action_space")[0], "n"):
            masks = batch.env_method("action_masks")
            assert same(masks, dummy.env_method("action_masks"))
    # Compared at the end, because no returned array may change later.
    assert all(same(*pair) for pair in pairs)


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
