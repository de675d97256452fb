"""The judges: that their tables are scikit-learn's own probabilities, what they are worth, and their cache."""

import json

import numpy as np
import pandas as pd
import pytest

from pushlab.datasets.periods import Period
from pushlab.datasets.reading import load_user
from pushlab.ground import kept
from pushlab.ground.content import reached
from pushlab.users import judges
from pushlab.users.judges import MODELS, cutoff, design, fit_judge, judge_for, judge_report, pair_design, panel_of
from pushlab.users.simulated import SimulatedUser


@pytest.fixture
def history():
    """Half a history, to be quick; a quarter of the notifications are opened."""
    user = load_user("noor")
    return Period(user.schema, user.history.table.head(1200))


def probabilities(model, period):
    judge = fit_judge(period, model)
    return judge.probability(period.context_codes, period.notification_codes)


def test_plain_tables_are_scikit_learns_own_probabilities(history):
    from sklearn.linear_model import LogisticRegression

    model = LogisticRegression(max_iter=2000).fit(design(history), history.opened)
    theirs = model.predict_proba(design(history))[:, 1]
    assert np.abs(probabilities("plain", history) - theirs).max() < 1e-12


def test_tables_of_the_default_judge_are_scikit_learns_own_probabilities(history, monkeypatch):
    """With one penalty and one scale to choose from, the model can be fitted again from its definition."""
    from scipy.sparse import csr_matrix, hstack
    from sklearn.linear_model import LogisticRegression

    monkeypatch.setattr(judges, "STRENGTHS", (0.3,))
    monkeypatch.setattr(judges, "SCALES", (0.5,))
    pairs = pair_design(history)
    common = np.asarray(pairs.sum(axis=0)).ravel() >= judges.RARE
    features = hstack([csr_matrix(design(history)), pairs[:, common] * 0.5], format="csr")
    model = LogisticRegression(C=0.3, max_iter=2000).fit(features, history.opened)
    theirs = model.predict_proba(features)[:, 1]
    assert np.abs(probabilities("logistic", history) - theirs).max() < 1e-12


@pytest.mark.parametrize("name", ["adaboost", "tree", "bayes"])
def test_the_panels_tables_are_scikit_learns_own_probabilities(history, name):
    from sklearn.ensemble import AdaBoostClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.tree import DecisionTreeClassifier

    model = {"adaboost": AdaBoostClassifier(random_state=0), "bayes": GaussianNB(),
             "tree": DecisionTreeClassifier(max_depth=5, random_state=0)}[name]
    model.fit(design(history), history.opened)
    test = Period(history.schema, load_user("noor").test.table.head(500))
    judge = fit_judge(history, name)
    for period in (history, test):
        ours = judge.probability(period.context_codes, period.notification_codes)
        theirs = model.predict_proba(design(period))[:, 1]
        assert np.abs(ours - theirs).max() < (1e-6 if name == "bayes" else 1e-12)


def test_pairs_are_those_that_occur_together(history):
    pairs = pair_design(history)
    contexts, notifications = np.split(design(history), [int(history.schema.context.sizes.sum())], axis=1)
    row = 17
    assert np.array_equal(pairs[row].toarray()[0], np.outer(contexts[row], notifications[row]).ravel())


def test_the_default_judge_finds_interactions_that_the_plain_one_cannot():
    user = load_user("noor")
    report = judge_report(user, judges={name: judge_for(user, name) for name in ("truth", "logistic", "plain")})
    auc, loss = (report.set_index("judge")[column] for column in ("auc", "log_loss"))
    assert auc["truth"] > auc["logistic"] > auc["plain"] + 0.02
    assert loss["truth"] < loss["logistic"] < loss["plain"]


def test_the_report_is_right_on_a_case_done_by_hand(history):
    class Half:
        def probability(self, contexts, notifications):
            return np.full(len(contexts), 0.5)

    user = load_user("noor")
    row = judge_report(user, judges={"half": Half()}).iloc[0]
    assert row["auc"] == 0.5 and row["log_loss"] == pytest.approx(np.log(2))
    assert row["accuracy"] == pytest.approx(user.test.opened.mean())
    assert row["base"] == pytest.approx(1 - user.test.opened.mean())


def test_thresholds_open_as_they_say():
    user = load_user("theo")
    judge = judge_for(user, "logistic")
    p = judge.probability(user.history.context_codes, user.history.notification_codes)
    matched = cutoff(judge, user.history, "matched")
    assert (p >= matched).mean() == pytest.approx(user.history.opened.mean(), abs=0.01)
    assert cutoff(judge, user.history, "threshold") == 0.5 and np.isnan(cutoff(judge, user.history, "sampled"))
    # What a threshold of 0.5 makes of a user who opens one in ten: hardly anything is ever opened.
    assert (p >= 0.5).mean() < user.history.opened.mean() / 3


@pytest.mark.parametrize("name", ["logistic", "tree", "adaboost", "bayes"])
def test_matched_comes_as_near_to_the_users_share_as_any_threshold(history, name):
    judge = fit_judge(history, name)
    p = judge.probability(history.context_codes, history.notification_codes)
    found = abs((p >= cutoff(judge, history, "matched")).sum() - history.opened.sum())
    assert found == min(abs((p >= level).sum() - history.opened.sum()) for level in (*np.unique(p), 2))


