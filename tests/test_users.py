"""Synthetic users: the shipped ones, their truth, candidates, users from a seed."""

import hashlib
import json
from dataclasses import replace

import numpy as np
import pytest
from scripts import load_script

from pushlab import load_user
from pushlab.users.candidates import candidates_for, catalogue_candidates
from pushlab.users.judges import judge_for
from pushlab.users.phone import PEOPLE
from pushlab.users.simulated import SimulatedUser
from pushlab.users.synthesis import headroom, make_user, write_user
from pushlab.utils.files import data_dir

PUSH = data_dir() / "push"
FREE = ["numberOfUpdates", "priority", "ongoing", "visibility"]


def true_probabilities(truth, contexts, notifications):
    """Return the probabilities by the formula in data/push/README.md, without pushlab."""

    def holds(column, feature, value):
        if feature == "place":
            return column.map(lambda tags: value in tags.split())
        return column == value

    log_odds = np.full(len(contexts), float(truth["intercept"]))
    for part, table in (("context", contexts), ("notification", notifications)):
        for feature, weights in truth[part].items():
            for value, weight in weights.items():
                log_odds += weight * holds(table[feature], feature, value)
    for feature, value, other_feature, other_value, weight in truth["pairs"]:
        in_context = holds(contexts[feature], feature, value)
        in_notification = notifications[other_feature] == other_value
        log_odds += weight * (in_context & in_notification)
    return 1 / (1 + np.exp(-log_odds))


# ------------------------------------------------------------------ shipped users


def test_shipped_users_are_made_again_byte_for_byte(tmp_path):
    load_script("shipped_users").main(tmp_path)
    files = {}
    for path in tmp_path.rglob("*"):
        if path.is_file():
            files[path.relative_to(tmp_path).as_posix()] = path.read_bytes()
    for name, content in files.items():
        assert (PUSH / name).read_bytes() == content, name
    lines = files.pop("SHA256SUMS").decode().splitlines()
    digests = {
        name: hashlib.sha256(content).hexdigest() for name, content in files.items()
    }
    assert lines == [f"{digests[name]}  {name}" for name in sorted(digests)]
    assert len(files) == 2 + 5 * 5


@pytest.mark.parametrize("name", PEOPLE)
def test_shipped_users_follow_their_truth(name):
    user = load_user(name)
    judge = judge_for(user)
    for period_name, period in user.periods.items():
        probability = true_probabilities(
            user.truth, period.contexts, period.notifications
        )
        actual = judge.probability(period.context_codes, period.notification_codes)
        assert np.abs(actual - probability).max() < 1e-12
        variance = probability * (1 - probability)
        assert abs(period.opened.sum() - probability.sum()) < 3 * np.sqrt(
            variance.sum()
        )
        chi_square = 0
        for part in np.array_split(np.argsort(probability, kind="stable"), 10):
            difference = period.opened[part].sum() - probability[part].sum()
            chi_square += difference**2 / variance[part].sum()
        assert chi_square < 29.6  # the 0.999 quantile with ten degrees of freedom
        assert user.truth["open_rate"][period_name] == round(period.opened.mean(), 4)
        assert user.schema.notification.count_other(period.notification_codes) == {}


# ------------------------------------------------------------------ the true user


def test_best_probability_is_the_maximum_over_the_catalogue():
    user = load_user("theo")
    judge = judge_for(user)
    features = user.schema.notification
    columns = [features.components.index(name) for name in FREE]
    choices = np.array(list(np.ndindex(*features.sizes[columns])))
    sent = np.repeat(user.catalogue_codes, len(choices), axis=0)
    sent[:, columns] = np.tile(choices, (len(user.catalogue_codes), 1))
    contexts = user.test.context_codes[:20]
    best = judge.best_probability(contexts, user.catalogue_codes)
    for context, highest in zip(contexts, best):
        every = judge.probability(np.tile(context, (len(sent), 1)), sent)
        assert every.max() == pytest.approx(highest, abs=1e-12)


