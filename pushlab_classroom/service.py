"""The web service of a class: a Starlette application around one Room, whose steps are played on the event loop.

A step and its commit take some hundred microseconds, so threads would gain nothing. What takes long (a replay, an
upload) runs in one thread beside the loop, and the teams take turns.
"""

import asyncio
import itertools
import json
import logging
import time
from collections import defaultdict
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse
from starlette.routing import Route

from pushlab.ground.faults import BadData
from pushlab_classroom.room import Refusal

JSON_BYTES = 600  # of a request's body that count as another request
CSV_BYTES = 8 * JSON_BYTES  # a table is read faster
STEPS = 8  # of a request that count as another request
MAX_JSON = 2**15  # bytes
MAX_CSV = 2**20
CSV_SECONDS = 20  # in which a table must arrive, as its team has one at a time
MAX_STEPS = 256  # in one request
MAX_BEGINS = 64
BURST = 4.0  # seconds' worth that can come at once after a rest
MAX_NAMES = 10_000  # of teams and addresses
HASTE_DELAY = 0.2  # seconds before a refusal because of haste, so that haste is no use
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
log = logging.getLogger("pushlab.serve")


class Buckets:
    """A token bucket per name: it fills at `rate` a second, and holds BURST seconds' worth, or `least` if that is more.

    A name that was not seen for long begins with a full bucket.

    >>> buckets = Buckets("requests", rate=0.5, least=2.0)
    >>> buckets.take("a", 2)
    >>> buckets.take("b")
    >>> buckets.take("a")
    Traceback (most recent call last):
    pushlab_classroom.room.Refusal: too many requests: 0.5 a second; there is room again in 2.0 s
    """

    def __init__(self, what, rate, least):
        self.what = what
        self.rate = rate
        self.size = max(rate * BURST, least)
        self._levels = {}

    def take(self, name, amount=1.0):
        """Take an amount from a bucket. Raise Refusal 429 if there is too little in it."""
        now = time.monotonic()
        level, then = self._levels.pop(name, (self.size, now))
        level = min(self.size, level + (now - then) * self.rate)
        is_enough = amount <= level
        self._levels[name] = (level - amount if is_enough else level, now)
        if len(self._levels) > MAX_NAMES:
            del self._levels[next(iter(self._levels))]  # the one seen longest ago
        if not is_enough:
            wait = (amount - level) / self.rate
            right = f"{self.rate:g} a second; there is room again in {wait:.1f} s"
            raise Refusal(429, f"too many {self.what}", right, wait=wait)


