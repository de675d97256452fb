"""Run the notebooks again and save them in one normal form: what `make notebooks` does.

    python tests/notebooks/refresh.py [NAME ...]             all of notebooks/ when no name is given
    python tests/notebooks/refresh.py --form [NAME ...]      runs nothing: only the form of what was saved changes

The normal form keeps differences between versions small: execution counts 1..N, outputs kept, cells with the ids they
had and their lists of numbers (see prose.py), no timings, no widget state. A widget leaves its text behind instead of a
view that only a live kernel could fill. Pictures get a palette, which is a third of the bytes, and what their cell
prints as an alternative text. A notebook in which a cell fails is left as it was.

Outputs are kept: they are what people read on the web, and what the tests compare with. So `--form`, the hook that runs
before a commit, refuses a notebook that was not run, or whose cells were not run once each from top to bottom.
"""

import argparse
import base64
import io
import os
import sys
import textwrap
from pathlib import Path

import nbformat

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
KERNELSPEC = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
KEPT_CELL_METADATA = ("tags", "jupyter", "slideshow", "numbers", "nbgrader")
COLOURS, LONGEST_ALT = 256, 300
PATIENCE = 1800  # seconds for a cell or the start of a kernel


def find_notebooks(names, folder=NOTEBOOKS):
    """Paths of the notebooks called `names`, with or without .ipynb; all of `folder` when none is given.

    Raises FileNotFoundError naming what is missing and what there is.
    """
    there = sorted(folder.glob("*.ipynb"))
    wanted = [folder / f"{Path(name).name.removesuffix('.ipynb')}.ipynb" for name in names] or there
    missing = [path.name for path in wanted if path not in there]
    if not wanted:
        raise FileNotFoundError(f"no notebook in {folder.name}/")
    if missing:
        raise FileNotFoundError(f"no {', '.join(missing)} in {folder.name}/; there are {[p.name for p in there]}")
    return wanted


def execute(notebook, folder):
    """Run every cell of `notebook` in a fresh kernel of this Python, in place, working in `folder`.

    Raises nbclient's CellExecutionError when a cell fails.
    """
    from nbclient import NotebookClient

    os.environ.pop("MPLBACKEND", None)  # a headless backend of the caller would leave the figures out
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    resources = {"metadata": {"path": str(folder)}}
    notebook.metadata.kernelspec = KERNELSPEC
    NotebookClient(notebook, timeout=PATIENCE, startup_timeout=PATIENCE, kernel_name="python3",
                   resources=resources).execute()


def merge_streams(outputs):
    """The outputs with neighbouring pieces of one stream joined: how they were cut depends on timing."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(output)
    return merged


def new_id(old, position, taken):
    """The old id of a cell, or one made of its position where it has none or another cell has it."""
    if old and old not in taken:
        return old
    return next(name for name in (f"cell-{position:02d}{extra}" for extra in ("", *"abcdefgh")) if name not in taken)


def with_palette(encoded):
    """A PNG in base64 with at most 256 colours, if that is smaller.

    An octree keeps the colours of small areas: in notebooks 0 and 5 no channel moves by more than 15 of 255. By median
    cuts it was 91, and a blue became green.
    """
    from PIL import Image

    picture, smaller = Image.open(io.BytesIO(base64.b64decode(encoded))), io.BytesIO()
    if picture.mode == "P":         # it has one already, and another one would move its colours again
        return encoded.replace("\n", "")
    picture = picture.convert("RGB")
    picture.quantize(COLOURS, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(
        smaller, "PNG", optimize=True)
    found = base64.b64encode(smaller.getvalue()).decode()
    return min(encoded.replace("\n", ""), found, key=len)


def describe(outputs):
    """Put the picture's title and what the cell prints beside each of its pictures as `alt`, in place."""
    lines = [line for output in outputs if output.output_type == "stream" for line in output.text.splitlines()
             if not line.startswith(("No guess was written down", "You guessed"))]
    tables = (output.data.get("text/plain", "") for output in outputs if "data" in output)
    said = " ".join(" ".join(lines).split()) or next(
        (" ".join(text.split()) for text in tables if text and not text.startswith("<")), "")
    for output in outputs:
        if "image/png" in output.get("data", {}):
            about = output.metadata.setdefault("image/png", nbformat.NotebookNode())
            title = about.get("alt", "").strip()
            if said and (said in title or title.endswith(" …")):       # it was told when this was saved before
                continue
            about["alt"] = textwrap.shorten(". ".join(filter(None, (title.rstrip("."), said))), LONGEST_ALT,
                                            placeholder=" …")


