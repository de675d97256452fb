"""An edited line always counts: what is kept on disk, of compiled loops and of studies, is never that of old code."""

import ast
import compileall
import importlib
import json
import os
import pkgutil
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import pushlab
from pushlab.ground.content import Unknown, of_function, of_modules, reached

PACKAGE = Path(pushlab.__file__).parent
numba = pytest.importorskip("numba")


# ---------------------------------------------------------------- in this process: which loops reach what

def modules_with_loops():
    """The names of the modules that have loops of their own, found by importing all but those for pictures."""
    from pushlab.ground.compiled import ContentCache

    names = [found.name for found in pkgutil.walk_packages(pushlab.__path__, "pushlab.")
             if not found.name.startswith(("pushlab.plots", "pushlab.__main__", "pushlab.studies"))]
    return sorted({name for name in names for thing in vars(importlib.import_module(name)).values()
                   if isinstance(getattr(thing, "_cache", None), ContentCache) and thing.__module__ == name})


def kept_loops(names):
    """{name: loop} of all that is compiled and kept: those of these modules, and those made for each model."""
    from pushlab.envs.ode.integrate import LANES, METHODS, integrator
    from pushlab.envs.ode.models import MODELS, load_model
    from pushlab.ground.compiled import ContentCache

    modules = [importlib.import_module(name) for name in names]
    loops = [thing for module in modules for thing in vars(module).values()
             if isinstance(getattr(thing, "_cache", None), ContentCache) and thing.__module__ == module.__name__]
    for name in MODELS:
        model = load_model(name)
        parts = model.derivative, model.reward, len(model.names)
        loops += [integrator(*parts), *(integrator(*parts, LANES, method) for method in METHODS)]
    return {f"{loop.__module__}.{loop.__qualname__}": loop for loop in loops}


def reach(function, found=None):
    """{(module, name)} of the pushlab functions and of the constants that a function reaches, as Python sees them.

    Written without a look at how `pushlab.ground.content` does it: names in the code, in the function's own globals.
    """
    found = set() if found is None else found
    function = getattr(function, "py_func", function)
    inside = [cell.cell_contents for cell in function.__closure__ or ()]
    names = names_in(function.__code__)
    for name in names:
        inside.append(function.__globals__.get(name))
        if isinstance(inside[-1], ModuleType) and inside[-1].__name__.startswith("pushlab."):
            found |= {(inside[-1].__name__, one) for one in names if one.isupper() and hasattr(inside[-1], one)}
        if isinstance(inside[-1], int | float | tuple | np.ndarray | np.generic) and name.isupper():
            found.add((where_set(function.__module__, name), name))
    for thing in inside:
        below = getattr(thing, "py_func", thing)
        if hasattr(below, "__code__") and (below.__module__ or "").startswith("pushlab"):
            place = below.__module__, below.__name__
            if place not in found:
                found.add(place)
                reach(below, found)
    return found


def names_in(code):
    return {*code.co_names, *(name for part in code.co_consts if hasattr(part, "co_names") for name in names_in(part))}


