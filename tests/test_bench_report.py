"""The report of the benchmark: numbers by hand, failed runs, one page."""

import json
import re
from io import StringIO

import pandas as pd
import pytest

from pushlab.experiments.bench.report import report, write_report


def table(text):
    return pd.read_csv(StringIO(text), skipinitialspace=True)


TASKS = table(
    """name,    system, abilities,                   unit,   random, best, best_from
       phone,   push,   exploration personalisation, opened, 10,     20,   the optimum
       room,    room,   memory,                      right,  0,      1,    the optimum
       patient, HIV,    planning exploration,        reward, 0,      8,    search"""
)
MINE = table(
    """agent, task,  seed, score, normalised
       mine,  phone, 0,    15,    0.5
       mine,  phone, 1,    20,    1.0
       mine,  room,  0,    0.25,  0.25
       mine,  room,  1,    0,     0"""
)
OTHERS = table(
    """agent,  task,    seed, score, normalised
       random, phone,   0,    10,    0
       random, phone,   1,    10,    0
       random, room,    0,    0,     0
       random, room,    1,    -4,    -4
       random, patient, 0,    0,     0
       random, patient, 1,    0,     0
       linucb, phone,   0,    17.5,  0.75
       linucb, phone,   1,    15,    0.5"""
)


def test_numbers_are_those_worked_out_by_hand(tmp_path):
    write_report(tmp_path, MINE, TASKS, OTHERS)
    found = json.loads((tmp_path / "report.json").read_text())
    middle, gap = found["summary"]
    # The middle two of 0, 0.25, 0.5 and 1.
    assert (middle["value"], middle["tasks"], middle["runs"]) == (0.375, 2, 2)
    assert middle["value_low"] < 0.375 < middle["value_high"]
    assert gap["value"] == (0.5 + 0 + 0.75 + 1) / 4
    against = pd.DataFrame(found["against"]).set_index("agent")
    columns = ["tasks", "ours", "theirs", "better"]
    # Over the phone alone, the only task of linucb: of four pairs one lost, one tied.
    assert against.loc["linucb", columns].tolist() == [1, 0.75, 0.625, 0.625]
    # Over both tasks; one of the eight pairs is tied.
    assert against.loc["random", columns].tolist() == [2, 0.375, 0, 0.9375]
    abilities = pd.DataFrame(found["abilities"]).set_index(["ability", "agent"])
    assert abilities.loc[("exploration", "mine"), "value"] == 0.75
    assert abilities.loc[("exploration", "mine"), ["tasks", "of"]].tolist() == [1, 2]
    assert pd.isna(abilities["value"]["planning", "random"])  # mine did not do it
    assert pd.isna(abilities["value"]["memory", "linucb"])
    means = pd.DataFrame(found["by_task"]).set_index(["agent", "task"])
    half = 12.7062 * 2.5  # t with one degree of freedom times the standard error
    ends = means.loc[("mine", "phone"), ["mean", "low", "high"]].tolist()
    assert ends == pytest.approx([17.5, 17.5 - half, 17.5 + half], rel=1e-5)
    reason = {"task": "patient", "seed": None, "reason": "it was not run"}
    assert found["missing"] == [reason]


def test_a_failed_run_counts_as_the_lowest_known_score_of_its_task():
    failed = pd.DataFrame({"task": ["room"], "seed": [1], "reason": ["KeyError: 'x'"]})
    found = report(MINE.iloc[:3], TASKS, OTHERS, failed=failed)
    lost = [run for run in found["runs"] if run["failed"]]
    assert [(run["normalised"], run["score"]) for run in lost] == [(-4, -4)]
    assert found["missing"][0] == {"task": "room", "seed": 1, "reason": "KeyError: 'x'"}
    # Without a known lower score it counts as random play.
    alone = report(MINE.iloc[:2], TASKS, failed=failed, agent="mine")
    lost = [run["normalised"] for run in alone["runs"] if run["failed"]]
    assert lost == [0, 0]
    unscored = report(MINE.iloc[:3], TASKS)["missing"]
    assert unscored[0]["reason"] == "there is no score"


def test_one_run_has_no_interval():
    found = report(MINE.iloc[:1], TASKS)["summary"][0]
    assert found["value"] == 0.5
    assert found["value_low"] is None


def test_the_page_is_one_file_that_takes_names_as_text(tmp_path):
    name = "<b>me</b>"
    mine = MINE.assign(agent=name)
    unfit = pd.DataFrame({"task": ["patient"], "reason": ["needs a <Box>"]})
    page = write_report(
        tmp_path, mine, TASKS, pd.concat([OTHERS, mine]), unfit=unfit
    ).read_text()
    assert "&lt;b&gt;me&lt;/b&gt; (reference)" in page and name not in page
    assert "needs a &lt;Box&gt;" in page
    images = re.findall('<img[^>]*src="([^"]*)"[^>]*>', page)
    assert len(images) == len(list(tmp_path.glob("*.png"))) == 5
    assert all(link.startswith("data:image/png;base64,") for link in images)
    assert len(re.findall('alt="[^"]+"', page)) == 5
    assert not re.search("https?:|<script|@import", page)


def test_a_new_report_removes_the_pictures_of_the_old_one(tmp_path):
    write_report(tmp_path, MINE, TASKS)
    write_report(tmp_path, MINE.iloc[:0], TASKS, agent="mine")
    assert "None of the 3 tasks" in (tmp_path / "report.html").read_text()
    assert not list(tmp_path.glob("task-*.png"))


def test_an_error_names_the_column_or_task_and_writes_nothing(tmp_path):
    with pytest.raises(ValueError, match="the table of scores has no column 'seed'"):
        write_report(tmp_path, MINE.drop(columns="seed"), TASKS)
    with pytest.raises(ValueError, match="no task 'fone'; there are phone, room"):
        write_report(tmp_path, MINE.replace("phone", "fone"), TASKS)
    assert not list(tmp_path.iterdir())
