"""Finished results on disk: one file each, named by a label and by the fingerprint of everything it depends on.

A result is written under another name and renamed, so a file is whole or absent. After a change of anything that a
result depends on, its file has another name. The old file stays and is used again if the change is undone. An edit of
any source file of pushlab changes every fingerprint, so a stored result never belongs to older code.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from pickle import PickleError
from typing import Any

import numpy as np

from pushlab.ground.files import cache_dir, data_dir, is_private, write_text

NUMERICAL = ("numpy", "scipy", "scikit-learn", "numba")
# Folders that environments read.
DATA = ("credit", "people", "push", "room", "schemas", "syllabi")
PICKLED = ("numpy", "pandas", "builtins")  # joblib hashes objects of these
INSTALLED = (*sys.stdlib_module_names, "numpy", "pandas", "gymnasium", "pushlab")


@functools.cache
def package_digest() -> str:
    """Return a digest of pushlab's sources, the data of environments, and the versions of numerical packages."""
    files = [*Path(__file__).parents[1].rglob("*.py")]
    for name in DATA:
        files += (data_dir() / name).rglob("*.*")
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    for name in NUMERICAL:
        with suppress(PackageNotFoundError):
            digest.update(version(name).encode())
    return digest.hexdigest()[:16]


def fingerprint(*values: Any) -> str:
    """Return a checksum of pushlab and of `values`, 16 hexadecimal digits.

    Values are numbers, text, arrays, tables, functions, classes, and containers or objects made of these. A function
    or class in a file counts with the whole file; one in a notebook counts with the functions, classes and values of
    the notebook that it uses. The name of an existing file counts with the file's content; so does a folder, if it is
    a Path or text such as "users/mira": a single word is only a word.

    Raises:
        ValueError: A value can't be hashed, such as an open file.

    >>> def double(x): return FACTOR * x
    >>> FACTOR, before = 2, fingerprint("mira", 1)
    >>> before == fingerprint("mira", 1), before == fingerprint("mira", 2)
    (True, False)
    """
    import joblib

    try:
        described = _describe(values, set())
        checksum = joblib.hash([package_digest(), described])
    except (TypeError, AttributeError, RecursionError, PickleError) as error:
        raise ValueError(
            f"a result can't be named after {values!r:.60}: {error}"
        ) from error
    return checksum[:16]


def _describe(value, seen):
    """Replace functions, classes and files within a value by text that joblib can hash."""
    value = getattr(value, "py_func", value)  # of a compiled function
    if isinstance(value, (dict, types.MappingProxyType)):
        return [(str(key), _describe(part, seen)) for key, part in value.items()]
    if isinstance(value, (set, frozenset)):
        return sorted(repr(_describe(part, seen)) for part in value)
    if isinstance(value, (list, tuple)):
        kind = _describe_code(type(value), seen)
        return [kind, *(_describe(part, seen) for part in value)]
    if isinstance(value, (str, Path)):
        return [str(value), _file_content(value)]
    if isinstance(value, functools.partial):
        return _describe((value.func, value.args, value.keywords), seen)
    if isinstance(value, types.CodeType):  # whose source may be in a notebook only
        constants = _describe_used(value.co_consts, seen)
        return [value.co_code, value.co_names, value.co_varnames, constants]
    if inspect.ismethod(value):
        return _describe((value.__func__, value.__self__), seen)
    if inspect.isroutine(value) or isinstance(value, type):
        return _describe_code(value, seen)
    kind = type(value)
    has_parts = hasattr(value, "__dict__") or hasattr(kind, "__slots__")
    if has_parts and kind.__module__.partition(".")[0] not in PICKLED:
        if id(value) in seen:
            return "seen before"
        seen.add(id(value))
        parts = _describe(object.__getstate__(value), seen)
        return [_describe_code(kind, seen), parts]
    return value


