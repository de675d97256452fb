"""One line to a class's server: JSON out and in, asked again until it is answered, and a token that stays in here."""

from __future__ import annotations

import json
import os
import re
import ssl
import time
import warnings
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, NoReturn
from urllib.parse import urlsplit

from pushlab.ground.arguments import demand, number

BUSY = (
    429,
    502,
    503,
    504,
)  # what a server, or the proxy before it, answers that may have time in a while
ADDRESS = (
    r"https?://(\[[\da-fA-F:.]+\]|[^][@?#:/\s.]{1,63}(?:\.[^][@?#:/\s.]{1,63})*\.?)(:\d{1,5})?"
    r"(/[^@?#\s]*)?"
)
TIMEOUT, LONGEST = 30.0, 5.0  # seconds: for one answer; between two tries
FIRST = 10.0  # seconds until the first answer of all: is anybody there?
LARGEST = 2**26  # bytes of an answer


class Refused(RuntimeError):
    """What a server would not do, in its own words.

    status  of HTTP: 401 for a token that it does not know, 409 for a step that was played otherwise, …
    told    its answer, a dict with "error", "right", and what else it says
    """

    def __init__(self, status: int, told: dict):
        super().__init__(status, told)
        self.status, self.told = status, told

    def __str__(self) -> str:
        error = str(self.told.get("error"))
        end = "\n" if "\n" in error else ". "  # a list of faults
        return f"the server refused ({self.status}): {error}{end}Right: {self.told.get('right')}"


class Link:
    """A connection to the server of a class, kept open.

    url       its address, https://…; None takes $PUSHLAB_URL
    token     the team's; None takes $PUSHLAB_TOKEN. It is sent to the server and told to nobody else
    patience  seconds for which a question is asked again when the connection drops, or the server is busy or away; ten
              at most before it has answered anything

    The same question is sent in the same words each time. Questions that count have numbers (a step of an episode), so
    that a server that had answered already answers the same again. A link is neither pickled nor copied (TypeError),
    as its token would go along; a process forked from this one dials for itself.

    Raises ValueError for an address or a token that cannot be one; warns where the token could be read on its way.
    """

    def __init__(
        self, url: str | None = None, token: str | None = None, patience: float = 180.0
    ):
        url = os.environ.get("PUSHLAB_URL") if url is None else url
        token = os.environ.get("PUSHLAB_TOKEN") if token is None else token
        found = isinstance(url, str) and re.fullmatch(ADDRESS, url)
        demand(
            found and int((found[2] or ":0")[1:]) < 2**16,
            "url is the address of the class, from https:// (or "
            "http://) on, without @, ? and #, its port at most 65535; given, or in $PUSHLAB_URL",
        )
        demand(
            isinstance(token, str) and re.fullmatch(r"\s*[!-~]+\s*", token),
            "token is the word that the lecturer gave your team, not its name; given, or in $PUSHLAB_TOKEN",
        )
        parts = urlsplit(url.rstrip("/"))
        if parts.scheme == "http" and not re.fullmatch(
            r"localhost|::1|127(\.\d+){3}", parts.hostname
        ):
            warnings.warn(
                f"{url} is not encrypted: whoever sees the network can read your token; ask "
                "for an address with https://",
                stacklevel=2,
            )
        self.url, self.patience, self._root = (
            parts.geturl(),
            number("patience", patience, 0),
            parts.path,
        )
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._dial = lambda: kind(parts.hostname, parts.port, timeout=TIMEOUT)
        self._lines: dict[int, HTTPConnection] = {}  # by process
        self._heard = False
        self._headers = lambda kind: {
            "Authorization": f"Bearer {token.strip()}",
            "Content-Type": kind,
        }

    def __repr__(self) -> str:
        return f"Link({self.url!r})"

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(
            f"what is played on {self.url} is neither pickled nor copied, as its token would go along: "
            "make another one, with the token in $PUSHLAB_TOKEN"
        )

    def close(self) -> None:
        """Hangs up; the next question dials again."""
        self._lines.pop(os.getpid(), self._dial()).close()

    def ask(
        self,
        method: str,
        path: str,
        content: Any = None,
        kind: str = "application/json",
    ) -> dict:
        """The server's answer, a dict. `content` is sent as JSON; bytes as they are, with their kind.

        Raises Refused with the server's words; ConnectionError when patience is at its end, or for what is no class.
        """
        body = (
            content
            if content is None or isinstance(content, bytes)
            else json.dumps(content).encode()
        )
        begun, tries, warned = time.monotonic(), 0, False
        while True:
            status, headers, told = self._once(method, path, body, kind)
            if status not in BUSY and isinstance(told, dict):
                if status >= 300:
                    raise Refused(status, told)
                return told
            if (
                status not in BUSY
                and headers.get("Content-Type", "").startswith("text/")
                or "Location" in headers
            ):
                raise ConnectionError(
                    f"{self.url} answers ({status}), but not as the server of a class: is the "
                    f"address right? {headers.get('Location', '')}"
                )
            gone, tries, after = (
                time.monotonic() - begun,
                tries + 1,
                headers.get("Retry-After", ""),
            )
            wait = max(
                float(after) if after.isdecimal() else 0.0,
                tries > 1 and min(LONGEST, 0.05 * 2 ** min(tries, 9)),
            )
            why = (
                f"{told.get('error')}, {told.get('right')} ({status})"
                if isinstance(told, dict)
                else f"half an answer, or a busy server ({status})"
                if status
                else str(told) or type(told).__name__
            )
            left = (
                self.patience
                if self._heard
                else 0
                if isinstance(told, ssl.SSLError)
                else min(FIRST, self.patience)
            ) - gone
            if left <= 0:
                right = (
                    "What it answered before stands; reset() takes a scored episode up"
                    if self._heard
                    else "Is the address right, http:// or https:// too, and has your lecturer started the server?"
                )
                raise ConnectionError(
                    f"no answer from {self.url} for {gone:.0f} s: {why}. {right}"
                )
            if gone + wait > LONGEST and not warned:
                warnings.warn(
                    f"no answer from {self.url}: {why}; asking on for {left:.0f} s",
                    stacklevel=2,
                )
                warned = True
            time.sleep(min(wait, left))

    def _once(self, method, path, body, kind):
        """Status, headers and what was told: JSON, else None; or 0, nothing, and the error."""
        line = self._lines.setdefault(os.getpid(), self._dial())
        try:
            line.request(method, self._root + path, body, self._headers(kind))
            answer = line.getresponse()
            data = answer.read(LARGEST)
            if answer.length or len(data) == LARGEST:
                raise HTTPException("half an answer, or one without an end")
        except BaseException as error:  # if interrupted too: a late answer would be taken for that to the next one
            self.close()
            if isinstance(error, (OSError, HTTPException)):
                return 0, {}, error
            raise
        try:
            told = json.loads(data)
        except (ValueError, RecursionError):
            told = None
        self._heard = self._heard or isinstance(told, dict)
        return answer.status, answer.headers, told
