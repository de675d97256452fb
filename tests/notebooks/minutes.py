"""How long a notebook takes: what the lines under the titles, README and notebooks/README.md say.

    python tests/notebooks/minutes.py            write both anew; run times as they were measured last
    python tests/notebooks/minutes.py --run      run every notebook first, one after the other, and measure

Reading counts the words of text and code outside the exercises, 200 a minute, and the run. The exercises' minutes are
those that stand under their headings: an estimate of ours. What "you will" do is taken from README's table.
"""

import argparse
import re
import sys
from dataclasses import dataclass

import nbformat
import refresh

README = refresh.NOTEBOOKS / "README.md"
FRONT = refresh.NOTEBOOKS.parent / "README.md"
WORDS_A_MINUTE = 200
HEADING = re.compile(r"^#+ +Exercise +\d+ · ", re.MULTILINE)
EFFORT = re.compile(r"^\*(\d+) points?, about (\d+) minutes\*", re.MULTILINE)
LINE = re.compile(r"^&nbsp; (\d+ minutes.*?)(?:[,;] )(after .*|no notebook before it.*|for whoever.*)$", re.MULTILINE)
TABLE = re.compile(r"(?<=<!-- minutes -->\n).*?(?=<!-- /minutes -->)", re.DOTALL)
LEARNED = re.compile(r"^\| \[.+?\]\(notebooks/(\w+)\.ipynb\) \| (.+?) \|", re.MULTILINE)     # README: "you will"
ROW = re.compile(r"^\| \[(.+?)\]\((\d\d_\w+)\.ipynb\) \|.*\| (\d+) \|$", re.MULTILINE)


@dataclass(frozen=True)
class Length:
    """What a notebook asks of a reader.

    words      of text and code outside its exercises
    exercises  [(points, minutes), …]
    """
    words: int
    exercises: tuple

    @property
    def reading(self):
        """Minutes of reading and running, to the next five."""
        return 5 * -(-self.words // (5 * WORDS_A_MINUTE))

    @property
    def points(self):
        return sum(points for points, _ in self.exercises)

    @property
    def practice(self):
        """Minutes of the exercises."""
        return sum(minutes for _, minutes in self.exercises)


def length(notebook):
    """The Length of a notebook. An exercise goes from its heading to its folded solution."""
    words, exercises, inside = 0, [], False
    for cell in notebook.cells:
        text = cell.source
        if cell.cell_type == "markdown" and HEADING.search(text):
            inside = True
            exercises += [(int(points), int(minutes)) for points, minutes in EFFORT.findall(text)]
        if not inside:
            words += len(text.split())
        if cell.cell_type == "markdown" and "<details" in text:
            inside = False
    return Length(words, tuple(exercises))


def title(notebook):
    return re.match(r"# (.+)", notebook.cells[0].source)[1]


def line(measured):
    """What stands under the title."""
    return f"{measured.reading} minutes to read and run, {measured.practice} for the exercises"


def needs(notebook):
    """The line's end, such as "after [notebook 3](03_….ipynb)"."""
    found = LINE.search(notebook.cells[0].source)
    return found[2] if found else ""


def needed(notebook):
    """The numbers of the notebooks to be read before, as words; those that only an exercise needs are left out."""
    return re.findall(r"\[(?:notebooks? )?(\d+)\]", needs(notebook).split(";")[0])


def table(rows, learned):
    """The table of notebooks/README.md, of [(stem, notebook, seconds), …] and {stem: what "you will" do}."""
    lines = ["| notebook | you will | needs | read and run | exercises | points | seconds to run |",
             "|---|---|---|---|---|---|---|"]
    lengths = [length(notebook) for _, notebook, _ in rows]
    for (stem, notebook, seconds), one in zip(rows, lengths):
        before = ", ".join(needed(notebook)) or "–"
        lines.append(f"| [{title(notebook)}]({stem}.ipynb) | {learned[stem]} | {before} | {one.reading} min | "
                     f"{len(one.exercises)}, {one.practice} min | {one.points} | {seconds} |")
    number, points = sum(len(one.exercises) for one in lengths), sum(one.points for one in lengths)
    lines.append(f"| all | | | {in_hours(sum(one.reading for one in lengths))} | "
                 f"{number}, {in_hours(sum(one.practice for one in lengths))} | {points} | "
                 f"{sum(seconds for *_, seconds in rows)} |")
    return "\n".join(lines) + "\n"


def in_hours(minutes):
    """Minutes as hours, to the next half one."""
    return f"{-(-minutes // 30) / 2:g} h"


def _sum(notebook):
    return f"{length(notebook).reading} + {length(notebook).practice}"


def seconds_to_run(path):
    """CPU seconds of a notebook in a fresh kernel, its start and its children included, to the next whole one."""
    import resource  # not on Windows, where `--run` is all that lacks

    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    refresh.execute(nbformat.read(path, as_version=4), path.parent)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return -(-round(100 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)) // 100)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write how long each notebook takes.")
    parser.add_argument("--run", action="store_true", help="measure the run times anew")
    measure = parser.parse_args(arguments).run
    known = {stem: int(seconds) for _, stem, seconds in ROW.findall(README.read_text(encoding="utf-8"))}
    rows, front = [], FRONT.read_text(encoding="utf-8")
    for path in refresh.find_notebooks(()):
        notebook = nbformat.read(path, as_version=4)
        seconds = seconds_to_run(path) if measure else known.get(path.stem, 0)
        written = LINE.sub(lambda found, notebook=notebook: f"&nbsp; {line(length(notebook))}; {found[2]}",
                           notebook.cells[0].source)
        if written != notebook.cells[0].source:
            notebook.cells[0].source = written
            refresh.save(notebook, path)
        rows.append((path.stem, notebook, seconds))
        print(f"{path.stem:40} {length(notebook).words:5} words  {line(length(notebook))}, {seconds} s")
        front = re.sub(rf"(\(notebooks/{path.name}\) \|.*\| )[^|]*\|$", rf"\g<1>{_sum(notebook)} |", front, flags=re.M)
    FRONT.write_text(front, encoding="utf-8")
    course = table(rows, dict(LEARNED.findall(front)))
    README.write_text(TABLE.sub(lambda _: course, README.read_text(encoding="utf-8")), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
