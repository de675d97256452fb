"""Algorithms of stable-baselines3 as agents: they learn in our loops what they learn in their own."""

import copy
import json
import pickle

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

import sb3_contrib
import stable_baselines3
import torch
from stable_baselines3.common import vec_env
from stable_baselines3.common.utils import set_random_seed

import pushlab  # noqa: F401  the ids
from pushlab import rollout, run_syllabus
from pushlab.agents import Transition
from pushlab.agents.protocol import plain_state
from pushlab.clients import SB3Agent, to_sb3_vec
from pushlab.metrics.offpolicy import off_policy

HIV = {"actions": "box", "log_observation": True, "timestep": 5.0, "config": {"end_time": 60.0}}
LATE = {"learning_starts": 20, "buffer_size": 500}
CASES = {
    "PPO": ("MlpPolicy", "pushlab/RECEnv-v0", {}, {"n_steps": 32, "batch_size": 32}),
    "A2C": ("MlpPolicy", "pushlab/push-v0", {"max_episode_steps": 13}, {}),
    "TRPO": ("MlpPolicy", "pushlab/ODE-HIV-v0", HIV, {"n_steps": 32, "batch_size": 32}),
    "MaskablePPO": ("MlpPolicy", "pushlab/push-v0", {}, {"n_steps": 32, "batch_size": 32}),
    "RecurrentPPO": ("MlpLstmPolicy", "pushlab/RECEnv-v0", {}, {"n_steps": 32, "batch_size": 32}),
    "DQN": ("MultiInputPolicy", "pushlab/ODE-HIV-Goal-v0", {"config": {"end_time": 100.0}},
            {**LATE, "replay_buffer_class": stable_baselines3.HerReplayBuffer, "learning_starts": 40}),
    "QRDQN": ("MlpPolicy", "pushlab/Credit-v0", {}, LATE),
    "SAC": ("MlpPolicy", "pushlab/ODE-HIV-v0", {**HIV, "max_episode_steps": 7}, LATE),
    "TD3": ("MlpPolicy", "pushlab/ODE-HIV-v0", HIV, {**LATE, "train_freq": (1, "episode"), "gradient_steps": -1}),
}
STEPS = 96


def parameters(model):
    return torch.cat([part.flatten() for part in model.policy.state_dict().values()])


def live(env, agent, steps, seed):
    """A loop that resets as that of stable-baselines3 does: with a seed once, and then without."""
    observation, info = env.reset(seed=seed)
    agent.begin(env, seed)
    for _ in range(steps):
        action = agent.act(observation, info)
        following, reward, terminated, truncated, next_info = env.step(action)
        agent.learn(Transition(observation, info, action, reward, following, next_info, terminated, truncated))
        observation, info = following, next_info
        if terminated or truncated:
            observation, info = env.reset()
            agent.begin(env, seed)
    agent.act(observation, info)            # the last step is taken in when the next action is asked for


@pytest.mark.parametrize("algorithm", CASES)
def test_what_learns_in_a_loop_outside_ends_with_the_parameters_of_its_own(algorithm):
    policy, name, arguments, settings = CASES[algorithm]
    kind = getattr(stable_baselines3, algorithm, None) or getattr(sb3_contrib, algorithm)
    theirs = kind(policy, gym.make(name, **arguments), seed=3, device="cpu", **settings)
    begun = parameters(theirs).clone()
    theirs.learn(STEPS)
    agent = SB3Agent(algorithm, policy, steps=STEPS, **settings)
    live(gym.make(name, **arguments), agent, theirs.num_timesteps, 3)
    assert not torch.equal(begun, parameters(theirs))
    assert torch.equal(parameters(agent.model), parameters(theirs))


