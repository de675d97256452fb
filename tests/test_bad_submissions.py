"""What students hand in and platforms export: each is scored, refused or said, and keeps no other from its score."""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.challenges import submissions
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.handed_in import find_submissions
from pushlab.challenges.submissions import draw_scores, save_scores, score_file, score_folder
from pushlab.ground.faults import BadData
from pushlab.metrics.estimate import share_interval
from pushlab.users.synthesis import make_user
from pushlab.users.synthesis.user import write_private_user


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("users")
    write_private_user(make_user(20261121, "kim", open_rate=0.4, per_quarter=60), folder)
    return folder


@pytest.fixture(scope="module")
def challenge(data):
    return Challenge.load("kim", data=data)


@pytest.fixture(scope="module")
def text(challenge):
    """A valid submission."""
    table = pd.concat([challenge.history.notifications] * 2).head(len(challenge.contexts))
    return table.to_csv(index=False)


@pytest.fixture
def folder(text, tmp_path):
    """A class in which Anna's submission is in order."""
    (tmp_path / "class").mkdir()
    (tmp_path / "class" / "anna.csv").write_text(text)
    return tmp_path / "class"


def put(name):
    def place(folder, text):
        path = os.path.join(os.fsencode(folder), name if isinstance(name, bytes) else name.encode())
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text.encode())
    return place


def both(*places):
    return lambda folder, text: [place(folder, text) for place in places]


def bytes_of(name, make):
    return lambda folder, text: (folder / name).write_bytes(make(text))


def link(name, target, is_folder=False):
    def place(folder, text):
        (folder / name).symlink_to(folder.parent / target if target.startswith("else") else folder / target)
        if is_folder:
            put(f"../{target}/answers.csv")(folder, text)
    return place


def listen(folder, text):
    here = os.getcwd()
    os.chdir(folder)            # the name of a socket is at most a hundred letters long
    try:
        socket.socket(socket.AF_UNIX).bind("bob.csv")
    finally:
        os.chdir(here)


def shut(folder, text):
    put("bob.csv")(folder, text)
    (folder / "bob.csv").chmod(0)


