"""RECEnv: RECGym's episode, the equations, noise, and custom user models."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from scipy import stats

from pushlab.envs.rec.models import (
    BaseUserModel,
    NoDrift,
    Satiation,
    UserModel,
)
from pushlab.envs.rec.world import RECEnv

ID = "pushlab/RECEnv-v0"


def episode(actions, seed=1, options=None, **arguments):
    """Return the observations and rewards of an episode under fixed actions."""
    env = gym.make(ID, **arguments)
    observations = [env.reset(seed=seed, options=options)[0]]
    rewards = []
    for action in actions:
        observation, reward, *_ = env.step(action)
        observations.append(observation)
        rewards.append(reward)
    return np.array(observations), np.array(rewards)


# User 26 of RECEnv(random_state=12345) of RECGym, scope-rl 0.2.1: states and rewards.
ACTIONS = [0, 3, 1, 4, 2, 0, 3, 2, 0, 3]
FIRST = [-0.0111380588, -0.1482171106, 0.0612351187, 0.0683804599, 0.0724352154]
SECOND = [-0.1389785342, -0.8273695278, 0.304402164, 0.346198953, 0.2891889331]
LAST = [-0.2943194771, -0.9300377967, 0.118495302, 0.135545979, 0.1264590573]
REWARDS = np.array([0.0479488021, -0.1595091573])


@pytest.mark.parametrize("reference", ["recgym-0.2.1", None])
def test_episode_of_recgym_is_repeated(reference):
    """Without the reference, an episode begins with a preference of length 1."""
    arguments = {"random_state": 12345, "reference": reference}
    seen, rewards = episode(ACTIONS, options={"user_id": 26}, **arguments)
    length = 1 if reference else np.linalg.norm(FIRST)
    first = np.array(FIRST) / length
    assert seen[[0, 1, -1]] == pytest.approx(np.array([first, SECOND, LAST]), abs=1e-9)
    assert rewards[:2] == pytest.approx(REWARDS / [length, 1], abs=1e-9)


def test_features_are_divided_by_their_spectral_norm():
    world = RECEnv(item_feature_vector=2 * np.eye(5), n_users=7)
    assert np.array_equal(world.items, np.eye(5))
    assert world.users.shape == (7, 5)
    assert np.linalg.norm(world.users, ord=2) == pytest.approx(1)
    assert np.array_equal(world.users, RECEnv(n_users=7, random_state=0).users)


@pytest.mark.parametrize("alpha", [1.0, 0.3])
def test_preferences_drift_as_dean_and_morgenstern_write(alpha):
    world = RECEnv(UserModel=UserModel(alpha=alpha))
    state = world.initial_states
    actions = np.arange(100) % 5
    items = world.items[actions]
    for _ in range(3):
        engagement = (state * items).sum(axis=1)
        expected = state + alpha * engagement[:, None] * items
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        rewards, next_state = world.expected_step(state, actions)
        assert rewards == pytest.approx(engagement)
        assert next_state == pytest.approx(expected)
        model = world.user_model
        copy = (state[3], actions[3], world.items)
        assert model.reward_function(*copy) == pytest.approx(engagement[3])
        assert model.user_preference_dynamics(*copy) == pytest.approx(expected[3])
        state = next_state


def test_satiation_and_no_drift_by_hand():
    env = gym.make(ID, UserModel=Satiation(satiation_retention=0.5, weight=1.0))
    state = env.reset(seed=1)[1]["state"]
    liked = env.unwrapped.world.items @ state[:5]
    steps = [env.step(action) for action in (0, 0, 1, 0)]
    # satiation with item 0 is 0, 0.5, 0.75, 0.375 before the steps
    expected = liked[[0, 0, 1, 0]] - [0, 0.5, 0, 0.375]
    assert [step[1] for step in steps] == pytest.approx(expected)
    state[5:7] = 0.6875, 0.25
    assert steps[-1][4]["state"] == pytest.approx(state)
    seen, rewards = episode([1, 1, 4], UserModel=NoDrift)
    assert (seen == seen[0]).all()
    assert rewards[0] == rewards[1] == pytest.approx(RECEnv().items[1] @ seen[0])


def test_noise_has_the_requested_distribution():
    def step(**arguments):
        envs = gym.make_vec(ID, num_envs=5_000, **arguments)
        envs.reset(seed=3, options={"user_id": 7})
        liked = envs.world.initial_states[7] @ envs.world.items[2]
        seen, rewards, *_, infos = envs.step(np.full(5_000, 2))
        return rewards, liked, seen - infos["state"], seen

    rewards, liked, *_ = step(reward_type="binary")
    assert set(rewards) == {0.0, 1.0}
    assert rewards.mean() == pytest.approx(1 / (1 + np.exp(-liked)), abs=0.028)
    rewards, liked, *_ = step(reward_std=0.3)
    assert stats.kstest((rewards - liked) / 0.3, "norm").pvalue > 0.001
    _, _, noise, seen = step(obs_std=0.2)
    assert np.abs(seen).max() == 1  # clipped
    small = np.argmin(np.abs(seen).max(axis=0))
    assert stats.kstest(noise[:, small] / 0.2, "norm").pvalue > 0.001


class Fickle(BaseUserModel):
    """Draw noise in both methods, as models written for RECGym do."""

    def user_preference_dynamics(self, state, action, item_feature_vector):
        noisy = state + self.random_.normal(scale=0.1, size=len(state))
        return noisy / np.linalg.norm(noisy)

    def reward_function(self, state, action, item_feature_vector):
        return self.random_.normal(loc=state[0], scale=1.0)


class Grumpy(UserModel):
    """Override one method of the standard model, whose batch method doesn't call it."""

    def reward_function(self, state, action, item_feature_vector):
        return super().reward_function(state, action, item_feature_vector) - 1


