"""The loop: what a log holds, and that it is the same again."""

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import pushlab
from pushlab.agents import Agent, Constant, RandomAgent, ReplayHistory
from pushlab.datasets.reading import load_user
from pushlab.logs.collect import collect
from pushlab.logs.folders import read_steps, write_log
from pushlab.logs.rollout import CONSTANT, by_episode, readable, rollout
from pushlab.studies.store import encode, gather

ID = "pushlab/evalumap1-v0"


def test_a_log_has_the_columns_every_metric_counts_on():
    log = rollout(ID, RandomAgent(), seed=3, steps=4, progress=False)
    wanted = [*CONSTANT, "episode", "step", "time", "reward", "terminated", "truncated", "response_time"]
    assert set(wanted) <= set(log.columns) and len(log) == 4
    assert {"action.postingApp", "obs.day", "obs.place.TYPE_BAR", "info.opened"} <= set(log.columns)
    assert all(pd.api.types.is_scalar(value) for value in log.iloc[0])
    assert log["env"].eq("evalumap1-v0").all() and log["task"].eq("evalumap1-v0:mira").all()


def test_the_same_seed_gives_the_same_log_and_an_episode_is_the_same_alone():
    env = gym.make(ID, reveal=True)         # else two episodes differ in nothing but luck
    both = rollout(env, RandomAgent(), episodes=2, seed=3, steps=50, progress=False).drop(columns="response_time")
    again = rollout(env, RandomAgent(), episodes=2, seed=3, steps=50, progress=False).drop(columns="response_time")
    pd.testing.assert_frame_equal(both, again)
    second = rollout(env, RandomAgent(), seed=3, first=1, steps=50, progress=False).drop(columns="response_time")
    pd.testing.assert_frame_equal(both[both["episode"] == 1].reset_index(drop=True), second)
    assert not both[both["episode"] == 0]["info.probability"].equals(both[both["episode"] == 1]["info.probability"])


def test_runs_under_neighbouring_seeds_share_no_episode_unless_seeds_are_counted_up():
    env = gym.make(ID, reveal=True)

    def episodes(seed, **how):
        log = rollout(env, RandomAgent(), episodes=3, seed=seed, steps=30, progress=False, **how)
        return {tuple(rewards) for _, rewards in log.groupby("episode")["info.probability"]}

    assert not episodes(3) & episodes(4) and len(episodes(3)) == 3
    assert len(episodes(3, seeding="counted") & episodes(4, seeding="counted")) == 2
    alone = rollout(env, RandomAgent(), seed=5, steps=30, progress=False)["info.probability"]
    assert tuple(alone) in episodes(3, seeding="counted") & episodes(5)     # the first is reset with the seed itself
    with pytest.raises(ValueError, match="seeding is one of independent, counted; got 'old'"):
        episodes(3, seeding="old")


def test_an_episode_ends_with_the_period_and_the_log_says_how():
    user = load_user("omar")
    log = rollout(gym.make(ID, user=user), ReplayHistory(user.history), progress=False)
    assert len(log) == len(user.test) and log["terminated"].tolist() == [False] * (len(log) - 1) + [True]
    assert not log["truncated"].any()
    assert log["info.actual"].tolist() == user.test.opened.tolist()
    assert log["reward"].tolist() == [[[0, 2], [-1, 1]][a][o] for a, o in zip(log["info.actual"], log["info.opened"])]


def test_replaying_sends_the_history_in_its_order_and_begins_again():
    user = load_user("omar")
    log = rollout(gym.make(ID, user=user), ReplayHistory(user.history), progress=False)
    sent = log.filter(regex=r"^action\.").to_numpy()
    again = np.arange(len(sent)) % len(user.history)
    assert np.array_equal(sent, user.history.notification_codes[again])


def test_frames_stand_beside_the_log_one_more_than_steps():
    log, films = rollout(ID, RandomAgent(), episodes=2, seed=1, steps=5, record="frames", progress=False)
    assert [len(film) for film in films] == [6, 6] and len(log) == 10
    assert films[0][0]["push"] is None
    assert [frame["push"]["reward"] for frame in films[0][1:]] == log[log["episode"] == 0]["reward"].tolist()


def test_an_episode_log_sums_up_its_steps():
    steps = rollout(ID, RandomAgent(), episodes=3, seed=1, steps=20, progress=False)
    episodes = rollout(ID, RandomAgent(), episodes=3, seed=1, steps=20, progress=False, record="episodes")
    assert episodes["return"].tolist() == steps.groupby("episode")["reward"].sum().tolist()
    assert episodes["length"].tolist() == [20, 20, 20]
    pd.testing.assert_frame_equal(by_episode(steps), episodes)


