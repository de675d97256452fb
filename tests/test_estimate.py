"""Intervals where sources of chance cross, and where comparisons are many."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pushlab import plots
from pushlab.metrics.estimate import (
    crossed_bootstrap,
    crossed_interval,
    holm,
    leader,
    mean_interval,
    median_time,
    paired_interval,
    simultaneous,
)
from pushlab.metrics.estimate.crossed import _crossed as crossed_parts

GRIDS = [(20, 28), (10, 28), (5, 20)]
SIMULATIONS = 4000


def grids(rows, columns, by_row, by_column, rest, count=SIMULATIONS, seed=0):
    """Grids of two-way random effects about a mean of 0, (count, rows, columns)."""
    rng = np.random.default_rng(seed)
    return (by_row * rng.normal(size=(count, rows, 1)) + by_column * rng.normal(size=(count, 1, columns))
            + rest * rng.normal(size=(count, rows, columns)))


def coverage(values, level=0.95):
    """Share of crossed intervals that hold 0."""
    mean, variance, freedom = crossed_parts(values)
    return float((np.abs(mean) <= stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(variance)).mean())


# In 4,000 simulations a true coverage of 0.935 to 0.966 has a standard error of at most 0.0039: it lies four of them
# inside 0.92 and 0.98, so that a right method fails at one of these grids once in 30,000 times.
@pytest.mark.parametrize(("rows", "columns"), GRIDS)
@pytest.mark.parametrize("effects", [(0.2, 1, 1), (0.3, 1, 0.5), (1, 1, 1), (0, 1, 0.3), (1, 0.2, 1)])
def test_a_crossed_interval_holds_the_truth_as_often_as_it_says(rows, columns, effects):
    assert 0.92 < coverage(grids(rows, columns, *effects)) < 0.98


@pytest.mark.parametrize(("rows", "columns", "least"), [(20, 28, 0.93), (5, 20, 0.93), (3, 8, 0.93), (2, 10, 0.91)])
def test_where_nothing_but_the_rest_varies_it_is_at_most_too_wide(rows, columns, least):
    assert coverage(grids(rows, columns, 0, 0, 1)) > least


@pytest.mark.parametrize(("rows", "columns"), GRIDS)
def test_the_interval_over_rows_alone_fails_where_days_are_strong(rows, columns):
    values = grids(rows, columns, 0.1, 1, 0.5, 400)
    row_means = values.mean(axis=2)
    half = stats.t.ppf(0.975, rows - 1) * stats.sem(row_means, axis=1)
    assert (np.abs(row_means.mean(axis=1)) <= half).mean() < 0.7
    assert 0.9 < coverage(values) < 0.99


def test_one_grid_and_the_vectorised_parts_agree():
    values = grids(5, 20, 1, 1, 1, 3)
    for one, mean, variance, freedom in zip(values, *crossed_parts(values)):
        half = stats.t.ppf(0.95, freedom) * variance ** 0.5
        assert crossed_interval(one, level=0.9) == pytest.approx((mean, mean - half, mean + half))
        assert crossed_interval(one) == pytest.approx(crossed_interval(one.T))


def test_the_variance_is_that_of_the_pigeonhole_bootstrap_but_for_its_biases():
    """The bootstrap of rows and columns has a variance in closed form, checked by drawing; ours is it, corrected."""
    values, (rows, columns) = grids(8, 12, 1, 1, 0.5, 1)[0], (8, 12)
    rng, count = np.random.default_rng(1), 20_000
    by_row = rng.multinomial(rows, np.full(rows, 1 / rows), count) / rows
    by_column = rng.multinomial(columns, np.full(columns, 1 / columns), count) / columns
    drawn = ((by_row @ values) * by_column).sum(axis=1)
    mean, r, c = values.mean(), values.mean(1, keepdims=True), values.mean(0, keepdims=True)
    rest = ((values - r - c + mean) ** 2).mean()
    expected = r.var() / rows + c.var() / columns + rest / values.size
    assert drawn.var() == pytest.approx(expected, rel=0.06)
    between_rows, between_columns = r.var(ddof=1) / rows, c.var(ddof=1) / columns
    _, ours, _ = crossed_parts(values)
    leftover = rest * values.size / ((rows - 1) * (columns - 1)) / values.size
    assert ours == pytest.approx(between_rows + between_columns - leftover)


def test_two_agents_on_one_grid_are_paired():
    ours, days = grids(5, 20, 0.1, 0, 0.2, 1)[0] + 1, grids(5, 20, 0, 3, 0, 1, seed=1)[0]
    paired = crossed_interval(ours + days, days)
    assert paired == pytest.approx(crossed_interval(ours)) and paired.low > 0
    assert crossed_interval(ours + days).low < paired.low


@pytest.mark.parametrize(("call", "message"), [
    (lambda: crossed_interval([1.0, 2.0]), r"at least 2 rows and 2 columns; got shape \(2,\)"),
    (lambda: crossed_interval([[1.0, 2.0]]), r"got shape \(1, 2\)"),
    (lambda: crossed_interval([[1.0, 2.0], [3.0, np.nan]]), "row 1, column 1 is nan"),
    (lambda: crossed_interval(np.ones((2, 2)), np.ones((2, 3))), "same rows and columns"),
    (lambda: crossed_interval(np.ones((2, 2)), level=95), "level lies between 0 and 1, both excluded; got 95"),
    (lambda: holm([0.1, 1.2]), "p values lie between 0 and 1"),
    (lambda: holm([[0.1]]), "in one dimension"),
    (lambda: simultaneous({}), "nothing to compare"),
    (lambda: simultaneous([[1.0, 2.0]], level=1.0), "level lies between 0 and 1"),
    (lambda: leader({"a": [1.0, 2.0]}, level=0), "level lies between 0 and 1"),
])
def test_what_is_wrong_is_said(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_intervals_drawn_together_all_hold_as_often_as_they_say():
    """Twenty samples that share their luck: one of twenty 95 % intervals misses in over a third of all cases."""
    rng = np.random.default_rng(0)
    together = alone = 0
    for _ in range(400):
        values = {name: run for name, run in enumerate(rng.normal(size=(20, 12)) + 0.3 * rng.normal(size=12))}
        together += all(low <= 0 <= high for _, low, high in simultaneous(values).values())
        alone += all(low <= 0 <= high for _, low, high in map(mean_interval, values.values()))
    assert together > 364 and alone < 260           # 0.95 of 400 less four standard errors of 4.4


def test_intervals_drawn_together_take_any_interval():
    grid = grids(5, 20, 1, 1, 1, 1)[0]
    wide = simultaneous({"a": grid, "b": -grid}, interval=crossed_interval)
    assert wide["a"] == crossed_interval(grid, level=0.975) and list(wide) == ["a", "b"]


def test_holm_by_hand():
    assert holm([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    assert holm([0.6, 0.7]) == pytest.approx([1.0, 1.0]) and holm([]).shape == (0,)


@pytest.mark.parametrize(("samples", "first"), [
    ({"a": [1, 2, 3, 4], "b": [0, 1.1, 2, 2.9]}, "a"),                      # paired: always about 1 ahead
    ({"a": [1, 2, 3, 4], "b": [3, 0, 4, 2]}, None),
    ({"a": [1, 2, 3, 4], "b": [0, 1.1, 2, 2.9], "c": [3, 0, 4, 2]}, None),  # ahead of one, not of all
    ({"a": [1, 2, 3, 4], "b": [0.6, 0.7, 0.8]}, None),                      # unpaired: Welch, 1.8 with an error of 0.65
    ({"a": [5, 6, 5, 6], "b": [0.0, 0.1, 0.2]}, "a"),
    ({"a": [5], "b": [0]}, None), ({"a": [5, 6]}, None), ({"a": [5, 6], "b": [0, np.nan]}, None), ({}, None),
])
def test_only_the_one_that_is_surely_ahead_leads(samples, first):
    assert leader(samples) == first
    assert leader({name: np.negative(values) for name, values in samples.items()}, higher=False) == first


def test_nobody_leads_where_all_are_alike():
    """Of five agents alike one is named in at most 5 % of all cases: 20 of 400, plus four standard errors of 4.4."""
    rng = np.random.default_rng(0)
    named = [leader(dict(enumerate(values))) for values in rng.normal(size=(400, 5, 10))]
    assert sum(name is not None for name in named) <= 38


def test_a_leader_on_grids_is_ahead_over_both_sources():
    rng = np.random.default_rng(0)
    days = rng.normal(size=(1, 10)) + 0.3
    ours, theirs = days + 0.1 * rng.normal(size=(8, 10)), np.zeros((8, 10))
    assert leader({"a": ours.mean(axis=1), "b": theirs.mean(axis=1)}) == "a"
    assert paired_interval(ours.mean(axis=1), theirs.mean(axis=1)).low > 0
    assert leader({"a": ours, "b": theirs}) is None and crossed_interval(ours, theirs).low < 0


# ---------------------------------------------------------------- times that are not always reached

def test_without_censoring_the_median_is_the_ordinary_one():
    rng = np.random.default_rng(0)
    for count in (1, 2, 5, 8, 21):
        times = rng.integers(0, 9, count).astype(float)
        assert median_time(times, 10).median == np.median(times)


@pytest.mark.parametrize(("times", "watched", "median"), [
    ([1, 2, np.inf], 9, 2.0), ([1, np.inf], 9, np.inf), ([np.inf] * 3, 9, np.inf), ([1, np.inf, np.inf], 9, np.inf),
    # Of four one is lost from sight at 2: of the two left then, one comes at 5, so that the curve is 3/4, then 3/8.
    ([1, np.inf, 5, 7], [9, 2, 9, 9], 5.0),
])
def test_the_median_under_censoring_by_hand(times, watched, median):
    assert median_time(times, watched).median == median


def test_what_half_never_reach_is_said_to_take_longer():
    assert str(median_time([np.inf] * 6, 100)) == "100 or more"
    assert str(median_time([3, 4, 5, 6, np.inf, np.inf], 100)) == "5.5 [3, 100 or more]"
    assert str(median_time([4.0] * 6, 100)) == "4" and str(median_time([10.0] * 6, 10)) == "10"


# Exponential times with a median of ln 2, watched for at most 1, twelve at a time: the interval is from the third to
# the tenth, exact at 0.9614, with a standard error of 0.0061 in 1,000 studies. It fails once in 30,000 times.
def test_the_interval_of_a_median_holds_it_as_often_as_it_says_though_times_are_cut_off():
    rng = np.random.default_rng(0)
    covers = 0
    for times in rng.exponential(size=(1000, 12)):
        _, low, high, _ = median_time(np.where(times > 1, np.inf, times), 1.0)
        covers += low <= np.log(2) <= high
    assert covers / 1000 > 0.9614 - 4 * 0.0061


@pytest.mark.parametrize("call", [
    lambda: median_time([], 1), lambda: median_time([np.nan], 1), lambda: median_time([[1.0]], 1),
    lambda: median_time([1.0], np.inf), lambda: median_time([2.0], 1), lambda: median_time([-1.0], 1),
])
def test_times_that_cannot_be_are_refused(call):
    with pytest.raises(ValueError, match="watched"):
        call()


# ---------------------------------------------------------------- titles of pictures

def comparison(apart, names=("early", "late"), runs=6):
    """A log of two agents, `apart` from one another, whose luck differs from run to run by about 1."""
    luck = np.random.default_rng(3).normal(size=(len(names), runs, 20))
    rows = [{"env": "a", "agent": name, "run": run, "seed": run, "step": step, "knob": 1.0 + step % 2,
             "reward": apart * place + luck[place, run].mean() * 4}
            for place, name in enumerate(names) for run in range(runs) for step in range(20)]
    return pd.DataFrame(rows)


@pytest.mark.parametrize("draw", [
    lambda log: plots.learning_curve(log, window=5),
    lambda log: plots.compare_policies(log),
    lambda log: plots.sweep_curve(log.groupby(["env", "agent", "run", "knob"], as_index=False)["reward"].mean(), "knob",
                                  "reward"),
])
def test_a_title_names_the_highest_only_where_the_intervals_do(draw, good_picture):
    assert any(words.startswith("late ") and "highest" in words for words in good_picture(draw(comparison(9.0))))
    close = good_picture(draw(comparison(0.1)))
    assert "Neither is surely ahead of the other" in close and not any("highest" in words for words in close)
    alone = good_picture(draw(comparison(9.0, runs=1)))
    assert "One run each does not tell who is ahead" in alone


def test_the_titles_of_stored_studies_ask_the_runs(good_picture):
    from pushlab.studies.cold_start import read_study

    runs, curves = read_study()
    silent = good_picture(plots.study_curves(curves, "noor"))
    assert "Share opened, while agents get to know noor" in silent
    even = runs.assign(opened_last=np.random.default_rng(0).normal(size=len(runs)))
    assert "Nobody is surely ahead of all others" in good_picture(plots.study_curves(curves, "noor", runs=even))
    ahead = runs.assign(regret_last=runs["regret_last"] + (runs["agent"] != "LinUCB"))
    assert any(words.startswith("LinUCB is best in the last quarter, at 0.")
               for words in good_picture(plots.study_curves(curves, "noor", "regret", runs=ahead)))


def test_a_title_of_opened_shares_counts_how_many_it_chose_from(good_picture):
    """Two of twelve values whose 95 % intervals lie apart are what chance alone would often bring."""
    def diary(values, opened):
        return pd.DataFrame([{"subject": f"subject {value}", "action": "opened" if at < count else "dismissed"}
                             for value, count in zip(range(values), opened) for at in range(30)])

    assert "No subject stands out from the others" in good_picture(
        plots.open_rates(diary(12, [8, *[14] * 10, 20]), "subject"))
    assert any("subject 1 " in words and "opened" in words
               for words in good_picture(plots.open_rates(diary(2, [4, 26]), "subject")))


def test_grids_of_different_shapes_have_no_leader():
    assert leader({"a": np.ones((3, 4)) + np.arange(4), "b": np.zeros((2, 4))}) is None


# ---------------------------------------------------------------- the pigeonhole bootstrap

def test_the_pigeonhole_bootstrap_holds_the_truth_under_strong_days_and_rows_alone_do_not():
    """A true coverage of 0.943 gives less than 0.90 of 500, or more than 0.98, about once in 10,000 times."""
    found = {"crossed": 0, "rows alone": 0}
    for grid in grids(20, 28, 0.2, 1, 0.5, count=500):
        interval = crossed_bootstrap(grid, lambda some: some.sum() / some.size, resamples=300)
        found["crossed"] += interval.low <= 0 <= interval.high
        alone = mean_interval(grid.mean(axis=1))
        found["rows alone"] += alone.low <= 0 <= alone.high
    assert 0.90 <= found["crossed"] / 500 <= 0.98 and found["rows alone"] / 500 < 0.55


def test_both_crossed_intervals_agree_on_a_mean_and_the_bootstrap_takes_other_statistics():
    grid = grids(20, 28, 0.5, 1, 1, count=1)[0]
    exact, drawn = crossed_interval(grid), crossed_bootstrap(grid)
    assert drawn.mean == exact.mean and drawn.high - drawn.low == pytest.approx(exact.high - exact.low, rel=0.15)
    high = crossed_bootstrap(grid, lambda some: np.quantile(some, 0.9))
    assert high.low < np.quantile(grid, 0.9) < high.high and high.low > exact.high
    assert crossed_bootstrap(grid, seed=1) == crossed_bootstrap(grid, seed=1) != drawn
    with pytest.raises(ValueError, match="same rows and columns"):
        crossed_bootstrap(grid, theirs=grid[1:])
