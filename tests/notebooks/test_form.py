"""`refresh.py --form`, which runs before a commit: it changes the form of what was saved, and nothing that is read."""

import base64
import io

import nbformat
import pytest
import refresh
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output


@pytest.mark.parametrize("path", refresh.find_notebooks(()), ids=lambda path: path.stem)
def test_saved_notebooks_are_in_the_form_already(path, tmp_path):
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    assert not refresh.form(copy) and copy.read_bytes() == path.read_bytes()


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """A notebook as JupyterLab saves it after Restart and Run All: with versions, timings and a widget's view."""
    from PIL import Image

    picture = io.BytesIO()
    Image.effect_noise((60, 40), 90).convert("RGB").save(picture, "PNG")
    shown = new_output("display_data", {"image/png": base64.encodebytes(picture.getvalue()).decode(),
                                        refresh.WIDGET_VIEW: {"model_id": "1"}, "text/plain": "<Figure>"},
                       metadata={"image/png": {"alt": "Opens a day."}})
    cells = [new_markdown_cell("# A day"),
             new_code_cell("print('seven'); print('eight')", execution_count=1, metadata={
                 "tags": ["setup"], "execution": {"iopub.execute_input": "2026-11-23T01:00:00"}, "trusted": True},
                 outputs=[new_output("stream", name="stdout", text="seven\n"),
                          new_output("stream", name="stdout", text="eight\n"), shown]),
             new_code_cell("2 + 2", execution_count=2,
                           outputs=[new_output("execute_result", {"text/plain": "4"}, execution_count=2)])]
    notebook = new_notebook(cells=cells, metadata={
        "kernelspec": {"display_name": "mine", "language": "python", "name": "mine"}, "widgets": {},
        "language_info": {"name": "python", "version": "3.12.1"}})
    path = tmp_path / "day.ipynb"
    nbformat.write(notebook, path)
    monkeypatch.setattr(refresh, "NOTEBOOKS", tmp_path)
    monkeypatch.setattr(refresh.find_notebooks, "__defaults__", (tmp_path,))
    return path


def change(path, **others):
    """Writes the notebook with some fields of its first code cell changed."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells[1].update(others)
    nbformat.write(notebook, path)


def test_what_is_read_stays_and_the_rest_goes_once_and_for_all(saved, capsys):
    before = nbformat.read(saved, as_version=4)
    assert refresh.main(["--form", "day"]) == 0 and "brought into the normal form" in capsys.readouterr().out
    after = nbformat.read(saved, as_version=4)
    assert after.metadata == {"kernelspec": refresh.KERNELSPEC, "language_info": {"name": "python"}}
    assert [cell.source for cell in after.cells] == [cell.source for cell in before.cells]
    assert [cell.id for cell in after.cells] == [cell.id for cell in before.cells]
    words, picture = after.cells[1].outputs
    assert words.text == "seven\neight\n" and after.cells[1].metadata == {"tags": ["setup"]}
    assert set(picture.data) == {"image/png", "text/plain"}
    assert picture.metadata["image/png"]["alt"] == "Opens a day. seven eight"
    assert after.cells[2].outputs == before.cells[2].outputs
    formed = saved.read_bytes()
    assert refresh.main(["--form", "day"]) == 0 and capsys.readouterr().out == "" and saved.read_bytes() == formed


@pytest.mark.parametrize("others, why", [
    ({"execution_count": None, "outputs": []}, "not run once each from top to bottom"),
    ({"execution_count": 7}, "not run once each from top to bottom"),
])
def test_what_was_not_run_as_a_whole_is_refused_and_stays(saved, capsys, others, why):
    change(saved, **others)
    before = saved.read_bytes()
    assert refresh.main(["--form", "day.ipynb"]) == 1 and saved.read_bytes() == before
    told = capsys.readouterr().out
    assert why in told and "make notebooks NAMES=day" in told


def test_outputs_that_were_taken_away_are_missed(saved, capsys):
    notebook = nbformat.read(saved, as_version=4)
    for cell in notebook.cells[1:]:
        cell.outputs = []
    nbformat.write(notebook, saved)
    assert refresh.main(["--form", "day"]) == 1 and "it has no outputs" in capsys.readouterr().out
