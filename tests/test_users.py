"""The simulated users: their tables, and what the tables were made from."""

import numpy as np
import pytest
from scipy.special import expit

from pushlab.datasets.reading import list_users, load_user
from pushlab.users.judges import judge_for
from pushlab.users.simulated import SimulatedUser


@pytest.mark.parametrize("name", list_users())
def test_the_true_user_opens_as_the_data_say(name):
    user = load_user(name)
    truth = SimulatedUser.from_truth(user)
    for period in user.periods.values():
        p = truth.probability(period.context_codes, period.notification_codes)
        standard_error = np.sqrt((p * (1 - p)).sum())
        assert abs(period.opened.sum() - p.sum()) < 4 * standard_error
        # Calibration within tenths of the probability, which a wrong weight would upset.
        tenths = np.array_split(np.argsort(p, kind="stable"), 10)
        z = [(period.opened[rows].sum() - p[rows].sum()) / np.sqrt((p * (1 - p))[rows].sum()) for rows in tenths]
        assert np.square(z).sum() < 35      # chi-square of 10 degrees of freedom: above in 1 of 10,000


def test_weights_stand_where_the_truth_says():
    user = load_user("mira")
    truth, tables = user.truth, SimulatedUser.from_truth(user)
    feature, value, other_feature, other_value, weight = truth["pairs"][0]
    context = user.history.contexts.iloc[[0]].assign(**{feature: value})
    notification = user.history.notifications.iloc[[0]].assign(**{other_feature: other_value})

    def by_hand():
        tags = {name: set(text.split()) if user.schema.context[name].kind == "set" else {text}
                for name, text in context.iloc[0].items()}
        words = notification.iloc[0].to_dict()
        return (truth["intercept"]
                + sum(w for name, ws in truth["context"].items() for v, w in ws.items() if v in tags[name])
                + sum(w for name, ws in truth["notification"].items() for v, w in ws.items() if v == words[name])
                + sum(w for f, v, g, u, w in truth["pairs"] if v in tags[f] and words[g] == u))

    log_odds = tables.log_odds(user.schema.context.encode(context), user.schema.notification.encode(notification))
    assert log_odds[0] == pytest.approx(by_hand(), abs=1e-9) and weight != 0


def test_the_best_probability_is_the_maximum_over_the_whole_catalogue():
    user = load_user("theo")
    truth, half = judge_for(user), user.schema.notification
    contexts = user.test.context_codes[:40]
    best = truth.best_probability(contexts, user.catalogue_codes)
    base, sheet = truth.sheet(contexts)
    free = [half[name].sizes[0] for name in ("numberOfUpdates", "priority", "ongoing", "visibility")]
    places = [half.components.index(name) for name in ("numberOfUpdates", "priority", "ongoing", "visibility")]
    highest = np.zeros(len(contexts))
    for row in user.catalogue_codes:
        for choice in np.ndindex(*free):
            codes = row.copy()
            codes[places] = choice
            highest = np.maximum(highest, expit(base + sheet[:, codes + half.starts].sum(axis=1)))
    assert np.abs(best - highest).max() < 1e-12


def test_a_truth_with_a_feature_the_schema_lacks_is_refused():
    from dataclasses import replace

    user = load_user("mira")
    bad = replace(user, truth={**user.truth, "context": {"weather": {"rain": 1.0}}})
    with pytest.raises(ValueError, match="'weather'"):
        SimulatedUser.from_truth(bad)
    bad = replace(user, truth={**user.truth, "context": {"noise": {"deafening": 1.0}}})
    with pytest.raises(ValueError, match="'deafening', which is no value of noise"):
        SimulatedUser.from_truth(bad)
