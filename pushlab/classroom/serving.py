"""One process that serves a class: uvicorn with limits, from the room's opening to the last commit; and its parent."""

import os
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from pushlab.classroom.limits import Limits
from pushlab.ground.arguments import bring, demand

SAID = "served at "  # what stands before the address in the line that says so
TO_END = 10  # seconds that answers under way have when the server is stopped


def serve(
    folder: Path,
    host: str,
    port: int,
    limits: Limits,
    behind_proxy: bool,
    while_open: bool,
    say: Callable[[str], Any],
) -> None:
    """Plays a class until SIGINT or SIGTERM, and writes what is pending.

    while_open   ends when standard input does as well, so that no server outlives who started it
    say          is told the address, once connections are accepted

    Raises OSError where the address is taken or the class is played by another process already.
    """
    uvicorn = bring("uvicorn", "pushlab serve", "serve")
    from pushlab.classroom.connections import limited
    from pushlab.classroom.page import Board
    from pushlab.classroom.room import Room
    from pushlab.classroom.service import Service, application

    demand(host, "host is an address of this machine, such as 127.0.0.1; got none")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=1024)
    except OSError as error:
        raise OSError(
            f"nothing can be served at {host}, port {port} ({error.strerror}): another --port (0: one that "
            "is free), or --host"
        ) from None
    with listening:
        if behind_proxy:  # all come from one address, whose own limits hold
            limits = replace(limits, of_one=limits.connections)
        server = uvicorn.Server(
            uvicorn.Config(
                application(Service(Room.open(folder), limits), Board(folder)),
                http=limited(limits),
                ws="none",
                log_level="error",
                access_log=False,
                server_header=False,
                timeout_keep_alive=75,
                timeout_graceful_shutdown=TO_END,
                proxy_headers=behind_proxy,
                forwarded_allow_ips=["127.0.0.1", "::1"],
            )
        )
        if while_open:

            def end() -> None:
                sys.stdin.buffer.read()
                server.should_exit = True

            threading.Thread(target=end, daemon=True).start()
        address = f"[{host}]" if ":" in host else host
        say(f"{folder} is {SAID}http://{address}:{listening.getsockname()[1]}")
        if host in ("0.0.0.0", "::"):
            say(
                f"Students write this machine's name or address for {address}; what they send is not encrypted."
            )
        say(
            "That is the board, too, in a browser. Ctrl+C ends it; what was played is kept."
        )
        # uvicorn raises the signal again once all has ended
        with suppress(KeyboardInterrupt, SystemExit):
            server.run([listening])


@contextmanager
def running(folder: Path | str, **options: Any) -> Iterator[str]:
    """A server of the class in a process of its own, on a free port of this machine, while the block runs.

    options   of `pushlab serve`, such as requests=10.0 or behind_proxy=True
    yields    its address, without a slash at the end

    It ends with this process at the latest. RuntimeError with what it said, if it does not start.
    """
    words = [
        sys.executable,
        "-P",
        "-m",
        "pushlab",
        "serve",
        str(folder),
        "--while-open",
    ]
    for name, value in {"port": 0, **options}.items():
        words += [
            "--" + name.replace("_", "-"),
            *([] if value is True else [str(value)]),
        ]
    paths = [
        str(Path(__file__).parents[2]),
        *filter(None, [os.environ.get("PYTHONPATH")]),
    ]
    with (
        tempfile.TemporaryFile() as said,
        subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
        ) as server,
    ):
        try:
            told = server.stdout.readline().decode("utf-8", "replace")
            if SAID not in told:
                server.wait()
                said.seek(0)
                raise RuntimeError(
                    f"no server for {folder}: {said.read().decode('utf-8', 'replace').strip()}"
                )
            yield told.rpartition(SAID)[2].strip()
        finally:
            server.terminate()
            try:
                server.wait(2 * TO_END)
            except subprocess.TimeoutExpired:
                server.kill()
