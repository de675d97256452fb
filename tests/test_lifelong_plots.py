"""Pictures of lifetimes: words whole and apart for every number of tasks and blocks, marks where metrics are read."""

import json

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from pushlab import plots
from pushlab.metrics.lifelong import Settings, lifelong_report, metric, unregister
from pushlab.plots.lifeline import Lifeline, thinned
from pushlab.plots.lifelong_marks import MARKS, losses
from pushlab.plots.lifelong_tables import evaluation_table, regime_names

LONG = ("a task whose name is much too long for any picture of it", "email", "the room at night, seen from above", "$5")


def make_log(order, tasks=None, train=60, tested=True, test=8, seed=0, noise=0.06, kept=0.5, params="{}"):
    """A lifetime made up: learning a task lifts it to 0.86, and each other learned task falls to a share of that."""
    rng, tasks = np.random.default_rng(seed), list(tasks or dict.fromkeys(order))
    skill, rows, regime, block = {task: 0.25 for task in tasks}, [], 0, 0

    def live(task, kind, count):
        nonlocal regime
        for _ in range(count):
            if kind == "train":
                skill[task] += 6 * (0.86 - skill[task]) / count
            rows.append((block, kind, task, params, regime, len(rows), skill[task] + rng.normal(0, noise)))
        regime += 1

    for task in [None, *order]:
        if task is not None:
            live(task, "train", train)
            block += 1
            skill.update({other: max(0.25, kept * skill[other]) for other in tasks if other != task})
        if tested:
            for other in tasks:
                live(other, "test", test)
            block += 1
    return pd.DataFrame(rows, columns=["block", "block_type", "task", "params", "regime", "episode", "reward"])


def report_of(*args, experts=None, settings=None, **more):
    settings = settings or Settings(normalization="none")
    return lifelong_report(make_log(*args, **more), experts=experts, settings=settings)


def words_of(ax):
    return [text.get_text() for text in ax.figure.findobj(Text) if text.get_text()]


def experts_of(*tasks, runs=2):
    return {task: [make_log([task], tested=False, train=150, seed=9 + run) for run in range(runs)] for task in tasks}


# ---------------------------------------------------------------- the whole lifetime

@pytest.mark.parametrize("order", [["A"], ["A", "B", "A"], list("ABC"), LONG, ["task1_1", "task2_1", "task3_1"] * 4])
@pytest.mark.parametrize("tested", [True, False])
def test_a_lifetime_is_whole_for_any_number_of_tasks_and_blocks(good_picture, order, tested):
    report = report_of(order, tested=tested)
    marks = {"marks": tuple(MARKS)} if len(order) < 5 else {}      # all at once do not fit between 24 blocks
    words = good_picture(plots.lifetime_curve(report, **marks))
    assert any("experiences" in word for word in words)
    assert any(word.endswith("tested") for word in words) is tested


@pytest.mark.parametrize("settings", [Settings(), Settings(normalization="run"), Settings(smoothing="none"),
                                      Settings(smoothing="hanning", window=9)])
def test_a_lifetime_is_whole_under_any_settings(good_picture, settings):
    good_picture(plots.lifetime_curve(report_of(["A", "B", "A"], settings=settings)))


def test_a_lifetime_tells_what_was_forgotten_and_that_it_was_learned_again(good_picture):
    words = good_picture(plots.lifetime_curve(report_of(["A", "B", "A"], noise=0.0, kept=0.5)))
    assert "Learning B costs the agent 0.43 on A, which learning it again repairs" in words
    assert "forgetting 0.43" in words and words.count("learn A") == 2 and words.count("learn B") == 1


def test_a_lifetime_in_which_nothing_is_lost_says_so(good_picture):
    words = good_picture(plots.lifetime_curve(report_of(["A", "B"], kept=1.0)))
    assert "No test shows for certain that anything was forgotten" in words


def test_marks_carry_the_values_of_the_report():
    report = report_of(["A", "B", "A"], noise=0.02)
    first = report.regimes[report.regimes["block_type"] == "train"].iloc[0]
    words = words_of(plots.lifetime_curve(report))
    assert f"saturation value {first['saturation']:.2f}" in words
    assert f"time to saturation {first['time_to_saturation']:.0f}" in words


