"""Submissions to the challenges: CSV files that are validated completely, then scored.

- Challenge 1: one row per notification, with the challenge's column names
  (`pushlab.challenges.answers`)
- Challenge 2: the log of `rollout` in evalumap2-v0, which is replayed
  (`pushlab.challenges.replays`)

A folder of submissions contains CSV files (`anna.csv`), or a folder with one CSV file for each
student. Exports of learning platforms have this form:

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
from pushlab.utils.arguments import import_optional
from pushlab.utils.cache import no_cache
from pushlab.utils.files import csv_text, json_text, new_folder, write_text
from pushlab.utils.issues import BadData, DataIssue, shorten
from pushlab.utils.tables import read_raw_table

MAX_SIZE = 200  # MB of a file; reading takes about 25 times as much memory
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
    """Score one submission and return its Scorecard.

    Args:
        path: Table of answers (Challenge 1) or log (Challenge 2).
        challenge: A Challenge.
        number: Number of the challenge, 1 or 2.
        seed: Challenge 1: seed of the user's answers, by default 0. Challenge 2: the seed that the log must have, by
            default any.
        agent: Name on the scorecard, by default that of the file.
        file: Name of the file in messages.

    Raises:
        BadData: If the file has issues; the message lists all of them.
    """
    path = Path(path)
    agent = agent or path.stem
    file = file or path.name
    size = path.stat().st_size / 1e6
    if size > MAX_SIZE:
        valid_values = f"the file has {size:,.0f} MB; the limit is {MAX_SIZE} MB"
        raise BadData(DataIssue(file, valid_values=valid_values))
    table = read_raw_table(path, name=file)
    is_log = any(name.startswith("action.") for name in table)
    if is_log != (number == 2):
        valid_values = "Challenge 1 needs notifications; Challenge 2 (number=2, --challenge 2) needs a log of `rollout`"
        raise BadData(DataIssue(file, valid_values=valid_values))
    with no_cache():
        if number == 2:
            return score_log(challenge, table, seed, agent, file)
        return challenge.evaluate(table, seed or 0, agent, file)


class Submission(NamedTuple):
    """A student's name and CSV files. A valid submission has exactly one file."""

    name: str
    files: list[Path]


def find_submissions(folder: Path | str) -> tuple[list[Submission], dict[str, str]]:
    """Return the submissions in a folder, sorted by name, and the reason why each other file was skipped.

    A submission is named after its file or the student's folder, without the additions of a learning platform. If
    two have the same name, each is named after the complete name of its file or folder.
    """
    files = {}
    skipped = {}
    for path in sorted(Path(folder).iterdir()):
        if _is_hidden(path):
            skipped[path.name] = "it is hidden"
        elif (path / RESULTS).is_file():
            skipped[path.name] = "these are the results of an earlier run"
        elif path.is_dir():
            contents = sorted(path.rglob("*"))
            files[path] = [file for file in contents if _is_csv(file)]
        elif _is_csv(path):
            files[path] = [path]
        else:
            skipped[path.name] = "it isn't a CSV file"
    students = {path: _student(path) for path in files}
    counts = Counter(student.casefold() for student in students.values())
    submissions = []
    for path, student in students.items():
        is_unique = counts[student.casefold()] == 1
        name = student if is_unique else path.name
        submissions.append(Submission(name, files[path]))
    return sorted(submissions), skipped


def _is_hidden(path):
    return path.name.startswith((".", "__MACOSX"))


def _is_csv(path):
    has_suffix = path.suffix.lower() == ".csv"
    return has_suffix and path.is_file() and not _is_hidden(path)


def _student(path):
    return EXPORTED.sub(r"\1", path.stem if _is_csv(path) else path.name)


def score_folder(
    folder: Path | str,
    challenge: Challenge,
    number: int = 1,
    seed: int | None = None,
    progress: bool = False,
) -> tuple[list[Scorecard], dict[str, BadData], dict[str, str]]:
    """Score every submission in a folder (see `find_submissions`), all with the same random numbers.

    An error in one submission doesn't stop the others.

    Args:
        folder: The folder of submissions.
        challenge, number, seed: As in `score_file`.
        progress: Whether to show a progress bar.

    Returns:
        A list of Scorecards, the BadData of each faulty submission by name, and the reason why each other file was
        skipped.
    """
    from tqdm.auto import tqdm

    cards = []
    faulty = {}
    submissions, skipped = find_submissions(folder)
    for name, files in tqdm(
        submissions, desc="scoring", unit="submission", disable=not progress
    ):
        file = name
        try:
            if len(files) != 1:
                valid_values = (
                    f"the folder must contain one CSV file; it has {len(files)}"
                )
                raise BadData(DataIssue(name, valid_values=valid_values))
            file = files[0].relative_to(folder).as_posix()
            cards.append(score_file(files[0], challenge, number, seed, name, file))
        except BadData as error:
            faulty[name] = error
        except Exception as error:
            reason = shorten(f"{type(error).__name__}: {error}", 300)
            valid_values = f"the submission could not be scored ({reason})"
            faulty[name] = BadData(DataIssue(file, valid_values=valid_values))
    return cards, faulty, skipped


def save_scores(
    cards: Sequence[Scorecard],
    faulty: Mapping[str, BadData],
    folder: Path | str,
    pictures: bool | None = False,
) -> pd.DataFrame:
    """Write the results of a folder of submissions and return the leaderboard. Earlier results are replaced.

    The folder has leaderboard.csv, leaderboard.json and, in scorecards/NAME, each scorecard or its issues.txt.

    Args:
        cards, faulty: Results of `score_folder`.
        folder: The folder to write to.
        pictures: Whether to draw every scorecard and, as leaderboard.png, the first five. None draws only the latter.

    Raises:
        FileExistsError: If the folder contains any other files.
    """
    table = leaderboard(cards)
    sorted_cards = ranked(cards)
    content = {
        "scored": [card.to_dict() for card in sorted_cards],
        "faulty": {name: str(error) for name, error in faulty.items()},
    }
    rows = [table.columns, *table.round(DIGITS).values.tolist()]
    with new_folder(folder, marker_file=RESULTS) as new:
        for name, error in faulty.items():
            write_text(new / "scorecards" / name / "issues.txt", f"{error}\n")
        for card in cards:
            card.save(new / "scorecards" / card.agent, bool(pictures))
        write_text(new / "leaderboard.csv", csv_text(rows))
        write_text(new / RESULTS, json_text(content))
        if sorted_cards and pictures is not False:
            write_picture(new / "leaderboard.png", sorted_cards)
    return table


def hand_in(
    answers: Path | str | pd.DataFrame,
    url: str | None = None,
    token: str | None = None,
) -> dict:
    """Submit answers to Challenge 1 to a class server, and return their score on the public half.

    Answers that are submitted twice count once.

    Args:
        answers: A CSV file or a table.
        url, token: Address of the class and token of the team, by default $PUSHLAB_URL and $PUSHLAB_TOKEN.

    Returns:
        A dict: "public", the expected points as a fraction of those of the best notifications in the catalogue; "low"
        and "high", the ends of its interval; "left", the team's remaining uploads; "notes", words that aren't in the
        history.

    Raises:
        Refused: If the answers have issues; the error lists all of them.
        ConnectionError: If the server can't be reached.
    """
    send = import_optional("pushlab_classroom:hand_in", "hand_in", "serve")
    return send(answers, url, token)
