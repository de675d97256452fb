"""Files are written whole or not at all, by as many threads and processes as there are; nothing special is replaced."""

import csv
import io
import json
import os
import re
import shutil
import socket
import stat
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab.ground.files import (
    alone,
    clear_unfinished,
    csv_text,
    safe_cell,
    write_bytes,
    write_text,
    write_together,
)
from pushlab.ground.folders import whole_folder

HERE = Path(__file__).parent.parent
WITH_US = os.environ | {"PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])])}


def names(folder):
    """What lies in a folder, but for locks, which stay."""
    return sorted(one.name for one in folder.iterdir() if not one.name.endswith(".lock"))


def processes(code, *arguments, count=4):
    """Starts Python processes with this code; their output, once all have ended well."""
    begun = [subprocess.Popen([sys.executable, "-P", "-c", code, *map(str, arguments), str(number)], text=True,
                              env=WITH_US, stdout=subprocess.PIPE)
             for number in range(count)]
    said = [one.communicate(timeout=600)[0] for one in begun]
    assert [one.returncode for one in begun] == [0] * count
    return said


# ---------------------------------------------------------------- one file

def test_four_threads_write_one_file_and_each_reader_sees_a_whole_one(tmp_path):
    path, texts = tmp_path / "a.txt", {letter * 20_000 for letter in "abcd"}
    write_text(path, "a" * 20_000)

    def write(text):
        for _ in range(75):
            write_text(path, text)
            assert path.read_text() in texts

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, texts))
    assert path.read_text() in texts and names(tmp_path) == ["a.txt"]


def test_without_replace_one_of_many_writers_comes_first_and_the_others_are_told(tmp_path):
    path, start = tmp_path / "a.txt", threading.Barrier(4)

    def write(text):
        start.wait()
        try:
            return write_text(path, text, replace=False)
        except FileExistsError:
            return None

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(write, "abcd"))
    assert path.read_text() == dict(zip(done, "abcd"))[path] and done.count(None) == 3
    assert names(tmp_path) == ["a.txt"]
    with pytest.raises(FileExistsError, match="there already"):
        write_bytes(path, b"new", replace=False)


@pytest.mark.parametrize("kind", ["folder", *(pytest.param(kind, marks=pytest.mark.posix)
                                              for kind in ("FIFO", "socket", "link"))])
@pytest.mark.parametrize("replace", [True, False])
def test_what_is_no_ordinary_file_is_never_replaced(tmp_path, kind, replace):
    path = tmp_path / "out"
    if kind == "folder":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
    elif kind == "link":
        (tmp_path / "other").write_text("mine")
        path.symlink_to(tmp_path / "other")
    else:
        server = socket.socket(socket.AF_UNIX)
        os.chdir(tmp_path)                  # a socket's name may not be long
        server.bind("out")
        server.close()
    before = os.lstat(path)
    with pytest.raises(FileExistsError, match=f"out is a {kind}"):
        write_text(path, "text", replace)
    assert os.lstat(path)[:3] == before[:3] and len(names(tmp_path)) == 1 + (kind == "link")


@pytest.fixture(autouse=True)
def _same_folder():
    here = os.getcwd()
    yield
    os.chdir(here)


@pytest.mark.posix
@pytest.mark.parametrize("device", ["/dev/full", "/dev/null", "/dev/stdout"])
def test_a_device_is_not_replaced(device):
    before = os.lstat(device)
    with pytest.raises(FileExistsError, match="is a (device|link)"):
        write_text(device, "text")
    assert os.lstat(device)[:3] == before[:3]


@pytest.mark.posix
def test_a_full_disk_leaves_the_old_file_and_no_scraps(tmp_path):
    write_text(tmp_path / "a.txt", "old")
    code = ("import resource, signal, sys; from pushlab.ground.files import write_text\n"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))\n"
            "try:\n    write_text(sys.argv[1], 'x' * 100_000)\nexcept OSError as error:\n    print(error.strerror)")
    assert processes(code, tmp_path / "a.txt", count=1) == ["File too large\n"]
    assert (tmp_path / "a.txt").read_text() == "old" and names(tmp_path) == ["a.txt"]


def test_a_file_keeps_its_rights_and_a_new_one_may_be_given_some(tmp_path):
    path = write_text(tmp_path / "a.txt", "old", rights=0o600)
    assert stat.S_IMODE(write_text(path, "new").stat().st_mode) == 0o600
    assert stat.S_IMODE(write_text(path, "new", rights=0o640).stat().st_mode) == 0o640


