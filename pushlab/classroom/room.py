"""Episodes of a class, played one step at a time by any number of teams at once.

What a step is answered is kept before it is told: `play` advances episodes in memory and queues their rows, `commit`
writes all that are queued in one transaction, and only then the answers may leave. An episode that is not in memory is
made again from the secret and the actions that were kept. A step is known by its number: sent again it is answered as
before, and nothing happens twice.
"""

import hashlib
import json
import threading
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pushlab.classroom.book import BEGIN, FILE, GAMES, connect, transaction
from pushlab.classroom.lived import Lived, as_json, describe
from pushlab.classroom.lives import whom
from pushlab.classroom.refusal import CLOSED, Refusal, Team, demand_game
from pushlab.classroom.uploads import Answers

KEPT = 128              # practice episodes of a team that stay: those used last


class Room:
    """A class while it is played, by this process alone; `Room.open(folder)`, and `close()` at the end."""

    def __init__(self, folder: Path, lock: FileLock):
        self.folder, self._alone = folder, lock
        self._link = connect(folder, write=True)
        self._class = dict(self._link.execute("SELECT * FROM class").fetchone())
        self._owners = dict(map(tuple, self._link.execute("SELECT id, team FROM episodes")))
        self._lives: dict[int, Lived] = {}
        self._queue: dict[tuple[int, int], tuple] = {}      # (episode, step): row, over, scored; in order
        self._failures = 0                                  # commits that failed
        self._lock, self._heavy = threading.RLock(), threading.Lock()
        self._described: dict[str, dict] = {}
        self._answers = Answers(self._link, self._class)

    @classmethod
    def open(cls, folder: Path | str) -> "Room":
        """The Room of a class folder.

        Raises FileNotFoundError or ValueError for what is no class, BlockingIOError where another process plays it.
        """
        connect(folder).close()
        lock = FileLock(Path(folder) / f".{FILE}.lock", timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
            return cls(Path(folder), lock)
        except Timeout:
            raise BlockingIOError(f"{folder} is being played by another process; one at a time") from None
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Keeps what is queued and lets the class go; more than once does no harm."""
        with self._lock:
            if self._alone.is_locked:
                try:
                    self.commit()
                finally:
                    self._link.close()
                    self._alone.release()

    def _ask(self, question, *values):
        """The rows that answer an SQL question, a list."""
        with self._lock:
            return self._link.execute(question, values).fetchall()

    # ------------------------------------------------------------ who asks

    def team_of(self, token: str) -> Team | None:
        """The team of a token, or None; what is compared are hashes."""
        digest = hashlib.sha256(str(token).encode("utf-8", "replace")).hexdigest()
        found = self._ask("SELECT id, name FROM teams WHERE token = ?", digest)
        return Team(*found[0]) if found else None

    def owned(self, team: Team, episodes: Iterable[Any]) -> None:
        """Refusal unless all of these are episodes of the team; whether others have them is not told."""
        for one in episodes:
            if type(one) is not int or self._owners.get(one) != team.id:
                raise Refusal(404, f"your team has no episode {one!r:.40}", "one that your team has begun")

    def me(self, team: Team) -> dict[str, Any]:
        """What a team has: {"team", "games": {game: {"left", "scored", "practice"}}, "uploads": {"left"}, "closed"}.

        left               scored episodes and uploads that are not begun
        scored, practice   ids of episodes that are not over
        """
        playing = self._ask("SELECT * FROM episodes WHERE team = ? AND finished IS NULL ORDER BY id", team.id)
        games = {game: {"left": self._left(team.id, game), **{
            kind: [row["id"] for row in playing if (row["game"], row["scored"]) == (game, kind == "scored")]
            for kind in ("scored", "practice")}} for game in GAMES}
        return {"team": team.name, "games": games, "uploads": {"left": self._answers.left(team.id)},
                "closed": self._closed()}

    def _left(self, team, game):
        """How many scored episodes a team has not begun."""
        begun = self._ask("SELECT count(*) FROM episodes WHERE (team, game, scored) = (?, ?, 1)", team, game)
        return self._class["episodes"] - begun[0][0]

    def _closed(self):
        return self._ask("SELECT closed FROM class")[0][0] is not None

    # ------------------------------------------------------------ episodes

    def describe(self, game: str) -> dict[str, Any]:
        """What an environment says of itself before anything is played; see `pushlab.classroom.lived.describe`."""
        demand_game(game)
        with self._heavy:
            if game not in self._described:
                self._described[game] = describe(self._class, game)
            return self._described[game]

    def begin(self, team: Team, game: str, scored: bool, count: int = 1, held: Sequence[int] = ()) -> list[int]:
        """Ids of episodes to play: scored ones that are open first, in their order, then new ones.

        held  episodes that the client is playing: none of them is given again

        Raises Refusal where fewer scored episodes are left than are wanted.
        """
        demand_game(game)
        if type(scored) is not bool:
            raise Refusal(422, "no such episodes", "scored: true or false")
        self.owned(team, held)
        playing = set(held)
        with self._lock, transaction(self._link):
            self._link.execute("BEGIN IMMEDIATE")       # `close_class` comes before all of this, or after
            mine = self._ask("SELECT id, number, finished FROM episodes WHERE (team, game, scored) = (?, ?, ?) "
                             "ORDER BY number", team.id, game, scored)
            begun = [one for one, _, finished in mine if finished is None and one not in playing][:count * scored]
            first, left = max((number for _, number, _ in mine), default=-1) + 1, self._left(team.id, game)
            new = range(first, first + count - len(begun))
            if scored and self._closed():
                raise Refusal(*CLOSED)
            if scored and len(new) > left:
                raise Refusal(409, f"your team has {len(begun) + left} scored episodes of {game} to play; {count} were "
                                   "asked for", "fewer of them, or practice: scored=false", left=left)
            begun += [self._link.execute(BEGIN, (team.id, game, scored, number, time.time(), whom(
                self._class, team.name, game, scored, number))).lastrowid for number in new]
            self._owners |= dict.fromkeys(begun, team.id)
        if not scored:
            self._let_go(team, playing.union(begun))
        return begun

    def _let_go(self, team, held):
        """Forgets a team's practice but for the KEPT episodes used last and those that are held."""
        old = {one for one, in self._ask(
            "SELECT id FROM episodes WHERE team = ? AND NOT scored ORDER BY coalesce((SELECT at FROM steps "
            "WHERE episode = id ORDER BY step DESC LIMIT 1), begun) DESC LIMIT -1 OFFSET ?", team.id, KEPT)} - held
        if not old:
            return
        self.commit()                       # nothing of theirs waits to be kept
        with self._lock, transaction(self._link):
            for table, key in (("steps", "episode"), ("episodes", "id")):
                self._link.executemany(f"DELETE FROM {table} WHERE {key} = ?", [(one,) for one in old])
        for one in old:
            self.forget(one)
            del self._owners[one]

    def loaded(self, episode: int) -> bool:
        """Whether an episode is in memory."""
        return episode in self._lives

    def forget(self, episode: int) -> None:
        """Takes an episode out of memory; what was played stays, and it loads again."""
        self._lives.pop(episode, None)

    def load(self, episode: int) -> None:
        """Brings an episode into memory as it stands; some tenths of a second, by one thread at a time."""
        if self.loaded(episode):
            return
        with self._heavy:
            while not self.loaded(episode):
                with self._lock:
                    failures, found = self._failures, self._ask("SELECT * FROM lived WHERE id = ?", episode)
                    if not found:
                        raise Refusal(404, f"episode {episode} was let go", f"the {KEPT} practised last stay")
                    row, = found
                    made = [tuple(one) for one in self._ask(
                        "SELECT action, answer FROM steps WHERE episode = ? ORDER BY step", episode)]
                    made += [(row[2], row[7]) for (one, _), row in self._queue.items() if one == episode]
                life = Lived(self._class, row, [action for action, _ in made])
                if made and as_json(life.answer) != made[-1][1]:
                    raise Refusal(500, f"episode {episode} does not come out as it was played",
                                  "your lecturer looks into it: pushlab class replay", episode=episode)
                with self._lock:
                    if failures == self._failures:      # else some of what was lived again is not kept
                        if row["began"] is None:
                            with transaction(self._link):
                                self._link.execute('UPDATE episodes SET "of" = ?, best = ?, began = ? WHERE id = ?', (
                                    life.of, life.best and sum(life.best), as_json(life.began), episode))
                        self._lives[episode] = life

    def stand(self, episode: int) -> dict[str, Any]:
        """What reset() is answered: episode, step, of, observation, info, over, left (scored episodes not begun)."""
        (team, game), = self._ask("SELECT team, game FROM episodes WHERE id = ?", episode)
        self.load(episode)
        life = self._life(episode)
        return {"episode": episode, "step": life.step, "of": life.of, **life.now, "over": life.over,
                "left": self._left(team, game)}

    def frame(self, episode: int) -> dict[str, Any]:
        """What a picture of an episode needs, as JSON, without what no phone would tell."""
        self.load(episode)
        with self._lock:
            return self._life(episode).frame()

    def _life(self, episode):
        life = self._lives.get(episode)
        if life is None:
            raise Refusal(503, f"episode {episode} is not in memory", "the same again in a moment", wait=0)
        return life

    # ------------------------------------------------------------ steps

    def play(self, team: Team, steps: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Answers to steps (episode, number of the step, action), each of another episode; `commit` keeps them.

        A step that was made before is answered as then. Raises Refusal, and advances nothing, if any cannot be made.
        """
        episodes = [episode for episode, *_ in steps]
        self.owned(team, episodes)
        if len(set(episodes)) < len(episodes):
            raise Refusal(422, "an episode is there twice", "one step of each episode at a time")
        for episode in episodes:
            self.load(episode)
        with self._lock:
            return [answer or self._advance(*one) for answer, *one in [self._plan(*one) for one in steps]]

    def _plan(self, episode, step, action):
        """What was answered to this step, or None, and what `_advance` takes; Refusal for what cannot be."""
        life = self._life(episode)
        more = {"episode": episode, "step": life.step}
        right = f"step {life.step}; does another program play with your token? reset() takes a scored episode up"
        if type(step) is not int or not 0 <= step <= life.step:
            raise Refusal(409, f"step {step!r:.20} is not the next of episode {episode}", right, **more)
        try:
            action = life.check(action, 1)[0].tolist()
        except ValueError as error:
            raise Refusal(422, f"no action of episode {episode}", f"{error!s:.400}", **more) from None
        if step < life.step:
            queued = self._queue.get((episode, step))
            made, answer = (queued[2], queued[7]) if queued else self._ask(
                "SELECT action, answer FROM steps WHERE episode = ? AND step = ?", episode, step)[0]
            if json.loads(made) != action:
                raise Refusal(409, f"step {step} of episode {episode} was another action, {made}", right, **more)
            return json.loads(answer), life, episode, action
        if life.over:
            raise Refusal(409, f"episode {episode} is over", "reset() begins another", **more)
        if life.scored and self._closed():
            raise Refusal(*CLOSED)
        return None, life, episode, action

    def _advance(self, life, episode, action):
        step = life.step
        answer, reward, expected, best = life.advance(action)
        self._queue[episode, step] = (episode, step, as_json(action), reward, expected, best, time.time(),
                                      as_json(answer), life.over, life.scored)
        return answer

    def commit(self) -> None:
        """Keeps all that is queued, in one transaction.

        Raises OSError where that cannot be; then none of it is kept, and its episodes are forgotten: they load again
        as the book has them.
        """
        with self._lock:
            rows, self._queue = [*self._queue.values()], {}
            try:
                with transaction(self._link):
                    self._link.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                                           [row[:8] for row in rows])
                    self._link.executemany(
                        "UPDATE episodes SET steps = steps + 1, total = total + ?, expected = expected + ?, "
                        "finished = ? WHERE id = ?",
                        [(row[3], row[4] or 0.0, row[6] if row[8] else None, row[0]) for row in rows])
                    if any(row[9] for row in rows) and self._closed():
                        raise OSError("the class was closed before these steps were kept")
            except BaseException:
                self._failures += 1
                for episode, *_ in rows:
                    self.forget(episode)
                raise

    def upload(self, team: Team, data: bytes) -> dict[str, Any]:
        """Scores the CSV file that answers Challenge 1: {"public", "low", "high", "left"} (uploads left).

        The same bytes as the last time are answered as before and count once. Raises BadData with every fault.
        """
        if self._closed():
            raise Refusal(*CLOSED)
        with self._heavy:
            return self._answers.upload(team, data, self._lock)
