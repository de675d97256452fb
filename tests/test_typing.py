"""What a person calls says what it takes and gives, and mypy finds no contradiction, in the notebooks either."""

import ast
import json
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
LOOSE = ("attr-defined", "operator", "no-redef", "misc", "list-item")       # in notebooks
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


def mypy(*arguments):
    """What mypy says with the settings of pyproject.toml, a list of lines; those of errors."""
    command = [sys.executable, "-P", "-m", "mypy", "--config-file", ROOT / "pyproject.toml", *arguments]
    said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert said.returncode in (0, 1), said.stdout + said.stderr
    return [line for line in said.stdout.splitlines() if " error: " in line]


def test_mypy_finds_no_contradiction_in_the_library_and_the_notebooks(tmp_path):
    """What notebooks give to functions is looked at, and not what a cell makes of a name that an earlier one had."""
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        cells = [cell["source"] for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]
                 if cell["cell_type"] == "code"]
        lines = [line for cell in cells for line in [*"".join(cell).splitlines(), ""]]
        code = "\n".join(f"pass  # {line}" if line.startswith(("%", "!")) else line for line in lines)
        (tmp_path / f"notebook_{path.stem}.py").write_text(code, encoding="utf-8")
    said = mypy("--cache-dir", tmp_path / "cache", "--allow-redefinition-new", "--local-partial-types",
                *(f"--disable-error-code={code}" for code in LOOSE), *tmp_path.glob("*.py"))
    # Gymnasium says no more than SupportsFloat of a reward, and a loop over unlike things no more than object.
    assert [line for line in said if "SupportsFloat" not in line and 'type "object"' not in line] == []
    assert mypy("--cache-dir", tmp_path / "cache") == []
