"""Validation of arguments. Each function returns the value if it is valid, and raises ValueError otherwise.

The message has the argument's name, the valid values and the value. `require` checks any other condition.

>>> validate_integer("seed", 7), validate_number("share", 0.5, 0, 1), validate_choice("kind", "a", ("a", "b"))
(7, 0.5, 'a')
>>> validate_number("discount", 1, 0, below=1)
Traceback (most recent call last):
ValueError: discount must be a number, 0 or more and below 1; got 1
"""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pushlab.utils.issues import BadData, shorten

if TYPE_CHECKING:
    import pandas as pd


# Fraction and Decimal aren't included: NumPy stores them as objects.
NUMBER_TYPES = (int, float, np.integer, np.floating)


def require(condition: Any, message: str) -> None:
    """Raise ValueError with this message unless the condition is true.

    The message is built on every call. If that is slow, use `if` instead.
    """
    if not condition:
        raise ValueError(message)


def short_repr(value: Any) -> str:
    """Return the repr of a value on one line, cut to 60 characters, for a message.

    >>> short_repr(np.eye(2))
    'array([[1., 0.], [0., 1.]])'
    """
    return " ".join(repr(value)[:1000].split())[:60]


@contextmanager
def error_context(name: str, value: Any) -> Iterator[None]:
    """Context manager that adds an argument's name and value to errors raised inside it.

    A TypeError or OverflowError becomes a ValueError. BadData isn't changed, since its issues name a file. An error
    whose message already has the name isn't changed either.

    >>> with error_context("people", "friends.csv"):
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
        raise kind(f"{name}={short_repr(value)}: {error}") from error


# {name in WhyNot or room-env: our name}, unless the two are similar.
ORIGINAL_NAMES = {
    "delta_t": "the argument timestep (in World3 dt)",
    "rtol": "the argument tolerance",
    "atol": "the argument tolerance",
    "uninfected_T1": "T1",
    "infected_T1": "T1*",
    "uninfected_T2": "T2",
    "infected_T2": "T2*",
    "free_virus": "V",
    "immune_response": "E",
    "theta": "the action",
    "base_state": "the argument people",
    "probs": "p_commonsense, p_new_location, p_new_object and p_switch_person",
    "limits": "n_people, n_objects and n_locations",
    "disjoint_entities": "always true",
}


def suggestion(
    word: Any, choices: Iterable[str], our_names: Mapping[str, str] = {}
) -> str:
    """Return the end of a message that has the entry of `our_names` for a word, or the choice most like it.

    It is "" if there is none.

    >>> suggestion("Freinds", ["family", "friends"]), suggestion("sports", ["family", "friends"])
    ("; did you mean 'friends'?", '')
    >>> suggestion("free_virus", ["T1", "V"], ORIGINAL_NAMES)
    "; 'free_virus' is V here"
    """
    if isinstance(word, str) and word in our_names:
        return f"; {word!r} is {our_names[word]} here"
    by_lowercase = {choice.casefold(): choice for choice in choices}
    lowercase = str(word).casefold()
    matches = difflib.get_close_matches(lowercase, by_lowercase, 1, 0.7)
    return f"; did you mean {by_lowercase[matches[0]]!r}?" if matches else ""


def construct(kind: Any, arguments: Mapping[str, Any]) -> Any:
    """Return `kind(**arguments)`. The TypeError for an unknown argument names the valid ones."""
    try:
        return kind(**arguments)
    except TypeError as error:
        match = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if match is None or match[1] not in arguments:
            raise
        names: dict[str, None] = {}
        for base in kind.__mro__[:-1]:
            names |= dict.fromkeys(inspect.signature(base).parameters)
        # These collect arguments of any names.
        for name in ("args", "kwargs", "arguments", "settings"):
            names.pop(name, None)
        raise TypeError(
            f"{kind.name} has no argument {match[1]!r}; its arguments: {', '.join(names) or 'none'}"
            + suggestion(match[1], names, ORIGINAL_NAMES)
        ) from error


def is_number(value: Any) -> bool:
    """Return whether the value is a finite Python or NumPy number. True and False aren't numbers.

    >>> is_number(2.5), is_number(True), is_number("2"), is_number(float("nan")), is_number(10**400)
    (True, False, False, False, False)
    """
    try:
        return (
            isinstance(value, NUMBER_TYPES)
            and not isinstance(value, bool)
            and math.isfinite(value)
        )
    except OverflowError:  # an int too large for a float
        return False


def validate_choice(
    name: str,
    value: Any,
    choices: Iterable[Any],
    our_names: Mapping[str, str] = {},
) -> Any:
    """Return the value if it equals one of the choices and has its type. `our_names` is as in `suggestion`.

    >>> validate_choice("opening", "always", ("sampled", "matched"))
    Traceback (most recent call last):
    ValueError: opening must be one of sampled, matched; got 'always'
    """
    choices = tuple(choices)
    if not any(
        isinstance(value, type(choice)) and value == choice for choice in choices
    ):
        raise ValueError(
            f"{name} must be one of {', '.join(map(str, choices))}; got {short_repr(value)}"
            + suggestion(value, map(str, choices), our_names)
        )
    return value


def validate_bool(name: str, value: Any) -> bool:
    """Return the value as a bool if it is a Python or NumPy bool; 1, "yes" and None aren't valid.

    >>> validate_bool("reveal", 1)
    Traceback (most recent call last):
    ValueError: reveal must be True or False; got 1
    """
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} must be True or False; got {short_repr(value)}")
    return bool(value)


def validate_callable(name: str, value: Any) -> Any:
    """Return the value if it is callable.

    >>> validate_callable("make", 5)
    Traceback (most recent call last):
    ValueError: make must be callable; got 5
    """
    require(callable(value), f"{name} must be callable; got {short_repr(value)}")
    return value


def validate_choices(name: str, value: Any, choices: Iterable[str]) -> tuple[str, ...]:
    """Return the value as a tuple if it is one of the choices, or a list of different ones.

    >>> validate_choices("visible", "age", ("age", "debt"))
    ('age',)
    >>> validate_choices("visible", ["debt", "age"], ("age", "debt"))
    ('debt', 'age')
    >>> validate_choices("visible", ["age", "mood"], ("age", "debt"))
    Traceback (most recent call last):
    ValueError: visible must be one or more of age, debt, each once; got ['age', 'mood']
    """
    choices = tuple(choices)
    words = [value] if isinstance(value, str) else value
    is_valid = (
        isinstance(words, (list, tuple))
        and all(isinstance(word, str) and word in choices for word in words)
        and 0 < len(words) == len(set(words))
    )
    require(
        is_valid,
        f"{name} must be one or more of {', '.join(choices)}, each once; got {short_repr(value)}",
    )
    return tuple(words)


def validate_integer(
    name: str,
    value: Any,
    minimum: int | None = None,
    maximum: int | None = None,
    unit: str = "",
) -> int:
    """Return the value as an int if it is an integer from `minimum` to `maximum`, both included.

    Python and NumPy integers are valid; 3.0, "3" and True aren't.

    Args:
        minimum, maximum: Limits. None means no limit.
        unit: Unit for the message, such as "days".

    >>> validate_integer("horizon", 0, 1, 84, unit="days")
    Traceback (most recent call last):
    ValueError: horizon must be a whole number of days from 1 to 84; got 0
    """
    is_integer = is_number(value) and isinstance(value, (int, np.integer))
    if not is_integer or not _is_within(value, minimum, None, maximum, None):
        noun = f"a whole number of {unit}" if unit else "a whole number"
        limits = range_text(minimum, None, maximum, None)
        raise ValueError(f"{name} must be {noun}{limits}; got {short_repr(value)}")
    return int(value)


def validate_number(
    name: str,
    value: Any,
    minimum: float | None = None,
    maximum: float | None = None,
    *,
    above: float | None = None,
    below: float | None = None,
    unit: str = "",
) -> Any:
    """Return the value as a Python number if it is finite and within the limits.

    Args:
        minimum, maximum: Limits that are included. maximum=math.inf makes infinity valid.
        above, below: Limits that are excluded.
        unit: Unit for the message, such as "days".
    """
    # As a Python number, since a limit can be too large for a float16.
    plain = value.item() if isinstance(value, np.generic) else value
    is_allowed_inf = (
        maximum == math.inf and isinstance(plain, float) and plain == math.inf
    )
    is_valid = (is_allowed_inf or is_number(plain)) and _is_within(
        plain, minimum, above, maximum, below
    )
    if not is_valid:
        limits = range_text(minimum, above, maximum, below)
        noun = "a number" if limits else "a finite number"
        if unit:
            noun += f" of {unit}"
        raise ValueError(f"{name} must be {noun}{limits}; got {short_repr(value)}")
    return plain


def validate_array(
    name: str, value: Any, shape: tuple | None = None, description: str = ""
) -> np.ndarray:
    """Return the value as a float64 array if all its numbers are finite and it has this shape.

    Args:
        shape: Required shape. None allows any.
        description: Description of the numbers for the message.

    >>> validate_array("weights", [1, 2], (2,)).tolist()
    [1.0, 2.0]
    >>> validate_array("weights", [1, "two"], (2,), description="one per agent")
    Traceback (most recent call last):
    ValueError: weights must be finite numbers of shape (2,), one per agent; got [1, 'two']
    """
    try:
        array = np.array(value)
        if array.dtype.kind not in "iuf":
            raise ValueError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        array = np.array(math.nan)
    if not np.isfinite(array).all() or shape not in (None, array.shape):
        details = "" if shape is None else f" of shape {shape}"
        if description:
            details += f", {description}"
        raise ValueError(
            f"{name} must be finite numbers{details}; got {short_repr(value)}"
        )
    return array


def float_array(name: str, value: Any) -> np.ndarray:
    """Return the value as a float64 array of any shape. Unlike in `validate_array`, NaN and infinity are valid."""
    with error_context(name, value):
        return np.asarray(value, float)


def make_rng(seed: Any) -> np.random.Generator:
    """Return NumPy's random generator for a seed."""
    with error_context("seed", seed):
        return np.random.default_rng(seed)


