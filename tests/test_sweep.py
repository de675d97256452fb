"""Sweeps: the same rows on one core and two; finished cells aren't run again."""

import importlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import gymnasium as gym
import pandas as pd
import pytest
from typer.testing import CliRunner
from waiting import PATIENCE, wait_until

import pushlab
from pushlab.__main__ import app
from pushlab.agents import RandomAgent, ThompsonSampling
from pushlab.experiments.cells import Cell, CellsFailed, run_cells, status
from pushlab.experiments.sweep import sweep
from pushlab.logs.rollout import rollout

USERS = {"env": "pushlab/evalumap2-v0", "each": {"user": ["mira", "theo"]}}
AGENTS = [
    {"agent": ThompsonSampling, "name": "thompson"},
    {"agent": "RandomCandidate", "name": "random"},
]
QUIET = {"workers": 1, "progress": False}
MINE = """
import os
import time
from pathlib import Path

import gymnasium as gym

from pushlab.agents import Agent

ACTION = 0


class Still(gym.Env):
    observation_space = action_space = gym.spaces.Discrete(1)

    def reset(self, seed=None, options=None):
        return 0, {}

    def step(self, action):
        return 0, float(ACTION), False, False, {}


if "me/Still-v0" not in gym.registry:
    gym.register("me/Still-v0", "mine:Still", disable_env_checker=True)


class Mine(Agent):
    def act(self, observation, info, explore=True):
        return ACTION


class Slow(Mine):
    def begin(self, env, seed):
        count(seed)
        while seed > 5 and Path("hold").exists():
            time.sleep(0.01)


def count(number):
    with open("calls", "a") as file:
        file.write(f"{number} ")


def scale(number):
    count(number)
    if number == 2 and Path("broken").exists():
        raise ValueError("no two")
    return [{"value": 1.1 * number, "word": "NA"}, {"value": None, "word": "a,b"}]


def die(number):
    os.kill(os.getpid(), 9)
"""


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """A user's module in the current folder."""
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    sys.modules.pop("mine", None)
    return importlib.import_module("mine")


def calls():
    return sorted(map(int, Path("calls").read_text().split()))


def test_rows_are_those_of_rollouts_on_one_core_and_on_two(tmp_path):
    options = {"seeds": [3, 5], "steps": 20, "episodes": 2, "tests": 1}
    log = sweep(AGENTS, [USERS], out=False, **options, **QUIET)
    labels = ["evalumap2-v0 user=theo", "random", 5, "test"]
    assert log.loc[23, ["env", "agent", "seed", "block_type"]].tolist() == labels
    env = gym.make("pushlab/evalumap2-v0", user="theo")
    settings = {"steps": 20, "record": "episodes", "progress": False}
    alone = rollout(env, ThompsonSampling(), 2, seed=5, **settings)
    assert log["return"].tolist()[15:17] == alone["return"].tolist()
    other = sweep(AGENTS, [USERS], out=tmp_path, workers=2, progress=False, **options)
    pd.testing.assert_frame_equal(other, log)


def test_finished_cells_are_kept_and_failed_ones_are_named_and_tried_again(mine):
    def run(count, function=mine.scale, out="out", **options):
        cells = [Cell({"number": n}, function, (n,)) for n in range(count)]
        options = {**QUIET, "strict": False, **options}
        return run_cells(cells, out, **options)["results"]

    Path("out").mkdir()
    Path("out", ".cells.json.0.part").touch()  # left by `kill -9`
    Path("broken").touch()
    words = "1 of 3 cells failed.*number 2\n.*ValueError: no two"
    with pytest.warns(UserWarning, match=words):
        rows = run(3)
    assert rows["number"].tolist() == [0, 0, 1, 1]
    assert status("out")["state"][2] == "failed"
    Path("broken").unlink()
    rows = run(4)
    assert rows["value"].dropna().tolist() == [1.1 * number for number in range(4)]
    assert rows["word"].tolist() == ["NA", "a,b"] * 4
    assert calls() == [0, 1, 2, 2, 3]
    damaged = sorted(Path("out", "cells").glob("*.json"))[1]
    damaged.write_text(damaged.read_text().replace("1.1", "1.2"))
    states = ["finished", "missing", "finished", "finished"]
    with pytest.warns(UserWarning, match="damaged files"):
        assert status("out")["state"].tolist() == states
    again = run(4)
    pd.testing.assert_frame_equal(again, rows)
    assert calls() == [0, 1, 1, 2, 2, 3]
    Path("broken").touch()
    with pytest.warns(UserWarning, match="1 of 4 cells failed"):
        run(4, fresh=True)
    assert len(calls()) == 10
    with pytest.raises(FileExistsError, match="has other files and no cells.json"):
        run(4, out=".")
    with pytest.raises(CellsFailed, match="2 of 2 cells failed.*number 0; number 1"):
        run(2, len, out=False)
    with pytest.raises(CellsFailed, match="worker process ended.*number 0"):
        run(1, mine.die, workers=2)


