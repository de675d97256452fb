"""The one reader: it waits for nothing, reads no more than it may, and says by name what is wrong."""

import json
import os
import socket
import subprocess
import sys
import threading
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab.ground.faults import BadData, Fault
from pushlab.ground.reading import clean, opened, read_bytes, read_json, read_text

pytestmark = pytest.mark.posix


@pytest.fixture
def places(tmp_path):
    """{kind: a path of that kind}."""
    here, found = os.getcwd(), {name: tmp_path / name for name in ("FIFO", "folder", "link", "socket", "dangling")}
    (tmp_path / "file").write_text('{"a": 1}')
    os.mkfifo(found["FIFO"])
    found["folder"].mkdir()
    found["link"].symlink_to(tmp_path / "file")
    found["dangling"].symlink_to(tmp_path / "nothing")
    os.chdir(tmp_path)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("socket")
    finally:
        os.chdir(here)
    return {**found, "missing": tmp_path / "nothing", "zero": "/dev/zero", "full": "/dev/full", "null": "/dev/null",
            "nameless": f"{tmp_path}/a\0b", "long": tmp_path / ("a" * 300), "through": tmp_path / "file" / "a",
            "surrogate": f"{tmp_path}/\ud800", "loop": loop(tmp_path)}


def loop(folder):
    (folder / "loop").symlink_to(folder / "loop")
    return folder / "loop"


WORDS = {"FIFO": "this is a FIFO", "folder": "this is a folder", "link": "this is a link", "socket": "this is a socket",
         "dangling": "this is a link", "missing": "the file is missing", "zero": "this is a device",
         "full": "this is a device", "null": "this is a device", "nameless": "no file can have this name",
         "long": "cannot be read", "through": "cannot be read", "surrogate": "no file can have this name",
         "loop": "this is a link"}


@pytest.mark.parametrize("kind", WORDS)
@pytest.mark.parametrize("read", [lambda path: read_bytes(path, 100), lambda path: read_text(path, 100), read_json])
def test_what_is_no_ordinary_file_is_a_fault_at_once(places, kind, read):
    with pytest.raises(BadData, match=WORDS[kind]):
        read(places[kind])


def test_a_text_is_utf_8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfcup\r\npen")
    assert read_text(tmp_path / "a.txt", 100) == "cup\r\npen"
    (tmp_path / "a.txt").write_bytes(b"cup\n\xff")
    with pytest.raises(BadData, match=r"a.txt, line 2: the text is not UTF-8 \(byte 0xff\)"):
        read_text(tmp_path / "a.txt", 100)


def test_a_message_is_not_as_long_as_what_it_is_about():
    assert len(str(BadData([Fault("f" * 10**6, 1, "c" * 10**6, "v" * 10**6, "r" * 10**6)]))) < 5000


def test_a_link_is_followed_when_it_may_be_and_only_to_an_ordinary_file(places, tmp_path):
    assert read_json(places["link"], links=True) == {"a": 1} and read_bytes(places["link"], 8, links=True)
    for kind, word in (("zero", "a device"), ("FIFO", "a FIFO"), ("loop", "cannot be read|a link")):
        link = tmp_path / f"to {kind}"
        link.symlink_to(places[kind])
        with pytest.raises(BadData, match=word):
            read_bytes(link, 100, links=True)


def test_an_unreadable_file_is_a_fault(tmp_path):
    path = tmp_path / "a.json"
    path.write_text("{}")
    path.chmod(0)
    code = ("import os, sys; from pushlab.ground.reading import read_bytes\n"
            "if os.getuid() == 0: os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
            "try: read_bytes(sys.argv[1], 100)\nexcept Exception as error: print(error)")
    os.chmod(tmp_path, 0o755)
    said = subprocess.run([sys.executable, "-P", "-c", code, path], env=os.environ, text=True, capture_output=True,
                          timeout=600)
    assert "Permission denied" in said.stdout and said.stdout.startswith("1 fault:"), said.stderr


def test_size_is_counted_before_and_while_it_is_read(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"x" * 300_000)
    assert len(read_bytes(path, 300_000)) == 300_000
    with pytest.raises(BadData, match="larger than 299,999 bytes"):
        read_bytes(path, 299_999)
    with pytest.raises(BadData, match="larger than 400,000 bytes"), opened(path, 400_000) as file:
        assert len(file.read(10)) == 10
        with path.open("ab") as more:
            more.write(b"y" * 200_000)
        file.read()
    with opened(path, 500_000) as file:
        first = file.readline(5)
        file.seek(0)
        assert file.read(5) == first and len(file.read()) == 499_995
    if os.path.exists("/proc/kallsyms"):                # says that it has 0 bytes
        with pytest.raises(BadData, match="larger than 1 MB"), opened("/proc/kallsyms", 2**20) as file:
            file.read()


