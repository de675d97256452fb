"""The web service of a class: a Starlette application around one Room, whose steps are played on the event loop.

A step takes some thirty microseconds, so nothing is gained by threads; what takes long (a person's days, a table of
answers) is made in one thread beside the loop, a team's turn after another's. An answer leaves when what it tells is
committed, and those that are ready within a millisecond share a commit.
"""

import asyncio
import itertools
import json
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Awaitable, AsyncIterator, Awaitable, Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pushlab.classroom.limits import Buckets, Limits
from pushlab.classroom.page import Board
from pushlab.classroom.room import Refusal, Room, Team
from pushlab.ground.faults import BadData
from pushlab.ground.reading import read_json

GATHERED = 0.001        # seconds between two commits at least, while answers wait for one
HELD_UP = 0.2           # seconds that a refusal for haste takes, so that haste does not pay
SHOWN = 20              # faults of a table told at once
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer",
           "content-security-policy": "default-src 'none'; frame-ancestors 'none'"}
GAMES = ("evalumap1", "evalumap2", "push")
MOVES = "{\"steps\": [[episode, step, action], …]}, episode and step whole numbers"
log = logging.getLogger("pushlab.serve")
encoded = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


def answer(data: Any, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    """Data as JSON, never kept by anything between here and the client, and nothing that a browser would run."""
    text = data if isinstance(data, str) else encoded(data)
    return Response(text, status, {**HEADERS, **(headers or {})}, "application/json")


def refused(status: int, error: str, right: str, **more: Any) -> Response:
    """A refusal as JSON: what is wrong, and what would be right; `wait` seconds are told in Retry-After as well."""
    headers = {"retry-after": str(int(more["wait"]) + 1)} if "wait" in more else {}
    return answer({"error": error, "right": right, **more}, status, headers)


class CatchAll:
    """What nobody expected is told to the lecturer's terminal with a number, and to the client by that number alone."""

    def __init__(self, app: ASGIApp):
        self.app, self.numbers = app, itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        begun = False

        async def sent(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except Exception:
            number = next(self.numbers)
            log.exception("fault %d of the server, at %s %r", number, scope.get("method"), scope.get("path"))
            if begun:
                raise       # half an answer is no answer: the connection is closed
            await refused(500, f"the server failed, fault {number}", "try again; if it stays, tell your lecturer the "
                          "number", fault=number)(scope, receive, send)


class Service:
    """The Room's doors: who comes in, how often and with what, and when an answer may leave.

    room     the one Room that plays this class
    limits   what a team, an address and all may take
    """

    def __init__(self, room: Room, limits: Limits):
        self.room, self.limits = room, limits
        self.requests, self.steps, self.begins, self.wrong = (
            Buckets(rate, max(rate * limits.burst, least)) for rate, least in (
                (limits.requests, 1), (limits.steps, limits.batch), (limits.begins, limits.practice),
                (limits.wrong, 1)))
        self.aside = ThreadPoolExecutor(1, "aside")
        self.turns: defaultdict[Any, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.used: OrderedDict[int, None] = OrderedDict()       # episodes in memory, the one used last at the end
        self.described: dict[str, str] = {}
        self.commit_at = 0.0
        self.committed: asyncio.Future | None = None

    # ------------------------------------------------------------ what every request goes through

    def team(self, request: Request) -> Team:
        """The team whose token the request has; Refusal 401, or 429 where there were too many."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        team = self.room.team_of(token.strip()) if kind.lower() == "bearer" else None
        if team is None:
            address = request.client.host if request.client else ""
            self.hurry(self.wrong, address, 1, "requests without a valid token")
            raise Refusal(401, "this is no token of a team", "the header  Authorization: Bearer TOKEN, with the token "
                          "that your lecturer gave to your team")
        self.hurry(self.requests, team.id, 1, "requests")
        return team

    def hurry(self, buckets: Buckets, name: Any, amount: float, what: str) -> None:
        """Takes from a bucket; Refusal 429 where it is empty."""
        if wait := buckets.wait(name, amount):
            raise Refusal(429, f"too many {what}", f"at most {buckets.rate:g} a second; go on after the seconds that "
                          "are told", wait=round(wait, 3))

    async def body(self, request: Request, kind: str, most: int) -> bytes:
        """The request's body, whose length and type are told and right; Refusal 411, 413 or 415."""
        length = request.headers.get("content-length", "")
        if not length.isdecimal():
            raise Refusal(411, "the length of the body is not told", "a Content-Length, and no chunks")
        if len(length) > 15 or int(length) > most:
            raise Refusal(413, "the body is too long", f"at most {most:,} bytes")
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() != kind:
            raise Refusal(415, "this kind of body is not read here", f"the header  Content-Type: {kind}")
        return await request.body()

    async def asked(self, request: Request, *keys: str, **others: Any) -> list[Any]:
        """The values of a body of JSON: these keys, all of them, others with what they are if not told, and no more."""
        data = read_json(await self.body(request, "application/json", self.limits.body), name="the body")
        if not set(keys) <= set(data) <= {*keys, *others}:
            shown = ", ".join([*(f'"{key}": …' for key in keys), *(f'perhaps "{key}": …' for key in others)])
            raise Refusal(400, "the keys are not right", "{" + shown + "}")
        return list({**dict.fromkeys(keys), **others, **data}.values())

    async def written(self) -> None:
        """Waits until all that was played by now is committed; OSError where that failed."""
        loop = asyncio.get_running_loop()
        if self.committed is None:
            self.committed = loop.create_future()
            loop.call_at(max(loop.time(), self.commit_at + GATHERED), self.commit)
        await asyncio.shield(self.committed)

    def commit(self) -> None:
        committed, self.committed = self.committed, None
        self.commit_at = asyncio.get_running_loop().time()
        try:
            self.room.commit()
        except Exception as error:
            log.exception("steps could not be written")
            committed.set_exception(OSError(str(error)))
            committed.exception()       # whoever waits is told; nobody may
        else:
            committed.set_result(None)

    async def beside(self, work: Callable, *arguments: Any) -> Any:
        """What takes long, in the one thread beside the loop."""
        return await asyncio.get_running_loop().run_in_executor(self.aside, work, *arguments)

    async def ready(self, team: Team, ids: Iterable[int]) -> None:
        """These episodes of a team are in memory when this returns, and until the loop goes on."""
        ids = dict.fromkeys(ids)
        while missing := [one for one in ids if not self.room.loaded(one)]:
            async with self.turns[team.id]:                     # a team waits for itself, not others for its many
                if not self.room.loaded(missing[0]):
                    await self.beside(self.room.load, missing[0])
                self.used[missing[0]] = None
        for one in ids:
            self.used.pop(one, None)
            self.used[one] = None
        if len(self.used) > self.limits.loaded:
            self.room.commit()
            while len(self.used) > self.limits.loaded:
                self.room.forget(self.used.popitem(last=False)[0])

    # ------------------------------------------------------------ the doors

    async def describe(self, request: Request) -> Response:
        """GET /api/games/{game}: spaces, schema, names."""
        self.team(request)
        game = request.path_params["game"]
        if game not in GAMES:
            raise Refusal(404, "there is no such game", "one of " + ", ".join(GAMES))
        if game not in self.described:
            self.described[game] = encoded(await self.beside(self.room.describe, game))
        return answer(self.described[game])

    async def me(self, request: Request) -> Response:
        """GET /api/me: the team, what is open and what is left."""
        return answer(self.room.me(self.team(request)))

    async def episodes(self, request: Request) -> Response:
        """POST /api/episodes: takes open scored ones up, begins others, and says how each stands."""
        team = self.team(request)
        game, scored, count, held = await self.asked(request, "game", "scored", count=1, held=[])
        if game not in GAMES[1:] or type(scored) is not bool:
            raise Refusal(400, "this game is not played", f"game is one of {', '.join(GAMES[1:])}; scored, true or "
                          "false")
        if type(count) is not int or not 1 <= count <= self.limits.practice:
            raise Refusal(400, "so many episodes are not begun", f"count from 1 to {self.limits.practice}")
        if type(held) is not list or len(held) > self.limits.batch or any(type(one) is not int for one in held):
            raise Refusal(400, "the episodes that are held are not right", f"at most {self.limits.batch} whole numbers")
        self.hurry(self.begins, team.id, count, "episodes")
        ids = self.room.begin(team, game, scored, count, held)
        await self.ready(team, ids)
        standing = [self.room.stand(one) for one in ids]
        await self.written()
        return answer({"episodes": standing})

    async def play(self, request: Request) -> Response:
        """POST /api/steps: plays them in their order and answers when all are written."""
        team = self.team(request)
        (moves,) = await self.asked(request, "steps")
        if type(moves) is not list or not 1 <= len(moves) <= self.limits.batch:
            raise Refusal(400, "so many steps are not played at once", f"1 to {self.limits.batch} of them: {MOVES}")
        for move in moves:
            if type(move) is not list or len(move) != 3 or type(move[0]) is not int or type(move[1]) is not int:
                raise Refusal(400, f"a step is not {str(move)[:60]}", MOVES)
        self.hurry(self.steps, team.id, len(moves), "steps")
        ids = [move[0] for move in moves]
        self.room.owned(team, ids)
        await self.ready(team, ids)
        answers = self.room.play(team, [tuple(move) for move in moves])
        await self.written()
        return answer({"answers": answers})

    async def upload(self, request: Request) -> Response:
        """POST /api/answers: a table of Challenge 1, read whole and scored on its public half."""
        team = self.team(request)
        async with self.turns[team.id, "upload"]:
            data = await self.body(request, "text/csv", self.limits.upload)
            return answer(await self.beside(self.room.upload, team, data))

    def close(self) -> None:
        """All that was played is written, and the class may be played by another process."""
        self.aside.shutdown()
        self.room.close()


async def _refusal(request: Request, error: Any) -> Response:
    if error.status == 429:
        await asyncio.sleep(HELD_UP)
    return refused(error.status, error.error, error.right, **error.more)


async def _bad_data(request: Request, error: Any) -> Response:
    if request.url.path != "/api/answers":
        return refused(400, str(error), "one object in JSON, as the README of the hand-out shows")
    faults = [fault._asdict() for fault in error.faults[:SHOWN]]
    return refused(422, str(error), "a table as the README of the hand-out shows; nothing of it was scored",
                   faults=faults)


async def _not_written(request: Request, error: Any) -> Response:
    return refused(503, "what was played could not be written down, so it does not count", "the same request again",
                   wait=2)


async def _of_http(request: Request, error: Any) -> Response:
    right = {404: "a path of the hand-out's README, such as /api/me",
             405: f"one of {(error.headers or {}).get('Allow', 'GET, POST')}"}.get(error.status_code, error.detail)
    return answer({"error": error.detail, "right": right}, error.status_code, dict(error.headers or {}))


async def _gone(request: Request, error: Any) -> None:
    """Who left while the body was coming in is told nothing."""


def application(service: Service, board: Board) -> Starlette:
    """The application: the doors of the service, and the board's."""
    doors: list[tuple[str, str, Callable[[Request], Awaitable[Response]]]] = [
        ("GET", "/api/games/{game}", service.describe), ("GET", "/api/me", service.me),
        ("POST", "/api/episodes", service.episodes), ("POST", "/api/steps", service.play),
        ("POST", "/api/answers", service.upload)]

    @asynccontextmanager
    async def until_the_end(app: Starlette) -> AsyncIterator[None]:
        yield
        await board.close()

    app = Starlette(routes=[*(Route(path, door, methods=[method]) for method, path, door in doors), *board.routes],
                    middleware=[Middleware(CatchAll)],
                    exception_handlers={Refusal: _refusal, BadData: _bad_data, OSError: _not_written,
                                        HTTPException: _of_http, ClientDisconnect: _gone},
                    lifespan=until_the_end)
    app.router.redirect_slashes = False
    return app
