"""Count the correct answers of four memory systems at each capacity, in pushlab's room and in the original room.

    python studies/room.py --out data/room/memory.csv

writes memory.csv, one row per room, system, capacity and episode.

All systems answer the same 30 runs of 1,000 questions, so they can be compared run by run.
"""

from itertools import product
from pathlib import Path
from typing import Annotated, Any

import gymnasium as gym
import typer

import pushlab  # noqa: F401  registers the environments
from pushlab.agents import (
    EpisodicAgent,
    EpisodicSemanticAgent,
    PrefilledMemoryAgent,
    SemanticAgent,
)
from pushlab.experiments.cells import Cell, run_cells
from pushlab.logs.rollout import rollout

SYSTEMS = {
    system.name: system
    for system in (
        EpisodicAgent,
        SemanticAgent,
        EpisodicSemanticAgent,
        PrefilledMemoryAgent,
    )
}
CAPACITIES = (2, 4, 8, 16, 32, 64)
RUNS = 30
SEED = 7
# Arguments of the room and of the systems; "early" forgets like the original program.
ROOMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "ours": ({}, {}),
    "original": ({"reference": "room-env-3"}, {}),
    "original, early": (
        {"reference": "room-env-3"},
        {"reference": "agent-room-env-v0"},
    ),
}


def run_one(room: str, system: str, capacity: int) -> list[dict]:
    """Return the number of correct answers of one system, one row per run."""
    env_arguments, agent_arguments = ROOMS[room]
    runs = rollout(
        gym.make("pushlab/RoomEnv-v0", **env_arguments),
        SYSTEMS[system](capacity, **agent_arguments),
        episodes=RUNS,
        seed=SEED,
        record="episodes",
        progress=False,
    )
    counts = runs["return"].astype(int)
    return [{"episode": number, "return": count} for number, count in enumerate(counts)]


def main(
    out: Annotated[Path, typer.Option(help="CSV file.")],
    workers: Annotated[int, typer.Option(help="Processes.")] = 1,
) -> None:
    """Run the study and write the number of correct answers of every run."""
    grid = [
        Cell(dict(zip(("room", "agent", "capacity"), labels)), run_one, labels)
        for labels in product(ROOMS, SYSTEMS, CAPACITIES)
    ]
    table = run_cells(grid, workers=workers, name="room")["results"]
    table.to_csv(out, index=False, lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