def test_several_lifetimes_give_intervals_over_them(good_picture):
    reports = [report_of(["A", "B"], seed=seed) for seed in range(6)]
    table = plots.evaluation_table(reports)
    assert (table["over"] == "lifetimes").all() and (table["count"] == 6).all()
    words = good_picture(plots.lifetime_curve(reports))
    assert any("tests, 6 lifetimes, 95 % intervals" in word and "the first lifetime" in word for word in words)


def test_a_huge_lifetime_is_drawn_from_few_points(good_picture):
    log = make_log(["A", "B"] * 3, train=30_000, test=100)
    good_picture(plots.lifetime_curve(lifelong_report(log, settings=Settings(normalization="none"))))
    x, y = thinned(np.arange(100_000), np.random.default_rng(0).normal(size=100_000))
    assert len(x) <= 600 and y.max() > 4


def test_learning_is_to_scale_and_tests_share_one_width():
    line = Lifeline(make_log(["A", "B"], train=40))
    widths = (line.blocks["stop"] - line.blocks["start"]).groupby(line.blocks["block_type"]).agg(["min", "max"])
    assert widths.loc["train"].tolist() == [40, 40] and widths.loc["test", "min"] == pytest.approx(line.column)
    assert line.at(40) == line.blocks["stop"][1] and line.at(0) == line.blocks["start"][1]


# ---------------------------------------------------------------- tests, names, losses

@pytest.mark.parametrize("order", [["A"], ["A", "B", "A"], LONG, ["task1_1", "task2_1", "task3_1"] * 4])
def test_evaluation_blocks_are_whole(good_picture, order):
    words = good_picture(plots.evaluation_blocks(report_of(order)))
    assert "learned before the test" in words and "start" in words


def test_evaluation_table_holds_means_and_intervals_over_episodes():
    report = report_of(["A"], noise=0.0)
    table = evaluation_table(report)
    assert table[["block", "name", "count"]].values.tolist() == [[0, "A", 8], [2, "A", 8]]
    assert (table["over"] == "episodes").all()
    assert table["mean"].tolist() == pytest.approx([0.25, 0.86], abs=0.01)
    assert (table["high"] - table["low"]).tolist() == pytest.approx([0, 0], abs=1e-9)


def test_losses_hold_each_later_test_against_the_first_after_learning():
    report = report_of(["A", "B", "C", "A"], noise=0.0, kept=0.5)
    found = {(loss.name, loss.until): loss for loss in losses(evaluation_table(report), report)}
    assert found["A", 4].drop == pytest.approx(0.43, abs=0.01) and found["A", 4].cause == "B costs"
    assert found["A", 6].drop == pytest.approx(0.61, abs=0.01) and found["A", 6].cause == "2 others cost"
    assert ("A", 8) not in found and found["A", 6].repaired and not found["B", 8].repaired


def test_what_another_task_has_repaired_was_not_repaired_by_learning_it_again():
    """A falls to half through B; C alone brings it back, or only learning A does."""
    def drop(after_c):
        blocks = [("train", 0.9), ("test", 0.9), ("train", 0.9), ("test", 0.4), ("train", 0.9), ("test", after_c),
                  ("train", 0.9), ("test", 0.9)]
        tasks = ["A", "A", "B", "A", "C", "A", "A", "A"]
        log = pd.concat([pd.DataFrame({"block": block, "block_type": kind, "task": task, "params": "{}",
                                       "regime": block, "reward": [value] * 8})
                         for block, ((kind, value), task) in enumerate(zip(blocks, tasks))], ignore_index=True)
        report = lifelong_report(log.assign(episode=range(len(log))), settings=Settings(normalization="none"))
        return next(loss for loss in losses(evaluation_table(report), report) if loss.until == 3)

    assert drop(0.4).repaired and not drop(0.9).repaired


def test_variants_of_one_task_are_named_by_what_differs():
    log = make_log(["shelf"] * 2, tested=False)
    told = [{"noise": noise, "model": {"name": "drift", "speed": 1}} for noise in (0, 0.5)]
    log["params"] = log["block"].map(lambda block: json.dumps(told[block]))
    report = lifelong_report(log, settings=Settings(normalization="none"))
    assert list(regime_names(report).values()) == ["noise 0", "noise 0.5"]


# ---------------------------------------------------------------- experts, single metrics, settings

