"""The room: words and codes, answers, how often things move, tables of common sense."""

import gzip
import io
import json
import urllib.request

import gymnasium as gym
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.datasets.commonsense import (
    Fact,
    fetch_facts,
    read_facts,
    usual_places,
    write_facts,
)
from pushlab.envs.room import Room
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir

ID = "pushlab/RoomEnv-v0"


# ------------------------------------------------------------ words, codes and answers


@pytest.mark.parametrize(
    "arguments", [{}, {"size": "big", "n_agents": 3, "reference": "room-env-3"}]
)
def test_words_and_codes_are_the_same_world(arguments):
    words = gym.make(ID, **arguments)
    codes = gym.make(ID, encoding="index", **arguments)
    world = words.unwrapped.world
    rng = np.random.default_rng(3)
    said = words.reset(seed=3)[0]
    coded = codes.reset(seed=3)[0]
    rewards = []
    for _ in range(300):
        assert said == world.to_words(coded)
        answer = rng.integers(len(world.locations), size=world.n_agents)
        spoken = tuple(world.locations[code] for code in answer)
        if not arguments:
            spoken = spoken[0]
            answer = answer[0]
        said, reward, *_, info = words.step(spoken)
        coded, same, *_, also = codes.step(answer)
        assert reward == same
        assert data_equivalence(info, also)
        rewards.append(reward)
    assert 0 < np.mean(rewards) < 1


@pytest.mark.parametrize(
    "change, reward",
    [(str.upper, 1), (str.title, 1), (lambda word: f" {word}", 0), (lambda _: None, 0)],
)
def test_answers_are_compared_in_small_letters(change, reward):
    env = gym.make(ID).unwrapped
    (observation, question), _ = env.reset(seed=3)
    right = env.world.locations[env.state["place"][0, env.state["asked"][0]]]
    assert env.step(change(right))[1] == reward
    answered = env.frame()["answered"]
    assert (answered["right"], answered["reward"]) == (right, reward)
    assert f"{answered['person']}'s {answered['object']}" == question[0]
    with pytest.raises(TypeError, match="a str, or None for no answer; got"):
        env.step(3)
    assert env.state["time"][0] == 1


def test_several_agents_share_the_question_and_the_mean_reward():
    envs = gym.make_vec(ID, num_envs=2, n_agents=3)
    assert envs.reset(seed=8)[1]["rewards"].tolist() == [[0, 0, 0]] * 2
    state = envs.unwrapped.state
    places = state["place"][[0, 1], state["asked"]]
    right = [envs.world.locations[place] for place in places]
    answers = (right, ["nowhere", right[1].upper()], [None, None])
    _, reward, *_, info = envs.step(answers)
    assert reward == pytest.approx([1 / 3, 2 / 3])
    assert info["rewards"].tolist() == [[1, 0, 0], [1, 1, 0]]
    with pytest.raises(ValueError, match="2 answers from each agent"):
        envs.step(("desk", "desk"))


def test_an_agent_walks_round_all_spots_in_one_order():
    world = Room(encoding="index", p_switch_person=0.0, max_step=19)
    env = gym.make(ID, world=world)
    seen = [env.reset(seed=1)[0]] + [env.step(0)[0] for _ in range(19)]
    people = [observation[0] for observation in seen]
    assert sorted(people[:10]) == list(range(10)) != people[:10] == people[10:]
    with pytest.raises(ValueError, match="needs a larger max_step"):
        env.step(0)


# ------------------------------------------------------------ how often things move


def rates(n=200, steps=300, **arguments):
    """Of each room, the shares of objects at home, right, moved and changed."""
    world = Room(encoding="index", p_switch_person=0.0, **arguments)
    state = world.initial(np.random.default_rng(7).random((n, 1)), {})
    shares = []
    for _ in range(steps):
        thing = state["thing"]
        place = state["place"]
        home = world.homes[thing]
        asked = home[np.arange(n), state["asked"]]
        state, outcome = world.advance(state, asked, None)
        same = thing == state["thing"]
        moved = (same & (place != state["place"])).sum(axis=1)
        shares.append(
            [
                (home == place).mean(axis=1),
                outcome["reward"],
                moved / np.maximum(same.sum(axis=1), 1),
                1 - same.mean(axis=1),
            ]
        )
    return np.mean(shares, axis=0)


def near(means, expected, spread=0.0):
    """Whether the mean over rooms lies within four standard errors."""
    error = np.hypot(means.std(ddof=1) / np.sqrt(len(means)), spread)
    return abs(means.mean() - expected) < 4 * error


