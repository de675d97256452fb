"""Memories of limited capacity, and agents that answer the room's questions from them.

There are two kinds of memory, after Kim et al. (2022). An episodic memory stores events (james's laptop, desk, at 42).
A semantic memory counts usual places (any laptop, desk, seen 7 times). Each has a capacity, a rule for forgetting, and
a rule for choosing one of several matching memories as the answer.

>>> memory = EpisodicMemory(2)
>>> for time, place in enumerate(["desk", "table", "shelf"]):
...     forgotten = memory.store(Placement("james", "laptop", place, time))
>>> forgotten
Placement(person='james', thing='laptop', place='desk', time=0)
>>> memory.recall("james", "laptop")
Placement(person='james', thing='laptop', place='shelf', time=2)
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pushlab.agents.protocol import FLOATS, Agent, agent_rng
from pushlab.datasets.commonsense import POSSESSIVE
from pushlab.utils.arguments import (
    require,
    validate_bool,
    validate_choice,
    validate_integer,
)

if TYPE_CHECKING:
    import pandas as pd


class Placement(NamedTuple):
    """An event: a person's thing at a place, in words or codes as in the environment."""

    person: Any
    thing: Any
    place: Any
    time: int


class Belief(NamedTuple):
    """A usual place of a thing, and how often the thing was seen there."""

    thing: Any
    place: Any
    strength: float


# ---------------------------------------------------------------- the two kinds of memory


class EpisodicMemory:
    """Events in order of time. The oldest is forgotten first; the latest match is the answer.

    Args:
        capacity: Maximal number of placements; 0 stores none.
    """

    def __init__(self, capacity: int):
        self.capacity = validate_integer("capacity", capacity, 0)
        self.items = []  # oldest first

    def __len__(self):
        return len(self.items)

    def store(self, placement: Placement) -> Placement | None:
        """Store a placement; return the placement forgotten to make room, or None."""
        if not self.capacity:
            return placement
        forgotten = None
        if len(self) >= self.capacity:
            forgotten = self.make_room()
        self.items.append(placement)
        return forgotten

    def make_room(self) -> Placement:
        """Forget the oldest placement and return it."""
        return self.items.pop(0)

    def recall(self, person: Any, thing: Any) -> Placement | None:
        """Return the latest placement of a person's thing, or None."""
        for item in reversed(self.items):
            if item[1] == thing and item[0] == person:
                return item
        return None


class SemanticMemory:
    """Counts of usual places. The weakest belief is forgotten first; the strongest match is the answer.

    Among equally strong beliefs, the least recently strengthened is forgotten first, and the most recently strengthened
    is the answer.

    Args:
        capacity: Maximal number of beliefs; 0 stores none.

    >>> memory = SemanticMemory(2)
    >>> for place in ["desk", "desk", "table", "shelf"]:
    ...     forgotten = memory.strengthen("laptop", place)
    >>> forgotten, memory.recall("laptop")
    (Belief(thing='laptop', place='table', strength=1), Belief(thing='laptop', place='desk', strength=2))
    """

    def __init__(self, capacity: int):
        self.capacity = validate_integer("capacity", capacity, 0)
        self.is_frozen = False
        # {(thing, place): strength}, the most recently strengthened last.
        self.strengths: dict[tuple[Any, Any], float] = {}

    def __len__(self):
        return len(self.strengths)

    @property
    def items(self) -> list[Belief]:
        """The beliefs, the least recently strengthened first."""
        pairs = self.strengths.items()
        return [Belief(*pair, strength) for pair, strength in pairs]

    def strengthen(
        self,
        thing: Any,
        place: Any,
        by: float = 1,
    ) -> Belief | None:
        """Increase a belief's strength, or add the belief; return the belief forgotten to make room, or None."""
        if self.is_frozen or not self.capacity:
            return Belief(thing, place, by)
        forgotten = None
        strength = self.strengths.pop((thing, place), 0)
        if not strength and len(self) >= self.capacity:
            forgotten = self.make_room()
        self.strengths[thing, place] = strength + by
        return forgotten

    def make_room(self) -> Belief:
        """Forget the weakest belief and return it."""
        pair = min(self.strengths, key=self.strengths.get)
        return Belief(*pair, self.strengths.pop(pair))

    def recall(self, thing: Any) -> Belief | None:
        """Return the strongest belief about a thing, or None."""
        matches = [pair for pair in self.strengths if pair[0] == thing]
        if not matches:
            return None
        pair = max(reversed(matches), key=self.strengths.__getitem__)
        return Belief(*pair, self.strengths[pair])

    def prefill(self, usual: Mapping[Any, Any]) -> None:
        """Store usual places, {thing: place}, up to the capacity, and freeze the memory."""
        for pair in list(usual.items())[: self.capacity]:
            self.strengths[pair] = 1
        self.capacity = len(self)
        self.is_frozen = True


