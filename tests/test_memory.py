"""Memory systems and the agents built on them: what is kept, what goes, what answers, and that a policy is learned."""

import gymnasium as gym
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.text import Text

import pushlab  # noqa: F401
from pushlab import plots
from pushlab.agents import BothAgent, EpisodicAgent, GivenAgent, LearnedAgent, SemanticAgent
from pushlab.agents.memory import Belief, Episodic, Placement, Semantic
from pushlab.agents.memory_agents import with_memory
from pushlab.agents.memory_policy import BELIEF, EPISODE, FORGET
from pushlab.ground.seeds import episode_seed
from pushlab.logs.rollout import rollout
from pushlab.metrics.estimate import paired_interval

SYSTEMS = [EpisodicAgent, SemanticAgent, BothAgent, GivenAgent]
CODES = st.integers(0, 3)


def returns(agent, episodes=8, seed=5, **kwargs):
    env = gym.make("pushlab/RoomEnv-v0", **kwargs)
    return rollout(env, agent, episodes=episodes, seed=seed, learn=False, explore=False, record="episodes",
                   progress=False)["return"].to_numpy()


# ---------------------------------------------------------------- the two kinds

@given(st.lists(st.tuples(CODES, CODES, CODES), max_size=30), st.integers(0, 6))
def test_episodes_are_the_last_ones_and_the_latest_answers(seen, capacity):
    memory = Episodic(capacity)
    placements = [Placement(*each, time) for time, each in enumerate(seen)]
    gone = [memory.store(placement) for placement in placements]
    kept = placements[max(0, len(placements) - capacity):]
    assert memory.items == kept
    assert [item for item in gone if item] == placements[:len(placements) - len(kept)]
    for person in range(4):
        for thing in range(4):
            about = [item for item in kept if (item.person, item.thing) == (person, thing)]
            assert memory.recall(person, thing) == (about[-1] if about else None)


@given(st.lists(st.tuples(CODES, CODES), max_size=40))
def test_beliefs_are_counts_where_nothing_has_to_go(seen):
    memory = Semantic(16)
    assert all(memory.strengthen(*pair) is None for pair in seen)
    assert {(item.thing, item.place): item.strength for item in memory.items} == {
        pair: seen.count(pair) for pair in set(seen)}
    for thing in range(4):
        strongest = max((seen.count(pair) for pair in seen if pair[0] == thing), default=None)
        belief = memory.recall(thing)
        assert (belief is None) == (strongest is None) and (belief is None or belief.strength == strongest)


@given(st.lists(st.tuples(CODES, CODES), max_size=40), st.integers(1, 5))
def test_the_weakest_belief_goes(seen, capacity):
    memory = Semantic(capacity)
    for pair in seen:
        before = {(item.thing, item.place): item.strength for item in memory.items}
        gone = memory.strengthen(*pair)
        assert len(memory) <= capacity
        if gone is not None:
            assert gone.strength == min(before.values()) and pair not in before and len(before) == capacity


def test_random_rules_need_chance_and_use_it():
    with pytest.raises(ValueError, match="needs chance"):
        Episodic(3, forget="random")
    with pytest.raises(ValueError, match="forget is one of weakest, random"):
        Semantic(3, forget="oldest")
    with pytest.raises(ValueError, match="whole number from 0"):
        Episodic(2.5)
    answers = set()
    for seed in range(20):
        memory = Episodic(3, answer="random", chance=np.random.default_rng(seed))
        for time, place in enumerate("abc"):
            memory.store(Placement("ann", "cup", place, time))
        answers.add(memory.recall("ann", "cup").place)
    assert answers == {"a", "b", "c"}


# ---------------------------------------------------------------- the systems

def stored(agent, placements, **kwargs):
    env = gym.make("pushlab/RoomEnv-v0", **kwargs)
    agent.begin(env, 0)
    episodic, semantic = agent.memories[0]
    gone = [agent.keep(Placement(*each, time), episodic, semantic) for time, each in enumerate(placements)]
    return episodic, semantic, gone


def test_like_episodes_become_one_belief():
    seen = [("ann", "cup", "table"), ("bob", "cup", "table"), ("ann", "pen", "desk"), ("cy", "cup", "shelf"),
            ("cy", "hat", "wall")]
    episodic, semantic, gone = stored(BothAgent(8), seen)
    assert [item.thing for item in episodic.items] == ["pen", "cup", "hat"]
    assert semantic.items == [Belief("cup", "table", 2)] and gone == [None] * 5
    episodic, _, gone = stored(BothAgent(4), [seen[0], seen[2], seen[4]])
    assert gone[-1] == Placement("ann", "cup", "table", 0) and len(episodic) == 2       # none alike: the oldest goes


