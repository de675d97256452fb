"""The web book: built from the saved notebooks and the pages of docs/, and read here as a browser would."""

import doctest
import importlib
import re
import sys
from html.parser import HTMLParser
from importlib.metadata import version
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from PIL import Image

pytest.importorskip("sphinx", reason="the extra [book] is not installed")

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
REPOSITORY = "https://github.com/pushlab/pushlab"
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}


@pytest.fixture(scope="module", autouse=True)
def extensions():
    """The book's own extensions can be imported, as docs/conf.py sees to it."""
    sys.path.insert(0, str(ROOT / "docs"))
    yield
    sys.path.remove(str(ROOT / "docs"))


def test_the_book_is_of_this_python_and_this_sphinx(built_book):
    """Another Python's or an older Sphinx's, which lies there from another run, would be tested in its place."""
    made_by = (built_book.parent / "sources").read_text().splitlines()
    for line in (f"python {sys.version.split()[0]}", f"sphinx {version('sphinx')}", f"docutils {version('docutils')}"):
        assert line in made_by


class Page(HTMLParser):
    """What a page holds: every tag with its attributes and the text within it."""

    def __init__(self, path):
        super().__init__()
        self.tags, self.open = [], []       # (name, attributes, [texts], names and classes of those around it)
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, name, attributes):
        tag = (name, dict(attributes), [], tuple(f"{one[0]}.{one[1].get('class') or ''}" for one in self.open))
        self.tags.append(tag)
        if name not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, name, attributes):
        self.handle_starttag(name, attributes)
        if name not in VOID:
            self.open.pop()

    def handle_endtag(self, name):
        for i in range(len(self.open) - 1, -1, -1):
            if self.open[i][0] == name:
                del self.open[i:]
                break

    def handle_data(self, text):
        for tag in self.open:
            tag[2].append(text)

    def find(self, name, kind="", inside=""):
        """(attributes, text) of each tag of this name whose classes have `kind`, below one like `inside`."""
        return [(attributes, "".join(texts)) for tag, attributes, texts, around in self.tags
                if tag == name and kind in (attributes.get("class") or "") and (not inside or any(
                    inside in one for one in around))]


@pytest.fixture(scope="module")
def pages(built_book):
    """{path: Page} of all pages of the book."""
    return {path: Page(path) for path in sorted(built_book.rglob("*.html")) if "_static" not in path.parts}


@pytest.fixture(scope="module", params=NOTEBOOKS, ids=lambda path: path.stem[:2])
def notebook(request, built_book, pages):
    """(saved notebook, its Page)."""
    return nbformat.read(request.param, as_version=4), pages[built_book / "notebooks" / f"{request.param.stem}.html"]


def test_every_link_inside_leads_somewhere(built_book, pages):
    anchors = {path: {attributes[key] for _, attributes, *_ in page.tags for key in ("id", "name") if key in attributes}
               for path, page in pages.items()}
    lost = set()
    for path, page in pages.items():
        for _, attributes, *_ in page.tags:
            for address in filter(None, (attributes.get("href"), attributes.get("src"))):
                parts = urlsplit(address)
                if parts.scheme or address.startswith("//"):
                    continue
                target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
                if not target.exists():
                    lost.add((path.relative_to(built_book).as_posix(), address))
                elif target in anchors and parts.fragment not in ("", "top") and \
                        unquote(parts.fragment) not in anchors[target]:
                    lost.add((path.relative_to(built_book).as_posix(), address))
    assert not lost, "\n".join(map(str, sorted(lost)))


def test_links_to_files_of_the_repository_name_files_that_there_are(pages):
    named = {match[2] for page in pages.values() for _, attributes, *_ in page.tags
             if (match := re.match(rf"{REPOSITORY}/(blob|tree)/(?:HEAD|main)/([^#?]+)", attributes.get("href") or ""))}
    assert {"notebooks/checks", "pyproject.toml"} & named
    assert not [name for name in named if not (ROOT / unquote(name)).exists()]


def test_a_page_that_is_opened_asks_no_other_host(pages):
    for path, page in pages.items():
        for name, attributes, *_ in page.tags:
            if name in ("script", "img", "iframe", "source") or \
                    name == "link" and attributes.get("rel") in ("stylesheet", "preload", "icon"):
                for key in ("src", "href"):
                    assert not urlsplit(attributes.get(key) or "").netloc, (path.name, attributes)


def test_the_address_of_the_site_leads_to_the_front_page(built_book, pages):
    (link,) = pages[built_book / "index.html"].find("a")
    assert (built_book / link[0]["href"]).samefile(built_book / "docs" / "index.html")
    front = pages[built_book / "docs" / "index.html"]
    assert len(front.find("div", "door", inside="div.doors")) == 4
    assert len(front.find("a", inside="div.door")) >= 12


