"""What a person calls says what it takes and gives, and mypy finds no contradiction, in the notebooks either."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "pushlab"
COMPILED = ("compiled", "inlined", "inner")         # numba finds the types of these itself
# What every agent, every world and every model's equations answer is typed once, in Agent, World and Model.
PROTOCOL = {"agents": {"begin", "begin_task", "act", "learn", "state", "load"},
            "envs": {"initial", "advance", "observe", "reward", "terminated", "truncated", "mask", "info", "solo",
                     "frame", "derivative", "upper", "settled", "indicators", "invariant", "advance_batch",
                     "advance_in_steps", "advance_by_scipy"}}
IN_NOTEBOOKS = """
[[tool.mypy.overrides]]
module = "course.*"
disable_error_code = ["var-annotated", "attr-defined", "operator", "no-redef", "misc", "list-item"]
allow_redefinition_new = true
local_partial_types = true

[[tool.mypy.overrides]]
module = [
    "coverage.*", "debugpy.*", "distributed.*", "IPython.*", "jupyter_client.*", "jupyter_server.*", "markdown_it.*",
    "numba.*", "prometheus_client.*", "prompt_toolkit.*", "pydantic.*", "rich.*", "wcwidth.*",
]
follow_imports = "skip"
"""
FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")


def public(body, said=()):
    """Functions and methods of a class or module that have no underscore and are not said elsewhere; constructors."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public(node.body, said if node.name not in ("Agent", "World") else ())
        elif isinstance(node, ast.FunctionDef) and node.name not in said and (
                node.name == "__init__" or not node.name.startswith("_")):
            decorators = [ast.unparse(one).split("(")[0] for one in node.decorator_list]
            if not any(name.startswith(COMPILED) for name in decorators):
                yield node


def lacking(function):
    """The parameters of a function without a type, and "return"."""
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    bare = [one.arg for one in every if one is not None and one.annotation is None and one.arg not in ("self", "cls")]
    return bare + (["return"] if function.returns is None and function.name != "__init__" else [])


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_public_functions_are_annotated(path):
    said = PROTOCOL.get(path.relative_to(PACKAGE).parts[0], ())
    bare = {f"line {function.lineno}, {function.name}": lacking(function)
            for function in public(ast.parse(path.read_text(encoding="utf-8")).body, said)}
    assert {name: names for name, names in bare.items() if names} == {}


def test_types_ship_with_the_package():
    assert (PACKAGE / "py.typed").is_file()


def test_mypy_finds_no_contradiction_in_the_library_and_the_notebooks(tmp_path):
    """What notebooks give to functions is looked at, and not what a cell makes of a name that an earlier one had.

    One run for both, as most of it goes to the libraries that both import: pyproject.toml's settings, and the
    notebooks' own.
    """
    course = tmp_path / "course"
    course.mkdir()
    (course / "__init__.py").touch()
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = [cell["source"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
                 if cell["cell_type"] == "code"]
        lines = [line for cell in cells for line in [*"".join(cell).splitlines(), ""]]
        code = "\n".join(f"pass  # {line}" if line.startswith(("%", "!")) else line for line in lines)
        (course / f"notebook_{path.stem}.py").write_text(code, encoding="utf-8")
    settings = tmp_path / "pyproject.toml"
    settings.write_text((ROOT / "pyproject.toml").read_text(encoding="utf-8") + IN_NOTEBOOKS, encoding="utf-8")
    command = [sys.executable, "-P", "-m", "mypy", "--config-file", settings, "--cache-dir", os.devnull]
    done = subprocess.run([*command, PACKAGE, course], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    said = [line for line in done.stdout.splitlines() if " error: " in line]
    # Gymnasium says no more than SupportsFloat of a reward, a loop over unlike things no more than object, and a list
    # that is unpacked nothing of how many it holds.
    unsure = ("SupportsFloat", 'type "object"', 'type "*list[')
    assert [line for line in said if not ("notebook_" in line and any(word in line for word in unsure))] == []
