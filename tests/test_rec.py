"""RECEnv: RECGym's numbers where they are right, its faults mended, noise under one seed, user models of one's own."""

import warnings

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from hypothesis import given
from hypothesis import strategies as st

from pushlab import agents, rollout
from pushlab.envs.rec.models import BaseUserModel, NoDrift, Satiation, UserModel, sigmoid
from pushlab.envs.rec.world import RECEnv

ID = "pushlab/RECEnv-v0"

# One episode of RECEnv(random_state=12345) of RECGym in scope-rl 0.2.1 (Python 3.11, NumPy 2.4.6): user 26.
ACTIONS = [0, 3, 1, 4, 2, 0, 3, 2, 0, 3]
FIRST = [-0.011138058771066217, -0.14821711060773937, 0.061235118723581554, 0.06838045986093608, 0.07243521536018961]
SECOND = [-0.13897853421879638, -0.8273695278168997, 0.3044021639299527, 0.3461989529904362, 0.2891889330688907]
LAST = [-0.29431947711508927, -0.9300377966609847, 0.1184953020010344, 0.1355459788790425, 0.1264590573509341]
FIRST_REWARD, SECOND_REWARD, FIFTH_REWARD = 0.047948802087401834, -0.1595091573380134, 0.1314878617944961


def episode(actions, options=None, seed=1, **kwargs):
    """Observations, rewards, and the last step's ends, of an episode under fixed actions."""
    env = gym.make(ID, **kwargs)
    observations, rewards = [env.reset(seed=seed, options=options)[0]], []
    for action in actions:
        observation, reward, terminated, truncated, _ = env.step(action)
        observations.append(observation)
        rewards.append(reward)
    return np.array(observations), np.array(rewards), (terminated, truncated)


# ---------------------------------------------------------------- the original

def test_recgyms_episode_comes_out_again_but_for_the_length_of_its_first_state():
    seen, rewards, ends = episode(ACTIONS, {"user_id": 26}, random_state=12345)
    length = np.linalg.norm(FIRST)
    assert seen[0] == pytest.approx(np.array(FIRST) / length, abs=1e-12)
    assert rewards[0] == pytest.approx(FIRST_REWARD / length, abs=1e-12)
    assert seen[1] == pytest.approx(SECOND, abs=1e-12) and seen[-1] == pytest.approx(LAST, abs=1e-12)
    assert rewards[[1, 4]] == pytest.approx([SECOND_REWARD, FIFTH_REWARD], abs=1e-12)
    assert ends == (False, True)                    # a time limit truncates, and the last state is this user's


def test_the_reference_rule_brings_back_the_first_state_too():
    seen, rewards, _ = episode(ACTIONS, {"user_id": 26}, random_state=12345, reference="recgym-0.2.1")
    assert seen[0] == pytest.approx(FIRST, abs=1e-12) and rewards[0] == pytest.approx(FIRST_REWARD, abs=1e-12)
    assert seen[-1] == pytest.approx(LAST, abs=1e-12)


def test_features_are_scaled_by_their_spectral_norm_and_n_items_is_5():
    world = RECEnv()
    assert world.items.shape == (5, 5) and world.users.shape == (100, 5)
    for matrix in (world.items, world.users):
        assert np.linalg.norm(matrix, ord=2) == pytest.approx(1)
    assert np.array_equal(world.items, RECEnv(random_state=0).items)        # None means 0
    assert not np.array_equal(world.items, RECEnv(random_state=1).items)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 6), min_size=1, max_size=10), st.floats(0, 1))
def test_the_equations_of_dean_and_morgenstern(seed, actions, alpha):
    """The compiled batch against the two methods, and these against the equations as the paper writes them."""
    world = RECEnv(n_items=7, UserModel=UserModel(alpha=alpha))
    state = world.initial(np.random.default_rng(seed).random((1, world.uniforms)), {})
    for action in actions:
        preference, item = state["state"][0], world.items[action]
        moved = preference + alpha * (preference @ item) * item
        by_method = world.user_model.user_preference_dynamics(preference, action, world.items)
        state, outcome = world.advance(state, np.array([action]), np.zeros((1, 1)))
        assert state["state"][0] == pytest.approx(moved / np.linalg.norm(moved), abs=1e-12)
        assert by_method == pytest.approx(state["state"][0], abs=1e-12)
        assert outcome["reward"][0] == pytest.approx(preference @ item, abs=1e-12)
        assert world.user_model.reward_function(preference, np.array([action]), world.items) == pytest.approx(
            preference @ item, abs=1e-12)


