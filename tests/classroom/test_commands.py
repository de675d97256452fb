"""`pushlab class` and `pushlab serve` on the command line: issues and exit status."""

import os
import shutil
import socket
import sqlite3
import stat

import pandas as pd
import pytest
from small_class import run

from pushlab_classroom import ClassDatabase
from pushlab_classroom.session import ClassSession

SMALL = ("--episodes", 2, "--per-quarter", 100, "--days", 1, "--seed", "rehearsal")


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """The folder of a class, its file of tokens, and the result of the command."""
    here = tmp_path_factory.mktemp("school")
    teams = here / "teams.csv"
    teams.write_text("room,team\n1,Ann\n2,=Ben\n3, Cat  and\tDan \n", "utf-8-sig")
    tokens = here / "tokens.csv"
    words = ("--teams", teams, "--tokens", tokens, *SMALL)
    result = run("class", "new", here / "class", *words)
    assert result.exit_code == 0, result.stderr
    return here / "class", tokens, result


def test_a_new_class_writes_its_tokens_to_a_private_file(school):
    folder, tokens, result = school
    assert list(ClassDatabase(folder).teams()["name"]) == ["Ann", "=Ben", "Cat and Dan"]
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600
    table = pd.read_csv(tokens)
    assert table["team"].tolist() == ["Ann", "'=Ben", "Cat and Dan"]  # no formula
    assert not any(token in result.output for token in table["token"])


def test_without_a_file_tokens_are_printed_and_defaults_hold(school, tmp_path):
    teams = school[0].parent / "teams.csv"
    result = run("class", "new", tmp_path / "class", "--teams", teams)
    assert result.stdout.startswith("team,token\nAnn,")
    assert ClassDatabase(tmp_path / "class").settings["episodes"] == 10


def test_neither_a_class_nor_tokens_are_replaced(school, tmp_path):
    folder, tokens, _ = school
    teams = folder.parent / "teams.csv"
    for place, file in ((folder, tmp_path / "new.csv"), (tmp_path / "new", tokens)):
        result = run("class", "new", place, "--teams", teams, "--tokens", file, *SMALL)
        assert result.exit_code == 1
        assert "already exists" in result.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name\nann\n", ["row 1", "header", "team"]),
        ("team\nann\neve\nAnn\nÅda\nA\u030ada\n", ["row 4", "'ann'", "row 6"]),
        ("team\nann\n\u202eeve\n", ["row 3", "printable"]),
    ],
)
def test_every_issue_of_the_teams_is_reported_with_its_row(tmp_path, text, words):
    (tmp_path / "teams.csv").write_text(text, "utf-8")
    words = [*words, "teams.csv"]
    teams = ("--teams", tmp_path / "teams.csv")
    result = run("class", "new", tmp_path / "class", *teams, *SMALL)
    assert result.exit_code == 1
    assert all(word in result.stderr for word in words), result.stderr
    assert not (tmp_path / "class").exists()


def test_a_new_token_replaces_the_old_one(school):
    folder, file, _ = school
    tokens = pd.read_csv(file)["token"].tolist()
    new = run("class", "token", folder, "Cat and Dan").stdout.strip()
    session = ClassSession(folder)
    teams = [session.team_of(token) for token in [*tokens, new]]
    session.close()
    assert [team and team.name for team in teams] == [
        "Ann",
        "=Ben",
        None,
        "Cat and Dan",
    ]


def run_sql(text):
    """Return a function of a database's path that runs an SQL script."""
    return lambda path: sqlite3.connect(path).executescript(text)


@pytest.mark.parametrize(
    ("message", "damage"),
    [
        ("must be 2; got 0", lambda path: os.truncate(path, 0)),
        ("malformed", lambda path: os.truncate(path, 9000)),
        ("are missing", run_sql("DROP TABLE steps")),
        ("are missing", run_sql("DELETE FROM class")),
        ("are missing", run_sql("ALTER TABLE uploads DROP COLUMN points")),
        ("has no file class.db", lambda path: path.unlink() or path.mkdir()),
    ],
)
def test_a_damaged_class_is_reported_in_one_line(school, tmp_path, message, damage):
    folder = shutil.copytree(school[0], tmp_path / "class")
    damage(folder / "class.db")
    commands = "class board|class close|class export|class replay|class token|serve"
    more = {"class export": ["out"], "class replay": [1], "class token": ["Ann"]}
    for command in commands.split("|"):
        result = run(*command.split(), folder, *more.get(command, []))
        assert result.exit_code == 1, result.exception
        assert message in result.stderr.splitlines()[0]


def test_the_board_says_its_state_and_an_empty_one_what_it_will_show(school):
    first, second, *_ = run("class", "board", school[0]).stdout.splitlines()
    assert first.endswith("class: open")
    assert second.startswith("No scores yet")


def test_commands_name_what_is_wrong(school, tmp_path):
    teams = ("--teams", school[0].parent / "teams.csv")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        cases = [
            ("not the folder of a class", ("class", "board", tmp_path)),
            ("no team 'Zoe'; the teams are Ann,", ("class", "token", school[0], "Zoe")),
            ("requests", ("serve", school[0], "--port", 0, "--requests", -5)),
            ("in use", ("serve", school[0], "--port", port)),
            ("2 to 50", ("class", "new", tmp_path / "x", *teams, "--episodes", 1)),
            ("seed", ("class", "new", tmp_path / "x", *teams, "--seed", " ")),
        ]
        for message, words in cases:
            result = run(*words)
            assert result.exit_code == 1, words
            assert message in result.stderr, words
