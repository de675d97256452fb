"""Lifetimes in the recommender, from which notebook 11 computes the lifelong metrics.

    python studies/lifetimes.py --out data/studies

writes five tables:

- `lifetimes_towns.csv`: the shipped syllabus recommender-ant-a: linear Q, LinUCB and chance
- `lifetimes_changes.csv`: recommender-cl: linear Q
- `lifetimes_kinds.csv`: recommender-ant-b: linear Q
- `lifetimes_north.csv`, `_south`: linear Q in one of the two towns alone, the experts of `towns`

Seeds 0 to 5 each; the experts' are 100 to 105. A table has one row per episode: columns common to
all its lifetimes, then a column of rewards for each of them.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pushlab import agents
from pushlab.lifetimes.live import run_experts, run_syllabi

SYLLABI = {
    "towns": "recommender-ant-a",
    "changes": "recommender-cl",
    "kinds": "recommender-ant-b",
}
AGENTS = {
    "towns": (agents.LinearQ, agents.LinUCBItem, agents.RandomAgent),
    "changes": (agents.LinearQ,),
    "kinds": (agents.LinearQ,),
}
EXPERTS = ("north", "south")
SEEDS = 6
FIRST_OF_EXPERTS = 100
COMMON = ["phase", "block", "block_type", "task", "params", "regime", "episode"]


def table_of(logs: dict[str, list[pd.DataFrame]]) -> pd.DataFrame:
    """Return the common columns of the logs and their rewards, one column per log."""
    first = next(iter(logs.values()))[0]
    rewards = {}
    for agent, lifetimes in logs.items():
        for seed, log in enumerate(lifetimes):
            rewards[f"{agent} {seed}"] = log["reward"].round(5)
    return first[COMMON].assign(**rewards)


def main(
    out: Annotated[Path, typer.Option(help="Folder of the tables.")],
    seeds: Annotated[int, typer.Option(help="Lifetimes of each agent.")] = SEEDS,
) -> None:
    """Run the lifetimes and write their tables."""
    lived = {}
    for name, syllabus in SYLLABI.items():
        some = [agent() for agent in AGENTS[name]]
        lived[name] = run_syllabi(syllabus, some, seeds, progress=False)
    alone = []
    for seed in range(FIRST_OF_EXPERTS, FIRST_OF_EXPERTS + seeds):
        experts = run_experts(SYLLABI["towns"], agents.LinearQ(), seed, progress=False)
        alone.append(experts)
    for town in EXPERTS:
        lived[town] = {"linear Q": [experts[town][0] for experts in alone]}
    for name, logs in lived.items():
        file = out / f"lifetimes_{name}.csv"
        table_of(logs).to_csv(file, index=False, lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
