"""Who asks, and what is said to who asks for something that cannot be."""

from typing import Any, NamedTuple

from pushlab.classroom.book import GAMES

CLOSED = (409, "the class is closed", "practice goes on, with scored=False")


class Team(NamedTuple):
    """Who plays."""

    id: int
    name: str


class Refusal(Exception):
    """A status of HTTP, what is wrong, and what would be right; `told` is all of that as JSON has it."""

    def __init__(self, status: int, error: str, right: str, **more: Any):
        super().__init__(f"{error}: {right}")
        self.status, self.told = status, {"error": error, "right": right, **more}


def demand_game(game: Any) -> None:
    """Refusal for what is no game that is played step by step."""
    if game not in GAMES:
        raise Refusal(
            404, f"no game is called {game!r:.40}", f"one of {', '.join(GAMES)}"
        )
