"""The capstone's leaderboard: a CSV file with one row per submission.

A submission is several lifetimes of the same syllabus under different seeds. Its row is computed from their logs. Since
a student could type a row into the file by hand, `board_from_logs` computes the board from a folder of logs.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from pushlab.lifetimes.syllabi import read_syllabus, shipped_syllabi
from pushlab.logs.files import find_logs, read_log
from pushlab.metrics.estimate import mean_interval
from pushlab.utils.files import csv_text, escape_formula, locked, write_text
from pushlab.utils.issues import DataIssue, raise_issues
from pushlab.utils.tables import (
    ColumnRule,
    convert_columns,
    number_rule,
    read_raw_table,
    text_rule,
)

SYLLABUS = "users-aba"
MEASURES = ("reward", "forgotten")
ENDS = ("", "_low", "_high")
NUMBERS = tuple(f"{name}{end}" for name, end in itertools.product(MEASURES, ENDS))
COLUMNS = ("name", "agent", "syllabus", "seeds", *NUMBERS, "note")
DIGITS = 3


def reward_and_forgetting(log: pd.DataFrame) -> tuple[float, float]:
    """Return the reward and the forgetting of one lifetime, both in reward per episode.

    The reward is the mean over all tests of tasks that were trained before the test. The forgetting is the drop of the
    first task's mean reward, from its last test before another task is trained to its first test afterwards.

    Args:
        log: Log of a syllabus that trains at least two tasks, one after the other.

    Raises:
        ValueError: If only one task is trained, or the first task isn't tested both before and after another.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"block": [0, 1, 1, 2, 3, 3], "block_type": ["train", "test", "test"] * 2,
    ...                     "task": ["a", "a", "b", "b", "a", "b"], "reward": [0.0, 5.0, 1.0, 0.0, 1.0, 3.0]})
    >>> reward_and_forgetting(log)             # (5 + 1 + 3) / 3, and 5 - 1
    (3.0, 4.0)
    """
    training = log[log["block_type"] == "train"]
    if training["task"].nunique() < 2:
        raise ValueError("forgetting needs two tasks, trained one after the other")
    first = training["task"].iloc[0]
    others = training[training["task"] != first]
    change = others["block"].iloc[0]
    first_blocks = training.groupby("task")["block"].first()
    is_trained = log["block"] > log["task"].map(first_blocks)
    tests = log[(log["block_type"] == "test") & is_trained]
    first_tests = tests[tests["task"] == first]
    means = first_tests.groupby("block")["reward"].mean()
    before = means[means.index < change]
    after = means[means.index > change]
    if before.empty or after.empty:
        raise ValueError(
            f"{first} must be tested both before and after another task is trained"
        )
    reward = float(tests["reward"].mean())
    forgetting = float(before.iloc[-1] - after.iloc[0])
    return reward, forgetting


def submission_row(
    name: str,
    logs: Sequence[pd.DataFrame],
    note: str = "",
) -> dict[str, Any]:
    """Return the row of a submission, a dict with COLUMNS: means over its lifetimes with 95 % intervals.

    Args:
        name: Name of the student or team.
        logs: Lifetime logs of one agent, each of the complete syllabus SYLLABUS, under at least two different seeds.
        note: A remark on the submission.

    Raises:
        BadData: If logs are faulty; the message lists all of them.
    """
    regimes = []
    for phase in read_syllabus(SYLLABUS).phases:
        for item in phase.experiences:
            regimes.append((phase.name, item.task, item.count))
    n_episodes = sum(count for *_, count in regimes)
    issues = []
    for index, log in enumerate(logs):
        counts = log.groupby(["regime", "phase", "task"], sort=False).size()
        log_regimes = [(*key[1:], count) for key, count in counts.items()]
        if log_regimes != regimes:
            valid_values = (
                f"a complete lifetime of {SYLLABUS} has {len(regimes)} regimes and {n_episodes} "
                f"episodes; this log has {len(log_regimes)} and {len(log)}"
            )
            issues.append(DataIssue(f"log {index}", valid_values=valid_values))
    seeds = [int(log["seed"].iloc[0]) for log in logs]
    if len(set(seeds)) < max(2, len(seeds)):
        valid_values = "a list of at least two seeds, all different"
        value = " ".join(map(str, seeds))
        issues.append(DataIssue("logs", None, "seed", value, valid_values))
    agents = sorted(set().union(*(log["agent"] for log in logs)))
    if len(agents) > 1:
        valid_values = "the name of a single agent"
        value = ", ".join(agents)
        issues.append(DataIssue("logs", None, "agent", value, valid_values))
    raise_issues(issues)
    values = pd.DataFrame(map(reward_and_forgetting, logs), columns=list(MEASURES))
    return board_row(name, agents[0], sorted(seeds), values, note)


def board_row(
    name: str,
    agent: str,
    seeds: Iterable[int],
    values: Mapping[str, Any],
    note: str = "",
) -> dict[str, Any]:
    """Return a row with COLUMNS; `values` has the values of all lifetimes for each of MEASURES."""
    row: dict[str, Any] = {
        "name": name,
        "agent": agent,
        "syllabus": SYLLABUS,
        "seeds": " ".join(map(str, seeds)),
    }
    for measure in MEASURES:
        interval = mean_interval(values[measure])
        for end, value in zip(ENDS, interval):
            row[f"{measure}{end}"] = round(float(value), DIGITS)
    return row | {"note": note}


# ---------------------------------------------------------------- the file


def read_board(path: Path | str) -> pd.DataFrame:
    """Return the leaderboard in a CSV file, a DataFrame with COLUMNS. Raises BadData that lists every issue."""
    return _convert(read_raw_table(path), Path(path).name)


def _convert(table, file):
    """Validate a leaderboard of text and convert its numbers."""
    name_rule = _pattern_rule(r".*\S.*", "a name")
    rules = {
        "name": name_rule,
        "agent": name_rule,
        "syllabus": text_rule(shipped_syllabi()),
        "seeds": _pattern_rule(r"\d+(\s+\d+)+", "two or more whole numbers"),
        **dict.fromkeys(NUMBERS, number_rule()),
        "note": text_rule(),
    }
    return convert_columns(table, rules, file)[list(COLUMNS)]


def _pattern_rule(pattern, valid_values):
    """Return a rule for text that matches a regular expression."""
    return ColumnRule(
        valid_values, lambda column: column.where(column.str.fullmatch(pattern))
    )


def add_to_board(path: Path | str, row: Mapping[str, Any]) -> pd.DataFrame:
    """Add a submission's row to the file and return the board; it replaces an earlier row of the same name and agent.

    The file is created if it doesn't exist. Several processes can add to it at the same time. It raises BadData and
    writes nothing if the row or the file is faulty.
    """
    with locked(path):
        board = pd.DataFrame([row], columns=list(COLUMNS))
        if Path(path).exists():
            keys = ["name", "agent"]
            board[keys] = board[keys].map(escape_formula)
            board = pd.concat([read_board(path), board])
            board = board.drop_duplicates(keys, keep="last")
        _convert(board.astype(str), Path(path).name)
        write_text(path, csv_text([COLUMNS, *board.values.tolist()]))
    return read_board(path)


# ---------------------------------------------------------------- the logs


def board_from_logs(folder: Path | str) -> pd.DataFrame:
    """Compute the leaderboard from a class's logs, without replaying them.

    Args:
        folder: Folder with a folder for each student, named after the student. It contains the lifetimes of one or
            several agents, as CSV files (such as `log.csv` of `run_syllabi(…, folder=…)`) or L2Logger folders.

    Raises:
        ValueError: If logs are faulty; the message names the first such student.
    """
    rows = []
    for student in sorted(Path(folder).iterdir()):
        if not student.is_dir():
            continue
        try:
            logs = [read_log(path) for path in find_logs(student)]
            for agent in pd.concat(logs)["agent"].unique():
                lifetimes = [log for log in logs if agent in set(log["agent"])]
                rows.append(submission_row(student.name, lifetimes))
        except (OSError, KeyError, ValueError) as error:
            raise ValueError(f"logs of {student.name}: {error}") from error
    return pd.DataFrame(rows, columns=list(COLUMNS))


def rank(board: pd.DataFrame) -> pd.DataFrame:
    """Return the board sorted by reward, with `rank` as its first column. Equal rewards share a rank."""
    board = board.sort_values(
        ["reward", "forgotten"], ascending=[False, True], kind="stable"
    ).reset_index(drop=True)
    ranks = board["reward"].rank(method="min", ascending=False)
    board.insert(0, "rank", ranks.astype(int))
    return board
