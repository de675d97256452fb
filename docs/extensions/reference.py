"""The reference: tables of names with their docstrings below, links to names and sources, and the commands.

A line of the directive `reference` names a module, of which `__all__` or all public classes and functions are
documented, or some names of one ("pushlab.agents.memory: Episodic Semantic"). With the option `summary` there is only
the table, of names that another page documents.
"""

import inspect
import re
from collections import defaultdict
from functools import cache
from pathlib import Path
from pkgutil import resolve_name

from docutils import nodes
from docutils.parsers.rst import directives
from numpy.typing import ArrayLike
from sphinx.errors import PycodeError
from sphinx.ext.autosummary import Autosummary
from sphinx.pycode import ModuleAnalyzer
from sphinx.util.nodes import make_refnode
from sphinx.util.typing import stringify_annotation

import pushlab

ROOT = Path(__file__).resolve().parents[2]
PLAIN_KINDS = ("class", "data", "exception", "function", "module")
# A doctest, a table or code in backticks; or a character that has a meaning in reStructuredText.
PLAIN = re.compile(
    r"(^ *(?:>>> |==).*?(?:\n *$|\Z)|`+[^`]+`+)|([*|]|(?<=\w)_\b)", re.M | re.S
)


def plain(text):
    """A docstring whose stars, bars and underscores stand for themselves."""
    return PLAIN.sub(lambda found: found[1] or "\\" + found[2], text)


def things_of(line):
    """{shortest path: object} of a line of the directive."""
    path, _, names = line.partition(": ")
    module = resolve_name(path)
    package = resolve_name(path.rpartition(".")[0] or path)
    found = {}
    for name in names.split() or getattr(module, "__all__", vars(module)):
        thing = getattr(module, name)
        home = getattr(thing, "__module__", None)
        own = hasattr(module, "__all__") or (
            home == path
            and not name.startswith("_")
            and getattr(package, name, None) is not thing
        )
        if names or own and callable(thing) and inspect.getdoc(thing):
            short = getattr(pushlab, name, None) is thing
            found[f"pushlab.{name}" if short else f"{path}.{name}"] = thing
    return found


class Reference(Autosummary):
    """A table of names with the first paragraphs of their docstrings, and below it each name in full."""

    option_spec = {"summary": directives.flag}

    def run(self):
        rows, blocks = [], []
        for line in filter(None, self.content):
            for path, thing in things_of(line).items():
                summary = plain(inspect.getdoc(thing)).partition("\n\n")[0]
                kind = "class" if inspect.isclass(thing) else "function"
                rows.append(
                    (path.rpartition(".")[2], None, summary.replace("\n", " "), path)
                )
                blocks.append(f".. auto{kind}:: {path}\n")
        table = self.get_table(rows)
        if "summary" in self.options:
            return table
        return [*table, *self.parse_text_to_nodes("\n".join(blocks))]


def parameters_of(thing):
    """Names of an object's parameters."""
    try:
        return inspect.signature(thing).parameters
    except (TypeError, ValueError):
        return {}


def escape(app, what, name, thing, options, lines):
    """Escape a docstring before napoleon reads it; its parameters are code without links."""
    names = parameters_of(thing)
    text = plain("\n".join(lines))
    text = re.sub(
        r"(?<!`)`(\w+)`(?!`)",
        lambda found: f"`{found[0]}`" if found[1] in names else found[0],
        text,
    )
    lines[:] = text.split("\n")


def shorten(app, what, name, thing, options, signature, returned):
    """Name NumPy's ArrayLike in a signature, which a resolved type spells out."""
    long = stringify_annotation(ArrayLike, "smart", short_literals=True)
    return tuple(
        text and text.replace(long, "ArrayLike") for text in (signature, returned)
    )


def skip(app, what, name, thing, skipped, options):
    """Leave out fields of named tuples, whose docstrings are "Alias for field number 0"."""
    return True if type(thing).__name__ == "_tuplegetter" else None


@cache
def entries(app):
    """{last part of a name: {path, as documented and where defined: its entry}}."""
    found = defaultdict(dict)
    for path, entry in app.env.domains.python_domain.objects.items():
        thing = inspect.unwrap(resolve_name(path))
        home = (
            f"{getattr(thing, '__module__', '')}.{getattr(thing, '__qualname__', '')}"
        )
        found[path.rpartition(".")[2]] |= {path: entry, home: entry}
    return found


def resolve(app, env, node, shown):
    """Lead a name in backticks to an environment, a file, or the one documented name that ends so.

    Methods and attributes need their class before them: a word such as `list` is seldom `Experts.list`.
    """
    name = node["reftarget"].removesuffix("()").removeprefix("pushlab/")
    page = f"docs/environments/{name}"
    if node.get("refdomain") != "py":
        return None
    if page in env.found_docs:
        return make_refnode(app.builder, node["refdoc"], page, "", shown)
    if "/" in name and (ROOT / node["reftarget"]).is_file():
        address = f"{app.config.repository}/blob/HEAD/{node['reftarget']}"
        return nodes.reference("", "", shown, refuri=address)
    paths = entries(app)[name.rpartition(".")[2]]
    places = {
        (entry.docname, entry.node_id)
        for path, entry in paths.items()
        if f".{path}".endswith(f".{name}")
        and ("." in name or entry.objtype in PLAIN_KINDS)
    }
    if len(places) != 1:
        return None
    return make_refnode(app.builder, node["refdoc"], *places.pop(), shown)


def source_of(config, info):
    """Address of an object's source on the web."""
    try:
        thing = resolve_name(f"{info['module']}:{info['fullname']}")
        thing = inspect.unwrap(
            getattr(thing, "fget", None) or getattr(thing, "func", thing)
        )
        module = ModuleAnalyzer.for_module(thing.__module__)
        _, first, last = module.find_tags()[thing.__qualname__]
    except (AttributeError, KeyError, PycodeError):
        return None
    path = Path(module.srcname).relative_to(ROOT).as_posix()
    return f"{config.repository}/blob/HEAD/{path}#L{first}-L{last}"


def write_commands(app):
    """Write the page of the command line, by typer's own means."""
    import typer
    from typer.cli import get_docs_for_click

    from pushlab import __main__ as main

    app.config.linkcode_resolve = lambda domain, info: source_of(app.config, info)
    command = typer.main.get_command(main.app)
    context = typer.Context(command, info_name="pushlab")
    text = get_docs_for_click(
        obj=command, ctx=context, name="pushlab", title="Commands"
    )
    text = re.sub(r"^(#+) `(.*)`$", r"\1 \2", text, flags=re.M)
    text = re.sub(r"\*\*Commands\*\*:\n\n(\* .*\n)+", "", text)
    # Options in sentences are code, too, so that two hyphens don't become a dash.
    text = re.sub(
        r"(`[^`]*`)|(--[a-z][\w-]*)", lambda found: found[1] or f"`{found[2]}`", text
    )
    text = text.replace("\n\n", f"\n\n{inspect.cleandoc(main.__doc__)}\n\n", 1)
    (ROOT / "docs" / "api" / "commands.md").write_text(text, "utf-8")


def setup(app):
    app.add_directive("reference", Reference)
    app.connect("builder-inited", write_commands)
    app.connect("autodoc-process-docstring", escape, priority=400)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip)
    app.connect("missing-reference", resolve)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