def test_a_rollout_trains_it_and_a_test_leaves_no_trace():
    agent, env = SB3Agent("PPO", n_steps=32, batch_size=32, seed=1), gym.make("pushlab/RECEnv-v0")
    rollout(env, agent, episodes=8, seed=1, progress=False)
    before, had = parameters(agent.model).clone(), agent.model.num_timesteps
    twin = copy.deepcopy(agent)
    log = rollout(env, twin, episodes=2, seed=9, learn=False, explore=False, progress=False)
    assert log["propensity"].eq(1).all() and twin.model is not agent.model and had in (79, 80)
    assert torch.equal(before, parameters(agent.model)) and agent.model.num_timesteps == had
    rollout(env, agent, episodes=2, seed=1, first=8, progress=False)
    assert not torch.equal(before, parameters(agent.model))
    assert torch.equal(before, parameters(twin.model))


def test_exploring_without_learning_is_no_step_of_its_loop():
    agent, env = SB3Agent("PPO", n_steps=32, batch_size=32), gym.make("pushlab/RECEnv-v0")
    rollout(env, agent, episodes=4, progress=False)
    had = agent.model.num_timesteps
    rollout(env, agent, episodes=3, learn=False, progress=False)
    rollout(env, agent, episodes=4, progress=False)
    assert 30 <= agent.model.num_timesteps - had <= 41


@pytest.mark.parametrize("algorithm", ["PPO", "SAC"])
def test_what_has_just_trained_can_be_copied(algorithm):
    policy, name, arguments, settings = CASES[algorithm]
    model = getattr(stable_baselines3, algorithm)(policy, gym.make(name, **arguments), device="cpu", **settings)
    twin = copy.deepcopy(SB3Agent(model.learn(64)))
    assert torch.equal(parameters(twin.model), parameters(model)) and twin.model.policy is not model.policy


def test_an_episode_that_is_broken_off_counts_as_cut_by_a_limit():
    kept = []
    for broken in (True, False):
        env = gym.make("pushlab/push-v0", max_episode_steps=None if broken else 5)
        agent = SB3Agent("PPO", n_steps=12, batch_size=12, seed=0)
        rollout(env, agent, episodes=6, steps=5, progress=False)
        kept.append(parameters(agent.model))
    assert torch.equal(*kept)


def test_told_propensities_are_those_of_the_policy():
    """Of PPO while it explores: the share of each action among many equals what was told of it."""
    agent, env = SB3Agent("MaskablePPO", seed=0), gym.make("pushlab/push-v0")
    log = rollout(env, agent, episodes=1, seed=2, progress=False)
    assert log["propensity"].between(0, 1, inclusive="right").all()
    observation, info = env.reset(seed=3)
    agent.begin(env, 3)
    told, acts = {}, [agent.act(observation, info) for _ in range(1)]
    for _ in range(2000):
        acts.append(agent.act(observation, info))
        told[acts[-1]] = agent.propensity
    assert abs(sum(told.values()) - 1) < 1e-5
    assert all(abs(acts.count(action) / len(acts) - chance) < 0.05 for action, chance in told.items())
    assert all(info["action_mask"][action] for action in told)


@pytest.mark.parametrize("algorithm", ["MaskablePPO", "DQN"])
def test_its_state_is_json_and_another_acts_the_same_by_it(algorithm):
    policy, name, arguments, settings = ("MlpPolicy", "pushlab/push-v0", {}, LATE if algorithm == "DQN" else {})
    env = gym.make(name, **arguments)
    one, other = (SB3Agent(algorithm, policy, seed=seed, **settings) for seed in (0, 1))
    rollout(env, one, episodes=1, seed=4, progress=False)
    other.load(json.loads(json.dumps(plain_state(one.state()))))
    logs = [rollout(env, agent, seed=5, learn=False, explore=False, progress=False) for agent in (one, other)]
    assert logs[0]["action"].equals(logs[1]["action"])
    assert torch.equal(parameters(one.model), parameters(other.model))
    assert other.model.num_timesteps == one.model.num_timesteps > 0


