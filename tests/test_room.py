"""The room: encodings, answers, placement rates, tables of common sense."""

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
from pushlab.utils.files import data_dir

ID = "pushlab/RoomEnv-v0"


# ------------------------------------------------------------ encodings and answers


@pytest.mark.parametrize(
    "arguments", [{}, {"room_size": "big", "n_agents": 3, "reference": "room-env-3"}]
)
def test_encodings_give_the_same_episode(arguments):
    text_env = gym.make(ID, **arguments)
    index_env = gym.make(ID, encoding="index", **arguments)
    world = text_env.unwrapped.world
    rng = np.random.default_rng(3)
    words = text_env.reset(seed=3)[0]
    codes = index_env.reset(seed=3)[0]
    rewards = []
    for _ in range(300):
        assert words == world.to_words(codes)
        answer = rng.integers(len(world.locations), size=world.n_agents)
        answer_words = tuple(world.locations[code] for code in answer)
        if not arguments:
            answer_words = answer_words[0]
            answer = answer[0]
        words, reward, *_, info = text_env.step(answer_words)
        codes, index_reward, *_, index_info = index_env.step(answer)
        assert reward == index_reward
        assert data_equivalence(info, index_info)
        rewards.append(reward)
    assert 0 < np.mean(rewards) < 1


@pytest.mark.parametrize(
    "change, reward",
    [(str.upper, 1), (str.title, 1), (lambda word: f" {word}", 0), (lambda _: None, 0)],
)
def test_answers_are_compared_in_lower_case(change, reward):
    env = gym.make(ID).unwrapped
    (observation, question), _ = env.reset(seed=3)
    right = env.world.locations[env.state["locations"][0, env.state["question"][0]]]
    assert env.step(change(right))[1] == reward
    previous = env.frame()["last_answer"]
    assert (previous["right"], previous["reward"]) == (right, reward)
    assert f"{previous['person']}'s {previous['object']}" == question[0]
    with pytest.raises(TypeError, match="must be a str, or None for no answer; got"):
        env.step(3)
    assert env.state["time"][0] == 1


def test_several_agents_share_the_question_and_the_mean_reward():
    envs = gym.make_vec(ID, num_envs=2, n_agents=3)
    assert envs.reset(seed=8)[1]["rewards"].tolist() == [[0, 0, 0]] * 2
    state = envs.unwrapped.state
    places = state["locations"][[0, 1], state["question"]]
    right = [envs.world.locations[place] for place in places]
    answers = (right, ["nowhere", right[1].upper()], [None, None])
    _, reward, *_, info = envs.step(answers)
    assert reward == pytest.approx([1 / 3, 2 / 3])
    assert info["rewards"].tolist() == [[1, 0, 0], [1, 1, 0]]
    with pytest.raises(ValueError, match=r"per agent \(3\) and copy \(2\)"):
        envs.step(("desk", "desk"))


def test_agent_visits_all_spots_in_a_fixed_order():
    world = Room(encoding="index", p_switch_person=0.0, max_step=19)
    env = gym.make(ID, world=world)
    people = [env.reset(seed=1)[0][0]]
    truncated = False
    while not truncated:
        observation, _, _, truncated, _ = env.step(0)
        people.append(observation[0])
    assert sorted(people[:10]) == list(range(10)) != people[:10] == people[10:]
    with pytest.raises(ValueError, match="needs a larger max_step"):
        world.simulate(env.unwrapped.state, 1)


# ------------------------------------------------------------ placement rates


def rates(n=200, steps=300, **arguments):
    """Return rates of usual places, right answers, moved and new objects, shape (4, rooms)."""
    world = Room(encoding="index", p_switch_person=0.0, **arguments)
    state = world.initial(np.random.default_rng(7).random((n, 1)), {})
    rates_by_step = []
    for _ in range(steps):
        objects = state["objects"]
        locations = state["locations"]
        usual = world.usual_codes[objects]
        answer = usual[np.arange(n), state["question"]]
        state, outcome = world.advance(state, answer, None)
        is_kept = objects == state["objects"]
        moved = (is_kept & (locations != state["locations"])).sum(axis=1)
        rates_by_step.append(
            [
                (usual == locations).mean(axis=1),
                outcome["reward"],
                moved / np.maximum(is_kept.sum(axis=1), 1),
                1 - is_kept.mean(axis=1),
            ]
        )
    return np.mean(rates_by_step, axis=0)


def is_close(means, expected, expected_error=0.0):
    """Return whether the mean over rooms is within four standard errors of the expected one."""
    error = np.hypot(means.std(ddof=1) / np.sqrt(len(means)), expected_error)
    return abs(means.mean() - expected) < 4 * error


@pytest.mark.parametrize(
    "p, places, moves, changes", [(0.7, 10, 0.1, 0.1), (0.2, 25, 0.4, 0.02)]
)
def test_rates_equal_the_probabilities(p, places, moves, changes):
    actual = rates(
        p_commonsense=p, n_locations=places, p_new_location=moves, p_new_object=changes
    )
    moved = moves * (1 - p**2 - (1 - p) ** 2 / (places - 1))
    assert all(map(is_close, actual, (p, p, moved, changes)))
    world = Room(encoding="index", p_switch_person=0.8)
    start = world.initial(np.random.default_rng(1).random((9999, 1)), {})
    after = world.advance(start, np.zeros(9999, int), None)[0]["people"]
    switched = (start["people"] != after).sum(axis=1)
    assert set(switched) == {0, 2}
    assert is_close(switched / 2, 0.8)


def test_reference_reproduces_the_rates_of_the_original():
    """Expected are means and deviations of 20 episodes of 1,000 steps in room-env 3.0.6, small."""
    means = [0.532875, 0.53225, 0.099065, 0.09955]
    deviations = np.array([0.0119, 0.018, 0.00306, 0.0022])
    actual = rates(150, 600, reference="room-env-3")
    assert all(map(is_close, actual, means, deviations / np.sqrt(20)))


# ------------------------------------------------------------ common sense


def test_shipped_tables_differ_and_can_be_written(tmp_path):
    facts = read_facts("commonsense")
    usual = usual_places(facts)
    other = usual_places(read_facts("elsewhere"))
    assert len(usual) == len(usual.keys() & other.keys()) == 80
    assert not any(usual[name] == other[name] for name in usual)
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
FORMATS = [
    ("a.csv", TABLE),
    ("a.csv.gz", DUMP + OTHERS),
    ("heads.json", json.dumps({"cup": [EDGE, {**EDGE, "rel": {"@id": "/r/IsA"}}]})),
    ("release.json", json.dumps(RELEASE)),
]


@pytest.mark.parametrize("name, text", FORMATS)
def test_facts_are_read_from_every_format(tmp_path, monkeypatch, name, text):
    path = tmp_path / name
    content = text.encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert read_facts(path) == [Fact("cup", "atlocation", "tea table", 2.0)]
    answer = json.dumps({"edges": [EDGE]}).encode()
    monkeypatch.setattr(urllib.request, "urlopen", lambda *_, **__: io.BytesIO(answer))
    assert fetch_facts(["cup"]) == read_facts(path)


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
