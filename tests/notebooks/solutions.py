"""Exercises of the notebooks, and what becomes of them when their solutions stand in their place.

An exercise is a code cell tagged "exercise". After it come cells tagged "check", the first of them `check.exercise(n)`
and nothing else, the others what the answer makes of the notebook's data; and a text cell with the folded solution,
`<details>`: its one ```python block takes the whole exercise cell's place.

Wrong answers that tempt stand in wrong/NOTEBOOK.py, each for the whole exercise cell too, under a line that says which
exercise it is for and what is wrong with it:

    # %% 2 · forgets to discount
"""

import copy
import re
from dataclasses import dataclass
from pathlib import Path

import nbformat

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
WRONG = re.compile(r"^# %% (\d+) · (.+)\n((?:(?!# %% ).*\n?)*)", re.MULTILINE)
PASSED, REFUSED = "✓", "✗"
PATIENCE = 1800         # seconds; it ends only what hangs: a busy machine may need ten times as long as another
# Pictures and HTML are not compared, so the kernel need not make them: half of a notebook's time.
TEXT_ONLY = "get_ipython().display_formatter.active_types = ['text/plain']"


@dataclass(frozen=True)
class Exercise:
    """Where an exercise, its checks and its solution stand among the cells, and the solution's code.

    checks may be empty, solution and code None, where the notebook lacks them.
    """
    position: int
    checks: tuple
    solution: int | None
    code: str | None


@dataclass(frozen=True)
class Solved:
    """An exercise that was run with its solution: the position of the solution's text, and the cells as they ran.

    wrong  {what is wrong: what the check printed}, of each wrong answer; they ran before the solution did
    """
    position: int | None
    cells: tuple
    wrong: dict


def is_tagged(cell, tag):
    return cell.cell_type == "code" and tag in cell.metadata.get("tags", ())


def exercises(cells):
    """The exercises among `cells`, [Exercise, …], in their order."""
    starts = [position for position, cell in enumerate(cells) if is_tagged(cell, "exercise")]
    found = []
    for start, end in zip(starts, [*starts[1:], len(cells)]):
        after = range(start + 1, end)
        folded = [at for at in after if cells[at].cell_type == "markdown" and "<details" in cells[at].source]
        blocks = BLOCK.findall(cells[folded[0]].source) if folded else []
        found.append(Exercise(
            position=start,
            checks=tuple(at for at in after if is_tagged(cells[at], "check")),
            solution=folded[0] if folded else None,
            code=blocks[0] if len(blocks) == 1 else None,
        ))
    return found


def wrong_answers(path):
    """The wrong answers for the notebook at `path`, {number of the exercise: {what is wrong: code}}."""
    found = {}
    file = Path(__file__).parent / "wrong" / f"{path.stem}.py"
    for number, what, code in WRONG.findall(file.read_text(encoding="utf-8") if file.is_file() else ""):
        found.setdefault(int(number), {})[what.strip()] = code.strip() + "\n"
    return found


def run(notebook, folder, wrong=None):
    """Run a notebook with its solutions in place, as far as the last check, in a fresh kernel in `folder`.

    Before each solution the exercise runs as it stands and with its `wrong` answers, one after the other: as with a
    student who tries, what one leaves behind is there when the next one runs. They meet the first check alone: what
    else is shown of an answer, right or wrong, is for eyes, and may stop with an error.

    wrong    {number of the exercise: {what is wrong: code}}, numbers from 1, such as `wrong_answers` reads
    returns  [Solved, …], one an exercise that has a solution; [] without starting a kernel where there is none
    Raises nbclient's CellExecutionError when a cell fails.
    """
    from nbclient import NotebookClient

    found = exercises(notebook.cells)
    solvable = {one.position: (number, one) for number, one in enumerate(found, start=1) if one.code}
    if not solvable:
        return []
    notebook = copy.deepcopy(notebook)
    last = max(max(one.checks, default=one.position) for _, one in solvable.values())
    cells, attempts = [nbformat.v4.new_code_cell(TEXT_ONLY)], []
    for position, cell in enumerate(notebook.cells[:last + 1]):
        if position in solvable:
            number, one = solvable[position]
            tries = []
            for what, code in {"as it stands": cell.source, **(wrong or {}).get(number, {})}.items():
                tries.append((what, [attempt(code), attempt(notebook.cells[one.checks[0]].source)]))
                cells += tries[-1][1]
            cell.source = one.code
            attempts.append((one, tries, [cell, *(notebook.cells[at] for at in one.checks)]))
        cells.append(cell)
    notebook.cells = cells
    NotebookClient(notebook, timeout=PATIENCE, startup_timeout=PATIENCE, kernel_name="python3",
                   resources={"metadata": {"path": str(folder)}}).execute()
    return [Solved(one.solution, tuple(solved), {what: text_of(ran[1:]) for what, ran in tries})
            for one, tries, solved in attempts]


def attempt(code):
    """A code cell that is run and never saved."""
    return nbformat.v4.new_code_cell(code)


def text_of(cells):
    """What `cells` print, a str."""
    return "\n".join("".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
                     for cell in cells for output in cell.get("outputs", ()))