def test_who_asks_for_less_motion_gets_a_picture_that_stands(built_book, pages):
    """As large as the one that moves, and there; every page that shows a moving one offers it."""
    moving = {path: page.find("img", inside="picture") for path, page in pages.items()
              if any(attributes["src"].endswith(".gif") for attributes, _ in page.find("img"))}
    assert built_book / "docs" / "index.html" in moving
    for path, found in moving.items():
        stills = [source for source, _ in pages[path].find("source", inside="picture")]
        for (attributes, _), still in zip(found, stills, strict=True):
            assert still["media"] == "(prefers-reduced-motion: reduce)"
            with Image.open(path.parent / attributes["src"]) as film, Image.open(path.parent / still["srcset"]) as one:
                assert film.is_animated and one.format == "PNG" and one.size == film.size


def test_every_page_says_under_which_licence_it_is(pages):
    articles = [page for page in pages.values() if page.find("article")]
    assert len(articles) > 40
    assert all("MIT licence" in "".join(text for _, text in page.find("footer")) for page in articles)


def test_the_worlds_are_shown_before_they_are_listed(built_book):
    text = (built_book / "docs" / "environments" / "index.html").read_text(encoding="utf-8")
    assert text.count("<figure") >= 12 and text.index("pushlab-gallery") < text.index("<table")
    assert re.search(r"[=(][“”]", text) is None


def test_the_pictures_of_a_notebook_are_there_and_say_what_they_show(notebook):
    saved, page = notebook
    wanted = [output.metadata["image/png"]["alt"] for cell in saved.cells for output in cell.get("outputs", [])
              if "image/png" in output.get("data", {})]
    shown = [attributes["alt"] for attributes, _ in page.find("img", inside="cell_output")]
    assert wanted and shown == wanted and all(shown)


def test_what_is_said_below_an_output_is_its_caption(notebook):
    saved, page = notebook
    below = [cell.source for before, cell in zip(saved.cells, saved.cells[1:]) if before.get("outputs")
             and re.fullmatch(r"\*[^*].{40,}[^*]\*", cell.source.strip(), re.DOTALL)]
    captions = page.find("p", "caption-of-cell")
    assert len(captions) >= max(len(below), 1)


def test_solutions_are_folded_with_their_code(notebook):
    saved, page = notebook
    wanted = [cell.source for cell in saved.cells if cell.source.startswith("<details>")]
    folded = [(attributes, text) for attributes, text in page.find("details") if "One solution, and why" in text]
    assert len(wanted) == len(folded) > 0
    for source, (attributes, text) in zip(wanted, folded):
        assert "open" not in attributes
        for code in re.findall(r"```python\n(.+?)\n", source):      # the first line of each block is within the fold
            assert "".join(code.split()) in "".join(text.split())


def test_answers_to_guesses_are_folded_as_in_jupyterlab(notebook):
    saved, page = notebook
    hidden = [cell for cell in saved.cells if cell.metadata.get("jupyter", {}).get("outputs_hidden")]
    folded = page.find("details", "hide")
    assert len(folded) == len(hidden) > 0 and not any("open" in attributes for attributes, _ in folded)


def test_what_moves_only_in_jupyterlab_says_so_and_leads_there(notebook):
    saved, page = notebook
    widgets = [output.data["text/plain"] for cell in saved.cells for output in cell.get("outputs", [])
               if re.match("(player|explore|you are the agent): ", output.get("data", {}).get("text/plain", ""))]
    told = page.find("p", "moves")
    assert len(told) == len(widgets)
    links = [attributes["href"] for attributes, _ in page.find("a", inside="p.moves")]
    badge = next(attributes["href"] for attributes, text in page.find("a") if "Open in Binder" in text)
    assert set(links) <= {badge}


def test_a_notebook_can_be_opened_in_binder_and_taken_home(built_book):
    for path in NOTEBOOKS:
        page = Page(built_book / "notebooks" / f"{path.stem}.html")
        links = {attributes.get("href", "") for attributes, _ in page.find("a")}
        assert any(link.startswith("https://mybinder.org/v2/gh/pushlab/pushlab/HEAD?urlpath=")
                   and unquote(link).endswith(f"notebooks/{path.name}") for link in links), path.name
        assert f"{REPOSITORY}/blob/HEAD/notebooks/{path.name}" in {link.replace("?plain=1", "") for link in links}
        (home,) = {link for link in links if link.endswith(".ipynb") and "_sources" in link}
        assert (built_book / "notebooks" / home).resolve().read_bytes() == path.read_bytes()


