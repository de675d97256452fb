"""Cached results on disk: one file each, named by a label and a fingerprint of everything the result depends on.

After a change of anything that a result depends on, the file has another name. The old file stays and is used again if
the change is undone. An edit of any source file of pushlab changes all fingerprints, so a cached result never comes
from older code. Files are written atomically and have a checksum.
"""

import functools
import hashlib
import inspect
import json
import os
import re
import sys
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from pickle import PickleError
from typing import Any

import numpy as np

from pushlab.utils.files import cache_dir, data_dir, ensure_private, write_bytes

NUMERICAL_PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
DATA_FOLDERS = ("credit", "people", "push", "room", "schemas", "syllabi")
# joblib hashes objects of these modules.
HASHABLE_MODULES = ("numpy", "pandas", "builtins")
CHECKSUM_WIDTH = 69  # with its brackets
INSTALLED = (*sys.stdlib_module_names, "numpy", "pandas", "gymnasium", "pushlab")


@functools.cache
def package_digest() -> str:
    """Return a digest of pushlab's sources, its environments' data, and the versions of numerical packages."""
    package = Path(__file__).parents[1]
    files = [*package.rglob("*.py"), *package.rglob("*.toml")]
    for name in DATA_FOLDERS:
        files += (data_dir() / name).rglob("*.*")
    digest = hashlib.sha256()
    for file in sorted(files):
        digest.update(file.read_bytes())
    for name in NUMERICAL_PACKAGES:
        with suppress(PackageNotFoundError):
            digest.update(version(name).encode())
    return digest.hexdigest()[:16]


def fingerprint(*values: Any) -> str:
    """Return a checksum of pushlab and of `values`, 16 hexadecimal digits.

    Values are numbers, text, arrays, tables, functions, classes, and containers or objects made of these. The checksum
    of a function or class covers its whole file. If it is defined in a notebook, the checksum covers the functions,
    classes and values of the notebook that it uses. The checksum of a path of an existing file covers the content. The
    same holds for a folder given as a Path or as text with a slash, such as "users/mira", and for the file of a module
    that is loaded, given as "module:name".

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
        raise ValueError(f"can't hash {values!r:.60}: {error}") from error
    return checksum[:16]


def _describe(value, seen):
    """Replace functions, classes and files within a value by content that joblib can hash."""
    value = getattr(value, "py_func", value)  # set in compiled functions
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
    if isinstance(value, types.CodeType):  # the source may exist only in a notebook
        constants = _describe_used(value.co_consts, seen)
        return [value.co_code, value.co_names, value.co_varnames, constants]
    if inspect.ismethod(value):
        return _describe((value.__func__, value.__self__), seen)
    if inspect.isroutine(value) or isinstance(value, type):
        return _describe_code(value, seen)
    kind = type(value)
    has_attributes = hasattr(value, "__dict__") or hasattr(kind, "__slots__")
    if has_attributes and kind.__module__.partition(".")[0] not in HASHABLE_MODULES:
        if id(value) in seen:
            return "seen before"
        seen.add(id(value))
        attributes = _describe(object.__getstate__(value), seen)
        return [_describe_code(kind, seen), attributes]
    return value


def _describe_code(definition, seen):
    """Return the source of a function or class and of everything it uses, or only its name if it is installed."""
    module = getattr(definition, "__module__", None) or "builtins"
    name = f"{module}.{getattr(definition, '__qualname__', definition)}"
    if module.partition(".")[0] in INSTALLED or id(definition) in seen:
        return name
    seen.add(id(definition))
    file = getattr(sys.modules.get(module), "__file__", None)
    in_file = module != "__main__" and file
    parts = [name, Path(file).read_bytes() if in_file else None]
    if isinstance(definition, type):
        if not in_file:
            parts.append(_describe(_attributes(definition), seen))
        return parts + [_describe_code(base, seen) for base in definition.__mro__[1:]]
    if not hasattr(definition, "__code__"):  # such as a function with functools.cache
        return [*parts, _describe(getattr(definition, "__wrapped__", None), seen)]
    used = [cell.cell_contents for cell in definition.__closure__ or ()]
    used += [
        *(definition.__defaults__ or ()),
        *(definition.__kwdefaults__ or {}).values(),
    ]
    if not in_file:
        parts.append(_describe(definition.__code__, seen))
        names = sorted(_global_names(definition.__code__))
        used += [definition.__globals__.get(name) for name in names]
    return parts + _describe_used(used, seen)


def _attributes(kind):
    """Return the attributes that a class defines itself, by name."""
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
    """Describe values that code uses. Paths count as text, since the code may write there."""
    described = []
    for value in values:
        if isinstance(value, (str, Path)):
            described.append(str(value))
        elif not inspect.ismodule(value):
            described.append(_describe(value, seen))
    return described


def _global_names(code):
    """Return the names of globals that code and its nested functions use."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _file_content(path):
    """Return the content of an existing file, of the files in an existing folder and next to it, or of a loaded module.

    A text "module:name" names a module.
    """
    module, colon, _ = str(path).partition(":")
    if colon and module in sys.modules:
        path = getattr(sys.modules[module], "__file__", None) or path
    may_be_folder = isinstance(path, Path) or os.path.dirname(path)
    with suppress(OSError, ValueError):
        path = Path(path)
        if path.is_file():
            return path.read_bytes()
        if may_be_folder and path.name and path.is_dir():
            files = sorted([*path.rglob("*"), *path.parent.glob("*")])
            return [file.read_bytes() for file in files if file.is_file()]


