"""The project as a whole: its files agree with one another, Binder understands it, and what is built from it works."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
NOT_THE_PROJECT = {".git", ".hypothesis", ".ruff_cache", ".pytest_cache", "__pycache__", "build", "dist"}
CONDA_NAMES = {"matplotlib-base": "matplotlib", "dask-core": "dask"}  # conda's name: PyPI's
CHOSEN_FOR_THE_WORKBOOK = {"jupyterlab", "ipywidgets", "matplotlib", "pandas", "numpy", "gymnasium", "nbval"}
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|Users)/[\w.]+|(?<![\w.])/(?:root|work)/\w|\b[A-Z]:\\+Users\\")


def read_pyproject():
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def read_environment():
    return yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))


def specifiers(requirements):
    """{canonical name: SpecifierSet} of requirement texts."""
    parsed = [Requirement(text) for text in requirements]
    return {canonicalize_name(requirement.name): requirement.specifier for requirement in parsed
            if requirement.name != "pushlab"}       # one extra that brings another


def needed():
    return specifiers(read_pyproject()["project"]["dependencies"])


def extra(name):
    return specifiers(read_pyproject()["project"]["optional-dependencies"][name])


def environment_specifiers():
    """What environment.yml asks of packages, under PyPI's names; python and pip are left out."""
    texts = [text for text in read_environment()["dependencies"] if isinstance(text, str)]
    found = {}
    for text in texts:
        name, bounds = re.fullmatch(r"([\w.-]+?)\s*([<>=!~].*)?", text).groups()
        if name not in ("python", "pip"):
            found[canonicalize_name(CONDA_NAMES.get(name, name))] = SpecifierSet(bounds or "")
    return found


def project_files():
    """Paths of the project's own files, relative to its root: git's list, or every file where git cannot say."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    asked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    names = [name for name in asked.stdout.split("\0") if name]
    if asked.returncode != 0 or not names:  # a downloaded archive
        names = [str(path.relative_to(ROOT)) for path in ROOT.rglob("*")]
    return [Path(name) for name in sorted(names) if (ROOT / name).is_file() and belongs(Path(name))]


def belongs(path):
    """Whether the path is none of an environment's or a cache's."""
    return not any(part in NOT_THE_PROJECT or part.startswith(".venv") for part in path.parts)


def test_ranges_are_bounded_on_both_sides():
    for name, specifier in needed().items():
        operators = {part.operator for part in specifier}
        assert {">=", "<"} <= operators, f"{name}{specifier} needs a lower and an upper bound"


def test_environment_says_the_same_as_pyproject():
    # conda's files cannot say "not on Windows", where there is no uvloop; uvicorn does without it.
    served = {name: ranges for name, ranges in extra("serve").items() if name != "uvloop"}
    expected = needed() | served | {"nbval": extra("test")["nbval"]}
    assert environment_specifiers() == expected


def test_environment_holds_what_the_workbook_is_made_of():
    assert set(environment_specifiers()) >= CHOSEN_FOR_THE_WORKBOOK


def test_environment_installs_pushlab_itself_from_conda_forge():
    environment = read_environment()
    assert environment["channels"] == ["conda-forge", "nodefaults"]
    assert environment["dependencies"][0] == "python=3.11"
    assert {"pip": ["-e ."]} in environment["dependencies"]


def test_running_versions_satisfy_the_environment():
    outside = {
        name: version(name)
        for name, specifier in environment_specifiers().items()
        if not specifier.contains(version(name), prereleases=True)
    }
    assert not outside, f"installed, but outside the range of environment.yml: {outside}"


def pins(file):
    """The lines of a file of constraints, without those that begin with #."""
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if not line.startswith("#")]


@pytest.mark.parametrize("file", ["constraints.txt", "constraints-rl.txt", *sorted(
    path.relative_to(ROOT).as_posix() for path in (ROOT / "tests" / "clients").glob("*.txt"))])
def test_constraints_are_plain_versions(file):
    lines = pins(file)
    odd = [line for line in lines if not re.fullmatch(r"[A-Za-z0-9][\w.-]*==\d[\w.]*", line)]
    assert lines and not odd, f"not name==version: {odd}"
    names = [canonicalize_name(line.split("==")[0]) for line in lines]
    assert len(set(names)) == len(names)
    assert "pushlab" not in names


@pytest.mark.parametrize("file", ["constraints.txt", "constraints-rl.txt"])
def test_constraints_satisfy_pyproject(file):
    pinned = dict(line.split("==") for line in pins(file))
    pinned = {canonicalize_name(name): Version(number) for name, number in pinned.items()}
    wanted = needed() | extra("test") | extra("serve") if file == "constraints.txt" else extra("rl")
    for name, specifier in wanted.items():
        assert name in pinned, f"{file} lacks {name}: run make constraints"
        assert pinned[name] in specifier, f"{file} has {name} {pinned[name]}, pyproject.toml {specifier}"


def test_the_extra_of_clients_is_pinned_beside_the_constraints_and_not_in_them():
    both = [{canonicalize_name(line.split("==")[0]) for line in pins(f"constraints{name}.txt")} for name in ("", "-rl")]
    assert not both[0] & both[1] and "torch" in both[1]
    assert all(">=" in str(ranges) and "<" in str(ranges).replace("<=", "") for ranges in extra("rl").values())


