"""Submissions as files, folders of learning platforms, and `pushlab score`."""

import json
import re

import gymnasium as gym
import pandas as pd
import pytest
from typer.testing import CliRunner

from pushlab import rollout
from pushlab.__main__ import app
from pushlab.agents import RandomAgent
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.submissions import score_file, score_folder
from pushlab.users.synthesis import make_user, write_private_user
from pushlab.utils.issues import BadData


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Return a folder with one small private user, kim."""
    folder = tmp_path_factory.mktemp("users")
    write_private_user(
        make_user(20261121, "kim", open_rate=0.4, per_quarter=60), folder
    )
    return folder


@pytest.fixture(scope="module")
def challenge(data):
    return Challenge.load("kim", data=data)


@pytest.fixture(scope="module")
def text(challenge):
    """Return the text of a valid submission."""
    twice = pd.concat([challenge.history.notifications] * 2)
    return twice.head(len(challenge.contexts)).to_csv(index=False)


@pytest.fixture
def folder(text, tmp_path):
    """Return a folder with a valid submission of Anna."""
    path = tmp_path / "class"
    path.mkdir()
    (path / "anna.csv").write_text(text)
    return path


# ------------------------------------------------------------------ one file


def test_file_has_the_score_of_its_table(challenge, text, folder):
    path = folder / "anna.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    expected = challenge.evaluate(table, seed=3, agent="anna").to_dict()
    assert score_file(path, challenge, seed=3).to_dict() == expected
    table.to_csv(path)  # with the index column of pandas
    assert score_file(path, challenge, seed=3).to_dict() == expected
    excel = "\ufeff" + text.replace("\n", "\r\n")
    path.write_text(excel, encoding="utf-8", newline="")
    assert score_file(path, challenge, seed=3).to_dict() == expected
    for separator in (", ", "\t", ";"):
        path.write_text(text.replace(",", separator))
        assert score_file(path, challenge, seed=3).to_dict() == expected


# A pattern, its replacement, and the message.
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("private", "=1+1", r"anna.csv, column visibility, row .*: '=1\+1' is not one"),
        ("\n.*", "\n", "contexts needs a row; the rows are 0"),
        (".*", "", "anna.csv: the file is empty"),
        (".*", "PKé", "anna.csv, line 1: this is a zip archive"),
        (".*?\n", "", "row 1: the header has none of the columns post"),
        ("$", "\n0", r"row \d+: the header has \d fields and the row 1;"),
        ("\n(.*?\n)", r'\n\1"', "row 3: a field .* no closing"),
        (".*", "action.priority,step\n1,0\n", "Challenge 2 .number=2"),
    ],
)
def test_bad_files_raise_bad_data(challenge, text, folder, old, new, message):
    path = folder / "anna.csv"
    changed = re.sub(old, new, text, count=1, flags=re.DOTALL)
    path.write_text(changed, encoding="latin-1")
    with pytest.raises(BadData, match=message):
        score_file(path, challenge)


# ------------------------------------------------------------------ a folder

MOODLE = "_4711_assignsubmission_file_"


# Files beside anna.csv; names that are scored; reasons for the others.
@pytest.mark.parametrize(
    ("files", "names", "refused"),
    [
        (["bob/answers.csv", "eve/ps1/answers.csv"], ["bob", "eve"], {}),
        ([f"Bob{MOODLE}/a.csv", f"Eve{MOODLE}b.csv"], ["Bob", "Eve"], {}),
        (["leebob_4711_9876_a.csv"], ["leebob"], {}),
        (
            ["bob/a.csv", "bob/b.csv"],
            [],
            {"bob": "the folder must contain one CSV file"},
        ),
        (["bob/._a.csv", "bob/a.csv"], ["bob"], {}),
        (["bob.xlsx"], [], {"bob.xlsx": "it isn't a CSV file"}),
        (["out/leaderboard.json"], [], {"out": "the results of an earlier run"}),
    ],
)
def test_submissions_in_a_folder(challenge, folder, text, files, names, refused):
    for name in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    cards, faulty, skipped = score_folder(folder, challenge)
    assert [card.agent for card in cards] == sorted(["anna", *names])
    reasons = faulty | skipped
    assert set(reasons) == set(refused)
    for name, words in refused.items():
        assert words in str(reasons[name])


# ------------------------------------------------------------------ the command


@pytest.fixture
def run(data):
    """Run `pushlab score` for kim."""

    def invoke(*words):
        words = ["score", *words, "--user", "kim", "--data", data]
        return CliRunner().invoke(app, [str(word) for word in words])

    return invoke


def test_command_scores_a_file(run, challenge, folder, tmp_path):
    out = tmp_path / "out"
    result = run(folder / "anna.csv", "--out", out, "--seed", 3)
    card = score_file(folder / "anna.csv", challenge, seed=3)
    assert card.report() in result.stdout
    assert json.loads((out / "scorecard.json").read_text()) == card.to_dict()
    assert (out / "scorecard.png").exists()


def test_command_scores_a_log(run, challenge, tmp_path):
    env = gym.make("pushlab/evalumap2-v0", user=challenge.user)
    log = rollout(env, RandomAgent(), seed=9, progress=False)
    log.to_csv(tmp_path / "log.csv", index=False)
    words = (tmp_path / "log.csv", "--challenge", 2, "--out", tmp_path / "out")
    result = run(*words)
    assert f"performance {log['reward'].sum():>24,.1f}" in result.stdout
    assert run(*words, "--seed", 8).exit_code == 1


def test_command_ranks_a_folder_and_lists_its_issues(
    run, challenge, folder, text, tmp_path
):
    out = tmp_path / "out"
    (folder / "bert.csv").write_text(text)
    apps = [f"a{row}" for row in range(len(challenge.contexts))]
    table = pd.read_csv(folder / "anna.csv", dtype=str)
    table.assign(priority="urgent", visibility=apps).to_csv(folder / "carl.csv")
    table.assign(postingApp="new.app").to_csv(folder / "dora.csv")
    result = run(folder, "--out", out)
    assert result.exit_code == 1
    rows = f"all {len(apps)} rows: "
    assert f"carl.csv, column priority, {rows}'urgent' is not one of" in result.stderr
    assert re.search(f"visibility, {rows}.*'a11' and .* more are not", result.stderr)
    assert "dora: postingApp: not in the history: new.app" in result.stderr
    assert pd.read_csv(out / "leaderboard.csv")["rank"].tolist()[:2] == [1, 1]
    assert "urgent" in (out / "scorecards" / "carl" / "issues.txt").read_text()
    assert (out / "leaderboard.png").exists()
    (folder / "carl.csv").unlink()
    assert run(folder, "--out", out).exit_code == 0
    assert not (out / "scorecards" / "carl").exists()  # of the previous run


def test_command_prints_scores_if_it_cannot_write_them(run, folder, tmp_path):
    result = run(folder, "--out", tmp_path)
    assert result.exit_code == 1
    assert "already exists and is not empty" in result.stderr
    assert "performance" in result.stdout
