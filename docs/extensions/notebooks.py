"""Show saved notebooks as pages, with films in place of widgets, and draw the map of the course.

The map is a mermaid graph of the notebooks. GitHub draws it without links, the book with links.
"""

import html
import json
import re
import textwrap
from collections import defaultdict
from functools import cache
from pathlib import Path
from urllib.parse import quote

import nbformat
from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform

FILMS = Path(__file__).resolve().parents[1] / "static" / "films"
GLOSSARY = Path(__file__).resolve().parents[2] / "notebooks" / "glossary.md"
UNSOLVED = "✗"  # begins what a check says about an exercise without a solution
# {prefix of a widget's saved text (see pushlab.plots.widgets): title on the page}
WIDGETS = {
    "player": "A film to play",
    "explore": "A picture to change with sliders",
    "you are the agent": "Your turn to act",
}
WIDGET = re.compile(rf"({'|'.join(WIDGETS)}): (.+)", re.DOTALL)
FOLDED = {"source_hidden": "hide-input", "outputs_hidden": "hide-output"}
NODE = re.compile(r'N(\d+)(?:\["([^"]+)"\])?')
STEP = (188, 84)  # from box to box, in pixels
BOX = (172, 52)
STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)


@cache
def films():
    """Return {notebook/cell id: alternative text and size} of the films of widgets (docs/films.py)."""
    return json.loads((FILMS / "films.json").read_text("utf-8"))


def placeholder(match, path, cell_id):
    """Return the HTML that replaces a widget: its film, and where it moves."""
    name = f"{Path(path).stem}/{cell_id}"
    picture = ""
    if name in films():
        film = films()[name]
        picture = (
            f'<img src="../_static/films/{name}.webp" alt="{html.escape(film["alt"])}" '
            f'width="{film["width"]}" height="{film["height"]}" loading="lazy">'
        )
    address = f"https://mybinder.org/v2/gh/pushlab/pushlab/HEAD?labpath={quote(path, safe='')}"
    title = f"<strong>{WIDGETS[match[1]]}</strong>"
    if match[1] != "you are the agent":
        title += f" ({html.escape(match[2])})"
    return (
        f'<figure class="film">{picture}<figcaption>{title}. '
        f'It moves in JupyterLab: <a href="{html.escape(address)}">open this notebook in '
        "Binder</a>, or on your own computer.</figcaption></figure>"
    )


def prepare(cell, path):
    """Prepare a code cell for the page.

    Hidden parts are folded, widgets replaced, styles removed, and alternative texts set. What the check of an exercise
    says before a reader has begun is left out.
    """
    hidden = cell.metadata.get("jupyter", {})
    tags = [tag for name, tag in FOLDED.items() if hidden.get(name)]
    if tags:
        show = "Show the answer" if tags == ["hide-output"] else "Show"
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), *tags]
        cell.metadata["mystnb"] = {"code_prompt_show": show, "code_prompt_hide": "Hide"}
    is_unsolved = any(UNSOLVED in output.get("text", "") for output in cell.outputs)
    if is_unsolved and "check" in cell.metadata.get("tags", []):
        cell.outputs = []
    for output in cell.outputs:
        data = output.get("data", {})
        match = WIDGET.fullmatch(data.get("text/plain", ""))
        if match and len(data) == 1:
            data["text/html"] = placeholder(match, path, cell.id)
        elif "text/html" in data:
            data["text/html"] = STYLE.sub("", data["text/html"])
        if "image/png" in data:
            alt = output.metadata.get("image/png", {}).get("alt", "")
            cell.metadata.setdefault("mystnb", {})["image"] = {"alt": alt}


def read(app, docname, source):
    """Prepare a notebook before Sphinx reads it."""
    path = app.env.doc2path(docname, base=False).as_posix()
    if path.endswith(".ipynb"):
        for dependency in (__file__, FILMS / "films.json"):
            app.env.note_dependency(str(dependency))
        notebook = nbformat.reads(source[0], as_version=4)
        # The first cell does something on Google Colab only.
        notebook.cells = [cell for cell in notebook.cells if cell.id != "colab"]
        for cell in notebook.cells:
            if cell.cell_type == "code":
                prepare(cell, path)
        source[0] = nbformat.writes(notebook)


@cache
def glossary():
    """Return {notebook: words that it explains}."""
    words = defaultdict(list)
    text = GLOSSARY.read_text("utf-8")
    for entry in re.split(r"^### ", text, flags=re.M)[1:]:
        for notebook in re.findall(r"\((\d\d_\w+)\.ipynb", entry):
            words[notebook].append(entry.partition("\n")[0].strip())
    return words


class Words(SphinxTransform):
    """Put the words of the glossary into the index at the notebook that explains them, where a search looks first."""

    default_priority = 500

    def apply(self):
        words = glossary().get(Path(self.env.docname).name, [])
        sections = list(self.document.findall(nodes.section))
        entries = []
        for word in words:
            section = sections[0]
            for other in reversed(sections):
                if word in other[0].astext().lower():
                    section = other
            entries.append(("single", word, section["ids"][0], "main", None))
        if entries:
            self.env.note_dependency(str(GLOSSARY))
            sections[0].insert(1, addnodes.index(entries=entries))


