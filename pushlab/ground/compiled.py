"""Loops compiled by numba where it is installed; without it the same functions run as plain Python, slower.

What is compiled is kept on disk, known by the content of all it is made of. So the next process finds it there; and
where a line was changed, of the loop or of anything that it reaches in whatever file, it is compiled anew.

What is kept is code that the next process runs. So it lies in a folder of the user's own (`loops` in pushlab's cache,
see `pushlab.ground.files.cache_dir`), and nothing is kept where others could write; who sets NUMBA_CACHE_DIR to
another place answers for its rights.
"""

import hashlib
import itertools
import os
import re
import sys
import types
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pushlab.ground.content import Unknown, of_function
from pushlab.ground.files import cache_dir, own_folder

try:
    import llvmlite
    import numba
    from numba import njit
    from numba.core import config
    from numba.core.bytecode import FunctionIdentity
    from numba.core.caching import (
        CompileResultCacheImpl,
        FunctionCache,
        IndexDataCacheFile,
        NullCache,
        _CacheLocator,
    )
    from numba.core.dispatcher import Dispatcher
except (
    ImportError
):  # numba is a normal dependency; a platform without it still runs everything

    def compiled(loop):
        """The loop as it is."""
        return loop

    compiled_numeric = compiled_in_place = compiled_sums = inlined = inner = (
        inner_in_place
    ) = compiled