@pytest.mark.parametrize("runs", [1, 3])
def test_against_the_expert_is_whole_and_says_by_how_much(good_picture, runs):
    report = report_of(["A", "B", "A"], experts=experts_of("A", runs=runs))
    words = good_picture(plots.against_expert(report))
    told = float(report.tasks.loc["A", "relative_performance"])
    assert f"relative performance {told:.2f}" in words and "expert" in words
    with pytest.raises(ValueError, match="no expert of task 'B'; there are experts of A"):
        plots.against_expert(report, "B")


def test_without_experts_the_error_says_where_they_come_from():
    with pytest.raises(ValueError, match=r"lifelong_report\(log, experts=...\)"):
        plots.against_expert(report_of(["A"]))


def test_every_metric_of_a_report_has_its_picture():
    report = report_of(["A", "B", "A"], experts=experts_of("A", "B"))
    for name in report.lifetime.index:
        words = words_of(plots.metric_on_curve(report, name))
        assert words[0].lower().startswith(name.split("_")[0])


def test_a_metric_that_is_missing_is_drawn_unmarked_and_says_so(good_picture):
    words = good_picture(plots.metric_on_curve(report_of(["A", "B"]), "recovery_time"))
    assert words[0] == "Recovery time: not to be had from this log"


def test_ones_own_metric_has_its_picture_and_its_card(good_picture):
    metric("nicest_test")(lambda life: life.regimes.loc[life.regimes["block_type"] == "test", "mean"].max())
    try:
        report = report_of(["A", "B"], noise=0.0)
    finally:
        unregister("nicest_test")
    assert good_picture(plots.metric_on_curve(report, "nicest_test"))[0] == "Nicest test 0.86"
    assert "nicest test" in good_picture(plots.report_sheet(report, metrics=["nicest_test"]))


def test_an_unknown_metric_or_mark_is_named():
    report = report_of(["A"])
    with pytest.raises(ValueError, match="no metric 'beauty'; it has "):
        plots.metric_on_curve(report, "beauty")
    with pytest.raises(ValueError, match="no mark is called 'beauty'; there are saturation"):
        plots.lifetime_curve(report, marks=("beauty",))
    with pytest.raises(ValueError, match="the log has no task 'C'; it has A"):
        plots.lifetime_curve(report, task="C")
    with pytest.raises(TypeError, match=r"what lifelong_report\(\) returns"):
        plots.lifetime_curve(make_log(["A"]))


def test_smoothed_curves_are_whole_and_named_by_their_settings(good_picture):
    log = make_log(["A", "B"], train=120)
    reports = [lifelong_report(log, settings=Settings(smoothing=kind, window=window, normalization="none"))
               for kind, window in (("flat", None), ("hanning", 30), ("none", None))]
    words = good_picture(plots.smoothed_curves(reports))
    assert {"flat, window of a fifth", "hanning, window 30", "not smoothed"} <= set(words)


def test_a_report_sheet_shows_metrics_and_what_they_were(good_picture):
    log = make_log(["A", "B", "A"])
    before = lifelong_report(log, settings=Settings(normalization="none"))
    after = lifelong_report(log, settings=Settings())
    words = good_picture(plots.report_sheet(after, before))
    assert any(word.startswith("was ") for word in words)


def test_sliders_over_settings_change_curves_and_numbers():
    from pushlab.plots import widgets

    panel = widgets.lifelong_settings(make_log(["A", "B", "A"]))
    seen, said = {panel.image.value}, {panel.words.value}
    for name, value in (("window", 30), ("smoothing", "none"), ("normalization", "run")):
        panel.controls[name].value = value
        seen.add(panel.image.value)
        said.add(panel.words.value)
    assert len(seen) == 4 and len(said) >= 3 and not any("Error" in words for words in said)


def test_tests_whose_values_are_all_alike_promise_no_interval():
    from pushlab.metrics.lifelong import log_of
    from pushlab.plots.lifelong_words import interval_words

    alike, apart = (evaluation_table([lifelong_report(log_of(("test", {"A": first}), ("train", "A", [0, 4, 8]),
                                                             ("test", {"A": [8, 8]})))])
                    for first in ([0, 0], [0, 2]))
    assert interval_words(alike) == "2 episodes"
    assert interval_words(apart) == "2 episodes, 95 % intervals"
