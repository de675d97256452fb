"""What a class leaves behind: its standings and logs as files, and replays of its episodes."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from pushlab.ground.files import csv_text, json_text, new_folder, safe_cell, write_text
from pushlab.logs.rollout import episode_table, put_together
from pushlab_classroom.database import EPISODES, GAMES, ClassDatabase, read_episode
from pushlab_classroom.episode import ReplayedEpisode, as_json
from pushlab_classroom.private_users import PrivateUser, make_world
from pushlab_classroom.standings import standings

MARK = "class.json"  # the file by which an export is known


def replay(folder: Path | str, episode: int) -> tuple[bool, pd.DataFrame]:
    """Replay an episode from the secret and the stored actions, and compare everything to the digit.

    Returns:
        Whether all is the same, and one row per step that differs (-1: the whole episode): step, stored, again.

    Raises:
        ValueError: There is no such episode.
    """
    clause = "WHERE episodes.id = ?"
    settings, row, steps = read_episode(folder, clause, min(episode, 2**63 - 1))
    if row is None:
        raise ValueError(f"the class has no episode {episode!r:.20}")
    replayed = ReplayedEpisode(settings, row)
    first = as_json(replayed.first)
    total = expected = 0.0
    pairs: list[tuple] = []
    for step in steps:
        answer, *points = replayed.advance(json.loads(step["action"]))
        total += points[0]
        expected += points[1] or 0.0
        stored = tuple(step[name] for name in ("answer", "reward", "expected", "best"))
        pairs.append((step["step"], stored, (as_json(answer), *points)))
    if row["began"] is not None:  # an episode that was added at the close has none
        names = ("began", "of", "best", "steps", "total", "expected")
        best = replayed.best and sum(replayed.best)
        again = (first, replayed.length, best, replayed.step, total, expected)
        pairs.append((-1, tuple(row[name] for name in names), again))
    differences = [pair for pair in pairs if pair[1] != pair[2]]
    table = pd.DataFrame(differences, columns=["step", "stored", "again"])
    return table.empty, table


def export(folder: Path | str, out: Path | str) -> Path:
    """Write the results of a class into a folder that is new, empty or an earlier export; return it.

    standings.csv, episodes.csv and uploads.csv have one row per team and game, episode, and upload.
    logs/<game>/<team>.csv has the scored episodes as `rollout` logs them: block and task name the user; response_time
    is the time between two answers. `pushlab.logs.folders.lifetime_log` makes a lifetime from it.

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
