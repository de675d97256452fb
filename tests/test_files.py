"""Files and folders are written atomically."""

import stat

import pytest

from pushlab.utils.files import locked, new_folder, write_text


def test_file_is_written_atomically(tmp_path):
    path = write_text(tmp_path / "new" / "a.txt", "old", mode=0o600)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert write_text(path, "new").read_text() == "new"
    with pytest.raises(FileExistsError, match="already exists"):
        write_text(path, "newer", replace=False)
    with pytest.raises(FileExistsError, match="not a regular file"):
        write_text(path.parent, "newer")
    assert [one.read_text() for one in path.parent.iterdir()] == ["new"]


def test_folder_is_written_atomically_and_replaces_only_results(tmp_path):
    out = tmp_path / "out"
    for number in (1, 2):
        with new_folder(out, marker_file="results.json") as folder:
            write_text(folder / "results.json", str(number))
    with pytest.raises(KeyboardInterrupt), new_folder(out, "results.json") as folder:
        write_text(folder / "results.json", "3")
        raise KeyboardInterrupt
    assert (out / "results.json").read_text() == "2"
    for marker_file in (None, "other.json"):
        with (
            pytest.raises(FileExistsError, match="not empty"),
            new_folder(out, marker_file),
        ):
            pass
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_locked_path_is_refused_to_others(tmp_path):
    with locked(tmp_path / "a.csv"):
        with pytest.raises(TimeoutError), locked(tmp_path / "a.csv", timeout=0.05):
            pass
    with locked(tmp_path / "a.csv", timeout=0.05):
        pass
