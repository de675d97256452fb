"""`pushlab lifelong` and `pushlab experts` as users call them."""

import json
from dataclasses import fields

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.logs.folders import write_log
from pushlab.metrics.lifelong import Settings, lifelong_report, log_of, unregister


def lifetime(top=8.0, tasks=("a", "b")):
    """Training from 0 to `top`; tests at `top` after the task's own, then at half."""
    blocks = []
    for learned in tasks:
        blocks.append(("train", learned, np.linspace(0, top, 10)))
        tests = {task: [top if task == learned else top / 2] * 3 for task in tasks}
        blocks.append(("test", tests))
    return log_of(*blocks)


def call(*arguments):
    arguments = [str(argument) for argument in arguments]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "200", "L2DATA": ""})


@pytest.fixture
def folder(tmp_path):
    """A folder as run_syllabus leaves it."""
    return write_log(lifetime(), tmp_path / "life.1" / "log.csv").parent


def lifetime_in(folder, name="life.1"):
    return json.loads((folder / f"{name}.json").read_text())["lifetime"]


def test_files_and_words_hold_the_report(folder, tmp_path):
    done = call("lifelong", folder, "--output", tmp_path / "out")
    assert done.exit_code == 0, done.output
    report = lifelong_report(lifetime())
    assert all(name in done.output for name in report.lifetime.index)
    found = lifetime_in(tmp_path / "out")
    assert found == pytest.approx(report.lifetime.to_dict())
    assert (tmp_path / "out" / "life.1_tests.png").stat().st_size > 10_000


def test_options_go_before_the_settings_file(folder, tmp_path):
    plain = ["--normalization", "none", "--smoothing", "none", "--no-plot"]
    file = tmp_path / "settings.json"
    done = call(
        "lifelong", folder, *plain, "--save-settings", file, "-o", tmp_path / "one"
    )
    assert done.exit_code == 0, done.output
    assert lifetime_in(tmp_path / "one")["mean_training_performance"] == 4
    more = ["--settings", file, "--data-range", "0,16", "--normalization", "task"]
    done = call("lifelong", folder, *more, "--no-plot", "-o", tmp_path / "two")
    assert done.exit_code == 0, done.output
    assert lifetime_in(tmp_path / "two")["mean_training_performance"] == 25
    assert not list((tmp_path / "two").glob("*.png"))
    options = call("lifelong", "--help").output
    for field in fields(Settings):
        assert f"--{field.name.replace('_', '-')}" in options


def test_metrics_come_from_a_file_and_are_chosen_by_name_and_syllabus(folder, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from pushlab.metrics.lifelong import metric\n\n\n"
        "@metric('first')\ndef first(life):\n    return life.log['raw'].iloc[1]\n"
    )
    try:
        done = call(
            "lifelong",
            folder,
            "--metrics-from",
            tmp_path / "mine.py",
            "--metric",
            "first",
        )
    finally:
        unregister("first")
    assert done.exit_code == 0, done.output
    assert "0.8889" in done.output
    assert "saturation" not in done.output


def test_a_faulty_lifetime_does_not_stop_the_others(tmp_path):
    for name, top in (("first", 4.0), ("second", 8.0), ("third", 16.0)):
        write_log(lifetime(top), tmp_path / "all" / name)
    for path in (tmp_path / "all" / "third").rglob("data-log.tsv"):
        path.write_text(path.read_text().replace("reward", "score"))
    plain = ["--recursive", "--normalization", "none", "--smoothing", "none"]
    done = call(
        "lifelong", tmp_path / "all", *plain, "--no-plot", "-o", tmp_path / "out"
    )
    assert done.exit_code == 1
    assert "1 of 3 lifetimes could not be reported" in done.output
    done = call("lifelong", tmp_path / "all")
    assert done.exit_code == 1 and "holds 3 lifetimes" in done.output
    table = pd.read_csv(tmp_path / "out" / "lifetimes.tsv", sep="\t", index_col=0)
    assert table.index.tolist() == ["first", "second", "mean"]
    assert table["mean_training_performance"].tolist() == [2, 4, 3]


def test_experts_are_added_listed_used_and_cleared(folder, tmp_path):
    expert = log_of(("train", "a", np.linspace(0, 8, 10)))
    write_log(expert, tmp_path / "run")
    store = ("--experts", tmp_path / "store")
    assert call("experts", "add", tmp_path / "run", *store).exit_code == 0
    assert call("experts", "list", *store).output.split()[4:7] == ["a", "1", "10"]
    done = call("lifelong", folder, *store, "-o", tmp_path / "out", "--no-plot")
    assert done.exit_code == 0, done.output
    assert "in part: b has no single-task expert" in done.output
    assert lifetime_in(tmp_path / "out")["relative_saturation"] == 1
    assert call("experts", "clear", "a", *store).exit_code == 0
    assert "there are none yet" in call("experts", "list", *store).output
    assert call("experts", "add", folder, *store).exit_code == 1


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nowhere"], 1, "there is no log"),
        (["{}", "--measure", "score"], 1, "numeric columns are reward"),
        (["{}", "--metric", "luck"], 1, "luck"),
        (["{}", "--data-range", "1,2,3"], 1, "'1,2,3' is not two numbers such as"),
        (["{}", "--syllabus-type", "ant-c"], 1, "CL, ANT_A, ANT_B; got 'ANT_C'"),
    ],
)
def test_errors_end_in_a_status_and_a_message(folder, arguments, status, message):
    done = call("lifelong", *[argument.format(folder) for argument in arguments])
    assert done.exit_code == status
    assert message in done.output
