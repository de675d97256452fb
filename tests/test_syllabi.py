"""Syllabi: the form, what it means, and all issues at once."""

import pytest

from pushlab.lifetimes.syllabi import (
    ant_a,
    ant_b,
    cl,
    read_syllabus,
    shipped_syllabi,
    write_syllabus,
)
from pushlab.utils.issues import BadData

MIRA = {"$episode": "pushlab/push-v0", "user": "mira"}
THEO = {"$episode": "pushlab/push-v0", "user": "theo"}
ITEMS = {"$episode": "pushlab/RECEnv-v0"}
A = {"$repeat": {**MIRA, "$task": "a"}, "count": 3}
B = {"$repeat": {**THEO, "$task": "b"}, "count": 3}


def phases(*parts):
    """Instructions of phases: the name of each, followed by its episodes."""
    return [{"$phase": part} if isinstance(part, str) else part for part in parts]


def test_the_original_form_is_understood():
    syllabus = read_syllabus(
        {
            "contains": "episodes",
            "default_params": {"horizon": 1},
            "instructions": [
                {"$phase": "0.test", "enable_updates": False},
                {"$repeat": MIRA, "count": 25},
                {"$phase": "1.train", "enable_updates": True},
                {"$repeat": MIRA, "count": 250},
                {**MIRA, "horizon": 2},
            ],
        }
    )
    assert [phase.block_type for phase in syllabus.phases] == ["test", "train"]
    training = syllabus.training("push-v0")
    assert [one.count for one in training] == [250, 1]
    assert [one.params["horizon"] for one in training] == [1, 2]
    assert syllabus.kind == "CL"
    assert sum(phase.n_episodes for phase in syllabus.phases) == 276


def test_builders_make_what_the_rules_ask_for(tmp_path):
    tasks = {"ä": MIRA, "b": THEO}
    varied = [{"reward_std": 0.1}, {"reward_std": 0.5}]
    for syllabus, kind, expected in (
        (ant_a(tasks, 5, 2, ["b", "ä", "b"]), "ANT_A", "2ä2b 5b 2ä2b 5ä 2ä2b 5b 2ä2b"),
        (ant_b(tasks, 5, 2), "ANT_B", "2ä2b 5ä 2ä2b 5b 2ä2b"),
        (ant_a(tasks, 5, 2, pretest=False), "ANT_A", "5ä 2ä2b 5b 2ä2b"),
        (cl(ITEMS, varied, 9, 3), "CL", "3R3R 9R 3R3R 9R 3R3R"),
    ):
        counts = ""
        for phase in syllabus.phases:
            parts = [f"{one.count}{one.task[0]}" for one in phase.experiences]
            counts += " " + "".join(parts)
        assert (syllabus.kind, counts[1:]) == (kind, expected)
        again = read_syllabus(write_syllabus(syllabus, tmp_path / "one.json"))
        assert again == syllabus
    tested = ant_a(tasks, 5, 2, held_out={"days": "test"}).phases[0].experiences[0]
    assert tested.params == {"user": "mira", "days": "test"}


def test_shipped_syllabi_are_valid():
    kinds = {read_syllabus(name).kind for name in shipped_syllabi()}
    assert kinds == {"CL", "ANT_A", "ANT_B"}
    with pytest.raises(FileNotFoundError, match="no syllabus 'users-abc'.*users-aba"):
        read_syllabus("users-abc")


def issues_of(instructions, **head):
    with pytest.raises(BadData) as error:
        read_syllabus({"instructions": instructions, **head})
    return str(error.value).splitlines()[1:]


def test_all_issues_of_all_instructions_are_listed_at_once():
    instructions = [
        {"$phase": "1.train", "enable_updates": False},
        {"$repeat": {"user": "mira"}, "count": 0},
        "1.test",
        {"$episode": "beside:Foo-v0"},
    ]
    lines = issues_of(instructions, structure="ANT_C")
    for words in (
        "key structure: 'ANT_C' is not one of CL, ANT_A, ANT_B",
        "key enable_updates, item 0: 'false' is not true in training",
        "key count, item 1: '0' is not a whole number from 1",
        'item 1: \'{"user": "mira"}\' is not an object with "$episode"',
        "item 2: '1.test' is not an object",
        "item 3: 'beside:Foo-v0' is not the id of a registered environment",
    ):
        assert [line for line in lines if words in line], (words, lines)


@pytest.mark.parametrize(
    ("parts", "head", "words"),
    [
        (["1.train", A, "1.test"], {}, "item 2: '1.test' is not followed by episodes"),
        (["1.train", A, "2.train", B, "2.test", A, B], {}, "after 1.train comes 1.test in ANT_A"),
        (["1.train", A, "1.test", A, "2.train", B, "2.test", B], {}, "a is missing"),
        (["1.train", A, "1.test", A, B, "2.train", B, "2.test", A, B],
         {"structure": "ANT_B"}, "after the start comes 0.test in ANT_B"),
    ],
)  # fmt: skip
def test_issues_of_the_order_of_phases_and_of_the_structure(parts, head, words):
    assert [line for line in issues_of(phases(*parts), **head) if words in line]