# ---------------------------------------------------------------- agents


class MemoryAgent(Agent):
    """Base class of the agents below: it stores the placements in view or not, and answers from memory.

    It works in both encodings. If there are several agents in the room, each has its own memory of this capacity. All
    give the same answer, the best of all memories: the latest episode, or else the strongest belief. The memory is
    empty at the start of each episode.

    Args:
        capacity: Maximal number of memories of both kinds together.
        reference: With "agent-room-env-v0", single systems forget as soon as they are full, before they answer, instead
            of when a new memory needs room. So they have one slot less.
        record_memory: Whether to record the content of the memory at each answer in `memory_log`, for pictures.

    Attributes:
        split: Fractions of the capacity that are episodic and semantic.
        memories: A pair (EpisodicMemory, SemanticMemory) for each agent in the room.
        memory_log: Content of the first agent's memory at each answer of the episode.
    """

    name = "memory"
    split = (1.0, 0.0)

    def __init__(
        self,
        capacity: int,
        reference: str | None = None,
        record_memory: bool = False,
    ):
        self.capacity = validate_integer("capacity", capacity, 1)
        self.reference = validate_choice(
            "reference", reference, (None, "agent-room-env-v0")
        )
        self.record_memory = validate_bool("record_memory", record_memory)

    def begin(self, env, seed):
        self.world = getattr(env.unwrapped, "world", None)
        require(
            hasattr(self.world, "n_agents"),
            f"{self.name} answers questions about a room, but this environment has none; use pushlab/RoomEnv-v0",
        )
        self.rng = agent_rng(seed)
        self.memories = [self.new_memory() for _ in range(self.world.n_agents)]
        self.memory_log = []

    def new_memory(self):
        """Return an empty pair of memories. A subclass can divide the capacity differently."""
        episodic = round(self.capacity * self.split[0])
        return EpisodicMemory(episodic), SemanticMemory(self.capacity - episodic)

    def store_placement(self, placement, episodic, semantic):
        """Store a placement or not; return the memory forgotten for it, or None."""
        raise NotImplementedError

    def act(self, observation, info, explore=True):
        placements, person, thing = self._read(observation)
        forgotten = [
            self.store_placement(placement, *memory)
            for placement, memory in zip(placements, self.memories)
        ]
        best = self.recall(person, thing)
        if self.record_memory:
            self.memory_log.append(self._page(forgotten[0], best))
        self.propensity = 1.0
        answer = None if best is None else best.place
        needs_code = self.world.encoding == "index"
        if answer is None and needs_code:
            count = len(self.world.locations)
            answer = int(self.rng.integers(count))
            self.propensity = 1 / count
        if self.world.n_agents == 1:
            return answer
        return (answer,) * self.world.n_agents

    def recall(self, person, thing):
        """Return the latest Placement, or else the strongest Belief, or None."""
        matches = [episodic.recall(person, thing) for episodic, _ in self.memories]
        episodes = [*filter(None, matches)]
        if episodes:
            return max(episodes, key=lambda episode: episode.time)
        matches = [semantic.recall(thing) for _, semantic in self.memories]
        beliefs = filter(None, matches)
        return max(beliefs, key=lambda belief: belief.strength, default=None)

    def _read(self, observation):
        """Return the placements in view, and the person and thing of the question, in either encoding."""
        if self.world.encoding == "index":
            *codes, person, thing = observation.tolist()
            starts = range(0, len(codes), 4)
            placements = [Placement(*codes[start : start + 4]) for start in starts]
            return placements, person, thing
        seen, (question_head, _) = observation
        if self.world.n_agents == 1:
            seen = [seen]
        placements = []
        for head, _, place, time in seen:
            owner, _, thing = head.partition(POSSESSIVE)
            placements.append(Placement(owner, thing, place, time))
        person, _, thing = question_head.partition(POSSESSIVE)
        return placements, person, thing

    def _page(self, forgotten, best):
        """Return the data of a picture of the first agent's memory, in words."""
        source = "nothing remembered"
        if isinstance(best, Placement):
            source = f"episodic, from t {best.time:,}"
        elif best is not None:
            source = f"semantic, seen {best.strength:g}×"
        page: dict[str, Any] = {"source": source}
        for kind, memory in zip(("episodic", "semantic"), self.memories[0]):
            items = [self._decode(item, item == best) for item in memory.items]
            page[kind] = {
                "capacity": memory.capacity,
                "items": items,
                "forgotten": None,
            }
        if forgotten is not None:
            kind = "episodic" if isinstance(forgotten, Placement) else "semantic"
            page[kind]["forgotten"] = self._decode(forgotten)
        return page

    def _decode(self, item, used=False):
        words = {**item._asdict(), "used": used}
        if self.world.encoding == "index":
            words["thing"] = self.world.objects[item.thing]
            words["place"] = self.world.locations[item.place]
            if isinstance(item, Placement):
                words["person"] = self.world.people[item.person]
        words["object"] = words.pop("thing")
        words["location"] = words.pop("place")
        return words


