"""Who is said to be ahead, and how surely: ranks, scores and ties of a class."""

import tracemalloc

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pushlab.classroom.standings import LEAST_PAIRS, curve, ranks, standing
from pushlab.metrics.estimate import mean_interval, paired_interval


def shapes(rng, kind, size):
    """Values of equal teams: their users differ by far more than they do."""
    users = 3 * rng.normal(size=size[-1])
    if kind == "whole":                         # returns in whole points, which often agree
        return rng.integers(0, 5, size) + users.round()
    if kind == "own":                           # of teams with users of their own, which differ more in some numbers
        return np.linspace(0.2, 2, size[-1]) * rng.normal(size=size) + users
    return users + {"normal": rng.normal, "lognormal": rng.lognormal}[kind](size=size)


@pytest.mark.parametrize("kind", ["normal", "lognormal", "whole", "own"])
@pytest.mark.parametrize("teams, users", [(3, 5), (10, 3), (40, 5)])
def test_equal_teams_are_told_apart_in_at_most_five_of_a_hundred_classes(kind, teams, users):
    rng, classes = np.random.default_rng(7), 300
    wrong = sum((ranks(pd.DataFrame(shapes(rng, kind, (teams, users))))["first"] > 1).any() for _ in range(classes))
    assert wrong / classes < 0.05 + 3 * np.sqrt(0.05 * 0.95 / classes)


def test_of_equal_pairs_of_teams_none_is_said_to_be_behind_where_others_truly_are():
    """Two truly equal pairs, far apart: within a pair a wrong word stays as rare."""
    rng, classes = np.random.default_rng(11), 400
    found = [ranks(pd.DataFrame(shapes(rng, "normal", (4, 8)) + [[9], [9], [0], [0]]))["first"].tolist()
             for _ in range(classes)]
    told_apart = sum(first[0] != first[1] or first[2] != first[3] for first in found)
    assert told_apart / classes < 0.05 + 3 * np.sqrt(0.05 * 0.95 / classes)
    assert sum(first[2:] == [3, 3] for first in found) > 0.9 * classes


def test_a_team_that_is_behind_with_every_user_is_behind_and_the_two_ahead_of_it_are_tied():
    rng = np.random.default_rng(3)
    users = rng.normal(size=5)                  # hard and easy users: far apart, and the same for all
    table = standing(pd.DataFrame({"low": users - 1, "one": users, "two": users + 0.001}).T
                     + rng.normal(0, 0.01, (3, 5)))
    assert set(table.index[:2]) == {"one", "two"} and table.index[2] == "low"
    assert table[["first", "last"]].to_numpy().tolist() == [[1, 2], [1, 2], [3, 3]]


def test_ranks_are_those_of_paired_intervals_where_there_is_one_pair():
    ours, theirs = np.array([0.7, 0.6, 0.8, 0.72]), np.array([0.5, 0.45, 0.63, 0.56])
    for gap in (0.0, 0.1, 0.15, 0.17, 0.175):
        surely = paired_interval(ours, theirs + gap).low > 0
        assert (ranks(pd.DataFrame([ours, theirs + gap])).loc[1, "first"] == 2) == surely, gap


def test_scores_are_means_with_their_t_interval_and_one_episode_has_none():
    table = standing(pd.DataFrame([[0.2, 0.4, 0.9], [0.5, np.nan, np.nan], [np.nan] * 3], ["ada", "bob", "cy"]))
    assert tuple(table.loc["ada", ["score", "low", "high"]]) == pytest.approx(mean_interval([0.2, 0.4, 0.9]))
    assert table.loc["bob", "score"] == 0.5 and table.loc["bob", ["low", "high"]].isna().all()
    assert table.loc["cy"].isna().all() and table.index[-1] == "cy"
    assert table.loc[["ada", "bob"], ["first", "last"]].to_numpy().tolist() == [[1, 2], [1, 2]]


def test_who_stops_after_one_lucky_episode_stands_below_those_who_are_surely_ahead():
    users = np.linspace(0, 0.3, 5)
    table = standing(pd.DataFrame([[0.75, *[np.nan] * 4], users + 0.5, users + 0.1, users],
                                  ["lucky", "steady", "slow", "slower"]) + 1e-3 * np.eye(4, 5))
    assert table.index[0] == "steady" and table.loc["lucky", "score"] > table.loc["steady", "score"]
    assert table.loc["lucky", ["first", "last"]].tolist() == [1, 4]


def test_a_lucky_one_stands_above_nobody_who_is_surely_ahead_of_anybody():
    """In a chain of five of whom each is surely ahead of the next; and whoever is surely ahead stands above."""
    rng = np.random.default_rng(1)
    chain = rng.normal(0, 0.05, 20) + np.array([[0.9], [0.8], [0.7], [0.6], [0.5]]) + rng.normal(0, 0.005, (5, 20))
    table = standing(pd.DataFrame([*chain, [0.95, *[np.nan] * 19]], [*"ABCDE", "lucky"]))
    assert list(table.index[:4]) == [*"ABCD"] and table.loc["lucky", "first"] == 1
    assert table["last"].is_monotonic_increasing


