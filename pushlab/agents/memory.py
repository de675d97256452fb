"""Memory systems with a capacity, and agents that answer the room's questions out of them.

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

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pushlab.agents.protocol import Agent, own_chance
from pushlab.datasets.commonsense import OWNS
from pushlab.ground.arguments import demand, one_of, whole

REFERENCES = (None, "agent-room-env-v0")


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

    def __init__(self, capacity: int, forget: str = "oldest", answer: str = "latest",
                 chance: np.random.Generator | None = None) -> None:
        _check_rules(capacity, forget, ("oldest", "random"), answer, ("latest", "random"), chance)
        self.capacity, self.forget, self.answer, self.chance = capacity, forget, answer, chance
        self.items = []                                         # oldest first

    def __len__(self):
        return len(self.items)

    def store(self, placement: Placement) -> Placement | None:
        """Keeps a placement; returns what had to be forgotten for it, or None."""
        gone = placement if not self.capacity else self.make_room() if len(self) >= self.capacity else None
        if self.capacity:
            self.items.append(placement)
        return gone

    def make_room(self) -> Placement:
        """Forgets one placement by the rule and returns it."""
        return self.items.pop(0 if self.forget == "oldest" else int(self.chance.integers(len(self))))

    def recall(self, person: Any, thing: Any) -> Placement | None:
        """The placement that answers where a person's thing is, or None."""
        if self.answer == "random":
            found = [item for item in self.items if item.person == person and item.thing == thing]
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

    def __init__(self, capacity: int, forget: str = "weakest", answer: str = "strongest",
                 chance: np.random.Generator | None = None) -> None:
        _check_rules(capacity, forget, ("weakest", "random"), answer, ("strongest", "random"), chance)
        self.capacity, self.forget, self.answer, self.chance = capacity, forget, answer, chance
        self.frozen = False
        self.strengths: dict[tuple[Any, Any], float] = {}       # thing and place: strength; strengthened last is last

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
        found = [(strength, pair) for pair, strength in self.strengths.items() if pair[0] == thing]
        if not found:
            return None
        if self.answer == "random":
            strength, pair = found[int(self.chance.integers(len(found)))]
        else:
            strength, pair = max(reversed(found), key=lambda each: each[0])
        return Belief(*pair, strength)

    def fill(self, usual: Mapping[Any, Any]) -> None:
        """Takes over usual places, {thing: place}, as far as there is room, and learns nothing from then on."""
        for pair in list(usual.items())[:self.capacity]:
            self.strengths[pair] = 1
        self.capacity, self.frozen = len(self), True


def _check_rules(capacity, forget, forgets, answer, answers, chance):
    whole("capacity", capacity, 0)
    one_of("forget", forget, forgets)
    one_of("answer", answer, answers)
    demand("random" not in (forget, answer) or chance is not None, "a random rule needs chance, a numpy Generator")


