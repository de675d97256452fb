"""`pushlab lifelong` and `pushlab experts` as users call them."""

import json

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.logs.files import write_log
from pushlab.metrics.lifelong import lifelong_report, log_from_blocks, unregister


def lifetime(top=8.0, tasks=("a", "b")):
    """Training from 0 to `top`; tests at `top` after the task's own, then at half."""
    blocks = []
    for learned in tasks:
        blocks.append(("train", learned, np.linspace(0, top, 10)))
        tests = {task: [top if task == learned else top / 2] * 3 for task in tasks}
        blocks.append(("test", tests))
    return log_from_blocks(*blocks)


def call(*arguments, code=0):
    """Output of a command that ends with a code."""
    arguments = [str(argument) for argument in arguments]
    environment = {"COLUMNS": "200", "L2DATA": ""}
    done = CliRunner().invoke(app, arguments, env=environment)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture
def folder(tmp_path):
    """A folder as run_syllabus leaves it."""
    return write_log(lifetime(), tmp_path / "life.1" / "log.csv").parent


def lifetime_in(folder, name="life.1"):
    return json.loads((folder / f"{name}.json").read_text())["lifetime"]


def test_files_and_words_hold_the_report(folder, tmp_path):
    output = call("lifelong", folder, "--output", tmp_path / "out")
    report = lifelong_report(lifetime())
    assert all(name in output for name in report.lifetime.index)
    found = lifetime_in(tmp_path / "out")
    assert found == pytest.approx(report.lifetime.to_dict())
    assert (tmp_path / "out" / "life.1_tests.png").stat().st_size > 10_000


def test_options_go_before_the_settings_file(folder, tmp_path):
    plain = ["--normalization", "none", "--smoothing", "none", "--no-plot"]
    file = tmp_path / "settings.json"
    call("lifelong", folder, *plain, "--save-settings", file, "-o", tmp_path / "one")
    assert lifetime_in(tmp_path / "one")["mean_training_performance"] == 4
    more = ["--settings", file, "--data-range", "0,16", "--normalization", "task"]
    call("lifelong", folder, *more, "--no-plot", "-o", tmp_path / "two")
    assert lifetime_in(tmp_path / "two")["mean_training_performance"] == 25


@pytest.mark.parametrize(
    ("noise", "code", "message"),
    [([0, 0], 0, "by score"), ([0, 1], 1, "no setting 'noise'")],
)
def test_a_settings_file_of_l2metrics_is_read(noise, code, message, tmp_path):
    lifetime().assign(score=1.0).to_csv(tmp_path / "log.csv")
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"perf_measure": "score", "noise": noise}))
    options = ["--settings", file]
    assert message in call("lifelong", tmp_path / "log.csv", *options, code=code)


def test_metrics_come_from_a_file_and_are_chosen_by_name_and_syllabus(folder, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from pushlab.metrics.lifelong import metric\n\n\n"
        "@metric('first')\ndef first(life):\n    return life.log['raw'].iloc[1]\n"
    )
    try:
        mine = ["--metrics-from", tmp_path / "mine.py", "--metric", "first"]
        output = call("lifelong", folder, *mine)
    finally:
        unregister("first")
    assert "0.8889" in output
    assert "saturation" not in output


def test_a_faulty_lifetime_does_not_stop_the_others(tmp_path):
    for name, top in (("first", 4.0), ("second", 8.0), ("third", 16.0)):
        write_log(lifetime(top), tmp_path / "all" / name)
    for path in (tmp_path / "all" / "third").rglob("data-log.tsv"):
        path.write_text(path.read_text().replace("reward", "score"))
    plain = ["--recursive", "--normalization", "none", "--smoothing", "none"]
    plain += ["--no-plot", "-o", tmp_path / "out"]
    output = call("lifelong", tmp_path / "all", *plain, code=1)
    assert "1 of 3 lifetimes could not be reported" in output
    assert "holds 3 lifetimes" in call("lifelong", tmp_path / "all", code=1)
    table = pd.read_csv(tmp_path / "out" / "lifetimes.tsv", sep="\t", index_col=0)
    assert table.index.tolist() == ["first", "second", "mean"]
    assert table["mean_training_performance"].tolist() == [2, 4, 3]


def test_experts_are_added_listed_used_and_cleared(folder, tmp_path):
    expert = log_from_blocks(("train", "a", np.linspace(0, 8, 10)))
    write_log(expert, tmp_path / "run")
    store = ("--experts", tmp_path / "store")
    call("experts", "add", tmp_path / "run", *store)
    assert call("experts", "list", *store).split()[4:7] == ["a", "1", "10"]
    output = call("lifelong", folder, *store, "-o", tmp_path / "out", "--no-plot")
    assert "in part: b has no single-task expert" in output
    assert lifetime_in(tmp_path / "out")["relative_saturation"] == 1
    call("experts", "clear", "a", *store)
    assert "there are no experts yet" in call("experts", "list", *store)
    call("experts", "add", folder, *store, code=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "there is no log"),
        (["{}", "--measure", "score"], "numeric columns are reward"),
        (["{}", "--data-range", "1,2,3"], "'1,2,3' is not two numbers such as"),
    ],
)
def test_errors_end_in_a_status_and_a_message(folder, arguments, message):
    words = [argument.format(folder) for argument in arguments]
    assert message in call("lifelong", *words, code=1)


TABLES = """
0 | block_type,task,reward | | measured by reward
0 | block_type;task_name;return | | measured by reward
0 | block_type,task,score | --measure score | measured by score
1 | block_type,task,score | | numeric columns are score; choose one with `measure` (--measure
1 | block_type,name,reward | | column task or task_name is missing; the file has block_type, name
"""


@pytest.mark.parametrize("case", TABLES.strip().splitlines())
def test_a_table_of_another_program(case, tmp_path):
    code, header, options, message = [part.strip() for part in case.split("|")]
    separator = ";" if ";" in header else ","
    rows = f"{header}\ntrain a 1\ntrain a 2\ntest a 2\n"
    path = tmp_path / "log.csv"
    path.write_text(rows.replace(" ", separator))
    assert message in call("lifelong", path, *options.split(), code=int(code))
