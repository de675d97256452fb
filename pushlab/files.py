"""Files are written whole or not at all: under another name in the same folder first, which is then made theirs."""

import os
from pathlib import Path


def write_text(path, text):
    """Writes text as UTF-8, line ends as they are; makes the folder where there is none; returns the path.

    Raises OSError where that cannot be; an older file then stays as it was.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path, data):
    """Writes bytes as `write_text` writes text."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_bytes(data)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path
