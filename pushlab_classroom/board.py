"""The leaderboard of a class: a web page rendered by a separate process.

The service answers with the last rendered page, so many browsers don't slow down steps. The page loads nothing from
other servers. Its Content-Security-Policy allows only its own style and script, by their checksums.
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

from pushlab_classroom.database import EPISODES, ClassDatabase
from pushlab_classroom.standings import EMPTY, GAMES, STATES, standings

PAGE = (
    resources.files("pushlab_classroom")
    .joinpath("board.html")
    .read_text(encoding="utf-8")
)
MAX_AGE = 2.0  # seconds after which the page is rendered again


def _source(tag):
    """Return the source expression of the Content-Security-Policy for the content of a tag of the page."""
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
    """The leaderboard of a class, for a web service.

    Args:
        folder: Folder of the class.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self._lock = asyncio.Lock()
        self._page = b""
        self._fresh_until = 0.0
        self._process = None
        self._pipe = None

    async def respond(self, request):
        """Return the response with the page: 304 if the browser has this page, 503 if there is none yet.

        If the rendering process fails, the last page stays, and a later request starts a new process.
        """
        from starlette.responses import Response

        async with self._lock:
            if time.monotonic() > self._fresh_until:
                try:
                    self._page = await asyncio.to_thread(self._render)
                except (OSError, EOFError):
                    self.close()
                self._fresh_until = time.monotonic() + MAX_AGE
        if not self._page:
            headers = HEADERS | {"Refresh": "5", "Retry-After": "5"}
            return Response("The board is not ready yet.\n", 503, headers)
        headers = HEADERS | {"ETag": f'"{hashlib.sha256(self._page).hexdigest()}"'}
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self._page, headers=headers)

    def _render(self):
        if self._process is None:
            context = multiprocessing.get_context("spawn")
            self._pipe, other_end = context.Pipe()
            process = context.Process(
                target=render_on_request, args=(self.folder, other_end), daemon=True
            )
            process.start()
            self._process = process
            other_end.close()
        self._pipe.send(None)
        return self._pipe.recv()

    def close(self):
        """End the rendering process."""
        if self._process is not None:
            self._process.kill()
            self._process = None


# ---------------------------------------------------------------- in the rendering process


def render_on_request(folder, pipe):
    """Send the page after each message on the pipe, until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the server ends this process
    if hasattr(os, "nice"):
        os.nice(10)  # steps have priority
    renderer = BoardRenderer(folder)
    while True:
        try:
            pipe.recv()
        except EOFError:
            return
        pipe.send(renderer.render())


class BoardRenderer:
    """Renderer of the leaderboard of a class.

    Args:
        folder: Folder of the class.
    """

    def __init__(self, folder):
        self.database = ClassDatabase(folder)
        self._board = None
        self._page = b""

    def render(self):
        """Return the page. The last page is returned again if nothing has changed."""
        board = self.content()
        if self._board != board:
            self._board = board
            now = datetime.now().astimezone().isoformat(timespec="seconds")
            self._page = page({"as_of": now, **board}).encode()
        return self._page

    def content(self):
        """Return the content of the page: class, state, news, and games with teams in order of rank."""
        settings = self.database.settings
        table = standings(self.database)
        table = table.astype(object).where(table.notna(), None)
        games = []
        for game, title in GAMES.items():
            teams = table.query("game == @game").to_dict("records")
            games.append({"game": game, "title": title, "teams": teams})
        news = ""
        last = self.database.query(
            f"SELECT name, number, game FROM ({EPISODES}) WHERE scored AND finished ORDER BY finished DESC LIMIT 1"
        )
        for team, number, game in last.itertuples(index=False):
            news = f"{team} finished episode {number + 1} of {settings['episodes']}: {GAMES[game]}"
        return {
            "class": settings["name"],
            "state": settings["state"],
            "news": news,
            "games": games,
        }


def page(board):
    """Return the HTML page of a `BoardRenderer.content`. All names are escaped."""
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
        board=board, played=played, states=STATES, empty=EMPTY
    )


def _axis(game):
    """Return a function from a score to its position on the axis of bars, in per cent.

    The axis of shares goes from 0 to at least 1. The axis of returns exceeds their range by a third at each end that
    isn't 0.
    """
    is_push = game["game"] == "push"
    values = [0.0 if is_push else 1.0, 0.0]
    values += [row["score"] for row in game["teams"] if row["score"] is not None]
    low = min(values)
    high = max(values)
    margin = (high - low) / 3 if is_push else 0.0
    low -= margin if low else 0.0
    high += margin if high else 0.0

    def position(score):
        return round(100 * (score - low) / (high - low or 1), 2)

    return position
