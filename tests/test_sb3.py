"""stable-baselines3, as far as it can be tried without it; the rest is in tests/clients."""

import sys
import types

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401  the ids
from pushlab.clients import SB3Agent, to_sb3_vec
from pushlab.clients.sb3 import _apart


@pytest.mark.parametrize(("envs", "arguments", "words"), [
    (lambda: gym.make_vec("pushlab/push-v0", 2), {}, r"autoreset_mode='SameStep'\); got AutoresetMode.NEXT_STEP"),
    (lambda: gym.make("pushlab/push-v0"), {}, "takes an id, or a batch .*; got <Order"),
    (lambda: "pushlab/push-v0", {"scale": True}, "RescaleAction requires a Box action space"),
    (lambda: "pushlab/push-v0", {"num_envs": 0}, "num_envs is a whole number from 1 to 16,777,216; got 0"),
    (lambda: gym.make_vec("pushlab/RECEnv-v0", 2, autoreset_mode="SameStep"), {"num_envs": 8, "step_per_episode": 4},
     "a batch of 2 copies takes no num_envs and no arguments.*got {'num_envs': 8, 'step_per_episode': 4}"),
    (lambda: "pushlab/RoomEnv-v0", {"num_envs": 2}, 'no observations that are tuples.*encoding="index"'),
], ids=["mode", "one", "scale", "none", "twice", "room"])
def test_a_batch_that_cannot_be_a_vec_env_is_refused_with_what_would_be_right(envs, arguments, words):
    with pytest.raises((ValueError, TypeError), match=words):
        to_sb3_vec(envs(), **arguments)


def test_a_missing_library_is_named_with_how_to_get_it(monkeypatch):
    for module in ("stable_baselines3", "stable_baselines3.common.vec_env"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"to_sb3_vec needs stable_baselines3.* pip install 'pushlab\[rl\]'"):
        to_sb3_vec("pushlab/RECEnv-v0")
    with pytest.raises(ImportError, match=r"PPO needs stable_baselines3.* pip install 'pushlab\[rl\]'"):
        SB3Agent("PPO")


def test_infos_of_wrappers_come_apart_too():
    """Nested, as of RecordEpisodeStatistics, and only for the copies of which they tell."""
    ended = np.array([False, True, False])
    infos = {"day": np.arange(3), "_day": np.ones(3, bool),
             "episode": {"r": np.array([0.0, 7.5, 0.0])}, "_episode": ended}
    assert _apart(infos, np.arange(3)) == [{"day": 0}, {"day": 1, "episode": {"r": 7.5}}, {"day": 2}]
    assert _apart(infos, np.array([1])) == [{"day": 1, "episode": {"r": 7.5}}]
    assert _apart({}, np.arange(2)) == [{}, {}]


def test_a_name_that_neither_library_has_is_told(monkeypatch):
    for module in ("stable_baselines3", "sb3_contrib"):
        monkeypatch.setitem(sys.modules, module, types.ModuleType(module))
    with pytest.raises(ValueError, match="neither stable_baselines3 nor sb3_contrib has DQNN"):
        SB3Agent("DQNN")


def test_an_algorithm_takes_its_device_and_other_settings():
    class PPO:
        def __init__(self, policy, **settings):
            self.given = settings

    assert SB3Agent(PPO)._new().given == {"device": "cpu"}
    assert SB3Agent(PPO, device="auto", seed=1)._new().given == {"device": "auto", "seed": 1}


def test_a_model_of_another_world_is_refused_before_it_acts():
    """One that learned with actions in [-1, 1] would else act in other units, unnoticed."""
    env = gym.make("pushlab/ODE-HIV-v0", actions="box")
    rescaled, other = gym.wrappers.RescaleAction(env, -1.0, 1.0), gym.make("pushlab/RECEnv-v0").observation_space
    for seen, met in ((env.observation_space, env), (other, rescaled)):
        agent = SB3Agent(types.SimpleNamespace(observation_space=seen, action_space=rescaled.action_space))
        with pytest.raises(ValueError, match=r"(?s)the model takes .* gives Box\(-1.*scale=True.*RescaleAction"):
            agent.begin(met, 0)
    agent.model.observation_space = env.observation_space
    agent.begin(rescaled, 0)
