"""tools.py and the Makefile: which Python they take, what they install when, what they run, and that they agree."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
pytestmark = pytest.mark.skipif(os.name == "nt" or not shutil.which("make"),
                                reason="needs make, and stand-ins for Python and pip that are shell scripts")
# A stand-in for Python: it tells a version, makes environments that hold a copy of itself, and writes down the rest.
PYTHON = """#!/bin/sh
case "$*" in
    *"import ensurepip, venv"*) echo {version}; exit {code};;
    "-m venv --clear "*) rm -rf "$4"; mkdir -p "$4/bin"; cp "$0" "$4/bin/python"; printf ':\\n' > "$4/bin/pushlab"
        chmod +x "$4/bin/pushlab"; exit;;
esac
echo "$0 $*" >> "{folder}/done.txt"
{does}
"""


class Project:
    """A folder with blanks in its name that holds the commands, and a PATH where only the given Pythons are."""

    def __init__(self, tmp_path):
        self.folder, self.path = tmp_path / "push lab", tmp_path / "programs"
        (self.folder / "tests" / "clients").mkdir(parents=True)
        self.path.mkdir()
        for name in ("tools.py", "Makefile", "pyproject.toml", "constraints.txt", "tests/clients/l2.txt"):
            shutil.copy(ROOT / name, self.folder / name)
        for name in ("sh", "rm", "mkdir", "cp", "chmod", "make", "touch", "sleep"):
            if shutil.which(name):
                (self.path / name).symlink_to(shutil.which(name))

    def has(self, name, version="3.12.1", does="", code=0):
        """Puts a Python there."""
        text = PYTHON.format(version=version, code=code, folder=self.folder, does=does)
        (self.path / name).write_text(text, encoding="utf-8")
        (self.path / name).chmod(0o755)

    def start(self, *arguments, command=(sys.executable, "tools.py"), **variables):
        return subprocess.Popen([*command, *arguments], cwd=self.folder, text=True, start_new_session=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={"PATH": str(self.path), "SHELL": "/bin/sh", **variables})

    def run(self, *arguments, **more):
        """Exit code, output and errors of a command."""
        process = self.start(*arguments, **more)
        told, wrong = process.communicate(timeout=900)
        return process.returncode, told, wrong

    def done(self):
        """What stand-ins were asked to do since the last time."""
        file = self.folder / "done.txt"
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        file.unlink(missing_ok=True)
        return lines


@pytest.fixture
def project(tmp_path):
    return Project(tmp_path)


def listed():
    """The commands that `python tools.py` lists."""
    told = subprocess.run([sys.executable, ROOT / "tools.py"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^  ([a-z][\w-]*)  +\S", told, re.MULTILINE)


def test_the_makefile_has_the_same_commands():
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    (named,) = re.findall(r"^COMMANDS := help (.*)$", text, re.MULTILINE)
    assert named.split() == [name for name in listed() if not name.startswith("clients-")]
    assert "\nclients-%:\n" in text


def test_make_lists_what_the_script_lists():
    told = subprocess.run(["make", "-s"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert re.findall(r"^  ([a-z][\w-]*)  +\S", told, re.MULTILINE) == listed()


def test_commands_that_pages_and_programs_name_exist():
    """`make NAME` and `tools.py NAME` in code on pages, in workflows and scripts."""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("data/*/*.md"), *ROOT.glob("notebooks/*.md"),
             *ROOT.glob(".github/**/*.md")]
    programs = [*ROOT.glob(".ci/*"), *ROOT.glob(".github/**/*.y*ml")]
    code = [text for page in pages for pattern in (r"(?ms)^```sh\n(.*?)^```", r"`([^`\n]+)`", r"(?m)^    (make .*)$")
            for text in re.findall(pattern, page.read_text(encoding="utf-8"))]
    code += [program.read_text(encoding="utf-8") for program in programs if program.is_file()]
    used = {name for text in code
            for name in re.findall(r"(?:^\s*(?:exec |py |run: )?make|\btools\.py) ([a-z][\w-]*)", text, re.MULTILINE)}
    assert {"lab", "test", "test-latest", "clients"} <= used
    assert used - {"unit", "saved", "browser", "clients-NAME"} <= set(listed())


@pytest.mark.parametrize(("there", "taken"), [
    ({"python3.11": "3.11.7", "python3.12": "3.12.1", "python3": "3.8.18"}, "python3.12"),
    ({"python3.13": "", "python3.11": "3.11.7"}, "python3.11"),         # a shim that does not run
    ({"python3.12": "no venv", "python3": "3.11.2"}, "python3"),
    ({"python3": "3.10.13", "python": "3.14.0"}, "python"),
])
def test_the_newest_python_that_can_is_taken(project, there, taken):
    for name, version in there.items():
        project.has(name, *(("3.12.1", "", 1) if version == "no venv" else (version,)))
    code, told, _ = project.run("install")
    assert code == 0 and f"{project.path / taken} -m venv --clear .venv" in told


def test_python_names_the_one_to_take_and_another_version_is_made_anew(project):
    project.has("python3.13", "3.13.0")
    project.has("mine", "3.11.7")
    assert "Python 3.13.0" in project.run("install")[1]
    assert "Python 3.11.7" in project.run("install", PYTHON="mine")[1]
    assert project.run("install", PYTHON="mine")[1] == ""       # it is there
    assert project.run("install")[1] == ""                      # and good enough for one who has no wish


def test_a_python_that_will_not_do_is_told(project):
    project.has("old", "3.10.13")
    code, told, wrong = project.run("lab", PYTHON="old")
    assert code == 1 and "needs Python 3.11" in wrong and "old is 3.10.13" in wrong and "Traceback" not in wrong
    assert "none is not there" in project.run("lab", PYTHON="none")[2]


def test_nothing_is_installed_twice_and_a_changed_list_is_installed_again(project):
    project.has("python3.12")
    assert project.run("install")[0] == 0
    assert [line for line in project.done() if "pip install" in line][0].endswith("-c constraints.txt -e .[serve]")
    assert project.run("install") == (0, "", "") and project.done() == []
    later = time.time() + 5
    os.utime(project.folder / "constraints.txt", (later, later))
    project.run("install")
    assert any("pip install" in line for line in project.done())


def test_each_long_wait_is_announced_before_it_begins(project):
    project.has("python3.12")
    told = [line for line in project.run("install")[1].splitlines() if "venv --clear" not in line]
    begun = {what: told.index(line) for what in ("pip install", "pushlab warm") for line in told if what in line}
    assert "minutes" in told[begun["pip install"] - 1] and "pip says nothing" in told[begun["pip install"] - 1]
    assert "minutes" in told[begun["pushlab warm"] - 1] and "Compiling" in told[begun["pushlab warm"] - 1]


def test_the_tests_bring_what_lab_and_book_need(project):
    project.has("python3.12")
    project.run("install", "test")
    project.done()
    assert project.run("install", "lab") == project.run("install", "book") == (0, "", "") and project.done() == []


def test_a_half_made_environment_is_made_anew(project):
    project.has("python3.12")
    project.run("install")
    (project.folder / ".venv" / "half").touch()
    (project.folder / ".venv" / ".python").unlink()
    assert "Making the environment" in project.run("install")[1] and not (project.folder / ".venv" / "half").exists()
    moved = project.folder.with_name("moved")
    project.folder.rename(moved)        # programs in it begin with the path of the Python that was there
    project.folder = moved
    assert "Making the environment" in project.run("install")[1]
    (moved / ".venv" / "bin" / "python").unlink()       # the Python it came from is gone
    assert "Making the environment" in project.run("install")[1]


def test_what_pip_could_not_do_is_tried_again(project):
    project.has("python3.12", does='case "$*" in *"pip install"*) exit 1;; esac')
    code, _, wrong = project.run("install")
    assert code == 1 and "pip could not" in wrong and not (project.folder / ".venv" / ".lab").exists()
    project.done()
    code, told, _ = project.run("install")
    assert code == 1 and "Making" not in told and any("pip install" in line for line in project.done())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_end_ends_what_was_begun_and_the_environment_is_made_anew(project, number):
    """`kill` reaches the script alone, Ctrl-C its children too."""
    project.has("python3.12", does='case "$*" in *"pip install"*) exec sleep 3000;; esac')
    process = project.start("install")
    while not (project.folder / "done.txt").exists():
        assert process.poll() is None
        time.sleep(0.1)
    (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)
    _, wrong = process.communicate(timeout=900)
    assert process.returncode == 128 + number and wrong.strip() == "install was stopped."
    project.has("python3.12")
    assert "Making the environment" in project.run("install")[1]


def test_pushlab_is_found_in_the_lab(project):
    """A stand-in for Jupyter says which `pushlab` its terminals and notebooks would find, and which shell they get."""
    project.has("python3.12", does='case "$*" in *jupyterlab*) command -v pushlab; printf "%s\\n" "$@";; esac')
    (project.path / "python3").symlink_to(sys.executable)
    for command in ((sys.executable, "tools.py", "lab", "--no-browser"), ("make", "lab", "ARGS=--no-browser")):
        code, told, wrong = project.run(command=command)
        told = told.splitlines()
        assert code == 0 and str(project.folder / ".venv" / "bin" / "pushlab") in told, wrong
        assert "--no-browser" in told and "--ServerApp.terminado_settings=shell_command=/bin/sh" in told


def test_parts_run_on_though_one_fails_and_each_has_its_say(project):
    project.has("python3.12", does="""case "$*" in *"-q tests/browser"*) echo "no browser"; exit 1;; *nbval*)
        echo "threads $OMP_NUM_THREADS ${MPLBACKEND-none} $IPYTHONDIR";; *) echo hello;; esac""")
    code, told, wrong = project.run("test", MPLBACKEND="agg", OMP_NUM_THREADS="8")
    assert code == 1 and wrong == "Some tests failed: see browser above.\n"
    parts = dict(re.findall(r"^== (\w+): (?:passed|failed)\n(.*)$", told, re.MULTILINE))
    assert parts == {"browser": "no browser", "unit": "hello",
                     "saved": f"threads 1 none {project.folder / '.venv' / 'ipython'}"}
    code, told, _ = project.run("test", "unit")
    assert code == 0 and told.endswith("== unit: passed\nhello\nAll tests passed.\n")
    assert project.run("test", "units")[0] == 1


def test_clients_all_have_their_turn(project):
    (project.folder / "constraints-rl.txt").touch()
    project.has("python3.12", does='case "$0 $*" in *venv-rl*pytest*) exit 1;; esac')
    code, _, wrong = project.run("clients")
    assert code == 1 and "clients-rl failed" in wrong and "clients-l2" not in wrong.splitlines()[-1]
    assert [line.split("/bin/")[0] for line in project.done() if "pytest" in line] == [".venv-l2", ".venv-rl"][::-1]
    assert project.run("clients-l2")[0] == 0


def test_a_slip_is_told_in_a_line(project):
    code, _, wrong = project.run("tset")
    assert code == 2 and wrong == "There is no command 'tset'; is 'test' meant? `python tools.py` lists them.\n"
    assert project.run("clean", "all")[::2] == (2, "clean does not take 'all'.\n")


def test_clean_leaves_what_is_not_its_own(project):
    project.has("python3.12")
    project.run("install")
    project.run("clean")
    assert not (project.folder / ".venv").exists() and (project.folder / "pyproject.toml").exists()


def test_make_hands_arguments_to_those_who_take_them(project):
    project.has("python3.12")       # stands in for the one that runs tools.py as well
    project.run("clean", "install", "ARGS=book", command=("make",), NAMES="a", GIVEN="b")
    project.run("notebooks", "NAMES=00_start_here", command=("make",), ARGS="--no-browser")
    asked = [line.partition(" tools.py ")[2].strip() for line in project.done() if " tools.py " in line]
    assert asked == ["clean", "install book", "notebooks 00_start_here"]


def old_pythons():
    """Pythons that are too old for pushlab, where some are there."""
    return [python for python in sorted(Path.home().glob(".pyenv/versions/*/bin/python"))
            if re.match(r"2\.|3\.\d\.|3\.10\.", python.parents[1].name)]


@pytest.mark.parametrize("python", old_pythons(), ids=lambda python: python.parents[1].name)
def test_an_old_python_says_what_is_needed_and_takes_what_is_there(project, python):
    project.has("python3.13", "")
    project.has("python3.12", "3.12.3", code=1)
    code, _, wrong = project.run("lab", command=(python, "tools.py"))
    assert code == 1 and "pushlab needs Python 3." in wrong and "Traceback" not in wrong
    if not python.parents[1].name.startswith("2"):
        assert "python3.13 does not run" in wrong and "python3.12 is 3.12.3, without venv" in wrong
        project.has("python3.11", "3.11.2")
        assert project.run("install", command=(python, "tools.py"))[0] == 0


def test_make_says_that_no_python_is_there(project):
    code, _, wrong = project.run("lab", command=("make",))
    assert code == 2 and "No Python runs here" in wrong and "3.11" in wrong