@pytest.mark.parametrize(
    "p, places, moves, changes", [(0.7, 10, 0.1, 0.1), (0.2, 25, 0.4, 0.02)]
)
def test_shares_and_rates_are_those_of_the_definition(p, places, moves, changes):
    found = rates(
        p_commonsense=p, n_locations=places, p_new_location=moves, p_new_object=changes
    )
    moved = moves * (1 - p**2 - (1 - p) ** 2 / (places - 1))
    assert all(map(near, found, (p, p, moved, changes)))
    world = Room(encoding="index", p_switch_person=0.8)
    start = world.initial(np.random.default_rng(1).random((9999, 1)), {})
    after = world.advance(start, np.zeros(9999, int), None)[0]["person"]
    switched = (start["person"] != after).sum(axis=1)
    assert set(switched) == {0, 2}
    assert near(switched / 2, 0.8)


def test_reference_brings_back_the_shares_of_the_original():
    """room-env 3.0.6, small: means and deviations of 20 episodes of 1,000 steps."""
    means = [0.532875, 0.53225, 0.099065, 0.09955]
    deviations = np.array([0.0119, 0.018, 0.00306, 0.0022])
    found = rates(150, 600, reference="room-env-3")
    assert all(map(near, found, means, deviations / np.sqrt(20)))


# ------------------------------------------------------------ common sense


def test_shipped_tables_have_different_places_and_can_be_written(tmp_path):
    facts = read_facts("commonsense")
    usual = usual_places(facts)
    other = usual_places(read_facts("elsewhere"))
    assert len(usual) == len(usual.keys() & other.keys()) == 80
    assert not any(usual[thing] == other[thing] for thing in usual)
    world = Room(commonsense="elsewhere", n_people=4, n_objects=12, n_locations=30)
    assert (len(world.people), len(world.locations)) == (4, 30)
    assert world.usual == dict(list(other.items())[:12])
    shipped = data_dir() / "room" / "commonsense.csv"
    path = write_facts(facts, tmp_path / "table.csv")
    assert path.read_bytes() == shipped.read_bytes()


EDGE = {
    "rel": {"@id": "/r/AtLocation"},
    "start": {"@id": "/c/en/cup"},
    "end": {"@id": "/c/en/tea_table/n"},
    "weight": 2.0,
}
TABLE = "head,relation,tail,weight\ncup,atlocation,tea table,2\n"
DUMP = '/a/x\t/r/AtLocation\t/c/en/cup\t/c/en/tea_table/n\t{"weight": 2}\n'
OTHERS = DUMP.replace("AtLocation", "IsA") + DUMP.replace("/en/", "/fr/")
RELEASE = {"cup": {"atlocation": [{"tail": "tea_table", "weight": 2}]}}
FORMS = [
    ("a.csv", TABLE),
    ("a.csv.gz", DUMP + OTHERS),
    ("heads.json", json.dumps({"cup": [EDGE, {**EDGE, "rel": {"@id": "/r/IsA"}}]})),
    ("release.json", json.dumps(RELEASE)),
]


@pytest.mark.parametrize("name, text", FORMS)
def test_facts_are_read_in_every_published_form(tmp_path, monkeypatch, name, text):
    path = tmp_path / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert read_facts(path) == [Fact("cup", "atlocation", "tea table", 2.0)]
    answer = json.dumps({"edges": [EDGE]}).encode()
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(answer))
    assert fetch_facts(["cup"]) == read_facts(path)


BAD = [
    ("head,tail\ncup,table\n", "column relation, row 1: the column is missing"),
    (TABLE.replace(",2", ",heavy"), "row 2: 'heavy' is not a number from 0 up"),
    (OTHERS, "the table has no places: every tail is also a head"),
]


@pytest.mark.parametrize("text, message", BAD)
def test_bad_tables_are_refused_by_name_and_row(tmp_path, text, message):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(BadData, match="bad.csv") as error:
        read_facts(path)
    assert message in str(error.value)


def test_collect_writes_a_table_for_a_room(tmp_path):
    source = tmp_path / "facts.tsv"
    sink = DUMP.replace("cup", "sink").replace("tea_table", "wall")
    weaker = DUMP.replace("tea_table", "bag").replace("2", "1")
    source.write_text(DUMP + sink + weaker)
    table = tmp_path / "table.csv"
    command = ["data", "collect", str(source), "--out", str(table), "--limit", "2"]
    assert CliRunner().invoke(app, command).exit_code == 0
    room = Room(n_people=2, n_objects=2, n_locations=2, commonsense=table)
    assert room.usual == {"cup": "tea table", "sink": "wall"}
    assert CliRunner().invoke(app, command).exit_code == 1  # it exists already
