"""Tables as they lie in a folder or a wheel: where a schema says, found, decoded and checked row by row.

CSV is read with Python's own reader, since a table with a torn row must be refused and not silently filled up.
"""

import csv
import difflib
import io
import zipfile
import zlib
from pathlib import Path, PurePosixPath

from pushlab.ground.faults import BadData, Fault

LARGEST = 256 * 2**20       # bytes of one table after unpacking; a quarter of a real user has less than 3 MB
PERIODS = ("history", "validation", "test")
DATES = ("posted", "removed")
SECONDS = ("response_time", "seen_time", "decision_time")
JSON_KINDS = {str: "a text", list: "a list", dict: "an object, {…}"}


class Folder:
    """A folder of tables."""

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.name

    def has(self, name):
        """Whether there is anything of that name, file or not: a folder in a file's place must be reported."""
        return (self.path / name).exists()

    def folders(self, root):
        """Names of the folders directly below `root`."""
        below = self.path / root
        return sorted(entry.name for entry in below.iterdir() if entry.is_dir()) if below.is_dir() else []

    def read(self, name):
        """The bytes of a file."""
        path = self.path / name
        if not path.exists():
            raise BadData([Fault(name, None, None, None, "the file is missing")])
        if path.is_dir():
            raise BadData([Fault(name, None, None, None, "this is a folder; a CSV or JSON file is meant")])
        if path.stat().st_size > LARGEST:
            raise BadData([Fault(name, None, None, None, f"the file is larger than {LARGEST >> 20} MB")])
        return path.read_bytes()


class Wheel:
    """A wheel (a zip file) of tables; only its CSV and JSON members are ever opened.

    The file is open only while it is read, since some systems let nobody move or delete an open one. Raises
    BadData if the file is no zip, or if a member's path leaves the archive.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.name = self.path.name
        try:
            with zipfile.ZipFile(self.path) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except zipfile.BadZipFile as error:
            right = "neither a folder of users nor a wheel (a zip file)"
            raise BadData([Fault(self.name, None, None, None, right)]) from error
        outside = [name for name in self._members if _leaves(name)]
        if outside:
            raise BadData(Fault(self.name, None, None, None, f"the member {name!r} points outside the archive")
                          for name in outside)

    def has(self, name):
        """Whether the archive holds a member or a folder of that name."""
        return name in self._members or any(member.startswith(f"{name}/") for member in self._members)

    def folders(self, root):
        """Names of the folders directly below `root`."""
        root = PurePosixPath(root)
        parts = (PurePosixPath(name).parts for name in self._members)
        depth = len(root.parts)
        return sorted({path[depth] for path in parts if len(path) > depth + 1 and path[:depth] == root.parts})

    def read(self, name):
        """The bytes of a member."""
        info = self._members.get(name)
        if info is None or info.is_dir() or not name.endswith((".csv", ".json")):
            raise BadData([Fault(name, None, None, None, f"there is no such CSV or JSON file in {self.name}")])
        if info.file_size > LARGEST:
            raise BadData([Fault(name, None, None, None, f"the file is larger than {LARGEST >> 20} MB")])
        try:
            with zipfile.ZipFile(self.path) as archive:
                return archive.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError) as error:
            raise BadData([Fault(name, None, None, None, f"the member cannot be unpacked ({error})")]) from error


def _leaves(name):
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in path.parts[0] if path.parts else True


def read_text(source, name):
    """The text of a file; raises BadData where its bytes are not UTF-8."""
    raw = source.read(name)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        right = f"the text is not UTF-8 (byte {raw[error.start]:#04x}); save the file as UTF-8"
        raise BadData([Fault(name, line, None, None, right)]) from error


def read_header(source, name):
    """The names of a table's columns; none where the first line is no CSV, which `read_table` then reports."""
    try:
        return next(csv.reader(io.StringIO(read_text(source, name), newline=""), strict=True), [])
    except csv.Error:
        return []


def read_table(source, name, columns):
    """A DataFrame of text with our column names, or None, and the faults met.

    columns  {name in the file: our name, or None for a column that is not used}, all of which must be there

    The column `line of <name>` holds each row's line number in the file.
    """
    import pandas as pd

    try:
        text = read_text(source, name)
        header, rows, lines, faults = _split(text, name)
    except BadData as error:
        return None, list(error.faults)
    faults += _compare_header(header, columns, name)
    if not faults and not rows:
        faults.append(Fault(name, None, None, None, "the table has a header and no rows"))
    if faults:
        return None, faults
    table = pd.DataFrame(rows, columns=header, dtype=object)
    table = table[[theirs for theirs in header if columns[theirs]]].rename(columns=columns)
    table[f"line of {name}"] = lines
    return table, []


