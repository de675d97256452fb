"""Submissions to the challenges: CSV files that are validated whole, then scored or refused.

- Challenge 1: one row per notification, with the challenge's column names
  (`pushlab.challenges.answers`)
- Challenge 2: the log of `rollout` in evalumap2-v0, which is played again
  (`pushlab.challenges.replays`)

A folder of submissions holds CSV files (`anna.csv`), or a folder with one CSV file for each
student. Exports of learning platforms are such folders:

- Moodle: Ann Lee_4711_assignsubmission_file_/answers.csv, or Ann
  Lee_4711_assignsubmission_file_answers.csv
- Canvas: leeann_4711_9876_answers.csv, leeann_LATE_4711_9876_answers.csv
- `nbgrader`: submitted/ann/ps1/answers.csv; name the folder `submitted`
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from pushlab.challenges.challenge import Challenge
from pushlab.challenges.replays import score_log
from pushlab.challenges.scorecard import (
    DIGITS,
    Scorecard,
    leaderboard,
    ranked,
    write_picture,
)
from pushlab.ground.arguments import bring
from pushlab.ground.faults import BadData, Fault, short
from pushlab.ground.files import csv_text, json_text, new_folder, write_text
from pushlab.ground.store import no_cache
from pushlab.ground.tables import read_as_text

RESULTS = "leaderboard.json"  # marks a folder of results
MOODLE = "_[0-9]+_assignsubmission_file_.*"
CANVAS = "(_LATE)?_[0-9]{3,}_[0-9]{3,}_.+"
EXPORTED = re.compile(f"(.+?)({MOODLE}|{CANVAS})")


def score_file(
    path: Path | str,
    challenge: Challenge,
    number: int = 1,
    seed: int | None = None,
    agent: str | None = None,
    file: str | None = None,
) -> Scorecard:
    """Return the Scorecard of one submission.

    Args:
        path: Table of answers (Challenge 1) or log (Challenge 2).
        challenge: A Challenge.
        number: Number of the challenge, 1 or 2.
        seed: Challenge 1: seed of the user's chance, by default 0. Challenge 2: the seed that the log must have been
            made with, by default any.
        agent: Name on the scorecard, by default the file's.
        file: Name of the file in messages.

    Raises:
        BadData: The file has faults; the message lists all of them.
    """
    path = Path(path)
    agent = agent or path.stem
    file = file or path.name
    table = read_as_text(path, name=file)
    is_log = any(name.startswith("action.") for name in table)
    if is_log != (number == 2):
        right = "Challenge 1 takes notifications; Challenge 2 (number=2, --challenge 2) takes the log of `rollout`"
        raise BadData(Fault(file, right=right))
    with no_cache():
        if number == 2:
            return score_log(challenge, table, seed, agent, file)
        return challenge.evaluate(table, seed or 0, agent, file)


class Submission(NamedTuple):
    """A student's name and the CSV files found, of which there should be one."""

    name: str
    files: list[Path]


def find_submissions(folder: Path | str) -> tuple[list[Submission], dict[str, str]]:
    """Return the submissions in a folder by name, and the reason why each other file was skipped.

    A submission is named after its file or the student's folder, without the additions of a learning platform. If
    two would share a name, they keep the names of their files or folders.
    """
    found = []
    passed_over = {}
    for path in sorted(Path(folder).iterdir()):
        if _is_hidden(path):
            passed_over[path.name] = "it is hidden"
        elif (path / RESULTS).is_file():
            passed_over[path.name] = "these are the results of an earlier run"
        elif path.is_dir():
            found.append(
                (path, [one for one in sorted(path.rglob("*")) if _is_csv(one)])
            )
        elif _is_csv(path):
            found.append((path, [path]))
        else:
            passed_over[path.name] = "it is no CSV file"
    students = [_student(path) for path, _ in found]
    count = Counter(student.casefold() for student in students)
    submissions = [
        Submission(student if count[student.casefold()] == 1 else path.name, files)
        for student, (path, files) in zip(students, found)
    ]
    return sorted(submissions), passed_over


