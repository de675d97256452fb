"""A native batch as a VecEnv of stable-baselines3: the same lives as in a DummyVecEnv, and what takes one takes it."""

import pickle

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import sb3_contrib
import stable_baselines3
from stable_baselines3.common import vec_env
from stable_baselines3.common.evaluation import evaluate_policy

import pushlab  # noqa: F401  the ids
from pushlab.clients import to_sb3_vec
from pushlab.envs import LIMITS, TABLE

BOX = {"actions": "box"}
IDS = [(name, {"encoding": "index"} if "Room" in name else {}) for name, _, _ in TABLE]
WORLDS = [*IDS, ("pushlab/ODE-HIV-v0", BOX), ("pushlab/ODE-Opioid-v0", BOX),
          ("pushlab/push-v0", {"max_episode_steps": 30}), ("pushlab/RECEnv-v0", {"max_episode_steps": 7})]


def same(one, other):
    """Whether two observations, or infos, are the same, kind by kind."""
    if isinstance(one, dict):
        return set(one) == set(other) and all(same(one[key], other[key]) for key in one)
    return np.array_equal(one, other) and np.asarray(one).dtype == np.asarray(other).dtype


@pytest.mark.parametrize(("name", "arguments"), WORLDS, ids=lambda value: str(value).removeprefix("pushlab/"))
def test_a_batch_lives_what_a_dummy_vec_env_lives(name, arguments):
    n, arguments = 3, {"max_episode_steps": LIMITS.get(name) and 20, **arguments}
    ours = to_sb3_vec(name, n, **arguments)
    theirs = vec_env.DummyVecEnv([lambda: gym.make(name, **arguments) for _ in range(n)])
    assert isinstance(ours, vec_env.VecEnv) and ours.observation_space == theirs.observation_space
    for env in (ours, theirs):
        env.seed(7)
    kept = []
    assert same(*[env.reset() for env in (ours, theirs)])
    assert all(map(same, ours.reset_infos, theirs.reset_infos))
    ours.action_space.seed(3)
    for _ in range(60):
        actions = np.array([ours.action_space.sample() for _ in range(n)])
        one, other = ours.step(actions), theirs.step(actions)
        kept.append((one[0], other[0]))
        assert same(one[1], other[1]) and same(one[2], other[2]) and all(map(same, one[3], other[3]))
        assert all(map(same, ours.reset_infos, theirs.reset_infos))
        if hasattr(ours.get_attr("action_space")[0], "n"):
            assert same(ours.env_method("action_masks"), theirs.env_method("action_masks"))
            assert same(ours.env_method("action_masks", indices=1), theirs.env_method("action_masks", indices=1))
    assert all(same(*pair) for pair in kept)            # and no observation is written into again


def test_episodes_end_within_the_comparison():
    """Each of the kinds of end is met above: terminated, truncated by the world, and by a limit."""
    ends = set()
    for name, arguments in (("pushlab/RECEnv-v0", {}), ("pushlab/push-v0", {"max_episode_steps": 30}),
                            ("pushlab/ODE-HIV-v0", {"config": {"end_time": 20.0}})):
        env = to_sb3_vec(name, 2, **arguments)
        env.reset()
        for _ in range(40):
            for info in env.step(np.array([0, 1]))[3]:
                ends.add((name[8:12], "terminal_observation" in info, info["TimeLimit.truncated"]))
    assert {end[1:] for end in ends} == {(False, False), (True, True)} and len(ends) == 6


MODELS = [
    ("stable_baselines3:PPO", "MlpPolicy", "pushlab/RECEnv-v0", {}, {"n_steps": 32}),
    ("stable_baselines3:DQN", "MlpPolicy", "pushlab/push-v0", {}, {"learning_starts": 20}),
    ("stable_baselines3:SAC", "MlpPolicy", "pushlab/ODE-Opioid-v0", {**BOX, "scale": True}, {"learning_starts": 20}),
    ("stable_baselines3:A2C", "MlpPolicy", "pushlab/evalumap1-v0", {}, {}),
    ("stable_baselines3:A2C", "MultiInputPolicy", "pushlab/evalumap2-v0", {}, {}),
    ("sb3_contrib:MaskablePPO", "MlpPolicy", "pushlab/push-v0", {}, {"n_steps": 32}),
    ("sb3_contrib:RecurrentPPO", "MlpLstmPolicy", "pushlab/Credit-v0", {}, {"n_steps": 32}),
]


@pytest.mark.parametrize(("algorithm", "policy", "name", "arguments", "settings"), MODELS,
                         ids=[f"{one[0].split(':')[1]}-{one[2][8:]}" for one in MODELS])
