"""Judges: they give scikit-learn's own probabilities; reports and cache."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_matrix, hstack
from scipy.stats import rankdata
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from pushlab import load_user
from pushlab.datasets.periods import Period
from pushlab.users import judges
from pushlab.users.judges import (
    fit_judge,
    judge_for,
    judge_panel,
    judge_report,
    opening_threshold,
)
from pushlab.users.simulated import one_hot
from pushlab.utils.cache import no_cache


@pytest.fixture(scope="module")
def user():
    """Noor, who opens a quarter, with half a history."""
    noor = load_user("noor")
    history = Period(noor.schema, noor.history.table.head(1200))
    return replace(noor, periods={"history": history, "test": noor.test})


def features(period):
    contexts = one_hot(period.schema.context, period.context_codes)
    notifications = one_hot(period.schema.notification, period.notification_codes)
    return contexts, notifications


ORIGINALS = {
    "plain": LogisticRegression(max_iter=2000),
    "adaboost": AdaBoostClassifier(random_state=0),
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "bayes": GaussianNB(),
}


@pytest.mark.parametrize("name", ORIGINALS)
def test_judges_give_the_probabilities_of_scikit_learn(user, name):
    model = ORIGINALS[name].fit(np.hstack(features(user.history)), user.history.opened)
    judge = fit_judge(user.history, name)
    for period in user.periods.values():
        actual = judge.probability(period.context_codes, period.notification_codes)
        expected = model.predict_proba(np.hstack(features(period)))[:, 1]
        assert np.abs(actual - expected).max() < (1e-6 if name == "bayes" else 1e-12)


def test_default_judge_is_a_logistic_regression_with_pairs(user, monkeypatch):
    monkeypatch.setattr(judges, "INVERSE_PENALTIES", (0.3,))
    monkeypatch.setattr(judges, "PAIR_SCALES", (0.5,))
    history = user.history
    contexts, notifications = features(history)
    pairs = np.einsum("ri,rj->rij", contexts, notifications).reshape(len(history), -1)
    common = pairs.sum(axis=0) >= judges.MIN_PAIR_COUNT
    design = hstack(
        [
            csr_matrix(contexts),
            csr_matrix(notifications),
            csr_matrix(pairs[:, common]) * 0.5,
        ],
        format="csr",
    )
    model = LogisticRegression(C=0.3, max_iter=2000).fit(design, history.opened)
    actual = fit_judge(history).probability(
        history.context_codes, history.notification_codes
    )
    assert np.abs(actual - model.predict_proba(design)[:, 1]).max() < 1e-12


def test_default_judge_finds_what_the_plain_one_cannot(user):
    names = ("truth", "logistic", "plain")
    report = judge_report(user, judges={name: judge_for(user, name) for name in names})
    auc = report.set_index("judge")["auc"]
    assert auc["truth"] > auc["logistic"] > auc["plain"] + 0.01


def test_report_by_hand(user):
    judge = judge_for(user)
    report = judge_report(user, judges={"truth": judge}).iloc[0]
    test = user.test
    probability = judge.probability(test.context_codes, test.notification_codes)
    opened = test.opened
    opens = opened.sum()
    ranks = rankdata(probability)[opened].sum()
    groups = np.array_split(np.argsort(probability, kind="stable"), 10)
    gaps = [abs(probability[rows].mean() - opened[rows].mean()) for rows in groups]
    likelihood = np.where(opened, probability, 1 - probability)
    assert report.drop("judge").to_dict() == pytest.approx(
        {
            "accuracy": np.mean((probability >= 0.5) == opened),
            "base": 1 - opened.mean(),
            "auc": (ranks - opens * (opens + 1) / 2) / opens / (len(opened) - opens),
            "log_loss": -np.log(likelihood).mean(),
            "calibration": np.mean(gaps),
        }
    )
    always = Period(user.schema, test.table.assign(action="opened"))
    with pytest.raises(ValueError, match="opened and dismissed notifications"):
        judge_report(replace(user, periods={**user.periods, "test": always}))


@pytest.mark.parametrize("name", ["logistic", "tree"])
def test_matched_threshold_opens_as_much_as_the_user(user, name):
    history = user.history
    judge = fit_judge(history, name)
    chances = judge.probability(history.context_codes, history.notification_codes)
    levels = [*np.unique(chances), 2]
    distances = [
        abs((chances >= level).sum() - history.opened.sum()) for level in levels
    ]
    matched = opening_threshold(judge, history, "matched")
    assert abs((chances >= matched).sum() - history.opened.sum()) == min(distances)
    assert opening_threshold(judge, history, "threshold") == 0.5
    assert np.isnan(opening_threshold(judge, history, "sampled"))


def test_true_user_is_a_judge_only_if_known(user):
    real = replace(user, truth=None)
    assert [judge_for(one).name for one in (user, real)] == ["truth", "logistic"]
    assert list(judge_panel(real)) == ["logistic", "adaboost", "tree", "bayes"]
    with pytest.raises(ValueError, match="true probabilities of user noor"):
        judge_for(real, "truth")


@pytest.mark.parametrize("name", ["plain", "tree"])
def test_judges_are_cached_but_not_for_scoring(user, name, tmp_path, monkeypatch):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    fits = []

    def fit(*arguments):
        fits.append(arguments)
        return fit_judge(*arguments)

    def probabilities():
        history = user.history
        judge = judge_for(user, name)
        return judge.probability(history.context_codes, history.notification_codes)

    monkeypatch.setattr(judges, "fit_judge", fit)
    first = probabilities()
    assert np.array_equal(probabilities(), first)
    assert len(fits) == 1
    with no_cache():
        assert np.array_equal(probabilities(), first)
    assert len(fits) == 2


def test_bad_judges_histories_and_codes(user):
    with pytest.raises(ValueError, match="logistic, plain, adaboost, tree, bayes"):
        fit_judge(user.history, "forest")
    always = Period(user.schema, user.history.table.assign(action="opened"))
    with pytest.raises(ValueError, match="all 1,200 were opened"):
        fit_judge(always)
    contexts = user.history.context_codes[:5]
    notifications = user.history.notification_codes[:5]
    judge = judge_for(user)
    for wrong in (notifications[:3], notifications[:, :6], notifications - 1000):
        with pytest.raises(ValueError, match="notifications"):
            judge.probability(contexts, wrong)
    with pytest.raises(ValueError, match="contexts must be codes"):
        judge.probability(contexts + 1000, notifications)
