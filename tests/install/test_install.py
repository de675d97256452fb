"""What a release brings, as those who install it have it: sdist and wheel, in empty environments of every Python here.

`python tools.py wheels` (or `make wheels`) runs it, which takes minutes and asks the package index for the newest
versions that pyproject.toml allows; `make test` leaves it out. Sdist and wheel stay in `dist/`: a release publishes
what was tested. Pythons that are not here are skipped, unless the environment variable
PUSHLAB_PYTHONS="3.11 3.12 3.13" demands them.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from email import message_from_bytes
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
LARGEST = 8_000_000
DEMANDED = os.environ.get("PUSHLAB_PYTHONS", "").split()
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
# Only what an empty environment brings: neither the checkout nor the environment of the tests.
OWN = {name: value for name, value in os.environ.items()
       if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT", "NUMBA_CACHE_DIR")}


def ran(command, cwd, **more):
    """What a command said; a failed test, with all of it, where it did not end well."""
    done = subprocess.run([str(part) for part in command], cwd=cwd, text=True, encoding="utf-8", errors="replace",
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=OWN | {"PYTHONUTF8": "1"} | more)
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}"
    return done.stdout


def block(language, holds, files=("README.md", "docs/*.md")):
    """The first code block of README, or else of the book, that holds a text."""
    for path in (path for pattern in files for path in sorted(ROOT.glob(pattern))):
        for code in re.findall(rf"^```{language}\n(.*?)^```", path.read_text(encoding="utf-8"), re.M | re.S):
            if holds in code:
                return code
    raise AssertionError(f"no block of {language} says {holds!r}")


# ---------------------------------------------------------------- sdist and wheel

@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(sdist, wheel) in dist/, where nothing else is left, each built by itself in an environment that pip makes."""
    shutil.rmtree(DIST, ignore_errors=True)
    away = tmp_path_factory.mktemp("away")
    ran([sys.executable, "-P", "-m", "build", "--sdist", "--wheel", "--outdir", DIST, ROOT], away)
    (sdist,), (wheel,) = DIST.glob("*.tar.gz"), DIST.glob("*.whl")
    return sdist, wheel


@pytest.fixture(scope="module")
def unpacked(built, tmp_path_factory):
    """The folder that the sdist unpacks to."""
    folder = tmp_path_factory.mktemp("sdist")
    with tarfile.open(built[0]) as packed:
        packed.extractall(folder, filter="data")
    (project,) = folder.iterdir()
    return project


def test_the_sdist_builds_the_same_wheel_byte_by_byte(built, unpacked, tmp_path):
    ran([sys.executable, "-P", "-m", "build", "--wheel", "--outdir", tmp_path, unpacked], tmp_path)
    (again,) = tmp_path.glob("*.whl")
    files = [{one.filename: zipfile.ZipFile(wheel).read(one) for one in zipfile.ZipFile(wheel).infolist()}
             for wheel in (built[1], again)]
    assert {name for name in {*files[0], *files[1]} if files[0].get(name) != files[1].get(name)} == set()
    assert hashlib.sha256(built[1].read_bytes()).digest() == hashlib.sha256(again.read_bytes()).digest()


def test_the_sdist_holds_the_whole_project(unpacked):
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode or not listed.stdout:
        (pytest.fail if DEMANDED else pytest.skip)("git does not say what belongs to the project")
    names = [name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]
    assert [name for name in names if not (unpacked / name).is_file()] == []


def test_the_wheel_is_small_and_holds_nothing_but_the_library(built):
    assert built[1].stat().st_size < LARGEST
    names = zipfile.ZipFile(built[1]).namelist()
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"pushlab"}
    strange = re.compile(r"\.(ipynb|py[co]|nb[ci])$|/(tests?|__pycache__|docs)/.*\.py")
    assert [name for name in names if strange.search(name)] == []
    assert {name for name in names if name.endswith("py.typed")} == {"pushlab/py.typed"}


