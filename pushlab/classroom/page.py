"""The leaderboard as a page, as JSON and as CSV, and the phone now: drawn by a process of its own.

The service hands out what that process last drew, so that steps stay quick however many browsers watch. The process
reads the class's book and ends by itself when the service does. The page needs no address but the service's own:
one style and one script stand in it, and its Content-Security-Policy allows these two by their checksums.
"""

import asyncio
import base64
import functools
import hashlib
import json
import os
import re
import sys
import time
from collections.abc import Sequence
from datetime import datetime
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

PAGE = (
    resources.files("pushlab.classroom")
    .joinpath("board.html")
    .read_text(encoding="utf-8")
)
STYLE, SCRIPT = (
    "'sha256-"
    + base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
    + "'"
    for inside in re.search(
        "<style>(.*?)</style>.*<script>(.*?)</script>", PAGE, re.DOTALL
    ).groups()
)
POLICY = (
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; connect-src 'self'; "
    f"img-src 'self' data:; style-src {STYLE}; script-src {SCRIPT}"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
KEPT = 2.0  # seconds for which a drawing is handed out as it is
FIRST = 600.0  # seconds that the first drawing may take
FILES = {
    "/": "text/html; charset=utf-8",
    "/board.json": "application/json",
    "/board.csv": "text/csv; charset=utf-8",
    "/phone.png": "image/png",
}


class Board:
    """What a service shows of the class in `folder`: its `routes` answer anyone, from drawings kept for a while."""

    def __init__(self, folder: Path | str) -> None:
        self.folder, self.drawn, self.fresh_until = Path(folder), {}, 0.0
        self._artist, self._drawing = None, None

    @property
    def routes(self) -> "list[Route]":
        from starlette.routing import Route

        return [Route(path, functools.partial(self.answer, path)) for path in FILES]

    async def answer(self, path: str, request: "Request") -> "Response":
        """One of FILES: 304 where the browser has it already, 404 for a picture that is not there yet."""
        from starlette.responses import Response

        if time.monotonic() > self.fresh_until or not self.drawn:
            self._drawing = self._drawing or asyncio.ensure_future(self._draw())
            await asyncio.shield(self._drawing)
        if path not in self.drawn:
            # A browser asks again by itself: on a slow machine the first drawing may take longer than the wait for it.
            return Response(
                "The board has nothing to show here yet.\n",
                404 if self.drawn else 503,
                HEADERS | ({} if self.drawn else {"Refresh": "5", "Retry-After": "5"}),
            )
        body, tag = self.drawn[path]
        headers = HEADERS | {"ETag": tag, "Content-Type": FILES[path]}
        if tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers)

    async def _draw(self):
        """Asks the artist for new drawings; where it fails the last ones stay, and the next one who asks starts it."""
        try:
            if self._artist is None:
                pipes = {
                    "stdin": asyncio.subprocess.PIPE,
                    "stdout": asyncio.subprocess.PIPE,
                    "limit": 2**27,
                }
                self._artist = await asyncio.create_subprocess_exec(
                    sys.executable, "-P", "-m", __name__, str(self.folder), **pipes
                )
            self._artist.stdin.write(b"\n")
            # The first time it imports what draws, and Matplotlib may list the machine's fonts.
            answer = await asyncio.wait_for(
                self._artist.stdout.readline(), 60 if self.drawn else FIRST
            )
            drawn = {
                path: base64.b64decode(data)
                for path, data in json.loads(answer).items()
            }
            self.drawn = {
                path: (data, f'"{hashlib.sha256(data).hexdigest()[:32]}"')
                for path, data in drawn.items()
            }
        except (
            OSError,
            ValueError,
            RuntimeError,
            TimeoutError,
        ):  # RuntimeError: uvloop's, of a pipe that ended
            await self.close()
        finally:
            self.fresh_until, self._drawing = time.monotonic() + KEPT, None

    async def close(self) -> None:
        """Ends the process that draws."""
        artist, self._artist = self._artist, None
        if artist is not None and artist.returncode is None:
            artist.kill()
            await artist.wait()


