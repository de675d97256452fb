"""What lies in a folder of submissions: whose each is, and what is passed over, with the reason.

Understood are plain files (`anna.csv`), a folder a student with one CSV file in it, and both as learning platforms
export them:

Moodle      Ann Lee_4711_assignsubmission_file_/answers.csv, or Ann Lee_4711_assignsubmission_file_answers.csv
Canvas      leeann_4711_9876_answers.csv, leeann_LATE_4711_9876_answers.csv
nbgrader    submitted/ann/ps1/answers.csv; give the folder `submitted`
"""

import os
import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from pushlab.ground._old_reading import clean

MOODLE, CANVAS = "_[0-9]+_assignsubmission_file_.*", "(_LATE)?_[0-9]{3,}_[0-9]{3,}_.+"
EXPORTED = re.compile(f"(.+?)({MOODLE}|{CANVAS})", re.DOTALL)
RESULTS = "leaderboard.json"  # by which a folder of results is known
LEFT_BY_SYSTEMS = ("__MACOSX", "Thumbs.db", "desktop.ini")
ONE_NAME = "these submissions would have one name, small and capital letters being the same; rename them"
MOST_INSIDE = 1000  # files and folders of one student that are looked at


class HandedIn(NamedTuple):
    """One submission: whose, the CSV file, what a fault calls it, and why it cannot be read, if so."""

    name: str
    path: Path
    file: str
    fault: str = ""


def find_submissions(folder: Path | str) -> tuple[list[HandedIn], dict[str, str]]:
    """Every submission of a folder, in the order of their names, and {what was passed over: why}.

    A submission is called after its file, or after the folder that it alone lies in; what platforms put behind a
    student's name is left out where the name still is of one student. Names that differ in capitals or in the
    spelling of a letter only are faults: they would share a row of the leaderboard and, on some machines, a folder.
    """
    found, passed_over = [], {}
    for path in sorted(Path(folder).iterdir(), key=lambda path: path.name):
        if why := _passed_over(path):
            passed_over[_shown(path.name)] = why
        else:
            found.append(_look_into(path))
    plain = [_name(one.name) for one in found]
    students = [_name(EXPORTED.sub(r"\1", one.name)) for one in found]
    often, taken = Counter(map(str.casefold, students)), Counter(plain)
    names = [
        student if often[student.casefold()] == 1 else whole
        for student, whole in zip(students, plain)
    ]
    often = Counter(map(str.casefold, names))
    together = {
        key: [one.file for one, name in zip(found, names) if name.casefold() == key]
        for key, count in often.items()
        if count > 1
    }
    named = []
    for one, name, whole in zip(found, names, plain):
        if files := together.get(name.casefold()):
            one = one._replace(file=" and ".join(files), fault=ONE_NAME)
            name = name if taken[whole] == 1 else f"{name} ({_shown(one.path.name)})"
        elif not name.strip("."):
            one, name = (
                one._replace(fault="this is no name for a submission; rename it"),
                "no name",
            )
        named.append(one._replace(name=name))
    return sorted(named, key=lambda one: one.name), passed_over


def _passed_over(path):
    """Why something is no submission; nothing if it may be one."""
    if path.name.startswith("._"):
        return f"macOS keeps notes about {_shown(path.name[2:])} in it"
    if path.name.startswith(".") or path.name in LEFT_BY_SYSTEMS:
        return "a hidden file, or one that a system left there"
    if os.path.isdir(path):
        return (
            "these are the results of an earlier run"
            if os.path.isfile(path / RESULTS)
            else ""
        )
    return "" if path.suffix.lower() == ".csv" else "it is no CSV file"


def _look_into(path):
    """The HandedIn of a CSV file, or of a folder that should hold one, with the name as it stands there."""
    name = path.stem if path.suffix.lower() == ".csv" else path.name
    one = HandedIn(name, path, _shown(path.name))
    if os.path.islink(path):
        return one._replace(fault="this is a link; the file itself is meant")
    if not os.path.isdir(path):
        return one
    try:
        inside = list(_csv_inside(path))
    except OSError as error:
        return one._replace(
            fault=f"the folder cannot be read: {error.strerror or error}"
        )
    if len(inside) == 1:
        return one._replace(
            path=inside[0], file=_shown(inside[0].relative_to(path.parent).as_posix())
        )
    if not inside:
        return one._replace(
            fault="there is no CSV file in this folder; exactly one is meant"
        )
    some = ", ".join(
        _shown(file.relative_to(path).as_posix()) for file in inside[:5]
    ) + (", …" if inside[5:] else "")
    return one._replace(
        fault=f"there are {len(inside)} CSV files in this folder ({some}); exactly one is meant"
    )


def _csv_inside(folder):
    """The CSV files of a folder and the folders in it, into which no link leads."""
    left, seen = [folder], 0
    while left:
        with os.scandir(left.pop()) as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                seen += 1
                if seen > MOST_INSIDE:
                    raise OSError(f"there are more than {MOST_INSIDE:,} files in it")
                if entry.name.startswith(".") or entry.name in LEFT_BY_SYSTEMS:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    left.append(Path(entry.path))
                elif entry.name.lower().endswith(".csv"):
                    yield Path(entry.path)


def _shown(name):
    """A file's name as text that can be written anywhere, a mark in the place of bytes that are not UTF-8."""
    return clean(os.fsencode(name).decode("utf-8", "replace"), most=200)


def _name(name):
    return clean(os.fsencode(name).decode("utf-8", "replace"))