def test_the_index_shows_readme_with_links_that_lead_somewhere(built, tmp_path):
    """A package index renders README alone: there, a link relative to the repository leads nowhere."""
    ran([sys.executable, "-P", "-m", "venv", tmp_path / "twine"], tmp_path)
    python = tmp_path / "twine" / PROGRAMS / "python"
    ran([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", "twine"], tmp_path)
    ran([python, "-m", "twine", "check", "--strict", *built], tmp_path)
    archive = zipfile.ZipFile(built[1])
    (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
    about = message_from_bytes(archive.read(name))
    text = about.get_payload(decode=True).decode("utf-8")
    links = re.findall(r"\]\(([^)\s]+)|(?:src|srcset|href)=\"([^\"]+)", text)
    assert len(links) > 5 and about["Project-URL"]
    assert [link for pair in links for link in pair if link and not link.startswith(("https://", "#"))] == []


# ---------------------------------------------------------------- installed

def python_of(minor):
    """A Python 3.`minor` that can make environments, or None."""
    here = Path("~/.pyenv/versions").expanduser()
    known = [["py", f"-3.{minor}"], [f"python3.{minor}"], [sys.executable],
             *([path] for path in sorted(here.glob(f"3.{minor}.*/bin/python")))]
    code = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    for command in (command for command in known if shutil.which(command[0])):
        asked = subprocess.run([*command, "-c", code], capture_output=True, text=True)
        if asked.stdout.split() == ["3", str(minor)]:
            return command
    return None


@pytest.fixture(scope="module", params=[11, 12, 13], ids="3.{}".format)
def place(request, built, tmp_path_factory):
    """(folder, programs, variables): an empty environment with the wheel, and a folder far from the repository."""
    python = python_of(request.param)
    if python is None:
        missing = pytest.fail if f"3.{request.param}" in DEMANDED else pytest.skip
        missing(f"no Python 3.{request.param} with venv here")
    home = tmp_path_factory.mktemp(f"python3{request.param}")
    ran([*python, "-m", "venv", home / "venv"], home)
    programs = home / "venv" / PROGRAMS
    ran([programs / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", built[1]], home)
    (home / "work").mkdir()
    return home / "work", programs, {"PUSHLAB_CACHE": str(home / "cache"), "MPLBACKEND": "Agg",
                                     "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}


def test_it_installs_and_says_its_version(place, built):
    work, programs, more = place
    ran([programs / "python", "-m", "pip", "check"], work, **more)
    assert ran([programs / "pushlab", "--version"], work, **more).split() == ["pushlab", built[1].name.split("-")[1]]
    origin = ran([programs / "python", "-c", "import pushlab; print(pushlab.__file__)"], work, **more)
    assert Path(origin.strip()).is_relative_to(programs.parent)


def test_every_public_name_is_there(place):
    work, programs, more = place
    code = """
import pkgutil, pushlab, pushlab.agents, pushlab.metrics, pushlab.plots
for room in (pushlab, pushlab.agents, pushlab.metrics, pushlab.plots):
    for name in dir(room):
        getattr(room, name)
import gymnasium as gym
for name in [name for name in gym.registry if name.startswith("pushlab/") and "Remote" not in name]:
    env = gym.make(name)
    env.reset(seed=1)
    env.step(env.action_space.sample())
"""
    ran([programs / "python", "-W", "error::DeprecationWarning:pushlab", "-c", code], work, **more)


def test_the_example_of_readme_runs(place):
    work, programs, more = place
    (work / "example.py").write_text(block("python", "gym.make_vec("), encoding="utf-8")
    ran([programs / "python", "example.py"], work, **more)


def test_a_first_submission_is_scored_in_three_steps(place):
    work, programs, more = place
    (work / "my_answers.py").write_text(block("python", '"contexts.csv"'), encoding="utf-8")
    for line in block("sh", "pushlab contexts mira").splitlines():
        program, *words = line.split()
        if program in ("pushlab", "python"):        # other lines are comments
            said = ran([programs / program, *words], work, **more)
    assert "opened" in said and {path.suffix for path in (work / "scores").rglob("*.*")} >= {".json", ".csv", ".png"}


def test_an_agent_in_a_file_enters_the_quick_benchmark(place):
    work, programs, more = place
    (work / "my_agent.py").write_text(block("python", "def make(env)", ["CONTRIBUTING.md"]), encoding="utf-8")
    said = ran([programs / "pushlab", "bench", "--quick", "--agent", "my_agent:make", "--out", "quick"], work, **more)
    assert "0 runs failed" in said and (work / "quick" / "report.html").stat().st_size > 10_000


def test_what_an_extra_brings_is_asked_for_by_name(place):
    """Without the extra `serve` the server says what to install."""
    work, programs, more = place
    (work / "teams.csv").write_text("team\nred\n", encoding="utf-8")
    ran([programs / "pushlab", "class", "new", "class", "--teams", "teams.csv"], work, **more)
    served = subprocess.run([programs / "pushlab", "serve", "class"], cwd=work, env=OWN | more, capture_output=True,
                            text=True, stdin=subprocess.DEVNULL)
    assert served.returncode and "pushlab[serve]" in served.stderr and "Traceback" not in served.stderr
