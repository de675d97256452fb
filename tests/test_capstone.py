"""The leaderboard: rows computed from logs, and a file in which every fault is found."""

import numpy as np
import pandas as pd
import pytest

from pushlab.challenges.board import COLUMNS, add_to_board, kept_and_forgotten, rank, read_board, submission
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir
from pushlab.lifetimes.syllabi import read_syllabus


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


def test_the_board_that_comes_with_pushlab_can_be_read():
    board = rank(read_board(data_dir() / "studies" / "lifelong_board.csv"))
    assert len(board) == 4 and board["syllabus"].eq("users-aba").all()
