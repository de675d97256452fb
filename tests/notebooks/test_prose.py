"""Every number in the text of a notebook is listed with its source, and the source gives it.

Sources "solution" are taken on trust here: test_solutions.py runs the solutions, and holds them against the text.
"""

import itertools
import re
from pathlib import Path

import minutes
import nbformat
import numpy as np
import prose
import pytest
import refresh
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
CHANGED_DIGITS = 10


def told(complaints, name):
    return "\n".join(["", *complaints, f'To list what is new: make numbers NAMES="{name}"; then read what it wrote.'])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_number_has_a_source_that_gives_it(path):
    complaints = prose.complaints(nbformat.read(path, as_version=4), path.stem)
    assert not complaints, told(complaints, path.stem)


def changed_digit(source, generator):
    """`source` with one digit of one of its numbers changed, and that number as it was."""
    number = prose.numbers_in(source)[generator.integers(len(prose.numbers_in(source)))]
    places = [number.start + at for at, sign in enumerate(number.text) if sign.isdigit()]
    place = places[generator.integers(len(places))]
    digit = (int(source[place]) + generator.integers(1, 10)) % 10
    return f"{source[:place]}{digit}{source[place + 1:]}", number


def test_a_changed_digit_is_noticed():
    """Ten cells, drawn over all notebooks, each with one wrong digit: ten complaints that were not there before."""
    generator = np.random.default_rng(20)
    notebooks = [nbformat.read(path, as_version=4) for path in NOTEBOOKS]
    cells = [(notebook, cell) for notebook in notebooks for cell in notebook.cells
             if cell.cell_type == "markdown" and prose.numbers_in(cell.source)]
    for drawn in generator.choice(len(cells), CHANGED_DIGITS, replace=False):
        notebook, cell = cells[drawn]
        alone = new_notebook(cells=[one for one in notebook.cells if one is cell or one.cell_type == "code"])
        before, sound = prose.complaints(alone), cell.source
        cell.source, number = changed_digit(sound, generator)
        after = prose.complaints(alone)
        assert set(after) - set(before), f"{number.text!r} became another number unnoticed, in: {number.sentence}"
        cell.source = sound


def test_a_changed_output_is_noticed():
    notebook = sound_notebook()
    notebook.cells[0].outputs[0].text = "ines opens 0.471 of 1,234\n"
    assert "has 0.471 as the nearest" in only(prose.complaints(notebook))


# Time: the README's table, and what the notebooks say of themselves.

def test_the_time_a_notebook_takes_is_said_alike_everywhere():
    readme, course = ((ROOT / folder / "README.md").read_text(encoding="utf-8") for folder in ("", "notebooks"))
    for path in NOTEBOOKS:
        notebook = nbformat.read(path, as_version=4)
        taken = minutes.length(notebook)
        assert f"&nbsp; {minutes.line(taken)}; " in notebook.cells[0].source, path.name
        row = next(line for line in readme.splitlines() if f"(notebooks/{path.name})" in line and "|" in line)
        assert row.endswith(f"| {taken.reading} + {taken.practice} |"), row
        row = next(line for line in course.splitlines() if line.startswith("| [") and f"({path.name})" in line)
        assert f"| {taken.reading} min | {len(taken.exercises)}, {taken.practice} min | {taken.points} |" in row, row
        assert f"| {dict(minutes.LEARNED.findall(readme))[path.stem]} |" in row, row
        assert 0 < int(row.split("|")[-2]) <= 15, f"CPU seconds: {row}"
        assert len(taken.exercises) == len(minutes.HEADING.findall("\n".join(cell.source for cell in notebook.cells)))


def test_the_course_says_how_long_all_of_it_takes():
    notebooks = [nbformat.read(path, as_version=4) for path in NOTEBOOKS]
    sums = [sum(getattr(minutes.length(one), what) for one in notebooks) for what in ("reading", "practice", "points")]
    course = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    reading, practice, points = re.search(r"^\| all \| \| \| ([\d.]+) h \| \d+, ([\d.]+) h \| (\d+) \|", course,
                                          re.MULTILINE).groups()
    assert 0 <= 60 * float(reading) - sums[0] < 30 and 0 <= 60 * float(practice) - sums[1] < 30
    assert int(points) == sums[2]


