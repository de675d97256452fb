#!/usr/bin/env python3
"""The commands of pushlab's developers and users, on every system. `python tools.py` lists them; make calls them too.

    python tools.py lab --no-browser --port 9999      further arguments are passed to JupyterLab
    python tools.py notebooks 00_start_here           only these notebooks; the same for numbers
    python tools.py test -k room                      further arguments are passed to pytest

The virtual environments (.venv and others next to it) use the newest Python found, or the one in the variable PYTHON.
This script itself needs Python 3.6 and no packages.
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

OLDEST = 11  # minor versions of Python 3
NEWEST = 13
# A Python that is too old for this script, such as 2.7, fails at the next line and shows it.
NEEDS = f"pushlab needs Python 3.{OLDEST} or newer, with venv. Try: python3 tools.py, or on Windows: py tools.py"

ROOT = Path(__file__).resolve().parent
WINDOWS = os.name == "nt"
PYPROJECT = "pyproject.toml"
CONSTRAINTS = "constraints.txt"
CONSTRAINTS_RL = "constraints-rl.txt"
LATEST = ".venv-latest"
FROZEN = ".venv-constraints"
# Targets that can be installed into .venv, with the extra of pushlab that they need, and targets that they include.
EXTRAS = {
    "lab": "lab,cluster,serve",
    "book": "lab,docs",
    "test": "test",
    "test-all": "test-all",
}
# Environments of notebooks 0 to 4, whose loops are compiled before JupyterLab opens.
FIRST_ENVIRONMENTS = ["pushlab/evalumap1-v0", "pushlab/evalumap2-v0"]
INCLUDED = {"test": ["lab"], "test-all": ["lab", "book", "test"]}
# Other libraries: the extra rl, and libraries with conflicting requirements, with one file each.
CLIENTS = [
    "rl",
    *sorted(path.stem for path in (ROOT / "tests" / "clients").glob("*.txt")),
]
# Arguments of pip install, for libraries that need more than their file.
PIP_ARGUMENTS = {
    # These two require versions of NumPy and Python from before 2023, but run with later ones.
    "obp": [
        ["--no-deps", "--ignore-requires-python", "obp==0.5.7", "scope-rl==0.2.1"],
        ["-r", "tests/clients/obp.txt"],
    ],
    # It runs notebooks.
    "nbgrader": [
        ["-r", "tests/clients/nbgrader.txt", "-c", CONSTRAINTS, "-e", ".[test]"]
    ],
}

# Timeout of a cell in seconds. A busy machine can need ten times as long as an idle one.
CELL_TIMEOUT = "1800"
PYTEST = [
    "-m",
    "pytest",
    "-q",
    "notebooks",
    "pushlab",
    "pushlab_classroom",
    "tests",
    "--ignore=tests/install",
    # Three workers on two cores, since tests with a server or a browser mostly wait. The cells of a notebook depend on
    # each other, so each file stays on one worker. Files start in the order of tests/conftest.py.
    "-n",
    str(max(3, min(os.cpu_count() or 1, 8))),
    "--dist",
    "loadfile",
    "--no-loadscope-reorder",
    # Use the Python that runs pytest, not the kernel in the notebook's metadata.
    "--nbval-current-env",
    "--nbval-sanitize-with",
    "tests/notebooks/nbval_sanitize.cfg",
    "--nbval-cell-timeout",
    CELL_TIMEOUT,
    "--nbval-kernel-startup-timeout",
    CELL_TIMEOUT,
]
# Workers share the cores, so several threads per worker would only slow each other down.
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
# UTF-8 for consoles of Windows. Processes started by tests share compiled modules, whatever the shell's settings.
TESTING = {**ONE_THREAD, "PYTHONUTF8": "1", "PYTHONDONTWRITEBYTECODE": ""}
# Don't use the user's own IPython profile.
OWN_IPYTHON = {"IPYTHONDIR": str(ROOT / ".venv" / "ipython")}


class Failed(Exception):
    """Error whose message is shown without a traceback."""


def call(*command, **variables):
    """Print a command, run it with additional environment variables, and return its exit code.

    The command is ended when this script is stopped.
    """
    print("+", " ".join(shlex.quote(str(word)) for word in command), flush=True)
    process = subprocess.Popen(
        [str(word) for word in command], env=dict(os.environ, **variables)
    )
    try:
        return process.wait()
    except (KeyboardInterrupt, SystemExit) as reason:
        # Ctrl-C has reached the command too. Give it some seconds to end by itself.
        end(process, timeout=10 if isinstance(reason, KeyboardInterrupt) else 0)
        raise


def end(process, timeout):
    """Wait `timeout` seconds for a process to end, then terminate it, and kill it if necessary."""
    for action in (process.poll, process.terminate, process.kill):
        try:
            action()
            process.wait(timeout)
            return
        except (subprocess.TimeoutExpired, KeyboardInterrupt):
            timeout = 5


def run(*command, **variables):
    """Run a command. Raises Failed if its exit code isn't 0."""
    if call(*command, **variables):
        raise Failed(f"{' '.join(map(str, command[:4]))} ... failed: see above.")