def test_a_belief_that_is_weaker_than_all_in_a_full_memory_is_lost():
    agent = BothAgent(4)
    seen = [("ann", "cup", "table"), ("bob", "cup", "table"), ("ann", "pen", "desk"), ("bob", "pen", "desk")]
    _, semantic, _ = stored(agent, [*seen, ("cy", "hat", "wall")])
    assert {item.thing: item.strength for item in semantic.items} == {"cup": 2, "pen": 2}
    semantic.strengths[("cup", "table")] = semantic.strengths[("pen", "desk")] = 5
    episodic = agent.memories[0][0]
    episodic.items = [Placement("cy", "hat", "wall", 7), Placement("di", "hat", "wall", 8)]
    assert agent.keep(Placement("ann", "ball", "park", 9), episodic, semantic) == Belief("hat", "wall", 2)
    assert len(semantic) == 2 and [item.thing for item in episodic.items] == ["ball"]


@pytest.mark.parametrize("capacity, facts, episodes", [(2, 1, 1), (16, 8, 8), (32, 10, 22)])
def test_given_common_sense_takes_half_and_leaves_what_it_does_not_need(capacity, facts, episodes):
    episodic, semantic, _ = stored(GivenAgent(capacity), [])
    assert (len(semantic), episodic.capacity) == (facts, episodes)
    assert semantic.recall("laptop").place == "desk"
    semantic.strengthen("laptop", "shelf", by=99)
    assert semantic.recall("laptop").place == "desk"


def test_the_originals_single_systems_answer_with_a_slot_less():
    seen = [("ann", "cup", "table"), ("bob", "pen", "desk"), ("cy", "hat", "wall")]
    for agent in (EpisodicAgent, SemanticAgent):
        ours, theirs = (stored(agent(3, reference=reference), seen) for reference in (None, "agent-room-env-v0"))
        assert max(map(len, ours[:2])) == 3 and max(map(len, theirs[:2])) == 2 and theirs[2][-1] is not None
    with pytest.raises(ValueError, match="reference is one of"):
        EpisodicAgent(3, reference="paper")
    with pytest.raises(ValueError, match="whole number from 1"):
        BothAgent(0)


@pytest.mark.parametrize("system", SYSTEMS)
def test_an_agent_does_the_same_in_words_and_in_codes(system):
    """Except that a code must be something where a word may be None: chance then answers."""
    words, codes = (gym.make("pushlab/RoomEnv-v0", encoding=encoding) for encoding in ("text", "index"))
    said, coded, agents = words.reset(seed=9)[0], codes.reset(seed=9)[0], (system(16), system(16))
    for agent, env in zip(agents, (words, codes)):
        agent.begin(env, 9)
    world = words.unwrapped.world
    for _ in range(300):
        answers = agents[0].act(said, {}), agents[1].act(coded, {})
        assert answers[0] is None or answers[0] == world.locations[answers[1]]
        said, coded = words.step(answers[0])[0], codes.step(answers[1])[0]


@pytest.mark.parametrize("system", SYSTEMS)
def test_two_agents_share_what_they_know(system):
    alone, pair = returns(system(16)), returns(system(16), n_agents=2)
    assert paired_interval(pair, alone).low > 0


def test_memory_is_empty_at_the_beginning_of_an_episode():
    agent = BothAgent(8)
    assert returns(agent, episodes=1, seed=episode_seed(1, 2))[0] == returns(agent, episodes=3, seed=1)[2]


# ---------------------------------------------------------------- the comparison of the paper

def test_both_beat_either_alone_in_the_originals_room_at_32_slots():
    env = {"reference": "room-env-3"}
    both = returns(BothAgent(32), **env)
    single = [returns(system(32), **env) for system in (EpisodicAgent, SemanticAgent)]
    assert all(paired_interval(both, alone).low > 0 for alone in single)
    assert paired_interval(returns(GivenAgent(32), **env), both).low > 0


def test_counting_beats_both_in_our_room_while_slots_are_few():
    assert paired_interval(returns(SemanticAgent(4)), returns(BothAgent(4))).low > 0


