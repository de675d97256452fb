"""Statistics of a few runs on many tasks, what tells agents apart, and how many runs it takes."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from pushlab import plots
from pushlab.metrics import estimate
from pushlab.metrics.estimate.bootstrap import _draw
from pushlab.metrics.estimate.tables import STATISTICS
from pushlab.studies.coverage import OF_SCORES, Source, kept
from pushlab.studies.tables import read_tables

OURS = np.array([[0.10, 0.55, 0.90, -0.20], [0.35, 0.60, 1.20, 0.05], [0.20, 0.10, 1.05, 0.40],
                 [0.50, 0.95, 0.70, 0.15], [0.15, 0.45, 1.60, 0.30]])
THEIRS = np.array([[0.05, 0.50, 0.95, 0.10], [0.30, 0.65, 0.80, 0.05], [0.20, 0.40, 1.00, -0.10]])
THRESHOLDS = [-0.5, 0.05, 0.5, 0.95, 2.0]
GRIDS = arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.integers(-20, 20).map(float))


# ---------------------------------------------------------------- statistics of scores

def test_statistics_of_scores_are_those_of_rliable():
    """rliable 1.2.0 of the same matrices: aggregate_iqm, aggregate_optimality_gap, probability_of_improvement,
    score_distributions and average_score_distributions."""
    assert estimate.interquartile_mean(OURS) == pytest.approx(0.42)
    assert estimate.interquartile_mean(THEIRS) == pytest.approx(0.35833333333333334)
    assert estimate.interquartile_mean(OURS[:3, :3]) == pytest.approx(0.52)             # nine scores: two off each end
    assert estimate.optimality_gap(OURS) == pytest.approx(0.5375)
    assert estimate.optimality_gap(OURS, target=0.5) == pytest.approx(0.1725)
    assert estimate.probability_of_improvement(OURS, THEIRS) == pytest.approx(0.6333333333333333)
    assert estimate.performance_profile(OURS, THRESHOLDS) == pytest.approx([1.0, 0.9, 0.4, 0.15, 0.0])
    assert estimate.performance_profile(OURS, THRESHOLDS, by="tasks") == pytest.approx([1.0, 1.0, 0.5, 0.25, 0.0])


def test_what_is_drawn_spreads_as_in_rliable_and_the_interval_reaches_further():
    """rliable 1.2.0, get_interval_estimates of OURS, percentiles of 20,000 draws: 0.300 to 0.545, 0.4525 to 0.6225."""
    rng = np.random.default_rng(0)
    drawn = np.concatenate([_draw([OURS], rng, False, None)[0] for _ in range(25)])
    for statistic, theirs in ((estimate.interquartile_mean, (0.300, 0.545)),
                              (estimate.optimality_gap, (0.4525, 0.6225))):
        assert np.quantile(statistic(drawn), [0.025, 0.975]) == pytest.approx(theirs, abs=0.012)
        _, low, high = estimate.stratified_interval(OURS, statistic)
        assert theirs[0] - 0.06 < low < theirs[0] and theirs[1] < high < theirs[1] + 0.06


@given(GRIDS)
def test_statistics_keep_their_promises(scores):
    middle = estimate.interquartile_mean(scores)
    assert scores.min() <= middle <= scores.max()
    assert estimate.interquartile_mean(scores[::-1]) == pytest.approx(middle)
    assert estimate.interquartile_mean(2 * scores + 1) == pytest.approx(2 * middle + 1)
    assert estimate.optimality_gap(scores, 1.0) == pytest.approx(1 - np.minimum(scores, 1).mean())
    assert estimate.probability_of_improvement(scores, scores) == 0.5
    won = estimate.probability_of_improvement(scores, -scores)
    assert won + estimate.probability_of_improvement(-scores, scores) == pytest.approx(1)
    profile = estimate.performance_profile(scores, np.arange(-21, 21))
    assert profile[0] == 1 and profile[-1] == 0 and (np.diff(profile) <= 0).all()
    # The area below the profile, from the lowest threshold up, is the mean.
    assert profile.sum() - 21 == pytest.approx(scores.mean())


def test_statistics_take_many_matrices_at_once():
    many = np.random.default_rng(0).normal(size=(7, 5, 4))
    for function in (*STATISTICS.values(), lambda some: estimate.performance_profile(some, THRESHOLDS),
                     lambda some: estimate.probability_of_improvement(some, THEIRS)):
        assert function(many) == pytest.approx(np.array([function(one) for one in many]))


# ---------------------------------------------------------------- the stratified bootstrap

def test_of_one_task_the_interval_of_a_mean_is_about_that_of_student():
    values = np.random.default_rng(1).normal(size=30)
    ours, theirs = estimate.stratified_interval(values[:, None], np.mean), estimate.mean_interval(values)
    assert list(ours) == pytest.approx(list(theirs), abs=0.05)


def test_the_interval_ranges_over_runs_and_not_over_tasks():
    """Tasks that differ much, runs that hardly do: drawing runs across tasks would spread by about 20."""
    tasks = np.arange(8) * 10.0
    _, low, high = estimate.stratified_interval(tasks + np.random.default_rng(0).normal(size=(5, 8)), np.mean)
    assert high - low < 2 and low < 35 < high


def test_a_statistic_of_one_matrix_gives_what_its_vectorised_twin_gives():
    slow = estimate.stratified_interval(OURS, lambda one: float(one.mean()), resamples=400)
    fast = estimate.stratified_interval(OURS, lambda some: some.mean(axis=(-2, -1)), resamples=400)
    assert list(slow) == pytest.approx(list(fast))


def test_a_statistic_may_be_an_array_and_each_place_has_its_own_interval():
    whole = estimate.stratified_interval(OURS, lambda some: some.mean(axis=-2))
    assert all(np.shape(end) == (4,) for end in whole) and (whole.low < whole.mean).all()
    assert whole.mean == pytest.approx(OURS.mean(axis=0))


def test_runs_paired_by_seed_are_drawn_together():
    luck = np.random.default_rng(0).normal(size=(10, 3))

    def gap(one, other):
        return (one - other).mean(axis=(-2, -1))

    apart = estimate.stratified_interval(luck + 0.1, gap, luck)
    assert apart.low < 0 < apart.high
    assert estimate.stratified_interval(luck + 0.1, gap, luck, paired=True) == pytest.approx((0.1, 0.1, 0.1))


def test_ends_stay_where_the_statistic_can_be():
    sure = estimate.stratified_interval(OURS + 5, estimate.probability_of_improvement, THEIRS)
    assert sure == (1.0, 1.0, 1.0)
    assert all(0 <= end <= 1 for end in estimate.stratified_interval(OURS, estimate.probability_of_improvement, THEIRS))
    assert estimate.stratified_interval(OURS + 5, estimate.optimality_gap) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("level", [0.95, 0.99])
def test_ends_that_no_draw_reaches_are_those_of_student(level):
    """Of two or three runs, or at a high level, the tail is less than one of the draws."""
    values = np.array([0.1, 0.5, 0.45])
    ours, theirs = estimate.stratified_interval(values[:, None], np.mean, level=level), estimate.mean_interval(
        values, level)
    assert list(ours) == pytest.approx(list(theirs), rel=0.08)
    assert estimate.stratified_interval([[0.2], [0.9]], estimate.optimality_gap).low == 0
    better = estimate.stratified_interval([[0.2], [0.9]], estimate.probability_of_improvement, [[0.1], [0.5]])
    assert 0 <= better.low < better.high <= 1


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_the_unit_of_scores_does_not_matter(unit):
    ours = estimate.stratified_interval(OURS * unit, estimate.interquartile_mean)
    assert np.divide(ours, unit) == pytest.approx(list(estimate.stratified_interval(OURS, estimate.interquartile_mean)))


# ---------------------------------------------------------------- tables

def runs_table(scores=None):
    return pd.DataFrame([{"agent": agent, "seed": seed, "task": f"t{task}", "score": value}
                         for agent, matrix in (scores or {"b": OURS, "a": THEIRS}).items()
                         for (seed, task), value in np.ndenumerate(matrix)])


def test_a_table_of_runs_becomes_matrices_and_these_become_tables():
    matrices = estimate.score_matrices(runs_table().sample(frac=1, random_state=0))
    assert set(matrices) == {"a", "b"}
    assert matrices["b"].sort_index(axis=1).to_numpy() == pytest.approx(OURS)
    assert matrices["a"].shape == (3, 4) and matrices["a"].columns.tolist() == matrices["b"].columns.tolist()
    table = estimate.score_table(matrices).set_index(["statistic", "agent"])
    assert table.loc[("interquartile mean", "b"), "value"] == pytest.approx(0.42)
    assert (table["low"] <= table["value"]).all() and (table["value"] <= table["high"]).all()
    assert table.loc[("optimality gap", "a"), ["runs", "tasks"]].tolist() == [3, 4]
    profile = estimate.profile_table(matrices, THRESHOLDS)
    assert profile.loc[profile["agent"] == "b", "share"].tolist() == pytest.approx([1.0, 0.9, 0.4, 0.15, 0.0])
    better = estimate.score_table({"b": OURS, "a": THEIRS, "c": 1 - OURS}, against="a")
    assert better["agent"].tolist() == ["b", "c"] and better["value"][0] == pytest.approx(0.6333333)


# ---------------------------------------------------------------- pictures

@pytest.mark.parametrize("agents", [["ours", "random"], ["one"],
                                    [f"an agent of a rather long name, {letter}" for letter in "abcdef"]])
def test_pictures_name_each_agent_and_say_where_numbers_come_from(agents, good_picture):
    scores = {agent: OURS - 0.1 * place for place, agent in enumerate(agents)}
    words = good_picture(plots.score_intervals(estimate.score_table(scores)))
    assert "5 runs on each of 4 tasks, 95 % intervals by the stratified bootstrap" in words
    assert "0.42, 0.27 to 0.58" in words and {"interquartile mean", "optimality gap"} <= set(words)
    ax = plots.performance_profiles(estimate.profile_table(scores))
    assert sum(word.startswith(agents[0][:9]) for word in good_picture(ax)) >= 1
    looks = {(line.get_color(), str(line.get_linestyle()), line._unscaled_dash_pattern) for line in ax.lines}
    assert len(looks) == len(agents)


def test_only_an_interval_above_all_others_makes_a_title(good_picture):
    clear = plots.score_intervals(estimate.score_table({"ours": OURS + 1, "theirs": THEIRS}))
    assert "ours has the highest interquartile mean" in good_picture(clear)
    close = plots.score_intervals(estimate.score_table({"ours": OURS, "theirs": THEIRS}))
    assert "Interquartile mean of each agent" in good_picture(close)
    gap = {"optimality gap": estimate.optimality_gap}
    less = plots.score_intervals(estimate.score_table({"ours": OURS + 1, "theirs": THEIRS}, gap))
    assert "ours has the lowest optimality gap" in good_picture(less)
    tied = plots.score_intervals(estimate.score_table({"ours": OURS + 1, "twin": OURS + 1, "theirs": THEIRS}))
    assert "Interquartile mean of each agent" in good_picture(tied)
    both_lose = estimate.score_table({"ours": OURS, "less": OURS - 9, "theirs": OURS + 0.8}, against="theirs")
    assert "Probability of improvement over theirs of each agent" in good_picture(plots.score_intervals(both_lose))
    even = plots.score_intervals(estimate.score_table({"ours": OURS, "theirs": THEIRS}, against="theirs"))
    assert "neither is better" in good_picture(even)


def test_the_power_curve_says_how_many_runs_are_enough(good_picture):
    words = good_picture(plots.power_curve(estimate.power_table([0.5, 1.0, 0.2], 1.0)))
    assert "A difference of 0.50 takes 34 runs" in words
    assert {"0.50: 34 runs", "1: 10 runs", "0.20: over 50 runs"} <= set(words)
    late = good_picture(plots.power_curve(estimate.power_table([1.0], 1.0, [20, 30])))
    assert "1: ≤ 20 runs" in late
    assert "A difference of 1 takes 20 runs or fewer" in late


def test_captions_say_the_level_and_numbers_their_decimals(good_picture):
    table = estimate.score_table({"a": OURS[:, :1] / 100, "b": THEIRS[:, :1]}, level=0.5)
    words = good_picture(plots.score_intervals(table))
    assert "3 to 5 runs on one task, 50 % intervals by the stratified bootstrap" in words
    assert "0.0023, 0.0017 to 0.0030" in words
    apart = good_picture(plots.performance_profiles(estimate.profile_table({"a": OURS}, level=0.9)))
    assert "5 runs on each of 4 tasks, 90 % bands by the stratified bootstrap" in apart


# ---------------------------------------------------------------- a test that permutes

def test_permutations_counted_by_hand():
    """Three differences of one sign: two of eight signs are as extreme, all up and all down."""
    assert estimate.permutation_test([2.0, 3.0, 5.0], [1.0, 1.0, 1.0]) == (pytest.approx(7 / 3), 0.25, 8)
    # 1 and 2 against 3 and 4: one of six ways to part them is as low, and one as high.
    assert estimate.permutation_test([1.0, 2.0], [3.0, 4.0], paired=False) == (-2.0, pytest.approx(1 / 3), 6)


def test_runs_on_several_tasks_permute_within_tasks_or_as_whole_runs():
    ours = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0]])
    assert estimate.permutation_test(ours + 1, ours) == (pytest.approx(1), 2 / 8, 8)
    assert estimate.permutation_test(ours, ours + 100, paired=False).permutations == 20
    assert estimate.permutation_test((ours + 1).ravel(), ours.ravel()) == (pytest.approx(1), 2 / 64, 64)


def counted(sides, paired):
    """The p value of integers, by counting: as far out as what was seen, on its side, and twice that."""
    if paired:
        gaps = np.subtract(*sides)
        sums = [int(np.dot(signs, gaps)) for signs in product((1, -1), repeat=len(gaps))]
    else:
        pool, size = np.concatenate(sides), len(sides[0])
        sums = [2 * int(pool[list(some)].sum()) - int(pool.sum()) for some in combinations(range(len(pool)), size)]
    at_least, at_most = np.mean([one >= sums[0] for one in sums]), np.mean([one <= sums[0] for one in sums])
    return min(1, 2 * min(at_least, at_most))


@given(arrays(int, (2, 6), elements=st.integers(0, 7)), st.sampled_from([0, 1000, -1e6]),
       st.sampled_from([1e-9, 0.1, 1 / 3, 1e9]), st.booleans())
def test_the_p_value_is_exact_whatever_the_unit_and_the_origin(sides, shift, unit, paired):
    """Ties are counted as in whole numbers: tenths that add up to nearly the same are the same."""
    found = estimate.permutation_test(*(sides * unit + shift * unit), paired=paired)
    assert found.p_value == pytest.approx(counted(sides, paired))
    assert found.p_value >= 2 / found.permutations


def test_a_run_that_is_lucky_on_all_its_tasks_is_no_proof():
    """Nothing differs, but each run is as good on all eight tasks; at most 5 % of 200, see the next test."""
    luck = np.random.default_rng(0).normal(size=(200, 2, 8, 1)) + np.zeros(8)
    assert sum(estimate.permutation_test(*pair).p_value <= 0.05 for pair in luck) <= 22


@pytest.mark.parametrize(("runs", "paired"), [(5, True), (10, True), (5, False), (10, False)])
def test_where_nothing_differs_a_test_says_so_in_95_of_100_cases(runs, paired):
    """At most 5 % of 200, and four standard errors of 3.1: more than 22 come about once in 5,000 times."""
    rng = np.random.default_rng(runs)
    ours, theirs = np.exp(rng.normal(size=(2, 200, runs)))
    found = [estimate.permutation_test(*pair, paired=paired, resamples=300).p_value <= 0.05
             for pair in zip(ours, theirs)]
    assert sum(found) <= 22


# ---------------------------------------------------------------- how many runs

def test_power_is_that_of_the_tables_and_of_simulated_studies():
    """Cohen (1988), table 2.4.1: d = 0.5 and 0.8 at a power of 0.80 take 64 and 26 of each group."""
    assert [estimate.runs_needed(d, 1.0, paired=False) for d in (0.5, 0.8)] == [64, 26]
    values = np.random.default_rng(0).normal(0.8, 1.0, size=(20_000, 10))
    found = stats.ttest_1samp(values, 0, axis=1).pvalue < 0.05
    assert found.mean() == pytest.approx(estimate.power(0.8, 1.0, 10), abs=4 * 0.0034)
    assert estimate.power(0.0, 1.0, 7) == pytest.approx(0.05) and estimate.power(9.0, 1.0, 9) == pytest.approx(1.0)


@given(st.floats(0.05, 3), st.floats(0.1, 2), st.floats(0.3, 0.95), st.booleans())
def test_the_runs_needed_are_the_least_that_keep_the_promise(difference, spread, wanted, paired):
    runs = estimate.runs_needed(difference, spread, wanted, paired=paired)
    assert estimate.power(difference, spread, runs, paired=paired) >= wanted
    assert runs == 2 or estimate.power(difference, spread, runs - 1, paired=paired) < wanted
    assert runs == estimate.runs_needed(-difference, spread, wanted, paired=paired)


def test_a_pilot_with_its_margin_promises_too_much_in_one_of_five_cases_only():
    pilots = np.random.default_rng(0).normal(size=(2000, 5))
    enough = np.mean([estimate.pilot_spread(pilot) >= 1 for pilot in pilots])
    assert enough == pytest.approx(0.8, abs=4 * 0.009) and (pilots.std(axis=1, ddof=1) >= 1).mean() < 0.45


# ---------------------------------------------------------------- what is wrong is said

@pytest.mark.parametrize(("call", "message"), [
    (lambda: estimate.interquartile_mean([1.0, 2.0]), r"the axes \(runs, tasks\); got shape \(2,\). Of one task"),
    (lambda: estimate.interquartile_mean([[1.0, 2.0], [3.0]]), r"\(runs, tasks\), every task as many runs"),
    (lambda: estimate.optimality_gap([[1.0, 2.0], [3.0, np.nan]]), "run 1 of task 1 .* is nan"),
    (lambda: estimate.optimality_gap(OURS, np.nan), "target is a finite number"),
    (lambda: estimate.performance_profile(OURS, [0.5], by="seeds"), "by is one of runs, tasks; got 'seeds'"),
    (lambda: estimate.probability_of_improvement(OURS, THEIRS[:, :2]), "same tasks; ours are of 4, theirs of 2"),
    (lambda: estimate.stratified_interval(OURS[:1], np.mean), "2 runs or more .*; got 1 runs of 4 tasks"),
    (lambda: estimate.stratified_interval(OURS[None], np.mean), r"two axes, \(runs, tasks\); got shape \(1, 5, 4\)"),
    (lambda: estimate.stratified_interval(OURS, np.mean, THEIRS, paired=True), r"same runs and tasks; .*\(3, 4\)"),
    (lambda: estimate.stratified_interval(OURS, np.mean, level=95), "level lies between 0 and 1"),
    (lambda: estimate.stratified_interval(OURS, np.mean, resamples=10), "resamples is a whole number from 200 up"),
    (lambda: estimate.score_table({}), "nothing to tell"),
    (lambda: estimate.score_table({"a": OURS, "b": OURS}, against="c"), "against is one of a, b; got 'c'"),
    (lambda: estimate.score_matrices(runs_table().drop(columns="task")), "no column 'task'"),
    (lambda: estimate.score_matrices(runs_table().drop(index=6)), "no score of agent b, seed 1, task t2: every agent"),
    (lambda: estimate.score_matrices(pd.concat([runs_table(), runs_table()[:1]])), "agent b, seed 0, task t0 twice"),
    (lambda: estimate.permutation_test([1.0], [2.0]), "our runs need 2 runs or more"),
    (lambda: estimate.permutation_test([1.0, 2.0], [2.0, np.inf]), "their runs are finite; run 1 of task 0"),
    (lambda: estimate.permutation_test([1.0, 2.0], [2.0, 3.0, 4.0]), r"same runs and tasks; .* \(2, 1\)"),
    (lambda: estimate.permutation_test(OURS, THEIRS[:, :2], paired=False), "both sides have the same tasks; got"),
    (lambda: estimate.power(0.5, 0.0, 10), "a spread above 0"),
    (lambda: estimate.power(0.5, 1.0, 1), "at least 2 runs"),
    (lambda: estimate.runs_needed(0.0, 1.0), "no number of runs shows a difference of 0"),
    (lambda: estimate.runs_needed(1e-6, 1.0), "10,000,000 runs and more"),
    (lambda: estimate.runs_needed(0.5, 1.0, wanted=80), "wanted lies between 0 and 1"),
    (lambda: estimate.performance_profile(OURS, [0.5, np.nan]), "thresholds are numbers"),
    (lambda: estimate.power(0.5, 1.0, np.inf), "whole numbers of at least 2 runs"),
    (lambda: estimate.power(0.5, 1.0, 2.5), "whole numbers of at least 2 runs"),
    (lambda: estimate.permutation_test(OURS[None], OURS[None]), r"\(runs, tasks\); got 3 axes"),
    (lambda: estimate.permutation_test(OURS, OURS, resamples=None), "resamples is a whole number from 1 up; got None"),
    (lambda: estimate.pilot_spread([1.0]), "a pilot is at least 2 finite values"),
])
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---------------------------------------------------------------- how often they hold the truth

def test_the_shipped_table_of_coverage_is_what_the_study_computes():
    (table,) = read_tables(None, "coverage")
    for method, kind in (("mean_interval", "skewed"), ("share_interval", "normal"), ("median_time", "normal"),
                         ("power", "skewed"), ("permutation_test, paired", "normal")):
        found = table.query("method == @method and distribution == @kind and runs == 5")["kept"]
        assert found.tolist() == pytest.approx([kept(method, kind, 5)])


def test_intervals_of_few_runs_hold_the_truth_as_often_as_they_say():
    """But for skewed values, where five runs of one task rarely show the long tail; docstrings say how often."""
    (table,) = read_tables(None, "coverage")
    near_the_end = table["method"].str.contains(", 0.9|profile")
    row = table[(table["promised"] == 0.95) & (table["distribution"] != "skewed") & (table["runs"] >= 5) & ~near_the_end
                & ~table["method"].isin(["simultaneous", "mean, runs share their luck"])]
    assert row["kept"].min() > 0.91 and (row["kept"] > 0.93 - 0.014).mean() > 0.97       # two standard errors of 0.007
    many = row[row["tasks"] == 8]
    assert len(many) == 36 and many["kept"].between(0.93, 0.975).all()
    few = table[(table["runs"] < 5) & table["method"].isin(OF_SCORES)]
    assert len(few) == 18 and few["kept"].between(0.935, 0.98).all()
    assert (table.loc[near_the_end & (table["runs"] == 5) & (table["tasks"] == 1), "kept"] < 0.65).all()
    assert (table.loc[table["method"].str.contains("luck"), "kept"] < 0.7).all()
    test = table[table["method"].str.startswith("permutation_test")]
    assert (test["kept"] > 0.95 - 3 * 0.007).all()


def test_of_shares_near_the_ends_wilson_is_near_and_student_far_off():
    """Counted over all outcomes: the numbers of both docstrings."""
    def held(intervals, share):
        chances = stats.binom.pmf(np.arange(len(intervals)), len(intervals) - 1, share)
        return sum(chance for chance, one in zip(chances, intervals) if one.low <= share <= one.high)

    student = {0.8: (0.67, 0.89, 0.92), 0.9: (0.41, 0.65, 0.88), 0.95: (0.23, 0.40, 0.64)}
    wilson = (0.832, 0.835, 0.837)
    for at, runs in enumerate((5, 10, 20)):
        means = [estimate.mean_interval(np.arange(runs) < won) for won in range(runs + 1)]
        shares = [estimate.share_interval(won, runs) for won in range(runs + 1)]
        for share, of_means in student.items():
            assert held(means, share) == pytest.approx(of_means[at], abs=6e-3)
        of_all = [held(shares, share) for share in np.linspace(0.001, 0.999, 999)]
        beside = [end + by for _, *ends in shares for end in ends for by in (-1e-9, 1e-9) if 0 < end + by < 1]
        assert min(held(shares, share) for share in beside) == pytest.approx(wilson[at], abs=6e-4)  # it jumps at an end
        assert np.mean(of_all) == pytest.approx(0.95, abs=6e-3)
        assert held(shares, 0.2) == pytest.approx((0.94, 0.97, 0.96)[at], abs=6e-3)


def test_plain_percentiles_of_five_runs_are_too_narrow():
    source, rng, held = Source("normal", 5, 8), np.random.default_rng(0), np.zeros(2)
    for _ in range(200):
        scores = source.scores()
        drawn = _draw([scores], rng, False, None)[0].mean(axis=(-2, -1))
        ends = (np.quantile(drawn, [0.025, 0.975]), estimate.stratified_interval(scores, OF_SCORES["mean"])[1:])
        held += [low <= 0.4 <= high for low, high in ends]
    assert held[0] < 0.93 * 200 and held[1] > held[0] + 5


@pytest.mark.parametrize("method", ["interquartile_mean", "optimality_gap", "probability_of_improvement"])
def test_the_stratified_bootstrap_of_five_runs_holds_the_truth(method):
    """A true coverage of 0.955 gives less than 0.90 of 250 about once in 5,000 times."""
    assert kept(method, "normal", 5, tasks=4, studies=250) > 0.90


def test_an_interval_that_its_mark_would_hide_is_drawn_upon_the_mark(tmp_path):
    import matplotlib.pyplot as plt

    def white_in_the_middle(half):
        table = pd.DataFrame([{"statistic": "mean", "agent": name, "value": at, "low": at - half, "high": at + half,
                               "runs": 5, "tasks": 1, "level": 0.95} for name, at in (("a", 0.2), ("b", 0.8))])
        ax = plots.score_intervals(table)
        ax.figure.savefig(tmp_path / "rows.png", dpi=100)
        x, y = ax.transData.transform((0.8, 1)) * 100 / ax.figure.dpi
        picture = plt.imread(tmp_path / "rows.png")
        row, column = len(picture) - round(y), round(x) - 1
        return picture[row - 1:row + 1, column, :3].min(axis=-1).max() > 0.7

    assert white_in_the_middle(0.004) and not white_in_the_middle(0.15)
