"""What took long and is kept on disk: found again by the content of all that it was made from.

A result is JSON in a file whose name holds a checksum: of the code (`pushlab.ground.content.of_modules`), the data and
the settings. So nothing kept is ever out of date: whoever edits a line gets the new result. Inside, a checksum is of
that name and of the result; a file that does not agree with it is made again, and so is one in a folder that others
could have written to.

>>> import numpy as np
>>> checksum("cold start", [1, 2], np.arange(3)) == checksum("cold start", [1, 2], np.arange(4))
False
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np

from pushlab.ground._old_files import own_folder, write_text
from pushlab.ground._old_reading import read_json

LARGEST = 64 * 2**20  # bytes of a file; a judge has less than 1 MB
_on_disk = ContextVar("whether anything is kept on disk", default=True)
_made_here: dict[str, Any] = {}


def checksum(*parts: Any) -> str:
    """A checksum (hexadecimal) of arrays, bytes, and values that JSON holds."""
    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype} {part.shape}".encode())
            part = np.ascontiguousarray(part).tobytes()
        digest.update(part if isinstance(part, bytes) else json.dumps(part).encode())
        digest.update(b"|")
    return digest.hexdigest()


def read_kept(path: Path | None, read: Callable[[Any], Any] = lambda told: told) -> Any:
    """What is kept in a file, or None where there is none, none that is whole, or one that others could have written.

    read   makes what is wanted of the file's JSON, and raises ValueError, KeyError, TypeError or IndexError if it is
           damaged
    """
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        if path is not None and own_folder(path.parent):
            told = read_json(path, LARGEST)
            return (
                read(told["content"])
                if told["checksum"] == checksum(path.name, told["content"])
                else None
            )
    return None


@contextmanager
def no_cache() -> Iterator[None]:
    """In here nothing comes from disk or goes there: it is made by this process, once.

    For scoring: whoever is scored may have run code in the same account, and have left a result of theirs there.
    """
    before = _on_disk.set(False)
    try:
        yield
    finally:
        _on_disk.reset(before)


def kept(
    path: Path | None,
    make: Callable[[], Any],
    read: Callable[[Any], Any] = lambda told: told,
    optional: bool = False,
) -> Any:
    """What `make()` gives, a value that JSON holds: read from its file, or made now and written there.

    path      None keeps nothing; its folder has to be the user's own (`pushlab.ground.files.own_folder`)
    read      as in `read_kept`
    optional  a file that cannot be written is done without; otherwise that is an OSError
    """
    if path is not None and not _on_disk.get():
        if path.name not in _made_here:
            _made_here[path.name] = read(make())
        return _made_here[path.name]
    found = read_kept(path, read)
    if found is not None:
        return found
    made = make()
    if path is not None:
        try:
            if not own_folder(path.parent):
                raise PermissionError(
                    f"{path.parent} cannot be written, or others can write there too"
                )
            text = json.dumps(
                {"checksum": checksum(path.name, made), "content": made},
                allow_nan=False,
            )
            write_text(path, text, rights=0o600)
        except OSError:
            if not optional:
                raise
    return read(made)
