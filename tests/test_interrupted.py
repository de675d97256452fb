"""An interrupted rollout or lifetime leaves its log at the error."""

import pandas as pd
import pytest

from pushlab import RandomAgent, rollout
from pushlab.lifetimes.live import run_syllabus
from pushlab.lifetimes.syllabi import ant_a

REC = "pushlab/RECEnv-v0"


class Stopping(RandomAgent):
    """Is interrupted at a step."""

    def __init__(self, after):
        super().__init__()
        self.left = after

    def act(self, observation, info, explore=True):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().act(observation, info, explore)


def interrupted(run, after, first, *others, **settings):
    with pytest.raises(KeyboardInterrupt) as caught:
        run(first, Stopping(after), *others, progress=False, **settings)
    return caught.value.log


def test_interrupted_rollout_keeps_its_log():
    whole = rollout(REC, RandomAgent(), 9, seed=3, progress=False)
    log = interrupted(rollout, 27, REC, 9, seed=3)
    assert log["reward"].tolist() == whole["reward"][:27].tolist()
    log = interrupted(rollout, 27, REC, 9, seed=3, record="episodes")
    assert log["length"].tolist() == [10, 10]  # the third has no return yet
    log, films = interrupted(rollout, 27, REC, 9, seed=3, record="frames")
    assert [len(film) for film in films] == [11, 11, 8]


def test_interrupted_lifetime_keeps_its_log():
    tasks = {
        name: {"$episode": REC, "random_state": at} for at, name in enumerate("ab")
    }
    syllabus = ant_a(tasks, 3, 2)
    whole = run_syllabus(syllabus, RandomAgent(), 0, progress=False)
    log = interrupted(run_syllabus, 85, syllabus, 0)
    columns = ["phase", "block", "task", "regime", "episode", "reward", "length"]
    # Test episodes are run by copies of the agent, whose steps do not count.
    pd.testing.assert_frame_equal(log[columns], whole[columns][:16])