def where_set(module, name):
    """The module in which a constant is set: it may come to this one by an import."""
    for node in ast.walk(ast.parse(Path(sys.modules[module].__file__).read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and any((alias.asname or alias.name) == name for alias in node.names):
            return where_set(node.module, name)
    return module


# ---------------------------------------------------------------- in the next process: an edited copy of the package

KEYS = """
import json, os, sys
import gymnasium, numba, numpy, pandas, pytest, scipy.sparse            # once for all the processes that are forked
names = json.loads(sys.argv[1])
for line in sys.stdin:
    path, text, before = json.loads(line)
    if path:
        open(path, "w", encoding="utf-8").write(text)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        from tests.test_compiled import kept_loops
        from pushlab.ground.content import of_function
        keys = {name: of_function(loop)[:12] for name, loop in kept_loops(names).items()}
        os.write(writer, json.dumps(keys).encode())
        os._exit(0)
    os.close(writer)
    with open(reader) as told:
        print(told.read(), flush=True)
    if os.waitpid(child, 0)[1]:
        sys.exit("the edited package could not be imported")
    if path:
        open(path, "w", encoding="utf-8").write(before)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The package, in a folder of its own."""
    folder = tmp_path_factory.mktemp("edited")
    shutil.copytree(PACKAGE, folder / "pushlab", ignore=shutil.ignore_patterns("__pycache__", "data"))
    shutil.copytree(Path(__file__).parent, folder / "tests", ignore=lambda where, names: [
        name for name in names if name not in ("tests", "test_compiled.py")])
    compileall.compile_dir(folder / "pushlab", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    data = next(place for place in (PACKAGE / "data", PACKAGE.parent / "data") if place.is_dir())
    (folder / "data").symlink_to(data, target_is_directory=True)
    return folder


def edited(source, name):
    """The text of a module in which this constant is another one, or this function does one thing more."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef) and node.name == name:
            first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
            lines = source.splitlines(keepends=True)
            lines.insert(first.lineno - 1, " " * first.col_offset + "changed = 1\n")
            return "".join(lines)
    return f"{source}\n{name} = {name}[:-1] if isinstance({name}, tuple) else {name} + 1\n"


@pytest.mark.posix
def test_every_edit_reaches_every_loop_that_it_should_and_no_other(copy):
    """What each loop reaches in other files is edited there, one thing after the other: the next process knows."""
    names = modules_with_loops()
    loops = kept_loops(names)
    reaches = {name: reach(loop) for name, loop in loops.items()}
    places = sorted({place for name, loop in loops.items() for place in reaches[name]
                     if place[0] != loop.__module__})
    assert len(places) >= 60 and {("pushlab.metrics.push", "POINTS"), ("pushlab.envs.stream", "number"),
                                  ("pushlab.envs.ode.models.world3_tables", "FECUNDITY")} <= set(places)
    edits = [(None, None, None)]
    for module, name in places:
        path = copy.joinpath(*module.split(".")).with_suffix(".py")
        path = path if path.exists() else path.with_suffix("") / "__init__.py"
        source = path.read_text(encoding="utf-8")
        edits.append((str(path), edited(source, name), source))
    told = subprocess.run([sys.executable, "-c", KEYS, json.dumps(names)], capture_output=True, text=True, cwd=copy,
                          input="\n".join(map(json.dumps, edits)) + "\n")
    assert told.returncode == 0, told.stderr[-2000:]
    first, *others = map(json.loads, told.stdout.splitlines())
    assert first == {name: of_function(loop)[:12] for name, loop in loops.items()}
    for place, keys in zip(places, others):
        changed = {name for name in keys if keys[name] != first[name]}
        expected = {name for name, loop in loops.items()
                    if place in reaches[name] or place == (loop.__module__, loop.__name__)}
        assert expected <= changed, f"{place} was edited, and {expected - changed} would not have been compiled anew"
        # An edit may also change what is made of it as its module is read; loops that have nothing of that one stay.
        near = {name for name, loop in loops.items() if place[0] in {loop.__module__, *dict(reaches[name])}}
        assert changed <= near, f"{place} was edited, and {changed - near} would have been compiled for nothing"


SEEN = {
    ("metrics/push.py", "POINTS"): """
import gymnasium as gym, pushlab
env = gym.make("pushlab/evalumap1-v0")
env.reset(seed=0)
print([float(env.step(env.action_space.sample() * 0)[1]) for _ in range(40)])
""",
    ("envs/stream.py", "number"): """
import gymnasium as gym, pushlab
env = gym.make("pushlab/RoomEnv-v0")
print(env.reset(seed=3)[0], [env.step("x")[0] for _ in range(5)])
""",
}


@pytest.mark.posix
@pytest.mark.parametrize("place", SEEN, ids=lambda place: place[1])
def test_the_next_process_shows_what_the_edited_line_does(copy, tmp_path, place):
    """As plain Python does; and with the line taken back, as before."""
    path, name = copy / "pushlab" / place[0], place[1]
    source = path.read_text(encoding="utf-8")
    others = {"POINTS": f"{source}\n{name} = {name} * 7\n",
              "number": source.replace("return (word ^ (word >> 15)) * 2.0**-32",
                                       "return 1.0 - 2.0**-32 - (word ^ (word >> 15)) * 2.0**-32")}
    assert others[name] != source

    def run(text, **more):
        path.write_text(text, encoding="utf-8")
        told = subprocess.run([sys.executable, "-c", SEEN[place]], capture_output=True, text=True, cwd=copy,
                              env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(copy), **more})
        assert told.returncode == 0, told.stderr[-2000:]
        return told.stdout

    try:
        before, after = run(source), run(others[name])
        assert after != before and after == run(others[name], NUMBA_DISABLE_JIT="1")
        assert run(source) == before
    finally:
        path.write_text(source, encoding="utf-8")


# ---------------------------------------------------------------- the files

def test_words_of_explanation_and_places_in_a_file_do_not_count():
    def one(x):
        """It says this."""
        return x + 1

    first = of_function(one)

    def one(x):
        """It says that."""

        # and more
        return x + 1

    assert of_function(one) == first

    def one(x):
        return x + 2

    assert of_function(one) != first


CELLS = """
import sys
from pushlab.ground import compiled
RATE = float(sys.argv[1])
inside = getattr(compiled, sys.argv[2])
def grown(x):
    return x * (1.0 + RATE)
def make():
    return inside(grown)
grown_once = make()
def loop(x):
    for _ in range(3):
        x = grown_once(x)
    return x
print(compiled.compiled_for(loop, "cells")(1.0))
for rate in map(float, sys.argv[3:]):               # cells that are run again, but not the one that defines `grown`
    RATE = rate
    print(compiled.compiled_for(loop, "cells")(1.0))
"""


@pytest.mark.parametrize("inside", ["inner", "compiled_numeric"])
def test_what_was_compiled_before_an_edit_is_not_kept_under_the_new_content(tmp_path, inside):
    """numba keeps to a function as it was first compiled in a process, and so does what is compiled around it later."""
    path = tmp_path / "cells.py"
    path.write_text(CELLS, encoding="utf-8")

    def run(*rates):
        return subprocess.run([sys.executable, path, rates[0], inside, *rates[1:]], capture_output=True, text=True,
                              check=True, env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}).stdout.split()

    assert run("0.5", "1.0")[0] == "3.375"
    assert run("1.0") == ["8.0"] and run("0.5") == ["3.375"]


def test_what_cannot_be_told_is_not_kept(tmp_path, monkeypatch):
    """An enumeration's values are hidden in it: such a loop is compiled in each process, and is right in each."""
    import enum

    from numba.core import config

    from pushlab.ground.compiled import compiled_for

    class Speed(enum.IntEnum):
        SLOW = 2

    def loop(x):
        return x * SPEED.SLOW                               # noqa: F821

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    with pytest.raises(Unknown, match="Speed"):
        of_function(compiled_for(loop, "enumerated", SPEED=Speed))
    assert compiled_for(loop, "enumerated", SPEED=Speed)(10) == 20
    assert not list(tmp_path.rglob("*.nbc"))


def test_an_interrupted_writer_leaves_nothing_that_is_taken_for_new(tmp_path):
    """The index is written before the loop itself: stopped between the two, the loop is compiled again."""
    folder, code = tmp_path / "kept", """
from pushlab.envs.stream import number
print(number(0.25, 3), sum(number.stats.cache_hits.values()))
"""

    def run():
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path,
                              env={**os.environ, "NUMBA_CACHE_DIR": str(folder)}).stdout.split()

    value, hits = run()
    assert hits == "0" and run() == [value, "1"]
    loop, = folder.rglob("*.nbc")
    loop.unlink()
    assert run() == [value, "0"] and run() == [value, "1"]


@pytest.mark.posix
def test_a_loop_is_compiled_anew_when_what_it_calls_has_moved_to_another_file(copy):
    """What is kept names the file of each function in it, and would ask there in vain."""
    place, answer = copy / "pushlab" / "agents", {}
    code = "from pushlab.agents.outer import loop; print(loop(2.0))"
    inner = "from pushlab.ground.compiled import compiled\n\n\n@compiled\ndef twice(x):\n    return 2 * x\n"
    for home, other in (("here", "there"), ("there", "here")):
        (place / f"{home}.py").write_text(inner, encoding="utf-8")
        (place / f"{other}.py").unlink(missing_ok=True)
        (place / "outer.py").write_text(
            f"from pushlab.agents.{home} import twice\nfrom pushlab.ground.compiled import compiled\n\n\n"
            "@compiled\ndef loop(x):\n    return twice(x) + 1\n", encoding="utf-8")
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=copy,
                              env={**os.environ, "PYTHONPATH": str(copy)})
        answer[home] = told.stdout.strip() or told.stderr
    for file in ("here", "there", "outer"):
        (place / f"{file}.py").unlink(missing_ok=True)
    assert answer == {"here": "5.0", "there": "5.0"}


def test_few_former_states_of_a_loop_stay(tmp_path, monkeypatch):
    from numba.core import config

    from pushlab.envs.stream import number
    from pushlab.ground.compiled import KEPT, compiled_for

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))

    def loop(x):
        return x + SHIFT                                    # noqa: F821

    for shift in range(KEPT + 3):
        assert compiled_for(loop, "shifted", SHIFT=shift)(1) == 1 + shift
    assert len(list(tmp_path.rglob("*loop_shifted*.nbi"))) == len(list(tmp_path.rglob("*loop_shifted*.nbc"))) == KEPT
    assert number(0.5, 1) == number.py_func(0.5, 1)