def test_the_map_of_the_course_has_an_arrow_for_all_that_a_notebook_needs():
    course = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    arrows = {(int(one), int(other)) for chain in re.findall(r"^  (N\d+.*-->.*)$", course, flags=re.M)
              for one, other in itertools.pairwise(re.findall(r"N(\d+)", chain))}
    needed = {(int(before), int(path.name[:2])) for path in NOTEBOOKS
              for before in minutes.needed(nbformat.read(path, as_version=4))}
    assert arrows == needed


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_into_the_glossary_lead_to_an_entry(path):
    entries = re.findall(r"^### (.+)$", (ROOT / "notebooks" / "glossary.md").read_text(encoding="utf-8"), flags=re.M)
    assert entries == sorted(entries, key=str.lower) and len(set(entries)) == len(entries)
    anchors = {entry.lower().replace(" ", "-") for entry in entries}
    text = "\n".join(cell.source for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "markdown")
    assert set(re.findall(r"\(glossary\.md#([^)]*)\)", text)) <= anchors
    files = {name for name in re.findall(r"\]\((?!https?:)([\w./-]+\.(?:ipynb|md))[)#]", text)}
    assert [name for name in files if not (path.parent / name).is_file()] == []


# What is a number of the text, and what is not.

@pytest.mark.parametrize(
    ("markdown", "numbers"),
    [
        ("# 5 · Managing arrivals\n\n## Exercise 2: 50 minutes", ["50"]),
        ("1. one\n2. 20 users", ["20"]),
        ("notebook 5, notebooks 5 and 6, [4 · Arrivals](04_a.ipynb), Challenge 1, Table 2 has 3", ["3"]),
        ("`x = 7`, ``a `8` b``\n\n```python\ny = 9\n```\n10", ["10"]),
        ("![6 curves](pictures/7.png) [8](https://a.b/9) <img width=10> &#8217;", ["6", "8"]),
        ("Ernst (2006), (Ernst and others, 2005; Adams, 2004), (2004) and 2019", ["2019"]),
        ("T1, k_1, E2, evalumap2-v0, room-env-3, gym-push 0.0.21, 3D, 20th", []),
        ("$k_{12} x^{3} + 0.5\\,(1 - p)^2$, $20\\,000$", ["0.5", "1", "20\\,000"]),
        ("1,234, 0.98²⁰⁰, 10⁵, −0.48, [−0.9, −0.2], -7", ["1,234", "0.98", "10", "−0.48", "−0.9", "−0.2", "-7"]),
        ("46 % or 46%, 1.92 million, 324 thousand, 9.26 billion", ["46 %", "46%", "1.92 million", "324 thousand",
                                                                   "9.26 billion"]),
        ("3.0 to 5.3 %, 2004–2006, 14-day, ±0.02, +2.", ["3.0", "5.3 %", "2004", "2006", "14", "0.02", "2"]),
        ("| 1 | +1 | −1 |", ["1", "1", "−1"]),
        ("seen 3.\n\n**Sources**\n- A. Author (1999), 12(3), 45", ["3"]),
        ("<details><summary><b>Solution</b></summary>\n\nIt is 5.\n</details>", ["5"]),
    ],
)
def test_numbers_in(markdown, numbers):
    assert [number.text for number in prose.numbers_in(markdown)] == numbers


@pytest.mark.parametrize(
    ("markdown", "values", "given"),
    [
        ("0.46", [0.4649], True), ("0.46", [0.4651], False), ("0.460", [0.4649], False),
        ("46 %", [0.456], True), ("46 %", [45.6], True), ("46", [0.456], False),
        ("45 to 46 %", [0.4512], True), ("2 in a hundred", [0.018], True),
        ("1.92 million", [1_919_630], True), ("1.92 million", [1_914_000], False),
        ("3,440 million", [3_440_400_000], True),
        ("−0.48", [0.48], False), ("0.48", [-0.48], False), ("it falls by 0.48", [-0.48], True),
        ("1,100", [1081], False), ("about 1,100", [1081], True), ("about 1,180", [1081], False),
    ],
)
def test_given_by(markdown, values, given):
    assert prose.numbers_in(markdown)[0].given_by(values) == given


# The rules: a small notebook that keeps all of them, and one that breaks each.

def sound_notebook():
    notebook = new_notebook()
    notebook.cells = [
        new_code_cell("threshold = 0.3\nfloor = -2", outputs=[
            new_output("stream", name="stdout", text="ines opens 0.458 of 1,234\nomar 0.91\n")]),
        new_markdown_cell("Ines opens 46 % of 1,234, above 0.3 and a third (33 %), 95 % sure, after (Ng, 2004)."),
    ]
    notebook.cells[1].metadata["numbers"] = {
        "46 %": "output: ines opens", "1,234": "output", "0.3": "code", "33 %": "= 1 / 3", "95 %": "text: a convention"}
    return notebook


