"""The benchmark's report: its numbers are those worked out by hand, its page is whole, and failures are told."""

import json
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

from pushlab import plots
from pushlab.studies.bench.report import FAILED, report, write_report

TASKS = pd.DataFrame({
    "name": ["phone", "room", "patient"], "system": ["push", "room", "HIV"],
    "abilities": ["exploration personalisation", ["memory"], ["planning", "exploration"]],
    "unit": ["opened", "right", "reward"], "random": [10.0, 0.0, 5e6], "best": [20.0, 1.0, 9e6],
    "best_from": ["the true optimum", "who remembers all", "the best of all agents"]})


def make_scores(agent, **runs):
    """{task: normalised scores by seed} as a table."""
    ends = TASKS.set_index("name")
    return pd.DataFrame([
        (agent, task, seed, ends["random"][task] + value * (ends["best"] - ends["random"])[task], value)
        for task, values in runs.items() for seed, value in enumerate(values) if value is not None],
        columns=["agent", "task", "seed", "score", "normalised"])


MINE = make_scores("mine", phone=[0.5, 1.0], room=[0.25, 0.0])
OTHERS = pd.concat([make_scores("random", phone=[0.0, 0.0], room=[0.0, 0.0], patient=[0.0, 0.0]),
                    make_scores("linucb", phone=[0.75, 0.5])])


