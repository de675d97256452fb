"""Make a course folder for nbgrader from these notebooks, for teachers.

    python notebooks/checks/course.py FOLDER 02 04 ...

Each named notebook becomes an assignment. FOLDER/source/NOTEBOOK/ holds the notebook without its
solutions, with its exercises and checks marked for nbgrader, and the checks beside it. Links to
other notebooks and pages lead to the book.
FOLDER/nbgrader_config.py is written if it is missing.
Then, in FOLDER: `nbgrader generate_assignment NOTEBOOK`, hand out release/, collect into submitted/,
`nbgrader autograde NOTEBOOK`, `nbgrader export`. notebooks/README.md describes every step.
"""

import argparse
import importlib
import re
import shutil
import sys
from pathlib import Path
from urllib.parse import urljoin

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1]
CHECKS = re.compile(r"^from checks\.(nb\d\d) import check$", re.MULTILINE)
GRADED = re.compile(r"^check\.exercise\((\d+)\)$", re.MULTILINE)
# A link to another page, but not to one that is copied along.
LINK = re.compile(r"\]\((?!https?:|glossary\.md)([^)#]+)\.(?:ipynb|md)")
BOOK = "https://pushlab.github.io/pushlab/notebooks/"
CONFIG = '''"""Settings of nbgrader for this course."""

c = get_config()  # noqa: F821 (nbgrader runs this file with it)
# Exercises keep their stubs: the first lines show the names that the checks expect.
c.GenerateAssignment.preprocessors = [
    f"nbgrader.preprocessors.{name}" for name in (
        "IncludeHeaderFooter", "LockCells", "ClearOutput", "CheckCellMetadata", "ComputeChecksums", "SaveCells",
        "ComputeChecksums", "CheckCellMetadata")]
c.ExecutePreprocessor.timeout = 600        # seconds per cell
'''


def assignment(
    notebook: nbformat.NotebookNode, points: dict[int, int]
) -> nbformat.NotebookNode:
    """Turn a notebook into an assignment, in place: without solutions, with marks for nbgrader and links to the book.

    Args:
        notebook: The notebook.
        points: {number of an exercise: its most points}.

    Raises:
        ValueError: If the exercises, the checks and the points do not match.
    """
    notebook.cells = [cell for cell in notebook.cells if not _is_solution(cell)]
    exercise_count = 0
    graded = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _with_links_to_book(cell.source)
        tags = cell.metadata.get("tags", ())
        if "exercise" in tags:
            exercise_count += 1
            _mark(cell, f"exercise-{exercise_count}", solution=True)
        elif "check" in tags and (match := GRADED.search(cell.source)):
            number = int(match[1])
            graded.append(number)
            if number not in points:
                raise ValueError(
                    f"check.exercise({number}) has no points; there are points for {sorted(points)}"
                )
            _mark(
                cell, f"check-{number}", grade=True, locked=True, points=points[number]
            )
    if not graded == sorted(points) == list(range(1, exercise_count + 1)):
        raise ValueError(
            f"{exercise_count} cells are tagged exercise; there are checks for {graded} and points for {sorted(points)}"
        )
    return notebook


def _with_links_to_book(text):
    return LINK.sub(lambda link: f"]({urljoin(BOOK, link[1])}.html", text)


def _is_solution(cell):
    return (
        cell.cell_type == "markdown"
        and "<details" in cell.source
        and "```python" in cell.source
    )


def _mark(cell, name, grade=False, solution=False, locked=False, **points):
    cell.metadata["nbgrader"] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": grade,
        "solution": solution,
        "locked": locked,
        "task": False,
        **points,
    }


def max_points(path: Path) -> dict[int, int]:
    """Return {number of an exercise: its most points} of the notebook at `path`.

    The points come from the checks that the notebook imports.
    """
    sys.path.insert(0, str(path.parent))
    notebook = nbformat.read(path, as_version=4)
    module = next(
        match[1] for cell in notebook.cells if (match := CHECKS.search(cell.source))
    )
    exercises = importlib.import_module(f"checks.{module}").check.exercises
    return {number: exercises[number].points for number in sorted(exercises)}


def build(
    folder: str | Path, names: list[str], notebooks: Path = NOTEBOOKS
) -> list[Path]:
    """Write the course folder; return the paths of the assignments.

    Args:
        folder: The course folder.
        names: Beginnings of the notebooks' file names, such as "02" or "04_value".
        notebooks: Folder of the notebooks and their checks/.

    Raises:
        FileNotFoundError: If a name fits no notebook or several.
        FileExistsError: If an assignment exists already.
    """
    existing = sorted(notebooks.glob("[0-9]*.ipynb"))
    targets = []
    for name in names:
        stem = name.removesuffix(".ipynb")
        matches = [path for path in existing if path.stem.startswith(stem)]
        if len(matches) != 1:
            raise FileNotFoundError(
                f"{name!r} fits {len(matches)} notebooks of "
                f"{[path.stem for path in existing]}; it must fit exactly one"
            )
        target = Path(folder, "source", matches[0].stem, matches[0].name)
        targets.append(target)
        if target.exists():
            raise FileExistsError(
                f"{target} exists; remove its folder to write it again"
            )
    for target in targets:
        original = notebooks / target.name
        notebook = assignment(
            nbformat.read(original, as_version=4), max_points(original)
        )
        target.parent.mkdir(parents=True)
        shutil.copytree(
            notebooks / "checks",
            target.parent / "checks",
            ignore=shutil.ignore_patterns("__pycache__", "course.py"),
        )
        glossary = (notebooks / "glossary.md").read_text(encoding="utf-8")
        (target.parent / "glossary.md").write_text(
            _with_links_to_book(glossary), encoding="utf-8"
        )
        shutil.copytree(notebooks / "pictures", target.parent / "pictures")
        nbformat.write(notebook, target)
    config = Path(folder, "nbgrader_config.py")
    if not config.exists():
        config.write_text(CONFIG, encoding="utf-8")
    return targets


def main() -> int:
    """Write the course folder that the command line names; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER", help="the course folder")
    parser.add_argument(
        "names", nargs="+", metavar="NOTEBOOK", help="such as 02, or 04_value"
    )
    arguments = parser.parse_args()
    try:
        for path in build(arguments.folder, arguments.names):
            print(path)
    except (FileNotFoundError, FileExistsError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
