"""Memory systems with a capacity, and agents that answer the room's questions from them.

Two kinds of memory, after Kim et al. (2022): an episodic one stores events (james's laptop, desk, at 42), a semantic
one what is usual (any laptop, desk, seen 7 times). Each has a capacity, a rule for what is forgotten and a rule for
which of several memories answers.

>>> memory = Episodic(2)
>>> for time, place in enumerate(["desk", "table", "shelf"]):
...     gone = memory.store(Placement("james", "laptop", place, time))
>>> gone
Placement(person='james', thing='laptop', place='desk', time=0)
>>> memory.recall("james", "laptop")
Placement(person='james', thing='laptop', place='shelf', time=2)
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, own_chance
from pushlab.datasets.commonsense import OWNS
from pushlab.ground.arguments import demand, flag, one_of, whole

if TYPE_CHECKING:
    import pandas as pd


class Placement(NamedTuple):
    """An event; words or codes, as in the environment."""

    person: Any
    thing: Any
    place: Any
    time: int


class Belief(NamedTuple):
    """What is usual, and how often it was seen."""

    thing: Any
    place: Any
    strength: float


# ---------------------------------------------------------------- the two kinds of memory


class Episodic:
    """Events in the order in which they happened; the oldest is forgotten first, the latest answers.

    Args:
        capacity: Maximal number of placements; 0 stores none.
    """

    def __init__(self, capacity: int):
        self.capacity = whole("capacity", capacity, 0)
        self.items = []  # oldest first

    def __len__(self):
        return len(self.items)

    def store(self, placement: Placement) -> Placement | None:
        """Store a placement; return the one that was forgotten for it, or None."""
        if not self.capacity:
            return placement
        gone = None
        if len(self) >= self.capacity:
            gone = self.make_room()
        self.items.append(placement)
        return gone

    def make_room(self) -> Placement:
        """Forget the oldest placement and return it."""
        return self.items.pop(0)

    def recall(self, person: Any, thing: Any) -> Placement | None:
        """Return the placement that says where a person's thing is, or None."""
        for item in reversed(self.items):
            if item[1] == thing and item[0] == person:
                return item
        return None


class Semantic:
    """What is usual, by counting; the weakest belief is forgotten first, the strongest answers.

    Among equals the one strengthened longest ago is forgotten first, and the one strengthened last answers.

    Args:
        capacity: Maximal number of beliefs; 0 stores none.

    >>> memory = Semantic(2)
    >>> for place in ["desk", "desk", "table", "shelf"]:
    ...     gone = memory.strengthen("laptop", place)
    >>> gone, memory.recall("laptop")
    (Belief(thing='laptop', place='table', strength=1), Belief(thing='laptop', place='desk', strength=2))
    """

    def __init__(self, capacity: int):
        self.capacity = whole("capacity", capacity, 0)
        self.is_frozen = False
        # {(thing, place): strength}, the one strengthened last at the end.
        self.strengths: dict[tuple[Any, Any], float] = {}

    def __len__(self):
        return len(self.strengths)

    @property
    def items(self) -> list[Belief]:
        """The beliefs, the one strengthened longest ago first."""
        pairs = self.strengths.items()
        return [Belief(*pair, strength) for pair, strength in pairs]

    def strengthen(
        self,
        thing: Any,
        place: Any,
        by: float = 1,
    ) -> Belief | None:
        """Count something once more, or for the first time; return the belief that was forgotten for it, or None."""
        if self.is_frozen or not self.capacity:
            return Belief(thing, place, by)
        gone = None
        strength = self.strengths.pop((thing, place), 0)
        if not strength and len(self) >= self.capacity:
            gone = self.make_room()
        self.strengths[thing, place] = strength + by
        return gone

    def make_room(self) -> Belief:
        """Forget the weakest belief and return it."""
        pair = min(self.strengths, key=self.strengths.get)
        return Belief(*pair, self.strengths.pop(pair))

    def recall(self, thing: Any) -> Belief | None:
        """Return the belief that says where a thing usually is, or None."""
        found = [pair for pair in self.strengths if pair[0] == thing]
        if not found:
            return None
        pair = max(reversed(found), key=self.strengths.__getitem__)
        return Belief(*pair, self.strengths[pair])

    def fill(self, usual: Mapping[Any, Any]) -> None:
        """Store usual places, {thing: place}, as far as there is room, and learn nothing from then on."""
        for pair in list(usual.items())[: self.capacity]:
            self.strengths[pair] = 1
        self.capacity = len(self)
        self.is_frozen = True


# ---------------------------------------------------------------- agents