def only(complaints):
    assert len(complaints) == 1, complaints
    return complaints[0]


def test_a_sound_notebook_has_no_complaints():
    assert prose.complaints(sound_notebook()) == []


@pytest.mark.parametrize(
    ("text", "listed", "complaint"),
    [
        ("It is 7.", {}, "'7' is not listed (no output and no code gives it), in: It is 7."),
        ("Omar 0.91 here", {}, "'0.91' is not listed ('output: omar' would give it)"),
        ("none", {"7": "code"}, "'7' is listed and no longer in the text"),
        ("It is 0.45.", {"0.45": "output"}, "has 0.458 as the nearest"),
        ("Ines 0.91", {"0.91": "output: ines"}, "the line of ines has 0.458 as the nearest"),
        ("Theo 0.91", {"0.91": "output: theo"}, "no line of the outputs holds 'theo'"),
        ("It is 2.", {"2": "code"}, "no code cell has this number"),
        ("A third, 0.34", {"0.34": "= 1 / 3"}, "'= 1 / 3' is 0.333333"),
        ("A third, 0.33", {"0.33": "= __import__('os')"}, "expected numbers"),
        ("0.3 and 0.3", {"0.3": "code"}, "written 2 times and listed with 1"),
        ("0.3 once", {"0.3": ["code", "code"]}, "written 1 times and listed with 2"),
        ("It is 7.", {"7": "somewhere"}, "'somewhere' is no source"),
        ("It is 7.", {"7": "text:"}, "is no source"),
        ("It is 7.", {"7": "notebook 99_none: words"}, "there is no notebook '99_none'"),
        ("It is 7.1.", {"7.1": "notebook 00_start_here: own history minus random"}, "as the nearest"),
        ("It is 7.", {"7": "data no/such.csv: len(t)"}, "fails: FileNotFoundError"),
        ("It is 7.", {"7": "data push/catalogue.csv: 8"}, "is 8"),
        ("It is 7.", {"7": "constant os: getpid()"}, "expected a module of pushlab"),
        ("It is 7.", {"7": "constant pushlab.ground.seeds: PART"}, "is 3"),
    ],
)
def test_a_broken_rule_is_noticed(text, listed, complaint):
    notebook = sound_notebook()
    notebook.cells[1].source = text
    notebook.cells[1].metadata["numbers"] = listed
    assert complaint in only(prose.complaints(notebook))


def test_what_a_solution_prints():
    notebook = sound_notebook()
    notebook.cells[1].source = "It is 0.92."
    notebook.cells[1].metadata["numbers"] = {"0.92": "solution: yours"}
    lines = prose.output_lines([new_code_cell("", outputs=[
        new_output("stream", name="stdout", text="yours 0.917\n")])])
    assert prose.complaints(notebook) == []                          # on trust
    assert prose.complaints(notebook, solutions={1: lines}) == []
    notebook.cells[1].source = "It is 0.93."
    notebook.cells[1].metadata["numbers"] = {"0.93": "solution: yours"}
    assert "has 0.917 as the nearest" in only(prose.complaints(notebook, solutions={1: lines}))


# The command.

def test_proposals_are_listed_and_told_and_nothing_is_dropped_silently():
    notebook = sound_notebook()
    notebook.cells[1].source = "Omar 91 %, Ines 46 %, 0.46 and 0.46; at least 0.3 and 70."
    report = "\n".join(prose.propose(notebook))
    assert notebook.cells[1].metadata["numbers"] == {
        "91 %": "output: omar", "46 %": "output: ines opens", "0.46": ["output: ines opens"] * 2, "0.3": "code"}
    assert "MISSING    '70'" in report and "dropped    '95 %': 'text: a convention'" in report
    assert "'70' is not listed" in only(prose.complaints(notebook))


def test_a_source_that_fails_is_told_and_kept():
    notebook = sound_notebook()
    notebook.cells[1].metadata["numbers"]["46 %"] = "output: omar"
    assert "WRONG      '46 %'" in only(prose.propose(notebook))
    assert notebook.cells[1].metadata["numbers"]["46 %"] == "output: omar"


def test_lists_and_ids_survive_a_refresh():
    notebook = sound_notebook()
    notebook.cells[0].id, notebook.cells[1].id = "mine", "mine"
    refresh.normalise(notebook)
    assert notebook.cells[1].metadata["numbers"]["0.3"] == "code"
    assert [cell.id for cell in notebook.cells] == ["mine", "cell-01"]