def test_formulas_are_mathml_and_no_dollar_is_left(notebook):
    saved, page = notebook
    text = "\n".join(re.sub(r"```.*?```|`[^`]*`", "", cell.source, flags=re.DOTALL) for cell in saved.cells
                     if cell.cell_type == "markdown")
    wanted = re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", text, flags=re.DOTALL)
    assert len(page.find("math")) == len(wanted)
    assert len(page.find("div", "formula")) == sum(formula.startswith("$$") for formula in wanted)


def test_a_formula_that_is_wrong_is_refused():
    from extensions import formulas

    assert "<msup>" in formulas.to_mathml("x^2", display=False)
    with pytest.raises(ValueError, match="frax"):
        formulas.to_mathml(r"\frax{1}{2}", display=True)


def test_the_map_leads_to_every_notebook(built_book, pages):
    page = pages[built_book / "notebooks" / "README.html"]
    names = [f"{path.stem}.html" for path in NOTEBOOKS]
    for kind in ("map rows", "map line"):
        links = [attributes["href"] for attributes, _ in page.find("a", "stop", inside=f"svg.{kind}")]
        assert sorted(links) == names
        arrows = page.find("path", "arrow", inside=f"svg.{kind}")
        assert len(arrows) == 14
    assert not [text for _, text in page.find("pre") if "graph LR" in text]


def test_boxes_of_the_map_do_not_touch():
    from extensions import map as course

    text = (ROOT / "notebooks" / "README.md").read_text(encoding="utf-8")
    block = re.search(r"```mermaid\n(.+?)```", text, re.DOTALL)
    graph = course.parse(block[1])
    row, column = course.rows(graph), course.columns(graph)
    assert all(row[start] < row[end] for start, end in graph.arrows)
    places = [(row[name], column[name]) for name in graph.titles]
    assert all(abs(a[1] - b[1]) >= 1 for i, a in enumerate(places) for b in places[:i] if a[0] == b[0])
    with pytest.raises(ValueError, match="not a chain"):
        course.parse("graph LR\n  N0 -- no arrow -- N1")
    with pytest.raises(LookupError, match="N99"):
        course.find_notebook("N99", ["notebooks/00_start_here"])


def test_a_notebook_is_changed_for_its_page_only_where_the_web_differs():
    from extensions import notebooks

    output = nbformat.v4.new_output("display_data", {"text/plain": "player: 3 frames"})
    kept = nbformat.v4.new_output("display_data", {"text/plain": "player of chess"})
    cells = [nbformat.v4.new_code_cell("show", outputs=[output], metadata={"jupyter": {"source_hidden": True}}),
             nbformat.v4.new_code_cell("1", outputs=[kept]), nbformat.v4.new_markdown_cell("player: 3 frames")]
    made = nbformat.v4.new_notebook(cells=cells)
    notebooks.prepare(made, "notebooks/00 new.ipynb")
    assert "3 frames" in made.cells[0].outputs[0].data["text/html"]
    assert "labpath=notebooks%2F00%20new.ipynb" in made.cells[0].outputs[0].data["text/html"]
    assert made.cells[0].metadata["tags"] == ["hide-input"]
    assert made.cells[1].outputs[0].data == {"text/plain": "player of chess"}
    assert made.cells[2].source == "player: 3 frames"


def test_every_word_of_the_glossary_leads_to_the_notebook_that_explains_it(built_book, pages):
    """On GitHub as in the book: the links are those of the file, and each leads to the notebook of its number."""
    told = pages[built_book / "notebooks" / "glossary.html"]
    entries = (ROOT / "notebooks" / "glossary.md").read_text(encoding="utf-8").split("\n### ")[1:]
    linked = [(attributes["href"], text) for attributes, text in told.find("a", inside="section.")
              if re.fullmatch(r"(notebooks? )?\d+", text)]
    assert len(linked) >= len(entries) > 100
    for address, text in linked:
        assert address.startswith(f"{int(text.split()[-1]):02}_"), (address, text)
    for entry in entries:
        assert re.search(r"\[notebooks? \d+\]\(", entry), entry
        assert not re.findall(r"(?<!\[)notebooks? \d", entry), entry


def test_search_knows_words_of_pages_and_notebooks(built_book):
    index = (built_book / "searchindex.js").read_text(encoding="utf-8")
    assert all(f'"{page}"' in index for page in ("notebooks/glossary", "notebooks/04_value", "docs/index", "CHANGELOG"))
    assert "linucb" in index.lower()


@pytest.mark.parametrize("name", ["formulas", "map"])
def test_examples_of_extensions(name):
    module = importlib.import_module(f"extensions.{name}")
    failed, tried = doctest.testmod(module, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    assert tried and not failed
