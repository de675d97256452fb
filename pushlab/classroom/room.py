"""Episodes of a class, played one step at a time by any number of teams at once.

What a step is answered is kept before it is told: through a kill, while a power cut may take back the last steps (see
`pushlab.classroom.book.connect`). An episode that is not in memory is made again from the secret and the actions that
were kept. A step is known by its number: sent again it is answered as before, and nothing happens twice.
"""

import hashlib
import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from pushlab.classroom.book import BEGIN, FILE, GAMES, connect, transaction
from pushlab.classroom.lived import Lived, as_json, describe
from pushlab.classroom.lives import whom
from pushlab.classroom.refusal import CLOSED, Refusal, Team, demand_game
from pushlab.classroom.uploads import MOST, Answers
from pushlab.ground.arguments import demand

KEPT = 128  # practice episodes of a team that stay: those used last
LET_GO = """DELETE FROM episodes WHERE id IN (
    SELECT id FROM episodes WHERE team = ? AND NOT scored ORDER BY coalesce(
        (SELECT at FROM steps WHERE episode = id ORDER BY step DESC LIMIT 1), begun) DESC, id DESC LIMIT -1 OFFSET ?)
    AND id NOT IN (SELECT value FROM json_each(?)) RETURNING id"""
WAITING = 10_000  # pages, of 4 KiB, that may be written before they are brought into the database itself