def test_models_train_on_it_as_on_a_dummy_vec_env(algorithm, policy, name, arguments, settings):
    """The same seed gives the same parameters, through VecMonitor too.
    """
    kind = getattr({"stable_baselines3": stable_baselines3, "sb3_contrib": sb3_contrib}[algorithm.split(":")[0]],
                   algorithm.split(":")[1])
    plain = {key: value for key, value in arguments.items() if key != "scale"}

    def alone():
        env = gym.make(name, **plain)
        return gym.wrappers.RescaleAction(env, -1.0, 1.0) if "scale" in arguments else env

    learned = []
    for env in (to_sb3_vec(name, 2, **arguments), vec_env.DummyVecEnv([alone, alone])):
        model = kind(policy, vec_env.VecMonitor(env), seed=5, device="cpu", **settings).learn(128)
        learned.append(model.policy.state_dict())
        assert "evalumap" in name or np.isfinite(evaluate_policy(model, env, 2)[0])     # whose episodes are long
    assert all((value == learned[1][key]).all() for key, value in learned[0].items())


def test_hindsight_asks_the_batch_for_rewards():
    env = to_sb3_vec("pushlab/ODE-HIV-Goal-v0", 2, config={"end_time": 50.0})
    model = stable_baselines3.DQN("MultiInputPolicy", env, replay_buffer_class=stable_baselines3.HerReplayBuffer,
                                  learning_starts=30, seed=0, device="cpu").learn(64)
    assert model.num_timesteps == 64
    goals = np.array([[5.99, 2.62, 5.55], [1.0, 1.0, 1.0]])
    assert env.env_method("compute_reward", goals, goals[[0, 0]], [{}, {}], indices=[0])[0].tolist() == [0.0, -1.0]


def test_what_copies_are_asked_and_told():
    env = to_sb3_vec("pushlab/ODE-HIV-v0", 3, render_mode="rgb_array", config={"end_time": 9.0})
    env.set_options({"initial_state": "unhealthy"})
    begun = env.reset()
    assert env.reset_infos[2]["time"] == 0.0
    assert not same(begun, env.reset())                 # options hold for one reset
    env.set_attr("note", "hers", [1])
    assert env.has_attr("world") and not env.has_attr("note") and env.get_attr("note", 1) == ["hers"]
    assert env.render().ndim == 3 and env.env_is_wrapped(gym.Wrapper) == [False] * 3
    env.set_options([{"initial_state": "unhealthy"}, {}, {}])
    with pytest.raises(ValueError, match="the same options"):
        env.reset()
    env.close()


def test_copies_are_asked_for_what_they_are_now():
    env, alone = to_sb3_vec("pushlab/ODE-HIV-v0", 2, config={"end_time": 9.0}), gym.make("pushlab/ODE-HIV-v0")
    assert env.get_attr("state") == [None, None]
    env.seed(4)
    env.reset()
    alone.reset(seed=5)
    for action in (1, 2):
        assert env.get_attr("time", 1) == [alone.unwrapped.time]
        assert all(same(env.get_attr(name, 1)[0], getattr(alone.unwrapped, name)) for name in ("state", "outcome"))
        env.step(np.array([0, action]))
        alone.step(action)
    while not env.step(np.array([0, 0]))[2].any():
        pass
    assert env.get_attr("time") == [0.0, 0.0] and env.get_attr("outcome") == [None, None]
    assert env.spec.id == env.get_attr("spec")[0].id == "pushlab/ODE-HIV-v0"
    assert not env.has_attr("trail")            # a batch keeps none
    for method in ("reset", "step"):
        with pytest.raises(ValueError, match=f"the copies of a batch {method} together"):
            env.env_method(method)


def test_statistics_of_episodes_reach_the_learner():
    batch = gym.make_vec("pushlab/RECEnv-v0", 3, autoreset_mode="SameStep", step_per_episode=4)
    env = to_sb3_vec(gym.wrappers.vector.RecordEpisodeStatistics(batch))
    env.seed(0)
    env.reset()
    total = 0.0
    for _ in range(4):
        assert not any("episode" in info for info in env.reset_infos)
        _, reward, _, infos = env.step(np.zeros(3, int))
        total = total + reward
    assert np.allclose([info["episode"]["r"] for info in infos], total) and infos[0]["episode"]["l"] == 4
    assert not any("episode" in info for info in env.reset_infos)
    assert not any("episode" in info for info in env.step(np.zeros(3, int))[3])


def test_a_pickle_goes_on_as_the_batch_does():
    env = vec_env.VecNormalize(to_sb3_vec("pushlab/push-v0", 3), norm_obs=False)
    env.seed(1)
    env.reset()
    copy = pickle.loads(pickle.dumps(env.venv))
    assert isinstance(copy, vec_env.VecEnv)
    assert same(copy.step(np.zeros(3, int))[3][1], env.venv.step(np.zeros(3, int))[3][1])


def test_a_pickle_keeps_a_seed_that_is_given_and_not_yet_used():
    env = to_sb3_vec("pushlab/RECEnv-v0", 2)
    env.seed(11)
    copy = pickle.loads(pickle.dumps(env))
    first = env.reset()
    assert same(copy.reset(), first) and not same(copy.reset(), first)      # it is used once
