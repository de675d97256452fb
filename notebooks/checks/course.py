"""A course folder for nbgrader out of these notebooks, for whoever teaches a class.

    python notebooks/checks/course.py FOLDER 02 04 ...

Each notebook that is named becomes an assignment. FOLDER/source/NOTEBOOK/ holds the notebook without its folded
solutions, its exercises and checks marked for nbgrader with their points, and the checks beside it;
FOLDER/nbgrader_config.py is written once.
Then, in FOLDER: `nbgrader generate_assignment NOTEBOOK`, hand out release/, collect into submitted/,
`nbgrader autograde NOTEBOOK`, `nbgrader export`. notebooks/README.md has the whole way.
"""

import argparse
import importlib
import re
import shutil
import sys
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[1]
CHECKS = re.compile(r"^from checks\.(nb\d\d) import check$", re.MULTILINE)
GRADED = re.compile(r"^check\.exercise\((\d+)\)$", re.MULTILINE)
CONFIG = '''"""What nbgrader is told of this course."""

c = get_config()  # noqa: F821 (nbgrader runs this file with it)
# An exercise is handed out as it stands: its first lines show what the answer has to be called.
c.GenerateAssignment.preprocessors = [
    f"nbgrader.preprocessors.{name}" for name in (
        "IncludeHeaderFooter", "LockCells", "ClearOutput", "CheckCellMetadata", "ComputeChecksums", "SaveCells",
        "ComputeChecksums", "CheckCellMetadata")]
c.ExecutePreprocessor.timeout = 600        # seconds a cell
'''


def assignment(
    notebook: nbformat.NotebookNode, points: dict[int, int]
) -> nbformat.NotebookNode:
    """The notebook as an assignment, in place: marks for nbgrader, and no solutions.

    points   {number of an exercise: the most points it gives}
    Raises ValueError when a check is for an exercise without points, or an exercise has no check.
    """
    notebook.cells = [cell for cell in notebook.cells if not _is_solution(cell)]
    number, graded = 0, []
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", ())
        if "exercise" in tags:
            number += 1
            _mark(cell, f"exercise-{number}", solution=True)
        elif "check" in tags and (found := GRADED.search(cell.source)):
            graded.append(int(found[1]))
            if graded[-1] not in points:
                raise ValueError(
                    f"check.exercise({graded[-1]}): there are points for {sorted(points)}"
                )
            _mark(
                cell,
                f"check-{found[1]}",
                grade=True,
                locked=True,
                points=points[graded[-1]],
            )
    if not graded == sorted(points) == list(range(1, number + 1)):
        raise ValueError(
            f"{number} cells tagged exercise and checks for {graded}, but points for {sorted(points)}"
        )
    return notebook


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


def points_of(path: Path) -> dict[int, int]:
    """{number of an exercise: the most points it gives} of the notebook at `path`, from the checks it imports."""
    sys.path.insert(0, str(path.parent))
    notebook = nbformat.read(path, as_version=4)
    module = next(
        found[1] for cell in notebook.cells if (found := CHECKS.search(cell.source))
    )
    check = importlib.import_module(f"checks.{module}").check
    return {number: one.points for number, one in sorted(check.exercises.items())}


def build(
    folder: str | Path, names: list[str], notebooks: Path = NOTEBOOKS
) -> list[Path]:
    """Writes the course folder; returns the notebooks it wrote.

    names      how a notebook's file name begins, such as "02" or "04_value"
    notebooks  the folder where the notebooks and their checks/ are
    Raises FileNotFoundError when a name fits no notebook or several, FileExistsError when an assignment is there.
    """
    there, written = sorted(notebooks.glob("[0-9]*.ipynb")), []
    for name in names:
        fits = [
            path for path in there if path.stem.startswith(name.removesuffix(".ipynb"))
        ]
        if len(fits) != 1:
            raise FileNotFoundError(
                f"{name!r} is the beginning of {len(fits)} notebooks of "
                f"{[path.stem for path in there]}; exactly one is needed"
            )
        written.append(Path(folder, "source", fits[0].stem, fits[0].name))
        if written[-1].exists():
            raise FileExistsError(
                f"{written[-1]} is there; remove its folder to make it anew"
            )
    for path in written:
        original = notebooks / path.name
        notebook = assignment(
            nbformat.read(original, as_version=4), points_of(original)
        )
        path.parent.mkdir(parents=True)
        shutil.copytree(
            notebooks / "checks",
            path.parent / "checks",
            ignore=shutil.ignore_patterns("__pycache__", "course.py"),
        )
        shutil.copy(notebooks / "glossary.md", path.parent)
        nbformat.write(notebook, path)
    config = Path(folder, "nbgrader_config.py")
    if not config.exists():
        config.write_text(CONFIG, encoding="utf-8")
    return written


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", metavar="FOLDER")
    parser.add_argument(
        "names", nargs="+", metavar="NOTEBOOK", help="such as 02, or 04_value"
    )
    given = parser.parse_args()
    try:
        for path in build(given.folder, given.names):
            print(path)
    except (FileNotFoundError, FileExistsError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
