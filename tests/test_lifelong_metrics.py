"""Every metric of a lifetime: known answers by construction, cases worked out by hand, and random logs."""

import json
import math

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from pushlab.metrics import lifelong
from pushlab.metrics.lifelong import (
    METRICS,
    Missing,
    Settings,
    by_hand,
    compare_references,
    lifelong_report,
    log_of,
    metric,
    metrics_for,
    unregister,
)

RELEASE = "l2metrics-3.1"
PLAIN = Settings(smoothing="none", normalization="none")
AS_RELEASED = Settings(smoothing="none", normalization="none", reference=RELEASE)
LOW, HIGH, STEP = 0.2, 1.0, 8                  # what is known before and after learning, and when it is learned


# ---------------------------------------------------------------- known answers by construction

def live(kind, visits="abab", episodes=20):
    """A lifetime of an agent of known behaviour: before each visit of a task and at the end, all tasks are tested.

    A task that is new takes STEP episodes at LOW, then HIGH; one that is known is at HIGH at once.
    kind  "forgets" knows only the task it learned last, "keeps" all that it learned, "transfers" all after the first
    """
    tasks, known, blocks = sorted(set(visits)), set(), []
    for task in [*visits, None]:
        blocks.append(("test", {name: [HIGH if name in known else LOW] * 5 for name in tasks}))
        if task is not None:
            blocks.append(("train", task, [HIGH if task in known else LOW] * STEP + [HIGH] * (episodes - STEP)))
            known = {"forgets": {task}, "keeps": known | {task}, "transfers": set(tasks)}[kind]
    return log_of(*blocks)


def expert(episodes=20):
    return {task: [[LOW] * STEP + [HIGH] * (episodes - STEP)] for task in "ab"}


KNOWN = {
    "forgets": {
        "saturation": 100, "time_to_saturation": STEP, "normalized_integral": 60, "time_to_learn": STEP,
        "mean_training_performance": 60, "mean_evaluation_performance": 40, "recovery_time": STEP,
        "performance_maintenance_mrlep": -100, "performance_maintenance_mrtlp": -100, "maintenance_integral": -5 / 3,
        "forward_transfer_ratio": 1, "forward_transfer_contrast": 0, "backward_transfer_ratio": LOW / HIGH,
        "backward_transfer_contrast": (LOW - HIGH) / (LOW + HIGH), "forward_transfer_expert": LOW,
        "relative_saturation": 1, "relative_time": 1, "relative_integral": 1, "relative_performance": 1,
        "sample_efficiency": 1},
    "keeps": {
        "saturation": 100, "time_to_saturation": STEP / 2, "normalized_integral": 80, "time_to_learn": STEP,
        "mean_training_performance": 80, "mean_evaluation_performance": 70, "recovery_time": 0,
        "performance_maintenance_mrlep": 0, "performance_maintenance_mrtlp": 0, "maintenance_saturation": 0,
        "forward_transfer_ratio": 1, "forward_transfer_contrast": 0, "backward_transfer_ratio": 1,
        "backward_transfer_contrast": 0, "forward_transfer_expert": LOW, "relative_saturation": 1, "relative_time": 1,
        "relative_performance": 1, "sample_efficiency": 1},
    "transfers": {
        "saturation": 100, "time_to_saturation": STEP / 4, "mean_evaluation_performance": 80, "recovery_time": 0,
        "performance_maintenance_mrlep": 0, "performance_maintenance_mrtlp": 0,
        "forward_transfer_ratio": HIGH / LOW, "forward_transfer_contrast": (HIGH - LOW) / (HIGH + LOW),
        "backward_transfer_ratio": 1, "backward_transfer_contrast": 0, "forward_transfer_expert": 1,
        "relative_saturation": 1, "relative_time": (1 + 1 / (STEP + 1)) / 2, "sample_efficiency": (1 + STEP + 1) / 2},
}


