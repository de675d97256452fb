"""Workflows, templates and hooks: their form is GitHub's, their commands are ours, and none of them needs a secret."""

import importlib.util
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: [\w.-]+/[\w.-]+@[0-9a-f]{40}  # v\d+\.\d+\.\d+$")
# Commands that stand in a step beside ours: of a runner's own shell, and the one that makes a release.
OF_THE_RUNNER = ("test", "gh")

pytestmark = pytest.mark.skipif(not GITHUB.is_dir(), reason="workflows are not shipped")


def loaded(path):
    """A YAML file. The word `on` stays a word: YAML 1.1 reads it as true."""
    text = re.sub(r"^on:", '"on":', path.read_text(encoding="utf-8"), flags=re.M)
    return yaml.safe_load(text)


def module(name):
    """tools.py, or another script beside the library, as a module."""
    spec = importlib.util.spec_from_file_location(Path(name).stem, ROOT / name)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def jobs():
    """(file, job's name, job) of all workflows, without those that are another workflow of ours."""
    return [(path.name, name, job) for path in WORKFLOWS for name, job in loaded(path)["jobs"].items()
            if "uses" not in job]


def runs():
    """(file, job, step) of each step that runs a command."""
    return [(file, job, step) for file, _, job in jobs() for step in job["steps"] if "run" in step]


# ---------------------------------------------------------------- form

@pytest.mark.parametrize("schema, files", [
    ("github-workflows", WORKFLOWS),
    ("dependabot", [GITHUB / "dependabot.yml"]),
    ("github-issue-forms", sorted(set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
                                  - {GITHUB / "ISSUE_TEMPLATE" / "config.yml"})),
    ("github-issue-config", [GITHUB / "ISSUE_TEMPLATE" / "config.yml"]),
])
def test_files_have_the_form_that_github_publishes(schema, files):
    from check_jsonschema import main
    from click.testing import CliRunner

    assert files
    told = CliRunner().invoke(main, ["--builtin-schema", f"vendor.{schema}", *map(str, files)])
    assert told.exit_code == 0, told.output


def test_names_of_the_form_that_readers_see_are_unique():
    forms = [loaded(path) for path in (GITHUB / "ISSUE_TEMPLATE").glob("*.yml") if path.name != "config.yml"]
    assert len({form["name"] for form in forms}) == len(forms) == 3
    for form in forms:
        ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
        assert len(set(ids)) == len(ids)


# ---------------------------------------------------------------- what may go wrong

@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_nothing_and_a_job_says_what_it_may(path):
    """And needs no secret, keeps no token in the clone, runs no other code than was pinned, and comes to an end."""
    text, workflow = path.read_text(encoding="utf-8"), loaded(path)
    assert "secrets" not in text and "pull_request_target" not in text
    assert workflow["permissions"] == {} and "concurrency" in workflow
    for job in workflow["jobs"].values():
        if "uses" in job:
            assert (ROOT / job["uses"]).is_file() and job["permissions"] == {"contents": "read"}
            continue
        assert set(job.get("permissions", {}).values()) <= {"read", "write"}
        assert 0 < job["timeout-minutes"] <= 240
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False
    used = [line.strip().removeprefix("- ") for line in text.splitlines()
            if "uses: " in line and "uses: ./" not in line]
    assert [line for line in used if not PINNED.fullmatch(line)] == []


def test_only_these_may_write():
    writes = {(file, name): {what for what, how in job.get("permissions", {}).items() if how == "write"}
              for file, name, job in jobs()}
    assert {place: what for place, what in writes.items() if what} == {
        ("book.yml", "publish"): {"pages", "id-token"},
        ("release.yml", "pypi"): {"id-token"},
        ("release.yml", "github"): {"contents"},
    }


def test_what_publishes_runs_no_code_of_the_repository():
    """No clone, no installation: what the jobs before built and tested, and nothing else."""
    for file, name, job in jobs():
        if "write" in job.get("permissions", {}).values():
            assert "needs" in job, (file, name)
            assert not [step for step in job["steps"] if "checkout" in step.get("uses", "")
                        or shlex.split(step.get("run", "gh"))[0] != "gh"], (file, name)


def test_a_release_waits_for_the_tests_and_for_what_was_built():
    release = loaded(GITHUB / "workflows" / "release.yml")["jobs"]
    assert release["pypi"]["needs"] == ["build", "tests"] and release["github"]["needs"] == "pypi"
    assert release["pypi"]["environment"]["name"] == "pypi" and release["tests"]["uses"].endswith("/tests.yml")


