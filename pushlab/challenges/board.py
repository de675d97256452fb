"""The capstone's leaderboard: lifetimes of a class's agents in one CSV file, a row a submission.

A submission is a handful of lifetimes through the same syllabus under different seeds. Its row is computed from their
logs: what it kept, and what it forgot. Nothing keeps a student from typing a row into the file instead; `verify` finds
it where the logs are handed in, too.
"""

import io
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.datasets.tables import find_columns, read_rows
from pushlab.ground._old_files import alone
from pushlab.ground._old_reading import clean, opened
from pushlab.ground.faults import BadData, Fault, refuse
from pushlab.ground.files import csv_text, safe_cell, write_text
from pushlab.lifetimes.syllabi import read_syllabus, shipped_syllabi
from pushlab.logs.folders import read_log
from pushlab.logs.places import find_logs
from pushlab.metrics.estimate import mean_interval

SYLLABUS = "users-aba"
MEASURES, ENDS = ("reward", "forgotten"), ("", "_low", "_high")
COLUMNS = (
    "name",
    "agent",
    "syllabus",
    "seeds",
    *(f"{one}{end}" for one in MEASURES for end in ENDS),
    "note",
)
DIGITS, MOST_ROWS, LARGEST = 3, 10_000, 16 * 2**20
LONGEST = 300  # characters of a name or note


def kept_and_forgotten(log: pd.DataFrame) -> tuple[float, float]:
    """What one lifetime comes to: (reward, forgotten), both in reward an episode.

    log        of a syllabus that trains a first task, then another
    reward     mean over the tests of all tasks trained by then: how well it serves whom it has met
    forgotten  the first task's tests after its own training, less those after the next task's

    >>> import pandas as pd
    >>> log = pd.DataFrame({"block": [0, 1, 1, 2, 3, 3], "block_type": ["train", "test", "test"] * 2,
    ...                     "task": ["a", "a", "b", "b", "a", "b"], "reward": [0.0, 5.0, 1.0, 0.0, 1.0, 3.0]})
    >>> kept_and_forgotten(log)             # (5 + 1 + 3) / 3, and 5 - 1
    (3.0, 4.0)
    """
    training = log[log["block_type"] == "train"]
    if training["task"].nunique() < 2:
        raise ValueError(
            "what was forgotten shows where two tasks are trained one after the other"
        )
    first = training["task"].iloc[0]
    changed = training.loc[training["task"] != first, "block"].iloc[0]
    met = training.groupby("task")["block"].first()
    tests = log[(log["block_type"] == "test") & (log["block"] > log["task"].map(met))]
    own = tests[tests["task"] == first].groupby("block")["reward"].mean()
    before, after = own[own.index < changed], own[own.index > changed]
    if before.empty or after.empty:
        raise ValueError(
            f"there is no test of {first} both before and after another task was trained"
        )
    return float(tests["reward"].mean()), float(before.iloc[-1] - after.iloc[0])


def submission(
    name: str, logs: Sequence[pd.DataFrame], note: str = "", syllabus: str = SYLLABUS
) -> dict[str, Any]:
    """The row of a submission, a dict with COLUMNS: means over its lifetimes with 95 % intervals.

    name   who hands it in
    logs   lifetime logs of one agent under at least two different seeds, each of the whole syllabus

    Raises BadData saying which log is not what it should be.
    """
    refuse(_faults_of_logs(logs, syllabus))
    values = zip(*map(kept_and_forgotten, logs))
    return board_row(
        name,
        logs[0]["agent"].iloc[0],
        [log["seed"].iloc[0] for log in logs],
        dict(zip(MEASURES, values)),
        note,
        syllabus,
    )


def board_row(
    name: str,
    agent: str,
    seeds: Iterable[int],
    values: Mapping[str, Any],
    note: str = "",
    syllabus: str = SYLLABUS,
) -> dict[str, Any]:
    """A row with COLUMNS, of lifetimes that were measured: values {measure: one for each lifetime}, in MEASURES."""
    row: dict[str, Any] = {
        "name": name,
        "agent": agent,
        "syllabus": syllabus,
        "seeds": " ".join(map(str, seeds)),
    }
    for measure in MEASURES:
        mean, low, high = (
            round(float(end), DIGITS) for end in mean_interval(values[measure])
        )
        row |= {measure: mean, f"{measure}_low": low, f"{measure}_high": high}
    return row | {"note": note}


