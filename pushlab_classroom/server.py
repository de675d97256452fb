"""The process that serves a class: uvicorn with limits on its connections; and a server in a process of its own."""

import json
import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pushlab.ground.arguments import number
from pushlab.ground.commands import say

READY = "served at "  # precedes the address in the line that the server prints
SHUTDOWN = 10  # seconds for the answers under way
MAX_HEAD = 2**14  # bytes of a request's first line and headers
MAX_SECONDS = 20  # in which a request must arrive


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


def guarded_connection(limits: Limits) -> type:
    """Return a class of connections for uvicorn that limits what slow or many clients can hold.

    uvicorn limits the head of a request and the time between requests. This adds what it lacks: a connection is closed
    if a request does not arrive in time. If there are too many connections (of one address, or of all), the one that
    was idle for longest is closed, or the new one if none is idle. Until its request has arrived completely, a
    connection is idle.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class GuardedConnection(H11Protocol):
        """A timer runs from the first byte of a request to its last; uvicorn's runs between requests."""

        timer: Any = None
        address = ""
        last_request = 0.0  # time at which its last request was complete

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self.address = self.client[0] if self.client else ""
            self.start_timer()
            crowd: list[Any] = [
                one for one in self.connections if not one.transport.is_closing()
            ]
            same = [one for one in crowd if one.address == self.address]
            if len(same) > limits.of_one:
                crowd = same
            elif len(crowd) <= limits.connections:
                return
            idle = [one for one in crowd if one is not self and not one.is_busy()]
            oldest = min(idle, key=lambda one: one.last_request, default=self)
            oldest.refuse("503 Service Unavailable", "there are too many connections")

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self.timer.cancel()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.is_busy():
                self.timer.cancel()
                self.last_request = self.loop.time()
            elif self.timer.cancelled():
                self.start_timer()

        def start_timer(self) -> None:
            """Close the connection after a while, unless a request arrives completely."""
            reason = ("408 Request Timeout", "the request did not arrive in time")
            self.timer = self.loop.call_later(MAX_SECONDS, self.refuse, *reason)

        def is_busy(self) -> bool:
            """Return whether a request has arrived completely and is not answered yet."""
            cycle = self.cycle
            return bool(cycle and not cycle.more_body and not cycle.response_complete)

        def refuse(self, status: str, error: str) -> None:
            """Send an answer and close the connection."""
            body = json.dumps({"error": error, "right": "the same again"})
            head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\nretry-after: 2\r\nconnection: close"
            self.transport.write(f"{head}\r\n\r\n{body}".encode())
            self.transport.close()

    return GuardedConnection


def serve(
    app: Any,
    name: str,
    host: str,
    port: int,
    limits: Limits,
    behind_proxy: bool,
    while_open: bool,
) -> None:
    """Serve the web application of a class until SIGINT or SIGTERM, and print its address.

    Args:
        app: A `pushlab_classroom.service.application`.
        name: Name of the class in the first line.
        while_open: Whether the server also ends when its standard input does.

    Raises:
        OSError: The address is in use.
    """
    import uvicorn

    if behind_proxy:  # which limits connections by their real address
        limits = replace(limits, of_one=limits.connections)
    config = uvicorn.Config(
        app,
        http=guarded_connection(limits),
        ws="none",
        log_level="error",
        access_log=False,
        server_header=False,
        h11_max_incomplete_event_size=MAX_HEAD,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=SHUTDOWN,
        proxy_headers=behind_proxy,
        forwarded_allow_ips=["127.0.0.1", "::1"],
    )
    server = uvicorn.Server(config)
    if while_open:

        def end_with_input() -> None:
            sys.stdin.buffer.read()
            server.should_exit = True

        threading.Thread(target=end_with_input, daemon=True).start()
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family, backlog=1024) as listening:
        address = f"[{host}]" if ":" in host else host
        say(f"{name} is {READY}http://{address}:{listening.getsockname()[1]}")
        say(
            "That is the board, too, in a browser. Ctrl+C ends it, and nothing is lost."
        )
        # uvicorn raises the signal again at the end
        with suppress(KeyboardInterrupt, SystemExit):
            server.run([listening])


@contextmanager
def running(folder: Path | str, **options: Any) -> Iterator[str]:
    """Context manager that serves a class by another process, on a free port of this machine; yields the address.

    Args:
        options: Options of `pushlab serve`, such as requests=10.0 or behind_proxy=True.

    Raises:
        RuntimeError: The server did not start; the message has its output.
    """
    command = [sys.executable, "-P", "-m", "pushlab_classroom.commands", str(folder)]
    command.append("--while-open")
    for name, value in {"port": 0, **options}.items():
        command.append("--" + name.replace("_", "-"))
        if value is not True:
            command.append(str(value))
    paths = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    with (
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        ) as server,
    ):
        try:
            line = server.stdout.readline().decode("utf-8", "replace")
            if READY not in line:
                server.wait()
                errors.seek(0)
                reason = errors.read().decode("utf-8", "replace").strip()
                raise RuntimeError(f"no server for {folder}: {reason}")
            yield line.rpartition(READY)[2].strip()
        finally:
            server.terminate()
            try:
                server.wait(2 * SHUTDOWN)
            except subprocess.TimeoutExpired:
                server.kill()
