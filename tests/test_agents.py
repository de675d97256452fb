"""Update rules and choices of the agents, against hand calculations."""

import math
from dataclasses import replace
from statistics import NormalDist

import gymnasium as gym
import numpy as np
import pytest
from scripts import load_script

import pushlab  # noqa: F401  registers the environments
from pushlab import agents, plots
from pushlab.agents import Transition
from pushlab.agents.arrivals import CACHE, DISMISS, SHOW, NotificationLearner
from pushlab.agents.weight_posterior import update_weights
from pushlab.datasets.reading import load_user
from pushlab.logs.push_days import evaluate_agent
from pushlab.logs.rollout import rollout
from pushlab.users.judges import judge_for
from pushlab.users.simulated import SimulatedUser

HISTORIC = "pushlab/evalumap1-v0"
COLD = "pushlab/evalumap2-v0"
ARRIVALS = "pushlab/push-v0"
MIRA = load_user("mira")
SCHEMA = MIRA.schema
SUBJECT = SCHEMA.notification.components.index("subject")
NO_WEIGHTS = {"context": {}, "notification": {}, "pairs": []}

# Two candidates that differ only in the subject: the second is about news.
PAIR = np.zeros((2, 7), np.int64)
PAIR[1, SUBJECT] = SCHEMA.notification["subject"].words.index("news")


def user_with(**truth):
    return replace(MIRA, truth={"intercept": 0.0, **NO_WEIGHTS, **truth})


def begin(agent, env, seed=0):
    """Start an episode and return its first observation."""
    observation, _ = env.reset(seed=seed)
    agent.begin(env, seed)
    return observation


def answer(agent, observation, action, opened):
    info = {"opened": opened}
    agent.learn(Transition(observation, {}, action, 0, observation, info, False, False))


# ------------------------------------------------------------ notifications


def test_linear_update_equals_ridge_regression():
    rng = np.random.default_rng(3)
    features = rng.normal(size=(12, 4))
    outcomes = rng.normal(size=12)
    found = np.zeros(4)
    covariance = 2.0 * np.eye(4)
    for values, outcome in zip(features, outcomes):
        update_weights(found, covariance, np.arange(4), outcome, values, noise=0.5)
    precision = np.eye(4) / 2.0 + features.T @ features / 0.5
    mean = np.linalg.solve(precision, features.T @ outcomes / 0.5)
    assert found == pytest.approx(mean)
    assert covariance == pytest.approx(np.linalg.inv(precision))


def begin_after_one_open(agent):
    """Begin with four active weights for each of PAIR, and open the second; return the observation.

    They are "always" and the time, in the row that both share and in the subject's.
    """
    agent.context_features = ["time"]
    observation = begin(agent, gym.make(COLD, candidates=PAIR))
    answer(agent, observation, PAIR[1], True)
    return observation


@pytest.mark.parametrize(
    "make", [agents.EpsilonGreedy, agents.LinUCB, agents.ThompsonSampling]
)
def test_linear_bandits_learn_the_same_from_one_answer(make):
    """Each score has the variance 4 · 0.03 = 0.12, and the two share 0.06. An answer adds 0.25."""
    agent = make()
    begin_after_one_open(agent)
    chances = agent.probability(MIRA.test.context_codes[[0, 0]], PAIR)
    assert chances == pytest.approx([0.06 / 0.37, 0.12 / 0.37])


def test_one_answer_updates_a_logistic_bandit():
    """Each score has the variance 4 · 0.3, and the two share 0.6. The probability was 1/2, its precision 1/4."""
    agent = agents.LogisticThompson()
    begin_after_one_open(agent)
    scale = 1 + 0.25 * 1.2
    shared = np.array([0.6, 1.2])
    centre = 0.5 / scale * shared
    variance = 1.2 - 0.25 / scale * shared**2
    expected = 1 / (1 + np.exp(-centre / np.sqrt(1 + np.pi / 8 * variance)))
    chances = agent.probability(MIRA.test.context_codes[[0, 0]], PAIR)
    assert chances == pytest.approx(expected)


@pytest.mark.parametrize(("width", "sent"), [(3.4, 1), (3.45, 0)])
def test_upper_bound_uses_the_covariance_of_all_weights(width, sent):
    """The bounds are 0.162 + width √(0.12 - 0.06² / 0.37) and 0.324 + width √(0.12 - 0.12² / 0.37)."""
    agent = agents.LinUCB(width)
    observation = begin_after_one_open(agent)
    assert agent.act(observation, {}).tolist() == PAIR[sent].tolist()


