"""The web service of a class: a Starlette application that plays a ClassSession on the event loop.

A step and its commit take some hundred microseconds, so threads wouldn't help. Slow requests (replays and uploads) run
in one thread beside the loop, and teams take turns.
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

from pushlab.utils.issues import BadData
from pushlab_classroom.session import Refusal

JSON_BYTES = 600  # of a body that count as one request
CSV_BYTES = 8 * JSON_BYTES  # of a table, which is parsed faster
STEPS = 8  # that count as one request
MAX_JSON = 2**15  # bytes
MAX_CSV = 2**20
CSV_SECONDS = 20  # timeout of a table's body, since a team can send only one at a time
MAX_STEPS = 256  # per request
MAX_BEGINS = 64
BURST = 4.0  # seconds; the amount of this time can be used at once
MAX_NAMES = 10_000  # of teams and addresses
RATE_LIMIT_DELAY = (
    1.0  # seconds before the answer 429, so that a flood is answered slowly
)
HEADERS = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
log = logging.getLogger("pushlab.serve")


class Buckets:
    """Rate limits: a token bucket per name.

    A bucket is filled at a rate per second. Its size is the amount of BURST seconds, but at least `min_size`. New names
    have a full bucket.

    Args:
        noun: Limited things, for messages.
        rate: Rate per second.
        min_size: Minimum size of a bucket.

    >>> buckets = Buckets("requests", rate=0.5, min_size=2.0)
    >>> buckets.take("a", 2)
    >>> buckets.take("b")
    >>> buckets.take("a")
    Traceback (most recent call last):
    pushlab_classroom.session.Refusal: too many requests; the limit is 0.5 per second, try again in 2.0 s
    """

    def __init__(self, noun, rate, min_size):
        self.noun = noun
        self.rate = rate
        self.size = max(rate * BURST, min_size)
        self._levels = {}

    def take(self, name, amount=1.0):
        """Take an amount from a bucket. Raises Refusal (429) if the bucket has too little."""
        now = time.monotonic()
        level, last_time = self._levels.pop(name, (self.size, now))
        level = min(self.size, level + (now - last_time) * self.rate)
        is_enough = amount <= level
        self._levels[name] = (level - amount if is_enough else level, now)
        if len(self._levels) > MAX_NAMES:
            del self._levels[next(iter(self._levels))]  # the least recently used one
        if not is_enough:
            wait = (amount - level) / self.rate
            hint = f"the limit is {self.rate:g} per second, try again in {wait:.1f} s"
            raise Refusal(429, f"too many {self.noun}", hint, wait=wait)


class Service:
    """Handlers of the requests of teams to a class.

    Args:
        session: The ClassSession that plays the class.
        limits: Limits per team, per address and in total.
    """

    def __init__(self, session, limits):
        self.session = session
        table = MAX_CSV / CSV_BYTES  # the largest request
        self.requests = Buckets("requests", limits.requests, min_size=table)
        self.begins = Buckets("episodes", limits.begins, min_size=MAX_BEGINS)
        self.strangers = Buckets("requests without a valid token", limits.strangers, 1)
        self.turns = defaultdict(asyncio.Lock)
        self.failures = itertools.count(1)

    # ------------------------------------------------------------ parts of requests

    def team(self, request):
        """Return the team of the request's token. Raises Refusal (401, or 429 after too many)."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        team = self.session.team_of(token.strip()) if kind.lower() == "bearer" else None
        if team is None:
            self.limit_stranger(request, "token")
            raise Refusal(
                401,
                "this is not the token of a team",
                "set $PUSHLAB_TOKEN or token= to your team's token (in HTTP: Authorization: Bearer TOKEN). Your "
                "lecturer can create a new one, which makes the old one invalid",
            )
        self.requests.take(team.id)
        request.state.connection.priority = (True, time.monotonic())
        return team

    def limit_stranger(self, request, kind):
        """Count a request without a team. Raises Refusal (429) if there were too many of this kind."""
        self.strangers.take((kind, request.client and request.client.host))

    async def body(self, request, team, max_bytes, bytes_per_request):
        """Return the body and count its bytes as requests. Raises Refusal (413) if it is too long."""
        data = bytearray()
        async for chunk in request.stream():
            data += chunk
            if len(data) > max_bytes:
                hint = f"send at most {max_bytes:,} bytes"
                raise Refusal(413, "the body is too long", hint)
        self.requests.take(team.id, max(0, len(data) / bytes_per_request - 1))
        return data

    async def fields(self, request, team, *required, **optional):
        """Return the values of the JSON object in the body. Raises Refusal (422) for other keys or no object."""
        data = await self.body(request, team, MAX_JSON, JSON_BYTES)
        try:
            content = json.loads(data)
        except (ValueError, RecursionError):
            content = None
        keys = (*required, *optional)
        actual = set(content) if isinstance(content, dict) else set()
        if not set(required) <= actual <= set(keys):
            names = [*required, *map("{} (optional)".format, optional)]
            hint = f"its keys must be {', '.join(names)}"
            raise Refusal(422, "the body is not a valid JSON object", hint)
        return [content.get(key, optional.get(key)) for key in keys]

    async def in_thread(self, team, function, *arguments):
        """Return the result of a slow function that runs in a thread, one function at a time and one per team."""
        async with self.turns[team.id], self.turns[None]:
            return await asyncio.to_thread(function, *arguments)

    async def load(self, team, episodes):
        """Replay the episodes that aren't in memory. Until the caller awaits again, all of them are.

        Each turn counts all of them as used, so none leaves memory while others are replayed.
        """
        is_loaded = self.session.is_loaded
        while missing := [episode for episode in episodes if not is_loaded(episode)]:
            async with self.turns[team.id], self.turns[None]:
                # A repeated request can have loaded it while this one waited.
                if not is_loaded(missing[0]):
                    replay = asyncio.to_thread(self.session.replay, missing[0])
                    self.session.load(missing[0], await replay)

    # ------------------------------------------------------------ requests

    async def describe(self, team, request):
        """GET /api/games/{game}: spaces, schema, names."""
        game = request.path_params["game"]
        return await self.in_thread(team, self.session.describe, game)

    async def begin(self, team, request):
        """POST /api/episodes: continue unfinished scored episodes, begin others, and return their states."""
        game, scored, count, held = await self.fields(
            request, team, "game", "scored", count=1, held=[]
        )
        is_count = type(count) is int and 1 <= count <= MAX_BEGINS
        if not is_count or type(held) is not list or len(held) > MAX_BEGINS:
            hint = f"count (num_envs) must be 1 to {MAX_BEGINS}, held a list of at most as many ids"
            raise Refusal(422, "invalid count or held", hint)
        self.begins.take(team.id, count)
        episodes = self.session.begin(team, game, scored, count, held)
        await self.load(team, episodes)
        return {"episodes": [self.session.state(episode) for episode in episodes]}

    async def frame(self, team, request):
        """GET /api/episodes/{episode}/frame: the data of the episode's picture."""
        text = request.path_params["episode"]
        episode = int(text) if text.isdecimal() and len(text) < 16 else text
        self.session.require_own(team, [episode])
        await self.load(team, [episode])
        return {"frame": self.session.loaded[episode].frame()}

    async def play(self, team, request):
        """POST /api/steps: play one step of each of several episodes."""
        [steps] = await self.fields(request, team, "steps")
        is_list = type(steps) is list and 1 <= len(steps) <= MAX_STEPS
        if not is_list or any(
            type(step) is not list or len(step) != 3 for step in steps
        ):
            hint = f"send a list of 1 to {MAX_STEPS} steps [episode, step, action]"
            raise Refusal(422, "invalid steps", hint)
        self.requests.take(team.id, max(0, len(steps) / STEPS - 1))
        episodes = [episode for episode, _, _ in steps]
        self.session.require_own(team, episodes)
        await self.load(team, episodes)
        return {"answers": self.session.play(team, steps)}

    async def upload(self, team, request):
        """POST /api/answers: score a table of answers to Challenge 1 on the public half."""
        async with self.turns["upload", team.id]:  # only one per team in memory
            async with asyncio.timeout(CSV_SECONDS):
                data = await self.body(request, team, MAX_CSV, CSV_BYTES)
            return await self.in_thread(team, self.session.upload, team, bytes(data))

    def for_team(self, handle):
        """Return the endpoint for one of the handlers above."""

        async def endpoint(request):
            return answer(await handle(self.team(request), request))

        return endpoint

    async def refuse(self, request, error):
        """Return the answer to a failed request.

        An unexpected error gets a number, which is shown with the traceback on the lecturer's terminal.
        """
        if isinstance(error, HTTPException):
            try:
                self.limit_stranger(request, "nothing")
                hint = "set url or $PUSHLAB_URL to the address from your lecturer, without /api"
                hint = (error.headers or {}).get("Allow", hint)
                error = Refusal(error.status_code, error.detail, hint)
            except Refusal as refusal:
                error = refusal
        elif isinstance(error, BadData):
            hint = "nothing was counted; see the README of the hand-out"
            error = Refusal(422, str(error), hint)
        elif isinstance(error, ClientDisconnect):
            return None
        elif isinstance(error, OSError):
            log.error("at %s %r: %s", request.method, request.url.path, error)
            message = "the request did not arrive or could not be stored, so it does not count"
            error = Refusal(503, message, "try again in a moment", wait=1)
        elif not isinstance(error, Refusal):
            message = f"internal error of the server, number {next(self.failures)}"
            log.error("%s, at %s %r:", message, request.method, request.url.path)
            hint = "try again in a moment, or ask your lecturer"
            error = Refusal(500, message, hint)
        if error.status == 429:
            await asyncio.sleep(RATE_LIMIT_DELAY)
        return answer(error.content, error.status)


def answer(content, status=200):
    """Return an answer in JSON that is never cached."""
    headers = HEADERS
    if "wait" in content:
        headers = HEADERS | {"retry-after": str(int(content["wait"]) + 1)}
    return JSONResponse(content, status, headers)


def application(service, board):
    """Return the web application of a service and a board."""
    handlers = [
        ("POST", "/api/steps", service.play),
        ("POST", "/api/episodes", service.begin),
        ("GET", "/api/episodes/{episode}/frame", service.frame),
        ("GET", "/api/games/{game}", service.describe),
        ("POST", "/api/answers", service.upload),
    ]
    routes = [
        Route(path, service.for_team(handle), methods=[method])
        for method, path, handle in handlers
    ]

    async def show_board(request):
        service.limit_stranger(request, "board")
        return await board.respond(request)

    @asynccontextmanager
    async def lifespan(app):
        yield
        service.session.close()
        board.close()

    errors = (Refusal, BadData, HTTPException, ClientDisconnect, OSError, Exception)
    error_handlers = dict.fromkeys(errors, service.refuse)
    routes.append(Route("/", show_board))
    app = Starlette(routes=routes, exception_handlers=error_handlers, lifespan=lifespan)
    app.router.redirect_slashes = False
    return app
