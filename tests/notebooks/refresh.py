"""Run the notebooks again and save them in a normal form: `make notebooks`.

- python tests/notebooks/refresh.py [NAME ...]: run and save the named notebooks, by default all
- python tests/notebooks/refresh.py --form [NAME ...]: change the form only, without running

The normal form keeps differences between versions small. It has execution counts 1..N, outputs,
cell ids and lists of numbers (see prose.py), but no timings and no widget state. A widget is saved
as text. Pictures get a palette, which takes a third of the bytes, and the printed text of their
cell as alternative text. If a cell fails, the notebook stays as it was.

Readers on the web see the saved outputs, and the tests compare with them. So `--form`, the hook
before a commit, refuses a notebook unless its cells were run once each from top to bottom.
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
LANGUAGE = {  # as JupyterLab writes it, so that saving changes nothing
    "codemirror_mode": {"name": "ipython", "version": 3},
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "name": "python",
    "nbconvert_exporter": "python",
    "pygments_lexer": "ipython3",
    "version": "3.11.7",
}
WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
CELL_METADATA = ("tags", "jupyter", "slideshow", "numbers", "nbgrader")
COLOURS = 256
MAX_ALT_LENGTH = 300
# The first line of a folded output, which JupyterLab shows.
ANSWER = "The answer:"
TIMEOUT = 1800  # seconds for a cell or the start of a kernel


def find_notebooks(names=()):
    """Return the paths of the notebooks called `names`, by default of all.

    Args:
        names: Names, with or without .ipynb.

    Raises:
        FileNotFoundError: If a notebook is missing.
    """
    existing = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.ipynb"))}
    stems = [Path(name).name.removesuffix(".ipynb") for name in names] or existing
    if missing := [stem for stem in stems if stem not in existing]:
        raise FileNotFoundError(f"no notebook {missing}; there are {list(existing)}")
    return [existing[stem] for stem in stems]


def execute(notebook, folder):
    """Run every cell of `notebook` in a fresh kernel of this Python, in place.

    Args:
        notebook: The notebook.
        folder: Working directory.

    Raises:
        CellExecutionError: If a cell fails.
    """
    from nbclient import NotebookClient

    os.environ.pop("MPLBACKEND", None)  # a headless backend would omit the figures
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
            cell.execution_count = None
    notebook.metadata.kernelspec = KERNELSPEC
    NotebookClient(
        notebook,
        timeout=TIMEOUT,
        startup_timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
    ).execute()


def merge_streams(outputs):
    """Join neighbouring pieces of one stream, whose number depends on timing."""
    merged = []
    for output in outputs:
        last = merged[-1] if merged else {}
        if output.output_type == "stream" and output.name == last.get("name"):
            last.text += output.text
        else:
            merged.append(output)
    return merged


def with_palette(encoded):
    """Return a PNG in base64 with at most 256 colours, or the original if that is smaller.

    An octree keeps the colours of small areas; median cuts turned a blue into green.
    """
    from PIL import Image

    encoded = encoded.replace("\n", "")
    picture = Image.open(io.BytesIO(base64.b64decode(encoded)))
    if picture.mode == "P":  # a second palette would change the colours again
        return encoded
    smaller = io.BytesIO()
    octree = Image.Quantize.FASTOCTREE
    picture = picture.convert("RGB").quantize(COLOURS, octree, dither=Image.Dither.NONE)
    picture.save(smaller, "PNG", optimize=True)
    return min(encoded, base64.b64encode(smaller.getvalue()).decode(), key=len)


def describe(outputs):
    """Set the alternative text of each picture to its title and its cell's printed text, in place."""
    lines = []
    values = []
    for output in outputs:
        if output.output_type == "stream":
            lines += output.text.splitlines()
        elif text := output.get("data", {}).get("text/plain", ""):
            values.append(text)
    unrelated = (ANSWER, "No guess was written down", "You guessed")
    lines = [line for line in lines if not line.startswith(unrelated)]
    printed = " ".join(" ".join(lines).split())
    if not printed:
        tables = [text for text in values if not text.startswith("<")]
        printed = " ".join(" ".join(tables[:1]).split())
    for output in outputs:
        if "image/png" in output.get("data", {}):
            metadata = output.metadata.setdefault("image/png", nbformat.NotebookNode())
            title = metadata.get("alt", "").strip()
            if printed and (
                printed in title or title.endswith(" …")
            ):  # an earlier save
                continue
            text = ". ".join(part for part in (title.rstrip("."), printed) if part)
            metadata["alt"] = textwrap.shorten(text, MAX_ALT_LENGTH, placeholder=" …")


def normalise(notebook):
    """Bring an executed notebook into the normal form, in place."""
    notebook.metadata = nbformat.from_dict(
        {"kernelspec": KERNELSPEC, "language_info": LANGUAGE}
    )
    notebook.nbformat = 4
    notebook.nbformat_minor = 5
    ids = set()
    for position, cell in enumerate(notebook.cells):
        if cell.get("id") in {None, *ids}:
            cell.id = f"cell-{position:02d}"
        ids.add(cell.id)
        cell.metadata = nbformat.from_dict(
            {key: value for key, value in cell.metadata.items() if key in CELL_METADATA}
        )
        if cell.cell_type == "code":
            if cell.metadata.get("jupyter", {}).get("outputs_hidden"):
                cell.metadata.collapsed = True  # JupyterLab writes both
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
    """Write the notebook under a temporary name, then rename it.

    If the run is interrupted, the old notebook stays intact.
    """
    nbformat.validate(notebook)
    temporary = path.with_name(f".{path.name}.unfinished")
    try:
        nbformat.write(notebook, temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def unrun_reason(notebook):
    """Return why a notebook has to be run before it is saved, or "" if it has not."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    cells = [cell for cell in code if cell.source.strip()]
    counts = [cell.execution_count for cell in cells]
    if cells and not any(cell.outputs for cell in cells):
        return "it has no outputs"
    if counts != list(range(1, len(cells) + 1)):
        return "its cells were not run once each from top to bottom"
    return ""


def form(path):
    """Bring the notebook at `path` into the normal form without running it; return a message.

    Raises:
        ValueError: If it was not run from top to bottom; the file stays as it is.
    """
    notebook = nbformat.read(path, as_version=4)
    if reason := unrun_reason(notebook):
        raise ValueError(f"{reason}; run it: make notebooks NAMES={path.stem}")
    normalise(notebook)
    if (nbformat.writes(notebook) + "\n").encode() == path.read_bytes():
        return ""
    save(notebook, path)
    return f"{path.name}: brought into the normal form\n"


def refresh(path):
    """Run the notebook at `path` and save it in the normal form; return a message."""
    notebook = nbformat.read(path, as_version=4)
    execute(notebook, path.parent)
    normalise(notebook)
    save(notebook, path)
    return f"{path.name}: saved, {path.stat().st_size // 1000} kB\n"


def main(arguments=None):
    """Refresh the named notebooks; return 0, or 1 if one of them failed or was refused."""
    parser = argparse.ArgumentParser(
        description="Run notebooks again and save them in a normal form."
    )
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help="such as 00_start_here; all by default"
    )
    parser.add_argument(
        "--form",
        action="store_true",
        help="change the form only, without running",
    )
    options = parser.parse_args(arguments)
    try:
        paths = find_notebooks(options.names)
    except FileNotFoundError as error:
        parser.error(str(error))
    failed = 0
    for path in paths:
        try:
            print(form(path) if options.form else refresh(path), end="", flush=True)
        except Exception as error:  # the other notebooks may still succeed
            print(f"{path.name}: left as it was, {error}")
            failed = 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
