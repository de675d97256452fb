"""Film the widgets of the notebooks for the book, where no kernel moves them.

    python docs/films.py                        # all notebooks, some minutes
    python docs/films.py 05_managing_arrivals   # only these

Each notebook runs in a copy, up to its last widget. A film is an animated WebP in docs/static/films, which begins with
the picture that the book shows until a reader plays it. films.json has the alternative texts.
"""

import json
import shutil
import sys
import tempfile
from pathlib import Path

import nbformat
import numpy as np
from nbclient import NotebookClient
from PIL import Image

from pushlab.plots import style, widgets

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "static" / "films"
TABLE = FOLDER / "films.json"
WIDGETS = (
    "player: ",
    "explore: ",
    "you are the agent: ",
)  # begin a widget's saved text
FRAMES = 8
MAX_BYTES = 300_000
MILLISECONDS = 900
displayed = []


# ---------------------------------------------------------------- in the kernel of a notebook


def watch():
    """Remember each widget that a cell displays."""
    bundle = widgets.Panel._repr_mimebundle_

    def remember(panel, **options):
        displayed.append(panel)
        return bundle(panel, **options)

    widgets.Panel._repr_mimebundle_ = remember


def film(name):
    """Save the film of the widget that was displayed last."""
    panel = displayed.pop()
    figures = list(pictures_of(panel))
    frames = [Image.fromarray(style.pixels(figure)) for figure in figures]
    size = np.max([frame.size for frame in frames], axis=0)
    sheets = []
    for frame in frames:
        sheet = Image.new("RGB", tuple(size), style.PAPER)
        sheet.paste(frame)
        sheets.append(sheet)
    path = FOLDER / f"{name}.webp"
    path.parent.mkdir(parents=True, exist_ok=True)
    while True:
        save(sheets, path)
        if path.stat().st_size <= MAX_BYTES:
            break
        # The first picture stays, and every second of the others.
        sheets = [sheets[0], *sheets[2::2]]
    table = json.loads(TABLE.read_text("utf-8")) if TABLE.exists() else {}
    title = figures[0].get_label() or repr(panel)
    table[name] = {"alt": title, "width": int(size[0]), "height": int(size[1])}
    text = json.dumps(dict(sorted(table.items())), indent=1, ensure_ascii=False)
    TABLE.write_text(f"{text}\n", "utf-8")


def save(sheets, path):
    """Save an endless film."""
    sheets[0].save(
        path,
        save_all=True,
        append_images=sheets[1:],
        duration=MILLISECONDS,
        loop=0,
        lossless=True,
        method=6,
        minimize_size=True,
    )


def pictures_of(panel):
    """Yield the figures of a widget in some of its positions, the most telling one first."""
    if isinstance(panel, widgets.Player):
        positions = np.linspace(0, len(panel.frames) - 1, FRAMES).astype(int)
        for index in (positions[-1], *positions[:-1]):
            yield figure_of(panel.picture(panel.frames[: index + 1], **panel.options))
    elif isinstance(panel, widgets.Explorer):
        yield figure_of(panel.picture(**panel.values))
        name, control = next(iter(panel.controls.items()))
        places = np.linspace(0, len(control.values) - 1, FRAMES).astype(int)
        for place in np.unique(places):
            if control.values[place] != panel.values[name]:
                values = {**panel.values, name: control.values[place]}
                yield figure_of(panel.picture(**values))
    else:
        yield figure_of(panel.draw(panel.state())[0])
        sizes = [len(values) for _, values in panel.choices.items()]
        for count in range(FRAMES - 3):
            action = [(3 * count + 1) % size for size in sizes]
            if len(sizes) == 1:
                allowed = np.flatnonzero(panel.allowed)
                action = [int(allowed[count % len(allowed)])]
            panel.act(action)
            yield figure_of(panel.draw(panel.state())[0])


def figure_of(picture):
    """Return the figure of a Figure or Axes."""
    return getattr(picture, "figure", None) or picture


# ---------------------------------------------------------------- all notebooks


def run(path, folder):
    """Run a notebook in a folder and film its widgets."""
    notebook = nbformat.read(path, as_version=4)
    cells = []
    last = 0
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cells.append(cell)
        for output in cell.outputs:
            text = output.get("data", {}).get("text/plain", "")
            if text.startswith(WIDGETS):
                name = f"{path.stem}/{cell.id}"
                cells.append(nbformat.v4.new_code_cell(f"film_widget({name!r})"))
                last = len(cells)
    if not last:
        return
    begin = [
        f"import sys\nsys.path.append({str(ROOT / 'docs')!r})",
        "from films import film as film_widget, watch\nwatch()",
    ]
    first = [nbformat.v4.new_code_cell(text) for text in begin]
    notebook.cells = [*first, *cells[:last]]
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=600, resources=resources).execute()


def main(names):
    """Film the widgets of some notebooks, by default of all."""
    names = [Path(name).stem for name in names]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "notebooks"
        shutil.copytree(ROOT / "notebooks", copy)
        for path in sorted(copy.glob("*.ipynb")):
            if not names or path.stem in names:
                run(path, copy)
                print(path.stem, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
