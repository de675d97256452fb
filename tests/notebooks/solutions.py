"""Exercises of the notebooks, and a way to run them in this process, without a kernel.

An exercise is a code cell tagged "exercise". Below it come cells tagged "check", the first of which is
`check.exercise(n)` alone, and a text cell with the folded solution, `<details>`, whose one ```python block replaces the
exercise cell. wrong/NOTEBOOK.py holds wrong answers, each for the whole exercise cell, under a line such as

    # %% 2 · forgets to discount

Another right answer, which a check has to accept as well, begins with "right: " there.
"""

import ast
import contextlib
import importlib
import inspect
import io
import linecache
import re
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import nbformat
from slices import needed_statements

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "notebooks"))  # for their `checks`
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WRONG = re.compile(r"^# %% (\d+) · (.+)\n((?:(?!# %% ).*\n?)*)", re.MULTILINE)
MAGIC = re.compile(r"^[%!].*$", re.MULTILINE)
STUB = "as it stands"


@dataclass(frozen=True)
class Exercise:
    """Positions of an exercise, its checks and its solution among the cells, and the solution's code.

    checks may be empty, solution and code None, if the notebook lacks them.
    """

    position: int
    checks: tuple
    solution: int | None
    code: str | None


def exercises(cells):
    """Return the exercises among `cells`, in their order."""

    def tagged(tag, positions):
        return [at for at in positions if tag in cells[at].metadata.get("tags", ())]

    starts = tagged("exercise", range(len(cells)))
    found = []
    for start, end in zip(starts, [*starts[1:], len(cells)]):
        after = range(start + 1, end)
        folded = [at for at in after if "<details" in cells[at].source]
        solution = folded[0] if folded else None
        blocks = BLOCK.findall(cells[solution].source) if folded else []
        code = blocks[0] if len(blocks) == 1 else None
        found.append(Exercise(start, tuple(tagged("check", after)), solution, code))
    return found


def wrong_answers(stem):
    """Return {number of the exercise: {what is wrong: code}} of a notebook."""
    found = {}
    text = (HERE / "wrong" / f"{stem}.py").read_text(encoding="utf-8")
    for number, what, code in WRONG.findall(text):
        found.setdefault(int(number), {})[what.strip()] = code
    return found


class Session:
    """The names of a notebook whose cells run in this process. Use it in a `with` block.

    Args:
        folder: The working directory of the cells.
    """

    def __init__(self, folder):
        self.module = types.ModuleType("notebook_cells")
        self.context = contextlib.ExitStack()
        self.folder, self.count = folder, 0

    def __enter__(self):
        import gymnasium
        import matplotlib

        from pushlab.metrics.lifelong import METRICS

        self.context.enter_context(contextlib.chdir(self.folder))
        for registry in (METRICS, gymnasium.registry):
            self.context.enter_context(mock.patch.dict(registry))
        self.context.enter_context(matplotlib.rc_context({"backend": "Agg"}))
        sys.modules[self.module.__name__] = self.module
        return self

    def __exit__(self, *error):
        del sys.modules[self.module.__name__]
        self.context.close()

    def run(self, source, statements=None):
        """Run a cell, or only some of its statements; return what it prints.

        If the last statement is an expression, the text by which a notebook shows its value follows.
        """
        import matplotlib.pyplot as plt
        from IPython.lib.pretty import pretty

        self.count += 1
        file = f"<cell {self.count}>"
        source = MAGIC.sub("", source)
        lines = source.splitlines(keepends=True)
        linecache.cache[file] = (len(source), None, lines, file)
        body = statements or ast.parse(source).body
        last = body[-1] if isinstance(body[-1], ast.Expr) else None
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            whole = ast.Module(body[:-1] if last else body, [])
            exec(compile(whole, file, "exec"), vars(self.module))
            if last:
                value = compile(ast.Expression(last.value), file, "eval")
                shown = eval(value, vars(self.module))
                if shown is not None:
                    print(pretty(shown))
        plt.close("all")
        return printed.getvalue()


@dataclass
class Tried:
    """What came of an exercise.

    Attributes:
        position: Of the text with the solution.
        wrong: {what is wrong: what the first check prints}, of the stub (STUB) and each wrong
            answer.
        verdict: What the first check prints about the solution.
        printed: What the solution and its checks print.
    """

    position: int
    wrong: dict
    verdict: str = ""
    printed: str = ""


def run(path, folder, numbers=None, wrong=None, quotes=False):
    """Run exercises of the notebook at `path` with what they need: stub, wrong answers, then the
    solution.

    As with a student who tries, what an answer leaves behind is there when the next one runs.

    Returns {number: Tried}.

    Args:
        folder: Working directory.
        numbers: Those of the exercises to run; all by default.
        wrong: {number: {what is wrong: code}}; those of the folder wrong/ by default.
        quotes: Run also the other checks, whose output the text of a solution quotes.
    """
    cells = nbformat.read(path, as_version=4).cells
    wrong = wrong_answers(path.stem) if wrong is None else wrong
    judges = importlib.import_module(f"checks.nb{path.stem[:2]}").check.exercises
    sources = {}
    for at, cell in enumerate(cells):
        if cell.cell_type == "code":
            sources[at] = MAGIC.sub("", cell.source)
    read, found, attempts, targets = dict(sources), {}, {}, {}
    for number, one in enumerate(exercises(cells), start=1):
        stub, sources[one.position] = sources[one.position], one.code
        read[one.position] = one.code
        if numbers is None or number in numbers:
            attempts[one.position] = {STUB: stub, **wrong.get(number, {})}
            read[one.position] = "\n".join([*attempts[one.position].values(), one.code])
            arguments = inspect.signature(judges[number].grade).parameters
            read[one.checks[0]] += "\n" + "\n".join(arguments)
            found[number] = Tried(one.solution, {})
            checks = one.checks if quotes else one.checks[:1]
            targets.update(dict.fromkeys((one.position, *checks), number))
    with Session(folder) as session:
        for at, statements in sorted(needed_statements(read, targets).items()):
            if at not in targets:
                session.run(sources[at], statements)
                continue
            tried = found[targets[at]]
            for what, code in attempts.get(at, {}).items():
                session.run(code)
                tried.wrong[what] = session.run(sources[at + 1])
            printed = session.run(sources[at])
            tried.printed += printed
            if at - 1 in attempts:
                tried.verdict = printed
    return found
