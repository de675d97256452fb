"""Tables as they lie in a folder or a wheel: where a schema says, found, decoded and checked row by row.

CSV is read with Python's own reader, since a table with a torn row must be refused and not silently filled up.
"""

from __future__ import annotations

import csv
import io
import struct
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from pushlab.ground._old_reading import limited, opened, read_bytes
from pushlab.ground.arguments import meant
from pushlab.ground.faults import BadData, Fault, blame, printable, refuse, short
from pushlab.ground.files import data_dir

if TYPE_CHECKING:
    import pandas as pd

LARGEST = (
    64 * 2**20
)  # bytes of one table, and of a wheel; a quarter of a real user has less than 3 MB
UNPACKED, RATIO = (
    256 * 2**20,
    100,
)  # bytes of all tables of a wheel, and over its own; the shipped users have 7
MEMBERS, LONGEST_NAME = 10_000, 255  # of a wheel
WIDEST, LONGEST = 1000, 2**20  # columns, and characters of a line
MOST_CELLS, A_ROW = (
    2**25,
    12,
)  # of a table, 8 bytes each; a row costs as much as so many cells
MOST_FAULTS = 10_000  # of one table: more torn rows are not told of one by one
LARGEST_NUMBER = 1e15  # sums of squares of such numbers are still numbers
TABLES = (".csv", ".json")
NO_ROWS = "the table has a header and no rows"
A_DURATION = "a number of seconds, 0 or more"


class Source:
    """A folder, or a wheel (a zip file), of tables; only its CSV and JSON files are ever opened.

    A wheel is read whole and not held open, since some systems let nobody move or delete an open file. Raises BadData
    if a file is no zip, or if its members leave the archive, are too many, or would unpack to too much.

    links  whether the files of a folder may be links, as those that come with pushlab may
    """

    def __init__(self, path: Path | str, links: bool = False):
        self.path = Path(path)
        self.name, self.is_folder = self.path.name, self.path.is_dir()
        self._links = links or self.path.absolute().is_relative_to(data_dir())
        self._root: Any = self.path if self.is_folder else self._unpacked()

    def _unpacked(self):
        with opened(self.path, LARGEST, links=True) as file:
            is_zip = zipfile.is_zipfile(file)  # before it is read: it may be anything
            file.seek(0)
            data = file.read() if is_zip else b""
        if (
            data.count(b"PK\1\2") > MEMBERS
        ):  # what each member's entry in the list of contents begins with
            raise BadData(
                Fault(self.name, right=f"more than {MEMBERS:,} files are in it")
            )
        try:
            archive = zipfile.ZipFile(io.BytesIO(data))
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            ValueError,
            struct.error,
            EOFError,
            OSError,
        ) as error:
            raise BadData(
                Fault(
                    self.name,
                    right="neither a folder of users nor a wheel (a zip file)",
                )
            ) from error
        refuse(
            Fault(self.name, right=f"the member {short(member.filename)!r} {wrong}")
            for member in archive.infolist()
            if (wrong := _wrong_with(member))
        )
        unpacked = sum(
            member.file_size
            for member in archive.infolist()
            if member.filename.endswith(TABLES)
        )
        if unpacked > min(UNPACKED, 2**20 + RATIO * len(data)):
            raise BadData(
                Fault(
                    self.name,
                    right=f"its {len(data):,} bytes would unpack to {unpacked:,}, which is more "
                    f"than tables of users do",
                )
            )
        return zipfile.Path(archive)

    def _at(self, name):
        if (
            PurePath(name).anchor or ".." in PurePath(name).parts
        ):  # a schema may say anything
            raise BadData(Fault(name, right=f"this leads out of {self.name}"))
        return self._root.joinpath(name)

    def has(self, name: str) -> bool:
        """Whether there is anything of that name, file or not: a folder in a file's place must be reported."""
        return self._at(name).exists()

    def folders(self, root: str) -> list[str]:
        """Names of the folders directly below `root`."""
        below = self._at(root)
        return (
            sorted(entry.name for entry in below.iterdir() if entry.is_dir())
            if below.is_dir()
            else []
        )

    def read(self, name: str) -> bytes:
        """The bytes of a file."""
        file, wrong = self._at(name), None
        if not file.exists():
            wrong = "the file is missing" + (
                "" if self.is_folder else f" in {self.name}"
            )
        elif file.is_dir() or not name.endswith(TABLES):
            wrong = f"this is {'a folder' if file.is_dir() else 'another file'}; a CSV or JSON file is meant"
        if wrong:
            raise BadData(Fault(name, right=wrong))
        if self.is_folder:
            return read_bytes(file, LARGEST, self._links, name)
        try:
            with file.open("rb") as packed, limited(packed, LARGEST, name) as member:
                return member.read()
        except (
            zipfile.BadZipFile,
            zlib.error,
            EOFError,
            RuntimeError,
            OSError,
        ) as error:
            raise BadData(
                Fault(name, right=f"the member cannot be unpacked ({error})")
            ) from error