MOODLE, CANVAS = "_4711_assignsubmission_file_", "_4711_9876_answers.csv"
ONE_NAME, PASSED = "one name", "passed over"
# What lies beside anna.csv; then who is scored besides Anna, and who is at fault or passed over with which words.
CASES = {
    "a name that is not UTF-8": (put(b"jos\xe9.csv"), ["jos\N{REPLACEMENT CHARACTER}"], {}),
    "two names that are not UTF-8": (both(put(b"jos\xe9.csv"), put(b"jos\xe8.csv")), [], {
        "jos\N{REPLACEMENT CHARACTER}": ONE_NAME}),
    "a name that steers a terminal": (put("b\x1b[31mob.csv"), ["b[31mob"], {}),
    "a name that turns the reading direction": (put("bob\u202egpj.csv"), ["bobgpj"], {}),
    "a name with a line break": (put("bob\neve.csv"), ["bob eve"], {}),
    "a name that is a formula": (put("=1+1.csv"), ["=1+1"], {}),
    "a name of 250 letters": (put("b" * 251 + ".csv"), ["b" * 79 + "…"], {}),
    "a name of invisible letters": (put("\u200b.csv"), [], {"no name": "no name for a submission"}),
    "a decomposed letter": (put("e\u0301va.csv"), ["\N{LATIN SMALL LETTER E WITH ACUTE}va"], {}),
    "one name in two spellings of a letter": (both(put("e\u0301va.csv"), put("\xe9va.csv")), [], {"\xe9va": ONE_NAME}),
    "one name as a file and as a folder": (both(put("bob.csv"), put("bob/answers.csv")), [], {"bob": ONE_NAME}),
    "a link to another's file": (link("bob.csv", "anna.csv"), [], {"bob": "a link"}),
    "a link to nothing": (link("bob.csv", "gone.csv"), [], {"bob": "a link"}),
    "a link to itself": (link("bob.csv", "bob.csv"), [], {"bob": "a link"}),
    "a link to a folder": (link("bob", "elsewhere", True), [], {"bob": "a link"}),
    "a folder with a link in it": (both(put("bob/x/readme.txt"), link("bob/b.csv", "anna.csv")), [], {"bob": "a link"}),
    "a device that never ends": (lambda folder, text: (folder / "bob.csv").symlink_to("/dev/zero"), [],
                                 {"bob": "a link"}),
    "a FIFO": (lambda folder, text: os.mkfifo(folder / "bob.csv"), [], {"bob": "this is a FIFO"}),
    "a FIFO in a folder": (lambda folder, text: [(folder / "bob").mkdir(), os.mkfifo(folder / "bob" / "b.csv")], [],
                           {"bob": "this is a FIFO"}),
    "a FIFO of another name": (lambda folder, text: os.mkfifo(folder / "pipe"), [], {"pipe": PASSED}),
    "a socket": (listen, [], {"bob": "this is a socket"}),
    "a file nobody may read": (shut, [], {"bob": "cannot be read"}),
    "macOS's notes beside a file": (put("._anna.csv"), [], {"._anna.csv": "macOS keeps notes about anna.csv"}),
    "macOS's notes in a folder": (both(put("__MACOSX/._bob.csv"), put("bob/._b.csv"), put("bob/b.csv")), ["bob"],
                                  {"__MACOSX": PASSED}),
    "hidden files": (both(put(".DS_Store"), put(".bob.csv"), put("Thumbs.db")), [],
                     {".DS_Store": PASSED, ".bob.csv": PASSED, "Thumbs.db": PASSED}),
    "a spreadsheet": (put("bob.xlsx"), [], {"bob.xlsx": PASSED}),
    "a folder a student": (put("bob/answers.csv"), ["bob"], {}),
    "a folder a student, called .csv": (put("bob.csv/answers.csv"), ["bob"], {}),
    "a folder with two files": (both(put("bob/a.csv"), put("bob/b.csv")), [], {"bob": "2 CSV files"}),
    "a folder with a spreadsheet": (put("bob/answers.xlsx"), [], {"bob": "no CSV file in this folder"}),
    "an empty folder": (lambda folder, text: (folder / "bob").mkdir(), [], {"bob": "no CSV file in this folder"}),
    "a folder with 1,200 files": (lambda folder, text: [put(f"bob/{number}.txt")(folder, "") for number in range(1200)],
                                  [], {"bob": "more than 1,000 files"}),
    "Moodle's folders": (both(put(f"Bob Lee{MOODLE}/a.csv"), put(f"Eve{MOODLE}/x/a.csv")), ["Bob Lee", "Eve"], {}),
    "Moodle's files": (put(f"Bob Lee{MOODLE}answers.csv"), ["Bob Lee"], {}),
    "Moodle, two of one name": (both(put(f"Bob{MOODLE}/a.csv"), put("Bob_4712_assignsubmission_file_/a.csv")),
                                ["Bob_4711_assignsubmission_file_", "Bob_4712_assignsubmission_file_"], {}),
    "Canvas": (both(put(f"leebob{CANVAS}"), put("eve_LATE_4712_9877_my_answers.csv")), ["eve", "leebob"], {}),
    "nbgrader": (put("bob/ps1/answers.csv"), ["bob"], {}),
    "the results of an earlier run": (both(put("scores/leaderboard.json"), put("scores/scorecards/anna/scorecard.csv")),
                                      [], {"scores": "results of an earlier run"}),
    "nothing": (bytes_of("bob.csv", lambda text: b""), [], {"bob": "the file is empty"}),
    "zeros": (bytes_of("bob.csv", lambda text: bytes(5000)), [], {"bob": ""}),
    "UTF-16": (bytes_of("bob.csv", lambda text: text.encode("utf-16")), [], {"bob": "not UTF-8"}),
    "a cell of a megabyte": (bytes_of("bob.csv", lambda text: text.replace("\n", "\n" + "x" * 2**20, 1).encode()), [],
                             {"bob": "bob.csv, row 2: "}),
    "a quotation mark that never closes": (bytes_of("bob.csv", lambda text: text.encode() + b'"'), [], {"bob": ""}),
    "200,000 columns": (bytes_of("bob.csv", lambda text: b"a," * 200_000), [], {"bob": "200,001 columns"}),
    "an id of 400 digits": (bytes_of("bob.csv", lambda text: "\n".join(
        ("id," if not number else "1" + "0" * 400 + ",") + line for number, line in enumerate(text.splitlines())
    ).encode()), [], {"bob": "the id of a context"}),
    "a fault in each of 7 columns of each row": (bytes_of("bob.csv", lambda text: "".join(
        line + "\n" if not number else ",".join("?" * 7) + "\n" for number, line in enumerate(text.splitlines())
    ).encode()), [], {"bob": "faults, the first 100"}),
}
NEEDS_A_USER = {"a file nobody may read"}
NEEDS_POSIX = {     # Windows has no such files, or no such names
    "a name that is not UTF-8", "two names that are not UTF-8", "a name that steers a terminal",
    "a name with a line break", "a link to another's file", "a link to nothing", "a link to itself",
    "a link to a folder", "a folder with a link in it", "a device that never ends", "a FIFO", "a FIFO in a folder",
    "a FIFO of another name", "a socket"}
