"""Syllabi: the form, what it means, and every fault said at once."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pushlab.ground.faults import BadData
from pushlab.lifetimes.syllabi import Syllabus, ant_a, ant_b, cl, read_syllabus, shipped_syllabi, write_syllabus

MIRA, THEO = ({"$episode": "pushlab/push-v0", "user": user} for user in ("mira", "theo"))
ITEMS = {"$episode": "pushlab/RECEnv-v0"}


def phase(name, *items):
    return [{"$phase": name}, *items]


def times(count, episode, **more):
    return {"$repeat": {**episode, **more}, "count": count}


def faults_of(*parts, **head):
    """The lines of the message about a syllabus of these parts."""
    with pytest.raises(BadData) as error:
        read_syllabus({"instructions": [item for part in parts for item in part], **head})
    return str(error.value).splitlines()[1:]


A = times(3, MIRA, **{"$task": "a"})
B = times(3, THEO, **{"$task": "b"})


# ---------------------------------------------------------------- the form

def test_the_original_form_is_understood():
    """The layout of the programme's own examples, with an environment of this workbook in it."""
    syllabus = read_syllabus({
        "name": "ANT Subtype A", "author": "somebody", "contains": "episodes", "default_params": {"horizon": 1},
        "instructions": [
            {"$phase": "0.test", "enable_updates": False},
            {"$repeat": {"$episode": "pushlab/push-v0", "user": "mira"}, "count": 25},
            {"$phase": "1.train", "enable_updates": True},
            {"$repeat": {"$episode": "pushlab/push-v0", "user": "mira"}, "count": 250},
            {"$episode": "pushlab/push-v0", "user": "mira", "horizon": 2}]})
    before, training = syllabus.phases
    assert (before.kind, training.kind, syllabus.kind) == ("test", "train", "CL")
    assert [one.count for one in training.experiences] == [250, 1]
    assert training.experiences[0].params == {"horizon": 1, "user": "mira"}
    assert training.experiences[1].params == {"horizon": 2, "user": "mira"}
    assert syllabus.tasks == ("push-v0",) and syllabus.count == 276


def test_a_syllabus_comes_back_from_its_file_as_it_was(tmp_path):
    for syllabus in (cl(ITEMS, [{"reward_std": 0.1}, {"reward_std": 0.5}], 10, 2), ant_a({"ä": MIRA, "b": THEO}, 5, 2),
                     ant_b({"a": MIRA, "b": THEO}, 5, 2)):
        path = write_syllabus(syllabus, tmp_path / "one.json")
        again = read_syllabus(path)
        assert (again.instructions, again.structure, again.phases) == (
            syllabus.instructions, syllabus.structure, syllabus.phases)
        assert json.loads(path.read_text(encoding="utf-8")) == syllabus.to_dict()


def test_every_shipped_syllabus_is_valid_and_has_a_row_in_the_datasheet():
    from pushlab.ground.files import data_dir

    told = (data_dir() / "syllabi" / "README.md").read_text(encoding="utf-8")
    kinds = set()
    for name in shipped_syllabi():
        syllabus = read_syllabus(name)
        kinds.add(syllabus.kind)
        counts = [sum(one.count for phase in syllabus.phases if phase.kind == kind for one in phase.experiences)
                  for kind in ("train", "test")]
        row = next(line for line in told.splitlines() if line.startswith(f"| `{name}.json`"))
        assert f"| {syllabus.kind} |" in row
        assert row.endswith(f"{counts[0]} and {counts[1]} |") or f"{counts[0]} of training, {counts[1]} of" in row
    assert kinds == {"CL", "ANT_A", "ANT_B"}


def test_an_unknown_name_lists_the_known_ones():
    with pytest.raises(FileNotFoundError, match="no syllabus 'users-abc'.*users-aba"):
        read_syllabus("users-abc")


def test_a_file_that_is_no_json_says_where(tmp_path):
    path = tmp_path / "torn.json"
    path.write_text('{"name": "x",\n "instructions": [{"$phase": "1.tr')
    with pytest.raises(BadData, match="torn.json, line 2: this is not JSON"):
        read_syllabus(path)


# ---------------------------------------------------------------- builders

def test_the_builders_make_what_the_rules_ask_for():
    three = ant_a({"a": MIRA, "b": THEO}, 5, 2, order=["a", "b", "a"], held_out={"days": "test"})
    assert [one.name for one in three.phases] == ["0.test", "1.train", "1.test", "2.train", "2.test", "3.train",
                                                  "3.test"]
    assert [one.experiences[0].task for one in three.phases if one.kind == "train"] == ["a", "b", "a"]
    assert all(one.params["days"] == "test" for some in three.phases if some.kind == "test" for one in some.experiences)
    assert [one.count for one in three.training("a")] == [5, 5]
    varied = cl(ITEMS, [{"reward_std": 0.1}, {"reward_std": 0.5}, {"reward_std": 0.1}], 10, 2)
    assert [len(one.experiences) for one in varied.phases] == [2, 1, 2, 1, 2, 1, 2]
    assert [one.kind for one in cl(ITEMS, [{"reward_std": 0.1}, {"reward_std": 0.5}], 10).phases] == ["train", "train"]
    with pytest.raises(ValueError, match="order names the task 'c'"):
        ant_a({"a": MIRA, "b": THEO}, 5, 2, order=["c"])
    with pytest.raises(BadData, match="push-v0 has no argument of that name; did you mean user"):
        ant_a({"a": {**MIRA, "usr": 1}, "b": THEO}, 5, 2)


@given(st.lists(st.sampled_from("abc"), min_size=2, max_size=6).filter(lambda order: len(set(order)) > 1),
       st.integers(1, 50), st.integers(1, 9), st.booleans())