@pytest.mark.parametrize("kind", KNOWN)
def test_agents_of_known_behaviour_get_their_known_values(kind):
    # The experts saturate within a window of 2 of their 20 episodes, a task of 40 within one of 4: the step stays put.
    report = lifelong_report(live(kind), expert(), settings=Settings(smoothing="none"))
    assert report.syllabus_type == "ANT_B"
    for name, value in KNOWN[kind].items():
        assert report.lifetime[name] == pytest.approx(value), name
    assert dict(report.missing) == {"performance_recovery": "no task is trained three times or more, so that there are "
                                                            "no two recovery times to compare"}


@pytest.mark.parametrize("kind, expected", [("forgets", 0), ("keeps", 0), ("transfers", 0)])
def test_performance_recovery_of_a_steady_agent_is_0(kind, expected):
    report = lifelong_report(live(kind, "ababab"), settings=Settings(smoothing="none"))
    assert report.lifetime["performance_recovery"] == expected


@pytest.mark.parametrize("smoothing", ["flat", "hanning"])
@pytest.mark.parametrize("reference", [None, RELEASE])
def test_the_three_agents_keep_their_order_under_smoothing(smoothing, reference):
    lifetimes = [lifelong_report(live(kind), settings=Settings(smoothing=smoothing, reference=reference)).lifetime
                 for kind in ("forgets", "keeps", "transfers")]
    for name in ("performance_maintenance_mrlep", "forward_transfer_contrast", "mean_evaluation_performance"):
        forgets, keeps, transfers = (lifetime[name] for lifetime in lifetimes)
        assert forgets <= keeps <= transfers and forgets < transfers


# ---------------------------------------------------------------- cases by hand

def test_maintenance_is_held_against_the_last_learning():
    """a ends its training at 8 and 9; tests of 7 (reference), 6, 4, then 9 (reference), 10."""
    log = log_of(("test", "a", [1]), ("train", "a", [2, 8]), ("test", "a", [7]), ("train", "b", [1]),
                 ("test", "a", [6]), ("test", "a", [4]), ("train", "a", [9]), ("test", "a", [9]), ("test", "a", [10]))
    for chosen in (PLAIN, AS_RELEASED):
        report = lifelong_report(log, settings=chosen)
        assert report.regimes["maintenance_mrlep"].dropna().tolist() == [-1, -3, 1]
        assert report.regimes["maintenance_mrtlp"].dropna().tolist() == [-2, -4, 1]
        assert report.tasks.loc["a", "performance_maintenance_mrlep"] == -1
        assert report.tasks.loc["a", "performance_maintenance_mrtlp"] == pytest.approx(-5 / 3)


def test_variants_of_one_task_are_kept_apart():
    """Learning a under noise costs what it could without."""
    log = log_of(("train", "a", [8], {"noise": 0}), ("test", "a", [8], {"noise": 0}), ("train", "a", [3], {"noise": 1}),
                 ("test", "a", [3], {"noise": 1}), ("test", "a", [2], {"noise": 0}))
    report = lifelong_report(log, settings=PLAIN)
    assert report.syllabus_type == "CL" and report.lifetime["performance_maintenance_mrlep"] == -6
    # To the release both are one task: the last test is held against the one before it.
    assert lifelong_report(log, settings=AS_RELEASED).lifetime["performance_maintenance_mrlep"] == -1
    assert report.lifetime["recovery_time"] == np.inf               # 8 was not reached in one episode
    assert dict(report.missing)["recovery_time"] == ("in part: a was not back within its block of training: the median "
                                                     "is 1 or more")
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["lifetime"]["recovery_time"] is None and told["regimes"][2]["recovered"] is False
    assert lifelong_report(log, settings=AS_RELEASED).lifetime.get("recovery_time", 2) == 2