@pytest.mark.parametrize("width", [0.25, 1.0])
def test_thompson_sampling_draws_all_weights_together(width):
    """The difference of the two scores has the mean 0.06 / 0.37 and the variance 0.12 - 0.06² / 0.37.

    Independent draws of the scores or of the weights would have a larger variance.
    """
    agent = agents.ThompsonSampling(width)
    observation = begin_after_one_open(agent)
    draws = 4000
    sent = sum(agent.act(observation, {})[SUBJECT] > 0 for _ in range(draws))
    deviation = width * math.sqrt(0.12 - 0.06**2 / 0.37)
    chance = NormalDist(0, deviation).cdf(0.06 / 0.37)
    error = math.sqrt(chance * (1 - chance) / draws)
    assert sent / draws == pytest.approx(chance, abs=3 * error)


def test_thompson_sampling_learns_the_habits_of_a_user():
    pairs = [
        ["time", "morning", "subject", "news", 4.4],
        ["time", "evening", "subject", "friends", 4.4],
    ]
    user = user_with(intercept=-2.2, pairs=pairs)
    env = gym.make(COLD, user=user, max_episode_steps=1200)
    agent = agents.ThompsonSampling()
    rollout(env, agent, progress=False)
    table = plots.learned_heatmap_table(agent, env, "subject", "time", max_rows=8)
    cells = table.set_index(["subject", "time"])
    expected = cells["expected"]
    assert expected["news", "morning"] > 2 * expected["news", "evening"]
    assert expected["friends", "evening"] > 2 * expected["friends", "morning"]
    assert cells["true"]["news", "morning"] == pytest.approx(1 / (1 + math.exp(-2.2)))


def test_most_opened_counts_opens_in_contexts_of_the_same_kind():
    engagements = MIRA.history.engagements
    opened = engagements[engagements["action"] == "opened"]
    # A catalogue has three features of a notification; a history has all.
    named = ["postingApp", "category", "subject"]
    for world, by, keys in (
        (COLD, (), named),
        (HISTORIC, ("time",), [*SCHEMA.notification.names]),
    ):
        env = gym.make(world)
        agent = agents.MostOpened(MIRA.history)
        agent.context_features = by
        observation = begin(agent, env)
        time = MIRA.test.contexts["time"][0]
        here = opened[opened["time"] == time] if by else opened
        counts = here.groupby(keys).size()
        sent = SCHEMA.notification.decode_one(agent.act(observation, {}))
        assert counts[tuple(sent[key] for key in keys)] == counts.max()


def test_offline_model_with_diversity_approaches_a_softmax():
    judge = judge_for(MIRA)
    env = gym.make(HISTORIC)
    agent = agents.OfflineModel(judge)
    context = begin(agent, env)
    candidates = env.unwrapped.world.candidates
    chances = judge.probability(np.tile(context, (len(candidates), 1)), candidates)
    assert agent.act(context, {}).tolist() == candidates[chances.argmax()].tolist()
    # Log-odds differ by 1 and diversity is 1, so the numbers differ by a factor of e.
    user = user_with(notification={"subject": {"news": 1.0}})
    env = gym.make(HISTORIC, candidates=PAIR, max_episode_steps=800)
    agent = agents.OfflineModel(SimulatedUser.from_truth(user), diversity=1.0)
    log = rollout(env, agent, progress=False)
    share = (log["action.subject"] > 0).mean()
    assert share == pytest.approx(np.e / (1 + np.e), abs=0.01)


def started(agent, world=COLD):
    agent.begin(gym.make(world), 0)
    return agent


def begin_with_wrong_weights():
    agent = agents.SGDArrivalQ()
    agent.load({"weights": np.zeros((3, 20))})
    started(agent, ARRIVALS)


def begin_with_unknown_feature():
    agent = agents.LinUCB()
    agent.context_features = ["weather"]
    started(agent)


def begin_with_equal_answers():
    agent = agents.QTable()
    agent.imputes_missed = True
    env = gym.make(ARRIVALS, feedback="observed", opened=-1.0)
    agent.begin(env, 0)


