"""Lifetimes, logs, experts and sweeps of others, of an interrupted run, of a hurry: each bad input is the fault of one.

The first list is of logs that one student of a class hands in; beside it lies a sound one, which has to be reported as
if nothing were. Every case runs `pushlab lifelong --recursive` as a process, in a pool of them. What the release before
made of each is in data/robustness/lifetimes.csv.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import pushlab
from pushlab import agents
from pushlab.ground.faults import BadData
from pushlab.lifetimes.experts import Experts
from pushlab.lifetimes.live import run_syllabi, run_syllabus
from pushlab.lifetimes.rules import find_faults
from pushlab.lifetimes.syllabi import ant_a, read_syllabus
from pushlab.logs.folders import read_log, write_log
from pushlab.logs.rollout import rollout
from pushlab.metrics.settings import Settings
from pushlab.studies.cells import Cell, CellsFailed, run_cells
from pushlab.studies.store import status

sys.path.insert(0, str(Path(__file__).parent))
from before_and_after import in_words, run

ROWS = "block_num\texp_num\tblock_type\ttask_name\treward\n"
DEEP = "[" * 100_000


def sound(top=8.0):
    """A lifetime of two tasks."""
    rows = [(block, kind, task, "{}", value) for block, (kind, task) in enumerate(
        [("train", "a"), ("test", "a"), ("train", "b"), ("test", "b")]) for value in np.linspace(0, top, 6)]
    return pd.DataFrame(rows, columns=["block", "block_type", "task", "params", "reward"]).assign(episode=range(24))


def table_of(folder, text, block="0-train"):
    """A log of one table as L2Logger would write it, whatever the text is."""
    path = folder / "worker" / block / "data-log.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def of_rows(rows, header=ROWS):
    return lambda folder: table_of(folder, header + rows)


def beside(name, text):
    """A sound log with another text in one of its files."""
    def make(folder):
        path = write_log(sound(), folder) / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return make


def instead(name, make_file):
    """A sound log in which something else stands in the place of a file or folder."""
    def make(folder):
        path = write_log(sound(), folder) / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()
        make_file(path)
    return make


def link_to(target):
    return lambda path: path.symlink_to(target(path) if callable(target) else target)


def fifo(path):
    os.mkfifo(path)


def blocks(*names):
    def make(folder):
        for name in names:
            number = name.partition("-")[0]
            table_of(folder, ROWS + f"{number}\t0\ttrain\ta\t1\n", name)
    return make


def many_tasks(folder):
    for block, kind in enumerate(("train", "test")):
        table_of(folder, ROWS + "".join(f"{block}\t{15_000 * block + at}\t{kind}\tt{at}\t1\n" for at in range(15_000)),
                 f"{block}-{kind}")


def own_kind(name, kind):
    """A log of ours whose columns.json says that a column is of another kind."""
    def make(folder):
        path = write_log(sound(), folder) / "0" / "0-train" / "columns.json"
        told = json.loads(path.read_text())
        told["log"][name] = kind
        path.write_text(json.dumps(told))
    return make


def named(*names):
    """Sound logs of some names."""
    return lambda folder: [write_log(sound(), folder.parent / name) for name in names]


def not_utf8(folder, name):
    return Path(os.fsdecode(os.path.join(os.fsencode(folder.parent), name)))


ONE = "0\t0\ttrain\ta\t1\n"
STUDENTS = {
    "metrics_columns is 3": beside("logger_info.json", '{"metrics_columns": 3}'),
    "metrics_columns is [[]]": beside("logger_info.json", '{"metrics_columns": [[]]}'),
    "metrics_columns is {}": beside("logger_info.json", '{"metrics_columns": {"reward": 1}}'),
    "logger_info.json: 100,000 brackets": beside("logger_info.json", DEEP),
    "logger_info.json: a number of 5,000 digits": beside("logger_info.json", '{"version": 1%s}' % ("0" * 5000)),
    "logger_info.json: no UTF-8": beside("logger_info.json", b"\xff\xfe{}"),
    "logger_info.json: a list": beside("logger_info.json", "[1]"),
    "scenario_info.json: 100,000 brackets": beside("scenario_info.json", '{"a":' * 100_000),
    "scenario_info.json: 9 MB": beside("scenario_info.json", '{"a": "%s"}' % ("x" * 9 * 2**20)),
    "columns.json: 100,000 brackets": beside("0/0-train/columns.json", DEEP),
    "columns.json: a list": beside("0/0-train/columns.json", "[]"),
    "columns.json: a log that is a number": beside("0/0-train/columns.json", '{"log": 3, "own": []}'),
    "columns.json: the episode is a list": own_kind("exp_num", "json object"),
    "columns.json: the block is words": own_kind("block_num", "object"),
    "columns.json: the task is a number": own_kind("task_name", "float64"),
    "columns.json: the reward is words": own_kind("reward", "object"),
    "a table that is a FIFO": instead("0/0-train/data-log.tsv", fifo),
    "a scenario that is a FIFO": instead("scenario_info.json", fifo),
    "columns.json is a FIFO": instead("0/0-train/columns.json", fifo),
    "a table that is a link to /dev/zero": instead("0/0-train/data-log.tsv", link_to("/dev/zero")),
    "a scenario that is a link to /dev/zero": instead("scenario_info.json", link_to("/dev/zero")),
    "a table that is a link to another's": instead(
        "0/0-train/data-log.tsv", link_to(lambda path: path.parents[3] / "ann/0/0-train/data-log.tsv")),
    "a worker that is a link to another's": instead("0", link_to(lambda path: path.parents[1] / "ann/0")),
    "a block that is a link to another's": instead("0/0-train",
                                                   link_to(lambda path: path.parents[2] / "ann/0/0-train")),
    "a table that is a folder": instead("0/0-train/data-log.tsv", Path.mkdir),
    "a link in a circle": instead("0", link_to(lambda path: path.parent)),
    "a folder 100000000-train": blocks("0-train", "100000000-train"),
    "a folder 99999999999999999999-train": blocks("0-train", "99999999999999999999-train"),
    "a folder of 200 digits": blocks("0-train", "9" * 200 + "-train"),
    "a folder ٣-train": blocks("0-train", "٣-train"),
    "a folder 00-train beside 0-train": blocks("0-train", "00-train"),
    "a folder -1-train": blocks("0-train", "-1-train"),
    "a table of nothing": of_rows("", ""),
    "a header and no rows": of_rows(""),
    "our header and no rows": lambda folder: [
        path.write_text(path.read_text().split("\n")[0] + "\n")
        for path in [write_log(sound(), folder) / "0" / "1-test" / "data-log.tsv"]],
    "a table that is no UTF-8": lambda folder: table_of(folder, ROWS.encode() + b"0\t0\ttrain\t\xff\t1\n"),
    "a table of zero bytes": lambda folder: table_of(folder, b"\0" * 1000),
    "a header of 200,000 letters": of_rows(ONE, "x" * 200_000 + "\t" + ROWS),
    "a header of 200,000 columns": of_rows(ONE, "\t".join(f"x{at}" for at in range(200_000)) + "\t" + ROWS),
    "a cell of 200,000 letters in a torn table": of_rows('0\t0\ttrain\t"a\t1\n' + f"0\t1\ttrain\t{'x' * 200_000}\t1\n"),
    "a column twice": of_rows(ONE, ROWS.replace("reward", "task_name")),
    "300,000 torn rows": of_rows("0\t0\n" * 300_000),
    "149,033 rows that go back": of_rows("".join(f"0\t{at % 2}\ttrain\ta\t1\n" for at in range(298_066))),
    "300,000 infinite rewards": of_rows("".join(f"0\t{at}\ttrain\ta\tinf\n" for at in range(300_000))),
    "a block of 10^400": of_rows(f"1{'0' * 400}\t0\ttrain\ta\t1\n"),
    "an experience of 10^400": of_rows(f"0\t1{'0' * 400}\ttrain\ta\t1\n"),
    "an experience of 1e300": of_rows("0\t1e300\ttrain\ta\t1\n"),
    "an experience of 2^63": of_rows("0\t9223372036854775808\ttrain\ta\t1\n" + ONE),
    "a reward of 10^400": of_rows(f"0\t0\ttrain\ta\t1{'0' * 400}\n"),
    "rewards of 1e308 and -1e308": of_rows("0\t0\ttrain\ta\t1e308\n0\t1\ttrain\ta\t-1e308\n"),
    "params of 100,000 brackets": of_rows("0\t0\ttrain\ta\t1\t" + '{"a":' * 100_000 + "\n",
                                          ROWS.replace("\n", "\ttask_params\n")),
    "params of a number of 5,000 digits": of_rows('0\t0\ttrain\ta\t1\t{"a": 1%s}\n' % ("0" * 5000),
                                                  ROWS.replace("\n", "\ttask_params\n")),
    "params with half a character": of_rows(
        '0\t0\ttrain\ta\t1\t{"a": "\\ud800"}\n0\t1\ttrain\ta\t1\t{"a": 1}\n', ROWS.replace("\n", "\ttask_params\n")),
    "15,000 tasks": many_tasks,
    "a task that steers the terminal": of_rows("0\t0\ttrain\ta\x1b[2J\t1\n1\t1\ttrain\tb\t1\n"),
    "a task that is a formula": of_rows("0\t0\ttrain\t=1+1\t1\n0\t1\ttrain\t=1+1\t2\n"),
    "a task that TeX cannot set": of_rows("0\t0\ttrain\t$\\frac{$\t1\n0\t1\ttrain\t$\\frac{$\t2\n"),
    "a number in the place of a kind": of_rows("0\t0\t3\ta\t1\n"),
    "blocks without the folder of a worker": lambda folder: [
        shutil.move(write_log(sound(), folder) / "0" / "0-train", folder / "0-train"), shutil.rmtree(folder / "0")],
    "a table without folders": lambda folder: [folder.mkdir(), (folder / "data-log.tsv").write_text(ROWS + ONE)],
    "a folder of 40 folders": lambda folder: table_of(folder.joinpath(*["x"] * 40), ROWS + ONE),
    "an empty folder": Path.mkdir,
    "a single table": lambda folder: folder.with_suffix(".tsv").write_text(ROWS + ONE),
    "a faulty log of a name that is not UTF-8": lambda folder: (
        write_log(sound(), not_utf8(folder, b"latin\xff")) / "logger_info.json").write_text("3"),
    "a sound log of a name that is not UTF-8": lambda folder: write_log(sound(), not_utf8(folder, b"other\xff")),
    "a sound log of a name that steers the terminal": named("red\x1b[31m\n"),
    "a sound log of a name that turns the reading": named("gpj\u202e.txt"),
    "a sound log of a name of 250 letters": named("b" * 250),
    "a sound log of a name of 84 letters of three bytes": named("愛" * 84),
    "two names that are one": named("zo\xeb", "zoe\u0308"),
    "a table in columns.json's place": instead("0/0-train/columns.json", lambda path: path.write_text(ROWS)),
}
MAY = ("rewards of 1e308", "params with half", "a task that", "columns.json: the task", "columns.json: the block",
       "columns.json: the reward", "columns.json: the episode", "a table in columns.json")      # reported, or at fault
NAMES = {"a faulty log of a name that is not UTF-8": ["latin"], "a sound log of a name that is not UTF-8": ["other"],
         "a sound log of a name that steers the terminal": ["red[31m"],
         "a sound log of a name that turns the reading": ["gpj.txt"],
         "a sound log of a name of 250 letters": ["b" * 199 + "…"],
         "a sound log of a name of 84 letters of three bytes": ["愛" * 59 + "…"],
         "two names that are one": ["zo\xeb", "zo\xeb (2)"]}
PASSED_OVER = ("an empty folder", "a single table")             # neither a log nor the fault of one


def command(*arguments, **more):
    """`pushlab` with some arguments, as a process."""
    path = [str(Path(pushlab.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path)), "COLUMNS": "200", "L2DATA": ""}
    return subprocess.run([sys.executable, "-m", "pushlab", *map(str, arguments)], env=environment, timeout=600,
                          stdin=subprocess.DEVNULL, capture_output=True, **more)


def slug(case):
    return "".join(letter if letter.isalnum() and letter.isascii() else "-" for letter in case)


@pytest.fixture(scope="module")
def class_report(tmp_path_factory):
    """Ann's log, which is sound, and all that others handed in: the folder of results, and how the command ended."""
    place = tmp_path_factory.mktemp("class")
    write_log(sound(), place / "logs" / "ann")
    for case, make in STUDENTS.items():
        make(place / "logs" / slug(case))
    return place / "out", command("lifelong", place / "logs", "-R", "-o", place / "out", "--no-plot")


