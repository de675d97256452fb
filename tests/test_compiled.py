"""Caches of compiled loops and results: computed once, and again after an edit or damage."""

import json
import linecache
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import pushlab
from pushlab.utils.cache import (
    fingerprint,
    load_or_compute,
    no_cache,
    read_checked,
    write_checked,
)

# ---------------------------------------------------------------- fingerprints and results


def test_fingerprint_of_notebook_code_includes_its_dependencies():
    cells = [
        "RATE = 1\ndef grown(x): return x * RATE\nclass Mine:\n    def act(self): return grown(1)",
        "RATE = 2",
        "def grown(x): return x + RATE",
        "class Mine:\n    def act(self): return grown(2)",
    ]
    notebook = {"__name__": "__main__"}
    fingerprints = []
    for index, source in enumerate(cells):
        file = f"<cell {index}>"
        linecache.cache[file] = (len(source), None, source.splitlines(True), file)
        exec(compile(source, file, "exec"), notebook)
        fingerprints.append(fingerprint(notebook["Mine"]))
    assert len(set(fingerprints)) == len(cells)


UNUSUAL = """
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from pushlab.utils.cache import fingerprint

Mood = Enum("Mood", ["GOOD", "BAD"])

@cache
def doubled(number): return number * 2

class Slotted:
    __slots__ = ("words",)
    def act(self): return 1

@dataclass
class Mine:
    words: list[str] = field(default_factory=list)
    rate: float | None = None
    mood: Mood = Mood.GOOD
    @cached_property
    def known(self): return doubled(len({"a", "b", "c"}))

slotted = Slotted()
slotted.words = {"open", "dismiss", "ignore"}
print(fingerprint(Mine(["open"], 0.5), slotted))
"""


def test_fingerprints_are_equal_across_processes_and_change_with_edits(tmp_path):
    changes = [("", ""), ("* 2", "* 3"), ("return 1", "return 2"), ('"c"', '"d"')]
    sources = [UNUSUAL, *(UNUSUAL.replace(old, new) for old, new in changes)]
    processes = [start(tmp_path, source) for source in sources]
    outputs = ["".join(output_of(process)) for process in processes]
    original, repeated, *edited = outputs
    assert original == repeated and len({original, *edited}) == 4


def flipped(data, bit):
    """Return data with one bit flipped."""
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_every_damage_of_a_file_is_detected_with_one_warning(tmp_path):
    file = tmp_path / "job.json"
    data = b'{"sum": 0.3}'
    write_checked(file, data)
    content = file.read_bytes()
    write_checked(tmp_path / "other.json", data)
    damaged = [content[:size] for size in range(len(content))]
    damaged += [flipped(content, bit) for bit in range(8 * len(content))]
    damaged.append((tmp_path / "other.json").read_bytes())
    with pytest.warns(UserWarning, match="damaged files") as warned:
        for wrong in damaged:
            file.write_bytes(wrong)
            assert read_checked(file) is None
    assert len(warned) == 1
    file.write_bytes(content)
    assert read_checked(file) == data
    assert json.loads(content)[1] == json.loads(data)


def test_result_is_computed_once_and_again_if_its_file_is_damaged(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    calls = []

    def compute():
        calls.append(1)
        return {"sum": 0.1 + 0.2}

    for _ in range(2):
        load_or_compute("job", "1f", compute)
    assert len(calls) == 1
    (file,) = tmp_path.rglob("job-1f.json")
    file.write_text(file.read_text().replace("0.3", "0.4"))
    with pytest.warns(UserWarning, match="damaged files"):
        assert load_or_compute("job", "1f", compute) == {"sum": 0.1 + 0.2}
    assert len(calls) == 2
    with no_cache():
        assert load_or_compute("job", "1f", compute) == {"sum": 0.1 + 0.2}
    assert len(calls) == 3
    if os.name == "posix":
        (tmp_path / "results").chmod(0o777)  # others could write there
        with pytest.warns(UserWarning, match="other users can access"):
            assert load_or_compute("job", "2f", lambda: "mine") == "mine"


# ---------------------------------------------------------------- compiled loops

FIRST_STEPS = """
import gymnasium as gym
import pushlab
from pushlab.envs.rec.world import clip_each as loop
env = gym.make("pushlab/RECEnv-v0", obs_std=0.1)
env.reset(seed=0)
env.step(0)
print(sum(loop.stats.cache_hits.values()), sum(loop.stats.cache_misses.values()))
"""
RECORDS = """
import json
import sys

import numpy as np

sys.modules["pushlab.records"] = sys.modules[__name__]
__name__ = "pushlab.records"
from pushlab.utils.compiled import compiled, compiled_helper

@compiled_helper
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

EVERY_ENVIRONMENT = """
import gymnasium as gym
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, started):
        compiled.append(started.data["dispatcher"].py_func.__qualname__)
    def on_end(self, ended):
        pass