# ---------------------------------------------------------------- noise

def rewards_of(copies, **kwargs):
    envs = gym.make_vec(ID, num_envs=copies, **kwargs)
    envs.reset(seed=3, options={"user_id": 7})
    return envs.step(np.full(copies, 2))[1], envs.world


def test_binary_rewards_have_the_mean_of_the_sigmoid():
    rewards, world = rewards_of(40_000, reward_type="binary")
    chance = sigmoid(world.starts[7] @ world.items[2])
    assert set(rewards) == {0.0, 1.0}
    assert abs(rewards.mean() - chance) < 3.5 * np.sqrt(chance * (1 - chance) / len(rewards))


def test_continuous_noise_is_normal_with_the_deviation_asked_for():
    from scipy import stats

    rewards, world = rewards_of(20_000, reward_std=0.3)
    noise = (rewards - world.starts[7] @ world.items[2]) / 0.3
    assert stats.kstest(noise, "norm").pvalue > 0.001


def test_observation_noise_leaves_the_true_state_alone_and_is_clipped():
    envs = gym.make_vec(ID, num_envs=5_000, obs_std=0.5)
    seen, infos = envs.reset(seed=3, options={"user_id": 7})
    assert (infos["state"] == envs.world.starts[7]).all() and np.abs(seen).max() == 1.0
    noise = (seen - infos["state"])[np.abs(seen) < 1]
    assert 0.3 < noise.std() < 0.5                          # 0.5 but for what was clipped
    seen, *_ , infos = envs.step(np.zeros(5_000, int))
    assert np.ptp(infos["state"], axis=0).max() == 0 and np.ptp(seen, axis=0).min() > 1


class Fickle(BaseUserModel):
    """Draws its own noise, in both methods, as models written for RECGym do."""

    def user_preference_dynamics(self, state, action, item_feature_vector):
        moved = state + self.random_.normal(scale=0.1, size=len(state))
        return moved / np.linalg.norm(moved)

    def reward_function(self, state, action, item_feature_vector):
        return self.random_.normal(loc=state[0], scale=1.0)


class OldFickle(Fickle):
    """The same with the generator that RECGym's models have."""

    def __init__(self, user_feature_dim, item_feature_dim, reward_type="continuous", reward_std=0.0,
                 random_state=None):
        self.reward_type, self.reward_std = reward_type, reward_std
        self.random_ = np.random.RandomState(random_state)

    def reward_function(self, state, action, item_feature_vector):
        return float(self.random_.randint(0, 100))


NOISY = [{"reward_std": 0.5, "obs_std": 0.2}, {"reward_type": "binary", "obs_std": 0.1},
         {"UserModel": Satiation, "reward_type": "binary"}, {"UserModel": NoDrift, "reward_std": 0.1},
         {"UserModel": Fickle}, {"UserModel": OldFickle, "obs_std": 0.1}, {"UserModel": Fickle()}]


@pytest.mark.filterwarnings("ignore:user model")
@pytest.mark.parametrize("kwargs", NOISY, ids=[f"noisy{at}" for at in range(len(NOISY))])
def test_a_seed_governs_all_noise_alone_and_in_a_batch(kwargs):
    actions = np.random.default_rng(0).integers(0, 5, (12, 3))
    batch = gym.make_vec(ID, num_envs=3, **kwargs)
    seen, _ = batch.reset(seed=11)
    alone = [gym.make(ID, **kwargs) for _ in range(3)]
    first = np.array([env.reset(seed=11 + copy)[0] for copy, env in enumerate(alone)])
    assert np.array_equal(seen, first)
    for step in range(10):
        ours = batch.step(actions[step])
        theirs = [env.step(action) for env, action in zip(alone, actions[step])]
        assert np.array_equal(ours[0], [told[0] for told in theirs])
        assert np.array_equal(ours[1], [told[1] for told in theirs])
    lives = [episode(actions[:10, 0], seed=seed, **kwargs) for seed in (11, 11, 12)]
    assert data_equivalence(lives[0], lives[1], exact=True)
    assert not np.array_equal(lives[0][1], lives[2][1])


@pytest.mark.parametrize("kwargs", NOISY, ids=[f"noisy{at}" for at in range(len(NOISY))])
def test_gymnasiums_check_passes_with_noise_and_other_users(kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gym.make(ID, disable_env_checker=True, **kwargs).unwrapped, skip_render_check=True)


