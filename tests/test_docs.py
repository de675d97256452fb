"""README and the pages of docs/: their blocks run, their links lead somewhere, their commands and picture are there."""

import functools
import json
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer
from PIL import Image
from typer.testing import CliRunner

from pushlab.__main__ import app

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(ROOT.glob("notebooks/*.md")),
          *sorted(ROOT.glob("data/*/README.md"))]
RUN_ELSEWHERE = ROOT / "docs" / "first_submission.md"       # in tests/test_cli.py, with what comes of it
WORLDS = ROOT / "docs" / "pictures" / "worlds.gif"
BLOCK = re.compile(r"(?:<!-- not run: (?P<why>[^\n]+) -->\n)?(?:^`(?P<path>[\w./]+)`, new:\n\n)?"
                   r"^```(?P<kind>\w+)\n(?P<text>.*?)^```", re.S | re.M)
SMALLER = [("seeds=5, steps=500", "seeds=2, steps=40")]     # a test need not wait for a whole comparison


def blocks(page):
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def commands(block):
    """Command lines of a block, without what is said of them."""
    lines = (line.split("  #")[0].strip() for line in block["text"].splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def to_run(page):
    """Blocks of a page in which something is run; what stands on a page before it, word for word, is run there."""
    elsewhere = {block["text"] for other in [RUN_ELSEWHERE, *PAGES[:PAGES.index(page)]] for block in blocks(other)}
    return [block for block in blocks(page) if block["kind"] in ("python", "sh") and block["text"] not in elsewhere
            and not block["why"] and not block["path"]]


def pages(which):
    return [pytest.param(page, id=str(page.relative_to(ROOT))) for page in PAGES if which(page)]


@pytest.mark.parametrize("page", pages(to_run))
def test_blocks_run_in_their_order(page, tmp_path, monkeypatch):
    """In a folder that holds what stands under "`file`, new:" on any page, and nothing else."""
    monkeypatch.chdir(tmp_path)
    for block in (block for other in PAGES for block in blocks(other) if block["path"]):
        Path(block["path"]).write_text(block["text"], encoding="utf-8")
    for block in to_run(page):
        if block["kind"] == "python":
            run_python("-c", functools.reduce(lambda text, cut: text.replace(*cut), SMALLER, block["text"]))
        for line in commands(block) if block["kind"] == "sh" else []:
            program, *words = shlex.split(line)
            assert program in ("pushlab", "python"), f"{line}: say why it is not run"
            if program == "python":
                run_python(*words)
            else:
                told = CliRunner().invoke(app, words)
                assert told.exit_code == 0, f"{line}\n{told.output}"


def run_python(*words):
    told = subprocess.run([sys.executable, *words], capture_output=True, text=True)
    assert told.returncode == 0, told.stderr
    return told.stdout


@functools.cache
def program():
    return typer.main.get_command(app)


@pytest.mark.parametrize("page", pages(lambda page: any(block["why"] for block in blocks(page))))
def test_commands_that_are_not_run_are_there(page):
    """With their options; targets of make, too, and what tools.py does."""
    targets = set(re.findall(r"^([\w.%/-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.M))
    tools = (ROOT / "tools.py").read_text(encoding="utf-8")
    for block in blocks(page):
        for line in commands(block) if block["why"] and block["kind"] == "sh" else []:
            words = shlex.split(line)
            if words[0] == "make":
                known = words[1] in targets or re.search(rf"\b{re.escape(words[1])}\b", tools)
                assert known, line
            elif words[1:2] == ["tools.py"]:
                assert words[0] in ("python3", "py"), f"{line}: not every system has a python"
                assert re.search(rf"\b{re.escape(words[2])}\b", tools), line
            elif words[0] == "pushlab":
                command = program()
                while words[1:] and hasattr(command, "commands"):
                    words = words[1:]
                    command = command.commands[words[0]]
                options = {name for parameter in command.params for name in parameter.opts}
                assert {word for word in words if word.startswith("--")} <= options, line


def test_the_moving_picture_is_made_by_its_command(tmp_path):
    """Small enough for the first page, and as long as the command makes it; no two neighbours are alike."""
    out, script = tmp_path / "short.gif", WORLDS.with_name("worlds.py")
    run_python(str(script), "--frames", "2", "--out", str(out))
    pictures = frames(out)
    assert len(pictures) == 2 and pictures[0].tobytes() != pictures[1].tobytes()
    shipped = frames(WORLDS)
    assert WORLDS.stat().st_size < 1.5e6 and shipped[0].size == pictures[0].size
    assert len(shipped) == int(re.search(r"^FRAMES, .* = (\d+)", script.read_text(encoding="utf-8"), flags=re.M)[1])
    assert all(one.tobytes() != other.tobytes() for one, other in zip(shipped, shipped[1:]))
    with Image.open(WORLDS) as film:
        assert film.info["loop"] == 0 and film.info["duration"] >= 400


def test_the_taste_in_the_moving_picture_turns_to_what_is_shown():
    """As its alternative text says: whoever is shown an item again likes it more, and none was disliked at first."""
    code = (f"import json, sys\nsys.path.insert(0, {str(WORLDS.parent)!r})\nimport worlds\n"
            "print(json.dumps([(int(one['action']), one['reward']) for one in worlds.shelf()[1][-1][1:]]))")
    liked = json.loads(run_python("-c", code))
    assert len({action for action, _ in liked}) > 2 and min(reward for _, reward in liked) > 0
    assert all(now > before for (shown, before), (again, now) in zip(liked, liked[1:]) if shown == again)
    assert "a user's taste that turns to each item that is shown" in README.read_text(encoding="utf-8")


def frames(path):
    with Image.open(path) as film:
        assert film.is_animated
        return [film.convert("RGB") for place in range(film.n_frames) if not film.seek(place)]


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="no clone")
def test_a_first_submission_leaves_nothing_that_git_would_add():
    text = RUN_ELSEWHERE.read_text(encoding="utf-8")
    left = {"contexts.csv", "my_answers.py", "answers.csv", "scores/answers/scorecard.json"}
    assert all(name.split("/")[0] in text for name in left)
    told = subprocess.run(["git", "check-ignore", *left], cwd=ROOT, capture_output=True, text=True)
    assert set(told.stdout.split()) == left, told.stderr


# ---------------------------------------------------------------- README

def test_readme_is_short_and_begins_with_what_a_stranger_needs():
    text = README.read_text(encoding="utf-8")
    lines = text.splitlines()
    assert len(lines) < 150
    assert all(len(line) <= 120 for line in lines if not re.search(r"^\||^!?\[|\]\(|^import", line))
    first = text.split("\n## ")[0]
    for what in ("docs/pictures/worlds.gif", "make lab", "make test", "python3 tools.py lab", "py tools.py lab",
                 "git clone", "mybinder.org", "conda", "pip install", "uv pip install", urls()["Homepage"]):
        assert what in first, what


def test_on_pypi_every_link_of_readme_is_whole():
    """What the build hands to PyPI: no file lies beside it there."""
    from hatchling.metadata.core import ProjectMetadata
    from hatchling.plugin.manager import PluginManager

    told = ProjectMetadata(str(ROOT), PluginManager()).core.readme
    assert "](notebooks/00_start_here.ipynb)" in README.read_text(encoding="utf-8")
    assert re.findall(r"\]\((?!https://)[^)]*", told) == []
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    assert f"({urls()['Repository']}/blob/v{version}/notebooks/00_start_here.ipynb)" in told
    assert f"(https://raw.githubusercontent.com/pushlab/pushlab/v{version}/docs/pictures/worlds.gif)" in told


def urls():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_project_s_addresses_are_those_of_pyproject(page):
    found = re.findall(r"https://(?:github\.com|[\w-]+\.github\.io)/[\w./-]*", page.read_text(encoding="utf-8"))
    ours = {address for address in found if "pushlab" in address}
    assert all(address.startswith((urls()["Homepage"], urls()["Repository"])) for address in ours)


# ---------------------------------------------------------------- links

@functools.cache
def anchors(page):
    """What GitHub lets one link to: headings, in small letters, without punctuation, with hyphens for blanks."""
    told = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    headings = re.findall(r"^#+ (.+?)\s*$", told, flags=re.M)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).lower() for heading in headings]
    return {re.sub(r"[^\w -]", "", heading).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", LINKED, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_a_file_and_a_heading(page):
    told = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", told):
        path, _, anchor = link.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists() or file.is_relative_to(ROOT / "docs" / "environments") or file.is_relative_to(
            ROOT / "docs" / "api"), link
        if anchor and file.suffix == ".md" and file.exists():
            assert anchor in anchors(file), link
