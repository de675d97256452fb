"""The web book builds without warnings, and its pages are correct."""

import importlib
import inspect
import re
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import nbformat
import pytest

from pushlab.envs import ENVIRONMENTS

pytest.importorskip("sphinx", reason="the extra [docs] is not installed")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = [
    "pushlab",
    "pushlab.agents",
    "pushlab.plots",
    "pushlab.causal",
    "pushlab.metrics.lifelong",
    "pushlab.metrics.estimate",
    "pushlab.metrics.offpolicy",
]
WIDGET = re.compile(r"'text/plain': '(player|explore|you are the agent): ")
# The column heads of the tables of observation, action, reward and arguments.
HEADS = ["component", "range", "unit", "part", "argument", "default", "meaning"]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
VOID = set(
    "area base br col embed hr img input link meta source track wbr".split()
)  # elements without an end tag


class Page(HTMLParser):
    """The tags of a page, each as (name, attributes, texts within it)."""

    def __init__(self, path):
        super().__init__()
        self.tags = []
        self.open = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, name, attributes):
        tag = (name, dict(attributes), [])
        self.tags.append(tag)
        if name not in VOID:
            self.open.append(tag)

    def handle_endtag(self, name):
        while self.open and name in [tag[0] for tag in self.open]:
            if self.open.pop()[0] == name:
                break

    def handle_data(self, text):
        for tag in self.open:
            tag[2].append(text)

    def find(self, name, kind=""):
        """Return (attributes, text) of each tag with this name and this text in its classes."""
        return [
            (attributes, "".join(texts))
            for tag, attributes, texts in self.tags
            if tag == name and kind in (attributes.get("class") or "")
        ]


@pytest.fixture(scope="module")
def pages(built_book):
    """Return {path: Page} of all pages of the book."""
    paths = [path for path in built_book.rglob("*.html") if "_static" not in path.parts]
    return {path: Page(path) for path in paths}


def anchors_of(page):
    """Return the names that links to a page can have after the #."""
    anchors = {"", "top"}
    for _, attributes, _ in page.tags:
        anchors |= {attributes.get("id"), attributes.get("name")}
    return anchors


def test_links_work_and_nothing_is_loaded_from_other_hosts(pages):
    anchors = {path: anchors_of(page) for path, page in pages.items()}
    broken = []
    for path, page in pages.items():
        for name, attributes, _ in page.tags:
            is_loaded = name in ("script", "img", "iframe", "source")
            is_loaded |= attributes.get("rel") in ("stylesheet", "preload", "icon")
            for address in (attributes.get("href"), attributes.get("src")):
                parts = urlsplit(address or "")
                if parts.netloc and is_loaded:
                    broken.append((path.name, address))
                if not address or parts.scheme or parts.netloc:
                    continue
                target = path
                if parts.path:
                    target = (path.parent / unquote(parts.path)).resolve()
                has_anchor = unquote(parts.fragment) in anchors.get(target, ())
                if not target.exists() or (target in anchors and not has_anchor):
                    broken.append((path.name, address))
    assert broken == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_keeps_its_pictures_formulas_and_folded_solutions(
    path, built_book, pages
):
    cells = nbformat.read(path, as_version=4).cells
    page = pages[built_book / "notebooks" / f"{path.stem}.html"]
    alt_texts = set()
    for cell in cells:
        for output in cell.get("outputs", []):
            if "image/png" in output.get("data", {}):
                alt_texts.add(output.metadata["image/png"]["alt"])
    assert alt_texts
    assert alt_texts <= {attributes.get("alt") for attributes, _ in page.find("img")}
    films = [
        f"../_static/films/{path.stem}/{cell.id}.webp"
        for cell in cells
        if WIDGET.search(str(cell.get("outputs")))
    ]
    assert [
        attributes["src"]
        for attributes, _ in page.find("img")
        if "/films/" in attributes["src"]
    ] == films
    assert not [text for _, text in page.find("pre") if "✗ Exercise" in text]
    texts = [cell.source for cell in cells if cell.cell_type == "markdown"]
    prose = re.sub(r"```.*?```|`[^`]*`", "", "\n".join(texts), flags=re.S)
    formulas = re.findall(r"\$\$.+?\$\$|\$[^$\n]+\$", prose, flags=re.S)
    assert len(page.find("math")) == len(formulas)
    solutions = [text for text in texts if text.startswith("<details>")]
    folded = []
    for attributes, text in page.find("details"):
        if "One solution, and why" in text:
            folded.append("open" not in attributes)
    assert len(folded) == len(solutions) > 0
    assert all(folded)
    links = [unquote(attributes.get("href", "")) for attributes, _ in page.find("a")]
    binder = "https://mybinder.org/v2/gh/pushlab/pushlab/HEAD?urlpath="
    assert any(link.startswith(binder) and link.endswith(path.name) for link in links)


def test_the_map_and_the_gallery_link_to_every_page(built_book, pages):
    page = pages[built_book / "notebooks" / "README.html"]
    stops = {attributes["href"] for attributes, _ in page.find("a", "stop")}
    assert stops == {f"{path.stem}.html" for path in NOTEBOOKS}
    page = pages[built_book / "docs" / "environments" / "index.html"]
    thumbnails = page.find("a", "image-reference")
    assert len(thumbnails) == len(ENVIRONMENTS)


def test_every_environment_has_a_page_with_picture_sections_and_references(built_book):
    references = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    for identifier, *_ in ENVIRONMENTS:
        name = identifier.removeprefix("pushlab/")
        page = built_book / "docs" / "environments" / f"{name}.html"
        text = page.read_text(encoding="utf-8")
        for title in ("Observation", "Action", "Reward", "Start", "End", "Info"):
            assert f"<h2>{title}<" in text, (name, title)
        assert re.search(r'<img alt="[^"]{60,}"', text), name
        for head in HEADS:
            assert f'<th class="head"><p>{head}<' in text, (name, head)
        assert '<dl class="py class">' in text, name
        assert ("To cite" in text) == (name in references), name
    for entry in references.split("\n@")[1:]:
        title = re.search(r"\btitle *= *\{(.+?)[,:}]*\n", entry)[1]
        start = re.sub("[{}]", "", title)[:20].lower()
        keywords = re.search(r"keywords *= *\{(.+?)\}", entry)[1]
        for name in keywords.split(", "):
            (path,) = built_book.glob(f"docs/*/{name}.html")
            assert start in path.read_text(encoding="utf-8").lower(), (start, name)


def test_every_public_name_is_in_the_reference(built_book):
    documented = set()
    for page in (built_book / "docs").rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        documented |= set(re.findall(r'id="pushlab\.(?:[\w.]+\.)?(\w+)"', text))
    public = set()
    for package in map(importlib.import_module, PACKAGES):
        for name in package.__all__:
            if not inspect.ismodule(getattr(package, name)):
                public.add(name)
    assert len(public) > 100
    assert public - documented == set()
