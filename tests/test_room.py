"""The room: its rules and their statistics, words and codes, answers, and common sense from files."""

import inspect
import json

import gymnasium as gym
import numpy as np
import pandas as pd
import pytest
from gymnasium.envs.registration import register, registry
from gymnasium.utils.env_checker import data_equivalence
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import pushlab  # noqa: F401
from pushlab.datasets.commonsense import Fact, all_places, fetch_facts, read_facts, usual_places, write_facts
from pushlab.envs.room.world import PEOPLE, Room
from pushlab.envs.stream import number
from pushlab.ground.faults import BadData
from pushlab.ground.files import data_dir
from pushlab.studies import room as study
from tests import test_envs

INDEX = "tests.test_room:pushlab/RoomEnvIndex-v0"       # the module's name in front lets another process find it too
for more in ("Index-v0", "Pair-v0"):
    if f"pushlab/RoomEnv{more}" not in registry:
        kwargs = {"encoding": "index"} if more == "Index-v0" else {"n_agents": 2, "size": "big"}
        register(f"pushlab/RoomEnv{more}", entry_point="pushlab.envs.shell:Env", max_episode_steps=1000,
                 vector_entry_point="pushlab.envs.batch:VectorEnv",
                 kwargs={"world": "pushlab.envs.room.world:Room", **kwargs})
PAIR = INDEX.replace("Index", "Pair")


# ---------------------------------------------------------------- the interface

def registry_tests():
    tests = [(name, test) for name, test in vars(test_envs).items() if name.startswith("test_")]
    return [test for _, test in tests if "name" in inspect.signature(test).parameters]


@pytest.mark.parametrize("name", [INDEX, PAIR])
@pytest.mark.parametrize("test", registry_tests(), ids=lambda test: test.__name__)
def test_what_holds_for_every_id_holds_for_the_other_encoding_and_for_two_agents(test, name):
    more = {} if "mode" not in inspect.signature(test).parameters else {"mode": gym.vector.AutoresetMode.SAME_STEP}
    test(name, **more)


def test_the_originals_loop_runs_as_written():
    env = gym.make("pushlab/RoomEnv-v0")
    (observation, question), info = env.reset(seed=1)
    steps = 0
    while True:
        (observation, question), reward, terminated, truncated, info = env.step("This is my answer!")
        steps += 1
        if terminated or truncated:
            break
    assert (steps, terminated, truncated, reward) == (1000, False, True, 0.0)
    head, relation, tail, time = observation
    assert "'s " in head and relation == "atlocation" and tail in env.unwrapped.world.locations and time == 1000
    assert "'s " in question[0] and question[1] == "atlocation"


@given(st.integers(0, 2**32 - 1), st.sampled_from(["small", "big"]), st.integers(1, 3), st.booleans())
def test_text_and_index_are_the_same_world_step_for_step(seed, size, n_agents, forced):
    kwargs = {"size": size, "n_agents": n_agents, "reference": "room-env-3" if forced else None}
    words, codes = (gym.make("pushlab/RoomEnv-v0", encoding=encoding, **kwargs) for encoding in ("text", "index"))
    world, rng = words.unwrapped.world, np.random.default_rng(seed)
    said, coded = words.reset(seed=seed)[0], codes.reset(seed=seed)[0]
    for _ in range(20):
        assert said == world.to_words(coded) and np.array_equal(world.to_codes(said), coded)
        answer = rng.integers(len(world.locations), size=n_agents)
        spoken = tuple(world.locations[code] for code in answer)
        said, reward, *_, told = words.step(spoken if n_agents > 1 else spoken[0])
        coded, same, *_, told_too = codes.step(answer if n_agents > 1 else answer[0])
        assert reward == same and data_equivalence(told, told_too)


@pytest.mark.parametrize("kwargs", [{}, {"size": "big", "n_agents": 2}, {"encoding": "index"},
                                    {"reference": "room-env-3", "encoding": "index", "n_agents": 3}])
