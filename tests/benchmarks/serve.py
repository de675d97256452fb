"""Measure a class's server under load: `make benchmarks ARGS=serve` writes load.csv.

Each client plays one episode: a step, its answer, the next step. The answers are compared with the class's database,
also after the server was killed. Paced clients have a schedule, and the wait is measured from the scheduled time. So a
server that stops for a second delays every step scheduled in that second.
"""

import asyncio
import json
import socket
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
import psutil

from pushlab.utils.files import data_dir
from pushlab_classroom import ClassDatabase, new_class

KILL_INTERVAL = (2, 6)  # seconds


def start(folder, port):
    """Start a server with the default limits, except for the number of begun episodes."""
    command = [sys.executable, "-P", "-m", "pushlab", "serve", folder]
    command += [f"--port={port}", "--begins=1000"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    if b"served at" not in server.stdout.readline():
        raise RuntimeError("the server did not start")
    return server


class Client:
    """A connection that reconnects after errors."""

    def __init__(self, port, token):
        self.port = port
        self.head = f"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        self.head += "Content-Type: application/json\r\n"
        self.writer = None

    async def post(self, path, content):
        """Send a request until it succeeds, and return the JSON of the answer."""
        body = json.dumps(content)
        request = f"POST {path} {self.head}Content-Length: {len(body)}\r\n\r\n{body}"
        while True:
            try:
                if self.writer is None:
                    line = asyncio.open_connection("127.0.0.1", self.port)
                    self.reader, self.writer = await line
                self.writer.write(request.encode())
                head = (await self.reader.readuntil(b"\r\n\r\n")).lower()
                length = head.partition(b"content-length:")[2].split(b"\r\n", 1)[0]
                answer = json.loads(await self.reader.readexactly(int(length)))
                if head[9:12] == b"200":
                    return answer
                if head[9:12] not in (b"429", b"503"):
                    raise RuntimeError(answer)
            except (OSError, EOFError):
                self.writer = None
            await asyncio.sleep(0.05)


async def play(number, token, port, steps, pause, begin):
    """Play one client's steps.

    Args:
        pause: Seconds between two steps, or None to send the next step after each answer.
        begin: Time of the first step, by time.monotonic().

    Returns:
        Rows (episode, step, action, reward), seconds of waiting for each step, and the time of the end.
    """
    client = Client(port, token)
    request = {"game": "evalumap2", "scored": True}
    answer = await client.post("/api/episodes", request)
    episode = answer["episodes"][0]["episode"]
    rows = []
    waits = []
    due = begin
    await asyncio.sleep(begin - time.monotonic())
    for step in range(steps):
        action = [(number + step) % 12, 12, 0, step % 14, step % 5, 1, 1]
        if pause is None:
            due = time.monotonic()
        else:
            due = begin + (step + number / 100) * pause
            await asyncio.sleep(due - time.monotonic())
        content = {"steps": [[episode, step, action]]}
        answers = (await client.post("/api/steps", content))["answers"]
        waits.append(time.monotonic() - due)
        rows.append((episode, step, action, answers[0]["reward"]))
    return rows, waits, time.monotonic()


def play_all(clients, *arguments):
    """Play all clients (number, token) concurrently in this process."""

    async def gather():
        return await asyncio.gather(*(play(*client, *arguments) for client in clients))

    return asyncio.run(gather())


def measure(folder, label, clients=100, steps=2000, pause=None, kills=0):
    """Return one row of load.csv.

    Args:
        pause: Seconds between the steps of a client, see `play`.
        kills: Number of times the server is killed and restarted.
    """
    teams = [f"team {number}" for number in range(clients)]
    tokens = new_class(folder, teams, "load", per_quarter=2800).values()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = start(folder, port)
    rng = np.random.default_rng(0)
    killed = 0
    try:
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            begin = time.monotonic() + 20  # by then all clients have their episodes
            jobs = []
            for part in (0, 1):
                numbered = list(enumerate(tokens))[part::2]
                job = pool.submit(play_all, numbered, port, steps, pause, begin)
                jobs.append(job)
            time.sleep(begin - time.monotonic())
            cpu_before = cpu_seconds(server)
            for _ in range(kills):
                time.sleep(rng.uniform(*KILL_INTERVAL))
                if not any(job.done() for job in jobs):
                    server.kill()
                    server.wait()
                    server = start(folder, port)
                    killed += 1
            results = chain(*(job.result() for job in jobs))
            rows, waits, ends = zip(*results)
            cpu = cpu_seconds(server) - cpu_before
    finally:
        server.terminate()
        server.wait()
    stored = stored_steps(folder)
    answered = {row[:2]: row[2:] for row in chain(*rows)}
    waits = 1000 * np.concatenate(waits)
    seconds = max(ends) - begin
    return {
        "what": label,
        "clients": clients,
        "steps": steps,
        "asked_per_second": clients / pause if pause else np.nan,
        "seconds": seconds,
        "answered_per_second": len(waits) / seconds,
        "median_ms": np.median(waits),
        "p95_ms": np.percentile(waits, 95),
        "p99_ms": np.percentile(waits, 99),
        "server_cpu_ms": np.nan if kills else 1000 * cpu / len(waits),
        "kills": killed,
        "lost": sum(stored.get(key) != row for key, row in answered.items()),
        "doubled": len(stored) - len(answered),
    }


def cpu_seconds(server):
    """Return the CPU time that a server process has used so far."""
    times = psutil.Process(server.pid).cpu_times()
    return times.user + times.system


def stored_steps(folder):
    """Return the steps in a class's database: {(episode, step): (action, reward)}."""
    steps = {}
    for row in ClassDatabase(folder).query("SELECT * FROM steps").itertuples():
        steps[row.episode, row.step] = (json.loads(row.action), row.reward)
    return steps


def main():
    """Measure this machine, and return 1 if any step was lost or doubled."""
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        table = pd.DataFrame(
            [
                measure(folder / "paced", "paced", pause=0.045),
                measure(folder / "fast", "as fast as answered"),
                measure(folder / "killed", "killed", clients=40, steps=1200, kills=5),
            ]
        )
    path = data_dir() / "class" / "load.csv"
    table.to_csv(path, index=False, float_format="%.5g", lineterminator="\n")
    print(table.to_string(index=False, float_format="%.4g"))
    return int(table[["lost", "doubled"]].to_numpy().any())