def given_memory(world: Any, capacity: int, usual: Mapping | None = None) -> tuple[Episodic, Semantic]:
    """(Episodic, Semantic) with usual places, {thing: place}, in up to half the capacity, and episodes in the rest.

    usual  in words; None takes the world's own
    """
    usual = world.usual if usual is None else usual
    if world.encoding == "index":
        usual = {world.objects.index(thing): world.location_code[place] for thing, place in usual.items()
                 if thing in world.objects and place in world.location_code}
    semantic = Semantic(capacity // 2)
    semantic.fill(usual)
    return Episodic(capacity - semantic.capacity), semantic


# ---------------------------------------------------------------- agents

class MemoryAgent(Agent):
    """Sees a placement, does something with it, answers from memory: the frame for every system below.

    It works in both encodings. With several agents in the room, each has a memory of its own with this capacity, and
    the best memory of all answers for all: the latest episodic one, else the strongest semantic one. The memory is
    empty at the beginning of each episode.

    capacity   most memories in all, of both kinds together
    reference  "agent-room-env-v0": single systems forget as soon as they are full, before they answer, and not when a
               memory comes in that has no room; they so have one slot less
    diary      True keeps what the memory held at each answer of an episode, in `pages`, for pictures
    """

    name = "memory"
    split = (1.0, 0.0)              # which share of the capacity is episodic, which semantic

    def __init__(self, capacity: int, reference: str | None = None, diary: bool = False) -> None:
        one_of("reference", reference, REFERENCES)
        whole("capacity", capacity, 1)
        self.capacity, self.reference, self.diary = capacity, reference, diary

    def begin(self, env, seed):
        self.world = env.unwrapped.world
        self.chance = own_chance(seed)
        self.memories = [self.new_memory() for _ in range(self.world.n_agents)]
        self.pages = []

    def new_memory(self) -> tuple[Episodic, Semantic]:
        """An empty pair of memories, (Episodic, Semantic); a subclass may share the capacity out otherwise."""
        episodic = round(self.capacity * self.split[0])
        return Episodic(episodic), Semantic(self.capacity - episodic)

    def keep(self, placement: Placement, episodic: Episodic, semantic: Semantic) -> Placement | Belief | None:
        """Does something with a placement; returns what was forgotten for it, or None."""
        raise NotImplementedError(f"{type(self).__name__} has to say what it keeps")

    def act(self, observation, info, explore=True):
        placements, person, thing = self._read(observation)
        gone = [self.keep(placement, *memory) for placement, memory in zip(placements, self.memories)]
        best = self.recall(person, thing)
        if self.diary:
            self.pages.append(self._page(gone, best))
        answer = best.place if best is not None else None
        if self.world.encoding == "index" and answer is None:
            answer = int(self.chance.integers(len(self.world.locations)))       # a code has to be something
        return answer if self.world.n_agents == 1 else (answer,) * self.world.n_agents

    def recall(self, person: Any, thing: Any) -> Placement | Belief | None:
        """The Placement or Belief that answers, or None: the latest episode, else the strongest belief."""
        if len(self.memories) == 1:
            episodic, semantic = self.memories[0]
            return episodic.recall(person, thing) or semantic.recall(thing)
        episodes = [found for episodic, _ in self.memories if (found := episodic.recall(person, thing))]
        if episodes:
            return max(episodes, key=lambda found: found.time)
        beliefs = [found for _, semantic in self.memories if (found := semantic.recall(thing))]
        return max(beliefs, key=lambda found: found.strength, default=None)

    def _read(self, observation):
        """Placements in view, and the person and thing asked for, of an observation in either encoding."""
        if self.world.encoding == "index":
            codes = observation.tolist()
            return [Placement(*codes[at:at + 4]) for at in range(0, len(codes) - 2, 4)], codes[-2], codes[-1]
        seen, (head, _) = observation
        seen = (seen,) if self.world.n_agents == 1 else seen
        person, _, thing = head.partition(OWNS)
        placements = []
        for what, _, place, time in seen:
            whose, _, which = what.partition(OWNS)
            placements.append(Placement(whose, which, place, time))
        return placements, person, thing

    # ------------------------------------------------------------ pictures

    def _page(self, gone, best):
        """What a picture of the first agent's memory needs, in words."""
        episodic, semantic = self.memories[0]
        source = ("nothing remembered" if best is None else f"episodic, from t {best.time:,}"
                  if isinstance(best, Placement) else f"semantic, seen {best.strength:g}×")
        forgotten = gone[0] if gone else None
        shelves = {}
        for kind, memory in (("episodic", episodic), ("semantic", semantic)):
            items = [self._in_words(item, best) for item in memory.items]
            shelves[kind] = {"capacity": memory.capacity, "items": items, "forgotten": None}
        if forgotten is not None:
            kind = "episodic" if isinstance(forgotten, Placement) else "semantic"
            shelves[kind]["forgotten"] = self._in_words(forgotten, None)
        return {**shelves, "source": source}

    def _in_words(self, item, best):
        names = {"thing": self.world.objects, "place": self.world.locations, "person": self.world.people}
        told = item._asdict()
        if self.world.encoding == "index":
            told |= {key: words[told[key]] for key, words in names.items() if key in told}
        told["object"], told["location"] = told.pop("thing"), told.pop("place")
        return {**told, "used": item == best}


def with_memory(frames: Sequence[dict], pages: Sequence[dict]) -> list[dict]:
    """The frames of an episode, each with what the agent's memory held when it answered there.

    frames  of rollout(..., record="frames"), one more than there were answers; pages  the agent's, with diary=True
    """
    if len(frames) != len(pages) + 1:
        raise ValueError(f"{len(pages)} pages belong to {len(pages) + 1} frames; got {len(frames)}")
    return [{**frame, "memory": page} for frame, page in zip(frames, [*pages, pages[-1]])] if pages else list(frames)


class EpisodicAgent(MemoryAgent):
    """Keeps every placement as an episode, forgets the oldest, answers with the latest."""

    name = "episodic"

    def keep(self, placement: Placement, episodic: Episodic, semantic: Semantic) -> Placement | None:
        gone = episodic.store(placement)
        if self.reference and len(episodic) == episodic.capacity:
            gone = episodic.make_room()
        return gone


class SemanticAgent(MemoryAgent):
    """Counts every placement, whoever's, forgets the weakest count, answers with the strongest."""

    name = "semantic"
    split = (0.0, 1.0)

    def keep(self, placement: Placement, episodic: Episodic, semantic: Semantic) -> Belief | None:
        gone = semantic.strengthen(placement.thing, placement.place)
        if self.reference and len(semantic) == semantic.capacity:
            gone = semantic.make_room()
        return gone


class BothAgent(MemoryAgent):
    """Keeps episodes; when they fill their half of the capacity, the most alike become one belief of the other half.

    Alike are episodes of the same thing at the same place, whoever's. The largest group of two or more is taken out and
    counted as one belief with the group's size as its strength (the group with the oldest episode among equals; the
    original draws one). A belief that finds no room replaces the weakest if it is at least as strong, else it is lost.
    Where no two episodes are alike the oldest is forgotten.
    """

    name = "both"
    split = (0.5, 0.5)

    def keep(self, placement: Placement, episodic: Episodic, semantic: Semantic) -> Placement | Belief | None:
        gone = self._generalise(episodic, semantic) if len(episodic) >= episodic.capacity > 0 else None
        episodic.store(placement)
        return gone

    def _generalise(self, episodic, semantic):
        groups = Counter((item.thing, item.place) for item in episodic.items)
        pair, size = groups.most_common(1)[0]
        if size < 2:
            return episodic.make_room()
        episodic.items = [item for item in episodic.items if (item.thing, item.place) != pair]
        if pair in semantic.strengths or semantic.weakest() <= size:
            return semantic.strengthen(*pair, by=size)
        return Belief(*pair, size)


class GivenAgent(MemoryAgent):
    """Knows from the start where things usually are, in up to half its capacity; keeps episodes in the rest.

    usual  {thing: place}; None takes the world's own
    """

    name = "given"

    def __init__(self, capacity: int, reference: str | None = None, diary: bool = False,
                 usual: Mapping | None = None) -> None:
        super().__init__(capacity, reference, diary)
        self.usual = usual

    def new_memory(self) -> tuple[Episodic, Semantic]:
        return given_memory(self.world, self.capacity, self.usual)

    def keep(self, placement: Placement, episodic: Episodic, semantic: Semantic) -> Placement | None:
        return episodic.store(placement)
