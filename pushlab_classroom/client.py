"""Requests to the server of a class. They are repeated until they are answered; the token is never shown."""

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

from pushlab.utils.arguments import require, validate_number

RETRY_STATUSES = (429, 502, 503, 504)  # of a server or proxy that may answer later
ADDRESS = (
    r"https?://(\[[\da-fA-F:.]+\]|[^][@?#:/\s.]{1,63}(?:\.[^][@?#:/\s.]{1,63})*\.?)(:\d{1,5})?"
    r"(/[^@?#\s]*)?"
)
THIS_MACHINE = r"localhost|::1|127(\.\d+){3}"
MAX_WAIT = 5.0  # seconds between two attempts
FIRST_PATIENCE = 10.0  # seconds to wait for a server that has never answered
MAX_ANSWER = 2**26  # bytes


class Refused(ValueError):
    """Error raised if the server refuses a request; the message is the server's.

    Attributes:
        status: HTTP status, such as 401 for an unknown token and 409 for a step that was played differently.
        content: The answer, a dict with "error", "right" (a hint) and other keys.
    """

    def __init__(self, status, content):
        super().__init__(status, content)
        self.status = status
        self.content = content

    def __str__(self):
        error = self.content.get("error")
        return f"the server refused the request ({self.status}): {error}; {self.content.get('right')}"


