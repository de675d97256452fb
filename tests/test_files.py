"""Files are read and written whole; faults are grouped; names are cleaned."""

import csv
import io
import stat

import pytest

from pushlab.ground._old_files import write_together
from pushlab.ground._old_folders import whole_folder
from pushlab.ground._old_reading import clean, read_bytes, read_text
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import csv_text, write_text


def test_file_is_replaced_whole_and_keeps_its_rights(tmp_path):
    path = write_text(tmp_path / "a.txt", "old", rights=0o600)
    assert write_text(path, "new").read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError, match="there already"):
        write_text(path, "newer", replace=False)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(FileExistsError, match="link is a link"):
        write_text(tmp_path / "link", "newer")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileExistsError, match="folder is a folder"):
        write_together({path: "newer", tmp_path / "folder": "newer"})
    assert path.read_text() == "new"
    assert len(list(tmp_path.iterdir())) == 3


def test_folder_takes_the_place_of_another_or_nothing_changes(tmp_path):
    out = tmp_path / "out"
    for word in ("first", "second"):
        with whole_folder(out) as folder:
            assert not list(folder.iterdir())
            write_text(folder / f"{word}.txt", word)
    assert [path.name for path in out.iterdir()] == ["second.txt"]
    with pytest.raises(KeyboardInterrupt), whole_folder(out, keep=True) as folder:
        write_text(folder / "second.txt", "third")
        raise KeyboardInterrupt
    assert (out / "second.txt").read_text() == "second"
    with pytest.raises(FileExistsError, match="not empty"), whole_folder(out, new=True):
        pass


def test_files_are_read_up_to_a_size_and_not_through_links(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"cup\n\xff")
    assert read_bytes(path, 5) == b"cup\n\xff"
    with pytest.raises(BadData, match="a.txt: the file is larger than 4 bytes"):
        read_bytes(path, 4)
    with pytest.raises(BadData, match=r"a.txt, line 2: the text is not UTF-8"):
        read_text(path, 5)
    (tmp_path / "link").symlink_to(path)
    with pytest.raises(BadData, match="link: this is a link"):
        read_bytes(tmp_path / "link", 5)
    assert len(read_bytes(tmp_path / "link", 5, links=True)) == 5


@pytest.mark.parametrize("cell", ["=1+1", "@SUM(A1)", "a;-1+1", "\t+1"])
def test_no_cell_is_a_formula_for_a_spreadsheet(cell):
    [[written, number]] = csv.reader(io.StringIO(csv_text([[cell, -1.5]])))
    assert written.replace("'", "") == cell
    assert "'" in written
    assert number == "-1.5"


def test_first_hundred_faults_of_many():
    faults = [Fault("a.csv", row, "noise", "loud", "low") for row in range(2, 1002)]
    faults += [Fault("a.csv", row, "day", "8", "0 to 6") for row in range(33)]
    error = BadData(faults)
    assert (error.count, len(error.faults)) == (1033, 100)
    columns = [fault.column for fault in error.faults]
    assert columns == ["noise"] * 67 + ["day"] * 33
    assert str(error).splitlines()[:2] == [
        "1,033 faults, the first 100:",
        "  a.csv, column noise, rows 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13 and 55 more: "
        "'loud' is not low",
    ]


def test_names_are_cleaned():
    assert clean("Zoe\u0308") == clean(" Zoë\u200b\u2066 ") == "Zo\u00eb"
    assert clean("a\tb\r\n\u202ec\x1b[2J", most=6) == "a b c…"
