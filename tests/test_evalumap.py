"""evalumap1-v0: what the challenge says, checked by hand on a small user."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab.datasets import Period, load_user
from pushlab.users import SimulatedUser

ID = "pushlab/evalumap1-v0"


def short_user(rows=7, name="mira"):
    """A shipped user whose test period is cut short."""
    user = load_user(name)
    return replace(user, periods={**user.periods, "test": Period(user.schema, user.test.table.head(rows))})


def test_contexts_come_in_their_order_and_the_last_is_repeated():
    user = short_user()
    env = gym.make(ID, user=user)
    seen = [env.reset(seed=1)[0]]
    over = False
    while not over:
        observation, _, over, truncated, _ = env.step(env.action_space.sample())
        seen.append(observation)
        assert not truncated
    assert np.array_equal(seen, np.vstack([user.test.context_codes, user.test.context_codes[-1:]]))
    with pytest.raises(gym.error.ResetNeeded):
        env.unwrapped.step(env.action_space.sample())


def test_the_reward_is_the_table_against_the_recorded_outcome():
    user = short_user(200)
    env = gym.make(ID, user=user)
    env.reset(seed=1)
    table = {(True, True): 1, (False, False): 0, (False, True): 2, (True, False): -1}
    met = set()
    for actual in user.test.opened:
        _, reward, _, _, info = env.step(env.action_space.sample())
        assert info["actual"] == actual and reward == table[actual, info["opened"]]
        met.add((info["actual"], info["opened"]))
    assert met == set(table)


def test_the_answer_follows_the_judges_probability():
    user = load_user("ines")
    env = gym.make_vec(ID, num_envs=400, user=user)
    observation, _ = env.reset(seed=0)
    action = np.repeat(user.test.notification_codes[:1], 400, axis=0)
    _, _, _, _, info = env.step(action)
    p = SimulatedUser.of(user).probability(user.test.context_codes[:1], user.test.notification_codes[:1])[0]
    assert info["probability"] == pytest.approx(p, abs=1e-12)
    assert abs(info["opened"].mean() - p) < 4 * np.sqrt(p * (1 - p) / 400)


def test_the_judge_may_decide_the_actual_one_too():
    user = short_user(2000)
    recorded, judged = ([step[4]["actual"] for step in run(gym.make(ID, user=user, actual=actual))]
                        for actual in ("recorded", "judge"))
    assert recorded == user.test.opened.tolist()
    p = SimulatedUser.of(user).probability(user.test.context_codes, user.test.notification_codes)
    assert judged != recorded
    assert abs(sum(judged) - p.sum()) < 4 * np.sqrt((p * (1 - p)).sum())


def test_what_is_sent_does_not_change_what_would_have_been():
    """The second uniform number is the actual one's: two policies are compared on the same life."""
    lives = []
    for seed in (1, 2):
        env = gym.make(ID, user=short_user(100), actual="judge")
        env.action_space.seed(seed)
        lives.append([step[4]["actual"] for step in run(env, seed=9)])
    assert lives[0] == lives[1]


def run(env, seed=3):
    env.reset(seed=seed)
    steps = [env.step(env.action_space.sample())]
    while not steps[-1][2]:
        steps.append(env.step(env.action_space.sample()))
    return steps


def test_a_batch_reaches_the_worlds_own_end():
    envs = gym.make_vec(ID, num_envs=2, user=short_user(4))
    first, _ = envs.reset(seed=1)
    for step in range(4):
        _, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        assert terminated.all() == (step == 3) and not truncated.any()
    observation, reward, terminated, _, info = envs.step(envs.action_space.sample())
    assert np.array_equal(observation, first) and not reward.any() and not terminated.any() and info == {}


def test_best_is_told_only_where_the_true_user_answers():
    user = load_user("mira")
    step = run(gym.make(ID, user=short_user()))[0]
    assert step[4]["best"] >= 0 and "best" in step[4]
    fitted = gym.make(ID, user=short_user(), judge=SimulatedUser.fit(user.history))
    assert "best" not in run(fitted)[0][4]


@pytest.mark.parametrize("change, message", [
    ({0: 10_000}, r"component 0 \(postingApp\) is 10000; it must be from 0 to"),
    ({5: -1}, r"component 5 \(ongoing\) is -1"),
])
def test_an_action_outside_the_space_names_the_feature(change, message):
    env = gym.make(ID, disable_env_checker=True)
    env.reset(seed=1)
    action = np.zeros(7, int)
    for at, value in change.items():
        action[at] = value
    with pytest.raises(ValueError, match=message):
        env.step(action)


@pytest.mark.parametrize("action", [3, [1, 2], np.zeros(8, int), np.zeros(7), [np.nan] * 7, "open", None, ["a"] * 7])
def test_what_is_no_action_is_refused(action):
    env = gym.make(ID, disable_env_checker=True)
    env.reset(seed=1)
    with pytest.raises(ValueError, match="an action"):
        env.step(action)


def test_a_list_of_whole_numbers_is_an_action():
    env = gym.make(ID, disable_env_checker=True)
    env.reset(seed=1)
    assert env.step([0, 0, 0, 0, 0, 0, 0])[0] in env.observation_space


@pytest.mark.parametrize("arguments, message", [
    ({"period": "tomorrow"}, "periods history, test"), ({"actual": "maybe"}, "'recorded' or 'judge'"),
])
def test_a_wrong_argument_names_the_right_ones(arguments, message):
    with pytest.raises(ValueError, match=message):
        gym.make(ID, **arguments)


def test_an_unknown_user_names_the_shipped_ones():
    with pytest.raises(FileNotFoundError, match="mira"):
        gym.make(ID, user="nobody")


def test_the_history_can_be_lived_again():
    env = gym.make(ID, user="mira", period="history")
    assert len(env.unwrapped.world) == len(load_user("mira").history)


def test_a_frame_says_what_the_picture_needs_in_words():
    env = gym.make(ID, user=short_user())
    env.reset(seed=1)
    frame = env.unwrapped.frame()
    assert frame["push"] is None and frame["step"] == 0 and frame["of"] == 7 and frame["user"] == "mira"
    env.step(np.zeros(7, int))
    frame = env.unwrapped.frame()
    assert frame["push"]["notification"]["numberOfUpdates"] == "none" and frame["step"] == 1
    assert isinstance(frame["push"]["opened"], bool) and isinstance(frame["push"]["best"], float)
    assert frame["labels"]["day"]["0"] == "Monday"
