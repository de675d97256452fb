"""Sdist and wheel as users install them: in an empty environment of every Python here.

`make wheels` runs this, in minutes and with the newest versions that the package index
has. Both files stay in `dist/`, so a release publishes what was tested. The variable
PUSHLAB_PYTHONS="3.11 3.12 3.13" makes a missing Python a failure.
"""

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

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
LARGEST = 8_000_000
REQUIRED = os.environ.get("PUSHLAB_PYTHONS", "").split()
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
OF_THE_TESTS = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT")
OWN = {name: value for name, value in os.environ.items() if name not in OF_THE_TESTS}


def run(*command, cwd, code=0, **variables):
    """The output of a command that must end with a code."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=OWN | {"PYTHONUTF8": "1"} | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert done.returncode == code, f"{command}\n{done.stdout}"
    return done.stdout


def block(page, kind, text):
    """The first code block of a page that contains a text."""
    page = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", page, re.M | re.S)
    return next(one for one in blocks if text in one)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """(sdist, wheel) in dist/; the wheel is built from the sdist."""
    shutil.rmtree(DIST, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "build", "--outdir", DIST, ROOT]
    run(*command, cwd=tmp_path_factory.mktemp("away"))
    (sdist,) = DIST.glob("*.tar.gz")
    (wheel,) = DIST.glob("*.whl")
    return sdist, wheel


def test_the_files_hold_the_project_and_nothing_else(built):
    sdist, wheel = built
    listed = run("git", "ls-files", cwd=ROOT).splitlines()
    project = {name for name in listed if (ROOT / name).is_file()}
    with tarfile.open(sdist) as archive:
        packed = {name.partition("/")[2] for name in archive.getnames()}
    assert project - packed == set()
    carried = set(zipfile.ZipFile(wheel).namelist())
    library = {name for name in project if name.startswith("pushlab/")}
    library |= {f"pushlab/{name}" for name in project if name.startswith("data/")}
    assert library - carried == set()
    others = {name for name in carried - library if ".dist-info/" not in name}
    assert others == set()
    assert wheel.stat().st_size < LARGEST


def test_readme_on_the_package_index_has_whole_links(built):
    archive = zipfile.ZipFile(built[1])
    (name,) = [one for one in archive.namelist() if one.endswith("METADATA")]
    readme = message_from_bytes(archive.read(name)).get_payload(decode=True).decode()
    links = re.findall(r"\]\(([^)\s]+)", readme)
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def find_python(minor):
    """A command that runs Python 3.`minor` with venv, or None."""
    pyenv = Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python")
    commands = [["py", f"-3.{minor}"], [f"python3.{minor}"], [sys.executable]]
    commands += [[path] for path in pyenv]
    code = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    for command in commands:
        if shutil.which(command[0]):
            done = subprocess.run(
                [*command, "-c", code], capture_output=True, text=True
            )
            if done.stdout.split() == ["3", str(minor)]:
                return command
    return None


class Place:
    """An empty environment with the wheel, and a folder far from the project."""

    def __init__(self, home, python, wheel):
        self.programs = home / "venv" / PROGRAMS
        self.work = home / "work"
        self.work.mkdir()
        path = os.pathsep.join([str(self.programs), os.environ["PATH"]])
        cache = str(home / "cache")
        self.variables = {"PUSHLAB_CACHE": cache, "MPLBACKEND": "Agg", "PATH": path}
        run(*python, "-m", "venv", home / "venv", cwd=home)
        self.run("python", "-m", "pip", "install", "-q", wheel)

    def run(self, program, *words, code=0):
        command = (self.programs / program, *words)
        return run(*command, cwd=self.work, code=code, **self.variables)


@pytest.fixture(scope="module", params=[11, 12, 13], ids="3.{}".format)
def place(request, built, tmp_path_factory):
    python = find_python(request.param)
    if python is None:
        assert f"3.{request.param}" not in REQUIRED
        pytest.skip(f"no Python 3.{request.param} with venv here")
    return Place(tmp_path_factory.mktemp("installed"), python, built[1])


EVERYTHING = """
import gymnasium as gym, pushlab, pushlab.agents, pushlab.plots
for package in (pushlab, pushlab.agents, pushlab.plots):
    for name in dir(package):
        getattr(package, name)
for name in [name for name in gym.registry if name.startswith("pushlab/")]:
    if "Remote" not in name:
        env = gym.make(name)
        env.reset(seed=1)
        env.step(env.action_space.sample())
print(pushlab.__file__)
"""


def test_the_wheel_installs_and_everything_public_works(place, built):
    place.run("python", "-m", "pip", "check")
    version = built[1].name.split("-")[1]
    assert place.run("pushlab", "--version").split() == ["pushlab", version]
    origin = place.run("python", "-W", "ignore", "-c", EVERYTHING).splitlines()[-1]
    assert Path(origin).is_relative_to(place.programs.parent)
    place.run("python", "-c", block("README.md", "python", "gym.make_vec("))


def test_a_first_submission_is_scored(place):
    script = block("docs/first_submission.md", "python", "contexts.csv")
    (place.work / "my_answers.py").write_text(script, encoding="utf-8")
    for line in block("README.md", "sh", "pushlab contexts").splitlines():
        if not line.startswith("#"):
            output = place.run(*line.split())
    assert "plausibility" in output
    written = {path.suffix for path in (place.work / "scores").rglob("*.*")}
    assert written >= {".json", ".csv", ".png"}


def test_a_missing_extra_is_named(place):
    (place.work / "teams.csv").write_text("team\nred\n", encoding="utf-8")
    place.run("pushlab", "class", "new", "class", "--teams", "teams.csv")
    output = place.run("pushlab", "serve", "class", code=1)
    assert "pushlab[serve]" in output
    assert "Traceback" not in output