@pytest.mark.parametrize("tag, early", [("v0.8.0", False), ("v0.8.0a1", True), ("v0.8.0b2", True), ("v0.8.0rc1", True)])
def test_what_comes_before_a_release_is_not_called_the_latest(tag, early):
    (step,) = (step for file, _, step in runs() if file == "release.yml" and step["run"].startswith("gh "))
    words = re.findall(r"contains\(github\.ref_name, '(\w+)'\)", step["env"]["PRERELEASE"])
    assert '--prerelease="$PRERELEASE"' in step["run"] and any(word in tag for word in words) == early


def test_a_value_from_outside_is_never_pasted_into_a_command():
    assert [step["run"] for _, _, step in runs() if "${{" in step["run"]] == []


def test_packages_come_from_where_the_clients_say():
    """No other index beside PyPI, from which pip would take any name, and no address in a command or its variables."""
    files = [path for folder in (GITHUB, ROOT / ".ci") for path in folder.rglob("*") if path.is_file()] + [
        ROOT / name for name in ("tools.py", "Makefile", "environment.yml", "postBuild", "start",
                                 ".pre-commit-config.yaml")]
    other = re.compile(r"index[-_]url|extra[-_]index|find[-_]links|trusted[-_]host|pip_no_index|mirror"
                       r"|download\.pytorch\.org|pip install[^\n]* -[if] ", re.I)
    assert {str(path.relative_to(ROOT)) for path in files if other.search(path.read_text(encoding="utf-8"))} == set()
    for path in WORKFLOWS:
        workflow = loaded(path)
        for part in (workflow, *workflow["jobs"].values(), *(step for _, _, step in runs())):
            assert "://" not in f"{part.get('run', '')} {part.get('env', '')}", path.name


def test_each_pin_is_of_one_version():
    """Of one action all steps use the same commit."""
    used = {line.split("uses: ")[1] for path in WORKFLOWS for line in path.read_text(encoding="utf-8").splitlines()
            if "uses: " in line and "uses: ./" not in line}
    assert len({line.partition("@")[0] for line in used}) == len(used)


# ---------------------------------------------------------------- what is run

def test_every_command_is_one_that_is_there():
    known = set(module("tools.py").COMMANDS)
    for file, _, step in runs():
        program, *arguments = shlex.split(step["run"])
        if program == "python":
            assert (ROOT / arguments[0]).is_file(), (file, step["run"])
            assert arguments[0] != "tools.py" or arguments[1] in known, (file, step["run"])
        else:
            there = ROOT / program
            runs_here = there.is_file() and (sys.platform == "win32" or there.stat().st_mode & 0o100)
            assert program in OF_THE_RUNNER or runs_here, (file, step["run"])
    tools = {shlex.split(step["run"])[2] for _, _, step in runs() if step["run"].startswith("python tools.py")}
    assert tools == {"lint", "test", "book", "wheels"}


def test_the_pythons_tried_are_those_that_are_promised():
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    said = [line.rpartition(" :: ")[2] for line in pyproject["classifiers"]
            if re.match(r"Programming Language :: Python :: 3\.\d+$", line)]
    matrix = loaded(GITHUB / "workflows" / "tests.yml")["jobs"]["test"]["strategy"]["matrix"]
    assert matrix["python"] == said and pyproject["requires-python"] == f">={said[0]}"
    assert {name.split("-")[0] for name in matrix["os"]} == {"ubuntu", "macos", "windows"}
    for file, _, job in jobs():
        for step in job["steps"]:
            version = step.get("with", {}).get("python-version", "${{")
            assert "${{" in version or set(version.split()) <= set(said), file
    for file, _, job in jobs():     # a release that skipped a Python would be green
        for step in job["steps"]:
            if step.get("run") == "python tools.py wheels":
                there = [one["with"]["python-version"].split() for one in job["steps"]
                         if "setup-python" in one.get("uses", "")]
                assert there == [said] and step["env"]["PUSHLAB_PYTHONS"].split() == said, file
    tools = module("tools.py")
    assert [f"3.{minor}" for minor in range(tools.OLDEST, tools.NEWEST + 1)] == said
    promised = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    assert f"**Supported Pythons: {', '.join(said)}.**" in promised


