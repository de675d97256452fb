"""Columns of a log on disk: spelt so that nothing is lost, and read as they were.

A table of numbers and words cannot say whether an empty cell is an empty word or nothing, nor 1 from 1.0. `spell` says
it beside the table, and writes what a cell cannot hold (line breaks, lists, nothing) as JSON.
"""

import io
import json
import re

import numpy as np

from pushlab.ground.faults import BadData, Fault

NUMBER, FLAG = re.compile(r"u?int(8|16|32|64)|float(16|32|64)"), "bool"
WORDS, JSON = ("object", "str"), ("json object", "json str")
AMID = "a quote stands amid a cell, so that nobody can tell where rows end"


def exactly():
    """How pandas is asked for the number that was written, to the last bit: since 3.1 it reads no other."""
    import pandas as pd

    version = tuple(int(part) for part in pd.__version__.split(".")[:2])
    return {} if version >= (3, 1) else {"float_precision": "round_trip"}


# ---------------------------------------------------------------- writing

def spell(table):
    """The table as text can hold it, and {column: kind}: a NumPy dtype, "object", "str" (plain words) or "json …".

    Raises TypeError for a cell that JSON cannot hold.
    """
    import pandas as pd

    spelt, kinds = {}, {}
    for name in table:
        column, kind = table[name], str(table[name].dtype)
        if table[name].dtype.kind in "iufb" and isinstance(column.dtype, np.dtype):
            spelt[name], kinds[name] = column, kind
        elif _are_plain(column):
            spelt[name], kinds[name] = column, kind if kind in ("object", "str") else "object"
        else:
            spelt[name] = [_as_json(value, name) for value in column]
            kinds[name] = "json str" if kind == "str" else "json object"
    return pd.DataFrame(spelt, index=table.index), kinds


def _are_plain(column):
    """Whether all of a column are words that a cell holds as they are."""
    import pandas as pd

    return pd.api.types.infer_dtype(column, skipna=False) == "string" and all(
        isinstance(word, str) and word and word.isprintable() for word in column.unique())


def _as_json(value, name):
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if value is not None and not isinstance(value, list | dict | str) and value != value:
        return "NaN"
    try:
        return json.dumps(value)
    except TypeError:
        raise TypeError(f"column {name!r} holds {value!r:.60}, which a log on disk cannot; numbers, text, lists of "
                        f"them and nothing can be written") from None


def spell_out(table):
    """The text of a TSV file of a table, and how its columns are spelt."""
    table, kinds = spell(table)
    return table.to_csv(sep="\t", index=False, lineterminator="\n"), kinds


# ---------------------------------------------------------------- reading

def read_description(path):
    """What stands beside a table: {"log": {column: kind}, "steps": the same, "own": names of the log's own columns}.

    Raises BadData for a file that says something else.
    """
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        told = {"log": dict(told["log"]), "own": list(told["own"]), "steps": dict(told.get("steps", {}))}
    except (ValueError, KeyError, TypeError) as error:
        right = f"a description of the columns of the table beside it ({type(error).__name__}: {error})"
        raise BadData([Fault(path.name, None, None, None, right)]) from error
    faults = [Fault(path.name, None, name, str(kind), "a kind of column", "item") for key in ("log", "steps")
              for name, kind in told[key].items() if not _is_kind(kind)]
    if len(told["own"]) > len(told["log"]):
        faults.append(Fault(path.name, None, "own", None, "columns of the table", "item"))
    if faults:
        raise BadData(faults)
    return told


def _is_kind(kind):
    return isinstance(kind, str) and (kind in (FLAG, *WORDS, *JSON) or NUMBER.fullmatch(kind) is not None)


def parse(data, kinds, rows):
    """The rows of a TSV table, bytes, that can be read, and what cannot: a list of (row, column, what stands, right).

    Rows are counted from 0; those left keep their numbers as the index. Raises ValueError where there are not as many
    `rows` as were counted.
    """
    import pandas as pd

    numbers = {name: kind for name, kind in kinds.items() if NUMBER.fullmatch(kind)}
    how = {"sep": "\t", "keep_default_na": False, "lineterminator": "\n", **exactly()}
    try:
        table = pd.read_csv(io.BytesIO(data), **how, na_values={name: [""] for name in numbers},
                            dtype={name: numbers.get(name, "object") for name in kinds})
        unread = {}
    except (ValueError, TypeError, OverflowError):  # some word is no number of its kind
        table = pd.read_csv(io.BytesIO(data), **how, dtype=dict.fromkeys(kinds, "object"))
        unread = numbers
    if len(table) != rows:
        raise ValueError(AMID)
    wrong = [(at, name, table[name].iat[at], right) for name, kind in kinds.items() if name in unread or kind not in
             (*numbers.values(), *WORDS) for at, right in _unreadable(table[name], kind)]
    if wrong:
        table = table.drop(index=sorted({at for at, *_ in wrong}))
    for name, kind in kinds.items():
        if name in unread:
            table[name] = table[name].replace("", "nan").astype(kind)
        elif kind in JSON:
            values = {text: json.loads(text) for text in table[name].unique()}
            table[name] = pd.Series([values[text] for text in table[name]], table.index, kind.removeprefix("json "))
        elif kind == FLAG:
            table[name] = table[name] == "True"
        elif kind == "str":
            table[name] = table[name].astype("str")
    return table, wrong


def _unreadable(column, kind):
    """Places in a column of words that a kind does not allow, each with what would be right."""
    known = {word: _is_readable(word, kind) for word in column.unique()}
    right = "True or False" if kind == FLAG else "JSON" if kind in JSON else f"a number ({kind})"
    return [(int(at), right) for at in np.flatnonzero(~column.map(known).to_numpy(bool))]


def _is_readable(word, kind):
    if kind == FLAG:
        return word in ("True", "False")
    try:
        json.loads(word) if kind in JSON else np.dtype(kind).type(word or "nan")
    except (ValueError, OverflowError):
        return False
    return True
