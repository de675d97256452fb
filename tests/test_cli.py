"""The command line: what it prints, and the exit status a script relies on."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pandas as pd
import pytest
import typer
from typer.testing import CliRunner

import pushlab  # noqa: F401
from pushlab.__main__ import app
from pushlab.challenges.challenge import Challenge
from pushlab.datasets.reading import load_user
from pushlab.envs import TABLE
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir
from pushlab.studies import cold_start


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_envs_lists_every_id():
    told = run("envs")
    assert told.exit_code == 0 and all(name in told.stdout for name, *_ in TABLE)


def test_check_reports_a_user_and_a_folder_of_users():
    one, all_of_them = run("data", "check", "mira"), run("data", "check", data_dir() / "push")
    assert one.exit_code == all_of_them.exit_code == 0
    assert "history:" in one.stdout and one.stdout.strip() in all_of_them.stdout
    assert all_of_them.stdout.count("\nuser ") + 1 >= 5


def test_check_lists_the_faults_of_all_users_and_fails(tmp_path):
    for name in ("mira", "noor"):
        shutil.copytree(data_dir() / "push" / name, tmp_path / name)
        table = tmp_path / name / "test" / "notifications.csv"
        table.write_text(table.read_text().replace("vibrate", f"hum of {name}", 1))
    told = run("data", "check", tmp_path)
    assert told.exit_code == 1 and "hum of mira" in told.stderr and "hum of noor" in told.stderr
    assert "ringerMode" in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("words, status", [
    (("data", "check", "nobody"), 1), (("data", "check"), 2), (("data", "shake"), 2), (("fly",), 2),
    (("make-user", "--seed", "one", "--out", "x"), 2), (("make-user", "--seed", "1"), 2),
    (("make-user", "--seed", "1", "--out", "x", "--name", "../kim"), 1),
    (("make-user", "--seed", "1", "--out", "x", "--name", "handout"), 1),
])
def test_what_cannot_be_done_has_its_status(words, status):
    assert run(*words).exit_code == status


@pytest.mark.parametrize("user, words", [("nobody", "the shipped users are"), ("kim", "regret cannot be told")])
def test_the_cold_start_study_says_whom_it_cannot_take(class_data, tmp_path, user, words):
    if user == "kim":
        user = tmp_path / "kim"
        shutil.copytree(class_data[0] / "kim", user, ignore=shutil.ignore_patterns("truth.json"))
    command = typer.Typer()
    command.command()(cold_start.main)
    told = CliRunner().invoke(command, ["--out", str(tmp_path / "out.csv"), "--user", str(user)])
    assert told.exit_code == 2 and "--user" in told.stderr and "Traceback" not in told.stderr
    assert words in " ".join(told.stderr.replace("│", " ").split()) and not (tmp_path / "out.csv").exists()


@pytest.fixture(scope="module")
def class_data(tmp_path_factory):
    """The folder of a lecturer, with the private user kim, and what make-user said."""
    folder = tmp_path_factory.mktemp("private")
    told = run("make-user", "--seed", 20261121, "--out", folder, "--name", "kim", "--open-rate", 0.3,
               "--per-quarter", 400)
    assert told.exit_code == 0, told.stderr
    return folder, told.stdout


def test_a_private_user_is_made_and_can_be_lived_with(class_data):
    folder, told = class_data
    both = {"catalogue.csv", "schema.json", "kim/train/notifications.csv", "kim/train/context_on_posting.csv",
            "kim/train/context_on_removal.csv"}
    assert {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()} == {
        *both, "kim/truth.json", "kim/test/notifications.csv", "handout/kim/contexts.csv",
        *(f"handout/{name}" for name in both)}
    assert f"hand out  {folder / 'handout'}" in told and f"keep      {folder / 'kim'}" in told and "judge" not in told
    if os.name == "posix":
        assert not (folder / "kim").stat().st_mode & 0o077
    for user in (load_user(folder, user="kim"), load_user(folder / "kim")):
        assert user.truth["name"] == "kim" and abs(user.history.opened.mean() - 0.3) < 0.1
        assert len(user.catalogue) and user.schema.name == "pushlab-users"
    env = gym.make("pushlab/evalumap1-v0", user=str(folder / "kim"), reveal=True)
    env.reset(seed=1)
    assert "best" in env.step(env.action_space.sample())[4]


def test_a_private_user_replaces_nothing(class_data, tmp_path):
    folder, _ = class_data
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = run("make-user", "--seed", 1, "--out", folder, "--name", "kim", "--per-quarter", 100)
    assert again.exit_code == 1 and "not empty" in again.stderr
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    (tmp_path / "schema.json").write_text("mine")
    other = run("make-user", "--seed", 1, "--out", tmp_path, "--name", "lee", "--per-quarter", 100)
    assert other.exit_code == 1 and "schema.json" in other.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["schema.json"]
    assert (tmp_path / "schema.json").read_text() == "mine"


def test_two_private_users_share_a_folder_with_their_catalogue(tmp_path):
    for seed, name in ((1, "kim"), (2, "lee")):
        told = run("make-user", "--seed", seed, "--out", tmp_path, "--name", name, "--per-quarter", 100)
        assert told.exit_code == 0, told.stderr
    checked = run("data", "check", tmp_path)
    assert checked.exit_code == 0 and "user kim" in checked.stdout and "user lee" in checked.stdout


def test_counted_seeds_are_of_challenge_2_alone(tmp_path):
    (tmp_path / "answers.csv").write_text("row\n")
    told = CliRunner().invoke(app, ["score", str(tmp_path / "answers.csv"), "--user", "mira", "--counted"])
    assert told.exit_code == 2 and "logs of Challenge 2" in told.output


def test_a_class_answers_a_hand_out_that_holds_no_answers_and_its_lecturer_scores_them(class_data, tmp_path):
    folder, _ = class_data
    handed_out = shutil.copytree(folder / "handout", tmp_path / "handed out")
    theirs, ours = (Challenge.load("kim", data=where) for where in (handed_out, folder))
    pd.testing.assert_frame_equal(theirs.contexts, ours.contexts)
    pd.testing.assert_frame_equal(theirs.history.engagements, ours.history.engagements)
    assert "wait for notifications" in run("data", "check", handed_out).stdout
    assert set(pd.read_csv(handed_out / "kim" / "contexts.csv")) == {"id", *ours.user.schema.context.names}
    history = theirs.history.notifications
    answers = history.sample(len(theirs.contexts), replace=True, random_state=0)
    for ask in (lambda: theirs.evaluate(answers), lambda: theirs.user.test.opened, lambda: theirs.cold_world):
        with pytest.raises(ValueError, match="known to whoever scores them"):
            ask()
    env = gym.make("pushlab/evalumap2-v0", user=str(handed_out / "kim"), period="history")
    assert env.unwrapped.world.judge.name == "logistic"         # to practise on, in the history alone
    answers.assign(id=theirs.contexts["id"].to_numpy()).to_csv(tmp_path / "answers.csv", index=False)
    words = ("score", tmp_path / "answers.csv", "--user", "kim", "--out", tmp_path / "one", "--data")
    by_truth, by_hand_out = run(*words, folder), run(*words, handed_out)
    assert by_truth.exit_code == 0 and "answers by truth" in by_truth.stdout, by_truth.stderr
    assert by_hand_out.exit_code == 2 and "known to whoever scores them" in by_hand_out.stderr


@pytest.mark.parametrize("text, wrong", [
    ("id,day\n0,0\n", "the column is missing"), ("", "the file is empty"), ("\0" * 50, "is a column"),
    (lambda text: text.replace("\n1,", "\n7,"), "the number of the row"),
    (lambda text: text.replace("afternoon", "=noon", 1), "is not one of early-morning"),
])
def test_a_hand_outs_contexts_are_checked(class_data, tmp_path, text, wrong):
    handed_out = shutil.copytree(class_data[0] / "handout", tmp_path / "users")
    path = handed_out / "kim" / "contexts.csv"
    path.write_text(text if isinstance(text, str) else text(path.read_text()))
    with pytest.raises(BadData, match=wrong):
        load_user(handed_out, user="kim")


def test_two_users_made_without_a_seed_are_two(tmp_path):
    for folder in "ab":
        told = run("make-user", "--out", tmp_path / folder, "--name", "kim", "--per-quarter", 60)
        assert told.exit_code == 0 and not told.stderr
    seeds = [json.loads((tmp_path / folder / "kim" / "truth.json").read_text())["seed"] for folder in "ab"]
    assert seeds[0] != seeds[1] and min(seeds) > 2**64
    assert "found by trying" in run("make-user", "--out", tmp_path / "c", "--seed", 5, "--per-quarter", 60).stderr


def test_its_page_leads_to_a_scored_submission(tmp_path, monkeypatch):
    """Its commands, its script and its example row, in an empty folder."""
    part = (Path(__file__).parents[1] / "docs" / "first_submission.md").read_text(encoding="utf-8")
    [script] = re.findall(r"^```python\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    [example] = re.findall(r"^```csv\n(.*?)^```", part, re.MULTILINE | re.DOTALL)
    (tmp_path / "my_answers.py").write_text(script)
    monkeypatch.chdir(tmp_path)
    commands = [line.split("#")[0].split() for line in re.findall(r"^(?:pushlab|python) .*", part, re.MULTILINE)]
    assert [" ".join(words[:2]) for words in commands] == ["pushlab contexts", "python my_answers.py", "pushlab score"]
    for program, *words in commands:
        if program == "python":
            subprocess.run([sys.executable, *words], check=True)
        else:
            told = run(*words)
            assert told.exit_code == 0, told.stderr
    assert "performance" in told.stdout and "note:" not in told.stdout
    assert re.search(r"plausibility +1\.000", told.stdout)
    assert (tmp_path / "scores" / "answers" / "scorecard.json").is_file()
    header, row = example.splitlines()
    written = (tmp_path / "answers.csv").read_text().splitlines()
    assert set(header.split(",")) == set(written[0].split(","))
    assert {"org.pushlab.chat", "friends"} < set(row.split(",")) and len(row.split(",")) == len(header.split(","))
