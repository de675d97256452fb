"""tools.py and the Makefile: their commands, the Python they use, and clear errors."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NEEDS_MAKE = pytest.mark.skipif(not shutil.which("make"), reason="needs make")
# A fake Python: prints a version, creates environments with a copy of itself, logs other commands.
PYTHON = """#!/bin/sh
case "$*" in
    *"import ensurepip, venv"*) echo {version}; exit;;
    "-m venv --clear "*) mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; exit;;
esac
echo "$*" >> "{log}"
test ! -e "{broken}" || case "$*" in *"pip install"*) exit 1;; esac
"""


def run(*words, folder=ROOT, **more):
    """Return exit code, output and errors of a command of tools.py."""
    command = [sys.executable, "tools.py", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, **more)
    return done.returncode, done.stdout, done.stderr


def listed(text):
    return re.findall(r"^  ([a-z][\w-]*)  +\S", text, flags=re.M)


@NEEDS_MAKE
def test_make_lists_and_has_the_commands_of_the_script():
    code, output, _ = run()
    commands = listed(output)
    assert code == 0
    assert {"lab", "test", "test-all", "lint"} <= set(commands)
    make = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True)
    assert listed(make.stdout) == commands
    dry = subprocess.run(
        ["make", "-n", *commands], cwd=ROOT, capture_output=True, text=True
    )
    assert re.findall(r"tools\.py (\S+)", dry.stdout) == commands


def test_a_mistyped_command_is_refused_with_the_nearest_name():
    code, _, errors = run("tset")
    assert code == 2
    assert "no command 'tset'" in errors
    assert "'test'" in errors


def test_a_python_that_does_not_run_is_named_with_what_is_needed(tmp_path):
    shutil.copy(ROOT / "tools.py", tmp_path)
    code, _, errors = run(
        "install", folder=tmp_path, env={**os.environ, "PYTHON": "none"}
    )
    assert code == 1
    assert "needs Python 3.11 or newer" in errors
    assert "none was not found" in errors
    assert "Traceback" not in errors


@pytest.mark.slow
@pytest.mark.posix
def test_install_takes_the_newest_python_and_repeats_only_what_failed(tmp_path):
    project = tmp_path / "push lab"
    programs = tmp_path / "programs"
    project.mkdir()
    programs.mkdir()
    for name in ("tools.py", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, project)
    for name in ("sh", "mkdir", "cp"):
        (programs / name).symlink_to(shutil.which(name))
    log = tmp_path / "log"
    broken = tmp_path / "broken"
    for name, version in (("python3.12", "3.12.1"), ("python3", "3.10.9")):
        text = PYTHON.format(version=version, log=log, broken=broken)
        (programs / name).write_text(text, encoding="utf-8")
        (programs / name).chmod(0o755)

    def install():
        log.write_text("", encoding="utf-8")
        done = run("install", folder=project, env={"PATH": str(programs)})
        return (*done, log.read_text(encoding="utf-8"))

    broken.touch()
    code, output, errors, _ = install()
    assert code == 1
    assert "Python 3.12.1" in output
    assert "pip could not" in errors
    broken.unlink()
    code, output, _, calls = install()
    assert code == 0
    assert "Creating" not in output
    assert "-c constraints.txt -e .[lab,cluster,serve]" in calls
    assert install() == (0, "", "", "")