# ---------------------------------------------------------------- in the process that draws


class Artist:
    """Draws the files of a class's board from its book; keeps what cannot change any more."""

    def __init__(self, folder: Path | str) -> None:
        from pushlab.classroom.book import Book
        from pushlab.classroom.standings import curve

        self.book = Book(folder)
        self._curve = functools.cache(lambda episode: curve(self.book.steps(episode)))
        self._drawn: tuple[Any, dict[str, bytes]] = None, {}

    def draw(self) -> dict[str, bytes]:
        """{path: content} of FILES, the very same as before where nothing has changed; no picture without practice."""
        from pushlab.ground.files import csv_text, json_text
        from pushlab.plots import phone, png

        seen = self.board(), self.book.phone()
        if self._drawn[0] != seen:
            board, frames = seen
            board = {
                "as_of": datetime.now().astimezone().isoformat(timespec="seconds"),
                **board,
            }
            files = {"/phone.png": png(phone(frames))} if frames else {}
            rows = [row for game in board["games"] for row in game["teams"]]
            files |= {
                "/": page(board, frames, files.get("/phone.png", b"")).encode(),
                "/board.json": json_text(board).encode(),
                "/board.csv": csv_text(
                    [list(rows[0]), *(row.values() for row in rows)]
                ).encode(),
            }
            self._drawn = seen, files
        return self._drawn[1]

    def board(self) -> dict[str, Any]:
        """What /board.json tells: class, open, news; games: teams in order, and curves, {team: shares so far}."""
        import numpy as np

        from pushlab.classroom.standings import GAMES, standings

        settings, episodes, table = (
            self.book.settings,
            self.book.episodes(),
            standings(self.book),
        )
        ended = episodes[episodes["scored"] & episodes["finished"].notna()].sort_values(
            "finished"
        )
        learned = {
            team: np.mean([self._curve(one) for one in ids], axis=0).round(4).tolist()
            for team, ids in ended[ended["game"] == "evalumap2"].groupby("team")["id"]
        }
        told = table.astype(object).where(table.notna(), None)
        games = [
            {
                "game": game,
                "title": title,
                "teams": told[told["game"] == game].to_dict("records"),
                "curves": {},
            }
            for game, title in GAMES.items()
        ]
        games[1]["curves"] = {
            row["team"]: learned[row["team"]]
            for row in games[1]["teams"]
            if row["team"] in learned
        }
        news = "".join(
            f"{row.team} finished episode {row.number + 1} of {settings['episodes']}: {GAMES[row.game]}"
            for row in ended.tail(1).itertuples()
        )
        return {
            "class": settings["name"],
            "open": not settings["closed"],
            "news": news,
            "games": games,
        }


def page(
    board: dict[str, Any], frames: Sequence[dict[str, Any]] | None, picture: bytes = b""
) -> str:
    """The page: /board.json's content, the frames of the phone now and its picture, of which only a checksum is told.

    Every word of others is text and nothing else.
    """
    from jinja2 import Environment, StrictUndefined

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
    """A function from a score of this game to its place on the axis of bars and curves, in per cent.

    Shares go from 0 to 1 or more; returns a day as far as they reach, with room for intervals, whose ends may be cut.
    """
    ends = [
        0,
        game["game"] != "push",
        *(row["score"] for row in game["teams"] if row["score"] is not None),
    ]
    least, most = min(ends), max(ends)
    room = (most - least) / 3 if game["game"] == "push" else 0
    least, most = least and least - room, most and most + room
    return lambda score: round(
        100 * min(1, max(0, (score - least) / (most - least or 1))), 2
    )


if __name__ == "__main__":
    if hasattr(os, "nice"):
        os.nice(10)  # steps first
    artist = Artist(sys.argv[1])
    for _ in sys.stdin:  # ends with the service, however that ends
        print(
            json.dumps(
                {
                    path: base64.b64encode(data).decode()
                    for path, data in artist.draw().items()
                }
            ),
            flush=True,
        )
