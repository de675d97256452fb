"""Results and compiled loops on disk: made once, and again after an edit or damage."""

import json
import os
import subprocess
import sys

import pytest

from pushlab.agents import EpsilonGreedy
from pushlab.ground._old_kept import checksum, kept
from pushlab.ground._old_origins import of_value

# ---------------------------------------------------------------- results


def test_a_result_is_made_once_and_again_if_its_file_is_damaged(tmp_path):
    path = tmp_path / "new" / "job.json"
    made = []

    def make():
        made.append(1)
        return {"sum": 0.1 + 0.2}

    for damage in (str, lambda text: text[:5], lambda text: text.replace("0.3", "0.4")):
        if path.exists():
            path.write_text(damage(path.read_text()))
        assert kept(path, make) == kept(path, make) == {"sum": 0.1 + 0.2}
    assert made == [1, 1, 1]


@pytest.mark.posix
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    path = tmp_path / "shared" / "job.json"
    kept(path, lambda: "mine")
    path.parent.chmod(0o777)
    with pytest.warns(UserWarning, match="yours alone"):
        assert kept(path, lambda: "made", optional=True) == "made"
    with pytest.warns(UserWarning), pytest.raises(PermissionError):
        kept(path, lambda: "made")


def test_different_values_have_different_checksums():
    values = [
        EpsilonGreedy,
        lambda: EpsilonGreedy(0.1),
        lambda: EpsilonGreedy(0.2),
        1,
        1.0,
        "1",
        [1],
    ]
    assert len({of_value(value) for value in values}) == len(values)
    assert of_value({"a": 1, "b": {2, 3}}) == of_value({"b": {3, 2}, "a": 1})
    assert checksum("a", 1) != checksum("a1")


# ---------------------------------------------------------------- compiled loops

INNER = """
RATE = 0.5

def grown(x):
    return x * (1.0 + RATE)
"""
OUTER = """
import inner
from pushlab.ground.compiled import compiled, compiled_for, inner as inside

def loop(x):
    for _ in range(3):
        x = GROWN(x)
    return x

loop = compiled_for(loop, "tried", GROWN=inside(inner.grown))
print(loop(1.0), sum(loop.stats.cache_hits.values()))
"""


def start(folder, module, *words, **variables):
    """A process that imports a module of a folder and stores compiled loops there."""
    paths = os.pathsep.join([str(folder), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"}
    environment["NUMBA_CACHE_DIR"] = str(folder / "loops")
    return subprocess.Popen(
        [sys.executable, "-c", f"import {module}", *words],
        cwd=folder,
        env=environment | variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process):
    """The words that a process prints, once it has ended well."""
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    return output.split()


@pytest.mark.slow
def test_an_edit_of_a_called_function_counts_and_a_comment_does_not(tmp_path):
    found = []
    (tmp_path / "outer.py").write_text(OUTER)
    for old, new in (
        ("", ""),
        ("def", "# a comment\ndef"),
        ("RATE = 0.5", "RATE = 1.0"),
        ("x * (", "2.0 * x * ("),
        ("", ""),
    ):
        (tmp_path / "inner.py").write_text(INNER.replace(old, new, 1))
        found.append(output_of(start(tmp_path, "outer")))
    assert found == [
        ["3.375", "0"],
        ["3.375", "1"],
        ["8.0", "0"],
        ["27.0", "0"],
        ["3.375", "1"],
    ]


@pytest.mark.slow
def test_a_damaged_loop_is_compiled_again(tmp_path):
    (tmp_path / "inner.py").write_text(INNER)
    (tmp_path / "outer.py").write_text(OUTER)
    assert output_of(start(tmp_path, "outer")) == ["3.375", "0"]
    (loop,) = (tmp_path / "loops").rglob("*.nbc")
    loop.unlink()
    assert output_of(start(tmp_path, "outer")) == ["3.375", "0"]
    assert output_of(start(tmp_path, "outer")) == ["3.375", "1"]


@pytest.mark.slow
@pytest.mark.posix
def test_loops_are_not_stored_where_others_can_write(tmp_path):
    (tmp_path / "inner.py").write_text(INNER)
    (tmp_path / "outer.py").write_text(OUTER)
    folder = tmp_path / "cache" / "loops"
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    shared = {"NUMBA_CACHE_DIR": "", "PUSHLAB_CACHE": str(folder.parent)}
    for _ in range(2):
        assert output_of(start(tmp_path, "outer", **shared)) == ["3.375", "0"]
    assert list(folder.iterdir()) == []


RECORDS = """
import json
import sys

import numpy as np
from pushlab.ground.compiled import compiled, inner

@inner
def part(rows):
    total = 0.0
    for at in range(len(rows)):
        for step in range(5):
            total += rows[at]["a"] * 2.0 + step
            if total > 1e9:
                total = total / 3.0
    return total

def make(columns):
    rows = np.zeros(3, [(column, "f8") for column in columns])
    rows["a"] = [1, 2, 3]
    rows["b"] = 100

    @compiled
    def loop(rows):
        return part(rows) + part(rows[1:]) + part(rows[2:])

    return loop(rows), loop.py_func(rows), sum(loop.stats.cache_hits.values())

print(json.dumps([make(columns) for columns in sys.argv[1:]]))
"""


@pytest.mark.slow
def test_loops_that_two_processes_compiled_are_right_together(tmp_path):
    """Parts of two loops must not share a name: numba numbers them from 1."""
    (tmp_path / "records.py").write_text(RECORDS)
    at_once = [start(tmp_path, "records", columns) for columns in ("ab", "bca", "ab")]
    for process in at_once:
        ((value, expected, _),) = json.loads("".join(output_of(process)))
        assert value == expected
    both = json.loads("".join(output_of(start(tmp_path, "records", "ab", "bca"))))
    assert all(value == expected for value, expected, _ in both)
    assert [hits for *_, hits in both] == [1, 1]


FIRST_STEPS = """
import gymnasium as gym
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, seen):
        compiled.append(seen.data["dispatcher"].py_func.__qualname__)
    def on_end(self, seen):
        pass

event.register("numba:compile", Listener())
from pushlab.envs import TABLE
for name, *_ in TABLE:
    for env in (gym.make(name), gym.make_vec(name, num_envs=16)):
        env.reset(seed=0)
        env.action_space.seed(0)
        env.step(env.action_space.sample())
print(*compiled)
"""


@pytest.mark.slow
def test_after_warm_no_environment_compiles_anything(tmp_path):
    command = [sys.executable, "-P", "-m", "pushlab", "warm"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "first_steps.py").write_text(FIRST_STEPS)
    same = {"NUMBA_CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", "")}
    assert output_of(start(tmp_path, "first_steps", **same)) == []
