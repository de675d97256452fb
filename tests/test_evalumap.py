"""evalumap1-v0: what the challenge says, checked by hand on a small user."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pytest

import pushlab  # noqa: F401
from pushlab.agents import RandomAgent
from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.logs.rollout import rollout
from pushlab.users.judges import fit_judge, judge_for
from pushlab.users.simulated import SimulatedUser

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
    env = gym.make_vec(ID, num_envs=400, user=user, reveal=True)
    observation, _ = env.reset(seed=0)
    action = np.repeat(user.test.notification_codes[:1], 400, axis=0)
    _, _, _, _, info = env.step(action)
    p = judge_for(user).probability(user.test.context_codes[:1], user.test.notification_codes[:1])[0]
    assert info["probability"] == pytest.approx(p, abs=1e-12)
    assert abs(info["opened"].mean() - p) < 4 * np.sqrt(p * (1 - p) / 400)


def test_the_judge_may_decide_the_actual_one_too():
    user = short_user(2000)
    recorded, judged = ([step[4]["actual"] for step in run(gym.make(ID, user=user, actual=actual))]
                        for actual in ("recorded", "judge"))
    assert recorded == user.test.opened.tolist()
    p = judge_for(user).probability(user.test.context_codes, user.test.notification_codes)
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
    envs = gym.make_vec(ID, num_envs=2, user=short_user(4), reveal=True)
    first, _ = envs.reset(seed=1)
    for step in range(4):
        _, _, terminated, truncated, _ = envs.step(envs.action_space.sample())
        assert terminated.all() == (step == 3) and not truncated.any()
    observation, reward, terminated, _, info = envs.step(envs.action_space.sample())
    assert np.array_equal(observation, first) and not reward.any() and not terminated.any()
    assert not any(info[key].any() for key in ("opened", "actual", "probability", "best"))      # no answer yet


@pytest.mark.parametrize("id", [ID, "pushlab/evalumap2-v0"])
def test_an_agent_that_reads_what_no_phone_tells_is_found(id):
    """By default info has what became of both notifications, right after reset too, alone and in a batch; no more."""
    env, envs = gym.make(id), gym.make_vec(id, num_envs=2)
    told = [env.reset(seed=1)[1], env.step(env.action_space.sample())[4],
            envs.reset(seed=1)[1], envs.step(envs.action_space.sample())[4]]
    for info in told:
        assert {name for name in info if not name.startswith("_")} == {"opened", "actual"}
    with pytest.raises(KeyError, match="probability"):
        rollout(env, lambda observation, info: env.action_space.sample() if info["probability"] < 1 else None,
                steps=2, progress=False)
    assert {"info.opened", "info.actual"} == set(
        rollout(env, RandomAgent(), steps=2, progress=False).filter(like="info.").columns)
    assert env.unwrapped.frame()["push"]["best"] > 0            # a picture has it: it is for people


@pytest.mark.parametrize("id", [ID, "pushlab/evalumap2-v0"])
def test_what_is_revealed_changes_nothing_that_an_agent_earns(id):
    lives = []
    for reveal in (False, True):
        env = gym.make(id, user=short_user(60), reveal=reveal)
        env.action_space.seed(5)
        lives.append([(step[1], step[4]["opened"], step[4]["actual"]) for step in run(env, seed=8)])
    assert lives[0] == lives[1]


def test_best_is_told_only_where_the_true_user_answers():
    user = load_user("mira")
    step = run(gym.make(ID, user=short_user(), reveal=True))[0]
    assert step[4]["best"] >= step[4]["probability"] > 0
    fitted = gym.make(ID, user=short_user(), judge=fit_judge(user.history, "plain"), reveal=True)
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
    ({"reveal": 1}, "reveal is True or False; got 1"),
    ({"period": "tomorrow"}, "mira is one of history, test"), ({"actual": "maybe"}, "one of recorded, judge"),
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


# ---------------------------------------------------------------- judges, several users, and the cold start

COLD = "pushlab/evalumap2-v0"


@pytest.mark.parametrize("judge", ["truth", "logistic", "plain", "adaboost", "tree", "bayes"])
def test_any_judge_may_answer(judge):
    env = gym.make(ID, user=short_user(50), judge=judge, reveal=True)
    env.action_space.seed(1)
    asked, told = [], []
    env.reset(seed=1)
    for _ in range(50):
        action = env.action_space.sample()
        asked.append(action)
        told.append(env.step(action)[4]["probability"])
    world = env.unwrapped.world
    p = world.judge.probability(world.period.context_codes, np.array(asked))
    assert told == pytest.approx(p, abs=1e-12)
    assert ("best" in env.unwrapped.world.info(env.unwrapped.state, env.unwrapped.outcome)) == (judge == "truth")


@pytest.mark.parametrize("opening", ["threshold", "matched"])
def test_at_a_threshold_the_answer_is_certain(opening):
    lives = []
    for seed in (1, 2):
        env = gym.make(ID, user=short_user(100), opening=opening, judge="logistic", reveal=True)
        env.action_space.seed(0)
        steps = run(env, seed=seed)
        lives.append([step[4]["opened"] for step in steps])
        assert all(step[4]["opened"] == (step[4]["probability"] >= env.unwrapped.world._cutoffs[0]) for step in steps)
        assert "best" not in steps[0][4]
    assert lives[0] == lives[1]


def test_the_cold_start_carries_the_last_engagement():
    user = short_user()
    env = gym.make(COLD, user=user)
    observation, _ = env.reset(seed=3)
    none = np.concatenate([user.schema.context.sizes, user.schema.notification.sizes, [2]])
    assert np.array_equal(observation["last"], none)
    for row in range(len(user.test)):
        action = env.action_space.sample()
        observation, _, _, _, info = env.step(action)
        wanted = np.concatenate([user.test.context_codes[row], action, [int(info["opened"])]])
        assert np.array_equal(observation["last"], wanted) and observation in env.observation_space


def test_engagements_are_all_of_the_episode_in_words():
    user = short_user()
    env = gym.make(COLD, user=user)
    env.reset(seed=3)
    assert env.unwrapped.engagements().shape == (0, 19)
    sent, opened = [], []
    for _ in range(5):
        sent.append(env.action_space.sample())
        opened.append(env.step(sent[-1])[4]["opened"])
    told = env.unwrapped.engagements()
    assert told["action"].tolist() == ["opened" if was else "dismissed" for was in opened]
    assert np.array_equal(user.schema.notification.encode(told), sent)
    assert np.array_equal(user.schema.context.encode(told), user.test.context_codes[:5])
    told["action"] = "changed"
    assert "changed" not in set(env.unwrapped.engagements()["action"])
    env.reset()
    assert len(env.unwrapped.engagements()) == 0


def test_both_challenges_answer_alike():
    first, second = gym.make(ID, user=short_user(60)), gym.make(COLD, user=short_user(60))
    lives = []
    for env in (first, second):
        env.action_space.seed(5)
        lives.append([(step[1], step[4]["opened"]) for step in run(env, seed=8)])
    assert lives[0] == lives[1]


def test_a_batch_may_hold_many_users():
    names = ["mira", "theo", "omar"]
    envs = gym.make_vec(ID, num_envs=3, user=names, reveal=True)
    envs.action_space.seed(1)
    observation, info = envs.reset(seed=4, options={"user": ["omar", "mira", "omar"]})
    assert info["user"].tolist() == [2, 0, 2]
    alone = [gym.make(ID, user=name, reveal=True) for name in ("omar", "mira", "omar")]
    for at, env in enumerate(alone):
        assert np.array_equal(env.reset(seed=4 + at)[0], observation[at])
    for _ in range(20):
        actions = envs.action_space.sample()
        observation, reward, _, _, info = envs.step(actions)
        for at, env in enumerate(alone):
            theirs = env.step(actions[at])
            assert np.array_equal(theirs[0], observation[at]) and theirs[1] == reward[at]
            assert theirs[4]["probability"] == pytest.approx(info["probability"][at], abs=1e-15)


def test_users_of_different_length_end_where_they_end():
    users = [short_user(3, "mira"), short_user(5, "noor")]
    envs = gym.make_vec(COLD, num_envs=2, user=users)
    envs.reset(seed=1, options={"user": ["mira", "noor"]})
    ends = [envs.step(envs.action_space.sample())[2].tolist() for _ in range(3)]
    assert ends == [[False, False], [False, False], [True, False]]


def test_without_a_name_every_user_comes_by_chance():
    envs = gym.make_vec(ID, num_envs=200, user=["mira", "theo"])
    _, info = envs.reset(seed=0)
    assert 60 < info["user"].sum() < 140


def test_an_unknown_user_of_the_list_is_named():
    with pytest.raises(ValueError, match="the option user is one of mira, theo"):
        gym.make(ID, user=["mira", "theo"]).reset(options={"user": "ann"})


def test_users_whose_arrays_differ_do_not_share_an_environment():
    mira = load_user("mira")
    other = replace(mira, name="other", schema=load_user("mira").schema.from_dict({
        "name": "x", "notification": [{"name": "postingApp", "kind": "closed", "values": ["a"]}], "context": [],
        "action": {"opened": ["1"], "dismissed": ["0"]}, "layouts": []}))
    with pytest.raises(ValueError, match="different features or values"):
        gym.make(ID, user=[mira, other])


def test_random_features_please_a_fitted_judge_more_than_the_users_own_notifications():
    """The trap of a fitted judge: it was never told what senseless combinations are worth."""
    user = load_user("theo")
    rng = np.random.default_rng(0)
    half = user.schema.notification
    nonsense = rng.integers(0, half.sizes, size=(len(user.test), len(half.sizes)))
    judge, truth = (fit_judge(user.history, "plain"), SimulatedUser.from_truth(user))
    rise = {name: who.probability(user.test.context_codes, nonsense).mean()
            - who.probability(user.test.context_codes, user.test.notification_codes).mean()
            for name, who in (("judge", judge), ("truth", truth))}
    assert rise["judge"] > rise["truth"]


def test_a_judge_of_another_schema_is_refused():
    from pushlab.datasets.reading import load_users

    mira = load_user("mira")
    own = replace(mira, schema=mira.schema.from_dict({
        "name": "x", "notification": [{"name": "postingApp", "kind": "closed", "values": ["a"]}],
        "context": [{"name": "day", "kind": "closed", "values": ["0"]}],
        "action": {"opened": ["1"], "dismissed": ["0"]}, "layouts": []}))
    judge = replace(SimulatedUser.from_truth(load_users()["noor"]), schema=own.schema)
    with pytest.raises(ValueError, match="fitted to another schema"):
        gym.make(ID, judge=judge)
    with pytest.raises(ValueError, match="judge is the name of one"):
        gym.make(ID, judge=3)


def test_candidates_of_several_users_are_put_together():
    together = gym.make(ID, user=["mira", "theo"]).unwrapped.world.candidates
    apart = [gym.make(ID, user=name).unwrapped.world.candidates for name in ("mira", "theo")]
    assert set(map(tuple, together)) == {tuple(row) for rows in apart for row in rows}


@pytest.mark.parametrize("users", [[], ["mira", "mira"]])
def test_a_list_of_users_names_different_ones(users):
    with pytest.raises(ValueError, match="different names"):
        gym.make(ID, user=users)


def test_a_batch_of_actions_has_a_row_a_copy():
    envs = gym.make_vec(ID, num_envs=3)
    envs.reset(seed=1)
    for wrong in (envs.action_space.sample().T, envs.action_space.sample().ravel()):
        with pytest.raises(ValueError, match="an action has shape"):
            envs.step(wrong)
