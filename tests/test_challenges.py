"""A challenge the batch way: it says what the environment says, and lists every fault of a table."""

import re
from dataclasses import replace

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest

import pushlab  # noqa: F401
from pushlab.challenges.challenge import Challenge
from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.ground.faults import BadData
from pushlab.metrics import push

ROWS = 60


def small(name="mira", rows=ROWS, **arguments):
    """The challenge of a shipped user whose test period is cut short."""
    user = load_user(name)
    return Challenge.load(replace(user, periods={**user.periods, "test": Period(user.schema, user.test.table[:rows])}),
                          **arguments)


@pytest.fixture(scope="module")
def challenge():
    return small()


@pytest.fixture
def answers(challenge):
    return challenge.history.notifications.head(len(challenge.contexts))


def faults_of(challenge, table):
    with pytest.raises(BadData) as caught:
        challenge.evaluate(table)
    return caught.value.faults


# ---------------------------------------------------------------- what is scored

def test_a_challenge_holds_history_and_contexts_as_tables(challenge):
    assert {"postingApp", "priority"} <= set(challenge.history.notifications)
    assert {"day", "place"} <= set(challenge.history.contexts) and "action" in challenge.history.engagements
    contexts = challenge.contexts
    assert contexts["id"].tolist() == list(range(ROWS)) and "action" not in contexts and "postingApp" not in contexts


@pytest.mark.parametrize("arguments", [{}, {"opening": "threshold"}, {"opening": "matched", "judge": "tree"}])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_scorecard_says_what_the_environment_says(seed, arguments):
    challenge = small("noor", **arguments)
    codes = challenge.history.notification_codes[:ROWS]
    card = challenge.evaluate(challenge.history.notifications[:ROWS], seed=seed)
    env = gym.make("pushlab/evalumap1-v0", user=challenge.user, **arguments)
    env.reset(seed=seed)
    steps = [env.step(action) for action in codes]
    opened = np.array([step[4]["opened"] for step in steps])
    assert card.metrics["performance"] == sum(step[1] for step in steps)
    assert card.metrics["click_through_rate"] == opened.mean()
    assert card.metrics["coverage"] == push.coverage(codes[opened], challenge.history.notification_codes)
    assert card.seeds == (seed,) and card.count == ROWS and card.judge == env.unwrapped.world.judge.name


def test_sending_the_best_has_no_regret_and_a_whole_share(challenge):
    """Each context's best row of the catalogue, with the other features tried out, is what `best` promises."""
    world = challenge.world
    contexts = challenge.user.test.context_codes
    half = challenge.user.schema.notification
    free = [range(size) if at not in (0, 1, 3) else [-1] for at, size in enumerate(half.sizes)]
    grid = np.array(np.meshgrid(*free)).reshape(len(free), -1).T
    rows = np.unique(challenge.user.catalogue_codes, axis=0)
    every = np.array([np.where(row < 0, other, row) for row in rows for other in grid])
    best = [every[world.judge.probability(np.repeat(contexts[at:at + 1], len(every), 0), every).argmax()]
            for at in range(ROWS)]
    card = challenge.evaluate(half.decode(np.array(best)))
    assert card.metrics["regret"] == pytest.approx(0, abs=1e-9)
    highest = world.judge.best_probability(contexts, challenge.user.catalogue_codes)
    top = push.best_performance(challenge.user.test.opened, highest)
    assert card.metrics["expected_performance"] == pytest.approx(top)


def test_the_rates_of_the_judges_are_those_of_their_probabilities(challenge, answers):
    from pushlab.users.judges import judge_for

    card = challenge.evaluate(answers)
    assert list(card.judges) == ["truth", "logistic", "adaboost", "tree", "bayes"]
    codes, contexts = challenge.history.notification_codes[:ROWS], challenge.user.test.context_codes
    for name in ("truth", "tree"):
        p = judge_for(challenge.user, name).probability(contexts, codes)
        assert card.judges[name]["expected"] == pytest.approx(p.mean())
        assert card.judges[name]["threshold"] == (p >= 0.5).mean()
    assert card.judges["truth"]["sampled"] == card.metrics["click_through_rate"]     # one chance for all judges
    assert all(rate["low"] <= rate["sampled"] <= rate["high"] for rate in card.judges.values())


