"""The capstone's leaderboard: lifetimes of a class's agents in one CSV file, one row per submission.

A submission is several lifetimes of the same syllabus under different seeds, and its row is computed from their logs.
Since a student could also type a row into the file, `board_of` makes the board from a folder of logs.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.ground.faults import Fault, refuse
from pushlab.ground.files import csv_text, locked, safe_cell, write_text
from pushlab.ground.tables import Rule, convert, number, read_as_text, word
from pushlab.lifetimes.syllabi import read_syllabus, shipped_syllabi
from pushlab.logs.folders import find_logs, read_log
from pushlab.metrics.estimate import mean_interval

SYLLABUS = "users-aba"
MEASURES = ("reward", "forgotten")
NUMBERS = tuple(f"{one}{end}" for one in MEASURES for end in ("", "_low", "_high"))
COLUMNS = ("name", "agent", "syllabus", "seeds", *NUMBERS, "note")
DIGITS = 3


def kept_and_forgotten(log: pd.DataFrame) -> tuple[float, float]:
    """Return the reward and the forgetting of one lifetime, both in reward an episode.

    The reward is the mean over all tests of tasks that were trained before the test. The forgetting is the mean reward
    in the first task's last test before another task is trained, minus that in its first test afterwards.

    Args:
        log: Log of a syllabus that trains a first task, then another.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"block": [0, 1, 1, 2, 3, 3], "block_type": ["train", "test", "test"] * 2,
    ...                     "task": ["a", "a", "b", "b", "a", "b"], "reward": [0.0, 5.0, 1.0, 0.0, 1.0, 3.0]})
    >>> kept_and_forgotten(log)             # (5 + 1 + 3) / 3, and 5 - 1
    (3.0, 4.0)
    """
    training = log[log["block_type"] == "train"]
    if training["task"].nunique() < 2:
        raise ValueError("forgetting needs two tasks, trained one after the other")
    first = training["task"].iloc[0]
    changed = training.loc[training["task"] != first, "block"].iloc[0]
    trained = log["task"].map(training.groupby("task")["block"].first())
    tests = log[(log["block_type"] == "test") & (log["block"] > trained)]
    own = tests[tests["task"] == first].groupby("block")["reward"].mean()
    before = own[own.index < changed]
    after = own[own.index > changed]
    if before.empty or after.empty:
        raise ValueError(
            f"there is no test of {first} both before and after another task was trained"
        )
    return float(tests["reward"].mean()), float(before.iloc[-1] - after.iloc[0])


def submission(
    name: str, logs: Sequence[pd.DataFrame], note: str = ""
) -> dict[str, Any]:
    """Return the row of a submission, a dict with COLUMNS: means over its lifetimes with 95 % intervals.

    Args:
        name: Name of the student or team.
        logs: Lifetime logs of one agent under at least two different seeds, each of the whole syllabus SYLLABUS.

    Raises:
        BadData: Logs are faulty; the message lists all of them.
    """
    course = [
        (phase.name, one.task, one.count)
        for phase in read_syllabus(SYLLABUS).phases
        for one in phase.experiences
    ]
    faults = []
    for place, log in enumerate(logs):
        regimes = log.groupby(["regime", "phase", "task"], sort=False).size()
        if [(*key[1:], count) for key, count in regimes.items()] != course:
            episodes = sum(count for *_, count in course)
            right = (
                f"a whole lifetime of {SYLLABUS}, {len(course)} regimes and {episodes} "
                f"episodes; it has {len(regimes)} and {len(log)}"
            )
            faults.append(Fault(f"log {place}", right=right))
    seeds = [int(log["seed"].iloc[0]) for log in logs]
    if len(set(seeds)) < max(2, len(seeds)):
        right = "at least two different seeds"
        faults.append(Fault("logs", None, "seed", " ".join(map(str, seeds)), right))
    agents = sorted({agent for log in logs for agent in log["agent"].unique()})
    if len(agents) > 1:
        right = "one agent's lifetimes only"
        faults.append(Fault("logs", None, "agent", ", ".join(agents), right))
    refuse(faults)
    measured = pd.DataFrame(map(kept_and_forgotten, logs), columns=list(MEASURES))
    return board_row(name, agents[0], sorted(seeds), measured, note)


def board_row(
    name: str,
    agent: str,
    seeds: Iterable[int],
    values: Mapping[str, Any],
    note: str = "",
) -> dict[str, Any]:
    """Return a row with COLUMNS; `values` has the values of all lifetimes for each of MEASURES."""
    row: dict[str, Any] = {"name": name, "agent": agent, "syllabus": SYLLABUS}
    row["seeds"] = " ".join(map(str, seeds))
    for measure in MEASURES:
        interval = [float(end) for end in mean_interval(values[measure])]
        for end, value in zip(("", "_low", "_high"), interval):
            row[f"{measure}{end}"] = round(value, DIGITS)
    return row | {"note": note}


# ---------------------------------------------------------------- the file


def read_board(path: Path | str) -> pd.DataFrame:
    """Return the leaderboard in a CSV file, a DataFrame with COLUMNS. Raises BadData that lists every fault."""
    return _checked(read_as_text(path), Path(path).name)


def _checked(table, file):
    """Return a leaderboard of text with its numbers converted."""
    rules = dict.fromkeys(("name", "agent"), _matching(r".*\S.*", "a name"))
    rules["syllabus"] = word(shipped_syllabi())
    rules["seeds"] = _matching(r"\d+(\s+\d+)+", "two or more whole numbers")
    rules |= dict.fromkeys(NUMBERS, number())
    rules["note"] = word()
    return convert(table, rules, file)[list(COLUMNS)]


def _matching(pattern, right):
    """A rule for text that matches a regular expression."""
    return Rule(right, lambda column: column.where(column.str.fullmatch(pattern)))


def add_to_board(path: Path | str, row: Mapping[str, Any]) -> pd.DataFrame:
    """Add a submission's row to the file, in place of an earlier one of the same name and agent; return the board.

    The file is created if it doesn't exist. Several processes can add to it at once. Raises BadData, and writes
    nothing, for a faulty row or file.
    """
    with locked(path):
        board = pd.DataFrame([row], columns=list(COLUMNS))
        if Path(path).exists():
            labels = ["name", "agent"]
            board[labels] = board[labels].map(safe_cell)
            board = pd.concat([read_board(path), board])
            board = board.drop_duplicates(labels, keep="last")
        write_board(board, path)
    return read_board(path)


def write_board(board: pd.DataFrame, path: Path | str) -> Path:
    """Write a leaderboard as CSV; return the path. Raises BadData, and writes nothing, for a faulty board."""
    _checked(board.astype(str), Path(path).name)
    return write_text(path, csv_text([COLUMNS, *board[list(COLUMNS)].values.tolist()]))


# ---------------------------------------------------------------- the logs


def board_of(folder: Path | str) -> pd.DataFrame:
    """Return the leaderboard that is computed from a class's logs; nothing is played again.

    Args:
        folder: Folder with a folder for each student, named after the student. It holds the lifetimes of one or
            several agents, as CSV files (such as `log.csv` of `run_syllabi(…, folder=…)`) or L2Logger folders.

    Raises:
        ValueError: Logs are faulty; the message names the first such student.
    """
    rows = []
    for own in sorted(path for path in Path(folder).iterdir() if path.is_dir()):
        try:
            logs = [read_log(path) for path in find_logs(own)]
            for agent in pd.concat(logs)["agent"].unique():
                lives = [log for log in logs if agent in set(log["agent"])]
                rows.append(submission(own.name, lives))
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"logs of {own.name}: {error}") from error
    return pd.DataFrame(rows, columns=list(COLUMNS))


def rank(board: pd.DataFrame) -> pd.DataFrame:
    """Return the board with `rank` in front, most reward first; equal rewards share a rank."""
    board = board.sort_values(
        ["reward", "forgotten"], ascending=[False, True], kind="stable"
    ).reset_index(drop=True)
    ranks = board["reward"].rank(method="min", ascending=False)
    board.insert(0, "rank", ranks.astype(int))
    return board
