"""Logs are converted to data sets of Minari and back."""

import gymnasium as gym
import pandas as pd
import pytest

pytest.importorskip("minari")

import minari

from pushlab import load_user, rollout
from pushlab.agents import RandomAgent
from pushlab.clients import from_minari, to_minari
from pushlab.envs import ENVIRONMENTS

WORLDS = [
    *((name, {}) for name, *_ in ENVIRONMENTS),
    ("pushlab/ODE-HIV-v0", {"actions": "box"}),
    ("pushlab/RoomEnv-v0", {"encoding": "index", "n_agents": 2}),
]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


@pytest.mark.parametrize("name, arguments", WORLDS)
def test_minari_restores_the_log_and_the_environment(name, arguments):
    env = gym.make(name, max_episode_steps=7, **arguments)
    first = rollout(env, RandomAgent(), episodes=3, seed=4, progress=False)
    second = rollout(
        env,
        RandomAgent(),
        episodes=2,
        seed=5,
        steps=2,
        progress=False,
    )
    log = pd.concat([first, second], ignore_index=True)
    to_minari(log, env, "log/first-v0")
    dataset = minari.load_dataset("log/first-v0")
    pd.testing.assert_frame_equal(from_minari(dataset), log)
    assert (dataset.total_episodes, dataset.total_steps) == (5, len(log))
    recovered = dataset.recover_environment()
    replayed = rollout(recovered, RandomAgent(), episodes=3, seed=4, progress=False)
    times = ["response_time"]
    pd.testing.assert_frame_equal(
        replayed.drop(columns=times), first.drop(columns=times)
    )


def test_minari_restores_a_log_whose_environment_cannot_be_stored():
    env = gym.make("pushlab/push-v0", user=load_user("mira"))
    log = rollout(env, RandomAgent(), episodes=2, steps=4, progress=False)
    to_minari(log, env, "kept-v0", data_format="arrow")
    dataset = minari.load_dataset("kept-v0")
    assert dataset.spec.env_spec is None
    pd.testing.assert_frame_equal(from_minari(dataset), log)