def test_recovery_times_are_read_block_by_block():
    log = log_of(("train", "a", [0, 4]), ("train", "b", [9]), ("train", "a", [1, 2, 4]), ("train", "a", [1, 2]),
                 ("train", "a", [2]))
    report = lifelong_report(log, settings=PLAIN)
    assert report.regimes["recovery_time"].tolist()[2:] == [2, np.inf, 0]
    assert report.regimes["recovered"].tolist()[2:] == [True, False, True]
    # Three returns: one at once, one after 2, one that was watched for 2 only. Two thirds, one third: the median is 2.
    assert report.tasks.loc["a", "recovery_time"] == 2 and np.isnan(report.tasks.loc["b", "recovery_time"])
    assert "once not back" in dict(report.missing)["performance_recovery"]      # where would a slope go?
    released = lifelong_report(log, settings=AS_RELEASED)
    assert released.regimes["recovery_time"].tolist()[2:] == [2, 3, 0]
    assert released.tasks.loc["a", "recovery_time"] == pytest.approx(5 / 3)
    assert released.lifetime["performance_recovery"] == 1           # slopes 1, -3 and -1, their median with the sign


def test_a_task_that_does_not_come_back_is_not_averaged_away():
    blocks = [("train", "a", [8]), ("train", "b", [8]), ("train", "a", [0, 0, 8, 8]), ("train", "b", [0, 0, 0, 0])]
    report = lifelong_report(log_of(*blocks), settings=PLAIN)
    assert report.tasks["recovery_time"].to_dict() == {"a": 2, "b": np.inf}
    assert report.lifetime["recovery_time"] == np.inf
    assert dict(report.missing)["recovery_time"].endswith("b was not back within its block of training: the median is "
                                                          "4 or more")


def test_transfer_needs_tests_on_both_sides_of_another_tasks_training():
    blocks = [("train", "a", [5]), ("test", "b", [2]), ("train", "b", [5])]
    for name in ("forward_transfer_ratio", "backward_transfer_contrast"):
        with pytest.raises(LookupError, match="before and after another"):
            by_hand(name, *blocks)


def test_ones_own_training_is_not_transfer():
    """b is tested, a and then b are trained, b is tested: the release calls the change transfer of a."""
    blocks = [("test", "b", [1]), ("train", "a", [5]), ("train", "b", [5]), ("test", "b", [5])]
    with pytest.raises(LookupError):
        by_hand("forward_transfer_ratio", *blocks)
    assert by_hand("forward_transfer_ratio", *blocks, reference=RELEASE) == 5


def test_tasks_learned_between_the_same_tests_do_not_overwrite_each_other():
    """Both are learned before c is tested again; the release keeps one pair of the two."""
    log = log_of(("test", "c", [2]), ("train", "a", [5]), ("train", "b", [5]), ("test", "c", [6]))
    names = ["forward_transfer_ratio"]
    ours, theirs = (lifelong_report(log, metrics=names, settings=chosen).pairs for chosen in (PLAIN, AS_RELEASED))
    assert ours[["learned", "tested", "value"]].values.tolist() == [["a", "c", 3.0], ["b", "c", 3.0]]
    assert theirs[["learned", "tested", "value"]].values.tolist() == [["b", "c", 3.0]]


def test_the_lifetimes_transfer_counts_each_pair_once():
    log = log_of(("test", "b", [1]), ("train", "a", [5]), ("test", "b", [2]), ("train", "a", [5]), ("test", "b", [8]))
    report = lifelong_report(log, metrics=["forward_transfer_ratio"], settings=PLAIN)
    assert report.pairs["value"].tolist() == [2, 4] and report.lifetime["forward_transfer_ratio"] == 2
    assert report.pairs[["block", "regime"]].values.tolist() == [[2, 2], [4, 4]]


def test_tests_at_zero_have_no_ratio():
    blocks = [("test", "b", [0]), ("train", "a", [5]), ("test", "b", [2])]
    with pytest.raises(LookupError, match="at 0"):
        by_hand("forward_transfer_ratio", *blocks)
    assert by_hand("forward_transfer_contrast", *blocks) == 1


