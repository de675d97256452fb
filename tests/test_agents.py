"""The agents: what each is said to do, on users small enough to be learned in a moment."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pushlab
from pushlab import plots
from pushlab.agents import (
    EpsilonGreedy,
    LinUCB,
    MostOpened,
    OfflineModel,
    RandomAgent,
    RandomCandidate,
    ReplayHistory,
    ThompsonSampling,
    Transition,
)
from pushlab.agents.features import ContextFeatures, candidates_of
from pushlab.agents.weights import WeightBlocks, expected_chance
from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.envs import TABLE
from pushlab.logs.rollout import rollout
from pushlab.users.judges import fit_judge, judge_for
from pushlab.users.simulated import SimulatedUser

ONE, TWO = "pushlab/evalumap1-v0", "pushlab/evalumap2-v0"
BANDITS = (EpsilonGreedy, LinUCB, ThompsonSampling)
LEARNERS = (*BANDITS, MostOpened)
every_bandit = pytest.mark.parametrize("kind", BANDITS)
every_learner = pytest.mark.parametrize("kind", LEARNERS)
both_challenges = pytest.mark.parametrize("name", [ONE, TWO])


def short_user(rows, name="mira"):
    user = load_user(name)
    return replace(user, periods={**user.periods, "test": Period(user.schema, user.test.table.head(rows))})


def two_sided_user(rows=600):
    """Somebody who opens news in the morning and friends in the evening, nine times in ten, and else one in ten."""
    user = short_user(rows)
    truth = {"intercept": -2.2, "context": {}, "notification": {}, "pairs": [
        ["time", slot, "subject", subject, 4.4] for slot, subject in
        (("morning", "news"), ("afternoon", "news"), ("evening", "friends"), ("night", "friends"))]}
    return replace(user, truth=truth)


def live(env, agent, seed=0, steps=None, explore=True, learn=True):
    """Runs an episode that tells the agent nothing but whether it was opened: (actions, opened, regret if revealed)."""
    observation, _ = env.reset(seed=seed)
    agent.begin(env, seed)
    actions, opened, regret, over = [], [], [], False
    while not over and (steps is None or len(actions) < steps):
        action = agent.act(observation, {}, explore)
        following, reward, over, truncated, info = env.step(action)
        told = {"opened": info["opened"]}
        if learn:
            agent.learn(Transition(observation, {}, action, reward, following, told, over, truncated))
        actions.append(action)
        opened.append(info["opened"])
        regret.append(info.get("best", np.nan) - info.get("probability", np.nan))
        observation = following
    return np.array(actions), np.array(opened), np.array(regret)


# ---------------------------------------------------------------- learning

@every_bandit
def test_a_bandit_learns_what_chance_does_not(kind):
    env = gym.make(TWO, user=two_sided_user(), reveal=True)
    ours, theirs = ([live(env, agent(), seed)[2][-150:].mean() for seed in range(4)]
                    for agent in (kind, RandomCandidate))
    margin = np.array(theirs) - ours
    assert margin.mean() - 3 * margin.std(ddof=1) / 2 > 0.15      # three standard errors beyond chance


def test_it_learns_which_subject_goes_with_which_time():
    user = two_sided_user(1500)
    env = gym.make(TWO, user=user)
    agent = ThompsonSampling()
    live(env, agent)
    table = plots.learned_heatmap_table(agent, env, "subject", "time").set_index(["subject", "time"])["expected"]
    assert table["news", "morning"] > 2 * table["news", "evening"]
    assert table["friends", "evening"] > 2 * table["friends", "morning"]


@every_bandit
def test_what_was_learned_stays_from_episode_to_episode(kind):
    env, agent = gym.make(TWO, user=two_sided_user(300), reveal=True), kind()
    first = live(env, agent)[2].mean()
    assert live(env, agent)[2].mean() < first - 0.05


# ---------------------------------------------------------------- the protocol

@both_challenges
@pytest.mark.parametrize("kind", [*LEARNERS, RandomCandidate])
def test_both_challenges_are_understood_without_any_info(kind, name):
    env = gym.make(name, user=short_user(12))
    actions, _, _ = live(env, kind())
    candidates = set(map(tuple, candidates_of(env)))
    assert len(actions) == 12 and set(map(tuple, actions)) <= candidates


@both_challenges
def test_the_offline_model_understands_both_challenges(name):
    user = short_user(12)
    actions, _, _ = live(gym.make(name, user=user), OfflineModel(judge_for(user, "plain")))
    assert len(actions) == 12


@every_learner
def test_the_same_seed_acts_the_same_and_another_does_not(kind):
    env = gym.make(TWO, user=short_user(80))
    once, again, other = (live(env, kind(), seed)[0] for seed in (3, 3, 4))
    assert np.array_equal(once, again) and not np.array_equal(once, other)


@every_learner
def test_without_exploring_the_same_question_has_the_same_answer(kind):
    env, agent = gym.make(TWO, user=short_user(150)), kind()
    observation, _ = env.reset(seed=0)
    agent.begin(env, 0)
    answers = {tuple(agent.act(observation, {}, explore=False)) for _ in range(20)}
    assert len(answers) == 1                                    # knowing nothing
    live(env, agent)
    answers = {tuple(agent.act(observation, {}, explore=False)) for _ in range(20)}
    assert len(answers) == 1                                    # and knowing something


@every_learner
def test_what_was_learned_survives_json(kind):
    env, agent, heir = gym.make(TWO, user=short_user(200)), kind(), kind()
    live(env, agent)
    heir.load(json.loads(json.dumps(as_lists(agent.state()))))
    for explore in (False, True):
        mine, its = (live(env, one, seed=9, steps=40, explore=explore, learn=False)[0] for one in (agent, heir))
        assert np.array_equal(mine, its)
    late = kind()                                               # the same when the episode has already begun
    late.begin(env, 0)
    late.load(json.loads(json.dumps(as_lists(agent.state()))))
    observation, _ = env.reset(seed=1)
    assert np.array_equal(late.act(observation, {}, False), agent.act(observation, {}, False))


def as_lists(value):
    if isinstance(value, dict):
        return {key: as_lists(part) for key, part in value.items()}
    return value.tolist() if isinstance(value, np.ndarray) else value


@every_learner
def test_an_agent_that_met_nobody_has_an_empty_state_to_load(kind):
    heir = kind()
    heir.load(kind().state())
    assert len(live(gym.make(TWO, user=short_user(5)), heir)[0]) == 5


@every_bandit
def test_a_user_with_another_schema_is_refused(kind):
    agent = kind()
    live(gym.make(TWO, user=short_user(5)), agent)
    other = load_user("mira")
    half = other.schema.notification
    features = [replace(one, values=one.values[:3]) if one.name == "subject" else one for one in half]
    schema = replace(other.schema, notification=type(half)(features))
    odd = replace(other, schema=schema, periods={name: Period(schema, period.table.head(5))
                                                 for name, period in other.periods.items()})
    with pytest.raises(ValueError, match="one shared schema"):
        agent.begin(gym.make(TWO, user=odd), 0)


def test_an_environment_without_candidates_is_refused():
    with pytest.raises(ValueError, match="no candidates"):
        ThompsonSampling().begin(gym.make("CartPole-v1"), 0)


def test_an_action_is_the_callers_own():
    env = gym.make(TWO, user=short_user(5))
    for agent in (RandomCandidate(), MostOpened(), ThompsonSampling()):
        observation, _ = env.reset(seed=0)
        agent.begin(env, 0)
        agent.act(observation, {})[:] = -1
        assert (agent.candidates >= 0).all() and (env.unwrapped.world.candidates >= 0).all()


@pytest.mark.parametrize("build, message", [
    (lambda: EpsilonGreedy(epsilon=2), "epsilon is a number from 0 to 1"),
    (lambda: WeightBlocks(1, 1, link="cubic"), "one of linear, logistic"),
    (lambda: WeightBlocks(1, 1, variances=0.0), "above 0"),
    (lambda: OfflineModel(judge_for(load_user("mira")), diversity=-1), "from 0 up"),
    (lambda: MostOpened(by=["weather"]).begin(gym.make(TWO), 0), "is one of .*; got 'weather'"),
    (lambda: ThompsonSampling(crossed=["weather"]).begin(gym.make(TWO), 0), "is one of .*; got 'weather'"),
])
def test_a_wrong_argument_names_the_right_one(build, message):
    with pytest.raises(ValueError, match=message):
        build()


# ---------------------------------------------------------------- most opened

def test_most_opened_is_random_until_the_first_open():
    """With nothing ever opened it sends what the random agent sends; from the first open on, that."""
    user = short_user(60)
    plain = {"context": {}, "notification": {}, "pairs": []}
    never = gym.make(TWO, user=replace(user, truth={"intercept": -50.0, **plain}))
    sent, opened, _ = live(never, MostOpened())
    assert not opened.any() and np.array_equal(sent, live(never, RandomCandidate())[0])
    always = gym.make(TWO, user=replace(user, truth={"intercept": 50.0, **plain}))
    sent, opened, _ = live(always, MostOpened())
    assert opened.all() and (sent == sent[0]).all()


def test_most_opened_counts_by_the_time_of_day():
    user = load_user("noor")
    env = gym.make(ONE, user=user, candidates="history")
    agent = MostOpened(user.history)
    agent.begin(env, 0)
    history = user.history.engagements
    opened = history[history["action"] == "opened"]
    names = list(user.schema.notification.names)
    for row, time in ((0, user.test.contexts["time"][0]), (7, user.test.contexts["time"][7])):
        sent = user.schema.notification.decode_one(agent.act(user.test.context_codes[row], {}))
        counts = opened[opened["time"] == time].groupby(names).size()
        assert counts[tuple(sent[name] for name in names)] == counts.max()


def test_most_opened_sums_the_history_over_features_in_which_candidates_do_not_differ():
    """A catalogue says nothing of priority, so that an opened finance push counts whatever its priority was."""
    user = load_user("mira")
    agent = MostOpened(user.history, by=())
    agent.begin(gym.make(TWO, user=user), 0)
    named = ["postingApp", "category", "subject"]
    history = user.history.engagements
    counts = history[history["action"] == "opened"].groupby(named).size()
    sent = user.schema.notification.decode_one(agent.act(user.test.context_codes[0], {}))
    assert counts[tuple(sent[name] for name in named)] == counts.max()


# ---------------------------------------------------------------- the offline model

def test_the_offline_model_sends_the_likeliest_candidate():
    user = short_user(30)
    judge = judge_for(user)
    env = gym.make(ONE, user=user)
    actions, _, _ = live(env, OfflineModel(judge))
    candidates = env.unwrapped.world.candidates
    for context, action in zip(user.test.context_codes, actions):
        p = judge.probability(np.repeat(context[None], len(candidates), axis=0), candidates)
        assert judge.probability(context[None], action[None])[0] == pytest.approx(p.max(), abs=1e-12)


@pytest.mark.parametrize("model", ["plain", "tree"])
def test_the_diversity_knob_trades_opens_for_variety(model):
    user = short_user(400)
    judge = fit_judge(user.history, model)
    env = gym.make(ONE, user=user, judge=judge, candidates="catalogue", reveal=True)
    kinds, expected = [], []
    for diversity in (0.0, 0.5, 5.0):
        log = rollout(env, OfflineModel(judge, diversity), seed=1, progress=False)
        kinds.append(len(log.filter(like="action.").drop_duplicates()))
        expected.append(log["info.probability"].mean())
    assert kinds[0] < kinds[1] <= kinds[2] == 64
    assert expected[0] > expected[1] > expected[2]


def test_shares_of_what_is_sent_come_near_to_a_softmax():
    """Two candidates, log-odds 1 apart, at diversity 1: e times as many of the one as of the other."""
    user = short_user(800)
    flat = {"intercept": 0.0, "context": {}, "notification": {"subject": {"news": 1.0}}, "pairs": []}
    judge = SimulatedUser.from_truth(replace(user, truth=flat))
    half = user.schema.notification
    candidates = gym.make(TWO, user=user).unwrapped.world.candidates
    subject = half.components.index("subject")
    news = candidates[:, subject] == half["subject"].words.index("news")
    pair = np.array([candidates[news][0], candidates[~news][0]])
    sent, _, _ = live(gym.make(ONE, user=user, candidates=pair), OfflineModel(judge, diversity=1.0))
    share = (sent[:, subject] == pair[0, subject]).mean()
    assert share == pytest.approx(np.e / (1 + np.e), abs=0.01)


def test_an_episode_of_the_offline_model_begins_with_nothing_sent():
    env, agent = gym.make(ONE, user=short_user(40)), OfflineModel(judge_for(load_user("mira")), diversity=2.0)
    assert np.array_equal(live(env, agent)[0], live(env, agent)[0])
    state = json.loads(json.dumps(as_lists(agent.state())))
    heir = OfflineModel(agent.judge, diversity=2.0)
    heir.begin(env, 0)
    heir.load(state)
    observation, _ = env.reset(seed=0)
    assert np.array_equal(heir.act(observation, {}), agent.act(observation, {}))


# ---------------------------------------------------------------- beliefs

@given(st.integers(0, 2**32 - 1))
def test_one_linear_block_is_ridge_regression(seed):
    """Sherman-Morrison steps end where the normal equations do."""
    rng = np.random.default_rng(seed)
    features, outcomes, noise = rng.normal(size=(12, 4)), rng.normal(size=12), 0.5
    belief = WeightBlocks(1, 4, variances=2.0, noise=noise)
    for x, y in zip(features, outcomes):
        belief.observe(np.array([0]), np.arange(4), x, y)
    precision = np.eye(4) / 2.0 + features.T @ features / noise
    assert np.allclose(belief.covariance[0], np.linalg.inv(precision), atol=1e-9)
    assert np.allclose(belief.mean[0], np.linalg.solve(precision, features.T @ outcomes / noise), atol=1e-9)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["linear", "logistic"]))
def test_covariances_stay_symmetric_and_positive_and_only_shrink(seed, link):
    rng = np.random.default_rng(seed)
    belief = WeightBlocks(3, 5, variances=1.0, link=link)
    for _ in range(60):
        before = belief.covariance.copy()
        active = np.flatnonzero(rng.random(5) < 0.6)
        belief.observe(rng.choice(3, 2, replace=False), active, np.ones(len(active)), float(rng.random() < 0.5))
        assert np.allclose(belief.covariance, belief.covariance.transpose(0, 2, 1), atol=1e-12)
        assert np.linalg.eigvalsh(belief.covariance).min() > 0
        assert np.linalg.eigvalsh(before - belief.covariance).min() > -1e-9


def test_a_logistic_belief_finds_the_log_odds():
    rng = np.random.default_rng(5)
    belief = WeightBlocks(1, 2, variances=4.0, link="logistic")
    for _ in range(3000):
        x = np.array([1.0, rng.random() < 0.5])
        belief.observe(np.array([0]), np.arange(2), x, float(rng.random() < 1 / (1 + np.exp(1.0 - 2.0 * x[1]))))
    assert belief.mean[0] == pytest.approx([-1.0, 2.0], abs=4 * np.sqrt(belief.covariance[0].diagonal()).max())
    assert expected_chance(belief.mean[0].sum(), 0.0) == pytest.approx(1 / (1 + np.exp(-1)), abs=0.05)


def test_context_features_are_the_words_of_the_context():
    half = load_user("mira").schema.context
    features = ContextFeatures(half, names=("day", "time", "place", "noise"))
    words = load_user("mira").test.contexts.iloc[0].to_dict()
    words |= {"day": "5", "time": "evening", "place": "TYPE_BAR TYPE_ATM", "noise": "low"}
    active = {features.words[at] for at in features.active(half.encode_one(words))}
    assert active == {"always", "day 5", "time evening", "place TYPE_BAR", "place TYPE_ATM", "noise low"}
    nowhere = features.active(half.encode_one(words | {"place": "unknown"}))
    assert {features.words[at] for at in nowhere} == active - {"place TYPE_BAR", "place TYPE_ATM"}


# ---------------------------------------------------------------- the picture

def test_the_picture_is_drawn_from_its_table():
    env, agent = gym.make(TWO, user=short_user(300)), ThompsonSampling()
    live(env, agent)
    table = plots.learned_heatmap_table(agent, env, "subject", "time", most=8)
    assert list(table.columns) == ["subject", "time", "expected", "true"] and table["subject"].nunique() == 8
    ax = plots.learned_heatmap(agent, env, most=8)
    drawn = {text.get_text() for text in ax.texts}
    assert {f"{share:.2f}" for share in table["expected"]} == drawn


def test_names_of_columns_stand_on_one_line_and_a_wide_one_on_two():
    env, agent = gym.make(TWO, user=short_user(300)), ThompsonSampling()
    live(env, agent)
    words = plots.learned_heatmap(agent, env, most=8).figure.axes[0].texts
    heights = {text.get_text(): text.get_position()[1] for text in words}
    assert heights["early"] == heights["afternoon"] == heights["evening"] == heights["night"]


def test_the_true_column_is_the_judges_mean():
    user = short_user(60)
    env, agent = gym.make(TWO, user=user), LinUCB()
    live(env, agent, steps=5)
    table = plots.learned_heatmap_table(agent, env, "category", "time", most=20).set_index(["category", "time"])
    contexts = user.test.context_codes[(user.test.contexts["time"] == "morning").to_numpy()]
    words = user.schema.notification.decode(agent.candidates)["category"].to_numpy()
    mail = agent.candidates[words == "email"]
    p = [judge_for(user).probability(np.repeat(context[None], len(mail), axis=0), mail).mean() for context in contexts]
    assert table["true"]["email", "morning"] == pytest.approx(np.mean(p))


def test_an_agent_that_expects_nothing_has_no_picture():
    env, agent = gym.make(TWO, user=short_user(5)), RandomAgent()
    live(env, agent)
    with pytest.raises(ValueError, match="does not say what it expects"):
        plots.learned_heatmap(agent, env)
    bandit = ThompsonSampling()
    live(env, bandit)
    with pytest.raises(ValueError, match="no feature 'weather'"):
        plots.learned_heatmap(bandit, env, column="weather")


def test_replaying_still_sends_the_history():
    user = short_user(8)
    assert np.array_equal(live(gym.make(TWO, user=user), ReplayHistory(user.history))[0],
                          user.history.notification_codes[:8])


def fitting_pairs():
    """(environment, agent) of each pair that the table of docs/sweeps.md says to fit."""
    text = (Path(__file__).resolve().parents[1] / "docs" / "sweeps.md").read_text(encoding="utf-8")
    rows = text.split("| agents that need no arguments |")[1].split("\n\n")[0].splitlines()[2:]
    for agents, envs in (row.strip("|").split("|") for row in rows):
        names = re.findall(r"`(.+?)`", envs) or [name.removeprefix("pushlab/") for name, *_ in TABLE]
        yield from itertools.product(names, re.findall(r"`(.+?)`", agents))


@pytest.mark.parametrize(("env", "agent"), list(fitting_pairs()))
def test_the_page_says_which_agents_fit(env, agent):
    log = rollout(f"pushlab/{env}", getattr(pushlab.agents, agent)(), steps=3, progress=False)
    assert len(log)