def validate_fraction(name: str, value: Any) -> Any:
    """Return the value if it is above 0 and below 1, such as the level of an interval."""
    return validate_number(name, value, above=0, below=1)


def require_probabilities(values: Mapping[str, Any]) -> None:
    """Raise ValueError unless each value of {name: value} is a probability, 0 and 1 included."""
    for name, value in values.items():
        validate_number(name, value, 0, 1)


def require_columns(
    table: pd.DataFrame, *names: str, table_name: str = "the table"
) -> None:
    """Raise ValueError unless the table has all of these columns."""
    is_table = hasattr(table, "columns")
    require(is_table, f"{table_name} must be a DataFrame; got {short_repr(table)}")
    missing = [name for name in names if name not in table.columns]
    if missing:
        columns = ", ".join(map(str, table.columns)) or "none"
        raise ValueError(
            f"{table_name} has no column {missing[0]!r}; it has {shorten(columns, 200)}"
        )


def require_rows(
    table: pd.DataFrame, *names: str, table_name: str = "the table"
) -> None:
    """Raise ValueError unless the table has all of these columns and at least one row."""
    require_columns(table, *names, table_name=table_name)
    require(len(table), f"{table_name} has no rows")


def _is_within(value, minimum, above, maximum, below):
    """Return whether a number is within the limits. None means no limit."""
    return (
        (minimum is None or value >= minimum)
        and (above is None or value > above)
        and (maximum is None or value <= maximum)
        and (below is None or value < below)
    )


