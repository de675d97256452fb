"""Saved notebooks as pages, with words in place of widgets, and the map of the course.

The map is a mermaid graph of notebooks, which GitHub draws by itself: here it is drawn with links.
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
NODE = re.compile(r'N(\d+)(?:\["([^"]+)"\])?')
STEP, BOX = (188, 84), (172, 52)  # from box to box, and a box, in pixels
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
        for number, title in NODE.findall(line):
            chain.append(int(number))
            if title:
                titles[int(number)] = title
        arrows += zip(chain, chain[1:])
    return titles, sorted(arrows)


def rows_of(titles, arrows):
    """Places in rows, {number: (x, y)}: a notebook is below all that come before it."""
    depth, places = dict.fromkeys(titles, 0), {}
    for start, end in arrows:
        depth[end] = max(depth[end], depth[start] + 1)
    for level in range(max(depth.values()) + 1):
        row = {number: [] for number in titles if depth[number] == level}
        for start, end in arrows:
            if end in row:
                row[end].append(places[start][0])
        middle = {number: sum(x) / max(len(x), 1) for number, x in row.items()}
        order, last = sorted(row, key=middle.get), -1000
        for number in order:
            group = [one for one in order if middle[one] == middle[number]]
            shift = STEP[0] * (group.index(number) - (len(group) - 1) / 2)
            last = max(middle[number] + shift, last + STEP[0])
            places[number] = (last, STEP[1] * level)
    return places


def draw(kind, places, titles, arrows, addresses):
    """SVG of links at their places: boxes in rows, or stops of a line with curves on its left."""
    parts, in_rows = [], kind == "rows"
    for start, end in arrows:
        (x, y), (u, v) = places[start], places[end]
        bow = 0 if in_rows or end == start + 1 else 18 + 5 * (end - start)
        u, v = (u - 9, v) if bow else (u, v - (BOX[1] / 2 + 2 if in_rows else 9))
        path = f"M{x:g} {y:g}C{x - bow:g} {y + 50:g} {u - bow:g} {v - 24:g} {u:g} {v:g}"
        parts.append(f'<path class="arrow" marker-end="url(#head-{kind})" d="{path}"/>')
    for number, (x, y) in places.items():
        lines = textwrap.wrap(titles[number], 21 if in_rows else 30)
        shape = f'<circle cx="{x:g}" cy="{y:g}" r="7"/>'
        if in_rows:
            shape = f'<rect x="{x - BOX[0] / 2:g}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" height="{BOX[1]}" rx="8"/>'
        for at, line in enumerate(lines):
            height = y + 18 * at - 9 * (len(lines) - 1)
            shape += f'<text x="{x if in_rows else x + 18:g}" y="{height:g}">{html.escape(line)}</text>'
        parts.append(f'<a href="{addresses[number]}" class="stop">{shape}</a>')
    xs = [x for x, _ in places.values()]
    left, right = (min(xs) - 90, max(xs) + 90) if in_rows else (-80, 290)
    bottom = max(y for _, y in places.values()) + 30
    return (
        f'<svg class="map {kind}" viewBox="{left:g} -30 {right - left:g} {bottom + 30:g}" role="group" '
        f'aria-label="Which notebook comes before which"><defs><marker id="head-{kind}" viewBox="0 0 8 8" '
        'refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 8 4 0 8z" class="head"/>'
        f"</marker></defs>{''.join(parts)}</svg>"
    )


def draw_map(app, doctree, docname):
    """Put the map in place of a mermaid graph, for wide windows and for phones."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            titles, arrows = parse(block.astext())
            pages = sorted(
                one for one in app.env.found_docs if re.match(r"notebooks/\d", one)
            )
            more = (
                titles,
                arrows,
                [app.builder.get_relative_uri(docname, page) for page in pages],
            )
            line = {number: (0, 50 * number) for number in sorted(titles)}
            drawn = draw("rows", rows_of(titles, arrows), *more) + draw(
                "line", line, *more
            )
            block.replace_self(nodes.raw("", drawn, format="html"))


def setup(app):
    app.connect("source-read", read)
    app.connect("doctree-resolved", draw_map)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
