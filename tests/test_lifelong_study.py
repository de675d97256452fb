"""The study of a lifelong notification agent: its arithmetic, that it resumes, that the shipped CSV is what it says."""

import json

import pandas as pd
import pytest

from pushlab.challenges.board import kept_and_forgotten, rank, read_board
from pushlab.ground.files import data_dir
from pushlab.lifetimes.live import run_syllabus
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.studies import lifelong
from pushlab.studies.lifelong import AGENTS, PAIRS, SEEDS, comparison_table, forgetting, read_study, run_study

SHORT = {"train": 10, "test": 2}


def test_a_lifetime_of_the_study_is_what_the_syllabus_gives():
    told = lifelong.run_one(("mira", "theo"), "one model", 3, **SHORT)
    log = run_syllabus(lifelong.users_syllabus("mira", "theo", **SHORT), lifelong.make_agent("one model"), 3,
                       progress=False)
    tests = log[(log["phase"] == "2.test") & (log["task"] == "mira")]
    assert told["tests"]["2.test"][0] == pytest.approx(tests["reward"].mean())
    assert told["training"]["1.train"] == [pytest.approx(log[log["phase"] == "1.train"]["reward"].mean())]
    assert told["users"] is None
    twice = {(("mira", "theo"), "one model", seed): told for seed in (3, 4)}
    row = lifelong.board_table(lifelong.evaluation_table(twice)).iloc[0]
    assert tuple(row[["reward", "forgotten"]]) == pytest.approx(kept_and_forgotten(log), abs=2e-3)


def test_the_syllabus_of_the_study_is_the_shipped_one():
    assert lifelong.users_syllabus("mira", "theo").phases == read_syllabus("users-aba").phases


def test_a_study_goes_on_where_it_stopped(tmp_path, monkeypatch):
    arguments = {"pairs": [("omar", "theo")], "names": ("restarts",), "keep": tmp_path, "progress": False, **SHORT}
    first = run_study(seeds=1, **arguments)
    ran, run_one = [], lifelong.run_one

    def run_and_tell(pair, agent, seed, *lengths):
        ran.append(seed)
        return run_one(pair, agent, seed, *lengths)

    monkeypatch.setattr(lifelong, "run_one", run_and_tell)
    both = run_study(seeds=2, **arguments)
    assert ran == [2] and {key: both[key] for key in first} == first
    next(tmp_path.glob("*restarts-1-*")).write_text('{"tests": ')           # a torn copy
    assert run_study(seeds=2, **arguments) == both and ran == [2, 1]


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
    again = lifelong.evaluation_table({(pair, name, 4): lifelong.run_one(pair, name, 4)})
    shipped = tests[(tests["first"] == pair[0]) & (tests["second"] == pair[1]) & (tests["agent"] == name)
                    & (tests["seed"] == 4)].reset_index(drop=True)
    pd.testing.assert_frame_equal(again, shipped, atol=2e-3)


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
    results = {(PAIRS[0], name, seed): json.loads(json.dumps(lifelong.run_one(PAIRS[0], name, seed, **SHORT)))
               for name in ("restarts", "recognises") for seed in (1, 2)}
    results |= {(PAIRS[0], name, seed): results[PAIRS[0], "restarts", seed] for name in ("one model", "told")
                for seed in (1, 2)}
    monkeypatch.setattr(lifelong, "run_study", lambda *arguments, **more: results)
    lifelong.main(tmp_path / "new" / "lifelong.csv", seeds=2, jobs=1, keep=tmp_path, pair=["mira:theo"])
    words = capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "lifelong.csv", "lifelong_board.csv", "lifelong_training.csv"]
    assert len(read_study(tmp_path / "new")[0]) == 4 * 2 * 4 * 2 and len(read_board(
        tmp_path / "new" / "lifelong_board.csv")) == 4
    assert "Forgotten of the first user" in words and "users told apart with mira and theo" in words