@pytest.mark.posix
def test_a_sound_log_is_reported_beside_all_of_these(class_report, tmp_path):
    out, done = class_report
    assert done.returncode == 1 and b"Traceback" not in done.stderr, done.stderr.decode()[-3000:]
    write_log(sound(), tmp_path / "ann")
    alone = command("lifelong", tmp_path / "ann", "-o", tmp_path / "out", "--no-plot")
    assert alone.returncode == 0
    for name in ("ann.json", "ann_metrics.tsv", "ann_regimes.tsv"):
        assert (out / name).read_bytes() == (tmp_path / "out" / name).read_bytes()
    table = pd.read_csv(out / "lifetimes.tsv", sep="\t", index_col=0)
    assert table.loc["ann", "faults"] == 0 and not {*NAMES["two names that are one"]} - {*table.index}
    assert all(letter.isprintable() or letter == "\n" for letter in done.stderr.decode() + done.stdout.decode())
    assert len(done.stderr) < 500_000                           # at most 100 faults of each


@pytest.mark.posix
@pytest.mark.parametrize("case", STUDENTS)
def test_what_is_wrong_in_one_log_is_its_own_fault_report(case, class_report):
    out, done = class_report
    words = done.stderr.decode()
    if case in PASSED_OVER:
        assert slug(case) in next(line for line in words.splitlines() if line.startswith("passed over"))
        return
    for name in NAMES.get(case, [slug(case)]):
        told, reported = out / f"{name}_faults.txt", out / f"{name}.json"
        if case.startswith(("a sound log", "two names")):
            assert reported.exists() and not told.exists()
        elif case.startswith(MAY):
            assert reported.exists() or told.exists()
        else:
            assert told.exists() and 0 < len(told.read_text()) < 30_000 and f"{name}: " in words