def test_a_name_that_is_not_utf_8_can_be_written_about_and_to(tmp_path):
    name = os.fsdecode(b"b\xff.txt")
    path = write_text(tmp_path / name, f"from {name}")
    assert path.read_bytes() == b"from b\\udcff.txt"


def test_files_that_belong_together_change_together_or_not_at_all(tmp_path):
    paths = [tmp_path / name for name in ("a.csv", "b.csv", "sub/c.png")]
    assert write_together(dict(zip(paths, ("old", "old", b"old")))) == paths
    shutil.rmtree(tmp_path / "sub")
    paths[2].mkdir(parents=True)
    with pytest.raises(FileExistsError, match="is a folder"):
        write_together(dict.fromkeys(paths, "new"))
    assert [path.read_text() for path in paths[:2]] == ["old", "old"]
    assert names(tmp_path) == ["a.csv", "b.csv", "sub"] and names(tmp_path / "sub") == ["c.png"]


def test_what_is_write_protected_is_not_replaced(tmp_path, monkeypatch):
    fill(tmp_path / "out", "mine")
    (tmp_path / "out" / "sub" / "0.txt").chmod(0o444)
    monkeypatch.setattr(os, "access", lambda path, how: False)          # root may write everywhere
    for write in (write_text, lambda path, text: write_together({path: text})):
        with pytest.raises(PermissionError, match="0.txt is write-protected, or another's"):
            write(tmp_path / "out" / "sub" / "0.txt", "new")
    with pytest.raises(PermissionError, match="out is write-protected"), whole_folder(tmp_path / "out"):
        pass
    assert set(held(tmp_path / "out").values()) == {"mine"} and names(tmp_path) == ["out"]


# ---------------------------------------------------------------- alone

ADD = """
import json, sys, threading
from pathlib import Path
from pushlab.ground.files import alone, write_text
path = Path(sys.argv[1])
def add():
    for _ in range(10):
        with alone(path):
            rows = json.loads(path.read_text()) if path.exists() else []
            write_text(path, json.dumps([*rows, sys.argv[2]]))
threads = [threading.Thread(target=add) for _ in range(2)]
for one in threads: one.start()
for one in threads: one.join()
"""


def test_four_processes_of_two_threads_add_twenty_rows_each_and_none_is_lost(tmp_path):
    processes(ADD, tmp_path / "board.json")
    rows = json.loads((tmp_path / "board.json").read_text())
    assert {one: rows.count(one) for one in rows} == dict.fromkeys("0123", 20)


def test_who_waits_too_long_is_told_the_path(tmp_path):
    told = []

    def wait():
        try:
            with alone(tmp_path / "a", wait=0.1):
                pass
        except TimeoutError as error:
            told.append(str(error))

    with alone(tmp_path / "a"):
        thread = threading.Thread(target=wait)
        thread.start()
        thread.join()
    assert len(told) == 1 and str(tmp_path / "a") in told[0]


@pytest.mark.posix
def test_a_link_and_what_it_leads_to_are_one_and_a_name_may_be_long(tmp_path):
    (tmp_path / "there").mkdir()
    (tmp_path / "link").symlink_to("there")
    with alone(tmp_path / "link"), alone(tmp_path / ("x" * 255)):
        with pytest.raises(TimeoutError), alone(tmp_path / "there", wait=0.1):
            pass


@pytest.mark.posix
def test_a_killed_process_lets_go_of_its_lock(tmp_path):
    code = ("import os, sys; from pushlab.ground.files import alone\n"
            "with alone(sys.argv[1]):\n    print('in', flush=True); os.kill(os.getpid(), 9)")
    killed = subprocess.run([sys.executable, "-P", "-c", code, tmp_path / "a"], stdout=subprocess.PIPE,
                            env=WITH_US, timeout=60)
    assert (killed.stdout, killed.returncode) == (b"in\n", -9)
    with alone(tmp_path / "a", wait=20):
        pass


# ---------------------------------------------------------------- whole folders

def fill(folder, word):
    for number in range(3):
        write_text(folder / "sub" / f"{number}.txt", word)


def held(folder):
    return {str(one.relative_to(folder)): one.read_text() for one in sorted(folder.rglob("*")) if one.is_file()}


