"""Loops compiled by numba and cached on disk. Without numba the same functions run as plain Python, only slower.

numba's own cache doesn't notice edits in other files, and a damaged file crashes Python. So the cache folder is named
after a digest of all source files: any edit leads to a new, empty folder. Each file has a checksum; a damaged one is
compiled again.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import pickle
import shutil
import sys
import types
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from pushlab.utils.cache import package_digest, read_checked, write_checked
from pushlab.utils.files import cache_dir, ensure_private

try:
    from numba import njit
    from numba.core.bytecode import FunctionIdentity
    from numba.core.caching import NullCache
    from numba.core.compiler import CompileResult
    from numba.core.dispatcher import Dispatcher
    from numba.core.registry import CPUDispatcher
    from numba.core.serialize import dumps
except ImportError:  # a platform without numba

    def _compile(function, cached=True, **options):
        return function

    def _compile_inner(function, **options):
        return function

else:

    def _randomise_function_ids():
        """Make numba number functions from a random number on.

        numba numbers functions and record types from 1 in every process and uses the number in the names of cached
        code. Two processes could therefore give different functions the same name, and a third process that loads
        both would run the wrong one.
        """
        first = int.from_bytes(os.urandom(6), "big")
        FunctionIdentity._unique_ids = itertools.count(first)

    _randomise_function_ids()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_randomise_function_ids)

    class _LoopCache(NullCache):
        """Machine code of a function on disk, one file for each signature."""

        def __init__(self, loop, folder):
            self._loop = loop
            self._folder = folder

        def load_overload(self, sig, target_context):
            target_context.refresh()
            data = read_checked(self._file(sig))
            if data is None:
                return None
            return CompileResult._rebuild(target_context, *pickle.loads(data))

        def save_overload(self, sig, data):
            if not data.library.has_dynamic_globals:  # addresses in this process
                with suppress(OSError):
                    write_checked(self._file(sig), dumps(data._reduce()))

        def _file(self, sig):
            loop = self._loop
            machine = loop.targetctx.codegen().magic_tuple()
            key = repr((sys.version, machine, loop.__module__, loop.__qualname__, sig))
            # The source can have been edited since the digest of pushlab was computed.
            source = Path(loop.__code__.co_filename).read_bytes()
            digest = hashlib.sha256(key.encode() + source).hexdigest()
            return self._folder / f"{loop.__name__}-{digest[:16]}.loop"

    def _compile(function, cached=True, **options):
        function = njit(function, nogil=True, no_cfunc_wrapper=True, **options)
        cached = cached and function.__module__.startswith("pushlab.")
        # numba can be disabled.
        if cached and isinstance(function, Dispatcher) and (folder := _cache_folder()):
            function._cache = _LoopCache(function, folder)
        return function

    def _compile_inner(function, **options):
        """Compile without the entry point for Python, which would take a third of the compile time."""
        options |= {"error_model": "numpy", "no_cpython_wrapper": True}
        function = _compile(function, cached=False, **options)
        if isinstance(function, Dispatcher):
            function.__class__ = _InnerFunction
        return function

    class _InnerFunction(CPUDispatcher):
        """A function that compiled loops call. Called from Python it runs uncompiled."""

        def __call__(self, *arguments):
            return self.py_func(*arguments)


@cache
def _cache_folder() -> Path | None:
    """Return the cache folder of this version of the sources, or None if other users can write there.

    Compiled code is run by later processes, so no other user may change it. The four newest folders are kept.
    """
    folder = cache_dir() / "compiled"
    if not ensure_private(folder):
        return None
    current = folder / package_digest()
    with suppress(OSError):  # read-only, or removed by another process
        current.mkdir(exist_ok=True)
        others = {*folder.iterdir()} - {current}
        newest = sorted(others, key=os.path.getmtime, reverse=True)
        for version in newest[3:]:
            shutil.rmtree(version, ignore_errors=True)
    return current


def compiled(function: Any) -> Any:
    """Compile a function. Division by zero raises, as in Python."""
    return _compile(function)


def compiled_numeric(function: Any) -> Any:
    """Compile a loop over numbers. Division by zero gives inf, so that the loop can be vectorised."""
    return _compile(function, error_model="numpy")


def compiled_in_place(function: Any) -> Any:
    """Compile a loop that creates no array, without reference counting."""
    return _compile(function, error_model="numpy", _nrt=False)


def compiled_fastmath(function: Any) -> Any:
    """Compile a loop of long sums. The compiler may change the order of additions."""
    return _compile(
        function, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )


def inlined(function: Any) -> Any:
    """Mark a small function that is inlined into compiled loops."""
    return _compile(function, cached=False, inline="always", error_model="numpy")


def specialised(loop: Any, name: str, **parts: Any) -> Any:
    """Compile a copy of `loop` with `parts` in place of the globals of the same names.

    If a part is defined outside pushlab, such as a model in a notebook, each process compiles the copy again.

    Args:
        name: Suffix of the copy's name. It must be different for each copy.

    >>> from pushlab.envs.random_numbers import uniform_at
    >>> specialised(uniform_at.py_func, "example").py_func.__qualname__
    'uniform_at_example'
    """
    copy = types.FunctionType(
        loop.__code__, {**loop.__globals__, **parts}, loop.__name__
    )
    copy.__qualname__ = f"{loop.__name__}_{name}"
    modules = [
        getattr(part, "__module__", None) or "pushlab" for part in parts.values()
    ]
    from_pushlab = all(module.startswith("pushlab") for module in modules)
    return _compile(copy, cached=from_pushlab, error_model="numpy")


def compiled_helper(function: Any) -> Any:
    """Compile a function of numbers that is called only by compiled loops."""
    return _compile_inner(function)


def compiled_helper_in_place(function: Any) -> Any:
    """Compile a function that is called only by loops of `compiled_in_place`."""
    return _compile_inner(function, _nrt=False, forceinline=True)