@pytest.fixture(scope="module")
def copied_project(tmp_path_factory):
    """A copy of the project's own files, as somebody who clones it has them."""
    copy = tmp_path_factory.mktemp("clone") / "pushlab"
    for name in project_files():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, copy / name)
    return copy


def test_binder_reads_environment_yml(copied_project, monkeypatch):
    from repo2docker.buildpacks import CondaBuildPack

    # Either folder alone, even empty but for a postBuild, makes Binder ignore the environment.yml at the root.
    assert not (copied_project / "binder").exists() and not (copied_project / ".binder").exists()
    monkeypatch.chdir(copied_project)
    binder = CondaBuildPack("docker.io/library/buildpack-deps:24.04")
    assert binder.detect()
    assert binder.python_version == "3.11"
    assert "environment.yml" in "\n".join(script for _, script in binder.get_assemble_scripts())
    assert binder.get_post_build_scripts() == ["postBuild"] and binder.get_start_script().endswith("/start")
    assert all(os.access(copied_project / name, os.X_OK) for name in ("postBuild", "start"))


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="Binder runs on Linux")
def test_what_binder_compiles_fits_another_processor():
    """Both its scripts choose the same target, not the processor at hand; `start` then runs what it is given."""
    code = "from numba.core.registry import cpu_target as t; print(*t.target_context.codegen().magic_tuple())"
    told = subprocess.run([ROOT / "start", sys.executable, "-c", code], capture_output=True, text=True, check=True)
    from llvmlite.binding import get_host_cpu_name

    modern = all(word in Path("/proc/cpuinfo").read_text().split() for word in ("avx2", "fma", "bmi2"))
    assert ("x86-64-v3" if modern else get_host_cpu_name()) in told.stdout.split()
    assert "./start pushlab warm" in (ROOT / "postBuild").read_text()


@pytest.fixture(scope="module")
def built(copied_project, tmp_path_factory):
    """Folder with the sdist, and the wheel built from that sdist."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-P", "-m", "build", "--no-isolation", "--outdir", folder, copied_project]
    build = subprocess.run(command, capture_output=True, text=True)
    assert build.returncode == 0, build.stdout + build.stderr
    return folder


@pytest.fixture(scope="module")
def installed_python(built, tmp_path_factory):
    """Python of a second environment that holds the wheel, and sees everything else of the first."""
    home = tmp_path_factory.mktemp("second") / "venv"
    subprocess.run([sys.executable, "-P", "-m", "venv", "--without-pip", home], check=True)
    python = home / ("Scripts" if os.name == "nt" else "bin") / "python"
    (wheel,) = built.glob("*.whl")
    command = [sys.executable, "-P", "-m", "pip", "--python", python, "install", "-qq", "--no-deps", "--no-index",
               wheel]
    install = subprocess.run(command, capture_output=True, text=True)
    assert install.returncode == 0, install.stderr
    own = subprocess.run([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], **captured())
    # Named in a .pth file, the first environment's folder comes last and its editable install stays unread.
    paths = sorted({sysconfig.get_path("purelib"), sysconfig.get_path("platlib")})
    Path(own.stdout.strip(), "first_environment.pth").write_text("\n".join(paths), encoding="utf-8")
    return python


def captured():
    return {"check": True, "capture_output": True, "text": True}


def test_wheel_carries_the_data_and_all_of_the_package(built):
    import zipfile

    (wheel,) = built.glob("*.whl")
    carried = set(zipfile.ZipFile(wheel).namelist())
    expected = {f"pushlab/{name.as_posix()}" for name in project_files() if name.parts[0] == "data"}
    assert expected, "data/ is empty"
    expected |= {name.as_posix() for name in project_files() if name.parts[0] == "pushlab"}  # styles, templates
    assert expected <= carried, f"missing from the wheel: {sorted(expected - carried)[:5]}"


def test_wheel_works_away_from_the_project(installed_python, tmp_path):
    code = """
import pushlab
from pushlab.ground.files import data_dir
largest = max((path for path in data_dir().rglob("*.csv")), key=lambda path: path.stat().st_size)
print(pushlab.__file__)
print(len(largest.read_text(encoding="utf-8").splitlines()))
"""
    ran = subprocess.run([installed_python, "-I", "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    origin, rows = ran.stdout.splitlines()
    assert Path(origin).is_relative_to(Path(installed_python).parents[1])
    assert int(rows) > 1


def test_command_is_installed(installed_python, tmp_path):
    command = Path(installed_python).with_name("pushlab")
    ran = subprocess.run([command, "--help"], cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert "Usage" in ran.stdout


def test_versions_agree():
    import pushlab

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == pushlab.__version__ == read_pyproject()["project"]["version"]


def test_no_file_names_a_path_of_one_machine():
    found = []
    for name in project_files():
        try:
            lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
        except UnicodeDecodeError:
            continue  # a picture
        found += [f"{name}:{i}: {hit.group()}" for i, line in enumerate(lines, 1) if (hit := MACHINE_PATH.search(line))]
    assert not found, "\n".join(found)


# ---------------------------------------------------------------- what README says of the notebooks

def test_readme_lists_every_environment():
    from pushlab.envs import TABLE

    text = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Environments")[2]
    for name, *_ in TABLE:                      # an older version stands in the row of the newest one
        row = next((line for line in text.splitlines() if line.startswith("| `pushlab/") and name[:-3] in line), "")
        assert f"`{name}`" in row or f"`{name[-3:]}`" in row, name
