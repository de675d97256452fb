"""Write how long each notebook takes: under its title, in README.md and in notebooks/README.md.

- python tests/notebooks/minutes.py: keep the run times of the last measurement
- python tests/notebooks/minutes.py --run: run every notebook first and measure

Minutes of reading and running count what stands outside the exercises: 130 words of text or 12 lines
of code a minute, and 1.5 minutes a displayed equation. Minutes of exercises are estimates, written
under their headings. The column "you will" is copied from README.md.
"""

import argparse
import math
import re
import resource
import sys
from dataclasses import dataclass

import nbformat
import refresh

COURSE = refresh.NOTEBOOKS / "README.md"
FRONT = refresh.NOTEBOOKS.parent / "README.md"
WORDS_A_MINUTE = 130
LINES_A_MINUTE = 12
MINUTES_AN_EQUATION = 1.5
EQUATION = re.compile(r"\$\$.*?\$\$", re.DOTALL)
HEADING = re.compile(r"^#+ +Exercise +\d+ · ", re.MULTILINE)
EFFORT = re.compile(r"^\*(\d+) points?, about (\d+) minutes\*", re.MULTILINE)
LINE = re.compile(
    r"^&nbsp; (\d+ minutes.*?)(?:[,;] )(after .*|no notebook before it.*|for whoever.*)$",
    re.MULTILINE,
)
TABLE = re.compile(r"(?<=<!-- minutes -->\n).*?(?=<!-- /minutes -->)", re.DOTALL)
GOALS = re.compile(r"^\| \[.+?\]\(notebooks/(\w+)\.ipynb\) \| (.+?) \|", re.MULTILINE)
ROW = re.compile(r"^\| \[.+?\]\((\d\d_\w+)\.ipynb\) \|.*\| (\d+) \|$", re.MULTILINE)
HEADER = """\
| notebook | you will | needs | read and run | exercises | points | seconds to run |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Length:
    """Length of a notebook.

    Attributes:
        reading: Minutes to read and run, rounded up to a multiple of five.
        exercises: (points, minutes) of each exercise.
    """

    reading: int
    exercises: tuple

    @property
    def points(self):
        return sum(points for points, _ in self.exercises)

    @property
    def practice(self):
        """Minutes of the exercises."""
        return sum(minutes for _, minutes in self.exercises)


def length(notebook):
    """Return the Length of a notebook. An exercise ends with its folded solution."""
    minutes = 0.0
    exercises = []
    in_exercise = False
    for cell in notebook.cells:
        is_text = cell.cell_type == "markdown"
        if is_text and HEADING.search(cell.source):
            in_exercise = True
            for points, effort in EFFORT.findall(cell.source):
                exercises.append((int(points), int(effort)))
        if not in_exercise:
            minutes += reading_time(cell)
        if is_text and "<details" in cell.source:
            in_exercise = False
    return Length(5 * math.ceil(minutes / 5), tuple(exercises))


def reading_time(cell):
    """Return the minutes to read a cell. A folded cell takes none."""
    if cell.metadata.get("jupyter", {}).get("source_hidden"):
        return 0
    if cell.cell_type == "code":
        lines = [line for line in cell.source.splitlines() if line.strip()]
        return len(lines) / LINES_A_MINUTE
    text, equations = EQUATION.subn("", cell.source)
    return len(text.split()) / WORDS_A_MINUTE + equations * MINUTES_AN_EQUATION


def title_line(measured):
    """Return the minutes of a notebook, as written under its title."""
    return f"{measured.reading} minutes to read and run, {measured.practice} for the exercises"


def required_notebooks(notebook):
    """Return the numbers of the notebooks to read first, as str.

    Notebooks that only an exercise needs are left out.
    """
    match = LINE.search(notebook.cells[0].source)
    requirement = match[2].split(";")[0] if match else ""
    return re.findall(r"\[(?:notebooks? )?(\d+)\]", requirement)


def course_table(rows, goals):
    """Return the table of notebooks/README.md.

    Args:
        rows: (stem, notebook, seconds to run) of each notebook.
        goals: {stem: text of the column "you will"}.
    """
    lines = []
    for stem, notebook, seconds in rows:
        measured = length(notebook)
        title = re.match(r"# (.+)", notebook.cells[0].source)[1]
        required = ", ".join(required_notebooks(notebook)) or "–"
        lines.append(
            f"| [{title}]({stem}.ipynb) | {goals[stem]} | {required} | "
            f"{measured.reading} min | {len(measured.exercises)}, {measured.practice} min | "
            f"{measured.points} | {seconds} |\n"
        )
    lengths = [length(notebook) for _, notebook, _ in rows]
    reading = in_hours(sum(measured.reading for measured in lengths))
    practice = in_hours(sum(measured.practice for measured in lengths))
    exercises = sum(len(measured.exercises) for measured in lengths)
    points = sum(measured.points for measured in lengths)
    seconds = sum(seconds for _, _, seconds in rows)
    lines.append(
        f"| all | | | {reading} | {exercises}, {practice} | {points} | {seconds} |\n"
    )
    return HEADER + "".join(lines)


def in_hours(minutes):
    """Return minutes as hours, rounded up to half an hour."""
    return f"{-(-minutes // 30) / 2:g} h"


def seconds_to_run(path):
    """Return the CPU seconds of a notebook in a fresh kernel, rounded up.

    The start of the kernel is included.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    refresh.execute(nbformat.read(path, as_version=4), path.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    elapsed = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return int(-(-elapsed // 1))


def main(arguments=None):
    """Write the minutes of all notebooks and both tables; return 0."""
    parser = argparse.ArgumentParser(description="Write how long each notebook takes.")
    parser.add_argument(
        "--run", action="store_true", help="measure the run times again"
    )
    measure = parser.parse_args(arguments).run
    course = COURSE.read_text(encoding="utf-8")
    front = FRONT.read_text(encoding="utf-8")
    stored_seconds = dict(ROW.findall(course))
    rows = []
    for path in refresh.find_notebooks():
        notebook = nbformat.read(path, as_version=4)
        measured = length(notebook)
        seconds = int(stored_seconds.get(path.stem, 0))
        if measure:
            seconds = seconds_to_run(path)
        first = notebook.cells[0]
        source = LINE.sub(rf"&nbsp; {title_line(measured)}; \2", first.source)
        if source != first.source:
            first.source = source
            refresh.save(notebook, path)
        rows.append((path.stem, notebook, seconds))
        print(f"{path.stem:40} {title_line(measured)}, {seconds} s")
        entry = rf"(?m)(\(notebooks/{path.name}\) \|.*\| )[^|]*\|$"
        front = re.sub(
            entry, rf"\g<1>{measured.reading} + {measured.practice} |", front
        )
    FRONT.write_text(front, encoding="utf-8")
    table = course_table(rows, dict(GOALS.findall(front)))
    COURSE.write_text(TABLE.sub(lambda _: table, course), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
