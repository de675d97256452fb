"""The server of a class: uvicorn with limits on connections."""

import gc
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushlab.utils.arguments import import_optional, validate_number
from pushlab.utils.commands import echo

MAX_HEAD = 2**14  # bytes of a request's first line and headers


@dataclass(frozen=True)
class Limits:
    """Limits of a server. Each is an option of `pushlab serve`.

    Attributes:
        requests: Requests per second and team. Every 600 bytes of JSON, 4,800 bytes of a table or 8 steps count as one.
        begins: New episodes per second and team.
        strangers: Requests per second and address without a valid token, and as many for the board.
        loaded: Episodes in memory, 1.6 MB each with 1,000 contexts. Others are replayed when needed. The team with the
            most episodes loses one first.
        connections: Open connections.
        of_one: Open connections from one address. When there are more, the longest idle one is closed. Behind a proxy,
            the proxy has to limit them. A class often shares one address, and each agent has one connection.
    """

    requests: float = 250.0
    begins: float = 1.0
    strangers: float = 50.0
    loaded: int = 512
    connections: int = 800
    of_one: int = 200

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            validate_number(name, value, above=0)


def guarded_connection(limits, behind_proxy):
    """Return a class of connections for uvicorn that limits the number of connections.

    uvicorn itself limits the head of a request and the time between requests, but not the number of connections. If
    there are too many (from one address, or in total), this class closes the longest idle one, or the new one if none
    is idle. A connection with an incomplete request counts as idle, so slow clients don't block others.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class GuardedConnection(H11Protocol):
        """A connection that stores its address and the time of its last request."""

        address = ""
        last_request = 0.0

        def connection_made(self, transport):
            super().connection_made(transport)
            if self.client and not behind_proxy:  # a proxy limits connections itself
                self.address = self.client[0]
            candidates = [
                connection
                for connection in self.connections
                if not connection.transport.is_closing()
            ]
            same_address = [
                connection
                for connection in candidates
                if connection.address == self.address
            ]
            if self.address and len(same_address) > limits.of_one:
                candidates = same_address
            elif len(candidates) <= limits.connections:
                return
            idle = [
                connection
                for connection in candidates
                if not (connection is self or connection.is_busy())
            ]
            min(idle, key=lambda other: other.last_request, default=self).refuse()

        def data_received(self, data):
            super().data_received(data)
            if self.is_busy():
                self.last_request = self.loop.time()

        def is_busy(self):
            """Return whether a request has arrived completely and isn't answered yet."""
            cycle = self.cycle
            return bool(cycle and not cycle.more_body and not cycle.response_complete)

        def refuse(self):
            """Close the connection with status 503, so that the client tries again later."""
            hint = "reuse one connection"
            body = json.dumps({"error": "too many connections", "right": hint})
            head = "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\nretry-after: 2"
            self.transport.write(f"{head}\r\nconnection: close\r\n\r\n{body}".encode())
            self.transport.close()

    return GuardedConnection


def make_server(folder, limits, behind_proxy=False):
    """Return a uvicorn.Server for a class.

    Raises:
        ImportError: The extra `serve` isn't installed.
        BlockingIOError: Another process plays the class.
    """
    uvicorn = import_optional("uvicorn", "pushlab serve", "serve")
    import_optional("starlette", "pushlab serve", "serve")
    from pushlab_classroom.board import Board
    from pushlab_classroom.service import Service, application
    from pushlab_classroom.session import ClassSession

    return uvicorn.Server(
        uvicorn.Config(
            application(Service(ClassSession(folder), limits), Board(folder)),
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
    """Serve a class until SIGINT or SIGTERM, and print its address. Raises OSError if the address is in use."""
    server = make_server(folder, limits, behind_proxy)
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1024) as listener:
        address = f"[{host}]" if ":" in host else host
        echo(f"{folder} is served at http://{address}:{listener.getsockname()[1]}")
        echo(
            "Open this address in a browser for the board. Ctrl+C stops the server; all steps are stored."
        )
        gc.freeze()  # garbage collection of all loaded modules would pause for 0.3 s
        # uvicorn raises the signal again at the end.
        with suppress(KeyboardInterrupt, SystemExit):
            server.run([listener])


@contextmanager
def running_server(
    folder: Path | str, port: int = 0, behind_proxy: bool = False, **limits: Any
) -> Iterator[str]:
    """Context manager that serves a class in a thread, only on this machine, and yields the address.

    Args:
        folder: Folder of the class.
        port: Port of the server. 0 uses a free one.
        behind_proxy, limits: Options of `pushlab serve`, such as requests=10.0.
    """
    server = make_server(folder, Limits(**limits), behind_proxy)
    with socket.create_server(("127.0.0.1", port), backlog=1024) as listener:
        thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()