def _wrong_with(member):
    """What is wrong with a member of a wheel, or nothing."""
    path = PurePosixPath(member.filename.replace("\\", "/"))
    if (
        path.is_absolute() or ".." in path.parts or ":" in path.parts[0]
        if path.parts
        else True
    ):
        return "points outside the archive"
    if len(member.filename) > LONGEST_NAME:
        return f"has a name of more than {LONGEST_NAME} characters"
    if member.filename.endswith(TABLES) and member.compress_type not in (
        zipfile.ZIP_STORED,
        zipfile.ZIP_DEFLATED,
    ):
        return "is packed in another way than wheels are"


# ---------------------------------------------------------------- reading a table


def read_rows(
    file: BinaryIO, name: str, most: int | None = None
) -> tuple[list, list, list, list]:
    """The header, the rows, the line of each row, and the faults of single rows of a CSV file that is open as bytes.

    most   so many rows are kept at most, and never more than fit into 256 MB; more are counted and are a fault

    Raises BadData where there is no table to go on with.
    """
    rows: list[list[str]] = []
    lines: list[int] = []
    faults: list[Fault] = []
    count = 0
    words: dict[
        str, str
    ] = {}  # each distinct word is kept once: a log repeats a few of them
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    reader = csv.reader(_lines(text, name), strict=True)
    try:
        header = next(reader, [])
        most = min(most or MOST_CELLS, MOST_CELLS // (len(header) + A_ROW))
        if len(header) > WIDEST:
            raise BadData(
                Fault(name, 1, right=f"the header has {len(header):,} columns")
            )
        if len(header) == 1 and (
            mark := next((mark for mark in ";\t|" if mark in header[0]), None)
        ):
            right = f"there is {mark!r} between the columns; save the file as CSV with commas"
            raise BadData(Fault(name, 1, right=right))
        for row in reader:
            if len(row) == len(header):
                count += 1
                if count <= most:
                    rows.append(list(map(words.setdefault, row, row)))
                    lines.append(reader.line_num)
            elif row and len(faults) < MOST_FAULTS:
                right = f"the row has {len(row)} fields and the header {len(header)}; it may be torn off"
                faults.append(Fault(name, reader.line_num, right=right))
    except UnicodeDecodeError:
        raise BadData(_foreign_byte(file, name)) from None
    except csv.Error as error:
        raise BadData(
            [*faults, Fault(name, reader.line_num, right=f"not a CSV row ({error})")]
        ) from None
    finally:
        text.detach()  # whoever opened the file closes it
    if not "".join(header).strip():
        if any("".join(row).strip() for row in rows) or any(
            "torn" in fault.right for fault in faults
        ):
            raise BadData(
                Fault(name, 1, right="the first line is blank; it should be the header")
            )
        raise BadData(
            Fault(name, right="the file is empty; a CSV table with a header is meant")
        )
    if len(rows) < count:
        faults.append(
            Fault(
                name,
                right=f"there are {count:,} rows; {most:,} are the most that there can be",
            )
        )
    if not count and not faults:
        faults.append(Fault(name, right=NO_ROWS))
    return header, rows, lines, faults


def _lines(text, name):
    """The lines of a text; BadData for one that is too long to be a row."""
    for number, line in enumerate(iter(partial(text.readline, LONGEST + 1), ""), 1):
        if len(line) > LONGEST:
            raise BadData(
                Fault(
                    name, number, right=f"the line has more than {LONGEST:,} characters"
                )
            )
        yield line


def _foreign_byte(file, name):
    file.seek(0)
    for number, line in enumerate(file, 1):
        try:
            line.decode("utf-8")
        except UnicodeDecodeError as error:
            right = f"the text is not UTF-8 (byte {line[error.start]:#04x}); save the file as CSV in UTF-8"
            return Fault(name, number, right=right)


def find_columns(
    header: Iterable[Any],
    spellings: Mapping[str, Iterable[str]],
    optional: Iterable[str],
    file: str,
    line: int | None = 1,
) -> tuple[dict, list]:
    """{our name: the column's name} of a table, and the faults of its header.

    spellings  {our name: names it may have}, all of which must be there under one of them
    optional   names that may be there
    line       of the file, in which the header stands; None for a DataFrame
    """
    header = [str(name) for name in header]
    known = {name: ours for ours, names in spellings.items() for name in names} | {
        name: name for name in optional
    }
    found: dict[str, str] = {}
    faults, extra = [], []
    for name in dict.fromkeys(header):
        if header.count(name) > 1:
            faults.append(
                Fault(file, line, _printable(name), right="the column is there twice")
            )
        if name not in known:
            extra.append(_printable(name))
        elif known[name] in found:
            faults.append(
                Fault(
                    file,
                    line,
                    name,
                    right=f"the column says the same as {found[known[name]]}; keep one",
                )
            )
        else:
            found[known[name]] = name
    missing = [ours for ours in spellings if ours not in found]
    if extra and line and not found:
        right = f"none of these is a column; the first line should name them: {', '.join(spellings)}"
        return {}, [Fault(file, line, right=right)]
    for name in extra:
        right = f"the column is not one of {', '.join(filter(None, [*spellings, *optional]))}{meant(name, missing)}"
        faults.append(Fault(file, line, name, right=right))
    return found, faults + [
        Fault(file, line, ours, right="the column is missing") for ours in missing
    ]


def _printable(name):
    """A column's name as it may be shown on a terminal: no control characters, and not too long."""
    return short(printable(name))


def read_table(
    source: Source,
    name: str,
    columns: Mapping[str, str | None],
    optional: Mapping[str, str | None] = MappingProxyType({}),
) -> tuple[pd.DataFrame | None, list]:
    """A DataFrame of text with our column names, or None, and the faults met.

    columns   {name in the file: our name, or None for a column that is not used}, all of which must be there
    optional  columns, in the same form, that may be there

    The column `line of <name>` holds each row's line number in the file.
    """
    import pandas as pd

    try:
        header, rows, lines, faults = read_rows(io.BytesIO(source.read(name)), name)
    except BadData as error:
        return None, list(error.faults)
    faults = (
        find_columns(header, {theirs: [theirs] for theirs in columns}, optional, name)[
            1
        ]
        + faults
    )
    if faults:
        return None, faults
    ours = {
        theirs: name
        for theirs, name in {**columns, **optional}.items()
        if name and theirs in header
    }
    table = pd.DataFrame(rows, columns=header, dtype=object)
    table = table[[theirs for theirs in header if theirs in ours]].rename(columns=ours)
    return table.assign(**{f"line of {name}": lines}), []


def join_tables(
    parts: Sequence[tuple[str, pd.DataFrame]],
) -> tuple[pd.DataFrame | None, list]:
    """One DataFrame out of (file, DataFrame) parts joined on `id`, in the first one's order, and the faults met."""

    def foreign(file, part, known, right):
        return blame(file, part[f"line of {file}"], "id", part["id"], ~known, right)

    (first, table), *rest = parts
    if not rest:
        return table.drop(columns="id", errors="ignore"), []
    faults = [
        fault
        for file, part in parts
        for fault in foreign(
            file,
            part,
            ~part["id"].duplicated(),
            "a number of its own (it stands there twice)",
        )
    ]
    for file, part in rest:
        faults += foreign(file, part, part["id"].isin(table["id"]), f"an id of {first}")
        faults += foreign(
            first, table, table["id"].isin(part["id"]), f"an id of {file}"
        )
    if faults:
        return None, faults
    for _, part in rest:
        table = table.merge(part, on="id", how="left", validate="one_to_one")
    return table.drop(columns="id"), []


def read_numbers(
    column: pd.Series,
    name: str,
    file: str,
    lines: Any,
    right: str,
    *,
    unknown: Sequence[str] = (),
) -> tuple[np.ndarray, list]:
    """A column's numbers, float64 (rows,), and a fault for each that is not finite, below 0 or above 1e15.

    right     what a number of this column is, for the faults
    unknown   texts that may stand for no number, NaN
    """
    import pandas as pd

    numbers = pd.to_numeric(column, errors="coerce").to_numpy(
        dtype=float, na_value=np.nan
    )
    wrong = (
        ~((numbers >= 0) & (numbers <= LARGEST_NUMBER))
        & ~column.isin(unknown).to_numpy()
    )
    if (numbers > LARGEST_NUMBER).any():
        right += f", {LARGEST_NUMBER:g} at most"
    return numbers, blame(file, lines, name, column, wrong, right)
