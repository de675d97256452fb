"""Tables of a log as text: spelt so that nothing is lost, and read as they were, without the rows that are torn.

A table of numbers and words cannot say whether an empty cell is an empty word or nothing, nor 1 from 1.0. `spell_out`
says it beside the table, and writes what a cell cannot hold (line breaks, lists, nothing) as JSON. Rows are counted out
as bytes before they are parsed, since a parser fills a torn one up without a word. Parquet files need none of this.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground._old_reading import read_bytes
from pushlab.ground.arguments import demand
from pushlab.ground.faults import BadData, Fault
from pushlab.ground.files import write_bytes
from pushlab.ground.libraries import bring

NUMBER, FLAG = re.compile(r"u?int(8|16|32|64)|float(16|32|64)"), "bool"
WORDS, JSON = ("object", "str"), ("json object", "json str")
PARQUET = "pushlab: columns of JSON"  # what a Parquet file's attributes tell of them
QUOTE, NEW_LINE = ord('"'), ord("\n")
LARGEST = 512 * 2**20  # bytes of a table
MOST_COLUMNS = 10_000
MOST_CELLS = 2**27  # of a table; more need more memory than a laptop has
MOST_FAULTS = 1000  # of a table; more say nothing new
NO_END = "a whole line: the file is torn off, and the last value may be; end it with a new line if it is whole"
AMID = "a quote stands amid a cell, so that nobody can tell where rows end"
# Since 3.1 pandas reads the number that was written, to the last bit, and no other; before, it has to be asked.
EXACTLY = (
    {}
    if tuple(map(int, pd.__version__.split(".")[:2])) >= (3, 1)
    else {"float_precision": "round_trip"}
)


# ---------------------------------------------------------------- writing


def spell_out(table: pd.DataFrame) -> tuple[str, dict[str, str]]:
    """The text of a TSV file of a table, and {column: kind}: a NumPy dtype, "object", "str" (plain words) or "json …".

    Raises TypeError for a cell that JSON cannot hold.
    """
    spelt, kinds = {}, {}
    for name, column in table.items():
        kind = str(column.dtype)
        if isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb":
            spelt[name], kinds[name] = column, kind
        elif _are_plain(column):
            spelt[name], kinds[name] = column, kind if kind in WORDS else "object"
        else:
            spelt[name] = [_as_json(value, name) for value in column]
            kinds[name] = "json str" if kind == "str" else "json object"
    text = pd.DataFrame(spelt, index=table.index).to_csv(
        sep="\t", index=False, lineterminator="\n"
    )
    return text, kinds


def _are_plain(column):
    """Whether all of a column are words that a cell holds as they are."""
    return pd.api.types.infer_dtype(column, skipna=False) == "string" and all(
        isinstance(word, str) and word and word.isprintable()
        for word in column.unique()
    )


def _as_json(value, name):
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if (
        value is not None
        and not isinstance(value, list | dict | str)
        and value != value
    ):
        return "NaN"
    try:
        return json.dumps(value)
    except TypeError:
        raise TypeError(
            f"column {name!r} holds {value!r:.60}, which a log on disk cannot; numbers, text, lists of "
            f"them and nothing can be written"
        ) from None


def write_parquet(log: pd.DataFrame, path: Path | str) -> Path:
    """Writes any log as a Parquet file, from which `read_parquet` gives the same one back; returns the path.

    Columns of Python's objects, such as lists, are JSON in it: other readers find text there.
    Raises ImportError without pyarrow, TypeError for a cell that JSON cannot hold, ValueError for another ending.
    """
    demand(
        Path(path).suffix == ".parquet",
        f"the name of a Parquet file ends in .parquet; got {str(path)!r}",
    )
    bring("pyarrow", "Parquet")
    spelt = {
        name: [_as_json(value, name) for value in column]
        for name, column in log.items()
        if str(column.dtype) == "object"
    }
    table = log.assign(**spelt)
    table.attrs = {**log.attrs, PARQUET: [*spelt]}
    return write_bytes(path, table.to_parquet(engine="pyarrow"))


def read_parquet(path: Path | str) -> pd.DataFrame:
    """The log that `write_parquet` wrote, or the table of any other Parquet file.

    Raises ImportError without pyarrow, BadData for a file that is none, or that unpacks to more than LARGEST bytes or
    MOST_CELLS cells.
    """
    bring("pyarrow", "Parquet")
    from pyarrow import ArrowException, parquet

    name, data = Path(path).name, read_bytes(path, LARGEST, links=True)
    try:
        about = parquet.ParquetFile(io.BytesIO(data)).metadata
        groups = [about.row_group(at) for at in range(about.num_row_groups)]
        if (
            about.num_rows * about.num_columns > MOST_CELLS
            or sum(one.total_byte_size for one in groups) > LARGEST
        ):
            raise ValueError(
                f"{about.num_rows:,} rows of {about.num_columns:,} columns are too many"
            )
        table = pd.read_parquet(io.BytesIO(data), engine="pyarrow")
        spelt = table.attrs.pop(PARQUET, ())
        return table.assign(
            **{
                name: pd.Series([*map(loads, table[name])], table.index, object)
                for name in spelt
            }
        )
    except (
        ArrowException,
        OSError,
        ValueError,
        TypeError,
        KeyError,
        RecursionError,
    ) as error:
        raise BadData(
            Fault(name, right=f"a Parquet file of a log ({error})")
        ) from error


# ---------------------------------------------------------------- reading


def loads(text: str) -> Any:
    """What the JSON of a cell stands for. ValueError for none, and for more brackets in each other than can be read."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("lists and objects lie too deep in each other") from None


