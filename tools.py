#!/usr/bin/env python3
"""pushlab's daily commands, for every system and shell: `python tools.py` lists them. The Makefile calls them too.

    python tools.py lab --no-browser --port 9999      what follows goes to JupyterLab
    python tools.py notebooks 00_start_here           only these notebooks; numbers likewise
    python tools.py test unit                         only this part of the tests: unit, saved or browser

The environments (.venv and others beside it) get the newest Python found, or the one that the variable PYTHON names.
This script itself needs Python 3.6 and no package.
"""

import difflib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

OLDEST, NEWEST = 11, 13
# A Python that is too old for this script, such as 2.7, stops at the next line and shows it.
NEEDS = f"pushlab needs Python 3.{OLDEST} or newer. Try: python3 tools.py lab, or on Windows: py tools.py lab"

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"
FIRST_NOTEBOOK = "notebooks/00_start_here.ipynb"
PYPROJECT, CONSTRAINTS, CONSTRAINTS_RL = "pyproject.toml", "constraints.txt", "constraints-rl.txt"
LATEST, FROZEN = ".venv-latest", ".venv-constraints"
# What the environment .venv is asked for; the last has what the others have.
EXTRAS = {"lab": "serve", "book": "book", "test": "test"}
# Libraries of others: the extra rl, and those whose needs go neither with it nor with one another, a file each.
CLIENTS = ["rl", *sorted(path.stem for path in (ROOT / "tests" / "clients").glob("*.txt"))]
APART = {
    # These two ask for versions of NumPy and Python from before 2023, and run with later ones.
    "obp": [["--no-deps", "--ignore-requires-python", "obp==0.5.7", "scope-rl==0.2.1"]],
    "nbgrader": [["-c", CONSTRAINTS, "-e", ".[test]"]],     # it runs notebooks, with all that they need
}

# One notebook stays on one worker (loadfile): its cells need each other.
TWO_WORKERS = ["-n", "2", "--dist", "loadfile"]
# Seconds after which a cell hangs: a busy machine may need ten times as long as another.
PATIENCE = "1800"
# --nbval-current-env: the Python that runs pytest, not the kernel whose name a notebook happened to be saved with.
NBVAL = ["notebooks", "--nbval-current-env", "--nbval-sanitize-with", "tests/notebooks/nbval_sanitize.cfg",
         "--nbval-cell-timeout", PATIENCE, "--nbval-kernel-startup-timeout", PATIENCE, *TWO_WORKERS]
PARTS = {
    "browser": ["tests/browser", "-n", "1"],        # mostly waits, so the part beside it has the machine
    # In the order of tests/conftest.py, not the files with most tests first.
    "unit": ["pushlab", "tests", "--ignore=tests/browser", "--ignore=tests/install", "--benchmark-disable",
             *TWO_WORKERS, "--no-loadscope-reorder"],
    "saved": ["--nbval", *NBVAL],
    "saved-lax": ["--nbval-lax", *NBVAL],           # newer releases may print otherwise
}
# With two workers on two cores, and more processes beside them, more threads in each only wait for one another.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}


class Failed(Exception):
    """What went wrong, in words that say enough."""


# ---------------------------------------------------------------- processes

RUNNING = []


def begin(command, variables, **more):
    """Begins a command with some variables set; whatever ends this script ends it too."""
    process = subprocess.Popen([str(word) for word in command], env=dict(os.environ, **variables), **more)
    RUNNING.append(process)
    return process


def call(*command, **variables):
    """The exit code of a command, which is shown; `variables` are set in its environment."""
    print("+", " ".join(shlex.quote(str(word)) for word in command), flush=True)
    return begin(command, variables).wait()


def run(*command, **variables):
    """Runs a command; Failed if it does not end well."""
    if call(*command, **variables):
        raise Failed(f"{' '.join(map(str, command[:4]))} ... failed: see above.")


def side_by_side(commands, at_once=2, **variables):
    """Runs {name: command}, some at once, and shows what each one said when it is done; the names that failed."""
    waiting, running, failed = list(commands), {}, []
    while waiting or running:
        while waiting and len(running) < at_once:
            name, said = waiting.pop(0), tempfile.TemporaryFile()
            running[name] = said, begin(commands[name], variables, stdin=subprocess.DEVNULL, stdout=said,
                                        stderr=subprocess.STDOUT)
        time.sleep(0.1)
        for name in [name for name, (_, process) in running.items() if process.poll() is not None]:
            said, process = running.pop(name)
            failed += [name] if process.returncode else []
            print(f"== {name}: {'failed' if process.returncode else 'passed'}", flush=True)
            with said:
                said.seek(0)
                shutil.copyfileobj(said, sys.stdout.buffer)     # bytes: the console may lack some of the letters
    return failed