class ServerConnection:
    """A persistent connection to the server of a class.

    An unanswered request is repeated unchanged. Steps of an episode are numbered, so a server that has already played a
    step returns the same answer again. A connection can't be pickled or copied (TypeError), since that would copy its
    token. A forked process opens its own connection.

    Args:
        url: Address, https://…. None uses $PUSHLAB_URL.
        token: Token of the team. None uses $PUSHLAB_TOKEN. It is sent only to the server.
        patience: Seconds for which a request is repeated if the connection drops, or if the server is busy or down.
            Before the first answer it is at most ten.

    Raises:
        ValueError: The address or the token is invalid.

    Warns:
        UserWarning: The address isn't encrypted, so others on the network can read the token.
    """

    def __init__(self, url=None, token=None, patience=180.0):
        url = os.environ.get("PUSHLAB_URL") if url is None else url
        token = os.environ.get("PUSHLAB_TOKEN") if token is None else token
        match = re.fullmatch(ADDRESS, url) if isinstance(url, str) else None
        require(
            match and int((match[2] or ":0")[1:]) < 2**16,
            "url, or $PUSHLAB_URL, must be the address of the class: it begins with https:// (or http://), has no @, ? "
            "or #, and its port is at most 65535",
        )
        require(
            isinstance(token, str) and re.fullmatch(r"\s*[!-~]+\s*", token),
            "token, or $PUSHLAB_TOKEN, must be the token that the lecturer gave your team, not the team's name",
        )
        parts = urlsplit(url.rstrip("/"))
        is_encrypted = parts.scheme == "https"
        if not is_encrypted and not re.fullmatch(THIS_MACHINE, parts.hostname):
            warnings.warn(
                f"{url} is not encrypted, so others on the network can read your token; ask for an https:// address",
                stacklevel=2,
            )
        self.url = parts.geturl()
        self.patience = validate_number("patience", patience, 0)
        self._path = parts.path
        kind = HTTPSConnection if is_encrypted else HTTPConnection
        self._connect = lambda: kind(parts.hostname, parts.port, timeout=30.0)
        self._connections = {}  # by process
        self._was_answered = False
        # A function, so that neither vars() nor repr() shows the token.
        self._authorization = lambda: f"Bearer {token.strip()}"

    def __reduce_ex__(self, protocol):
        raise TypeError(
            f"an environment on {self.url} can't be pickled or copied, since its token would be copied too; create "
            "another one with the token in $PUSHLAB_TOKEN"
        )

    def close(self):
        """Close the connection. The next request opens a new one."""
        connection = self._connections.pop(os.getpid(), None)
        if connection:
            connection.close()

    def request(
        self,
        method,
        path,
        content=None,
        content_type="application/json",
    ):
        """Send a request; return the server's answer.

        Args:
            content: Content of the request, sent as JSON. Bytes are sent unchanged, with this `content_type`.

        Raises:
            Refused: The server refused the request.
            ConnectionError: There was no answer in time, or the answer isn't one of a class.
        """
        body = content
        if content is not None and not isinstance(content, bytes):
            body = json.dumps(content).encode()
        start = time.monotonic()
        attempts = 0
        has_warned = False
        while True:
            status, headers, answer = self._send(method, path, body, content_type)
            is_answer = isinstance(answer, dict)
            if is_answer and status not in RETRY_STATUSES:
                if status >= 300:
                    raise Refused(status, answer)
                return answer
            if status and status not in RETRY_STATUSES:
                raise ConnectionError(
                    f"{self.url} answers with status {status}, but not as the server of a class; check the address. "
                    f"{headers.get('Location', '')}"
                )
            problem = f"a busy server ({status})"
            if is_answer:
                problem = f"{answer.get('error')}, {answer.get('right')} ({status})"
            elif isinstance(answer, Exception):
                problem = str(answer) or type(answer).__name__
            patience = self.patience
            hint = "Earlier steps are stored; reset() continues a scored episode"
            if not self._was_answered:
                hint = "Check the address (http:// or https://, too), and ask whether the server is running"
                if not isinstance(answer, TimeoutError):  # a busy server is slow
                    patience = min(FIRST_PATIENCE, patience)
            elapsed = time.monotonic() - start
            remaining = patience - elapsed
            if remaining <= 0:
                raise ConnectionError(
                    f"no answer from {self.url} for {elapsed:.0f} s: {problem}. {hint}"
                )
            wait = min(MAX_WAIT, 0.1 * 2 ** min(attempts, 9)) if attempts else 0.0
            attempts += 1
            retry_after = headers.get("Retry-After", "")
            if retry_after.isdecimal():
                wait = max(wait, float(retry_after))
            if elapsed + wait > MAX_WAIT and not has_warned:
                warnings.warn(
                    f"no answer from {self.url}: {problem}; trying for another {remaining:.0f} s",
                    stacklevel=2,
                )
                has_warned = True
            time.sleep(min(wait, remaining))

    def _send(self, method, path, body, content_type):
        """Return (status, headers, answer from JSON or None), or (0, {}, error) without an answer."""
        headers = {"Authorization": self._authorization(), "Content-Type": content_type}
        try:
            connection = self._connections.setdefault(os.getpid(), self._connect())
            connection.request(method, self._path + path, body, headers)
            response = connection.getresponse()
            data = response.read(MAX_ANSWER)
            if response.length or len(data) == MAX_ANSWER:
                raise HTTPException("an incomplete or endless answer")
        except (OSError, HTTPException) as error:
            self.close()
            return 0, {}, error
        except BaseException:
            # Otherwise this answer could be read as the answer to the next request.
            self.close()
            raise
        try:
            answer = json.loads(data)
        except (ValueError, RecursionError):
            answer = None
        self._was_answered |= isinstance(answer, dict)
        return response.status, response.headers, answer


def hand_in(
    answers: Path | str | pd.DataFrame, url: str | None = None, token: str | None = None
) -> dict:
    """Submit answers to Challenge 1 to the server of a class; return their score on the public half.

    Submitting the same answers again directly afterwards counts once.

    Args:
        answers: A CSV file or a table.
        url, token: Address of the class and token of the team. None uses $PUSHLAB_URL and $PUSHLAB_TOKEN.

    Returns:
        A dict with the keys

        - "public": expected points divided by those of the catalogue's best notifications
        - "low", "high": ends of its interval
        - "left": number of the team's remaining uploads
        - "notes": values that do not occur in the history

    Raises:
        Refused: The answers have issues. The message lists all of them.
        ConnectionError: The server can't be reached.
    """
    if isinstance(answers, pd.DataFrame):
        data = answers.to_csv(index=False, lineterminator="\n").encode()
    else:
        data = Path(answers).read_bytes()
    return ServerConnection(url, token).request(
        "POST", "/api/answers", data, "text/csv"
    )
