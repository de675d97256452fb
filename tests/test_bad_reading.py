"""Bad files of others: each is refused with what would be right, at once, and in little memory.

`python tests/test_bad_reading.py BEFORE AFTER` writes data/robustness/reading.csv: what becomes of each input in two
checkouts, each input in a process of its own that has 10 seconds and 8 GB.
"""

import gzip
import json
import os
import shutil
import socket
import struct
import subprocess
import sys
import zipfile
from functools import partial
from pathlib import Path
from unittest import mock

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from before_and_after import in_words, run

HERE = Path(__file__).parent.parent
MB = 2**20


# ---------------------------------------------------------------- what the cases are made of

def user(folder, lines=60):
    """A small user in a folder of users."""
    for file in ("schema.json", "catalogue.csv"):
        shutil.copyfile(HERE / "data" / "push" / file, folder / file)
    for file in (HERE / "data" / "push" / "mira").rglob("*"):
        if file.is_file():
            place = folder / "ann" / file.relative_to(HERE / "data" / "push" / "mira")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text("".join(file.read_text().splitlines(keepends=True)[:lines]))
    shutil.copyfile(HERE / "data" / "push" / "mira" / "truth.json", folder / "ann" / "truth.json")
    return folder / "ann"


def put(path, what):
    """Bytes, or something that is no ordinary file, in a file's place; what was there stays behind a link."""
    path = Path(path)
    held = path.read_bytes() if path.is_file() else b"{}"
    path.unlink(missing_ok=True)
    if isinstance(what, bytes):
        path.write_bytes(what)
    elif what == "FIFO":
        os.mkfifo(path)
    elif what == "link":
        path.with_name("real").write_bytes(held)
        path.symlink_to("real")
    elif what == "socket":
        here = os.getcwd()
        os.chdir(path.parent)
        socket.socket(socket.AF_UNIX).bind(path.name)
        os.chdir(here)
    elif what == "folder":
        path.mkdir()
    else:
        path.symlink_to(what)           # a device
    return path


def load(folder, place, what):
    from pushlab import load_user

    ann = user(folder)
    put(folder / place, what)
    return load_user(ann)


def schema_file(folder, what):
    from pushlab.datasets.schema import Schema

    return Schema.load(put(folder / "own.json", what))


def facts(folder, name, what):
    from pushlab.datasets.commonsense import read_facts

    return read_facts(put(folder / name, what))


def borrowers(folder, what):
    from pushlab.datasets.borrowers import read_borrowers, write_borrowers

    if isinstance(what, str) and "," in what:
        made = write_borrowers(folder / "made.csv", defaulted=20).read_text()
        what = (made + 2 * what).encode()
    return read_borrowers(put(folder / "cs.csv", what))


def wheel(folder, make):
    from pushlab.datasets.reading import list_users, load_users

    path = folder / "gym_push-9-py3-none-any.whl"
    if callable(make):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
            make(archive)
    else:
        put(path, make)
    return list_users(path) and load_users(path)


MEMBER = "gym_push/envs/data/{}/test_set.csv"


def header_2020():
    from pushlab.datasets.schema import Schema

    table, = Schema.load("evalumap2020").layouts[0]["periods"]["test"]
    return ",".join(table["columns"]).encode() + b"\n"


