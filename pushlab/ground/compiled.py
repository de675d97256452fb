"""Loops compiled by numba and cached on disk; without numba the same functions run as plain Python, slower.

numba's own cache can't see an edit in another file. The cache folder is therefore named after a digest of all
source files: any edit leads to a new, empty folder, and the four newest stay.
"""

from __future__ import annotations

import itertools
import os
import shutil
import types
from contextlib import suppress
from functools import cache
from typing import Any

from pushlab.ground.files import cache_dir, is_private
from pushlab.ground.store import package_digest

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

    def _number_functions_anew():
        """Number compiled functions from a random number on.

        The number is part of a function's name in cached code, and numba counts functions and record types from 1 in
        every process. Code from two processes could otherwise have one name for different things, and a third
        process that loads both would run the wrong one.
        """
        first = int.from_bytes(os.urandom(6), "big")
        FunctionIdentity._unique_ids = itertools.count(first)

    _number_functions_anew()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_number_functions_anew)

    def _compile(function, cached=True, **options):
        cached = cached and function.__module__.startswith("pushlab.")
        folder = _cache_folder() if cached else ""
        before, config.CACHE_DIR = config.CACHE_DIR, folder or config.CACHE_DIR
        try:
            function = njit(
                function,
                cache=bool(folder),
                nogil=True,
                no_cfunc_wrapper=True,
                **options,
            )
        finally:
            config.CACHE_DIR = before
        if folder and isinstance(function, Dispatcher):  # numba can be switched off
            _recompile_if_damaged(function._cache)
        return function

    def _compile_inner(function, **options):
        """Compile without the entry point for Python, which takes a third of the time to compile."""
        options |= {"error_model": "numpy", "no_cpython_wrapper": True}
        function = _compile(function, cached=False, **options)
        if isinstance(function, Dispatcher):
            function.__class__ = _InnerFunction
        return function

    class _InnerFunction(Dispatcher):
        """A function that compiled loops call; called from Python it runs uncompiled."""

        def __call__(self, *arguments):
            return self.py_func(*arguments)


STATES_KEPT = 4


@cache
def _cache_folder() -> str:
    """Return the folder for this state of pushlab, or "" if it can't be trusted; remove the oldest ones.

    Compiled code is run by the next process, so others must not be able to write there.
    """
    if "NUMBA_CACHE_DIR" in os.environ:
        return os.path.join(os.environ["NUMBA_CACHE_DIR"], package_digest())
    folder = cache_dir() / "compiled"
    if not is_private(folder):
        return ""
    (folder / package_digest()).mkdir(exist_ok=True)
    with suppress(FileNotFoundError):  # another process removes some too
        states = sorted(folder.iterdir(), key=os.path.getmtime, reverse=True)
        for state in states[STATES_KEPT:]:
            shutil.rmtree(state, ignore_errors=True)
    return str(folder / package_digest())


def _recompile_if_damaged(stored: Any) -> None:
    """Discard a function's cache files if they can't be loaded; numba would raise at every call."""
    load = stored.load_overload

    def load_or_discard(*arguments):
        try:
            return load(*arguments)
        except Exception:
            stored.flush()
            return None

    stored.load_overload = load_or_discard


def compiled(function: Any) -> Any:
    """Compile a function; a division by zero raises, as in Python."""
    return _compile(function)


def compiled_numeric(function: Any) -> Any:
    """Compile a loop over numbers; a division by zero gives inf, so that the loop can be vectorised."""
    return _compile(function, error_model="numpy")


def compiled_in_place(function: Any) -> Any:
    """Compile a loop that creates no array; numba then leaves out reference counting."""
    return _compile(function, error_model="numpy", _nrt=False)


def compiled_sums(function: Any) -> Any:
    """Compile a loop of long sums, whose order of addition may change."""
    return _compile(
        function, error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )


def inlined(function: Any) -> Any:
    """Mark a small function whose code compiled loops copy in place of a call."""
    return _compile(function, cached=False, inline="always", error_model="numpy")


def specialised(loop: Any, name: str, **parts: Any) -> Any:
    """Compile `loop` with `parts` in place of its globals of the same names.

    Parts defined outside pushlab, such as a model in a notebook, are compiled anew in each process.

    Args:
        name: Suffix of the copy's name, different for each copy.

    >>> from pushlab.envs.chance import uniform_at
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


def inner(function: Any) -> Any:
    """Compile a function of numbers that compiled loops call in several places."""
    return _compile_inner(function)


def inner_in_place(function: Any) -> Any:
    """Compile a function that loops of `compiled_in_place` call."""
    return _compile_inner(function, _nrt=False, forceinline=True)