def test_a_room_lived_ahead_is_the_room_lived_step_by_step(kwargs):
    """The Env lives blocks of steps in one call; its state and outcome must be those of the batch functions."""
    env = gym.make("pushlab/RoomEnv-v0", **kwargs).unwrapped
    world = env.world
    assert env.state is None and env.outcome is None
    env.action_space.seed(1)
    env.reset(seed=5)
    state, draws = env.state, np.zeros((1, 1))
    for step in range(600):                                     # blocks have 256 steps
        action = env.action_space.sample()
        observation, reward, *_ = env.step(action)
        answer = world.read_action(action, 1) if world.read_action else np.reshape(action, (1, -1))
        state, outcome = world.advance(state, answer, draws)
        if step % 50 == 0 or step in (254, 255, 256, 257):
            assert data_equivalence(env.state, state) and data_equivalence(env.outcome, outcome)
            assert env.frame() == world.frame(state, outcome)
        assert reward == outcome["reward"][0]


def test_answers_are_judged_by_word_whatever_the_case():
    world = gym.make("pushlab/RoomEnv-v0").unwrapped.world
    for change, right in ((str, 1.0), (str.upper, 1.0), (str.title, 1.0), (lambda word: f" {word}", 0.0),
                          (lambda word: "nowhere at all", 0.0), (lambda word: "", 0.0), (lambda word: None, 0.0)):
        env = gym.make("pushlab/RoomEnv-v0")
        env.reset(seed=3)
        asked = env.unwrapped.state["asked"][0]
        where = world.locations[env.unwrapped.state["place"][0, asked]]
        assert env.step(change(where))[1] == right


@pytest.mark.parametrize("answer", [3, 2.5, b"desk", ["desk"], np.int64(1)])
def test_what_is_no_word_is_refused_and_takes_no_step(answer):
    env = gym.make("pushlab/RoomEnv-v0").unwrapped
    env.reset(seed=3)
    with pytest.raises(TypeError, match="a str, or None for no answer; got"):
        env.step(answer)
    assert env.state["time"][0] == 0


def test_codes_out_of_range_are_refused():
    env = gym.make("pushlab/RoomEnv-v0", encoding="index").unwrapped
    env.reset(seed=3)
    for wrong in (-1, 10, "desk", 0.5):
        with pytest.raises(ValueError, match="action"):
            env.step(wrong)
    assert env.state["time"][0] == 0


def test_agents_are_rewarded_each_and_share_the_question():
    env = gym.make("pushlab/RoomEnv-v0", n_agents=3)
    (observations, question), info = env.reset(seed=8)
    assert len(observations) == 3 and len({time for *_, time in observations}) == 1
    assert info["rewards"].tolist() == [0.0, 0.0, 0.0]          # nobody was asked yet
    state = env.unwrapped.state
    right = env.unwrapped.world.locations[state["place"][0, state["asked"][0]]]
    _, reward, _, _, info = env.step((right, "nowhere", right.upper()))
    assert reward == pytest.approx(2 / 3) and info["rewards"].tolist() == [1.0, 0.0, 1.0]
    with pytest.raises(ValueError, match="3 agents give as many answers"):
        env.step((right, right))


def test_batches_in_words_take_and_give_what_gymnasiums_own_do():
    envs = gym.make_vec("pushlab/RoomEnv-v0", num_envs=4)
    (observation, question), _ = envs.reset(seed=1)
    heads, relations, tails, times = observation
    alone = [gym.make("pushlab/RoomEnv-v0").reset(seed=1 + copy)[0][0][0] for copy in range(4)]
    assert [str(head) for head in heads] == alone
    assert set(relations) == {"atlocation"} and times.tolist() == [0] * 4
    assert envs.step(("desk", None, "no such place", "TABLE"))[1].shape == (4,)
    with pytest.raises(ValueError, match="expected 4 answers"):
        envs.step(("desk", "desk"))


