"""evalumap1-v0 and evalumap2-v0: rewards, judges, users and the cold start."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.users.judges import judge_for, opening_threshold

ID = "pushlab/evalumap1-v0"
COLD = "pushlab/evalumap2-v0"
MIRA = load_user("mira")


def short_user(rows=7, name="mira"):
    """Return a shipped user with a shorter test period."""
    user = load_user(name)
    test = Period(user.schema, user.test.table.head(rows))
    return replace(user, periods={**user.periods, "test": test})


def run(env, seed=3):
    """Return observations, actions, rewards and infos of an episode of random actions."""
    observations = [env.reset(seed=seed)[0]]
    env.action_space.seed(5)
    actions = []
    rewards = []
    infos = []
    terminated = False
    while not terminated:
        actions.append(env.action_space.sample())
        observation, reward, terminated, truncated, info = env.step(actions[-1])
        assert not truncated
        observations.append(observation)
        rewards.append(reward)
        infos.append(info)
    return observations, np.array(actions), rewards, infos


def test_contexts_come_in_order_and_rewards_are_the_points():
    user = short_user(200)
    observations, _, rewards, infos = run(gym.make(ID, user=user))
    contexts = user.test.context_codes
    assert np.array_equal(observations, np.vstack([contexts, contexts[-1:]]))
    table = {(1, 1): 1, (0, 0): 0, (0, 1): 2, (1, 0): -1}  # {(actual, opened): points}
    answers = [(info["actual"], info["opened"]) for info in infos]
    assert set(answers) == set(table)
    assert rewards == [table[answer] for answer in answers]
    assert [actual for actual, _ in answers] == user.test.opened.tolist()


@pytest.mark.parametrize("judge", ["truth", "logistic", "tree", "bayes", "adaboost"])
def test_judges_open_with_their_probability(judge):
    user = short_user(400)
    env = gym.make(ID, user=user, judge=judge, actual="judge", reveal=True)
    _, actions, _, infos = run(env)
    judge = judge_for(user, judge)
    contexts = user.test.context_codes
    sent = judge.probability(contexts, actions)
    actual = judge.probability(contexts, user.test.notification_codes)
    probabilities = [info["probability"] for info in infos]
    assert np.array(probabilities) == pytest.approx(sent, abs=1e-12)
    for name, p in (("opened", sent), ("actual", actual)):
        opens = sum(info[name] for info in infos)
        assert abs(opens - p.sum()) < 4 * np.sqrt((p * (1 - p)).sum())
    assert ("best" in infos[0]) == (judge.name == "truth")
    if judge.name == "truth":
        history = MIRA.history.notification_codes
        first_context = np.repeat(contexts[:1], len(history), axis=0)
        probabilities = judge.probability(first_context, history)
        assert infos[0]["best"] >= probabilities.max()


@pytest.mark.parametrize("opening", ["threshold", "matched"])
def test_thresholds_make_answers_certain(opening):
    user = short_user(300)
    env = gym.make(ID, user=user, opening=opening, actual="judge", reveal=True)
    _, actions, _, infos = run(env)
    judge = judge_for(user)
    threshold = opening_threshold(judge, user.history, opening)
    p = judge.probability(user.test.context_codes, actions)
    assert [info["opened"] for info in infos] == (p >= threshold).tolist()
    p = judge.probability(user.test.context_codes, user.test.notification_codes)
    assert [info["actual"] for info in infos] == (p >= threshold).tolist()


@pytest.mark.parametrize("name", [ID, COLD])
def test_infos_have_probabilities_only_with_reveal(name):
    """Without it, an agent that reads a probability gets a KeyError."""
    env = gym.make(name, user=short_user(60))
    assert env.reset(seed=1)[1] == {"opened": False, "actual": False}
    _, _, rewards, infos = run(env, seed=8)
    revealing_env = gym.make(name, user=short_user(60), reveal=True)
    _, _, same_rewards, revealed_infos = run(revealing_env, seed=8)
    assert rewards == same_rewards
    for info, revealed in zip(infos, revealed_infos):
        assert set(info) == {"opened", "actual"}
        assert info.items() <= revealed.items()
    frame = env.unwrapped.frame()
    assert frame["push"]["best"] == revealed["best"] > 0
    assert (frame["step"], frame["episode_length"]) == (60, 60)


def test_actions_do_not_change_the_actual_answers():
    """Two policies can be compared on the same episode."""
    env = gym.make(ID, user=short_user(100), actual="judge")
    answers = []
    for code in (0, 1):
        env.reset(seed=9)
        answers.append([env.step(np.full(7, code))[4]["actual"] for _ in range(100)])
    assert answers[0] == answers[1]


def test_cold_start_observes_the_last_engagement():
    user = short_user()
    env = gym.make(COLD, user=user)
    observations, actions, rewards, infos = run(env)
    context_schema = user.schema.context
    notification_schema = user.schema.notification
    none = [*context_schema.sizes, *notification_schema.sizes, 2]
    assert observations[0]["last"].tolist() == none
    for step, observation in enumerate(observations[1:]):
        context = user.test.context_codes[step]
        opened = infos[step]["opened"]
        assert observation["last"].tolist() == [*context, *actions[step], opened]
    table = env.unwrapped.engagements()
    assert (table["action"] == "opened").tolist() == [info["opened"] for info in infos]
    assert np.array_equal(notification_schema.encode(table), actions)
    assert np.array_equal(context_schema.encode(table), user.test.context_codes)
    assert (
        rewards == run(gym.make(ID, user=user))[2]
    )  # the same answers in both challenges
    env.reset()
    assert len(env.unwrapped.engagements()) == 0


def test_batch_can_have_several_users():
    users = [short_user(3, "mira"), short_user(5, "theo"), short_user(8, "omar")]
    envs = gym.make_vec(COLD, num_envs=3, user=users)
    info = envs.reset(seed=4, options={"user": ["omar", "mira", "theo"]})[1]
    assert info["user"].tolist() == [2, 0, 1]
    theo = gym.make(COLD, user=users[1])
    theo.reset(seed=6)
    action = theo.action_space.sample()
    for _ in range(3):
        observation, reward, terminated, *_ = envs.step([action] * 3)
        expected, expected_reward, *_ = theo.step(action)
        assert np.array_equal(expected["last"], observation["last"][2])
        assert expected_reward == reward[2]
    assert terminated.tolist() == [False, True, False]


def test_periods_and_candidates():
    worlds = [
        gym.make(ID, user=user, period="history").unwrapped.world
        for user in ("mira", "theo", ["mira", "theo"])
    ]
    assert len(worlds[0]) == len(MIRA.history)
    mira, theo, both = (world.candidates for world in worlds)
    assert np.array_equal(mira, np.unique(MIRA.history.notification_codes, axis=0))
    assert np.array_equal(both, np.unique(np.vstack([mira, theo]), axis=0))
    own = np.zeros((2, 7), int)
    assert np.array_equal(gym.make(ID, candidates=own).unwrapped.world.candidates, own)
