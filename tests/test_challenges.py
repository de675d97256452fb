"""The challenges: the metrics of a scorecard, and faulty answers and logs."""

from dataclasses import replace

import gymnasium as gym
import pytest
from scipy.stats import binomtest

from pushlab import load_user, rollout
from pushlab.agents import RandomAgent
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.replays import score_log
from pushlab.datasets.periods import Period
from pushlab.metrics.push import learning_rate
from pushlab.utils.issues import BadData
from pushlab.utils.seeds import episode_seed

ROWS = 60


@pytest.fixture(scope="module")
def challenge():
    """Return a challenge with few rows, so that the judges are fitted quickly."""
    user = load_user("mira")
    periods = {
        "history": Period(user.schema, user.history.table.head(300)),
        "test": Period(user.schema, user.test.table.head(ROWS)),
    }
    return Challenge.load(replace(user, periods=periods))


@pytest.fixture
def answers(challenge):
    """Return answers; half have an unknown combination of app, category and subject."""
    table = challenge.history.notifications.head(ROWS).assign(priority="max")
    combination = ["org.pushlab.bank", "msg", "humor"]
    table.loc[: ROWS // 2 - 1, ["postingApp", "category", "subject"]] = combination
    return table


# Recorded results, equal to those of an independent computation.
METRICS = {
    "performance": 37,
    "performance_share": 0.516143496,
    "expected_performance": 37.2728142,
    "regret": 0.286772308,
    "click_through_rate": 0.666666667,
    "panel_click_through_rate": 0.541823856,
    "coverage": 0.594202899,
    "evenness": 0.459279862,
    "plausibility": 0.5,
}


def test_every_number_of_a_scorecard(challenge, answers):
    card = challenge.evaluate(answers, seed=7)
    assert card.metrics == pytest.approx(METRICS, rel=1e-6)
    assert list(card.judges) == ["truth", "logistic", "adaboost", "tree", "bayes"]
    tree = card.judges["tree"]
    assert (tree["expected"], tree["threshold"]) == pytest.approx((0.616984, 0.816667))
    low, high = binomtest(42, ROWS).proportion_ci(method="wilson")
    found = (tree["sampled"], tree["low"], tree["high"])
    assert found == pytest.approx((0.7, low, high))
    user = replace(challenge.user, truth=None)
    card = Challenge.load(user).evaluate(answers)
    assert card.judge == "logistic" and "regret" not in card.metrics


def test_scorecard_agrees_with_the_environment(challenge):
    arguments = {"opening": "matched", "judge": "tree"}
    challenge = Challenge.load(challenge.user, **arguments)
    card = challenge.evaluate(challenge.history.notifications[:ROWS], seed=3)
    env = gym.make("pushlab/evalumap1-v0", user=challenge.user, **arguments)
    env.reset(seed=3)
    actions = challenge.history.notification_codes[:ROWS]
    total = sum(env.step(action)[1] for action in actions)
    assert card.metrics["performance"] == total
    # Without sampling the results are deterministic.
    assert card.metrics["expected_performance"] == total


def test_answers_can_have_ids_and_typed_values(challenge, answers):
    expected = challenge.evaluate(answers).metrics
    shuffled = answers.assign(id=range(ROWS)).sample(frac=1, random_state=3)
    assert challenge.evaluate(shuffled).metrics == expected
    typed = answers.assign(ongoing=answers["ongoing"] == "True")
    assert challenge.evaluate(typed[typed.columns[::-1]]).metrics == expected


def test_values_missing_in_the_history_are_noted(challenge, answers):
    answers.loc[4, "subject"] = "freinds"
    words = "subject: not in the history: freinds (1 row, coded as 'other')"
    with pytest.warns(UserWarning, match="in the history: freinds"):
        card = challenge.evaluate(answers)
    assert card.notes == (words,)
    assert words in repr(card)


@pytest.mark.parametrize(
    ("columns", "row", "column", "words"),
    [
        ({"Priorty": "max"}, 1, "Priorty", "the column is not one of"),
        ({"visibility": "open"}, 3, "visibility", "one of private"),
    ],
)
def test_bad_answers_raise_bad_data(challenge, answers, columns, row, column, words):
    with pytest.raises(BadData) as caught:
        challenge.evaluate(answers.assign(**columns))
    [valid_values] = [
        one.valid_values for one in caught.value.issues if one[1:3] == (row, column)
    ]
    assert words in valid_values
    with pytest.raises(BadData, match="60 contexts needs a row; the rows are 9"):
        challenge.evaluate(answers.head(9))
    ids = [0, *range(ROWS - 1)]
    with pytest.raises(BadData, match=r"repeated: 0 \(rows 2, 3\)\n.*missing: 59$"):
        challenge.evaluate(answers.assign(id=ids))


# ------------------------------------------------------------------ logs of challenge 2


@pytest.fixture
def log(challenge):
    env = gym.make("pushlab/evalumap2-v0", user=challenge.user, reveal=True)
    return rollout(env, RandomAgent(), episodes=2, seed=6, progress=False)


def test_log_has_the_score_of_its_episodes(challenge, log):
    card = score_log(challenge, log)
    assert card.metrics["performance"] == log["reward"].sum() / 2
    assert card.metrics["click_through_rate"] == log["info.opened"].mean()
    assert card.metrics["regret"] == pytest.approx(
        (log["info.best"] - log["info.probability"]).mean()
    )
    rate = learning_rate(log.groupby("step")["reward"].mean(), window=ROWS // 10)
    assert card.metrics["learning_slope"] == rate.slope
    assert card.seeds == (6, episode_seed(6, 1))
    assert card.response.median == pytest.approx(log["response_time"].median())
    assert score_log(challenge, log.astype(str)).metrics == card.metrics


AGAIN = "the replayed value for this seed and these notifications"


@pytest.mark.parametrize(
    ("column", "row", "value", "valid_values"),
    [
        ("info.opened", 7, "maybe", AGAIN),
        ("action.priority", 4, 6, "a whole number from 0 to 5"),
        ("step", 4, 7, "the next step, 4"),
    ],
)
def test_changed_logs_raise_bad_data(challenge, log, column, row, value, valid_values):
    log[column] = log[column].astype(object)
    log.loc[row, column] = value
    with pytest.raises(BadData) as caught:
        score_log(challenge, log)
    [issue] = caught.value.issues
    assert issue[1:3] == (row + 2, column)
    assert valid_values in issue.valid_values


def test_logs_of_other_settings_raise_bad_data(challenge, log):
    with pytest.raises(BadData, match="120 steps for 60 contexts"):
        score_log(challenge, log.assign(episode=0))
    with pytest.raises(BadData, match="is not the required seed 1"):
        score_log(challenge, log, seed=1)
    with pytest.raises(BadData, match=AGAIN):
        score_log(replace(challenge, opening="threshold"), log)
