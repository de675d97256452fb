"""What is kept on disk by its content: made once, made again where it is damaged, or done without."""

import json
import os
import stat

import numpy as np
import pytest

from pushlab.ground.kept import checksum, kept, read_kept


def test_it_is_made_once(tmp_path):
    path, made = tmp_path / "new" / "job.json", []

    def make():
        made.append(1)
        return {"sum": 0.1 + 0.2}

    assert kept(path, make) == kept(path, make) == read_kept(path) == {"sum": 0.1 + 0.2} and made == [1]
    path.write_text(path.read_text()[:5])                   # an interrupted copy, say
    assert read_kept(path) is None and kept(path, make) == read_kept(path) and made == [1, 1]
    assert kept(None, make) == {"sum": 0.1 + 0.2} and made == [1, 1, 1] and read_kept(None) is None


def test_what_cannot_be_read_as_it_should_be_is_made_again(tmp_path):
    path = tmp_path / "job.json"
    path.write_text('{"total": 1}')
    assert kept(path, lambda: {"sum": 2}, read=lambda told: told["sum"]) == 2
    assert kept(path, lambda: pytest.fail("it is there"), read=lambda told: told["sum"]) == 2


@pytest.mark.parametrize("change", [
    lambda told: told["content"].update(sum=3),
    lambda told: told.update(checksum="0" * 64),
    lambda told: told.pop("checksum"),
    lambda told: told.update(content=None),
])
def test_what_does_not_agree_with_its_checksum_is_made_again(tmp_path, change):
    path = tmp_path / "mine" / "job.json"
    assert kept(path, lambda: {"sum": 2}) == {"sum": 2}
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))
    assert read_kept(path) is None and kept(path, lambda: {"sum": 2}) == read_kept(path) == {"sum": 2}


def test_a_result_under_the_name_of_another_is_made_again(tmp_path):
    kept(tmp_path / "mine" / "a.json", lambda: 1)
    (tmp_path / "mine" / "a.json").rename(tmp_path / "mine" / "b.json")
    assert kept(tmp_path / "mine" / "b.json", lambda: 2) == 2


@pytest.mark.posix
def test_it_lies_where_nobody_else_writes_and_links_are_not_followed(tmp_path):
    path = tmp_path / "mine" / "job.json"
    kept(path, lambda: 1)
    assert [stat.S_IMODE(one.stat().st_mode) for one in (path.parent, path)] == [0o700, 0o600]
    path.rename(tmp_path / "elsewhere.json")
    path.symlink_to(tmp_path / "elsewhere.json")
    assert read_kept(path) is None and kept(path, lambda: 2, optional=True) == 2


@pytest.mark.posix
@pytest.mark.parametrize("mode", [0o720, 0o702, 0o755, 0o1777])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path, mode):
    path = tmp_path / "mine" / "job.json"
    kept(path, lambda: "mine")
    path.parent.chmod(mode)
    with pytest.warns(UserWarning, match="yours alone"):
        assert read_kept(path) is None and kept(path, lambda: "made", optional=True) == "made"
    with pytest.warns(UserWarning), pytest.raises(PermissionError):
        kept(path, lambda: "made")
    path.parent.chmod(0o700)
    assert read_kept(path) == "mine"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="giving a folder away needs root")
def test_somebody_elses_folder_is_not_used(tmp_path):
    path = tmp_path / "mine" / "job.json"
    kept(path, lambda: "mine")
    os.chown(path.parent, 65534, 65534)
    with pytest.warns(UserWarning, match="yours alone"):
        assert kept(path, lambda: "made", optional=True) == "made"


def test_a_place_that_cannot_be_written_is_an_error_unless_it_is_optional(tmp_path):
    (tmp_path / "file").write_text("")
    path = tmp_path / "file" / "job.json"
    assert kept(path, lambda: 3, optional=True) == 3
    with pytest.raises(OSError):
        kept(path, lambda: 3)


def test_the_checksum_tells_parts_apart():
    assert checksum("a", 1) == checksum("a", 1) != checksum("a1")
    assert checksum(np.zeros(4)) != checksum(np.zeros((2, 2))) != checksum(np.zeros((2, 2), np.int64))
    assert checksum(np.arange(6).reshape(2, 3).T) == checksum(np.arange(6).reshape(2, 3).T.copy())
