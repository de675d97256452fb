"""Where files are, and how they are written: whole or not at all, under another name in the same folder first."""

import json
import os
import re
from importlib import resources
from pathlib import Path


def data_dir() -> Path:
    """The folder of the data that comes with pushlab, in a checkout and in an installed wheel alike."""
    package = Path(str(resources.files("pushlab")))
    for folder in (package / "data", package.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError("the data folder is missing from this installation of pushlab; install it again")


def cache_dir() -> Path:
    """Where what took long is kept: $PUSHLAB_CACHE, or a folder `pushlab` in the user's own cache."""
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or Path("~/.cache").expanduser()
    return Path(os.environ.get("PUSHLAB_CACHE") or Path(home) / "pushlab")


def write_text(path: Path | str, text: str) -> Path:
    """Writes text as UTF-8, line ends as they are; makes the folder where there is none; returns the path.

    Raises OSError where that cannot be; an older file then stays as it was.
    """
    return write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path | str, data: bytes) -> Path:
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


def json_text(data: object) -> str:
    """JSON as it is nice to read: indented, but a list of plain values on one line.

    >>> print(json_text({"pairs": [["time", "night"], ["day", "6"]]}), end="")
    {
      "pairs": [
        ["time", "night"],
        ["day", "6"]
      ]
    }
    """
    text = json.dumps(data, indent=2, ensure_ascii=False)
    plain_list = re.compile(r"\[\n\s+([^][{}]*?)\n\s+\]")
    return plain_list.sub(lambda match: "[" + re.sub(r"\n\s+", " ", match[1]) + "]", text) + "\n"
