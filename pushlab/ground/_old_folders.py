"""Folders are written whole or not at all: under another name beside them first, like files."""

import os
import secrets
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from pushlab.ground._old_files import (
    beside,
    clear_unfinished,
    demand_writable,
    held,
    what_it_is,
)


@contextmanager
def whole_folder(
    path: Path | str, keep: bool = False, new: bool = False
) -> Iterator[Path]:
    """A new folder beside `path` to write in, which takes its place in one step when all is written.

    keep   begin with a copy of what is there
    new    in the place of nothing but an empty folder: of several who write one at once the first has it

    On an exception the new folder goes and the old one stands as it was. Who is killed leaves the old or the new one,
    never a mixture (and an unfinished one beside it, which goes as `clear_unfinished` says). A folder that is open
    elsewhere stays readable there until then. Raises FileExistsError where something is that is no folder or may not be
    replaced, and for the folder in which this runs, or on which a disk is mounted.
    """
    path = Path(
        os.path.realpath(path)
    )  # which raises nothing at a link to itself, as resolve() may
    if os.path.lexists(path):
        if not path.is_dir():
            raise FileExistsError(
                f"{path} is {what_it_is(os.lstat(path).st_mode) or 'a file'}; a folder is meant"
            )
        if Path.cwd().is_relative_to(path):
            raise FileExistsError(
                f"{path} is the folder in which this runs, and cannot be exchanged; give one inside "
                "it"
            )
        if os.path.ismount(path):
            raise FileExistsError(
                f"on {path} a disk is mounted, so that it cannot be exchanged; give a folder inside "
                "it"
            )
        if new and any(path.iterdir()):
            raise FileExistsError(
                f"{path} is there already and is not empty; give another name"
            )
        demand_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    clear_unfinished(path.parent, [path.name])
    unfinished = beside(path)
    try:
        # As private from the beginning as it will be.
        unfinished.mkdir(
            0o700 | stat.S_IMODE(path.stat().st_mode) if path.exists() else 0o777
        )
        with ExitStack() as ours:
            with suppress(
                OSError
            ):  # where nobody can hold a folder, nobody clears one away
                ours.enter_context(held(unfinished))
            if (
                keep and path.exists()
            ):  # which makes it look as old as what it is a copy of
                _copy(path, unfinished)
            yield unfinished
            with suppress(FileNotFoundError):
                shutil.copymode(path, unfinished)
            while not _swapped(unfinished, path, new):
                pass
    finally:
        shutil.rmtree(
            unfinished, ignore_errors=True
        )  # the new one that failed, or the old one


def _copy(folder, other):
    """Copies what is in a folder; OSError that names what could not be copied, such as a FIFO in it."""
    try:
        shutil.copytree(folder, other, symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:
        (which, _, why), *_ = error.args[0]
        raise OSError(f"{which} cannot be copied ({why}); move it away") from error


def _swapped(new, old, only_new=False):
    """Gives a folder the place of another, which gets its name; False where somebody else came in between."""
    if only_new:
        if os.name == "nt":  # elsewhere an empty folder is renamed over
            with suppress(OSError):
                os.rmdir(old)
        try:
            os.rename(new, old)
        except OSError:
            if not old.exists():
                raise
            raise FileExistsError(
                f"{old} is there by now, from somebody else; give another name"
            ) from None
        return True
    if old.exists():
        if not _exchanged(
            new, old
        ):  # Windows, some network drives: for a moment there is neither
            aside = old.with_name(
                f".{old.name[:40]}.{secrets.token_hex(8)}.before"
            )  # which nobody clears away
            os.rename(old, aside)
            try:
                os.rename(new, old)
            except OSError:
                os.rename(aside, old)
                raise
            os.rename(aside, new)
        return True
    try:
        os.rename(new, old)
        return True
    except OSError:
        if old.exists():
            return False
        raise


def _exchanged(one, other):
    """Whether the system exchanged two folders, in one step: Linux and macOS can, Python has no name for it."""
    if sys.platform not in ("linux", "darwin"):
        return False
    import ctypes

    system, (one, other) = ctypes.CDLL(None), map(os.fsencode, (one, other))
    if sys.platform == "darwin":
        return not system.renamex_np(one, other, 2)  # RENAME_SWAP
    here = -100  # AT_FDCWD: names are as they are given
    return hasattr(system, "renameat2") and not system.renameat2(
        here, one, here, other, 2
    )  # RENAME_EXCHANGE


def demand_own(folder: Path | str, mark: str) -> None:
    """FileExistsError for a folder that is neither new nor empty, nor known by a file `mark` as one written here."""
    folder = Path(folder)
    if folder.is_dir() and any(folder.iterdir()) and not (folder / mark).is_file():
        raise FileExistsError(
            f"{folder} holds something else (results would have a file {mark} there); "
            "give a folder that is new or empty"
        )
