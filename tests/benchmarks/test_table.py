"""The command behind `make benchmarks`: what it would measure can be made; it writes into docs/speed.md."""

import mmap

import cases
import gymnasium as gym
import memory
import pytest
import speed
import table

from pushlab.envs import TABLE


def test_every_world_is_measured_once_in_its_newest_version():
    measured, registered = cases.newest(), [name for name, *_ in TABLE]
    assert set(measured) <= set(registered)
    assert sorted(name.rsplit("-v", 1)[0] for name in measured) == sorted(
        {name.rsplit("-v", 1)[0] for name in registered})
    assert {f"pushlab/{name}" for name in cases.ORIGINALS} <= set(measured)


@pytest.mark.parametrize("name, first, arguments", [(name, first, arguments) for name, _, first, arguments
                                                    in cases.sizes()])
def test_a_world_can_be_made_at_its_first_size_and_at_four_times_that(name, first, arguments):
    for size in (first, 4 * first):
        gym.make_vec(name, num_envs=2, **arguments(size)).reset(seed=1)


def test_a_run_is_repeated_with_all_its_episodes():
    env = gym.make("pushlab/RECEnv-v0", step_per_episode=10)
    actions, ends = cases.record(env, 25)
    assert len(actions) == 25 and ends == 2
    cases.replay(env, actions)
    assert env.unwrapped.state["step"].tolist() == [5]


def test_a_slower_run_is_told_from_a_faster_one():
    taken = speed.in_turns([lambda count: sum(range(3000 * count)), lambda count: sum(range(1000 * count))], .01, 9)
    assert taken.shape == (9, 2)
    assert 1.5 < speed.compared(taken)[1] < 6


def test_the_block_between_the_marks_is_replaced_and_nothing_else(tmp_path):
    page = tmp_path / "speed.md"
    page.write_text(f"above\n\n{table.BEGIN}\n\nold\n\n{table.END}\n\nbelow\n", encoding="utf-8")
    table.write_between(page, "a × b")
    table.write_between(page, "c × d")
    assert page.read_text(encoding="utf-8") == f"above\n\n{table.BEGIN}\n\nc × d\n\n{table.END}\n\nbelow\n"
    assert list(tmp_path.iterdir()) == [page]
    page.write_text("no marks", encoding="utf-8")
    with pytest.raises(ValueError, match=r"speed\.md has no place for it"):
        table.write_between(page, "new")
    assert page.read_text(encoding="utf-8") == "no marks"


def test_the_page_has_the_marks():
    text = table.PAGE.read_text(encoding="utf-8")
    assert text.count(table.BEGIN) == text.count(table.END) == 1
    assert text.index(table.BEGIN) < text.index(table.END)


def test_what_grows_is_seen_at_the_marks():
    kept = []

    def grow(_):
        kept.append(mmap.mmap(-1, 2**20))       # new pages, and none that the process had and gave back to itself
        kept[-1].write(b"x" * 2**20)

    read = memory.at_marks(grow, 80)
    assert len(read) == len(memory.MARKS) and len(kept) == 80
    assert read[-1] - read[memory.MARKS.index(0.5)] > 30            # 40 MB more from half way to the end