def _is_hidden(path):
    return path.name.startswith((".", "__MACOSX"))


def _is_csv(path):
    return path.suffix.lower() == ".csv" and path.is_file() and not _is_hidden(path)


def _student(path):
    return EXPORTED.sub(r"\1", path.stem if _is_csv(path) else path.name)


def score_folder(
    folder: Path | str,
    challenge: Challenge,
    number: int = 1,
    seed: int | None = None,
    progress: bool = False,
) -> tuple[list[Scorecard], dict[str, BadData], dict[str, str]]:
    """Score every submission of a folder (see `find_submissions`), each with the same chance.

    Args:
        progress: Whether to show a bar.

    Returns:
        A list of Scorecards, the BadData of each faulty submission by name, and the reason why each other file was
        skipped. An error inside one submission doesn't stop the others.
    """
    from tqdm.auto import tqdm

    cards = []
    faulty = {}
    found, passed_over = find_submissions(folder)
    for name, files in tqdm(
        found, desc="scoring", unit="submission", disable=not progress
    ):
        if len(files) != 1:
            right = f"one CSV file in this folder; there are {len(files)}"
            faulty[name] = BadData(Fault(name, right=right))
            continue
        file = files[0].relative_to(folder).as_posix()
        try:
            cards.append(score_file(files[0], challenge, number, seed, name, file))
        except BadData as error:
            faulty[name] = error
        except Exception as error:
            why = short(f"{type(error).__name__}: {error}", 300)
            right = f"this could not be scored ({why})"
            faulty[name] = BadData(Fault(file, right=right))
    return cards, faulty, passed_over


def save_scores(
    cards: Sequence[Scorecard],
    faulty: Mapping[str, BadData],
    folder: Path | str,
    pictures: bool | None = False,
) -> pd.DataFrame:
    """Write the results of a folder of submissions in place of those of an earlier run; return the leaderboard.

    The folder has leaderboard.csv, leaderboard.json and, in scorecards/NAME, each scorecard or its faults.txt.

    Args:
        pictures: Whether to draw every scorecard and, as leaderboard.png, the first five. None draws only the latter.

    Raises:
        FileExistsError: There is anything else in the folder.
    """
    table = leaderboard(cards)
    best = ranked(cards)
    content = {
        "scored": [card.to_dict() for card in best],
        "faulty": {name: str(error) for name, error in faulty.items()},
    }
    rows = [table.columns.tolist(), *table.round(DIGITS).values.tolist()]
    with new_folder(folder, mark=RESULTS) as new:
        for name, error in faulty.items():
            write_text(new / "scorecards" / name / "faults.txt", f"{error}\n")
        for card in cards:
            card.save(new / "scorecards" / card.agent, bool(pictures))
        write_text(new / "leaderboard.csv", csv_text(rows))
        write_text(new / RESULTS, json_text(content))
        if best and pictures is not False:
            write_picture(new / "leaderboard.png", best)
    return table


def hand_in(
    answers: Path | str | pd.DataFrame, url: str | None = None, token: str | None = None
) -> dict:
    """Hand in answers to Challenge 1 at the server of a class, and return their score on the public half.

    Args:
        answers: A CSV file or a table.
        url, token: Address of the class and token of the team, by default $PUSHLAB_URL and $PUSHLAB_TOKEN.

    Returns:
        A dict: "public", the expected points as a share of those of the catalogue's best notifications; "low" and
        "high", the ends of its interval; "left", the team's remaining uploads; "notes", words that aren't in
        the history.

    Answers that are sent twice count once. Raises Refused with every fault that the server found, and ConnectionError
    if the server can't be reached.
    """
    send = bring("pushlab_classroom:hand_in", "hand_in", "serve")
    return send(answers, url, token)
