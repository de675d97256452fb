"""Promises of SECURITY.md that concern the whole library."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[1]
RUN_CODE = {"eval", "exec", "compile", "os.system", "os.popen", "yaml.unsafe_load"}
UNPICKLE = {"pickle", "marshal", "shelve", "dill", "cloudpickle"}

pytestmark = pytest.mark.slow


def test_library_never_unpickles_or_evaluates_code():
    for path in (ROOT / "pushlab").rglob("*.py"):
        if path.name == "compiled.py":  # reads its own cache, see SECURITY.md
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call):
                assert ast.unparse(node.func) not in RUN_CODE, path
                keywords = {keyword.arg for keyword in node.keywords}
                assert not keywords & {"allow_pickle", "shell"}, path
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {alias.name for alias in node.names}
                names.add(getattr(node, "module", None))
                if names != {
                    "pickle",
                    "PickleError",
                }:  # imported to catch the exception
                    assert not names & UNPICKLE, path


def test_command_ignores_modules_in_the_current_folder(tmp_path):
    for name in ("typer", "numpy", "pandas", "gymnasium", "filelock"):
        (tmp_path / f"{name}.py").write_text("import os\nos.mkdir('ran')\n")
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    environment.pop("PYTHONSAFEPATH", None)
    command = [sys.executable, "-m", "pushlab", "contexts", "mira", "--out", "c.csv"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert result.returncode == 0, result.stderr
    assert not (tmp_path / "ran").exists()
