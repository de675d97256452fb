"""Who asks, and what is said to who asks for something that cannot be."""

from typing import Any, NamedTuple


class Team(NamedTuple):
    """Who plays."""

    id: int
    name: str


class Refusal(Exception):
    """A status of HTTP, what is wrong, and what would be right; `told` is all of that as JSON has it."""

    def __init__(self, status: int, error: str, right: str, **more: Any):
        super().__init__(f"{error}: {right}")
        self.status, self.told = status, {"error": error, "right": right, **more}
