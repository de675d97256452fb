"""Smoothing that does not shift, scales from 0 to 100, rows with gaps, and settings that say all that is wrong."""

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab.ground.faults import BadData
from pushlab.metrics.lifelong import Settings, lifelong_report, log_of
from pushlab.metrics.lifelong.curves import first_reached, rolling_mean, saturation, smooth, window_length
from pushlab.metrics.lifelong.lifetime import Lifetime
from pushlab.metrics.lifelong.release import release_saturation, release_smooth
from pushlab.metrics.lifelong.rows import name_variants

SHAPES = ("flat", "hanning", "hamming", "bartlett", "blackman")
RELEASE = "l2metrics-3.1"
numbers = st.floats(-1e3, 1e3, allow_subnormal=False)
curves = st.lists(numbers, min_size=1, max_size=60).map(np.array)
gappy = st.lists(st.one_of(numbers, st.just(np.nan)), min_size=1, max_size=60).map(np.array)
plain = Settings(smoothing="none", normalization="none")


# ---------------------------------------------------------------- smoothing

@given(gappy, st.integers(1, 40), st.sampled_from(SHAPES))
def test_smoothing_a_reversed_curve_gives_the_reversed_smoothed_curve(values, window, shape):
    """A curve that is shifted to one side fails this."""
    forth, back = smooth(values, window, shape), smooth(values[::-1], window, shape)[::-1]
    np.testing.assert_allclose(forth, back, atol=1e-7)


@given(gappy, st.integers(1, 40), st.sampled_from(SHAPES))
def test_smoothing_keeps_length_and_gaps_and_stays_within_what_was_seen(values, window, shape):
    smoothed = smooth(values, window, shape)
    assert len(smoothed) == len(values)
    known = np.isfinite(values)
    assert not np.isfinite(smoothed[~known]).any() and np.isfinite(smoothed[known]).all()
    if known.any():
        assert smoothed[known].min() >= values[known].min() - 1e-6
        assert smoothed[known].max() <= values[known].max() + 1e-6


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("window", [3, 4, 9, 10])
def test_a_straight_line_stays_where_it_is_away_from_the_ends(window, shape):
    line = np.arange(50.0)
    np.testing.assert_allclose(smooth(line, window, shape)[10:-10], line[10:-10])


def test_a_gap_takes_no_part_in_its_neighbours():
    smoothed = smooth([4.0, 4.0, np.nan, 4.0, 4.0], window=3)
    np.testing.assert_array_equal(smoothed, [4, 4, np.nan, 4, 4])


def test_long_windows_give_what_direct_sums_give():
    values = np.random.default_rng(0).normal(size=3000)
    smoothed = smooth(values, 801)
    expected = [values[at - 400:at + 401].mean() for at in range(400, 2600)]
    np.testing.assert_allclose(smoothed[400:2600], expected, atol=1e-10)


@pytest.mark.parametrize("window, spike", [(3, 4), (5, 11)])
def test_the_release_shifts_the_curve_by_one_experience(window, spike):
    values = np.zeros(30)
    values[spike] = 1
    middle = np.flatnonzero(release_smooth(values, window)).mean()
    assert middle == spike + 1 and np.flatnonzero(smooth(values, window)).mean() == spike


def test_the_release_shifts_even_windows_by_half_an_experience():
    values = np.zeros(30)
    values[12] = 1
    assert np.flatnonzero(release_smooth(values, 4)).mean() == 12.5


def test_window_none_is_a_fifth_of_the_block_and_at_most_100():
    assert [window_length(size) for size in (4, 14, 15, 499, 500, 5000)] == [0, 2, 3, 99, 100, 100]


# ---------------------------------------------------------------- saturation

@given(gappy, st.integers(1, 60))
def test_rolling_mean_is_the_mean_of_each_stretch(values, window):
    if window > len(values):
        window = len(values)
    expected = [np.mean(known) if len(known := part[np.isfinite(part)]) else np.nan
                for part in (values[at:at + window] for at in range(len(values) - window + 1))]
    np.testing.assert_allclose(rolling_mean(values, window), expected, atol=1e-9)


@given(curves, st.floats(0.01, 1))
def test_saturation_is_reached_when_it_says(values, share):
    found = saturation(values, share)
    means = rolling_mean(values, max(1, int(share * len(values) + 0.5)))
    assert found.value == pytest.approx(means.max(), abs=1e-6)
    assert means[int(found.time)] == pytest.approx(found.value, rel=1e-8, abs=1e-5)


