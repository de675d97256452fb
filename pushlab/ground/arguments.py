"""Checks of arguments: each returns a valid value, and otherwise raises ValueError.

The message has the argument's name, a description of valid values, and the value. `demand` checks any other condition.

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
from importlib import import_module
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.ground.faults import BadData

if TYPE_CHECKING:
    import pandas as pd


# NumPy makes objects of Fraction and Decimal.
NUMBERS = (int, float, np.integer, np.floating)


def demand(holds: Any, otherwise: str) -> None:
    """Raise ValueError with this message unless the condition holds. For a message that is slow to make use `if`."""
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
    """Context manager that adds an argument's name and value to errors raised inside it.

    A TypeError or OverflowError becomes a ValueError. A BadData, whose faults name a file, isn't changed, nor is an
    error whose message has the name already.

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
    """Return the end of a message that suggests the choice most like `word`, or "" if none is similar.

    >>> meant("Freinds", ["family", "friends"]), meant("sports", ["family", "friends"])
    ("; is 'friends' meant?", '')
    """
    known = {choice.casefold(): choice for choice in choices}
    near = difflib.get_close_matches(str(word).casefold(), known, 1, 0.7)
    return f"; is {known[near[0]]!r} meant?" if near else ""


def is_number(value: Any) -> bool:
    """Return whether the value is a finite number of Python or NumPy; True and False aren't numbers.

    >>> is_number(2.5), is_number(True), is_number("2"), is_number(float("nan")), is_number(10**400)
    (True, False, False, False, False)
    """
    try:
        return (
            isinstance(value, NUMBERS)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    except OverflowError:  # an int too large for a float
        return False


def one_of(name: str, value: Any, choices: Iterable[Any]) -> Any:
    """Return the value if it equals one of the choices and has its type.

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
    """Return the value as a bool if it is True or False of Python or NumPy; 1, "yes" and None aren't.

    >>> flag("reveal", 1)
    Traceback (most recent call last):
    ValueError: reveal is True or False; got 1
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is True or False; got {in_short(value)}")
    return bool(value)


def function(name: str, value: Any) -> Any:
    """Return the value if it can be called.

    >>> function("make", 5)
    Traceback (most recent call last):
    ValueError: make is a function; got 5
    """
    demand(callable(value), f"{name} is a function; got {in_short(value)}")
    return value


def some_of(name: str, value: Any, choices: Iterable[str]) -> tuple[str, ...]:
    """Return the value as a tuple if it is one of these words, or several of them without repetition.

    >>> some_of("visible", "age", ("age", "debt")), some_of("visible", ["debt", "age"], ("age", "debt"))
    (('age',), ('debt', 'age'))
    >>> some_of("visible", ["age", "mood"], ("age", "debt"))
    Traceback (most recent call last):
    ValueError: visible names one or more of age, debt, each once; got ['age', 'mood']
    """
    choices = tuple(choices)
    words = [value] if isinstance(value, str) else value
    is_valid = (
        isinstance(words, (list, tuple))
        and all(isinstance(word, str) and word in choices for word in words)
        and 0 < len(words) == len(set(words))
    )
    demand(
        is_valid,
        f"{name} names one or more of {', '.join(choices)}, each once; got {in_short(value)}",
    )
    return tuple(words)


def whole(
    name: str,
    value: Any,
    least: int | None = None,
    most: int | None = None,
    of: str = "",
) -> int:
    """Return the value as an int if it is a whole number from `least` to `most`, both included.

    The type must be an integer of Python or NumPy: 3 is valid, while 3.0, "3" and True aren't.

    Args:
        least, most: Limits; None is no limit.
        of: Unit for the message, such as "days".

    >>> whole("horizon", 0, 1, 84, of="days")
    Traceback (most recent call last):
    ValueError: horizon is a whole number of days from 1 to 84; got 0
    """
    is_whole = is_number(value) and isinstance(value, Integral)
    if not is_whole or not _is_within(value, least, None, most, None):
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
    """Return the value as a number of Python if it is a finite number within the limits.

    Args:
        least, most: Limits that are included; most=math.inf allows infinity.
        above, below: Limits that are excluded.
        of: Unit for the message, such as "days".
    """
    # A limit may be too large for a float16.
    plain = value.item() if isinstance(value, np.generic) else value
    is_endless = most == math.inf and isinstance(plain, float) and plain == math.inf
    if not (is_endless or is_number(plain)) or not _is_within(
        plain, least, above, most, below
    ):
        limits = _range(least, above, most, below)
        what = "a number" if limits else "a finite number"
        if of:
            what += f" of {of}"
        raise ValueError(f"{name} is {what}{limits}; got {in_short(value)}")
    return plain


def numbers(
    name: str, value: Any, shape: tuple | None = None, of: str = ""
) -> np.ndarray:
    """Return the value as a float64 array if all its numbers are finite and it has this shape.

    Args:
        shape: The shape; None allows any.
        of: Description of the numbers for the message.

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
        what = "" if shape is None else f" of the shape {shape}"
        if of:
            what += f", {of}"
        raise ValueError(
            f"{name} is made of finite numbers{what}; got {in_short(value)}"
        )
    return array


def floats(name: str, value: Any) -> np.ndarray:
    """Return the value as a float64 array of any shape, which may contain NaN; see `numbers`."""
    with naming(name, value):
        return np.asarray(value, float)


def generator(seed: Any) -> np.random.Generator:
    """Return NumPy's generator for a seed."""
    with naming("seed", seed):
        return np.random.default_rng(seed)


def share(name: str, value: Any) -> Any:
    """Return the value if it is above 0 and below 1, as the level of an interval is."""
    return number(name, value, above=0, below=1)


def chances(values: Mapping[str, Any]) -> None:
    """Raise ValueError unless each value of {name: value} is a probability; 0 and 1 are allowed."""
    for name, value in values.items():
        number(name, value, 0, 1)


def has_columns(table: pd.DataFrame, *names: str, what: str = "the table") -> None:
    """Raise ValueError unless the table has all of these columns."""
    demand(hasattr(table, "columns"), f"{what} is a DataFrame; got {in_short(table)}")
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise ValueError(
            f"{what} has no column {missing[0]!r}; it has {', '.join(map(str, table.columns))}"
        )


def has_rows(table: pd.DataFrame, *names: str, what: str = "the table") -> None:
    """Raise ValueError unless the table has all of these columns and at least one row."""
    has_columns(table, *names, what=what)
    demand(len(table), f"{what} is empty: it has columns and no row")


def _is_within(value, least, above, most, below):
    """Return whether a number is within the limits; None is no limit."""
    return (
        (least is None or value >= least)
        and (above is None or value > above)
        and (most is None or value <= most)
        and (below is None or value < below)
    )


def _range(least, above, most, below):
    """Return limits in words: " from 0 to 1", " above 0", or "" if there are none."""
    low = ""
    if least is not None:
        low = f" from {least:,}"
    elif above is not None:
        low = f" above {above:,}"
    if most is not None:
        return f"{low}{' to' if least is not None else ', at most' if low else ' of at most'} {most:,}"
    if below is not None:
        return f"{low}{' to' if least is not None else ' and' if low else ''} below {below:,}"
    return f"{low} up" if least is not None else low


def bring(name: str, for_what: str, extra: str = "rl") -> Any:
    """Import and return a module, or "module:thing" from one, of the libraries of an extra.

    Raises:
        ImportError: The library is missing; the message has the command that installs it.

    >>> bring("json:loads", "reading")("3")
    3
    """
    module, _, thing = name.partition(":")
    try:
        there = import_module(module)
        return getattr(there, thing) if thing else there
    except ImportError as error:
        raise ImportError(
            f"{for_what} needs {module} ({error}); get it by pip install 'pushlab[{extra}]'"
        ) from error
