"""Run the lifetimes in the recommender for the lifelong metrics of notebook 11.

    python studies/lifetimes.py --out data/studies

writes five tables:

- `lifetimes_towns.csv`: the shipped syllabus recommender-ant-a: linear Q, LinUCB and chance
- `lifetimes_changes.csv`: recommender-cl: linear Q
- `lifetimes_kinds.csv`: recommender-ant-b: linear Q
- `lifetimes_north.csv`, `_south`: linear Q in one of the two towns alone, the experts of `towns`

Each agent has seeds 0 to 5, each expert 100 to 105. A table has one row per episode: the columns that all its lifetimes
share, then one column of rewards per lifetime.
"""

from pathlib import Path
from typing import Annotated

import pandas as pd
import typer

from pushlab import agents
from pushlab.lifetimes.runner import run_experts, run_syllabi

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
FIRST_EXPERT_SEED = 100
COMMON = ["phase", "block", "block_type", "task", "params", "regime", "episode"]


def table_of(logs: dict[str, list[pd.DataFrame]]) -> pd.DataFrame:
    """Return the common columns of the logs, and the rewards of each log as a column."""
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
    logs = {}
    for name, syllabus in SYLLABI.items():
        learners = [agent() for agent in AGENTS[name]]
        logs[name] = run_syllabi(syllabus, learners, seeds, progress=False)
    expert_logs = []
    for seed in range(FIRST_EXPERT_SEED, FIRST_EXPERT_SEED + seeds):
        experts = run_experts(SYLLABI["towns"], agents.LinearQ(), seed, progress=False)
        expert_logs.append(experts)
    for town in EXPERTS:
        logs[town] = {"linear Q": [experts[town][0] for experts in expert_logs]}
    for name, by_agent in logs.items():
        file = out / f"lifetimes_{name}.csv"
        table_of(by_agent).to_csv(file, index=False, lineterminator="\n")


if __name__ == "__main__":
    typer.run(main)
