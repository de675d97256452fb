#!/usr/bin/env python3
"""pushlab's daily commands, for every system and shell: `python tools.py` lists them. The Makefile calls them too.

    python tools.py lab --no-browser --port 9999      what follows goes to JupyterLab
    python tools.py notebooks 00_start_here           only these notebooks; numbers likewise
    python tools.py test -k room                      arguments go to pytest

The environments (.venv and others beside it) get the newest Python found, or the one that the variable PYTHON names.
This script itself needs Python 3.6 and no package.
"""

import difflib
import inspect
import os
import shlex
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

OLDEST, NEWEST = 11, 13
# A Python that is too old for this script, such as 2.7, stops at the next line and shows it.
NEEDS = f"pushlab needs Python 3.{OLDEST} or newer, with venv. Try: python3 tools.py, or on Windows: py tools.py"

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"
PYPROJECT, CONSTRAINTS, CONSTRAINTS_RL = (
    "pyproject.toml",
    "constraints.txt",
    "constraints-rl.txt",
)
LATEST, FROZEN = ".venv-latest", ".venv-constraints"
# What can be installed into .venv: the extra of pushlab that it needs, and what it installs along with it.
EXTRAS = {"lab": "serve", "book": "book", "test": "test", "test-all": "test-all"}
INCLUDED = {"test": ["lab"], "test-all": ["lab", "book", "test"]}
# Libraries of others: the extra rl, and those whose needs go neither with it nor with one another, a file each.
CLIENTS = [
    "rl",
    *sorted(path.stem for path in (ROOT / "tests" / "clients").glob("*.txt")),
]
APART = {  # what pip is asked for, where it is more than the file
    # These two ask for versions of NumPy and Python from before 2023, and run with later ones.
    "obp": [
        ["--no-deps", "--ignore-requires-python", "obp==0.5.7", "scope-rl==0.2.1"],
        ["-r", "tests/clients/obp.txt"],
    ],
    # It runs notebooks, with all that they need.
    "nbgrader": [
        ["-r", "tests/clients/nbgrader.txt", "-c", CONSTRAINTS, "-e", ".[test]"]
    ],
}