def is_kind(kind: Any) -> bool:
    """Whether this is a kind of column, as `spell_out` says them."""
    return isinstance(kind, str) and (
        kind in (FLAG, *WORDS, *JSON) or NUMBER.fullmatch(kind) is not None
    )


def parse(
    data: bytes, kinds: dict[str, str], lines: np.ndarray, file: str
) -> tuple[pd.DataFrame, list[Fault]]:
    """The rows of a TSV table that can be read, indexed by their lines, and a fault for each cell that cannot.

    Raises ValueError where there are not as many rows as lines.
    """
    numbers = {name: kind for name, kind in kinds.items() if NUMBER.fullmatch(kind)}
    how = {"sep": "\t", "keep_default_na": False, "lineterminator": "\n", **EXACTLY}
    try:
        table = pd.read_csv(
            io.BytesIO(data),
            **how,
            na_values={name: [""] for name in numbers},
            dtype={name: numbers.get(name, "object") for name in kinds},
        )
    except (ValueError, TypeError, OverflowError):  # some word is no number of its kind
        table = pd.read_csv(
            io.BytesIO(data), **how, dtype=dict.fromkeys(kinds, "object")
        )
    if len(table) != len(lines):
        raise ValueError(AMID)
    table.index, faults = lines, []
    to_read = {
        name: kind
        for name, kind in kinds.items()
        if kind not in WORDS and table[name].dtype.kind == "O"
    }
    for name, kind in to_read.items():
        right = (
            "True or False"
            if kind == FLAG
            else "JSON"
            if kind in JSON
            else f"a number ({kind})"
        )
        sound = {word: _is_readable(word, kind) for word in table[name].unique()}
        wrong = table[name][~table[name].map(sound).to_numpy(bool)]
        faults += [
            Fault(file, int(line), name, word, right) for line, word in wrong.items()
        ]
    table = table.drop(index=list({fault.row for fault in faults}))
    for name, kind in to_read.items():
        if kind == FLAG:
            table[name] = table[name] == "True"
        elif kind in JSON:
            values = {text: loads(text) for text in table[name].unique()}
            table[name] = pd.Series(
                [values[text] for text in table[name]],
                table.index,
                kind.removeprefix("json "),
            )
        else:
            table[name] = table[name].replace("", "nan").astype(kind)
    return table.astype(
        {name: "str" for name, kind in kinds.items() if kind == "str"}
    ), faults


def _is_readable(word, kind):
    if kind == FLAG:
        return word in ("True", "False")
    try:
        loads(word) if kind in JSON else np.dtype(kind).type(word or "nan")
    except (ValueError, OverflowError):
        return False
    return True


# ---------------------------------------------------------------- torn rows


