"""Sdist and wheel install and work in an empty environment of every Python on this computer.

`make wheels` runs this, with the newest versions on the package index, in some minutes. Both files stay in `dist/`, so
a release publishes the tested files. The variable PUSHLAB_PYTHONS="3.11 3.12 3.13" makes a missing Python a failure.
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
MAX_WHEEL_SIZE = 8_000_000
REQUIRED_PYTHONS = os.environ.get("PUSHLAB_PYTHONS", "").split()
PROGRAMS = "Scripts" if os.name == "nt" else "bin"
ENVIRONMENT = {**os.environ, "PYTHONUTF8": "1"}
for name in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PIP_CONSTRAINT"):
    ENVIRONMENT.pop(name, None)


def run(*command, cwd, code=0, **variables):
    """Run a command, check its exit code, and return its output."""
    result = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env=ENVIRONMENT | variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    assert result.returncode == code, f"{command}\n{result.stdout}"
    return result.stdout


def code_block(page, kind, text):
    """Return the first code block of a page that contains a text."""
    page = (ROOT / page).read_text(encoding="utf-8")
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", page, re.M | re.S)
    return next(block for block in blocks if text in block)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Build the sdist, and from it the wheel, into dist/; return their paths."""
    shutil.rmtree(DIST, ignore_errors=True)
    command = [sys.executable, "-P", "-m", "build", "--outdir", DIST, ROOT]
    run(*command, cwd=tmp_path_factory.mktemp("build"))
    (sdist,) = DIST.glob("*.tar.gz")
    (wheel,) = DIST.glob("*.whl")
    return sdist, wheel


def test_the_files_contain_the_project_and_nothing_else(built):
    sdist, wheel = built
    tracked = run("git", "ls-files", cwd=ROOT).splitlines()
    project = {name for name in tracked if (ROOT / name).is_file()}
    with tarfile.open(sdist) as archive:
        in_sdist = {name.partition("/")[2] for name in archive.getnames()}
    assert project - in_sdist == set()
    in_wheel = set(zipfile.ZipFile(wheel).namelist())
    library = {
        name for name in project if name.startswith(("pushlab/", "pushlab_classroom/"))
    }
    library |= {f"pushlab/{name}" for name in project if name.startswith("data/")}
    assert library - in_wheel == set()
    others = {name for name in in_wheel - library if ".dist-info/" not in name}
    assert others == set()
    assert wheel.stat().st_size < MAX_WHEEL_SIZE


def test_the_readme_on_the_package_index_has_absolute_links(built):
    _, wheel = built
    archive = zipfile.ZipFile(wheel)
    (name,) = [name for name in archive.namelist() if name.endswith("METADATA")]
    message = message_from_bytes(archive.read(name))
    readme = message.get_payload(decode=True).decode()
    links = re.findall(r"\]\(([^)\s]+)", readme)
    assert len(links) > 5
    assert [link for link in links if not link.startswith(("https://", "#"))] == []


def find_python(minor):
    """Return a command that runs Python 3.`minor` with venv, or None."""
    pyenv = Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python")
    commands = [["py", f"-3.{minor}"], [f"python3.{minor}"], [sys.executable]]
    commands += [[path] for path in pyenv]
    code = "import ensurepip, sys, venv; print(*sys.version_info[:2])"
    for command in commands:
        if shutil.which(command[0]):
            result = subprocess.run(
                [*command, "-c", code], capture_output=True, text=True
            )
            if result.stdout.split() == ["3", str(minor)]:
                return command
    return None


class Installation:
    """The wheel in an empty environment, with a working folder outside the project."""

    def __init__(self, home, python, wheel):
        self.programs = home / "venv" / PROGRAMS
        self.work = home / "work"
        self.work.mkdir()
        self.variables = {
            "PUSHLAB_CACHE": str(home / "cache"),
            "MPLBACKEND": "Agg",
            "PATH": os.pathsep.join([str(self.programs), os.environ["PATH"]]),
        }
        run(*python, "-m", "venv", home / "venv", cwd=home)
        self.run("python", "-m", "pip", "install", "-q", wheel)

    def run(self, program, *arguments, code=0):
        command = (self.programs / program, *arguments)
        return run(*command, cwd=self.work, code=code, **self.variables)


@pytest.fixture(scope="module", params=[11, 12, 13], ids="3.{}".format)
def installed(request, built, tmp_path_factory):
    python = find_python(request.param)
    if python is None:
        assert f"3.{request.param}" not in REQUIRED_PYTHONS
        pytest.skip(f"no Python 3.{request.param} with venv here")
    _, wheel = built
    return Installation(tmp_path_factory.mktemp("installed"), python, wheel)


EVERYTHING = """
import gymnasium as gym, pushlab, pushlab.agents, pushlab.plots
for package in (pushlab, pushlab.agents, pushlab.plots):
    for name in set(dir(package)) - {"widgets"}:
        getattr(package, name)
for name in [name for name in gym.registry if name.startswith("pushlab/")]:
    if "Remote" not in name:
        env = gym.make(name)
        env.reset(seed=1)
        env.step(env.action_space.sample())
print(pushlab.__file__)
"""


def test_the_wheel_installs_and_everything_public_works(installed, built):
    installed.run("python", "-m", "pip", "check")
    _, wheel = built
    version = wheel.name.split("-")[1]
    assert installed.run("pushlab", "--version").split() == ["pushlab", version]
    output = installed.run("python", "-W", "ignore", "-c", EVERYTHING)
    origin = output.splitlines()[-1]
    assert Path(origin).is_relative_to(installed.programs.parent)
    example = code_block("README.md", "python", "gym.make_vec(")
    installed.run("python", "-c", example)


def test_a_first_submission_is_scored(installed):
    script = code_block("docs/first_submission.md", "python", "contexts.csv")
    (installed.work / "my_answers.py").write_text(script, encoding="utf-8")
    for line in code_block("README.md", "sh", "pushlab contexts").splitlines():
        if not line.startswith("#"):
            output = installed.run(*line.split())
    assert "plausibility" in output
    suffixes = {path.suffix for path in (installed.work / "scores").rglob("*.*")}
    assert suffixes >= {".json", ".csv", ".png"}


def test_the_error_names_a_missing_extra(installed):
    (installed.work / "teams.csv").write_text("team\nred\n", encoding="utf-8")
    installed.run("pushlab", "class", "new", "class", "--teams", "teams.csv")
    output = installed.run("pushlab", "serve", "class", code=1)
    assert "pushlab[serve]" in output
    assert "Traceback" not in output
    output = installed.run("python", "-c", "import pushlab.plots.widgets", code=1)
    assert "pip install 'pushlab[lab]'" in output