# ---------------------------------------------------------------- learning

def test_keeping_episodes_is_learned_where_it_pays():
    """Where nothing is ever moved an unusual episode is priceless; where everything always is, it misleads."""
    gains = {}
    for p_new_location in (0.0, 1.0):
        env = gym.make("pushlab/RoomEnv-v0", encoding="index", p_new_location=p_new_location, p_new_object=0.0)
        agent = LearnedAgent(32, epsilon=0.3)
        rollout(env, agent, episodes=6, seed=3, record="episodes", progress=False)
        values, counts = agent.values[1, 2], agent.counts[1, 2]         # the oldest episode, where it differs
        keep, forget = ((values[:, choice] * counts[:, choice]).sum() / counts[:, choice].sum()
                        for choice in (EPISODE, FORGET))
        gains[p_new_location] = keep - forget
    assert gains[0.0] > 0.02 and gains[1.0] < -0.02


def test_what_was_learned_can_be_carried_over():
    env = gym.make("pushlab/RoomEnv-v0", encoding="index")
    agent = LearnedAgent(32)
    rollout(env, agent, episodes=3, seed=3, record="episodes", progress=False)
    other = LearnedAgent(32)
    other.load(agent.state())
    assert (returns(agent, 2, encoding="index") == returns(other, 2, encoding="index")).all()
    assert agent.table()["tried"].sum() == agent.counts.sum() > 3000
    assert agent.state()["counts"].shape[-1] == len({EPISODE, BELIEF, FORGET})


def test_greedy_play_changes_nothing_that_was_learned():
    env = gym.make("pushlab/RoomEnv-v0", encoding="index")
    agent = LearnedAgent(16)
    rollout(env, agent, episodes=2, seed=3, record="episodes", progress=False)
    before = agent.state()
    returns(agent, 2, encoding="index")
    assert (before["values"] == agent.values).all() and (before["counts"] == agent.counts).all()


# ---------------------------------------------------------------- pictures

@pytest.mark.parametrize("capacity", [2, 8, 16, 32, 64])
@pytest.mark.parametrize("system", [*SYSTEMS, LearnedAgent])
def test_the_room_is_drawn_with_any_memory(system, capacity):
    agent = system(capacity, diary=True)
    encoding = "index" if system is LearnedAgent else "text"
    _, films = rollout(gym.make("pushlab/RoomEnv-v0", size="big", encoding=encoding), agent, seed=2, steps=40,
                       record="frames", progress=False)
    frames = with_memory(films[0], agent.pages)
    assert len(frames) == 41 and sum(len(frames[-1]["memory"][kind]["items"]) for kind in ("episodic", "semantic")) > 0
    figure = plots.room(frames)
    figure.canvas.draw()
    box = figure.bbox
    for text in figure.axes[0].texts:
        extent = text.get_window_extent()
        assert extent.x0 >= 0 and extent.x1 <= box.x1 and extent.y0 >= 0 and extent.y1 <= box.y1, text.get_text()


def test_pages_must_belong_to_the_frames():
    with pytest.raises(ValueError, match="2 pages belong to 3 frames"):
        with_memory([{}, {}], [{}, {}])


def test_a_sweep_is_drawn_from_its_table():
    import pandas as pd

    log = pd.DataFrame({"env": "room", "agent": ["a", "a", "b", "b"] * 2, "capacity": [2] * 4 + [16] * 4,
                        "seed": [0, 1] * 4, "return": [1.0, 3.0, 5.0, 7.0, 2.0, 4.0, 6.0, 8.0]})
    table = plots.sweep_table(log, "capacity")
    assert table[["agent", "capacity", "mean", "runs"]].to_numpy().tolist() == [
        ["a", 2, 2.0, 2], ["b", 2, 6.0, 2], ["a", 16, 3.0, 2], ["b", 16, 7.0, 2]]
    ax = plots.sweep_curve(log, "capacity", best=9.0)
    assert [line.get_ydata().tolist() for line in ax.lines[:2]] == [[2.0, 3.0], [6.0, 7.0]]
    backwards = plots.sweep_curve(log.iloc[::-1], "capacity")
    words = {text.get_text() for text in backwards.figure.findobj(Text)}
    assert {"a 3", "b 7"} <= {" ".join(word.split()) for word in words}      # the end of a line, not of the log
    with pytest.raises(ValueError, match="no column 'size'"):
        plots.sweep_table(log, "size")
