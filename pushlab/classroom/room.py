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

from pushlab.classroom.book import FILE, GAMES, connect, settings_of, transaction
from pushlab.classroom.chance import derived, shuffled
from pushlab.classroom.lived import QUESTION, Lived, as_json, plain
from pushlab.classroom.lives import Person, world_of
from pushlab.classroom.refusal import Refusal, Team
from pushlab.classroom.uploads import Answers
from pushlab.users.synthesis.user import shared_texts

PRACTICE = 3            # users to practise with
MOST_AT_ONCE = 256      # episodes begun by one call, and steps


class Room:
    """A class while it is played, by this process alone; `Room.open(folder)`, and `close()` at the end."""

    def __init__(self, folder: Path, lock: FileLock):
        self.folder, self._file_lock = folder, lock
        self._link = connect(folder, write=True)
        settings = settings_of(self._link)
        self._secret, self.settings = bytes.fromhex(settings.pop("secret")), settings
        self._owners = dict(self._link.execute("SELECT id, team FROM episodes").fetchall())
        self._lives: dict[int, Lived] = {}
        self._queue: dict[tuple[int, int], tuple] = {}      # (episode, step): row, in the order of play
        self._failures = 0                                  # commits that failed
        self._lock, self._heavy = threading.RLock(), threading.Lock()
        self._described: dict[str, dict] = {}
        self._answers = Answers(self._link, self._secret, settings)

    @classmethod
    def open(cls, folder: Path | str) -> "Room":
        """The Room of a class folder.

        Raises FileNotFoundError or ValueError for what is no class, BlockingIOError where another process plays it.
        """
        connect(folder).close()
        lock = FileLock(Path(folder) / f".{FILE}.lock", timeout=0, mode=0o600, thread_local=False)
        try:
            lock.acquire()
        except Timeout:
            raise BlockingIOError(f"{folder} is being played by another process; one at a time") from None
        try:
            room = cls(Path(folder), lock)
            # A process that was killed may have begun episodes and told nobody what they hold.
            for one, in room._link.execute("SELECT id FROM episodes WHERE began IS NULL").fetchall():
                room.load(one)
            return room
        except BaseException:
            lock.release()
            raise

    def close(self) -> None:
        """Keeps what is queued and lets the class go; more than once does no harm."""
        with self._lock:
            if self._file_lock.is_locked:
                try:
                    self.commit()
                finally:
                    self._link.close()
                    self._file_lock.release()

    # ------------------------------------------------------------ who asks

    def team_of(self, token: str) -> Team | None:
        """The team of a token, or None; what is compared are hashes."""
        digest = hashlib.sha256(str(token).encode("utf-8", "replace")).hexdigest()
        with self._lock:
            row = self._link.execute("SELECT id, name FROM teams WHERE token = ?", (digest,)).fetchone()
        return Team(*row) if row else None

    def owned(self, team: Team, episodes: Iterable[Any]) -> None:
        """Refusal unless all of these are episodes of the team; whether others have them is not told."""
        for one in episodes:
            if type(one) is not int or self._owners.get(one) != team.id:
                raise Refusal(404, f"your team has no episode {one!r:.40}",
                              "the number of an episode that your team has begun")

    def me(self, team: Team) -> dict[str, Any]:
        """What a team has and has left: {"team", "games": {game: {"scored", "left", "open", "practice"}}, "uploads"}.

        open, practice  ids of its scored and practice episodes that are not over
        """
        with self._lock:
            rows = self._link.execute("SELECT id, game, scored, finished FROM episodes WHERE team = ? ORDER BY id",
                                      (team.id,)).fetchall()
            left = self._answers.left(team.id)
        games = {}
        for game in GAMES:
            mine = [row for row in rows if row["game"] == game]
            begun = sum(row["scored"] for row in mine)
            playing = {kind: [row["id"] for row in mine if row["scored"] == kind and row["finished"] is None]
                       for kind in (0, 1)}
            games[game] = {"scored": self.settings["episodes"], "left": self.settings["episodes"] - begun,
                           "open": playing[1], "practice": playing[0]}
        return {"team": team.name, "games": games, "uploads": {"left": left}, "closed": self._closed()}

    def _closed(self):
        with self._lock:
            value, = self._link.execute("SELECT value FROM settings WHERE key = 'closed'").fetchone()
        return value != "null"

    # ------------------------------------------------------------ episodes

    def describe(self, game: str) -> dict[str, Any]:
        """What an environment says of itself before anything is played, as JSON.

        schema (a schema file), candidates, labels, observation_names, action_names, action_choices; observation and
        action: {"nvec": […]}, {"n": 5} or, of a dict, one for each key; episode: {"steps", "days"}; of push also
        actions, fates, worths, weights, horizon.
        """
        _demand_game(game)
        with self._heavy:
            if game not in self._described:
                self._described[game] = self._describe(game)
            return self._described[game]

    def _describe(self, game):
        with self._lock:
            seed, intercept = self._link.execute("SELECT seed, intercept FROM users WHERE role = 'practice'").fetchone()
        person = Person(int(seed, 16), intercept, self.settings["per_quarter"])
        world = world_of(game, person, derived(self._secret, "describe", game), self.settings["days"])
        catalogue = world if game == "evalumap2" else None
        told = {"game": game, "name": world.name, "schema": json.loads(shared_texts()["schema.json"]),
                "candidates": plain(catalogue.candidates) if catalogue else None, "labels": world.labels,
                "observation": _space(world.observation_space), "action": _space(world.action_space),
                "observation_names": world.observation_names, "action_names": world.action_names,
                "action_choices": world.action_choices,
                "episode": {"steps": None, "about": self.settings["per_quarter"] if catalogue else None,
                            "days": None if catalogue else self.settings["days"]}}
        if game == "push":
            told |= {"actions": world.actions, "fates": world.fates, "worths": plain(world.worths),
                     "weights": world.weights, "horizon": world.horizon}
        return json.loads(as_json(told))

    def begin(self, team: Team, game: str, scored: bool, count: int = 1, held: Sequence[int] = ()) -> list[int]:
        """Ids of episodes to play: scored ones that are open first, in their order, then new ones.

        held  episodes that the client is playing: none of them is given again

        Raises Refusal where fewer scored episodes are left than are wanted.
        """
        _demand_game(game)
        if type(count) is not int or not 1 <= count <= MOST_AT_ONCE or type(scored) is not bool:
            raise Refusal(422, "no episodes of this kind", f"scored is true or false, count from 1 to {MOST_AT_ONCE}")
        self.owned(team, held)
        with self._lock:
            mine = self._link.execute("SELECT id, finished FROM episodes WHERE (team, game, scored) = (?, ?, ?) "
                                      "ORDER BY number", (team.id, game, scored)).fetchall()
            begun = [row["id"] for row in mine if row["finished"] is None and row["id"] not in held][:count * scored]
            new, left = range(len(mine), len(mine) + count - len(begun)), self.settings["episodes"] - len(mine)
            if scored and self._closed():
                raise Refusal(409, "the class is closed", "practice goes on: scored=false", left=0)
            if scored and len(new) > left:
                raise Refusal(409, f"{len(begun) + left} scored episodes of {game} are left to your team, and {count} "
                              "were asked for", "fewer of them, or practice: scored=false", left=left)
            with transaction(self._link):
                begun += [self._link.execute(
                    "INSERT INTO episodes (team, game, scored, number, user, begun) VALUES (?, ?, ?, ?, "
                    "(SELECT id FROM users WHERE role = ? AND number = ?), ?)",
                    (team.id, game, scored, number, *self._user(team, game, scored, number), time.time())).lastrowid
                    for number in new]
            self._owners |= dict.fromkeys(begun, team.id)
            return begun

    def _user(self, team, game, scored, number):
        """Role and number of the user whom an episode is lived with: each team meets them in an order of its own."""
        role, count = ("scored", self.settings["episodes"]) if scored else ("practice", PRACTICE)
        return role, shuffled(self._secret, count, "order", team.name, game, role)[number % count]

    def loaded(self, episode: int) -> bool:
        """Whether an episode is in memory."""
        return episode in self._lives

    def forget(self, episode: int) -> None:
        """Takes an episode out of memory; what was played stays, and it loads again."""
        with self._lock:
            self._lives.pop(episode, None)

    def load(self, episode: int) -> None:
        """Brings an episode into memory as it stands; some tenths of a second, by one thread at a time."""
        if episode in self._lives:
            return
        with self._heavy:
            while episode not in self._lives:
                with self._lock:
                    failures, row = self._failures, self._link.execute(QUESTION, (episode,)).fetchone()
                    logged = [tuple(one) for one in self._link.execute(
                        "SELECT action, answer FROM steps WHERE episode = ? ORDER BY step", (episode,))]
                    logged += [(one[2], one[7]) for one in self._queue.values() if one[0] == episode]
                life = Lived(self._secret, self.settings, row)
                began, answer = as_json(life.now), None
                for action, _ in logged:
                    answer = life.advance(json.loads(action))[0]
                if logged and as_json(answer) != logged[-1][1]:
                    raise Refusal(503, f"episode {episode} does not come out as it was played",
                                  "the lecturer plays it again: pushlab class replay")
                with self._lock:
                    if failures == self._failures:      # else some of what was replayed is not kept
                        if row["began"] is None:
                            with transaction(self._link):
                                self._link.execute(
                                    'UPDATE episodes SET "of" = ?, best = ?, began = ? WHERE id = ?',
                                    (life.of, life.best and sum(life.best), began, episode))
                        self._lives[episode] = life

    def stand(self, episode: int) -> dict[str, Any]:
        """What reset() is answered: episode, step, of, observation, info, over, left (scored episodes not begun)."""
        self.load(episode)
        with self._lock:
            life = self._lives[episode]
            begun, = self._link.execute("SELECT count(*) FROM episodes WHERE scored AND (team, game) = "
                                        "(SELECT team, game FROM episodes WHERE id = ?)", (episode,)).fetchone()
            return {"episode": episode, "step": life.step, "of": life.of, **life.now, "over": life.over,
                    "left": self.settings["episodes"] - begun}

    # ------------------------------------------------------------ steps

    def play(self, team: Team, steps: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Answers to steps (episode, number of the step, action), each of another episode; `commit` keeps them.

        A step that was made before is answered as then. Raises Refusal, and advances nothing, if any cannot be made.
        """
        if not 1 <= len(steps) <= MOST_AT_ONCE or not all(len(one) == 3 for one in steps):
            raise Refusal(422, "no steps", f"1 to {MOST_AT_ONCE} of [episode, step, action]")
        episodes = [episode for episode, *_ in steps]
        self.owned(team, episodes)
        if len(set(episodes)) < len(episodes):
            raise Refusal(422, "an episode is there twice", "one step of each episode at a time")
        for episode in episodes:
            self.load(episode)
        with self._lock:
            planned = [self._plan(*one) for one in steps]
            return [self._advance(*one) if told is None else json.loads(told) for told, *one in planned]

    def _plan(self, episode, step, action):
        """What was answered to this step, or None; then what `_advance` takes. Refusal for what cannot be."""
        life = self._lives.get(episode)
        if life is None:
            raise Refusal(503, f"episode {episode} is being loaded", "the same again in a moment")
        if type(step) is not int or not 0 <= step <= life.step:
            raise Refusal(409, f"step {step!r:.20} of episode {episode} is not its next", f"step {life.step}",
                          episode=episode, step=life.step)
        try:
            action = life.check(action)
        except ValueError as error:
            raise Refusal(422, f"episode {episode}, step {step}", f"{error!s:.400}", episode=episode,
                          step=life.step) from None
        if step < life.step:
            made, answer = self._made(episode, step)
            if json.loads(made) != action:
                raise Refusal(409, f"step {step} of episode {episode} was made with another action",
                              f"its action was {made}; the next step is {life.step}", episode=episode, step=life.step)
            return answer, life, episode, action
        if life.over:
            raise Refusal(409, f"episode {episode} is over", "a new one: reset()", episode=episode, step=life.step)
        if life.scored and self._closed():
            raise Refusal(409, "the class is closed", "practice goes on: scored=false")
        return None, life, episode, action

    def _made(self, episode, step):
        """Action and answer of a step that was made, as JSON."""
        if (episode, step) in self._queue:
            row = self._queue[episode, step]
            return row[2], row[7]
        return self._link.execute("SELECT action, answer FROM steps WHERE episode = ? AND step = ?",
                                  (episode, step)).fetchone()

    def _advance(self, life, episode, action):
        step = life.step
        answer, reward, expected, best = life.advance(action)
        self._queue[episode, step] = (episode, step, as_json(action), reward, expected, best, time.time(),
                                      as_json(answer), life.over)
        return answer

    def commit(self) -> None:
        """Keeps all that is queued, in one transaction.

        Raises OSError where that cannot be; then none of it is kept, and its episodes are forgotten: they load again
        as the book has them.
        """
        with self._lock:
            rows, self._queue = self._queue, {}
            if not rows:
                return
            try:
                with transaction(self._link):
                    self._link.executemany("INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                                           [row[:8] for row in rows.values()])
                    self._link.executemany(
                        "UPDATE episodes SET steps = steps + 1, total = total + ?, expected = expected + ?, "
                        "finished = ? WHERE id = ?",
                        [(row[3], row[4] or 0.0, row[6] if row[8] else None, row[0]) for row in rows.values()])
            except BaseException:
                self._failures += 1
                for episode, _ in rows:
                    self._lives.pop(episode, None)
                raise

    def upload(self, team: Team, data: bytes) -> dict[str, Any]:
        """Scores the CSV file that answers Challenge 1: {"public", "low", "high", "left"} (uploads left).

        The same bytes as the last time are answered as before and count once. Raises BadData with every fault.
        """
        if self._closed():
            raise Refusal(409, "the class is closed", "an upload while it is open")
        with self._heavy:
            return self._answers.upload(team, data, self._lock)


def _demand_game(game):
    if game not in GAMES:
        raise Refusal(404, f"no game is called {game!r:.40}", f"one of {', '.join(GAMES)}")


def _space(space):
    if hasattr(space, "spaces"):
        return {name: _space(part) for name, part in space.spaces.items()}
    return {"nvec": plain(space.nvec)} if hasattr(space, "nvec") else {"n": int(space.n)}
