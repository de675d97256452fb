"""The map of the course: a mermaid graph of notebooks, which GitHub draws by itself, as a picture with links.

Drawn twice from the same text: in rows that branch for wide windows, and as a line with stops for phones. The style
sheet shows one of the two, and colours follow the page.

>>> graph = parse('''graph LR
...   N0["0 · Start here"] --> N1["1 · The data"]
...   N0 --> N2["2 · Challenge 1"]''')
>>> graph.titles["N1"], graph.arrows
('1 · The data', [('N0', 'N1'), ('N0', 'N2')])
>>> rows(graph)
{'N0': 0, 'N1': 1, 'N2': 1}
"""

import html
import re
import textwrap
from dataclasses import dataclass, field

from docutils import nodes

STEP, BOX = (188, 84), (172, 52)  # from box to box, and a box, in pixels
STOP, LINE, PHONE = (
    50,
    62,
    350,
)  # from stop to stop; where the line runs; how wide the map for phones is
NODE = re.compile(r'(\w+)(?:\["([^"]+)"\])?')


@dataclass
class Graph:
    """Titles by name in the order of their first mention, and arrows from name to name."""

    titles: dict = field(default_factory=dict)
    arrows: list = field(default_factory=list)

    def before(self, name):
        """Whose arrows lead to `name`."""
        return [start for start, end in self.arrows if end == name]

    def after(self, name):
        """Where the arrows of `name` lead."""
        return [end for start, end in self.arrows if start == name]


def parse(text):
    """The Graph of a mermaid text of chains: A["title"] --> B["title"] --> C."""
    graph = Graph()
    for line in text.strip().splitlines()[1:]:
        found = [NODE.fullmatch(part.strip()) for part in line.split("-->")]
        if not all(found):
            raise ValueError(f"not a chain of notebooks: {line.strip()!r}")
        for node in found:
            graph.titles.setdefault(node[1], node[1])
            if node[2]:
                graph.titles[node[1]] = node[2]
        graph.arrows += [(one[1], other[1]) for one, other in zip(found, found[1:])]
    return graph


def rows(graph):
    """Row of each name: one below the lowest of those before it."""
    found = {}

    def row(name):
        if name not in found:
            found[name] = max(
                (row(before) + 1 for before in graph.before(name)), default=0
            )
        return found[name]

    return {name: row(name) for name in graph.titles}


def columns(graph):
    """Column of each name, from 0: children spread around those before them, and none too near its neighbour."""
    at, row = {}, rows(graph)
    for level in range(max(row.values()) + 1):
        names = [name for name in graph.titles if row[name] == level]
        for name in names:
            parents = graph.before(name)
            siblings = (
                [child for child in graph.after(parents[0]) if row[child] == level]
                if parents
                else names
            )
            shift = (
                siblings.index(name) - (len(siblings) - 1) / 2
                if len(parents) < 2
                else 0
            )
            at[name] = (
                sum(at[parent] for parent in parents) / max(len(parents), 1) + shift
            )
        names.sort(key=at.get)
        for left, right in zip(names, names[1:]):
            at[right] = max(at[right], at[left] + 1)
    first = min(at.values())
    return {name: value - first for name, value in at.items()}


def link(title, address, inside):
    """SVG of a notebook: its shapes and words, as a link."""
    return f'<a href="{html.escape(address)}" class="stop" aria-label="{html.escape(title)}">{inside}</a>'


def words(lines, x, y, anchor):
    """SVG of lines of text around the height y."""
    first = y - 9 * (len(lines) - 1)
    return "".join(
        f'<text x="{x:g}" y="{first + 18 * i:g}" text-anchor="{anchor}" dominant-baseline="central">'
        f"{html.escape(line)}</text>"
        for i, line in enumerate(lines)
    )


def frame(kind, width, height, inside):
    """The SVG itself, with the head of its arrows."""
    return (
        f'<svg class="map {kind}" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
        f'role="group" aria-label="Which notebook comes before which"><defs><marker id="head-{kind}" '
        'viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 8 4 0 8z" class="head"/></marker></defs>{inside}</svg>'
    )


