"""Where lifetimes lie: folders looked through, without following a link or stopping at what cannot be read."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pushlab.ground.faults import BadData, Fault, printable
from pushlab.logs.tables import TABLE, Table

BLOCK = re.compile(r"(0|[1-9][0-9]{0,8})-(train|test)")
DEEPEST = 32  # folders in each other in which logs are looked for
NO_WORKER = f"a log is <worker>/<block>-<train or test>/{TABLE}; a folder is lacking"


def find_logs(folder: Path | str) -> list[Path]:
    """Every lifetime in a folder and below it: paths of L2Logger folders, sorted; the folder itself if it is one.

    Raises FileNotFoundError if there is none.
    """
    found = look_through(folder)[0]
    if not found:
        raise FileNotFoundError(f"{_no_log(folder)} in it or below it")
    return found


def look_through(
    folder: Path | str,
) -> tuple[list[Path], dict[Path, BadData], list[str]]:
    """What there is in a folder and below it: lifetimes, as `find_logs` gives them; {path in the folder: BadData} of
    what may be some and cannot be read; names in the folder that are neither.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(_no_log(folder))
    if not folder.is_dir():
        return [folder], {}, []
    tables, wrong = _look(folder)
    found = {
        table.parents[2]
        for table in tables
        if len(table.relative_to(folder).parts) >= 3
    }
    if (
        folder in found and len(found) > 1
    ):  # somebody's blocks, without the folder of a worker
        wrong |= {
            folder / table.relative_to(folder).parts[0]: NO_WORKER
            for table in tables
            if len(table.relative_to(folder).parts) == 3
        }
        found.remove(folder)
    wrong |= {
        table.parent: NO_WORKER
        for table in tables
        if len(table.relative_to(folder).parts) == 2
    }
    faults: dict[Path, list[Fault]] = {}
    for path, right in wrong.items():
        if not found & {
            path,
            *path.parents,
        }:  # of a lifetime it is said when that is read
            parts = path.relative_to(folder).parts
            faults.setdefault(folder.joinpath(*parts[:1]), []).append(
                Fault(printable("/".join(parts)), right=right)
            )
    named = {path.relative_to(folder).parts[:1] for path in (*found, *faults)}
    others = [
        name
        for name in sorted(os.listdir(folder))
        if name[0] != "." and (name,) not in named
    ]
    return (
        sorted(found),
        {path: BadData(some) for path, some in faults.items()},
        [] if folder in found else others,
    )


def _look(folder):
    """All tables in a folder and below it, and {path: why} of folders that are not looked into. Hidden ones are not
    meant.
    """
    tables, wrong = [], {}

    def refuse(error):
        wrong[Path(error.filename)] = f"the folder cannot be read: {error.strerror}"

    for here, below, files in os.walk(folder, onerror=refuse):
        at = Path(here)
        tables += [at / TABLE] if TABLE in files or TABLE in below else []
        below[:] = sorted(name for name in below if name[0] != "." and name != TABLE)
        wrong |= {
            at / name: "this is a link; the folder itself is meant"
            for name in below
            if (at / name).is_symlink()
        }
        if len(at.parts) - len(folder.parts) >= DEEPEST and below:
            wrong[at] = f"more than {DEEPEST} folders lie in each other"
            below.clear()
    return sorted(tables), wrong


def _no_log(folder):
    return f"there is no log in {str(folder)!r}: no <worker>/<block>-<train or test>/{TABLE}"


def parts_of(folder: Path) -> tuple[list[Table], list[Fault]]:
    """The tables of a folder, by block, and what is wrong with the names of their folders."""
    found, wrong = _look(folder)
    parts, faults = (
        [],
        [
            Fault(printable(path.relative_to(folder).as_posix()), right=right)
            for path, right in wrong.items()
            if len(path.relative_to(folder).parts) < 3
        ],
    )
    for path in (path for path in found if len(path.relative_to(folder).parts) == 3):
        name = printable(path.relative_to(folder).as_posix())
        if block := BLOCK.fullmatch(path.parent.name):
            parts.append(Table(path, name, int(block[1]), block[2]))
        else:
            right = "a folder <block>-<train or test>, such as 3-train"
            faults.append(Fault(name, None, None, path.parent.name, right))
    if not parts and not faults:
        hint = (
            "; there are lifetimes below it, one of which is meant, or --recursive for all"
            if found
            else ""
        )
        raise FileNotFoundError(_no_log(folder) + hint)
    numbers = sorted({part.block for part in parts})
    gaps = [
        range(one + 1, other)
        for one, other in zip(numbers, numbers[1:])
        if other > one + 1
    ]
    if gaps:
        gone = [number for gap in gaps[:5] for number in gap[:5]][:5]
        are = ("s", "are") if len(gone) > 1 else ("", "is")
        right = f"block{are[0]} {', '.join(map(str, gone))} {are[1]} missing between {numbers[0]} and {numbers[-1]}"
        faults.append(Fault(printable(folder.name), None, None, None, right))
    return sorted(parts, key=lambda part: (part.block, part.name)), faults