def test_whatever_the_order_a_built_syllabus_is_valid(order, train, test, transfer):
    tasks = {name: {**ITEMS, "random_state": number} for number, name in enumerate("abc") if name in order}
    syllabus = (ant_b if transfer else ant_a)(tasks, train, test, order=order)
    assert syllabus.faults() == []
    assert syllabus.count == len(order) * train + (len(order) + 1) * len(tasks) * test


# ---------------------------------------------------------------- faults

def test_all_faults_of_all_instructions_are_listed_at_once():
    lines = faults_of([{"$phase": "1.trin"}, {"$phase": "2.train", "enable_updates": False},
                       times(0, {"$episode": "pushlab/pusch-v0"}), times(2, MIRA, usr=1), 7, {"a": 1},
                       {"$repeat": MIRA, "count": 2, "user": "mira"}, times(2, MIRA, **{"$name": "x"})],
                      name=3, structrue="CL", contains="images")
    expected = ["key name: '3' is not a text", "key structrue: no such key", "key contains: 'images' is not episodes",
                "key $phase, item 0: '1.trin' is not", "key enable_updates, item 1: 'false' is not true in training",
                "key count, item 2: '0' is not a whole number from 1",
                "key $episode, item 2: 'pushlab/pusch-v0' is not the id of an environment that is registered; did you "
                "mean pushlab/push-v0?",
                "key usr, item 3: pushlab/push-v0 has no argument of that name; did you mean user?",
                "item 4: '7' is not an object", "item 5:", "key user, item 6: no such key beside $repeat and count",
                "key $name, item 7: no such key; with $ there are $episode, $task"]
    for words in expected:
        assert [line for line in lines if words in line], (words, lines)


@pytest.mark.parametrize("first", ["0.train", "2.train", "1.test"])
def test_the_first_phase_is_a_training_or_a_test_before_all(first):
    assert any("after the start comes 0.test or 1.train" in line for line in faults_of(phase(first, A)))


def test_phases_count_on_and_are_not_empty():
    lines = faults_of(phase("1.train", A), phase("3.train", A), phase("3.test"), phase("3.train", A))
    assert any("item 2: '3.train' is not next; after 1.train comes 1.test or 2.train" in line for line in lines)
    assert any("item 4: '3.test' is not followed by episodes" in line for line in lines)
    assert any("item 5: '3.train' is not next; after 3.test comes 4.train" in line for line in lines)
    assert any("an episode before the first" in line for line in faults_of([A], phase("1.train", A)))
    assert any("no phase of training" in line for line in faults_of(phase("0.test", A)))
    assert faults_of() == ["  syllabus, key instructions: there are no instructions"]


def test_cl_has_one_task_and_varies_it():
    quiet, loud = times(3, ITEMS, reward_std=0.1), times(3, ITEMS, reward_std=0.5)
    assert read_syllabus({"instructions": [*phase("1.train", quiet), *phase("2.train", loud)]}).kind == "CL"
    assert read_syllabus({"instructions": phase("1.train", quiet, loud)}).kind == "CL"
    assert any("all training is the same" in line for line in faults_of(phase("1.train", quiet), structure="CL"))
    other = times(3, ITEMS, **{"$task": "another"})
    assert any("key $task, item 2: 'another' is not RECEnv-v0; a CL syllabus has one task" in line
               for line in faults_of(phase("1.train", quiet, other), structure="CL"))


def test_ant_tests_after_every_training_all_that_was_trained():
    good = [*phase("1.train", A), *phase("1.test", A), *phase("2.train", B), *phase("2.test", A, B)]
    assert read_syllabus({"instructions": good}).kind == "ANT_A"
    assert any("item 0: '1.train' is not followed by its test, which is mandatory in ANT" in line
               for line in faults_of(phase("1.train", A), phase("2.train", B), phase("2.test", A, B)))
    assert any("item 6: '2.test' is not a test of all tasks trained so far; a is lacking" in line
               for line in faults_of(good[:4], phase("2.train", B), phase("2.test", B)))
    assert any("training of one task, and here are a, b" in line
               for line in faults_of(phase("1.train", A, B), phase("1.test", A, B)))
    assert any("an ANT_B syllabus has several tasks, and here is only a" in line
               for line in faults_of(phase("0.test", A), phase("1.train", A), phase("1.test", A), structure="ANT_B"))


def test_ant_does_not_vary_a_task_but_may_hold_days_out_for_its_tests():
    held = [times(2, MIRA, days="test", **{"$task": "a"}), times(2, THEO, days="test", **{"$task": "b"})]
    assert read_syllabus({"instructions": [*phase("1.train", A), *phase("1.test", *held), *phase("2.train", B),
                                           *phase("2.test", *held)]}).structure is None
    varied = times(2, {"$episode": "pushlab/push-v0", "user": "noor", "$task": "a"})
    lines = faults_of(phase("1.train", A), phase("1.test", A, B), phase("2.train", varied), phase("2.test", A, B))
    assert len(lines) == 1 and "item 6" in lines[0] and "do not vary (a, in train)" in lines[0]


def test_transfer_is_measured_against_what_could_be_done_before():
    lines = faults_of(phase("1.train", A), phase("1.test", A), phase("2.train", B), phase("2.test", A, B),
                      structure="ANT_B")
    assert any("'1.train' is not 0.test" in line for line in lines)
    assert any("item 2: '1.test' is not a test of all tasks; b is lacking" in line for line in lines)


def test_a_syllabus_of_ones_own_is_checked_as_a_file_is():
    with pytest.raises(BadData, match="expected"):
        read_syllabus({"name": "x"})
    with pytest.raises(BadData, match="no phase of training"):
        Syllabus("mine", phase("0.test", A)).validate()
