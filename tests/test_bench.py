"""The benchmark: budgets, rules, scores, files and report."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from gymnasium.spaces import Box, Discrete
from tables import parse_table
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.agents import Constant, RandomAgent
from pushlab.experiments.bench import agents as entrants
from pushlab.experiments.bench import report
from pushlab.experiments.bench.protocol import ORACLE, Trial, run_task, standard_env
from pushlab.experiments.bench.run import SEEDS, add_rows
from pushlab.experiments.bench.tasks import (
    QUICK,
    VERSIONS,
    find_task,
    read_reference,
    read_tasks,
    task_table,
)
from pushlab.utils.files import data_dir

REC = find_task("recommender-drift", QUICK)._replace(steps=200, episodes=3)


def scored(make, task, seed=0):
    return run_task(make, task, seed)["scores"][0]


def bench(words):
    arguments = f"bench --quick --workers 1 --out out {words}".split()
    return CliRunner().invoke(app, arguments)


def test_the_command_writes_scores_a_report_and_reference_rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = "pushlab.experiments.bench.agents:linucb"
    result = bench(f"--agent {agent} --tasks credit,room-4 --reference rows.csv")
    assert result.exit_code == 0
    assert "1 tasks not supported, 0 runs failed" in result.output
    scores = pd.read_csv("out/scores.csv")
    assert scores["normalised"].tolist() == pytest.approx([0.999996] * 3, abs=1e-6)
    assert pd.read_csv("rows.csv")["score"].tolist() == [-0.492242245] * 3
    assert pd.read_csv("out/unfit.csv")["task"].tolist() == ["room-4"]
    page = (tmp_path / "out" / "report.html").read_text()
    cells = cells_of(page)
    assert "credit, surely above, 1.00 [1.00, 1.00], −0.4922, 3" in cells
    assert "room-4, all, is not for tasks with memory" in cells
    assert page.count("data:image/png;base64,") == 2


def cells_of(page):
    """Return the rows of a page's tables, one per line, with commas between cells."""
    rows = re.sub(r"</t[hd]>\s*<t[hd][^>]*>", ", ", page)
    return re.sub(r"<[^>]*>", "", rows)


RAISES = """
from pushlab.agents import RandomAgent


class Raises(RandomAgent):
    def act(self, observation, info, explore=True):
        if len(observation) == 8:
            raise RuntimeError("no credit")
        return 0
"""


