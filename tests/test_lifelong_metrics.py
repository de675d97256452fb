"""Lifelong metrics against hand calculations, l2metrics 3.1.0 and known behaviour."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from pushlab.metrics.lifelong import (
    L2METRICS_NAMES,
    L2METRICS_REFERENCE,
    Missing,
    Settings,
    compare_references,
    lifelong_report,
    log_from_blocks,
    metric,
    metric_value,
    metrics_for,
    unregister,
)
from pushlab.metrics.lifelong.curves import saturation, smooth
from pushlab.metrics.lifelong.lifetime import Lifetime

VALUES = json.loads(Path(__file__).with_name("lifelong_values.json").read_text())
PLAIN = Settings(smoothing="none", normalization="none")
RELEASED = Settings(
    smoothing="none", normalization="none", reference=L2METRICS_REFERENCE
)


# ---------------------------------------------------------------- stored values

TASKS = ("pier_dark", "quay", "pier_light")
VISITS = ("pier_dark", "quay", "pier_light", "quay", "pier_dark", "quay", "pier_dark")


def small_lifetime():
    """Seven blocks of training, with tests of all tasks before each and at the end."""
    blocks = []
    test = np.arange(3)
    training = np.arange(15)
    for visit in range(8):
        tests = {}
        for at, task in enumerate(TASKS):
            level = 4 + (visit + at) % 3
            tests[task] = level + (3 * test + 2 * visit * at) % 5
        blocks.append(("test", tests))
        if visit < 7:
            rising = (training + visit) / 2
            values = rising + (5 * training**2 + 3 * visit) % 7
            blocks.append(("train", VISITS[visit], values))
    return log_from_blocks(*blocks)


def small_experts(merged):
    experts = {"pier_dark": (15, 18), "quay": (12,), "pier_light": (20,)}
    runs = {}
    for task, sizes in experts.items():
        for run, size in enumerate(sizes):
            at = np.arange(size)
            log = log_from_blocks(("train", task, 0.6 * at + (4 * at**2 + run) % 5))
            runs.setdefault(task.split("_")[0] if merged else task, []).append(log)
    return runs


@pytest.mark.parametrize("stored", VALUES, ids=lambda stored: str(stored["settings"]))
def test_all_metrics_have_their_stored_values_under_each_setting(stored):
    """The values of the release are l2metrics 3.1.0's own, from this log as a folder.

    The corrected ones were computed by a second program written for the purpose.
    """
    given = {"syllabus_type": "ANT_B"}
    given["experts"] = small_experts("variant_mode" in stored["settings"])
    chosen = {**stored["settings"], "maintenance": "both", "transfer": "both"}
    report = lifelong_report(
        small_lifetime(), settings=Settings.from_dict(chosen), **given
    )
    assert report.lifetime.to_dict() == pytest.approx(stored["corrected"], rel=1e-8)
    if L2METRICS_REFERENCE in stored:
        chosen = Settings.from_dict({**chosen, "reference": L2METRICS_REFERENCE})
        found = lifelong_report(small_lifetime(), settings=chosen, **given).lifetime
        values = {theirs: found[name] for name, theirs in L2METRICS_NAMES.items()}
        assert values == pytest.approx(stored[L2METRICS_REFERENCE], rel=1e-8)


# ---------------------------------------------------------------- cases by hand


def blocks_of(text):
    """Blocks for `log_from_blocks` from a text such as "train a 2 8, test b 1"."""
    blocks = []
    for words in text.split(", "):
        kind, task, *values = words.split()
        blocks.append((kind, task, [float(value) for value in values]))
    return blocks


OWN = "test b 1, train a 5, train b 5, test b 5"
AT_ZERO = "test b 0, train a 5, test b 2"
MEDIAN = {"aggregation": "median"}


@pytest.mark.parametrize(
    ("name", "blocks", "settings", "expected"),
    [
        # The task's own training in between is no transfer, but for the release.
        ("forward_transfer_ratio", OWN, {}, "before and after another"),
        ("forward_transfer_ratio", OWN, {"reference": L2METRICS_REFERENCE}, 5),
        ("forward_transfer_ratio", AT_ZERO, {}, "are at 0"),
        ("forward_transfer_contrast", AT_ZERO, {}, 1),
        ("mean_evaluation_performance", "test a 1, test b 2, test c 9", MEDIAN, 2),
        ("saturation", "test a 1", {}, "no training block"),
        ("recovery_time", "train a 1", {}, "trained a second time"),
        # Recovery times of 3, 1 and 2 have the slopes -2, -0.5 and 1.
        (
            "performance_recovery",
            "train a 9, train a 0 0 0 9, train a 0 9, train a 0 0 9",
            {},
            0.5,
        ),
    ],
)
def test_metrics_worked_out_by_hand(name, blocks, settings, expected):
    if isinstance(expected, str):
        with pytest.raises(LookupError, match=expected):
            metric_value(name, *blocks_of(blocks), **settings)
    else:
        assert metric_value(name, *blocks_of(blocks), **settings) == expected


STEADY = [5.0] * 20
RISING = np.linspace(0, 10, 20)
FALLING = np.append(9.0, 10 - RISING[1:] / 6)


@pytest.mark.parametrize(
    ("name", "training", "runs", "settings", "expected"),
    [
        ("relative_saturation", [6, 2], [[1, 3], [3, 1, 9]], {}, 1.333),  # 6/3 and 6/9
        ("relative_saturation", [2, 4], 8, {}, 0.5),
        ("sample_efficiency", STEADY, [STEADY], {}, 1),
        # Below a fifth of the expert's saturation, or falling by more than that.
        ("sample_efficiency", [1.9] * 20, [RISING], {}, 0),
        ("sample_efficiency", RISING[::-1], [RISING], {}, 0),
        # A slight fall: (10 - 5 / 38) / (10 - 5 / 19) times 19 / 2 episodes.
        ("sample_efficiency", FALLING, [RISING], {}, 9.628),
        ("sample_efficiency", FALLING, [RISING], {"reference": L2METRICS_REFERENCE}, 0),
    ],
)
def test_metrics_against_experts_worked_out_by_hand(
    name, training, runs, settings, expected
):
    blocks = ("train", "a", training)
    assert metric_value(name, blocks, experts={"a": runs}, **settings) == expected


def test_maintenance_compares_tests_with_the_last_learning():
    log = log_from_blocks(
        *blocks_of(
            "test a 1, train a 2 8, test a 7, train b 1, test a 6, test a 4, "
            "train a 9, test a 9, test a 10"
        )
    )
    for settings in (PLAIN, RELEASED):
        regimes = lifelong_report(log, settings=settings).regimes
        assert regimes["maintenance_mrlep"].dropna().tolist() == [-1, -3, 1]
        assert regimes["maintenance_mrtlp"].dropna().tolist() == [-2, -4, 1]
    log["block_subtype"] = np.where(log["block"] > 5, "sleep", "wake")
    for settings in (PLAIN, RELEASED):
        found = lifelong_report(log, settings=settings).lifetime
        assert found["mean_evaluation_performance"] == 9.5


def test_recovery_times_count_blocks_that_did_not_recover():
    blocks = "train a 0 4, train b 9, train a 1 2 4, train a 1 2, train a 2"
    log = log_from_blocks(*blocks_of(blocks))
    report = lifelong_report(log, settings=PLAIN)
    assert report.regimes["recovery_time"].tolist()[2:] == [2, np.inf, 0]
    assert report.regimes["recovered"].tolist()[2:] == [True, False, True]
    assert report.tasks.loc["a", "recovery_time"] == 2
    assert "did not recover within one" in dict(report.missing)["performance_recovery"]
    released = lifelong_report(log, settings=RELEASED)
    assert released.regimes["recovery_time"].tolist()[2:] == [2, 3, 0]
    assert released.tasks.loc["a", "recovery_time"] == pytest.approx(5 / 3)
    assert released.lifetime["performance_recovery"] == 1
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["regimes"][3]["recovery_time"] is None


def test_all_tasks_learned_between_two_tests_transfer():
    blocks = "test c 2, train a 5, train b 5, test c 6, train a 5, test c 24"
    log = log_from_blocks(*blocks_of(blocks))
    columns = ["learned", "tested", "block", "value"]
    names = ["forward_transfer_ratio"]
    ours = lifelong_report(log, metrics=names, settings=PLAIN)
    pairs = [["a", "c", 3, 3.0], ["b", "c", 3, 3.0], ["a", "c", 5, 4.0]]
    assert ours.pairs[columns].values.tolist() == pairs
    assert ours.lifetime[names[0]] == 3  # the first of each pair of tasks
    theirs = lifelong_report(log, metrics=names, settings=RELEASED)
    assert theirs.pairs[columns].values.tolist() == pairs[1:]


def test_parameters_of_a_task_make_variants():
    log = log_from_blocks(
        ("train", "a", [8], {"noise": 0, "n": 3}),
        ("test", "a", [8], {"noise": 0, "n": 3}),
        ("train", "a", [3], {"noise": 1, "n": 3}),
        ("test", "a", [3], {"noise": 1, "n": 3}),
        ("test", "a", [2], {"noise": 0, "n": 3}),
    )
    assert Lifetime(log).variants == ["a noise=0", "a noise=1"]
    report = lifelong_report(log, settings=PLAIN)
    assert report.syllabus_type == "CL"
    assert report.lifetime["performance_maintenance_mrlep"] == -6
    released = lifelong_report(log, settings=RELEASED)
    assert released.lifetime["performance_maintenance_mrlep"] == -1
    held_out = log.assign(params=log["params"].where(log["block_type"] == "train", "x"))
    assert Lifetime(held_out).variants == ["a"]


# ---------------------------------------------------------------- preparation


@pytest.mark.parametrize("window", [3, 4, 0.5, None])
def test_smoothing_is_a_centred_mean_over_the_mirrored_curve(window):
    values = np.random.default_rng(0).normal(size=30)
    length = {0.5: 15, None: 6}.get(window, window)
    for shape in ("hanning", "hamming", "bartlett", "blackman", "flat"):
        weights = getattr(np, shape, np.ones)(length)
        if length % 2 == 0:
            weights = (np.append(weights, 0) + np.append(0, weights)) / 2
        kernel = weights / weights.sum()
        expected = ndimage.convolve1d(values, kernel, mode="mirror")
        assert smooth(values, window, shape) == pytest.approx(expected), shape


def test_smoothing_leaves_gaps():
    found = smooth([4.0, 4, np.nan, 1, 4, 4], window=3)
    assert found == pytest.approx([4, 4, np.nan, 2.5, 3, 4], nan_ok=True)
    assert smooth([1.0, 5.0], 3, "none").tolist() == [1, 5]


def test_saturation_is_the_highest_rolling_mean():
    assert saturation([0, 1, 5, 6, 1, 6, 5, 4], share=0.25) == (5.5, 2)
    assert saturation(np.repeat([0.0, 1.0], [37, 63])) == (1, 37)
    assert saturation([0, 6, np.nan, 5, 5, 0, 0, 0], share=0.25) == (6, 1)


A_AND_B = "train a 2 3 4, test b 10 30"
RANGES = {"a": (2, 6), "b": {"min": 0, "max": 100}}
CLAMPED = {"clamp": True, "data_range": (2, 4)}


@pytest.mark.parametrize(
    ("blocks", "settings", "expected"),
    [
        (A_AND_B, {"normalization": "run"}, [0, 100 / 28, 200 / 28, 800 / 28, 100]),
        (A_AND_B, {"reference": L2METRICS_REFERENCE}, [1, 51, 101, 1, 101]),
        (A_AND_B, {"data_range": RANGES}, [0, 25, 50, 10, 30]),
        ("train a 3 3", {}, [50, 50]),
        ("train a 3 3", {"reference": L2METRICS_REFERENCE}, [1, 1]),
        ("train a 1 2 3 4 1000", CLAMPED, [0, 0, 50, 100, 100]),
    ],
)
def test_values_are_normalised_to_the_worst_and_best(blocks, settings, expected):
    settings = Settings(**{"smoothing": "none", **settings})
    report = lifelong_report(log_from_blocks(*blocks_of(blocks)), settings=settings)
    assert report.curves["normalized"].tolist() == pytest.approx(expected)


def test_ratios_count_from_zero_or_from_the_worst():
    for values, expected in (([2, 4], [2, 4]), ([-2, 4], [0, 6])):
        life = Lifetime(log_from_blocks(("train", "a", values)), settings=PLAIN)
        assert life.log["for_ratios"].tolist() == expected


def test_incomplete_and_repeated_experiences_count_as_such():
    log = log_from_blocks(("train", "a", [1, np.nan, 3, 100, 5, 7]))
    log["status"] = ["complete"] * 3 + ["incomplete"] + ["complete"] * 2
    log["episode"] = [0, 1, 2, 3, 4, 4]
    report = lifelong_report(log, settings=PLAIN)
    assert len(report.curves) == 5
    assert report.lifetime["normalized_integral"] == pytest.approx(10 / 3)
    assert report.lifetime["time_to_learn"] == 4
    released = lifelong_report(log, settings=RELEASED)
    assert released.curves["raw"].tolist() == [1, 3, 5, 7]
    assert released.lifetime["time_to_learn"] == 3


def test_names_of_variants_are_matched_whole():
    blocks = "train maze_dark 1 2, train maze_bright 3, train maze10_dark 4"
    log = log_from_blocks(*blocks_of(blocks))
    ranges = {"maze_dark": (0, 4), "maze_bright": (0, 8), "maze10_dark": (0, 100)}
    runs = {"maze_dark": [[1, 2]], "maze10_dark": [[5, 9]]}
    expected = {None: ((0, 8), 1), L2METRICS_REFERENCE: ((0, 100), 2)}
    for reference, (scale, count) in expected.items():
        settings = Settings(
            variant_mode="agnostic", data_range=ranges, reference=reference
        )
        report = lifelong_report(log, runs, settings=settings)
        assert report.tasks.index.tolist() == ["maze", "maze10"]
        assert report.scales["maze"] == scale
        assert len(report.experts["maze"]) == count
    assert list(lifelong_report(log, runs).experts) == ["maze_dark", "maze10_dark"]


# ---------------------------------------------------------------- reports


def test_a_report_lists_what_is_missing_and_is_plain_in_json():
    experts = small_experts(merged=False)
    experts.pop("quay")
    report = lifelong_report(small_lifetime(), experts)
    assert report.syllabus_type == "ANT_B"
    reasons = dict(report.missing)
    partly = "in part: quay has no single-task expert"
    assert reasons == dict.fromkeys(
        ["relative_saturation", "relative_time", "relative_integral"]
        + ["relative_performance", "sample_efficiency"],
        partly,
    )
    plain = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert plain["lifetime"]["saturation"] == report.lifetime["saturation"]
    counts = {"trained": 45, "tested": 24, "min": 0, "max": 100}
    assert plain["counts"]["quay"] == pytest.approx(counts)
    assert plain["scales"]["quay"]["low"] == report.scales["quay"][0]
    alone = lifelong_report(small_lifetime(), settings=PLAIN)
    assert alone.unit("saturation") == "reward"
    without = {name for name, reason in alone.missing if "no single-task" in reason}
    assert without | set(alone.lifetime.index) == set(metrics_for("ANT_B"))
    assert len(without) == 6


def test_syllabus_type_and_settings_choose_the_metrics():
    log = small_lifetime()
    assert lifelong_report(log[log["block"] > 0]).syllabus_type == "ANT_A"
    assert lifelong_report(log[log["task"] == "quay"]).syllabus_type == "CL"
    log.attrs["scenario"] = {"syllabus_type": "ant-a"}
    report = lifelong_report(log)
    assert report.syllabus_type == "ANT_A"
    assert "forward_transfer_ratio" not in report.lifetime
    chosen = Settings(maintenance="mrtlp", transfer="contrast")
    names = lifelong_report(log, syllabus_type="ANT_B", settings=chosen).lifetime.index
    assert "performance_maintenance_mrlep" not in names
    assert "forward_transfer_ratio" not in names
    assert {"performance_maintenance_mrtlp", "backward_transfer_contrast"} <= {*names}


def test_registered_metrics_are_in_report_and_table():
    def worst_test(life):
        """The worst test of all."""
        return life.regimes.loc[life.regimes["block_type"] == "test", "mean"].min()

    def never(life):
        raise Missing("the moon is not full")

    added = [worst_test, never]
    try:
        for function in added:
            metric(function.__name__, syllabus="ANT_B", unit="points")(function)
        report = lifelong_report(small_lifetime())
        worst = report.regimes.query("block_type == 'test'")["mean"].min()
        assert report.lifetime["worst_test"] == worst
        row = report.table().loc["worst_test"].tolist()
        assert row == [worst, "points", "", "The worst test of all."]
        assert dict(report.missing)["never"] == "the moon is not full"
        assert "worst_test" not in metrics_for("CL")
    finally:
        for function in added:
            unregister(function.__name__)


def test_references_are_compared_side_by_side():
    log = small_lifetime()
    experts = small_experts(merged=False)
    table = compare_references(log, experts)
    stored = VALUES[0]
    for name, row in table.iterrows():
        assert row["name"] == L2METRICS_NAMES[name]
        assert row["corrected"] == pytest.approx(stored["corrected"][name])
        assert row[L2METRICS_REFERENCE] == pytest.approx(
            stored[L2METRICS_REFERENCE][row["name"]]
        )
        assert row["difference"] == row["corrected"] - row[L2METRICS_REFERENCE]
        assert bool(row["difference_reason"]) == (abs(row["difference"]) > 1e-9)


@pytest.mark.parametrize(
    "run",
    [
        [1, 2, 3],
        [log_from_blocks(*blocks_of("train a 1 2, train a 3, test a 9"))],
    ],
)
def test_experts_are_logs_or_arrays(run):
    report = lifelong_report(
        log_from_blocks(("train", "a", [1])), {"a": run}, settings=PLAIN
    )
    assert [curve.tolist() for curve in report.experts["a"]] == [[1, 2, 3]]


LOG = log_from_blocks(("train", "a", [1, 2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: lifelong_report(LOG.drop(columns="block")), "no column 'block'"),
        (lambda: lifelong_report(LOG.assign(block_type="x")), "train, test; got 'x'"),
        (
            lambda: lifelong_report(LOG.assign(task=None)),
            "column task, item 0 is empty",
        ),
        (
            lambda: lifelong_report(LOG.assign(reward=np.inf)),
            "item 0: a finite number",
        ),
        (lambda: lifelong_report(LOG.assign(reward=np.nan)), "one complete experience"),
        (lambda: lifelong_report(LOG, measure="points"), "columns are reward"),
        (
            lambda: lifelong_report(LOG, {"a": [[np.nan]]}),
            "expert of a: values must be finite",
        ),
        (
            lambda: Settings.from_dict({"smoothing_method": "round"}, "file.json"),
            "file.json: smoothing must be one of flat, .*; got 'round'",
        ),
        (lambda: Settings.from_dict({"smooth": "flat"}), "no setting 'smooth'"),
        (lambda: metrics_for("ANT"), "None, CL, ANT_A, ANT_B; got 'ANT'"),
        (lambda: Settings(clamp="yes"), "clamp must be True or False"),
        (lambda: Settings(window=-1), "window must be a number above 0; got -1"),
        (lambda: Settings(window=1.5), "window must be a whole number"),
        (
            lambda: Settings(window=0.1, reference=L2METRICS_REFERENCE),
            "window must be a whole number",
        ),
        (lambda: Settings(data_range=(3, 1)), "the lower first"),
    ],
)
def test_invalid_logs_and_settings_raise_value_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_settings_survive_json_and_read_files_of_the_release():
    settings = Settings(
        window=0.2, data_range={"a": (0, 1)}, maintenance="mrlep", clamp=True
    )
    plain = json.loads(json.dumps(settings.to_dict()))
    assert Settings.from_dict(plain) == settings
    file = {"log_dir": "x", "aggregation_method": "median", "window_length": None}
    expected = Settings(aggregation="median")
    assert Settings.from_dict(file) == expected