def test_it_lives_a_lifetime_and_its_folder_knows_it_again(tmp_path):
    def task(name, count):
        return {"$repeat": {"$episode": "pushlab/RECEnv-v0", "$task": name}, "count": count}

    syllabus = {"name": "short", "structure": "ANT_A", "contains": "episodes", "default_params": {}, "instructions": [
        {"$phase": "1.train", "enable_updates": True}, task("a", 6), {"$phase": "1.test", "enable_updates": False},
        task("a", 2), {"$phase": "2.train", "enable_updates": True}, task("b", 6),
        {"$phase": "2.test", "enable_updates": False}, task("a", 1), task("b", 1)]}
    log = run_syllabus(syllabus, SB3Agent("PPO", n_steps=32, batch_size=32), folder=tmp_path, progress=False)
    again = run_syllabus(syllabus, SB3Agent("PPO", n_steps=32, batch_size=32), folder=tmp_path, progress=False)
    assert log["length"].sum() == 160 and log["reward"].equals(again["reward"])


def test_what_goes_wrong_in_its_loop_is_heard():
    agent, env = SB3Agent("PPO", n_steps=4, batch_size=4, clip_range=lambda rest: 1 / 0), gym.make("pushlab/RECEnv-v0")
    with pytest.raises(ZeroDivisionError):
        rollout(env, agent, progress=False)


def test_who_was_trained_on_several_copies_acts_and_says_that_it_does_not_learn():
    model = stable_baselines3.PPO("MlpPolicy", to_sb3_vec("pushlab/RECEnv-v0", 4), n_steps=8, device="cpu").learn(32)
    with pytest.warns(UserWarning, match="PPO only acts: it is a copy, or learned on several copies at once") as told:
        log = rollout("pushlab/RECEnv-v0", SB3Agent(model), episodes=2, progress=False)
    assert len(told) == 1 and len(log) == 20 and model.num_timesteps == 32


@pytest.mark.parametrize("algorithm", ["PPO", "DQN"])
def test_rates_fall_no_further_than_to_their_end(algorithm):
    rates = []
    settings = {"PPO": {"n_steps": 16, "batch_size": 16}, "DQN": {"learning_starts": 10}}[algorithm]
    agent = SB3Agent(algorithm, steps=40, learning_rate=lambda rest: rates.append(rest) or 1e-4 * rest, **settings)
    rollout("pushlab/RECEnv-v0", agent, episodes=12, progress=False)
    assert min(rates) == rates[-1] == 0.0 and max(rates) == 1.0
    assert agent.model.num_timesteps > 100


def test_a_subclass_is_taken_for_what_it_is():
    class Mine(sb3_contrib.MaskablePPO):
        pass

    env = gym.make("pushlab/push-v0")
    logs = [rollout(env, SB3Agent(kind, name="same", seed=0), episodes=1, learn=False, progress=False)
            .drop(columns="response_time") for kind in (Mine, sb3_contrib.MaskablePPO)]
    assert logs[0].equals(logs[1]) and not logs[0]["info.forbidden"].any() and logs[0]["propensity"].lt(1).any()


def normalised(copies=1):
    """A PPO trained under VecNormalize, and what that is."""
    around = vec_env.VecNormalize(to_sb3_vec("pushlab/ODE-HIV-v0", copies, config={"end_time": 60.0}))
    return stable_baselines3.PPO("MlpPolicy", around, n_steps=16, batch_size=16, seed=0, device="cpu").learn(32), around


def test_who_learned_under_vec_normalize_sees_by_it():
    model, around = normalised(2)
    seen, info = gym.make("pushlab/ODE-HIV-v0").reset(seed=1)
    agent = SB3Agent(model)
    agent.begin(gym.make("pushlab/ODE-HIV-v0"), 0)
    expected = model.policy.get_distribution(torch.as_tensor(around.normalize_obs(seen)[None])).distribution.probs
    assert np.array_equal(agent.probabilities(seen[None]), expected.detach().numpy())
    action = agent.act(seen, info, explore=False)
    assert action == model.predict(around.normalize_obs(seen), deterministic=True)[0]
    agent.act(seen, info)
    assert agent.propensity in expected[0].tolist()


