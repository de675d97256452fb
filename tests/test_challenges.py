"""The challenges in memory: the numbers of a scorecard; answers and logs refused."""

from dataclasses import replace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.utils.seeding import np_random
from scipy.stats import binomtest, entropy

from pushlab import RandomAgent, load_user, rollout
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.replays import score_log
from pushlab.datasets.periods import Period
from pushlab.ground.faults import BadData
from pushlab.ground.seeds import episode_seed
from pushlab.metrics.push import learning_rate
from pushlab.users.judges import judge_for

ROWS = 60
POINTS = {(0, 0): 0, (0, 1): 2, (1, 0): -1, (1, 1): 1}  # (actual opened, sent opened)


def short_user(name="mira"):
    """A shipped user with few rows, so that the judges are fitted quickly."""
    user = load_user(name)
    periods = {
        "history": Period(user.schema, user.history.table.head(300)),
        "test": Period(user.schema, user.test.table.head(ROWS)),
    }
    return replace(user, periods=periods)


@pytest.fixture(scope="module")
def challenge():
    return Challenge.load(short_user())


@pytest.fixture
def answers(challenge):
    """Half of them in a combination of app, category and subject that nothing knows."""
    table = challenge.history.notifications.head(ROWS).assign(priority="max")
    combination = ["org.pushlab.bank", "msg", "humor"]
    table.loc[: ROWS // 2 - 1, ["postingApp", "category", "subject"]] = combination
    return table


def best_probabilities(user):
    """The highest probability over the catalogue, with every free feature tried out."""
    half = user.schema.notification
    free = [
        range(size) if at not in (0, 1, 3) else [-1]
        for at, size in enumerate(half.sizes)
    ]
    grid = np.array(np.meshgrid(*free)).reshape(len(free), -1).T
    rows = [np.where(row < 0, grid, row) for row in user.catalogue_codes]
    combinations = np.concatenate(rows)
    judge = judge_for(user, "truth")
    best = []
    for context in user.test.context_codes:
        contexts = np.tile(context, (len(combinations), 1))
        best.append(judge.probability(contexts, combinations).max())
    return np.array(best)


def expected_points(actual, probability):
    total = 0
    for was_opened, chance in zip(actual, probability):
        total += chance * POINTS[was_opened, 1] + (1 - chance) * POINTS[was_opened, 0]
    return total


def test_every_number_of_a_scorecard(challenge, answers):
    user = challenge.user
    card = challenge.evaluate(answers, seed=7, agent="mine")
    contexts = user.test.context_codes
    codes = user.schema.notification.encode(answers)
    probability = judge_for(user, "truth").probability(contexts, codes)
    draws = np_random(7)[0].random((ROWS + 1, 2))[1:, 0]
    opened = draws < probability
    actual = user.test.opened
    best = best_probabilities(user)
    performance = sum(POINTS[pair] for pair in zip(actual, opened))
    covered = 0
    distinct = 0
    evenness = []
    for name in answers:
        values = set(challenge.history.notifications[name])
        distinct += len(values)
        accepted = answers[name][opened]
        covered += len(values & set(accepted))
        count = max(len(values), accepted.nunique())
        evenness.append(entropy(accepted.value_counts()) / np.log(count))
    assert card.metrics == pytest.approx(
        {
            "performance": performance,
            "performance_share": performance / expected_points(actual, best),
            "expected_performance": expected_points(actual, probability),
            "regret": (best - probability).mean(),
            "click_through_rate": opened.mean(),
            "panel_click_through_rate": np.mean(
                [rate["expected"] for rate in card.judges.values()]
            ),
            "coverage": covered / distinct,
            "evenness": np.mean(evenness),
            "plausibility": 0.5,
        }
    )
    assert list(card.judges) == ["truth", "logistic", "adaboost", "tree", "bayes"]
    for name, rates in card.judges.items():
        chances = judge_for(user, name).probability(contexts, codes)
        opens = (draws < chances).sum()
        interval = binomtest(opens, ROWS).proportion_ci(method="wilson")
        assert rates == pytest.approx(
            {
                "expected": chances.mean(),
                "sampled": opens / ROWS,
                "low": interval.low,
                "high": interval.high,
                "threshold": (chances >= 0.5).mean(),
            }
        )
    assert card.about == (
        "challenge 1, user mira, test period, 60 notifications, "
        "answers by truth (sampled), seed 7"
    )


def test_scorecard_agrees_with_the_environment():
    arguments = {"opening": "matched", "judge": "tree"}
    challenge = Challenge.load(short_user("noor"), **arguments)
    card = challenge.evaluate(challenge.history.notifications[:ROWS], seed=3)
    env = gym.make("pushlab/evalumap1-v0", user=challenge.user, **arguments)
    env.reset(seed=3)
    actions = challenge.history.notification_codes[:ROWS]
    total = sum(env.step(action)[1] for action in actions)
    assert card.metrics["performance"] == total
    # Without sampling nothing is left to chance.
    assert card.metrics["expected_performance"] == total


def test_user_without_truth_is_judged_by_the_default_model(challenge, answers):
    card = Challenge.load(replace(challenge.user, truth=None)).evaluate(answers)
    assert card.judge == "logistic"
    assert "regret" not in card.metrics


def test_answers_may_be_numbered_renamed_and_typed(challenge, answers):
    expected = challenge.evaluate(answers).metrics
    numbered = answers.assign(id=[f"{number}.0" for number in range(ROWS)])
    shuffled = numbered.sample(frac=1, random_state=3)
    assert challenge.evaluate(shuffled).metrics == expected
    assert challenge.evaluate(shuffled.drop(columns="id")).metrics != expected
    renamed = answers.rename(columns={"postingApp": "appPackage"})
    typed = renamed.assign(ongoing=renamed["ongoing"] == "True")
    assert challenge.evaluate(typed[typed.columns[::-1]]).metrics == expected


def test_words_unknown_to_the_history_are_noted(challenge, answers):
    answers.loc[4, "subject"] = "freinds"
    with pytest.warns(UserWarning, match="does not know.*freinds"):
        card = challenge.evaluate(answers)
    assert card.notes == (
        "1 row has a value of subject that the history does not know ('freinds'), "
        "coded as 'other'; is 'friends' meant?",
    )
    assert "freinds" in repr(card)
    assert challenge.evaluate(answers.replace("freinds", "other")).notes == ()


def ids(first, table):
    return table.assign(id=[*first, *range(len(first), ROWS)])


# What is wrong, and (row, column, words) of the faults; the header is row 1.
BAD_ANSWERS = [
    (
        lambda table: table.drop(columns="subject"),
        [(1, "subject", "column is missing")],
    ),
    (
        lambda table: table.rename(columns={"priority": "Priorty"}),
        [(1, "Priorty", "is 'priority' meant?"), (1, "priority", "is missing")],
    ),
    (
        lambda table: table.assign(appPackage=table["postingApp"]),
        [(1, "postingApp", "the column is there twice")],
    ),
    (
        lambda table: table.replace({"visibility": {"public": "open"}}).head(9),
        [
            (None, None, "there are 9 rows for 60 contexts"),
            (3, "visibility", "one of private"),
        ],
    ),
    (lambda table: table.assign(subject=np.nan), [(2, "subject", "a word")]),
    (
        lambda table: ids([0, 0], table),
        [(3, "id", "stands there twice"), (None, "id", "no row: 1")],
    ),
    (
        lambda table: ids([[1], "0.5", 60, -1], table),
        [(row, "id", "the id of a context, 0 to 59") for row in range(2, 6)],
    ),
    (
        lambda table: table.assign(response_time=-1.0),
        [(2, "response_time", "number of seconds")],
    ),
]


@pytest.mark.parametrize("case", range(len(BAD_ANSWERS)))
def test_bad_answers_are_refused(challenge, answers, case):
    change, expected = BAD_ANSWERS[case]
    with pytest.raises(BadData) as caught:
        challenge.evaluate(change(answers))
    found = [(fault.row, fault.column, fault.right) for fault in caught.value.faults]
    for row, column, words in expected:
        assert any(one[:2] == (row, column) and words in one[2] for one in found), (
            found[:5]
        )


# ------------------------------------------------------------------ logs of challenge 2


@pytest.fixture(scope="module")
def env(challenge):
    return gym.make("pushlab/evalumap2-v0", user=challenge.user, reveal=True)


@pytest.fixture(scope="module")
def played(env):
    return rollout(env, RandomAgent(), episodes=2, seed=6, progress=False)


@pytest.fixture
def log(played):
    return played.copy()


def test_log_is_scored_as_it_was_played(challenge, env, log):
    card = score_log(challenge, log)
    assert card.metrics["performance"] == log["reward"].sum() / 2
    assert card.metrics["click_through_rate"] == log["info.opened"].mean()
    assert card.metrics["regret"] == pytest.approx(
        (log["info.best"] - log["info.probability"]).mean()
    )
    curve = log["reward"].to_numpy().reshape(2, ROWS).mean(axis=0)
    rate = learning_rate(curve, window=ROWS // 10)
    assert card.metrics["learning_slope"] == rate.slope
    assert card.metrics["settled_step"] == rate.settled
    assert card.seeds == (6, episode_seed(6, 1))
    assert card.response.median == pytest.approx(log["response_time"].median())
    draws = [np_random(seed)[0].random((ROWS + 1, 2))[1:, 0] for seed in card.seeds]
    sampled = np.concatenate(draws) < log["info.probability"]
    assert (
        card.judges["truth"]["sampled"]
        == sampled.mean()
        == card.metrics["click_through_rate"]
    )
    needed = ["agent", "seed", "episode", "step", "response_time", "info.opened"]
    needed += [name for name in log if name.startswith(("action.", "obs.context."))]
    for same in (log[needed], log[needed].astype(str)):
        assert score_log(challenge, same).metrics == card.metrics
    other = rollout(env, RandomAgent(), seed=40, progress=False)
    both = score_log(challenge, pd.concat([log, other]))
    assert both.seeds == (*card.seeds, 40)


def put(column, row, value):
    def change(log):
        log[column] = log[column].astype(object)
        log.loc[row, column] = value
        return log

    return change


def flip(log):
    log.loc[[7, 99], "info.opened"] ^= True
    return log


AGAIN = "what the environment says after this seed and these notifications"
# The rows of the second episode begin with 62.
BAD_LOGS = {
    "opens": (flip, [(9, "info.opened", AGAIN), (101, "info.opened", AGAIN)]),
    "reward": (put("reward", 3, 2.5), [(5, "reward", AGAIN)]),
    "context": (put("obs.context.day", 11, 5), [(13, "obs.context.day", AGAIN)]),
    "code": (
        put("action.priority", 4, 6),
        [(6, "action.priority", "whole number from 0 to 5")],
    ),
    "seconds": (
        put("response_time", 4, -1),
        [(6, "response_time", "a number of seconds")],
    ),
    "step": (put("step", 4, 7), [(6, "step", "the next step, 4")]),
    "joined episodes": (
        put("episode", slice(None), 0),
        [(62, "step", "the next step, 60"), (2, None, "120 steps for 60 contexts")],
    ),
    "missing column": (
        lambda log: log.drop(columns="response_time"),
        [(1, "response_time", "the column is missing")],
    ),
    "no rows": (lambda log: log.iloc[:0], [(None, None, "a header and no rows")]),
}


@pytest.mark.parametrize("case", BAD_LOGS)
def test_changed_logs_are_refused(challenge, log, case):
    change, expected = BAD_LOGS[case]
    with pytest.raises(BadData) as caught:
        score_log(challenge, change(log))
    found = caught.value.faults
    assert [(fault.row, fault.column) for fault in found] == [
        row[:2] for row in expected
    ]
    for fault, row in zip(found, expected):
        assert row[2] in fault.right


def test_log_must_be_played_with_the_organisers_seed_user_and_judge(challenge, log):
    with pytest.raises(BadData, match="what this challenge is played with: seed 1"):
        score_log(challenge, log, seed=1)
    for changes in ({"opening": "threshold"}, {"user": short_user("noor")}):
        with pytest.raises(BadData, match="what the environment says"):
            score_log(replace(challenge, **changes), log)
