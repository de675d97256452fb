"""Files are written whole or not at all; network data is checked."""

import stat

import pytest

from pushlab.classroom.network import clean, read_csv, read_json
from pushlab.ground.faults import BadData
from pushlab.ground.files import locked, new_folder, write_text


def test_file_is_written_whole_or_stays(tmp_path):
    path = write_text(tmp_path / "new" / "a.txt", "old", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert write_text(path, "new").read_text() == "new"
    with pytest.raises(FileExistsError, match="already there"):
        write_text(path, "newer", replace=False)
    with pytest.raises(FileExistsError, match="not an ordinary file"):
        write_text(path.parent, "newer")
    assert [one.read_text() for one in path.parent.iterdir()] == ["new"]


def test_folder_appears_whole_and_replaces_only_results(tmp_path):
    out = tmp_path / "out"
    for number in (1, 2):
        with new_folder(out, mark="results.json") as folder:
            write_text(folder / "results.json", str(number))
    with pytest.raises(KeyboardInterrupt), new_folder(out, "results.json") as folder:
        write_text(folder / "results.json", "3")
        raise KeyboardInterrupt
    assert (out / "results.json").read_text() == "2"
    for mark in (None, "other.json"):
        with pytest.raises(FileExistsError, match="not empty"), new_folder(out, mark):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_locked_path_is_refused_to_others(tmp_path):
    with locked(tmp_path / "a.csv"):
        with pytest.raises(TimeoutError), locked(tmp_path / "a.csv", timeout=0.05):
            pass
    with locked(tmp_path / "a.csv", timeout=0.05):
        pass


@pytest.mark.parametrize(
    "body",
    [
        b'{"a": 1, "a": 2}',
        b'{"a": NaN}',
        b'{"a": ' + b"9" * 5000 + b"}",
        b'{"a": ' + b"[" * 100_000,
        b'{"a": "\\ud800"}',
        b'{"a": "\xff"}',
        b"[1]",
    ],
)
def test_body_of_a_request_is_refused(body):
    assert read_json(b'{"a": [[1.5, "x"]]}') == {"a": [[1.5, "x"]]}
    with pytest.raises(BadData, match="the body: an object of JSON"):
        read_json(body)


def test_uploaded_table_is_small():
    assert read_csv(b"a,b\n1,x\n", "up", 1).values.tolist() == [["1", "x"]]
    for data in (b"a\n1\n2\n", b"a," * 60, b"a\n1,2\n", b"a\n\xff\n", b""):
        with pytest.raises(BadData, match="up"):
            read_csv(data, "up", 1)


def test_names_are_cleaned():
    assert clean("Zoe\u0308") == clean(" Zoë\u200b\u2066 ") == "Zo\u00eb"
    assert clean("a\tb\r\n\u202ec\x1b[2J", most=6) == "a b c…"
