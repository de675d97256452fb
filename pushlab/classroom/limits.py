"""What one team, one address and all together may take of a class's server, and what counts it."""

import time
from collections.abc import Callable
from dataclasses import dataclass

from pushlab.ground.arguments import number


@dataclass(frozen=True)
class Limits:
    """The limits of a server; each is an option of `pushlab serve`.

    requests     a second and team
    steps        a second and team, in however few requests
    begins       episodes begun, a second and team
    strangers    requests without a valid token, a second and address, as many for the board, and for what is not there;
                 who has a token is not held up by them
    letters      bytes of JSON, a second and team; of a table of answers, which is read faster, eight count as one
    burst        so many seconds' worth may come at once, after a rest
    batch        steps in one request
    at_once      episodes begun by one request
    loaded       episodes in memory, of 1.6 MB each where they have 1,000 contexts; others are made again when they are
                 asked for. Of the team that has most of them the one used least lately goes first
    body         bytes of a request in JSON
    upload       bytes of a table of answers
    connections  open at once
    of_one       of these, from one address (behind a proxy that is the proxy's to limit); beyond it the one that rests
                 for longest is closed. A class often has one address for all, and an agent one connection
    slowest      seconds in which a request has to come in
    """

    requests: float = 250.0
    steps: float = 2000.0
    begins: float = 1.0
    strangers: float = 50.0
    letters: float = 150_000.0
    burst: float = 4.0
    batch: int = 256
    at_once: int = 64
    loaded: int = 512
    body: int = 2**15
    upload: int = 2**20
    connections: int = 800
    of_one: int = 200
    slowest: float = 20.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            number(name, value, above=0)


class Buckets:
    """A token bucket for each name: it fills at `rate` a second up to `most`, and what is taken has to be in it.

    kept   so many names are remembered, those seen last; who was forgotten begins with a full bucket

    >>> second = iter([0.0, 0.0, 0.0, 0.5])
    >>> buckets = Buckets(rate=2.0, most=2.0, clock=lambda: next(second))
    >>> [buckets.wait("a", 2), buckets.wait("a"), buckets.wait("b"), buckets.wait("a")]
    [0.0, 0.5, 0.0, 0.0]
    """

    def __init__(
        self,
        rate: float,
        most: float,
        clock: Callable[[], float] = time.monotonic,
        kept: int = 10_000,
    ):
        self.rate, self.most, self.clock, self.kept = rate, most, clock, kept
        self._levels: dict[object, tuple[float, float]] = {}

    def wait(self, name: object, amount: float = 1.0) -> float:
        """0.0, and the amount is taken; or nothing is, and it would be there after so many seconds."""
        now = self.clock()
        level, then = self._levels.pop(name, (self.most, now))
        level = min(self.most, level + (now - then) * self.rate)
        lacking = max(0.0, amount - level)
        self._levels[name] = (level if lacking else level - amount, now)
        if len(self._levels) > self.kept:
            del self._levels[
                next(iter(self._levels))
            ]  # the one that was seen longest ago
        return lacking / self.rate
