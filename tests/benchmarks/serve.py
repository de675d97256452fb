"""How much a class's server bears: `make benchmarks ARGS=serve` writes load.csv.

Each client plays one episode: a step, its answer, the next step. What the clients were
answered is compared with the class's database, also after the server was killed.
Paced clients have a time at which each step is due, and waiting begins then, so that a
server that stands still for a second is seen by every step that was due in it.
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

from pushlab.ground.files import data_dir
from pushlab_classroom import ClassDatabase, new_class

KILLS_EVERY = (2, 6)  # seconds


def start(folder, port):
    """Start a server, with the limits of every class but that of episodes begun."""
    command = [sys.executable, "-P", "-m", "pushlab", "serve", folder]
    command += [f"--port={port}", "--begins=1000"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE)
    if b"served at" not in server.stdout.readline():
        raise RuntimeError("the server did not start")
    return server


class Client:
    """A connection that is made again when it is lost."""

    def __init__(self, port, token):
        self.port = port
        self.head = f"HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        self.head += "Content-Type: application/json\r\n"
        self.writer = None

    async def post(self, path, content):
        """The JSON of the answer; asks again until there is one."""
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
    """Play one client's steps: rows of (episode, step, action, reward), seconds waited.

    Args:
        pause: Seconds between two steps; None: the next one follows the answer.
        begin: When the first step is due, by time.monotonic().
    """
    client = Client(port, token)
    request = {"game": "evalumap2", "scored": True}
    answer = await client.post("/api/episodes", request)
    episode = answer["episodes"][0]["episode"]
    made = []
    waited = []
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
        waited.append(time.monotonic() - due)
        made.append((episode, step, action, answers[0]["reward"]))
    return made, waited, time.monotonic()


def play_all(clients, *arguments):
    """Play (number, token) of each client at once in this process."""

    async def gathered():
        return await asyncio.gather(*(play(*one, *arguments) for one in clients))

    return asyncio.run(gathered())


def measure(folder, what, clients=100, steps=2000, pause=None, kills=0):
    """One row of load.csv."""
    teams = [f"team {number}" for number in range(clients)]
    tokens = new_class(folder, teams, "load", per_quarter=2800).values()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = start(folder, port)
    rng = np.random.default_rng(0)
    killed = 0
    try:
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            begin = time.monotonic() + 20  # until then all have their episodes
            jobs = []
            for part in (0, 1):
                mine = list(enumerate(tokens))[part::2]
                jobs.append(pool.submit(play_all, mine, port, steps, pause, begin))
            time.sleep(begin - time.monotonic())
            before = psutil.Process(server.pid).cpu_times()
            for _ in range(kills):
                time.sleep(rng.uniform(*KILLS_EVERY))
                if not any(job.done() for job in jobs):
                    server.kill()
                    server.wait()
                    server = start(folder, port)
                    killed += 1
            made, waited, ended = zip(*chain(*(job.result() for job in jobs)))
            after = psutil.Process(server.pid).cpu_times()
    finally:
        server.terminate()
        server.wait()
    stored = {
        (row.episode, row.step): (json.loads(row.action), row.reward)
        for row in ClassDatabase(folder).query("SELECT * FROM steps").itertuples()
    }
    answered = {row[:2]: row[2:] for row in chain(*made)}
    waited = 1000 * np.concatenate(waited)
    seconds = max(ended) - begin
    cpu = after.user + after.system - before.user - before.system
    return {
        "what": what,
        "clients": clients,
        "steps": steps,
        "asked_per_second": clients / pause if pause else np.nan,
        "seconds": seconds,
        "answered_per_second": len(waited) / seconds,
        "median_ms": np.median(waited),
        "p95_ms": np.percentile(waited, 95),
        "p99_ms": np.percentile(waited, 99),
        "server_cpu_ms": np.nan if kills else 1000 * cpu / len(waited),
        "kills": killed,
        "lost": sum(stored.get(key) != row for key, row in answered.items()),
        "doubled": len(stored) - len(answered),
    }


def main():
    """Measure this machine; return 1 if anything was lost or doubled."""
    with TemporaryDirectory() as place:
        folder = Path(place)
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