def frames_with_memory(
    frames: Sequence[dict],
    memory_log: Sequence[dict],
) -> list[dict]:
    """Return the frames of an episode, each with the content of the agent's memory at its answer.

    Args:
        frames: Frames of `rollout(..., record="frames")`, one more than entries in `memory_log`.
        memory_log: The agent's `memory_log`, recorded with `record_memory=True`.
    """
    require(
        len(frames) == len(memory_log) + 1,
        f"a memory log of {len(memory_log)} answers needs {len(memory_log) + 1} frames; got {len(frames)}",
    )
    padded = [*memory_log, *memory_log[-1:]]
    return [{**frame, "memory": page} for frame, page in zip(frames, padded)]


class EpisodicAgent(MemoryAgent):
    """Stores every placement as an episode, forgets the oldest, and answers with the latest."""

    name = "episodic"

    def store_placement(self, placement, episodic, semantic):
        forgotten = episodic.store(placement)
        if self.reference and len(episodic) == episodic.capacity:
            return episodic.make_room()
        return forgotten


class SemanticAgent(MemoryAgent):
    """Counts every placement regardless of the owner, forgets the weakest belief, and answers with the strongest."""

    name = "semantic"
    split = (0.0, 1.0)

    def store_placement(self, placement, episodic, semantic):
        forgotten = semantic.strengthen(placement.thing, placement.place)
        if self.reference and len(semantic) == semantic.capacity:
            return semantic.make_room()
        return forgotten


class EpisodicSemanticAgent(MemoryAgent):
    """Stores episodes in half of the capacity, and merges similar ones into beliefs in the other half.

    Episodes of the same thing at the same place are similar, regardless of the owner. When the episodic half is full,
    the largest group of two or more similar episodes becomes one belief, with the size of the group as its strength.
    Among equally large groups, that with the oldest episode is merged; the original draws one. If the semantic half is
    full, the new belief replaces the weakest unless it is weaker itself. If no two episodes are similar, the oldest is
    forgotten.
    """

    name = "both"
    split = (0.5, 0.5)

    def store_placement(self, placement, episodic, semantic):
        forgotten = None
        if len(episodic) >= episodic.capacity > 0:
            forgotten = self._generalise(episodic, semantic)
        episodic.store(placement)
        return forgotten

    def _generalise(self, episodic, semantic):
        """Merge the largest group of similar episodes into a belief; return the forgotten memory, or None."""
        pairs = [(item.thing, item.place) for item in episodic.items]
        pair, size = Counter(pairs).most_common(1)[0]
        if size < 2:
            return episodic.make_room()
        items = zip(episodic.items, pairs)
        episodic.items = [item for item, item_pair in items if item_pair != pair]
        strengths = semantic.strengths
        is_full = len(semantic) >= semantic.capacity
        if is_full and pair not in strengths and min(strengths.values()) > size:
            return Belief(*pair, size)
        return semantic.strengthen(*pair, by=size)


