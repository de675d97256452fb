"""The command line: output, files, and the exit codes that scripts rely on."""

import json
import os
import re
import shutil
from pathlib import Path

import gymnasium as gym
import pandas as pd
import pytest
from typer.main import get_command
from typer.testing import CliRunner

from pushlab import Challenge, data_dir, load_user
from pushlab.__main__ import app

PAGE = Path(__file__).parents[1] / "docs" / "first_submission.md"


def run(*words, code=0):
    """Run a command; return its output and errors."""
    result = CliRunner().invoke(app, [str(word) for word in words])
    assert result.exit_code == code, (words, result.output, result.exception)
    assert "Traceback" not in result.output
    return " ".join(result.output.split())


CASES = """
0 | --version | pushlab 0.
0 | list envs | pushlab/push-v0
0 | list users | mira Mira works in an office
0 | list agents | RandomAgent Draws any allowed action
0 | data check mira | history: 2,903 notifications, 64.2% opened
0 | contexts mira --out contexts.csv | 2,866 contexts of mira
1 | contexts nobody --out new.csv | the shipped users are ines, mira
1 | contexts mirra --out new.csv | did you mean 'mira'?
1 | contexts mira --out old.csv | exists already replace it with --replace
2 | contexts mira | missing option '--out'
2 | data check | missing argument 'path'
1 | data check nobody | nobody
2 | fly | no such command 'fly'
2 | scoer | Did you mean 'score'
2 | list agent | did you mean 'agents'?
1 | make-user --seed 1 --out new --name ../kim | '../kim'
2 | make-user --seed one --out new | '--seed'
2 | score missing.csv --user mira | 'missing.csv' does not exist
2 | score old.csv --user mira --judge tre | did you mean 'tree'?
1 | score old.csv --user mira --period tset | did you mean 'test'?
1 | score empty --user mira | there is no CSV file
2 | sweep | give a FILE with a grid
1 | sweep grid.yaml | did you mean 'LinearQ'?
1 | sweep --status . | no undamaged cells.json
1 | bench --agent LinQ --out new | did you mean 'LinearQ'?
1 | bench --agent LinearQ --out new --tasks rom-4 | did you mean 'room-4'?
1 | lifelong . | there is no log
2 | lifelong old.csv --transfer ration | did you mean 'ratio'?
1 | experts clear shelf --experts new | there is no expert of 'shelf'
1 | class board . | `pushlab class new` creates a class
2 | hand-in old.csv | missing option '--url' (env var: 'PUSHLAB_URL')
0 | -h | Research: sweep Run a grid
0 | -h | Play: contexts Write the contexts of a challenge, to be answered, as CSV. score
0 | bench -h | Example: `pushlab bench --agent RandomAgent
"""


@pytest.mark.parametrize("case", CASES.strip().splitlines())
def test_commands_print_their_result_or_an_error_and_a_remedy(
    case, tmp_path, monkeypatch
):
    code, command, printed = case.split(" | ")
    monkeypatch.chdir(tmp_path)
    Path("old.csv").touch()
    Path("empty").mkdir()
    Path("grid.yaml").write_text("{agents: [LinaerQ], envs: [pushlab/push-v0], out: a}")
    result = CliRunner().invoke(app, command.split())
    assert str(result.exit_code) == code, result.output
    text = result.stdout if code == "0" else result.stderr
    assert printed in " ".join(text.split())
    if code != "0":
        assert text.startswith("error: ")
        assert re.search(r" -h` shows an example|--replace|run the sweep", text)
        assert not result.stdout


def commands(group, name="pushlab"):
    """Yield the name and the object of each command, with those of its groups."""
    yield name, group
    for word, command in getattr(group, "commands", {}).items():
        yield from commands(command, f"{name} {word}")


@pytest.mark.parametrize(("name", "command"), [*commands(get_command(app))])
def test_help_fits_a_terminal_and_has_an_example_and_a_page(name, command, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    printed = CliRunner().invoke(app, [*name.split()[1:], "-h"]).output
    assert max(map(len, printed.splitlines())) <= 80
    assert "bool" not in printed
    if not hasattr(command, "commands"):
        assert f"  Example: `{name}" in printed
        (page,) = re.findall(
            r"More: https://pushlab.github.io/pushlab/(.+)\.html", printed
        )
        assert (PAGE.parents[1] / f"{page}.md").exists()


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
    assert students.history.engagements.equals(lecturers.history.engagements)
    pd.testing.assert_frame_equal(students.contexts, lecturers.contexts)
    monkeypatch.chdir(tmp_path)
    run("contexts", "kim", "--data", handout, "--out", "contexts.csv")
    page = PAGE.read_text(encoding="utf-8")
    (script,) = re.findall(r"^```python\n(.*?)^```", page, re.M | re.S)
    exec(script, {})
    score = ("score", "answers.csv", "--user", "kim", "--no-pictures", "--data")
    assert "the person who scores answers" in run(*score, handout, code=1)
    printed = run(*score, private)
    assert "answers by truth" in printed
    assert "plausibility 1.000" in printed
    card = json.loads((tmp_path / "scores" / "answers" / "scorecard.json").read_text())
    answers = pd.read_csv("answers.csv").drop(columns="id")
    performance = lecturers.evaluate(answers).metrics["performance"]
    assert card["metrics"]["performance"] == performance
    assert f"performance {performance:,.1f} points" in printed
