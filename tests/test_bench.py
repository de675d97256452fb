"""The benchmark: budgets, rules, scores and files."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from gymnasium.spaces import Box, Discrete
from typer.testing import CliRunner

from pushlab import load_user
from pushlab.__main__ import app
from pushlab.agents import Agent, Constant, RandomAgent
from pushlab.experiments.bench import agents as bench_agents
from pushlab.experiments.bench.command import REFERENCE, SEEDS, add_rows, read_reference
from pushlab.experiments.bench.protocol import run_cell
from pushlab.experiments.bench.tasks import (
    QUICK,
    VERSIONS,
    find_task,
    read_tasks,
    task_table,
)
from pushlab.experiments.bench.views import ORACLE, Trial, standard
from pushlab.ground.files import data_dir

REC = find_task("recommender-drift", QUICK)._replace(steps=200, episodes=3)


def scored(make, task, seed=0):
    return run_cell(make, task, seed)["scores"][0]


def bench(words):
    return CliRunner().invoke(
        app, f"bench --quick --workers 1 --out out {words}".split()
    )


def test_the_command_writes_scores_beside_the_reference(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    agent = "pushlab.experiments.bench.agents:linucb"
    result = bench(f"--agent {agent} --tasks credit,room-4 --reference rows.csv")
    assert (
        result.exit_code == 0 and "1 tasks do not fit, 0 runs failed" in result.output
    )
    scores = pd.read_csv("out/scores.csv")
    assert scores["score"].tolist() == [-0.492242245] * 3
    # Chance earns -0.55121, the best policy -0.492242.
    expected = (-0.492242245 + 0.55121) / (-0.492242 + 0.55121)
    assert scores["normalised"].tolist() == pytest.approx([expected] * 3, abs=1e-8)
    rows = pd.read_csv("rows.csv")
    assert list(rows) == REFERENCE and rows["seed"].tolist() == [0, 1, 2]
    assert pd.read_csv("out/unfit.csv")["task"].tolist() == ["room-4"]


RAISES = """
from pushlab.agents import RandomAgent


class Raises(RandomAgent):
    def act(self, observation, info, explore=True):
        if len(observation) == 8:
            raise RuntimeError("no credit")
        return 0
