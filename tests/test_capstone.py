"""The capstone's leaderboard: rows computed from the logs of lifetimes."""

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
)
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.logs.folders import write_log


def lifetime(seed=0, agent="mine", forgets=4.0):
    """A log of the capstone's syllabus with invented rewards.

    Tests of Mira fall by `forgets` while Theo is trained.
    """
    rows = []
    regime = 0
    for block, phase in enumerate(read_syllabus("users-aba").phases):
        for one in phase.experiences:
            drop = forgets if (phase.name, one.task) == ("2.test", "mira") else 0.0
            for day in range(one.count):
                rows.append(
                    {
                        "agent": agent,
                        "seed": seed,
                        "phase": phase.name,
                        "block": block,
                        "block_type": phase.kind,
                        "task": one.task,
                        "regime": regime,
                        "reward": 10.0 + seed - drop + day % 2,
                    }
                )
            regime += 1
    return pd.DataFrame(rows)


def test_reward_and_forgetting_by_hand():
    # One of the five tests of users trained by then falls by 6.
    assert kept_and_forgotten(lifetime(forgets=6.0)) == pytest.approx(
        (10.5 - 6 / 5, 6.0)
    )
    mira = lifetime()[lambda log: log["task"] == "mira"]
    with pytest.raises(ValueError, match="two tasks"):
        kept_and_forgotten(mira)


def test_submission_has_means_and_intervals_over_lifetimes():
    row = submission("ann", [lifetime(0), lifetime(1), lifetime(2)], note="first try")
    assert tuple(row) == COLUMNS
    # Mean 10.7, deviation 1, and Student's t of two degrees of freedom, 4.303.
    assert [row["reward"], row["reward_low"], row["reward_high"]] == [
        10.7,
        8.216,
        13.184,
    ]
    assert row["forgotten"] == row["forgotten_low"] == row["forgotten_high"] == 4.0
    assert (row["seeds"], row["agent"], row["note"]) == ("0 1 2", "mine", "first try")


def test_logs_of_a_submission_must_be_whole_and_of_one_agent():
    short = lifetime(1)[lambda log: log["block"] < 5]
    logs = [lifetime(0), short, lifetime(0), lifetime(2, agent="yours")]
    with pytest.raises(BadData) as caught:
        submission("ann", logs)
    found = [(one.file, one.column, one.value) for one in caught.value.faults]
    assert found == [
        ("log 1", None, None),
        ("logs", "seed", "0 1 0 2"),
        ("logs", "agent", "mine, yours"),
    ]
    assert "a whole lifetime of users-aba, " in caught.value.faults[0].right


def test_second_submission_replaces_the_first(tmp_path):
    path = tmp_path / "board.csv"
    add_to_board(path, submission("@ann", [lifetime(0), lifetime(1)]))
    add_to_board(path, submission("bob", [lifetime(5), lifetime(6)], note="=1+1"))
    board = add_to_board(path, submission("@ann", [lifetime(2), lifetime(3)]))
    assert board["name"].tolist() == ["bob", "'@ann"]
    assert board["seeds"].tolist() == ["5 6", "2 3"]
    assert read_board(path).equals(board)
    assert "'=1+1" in path.read_text()  # no formula for a spreadsheet
    ranked = rank(pd.concat([board, board]))
    assert ranked["rank"].tolist() == [1, 1, 3, 3]
    assert ranked["name"].tolist() == ["bob", "bob", "'@ann", "'@ann"]


def test_the_board_of_logs(tmp_path):
    logs = tmp_path / "logs"
    for name, seeds in (("ann", (0, 1)), ("bob", (3, 4))):
        for seed in seeds:
            log = lifetime(seed)
            folder = logs / name / f"mine-{seed}"
            write_log(log.assign(episode=range(len(log))), folder)
    board = board_of(logs)
    assert board["name"].tolist() == ["ann", "bob"]
    assert board["seeds"].tolist() == ["0 1", "3 4"]
    (logs / "carl").mkdir()
    (logs / "carl" / "life.csv").write_text("task,block_type,reward\na,train,much\n")
    with pytest.raises(ValueError, match="carl"):
        board_of(logs)


def test_shipped_board_is_read():
    board = rank(read_board(data_dir() / "studies" / "lifelong_board.csv"))
    assert len(board) == 4
    assert board["syllabus"].eq("users-aba").all()