def normalise(notebook):
    """Bring an executed notebook into the normal form, in place."""
    notebook.metadata = nbformat.from_dict({"kernelspec": KERNELSPEC, "language_info": {"name": "python"}})
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    ids = set()
    for position, cell in enumerate(notebook.cells):
        cell.id = new_id(cell.get("id"), position, ids)
        ids.add(cell.id)
        cell.metadata = nbformat.from_dict({k: v for k, v in cell.metadata.items() if k in KEPT_CELL_METADATA})
        if cell.cell_type != "code":
            continue
        cell.outputs = merge_streams(cell.outputs)
        for output in cell.outputs:
            if "data" in output:
                output.data.pop(WIDGET_VIEW, None)
                output.metadata.pop(WIDGET_VIEW, None)
                if "image/png" in output.data:
                    output.data["image/png"] = with_palette(output.data["image/png"])
        describe(cell.outputs)


def save(notebook, path):
    """Write the notebook under a temporary name, then rename: an interrupted run leaves the old one whole."""
    nbformat.validate(notebook)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        nbformat.write(notebook, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def refresh(path):
    """Run the notebook at `path` and save it in the normal form."""
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.parent)
    normalise(notebook)
    save(notebook, path)


def not_run(notebook):
    """Why a notebook cannot be saved without running it, in words; "" if it can."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    counts = [cell.execution_count for cell in cells]
    if cells and not any(cell.outputs for cell in cells):
        return "it has no outputs"
    if counts != list(range(1, len(cells) + 1)):
        return "its cells were not run once each from top to bottom"
    return ""


def form(path):
    """Bring what was saved at `path` into the normal form, without running it; returns whether that changed the file.

    Raises ValueError, and leaves the file, where it was not run as a whole.
    """
    before = path.read_bytes()
    notebook = nbformat.reads(before.decode("utf-8"), as_version=4)
    if why := not_run(notebook):
        raise ValueError(f"{why}; run it: make notebooks NAMES={path.stem}")
    normalise(notebook)
    if (nbformat.writes(notebook) + "\n").encode() == before:
        return False
    save(notebook, path)
    return True


def main(arguments=None):
    """Refresh the named notebooks; returns 0, or 1 when one of them failed or was refused."""
    parser = argparse.ArgumentParser(description="Run notebooks again and save them in one normal form.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="such as 00_start_here; all when none is given")
    parser.add_argument("--form", action="store_true", help="run nothing, change only the form of what is saved")
    asked = parser.parse_args(arguments)
    try:
        paths = find_notebooks(asked.names)
    except FileNotFoundError as missing:
        parser.error(str(missing))
    failed = [path.name for path in paths if not (formed if asked.form else refreshed)(path)]
    return 1 if failed else 0


def formed(path):
    """Whether a notebook is in the normal form now; says what was done."""
    try:
        if form(path):
            print(f"{path.name}: brought into the normal form")
    except ValueError as refused:
        print(f"{path.name}: left as it was, {refused}")
        return False
    return True


def refreshed(path):
    """Whether a notebook ran and was saved; says so."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError

    print(f"{path.name} ...", end=" ", flush=True)
    try:
        refresh(path)
    except (CellExecutionError, CellTimeoutError) as failure:
        print(f"FAILED, left as it was\n{failure}")
        return False
    print(f"saved, {path.stat().st_size // 1000} kB")
    return True


if __name__ == "__main__":
    sys.exit(main())
