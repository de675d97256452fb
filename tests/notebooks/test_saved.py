"""What a saved notebook must look like, so that it reads well without a kernel and can be compared when run again.

nbval compares outputs, but passes over a cell that was never run and over pictures; this file covers these. Each check
takes a notebook and returns a list of complaints, and is itself tried on a small notebook that breaks its rule.
"""

import base64
import re
from pathlib import Path

import nbformat
import pytest
import solutions
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "notebooks").glob("*.ipynb"))
LONGEST_CELL = 25  # lines
LARGEST_PICTURE = 150_000  # bytes of PNG
LARGEST_NOTEBOOK = 600_000  # bytes of file
MACHINE_PATH = re.compile(r"(?<![\w.])/(?:home|root|Users|tmp|work|opt|usr|var)/\w|site-packages|\b[A-Z]:\\\\?Users")
BARE_REPR = re.compile(r"^\[?<[^>]*>\]?$|^(?:Figure|Text)\(")
EXERCISE_HEADING = re.compile(r"^#+ +Exercise\b", re.MULTILINE)
CAPITALS = re.compile(r"\b[A-Z]{5,}\d*\b")
WITHOUT_WORDS = re.compile(r"```.*?```|`[^`]*`|\]\([^)]*\)", re.DOTALL)     # code, and where links lead
NAMES_IN_CAPITALS = ("SMART", "SCOPE", "DARPA", "SWITCH", "MAGIC", "SARSA", "REINFORCE")
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"


def code_cells(notebook):
    """The code cells that hold code, with their number among them, from 1."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    return list(enumerate(cells, start=1))


def readable_text(output):
    """The text that a reader of this output sees, "" for a picture or a bare repr such as <Figure size ...>."""
    if output.output_type == "stream":
        return output.text.strip()
    text = output.get("data", {}).get("text/plain", "").strip()
    return "" if BARE_REPR.match(text) else text


def check_counts(notebook):
    counts = [cell.execution_count for _, cell in code_cells(notebook)]
    expected = list(range(1, len(counts) + 1))
    return [] if counts == expected else [f"execution counts are {counts}, not {expected}: not one clean run"]


def check_some_outputs(notebook):
    return [] if any(cell.outputs for _, cell in code_cells(notebook)) else ["no cell has an output"]


def check_no_errors(notebook):
    return [
        f"code cell {n} ended in {output.ename}: {output.evalue}"
        for n, cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "error"
    ]


def check_no_stderr(notebook):
    return [
        f"code cell {n} wrote to stderr: {output.text.strip()[:80]!r}"
        for n, cell in code_cells(notebook)
        for output in cell.outputs
        if output.output_type == "stream" and output.name == "stderr"
    ]


def check_no_widget_state(notebook):
    """GitHub refuses some notebooks with widget state, and a view without a kernel shows only an error."""
    complaints = ["metadata.widgets is saved"] if "widgets" in notebook.metadata else []
    return complaints + [
        f"code cell {n} saves a widget's view"
        for n, cell in code_cells(notebook)
        for output in cell.outputs
        if WIDGET_VIEW in output.get("data", {})
    ]


def check_kernel(notebook):
    name = notebook.metadata.get("kernelspec", {}).get("name")
    return [] if name == "python3" else [f"the kernel is {name!r}, not 'python3'"]


def check_no_machine_paths(notebook):
    return [
        f"code cell {n} shows a path of one machine: {found.group()!r}"
        for n, cell in code_cells(notebook)
        for output in cell.outputs
        if (found := MACHINE_PATH.search(without_pictures(output)))
    ]


def without_pictures(output):
    """The output as text, less its pictures: base64 may spell anything."""
    if "data" in output:
        return "\n".join(str(value) for kind, value in output.data.items() if not kind.startswith("image/"))
    return "\n".join(str(value) for value in output.values())


def check_pictures_small(notebook):
    return [
        f"code cell {n} holds a picture of {size:,} bytes; the most is {LARGEST_PICTURE:,}"
        for n, cell in code_cells(notebook)
        for output in cell.outputs
        if (size := len(base64.b64decode(output.get("data", {}).get("image/png", "")))) > LARGEST_PICTURE
    ]


def check_pictures_described(notebook):
    """A figure needs a line of text in the same cell: nbval compares it, and a reader may not see the figure."""
    return [
        f"code cell {n} shows a picture and not one line of text beside it"
        for n, cell in code_cells(notebook)
        if any("image/png" in output.get("data", {}) for output in cell.outputs)
        and not any(readable_text(output) for output in cell.outputs)
    ]


def check_alternative_texts(notebook):
    """Of saved pictures; `make notebooks` writes what the cell prints."""
    return [
        f"code cell {n} shows a picture without an alternative text: save it anew"
        for n, cell in code_cells(notebook)
        for output in cell.outputs
        if "image/png" in output.get("data", {}) and not output.metadata.get("image/png", {}).get("alt")
    ]


def check_guesses_come_first(notebook):
    """Under a "**Guess" the next code cell's outputs are folded, so that no eye falls on the answer."""
    complaints = []
    for position, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown" and "**Guess" in cell.source:
            below = (one for one in notebook.cells[position + 1:] if one.cell_type == "code" and one.outputs)
            after = next(below, None)
            if after is not None and not after.metadata.get("jupyter", {}).get("outputs_hidden"):
                complaints.append(f'text cell {position} asks for a guess and the answer below it is not folded: '
                                  '"jupyter": {"outputs_hidden": true}')
    return complaints