def test_saturation_of_a_step_is_where_the_step_is():
    for window in (0.05, 0.1, 0.2):
        assert saturation(np.repeat([0.0, 1.0], [37, 63]), window) == (1.0, 37.0)


def test_rounding_does_not_decide_when_a_level_is_reached():
    plateau = 0.1 + 0.2 - 1e-16 * np.arange(10)
    assert first_reached(plateau, 0.3 + 1e-12) == 0 and np.isnan(first_reached(plateau, 0.3 + 1e-12, exactly=True))


def test_release_saturation_smooths_once_more():
    values = np.array([0.0] * 10 + [6.0] + [0.0] * 9)              # a window of 4: a quarter of it at 9, 10, 11, 12
    assert release_saturation(values) == (1.5, 9.0)


# ---------------------------------------------------------------- scales

def scaled(values, **settings):
    report = lifelong_report(log_of(*values), settings=Settings(**{"smoothing": "none", **settings}))
    return report.curves["normalized"].tolist()


def test_normalised_values_lie_between_0_and_100_and_those_of_the_release_between_1_and_101():
    blocks = [("train", "a", [2, 3, 4]), ("test", "b", [10, 30])]
    assert scaled(blocks) == [0, 50, 100, 0, 100]
    assert scaled(blocks, normalization="none") == [2, 3, 4, 10, 30]
    assert scaled(blocks, normalization="run") == pytest.approx([0, 100 / 28, 200 / 28, 800 / 28, 100])
    assert scaled(blocks, reference=RELEASE) == [1, 51, 101, 1, 101]


def test_a_given_range_is_what_is_possible():
    blocks = [("train", "a", [2, 3, 4]), ("test", "b", [10, 30])]
    assert scaled(blocks, data_range=(0, 40)) == [5, 7.5, 10, 25, 75]
    assert scaled(blocks, data_range={"a": (2, 6), "b": {"min": 0, "max": 100}}) == [0, 25, 50, 10, 30]
    assert scaled(blocks, data_range={"a": (2, 6), "b": (0, 100)}, normalization="run") == [2, 3, 4, 10, 30]
    with pytest.raises(BadData, match="no range for task b; there are those of a"):
        scaled(blocks, data_range={"a": (2, 6)})


def test_a_constant_task_lies_in_the_middle():
    assert scaled([("train", "a", [3, 3])]) == [50, 50]
    assert scaled([("train", "a", [3, 3])], normalization="run") == [50, 50]
    assert scaled([("train", "a", [3, 3]), ("test", "b", [1])], reference=RELEASE) == [1, 1, 1]
    report = lifelong_report(log_of(("train", "a", [3, 3]), ("test", "a", [3])))
    assert report.lifetime["mean_evaluation_performance"] == 50 and report.lifetime["maintenance_saturation"] == 0
    report = lifelong_report(log_of(("train", "a", [0.2] * 30), ("test", "a", [0.1 + 0.1, 0.3 - 0.1])))
    assert set(report.curves["normalized"]) == {50}                 # 0.3 - 0.1 is 0.19999999999999998


def test_clamping_draws_in_the_outer_tenths():
    values = [*range(11), 1000]
    low, high = np.quantile(values, (0.1, 0.9))
    report = lifelong_report(log_of(("train", "a", values)), settings=Settings(smoothing="none", clamp=True))
    assert report.scales["a"] == pytest.approx((low, high))
    assert report.curves["normalized"].iloc[[0, 1, -1]].tolist() == [0, 0, 100]
    report = lifelong_report(log_of(("train", "a", values)),
                             settings=Settings(smoothing="none", clamp=True, data_range=(2, 4)))
    assert report.curves["normalized"].tolist() == [0, 0, 0, 50, *[100] * 8]


def test_experts_take_part_in_the_range():
    report = lifelong_report(log_of(("train", "a", [2, 4])), {"a": [[0, 10]]}, settings=Settings(smoothing="none"))
    assert report.curves["normalized"].tolist() == [20, 40] and report.experts["a"][0].tolist() == [0, 100]


def test_ratios_count_from_zero_where_it_is_the_floor_and_from_the_worst_seen_where_it_is_not():
    assert Lifetime(log_of(("train", "a", [2, 4])), settings=plain).log["for_ratios"].tolist() == [2, 4]
    assert Lifetime(log_of(("train", "a", [-2, 4])), settings=plain).log["for_ratios"].tolist() == [0, 6]
    ranged = Settings(smoothing="none", data_range=(-10, 10))
    assert Lifetime(log_of(("train", "a", [2, 4])), settings=ranged).log["for_ratios"].tolist() == [12, 14]


