"""Episodes of a class, played one step at a time by any number of teams, and uploads to Challenge 1.

Each step is stored before it is answered. It survives a killed process; a power cut can undo the last steps (see
`Room`). An episode that is not in memory is replayed from the secret and the stored actions. Steps have numbers: a step
that is sent again gets the same answer, and nothing happens twice.
"""

import csv
import hashlib
import io
import json
import time
import zlib
from collections import Counter
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from pushlab.challenges.answers import read_notifications
from pushlab.ground.arguments import demand
from pushlab.ground.faults import BadData, Fault, short
from pushlab_classroom.database import (
    FILE,
    GAMES,
    MAX_UPLOADS,
    NEW_EPISODE,
    PRACTICE_EPISODES,
    connect,
    read_episode,
    transaction,
)
from pushlab_classroom.episode import ReplayedEpisode, as_json, describe
from pushlab_classroom.private_users import (
    challenge_user,
    make_world,
    points_of,
    shuffle,
    user_number,
)
from pushlab_classroom.standings import share_of

# Removes a team's practice episodes that were not used lately, except those that it plays.
FORGET_PRACTICE = """DELETE FROM episodes WHERE id IN (
    SELECT id FROM episodes WHERE team = ? AND NOT scored ORDER BY coalesce(
        (SELECT at FROM steps WHERE episode = id ORDER BY step DESC LIMIT 1), begun) DESC, id DESC LIMIT -1 OFFSET ?)
    AND id NOT IN (SELECT value FROM json_each(?))"""
WAL_PAGES = 10_000  # of 4 KiB, written before they are moved into the database
MAX_COLUMNS = 50  # of an upload
CLOSED = (409, "the class is closed", "practice goes on, with scored=False")


class Team(NamedTuple):
    """A team of a class."""

    id: int
    name: str


class Refusal(Exception):
    """A request that cannot be granted.

    Attributes:
        status: Status of HTTP.
        content: {"error", "right", …}: what is wrong, what would be right, and more.
    """

    def __init__(self, status, error, right, **more):
        super().__init__(f"{error}: {right}")
        self.status = status
        self.content = {"error": error, "right": right, **more}


