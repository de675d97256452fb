"""Lifetimes in the recommender, lived beforehand, that the lifelong metrics are read off.

    python -m pushlab.studies.lifetimes --out data/studies

    towns           the shipped syllabus recommender-ant-a: linear Q, LinUCB and chance
    changes         recommender-cl: linear Q
    kinds           recommender-ant-b: linear Q
    north, south    linear Q in one of the two towns alone, the experts of `towns`

Seeds 0 to 5 each; the experts' are 100 to 105. A table is what all its lifetimes have in common, a row an episode, and
a column of rewards for each of them.
"""

from pathlib import Path

import pandas as pd
import typer

from pushlab import agents
from pushlab.ground.commands import run
from pushlab.lifetimes.live import run_experts, run_syllabi
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.studies import tables

TOWNS = "recommender-ant-a"
LIVED = {
    "towns": (TOWNS, (agents.LinearQ, agents.LinUCBItem, agents.RandomAgent)),
    "changes": ("recommender-cl", (agents.LinearQ,)),
    "kinds": ("recommender-ant-b", (agents.LinearQ,)),
}
EXPERTS = "north", "south"
SEEDS, FIRST_OF_EXPERTS, DIGITS = 6, 100, 5
ABOUT = ["phase", "block", "block_type", "task", "params", "regime", "episode"]


def run_study(
    names: tuple[str, ...] = (*LIVED, *EXPERTS), seeds: int = SEEDS
) -> dict[str, pd.DataFrame]:
    """The tables of the study, {name: table}."""
    lived = {
        name: run_syllabi(
            LIVED[name][0], [one() for one in LIVED[name][1]], seeds, progress=False
        )
        for name in names
        if name in LIVED
    }
    alone = [
        run_experts(TOWNS, agents.LinearQ(), FIRST_OF_EXPERTS + seed, progress=False)
        for seed in range(seeds if {*EXPERTS} & {*names} else 0)
    ]
    lived |= {
        town: {"linear Q": [one[town][0] for one in alone]}
        for town in EXPERTS
        if town in names
    }
    return {
        name: lived[name]["linear Q"][0][ABOUT].assign(
            **{
                f"{agent} {seed}": log["reward"].round(DIGITS)
                for agent, logs in lived[name].items()
                for seed, log in enumerate(logs)
            }
        )
        for name in names
    }


def read_study(
    name: str, folder: Path | str | None = None
) -> dict[str, list[pd.DataFrame]]:
    """One table of the study that comes with pushlab as lifetime logs, {agent: [log of each seed]}.

    >>> {agent: len(logs) for agent, logs in read_study("towns").items()}
    {'linear Q': 6, 'LinUCB': 6, 'random': 6}
    """
    [table], logs = tables.read_tables(folder, f"lifetimes_{name}"), {}
    kind = read_syllabus(LIVED[name][0] if name in LIVED else TOWNS).kind
    for column in table.columns[len(ABOUT) :]:
        log = table[ABOUT].assign(reward=table[column])
        log.attrs = {"measure": "reward", "syllabus_type": kind}
        logs.setdefault(column.rpartition(" ")[0], []).append(log)
    return logs


def main(out: tables.OutFolder) -> None:
    """Lifetimes in the recommender, for the lifelong metrics."""
    tables.write_tables(
        out, {f"lifetimes_{name}": table for name, table in run_study().items()}
    )


if __name__ == "__main__":
    run(typer.run, main)