def test_a_folder_takes_the_place_of_another_whole(tmp_path):
    for word in ("first", "second"):
        with whole_folder(tmp_path / "new" / "out") as folder:
            assert not list(folder.iterdir())
            fill(folder, word)
        assert set(held(tmp_path / "new" / "out").values()) == {word}
    with whole_folder(tmp_path / "new" / "out", keep=True) as folder:
        write_text(folder / "more.txt", "more")
    assert set(held(tmp_path / "new" / "out").values()) == {"second", "more"}
    assert names(tmp_path / "new") == ["out"]


def test_where_only_a_new_folder_is_meant_the_first_of_several_has_it(tmp_path):
    start = threading.Barrier(4)

    def make(word):
        try:
            with whole_folder(tmp_path / "out", new=True) as folder:
                start.wait()
                fill(folder, word)
            return word
        except FileExistsError as error:
            assert "there by now, from somebody else" in str(error)
            return None

    (tmp_path / "out").mkdir()              # an empty one may be there
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(make, "abcd"))
    assert done.count(None) == 3 and set(held(tmp_path / "out").values()) == {*done} - {None}
    with pytest.raises(FileExistsError, match="not empty"), whole_folder(tmp_path / "out", new=True):
        pass
    assert names(tmp_path) == ["out"]


@pytest.mark.posix
def test_a_folder_is_as_private_while_it_is_written_as_it_was(tmp_path):
    fill(tmp_path / "out", "old")
    (tmp_path / "out").chmod(0o700)
    with whole_folder(tmp_path / "out") as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o700


@pytest.mark.posix
def test_what_cannot_be_exchanged_or_copied_is_said_before_anything_is_written(tmp_path, monkeypatch):
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    fill(tmp_path / "disk", "mine")
    monkeypatch.setattr(os.path, "ismount", lambda path: path == tmp_path / "disk")
    for name, word in (("loop", "a link"), ("pipe", "a FIFO"), ("disk", "a disk is mounted")):
        with pytest.raises(FileExistsError, match=f"{name} .*{word}|{word}"), whole_folder(tmp_path / name):
            pass
    fill(tmp_path / "store", "mine")
    (tmp_path / "pipe").rename(tmp_path / "store" / "pipe")
    with pytest.raises(OSError, match="store/pipe cannot be copied .*pipe.*; move it away"):
        with whole_folder(tmp_path / "store", keep=True):
            pass
    assert names(tmp_path) == ["disk", "loop", "store"]


BROKEN_OFF = """
import os, sys
from pathlib import Path
from pushlab.ground.files import write_text
from pushlab.ground.folders import whole_folder
with whole_folder(sys.argv[1]) as folder:
    write_text(folder / "a.txt", "unfinished")
    print(folder.name, flush=True)
    input()
"""


@pytest.mark.posix
def test_what_killed_processes_left_goes_and_what_a_living_one_writes_stays(tmp_path):
    begun = [subprocess.Popen([sys.executable, "-P", "-c", BROKEN_OFF, tmp_path / "out"], text=True, env=WITH_US,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(2)]
    dead, living = (one.stdout.readline().strip() for one in begun)
    begun[0].kill()
    begun[0].communicate()
    write_text(tmp_path / ".out.0123456789abcdef", "of write_text")
    others = [".out.txt", ".other.0123456789abcdef", ".out.0123456789abcdef.before"]
    for name in others:
        write_text(tmp_path / name, "mine")
    left = {dead, living, ".out.0123456789abcdef"}
    with whole_folder(tmp_path / "out") as folder:          # just now it could still be anybody's
        fill(folder, "first")
    assert left < {*names(tmp_path)}
    for one in tmp_path.iterdir():
        os.utime(one, (0, time.time() - 4000))
    with whole_folder(tmp_path / "out") as folder:
        fill(folder, "second")
    assert names(tmp_path) == sorted([living, "out", *others])
    assert begun[1].communicate("go on\n", timeout=600) and begun[1].returncode == 0
    assert held(tmp_path / "out") == {"a.txt": "unfinished"}
    clear_unfinished(tmp_path)              # of whatever name
    assert names(tmp_path) == sorted({"out", *others} - {".other.0123456789abcdef"})


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_exception_leaves_the_old_folder_as_it_was(tmp_path, error):
    fill(tmp_path / "out", "old")
    with pytest.raises(error), whole_folder(tmp_path / "out", keep=True) as folder:
        fill(folder, "new")
        raise error
    assert set(held(tmp_path / "out").values()) == {"old"} and names(tmp_path) == ["out"]


@pytest.mark.posix
def test_the_folder_that_a_link_leads_to_is_swapped_and_the_link_stays(tmp_path):
    fill(tmp_path / "disk" / "there", "old")
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "there")
    with whole_folder(tmp_path / "out") as folder:
        fill(folder, "new")
    assert (tmp_path / "out").is_symlink() and set(held(tmp_path / "disk" / "there").values()) == {"new"}


