"""Agents that answer the room's questions out of a memory with a capacity; `memory_policy` has one that learns."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from pushlab.agents.memory import Belief, Episodic, Placement, Semantic, given_memory
from pushlab.agents.protocol import Agent, own_chance
from pushlab.datasets.commonsense import OWNS
from pushlab.ground.arguments import flag, one_of, whole

REFERENCES = (None, "agent-room-env-v0")


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
    split = (1.0, 0.0)  # which share of the capacity is episodic, which semantic

    def __init__(
        self, capacity: int, reference: str | None = None, diary: bool = False
    ) -> None:
        one_of("reference", reference, REFERENCES)
        whole("capacity", capacity, 1)
        self.capacity, self.reference, self.diary = (
            capacity,
            reference,
            flag("diary", diary),
        )

    def begin(self, env, seed):
        self.world = env.unwrapped.world
        self.chance = own_chance(seed)
        self.memories = [self.new_memory() for _ in range(self.world.n_agents)]
        self.pages = []

    def new_memory(self) -> tuple[Episodic, Semantic]:
        """An empty pair of memories, (Episodic, Semantic); a subclass may share the capacity out otherwise."""
        episodic = round(self.capacity * self.split[0])
        return Episodic(episodic), Semantic(self.capacity - episodic)

    def keep(
        self, placement: Placement, episodic: Episodic, semantic: Semantic
    ) -> Placement | Belief | None:
        """Does something with a placement; returns what was forgotten for it, or None."""
        raise NotImplementedError(f"{type(self).__name__} has to say what it keeps")

    def act(self, observation, info, explore=True):
        placements, person, thing = self._read(observation)
        gone = [
            self.keep(placement, *memory)
            for placement, memory in zip(placements, self.memories)
        ]
        best = self.recall(person, thing)
        if self.diary:
            self.pages.append(self._page(gone, best))
        answer, self.propensity = best.place if best is not None else None, 1.0
        if self.world.encoding == "index" and answer is None:
            answer = int(
                self.chance.integers(len(self.world.locations))
            )  # a code has to be something
            self.propensity = 1 / len(self.world.locations)
        return answer if self.world.n_agents == 1 else (answer,) * self.world.n_agents

    def recall(self, person: Any, thing: Any) -> Placement | Belief | None:
        """The Placement or Belief that answers, or None: the latest episode, else the strongest belief."""
        if len(self.memories) == 1:
            episodic, semantic = self.memories[0]
            return episodic.recall(person, thing) or semantic.recall(thing)
        episodes = [
            found
            for episodic, _ in self.memories
            if (found := episodic.recall(person, thing))
        ]
        if episodes:
            return max(episodes, key=lambda found: found.time)
        beliefs = [
            found for _, semantic in self.memories if (found := semantic.recall(thing))
        ]
        return max(beliefs, key=lambda found: found.strength, default=None)

    def _read(self, observation):
        """Placements in view, and the person and thing asked for, of an observation in either encoding."""
        if self.world.encoding == "index":
            codes = observation.tolist()
            return (
                [Placement(*codes[at : at + 4]) for at in range(0, len(codes) - 2, 4)],
                codes[-2],
                codes[-1],
            )
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
        source = (
            "nothing remembered"
            if best is None
            else f"episodic, from t {best.time:,}"
            if isinstance(best, Placement)
            else f"semantic, seen {best.strength:g}×"
        )
        forgotten = gone[0] if gone else None
        shelves = {}
        for kind, memory in (("episodic", episodic), ("semantic", semantic)):
            items = [self._in_words(item, best) for item in memory.items]
            shelves[kind] = {
                "capacity": memory.capacity,
                "items": items,
                "forgotten": None,
            }
        if forgotten is not None:
            kind = "episodic" if isinstance(forgotten, Placement) else "semantic"
            shelves[kind]["forgotten"] = self._in_words(forgotten, None)
        return {**shelves, "source": source}

    def _in_words(self, item, best):
        names = {
            "thing": self.world.objects,
            "place": self.world.locations,
            "person": self.world.people,
        }
        told = item._asdict()
        if self.world.encoding == "index":
            told |= {
                key: words[told[key]] for key, words in names.items() if key in told
            }
        told["object"], told["location"] = told.pop("thing"), told.pop("place")
        return {**told, "used": item == best}


def with_memory(frames: Sequence[dict], pages: Sequence[dict]) -> list[dict]:
    """The frames of an episode, each with what the agent's memory held when it answered there.

    frames  of rollout(..., record="frames"), one more than there were answers
    pages   the agent's, with diary=True
    """
    if len(frames) != len(pages) + 1:
        raise ValueError(
            f"{len(pages)} pages belong to {len(pages) + 1} frames; got {len(frames)}"
        )
    return (
        [{**frame, "memory": page} for frame, page in zip(frames, [*pages, pages[-1]])]
        if pages
        else list(frames)
    )


class EpisodicAgent(MemoryAgent):
    """Keeps every placement as an episode, forgets the oldest, answers with the latest."""

    name = "episodic"

    def keep(
        self, placement: Placement, episodic: Episodic, semantic: Semantic
    ) -> Placement | None:
        gone = episodic.store(placement)
        if self.reference and len(episodic) == episodic.capacity:
            gone = episodic.make_room()
        return gone


class SemanticAgent(MemoryAgent):
    """Counts every placement, whoever's, forgets the weakest count, answers with the strongest."""

    name = "semantic"
    split = (0.0, 1.0)

    def keep(
        self, placement: Placement, episodic: Episodic, semantic: Semantic
    ) -> Belief | None:
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

    def keep(
        self, placement: Placement, episodic: Episodic, semantic: Semantic
    ) -> Placement | Belief | None:
        gone = (
            self._generalise(episodic, semantic)
            if len(episodic) >= episodic.capacity > 0
            else None
        )
        episodic.store(placement)
        return gone

    def _generalise(self, episodic, semantic):
        groups = Counter((item.thing, item.place) for item in episodic.items)
        pair, size = groups.most_common(1)[0]
        if size < 2:
            return episodic.make_room()
        episodic.items = [
            item for item in episodic.items if (item.thing, item.place) != pair
        ]
        if pair in semantic.strengths or semantic.weakest() <= size:
            return semantic.strengthen(*pair, by=size)
        return Belief(*pair, size)


class GivenAgent(MemoryAgent):
    """Knows from the start where things usually are, in up to half its capacity; keeps episodes in the rest.

    usual  {thing: place}; None takes the world's own
    """

    name = "given"

    def __init__(
        self,
        capacity: int,
        reference: str | None = None,
        diary: bool = False,
        usual: Mapping | None = None,
    ) -> None:
        super().__init__(capacity, reference, diary)
        self.usual = usual

    def new_memory(self) -> tuple[Episodic, Semantic]:
        return given_memory(self.world, self.capacity, self.usual)

    def keep(
        self, placement: Placement, episodic: Episodic, semantic: Semantic
    ) -> Placement | None:
        return episodic.store(placement)