class Room:
    """A class while it is played, by one thread of this process alone; `Room.open(folder)`, and `close()` at the end.

    Only `lived`, `describe` and `upload`, which take long, may be called by other threads as well.
    """

    def __init__(self, folder: Path, lock: FileLock):
        self.folder, self._alone = folder, lock
        self._link, self._path = connect(folder, write=True), str(folder / FILE)
        self._file = os.stat(self._path).st_ino
        self._link.executescript(
            f"PRAGMA wal_autocheckpoint = {WAITING}; PRAGMA synchronous = NORMAL"
        )
        self._class = dict(self._link.execute("SELECT * FROM class").fetchone())
        self._lives: dict[int, Lived] = {}
        self.most = 512  # episodes in memory; of the team that has most the one used least lately leaves first
        self._answers = Answers(folder, self._class)
        self._latest = (
            self._ask("SELECT max(max(begun, coalesce(finished, 0))) FROM episodes")[0][
                0
            ]
            or 0.0
        )

    @classmethod
    def open(cls, folder: Path | str) -> "Room":
        """The Room of a class folder.

        Raises FileNotFoundError or ValueError for what is no class, BlockingIOError where another process plays it.
        """
        connect(folder).close()
        lock = FileLock(
            Path(folder) / f".{FILE}.lock", timeout=0, mode=0o600, thread_local=False
        )
        try:
            lock.acquire()
        except Timeout:
            raise BlockingIOError(
                f"{folder} is being played by another process; one at a time"
            ) from None
        return cls(Path(folder), lock)

    def close(self) -> None:
        """Lets the class go; more than once does no harm."""
        self._link.close()
        self._alone.release()

    def _ask(self, question, *values):
        """The rows that answer an SQL question, a list."""
        return self._link.execute(question, values).fetchall()

    def _now(self):
        """Seconds since 1970, and never fewer than before, whatever becomes of the clock."""
        self._latest = max(self._latest, time.time())
        return self._latest

    # ------------------------------------------------------------ who asks

    def team_of(self, token: str) -> Team | None:
        """The team of a token, or None; what is compared are hashes."""
        digest = hashlib.sha256(str(token).encode("utf-8", "replace")).hexdigest()
        return next(
            (
                Team(*row)
                for row in self._ask(
                    "SELECT id, name FROM teams WHERE token = ?", digest
                )
            ),
            None,
        )

    def owned(self, team: Team, episodes: Iterable[Any]) -> None:
        """Refusal unless all of these are episodes of the team; whether others have them is not told."""
        for one in episodes:
            if (
                type(one) is not int
                or not 0 < one < 2**63
                or not (
                    self._lives[one].team == team.id
                    if one in self._lives
                    else self._ask(
                        "SELECT 1 FROM episodes WHERE id = ? AND team = ?", one, team.id
                    )
                )
            ):
                raise Refusal(
                    404,
                    f"your team has no episode {one!r:.40}",
                    "one that your team has begun",
                )

    def me(self, team: Team) -> dict[str, Any]:
        """What a team has: {"team", "games": {game: {"left", "scored", "practice"}}, "uploads": {"left"}, "closed"}.

        left               scored episodes and uploads that are not begun
        scored, practice   ids of episodes that are not over
        """
        ((uploads,),) = self._ask(
            "SELECT count(*) FROM uploads WHERE team = ?", team.id
        )
        playing = self._ask(
            "SELECT game, scored, id FROM episodes WHERE team = ? AND finished IS NULL ORDER BY id",
            team.id,
        )
        games = {
            game: {"left": self._left(team.id, game)}
            | {
                kind: [one for *what, one in playing if what == [game, scored]]
                for scored, kind in enumerate(("practice", "scored"))
            }
            for game in GAMES
        }
        return {
            "team": team.name,
            "games": games,
            "uploads": {"left": MOST - uploads},
            "closed": self._closed(),
        }

    def _left(self, team, game):
        """How many scored episodes a team has not begun."""
        begun = self._ask(
            "SELECT count(*) FROM episodes WHERE (team, game, scored) = (?, ?, 1)",
            team,
            game,
        )
        return self._class["episodes"] - begun[0][0]

    def _closed(self):
        return self._ask("SELECT closed FROM class")[0][0] is not None

    # ------------------------------------------------------------ episodes

    def describe(self, game: str) -> dict[str, Any]:
        """What an environment says of itself before anything is played; see `pushlab.classroom.lived.describe`."""
        demand_game(game)
        return describe(game, self._class["per_quarter"], self._class["days"])

    def begin(
        self,
        team: Team,
        game: str,
        scored: bool,
        count: int = 1,
        held: Sequence[int] = (),
    ) -> list[int]:
        """Ids of episodes to play: scored ones that are open first, in their order, then new ones.

        held  episodes that the client is playing: none of them is given again

        Raises Refusal where fewer scored episodes are left than are wanted.
        """
        demand_game(game)
        if type(scored) is not bool:
            raise Refusal(422, "no such episodes", "scored: true or false")
        self.owned(team, held)
        with transaction(
            self._link
        ):  # `close_class` comes before all of this, or after
            mine = self._ask(
                "SELECT id, number, finished FROM episodes WHERE (team, game, scored) = (?, ?, ?) "
                "ORDER BY number",
                team.id,
                game,
                scored,
            )
            begun = [
                one for one, _, finished in mine if finished is None and one not in held
            ][: count * scored]
            first, left = (
                max((number for _, number, _ in mine), default=-1) + 1,
                self._left(team.id, game),
            )
            new = range(first, first + count - len(begun))
            if scored and self._closed():
                raise Refusal(*CLOSED)
            if scored and len(new) > left:
                there = len(begun) + left
                raise Refusal(
                    409,
                    f"your team has {there or 'no'} scored episodes of {game} to play, not {count}",
                    ("fewer of them, or " if there else "")
                    + "practice, with scored=False",
                    left=left,
                )
            begun += [
                self._link.execute(
                    BEGIN,
                    (
                        team.id,
                        game,
                        scored,
                        number,
                        self._now(),
                        whom(self._class, team.name, game, scored, number),
                    ),
                ).lastrowid
                for number in new
            ]
            if not scored:
                for (one,) in self._ask(
                    LET_GO, team.id, KEPT, json.dumps([*held, *begun])
                ):
                    self.forget(one)
        return begun

    def loaded(self, episode: int) -> bool:
        """Whether an episode is in memory."""
        return episode in self._lives

    def forget(self, episode: int) -> None:
        """Takes an episode out of memory; what was played stays, and it loads again."""
        self._lives.pop(episode, None)

    def lived(self, episode: int) -> Lived:
        """An episode as it stands, from memory or made again, which takes some tenths of a second."""
        if life := self._lives.get(episode):
            return life
        with closing(connect(self.folder)) as link:
            row = link.execute(
                "SELECT * FROM lived WHERE id = ?", (episode,)
            ).fetchone()
            made = link.execute(
                "SELECT * FROM steps WHERE episode = ? ORDER BY step", (episode,)
            ).fetchall()
        if row is None:
            raise Refusal(
                404, f"episode {episode} was let go", f"the {KEPT} practised last stay"
            )
        life = Lived(self._class, row, [step["action"] for step in made])
        if made and as_json(life.answer) != made[-1]["answer"]:
            raise Refusal(
                500,
                f"episode {episode} does not come out as it was played",
                "your lecturer looks into it: pushlab class replay",
                episode=episode,
            )
        return life

    def load(self, episode: int, life: Lived | None = None) -> Lived:
        """Brings an episode into memory as it stands; life is it, where another thread has made it meanwhile."""
        known = self._lives.pop(episode, None)
        life = known or life or self.lived(episode)
        if not known:
            with transaction(self._link) as link:
                same = link.execute(
                    'UPDATE episodes SET "of" = ?, best = ?, began = coalesce(began, ?) WHERE id = ? '
                    "AND steps = ?",
                    (
                        life.of,
                        life.best and sum(life.best),
                        as_json(life.began),
                        episode,
                        life.step,
                    ),
                ).rowcount
            if not same:
                raise Refusal(
                    503,
                    f"episode {episode} has gone on meanwhile",
                    "the same again in a moment",
                    wait=0,
                )
        self._lives[episode] = life  # the one used last at the end
        while len(self._lives) > self.most:
            ((most, _),) = Counter(
                one.team for one in self._lives.values()
            ).most_common(1)
            self.forget(
                next(number for number, one in self._lives.items() if one.team == most)
            )
        return life

    def stand(self, episode: int) -> dict[str, Any]:
        """What reset() is answered: episode, step, of, observation, info, over, left (scored episodes not begun)."""
        ((team, game),) = self._ask(
            "SELECT team, game FROM episodes WHERE id = ?", episode
        )
        life = self.load(episode)
        return {
            "episode": episode,
            "step": life.step,
            "of": life.of,
            **life.now,
            "over": life.over,
            "left": self._left(team, game),
        }

    def frame(self, episode: int) -> dict[str, Any]:
        """What a picture of an episode needs, as JSON, without what no phone would tell."""
        return self.load(episode).frame()

    # ------------------------------------------------------------ steps

    def play(self, team: Team, steps: Sequence[Sequence[Any]]) -> list[dict[str, Any]]:
        """Answers to steps (episode, number of the step, action), each of another episode; they are kept by then.

        A step that was made before is answered as then. Raises Refusal, and advances nothing, if any cannot be made;
        OSError where they cannot be kept: then none of them is, and their episodes load again as the book has them.
        """
        episodes = [episode for episode, *_ in steps]
        self.owned(team, episodes)
        if len(set(episodes)) < len(episodes):
            raise Refusal(
                422, "an episode is there twice", "one step of each episode at a time"
            )
        if os.stat(self._path).st_ino != self._file:
            raise OSError(f"{FILE} is not the one that was opened")
        lives = [self.load(one) for one in episodes]
        try:
            with transaction(self._link):
                planned = [self._plan(life, *one) for life, one in zip(lives, steps)]
                return [answer or self._advance(*one) for answer, *one in planned]
        except Refusal:
            raise
        except BaseException:
            for one in episodes:
                self.forget(one)
            raise

    def _plan(self, life, episode, step, action):
        """What was answered to this step, or None, and what `_advance` takes; Refusal for what cannot be."""
        more = {"episode": episode, "step": life.step}
        right = f"step {life.step}; does another program play with your token? reset() takes a scored episode up"
        if type(step) is not int or not 0 <= step <= life.step:
            raise Refusal(
                409,
                f"step {step!r:.20} is not the next of episode {episode}",
                right,
                **more,
            )
        try:
            text = as_json(life.check(action, 1)[0].tolist())
            demand(text == as_json(action), f"as JSON {text}, plain whole numbers")
        except ValueError as error:
            raise Refusal(
                422, f"no action of episode {episode}", f"{error!s:.400}", **more
            ) from None
        if step < life.step:
            (made,) = self._ask(
                "SELECT * FROM steps WHERE episode = ? AND step = ?", episode, step
            )
            if made["action"] != text:
                raise Refusal(
                    409,
                    f"step {step} of episode {episode} was another action, {made['action']:.400}",
                    right,
                    **more,
                )
            return json.loads(made["answer"]), life, episode, action, text
        if life.over:
            raise Refusal(
                409, f"episode {episode} is over", "reset() begins another", **more
            )
        if life.scored and self._closed():
            raise Refusal(*CLOSED)
        return None, life, episode, action, text

    def _advance(self, life, episode, action, text):
        """Makes a step and keeps it."""
        step, now = life.step, self._now()
        answer, reward, expected, best = life.advance(action)
        self._link.execute(
            "INSERT INTO steps VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (episode, step, text, reward, expected, best, now, as_json(answer)),
        )
        self._link.execute(
            "UPDATE episodes SET steps = steps + 1, total = total + ?, expected = expected + ?, "
            "finished = ? WHERE id = ?",
            (reward, expected or 0.0, now if life.over else None, episode),
        )
        return answer

    def upload(self, team: Team, data: bytes) -> dict[str, Any]:
        """Scores the CSV file that answers Challenge 1: {"public", "low", "high", "left"} (uploads left).

        The same bytes as the last time are answered as before and count once. Raises BadData with every fault.
        """
        return self._answers.upload(team, data)