def test_the_clock_says_when_an_episode_is_too_long():
    for encoding in ("text", "index"):
        env = gym.make("pushlab/RoomEnv-v0", max_step=3, max_episode_steps=9, encoding=encoding)
        env.reset(seed=1)
        for _ in range(3):
            env.step(env.action_space.sample())
        with pytest.raises(ValueError, match="needs a larger max_step"):
            env.step(env.action_space.sample())


@pytest.mark.parametrize("kwargs, words", [
    ({"size": "huge"}, "one of small, big"), ({"encoding": "words"}, "one of text, index"),
    ({"reference": "room-env-2"}, "room-env-3"), ({"n_people": 11}, "n_objects is a whole number of objects.* from 11"),
    ({"n_people": 1}, "from 2 to 20"), ({"n_locations": 9}, "10 usual places"), ({"n_objects": 81}, "to 80"),
    ({"n_agents": 0}, "n_agents"), ({"p_new_object": 1.5}, "p_new_object is a probability"),
    ({"p_commonsense": True}, "p_commonsense is a probability"), ({"max_step": 0}, "max_step"),
    ({"p_commonsense": 1.0, "reference": "room-env-3"}, "between 0 and 1, both excluded"),
])
def test_arguments_that_cannot_be_are_named(kwargs, words):
    with pytest.raises(ValueError, match=words):
        Room(**kwargs)


def test_sizes_may_be_mixed():
    world = Room(n_people=4, n_objects=12, n_locations=30)
    assert (len(world.people), len(world.objects), len(world.locations)) == (4, 12, 30)
    assert len(set(PEOPLE)) == len({name[0] for name in PEOPLE}) == 20      # letters tell them apart in pictures


# ---------------------------------------------------------------- statistics

def lives(n=300, steps=400, **kwargs):
    """Per copy: share at the usual place, share of kept objects that moved, of objects changed, of spots switched."""
    world = Room(encoding="index", **kwargs)
    state = world.initial(np.random.default_rng(7).random((n, 1)), {})
    usual, moved, changed, switched, common = (np.zeros((steps, n)) for _ in range(5))
    for step in range(steps):
        asked = world.homes[state["thing"][np.arange(n), state["asked"]]]
        following, outcome = world.advance(state, asked[:, None], None)
        usual[step] = (world.homes[state["thing"]] == state["place"]).mean(axis=1)
        common[step] = outcome["reward"]
        before, after = (np.argsort(each["person"], axis=1) for each in (state, following))
        things = [np.take_along_axis(each["thing"], order, 1) for each, order in ((state, before), (following, after))]
        places = [np.take_along_axis(each["place"], order, 1) for each, order in ((state, before), (following, after))]
        kept = things[0] == things[1]
        changed[step] = 1 - kept.mean(axis=1)
        moved[step] = (kept & (places[0] != places[1])).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
        switched[step] = (state["person"] != following["person"]).any(axis=1)
        state = following
    return {"usual": usual, "moved": moved, "changed": changed, "switched": switched, "common": common}


def near(values, expected):
    """Whether the mean over copies lies within four standard errors; steps of a copy hang together, copies do not."""
    means = values.mean(axis=0)
    return abs(means.mean() - expected) < 4 * means.std(ddof=1) / np.sqrt(len(means))


RESTLESS = {"p_commonsense": 0.2, "n_locations": 25, "p_new_location": 0.4, "p_new_object": 0.02,
            "p_switch_person": 0.9}


@pytest.mark.parametrize("kwargs", [{}, {"size": "big"}, RESTLESS], ids=["small", "big", "restless"])
def test_shares_and_rates_are_those_of_the_definition(kwargs):
    told = lives(**kwargs)
    p, places = kwargs.get("p_commonsense", 0.7), kwargs.get("n_locations", 49 if kwargs.get("size") == "big" else 10)
    moves = kwargs.get("p_new_location", 0.1) * (1 - p**2 - (1 - p) ** 2 / (places - 1))
    assert near(told["usual"], p) and near(told["usual"][:5], p) and near(told["usual"][-5:], p)
    assert near(told["moved"], moves) and near(told["changed"], kwargs.get("p_new_object", 0.1))
    assert near(told["switched"], kwargs.get("p_switch_person", 0.5)) and near(told["common"], p)