def check_cells_short(notebook):
    return [
        f"code cell {n} has {lines} lines; the most is {LONGEST_CELL}"
        for n, cell in code_cells(notebook)
        if (lines := len(cell.source.splitlines())) > LONGEST_CELL
    ]


def check_nothing_left_to_fill_in(notebook):
    """A word all in capitals is a placeholder that nobody filled in, unless it is the name of something."""
    return [
        f"text cell {position} says {found.group()!r}: is it to be filled in?"
        for position, cell in enumerate(notebook.cells)
        if cell.cell_type == "markdown"
        for found in CAPITALS.finditer(WITHOUT_WORDS.sub("", cell.source))
        if found.group() not in NAMES_IN_CAPITALS
    ]


def check_ids_unique(notebook):
    ids = [cell.get("id") for cell in notebook.cells]
    repeated = sorted({str(i) for i in ids if i is None or ids.count(i) > 1})
    return [f"cell ids missing or used twice: {repeated}"] if repeated else []


def check_exercises_whole(notebook):
    """An exercise is a heading, a cell tagged so, a check, and one block of Python in a folded solution."""
    exercises = solutions.exercises(notebook.cells)
    texts = (cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    headings = sum(len(EXERCISE_HEADING.findall(text)) for text in texts)
    complaints = [] if headings == len(exercises) else [
        f'{headings} headings say "Exercise", {len(exercises)} cells are tagged "exercise"']
    for number, exercise in enumerate(exercises, start=1):
        if not exercise.checks:
            complaints.append(f'exercise {number} has no cell tagged "check" after it')
        if exercise.solution is None:
            complaints.append(f"exercise {number} has no folded solution after it")
        elif exercise.code is None:
            complaints.append(f"the solution of exercise {number} needs one ```python block, for the whole cell")
    return complaints


CHECKS = [
    check_counts,
    check_some_outputs,
    check_no_errors,
    check_no_stderr,
    check_no_widget_state,
    check_kernel,
    check_no_machine_paths,
    check_pictures_small,
    check_pictures_described,
    check_alternative_texts,
    check_guesses_come_first,
    check_cells_short,
    check_nothing_left_to_fill_in,
    check_ids_unique,
    check_exercises_whole,
]


def test_there_are_notebooks():
    assert NOTEBOOKS, "notebooks/ holds no notebook"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_saved_from_one_clean_run(path):
    notebook = nbformat.read(path, as_version=4)
    complaints = [complaint for check in CHECKS for complaint in check(notebook)]
    if path.stat().st_size > LARGEST_NOTEBOOK:
        complaints.append(f"the file has {path.stat().st_size:,} bytes; the most is {LARGEST_NOTEBOOK:,}")
    listed = "\n".join(f"  - {complaint}" for complaint in complaints)
    remedy = f'After mending the cells, save it anew with: make notebooks NAMES="{path.stem}"'
    assert not complaints, f"{path.name}:\n{listed}\n{remedy}"


# The checks themselves: a notebook that keeps every rule, and one broken notebook a rule.

PICTURE = base64.b64encode(b"\x89PNG" + bytes(1000)).decode()


def run_cell(source, count, *outputs):
    return new_code_cell(source, execution_count=count, outputs=list(outputs))


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def shown(alt="", **data):
    return new_output("display_data", data={kind.replace("_", "/"): value for kind, value in data.items()},
                      metadata={"image/png": {"alt": alt}})


def sound_notebook():
    notebook = new_notebook(metadata={"kernelspec": {"name": "python3", "display_name": "Python 3"}})
    notebook.cells = [
        new_markdown_cell("# One"),
        run_cell("x = 1", 1),
        run_cell("print(x)", 2, printed("1\n")),
        new_code_cell("  "),
        run_cell("draw(x)", 3, printed("best 0.61\n"),
                 shown("best 0.61", image_png=PICTURE, text_plain="<Figure size 600x400>")),
        new_markdown_cell("## Exercise 1 · Another one"),
        run_cell("y = 0", 4),
        run_cell("print(y == 2)", 5, printed("not yet\n")),
        new_markdown_cell("<details><summary>Solution</summary>\n\n```python\ny = 2\n```\n</details>"),
    ]
    notebook.cells[6].metadata["tags"], notebook.cells[7].metadata["tags"] = ["exercise"], ["check"]
    return notebook


def never_run(notebook):
    notebook.cells[2].execution_count = None


def run_out_of_order(notebook):
    notebook.cells[1].execution_count = 7


def cleared(notebook):
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []


def failed(notebook):
    notebook.cells[1].outputs = [new_output("error", ename="NameError", evalue="x", traceback=[])]


def warned(notebook):
    notebook.cells[1].outputs = [printed("UserWarning: careful", name="stderr")]


def keeping_widget_state(notebook):
    notebook.metadata.widgets = {}


def keeping_widget_view(notebook):
    notebook.cells[1].outputs = [new_output("display_data", data={WIDGET_VIEW: {"model_id": "a"}, "text/plain": "S()"})]


def with_own_kernel(notebook):
    notebook.metadata.kernelspec.name = "my-conda-env"


def printing_a_path(notebook):
    notebook.cells[2].outputs = [printed("read " + "/".join(["", "home", "ada", "data.csv"]))]


def with_large_picture(notebook):
    notebook.cells[4].outputs[1].data["image/png"] = base64.b64encode(bytes(LARGEST_PICTURE + 1)).decode()


def with_silent_picture(notebook):
    del notebook.cells[4].outputs[0]


def with_picture_beside_a_bare_repr(notebook):
    notebook.cells[4].outputs[0] = new_output("execute_result", data={"text/plain": "<Axes: title={'center': 'a'}>"})


def with_nameless_picture(notebook):
    del notebook.cells[4].outputs[1].metadata["image/png"]


def with_the_answer_in_sight(notebook):
    notebook.cells[0].source = "**Guess** what is printed."


def with_long_cell(notebook):
    notebook.cells[1].source = "\n".join(f"x{i} = {i}" for i in range(LONGEST_CELL + 1))


def with_repeated_id(notebook):
    notebook.cells[0].id = notebook.cells[1].id


def with_a_placeholder(notebook):
    notebook.cells[0].source = "The best of the POLICIES policies; `SEED` is code, and SMART a study."


def without_tags(notebook):
    notebook.cells[6].metadata["tags"] = []


def without_check(notebook):
    notebook.cells[7].metadata["tags"] = []


def without_solution(notebook):
    del notebook.cells[8]


def with_solution_in_words(notebook):
    notebook.cells[8].source = "<details>Two.</details>"


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_a_sound_notebook_passes(check):
    assert check(sound_notebook()) == []


@pytest.mark.parametrize(
    ("check", "break_rule", "complaint"),
    [
        (check_counts, never_run, "execution counts are [1, None, 3, 4, 5]"),
        (check_counts, run_out_of_order, "execution counts are [7, 2, 3, 4, 5]"),
        (check_some_outputs, cleared, "no cell has an output"),
        (check_no_errors, failed, "code cell 1 ended in NameError: x"),
        (check_no_stderr, warned, "UserWarning: careful"),
        (check_no_widget_state, keeping_widget_state, "metadata.widgets"),
        (check_no_widget_state, keeping_widget_view, "code cell 1 saves a widget's view"),
        (check_kernel, with_own_kernel, "my-conda-env"),
        (check_no_machine_paths, printing_a_path, "code cell 2 shows a path of one machine"),
        (check_pictures_small, with_large_picture, "150,001 bytes"),
        (check_pictures_described, with_silent_picture, "code cell 3 shows a picture"),
        (check_pictures_described, with_picture_beside_a_bare_repr, "code cell 3 shows a picture"),
        (check_alternative_texts, with_nameless_picture, "code cell 3 shows a picture without an alternative text"),
        (check_guesses_come_first, with_the_answer_in_sight, "text cell 0 asks for a guess"),
        (check_cells_short, with_long_cell, "code cell 1 has 26 lines"),
        (check_nothing_left_to_fill_in, with_a_placeholder, "text cell 0 says 'POLICIES'"),
        (check_ids_unique, with_repeated_id, "used twice"),
        (check_exercises_whole, without_tags, '1 headings say "Exercise", 0 cells'),
        (check_exercises_whole, without_check, 'exercise 1 has no cell tagged "check"'),
        (check_exercises_whole, without_solution, "exercise 1 has no folded solution"),
        (check_exercises_whole, with_solution_in_words, "the solution of exercise 1 needs one ```python block"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_a_broken_notebook_is_caught(check, break_rule, complaint):
    notebook = sound_notebook()
    break_rule(notebook)
    assert complaint in "\n".join(check(notebook))
