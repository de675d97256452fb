"""What an agent may choose from."""

import numpy as np
import pytest

from pushlab.datasets.reading import load_user
from pushlab.users.candidates import candidates_for, catalogue_candidates


def test_history_candidates_are_the_distinct_notifications():
    user = load_user("mira")
    words = user.schema.notification.decode(candidates_for(user, "history"))
    seen = user.history.notifications.drop_duplicates()
    assert len(words) == len(seen) and set(map(tuple, words.to_numpy())) == set(map(tuple, seen.to_numpy()))


def test_catalogue_candidates_are_its_rows_with_neutral_features():
    user = load_user("mira")
    words = user.schema.notification.decode(catalogue_candidates(user))
    assert set(map(tuple, words[list(user.catalogue)].to_numpy())) == set(map(tuple, user.catalogue.to_numpy()))
    assert words[["numberOfUpdates", "priority", "ongoing", "visibility"]].drop_duplicates().to_numpy().tolist() == [
        ["none", "default", "False", "private"]]


def test_without_a_catalogue_the_historys_combinations_take_its_place():
    from dataclasses import replace

    user = replace(load_user("mira"), catalogue=None)
    words = user.schema.notification.decode(catalogue_candidates(user))
    names = ["postingApp", "category", "subject"]
    known = set(map(tuple, user.history.notifications[names].to_numpy()))
    assert set(map(tuple, words[names].to_numpy())) == known and words["priority"].eq("default").all()


@pytest.mark.parametrize("which, message", [
    ("all", "'history', 'catalogue' or an array"), ([[0] * 6], r"shape \(rows, 7\)"), ([], "an array of codes"),
    ([[0.5] * 7], "float64"),
    ([[0, 0, 0, 0, 0, 0, 9]], "row 0 is"), ([[-1, 0, 0, 0, 0, 0, 0]], "row 0 is"),
])
def test_what_is_no_candidate_is_refused(which, message):
    with pytest.raises(ValueError, match=message):
        candidates_for(load_user("mira"), which)


def test_an_array_is_taken_as_it_is():
    rows = np.array([[1, 2, 0, 3, 3, 0, 0]])
    assert np.array_equal(candidates_for(load_user("mira"), rows), rows)