WHERE = {
    "a block of 10^400": "column block_num, row 2: '1000", "an experience of 10^400": "column exp_num, row 2: '1000",
    "a reward of 10^400": "column reward, row 2: 'inf' is not a finite number",
    "columns.json: a log that is a number": "columns.json, key log: '3' is not an object",
}


@pytest.mark.parametrize("case", WHERE)
def test_what_is_wrong_is_said_with_its_cell_or_key(case, tmp_path):
    STUDENTS[case](tmp_path / "log")
    with pytest.raises(BadData) as caught:
        read_log(tmp_path / "log")
    assert WHERE[case] in str(caught.value)


@pytest.mark.posix
def test_a_picture_that_cannot_be_drawn_decides_nothing(tmp_path):
    STUDENTS["a task that TeX cannot set"](tmp_path / "log")
    done = command("lifelong", tmp_path / "log", "-o", tmp_path / "out")
    assert done.returncode == 0 and (tmp_path / "out" / "log.json").exists(), done.stderr.decode()
    assert (tmp_path / "out" / "log.png").exists() or "log.png could not be drawn" in done.stderr.decode()


@pytest.mark.posix
def test_nothing_is_lost_when_nobody_reads_or_the_terminal_lacks_letters(tmp_path):
    write_log(sound().assign(task="愛"), tmp_path / "logs" / "愛")
    code = "import os, subprocess, sys; read, write = os.pipe(); os.close(read); sys.exit(subprocess.call(" \
           "[sys.executable, '-m', 'pushlab', *sys.argv[1:]], stdout=write, stderr=write))"
    for name, more in (("closed", {}), ("ascii", {"PYTHONIOENCODING": "ascii"})):
        start = ["-c", code] if name == "closed" else ["-m", "pushlab"]
        done = subprocess.run([sys.executable, *start, "lifelong", tmp_path / "logs", "-R", "-o", tmp_path / name,
                               "--no-plot"], env={**os.environ, **more, "L2DATA": ""}, capture_output=True, timeout=600)
        assert done.returncode == 0 and (tmp_path / name / "愛.json").exists(), done.stderr.decode()


