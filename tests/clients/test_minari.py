"""Logs as data sets of Minari and back, for every environment; and Minari's own recorder on each of them."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

pytest.importorskip("minari")

import minari

from pushlab import RandomAgent, load_user, rollout
from pushlab.agents import SoftmaxItem
from pushlab.clients import from_minari, observations_of, to_minari
from pushlab.envs import TABLE
from pushlab.envs.ode.worlds import HIVGoal
from pushlab.envs.push.world import Push
from pushlab.envs.shell import Env
from pushlab.logs.collect import collect

IDS = [name for name, *_ in TABLE]
BOXES = [(name, {"actions": "box"}) for name in ("pushlab/ODE-HIV-v0", "pushlab/Credit-v0")]


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))


@pytest.mark.parametrize("id, more", [*((name, {}) for name in IDS), *BOXES,
                                      ("pushlab/RoomEnv-v0", {"encoding": "index", "n_agents": 2}),
                                      ("pushlab/RoomEnv-v0", {"n_agents": 2})])
def test_a_log_comes_back_from_minari_as_it_was(id, more):
    env = gym.make(id, max_episode_steps=7, **more)
    log = pd.concat([rollout(env, RandomAgent(), episodes=3, seed=4, progress=False),
                     rollout(env, RandomAgent(), episodes=2, seed=5, steps=2, progress=False)], ignore_index=True)
    to_minari(log, env, "log/first-v0", author="us", description="a log")
    dataset = minari.load_dataset("log/first-v0")
    pd.testing.assert_frame_equal(from_minari(dataset), log)
    assert dataset.total_episodes == 5 and dataset.total_steps == len(log)
    for episode in dataset:
        parts = [episode.observations]
        while isinstance(parts[0], dict | tuple):
            parts = list(parts[0].values() if isinstance(parts[0], dict) else parts[0])
        assert len(parts[0]) == len(episode.rewards) + 1
        assert {len(values) for values in episode.infos.values()} == {len(episode.rewards) + 1}
    again = dataset.recover_environment()
    assert again.spec.kwargs == env.spec.kwargs and again.observation_space == env.observation_space
    assert dataset.observation_space == env.observation_space and dataset.action_space == env.action_space


@pytest.mark.parametrize("id, made", [
    ("pushlab/push-v0", lambda: gym.make("pushlab/push-v0", user=load_user("mira"))),
    ("pushlab/evalumap2-v0", lambda: gym.make("pushlab/evalumap2-v0", user=load_user("mira"))),
    ("pushlab/ODE-HIV-v0", lambda: gym.make("pushlab/ODE-HIV-v0", initial_state=np.full(6, 100.0))),
    ("pushlab/ODE-HIV-Goal-v0", lambda: Env(HIVGoal())), ("pushlab/push-v0", lambda: Env(Push()))])
def test_a_log_comes_back_where_its_environment_cannot(id, made):
    log = rollout(made(), RandomAgent(), episodes=2, steps=4, progress=False)
    to_minari(log, made(), "kept-v0")
    dataset = minari.load_dataset("kept-v0")
    assert dataset.spec.env_spec is None
    pd.testing.assert_frame_equal(from_minari(dataset), log)


@pytest.mark.parametrize("data_format", ["arrow", "parquet"])
@pytest.mark.parametrize("id", ["pushlab/push-v0", "pushlab/evalumap2-v0", "pushlab/ODE-HIV-v0", "pushlab/RoomEnv-v0"])
def test_a_log_comes_back_out_of_minaris_other_formats(id, data_format):
    pytest.importorskip("pyarrow")
    log = rollout(gym.make(id), RandomAgent(), episodes=2, steps=4, progress=False)
    to_minari(log, id, "other-v0", data_format=data_format)
    dataset = minari.load_dataset("other-v0")
    assert dataset[0].infos["response_time"].shape == (5,)
    pd.testing.assert_frame_equal(from_minari(dataset), log)


def test_the_environment_of_a_data_set_ends_as_the_log_does():
    log = rollout("pushlab/evalumap1-v0", RandomAgent(), seed=3, progress=False)
    again = to_minari(log, "pushlab/evalumap1-v0", "ends-v0").recover_environment()
    replayed = rollout(again, RandomAgent(), seed=3, progress=False)
    assert log["terminated"].iloc[-1] and not log["truncated"].any()
    pd.testing.assert_frame_equal(replayed.drop(columns="response_time"), log.drop(columns="response_time"))


def test_propensities_and_masks_are_carried_too():
    log = collect("pushlab/RECEnv-v0", SoftmaxItem(np.eye(5)), episodes=3, seed=7, step_per_episode=4)
    dataset = to_minari(log, gym.make("pushlab/RECEnv-v0", step_per_episode=4), "collected-v0")
    pd.testing.assert_frame_equal(from_minari(dataset), log)
    assert dataset[0].infos["propensity"][1:].tolist() == log["propensity"][:4].tolist()
    push = rollout("pushlab/push-v0", RandomAgent(), steps=5, progress=False)
    first = to_minari(push, "pushlab/push-v0", "push-v0")[0]
    assert first.infos["action_mask"].shape == (6, 5) and not first.infos["action_mask"][0].any()
    assert first.infos["action_mask"][1:].tolist() == push.filter(like="action_mask").to_numpy().tolist()


@pytest.mark.parametrize("id", IDS)
def test_minaris_recorder_works_everywhere_and_gives_the_log_of_a_rollout(id):
    pytest.importorskip("jax")          # which it needs, and to_minari does not: minari[create]
    env = minari.DataCollector(gym.make(id, max_episode_steps=6), record_infos=True)
    log = rollout(env, RandomAgent(), episodes=2, seed=3, progress=False).drop(columns="propensity", errors="ignore")
    dataset = env.create_dataset("recorded-v0", algorithm_name="random")
    back = from_minari(dataset)
    assert set(back) == set(log)            # parts of dicts come in Minari's order, that of the alphabet
    same = log.columns.drop(["run", "seed", "task", "params", "response_time", "last"])
    if "Dict" not in repr(env.observation_space):
        assert back["last"].tolist() == log["last"].tolist()
    pd.testing.assert_frame_equal(back[same], log[same], check_dtype=False)


def test_some_episodes_of_a_data_set_are_their_rows_of_the_log():
    log = rollout("pushlab/RECEnv-v0", RandomAgent(), episodes=4, seed=3, progress=False)
    some = to_minari(log, "pushlab/RECEnv-v0", "all-v0").filter_episodes(lambda episode: episode.id in (1, 3))
    assert from_minari(some).equals(log[log["episode"].isin([1, 3])].reset_index(drop=True))


def test_what_minari_cannot_hold_is_named():
    log = rollout("pushlab/RECEnv-v0", RandomAgent(), progress=False)
    odd = log.assign(**{"info.odd": [[1], [2, 3]] * (len(log) // 2)})
    for wrong, message in ((odd, "column info.odd: Minari holds numbers"),
                           (log.assign(action=77), r"column action, row 0: 77; .* not in Discrete\(5\)"),
                           (log.drop(columns="last"), "no column 'last'"),
                           (log.iloc[:-1], "an episode has no last observation"),
                           (log.iloc[1:], "from row 0 on they are")):
        with pytest.raises(ValueError, match=message):
            to_minari(wrong, "pushlab/RECEnv-v0", "wrong-v0")
    for env, name, message in (("RECEnv-v0", "rec", "ends in a version, .* got 'rec'"),
                               ("push-v0", "rec-v0", r"the log is of \{'RECEnv-v0'\}.* not of .*push-v0")):
        with pytest.raises(ValueError, match=message):
            to_minari(log, f"pushlab/{env}", name)
    with pytest.raises(ValueError, match=r"(?s)Box\(.*takes 6 columns obs"):
        observations_of(log, "pushlab/ODE-HIV-v0")