def begin_wrapped():
    env = gym.wrappers.FlattenObservation(gym.make(COLD))
    agents.LinUCB().begin(env, 0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (begin_with_wrong_weights, "load users with one shared schema"),
        (begin_with_equal_answers, "different rewards for opened and dismissed"),
        (begin_wrapped, "a wrapper changes the observations"),
        (lambda: started(agents.LinUCB(), ARRIVALS), "no candidates to choose from"),
        (
            lambda: started(agents.EpisodicSemanticAgent(8)),
            "answers questions about a room.*pushlab/RoomEnv-v0",
        ),
        (lambda: started(agents.QTable()), "no notifications arrive.*pushlab/push-v0"),
        (lambda: agents.SoftmaxItem([]), "an array .n_items, features.; got"),
        (
            lambda: agents.FittedQIteration(2, fit_every=0),
            "fit_every must be a whole number, 1",
        ),
        (begin_with_unknown_feature, "got .'weather'"),
    ],
)
def test_wrong_arguments_and_worlds_raise_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ------------------------------------------------------------ arrivals


def test_rules_for_arrivals_show_dismiss_and_cache():
    env = gym.make(ARRIVALS)
    options = {"episodes": 4, "progress": False}
    shown = rollout(env, agents.ShowAll(), **options)
    hidden = rollout(env, agents.DismissAll(), **options)
    rule = agents.DoNotDisturb()
    rule.quiet = (22, 9)
    late = rollout(env, rule, **options)
    ends = [log[log["terminated"]] for log in (shown, hidden)]
    assert ends[0]["info.shown"].tolist() == ends[1]["info.dismissed"].tolist()
    assert ends[0]["info.delay"].sum() == ends[1]["info.shown"].sum() == 0
    silent = SCHEMA.context["ringerMode"].words.index("silent")
    quiet = ~late["obs.hour"].between(9, 21) | (late["obs.ringerMode"] == silent)
    assert quiet[late["action"] == CACHE].all() and (late["action"] == CACHE).any()
    assert not quiet[late["action"] == SHOW].any() and (late["action"] == SHOW).any()
    assert late["info.delay"].max() > 60 and late["info.dismissed"].max() == 0


class Recorder(NotificationLearner):
    """Acts at random and records the targets of its values."""

    epsilon = 1.0
    decay_episodes = math.inf

    def __init__(self):
        super().__init__()
        self.targets = []

    def describe(self, codes, observation):
        return str(SCHEMA.notification.decode_one(codes))

    def action_values(self, description):
        return (0.0, 0.0, 0.0)

    def update_value(self, description, action, target):
        self.targets.append((description, int(action), target))


@pytest.mark.parametrize(
    "feedback, imputes, unseen",
    [("full", True, 0.0), ("observed", False, 0.0), ("observed", True, -0.4)],
)
def test_each_reward_is_credited_to_its_notification(feedback, imputes, unseen):
    """Waiting costs are credited to the waiting notifications. Showing is worth 0, so half of them would be opened."""
    env = gym.make(
        ARRIVALS, patience=0, max_forbidden=1, max_age=120, feedback=feedback
    )
    agent = Recorder()
    agent.imputes_missed = imputes
    log = rollout(env, agent, seed=5, progress=False)
    events = env.unwrapped.events().fillna({"reward": unseen})
    done = events[events["outcome"] != "expired"]
    words = done[[*SCHEMA.notification.names]].to_dict("records")
    actions = np.where(done["outcome"] == "unseen", DISMISS, SHOW).tolist()
    expected = sorted(zip(map(str, words), actions, done["reward"]))
    assert sorted(one for one in agent.targets if one[1] != CACHE) == expected
    assert len(set(events["outcome"])) == 4 and agent.episodes == 1
    costs = sum(target for _, action, target in agent.targets if action == CACHE)
    parts = log[["info.parts.wait", "info.parts.idle", "info.parts.endless"]].iloc[-1]
    expired = events[events["outcome"] == "expired"]["reward"].sum()
    assert costs == pytest.approx(parts.sum() + expired) and (parts < 0).all()


