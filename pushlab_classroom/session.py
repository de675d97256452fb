"""Episodes of a class, played one step at a time by any number of teams, and uploads to Challenge 1.

Each step is stored before it is answered, so it survives the end of the process. A power failure can undo the last
steps (see `ClassSession`). An episode that isn't in memory is replayed from the secret and the stored actions. Steps
are numbered: if a step is sent again, it isn't played again but gets the same answer.
"""

import csv
import hashlib
import io
import json
import time
import zlib
from contextlib import closing
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from pushlab.challenges.answers import read_notifications
from pushlab.utils.arguments import require
from pushlab.utils.issues import BadData, DataIssue, shorten
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
from pushlab_classroom.episode import ReplayedEpisode, describe, to_json
from pushlab_classroom.private_users import (
    challenge_user,
    expected_points_and_best,
    make_world,
    shuffle,
    user_number,
)
from pushlab_classroom.standings import share_of

PAUSE = 60  # seconds after its last step in which an episode counts as being played
IDLE = 600  # seconds without a request after which an episode leaves memory
# A team's practice episodes: first those that it is playing, then the most recently used ones.
PRACTICE = """SELECT id, finished IS NULL AND used > ? AS playing FROM (SELECT *, coalesce(
        (SELECT at FROM steps WHERE episode = id ORDER BY step DESC LIMIT 1), begun) AS used FROM episodes)
    WHERE team = ? AND NOT scored ORDER BY playing DESC, used DESC, id DESC"""
WAL_PAGES = 10_000  # pages of 4 KiB before a checkpoint
MAX_COLUMNS = 50  # of an upload
STORED = f"use an episode that your team has begun; of practice the last {PRACTICE_EPISODES} are stored"
CLOSED = (409, "the class is closed", "practice (scored=False) is still open")


class Team(NamedTuple):
    """A team of a class."""

    id: int
    name: str


class Refusal(Exception):
    """Error for a request that is refused.

    Args:
        status: HTTP status.
        error: The problem.
        hint: A valid request, or another way to solve the problem.
        details: Further entries of the answer.

    Attributes:
        status: HTTP status.
        content: The answer: {"error": error, "right": hint, **details}.
    """

    def __init__(self, status, error, hint, **details):
        super().__init__(f"{error}; {hint}")
        self.status = status
        self.content = {"error": error, "right": hint, **details}