def test_words_in_place_of_codes():
    env = gym.make(ID)
    log = rollout(env, RandomAgent(), seed=1, steps=3, progress=False)
    words = readable(log, env)
    schema = env.unwrapped.world.schema
    assert words["action.priority"].isin(schema.notification["priority"].words).all()
    assert words["obs.place"].str.contains("TYPE_|unknown").all()
    assert words["reward"].tolist() == log["reward"].tolist()
    push = gym.make("pushlab/push-v0")
    steps = rollout(push, RandomAgent(), seed=1, steps=3, progress=False)
    assert readable(steps, push)["action"].tolist() == steps["action"].tolist()
    with pytest.raises(ValueError, match="the log has no column 'action.postingApp'"):
        readable(log.drop(columns="action.postingApp"), env)
    with pytest.raises(ValueError, match="RECEnv-v0 has no schema"):
        readable(log, gym.make("pushlab/RECEnv-v0"))


def test_functions_are_agents_and_are_told_what_they_ask_for():
    action = gym.make(ID).action_space.sample() * 0
    asked = []

    def with_info(observation, info):
        asked.append(info)
        return action

    log = rollout(ID, lambda observation: action, steps=2, progress=False)
    assert (log.filter(regex=r"^action\.") == 0).all().all()
    assert rollout(ID, with_info, steps=2, progress=False)["agent"].eq("with info").all()
    assert "opened" in asked[1]


def test_an_agent_learns_from_every_transition_unless_told_not_to():
    class Curious(Agent):
        name = "curious"

        def __init__(self):
            self.seen = []

        def act(self, observation, info, explore=True):
            return np.zeros(7, int)

        def learn(self, transition):
            self.seen.append(transition)

    agent = Curious()
    log = rollout(ID, agent, steps=3, seed=5, progress=False)
    assert [step.reward for step in agent.seen] == log["reward"].tolist()
    assert np.array_equal(agent.seen[0].next_observation, agent.seen[1].observation)
    rollout(ID, agent, steps=3, seed=5, progress=False, learn=False)
    assert len(agent.seen) == 3


def test_a_random_action_does_not_foretell_the_answer():
    """Agent and environment are seeded alike; were their streams the same, action and opening would go together."""
    log = rollout(gym.make(ID, reveal=True), RandomAgent(), seed=0, episodes=1, progress=False)
    size = gym.make(ID).action_space.nvec[0]
    surprise = log["info.opened"].astype(float) - log["info.probability"]
    correlation = np.corrcoef(log["action.postingApp"] / size, surprise)[0, 1]
    assert abs(correlation) < 4 / np.sqrt(len(log))


@pytest.mark.parametrize("call, message", [
    (lambda: rollout(ID, RandomAgent(), record="everything"), "record is one of"),
    (lambda: rollout(ID, RandomAgent(), colour="red"), "'colour' is no column"),
])
def test_a_wrong_argument_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_an_agent_that_cannot_act_is_refused():
    with pytest.raises(TypeError, match="an agent has act"):
        rollout(ID, 42)


def test_a_history_of_another_schema_is_refused():
    mira = load_user("mira")
    other = pushlab.datasets.periods.Period(mira.schema.fit(mira.history.table), mira.history.table)
    wider = np.array(other.notification_codes)
    wider[:, 0] += 1000
    agent = ReplayHistory(other)
    agent.codes = wider
    with pytest.raises(ValueError, match="another schema"):
        rollout(gym.make(ID), agent, steps=1, progress=False)


# ---------------------------------------------------------------- what agents and environments do besides

def test_an_agent_may_fill_one_array_again_and_again():
    buffer = np.zeros(7, int)

    def policy(observation):
        buffer[2] = (buffer[2] + 1) % 4
        return buffer

    log = rollout(ID, policy, steps=5, progress=False)
    assert log["action.numberOfUpdates"].tolist() == [1, 2, 3, 0, 1]


def test_infos_that_come_now_and_then_are_kept():
    class Moody(gym.Wrapper):
        def step(self, action):
            *rest, info = self.env.step(action)
            self.count = getattr(self, "count", 0) + 1
            if self.count % 2:
                info |= {"detail": {"depth": self.count}, "pair": (self.count, 2.0), "vector": np.arange(2)}
            return *rest, {**info, "ragged": np.arange(self.count)}

    log = rollout(Moody(gym.make(ID)), RandomAgent(), steps=4, progress=False)
    assert log["info.detail.depth"].fillna(0).tolist() == [1, 0, 3, 0]
    assert log["info.vector.1"].fillna(-1).tolist() == [1, -1, 1, -1]
    assert [len(value) for value in log["info.ragged"]] == [1, 2, 3, 4]