def test_what_loops_alone_call_runs_in_python_as_it_is_written():
    """Without that a call from Python would end the process."""
    from pushlab.envs.push.view import age_code, count_code

    assert (count_code(7), age_code(100)) == (6, 2)


# ---------------------------------------------------------------- studies

@pytest.mark.parametrize("study", ["cold_start", "managing_arrivals", "lifelong", "interventions"])
def test_a_study_knows_the_modules_that_its_numbers_come_from(study):
    """Judges, the stream of chance and the points among them, which a list by hand once lacked."""
    found = reached(f"pushlab.studies.{study}")
    assert {"pushlab.envs.ode.integrate" if study == "interventions" else "pushlab.users.judges",
            "pushlab.metrics.estimate.intervals"} <= found
    if study in ("managing_arrivals", "lifelong"):
        assert {"pushlab.envs.stream", "pushlab.envs.push.rules", "pushlab.users.synthesis.day"} <= found
    if study == "cold_start":
        assert {"pushlab.envs.evalumap", "pushlab.metrics.push", "pushlab.agents.bandits"} <= found
    assert not any(name.startswith("pushlab.plots") for name in found)


def test_a_name_that_a_package_loads_when_it_is_asked_for_is_followed_to_its_module():
    from pushlab.ground.content import _module

    assert _module("pushlab.rollout") == "pushlab.logs.rollout" and _module("pushlab.agents.LinUCB") == (
        "pushlab.agents.bandits") == _module("pushlab.agents.bandits.LinUCB")
    assert "pushlab.agents.bandits" in reached("pushlab.agents")


