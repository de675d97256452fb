"""The capstone's leaderboard: rows computed from the logs of lifetimes."""

import numpy as np
import pandas as pd
import pytest

from pushlab.challenges.leaderboard import (
    add_to_board,
    board_from_logs,
    rank,
    read_board,
    reward_and_forgetting,
    submission_row,
)
from pushlab.lifetimes.syllabi import read_syllabus
from pushlab.logs.files import write_log
from pushlab.utils.issues import BadData


def lifetime(seed=0, agent="mine", forgets=4.0):
    """Return a log of the capstone's syllabus with invented rewards.

    Rewards of Mira's tests fall by `forgets` after Theo is trained.
    """
    parts = []
    for block, phase in enumerate(read_syllabus("users-aba").phases):
        for item in phase.experiences:
            drop = forgets if (phase.name, item.task) == ("2.test", "mira") else 0.0
            part = pd.DataFrame(
                {"reward": 10.0 + seed - drop + np.arange(item.count) % 2}
            )
            labels = {
                "phase": phase.name,
                "block": block,
                "block_type": phase.block_type,
            }
            parts.append(part.assign(**labels, task=item.task, regime=len(parts)))
    return pd.concat(parts, ignore_index=True).assign(agent=agent, seed=seed)


def test_reward_and_forgetting_by_hand():
    # One of five tests of trained users falls by 6.
    expected = (10.5 - 6 / 5, 6.0)
    assert reward_and_forgetting(lifetime(forgets=6.0)) == pytest.approx(expected)


def test_submission_has_means_and_intervals_over_lifetimes():
    row = submission_row(
        "ann", [lifetime(0), lifetime(1), lifetime(2)], note="first try"
    )
    # Mean 10.7, deviation 1, and Student's t of two degrees of freedom, 4.303.
    names = ("reward", "reward_low", "reward_high", "forgotten", "seeds", "note")
    expected = [10.7, 8.216, 13.184, 4.0, "0 1 2", "first try"]
    assert [row[name] for name in names] == expected


def test_logs_of_a_submission_must_be_complete_and_of_one_agent():
    short = lifetime(1)[lambda log: log["block"] < 5]
    logs = [lifetime(0), short, lifetime(0), lifetime(2, agent="yours")]
    with pytest.raises(BadData) as caught:
        submission_row("ann", logs)
    issues = caught.value.issues
    places = [(issue.file, issue.column, issue.value) for issue in issues]
    assert places == [
        ("log 1", None, None),
        ("logs", "seed", "0 1 0 2"),
        ("logs", "agent", "mine, yours"),
    ]
    assert "a complete lifetime of users-aba has " in issues[0].valid_values


def test_second_submission_replaces_the_first(tmp_path):
    path = tmp_path / "board.csv"
    add_to_board(path, submission_row("@ann", [lifetime(0), lifetime(1)]))
    add_to_board(path, submission_row("bob", [lifetime(5), lifetime(6)], note="=1+1"))
    board = add_to_board(path, submission_row("@ann", [lifetime(2), lifetime(3)]))
    assert board["name"].tolist() == ["bob", "'@ann"]
    assert board["seeds"].tolist() == ["5 6", "2 3"]
    assert read_board(path).equals(board)
    assert "'=1+1" in path.read_text()  # so that a spreadsheet does not evaluate it
    assert rank(pd.concat([board, board]))["rank"].tolist() == [1, 1, 3, 3]


def test_board_from_logs(tmp_path):
    for seed, name in enumerate(("ann", "ann", "bob", "bob")):
        log = lifetime(seed)
        log = log.assign(episode=range(len(log)))
        write_log(log, tmp_path / name / f"mine-{seed}")
    board = board_from_logs(tmp_path)
    assert board[["name", "seeds"]].values.tolist() == [["ann", "0 1"], ["bob", "2 3"]]
    (tmp_path / "carl").mkdir()
    (tmp_path / "carl" / "life.csv").write_text("task,block_type,reward\na,train,x\n")
    with pytest.raises(ValueError, match="carl"):
        board_from_logs(tmp_path)
