"""Where files are, and how they are written: whole or not at all, under another name in the same folder first.

Two processes may write one file at once: the last whole one stays. Who reads, changes and writes does so `alone`. Who
is killed leaves what was unfinished under its other name, `.NAME.` and sixteen digits; who writes there later removes
it (`clear_unfinished`).
"""

import csv
import hashlib
import io
import json
import os
import re
import secrets
import shutil
import stat
import time
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import resources
from pathlib import Path
from typing import Any

try:
    import fcntl
except (
    ImportError
):  # Windows: nobody can tell there whether a folder is still written in
    fcntl = None

KINDS = (
    (stat.S_ISLNK, "a link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
UNFINISHED = re.compile(r"\.(.{1,40})\.[0-9a-f]{16}", re.DOTALL)
ABANDONED = 3600.0  # seconds without a change, after which who writes what is unfinished may be gone
# A cell's beginning, and what a spreadsheet set to semicolons or tabs takes for one, if a formula follows.
FORMULA = re.compile(
    "(^|[;\t\r\n\v\f\x85\u2028\u2029])(?=[ \xa0]*[=+\\-@\t\r＝＋－＠])"
)


def data_dir() -> Path:
    """The folder of the data that comes with pushlab, in a checkout and in an installed wheel alike."""
    package = Path(str(resources.files("pushlab")))
    for folder in (package / "data", package.parent / "data"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(
        "the data folder is missing from this installation of pushlab; install it again"
    )


def cache_dir() -> Path:
    """Where what took long is kept: $PUSHLAB_CACHE, or a folder `pushlab` in the user's own cache."""
    home = (
        os.environ.get("XDG_CACHE_HOME")
        or os.environ.get("LOCALAPPDATA")
        or Path("~/.cache").expanduser()
    )
    return Path(os.environ.get("PUSHLAB_CACHE") or Path(home) / "pushlab")


def own_folder(path: Path | str) -> bool:
    """Whether a folder is the user's own, so that what lies there may be believed; one that is not there is made.

    Its owner is who runs this, and nobody else may do anything there (asked where the system knows such rights). A
    warning tells of a folder that is there and is not.
    """
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            os.mkdir(path, 0o700)
        about = os.lstat(path)
    except OSError:
        return False
    if stat.S_ISDIR(about.st_mode) and (
        os.name != "posix" or (about.st_uid, about.st_mode & 0o077) == (os.geteuid(), 0)
    ):
        return True
    warnings.warn(
        f"{path} is no folder of yours alone (mode 700), so nothing is kept there; move it away",
        stacklevel=2,
    )
    return False


def what_it_is(mode: int) -> str:
    """What a file is, in words, by its `st_mode`; nothing of an ordinary one.

    >>> what_it_is(os.stat("/").st_mode), what_it_is(os.stat(__file__).st_mode)
    ('a folder', '')
    """
    return next(
        (word for is_one, word in KINDS if is_one(mode)),
        "" if stat.S_ISREG(mode) else "no ordinary file",
    )


def write_text(
    path: Path | str, text: str, replace: bool = True, rights: int | None = None
) -> Path:
    """Writes text as UTF-8, line ends as they are; makes the folder where there is none; returns the path.

    replace  whether an ordinary file that is there may be replaced
    rights   of the file, such as 0o600; None for those of the file that was there, or what is usual for a new one

    Raises FileExistsError where one is there that may not, and where a folder, a link, a device, a FIFO or a socket is,
    which never is replaced; OSError where the file cannot be written, or is write-protected. What is there stays as it
    was then.
    """
    return write_bytes(path, text.encode("utf-8", "backslashreplace"), replace, rights)


def write_bytes(
    path: Path | str, data: bytes, replace: bool = True, rights: int | None = None
) -> Path:
    """Writes bytes as `write_text` writes text."""
    path = Path(path)
    unfinished = _written_beside(path, data, replace, rights)
    try:
        (os.replace if replace else _put)(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
    return path


def write_together(texts: Mapping[Path, str | bytes]) -> list[Path]:
    """Writes files that belong together, {path: text or bytes}; returns the paths.

    None of them changes before all are written under other names: a full disk, or one of them that may not be written,
    leaves all as they were. Then they take their places one by one.
    """
    unfinished: dict[Path, Path] = {}
    for folder in {path.parent for path in texts}:
        clear_unfinished(folder, [path.name for path in texts])
    try:
        for path, text in texts.items():
            data = (
                text.encode("utf-8", "backslashreplace")
                if isinstance(text, str)
                else text
            )
            unfinished[path] = _written_beside(path, data)
        for path, other in unfinished.items():
            os.replace(other, path)
    finally:
        for other in unfinished.values():
            other.unlink(missing_ok=True)
    return [*texts]


def _written_beside(path, data, replace=True, rights=None):
    """The other name, in the same folder, under which the bytes now are, with the rights that they should have."""
    path.parent.mkdir(parents=True, exist_ok=True)
    before = _may_be_written(path, replace)
    rights, unfinished = before if rights is None else rights, beside(path)
    try:
        with open(
            unfinished,
            "xb",
            opener=lambda name, how: os.open(
                name, how, 0o666 if rights is None else rights
            ),
        ) as file:
            file.write(data)
        if rights is not None:
            os.chmod(
                unfinished, rights
            )  # whatever the process takes away from new files
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    return unfinished


def _may_be_written(path, replace):
    """The rights of the ordinary file that is there, None where there is nothing; or FileExistsError."""
    try:
        mode = os.lstat(path).st_mode
    except FileNotFoundError:
        return None
    if word := what_it_is(mode):
        raise FileExistsError(
            f"{path} is {word}, which is not replaced; give the name of an ordinary file"
        )
    if not replace:
        raise FileExistsError(
            f"{path} is there already and is not replaced; give another name, or move it away"
        )
    demand_writable(path)
    return stat.S_IMODE(mode)


def demand_writable(path: Path) -> None:
    """PermissionError for what could be replaced, as its folder may be written to, but may not be itself."""
    if not os.access(path, os.W_OK) and os.path.lexists(path):  # it may just have gone
        raise PermissionError(
            f"{path} is write-protected, or another's, and is not replaced; give another name"
        )


def _put(unfinished, path):
    """The file under its own name, if nothing has that."""
    try:
        os.link(unfinished, path)
    except FileExistsError:
        raise FileExistsError(f"{path} is there already and is not replaced") from None
    except OSError:  # a file system without links: the name is taken first
        os.close(os.open(path, os.O_CREAT | os.O_EXCL))
        os.replace(unfinished, path)


def beside(path: Path) -> Path:
    """A name that nobody else has, in the same folder: what is written there is unfinished."""
    return path.with_name(f".{path.name[:40]}.{secrets.token_hex(8)}")


def clear_unfinished(folder: Path | str, names: Collection[str] | None = None) -> None:
    """Removes what processes that were killed left half written in a folder; of these names, or of all.

    What a living process writes stays: a file is written in seconds, and whoever writes in a folder holds it.
    """
    wanted = None if names is None else {name[:40] for name in names}
    with suppress(OSError):
        left = [
            one
            for one in os.scandir(folder)
            if (match := UNFINISHED.fullmatch(one.name))
            and (wanted is None or match[1] in wanted)
            and time.time() - one.stat(follow_symlinks=False).st_mtime > ABANDONED
        ]
        for one in left:
            with suppress(OSError):
                if one.is_dir(follow_symlinks=False):
                    with held(one.path):
                        shutil.rmtree(one, ignore_errors=True)
                else:
                    os.unlink(one)


@contextmanager
def held(folder: Path | str) -> Iterator[None]:
    """The folder is this process's until the end, or as long as it lives; OSError if it is another's, or no system
    knows that."""
    number = os.open(folder, os.O_RDONLY)
    try:
        if fcntl is None:
            raise OSError("whose a folder is, nobody can tell here")
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(number)


@contextmanager
def alone(path: Path | str, wait: float = 60.0) -> Iterator[None]:
    """Nobody else who asks for the same file or folder, thread or process, is inside at the same time.

    wait   seconds, after which it is a TimeoutError

    The lock is a file beside it, `.NAME.lock`, which stays; the system lets go of it when a process ends or is killed.
    Who comes by a link asks for what it leads to.
    """
    from filelock import FileLock, Timeout

    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    name = os.fsencode(path.name)
    lock = FileLock(
        path.with_name(
            f".{path.name if len(name) < 250 else hashlib.sha256(name).hexdigest()}.lock"
        )
    )
    try:
        lock.acquire(timeout=wait, poll_interval=0.02)
    except Timeout:
        raise TimeoutError(
            f"another process has been changing {path} for {wait:g} seconds; wait for it, or end it"
        ) from None
    try:
        yield
    finally:
        lock.release()


# ---------------------------------------------------------------- what stands in a file


def safe_cell(text: str) -> str:
    """A text as a cell in which no spreadsheet finds a formula: an apostrophe stands before what begins like one.

    Looked at are the beginning of the cell and what follows a semicolon, a tab or a line break inside it, at which
    some spreadsheets begin a cell.

    >>> [safe_cell(text) for text in ("=1+1", "a;@b", "a-b")]
    ["'=1+1", "a;'@b", 'a-b']
    """
    return FORMULA.sub(r"\1'", text)


def csv_text(rows: Iterable[Iterable[Any]]) -> str:
    """CSV of rows of cells: texts as `safe_cell` has them, numbers as they are.

    >>> print(csv_text([("agent", "=1+1"), ("value", -2.5)]), end="")
    agent,'=1+1
    value,-2.5
    """
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(
        [safe_cell(cell) if isinstance(cell, str) else cell for cell in row]
        for row in rows
    )
    return text.getvalue()


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
    return (
        plain_list.sub(lambda match: "[" + re.sub(r"\n\s+", " ", match[1]) + "]", text)
        + "\n"
    )
