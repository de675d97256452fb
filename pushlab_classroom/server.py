"""The server of a class: uvicorn with limits on its connections."""

import gc
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushlab.ground.arguments import bring, number
from pushlab.ground.commands import say

MAX_HEAD = 2**14  # bytes of a request's first line and headers


@dataclass(frozen=True)
class Limits:
    """The limits of a server; each is an option of `pushlab serve`.

    Attributes:
        requests: Requests per second and team; 600 bytes of JSON, 4,800 of a table or 8 steps count as one, too.
        begins: Episodes begun per second and team.
        strangers: Requests without a valid token per second and address, and as many for the board.
        loaded: Episodes in memory, 1.6 MB each with 1,000 contexts; others are replayed when they are needed. The team
            with the most loses one first.
        connections: Open connections.
        of_one: Open connections from one address; beyond it the one that was idle for longest is closed. Behind a proxy
            the proxy limits them. A class often has one address for all, and an agent has one connection.
    """

    requests: float = 250.0
    begins: float = 1.0
    strangers: float = 50.0
    loaded: int = 512
    connections: int = 800
    of_one: int = 200

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number(name, value, above=0)


def guarded_connection(limits, behind_proxy):
    """Return a class of connections for uvicorn that limits how many of them a client can hold.

    uvicorn limits the head of a request and the time between requests. This adds what it lacks: if there are too many
    connections (of one address, or of all), the one that was idle for longest is closed, or the new one if none is
    idle. A connection whose request has not arrived completely is idle, so slow clients hold up nobody.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class GuardedConnection(H11Protocol):
        """A connection that knows its address and the time of its last request."""

        address = ""
        last_request = 0.0

        def connection_made(self, transport):
            super().connection_made(transport)
            if self.client and not behind_proxy:  # which limits connections by address
                self.address = self.client[0]
            crowd = [one for one in self.connections if not one.transport.is_closing()]
            same = [one for one in crowd if one.address == self.address]
            if self.address and len(same) > limits.of_one:
                crowd = same
            elif len(crowd) <= limits.connections:
                return
            idle = [one for one in crowd if one is not self and not one.is_busy()]
            min(idle, key=lambda one: one.last_request, default=self).refuse()

        def data_received(self, data):
            super().data_received(data)
            if self.is_busy():
                self.last_request = self.loop.time()

        def is_busy(self):
            """Return whether a request has arrived completely and is not answered yet."""
            cycle = self.cycle
            return bool(cycle and not cycle.more_body and not cycle.response_complete)

        def refuse(self):
            """Close the connection with an answer that asks for patience."""
            right = "use one connection again and again"
            body = json.dumps({"error": "too many connections", "right": right})
            head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2"
            self.transport.write(f"{head}\r\nconnection: close\r\n\r\n{body}".encode())
            self.transport.close()

    return GuardedConnection


def make_server(folder, limits, behind_proxy=False):
    """Return a uvicorn.Server that plays a class.

    Raises:
        ImportError: The extra `serve` is not installed.
        BlockingIOError: Another process plays the class.
    """
    uvicorn = bring("uvicorn", "pushlab serve", "serve")
    bring("starlette", "pushlab serve", "serve")
    from pushlab_classroom.board import Board
    from pushlab_classroom.room import Room
    from pushlab_classroom.service import Service, application

    return uvicorn.Server(
        uvicorn.Config(
            application(Service(Room(folder), limits), Board(folder)),
            http=guarded_connection(limits, behind_proxy),
            ws="none",
            log_level="error",
            access_log=False,
            server_header=False,
            h11_max_incomplete_event_size=MAX_HEAD,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=10,
            proxy_headers=behind_proxy,
            forwarded_allow_ips=["127.0.0.1", "::1"],
        )
    )


def serve(
    folder: Path, host: str, port: int, limits: Limits, behind_proxy: bool
) -> None:
    """Serve a class until SIGINT or SIGTERM, and print its address. Raise OSError if the address is in use."""
    server = make_server(folder, limits, behind_proxy)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1024) as listening:
        address = f"[{host}]" if ":" in host else host
        say(f"{folder} is served at http://{address}:{listening.getsockname()[1]}")
        say("In a browser it shows the board. Ctrl+C ends it, and nothing is lost.")
        gc.freeze()  # a collection of everything loaded would stop all for 0.3 s
        # uvicorn raises the signal again at the end
        with suppress(KeyboardInterrupt, SystemExit):
            server.run([listening])


@contextmanager
def running(
    folder: Path | str, port: int = 0, behind_proxy: bool = False, **limits: Any
) -> Iterator[str]:
    """Context manager that serves a class in a thread, for this machine only; yields the address.

    Args:
        port: 0: one that is free.
        behind_proxy, limits: As in `pushlab serve`, such as requests=10.0.
    """
    server = make_server(folder, Limits(**limits), behind_proxy)
    with socket.create_server(("127.0.0.1", port), backlog=1024) as listening:
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
