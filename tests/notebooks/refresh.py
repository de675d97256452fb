"""Run the notebooks again and save them in one normal form: what `make notebooks` does.

- python tests/notebooks/refresh.py [NAME ...]: all of notebooks/ if no name is given
- python tests/notebooks/refresh.py --form [NAME ...]: run nothing, change only the form of what was
  saved

The normal form keeps differences between versions small: execution counts 1..N, outputs, cell ids
and lists of numbers (see prose.py), but no timings and no widget state. A widget is saved as its
text, without a view that needs a kernel. Pictures get a palette, which is a third of the bytes, and
the text that their cell prints as alternative text. If a cell fails, the notebook stays as it was.

Readers on the web see the saved outputs, and the tests compare with them. So `--form`, the hook
before a commit, refuses a notebook whose cells were not run once each from top to bottom.
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
KERNELSPEC = {
    "display_name": "Python 3 (ipykernel)",
    "language": "python",
    "name": "python3",
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CELL_METADATA = ("tags", "jupyter", "slideshow", "numbers", "nbgrader")
COLOURS, LONGEST_ALT = 256, 300
PATIENCE = 1800  # seconds for a cell or the start of a kernel


def find_notebooks(names=()):
    """Return the paths of the notebooks called `names`, with or without .ipynb; all by default.

    Raises FileNotFoundError if one is missing.
    """
    existing = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    wanted = [Path(name).name.removesuffix(".ipynb") for name in names] or existing
    if missing := [name for name in wanted if name not in existing]:
        raise FileNotFoundError(f"no notebook {missing}; there are {list(existing)}")
    return [existing[name] for name in wanted]


def execute(notebook, folder):
    """Run every cell of `notebook` in a fresh kernel of this Python, in place, working in `folder`.

    Raises nbclient's CellExecutionError if a cell fails.
    """
    from nbclient import NotebookClient

    os.environ.pop("MPLBACKEND", None)  # a headless backend would leave the figures out
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    notebook.metadata.kernelspec = KERNELSPEC
    NotebookClient(
        notebook,
        timeout=PATIENCE,
        startup_timeout=PATIENCE,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()


def merge_streams(outputs):
    """Join neighbouring pieces of one stream: how they were cut depends on timing."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "stream" and output.name == last.get("name"):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def with_palette(encoded):
    """Return a PNG in base64 with at most 256 colours, if that is smaller.

    An octree keeps the colours of small areas; by median cuts a blue became green.
    """
    from PIL import Image

    encoded = encoded.replace("\n", "")
    picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    if picture.mode == "P":  # another palette would change its colours again
        return encoded
    smaller = io.BytesIO()
    octree = Image.Quantize.FASTOCTREE
    picture = picture.convert("RGB").quantize(COLOURS, octree, dither=Image.Dither.NONE)
    picture.save(smaller, "PNG", optimize=True)
    return min(encoded, base64.b64encode(smaller.getvalue()).decode(), key=len)


def describe(outputs):
    """Set the alternative text of each picture to its title and what its cell prints, in place."""
    printed, tables = [], []
    for output in outputs:
        if output.output_type == "stream":
            printed += output.text.splitlines()
        elif text := output.get("data", {}).get("text/plain", ""):
            tables.append(text)
    guesses = ("You made no guess", "You guessed")
    said = " ".join(
        " ".join(line for line in printed if not line.startswith(guesses)).split()
    )
    if not said:
        shown = [text for text in tables if not text.startswith("<")]
        said = " ".join(" ".join(shown[:1]).split())
    for output in outputs:
        if "image/png" in output.get("data", {}):
            about = output.metadata.setdefault("image/png", nbformat.NotebookNode())
            title = about.get("alt", "").strip()
            if said and (said in title or title.endswith(" …")):  # of an earlier save
                continue
            words = ". ".join(part for part in (title.rstrip("."), said) if part)
            about["alt"] = textwrap.shorten(words, LONGEST_ALT, placeholder=" …")


def normalise(notebook):
    """Bring an executed notebook into the normal form, in place."""
    language = {"name": "python"}
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNELSPEC, "language_info": language}
    )
    notebook.nbformat, notebook.nbformat_minor = 4, 5
    ids = set()
    for position, cell in enumerate(notebook.cells):
        if cell.get("id") in {None, *ids}:
            cell.id = f"cell-{position:02d}"
        ids.add(cell.id)
        cell.metadata = nbformat.from_dict(
            {key: value for key, value in cell.metadata.items() if key in CELL_METADATA}
        )
        if cell.cell_type == "code":
            cell.outputs = merge_streams(cell.outputs)
            for output in cell.outputs:
                data = output.get("data", {})
                if WIDGET_VIEW in data:
                    del data[WIDGET_VIEW]
                    output.metadata.pop(WIDGET_VIEW, None)
                if "image/png" in data:
                    data["image/png"] = with_palette(data["image/png"])
            describe(cell.outputs)


def save(notebook, path):
    """Write the notebook under a temporary name, then rename it: an interrupted run leaves the old one whole."""
    nbformat.validate(notebook)
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        nbformat.write(notebook, unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def not_run(notebook):
    """Return why a notebook cannot be saved without running it, or "" if it can."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cells = [cell for cell in code if cell.source.strip()]
    counts = [cell.execution_count for cell in cells]
    if cells and not any(cell.outputs for cell in cells):
        return "it has no outputs"
    if counts != list(range(1, len(cells) + 1)):
        return "its cells were not run once each from top to bottom"
    return ""


def form(path):
    """Bring the notebook at `path` into the normal form, without running it; return what was done, in words.

    Raises ValueError, and leaves the file as it is, if it was not run as a whole.
    """
    notebook = nbformat.read(path, as_version=4)
    if why := not_run(notebook):
        raise ValueError(f"{why}; run it: make notebooks NAMES={path.stem}")
    normalise(notebook)
    if (nbformat.writes(notebook) + "\n").encode() == path.read_bytes():
        return ""
    save(notebook, path)
    return f"{path.name}: brought into the normal form\n"


def refresh(path):
    """Run the notebook at `path` and save it in the normal form; return what was done, in words."""
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.parent)
    normalise(notebook)
    save(notebook, path)
    return f"{path.name}: saved, {path.stat().st_size // 1000} kB\n"


def main(arguments=None):
    """Refresh the named notebooks; return 0, or 1 if one of them failed or was refused."""
    parser = argparse.ArgumentParser(
        description="Run notebooks again and save them in one normal form."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as 00_start_here; all by default"
    )
    parser.add_argument(
        "--form",
        action="store_true",
        help="run nothing, change only the form of what is saved",
    )
    chosen = parser.parse_args(arguments)
    try:
        paths = find_notebooks(chosen.names)
    except FileNotFoundError as missing:
        parser.error(str(missing))
    failed = 0
    for path in paths:
        try:
            print(form(path) if chosen.form else refresh(path), end="", flush=True)
        except Exception as failure:  # the other notebooks are still worth a try
            print(f"{path.name}: left as it was, {failure}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
