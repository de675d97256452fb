"""stable-baselines3, as far as it can be tried without it; the rest is in tests/clients."""

import sys

import gymnasium as gym
import pytest

import pushlab  # noqa: F401  the ids
from pushlab.clients import SB3Agent, to_sb3_vec


@pytest.mark.parametrize(("envs", "arguments", "words"), [
    (lambda: gym.make_vec("pushlab/push-v0", 2), {}, r"autoreset_mode='SameStep'\); got AutoresetMode.NEXT_STEP"),
    (lambda: gym.make("pushlab/push-v0"), {}, "takes an id, or a batch .*; got <Order"),
    (lambda: "pushlab/push-v0", {"scale": True}, "RescaleAction requires a Box action space"),
    (lambda: "pushlab/push-v0", {"num_envs": 0}, "num_envs is a whole number from 1 up; got 0"),
], ids=["mode", "one", "scale", "none"])
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