def test_normalising_moves_no_ratio():
    blocks = [("test", {"a": [10], "b": [20]}), ("train", "a", [50]), ("test", {"a": [50], "b": [30]})]
    ratios = [by_hand("forward_transfer_ratio", *blocks, normalization=kind) for kind in ("none", "task", "run")]
    assert ratios == [1.5] * 3
    assert by_hand("forward_transfer_ratio", *blocks, normalization="task", reference=RELEASE) == 101


def test_tests_while_awake_are_left_out_where_there_are_tests_asleep():
    log = log_of(("test", "a", [1]), ("train", "a", [9]), ("test", "a", [5]), ("test", "a", [7]))
    log["block_subtype"] = ["wake", "wake", "sleep", "sleep"]
    for chosen in (PLAIN, AS_RELEASED):
        assert lifelong_report(log, settings=chosen).lifetime["mean_evaluation_performance"] == 6


def test_a_steady_agent_is_as_efficient_as_its_steady_expert():
    """Both saturate at once, which has no value in the release; noise about a level is no falling curve."""
    steady, wave = [5.0] * 20, 5 + 0.01 * np.cos(np.arange(20))
    assert by_hand("sample_efficiency", ("train", "a", steady), experts={"a": [steady]}) == 1
    with pytest.raises(LookupError):
        by_hand("sample_efficiency", ("train", "a", steady), experts={"a": [steady]}, reference=RELEASE)
    assert by_hand("sample_efficiency", ("train", "a", wave), experts={"a": [wave]}) == 1


def test_sample_efficiency_is_0_where_nothing_was_learned():
    rising = np.linspace(0, 10, 20)
    assert by_hand("sample_efficiency", ("train", "a", [1.0] * 20), experts={"a": [rising]}) == 0
    assert by_hand("sample_efficiency", ("train", "a", rising[::-1]), experts={"a": [rising]}) == 0


def test_experts_are_averaged_by_metric_or_over_time():
    runs = {"a": [[1, 3], [3, 1, 9]]}
    assert by_hand("relative_performance", ("train", "a", [4, 4]), experts=runs) == 2
    assert by_hand("relative_performance", ("train", "a", [6, 2]), experts=runs, expert_averaging="time") == 2
    assert by_hand("relative_saturation", ("train", "a", [6, 2]), experts=runs) == 1.333        # 6/3 and 6/9
    assert by_hand("relative_saturation", ("train", "a", [6, 2]), experts=runs, expert_averaging="time") == 3


def test_aggregation_is_over_tasks():
    blocks = [("test", {"a": [1], "b": [2], "c": [9]})]
    assert by_hand("mean_evaluation_performance", *blocks) == 4
    assert by_hand("mean_evaluation_performance", *blocks, aggregation="median") == 2


# ---------------------------------------------------------------- what is missing

def test_without_experts_the_rest_is_computed():
    report = lifelong_report(live("keeps", "ababab"))
    reasons = dict(report.missing)
    assert set(reasons) == {name for name in METRICS if name.startswith("relative")} | {"sample_efficiency",
                                                                                       "forward_transfer_expert"}
    assert set(reasons.values()) == {"there is no single-task expert of any task"}
    assert set(report.lifetime.index) | set(reasons) == set(metrics_for("ANT_B"))


def test_a_task_without_an_expert_is_named():
    report = lifelong_report(live("keeps"), {"a": expert()["a"]})
    assert dict(report.missing)["sample_efficiency"] == "in part: b has no single-task expert"
    assert report.lifetime["sample_efficiency"] == report.tasks.loc["a", "sample_efficiency"]
    assert np.isnan(report.tasks.loc["b", "sample_efficiency"])


def test_without_tests_or_training_the_rest_is_computed():
    report = lifelong_report(log_of(("train", "a", [1, 2]), ("train", "b", [1, 2])), syllabus_type="ANT_B")
    reasons = dict(report.missing)
    assert reasons["mean_evaluation_performance"] == reasons["forward_transfer_ratio"] == "the log has no test block"
    assert reasons["recovery_time"] == "no task is trained a second time" and "saturation" in report.lifetime
    report = lifelong_report(log_of(("test", "a", [1, 2])))
    assert dict(report.missing)["saturation"] == "the log has no training block"
    assert "mean_evaluation_performance" in report.lifetime
    assert not report.lifetime.index.str.contains("saturation|time|integral|training|maintenance|transfer").any()


