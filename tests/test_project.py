"""The project's files are consistent, and its public names are documented by annotations."""

import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import pushlab

ROOT = Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PACKAGES = (
    "pushlab",
    "pushlab.agents",
    "pushlab.causal",
    "pushlab.clients",
    "pushlab.plots",
    "pushlab.metrics.estimate",
    "pushlab.metrics.lifelong",
    "pushlab.metrics.offpolicy",
    "pushlab_classroom",
)


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


PROJECT = tomllib.loads(read("pyproject.toml"))["project"]


# ---------------------------------------------------------------- public names


def public_things():
    """Return {path: object} of all public names."""
    things = {}
    for package in PACKAGES:
        module = importlib.import_module(package)
        for name in module.__all__:
            things[f"{package}.{name}"] = getattr(module, name)
    return things


def test_dir_shows_the_public_names_and_nothing_else():
    shown = set(dir(pushlab))
    assert shown == set(pushlab.__all__)
    assert {"plots", "rollout", "load_user", "agents", "Challenge"} <= shown
    assert len(public_things()) > 200
    assert (ROOT / "pushlab" / "py.typed").is_file()


def methods_of(thing):
    """Yield the public methods that a class adds to those of its bases."""
    for name, method in vars(thing).items():
        inherited = any(hasattr(base, name) for base in thing.__mro__[1:-1])
        if inspect.isfunction(method) and not name.startswith("_") and not inherited:
            yield name, method


def test_public_functions_and_methods_are_annotated():
    functions = {}
    for path, thing in public_things().items():
        if inspect.isclass(thing):
            for name, method in methods_of(thing):
                functions[f"{path}.{name}"] = method
        elif inspect.isfunction(thing):
            functions[path] = thing
    assert len(functions) > 200
    bare = []
    for path, function in functions.items():
        signature = inspect.signature(function)
        parameters = [
            parameter
            for parameter in signature.parameters.values()
            if parameter.name != "self"
        ]
        complete = all(
            parameter.annotation is not parameter.empty for parameter in parameters
        )
        if not complete or signature.return_annotation is signature.empty:
            bare.append(path)
    assert bare == []


