"""Nothing that lies in the folder where a command is begun is taken for a library."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent.parent
LIBRARIES = ("typer", "click", "numpy", "pandas", "gymnasium", "lazy_loader", "numba", "joblib", "filelock")


@pytest.fixture
def theirs(tmp_path):
    """A folder in which somebody else's files have the names of libraries; each says that it was run."""
    for name in LIBRARIES:
        (tmp_path / f"{name}.py").write_text(f"import os\nos.mkdir({str(tmp_path / f'ran {name}')!r})\n")
    return tmp_path


def run(folder, *words):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True, timeout=300,
                          env=environment | {"PYTHONPATH": str(HERE)})


@pytest.mark.parametrize("words", [
    ("-m", "pushlab", "contexts", "mira", "--out", "c.csv"), ("-mpushlab", "envs"), ("-Bm", "pushlab", "envs"),
    ("-m", "pushlab.studies.coverage", "--help"),
])
def test_a_command_runs_no_library_of_the_current_folder(theirs, words):
    done = run(theirs, *words)
    assert done.returncode == 0 and not list(theirs.glob("ran *")), done.stderr


def test_processes_that_a_command_starts_run_none_either_but_a_module_that_is_named(theirs):
    (theirs / "mine.py").write_text("from pushlab.agents import RandomAgent\n\n\nclass Mine(RandomAgent):\n    pass\n")
    grid = {"agents": ["mine:Mine"], "envs": ["pushlab/RECEnv-v0"], "seeds": 2, "steps": 3}
    (theirs / "grid.json").write_text(json.dumps(grid))
    done = run(theirs, "-m", "pushlab", "sweep", "grid.json", "--workers", "2", "--out", "out")
    assert done.returncode == 0 and not list(theirs.glob("ran *")), done.stderr


def test_a_program_of_ones_own_keeps_its_own_modules(theirs):
    (theirs / "beside.py").write_text("WORD = 'beside'\n")
    (theirs / "own.py").write_text("import pushlab, beside; print(beside.WORD)\n")
    for name in LIBRARIES:
        (theirs / f"{name}.py").unlink()
    assert run(theirs, "own.py").stdout == run(theirs, "-m", "own").stdout == "beside\n"
