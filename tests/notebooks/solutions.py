"""Exercises of the notebooks, and what becomes of them when their solutions stand in their place.

An exercise is a code cell tagged "exercise". After it come its check, one or more code cells tagged "check", and a text
cell with the folded solution, `<details>`: its one ```python block takes the whole exercise cell's place.
"""

import copy
import re
from dataclasses import dataclass

import nbformat

BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
PASSED = "✓"
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
    """An exercise that was run with its solution: the position of the solution's text, and the cells as they ran."""
    position: int | None
    cells: tuple


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


def run(notebook, folder):
    """Run a notebook with its solutions in place, as far as the last check, in a fresh kernel in `folder`.

    returns  [Solved, …], one an exercise that has a solution; [] without starting a kernel where there is none
    Raises nbclient's CellExecutionError when a cell fails.
    """
    from nbclient import NotebookClient

    solvable = [one for one in exercises(notebook.cells) if one.code]
    if not solvable:
        return []
    notebook = copy.deepcopy(notebook)
    for one in solvable:
        notebook.cells[one.position].source = one.code
    notebook.cells = notebook.cells[:max(max(one.checks, default=one.position) for one in solvable) + 1]
    notebook.cells.insert(0, nbformat.v4.new_code_cell(TEXT_ONLY))
    NotebookClient(notebook, timeout=PATIENCE, startup_timeout=PATIENCE, kernel_name="python3",
                   resources={"metadata": {"path": str(folder)}}).execute()
    ran = notebook.cells[1:]
    return [Solved(one.solution, tuple(ran[at] for at in (one.position, *one.checks))) for one in solvable]


def text_of(cells):
    """What `cells` print, a str."""
    return "\n".join("".join(output.get("text") or output.get("data", {}).get("text/plain", ""))
                     for cell in cells for output in cell.get("outputs", ()))
