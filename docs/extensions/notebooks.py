"""Saved notebooks as pages, with words in place of widgets, and the map of the course.

The map is a mermaid graph of notebooks, which GitHub draws by itself: here it is a line with stops that are links.
"""

import html
import re
import textwrap
from urllib.parse import quote

import nbformat
from docutils import nodes

# The texts that widgets leave behind (see pushlab.plots.widgets), and their titles on a page.
WIDGETS = {
    "player": "A film to play",
    "explore": "A picture to change with sliders",
    "you are the agent": "Your turn to act",
}
WIDGET = re.compile(rf"({'|'.join(WIDGETS)}): (.+)", re.DOTALL)
FOLDED = {"source_hidden": "hide-input", "outputs_hidden": "hide-output"}
NODE = re.compile(r'(N(\d+))(?:\["([^"]+)"\])?')
STOP, LINE, WIDTH = 50, 62, 480  # between stops, left of the line, and in all; pixels
STYLE = re.compile(r"<style scoped>.*?</style>\s*", re.DOTALL)


def placeholder(found, path):
    """The text on a page in place of a widget."""
    address = f"https://mybinder.org/v2/gh/pushlab/pushlab/HEAD?labpath={quote(path, safe='')}"
    return (
        f'<p class="moves"><strong>{WIDGETS[found[1]]}</strong> ({html.escape(found[2])}). '
        f'It moves in JupyterLab: <a href="{html.escape(address)}">open this notebook in '
        "Binder</a>, or on a machine of yours.</p>"
    )


def prepare(cell, path):
    """Change a code cell into what the page shows."""
    hidden = cell.metadata.get("jupyter", {})
    tags = [tag for name, tag in FOLDED.items() if hidden.get(name)]
    if tags:
        show = "Show the answer" if tags == ["hide-output"] else "Show"
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), *tags]
        cell.metadata["mystnb"] = {"code_prompt_show": show, "code_prompt_hide": "Hide"}
    for output in cell.outputs:
        data = output.get("data", {})
        found = WIDGET.fullmatch(data.get("text/plain", ""))
        if found and len(data) == 1:
            data["text/html"] = placeholder(found, path)
        elif "text/html" in data:
            data["text/html"] = STYLE.sub("", data["text/html"])
        if "image/png" in data:
            alt = output.metadata.get("image/png", {}).get("alt", "")
            cell.metadata.setdefault("mystnb", {})["image"] = {"alt": alt}


def read(app, docname, source):
    """Prepare a notebook that Sphinx is about to read."""
    path = app.env.doc2path(docname, base=False).as_posix()
    if path.endswith(".ipynb"):
        notebook = nbformat.reads(source[0], as_version=4)
        for cell in notebook.cells:
            if cell.cell_type == "code":
                prepare(cell, path)
        source[0] = nbformat.writes(notebook)


def parse(text):
    """Titles by number, and arrows between numbers, of chains A["title"] --> B --> C."""
    titles, arrows = {}, []
    for line in text.splitlines()[1:]:
        chain = []
        for _, number, title in NODE.findall(line):
            chain.append(int(number))
            if title:
                titles[int(number)] = title
        arrows += zip(chain, chain[1:])
    return titles, arrows


def draw(titles, arrows, addresses):
    """SVG of stops below each other; a curve on the left is an arrow that passes stops."""
    parts = []
    longest = max(end - start for start, end in arrows)
    for start, end in arrows:
        top, bottom = STOP * (start + 0.5), STOP * (end + 0.5)
        path = f"M{LINE} {top + 7:g}V{bottom - 9:g}"
        if end - start > 1:
            bow = LINE - 14 - 56 * (end - start) / longest
            path = f"M{LINE - 6} {top + 4:g}C{bow:g} {top + 24:g} {bow:g} {bottom - 24:g} {LINE - 6} {bottom - 6:g}"
        parts.append(f'<path class="arrow" marker-end="url(#head)" d="{path}"/>')
    for number, title in titles.items():
        middle = STOP * (number + 0.5)
        lines = textwrap.wrap(title, 30)
        words = "".join(
            f'<text x="{LINE + 18}" y="{middle + 18 * at - 9 * (len(lines) - 1):g}">{html.escape(line)}</text>'
            for at, line in enumerate(lines)
        )
        parts.append(
            f'<a href="{addresses[number]}" class="stop" aria-label="{html.escape(title)}">'
            f'<rect x="{LINE - 12}" y="{middle - STOP / 2:g}" width="{WIDTH - LINE}" height="{STOP}"/>'
            f'<circle cx="{LINE}" cy="{middle:g}" r="7"/>{words}</a>'
        )
    size = f"{WIDTH} {STOP * len(titles)}"
    return (
        f'<svg class="map" viewBox="0 0 {size}" role="group" aria-label="Which notebook comes before which">'
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto"><path d="M0 0 8 4 0 8z" class="head"/></marker></defs>{"".join(parts)}</svg>'
    )


def replace(app, doctree, docname):
    """Put the map in place of a mermaid graph."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            titles, arrows = parse(block.astext())
            pages = sorted(
                one for one in app.env.found_docs if re.match(r"notebooks/\d", one)
            )
            addresses = [app.builder.get_relative_uri(docname, page) for page in pages]
            block.replace_self(
                nodes.raw("", draw(titles, arrows, addresses), format="html")
            )


def setup(app):
    app.connect("source-read", read)
    app.connect("doctree-resolved", replace)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
