"""The one reader of files that come from others: it waits for nothing, and reads no more than it was told to.

A file may be a link to somewhere else, a FIFO that nobody writes into, a device without an end; JSON may be nested a
hundred thousand times or hold a number of a million digits. All that is a fault with the file's name, and what would
have been right.
"""

import errno
import io
import json
import math
import os
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pushlab.ground._old_files import what_it_is
from pushlab.ground.faults import BadData, Fault, short

DIGITS = 100  # of one whole number in JSON
WORDS = {
    dict: "an object, {…}",
    list: "a list, […]",
    str: "a text",
    int: "a whole number",
    float: "a number",
}
INVISIBLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
)  # show nothing, and count as letters


class _Limited(io.RawIOBase):
    """An open file of which no more than `most` bytes are there; more is BadData."""

    def __init__(self, file, most, name):
        self._file, self._most, self._name = file, most, name

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        count = self._file.readinto(buffer)
        if self._file.tell() > self._most:
            raise _too_large(self._name, self._most)
        return count

    def seek(self, offset, whence=os.SEEK_SET):
        return self._file.seek(offset, whence)

    def close(self):
        self._file.close()
        super().close()


def _too_large(name, most):
    size = f"{most / 2**20:,.0f} MB" if most >= 2**20 else f"{most:,} bytes"
    return BadData(
        Fault(name, right=f"the file is larger than {size}, the most that it can be")
    )


@contextmanager
def opened(
    path: Path | str, most: int, links: bool = False, name: str | None = None
) -> Iterator[io.BufferedReader]:
    """An ordinary file, open for reading bytes one after the other.

    most   bytes that it may have, also if it grows while it is read
    links  whether the path may be a link to the file (a folder of the path always may)
    name   of the file, for the faults

    Raises BadData if it is missing, unreadable, larger, or no ordinary file; nothing is waited for.
    """
    name = name or Path(path).name or str(path)
    with (
        _unbuffered(path, name, most, links) as file,
        limited(file, most, name) as data,
    ):
        yield data


def read_bytes(
    path: Path | str, most: int, links: bool = False, name: str | None = None
) -> bytes:
    """The bytes of an ordinary file, as `opened` opens it."""
    with opened(path, most, links, name) as file:
        return file.read()


def read_text(
    path: Path | str, most: int, links: bool = False, name: str | None = None
) -> str:
    """The text of an ordinary file, as `opened` opens it; BadData with the line of the first byte that is not UTF-8."""
    return _decoded(read_bytes(path, most, links, name), name or Path(path).name)


def _decoded(data, name):
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        right = f"the text is not UTF-8 (byte {data[error.start]:#04x})"
        raise BadData(
            Fault(name, 1 + data.count(b"\n", 0, error.start), right=right, unit="line")
        ) from None


def limited(file: Any, most: int, name: str) -> io.BufferedReader:
    """An open file, such as one that is unpacked while it is read, of which no more than `most` bytes are read."""
    return io.BufferedReader(_Limited(file, most, name), 2**17)


def _unbuffered(path, name, most, links):
    flags = sum(
        getattr(os, flag, 0)
        for flag in ("O_NONBLOCK", "O_CLOEXEC", "O_NOCTTY", "O_BINARY")
    )
    try:
        _ordinary(
            (os.stat if links else os.lstat)(path), name
        )  # some devices act when they are opened
        file = os.fdopen(
            os.open(
                path,
                os.O_RDONLY | flags | (0 if links else getattr(os, "O_NOFOLLOW", 0)),
            ),
            "rb",
            0,
        )
    except FileNotFoundError:
        raise BadData(Fault(name, right="the file is missing")) from None
    except OSError as error:
        word = (
            "a link; the file itself is meant"
            if error.errno == errno.ELOOP
            else error.strerror or error
        )
        raise BadData(Fault(name, right=f"the file cannot be read: {word}")) from None
    except BadData:
        raise
    except ValueError:
        raise BadData(Fault(name, right="no file can have this name")) from None
    try:
        about = os.fstat(file.fileno())
        _ordinary(about, name)  # it may be another file by now
        if about.st_size > most:
            raise _too_large(name, most)
    except BaseException:
        file.close()
        raise
    return file


def _ordinary(about, name):
    if word := what_it_is(about.st_mode):
        meant = "the file itself" if stat.S_ISLNK(about.st_mode) else "an ordinary file"
        raise BadData(Fault(name, right=f"this is {word}; {meant} is meant"))


# ---------------------------------------------------------------- JSON


class _Wrong(Exception):
    """What is wrong inside JSON: `right`, the text that it is about, to find its line by, and the key."""

    def __init__(self, right, word="", key=None):
        super().__init__(right, word, key)


