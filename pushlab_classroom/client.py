"""Requests to a class's server, repeated until they are answered, with a token that appears nowhere else."""

from __future__ import annotations

import json
import os
import re
import time
import warnings
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from pathlib import Path
from urllib.parse import urlsplit

import pandas as pd

from pushlab.ground.arguments import demand, number

BUSY = (429, 502, 503, 504)  # statuses of a server or proxy that can answer later
ADDRESS = (
    r"https?://(\[[\da-fA-F:.]+\]|[^][@?#:/\s.]{1,63}(?:\.[^][@?#:/\s.]{1,63})*\.?)(:\d{1,5})?"
    r"(/[^@?#\s]*)?"
)
THIS_MACHINE = r"localhost|::1|127(\.\d+){3}"
MAX_WAIT = 5.0  # seconds between two tries
FIRST_PATIENCE = 10.0  # seconds until the first answer of all
MAX_ANSWER = 2**26  # bytes


class Refused(ValueError):
    """A server's refusal, in its own words.

    Attributes:
        status: Status of HTTP: 401 for an unknown token, 409 for a step that was played differently, …
        content: The answer, a dict with "error", "right" and more.
    """

    def __init__(self, status, content):
        super().__init__(status, content)
        self.status = status
        self.content = content

    def __str__(self):
        error = self.content.get("error")
        return f"the server refused ({self.status}): {error}. Right: {self.content.get('right')}"


