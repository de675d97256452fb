"""Checks of arguments: what is wrong is said by name, with what would be right and what was given.

Each check gives the value back, so that it can be taken over in the same line; each raises ValueError. `demand` is for
a rule of one's own.

>>> whole("seed", 7), number("share", 0.5, 0, 1), one_of("kind", "a", ("a", "b"))
(7, 0.5, 'a')
>>> number("discount", 1, 0, below=1)
Traceback (most recent call last):
ValueError: discount is a number from 0 to below 1; got 1
"""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.ground.faults import BadData

if TYPE_CHECKING:
    import pandas as pd


NUMBERS = (
    int,
    float,
    np.integer,
    np.floating,
)  # a Fraction or a Decimal is no number to NumPy


def demand(holds: Any, otherwise: str) -> None:
    """ValueError with these words, unless it holds. (Words that take long to make go with an `if` and a `raise`.)"""
    if not holds:
        raise ValueError(otherwise)


def in_short(value: Any) -> str:
    """Return a value for a message: one line of at most 60 characters.

    >>> in_short(np.eye(2))
    'array([[1., 0.], [0., 1.]])'
    """
    return " ".join(repr(value)[:1000].split())[:60]


@contextmanager
def naming(name: str, value: Any) -> Iterator[None]:
    """While others read an argument: their TypeError, ValueError, OverflowError or OSError names it, if it did not.

    A BadData, whose faults name a file, stays as it is; a TypeError and an OverflowError become a ValueError.

    >>> with naming("people", "friends.csv"):
    ...     raise FileNotFoundError("there is no such file")
    Traceback (most recent call last):
    FileNotFoundError: people='friends.csv': there is no such file
    """
    try:
        yield
    except (TypeError, ValueError, OverflowError, OSError) as error:
        if isinstance(error, BadData) or re.search(rf"\b{name}\b", str(error)):
            raise
        kind = type(error) if isinstance(error, OSError) else ValueError
        raise kind(f"{name}={in_short(value)}: {error}") from error


def meant(word: Any, choices: Iterable[str]) -> str:
    """The end of a message that names the choice which is spelt nearly like `word`, in capitals or not; or nothing.

    >>> meant("Freinds", ["family", "friends"]), meant("sports", ["family", "friends"])
    ("; is 'friends' meant?", '')
    """
    known = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(str(word).casefold(), known, 1, 0.7)
    return f"; is {known[near[0]]!r} meant?" if near else ""


