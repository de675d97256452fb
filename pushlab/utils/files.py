"""Files: folders of data and cache, reading with messages that name file and line, and atomic writing.

Files are written under a temporary name in the same folder and then renamed. So a file is complete or absent.
"""

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

from pushlab.utils.issues import BadData, DataIssue

# The start of a formula, at the start of a cell or after a character that some spreadsheets split cells at.
FORMULA_START = re.compile(
    "(^|[;\t\r\n\v\f\x85\u2028\u2029])(?=[ \xa0]*[=+\\-@\t\r＝＋－＠])"
)
OTHER_FORMATS = {  # by the first two bytes of a file
    b"PK": "this is a zip archive or an Excel workbook",
    b"\xd0\xcf": "this is an old Excel workbook",
    b"\xff\xfe": "the text is UTF-16",
    b"\xfe\xff": "the text is UTF-16",
}
FLAT_LIST = re.compile(r"\[\n\s+([^][{}]*?)\n\s+\]")  # in indented JSON


def data_dir() -> Path:
    """Return the folder of the data that ships with pushlab, in a checkout or an installed wheel."""
    package = Path(str(resources.files("pushlab")))
    for folder in (package / "data", package.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        "the data folder is missing from this installation of pushlab; reinstall pushlab"
    )


def cache_dir() -> Path:
    """Return the cache folder: $PUSHLAB_CACHE, or `pushlab` in the user's cache folder."""
    from platformdirs import user_cache_path

    folder = os.environ.get("PUSHLAB_CACHE")
    return Path(folder) if folder else user_cache_path("pushlab", appauthor=False)


def ensure_private(folder: Path | str) -> bool:
    """Create a folder if it doesn't exist; return whether only this user can write there, and warn if not."""
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        status = os.lstat(folder)
    except OSError:
        return False
    if os.name != "posix":
        return True
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()
    if is_own and not status.st_mode & 0o077:
        return True
    warnings.warn(
        f"other users can access {folder}, so nothing is stored there; chmod 700 makes it private",
        stacklevel=2,
    )
    return False


def write_text(
    path: Path | str, text: str, replace: bool = True, mode: int = 0o666
) -> Path:
    """Write text as UTF-8 with `write_bytes`; return the path."""
    return write_bytes(path, text.encode("utf-8", "backslashreplace"), replace, mode)


def write_bytes(
    path: Path | str, data: bytes, replace: bool = True, mode: int = 0o666
) -> Path:
    """Write a file atomically, creating its folder; return the path.

    Args:
        replace: Whether to replace an existing file.
        mode: Permissions of the file, before the process's umask.

    Raises:
        FileExistsError: The file exists and `replace` is false, or the path is a folder or a device.
        OSError: The file can't be written. An existing file is unchanged.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not (replace and target.is_file()):
        problem = "already exists" if target.is_file() else "is not a regular file"
        raise FileExistsError(f"{path} {problem}; choose another name")
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary_path(target)
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(partial, target)
    finally:
        partial.unlink(missing_ok=True)
    return Path(path)


def temporary_path(path: Path) -> Path:
    """Return an unused path in the same folder, for an unfinished file or folder."""
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}.part")


@contextmanager
def new_folder(path: Path | str, marker_file: str | None = None) -> Iterator[Path]:
    """Context manager that yields an empty folder and renames it to `path` at the end, or removes it on an error.

    Args:
        marker_file: Name of a file that marks a folder of earlier results. Such a folder is replaced.

    Raises:
        FileExistsError: The path exists and is neither an empty folder nor marked.
    """
    path = Path(os.path.realpath(path))
    is_marked = marker_file is not None and (path / marker_file).is_file()
    if path.exists() and not (is_marked or (path.is_dir() and not any(path.iterdir()))):
        raise FileExistsError(
            f"{path} already exists and is not empty; choose another folder"
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = temporary_path(path)
    partial.mkdir()
    try:
        yield partial
        replaced = temporary_path(path)
        if path.exists():
            path.rename(replaced)
        partial.rename(path)
        shutil.rmtree(replaced, ignore_errors=True)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def locked(path: Path | str, timeout: float = 60.0) -> Iterator[None]:
    """Context manager that holds a lock on a path, against other threads and processes.

    The lock is a file `.NAME.lock` beside the path. The system releases it when the process ends.

    Raises:
        TimeoutError: Another process still holds the lock after `timeout` seconds.
    """
    from filelock import FileLock, Timeout

    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with FileLock(path.with_name(f".{path.name[:200]}.lock"), timeout):
            yield
    except Timeout:
        raise TimeoutError(
            f"{path} has been locked by another process for {timeout:g} seconds; wait until it finishes, or end it"
        ) from None


def escape_formula(text: str) -> str:
    """Return a text with an apostrophe before each start of a formula, so that no spreadsheet runs it.

    >>> [escape_formula(text) for text in ("=1+1", "a;@b", "a-b")]
    ["'=1+1", "a;'@b", 'a-b']
    """
    return FORMULA_START.sub(r"\1'", text)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """Return rows as CSV, with each text escaped by `escape_formula`.

    >>> print(csv_text([("agent", "=1+1"), ("value", -2.5)]), end="")
    agent,'=1+1
    value,-2.5
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for row in rows:
        writer.writerow(
            escape_formula(value) if isinstance(value, str) else value for value in row
        )
    return text.getvalue()


def json_text(data: object) -> str:
    """Return indented JSON that ends with a line break. A list without lists or objects stays on one line.

    >>> print(json_text({"pairs": [["time", "night"], ["day", "6"]]}), end="")
    {
      "pairs": [
        ["time", "night"],
        ["day", "6"]
      ]
    }
    """
    text = json.dumps(data, indent=2, ensure_ascii=False)
    return FLAT_LIST.sub(_join_lines, text) + "\n"


def _join_lines(match):
    return "[" + re.sub(r"\n\s+", " ", match[1]) + "]"


def read_text(path: Path | str, name: str | None = None) -> str:
    """Return the text of a UTF-8 file.

    Args:
        path: A path, or a member of an archive (`zipfile.Path`).
        name: Name of the file for messages.

    Raises:
        BadData: The file is missing, can't be read or isn't UTF-8.
    """
    path = Path(path) if isinstance(path, str) else path
    name = name or path.name
    try:
        data = path.read_bytes()
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = 1 + data.count(b"\n", 0, error.start)
        problem = f"the text is not UTF-8 (byte {data[error.start]:#04x})"
        problem = OTHER_FORMATS.get(data[:2], problem)
        valid_values = f"{problem}; save it as text in UTF-8"
        raise BadData(
            DataIssue(name, line, valid_values=valid_values, unit="line")
        ) from None
    except FileNotFoundError:
        raise BadData(DataIssue(name, valid_values="the file is missing")) from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadData(
            DataIssue(name, valid_values=f"the file can't be read: {reason}")
        ) from None


def read_json(path: Path | str, name: str | None = None) -> dict[str, Any]:
    """Return the object in a JSON file. Raises BadData unless the file has one."""
    name = name or Path(str(path)).name
    try:
        content = json.loads(read_text(path, name))
    except json.JSONDecodeError as error:
        valid_values = f"invalid JSON: {error.msg.lower()}"
        raise BadData(
            DataIssue(name, error.lineno, valid_values=valid_values, unit="line")
        ) from None
    if not isinstance(content, dict):
        valid_values = f"must be a JSON object, {{…}}; got {content!r:.60}"
        raise BadData(DataIssue(name, valid_values=valid_values))
    return content