# ---------------------------------------------------------------- syllabus types, registry, report

def test_the_syllabus_type_is_told_or_seen_and_chooses_the_metrics():
    log = live("keeps")
    assert lifelong_report(log).syllabus_type == "ANT_B"
    assert lifelong_report(log[log["block"] > 0]).syllabus_type == "ANT_A"
    assert lifelong_report(log[log["task"] == "a"]).syllabus_type == "CL"
    log.attrs["scenario"] = {"syllabus_type": "ant-a"}
    report = lifelong_report(log)
    assert report.syllabus_type == "ANT_A" and not report.lifetime.index.str.contains("transfer").any()
    assert "forward_transfer_ratio" in lifelong_report(log, syllabus_type="ANT_B").lifetime
    with pytest.raises(ValueError, match="CL, ANT_A, ANT_B; got 'ANT_C'"):
        lifelong_report(log, syllabus_type="ANT_C")


def test_settings_choose_between_definitions():
    chosen = metrics_for("ANT_B", Settings(maintenance="mrtlp", transfer="contrast"))
    assert "performance_maintenance_mrtlp" in chosen and "performance_maintenance_mrlep" not in chosen
    assert "forward_transfer_contrast" in chosen and "backward_transfer_ratio" not in chosen
    report = lifelong_report(live("keeps"), metrics=["forward_transfer_ratio"], settings={"transfer": "contrast"})
    assert report.lifetime.index.tolist() == ["forward_transfer_ratio"]         # asked for by name


@pytest.fixture
def own_metric():
    names = []

    def register(name, **more):
        names.append(name)
        return metric(name, **more)

    yield register
    for name in names:
        unregister(name)


def test_ones_own_metric_is_in_report_and_table(own_metric):
    @own_metric("worst_test", syllabus="ANT_B", unit="points", better="higher")
    def worst_test(life):
        """The worst test of all."""
        return life.regimes.loc[life.regimes["block_type"] == "test", "mean"].min()

    @own_metric("episodes_lived")
    def episodes_lived(life):
        return life.log.groupby("task")["raw"].size()

    @own_metric("first_of_all_pairs")
    def pairs(life):
        return pd.DataFrame({"learned": ["a", "a"], "tested": ["b", "b"], "value": [2.0, 4.0]})

    @own_metric("never_there")
    def never_there(life):
        raise Missing("the moon is not full")

    report = lifelong_report(live("keeps"))
    assert report.lifetime[["worst_test", "episodes_lived", "first_of_all_pairs"]].tolist() == [0, 65, 2]
    assert report.tasks.loc["a", "episodes_lived"] == 65
    assert report.pairs.query("metric == 'first_of_all_pairs'")["value"].tolist() == [2, 4]
    assert report.table().loc["worst_test"].tolist() == [0, "points", "higher", "The worst test of all."]
    assert dict(report.missing)["never_there"] == "the moon is not full"
    assert report.table().loc["never_there", "about"] == "missing: the moon is not full"
    assert "worst_test" not in lifelong_report(live("keeps"), syllabus_type="CL").lifetime
    assert lifelong_report(live("keeps"), metrics=[worst_test]).lifetime.index.tolist() == ["worst_test"]