assert set(CASES) >= NEEDS_POSIX


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.posix if case in NEEDS_POSIX else ())
                                  for case in CASES])
def test_whatever_lies_beside_a_submission_is_scored_or_said(case, challenge, folder, text, tmp_path):
    place, scored, said = CASES[case]
    place(folder, text)
    if case in NEEDS_A_USER and os.access(folder / "bob.csv", os.R_OK):
        pytest.skip("the administrator may read every file")
    cards, faulty, passed_over = score_folder(folder, challenge)
    assert sorted(card.agent for card in cards) == sorted(["anna", *scored])
    told = {**{name: str(error) for name, error in faulty.items()},
            **{name: f"{PASSED}: {why}" for name, why in passed_over.items()}}
    for name, words in said.items():
        assert any(key.startswith(name) and words in value for key, value in told.items()), (name, told)
    assert bool(told) == bool(said)
    save_scores(cards, faulty, tmp_path / "out")                # whatever the names
    assert len(pd.read_csv(tmp_path / "out" / "leaderboard.csv")) == len(cards)
    assert len(list((tmp_path / "out" / "scorecards").iterdir())) == len(cards) + len(faulty)
    assert all(file.isprintable() for file in os.listdir(tmp_path / "out" / "scorecards"))
    assert not [fault for error in faulty.values() for fault in error.faults if "\x1b" in fault.file]


@pytest.mark.parametrize("error", [
    MemoryError(), RecursionError("too deep"), OSError(5, "a broken disk"), KeyError("x"), ZeroDivisionError("0"),
    UnicodeEncodeError("utf-8", "\udce9", 0, 1, "surrogates")])
def test_whatever_happens_inside_one_submission_is_its_own_fault(challenge, folder, text, monkeypatch, error):
    put("bob.csv")(folder, text)
    evaluate = Challenge.evaluate

    def once(self, *args, **more):
        if more["agent"] == "bob":
            raise error
        return evaluate(self, *args, **more)

    monkeypatch.setattr(Challenge, "evaluate", once)
    cards, faulty, _ = score_folder(folder, challenge)
    assert [card.agent for card in cards] == ["anna"] and type(error).__name__ in str(faulty["bob"])
    with pytest.raises(BadData, match=f"bob.csv: .*{type(error).__name__}"):
        score_file(folder / "bob.csv", challenge)