class Room:
    """A class while it is played, by one thread of one process.

    Only `replay`, `describe` and `upload`, which take long, can be called by other threads. A commit is not waited for
    until it is on the disk (synchronous = NORMAL): after a power cut the last ones may be missing.

    Args:
        folder: The class's folder.

    Attributes:
        loaded: Episodes in memory by id, the one used last at the end.
        max_loaded: Their largest number.

    Raises:
        FileNotFoundError, ValueError: There is no class.
        BlockingIOError: Another process plays it.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self._connection = connect(folder, write=True)
        self._lock = FileLock(
            self.folder / f".{FILE}.lock", timeout=0, mode=0o600, thread_local=False
        )
        try:
            self._lock.acquire()
        except Timeout:
            self._connection.close()
            raise BlockingIOError(
                f"{folder} is being played by another process; only one can play it"
            ) from None
        self._connection.executescript(
            f"PRAGMA wal_autocheckpoint = {WAL_PAGES}; PRAGMA synchronous = NORMAL"
        )
        self._settings = dict(self._rows("SELECT * FROM class")[0])
        self.loaded = {}
        self._in_use = Counter()
        self.max_loaded = 512

    def close(self):
        """Release the class. It can be called more than once."""
        self._connection.close()
        self._lock.release()

    def _rows(self, query, *values):
        return self._connection.execute(query, values).fetchall()

    # ------------------------------------------------------------ teams

    def team_of(self, token):
        """Return the team of a token, or None. Only hashes are compared."""
        digest = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
        rows = self._rows("SELECT id, name FROM teams WHERE token = ?", digest)
        return Team(*rows[0]) if rows else None

    def require_own(self, team, episodes):
        """Raise Refusal unless all of these are the team's episodes. It does not say whether others have them."""
        for number in episodes:
            is_id = type(number) is int and 0 < number < 2**63
            query = "SELECT 1 FROM episodes WHERE id = ? AND team = ?"
            if not is_id or not self._rows(query, number, team.id):
                error = f"your team has no episode {number!r:.40}"
                raise Refusal(404, error, "an episode that your team has begun")

    def _is_closed(self):
        return self._rows("SELECT closed FROM class")[0][0] is not None

    # ------------------------------------------------------------ episodes

    def describe(self, game):
        """Return what an environment says about itself; see `pushlab_classroom.episode.describe`."""
        if game not in GAMES:
            right = f"one of {', '.join(GAMES)}"
            raise Refusal(404, f"no game is called {game!r:.40}", right)
        return describe(game, self._settings["per_quarter"], self._settings["days"])

    def begin(
        self,
        team,
        game,
        scored,
        count=1,
        held=(),
    ):
        """Return ids of episodes to play: open scored ones first, in their order, then new ones.

        Args:
            held: Episodes that the client is playing, which are not returned.

        Raises:
            Refusal: Fewer scored episodes are left than wanted.
        """
        if game not in GAMES or type(scored) is not bool:
            right = f"game: one of {', '.join(GAMES)}; scored: true or false"
            raise Refusal(422, "no such episodes", right)
        self.require_own(team, held)
        with transaction(self._connection):  # so the class is closed before or after
            rows = self._rows(
                "SELECT id, number, finished FROM episodes WHERE (team, game, scored) = (?, ?, ?) ORDER BY number",
                team.id,
                game,
                scored,
            )
            ids = []
            if scored:
                ids = [row["id"] for row in rows if row["finished"] is None]
                ids = [number for number in ids if number not in held][:count]
                self._require_scored(game, count, len(ids), len(rows))
            first = rows[-1]["number"] + 1 if rows else 0
            for number in range(first, first + count - len(ids)):
                user = user_number(self._settings, team.name, game, scored, number)
                row = (team.id, game, scored, number, time.time(), user)
                ids.append(self._connection.execute(NEW_EPISODE, row).lastrowid)
            if not scored:
                playing = json.dumps([*held, *ids])
                self._connection.execute(
                    FORGET_PRACTICE, (team.id, PRACTICE_EPISODES, playing)
                )
        return ids

    def _require_scored(self, game, count, n_open, n_begun):
        """Raise Refusal unless `count` scored episodes can be played."""
        if self._is_closed():
            raise Refusal(*CLOSED)
        left = self._settings["episodes"] - n_begun
        there = n_open + left
        if count > there:
            raise Refusal(
                409,
                f"your team has {there or 'no'} scored episodes of {game} to play, not {count}",
                "fewer of them, or practice, with scored=False",
                left=left,
            )

    @contextmanager
    def in_use(self, episodes):
        """Context manager that keeps these episodes in memory, once they are loaded."""
        self._in_use.update(episodes)
        try:
            yield
        finally:
            self._in_use.subtract(episodes)

    def replay(self, episode):
        """Return a stored episode as it stands, which takes some tenths of a second."""
        _, row, steps = read_episode(self.folder, "WHERE episodes.id = ?", episode)
        if row is None:
            raise Refusal(
                404,
                f"episode {episode} is no longer stored",
                f"one of the last {PRACTICE_EPISODES} of practice",
            )
        actions = [step["action"] for step in steps]
        replayed = ReplayedEpisode(self._settings, row, actions)
        if steps and as_json(replayed.answer) != steps[-1]["answer"]:
            raise Refusal(
                500,
                f"a replay of episode {episode} differs from what was played",
                "your lecturer can look into it with: pushlab class replay",
                episode=episode,
            )
        return replayed

    def load(self, episode, replayed=None):
        """Return an episode as it stands, and keep it in memory.

        Args:
            replayed: The result of `replay` in another thread, during `in_use`. It is not used if the episode has
                been loaded meanwhile.
        """
        known = self.loaded.pop(episode, None)
        current = known or replayed or self.replay(episode)
        if not known:
            best = current.best and sum(current.best)
            with transaction(self._connection) as connection:
                connection.execute(
                    'UPDATE episodes SET "of" = ?, best = ?, began = coalesce(began, ?) WHERE id = ?',
                    (current.length, best, as_json(current.first), episode),
                )
        self.loaded[episode] = current
        while len(self.loaded) > self.max_loaded:
            idle = [number for number in self.loaded if not self._in_use[number]]
            if not idle:
                break
            teams = Counter(self.loaded[number].team for number in idle)
            largest = max(teams, key=teams.__getitem__)
            del self.loaded[
                next(one for one in idle if self.loaded[one].team == largest)
            ]
        return current

    def state(self, episode):
        """Return the answer to reset(): episode, step, of, observation, info, over, left (scored episodes)."""
        current = self.load(episode)
        query = (
            "SELECT count(*) FROM episodes AS one JOIN episodes AS other USING (team, game) "
            "WHERE one.id = ? AND other.scored"
        )
        begun = self._rows(query, episode)[0][0]
        return {
            "episode": episode,
            "step": current.step,
            "of": current.length,
            **current.now,
            "over": current.over,
            "left": self._settings["episodes"] - begun,
        }

    # ------------------------------------------------------------ steps

    def play(self, team, steps):
        """Play steps (episode, number of the step, action) of different episodes; return their stored answers.

        A step that was played before gets the same answer as then.

        Raises:
            Refusal: One of the steps is not possible. None is played then.
            OSError: The steps could not be stored. None is played then.
        """
        episodes = [episode for episode, *_ in steps]
        self.require_own(team, episodes)
        if len(set(episodes)) < len(episodes):
            raise Refusal(
                422, "an episode is there twice", "one step of each episode at a time"
            )
        loaded = [self.load(episode) for episode in episodes]
        try:
            with transaction(self._connection):
                earlier = [
                    self._earlier_answer(current, *step)
                    for current, step in zip(loaded, steps)
                ]
                return [
                    answer or self._advance(current, episode, action)
                    for answer, current, (episode, _, action) in zip(
                        earlier, loaded, steps
                    )
                ]
        except Refusal:
            raise
        except BaseException:  # memory may be ahead of what is stored
            for episode in episodes:
                self.loaded.pop(episode, None)
            raise

    def _earlier_answer(self, current, episode, step, action):
        """Return the answer to a step that was played before, or None; raise Refusal for an impossible step."""
        more = {"episode": episode, "step": current.step}
        right = f"step {current.step}; does another program play with your token? reset() takes a scored episode up"
        if type(step) is not int or not 0 <= step <= current.step:
            what = f"step {step!r:.20} is not the next of episode {episode}"
            raise Refusal(409, what, right, **more)
        try:
            text = as_json(current.check(action, 1)[0].tolist())
            demand(text == as_json(action), f"as JSON {text}, plain whole numbers")
        except ValueError as error:
            raise Refusal(
                422, f"no action of episode {episode}", f"{error!s:.400}", **more
            ) from None
        if step < current.step:
            query = "SELECT action, answer FROM steps WHERE episode = ? AND step = ?"
            [(played, answer)] = self._rows(query, episode, step)
            if played != text:
                what = f"step {step} of episode {episode} was another action, {played}"
                raise Refusal(409, what, right, **more)
            return json.loads(answer)
        if current.over:
            what = f"episode {episode} is over"
            raise Refusal(409, what, "reset() begins another", **more)
        if current.scored and self._is_closed():
            raise Refusal(*CLOSED)
        return None

    def _advance(self, current, episode, action):
        """Play and store a step; return its answer."""
        step = current.step
        now = time.time()
        answer, reward, expected, best = current.advance(action)
        self._connection.execute(
            "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                episode,
                step,
                as_json(action),
                reward,
                expected,
                best,
                now,
                as_json(answer),
            ),
        )
        self._connection.execute(
            "UPDATE episodes SET steps = steps + 1, total = total + ?, expected = expected + ?, "
            "finished = ? WHERE id = ?",
            (reward, expected or 0.0, now if current.over else None, episode),
        )
        return answer

    # ------------------------------------------------------------ uploads

    @cached_property
    def _contexts(self):
        """The world whose contexts are answered, and whether each belongs to the public half, (contexts,)."""
        world = make_world("evalumap1", challenge_user(self._settings), 0, 0)
        secret = bytes.fromhex(self._settings["secret"])
        order = shuffle(secret, len(world), "halves")
        return world, np.isin(np.arange(len(world)), order[: len(world) // 2])

    def upload(self, team, data):
        """Score and store a CSV file that answers Challenge 1.

        Returns:
            {"public", "low", "high", "left", "notes"}: the share on the public half and its interval, the uploads
            left, and remarks. The bytes of the last upload are answered as before, and count once.

        Raises:
            BadData: The file has faults; all are listed.
            Refusal: No uploads are left, or the class is closed.
        """
        file = "the answers"
        world, is_public = self._contexts
        table = read_csv(data, file, len(world))
        codes, _, notes = read_notifications(table, world.schema, len(world), file)
        expected, best = points_of(world, codes)
        public = share_of(expected[is_public], best[is_public])
        private = share_of(expected[~is_public], best[~is_public])
        halves = np.where(is_public, "public", "private").tolist()
        points = json.dumps([*zip(halves, expected.tolist(), best.tolist())])
        row = [hashlib.sha256(data).hexdigest(), zlib.compress(data)]
        row += [zlib.compress(points.encode()), *public, *private]
        connection = connect(self.folder, write=True)
        with closing(connection), transaction(connection):
            query = "SELECT sha256 FROM uploads WHERE team = ? ORDER BY number"
            stored = [one for (one,) in connection.execute(query, (team.id,))]
            if stored[-1:] != row[:1]:
                if connection.execute("SELECT closed FROM class").fetchone()[0]:
                    raise Refusal(*CLOSED)
                if len(stored) == MAX_UPLOADS:
                    right = f"{MAX_UPLOADS} are there, and the last one counts"
                    raise Refusal(409, "your team has no uploads left", right, left=0)
                connection.execute(
                    "INSERT INTO uploads VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (team.id, len(stored), time.time(), *row),
                )
                stored.append(row[0])
        shares = dict(zip(("public", "low", "high"), public))
        return shares | {"left": MAX_UPLOADS - len(stored), "notes": notes}


def read_csv(data, name, rows):
    """Return an uploaded table as text. Raise BadData if it has more than `rows` rows or too many columns."""
    try:
        text = io.StringIO(data.decode("utf-8-sig"))
        n_columns = len(next(csv.reader(text), []))
        demand(n_columns <= MAX_COLUMNS, f"there are more than {MAX_COLUMNS} columns")
        text.seek(0)
        table = pd.read_csv(text, dtype=str, keep_default_na=False)
        is_whole = isinstance(table.index, pd.RangeIndex)
        demand(is_whole, "there are rows longer than the header")
        demand(len(table) <= rows, f"there are more than {rows:,} rows")
    except (ValueError, csv.Error) as error:
        right = f"a CSV table in UTF-8 ({short(str(error).strip(), 200)})"
        raise BadData(Fault(name, right=right)) from None
    return table.fillna("")
