"""The board of a class: a page, JSON, and the phone of a practice user, drawn by a process of its own.

The service hands out the last drawings, so steps stay quick however many browsers watch. The page loads nothing from
elsewhere: it contains one style and one script, and its Content-Security-Policy allows these two by their checksums.
"""

import asyncio
import base64
import functools
import hashlib
import json
import multiprocessing
import os
import signal
import time
from contextlib import closing
from datetime import datetime
from importlib import resources
from pathlib import Path

import numpy as np
from jinja2 import Environment, StrictUndefined

from pushlab.ground.files import json_text
from pushlab_classroom.database import EPISODES, ClassDatabase, connect
from pushlab_classroom.episode import ReplayedEpisode
from pushlab_classroom.standings import GAMES, curve, standings

PAGE = (
    resources.files("pushlab_classroom")
    .joinpath("board.html")
    .read_text(encoding="utf-8")
)
SECONDS = 2.0  # for which a drawing is handed out
FRAMES = 60  # of the practice episode that is shown
FILES = {
    "/": "text/html; charset=utf-8",
    "/board.json": "application/json",
    "/phone.png": "image/png",
}


def _source(tag):
    """Return the source expression of the policy for the content of this tag of the page."""
    content = PAGE.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"connect-src 'self'; img-src 'self' data:; style-src {_source('style')}; script-src {_source('script')}",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


class Board:
    """The board that a service shows.

    Args:
        folder: The class's folder.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self._files = {}  # path: content, tag
        self._fresh_until = 0.0
        self._drawing = None
        self._artist = None
        self._pipe = None

    async def answer(self, path, request):
        """Return the response with one of FILES: 304 if the browser has it, 404 for a picture that is not there yet."""
        from starlette.responses import Response

        if time.monotonic() > self._fresh_until or not self._files:
            self._drawing = self._drawing or asyncio.ensure_future(self._update())
            await asyncio.shield(self._drawing)
        if not self._files:
            headers = HEADERS | {"Refresh": "5", "Retry-After": "5"}
            return Response("The board could not be drawn yet.\n", 503, headers)
        if path not in self._files:
            return Response("There is nothing to show here yet.\n", 404, HEADERS)
        content, tag = self._files[path]
        headers = HEADERS | {"ETag": tag, "Content-Type": FILES[path]}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers)

    async def _update(self):
        """Get new drawings. If this fails, the last ones stay, and the next request starts the artist again."""
        try:
            for path, content in (await asyncio.to_thread(self._draw)).items():
                tag = hashlib.sha256(content).hexdigest()[:32]
                self._files[path] = (content, f'"{tag}"')
        except (OSError, EOFError):
            self.close()
        finally:
            self._fresh_until = time.monotonic() + SECONDS
            self._drawing = None

    def _draw(self):
        if self._artist is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other_end = context.Pipe()
            artist = context.Process(
                target=draw_on_request, args=(self.folder, other_end), daemon=True
            )
            artist.start()
            self._artist = artist
            other_end.close()
        self._pipe.send(None)
        return self._pipe.recv()

    def close(self):
        """End the process that draws."""
        if self._artist is not None:
            self._artist.kill()
            self._artist = None


# ---------------------------------------------------------------- in the process that draws


def draw_on_request(folder, pipe):
    """Send the files of the board whenever anything is received, until the other end of the pipe is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    if hasattr(os, "nice"):
        os.nice(10)  # steps first
    artist = Artist(folder)
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        pipe.send(artist.draw())


class Artist:
    """Draws the files of a class's board, and keeps what cannot change any more."""

    def __init__(self, folder):
        self.database = ClassDatabase(folder)
        self._curve = functools.cache(lambda one: curve(self.database.steps(one)))
        self._content = None
        self._files = {}

    def draw(self):
        """Return {path: content} of FILES, the same as before if nothing has changed; no picture without practice."""
        from pushlab.plots import phone, png

        content = (self.board(), practice_frames(self.database))
        if self._content != content:
            self._content = content
            board, frames = content
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            board = {"as_of": now, **board}
            files = {"/phone.png": png(phone(frames))} if frames else {}
            text = page(board, frames, files.get("/phone.png", b""))
            files["/"] = text.encode()
            files["/board.json"] = json_text(board).encode()
            self._files = files
        return self._files

    def board(self):
        """Return the content of /board.json: class, open, news; games with teams in order and learning curves."""
        settings = self.database.settings
        episodes = self.database.episodes()
        table = standings(self.database)
        is_finished = episodes["scored"] & episodes["finished"].notna()
        finished = episodes[is_finished].sort_values("finished")
        of_challenge = finished[finished["game"] == "evalumap2"].groupby("team")["id"]
        curves = {}
        for team, ids in of_challenge:
            shares = np.mean([self._curve(episode) for episode in ids], axis=0)
            curves[team] = shares.round(4).tolist()
        table = table.astype(object).where(table.notna(), None)
        games = []
        for game, title in GAMES.items():
            teams = table[table["game"] == game].to_dict("records")
            shown = [row["team"] for row in teams if row["team"] in curves]
            if game != "evalumap2":
                shown = []
            games.append(
                {
                    "game": game,
                    "title": title,
                    "teams": teams,
                    "curves": {team: curves[team] for team in shown},
                }
            )
        news = ""
        for row in finished.tail(1).itertuples():
            number = f"{row.number + 1} of {settings['episodes']}"
            news = f"{row.team} finished episode {number}: {GAMES[row.game]}"
        return {
            "class": settings["name"],
            "open": not settings["closed"],
            "news": news,
            "games": games,
        }


def practice_frames(database):
    """Return the last frames of the newest practice episode of evalumap2, for `pushlab.plots.phone`; [] without any."""
    with closing(connect(database.folder)) as connection:
        row = connection.execute(
            f"{EPISODES} WHERE game = 'evalumap2' AND NOT scored AND steps ORDER BY episodes.id DESC LIMIT 1"
        ).fetchone()
        settings = connection.execute("SELECT * FROM class").fetchone()
    if row is None:
        return []
    episode = ReplayedEpisode(settings, row)
    frames = []
    for action in database.steps(row["id"])["action"]:
        episode.advance(json.loads(action))
        frames.append(episode.frame())
    return frames[-FRAMES:]


def page(board, frames, picture=b""):
    """Return the page. All words of others are escaped.

    Args:
        board: Content of /board.json.
        frames: Frames of the phone's picture.
        picture: The picture; the page has its checksum.
    """
    template = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    template.filters["axis"] = _axis
    played = [
        game
        for game in board["games"]
        if any(row["done"] or row["playing"] for row in game["teams"])
    ]
    return template.from_string(PAGE).render(
        board=board,
        played=played,
        now=frames and frames[-1],
        tag=hashlib.sha256(picture).hexdigest()[:16],
    )


def _axis(game):
    """Return a function from a score to its place on the axis of bars and curves, in per cent.

    The axis of shares reaches from 0 to 1 or more. That of returns reaches a third of their range beyond them.
    """
    scores = [row["score"] for row in game["teams"] if row["score"] is not None]
    is_push = game["game"] == "push"
    least = min([0, not is_push, *scores])
    most = max([0, not is_push, *scores])
    room = (most - least) / 3 if is_push else 0
    least = least and least - room
    most = most and most + room

    def place(score):
        share = (score - least) / (most - least or 1)
        return round(100 * min(1, max(0, share)), 2)

    return place
