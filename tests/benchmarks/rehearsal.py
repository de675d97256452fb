"""Rehearse a class of forty teams: `make benchmarks ARGS=rehearsal` writes rehearsal.csv.

Each team is a process that plays `pushlab/Remote-v0`, with a pause before each step. The server is stopped and started
again, and later killed. Then the class is closed and exported. Before, the same agents have played another class with
the same users, without pauses and accidents: steps, rewards and standings have to be identical.
"""

import signal
import socket
import time
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from itertools import count, cycle
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory

import gymnasium as gym
import numpy as np
import pandas as pd
from serve import start, stored_steps

from pushlab.utils.files import data_dir
from pushlab_classroom import ClassDatabase, close_class, export, new_class
from pushlab_classroom.database import GAMES

ACCIDENTS = {1 / 3: signal.SIGTERM, 2 / 3: signal.SIGKILL}
SMALL = {"episodes": 5, "per_quarter": 100, "days": 1}
PATIENCE = 900.0  # seconds; on a busy machine a server starts slowly


def play(number, url, token, steps, pause):
    """Play scored episodes of both games in turn with an epsilon-greedy agent.

    Returns:
        Rows (episode, step, action, reward), and the milliseconds until each answer.
    """
    rng = np.random.default_rng(number)
    rows = []
    waits = []
    options = {"url": url, "token": token, "scored": True, "patience": PATIENCE}
    envs = [gym.make("pushlab/Remote-v0", game=game, **options) for game in GAMES]
    for game, env in cycle(zip(GAMES, envs)):
        _, info = env.reset()
        phone = env.unwrapped
        values = np.ones(12)  # estimated rewards
        for step in count():
            if len(rows) == steps:
                return rows, waits
            allowed = np.flatnonzero(info.get("action_mask", values))
            choice = allowed[values[allowed].argmax()]
            if rng.random() < 0.3:
                choice = rng.choice(allowed)
            action = phone.world.candidates[choice] if game != "push" else choice
            time.sleep(pause)
            begin = time.monotonic()
            _, reward, over, _, info = env.step(action)
            waits.append(1000 * (time.monotonic() - begin))
            episode = int(phone.state["episode"][0])
            rows.append((episode, step, action.tolist(), reward))
            values[choice] += 0.1 * (reward - values[choice])
            if over:
                break


def rehearse(pool, folder, teams, steps, settings, accidents, pause):
    """Play, close and export a class.

    Args:
        pool: Pool with a process for each team.
        steps: Number of steps of each team.
        settings: Arguments of `new_class`.
        accidents: Signals to the server by the share of all steps after which they are sent.

    Returns:
        The figures, the rows of each team without the episode's id, and the standings as text.
    """
    names = [f"team {number}" for number in range(teams)]
    tokens = new_class(folder, names, "rehearsal", **settings)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    server = start(folder, port)
    begin = time.monotonic()
    try:
        url = f"http://127.0.0.1:{port}"
        jobs = [
            pool.submit(play, number, url, token, steps, pause)
            for number, token in enumerate(tokens.values())
        ]
        query = "SELECT total(steps) AS n FROM episodes"
        for share, number in accidents.items():
            due = share * teams * steps
            while ClassDatabase(folder).query(query)["n"][0] < due:
                if any(job.done() for job in jobs):  # it failed, or is fast
                    break
                time.sleep(0.1)
            server.send_signal(number)
            server.wait()
            server = start(folder, port)
        rows, waits = zip(*(job.result() for job in jobs))
    finally:
        server.terminate()
        server.wait()
    seconds = time.monotonic() - begin
    close_class(folder)
    results = export(folder, folder / "results")
    stored = stored_steps(folder)
    answered = {row[:2]: row[2:] for team in rows for row in team}
    waits = np.concatenate(waits)
    figures = {
        "date": date.today(),
        "teams": teams,
        "steps": len(answered),
        "seconds": seconds,
        "signals": len(accidents),
        "lost": sum(stored.get(key) != row for key, row in answered.items()),
        "doubled": len(stored) - len(answered),
        "median_ms": np.median(waits),
        "p95_ms": np.percentile(waits, 95),
        "worst_ms": max(waits),
    }
    played = [[row[1:] for row in team] for team in rows]
    return figures, played, (results / "standings.csv").read_text()


def main(quick=False):
    """Rehearse; return 1 if a step was lost or doubled, or the results differ. A quick run is only printed."""
    size = (6, 40, SMALL) if quick else (40, 5000, {})
    pool = ProcessPoolExecutor(size[0], get_context("spawn"))
    with TemporaryDirectory() as temporary, pool:
        folder = Path(temporary)
        _, *expected = rehearse(pool, folder / "calm", *size, {}, pause=0)
        figures, *results = rehearse(pool, folder / "class", *size, ACCIDENTS, 0.03)
    is_same = results == expected
    table = pd.DataFrame([figures | {"identical": is_same}])
    if not quick:
        path = data_dir() / "class" / "rehearsal.csv"
        table.to_csv(path, index=False, float_format="%.5g", lineterminator="\n")
    print(table.to_string(index=False, float_format="%.4g"))
    return int(figures["lost"] or figures["doubled"] or not is_same)
