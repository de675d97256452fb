"""The study of a lifelong notification agent: its arithmetic, and that the shipped CSV is what it says."""

import numpy as np
import pandas as pd
import pytest

from pushlab.challenges.board import kept_and_forgotten, rank, read_board
from pushlab.ground.files import data_dir
from pushlab.lifetimes.live import run_syllabus
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.studies import lifelong
from pushlab.studies.lifelong import (
    AGENTS,
    PAIRS,
    REMEDIES,
    SEEDS,
    UNLIKE_AND_ALIKE,
    comparison_table,
    forgetting,
    read_remedies,
    read_study,
)

SHORT = {"train": 10, "test": 2}


def test_a_lifetime_of_the_study_is_what_the_syllabus_gives(tmp_path):
    told = lifelong.run_one("mira", "theo", "one model", 3, **SHORT)
    log = run_syllabus(lifelong.users_syllabus("mira", "theo", **SHORT), lifelong.make_agent("one model"), 3,
                       progress=False)
    tests = log[(log["phase"] == "2.test") & (log["task"] == "mira")]
    assert [row["reward"] for row in told["tests"] if row["phase"] == "2.test" and row["task"] == "mira"] == [
        pytest.approx(tests["reward"].mean())]
    assert told["training"][0] == {"phase": "1.train", "day": 10,
                                   "reward": pytest.approx(log[log["phase"] == "1.train"]["reward"].mean())}
    assert told["tests"][0]["users"] is None
    twice = [pd.DataFrame(told["tests"]).assign(first="mira", second="theo", agent="one model", seed=seed)
             for seed in (3, 4)]
    row = lifelong.board_table(pd.concat(twice)).iloc[0]
    assert tuple(row[["reward", "forgotten"]]) == pytest.approx(kept_and_forgotten(log), abs=2e-3)


def test_the_syllabus_of_the_study_is_the_shipped_one():
    assert lifelong.users_syllabus("mira", "theo").phases == read_syllabus("users-aba").phases


# ---------------------------------------------------------------- what is shipped

def test_the_shipped_study_is_complete():
    tests, training = read_study()
    assert len(tests) == len(PAIRS) * len(AGENTS) * SEEDS * 4 * 2 and not tests.drop(columns="users").isna().any().any()
    assert (tests["users"].notna() == (tests["agent"] == "recognises")).all()
    assert len(training) == len(PAIRS) * len(AGENTS) * 3 * 6
    assert (training["low"] <= training["reward"]).all() and (training["reward"] <= training["high"]).all()
    before = tests[tests["phase"] == "0.test"].pivot_table(index=["first", "second", "seed", "task"], columns="agent",
                                                           values="reward")
    assert before.eq(before["told"], axis=0).all().all()        # before they learn anything they are all the same


@pytest.mark.parametrize("pair, name", [(PAIRS[0], "one model"), (PAIRS[2], "recognises")])
def test_a_lifetime_of_the_shipped_study_comes_out_again(pair, name):
    tests, _ = read_study()
    again = pd.DataFrame(lifelong.run_one(*pair, name, 4)["tests"]).astype({"users": "Int64"})
    shipped = tests[(tests["first"] == pair[0]) & (tests["second"] == pair[1]) & (tests["agent"] == name)
                    & (tests["seed"] == 4)].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, shipped[list(again)], atol=2e-3)


def test_the_shipped_remedies_are_complete():
    remedies, recovery = read_remedies()
    assert len(remedies) == len(UNLIKE_AND_ALIKE) * len(REMEDIES) * SEEDS * 4 * 2 and not remedies.isna().any().any()
    assert len(recovery) == (len(PAIRS) * len(AGENTS) + len(UNLIKE_AND_ALIKE) * len(REMEDIES)) * SEEDS
    assert (recovery["watched"] == 60).all()
    assert (np.isinf(recovery["recovery"]) | (recovery["recovery"] < recovery["watched"])).all()
    first = remedies[remedies["phase"] == "1.test"].pivot_table(index=["second", "seed", "task"], columns="agent",
                                                                values="reward")
    small = [f"elastic {strength}" for strength in (30, 60, 100)]       # there is nothing to hold on to as yet
    assert first[small].eq(first["small steps"], axis=0).all().all()


@pytest.mark.parametrize("name", ["replay 3", "elastic 60"])
def test_a_lifetime_with_a_remedy_comes_out_again(name):
    again = lifelong.run_one("mira", "theo", name, 4)
    for table, key, found in zip(read_remedies(), ("reward", "recovery"), (again["tests"], again["recovery"])):
        shipped = table[(table["second"] == "theo") & (table["agent"] == name) & (table["seed"] == 4)]
        assert shipped[key].tolist() == pytest.approx([row[key] for row in found], abs=2e-3)


def test_the_board_says_the_same_as_the_tests():
    tests, _ = read_study()
    board = read_board(data_dir() / "studies" / "lifelong_board.csv").set_index("agent")
    lost = forgetting(tests).loc["mira", "theo"].groupby("agent").mean()
    for name in AGENTS:
        assert board.loc[name, "forgotten"] == pytest.approx(lost[name], abs=2e-3)
    assert rank(board.reset_index())["rank"].tolist() == [1, 2, 3, 4]


def test_the_comparison_is_paired_over_seeds():
    tests, _ = read_study()
    table = comparison_table(tests).set_index(["first", "second", "agent"])
    lost = forgetting(tests).loc["mira", "theo"].unstack("agent")
    row = table.loc["mira", "theo", "one model"]
    assert row["difference"] == pytest.approx((lost["recognises"] - lost["one model"]).mean())
    assert row["low"] < row["forgotten"] < row["high"] and len(table) == len(PAIRS) * 4


def test_the_command_writes_whole_files_and_prints_the_comparison(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(lifelong.run_study, "__defaults__", (*lifelong.run_study.__defaults__[:-2], *SHORT.values()))
    lifelong.main(tmp_path / "new" / "lifelong.csv", seeds=2, jobs=1, keep=tmp_path, pair=["mira:theo"])
    words = capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "lifelong.csv", "lifelong_board.csv", "lifelong_recovery.csv", "lifelong_remedies.csv", "lifelong_training.csv"]
    assert len(read_remedies(tmp_path / "new")[1]) == 11 * 2
    assert len(read_study(tmp_path / "new")[0]) == 4 * 2 * 4 * 2 and len(read_board(
        tmp_path / "new" / "lifelong_board.csv")) == 4
    assert "Forgotten of the first user" in words and "users told apart with mira and theo" in words
