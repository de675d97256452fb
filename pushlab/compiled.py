"""Loops compiled by numba where it is installed; without it the same functions run as plain Python, slower.

What is compiled is kept on disk, known by the content of all it is made of. So the next process finds it there; and
where a line was changed, of the loop or of anything that it reaches in whatever file, it is compiled anew.
"""

import hashlib
import types
from contextlib import suppress
from pathlib import Path

from pushlab.content import of_function

try:
    from numba import njit
    from numba.core.caching import FunctionCache, IndexDataCacheFile
    from numba.core.dispatcher import Dispatcher
except ImportError:     # numba is a normal dependency; a platform without it still runs everything
    def compiled(loop):
        """The loop as it is."""
        return loop

    compiled_numeric = compiled_in_place = compiled_sums = inlined = inner = inner_in_place = compiled
else:
    KEPT = 8            # former states of a loop that stay on disk: who takes a change back need not wait again

    class ContentCache(FunctionCache):
        """The loops on disk: a file for each content, types of arguments and processor, never written twice.

        numba's own cache knows a loop by the file it stands in, and is blind to a change in another one. And since a
        name stands for a content here, an interrupted or a second writer cannot leave an old loop under a new name.
        """

        def __init__(self, loop):
            super().__init__(loop.py_func)
            self._loop = loop
            self._name = f"{loop.__module__}.{loop.__qualname__}".replace("<", "").replace(">", "")

        def load_overload(self, signature, target_context):
            self._choose_file(signature, target_context.codegen())
            return super().load_overload(signature, target_context)

        def save_overload(self, signature, data):
            self._choose_file(signature, data.codegen)
            super().save_overload(signature, data)
            self._tidy()

        def _choose_file(self, signature, codegen):
            # Not before the first call, when all modules are there and functions may stand in any order.
            content, types_and_processor = of_function(self._loop)[:16], str((signature, codegen.magic_tuple()))
            words = hashlib.sha256(types_and_processor.encode()).hexdigest()[:8]
            self._cache_file = IndexDataCacheFile(self._cache_path, f"{self._name}.{content}.{words}", content)

        def _tidy(self):
            with suppress(OSError):
                files = sorted(Path(self._cache_path).glob(f"{self._name}.*.*.nb?"),
                               key=lambda file: file.stat().st_mtime, reverse=True)
                contents = list(dict.fromkeys(_content_of(file) for file in files))
                for file in files:
                    if _content_of(file) in contents[KEPT:]:
                        file.unlink()

    def _content_of(file):
        return file.name.split(".")[-3 if file.suffix == ".nbi" else -4]

    def _compile(**options):
        def decorate(loop):
            loop = njit(nogil=True, no_cfunc_wrapper=True, **options)(loop)
            with suppress(RuntimeError, AttributeError):    # nowhere to keep it; numba is switched off
                loop._cache = ContentCache(loop)
            return loop
        return decorate

    def _compile_inside(**options):
        def decorate(function):
            function = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True, **options)(function)
            if isinstance(function, Dispatcher):
                function.__class__ = _Inside
            return function
        return decorate

    class _Inside(Dispatcher):
        """A function that compiled loops alone call as compiled; called from Python it runs as it is written."""

        def __call__(self, *arguments):
            return self.py_func(*arguments)

    compiled = _compile()
    # A division by zero gives inf instead of raising, without which loops of numbers cannot be vectorised.
    compiled_numeric = _compile(error_model="numpy")
    # For loops that work on given arrays and make none: without it references are counted to all arrays that a
    # function is given, which costs far more than the loops themselves.
    compiled_in_place = _compile(error_model="numpy", _nrt=False)
    # For sums over many numbers: they may be added in another order, several at a time. Nothing else is loosened.
    compiled_sums = _compile(error_model="numpy", fastmath={"reassoc", "contract", "nsz"})
    # For functions of numbers that a loop calls in one place: they are pasted into it before anything is compiled.
    inlined = njit(inline="always", error_model="numpy")
    # For those that are called in several places, by loops alone: a third of the work of compiling them is what Python
    # would need to call them.
    inner = _compile_inside(error_model="numpy")
    inner_in_place = _compile_inside(error_model="numpy", _nrt=False, forceinline=True)


def compiled_for(loop, name, **parts):
    """A loop of numbers, compiled with these parts in the place of its globals of the same names: functions, sizes.

    name   of the copy, which ends in it; different copies of a loop have different ones

    >>> from pushlab.envs.stream import number
    >>> compiled_for(number.py_func, "example").py_func.__qualname__
    'number_example'
    """
    copy = types.FunctionType(loop.__code__, {**loop.__globals__, **parts}, loop.__name__)
    copy.__qualname__ = f"{loop.__name__}_{name}"
    return compiled_numeric(copy)
