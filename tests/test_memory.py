"""Memories: storing, forgetting and recalling, and the answers of agents."""

import gymnasium as gym
import pytest

from pushlab import plots
from pushlab.agents import (
    EpisodicAgent,
    EpisodicSemanticAgent,
    LearnedMemoryAgent,
    PrefilledMemoryAgent,
    SemanticAgent,
)
from pushlab.agents.memory import (
    BELIEF,
    EPISODE,
    FORGET,
    Belief,
    EpisodicMemory,
    Placement,
    SemanticMemory,
    frames_with_memory,
)
from pushlab.logs.rollout import rollout
from pushlab.metrics.estimate import paired_interval

ID = "pushlab/RoomEnv-v0"
SYSTEMS = [EpisodicAgent, SemanticAgent, EpisodicSemanticAgent, PrefilledMemoryAgent]


def returns(agent, episodes=8, seed=5, **arguments):
    log = rollout(
        gym.make(ID, **arguments),
        agent,
        episodes=episodes,
        seed=seed,
        learn=False,
        explore=False,
        record="episodes",
        progress=False,
    )
    return log["return"].to_numpy()


# ------------------------------------------------------------ the two kinds of memory


def test_episodic_memory_forgets_the_oldest_and_recalls_the_latest():
    memory = EpisodicMemory(2)
    seen = [
        Placement("ann", "cup", "shelf", 0),
        Placement("ann", "cup", "table", 1),
        Placement("bob", "cup", "sink", 2),
    ]
    assert [memory.store(one) for one in seen] == [None, None, seen[0]]
    assert memory.items == seen[1:]
    assert memory.recall("ann", "cup") == seen[1]
    assert memory.recall("bob", "cup") == seen[2]
    assert memory.recall("ann", "pen") is None


def test_semantic_memory_counts_and_forgets_the_weakest():
    memory = SemanticMemory(3)
    pairs = ["a desk", "b shelf", "a table", "a desk", "b shelf"]
    assert [memory.strengthen(*pair.split()) for pair in pairs] == [None] * 5
    assert memory.recall("a") == Belief("a", "desk", 2)
    assert memory.strengthen("c", "wall") == Belief("a", "table", 1)
    memory.strengthen("c", "wall")
    # among equals, the least recently strengthened is forgotten
    assert memory.strengthen("a", "bed", by=2) == Belief("a", "desk", 2)
    assert memory.items == [("b", "shelf", 2), ("c", "wall", 2), ("a", "bed", 2)]
    memory.capacity = 4
    memory.strengthen("a", "desk", by=2)
    assert memory.recall("a") == Belief("a", "desk", 2)


# ------------------------------------------------------------ the systems


def stored(agent, placements):
    """Return both memories of an agent after these placements, and the forgotten items."""
    agent.begin(gym.make(ID), 0)
    episodic, semantic = agent.memories[0]
    forgotten = [
        agent.store_placement(Placement(*each.split(), time), episodic, semantic)
        for time, each in enumerate(placements)
    ]
    return episodic, semantic, forgotten


SEEN = ["ann cup table", "bob cup table", "ann pen desk", "cy cup shelf", "cy hat wall"]


def test_similar_episodes_become_one_belief():
    episodic, semantic, forgotten = stored(EpisodicSemanticAgent(8), SEEN)
    assert [item.thing for item in episodic.items] == ["pen", "cup", "hat"]
    assert semantic.items == [Belief("cup", "table", 2)]
    assert forgotten == [None] * 5
    episodic, _, forgotten = stored(
        EpisodicSemanticAgent(4), SEEN[::2]
    )  # none are similar: the oldest
    assert forgotten[-1] == Placement("ann", "cup", "table", 0)
    assert len(episodic) == 2
    pens = ["ann pen desk", "bob pen desk", "cy hat wall", "di hat wall", "di hat bed"]
    _, semantic, forgotten = stored(EpisodicSemanticAgent(4), [*SEEN[:2], *pens])
    # a belief replaces an equally strong one
    assert forgotten[-1] == Belief("cup", "table", 2)
    assert semantic.items == [("pen", "desk", 2), ("hat", "wall", 2)]


def test_prefilled_places_take_at_most_half_of_the_capacity():
    for capacity, facts, episodes in ((2, 1, 1), (16, 8, 8), (32, 10, 22)):
        episodic, semantic, _ = stored(PrefilledMemoryAgent(capacity), [])
        assert (len(semantic), episodic.capacity) == (facts, episodes)
        semantic.strengthen("laptop", "shelf", by=99)
        assert semantic.recall("laptop").place == "desk"


@pytest.mark.parametrize("system", [EpisodicAgent, SemanticAgent])
def test_reference_has_one_slot_less(system):
    *memories, forgotten = stored(system(3), SEEN[2:])
    assert max(map(len, memories)) == 3
    assert forgotten == [None] * 3
    *memories, forgotten = stored(system(3, "agent-room-env-v0"), SEEN[2:])
    assert max(map(len, memories)) == 2
    assert forgotten[-1][-3 if system is EpisodicAgent else 0] == "pen"


@pytest.mark.parametrize("system", SYSTEMS)
def test_answers_are_the_same_in_words_and_codes(system):
    """Only a missing answer differs: a code must be a random place, a word can be None."""
    words, codes = (gym.make(ID, encoding=encoding) for encoding in ("text", "index"))
    said = words.reset(seed=9)[0]
    coded = codes.reset(seed=9)[0]
    speaker = system(16)
    coder = system(16)
    speaker.begin(words, 9)
    coder.begin(codes, 9)
    for _ in range(300):
        word = speaker.act(said, {})
        code = coder.act(coded, {})
        expected = words.unwrapped.world.locations[code]
        assert word == expected or (word is None and coder.propensity == 0.1)
        said = words.step(word)[0]
        coded = codes.step(code)[0]


def test_both_memories_are_better_than_one_in_the_original_room():
    """Compare the systems of the paper at 32 slots."""
    found = [returns(agent(32), reference="room-env-3") for agent in SYSTEMS]
    for worse, better in ((0, 2), (1, 2), (2, 3)):
        assert paired_interval(found[better], found[worse]).low > 0


# ------------------------------------------------------------ learning


def test_learned_policies_can_be_reused_and_do_not_change_without_exploration():
    env = gym.make(ID, encoding="index")
    agent = LearnedMemoryAgent(32)
    rollout(env, agent, episodes=2, seed=3, record="episodes", progress=False)
    before = agent.state()
    other = LearnedMemoryAgent(32)
    other.load(before)
    for each in (agent, other):
        assert returns(each, 2, encoding="index").tolist() == [806, 806]
    assert (before["values"] == agent.values).all()
    choices = agent.counts.sum(axis=(0, 1, 2))
    assert choices[[EPISODE, BELIEF, FORGET]].tolist() == [1972, 1187, 744]
    assert agent.values.sum() == pytest.approx(-7.67977851822)
    assert agent.table()["tried"].sum() == choices.sum()


@pytest.mark.parametrize("system", [EpisodicSemanticAgent, LearnedMemoryAgent])
def test_pictures_show_the_memory(system, good_picture):
    agent = system(16)
    agent.record_memory = True
    env = gym.make(ID, encoding="index")
    _, films = rollout(env, agent, seed=2, steps=40, record="frames", progress=False)
    frames = frames_with_memory(films[0], agent.memory_log)
    memory = frames[40]["memory"]
    items = memory["episodic"]["items"] + memory["semantic"]["items"]
    assert 0 < len(items) <= 16
    answering = sum(item["used"] for item in items)
    assert answering == (memory["source"] != "nothing remembered")
    good_picture(plots.room(frames))
