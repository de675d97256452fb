"""Write the pages of all environments into docs/environments before a build.

A page has the sections of its world's docstring, tables of its parts (docs/extensions/tables.py), the spaces of
`gym.make` and a picture. The texts are in docs/environments.toml, the references in docs/references.bib and the layout
in docs/templates.
"""

import json
import re
import textwrap
import tomllib
from functools import cache
from inspect import cleandoc
from pkgutil import resolve_name

import gymnasium as gym
import numpy as np
from extensions import tables
from extensions.reference import ROOT, escape_markup
from jinja2 import Environment, FileSystemLoader
from pictures.environments import draw
from PIL import Image, ImageOps
from pybtex.database import parse_file

from pushlab.envs import ENVIRONMENTS, REMOTE_ENVIRONMENT
from pushlab.plots import style

FOLDER = ROOT / "docs" / "environments"
SECTION = re.compile(r"^([A-Z]\w*):\n((?: {4}.*\n|\n)+)", re.M)
INHERITED = ("Observation", "Action", "Reward", "Start", "End", "Info")
TEXTS = tomllib.loads((ROOT / "docs" / "tables.toml").read_text("utf-8"))
THUMBNAIL = (640, 480)
LAST = ("Args", "Source", "Differences", "Notes")


def sections_of(world):
    """Return {title: text} of a class's docstring; "" is the description, "Example" the doctests."""
    text = escape_markup(cleandoc(world.__doc__ or "") + "\n")
    sections = {title: textwrap.dedent(body) for title, body in SECTION.findall(text)}
    starts = [match.start() for match in SECTION.finditer(text)]
    start = min(starts, default=len(text))
    rest = SECTION.sub("", text[start:])
    notes, doctests, example = rest.partition(">>> ")
    sections["Notes"] = sections.get("Notes", "") + notes
    return {"": text[:start], **sections, "Example": doctests + example}


def brief(space):
    """Return a space as one line, without character sets and the middle of long lists."""
    text = " ".join(str(space).split())
    text = re.sub(r", charset=.*?(?=\)(?:[,)]|$))", "", text)
    return re.sub(r"\[ ?((?:\S+ ){3})[^]]{20,}( [^] ]+\])", r"[\1…\2", text)


@cache
def notebooks():
    """Return {stem: text of the cells} of all notebooks. Cached, because their pictures take megabytes."""
    texts = {}
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts[path.stem] = "\n".join("".join(cell["source"]) for cell in cells)
    return texts


@cache
def references():
    """Return the entries of docs/references.bib."""
    return parse_file(ROOT / "docs" / "references.bib").entries.values()


def notebooks_with(name):
    """Yield (stem, title) of each notebook whose cells contain the name of an environment."""
    for stem, text in notebooks().items():
        if re.search(rf"(?<![\w-]){name}(?![\w-])", text):
            yield stem, re.search(r"^# (.*?)\s*(?:\[!\[.*)?$", text, re.M)[1]


def bibtex_of(name):
    """Return the BibTeX entries whose keywords contain the name of an environment."""
    entries = []
    for entry in references():
        if name in entry.fields["keywords"].split(", "):
            entries.append(entry.to_string("bibtex"))
    return "\n".join(entries)


def page_of(name, path, description):
    """Return the variables of a page's template."""
    world = resolve_name(path)
    env = None
    if name != "Remote-v0":
        env = gym.make(f"pushlab/{name}", render_mode="rgb_array")
        draw(env, name)
        world = type(env.unwrapped.world)
    bases = [base for base in world.__mro__ if base.__module__.startswith("pushlab")]
    sections = sections_of(world)
    for base in bases[1:]:
        for title, text in sections_of(base).items():
            if title in INHERITED:
                sections.setdefault(title, text)
    arguments = sections.setdefault("Args", "")
    for title in LAST:
        if title in sections:
            sections[title] = sections.pop(title)
    owner = constructor_class(bases)
    documented = [world]
    for base in bases[1:]:
        if base is owner or f"`{base.__name__}`" in arguments:
            documented.append(base)
    rows = {"Args": tables.argument_rows(documented, sections_of)}
    if env:
        texts = TEXTS.get(name, {})
        texts = TEXTS.get(texts.get("like"), {}) | texts
        rows |= tables.rows_of(env.unwrapped.world, texts, TEXTS["features"])
    return {
        "name": name,
        "about": description,
        "env": env,
        "sections": sections,
        "tables": rows,
        "world": world,
        "notebooks": list(notebooks_with(name)),
        "bibtex": bibtex_of(name),
    }


def constructor_class(bases):
    """Return the first of some classes that defines `__init__`."""
    return next(base for base in bases if "__init__" in vars(base))


def draw_thumbnail(name, box):
    """Save a part of a picture in the size of the gallery, on the picture's own ground."""
    with Image.open(FOLDER / "pictures" / f"{name}.png") as picture:
        shares = np.array(box).reshape(2, 2)
        corners = np.rint(shares * picture.size).astype(int)
        part = picture.convert("RGB").crop(corners.ravel().tolist())
    sheet = Image.new("RGB", THUMBNAIL, style.PAPER)
    part = ImageOps.contain(part, THUMBNAIL, Image.Resampling.LANCZOS)
    left, top = (np.array(THUMBNAIL) - part.size) // 2
    sheet.paste(part, (left, top))
    sheet.save(FOLDER / "pictures" / f"{name}-thumbnail.png", optimize=True)


def write_pages(app):
    """Write all pages and delete outdated ones."""
    texts = tomllib.loads((ROOT / "docs" / "environments.toml").read_text("utf-8"))
    pages = {}
    for identifier, path, description in (*ENVIRONMENTS, REMOTE_ENVIRONMENT):
        name = identifier.removeprefix("pushlab/")
        page = page_of(name, path, description)
        pages[name] = {**texts["default"], **texts.get(name, {}), **page}
        if page["env"]:
            draw_thumbnail(name, pages[name]["thumbnail"])
    templates = Environment(loader=FileSystemLoader(ROOT / "docs" / "templates"))
    template = templates.get_template("environment.rst")
    files = {name: template.render(brief=brief, **page) for name, page in pages.items()}
    files["index"] = templates.get_template("environments.rst").render(pages=pages)
    for path in FOLDER.glob("*.*"):
        path.unlink()
    for name, text in files.items():
        (FOLDER / f"{name}.rst").write_text(text, "utf-8")


def keep_signature(app, what, name, obj, options, lines):
    """Empty a world's docstring below its signature, because the page shows its sections and tables."""
    if app.env.docname.startswith("docs/environments/"):
        lines.clear()


def setup(app):
    """Connect the pages of the environments to Sphinx."""
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", keep_signature, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