def test_the_episode_statistics_of_gymnasium_are_logged():
    env = gym.wrappers.RecordEpisodeStatistics(gym.make(ID, max_episode_steps=5))
    log = rollout(env, RandomAgent(), progress=False)
    assert log["info.episode.r"].iloc[-1] == log["reward"].sum()


def test_arguments_of_any_kind_are_told_in_the_log():
    log = rollout(gym.make(ID, user=[load_user("mira"), "theo"]), RandomAgent(), steps=2, progress=False)
    assert log["params"].iloc[0] == '{"user": ["mira", "theo"]}'


def test_arguments_with_defaults_are_the_functions_own():
    action = np.zeros(7, int)
    for policy in (lambda observation, bound=action: bound, lambda observation, **more: action):
        assert len(rollout(ID, policy, steps=2, progress=False)) == 2


def test_a_class_in_an_agents_place_is_named():
    with pytest.raises(TypeError, match=r"RandomAgent is a class; make an agent of it: RandomAgent\(\)"):
        rollout(ID, RandomAgent)


def test_agents_that_read_codes_refuse_changed_observations():
    from pushlab.agents import ThompsonSampling

    env = gym.wrappers.FlattenObservation(gym.make("pushlab/evalumap2-v0"))
    with pytest.raises(ValueError, match="a wrapper changes the observations"):
        rollout(env, ThompsonSampling(), steps=2, progress=False)


# ---------------------------------------------------------------- what was seen last

class Countdown(gym.Env):
    """Ends when nothing is left; tells what is left in every kind of space."""

    observation_space = gym.spaces.Dict({"left": gym.spaces.Discrete(9), "pair": gym.spaces.Tuple([
        gym.spaces.Box(0, 9, (2,), np.float32), gym.spaces.Text(5)])})
    action_space = gym.spaces.Discrete(3)

    def _tell(self):
        return {"left": self.left, "pair": (np.full(2, self.left / 4, np.float32), f"n {self.left}")}

    def reset(self, seed=None, options=None):
        self.left = 3
        return self._tell(), {}

    def step(self, action):
        self.left -= 1
        return self._tell(), np.float64(1), self.left == 0, False, {}


def test_the_last_observation_of_an_episode_stands_in_its_last_row():
    log = rollout(Countdown(), lambda observation: 1, episodes=2, progress=False)
    assert log["obs.left"].tolist() == [3, 2, 1] * 2
    assert log["last"].tolist() == [None, None, [0, 0.0, 0.0, "n 0"]] * 2
    assert log.filter(like="obs.").columns.tolist() == ["obs.left", "obs.pair.0.0", "obs.pair.0.1", "obs.pair.1"]
    broken_off = rollout(Countdown(), lambda observation: 1, steps=2, progress=False)
    assert broken_off["last"].tolist() == [None, [1, 0.25, 0.25, "n 1"]]
    assert rollout(Countdown(), lambda observation: 1, steps=0, progress=False)["last"].tolist() == []


@pytest.mark.parametrize("env", ["pushlab/RECEnv-v0", "pushlab/ODE-HIV-Goal-v0"])
def test_collected_logs_end_as_played_ones_do(env):
    played = rollout(env, Constant(1), episodes=2, seed=5, progress=False)
    collected = collect(env, lambda seen: np.eye(gym.make(env).action_space.n)[[1] * len(seen)], 2, seed=5)
    for name in ("terminated", "truncated", "last"):
        assert collected[name].tolist() == played[name].tolist()
    assert played["last"].notna().tolist() == (played["terminated"] | played["truncated"]).tolist()


def test_zero_dimensional_arrays_are_plain_numbers_in_a_log():
    log = rollout(Countdown(), lambda observation: np.array(2), progress=False)
    assert log["action"].dtype == np.int64 and log["action"].tolist() == [2, 2, 2]


def test_the_last_observation_outlives_the_disk(tmp_path):
    log = rollout(Countdown(), lambda observation: 1, episodes=3, progress=False)
    pd.testing.assert_frame_equal(read_steps(write_log(log, tmp_path)), log)
    form, text = encode("rows", log)
    kept = gather([{}], [{"rows": (form, text)}])["rows"]
    assert kept["last"].tolist() == log["last"].tolist()
