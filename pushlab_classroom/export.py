"""Export of a class's standings and logs to files, and replays of its episodes."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd

from pushlab.logs.rollout import build_log, episode_table
from pushlab.utils.arguments import require
from pushlab.utils.files import (
    csv_text,
    escape_formula,
    json_text,
    new_folder,
    write_text,
)
from pushlab_classroom.database import EPISODES, GAMES, ClassDatabase, read_episode
from pushlab_classroom.episode import ReplayedEpisode, to_json
from pushlab_classroom.private_users import PrivateUser, make_world
from pushlab_classroom.standings import standings

MARKER = "class.json"  # the file that marks an export


def replay(folder: Path | str, episode: int) -> tuple[bool, pd.DataFrame]:
    """Replay an episode from the secret and the stored actions, and compare it with the stored one.

    Returns:
        Whether both are exactly the same, and a table with one row per difference: step (-1 for the whole episode),
        stored, replayed.

    Raises:
        ValueError: There is no such episode.
    """
    clause = "WHERE episodes.id = ?"
    settings, row, steps = read_episode(folder, clause, min(episode, 2**63 - 1))
    if row is None:
        raise ValueError(f"the class has no episode {episode!r:.20}")
    replayed = ReplayedEpisode(settings, row)
    first = to_json(replayed.first)
    total = 0.0
    total_expected = 0.0
    pairs: list[tuple] = []
    for step in steps:
        answer, reward, expected, best = replayed.advance(json.loads(step["action"]))
        total += reward
        total_expected += expected or 0.0
        stored = tuple(step[name] for name in ("answer", "reward", "expected", "best"))
        pairs.append((step["step"], stored, (to_json(answer), reward, expected, best)))
    if row["began"] is not None:  # None for episodes that were added at the close
        names = ("began", "of", "best", "steps", "total", "expected")
        stored = tuple(row[name] for name in names)
        best = replayed.best and sum(replayed.best)
        values = (first, replayed.length, best, replayed.step, total, total_expected)
        pairs.append((-1, stored, values))
    differences = [pair for pair in pairs if pair[1] != pair[2]]
    table = pd.DataFrame(differences, columns=["step", "stored", "replayed"])
    return table.empty, table


def export(folder: Path | str, out: Path | str) -> Path:
    """Write the results of a class to a folder; return the folder.

    - standings.csv: one row per team and game
    - episodes.csv, uploads.csv: one row per episode, and per upload
    - logs/<game>/<team>.csv: the scored episodes in the format of `rollout`. Block and task are those of the user;
      response_time is the time between two answers. `pushlab.logs.files.lifetime_log` converts it to a lifetime

    Args:
        folder: Folder of the class.
        out: A folder that is new, empty or an earlier export.

    Raises:
        FileExistsError: The folder `out` has other content.
        ValueError: The class is being closed.
    """
    database = ClassDatabase(folder)
    settings = database.settings
    require(
        settings["state"] != "closing",
        f"{folder} is closing, so its results are not final\nrun `pushlab class close {folder}` again, and export then",
    )
    tables = {
        "standings": standings(database),
        "episodes": database.episodes(),
        "uploads": database.uploads(),
    }
    with new_folder(Path(out), marker_file=MARKER) as new:
        write_text(new / MARKER, json_text(settings))
        for name, table in tables.items():
            cells = table.astype(object).where(table.notna(), "").to_numpy().tolist()
            write_text(new / f"{name}.csv", csv_text([table.columns, *cells]))
        for game in GAMES:
            user = PrivateUser(0, None, settings["per_quarter"])
            world = make_world(game, user, 0, settings["days"])
            for number, team in database.teams().itertuples(index=False):
                log = _team_log(database, team, game, world)
                if log is not None:
                    label = re.sub(r"[^a-zA-Z0-9]+", "-", team)[:40].strip("-")
                    text = log.to_csv(index=False, lineterminator="\n")
                    write_text(new / "logs" / game / f"{number:03d}-{label}.csv", text)
        require(
            database.settings == settings,
            f"{folder} was closed during the export; export it again",
        )
    return Path(out)


def _team_log(database, team, game, world):
    """Return the log of a team's scored episodes of a game in the format of `rollout`, or None if there are none."""
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
        for action, text, elapsed in zip(steps["action"], steps["answer"], seconds):
            answer = json.loads(text)
            outcome = [
                answer[key] for key in ("reward", "terminated", "truncated", "info")
            ]
            rows.append((observation, json.loads(action), *outcome, elapsed, None))
            observation = answer["observation"]
        constant = {
            "run": escape_formula(f"{team} {game}"),
            "env": game,
            "agent": escape_formula(team),
            "seed": 0,
            "lifetime": 0,
            "phase": f"{len(tables) + 1}.train",
            "block": len(tables),
            "block_type": "train",
            "task": f"{game}:user {episode.user}",
            "params": "{}",
        }
        table = episode_table(world, episode.number, rows, observation)
        tables.append(build_log([table], constant))
    return pd.concat(tables, ignore_index=True) if tables else None
