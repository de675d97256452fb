"""Keeps what this release writes, for every later one to read: `python tests/samples/keep.py`, once a release.

A lifetime of four blocks with each of its steps goes to tests/samples/kept/VERSION/life, and what `read_log` reads of
it to told.json beside it; tests/test_promised.py reads it again. What an older release kept is never written anew.
"""

import json
import sys
from pathlib import Path

import gymnasium as gym
import pandas as pd

import pushlab
from pushlab import RandomAgent, read_log, rollout, write_log

KEPT = Path(__file__).parent / "kept"
BLOCKS = (("train", "north", 0.1), ("test", "north", 0.1), ("train", "south", 0.5), ("test", "north", 0.1))


def keep(folder):
    """Writes the sample into a folder that is not there yet."""
    lived = []
    for block, (kind, task, alpha) in enumerate(BLOCKS):
        env = gym.make("pushlab/RECEnv-v0", UserModel={"name": "UserModel", "alpha": alpha}, max_episode_steps=2)
        log = rollout(env, RandomAgent(), episodes=2, seed=block, record="steps", progress=False)
        lived.append(log.assign(block=block, block_type=kind, task=task, params=json.dumps({"alpha": alpha}),
                                phase=f"1.{kind}"))
    folder.mkdir(parents=True)
    write_log(pd.concat(lived, ignore_index=True), folder / "life")
    log = read_log(folder / "life")
    told = {"measure": log.attrs["measure"], "columns": {name: log[name].tolist() for name in log}}
    (folder / "told.json").write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    there = KEPT / pushlab.__version__
    if there.exists():
        sys.exit(f"{there} is there already, and stays")
    keep(there)
    print(f"kept in {there}")