def test_mistakes_in_ones_own_metric_are_told(own_metric):
    own_metric("wordy")(lambda life: "good")
    with pytest.raises(TypeError, match="'wordy' is to return a number, a Series by task or a DataFrame of pairs"):
        lifelong_report(live("keeps"), metrics=["wordy"])
    own_metric("pairless")(lambda life: pd.DataFrame({"value": [1.0]}))
    with pytest.raises(ValueError, match="without the column 'learned'"):
        lifelong_report(live("keeps"), metrics=["pairless"])
    own_metric("broken")(lambda life: 1 / 0)
    with pytest.raises(ZeroDivisionError) as error:
        lifelong_report(live("keeps"), metrics=["broken"])
    assert error.value.__notes__ == ["while computing the metric 'broken'"]
    with pytest.raises(ValueError, match="no metric is called 'satiation'"):
        lifelong_report(live("keeps"), metrics=["satiation"])
    with pytest.raises(ValueError, match="serves one or more of CL, ANT_A, ANT_B; got ANT_C"):
        own_metric("other", syllabus=("CL", "ANT_C"))
    with pytest.raises(ValueError, match='write @metric'):
        metric(lambda life: 1)


def test_a_report_is_plain_in_json_and_in_print():
    report = lifelong_report(live("keeps"), expert())
    told = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert told["lifetime"]["saturation"] == pytest.approx(report.lifetime["saturation"])
    assert told["counts"]["a"] == {"trained": 40, "tested": 25, "min": 0.0, "max": 100.0}
    assert told["scales"]["a"] == {"low": LOW, "high": HIGH} and len(told["regimes"]) == len(report.regimes)
    assert {row["metric"] for row in told["missing"]} == {"performance_recovery"}
    assert "saturation " in repr(report) and "<table" in report._repr_html_()
    assert report.unit("saturation") == "points"
    assert lifelong_report(live("keeps"), settings=PLAIN).unit("saturation") == "reward"


def test_the_log_is_left_as_it_was():
    log = live("keeps")
    before = log.copy()
    lifelong_report(log, {"a": log}, settings=Settings(clamp=True))
    lifelong_report(log, {"a": log}, settings=Settings(clamp=True, reference=RELEASE))
    pd.testing.assert_frame_equal(log, before)


def test_every_metric_says_what_it_is_where_it_comes_from_and_shows_a_case():
    for found in METRICS.values():
        text = found.function.__doc__
        assert found.about.endswith((".", ")")) and "Source" in text and ">>> " in text and found.unit, found.name


def test_references_are_compared_side_by_side():
    table = compare_references(live("transfers"), expert(), settings=Settings(smoothing="none", window=0.2))
    assert table.loc["mean_evaluation_performance", ["corrected", RELEASE, "difference"]].tolist() == [80, 81, -1]
    assert table.loc["forward_transfer_ratio", ["corrected", RELEASE]].tolist() == pytest.approx([5, 101])
    assert table.loc["performance_maintenance_mrlep", "why"] == "" and table["why"].astype(bool).any()
    assert table["name"].tolist() == [lifelong.RELEASE_NAMES[name] for name in table.index]
    by_task = compare_references(live("transfers"), expert(), by="task")
    assert by_task.loc[("forward_transfer_ratio", "a"), "corrected"] == pytest.approx(5)
    assert by_task.loc[("sample_efficiency", "b"), "corrected"] > 1
    assert len(compare_references(log_of(("test", "a", [1])), by="task")) == 1


# ---------------------------------------------------------------- random logs

values = st.lists(st.one_of(st.integers(0, 20).map(float), st.just(np.nan)), min_size=1, max_size=12)
names = st.sampled_from(["t1", "t2", "t10"])
training = st.tuples(st.just("train"), names, values, st.sampled_from([{}, {"noise": 1}]))
evaluation = st.tuples(st.just("test"), st.dictionaries(names, values, min_size=1))
blocks_of = st.lists(st.one_of(training, evaluation), min_size=1, max_size=9)
some_experts = st.one_of(st.none(), st.dictionaries(names, st.one_of(
    st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=15), min_size=1, max_size=3), st.floats(0, 20))))
some_settings = st.builds(
    Settings, smoothing=st.sampled_from(("flat", "blackman", "none")), window=st.sampled_from((None, 3, 4)),
    smooth_tests=st.booleans(), clamp=st.booleans(), normalization=st.sampled_from(("task", "run", "none")),
    data_range=st.sampled_from((None, (-1, 30))), aggregation=st.sampled_from(("mean", "median")),
    expert_averaging=st.sampled_from(("metrics", "time")), variant_mode=st.sampled_from(("aware", "agnostic")),
    reference=st.sampled_from((None, RELEASE)))
