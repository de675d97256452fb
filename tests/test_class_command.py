"""`pushlab class …` on the command line: what it makes, what it refuses, and with which exit status."""

import os
import shutil
import socket
import stat

import pandas as pd
import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.classroom import Book, Room


def run(*words):
    return CliRunner().invoke(app, [str(word) for word in words])


SMALL = ("--episodes", 2, "--per-quarter", 100, "--days", 1, "--seed", "rehearsal")


@pytest.fixture(scope="module")
def school(tmp_path_factory):
    """The folder of a class, and its table of tokens."""
    here = tmp_path_factory.mktemp("school")
    (here / "teams.csv").write_text("room,team\n1,Ann\n2,=Ben\n3, Cat  and\tDan \n", encoding="utf-8-sig")
    told = run("class", "new", here / "class", "--teams", here / "teams.csv", "--tokens", here / "tokens.csv", *SMALL)
    assert told.exit_code == 0, told.stderr
    return here / "class", here / "tokens.csv", told


def test_a_new_class_has_its_teams_and_tells_tokens_once(school):
    folder, tokens, told = school
    assert list(Book(folder).teams()["name"]) == ["Ann", "=Ben", "Cat and Dan"]
    table = pd.read_csv(tokens)
    assert stat.S_IMODE(tokens.stat().st_mode) == 0o600 and table["token"].str.len().min() >= 43
    assert not any(token in told.output for token in table["token"])
    assert "\n=Ben" not in tokens.read_text()       # no formula for a spreadsheet
    assert "rehearsals" in told.stderr
    assert str(folder / "handout") in told.stderr and Book(folder).settings["name"] == "class"
    kept = (folder / "class.db").read_bytes()
    assert not any(token.encode() in kept for token in table["token"])


def test_every_token_of_the_file_is_its_teams(tmp_path):
    (tmp_path / "teams.csv").write_text("team\n" + "".join(f"team {number}\n" for number in range(300)))
    assert run("class", "new", tmp_path / "class", "--teams", tmp_path / "teams.csv", "--tokens",
               tmp_path / "tokens.csv", *SMALL).exit_code == 0
    room = Room.open(tmp_path / "class")
    try:                            # none begins with what would be changed for a spreadsheet's sake
        for team, token in pd.read_csv(tmp_path / "tokens.csv").itertuples(index=False):
            assert room.team_of(token).name == team
    finally:
        room.close()


def test_without_a_file_tokens_are_printed(tmp_path, school):
    told = run("class", "new", tmp_path / "class", "--teams", school[0].parent / "teams.csv", *SMALL)
    assert told.exit_code == 0 and told.stdout.startswith("team,token\nAnn,") and len(told.stdout.split("\n")) == 5


def test_neither_a_class_nor_tokens_are_replaced(tmp_path, school):
    folder, tokens, _ = school
    before = tokens.read_bytes(), (folder / "class.db").read_bytes()
    for words in ((folder, "--tokens", tmp_path / "new.csv"), (tmp_path / "new", "--tokens", tokens)):
        told = run("class", "new", *words, "--teams", folder.parent / "teams.csv", *SMALL)
        assert told.exit_code == 1 and "is there already" in told.stderr
    assert not list(tmp_path.iterdir())
    assert (tokens.read_bytes(), (folder / "class.db").read_bytes()) == before


def test_tokens_that_cannot_be_written_are_printed_as_they_are_told_once(tmp_path, school):
    (tmp_path / "file").write_text("")
    told = run("class", "new", tmp_path / "class", "--teams", school[0].parent / "teams.csv", "--tokens",
               tmp_path / "file" / "tokens.csv", *SMALL)
    assert told.stdout.startswith("team,token\nAnn,") and len(told.stdout.split("\n")) == 5


def test_a_damaged_database_is_said_to_be(tmp_path, school):
    shutil.copytree(school[0], tmp_path / "class")
    with open(tmp_path / "class" / "class.db", "r+b") as file:
        file.seek(4096)
        file.write(os.urandom(2**16))
    for words in (("board", tmp_path / "class"), ("export", tmp_path / "class", tmp_path / "out"),
                  ("replay", tmp_path / "class", 1), ("close", tmp_path / "class")):
        told = run("class", *words)
        assert told.exit_code == 1 and "malformed" in told.stderr, told.stderr
    assert not (tmp_path / "out").exists()