def end_all(patience):
    """Ends what still runs. Ctrl-C has reached it, too: it has `patience` seconds to end by itself."""
    for order in (subprocess.Popen.poll, subprocess.Popen.terminate, subprocess.Popen.kill):
        limit, patience = time.monotonic() + patience, 5
        for process in RUNNING:
            try:
                order(process)
                process.wait(max(0.0, limit - time.monotonic()))
            except (subprocess.TimeoutExpired, KeyboardInterrupt):
                pass


# ---------------------------------------------------------------- Python and environments

def pythons(oldest_first=False):
    """The commands that may be a Python for pushlab, the preferred one first. PYTHON leaves no choice."""
    if os.environ.get("PYTHON"):
        return [[os.environ["PYTHON"]]]
    minors = range(OLDEST, NEWEST + 1) if oldest_first else range(NEWEST, OLDEST - 1, -1)
    # Debian 12's own 3.11.2 is the oldest: some packages already ask for a later 3.11.
    first = [[f"/usr/bin/python3.{OLDEST}"]] if oldest_first else []
    launched = [["py", f"-3.{minor}"] for minor in minors] if WINDOWS else []
    return [*first, *launched, *([f"python3.{minor}"] for minor in minors), ["python3"], ["python"], [sys.executable]]


def fault(python):
    """What keeps a command from making environments, such as "is 3.8.18"; "" for nothing.

    A name may exist and still not run (pyenv's shims, the Microsoft Store's), or come without venv (Debian).
    """
    program = shutil.which(python[0])
    code = "import sys; print('%d.%d.%d' % sys.version_info[:3]); import ensurepip, venv"
    asked = program and subprocess.run([program, *python[1:], "-c", code], universal_newlines=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    version = asked.stdout.strip() if asked else ""
    if not version:
        return "does not run" if asked else "is not there"
    if tuple(map(int, version.split("."))) < (3, OLDEST):
        return f"is {version}"
    return f"is {version}, without venv" if asked.returncode else ""


def find_python(oldest_first=False):
    """The first command that can make an environment; Failed, with what to do, if there is none."""
    wrong = []
    for python in pythons(oldest_first):
        wrong.append(fault(python))
        if not wrong[-1]:
            return [shutil.which(python[0]), *python[1:]]
    tried = [f"  {' '.join(python)} {why}" for python, why in zip(pythons(oldest_first), wrong)]
    raise Failed("\n".join([
        f"pushlab needs Python 3.{OLDEST} or newer, with venv. Tried:", *tried,
        "Install one (python.org; Debian, Ubuntu: apt install python3 python3-venv), or run this with yours:",
        "  /path/to/python3.12 tools.py lab", "  make lab PYTHON=/path/to/python3.12"]))


class Environment:
    """A folder with a Python and packages of its own. A stamp file says what was installed last, so nothing is twice.

    Without the stamp .python it is half made, by a process that was ended on the way, and is made anew.
    """

    def __init__(self, name=".venv", oldest_first=False):
        self.folder, self.oldest_first = Path(name), oldest_first
        self.bin = self.folder / ("Scripts" if WINDOWS else "bin")
        self.python = self.bin / ("python.exe" if WINDOWS else "python")
        self.ipython = {"IPYTHONDIR": str(ROOT / name / "ipython")}    # not the profile of whoever runs the tests

    def make(self):
        """Makes it, unless it is there as made for this folder, and its Python runs."""
        made = self.folder / ".python"
        if made.exists() and made.read_text(encoding="utf-8") in ("", str(ROOT)) and not fault([str(self.python)]):
            return
        python = find_python(self.oldest_first)
        print(f"Making the environment {self.folder} ...", flush=True)
        run(*python, "-m", "venv", "--clear", self.folder)
        for name, text in {
            "etc/ipython/ipython_kernel_config.py":         # a remark on encryption for every kernel otherwise
                'c.IPKernelApp.log_level = "ERROR"\n',
            "share/jupyter/lab/settings/overrides.json":    # a link to the glossary shows a page
                '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}\n',
            ".python": str(ROOT),
        }.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def pip(self, *arguments):
        """Installs into it; ended meanwhile, it is half made."""
        made = self.folder / ".python"
        made.unlink()
        code = call(self.python, "-P", "-m", "pip", "install", "-qq", *arguments)
        made.write_text(str(ROOT), encoding="utf-8")
        if code:
            raise Failed("pip could not install that: see above.")

    def install(self, what, *installs, files=(PYPROJECT, CONSTRAINTS)):
        """Has pip carry out `installs`, unless that was done since the files changed; whether it was done now."""
        self.make()
        stamp = self.folder / f".{what}"
        if stamp.exists() and stamp.stat().st_mtime >= max(Path(name).stat().st_mtime for name in files):
            return False
        print(f"Installing what {what} needs into {self.folder} (two or three minutes, once) ...", flush=True)
        for arguments in installs:
            self.pip(*arguments)
        stamp.touch()
        return True


def ready(what):
    """The environment .venv with what `what` needs: lab, book or test."""
    environment = Environment()
    if environment.install(what, ["-c", CONSTRAINTS, "-e", f".[{EXTRAS[what]}]"]):
        call(environment.python, "-m", "pushlab", "warm")     # where that fails, loops are compiled when first used
        for also in EXTRAS if what == "test" else ():
            (environment.folder / f".{also}").touch()
    return environment


# ---------------------------------------------------------------- commands

def lab(*arguments):
    """JupyterLab, in whose terminals and notebooks the environment's commands are found."""
    environment = ready("lab")
    # A login shell, which Jupyter takes where it has no terminal itself, would forget them; Windows has none.
    shell = [] if WINDOWS else [f"--ServerApp.terminado_settings=shell_command={os.environ.get('SHELL') or 'sh'}"]
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    signal.signal(signal.SIGINT, lambda *_: None)       # JupyterLab's to answer: it asks, and ends at the second
    run(environment.python, "-P", "-m", "jupyterlab", "--ServerApp.root_dir=.", *shell, *root,
        f"--LabApp.default_url=/lab/tree/{FIRST_NOTEBOOK}", *arguments,
        PATH=f"{ROOT / environment.bin}{os.pathsep}{os.environ.get('PATH', '')}")


def test(*parts):
    """The tests with the versions of constraints.txt."""
    try_parts(ready("test"), parts or ("browser", "unit", "saved"))


def test_latest(*parts):
    """The tests with the newest releases, in an environment apart."""
    try_parts(newest_releases(Environment(LATEST)), parts or ("browser", "unit", "saved-lax"))


def newest_releases(environment):
    """The environment with the newest release of every package that the tests need."""
    environment.make()
    print(f"Installing the newest releases into {environment.folder} ...", flush=True)
    environment.pip("--upgrade", "--upgrade-strategy", "eager", "-e", ".[test]")
    return environment


def try_parts(environment, parts):
    """Tries parts of the tests, two at a time, as the one with the browser mostly waits; all, though one fails."""
    if not set(parts) <= set(PARTS):
        raise Failed(f"The parts of the tests are {', '.join(PARTS)}; got {' '.join(parts)}.")
    print(f"Testing {', '.join(parts)}; each has its say when it is done (minutes) ...", flush=True)
    failed = side_by_side({part: [environment.python, "-m", "pytest", "-q", *PARTS[part]] for part in parts},
                          **ONE_THREAD, **environment.ipython)
    if failed:
        raise Failed(f"Some tests failed: see {', '.join(failed)} above.")
    print("All tests passed.")


def lint():
    """Style, imports and types; all three, though one fails."""
    commands = ready("test").bin
    if any([call(commands / (name + ".exe" if WINDOWS else name), *arguments)
            for name, *arguments in (("ruff", "check", "."), ("lint-imports",), ("mypy",))]):
        raise Failed("Not all is as it should be: see above.")


def constraints():
    """Frozen with the oldest Python supported: what installs there installs on the newer ones too."""
    python = str(newest_releases(Environment(FROZEN, oldest_first=True)).python)
    pins = subprocess.check_output([python, "-P", "-m", "pip", "list", "--format=freeze", "--exclude-editable",
                                    "--exclude", "pip", "--exclude", "setuptools"]).splitlines()
    Path(CONSTRAINTS).write_bytes(b"".join(pin + b"\n" for pin in pins))
    print(f"{CONSTRAINTS}: {len(pins)} packages. Now run: make test clients")


def clients(*names):
    """Tests of a library that is not in an environment are skipped there; each is in one of them."""
    if not set(names) <= set(CLIENTS):
        raise Failed(f"There are clients-{', clients-'.join(CLIENTS)}.")
    failed = [f"clients-{name}" for name in names or CLIENTS if not client_passes(name)]
    if failed:
        raise Failed(f"{', '.join(failed)} failed: see above.")
    print("All clients passed.")


def client_passes(name):
    """Whether the tests pass with the extra rl, or with what tests/clients/NAME.txt lists."""
    environment, listed = Environment(f".venv-{name}"), f"tests/clients/{name}.txt"
    pytest = [environment.python, "-m", "pytest", "-q", "-W", "ignore", "tests/clients"]
    try:
        if name == "rl":
            environment.install("extra", ["-c", CONSTRAINTS, "-c", CONSTRAINTS_RL, "-e", ".[rl,test]"],
                                files=(PYPROJECT, CONSTRAINTS, CONSTRAINTS_RL))
            return not call(*pytest, "tests/test_outside.py", **ONE_THREAD)
        environment.install("apart", *APART.get(name, []), ["-r", listed], files=(listed,))
        return not call(*pytest, PYTHONPATH=str(ROOT), **ONE_THREAD)
    except Failed as wrong:
        print(wrong, file=sys.stderr)
        return False


def benchmarks(*arguments):
    """The tables; without arguments also what tests/benchmarks measures besides."""
    python = ready("test").python
    run(python, "tests/benchmarks/table.py", *arguments)
    if not arguments:
        run(python, "-m", "pytest", "-q", "tests/benchmarks", "--benchmark-only")


def clean():
    """Removes what these commands, tests and compilers left."""
    for name in (".venv", LATEST, FROZEN, *(f".venv-{name}" for name in CLIENTS), "build/book", ".pytest_cache",
                 ".hypothesis", ".ruff_cache", ".mypy_cache", ".import_linter_cache", ".benchmarks"):
        shutil.rmtree(name, ignore_errors=True)
    for compiled in Path("pushlab").rglob("*.nb[ci]"):
        compiled.unlink()


def in_environment(what, *command):
    """A command that the Python of .venv carries out, with what `what` needs installed; arguments go to it."""
    def carried_out(*arguments):
        environment = ready(what)
        run(environment.python, *command, *arguments, **environment.ipython)
    return carried_out


SPHINX = ["-m", "sphinx", "-W", "--keep-going", "-j", "auto", "-c", "docs", "-b", "html", ".", "build/book"]
COMMANDS = {
    "lab": (lab, "open the workbook in JupyterLab; ARGS go to it"),
    "install": (lambda what="lab": ready(what) and None, "install what lab needs, and open nothing; ARGS=book, test"),
    "test": (test, "run everything: library, notebooks, browser; ARGS=unit, saved, browser: only that"),
    "test-latest": (test_latest, "the same with the newest release of every package"),
    "book": (in_environment("book", *SPHINX), "build the web book; it begins at build/book/index.html"),
    "notebooks": (in_environment("test", "tests/notebooks/refresh.py"),
                  "run every notebook (or those in NAMES) again and save its outputs"),
    "numbers": (in_environment("test", "tests/notebooks/prose.py"),
                "list where the numbers in the notebooks' text come from; NAMES likewise"),
    "benchmarks": (benchmarks, "measure speed; ARGS=memory, scale, serve, widgets, classroom: others"),
    "lint": (lint, "check style, types and the order of imports"),
    "lines": (in_environment("lab", "tests/lines.py"), "count the library's lines of code"),
    "constraints": (constraints, "write constraints.txt anew from the newest releases"),
    "clients": (clients, "try the libraries of others, such as stable-baselines3 and obp (optional, weekly)"),
    **{f"clients-{name}": (partial(clients, name), f"only those of .venv-{name}") for name in CLIENTS},
    "wheels": (in_environment("test", "-m", "pytest", "-q", "tests/install"),
               "install wheel and sdist in empty environments with every Python that is there"),
    "clean": (clean, "remove environments, the built book, caches and compiled loops"),
}


def main(name="help", *arguments):
    """Carries out a command; returns the exit code."""
    if name in ("help", "-h", "--help"):
        print("python tools.py COMMAND ARGS, or where there is make: make COMMAND ARGS=...\n")
        print("\n".join(f"  {name:15} {does}" for name, (_, does) in COMMANDS.items()))
        return 0
    if name not in COMMANDS:
        meant = difflib.get_close_matches(name, COMMANDS, 1)
        print(f"There is no command {name!r}{'; is ' + repr(meant[0]) + ' meant?' if meant else '.'} "
              "`python tools.py` lists them.", file=sys.stderr)
        return 2
    os.chdir(str(ROOT))
    os.environ.pop("MPLBACKEND", None)      # figures in notebooks need the inline backend
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        COMMANDS[name][0](*arguments)
    except Failed as wrong:
        print(wrong, file=sys.stderr)
        return 1
    except (KeyboardInterrupt, SystemExit) as reason:
        end_all(patience=10 if isinstance(reason, KeyboardInterrupt) else 0)
        print(f"\n{name} was stopped.", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