def test_the_reference_brings_the_originals_shares_back():
    """Against room-env 3.0.6, small: means over 20 episodes of 1,000 steps, and standard deviations of episodes."""
    told = lives(n=150, steps=1000, reference="room-env-3")
    published = {"usual": (0.532875, 0.0119), "moved": (0.099065, 0.00306), "changed": (0.09955, 0.0022),
                 "common": (0.53225, 0.018)}
    for name, (original, deviation) in published.items():
        means = told[name].mean(axis=0)
        spread = np.hypot(means.std(ddof=1) / np.sqrt(len(means)), deviation / np.sqrt(20))
        assert abs(means.mean() - original) < 4 * spread
    p, q = 0.7, 0.7 / (0.7 + 0.3 * 8 / 9)
    share = (0.1 * p + 0.9 * 0.1 * q) / (1 - 0.9 * (0.9 - 0.1 * q))         # the docstring's equation, solved
    assert near(told["usual"][100:], share) and 0.52 < share < 0.54


def test_every_other_place_is_as_likely_and_every_question_too():
    world = Room(encoding="index")
    n = 20_000
    state = world.initial(np.random.default_rng(3).random((n, 1)), {})
    away = state["place"][world.homes[state["thing"]] != state["place"]]
    counts = np.bincount(away, minlength=10)
    assert counts.min() > 0 and abs(counts / counts.mean() - 1).max() < 0.05
    asked = np.bincount(state["asked"], minlength=10)
    assert abs(asked / asked.mean() - 1).max() < 0.1
    assert all(len(set(row)) == 10 for row in state["thing"][:50])
    assert (np.sort(state["order"], axis=2) == np.arange(10)).all()


def test_an_agent_goes_round_all_spots_in_one_order():
    world = Room(encoding="index", n_agents=2, p_switch_person=0.0)
    state = world.initial(np.full((1, 1), 0.3), {})
    seen = [world.observe(state)[0]]
    for _ in range(19):
        state, _ = world.advance(state, np.zeros((1, 2), int), None)
        seen.append(world.observe(state)[0])
    seen = np.array(seen)
    for column in (0, 4):
        assert sorted(seen[:10, column]) == list(range(10)) and (seen[:10, column] == seen[10:, column]).all()
    assert (seen[:10, 0] != seen[:10, 4]).any()


def test_numbers_of_a_stream_look_like_chance():
    many = np.array([number(0.123456789, at) for at in range(20_000)])
    counts = np.bincount((many * 50).astype(int), minlength=50)
    assert ((counts - 400) ** 2 / 400).sum() < 90               # 49 degrees of freedom; 90 is exceeded once in 3,000
    assert max(abs(np.corrcoef(many[:-lag], many[lag:])[0, 1]) for lag in (1, 2, 4, 44)) < 0.03
    keys = np.array([number(key, 44) for key in np.arange(1, 20_001) / 2**53])          # keys that are neighbours
    assert abs(keys.mean() - 0.5) < 0.01 and abs(np.corrcoef(keys[:-1], keys[1:])[0, 1]) < 0.03
    assert number(0.0, 0) >= 0 and number(1 - 2**-53, (1 << 30) + 10_000) < 1


# ---------------------------------------------------------------- common sense

def test_shipped_tables_are_sound_and_mean_different_places():
    usual, other = (usual_places(read_facts(name)) for name in ("commonsense", "elsewhere"))
    assert len(usual) == 80 and usual.keys() == other.keys()
    assert not any(usual[thing] == other[thing] for thing in usual)
    assert len({usual[thing] for thing in list(usual)[:10]}) == len({other[thing] for thing in list(other)[:10]}) == 10
    assert Room(size="big", commonsense="elsewhere").usual == other


