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
    coverage,
    enticement,
    evenness,
    expected_points,
    learning_rate,
    performance,
    performance_share,
    plausibility,
    points,
    regret,
    response_time,
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
    lambda: expected_points([True, False, True], [0.5]), lambda: expected_points([True, False], 0.5),
    lambda: best_performance([True], [0.5, 0.5]), lambda: performance_share([True, False], [True, False], best=[0.9]),
    lambda: regret([np.nan], [0.5]), lambda: regret([0.5], [np.nan]), lambda: regret([1.5], [0.5]),
    lambda: regret([0.5], [-0.1]), lambda: regret(0.5, 0.5),
    lambda: share_interval(5, 10, level=2), lambda: share_interval(5, 10, level=0),
    lambda: share_interval(5, 10, level=np.nan), lambda: share_interval(np.nan, 10),
    lambda: share_interval([1, 2], [3, 4, 5]),
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


def test_a_share_and_its_interval_lie_between_0_and_1_to_the_last_digit():
    trials = np.arange(1, 2000)
    for successes in (0 * trials, trials):
        share, low, high = share_interval(successes, trials)
        assert (0 <= low).all() and (low <= share).all() and (share <= high).all() and (high <= 1).all()
        assert (np.where(successes == 0, low, 1 - high) == 0).all()
    assert str(share_interval(0, 27)).startswith("0 [0, ")


def test_the_interval_covers_as_often_as_it_says():
    rng = np.random.default_rng(11)
    covers = [low <= 1 <= high for _, low, high in (mean_interval(rng.exponential(1, 40)) for _ in range(2000))]
    assert 0.90 < np.mean(covers) < 0.97      # nominal 0.95, a little less for a skewed distribution


def test_a_share_interval_of_arrays_is_that_of_each_pair():
    together = share_interval(5, [10, 20])
    for at, trials in enumerate((10, 20)):
        assert [ends[at] for ends in together] == pytest.approx(list(share_interval(5, trials)), abs=1e-12)
    assert together.low.shape == (2,)


def test_pairing_narrows_the_interval_where_runs_share_their_luck():
    luck = np.random.default_rng(1).normal(0, 10, 20)
    ours, theirs = luck + 1 + np.linspace(-.1, .1, 20), luck
    paired, alone = paired_interval(ours, theirs), mean_interval(ours)
    assert paired.high - paired.low < (alone.high - alone.low) / 10 and paired.low > 0


# ---------------------------------------------------------------- diversity, plausibility, time

words = st.sampled_from("abcd")
tables = st.integers(1, 4).flatmap(
    lambda wide: st.tuples(*[st.lists(st.tuples(*[words] * wide), min_size=1, max_size=12) for _ in range(2)]))


@given(tables)
def test_coverage_and_evenness_are_shares_that_the_history_itself_fills(pair):
    accepted, history = pair
    assert 0 <= coverage(accepted, history) <= 1
    assert coverage(history + accepted, history) == 1
    if any(len(set(column)) > 1 for column in zip(*history)):
        assert 0 <= evenness(accepted, history) <= 1 + 1e-12
        assert evenness(accepted[:1] * 5, history) == 0 == coverage([], history) == evenness([], history)


def test_coverage_by_hand_and_as_the_original_counted_it():
    history = [["chat", "low"], ["mail", "low"], ["news", "high"]]
    accepted = [["chat", "low"], ["mail", "urgent"], ["mail", "odd"]]
    assert coverage(accepted, history) == (2 + 1) / 5
    assert coverage(accepted, history, reference="gym-push-0.0.21") == (2 + 3) / 5


def test_coverage_is_the_same_for_words_codes_and_tables():
    import pandas as pd

    history = pd.DataFrame({"app": ["chat", "mail", "news"], "category": ["msg", "msg", "event"]})
    codes = np.array([[0, 0], [1, 0], [2, 1]])
    for metric in (coverage, evenness):
        assert metric(history[:2], history) == metric(codes[:2], codes) == metric(history.values.tolist()[:2], history)


def test_evenness_is_one_where_every_value_is_opened_as_often():
    history = [[a, b] for a in range(3) for b in range(2)]
    assert evenness(history, history) == pytest.approx(1)
    assert evenness([[0, 0], [0, 1]], history) == pytest.approx((0 + 1) / 2)


def test_plausibility_counts_rows_not_kinds():
    assert plausibility([[0, 1], [0, 1], [0, 2], [9, 9]], [[0, 1], [5, 5]]) == 0.5


@given(st.lists(st.sampled_from(["low", "moderate", "high"]), min_size=1, max_size=30))
def test_enticement_is_the_points_between_least_and_greatest(levels):
    points = sum({"low": 1, "moderate": 2, "high": 3}[level] for level in levels)
    assert enticement(levels) == pytest.approx((points - len(levels)) / (3 * len(levels) - len(levels)))


def test_the_95th_percentile_is_a_time_that_occurred():
    assert response_time(np.arange(1, 101)) == (50.5, 95.0)
    assert response_time([2.0]) == (2.0, 2.0)


def test_learning_rate_by_hand():
    # Smoothed over 2: 0.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0 at steps 1 to 7; the line through them rises 1/7 a step.
    rate = learning_rate([0, 0, 1, 1, 1, 1, 1, 1], window=2)
    assert rate.slope == pytest.approx(1 / 7) and rate.settled == 3
    assert learning_rate([1.0] * 9, window=3) == (0.0, 2)               # settled from the first smoothed value on
    # The last quarter, 75 to 99, has the mean 87 and lies within 12 of it: from 87 - 24 on.
    assert learning_rate(np.arange(100), window=1).settled == 63
    assert learning_rate(-np.arange(100), window=10).slope == pytest.approx(-1)


def test_learning_rate_finds_where_noisy_learning_ends():
    expected = np.minimum(0.2 + 0.5 * np.arange(4000) / 1000, 0.7)         # 0.2 to 0.7 in 1,000 steps, then level
    rates = [learning_rate(np.random.default_rng(seed).random(4000) < expected, window=200) for seed in range(20)]
    assert 700 < np.median([rate.settled for rate in rates]) < 1300
    flat = [learning_rate(np.random.default_rng(seed).random(4000) < 0.5, window=200) for seed in range(20)]
    assert max(abs(rate.slope) for rate in flat) < min(rate.slope for rate in rates) / 2


@pytest.mark.parametrize("call", [
    lambda: coverage([["a"]], []), lambda: coverage([["a", "b"]], [["a"]]), lambda: coverage(["a"], [["a"]]),
    lambda: coverage([[np.nan]], [["a"]]), lambda: coverage([[None]], [["a"]]),
    lambda: coverage([["a"]], [["a"]], reference="gym-push-1"), lambda: evenness([["a"]], [["a"]]),
    lambda: evenness([], []), lambda: plausibility([], [["a"]]), lambda: plausibility([["a", "b"]], [["a"]]),
    lambda: enticement([]), lambda: enticement(["low", "much"]), lambda: enticement([np.nan]),
    lambda: response_time([]), lambda: response_time([-1.0]),
    lambda: response_time([np.inf]), lambda: response_time([[1.0]]), lambda: learning_rate([1, 2], window=2),
    lambda: learning_rate([1, 2], window=0), lambda: learning_rate([1, np.nan, 2], window=1), lambda: learning_rate([]),
])
def test_bad_input_to_the_newer_metrics_is_a_value_error(call):
    with pytest.raises(ValueError):
        call()