else:

    def _begin_names():
        """From now on compiled functions are numbered from a number that no other process begins with.

        The number is part of a function's name, and numba counts from 1 in every process. So parts of two loops from
        disk could have one name, as before and after an edit; the second loop would run with the parts of the first.
        """
        FunctionIdentity._unique_ids = itertools.count(
            int.from_bytes(os.urandom(6), "big")
        )

    _begin_names()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=_begin_names)

    KEPT = 8  # former states of a loop that stay on disk: who takes a change back need not wait again

    class _OwnFolder(_CacheLocator):
        """Where loops are kept: where NUMBA_CACHE_DIR says, or in a folder that nobody else writes to, or nowhere."""

        @classmethod
        def from_function(cls, py_func, py_file):
            return (
                cls()
                if config.CACHE_DIR or own_folder(cls().get_cache_path())
                else None
            )

        def get_cache_path(self):
            return config.CACHE_DIR or str(cache_dir() / "loops")

        def get_source_stamp(self):
            return ""  # the content is, and it is told at the first call

        get_disambiguator = get_source_stamp

    class _Kept(CompileResultCacheImpl):
        _locator_classes: list = [_OwnFolder]

    class ContentCache(FunctionCache):
        """The loops on disk: a file for each content, types of arguments and processor.

        numba's own cache knows a loop by the file it stands in, and is blind to a change in another one. And since a
        name stands for a content here, an interrupted or a second writer cannot leave an old loop under a new name.
        """

        _impl_class = _Kept

        def __init__(self, loop):
            super().__init__(loop.py_func)
            self._loop, self._keeps = loop, False
            self._name = f"{loop.__module__}.{loop.__qualname__}".replace(
                "<", ""
            ).replace(">", "")

        def load_overload(self, signature, target_context):
            # Not before the first call, when all modules are there and functions may stand in any order.
            try:
                inside = {}
                content = _note(self._loop, inside)
                # A function that was compiled before its globals changed, as in a notebook, is still the old one, and
                # so will be what is compiled around it: that is not to be found under the new content.
                self._keeps = all(
                    one is self._loop
                    or (made := _made_of(one)) is None
                    or made == of_function(one)
                    for one in inside.values()
                )
            except Unknown:
                self._keeps = False
            if not self._keeps:
                return None
            known = (
                signature,
                target_context.codegen().magic_tuple(),
                numba.__version__,
                llvmlite.__version__,
                config.OPT,
                config.BOUNDSCHECK,
                "names begin anywhere",
            )
            words = hashlib.sha256(str(known).encode()).hexdigest()[:8]
            self._cache_file = IndexDataCacheFile(
                self._cache_path, f"{self._name}.{content[:16]}.{words}", content
            )
            return super().load_overload(signature, target_context)

        def save_overload(self, signature, data):
            if self._keeps:
                super().save_overload(signature, data)
                self._tidy()

        def _tidy(self):
            mine = re.compile(
                re.escape(self._name) + r"\.([0-9a-f]{16})\.[0-9a-f]{8}(\.\d+)?\.nb[ic]"
            )
            with suppress(OSError):
                files = Path(self._cache_path).glob(f"{self._name}.*")
                files = sorted(
                    files, key=lambda file: file.stat().st_mtime, reverse=True
                )
                files = [
                    (file, match[1])
                    for file in files
                    if (match := mine.fullmatch(file.name))
                ]
                latest = list(dict.fromkeys(content for _, content in files))[:KEPT]
                for file, content in files:
                    if content not in latest:
                        file.unlink()

    class _Noted(NullCache):
        """No files: but what a function was made of when it was compiled is known afterwards."""

        def __init__(self, function):
            self._function = function

        def load_overload(self, signature, target_context):
            with suppress(Unknown):
                _note(self._function)

    def _note(loop, inside=None):
        """The content of a loop that is about to be compiled or loaded; `inside` is filled with what it reaches."""
        content = of_function(loop, inside)
        if not loop.overloads:
            loop.__dict__["_made_of"] = content
        return content

    def _made_of(thing):
        """The content of a loop as it was compiled; None of one that is not, or whose text is pasted in."""
        if (
            not getattr(thing, "overloads", None)
            or thing.targetoptions.get("inline") == "always"
        ):
            return None
        return thing.__dict__.get(
            "_made_of", "somebody else's, and when it was compiled nobody knows"
        )

    def _njit(**options):
        """numba's njit, whose functions are pickled by name where they can be found by it.

        numba would send their code along, which every process that gets it compiles anew.
        """

        def decorate(loop):
            loop = njit(**options)(loop)
            loop.__reduce_ex__ = partial(_by_name, loop)
            return loop

        return decorate

    def _by_name(loop, protocol):
        elsewhere = (
            loop.__module__ != "__main__"
        )  # another process has another main module
        found = (
            elsewhere
            and getattr(sys.modules.get(loop.__module__), loop.__name__, None) is loop
        )
        return loop.__name__ if found else type(loop).__reduce_ex__(loop, protocol)

    def _compile(**options):
        def decorate(loop):
            loop = _njit(nogil=True, no_cfunc_wrapper=True, **options)(loop)
            with suppress(
                RuntimeError, AttributeError
            ):  # nowhere to keep it; numba is switched off
                loop._cache = ContentCache(loop)
            return loop

        return decorate

    def _compile_inside(**options):
        def decorate(function):
            function = _njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(
                function
            )
            if isinstance(function, Dispatcher):
                function.__class__, function._cache = _Inside, _Noted(function)
            return function

        return decorate

    class _Inside(Dispatcher):
        """A function that compiled loops alone call as compiled; called from Python it runs as it is written."""

        def __call__(self, *arguments, **named):
            return self.py_func(*arguments, **named)

    compiled = _compile()
    # A division by zero gives inf instead of raising, without which loops of numbers cannot be vectorised.
    compiled_numeric = _compile(error_model="numpy")
    # For loops that work on given arrays and make none: without it references are counted to all arrays that a
    # function is given, which costs far more than the loops themselves.
    compiled_in_place = _compile(error_model="numpy", _nrt=False)
    # For sums over many numbers: they may be added in another order, several at a time. Nothing else is loosened.
    compiled_sums = _compile(
        error_model="numpy", fastmath={"reassoc", "contract", "nsz"}
    )
    # For functions of numbers that a loop calls in one place: they are pasted into it before anything is compiled.
    inlined = _njit(inline="always", error_model="numpy")
    # For those that are called in several places, by loops alone: a third of the work of compiling them is what Python
    # would need to call them.
    inner = _compile_inside(error_model="numpy")
    inner_in_place = _compile_inside(error_model="numpy", _nrt=False, forceinline=True)


def compiled_for(loop: Any, name: str, **parts: Any) -> Any:
    """A loop of numbers, compiled with these parts in the place of its globals of the same names: functions, sizes.

    name   of the copy, which ends in it; different copies of a loop have different ones

    >>> from pushlab.envs.stream import number
    >>> compiled_for(number.py_func, "example").py_func.__qualname__
    'number_example'
    """
    copy = types.FunctionType(
        loop.__code__, {**loop.__globals__, **parts}, loop.__name__
    )
    copy.__qualname__ = f"{loop.__name__}_{name}"
    return compiled_numeric(copy)
