"""Loops compiled by numba and cached on disk. Without numba the same functions run as plain Python, only slower.

numba's own cache doesn't notice edits in other files. So the cache folder is named after a digest of all source files:
any edit leads to a new, empty folder. The four newest folders are kept.
"""

from __future__ import annotations

import itertools
import os
import shutil
import types
from contextlib import suppress
from functools import cache
from typing import Any

from pushlab.utils.cache import package_digest
from pushlab.utils.files import cache_dir, ensure_private

try:
    from numba import njit
    from numba.core import config
    from numba.core.bytecode import FunctionIdentity
    from numba.core.dispatcher import Dispatcher
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

    def _compile(function, cached=True, **options):
        cached = cached and function.__module__.startswith("pushlab.")
        folder = _cache_folder() if cached else ""
        previous_folder = config.CACHE_DIR
        config.CACHE_DIR = folder or previous_folder
        try:
            function = njit(
                function,
                cache=bool(folder),
                nogil=True,
                no_cfunc_wrapper=True,
                **options,
            )
        finally:
            config.CACHE_DIR = previous_folder
        if folder and isinstance(function, Dispatcher):  # numba can be disabled
            _recompile_if_damaged(function._cache)
        return function

    def _compile_inner(function, **options):
        """Compile without the entry point for Python, which would take a third of the compile time."""
        options |= {"error_model": "numpy", "no_cpython_wrapper": True}
        function = _compile(function, cached=False, **options)
        if isinstance(function, Dispatcher):
            function.__class__ = _InnerFunction
        return function

    class _InnerFunction(Dispatcher):
        """A function that compiled loops call. Called from Python it runs uncompiled."""

        def __call__(self, *arguments):
            return self.py_func(*arguments)


MAX_FOLDERS = 4


@cache
def _cache_folder() -> str:
    """Return the cache folder of this version of the sources, or "" if other users can write there.

    Compiled code is run by later processes, so no other user may change it. Old folders are removed.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return os.path.join(os.environ["NUMBA_CACHE_DIR"], package_digest())
    folder = cache_dir() / "compiled"
    if not ensure_private(folder):
        return ""
    (folder / package_digest()).mkdir(exist_ok=True)
    with suppress(FileNotFoundError):  # another process may remove them too
        versions = sorted(folder.iterdir(), key=os.path.getmtime, reverse=True)
        for version in versions[MAX_FOLDERS:]:
            shutil.rmtree(version, ignore_errors=True)
    return str(folder / package_digest())


def _recompile_if_damaged(function_cache: Any) -> None:
    """Discard a function's cache files if they can't be loaded; otherwise numba would raise at every call."""
    load = function_cache.load_overload

    def load_or_discard(*arguments):
        try:
            return load(*arguments)
        except Exception:
            function_cache.flush()
            return None

    function_cache.load_overload = load_or_discard


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