def read_whole(
    path: Path, file: str, links: bool = False
) -> tuple[bytes, list[str] | None, np.ndarray, list[Fault]]:
    """The bytes of a table without its torn rows, its header, the numbers of the lines that are left, and the faults.

    The header is None for a table that is empty, no text, too large, or mostly torn. `file` is what faults call it;
    `links` is that of `read_bytes`.
    """
    separator = separator_of(path)
    try:
        if path.suffix == ".parquet":
            data = read_parquet(path).to_csv(index=False, lineterminator="\n").encode()
        else:
            data = read_bytes(path, LARGEST, links).removeprefix(b"\xef\xbb\xbf")
        if not data.strip():
            raise BadData(
                Fault(file, right="a table with a header; this file is empty")
            )
        if (cells := data.count(separator.encode()) + data.count(b"\n")) > MOST_CELLS:
            raise BadData(
                Fault(
                    file,
                    right=f"a table of at most {MOST_CELLS:,} cells; it has {cells:,}",
                )
            )
        data.decode("utf-8")
        head, _, body = data.partition(b"\n")
        if head.endswith(b"\r"):
            head, body = head[:-1], body.replace(b"\r\n", b"\n")
        header = next(csv.reader([head.decode("utf-8")], delimiter=separator))
        if len(header) > MOST_COLUMNS:
            raise BadData(
                Fault(
                    file,
                    1,
                    right=f"at most {MOST_COLUMNS:,} columns; there are {len(header):,}",
                )
            )
        body, lines, faults = whole_rows(body, len(header), file, separator)
    except UnicodeDecodeError as error:
        return _no_table(
            Fault(file, data.count(b"\n", 0, error.start) + 1, right="text in UTF-8")
        )
    except csv.Error as error:
        return _no_table(Fault(file, right=f"a table ({error})"))
    except BadData as error:
        return _no_table(*(fault._replace(file=file) for fault in error.faults))
    return head + b"\n" + body, header, lines, faults


def _no_table(*faults):
    return b"", None, np.zeros(0, int), [*faults]


def separator_of(path: Path) -> str:
    """What stands between two cells of a table on disk."""
    return "," if path.suffix in (".csv", ".parquet") else "\t"


def whole_rows(
    body: bytes, columns: int, file: str, separator: str = "\t"
) -> tuple[bytes, np.ndarray, list[Fault]]:
    r"""The rows of a table, below its header, that have all their columns: bytes, their lines' numbers, and the faults.

    >>> whole_rows(b"1\tcalm\n2\n3\tloud\n4\tca", 2, "log.tsv")[:2]
    (b'1\tcalm\n3\tloud\n', array([2, 4]))
    """
    faults = []
    if body and not body.endswith(b"\n"):
        whole, _, rest = body.rpartition(b"\n")
        body = whole + b"\n" if whole else b""
        faults.append(
            Fault(
                file,
                body.count(b"\n") + 2,
                None,
                rest[:30].decode("utf-8", "ignore"),
                NO_END,
            )
        )
    starts, fields = _count_fields(body, separator)
    if (fields != columns).any() or body.count(b'"') % 2:
        body, lines, torn = _rows_one_by_one(body, columns, file, separator)
        return body, lines, [*torn, *faults]
    breaks = np.flatnonzero(np.frombuffer(body, np.uint8) == NEW_LINE)
    return body, 2 + np.searchsorted(breaks, starts), faults


def _count_fields(body, separator):
    """Where rows start, and how many fields each has: two arrays. What stands in quotes divides nothing."""
    letters = np.frombuffer(body, np.uint8)
    ends, splits = (
        np.flatnonzero(letters == NEW_LINE),
        np.flatnonzero(letters == ord(separator)),
    )
    quotes = np.flatnonzero(letters == QUOTE)
    if len(quotes):
        ends = ends[np.searchsorted(quotes, ends) % 2 == 0]
        splits = splits[np.searchsorted(quotes, splits) % 2 == 0]
    return np.append(0, ends[:-1] + 1)[: len(ends)], np.diff(
        np.searchsorted(splits, ends), prepend=0
    ) + 1


def _rows_one_by_one(body, columns, file, separator):
    """As `whole_rows` for a table with faults in it: a quote left open must not swallow the rows that follow."""
    kept, lines, faults = [], [], []
    for line, row in enumerate(body[:-1].split(b"\n"), 2):
        count = (
            len(next(csv.reader([row.decode("utf-8")], delimiter=separator), []))
            if row.strip()
            else 0
        )
        if count == columns and row.count(b'"') % 2 == 0:
            kept.append(row + b"\n")
            lines.append(line)
        elif row.strip():
            right = (
                f"a row of {columns} cells; it has {count}"
                if count != columns
                else "a quote is opened and not closed: the row is torn"
            )
            faults.append(Fault(file, line, None, None, right))
            if len(faults) >= MOST_FAULTS:
                raise BadData(
                    [
                        *faults,
                        Fault(
                            file,
                            right=f"a table with fewer than {MOST_FAULTS:,} rows at fault",
                        ),
                    ]
                )
    return b"".join(kept), np.array(lines, int), faults
