"""A class under load, and a server that is killed: `make benchmarks ARGS=serve` writes data/class/load.csv.

Clients are light (a socket each, many in a process), so that it is the server that is measured; each plays one episode
after the other as a student's program would: a step, its answer, the next step. What they were told is compared with
the database afterwards, step by step. About six minutes on two idle cores.

Paced clients have a time at which each step is due. What counts as waiting begins then, and not when the step before
was answered at last: a server that stands still for a second is seen by every step that was due in it.
"""

import asyncio
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd

import pushlab
from pushlab.classroom import Book, new_class
from pushlab.classroom.standings import standings
from pushlab.ground.files import data_dir
from pushlab.studies import tables

SEED = "a class that is made again for each run"
LAVISH = {"begins": 1000}       # all begin at once; otherwise the limits are those of every class
COLUMNS = ["what", "clients", "steps", "asked_per_second", "seconds", "answered_per_second", "median_ms", "p95_ms",
           "p99_ms", "server_cpu_ms", "kills", "lost", "doubled"]


class Server:
    """A class's server in a process of its own, on a port that it keeps when it is killed and started again."""

    def __init__(self, folder, **options):
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        words = [f"--{name.replace('_', '-')}={value}" for name, value in {"port": self.port, **options}.items()]
        self.command, self.process = [sys.executable, "-P", "-m", "pushlab", "serve", str(folder), *words], None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        here = {**os.environ, "PYTHONPATH": str(Path(pushlab.__file__).parents[1])}
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE, env=here)
        if not self.process.stdout.readline():
            raise RuntimeError("the server did not start")
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()

    def cpu(self):
        """CPU seconds of the server so far; NaN where the system does not tell."""
        try:
            words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return np.nan
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self):
        """kill -9, and a new process on the same folder and port."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        self.__enter__()


class Client(asyncio.Protocol):
    """One student's program: asks, waits for the answer, chooses by what it was told, asks the next.

    every   seconds from one step to the next; None: the next step follows the answer at once
    """

    def __init__(self, number, token, port, steps, every):
        self.number, self.port, self.steps, self.every, self.start = number, port, steps, every, None
        self.loop, self.done = asyncio.get_running_loop(), asyncio.get_running_loop().create_future()
        self.head = (f"HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"
                     "Content-Type: application/json\r\n")
        self.told, self.waited, self.count, self.tries = [], [], 0, 0       # told: (episode, step, action, reward)
        self.transport, self.buffer, self.asleep = None, b"", None
        self.ask_for_episode()

    # ------------------------------------------------------------ the line

    def dial(self):
        task = self.loop.create_task(self.loop.create_connection(lambda: self, "127.0.0.1", self.port))
        task.add_done_callback(lambda done: done.exception() and self.later(self.dial))

    def connection_made(self, transport):
        self.transport, self.buffer = transport, b""
        if not self.asleep:
            transport.write(self.request)

    def connection_lost(self, error):
        self.transport = None
        if not self.done.done():
            self.later(self.dial)

    def later(self, what):
        self.tries += 1
        self.loop.call_later(min(1.0, 0.02 * 2**min(self.tries, 6)), what)

    def data_received(self, data):
        self.buffer += data
        head, found, body = self.buffer.partition(b"\r\n\r\n")
        if not found or len(body) < int(head.lower().partition(b"content-length:")[2].split(b"\r\n", 1)[0]):
            return
        self.buffer = b""
        status = int(head[9:12])
        if status in (429, 503):
            self.later(lambda: self.transport and self.transport.write(self.request))
        elif status != 200:
            self.done.set_exception(RuntimeError(f"client {self.number}: {status} {body[:300]!r}"))
        else:
            self.tries = 0
            self.answered(json.loads(body))

    def send(self, path, content):
        body = json.dumps(content, separators=(",", ":"))
        self.request = f"POST {path} {self.head}Content-Length: {len(body)}\r\n\r\n{body}".encode()
        self.asleep = None
        if self.transport:
            self.transport.write(self.request)

    # ------------------------------------------------------------ the game

    def ask_for_episode(self):
        self.playing = False
        self.send("/api/episodes", {"game": "evalumap2", "scored": True, "count": 1})

    def ask_for_step(self):
        self.send("/api/steps", {"steps": [[self.episode, self.step, self.action]]})

    def answered(self, told):
        if self.playing:
            (answer,) = told["answers"]
            self.waited.append(time.monotonic() - self.asked)
            self.told.append((self.episode, self.step, self.action, answer["reward"]))
            self.step, self.count = self.step + 1, self.count + 1
        else:
            (answer,) = told["episodes"]
            self.episode, self.step, self.playing = answer["episode"], answer["step"], True
        if self.count == self.steps:
            self.done.set_result(None)
        elif answer.get("terminated"):
            self.ask_for_episode()
        elif self.start is not None:
            self.choose(answer)
        else:
            self.first = answer         # all begin together
            self.done.set_result(None)

    def choose(self, answer):
        """A notification that depends on all that was seen just now, and on nothing else."""
        context, last = answer["observation"]["context"], answer["observation"]["last"]
        self.action = [15, 12, 0, 14, 2, 1, 1]
        mixed = sum((at + 2) * code for at, code in enumerate([*context, last[-1], self.number]))
        self.action[0], self.action[3], self.action[4] = mixed % 12, mixed % 14, mixed % 5
        now = time.monotonic()
        self.asked = now if self.every is None else self.start + self.count * self.every
        if self.asked <= now:
            self.ask_for_step()
        else:
            self.asleep = self.loop.call_later(self.asked - now, self.ask_for_step)


def play(numbers, tokens, port, steps, every, clients, ready):
    """Plays clients in this process: what each was told, seconds waited for each step, when they began and ended."""
    async def all_of_them():
        some = [Client(number, token, port, steps, every) for number, token in zip(numbers, tokens)]
        for client in some:
            client.dial()
        await asyncio.gather(*(client.done for client in some))         # each has its episode
        await asyncio.get_running_loop().run_in_executor(None, ready.wait)
        begun = time.monotonic()
        for client in some:
            client.done, client.start = client.loop.create_future(), begun + client.number / clients * (every or 0)
            client.choose(client.first)
        await asyncio.gather(*(client.done for client in some))
        for client in some:
            if client.transport:
                client.transport.close()
        return [client.told for client in some], [client.waited for client in some], begun, time.monotonic()

    try:
        from uvloop import run
    except ImportError:
        run = asyncio.run
    return run(all_of_them())


def _player(pipe, *arguments):
    pipe.send(play(*arguments))


def played(port, tokens, steps, every=None, processes=2, meanwhile=None):
    """Plays a client for each token: what they were told, seconds waited, seconds in all.

    meanwhile   is called when all have their first episodes, with a function that says whether all are still playing
    """
    context, names = get_context("spawn"), list(tokens)
    ready, pipes, players = context.Barrier(processes + 1), [], []
    for at in range(processes):
        numbers = range(at, len(names), processes)
        mine, theirs = context.Pipe(duplex=False)
        players.append(context.Process(target=_player, args=(
            theirs, numbers, [tokens[names[one]] for one in numbers], port, steps, every, len(names), ready)))
        players[-1].start()
        theirs.close()
        pipes.append(mine)
    ready.wait()
    if meanwhile:
        meanwhile(lambda: all(one.is_alive() for one in players))
    told, waited, begun, ended = zip(*(pipe.recv() for pipe in pipes))
    for one in players:
        one.join()
    return sum(told, []), np.concatenate(sum(waited, [])), max(ended) - min(begun)


def lost_and_doubled(folder, told):
    """How many answered steps the database has not, or has otherwise, and how many it has that nobody was told of."""
    with closing(sqlite3.connect(Path(folder) / "class.db")) as book:
        rows = book.execute("SELECT episode, step, action, reward FROM steps").fetchall()
    kept = [(episode, step, json.loads(action), reward) for episode, step, action, reward in rows]
    known = [one for client in told for one in client]
    kept_by, known_by = _by_key(kept), _by_key(known)
    lost = sum(kept_by.get(key) != value for key, value in known_by.items())
    return lost + len(known) - len(known_by), len(kept) - len(known_by)


def _by_key(rows):
    return {(episode, step): (action, reward) for episode, step, action, reward in rows}


def load(folder, clients=100, steps=2000, every=None, per_quarter=2800, **options):
    """A row: so many clients at once, each so many steps; `every` seconds one, or as fast as they are answered."""
    tokens = new_class(folder, [f"team {number}" for number in range(clients)], seed=SEED, per_quarter=per_quarter)
    with Server(folder, **LAVISH, **options) as server:
        cpu = []
        told, waited, seconds = played(server.port, tokens, steps, every, meanwhile=lambda _: cpu.append(server.cpu()))
        cpu.append(server.cpu())
    lost, doubled = lost_and_doubled(folder, told)
    median, p95, p99 = np.percentile(waited * 1000, (50, 95, 99))
    return dict(zip(COLUMNS, ("paced" if every else "as fast as answered", clients, steps, clients / every if every else
                              np.nan, seconds, len(waited) / seconds, median, p95, p99,
                              (cpu[1] - cpu[0]) / len(waited) * 1000, 0, lost, doubled)))


def killed(folder, clients=40, steps=1200, kills=5, per_quarter=500, between=(2, 6), seed=0):
    """A row: clients go on while the server is killed so many times; with it whether all is as in a run without."""
    chance, kept, row = np.random.default_rng(seed), [], {}
    for times in (0, kills):
        place = Path(folder) / f"{times} kills"
        tokens = new_class(place, [f"team {number}" for number in range(clients)], seed=SEED, per_quarter=per_quarter,
                           episodes=4)
        with Server(place, **LAVISH) as server:
            done = []

            def kill(going, server=server, times=times, done=done):
                for _ in range(times):
                    time.sleep(chance.uniform(*between))
                    if going():
                        server.kill()
                        done.append(1)

            told, waited, seconds = played(server.port, tokens, steps, meanwhile=kill)
            lost, doubled = lost_and_doubled(place, told)
            row = dict(zip(COLUMNS, ("killed", clients, steps, np.nan, seconds, len(waited) / seconds,
                                     *np.percentile(waited * 1000, (50, 95, 99)), np.nan, len(done), lost, doubled)))
        book = Book(place)
        episodes = book.episodes().drop(columns=["begun", "finished"])
        order = episodes.sort_values(["team", "game", "number"])["id"]
        everything = [book.steps(one).drop(columns="at") for one in order]
        kept.append((standings(book), episodes.drop(columns="id").sort_values(["team", "game", "number"],
                                                                             ignore_index=True), everything))
    same = kept[0][0].equals(kept[1][0]) and kept[0][1].equals(kept[1][1]) and all(
        one.equals(other) for one, other in zip(kept[0][2], kept[1][2], strict=True))
    return row, same


def main():
    """Measures this machine; ends with 1 if anything was lost, doubled or otherwise after a kill."""
    with TemporaryDirectory() as folder:
        rows = [load(Path(folder) / "paced", every=0.045), load(Path(folder) / "fast")]
        row, same = killed(folder)
    table = pd.DataFrame([*rows, row])
    tables.write_tables(data_dir() / "class", {"load": table}, float_format="%.5g")
    print(table.to_string(index=False, float_format="%.4g"))
    print("after the kills all is", "as in a run without them" if same else "NOT as in a run without them")
    return int(not same or table[["lost", "doubled"]].to_numpy().any())
