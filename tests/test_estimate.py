"""Intervals, tests and power against hand calculations, SciPy and published values."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scripts import load_script

from pushlab.metrics import estimate

pigeonhole_interval = load_script("interval_coverage").pigeonhole_interval

OURS = np.array(
    [
        [0.10, 0.55, 0.90, -0.20],
        [0.35, 0.60, 1.20, 0.05],
        [0.20, 0.10, 1.05, 0.40],
        [0.50, 0.95, 0.70, 0.15],
        [0.15, 0.45, 1.60, 0.30],
    ]
)
THEIRS = np.array(
    [[0.05, 0.50, 0.95, 0.10], [0.30, 0.65, 0.80, 0.05], [0.20, 0.40, 1.00, -0.10]]
)
THRESHOLDS = [-0.5, 0.05, 0.5, 0.95, 2.0]


# ---------------------------------------------------------------- means and shares


def test_mean_and_paired_intervals_are_those_of_student():
    values = np.random.default_rng(3).normal(2, 5, 17)
    expected = stats.t.interval(0.9, 16, values.mean(), stats.sem(values))
    found = estimate.mean_interval(values, 0.9)
    assert found == pytest.approx((values.mean(), *expected), rel=1e-12)
    paired = estimate.paired_interval(values + np.arange(17), np.arange(17), 0.9)
    assert paired == pytest.approx(found)
    assert str(estimate.mean_interval([1.0, 2.0, 3.0])) == "2 [-0.484, 4.48]"
    halves = estimate.half_width([2.0, 3.0], [4, 9])
    assert halves == pytest.approx([3.18245, 2.30600], abs=1e-5)  # t of 3 and 8


def test_share_intervals_are_those_of_wilson():
    successes = np.array([0, 3, 20])
    found = estimate.proportion_interval(successes, [7, 20, 20], level=0.9)
    for at, (won, trials) in enumerate(zip(successes, (7, 20, 20))):
        test = stats.binomtest(int(won), trials)
        expected = test.proportion_ci(0.9, method="wilson")
        alone = estimate.proportion_interval(won, trials, level=0.9)
        assert alone == pytest.approx((won / trials, *expected), abs=1e-12)
        assert [ends[at] for ends in found] == pytest.approx(list(alone))
    assert str(found).startswith("0 [0, ")
    assert found.low[0] == 0
    assert found.high[2] == 1


# Mean squares of rows, columns and rest: 6, 8 and 2 with 1, 2 and 2 degrees of freedom.
CROSSED = np.array([[1.0, 2.0, 6.0], [3.0, 6.0, 6.0]])


def test_crossed_intervals_have_the_variance_of_both_sources():
    half = stats.t.ppf(0.95, 12**2 / (36 + 32 + 2)) * (12 / 6) ** 0.5
    expected = pytest.approx((4, 4 - half, 4 + half))
    assert estimate.crossed_interval(CROSSED, level=0.9) == expected
    assert estimate.crossed_interval(CROSSED.T, level=0.9) == expected
    days = np.array([10.0, -20.0, 70.0])
    assert (
        estimate.crossed_interval(CROSSED + days, 0 * CROSSED + days, 0.9) == expected
    )
    # Mean squares 4, 0 and 16: the variance is that of the rows alone, with one degree.
    found = estimate.crossed_interval([[0.0, 4.0], [6.0, 2.0]])
    assert found == pytest.approx((3, 3 - 12.7062, 3 + 12.7062), abs=1e-4)


def test_simultaneous_intervals_share_the_risk():
    samples = {"a": [1.0, 2.0, 4.0], "b": [5.0, 6.0, 7.0]}
    found = estimate.simultaneous_intervals(samples, level=0.9)
    assert found == {
        name: estimate.mean_interval(values, 0.95) for name, values in samples.items()
    }
    wide = estimate.simultaneous_intervals(
        [CROSSED, -CROSSED], 0.9, estimate.crossed_interval
    )
    assert wide[1] == estimate.crossed_interval(-CROSSED, level=0.95)


def test_holm_multiplies_the_smallest_p_value_by_the_number_of_tests():
    assert estimate.holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert estimate.holm([0.6, 0.7, 0.004]) == pytest.approx([1.0, 1.0, 0.012])


# ---------------------------------------------------------------- statistics of scores


def test_statistics_of_scores_are_those_of_rliable():
    """The expected numbers are rliable 1.2.0's of the same matrices."""
    assert estimate.interquartile_mean(OURS) == pytest.approx(0.42)
    assert estimate.interquartile_mean(THEIRS) == pytest.approx(0.35833333333333334)
    assert estimate.interquartile_mean(OURS[:3, :3]) == pytest.approx(0.52)
    assert estimate.optimality_gap(OURS) == pytest.approx(0.5375)
    improvement = estimate.probability_of_improvement(OURS, THEIRS)
    assert improvement == pytest.approx(0.6333333333333333)
    profile = estimate.performance_profile(OURS, THRESHOLDS)
    assert profile == pytest.approx([1.0, 0.9, 0.4, 0.15, 0.0])