class Service:
    """The requests of teams to a Room.

    Args:
        room: The Room that plays the class.
        limits: What a team, an address and all together can use.
    """

    def __init__(self, room, limits):
        self.room = room
        room.max_loaded = limits.loaded
        largest = max(MAX_JSON / JSON_BYTES, MAX_CSV / CSV_BYTES, MAX_STEPS / STEPS)
        self.requests = Buckets("requests", limits.requests, least=largest)
        self.begins = Buckets("episodes", limits.begins, least=MAX_BEGINS)
        self.strangers = Buckets(
            "requests without a token of a team", limits.strangers, 1
        )
        self.turns = defaultdict(asyncio.Lock)
        self.failures = itertools.count(1)

    # ------------------------------------------------------------ parts of requests

    def team(self, request):
        """Return the team of the request's token. Raise Refusal: 401, or 429 if there were too many."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        team = self.room.team_of(token.strip()) if kind.lower() == "bearer" else None
        if team is None:
            self.limit_stranger(request, "token")
            raise Refusal(
                401,
                "this is no token of a team",
                "your team's, in $PUSHLAB_TOKEN or as token= (in HTTP: Authorization: Bearer TOKEN). Your lecturer "
                "can give a new one, which voids the old one",
            )
        self.requests.take(team.id)
        return team

    def limit_stranger(self, request, kind):
        """Count a request without a team. Raise Refusal 429 if there were too many of its kind."""
        self.strangers.take((kind, request.client and request.client.host))

    async def body(self, request, team, most, unit):
        """Return the body, whose bytes count as requests. Raise Refusal 413 if it is too long."""
        data = bytearray()
        async for part in request.stream():
            data += part
            if len(data) > most:
                right = f"at most {most:,} bytes"
                raise Refusal(413, "the body is too long", right)
        self.requests.take(team.id, max(0, len(data) / unit - 1))
        return data

    async def fields(self, request, team, *required, **optional):
        """Return the values of the object in a body of JSON. Raise Refusal 422 for other keys or no object."""
        data = await self.body(request, team, MAX_JSON, JSON_BYTES)
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            content = None
        keys = (*required, *optional)
        there = set(content) if isinstance(content, dict) else set()
        if not set(required) <= there <= set(keys):
            right = ", ".join([*required, *map("perhaps {}".format, optional)])
            raise Refusal(422, "the body is no object of JSON with these keys", right)
        return [content.get(key, optional.get(key)) for key in keys]

    async def in_thread(self, team, make, *arguments):
        """Return the result of a slow function, run in a thread: one at a time, and one per team in turn."""
        async with self.turns[team.id], self.turns[None]:
            return await asyncio.to_thread(make, *arguments)

    async def load(self, team, episodes):
        """Load episodes; the Room has them in use."""
        for episode in episodes:
            if episode not in self.room.loaded:
                replayed = await self.in_thread(team, self.room.replay, episode)
                self.room.load(episode, replayed)

    # ------------------------------------------------------------ requests

    async def describe(self, team, request):
        """GET /api/games/{game}: spaces, schema, names."""
        game = request.path_params["game"]
        return await self.in_thread(team, self.room.describe, game)

    async def begin(self, team, request):
        """POST /api/episodes: resume open scored episodes, begin others, and return their states."""
        game, scored, count, held = await self.fields(
            request, team, "game", "scored", count=1, held=[]
        )
        is_count = type(count) is int and 1 <= count <= MAX_BEGINS
        if not is_count or type(held) is not list or len(held) > MAX_BEGINS:
            right = f"count (num_envs): 1 to {MAX_BEGINS}; held: at most as many ids"
            raise Refusal(422, "no such episodes", right)
        self.begins.take(team.id, count)
        episodes = self.room.begin(team, game, scored, count, held)
        with self.room.in_use(episodes):
            await self.load(team, episodes)
            return {"episodes": [self.room.state(episode) for episode in episodes]}

    async def frame(self, team, request):
        """GET /api/episodes/{episode}/frame: the data of its picture."""
        word = request.path_params["episode"]
        episode = int(word) if word.isdecimal() and len(word) < 16 else word
        self.room.require_own(team, [episode])
        with self.room.in_use([episode]):
            await self.load(team, [episode])
            return {"frame": self.room.load(episode).frame()}

    async def play(self, team, request):
        """POST /api/steps: play one step of each of these episodes."""
        [steps] = await self.fields(request, team, "steps")
        is_list = type(steps) is list and 1 <= len(steps) <= MAX_STEPS
        if not is_list or any(type(one) is not list or len(one) != 3 for one in steps):
            right = f"a list of 1 to {MAX_STEPS} times [episode, step, action]"
            raise Refusal(422, "no steps", right)
        self.requests.take(team.id, max(0, len(steps) / STEPS - 1))
        episodes = [episode for episode, _, _ in steps]
        self.room.require_own(team, episodes)
        with self.room.in_use(episodes):
            await self.load(team, episodes)
            return {"answers": self.room.play(team, steps)}

    async def upload(self, team, request):
        """POST /api/answers: a table of answers to Challenge 1, scored on its public half."""
        async with self.turns["upload", team.id]:  # one per team in memory
            async with asyncio.timeout(CSV_SECONDS):
                data = await self.body(request, team, MAX_CSV, CSV_BYTES)
            return await self.in_thread(team, self.room.upload, team, bytes(data))

    def for_team(self, handle):
        """Return the endpoint of one of the requests above."""

        async def endpoint(request):
            return answer(await handle(self.team(request), request))

        return endpoint

    async def refuse(self, request, error):
        """Return the answer to a request that failed.

        An unexpected error gets a number, which precedes the traceback on the lecturer's terminal.
        """
        if isinstance(error, HTTPException):
            try:
                self.limit_stranger(request, "nothing")
                right = "url or $PUSHLAB_URL as your lecturer gave it, without /api"
                right = (error.headers or {}).get("Allow", right)
                error = Refusal(error.status_code, error.detail, right)
            except Refusal as refusal:
                error = refusal
        elif isinstance(error, BadData):
            right = "as the README of the hand-out shows; none of it counts"
            error = Refusal(422, str(error), right)
        elif isinstance(error, ClientDisconnect):
            return None
        elif isinstance(error, OSError):
            log.error("at %s %r: %s", request.method, request.url.path, error)
            failure = "this did not arrive or could not be stored, so it does not count"
            error = Refusal(503, failure, "the same again in a moment", wait=1)
        elif not isinstance(error, Refusal):
            failure = f"the server has a fault, number {next(self.failures)}"
            log.error("%s, at %s %r:", failure, request.method, request.url.path)
            right = "the same again in a moment, or your lecturer"
            error = Refusal(500, failure, right)
        if error.status == 429:
            await asyncio.sleep(HASTE_DELAY)
        return answer(error.content, error.status)


def answer(content, status=200):
    """Return an answer in JSON, which nothing on its way stores."""
    headers = HEADERS
    if "wait" in content:
        headers = HEADERS | {"retry-after": str(int(content["wait"]) + 1)}
    return JSONResponse(content, status, headers)


def application(service, board):
    """Return the web application with the requests of a service and the page of a board."""
    requests = [
        ("POST", "/api/steps", service.play),
        ("POST", "/api/episodes", service.begin),
        ("GET", "/api/episodes/{episode}/frame", service.frame),
        ("GET", "/api/games/{game}", service.describe),
        ("POST", "/api/answers", service.upload),
    ]
    routes = [
        Route(path, service.for_team(handle), methods=[method])
        for method, path, handle in requests
    ]

    async def show_board(request):
        service.limit_stranger(request, "board")
        return await board.answer(request)

    @asynccontextmanager
    async def lifespan(app):
        yield
        service.room.close()
        board.close()

    errors = (Refusal, BadData, HTTPException, ClientDisconnect, OSError, Exception)
    handlers = dict.fromkeys(errors, service.refuse)
    routes.append(Route("/", show_board))
    app = Starlette(routes=routes, exception_handlers=handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app
