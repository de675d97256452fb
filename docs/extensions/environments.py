"""Pages of all environments, written into docs/environments before a build.

A page has the sections of its world's docstring, the spaces of `gym.make` and a picture. Texts are in
docs/environments.toml, references in docs/references.bib, the layout in docs/templates.
"""

import json
import re
import textwrap
import tomllib
from functools import cache
from inspect import cleandoc
from pkgutil import resolve_name

import gymnasium as gym
from extensions.reference import ROOT, plain
from jinja2 import Environment, FileSystemLoader
from pictures.environments import draw
from pybtex.database import parse_file

from pushlab.envs import REMOTE, TABLE

FOLDER = ROOT / "docs" / "environments"
SECTION = re.compile(r"^([A-Z]\w*):\n((?: {4}.*\n|\n)+)", re.M)
INHERITED = ("Observation", "Action", "Reward", "Start", "End", "Info")
LAST = ("Args", "Source", "Differences", "Notes")


def sections_of(world):
    """Sections of a class's docstring: "" is the description, Example the doctests."""
    text = plain(cleandoc(world.__doc__ or "") + "\n")
    found = {title: textwrap.dedent(body) for title, body in SECTION.findall(text)}
    start = min([one.start() for one in SECTION.finditer(text)], default=len(text))
    notes, doctests, example = SECTION.sub("", text[start:]).partition(">>> ")
    found["Notes"] = found.get("Notes", "") + notes
    return {"": text[:start], **found, "Example": doctests + example}


def brief(space):
    """A space in one line, without character sets and the middle of long lists."""
    text = re.sub(r", charset=.*?(?=\)(?:[,)]|$))", "", " ".join(str(space).split()))
    return re.sub(r"\[ ?((?:\S+ ){3})[^]]{20,}( [^] ]+\])", r"[\1…\2", text)


@cache
def notebooks():
    """{stem: text of the cells} of all notebooks, which are megabytes with their pictures."""
    texts = {}
    for path in sorted(ROOT.glob("notebooks/*.ipynb")):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        texts[path.stem] = "\n".join("".join(cell["source"]) for cell in cells)
    return texts


@cache
def references():
    """Entries of docs/references.bib."""
    return parse_file(ROOT / "docs" / "references.bib").entries.values()


def notebooks_with(name):
    """(stem, title) of each notebook whose cells name an environment."""
    for stem, text in notebooks().items():
        if re.search(rf"(?<![\w-]){name}(?![\w-])", text):
            yield stem, re.search(r"^# (.*?)\s*(?:\[!\[.*)?$", text, re.M)[1]


def page_of(name, place, about):
    """All that the template of a page needs."""
    world, env = resolve_name(place), None
    if name != "Remote-v0":
        env = gym.make(f"pushlab/{name}", render_mode="rgb_array")
        draw(env, name)
        world = type(env.unwrapped.world)
    bases = [one for one in world.__mro__ if one.__module__.startswith("pushlab")]
    sections = sections_of(world)
    for base in bases[1:]:
        for title, text in sections_of(base).items():
            if title in INHERITED:
                sections.setdefault(title, text)
    arguments = sections.setdefault("Args", "")
    for title in LAST:
        if title in sections:
            sections[title] = sections.pop(title)
    owner = next(one for one in bases if "__init__" in vars(one))
    others = [one for one in bases if f"`{one.__name__}`" in arguments]
    cited = [one for one in references() if name in one.fields["keywords"].split(", ")]
    return {
        "name": name,
        "about": about,
        "env": env,
        "sections": sections,
        "arguments": [world, *(one for one in others if one is not owner)],
        "world": world,
        "notebooks": list(notebooks_with(name)),
        "bibtex": "\n".join(one.to_string("bibtex") for one in cited),
    }


def write_pages(app):
    """Write all pages anew."""
    texts = tomllib.loads((ROOT / "docs" / "environments.toml").read_text("utf-8"))
    pages = {}
    for identifier, place, about in (*TABLE, REMOTE):
        name = identifier.removeprefix("pushlab/")
        page = page_of(name, place, about)
        pages[name] = {**texts["default"], **texts.get(name, {}), **page}
    templates = Environment(loader=FileSystemLoader(ROOT / "docs" / "templates"))
    template = templates.get_template("environment.rst")
    made = {name: template.render(brief=brief, **page) for name, page in pages.items()}
    made["index"] = templates.get_template("environments.rst").render(pages=pages)
    for path in FOLDER.glob("*.*"):
        path.unlink()
    for name, text in made.items():
        (FOLDER / f"{name}.rst").write_text(text, "utf-8")


def only_arguments(app, what, name, thing, options, lines):
    """Keep a world's arguments alone: the rest of its docstring is sections of the page.

    A class without a constructor has the arguments of the class that it inherits it from.
    """
    if app.env.docname.startswith("docs/environments/"):
        owner = next(one for one in thing.__mro__ if "__init__" in vars(one))
        found = dict(SECTION.findall(plain(cleandoc(owner.__doc__ or "")) + "\n\n"))
        lines[:] = f"Args:\n{found['Args']}".split("\n") if "Args" in found else []


def setup(app):
    app.connect("builder-inited", write_pages)
    app.connect("autodoc-process-docstring", only_arguments, priority=300)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