def test_an_edited_agent_or_world_runs_again_and_alone(mine):
    for added, files, action in (("", 2, 0), ("ACTION = 2\n", 3, 2)):
        Path("mine.py").write_text(MINE + added)
        agents = [importlib.reload(mine).Mine, "GreedyItem"]
        options = {"steps": 3, "record": "steps", "out": "out", **QUIET}
        log = sweep(agents, ["pushlab/RECEnv-v0"], **options)
        assert set(log["action"][log["agent"] == "Mine"]) == {action}
        assert len([*Path("out", "cells").glob("*.json")]) == files
        own = {1: RandomAgent}, ["mine:me/Still-v0"]
        log = sweep(*own, steps=3, out="own", **QUIET)
        expected = [["Still-v0", "1", 3.0 * action]]
        assert log[["env", "agent", "return"]].to_numpy().tolist() == expected


def test_grids_come_from_files_and_their_issues_are_named(mine):
    def invoke(text):
        Path("grid.yaml").write_text(text)
        words = "sweep grid.yaml --workers 1 --out out"
        return CliRunner().invoke(app, words.split())

    agent = {"agent": "EpsilonGreedy", "name": "eps", "epsilon": 0.2}
    grid = {"agents": [agent], "envs": [USERS], "seeds": 2, "steps": 9}
    done = invoke(json.dumps(grid))
    assert done.exit_code == 0 and "4 finished, 0 failed, 0 missing" in done.output
    table = pd.read_csv("out/results.csv")
    assert table[["agent", "length"]].to_numpy().tolist() == [["eps", 9]] * 4
    for text, words in (
        ("seedz: 3\n", "grid.yaml, key seedz"),
        ("agents: [LinUCBB]\nenvs: [pushlab/RECEnv-v0]\n", "did you mean 'LinUCB'?"),
    ):
        assert words in invoke(text).output


@pytest.mark.slow
@pytest.mark.parametrize(
    ("end", "options"),
    [
        (signal.SIGKILL, "--workers 2"),
        (signal.SIGTERM, "--workers 2"),
        (signal.SIGINT, "--workers 2"),
        (signal.SIGINT, "--cluster local"),
    ],
)
def test_a_sweep_that_is_ended_continues_where_it_stopped(
    mine, end, options, monkeypatch
):
    def begin():
        words = f"-m pushlab sweep grid.json {options}".split()
        return subprocess.Popen(
            [sys.executable, *words],
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def errors(process):
        lines = process.communicate(timeout=PATIENCE)[1].splitlines()
        return [line for line in lines if line and line[:6] != "sweep:"]

    monkeypatch.setenv("PYTHONPATH", str(Path(pushlab.__file__).parents[1]))

    grid = {"agents": ["mine:Slow"], "envs": ["pushlab/RECEnv-v0"], "seeds": 12}
    Path("grid.json").write_text(json.dumps(grid | {"out": "out"}))
    Path("hold").touch()
    first = begin()
    finished = Path("out", "cells")
    wait_until(lambda: len([*finished.glob("*.json")]) >= 6, "six finished cells")
    # A terminal sends Ctrl-C to all processes. `kill -9` ends the main one only, and
    # its workers, which would wait for the file `hold` forever, end without it.
    kill = os.kill if end is signal.SIGKILL else os.killpg
    kill(first.pid, end)
    interrupted = ["interrupted; run the same command again to continue"]
    assert errors(first) == (interrupted if end is signal.SIGINT else [])
    assert first.returncode in (143, -signal.SIGKILL, 130)
    Path("hold").unlink()
    second = begin()
    assert errors(second) == []
    assert second.returncode == 0
    assert calls()[:6] == list(range(6)) and set(calls()) == set(range(12))
    rows = pd.read_csv("out/results.csv")
    assert rows["seed"].tolist() == list(range(12))
    one_core = sweep(**grid, out="one", **QUIET)
    assert rows["return"].tolist() == pytest.approx(one_core["return"].tolist())