def test_codes_that_are_none_are_refused_before_anything_is_read(history):
    judge = fit_judge(history, "plain")
    contexts, notifications = history.context_codes[:5], history.notification_codes[:5]
    for bad in (notifications[:3], notifications[:, :6], notifications + 1000, notifications - 1000, notifications[0]):
        with pytest.raises(ValueError, match="notifications"):
            judge.probability(contexts, bad)
    with pytest.raises(ValueError, match="contexts hold codes"):
        judge.probability(contexts + 1000, notifications)


def test_a_period_of_one_answer_compares_no_judges(history):
    from dataclasses import replace

    user = load_user("noor")
    always = Period(user.schema, user.test.table.assign(action="dismissed"))
    with pytest.raises(ValueError, match="some notifications were opened"):
        judge_report(replace(user, periods={**user.periods, "test": always}), judges={})


def test_too_short_a_history_says_so(history):
    with pytest.raises(ValueError, match="3 notifications are too few"):
        few = history.table.iloc[[0, 1]].assign(action=["opened", "dismissed"])
        fit_judge(Period(history.schema, pd.concat([few, few.head(1)])))


def test_a_damaged_tree_is_fitted_again(tmp_path, monkeypatch, history):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    whole = judges._cached(history, "tree")
    path, = (tmp_path / "fitted").iterdir()
    for key in ("yes", "no"):
        told = json.loads(path.read_text())["content"]
        told[key] = [0] * len(told[key])            # a tree that leads nowhere
        path.write_text(json.dumps({"checksum": kept.checksum(path.name, told), "content": told}))
        assert np.array_equal(judges._cached(history, "tree").share, whole.share)


@pytest.mark.parametrize("name", MODELS)
def test_a_judge_comes_out_of_the_cache_as_it_went_in(tmp_path, monkeypatch, history, name):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    first = judges._cached(history, name)
    path, = (tmp_path / "fitted").iterdir()
    assert path.suffix == ".json" and json.loads(path.read_text())
    monkeypatch.setattr(judges, "fit_judge", lambda *_: pytest.fail("it was fitted again"))
    again = judges._cached(history, name)
    args = history.context_codes, history.notification_codes
    assert np.array_equal(first.probability(*args), again.probability(*args))


def test_the_cache_knows_the_code_that_fits_a_judge(monkeypatch, history):
    """And the code of what a judge and a period are, which is not called by name."""
    assert {"pushlab.users.judges", "pushlab.users.simulated", "pushlab.datasets.features",
            "pushlab.datasets.schema"} <= reached("pushlab.users.judges")
    before = judges.checksum(history, "tree")
    monkeypatch.setattr(judges, "of_modules", lambda name: f"{name}, edited")
    assert judges.checksum(history, "tree") != before


def test_the_cache_knows_its_data_and_survives_damage(tmp_path, monkeypatch, history):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    judges._cached(history, "plain")
    other = Period(history.schema, history.table.assign(action=history.table["action"].to_numpy()[::-1]))
    judges._cached(other, "plain")
    files = sorted((tmp_path / "fitted").iterdir())
    assert len(files) == 2
    for text in ("", "{", "[]", '{"name": "plain", "intercept": 0, "context": [1], "notification": [], "pairs": []}'):
        files[0].write_text(text)
        files[1].write_text(text)
        assert isinstance(judges._cached(history, "plain"), SimulatedUser)


def test_scoring_takes_no_judge_that_somebody_else_may_have_put_into_the_cache(tmp_path, monkeypatch, history):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    args = history.context_codes, history.notification_codes
    honest = judges._cached(history, "plain").probability(*args)
    path, = (tmp_path / "fitted").iterdir()
    told = json.loads(path.read_text())["content"] | {"intercept": 20.0}         # whoever is asked opens
    path.write_text(json.dumps({"checksum": kept.checksum(path.name, told), "content": told}))
    assert judges._cached(history, "plain").probability(*args).min() > 0.99      # the account is one and the same
    with judges.no_cache():
        again = [judges._cached(history, "plain") for _ in range(2)]
    assert np.array_equal(again[0].probability(*args), honest) and again[0] is again[1]
    assert len(list((tmp_path / "fitted").iterdir())) == 1


def test_a_cache_that_cannot_be_written_is_done_without(tmp_path, monkeypatch, history):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path / "file"))
    assert isinstance(judges._cached(history, "plain"), SimulatedUser)


def test_the_panel_has_the_truth_only_where_it_is_known():
    from dataclasses import replace

    user = load_user("omar")
    assert list(panel_of(user)) == ["truth", "logistic", "adaboost", "tree", "bayes"]
    real = replace(user, truth=None)
    assert list(panel_of(real)) == ["logistic", "adaboost", "tree", "bayes"]
    assert judge_for(real).name == "logistic" and judge_for(user).name == "truth"
    with pytest.raises(ValueError, match="nobody knows the true probabilities"):
        judge_for(real, "truth")


@pytest.mark.parametrize("name", ["forest", "Logistic", ""])
def test_an_unknown_judge_names_the_known_ones(history, name):
    with pytest.raises(ValueError, match="logistic, plain, adaboost, tree, bayes"):
        fit_judge(history, name)


def test_a_user_who_always_does_the_same_cannot_be_fitted(history):
    always = Period(history.schema, history.table.assign(action="opened"))
    with pytest.raises(ValueError, match="all 1,200 notifications were opened"):
        fit_judge(always)