class Broken(Fickle):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        return state[:2]


def test_models_without_a_batch_method_are_used_one_by_one():
    standard = episode([1, 2])[1]
    assert episode([1, 2], UserModel=Grumpy)[1] == pytest.approx(standard - 1)
    envs = gym.make_vec(ID, num_envs=2, UserModel=Fickle, obs_std=0.1)
    envs.reset(seed=11)
    with pytest.warns(UserWarning, match="Fickle has no batch method"):
        steps = [envs.step([1, 1])]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps.append(envs.step([1, 1]))
    for at in (0, 1):
        seen, rewards = episode([1, 1], 11 + at, UserModel=Fickle, obs_std=0.1)
        assert np.array_equal(seen[1:], [step[0][at] for step in steps])
        assert rewards.tolist() == [step[1][at] for step in steps]
    assert steps[0][1][0] != steps[0][1][1]
    with pytest.raises(ValueError, match=r"must return finite numbers of shape \(5,\)"):
        episode([0], UserModel=Broken)
    env = gym.make(ID, user_feature_dim=3, UserModel=Fickle)
    assert env.reset(seed=1)[0].shape == (3,)


def test_instances_and_names_of_models():
    world = RECEnv(UserModel=UserModel(reward_type="binary"), reward_std=0.5)
    assert (world.reward_type, world.user_model.reward_std) == ("binary", 0.5)
    named = RECEnv(
        UserModel={"name": "Satiation", "satiation_retention": 0.25}
    ).user_model
    assert (type(named), named.satiation_retention, named.weight) == (
        Satiation,
        0.25,
        0.3,
    )


def test_reset_draws_or_takes_a_user():
    envs = gym.make_vec(ID, num_envs=9_000, n_users=3)
    counts = np.bincount(envs.reset(seed=0)[1]["user_id"], minlength=3)
    assert np.abs(counts - 3_000).max() < 4 * np.sqrt(3_000 * 2 / 3)
    users = np.arange(9_000) % 3
    infos = envs.reset(options={"user_id": users})[1]
    assert np.array_equal(infos["user_id"], users)