def _faults_of_logs(logs, syllabus):
    course = [
        (phase.name, one.task, one.count)
        for phase in read_syllabus(syllabus).phases
        for one in phase.experiences
    ]
    faults, seeds, names = [], [], set()
    for number, log in enumerate(logs):
        lived = log.groupby(["regime", "phase", "task"], sort=False).size()
        if [
            (phase, task, count) for (_, phase, task), count in lived.items()
        ] != course:
            right = (
                f"a whole lifetime of {syllabus}: {len(course)} regimes and {sum(count for *_, count in course)} "
                f"episodes are meant; it has {len(lived)} and {len(log)}"
            )
            faults.append(Fault(f"log {number}", right=right))
        seeds.append(int(log["seed"].iloc[0]))
        names |= set(log["agent"])
    if len(set(seeds)) < max(2, len(seeds)):
        faults.append(
            Fault(
                "logs",
                None,
                "seed",
                " ".join(map(str, seeds)),
                "at least two different seeds",
            )
        )
    if len(names) > 1:
        faults.append(
            Fault(
                "logs",
                None,
                "agent",
                ", ".join(sorted(names)),
                "one agent's lifetimes only",
            )
        )
    return faults


# ---------------------------------------------------------------- the file


def read_board(path: Path | str) -> pd.DataFrame:
    """The leaderboard in a CSV file, a DataFrame with COLUMNS; BadData lists every fault of every row.

    A row is what somebody wrote there: `verify` asks the logs.
    """
    with opened(path, LARGEST) as file:
        return _read(file, Path(path).name)


def _read(data, file):
    header, rows, lines, faults = read_rows(data, file, MOST_ROWS)
    _, bad = find_columns(
        header,
        {column: [column] for column in COLUMNS},
        set(header) - set(COLUMNS),
        file,
    )
    if bad:
        refuse([*faults, *bad])
    told = [
        _read_row(dict(zip(header, row)), line, file, faults)
        for row, line in zip(rows, lines)
    ]
    seen: dict[tuple, int] = {}
    for row, line in zip(told, lines):
        first = seen.setdefault((row["name"], row["agent"]), line)
        if first != line:
            right = f"an agent of its own; {row['name']} handed in one of that name in row {first}"
            faults.append(Fault(file, line, "agent", row["agent"], right))
    refuse(faults)
    return pd.DataFrame(told, columns=list(COLUMNS))


def _read_row(row, line, file, faults):
    """A row with numbers in place of words; what cannot be is added to the faults."""

    def complain(column, right):
        faults.append(Fault(file, line, column, row[column], right))

    for column in ("name", "agent"):
        if not row[column].strip():
            complain(column, "a name")
    if row["syllabus"] not in shipped_syllabi():
        complain("syllabus", f"one of {', '.join(shipped_syllabi())}")
    seeds = row["seeds"].split()
    if not all(one.isdecimal() for one in seeds) or len(set(seeds)) < max(
        2, len(seeds)
    ):
        complain("seeds", "two or more different whole numbers, with blanks between")
    told = _tidy(row)
    for measure in MEASURES:
        names = (f"{measure}_low", measure, f"{measure}_high")
        for column in names:
            told[column] = float(pd.to_numeric(row[column], errors="coerce"))
            if not np.isfinite(told[column]):
                complain(column, "a finite number")
        low, mean, high = (told[column] for column in names)
        if np.isfinite([low, mean, high]).all() and not low <= mean <= high:
            complain(measure, f"between {names[0]} and {names[2]}")
    return told