def _describe_code(thing, seen):
    """Return the source of a function or class with everything it uses, or its name if it's installed."""
    module = getattr(thing, "__module__", None) or "builtins"
    name = f"{module}.{getattr(thing, '__qualname__', thing)}"
    if module.partition(".")[0] in INSTALLED or id(thing) in seen:
        return name
    seen.add(id(thing))
    file = getattr(sys.modules.get(module), "__file__", None)
    in_file = module != "__main__" and file
    parts = [name, Path(file).read_bytes() if in_file else None]
    if isinstance(thing, type):
        if not in_file:
            parts.append(_describe(_attributes(thing), seen))
        return parts + [_describe_code(base, seen) for base in thing.__mro__[1:]]
    if not hasattr(thing, "__code__"):  # such as a function with functools.cache
        return [*parts, _describe(getattr(thing, "__wrapped__", None), seen)]
    used = [cell.cell_contents for cell in thing.__closure__ or ()]
    used += [*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values()]
    if not in_file:
        parts.append(_describe(thing.__code__, seen))
        names = sorted(_global_names(thing.__code__))
        used += [thing.__globals__.get(name) for name in names]
    return parts + _describe_used(used, seen)


def _attributes(kind):
    """Return the attributes of a class by name, except those that Python adds to every class."""
    own = {}
    for name, part in sorted(vars(kind).items()):
        part = getattr(part, "__func__", getattr(part, "fget", part))
        if isinstance(part, functools.cached_property):
            part = part.func
        is_data = not name.startswith("__") and name != "_abc_impl"
        if inspect.isroutine(part) or (
            is_data and not inspect.ismemberdescriptor(part)
        ):
            own[name] = part
    return own


def _describe_used(values, seen):
    """Describe values that code uses; a path counts as text, since code may write there."""
    described = []
    for value in values:
        if isinstance(value, (str, Path)):
            described.append(str(value))
        elif not inspect.ismodule(value):
            described.append(_describe(value, seen))
    return described


def _global_names(code):
    """Return the names of globals that code uses, nested functions included."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _file_content(path):
    """Return the content of an existing file, or of the files in an existing folder and beside it."""
    is_path = isinstance(path, Path) or os.path.dirname(path)
    with suppress(OSError, ValueError):
        path = Path(path)
        if path.is_file():
            return path.read_bytes()
        if is_path and path.name and path.is_dir():
            files = sorted([*path.rglob("*"), *path.parent.glob("*")])
            return [file.read_bytes() for file in files if file.is_file()]


_is_on = ContextVar("whether the cache is used", default=True)
_computed: dict[Path, Any] = {}


def result_file(folder: Path | str, label: str, key: str) -> Path:
    """Return the file of a result in a folder, whether or not it exists.

    >>> result_file("results", "mira, seed 7", "0f3a").name
    'mira-seed-7-0f3a.json'
    """
    words = re.sub(r"[^\w.=+-]+", "-", label).strip("-.")
    words = words.encode()[:80].decode(errors="ignore")
    return Path(folder) / f"{words}-{key}.json"


def read_result(file: Path) -> Any:
    """Return the result in a file, or None if there is none or the file is damaged."""
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None


def result_text(result: Any) -> str:
    """Return a result as JSON. Raises TypeError for a value that JSON can't hold."""
    return json.dumps(result, default=_plain)


def cached(label: str, key: str, compute: Callable[[], Any]) -> Any:
    """Return the result of `compute()` from the user's cache, or compute it and store it there.

    Nothing is read from or written to a folder that others can write to, or inside `no_cache`; each result is then
    computed once in this process.
    """
    path = result_file(cache_dir() / "results", label, key)
    is_on = _is_on.get() and is_private(path.parent)
    result = read_result(path) if is_on else _computed.get(path)
    if result is None:
        text = result_text(compute())
        result = json.loads(text)
        if not is_on:
            _computed[path] = result
            return result
        with suppress(OSError):
            write_text(path, text)
    return result


@contextmanager
def no_cache() -> Iterator[None]:
    """Compute results anew inside this block, for scoring: scored code may have run in the same account."""
    before = _is_on.set(False)
    try:
        yield
    finally:
        _is_on.reset(before)


def _plain(value):
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"JSON can't hold {value!r:.60}, a {type(value).__name__}")
