"""The recipes of CONTRIBUTING.md: each is short, touches few files, and does what it says in a copy of the library."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LINES, FILES = 15, 3
BLOCK = re.compile(r"(?:^`(?P<path>[^`\n]+)`(?P<how>[^`\n]*):\n\n)?^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.S | re.M)


def recipes():
    """{title: [(path, how, kind, text) of each block]}; a block without a path is what one then does."""
    told = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    parts = re.split(r"^## Recipe: (.*)$", told, flags=re.M)
    return {title: [(match["path"], match["how"], match["kind"], match["text"]) for match in BLOCK.finditer(
        re.split(r"^## ", text, flags=re.M)[0])] for title, text in zip(parts[1::2], parts[2::2])}


def follow(blocks, folder):
    """Carries out the blocks that name a file, below `folder`; returns the lines that they write."""
    written = []
    for path, how, kind, text in blocks:
        if path is None:
            continue
        file, lines = folder / path, text.splitlines()
        if kind == "diff":
            before = "\n".join(line[1:] for line in lines if line[0] in " -")
            after = "\n".join(line[1:] for line in lines if line[0] in " +")
            source = file.read_text(encoding="utf-8")
            assert source.count(before + "\n") == 1, f"{path} does not hold once:\n{before}"
            file.write_text(source.replace(before + "\n", after + "\n"), encoding="utf-8")
            lines = [line for line in lines if line[0] == "+"]
        elif "at its end" in how:
            file.write_text(file.read_text(encoding="utf-8") + "\n\n" + text, encoding="utf-8")
        else:
            assert not file.exists(), f"{path} is there already"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        written += [line for line in lines if line.strip()]
    return written


@pytest.fixture
def copy(tmp_path):
    """The library in a folder of its own, with the data and settings beside it."""
    shutil.copytree(ROOT / "pushlab", tmp_path / "pushlab", ignore=shutil.ignore_patterns("*.pyc"))
    shutil.copytree(ROOT / "data", tmp_path / "data")
    for name in ("pyproject.toml", "tests/test_agent_states.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def test_there_is_a_recipe_for_each_thing_that_newcomers_add():
    assert [title.split()[-1] for title in recipes()] == ["world", "metric", "agent", "picture", "set", "reward",
                                                           "benchmark"]


# The book's pages of Plant-v0 alone, and the first page, as a build writes them.
PAGES = """
import numpy as np
from extensions import environments
from pushlab.envs.plant import Plant

lent = np.full((3, 1), 0.5)
state = Plant().initial(lent, {})
lent[:] = 0.9
assert (state["water"] == 0.5).all(), "a state that is a view of the draws changes with them"
rows = environments.names()["Plant"]
environments.names = lambda: {"Plant": rows}
environments.write_all()
"""


def draw_page_of_new_world(copy, run):
    """A world that no table of the book knows has a page, a picture that it drew itself, and words for it."""
    pytest.importorskip("sphinx", reason="the extra [book] is not installed")
    shutil.copytree(ROOT / "docs" / "extensions", copy / "docs" / "extensions")
    shutil.copy(ROOT / "docs" / "references.bib", copy / "docs")
    paths = os.pathsep.join([str(copy), str(copy / "docs")])
    done = subprocess.run([sys.executable, "-c", PAGES], **{**run, "env": {
        **os.environ, "PYTHONPATH": paths, "NUMBA_DISABLE_JIT": "1", "MPLBACKEND": "agg"}})
    assert done.returncode == 0, done.stderr
    pages = copy / "docs" / "environments"
    assert (pages / "pictures" / "Plant-v0.png").stat().st_size > 10_000
    for name in ("Plant-v0.md", "index.md"):
        alt, = re.findall(r"^:alt: (.*)", (pages / name).read_text(encoding="utf-8"), re.MULTILINE)
        assert "water a plant before it dries" in alt and len(alt.split()) > 12
    shutil.rmtree(copy / "docs")


@pytest.mark.parametrize("title", recipes())
def test_a_recipe_is_short_and_does_what_it_says(title, copy):
    blocks = recipes()[title]
    written = follow(blocks, copy)
    assert len(written) <= LINES and len({path for path, *_ in blocks if path}) <= FILES
    then, = (text for path, _, kind, text in blocks if path is None and kind == "python")
    run = {"cwd": copy, "capture_output": True, "text": True, "env": {**os.environ, "PYTHONPATH": str(copy)}}
    done = subprocess.run([sys.executable, "-W", "error::UserWarning", "-c", then], **run)
    assert done.returncode == 0, done.stderr
    if "pushlab/envs/__init__.py" in {path for path, *_ in blocks}:
        draw_page_of_new_world(copy, run)
    checked = subprocess.run([sys.executable, "-P", "-m", "ruff", "check", "--no-cache", "--ignore=I", "."], **run)
    assert checked.returncode == 0, checked.stdout
