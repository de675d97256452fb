"""The web service of a class: a Starlette application around one Room, whose steps are played on the event loop.

A step and its commit take some hundred microseconds, so nothing is gained by threads; what takes long (a stretch of a
person's life, a table of answers) is made in one thread beside the loop, one team's turn after another's.
"""

import asyncio
import gc
import itertools
import json
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from pushlab.classroom.limits import Buckets, Limits
from pushlab.classroom.network import read_json
from pushlab.classroom.page import Board
from pushlab.classroom.refusal import Refusal, Team
from pushlab.classroom.room import Room
from pushlab.ground.faults import BadData

LETTERS = (
    1 / 8
)  # that a byte of a table costs: it takes less time to refuse than one of JSON
HELD_UP = 0.2  # seconds that a refusal for haste takes, so that haste does not pay
AGAIN = "the same again in a moment"
HEADERS = {
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
}
log = logging.getLogger("pushlab.serve")
encoded = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


def answer(data: Any, status: int = 200) -> Response:
    """Data as JSON, kept by nothing on its way, and nothing that a browser would run."""
    headers = (
        HEADERS | {"retry-after": str(int(data["wait"]) + 1)}
        if "wait" in data
        else HEADERS
    )
    return Response(encoded(data), status, headers, "application/json")


class Service:
    """The Room's doors: who comes in, how often and with what.

    room     the Room that plays this class
    limits   what a team, an address and all together may take
    """

    def __init__(self, room: Room, limits: Limits):
        self.room, self.limits = room, limits
        self.requests, self.steps, self.begins, self.strangers, self.letters = (
            Buckets(rate, max(rate * limits.burst, least))
            for rate, least in (
                (limits.requests, 1),
                (limits.steps, limits.batch),
                (limits.begins, limits.at_once),
                (limits.strangers, 1),
                (limits.letters, max(limits.body, LETTERS * limits.upload)),
            )
        )
        self.turns: defaultdict[Any, asyncio.Lock] = defaultdict(asyncio.Lock)
        self.failures, room.most = itertools.count(1), limits.loaded

    # ------------------------------------------------------------ what requests go through

    def team(self, request: Request) -> Team:
        """The team whose token the request has; Refusal 401, or 429 where there were too many."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        team = self.room.team_of(token.strip()) if kind.lower() == "bearer" else None
        if team is None:
            self.hurry(
                self.strangers,
                _address(request),
                1,
                "requests without a token of a team",
            )
            raise Refusal(
                401,
                "this is no token of a team",
                "your team's, in $PUSHLAB_TOKEN or as token= (in HTTP: "
                "Authorization: Bearer TOKEN); your lecturer can give a new one, which voids the old one",
            )
        self.hurry(self.requests, team.id, 1, "requests")
        return team

    def hurry(self, buckets: Buckets, name: Any, amount: float, what: str) -> None:
        """Takes from a bucket; Refusal 429 where there is too little in it."""
        if wait := buckets.wait(name, amount):
            raise Refusal(
                429,
                f"too many {what}",
                f"{buckets.rate:g} a second; there is room again in {wait:.1f} s",
                wait=wait,
            )

    async def body(
        self, request: Request, team: Team, kind: str, most: int, cost: float = 1.0
    ) -> bytes:
        """The body, of a length and a type that are told and right; Refusal 411, 413 or 415.

        cost   of a byte, in letters: they are taken before it is read, as nonsense takes time to refuse
        """
        length = request.headers.get("content-length", "")
        if not (length.isascii() and length.isdigit()):
            raise Refusal(
                411,
                "the length of the body is not told",
                "the header  Content-Length, and no chunks",
            )
        if len(length) > 15 or int(length) > most:
            raise Refusal(413, "the body is too long", f"at most {most:,} bytes")
        if (
            request.headers.get("content-type", "").partition(";")[0].strip().lower()
            != kind
        ):
            raise Refusal(
                415,
                "this type of body is not read here",
                f"the header  Content-Type: {kind}",
            )
        self.hurry(self.letters, team.id, cost * int(length), "bytes")
        return await request.body()

    async def asked(
        self, request: Request, team: Team, *keys: str, **others: Any
    ) -> list[Any]:
        """What a body of JSON has: these keys, all of them; others, as they are here if it has not; and no more."""
        data = read_json(
            await self.body(request, team, "application/json", self.limits.body)
        )
        if not set(keys) <= set(data) <= {*keys, *others}:
            right = ", ".join([*keys, *map("perhaps {}".format, others)])
            raise Refusal(422, "the keys of the body are not right", right)
        return [data.get(key, others.get(key)) for key in (*keys, *others)]

    async def beside(self, team: Team, make: Callable, *arguments: Any) -> Any:
        """What a function gives that takes long: in a thread, one at a time, one of each team before any's next."""
        async with self.turns[team.id], self.turns[None]:
            return await asyncio.to_thread(make, *arguments)

    async def ready(self, team: Team, episodes: Sequence[int]) -> None:
        """Brings episodes of a team into memory."""
        self.room.owned(team, episodes)
        for one in episodes:
            if not self.room.loaded(one):
                self.room.load(one, await self.beside(team, self.room.lived, one))

    # ------------------------------------------------------------ the doors

    async def describe(self, team: Team, request: Request) -> Any:
        """GET /api/games/{game}: spaces, schema, names."""
        return await self.beside(team, self.room.describe, request.path_params["game"])

    async def me(self, team: Team, request: Request) -> Any:
        """GET /api/me: the team, what it plays and what is left."""
        return self.room.me(team)

    async def episodes(self, team: Team, request: Request) -> Any:
        """POST /api/episodes: takes open scored ones up, begins others, and tells how each stands."""
        game, scored, count, held = await self.asked(
            request, team, "game", "scored", count=1, held=[]
        )
        most = self.limits.at_once
        if (
            type(count) is not int
            or not 1 <= count <= most
            or type(held) is not list
            or len(held) > most
        ):
            raise Refusal(
                422,
                "no such episodes",
                f"count (num_envs): 1 to {most}; held: a list of so many at most",
            )
        self.hurry(self.begins, team.id, count, "episodes")
        ids = self.room.begin(team, game, scored, count, held)
        await self.ready(team, ids)
        return {"episodes": [self.room.stand(one) for one in ids]}

    async def frame(self, team: Team, request: Request) -> Any:
        """GET /api/episodes/{episode}/frame: what a picture of it needs."""
        word = request.path_params["episode"]
        episodes = [
            int(word) if word.isascii() and word.isdigit() and len(word) < 16 else word
        ]
        await self.ready(team, episodes)
        return {"frame": self.room.frame(*episodes)}

    async def play(self, team: Team, request: Request) -> Any:
        """POST /api/steps: plays a step of each of these episodes."""
        (steps,) = await self.asked(request, team, "steps")
        if (
            type(steps) is not list
            or not 1 <= len(steps) <= self.limits.batch
            or any(type(one) is not list or len(one) != 3 for one in steps)
        ):
            raise Refusal(
                422,
                "no steps",
                f"a list of 1 to {self.limits.batch} times [episode, step, action]",
            )
        self.hurry(self.steps, team.id, len(steps), "steps")
        await self.ready(team, [episode for episode, _, _ in steps])
        return {"answers": self.room.play(team, steps)}

    async def upload(self, team: Team, request: Request) -> Any:
        """POST /api/answers: a table of Challenge 1, read whole and scored on its public half."""
        async with self.turns["upload", team.id]:  # one of a team in memory
            data = await self.body(
                request, team, "text/csv", self.limits.upload, LETTERS
            )
            return await self.beside(team, self.room.upload, team, data)

    def door(self, do: Callable) -> Callable:
        """What a team is answered with what one of the above gives."""

        async def answered(request: Request) -> Response:
            return answer(await do(self.team(request), request))

        return answered

    def page(self, route: Route) -> Route:
        """A page of the board, which anybody may see, now and then."""

        async def shown(request: Request) -> Response:
            self.hurry(
                self.strangers,
                ("board", _address(request)),
                1,
                "requests for the board",
            )
            return await route.endpoint(request)

        return Route(route.path, shown)

    async def refused(self, request: Request, error: Exception) -> Response | None:
        """What is said instead of an answer; of what nobody expected no more than a number, which stands before the
        traceback on the lecturer's terminal (uvicorn's) as well."""
        if isinstance(error, HTTPException):
            try:
                self.hurry(
                    self.strangers,
                    ("nothing", _address(request)),
                    1,
                    "requests for what is not there",
                )
            except Refusal as haste:
                error = haste
        match error:
            case Refusal():
                told = error.status, error.told
            case BadData():
                told = (
                    422,
                    {
                        "error": str(error),
                        "right": "as the README of the hand-out shows; none of it counts",
                    },
                )
            case HTTPException():
                told = (
                    error.status_code,
                    {
                        "error": error.detail,
                        "right": (error.headers or {}).get(
                            "Allow",
                            "url or $PUSHLAB_URL as your lecturer gave it, without /api",
                        ),
                    },
                )
            case ClientDisconnect():
                return None
            case OSError():
                log.error("at %s %r: %s", request.method, request.url.path, error)
                told = (
                    503,
                    {
                        "error": "this could not be kept, so it does not count",
                        "right": AGAIN,
                        "wait": 1,
                    },
                )
            case _:
                number = next(self.failures)
                log.error(
                    "fault %d, at %s %r:", number, request.method, request.url.path
                )
                told = (
                    500,
                    {
                        "error": f"the server has a fault, number {number}",
                        "right": f"{AGAIN}, or your lecturer",
                    },
                )
        if told[0] == 429:
            await asyncio.sleep(HELD_UP)
        return answer(*reversed(told))


def _address(request):
    return request.client and request.client.host


def application(service: Service, board: Board) -> Starlette:
    """The doors of the service and the pages of the board."""
    doors = [
        ("POST", "/api/steps", service.play),
        ("POST", "/api/episodes", service.episodes),
        ("GET", "/api/episodes/{episode}/frame", service.frame),
        ("GET", "/api/games/{game}", service.describe),
        ("GET", "/api/me", service.me),
        ("POST", "/api/answers", service.upload),
    ]

    @asynccontextmanager
    async def until_the_end(app: Starlette) -> AsyncIterator[None]:
        gc.freeze()  # what is there by now stays: looking through it again and again would stop all for 0.3 s
        yield
        service.room.close()
        await board.close()

    routes = [
        Route(path, service.door(do), methods=[method]) for method, path, do in doors
    ]
    refused = dict.fromkeys(
        (Refusal, BadData, HTTPException, ClientDisconnect, OSError, Exception),
        service.refused,
    )
    app = Starlette(
        routes=[*routes, *map(service.page, board.routes)],
        exception_handlers=refused,
        lifespan=until_the_end,
    )
    app.router.redirect_slashes = False
    return app
