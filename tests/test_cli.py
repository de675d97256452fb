"""The command line: output, files, and the exit codes that scripts rely on."""

import json
import os
import re
import shutil
from pathlib import Path

import gymnasium as gym
import pandas as pd
import pytest
from typer.testing import CliRunner

from pushlab import Challenge, data_dir, load_user
from pushlab.__main__ import app
from pushlab.envs import ENVIRONMENTS

PAGE = Path(__file__).parents[1] / "docs" / "first_submission.md"


def run(*words, code=0):
    """Run a command; return its output and errors."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (words, result.output, result.exception)
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


@pytest.mark.parametrize(
    ("command", "code", "printed"),
    [
        ("--version", 0, "pushlab 0."),
        ("envs", 0, ENVIRONMENTS[-1][0]),
        ("data check mira", 0, "history: 2,903 notifications, 64.2% opened"),
        ("contexts mira --out contexts.csv", 0, "2,866 contexts of mira"),
        ("data check nobody", 1, "nobody"),
        ("make-user --seed 1 --out new --name ../kim", 1, "'../kim'"),
        ("contexts nobody --out new.csv", 1, "nobody"),
        ("data check", 2, "Missing argument"),
        ("fly", 2, "No such command"),
        ("make-user --seed one --out new", 2, "--seed"),
        ("score missing.csv --user mira", 2, "missing.csv"),
    ],
)
def test_commands_print_their_result_and_end_with_their_code(
    command, code, printed, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert printed in run(*command.split(), code=code)
    assert (tmp_path / "contexts.csv").exists() == command.startswith("contexts mira")


def test_data_check_lists_the_issues_of_all_users(tmp_path):
    for name in ("mira", "noor"):
        shutil.copytree(data_dir() / "push" / name, tmp_path / name)
        table = tmp_path / name / "test" / "notifications.csv"
        table.write_text(table.read_text().replace("vibrate", f"hum of {name}", 1))
    errors = run("data", "check", tmp_path, code=1)
    assert "ringerMode" in errors
    assert "hum of mira" in errors
    assert "hum of noor" in errors


@pytest.fixture(scope="module")
def private(tmp_path_factory):
    """A lecturer's folder with the private user kim."""
    folder = tmp_path_factory.mktemp("private")
    words = ("--name", "kim", "--open-rate", 0.3, "--per-quarter", 60)
    printed = run("make-user", "--seed", 20261121, "--out", folder, *words)
    assert f"hand out {folder / 'handout'}" in printed
    assert "can be guessed" in printed
    return folder


def test_a_private_user_can_be_played_and_replaces_nothing(private, tmp_path):
    user = load_user(private / "kim")
    assert user.truth["name"] == "kim"
    assert user.history.opened.mean() == pytest.approx(0.3, abs=0.1)
    env = gym.make("pushlab/evalumap1-v0", user=str(private / "kim"), reveal=True)
    env.reset(seed=1)
    assert "best" in env.step(env.action_space.sample())[4]
    if os.name == "posix":
        assert not (private / "kim").stat().st_mode & 0o077
    again = run("make-user", "--out", private, "--name", "kim", code=1)
    assert "exists already" in again
    run("make-user", "--out", private, "--name", "lee", "--per-quarter", 60)
    run("make-user", "--out", tmp_path, "--name", "lee", "--per-quarter", 60)
    seeds = [
        json.loads((folder / "lee" / "truth.json").read_text())["seed"]
        for folder in (private, tmp_path)
    ]
    assert seeds[0] != seeds[1]
    assert min(seeds) > 2**64


def test_a_handout_has_no_answers_and_its_lecturer_scores_with_them(
    private, tmp_path, monkeypatch
):
    handout = shutil.copytree(private / "handout", tmp_path / "handout")
    files = {path.name for path in handout.rglob("*") if path.is_file()}
    assert "truth.json" not in files
    assert not (handout / "kim" / "test").exists()
    students = Challenge.load("kim", data=handout)
    lecturers = Challenge.load("kim", data=private)
    pd.testing.assert_frame_equal(students.contexts, lecturers.contexts)
    monkeypatch.chdir(tmp_path)
    run("contexts", "kim", "--data", handout, "--out", "contexts.csv")
    page = PAGE.read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    exec(script, {})
    score = ("score", "answers.csv", "--user", "kim", "--no-pictures", "--data")
    assert "the person who scores answers" in run(*score, handout, code=2)
    printed = run(*score, private)
    assert "answers by truth" in printed
    assert "plausibility 1.000" in printed
    card = json.loads((tmp_path / "scores" / "answers" / "scorecard.json").read_text())
    answers = pd.read_csv("answers.csv").drop(columns="id")
    performance = lecturers.evaluate(answers).metrics["performance"]
    assert card["metrics"]["performance"] == performance
    assert f"performance {performance:,.1f} points" in printed