def test_a_table_is_written_as_it_is_read(tmp_path):
    path = tmp_path / "table.csv"
    write_facts(read_facts("commonsense"), path)
    assert path.read_bytes() == (data_dir() / "room" / "commonsense.csv").read_bytes()
    assert [file.name for file in tmp_path.iterdir()] == ["table.csv"]


EDGE = {"start": {"@id": "/c/en/cup"}, "end": {"@id": "/c/en/tea_table/n"}, "weight": 2.0}


def dump(*edges):
    fields = ((f"/a/[/r/{relation}/,{start}/,{end}/]", f"/r/{relation}", start, end, json.dumps({"weight": weight}))
              for relation, start, end, weight in edges)
    return "".join("\t".join(line) + "\n" for line in fields)


@pytest.mark.parametrize("name, text", [
    ("a.csv", "head,relation,tail,weight\ncup,atlocation,tea table,2\n"),
    ("a.tsv", dump(("AtLocation", "/c/en/cup", "/c/en/tea_table/n", 2),
                   ("AtLocation", "/c/en/cup", "/c/en/tea_table", 1),
                   ("IsA", "/c/en/cup", "/c/en/thing", 9), ("AtLocation", "/c/fr/tasse", "/c/fr/table", 9),
                   ("AtLocation", "/c/en/james's_cup", "/c/en/table", 9))),
    ("answer.json", json.dumps({"edges": [EDGE, {**EDGE, "rel": {"@id": "/r/IsA"}}]})),
    ("answers.json", json.dumps([{"edges": [EDGE]}, {"edges": []}])),
    ("heads.json", json.dumps({"cup": [EDGE], "pen": []})),
    ("release.json", json.dumps({"cup": {"atlocation": [{"tail": "tea_table", "weight": 2}]}})),
])
def test_facts_are_read_in_every_form_they_come_in(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text)
    assert read_facts(path) == [Fact("cup", "atlocation", "tea table", 2.0)]
    assert read_facts(path, heads=["pen"]) == []


def test_a_packed_dump_is_read_too(tmp_path):
    import gzip

    path = tmp_path / "conceptnet-assertions-5.7.0.csv.gz"
    path.write_bytes(gzip.compress(dump(("AtLocation", "/c/en/cup", "/c/en/tea_table", 2)).encode()))
    assert read_facts(path) == [Fact("cup", "atlocation", "tea table", 2.0)]


@pytest.mark.parametrize("text, words", [
    ("head,tail\ncup,table\n", "column relation, row 1: the column is missing"),
    ("head,relation,tail,weight\n", "a header and no rows"),
    ("head,relation,tail,weight\ncup,atlocation,table\n", "row 2: the row has 3 fields"),
    ("head,relation,tail,weight\ncup,atlocation,,1\n", "column tail, row 2: '' is not a printable word"),
    ("head,relation,tail,weight\ncup,atlocation,table,heavy\n", "weight, row 2: 'heavy' is not a number above 0"),
    ("head,relation,tail,weight\ncup,atlocation,table,nan\n", "column weight, row 2: 'nan'"),
    ("head,relation,tail,weight\ncup,atlocation,table,1\nCup,atlocation,table,2\n", "row 3: 'cup,atlocation,table'"),
    ("head,relation,tail,weight\ncup,atlocation,table,1\npen,ison,desk,2\n", "one relation for the whole table"),
    ("head,relation,tail,weight\nann's cup,atlocation,table,1\n", "a thing without its owner"),
    ("head,relation,tail,weight\ncup,atlocation,cup,1\n", "every tail is a head too"),
    ("", "the file is empty"), ("{]", "not JSON"), ('{"edges": [{"start": 1}]}', "is not an edge with"),
    ("/a/x\ty\n", "5 fields separated by tabs"), ("/a/x\t/r/AtLocation\t/c/en/a\t/c/en/b\t{}\n", 'a number "weight"'),
    (dump(("IsA", "/c/en/a", "/c/en/b", 1)), "no English fact"),
])
def test_a_bad_table_says_what_is_wrong_and_where(tmp_path, text, words):
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(BadData) as told:
        read_facts(path)
    assert words in str(told.value) and "bad.csv" in str(told.value)