def test_a_file_in_the_place_of_a_folder_stays(tmp_path):
    write_text(tmp_path / "out", "mine")
    with pytest.raises(FileExistsError, match="a folder is meant"), whole_folder(tmp_path / "out"):
        pass
    assert (tmp_path / "out").read_text() == "mine"


def test_the_folder_in_which_one_stands_is_not_swapped(tmp_path, monkeypatch):
    (tmp_path / "out" / "in").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "out" / "in")
    for path in (".", "..", tmp_path / "out"):
        with pytest.raises(FileExistsError, match="in which this runs"), whole_folder(path):
            pass
    with whole_folder("new"):
        pass
    assert held(tmp_path / "out") == {} and (tmp_path / "out" / "in" / "new").is_dir()


def test_where_the_system_exchanges_no_folders_it_is_done_in_steps(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "elsewhere")
    for word in ("first", "second"):
        with whole_folder(tmp_path / "out") as folder:
            fill(folder, word)
    assert set(held(tmp_path / "out").values()) == {"second"} and names(tmp_path) == ["out"]


KILLED = """
import itertools, sys
from pushlab.ground.files import write_text
from pushlab.ground.folders import whole_folder
for turn in itertools.count():
    with whole_folder(sys.argv[1]) as folder:
        for number in range(3):
            write_text(folder / "sub" / f"{number}.txt", str(turn))
    print(turn, flush=True)
"""


def test_kill_9_leaves_the_old_folder_or_the_new_one(tmp_path):
    for wait in range(8):
        process = subprocess.Popen([sys.executable, "-P", "-c", KILLED, tmp_path / "out"], stdout=subprocess.PIPE,
                                   env=WITH_US, text=True)
        for _ in range(1 + wait):
            assert process.stdout.readline()
        process.kill()
        done = int((["0"] + process.stdout.read().split())[-1])
        process.wait()
        turns = {int(text) for text in held(tmp_path / "out").values()}
        assert len(held(tmp_path / "out")) == 3 and len(turns) == 1 and turns.pop() >= done


def test_two_processes_swap_the_same_folder_and_it_is_always_there_and_whole(tmp_path):
    code = KILLED.replace("itertools.count()", "range(40)").replace("str(turn)", "sys.argv[2]")
    fill(tmp_path / "out", "old")
    gone = threading.Event()
    seen = []

    def look():
        while not gone.is_set():
            seen.append((tmp_path / "out").is_dir())

    thread = threading.Thread(target=look)
    thread.start()
    try:
        processes(code, tmp_path / "out", count=2)
    finally:
        gone.set()
        thread.join()
    assert all(seen) and len(set(held(tmp_path / "out").values())) == 1 and names(tmp_path) == ["out"]


# ---------------------------------------------------------------- cells

@given(st.lists(st.lists(st.text(st.sampled_from("=+-@;,|\t\r\n\"' a1＝") | st.characters(codec="utf-8"), max_size=8),
                         min_size=2, max_size=3), max_size=4))
def test_no_spreadsheet_finds_a_formula_and_the_cells_come_back(rows):
    text = csv_text(rows)
    assert list(csv.reader(io.StringIO(text, newline=""))) == [[safe_cell(cell) for cell in row] for row in rows]
    for cell in (cell for row in rows for cell in row):
        safe = safe_cell(cell)
        assert safe_cell(safe) == safe and safe.replace("'", "") == cell.replace("'", "")
        assert not safe.startswith(("\t", "\r"))
        assert not any(part.lstrip(" ").startswith(tuple("=+-@＝＋－＠")) for part in re.split("[;\t\r\n]", safe))


def test_numbers_stay_numbers():
    assert csv_text([(-1.5, 3, None, True)]) == "-1.5,3,,True\n"


def test_a_disk_without_hard_links_still_replaces_nothing(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError("no links here")

    monkeypatch.setattr(os, "link", refuse)
    assert write_text(tmp_path / "a.txt", "one", replace=False).read_text() == "one"
    with pytest.raises(FileExistsError):
        write_text(tmp_path / "a.txt", "two", replace=False)
    assert names(tmp_path) == ["a.txt"]
    shutil.rmtree(tmp_path)
