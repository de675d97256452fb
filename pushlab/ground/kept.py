"""What took long and is kept on disk: found again by the content of all that it was made from.

A result is JSON in a file whose name holds a checksum: of the code (`pushlab.ground.content.of_modules`), the data and
the settings. So nothing kept is ever out of date: whoever edits a line gets the new result.

>>> import numpy as np
>>> checksum("cold start", [1, 2], np.arange(3)) == checksum("cold start", [1, 2], np.arange(4))
False
"""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from pushlab.ground.files import write_text


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
    """What is kept in a file, or None where there is none, or no whole one.

    read   makes what is wanted of the file's JSON, and raises ValueError, KeyError, TypeError or IndexError if it is
           damaged
    """
    with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
        return read(json.loads(path.read_text(encoding="utf-8"))) if path is not None else None
    return None


def kept(path: Path | None, make: Callable[[], Any], read: Callable[[Any], Any] = lambda told: told,
         optional: bool = False) -> Any:
    """What `make()` gives, a value that JSON holds: read from its file, or made now and written there.

    path      None keeps nothing
    read      as in `read_kept`
    optional  a file that cannot be written is done without; otherwise that is an OSError
    """
    found = read_kept(path, read)
    if found is not None:
        return found
    made = make()
    if path is not None:
        try:
            write_text(path, json.dumps(made, allow_nan=False))
        except OSError:
            if not optional:
                raise
    return read(made)
