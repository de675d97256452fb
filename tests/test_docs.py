"""The code on the pages runs, the recipes work, and the links are valid."""

import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import pytest
from typer.testing import CliRunner

from pushlab.__main__ import app
from pushlab.metrics.lifelong import METRICS

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
GENERATED = (ROOT / "docs" / "environments", ROOT / "docs/api/commands.md")
BLOCK = re.compile(
    r"(?:<!-- not run: (?P<reason>[^\n]+) -->\n)?"
    r"(?:^`(?P<path>[\w./]+)`, (?P<where>[^`\n]+):\n\n)?"
    r"^```(?P<kind>\w+)\n(?P<text>.*?)^```",
    re.S | re.M,
)


def blocks_of(text):
    """Return the code blocks of a page: reason (if it is not run), path, where, kind, text."""
    return [match.groupdict() for match in BLOCK.finditer(text)]


def read(page):
    return page.read_text(encoding="utf-8")


def run_python(*arguments, **options):
    command = [sys.executable, *arguments]
    result = subprocess.run(command, capture_output=True, text=True, **options)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_blocks_of_a_page_run_in_order(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    # The folder contains only the files that a page creates.
    for other in PAGES:
        for block in blocks_of(read(other)):
            if block["path"]:
                Path(block["path"]).write_text(block["text"], encoding="utf-8")
    for block in blocks_of(read(page)):
        if block["reason"] or block["path"]:
            continue
        if block["kind"] == "python":
            code = block["text"].replace(
                "seeds=5,\n    steps=500", "seeds=2,\n    steps=40"
            )
            output = run_python("-c", code)
        if block["kind"] == "sh":
            for command in commands(block["text"]):
                output = run_command(*command)
        if block["kind"] == "text":
            assert block["text"] in output


def commands(text):
    """Return the commands of a shell block as lists of words, without comments."""
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [words for words in lines if words]


def run_command(program, *arguments):
    if program == "python":
        return run_python(*arguments)
    assert program == "pushlab", f"give a reason not to run {program}"
    with patch.dict(METRICS):  # without the metrics that a page registers
        result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, f"{arguments}\n{result.output}"
    return result.output


def recipes():
    """Return {title: blocks} of the recipes in CONTRIBUTING.md."""
    _, *sections = re.split(r"^## ", read(ROOT / "CONTRIBUTING.md"), flags=re.M)
    recipes = {}
    for section in sections:
        if section.startswith("Recipe: "):
            recipes[section.splitlines()[0]] = blocks_of(section)
    return recipes


def apply_block(block, folder):
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
def test_a_recipe_works(title, tmp_path):
    shutil.copytree(ROOT / "pushlab", tmp_path / "pushlab")
    shutil.copytree(ROOT / "data", tmp_path / "data")
    blocks = recipes()[title]
    for block in blocks:
        if block["path"]:
            apply_block(block, tmp_path)
    checks = [block for block in blocks if not block["path"]]
    (check,) = [block["text"] for block in checks if block["kind"] == "python"]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    run_python("-W", "error::UserWarning", "-c", check, cwd=tmp_path, env=env)


@functools.cache
def anchors(page):
    """Return the anchors that GitHub gives the headings of a page."""
    text = re.sub(r"^```.*?^```", "", read(page), flags=re.S | re.M)
    anchors = set()
    for heading in re.findall(r"^#+ (.+?)\s*$", text, flags=re.M):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", heading).lower()
        anchors.add(re.sub(r"[^\w -]", "", plain).replace(" ", "-"))
    return anchors


def test_links_point_to_existing_files_and_headings():
    broken = []
    for page in LINKED:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", read(page), flags=re.S | re.M)
        for link in re.findall(r"\]\((?!https?:|mailto:)([^)\s]+)\)", text):
            path, _, anchor = link.partition("#")
            file = (page.parent / path).resolve() if path else page
            if any(file.is_relative_to(folder) for folder in GENERATED):
                continue
            is_valid = file.exists()
            if is_valid and anchor and file.suffix == ".md":
                is_valid = anchor in anchors(file)
            if not is_valid:
                broken.append((page.name, link))
    assert broken == []
