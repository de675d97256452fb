"""What four memory systems of the room get right at each capacity: in our room, and in the one they were made for.

    python -m pushlab.studies.room --out data/room/memory.csv

Every system meets the same 30 runs of 1,000 questions, so that they can be compared run by run.
"""

from pathlib import Path
from typing import Any

import gymnasium as gym
import pandas as pd
import typer

from pushlab.agents import BothAgent, EpisodicAgent, GivenAgent, SemanticAgent
from pushlab.experiments.sweep import sweep
from pushlab.ground.commands import run
from pushlab.logs.rollout import rollout
from pushlab.studies import tables

SYSTEMS = {
    system.name: system
    for system in (EpisodicAgent, SemanticAgent, BothAgent, GivenAgent)
}
CAPACITIES = (2, 4, 8, 16, 32, 64)
RUNS, SEED = 30, 7
# the room's arguments, and the systems': "early" forgets as the original's program does
ROOMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ours": ({}, {}),
    "original": ({"reference": "room-env-3"}, {}),
    "original, early": (
        {"reference": "room-env-3"},
        {"reference": "agent-room-env-v0"},
    ),
}


def answers_of(room: str, agent: str, capacity: int) -> pd.DataFrame:
    """Right answers of one system, a DataFrame with a row a run: room, agent, capacity, episode, return."""
    about_room, about_agent = ROOMS[room]
    runs = rollout(
        gym.make("pushlab/RoomEnv-v0", **about_room),
        SYSTEMS[agent](capacity, **about_agent),
        episodes=RUNS,
        seed=SEED,
        record="episodes",
        progress=False,
    )
    return runs.assign(
        room=room, capacity=capacity, **{"return": runs["return"].astype(int)}
    )[["room", "agent", "capacity", "episode", "return"]]


def main(
    out: tables.Out = Path("data/room/memory.csv"),
    jobs: tables.Jobs = 1,
    keep: tables.Keep = None,
    fresh: tables.Fresh = False,
) -> None:
    """Runs the study and writes the answers of every run."""
    grid = {"room": list(ROOMS), "agent": list(SYSTEMS), "capacity": CAPACITIES}
    tables.write_tables(
        out,
        {
            "": sweep(
                function=answers_of,
                grid=grid,
                seeds=None,
                out=keep,
                workers=jobs,
                fresh=fresh,
                strict=True,
                name="room",
            )
        },
    )


if __name__ == "__main__":
    run(typer.run, main)
