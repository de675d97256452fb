"""The pages: their code runs, their recipes work, and their links lead somewhere."""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").glob("*.md"))]
LINKED = [
    *ROOT.glob("*.md"),
    *ROOT.glob("docs/*.md"),
    *ROOT.glob("docs/api/*.md"),
    *ROOT.glob("notebooks/*.md"),
    *ROOT.glob("data/*/README.md"),
]
MADE_BY_THE_BOOK = (ROOT / "docs" / "environments", ROOT / "docs/api/commands.md")
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"(?:^`(?P<path>[\w./]+)`, (?P<where>[^`\n]+):\n\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```",
    re.S | re.M,
)


def blocks_of(text):
    """The code blocks of a page: reason (if it is not run), path, where, kind, text."""
    return [match.groupdict() for match in BLOCK.finditer(text)]


def read(page):
    return page.read_text(encoding="utf-8")


def run_python(*words, **more):
    command = [sys.executable, *words]
    done = subprocess.run(command, capture_output=True, text=True, **more)
    assert done.returncode == 0, done.stderr


def test_the_example_of_readme_runs():
    (example,) = [one for one in blocks_of(read(README)) if one["kind"] == "python"]
    names = {}
    exec(example["text"], names)
    assert names["picture"].shape == (441, 945, 3)
    assert names["envs"].num_envs == 1024


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_their_order(page, tmp_path, monkeypatch):
    """In an empty folder, apart from the files that any page shows as new."""
    monkeypatch.chdir(tmp_path)
    for other in PAGES:
        for block in blocks_of(read(other)):
            if block["path"]:
                Path(block["path"]).write_text(block["text"], encoding="utf-8")
    for block in blocks_of(read(page)):
        if block["reason"] or block["path"]:
            continue
        if block["kind"] == "python":
            smaller = block["text"].replace("seeds=5, steps=500", "seeds=2, steps=40")
            run_python("-c", smaller)
        if block["kind"] == "sh":
            for words in commands(block["text"]):
                if words[0] == "python":
                    run_python(*words[1:])
                else:
                    assert words[0] == "pushlab", f"say why it is not run: {words}"
                    result = CliRunner().invoke(app, words[1:])
                    assert result.exit_code == 0, f"{words}\n{result.output}"


def commands(text):
    """The words of each command of a shell block; comments are left out."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [words for words in lines if words]


def recipes():
    """The blocks of each recipe in CONTRIBUTING.md."""
    _, *parts = re.split(r"^## ", read(ROOT / "CONTRIBUTING.md"), flags=re.M)
    recipe_parts = [part for part in parts if part.startswith("Recipe: ")]
    return {part.splitlines()[0]: blocks_of(part) for part in recipe_parts}


def follow(block, folder):
    """Create, extend or patch the file that a block of a recipe names."""
    file = folder / block["path"]
    file.parent.mkdir(parents=True, exist_ok=True)
    if block["where"] == "new":
        assert not file.exists()
        file.write_text(block["text"], encoding="utf-8")
        return
    if not file.exists():
        shutil.copy(ROOT / block["path"], file)
    source = read(file)
    if block["kind"] != "diff":
        file.write_text(f"{source}\n\n{block['text']}", encoding="utf-8")
        return
    lines = block["text"].splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] in " -")
    after = "".join(line[1:] for line in lines if line[0] in " +")
    assert source.count(before) == 1, f"{block['path']} does not contain:\n{before}"
    file.write_text(source.replace(before, after), encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("title", recipes())
def test_a_recipe_does_what_it_says(title, tmp_path):
    shutil.copytree(ROOT / "pushlab", tmp_path / "pushlab")
    shutil.copytree(ROOT / "data", tmp_path / "data")
    blocks = recipes()[title]
    for block in blocks:
        if block["path"]:
            follow(block, tmp_path)
    (after,) = [
        block["text"]
        for block in blocks
        if block["kind"] == "python" and not block["path"]
    ]
    paths = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run_python("-W", "error::UserWarning", "-c", after, cwd=tmp_path, env=paths)


@functools.cache
def anchors(page):
    """The addresses that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.S | re.M)
    found = set()
    for heading in re.findall(r"^#+ (.+?)\s*$", text, flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).lower()
        found.add(re.sub(r"[^\w -]", "", plain).replace(" ", "-"))
    return found


def test_links_lead_to_a_file_and_a_heading():
    broken = []
    for page in LINKED:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(page), flags=re.S | re.M)
        for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            file = (page.parent / path).resolve() if path else page
            if any(file.is_relative_to(folder) for folder in MADE_BY_THE_BOOK):
                continue
            is_there = file.exists()
            if is_there and anchor and file.suffix == ".md":
                is_there = anchor in anchors(file)
            if not is_there:
                broken.append((page.name, link))
    assert broken == []