def test_what_others_have_is_not_written_over(tmp_path):
    write_log(sound(), tmp_path / "log")
    (tmp_path / "mine").mkdir()
    for path in (tmp_path / "mine" / "thesis.txt", tmp_path / "settings.json"):
        path.write_text("mine")
    done = command("lifelong", tmp_path / "log", "-o", tmp_path / "mine")
    assert done.returncode == 2 and b"holds something else" in done.stderr
    done = command("lifelong", tmp_path / "log", "--save-settings", tmp_path / "settings.json")
    assert done.returncode == 2 and b"is there already" in done.stderr
    assert (tmp_path / "settings.json").read_text() == "mine" and len(list((tmp_path / "mine").iterdir())) == 1
    if os.name == "posix":
        done = command("lifelong", tmp_path / "log", "--save-settings", "/dev/full", "--replace")
        assert done.returncode == 2 and b"is a device" in done.stderr


# ---------------------------------------------------------------- resuming

TWO = ant_a({name: {"$episode": "pushlab/RECEnv-v0", "random_state": state} for state, name in enumerate("ab")}, 3, 2)


def files_in(folder):
    """{path: contents} of all files but locks."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*")
            if path.is_file() and path.suffix != ".lock"}


def live(folder, agent=None):
    return run_syllabus(TWO, agent or agents.LinearQ(), 0, folder, progress=False)


def told(check=True, **other):
    """Changes what a lifetime keeps of itself, as a hand or an older release would have written it."""
    def change(folder):
        path = folder / "agent.json"
        kept = json.loads(path.read_text())
        for name in () if check else ("check", "blocks"):
            kept.pop(name, None)
        path.write_text(json.dumps({**kept, **other}))
    return change


def as_text(text):
    return lambda folder: (folder / "agent.json").write_text(text)


def rows_of(block, change):
    def make(folder):
        path = folder / "0" / block / "data-log.tsv"
        path.write_text("".join(change(path.read_text().splitlines(keepends=True))))
    return make


def put_in_its_place(make):
    return lambda folder: [(folder / "agent.json").unlink(), make(folder / "agent.json")]


def added(name):
    return lambda folder: [shutil.copytree(folder / "0" / "0-test", folder / "0" / name)]


def unfinished_with_notes(folder):
    shutil.rmtree(folder / "0" / "4-test")
    told(False, finished=4)(folder)
    (folder / "0" / "4-test").mkdir()
    (folder / "0" / "4-test" / "my notes.txt").write_text("mine")


CHANGED = {
    "finished is -1": told(finished=-1), "finished is -1, in an older file": told(False, finished=-1),
    "finished is 1 of 5": told(finished=1), "finished is 1 of 5, in an older file": told(False, finished=1),
    "finished is 99": told(False, finished=99), "finished is true": told(False, finished=True),
    "finished is 2.0": told(False, finished=2.0), "finished is 10^400": told(False, finished=10**400),
    "finished is null": told(False, finished=None), "the state is {}": told(state={}),
    "the state is {}, in an older file": told(False, state={}), "the state is 3": told(False, state=3),
    "the state is another agent's": told(False, state={"counts": [1, 2]}), "the mark is a list": told(mark=[]),
    "the checksum was taken out": told(False, blocks=5),
    "100,000 brackets": as_text(DEEP), "a number of 5,000 digits": as_text('{"mark": 1%s}' % ("0" * 5000)),
    "empty": as_text(""), "a folder": put_in_its_place(Path.mkdir), "a FIFO": put_in_its_place(fifo),
    "a link": put_in_its_place(link_to("/dev/zero")), "a link to nowhere": put_in_its_place(link_to("nowhere")),
    "a block of a header only": rows_of("1-train", lambda lines: lines[:1]),
    "the last block of a header only": rows_of("4-test", lambda lines: lines[:1]),
    "a block that lost a row": rows_of("1-train", lambda lines: lines[:-1]),
    "the last block lost a row": rows_of("4-test", lambda lines: lines[:-1]),
    "a block with a row twice": rows_of("1-train", lambda lines: [*lines, lines[-1]]),
    "a block of another task": rows_of("1-train", lambda lines: [line.replace("\ta\t", "\tb\t") for line in lines]),
    "a block that is a link": lambda folder: [shutil.move(folder / "0" / "1-train", folder / "elsewhere"),
                                              (folder / "0" / "1-train").symlink_to(folder / "elsewhere")],
    "a block 9-train of somebody": added("9-train"), "a block 5-test of somebody": added("5-test"),
    "a folder 1-train.bak": added("1-train.bak"), "notes in an unfinished block": unfinished_with_notes,
}


@pytest.mark.posix
@pytest.mark.parametrize("case", CHANGED)
def test_a_folder_that_is_not_as_it_was_written_is_refused_and_stays(case, tmp_path):
    live(tmp_path / "life")
    CHANGED[case](tmp_path / "life")
    before = files_in(tmp_path / "life")
    agent = agents.LinearQ()
    agent.act = lambda *arguments: pytest.fail("it lived on")
    with pytest.raises((ValueError, OSError)) as caught:
        live(tmp_path / "life", agent)
    assert len(str(caught.value)) < 2000 and files_in(tmp_path / "life") == before


def test_a_lifetime_of_the_release_before_is_gone_on_with(tmp_path):
    log = live(tmp_path / "life")
    shutil.rmtree(tmp_path / "life" / "0" / "4-test")
    path = tmp_path / "life" / "agent.json"
    states = [json.loads(path.read_text())["state"]]            # a test has changed nothing
    told(False, finished=4, state=states[0])(tmp_path / "life")
    pd.testing.assert_frame_equal(live(tmp_path / "life"), log, check_exact=True)


def test_a_lifetime_is_lived_by_one_process_at_a_time(tmp_path):
    class Twice(agents.LinearQ):
        def act(self, observation, info, explore=True):
            with pytest.raises(TimeoutError, match="another process"):
                live(tmp_path / "life", agents.LinearQ())
            raise Done

    class Done(Exception):
        pass

    Twice.name = agents.LinearQ().name
    with pytest.raises(Done):
        live(tmp_path / "life", Twice())


# ---------------------------------------------------------------- interrupted

class Stops(agents.RandomAgent):
    """Raises something at its n-th step."""

    def __init__(self, error, after):
        super().__init__()
        self.error, self.left = error, after

    def act(self, observation, info, explore=True):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().act(observation, info, explore)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("mine"), SystemExit(3)])
def test_an_interrupted_rollout_keeps_what_was_lived(error):
    how = {"episodes": 9, "seed": 3, "progress": False}
    whole = rollout("pushlab/RECEnv-v0", agents.RandomAgent(), **how).drop(columns="response_time")
    with pytest.raises(type(error)) as caught:
        rollout("pushlab/RECEnv-v0", Stops(error, 27), **how)
    log = caught.value.log.drop(columns="response_time")
    assert len(log) == 27 and log["last"].notna().sum() == 3 and not log["terminated"].iat[-1]
    pd.testing.assert_frame_equal(log.drop(columns=["last", "run", "agent"]),
                                  whole[:27].drop(columns=["last", "run", "agent"]))
    assert any("sys.last_value.log" in note for note in caught.value.__notes__)
    del error.log
    with pytest.raises(type(error)) as caught:
        rollout("pushlab/RECEnv-v0", Stops(error, 27), record="episodes", **how)
    assert caught.value.log["length"].tolist() == [10, 10]      # the third has no return yet
    del error.log
    with pytest.raises(type(error)) as caught:
        rollout("pushlab/RECEnv-v0", Stops(error, 27), record="frames", **how)
    log, films = caught.value.log
    assert len(log) == 27 and [len(film) for film in films] == [11, 11, 8]


def test_an_interrupted_lifetime_keeps_what_was_lived(tmp_path):
    whole = run_syllabus(TWO, agents.RandomAgent(), 0, progress=False)
    columns = ["phase", "block", "block_type", "task", "regime", "episode", "reward", "length"]
    for folder in (None, tmp_path / "life"):
        with pytest.raises(KeyboardInterrupt) as caught:
            run_syllabus(TWO, Stops(KeyboardInterrupt(), 85), 0, folder, progress=False)
        pd.testing.assert_frame_equal(caught.value.log[columns], whole[columns][:16])   # copies of the agent are tested
    with pytest.raises(KeyboardInterrupt) as caught:
        run_syllabi(TWO, [Stops(KeyboardInterrupt(), 85)], 3, progress=False)
    assert [len(logs) for logs in caught.value.log.values()] == [0]


# ---------------------------------------------------------------- killed, full, many at once

STORE = """
import json, os, resource, shutil, signal, sys
from pathlib import Path
import pandas as pd
from pushlab.lifetimes.experts import Experts
from pushlab.metrics.lifelong import lifelong_report        # loaded before anything is counted

