"""Checks of arguments: what passes, and what is said of the rest."""

import numpy as np
import pandas as pd
import pytest

from pushlab.ground.arguments import chances, has_columns, number, one_of, share, whole


def test_what_is_right_comes_back():
    assert whole("n", np.int64(3), 1) == 3 and type(whole("n", np.int64(3))) is int
    assert number("x", 0.0, 0, below=1) == 0.0 and number("x", np.float32(2)) == 2
    assert one_of("kind", None, (None, "a")) is None and one_of("kind", "a", {"a": 1}) == "a"
    assert share("level", 0.95) == 0.95 and chances({"a": 0, "b": 1.0}) is None
    assert has_columns(pd.DataFrame({"a": [1]}), "a") is None


@pytest.mark.parametrize(("check", "words"), [
    (lambda: whole("n", 0, 1), "n is a whole number from 1 up; got 0"),
    (lambda: whole("n", 3.0), "n is a whole number; got 3.0"),
    (lambda: whole("n", True, 0, 9), "n is a whole number from 0 to 9; got True"),
    (lambda: whole("n", 10_001, 0, 10_000, of="rounds"), "n is a whole number of rounds from 0 to 10,000; got 10001"),
    (lambda: number("x", float("nan")), "x is a finite number; got nan"),
    (lambda: number("x", "1", 0), "x is a number from 0 up; got '1'"),
    (lambda: number("x", True, 0, 1), "x is a number from 0 to 1; got True"),
    (lambda: number("x", 0, above=0), "x is a number above 0; got 0"),
    (lambda: number("x", 0, above=0, most=5), "x is a number above 0, at most 5; got 0"),
    (lambda: number("x", 1, 0, below=1, of="days"), "x is a number of days from 0 to below 1; got 1"),
    (lambda: number("x", 1, above=0, below=1), "x is a number above 0 and below 1; got 1"),
    (lambda: number("x", 9, most=5), "x is a number of at most 5; got 9"),
    (lambda: number("x", 9, below=5), "x is a number below 5; got 9"),
    (lambda: whole("n", 10**5000, 0, 9), "n is a whole number from 0 to 9; got an int that cannot be written out"),
    (lambda: one_of("kind", "y" * 10**6, ("a",)), "kind is one of a; got 'yyy"),
    (lambda: one_of("kind", np.arange(3), (None, "a")), "kind is one of None, a; got array"),
    (lambda: one_of("kind", ["a"], ("a",)), "kind is one of a; got"),
    (lambda: share("level", 1), "level lies between 0 and 1, both excluded; got 1"),
    (lambda: chances({"a": 0.5, "b": 1.1}), "b is a probability from 0 to 1; got 1.1"),
    (lambda: has_columns(pd.DataFrame({"a": [1]}), "a", "b", what="the log"), "the log has no column 'b'; it has a")])
def test_what_is_wrong_is_named(check, words):
    with pytest.raises(ValueError) as error:
        check()
    assert words in str(error.value)
