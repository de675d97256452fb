"""Metrics, against values worked out by hand and properties that must hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pushlab.metrics.estimate import mean_interval, paired_interval, share_interval
from pushlab.metrics.push import (
    best_performance,
    click_through_rate,
    expected_points,
    performance,
    performance_share,
    points,
    regret,
)

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=50)


def test_points_are_the_challenges_table():
    assert points([True, False, False, True], [True, False, True, False]).tolist() == [1, 0, 2, -1]


@given(pairs)
def test_performance_lies_between_dismissing_all_and_opening_all(rows):
    actual, opened = np.array(rows).T
    assert performance(actual, np.zeros_like(actual)) == -actual.sum()
    assert performance(actual, np.ones_like(actual)) == best_performance(actual)
    assert -actual.sum() <= performance(actual, opened) <= best_performance(actual)
    assert performance_share(actual, np.ones_like(actual)) == 1


@given(pairs)
def test_sending_what_was_sent_scores_one_for_each_open(rows):
    actual = np.array(rows)[:, 0]
    assert performance(actual, actual) == actual.sum()


@given(pairs, st.floats(0, 1))
def test_expected_points_are_the_mean_over_both_answers(rows, p):
    actual = np.array(rows)[:, 0]
    both = p * points(actual, np.ones_like(actual)) + (1 - p) * points(actual, np.zeros_like(actual))
    assert expected_points(actual, np.full(len(actual), p)) == pytest.approx(both, abs=1e-12)


def test_share_against_the_best_probability():
    # Expected best: 0.5·1 - 0.5·1 = 0 for the opened one, 0.5·2 = 1 for the dismissed one; earned: 1 + 0.
    assert performance_share([True, False], [True, False], best=[0.5, 0.5]) == 1.0


def test_a_share_of_nothing_is_refused():
    with pytest.raises(ValueError, match="best possible performance is -1"):
        performance_share([True], [False], best=[0.0])


@pytest.mark.parametrize("call", [
    lambda: performance([True], [True, False]), lambda: performance([2], [1]), lambda: performance([np.nan], [1]),
    lambda: performance([[True]], [[True]]), lambda: expected_points([True], [1.5]),
    lambda: expected_points([True], [np.nan]),
    lambda: regret([0.5], [0.5, 0.5]), lambda: regret([], []), lambda: click_through_rate([]),
    lambda: mean_interval([1.0]), lambda: mean_interval([1.0, np.nan]), lambda: mean_interval([1, 2], level=1.0),
    lambda: share_interval(3, 2), lambda: share_interval(0, 0), lambda: paired_interval([1, 2], [1, 2, 3]),
])
def test_bad_input_is_a_value_error(call):
    with pytest.raises(ValueError):
        call()


def test_the_t_interval_agrees_with_scipy():
    values = np.random.default_rng(3).normal(2, 5, 17)
    ours = mean_interval(values, 0.9)
    theirs = stats.t.interval(0.9, 16, values.mean(), stats.sem(values))
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-12)


def test_the_wilson_interval_agrees_with_scipy():
    for successes, trials in ((0, 7), (3, 20), (20, 20)):
        wilson = stats.binomtest(successes, trials).proportion_ci(method="wilson")
        ours = share_interval(successes, trials)
        assert (ours.low, ours.high) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(11)
    covers = [low <= 1 <= high for _, low, high in (mean_interval(rng.exponential(1, 40)) for _ in range(2000))]
    assert 0.90 < np.mean(covers) < 0.97      # nominal 0.95, a little less for a skewed distribution


def test_pairing_narrows_the_interval_where_runs_share_their_luck():
    luck = np.random.default_rng(1).normal(0, 10, 20)
    ours, theirs = luck + 1 + np.linspace(-.1, .1, 20), luck
    paired, alone = paired_interval(ours, theirs), mean_interval(ours)
    assert paired.high - paired.low < (alone.high - alone.low) / 10 and paired.low > 0
