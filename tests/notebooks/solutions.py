"""Run the exercises of the notebooks in this process, without a kernel.

An exercise is a code cell tagged "exercise". Below it come cells tagged "check", the first of which
is `check.exercise(n)` alone. A text cell with the folded solution follows, `<details>`, whose one
```python block replaces the exercise cell. wrong/NOTEBOOK.py holds wrong answers, each for the
complete exercise cell, under a line such as

    # %% 2 · forgets to discount

The line of another right answer, which the check must accept, begins with "right: ".
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
    """An exercise of a notebook.

    Attributes:
        position: Position of its cell.
        checks: Positions of the cells of its checks, possibly none.
        solution: Position of the text with the solution, or None.
        code: Code of the solution, or None.
    """

    position: int
    checks: tuple
    solution: int | None
    code: str | None


def exercises(cells):
    """Return the exercises among `cells`, in their order."""

    def tagged(tag, positions):
        return [
            position
            for position in positions
            if tag in cells[position].metadata.get("tags", ())
        ]

    starts = tagged("exercise", range(len(cells)))
    result = []
    for start, end in zip(starts, [*starts[1:], len(cells)]):
        following = range(start + 1, end)
        folded = [
            position for position in following if "<details" in cells[position].source
        ]
        solution = folded[0] if folded else None
        blocks = BLOCK.findall(cells[solution].source) if folded else []
        code = blocks[0] if len(blocks) == 1 else None
        checks = tuple(tagged("check", following))
        result.append(Exercise(start, checks, solution, code))
    return result


def wrong_answers(stem):
    """Return {number of the exercise: {mistake: code}} of a notebook."""
    answers = {}
    text = (HERE / "wrong" / f"{stem}.py").read_text(encoding="utf-8")
    for number, mistake, code in WRONG.findall(text):
        answers.setdefault(int(number), {})[mistake.strip()] = code
    return answers


class Session:
    """Context manager in which cells of a notebook run in this process, with common names.

    Args:
        folder: Working directory of the cells.
    """

    def __init__(self, folder):
        self.module = types.ModuleType("notebook_cells")
        self.context = contextlib.ExitStack()
        self.folder = folder
        self.count = 0

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
        """Run a cell, or only some of its statements; return the printed text.

        If the last statement is an expression, the text of its value in a notebook follows.
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
            module = ast.Module(body[:-1] if last else body, [])
            exec(compile(module, file, "exec"), vars(self.module))
            if last:
                code = compile(ast.Expression(last.value), file, "eval")
                value = eval(code, vars(self.module))
                if value is not None:
                    print(pretty(value))
        plt.close("all")
        return printed.getvalue()


@dataclass
class Attempt:
    """The verdicts on the answers to an exercise.

    Attributes:
        position: Position of the text with the solution.
        wrong: {mistake: output of the first check}, for the stub (STUB) and each wrong answer.
        verdict: Output of the first check for the solution.
        printed: Output of the solution and its checks.
    """

    position: int
    wrong: dict
    verdict: str = ""
    printed: str = ""


def run(path, folder, numbers=None, wrong=None, quotes=False):
    """Run exercises of the notebook at `path`: the stub, wrong answers, then the solution.

    The statements that they need run before. Names that an answer defines stay for the next one, as
    for a student who tries again.

    Args:
        path: The notebook.
        folder: Working directory.
        numbers: Numbers of the exercises to run; all by default.
        wrong: {number: {mistake: code}}; the answers in wrong/ by default.
        quotes: Also run the other checks, whose output the text of a solution quotes.

    Returns:
        {number: Attempt}.
    """
    cells = nbformat.read(path, as_version=4).cells
    wrong = wrong_answers(path.stem) if wrong is None else wrong
    checked = importlib.import_module(f"checks.nb{path.stem[:2]}").check.exercises
    sources = {}
    for position, cell in enumerate(cells):
        if cell.cell_type == "code":
            sources[position] = MAGIC.sub("", cell.source)
    read = dict(sources)  # the code of each cell for the search of needed names
    results = {}
    answers = {}
    targets = {}
    for number, exercise in enumerate(exercises(cells), start=1):
        position = exercise.position
        stub = sources[position]
        sources[position] = exercise.code
        read[position] = exercise.code
        if numbers is None or number in numbers:
            answers[position] = {STUB: stub, **wrong.get(number, {})}
            read[position] = "\n".join([*answers[position].values(), exercise.code])
            arguments = inspect.signature(checked[number].grade).parameters
            read[exercise.checks[0]] += "\n" + "\n".join(arguments)
            results[number] = Attempt(exercise.solution, {})
            checks = exercise.checks if quotes else exercise.checks[:1]
            targets.update(dict.fromkeys((position, *checks), number))
    with Session(folder) as session:
        for position, statements in sorted(needed_statements(read, targets).items()):
            if position not in targets:
                session.run(sources[position], statements)
                continue
            attempt = results[targets[position]]
            for mistake, code in answers.get(position, {}).items():
                session.run(code)
                attempt.wrong[mistake] = session.run(sources[position + 1])
            printed = session.run(sources[position])
            attempt.printed += printed
            if position - 1 in answers:
                attempt.verdict = printed
    return results
