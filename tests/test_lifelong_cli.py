"""`pushlab lifelong` and `pushlab experts`, as a user calls them."""

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.logs.folders import write_log
from pushlab.metrics.lifelong import METRICS, Settings, lifelong_report, unregister


def lifetime(top=8.0, tasks=("a", "b"), each=10):
    """Two tasks, each trained once and tested before and after; what was learned last is kept, the other half lost."""
    blocks = [("test", task, 0.0) for task in tasks]
    for learned in tasks:
        blocks.append(("train", learned, top))
        blocks += [("test", task, top if task == learned else top / 2) for task in tasks]
    rows, block, kind = [], -1, None
    for block_type, task, value in blocks:
        block += block_type == "train" or block_type != kind
        kind = block_type
        curve = np.linspace(0, value, each) if block_type == "train" else np.full(each, value)
        rows += [(block, block_type, task, "{}", one) for one in curve]
    log = pd.DataFrame(rows, columns=["block", "block_type", "task", "params", "reward"])
    return log.assign(episode=range(len(log)))


def call(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "200", "L2DATA": ""})


@pytest.fixture
def folder(tmp_path):
    return write_log(lifetime(), tmp_path / "life")


def test_the_table_and_the_files_say_what_the_report_says(folder, tmp_path):
    done = call("lifelong", folder, "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    report = lifelong_report(lifetime())
    assert all(name in done.output for name in report.lifetime.index)
    told = json.loads((tmp_path / "out" / "life.json").read_text())
    assert told["lifetime"]["saturation"] == pytest.approx(report.lifetime["saturation"])
    assert len(pd.read_csv(tmp_path / "out" / "life_regimes.tsv", sep="\t")) == len(report.regimes)
    for name in ("life.png", "life_tests.png"):
        assert (tmp_path / "out" / name).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("more", [(), ("--recursive",)])
def test_what_could_not_be_reported_is_not_said_to_be_written(folder, tmp_path, more):
    for path in folder.rglob("data-log.tsv"):
        path.write_text(path.read_text().replace("reward", "score"))
    done = call("lifelong", folder, "-o", tmp_path / "out", *more)
    assert done.exit_code == 1 and "written to" not in done.stdout and not (tmp_path / "out").exists()
    assert f"nothing was written to {tmp_path / 'out'}" in done.stderr


def test_options_and_settings_files_change_the_numbers(folder, tmp_path):
    plain = call("lifelong", folder, "--normalization", "none", "--smoothing", "none", "--no-plot",
                 "--save-settings", tmp_path / "s.json", "-o", tmp_path / "out")
    assert plain.exit_code == 0, plain.output
    told = json.loads((tmp_path / "out" / "life.json").read_text())
    assert told["lifetime"]["mean_training_performance"] == pytest.approx(4.0)
    again = call("lifelong", folder, "--settings", tmp_path / "s.json", "--data-range", "0,16", "--normalization",
                 "task", "-o", tmp_path / "two", "--no-plot")
    assert again.exit_code == 0, again.output
    told = json.loads((tmp_path / "two" / "life.json").read_text())
    assert told["lifetime"]["mean_training_performance"] == pytest.approx(25.0)
    assert Settings.from_dict(told["settings"]) == Settings(smoothing="none", data_range=(0, 16))
    assert not list((tmp_path / "two").glob("*.png"))


def test_the_syllabus_type_chooses_the_metrics(folder):
    done = {kind: call("lifelong", folder, "--syllabus-type", kind) for kind in ("CL", "ant-b")}
    assert all(result.exit_code == 0 for result in done.values())
    assert ", ANT_B, measured by reward" in done["ant-b"].output and ", CL, " in done["CL"].output
    assert call("lifelong", folder, "--syllabus-type", "XY").exit_code == 2


def test_metrics_of_ones_own_come_from_a_file(folder, tmp_path):
    (tmp_path / "mine.py").write_text("from pushlab.metrics.lifelong import metric\n\n\n"
                                      "@metric('worst_test', unit='points')\ndef worst(life):\n"
                                      "    return life.regimes.query('block_type == \"test\"')['mean'].min()\n")
    try:
        done = call("lifelong", folder, "--metrics-from", tmp_path / "mine.py", "--metric", "worst_test")
        assert done.exit_code == 0 and "worst_test" in done.output and "saturation" not in done.output
    finally:
        unregister("worst_test")
    (tmp_path / "broken.py").write_text("1 / 0\n")
    done = call("lifelong", folder, "--metrics-from", tmp_path / "broken.py")
    assert done.exit_code == 2 and "ZeroDivisionError" in done.output
    assert "worst_test" not in METRICS


def test_a_metric_of_ones_own_that_fails_is_named(folder, tmp_path):
    (tmp_path / "mine.py").write_text("from pushlab.metrics.lifelong import metric\n\n\n"
                                      "@metric('first_sleep')\ndef first_sleep(life):\n"
                                      "    return min(life.regimes.query('block_subtype == \"sleep\"')['mean'])\n")
    try:
        done = call("lifelong", folder, "--metrics-from", tmp_path / "mine.py")
    finally:
        unregister("first_sleep")
    assert done.exit_code == 1 and "first_sleep" in done.output


def test_many_lifetimes_become_one_table_and_a_faulty_one_does_not_stop_the_others(tmp_path):
    for name, top in (("first", 4.0), ("second", 8.0), ("third", 16.0)):
        write_log(lifetime(top), tmp_path / "all" / name)
    path = tmp_path / "all" / "second" / "0" / "1-train" / "data-log.tsv"
    path.write_text(path.read_text()[:-5])
    for path in (tmp_path / "all" / "third").rglob("data-log.tsv"):
        path.write_text(path.read_text().replace("reward", "score"))
    done = call("lifelong", tmp_path / "all", "--recursive", "--normalization", "none", "--no-plot",
                "-o", tmp_path / "o")
    assert done.exit_code == 1 and "torn off" in done.output and "1 of 3 lifetimes could not" in done.output
    assert "1 of 3 lifetimes are reported without what is at fault" in done.output
    table = pd.read_csv(tmp_path / "o" / "lifetimes.tsv", sep="\t", index_col=0)
    assert table.columns[1:].tolist() == [name for name in METRICS if name in table]
    assert table.index.tolist() == ["first", "second", "mean"] and table["faults"].tolist()[:2] == [0, 1]
    assert table.loc["mean", "saturation"] == pytest.approx(table.loc[["first", "second"], "saturation"].mean())


def test_a_folder_with_a_point_in_its_name_keeps_the_whole_of_it(tmp_path):
    for name in ("run.1", "run.2"):
        write_log(lifetime(), tmp_path / name)
        assert call("lifelong", tmp_path / name, "-o", tmp_path / "out", "--no-plot").exit_code == 0
    assert {path.name for path in (tmp_path / "out").glob("*.json")} == {"run.1.json", "run.2.json"}


def test_of_many_lifetimes_the_terminal_shows_mean_and_range(tmp_path):
    for number in range(7):
        write_log(lifetime(2.0 + number), tmp_path / "all" / str(number))
    done = call("lifelong", tmp_path / "all", "--recursive", "--normalization", "none", "--metric", "saturation")
    header, row = done.output.splitlines()[-2:]
    assert header.split() == ["7", "lifetimes", "mean", "min", "max"]
    values = [lifelong_report(lifetime(2.0 + number), settings=Settings(normalization="none")).lifetime["saturation"]
              for number in range(7)]
    assert [float(word) for word in row.split()[1:]] == pytest.approx(
        [np.mean(values), min(values), max(values)], rel=1e-3)


@pytest.mark.parametrize("arguments, status, message", [
    (["nowhere"], 1, "there is no log"),
    (["{folder}", "--measure", "score"], 1, "numeric columns are reward"),
    (["{folder}", "--smoothing", "gauss", "--clamp", "--normalization", "loud"], 1, "loud"),
    (["{folder}", "--metric", "luck"], 2, "--metric is one of saturation, "),
    *((["{folder}", "--data-range", typed], 1, f"--data-range: '{typed}' is not two numbers such as 0,100, or a JSON "
       'file such as {"task": [0, 100]}\n') for typed in ("high", "1", "1,2,3")),
    *((["{folder}", "--syllabus-type", typed], 2, f"--syllabus-type is one of CL, ANT_A, ANT_B; got '{typed}'")
      for typed in ("", "ant-c")),
    (["{folder}", "--experts", "nowhere"], 1, "no store of experts"),
])
def test_what_is_wrong_is_said_and_ends_in_a_status(folder, arguments, status, message):
    done = call("lifelong", *[argument.format(folder=folder) for argument in arguments])
    assert done.exit_code == status and message in done.output


def test_a_lifetime_is_measured_by_length_where_it_is_asked_for(tmp_path):
    write_log(lifetime().assign(length=7), tmp_path / "both")
    assert "numeric columns are reward, length" in call("lifelong", tmp_path / "both", "--measure", "score").output
    write_log(lifetime().rename(columns={"reward": "length"}), tmp_path / "only", "length")
    for more in ((), ("--measure", "length")):
        done = call("lifelong", tmp_path / "only", *more)
        assert done.exit_code == 0 and "measured by length" in done.output


def test_experts_are_kept_and_used(folder, tmp_path):
    expert = lifetime(tasks=("a",))
    expert = expert[expert["block_type"] == "train"].assign(block=0)
    write_log(expert, tmp_path / "run")
    store = ("--experts", tmp_path / "store")
    without = call("lifelong", folder)
    assert "relative_saturation" in without.output.split("not computed")[1]
    assert call("experts", "add", tmp_path / "run", *store).exit_code == 0
    assert "1" in call("experts", "list", *store).output
    done = call("lifelong", folder, *store, "-o", tmp_path / "out", "--no-plot")
    told = json.loads((tmp_path / "out" / "life.json").read_text())
    assert done.exit_code == 1 and told["tasks"]["a"]["relative_saturation"] == pytest.approx(1.0)
    assert told["tasks"]["b"]["relative_saturation"] is None
    assert call("experts", "clear", "a", *store).exit_code == 0
    assert "there are none yet" in call("experts", "list", *store).output
    assert call("experts", "add", folder, *store).exit_code == 1


def test_a_task_without_an_expert_is_a_fault_where_experts_were_asked_for(folder, tmp_path):
    expert = lifetime(tasks=("a",))
    write_log(expert[expert["block_type"] == "train"].assign(block=0), tmp_path / "run")
    store = ("--experts", tmp_path / "store")
    call("experts", "add", tmp_path / "run", *store)
    done = call("lifelong", folder, *store)
    assert done.exit_code == 1 and "there is no single-task expert of 'b'" in done.stderr
    assert "relative_saturation" in done.stdout                 # what does not need it is there all the same
    (tmp_path / "store" / "b.pkl").write_bytes(b"cos\nsystem\n(S'echo'\ntR.")
    done = call("lifelong", folder, *store)
    assert done.exit_code == 1 and "never read nor converted; pushlab experts add LOGDIR" in done.stderr
    done = call("lifelong", folder, "--experts", tmp_path / "store" / "b.pkl")
    assert done.exit_code == 1 and "never read nor converted" in done.stderr


def test_every_picture_and_table_is_written_for_a_lifetime_with_experts(folder, tmp_path):
    for task in ("a", "b"):
        expert = lifetime(tasks=(task,))
        write_log(expert[expert["block_type"] == "train"].assign(block=0), tmp_path / task)
        call("experts", "add", tmp_path / task, "--experts", tmp_path / "store")
    done = call("lifelong", folder, "--experts", tmp_path / "store", "-o", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [
        "life.json", "life.png", "life_expert_0.png", "life_expert_1.png", "life_experts.tsv", "life_metrics.tsv",
        "life_pairs.tsv", "life_regimes.tsv", "life_smoothed.png", "life_tasks.tsv", "life_tests.png", "lifelong.txt"]


def test_every_setting_is_an_option_and_told():
    told = call("lifelong", "--help").output
    assert all(f"--{field.name.replace('_', '-')}" in told for field in fields(Settings))
    assert "several experts of a task: average" in " ".join(told.replace("│", " ").split())
