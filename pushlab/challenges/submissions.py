"""Submissions to the challenges: CSV files, read with suspicion, validated whole, scored or refused.

Challenge 1   a row a notification, with the challenge's column names; `id`, or else the order, says for which context
Challenge 2   the log that `rollout` wrote of evalumap2-v0; it is played again (`pushlab.challenges.replays`)

A submission is data: its cells are looked up among allowed values, and nothing in it is ever executed. A file is read
row by row, and no more of it is kept than could be right.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from pushlab.challenges.answers import named_columns
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.replays import MOST_EPISODES, score_log
from pushlab.challenges.scorecard import DIGITS, Scorecard, csv_text, leaderboard, write_picture
from pushlab.datasets.tables import read_rows
from pushlab.ground.faults import BadData, Fault, refuse
from pushlab.ground.files import json_text, write_text

LARGEST = 64 * 2**20        # bytes of a submission; a quarter of notifications has well under one megabyte


def score_file(path: Path | str, challenge: Challenge, number: int = 1, seed: int | None = None,
               seeding: str = "independent") -> Scorecard:
    """The Scorecard of one submission, called after its file.

    challenge  a Challenge
    number     1 or 2: which kind of submission it is
    seed       of the user's chance: Challenge 1, 0 by default; Challenge 2, the seed that the log must have been made
               with, by default any
    seeding    "counted" for a Challenge 2 log made before 0.2

    Raises BadData with every fault.
    """
    if not isinstance(challenge, Challenge):
        raise TypeError(f"expected a Challenge, such as Challenge.load('mira'), got {challenge!r:.60}")
    path = Path(path)
    contexts = len(challenge.world)
    table, lines, faults = read_csv(path, contexts if number == 1 else contexts * MOST_EPISODES)
    _demand_kind(table, challenge, number, path.name)
    if number == 1:
        more = f": user {challenge.user.name} has {contexts:,} contexts. Is this file for another user?"
        faults = [one._replace(right=one.right + more) if "are the most" in one.right else one for one in faults]
    score = partial(score_log, challenge, seeding=seeding) if number == 2 else challenge.evaluate
    if seed is not None:
        score = partial(score, seed=seed)
    try:
        card = score(table, agent=path.stem, file=path.name, lines=lines)
    except BadData as error:
        raise BadData(dict.fromkeys([*faults, *error.faults])) from None
    refuse(faults)
    return card


def _demand_kind(table, challenge, number, file):
    """BadData for a submission to the other challenge."""
    names = set(named_columns(table))
    is_log = any(name.startswith("action.") for name in names)
    if is_log and number == 1:
        raise BadData(Fault(file, right="this is a log, as Challenge 2 takes: score it with --challenge 2 (number=2)"))
    if not is_log and number == 2 and names & set(challenge.user.schema.notification.names):
        right = "these are notifications, as Challenge 1 takes; Challenge 2 takes the log that `rollout` returns"
        raise BadData(Fault(file, right=right))


def score_folder(folder: Path | str, challenge: Challenge, number: int = 1, seed: int | None = None,
                 seeding: str = "independent") -> tuple[list[Scorecard], dict[str, BadData], list[str]]:
    """Scores every CSV file of a folder, by name, with the same chance for all.

    returns  list of Scorecards; {file name: BadData} of those at fault; names of the files that are no CSV

    A submission is called after its file. Of files called the same but for .csv, or for small and capital letters, none
    is scored: they would share a row of the leaderboard and, on some machines, a folder.
    """
    cards, faulty, passed_over, named = [], {}, [], defaultdict(list)
    for path in sorted(Path(folder).iterdir()):
        if path.suffix.lower() == ".csv" and path.stem.strip("."):      # "...csv" has no name to be called by
            named[path.stem.casefold()].append(path)
        elif path.is_file():
            passed_over.append(path.name)
    for path in sorted(path for paths in named.values() for path in paths):
        namesakes = [one.name for one in named[path.stem.casefold()]]
        try:
            if len(namesakes) > 1:
                right = "these submissions would have one name, small and capital letters being the same; rename them"
                raise BadData(Fault(" and ".join(namesakes), right=right))
            cards.append(score_file(path, challenge, number, seed, seeding))
        except BadData as error:
            faulty[path.name] = error
    return cards, faulty, passed_over


def save_scores(cards: Sequence[Scorecard], faulty: Mapping[str, BadData], folder: Path | str) -> pd.DataFrame:
    """Writes what came of a folder of submissions; returns the leaderboard, a DataFrame.

    leaderboard.csv, leaderboard.json and leaderboard.png, in which the first five are shown, and for each submission
    scorecards/ and its name, a folder with its scorecard, or with faults.txt.
    """
    folder, table = Path(folder), leaderboard(cards)
    scorecards = folder / "scorecards"
    ranked = sorted(cards, key=lambda card: table["agent"].tolist().index(card.agent))
    for name, error in faulty.items():
        own = scorecards / Path(name).stem
        write_text(own / "faults.txt", f"{error}\n")
        for stale in ("scorecard.json", "scorecard.csv", "scorecard.png", "response_times.json"):
            (own / stale).unlink(missing_ok=True)       # an earlier, better file's
    for card in cards:
        card.save(scorecards / card.agent, picture=True)
        (scorecards / card.agent / "faults.txt").unlink(missing_ok=True)
    write_text(folder / "leaderboard.csv", csv_text([table.columns.tolist(), *table.round(DIGITS).values.tolist()]))
    told = {"scored": [card.to_dict() for card in ranked],
            "faulty": {name: str(error) for name, error in faulty.items()}}
    write_text(folder / "leaderboard.json", json_text(told))
    if ranked:
        write_picture(folder / "leaderboard.png", ranked)
    return table


# ---------------------------------------------------------------- reading a file

def read_csv(path: Path | str, most: int) -> tuple[pd.DataFrame, list[int], list[Fault]]:
    """A DataFrame of text, the line of each row, and the faults of single rows; at most `most` rows are kept.

    Raises BadData where there is no table to go on with.
    """
    path, what = Path(path), None
    if path.is_dir():
        what = "this is a folder; a CSV file is meant"
    elif not path.is_file():
        what = "there is no such file"
    elif path.stat().st_size > LARGEST:
        what = f"the file has {path.stat().st_size / 2**20:,.0f} MB; a submission has at most {LARGEST >> 20} MB"
    if what:
        raise BadData(Fault(path.name, right=what))
    with path.open("rb") as file:
        header, rows, lines, faults = read_rows(file, path.name, most)
    return pd.DataFrame(rows, columns=header, dtype=object), lines, faults