class ClassSession:
    """Session in which a class is played, by one thread of one process.

    Other threads may only call `replay`, `describe` and `upload`, which are slow. No other method replays an episode.
    Commits don't wait for the disk (synchronous = NORMAL), so a power failure can undo the last ones.

    Args:
        folder: Folder of the class.

    Attributes:
        loaded: Episodes in memory by id. An episode stays until it is over, deleted, or unused for some time, so a team
            can't displace those of others.

    Raises:
        FileNotFoundError, ValueError: The folder isn't the folder of a class.
        BlockingIOError: Another process uses the class.
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
                f"{folder} is already in use by another process"
            ) from None
        self._connection.executescript(
            f"PRAGMA wal_autocheckpoint = {WAL_PAGES}; PRAGMA synchronous = NORMAL"
        )
        self._settings = dict(self._rows("SELECT * FROM class")[0])
        self.loaded = {}

    def close(self):
        """Release the class. Further calls have no effect."""
        self._connection.close()
        self._lock.release()

    def _rows(self, query, *values):
        return self._connection.execute(query, values).fetchall()

    # ------------------------------------------------------------ teams

    def team_of(self, token):
        """Return the team with this token, or None. Hashes are compared, since tokens aren't stored."""
        digest = hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()
        rows = self._rows("SELECT id, name FROM teams WHERE token = ?", digest)
        return Team(*rows[0]) if rows else None

    def require_own(self, team, episodes):
        """Raise Refusal unless all episodes are the team's. It doesn't reveal whether other teams have them."""
        query = "SELECT 1 FROM episodes WHERE id = ? AND team = ?"
        for episode in episodes:
            is_id = type(episode) is int and 0 < episode < 2**63
            if not is_id or not self._rows(query, episode, team.id):
                raise Refusal(404, f"your team has no episode {episode!r:.40}", STORED)

    def _is_closed(self):
        return self._rows("SELECT closed FROM class")[0][0] is not None

    # ------------------------------------------------------------ episodes

    def describe(self, game):
        """Return the description of a game's environment; see `pushlab_classroom.episode.describe`."""
        if game not in GAMES:
            hint = f"the games are {', '.join(GAMES)}"
            raise Refusal(404, f"there is no game {game!r:.40}", hint)
        return describe(game, self._settings["per_quarter"], self._settings["days"])

    def begin(self, team, game, scored, count=1, held=()):
        """Return ids of episodes to play: unfinished scored ones first, in order, then new ones.

        Args:
            held: Episodes that the client is already playing. They aren't returned.

        Raises:
            Refusal: There aren't enough scored episodes left, or the team plays too many practice episodes at once.
        """
        if game not in GAMES or type(scored) is not bool:
            hint = f"game must be one of {', '.join(GAMES)}, and scored must be true or false"
            raise Refusal(422, "there are no such episodes", hint)
        self.require_own(team, held)
        # In a transaction, so that the class can't be closed meanwhile.
        with transaction(self._connection):
            rows = self._rows(
                "SELECT id, number, finished FROM episodes WHERE (team, game, scored) = (?, ?, ?) ORDER BY number",
                team.id,
                game,
                scored,
            )
            ids = []
            if scored:
                unfinished = [row["id"] for row in rows if row["finished"] is None]
                ids = [episode for episode in unfinished if episode not in held][:count]
                self._require_scored(game, count, len(ids), len(rows))
            else:
                self._delete_practice(team, count)
            first = rows[-1]["number"] + 1 if rows else 0
            for number in range(first, first + count - len(ids)):
                user = user_number(self._settings, team.name, game, scored, number)
                row = (team.id, game, scored, number, time.time(), user)
                ids.append(self._connection.execute(NEW_EPISODE, row).lastrowid)
        return ids

    def _delete_practice(self, team, count):
        """Delete practice episodes, so that `count` can be begun. Raises Refusal if the team is playing too many."""
        rows = self._rows(PRACTICE, time.time() - PAUSE, team.id)
        n_kept = PRACTICE_EPISODES - count
        n_playing = sum(row["playing"] for row in rows)
        if n_playing > n_kept:
            raise Refusal(
                409,
                f"your team is playing {n_playing} practice episodes and asked for {count} more, but it can play "
                f"{PRACTICE_EPISODES} at once",
                f"finish some first; those that you left count for {PAUSE} s after their last step",
            )
        for episode, _ in rows[n_kept:]:
            self._connection.execute("DELETE FROM episodes WHERE id = ?", (episode,))
            self.loaded.pop(episode, None)

    def _require_scored(self, game, count, n_open, n_begun):
        """Raise Refusal unless `count` scored episodes can be played."""
        if self._is_closed():
            raise Refusal(*CLOSED)
        n_new = self._settings["episodes"] - n_begun
        n_available = n_open + n_new
        if count > n_available:
            raise Refusal(
                409,
                f"your team asked for {count} scored episodes of {game}, but has {n_available} left",
                "ask for fewer, or practise with scored=False",
                left=n_new,
            )

    def replay(self, episode):
        """Return an episode replayed from its stored steps. This takes a few tenths of a second."""
        _, row, steps = read_episode(self.folder, "WHERE episodes.id = ?", episode)
        if row is None:
            raise Refusal(404, f"episode {episode} is no longer stored", STORED)
        actions = [step["action"] for step in steps]
        replayed = ReplayedEpisode(self._settings, row, actions)
        if steps and to_json(replayed.answer) != steps[-1]["answer"]:
            raise Refusal(
                500,
                f"a replay of episode {episode} differs from the stored steps",
                "ask your lecturer to run: pushlab class replay",
                episode=episode,
            )
        return replayed

    def load(self, episode, current):
        """Keep a result of `replay` in memory, unless the episode was loaded, played or deleted meanwhile."""
        best = current.best and sum(current.best)
        with transaction(self._connection) as connection:
            is_current = connection.execute(
                'UPDATE episodes SET "of" = ?, best = ?, began = coalesce(began, ?) WHERE (id, steps) = (?, ?)',
                (current.length, best, to_json(current.first), episode, current.step),
            ).rowcount
        if is_current and episode not in self.loaded:
            for other in [*self.loaded]:
                if self.loaded[other].used < current.used - IDLE:
                    del self.loaded[other]
            self.loaded[episode] = current

    def is_loaded(self, episode):
        """Return whether an episode is in memory. If so, it counts as used now."""
        current = self.loaded.get(episode)
        if current:
            current.used = time.monotonic()
        return current is not None

    def state(self, episode):
        """Return the answer to reset() in an episode in memory.

        Its keys are episode, step, of, observation, info, over and left, the number of scored episodes not begun.
        """
        current = self.loaded[episode]
        query = (
            "SELECT count(*) FROM episodes AS one JOIN episodes AS other USING (team, game) "
            "WHERE one.id = ? AND other.scored"
        )
        n_begun = self._rows(query, episode)[0][0]
        return {
            "episode": episode,
            "step": current.step,
            "of": current.length,
            **current.current,
            "over": current.is_over,
            "left": self._settings["episodes"] - n_begun,
        }

    # ------------------------------------------------------------ steps

    def play(self, team, steps):
        """Play steps (episode, number of the step, action) of different episodes; return their stored answers.

        All episodes must be in memory; those that end leave it. The answer to a step that was played before is returned
        again.

        Raises:
            Refusal: A step is impossible. Then no step is played.
            OSError: The steps can't be stored. Then no step is played.
        """
        episodes = [episode for episode, *_ in steps]
        self.require_own(team, episodes)
        if len(set(episodes)) < len(episodes):
            raise Refusal(422, "an episode occurs twice", "send one step per episode")
        loaded = [self.loaded[episode] for episode in episodes]
        try:
            with transaction(self._connection):
                earlier = [
                    self._earlier_answer(current, *step)
                    for current, step in zip(loaded, steps)
                ]
                answers = [
                    answer or self._advance(current, episode, action)
                    for answer, current, (episode, _, action) in zip(
                        earlier, loaded, steps
                    )
                ]
        except Refusal:
            raise
        except BaseException:  # episodes in memory can be ahead of the stored ones
            for episode in episodes:
                self.loaded.pop(episode, None)
            raise
        for episode, current in zip(episodes, loaded):
            if current.is_over:
                del self.loaded[episode]
        return answers

    def _earlier_answer(self, current, episode, step, action):
        """Return the answer to a step that was played before, or None for the next step.

        Raises:
            Refusal: The step is impossible.
        """
        details = {"episode": episode, "step": current.step}
        hint = f"the next step is {current.step}; if another program uses your token, stop it and call reset()"
        if type(step) is not int or not 0 <= step <= current.step:
            error = f"step {step!r:.20} is not the next step of episode {episode}"
            raise Refusal(409, error, hint, **details)
        try:
            text = to_json(current.read_action(action, 1)[0].tolist())
            is_plain = text == to_json(action)
            require(is_plain, f"the JSON must have plain whole numbers, as in {text}")
        except ValueError as problem:
            error = f"invalid action in episode {episode}"
            raise Refusal(422, error, f"{problem!s:.400}", **details) from None
        if step < current.step:
            query = "SELECT action, answer FROM steps WHERE episode = ? AND step = ?"
            [(played, answer)] = self._rows(query, episode, step)
            if played != text:
                error = f"step {step} of episode {episode} was played with another action, {played}"
                raise Refusal(409, error, hint, **details)
            return json.loads(answer)
        if current.is_over:
            error = f"episode {episode} is over"
            raise Refusal(409, error, "reset() begins another one", **details)
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
                to_json(action),
                reward,
                expected,
                best,
                now,
                to_json(answer),
            ),
        )
        self._connection.execute(
            "UPDATE episodes SET steps = steps + 1, total = total + ?, expected = expected + ?, "
            "finished = ? WHERE id = ?",
            (reward, expected or 0.0, now if current.is_over else None, episode),
        )
        return answer

    # ------------------------------------------------------------ uploads

    @cached_property
    def _contexts(self):
        """The world of Challenge 1, and a mask of the contexts in the public half, shape (contexts,)."""
        world = make_world("evalumap1", challenge_user(self._settings), 0, 0)
        secret = bytes.fromhex(self._settings["secret"])
        order = shuffle(secret, len(world), "halves")
        return world, np.isin(np.arange(len(world)), order[: len(world) // 2])

    def upload(self, team, data):
        """Score and store a CSV file with answers to Challenge 1.

        If the bytes equal those of the last upload, the answer is the same, and the upload isn't counted again.

        Returns:
            A dict with "public", "low" and "high" (the score on the public half and its interval), "left" (remaining
            uploads) and "notes".

        Raises:
            BadData: The file has issues. The message lists all of them.
            Refusal: No uploads are left, or the class is closed.
        """
        file = "the answers"
        world, is_public = self._contexts
        table = read_csv(data, file, len(world))
        codes, _, notes = read_notifications(table, world.schema, len(world), file)
        expected, best = expected_points_and_best(world, codes)
        public = share_of(expected[is_public], best[is_public])
        private = share_of(expected[~is_public], best[~is_public])
        halves = np.where(is_public, "public", "private").tolist()
        points = json.dumps([*zip(halves, expected.tolist(), best.tolist())])
        row = [hashlib.sha256(data).hexdigest(), zlib.compress(data)]
        row += [zlib.compress(points.encode()), *public, *private]
        connection = connect(self.folder, write=True)
        with closing(connection), transaction(connection):
            query = "SELECT sha256 FROM uploads WHERE team = ? ORDER BY number"
            stored = [digest for (digest,) in connection.execute(query, (team.id,))]
            if stored[-1:] != row[:1]:
                if connection.execute("SELECT closed FROM class").fetchone()[0]:
                    raise Refusal(*CLOSED)
                if len(stored) == MAX_UPLOADS:
                    hint = f"the last of {MAX_UPLOADS} uploads counts"
                    raise Refusal(409, "your team has no uploads left", hint, left=0)
                connection.execute(
                    "INSERT INTO uploads VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (team.id, len(stored), time.time(), *row),
                )
                stored.append(row[0])
        score = dict(zip(("public", "low", "high"), public))
        return score | {"left": MAX_UPLOADS - len(stored), "notes": notes}


def read_csv(data, name, max_rows):
    """Return an uploaded table with all cells as text. Raises BadData if it isn't a table or is too large."""
    try:
        text = io.StringIO(data.decode("utf-8-sig"), newline=None)
        n_columns = len(next(csv.reader(text), []))
        require(n_columns <= MAX_COLUMNS, f"it has more than {MAX_COLUMNS} columns")
        text.seek(0)
        table = pd.read_csv(text, dtype=str, keep_default_na=False)
        is_rectangular = isinstance(table.index, pd.RangeIndex)
        require(is_rectangular, "rows are longer than the header")
        require(
            len(table) <= max_rows, f"it has more rows than the {max_rows:,} contexts"
        )
    except (ValueError, csv.Error) as error:
        valid_values = f"not a valid CSV table of answers in UTF-8: {shorten(str(error).strip(), 200)}"
        raise BadData(DataIssue(name, valid_values=valid_values)) from None
    return table.fillna("")