def _split(text, name):
    if not text.strip():
        raise BadData([Fault(name, None, None, None, "the file is empty")])
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows, lines, faults = [], [], []
    try:
        header = next(reader)
        for row in reader:
            if len(row) == len(header):
                rows.append(row)
                lines.append(reader.line_num)
            elif row:
                right = f"the row has {len(row)} fields and the header {len(header)}; it may be torn off"
                faults.append(Fault(name, reader.line_num, None, None, right))
    except csv.Error as error:
        raise BadData([*faults, Fault(name, reader.line_num, None, None, f"not a CSV row ({error})")]) from error
    return header, rows, lines, faults


def _compare_header(header, columns, name):
    faults = [Fault(name, 1, column, None, "the column is there twice")
              for column in sorted({column for column in header if header.count(column) > 1})]
    missing = [column for column in columns if column not in header]
    extra = [column for column in header if column not in columns]
    for column in extra:
        near = difflib.get_close_matches(column, missing, 1, 0.7)
        hint = f"; is {near[0]!r} meant?" if near else ""
        right = f"the column is not one of {', '.join(filter(None, columns))}{hint}"
        faults.append(Fault(name, 1, column, None, right))
    faults += [Fault(name, 1, column, None, "the column is missing") for column in missing]
    return faults


def join_tables(parts):
    """One DataFrame out of (file, DataFrame) parts joined on `id`, in the first one's order, and the faults met."""
    (first, table), *rest = parts
    if not rest:
        return table.drop(columns="id", errors="ignore"), []
    faults = []
    for file, part in parts:
        twice = part[part["id"].duplicated()]
        faults += [Fault(file, int(line), "id", str(value), "a number of its own (it stands there twice)")
                   for value, line in zip(twice["id"], twice[f"line of {file}"])]
    ids = set(table["id"])
    for file, part in rest:
        faults += [Fault(file, int(line), "id", str(value), f"an id of {first}")
                   for value, line in zip(part["id"], part[f"line of {file}"]) if value not in ids]
        own = set(part["id"])
        faults += [Fault(first, int(line), "id", str(value), f"an id of {file}")
                   for value, line in zip(table["id"], table[f"line of {first}"]) if value not in own]
    if faults:
        return None, faults
    for _, part in rest:
        table = table.merge(part, on="id", how="left", validate="one_to_one")
    return table.drop(columns="id"), []


# ---------------------------------------------------------------- what a schema says of its tables

def take(data, key, kind, where):
    """`data[key]` out of JSON; ValueError, named by `where`, if it is missing or not of this kind (str, list, dict).

    >>> take({"root": 3}, "root", str, "layout 1")
    Traceback (most recent call last):
    ValueError: layout 1: 'root' is a text; got 3
    """
    if not isinstance(data, dict):
        raise ValueError(f"{where} is {JSON_KINDS[dict]}; got {data!r:.60}")
    if key not in data:
        raise ValueError(f"{where}: {key!r} is missing")
    if not isinstance(data[key], kind):
        raise ValueError(f"{where}: {key!r} is {JSON_KINDS[kind]}; got {data[key]!r:.60}")
    return data[key]


def check_layouts(layouts, features):
    """Raises ValueError unless every layout has tables, and every period a column for each feature and `action`.

    layouts   a schema's, out of JSON: [{"root": folder, "sort": column (if any), "periods": {period: [table, …]}}, …],
              a table being {"file": name, "columns": {name in the file: our name, or None}}
    features  names of the features
    """
    for number, layout in enumerate(layouts, 1):
        where = f"layout {number}"
        take(layout, "root", str, where)
        periods = take(layout, "periods", dict, where)
        if not periods or not set(periods) <= set(PERIODS):
            raise ValueError(f"{where}: 'periods' are some of {', '.join(PERIODS)}; got {', '.join(periods) or 'none'}")
        for period in periods:
            ours = _check_period(take(periods, period, list, where), features, f"{where}, {period}")
            if "sort" in layout and take(layout, "sort", str, where) not in ours:
                raise ValueError(f"{where}, {period}: 'sort' is a column; got {layout['sort']!r}")


def _check_period(tables, features, where):
    """The names that the columns of a period's tables get; ValueError if one is unknown, missing or given twice."""
    known = {"id", "action", *DATES, *SECONDS, *features, *(f"removal.{name}" for name in features)}
    ours = []
    for table in tables:
        take(table, "file", str, where)
        names = [name for name in take(table, "columns", dict, where).values() if name is not None]
        unknown = [name for name in names if not isinstance(name, str) or name not in known]
        if unknown:
            raise ValueError(f"{where}, {table['file']}: {unknown[0]!r} is no feature and no other column "
                             f"({', '.join(['id', 'action', *DATES, *SECONDS])}, or removal. and a feature)")
        if len(tables) > 1 and "id" not in names:
            raise ValueError(f"{where}, {table['file']}: no column is the 'id' on which the tables are joined")
        ours += [name for at, name in enumerate(names) if name != "id" or "id" in names[:at]]
    missing = [name for name in (*features, "action") if name not in ours]
    twice = [name for name in ours if ours.count(name) > 1 or name == "id"]
    if missing or twice:
        raise ValueError(f"{where}: no column is {missing[0]!r}" if missing else
                         f"{where}: more than one column is {twice[0]!r}")
    return ours