class PrefilledMemoryAgent(MemoryAgent):
    """Starts with usual places in up to half of its capacity, and stores episodes in the rest.

    Args:
        capacity: Maximal number of memories.
        usual: {thing: place} in words. None takes the world's own.
        options: `reference` and `record_memory`, as in `MemoryAgent`.
    """

    name = "given"

    def __init__(
        self,
        capacity: int,
        usual: Mapping | None = None,
        **options: Any,
    ):
        super().__init__(capacity, **options)
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
        semantic = SemanticMemory(self.capacity // 2)
        semantic.prefill(usual)
        return EpisodicMemory(self.capacity - semantic.capacity), semantic

    def store_placement(self, placement, episodic, semantic):
        return episodic.store(placement)


# ---------------------------------------------------------------- an agent that learns what to store

EPISODE, BELIEF, FORGET = range(3)
DECISIONS = ("keep as an episode", "make it a belief", "forget it")
MOMENTS = ("seen now", "oldest episode")
BELIEFS = ("none", "agrees", "differs")
AGES = (0, 1, 2, 4, 6, 8, 10, 12, 16, 24)  # the first age of each class, in steps


class LearnedMemoryAgent(PrefilledMemoryAgent):
    """Learns to decide about each placement when it is seen, and again when it is the oldest episode.

    Each time it can store the placement as an episode, count it as a belief instead, or forget it. The decision depends
    on features without names, so that a policy learned in one room can be used in another:

    - `moment`: seen now, or the oldest episode
    - `belief`: the semantic memory of this thing: none, the same place, or another place
    - `age`: age in steps, in classes that start at AGES. For an episode it is its own age. For a placement seen now it
      is the age of the latest episode with this person's thing at another place, or 0.

    Learning is Monte Carlo control with a table. The value of a decision in a situation is the mean of the discounted
    rewards after it, each less the mean reward. A decision about a laptop only affects questions about laptops, so only
    the rewards of these count; all others would be noise.

    Attributes:
        epsilon: Fraction of random decisions while exploring.
        discount: Weight of a reward one step later.
        horizon: Number of steps after which a decision's value is updated.

    Source:
        Sutton & Barto (2018), Reinforcement Learning, section 5.4, for every-visit Monte Carlo control.
    """

    name = "learned"
    epsilon = 0.1
    discount = 0.8
    horizon = 20
    state_attributes = {
        "values": FLOATS,
        "counts": np.array,
        "reward_baseline": float,
        "answers": int,
    }

    def __init__(self, capacity: int):
        super().__init__(capacity)
        shape = (len(MOMENTS), len(BELIEFS), len(AGES), len(DECISIONS))
        self.values = np.zeros(shape)
        self.counts = np.zeros(shape, np.int64)
        self.reward_baseline = 0.0  # the mean reward of recent answers
        self.answers = 0
        ages = np.arange(AGES[-1] + 1)
        classes = np.searchsorted(AGES, ages, side="right") - 1
        self._age_classes = classes.tolist()

    def begin(self, env, seed):
        super().begin(env, seed)
        self._pending = deque()  # decisions whose value isn't updated yet, oldest first
        self._pending_by_thing = defaultdict(list)
        self._draw_uniforms()

    # ------------------------------------------------------------ deciding

    def act(self, observation, info, explore=True):
        self._explore = explore
        answer = super().act(observation, info, explore)
        if explore:  # the answer depends on random decisions of earlier steps
            self.propensity = None
        return answer

    def recall(self, person, thing):
        self._question_thing = thing
        return super().recall(person, thing)

    def store_placement(self, placement, episodic, semantic):
        now = placement.time
        forgotten = None
        if episodic.items:
            oldest = episodic.items[0]
            decision = self._decide(1, oldest, semantic, now, now - oldest.time)
            if decision != EPISODE:
                forgotten = episodic.make_room()
            if decision == BELIEF:
                forgotten = semantic.strengthen(oldest.thing, oldest.place)
        latest = episodic.recall(placement.person, placement.thing)
        age = 0
        if latest is not None and latest.place != placement.place:
            age = now - latest.time
        decision = self._decide(0, placement, semantic, now, age)
        if decision == EPISODE:
            return episodic.store(placement) or forgotten
        if decision == BELIEF:
            return semantic.strengthen(placement.thing, placement.place) or forgotten
        return forgotten

    def _decide(self, moment, placement, semantic, now, age):
        belief = semantic.recall(placement.thing)
        belief_class = 0
        if belief is not None:
            belief_class = 1 if belief.place == placement.place else 2
        age_class = self._age_classes[min(age, AGES[-1])]
        situation = moment, belief_class, age_class
        counts = self.counts[situation].tolist()
        values = self.values[situation].tolist()
        if self._explore and self._uniform() < self.epsilon:
            decision = int(self._uniform() * 3)
        elif self._explore and 0 in counts:
            decision = counts.index(0)
        else:
            decision = values.index(max(values))
        if self._explore:
            pending = [now, (*situation, decision), 0.0, placement.thing]
            self._pending.append(pending)
            self._pending_by_thing[placement.thing].append(pending)
        return decision

    def _draw_uniforms(self):
        """Draw a block of random numbers, which is faster than drawing single ones."""
        self._uniforms = iter(self.rng.random(4096).tolist())

    def _uniform(self):
        uniform = next(self._uniforms, None)
        if uniform is None:
            self._draw_uniforms()
            uniform = next(self._uniforms)
        return uniform

    # ------------------------------------------------------------ learning

    def learn(self, transition):
        if not self._pending:
            return
        now = self._pending[-1][0]
        surprise = transition.reward - self.reward_baseline
        self.answers += 1
        self.reward_baseline += surprise / min(self.answers, 1000)
        for pending in self._pending_by_thing[self._question_thing]:
            pending[2] += surprise * self.discount ** (now - pending[0])
        last_due = now - self.horizon
        while self._pending and self._pending[0][0] <= last_due:
            pending = self._pending.popleft()
            _, index, reward, thing = pending
            self._pending_by_thing[thing].remove(pending)
            self.counts[index] += 1
            error = reward - self.values[index]
            self.values[index] += error / min(self.counts[index], 5000)

    def table(self) -> pd.DataFrame:
        """Return the current policy, a row per situation: moment, belief, age (first step), decision, times tried."""
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
