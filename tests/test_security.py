"""What SECURITY.md promises of the library as a whole; of every other promise, that its test is there."""

import ast
import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from pushlab.ground.files import data_dir

ROOT = Path(__file__).resolve().parents[1]
FILES = sorted((ROOT / "pushlab").rglob("*.py"))
# What turns bytes or text into running code. `DataFrame.eval` computes with columns, and is given no text of others.
UNPICKLES = {"pickle.load", "pickle.loads", "joblib.load", "pandas.read_pickle", "pd.read_pickle", "torch.load",
             "cloudpickle.load", "cloudpickle.loads", "marshal.load", "marshal.loads", "shelve.open", "dill.load",
             "eval", "exec", "compile", "yaml.unsafe_load", "yaml.full_load", "os.system", "os.popen"}
BY_NAME = {"import_module", "__import__", "runpy.run_path", "runpy.run_module", "importlib.import_module"}


def calls():
    """(file, the function's name as it is written, call) of each call in the library."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call):
                yield path.relative_to(ROOT / "pushlab").as_posix(), ast.unparse(node.func), node


def test_no_line_of_the_library_unpickles_or_evaluates():
    found = [(file, name) for file, name, call in calls() if name in UNPICKLES
             or any(one.arg == "allow_pickle" or (one.arg == "shell" and ast.unparse(one.value) != "False")
                    for one in call.keywords)]
    assert found == []
    imported = {(getattr(node, "module", None) or alias.name).split(".")[0] for path in FILES
                for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
                if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names}
    assert "json" in imported and not imported & {"pickle", "marshal", "shelve", "dill", "cloudpickle"}


def test_yaml_is_read_without_python_objects():
    loaders = [(file, ast.unparse(call)) for file, name, call in calls() if name.startswith("yaml.load")]
    assert len(loaders) == 1
    source = (ROOT / "pushlab" / loaders[0][0]).read_text(encoding="utf-8")
    assert re.search(r"class Loader\(yaml\.SafeLoader\)|Loader = .*SafeLoader", source)


def test_modules_are_imported_by_name_in_few_places():
    """A new place belongs into SECURITY.md, unless its names are pushlab's own."""
    assert {file for file, name, _ in calls() if name in BY_NAME} == {
        "envs/ode/models/__init__.py",      # the models of pushlab, a fixed list
        "envs/shell.py",                    # `world=` of gym.make, and the table of ids
        "ground/libraries.py",              # libraries of others by fixed names
        "lifetimes/command.py",             # --metrics-from
        "lifetimes/rules.py",               # the worlds of registered ids
        "studies/specs.py",                 # agents of a grid, `my_agent:make`, and the worlds of registered ids
    }


@pytest.mark.parametrize("env", ["beside:Foo-v0", "beside:pushlab/RECEnv-v0"])
def test_a_syllabus_runs_no_module_of_the_folder_it_lies_in(tmp_path, env):
    (tmp_path / "beside.py").write_text("import os\nos.mkdir('ran')\n")
    text = (data_dir() / "syllabi" / "recommender-cl.json").read_text(encoding="utf-8")
    (tmp_path / "syllabus.json").write_text(text.replace('"pushlab/RECEnv-v0"', json.dumps(env)), encoding="utf-8")
    code = ("import sys; sys.path.insert(0, '.')\nfrom pushlab import read_syllabus\n"
            "try:\n    read_syllabus('syllabus.json')\nexcept ValueError as error:\n    print(error)")
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True,
                          env=dict(os.environ, PYTHONPATH=str(ROOT)))
    assert "is registered" in done.stdout and not (tmp_path / "ran").exists(), done.stdout + done.stderr


@pytest.mark.posix
@pytest.mark.parametrize("mode, kept", [(0o700, True), (0o770, False), (0o755, False), (0o1777, False)])
def test_compiled_loops_are_kept_in_a_folder_of_ones_own_or_nowhere(tmp_path, monkeypatch, mode, kept):
    from numba.core import config

    from pushlab.ground import compiled

    monkeypatch.setenv("PUSHLAB_CACHE", str(tmp_path))
    monkeypatch.setattr(config, "CACHE_DIR", "")
    (tmp_path / "loops").mkdir()
    (tmp_path / "loops").chmod(mode)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        place = compiled._OwnFolder.from_function(None, None)
    assert (place is not None) == kept and len(told) == (not kept)
    assert not kept or place.get_cache_path() == str(tmp_path / "loops")


@pytest.mark.parametrize("page", ["SECURITY.md"])
def test_each_promise_names_a_test_that_is_there(page):
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / page).read_text(encoding="utf-8"))
    assert len(named) > 25
    missing = [f"{file}::{test}" for file, test in named
               if not re.search(rf"^def {test}\(", (ROOT / file).read_text(encoding="utf-8"), re.M)]
    assert missing == []


def test_the_supported_version_is_this_one():
    import pushlab

    minor = ".".join(pushlab.__version__.split(".")[:2])
    assert f"the last minor version ({minor})" in (ROOT / "SECURITY.md").read_text(encoding="utf-8")