event.register("numba:compile", Listener())
from pushlab.envs import ENVIRONMENTS
for name, *_ in ENVIRONMENTS:
    for env in (gym.make(name), gym.make_vec(name, num_envs=16)):
        env.reset(seed=0)
        env.action_space.seed(0)
        env.step(env.action_space.sample())
print(*compiled)
"""


def start(folder, code, *words):
    """Start a process that runs code, with caches in a folder."""
    root = Path(pushlab.__file__).parents[1]
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(folder), str(root)]),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PUSHLAB_CACHE": str(folder / "cache"),
    }
    return subprocess.Popen(
        [sys.executable, "-c", code, *words],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def output_of(process, warnings=0):
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    assert errors.count("UserWarning") == warnings
    return output.split()


@pytest.mark.slow
def test_loops_are_compiled_once_and_again_after_an_edit_or_damage(tmp_path):
    root = Path(pushlab.__file__).parents[1]
    shutil.copytree(root / "pushlab", tmp_path / "pushlab")
    (tmp_path / "data").symlink_to(pushlab.data_dir(), target_is_directory=True)
    cache = tmp_path / "cache" / "compiled"

    def first_steps(warnings=0):
        """Return cache hits and misses of a loop in a new process."""
        return output_of(start(tmp_path, FIRST_STEPS), warnings)

    assert first_steps() == ["0", "1"]
    assert first_steps() == ["1", "0"]
    content, others = (
        [file.read_bytes() for file in cache.glob(f"**/{name}-*.loop")]
        for name in ("clip_each", "drift")
    )
    for damaged in (
        content[0][:-1],
        b"",
        others[0],
        *(flipped(content[0], bit) for bit in (4000, 40_000)),
    ):
        for file in cache.glob("**/*.loop"):
            file.write_bytes(damaged)
        assert first_steps(warnings=1) == ["0", "1"]
        assert first_steps() == ["1", "0"]
    for index in range(4):
        with open(tmp_path / "pushlab" / "metrics" / "push.py", "a") as module:
            module.write(f"# {index}\n")
        assert first_steps() == ["0", "1"]
    assert len(list(cache.iterdir())) == 4
    for version in cache.iterdir():  # as if the clock had been set back
        os.utime(version, (2**32, 2**32))
    with open(tmp_path / "pushlab" / "metrics" / "push.py", "a") as module:
        module.write("# 4\n")
    assert [first_steps(), first_steps()] == [["0", "1"], ["1", "0"]]
    if os.name == "posix":
        cache.chmod(0o777)  # others could write there
        assert first_steps(warnings=1) == ["0", "1"]


@pytest.mark.slow
@pytest.mark.posix
def test_loops_are_compiled_where_nothing_can_be_stored(tmp_path):
    full = "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\n"
    assert output_of(start(tmp_path, full + FIRST_STEPS)) == ["0", "1"]
    assert [*tmp_path.rglob("*.loop"), *tmp_path.rglob("*.part")] == []
    shutil.rmtree(tmp_path / "cache")
    (tmp_path / "cache").touch()  # no folder can be made
    assert output_of(start(tmp_path, FIRST_STEPS)) == ["0", "1"]


@pytest.mark.slow
def test_loops_compiled_by_two_processes_do_not_conflict(tmp_path):
    """Names of compiled code must differ between processes; numba numbers functions and record types from 1."""
    (tmp_path / "records.py").write_text(RECORDS)
    code = "import records"
    processes = [start(tmp_path, code, columns) for columns in ("ab", "bca", "ab")]
    for process in processes:
        ((value, expected, _),) = json.loads("".join(output_of(process)))
        assert value == expected
    both = json.loads("".join(output_of(start(tmp_path, code, "ab", "bca"))))
    assert all(value == expected for value, expected, _ in both)
    assert [hits for *_, hits in both] == [1, 1]


@pytest.mark.slow
def test_no_environment_compiles_after_warm(tmp_path):
    command = "import pushlab.__main__ as command; command.main()"
    output_of(start(tmp_path, command, "warm"))
    assert output_of(start(tmp_path, EVERY_ENVIRONMENT)) == []