def test_who_interrupts_is_obeyed(challenge, folder, monkeypatch):
    def interrupt(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(Challenge, "evaluate", interrupt)
    with pytest.raises(KeyboardInterrupt):
        score_folder(folder, challenge)


@pytest.mark.parametrize("intercept, rate", [(60.0, 1.0), (-60.0, 0.0)])
def test_a_submission_that_is_always_or_never_opened_scores_and_is_drawn(data, text, tmp_path, intercept, rate):
    users = shutil.copytree(data, tmp_path / "users")
    truth = json.loads((users / "kim" / "truth.json").read_text())
    (users / "kim" / "truth.json").write_text(json.dumps(truth | {"intercept": intercept}))
    (tmp_path / "anna.csv").write_text(text)
    card = score_file(tmp_path / "anna.csv", Challenge.load("kim", data=users))
    own = card.judges["truth"]
    assert own["sampled"] == rate and own["low"] <= rate <= own["high"]
    assert draw_scores([card], tmp_path) == [] and (tmp_path / "leaderboard.png").stat().st_size


@given(st.integers(1, 10**7).flatmap(lambda n: st.tuples(st.just(n), st.sampled_from([0, 1, n // 2, n - 1, n]) |
                                                           st.integers(0, n))), st.floats(0.5, 0.999999))
def test_a_share_lies_in_its_interval_to_the_last_digit(counts, level):
    trials, successes = counts
    mean, low, high = share_interval(successes, trials, level)
    assert 0 - 1e-12 <= low <= mean <= high <= 1 + 1e-12
    assert low < high and (successes > 0 or mean == 0) and (successes < trials or mean == 1)


def test_a_picture_that_fails_is_said_and_the_scores_stay(challenge, folder, tmp_path, monkeypatch):
    cards, faulty, _ = score_folder(folder, challenge)
    save_scores(cards, faulty, tmp_path / "out")
    before = {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()}
    (tmp_path / "out" / "leaderboard.png").mkdir()          # the picture has no place
    [complaint] = draw_scores(cards, tmp_path / "out")
    assert "leaderboard.png" in complaint and "could not be drawn" in complaint
    monkeypatch.setattr(submissions, "write_picture", lambda path, cards: 1 / 0)
    assert len(draw_scores(cards, tmp_path / "out", each=True)) == 2
    assert {path: path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file()} == before


def test_a_run_replaces_the_one_before_as_a_whole_and_nothing_else(challenge, folder, text, tmp_path):
    out = tmp_path / "out"
    put("bob.csv")(folder, text)
    save_scores(*score_folder(folder, challenge)[:2], out)
    (folder / "bob.csv").unlink()
    (folder / "carl.csv").write_text("torn")
    cards, faulty, _ = score_folder(folder, challenge)
    save_scores(cards, faulty, out)
    assert sorted(os.listdir(out / "scorecards")) == ["anna", "carl"]
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    with pytest.raises(TypeError):
        save_scores(cards, {**faulty, "dora": faulty["carl"], "eve": None, 5: None}, out)       # in the middle
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "thesis.tex").write_text("years")
    with pytest.raises(FileExistsError, match="holds something else"):
        save_scores(cards, faulty, tmp_path / "thesis")
    assert os.listdir(tmp_path / "thesis") == ["thesis.tex"]


# ---------------------------------------------------------------- the command, as a process of its own

@pytest.fixture
def score(data, folder, tmp_path):
    """Runs `pushlab score` of the class in a process of its own."""
    def run(*words, start=subprocess.run, **more):
        command = [sys.executable, "-m", "pushlab", "score", str(folder), "--user", "kim", "--data", str(data),
                   "--out", str(tmp_path / "out"), "--no-pictures", *map(str, words)]
        return start(command, **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | more)
    return run


def test_a_terminal_of_another_encoding_loses_nothing(score, folder, text, tmp_path):
    put("\u017c\xf3\u0142w \U0001f422.csv")(folder, text)
    told = score(env=os.environ | {"PYTHONIOENCODING": "latin-1", "LC_ALL": "C"})
    assert told.returncode == 0 and b"\\u017c" in told.stdout and b"Traceback" not in told.stderr
    assert "\u017c\xf3\u0142w \U0001f422" in (tmp_path / "out" / "leaderboard.csv").read_text(encoding="utf-8")


def test_a_reader_who_leaves_loses_nothing(score, folder, tmp_path):
    (folder / "bob.csv").write_text("torn")
    reading, writing = os.pipe()
    os.close(reading)
    told = score(stdout=writing)
    os.close(writing)
    assert told.returncode == 1 and b"1 of 2 submissions could not be scored" in told.stderr, told.stderr
    assert b"Traceback" not in told.stderr and b"Exception ignored" not in told.stderr
    assert pd.read_csv(tmp_path / "out" / "leaderboard.csv")["agent"].tolist() == ["anna"]


@pytest.mark.posix
def test_a_device_is_not_replaced(data, folder):
    before = os.stat("/dev/null").st_rdev
    words = ["score", str(folder), "--user", "kim", "--data", str(data), "--out", "/dev/null"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 2 and "anna" in told.stdout and "could not be written" in told.stderr
    assert os.stat("/dev/null").st_rdev == before


@pytest.mark.posix
def test_a_run_that_is_killed_leaves_the_old_results_or_the_new(challenge, score, folder, text, tmp_path):
    for number in range(60):
        put(f"team {number}.csv")(folder, text)
    save_scores(*score_folder(folder, challenge)[:2], tmp_path / "out")
    old = (tmp_path / "out" / "leaderboard.json").read_bytes()
    process = score("--seed", 5, start=subprocess.Popen)
    try:
        while process.poll() is None and not list(tmp_path.glob(".out.*/scorecards/team 7")):
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
    finally:
        process.communicate()
    whole = json.loads((tmp_path / "out" / "leaderboard.json").read_text())
    assert len(os.listdir(tmp_path / "out" / "scorecards")) == len(whole["scored"]) == 61
    cards = {json.loads(path.read_text())["seeds"][0] for path in (tmp_path / "out").glob("scorecards/*/*.json")}
    assert cards == ({0} if (tmp_path / "out" / "leaderboard.json").read_bytes() == old else {5})


def test_faults_call_a_file_in_a_folder_by_both(folder, text):
    put("bob/answers.csv")(folder, text)
    found, passed_over = find_submissions(folder)
    assert [(one.name, one.file) for one in found] == [("anna", "anna.csv"), ("bob", "bob/answers.csv")]
    assert passed_over == {}
