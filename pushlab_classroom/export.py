"""What a class leaves behind: its standings and logs as files, and replays of its episodes."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pushlab.ground.files import csv_text, json_text, new_folder, safe_cell, write_text
from pushlab.logs.folders import write_log
from pushlab.logs.rollout import episode_table, put_together
from pushlab.users.days import DAY
from pushlab_classroom.database import EPISODES, GAMES, ClassDatabase, read_episode
from pushlab_classroom.episode import ReplayedEpisode, as_json
from pushlab_classroom.private_users import PrivateUser, make_world
from pushlab_classroom.standings import standings

MARK = "class.json"  # the file by which an export is known
EXPERIENCE_STEPS = 50  # of evalumap2; in push an experience is a day


def replay(folder: Path | str, episode: int) -> tuple[bool, pd.DataFrame]:
    """Replay an episode from the secret and the stored actions, and compare everything to the digit.

    Returns:
        Whether all is the same, and one row per difference: step (-1: the whole episode), what, stored, again.

    Raises:
        ValueError: There is no such episode.
    """
    clause = "WHERE episodes.id = ?"
    settings, row, steps = read_episode(folder, clause, min(episode, 2**63 - 1))
    if row is None:
        raise ValueError(f"the class has no episode {episode!r:.20}")
    replayed = ReplayedEpisode(settings, row)
    pairs: list[tuple] = [(-1, "began", row["began"], as_json(replayed.first))]
    totals: dict[str, Any] = {"total": 0.0, "expected": 0.0}
    for step in steps:
        answer, *values = replayed.advance(json.loads(step["action"]))
        totals["total"] += values[0]
        totals["expected"] += values[1] or 0.0
        values = [as_json(answer), *values]
        for what, again in zip(("answer", "reward", "expected", "best"), values):
            pairs.append((step["step"], what, step[what], again))
    best = replayed.best and sum(replayed.best)
    totals |= {"steps": replayed.step, "of": replayed.length, "best": best}
    pairs += [(-1, what, row[what], again) for what, again in totals.items()]
    if row["began"] is None:  # it was added at the close, and never shown to the team
        pairs = []
    differences = [pair for pair in pairs if pair[2] != pair[3]]
    columns = ["step", "what", "stored", "again"]
    return not differences, pd.DataFrame(differences, columns=columns)


def export(folder: Path | str, out: Path | str) -> Path:
    """Write the results of a class into a folder that is new, empty or an earlier export; return it.

    standings.csv, episodes.csv and uploads.csv have one row per team and game, episode, and upload.
    logs/<game>/<team>.csv has the scored episodes as `rollout` logs them: block and task name the user; response_time
    is the time between two answers. lifetimes/<game>/<team>/ has the same as L2Logger folders, for
    `pushlab lifelong --recursive`: one block of training per user. An experience is 50 steps of evalumap2 with their
    mean reward, or a day of push with its return.

    Raises:
        FileExistsError: The folder has other content.
    """
    database = ClassDatabase(folder)
    tables = {
        "standings": standings(database),
        "episodes": database.episodes(),
        "uploads": database.uploads(),
    }
    settings = database.settings
    user = PrivateUser(0, None, settings["per_quarter"])
    with new_folder(Path(out), mark=MARK) as new:
        write_text(new / MARK, json_text(settings))
        for name, table in tables.items():
            cells = table.astype(object).where(table.notna(), "").to_numpy().tolist()
            write_text(new / f"{name}.csv", csv_text([[*table.columns], *cells]))
        for game in GAMES:
            world = make_world(game, user, 0, settings["days"])
            for number, team in database.teams().itertuples(index=False):
                log = _team_log(database, team, game, world)
                if log is not None:
                    word = re.sub(r"[^a-zA-Z0-9]+", "-", team)[:40].strip("-")
                    name = f"{number:03d}-{word}"
                    text = log.to_csv(index=False, lineterminator="\n")
                    write_text(new / "logs" / game / f"{name}.csv", text)
                    write_log(_lifetime(log, game), new / "lifetimes" / game / name)
    return Path(out)


def _team_log(database, team, game, world):
    """Return the step log of a team's scored episodes of a game, as `rollout` has it; None without any."""
    tables: list[pd.DataFrame] = []
    episodes = database.query(
        f"SELECT * FROM ({EPISODES}) WHERE (name, game, scored) = (?, ?, 1) AND steps ORDER BY id",
        team,
        game,
    )
    for episode in episodes.itertuples():
        steps = database.steps(episode.id)
        seconds = np.diff(steps["at"], prepend=episode.begun).clip(0)
        observation = json.loads(episode.began)["observation"]
        rows = []
        for action, text, waited in zip(steps["action"], steps["answer"], seconds):
            answer = json.loads(text)
            outcome = [
                answer[key] for key in ("reward", "terminated", "truncated", "info")
            ]
            rows.append((observation, json.loads(action), *outcome, waited, None))
            observation = answer["observation"]
        constant = {
            "run": safe_cell(f"{team} {game}"),
            "env": game,
            "agent": safe_cell(team),
            "seed": 0,
            "lifetime": 0,
            "phase": f"{len(tables) + 1}.train",
            "block": len(tables),
            "block_type": "train",
            "task": f"{game}:user {episode.user}",
            "params": "{}",
        }
        table = episode_table(world, episode.number, rows, observation)
        tables.append(put_together([table], constant))
    return pd.concat(tables, ignore_index=True) if tables else None


def _lifetime(log, game):
    """Return the lifetime log of a team's step log."""
    if game == "evalumap2":
        experience = log.groupby("block").cumcount() // EXPERIENCE_STEPS
        summary = "mean"
    else:
        last_day = log["time"].max() // DAY - 1
        experience = np.minimum(log["time"] // DAY, last_day)
        summary = "sum"
    keys = ["phase", "block", "block_type", "task", "params", "experience"]
    groups = log.assign(experience=experience).groupby(keys, sort=False)["reward"]
    table = groups.agg(**{"return": summary, "length": "size"}).reset_index()
    return table.drop(columns="experience").assign(episode=range(len(table)))