@pytest.mark.posix
def test_an_edit_in_a_module_that_is_reached_changes_the_key_and_a_comment_does_not(copy):
    code = "from pushlab.ground.content import of_modules; print(of_modules('pushlab.studies.lifelong'))"

    def key(text):
        path.write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=copy,
                              env={**os.environ, "PYTHONPATH": str(copy)}).stdout

    path = copy / "pushlab" / "envs" / "stream.py"
    source = path.read_text(encoding="utf-8")
    try:
        keys = [key(source), key(f"# a word\n{source}"), key(source.replace("0x45D9F3B", "0x45D9F3D")), key(source)]
    finally:
        path.write_text(source, encoding="utf-8")
    assert keys[0] == keys[1] == keys[3] != keys[2]
    assert keys[0].strip() == of_modules("pushlab.studies.lifelong")


PARTS = """
import numpy as np
from pushlab.ground.compiled import compiled, inner

@inner
def part(rows):
    total = 0.0
    for at in range(len(rows)):
        for step in range(5):
            total += rows[at]["a"] * FACTOR + step
            if total > 1e9:
                total = total / 3.0
    return total

def make(**types):
    rows = np.zeros(3, list(types.items()))
    rows["a"], rows["b"] = [1, 2, 3], 100

    @compiled
    def loop(rows):
        return part(rows) + part(rows[1:]) + part(rows[2:])
    return loop, rows
"""
MADE = {"a kind of record each": ("2.0", ["a='f8', b='f8'", "b='f8', c='f8', a='f8'"]),
        "before and after an edit": (None, ["a='f8', b='f8'"] * 2)}
RUN = """
import importlib, os, sys
text = open("parts.py").read()
import pushlab.ground.compiled
def run(factor, types):
    open("thing.py", "w").write(text.replace("FACTOR", factor))
    thing = importlib.reload(sys.modules["thing"]) if "thing" in sys.modules else importlib.import_module("thing")
    loop, rows = eval(f"thing.make({types})")
    print(loop(rows), loop.py_func(rows), sum(loop.stats.cache_hits.values()), flush=True)
makers = sys.argv[2:]
if sys.argv[1] == "fork":
    for each in makers:
        if not (child := os.fork()):
            run(*each.split("|"))
            os._exit(0)
        os.waitpid(child, 0)
else:
    for each in makers:
        run(*each.split("|"))
"""


@pytest.mark.parametrize("start", ["spawn", pytest.param("fork", marks=pytest.mark.posix)])
@pytest.mark.parametrize("kind", MADE)
def test_loops_that_two_processes_compiled_share_no_parts_in_a_third(tmp_path, kind, start):
    """numba counts functions and records in each process anew: parts of two loops would have one name."""
    factor, types = MADE[kind]
    makers = [f"{factor or number}|{each}" for number, each in zip(("2.0", "3.0"), types)]
    (tmp_path / "parts.py").write_text(PARTS, encoding="utf-8")
    more = {"PYTHONPATH": os.pathsep.join([str(PACKAGE.parent), str(tmp_path)]), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(*words):
        told = subprocess.run([sys.executable, "-c", RUN, *words], capture_output=True, text=True, cwd=tmp_path,
                              env={**os.environ, **more, "NUMBA_CACHE_DIR": str(tmp_path / "kept")})
        assert told.returncode == 0, told.stderr[-2000:]
        return [line.split() for line in told.stdout.splitlines()]

    for hits, found in (("0", run("fork", *makers) if start == "fork" else [*run("", makers[0]), *run("", makers[1])]),
                        ("1", run("", *makers))):
        assert [seen for seen, _, _ in found] == [expected for _, expected, _ in found]
        assert [found_on_disk for _, _, found_on_disk in found] == [hits, hits]