"""


def test_a_run_that_fails_leaves_the_others_and_adds_no_rows(tmp_path, monkeypatch):
    (tmp_path / "bad_agents.py").write_text(RAISES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    tasks = "--tasks credit,recommender-drift --seeds 1 --reference rows.csv"
    result = bench(f"--agent bad_agents:Raises {tasks}")
    assert result.exit_code == 1 and "rows.csv is as it was" in result.output
    assert pd.read_csv("out/scores.csv")["task"].tolist() == ["recommender-drift"]
    failed = pd.read_csv("out/failed.csv")
    assert failed["reason"].tolist() == ["RuntimeError: no credit"]
    assert not (tmp_path / "rows.csv").exists()
    for options, words in (
        ("bad_agents:RAISES", "is no agent|that can be imported"),
        ("RandomAgent --tasks chess", "task is one of .*chess"),
        ("RandomAgent --tasks credit", "holds the scores of Raises"),
    ):
        result = bench(f"--agent {options}")
        assert result.exit_code == 2 and re.search(words, result.output, re.DOTALL)


class Recording(RandomAgent):
    """Records the observations."""

    seen: list = []

    def act(self, observation, info, explore=True):
        self.seen.append((tuple(observation), explore))
        assert not {*ORACLE} & {*info}
        return super().act(observation, info, explore)

    def learn(self, transition):
        pass


def test_training_keeps_to_the_budget_and_never_meets_an_episode_of_the_judging():
    Recording.seen = []
    assert scored(Recording, REC)["steps"] == 200
    learning = [seen for seen, explore in Recording.seen if explore]
    judged = [seen for seen, explore in Recording.seen if not explore]
    assert len(learning) == 201  # the last action was chosen and not taken
    assert len(judged) == 60 and not {*learning} & {*judged}


class Endless(Agent):
    """Has a training loop of its own, which would never end."""

    def train(self, env, steps, seed):
        while True:
            env.reset()
            over = False
            while not over:
                _, _, terminated, truncated, _ = env.step(1)
                over = terminated or truncated

    def act(self, observation, info, explore=True):
        return 1


def test_training_loops_are_stopped_at_the_budget():
    expected = scored(partial(Constant, 1), REC)
    assert scored(Endless, REC) == {**expected, "steps": 200}


class Reaching(RandomAgent):
    """Does something to its environment before it acts."""

    def begin(self, env, seed):
        super().begin(env, seed)
        self.env = env

    def act(self, observation, info, explore=True):
        if not explore:
            self.reach(self.env)
        return super().act(observation, info, explore)


@pytest.mark.parametrize(
    ("reach", "error", "message"),
    [
        (lambda env: env.reset(), RuntimeError, "a reset of its own"),
        (lambda env: env.step(0), RuntimeError, "a step of its own"),
        (lambda env: setattr(env, "total", 1e6), AttributeError, "total"),
    ],
)
def test_while_it_is_scored_an_agent_only_acts(reach, error, message):
    agent = type("Agent", (Reaching,), {"reach": staticmethod(reach)})
    with pytest.raises(error, match=message):
        run_cell(agent, REC, 0)


def test_offline_agents_see_the_history_or_a_simulation_of_it():
    arguments = {"user": "noor", "candidates": "catalogue"}
    task = find_task("offline-hard", QUICK)._replace(steps=50, arguments=arguments)
    shown = []

    class Reader(RandomAgent):
        def fit(self, history):
            shown.append(len(history.opened))

    class Learner(Recording):
        def begin(self, env, seed):
            super().begin(env, seed)
            shown.append(env.unwrapped.world.judge.name)

    assert scored(Reader, task)["steps"] == 0
    assert scored(Learner, task)["steps"] == 50
    assert shown == [len(load_user("noor").history.opened), "logistic", "truth"]


def test_agents_that_do_not_fit_a_task_say_why():
    tables = run_cell(bench_agents.thompson, find_task("push-default", QUICK), 0)
    [unfit] = tables["unfit"]
    assert "chooses among notifications; here one manages" in unfit["reason"]


def test_standard_environments_have_discrete_actions_and_flat_observations():
    for task in read_tasks(QUICK):
        if task.kind == "lifetime":
            continue
        trial = Trial(standard(task.make(task.each[0]), task), task, seed=3)
        observation, info = trial.reset()
        assert type(trial.action_space) is Discrete, task.name
        assert type(trial.observation_space) is Box, task.name
        for _ in range(3):
            assert trial.observation_space.contains(observation), task.name
            assert not {*ORACLE} & {*info}, task.name
            allowed = np.flatnonzero(trial.action_masks())
            observation, _, _, _, info = trial.step(int(allowed[-1]))


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("given-memory", "room-4"),
        pytest.param("linucb", "cold-start-first", marks=pytest.mark.slow),
        pytest.param("q-table", "life-users", marks=pytest.mark.slow),
    ],
)
def test_reference_rows_are_reproduced_to_the_digit(name, task):
    make = getattr(bench_agents, name.replace("-", "_"))
    score = scored(make, find_task(task, QUICK), 1)["score"]
    shipped = read_reference(QUICK).set_index(["agent", "task", "seed"])["score"]
    assert float(f"{score:.9g}") == shipped[name, task, 1]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_shipped_tables_are_complete(version, tmp_path):
    tasks = task_table(version)
    assert (tasks["best"] > tasks["random"]).all() and len(tasks) >= 14
    file = data_dir() / "bench" / "reference.csv"
    table = pd.read_csv(file)
    rows = table[table["version"] == version]
    runs = rows.groupby(["agent", "task"])["seed"].agg(list)
    assert all(seeds == list(range(SEEDS[version])) for seeds in runs)
    assert set(rows["task"]) == set(tasks["name"]) and np.isfinite(rows["score"]).all()
    entrants = pd.read_csv(data_dir() / "bench" / "entrants.csv")
    named = entrants.loc[entrants["version"] == version, "agent"]
    assert named.tolist() == sorted(set(rows["agent"]))
    copy = tmp_path / "reference.csv"
    copy.write_bytes(file.read_bytes())
    add_rows(copy, rows[rows["agent"] == "linucb"], version)
    assert copy.read_bytes() == file.read_bytes()