class Link:
    """A connection to the server of a class, kept open.

    A request is repeated in the same words. Steps of an episode have numbers, so a server that had already answered
    answers the same again. A link is neither pickled nor copied (TypeError), as its token would be, too. A forked
    process opens its own connection.

    Args:
        url: Address, https://…; None takes $PUSHLAB_URL.
        token: The team's; None takes $PUSHLAB_TOKEN. It is only sent to the server.
        patience: Seconds for which a request is repeated if the connection drops, or the server is busy or away; at
            most ten before the first answer.

    Raises:
        ValueError: The address or the token is not valid.

    Warns:
        UserWarning: The token could be read on its way.
    """

    def __init__(self, url=None, token=None, patience=180.0):
        url = os.environ.get("PUSHLAB_URL") if url is None else url
        token = os.environ.get("PUSHLAB_TOKEN") if token is None else token
        match = re.fullmatch(ADDRESS, url) if isinstance(url, str) else None
        demand(
            match and int((match[2] or ":0")[1:]) < 2**16,
            "url is the address of the class, from https:// (or http://) on, without @, ? and #, its port at most "
            "65535; given, or in $PUSHLAB_URL",
        )
        demand(
            isinstance(token, str) and re.fullmatch(r"\s*[!-~]+\s*", token),
            "token is the word that the lecturer gave your team, not its name; given, or in $PUSHLAB_TOKEN",
        )
        parts = urlsplit(url.rstrip("/"))
        is_encrypted = parts.scheme == "https"
        if not is_encrypted and not re.fullmatch(THIS_MACHINE, parts.hostname):
            warnings.warn(
                f"{url} is not encrypted, so others on the network can read your token; ask for an address with https://",
                stacklevel=2,
            )
        self.url = parts.geturl()
        self.patience = number("patience", patience, 0)
        self._path = parts.path
        kind = HTTPSConnection if is_encrypted else HTTPConnection
        self._connect = lambda: kind(parts.hostname, parts.port, timeout=30.0)
        self._connections = {}  # by process
        self._was_answered = False
        # In functions, so that neither vars() nor repr() shows it.
        self._authorization = lambda: f"Bearer {token.strip()}"

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"an environment on {self.url} is neither pickled nor copied, as its token would be, too; make another one "
            "with the token in $PUSHLAB_TOKEN"
        )

    def close(self):
        """Close the connection. The next request opens another."""
        connection = self._connections.pop(os.getpid(), None)
        if connection:
            connection.close()

    def ask(
        self,
        method,
        path,
        content=None,
        kind="application/json",
    ):
        """Return the server's answer.

        Args:
            content: Sent as JSON; bytes are sent as they are, with the type `kind`.

        Raises:
            Refused: The server refused the request.
            ConnectionError: There was no answer in time, or the answer is not a class's.
        """
        body = content
        if content is not None and not isinstance(content, bytes):
            body = json.dumps(content).encode()
        start = time.monotonic()
        tries = 0
        warned = False
        while True:
            status, headers, answer = self._send(method, path, body, kind)
            is_answer = isinstance(answer, dict)
            if is_answer and status not in BUSY:
                if status >= 300:
                    raise Refused(status, answer)
                return answer
            if status and status not in BUSY:
                raise ConnectionError(
                    f"{self.url} answers ({status}), but not as the server of a class; is the address right? "
                    f"{headers.get('Location', '')}"
                )
            problem = f"a busy server ({status})"
            if is_answer:
                problem = f"{answer.get('error')}, {answer.get('right')} ({status})"
            elif isinstance(answer, Exception):
                problem = str(answer) or type(answer).__name__
            patience = self.patience
            right = "Earlier answers count; reset() takes a scored episode up"
            if not self._was_answered:
                patience = min(FIRST_PATIENCE, patience)
                right = "Is the address right, http:// or https:// too, and has your lecturer started the server?"
            seconds = time.monotonic() - start
            left = patience - seconds
            if left <= 0:
                raise ConnectionError(
                    f"no answer from {self.url} for {seconds:.0f} s: {problem}. {right}"
                )
            wait = min(MAX_WAIT, 0.1 * 2 ** min(tries, 9)) if tries else 0.0
            tries += 1
            after = headers.get("Retry-After", "")
            if after.isdecimal():
                wait = max(wait, float(after))
            if seconds + wait > MAX_WAIT and not warned:
                warnings.warn(
                    f"no answer from {self.url}: {problem}; trying for another {left:.0f} s",
                    stacklevel=2,
                )
                warned = True
            time.sleep(min(wait, left))

    def _send(self, method, path, body, kind):
        """Return status, headers and JSON of the answer (None if it is something else), or 0, {} and the error."""
        headers = {"Authorization": self._authorization(), "Content-Type": kind}
        try:
            connection = self._connections.setdefault(os.getpid(), self._connect())
            connection.request(method, self._path + path, body, headers)
            response = connection.getresponse()
            data = response.read(MAX_ANSWER)
            if response.length or len(data) == MAX_ANSWER:
                raise HTTPException("half an answer, or one without an end")
        except (OSError, HTTPException) as error:
            self.close()
            return 0, {}, error
        except (
            BaseException
        ):  # the answer must not be taken for that of another request
            self.close()
            raise
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        self._was_answered = self._was_answered or isinstance(answer, dict)
        return response.status, response.headers, answer


def hand_in(
    answers: Path | str | pd.DataFrame, url: str | None = None, token: str | None = None
) -> dict:
    """Hand in answers to Challenge 1 at the server of a class, and return their score on the public half.

    Answers that are handed in twice in a row count once.

    Args:
        answers: A CSV file or a table.
        url, token: Address of the class and token of the team, by default $PUSHLAB_URL and $PUSHLAB_TOKEN.

    Returns:
        A dict: "public", the expected points as a share of those of the catalogue's best notifications; "low" and
        "high", the ends of its interval; "left", the team's remaining uploads; "notes", words that are not in the
        history.

    Raises:
        Refused: The server found faults, all of which are listed.
        ConnectionError: The server cannot be reached.
    """
    if isinstance(answers, pd.DataFrame):
        data = answers.to_csv(index=False, lineterminator="\n").encode()
    else:
        data = Path(answers).read_bytes()
    return Link(url, token).ask("POST", "/api/answers", data, "text/csv")
