"""How long a notebook takes: the lines under the titles, and the columns of README.md and
notebooks/README.md.

- python tests/notebooks/minutes.py: write them anew, with the run times of the last measurement
- python tests/notebooks/minutes.py --run: run every notebook first, one after the other, and
  measure

Reading counts the words of text and code outside the exercises, 200 a minute, and the run. The
minutes of the exercises are estimates, written under their headings. The column "you will" is
copied from README.md.
"""

import argparse
import re
import resource
import sys
from dataclasses import dataclass

import nbformat
import refresh

COURSE = refresh.NOTEBOOKS / "README.md"
FRONT = refresh.NOTEBOOKS.parent / "README.md"
WORDS_A_MINUTE = 200
HEADING = re.compile(r"^#+ +Exercise +\d+ · ", re.MULTILINE)
EFFORT = re.compile(r"^\*(\d+) points?, about (\d+) minutes\*", re.MULTILINE)
LINE = re.compile(
    r"^&nbsp; (\d+ minutes.*?)(?:[,;] )(after .*|no notebook before it.*|for whoever.*)$",
    re.MULTILINE,
)
TABLE = re.compile(r"(?<=<!-- minutes -->\n).*?(?=<!-- /minutes -->)", re.DOTALL)
LEARNED = re.compile(r"^\| \[.+?\]\(notebooks/(\w+)\.ipynb\) \| (.+?) \|", re.MULTILINE)
ROW = re.compile(r"^\| \[.+?\]\((\d\d_\w+)\.ipynb\) \|.*\| (\d+) \|$", re.MULTILINE)
HEADER = """\
| notebook | you will | needs | read and run | exercises | points | seconds to run |
|---|---|---|---|---|---|---|
"""


@dataclass(frozen=True)
class Length:
    """Words of text and code outside the exercises, and [(points, minutes)] of the exercises."""

    words: int
    exercises: tuple

    @property
    def reading(self):
        """Minutes of reading and running, rounded up to a multiple of five."""
        return 5 * -(-self.words // (5 * WORDS_A_MINUTE))

    @property
    def points(self):
        return sum(points for points, _ in self.exercises)

    @property
    def practice(self):
        """Minutes of the exercises."""
        return sum(minutes for _, minutes in self.exercises)


def length(notebook):
    """Return the Length of a notebook. An exercise ends with its folded solution."""
    words, exercises, inside = 0, [], False
    for cell in notebook.cells:
        is_text = cell.cell_type == "markdown"
        if is_text and HEADING.search(cell.source):
            inside = True
            for points, minutes in EFFORT.findall(cell.source):
                exercises.append((int(points), int(minutes)))
        if not inside:
            words += len(cell.source.split())
        if is_text and "<details" in cell.source:
            inside = False
    return Length(words, tuple(exercises))


def line(measured):
    """Return the line under the title."""
    reading, practice = measured.reading, measured.practice
    return f"{reading} minutes to read and run, {practice} for the exercises"


def needed(notebook):
    """Return the numbers of the notebooks to be read before, as str, without those for an exercise only."""
    found = LINE.search(notebook.cells[0].source)
    needs = found[2].split(";")[0] if found else ""
    return re.findall(r"\[(?:notebooks? )?(\d+)\]", needs)


def table(rows, learned):
    """Return the table of notebooks/README.md, of [(stem, notebook, seconds)] and {stem: column "you will"}."""
    lines, reading, practice, exercises, points, total = [], 0, 0, 0, 0, 0
    for stem, notebook, seconds in rows:
        one = length(notebook)
        title = re.match(r"# (.+)", notebook.cells[0].source)[1]
        before = ", ".join(needed(notebook)) or "–"
        lines.append(
            f"| [{title}]({stem}.ipynb) | {learned[stem]} | {before} | "
            f"{one.reading} min | {len(one.exercises)}, {one.practice} min | "
            f"{one.points} | {seconds} |\n"
        )
        reading += one.reading
        practice += one.practice
        exercises += len(one.exercises)
        points += one.points
        total += seconds
    lines.append(
        f"| all | | | {in_hours(reading)} | {exercises}, {in_hours(practice)} | "
        f"{points} | {total} |\n"
    )
    return HEADER + "".join(lines)


def in_hours(minutes):
    """Return minutes as hours, rounded up to half an hour."""
    return f"{-(-minutes // 30) / 2:g} h"


def seconds_to_run(path):
    """Return the CPU seconds of a notebook in a fresh kernel, with the kernel's start, rounded up."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    refresh.execute(nbformat.read(path, as_version=4), path.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return int(-(-spent // 1))


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write how long each notebook takes.")
    parser.add_argument("--run", action="store_true", help="measure the run times anew")
    measure = parser.parse_args(arguments).run
    course = COURSE.read_text(encoding="utf-8")
    front = FRONT.read_text(encoding="utf-8")
    known, rows = dict(ROW.findall(course)), []
    for path in refresh.find_notebooks():
        notebook = nbformat.read(path, as_version=4)
        one = length(notebook)
        seconds = seconds_to_run(path) if measure else int(known.get(path.stem, 0))
        first = notebook.cells[0]
        written = LINE.sub(rf"&nbsp; {line(one)}; \2", first.source)
        if written != first.source:
            first.source = written
            refresh.save(notebook, path)
        rows.append((path.stem, notebook, seconds))
        print(f"{path.stem:40} {one.words:5} words  {line(one)}, {seconds} s")
        entry = rf"(?m)(\(notebooks/{path.name}\) \|.*\| )[^|]*\|$"
        front = re.sub(entry, rf"\g<1>{one.reading} + {one.practice} |", front)
    FRONT.write_text(front, encoding="utf-8")
    made = table(rows, dict(LEARNED.findall(front)))
    COURSE.write_text(TABLE.sub(lambda _: made, course), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
