"""Saved notebooks read well without a kernel and can be compared with a new run.

nbval compares text outputs. These tests check pictures and cells that were never run.
"""

import ast
import base64
import io
import itertools
import re

import course
import minutes
import nbformat
import numpy as np
import pytest
import refresh
import solutions
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from PIL import Image

PATHS = refresh.find_notebooks()
MAX_CELL_LINES = 25  # after joining wrapped lines
MAX_PICTURE_SIZE = 150_000  # bytes of PNG
MAX_RUN_SECONDS = 15  # CPU seconds
MAX_BYTES = 500_000  # of a notebook
MAX_READING = 60  # minutes
MAX_PRACTICE = 90  # minutes of exercises
MACHINE_PATH = re.compile(
    r"(?<![\w.])/(?:home|root|Users|tmp|work|opt|usr|var)/\w|site-packages|\b[A-Z]:\\\\?Users"
)
BARE_REPR = re.compile(r"^\[?<[^>]*>\]?$|^(?:Figure|Text)\(")
CAPITALS = re.compile(r"\b[A-Z]{5,}\d*\b")
CODE_AND_LINKS = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)
ACRONYMS = {"SMART", "SCOPE", "DARPA", "SWITCH", "MAGIC", "SARSA", "REINFORCE"}


def issues_of_outputs(outputs):
    """Return the issues of the outputs of a cell, a list of str."""
    messages = []
    has_picture = False
    words = ""
    for output in outputs:
        data = dict(output.get("data", {}))
        picture = data.pop("image/png", None)
        if output.output_type == "error":
            messages.append(f"{output.ename}: {output.evalue}")
        elif output.get("name") == "stderr":
            messages.append(f"stderr: {output.text}")
        elif MACHINE_PATH.search(
            output.get("text", "") + " ".join(map(str, data.values()))
        ):
            messages.append("a path of one machine")
        if picture:
            has_picture = True
            if len(base64.b64decode(picture)) > MAX_PICTURE_SIZE:
                messages.append("a large picture")
            if not output.metadata.get("image/png", {}).get("alt"):
                messages.append("a picture without an alternative text")
        value = data.get("text/plain", "").strip()
        text = output.get("text", "").removeprefix(refresh.ANSWER)
        words += text.strip() or BARE_REPR.sub("", value)
    if has_picture and not words:
        messages.append("a picture without a line of text that nbval can compare")
    return messages


def issues(notebook):
    """Return the issues of a saved notebook, a list of str."""
    messages = [refresh.unrun_reason(notebook)]
    has_guess = False
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            has_guess = has_guess or "**Guess" in cell.source
            capitals = CAPITALS.findall(CODE_AND_LINKS.sub("", cell.source))
            messages += [
                f"{word}: a placeholder?" for word in capitals if word not in ACRONYMS
            ]
            continue
        if has_guess and cell.outputs:
            has_guess = False
            if not cell.metadata.get("jupyter", {}).get("outputs_hidden"):
                messages.append("the answer to a guess is not folded (outputs_hidden)")
            if not cell.source.startswith(f'print("{refresh.ANSWER}")\n'):
                messages.append(
                    "the first line of a folded output gives the answer away"
                )
        unwrapped = ast.unparse(ast.parse(solutions.MAGIC.sub("", cell.source)))
        if len(unwrapped.splitlines()) > MAX_CELL_LINES:
            messages.append(f"a long cell: {cell.source[:60]}")
        messages += issues_of_outputs(cell.outputs)
    return [issue for issue in messages if issue]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_saved_notebook_is_complete_readable_and_in_the_normal_form(path, tmp_path):
    notebook = nbformat.read(path, as_version=4)
    assert issues(notebook) == []
    exercises = solutions.exercises(notebook.cells)
    wrong = solutions.wrong_answers(path.stem)
    for number, exercise in enumerate(exercises, start=1):
        assert exercise.code, (
            f"exercise {number}: one ```python block in a folded solution"
        )
        verdict = notebook.cells[exercise.position + 1].source
        assert verdict == f"check.exercise({number})", "alone in its cell"
        assert len(wrong[number]) >= 2, f"exercise {number}: two wrong answers"
    length = minutes.length(notebook)
    assert path.stat().st_size < MAX_BYTES
    assert length.reading <= MAX_READING
    assert length.practice <= MAX_PRACTICE
    points = [points for points, _ in length.exercises]
    assert points == list(course.max_points(path).values())
    copy = tmp_path / path.name
    copy.write_bytes(path.read_bytes())
    assert refresh.form(copy) == "", (
        f"python tests/notebooks/refresh.py --form {path.stem}"
    )


def printing(*outputs, source="draw()"):
    cells = [new_code_cell(source, execution_count=1, outputs=list(outputs))]
    return new_notebook(cells=[new_markdown_cell("**Guess** or SMART?"), *cells])


def picture(text="", alt="a"):
    data = {"image/png": base64.b64encode(b"\x89PNG").decode(), "text/plain": text}
    return new_output("display_data", data, metadata={"image/png": {"alt": alt}})


@pytest.mark.parametrize(
    ("notebook", "issue"),
    [
        (printing(), "it has no outputs"),
        (printing(new_output("error", ename="NameError", evalue="x")), "NameError: x"),
        (printing(new_output("stream", text="/".join(["", "home", "ada"]))), "a path"),
        (printing(picture("<Figure size 600x400>")), "without a line of text"),
        (printing(picture("best 0.61", alt="")), "without an alternative text"),
        (printing(picture("best 0.61")), "not folded"),
        (printing(picture("best 0.61"), source="x\n" * 26), "a long cell"),
    ],
)
def test_a_broken_rule_is_reported(notebook, issue):
    assert issue in "\n".join(issues(notebook))