class Page(HTMLParser):
    """Keeps the open tags, the words, and what images show and where they come from."""

    ALONE = {"meta", "img", "br", "link"}

    def __init__(self, text):
        super().__init__()
        self.open, self.images, self.words, self.links = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag not in self.ALONE:
            self.open.append(tag)
        if tag == "img":
            self.images.append(attrs)
        self.links += [value for name, value in attrs.items() if name in ("src", "href", "action", "data")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def read(path):
    text = path.read_text(encoding="utf-8")
    page = Page(text)
    assert page.open == [] and text.startswith("<!DOCTYPE html>")
    assert all(link.startswith("data:image/png;base64,") for link in page.links)
    assert not {"http:", "https:", "url(", "@import", "<script"} & {one for one in (
        "http:", "https:", "url(", "@import", "<script") if one in text.lower()}
    assert all(image["alt"].strip() for image in page.images)
    return page, " ".join(" ".join(page.words).split())


# ---------------------------------------------------------------- numbers

def test_numbers_are_those_worked_out_by_hand(tmp_path):
    write_report(tmp_path, MINE, TASKS, OTHERS)
    told = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (middle, gap), against = told["summary"], {row["agent"]: row for row in told["against"]}
    assert (middle["value"], middle["tasks"], middle["runs"]) == (0.375, 2, 2)      # of 0, 0.25, 0.5, 1: the middle two
    assert gap["value"] == (0.5 + 0 + 0.75 + 1) / 4
    assert middle["value_low"] < 0.375 < middle["value_high"]
    assert {name: row["tasks"] for name, row in against.items()} == {"linucb": 1, "random": 2}
    # linucb did the phone alone, so both stand there with the phone alone; of four pairs one is lost, one a tie
    assert (against["linucb"]["ours"], against["linucb"]["theirs"], against["linucb"]["better"]) == (0.75, 0.625, 0.625)
    assert (against["random"]["ours"], against["random"]["theirs"], against["random"]["better"]) == (0.375, 0, 0.875)
    abilities = {(row["ability"], row["agent"]): row for row in told["abilities"]}
    assert abilities["exploration", "mine"]["value"] == 0.75                # the phone's; the patient was not done
    assert (abilities["exploration", "mine"]["tasks"], abilities["exploration", "mine"]["of"]) == (1, 2)
    assert abilities["planning", "mine"]["value"] is None and abilities["planning", "random"]["value"] is None
    assert abilities["memory", "linucb"]["value"] is None                   # it did not do the room
    scores = {(row["agent"], row["task"]): row["mean"] for row in told["by_task"]}
    assert scores["mine", "phone"] == 17.5 and scores["random", "patient"] == 5e6
    assert told["packages"]["numpy"] == np.__version__ and told["version"] == "pushlab-bench-1"
    assert told["missing"] == [{"task": "patient", "seed": None, "reason": "it was not run"}]


def test_what_failed_counts_as_the_lowest_known_and_is_told(tmp_path):
    mine = make_scores("mine", phone=[0.5, None, 1.0], room=[0.25, 0.25, None])
    failed = pd.DataFrame({"task": ["phone"], "seed": [1], "reason": ["ValueError: an action outside <the space>"]})
    unfit = pd.DataFrame({"task": ["patient"], "reason": ["needs discrete actions; this task has Box"]})
    page, words = read(write_report(tmp_path, mine, TASKS, OTHERS, "pushlab-bench-1-quick", unfit, failed))
    told = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    assert told["missing"] == [
        {"task": "patient", "seed": None, "reason": "needs discrete actions; this task has Box"},
        {"task": "phone", "seed": 1, "reason": "ValueError: an action outside <the space>"},
        {"task": "room", "seed": 2, "reason": "there is no score"}]
    rows = {row["task"]: row for row in told["by_task"] if row["agent"] == "mine"}
    assert (rows["phone"]["mean_normalised"], rows["phone"]["mean"], rows["phone"]["failed"]) == (0.5, 15.0, 1)
    assert told["summary"][0]["runs"] == 3
    assert "over 2 of 3 tasks, 3 runs each" in words and "2 of the runs failed and count as the lowest" in words
    assert "an action outside <the space>" in words and "needs discrete actions" in words and "quick version" in words


def test_who_breaks_off_where_others_do_badly_gains_nothing():
    bad, phone = [-3.0, -2.0], [0.5, 0.5]
    other = make_scores("other", phone=phone, room=[-4.0, -1.0])
    failed = pd.DataFrame({"task": "room", "seed": [0, 1], "reason": "KeyError: 'x'"})
    whole, broken = (report(make_scores("mine", phone=phone, **more), TASKS, other, failed=lost)
                     for more, lost in (({"room": bad}, FAILED), ({}, failed)))
    assert broken["summary"][0]["value"] <= whole["summary"][0]["value"]
    assert [run["normalised"] for run in broken["runs"] if run["agent"] == "mine" and run["failed"]] == [-4.0, -4.0]


def test_fewer_tasks_never_make_an_agent_look_better_beside_another():
    both = make_scores("mine", phone=[0.9, 0.9], room=[0.1, 0.1])
    other = make_scores("other", phone=[0.9, 0.9], room=[0.5, 0.5])
    whole, part = (report(some, TASKS, other)["against"][0] for some in (both, both[both["task"] == "phone"]))
    assert whole["ours"] < whole["theirs"] and part["ours"] == part["theirs"] and part["tasks"] == 1


def test_one_run_has_no_interval_and_no_run_no_picture(tmp_path):
    one = report(make_scores("mine", phone=[0.5]), TASKS)
    assert one["summary"][0]["value"] == 0.5 and one["summary"][0]["value_low"] is None and one["against"] == []
    read(write_report(tmp_path / "one", make_scores("mine", phone=[0.5]), TASKS))
    page, words = read(write_report(tmp_path / "none", MINE.iloc[:0], TASKS, OTHERS, agent="mine"))
    assert "None of the 3 tasks was done" in words and page.images == []
    failed = pd.DataFrame({"task": "phone", "seed": [0, 1], "reason": "KeyError: 'x'"})
    told = report(MINE.iloc[:0], TASKS, failed=failed, agent="mine")
    assert told["summary"][0]["value"] == 0 and [row["failed"] for row in told["by_task"]] == [2]


# ---------------------------------------------------------------- the page

def test_page_is_whole_shows_every_picture_and_takes_names_as_words(tmp_path):
    name = "<b>me & \"you\"</b>"
    mine = MINE.assign(agent=name)
    page, words = read(write_report(tmp_path, mine, TASKS, pd.concat([OTHERS, mine])))
    assert len(page.images) == len(list(tmp_path.glob("*.png"))) == 5       # three, and two tasks
    assert name in words and f"{name} (reference)" in words
    assert "b" not in page.open and any("phone 0.75 [" in image["alt"] for image in page.images)


def test_an_earlier_report_leaves_no_picture_behind(tmp_path):
    write_report(tmp_path, MINE, TASKS)
    write_report(tmp_path, MINE[(MINE["task"] == "room") & (MINE["seed"] == 0)], TASKS)
    assert {path.name for path in tmp_path.iterdir()} == {"report.html", "report.json", "overview.png", "abilities.png",
                                                          "task-room.png"}


def test_a_folder_that_cannot_be_written_is_named_and_nothing_is_half_written(tmp_path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OSError, match=r"the report could not be written to .*file"):
        write_report(tmp_path / "file", MINE, TASKS)
    assert (tmp_path / "file").read_text() == "mine"
    (tmp_path / "out" / "report.html").mkdir(parents=True)
    with pytest.raises(OSError, match="the report could not be written to .*out"):
        write_report(tmp_path / "out", MINE, TASKS)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["report.html"]


@pytest.mark.parametrize("change, words", [
    (lambda scores: {"scores": scores.drop(columns="seed")}, "the table of scores has no column 'seed'"),
    (lambda scores: {"scores": scores.replace("phone", "fone")}, "no task 'fone'; there are phone, room, patient"),
    (lambda scores: {"scores": pd.concat([scores, OTHERS])}, "of one agent; the table of scores has 3"),
    (lambda scores: {"scores": pd.concat([scores, scores])}, "twice"),
    (lambda scores: {"tasks": TASKS.assign(best=TASKS["random"])}, "the best score of a task is above its random one"),
    (lambda scores: {"tasks": TASKS.drop(columns="unit")}, "the table of tasks has no column 'unit'"),
    (lambda scores: {"failed": FAILED.drop(columns="seed")}, "the table of what failed has no column 'seed'")])
def test_tables_of_another_form_are_refused(change, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        write_report(tmp_path, **{"scores": MINE, "tasks": TASKS, **change(MINE)})
    assert not list(tmp_path.iterdir())


# ---------------------------------------------------------------- pictures

@pytest.mark.parametrize("name", ["mine", "an agent whose name is rather long, for one that is in a picture", "你"])
def test_pictures_are_good(name, good_picture):
    rng = np.random.default_rng(0)
    tasks = pd.DataFrame({"name": [f"task-{place}-of-the-benchmark" for place in range(5)], "best": 2.0,
                          "unit": "a unit that takes " * 9, "random": -0.4 * np.arange(5),
                          "abilities": ["memory", "delay memory", "planning", "retention", "exploration"]})
    rows = [(agent, task.name, seed, value, (value - task.random) / (task.best - task.random), bool(seed == 1))
            for agent in (name, "random", "linucb, with many more words than fit", "dqn") for task in tasks.itertuples()
            for seed, value in enumerate(task.random + rng.normal(0.5, 0.6, 3) * (task.best - task.random))]
    scores = pd.DataFrame(rows, columns=["agent", "task", "seed", "score", "normalised", "failed"])
    worst = (scores["agent"] == "dqn") & (scores["task"] == tasks["name"][0])
    scores.loc[worst, ["score", "normalised"]] = -1000.0, -500.0
    less = scores[(scores["agent"] != name) | (scores["task"] != tasks["name"][2])]
    words = good_picture(plots.task_scores(less, tasks, name))
    assert "not done" in words and " best known 1 " in words
    words = good_picture(plots.task_runs(scores, tasks.iloc[0], name))
    assert "−1,000, 1 failed" in words and " best known 2 " in words
    words = good_picture(plots.ability_radar(plots.ability_table(less, tasks, name), name))
    assert {"0", "0.5", "1", "memory", "none of 1 tasks"} <= set(words)


def test_pictures_of_one_run_and_one_task_are_good(good_picture):
    one = make_scores("mine", phone=[0.5])
    for picture in (plots.task_scores(one, TASKS, "mine"), plots.task_runs(one, TASKS.iloc[0], "mine"),
                    plots.ability_radar(plots.ability_table(one, TASKS, "mine"), "mine")):
        good_picture(picture)
    with pytest.raises(ValueError, match="agent is one of mine; got 'yours'"):
        plots.ability_table(one, TASKS, "yours")
    with pytest.raises(ValueError, match="the table of scores is empty"):
        plots.task_runs(one, TASKS.iloc[1], "mine")


def test_intervals_of_tasks_are_students():
    table = plots.task_means(MINE, "score").set_index("task")
    assert table.loc["phone", ["mean", "low", "high"]].tolist() == pytest.approx(
        [17.5, 17.5 - 12.7062 * 2.5, 17.5 + 12.7062 * 2.5], abs=1e-3)                      # t(1) = 12.706