_is_enabled = ContextVar("whether the cache is used", default=True)
_computed: dict[Path, Any] = {}  # results of this process while the cache isn't used


def result_file(folder: Path | str, label: str, key: str) -> Path:
    """Return the path of a result's file in a folder.

    >>> result_file("results", "mira, seed 7", "0f3a").name
    'mira-seed-7-0f3a.json'
    """
    words = re.sub(r"[^\w.=+-]+", "-", label).strip("-.")
    words = words.encode()[:80].decode(errors="ignore")
    return Path(folder) / f"{words}-{key}.json"


def write_checked(file: Path, data: bytes) -> None:
    """Write data to a file with a checksum of the data and the file's name, as a JSON list if the data is JSON.

    The checksum detects damage, and a file in place of another. It is no protection against an attacker.
    """
    write_bytes(file, _with_checksum(file, data))


def read_checked(file: Path) -> bytes | None:
    """Return the data of `write_checked`, or None if the file is missing or, with a warning, if it is damaged."""
    try:
        content = file.read_bytes()
    except OSError:
        return None
    data = content[CHECKSUM_WIDTH:-1]
    if content == _with_checksum(file, data):
        return data
    _warn_of_damage(file.parent)
    return None


def _with_checksum(file, data):
    checksum = hashlib.sha256(file.name.encode() + data).hexdigest()
    return b'["%b",\n%b]' % (checksum.encode(), data)


@functools.cache  # one warning for each folder
def _warn_of_damage(folder):
    warnings.warn(
        f"{folder} has damaged files; their content is computed again", stacklevel=3
    )


def read_result(file: Path) -> Any:
    """Return the result in a file, or None if the file is missing or damaged."""
    data = read_checked(file)
    return None if data is None else json.loads(data)


def result_json(result: Any) -> bytes:
    """Return a result as JSON. Raises TypeError for a value that JSON can't represent."""
    return json.dumps(result, default=_to_json_type).encode()


def load_or_compute(label: str, key: str, compute: Callable[[], Any]) -> Any:
    """Return the result of `compute()` from the user's cache, or compute it and store it there.

    The cache isn't used inside `no_cache`, or if other users can write to its folder. Each result is then computed once
    in this process.
    """
    path = result_file(cache_dir() / "results", label, key)
    use_files = _is_enabled.get() and ensure_private(path.parent)
    result = read_result(path) if use_files else _computed.get(path)
    if result is None:
        data = result_json(compute())
        result = json.loads(data)
        if not use_files:
            _computed[path] = result
            return result
        with suppress(OSError):
            write_checked(path, data)
    return result


@contextmanager
def no_cache() -> Iterator[None]:
    """Context manager that disables the cache. Scoring needs it, since scored code may have written to the cache."""
    token = _is_enabled.set(False)
    try:
        yield
    finally:
        _is_enabled.reset(token)


def _to_json_type(value):
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"JSON can't represent {value!r:.60}, a {type(value).__name__}")
