"""Files: their folders, reading with messages that name file and line, and writing, whole or not at all.

A file is written first under another name in the same folder."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import secrets
import shutil
import stat
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import Any

from pushlab.ground.faults import BadData, Fault

# The beginning of a cell, or a separator of cells in some spreadsheets, before a formula.
FORMULA = re.compile(
    "(^|[;\t\r\n\v\f\x85\u2028\u2029])(?=[ \xa0]*[=+\\-@\t\r＝＋－＠])"
)
PLAIN_LIST = re.compile(r"\[\n\s+([^][{}]*?)\n\s+\]")  # in indented JSON


def data_dir() -> Path:
    """Return the folder of the data that comes with pushlab, in a checkout and in an installed wheel."""
    package = Path(str(resources.files("pushlab")))
    for folder in (package / "data", package.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        "the data folder is missing from this installation of pushlab; install it again"
    )


def cache_dir() -> Path:
    """Return the folder of cached results: $PUSHLAB_CACHE, or `pushlab` in the user's cache folder."""
    from platformdirs import user_cache_path

    named = os.environ.get("PUSHLAB_CACHE")
    return Path(named) if named else user_cache_path("pushlab", appauthor=False)


def is_private(folder: Path | str) -> bool:
    """Return whether only this user can write in a folder, creating it if it doesn't exist; warn if others can."""
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        about = os.lstat(folder)
    except OSError:
        return False
    if os.name != "posix":
        return True
    is_own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
    if is_own and not about.st_mode & 0o077:
        return True
    warnings.warn(
        f"{folder} is not a folder of yours alone (mode 700), so nothing is stored there",
        stacklevel=2,
    )
    return False


def write_text(
    path: Path | str, text: str, replace: bool = True, mode: int = 0o666
) -> Path:
    """Write text as UTF-8; see `write_bytes`."""
    return write_bytes(path, text.encode("utf-8", "backslashreplace"), replace, mode)


def write_bytes(
    path: Path | str, data: bytes, replace: bool = True, mode: int = 0o666
) -> Path:
    """Write a file whole or not at all, creating its folder; return the path.

    Args:
        replace: Whether an existing file is replaced.
        mode: Permissions of the file, less the process's umask.

    Raises:
        FileExistsError: The file exists and must not be replaced, or the path is a folder or a device.
        OSError: The file can't be written. The existing file then stays as it was.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (replace and target.is_file()):
        what = "already there" if target.is_file() else "not an ordinary file"
        raise FileExistsError(f"{path} is {what} and is not replaced; name another")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_name(target)
    try:
        number = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(number, "wb") as file:
            file.write(data)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return Path(path)


def partial_name(path: Path) -> Path:
    """Return an unused name in the same folder, for a file or folder that isn't finished."""
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.part")


@contextmanager
def new_folder(path: Path | str, mark: str | None = None) -> Iterator[Path]:
    """Yield an empty folder that gets the name `path` when the block ends, or is removed if the block raises.

    Args:
        mark: Name of a file that marks a folder of earlier results, which is replaced.

    Raises:
        FileExistsError: The path exists, unless it's an empty folder or marked.
    """
    path = Path(os.path.realpath(path))
    is_marked = mark is not None and (path / mark).is_file()
    if path.exists() and not (is_marked or (path.is_dir() and not any(path.iterdir()))):
        raise FileExistsError(f"{path} is already there and not empty; name another")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = partial_name(path)
    partial.mkdir()
    try:
        yield partial
        former = partial_name(path)
        if path.exists():
            path.rename(former)
        partial.rename(path)
        shutil.rmtree(former, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def locked(path: Path | str, timeout: float = 60.0) -> Iterator[None]:
    """Keep other threads and processes that lock the same path out of this block.

    The lock is a file `.NAME.lock` beside the path; the system releases it when a process ends.

    Raises:
        TimeoutError: Another process holds the lock for `timeout` seconds.
    """
    from filelock import FileLock, Timeout

    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_name(f".{path.name[:200]}.lock"), timeout):
            yield
    except Timeout:
        raise TimeoutError(
            f"another process has been changing {path} for {timeout:g} seconds; wait for it, or end it"
        ) from None


def safe_cell(text: str) -> str:
    """Return a text that no spreadsheet reads as a formula: an apostrophe precedes anything that begins like one.

    >>> [safe_cell(text) for text in ("=1+1", "a;@b", "a-b")]
    ["'=1+1", "a;'@b", 'a-b']
    """
    return FORMULA.sub(r"\1'", text)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return CSV of rows, each text as `safe_cell` returns it.

    >>> print(csv_text([("agent", "=1+1"), ("value", -2.5)]), end="")
    agent,'=1+1
    value,-2.5
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(safe_cell(x) if isinstance(x, str) else x for x in row)
    return text.getvalue()


def json_text(data: object) -> str:
    """Return indented JSON with a line break at its end; a list of plain values is on one line.

    >>> print(json_text({"pairs": [["time", "night"], ["day", "6"]]}), end="")
    {
      "pairs": [
        ["time", "night"],
        ["day", "6"]
      ]
    }
    """
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return PLAIN_LIST.sub(_on_one_line, text) + "\n"


def _on_one_line(plain_list):
    return "[" + re.sub(r"\n\s+", " ", plain_list[1]) + "]"


def read_text(path: Path | str, name: str | None = None) -> str:
    """Return the text of a UTF-8 file. Raises BadData if it is missing, can't be read or isn't UTF-8.

    Args:
        path: A path, or a member of an archive (`zipfile.Path`).
        name: Name of the file for messages.
    """
    path = Path(path) if isinstance(path, str) else path
    name = name or path.name
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        right = f"the text is not UTF-8 (byte {data[error.start]:#04x})"
        raise BadData(Fault(name, line, right=right, unit="line")) from None
    except FileNotFoundError:
        raise BadData(Fault(name, right="the file is missing")) from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or error
        raise BadData(Fault(name, right=f"the file can't be read: {why}")) from None


def read_json(path: Path | str, name: str | None = None) -> dict[str, Any]:
    """Return the object in a JSON file. Raises BadData for anything else."""
    name = name or Path(str(path)).name
    try:
        content = json.loads(read_text(path, name))
    except json.JSONDecodeError as error:
        right = f"this is not JSON: {error.msg.lower()}"
        raise BadData(Fault(name, error.lineno, right=right, unit="line")) from None
    if not isinstance(content, dict):
        right = f"it should be an object, {{…}}; it is {content!r:.60}"
        raise BadData(Fault(name, right=right))
    return content