# Seconds after which a cell hangs. A loaded machine may need ten times as long as an idle one.
PATIENCE = "1800"
PYTEST = [
    "-m",
    "pytest",
    "-q",
    "notebooks",
    "pushlab",
    "pushlab_classroom",
    "tests",
    "--ignore=tests/install",
    # Three workers on two cores: a test with a server or a browser mostly waits. The cells of a notebook need each
    # other, so a file stays on one worker; files begin in the order of tests/conftest.py.
    "-n",
    str(max(3, min(os.cpu_count() or 1, 8))),
    "--dist",
    "loadfile",
    "--no-loadscope-reorder",
    # The Python that runs pytest, not the kernel that a notebook was saved with.
    "--nbval-current-env",
    "--nbval-sanitize-with",
    "tests/notebooks/nbval_sanitize.cfg",
    "--nbval-cell-timeout",
    PATIENCE,
    "--nbval-kernel-startup-timeout",
    PATIENCE,
]
# Workers share the cores, so threads within one would only wait for each other.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
# UTF-8 for consoles of Windows. The processes that tests start share compiled modules, whatever the shell says.
TESTING = {**ONE_THREAD, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": ""}
OWN_IPYTHON = {
    "IPYTHONDIR": str(ROOT / ".venv" / "ipython")
}  # not the profile of whoever runs notebooks


class Failed(Exception):
    """What went wrong, in words that say enough."""


def call(*command, **variables):
    """Show a command, run it with some environment variables, and return its exit code.

    The command ends when this script is stopped.
    """
    print("+", " ".join(shlex.quote(str(word)) for word in command), flush=True)
    process = subprocess.Popen(
        [str(word) for word in command], env=dict(os.environ, **variables)
    )
    try:
        return process.wait()
    except (KeyboardInterrupt, SystemExit) as reason:
        # Ctrl-C has reached the command too; it has some seconds to end by itself.
        end(process, patience=10 if isinstance(reason, KeyboardInterrupt) else 0)
        raise


def end(process, patience):
    """Wait `patience` seconds for a process to end, then terminate it, and kill it if that does not help."""
    for order in (process.poll, process.terminate, process.kill):
        try:
            order()
            process.wait(patience)
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            patience = 5


def run(*command, **variables):
    """Runs a command; Failed if it does not end well."""
    if call(*command, **variables):
        raise Failed(f"{' '.join(map(str, command[:4]))} ... failed: see above.")


def ask(python):
    """The version of a Python and what keeps it from making environments, such as "is 3.8.18"; both may be ""."""
    code = (
        "import sys; print('%d.%d.%d' % sys.version_info[:3]); import ensurepip, venv"
    )
    try:
        asked = subprocess.run(
            [*python, "-c", code],
            universal_newlines=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return "", "is not there"
    version = asked.stdout.strip()
    if not version:  # pyenv's shims and the Microsoft Store's exist and do not run
        return "", "does not run"
    if tuple(map(int, version.split("."))) < (3, OLDEST):
        return version, f"is {version}"
    return (
        version,
        f"is {version}, without venv" if asked.returncode else "",
    )  # Debian's, often


def find_python(oldest_first=False):
    """The command that makes environments, and its version: what PYTHON names, or the first of several that can."""
    minors = (
        range(OLDEST, NEWEST + 1) if oldest_first else range(NEWEST, OLDEST - 1, -1)
    )
    commands = [["py", f"-3.{minor}"] for minor in minors] if WINDOWS else []
    commands += [[f"python3.{minor}"] for minor in minors] + [
        ["python3"],
        ["python"],
        [sys.executable],
    ]
    if (
        oldest_first
    ):  # Debian 12's own 3.11.2: some packages already ask for a later 3.11
        commands.insert(0, [f"/usr/bin/python3.{OLDEST}"])
    wrong = []
    for name, *options in (
        [[os.environ["PYTHON"]]] if os.environ.get("PYTHON") else commands
    ):
        python = [shutil.which(name) or name, *options]
        version, fault = ask(python)
        if not fault:
            return python, version
        wrong.append(f"  {' '.join([name, *options])} {fault}")
    raise Failed(
        "\n".join(
            [
                f"pushlab needs Python 3.{OLDEST} or newer, with venv:",
                *wrong,
                "Install one (python.org; Debian, Ubuntu: apt install python3 python3-venv), or run this with yours:",
                "  /path/to/python3.12 tools.py lab",
                "  make lab PYTHON=/path/to/python3.12",
            ]
        )
    )


class Environment:
    """A folder with a Python and packages of its own. A stamp file says when what was installed, so nothing is twice.

    Without the stamp .python it is half made, by a process that was ended on the way, and is made anew.
    """

    def __init__(self, name=".venv", oldest_first=False):
        self.folder, self.made, self.oldest_first = (
            Path(name),
            Path(name, ".python"),
            oldest_first,
        )
        self.bin = self.folder / ("Scripts" if WINDOWS else "bin")
        self.python = self.bin / ("python.exe" if WINDOWS else "python")

    def is_whole(self):
        """Whether it was made to its end, in this place, its Python runs, and is as PYTHON says."""
        version, fault = ask([str(self.python)])
        return (
            self.made.exists()
            and self.made.read_text(encoding="utf-8") in ("", str(ROOT))
            and not fault
            and (not os.environ.get("PYTHON") or version == find_python()[1])
        )

    def make(self):
        """Makes it, unless it is there."""
        if self.is_whole():
            return
        python, version = find_python(self.oldest_first)
        print(
            f"Making the environment {self.folder} with Python {version} ...",
            flush=True,
        )
        # The newest pip: the one that comes with 3.11 needs three times as long to find out what goes together.
        run(
            *python,
            "-m",
            "venv",
            "--clear",
            self.folder,
            "--upgrade-deps",
            PIP_QUIET="2",
        )
        for name, text in {
            "etc/ipython/ipython_kernel_config.py":  # a remark on encryption for every kernel otherwise
            'c.IPKernelApp.log_level = "ERROR"\n',
            "share/jupyter/lab/settings/overrides.json":  # a link to the glossary shows a page
            '{"@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}}}\n',
            self.made.name: str(ROOT),
        }.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def pip(self, *arguments):
        """Installs into it; ended meanwhile, it is half made."""
        self.made.unlink()
        code = call(
            self.python, "-P", "-m", "pip", "install", "-qq", "--no-compile", *arguments
        )
        if not code:  # twelve thousand files, on all cores: pip has one; templates among them are no Python
            call(self.python, "-P", "-m", "compileall", "-qq", "-j", "0", self.folder)
        self.made.write_text(str(ROOT), encoding="utf-8")
        if code:
            raise Failed("pip could not install that: see above.")

    def install(self, what, *installs, files=(PYPROJECT, CONSTRAINTS)):
        """Has pip carry out `installs`, unless that was done since the files changed; whether it was done now."""
        self.make()
        stamp = self.folder / f".{what}"
        if stamp.exists() and stamp.stat().st_mtime >= max(
            Path(name).stat().st_mtime for name in files
        ):
            return False
        print(
            f"Installing what {what} needs into {self.folder}. pip says nothing meanwhile; it takes two to five "
            "minutes, once ...",
            flush=True,
        )
        for arguments in installs:
            self.pip(*arguments)
        stamp.touch()
        return True

    def newest(self):
        """This environment with the newest release of every package that the tests need."""
        self.make()
        print(f"Installing the newest releases into {self.folder} ...", flush=True)
        self.pip("--upgrade", "--upgrade-strategy", "eager", "-e", ".[test-all]")
        return self


def ready(what):
    """The environment .venv with what `what` needs, a key of EXTRAS."""
    environment = Environment()
    if environment.install(what, ["-c", CONSTRAINTS, "-e", f".[{EXTRAS[what]}]"]):
        print(
            "Compiling the worlds' loops, so that no cell waits for it later; it takes one to five minutes, "
            "once ...",
            flush=True,
        )
        call(
            environment.python, "-m", "pushlab", "warm"
        )  # where that fails, loops are compiled when first used
        for included in INCLUDED.get(what, ()):
            (environment.folder / f".{included}").touch()
    return environment


def lab(*arguments):
    """JupyterLab, in whose terminals and notebooks the environment's commands are found."""
    environment = ready("lab")
    # A login shell, which Jupyter takes where it has no terminal itself, would forget them; Windows has none.
    shell = (
        []
        if WINDOWS
        else [
            f"--ServerApp.terminado_settings=shell_command={os.environ.get('SHELL') or 'sh'}"
        ]
    )
    root = ["--allow-root"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    signal.signal(
        signal.SIGINT, lambda *_: None
    )  # JupyterLab's to answer: it asks, and ends at the second
    run(
        environment.python,
        "-P",
        "-m",
        "jupyterlab",
        "--ServerApp.root_dir=.",
        *shell,
        *root,
        "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
        *arguments,
        PATH=f"{ROOT / environment.bin}{os.pathsep}{os.environ.get('PATH', '')}",
    )


def test(*arguments):
    """Run the fast tier: what a user relies on, in minutes."""
    run_tests(ready("test"), "--nbval", "-m", "not slow", *arguments)


def test_all(*arguments):
    """Run every test, also the slow ones, with the versions of constraints.txt."""
    run_tests(ready("test-all"), "--nbval", *arguments)


def test_latest(*arguments):
    """Run every test with the newest releases, whose outputs may differ from the saved ones."""
    run_tests(Environment(LATEST).newest(), "--nbval-lax", *arguments)


def run_tests(environment, *arguments):
    run(environment.python, *PYTEST, *arguments, **OWN_IPYTHON, **TESTING)


def benchmarks(*arguments):
    """The tables; without arguments also what tests/benchmarks measures besides."""
    python = ready("test-all").python
    run(python, "tests/benchmarks/table.py", *arguments)
    if not arguments:
        run(python, "-m", "pytest", "-q", "tests/benchmarks", "--benchmark-only")


def lint():
    """Check style, imports, types and weight; all of them, though one fails."""
    commands = ready("test-all").bin
    if any(
        [
            call(commands / (name + ".exe" if WINDOWS else name), *arguments)
            for name, *arguments in (
                ("ruff", "check", "."),
                ("ruff", "format", "--check", "."),
                ("lint-imports",),
                ("mypy",),
                ("python", ".ci/weight.py"),
            )
        ]
    ):
        raise Failed("Not all is as it should be: see above.")


def constraints():
    """Frozen with the oldest Python supported: what installs there installs on the newer ones too."""
    python = str(Environment(FROZEN, oldest_first=True).newest().python)
    pins = subprocess.check_output(
        [
            python,
            "-P",
            "-m",
            "pip",
            "list",
            "--format=freeze",
            "--exclude-editable",
            "--exclude",
            "pip",
            "--exclude",
            "setuptools",
        ]
    ).splitlines()
    Path(CONSTRAINTS).write_bytes(b"".join(pin + b"\n" for pin in pins))
    print(f"{CONSTRAINTS}: {len(pins)} packages. Now run: make test clients")


def clients():
    """All of them, though one fails."""
    failed = [
        f"clients-{name}"
        for name in CLIENTS
        if call(sys.executable, "tools.py", f"clients-{name}")
    ]
    if failed:
        raise Failed(f"{', '.join(failed)} failed: see above.")
    print("All clients passed.")


def client(name):
    """pushlab with the extra rl, or with what tests/clients/NAME.txt lists; the others' tests are skipped there."""
    environment, listed = Environment(f".venv-{name}"), f"tests/clients/{name}.txt"
    tests = [environment.python, "-m", "pytest", "-q", "-W", "ignore", "tests/clients"]
    if name == "rl":
        environment.install(
            "extra",
            ["-c", CONSTRAINTS, "-c", CONSTRAINTS_RL, "-e", ".[rl,test]"],
            files=(PYPROJECT, CONSTRAINTS, CONSTRAINTS_RL),
        )
        run(*tests, **ONE_THREAD)
    else:
        environment.install(
            "apart", *APART.get(name, [["-r", listed]]), files=(listed,)
        )
        run(*tests, PYTHONPATH=str(ROOT), **ONE_THREAD)


def clean():
    """Removes what these commands, tests and compilers left."""
    for name in (
        ".venv",
        LATEST,
        FROZEN,
        *(f".venv-{name}" for name in CLIENTS),
        "build",
        ".pytest_cache",
        ".ruff_cache",
        ".mypy_cache",
        ".import_linter_cache",
        ".benchmarks",
    ):
        shutil.rmtree(name, ignore_errors=True)
    for compiled in Path("pushlab").rglob("*.nb[ci]"):
        compiled.unlink()


def in_environment(what, *command):
    """A command that the Python of .venv carries out, with what `what` needs; its arguments are handed on."""
    return lambda *arguments: run(
        ready(what).python, *command, *arguments, **OWN_IPYTHON
    )


# What Sphinx keeps for the next build lies beside the book, which is published as it is.
SPHINX = [
    "-m",
    "sphinx",
    "-W",
    "--keep-going",
    "-j",
    "auto",
    "-d",
    "build/doctrees",
    "-c",
    "docs",
    "-b",
    "html",
    ".",
    "build/book",
]
COMMANDS = {
    "lab": (lab, "open the workbook in JupyterLab; ARGS go to it"),
    "install": (
        lambda what="lab": ready(what) and None,
        f"install what lab needs; ARGS={', '.join(EXTRAS)}",
    ),
    "test": (
        test,
        "run the tests that every change needs: library, notebooks, browser; ARGS go to pytest",
    ),
    "test-all": (test_all, "run all tests, as before a release; ARGS go to pytest"),
    "test-latest": (
        test_latest,
        "run all tests with the newest release of every package",
    ),
    "book": (
        in_environment("book", *SPHINX),
        "build the web book, whose first page is build/book/index.html",
    ),
    "notebooks": (
        in_environment("test", "tests/notebooks/refresh.py"),
        "run every notebook again and save its outputs; NAMES=00_start_here: only these",
    ),
    "numbers": (
        in_environment("test", "tests/notebooks/prose.py"),
        "list where the numbers in the notebooks' text come from; NAMES likewise",
    ),
    "benchmarks": (
        benchmarks,
        "measure speed; ARGS=memory, scale, serve, widgets, classroom: others",
    ),
    "lint": (
        lint,
        "check style, types, the order of imports, and how much code there is",
    ),
    "constraints": (constraints, "write constraints.txt anew from the newest releases"),
    "clients": (
        clients,
        "try the libraries of others, such as stable-baselines3 and obp (optional, weekly)",
    ),
    **{
        f"clients-{name}": (partial(client, name), f"the same in .venv-{name} alone")
        for name in CLIENTS
    },
    "wheels": (
        in_environment("test-all", "-m", "pytest", "-q", "tests/install"),
        "install wheel and sdist into empty environments of every Python that is there",
    ),
    "clean": (clean, "remove environments, what was built, caches and compiled loops"),
}


def main(name="help", *arguments):
    """Carries out a command; returns the exit code."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(
            errors="replace"
        )  # a folder's name in a console that lacks its letters
    if name in ("help", "-h", "--help"):
        print(
            "python tools.py COMMAND ARGS, or where there is make: make COMMAND ARGS=...\n"
        )
        print(
            "\n".join(
                f"  {command:18}{does}" for command, (_, does) in COMMANDS.items()
            )
        )
        return 0
    if name not in COMMANDS:
        (meant,) = difflib.get_close_matches(name, COMMANDS, 1) or [None]
        print(
            f"There is no command {name!r}"
            + (f"; is {meant!r} meant?" if meant else ".")
            + " `python tools.py` lists them.",
            file=sys.stderr,
        )
        return 2
    try:
        inspect.signature(COMMANDS[name][0]).bind(*arguments)
    except TypeError:
        print(f"{name} does not take {' '.join(arguments)!r}.", file=sys.stderr)
        return 2
    os.chdir(str(ROOT))
    os.environ.pop("MPLBACKEND", None)  # figures in notebooks need the inline backend
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        COMMANDS[name][0](*arguments)
    except Failed as wrong:
        print(wrong, file=sys.stderr)
        return 1
    except (KeyboardInterrupt, SystemExit) as reason:
        print(f"\n{name} was stopped.", file=sys.stderr)
        return 130 if isinstance(reason, KeyboardInterrupt) else 143
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
