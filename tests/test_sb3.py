"""stable-baselines3, as far as it can be tried without it; the rest is in tests/clients."""

import sys

import gymnasium as gym
import pytest

import pushlab  # noqa: F401  the ids
from pushlab.clients import to_sb3_vec


@pytest.mark.parametrize(("envs", "arguments", "words"), [
    (lambda: gym.make_vec("pushlab/push-v0", 2), {}, "autoreset_mode=\"SameStep\"; this one has 'NextStep'"),
    (lambda: gym.make("pushlab/push-v0"), {}, "a native batch made by gym.make_vec; got <"),
    (lambda: "pushlab/RoomEnv-v0", {}, r"takes no Tuple \(observation: .*encoding=\"index\""),
    (lambda: "pushlab/push-v0", {"scale": True}, r"scale is for a Box of actions; these are Discrete\(5\)"),
    (lambda: "pushlab/push-v0", {"num_envs": 0}, "num_envs is a whole number from 1 up; got 0"),
], ids=["mode", "one", "words", "scale", "none"])
def test_a_batch_that_cannot_be_a_vec_env_is_refused_with_what_would_be_right(envs, arguments, words):
    with pytest.raises(ValueError, match=words):
        to_sb3_vec(envs(), **arguments)


def test_a_missing_library_is_named_with_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    with pytest.raises(ImportError, match=r"to_sb3_vec needs stable_baselines3.* pip install 'pushlab\[rl\]'"):
        to_sb3_vec("pushlab/RECEnv-v0")
