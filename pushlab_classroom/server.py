"""The server of a class: uvicorn with a limit on connections."""

import gc
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pushlab.utils.arguments import import_optional, validate_number
from pushlab.utils.commands import echo


@dataclass(frozen=True)
class Limits:
    """Limits of a server. Each is an option of `pushlab serve`.

    Attributes:
        requests: Requests per second and team. Every 600 bytes of JSON, 4,800 bytes of a table or 8 steps count as one.
        begins: New episodes per second and team.
        strangers: Requests per second and address without a valid token, and as many for the board.
        connections: Open connections; an agent has one. If there are more, the one whose valid token was sent longest
            ago is closed, and before that those without one.
    """

    requests: float = 250.0
    begins: float = 1.0
    strangers: float = 50.0
    connections: int = 800

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            validate_number(name, value, above=0)


def limited_connection(max_connections):
    """Return a class of connections for uvicorn that limits their number.

    uvicorn's own `limit_concurrency` refuses the requests of all clients while there are too many connections, so idle
    ones could stop a class. This class closes a connection instead: those without a valid token first.
    """
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class LimitedConnection(H11Protocol):
        """A connection that requests find in `request.state`, to set the time of their valid token."""

        def connection_made(self, transport):
            super().connection_made(transport)
            self.app_state = {"connection": self}
            # Whether it has sent a valid token, and the time of the last one or of its beginning.
            self.priority = (False, self.loop.time())
            if len(self.connections) > max_connections:
                other = min(self.connections - {self}, key=lambda one: one.priority)
                self.connections.discard(other)
                other.transport.close()

    return LimitedConnection


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
            http=limited_connection(limits.connections),
            ws="none",
            log_level="critical",
            access_log=False,
            server_header=False,
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
        echo(
            f"{folder} is served at http://{address}:{listener.getsockname()[1]}\n"
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