# ---------------------------------------------------------------- rows

def test_missing_values_and_unfinished_episodes_keep_their_place_and_count_in_no_mean():
    log = log_of(("train", "a", [1, np.nan, 3, 100, 5]))
    log["status"] = ["complete", "complete", "complete", "incomplete", "complete"]
    report = lifelong_report(log, settings=plain)
    assert len(report.curves) == 5 and report.lifetime["normalized_integral"] == 3
    assert report.lifetime["time_to_learn"] == 4
    released = lifelong_report(log, settings=Settings(smoothing="none", normalization="none", reference=RELEASE))
    assert released.curves["raw"].tolist() == [1, 3, 5] and released.lifetime["time_to_learn"] == 2


def test_several_numbers_of_one_episode_are_its_mean():
    log = log_of(("train", "a", [1, 3, 5, 9]))
    log["episode"] = [0, 0, 1, 2]
    assert lifelong_report(log, settings=plain).curves["raw"].tolist() == [2, 5, 9]


def test_a_measure_that_is_not_there_is_told_with_those_that_are():
    log = log_of(("train", "a", [1, 2])).assign(score=1.0, name="x", length=7)
    with pytest.raises(BadData, match="column points: no such numeric .*; numeric columns are reward, score, length"):
        lifelong_report(log, measure="points")
    assert lifelong_report(log, measure="score").measure == "score"
    log.attrs["measure"] = "score"
    assert lifelong_report(log).measure == "score"
    assert lifelong_report(log.drop(columns=["reward", "score"]).assign(**{"return": 2.0})).measure == "return"


def test_all_that_is_wrong_with_a_log_is_said_at_once():
    log = log_of(("train", "a", [1, 2])).drop(columns="block")
    log["block_type"] = ["train", "trial"]
    with pytest.raises(BadData) as error:
        lifelong_report(log)
    assert "column block:" in str(error.value) and "'trial' is not train or test" in str(error.value)
    with pytest.raises(BadData, match="at least one row"):
        lifelong_report(log_of(("train", "a", [1])).iloc[:0])
    with pytest.raises(BadData, match="inf"):
        lifelong_report(log_of(("train", "a", [1, np.inf])))
    with pytest.raises(BadData, match="at least one complete experience"):
        lifelong_report(log_of(("train", "a", [np.nan])))
    with pytest.raises(TypeError, match="DataFrame"):
        lifelong_report([1, 2])


def test_regimes_are_those_of_the_log_or_what_changes():
    log = log_of(("train", "a", [1, 2]), ("test", {"a": [1], "b": [2]}))
    report = lifelong_report(log.drop(columns="regime"))
    assert report.curves["regime"].tolist() == [0, 0, 1, 2]
    log["regime"] += 5
    assert lifelong_report(log).regimes["regime"].tolist() == [5, 6, 7]


def test_agnostic_variants_are_merged_by_whole_names():
    log = log_of(("train", "maze_dark", [1, 2]), ("train", "maze_bright", [3]), ("train", "maze10_dark", [4]))
    settings = Settings(variant_mode="agnostic")
    assert lifelong_report(log, settings=settings).tasks.index.tolist() == ["maze", "maze10"]
    ranges = {"maze_dark": (0, 4), "maze_bright": (0, 8), "maze10_dark": (0, 100)}
    ours, theirs = (lifelong_report(log, settings=Settings(variant_mode="agnostic", data_range=ranges, reference=name))
                    for name in (None, RELEASE))
    assert ours.scales["maze"] == (0, 8) and theirs.scales["maze"] == (0, 100)


def test_experts_are_found_by_whole_names():
    log, experts = log_of(("train", "maze", [1, 2])), {"maze_dark": [[1, 2]], "maze10_dark": [[5, 9]]}
    assert lifelong_report(log, experts).experts == {}
    aware, agnostic = (Settings(reference=RELEASE), Settings(variant_mode="agnostic"))
    assert len(lifelong_report(log, experts, settings=aware).experts["maze"]) == 2
    assert len(lifelong_report(log, experts, settings=agnostic).experts["maze"]) == 1