def test_one_team_with_finer_digits_lets_no_others_be_told_apart():
    """Small whole numbers often differ by the same in all pairs; that says little, whatever digits another team has."""
    rng, classes = np.random.default_rng(1), 150
    wrong = 0
    for _ in range(classes):
        values = rng.integers(0, 3, (40, 5)) * 1.0
        values[-1] += 1e-7 * rng.random(5)
        wrong += (ranks(pd.DataFrame(values))["first"] > 1).any()
    assert wrong / classes < 0.05 + 3 * np.sqrt(0.05 * 0.95 / classes)


def test_the_interval_of_a_share_is_that_of_a_ratio():
    """Of what earns half of the best everywhere it is one point; of others it holds the truth as often as it says."""
    from pushlab.classroom.uploads import share_of, shares_of

    rng, held = np.random.default_rng(4), 0
    best = rng.choice([0.9, 2.1], 400)
    assert share_of(best / 2, best) == [0.5, 0.5, 0.5]
    widths = []
    for _ in range(600):
        best = rng.choice([0.9, 2.1], 400)
        expected = best * rng.beta(8, 2, 400)
        score, low, high = mean_interval(shares_of(expected, best))
        assert score == pytest.approx(expected.sum() / best.sum(), abs=1e-12)
        held, widths = held + (low <= 0.8 <= high), [*widths, high - low]
    assert abs(held / 600 - 0.95) < 3 * np.sqrt(0.05 * 0.95 / 600)
    assert np.mean(widths) < 0.6 * np.diff(mean_interval(expected / best.mean())[1:])[0]


@pytest.mark.parametrize("values", [np.full((5, 5), 0.5), np.zeros((3, 1)), np.full((2, 4), -1e9)])
def test_teams_with_the_same_values_are_tied(values):
    assert ranks(pd.DataFrame(values)).eq([1, len(values)]).all(axis=None)


def test_too_few_pairs_say_nothing_however_far_apart():
    assert LEAST_PAIRS == 3 and ranks(pd.DataFrame([[1.0, 1.0], [9.0, 9.0]]))["first"].tolist() == [1, 1]
    apart = pd.DataFrame([[1.0, 1.1, 1.2, np.nan, np.nan, np.nan], [np.nan, np.nan, np.nan, 9.0, 9.1, 9.2]])
    assert ranks(apart)["first"].tolist() == [1, 1]         # they never met the same user


def test_a_large_class_takes_no_gigabytes():
    rng = np.random.default_rng(6)
    values = pd.DataFrame(rng.random((200, 300)))
    tracemalloc.start()
    ranks(values)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 40 * values.size * 8          # and not 199 / 2 times each of what there is on the way


def test_nobody_and_one_team_have_a_table():
    assert len(standing(pd.DataFrame(np.empty((0, 5))))) == 0
    assert standing(pd.DataFrame([[0.5, 0.6]], ["ada"]))[["first", "last"]].to_numpy().tolist() == [[1, 1]]
    assert standing(pd.DataFrame(index=["ada", "bob"], dtype=float)).isna().all(axis=None)


classes = st.integers(1, 6).flatmap(lambda users: st.lists(
    st.lists(st.one_of(st.just(np.nan), st.floats(-1, 1), st.integers(-2, 2).map(float)), min_size=users,
             max_size=users), min_size=1, max_size=7))


@given(classes, st.randoms(use_true_random=False))
@settings(max_examples=150, deadline=None)
def test_ranks_are_intervals_that_hold_the_teams_own_place_and_do_not_depend_on_the_order_they_came_in(rows, chance):
    values = pd.DataFrame(rows, [f"team {number}" for number in range(len(rows))])
    found, played = ranks(values), values.notna().any(axis=1)
    assert found.isna().any(axis=1).equals(~played)
    known = found[played]
    assert ((1 <= known["first"]) & (known["first"] <= known["last"]) & (known["last"] <= played.sum())).all()
    mixed = list(values.index)
    chance.shuffle(mixed)
    pd.testing.assert_frame_equal(ranks(values.loc[mixed]).loc[values.index], found)
    table = standing(values)
    assert set(table.index) == set(values.index) and table["score"].isna().is_monotonic_increasing
    for _, tied in table.groupby(["first", "last"]):
        assert tied["score"].is_monotonic_decreasing


def test_a_learning_curve_ends_at_the_share_of_the_whole_episode():
    rng = np.random.default_rng(5)
    steps = pd.DataFrame({"expected": rng.random(977), "best": 1 + rng.random(977)})
    line = curve(steps)
    assert line[-1] == pytest.approx(steps["expected"].sum() / steps["best"].sum())
    assert line[0] == pytest.approx(steps["expected"][:25].sum() / steps["best"][:25].sum())
    assert len(curve(steps[:1])) == len(line) and (curve(steps[:1]) == curve(steps[:1])[0]).all()