class MemoryAgent(Agent):
    """Sees a placement, stores it or not, and answers from memory: the common part of the systems below.

    It works in both encodings. With several agents in the room, each has a memory of its own with this capacity, and
    the best memory of all answers for all: the latest episodic one, else the strongest semantic one. The memory is
    empty at the beginning of each episode.

    Args:
        capacity: Maximal number of memories of both kinds together.
        reference: "agent-room-env-v0": single systems forget as soon as they are full, before they answer, and not
            when a memory arrives for which there is no room; so they have one slot less.
        diary: Whether to store in `pages` what the memory contained at each answer of an episode, for pictures.
    """

    name = "memory"
    split = (1.0, 0.0)  # the shares of the capacity that are episodic and semantic

    def __init__(
        self,
        capacity: int,
        reference: str | None = None,
        diary: bool = False,
    ):
        self.capacity = whole("capacity", capacity, 1)
        self.reference = one_of("reference", reference, (None, "agent-room-env-v0"))
        self.diary = flag("diary", diary)

    def begin(self, env, seed):
        self.world = getattr(env.unwrapped, "world", None)
        demand(
            hasattr(self.world, "n_agents"),
            f"{self.name} remembers where things are; this environment has none, pushlab/RoomEnv-v0 has",
        )
        self.chance = own_chance(seed)
        self.memories = [self.new_memory() for _ in range(self.world.n_agents)]
        self.pages = []

    def new_memory(self):
        """Return an empty pair of memories; a subclass may divide the capacity in another way."""
        episodic = round(self.capacity * self.split[0])
        return Episodic(episodic), Semantic(self.capacity - episodic)

    def keep(self, placement, episodic, semantic):
        """Store a placement or not; return what was forgotten for it, or None."""
        raise NotImplementedError(f"{type(self).__name__} has no method keep")

    def act(self, observation, info, explore=True):
        placements, person, thing = self._read(observation)
        gone = [
            self.keep(placement, *memory)
            for placement, memory in zip(placements, self.memories)
        ]
        best = self.recall(person, thing)
        if self.diary:
            self.pages.append(self._page(gone[0], best))
        self.propensity = 1.0
        answer = None if best is None else best.place
        if (
            answer is None and self.world.encoding == "index"
        ):  # an answer must be a code
            count = len(self.world.locations)
            answer = int(self.chance.integers(count))
            self.propensity = 1 / count
        if self.world.n_agents == 1:
            return answer
        return (answer,) * self.world.n_agents

    def recall(self, person, thing):
        """Return the Placement or Belief that answers, or None: the latest episode, else the strongest belief."""
        found = [one.recall(person, thing) for one, _ in self.memories]
        episodes = [*filter(None, found)]
        if episodes:
            return max(episodes, key=lambda one: one.time)
        found = [one.recall(thing) for _, one in self.memories]
        beliefs = filter(None, found)
        return max(beliefs, key=lambda one: one.strength, default=None)

    def _read(self, observation):
        """Return the placements in view, and the person and thing of the question, in either encoding."""
        if self.world.encoding == "index":
            *codes, person, thing = observation.tolist()
            starts = range(0, len(codes), 4)
            placements = [Placement(*codes[at : at + 4]) for at in starts]
            return placements, person, thing
        seen, (head, _) = observation
        if self.world.n_agents == 1:
            seen = [seen]
        placements = []
        for what, _, place, time in seen:
            owner, _, thing = what.partition(OWNS)
            placements.append(Placement(owner, thing, place, time))
        person, _, thing = head.partition(OWNS)
        return placements, person, thing

    def _page(self, gone, best):
        """Return the data of a picture of the first agent's memory, in words."""
        source = "nothing remembered"
        if isinstance(best, Placement):
            source = f"episodic, from t {best.time:,}"
        elif best is not None:
            source = f"semantic, seen {best.strength:g}×"
        page: dict[str, Any] = {"source": source}
        for kind, memory in zip(("episodic", "semantic"), self.memories[0]):
            items = [self._in_words(item, item == best) for item in memory.items]
            page[kind] = {
                "capacity": memory.capacity,
                "items": items,
                "forgotten": None,
            }
        if gone is not None:
            kind = "episodic" if isinstance(gone, Placement) else "semantic"
            page[kind]["forgotten"] = self._in_words(gone)
        return page

    def _in_words(self, item, used=False):
        words = {**item._asdict(), "used": used}
        if self.world.encoding == "index":
            words["thing"] = self.world.objects[item.thing]
            words["place"] = self.world.locations[item.place]
            if isinstance(item, Placement):
                words["person"] = self.world.people[item.person]
        words["object"] = words.pop("thing")
        words["location"] = words.pop("place")
        return words