def inspect_python(python):
    """Return (version, problem) of a Python. The problem, such as "is 3.8.18", is "" if it can create environments."""
    code = (
        "import sys; print('%d.%d.%d' % sys.version_info[:3]); import ensurepip, venv"
    )
    try:
        result = subprocess.run(
            [*python, "-c", code],
            universal_newlines=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    except OSError:
        return "", "was not found"
    version = result.stdout.strip()
    if not version:  # shims of pyenv and of the Microsoft Store exist but don't run
        return "", "does not run"
    if tuple(map(int, version.split("."))) < (3, OLDEST):
        return version, f"is {version}"
    if result.returncode:  # common on Debian
        return version, f"is {version}, without venv"
    return version, ""


def find_python(oldest_first=False):
    """Return (command, version) of the Python for environments: PYTHON, or the first suitable one."""
    minors = list(range(OLDEST, NEWEST + 1))
    if not oldest_first:
        minors.reverse()
    commands = [["py", f"-3.{minor}"] for minor in minors] if WINDOWS else []
    commands += [[f"python3.{minor}"] for minor in minors]
    commands += [["python3"], ["python"], [sys.executable]]
    if oldest_first:
        # Debian 12's own 3.11.2, since some packages already require a later 3.11.
        commands.insert(0, [f"/usr/bin/python3.{OLDEST}"])
    if os.environ.get("PYTHON"):
        commands = [[os.environ["PYTHON"]]]
    problems = []
    for name, *options in commands:
        python = [shutil.which(name) or name, *options]
        version, problem = inspect_python(python)
        if not problem:
            return python, version
        problems.append(f"  {' '.join([name, *options])} {problem}")
    raise Failed(
        "\n".join(
            [
                f"pushlab needs Python 3.{OLDEST} or newer, with venv:",
                *problems,
                "Install one (python.org; Debian, Ubuntu: apt install python3 python3-venv), or use one by its path:",
                "  /path/to/python3.12 tools.py lab",
                "  make lab PYTHON=/path/to/python3.12",
            ]
        )
    )


class Environment:
    """A virtual environment. Each installed target has a stamp file, so it isn't installed again.

    Without the stamp .python the environment is incomplete, and is created again.
    """

    def __init__(self, name=".venv", oldest_first=False):
        self.folder = Path(name)
        self.stamp = Path(name, ".python")
        self.warm_stamp = Path(name, ".warm")  # all loops are compiled
        self.oldest_first = oldest_first
        self.bin = self.folder / ("Scripts" if WINDOWS else "bin")
        self.python = self.bin / ("python.exe" if WINDOWS else "python")

    def is_complete(self):
        """Return whether the environment is complete, belongs to this folder, and has the requested Python."""
        version, problem = inspect_python([str(self.python)])
        return (
            self.stamp.exists()
            and self.stamp.read_text(encoding="utf-8") in ("", str(ROOT))
            and not problem
            and (not os.environ.get("PYTHON") or version == find_python()[1])
        )

    def create(self):
        """Create the environment unless it is complete."""
        if self.is_complete():
            return
        python, version = find_python(self.oldest_first)
        print(
            f"Creating the environment {self.folder} with Python {version} ...",
            flush=True,
        )
        # The newest pip, since the pip of Python 3.11 resolves dependencies three times as slowly.
        run(
            *python,
            "-m",
            "venv",
            "--clear",
            self.folder,
            "--upgrade-deps",
            PIP_QUIET="2",
        )
        files = {
            # Otherwise each kernel prints a remark on encryption.
            "etc/ipython/ipython_kernel_config.py": 'c.IPKernelApp.log_level = "ERROR"\n',
            # Links to the glossary then open a rendered page.
            "share/jupyter/lab/settings/overrides.json": '{"@jupyterlab/docmanager-extension:plugin": '
            '{"defaultViewers": {"markdown": "Markdown Preview"}}}\n',
            self.stamp.name: str(ROOT),
        }
        for name, text in files.items():
            (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / name).write_text(text, encoding="utf-8")

    def pip(self, *arguments):
        """Install packages. If the process is ended meanwhile, the environment stays incomplete.

        uv installs them in a third of the time. It can't do this for the other environments, whose options it lacks,
        and it doesn't read pip's configuration, so pip tries again if uv fails.
        """
        self.stamp.unlink()
        uv = shutil.which("uv") if self.folder.name == ".venv" else None
        options = ("-q", "--compile-bytecode", "--python", self.python)
        code = call(uv, "pip", "install", *options, *arguments) if uv else 1
        if code:
            pip = (self.python, "-P", "-m", "pip", "install", "-qq", "--no-compile")
            code = call(*pip, *arguments)
            if not code:
                # Compile twelve thousand files on all cores; pip would use one. Failures are templates, not Python.
                compileall = ("compileall", "-qq", "-j", "0", self.folder)
                call(self.python, "-P", "-m", *compileall)
        self.stamp.write_text(str(ROOT), encoding="utf-8")
        if code:
            raise Failed("pip could not install the packages: see above.")

    def install(self, target, *installs, files=(PYPROJECT, CONSTRAINTS)):
        """Install a target unless it was installed after the last change of the files; return whether it was.

        Args:
            target: Name of the target.
            installs: Arguments of each call of pip.
            files: Files with the requirements.
        """
        self.create()
        stamp = self.folder / f".{target}"
        last_change = max(Path(name).stat().st_mtime for name in files)
        if stamp.exists() and stamp.stat().st_mtime >= last_change:
            return False
        print(
            f"Installing the packages for {target} into {self.folder}. This takes two to five minutes the first time, "
            "without output ...",
            flush=True,
        )
        for arguments in installs:
            self.pip(*arguments)
        stamp.touch()
        return True

    def upgrade(self):
        """Install the newest releases of all packages that the tests need; return the environment."""
        self.create()
        print(f"Installing the newest releases into {self.folder} ...", flush=True)
        self.pip("--upgrade", "--upgrade-strategy", "eager", "-e", ".[test-all]")
        return self


def prepare(target, in_background=False):
    """Return the environment .venv with a target (a key of EXTRAS) installed and all loops compiled.

    With `in_background`, only the loops of the first notebooks are compiled before it returns. A process of its own,
    which goes on after Ctrl-C, compiles the others.
    """
    environment = Environment()
    extra = EXTRAS[target]
    if environment.install(target, ["-c", CONSTRAINTS, "-e", f".[{extra}]"]):
        for included in INCLUDED.get(target, ()):
            (environment.folder / f".{included}").touch()
        if environment.warm_stamp.exists():
            environment.warm_stamp.unlink()
    if not environment.warm_stamp.exists():
        print(
            "Compiling the environments' loops, so that notebooks don't wait for this later ...",
            flush=True,
        )
        if in_background:
            call(environment.python, "-m", "pushlab", "warm", *FIRST_ENVIRONMENTS)
            nice = ["nice"] if shutil.which("nice") else []
            own_group = (
                {"creationflags": subprocess.BELOW_NORMAL_PRIORITY_CLASS}
                if WINDOWS
                else {"start_new_session": True}
            )
            subprocess.Popen(
                [*nice, sys.executable, "tools.py", "warm", "1"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                **own_group,
            )
        else:
            warm()
    return environment


def warm(workers=None):
    """Compile all loops in so many processes, by default one per core. If it fails, loops are compiled on first use."""
    environment = Environment()
    options = ["--workers", workers] if workers else []
    call(environment.python, "-m", "pushlab", "warm", *options)
    environment.warm_stamp.touch()


def lab(*arguments):
    """Open JupyterLab with the environment's commands in its terminals and notebooks."""
    environment = prepare("lab", in_background=True)
    options = []
    if not WINDOWS:
        # Without a terminal of its own, Jupyter would start a login shell, which resets PATH.
        shell = os.environ.get("SHELL") or "sh"
        options.append(f"--ServerApp.terminado_settings=shell_command={shell}")
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.append("--allow-root")
    # JupyterLab handles Ctrl-C itself: it asks, and ends at the second.
    signal.signal(signal.SIGINT, lambda *_: None)
    run(
        environment.python,
        "-P",
        "-m",
        "jupyterlab",
        "--ServerApp.root_dir=.",
        *options,
        "--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb",
        *arguments,
        PATH=f"{ROOT / environment.bin}{os.pathsep}{os.environ.get('PATH', '')}",
    )


def test(*arguments):
    """Run the fast tests."""
    run_tests(prepare("test"), "--nbval", "-m", "not slow", *arguments)


def test_all(*arguments):
    """Run all tests with the versions of constraints.txt."""
    run_tests(prepare("test-all"), "--nbval", *arguments)


def test_latest(*arguments):
    """Run all tests with the newest releases. Outputs of notebooks may differ from the saved ones."""
    run_tests(Environment(LATEST).upgrade(), "--nbval-lax", *arguments)


def run_tests(environment, *arguments):
    """Run pytest in an environment."""
    run(environment.python, *PYTEST, *arguments, **OWN_IPYTHON, **TESTING)


def benchmarks(*arguments):
    """Measure the tables of speed; without arguments also run the tests in tests/benchmarks."""
    python = prepare("test-all").python
    run(python, "tests/benchmarks/table.py", *arguments)
    if not arguments:
        run(python, "-m", "pytest", "-q", "tests/benchmarks", "--benchmark-only")


def lint():
    """Check style, imports, types, and the limits of .ci/weight.py. All checks run, even if one fails."""
    folder = prepare("test-all").bin
    checks = (
        ("ruff", "check", "."),
        ("ruff", "format", "--check", "."),
        ("lint-imports",),
        ("mypy",),
        ("python", ".ci/weight.py"),
    )
    suffix = ".exe" if WINDOWS else ""
    failed = [
        " ".join(check)
        for check in checks
        if call(folder / (check[0] + suffix), *check[1:])
    ]
    if failed:
        raise Failed(f"{', '.join(failed)} failed: see above.")


def constraints():
    """Write constraints.txt with the oldest supported Python. Newer ones can install these versions too."""
    python = str(Environment(FROZEN, oldest_first=True).upgrade().python)
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
    """Run the tests of all clients, even if one fails."""
    failed = [
        f"clients-{name}"
        for name in CLIENTS
        if call(sys.executable, "tools.py", f"clients-{name}")
    ]
    if failed:
        raise Failed(f"{', '.join(failed)} failed: see above.")
    print("All clients passed.")


def client(name):
    """Run the tests of clients with the extra rl, or with the packages of tests/clients/NAME.txt.

    Tests of other libraries are skipped.
    """
    environment = Environment(f".venv-{name}")
    requirements = f"tests/clients/{name}.txt"
    tests = [environment.python, "-m", "pytest", "-q", "-W", "ignore", "tests/clients"]
    if name == "rl":
        environment.install(
            "extra",
            ["-c", CONSTRAINTS, "-c", CONSTRAINTS_RL, "-e", ".[rl,test]"],
            files=(PYPROJECT, CONSTRAINTS, CONSTRAINTS_RL),
        )
        run(*tests, **ONE_THREAD)
    else:
        installs = PIP_ARGUMENTS.get(name, [["-r", requirements]])
        environment.install("apart", *installs, files=(requirements,))
        run(*tests, PYTHONPATH=str(ROOT), **ONE_THREAD)


def clean():
    """Remove environments, built files, caches and compiled loops."""
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


def in_environment(target, *command):
    """Return a function that runs a command, with further arguments, in .venv with a target installed."""
    return lambda *arguments: run(
        prepare(target).python, *command, *arguments, **OWN_IPYTHON
    )


# Sphinx's doctrees are outside build/book, which is published as it is.
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
    "lab": (lab, "open the workbook in JupyterLab; ARGS are passed to it"),
    "warm": (warm, "compile all loops; ARGS=1: in so many processes"),
    "install": (
        lambda target="lab": prepare(target) and None,
        f"only install the packages for lab; ARGS={', '.join(EXTRAS)}",
    ),
    "test": (
        test,
        "run the fast tests: library, notebooks, browser; ARGS are passed to pytest",
    ),
    "test-all": (
        test_all,
        "run all tests, as before a release; ARGS are passed to pytest",
    ),
    "test-latest": (
        test_latest,
        "run all tests with the newest release of every package",
    ),
    "book": (
        in_environment("book", *SPHINX),
        "build the web book; its first page is build/book/index.html",
    ),
    "notebooks": (
        in_environment("test", "tests/notebooks/refresh.py"),
        "run all notebooks and save their outputs; NAMES=00_start_here: only these",
    ),
    "numbers": (
        in_environment("test", "tests/notebooks/prose.py"),
        "list the sources of the numbers in the notebooks' text; NAMES as above",
    ),
    "benchmarks": (
        benchmarks,
        "measure speed; ARGS=memory, scale, serve, widgets, classroom: other tables",
    ),
    "lint": (
        lint,
        "check style, types, imports, and the size of code, texts and installation",
    ),
    "constraints": (constraints, "write constraints.txt from the newest releases"),
    "clients": (
        clients,
        "test other libraries, such as stable-baselines3 and obp (optional, weekly)",
    ),
    **{
        f"clients-{name}": (partial(client, name), f"only those in .venv-{name}")
        for name in CLIENTS
    },
    "wheels": (
        in_environment("test-all", "-m", "pytest", "-q", "tests/install"),
        "install wheel and sdist into empty environments of all installed Pythons",
    ),
    "clean": (clean, "remove environments, built files, caches and compiled loops"),
}


def main(name="help", *arguments):
    """Run a command; return the exit code."""
    if hasattr(sys.stdout, "reconfigure"):
        # Names of folders can have letters that the console can't show.
        sys.stdout.reconfigure(errors="replace")
    if name in ("help", "-h", "--help"):
        print("python tools.py COMMAND ARGS, or with make: make COMMAND ARGS=...\n")
        for command, (_, description) in COMMANDS.items():
            print(f"  {command:18}{description}")
        return 0
    if name not in COMMANDS:
        matches = difflib.get_close_matches(name, COMMANDS, 1)
        hint = f"; did you mean {matches[0]!r}?" if matches else "."
        print(
            f"There is no command {name!r}{hint} `python tools.py` lists all.",
            file=sys.stderr,
        )
        return 2
    try:
        inspect.signature(COMMANDS[name][0]).bind(*arguments)
    except TypeError:
        print(f"{name} does not accept {' '.join(arguments)!r}.", file=sys.stderr)
        return 2
    os.chdir(str(ROOT))
    os.environ.pop("MPLBACKEND", None)  # figures in notebooks need the inline backend
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        COMMANDS[name][0](*arguments)
    except Failed as error:
        print(error, file=sys.stderr)
        return 1
    except (KeyboardInterrupt, SystemExit) as reason:
        print(f"\n{name} was stopped.", file=sys.stderr)
        return 130 if isinstance(reason, KeyboardInterrupt) else 143
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