def test_a_class_has_ten_episodes_unless_told_and_one_limit_of_each_size(tmp_path):
    from pushlab.classroom.folder import MOST_TEAMS

    (tmp_path / "teams.csv").write_text("team\nann\nben\n")
    (tmp_path / "many.csv").write_text("team\n" + "".join(f"team {number}\n" for number in range(MOST_TEAMS + 1)))
    told = run("class", "new", tmp_path / "class", "--teams", tmp_path / "teams.csv", "--per-quarter", 100, "--days", 1)
    assert told.exit_code == 0 and Book(tmp_path / "class").settings["episodes"] == 10
    for teams, words, right in (("teams", ("--episodes", 1), "2 to 50"), ("teams", ("--episodes", 51), "2 to 50"),
                                ("teams", ("--days", 0), "1 to 28"), ("many", (), f"{MOST_TEAMS}")):
        told = run("class", "new", tmp_path / "other", "--teams", tmp_path / f"{teams}.csv", *words)
        assert told.exit_code == 1 and right in told.stderr, told.stderr
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("text, words", [
    ("", ["empty"]), ("name\nann\n", ["'team' is missing", "name"]), ("team\n", ["no rows"]),
    ("team;room\nann;1\n", ["';'"]), ("team\nann\n\nAnn\nÅda\nA\u030ada\n", ["row 4", "'ann'", "row 6"]),
    ("team,room\nann\n", ["row 2", "fields"]), ("team\n\u200b\n \nann\n", ["rows 2, 3", "can be shown"]),
    ("team\nann\x1b[2J\nann[2J\n", ["row 3"])], ids=range(8))
def test_every_fault_of_the_teams_is_told_by_its_row(tmp_path, text, words):
    (tmp_path / "teams.csv").write_text(text, encoding="utf-8")
    told = run("class", "new", tmp_path / "class", "--teams", tmp_path / "teams.csv", *SMALL)
    assert told.exit_code == 1 and all(word in told.stderr for word in ["teams.csv", *words]), told.stderr
    assert not (tmp_path / "class").exists()


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(),
                                  pytest.param(lambda path: path.symlink_to("x"), marks=pytest.mark.posix),
                                  lambda path: path.write_bytes(b"team\n\xff\xfe\n"),
                                  lambda path: path.write_bytes(b"team\n" + b"a" * 2**21)],
                         ids=["missing", "folder", "link", "bytes", "large"])
def test_what_is_no_table_of_teams_is_refused(tmp_path, make):
    make(tmp_path / "teams.csv")
    told = run("class", "new", tmp_path / "class", "--teams", tmp_path / "teams.csv", *SMALL)
    assert told.exit_code == 1 and "teams.csv" in told.stderr and "Traceback" not in told.stderr


def test_a_new_token_voids_the_old_one(school):
    folder, tokens, _ = school
    old = pd.read_csv(tokens).set_index("team").loc["Ann", "token"]
    told = run("class", "token", folder, "Ann")
    room = Room.open(folder)
    try:
        assert told.exit_code == 0 and room.team_of(told.stdout.strip()).name == "Ann" and room.team_of(old) is None
    finally:
        room.close()
    told = run("class", "token", folder, "Zoe")
    assert told.exit_code == 1 and "Zoe" in told.stderr and "Cat and Dan" in told.stderr


def test_a_class_is_looked_at_replayed_closed_and_exported(tmp_path, school):
    folder, *_ = school
    room = Room.open(folder)
    try:
        team = room.team_of(run("class", "token", folder, "=Ben").stdout.strip())
        episode, = room.begin(team, "evalumap2", True)
        for step in range(3):
            room.play(team, [(episode, step, [0] * 7)])
    finally:
        room.close()
    told = run("class", "replay", folder, episode)
    assert told.exit_code == 0 and "the same to the digit" in told.stdout
    assert run("class", "replay", folder, 10**6).exit_code == 1
    assert "has no episode 1000" in run("class", "replay", folder, 10**40).stderr
    told = run("class", "board", folder)
    assert told.exit_code == 0 and "Cat and Dan" in told.stdout
    told = run("class", "close", folder)
    assert told.exit_code == 0 and "for good" in told.stdout and "class board" in told.stdout
    assert Book(folder).settings["closed"]
    told = run("class", "export", folder, tmp_path / "out")
    assert told.exit_code == 0 and (tmp_path / "out" / "standings.csv").is_file()


@pytest.mark.parametrize("words", [("token", "X", "ann"), ("close", "X"), ("export", "X", "OUT"), ("replay", "X", 1),
                                   ("board", "X")])
def test_what_is_no_class_is_said(tmp_path, words):
    told = run("class", *(tmp_path / word if word in ("X", "OUT") else word for word in words))
    assert told.exit_code == 1 and "is no class" in told.stderr and "Traceback" not in told.stderr


@pytest.mark.parametrize("words, status", [
    (("serve", "X"), 1), (("serve",), 2), (("serve", "X", "--port", 70000), 2),
    (("serve", "X", "--requests", "many"), 2), (("class", "new", "X"), 2), (("class",), 2)])
def test_what_cannot_be_served_is_said(tmp_path, words, status):
    told = run(*(tmp_path / word if word == "X" else word for word in words))
    assert told.exit_code == status


@pytest.mark.parametrize("option, value", [("requests", "nan"), ("requests", -5), ("steps", 0), ("upload", -1),
                                           ("slowest", "inf"), ("of-one", 0), ("host", "")])
def test_with_an_option_that_nobody_could_play_with_nothing_is_served(school, option, value):
    told = run("serve", school[0], "--port", 0, f"--{option}", value)
    assert told.exit_code == 1 and option.replace("-", "_") in told.stderr, told.stderr


def test_a_port_that_is_taken_is_named(school):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = run("serve", school[0], "--port", taken.getsockname()[1])
    assert told.exit_code == 1 and "--port" in told.stderr and "Traceback" not in told.stderr
