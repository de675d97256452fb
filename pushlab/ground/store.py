"""Finished results on disk: one file each, named by a label and by the fingerprint of everything it depends on.

A result is written under another name and renamed, so a file is whole or absent. After a change of anything that a
result depends on, its file has another name. The old file stays and is used again if the change is undone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from pushlab.ground.files import cache_dir, is_private, write_text

_is_on = ContextVar("whether the cache is used", default=True)
_computed: dict[Path, Any] = {}


class Store:
    """A folder of results, each a value that JSON can hold; arrays become lists.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(folder)
    ...     file = store.write("mira, seed 7", "0f3a", {"return": 0.5})
    ...     file.name, store.read("mira, seed 7", "0f3a"), store.read("mira, seed 7", "11b2")
    ('mira-seed-7-0f3a.json', {'return': 0.5}, None)
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)

    def path(self, label: str, key: str) -> Path:
        """Return the file of a result, whether or not it exists."""
        words = re.sub(r"[^\w.=+-]+", "-", label).strip("-.")
        words = words.encode()[:80].decode(errors="ignore")
        return self.folder / f"{words}-{key}.json"

    def read(self, label: str, key: str) -> Any:
        """Return a result, or None if it isn't stored or its file is damaged."""
        return read_result(self.path(label, key))

    def write(self, label: str, key: str, result: Any) -> Path:
        """Store a result and return its file. Raises TypeError for a value that JSON can't hold."""
        return write_text(self.path(label, key), result_text(result))


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
    store = Store(cache_dir() / "results")
    path = store.path(label, key)
    is_on = _is_on.get() and is_private(store.folder)
    result = store.read(label, key) if is_on else _computed.get(path)
    if result is None:
        result = json.loads(result_text(compute()))
        if not is_on:
            _computed[path] = result
            return result
        with suppress(OSError):
            store.write(label, key, result)
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