def is_number(value: Any) -> bool:
    """Whether this is a finite number, Python's or NumPy's; True and False are none.

    >>> is_number(2.5), is_number(True), is_number("2"), is_number(float("nan")), is_number(10**400)
    (True, False, False, False, False)
    """
    try:
        return (
            isinstance(value, NUMBERS)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    except OverflowError:  # a whole number that no float holds
        return False


def one_of(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """The value, if it is one of these; an object that is unlike all of them, such as an array, is none.

    >>> one_of("opening", "always", ("sampled", "matched"))
    Traceback (most recent call last):
    ValueError: opening is one of sampled, matched; got 'always'
    """
    choices = tuple(choices)
    if not any(
        isinstance(value, type(choice)) and value == choice for choice in choices
    ):
        raise ValueError(
            f"{name} is one of {', '.join(map(str, choices))}; got {in_short(value)}"
        )
    return value


def flag(name: str, value: Any) -> bool:
    """The value as a bool, if it is True or False, Python's or NumPy's; 1, "yes" and None are neither.

    >>> flag("reveal", 1)
    Traceback (most recent call last):
    ValueError: reveal is True or False; got 1
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is True or False; got {in_short(value)}")
    return bool(value)


def function(name: str, value: Any) -> Any:
    """The value, if it can be called.

    >>> function("make", 5)
    Traceback (most recent call last):
    ValueError: make is a function; got 5
    """
    demand(callable(value), f"{name} is a function; got {in_short(value)}")
    return value


def some_of(name: str, value: Any, choices: Iterable[str]) -> tuple[str, ...]:
    """The value as a tuple, if it is one of these words or several of them, each once.

    >>> some_of("visible", "age", ("age", "debt")), some_of("visible", ["debt", "age"], ("age", "debt"))
    (('age',), ('debt', 'age'))
    >>> some_of("visible", ["age", "mood"], ("age", "debt"))
    Traceback (most recent call last):
    ValueError: visible names one or more of age, debt, each once; got ['age', 'mood']
    """
    choices = tuple(choices)
    given = (
        (value,)
        if isinstance(value, str)
        else tuple(value)
        if isinstance(value, (list, tuple))
        else ()
    )
    if not given or len(
        {word for word in given if isinstance(word, str) and word in choices}
    ) < len(given):
        raise ValueError(
            f"{name} names one or more of {', '.join(choices)}, each once; got {in_short(value)}"
        )
    return given


def whole(
    name: str,
    value: Any,
    least: int | None = None,
    most: int | None = None,
    of: str = "",
) -> int:
    """The value as an int, if it is a whole number from `least` to `most`, both allowed; None leaves an end open.

    Whole is told by type, Python's or NumPy's: 3 is; 3.0, "3" and True are not.

    of   what is counted, in words

    >>> whole("horizon", 0, 1, 84, of="days")
    Traceback (most recent call last):
    ValueError: horizon is a whole number of days from 1 to 84; got 0
    """
    is_whole = is_number(value) and isinstance(value, Integral)
    if (
        not is_whole
        or (least is not None and value < least)
        or (most is not None and value > most)
    ):
        what = f"a whole number of {of}" if of else "a whole number"
        raise ValueError(
            f"{name} is {what}{_range(least, None, most, None)}; got {in_short(value)}"
        )
    return int(value)


def number(
    name: str,
    value: Any,
    least: float | None = None,
    most: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    of: str = "",
) -> Any:
    """The value as Python's number, if it is a finite number between the ends that are given.

    least, most    ends that are allowed; most=math.inf allows infinity
    above, below   ends that are not
    of             what is counted, in words
    """
    given, value = (
        value,
        value.item() if isinstance(value, np.generic) else value,
    )  # a float16 holds no limits
    endless = most == math.inf and isinstance(value, NUMBERS) and value == math.inf
    if not (
        (endless or is_number(value))
        and (least is None or value >= least)
        and (above is None or value > above)
        and (most is None or value <= most)
        and (below is None or value < below)
    ):
        limits = _range(least, above, most, below)
        what = ("a number" if limits else "a finite number") + (
            f" of {of}" if of else ""
        )
        raise ValueError(f"{name} is {what}{limits}; got {in_short(given)}")
    return value


def numbers(
    name: str, value: Any, shape: tuple | None = None, of: str = ""
) -> np.ndarray:
    """The value as an array of float64, if it is made of finite numbers and has this shape; None takes any.

    of   what they are, in words

    >>> numbers("weights", [1, 2], (2,)).tolist()
    [1.0, 2.0]
    >>> numbers("weights", [1, "two"], (2,), of="a person and a thing")
    Traceback (most recent call last):
    ValueError: weights is made of finite numbers of the shape (2,), a person and a thing; got [1, 'two']
    """
    try:
        array = np.array(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array(math.nan)
    if not np.isfinite(array).all() or shape not in (None, array.shape):
        what = (f" of the shape {shape}" if shape is not None else "") + (
            f", {of}" if of else ""
        )
        raise ValueError(
            f"{name} is made of finite numbers{what}; got {in_short(value)}"
        )
    return array


def floats(name: str, value: Any) -> np.ndarray:
    """The value as NumPy reads it as an array of float64, of any shape and with NaN; see `numbers`."""
    with naming(name, value):
        return np.asarray(value, float)


def generator(seed: Any) -> np.random.Generator:
    """NumPy's generator for a seed."""
    with naming("seed", seed):
        return np.random.default_rng(seed)


def share(name: str, value: Any) -> Any:
    """The value, if it lies strictly between 0 and 1, as the level of an interval does."""
    return number(name, value, above=0, below=1)


def chances(values: Mapping[str, Any]) -> None:
    """Each of {name: value} is a probability, 0 and 1 allowed."""
    for name, value in values.items():
        number(name, value, 0, 1)


def has_columns(table: pd.DataFrame, *names: str, what: str = "the table") -> None:
    """The table has all of these columns."""
    demand(hasattr(table, "columns"), f"{what} is a DataFrame; got {in_short(table)}")
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(
            f"{what} has no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}"
        )


def has_rows(table: pd.DataFrame, *names: str, what: str = "the table") -> None:
    """The table has all of these columns, and a row at least."""
    has_columns(table, *names, what=what)
    demand(len(table), f"{what} is empty: it has columns and no row")


def _range(least, above, most, below):
    """What the ends mean, in words: " from 0 to 1", " above 0", or nothing."""
    low = (
        f" from {least:,}"
        if least is not None
        else f" above {above:,}"
        if above is not None
        else ""
    )
    if most is not None:
        return f"{low}{' to' if least is not None else ', at most' if low else ' of at most'} {most:,}"
    if below is not None:
        return f"{low}{' to' if least is not None else ' and' if low else ''} below {below:,}"
    return f"{low} up" if least is not None else low