def test_updates_of_the_arrival_learners_by_hand():
    table = agents.QTable()
    table.rate = 0.4
    for target in (1.0, 2.0, 6.0):  # steps of 1, 1/2 and 0.4
        table.update_value("here", SHOW, target)
    assert table.action_values("here") == pytest.approx([3.3, 0, 0])
    one = np.array([0])
    both = np.array([0, 1])
    linear = started(agents.LinearArrivalQ(), ARRIVALS)
    always = np.array([0, 3 * 16])  # in the shared row and in that of the third app
    for action in (SHOW, CACHE):
        linear.update_value(always, action, 1.0)
    # The shared row has ten times the prior variance: 0.055 / (0.055 + 0.4).
    assert linear.action_values(always) == pytest.approx([0.055 / 0.455, 0, 0.1])
    small = agents.SGDArrivalQ()
    small.rate = 0.25
    small.weights = np.zeros((3, 2))
    small.update_value(both, DISMISS, 2.0)
    assert small.action_values(both) == pytest.approx([0, 0.5, 0])
    replaying = started(agents.ReplayArrivalQ(times=2), ARRIVALS)
    replaying.size = 1
    replaying.rate = 0.5
    replaying.update_value(one, SHOW, 1.0)  # and two replays
    replaying.update_value(one, CACHE, 1.0)  # which is not replayed
    assert replaying.action_values(one) == pytest.approx([0.875, 0, 0.5])


def test_elastic_weights_are_pulled_back_to_their_anchor():
    one = np.array([0])
    both = np.array([0, 1])
    agent = agents.ElasticArrivalQ(strength=1.0)
    agent.rate = 0.5
    agent.weights = np.zeros((3, 2))
    agent.update_value(one, SHOW, 1.0)  # 0.5 and 0
    agent.update_value(both, SHOW, 2.0)  # 0.875 and 0.375
    agent.begin_task("another", True)
    assert agent.fisher[SHOW].tolist() == [1.0, 0.5]
    agent.update_value(both, SHOW, 0.0)  # to 0.5625 and 0.0625, and back by 1/4 and 1/8
    assert agent.weights[SHOW] == pytest.approx([0.640625, 0.1015625])
    agent.strength = 1e9
    agent.update_value(both, SHOW, -50.0)
    assert agent.weights[SHOW] == pytest.approx([0.875, 0.375])


def test_all_answers_are_equally_likely_to_be_in_the_reservoir():
    env = gym.make(ARRIVALS)
    found = np.zeros(64)
    for seed in range(150):
        agent = agents.ReplayArrivalQ(times=0)
        agent.size = 8
        agent.begin(env, seed)
        for number in range(64):
            agent.update_value(np.array([0]), SHOW, float(number))
        found[[int(outcome) for *_, outcome in agent.memory]] += 1
    assert found.sum() == 8 * 150
    assert found.reshape(8, 8).sum(axis=1) == pytest.approx(150, abs=60)  # 5 deviations


def test_a_learner_shows_notifications_that_a_wrapper_has_cached():
    study = load_script("managing_arrivals")
    learner = agents.QTable()
    learner.action_values = lambda description: (1.0, 0.0, 0.0)
    env = gym.make(ARRIVALS, user="ines", days=(60, 61))
    study.run_day(env, study.Limited(learner, np.inf, True), 60, 1, learn=False)
    events = env.unwrapped.events()
    early = events[events["arrived"] < 7 * 60]
    assert len(early) and (early["shown"] >= 7 * 60).all()


@pytest.mark.parametrize("kind", [agents.QTable, agents.LinearArrivalQ])
def test_learners_cache_notifications_until_the_user_opens_them(kind):
    """The value of caching propagates from the evening to the morning."""
    odds = math.log(0.95 / 0.05)
    late = {"evening": 2 * odds, "night": 2 * odds}
    user = user_with(intercept=-odds, context={"time": late})
    env = gym.make(ARRIVALS, user=user, days=(0, 14))
    study = load_script("managing_arrivals")
    learner = kind()
    learner.decay_episodes = 30
    agent = study.train(env, learner, rounds=4)
    means = evaluate_agent(env, agent)
    rules = [
        evaluate_agent(env, rule())["reward"]
        for rule in (agents.ShowAll, agents.DismissAll, agents.DoNotDisturb)
    ]
    assert means["reward"] > max(rules) + 20 and means["delay"] > 100
    if kind is agents.QTable:
        chat = agent.table().set_index("hand").loc["org.pushlab.chat"]
        assert chat["best"].tolist() == ["cache", "dismiss", "show", "cache", "show"]
        assert chat["visits"].tolist() == [1324, 4, 305, 678, 126]
        assert chat["show"].tolist()[2:] == pytest.approx(
            [0.950054, -1, 0.918209], abs=1e-6
        )