def draw_rows(graph, addresses):
    """The map in rows, from the top down."""
    row, column = rows(graph), columns(graph)
    middle = {
        name: (
            BOX[0] / 2 + 4 + STEP[0] * column[name],
            BOX[1] / 2 + 4 + STEP[1] * row[name],
        )
        for name in graph.titles
    }
    arrows, boxes = [], []
    for start, end in graph.arrows:
        (x, y), (u, v) = middle[start], middle[end]
        y, v = y + BOX[1] / 2, v - BOX[1] / 2 - 2
        arrows.append(
            f'<path class="arrow" marker-end="url(#head-rows)" d="M{x:g} {y:g}C{x:g} {y + 24:g} {u:g} '
            f'{v - 24:g} {u:g} {v:g}"/>'
        )
    for name, title in graph.titles.items():
        x, y = middle[name]
        box = (
            f'<rect x="{x - BOX[0] / 2:g}" y="{y - BOX[1] / 2:g}" width="{BOX[0]}" height="{BOX[1]}" rx="8"/>'
            + words(textwrap.wrap(title, 21), x, y, "middle")
        )
        boxes.append(link(title, addresses[name], box))
    width = max(x for x, _ in middle.values()) + BOX[0] / 2 + 4
    height = max(y for _, y in middle.values()) + BOX[1] / 2 + 4
    return frame("rows", width, height, "".join(arrows + boxes))


def draw_line(graph, addresses):
    """The map as stops below each other, in the order of their numbers, with a curve on the left for an arrow that
    passes a stop."""
    order = sorted(graph.titles, key=lambda name: int(re.search(r"\d+", name)[0]))
    height = {name: STOP * (i + 0.5) for i, name in enumerate(order)}
    longest = max(
        (height[end] - height[start] for start, end in graph.arrows), default=1
    )
    arrows, stops = [], []
    for start, end in graph.arrows:
        y, v = height[start], height[end]
        if v - y <= STOP:
            path = f"M{LINE} {y + 7:g}V{v - 9:g}"
        else:
            bow = LINE - 14 - 56 * (v - y) / longest
            path = f"M{LINE - 6} {y + 4:g}C{bow:g} {y + 24:g} {bow:g} {v - 24:g} {LINE - 6} {v - 6:g}"
        arrows.append(f'<path class="arrow" marker-end="url(#head-line)" d="{path}"/>')
    for name in order:
        y = height[name]
        stop = (
            f'<rect class="touch" x="{LINE - 12}" y="{y - STOP / 2:g}" width="{PHONE - LINE}" height="{STOP}"/>'
            f'<circle cx="{LINE}" cy="{y:g}" r="7"/>'
            + words(textwrap.wrap(graph.titles[name], 30), LINE + 18, y, "start")
        )
        stops.append(link(graph.titles[name], addresses[name], stop))
    return frame("line", PHONE, STOP * len(order), "".join(arrows + stops))


def find_notebook(name, pages):
    """Docname of notebook N5 among the pages: the one that begins with 05_. LookupError when there is none."""
    number = f"{int(name.removeprefix('N')):02d}_"
    for page in sorted(pages):
        if page.startswith(f"notebooks/{number}"):
            return page
    raise LookupError(f"the map names {name}, but no notebook begins with {number}")


def replace_graphs(app, doctree, docname):
    """Put the drawn map in place of each mermaid text of a page."""
    for block in list(doctree.findall(nodes.literal_block)):
        if block.get("language") == "mermaid":
            graph = parse(block.astext())
            addresses = {
                name: app.builder.get_relative_uri(
                    docname, find_notebook(name, app.env.found_docs)
                )
                for name in graph.titles
            }
            drawn = draw_rows(graph, addresses) + draw_line(graph, addresses)
            block.replace_self(
                nodes.raw("", f'<div class="course-map">{drawn}</div>', format="html")
            )


def setup(app):
    """Register the drawing."""
    app.connect("doctree-resolved", replace_graphs)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