@pytest.mark.slow
def test_imports_run_one_way():
    code = "from importlinter.cli import lint_imports_command as run; run()"
    command = [sys.executable, "-c", code, "--no-cache"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


# ---------------------------------------------------------------- files that agree


def test_the_version_and_its_date_are_the_same_everywhere():
    citation = yaml.safe_load(read("CITATION.cff"))
    zenodo = json.loads(read(".zenodo.json"))
    version = PROJECT["version"]
    day = citation["date-released"]
    assert pushlab.__version__ == citation["version"] == zenodo["version"] == version
    assert zenodo["publication_date"] == str(day)
    assert f"## [{version}] - {day}\n" in read("CHANGELOG.md")
    for page in ("README.md", "docs/citing.md"):
        assert f"version = {{{version}}}" in read(page), page
        assert f"year    = {{{day.year}}}" in read(page), page


def test_only_the_tag_of_this_version_may_be_released():
    for tag, code in ((f"v{PROJECT['version']}", 0), ("v9.9.9", 1)):
        command = [sys.executable, ROOT / ".ci" / "release.py", tag]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == code, done.stderr


def test_a_version_is_set_in_all_files(tmp_path):
    for name in subprocess.check_output(
        ["git", "ls-files"], cwd=ROOT, text=True
    ).split():
        if name.endswith(
            (".md", ".ipynb", "release.py", "__init__.py", ".toml", ".cff", ".json")
        ):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    changelog = tmp_path / "CHANGELOG.md"
    heading = "## [Unreleased]\n"
    changelog.write_text(
        read("CHANGELOG.md").replace(heading, f"{heading}\n- A change.\n")
    )
    command = [sys.executable, tmp_path / ".ci" / "release.py", "v9.8.7", "--set"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    old = PROJECT["version"]
    assert (
        f"[9.8.7]: https://github.com/pushlab/pushlab/compare/v{old}...v9.8.7\n"
        in changelog.read_text()
    )
    for path in tmp_path.rglob("*.*"):
        if path.is_file() and path != changelog:
            assert f"v{old}" not in path.read_text(), path
            assert f"{{{old}}}" not in path.read_text(), path


def ranges(requirements):
    """Return {name: version range} of requirements, without pushlab's own extras."""
    parsed = [Requirement(text) for text in requirements]
    return {
        canonicalize_name(one.name): one.specifier
        for one in parsed
        if one.name != "pushlab"
    }


def test_conda_installs_the_ranges_of_pyproject():
    environment = yaml.safe_load(read("environment.yml"))
    python, *packages = [
        text for text in environment["dependencies"] if isinstance(text, str)
    ]
    assert python == "python=3.11"
    assert {"pip": ["-e ."]} in environment["dependencies"]
    conda_names = {"matplotlib-base": "matplotlib", "dask-core": "dask"}
    found = {
        conda_names.get(name, name): bounds for name, bounds in ranges(packages).items()
    }
    extras = PROJECT["optional-dependencies"]
    expected = ranges(PROJECT["dependencies"])
    for extra in ("lab", "cluster", "serve"):
        expected |= ranges(extras[extra])
    expected["nbval"] = ranges(extras["test"])["nbval"]
    del found["pip"]
    del expected["uvloop"]  # conda cannot leave it out on Windows
    assert found == expected


@pytest.mark.parametrize(
    ("file", "extras"),
    [
        (
            "constraints.txt",
            ("lab", "cluster", "serve", "docs", "test", "test-all"),
        ),
        ("constraints-rl.txt", ("rl",)),
    ],
)
def test_the_pinned_versions_are_within_the_ranges_of_pyproject(file, extras):
    lines = [line for line in read(file).splitlines() if not line.startswith("#")]
    pins = {
        canonicalize_name(name): version
        for name, version in (line.split("==") for line in lines)
    }
    required = {}
    for extra in extras:
        required |= ranges(PROJECT["optional-dependencies"][extra])
    if file == "constraints.txt":
        required |= ranges(PROJECT["dependencies"])
    outside = [
        name
        for name, bounds in required.items()
        if name not in pins or pins[name] not in bounds
    ]
    assert outside == []


@pytest.mark.slow
def test_binder_reads_environment_yml_and_both_scripts(monkeypatch):
    buildpacks = pytest.importorskip("repo2docker.buildpacks")
    monkeypatch.chdir(ROOT)
    binder = buildpacks.CondaBuildPack("docker.io/library/buildpack-deps:24.04")
    assert binder.detect()
    assert binder.python_version == "3.11"
    assert binder.get_post_build_scripts() == ["postBuild"]
    assert binder.get_start_script().endswith("/start")
    assert all(os.access(ROOT / name, os.X_OK) for name in ("postBuild", "start"))
    # A folder of this name would make Binder ignore environment.yml.
    assert not (ROOT / "binder").exists()
    assert not (ROOT / ".binder").exists()


def test_colab_fetches_the_release_whose_version_this_is():
    tag = f"v{PROJECT['version']}"
    for path in sorted((ROOT / "notebooks").glob("[0-9]*.ipynb")):
        notebook = read(path)
        assert f"/pushlab/blob/{tag}/notebooks/{path.name})" in notebook, path.name
        assert f"--depth 1 -b {tag} " in notebook, path.name


# ---------------------------------------------------------------- workflows


@pytest.mark.slow
def test_workflows_have_the_form_that_github_publishes():
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema"]
    command += ["--builtin-schema", "vendor.github-workflows", *WORKFLOWS]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_has_no_rights_and_runs_pinned_actions_and_known_commands(path):
    text = read(path)
    assert re.search(r"^permissions: \{\}$", text, flags=re.M)
    assert "secrets." not in text
    # A value from outside inside a command could run code of its author.
    assert not re.search(r"run: .*\$\{\{", text)
    for action in re.findall(r"uses: (?!\./)(\S+)", text):
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
    tools = read("tools.py")
    for command in re.findall(r"tools\.py (\S+)", text):
        assert f'    "{command}": (' in tools, command