def range_text(
    minimum: float | None,
    above: float | None,
    maximum: float | None,
    below: float | None,
) -> str:
    """Return the limits as words, to follow "a number" in a message.

    >>> range_text(0, None, 1, None), range_text(1, None, None, None), range_text(None, 0, 5, None)
    (' from 0 to 1', ', 1 or more', ' above 0 and at most 5')
    """
    if maximum == math.inf:
        maximum = None
    if minimum is not None and maximum is not None:
        return f" from {minimum:,} to {maximum:,}"
    parts = []
    if minimum is not None:
        parts.append(f", {minimum:,} or more")
    if above is not None:
        parts.append(f" above {above:,}")
    if maximum is not None:
        parts.append(f" at most {maximum:,}" if parts else f", {maximum:,} or less")
    if below is not None:
        parts.append(f" below {below:,}")
    return " and".join(parts)


def import_optional(name: str, needed_by: str, extra: str = "rl") -> Any:
    """Import and return an optional module, or an object of it.

    Args:
        name: "module" or "module:object".
        needed_by: Name of the feature that needs the module, for the message.
        extra: Extra of pushlab that installs the module.

    Raises:
        ImportError: The module isn't installed. The message has the command that installs it.

    >>> import_optional("json:loads", "reading")("3")
    3
    """
    module_name, _, attribute = name.partition(":")
    try:
        module = import_module(module_name)
        return getattr(module, attribute) if attribute else module
    except ImportError as error:
        raise ImportError(
            f"{needed_by} needs {module_name} ({error}); install it with: pip install 'pushlab[{extra}]'"
        ) from error
