"""What a class leaves behind: its standings and logs as files, and any episode played again."""

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.classroom.book import GAMES, Book, connect
from pushlab.classroom.lived import Lived, as_json
from pushlab.classroom.lives import Person, world_of
from pushlab.classroom.standings import standings
from pushlab.ground.files import csv_text, json_text, new_folder, safe_cell, write_text
from pushlab.logs.folders import write_log
from pushlab.logs.rollout import episode_table, put_together
from pushlab.users.days import DAY

OURS = "class.json"  # the file by which an export is known
STRETCH = (
    50  # steps of evalumap2 that make an experience of a lifetime; of push, a day does
)


def replay(folder: Path | str, episode: int) -> tuple[bool, pd.DataFrame]:
    """Plays an episode again from the secret and the actions that were kept: whether all is the same, to the digit.

    returns  True or False, and a row for each difference: step (-1: the whole episode), what, kept, again
    Raises ValueError where there is no such episode.
    """
    with closing(connect(folder)) as link:
        row = link.execute(
            "SELECT * FROM lived WHERE id = ?", (min(episode, 2**63 - 1),)
        ).fetchone()
        if row is None:
            raise ValueError(f"the class has no episode {episode!r:.20}")
        steps = link.execute(
            "SELECT * FROM steps WHERE episode = ? ORDER BY step", (episode,)
        ).fetchall()
        life = Lived(link.execute("SELECT * FROM class").fetchone(), row)
    if row["began"] is None:
        return True, pd.DataFrame(
            columns=["step", "what", "kept", "again"]
        )  # nobody was told anything
    found: list[tuple] = [(-1, "began", row["began"], as_json(life.began))]
    total = earned = 0.0
    for step in steps:
        answer, reward, expected, best = life.advance(json.loads(step["action"]))
        total, earned = total + reward, earned + (expected or 0.0)
        found += [
            (step["step"], what, step[what], again)
            for what, again in (
                ("answer", as_json(answer)),
                ("reward", reward),
                ("expected", expected),
                ("best", best),
            )
        ]
    found += [
        (-1, what, row[what], again)
        for what, again in (
            ("steps", life.step),
            ("total", total),
            ("expected", earned),
            ("of", life.of),
            ("best", life.best and sum(life.best)),
        )
    ]
    table = pd.DataFrame(
        [one for one in found if one[2] != one[3]],
        columns=["step", "what", "kept", "again"],
    )
    return table.empty, table


def export(folder: Path | str, out: Path | str) -> Path:
    """Writes what became of a class into a folder, which is new, empty or an earlier export; returns it.

    standings.csv, episodes.csv, uploads.csv   tables, a row a team and game, an episode, an upload
    logs/<game>/<team>.csv                     the scored episodes as `rollout` logs them: block and task say with which
                                               user; response_time is what passed between two answers
    lifetimes/<game>/<team>/                   the same as L2Logger folders, for `pushlab lifelong --recursive`: a block
                                               of training a user; an experience is STRETCH steps of evalumap2, whose
                                               reward is their mean, or a day of push, whose reward is its return

    Raises FileExistsError for a folder that holds anything else.
    """
    book, out = Book(folder), Path(out)
    with new_folder(out, mark=OURS) as new:
        write_text(new / OURS, json_text(book.settings))
        for name, table in (
            ("standings", standings(book)),
            ("episodes", book.episodes()),
            ("uploads", book.uploads()),
        ):
            cells = table.astype(object).where(table.notna(), "").to_numpy().tolist()
            write_text(new / f"{name}.csv", csv_text([[*table.columns], *cells]))
        for game in GAMES:
            world = world_of(
                game,
                Person(0, None, book.settings["per_quarter"]),
                0,
                book.settings["days"],
            )
            for number, team in book.teams().itertuples(index=False):
                if (log := _team_log(book, team, game, world)) is not None:
                    name = f"{number:03d}-{re.sub(r'[^a-zA-Z0-9]+', '-', team)[:40].strip('-')}"
                    write_text(
                        new / "logs" / game / f"{name}.csv",
                        log.to_csv(index=False, lineterminator="\n"),
                    )
                    write_log(_experiences(log, game), new / "lifetimes" / game / name)
    return out


def _team_log(book, team, game, world):
    """The step log of a team's scored episodes of a game, as `rollout` has it; None where nothing was played."""
    tables = []
    for row in book.rows(
        "SELECT * FROM lived WHERE (name, game, scored) = (?, ?, 1) AND steps ORDER BY id",
        team,
        game,
    ).itertuples():
        steps = book.steps(row.id)
        answers = [json.loads(answer) for answer in steps["answer"]]
        seen = [
            json.loads(row.began)["observation"],
            *(answer["observation"] for answer in answers),
        ]
        lived = [
            (
                before,
                json.loads(action),
                *(answer[key] for key in ("reward", "terminated", "truncated", "info")),
                seconds,
                None,
            )
            for before, action, answer, seconds in zip(
                seen, steps["action"], answers, np.diff(steps["at"], prepend=row.begun)
            )
        ]
        tables.append(
            put_together(
                [episode_table(world, row.number, lived, seen[-1])],
                {
                    "run": safe_cell(f"{team} {game}"),
                    "env": game,
                    "agent": safe_cell(team),
                    "seed": 0,
                    "lifetime": 0,
                    "phase": f"{len(tables) + 1}.train",
                    "block": len(tables),
                    "block_type": "train",
                    "task": f"{game}:user {row.user}",
                    "params": "{}",
                },
            )
        )
    return pd.concat(tables, ignore_index=True) if tables else None


def _experiences(log: pd.DataFrame, game: str) -> Any:
    """The lifetime log of a team's step log."""
    step = log.groupby("block").cumcount()
    part = (
        step // STRETCH
        if game == "evalumap2"
        else np.minimum(log["time"] // DAY, log["time"].max() // DAY - 1)
    )
    groups = log.assign(part=part).groupby(
        ["phase", "block", "block_type", "task", "params", "part"], sort=False
    )
    table = (
        groups["reward"]
        .agg(**{"return": "mean" if game == "evalumap2" else "sum", "length": "size"})
        .reset_index()
    )
    return table.drop(columns="part").assign(episode=range(len(table)))