place = Path(sys.argv[1])
def run(*values):
    return pd.DataFrame({"block": 0, "block_type": "train", "task": "a", "params": "{}", "episode": range(len(values)),
                         "reward": list(values)})
sound = Experts(place / "sound")
for value in (2.0, 4.0):
    sound.add("a", run(value, value))
def made(name):
    return Experts(shutil.copytree(sound.folder, place / name))
def seen(store):
    try:
        return [[float(log["reward"].max()) for log in store.logs("a")], store.saturation("a")]
    except Exception as error:
        return [type(error).__name__, None]
def goes_on(store):
    try:
        store.set_saturation("a", 1.0)
        return store.saturation("a") == 1.0
    except Exception:
        return False
def child(do):
    process = os.fork()
    if not process:
        try:
            do()
        except BaseException as error:
            os._exit(1 if isinstance(error, (OSError, ValueError)) else 2)
        os._exit(0)
    return process
def ended(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])

found = {"killed": [], "calls": 0}
for name in ("add", "write"):
    for after in range(1, 200, 2):                      # killed at every second step that changes the disk
        store = made(f"{name}-{after}")
        def do():
            calls = [0]
            def watch(event, arguments):
                writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
                if writes or event in ("os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link", "ctypes.dlopen"):
                    calls[0] += 1
                    if calls[0] == after:
                        os.kill(os.getpid(), signal.SIGKILL)
            sys.addaudithook(watch)
            getattr(store, name)("a", run(9.0, 9.0))
        status = ended(child(do))
        found["killed"].append([name, status, *seen(store), goes_on(store)])
        shutil.rmtree(store.folder)
        if status == 0:
            break
for most in (10, 60, 200, 400):
    store = made(f"full-{most}")
    def do():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
        store.write("a", run(*[9.0] * 50))
    found["full"] = [*found.get("full", []), [ended(child(do)), *seen(store)]]
found["huge"] = []
for name in ("add", "write"):
    for number, value in enumerate(("1e308", "inf", "nan")):
        store = made(f"huge-{name}-{number}")
        status = ended(child(lambda: getattr(store, name)("a", run(*[float(value)] * 2))))
        found["huge"].append([status, *seen(store)])
big = Experts(place / "big")
big.add("a", run(1e308))
found["sum"] = [ended(child(lambda value=value: big.add("a", run(*value)))) for value in ([1.7e308], [1e308] * 2)]
found["sum"] += seen(big)
many = Experts(place / "many")
many.folder.mkdir()
def add():
    for value in range(4):
        many.add("a", run(value, value))
