"""Every number in the text of a notebook is listed with its source, and the source gives it."""

import nbformat
import prose
import pytest
import refresh
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output


@pytest.mark.parametrize("path", refresh.find_notebooks(), ids=lambda path: path.stem)
def test_every_number_has_a_source_that_gives_it(path):
    """Sources "solution" are checked in test_solutions.py, which runs the solutions."""
    assert prose.complaints(nbformat.read(path, as_version=4)) == [], (
        "make numbers lists new ones"
    )


def small_notebook(text, numbers):
    output = new_output(
        "stream", name="stdout", text="ines opens 0.458 of 1,234\nomar 0.91\n"
    )
    code = new_code_cell("threshold = 0.3\nfloor = -2", outputs=[output])
    return new_notebook(
        cells=[code, new_markdown_cell(text, metadata={"numbers": numbers})]
    )


@pytest.mark.parametrize(
    ("text", "numbers", "complaint"),
    [
        ("Ines 46 %, a third, 0.3", {"46 %": "output: ines", "0.3": ["code"]}, ""),
        ("It falls by 2 to 33 %", {"2": "code", "33 %": "= 1 / 3"}, ""),
        ("Ines opens about 1,200", {"1,200": "output"}, ""),
        ("Ines opens about 1,300", {"1,300": "output"}, "gives 1234"),
        ("Ines opens 47 %", {"47 %": "output: ines"}, "'output: ines' gives 0.458"),
        ("Ines opens 0.91", {"0.91": "output: ines"}, "'output: ines' gives 0.458"),
        ("It is 2", {"2": "code"}, "'code' gives"),
        ("A third, 0.34", {"0.34": "= 1 / 3"}, "gives 0.33333"),
        ("0.3 and 0.3", {"0.3": "code"}, "written 2 times, 1 sources"),
        ("none", {"7": "code"}, "'7' is listed and not in the text"),
        ("It is 7", {"7": "somewhere"}, "is not a source"),
        ("It is 9", {"9": "data push/catalogue.csv: 8"}, "gives 8"),
        ("It is 9", {"9": "constant pushlab.metrics.push: POINTS[0, 1]"}, "gives 2"),
    ],
)
def test_a_number_that_its_source_does_not_give_is_reported(text, numbers, complaint):
    messages = prose.complaints(small_notebook(text, numbers))
    assert len(messages) == bool(complaint)
    assert complaint in "".join(messages)


def test_a_number_from_a_solution_is_compared_with_what_it_prints():
    notebook = small_notebook("It is 0.93", {"0.93": "solution: yours"})
    assert prose.complaints(notebook, {1: prose.lines_of("yours 0.931")}) == []
    [message] = prose.complaints(notebook, {1: prose.lines_of("yours 0.917")})
    assert "gives 0.917" in message


def test_proposals_name_the_line_with_the_words_of_the_sentence():
    notebook = small_notebook(
        "Omar 91 %, Ines 0.46 and 0.46; at least 0.3 and 70", {"5": "code"}
    )
    report = "\n".join(prose.propose(notebook, {}))
    assert notebook.cells[1].metadata["numbers"] == {
        "91 %": "output: omar",
        "0.46": ["output: ines opens"] * 2,
        "0.3": "code",
    }
    assert "'70': None" in report
    assert "'5' dropped" in report


def test_make_numbers_finds_a_number_in_what_a_solution_prints(tmp_path, monkeypatch):
    path = tmp_path / "04_value.ipynb"
    notebook = nbformat.read(refresh.NOTEBOOKS / path.name, as_version=4)
    listed = [cell.metadata.get("numbers", {}) for cell in notebook.cells]
    sources = [numbers.get("3") for numbers in listed]
    position = sources.index("solution")
    del notebook.cells[position].metadata["numbers"]
    nbformat.write(notebook, path)
    monkeypatch.setattr(refresh, "NOTEBOOKS", tmp_path)
    assert prose.main(["04_value"]) == 0
    written = nbformat.read(path, as_version=4).cells[position].metadata["numbers"]
    assert written["3"] == "solution: Exercise"
