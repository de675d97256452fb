"""How the library is built: imports run one way, files stay readable, and names that people use are where it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import pushlab

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pushlab"
PACKAGES = sorted(path.parent.name for path in PACKAGE.glob("*/__init__.py"))


def test_imports_run_one_way_and_never_in_a_circle():
    """Inside functions too: the contracts stand in pyproject.toml."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()",
               "--no-cache"]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert checked.returncode == 0 and "2 kept, 0 broken" in checked.stdout, checked.stdout + checked.stderr


def test_the_contract_knows_every_package():
    assert set(PACKAGES) == set(re.findall(r'"pushlab\.(\w+)",', (ROOT / "pyproject.toml").read_text(encoding="utf-8")))


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_holds_one_thing(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 300


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_belongs_in_it(package):
    said = (PACKAGE / package / "__init__.py").read_text(encoding="utf-8")
    assert re.match(r'""".{20,}', said)


def test_tab_shows_what_a_person_uses_and_nothing_else():
    shown = set(dir(pushlab))
    assert {"plots", "rollout", "load_user", "RandomAgent", "Challenge", "BadData", "data_dir"} <= shown
    assert shown == set(pushlab.__all__) and not {"lazy_loader", "register_all", "ground"} & shown
    assert all(getattr(pushlab, name) is not None for name in shown)
    from pushlab import rollout

    assert callable(rollout)


@pytest.mark.parametrize("name", ["plots", "agents"])
def test_what_a_package_lists_is_a_thing_of_that_name_and_no_module(name):
    package = getattr(pushlab, name)
    assert set(dir(package)) == set(package.__all__)
    for one in set(package.__all__) - {"widgets"}:
        assert callable(getattr(package, one)), one


@pytest.mark.parametrize("file", ["docs/how_it_fits.md", "CONTRIBUTING.md", "CHANGELOG.md", "data/studies/README.md"])
def test_files_that_are_named_are_there(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    new = set(re.findall(r"^`([\w./]+)`, new:", text, flags=re.M))          # which a recipe makes
    named = set(re.findall(r"`((?:pushlab|data|tests|notebooks)/[\w./]*\w)`", text)) - new
    named = {name for name in named if not re.search("14_title|nb14", name)}        # a notebook to come
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_map_names_the_packages_from_the_top_down_and_a_file_to_begin_with():
    page = (ROOT / "docs" / "how_it_fits.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/` \| .* \| `([\w.]+)` \|$", page, flags=re.M)
    layers = re.findall(r'^    "pushlab\.(\w+)",$', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), flags=re.M)
    assert [package for package, _ in rows] == layers
    assert all((PACKAGE / package / file).is_file() for package, file in rows)
