"""The leaderboard: rows computed from logs, and a file in which every fault is found."""

import multiprocessing
import os
import sys

import numpy as np
import pandas as pd
import pytest

from pushlab.challenges.board import (
    COLUMNS,
    add_to_board,
    board_of,
    kept_and_forgotten,
    rank,
    read_board,
    submission,
    verify,
    write_board,
)
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.logs.folders import write_log


def lifetime(seed=0, agent="mine", forgets=4.0):
    """A log of the capstone's syllabus with invented rewards: Mira's tests fall by `forgets` while Theo is trained."""
    rows, block, regime = [], 0, 0
    for phase in read_syllabus("users-aba").phases:
        for one in phase.experiences:
            level = 10.0 + seed - (forgets if (phase.name, one.task) == ("2.test", "mira") else 0.0)
            rows += [{"agent": agent, "seed": seed, "phase": phase.name, "block": block, "block_type": phase.kind,
                      "task": one.task, "regime": regime, "reward": level + day % 2} for day in range(one.count)]
            regime += 1
        block += 1
    return pd.DataFrame(rows)


def test_what_was_kept_and_forgotten_is_read_off_the_tests():
    reward, forgotten = kept_and_forgotten(lifetime(forgets=6.0))
    assert forgotten == pytest.approx(6.0)
    assert reward == pytest.approx(10.5 - 6.0 / 5)              # one of the five tests of users met by then
    with pytest.raises(ValueError, match="two tasks"):
        kept_and_forgotten(lifetime()[lambda log: log["task"] == "mira"])


def test_a_submission_is_means_with_intervals_over_its_lifetimes():
    row = submission("ann", [lifetime(0), lifetime(1), lifetime(2)], note="first try")
    assert tuple(row) == COLUMNS and row["seeds"] == "0 1 2" and row["agent"] == "mine"
    assert row["forgotten"] == row["forgotten_low"] == row["forgotten_high"] == 4.0
    assert row["reward_low"] < row["reward"] < row["reward_high"]


def test_lifetimes_that_are_not_what_was_asked_for_are_named():
    short = lifetime(1)[lambda log: log["block"] < 5]
    with pytest.raises(BadData) as error:
        submission("ann", [lifetime(0), short, lifetime(0), lifetime(2, agent="yours")])
    words = str(error.value)
    assert "log 1: a whole lifetime of users-aba" in words and "log 0:" not in words
    assert "'0 1 0 2' is not at least two different seeds" in words and "'mine, yours' is not one agent's" in words


def test_a_class_fills_the_board(tmp_path):
    path = tmp_path / "board.csv"
    add_to_board(path, submission("ann", [lifetime(0), lifetime(1)]))
    add_to_board(path, submission("bob, jr", [lifetime(5), lifetime(6)], note="=1+1"))
    board = add_to_board(path, submission("ann", [lifetime(2), lifetime(3)]))       # a second try replaces the first
    assert board["name"].tolist() == ["bob, jr", "ann"] and board["seeds"].tolist() == ["5 6", "2 3"]
    pd.testing.assert_frame_equal(read_board(path), board)
    ranked = rank(board)
    assert ranked["rank"].tolist() == [1, 2] and ranked["name"].tolist() == ["bob, jr", "ann"]
    assert np.issubdtype(board["reward"].dtype, np.floating) and "'=1+1" in path.read_text()


def test_every_fault_of_a_board_is_listed(tmp_path):
    path = tmp_path / "board.csv"
    path.write_text(",".join(COLUMNS) + "\nann,mine,users-aba,0 1,5,4,6,1,0,2,\n ,mine,users-xyz,7,much,4,6,1,2,3,\n"
                    "ann,mine,users-aba,0 0,5,4,6,inf,0,2,\n")
    with pytest.raises(BadData) as error:
        read_board(path)
    words = str(error.value)
    for part in ("column name, row 3: ' ' is not a name", "column syllabus, row 3: 'users-xyz' is not one of",
                 "column seeds, row 3: '7' is not two or more", "column seeds, row 4: '0 0'",
                 "column reward, row 3: 'much' is not a finite number", "column forgotten, row 4: 'inf'",
                 "column forgotten, row 3: '1' is not between forgotten_low and forgotten_high",
                 "column agent, row 4: 'mine' is not an agent of its own; ann handed in one of that name in row 2"):
        assert part in words, part
    before = path.read_text()
    with pytest.raises(BadData):
        add_to_board(path, submission("eve", [lifetime(0), lifetime(1)]))
    assert path.read_text() == before
    path.write_text("name,agent\nann,mine\n")
    with pytest.raises(BadData, match="column reward_low, row 1: the column is missing"):
        read_board(path)