def test_who_learned_under_vec_normalize_goes_on_learning_under_it():
    (theirs, around), (mine, _) = normalised(), normalised()
    around.seed(3)
    theirs.set_env(around)
    set_random_seed(7)
    theirs.learn(32, reset_num_timesteps=False)
    ours = SB3Agent(mine, steps=64)
    set_random_seed(7)
    live(gym.make("pushlab/ODE-HIV-v0", config={"end_time": 60.0}), ours, 32, 3)
    assert torch.equal(parameters(mine), parameters(theirs)) and mine.num_timesteps == 64
    assert np.array_equal(mine.get_vec_normalize_env().obs_rms.mean, around.obs_rms.mean)


@pytest.mark.parametrize("algorithm", ["PPO", "RecurrentPPO", "SAC", "MaskablePPO", "DQN"])
def test_a_pickle_or_copy_of_what_has_begun_acts_the_same(algorithm):
    policy, name, arguments, settings = {**CASES, "DQN": ("MlpPolicy", "pushlab/Credit-v0", {}, LATE)}[algorithm]
    agent, env = SB3Agent(algorithm, policy, seed=0, **settings), gym.make(name, **arguments)
    rollout(env, agent, steps=40, progress=False)
    logs = [rollout(env, one, episodes=1, seed=5, learn=False, explore=False, progress=False)
            .drop(columns="response_time") for one in (pickle.loads(pickle.dumps(agent)), copy.deepcopy(agent), agent)]
    assert logs[0].equals(logs[2]) and logs[1].equals(logs[2])
    with pytest.warns(UserWarning, match="only acts"):
        rollout(env, pickle.loads(pickle.dumps(agent)), steps=1, progress=False)


def test_a_pickle_of_what_has_not_begun_learns():
    agent = pickle.loads(pickle.dumps(SB3Agent("PPO", n_steps=8, batch_size=8)))
    rollout("pushlab/RECEnv-v0", agent, episodes=3, progress=False)
    assert agent.model.num_timesteps > 20


def test_a_log_judges_it_by_its_probabilities():
    """Of itself the ratios are 1; the probabilities are those that acting told."""
    agent = SB3Agent("PPO", n_steps=64, seed=0)
    with pytest.raises(ValueError, match="PPO tells no probabilities: only A2C, MaskablePPO, PPO, TRPO do, once begun"):
        agent.probabilities(np.zeros((1, 5)))
    log = rollout("pushlab/RECEnv-v0", agent, episodes=10, learn=False, progress=False)
    likely = agent.probabilities(log.filter(like="obs.").to_numpy())
    assert np.allclose(likely[np.arange(len(log)), log["action"]], log["propensity"])
    values = off_policy(log, agent).set_index("estimator")["value"]
    assert np.isclose(values["importance sampling"], log.groupby("episode")["reward"].sum().mean())
    masked = SB3Agent("MaskablePPO", n_steps=64, seed=0)
    masked.begin(gym.make("pushlab/RECEnv-v0"), 0)
    allowed = np.array([[True, False, True, False, False]])
    likely = masked.probabilities(log.filter(like="obs.").to_numpy()[:1], allowed)
    assert np.isclose(likely.sum(), 1) and (likely[~allowed] == 0).all()
    for other in ("DQN", "RecurrentPPO"):
        agent = SB3Agent(other, {"RecurrentPPO": "MlpLstmPolicy"}.get(other, "MlpPolicy"))
        agent.begin(gym.make("pushlab/RECEnv-v0"), 0)
        with pytest.raises(ValueError, match=f"{other} tells no probabilities"):
            agent.probabilities(np.zeros((1, 5)))
