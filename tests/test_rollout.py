"""Logs of rollouts: their columns, seeds and frames, and logs of `collect`."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Text, Tuple

import pushlab  # noqa: F401  registers the environments
from pushlab.agents import Agent, Constant, RandomAgent
from pushlab.logs.collect import collect
from pushlab.logs.rollout import aggregate_episodes, rollout
from pushlab.utils.seeds import episode_seed

ITEMS = "pushlab/RECEnv-v0"
QUIET = {"progress": False}


class Countdown(gym.Env):
    """Ends when nothing is left; observations and infos are of every kind."""

    action_space = Box(0, 9, (2,), np.int64)
    observation_space = Dict(
        {"left": Discrete(9), "pair": Tuple([Box(0, 9, (2,), np.float32), Text(5)])}
    )

    def __init__(self):
        self.seeds = []

    def observation(self):
        halves = np.full(2, self.left / 2, np.float32)
        return {"left": self.left, "pair": (halves, f"n {self.left}")}

    def reset(self, seed=None, options=None):
        self.seeds.append(seed)
        self.left = 3
        return self.observation(), {}

    def step(self, action):
        self.left -= 1
        info = {"time": 60 * self.left, "ragged": [0] * self.left}
        if self.left == 1:
            info |= {"detail": {"depth": 5}, "vector": np.arange(2)}
        return self.observation(), np.float64(action[0]), self.left == 0, False, info

    def frame(self):
        return {"left": self.left}


class Counting(Agent):
    """Fills one array again and again, and keeps the transitions that it sees."""

    name = "counting"

    def __init__(self):
        self.action = np.zeros(2, np.int64)
        self.seen = []

    def act(self, observation, info, explore=True):
        self.action[0] += 1
        self.propensity = 0.5 if explore else 1.0
        return self.action

    def learn(self, transition):
        self.seen.append(transition)


def test_log_has_every_column_of_every_kind_of_space():
    agent = Counting()
    log = rollout(Countdown(), agent, seed=7, block=2, block_type="test", **QUIET)
    assert log.pop("response_time").ge(0).all()
    nan = np.nan
    expected = {
        "run": "Countdown counting 7",
        "env": "Countdown",
        "agent": "counting",
        "seed": 7,
        "lifetime": 0,
        "phase": "1.test",
        "block": 2,
        "block_type": "test",
        "task": "Countdown",
        "params": "{}",
        "episode": 0,
        "step": [0, 1, 2],
        "time": [120, 60, 0],
        "action.0": [1, 2, 3],
        "action.1": [0, 0, 0],
        "reward": [1.0, 2.0, 3.0],
        "terminated": [False, False, True],
        "truncated": False,
        "propensity": 0.5,
        "obs.left": [3, 2, 1],
        "obs.pair.0.0": np.array([1.5, 1, 0.5], np.float32),
        "obs.pair.0.1": np.array([1.5, 1, 0.5], np.float32),
        "obs.pair.1": ["n 3", "n 2", "n 1"],
        "last": [None, None, [0, 0.0, 0.0, "n 0"]],
        "info.ragged": [[0, 0], [0], []],
        "info.detail.depth": [nan, 5, nan],
        "info.vector.0": [nan, 0, nan],
        "info.vector.1": [nan, 1, nan],
    }
    pd.testing.assert_frame_equal(log, pd.DataFrame(expected))
    assert [one.reward for one in agent.seen] == [1.0, 2.0, 3.0]
    assert agent.seen[0].next_observation is agent.seen[1].observation
    log = rollout(Countdown(), lambda observation: [observation["left"], 0], **QUIET)
    assert "propensity" not in log and log["action.0"].tolist() == [3, 2, 1]


def test_episodes_frames_steps_and_greedy_runs():
    agent = Counting()
    options = {"episodes": 2, "learn": False, "explore": False, **QUIET}
    log, films = rollout(Countdown(), agent, record="frames", **options)
    assert agent.seen == [] and set(log["propensity"]) == {1.0}
    assert films == [[{"left": left} for left in (3, 2, 1, 0)]] * 2
    episodes = rollout(Countdown(), Counting(), record="episodes", **options)
    assert episodes["return"].tolist() == [6.0, 15.0]
    assert episodes["length"].tolist() == [3, 3]
    pd.testing.assert_frame_equal(aggregate_episodes(log), episodes)
    short = rollout(Countdown(), Counting(), steps=2, **QUIET)
    assert short["last"].tolist() == [None, [1, 0.5, 0.5, "n 1"]]


def test_episodes_have_seeds_of_their_own_and_continue_where_a_run_stopped():
    env = Countdown()
    rollout(env, Counting(), episodes=2, seed=3, **QUIET)
    rollout(env, Counting(), episodes=1, seed=3, first_episode=2, **QUIET)
    assert env.seeds == [episode_seed(3, episode) for episode in range(3)]


def test_the_same_seed_gives_the_same_log():
    env = gym.make("pushlab/evalumap1-v0", reveal=True, user=["mira", "theo"])
    logs = [rollout(env, RandomAgent(), seed=3, **QUIET) for _ in range(2)]
    one, other = (log.drop(columns="response_time") for log in logs)
    pd.testing.assert_frame_equal(one, other)
    assert one["params"][0] == '{"reveal": true, "user": ["mira", "theo"]}'
    assert one["task"][0] == "evalumap1-v0:mira+theo"


@pytest.mark.parametrize(
    ("agent", "options", "words"),
    [
        (
            RandomAgent(),
            {"colour": "red"},
            "keyword must be one of progress, .*got 'colour'",
        ),
        (RandomAgent, {}, r"pass an instance: RandomAgent\(\)"),
    ],
)
def test_wrong_arguments_are_named(agent, options, words):
    with pytest.raises((ValueError, TypeError), match=words):
        rollout(Countdown(), agent, **QUIET, **options)


@pytest.mark.parametrize("env", [ITEMS, "pushlab/ODE-HIV-Goal-v0"])
def test_collected_logs_are_those_of_rollout(env):
    made = gym.make(env)
    count = made.action_space.n
    played = rollout(env, Constant(1), episodes=2, seed=5, **QUIET)
    collected = collect(made, lambda seen: np.eye(count)[[1] * len(seen)], 2, seed=5)
    assert list(collected)[:3] == ["env", "seed", "episode"]
    assert (collected.pop("propensity") == 1).all()
    pd.testing.assert_frame_equal(collected, played[list(collected)])
