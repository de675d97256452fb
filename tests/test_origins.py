"""What anybody's code is made of: whatever changes what it does counts, and nothing else."""

import subprocess
import sys
import textwrap
from functools import partial

import numpy as np
import pytest

from pushlab.agents import EpsilonGreedy, LinUCB
from pushlab.ground.content import Unknown
from pushlab.ground.origins import of_env, of_value

NOTEBOOK = """
    import numpy as np
    from pushlab.agents import Agent, RandomAgent

    STEP = 2

    def by(step):
        return step * STEP

    class Mine(Agent):
        "Some words."
        level = 1

        def act(self, observation, info, explore=True):
            # a remark
            return by(self.level)
"""


def of_mine(source):
    """The checksum of a notebook's class, the notebook's cells being this text."""
    there = {"__name__": "__main__"}
    exec(compile(textwrap.dedent(source), "<cell>", "exec"), there)
    return of_value(there["Mine"])


def test_a_class_of_a_notebook_is_what_it_reaches():
    whole = of_mine(NOTEBOOK)
    for what, other in (("STEP = 2", "STEP = 3"), ("step * STEP", "step + STEP"), ("level = 1", "level = 2"),
                        ("explore=True", "explore=False"), ("Mine(Agent)", "Mine(RandomAgent)")):
        assert of_mine(NOTEBOOK.replace(what, other)) != whole, what
    for what, other in (("# a remark", "# another"), ("Some words", "Others"), ("import numpy as np\n", "\n\n\n"),
                        ("STEP = 2", "STEP = 2\n    UNUSED = 1")):
        assert of_mine(NOTEBOOK.replace(what, other)) == whole, what


def test_values_factories_and_objects():
    kinds = [LinUCB, EpsilonGreedy, partial(EpsilonGreedy, epsilon=0.1), partial(EpsilonGreedy, epsilon=0.2),
             lambda: EpsilonGreedy(0.1), lambda: EpsilonGreedy(0.2), EpsilonGreedy(0.1), EpsilonGreedy(0.2),
             1, 1.0, "1", True, None, [1], (1,), {"a": 1}, {"a": 2},
             np.arange(3), np.arange(3.0), np.arange(3)[:, None], np.sin, np.cos, len]
    assert len({of_value(kind) for kind in kinds}) == len(kinds)
    assert of_value({"a": 1, "b": {2, 3}}) == of_value({"b": {3, 2}, "a": 1})
    itself: list = []
    itself.append(itself)
    for nothing in (itself, open(__file__)):
        with pytest.raises(Unknown):
            of_value(nothing)


def test_checksums_are_the_same_in_every_process():
    code = "from pushlab.ground.origins import *; from pushlab.agents import LinUCB; import numpy as np; " \
           "print(of_value([LinUCB, {'a', 'b', 'c'}, np.arange(3), np.linalg.norm]), of_env('pushlab/RECEnv-v0'))"
    told = {subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True,
                           env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)}).stdout for seed in "12"}
    assert len(told) == 1
    assert len({of_env(name) for name in ("pushlab/RECEnv-v0", "pushlab/push-v0", "CartPole-v1", "Acrobot-v1")}) == 4