@pytest.mark.parametrize("data, right", [
    (b"[" * 100_000, "lie 100,000 deep"),
    (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, "lie 100,000 deep"),
    (b'{"a":\n' + b"9" * 401 + b"}", "line 2: a whole number has 401 digits"),
    (b"-" + b"9" * 5000, "5,000 digits"),
    (b"[1e400]", "1e400 is too large"),
    (b"[NaN]", "NaN is no number"), (b"[-Infinity]", "-Infinity is no number"),
    (b'{"a": {"b": 1, "b": 2}}', "key b: the key is there twice"),
    (b'{"a": 1,\n\n "b": }', "line 3: this is not JSON: expecting value"),
    (b'\n{"a": "\xff"}', r"line 2: the text is not UTF-8 \(byte 0xff\)"),
    ('{"a": 1}'.encode("utf-16"), "not UTF-8"),
    (rb'{"a": "\uD83d"}', "half a character"), (rb'{"\udc00": 1}', "half a character"),
    (b"[]", r"should be an object, \{…\}; it is a list"), (b"true", "it is True"), (b"null", "it is None"),
    (b"", "line 1: this is not JSON"), (b"x" * 1001, "larger than 1,000,000 bytes"),
    (b'{"a": 1} x', "extra data"),
    (b'"' + b'\\"' * 400_000, "unterminated string"),
])
@pytest.mark.parametrize("where", ["file", "bytes"])
def test_bad_json_is_one_fault_that_names_the_file(tmp_path, data, right, where):
    if data[:1] == b"x":
        data *= 1000
    (tmp_path / "their.json").write_bytes(data)
    with pytest.raises(BadData, match=right) as caught:
        read_json(data if where == "bytes" else tmp_path / "their.json", most=10**6, name="their.json")
    assert caught.value.faults[0].file == "their.json" and len(str(caught.value)) < 300


def test_good_json_is_read():
    deep = "[" * 63 + "]" * 63
    told = {"a": [1, -2.5, 1e300, None, True, "é[[{\\\"" + "[" * 500], "b": json.loads(deep), "n": -10**99}
    for text in (json.dumps(told), json.dumps(told, ensure_ascii=False, indent=1)):
        assert read_json(text.encode()) == told and read_json(b"\xef\xbb\xbf" + text.encode()) == told
    assert read_json(b"3", kind=(int, float)) == 3 and read_json(b"null", kind=object) is None
    assert read_json(rb'["\ud83d\ude00"]', kind=list) == ["😀"]
    with pytest.raises(BadData, match="a whole number or a number; it is True"):
        read_json(b"true", kind=(int, float))


JSONS = st.recursive(st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
                     | st.text("[]{}\"\\,a") | st.integers(-10**99, 10**99),
                     lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("[{\"\\b"), inner, max_size=4))


@given(JSONS, st.integers(0, 5))
def test_what_python_reads_is_read_alike_up_to_the_depth(told, deepest):
    def depth(part):
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else None
        return 0 if inner is None else 1 + max(map(depth, inner), default=0)

    data = json.dumps(told).encode()
    if depth(told) <= deepest:
        assert read_json(data, kind=object, deepest=deepest) == told
    else:
        with pytest.raises(BadData, match=f"lie {depth(told)} deep"):
            read_json(data, kind=object, deepest=deepest)


@given(st.binary(max_size=60) | st.text('{}[]",:\\u0d8e1-NaIf \n', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_a_fault(data):
    try:
        read_json(data, kind=object)
    except BadData as error:
        assert error.count == 1


# ---------------------------------------------------------------- names and faults

@given(st.text(st.characters() | st.sampled_from("\u202e\u200b\u3164\x1b\ne\u0301"), max_size=30), st.integers(1, 12))
def test_a_clean_name_stays_as_it_is(text, most):
    name = clean(text, most)
    assert clean(name, most) == name and len(name) <= most
    assert unicodedata.is_normalized("NFC", name) and name.encode().decode() == name
    assert not any(unicodedata.category(letter)[0] == "C" for letter in name) and name == name.strip()


def test_names_that_look_alike_are_alike():
    assert clean("Zoe\u0308") == clean("Zo\u00eb") == clean(" Zoë\u200b\u2066 ") == "Zoë"
    assert clean("a\tb\r\nc\u2028d") == "a b c d" and clean("\u202e\u3164") == ""


def test_a_hundred_faults_are_kept_of_each_column_the_first():
    faults = [Fault("a.csv", row, "noise", "loud", "low or high") for row in range(2, 149_002)]
    error = BadData(iter([*faults, *(Fault("a.csv", row, "day", "8", "0 to 6") for row in range(33))]))
    assert (error.count, len(error.faults), error.MOST) == (149_033, 100, 100)
    assert str(error).startswith("149,033 faults, the first 100:\n") and len(str(error)) < 1000
    kept = [fault.column for fault in error.faults]
    assert kept == ["noise"] * 67 + ["day"] * 33 and error.faults[0].row == 2
    assert str(BadData(Fault("a\x1b[2Jb.csv", right="a\nb"))) == "1 fault:\n  a□[2Jb.csv: a□b"


def test_reading_waits_for_nobody(places):
    done = []

    def read():
        with pytest.raises(BadData):
            read_bytes(places["FIFO"], 10)
        done.append(True)

    thread = threading.Thread(target=read, daemon=True)
    thread.start()
    thread.join(60)
    assert done == [True]