def with_memory(
    frames: Sequence[dict],
    pages: Sequence[dict],
) -> list[dict]:
    """Return the frames of an episode, each with the content of the agent's memory at its answer.

    Args:
        frames: Frames of `rollout(..., record="frames")`, one more than there were answers.
        pages: The agent's `pages`, with diary=True.
    """
    demand(
        len(frames) == len(pages) + 1,
        f"{len(pages)} pages belong to {len(pages) + 1} frames; got {len(frames)}",
    )
    every = [*pages, *pages[-1:]]
    return [{**frame, "memory": page} for frame, page in zip(frames, every)]


class EpisodicAgent(MemoryAgent):
    """Stores every placement as an episode, forgets the oldest, answers with the latest."""

    name = "episodic"

    def keep(self, placement, episodic, semantic):
        gone = episodic.store(placement)
        if self.reference and len(episodic) == episodic.capacity:
            return episodic.make_room()
        return gone


class SemanticAgent(MemoryAgent):
    """Counts every placement, whoever's, forgets the weakest count, answers with the strongest."""

    name = "semantic"
    split = (0.0, 1.0)

    def keep(self, placement, episodic, semantic):
        gone = semantic.strengthen(placement.thing, placement.place)
        if self.reference and len(semantic) == semantic.capacity:
            return semantic.make_room()
        return gone


class BothAgent(MemoryAgent):
    """Stores episodes; when they fill their half of the capacity, the most similar become one belief of the other half.

    Episodes of the same thing at the same place are similar, whoever's it is. The largest group of two or more is
    removed and counted as one belief with the group's size as its strength (among equals the group with the oldest
    episode; the original draws one). A belief for which there is no room replaces the weakest if it is at least as
    strong, else it is lost. If no two episodes are similar, the oldest is forgotten.
    """

    name = "both"
    split = (0.5, 0.5)

    def keep(self, placement, episodic, semantic):
        gone = None
        if len(episodic) >= episodic.capacity > 0:
            gone = self._generalise(episodic, semantic)
        episodic.store(placement)
        return gone

    def _generalise(self, episodic, semantic):
        pairs = [(item.thing, item.place) for item in episodic.items]
        pair, size = Counter(pairs).most_common(1)[0]
        if size < 2:
            return episodic.make_room()
        others = zip(episodic.items, pairs)
        episodic.items = [item for item, own in others if own != pair]
        strengths = semantic.strengths
        is_full = len(semantic) >= semantic.capacity
        if is_full and pair not in strengths and min(strengths.values()) > size:
            return Belief(*pair, size)
        return semantic.strengthen(*pair, by=size)