def test_a_table_with_several_faults_lists_them_all():
    with pytest.raises(BadData, match="3 faults"):
        Room(commonsense=[("cup", "atlocation", "table", 0), ("", "atlocation", "desk", 1), ("pen", "", "bag", 1)])


def test_places_never_are_objects_too():
    facts = [Fact("cup", "atlocation", "sink", 9), Fact("sink", "atlocation", "kitchen", 1),
             Fact("pen", "atlocation", "cup", 1)]
    assert usual_places(facts) == {"sink": "kitchen"} and all_places(facts) == ["kitchen"]


def test_the_web_api_is_asked_head_by_head():
    asked = []

    def opener(address):
        asked.append(address)
        return json.dumps({"edges": [{**EDGE, "rel": {"@id": "/r/AtLocation"}}]}).encode()

    assert fetch_facts(["cup", "tea pot"], opener=opener) == [Fact("cup", "atlocation", "tea table", 2.0)]
    assert len(asked) == 2 and "tea_pot" in asked[1] and "AtLocation" in asked[0]

    def no_network(address):
        raise OSError("no route to host")

    with pytest.raises(OSError, match="needs no network"):
        fetch_facts(["cup"], opener=no_network)


def test_collect_writes_a_table_that_a_room_can_use(tmp_path):
    from pushlab.__main__ import app

    source, table = tmp_path / "facts.tsv", tmp_path / "table.csv"
    source.write_text(dump(*(("AtLocation", f"/c/en/{thing}", f"/c/en/{place}", weight) for thing, place, weight in (
        ("laptop", "lap", 1), ("laptop", "train", 4), ("laptop", "cafe", 3), ("cup", "saucer", 2), ("ufo", "sky", 1)))))
    told = CliRunner().invoke(app, ["data", "collect", str(source), "--out", str(table), "--limit", "1"])
    assert told.exit_code == 0 and "2 objects" in told.stdout
    assert usual_places(read_facts(table)) == {"cup": "saucer", "laptop": "cafe"}      # a train is an object here
    assert Room(n_people=2, n_objects=2, n_locations=2, commonsense=table).locations == ("cafe", "saucer")
    again = CliRunner().invoke(app, ["data", "collect", str(source), "--out", str(table)])
    assert again.exit_code == 1 and "already" in again.stderr
    missing = CliRunner().invoke(app, ["data", "collect", str(tmp_path / "none.tsv"), "--out", str(tmp_path / "b.csv")])
    assert missing.exit_code == 1 and not (tmp_path / "b.csv").exists()


def test_checksums_of_the_shipped_tables_hold():
    import hashlib

    folder = data_dir() / "room"
    sums = dict(line.split("  ")[::-1] for line in (folder / "SHA256SUMS").read_text().splitlines())
    assert set(sums) == {path.name for path in folder.iterdir()} - {"SHA256SUMS"}
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest


# ---------------------------------------------------------------- the study

@pytest.mark.parametrize(("room", "agent"), [
    ("ours", "semantic"), ("original", "given"), ("original, early", "episodic")])
def test_the_studys_table_is_what_the_code_gives(room, agent):
    table = pd.read_csv(data_dir() / "room" / "memory.csv")
    assert len(table) == len(study.ROOMS) * len(study.SYSTEMS) * len(study.CAPACITIES) * study.RUNS
    kept = table[(table["room"] == room) & (table["agent"] == agent) & (table["capacity"] == 8)]
    pd.testing.assert_frame_equal(study.answers_of(room, agent, 8), kept.reset_index(drop=True), check_dtype=False)