# ---------------------------------------------------------------- reset, actions, arguments

def test_reset_chooses_the_user():
    env = gym.make(ID, n_users=3)
    assert env.reset(options={"user_id": 2})[1]["user_id"] == 2
    for wrong in (3, -1, 1.5, [0, 1]):
        with pytest.raises(ValueError, match="user_id"):
            env.reset(options={"user_id": wrong})
    envs = gym.make_vec(ID, num_envs=2, n_users=3)
    assert envs.reset(options={"user_id": [2, 0]})[1]["user_id"].tolist() == [2, 0]


def test_all_users_come_equally_often():
    envs = gym.make_vec(ID, num_envs=9_000, n_users=3)
    counts = np.bincount(envs.reset(seed=0)[1]["user_id"], minlength=3)
    assert np.abs(counts - 3_000).max() < 4 * np.sqrt(3_000 * 2 / 3)


def test_an_action_is_an_int_or_an_array_of_one():
    env = gym.make(ID)
    lives = []
    for action in (3, np.int64(3), np.array([3]), np.array(3)):
        env.reset(seed=1)
        lives.append(env.step(action)[1])
    assert len(set(lives)) == 1
    for wrong in (-1, 5, 1.0, [1, 2], True + 4):
        with pytest.raises(ValueError, match="action"):
            env.step(wrong)


def test_the_info_is_the_callers_own():
    env = gym.make(ID)
    _, info = env.reset(seed=1)
    info["state"][:] = 9
    assert np.abs(env.step(0)[0]).max() <= 1