def read_json(
    path_or_bytes: Path | str | bytes,
    most: int = 8 * 2**20,
    kind: Any = dict,
    name: str | None = None,
    links: bool = False,
    deepest: int = 64,
) -> Any:
    """What a JSON file, or its bytes, stands for.

    most     bytes that there may be
    kind     the type of the whole, or a tuple of types; object for any
    name     of the file, for the faults
    links    as in `opened`
    deepest  so many lists and objects may lie within each other

    Raises BadData for what is no JSON in UTF-8 or is not of the kind, for a key that an object has twice, for a whole
    number of more than 100 digits, and for numbers that are not finite.

    >>> read_json(b'{"a": [1, 2]}')
    {'a': [1, 2]}
    >>> read_json(b'{"a": 1, "a": 2}', name="a.json")
    Traceback (most recent call last):
    pushlab.ground.faults.BadData: 1 fault:
      a.json, key a: the key is there twice in one object
    """
    if isinstance(path_or_bytes, bytes):
        data, name = path_or_bytes, name or "JSON"
        if len(data) > most:
            raise _too_large(name, most)
    else:
        name = name or Path(path_or_bytes).name
        data = read_bytes(path_or_bytes, most, links, name)
    text = _decoded(data, name)
    try:
        _shallow(data, deepest)
        told = json.loads(
            text,
            object_pairs_hook=_once,
            parse_int=_whole,
            parse_float=_finite,
            parse_constant=_no_number,
        )
        if b"\\ud" in data.lower():
            json.dumps(told, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise BadData(
            Fault(name, right="a text holds half a character (a lone surrogate, \\ud…)")
        ) from None
    except json.JSONDecodeError as error:
        raise BadData(
            Fault(
                name,
                error.lineno,
                right=f"this is not JSON: {error.msg.lower()}",
                unit="line",
            )
        ) from None
    except _Wrong as error:
        right, word, key = error.args
        row = 1 + text.count("\n", 0, text.index(word)) if word else None
        raise BadData(Fault(name, row, key, right=right, unit="line")) from None
    except (RecursionError, MemoryError):
        raise BadData(
            Fault(name, right="there is more in it than can be read")
        ) from None
    kinds = kind if isinstance(kind, tuple) else (kind,)
    if not isinstance(told, kind) or (
        isinstance(told, bool) and bool not in (*kinds, object)
    ):
        words = " or ".join(WORDS.get(one, one.__name__) for one in kinds)
        raise BadData(
            Fault(
                name,
                right=f"it should be {words}; it is {WORDS.get(type(told), repr(told))}",
            )
        )
    return told


def _shallow(data, deepest):
    """_Wrong if more lists and objects lie within each other than may; brackets in texts do not count."""
    import numpy as np

    if data.count(b"[") + data.count(b"{") <= deepest:
        return
    marks = np.frombuffer(data.replace(b"\\\\", b"").replace(b'\\"', b""), np.uint8)
    outside = np.bitwise_xor.accumulate((marks == ord('"')).astype(np.int8)) == 0
    opens, closes = (np.isin(marks, list(pair)) for pair in (b"[{", b"]}"))
    depth = np.cumsum(
        np.where(outside, opens.astype(np.int8) - closes, 0), dtype=np.int32
    ).max()
    if depth > deepest:
        raise _Wrong(
            f"lists and objects lie {depth:,} deep in each other; {deepest} are the most"
        )


def _once(pairs):
    told = dict(pairs)
    if len(told) < len(pairs):
        twice, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise _Wrong("the key is there twice in one object", key=short(twice))
    return told


def _whole(text):
    if (digits := len(text.lstrip("-"))) > DIGITS:
        raise _Wrong(
            f"a whole number has {digits:,} digits; {DIGITS} are the most", text
        )
    return int(text)


def _finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise _Wrong(f"{short(text)} is too large for a number", text)
    return value


def _no_number(text):
    raise _Wrong(f"{text} is no number of JSON; a finite number is meant, or null")


# ---------------------------------------------------------------- names


def clean(text: str, most: int = 80) -> str:
    """A name as it may be shown, or become part of a file's name: one spelling of each letter (NFC), no characters
    that steer a terminal, turn the reading direction or show nothing, single blanks, not too long.

    >>> clean("  Ada\\u202e\\n Lovelace\\x1b[31m ")
    'Ada Lovelace[31m'
    """
    shown = (
        one
        for one in text
        if one.isspace()
        or (one not in INVISIBLE and unicodedata.category(one)[0] != "C")
    )
    return short(unicodedata.normalize("NFC", " ".join("".join(shown).split())), most)