class GivenAgent(MemoryAgent):
    """Knows from the start where things usually are, in up to half its capacity; stores episodes in the rest.

    Args:
        usual: {thing: place} in words; None takes the world's own.
    """

    name = "given"

    def __init__(
        self,
        capacity: int,
        reference: str | None = None,
        diary: bool = False,
        usual: Mapping | None = None,
    ):
        super().__init__(capacity, reference, diary)
        self.usual = usual

    def new_memory(self):
        world = self.world
        usual = world.usual if self.usual is None else self.usual
        if world.encoding == "index":
            usual = {
                world.objects.index(thing): world.location_code[place]
                for thing, place in usual.items()
                if thing in world.objects and place in world.location_code
            }
        semantic = Semantic(self.capacity // 2)
        semantic.fill(usual)
        return Episodic(self.capacity - semantic.capacity), semantic

    def keep(self, placement, episodic, semantic):
        return episodic.store(placement)


# ---------------------------------------------------------------- an agent that learns what to store

EPISODE, BELIEF, FORGET = 0, 1, 2
DECISIONS = ("keep as an episode", "make it a belief", "forget it")
MOMENTS = ("seen now", "oldest episode")
BELIEFS = ("none", "agrees", "differs")
AGES = (0, 1, 2, 4, 6, 8, 10, 12, 16, 24)  # the first age of each class, in steps


class LearnedAgent(GivenAgent):
    """Learns what to do with each placement, when it is seen and again when it is the oldest
    episode.

    Both times it can keep it as an episode, count it as a belief (and no episode any more), or
    forget it. It decides by features without names, so that a policy learned in one room can be
    used in another:

    - `moment`: seen now, or the oldest episode
    - `belief`: the semantic memory of this thing: nothing, the same place, another place
    - `age`: in steps, in classes that begin at AGES: of the episode; for what is seen now, that of
      the latest episode that puts this person's thing at another place, 0 if there is none

    Learning is Monte Carlo control with a table: the value of a decision in such a situation is the
    mean, over all times it was made, of the discounted rewards that followed, each less the usual
    reward. A decision about a laptop can only matter for questions about laptops, so only their
    rewards count; all others would be noise.

    Attributes:
        epsilon: Share of decisions drawn at random while it explores.
        discount: Weight of a reward a step later.
        horizon: Steps after which a decision is judged.

    Source:
        Sutton & Barto (2018), Reinforcement Learning, section 5.4, for every-visit Monte Carlo control.
    """

    name = "learned"
    epsilon = 0.1
    discount = 0.8
    horizon = 20
    saved = {
        "values": FLOATS,
        "counts": np.array,
        "usually": float,
        "answers": int,
    }

    def __init__(self, capacity: int):
        super().__init__(capacity)
        # Moments, beliefs, ages and decisions.
        shape = (2, 3, len(AGES), 3)
        self.values = np.zeros(shape)
        self.counts = np.zeros(shape, np.int64)
        self.usually = 0.0  # the mean reward of recent answers
        self.answers = 0
        ages = np.arange(AGES[-1] + 1)
        classes = np.searchsorted(AGES, ages, side="right") - 1
        self._class_of = classes.tolist()

    def begin(self, env, seed):
        super().begin(env, seed)
        self._tried = deque()  # decisions not judged yet, oldest first
        self._about = defaultdict(list)  # the same by thing
        self._draw_uniforms()

    # ------------------------------------------------------------ deciding

    def act(self, observation, info, explore=True):
        self._explore = explore
        answer = super().act(observation, info, explore)
        if explore:  # the decisions to keep something are one way of many
            self.propensity = None
        return answer

    def recall(self, person, thing):
        self._asked = thing  # only rewards of questions about it count
        return super().recall(person, thing)

    def keep(self, placement, episodic, semantic):
        now = placement.time
        gone = None
        if episodic.items:
            oldest = episodic.items[0]
            choice = self._decide(1, oldest, semantic, now, now - oldest.time)
            if choice != EPISODE:
                gone = episodic.make_room()
            if choice == BELIEF:
                gone = semantic.strengthen(oldest.thing, oldest.place)
        before = episodic.recall(placement.person, placement.thing)
        age = 0
        if before is not None and before.place != placement.place:
            age = now - before.time
        choice = self._decide(0, placement, semantic, now, age)
        if choice == EPISODE:
            return episodic.store(placement) or gone
        if choice == BELIEF:
            return semantic.strengthen(placement.thing, placement.place) or gone
        return gone

    def _decide(self, moment, placement, semantic, now, age):
        belief = semantic.recall(placement.thing)
        about = 0
        if belief is not None:
            about = 1 if belief.place == placement.place else 2
        age = self._class_of[min(age, AGES[-1])]
        situation = moment, about, age
        counts = self.counts[situation].tolist()
        values = self.values[situation].tolist()
        if self._explore and self._uniform() < self.epsilon:
            choice = int(self._uniform() * 3)
        elif self._explore and 0 in counts:
            choice = counts.index(0)  # never tried
        else:
            choice = values.index(max(values))
        if self._explore:
            tried = [now, (*situation, choice), 0.0, placement.thing]
            self._tried.append(tried)
            self._about[placement.thing].append(tried)
        return choice

    def _draw_uniforms(self):
        """Draw a block of random numbers, which is faster than one at a time."""
        self._uniforms = iter(self.chance.random(4096).tolist())

    def _uniform(self):
        number = next(self._uniforms, None)
        if number is None:
            self._draw_uniforms()
            number = next(self._uniforms)
        return number

    # ------------------------------------------------------------ learning

    def learn(self, transition):
        if not self._tried:
            return
        now = self._tried[-1][0]
        surprise = transition.reward - self.usually
        self.answers += 1
        self.usually += surprise / min(self.answers, 1000)
        for tried in self._about[self._asked]:
            tried[2] += surprise * self.discount ** (now - tried[0])
        oldest = now - self.horizon
        while self._tried and self._tried[0][0] <= oldest:
            tried = self._tried.popleft()
            _, where, reward, thing = tried
            self._about[thing].remove(tried)
            self.counts[where] += 1
            error = reward - self.values[where]
            self.values[where] += error / min(self.counts[where], 5000)

    def table(self) -> pd.DataFrame:
        """Return its decisions now, a row per situation: moment, belief, age (first step), decision, times tried."""
        import pandas as pd

        rows = []
        for situation in np.ndindex(self.counts.shape[:3]):
            counts = self.counts[situation]
            if counts.any():
                values = np.where(counts > 0, self.values[situation], -np.inf)
                moment, belief, age = situation
                row = {
                    "moment": MOMENTS[moment],
                    "belief": BELIEFS[belief],
                    "age": AGES[age],
                    "decision": DECISIONS[values.argmax()],
                    "tried": counts.sum(),
                }
                rows.append(row)
        return pd.DataFrame(rows)
