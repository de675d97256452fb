"""Memory systems with a capacity, out of which the room's questions are answered.

Two kinds of memory, after Kim et al. (2022): an episodic one keeps what happened when (james's laptop, desk, at 42), a
semantic one what is usually so (any laptop, desk, seen 7 times). Each has a capacity, a rule for what is forgotten and
a rule for which of several memories answers.

>>> memory = Episodic(2)
>>> for time, place in enumerate(["desk", "table", "shelf"]):
...     gone = memory.store(Placement("james", "laptop", place, time))
>>> gone
Placement(person='james', thing='laptop', place='desk', time=0)
>>> memory.recall("james", "laptop")
Placement(person='james', thing='laptop', place='shelf', time=2)
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pushlab.ground.arguments import demand, one_of, whole


class Placement(NamedTuple):
    """One thing that happened; words or codes, as the environment has them."""

    person: Any
    thing: Any
    place: Any
    time: int


class Belief(NamedTuple):
    """One thing that is usually so, and how often it was seen."""

    thing: Any
    place: Any
    strength: float


# ---------------------------------------------------------------- the two kinds of memory


class Episodic:
    """What happened, in the order in which it happened; the oldest goes first, the latest answers.

    capacity   most placements at a time; 0 keeps none
    forget     "oldest" or "random"; answer: "latest" or "random" among those about the same person and thing
    chance     a numpy Generator, for the random rules
    """

    def __init__(
        self,
        capacity: int,
        forget: str = "oldest",
        answer: str = "latest",
        chance: np.random.Generator | None = None,
    ) -> None:
        _check_rules(
            capacity, forget, ("oldest", "random"), answer, ("latest", "random"), chance
        )
        self.capacity, self.forget, self.answer, self.chance = (
            capacity,
            forget,
            answer,
            chance,
        )
        self.items = []  # oldest first

    def __len__(self):
        return len(self.items)

    def store(self, placement: Placement) -> Placement | None:
        """Keeps a placement; returns what had to be forgotten for it, or None."""
        gone = (
            placement
            if not self.capacity
            else self.make_room()
            if len(self) >= self.capacity
            else None
        )
        if self.capacity:
            self.items.append(placement)
        return gone

    def make_room(self) -> Placement:
        """Forgets one placement by the rule and returns it."""
        return self.items.pop(
            0 if self.forget == "oldest" else int(self.chance.integers(len(self)))
        )

    def recall(self, person: Any, thing: Any) -> Placement | None:
        """The placement that answers where a person's thing is, or None."""
        if self.answer == "random":
            found = [
                item
                for item in self.items
                if item.person == person and item.thing == thing
            ]
            return found[int(self.chance.integers(len(found)))] if found else None
        for item in reversed(self.items):
            if item[1] == thing and item[0] == person:
                return item
        return None


class Semantic:
    """What is usually so, by counting; the weakest goes first, the strongest answers.

    Among equals the one strengthened longest ago goes first, and the one strengthened last answers.

    capacity   most beliefs at a time; 0 keeps none
    forget     "weakest" or "random"; answer: "strongest" or "random" among those about the same thing

    >>> memory = Semantic(2)
    >>> for place in ["desk", "desk", "table", "shelf"]:
    ...     gone = memory.strengthen("laptop", place)
    >>> gone, memory.recall("laptop")
    (Belief(thing='laptop', place='table', strength=1), Belief(thing='laptop', place='desk', strength=2))
    """

    def __init__(
        self,
        capacity: int,
        forget: str = "weakest",
        answer: str = "strongest",
        chance: np.random.Generator | None = None,
    ) -> None:
        _check_rules(
            capacity,
            forget,
            ("weakest", "random"),
            answer,
            ("strongest", "random"),
            chance,
        )
        self.capacity, self.forget, self.answer, self.chance = (
            capacity,
            forget,
            answer,
            chance,
        )
        self.frozen = False
        self.strengths: dict[
            tuple[Any, Any], float
        ] = {}  # thing and place: strength; strengthened last is last

    def __len__(self):
        return len(self.strengths)

    @property
    def items(self) -> list[Belief]:
        """The beliefs, the one strengthened longest ago first."""
        return [Belief(*pair, strength) for pair, strength in self.strengths.items()]

    def strengthen(self, thing: Any, place: Any, by: float = 1) -> Belief | None:
        """Counts something once more, or begins to; returns what had to be forgotten for it, or None."""
        if self.frozen or not self.capacity:
            return Belief(thing, place, by)
        known, gone = self.strengths.pop((thing, place), 0), None
        if not known and len(self) >= self.capacity:
            gone = self.make_room()
        self.strengths[thing, place] = known + by
        return gone

    def make_room(self) -> Belief:
        """Forgets one belief by the rule and returns it."""
        if self.forget == "random":
            pair = list(self.strengths)[int(self.chance.integers(len(self)))]
        else:
            pair = min(self.strengths, key=self.strengths.get)
        return Belief(*pair, self.strengths.pop(pair))

    def weakest(self) -> float:
        """The least strength in a full memory; 0 while there is room."""
        return min(self.strengths.values()) if len(self) >= self.capacity else 0

    def recall(self, thing: Any) -> Belief | None:
        """The belief that answers where a thing usually is, or None."""
        found = [pair for pair in self.strengths if pair[0] == thing]
        if not found:
            return None
        if self.answer == "random":
            pair = found[int(self.chance.integers(len(found)))]
        else:
            pair = (
                found[0]
                if len(found) == 1
                else max(reversed(found), key=self.strengths.__getitem__)
            )
        return Belief(*pair, self.strengths[pair])

    def fill(self, usual: Mapping[Any, Any]) -> None:
        """Takes over usual places, {thing: place}, as far as there is room, and learns nothing from then on."""
        for pair in list(usual.items())[: self.capacity]:
            self.strengths[pair] = 1
        self.capacity, self.frozen = len(self), True


def _check_rules(capacity, forget, forgets, answer, answers, chance):
    whole("capacity", capacity, 0)
    one_of("forget", forget, forgets)
    one_of("answer", answer, answers)
    demand(
        "random" not in (forget, answer) or chance is not None,
        "a random rule needs chance, a numpy Generator",
    )


def given_memory(
    world: Any, capacity: int, usual: Mapping | None = None
) -> tuple[Episodic, Semantic]:
    """(Episodic, Semantic) with usual places, {thing: place}, in up to half the capacity, and episodes in the rest.

    usual  in words; None takes the world's own
    """
    usual = world.usual if usual is None else usual
    if world.encoding == "index":
        usual = {
            world.objects.index(thing): world.location_code[place]
            for thing, place in usual.items()
            if thing in world.objects and place in world.location_code
        }
    semantic = Semantic(capacity // 2)
    semantic.fill(usual)
    return Episodic(capacity - semantic.capacity), semantic