def test_nonsense_is_implausible_and_history_is_not(challenge, answers):
    assert challenge.evaluate(answers).metrics["plausibility"] == 1
    history = challenge.history.notifications
    known = set(zip(history["postingApp"], history["category"], history["subject"]))
    catalogue = challenge.user.catalogue
    known |= set(zip(catalogue["postingApp"], catalogue["category"], catalogue["subject"]))
    app, category = answers["postingApp"].iloc[0], answers["category"].iloc[0]
    subject = next(word for word in history["subject"].unique() if (app, category, word) not in known)
    half = answers.copy()
    half.loc[half.index[:ROWS // 2], ["postingApp", "category", "subject"]] = app, category, subject
    assert challenge.evaluate(half).metrics["plausibility"] == 0.5


@pytest.mark.parametrize("wrong, shown", [([1], "'[1]'"), (None, "'None'")])
def test_an_id_that_is_no_number_at_all_is_named(challenge, answers, wrong, shown):
    table = answers.astype(object).assign(id=range(len(answers)))
    table["id"] = pd.Series([wrong, *range(1, len(answers))], index=table.index, dtype=object)
    with pytest.raises(BadData, match=re.escape(f"{shown} is not the id of a context")):
        challenge.evaluate(table)


def test_rows_belong_to_contexts_by_id_or_else_by_order(challenge, answers):
    straight = challenge.evaluate(answers)
    numbered = answers.assign(id=range(ROWS)).sample(frac=1, random_state=3)
    assert challenge.evaluate(numbered).metrics == straight.metrics
    assert challenge.evaluate(numbered.assign(id=numbered["id"].astype(float))).metrics == straight.metrics
    assert challenge.evaluate(numbered.drop(columns="id")).metrics != straight.metrics


@pytest.mark.parametrize("spelt", ["{}.0", "{}.00", "0{}"])
def test_an_id_is_a_whole_number_however_it_was_written(challenge, answers, spelt):
    """pandas writes whole numbers with .0 where a merge left a hole for a while."""
    numbered = answers.assign(id=[spelt.format(number) for number in range(ROWS)])
    assert challenge.evaluate(numbered.sample(frac=1, random_state=3)).metrics == challenge.evaluate(answers).metrics


def test_the_names_of_the_data_files_will_do_and_columns_may_stand_in_any_order(challenge, answers):
    theirs = answers.rename(columns={"postingApp": "appPackage", "numberOfUpdates": "numberUpdates"})
    typed = theirs.assign(ongoing=theirs["ongoing"] == "True")[theirs.columns[::-1]]
    assert challenge.evaluate(typed).metrics == challenge.evaluate(answers).metrics


def test_response_times_are_the_participants_word_and_in_no_table(challenge, answers):
    timed = answers.assign(response_time=np.linspace(0.001, 0.002, ROWS))
    card = challenge.evaluate(timed)
    assert card.reported and card.response.median == pytest.approx(0.0015)
    assert card.to_dict() == challenge.evaluate(answers).to_dict()
    assert "response" not in card._repr_html_() and "0.0015" not in card._repr_html_()
    assert "as reported by the participant" in card.report()


def test_a_value_new_to_an_open_feature_is_noted_and_not_refused(challenge, answers):
    strange = answers.copy()
    strange.iloc[4, strange.columns.get_loc("subject")] = "moon landings"
    card = challenge.evaluate(strange)
    assert "1 row has a value of subject that the history does not know ('moon landings')" in card.notes[0]


def test_a_user_without_the_truth_is_judged_by_the_default_model():
    user = replace(small("omar").user, truth=None)
    card = Challenge.load(user).evaluate(user.history.notifications.head(ROWS))
    assert card.judge == "logistic" and "regret" not in card.metrics
    assert list(card.judges) == ["logistic", "adaboost", "tree", "bayes"]


# ---------------------------------------------------------------- what is refused

@pytest.mark.parametrize("change, words", [
    (lambda table: table.drop(columns="subject"), [("subject", "the column is missing")]),
    (lambda table: table.assign(mood="good"), [("mood", "the column is not one of postingApp")]),
    (lambda table: table.rename(columns={"priority": "Priorty"}),
     [("Priorty", "is 'priority' meant?"), ("priority", "missing")]),
    (lambda table: table.assign(appPackage=table["postingApp"]), [("appPackage", "says the same as postingApp")]),
    (lambda table: pd.concat([table, table[["subject"]]], axis=1), [("subject", "there twice")]),
    (lambda table: table.assign(visibility="hidden"), [("visibility", "one of private, public, secret")]),
    (lambda table: table.assign(priority="=HYPERLINK(1)"), [("priority", "one of unknown, min")]),
    (lambda table: table.assign(subject=np.nan), [("subject", "a word")]),
    (lambda table: table.assign(postingApp=None), [("postingApp", "a word")]),
    (lambda table: table.assign(category=pd.NA), [("category", "a word")]),
    (lambda table: table.assign(priority=np.nan), [("priority", "one of unknown")]),
    (lambda table: table.iloc[:-1], [(None, "59 rows for 60 contexts")]),
    (lambda table: pd.concat([table, table]), [(None, "120 rows for 60 contexts")]),
    (lambda table: table.iloc[:0], [(None, "0 rows for 60 contexts")]),
    (lambda table: table.assign(id=[0, 0, *range(2, ROWS)]), [("id", "stands there twice"), ("id", "no row: 1")]),
    (lambda table: table.assign(id=["1.0", "1", *range(2, ROWS)]), [("id", "stands there twice"), ("id", "no row: 0")]),
    (lambda table: table.assign(id=["0.5", *range(1, ROWS)]), [("id", "the id of a context"), ("id", "no row: 0")]),
    (lambda table: table.assign(id=range(1, ROWS + 1)), [("id", "the id of a context, 0 to 59"), ("id", "no row: 0")]),
    (lambda table: table.assign(id=[np.nan, *range(1, ROWS)]), [("id", "the id of a context"), ("id", "no row: 0")]),
    (lambda table: table.assign(response_time=-1.0), [("response_time", "number of seconds")]),
    (lambda table: table.assign(response_time="soon"), [("response_time", "number of seconds")]),
])
def test_a_faulty_table_is_refused_with_its_reason(challenge, answers, change, words):
    faults = faults_of(challenge, change(answers))
    for column, right in words:
        assert any(fault.column == column and right in fault.right for fault in faults), faults[:5]


def test_every_fault_is_listed_at_once(challenge, answers):
    bad = answers.assign(id=[5, 5, *range(2, ROWS)]).rename(columns={"subject": "topic"})
    bad.loc[bad.index[[1, 7]], "priority"] = "urgent"
    bad.loc[bad.index[3], "ongoing"] = "perhaps"
    faults = faults_of(challenge, bad)
    assert {(fault.row, fault.column) for fault in faults} >= {
        (1, "priority"), (7, "priority"), (3, "ongoing"), (1, "id"), (None, "topic"), (None, "subject"), (None, "id")}


@pytest.mark.parametrize("arguments, error, message", [
    ({"user": "nobody"}, FileNotFoundError, "mira"),
    ({"user": "mira", "period": "tomorrow"}, ValueError, "history, test"),
    ({"user": "mira", "opening": "never"}, ValueError, "sampled, threshold, matched"),
    ({"user": "mira", "judge": "jury"}, ValueError, "logistic"),
])
def test_a_challenge_that_cannot_be_names_what_can(arguments, error, message):
    with pytest.raises(error, match=message):
        Challenge.load(**arguments)
