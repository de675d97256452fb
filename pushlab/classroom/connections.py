"""One client's connection to a class's server: uvicorn's, with an end to what a slow or endless client can hold."""

import asyncio
import json
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pushlab.classroom.limits import Limits

PIPELINED = 16  # requests that may wait for the answer to the one before
LONGEST = 2**24  # bytes of a request
LONGEST_HEAD = 2**14  # bytes of a request's first line and headers
WORDS = {
    400: (
        "Bad Request",
        "this is no request in HTTP",
        "the address as your lecturer gave it, with its http:// or https://",
    ),
    408: (
        "Request Timeout",
        "the request did not come in whole in time",
        "a faster line, or a shorter request",
    ),
    431: (
        "Request Header Fields Too Large",
        "the head of the request is too long",
        f"{LONGEST_HEAD:,} bytes",
    ),
    503: (
        "Service Unavailable",
        "there are too many connections",
        "one connection, used again and again",
    ),
}


def limited(limits: Limits) -> type[HttpToolsProtocol]:
    """The class of connections that uvicorn's `http` takes.

    A connection is closed, after a sentence in JSON, where a request does not come in whole in time, where its head is
    longer than 16 KiB. Where there are too many, one that rests is closed, of the same address if that has too many:
    first what never asked for anything, then who asked longest ago; if none rests, the new one. A request that has not
    come in whole is rest, too.
    """

    class Connection(HttpToolsProtocol):
        """From the first byte of a request to its last a timer runs; between requests it is uvicorn's."""

        timer: asyncio.TimerHandle | None = None
        size = 0  # bytes of the request that is coming in
        in_head = True
        asked = 0.0  # when its last request had come in
        cycles: tuple = ()  # requests that are not answered; uvicorn tells the last one alone that nobody listens

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            if len(self.connections) > limits.of_one:
                there: list[Any] = [
                    one for one in self.connections if not one.transport.is_closing()
                ]
                same = [
                    one
                    for one in there
                    if (one.client or ())[:1] == (self.client or ())[:1]
                ]
                if len(same) > limits.of_one or len(there) > limits.connections:
                    rest = [
                        one
                        for one in (same if len(same) > limits.of_one else there)
                        if one is not self
                        and (
                            one.cycle is None
                            or one.cycle.response_complete
                            or one.cycle.more_body
                        )
                    ]
                    min(rest, key=lambda one: one.asked, default=self).refuse(503)
            self.timer = self.loop.call_later(limits.slowest, self.refuse, 408)

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.timer.cancel()
            self.silence()

        def silence(self) -> None:
            """Nothing more is written."""
            for one in self.cycles:
                one.disconnected = True

        def data_received(self, data: bytes) -> None:
            self.size += len(data)
            super().data_received(data)
            if self.size and self.timer.cancelled():
                self.timer = self.loop.call_later(limits.slowest, self.refuse, 408)
            if self.in_head and self.size > LONGEST_HEAD:
                self.refuse(431)
            elif (
                self.size > LONGEST
            ):  # nobody reads it, but who was told so may still be sending
                self.transport.close()

        def on_headers_complete(self) -> None:
            self.in_head = False
            if len(self.pipeline) > PIPELINED:
                raise ValueError(
                    "too many requests at once"
                )  # ends what is parsed, and is refused
            if (
                self.size > LONGEST_HEAD
                and len(self.url) + sum(map(len, sum(self.headers, ()))) > LONGEST_HEAD
            ):
                self.refuse(431)  # what came in at once
            else:
                super().on_headers_complete()
                self.cycles = (
                    *(one for one in self.cycles if not one.response_complete),
                    self.cycle,
                )

        def on_message_complete(self) -> None:
            self.in_head, self.size, self.asked = True, 0, self.loop.time()
            self.timer.cancel()
            super().on_message_complete()

        def send_400_response(self, msg: str) -> None:
            self.refuse(400)

        def refuse(self, status: int) -> None:
            """Says why, unless an answer is on its way, and closes."""
            title, error, right = WORDS[status]
            if not self.transport.is_closing() and (
                self.cycle is None
                or self.cycle.response_complete
                or not self.cycle.response_started
            ):
                body = json.dumps({"error": error, "right": right})
                self.transport.write(
                    f"HTTP/1.1 {status} {title}\r\ncontent-type: application/json\r\nretry-after: 2"
                    f"\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n{body}".encode()
                )
            self.transport.close()
            self.silence()

    return Connection
