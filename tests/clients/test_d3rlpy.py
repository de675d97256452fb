"""d3rlpy learns from logs: transitions are right, and CQL with both kinds of actions trains and can be evaluated."""

import gymnasium as gym
import numpy as np
import pytest

pytest.importorskip("d3rlpy")

import d3rlpy

from pushlab import RandomAgent, rollout
from pushlab.clients import to_d3rlpy
from pushlab.logs.collect import collect


def test_episodes_of_one_step_are_refused_unless_their_end_is_a_real_one():
    log = rollout(gym.make("pushlab/RECEnv-v0", step_per_episode=1), RandomAgent(), episodes=5, progress=False)
    with pytest.raises(ValueError, match="nothing from 5 episodes of one step and a timeout"):
        to_d3rlpy(log, actions=5)
    dataset = to_d3rlpy(log.assign(terminated=True), actions=5)
    assert dataset.transition_count == 5 and dataset.transition_picker(dataset.episodes[2], 0).terminal == 1
    with pytest.raises(ValueError, match="column action: -1 to -1 are not all of 5 actions"):
        to_d3rlpy(log.assign(action=-1), actions=5)


def test_transitions_are_those_of_the_log():
    env = gym.make("pushlab/evalumap2-v0", max_episode_steps=4)
    log = collect("pushlab/ODE-HIV-Goal-v0", lambda seen: np.full((len(seen), 4), 0.25), 3, seed=1, timestep=50)
    dataset = to_d3rlpy(log, actions=4)
    seen = log.filter(regex=r"^obs\.").to_numpy(np.float32)
    assert dataset.size() == 3 and dataset.dataset_info.action_size == 4
    for number, episode in enumerate(dataset.episodes):
        rows = np.flatnonzero(log["episode"] == number)
        assert not episode.terminated and episode.transition_count == len(rows) - 1
        assert np.array_equal(episode.observations, seen[rows])
        assert episode.rewards.ravel().tolist() == log["reward"].to_numpy(np.float32)[rows].tolist()
        second = dataset.transition_picker(episode, 1)
        assert np.array_equal(second.next_observation, seen[rows[2]]) and second.action == log["action"][rows[1]]
    with pytest.raises(ValueError, match="here 7 columns int64; number those that occur"):
        to_d3rlpy(rollout(env, RandomAgent(), progress=False))
    ended = rollout("pushlab/evalumap1-v0", lambda seen: np.zeros(7, int), progress=False)
    ended = to_d3rlpy(ended.drop(columns=list(ended.filter(like="action."))).assign(action=0))
    assert ended.episodes[0].terminated and ended.episodes[0].transition_count == ended.episodes[0].size()


@pytest.mark.parametrize("actions, learner", [({}, "DiscreteCQLConfig"), ({"actions": "box"}, "CQLConfig")])
def test_cql_learns_from_a_log_and_is_evaluated_where_it_came_from(actions, learner):
    env = gym.make("pushlab/ODE-Opioid-v0", **actions)
    log = rollout(env, RandomAgent(), episodes=8, progress=False)
    scaling = d3rlpy.preprocessing
    scaled = {"action_scaler": scaling.MinMaxActionScaler(minimum=env.action_space.low, maximum=env.action_space.high)
              } if actions else {}
    config = getattr(d3rlpy.algos, learner)(batch_size=32, observation_scaler=scaling.StandardObservationScaler(),
                                            **scaled)
    algo = config.create(device="cpu:0")
    dataset = to_d3rlpy(log)
    algo.fit(dataset, n_steps=60, n_steps_per_epoch=60, show_progress=False, experiment_name=None,
             logger_adapter=d3rlpy.logging.NoopAdapterFactory())
    learned = rollout(env, lambda seen: algo.predict(np.asarray(seen, np.float32)[None])[0], progress=False)
    assert len(learned) == len(log[log["episode"] == 0]) and np.isfinite(learned["reward"]).all()