statuses = [ended(process) for process in [child(add) for _ in range(4)]]
found["many"] = [statuses, len(many.logs("a")), many.saturation("a")]
found["left"] = sorted(path.name for path in (place / "many").iterdir())
print(json.dumps(found))
"""


def what_a_store_bears(place):
    path = [str(Path(pushlab.__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", STORE, place], timeout=600, capture_output=True,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}, cwd=place)
    assert done.returncode == 0, done.stderr.decode()
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def store_report(tmp_path_factory):
    return what_a_store_bears(tmp_path_factory.mktemp("store"))


@pytest.mark.posix
def test_a_change_of_experts_is_there_whole_or_not_at_all_whenever_it_is_killed(store_report):
    before = [[2.0, 4.0], 3.0]
    for name, after in (("add", [[2.0, 4.0, 9.0], 5.0]), ("write", [[9.0], 9.0])):
        states = [(status, kept) for one, status, *kept, on in store_report["killed"] if one == name and on]
        assert len(states) > 10 and states[-1] == (0, after)
        assert len(states) == sum(one == name for one, *_ in store_report["killed"])
        assert all(status == -signal.SIGKILL and kept in (before, after) for status, kept in states[:-1])


@pytest.mark.posix
def test_a_full_disk_and_numbers_without_a_mean_leave_the_experts_as_they_were(store_report):
    assert store_report["full"] == [[1, [2.0, 4.0], 3.0]] * len(store_report["full"])
    assert store_report["huge"] == [[1, [2.0, 4.0], 3.0]] * 6
    assert store_report["sum"] == [1, 1, [1e308], 1e308]


@pytest.mark.posix
def test_who_adds_experts_at_the_same_time_loses_none(store_report):
    assert store_report["many"] == [[0] * 4, 16, 1.5] and store_report["left"] == ["a", "info.json"]


# ---------------------------------------------------------------- sweeps and studies

def piece(number, calls, wrong):
    if (calls / "wrong").exists() and number in wrong:
        raise ValueError("not now")
    return {"rows": [{"value": number}] * 3}


def in_parts(number, calls, done=()):
    for part in range(len(done), 3):
        with (calls / "calls").open("a") as file:
            file.write(f"{part}\n")
        if (calls / "wrong").exists() and part == 2:
            raise KeyboardInterrupt
        yield {"rows": [{"part": part}]}


def test_a_table_does_not_shrink_when_it_is_made_anew_and_fails(tmp_path):
    cells = [Cell({"number": number}, piece, (number, tmp_path, (1, 3))) for number in range(5)]
    out = tmp_path / "out"
    run_cells(cells, out, 1, progress=False)
    before = (out / "rows.csv").read_text()
    (tmp_path / "wrong").touch()
    with pytest.raises(CellsFailed, match="2 of 5 cells failed"):
        run_cells(cells, out, 1, fresh=True, progress=False)
    assert (out / "rows.csv").read_text() == before and before.count("\n") == 16
    assert status(out)["state"].tolist() == ["finished", "failed", "finished", "failed", "finished"]
    (tmp_path / "wrong").unlink()
    run_cells(cells, out, 1, progress=False)
    assert (status(out)["state"] == "finished").all() and (out / "rows.csv").read_text() == before


PARTS = ["{", DEEP, "[3]", '[{"rows": 3}]', "", '[{"rows": [[1]]}]']


@pytest.mark.parametrize("text", PARTS, ids=lambda text: text[:20])
def test_a_part_that_is_damaged_is_done_again(text, tmp_path):
    cells, out = [Cell({"number": 0}, in_parts, (0, tmp_path))], tmp_path / "out"
    (tmp_path / "wrong").touch()
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, out, 1, progress=False)
    [part] = (out / "cells").glob("*.part.json")
    part.write_text(text)
    (tmp_path / "wrong").unlink()
    assert run_cells(cells, out, 1, progress=False)["rows"]["part"].tolist() == [0, 1, 2]


STRANGE = {"a FIFO": fifo, "a folder": Path.mkdir, "a link to /dev/zero": link_to("/dev/zero"),
           "100,000 brackets": lambda path: path.write_text(DEEP)}
ENDINGS = [".json", ".rows.csv", ".failed.json"]


@pytest.mark.posix
@pytest.mark.parametrize("change", STRANGE)
@pytest.mark.parametrize("ending", ENDINGS)
def test_strange_files_among_cells_hang_nobody(ending, change, tmp_path):
    out, cells = tmp_path / "out", [Cell({"number": 0}, piece, (0, tmp_path, (0,)))]
    if ending == ".failed.json":
        (tmp_path / "wrong").touch()
    run_cells(cells, out, 1, progress=False, strict=False) if ending != ".failed.json" else pytest.raises(
        CellsFailed, run_cells, cells, out, 1, progress=False)
    [path] = [one for one in (out / "cells").iterdir() if one.name.endswith(ending) and (
        ending != ".json" or ".failed" not in one.name)]
    path.unlink()
    STRANGE[change](path)
    assert status(out)["state"].tolist() == ["failed" if ending == ".failed.json" else "missing"]


@pytest.mark.posix
def test_a_cache_that_others_may_write_to_is_not_believed(tmp_path, monkeypatch):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path / "cache"))
    cells = [Cell({"number": 0}, in_parts, (0, tmp_path))]
    for _ in range(2):
        run_cells(cells, None, 1, progress=False, name="mine")
    assert (tmp_path / "calls").read_text() == "0\n1\n2\n"
    (tmp_path / "cache" / "cells" / "mine").chmod(0o777)
    with pytest.warns(UserWarning, match="no folder of yours alone"):
        table = run_cells(cells, None, 1, progress=False, name="mine")["rows"]
    assert len((tmp_path / "calls").read_text()) == 12 and table["part"].tolist() == [0, 1, 2]


def test_a_list_of_cells_names_no_file_elsewhere(tmp_path):
    run_cells([Cell({"number": 0}, piece, (0, tmp_path, ()))], tmp_path / "out", 1, progress=False)
    path = tmp_path / "out" / "cells.csv"
    path.write_text("number,file\n0,../../secret\n")
    with pytest.raises(ValueError, match="is damaged"):
        status(tmp_path / "out")


# ---------------------------------------------------------------- files of settings, syllabi, grids

PHASE = {"$phase": "1.train"}
SYLLABI = [3, [], None, {}, {"instructions": 3}, {"instructions": [3]}, {"instructions": [None, []]},
           {"instructions": [PHASE, {"$repeat": 3, "count": 1}]}, {"instructions": [{"$phase": "9" * 5000 + ".train"}]},
           {"instructions": [{"$phase": {}}]}, {"instructions": [PHASE, {"$episode": [], "$task": {}}]},
           {"instructions": [PHASE, {"$repeat": {"$episode": "pushlab/RECEnv-v0"}, "count": 1e400}]},
           {"instructions": [PHASE, {"$episode": "::::/-v0"}]}, {"instructions": [PHASE, {"$episode": "a:b"}]},
           {"instructions": [PHASE], "default_params": 3, "structure": [], "contains": {}, "name": []}]


@pytest.mark.parametrize("told", SYLLABI, ids=lambda told: repr(told)[:40])
def test_a_syllabus_that_is_none_is_told_so(told):
    assert find_faults(told)
    with pytest.raises(BadData):
        read_syllabus(told)


def bytes_of(text):
    return lambda path: path.write_bytes(text.encode("utf-8", "surrogatepass"))


FILES = {text: bytes_of(text) for text in ["", "{", '{"window": 1e400}', '{"window": NaN}', "3",
                                           '{"window": 1, "window": 2}', '{"data_range": [[1, 2], 3]}']}
FILES |= {"100,000 brackets": bytes_of(DEEP), "100,000 nested objects": bytes_of('{"a":' * 100_000),
          "a number of 5,000 digits": bytes_of("1" + "0" * 5000), "half a character": bytes_of("\ud800"),
          "a window of 101 digits": bytes_of('{"window": 1%s}' % ("0" * 100))}


def settings_of(path):
    from pushlab.lifetimes.command import _read_settings

    return _read_settings(path, {})


FILES |= {"a FIFO": fifo, "a folder": Path.mkdir, "a link to /dev/zero": link_to("/dev/zero")}
READERS = {"settings of metrics": settings_of, "a syllabus": read_syllabus,
           "info.json of experts": lambda path: Experts(path.parent).tasks}


@pytest.mark.posix
@pytest.mark.parametrize("case", FILES)
def test_files_of_settings_experts_and_syllabi_that_are_none_are_told_so(case, tmp_path):
    FILES[case](tmp_path / "info.json")
    for read in READERS.values():
        with pytest.raises(ValueError):
            read(tmp_path / "info.json")


SETTINGS = [{"window": 10**400}, {"window": float("nan")}, {"saturation_share": []}, {"data_range": {"a": {"b": 1}}},
            {"data_range": [float("inf"), 1]}, {3: 4}, {"smoothing": {}}, {"reference": []}, {"clamp": 1}]


@pytest.mark.parametrize("values", SETTINGS, ids=lambda values: repr(values)[:40])
def test_settings_of_any_kind_are_told_what_is_wrong(values):
    with pytest.raises(BadData):
        Settings.from_dict(values)


def test_a_parquet_file_that_unpacks_to_too_much_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    from pyarrow import parquet, table

    columns = {str(number): np.zeros(2**20, np.int8) for number in range(160)}
    parquet.write_table(table(columns), tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 2**20
    with pytest.raises(BadData, match="too many"):
        read_log(tmp_path / "a.parquet")
    (tmp_path / "b.parquet").write_bytes(b"PAR1" + b"\0" * 100 + b"PAR1")
    with pytest.raises(BadData, match="b.parquet"):
        read_log(tmp_path / "b.parquet")


# ---------------------------------------------------------------- what became of each, before and now

def handed_in(case, folder):
    """A log beside a sound one, through `pushlab lifelong --recursive` inside this process."""
    from pushlab.__main__ import app

    write_log(sound(), folder / "logs" / "ann")
    STUDENTS[case](folder / "logs" / "bob")
    told = folder / "told.txt"
    os.dup2(os.open(told, os.O_CREAT | os.O_WRONLY), 2)
    word = ""
    try:
        app(["lifelong", str(folder / "logs"), "-R", "-o", str(folder / "out"), "--no-plot"], standalone_mode=False)
    except (SystemExit, OSError, ValueError) as error:
        word = in_words(error) if not isinstance(error, SystemExit) else ""
    except BaseException as error:
        word = f"traceback {type(error).__name__}" * (type(error).__name__ not in ("Exit", "Abort"))
    sys.stderr.flush()
    words = told.read_text(errors="replace")
    others = [path for path in folder.glob("out/*.json") if path.name != "ann.json"]
    if not (folder / "out" / "ann.json").exists():
        return f"{word or 'refused'}, nobody is reported"
    lines = words.splitlines()
    if not word and any(line.startswith("passed over") for line in lines):
        return "passed over, said"
    faults = sum(not line.startswith(("ann", "passed", "%", "Warning")) for line in lines)
    word = word or ("refused" if faults and not others else "reported, faults said" if faults else
                    "reported" if others else "passed over in silence")
    word += ", under a name with control characters" * any(not path.name.isprintable() for path in others)
    return word + (f", {faults:,} lines of faults" if faults > 110 else "")


def gone_on(case, folder):
    live(folder / "life")
    CHANGED[case](folder / "life")
    before, agent = files_in(folder / "life"), agents.LinearQ()

    class Lives(Exception):
        pass

    def act(*arguments, **more):
        raise Lives

    agent.act, word = act, "accepted"
    try:
        live(folder / "life", agent)
    except Lives:
        word = "accepted, and lived on"
    except Exception as error:
        word = in_words(error)
    now = files_in(folder / "life")
    lost = {name.split("/")[1] for name in before if "/" in name and now.get(name) != before[name]}
    return word + (f"; {len(lost)} block{'s' * (len(lost) > 1)} lost or changed" if lost else "")


def read_from(reader, case, folder):
    FILES[case](folder / "info.json")
    READERS[reader](folder / "info.json")
    return "accepted"


def part_again(text, folder):
    cells, out = [Cell({"number": 0}, in_parts, (0, folder))], folder / "out"
    (folder / "wrong").touch()
    with pytest.raises(KeyboardInterrupt):
        run_cells(cells, out, 1, progress=False)
    [part] = (out / "cells").glob("*.part.json")
    part.write_text(text)
    (folder / "wrong").unlink()
    try:
        table = run_cells(cells, out, 1, progress=False)["rows"]
    except CellsFailed:
        return "the cell fails for ever"
    return "done again" if table.get("part", pd.Series()).tolist() == [0, 1, 2] else "accepted"


def strange_cell(ending, change, folder):
    out, cells = folder / "out", [Cell({"number": 0}, piece, (0, folder, (0,)))]
    if ending == ".failed.json":
        (folder / "wrong").touch()
    run_cells(cells, out, 1, progress=False, strict=False)
    [path] = [one for one in (out / "cells").iterdir() if one.name.endswith(ending) and (
        ending != ".json" or ".failed" not in one.name)]
    path.unlink()
    STRANGE[change](path)
    return {"missing": "done again", "failed": "failed, done again"}.get(status(out)["state"].iat[0], "accepted")


def table_anew(folder):
    cells = [Cell({"number": number}, piece, (number, folder, (1, 3))) for number in range(5)]
    run_cells(cells, folder / "out", 1, progress=False)
    (folder / "wrong").touch()
    run_cells(cells, folder / "out", 1, fresh=True, progress=False, strict=False)
    return f"{len(pd.read_csv(folder / 'out' / 'rows.csv'))} of 15 rows left"


def interrupted(make, folder):
    try:
        make()
    except BaseException as error:
        log = getattr(error, "log", ())
        return f"{len(log)} experiences kept" if len(log) else "all lost"


def of_store(folder, what):
    found = what_a_store_bears(folder)
    if what in ("add", "write"):
        after = {"add": [[2.0, 4.0, 9.0], 5.0], "write": [[9.0], 9.0]}[what]
        killed = [kept for one, _, *kept in found["killed"] if one == what]
        torn = sum(kept[:2] not in ([[2.0, 4.0], 3.0], after) or not kept[2] for kept in killed)
        return f"neither before nor after {torn} times of {len(killed)}"
    if what == "many":
        return f"{found['many'][1]} of 16 runs there"
    wrong = sum(status != 1 or rest != [[2.0, 4.0], 3.0] for status, *rest in found[what])
    return f"{wrong} of {len(found[what])} ended in a traceback or a damaged store" if wrong else (
        "refused, the store as it was")


ROLLOUT = {"episodes": 9, "seed": 3, "progress": False}
CASES = {
    **{("one log in a class's folder", case): (handed_in, case) for case in STUDENTS},
    **{("resuming a lifetime", case): (gone_on, case) for case in CHANGED},
    **{("interrupted", f"{kind} by {type(error).__name__}"): (interrupted, make) for error in (
        KeyboardInterrupt(), ValueError("mine"), SystemExit(3)) for kind, make in {
        "a rollout": lambda error=error: rollout("pushlab/RECEnv-v0", Stops(error, 27), **ROLLOUT),
        "a lifetime": lambda error=error: run_syllabus(TWO, Stops(error, 85), 0, progress=False)}.items()},
    ("experts", "kills at every second step of adding a run"): (of_store, "add"),
    ("experts", "kills at every second step of replacing a run"): (of_store, "write"),
    ("experts", "a disk that is full after 10 to 400 bytes"): (of_store, "full"),
    ("experts", "rewards without a finite mean"): (of_store, "huge"),
    ("experts", "four processes that add four runs each"): (of_store, "many"),
    ("a sweep", "made anew, two of five cells fail"): (table_anew,),
    **{("a sweep: an unfinished part", text[:20] or "(empty)"): (part_again, text) for text in PARTS},
    **{(f"a sweep: …{ending} of a cell", change): (strange_cell, ending, change) for ending in ENDINGS
       for change in STRANGE},
    **{(reader, case or "(empty)"): (read_from, reader, case) for reader in READERS for case in FILES},
    **{("a syllabus", repr(told)[:60]): (lambda told, folder: read_syllabus(told) and "accepted", told)
       for told in SYLLABI},
    **{("settings of metrics", repr(values)[:60]): (
        lambda values, folder: Settings.from_dict(values) and "accepted", values) for values in SETTINGS},
}


def outcome(case, folder):
    """What becomes of a case, in a few words."""
    do, *more = CASES[case]
    try:
        return do(folder, *more) if do is of_store else do(*more, folder)
    except BaseException as error:
        return in_words(error)


if __name__ == "__main__":
    import pushlab.__main__
    import pushlab.lifetimes.command
    import pushlab.metrics.lifelong

    run(__file__, CASES, outcome, lambda case: 180 if case[0] == "experts" else 10)