def test_a_row_that_cannot_be_read_back_is_not_written(tmp_path):
    row = submission("ann", [lifetime(0), lifetime(1)]) | {"reward": float("nan")}
    with pytest.raises(BadData, match="column reward"):
        add_to_board(tmp_path / "board.csv", row)
    assert not (tmp_path / "board.csv").exists()


@pytest.mark.parametrize("name", ["@bob", "=1+1", "a;=b", "-", "a\n@b", "b\u202eob", "e\u0301va", " bob ", "x" * 500])
def test_whoever_hands_in_twice_has_one_row_whatever_the_name(tmp_path, name):
    path = tmp_path / "board.csv"
    for seeds in ((0, 1), (2, 3)):
        board = add_to_board(path, submission(name, [lifetime(seed) for seed in seeds], note=name))
    assert board["seeds"].tolist() == ["2 3"]
    pd.testing.assert_frame_equal(read_board(path), board)
    board = add_to_board(path, submission(board["name"][0], [lifetime(4), lifetime(5)]))    # as the board spells it
    assert board["seeds"].tolist() == ["4 5"]


def add_twenty(path, row, number):
    for at in range(20):
        add_to_board(path, row | {"name": f"team {number}.{at}"})


def test_four_processes_that_add_twenty_rows_each_keep_all(tmp_path):
    row = submission("ann", [lifetime(0), lifetime(1)])
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    workers = [context.Process(target=add_twenty, args=(tmp_path / "board.csv", row, number)) for number in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0] * 4
    assert len(read_board(tmp_path / "board.csv")) == 80


@pytest.mark.parametrize("kind", ["a folder", *(pytest.param(kind, marks=pytest.mark.posix)
                                                for kind in ("a link", "a FIFO"))])
def test_a_board_that_is_no_ordinary_file_is_refused_and_stays(tmp_path, kind):
    path = tmp_path / "board.csv"
    write_board(pd.DataFrame([submission("ann", [lifetime(0), lifetime(1)])]), tmp_path / "other.csv")
    {"a link": lambda: path.symlink_to(tmp_path / "other.csv"), "a FIFO": lambda: os.mkfifo(path),
     "a folder": path.mkdir}[kind]()
    for call in (lambda: read_board(path), lambda: add_to_board(path, submission("eve", [lifetime(0), lifetime(1)]))):
        with pytest.raises(BadData, match=f"this is {kind}"):
            call()
    assert len(read_board(tmp_path / "other.csv")) == 1


def test_a_board_is_made_of_logs_and_a_typed_row_is_found(tmp_path):
    logs = tmp_path / "logs"
    for name, seeds, agent in (("ann", (0, 1, 10, 2), "mine"), ("@bob", (3, 4), "mine"), ("@bob", (3, 4), "other")):
        for seed in seeds:
            log = lifetime(seed, agent)
            write_log(log.assign(episode=range(len(log))), logs / name / f"{agent}-{seed}")
    board = board_of(logs)
    assert list(zip(board["name"], board["agent"])) == [("'@bob", "mine"), ("'@bob", "other"), ("ann", "mine")]
    path = tmp_path / "board.csv"
    add_to_board(path, submission("ann", [lifetime(seed) for seed in (0, 1, 2, 10)], note="mine, in another order"))
    add_to_board(path, submission("@bob", [lifetime(3), lifetime(4)]))
    better = submission("@bob", [lifetime(3, "other"), lifetime(4, "other")])
    add_to_board(path, better | {name: better[name] + 5 for name in ("reward", "reward_low", "reward_high")})
    add_to_board(path, submission("eve", [lifetime(0), lifetime(1)]))
    found = verify(read_board(path), logs)
    assert found["supported"].tolist() == [True, True, False, False] and found["name"].iloc[-1] == "eve"
    (logs / "carl" / "mine-0" / "worker" / "0-train").mkdir(parents=True)
    (logs / "carl" / "mine-0" / "worker" / "0-train" / "data-log.tsv").write_text("\0\0")
    with pytest.raises(BadData, match="carl: "):
        board_of(logs)
    assert verify(read_board(path), logs)["supported"].sum() == 2


def test_the_board_that_comes_with_pushlab_can_be_read():
    board = rank(read_board(data_dir() / "studies" / "lifelong_board.csv"))
    assert len(board) == 4 and board["syllabus"].eq("users-aba").all()