@pytest.mark.filterwarnings("ignore:1 of 2 cells failed")
def test_a_failed_run_leaves_the_others_and_adds_no_rows(tmp_path, monkeypatch):
    (tmp_path / "bad_agents.py").write_text(RAISES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    tasks = "--tasks credit,recommender-drift --seeds 1 --reference rows.csv"
    result = bench(f"--agent bad_agents:Raises {tasks}")
    assert result.exit_code == 1
    assert pd.read_csv("out/scores.csv")["task"].tolist() == ["recommender-drift"]
    assert pd.read_csv("out/failed.csv")["reason"][0] == "RuntimeError: no credit"
    assert not (tmp_path / "rows.csv").exists()


# ---------------------------------------------------------------- protocol


def test_training_keeps_to_the_budget_and_begins_no_scored_episode():
    seen = {True: [], False: []}

    class Recording(RandomAgent):
        def act(self, observation, info, explore=True):
            seen[explore].append(tuple(observation))
            return super().act(observation, info, explore)

        def learn(self, transition):
            pass

    assert scored(Recording, REC)["steps"] == 200
    assert len(seen[True]) == 201  # the last action was chosen, but not taken
    assert not {*seen[True]} & {*seen[False]}


class Endless(Constant):
    """Agent with an endless training loop."""

    def train(self, env, steps, seed):
        while True:
            env.reset()
            env.step(1)


def test_training_loops_end_at_the_budget():
    expected = scored(partial(Constant, 1), REC)
    assert scored(partial(Endless, 1), REC) == {**expected, "steps": 200}


class Restless(Constant):
    """Agent that begins each episode twice."""

    def begin(self, env, seed):
        env.reset()


def test_scored_episodes_cannot_be_broken_off():
    with pytest.raises(RuntimeError, match="broke off a scored episode"):
        scored(partial(Restless, 1), REC)


def test_standard_environments_have_discrete_actions_and_flat_observations():
    tasks = [task for task in read_tasks(QUICK) if task.kind != "lifetime"]
    for task in tasks:
        trial = Trial(
            standard_env(task.make(task.user_arguments[0]), task), task, seed=3
        )
        observation, info = trial.reset()
        assert type(trial.action_space) is Discrete, task.name
        assert type(trial.observation_space) is Box, task.name
        for _ in range(3):
            assert trial.observation_space.contains(observation), task.name
            assert not {*ORACLE} & {*info}, task.name
            allowed = np.flatnonzero(trial.action_masks())
            observation, _, _, _, info = trial.step(int(allowed[-1]))


# ---------------------------------------------------------------- shipped tables


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("given-memory", "room-4"),
        ("offline-model", "offline-hard"),
        pytest.param("linucb", "offline-hard", marks=pytest.mark.slow),
        pytest.param("linucb", "cold-start-first", marks=pytest.mark.slow),
        pytest.param("q-table", "life-users", marks=pytest.mark.slow),
    ],
)
def test_reference_rows_are_reproduced_to_the_digit(name, task):
    make = getattr(entrants, name.replace("-", "_"))
    score = scored(make, find_task(task, QUICK), 1)["score"]
    shipped = read_reference(QUICK).set_index(["agent", "task", "seed"])["score"]
    assert float(f"{score:.9g}") == shipped[name, task, 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_shipped_tables_are_complete(version, tmp_path):
    tasks = task_table(version)
    assert (tasks["best"] > tasks["random"]).all()
    file = data_dir() / "bench" / "reference.csv"
    rows = pd.read_csv(file).query("version == @version")
    runs = rows.groupby(["agent", "task"])["seed"].agg(list)
    assert all(seeds == list(range(SEEDS[version])) for seeds in runs)
    assert set(rows["task"]) == set(tasks["name"])
    listed = pd.read_csv(data_dir() / "bench" / "entrants.csv")
    listed = listed.query("version == @version")["agent"]
    assert listed.tolist() == sorted(set(rows["agent"]))
    copy = tmp_path / "reference.csv"
    copy.write_bytes(file.read_bytes())
    add_rows(copy, rows[rows["agent"] == "linucb"], version)
    assert copy.read_bytes() == file.read_bytes()


# ---------------------------------------------------------------- report


TASKS = parse_table(
    """name,    abilities,                   random, best
       phone,   exploration,                 10,     20
       room,    memory,                      0,      1
       patient, planning exploration,        0,      8"""
)
TASKS["abilities"] = TASKS["abilities"].str.split()
MINE = parse_table(
    """agent, task,  seed, score, normalised
       mine,  phone, 0,    15,    0.5
       mine,  phone, 1,    20,    1.0
       mine,  room,  0,    0.25,  0.25
       mine,  room,  1,    0,     0"""
)
OTHERS = parse_table(
    """agent,  task,    seed, score, normalised
       random, phone,   0,    10,    0
       random, phone,   1,    10,    0
       random, room,    0,    0,     0
       random, room,    1,    -4,    -4
       linucb, phone,   0,    17.5,  0.75
       linucb, phone,   1,    15,    0.5"""
)
UNFIT = parse_table("agent, task,    reason\n mine, patient, needs a|Box")
FAILED = parse_table("agent, task, seed, reason\n mine, room, 1, KeyError: 'x'")


def test_the_report_has_the_numbers_worked_out_by_hand(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "task_table", lambda version: TASKS)
    monkeypatch.setattr(report, "read_reference", lambda version: OTHERS)

    def page(scores, failed=FAILED[:0]):
        tables = {"scores": scores, "unfit": UNFIT, "failed": failed}
        return cells_of(
            report.write_report(tmp_path, tables, "mine", QUICK).read_text()
        )

    patterns = [
        # The middle two of 0, 0.25, 0.5 and 1; the gap is (0.5 + 0 + 0.75 + 1) / 4.
        r"mean 0\.38 \[.*\], optimality gap 0\.56 \[.*\], over 2 of 3",
        # 25.4517, t with one degree of freedom at 97.5 %, times the standard error 0.25.
        r"phone, –, 0\.75 \[−5\.61, 7\.11\], 17\.5, 2\n",
        # Over the phone alone, linucb's only task: of four pairs one is lost, one tied.
        r"linucb, 1, 0\.75 \[.*\], 0\.62 \[.*\], 0\.62 \[",
        r"patient, all, needs a\|Box",
    ]
    assert [one for one in patterns if not re.search(one, page(MINE))] == []
    # A failed run counts as the lowest known score: the mean of 0.25 and random's -4.
    assert re.search(r"room, –, −1\.88 \[.*, 2, 1 failed", page(MINE[:3], FAILED))
    assert "phone, –, 0.50, 15, 1" in page(MINE[:1])  # one run has no interval
    assert "None of the 3 tasks" in page(MINE[:0])
