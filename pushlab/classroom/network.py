"""Bodies of requests and names of teams: limits on size, nesting, numbers and characters.

Everything here comes over the network from people who may try to do harm.
"""

import csv
import io
import json
import math
import unicodedata
from typing import Any

import pandas as pd

from pushlab.ground.faults import BadData, Fault, short

COLUMNS = 50  # of an uploaded table
INVISIBLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")  # letters


def read_json(data: bytes, deepest: int = 6) -> dict[str, Any]:
    """Return the object in a body of JSON.

    Args:
        deepest: Limit on the nesting of lists and objects.

    Raises BadData for anything else, for a key that an object has twice, for numbers that aren't finite or have
    thousands of digits, and for half a character (a lone surrogate).
    """
    try:
        content = json.loads(
            data.decode(),
            object_pairs_hook=_unique,
            parse_float=_finite,
            parse_constant=_finite,
        )
        json.dumps(content, ensure_ascii=False).encode()
        depth = _depth(content)
    except (ValueError, RecursionError) as error:
        right = f"an object of JSON in UTF-8 ({short(str(error))})"
        raise BadData(Fault("the body", right=right)) from None
    if not isinstance(content, dict) or depth > deepest:
        right = f"an object of JSON, {{…}}, in which at most {deepest} lists and objects are nested"
        raise BadData(Fault("the body", right=right))
    return content


def _unique(pairs):
    content = dict(pairs)
    if len(content) < len(pairs):
        raise ValueError("a key is there twice in one object")
    return content


def _finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{short(text)} is not a finite number")
    return value


def _depth(content):
    if isinstance(content, dict):
        content = list(content.values())
    if not isinstance(content, list):
        return 0
    return 1 + max(map(_depth, content), default=0)


def read_csv(data: bytes, name: str, rows: int) -> pd.DataFrame:
    """Return an uploaded table as text. Raises BadData for one with more than `rows` rows or too many columns."""
    try:
        text = data.decode("utf-8-sig")
        if len(next(csv.reader(io.StringIO(text)), [])) > COLUMNS:
            raise ValueError(f"there are more than {COLUMNS} columns")
        table = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    except (ValueError, csv.Error) as error:
        right = f"a CSV table in UTF-8 ({short(str(error).strip(), 200)})"
        raise BadData(Fault(name, right=right)) from None
    if len(table) > rows or not isinstance(table.index, pd.RangeIndex):
        right = f"there are more than {rows:,} rows, or rows longer than the header"
        raise BadData(Fault(name, right=right))
    return table.fillna("")


def clean(text: str, most: int = 80) -> str:
    """Return a name that can be shown and used as a file's name.

    Each letter has one spelling (NFC). Characters that steer a terminal, change the reading direction or are
    invisible are left out.

    >>> clean("  Ada\\u202e\\n Lovelace\\x1b[31m ")
    'Ada Lovelace[31m'
    """
    shown = [
        letter
        for letter in text
        if letter.isspace()
        or (letter not in INVISIBLE and unicodedata.category(letter)[0] != "C")
    ]
    return short(unicodedata.normalize("NFC", " ".join("".join(shown).split())), most)