def test_headroom_compares_rows_of_the_catalogue():
    user = load_user("noor")
    judge = judge_for(user)
    rows = catalogue_candidates(user)
    contexts = user.test.context_codes[:50]
    chances = [judge.probability(contexts, np.tile(row, (50, 1))) for row in rows]
    arrived = judge.probability(contexts, user.test.notification_codes[:50])
    assert headroom(user.truth, user.test.engagements[:50]) == pytest.approx(
        {
            "arrived": arrived.mean(),
            "any_row": np.mean(chances),
            "best_row": np.mean(chances, axis=1).max(),
            "best_each": np.max(chances, axis=0).mean(),
        },
        abs=6e-4,
    )


def test_truth_must_fit_the_schema():
    user = load_user("mira")
    for context, message in (
        ({"weather": {"rain": 1.0}}, "'weather'"),
        ({"noise": {"deafening": 1.0}}, "'deafening', which is not a value of noise"),
    ):
        with pytest.raises(ValueError, match=message):
            SimulatedUser.from_truth(
                replace(user, truth={**user.truth, "context": context})
            )


# ------------------------------------------------------------------ candidates


def test_candidates_come_from_the_history_the_catalogue_or_an_array():
    user = load_user("mira")
    features = user.schema.notification
    history = features.decode(candidates_for(user, "history"))
    seen = user.history.notifications.drop_duplicates()
    assert set(history.itertuples(index=False)) == set(seen.itertuples(index=False))
    assert len(history) == len(seen)
    catalogue = features.decode(candidates_for(user, "catalogue"))
    names = list(user.catalogue)
    assert sorted(catalogue[names].values.tolist()) == sorted(
        user.catalogue.values.tolist()
    )
    neutral = [["none", "default", "False", "private"]]
    assert catalogue[FREE].drop_duplicates().values.tolist() == neutral
    bare = features.decode(catalogue_candidates(replace(user, catalogue=None)))
    expected = user.history.notifications[names].drop_duplicates()
    assert sorted(bare[names].values.tolist()) == sorted(expected.values.tolist())
    rows = [[1, 2, 0, 3, 3, 0, 0]]
    assert candidates_for(user, rows).tolist() == rows


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("all", "'history', 'catalogue' or an array"),
        ([[0] * 6], r"shape \(rows, 7\)"),
        ([[0] * 7, [0, 0, 0, 0, 0, 0, 3]], "row 1 is"),
        ([[-1, 0, 0, 0, 0, 0, 0]], "row 0 is"),
    ],
)
def test_bad_candidates_are_refused(source, message):
    with pytest.raises(ValueError, match=message):
        candidates_for(load_user("mira"), source)


# ------------------------------------------------------------------ made users


def digest(user):
    content = "".join(table.to_csv() for table in user.tables.values())
    return hashlib.sha256((content + json.dumps(user.truth)).encode()).hexdigest()[:16]


def test_made_user_follows_from_the_seed():
    user = make_user(7, "kim", open_rate=0.4, per_quarter=300)
    assert digest(user) == "f07e2b6022141567"
    assert digest(make_user(8, "kim")) == "0719c869b84074de"


def test_made_user_has_the_requested_open_rate_and_number(tmp_path):
    synthetic = make_user(3, "kim", open_rate=0.3, per_quarter=1000)
    folder = tmp_path / "kim"
    write_user(synthetic, folder)
    user = load_user(folder, schema=PUSH / "schema.json")
    probabilities = []
    for period in user.periods.values():
        assert 850 < len(period) < 1150
        probabilities.append(
            true_probabilities(synthetic.truth, period.contexts, period.notifications)
        )
    assert np.concatenate(probabilities).mean() == pytest.approx(0.3, abs=0.001)
    before = (folder / "truth.json").read_bytes()
    with pytest.raises(FileExistsError, match="not empty"):
        write_user(synthetic, folder)
    assert (folder / "truth.json").read_bytes() == before
    write_user(make_user(4, "kim", per_quarter=60), folder, overwrite=True)
    assert json.loads((folder / "truth.json").read_text())["seed"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": 1.5}, "seed must be a whole number"),
        ({"name": "Kim/../x"}, "name must be lower-case letters"),
        ({"open_rate": 1.0}, "open_rate must be a number from 0.02 to 0.98"),
        ({"per_quarter": 3}, "per_quarter must be a number from 50 to 20,000"),
    ],
)
def test_bad_arguments_of_a_made_user(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        make_user(**{"seed": 1, "name": "kim"} | arguments)