def bomb(archive, users, size, row=None):
    """Members that are small packed and large unpacked."""
    row = row or b"," * header_2020().count(b",") + b"\n"
    block = header_2020() + row * (size // len(row))
    for number in range(users):
        archive.writestr(MEMBER.format(f"user_{number}"), block)


def many_members(archive):
    archive.writestr(MEMBER.format("user_1"), header_2020())
    for number in range(20_000):
        archive.writestr(f"m{number}", b"")


def nested_names(archive):
    archive.writestr(MEMBER.format("user_1"), header_2020())
    for number in range(3):
        archive.writestr("a/" * 30_000 + str(number), b"")


def other_packing(archive):
    entry = zipfile.ZipInfo(MEMBER.format("user_1"))
    archive.writestr(entry, header_2020() * 10, zipfile.ZIP_LZMA)


def newer_zip(archive):
    archive.writestr(MEMBER.format("user_1"), header_2020())
    archive.filelist[0].extract_version = 99


def dump_line(weight):
    return b"\t".join([b"/a/x", b"/r/AtLocation", b"/c/en/cup", b"/c/en/table", weight]) + b"\n"


def cache(folder, change):
    """What a judge's cache gives for a changed file or folder: honest answers, or those that were put there."""
    import warnings

    import numpy as np

    from pushlab import load_user
    from pushlab.users import judges

    with mock.patch.dict(os.environ, PUSHLAB_CACHE=str(folder / "cache")):      # whatever comes next has its own again
        history = load_user(user(folder, 400)).history
        honest = judges.fit_judge(history, "plain")
        judges._cached(history, "plain")
        path, = (folder / "cache").rglob("*.json")
        text = path.read_text().replace('"intercept": ', '"intercept": 1')
        change(path, text)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = judges._cached(history, "plain")
    codes = history.context_codes, history.notification_codes
    return "made again" if np.array_equal(found.probability(*codes), honest.probability(*codes)) else "believed"


def rewrite(path, text):
    path.write_text(text)


def rewrite_open(path, text):
    path.write_text(text)
    path.parent.chmod(0o777)


def rewrite_link(path, text):
    path.unlink()
    (path.parent.parent / "elsewhere").write_text(text)
    path.symlink_to(path.parent.parent / "elsewhere")


def writes(folder):
    """Four threads write one file 300 times each: how many of the writes fail."""
    from concurrent.futures import ThreadPoolExecutor

    from pushlab.ground.files import write_text

    def write(number):
        try:
            write_text(folder / "a.txt", str(number % 4) * 10_000)
        except OSError:
            return 1
        return 0

    with ThreadPoolExecutor(4) as pool:
        broken = sum(pool.map(write, range(1200)))
    return f"broke {'some' if broken else 'none'} of 1,200 writes"


def replaced(folder, what):
    from pushlab.ground.files import write_text

    write_text(put(folder / "out", what), "text")


def scores(folder, what):
    from pushlab.studies.bench.command import check_folder

    check_folder(put(folder / "scores.csv", what).parent, ["a", "b"])


def cells_of(folder, what):
    from pushlab.studies.store import status

    return status(put(folder / "cells.csv", what).parent)


def cells(folder, text):
    from pushlab.challenges.scorecard import csv_text

    return "a formula stays" if csv_text([[text]]).strip('"\n') == text.strip("\n") else "written as a text"


# ---------------------------------------------------------------- the cases

JSON = {
    "100,000 brackets": b"[" * 100_000, "100,000 nested objects": b'{"a":' * 100_000,
    "10**400": b'{"a": 1' + b"0" * 400 + b"}", "a number of 5,000 digits": b'{"a": ' + b"9" * 5000 + b"}",
    "1e400": b'{"a": 1e400}', "NaN": b'{"a": NaN}', "a key twice": b'{"a": 1, "a": 2}',
    "half a character": b'{"a": "\\ud800"}', "not UTF-8": b'{"a": "\xff"}', "UTF-16": '{"a": 1}'.encode("utf-16"),
    "a list of numbers": b"[1, 2]", "a number": b"3", "nothing": b"", "torn": b'{"a": [1,',
    "9 MB": b'{"a": "' + b"x" * 9 * MB + b'"}', "200,000 keys, one twice": b"{" + b",".join(
        b'"k%d": 1' % number for number in range(200_000)) + b', "k7": 1}',
}
READERS = {
    "schema.json beside a user": lambda folder, what: load(folder, "schema.json", what),
    "schema file": schema_file,
    "truth.json": lambda folder, what: load(folder, "ann/truth.json", what),
    "facts as JSON": lambda folder, what: facts(folder, "facts.json", what),
    "an assertion's JSON": lambda folder, what: facts(folder, "dump.tsv", dump_line(what.replace(b"\n", b" "))),
}
SPECIAL = {"a FIFO": "FIFO", "/dev/zero": "/dev/zero", "a socket": "socket", "a folder": "folder", "a link": "link"}
PLACES = {
    "schema.json beside a user": "schema.json", "truth.json": "ann/truth.json", "catalogue": "catalogue.csv",
    "a user's table": "ann/train/notifications.csv",
}
CASES = {}
for where, reader in READERS.items():
    for what, data in JSON.items():
        if where != "an assertion's JSON" or what not in ("9 MB", "UTF-16", "nothing"):
            CASES[f"JSON: {where}", what] = partial(reader, what=data)
for where, place in PLACES.items():
    for what, kind in SPECIAL.items():
        CASES[f"no ordinary file: {where}", what] = partial(load, place=place, what=kind)
for what, kind in SPECIAL.items():
    if kind != "link":                  # whoever types a path may mean a link, and a folder may be one of users
        if kind != "folder":
            CASES["no ordinary file: a wheel", what] = partial(wheel, make=kind)
        CASES["no ordinary file: a schema file", what] = partial(schema_file, what=kind)
        CASES["no ordinary file: facts", what] = partial(facts, name="facts.csv", what=kind)
        CASES["no ordinary file: borrowers", what] = partial(borrowers, what=kind)
        CASES["no ordinary file: what is written", what] = partial(replaced, what=kind)
CASES |= {
    ("wheel", "475 KB that unpack to 490 MB"): partial(wheel, make=partial(bomb, users=2, size=245 * MB)),
    ("wheel", "60 MB of rows of nothing"): partial(wheel, make=partial(bomb, users=1, size=60 * MB)),
    ("wheel", "20,000 members"): partial(wheel, make=many_members),
    ("wheel", "names of 30,000 folders"): partial(wheel, make=nested_names),
    ("wheel", "packed by LZMA"): partial(wheel, make=other_packing),
    ("wheel", "of a zip of the future"): partial(wheel, make=newer_zip),
    ("wheel", "a torn end"): partial(wheel, make=b"PK\3\4" + b"\0" * 50 + b"PK\5\6" + struct.pack(
        "<HHHHIIH", 0, 0, 9, 9, 900, 10, 0)),
    ("wheel", "any bytes"): partial(wheel, make=b"not a zip"),
    ("table", "a line of 30 MB"): partial(load, place="catalogue.csv", what=b"subject\n" + b"a," * 15 * MB),
    ("table", "a quotation mark that never closes"): partial(load, place="catalogue.csv", what=(
        b'subject\n"' + b"a\n" * MB)),
    ("table", "3,000,000 rows"): partial(load, place="catalogue.csv", what=b"subject\n" + b"news\n" * 3_000_000),
    ("table", "300,000 faults"): partial(load, place="catalogue.csv", what=b"priority\n" + b"loud\n" * 300_000),
    ("schema", "leads to a file above"): lambda folder: load(folder, "schema.json", (
        HERE / "data/push/schema.json").read_bytes().replace(b"train/notifications", b"../../train/notifications")),
    ("schema", "40,000 features"): lambda folder: schema_file(folder, json.dumps(
        {"name": "a", "notification": [{"name": f"f{number}", "kind": "open"} for number in range(20_000)],
         "context": [{"name": f"f{number}", "kind": "open"} for number in range(20_000)]}).encode()),
    **{("truth", what): lambda folder, text=text: load(folder, "ann/truth.json", (
        f'{{"intercept": {text}, "context": {{}}, "notification": {{}}, "pairs": []}}').encode()) for what, text in {
            "an intercept of 10**400": "1" + "0" * 400, "an intercept of 1e400": "1e400",
            "two intercepts": '1, "intercept": 9'}.items()},
    **{("facts", f"an assertion that weighs {what}"): partial(facts, name="dump.tsv", what=dump_line(
        b'{"weight": %s}' % text)) for what, text in {"10**400": b"1" + b"0" * 400, "NaN": b"NaN"}.items()},
    ("truth", "a weight of 1e308"): lambda folder: load(folder, "ann/truth.json", json.dumps(
        {"intercept": 1e308, "context": {}, "notification": {}, "pairs": []}).encode()),
    ("facts", "no gz"): partial(facts, name="facts.csv.gz", what=b"head,relation,tail,weight\n"),
    ("facts", "a torn gz"): partial(facts, name="facts.csv.gz", what=gzip.compress(b"head,relation\n" * 99)[:-9]),
    ("facts", "a gz of 1 GB in one line"): lambda folder: facts(folder, "facts.csv.gz", b"".join(
        gzip.compress(b"a" * 64 * MB, 1) for _ in range(16))),
    ("facts", "an assertion without an end, 512 MB"): lambda folder: facts(folder, "dump.tsv.gz", gzip.compress(
        b"/a/") + b"".join(gzip.compress(b"a" * 64 * MB, 1) for _ in range(8))),
    ("facts", "an edge between numbers"): partial(facts, name="a.json", what=(
        b'[{"start": {"@id": 3}, "end": {"@id": 4}, "weight": 1}]')),
    ("borrowers", "an income of 1e308"): partial(borrowers, what="9,0,0.1,40,0,0.1,1e308,3,0,1,0,0\n"),
    **{("a benchmark's table", what): partial(scores, what=data) for what, data in {
        "not UTF-8": b"agent,task,seed\nb\xe9,x,0\n", "empty": b"",
        "a column twice": b"agent,agent,task,seed\na,a,x,0\n",
        "10,000 columns": b"a," * 10_000 + b"\n", "a torn row": b"agent,task,seed\na,x\n",
        "no agent in one row": b"agent,task,seed\n,x,0\nb,x,0\n", "a FIFO": "FIFO"}.items()},
    ("a sweep's list of cells", "3,000,000 columns"): lambda folder: cells_of(folder, b"," * 3 * MB),
    ("kept", "a judge that was changed"): partial(cache, change=rewrite),
    ("kept", "a judge in a folder that all may write to"): partial(cache, change=rewrite_open),
    ("kept", "a link to a judge elsewhere"): partial(cache, change=rewrite_link),
    ("writing", "four threads, one file"): writes,
    **{("cell", repr(text)): partial(cells, text=text) for text in (
        "=1+1", "@SUM(A1)", "+1+1", "-1+1", "a;=1+1", "a\n=1+1", " =1+1", "＝1+1")},
}
FINE = {"kept": "made again", "writing": "broke none of 1,200 writes", "cell": "written as a text"}
TAKES_LONG = {("table", "3,000,000 rows"), ("facts", "a gz of 1 GB in one line"),
              ("facts", "an assertion without an end, 512 MB")}


def needs_posix(where, what):
    """Whether Windows has no such files or rights."""
    return (where.startswith("no ordinary file: ") and SPECIAL[what] != "folder"
            or what in ("a FIFO", "a judge in a folder that all may write to", "a link to a judge elsewhere"))


@pytest.mark.parametrize("case", [pytest.param(case, marks=pytest.mark.posix if needs_posix(*case) else ())
                                  for case in CASES if case not in TAKES_LONG], ids=" / ".join)
def test_bad_input_is_refused(case, tmp_path):
    assert outcome(case, tmp_path) == FINE.get(case[0], "refused")


# ---------------------------------------------------------------- commands

GRID = b"agents: RandomAgent\nenvs: pushlab/RECEnv-v0\n"
LOG = "block,block_type,task,reward\n" + "0,train,a,1\n" * 3


def by_hand(what):
    return lambda folder: put(folder / "given", what)


def itself(folder):
    (folder / "given").symlink_to("given")


# What stands at GIVEN; the command; its status; what it says.
COMMANDS = {
    "objects that are not UTF-8": (by_hand(b"cup\n\xff\n"), "data collect commonsense --out OUT --heads GIVEN", 1,
                                   "given, line 2: the text is not UTF-8 (byte 0xff)"),
    "a grid that is not UTF-8": (by_hand(b"agents:\n- \xe9\n"), "sweep GIVEN --out OUT", 1,
                                 "given, line 2: the text is not UTF-8 (byte 0xe9)"),
    "no worker": (by_hand(GRID), "sweep GIVEN --out OUT --workers 0", 1, "workers is a whole number from 1 to 1,024"),
    "10^400 workers": (by_hand(GRID), f"sweep GIVEN --out OUT --workers 1{'0' * 400}", 1, "workers is a whole number"),
    "metrics that are a FIFO": (by_hand("FIFO"), "lifelong LOG --metrics-from GIVEN", 2, "given: this is a FIFO"),
    "metrics without an end": (by_hand("/dev/zero"), "lifelong LOG --metrics-from GIVEN", 2, "given: this is a device"),
    "a log that is a link to itself": (itself, "lifelong GIVEN", 1, "there is no log at"),
    "results into a link to itself": (itself, "lifelong LOG --no-plot -o GIVEN", 2, "could not be written to"),
    "results below a link to itself": (itself, "lifelong LOG --no-plot -o GIVEN/x", 2, "could not be written to"),
    "scores into a link to itself": (itself, "score LOG --user mira --out GIVEN", 1, "each context needs one"),
}


@pytest.mark.posix
@pytest.mark.parametrize("case", COMMANDS)
def test_a_command_says_what_is_wrong(case, tmp_path):
    from typer.testing import CliRunner

    from pushlab.__main__ import app

    make, words, status, said = COMMANDS[case]
    make(tmp_path)
    (tmp_path / "log.csv").write_text(LOG)
    places = {"GIVEN": tmp_path / "given", "OUT": tmp_path / "out", "LOG": tmp_path / "log.csv"}
    for name, place in places.items():
        words = words.replace(name, str(place))
    done = CliRunner().invoke(app, words.split())
    assert (done.exit_code, type(done.exception)) == (status, SystemExit) and said in done.stderr, done.output


@pytest.mark.posix
@pytest.mark.parametrize("words", ["envs", "--help", "data check mira", "contexts mira --out contexts.csv"])
def test_a_full_disk_behind_standard_output_is_said(words, tmp_path):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([sys.executable, "-m", "pushlab", *words.split()], stdout=full, stderr=subprocess.PIPE,
                              text=True, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(HERE)}, timeout=600)
    assert done.returncode in (1, 2) and "No space left" in done.stderr and "Traceback" not in done.stderr
    assert words[:8] != "contexts" or (tmp_path / "contexts.csv").exists()


# ---------------------------------------------------------------- the table

def outcome(case, folder):
    """What becomes of a case, in a few words."""
    try:
        told = CASES[case](folder)
    except Exception as error:
        return in_words(error)
    return told if isinstance(told, str) else "accepted"


if __name__ == "__main__":
    import pushlab.datasets.reading
    import pushlab.users.judges  # noqa: F401  loaded once

    run(__file__, CASES, outcome)