@pytest.mark.parametrize("expert", [[1, 2, 3], [[1, 2, 3]], np.array([1.0, 2.0, 3.0]), [np.array([1, 2, 3])],
                                    pd.Series([1, 2, 3]), log_of(("train", "a", [1, 2, 3]), ("test", "a", [9])),
                                    [log_of(("train", "a", [1, 2]), ("train", "a", [3]))]])
def test_an_expert_is_a_log_or_an_array_or_several(expert):
    report = lifelong_report(log_of(("train", "a", [1, 2])), {"a": expert}, settings=plain)
    assert [curve.tolist() for curve in report.experts["a"]] == [[1, 2, 3]]


def test_a_folder_is_no_store_yet():
    with pytest.raises(TypeError, match=r"experts are a store.*got 'taskinfo'"):
        lifelong_report(log_of(("train", "a", [1, 2])), "taskinfo")


def test_an_expert_without_numbers_is_named():
    with pytest.raises(BadData, match="expert of a: finite numbers"):
        lifelong_report(log_of(("train", "a", [1, 2])), {"a": [[np.nan]]})
    with pytest.raises(BadData, match="expert of a, column reward"):
        lifelong_report(log_of(("train", "a", [1, 2])), {"a": pd.DataFrame({"words": ["x"]})})


def test_a_store_of_experts_is_asked_for_logs_and_saturation_values():
    class Store:
        def logs(self, task):
            return [log_of(("train", "a", [0, 8]))] if task == "a" else []

        def saturation(self, task):
            return {"a": 8.0, "b": 4.0}.get(task)

    log = log_of(("train", "a", [0, 4]), ("train", "b", [0, 4]), ("train", "c", [0, 4]))
    report = lifelong_report(log, Store(), settings=plain)
    assert report.tasks["relative_saturation"].tolist()[:2] == [0.5, 1.0]
    assert dict(report.missing)["relative_saturation"] == "in part: c has no single-task expert"


# ---------------------------------------------------------------- variants

def test_variants_are_named_by_the_parameters_that_differ():
    log = log_of(("train", "a", [1], {"noise": 0, "n": 3}), ("test", "a", [1], {"noise": 0, "n": 3}),
                 ("train", "a", [1], {"noise": 1, "n": 3}))
    assert Lifetime(log).variants == ["a noise=0", "a noise=1"]
    assert Lifetime(log, settings=Settings(variant_mode="agnostic")).variants == ["a"]


def test_tests_under_parameters_of_their_own_are_tests_of_the_whole_task():
    regimes = pd.DataFrame({"task": "a", "block_type": ["train", "train", "test"], "params": ["1", "2", "held out"]})
    assert list(name_variants(regimes)) == ["a"] * 3


# ---------------------------------------------------------------- settings

def test_settings_list_all_that_is_wrong():
    with pytest.raises(BadData) as error:
        Settings(smoothing="round", window=-1, clamp="yes", data_range=(3, 1), saturation_share=0, reference="2.0")
    assert len(error.value.faults) == 6 and "key smoothing: 'round' is not one of flat" in str(error.value)
    with pytest.raises(BadData, match="key colour: no such setting"):
        Settings.from_dict({"colour": "red"})
    with pytest.raises(BadData, match="window"):
        Settings(window=0.1, reference=RELEASE)


@given(st.builds(Settings, smoothing=st.sampled_from((*SHAPES, "none")),
                 window=st.one_of(st.none(), st.integers(1, 500), st.floats(0.01, 0.99)), clamp=st.booleans(),
                 normalization=st.sampled_from(("task", "run", "none")),
                 data_range=st.one_of(st.none(), st.just((0, 1)), st.just({"a": (0, 1), "b": (-3, 8.5)})),
                 maintenance=st.sampled_from(("mrlep", "mrtlp", "both")), variant_mode=st.just("agnostic")))
def test_settings_go_through_json(settings):
    told = settings.to_dict()
    assert json.loads(json.dumps(told)) == told and Settings.from_dict(told) == settings


def test_settings_files_of_the_release_are_read():
    told = {"log_dir": "x", "perf_measure": "performance", "variant_mode": "aware", "ste_averaging_method": "time",
            "aggregation_method": "median", "maintenance_method": "mrlep", "transfer_method": "ratio",
            "normalization_method": "run", "smoothing_method": "bartlett", "window_length": None,
            "clamp_outliers": True}
    assert Settings.from_dict(told) == Settings(
        expert_averaging="time", aggregation="median", maintenance="mrlep", transfer="ratio", normalization="run",
        smoothing="bartlett", clamp=True)