def mean_score(draws):
    return draws.mean(axis=(-2, -1))


# Sums of runs that are 0 or 1 are binomial, so that the bootstrap's percentiles are
# known. They lie where the normal distribution has the tail of sqrt(n / (n - 1)) t,
# with n - 1 degrees of freedom, or 2 (n - 1) if two tasks vary alike.
@pytest.mark.parametrize(
    ("runs", "tasks", "level", "low", "high"),
    [
        (11, 1, 0.95, 1 / 11, 9 / 11),
        (8, 2, 0.9, 4 / 16, 12 / 16),
        (4, 2, 0.9, 1 / 8, 7 / 8),
    ],
)
def test_stratified_intervals_end_at_expanded_percentiles(
    runs, tasks, level, low, high
):
    scores = np.tile(np.arange(runs) < runs // 2, (tasks, 1)).T.astype(float)

    def interval(scores, statistic):
        return estimate.stratified_interval(
            scores, statistic, level=level, resamples=20_000
        )

    found = interval(scores, mean_score)
    assert found == pytest.approx((runs // 2 / runs, low, high))
    # A constant task moves the statistic and adds no uncertainty.
    more = np.column_stack([scores, np.full(runs, 7.0)])
    found = interval(more, lambda draws: 2 * mean_score(draws[..., :-1]))
    assert found == pytest.approx((2 * (runs // 2) / runs, 2 * low, 2 * high))


def test_bootstrap_intervals_agree_with_the_exact_ones_of_means():
    values = np.array([0.1, 0.5, 0.45])
    for level in (0.95, 0.99):
        drawn = estimate.stratified_interval(
            values[:, None], mean_score, level=level, resamples=10_000
        )
        exact = estimate.mean_interval(values, level)
        assert drawn == pytest.approx(exact, rel=0.03)
    grid = np.random.default_rng(0).normal(size=(20, 1)) + np.arange(28)
    drawn = pigeonhole_interval(grid)
    exact = estimate.crossed_interval(grid)
    assert drawn == pytest.approx(exact, rel=0.02)


def test_statistics_of_the_bootstrap_may_be_arrays_or_of_two_agents():
    with pytest.raises(ValueError, match=r"axis=\(-2, -1\)"):
        estimate.stratified_interval(OURS, np.mean)
    several = estimate.stratified_interval(OURS, lambda draws: draws.mean(axis=-2))
    assert several.mean == pytest.approx(OURS.mean(axis=0))
    alone = estimate.stratified_interval(OURS[:, [2]], mean_score)
    assert several.low[2] == pytest.approx(alone.low, abs=0.04)

    def gap(ours, theirs):
        return mean_score(ours - theirs)

    apart = estimate.stratified_interval(OURS + 0.1, gap, OURS)
    assert apart.mean == pytest.approx(0.1)
    assert apart.low < 0
    paired = estimate.stratified_interval(OURS + 0.1, gap, OURS, shared_seeds=True)
    assert paired == pytest.approx((0.1, 0.1, 0.1))
    of_rows = estimate.stratified_interval(OURS, mean_score, shared_seeds=True)
    assert of_rows == pytest.approx(estimate.mean_interval(OURS.mean(axis=1)), rel=0.1)
    improvement = estimate.probability_of_improvement
    assert estimate.stratified_interval(OURS + 5, improvement, THEIRS) == (1, 1, 1)


def runs_table():
    rows = []
    for agent, matrix in {"b": OURS, "a": THEIRS}.items():
        for (seed, task), score in np.ndenumerate(matrix):
            rows.append({"agent": agent, "seed": seed, "task": task, "score": score})
    return pd.DataFrame(rows)


def test_a_table_of_runs_becomes_tables_of_statistics():
    matrices = estimate.score_matrices(runs_table().sample(frac=1, random_state=0))
    assert matrices["b"].sort_index(axis=1).to_numpy() == pytest.approx(OURS)
    assert matrices["a"].columns.tolist() == matrices["b"].columns.tolist()
    table = estimate.score_table(matrices).set_index(["statistic", "agent"])
    row = table.loc[("interquartile mean", "b")]
    middle = estimate.stratified_interval(matrices["b"], estimate.interquartile_mean)
    assert row.tolist() == pytest.approx([*middle, 5, 4])
    assert table.loc[("optimality gap", "a"), "runs"] == 3
    others = {"b": OURS, "a": THEIRS, "c": 1 - OURS}
    better = estimate.score_table(others, against="a")
    assert better["agent"].tolist() == ["b", "c"]
    assert better["value"][0] == pytest.approx(0.6333333)
    profile = estimate.profile_table({"b": OURS}, THRESHOLDS)
    assert profile["share"].tolist() == pytest.approx([1.0, 0.9, 0.4, 0.15, 0.0])
    assert profile["high"].max() == 1
    assert profile["low"].min() == 0


# ---------------------------------------------------------------- tests and power


def test_permutation_p_values_count_the_arrangements_as_extreme():
    test = estimate.permutation_test
    # All differences up or all down: two of eight signs.
    assert test([2.0, 3.0, 5.0], [1.0, 1.0, 1.0]) == (pytest.approx(7 / 3), 0.25, 8)
    ours = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert test(ours + 1, ours) == (pytest.approx(1), 2 / 8, 8)
    # Tenths that tie as whole numbers would: 16 of 32 signs are as extreme.
    tied = test(np.array([3, 1, 2, 2, 2]) / 10, np.array([0, 2, 2, 1, 1]) / 10)
    assert tied.p_value == 16 / 32
    drawn = test(np.arange(20), np.arange(20) % 7, resamples=300)
    assert drawn.permutations == 300
    assert drawn == test(np.arange(20), np.arange(20) % 7, resamples=300)


def test_power_is_that_of_published_tables():
    """Cohen (1988), table 2.4.1, and statsmodels 0.14 (TTestPower, TTestIndPower)."""
    cohen = [estimate.runs_needed(d, 1.0, paired=False) for d in (0.5, 0.8, -0.8)]
    assert cohen == [64, 26, 26]
    assert estimate.runs_needed(0.5, 1.0) == 34
    assert estimate.runs_needed(1.0, 0.5, target_power=0.5, level=0.99) == 5
    assert estimate.power(0.8, 1.0, 10) == pytest.approx(0.6162328, abs=1e-6)
    unpaired = estimate.power(-0.8, 2.0, [10, 50], level=0.9, paired=False)
    assert unpaired == pytest.approx([0.2226543, 0.6337061], abs=1e-6)
    assert estimate.power(0.0, 1.0, 7) == pytest.approx(0.05)
    # The deviation of five pilot runs over the root of 1.6488 / 4, the 20 % quantile.
    spread = estimate.pilot_spread([1.0, 2.0, 3.0, 4.0, 5.0])
    assert spread == pytest.approx((2.5 * 4 / 1.648777) ** 0.5, rel=1e-6)


@pytest.mark.parametrize(
    ("times", "follow_up_time", "expected"),
    [
        ([1, np.inf], 9, (np.inf, 0, np.inf)),
        # One of four is lost at 2. Of the two left one arrives at 5: from 3/4 to 3/8.
        ([1, np.inf, 5, 7], [9, 2, 9, 9], (5, 0, np.inf)),
        # With 6 times the ends are the first and last, with 12 the third and tenth.
        ([3, 4, 5, 6, np.inf, np.inf], 100, (5.5, 3, np.inf)),
        (np.arange(12), 100, (5.5, 2, 9)),
        # One is lost at 1, and 9 are left: 5/6 before, and 5/6 times 5/9 at 5.
        ([*range(10), np.inf, np.inf], [4] * 5 + [9] * 6 + [1], (5, 1, 9)),
    ],
)
def test_median_times_account_for_times_never_reached(times, follow_up_time, expected):
    found = estimate.median_time(times, follow_up_time)
    assert found == (*expected, np.max(follow_up_time))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: estimate.mean_interval([1.0]), "at least 2 finite values"),
        (lambda: estimate.proportion_interval(3, 2), "successes from 0 to as many"),
        (lambda: estimate.crossed_interval([[1.0, 2.0]]), r"got shape \(1, 2\)"),
        (lambda: estimate.crossed_interval([[1, 2], [3, np.nan]]), "column 1 is nan"),
        (lambda: estimate.optimality_gap([[1.0], [np.nan]]), "run 1, task 0 is nan"),
        (
            lambda: estimate.score_matrices(runs_table().drop(index=6)),
            "no score of agent b, seed 1, task 2",
        ),
        (lambda: estimate.score_table({}), "scores must be {agent: array .*got {}"),
        (lambda: estimate.simultaneous_intervals([]), "no values to compare"),
        (lambda: estimate.power(0.5, 1.0, 2.5), "integers of at least 2 runs"),
        (lambda: estimate.median_time([2.0], 1), "from 0 to its time limit"),
    ],
)
def test_invalid_samples_raise_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
