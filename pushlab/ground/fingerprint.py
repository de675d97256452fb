"""Fingerprints: checksums of everything that a stored result depends on.

An edit of any source file of pushlab changes every fingerprint, so a stored result never belongs to older code.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

PACKAGE = Path(__file__).parents[1]
NUMERICAL = ("numpy", "scipy", "scikit-learn", "numba")
INSTALLED = ("builtins", "functools", "numpy", "pandas", "pushlab", "gymnasium")


@functools.cache
def package_digest() -> str:
    """Return a digest of pushlab's sources and of the packages that its numbers depend on."""
    digest = hashlib.sha256()
    for file in sorted(PACKAGE.rglob("*.py")):
        digest.update(file.read_bytes())
    for name in NUMERICAL:
        digest.update(version(name).encode())
    return digest.hexdigest()[:16]


def fingerprint(*values: Any) -> str:
    """Return a checksum of pushlab and of `values`, 16 hexadecimal digits.

    Values are numbers, text, arrays, tables, paths, functions, classes, and containers or objects made of these.
    Functions and classes defined outside pushlab count by their source, files by their content. Modules and
    constants that such a function uses don't count.

    Raises ValueError if the source of a function can't be read.

    >>> def double(x): return 2 * x
    >>> fingerprint("mira", 1) == fingerprint("mira", 2)
    False
    """
    import joblib

    described = [package_digest(), *(_describe(value) for value in values)]
    return hashlib.sha256(joblib.hash(described).encode()).hexdigest()[:16]


def source(thing: Any) -> str:
    """Return the source of a function or class and of its bases; of those in an installed library, the name."""
    if isinstance(thing, type):
        return "\n".join(_own_source(base) for base in thing.__mro__)
    return _own_source(thing)


def _own_source(thing):
    module = getattr(thing, "__module__", None) or "builtins"
    name = f"{module}.{getattr(thing, '__qualname__', thing)}"
    if module.partition(".")[0] in INSTALLED:
        return name
    try:
        return inspect.getsource(thing)
    except (OSError, TypeError) as error:
        raise ValueError(
            f"the source of {name} can't be read, so its results can't be stored; "
            "define it in a file or a notebook cell"
        ) from error


def _describe(value):
    """Replace functions, classes and files within a value by text that joblib can hash."""
    if isinstance(value, dict):
        return [(str(key), _describe(part)) for key, part in value.items()]
    if isinstance(value, (list, tuple)):
        return [_describe(part) for part in value]
    if isinstance(value, (str, Path)):
        return _file_content(value) or str(value)
    if isinstance(value, functools.partial):
        return ["partial", *map(_describe, (value.func, value.args, value.keywords))]
    if inspect.ismethod(value):
        return [_describe(value.__func__), _describe(value.__self__)]
    if inspect.isroutine(value):
        cells = getattr(value, "__closure__", None) or ()
        closure = [_describe(cell.cell_contents) for cell in cells]
        return [source(value), closure, _describe(getattr(value, "__defaults__", None))]
    if isinstance(value, type):
        return source(value)
    if hasattr(value, "__dict__") and not isinstance(value, np.ndarray):
        module = type(value).__module__.partition(".")[0]
        if module not in ("pandas", "numpy"):
            return [source(type(value)), _describe(vars(value))]
    return value


def _file_content(path):
    """Return the bytes of an existing file, or of the files in an existing folder and beside it."""
    try:
        path = Path(path)
        if path.is_file():
            return path.read_bytes()
        if path.name and path.is_dir():
            files = [*path.rglob("*"), *path.parent.glob("*")]
            return [file.read_bytes() for file in sorted(files) if file.is_file()]
    except (OSError, ValueError):
        pass
    return None