def add_to_board(path: Path | str, row: Mapping[str, Any]) -> pd.DataFrame:
    """Adds a submission's row to the file, in place of an earlier one of the same name and agent; returns the board.

    A file that is not there begins with this row. Several processes may add to one file at once: one waits for the
    other. What cannot be read back is not written. A row may have been typed; `board_of` makes them of logs.
    """
    path, row = Path(path), _tidy(row)
    with alone(path):
        rows = read_board(path).to_dict("records") if path.exists() else []
        others = [
            one
            for one in rows
            if (one["name"], one["agent"]) != (row["name"], row["agent"])
        ]
        board = pd.DataFrame([*others, row], columns=list(COLUMNS))
        write_board(board, path)
    return read_board(path)


def write_board(board: pd.DataFrame, path: Path | str) -> Path:
    """Writes a leaderboard as CSV; returns the path. BadData, and nothing written, if it could not be read back."""
    path = Path(path)
    text = csv_text(
        [COLUMNS, *(list(_tidy(row).values()) for row in board.to_dict("records"))]
    )
    _read(io.BytesIO(text.encode()), path.name)
    return write_text(path, text)


def _tidy(row):
    """A row whose texts are as the file has them (@bob as '@bob), so that whoever hands in again is found."""
    return {
        column: safe_cell(clean(row[column], LONGEST))
        if column in ("name", "agent", "note")
        else row[column]
        for column in COLUMNS
    }


def board_of(folder: Path | str, syllabus: str = SYLLABUS) -> pd.DataFrame:
    """The leaderboard of the logs themselves: below `folder` a folder for each who handed in, called after them, with
    their lifetimes as L2Logger folders (as `run_syllabi(…, folder=…)` leaves them), of one agent or several.

    BadData says for whom no row can be made, and why. A log can be typed, too: none is lived again here.
    """
    rows, faults = _rows_of(folder, syllabus)
    refuse(faults)
    return pd.DataFrame(rows, columns=list(COLUMNS))


def verify(board: pd.DataFrame, folder: Path | str) -> pd.DataFrame:
    """Which rows of a board their logs support: the board with `supported`, bool, in front.

    folder   of logs, as `board_of` reads it; seeds and numbers of a row have to come out again
    """
    made = {
        _key(row): row
        for syllabus in board["syllabus"].unique()
        for row in _rows_of(folder, syllabus)[0]
    }
    numbers = [f"{measure}{end}" for measure in MEASURES for end in ENDS]
    told = [
        _key(row) in made
        and np.allclose(
            [row[one] for one in numbers],
            [made[_key(row)][one] for one in numbers],
            rtol=0,
            atol=2 * 10.0**-DIGITS,
        )
        for row in board.to_dict("records")
    ]
    return pd.concat(
        [pd.Series(told, board.index, bool, name="supported"), board], axis=1
    )


def _key(row):
    return (
        *(row[column] for column in ("name", "agent", "syllabus")),
        *sorted(map(int, row["seeds"].split())),
    )


def _rows_of(folder, syllabus):
    """The rows of the logs in a folder, and the faults of whoever has none."""
    rows: list[dict] = []
    faults: list[Fault] = []
    for own in sorted(
        one
        for one in Path(folder).iterdir()
        if one.is_dir() and not one.name.startswith(".")
    ):
        try:
            logs = [read_log(path) for path in find_logs(own)]
            for agent in dict.fromkeys(name for log in logs for name in log["agent"]):
                lived = [log for log in logs if agent in set(log["agent"])]
                rows.append(_tidy(submission(own.name, lived, "", syllabus)))
        except BadData as error:
            faults += [
                fault._replace(file=f"{own.name}: {fault.file}")
                for fault in error.faults
            ]
        except (
            Exception
        ) as error:  # whatever is wrong with one folder, the others are looked at
            faults.append(
                Fault(
                    own.name,
                    right=f"its logs could not be read ({type(error).__name__}: {error})",
                )
            )
    return rows, faults


def rank(board: pd.DataFrame) -> pd.DataFrame:
    """The board with `rank` in front, most reward first; equals share a rank."""
    board = board.sort_values(
        ["reward", "forgotten"], ascending=[False, True], kind="stable"
    ).reset_index(drop=True)
    board.insert(
        0, "rank", board["reward"].rank(method="min", ascending=False).astype(int)
    )
    return board
