"""The board of a class: a page that is drawn by a process of its own.

The service hands out the last drawing, so steps stay quick however many browsers watch. The page loads nothing from
elsewhere: it contains one style and one script, and its Content-Security-Policy allows these two by their checksums.
"""

import asyncio
import base64
import hashlib
import multiprocessing
import os
import signal
import time
from datetime import datetime
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from pushlab_classroom.database import ClassDatabase
from pushlab_classroom.standings import GAMES, standings

PAGE = (
    resources.files("pushlab_classroom")
    .joinpath("board.html")
    .read_text(encoding="utf-8")
)
SECONDS = 2.0  # for which a drawing is handed out


def _source(tag):
    """Return the source expression of the policy for the content of this tag of the page."""
    content = PAGE.partition(f"<{tag}>")[2].partition(f"</{tag}>")[0]
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


HEADERS = {
    "Content-Security-Policy": "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    f"connect-src 'self'; img-src data:; style-src {_source('style')}; script-src {_source('script')}",
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Content-Type": "text/html; charset=utf-8",
}


class Board:
    """The board that a service shows.

    Args:
        folder: The class's folder.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self._lock = asyncio.Lock()
        self._page = b""
        self._fresh_until = 0.0
        self._artist = None
        self._pipe = None

    async def answer(self, request):
        """Return the response with the page: 304 if the browser has it, 503 if it could not be drawn yet.

        If the drawing process fails, the last page stays, and a later request starts the process again.
        """
        from starlette.responses import Response

        async with self._lock:
            if time.monotonic() > self._fresh_until:
                try:
                    self._page = await asyncio.to_thread(self._draw)
                except (OSError, EOFError):
                    self.close()
                self._fresh_until = time.monotonic() + SECONDS
        if not self._page:
            headers = HEADERS | {"Refresh": "5", "Retry-After": "5"}
            return Response("The board could not be drawn yet.\n", 503, headers)
        headers = HEADERS | {"ETag": f'"{hashlib.sha256(self._page).hexdigest()}"'}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self._page, headers=headers)

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
    """Send the page whenever anything is received, until the other end of the pipe is gone."""
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
    """Draws a class's board."""

    def __init__(self, folder):
        self.database = ClassDatabase(folder)
        self._board = None
        self._page = b""

    def draw(self):
        """Return the page, the same as before if nothing has changed."""
        board = self.board()
        if self._board != board:
            self._board = board
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            self._page = page({"as_of": now, **board}).encode()
        return self._page

    def board(self):
        """Return the content of the page: class, open, news; games with teams in order."""
        settings = self.database.settings
        episodes = self.database.episodes()
        table = standings(self.database)
        table = table.astype(object).where(table.notna(), None)
        is_finished = episodes["scored"] & episodes["finished"].notna()
        finished = episodes[is_finished].sort_values("finished")
        games = []
        for game, title in GAMES.items():
            teams = table[table["game"] == game].to_dict("records")
            games.append({"game": game, "title": title, "teams": teams})
        news = ""
        for row in finished.tail(1).itertuples():
            number = f"{row.number + 1} of {settings['episodes']}"
            news = f"{row.team} finished episode {number}: {GAMES[row.game]}"
        is_open = not settings["closed"]
        return {
            "class": settings["name"],
            "open": is_open,
            "news": news,
            "games": games,
        }


def page(board):
    """Return the page of `Artist.board`, in which all words of others are escaped."""
    template = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    template.filters["axis"] = _axis
    played = [
        game
        for game in board["games"]
        if any(row["done"] or row["playing"] for row in game["teams"])
    ]
    return template.from_string(PAGE).render(board=board, played=played)


def _axis(game):
    """Return a function from a score to its place on the axis of bars, in per cent.

    The axis of shares reaches from 0 to 1 or more. That of returns reaches a third of their range beyond them.
    """
    is_push = game["game"] == "push"
    ends = [0.0 if is_push else 1.0, 0.0]
    ends += [row["score"] for row in game["teams"] if row["score"] is not None]
    least = min(ends)
    most = max(ends)
    room = (most - least) / 3 if is_push else 0.0
    least -= room if least else 0.0
    most += room if most else 0.0

    def place(score):
        share = (score - least) / (most - least or 1)
        return round(100 * min(1, max(0, share)), 2)

    return place
