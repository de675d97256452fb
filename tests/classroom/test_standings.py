"""Standings of a class: scores, intervals, ranks and learning curves."""

import numpy as np
import pandas as pd

from pushlab_classroom.standings import ranks, share_of, shares_of, standing


def test_ranks_come_from_paired_t_tests_corrected_by_holm():
    rng = np.random.default_rng(2)
    skill = np.array([[0.0], [0.1], [0.5], [0.6], [1.2]])
    values = 3 * rng.normal(size=30) + skill + rng.normal(0, 0.6, (5, 30))
    found = ranks(pd.DataFrame(values))
    # Recorded when scipy.stats.ttest_rel gave the same.
    assert found.T.to_numpy().tolist() == [[3, 4, 2, 2, 1], [5, 5, 4, 3, 1]]


def test_a_team_is_behind_if_the_paired_difference_is_beyond_chance():
    """Equal gaps have a standard error too, sqrt(1 / 6 / 3): p = 1 - sqrt(18 / 20)."""
    scores = pd.DataFrame([[0.0, 10, 20], [1.0, 11, 21]])
    assert ranks(scores).to_numpy().tolist() == [[1, 2], [1, 2]]
    more = pd.DataFrame([[0.0, 10, 20, 30], [1.0, 11, 21, 31]])  # p = 0.018
    assert ranks(more).to_numpy().tolist() == [[2, 2], [1, 1]]


def test_scores_are_means_with_a_t_interval():
    nan = np.nan
    table = standing(pd.DataFrame([[0.2, 0.4, 0.9], [0.5, nan, nan], [nan] * 3]))
    half = 4.302653 * np.sqrt(0.13 / 3)  # t(0.975, 2 degrees of freedom)
    expected = [
        [0.5, 0.5 - half, 0.5 + half, 1, 2],
        [0.5, nan, nan, 1, 2],
        [nan] * 5,
    ]
    np.testing.assert_allclose(table, expected, rtol=1e-6)


def test_equal_teams_are_sorted_by_their_numbers():
    table = standing(pd.DataFrame([[0.5] * 3] * 2, ["team 10", "team 9"]))
    assert table.index.tolist() == ["team 9", "team 10"]


def test_the_interval_of_a_share_is_that_of_a_ratio():
    expected = np.array([1.0, 2.0, 3.0])
    best = np.array([2.0, 2.0, 4.0])
    np.testing.assert_allclose(shares_of(expected, best), [0.5625, 0.9375, 0.75])
    # 0.75 -+ 4.3027 * 0.1875 / sqrt(3)
    assert share_of(expected, best) == [0.75, 0.284, 1.216]
