"""Submissions to the challenges: CSV files, read with suspicion, validated whole, scored or refused.

Challenge 1   a row a notification, with the challenge's column names; `id`, or else the order, says for which context
Challenge 2   the log that `rollout` wrote of evalumap2-v0; it is played again (`pushlab.challenges.replays`)

A submission is data: its cells are looked up among allowed values, and nothing in it is ever executed. A file is read
row by row, and no more of it is kept than could be right.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import pandas as pd

from pushlab.challenges.answers import named_columns
from pushlab.challenges.challenge import Challenge
from pushlab.challenges.handed_in import RESULTS, find_submissions
from pushlab.challenges.replays import MOST_EPISODES, score_log
from pushlab.challenges.scorecard import DIGITS, Scorecard, leaderboard, write_picture
from pushlab.datasets.tables import read_rows
from pushlab.ground._old_folders import demand_own, whole_folder
from pushlab.ground._old_reading import clean, opened
from pushlab.ground.faults import BadData, Fault, refuse, short
from pushlab.ground.files import csv_text, json_text, write_text

CARD = "scorecard.json"  # by which a folder with one submission's result is known
LARGEST = (
    64 * 2**20
)  # bytes of a submission; a quarter of notifications has well under one megabyte


def score_file(
    path: Path | str,
    challenge: Challenge,
    number: int = 1,
    seed: int | None = None,
    seeding: str = "independent",
    agent: str | None = None,
    file: str | None = None,
) -> Scorecard:
    """The Scorecard of one submission, called after its file.

    challenge  a Challenge
    number     1 or 2: which kind of submission it is
    seed       of the user's chance: Challenge 1, 0 by default; Challenge 2, the seed that the log must have been made
               with, by default any
    seeding    "counted" for a Challenge 2 log made before 0.2
    agent      whose it is, if it is not to be called after its file
    file       what faults call it, if not by the file's name

    Raises BadData with every fault; whatever else goes wrong inside is a fault of the submission, too.
    """
    if not isinstance(challenge, Challenge):
        raise TypeError(
            f"expected a Challenge, such as Challenge.load('mira'), got {challenge!r:.60}"
        )
    path = Path(path)
    file, agent = file or path.name, agent or clean(path.stem)
    try:
        return _score(path, challenge, number, seed, seeding, agent, file)
    except BadData:
        raise
    except Exception as error:
        why = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        raise BadData(
            Fault(file, right=f"this could not be scored ({short(why, 300)})")
        ) from error


def _score(path, challenge, number, seed, seeding, agent, file):
    contexts = len(challenge.world)
    table, lines, faults = read_csv(
        path, contexts if number == 1 else contexts * MOST_EPISODES, file
    )
    _demand_kind(table, challenge, number, file)
    if number == 1:
        more = f": user {challenge.user.name} has {contexts:,} contexts. Is this file for another user?"
        faults = [
            one._replace(right=one.right + more) if "are the most" in one.right else one
            for one in faults
        ]
    score = (
        partial(score_log, challenge, seeding=seeding)
        if number == 2
        else challenge.evaluate
    )
    if seed is not None:
        score = partial(score, seed=seed)
    try:
        card = score(table, agent=agent, file=file, lines=lines)
    except BadData as error:
        if not faults:
            raise
        raise BadData(dict.fromkeys([*faults, *error.faults])) from None
    refuse(faults)
    return card


def _demand_kind(table, challenge, number, file):
    """BadData for a submission to the other challenge."""
    names = set(named_columns(table))
    is_log = any(name.startswith("action.") for name in names)
    if is_log and number == 1:
        raise BadData(
            Fault(
                file,
                right="this is a log, as Challenge 2 takes: score it with --challenge 2 (number=2)",
            )
        )
    if (
        not is_log
        and number == 2
        and names & set(challenge.user.schema.notification.names)
    ):
        right = "these are notifications, as Challenge 1 takes; Challenge 2 takes the log that `rollout` returns"
        raise BadData(Fault(file, right=right))


def score_folder(
    folder: Path | str,
    challenge: Challenge,
    number: int = 1,
    seed: int | None = None,
    seeding: str = "independent",
    progress: bool = False,
) -> tuple[list[Scorecard], dict[str, BadData], dict[str, str]]:
    """Scores every submission of a folder (`find_submissions` says what is one), by name, with the same chance for all.

    progress   show a bar
    returns    list of Scorecards; {name: BadData} of the submissions at fault; {what was passed over: why}
    """
    from tqdm.auto import tqdm

    cards: list[Scorecard] = []
    faulty: dict[str, BadData] = {}
    found, passed_over = find_submissions(folder)
    for one in tqdm(found, desc="scoring", unit="submission", disable=not progress):
        try:
            refuse([Fault(one.file, right=one.fault)] if one.fault else [])
            cards.append(
                score_file(
                    one.path, challenge, number, seed, seeding, one.name, one.file
                )
            )
        except BadData as error:
            faulty[one.name] = error
    return cards, faulty, passed_over


def save_scores(
    cards: Sequence[Scorecard], faulty: Mapping[str, BadData], folder: Path | str
) -> pd.DataFrame:
    """Writes what came of a folder of submissions, whole, in the place of an earlier run; returns the leaderboard.

    leaderboard.csv, leaderboard.json, and for each submission scorecards/ and its name, a folder with its scorecard, or
    with faults.txt. `draw_scores` adds the pictures. Raises FileExistsError for a folder with anything else in it.
    """
    table = leaderboard(cards)
    ranked = _ranked(cards)
    told = {
        "scored": [card.to_dict() for card in ranked],
        "faulty": {name: str(error) for name, error in faulty.items()},
    }
    demand_own(folder, RESULTS)
    with whole_folder(folder) as new:
        for name, error in faulty.items():
            write_text(new / "scorecards" / name / "faults.txt", f"{error}\n")
        for card in cards:
            card.save(new / "scorecards" / card.agent)
        write_text(
            new / "leaderboard.csv",
            csv_text([table.columns.tolist(), *table.round(DIGITS).values.tolist()]),
        )
        write_text(new / RESULTS, json_text(told))
    return table


def save_card(card: Scorecard, folder: Path | str) -> None:
    """Writes the scorecard of one submission, whole, in the place of an earlier one; raises as `save_scores` does."""
    demand_own(folder, CARD)
    with whole_folder(folder) as new:
        card.save(new)


def draw_card(card: Scorecard, folder: Path | str) -> list[str]:
    """Draws scorecard.png into a folder and says what could not be drawn, as `draw_scores` does."""
    return _draw([(Path(folder) / "scorecard.png", [card])])


def draw_scores(
    cards: Sequence[Scorecard],
    folder: Path | str,
    each: bool = False,
    progress: bool = False,
) -> list[str]:
    """Draws the first five into leaderboard.png, if there are any, and says what could not be drawn, a sentence each.

    each      draw each submission into its folder, too
    progress  show a bar
    """
    folder, ranked = Path(folder), _ranked(cards)
    wanted = [(folder / "leaderboard.png", ranked)] if ranked else []
    wanted += [
        (folder / "scorecards" / card.agent / "scorecard.png", [card])
        for card in ranked
        if each
    ]
    return _draw(wanted, progress and each)


def _draw(wanted, progress=False):
    """Writes each (path, cards) as a picture; a sentence for each that could not be."""
    from tqdm.auto import tqdm

    complaints = []
    for path, cards in tqdm(
        wanted, desc="drawing", unit="picture", disable=not progress
    ):
        try:
            write_picture(path, cards)
        except Exception as error:  # of the picture; the scores are saved
            complaints.append(
                f"{path} could not be drawn ({type(error).__name__}: {error})"
            )
    return complaints


def _ranked(cards):
    """The cards in the order of the leaderboard."""
    places = {agent: place for place, agent in enumerate(leaderboard(cards)["agent"])}
    return sorted(cards, key=lambda card: places[card.agent])


# ---------------------------------------------------------------- reading a file


def read_csv(
    path: Path | str, most: int, name: str | None = None
) -> tuple[pd.DataFrame, list[int], list[Fault]]:
    """A DataFrame of text, the line of each row, and the faults of single rows; at most `most` rows are kept.

    name   of the file, in faults

    Raises BadData where there is no table to go on with.
    """
    path = Path(path)
    name = name or path.name
    try:
        with opened(path, LARGEST) as file:
            header, rows, lines, faults = read_rows(file, name, most)
    except BadData as error:
        if name == path.name:
            raise
        raise BadData(fault._replace(file=name) for fault in error.faults) from None
    return pd.DataFrame(rows, columns=header, dtype=object), lines, faults
