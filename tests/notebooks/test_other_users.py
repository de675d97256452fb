"""A notebook that begins with `USER = "mira"` runs from top to bottom for another user, too."""

import copy
import json
from pathlib import Path

import nbformat
import pytest
import solutions
from nbclient import NotebookClient

MIRA, NOOR = 'USER = "mira"', 'USER = "noor"'
NOTEBOOKS = [path for path in sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
             if json.dumps(MIRA)[1:-1] in path.read_text(encoding="utf-8")]


def test_the_first_two_notebooks_name_their_user_once():
    assert {"00_start_here", "01_the_data"} <= {path.stem for path in NOTEBOOKS}
    for path in NOTEBOOKS:
        cells = nbformat.read(path, as_version=4).cells
        assert sum(cell.source.count(MIRA) for cell in cells if cell.cell_type == "code") == 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_follows_the_user(path):
    notebook = copy.deepcopy(nbformat.read(path, as_version=4))
    for cell in notebook.cells:
        cell.source = cell.source.replace(MIRA, NOOR)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(solutions.TEXT_ONLY))
    NotebookClient(notebook, timeout=solutions.PATIENCE, startup_timeout=solutions.PATIENCE, kernel_name="python3",
                   resources={"metadata": {"path": str(path.parent)}}).execute()
    said = solutions.text_of([cell for cell in notebook.cells if cell.cell_type == "code"])
    assert "noor" in said.lower() and "user 'mira'" not in said
