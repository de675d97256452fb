"""tools.py and the Makefile: which Python they take, what they install when, what they run, and that they agree."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
needs_shell = pytest.mark.skipif(os.name == "nt", reason="stand-ins for programs are shell scripts")


@pytest.fixture
def project(tmp_path):
    """A folder with blanks in its name that holds the commands, and an environment that has all that lab needs."""
    folder = tmp_path / "push lab"
    (folder / ".venv" / "bin").mkdir(parents=True)
    for name in ("tools.py", "Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, folder)
    write(folder / ".venv" / "bin" / "pushlab", ":")
    return folder


def write(path, script):
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


@needs_shell
@pytest.mark.parametrize("command", [["make", "lab", "ARGS=--no-browser"],
                                     [sys.executable, "tools.py", "lab", "--no-browser"]])
def test_pushlab_is_found_in_the_lab(project, command):
    """A stand-in for Jupyter says which `pushlab` its terminals and notebooks would find, and which shell they get."""
    if not shutil.which(command[0]):
        pytest.skip("needs make")
    write(project / ".venv" / "bin" / "python",
          'case "$*" in *jupyterlab*) command -v pushlab; printf "%s\\n" "$@";; *) echo 3.11.2;; esac')
    for stamp in (".python", ".lab"):
        (project / ".venv" / stamp).touch()
    told = subprocess.run(command, text=True, stdout=subprocess.PIPE, cwd=project, check=True,
                          env={**os.environ, "SHELL": "/bin/sh"}).stdout.splitlines()
    assert str(project / ".venv" / "bin" / "pushlab") in told
    assert "--no-browser" in told and "--ServerApp.terminado_settings=shell_command=/bin/sh" in told