@pytest.fixture
def saved(tmp_path, monkeypatch):
    """Copy a notebook; the commands find the copy instead of the course."""
    path = tmp_path / "04_value.ipynb"
    path.write_bytes((refresh.NOTEBOOKS / path.name).read_bytes())
    monkeypatch.setattr(refresh, "NOTEBOOKS", tmp_path)
    return path


def test_the_form_of_a_notebook_saved_by_jupyterlab_is_restored(saved, capsys):
    before = saved.read_bytes()
    notebook = nbformat.read(saved, as_version=4)
    notebook.metadata.update(
        widgets={}, language_info={"name": "python", "version": "3.13"}
    )
    executed = [cell for cell in notebook.cells if cell.get("outputs")]
    for cell in executed:
        cell.metadata["execution"] = {"iopub.execute_input": "2026-11-23T01:00:00"}
    lines = next(
        cell for cell in executed if cell.outputs[0].get("text", "").count("\n") > 1
    )
    first, rest = lines.outputs[0].text.split("\n", 1)
    lines.outputs[0].text = rest
    lines.outputs.insert(0, new_output("stream", name="stdout", text=first + "\n"))
    outputs = itertools.chain.from_iterable(cell.outputs for cell in executed)
    value = next(output for output in outputs if "data" in output)
    value.data[refresh.WIDGET_VIEW] = {"model_id": "1"}
    nbformat.write(notebook, saved)
    assert refresh.main(["--form", "04_value"]) == 0
    assert "brought into the normal form" in capsys.readouterr().out
    assert saved.read_bytes() == before
    lines.execution_count = 99
    nbformat.write(notebook, saved)
    before = saved.read_bytes()
    assert refresh.main(["--form", "04_value.ipynb"]) == 1
    assert "not run once each" in capsys.readouterr().out
    assert saved.read_bytes() == before


@pytest.mark.slow
def test_a_notebook_is_run_and_saved_unless_a_cell_fails(saved):
    draw = "import matplotlib.pyplot as plt\n%matplotlib inline\nprint('up')\nplt.plot([1, 2]);"
    nbformat.write(new_notebook(cells=[new_code_cell(draw)]), saved)
    assert refresh.main(["04_value"]) == 0
    after = saved.read_bytes()
    [cell] = nbformat.reads(after.decode(), as_version=4).cells
    assert cell.outputs[0].text == "up\n"
    assert cell.outputs[1].metadata["image/png"]["alt"] == "up"
    encoded = cell.outputs[1].data["image/png"]
    assert Image.open(io.BytesIO(base64.b64decode(encoded))).mode == "P"
    nbformat.write(new_notebook(cells=[new_code_cell("missing")]), saved)
    before = saved.read_bytes()
    assert refresh.main(["04_value"]) == 1
    assert saved.read_bytes() == before


def test_a_small_mark_stays_blue_in_a_saved_picture():
    shades = np.random.default_rng(0).integers(256, size=(300, 300, 1), dtype=np.uint8)
    pixels = np.concatenate([shades, shades // 2 + 40, 255 - shades], axis=2)
    pixels[280:284, 4:8] = 0, 114, 178
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    encoded = refresh.with_palette(base64.b64encode(file.getvalue()).decode())
    smaller = Image.open(io.BytesIO(base64.b64decode(encoded)))
    assert smaller.mode == "P"
    difference = np.array(smaller.convert("RGB"))[281, 5].astype(int) - (0, 114, 178)
    assert abs(difference).max() <= 16


def test_the_tables_of_both_readmes_are_current(tmp_path, monkeypatch):
    """minutes.py writes the same tables, and each notebook runs in seconds."""
    texts = {}
    for name in ("FRONT", "COURSE"):
        texts[name] = getattr(minutes, name).read_text(encoding="utf-8")
        (tmp_path / name).write_text(texts[name], encoding="utf-8")
        monkeypatch.setattr(minutes, name, tmp_path / name)
    monkeypatch.setattr(
        refresh, "save", lambda _, path: pytest.fail(f"{path}: run minutes.py")
    )
    assert minutes.main([]) == 0
    for name, text in texts.items():
        assert (tmp_path / name).read_text(encoding="utf-8") == text, "run minutes.py"
    seconds = [int(value) for _, value in minutes.ROW.findall(texts["COURSE"])]
    assert len(seconds) == len(PATHS)
    assert all(0 < value <= MAX_RUN_SECONDS for value in seconds)


@pytest.mark.parametrize(
    ("cells", "reading"),
    [
        ([new_markdown_cell("word " * 130 * 5)], 5),
        ([new_markdown_cell("word " * 130 * 5 + "more")], 10),
        ([new_code_cell("x = 1\n\n" * 12 * 5)], 5),
        ([new_markdown_cell("$$\na\n$$\n" * 4)], 10),
        ([new_markdown_cell("## Exercise 1 · A\n" + "word " * 999)], 0),
    ],
)
def test_reading_takes_minutes_by_words_lines_and_equations(cells, reading):
    assert minutes.length(new_notebook(cells=cells)).reading == reading


def test_links_into_the_glossary_and_to_files_have_targets():
    glossary = (refresh.NOTEBOOKS / "glossary.md").read_text(encoding="utf-8")
    entries = re.findall(r"(?m)^### (.+)$", glossary)
    assert entries == sorted(set(entries), key=str.lower)
    anchors = {entry.lower().replace(" ", "-") for entry in entries}
    for path in PATHS:
        text = path.read_text(encoding="utf-8")
        assert set(re.findall(r"\(glossary\.md#([^)]*)\)", text)) <= anchors, path.stem
        for name in re.findall(r"\]\((?!https?:)([\w./-]+\.(?:ipynb|md))[)#]", text):
            assert (path.parent / name).is_file(), f"{path.stem}: {name}"