relaxed = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


def make_random_log(blocks):
    log = log_of(*blocks)
    assume(log["reward"].notna().any())
    return log


@relaxed
@given(blocks_of, some_experts, some_settings, st.sampled_from(("CL", "ANT_A", "ANT_B", None)))
def test_any_log_has_a_report(blocks, experts, chosen, kind):
    report = lifelong_report(make_random_log(blocks), experts, syllabus_type=kind, settings=chosen)
    wanted = metrics_for(report.syllabus_type, chosen)
    whole = {name for name, reason in report.missing if not reason.startswith("in part")}
    assert set(report.lifetime.index) | whole == set(wanted) and not set(report.lifetime.index) & whole
    without_end = {name for name, value in report.lifetime.items() if not math.isfinite(value)}
    assert without_end <= {"recovery_time"} & set(dict(report.missing)) and all(reason for _, reason in report.missing)
    assert not report.lifetime.isna().any()
    json.dumps(report.to_dict(), allow_nan=False)
    if chosen.normalization != "none" and chosen.reference is None:
        seen = report.curves["normalized"].dropna()
        assert seen.between(-1e-9, 100 + 1e-9).all()


def relabelled(blocks, mapping):
    return [(kind, {mapping[task]: own for task, own in tasks.items()}, *rest) if isinstance(tasks, dict)
            else (kind, mapping[tasks], *rest) for kind, tasks, *rest in blocks]


@relaxed
@given(blocks_of, st.permutations(["t1", "t2", "t10"]), some_experts, st.sampled_from((None, RELEASE)))
def test_metrics_do_not_depend_on_what_tasks_are_called(blocks, others, experts, reference):
    mapping, chosen = dict(zip(["t1", "t2", "t10"], others)), Settings(reference=reference)
    renamed = None if experts is None else {mapping[task]: runs for task, runs in experts.items()}
    make_random_log(blocks)
    one = lifelong_report(log_of(*blocks), experts, settings=chosen)
    other = lifelong_report(log_of(*relabelled(blocks, mapping)), renamed, settings=chosen)
    pd.testing.assert_series_equal(one.lifetime, other.lifetime)
    assert [name for name, _ in one.missing] == [name for name, _ in other.missing]


FREE_OF_SHIFTS = ["time_to_saturation", "time_to_learn", "recovery_time", "performance_recovery",
                  "performance_maintenance_mrlep", "performance_maintenance_mrtlp", "maintenance_saturation",
                  "maintenance_time", "maintenance_integral"]
LEVELS = ["saturation", "normalized_integral", "mean_training_performance", "mean_evaluation_performance"]


@relaxed
@given(blocks_of, st.sampled_from([-300.0, -7.5, 11.0, 1000.0]), st.sampled_from(("task", "run", "none")),
       st.sampled_from(("flat", "none")))
def test_adding_a_constant_moves_levels_and_nothing_else(blocks, constant, normalization, smoothing):
    chosen = Settings(normalization=normalization, smoothing=smoothing)
    log = make_random_log(blocks)
    one, other = (lifelong_report(moved, metrics=[*FREE_OF_SHIFTS, *LEVELS], settings=chosen).lifetime
                  for moved in (log, log.assign(reward=log["reward"] + constant)))
    assert one.index.tolist() == other.index.tolist()
    step = constant if normalization == "none" else 0.0
    expected = one + [step if name in LEVELS else 0.0 for name in one.index]
    np.testing.assert_allclose(other, expected, rtol=1e-9, atol=1e-6)


def test_the_slope_of_very_many_recovery_times_is_that_of_as_many_as_fit():
    rng = np.random.default_rng(0)
    times = 100 - 0.01 * np.arange(6000) + rng.normal(0, 1, 6000)
    assert lifelong.learning.slope_between(times) == pytest.approx(-0.01, abs=1e-4)