def test_one_check_stands_for_all():
    tests = loaded(GITHUB / "workflows" / "tests.yml")["jobs"]
    assert set(tests["all"]["needs"]) == set(tests) - {"all"} and tests["all"]["if"] == "always()"
    asked = tests["all"]["steps"][0]["run"]
    for results, passes in (("success success", True), ("success failure", False), ("skipped success", False),
                            ("cancelled success", False)):
        ran = subprocess.run(["sh", "-c", asked], env={"RESULTS": results}) if sys.platform != "win32" else None
        assert ran is None or (ran.returncode == 0) == passes, results


# ---------------------------------------------------------------- hooks

def test_hooks_come_from_pypi_in_the_versions_that_the_tests_have():
    """What a hook refuses, `make lint` and the tests refuse too; and none takes outputs out of notebooks."""
    pins = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines())
    (repository,) = loaded(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    hooks = {hook["id"]: hook for hook in repository["hooks"]}
    assert {"ruff", "notebooks", "workflows", "ends"} <= set(hooks)
    for hook in hooks.values():
        assert hook["language"] == "python"
        for package in hook["additional_dependencies"]:
            name, _, version = package.partition("==")
            assert version and pins.get(name, version) == version, f"{package}: constraints.txt has {pins.get(name)}"
            assert name != "nbstripout"
    script = hooks["notebooks"]["entry"].split()[1]
    assert (ROOT / script).is_file() and re.match(hooks["notebooks"]["files"], "notebooks/00_start_here.ipynb")
    needed = {package.partition("==")[0] for package in hooks["notebooks"]["additional_dependencies"]}
    assert needed == {"nbformat", "pillow"}


# ---------------------------------------------------------------- releases

@pytest.fixture
def release(tmp_path):
    """.ci/release.py, and a copy of what it reads."""
    import pushlab

    for name in ("pyproject.toml", "pushlab/__init__.py", "CITATION.cff", "CHANGELOG.md", "tests/promised.json",
                 ".zenodo.json", f"tests/samples/kept/{pushlab.__version__}/told.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((ROOT / name).read_text(encoding="utf-8"), encoding="utf-8")
    return module(".ci/release.py"), tmp_path


def test_this_version_could_be_released(release):
    import pushlab

    script, root = release
    tag = f"v{pushlab.__version__}"
    assert script.wrong(root, tag) == []
    assert script.main([tag, "--notes", str(root / "build" / "notes.md")], root) == 0
    links = re.findall(r"\]\(([^)]*)\)", (root / "build" / "notes.md").read_text(encoding="utf-8"))
    assert links and all(link.startswith(("https://", "#")) for link in links)


@pytest.mark.parametrize("file, change, told", [
    ("pyproject.toml", (r'^version = ".*"', 'version = "9.9.9"'), "pyproject.toml says 9.9.9"),
    ("pushlab/__init__.py", (r"^__version__ = .*", '__version__ = "9.9.9"'), "pushlab/__init__.py says 9.9.9"),
    ("CITATION.cff", (r"^version: .*", "version: 9.9.9"), "CITATION.cff says 9.9.9"),
    ("CITATION.cff", (r"^date-released: .*", "date-released: 2000-01-01"), "CITATION.cff 2000-01-01"),
    ("CHANGELOG.md", (r"^## \[.*", "## Soon"), "says nothing below"),
    ("tests/promised.json", (r'"version": "[^"]*"', '"version": "9.9.9"'), "tests/promised.json says 9.9.9"),
    (".zenodo.json", (r'"version": "[^"]*"', '"version": "9.9.9"'), ".zenodo.json says 9.9.9"),
])
def test_a_tag_that_fits_not_every_place_is_refused_with_the_place(release, file, change, told):
    import pushlab

    script, root = release
    text = (root / file).read_text(encoding="utf-8")
    (root / file).write_text(re.sub(*change, text, count=0 if file == "CHANGELOG.md" else 1, flags=re.M),
                             encoding="utf-8")
    assert any(told in line for line in script.wrong(root, f"v{pushlab.__version__}"))
    assert script.main([f"v{pushlab.__version__}"], root) == 1


def test_a_release_whose_writing_was_not_kept_is_refused(release):
    import pushlab

    script, root = release
    (kept,) = (root / "tests" / "samples" / "kept").iterdir()
    kept.rename(kept.with_name("0.0.1"))
    assert [line for line in script.wrong(root, f"v{pushlab.__version__}") if "keep.py" in line]


@pytest.mark.parametrize("tag", ["0.7.0", "v0.7", "vnext", "v0.7.0; echo"])
def test_what_is_no_tag_of_a_release_is_refused(release, tag):
    script, root = release
    assert "is no tag of a release" in script.wrong(root, tag)[0]
