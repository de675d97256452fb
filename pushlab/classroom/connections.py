"""One client's connection to a class's server: uvicorn's, with an end to what a slow or endless client can hold."""

import asyncio
import json
from collections import Counter
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from pushlab.classroom.limits import Limits

LONGEST_HEAD = 2**14    # bytes of a request's first line and headers
JSON = "content-type: application/json\r\n"


def limited(limits: Limits, behind_proxy: bool = False) -> type[HttpToolsProtocol]:
    """The class of connections that uvicorn's `http` asks for.

    A connection is closed, after one sentence of JSON, when there are too many, when a request does not come in whole
    in time, when its head is longer than 16 KiB, or when it goes on for longer than any that would be answered.

    behind_proxy   all connections come from one address, whose own limits hold
    """
    open_from: Counter[Any] = Counter()

    class Connection(HttpToolsProtocol):
        """From the first byte of a request to its last a timer runs; between requests uvicorn's own does."""

        timer: asyncio.TimerHandle | None = None
        size = 0                # bytes of the request that is coming in
        within = False          # a request has begun to come in, and not ended
        in_head = True

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.address = self.client and self.client[0]
            open_from[self.address] += 1
            if len(self.connections) > limits.connections or (
                    not behind_proxy and open_from[self.address] > limits.of_one):
                return self.refuse("503 Service Unavailable", "there are too many open connections",
                                   "use one connection again and again, and close it at the end")
            self.watch()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.unwatch()
            open_from[self.address] -= 1
            if not open_from[self.address]:
                del open_from[self.address]

        def data_received(self, data: bytes) -> None:
            self.size += len(data)
            super().data_received(data)
            if self.parser is None or self.transport.is_closing():
                return
            if self.timer is None and (self.within or self.size):      # size: blank lines are no request
                self.watch()
            if self.in_head and self.size > LONGEST_HEAD:
                self.refuse("431 Request Header Fields Too Large", "the head of the request is too long",
                            f"at most {LONGEST_HEAD:,} bytes of path and headers")
            elif self.size > 2 * limits.upload + LONGEST_HEAD:
                self.transport.close()

        def on_message_begin(self) -> None:
            self.within = True
            super().on_message_begin()

        def on_headers_complete(self) -> None:
            self.in_head = False
            super().on_headers_complete()

        def on_message_complete(self) -> None:
            self.within, self.in_head, self.size = False, True, 0
            self.unwatch()
            super().on_message_complete()

        def watch(self) -> None:
            self.timer = self.loop.call_later(limits.slowest, self.too_slow)

        def unwatch(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def too_slow(self) -> None:
            self.refuse("408 Request Timeout", "the request did not come in whole in time",
                        f"send it within {limits.slowest:g} seconds")

        def send_400_response(self, msg: str) -> None:
            self.refuse("400 Bad Request", "this is no request in HTTP", "see the README in the class's hand-out")

        def refuse(self, status: str, error: str, right: str) -> None:
            """Says why, unless an answer is on its way already, and closes."""
            if self.transport.is_closing():
                return
            if self.cycle is None or self.cycle.response_complete or not self.cycle.response_started:
                body = json.dumps({"error": error, "right": right})
                wait = "retry-after: 2\r\n" if status.startswith("503") else ""
                self.transport.write(f"HTTP/1.1 {status}\r\n{JSON}{wait}connection: close\r\n"
                                     f"content-length: {len(body)}\r\n\r\n{body}".encode())
            self.transport.close()

    return Connection