def parse(text):
    """Return the titles by number and the arrows of chains like `A["title"] --> B --> C`."""
    titles = {}
    arrows = []
    for line in text.splitlines()[1:]:
        chain = []
        for number, title in NODE.findall(line):
            chain.append(int(number))
            if title:
                titles[int(number)] = title
        arrows += zip(chain, chain[1:])
    return titles, sorted(arrows)


def rows_of(titles, arrows):
    """Return {number: (x, y)} in rows: each notebook is below all its predecessors."""
    depth = dict.fromkeys(titles, 0)
    for start, end in arrows:
        depth[end] = max(depth[end], depth[start] + 1)
    positions = {}
    for level in range(max(depth.values()) + 1):
        above = {number: [] for number in titles if depth[number] == level}
        for start, end in arrows:
            if end in above:
                above[end].append(positions[start][0])
        middle = {number: sum(x) / max(len(x), 1) for number, x in above.items()}
        order = sorted(above, key=middle.get)
        right = -1000
        for number in order:
            group = [other for other in order if middle[other] == middle[number]]
            shift = STEP[0] * (group.index(number) - (len(group) - 1) / 2)
            right = max(middle[number] + shift, right + STEP[0])
            positions[number] = (right, STEP[1] * level)
    return positions


def draw(kind, positions, titles, arrows, addresses):
    """Return an SVG of linked notebooks: "rows" of boxes, or a "line" of stops with curves on its left."""
    parts = []
    for start, end in arrows:
        path = arrow_path(kind, positions[start], positions[end], end - start)
        parts.append(f'<path class="arrow" marker-end="url(#head-{kind})" d="{path}"/>')
    for number, position in positions.items():
        stop = draw_stop(kind, *position, titles[number])
        parts.append(f'<a href="{addresses[number]}" class="stop">{stop}</a>')
    left = -80
    right = 290
    if kind == "rows":
        xs = [x for x, _ in positions.values()]
        left = min(xs) - 90
        right = max(xs) + 90
    bottom = max(y for _, y in positions.values()) + 30
    return (
        f'<svg class="map {kind}" viewBox="{left:g} -30 {right - left:g} {bottom + 30:g}" role="group" '
        f'aria-label="Which notebook comes before which"><defs><marker id="head-{kind}" viewBox="0 0 8 8" '
        'refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="head"/>'
        f"</marker></defs>{''.join(parts)}</svg>"
    )


def arrow_path(kind, start, end, distance):
    """Return the SVG path of an arrow; on a line it curves around the stops that it skips."""
    x, y = start
    u, v = end
    bow = 0
    if kind == "rows":
        v -= BOX[1] / 2 + 2
    elif distance == 1:
        v -= 9
    else:
        bow = 18 + 5 * distance
        u -= 9
    return f"M{x:g} {y:g}C{x - bow:g} {y + 50:g} {u - bow:g} {v - 24:g} {u:g} {v:g}"


def draw_stop(kind, x, y, title):
    """Return the SVG of a box or a stop with its title."""
    if kind == "rows":
        left = x - BOX[0] / 2
        top = y - BOX[1] / 2
        size = f'width="{BOX[0]}" height="{BOX[1]}"'
        shape = f'<rect x="{left:g}" y="{top:g}" {size} rx="8"/>'
        lines = textwrap.wrap(title, 21)
    else:
        shape = f'<circle cx="{x:g}" cy="{y:g}" r="7"/>'
        lines = textwrap.wrap(title, 30)
        x += 18
    y -= 9 * (len(lines) - 1)
    for i, line in enumerate(lines):
        shape += f'<text x="{x:g}" y="{y + 18 * i:g}">{html.escape(line)}</text>'
    return shape


def draw_map(app, doctree, docname):
    """Replace a mermaid graph by the map, once for wide windows and once for phones."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") != "mermaid":
            continue
        titles, arrows = parse(block.astext())
        pages = [page for page in app.env.found_docs if re.match(r"notebooks/\d", page)]
        addresses = []
        for page in sorted(pages):
            addresses.append(app.builder.get_relative_uri(docname, page))
        rows = rows_of(titles, arrows)
        line = {number: (0, 50 * number) for number in sorted(titles)}
        svg = draw("rows", rows, titles, arrows, addresses)
        svg += draw("line", line, titles, arrows, addresses)
        block.replace_self(nodes.raw("", svg, format="html"))


def write_again(app, env):
    """Return the pages whose words Sphinx's search would lose if a build did not write them."""
    return [page for page in env.found_docs if Path(page).name in glossary()]


def setup(app):
    """Connect the notebooks to Sphinx."""
    app.add_transform(Words)
    app.connect("source-read", read)
    app.connect("env-updated", write_again)
    app.connect("doctree-resolved", draw_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
