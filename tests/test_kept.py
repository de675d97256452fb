"""What is kept on disk by its content: made once, made again where it is damaged, or done without."""

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
