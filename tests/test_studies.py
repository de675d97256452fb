"""The studies: their tables, and runs that give the shipped numbers again."""

import gymnasium as gym
import pandas as pd
import pytest

import pushlab  # noqa: F401  registers the environments
from pushlab import agents
from pushlab.challenges.board import read_board
from pushlab.ground.files import data_dir
from pushlab.lifetimes.live import run_syllabus
from pushlab.logs.rollout import rollout
from pushlab.studies import cold_start, lifelong, lifetimes, managing_arrivals


def rows_of(table, **values):
    for name, value in values.items():
        table = table[table[name] == value]
    return table.reset_index(drop=True)


def test_cold_start_gives_the_regret_of_its_rollout_and_the_shipped_numbers():
    env = gym.make("pushlab/evalumap2-v0", user="omar", reveal=True)
    tables = cold_start.run_agent(env, agents.ThompsonSampling(), 1)
    [run] = tables["runs"]
    log = rollout(env, agents.ThompsonSampling(), seed=1, progress=False)
    regret = (log["info.best"] - log["info.probability"]).to_numpy()
    last = len(log) // 4
    assert run["regret_last"] == pytest.approx(regret[-last:].mean())
    assert tables["windows"][1]["regret"] == pytest.approx(regret[100:200].mean())
    runs, _ = cold_start.read_study()
    row = rows_of(runs, user="omar", agent="Thompson", seed=1).iloc[0]
    assert row[list(run)].tolist() == pytest.approx(list(run.values()), abs=1e-5)
    table = cold_start.comparison_table(runs)
    assert len(table) == 10 and (table["sure"] & (table["difference"] < 0)).sum() >= 8


def test_managing_arrivals_pairs_its_runs_and_gives_the_shipped_numbers(tmp_path):
    names = ("show all", "dismiss all")
    options = {"users": ("theo",), "names": names, "seeds": 2, "keep": tmp_path}
    runs, days = managing_arrivals.run_study(**options, progress=False)
    shown, hidden = (rows_of(runs, agent=name) for name in names)
    assert hidden["missed"].tolist() == shown["opens"].tolist()
    assert hidden["delay"].isna().all() and len(days) == 4 * 28
    shipped = rows_of(managing_arrivals.read_study()[0], user="theo", agent="show all")
    rewards = pytest.approx(shown["reward"].tolist(), abs=1e-3)
    assert shipped["reward"].tolist()[:2] == rewards


def test_the_shipped_board_is_made_of_the_shipped_lifelong_tests():
    tests, _ = lifelong.read_study()
    made = lifelong.board_table(tests)
    board = read_board(data_dir() / "studies" / "lifelong_board.csv")
    for name in ("reward", "forgotten"):
        assert made[name].tolist() == pytest.approx(board[name].tolist(), abs=2e-3)
    lost = lifelong.forgetting(tests).loc["mira", "theo"].groupby("agent").mean()
    table = rows_of(lifelong.comparison_table(tests), first="mira", second="theo")
    assert table["forgotten"].tolist() == pytest.approx(lost[table["agent"]].tolist())


@pytest.mark.slow
@pytest.mark.parametrize("name", lifetimes.LIVED)
def test_lifetimes_give_the_shipped_rewards(name):
    syllabus = lifetimes.LIVED[name][0]
    again = run_syllabus(syllabus, agents.LinearQ(), 1, progress=False)
    stored = lifetimes.read_study(name)["linear Q"][1]
    pd.testing.assert_frame_equal(stored, again[list(stored)], atol=1e-4)


def arrivals_of(agent):
    stored = rows_of(
        managing_arrivals.read_study()[1], user="ines", agent=agent, seed=3
    )
    return stored, managing_arrivals.run_one("ines", agent, 3)["days"]


def lifelong_of(agent):
    stored = pd.concat([lifelong.read_study()[0], lifelong.read_remedies()[0]])
    stored = rows_of(stored, first="mira", second="theo", agent=agent, seed=4)
    return stored, lifelong.run_one("mira", "theo", agent, 4)["tests"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("run", "agent"),
    [
        (arrivals_of, "linear Q"),
        (lifelong_of, "recognises"),
        (lifelong_of, "elastic 60"),
    ],
)
def test_learners_give_the_shipped_rewards(run, agent):
    stored, again = run(agent)
    rewards = [row["reward"] for row in again]
    assert stored["reward"].tolist() == pytest.approx(rewards, abs=2e-3)