@pytest.mark.parametrize("wrong", [
    {"step_per_episode": 0}, {"n_items": 0}, {"n_items": 2.0}, {"n_users": -1}, {"item_feature_dim": 0},
    {"user_feature_dim": True}, {"reward_type": "gold"}, {"reward_std": -0.1}, {"reward_std": float("nan")},
    {"obs_std": float("inf")}, {"obs_std": "0.1"}, {"random_state": -1}, {"random_state": 1.5},
    {"reference": "recgym-0.1"}, {"UserModel": 3}, {"UserModel": UserModel(user_feature_dim=4)},
    {"item_feature_vector": np.ones((4, 5))}, {"user_feature_vector": np.full((100, 5), np.nan)},
    {"item_feature_vector": np.zeros((5, 5))}, {"user_feature_vector": np.eye(100, 5)}, {"item_names": ["a"]},
    {"UserModel": UserModel(reward_type="gold")},
], ids=lambda wrong: f"{next(iter(wrong))}-{str(next(iter(wrong.values())))[:12]}")
def test_an_argument_out_of_range_is_named(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        RECEnv(**wrong)


def test_unequal_dimensions_are_refused_by_the_standard_model_and_left_to_ones_own():
    with pytest.raises(ValueError, match="user_feature_dim 3 and item_feature_dim 5 must be equal"):
        RECEnv(user_feature_dim=3)
    env = gym.make(ID, user_feature_dim=3, UserModel=Fickle, render_mode="rgb_array")
    assert env.reset(seed=1)[0].shape == (3,)
    env.step(1)
    assert env.render().shape == (504, 672, 3)


@pytest.mark.parametrize("wrong", [lambda: UserModel(alpha=1.1), lambda: Satiation(keep=1.0),
                                   lambda: Satiation(weight=-1)])
def test_models_check_their_own_numbers(wrong):
    with pytest.raises(ValueError, match="got"):
        wrong()


# ---------------------------------------------------------------- user models

def test_without_drift_the_preference_stays():
    seen, rewards, _ = episode([1, 1, 4, 0], UserModel=NoDrift)
    assert (seen == seen[0]).all() and rewards[0] == rewards[1]


def test_an_instances_own_words_go_before_the_environments():
    world = RECEnv(UserModel=UserModel(reward_type="binary", alpha=0.5), reward_type="continuous")
    assert world.reward_type == "binary" and world.user_model.alpha == 0.5
    assert RECEnv(UserModel=NoDrift(), reward_type="binary").user_model.reward_type == "binary"


def test_an_instance_given_to_two_environments_is_shared_by_neither():
    model = Satiation()
    one, two = RECEnv(UserModel=model, reward_type="binary"), RECEnv(UserModel=model)
    assert model.reward_type is None
    assert (one.user_model.reward_type, two.user_model.reward_type) == ("binary", "continuous")


def test_satiation_lowers_what_is_repeated_and_rests():
    env = gym.make(ID, UserModel=Satiation(keep=0.5, weight=1.0))
    _, info = env.reset(seed=1)
    liked = info["state"][:5] @ env.unwrapped.world.items[0]
    rewards = [env.step(action)[1] for action in (0, 0, 1, 0)]
    # Satiation with item 0 before each step: 0, 0.5, (then item 1), 0.375.
    assert np.array(rewards)[[0, 1, 3]] == pytest.approx(liked - np.array([0, 0.5, 0.375]))
    assert env.step(1)[4]["state"].shape == (10,) and env.observation_space.shape == (5,)


@given(st.integers(0, 2**32), st.lists(st.integers(0, 3), min_size=1, max_size=8))
def test_satiations_batch_agrees_with_its_two_methods(seed, actions):
    world = RECEnv(n_items=4, UserModel=Satiation)
    state = world.initial(np.random.default_rng(seed).random((1, world.uniforms)), {})
    for action in actions:
        before = state["state"][0]
        state, outcome = world.advance(state, np.array([action]), np.zeros((1, 1)))
        assert world.user_model.reward_function(before, action, world.items) == pytest.approx(outcome["reward"][0])
        moved = world.user_model.user_preference_dynamics(before, action, world.items)
        assert moved == pytest.approx(state["state"][0])


def test_a_model_without_a_batch_method_says_so_once():
    envs = gym.make_vec(ID, num_envs=3, UserModel=Fickle)
    envs.reset(seed=1)
    with pytest.warns(UserWarning, match="Fickle has no batch method"):
        envs.step(np.zeros(3, int))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        envs.step(np.zeros(3, int))


class Grumpy(UserModel):
    """Changes one of the standard model's methods; the standard batch method would pass over that."""

    def reward_function(self, state, action, item_feature_vector):
        return super().reward_function(state, action, item_feature_vector) - 1


def test_a_method_changed_in_a_subclass_counts():
    _, usual, _ = episode([1, 2])
    _, grumpy, _ = episode([1, 2], UserModel=Grumpy)
    assert grumpy == pytest.approx(usual - 1)


class Broken(Fickle):
    def user_preference_dynamics(self, state, action, item_feature_vector):
        return state[:2]


def test_what_a_model_returns_is_checked():
    env = gym.make(ID, UserModel=Broken)
    env.reset(seed=1)
    with pytest.raises(ValueError, match=r"Broken.user_preference_dynamics must return finite numbers of shape \(5,\)"):
        env.step(0)


def test_a_user_model_can_be_named_as_a_file_has_it():
    """A syllabus is JSON, so classes are named there."""
    by_class = gym.make("pushlab/RECEnv-v0", UserModel=UserModel(alpha=0.25)).unwrapped.world.user_model
    by_name = gym.make("pushlab/RECEnv-v0", UserModel={"name": "UserModel", "alpha": 0.25}).unwrapped.world.user_model
    assert type(by_name) is type(by_class) and by_name.alpha == by_class.alpha == 0.25
    assert type(gym.make("pushlab/RECEnv-v0", UserModel="Satiation").unwrapped.world.user_model) is Satiation
    with pytest.raises(ValueError, match="UserModel by name is one of UserModel, NoDrift, Satiation; got 'Stat'"):
        gym.make("pushlab/RECEnv-v0", UserModel="Stat")


@pytest.mark.parametrize("action, items, error", [(99, np.eye(2), IndexError), (0, np.eye(3), ValueError)])
def test_the_two_methods_of_a_user_model_refuse_what_does_not_fit(action, items, error):
    for ask in (UserModel().reward_function, UserModel().user_preference_dynamics):
        with pytest.raises(error):
            ask(np.array([0.6, 0.8]), action, items)
    after = UserModel().user_preference_dynamics(np.array([1, 1]), 0, np.eye(2))        # whole numbers are numbers
    assert after == pytest.approx([0.894, 0.447], abs=1e-3)


@pytest.mark.parametrize("never", [None, np.inf])
def test_a_share_of_random_items_may_stay(never):
    agent = agents.LinearQ(epsilon=1.0, half_at=never)
    log = rollout("pushlab/RECEnv-v0", agent, episodes=40, progress=False)
    assert agent.episodes == 40 and log["action"].tail(50).nunique() == 5
