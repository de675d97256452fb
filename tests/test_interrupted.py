"""An interrupted rollout or lifetime attaches its log to the error."""

import pandas as pd
import pytest

from pushlab import rollout
from pushlab.agents import RandomAgent
from pushlab.lifetimes.runner import run_syllabus
from pushlab.lifetimes.syllabi import ant_a

REC = "pushlab/RECEnv-v0"


class InterruptedAgent(RandomAgent):
    """Raise KeyboardInterrupt after some steps."""

    def __init__(self, steps):
        super().__init__()
        self.remaining = steps

    def act(self, observation, info, explore=True):
        self.remaining -= 1
        if self.remaining < 0:
            raise KeyboardInterrupt
        return super().act(observation, info, explore)


def interrupted_log(run, steps, task, *args, **kwargs):
    """Return the log of a run that is interrupted after some steps."""
    with pytest.raises(KeyboardInterrupt) as error:
        run(task, InterruptedAgent(steps), *args, progress=False, **kwargs)
    return error.value.log


def test_interrupted_rollout_keeps_its_log():
    complete = rollout(REC, RandomAgent(), 9, seed=3, progress=False)
    log = interrupted_log(rollout, 27, REC, 9, seed=3)
    assert log["reward"].tolist() == complete["reward"][:27].tolist()
    log = interrupted_log(rollout, 27, REC, 9, seed=3, record="episodes")
    assert log["length"].tolist() == [10, 10]  # the third isn't complete
    log, films = interrupted_log(rollout, 27, REC, 9, seed=3, record="frames")
    assert [len(film) for film in films] == [11, 11, 8]


def test_interrupted_lifetime_keeps_its_log():
    tasks = {
        name: {"$episode": REC, "random_state": index}
        for index, name in enumerate("ab")
    }
    syllabus = ant_a(tasks, 3, 2)
    complete = run_syllabus(syllabus, RandomAgent(), 0, progress=False)
    log = interrupted_log(run_syllabus, 85, syllabus, 0)
    columns = ["phase", "block", "task", "regime", "episode", "reward", "length"]
    # Copies of the agent run the test episodes; their steps don't count.
    pd.testing.assert_frame_equal(log[columns], complete[columns][:16])
